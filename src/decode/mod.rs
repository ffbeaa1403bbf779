//! Records + layout → Arrow record batches. A [`Converter`] reads captures,
//! recognises their datagrams, gathers them in batches of one packet kind, and
//! has those decoded and encoded in parallel. What becomes of the batches is
//! the business of the sinks.

mod gather;
mod plan;
mod records;
mod report;
mod schedule;
mod streams;
mod texts;
mod ticks;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::bail;
use arrow::array::{ArrayRef, StringArray};

use crate::capture::{Capture, Datagram};
use crate::formats::Formats;
use crate::layout::{Layout, Packet, Place, Role, Scalar, Source, Table};

pub use gather::{as_wide_as, flat};
pub use plan::{Cars, ColumnPatterns, Selection, TablePlan, names, names_packet};
pub use report::{CaptureReport, PacketReport, Refused, Report, TableReport, Tally};
pub use schedule::{Append, TableSink};
pub use streams::{Contradiction, Stream, Streams};
pub use ticks::Recording;

use records::{Record, Records};
use schedule::{Lane, Schedule};
use texts::TextRow;

/// A batch holds at most about this many bytes of records.
const BATCH_BYTES: usize = 16 << 20;
/// And its rows in one table take at most about this many.
const DECODED_BYTES: usize = 256 << 20;
/// Folders of a partitioned output; more would be a mistake, and each keeps a
/// file open.
const MOST_PARTITIONS: usize = 500;

/// Where tables go.
pub trait Sinks {
    /// Is told of a format when its first packet turns up, with every table
    /// that could be written.
    ///
    /// # Errors
    /// If the output must not be written, such as when it exists already.
    fn announce(&self, tables: &[Arc<TablePlan>]) -> anyhow::Result<()>;

    /// Opens a table. `partition` has a name and a value for each folder
    /// level. `None` means that the table is not wanted after all.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn open(
        &self,
        plan: &Arc<TablePlan>,
        partition: &[(String, String)],
    ) -> anyhow::Result<Option<Arc<dyn TableSink>>>;

    /// Writes a text beside the tables of a format.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn document(&self, layout: &Layout, name: &str, text: &str) -> anyhow::Result<()>;

    /// How many rows of a table to hand over at a time, at most; the size of
    /// its row groups.
    fn rows_per_batch(&self) -> usize;
}

/// Everything about a conversion but its inputs and outputs.
#[derive(Debug, Clone)]
pub struct Options {
    pub formats: Formats,
    pub selection: Selection,
    pub time: TimeRange,
    pub threads: usize,
    /// Columns whose values become folders.
    pub partition_by: Vec<String>,
    /// Also writes tables without rows.
    pub keep_empty: bool,
    /// Decodes the known beginning of packets that are too long.
    pub lenient: bool,
    /// Leaves out datagrams of a car that is not being driven.
    pub driving_only: bool,
    /// Fails at the first damage or unrecognised datagram.
    pub strict: bool,
}

impl Options {
    /// The columns that choose the folder. A format without one of them has no
    /// folders for it.
    fn partition(&self, layout: &Layout) -> Vec<PartitionColumn> {
        let columns = self.partition_by.iter();
        columns
            .filter_map(|name| partition_column(layout, name).ok())
            .collect()
    }
}

/// Which part of each capture to convert: from the first bound, up to but not
/// including the second.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeRange {
    pub from: Option<TimeBound>,
    pub until: Option<TimeBound>,
}

/// A moment of a capture, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBound {
    /// After the capture's first packet.
    Offset(i64),
    /// Since 1970 UTC.
    Absolute(i64),
}

impl TimeBound {
    fn absolute(self, start: i64) -> i64 {
        match self {
            TimeBound::Offset(offset) => start.saturating_add(offset),
            TimeBound::Absolute(time) => time,
        }
    }
}

impl TimeRange {
    /// Whether a moment of a capture with this start lies behind it.
    pub fn is_over(&self, time: i64, start: i64) -> bool {
        self.until
            .is_some_and(|until| time >= until.absolute(start))
    }

    /// Whether a moment of a capture with this start is in it.
    pub fn contains(&self, time: i64, start: i64) -> bool {
        self.from.is_none_or(|from| time >= from.absolute(start))
            && self.until.is_none_or(|until| time < until.absolute(start))
    }
}

/// How far a conversion is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Bytes of the current input that were read.
    pub position: u64,
    /// Rows of all tables so far.
    pub rows: u64,
}

/// Converts captures, one after the other, into tables.
pub struct Converter<'a> {
    options: Options,
    sinks: &'a dyn Sinks,
    schedule: Schedule,
    /// Names of all inputs, if there are several.
    captures: Option<ArrayRef>,
    has_several_inputs: bool,
    /// Names of the texts beside the tables.
    documents: HashSet<String>,
    formats: HashMap<usize, FormatState>,
    /// Which cars take part, by format and session.
    active: HashMap<(usize, u64), u128>,
    partitions: HashSet<Vec<(String, String)>>,
    /// The senders of the current input.
    streams: Streams,
    report: Report,
}

/// What is under way for one format.
struct FormatState {
    packets: Vec<PacketState>,
    partition: Vec<PartitionColumn>,
}

/// What is under way for one packet kind.
struct PacketState {
    /// The tables that the user wants from it.
    plans: Vec<Arc<TablePlan>>,
    records_per_batch: usize,
    batches: BTreeMap<Vec<u64>, Pending>,
}

/// Records that wait for their batch to be full.
struct Pending {
    records: Records,
    sequence: usize,
    /// By position in [`PacketState::plans`]; those without are not wanted.
    lanes: Vec<(usize, Arc<Lane>)>,
    /// Rows that are text and no records, by the same position.
    texts: BTreeMap<usize, Vec<TextRow>>,
}

/// A column that chooses the folder.
enum PartitionColumn {
    Capture,
    Field(String, Place),
}

/// How often the caller hears of progress.
const PROGRESS_BYTES: u64 = 1 << 20;

impl<'a> Converter<'a> {
    /// `inputs` names all captures that will be added, in order.
    ///
    /// # Errors
    /// If the worker threads cannot be started.
    pub fn new(
        options: Options,
        inputs: &[String],
        sinks: &'a dyn Sinks,
    ) -> anyhow::Result<Converter<'a>> {
        let by_capture = options.partition_by.iter().any(|name| name == "capture");
        let names_inputs = inputs.len() > 1 && !by_capture;
        Ok(Converter {
            schedule: Schedule::new(options.threads)?,
            captures: names_inputs
                .then(|| Arc::new(StringArray::from_iter_values(inputs)) as ArrayRef),
            has_several_inputs: inputs.len() > 1,
            documents: HashSet::new(),
            options,
            sinks,
            formats: HashMap::new(),
            active: HashMap::new(),
            partitions: HashSet::new(),
            streams: Streams::default(),
            report: Report::default(),
        })
    }

    /// Reads a capture to its end. `progress` is called now and then; `false`
    /// from it ends the capture early, an error ends the conversion.
    ///
    /// # Errors
    /// If reading or writing fails, or, in strict mode, at the first damage.
    pub fn add(
        &mut self,
        name: &str,
        mut capture: Capture,
        progress: &mut dyn FnMut(Progress) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        // The maps of earlier captures need not stay open.
        self.detach();
        let number = self.report.captures.len();
        let mapping = capture.mapping().cloned();
        let mut report = CaptureReport::new(name, capture.size());
        let mut told = 0;
        while let Some(datagram) = capture.next_datagram()? {
            if self.options.time.contains(datagram.time, datagram.start) {
                report.see(datagram.time);
                let mapped = mapping.as_ref().zip(datagram.mapped_at);
                self.take(&datagram, mapped, number, &mut report)?;
            } else {
                report.out_of_range += 1;
            }
            if self.options.strict && report.is_flawed() {
                break;
            }
            let position = capture.position();
            if position.saturating_sub(told) >= PROGRESS_BYTES {
                told = position;
                let go_on = progress(Progress {
                    position,
                    rows: self.schedule.totals.rows.load(Ordering::Relaxed),
                })?;
                if !go_on {
                    break;
                }
                if self.options.strict && capture.damage().count > 0 {
                    break;
                }
            }
        }
        report.finish(&capture, std::mem::take(&mut self.streams));
        self.finish_capture(report)
    }

    fn finish_capture(&mut self, report: CaptureReport) -> anyhow::Result<()> {
        if self.options.strict
            && let Some(flaw) = report.flaws().into_iter().next()
        {
            bail!("{}: {flaw} (--strict)", report.name);
        }
        self.report.captures.push(report);
        Ok(())
    }

    /// Takes note of an input that could not be read at all.
    pub fn add_failed(&mut self, name: &str, error: String) {
        let mut report = CaptureReport::new(name, None);
        report.error = Some(error);
        self.report.captures.push(report);
    }

    /// Decodes what is left and waits for all of it to be written.
    ///
    /// # Errors
    /// If decoding or writing fails.
    pub fn finish(mut self) -> anyhow::Result<Report> {
        if self.options.keep_empty {
            self.open_empty_tables()?;
        }
        for packet in self
            .formats
            .values_mut()
            .flat_map(|state| &mut state.packets)
        {
            for pending in packet.batches.values_mut() {
                pending.submit(&packet.plans, &self.schedule)?;
                pending.append_texts(&packet.plans, &self.schedule)?;
            }
        }
        self.schedule.finish()?;
        let totals = &self.schedule.totals;
        self.report.replaced_texts = totals.replaced_texts.load(Ordering::Relaxed);
        self.report.rows = totals.rows.load(Ordering::Relaxed);
        self.report.formats = self
            .options
            .formats
            .layouts()
            .iter()
            .enumerate()
            .filter(|(number, _)| self.formats.contains_key(number))
            .map(|(_, layout)| (layout.name.clone(), layout.title.clone()))
            .collect();
        Ok(self.report)
    }

    fn take(
        &mut self,
        datagram: &Datagram<'_>,
        mapped: Option<(&Arc<memmap2::Mmap>, usize)>,
        capture: usize,
        report: &mut CaptureReport,
    ) -> anyhow::Result<()> {
        let (formats, lenient) = (&self.options.formats, self.options.lenient);
        let recognised = formats.recognise(datagram.payload, datagram.destination.port());
        let Some((number, packet)) = report.take(formats, datagram, recognised, lenient) else {
            return Ok(());
        };
        let layout = self.options.formats.layouts()[number].clone();
        let definition = &layout.packets[packet];
        // What is longer was let through as such, and only this is known of it.
        let length = datagram.payload.len().min(definition.size);
        let payload = &datagram.payload[..length];
        let games = self.streams.note(
            (number, &layout),
            datagram.source.ip(),
            payload,
            datagram.offset,
            self.options.formats.games_of(number),
        );
        if let Some(driving) = layout.driving.filter(|_| self.options.driving_only)
            && driving.read(payload) == Some(0)
        {
            report.not_driving += 1;
            return Ok(());
        }
        report
            .tally(number, &layout, packet)
            .see(datagram.time, length);
        let record = Record {
            time: datagram.time,
            bytes: payload,
            size: definition.size,
            layout: None,
            length: (!definition.shorter.is_empty()).then_some(length),
            games: (!layout.games.is_empty()).then_some(games),
            mapped,
            active: None,
            capture,
        };
        if !self.formats.contains_key(&number) {
            self.begin_format(number, &layout)?;
        }
        self.add_record(number, &layout, packet, record, &report.name)
    }

    /// Puts a record of a format that was begun in line to be decoded.
    fn add_record(
        &mut self,
        number: usize,
        layout: &Layout,
        packet: usize,
        mut record: Record<'_>,
        capture: &str,
    ) -> anyhow::Result<()> {
        if self.options.selection.cars == Cars::Active {
            record.active = Some(self.active_cars(number, layout, packet, record.bytes));
        }
        let Some(state) = self.formats.get_mut(&number) else {
            unreachable!("the format was begun");
        };
        let packet = &mut state.packets[packet];
        if packet.plans.is_empty() {
            return Ok(());
        }
        let columns = state.partition.iter();
        let key: Vec<u64> = columns
            .map(|column| match column {
                PartitionColumn::Capture => record.capture as u64,
                PartitionColumn::Field(_, place) => place.read_bits(record.bytes),
            })
            .collect();
        let pending = match packet.batches.get_mut(&key) {
            Some(pending) => pending,
            None => {
                let levels = folder_levels(&state.partition, &key, capture);
                self.partitions.insert(levels.clone());
                if self.partitions.len() > MOST_PARTITIONS {
                    bail!(
                        "the output would have more than {MOST_PARTITIONS} partitions: \
                         partition by something with fewer values"
                    );
                }
                let pending = Pending::open(&packet.plans, self.sinks, &levels)?;
                packet.batches.entry(key).or_insert(pending)
            }
        };
        if pending.lanes.is_empty() {
            return Ok(());
        }
        pending.records.push(record);
        if pending.records.len() >= packet.records_per_batch {
            pending.submit(&packet.plans, &self.schedule)?;
        }
        Ok(())
    }

    /// The cars that take part, as far as the packets that tell it have said;
    /// before the first of a session has, all.
    fn active_cars(
        &mut self,
        number: usize,
        layout: &Layout,
        packet: usize,
        payload: &[u8],
    ) -> u128 {
        let session = layout
            .session
            .map_or(0, |session| session.read_bits(payload));
        if let Some(rule) = layout.active.as_ref().filter(|rule| rule.packet == packet) {
            let known = self.active.entry((number, session)).or_default();
            for car in 0..rule.length.min(128) {
                let place = rule.field.place(&[car]);
                if place.read(payload).is_some_and(|value| value >= rule.from) {
                    *known |= 1_u128 << car;
                }
            }
        }
        let known = self.active.get(&(number, session));
        known.copied().unwrap_or(u128::MAX)
    }

    fn begin_format(&mut self, number: usize, layout: &Arc<Layout>) -> anyhow::Result<()> {
        let partition = self.options.partition(layout);
        let plan = |position: &usize| {
            let wanted = self
                .options
                .selection
                .takes_table(layout, &layout.tables[*position]);
            wanted.then(|| {
                Arc::new(TablePlan::new(
                    layout,
                    *position,
                    &self.options.selection,
                    self.captures.as_ref(),
                    &self.options.partition_by,
                ))
            })
        };
        let packets: Vec<PacketState> = layout
            .packets
            .iter()
            .map(|packet| {
                let plans: Vec<_> = packet.tables.iter().filter_map(plan).collect();
                PacketState {
                    records_per_batch: records_per_batch(
                        packet,
                        plans.iter().map(|plan| plan.table()),
                        self.sinks.rows_per_batch(),
                    ),
                    plans,
                    batches: BTreeMap::new(),
                }
            })
            .collect();
        let plans: Vec<_> = packets
            .iter()
            .flat_map(|packet| packet.plans.clone())
            .collect();
        self.sinks.announce(&plans)?;
        self.formats
            .insert(number, FormatState { packets, partition });
        Ok(())
    }

    /// Opens the tables that got no rows: of the formats that turned up, or,
    /// if none did, of all.
    fn open_empty_tables(&mut self) -> anyhow::Result<()> {
        if self.formats.is_empty() {
            for (number, layout) in self.options.formats.clone().layouts().iter().enumerate() {
                self.begin_format(number, layout)?;
            }
        }
        for state in self.formats.values() {
            let unseen = state
                .packets
                .iter()
                .filter(|packet| packet.batches.is_empty());
            for plan in unseen.flat_map(|packet| &packet.plans) {
                self.sinks.open(plan, &[])?;
            }
        }
        Ok(())
    }

    fn detach(&mut self) {
        for packet in self
            .formats
            .values_mut()
            .flat_map(|state| &mut state.packets)
        {
            for pending in packet.batches.values_mut() {
                pending.records.detach();
            }
        }
    }
}

impl Pending {
    /// Opens the tables of `plans` in the folder of these partition `levels`.
    fn open(
        plans: &[Arc<TablePlan>],
        sinks: &dyn Sinks,
        levels: &[(String, String)],
    ) -> anyhow::Result<Pending> {
        let mut lanes = Vec::new();
        for (position, plan) in plans.iter().enumerate() {
            if let Some(sink) = sinks.open(plan, levels)? {
                lanes.push((position, Arc::new(Lane::new(sink))));
            }
        }
        Ok(Pending {
            records: Records::default(),
            sequence: 0,
            lanes,
            texts: BTreeMap::new(),
        })
    }

    /// Has what has gathered decoded by `plans`.
    fn submit(&mut self, plans: &[Arc<TablePlan>], schedule: &Schedule) -> anyhow::Result<()> {
        if self.records.len() == 0 {
            return Ok(());
        }
        let records = std::mem::take(&mut self.records);
        let sequence = self.sequence;
        self.sequence += 1;
        let lanes = self.lanes.iter();
        let lanes = lanes.map(|(position, lane)| (plans[*position].clone(), lane.clone()));
        schedule.submit(lanes.collect(), sequence, records)
    }
}

/// Name and value of each folder level.
fn folder_levels(
    partition: &[PartitionColumn],
    key: &[u64],
    capture: &str,
) -> Vec<(String, String)> {
    let levels = partition.iter().zip(key);
    levels
        .map(|(column, bits)| match column {
            PartitionColumn::Capture => ("capture".into(), capture.to_string()),
            PartitionColumn::Field(name, place) => {
                (name.clone(), text_of_bits(place.scalar, *bits))
            }
        })
        .collect()
}

/// Depends on nothing but the layout and the kind of output, so that batches,
/// and with them the output, are the same whatever the number of threads.
fn records_per_batch<'a>(
    packet: &Packet,
    tables: impl Iterator<Item = &'a Table> + Clone,
    most_rows: usize,
) -> usize {
    let rows = tables.clone().map(Table::rows_per_record).max();
    let decoded = tables.map(Table::bytes_per_record).max();
    let fit = |room: usize, each: Option<usize>| room / each.unwrap_or(1).max(1);
    fit(BATCH_BYTES, Some(packet.size))
        .min(fit(most_rows, rows))
        .min(fit(DECODED_BYTES, decoded))
        .max(1)
}

/// Checks that tables can be partitioned by these columns.
///
/// # Errors
/// If no format has them; says which ones there are.
pub fn check_partition(formats: &Formats, names: &[String]) -> anyhow::Result<()> {
    for name in names {
        let checks = formats.layouts().iter();
        let errors: Option<Vec<_>> = checks
            .map(|layout| partition_column(layout, name).err())
            .collect();
        // One format that can is enough: the others may not turn up.
        if let Some(error) = errors.and_then(|errors| errors.into_iter().next()) {
            return Err(error);
        }
    }
    Ok(())
}

fn partition_column(layout: &Layout, name: &str) -> anyhow::Result<PartitionColumn> {
    if name == "capture" {
        return Ok(PartitionColumn::Capture);
    }
    // Every record must have it, so it must be a key in every table.
    let keys = |table: &Table| -> Vec<(String, Place)> {
        let columns = table.columns.iter();
        columns
            .filter_map(|column| match &column.source {
                // Every input must have it, and as a whole number.
                Source::Field(field)
                    if column.role == Role::Key
                        && column.output().is_integer()
                        && field.scalar.is_integer()
                        && !column.optional =>
                {
                    Some((column.name.clone(), field.only_place()?))
                }
                _ => None,
            })
            .collect()
    };
    let mut common: Option<Vec<(String, Place)>> = None;
    // A table beside the records, such as one of drivers, is in no such folder.
    let of_records = |table: &&Table| layout.packets[table.packet].size > 0;
    for table in layout.tables.iter().filter(of_records) {
        let keys = keys(table);
        common = Some(match common {
            None => keys,
            Some(known) => known.into_iter().filter(|key| keys.contains(key)).collect(),
        });
    }
    let common = common.unwrap_or_default();
    match common.iter().find(|(key, _)| key == name) {
        Some((key, place)) => Ok(PartitionColumn::Field(key.clone(), *place)),
        None => {
            let names: Vec<&str> = common.iter().map(|(key, _)| key.as_str()).collect();
            bail!(
                "{} cannot be partitioned by {name}: it must be one of capture, {}",
                layout.name,
                names.join(", ")
            )
        }
    }
}

fn text_of_bits(scalar: Scalar, bits: u64) -> String {
    match scalar.read_integer(&bits.to_le_bytes()) {
        Some(value) => value.to_string(),
        // Only an unsigned 64-bit number is too large for the signed reader.
        None => bits.to_string(),
    }
}

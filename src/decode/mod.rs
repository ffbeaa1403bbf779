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

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::bail;
use arrow::array::{ArrayRef, StringArray};

use crate::capture::{Capture, Datagram};
use crate::formats::{Formats, Recognised};
use crate::layout::{Layout, Packet, Place, Role, Scalar, Source, Table};

pub use plan::{Cars, ColumnPatterns, Selection, TablePlan, names};
pub use report::{CaptureReport, PacketReport, Refused, Report, TableReport};
pub use schedule::{Append, TableSink};
pub use streams::{Contradiction, Stream};

use records::{Record, Records};
use schedule::{Lane, Schedule};
use streams::Streams;

/// A batch holds at most about this many bytes of records.
const BATCH_BYTES: usize = 16 << 20;
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
    fn contains(&self, time: i64, start: i64) -> bool {
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
    formats: HashMap<usize, FormatState>,
    /// Which cars take part, by format and session.
    active: HashMap<(usize, u64), u64>,
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
    lanes: Vec<Arc<Lane>>,
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
            if self.options.strict && (report.is_flawed() || self.streams.any_doubtful()) {
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
        if self.options.strict
            && let Some(flaw) = report.flaws().into_iter().next()
        {
            bail!("{name}: {flaw} (--strict)");
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
        for state in self.formats.values_mut() {
            for packet in &mut state.packets {
                for pending in packet.batches.values_mut() {
                    if pending.records.len() > 0 {
                        pending.submit(&self.schedule)?;
                    }
                }
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
        let formats = &self.options.formats;
        let recognised = formats.recognise(datagram.payload, datagram.destination.port());
        let (number, packet) = match recognised {
            Recognised::Packet { layout, packet } => (layout, packet),
            Recognised::UnexpectedLength { layout, packet } => {
                let definition = &self.options.formats.layouts()[layout];
                let expected = definition.packets[packet].size;
                let too_long = datagram.payload.len() > expected;
                report.refuse_length(
                    definition,
                    packet,
                    datagram,
                    self.options.lenient && too_long,
                );
                match self.options.lenient && too_long {
                    true => (layout, packet),
                    false => return Ok(()),
                }
            }
            Recognised::UnknownPacket { layout, id } => {
                report.refuse_packet(&self.options.formats.layouts()[layout], id, datagram);
                return Ok(());
            }
            Recognised::Unrecognised => {
                report.refuse_unrecognised(datagram);
                return Ok(());
            }
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
        report.decoded(&layout, packet, length);
        self.note_active_cars(number, &layout, packet, payload);
        if !self.formats.contains_key(&number) {
            self.begin_format(number, &layout)?;
        }
        let Some(state) = self.formats.get_mut(&number) else {
            unreachable!("the format was begun");
        };
        let packet = &mut state.packets[packet];
        if packet.plans.is_empty() {
            return Ok(());
        }
        let key: Vec<u64> = state
            .partition
            .iter()
            .map(|column| match column {
                PartitionColumn::Capture => capture as u64,
                PartitionColumn::Field(_, place) => bits(*place, payload),
            })
            .collect();
        let pending = match packet.batches.get_mut(&key) {
            Some(pending) => pending,
            None => {
                let levels: Vec<(String, String)> = state
                    .partition
                    .iter()
                    .zip(&key)
                    .map(|(column, bits)| match column {
                        PartitionColumn::Capture => ("capture".into(), report.name.clone()),
                        PartitionColumn::Field(name, place) => {
                            (name.clone(), text_of_bits(place.scalar, *bits))
                        }
                    })
                    .collect();
                self.partitions.insert(levels.clone());
                if self.partitions.len() > MOST_PARTITIONS {
                    bail!(
                        "the output would have more than {MOST_PARTITIONS} partitions: \
                         partition by something with fewer values"
                    );
                }
                let mut lanes = Vec::new();
                for plan in &packet.plans {
                    if let Some(sink) = self.sinks.open(plan, &levels)? {
                        lanes.push(Arc::new(Lane::new(plan.clone(), sink)));
                    }
                }
                packet.batches.entry(key).or_insert(Pending {
                    records: Records::default(),
                    sequence: 0,
                    lanes,
                })
            }
        };
        if pending.lanes.is_empty() {
            return Ok(());
        }
        let session = layout.session.map_or(0, |session| bits(session, payload));
        let active = self.options.selection.cars == Cars::Active;
        pending.records.push(Record {
            time: datagram.time,
            bytes: payload,
            size: definition.size,
            length: (!definition.shorter.is_empty()).then_some(length),
            games: layout.evidence.is_some().then_some(games),
            mapped,
            active: active.then(|| {
                let known = self.active.get(&(number, session));
                known.copied().unwrap_or(u64::MAX)
            }),
            capture,
        });
        if pending.records.len() >= packet.records_per_batch {
            pending.submit(&self.schedule)?;
        }
        Ok(())
    }

    /// Learns from the packet that tells it which cars take part.
    fn note_active_cars(&mut self, number: usize, layout: &Layout, packet: usize, payload: &[u8]) {
        let Some(rule) = layout
            .active
            .as_ref()
            .filter(|rule| self.options.selection.cars == Cars::Active && rule.packet == packet)
        else {
            return;
        };
        let mut mask = 0;
        for car in 0..rule.length.min(64) {
            let place = rule.field.place(&[car]);
            if place.read(payload).is_some_and(|value| value >= rule.from) {
                mask |= 1_u64 << car;
            }
        }
        let session = layout.session.map_or(0, |session| bits(session, payload));
        *self.active.entry((number, session)).or_default() |= mask;
    }

    fn begin_format(&mut self, number: usize, layout: &Arc<Layout>) -> anyhow::Result<()> {
        // A format without the column has no folders for it.
        let columns = self.options.partition_by.iter();
        let partition = columns
            .filter_map(|name| partition_column(layout, name).ok())
            .collect();
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
                        &plans,
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
        for (number, state) in &mut self.formats {
            let layout = &self.options.formats.layouts()[*number];
            for (packet, definition) in state.packets.iter_mut().zip(&layout.packets) {
                for pending in packet.batches.values_mut() {
                    pending.records.detach(definition.size);
                }
            }
        }
    }
}

impl Pending {
    fn submit(&mut self, schedule: &Schedule) -> anyhow::Result<()> {
        let records = std::mem::take(&mut self.records);
        let sequence = self.sequence;
        self.sequence += 1;
        schedule.submit(self.lanes.clone(), sequence, records)
    }
}

/// Depends on nothing but the layout and the kind of output, so that batches,
/// and with them the output, are the same whatever the number of threads.
fn records_per_batch(packet: &Packet, plans: &[Arc<TablePlan>], most_rows: usize) -> usize {
    let tables = plans.iter().map(|plan| plan.table());
    let rows = tables.map(Table::rows_per_record).max().unwrap_or(1);
    (BATCH_BYTES / packet.size).min(most_rows / rows).max(1)
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
                Source::Field(field) if column.role == Role::Key && field.scalar.is_integer() => {
                    Some((column.name.clone(), field.only_place()?))
                }
                _ => None,
            })
            .collect()
    };
    let mut common: Option<Vec<(String, Place)>> = None;
    for table in &layout.tables {
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

/// The bytes of a whole number as they stand, widened with zeros.
fn bits(place: Place, record: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = place.scalar.size().min(8);
    if let Some(value) = record.get(place.offset..place.offset + length) {
        bytes[..length].copy_from_slice(value);
    }
    u64::from_le_bytes(bytes)
}

fn text_of_bits(scalar: Scalar, bits: u64) -> String {
    match scalar.read_integer(&bits.to_le_bytes()) {
        Some(value) => value.to_string(),
        // Only an unsigned 64-bit number is too large for the signed reader.
        None => bits.to_string(),
    }
}

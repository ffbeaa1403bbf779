//! Recordings of ticks: their records go the way of all records; the lists of
//! their session string become rows here, since they are text.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, RecordBatchOptions,
    StringArray, new_null_array,
};
use arrow::datatypes::Int32Type;
use arrow::error::ArrowError;

use super::plan::{Output, TablePlan};
use super::records::Record;
use super::report::CaptureReport;
use super::{Converter, PartitionColumn, Pending, Progress, folder_levels, records_per_batch};
use crate::capture::TickFile;
use crate::formats::iracing::{SESSION, SESSION_TABLES, Session, SessionRow, TICK};
use crate::layout::{Layout, Scalar, Source};

/// Records between two reports of progress.
const PROGRESS_RECORDS: usize = 1 << 12;

/// A recording, with the layout by which it shares tables and columns with
/// others.
pub struct Recording {
    pub ticks: TickFile,
    pub session: Session,
    pub layout: Arc<Layout>,
}

impl Converter<'_> {
    /// Reads a recording to its end; the layouts of all that are added must
    /// come from one [`crate::formats::iracing::Survey`], and its first be among
    /// the formats. `progress` is called as in [`Converter::add`].
    ///
    /// # Errors
    /// If writing fails, or, in strict mode, at the first damage.
    pub fn add_ticks(
        &mut self,
        name: &str,
        recording: &Recording,
        progress: &mut dyn FnMut(Progress) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let Recording {
            ticks,
            session,
            layout,
        } = recording;
        // The maps of earlier captures need not stay open.
        self.detach();
        let capture = self.report.captures.len();
        let mut report = CaptureReport::new(name, ticks.size());
        report.damage = ticks.damage().clone();
        if ticks.is_live() {
            report.note(
                "this is a copy of the memory of a running simulator: its newest tick is all that \
                 is read"
                    .into(),
            );
        }
        let number = self.options.formats.ticks();
        self.begin_recording(number, layout)?;
        self.add_session(number, recording, capture, &mut report)?;

        if !ticks.has_clock() {
            report.counts.untimed = ticks.count() as u64;
        }
        let map = ticks.mapping();
        let length = ticks.record_length();
        let start = if ticks.count() > 0 { ticks.time(0) } else { 0 };
        for tick in 0..ticks.count() {
            let (time, offset) = (ticks.time(tick), ticks.offset(tick));
            if self.options.time.contains(time, start) {
                report.see(time);
                report.decoded(layout, TICK, length);
                let record = Record {
                    time,
                    bytes: &map[offset..offset + length],
                    size: length,
                    mapped: Some((map, offset)),
                    active: None,
                    games: None,
                    length: None,
                    capture,
                };
                self.add_record(number, layout, TICK, record, name)?;
            } else {
                report.out_of_range += 1;
            }
            if tick.is_multiple_of(PROGRESS_RECORDS) {
                let go_on = progress(Progress {
                    position: (offset + length) as u64,
                    rows: self.schedule.totals.rows.load(Ordering::Relaxed),
                })?;
                if !go_on {
                    break;
                }
            }
        }
        // What follows has its values elsewhere.
        if let Some(state) = self.formats.get_mut(&number) {
            state.submit_all(&self.schedule)?;
        }
        report.note_odd_lines(session);
        self.finish_capture(report)
    }

    /// Makes the format read the places of this recording.
    fn begin_recording(&mut self, number: usize, layout: &Arc<Layout>) -> anyhow::Result<()> {
        if !self.formats.contains_key(&number) {
            let first = self.options.formats.layouts()[number].clone();
            self.begin_format(number, &first)?;
        }
        // Car numbers mean others in another recording.
        self.active.retain(|(known, _), _| *known != number);
        let rows_per_batch = self.sinks.rows_per_batch();
        let partition = self.options.partition(layout);
        if let Some(state) = self.formats.get_mut(&number) {
            state.partition = partition;
            for (packet, definition) in state.packets.iter_mut().zip(&layout.packets) {
                for plan in &mut packet.plans {
                    *plan = Arc::new(plan.of_layout(layout));
                }
                packet.records_per_batch =
                    records_per_batch(definition, &packet.plans, rows_per_batch);
            }
        }
        Ok(())
    }

    /// Writes the session string and its tables.
    fn add_session(
        &mut self,
        number: usize,
        recording: &Recording,
        capture: usize,
        report: &mut CaptureReport,
    ) -> anyhow::Result<()> {
        let Recording {
            session, layout, ..
        } = recording;
        if !session.text.is_empty() && self.options.selection.takes_name(layout, "session") {
            let name = match self.has_several_inputs {
                false => "session.yaml".to_string(),
                true => format!("session/{}.yaml", self.document_name(&report.name)),
            };
            self.sinks.document(layout, &name, &session.text)?;
        }
        let Some(state) = self.formats.get_mut(&number) else {
            return Ok(());
        };
        // Of all columns only the input itself can choose their folder.
        let mut columns = state.partition.iter();
        let key: Vec<u64> = columns
            .find(|column| matches!(column, PartitionColumn::Capture))
            .map(|_| capture as u64)
            .into_iter()
            .collect();
        let levels = folder_levels(&[PartitionColumn::Capture], &key, &report.name);
        let packet = &mut state.packets[SESSION];
        if !packet.batches.contains_key(&key) {
            let pending = Pending::open(&packet.plans, self.sinks, &levels)?;
            packet.batches.insert(key.clone(), pending);
        }
        let lanes = packet.batches[&key].lanes.iter();
        for (position, lane) in lanes {
            let plan = &packet.plans[*position];
            let definition = SESSION_TABLES
                .iter()
                .find(|table| table.name == plan.table().name);
            let rows = definition.map_or_else(Vec::new, |table| table.rows(session));
            if rows.is_empty() {
                continue;
            }
            let batch = session_batch(plan, &rows, capture, report)?;
            let totals = &self.schedule.totals;
            totals.rows.fetch_add(rows.len() as u64, Ordering::Relaxed);
            lane.sink.clone().encode(batch)?()?;
        }
        Ok(())
    }
}

impl Converter<'_> {
    /// A name for a document of this input that no other one has.
    fn document_name(&mut self, input: &str) -> String {
        let stem = Path::new(input).file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy();
        let mut name = stem.to_string();
        let mut number = 1;
        while !self.documents.insert(name.clone()) {
            number += 1;
            name = format!("{stem}-{number}");
        }
        name
    }
}

/// The rows of a list of the session string.
fn session_batch(
    plan: &TablePlan,
    rows: &[SessionRow<'_>],
    capture: usize,
    report: &mut CaptureReport,
) -> Result<RecordBatch, ArrowError> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(plan.outputs.len());
    for (field, output) in plan.schema.fields().iter().zip(&plan.outputs) {
        let column = match output {
            Output::Column(position) => &plan.table().columns[*position],
            Output::Capture => {
                let number = i32::try_from(capture).unwrap_or(i32::MAX);
                let keys = Int32Array::from(vec![number; rows.len()]);
                let names = plan.captures.clone();
                let names = names.unwrap_or_else(|| Arc::new(StringArray::new_null(0)));
                arrays.push(Arc::new(DictionaryArray::<Int32Type>::try_new(
                    keys, names,
                )?));
                continue;
            }
            Output::Label { .. } => {
                arrays.push(new_null_array(field.data_type(), rows.len()));
                continue;
            }
        };
        let Source::Session(key) = &column.source else {
            arrays.push(new_null_array(field.data_type(), rows.len()));
            continue;
        };
        let texts = rows.iter().map(|row| {
            let entry = row.iter().find(|(known, _)| known == key);
            entry.map(|(_, text)| *text)
        });
        arrays.push(match column.output() {
            Scalar::I32 => Arc::new(numbers::<i32, Int32Array>(key, texts, report)),
            Scalar::F64 => Arc::new(numbers::<f64, Float64Array>(key, texts, report)),
            _ => Arc::new(texts.collect::<StringArray>()),
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(plan.schema.clone(), arrays, &options)
}

/// Texts as numbers; null where there is none.
fn numbers<'a, N: std::str::FromStr, A: FromIterator<Option<N>>>(
    key: &str,
    texts: impl Iterator<Item = Option<&'a str>>,
    report: &mut CaptureReport,
) -> A {
    let number = |text: Option<&str>| {
        let text = text.filter(|text| !text.is_empty())?;
        let number = text.parse().ok();
        if number.is_none() {
            report.note(format!(
                "session string: {key} is {text:?}, not a number: left empty"
            ));
        }
        number
    };
    texts.map(number).collect()
}

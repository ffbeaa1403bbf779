//! Recordings of ticks: their records go the way of all records, with a layout
//! of their own; their session string is written beside the tables.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::bail;

use super::records::Record;
use super::report::{CaptureReport, Tally};
use super::texts::{TEXT_ROWS_PER_BATCH, TextRow};
use super::{
    Cars, Converter, PartitionColumn, Pending, Progress, folder_levels, records_per_batch,
};
use crate::capture::TickFile;
use crate::formats::iracing::{DOCUMENT, SESSION, SESSION_TABLES, Session, TICK};
use crate::layout::Layout;

/// Recordings that share a batch, at most.
const LAYOUTS_PER_BATCH: usize = 16;
/// Records between two reports of progress.
const PROGRESS_RECORDS: usize = 1 << 12;

/// A recording, with the layout by which it shares tables and columns with
/// others.
pub struct Recording {
    pub ticks: TickFile,
    pub session: Session,
    pub layout: Arc<Layout>,
    /// How many of its variables the layout has no column for.
    pub left_out: usize,
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
            left_out,
        } = recording;
        // The maps of earlier captures need not stay open.
        self.detach();
        let capture = self.report.captures.len();
        let mut report = CaptureReport::new(name, ticks.size());
        report.see_ticks(ticks);
        if *left_out > 0 {
            let what = format!("{left_out} variables are left out: all inputs have too many");
            report.damage.push(0, what);
        }
        if self.options.strict && report.is_flawed() {
            return self.finish_capture(report);
        }
        if self.options.selection.cars == Cars::Player && layout.active.is_some() {
            let mut axes = layout.tables.iter().flat_map(|table| &table.axes);
            if !axes.any(|axis| axis.player.is_some()) {
                report.note("there is no PlayerCarIdx: the rows of all cars are kept".into());
            }
        }
        let Some(number) = self.options.formats.ticks() else {
            bail!("{name}: the formats lack that of recordings");
        };
        self.begin_recording(number, layout)?;
        self.add_session(number, recording, capture, &mut report)?;

        let map = ticks.mapping();
        let length = ticks.record_length();
        let start = if ticks.count() > 0 { ticks.time(0) } else { 0 };
        let mut tally = Tally::default();
        for tick in 0..ticks.count() {
            let (time, offset) = (ticks.time(tick), ticks.offset(tick));
            if self.options.time.contains(time, start) {
                report.see(time);
                tally.see(time, length);
                let record = Record {
                    time,
                    bytes: &map[offset..offset + length],
                    size: length,
                    layout: Some(layout),
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
        if tally.datagrams > 0 {
            *report.tally(number, layout, TICK) = tally;
        }
        // Small recordings share a batch, but each keeps its layout in memory.
        if let Some(state) = self.formats.get_mut(&number) {
            let packet = &mut state.packets[TICK];
            for pending in packet.batches.values_mut() {
                if pending.records.layouts() >= LAYOUTS_PER_BATCH {
                    pending.submit(&packet.plans, &self.schedule)?;
                }
            }
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
                let tables = packet.plans.iter().map(|plan| plan.table_of(layout));
                packet.records_per_batch = records_per_batch(definition, tables, rows_per_batch);
            }
        }
        Ok(())
    }

    /// Writes the session string, and keeps the rows of its tables until there
    /// are enough of them.
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
        if !session.text.is_empty() && self.options.selection.takes_name(layout, DOCUMENT) {
            let name = match self.has_several_inputs || !key.is_empty() {
                false => format!("{DOCUMENT}.yaml"),
                true => document_name(&report.name, &mut self.documents),
            };
            self.sinks.document(layout, &name, &session.text)?;
        }
        let packet = &mut state.packets[SESSION];
        if !packet.batches.contains_key(&key) {
            let pending = Pending::open(&packet.plans, self.sinks, &levels)?;
            packet.batches.insert(key.clone(), pending);
        }
        let Some(pending) = packet.batches.get_mut(&key) else {
            return Ok(());
        };
        for (position, _) in &pending.lanes {
            let plan = &packet.plans[*position];
            let mut tables = SESSION_TABLES.iter();
            let table = tables.find(|table| table.name == plan.table().name);
            let rows = table.map_or_else(Vec::new, |table| table.rows(session));
            let waiting = pending.texts.entry(*position).or_default();
            for row in rows {
                waiting.push(TextRow::new(plan, capture, row, report));
            }
        }
        let is_full = |rows: &Vec<TextRow>| rows.len() >= TEXT_ROWS_PER_BATCH;
        if pending.texts.values().any(is_full) {
            pending.append_texts(&packet.plans, &self.schedule)?;
        }
        Ok(())
    }
}

/// A name for a document of this input that no other one has and that every
/// file system takes.
fn document_name(input: &str, taken: &mut HashSet<String>) -> String {
    let stem = Path::new(input).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy();
    let safe = |c: char| match c.is_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '_',
    };
    // At most four bytes a character, and file names have 255.
    let stem: String = stem.chars().map(safe).take(50).collect();
    let mut name = stem.clone();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{stem}-{number}");
    }
    format!("{DOCUMENT}/{name}.yaml")
}

//! Rows that are text: the lists of session strings, which lie in no record.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, RecordBatchOptions, StringArray,
    new_null_array,
};
use arrow::error::ArrowError;

use super::Pending;
use super::plan::{Output, TablePlan};
use super::report::CaptureReport;
use super::schedule::Schedule;
use crate::formats::iracing::SessionRow;
use crate::layout::{Column, Scalar};

/// Rows of a table of the session string that are written at a time.
pub(super) const TEXT_ROWS_PER_BATCH: usize = 1 << 12;

/// A row of a list of a session string.
pub(super) struct TextRow {
    capture: usize,
    values: HashMap<String, String>,
}

impl TextRow {
    /// What is no number where one should be is left out and told.
    pub(super) fn new(
        plan: &TablePlan,
        capture: usize,
        row: SessionRow<'_>,
        report: &mut CaptureReport,
    ) -> TextRow {
        let mut values: HashMap<String, String> = HashMap::new();
        for (key, text) in row {
            values.entry(key.into()).or_insert_with(|| text.into());
        }
        for column in &plan.table().columns {
            let Some(text) = values.get(&column.name) else {
                continue;
            };
            let is_number = match column.output() {
                Scalar::I32 => text.parse::<i32>().is_ok(),
                Scalar::F64 => text.parse::<f64>().is_ok(),
                _ => continue,
            };
            if !is_number && !text.is_empty() {
                report.note(format!(
                    "session string: {} is {text:?}, not a number: left empty",
                    column.name
                ));
            }
            if !is_number {
                values.remove(&column.name);
            }
        }
        TextRow { capture, values }
    }
}

impl Pending {
    /// Writes the rows of session strings that wait.
    pub(super) fn append_texts(
        &mut self,
        plans: &[Arc<TablePlan>],
        schedule: &Schedule,
    ) -> anyhow::Result<()> {
        for (position, lane) in &self.lanes {
            let rows = self.texts.remove(position).unwrap_or_default();
            for rows in rows.chunks(TEXT_ROWS_PER_BATCH) {
                let batch = text_batch(&plans[*position], rows)?;
                let count = rows.len() as u64;
                schedule.totals.rows.fetch_add(count, Ordering::Relaxed);
                lane.sink.clone().encode(batch)?()?;
            }
        }
        Ok(())
    }
}

/// The values of one column.
fn column(column: &Column, rows: &[TextRow]) -> ArrayRef {
    let texts = rows.iter().map(|row| row.values.get(&column.name));
    match column.output() {
        Scalar::I32 => {
            let numbers = texts.map(|text| text?.parse().ok());
            Arc::new(numbers.collect::<Int32Array>())
        }
        Scalar::F64 => {
            let numbers = texts.map(|text| text?.parse().ok());
            Arc::new(numbers.collect::<Float64Array>())
        }
        _ => Arc::new(texts.collect::<StringArray>()),
    }
}

/// Rows of session strings as they go into their table.
fn text_batch(plan: &TablePlan, rows: &[TextRow]) -> Result<RecordBatch, ArrowError> {
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(plan.outputs.len());
    for (field, output) in plan.schema.fields().iter().zip(&plan.outputs) {
        arrays.push(match output {
            Output::Capture => plan.capture_column(rows.iter().map(|row| row.capture))?,
            Output::Column(position) => column(&plan.table().columns[*position], rows),
            Output::Label { .. } => new_null_array(field.data_type(), rows.len()),
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(plan.schema.clone(), arrays, &options)
}

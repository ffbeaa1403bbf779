//! CSV: a header row, `\n` at the end of each row, an empty field for null,
//! floats in their shortest exact form. Quoting is the csv crate's.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{Cells, RowFormat, Style};

const STYLE: Style = Style {
    null: "",
    not_finite: None,
    quotes_wide: false,
    end: b"\n",
};

pub(super) struct Csv {
    schema: SchemaRef,
    /// What stands before each cell.
    commas: Vec<Vec<u8>>,
}

impl Csv {
    pub(super) fn new(schema: SchemaRef) -> Csv {
        let commas = (0..schema.fields().len()).map(|position| match position {
            0 => Vec::new(),
            _ => vec![b','],
        });
        Csv {
            commas: commas.collect(),
            schema,
        }
    }
}

impl RowFormat for Csv {
    fn head(&self) -> anyhow::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.schema.fields().iter().map(|field| field.name()))?;
        Ok(writer.into_inner()?)
    }

    fn rows(&self, batch: &RecordBatch, out: &mut Vec<u8>) {
        let mut quoted: HashMap<&str, Vec<u8>> = HashMap::new();
        Cells::<1>::of(batch, &self.commas, STYLE).write(out, |text, out| {
            out.extend_from_slice(quoted.entry(text).or_insert_with(|| quote(text)));
        });
    }

    fn separator(&self) -> &'static [u8] {
        b""
    }

    fn tail(&self, _empty: bool) -> &'static [u8] {
        b""
    }
}

/// A text as a CSV field.
fn quote(text: &str) -> Vec<u8> {
    if text.is_empty() {
        // Alone in a record it would be quoted to tell it from an empty line.
        return Vec::new();
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record([text]);
    let mut field = match (written, writer.into_inner()) {
        (Ok(()), Ok(field)) => field,
        _ => unreachable!("writing to memory does not fail"),
    };
    field.pop();
    field
}

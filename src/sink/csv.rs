//! CSV: a header row, `\n` at the end of each row, an empty field for null,
//! floats in their shortest exact form. Quoting is the csv crate's.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{Cells, Pen, RowFormat, Style};

const STYLE: Style = Style {
    null: "",
    not_finite: None,
    quotes_wide: false,
};

pub(super) struct Csv {
    pub schema: SchemaRef,
}

impl RowFormat for Csv {
    fn head(&self) -> anyhow::Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.schema.fields().iter().map(|field| field.name()))?;
        Ok(writer.into_inner()?)
    }

    fn rows(&self, batch: &RecordBatch, pen: &mut Pen) {
        let mut cells = Cells::of(batch, STYLE);
        let mut quoted: HashMap<&str, Vec<u8>> = HashMap::new();
        // A row of cells that are no texts, each with a comma.
        let room = cells.count() * (Cells::WIDEST + 1);
        while let Some(rows) = cells.next_block() {
            for row in rows {
                let mut line = pen.line(room + cells.room_of_texts(row));
                for column in 0..cells.count() {
                    cells.write(column, row, &mut line, |line, text| {
                        line.text(quoted.entry(text).or_insert_with(|| quote(text)));
                    });
                    line.byte(b',');
                }
                line.replace_last(b'\n');
                let length = line.len();
                pen.keep(length);
            }
        }
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

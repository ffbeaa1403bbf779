//! JSON: an object a row, one a line or all in one array. Numbers that are not
//! finite are null; 64-bit ids are strings, since readers round them.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{Cells, Label, Pen, RowFormat, STROKE, Style};

const STYLE: Style = Style {
    null: "null",
    not_finite: Some("null"),
    quotes_wide: true,
};

pub(super) struct Json {
    /// `"name":` for each column, with what separates it from the one before.
    keys: Vec<Label>,
    as_array: bool,
}

impl Json {
    pub(super) fn new(schema: &SchemaRef, as_array: bool) -> Json {
        let fields = schema.fields().iter().enumerate();
        let keys = fields.map(|(position, field)| {
            let mut key = vec![if position == 0 { b'{' } else { b',' }];
            write_string(field.name(), &mut key);
            key.push(b':');
            Label::new(&key)
        });
        Json {
            keys: keys.collect(),
            as_array,
        }
    }
}

impl RowFormat for Json {
    fn head(&self) -> anyhow::Result<Vec<u8>> {
        Ok(if self.as_array {
            b"[\n".into()
        } else {
            Vec::new()
        })
    }

    fn rows(&self, batch: &RecordBatch, pen: &mut Pen) {
        let mut cells = Cells::of(batch, STYLE);
        let mut string = Vec::new();
        // Keys, cells that are no texts, and what ends the row.
        let keys = self.keys.iter().map(Label::len).sum::<usize>();
        let row_length = keys + batch.num_columns() * STROKE + 3;
        while let Some(rows) = cells.next_block() {
            for row in rows {
                pen.reserve(row_length);
                if row > 0 {
                    if self.as_array {
                        pen.byte(b',');
                    }
                    pen.byte(b'\n');
                }
                for (column, (cell, key)) in cells.row(row).iter().zip(&self.keys).enumerate() {
                    pen.label(key);
                    if cell.is_text() {
                        string.clear();
                        write_string(cells.text(column, row), &mut string);
                        pen.long(&string, row_length);
                    } else {
                        pen.cell(cell);
                    }
                }
                pen.byte(b'}');
            }
        }
        if !self.as_array {
            pen.byte(b'\n');
        }
    }

    fn separator(&self) -> &'static [u8] {
        if self.as_array { b",\n" } else { b"" }
    }

    fn tail(&self, empty: bool) -> &'static [u8] {
        match (self.as_array, empty) {
            (true, true) => b"]\n",
            (true, false) => b"\n]\n",
            (false, _) => b"",
        }
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    if serde_json::to_writer(out, text).is_err() {
        unreachable!("writing a text to memory does not fail");
    }
}

//! JSON: an object a row, one a line or all in one array. Numbers that are not
//! finite are null; 64-bit ids are strings, since readers round them.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{Cells, Label, Pen, RowFormat, Style};

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
        let room = keys + cells.count() * Cells::WIDEST + 3;
        while let Some(rows) = cells.next_block() {
            for row in rows {
                let mut line = pen.line(room + cells.room_of_texts(row));
                if row > 0 {
                    if self.as_array {
                        line.byte(b',');
                    }
                    line.byte(b'\n');
                }
                for (column, key) in self.keys.iter().enumerate() {
                    line.label(key);
                    cells.write(column, row, &mut line, |line, text| {
                        string.clear();
                        write_string(text, &mut string);
                        line.text(&string);
                    });
                }
                line.byte(b'}');
                let length = line.len();
                pen.keep(length);
            }
        }
        if !self.as_array {
            let mut line = pen.line(1);
            line.byte(b'\n');
            pen.keep(1);
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

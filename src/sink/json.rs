//! JSON: an object a row, one a line or all in one array. Numbers that are not
//! finite are null; 64-bit ids are strings, since readers round them.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{Cells, RowFormat, Style};

const STYLE: Style = Style {
    null: "null",
    not_finite: Some("null"),
    quotes_wide: true,
    end: b"}\n",
};

pub(super) struct Json {
    /// `"name":` for each column, with what separates it from the one before.
    keys: Vec<Vec<u8>>,
    as_array: bool,
}

impl Json {
    pub(super) fn new(schema: &SchemaRef, as_array: bool) -> Json {
        let fields = schema.fields().iter().enumerate();
        let keys = fields.map(|(position, field)| {
            let mut key = vec![if position == 0 { b'{' } else { b',' }];
            write_string(field.name(), &mut key);
            key.push(b':');
            key
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

    fn rows(&self, batch: &RecordBatch, out: &mut Vec<u8>) {
        let style = Style {
            end: if self.as_array { b"},\n" } else { STYLE.end },
            ..STYLE
        };
        Cells::<32>::of(batch, &self.keys, style).write(out, write_string);
        if self.as_array && batch.num_rows() > 0 {
            // What separates batches comes from elsewhere.
            out.truncate(out.len() - self.separator().len());
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

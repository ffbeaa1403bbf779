//! JSON: an object a row, one a line or all in one array. Numbers that are not
//! finite are null; 64-bit ids are strings, since readers round them.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{Cells, Numbers, RowFormat};

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
        let columns = Cells::of(batch);
        let mut numbers = Numbers::default();
        for row in 0..batch.num_rows() {
            if row > 0 {
                out.extend_from_slice(if self.as_array { b",\n" } else { b"\n" });
            }
            for (column, key) in columns.iter().zip(&self.keys) {
                out.extend_from_slice(key);
                write_cell(column, row, &mut numbers, out);
            }
            out.push(b'}');
        }
        if !self.as_array {
            out.push(b'\n');
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

fn write_cell(column: &Cells<'_>, row: usize, numbers: &mut Numbers, out: &mut Vec<u8>) {
    let is_finite = match column {
        Cells::F32(array) => array.value(row).is_finite(),
        Cells::F64(array) => array.value(row).is_finite(),
        _ => true,
    };
    if column.is_null(row) || !is_finite {
        out.extend_from_slice(b"null");
    } else if let Some(text) = column.text(row) {
        write_string(text, out);
    } else if matches!(column, Cells::U64(_) | Cells::I64(_) | Cells::Time(_)) {
        out.push(b'"');
        column.write_number(row, numbers, out);
        out.push(b'"');
    } else {
        column.write_number(row, numbers, out);
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    if serde_json::to_writer(out, text).is_err() {
        unreachable!("writing a text to memory does not fail");
    }
}

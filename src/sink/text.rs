//! Text formats: rows are written batch by batch on any thread, compressed if
//! asked for, and joined in order. How a row looks is up to `csv` and `json`.

use std::io::Write;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::{
    Array, AsArray, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray,
    UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::datatypes::{DataType, Int32Type};
use chrono::{DateTime, SecondsFormat};

use super::file::{Completed, OutputFile};
use super::{Compression, FileSink};
use crate::decode::{Append, TableSink};
use crate::lock::lock;

/// How a text format writes rows.
pub(super) trait RowFormat: Send + Sync + 'static {
    /// What stands before the first row.
    fn head(&self) -> anyhow::Result<Vec<u8>>;
    /// The rows of a batch; `first` if none came before it.
    fn rows(&self, batch: &RecordBatch, out: &mut Vec<u8>);
    /// What stands between one batch and the next.
    fn separator(&self) -> &'static [u8];
    /// What stands after the last row; `empty` if there was none.
    fn tail(&self, empty: bool) -> &'static [u8];
}

pub(super) struct TextSink<F> {
    format: F,
    compression: Compression,
    state: Mutex<State>,
}

struct State {
    file: Option<OutputFile>,
    empty: bool,
}

impl<F: RowFormat> TextSink<F> {
    pub(super) fn open(
        mut file: OutputFile,
        compression: Compression,
        format: F,
    ) -> anyhow::Result<TextSink<F>> {
        file.write_all(&compress(compression, format.head()?)?)?;
        let state = State {
            file: Some(file),
            empty: true,
        };
        Ok(TextSink {
            format,
            compression,
            state: Mutex::new(state),
        })
    }
}

impl<F: RowFormat> TableSink for TextSink<F> {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        let mut text = Vec::new();
        self.format.rows(&batch, &mut text);
        drop(batch);
        let text = compress(self.compression, text)?;
        Ok(Box::new(move || {
            let mut state = lock(&self.state);
            let separate = !std::mem::replace(&mut state.empty, false);
            let file = state
                .file
                .as_mut()
                .ok_or_else(|| anyhow!("file is closed"))?;
            if separate {
                file.write_all(&compress(self.compression, self.format.separator().into())?)?;
            }
            file.write_all(&text)?;
            Ok(())
        }))
    }
}

impl<F: RowFormat> FileSink for TextSink<F> {
    fn finish(&self) -> anyhow::Result<Completed> {
        let mut state = lock(&self.state);
        let file = state.file.take();
        let mut file = file.ok_or_else(|| anyhow!("file is closed"))?;
        let tail = self.format.tail(state.empty);
        file.write_all(&compress(self.compression, tail.into())?)?;
        file.complete()
    }
}

/// Compresses a piece by itself: pieces joined are again a valid file, and
/// each can be made on its own thread.
fn compress(compression: Compression, text: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    if text.is_empty() {
        return Ok(text);
    }
    Ok(match compression {
        Compression::Gzip(level) => {
            let level = flate2::Compression::new(level);
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(&text)?;
            encoder.finish()?
        }
        Compression::Zstandard(level) => zstd::bulk::compress(&text, level)?,
        Compression::None | Compression::Snappy | Compression::Lz4 => text,
    })
}

/// One column of a batch, ready to be read cell by cell.
pub(super) enum Cells<'a> {
    U8(&'a UInt8Array),
    I8(&'a Int8Array),
    U16(&'a UInt16Array),
    I16(&'a Int16Array),
    U32(&'a UInt32Array),
    I32(&'a Int32Array),
    U64(&'a UInt64Array),
    I64(&'a Int64Array),
    F32(&'a Float32Array),
    F64(&'a Float64Array),
    Time(&'a TimestampNanosecondArray),
    Bool(&'a BooleanArray),
    Text(&'a StringArray),
    Names(&'a DictionaryArray<Int32Type>, &'a StringArray),
}

impl<'a> Cells<'a> {
    /// The columns of a batch of this crate's own making.
    pub(super) fn of(batch: &'a RecordBatch) -> Vec<Cells<'a>> {
        let columns = batch.columns().iter();
        columns
            .map(|array| match array.data_type() {
                DataType::UInt8 => Cells::U8(array.as_primitive()),
                DataType::Int8 => Cells::I8(array.as_primitive()),
                DataType::UInt16 => Cells::U16(array.as_primitive()),
                DataType::Int16 => Cells::I16(array.as_primitive()),
                DataType::UInt32 => Cells::U32(array.as_primitive()),
                DataType::Int32 => Cells::I32(array.as_primitive()),
                DataType::UInt64 => Cells::U64(array.as_primitive()),
                DataType::Int64 => Cells::I64(array.as_primitive()),
                DataType::Float32 => Cells::F32(array.as_primitive()),
                DataType::Float64 => Cells::F64(array.as_primitive()),
                DataType::Timestamp(..) => Cells::Time(array.as_primitive()),
                DataType::Boolean => Cells::Bool(array.as_boolean()),
                DataType::Utf8 => Cells::Text(array.as_string()),
                DataType::Dictionary(..) => {
                    let names = array.as_dictionary::<Int32Type>();
                    Cells::Names(names, names.values().as_string())
                }
                other => unreachable!("no column is decoded as {other}"),
            })
            .collect()
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Cells::U8(array) => array.is_null(row),
            Cells::I8(array) => array.is_null(row),
            Cells::U16(array) => array.is_null(row),
            Cells::I16(array) => array.is_null(row),
            Cells::U32(array) => array.is_null(row),
            Cells::I32(array) => array.is_null(row),
            Cells::U64(array) => array.is_null(row),
            Cells::I64(array) => array.is_null(row),
            Cells::F32(array) => array.is_null(row),
            Cells::F64(array) => array.is_null(row),
            Cells::Time(array) => array.is_null(row),
            Cells::Bool(array) => array.is_null(row),
            Cells::Text(array) => array.is_null(row),
            Cells::Names(array, _) => array.is_null(row),
        }
    }

    /// The text of a cell of text.
    pub(super) fn text(&self, row: usize) -> Option<&'a str> {
        match self {
            Cells::Text(array) => Some(array.value(row)),
            Cells::Names(array, names) => {
                let position = usize::try_from(array.keys().value(row)).ok()?;
                Some(names.value(position))
            }
            _ => None,
        }
    }

    /// Writes a cell with a number, time, `true` or `false`; nothing for texts.
    pub(super) fn write_number(&self, row: usize, writer: &mut Numbers, out: &mut Vec<u8>) {
        let mut integer = itoa::Buffer::new();
        let text = match self {
            Cells::U8(array) => integer.format(array.value(row)),
            Cells::I8(array) => integer.format(array.value(row)),
            Cells::U16(array) => integer.format(array.value(row)),
            Cells::I16(array) => integer.format(array.value(row)),
            Cells::U32(array) => integer.format(array.value(row)),
            Cells::I32(array) => integer.format(array.value(row)),
            Cells::U64(array) => integer.format(array.value(row)),
            Cells::I64(array) => integer.format(array.value(row)),
            Cells::F32(array) => writer.float.format(array.value(row)),
            Cells::F64(array) => writer.float.format(array.value(row)),
            Cells::Time(array) => writer.time(array.value(row)),
            Cells::Bool(array) => match array.value(row) {
                true => "true",
                false => "false",
            },
            Cells::Text(_) | Cells::Names(..) => "",
        };
        out.extend_from_slice(text.as_bytes());
    }
}

/// Turns numbers into their shortest exact text.
#[derive(Default)]
pub(super) struct Numbers {
    float: zmij::Buffer,
    /// Rows of one record share a time stamp: the last one is kept.
    last_time: Option<(i64, String)>,
}

impl Numbers {
    fn time(&mut self, time: i64) -> &str {
        let known = self.last_time.take().filter(|(last, _)| *last == time);
        let (_, text) = self.last_time.insert(known.unwrap_or_else(|| {
            let moment = DateTime::from_timestamp_nanos(time);
            (time, moment.to_rfc3339_opts(SecondsFormat::Nanos, true))
        }));
        text
    }
}

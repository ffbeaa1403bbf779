//! Text formats: rows are written batch by batch on any thread, compressed if
//! asked for, and joined in order. How a row looks is up to `csv` and `json`; how
//! a cell becomes text, and how that is fast, is here.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::{Array, AsArray, BooleanArray, RecordBatch, StringArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

use super::file::{Completed, OutputFile};
use super::{Compression, FileSink};
use crate::clock;
use crate::decode::{Append, TableSink};
use crate::lock::lock;

/// How a text format writes rows.
pub(super) trait RowFormat: Send + Sync + 'static {
    /// What stands before the first row.
    fn head(&self) -> anyhow::Result<Vec<u8>>;
    /// The rows of a batch.
    fn rows(&self, batch: &RecordBatch, pen: &mut Pen);
    /// What stands between one batch and the next.
    fn separator(&self) -> &'static [u8];
    /// What stands after the last row; `empty` if there was none.
    fn tail(&self, empty: bool) -> &'static [u8];
}

pub(super) struct TextSink<F> {
    format: F,
    compression: Compression,
    state: Mutex<State>,
    /// Pens whose text is in the file: fresh memory for each batch would cost as
    /// much as the writing.
    pens: Mutex<Vec<Pen>>,
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
        file.write_all(&compress(compression, &format.head()?)?)?;
        let state = State {
            file: Some(file),
            empty: true,
        };
        Ok(TextSink {
            format,
            compression,
            state: Mutex::new(state),
            pens: Mutex::default(),
        })
    }
}

impl<F: RowFormat> TableSink for TextSink<F> {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        let mut pen = lock(&self.pens).pop().unwrap_or_default();
        self.format.rows(&batch, &mut pen);
        drop(batch);
        let packed = match self.compression {
            Compression::None => None,
            compression => Some(compress(compression, pen.written())?.into_owned()),
        };
        Ok(Box::new(move || {
            let mut state = lock(&self.state);
            let separate = !std::mem::replace(&mut state.empty, false);
            let file = state
                .file
                .as_mut()
                .ok_or_else(|| anyhow!("file is closed"))?;
            if separate {
                file.write_all(&compress(self.compression, self.format.separator())?)?;
            }
            file.write_all(packed.as_deref().unwrap_or(pen.written()))?;
            pen.clear();
            lock(&self.pens).push(pen);
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
        file.write_all(&compress(self.compression, tail)?)?;
        file.complete()
    }
}

/// Compresses a piece by itself: pieces joined are again a valid file, and
/// each can be made on its own thread.
fn compress(compression: Compression, text: &[u8]) -> anyhow::Result<Cow<'_, [u8]>> {
    if text.is_empty() {
        return Ok(text.into());
    }
    Ok(match compression {
        Compression::Gzip(level) => {
            let level = flate2::Compression::new(level);
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(text)?;
            encoder.finish()?.into()
        }
        Compression::Zstandard(level) => zstd::bulk::compress(text, level)?.into(),
        Compression::None | Compression::Snappy | Compression::Lz4 => text.into(),
    })
}

/// Bytes that are copied at once, whatever number of them counts: a copy of a
/// fixed length takes two instructions, any other is a call.
const STROKE: usize = 32;

/// Writes text into memory that is always there: the buffer is longer than what it
/// holds by at least a stroke.
#[derive(Default)]
pub(super) struct Pen {
    buffer: Vec<u8>,
    at: usize,
}

impl Pen {
    /// Makes room for so many bytes and a stroke.
    pub(super) fn reserve(&mut self, room: usize) {
        let needed = self.at + room + STROKE;
        if self.buffer.len() < needed {
            self.buffer.resize(needed.max(2 * self.buffer.len()), 0);
        }
    }

    /// Writes the first bytes of a stroke; there must be room.
    fn stroke<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        self.buffer[self.at..self.at + N].copy_from_slice(bytes);
        self.at += length;
    }

    /// Writes a byte; there must be room.
    pub(super) fn byte(&mut self, byte: u8) {
        self.buffer[self.at] = byte;
        self.at += 1;
    }

    /// Puts another byte in the place of the last one.
    pub(super) fn replace_last(&mut self, byte: u8) {
        self.buffer[self.at - 1] = byte;
    }

    /// Writes a few bytes; there must be room.
    fn short(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// Writes bytes of any number, and leaves the room that there was.
    pub(super) fn long(&mut self, bytes: &[u8], room: usize) {
        self.reserve(bytes.len() + room);
        self.short(bytes);
    }

    /// Writes a label; there must be room.
    pub(super) fn label(&mut self, label: &Label) {
        let mut left = label.length;
        for stroke in &label.strokes {
            self.stroke(stroke, left.min(STROKE));
            left = left.saturating_sub(STROKE);
        }
    }

    fn written(&self) -> &[u8] {
        &self.buffer[..self.at]
    }

    fn clear(&mut self) {
        self.at = 0;
    }
}

/// A text that is written again and again.
pub(super) struct Label {
    strokes: Vec<[u8; STROKE]>,
    length: usize,
}

impl Label {
    pub(super) fn new(text: &[u8]) -> Label {
        let strokes = text.chunks(STROKE).map(|chunk| {
            let mut stroke = [0; STROKE];
            stroke[..chunk.len()].copy_from_slice(chunk);
            stroke
        });
        Label {
            strokes: strokes.collect(),
            length: text.len(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }
}

/// One column of a batch, ready to be written cell by cell.
pub(super) struct Column<'a> {
    values: Values<'a>,
    /// Where the rows of each value end, if they have several.
    ends: Option<&'a [i32]>,
    /// The position of the current row's value.
    at: usize,
    nulls: Option<&'a NullBuffer>,
    /// Whether values mostly stand in several rows one after the other, as those of
    /// the whole packet do.
    repeats: bool,
    /// The last value and its text.
    last: Option<u64>,
    text: [u8; STROKE],
    length: usize,
    float: zmij::Buffer,
}

enum Values<'a> {
    U8(&'a [u8]),
    I8(&'a [i8]),
    U16(&'a [u16]),
    I16(&'a [i16]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    /// Nanoseconds since 1970 UTC.
    Time(&'a [i64]),
    Bool(&'a BooleanArray),
    Text(&'a StringArray),
    /// Positions in a list of texts.
    Names(&'a [i32], &'a StringArray),
}

/// What a cell holds.
pub(super) enum Cell<'a> {
    Null,
    Text(&'a str),
    /// A number, a time, `true` or `false`.
    Plain,
}

impl<'a> Column<'a> {
    /// The most that a cell takes which is no text.
    pub(super) const WIDEST: usize = STROKE;
    /// Rows that are looked at to see whether values repeat.
    const SAMPLE: usize = 256;

    /// The columns of a batch of this crate's own making.
    pub(super) fn of(batch: &'a RecordBatch) -> Vec<Column<'a>> {
        let columns = batch.columns().iter();
        columns
            .map(|array| {
                let runs = array.as_run_opt::<Int32Type>();
                let array = runs.map_or(array, |runs| runs.values());
                let values = match array.data_type() {
                    DataType::UInt8 => Values::U8(array.as_primitive::<UInt8Type>().values()),
                    DataType::Int8 => Values::I8(array.as_primitive::<Int8Type>().values()),
                    DataType::UInt16 => Values::U16(array.as_primitive::<UInt16Type>().values()),
                    DataType::Int16 => Values::I16(array.as_primitive::<Int16Type>().values()),
                    DataType::UInt32 => Values::U32(array.as_primitive::<UInt32Type>().values()),
                    DataType::Int32 => Values::I32(array.as_primitive::<Int32Type>().values()),
                    DataType::UInt64 => Values::U64(array.as_primitive::<UInt64Type>().values()),
                    DataType::Int64 => Values::I64(array.as_primitive::<Int64Type>().values()),
                    DataType::Float32 => Values::F32(array.as_primitive::<Float32Type>().values()),
                    DataType::Float64 => Values::F64(array.as_primitive::<Float64Type>().values()),
                    DataType::Timestamp(..) => {
                        Values::Time(array.as_primitive::<TimestampNanosecondType>().values())
                    }
                    DataType::Boolean => Values::Bool(array.as_boolean()),
                    DataType::Utf8 => Values::Text(array.as_string()),
                    DataType::Dictionary(..) => {
                        let names = array.as_dictionary::<Int32Type>();
                        Values::Names(names.keys().values(), names.values().as_string())
                    }
                    other => unreachable!("no column is decoded as {other}"),
                };
                let rows = 1..array.len().min(Self::SAMPLE);
                let sample = rows.len();
                let same = rows.filter(|row| values.bits(*row) == values.bits(row - 1));
                Column {
                    ends: runs.map(|runs| runs.run_ends().values()),
                    at: 0,
                    repeats: runs.is_some() || same.count() * 2 > sample,
                    values,
                    nulls: array.nulls().filter(|nulls| nulls.null_count() > 0),
                    last: None,
                    text: [0; STROKE],
                    length: 0,
                    float: zmij::Buffer::new(),
                }
            })
            .collect()
    }

    /// Whether it is one of 64-bit numbers or times, which JSON readers round.
    pub(super) fn is_wide(&self) -> bool {
        matches!(
            self.values,
            Values::U64(_) | Values::I64(_) | Values::Time(_)
        )
    }

    /// Goes to a row, none before the last one.
    pub(super) fn go_to(&mut self, row: usize) {
        self.at = match self.ends {
            None => row,
            Some(ends) => self.at + usize::from(ends[self.at] as usize <= row),
        };
    }

    pub(super) fn is_finite(&self) -> bool {
        match &self.values {
            Values::F32(values) => values[self.at].is_finite(),
            Values::F64(values) => values[self.at].is_finite(),
            _ => true,
        }
    }

    pub(super) fn cell(&self) -> Cell<'a> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(self.at)) {
            return Cell::Null;
        }
        match &self.values {
            Values::Text(array) => Cell::Text(array.value(self.at)),
            Values::Names(positions, names) => Cell::Text(names.value(positions[self.at] as usize)),
            _ => Cell::Plain,
        }
    }

    /// Writes a plain cell; there must be room for [`Column::WIDEST`].
    pub(super) fn write(&mut self, pen: &mut Pen) {
        if self.repeats {
            let bits = self.values.bits(self.at);
            if self.last.replace(bits) != Some(bits) {
                let start = pen.at;
                self.values.write(self.at, &mut self.float, pen);
                self.length = pen.at - start;
                self.text
                    .copy_from_slice(&pen.buffer[start..start + STROKE]);
                return;
            }
            return pen.stroke(&self.text, self.length);
        }
        self.values.write(self.at, &mut self.float, pen);
    }
}

impl Values<'_> {
    /// What tells a plain value from others.
    fn bits(&self, row: usize) -> u64 {
        match self {
            Values::U8(values) => values[row].into(),
            Values::I8(values) => values[row] as u64,
            Values::U16(values) => values[row].into(),
            Values::I16(values) => values[row] as u64,
            Values::U32(values) => values[row].into(),
            Values::I32(values) => values[row] as u64,
            Values::U64(values) => values[row],
            Values::I64(values) | Values::Time(values) => values[row] as u64,
            Values::F32(values) => values[row].to_bits().into(),
            Values::F64(values) => values[row].to_bits(),
            Values::Bool(array) => array.value(row).into(),
            Values::Text(_) | Values::Names(..) => row as u64,
        }
    }

    fn write(&self, row: usize, float: &mut zmij::Buffer, pen: &mut Pen) {
        let mut integer = itoa::Buffer::new();
        let text = match self {
            Values::U8(values) => {
                let (text, length) = &SMALL[usize::from(values[row])];
                return pen.stroke(text, *length);
            }
            Values::I8(values) => integer.format(values[row]),
            Values::U16(values) => integer.format(values[row]),
            Values::I16(values) => integer.format(values[row]),
            Values::U32(values) => integer.format(values[row]),
            Values::I32(values) => integer.format(values[row]),
            Values::U64(values) => integer.format(values[row]),
            Values::I64(values) => integer.format(values[row]),
            Values::F32(values) => float.format(values[row]),
            Values::F64(values) => float.format(values[row]),
            Values::Time(values) => {
                return pen.short(clock::rfc3339(values[row]).as_bytes());
            }
            Values::Bool(array) => match array.value(row) {
                true => "true",
                false => "false",
            },
            Values::Text(_) | Values::Names(..) => "",
        };
        pen.short(text.as_bytes());
    }
}

/// The text of each byte, and its length.
static SMALL: [([u8; 4], usize); 256] = {
    let mut small = [([0; 4], 0); 256];
    let mut value = 0;
    while value < 256 {
        let digits = [
            b'0' + (value / 100) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        ];
        let length = if value >= 100 {
            3
        } else if value >= 10 {
            2
        } else {
            1
        };
        let mut at = 0;
        while at < length {
            small[value].0[at] = digits[3 - length + at];
            at += 1;
        }
        small[value].1 = length;
        value += 1;
    }
    small
};

//! Text formats: rows are written batch by batch on any thread, compressed if
//! asked for, and joined in order. How a row looks is up to `csv` and `json`; how
//! a cell becomes text, and how that is fast, is here.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray};
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

/// A text that grows line by line.
#[derive(Default)]
pub(super) struct Pen {
    buffer: Vec<u8>,
    at: usize,
}

impl Pen {
    /// Begins a line of at most so many bytes.
    pub(super) fn line(&mut self, room: usize) -> Line<'_> {
        let end = self.at + room + STROKE;
        if self.buffer.len() < end {
            self.buffer.resize(end.max(2 * self.buffer.len()), 0);
        }
        Line {
            bytes: &mut self.buffer[self.at..end],
            at: 0,
        }
    }

    /// Keeps what was written of the line that was begun last.
    pub(super) fn keep(&mut self, length: usize) {
        self.at += length;
    }

    fn written(&self) -> &[u8] {
        &self.buffer[..self.at]
    }

    fn clear(&mut self) {
        self.at = 0;
    }
}

/// Text on its way into memory with room for it, and for a stroke that counts in part.
pub(super) struct Line<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Line<'_> {
    pub(super) fn len(&self) -> usize {
        self.at
    }

    /// Writes the first bytes of a stroke.
    #[inline(always)]
    fn stroke<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        self.bytes[self.at..self.at + N].copy_from_slice(bytes);
        self.at += length;
    }

    #[inline(always)]
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    /// Puts another byte in the place of the last one.
    pub(super) fn replace_last(&mut self, byte: u8) {
        self.bytes[self.at - 1] = byte;
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        self.bytes[self.at..self.at + text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    #[inline(always)]
    pub(super) fn label(&mut self, label: &Label) {
        self.stroke(&label.first, label.length.min(STROKE));
        if !label.more.is_empty() {
            self.text(&label.more);
        }
    }

    /// Writes three digits.
    #[inline(always)]
    fn three_digits(&mut self, number: u32) {
        self.stroke(&THREE_DIGITS[number as usize], 3);
    }

    /// Writes the digits of a number below 1000 that are not zeros before it.
    #[inline(always)]
    fn first_digits(&mut self, number: u32) {
        let digits = &FIRST_DIGITS[number as usize];
        self.stroke(digits, usize::from(digits[3]));
    }

    /// Writes a whole number; most in telemetry are below a million, and are there in
    /// half the time that any other would take.
    #[inline(always)]
    fn number(&mut self, number: u32) {
        if number < 1000 {
            self.first_digits(number);
        } else if number < 1_000_000 {
            self.first_digits(number / 1000);
            self.three_digits(number % 1000);
        } else {
            self.text(itoa::Buffer::new().format(number).as_bytes());
        }
    }

    #[inline(always)]
    fn signed(&mut self, number: i32) {
        if number < 0 {
            self.byte(b'-');
        }
        self.number(number.unsigned_abs());
    }
}

/// A text that is written again and again.
pub(super) struct Label {
    /// Most are no longer than that.
    first: [u8; STROKE],
    more: Vec<u8>,
    length: usize,
}

impl Label {
    pub(super) fn new(text: &[u8]) -> Label {
        let (begin, more) = text.split_at(text.len().min(STROKE));
        let mut first = [0; STROKE];
        first[..begin.len()].copy_from_slice(begin);
        Label {
            first,
            more: more.to_vec(),
            length: text.len(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }
}

/// A cell as text.
#[derive(Clone, Copy)]
struct Slot {
    text: [u8; STROKE],
    length: usize,
}

impl Slot {
    /// The length of what does not fit, since it has no bounds.
    const TEXT: usize = usize::MAX;

    fn of(text: &str) -> Slot {
        let mut slot = Slot {
            text: [0; STROKE],
            length: 0,
        };
        slot.write(|line| line.text(text.as_bytes()));
        slot
    }

    #[inline(always)]
    fn write(&mut self, write: impl FnOnce(&mut Line<'_>)) {
        let mut line = Line {
            bytes: &mut self.text,
            at: 0,
        };
        write(&mut line);
        self.length = line.at;
    }
}

/// The digits of the numbers below 1000 without zeros before them, and how many.
static FIRST_DIGITS: [[u8; 4]; 1000] = {
    let mut all = [[0; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        let digits = THREE_DIGITS[number];
        let skipped = (number < 100) as usize + (number < 10) as usize;
        let mut at = skipped;
        while at < 3 {
            all[number][at - skipped] = digits[at];
            at += 1;
        }
        all[number][3] = 3 - skipped as u8;
        number += 1;
    }
    all
};

/// The digits of the numbers below 1000, with zeros before them.
static THREE_DIGITS: [[u8; 4]; 1000] = {
    let mut all = [[b'0'; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        all[number][0] += (number / 100) as u8;
        all[number][1] += (number / 10 % 10) as u8;
        all[number][2] += (number % 10) as u8;
        number += 1;
    }
    all
};

/// How a text format writes cells that are no texts.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) null: &'static str,
    /// What stands for infinities and for what is not a number, if it is not
    /// written as such.
    pub(super) not_finite: Option<&'static str>,
    /// Whether 64-bit numbers and times, which readers round, stand in quotes.
    pub(super) quotes_wide: bool,
}

/// The cells of a batch. Small numbers are written where they belong at once. Of other
/// columns a few rows become text ahead, one column after the other, which takes half
/// the time of a row's, which are of all kinds.
pub(super) struct Cells<'a> {
    ways: Vec<Way<'a>>,
    /// Those of which rows become text ahead.
    columns: Vec<Column<'a>>,
    style: Style,
    /// Row by row.
    slots: Vec<Slot>,
    /// The rows that they are of.
    block: Range<usize>,
    rows: usize,
}

/// Where a cell's text comes from.
#[derive(Clone, Copy)]
enum Way<'a> {
    U8(&'a [u8]),
    I8(&'a [i8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    /// The column of which rows become text ahead.
    Slots(usize),
    /// The same for a column of texts, of which only nulls do.
    Texts(usize),
}

struct Column<'a> {
    values: Values<'a>,
    /// Where the rows of each value end, if they have several.
    ends: Option<&'a [i32]>,
    nulls: Option<&'a NullBuffer>,
    /// The last value that has several rows: its position and its text.
    run: Option<(usize, Slot)>,
    floats: Floats,
    seconds: Seconds,
}

#[derive(Clone, Copy)]
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

impl<'a> Cells<'a> {
    /// Few enough rows for all their cells to stay in the nearest cache.
    const BLOCK: usize = 16;
    /// The most that a cell takes which is no text.
    pub(super) const WIDEST: usize = STROKE;

    /// The cells of a batch of this crate's own making.
    pub(super) fn of(batch: &'a RecordBatch, style: Style) -> Cells<'a> {
        let mut columns = Vec::new();
        let ways = batch.columns().iter().map(|array| {
            let runs = array.as_run_opt::<Int32Type>();
            let values = runs.map_or(array, |runs| runs.values());
            let column = Column {
                values: Values::of(values),
                ends: runs.map(|runs| runs.run_ends().values()),
                nulls: values.nulls().filter(|nulls| nulls.null_count() > 0),
                run: None,
                floats: Floats::new(style.not_finite),
                seconds: Seconds::default(),
            };
            let is_plain = column.ends.is_none() && column.nulls.is_none();
            match column.values {
                Values::U8(values) if is_plain => Way::U8(values),
                Values::I8(values) if is_plain => Way::I8(values),
                Values::U16(values) if is_plain => Way::U16(values),
                Values::U32(values) if is_plain => Way::U32(values),
                Values::Text(_) | Values::Names(..) => {
                    columns.push(column);
                    Way::Texts(columns.len() - 1)
                }
                _ => {
                    columns.push(column);
                    Way::Slots(columns.len() - 1)
                }
            }
        });
        Cells {
            ways: ways.collect(),
            slots: vec![Slot::of(""); Self::BLOCK * columns.len()],
            columns,
            style,
            block: 0..0,
            rows: batch.num_rows(),
        }
    }

    /// Goes on to the next rows, until there are none.
    pub(super) fn next_block(&mut self) -> Option<Range<usize>> {
        let start = self.block.end;
        self.block = start..(start + Self::BLOCK).min(self.rows);
        let count = self.columns.len();
        for (position, column) in self.columns.iter_mut().enumerate() {
            let slots = self.slots[position..].iter_mut().step_by(count);
            column.write(self.block.clone(), slots, &self.style);
        }
        (!self.block.is_empty()).then(|| self.block.clone())
    }

    pub(super) fn count(&self) -> usize {
        self.ways.len()
    }

    /// The most that the texts of a row take, quoted or escaped.
    pub(super) fn room_of_texts(&self, row: usize) -> usize {
        let texts = self.columns.iter();
        let rooms = texts.filter(|column| column.is_text());
        // `\u0000` for each byte, and quotes.
        rooms.map(|column| 6 * column.text(row).len() + 2).sum()
    }

    /// Writes a cell of the block; there must be room. A text is handed on.
    #[inline(always)]
    pub(super) fn write(
        &self,
        column: usize,
        row: usize,
        line: &mut Line<'_>,
        write_text: impl FnOnce(&mut Line<'_>, &'a str),
    ) {
        let slot = |column| &self.slots[(row - self.block.start) * self.columns.len() + column];
        match self.ways[column] {
            Way::U8(values) => line.first_digits(values[row].into()),
            Way::I8(values) => line.signed(values[row].into()),
            Way::U16(values) => line.number(values[row].into()),
            Way::U32(values) => line.number(values[row]),
            Way::Slots(column) => {
                let slot = slot(column);
                line.stroke(&slot.text, slot.length);
            }
            Way::Texts(column) => {
                let Slot { text, length } = slot(column);
                match *length {
                    Slot::TEXT => write_text(line, self.columns[column].text(row)),
                    length => line.stroke(text, length),
                }
            }
        }
    }
}

impl<'a> Column<'a> {
    fn is_text(&self) -> bool {
        matches!(self.values, Values::Text(_) | Values::Names(..))
    }

    /// The text of a row, neither quoted nor escaped; empty if it is none or null.
    fn text(&self, row: usize) -> &'a str {
        match self.values {
            _ if self.nulls.is_some_and(|nulls| nulls.is_null(row)) => "",
            Values::Text(array) => array.value(row),
            Values::Names(positions, names) => names.value(positions[row] as usize),
            _ => "",
        }
    }
}

impl Column<'_> {
    /// Makes text of the cells of some rows.
    fn write<'s>(
        &mut self,
        rows: Range<usize>,
        mut slots: impl Iterator<Item = &'s mut Slot>,
        style: &Style,
    ) {
        let Some(ends) = self.ends else {
            self.write_values(rows.clone(), slots.by_ref(), style);
            return;
        };
        for (row, slot) in rows.zip(slots) {
            let (mut run, mut text) = self.run.unwrap_or((0, *slot));
            if self.run.is_none() || ends[run] as usize <= row {
                run += usize::from(self.run.is_some());
                self.write_values(run..run + 1, std::iter::once(&mut text), style);
                self.run = Some((run, text));
            }
            *slot = text;
        }
    }

    fn write_values<'s>(
        &mut self,
        range: Range<usize>,
        slots: impl Iterator<Item = &'s mut Slot>,
        style: &Style,
    ) {
        let (floats, seconds, nulls) = (&mut self.floats, &mut self.seconds, self.nulls);
        let quote: &[u8] = if style.quotes_wide { b"\"" } else { b"" };
        macro_rules! each {
            ($values:expr, |$slot:ident, $value:ident| $write:expr) => {
                for ((position, $value), $slot) in range.clone().zip(&$values[range]).zip(slots) {
                    if nulls.is_some_and(|nulls| nulls.is_null(position)) {
                        *$slot = Slot::of(style.null);
                        continue;
                    }
                    let $value = *$value;
                    $write;
                }
            };
        }
        macro_rules! whole {
            ($values:expr, $method:ident) => {
                each!($values, |slot, value| slot
                    .write(|line| line.$method(value.into())))
            };
        }
        macro_rules! wide {
            ($values:expr, |$line:ident, $value:ident| $write:expr) => {
                each!($values, |slot, $value| slot.write(|$line| {
                    $line.text(quote);
                    $write;
                    $line.text(quote);
                }))
            };
        }
        match self.values {
            Values::U8(values) => whole!(values, number),
            Values::I8(values) => whole!(values, signed),
            Values::U16(values) => whole!(values, number),
            Values::I16(values) => whole!(values, signed),
            Values::U32(values) => whole!(values, number),
            Values::I32(values) => whole!(values, signed),
            Values::U64(values) => wide!(values, |line, value| {
                line.text(itoa::Buffer::new().format(value).as_bytes());
            }),
            Values::I64(values) => wide!(values, |line, value| {
                line.text(itoa::Buffer::new().format(value).as_bytes());
            }),
            Values::Time(values) => wide!(values, |line, value| seconds.write(value, line)),
            Values::F32(values) => each!(values, |slot, value| {
                floats.write(value.to_bits().into(), value, value.is_finite(), slot);
            }),
            Values::F64(values) => each!(values, |slot, value| {
                floats.write(value.to_bits(), value, value.is_finite(), slot);
            }),
            Values::Bool(array) => {
                for (position, slot) in range.zip(slots) {
                    *slot = Slot::of(match (array.is_null(position), array.value(position)) {
                        (true, _) => style.null,
                        (false, true) => "true",
                        (false, false) => "false",
                    });
                }
            }
            Values::Text(_) | Values::Names(..) => {
                for (position, slot) in range.zip(slots) {
                    slot.length = Slot::TEXT;
                    if nulls.is_some_and(|nulls| nulls.is_null(position)) {
                        *slot = Slot::of(style.null);
                    }
                }
            }
        }
    }
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef) -> Values<'a> {
        match array.data_type() {
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
        }
    }
}

/// Floats as text. Telemetry's come again and again, car by car: looked up among the
/// last ones, most take a tenth of the time.
struct Floats {
    not_finite: Option<&'static str>,
    /// Bits and text, by what the bits are scattered to.
    known: Vec<(u64, Slot)>,
    buffer: zmij::Buffer,
}

impl Floats {
    const KNOWN_BITS: u32 = 8;

    fn new(not_finite: Option<&'static str>) -> Floats {
        Floats {
            not_finite,
            known: Vec::new(),
            buffer: zmij::Buffer::new(),
        }
    }

    #[inline(always)]
    fn write(&mut self, bits: u64, value: impl zmij::Float, is_finite: bool, slot: &mut Slot) {
        // The golden ratio, whose multiples are scattered evenly.
        let place = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::KNOWN_BITS);
        match self.known.get(place as usize) {
            Some((known, text)) if *known == bits => *slot = *text,
            _ => self.write_new(bits, value, is_finite, place as usize, slot),
        }
    }

    #[inline(never)]
    fn write_new(
        &mut self,
        bits: u64,
        value: impl zmij::Float,
        is_finite: bool,
        place: usize,
        slot: &mut Slot,
    ) {
        // Where nothing is known yet stands zero, whose bits are none in either width.
        self.known
            .resize(1 << Self::KNOWN_BITS, (0, Slot::of("0.0")));
        let text = match self.not_finite.filter(|_| !is_finite) {
            Some(text) => text,
            None => self.buffer.format(value),
        };
        slot.write(|line| line.text(text.as_bytes()));
        self.known[place] = (bits, *slot);
    }
}

/// Moments as text. The date is worked out once a second.
#[derive(Default)]
struct Seconds {
    /// The last second, and everything that stands before its decimals.
    last: Option<(i64, Slot)>,
}

impl Seconds {
    fn write(&mut self, nanoseconds: i64, line: &mut Line<'_>) {
        let second = nanoseconds.div_euclid(1_000_000_000);
        let decimals = nanoseconds.rem_euclid(1_000_000_000) as u32;
        let before = match self.last {
            Some((last, before)) if last == second => before,
            _ => {
                let text = clock::rfc3339(nanoseconds);
                let before = Slot::of(text.trim_end_matches(|end| end != '.'));
                self.last.insert((second, before)).1
            }
        };
        line.text(&before.text[..before.length]);
        line.three_digits(decimals / 1_000_000);
        line.three_digits(decimals / 1000 % 1000);
        line.three_digits(decimals % 1000);
        line.byte(b'Z');
    }
}

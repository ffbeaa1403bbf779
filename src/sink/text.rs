//! Text formats: rows are written batch by batch on any thread, compressed if
//! asked for, and joined in order. How a row looks is up to `csv` and `json`; how
//! a cell becomes text, and how that is fast, is here.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RunArray, StringArray};
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
    /// Of batches that are written: fresh memory for each would cost as much as the
    /// writing.
    buffers: Mutex<Vec<Vec<u8>>>,
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
            buffers: Mutex::default(),
        })
    }

    /// Writes a batch behind those before it.
    fn append(&self, text: &[u8]) -> anyhow::Result<()> {
        let mut state = lock(&self.state);
        let separate = !std::mem::replace(&mut state.empty, false);
        let file = state
            .file
            .as_mut()
            .ok_or_else(|| anyhow!("file is closed"))?;
        if separate {
            file.write_all(&compress(self.compression, self.format.separator())?)?;
        }
        file.write_all(text)?;
        Ok(())
    }
}

impl<F: RowFormat> TableSink for TextSink<F> {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        let mut text = lock(&self.buffers).pop().unwrap_or_default();
        text.clear();
        self.format.rows(&batch, &mut text);
        drop(batch);
        if self.compression != Compression::None {
            let packed = compress(self.compression, &text)?.into_owned();
            lock(&self.buffers).push(text);
            return Ok(Box::new(move || self.append(&packed)));
        }
        Ok(Box::new(move || {
            self.append(&text)?;
            lock(&self.buffers).push(text);
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

/// How a text format writes cells that are no texts.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) null: &'static str,
    /// What stands for infinities and for what is not a number, if it is not
    /// written as such.
    pub(super) not_finite: Option<&'static str>,
    /// Whether 64-bit numbers and times, which readers round, stand in quotes.
    pub(super) quotes_wide: bool,
    /// What ends a row.
    pub(super) end: &'static [u8],
}

/// How a text format writes texts: behind what is there.
pub(super) trait WriteText<'a>: FnMut(&'a str, &mut Vec<u8>) {}

impl<'a, F: FnMut(&'a str, &mut Vec<u8>)> WriteText<'a> for F {}

/// The cells of a batch, each behind its label, of which most are no longer than
/// `LABEL`. A few rows are written at once, one column after the other: each loop is for
/// one kind of cell, where a row's would choose anew at each.
pub(super) struct Cells<'a, const LABEL: usize> {
    parts: Vec<Part<'a, LABEL>>,
    style: Style,
    rows: usize,
}

/// What a row is made of, from left to right.
enum Part<'a, const LABEL: usize> {
    Shared(Shared<'a>),
    Cell(Label<'a, LABEL>, Column<'a>),
    /// Two small numbers, each behind a comma.
    Pair(Small<'a>, Small<'a>),
}

/// What stands before a cell.
struct Label<'a, const N: usize> {
    /// What is too much of it for the rest.
    begin: &'a [u8],
    end: [u8; N],
    length_of_end: usize,
}

#[derive(Clone, Copy)]
enum Small<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
}

/// Columns beside each other whose values hold for several rows, the same for all: one
/// text for all those rows.
struct Shared<'a> {
    columns: Vec<(&'a [u8], Column<'a>)>,
    /// Where the rows of each value end.
    ends: &'a [i32],
    /// The value that is text now, if any is.
    run: Option<usize>,
    /// One, in which it becomes text.
    lines: Lines,
    text: Vec<u8>,
}

struct Column<'a> {
    values: Values<'a>,
    nulls: Option<&'a NullBuffer>,
    floats: Floats,
    seconds: Seconds,
    /// A text, as the format writes it.
    text: Vec<u8>,
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

impl<'a, const LABEL: usize> Cells<'a, LABEL> {
    /// The cells of a batch of this crate's own making.
    pub(super) fn of(
        batch: &'a RecordBatch,
        labels: &'a [Vec<u8>],
        style: Style,
    ) -> Cells<'a, LABEL> {
        let mut parts: Vec<Part<'a, LABEL>> = Vec::new();
        for (array, label) in batch.columns().iter().zip(labels) {
            let last = parts.pop();
            let (last, part) = match array.as_run_opt::<Int32Type>() {
                Some(runs) => Shared::of(label, runs, last),
                None => Part::of(label, array, last),
            };
            parts.extend(last);
            parts.push(part);
        }
        Cells {
            parts,
            style,
            rows: batch.num_rows(),
        }
    }

    pub(super) fn write(mut self, out: &mut Vec<u8>, mut write_text: impl WriteText<'a>) {
        let mut lines = Lines::default();
        for start in (0..self.rows).step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(self.rows);
            lines.begin(rows.len());
            for part in &mut self.parts {
                part.write(rows.clone(), &mut lines, &self.style, &mut write_text);
            }
            lines.reserve(self.style.end.len());
            lines.each(|_, line| line.short(self.style.end));
            lines.append_to(out);
        }
    }
}

impl<'a, const LABEL: usize> Part<'a, LABEL> {
    /// A column as a part, and the part before it if it is not in it.
    fn of(
        label: &'a [u8],
        array: &'a ArrayRef,
        last: Option<Part<'a, LABEL>>,
    ) -> (Option<Part<'a, LABEL>>, Part<'a, LABEL>) {
        let column = Column::of(array);
        let pair = match &last {
            Some(Part::Cell(last_label, last)) if label == b"," && last_label.is(b",") => {
                last.small().zip(column.small())
            }
            _ => None,
        };
        match pair {
            Some((first, second)) => (None, Part::Pair(first, second)),
            None => (last, Part::Cell(Label::of(label), column)),
        }
    }

    fn write(
        &mut self,
        rows: Range<usize>,
        lines: &mut Lines,
        style: &Style,
        write_text: &mut impl WriteText<'a>,
    ) {
        match self {
            Part::Shared(shared) => shared.write(rows, lines, style, write_text),
            Part::Cell(label, column) => {
                label.write(lines);
                column.write(label, rows, lines, style, write_text);
            }
            Part::Pair(Small::U8(first), Small::U8(second)) => {
                lines.pair(&first[rows.clone()], &second[rows]);
            }
            Part::Pair(Small::U8(first), Small::U16(second)) => {
                lines.pair(&first[rows.clone()], &second[rows]);
            }
            Part::Pair(Small::U16(first), Small::U8(second)) => {
                lines.pair(&first[rows.clone()], &second[rows]);
            }
            Part::Pair(Small::U16(first), Small::U16(second)) => {
                lines.pair(&first[rows.clone()], &second[rows]);
            }
        }
    }
}

impl<'a, const N: usize> Label<'a, N> {
    fn of(text: &'a [u8]) -> Label<'a, N> {
        let (begin, rest) = text.split_at(text.len().saturating_sub(N));
        let mut end = [0; N];
        end[..rest.len()].copy_from_slice(rest);
        Label {
            begin,
            end,
            length_of_end: rest.len(),
        }
    }

    fn is(&self, text: &[u8]) -> bool {
        self.begin.is_empty() && &self.end[..self.length_of_end] == text
    }

    /// Writes what does not go with each cell.
    fn write(&self, lines: &mut Lines) {
        lines.reserve(self.begin.len() + N);
        if !self.begin.is_empty() {
            lines.each(|_, line| line.text(self.begin));
        }
    }
}

impl<'a> Shared<'a> {
    /// A column as a part, and the part before it if it is not in it.
    fn of<const LABEL: usize>(
        label: &'a [u8],
        runs: &'a RunArray<Int32Type>,
        last: Option<Part<'a, LABEL>>,
    ) -> (Option<Part<'a, LABEL>>, Part<'a, LABEL>) {
        let ends = runs.run_ends().values();
        let column = (label, Column::of(runs.values()));
        match last {
            Some(Part::Shared(mut last)) if last.ends == ends => {
                last.columns.push(column);
                (None, Part::Shared(last))
            }
            last => {
                let shared = Shared {
                    columns: vec![column],
                    ends,
                    run: None,
                    lines: Lines::default(),
                    text: Vec::new(),
                };
                (last, Part::Shared(shared))
            }
        }
    }

    fn write(
        &mut self,
        rows: Range<usize>,
        lines: &mut Lines,
        style: &Style,
        write_text: &mut impl WriteText<'a>,
    ) {
        let (mut at, mut reserved) = (rows.start, 0);
        while at < rows.end {
            let end = loop {
                match self.run.map(|run| self.ends[run] as usize) {
                    Some(end) if at < end => break end.min(rows.end),
                    _ => self.advance(style, write_text),
                }
            };
            lines.reserve_for_longest(self.text.len(), &mut reserved);
            lines.some(at - rows.start..end - rows.start, |_, line| {
                line.text(&self.text);
            });
            at = end;
        }
    }

    /// Makes text of the next value.
    fn advance(&mut self, style: &Style, write_text: &mut impl WriteText<'a>) {
        let run = self.run.map_or(0, |run| run + 1);
        self.lines.begin(1);
        for (label, column) in &mut self.columns {
            let label = Label::<STROKE>::of(label);
            label.write(&mut self.lines);
            column.write(&label, run..run + 1, &mut self.lines, style, write_text);
        }
        self.text.clear();
        self.lines.append_to(&mut self.text);
        self.run = Some(run);
    }
}

impl<'a> Column<'a> {
    fn of(array: &'a ArrayRef) -> Column<'a> {
        Column {
            values: Values::of(array),
            nulls: array.nulls().filter(|nulls| nulls.null_count() > 0),
            floats: Floats::default(),
            seconds: Seconds::default(),
            text: Vec::new(),
        }
    }

    fn small(&self) -> Option<Small<'a>> {
        match self.values {
            Values::U8(values) if self.nulls.is_none() => Some(Small::U8(values)),
            Values::U16(values) if self.nulls.is_none() => Some(Small::U16(values)),
            _ => None,
        }
    }

    fn write<const LABEL: usize>(
        &mut self,
        label: &Label<'_, LABEL>,
        rows: Range<usize>,
        lines: &mut Lines,
        style: &Style,
        write_text: &mut impl WriteText<'a>,
    ) {
        lines.reserve(STROKE);
        let nulls = self.nulls;
        let is_null = |row| nulls.is_some_and(|nulls| nulls.is_null(rows.start + row));
        let quote: &[u8] = if style.quotes_wide { b"\"" } else { b"" };
        macro_rules! each {
            ($values:expr, |$line:ident, $value:ident| $write:expr) => {{
                let values = &$values[rows.clone()];
                lines.each(|row, $line| {
                    $line.label(label);
                    match is_null(row) {
                        true => $line.short(style.null.as_bytes()),
                        false => {
                            let $value = values[row];
                            $write
                        }
                    }
                })
            }};
        }
        macro_rules! wide {
            ($values:expr, |$line:ident, $value:ident| $write:expr) => {
                each!($values, |$line, $value| {
                    $line.short(quote);
                    $write;
                    $line.short(quote);
                })
            };
        }
        match self.values {
            Values::U8(values) => each!(values, |line, value| line.first_digits(value.into())),
            Values::I8(values) => each!(values, |line, value| line.signed(value.into())),
            Values::U16(values) => each!(values, |line, value| line.number(value.into())),
            Values::I16(values) => each!(values, |line, value| line.signed(value.into())),
            Values::U32(values) => each!(values, |line, value| line.number(value)),
            Values::I32(values) => each!(values, |line, value| line.signed(value)),
            Values::U64(values) => wide!(values, |line, value| {
                line.short(itoa::Buffer::new().format(value).as_bytes());
            }),
            Values::I64(values) => wide!(values, |line, value| {
                line.short(itoa::Buffer::new().format(value).as_bytes());
            }),
            Values::Time(values) => {
                let seconds = &mut self.seconds;
                wide!(values, |line, value| seconds.write(value, line));
            }
            Values::F32(values) => {
                let values = &values[rows.clone()];
                self.floats.write(values, is_null, label, lines, style);
            }
            Values::F64(values) => {
                let values = &values[rows.clone()];
                self.floats.write(values, is_null, label, lines, style);
            }
            Values::Bool(array) => lines.each(|row, line| {
                line.label(label);
                line.short(match (is_null(row), array.value(rows.start + row)) {
                    (true, _) => style.null.as_bytes(),
                    (false, true) => b"true",
                    (false, false) => b"false",
                });
            }),
            Values::Text(_) | Values::Names(..) => {
                let mut reserved = 0;
                for row in 0..rows.len() {
                    self.text.clear();
                    match is_null(row) {
                        true => self.text.extend(style.null.as_bytes()),
                        false => write_text(self.values.text(rows.start + row), &mut self.text),
                    }
                    lines.reserve_for_longest(self.text.len(), &mut reserved);
                    lines.some(row..row + 1, |_, line| {
                        line.label(label);
                        line.text(&self.text);
                    });
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

    /// The text at a position, neither quoted nor escaped; empty if it is none.
    fn text(&self, position: usize) -> &'a str {
        match self {
            Values::Text(array) => array.value(position),
            Values::Names(positions, names) => names.value(positions[position] as usize),
            _ => "",
        }
    }
}

/// Floats as text. Telemetry's come again and again, car by car: looked up among the
/// last ones, most take a tenth of the time.
#[derive(Default)]
struct Floats {
    /// Bits and text, by what the bits are scattered to.
    known: Vec<(u64, Slot)>,
}

#[derive(Clone, Copy)]
struct Slot {
    text: [u8; STROKE],
    length: usize,
}

/// A float that was not among the last ones.
#[derive(Clone, Copy)]
struct NewFloat<'a> {
    text: &'a str,
    row: usize,
    place: usize,
}

impl Slot {
    fn write(&mut self, text: &[u8]) {
        let mut line = Line {
            bytes: &mut self.text,
            at: 0,
        };
        line.short(text);
        self.length = line.at;
    }
}

impl Floats {
    const KNOWN_BITS: u32 = 8;

    /// Writes the values of a block. New ones are copied from where they became text
    /// when all have: a processor waits for what was written byte by byte and is read
    /// as one.
    fn write<F: Float, const LABEL: usize>(
        &mut self,
        values: &[F],
        is_null: impl Fn(usize) -> bool,
        label: &Label<'_, LABEL>,
        lines: &mut Lines,
        style: &Style,
    ) {
        if self.known.is_empty() {
            // Where nothing is known yet stands zero, whose bits are none in either width.
            let mut zero = Slot {
                text: [0; STROKE],
                length: 0,
            };
            zero.write(b"0.0");
            self.known = vec![(0, zero); 1 << Self::KNOWN_BITS];
        }
        let mut buffers: [zmij::Buffer; BLOCK] = std::array::from_fn(|_| zmij::Buffer::new());
        let mut buffers = buffers.iter_mut();
        let mut new = [NewFloat {
            text: "",
            row: 0,
            place: 0,
        }; BLOCK];
        let mut count = 0;
        lines.each(|row, line| {
            line.label(label);
            if is_null(row) {
                line.short(style.null.as_bytes());
                return;
            }
            let value = values[row];
            // The golden ratio, whose multiples are scattered evenly.
            let scattered = value.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let place = (scattered >> (64 - Self::KNOWN_BITS)) as usize;
            let (known, slot) = &self.known[place];
            if *known == value.bits() {
                line.stroke(&slot.text, slot.length);
                return;
            }
            let text = match style.not_finite.filter(|_| !value.is_finite()) {
                Some(text) => text,
                None => buffers.next().map_or("", |buffer| buffer.format(value)),
            };
            new[count] = NewFloat { text, row, place };
            count += 1;
        });
        for new in &new[..count] {
            let text = new.text.as_bytes();
            lines.some(new.row..new.row + 1, |_, line| line.short(text));
            let (known, slot) = &mut self.known[new.place];
            *known = values[new.row].bits();
            slot.write(text);
        }
    }
}

trait Float: zmij::Float {
    fn bits(self) -> u64;
    fn is_finite(self) -> bool;
}

impl Float for f32 {
    fn bits(self) -> u64 {
        self.to_bits().into()
    }

    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Float for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

/// Moments as text. The date is worked out once a second.
#[derive(Default)]
struct Seconds {
    last: i64,
    /// Everything that stands before its decimals; empty if there was none yet.
    before: String,
}

impl Seconds {
    fn write(&mut self, nanoseconds: i64, line: &mut Line<'_>) {
        let second = nanoseconds.div_euclid(1_000_000_000);
        let decimals = nanoseconds.rem_euclid(1_000_000_000) as u32;
        if self.before.is_empty() || self.last != second {
            let text = clock::rfc3339(nanoseconds);
            self.before = text.trim_end_matches(|end| end != '.').to_owned();
            self.last = second;
        }
        line.short(self.before.as_bytes());
        line.three_digits(decimals / 1_000_000);
        line.three_digits(decimals / 1000 % 1000);
        line.three_digits(decimals % 1000);
        line.byte(b'Z');
    }
}

/// How many rows are written at once: few enough for them to stay in the nearest cache.
const BLOCK: usize = 16;

/// Bytes that are copied at once, whatever number of them counts: a copy of a
/// fixed length takes two instructions, any other is a call.
const STROKE: usize = 32;

/// Rows that grow beside each other.
#[derive(Default)]
struct Lines {
    /// Row by row, of the same room each.
    bytes: Vec<u8>,
    room: usize,
    /// Where each row's text ends.
    ends: [usize; BLOCK],
    count: usize,
    /// The most that any row takes so far.
    used: usize,
}

impl Lines {
    fn begin(&mut self, count: usize) {
        self.count = count;
        self.used = 0;
        for (row, end) in self.ends.iter_mut().enumerate() {
            *end = row * self.room;
        }
    }

    /// Makes room for so many more bytes in each row, and a stroke that counts in part.
    fn reserve(&mut self, more: usize) {
        self.used += more;
        if self.used + STROKE <= self.room {
            return;
        }
        // Odd in cache lines: else those of all rows would be after the same places.
        let room = (self.used + STROKE).next_multiple_of(256) + 64;
        let mut bytes = vec![0; BLOCK * room];
        for (row, end) in self.ends.iter_mut().enumerate() {
            let text = &self.bytes[row * self.room..*end];
            *end = row * room + text.len();
            bytes[row * room..*end].copy_from_slice(text);
        }
        (self.bytes, self.room) = (bytes, room);
    }

    /// Makes room for texts of which each row gets one, as they come.
    fn reserve_for_longest(&mut self, length: usize, reserved: &mut usize) {
        self.reserve(length.saturating_sub(*reserved));
        *reserved = length.max(*reserved);
    }

    /// Goes on with each row.
    #[inline(always)]
    fn each(&mut self, write: impl FnMut(usize, &mut Line<'_>)) {
        self.some(0..self.count, write);
    }

    #[inline(always)]
    fn some(&mut self, rows: Range<usize>, mut write: impl FnMut(usize, &mut Line<'_>)) {
        for (row, end) in rows.clone().zip(&mut self.ends[rows]) {
            let mut line = Line {
                bytes: &mut self.bytes,
                at: *end,
            };
            write(row, &mut line);
            *end = line.at;
        }
    }

    /// Writes two numbers into each row, each behind a comma: if they are small, both in
    /// one stroke, which takes little more than one of them would.
    fn pair<A: Copy + Into<u32>, B: Copy + Into<u32>>(&mut self, first: &[A], second: &[B]) {
        self.reserve(2 * STROKE);
        self.each(|row, line| {
            let (first, second): (u32, u32) = (first[row].into(), second[row].into());
            if first.max(second) < 1000 {
                let text = COMMA_AND_NUMBER[first as usize];
                let more = COMMA_AND_NUMBER[second as usize];
                let (length, length_of_more) = (text >> 56, more >> 56);
                let both = u64::from(text as u32) | u64::from(more as u32) << (8 * length);
                line.stroke(&both.to_le_bytes(), (length + length_of_more) as usize);
            } else {
                for number in [first, second] {
                    line.byte(b',');
                    line.number(number);
                }
            }
        });
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        for (row, end) in self.ends[..self.count].iter().enumerate() {
            out.extend_from_slice(&self.bytes[row * self.room..*end]);
        }
    }
}

/// A text that grows in memory with room for it, and for a stroke that counts in part.
struct Line<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Line<'_> {
    /// Writes the first bytes of a stroke.
    #[inline(always)]
    fn stroke<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        self.bytes[self.at..self.at + N].copy_from_slice(bytes);
        self.at += length;
    }

    #[inline(always)]
    fn label<const N: usize>(&mut self, label: &Label<'_, N>) {
        self.stroke(&label.end, label.length_of_end);
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.at] = byte;
        self.at += 1;
    }

    fn text(&mut self, text: &[u8]) {
        self.bytes[self.at..self.at + text.len()].copy_from_slice(text);
        self.at += text.len();
    }

    /// Writes a text of at most a stroke: calling for a copy takes longer than the copy.
    #[inline(always)]
    fn short(&mut self, text: &[u8]) {
        let (length, bytes) = (text.len(), &mut self.bytes[self.at..]);
        macro_rules! both_ends {
            ($width:literal) => {{
                bytes[..$width].copy_from_slice(&text[..$width]);
                bytes[length - $width..length].copy_from_slice(&text[length - $width..]);
            }};
        }
        match length {
            0..4 => bytes
                .iter_mut()
                .zip(text)
                .for_each(|(to, from)| *to = *from),
            4..8 => both_ends!(4),
            8..16 => both_ends!(8),
            16..=STROKE => both_ends!(16),
            _ => bytes[..length].copy_from_slice(text),
        }
        self.at += length;
    }

    /// Writes three digits.
    #[inline(always)]
    fn three_digits(&mut self, number: u32) {
        self.stroke(&THREE_DIGITS[number as usize], 3);
    }

    /// Writes the digits of a number below 1000 that are not zeros before it.
    #[inline(always)]
    fn first_digits(&mut self, number: u32) {
        let behind_comma = COMMA_AND_NUMBER[number as usize] >> 8;
        let length = (behind_comma >> 48) as usize - 1;
        self.stroke(&behind_comma.to_le_bytes(), length);
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
            self.short(itoa::Buffer::new().format(number).as_bytes());
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

/// The numbers below 1000 behind a comma, first bytes lowest, and in the highest byte
/// how long that is: one load and one store a number.
static COMMA_AND_NUMBER: [u64; 1000] = {
    let mut all = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let digits = THREE_DIGITS[number];
        let skipped = (number < 100) as usize + (number < 10) as usize;
        let mut text = [0; 8];
        text[0] = b',';
        let mut at = skipped;
        while at < 3 {
            text[1 + at - skipped] = digits[at];
            at += 1;
        }
        text[7] = 4 - skipped as u8;
        all[number] = u64::from_le_bytes(text);
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

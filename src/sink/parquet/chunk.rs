//! Column chunks of numbers, with one data page each. The parquet crate writes the
//! headers, the metadata, and the columns that are no numbers; it would take these
//! too, but it copies every value three times, looks each up in a table or works
//! out each delta even where a thousand rows have the same value, and widens bytes
//! before it packs them: a whole conversion took twice as long.

use std::collections::HashMap;
use std::io::Write;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use bytes::Bytes;
use parquet::basic::{Compression as ParquetCompression, Encoding as Written, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::delta;
use super::pack::Packer;
use crate::decode::as_wide_as;
use crate::sink::Encoding;

/// A column of one row group, ready to be written.
pub(super) struct Chunk {
    bytes: Bytes,
    result: ColumnCloseResult,
}

impl Chunk {
    pub(super) fn append_to(
        self,
        row_group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> parquet::errors::Result<()> {
        row_group.append_column(&self.bytes, self.result)
    }
}

/// Makes chunks, one after the other.
pub(super) struct ChunkEncoder {
    encoding: Encoding,
    compression: ParquetCompression,
    packer: Packer,
    /// The page that is being made, before it is packed.
    page: Vec<u8>,
}

/// What readers have to know of the values of a page.
struct Body<N> {
    encoding: Written,
    dictionary: Option<Dictionary>,
    extent: Extent<N>,
}

/// The values that a page refers to by their positions.
struct Dictionary {
    /// Plain, one after the other.
    values: Vec<u8>,
    count: usize,
}

/// The least and the greatest of some values, if there are any numbers among them.
struct Extent<N> {
    ends: Option<(N, N)>,
    nans: usize,
}

/// Whether columns of this type never need the parquet crate.
pub(super) fn takes(kind: &DataType, encoding: Encoding) -> bool {
    match encoding {
        Encoding::Compact => {
            kind.is_numeric() || matches!(kind, DataType::Boolean | DataType::Timestamp(..))
        }
        Encoding::Portable => false,
    }
}

impl ChunkEncoder {
    pub(super) fn new(
        encoding: Encoding,
        compression: ParquetCompression,
        packer: Packer,
    ) -> ChunkEncoder {
        ChunkEncoder {
            encoding,
            compression,
            packer,
            page: Vec::new(),
        }
    }

    /// `None` for a column that is better left to the parquet crate.
    ///
    /// # Errors
    /// If the values cannot be packed.
    pub(super) fn encode(
        &mut self,
        column: &ColumnDescPtr,
        array: &ArrayRef,
    ) -> anyhow::Result<Option<Chunk>> {
        let (values, ends) = match array.data_type() {
            DataType::RunEndEncoded(..) => {
                let runs = array.as_run::<Int32Type>();
                (runs.values(), Some(runs.run_ends().values()))
            }
            _ => (array, None),
        };
        let rows = array.len();
        match values.data_type() {
            DataType::UInt8 => self.numbers::<UInt8Type>(column, values, ends, rows),
            DataType::Int8 => self.numbers::<Int8Type>(column, values, ends, rows),
            DataType::UInt16 => self.numbers::<UInt16Type>(column, values, ends, rows),
            DataType::Int16 => self.numbers::<Int16Type>(column, values, ends, rows),
            DataType::UInt32 => self.numbers::<UInt32Type>(column, values, ends, rows),
            DataType::Int32 => self.numbers::<Int32Type>(column, values, ends, rows),
            DataType::UInt64 => self.numbers::<UInt64Type>(column, values, ends, rows),
            DataType::Int64 => self.numbers::<Int64Type>(column, values, ends, rows),
            DataType::Float32 => self.numbers::<Float32Type>(column, values, ends, rows),
            DataType::Float64 => self.numbers::<Float64Type>(column, values, ends, rows),
            DataType::Timestamp(..) => {
                self.numbers::<TimestampNanosecondType>(column, values, ends, rows)
            }
            DataType::Boolean => {
                let flat = as_wide_as(array.clone(), &DataType::Boolean)?;
                self.booleans(column, flat.as_boolean())
            }
            _ => Ok(None),
        }
    }

    fn numbers<T: ArrowPrimitiveType<Native: Number>>(
        &mut self,
        column: &ColumnDescPtr,
        values: &ArrayRef,
        ends: Option<&[i32]>,
        rows: usize,
    ) -> anyhow::Result<Option<Chunk>> {
        let array = values.as_primitive::<T>();
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        // Where there is nothing, Parquet keeps nothing.
        let present: Vec<T::Native>;
        let values: &[T::Native] = match nulls {
            Some(_) => {
                present = array.iter().flatten().collect();
                &present
            }
            None => array.values(),
        };
        self.page.clear();
        if column.max_def_level() > 0 {
            put_presence(&mut self.page, nulls, rows);
        }
        let Some(body) = put_values(&mut self.page, values, ends, self.encoding) else {
            return Ok(None);
        };
        let statistics = T::Native::statistics(&body.extent, count(nulls));
        let chunk = self.chunk(column, rows, body.encoding, body.dictionary, statistics);
        Ok(Some(chunk?))
    }

    fn booleans(
        &mut self,
        column: &ColumnDescPtr,
        array: &BooleanArray,
    ) -> anyhow::Result<Option<Chunk>> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        let present: BooleanBuffer;
        let values = match nulls {
            Some(_) => {
                present = array.iter().flatten().collect();
                &present
            }
            None => array.values(),
        };
        self.page.clear();
        if column.max_def_level() > 0 {
            put_presence(&mut self.page, nulls, array.len());
        }
        // Parquet has them as Arrow does: a bit each.
        self.page.extend_from_slice(&values.sliced());
        let set = values.count_set_bits();
        let any = !values.is_empty();
        let statistics = ValueStatistics::new(
            any.then_some(set == values.len()),
            any.then_some(set > 0),
            None,
            Some(count(nulls)),
            false,
        );
        let chunk = self.chunk(column, array.len(), Written::PLAIN, None, statistics.into());
        Ok(Some(chunk?))
    }

    /// The chunk of the page as it stands.
    fn chunk(
        &mut self,
        column: &ColumnDescPtr,
        rows: usize,
        encoding: Written,
        dictionary: Option<Dictionary>,
        statistics: Statistics,
    ) -> anyhow::Result<Chunk> {
        /// No header of a page takes more.
        const HEADERS: usize = 256;
        let packed = self.packer.pack(&self.page)?;
        let room = dictionary.as_ref().map_or(0, |known| known.values.len());
        let room = room + packed.len() + HEADERS;
        let mut file = TrackedWrite::new(Vec::with_capacity(room));
        let mut pages = SerializedPageWriter::new(&mut file);
        let mut encodings = vec![Written::RLE, encoding];
        let mut kinds = Vec::new();
        let (mut packed_size, mut size) = (0, 0);
        let mut dictionary_offset = None;
        if let Some(Dictionary { values, count }) = dictionary {
            let page = Page::DictionaryPage {
                buf: self.packer.pack(&values)?,
                num_values: u32::try_from(count)?,
                encoding: Written::PLAIN,
                is_sorted: false,
            };
            let written = pages.write_page(CompressedPage::new(page, values.len()))?;
            dictionary_offset = Some(written.offset as i64);
            packed_size += written.compressed_size;
            size += written.uncompressed_size;
            encodings.push(Written::PLAIN);
            kinds.push((PageType::DICTIONARY_PAGE, Written::PLAIN));
        }
        let page = Page::DataPage {
            buf: packed,
            num_values: u32::try_from(rows)?,
            encoding,
            def_level_encoding: Written::RLE,
            rep_level_encoding: Written::RLE,
            statistics: None,
        };
        let written = pages.write_page(CompressedPage::new(page, self.page.len()))?;
        packed_size += written.compressed_size;
        size += written.uncompressed_size;
        kinds.push((PageType::DATA_PAGE, encoding));
        let kinds = kinds
            .into_iter()
            .map(|(page_type, encoding)| PageEncodingStats {
                page_type,
                encoding,
                count: 1,
            });
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(self.compression)
            .set_encodings(encodings)
            .set_page_encoding_stats(kinds.collect())
            .set_total_compressed_size(packed_size as i64)
            .set_total_uncompressed_size(size as i64)
            .set_num_values(rows as i64)
            .set_data_page_offset(written.offset as i64)
            .set_dictionary_page_offset(dictionary_offset)
            .set_statistics(statistics)
            .build()?;
        let bytes = file.into_inner()?;
        Ok(Chunk {
            result: ColumnCloseResult {
                bytes_written: bytes.len() as u64,
                rows_written: rows as u64,
                metadata,
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            },
            bytes: bytes.into(),
        })
    }
}

/// A number as Parquet keeps it and tells it from others.
trait Number: Copy {
    /// How many bytes Parquet keeps of it: small numbers are widened to 32 bits.
    const WIDTH: usize;
    /// How many bytes it takes itself.
    const SIZE: usize;
    const IS_FLOAT: bool;
    /// In the order of the numbers; for floats the total order, in which what is
    /// not a number lies beyond the infinities.
    type Key: Ord + Copy;

    /// The widened number, with zeros above.
    fn bits(self) -> u64;
    fn byte(self, position: usize) -> u8;
    fn key(self) -> Self::Key;
    fn of_key(key: Self::Key) -> Self;
    fn is_nan(self) -> bool;
    fn statistics(extent: &Extent<Self>, nulls: u64) -> Statistics;
}

macro_rules! number {
    ($number:ty, $bits:ty, $stored:ty, $key:ty, $to_bits:expr, $to_key:expr, $of_key:expr) => {
        impl Number for $number {
            const WIDTH: usize = size_of::<$stored>();
            const SIZE: usize = size_of::<$number>();
            // Half a whole number is none.
            const IS_FLOAT: bool = 0.5 as $number != 0 as $number;
            type Key = $key;

            #[inline(always)]
            fn bits(self) -> u64 {
                let bits: $bits = $to_bits(self);
                bits.into()
            }

            #[inline(always)]
            fn byte(self, position: usize) -> u8 {
                let bits: $bits = $to_bits(self);
                (bits >> (8 * position)) as u8
            }

            #[inline(always)]
            fn key(self) -> $key {
                $to_key(self)
            }

            #[inline(always)]
            fn of_key(key: $key) -> Self {
                $of_key(key)
            }

            fn is_nan(self) -> bool {
                // Nothing else is unlike itself.
                self != self
            }

            fn statistics(extent: &Extent<Self>, nulls: u64) -> Statistics {
                let (least, greatest) = extent.ends.unzip();
                let is_signed = <$number>::MIN != <$number>::default();
                ValueStatistics::<$stored>::new(
                    least.map(|value| value as $stored),
                    greatest.map(|value| value as $stored),
                    None,
                    Some(nulls),
                    false,
                )
                .with_nan_count(Self::IS_FLOAT.then_some(extent.nans as u64))
                .with_backwards_compatible_min_max(is_signed)
                .into()
            }
        }
    };
    ($($number:ty as $bits:ty, $stored:ty;)*) => {$(
        number!($number, $bits, $stored, $number, |value| value as $bits, same, same);
    )*};
}
number! {
    u8 as u32, i32;
    i8 as u32, i32;
    u16 as u32, i32;
    i16 as u32, i32;
    u32 as u32, i32;
    i32 as u32, i32;
    u64 as u64, i64;
    i64 as u64, i64;
}
number! {
    f32, u32, f32, i32,
    f32::to_bits,
    |value: f32| turn_32(value.to_bits().cast_signed()),
    |key| f32::from_bits(turn_32(key).cast_unsigned())
}
number! {
    f64, u64, f64, i64,
    f64::to_bits,
    |value: f64| turn_64(value.to_bits().cast_signed()),
    |key| f64::from_bits(turn_64(key).cast_unsigned())
}

#[inline(always)]
fn same<T>(value: T) -> T {
    value
}

/// Turns the order of the negative floats round, as whole numbers have it, and back.
#[inline(always)]
fn turn_32(bits: i32) -> i32 {
    bits ^ ((bits >> 31) as u32 >> 1).cast_signed()
}

#[inline(always)]
fn turn_64(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1).cast_signed()
}

fn count(nulls: Option<&NullBuffer>) -> u64 {
    nulls.map_or(0, |nulls| nulls.null_count() as u64)
}

/// Which rows have a value: levels of one bit, with their length before them.
fn put_presence(page: &mut Vec<u8>, nulls: Option<&NullBuffer>, rows: usize) {
    let start = page.len();
    page.extend([0; 4]);
    match nulls {
        None => put_run(page, 1, 1, rows),
        Some(nulls) => {
            // Bits in the same order as in Arrow.
            put_varint(page, (rows.div_ceil(8) as u64) << 1 | 1);
            page.extend_from_slice(&nulls.inner().sliced());
        }
    }
    let length = (page.len() - start - 4) as u32;
    page[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Adds the values to a page in the way that suits them; `None` if there is none
/// here. `ends` says where the rows of each value end, if they have several.
fn put_values<N: Number>(
    page: &mut Vec<u8>,
    values: &[N],
    ends: Option<&[i32]>,
    encoding: Encoding,
) -> Option<Body<N>> {
    if let Some(runs) = runs(values, ends)
        && let Some((positions, dictionary)) = dictionary(&runs)
    {
        put_positions(page, &runs, &positions, dictionary.len());
        return Some(Body {
            encoding: Written::RLE_DICTIONARY,
            dictionary: Some(Dictionary {
                values: plain(&dictionary),
                count: dictionary.len(),
            }),
            extent: extent_of_runs(&runs),
        });
    }
    let repeated: Vec<N>;
    let values = match ends {
        Some(ends) => {
            repeated = repeat(values, ends);
            &repeated
        }
        None => values,
    };
    let extent = extent(values);
    let mut dictionary = None;
    let encoding = match (encoding, N::IS_FLOAT) {
        _ if N::SIZE == 1 => {
            dictionary = Some(put_bytes(page, values));
            Written::RLE_DICTIONARY
        }
        (Encoding::Portable, true) => {
            page.extend(plain(values));
            Written::PLAIN
        }
        (Encoding::Portable, false) => return None,
        // A dictionary almost doubles real telemetry's floats, and splitting their
        // bytes saves a quarter on top.
        (Encoding::Compact, true) => {
            put_split(page, values);
            Written::BYTE_STREAM_SPLIT
        }
        (Encoding::Compact, false) if N::SIZE == 2 => {
            put_split(page, values);
            Written::BYTE_STREAM_SPLIT
        }
        // Clocks and counters go up by small steps: their deltas are next to nothing.
        (Encoding::Compact, false) => {
            match N::WIDTH {
                4 => delta::put::<i32>(page, values.iter().map(|value| value.bits() as i32)),
                _ => delta::put::<i64>(page, values.iter().map(|value| value.bits() as i64)),
            }
            Written::DELTA_BINARY_PACKED
        }
    };
    Some(Body {
        encoding,
        dictionary,
        extent,
    })
}

/// Equal values one after the other.
struct Run<N> {
    value: N,
    rows: usize,
}

/// How many rows a run must have on average for runs to be worth it.
const WORTH_A_RUN: usize = 12;
/// Values that are compared with the last one at a time.
const BLOCK_OF_RUNS: usize = 64;

/// The runs of a column, or `None` if there are too many.
fn runs<N: Number>(values: &[N], ends: Option<&[i32]>) -> Option<Vec<Run<N>>> {
    let mut runs: Vec<Run<N>> = Vec::new();
    let Some(ends) = ends else {
        if !seems_to_repeat(values) {
            return None;
        }
        for block in values.chunks(BLOCK_OF_RUNS) {
            // All at once, without a branch for each.
            if let Some(run) = runs.last_mut()
                && block
                    .iter()
                    .filter(|value| value.bits() != run.value.bits())
                    .count()
                    == 0
            {
                run.rows += block.len();
                continue;
            }
            for value in block {
                add_rows(&mut runs, *value, 1);
            }
            if runs.len() > values.len() / WORTH_A_RUN {
                return None;
            }
        }
        return Some(runs);
    };
    let mut start = 0;
    for (value, end) in values.iter().zip(ends) {
        add_rows(&mut runs, *value, (end - start) as usize);
        start = *end;
    }
    Some(runs)
}

fn add_rows<N: Number>(runs: &mut Vec<Run<N>>, value: N, rows: usize) {
    match runs.last_mut() {
        Some(run) if run.value.bits() == value.bits() => run.rows += rows,
        _ => runs.push(Run { value, rows }),
    }
}

/// Looks at stretches all over a column: most columns change with every row, and
/// need no more than that to be known.
fn seems_to_repeat<N: Number>(values: &[N]) -> bool {
    const STRETCHES: usize = 16;
    const STRETCH: usize = 64;
    let step = (values.len() / STRETCHES).max(STRETCH);
    let mut changes = 0;
    let mut seen = 0;
    for stretch in values.chunks(step) {
        let stretch = &stretch[..stretch.len().min(STRETCH)];
        let pairs = stretch.windows(2);
        seen += pairs.len();
        changes += pairs
            .filter(|pair| pair[0].bits() != pair[1].bits())
            .count();
    }
    changes * WORTH_A_RUN <= seen
}

/// The different values in order of appearance, and the position of each run's
/// value among them; `None` if the values hardly ever come back.
fn dictionary<N: Number>(runs: &[Run<N>]) -> Option<(Vec<u32>, Vec<N>)> {
    let most = 16 + runs.len() / 4;
    let mut known: HashMap<u64, u32, ahash::RandomState> = HashMap::default();
    let mut dictionary = Vec::new();
    let mut positions = Vec::with_capacity(runs.len());
    for run in runs {
        let position = *known.entry(run.value.bits()).or_insert_with(|| {
            dictionary.push(run.value);
            dictionary.len() as u32 - 1
        });
        positions.push(position);
        if dictionary.len() > most {
            return None;
        }
    }
    Some((positions, dictionary))
}

/// Positions in a dictionary, as runs.
fn put_positions<N>(page: &mut Vec<u8>, runs: &[Run<N>], positions: &[u32], values: usize) {
    let width = (usize::BITS - values.saturating_sub(1).leading_zeros()).max(1);
    page.push(width as u8);
    for (run, position) in runs.iter().zip(positions) {
        put_run(page, *position, width.div_ceil(8) as usize, run.rows);
    }
}

/// So many times the same number of `bytes` bytes.
fn put_run(page: &mut Vec<u8>, value: u32, bytes: usize, times: usize) {
    put_varint(page, (times as u64) << 1);
    page.extend_from_slice(&value.to_le_bytes()[..bytes]);
}

pub(super) fn put_varint(page: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        page.push(value as u8 | 0x80);
        value >>= 7;
    }
    page.push(value as u8);
}

/// Each value as often as it has rows.
fn repeat<N: Number>(values: &[N], ends: &[i32]) -> Vec<N> {
    let mut repeated = Vec::with_capacity(ends.last().map_or(0, |end| *end as usize));
    for (value, end) in values.iter().zip(ends) {
        repeated.resize(*end as usize, *value);
    }
    repeated
}

/// The bytes of the values as Parquet widens them.
fn plain<N: Number>(values: &[N]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * N::WIDTH);
    for value in values {
        bytes.extend_from_slice(&value.bits().to_le_bytes()[..N::WIDTH]);
    }
    bytes
}

/// Numbers of one byte are their own positions in a dictionary of all 256: nothing
/// is left to do but to copy them, where Parquet would have four bytes each.
fn put_bytes<N: Number>(page: &mut Vec<u8>, values: &[N]) -> Dictionary {
    let count = values.len();
    page.push(8);
    put_varint(page, (count.div_ceil(8) as u64) << 1 | 1);
    page.extend(values.iter().map(|value| value.byte(0)));
    page.extend(std::iter::repeat_n(0, count.next_multiple_of(8) - count));
    // Signed bytes come round to the negative numbers from 128.
    let is_signed = values.iter().any(|value| value.byte(1) != 0);
    let mut dictionary = Vec::with_capacity(256 * 4);
    for byte in 0..=u8::MAX {
        let value = match is_signed {
            true => i32::from(byte.cast_signed()),
            false => i32::from(byte),
        };
        dictionary.extend_from_slice(&value.to_le_bytes());
    }
    Dictionary {
        values: dictionary,
        count: 256,
    }
}

/// The first bytes of all values, then the second ones, and so on.
fn put_split<N: Number>(page: &mut Vec<u8>, values: &[N]) {
    /// Values of which the processor picks a byte each at once.
    const BLOCK: usize = 16;
    let count = values.len();
    let start = page.len();
    page.resize(start + count * N::WIDTH, 0);
    let bytes = &mut page[start..];
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    for (number, block) in blocks.iter().enumerate() {
        for position in 0..N::WIDTH {
            let picked: [u8; BLOCK] = std::array::from_fn(|value| block[value].byte(position));
            let start = position * count + number * BLOCK;
            bytes[start..start + BLOCK].copy_from_slice(&picked);
        }
    }
    for position in 0..N::WIDTH {
        let start = position * count + blocks.len() * BLOCK;
        for (byte, value) in bytes[start..].iter_mut().zip(rest) {
            *byte = value.byte(position);
        }
    }
}

fn extent<N: Number>(values: &[N]) -> Extent<N> {
    let ends = ends(values.iter().copied());
    match ends {
        // What is not a number lies at an end.
        Some((least, greatest)) if least.is_nan() || greatest.is_nan() => {
            let numbers = values.iter().copied().filter(|value| !value.is_nan());
            Extent {
                nans: values.len() - numbers.clone().count(),
                ends: self::ends(numbers),
            }
        }
        _ => Extent { ends, nans: 0 },
    }
}

fn extent_of_runs<N: Number>(runs: &[Run<N>]) -> Extent<N> {
    let (nans, numbers): (Vec<_>, Vec<_>) = runs.iter().partition(|run| run.value.is_nan());
    Extent {
        ends: ends(numbers.iter().map(|run| run.value)),
        nans: nans.iter().map(|run| run.rows).sum(),
    }
}

/// The least and the greatest by their keys, which the processor compares several
/// at a time.
fn ends<N: Number>(values: impl Iterator<Item = N>) -> Option<(N, N)> {
    let mut keys = values.map(N::key);
    let first = keys.next()?;
    let (least, greatest) = keys.fold((first, first), |(least, greatest), key| {
        (least.min(key), greatest.max(key))
    });
    Some((N::of_key(least), N::of_key(greatest)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, PrimitiveArray,
        RunArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    };
    use arrow::datatypes::{Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::sink::Compression;

    /// Writes a column and reads it with the parquet crate: the values and their
    /// statistics. `None` if it is left to the crate.
    fn through_file(
        array: &ArrayRef,
        encoding: Encoding,
        compression: (Compression, ParquetCompression),
    ) -> Option<(ArrayRef, Statistics)> {
        let kind = match array.data_type() {
            DataType::RunEndEncoded(_, values) => values.data_type(),
            kind => kind,
        };
        let field = Field::new("value", kind.clone(), array.logical_null_count() > 0);
        let schema = Arc::new(Schema::new(vec![field]));
        let writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
        let (mut writer, _) = writer.into_serialized_writer().unwrap();
        let packer = Packer::new(compression.0).unwrap();
        let mut encoder = ChunkEncoder::new(encoding, compression.1, packer);
        let chunk = encoder.encode(&writer.schema_descr().column(0), array);
        let chunk = chunk.unwrap()?;
        let mut row_group = writer.next_row_group().unwrap();
        chunk.append_to(&mut row_group).unwrap();
        row_group.close().unwrap();
        let file = Bytes::from(writer.into_inner().unwrap());
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let statistics = reader.metadata().row_group(0).column(0).statistics();
        let statistics = statistics.unwrap().clone();
        let mut batches = reader.with_batch_size(array.len()).build().unwrap();
        let batch = batches.next().unwrap().unwrap();
        Some((batch.column(0).clone(), statistics))
    }

    const PLAIN: (Compression, ParquetCompression) =
        (Compression::None, ParquetCompression::UNCOMPRESSED);

    /// Every number of a type as a column: those given again and again, in runs, and
    /// with gaps.
    fn columns<T: ArrowPrimitiveType>(values: &[T::Native]) -> Vec<ArrayRef> {
        let cycle = || values.iter().copied().cycle();
        let flat = PrimitiveArray::<T>::from_iter_values(cycle().take(1003));
        let constant = PrimitiveArray::<T>::from_iter_values(vec![values[1]; 700]);
        let runs = cycle()
            .take(50)
            .flat_map(|value| std::iter::repeat_n(value, 40));
        let runs = PrimitiveArray::<T>::from_iter_values(runs);
        let gaps = cycle().take(999).enumerate();
        let gaps = gaps.map(|(row, value)| (row % 3 != 0).then_some(value));
        let gaps: PrimitiveArray<T> = gaps.collect();
        let missing = PrimitiveArray::<T>::new_null(30);
        let one = PrimitiveArray::<T>::from_iter_values([values[0]]);
        let ends = Int32Array::from_iter_values((1..=300).map(|end| end * 22));
        let shared = PrimitiveArray::<T>::from_iter_values(cycle().take(300));
        let shared = RunArray::try_new(&ends, &shared).unwrap();
        vec![
            Arc::new(flat),
            Arc::new(constant),
            Arc::new(runs),
            Arc::new(gaps),
            Arc::new(missing),
            Arc::new(one),
            Arc::new(shared),
        ]
    }

    fn all_columns() -> Vec<ArrayRef> {
        let mut all = columns::<UInt8Type>(&[0, 1, 7, 128, 255]);
        all.extend(columns::<Int8Type>(&[0, -1, 7, -128, 127]));
        all.extend(columns::<UInt16Type>(&[0, 1, 255, 256, 65535]));
        all.extend(columns::<Int16Type>(&[0, -1, 255, -32768, 32767]));
        all.extend(columns::<UInt32Type>(&[0, 1, 3_000_000_000, u32::MAX]));
        all.extend(columns::<Int32Type>(&[0, -1, i32::MIN, i32::MAX, 12]));
        all.extend(columns::<UInt64Type>(&[0, 1, u64::MAX, 1 << 63]));
        all.extend(columns::<Int64Type>(&[0, -1, i64::MIN, i64::MAX, 12]));
        let floats = [0.5, -0.0, 0.0, f32::NAN, f32::INFINITY, -1e-40, f32::MIN];
        all.extend(columns::<Float32Type>(&floats));
        let floats = [0.5, -0.0, 0.0, f64::NAN, f64::INFINITY, -1e-310, f64::MIN];
        all.extend(columns::<Float64Type>(&floats));
        let many = |step: u64| (0..5000_u64).map(move |row| (row * row).wrapping_mul(step));
        all.push(Arc::new(UInt32Array::from_iter_values(
            many(7).map(|value| value as u32),
        )));
        all.push(Arc::new(UInt64Array::from_iter_values(many(1 << 40))));
        all.push(Arc::new(Int64Array::from_iter_values(
            many(16_666_667).map(|value| value as i64),
        )));
        let bits = (0..77).map(|row| (row % 5 != 4).then_some(row % 3 == 0));
        all.push(Arc::new(bits.collect::<BooleanArray>()));
        all
    }

    #[test]
    fn numbers_come_back_as_they_were() {
        let mut left = 0;
        for array in all_columns() {
            for encoding in [Encoding::Compact, Encoding::Portable] {
                let Some((read, statistics)) = through_file(&array, encoding, PLAIN) else {
                    assert_eq!(encoding, Encoding::Portable, "{:?}", array.data_type());
                    left += 1;
                    continue;
                };
                let expected = as_wide_as(array.clone(), read.data_type()).unwrap();
                // Bit by bit: what is not a number equals itself, zeros differ.
                assert_eq!(expected.to_data(), read.to_data());
                let nulls = array.logical_null_count() as u64;
                assert_eq!(statistics.null_count_opt(), Some(nulls));
            }
        }
        assert!(left > 0, "wide numbers have no portable encoding here");
    }

    #[test]
    fn every_compression_is_read() {
        let array: ArrayRef = Arc::new(UInt16Array::from_iter_values(0..3000));
        let gzip = parquet::basic::GzipLevel::try_new(6).unwrap();
        let zstd = parquet::basic::ZstdLevel::try_new(3).unwrap();
        for compression in [
            (Compression::Snappy, ParquetCompression::SNAPPY),
            (Compression::Lz4, ParquetCompression::LZ4_RAW),
            (Compression::Gzip(6), ParquetCompression::GZIP(gzip)),
            (Compression::Zstandard(3), ParquetCompression::ZSTD(zstd)),
        ] {
            let (read, _) = through_file(&array, Encoding::Compact, compression).unwrap();
            assert_eq!(&read, &array, "{compression:?}");
        }
    }

    #[test]
    fn statistics_are_of_the_numbers() {
        let of = |array: ArrayRef| through_file(&array, Encoding::Compact, PLAIN).unwrap().1;
        let floats = [f32::NAN, 2.0, -3.5, f32::NAN];
        match of(Arc::new(Float32Array::from_iter_values(floats))) {
            Statistics::Float(of) => {
                assert_eq!((of.min_opt(), of.max_opt()), (Some(&-3.5), Some(&2.0)));
            }
            other => panic!("{other:?}"),
        }
        let zeros = of(Arc::new(Float64Array::from_iter_values([0.0, -0.0])));
        assert_eq!(zeros.min_bytes_opt(), Some(&(-0.0_f64).to_le_bytes()[..]));
        assert_eq!(zeros.max_bytes_opt(), Some(&0.0_f64.to_le_bytes()[..]));
        // Unsigned numbers in signed storage keep their own order.
        let wide = of(Arc::new(UInt32Array::from_iter_values([1, u32::MAX])));
        assert_eq!(wide.max_bytes_opt(), Some(&u32::MAX.to_le_bytes()[..]));
        let small = of(Arc::new(UInt8Array::from_iter_values([200, 3, 3])));
        assert_eq!(small.max_bytes_opt(), Some(&200_i32.to_le_bytes()[..]));
        let signed = of(Arc::new(Int8Array::from_iter_values([-100, 3])));
        assert_eq!(signed.min_bytes_opt(), Some(&(-100_i32).to_le_bytes()[..]));
        let none = of(Arc::new(Int16Array::new_null(4)));
        assert_eq!(none.min_bytes_opt(), None);
    }
}

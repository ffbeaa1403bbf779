//! From records to columns: strided values are copied out of the records'
//! bytes, column by column, a cache's worth of records at a time. One engine
//! for all formats; which bytes make a column is the layout's business.

use std::cell::LazyCell;
use std::hint::black_box;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray,
    RecordBatch, RecordBatchOptions, RunArray, StringArray, StringBuilder, new_null_array,
};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Schema, SchemaRef, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::error::ArrowError;

use super::plan::{CarFilter, Cars, Names, Output, TablePlan};
use super::records::{Records, Segment};
use crate::layout::{Column, Games, Place, Scalar, Source, Strided, Table};
use crate::text::{until_nul, utf8_or_latin};

/// Records are gathered in tiles of about this many bytes, so that all columns
/// read them from the cache.
const TILE: usize = 128 << 10;

/// A batch of rows, and what had to be changed to make them.
pub(super) struct Gathered {
    /// Numbers that all rows of a record share are run-end encoded: kept once, they
    /// are written without looking at every row.
    pub batch: RecordBatch,
    /// Texts whose bytes were not UTF-8 and had to be replaced.
    pub replaced_texts: u64,
}

/// Decodes `records` into the rows of one table.
pub(super) fn gather(plan: &TablePlan, records: &Records) -> Result<Gathered, ArrowError> {
    let mut batches = Vec::new();
    let mut replaced_texts = 0;
    for segments in records.by_layout() {
        let gathered = match segments.first().and_then(|segment| segment.layout.as_ref()) {
            Some(layout) => gather_segments(&plan.of_layout(layout), segments)?,
            None => gather_segments(plan, segments)?,
        };
        replaced_texts += gathered.replaced_texts;
        batches.push(gathered.batch);
    }
    let batch = match batches.len() {
        1 => batches.remove(0),
        _ => {
            let batches = batches.iter().map(|batch| flat(batch, &plan.schema));
            concat_batches(&plan.schema, &batches.collect::<Result<Vec<_>, _>>()?)?
        }
    };
    Ok(Gathered {
        batch,
        replaced_texts,
    })
}

/// The batch with a value in every row, as `schema` has it.
///
/// # Errors
/// If the schema is that of another table.
pub fn flat(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| as_wide_as(column.clone(), field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_, _>>()?, &options)
}

/// The column as one of type `wanted`.
///
/// # Errors
/// If it cannot be made one.
pub fn as_wide_as(column: ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    match column.data_type() == wanted {
        true => Ok(column),
        false => cast(&column, wanted),
    }
}

/// Decodes records that have the layout of the plan.
fn gather_segments(plan: &TablePlan, segments: &[Segment]) -> Result<Gathered, ArrowError> {
    let table = plan.table();
    let grid = Grid::of(table);
    let length = plan.layout.packets[table.packet].size;
    let tile = (TILE / length).max(1);

    let mut builders: Vec<Builder> = plan
        .outputs
        .iter()
        .filter_map(|output| match output {
            Output::Column(position) => Builder::new(&table.columns[*position], table, &grid),
            Output::Capture | Output::Label { .. } => None,
        })
        .collect();
    let segments: Vec<(&Segment, Selected)> = segments
        .iter()
        .map(|segment| (segment, select(plan, &grid, segment)))
        .collect();
    let rows = segments
        .iter()
        .map(|(segment, selection)| selection.rows(segment.offsets.len(), &grid))
        .sum();
    for builder in &mut builders {
        builder.values.reserve(rows);
    }
    for (segment, selection) in &segments {
        let count = segment.offsets.len();
        for start in (0..count).step_by(tile) {
            let records = start..(start + tile).min(count);
            let tile = Tile {
                segment,
                grid: &grid,
                selection,
                stride: stride(&segment.offsets[records.clone()]),
                records,
                length,
            };
            tile.fetch();
            for builder in &mut builders {
                builder.add(&tile);
            }
        }
    }

    let run_ends = LazyCell::new(|| run_ends(&segments, &grid));
    // Few tables have names that depend on it.
    let games = LazyCell::new(|| row_games(&segments, &grid, rows));
    let mut replaced_texts = 0;
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(plan.outputs.len());
    let mut builders = builders.into_iter().peekable();
    for output in &plan.outputs {
        let array = match output {
            Output::Capture => {
                let captures = segments.iter().flat_map(|(segment, selection)| {
                    let rows = selection.rows(segment.offsets.len(), &grid);
                    std::iter::repeat_n(segment.capture, rows)
                });
                plan.capture_column(captures)?
            }
            Output::Column(position) => {
                let wanted = plan.schema.field(arrays.len()).data_type();
                let is_missing = table.columns[*position].source == Source::Missing;
                match builders.next_if(|_| !is_missing) {
                    Some(builder) => {
                        let is_shared = builder.is_shared;
                        let array = builder.finish(&mut replaced_texts);
                        // As wide as other inputs need it.
                        let array = as_wide_as(array, wanted)?;
                        match is_shared && grid.cells.len() > 1 {
                            true => Arc::new(RunArray::try_new(&run_ends, &array)?),
                            false => array,
                        }
                    }
                    None => new_null_array(wanted, rows),
                }
            }
            Output::Label { of, names } => {
                let wanted = plan.schema.field(*of).data_type();
                let of = as_wide_as(arrays[*of].clone(), wanted)?;
                label(&of, names, &|| &games)?
            }
        };
        arrays.push(array);
    }
    let fields = plan.schema.fields().iter().zip(&arrays);
    let fields = fields.map(|(field, array)| {
        let field = field.as_ref().clone();
        field.with_data_type(array.data_type().clone())
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(Gathered {
        batch: RecordBatch::try_new_with_options(schema.into(), arrays, &options)?,
        replaced_texts,
    })
}

/// Where the rows of each record end that has any.
fn run_ends(segments: &[(&Segment, Selected)], grid: &Grid) -> Int32Array {
    let records = segments.iter().flat_map(|(segment, selection)| {
        (0..segment.offsets.len()).map(|record| selection.rows_of(record, grid))
    });
    let ends = records.filter(|rows| *rows > 0).scan(0, |end, rows| {
        *end += rows as i32;
        Some(*end)
    });
    Int32Array::from_iter_values(ends)
}

/// The games that can have sent the record of each row.
fn row_games(segments: &[(&Segment, Selected)], grid: &Grid, rows: usize) -> Vec<Games> {
    let mut games = Vec::with_capacity(rows);
    for (segment, selection) in segments {
        for record in 0..segment.offsets.len() {
            let of_record = segment.games.get(record).copied().unwrap_or(Games::ALL);
            let more = selection.rows_of(record, grid);
            games.resize(games.len() + more, of_record);
        }
    }
    games
}

/// All rows that one record could give: the cells of its arrays, in order.
struct Grid {
    /// The entry's number along each axis, for each cell.
    cells: Vec<Vec<usize>>,
}

impl Grid {
    fn of(table: &Table) -> Grid {
        let mut cells = vec![Vec::new()];
        for axis in &table.axes {
            cells = cells
                .iter()
                .flat_map(|cell: &Vec<usize>| {
                    (0..axis.length).map(|entry| [cell.as_slice(), &[entry]].concat())
                })
                .collect();
        }
        Grid { cells }
    }

    /// Where a value lies in the record, for each cell.
    fn offsets(&self, field: &Strided) -> Vec<usize> {
        self.cells
            .iter()
            .map(|cell| field.place(cell).offset)
            .collect()
    }
}

/// Which cells of each record become rows.
enum Selected {
    All,
    Some {
        /// Positions in [`Grid::cells`], record after record.
        cells: Vec<u32>,
        /// Where each record's cells end.
        ends: Vec<usize>,
    },
}

impl Selected {
    fn rows(&self, records: usize, grid: &Grid) -> usize {
        match self {
            Selected::All => records * grid.cells.len(),
            Selected::Some { cells, .. } => cells.len(),
        }
    }

    /// The chosen cells of a record; `None` if all are.
    fn cells(&self, record: usize) -> Option<&[u32]> {
        match self {
            Selected::All => None,
            Selected::Some { cells, ends } => {
                let start = record.checked_sub(1).map_or(0, |before| ends[before]);
                Some(&cells[start..ends[record]])
            }
        }
    }

    fn rows_of(&self, record: usize, grid: &Grid) -> usize {
        self.cells(record).map_or(grid.cells.len(), <[u32]>::len)
    }
}

/// Picks the valid entries of each record's arrays, and the cars asked for.
fn select(plan: &TablePlan, grid: &Grid, segment: &Segment) -> Selected {
    let table = plan.table();
    let counted = table.axes.iter().any(|axis| axis.count.is_some());
    let filter = plan.car.as_ref().filter(|_| plan.cars != Cars::All);
    if !counted && filter.is_none() {
        return Selected::All;
    }
    let bytes = segment.bytes();
    let mut cells = Vec::new();
    let mut ends = Vec::with_capacity(segment.offsets.len());
    for (number, offset) in segment.offsets.iter().enumerate() {
        let record = &bytes[*offset..];
        let wants = |car: i64, player: Option<&Place>| match (plan.cars, player) {
            (Cars::Player, Some(player)) => Some(car) == player.read(record),
            // Whose car is the player's is not known.
            (Cars::All, _) | (Cars::Player, None) => true,
            (Cars::Active, _) => {
                let active = segment.active.get(number).copied().unwrap_or(u128::MAX);
                !(0..128).contains(&car) || active >> car & 1 == 1
            }
        };
        let whole = match filter {
            Some(CarFilter::Record { car, player }) => {
                wants(car.read(record).unwrap_or(-1), Some(player))
            }
            _ => true,
        };
        if whole {
            let valid = |cell: &[usize]| {
                let counts = table.axes.iter().zip(cell).all(|(axis, entry)| {
                    axis.count
                        .as_ref()
                        .is_none_or(|count| (*entry as i64) < read_strided(record, count, cell))
                });
                counts
                    && match filter {
                        Some(CarFilter::Axis { axis, player }) => {
                            wants(cell[*axis] as i64, player.as_ref())
                        }
                        _ => true,
                    }
            };
            let chosen = (0..).zip(&grid.cells).filter(|(_, cell)| valid(cell));
            cells.extend(chosen.map(|(position, _)| position));
        }
        ends.push(cells.len());
    }
    Selected::Some { cells, ends }
}

/// A count beside an array, for the entries that surround it.
fn read_strided(record: &[u8], field: &Strided, cell: &[usize]) -> i64 {
    field.place(cell).read(record).unwrap_or(0)
}

/// A few records of one segment.
struct Tile<'a> {
    segment: &'a Segment,
    grid: &'a Grid,
    selection: &'a Selected,
    records: std::ops::Range<usize>,
    /// Bytes a record.
    length: usize,
    /// From one record to the next, if that is always the same.
    stride: Option<usize>,
}

/// How far apart the offsets are, if evenly.
fn stride(offsets: &[usize]) -> Option<usize> {
    let stride = offsets.get(1)?.checked_sub(*offsets.first()?)?;
    let mut pairs = offsets.windows(2);
    let is_even = pairs.all(|pair| pair[0].checked_add(stride) == Some(pair[1]));
    is_even.then_some(stride).filter(|stride| *stride > 0)
}

impl<'a> Tile<'a> {
    /// Brings the records into the cache from front to end, which takes a fifth off
    /// the conversion of a recording: one value of each, they would come in leaps
    /// that the processor does not foresee.
    fn fetch(&self) {
        /// Bytes that come together.
        const LINE: usize = 64;
        if self.stride.is_some() {
            let records = self.records().map(|(_, record)| record);
            let lines = records.flat_map(|record| record.iter().step_by(LINE));
            black_box(lines.fold(0, |all, byte| all | byte));
        }
    }

    /// Reads a value that all rows of a record share, once for each record.
    fn read_shared<T: Wire>(&self, values: &mut Vec<T>, offset: usize) {
        match (self.selection, self.stride) {
            // One pass without looking up each record: a recording, whose rows
            // are all such values, is gathered in a fifth of the time.
            (Selected::All, Some(stride)) => {
                let first = self.segment.offsets[self.records.start];
                let bytes = &self.segment.bytes()[first + offset..];
                read_evenly(values, bytes, stride, self.records.len());
            }
            _ => {
                let records = self.records_with_rows();
                values.extend(records.map(|(_, record)| T::read(record, offset)));
            }
        }
    }
    /// The bytes of each record, with the number it has in its segment.
    fn records(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let bytes = self.segment.bytes();
        let length = self.length;
        let offsets = &self.segment.offsets[self.records.clone()];
        let first = self.records.start;
        offsets
            .iter()
            .enumerate()
            .map(move |(number, offset)| (first + number, &bytes[*offset..*offset + length]))
    }

    /// The records that have rows.
    fn records_with_rows(&self) -> impl Iterator<Item = (usize, &'a [u8])> + use<'a> {
        let (selection, grid) = (self.selection, self.grid);
        self.records()
            .filter(move |(record, _)| selection.rows_of(*record, grid) > 0)
    }

    fn cells(&self, record: usize) -> Option<&'a [u32]> {
        self.selection.cells(record)
    }

    fn rows(&self, record: usize) -> usize {
        self.selection.rows_of(record, self.grid)
    }
}

/// A number as it stands on the wire.
trait Wire: Copy + Default {
    fn read(record: &[u8], offset: usize) -> Self;
}

macro_rules! wire {
    ($($number:ty),*) => {$(
        impl Wire for $number {
            #[inline(always)]
            fn read(record: &[u8], offset: usize) -> Self {
                let mut bytes = [0; size_of::<$number>()];
                bytes.copy_from_slice(&record[offset..offset + size_of::<$number>()]);
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}
wire!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

fn read_all<T: Wire>(values: &mut Vec<T>, record: &[u8], offsets: impl Iterator<Item = usize>) {
    values.extend(offsets.map(|offset| T::read(record, offset)));
}

/// Reads `count` values, `step` bytes from one to the next: with the step known to
/// reach over each, a third of the time goes that looking up and checking each
/// offset takes.
fn read_evenly<T: Wire>(values: &mut Vec<T>, bytes: &[u8], step: usize, count: usize) {
    let Some(before) = count.checked_sub(1) else {
        return;
    };
    let cells = bytes.chunks_exact(step).take(before);
    values.extend(cells.map(|cell| T::read(cell, 0)));
    // The record may end behind the last.
    values.push(T::read(bytes, before * step));
}

/// A column that is being gathered.
struct Builder<'a> {
    values: Values,
    from: Origin<'a>,
    /// Whether there is one value for all rows of a record.
    is_shared: bool,
    /// For values that are not in every record: where the value ends for each
    /// cell, and whether the record of each row reaches so far.
    partial: Option<(Vec<usize>, Vec<bool>)>,
}

/// Where the values come from, with the places settled for each cell.
enum Origin<'a> {
    CaptureTime,
    /// The same place for all cells.
    Record(usize),
    /// A place for each cell, and how far apart they are, if evenly.
    Cells(Vec<usize>, Option<usize>),
    Index {
        entries: Vec<u32>,
        start: Option<&'a Strided>,
    },
    Variant {
        table: &'a Table,
        offsets: &'a [Option<usize>],
        /// Bytes a value.
        size: usize,
        valid: Vec<bool>,
    },
}

/// The values so far.
enum Values {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// The bits of [`Scalar::FlagOrF32`].
    FlagOrF32(Vec<u32>),
    Time(Vec<i64>),
    Bool(Vec<u8>),
    Text {
        length: usize,
        kind: TextKind,
        builder: StringBuilder,
        replaced: u64,
    },
}

/// How bytes become text.
#[derive(Debug, Clone, Copy)]
enum TextKind {
    Utf8,
    /// Windows-1252 where it is not UTF-8.
    Latin,
    Hexadecimal,
}

/// Runs `$body` with `$vector` bound to the vector of numbers in `$values`,
/// whatever their type; texts go to `$text`.
macro_rules! with_numbers {
    ($values:expr, $vector:ident => $body:expr, $text:pat => $otherwise:expr) => {
        match $values {
            Values::U8($vector) | Values::Bool($vector) => $body,
            Values::I8($vector) => $body,
            Values::U16($vector) => $body,
            Values::I16($vector) => $body,
            Values::U32($vector) | Values::FlagOrF32($vector) => $body,
            Values::I32($vector) => $body,
            Values::U64($vector) => $body,
            Values::I64($vector) | Values::Time($vector) => $body,
            Values::F32($vector) => $body,
            Values::F64($vector) => $body,
            $text => $otherwise,
        }
    };
}

impl<'a> Builder<'a> {
    /// `None` for a column that these records have nothing for.
    fn new(column: &'a Column, table: &'a Table, grid: &Grid) -> Option<Builder<'a>> {
        let text = |length, kind| Values::Text {
            length,
            kind,
            builder: StringBuilder::new(),
            replaced: 0,
        };
        let values = match (&column.source, column.scalar) {
            (Source::CaptureTime, _) => Values::Time(Vec::new()),
            (_, Scalar::U8) => Values::U8(Vec::new()),
            (_, Scalar::I8) => Values::I8(Vec::new()),
            (_, Scalar::U16) => Values::U16(Vec::new()),
            (_, Scalar::I16) => Values::I16(Vec::new()),
            (_, Scalar::U32) => Values::U32(Vec::new()),
            (_, Scalar::I32) => Values::I32(Vec::new()),
            (_, Scalar::U64) => Values::U64(Vec::new()),
            (_, Scalar::I64) => Values::I64(Vec::new()),
            (_, Scalar::F32) => Values::F32(Vec::new()),
            (_, Scalar::F64) => Values::F64(Vec::new()),
            (_, Scalar::FlagOrF32) => Values::FlagOrF32(Vec::new()),
            (_, Scalar::Bool) => Values::Bool(Vec::new()),
            (_, Scalar::Char(length)) => text(length, TextKind::Utf8),
            (_, Scalar::Latin(length)) => text(length, TextKind::Latin),
            (_, Scalar::Hex(length)) => text(length, TextKind::Hexadecimal),
            // Lies outside of the record.
            (_, Scalar::Text) => return None,
        };
        let from = match &column.source {
            Source::CaptureTime => Origin::CaptureTime,
            Source::Field(field) => match field.only_place() {
                Some(place) => Origin::Record(place.offset),
                None => {
                    let offsets = grid.offsets(field);
                    let step = stride(&offsets);
                    Origin::Cells(offsets, step)
                }
            },
            Source::Index { axis, start } => Origin::Index {
                entries: grid.cells.iter().map(|cell| cell[*axis] as u32).collect(),
                start: start.as_ref(),
            },
            Source::Variant { offsets } => Origin::Variant {
                table,
                offsets,
                size: column.scalar.size(),
                valid: Vec::new(),
            },
            Source::Missing | Source::Session(_) => return None,
        };
        let ends = |field: &Strided| {
            let offsets = grid.offsets(field).into_iter();
            offsets.map(|offset| offset + field.scalar.size()).collect()
        };
        let partial = match &column.source {
            Source::Field(field) if column.is_partial => Some((ends(field), Vec::new())),
            _ => None,
        };
        let is_of_record = matches!(from, Origin::CaptureTime | Origin::Record(_));
        let is_text = matches!(values, Values::Text { .. });
        Some(Builder {
            is_shared: is_of_record && !is_text && partial.is_none(),
            values,
            from,
            partial,
        })
    }

    fn add(&mut self, tile: &Tile<'_>) {
        if let Some((ends, valid)) = &mut self.partial {
            for record in tile.records.clone() {
                let length = tile.segment.length(record, tile.length);
                match tile.cells(record) {
                    None => valid.extend(ends.iter().map(|end| *end <= length)),
                    Some(cells) => {
                        let chosen = cells.iter().map(|cell| ends[*cell as usize]);
                        valid.extend(chosen.map(|end| end <= length));
                    }
                }
            }
        }
        match &mut self.from {
            Origin::CaptureTime => {
                let Values::Time(values) = &mut self.values else {
                    unreachable!("times are gathered as times");
                };
                let times = &tile.segment.times;
                values.extend(tile.records_with_rows().map(|(number, _)| times[number]));
            }
            Origin::Record(offset) if self.is_shared => {
                let offset = *offset;
                with_numbers!(&mut self.values, values => tile.read_shared(values, offset), _ => {});
            }
            Origin::Record(offset) => {
                let offset = *offset;
                with_numbers!(&mut self.values, values => {
                    for (number, record) in tile.records() {
                        let rows = values.len() + tile.rows(number);
                        values.resize(rows, Wire::read(record, offset));
                    }
                }, values => {
                    for (number, record) in tile.records() {
                        for _ in 0..tile.rows(number) {
                            values.push_text(record, offset);
                        }
                    }
                });
            }
            Origin::Cells(offsets, step) => with_numbers!(&mut self.values, values => {
                for (number, record) in tile.records() {
                    match (tile.cells(number), &step) {
                        (None, Some(step)) => {
                            read_evenly(values, &record[offsets[0]..], *step, offsets.len());
                        }
                        (None, None) => read_all(values, record, offsets.iter().copied()),
                        (Some(cells), _) => {
                            let chosen = cells.iter().map(|cell| offsets[*cell as usize]);
                            read_all(values, record, chosen);
                        }
                    }
                }
            }, values => {
                for (number, record) in tile.records() {
                    match tile.cells(number) {
                        None => offsets.iter().for_each(|offset| values.push_text(record, *offset)),
                        Some(cells) => cells
                            .iter()
                            .for_each(|cell| values.push_text(record, offsets[*cell as usize])),
                    }
                }
            }),
            Origin::Index { entries, start } => {
                let mut push = |record: &[u8], cell: usize| {
                    let first = start.map_or(0, |start| {
                        read_strided(record, start, &tile.grid.cells[cell])
                    });
                    let index = first + i64::from(entries[cell]);
                    // The layout compiler has chosen a type wide enough.
                    match &mut self.values {
                        Values::U8(values) => values.push(index as u8),
                        Values::U16(values) => values.push(index as u16),
                        Values::U32(values) => values.push(index as u32),
                        _ => unreachable!("an index is an unsigned number"),
                    }
                };
                for (number, record) in tile.records() {
                    match tile.cells(number) {
                        None => (0..entries.len()).for_each(|cell| push(record, cell)),
                        Some(cells) => cells.iter().for_each(|cell| push(record, *cell as usize)),
                    }
                }
            }
            Origin::Variant {
                table,
                offsets,
                size,
                valid,
            } => {
                let size = *size;
                for (number, record) in tile.records() {
                    let case = table.tag.as_ref().and_then(|tag| tag.case(record));
                    let offset = case.and_then(|case| offsets.get(case).copied().flatten());
                    let length = tile.segment.length(number, tile.length);
                    let offset = offset.filter(|offset| *offset + size <= length);
                    for _ in 0..tile.rows(number) {
                        valid.push(offset.is_some());
                        with_numbers!(&mut self.values, values => {
                            values.push(offset.map_or_else(Default::default, |offset| {
                                Wire::read(record, offset)
                            }));
                        }, values => match offset {
                            Some(offset) => values.push_text(record, offset),
                            None => values.push_null_text(),
                        });
                    }
                }
            }
        }
    }

    fn finish(self, replaced_texts: &mut u64) -> ArrayRef {
        let valid = match (self.from, self.partial) {
            (Origin::Variant { valid, .. }, _) | (_, Some((_, valid))) => Some(valid),
            _ => None,
        };
        let nulls = valid.map(NullBuffer::from);
        fn primitive<T: ArrowPrimitiveType>(
            values: Vec<T::Native>,
            nulls: Option<NullBuffer>,
        ) -> ArrayRef {
            Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
        }
        match self.values {
            Values::U8(values) => primitive::<UInt8Type>(values, nulls),
            Values::I8(values) => primitive::<Int8Type>(values, nulls),
            Values::U16(values) => primitive::<UInt16Type>(values, nulls),
            Values::I16(values) => primitive::<Int16Type>(values, nulls),
            Values::U32(values) => primitive::<UInt32Type>(values, nulls),
            Values::I32(values) => primitive::<Int32Type>(values, nulls),
            Values::U64(values) => primitive::<UInt64Type>(values, nulls),
            Values::I64(values) => primitive::<Int64Type>(values, nulls),
            Values::F32(values) => primitive::<Float32Type>(values, nulls),
            Values::F64(values) => primitive::<Float64Type>(values, nulls),
            Values::Bool(bytes) => {
                let values: BooleanBuffer = bytes.iter().map(|byte| *byte != 0).collect();
                Arc::new(BooleanArray::new(values, nulls))
            }
            Values::FlagOrF32(words) => {
                let number = |word| match word {
                    1 => 1.0,
                    word => f32::from_bits(word),
                };
                primitive::<Float32Type>(words.into_iter().map(number).collect(), nulls)
            }
            Values::Time(values) => Arc::new(
                PrimitiveArray::<TimestampNanosecondType>::new(values.into(), nulls)
                    .with_timezone("UTC"),
            ),
            Values::Text {
                mut builder,
                replaced,
                ..
            } => {
                *replaced_texts += replaced;
                let (offsets, texts, known_nulls) = builder.finish().into_parts();
                Arc::new(StringArray::new(offsets, texts, known_nulls.or(nulls)))
            }
        }
    }
}

impl Values {
    fn reserve(&mut self, rows: usize) {
        with_numbers!(self, values => values.reserve_exact(rows), _ => {});
    }

    fn push_text(&mut self, record: &[u8], offset: usize) {
        let Values::Text {
            length,
            kind,
            builder,
            replaced,
        } = self
        else {
            unreachable!("numbers are gathered as numbers");
        };
        let bytes = &record[offset..offset + *length];
        let text = until_nul(bytes);
        match kind {
            TextKind::Hexadecimal => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                builder.append_value(digits);
            }
            TextKind::Latin => builder.append_value(utf8_or_latin(text)),
            TextKind::Utf8 => {
                let text = String::from_utf8_lossy(text);
                *replaced += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
                builder.append_value(text);
            }
        }
    }

    fn push_null_text(&mut self) {
        if let Values::Text { builder, .. } = self {
            builder.append_null();
        }
    }
}

/// The names of the values in `of`; null where a value has none.
fn label<'a>(
    of: &ArrayRef,
    names: &Names,
    games: &dyn Fn() -> &'a [Games],
) -> Result<ArrayRef, ArrowError> {
    let dictionary = |keys: Int32Array, names: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        let array = DictionaryArray::<Int32Type>::try_new(keys, names.clone())?;
        Ok(Arc::new(array))
    };
    match names {
        Names::Values { positions, names } => {
            let values = integers(of);
            let keys = values.map(|value| positions.get(&value?).copied());
            dictionary(keys.collect(), names)
        }
        Names::Codes { positions, names } => {
            let texts = of.as_string::<i32>().iter();
            let keys = texts.map(|text| positions.get(text?).copied());
            dictionary(keys.collect(), names)
        }
        Names::ByGame { variants, names } => {
            let values = integers(of).zip(games().iter().copied());
            let keys = values.map(|(value, games)| variants.name(value?, games));
            dictionary(keys.collect(), names)
        }
        Names::Flags(bits) => {
            let set = |value: i64| {
                let names = bits.iter().filter(|(bit, _)| value as u64 & bit != 0);
                let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
                names.join("|")
            };
            let texts = integers(of).map(|value| value.map(set));
            Ok(Arc::new(texts.collect::<StringArray>()))
        }
    }
}

/// The values of a column of whole numbers; null for any other column.
fn integers(array: &ArrayRef) -> Box<dyn Iterator<Item = Option<i64>> + '_> {
    macro_rules! widen {
        ($kind:ty) => {
            Box::new(
                array
                    .as_primitive::<$kind>()
                    .iter()
                    .map(|value| value.map(|value| value as i64)),
            )
        };
    }
    match array.data_type() {
        DataType::UInt8 => widen!(UInt8Type),
        DataType::Int8 => widen!(Int8Type),
        DataType::UInt16 => widen!(UInt16Type),
        DataType::Int16 => widen!(Int16Type),
        DataType::UInt32 => widen!(UInt32Type),
        DataType::Int32 => widen!(Int32Type),
        DataType::UInt64 => widen!(UInt64Type),
        DataType::Int64 => widen!(Int64Type),
        _ => Box::new(std::iter::repeat_n(None, array.len())),
    }
}

//! What to make of each table: which columns, under which Arrow schema, and
//! which rows. A plan is settled before the first record is decoded.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use glob::Pattern;

use crate::layout::{
    Column, EnumKind, Games, Layout, Packet, Place, Role, Scalar, Source, Table, snake_case,
};

/// Which cars' rows to keep in tables that have a row a car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cars {
    #[default]
    All,
    /// The player's own.
    Player,
    /// Those that take part in the session.
    Active,
}

/// What the user wants to see.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Tables by `table` or `format/table`; all if empty.
    pub tables: Vec<Pattern>,
    pub columns: ColumnPatterns,
    pub cars: Cars,
    /// Whether names stand beside ids.
    pub labels: bool,
}

/// Columns by name, with `*` and `?`. Keys stay unless they are excluded.
#[derive(Debug, Clone, Default)]
pub struct ColumnPatterns {
    pub included: Vec<Pattern>,
    pub excluded: Vec<Pattern>,
}

impl ColumnPatterns {
    fn excludes(&self, name: &str) -> bool {
        self.excluded.iter().any(|pattern| pattern.matches(name))
    }

    fn takes(&self, column: &Column) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| names(pattern, column));
        if any(&self.excluded) {
            return false;
        }
        match column.role {
            Role::Key => true,
            Role::Value => self.included.is_empty() || any(&self.included),
            // A lone `*` means all ordinary columns, not the hidden ones too.
            Role::Hidden => self
                .included
                .iter()
                .any(|pattern| pattern.as_str() != "*" && names(pattern, column)),
        }
    }
}

/// Whether a pattern names a column, by its own name or by the game's.
pub fn names(pattern: &Pattern, column: &Column) -> bool {
    pattern.matches(&column.name) || pattern.matches(column.official_name())
}

/// Whether a pattern names a packet, as the game spells it or as its table does.
pub fn names_packet(pattern: &Pattern, packet: &Packet) -> bool {
    pattern.matches(&packet.name) || pattern.matches(&snake_case(&packet.name))
}

impl Selection {
    /// Whether the user wants what goes by this name.
    pub fn takes_name(&self, layout: &Layout, name: &str) -> bool {
        let qualified = format!("{}/{name}", layout.name);
        let mut tables = self.tables.iter();
        self.tables.is_empty()
            || tables.any(|pattern| pattern.matches(name) || pattern.matches(&qualified))
    }

    /// Whether the user wants this table at all.
    pub fn takes_table(&self, layout: &Layout, table: &Table) -> bool {
        let named = self.takes_name(layout, &table.name);
        let mut taken = table
            .columns
            .iter()
            .filter(|column| self.columns.takes(column));
        // Keys alone say nothing: a table without a wanted column is left out.
        let any = |column: &Column| column.role != Role::Key || self.columns.included.is_empty();
        named && taken.any(any)
    }
}

/// One output column.
#[derive(Debug, Clone)]
pub(super) enum Output {
    /// The name of the input.
    Capture,
    /// Position in [`Table::columns`].
    Column(usize),
    /// The name of the value in an earlier output column.
    Label { of: usize, names: Arc<Names> },
}

/// The names of an enum, ready to be looked up.
#[derive(Debug)]
pub(super) enum Names {
    Values {
        positions: HashMap<i64, i32>,
        names: ArrayRef,
    },
    Codes {
        positions: HashMap<String, i32>,
        names: ArrayRef,
    },
    Flags(Vec<(u64, String)>),
    /// Names that depend on the game.
    ByGame {
        variants: NamesByGame,
        names: ArrayRef,
    },
}

/// Which name a value has in each game.
#[derive(Debug)]
pub(super) struct NamesByGame {
    /// For each game of the layout the number of the name of each value.
    games: Vec<HashMap<i64, i32>>,
    /// The number of the name for what differs between the possible games.
    undetermined: i32,
}

impl NamesByGame {
    /// What a value is called whose name depends on the game.
    const UNDETERMINED: &'static str = "undetermined";

    fn of(variants: &[(Games, Vec<(i64, String)>)], games: usize) -> (NamesByGame, Vec<String>) {
        let mut names = vec![Self::UNDETERMINED.to_string()];
        let mut by_game = vec![HashMap::new(); games];
        for (set, values) in variants {
            for (value, name) in values {
                let known = names.iter().position(|known| known == name);
                let number = known.unwrap_or_else(|| {
                    names.push(name.clone());
                    names.len() - 1
                });
                let of_set = by_game.iter_mut().enumerate();
                for (_, positions) in of_set.filter(|(game, _)| set.contains(*game)) {
                    positions.insert(*value, number as i32);
                }
            }
        }
        let by_game = NamesByGame {
            games: by_game,
            undetermined: 0,
        };
        (by_game, names)
    }

    /// The number of the name of `value` if one of `games` has sent it.
    pub(super) fn name(&self, value: i64, games: Games) -> Option<i32> {
        let possible = self.games.iter().enumerate();
        let mut names = possible
            .filter(|(game, _)| games.contains(*game))
            .map(|(_, positions)| positions.get(&value).copied());
        let first = names.next().flatten();
        match names.all(|name| name == first) {
            true => first,
            false => Some(self.undetermined),
        }
    }
}

impl Names {
    fn of(kind: &EnumKind, games: usize) -> Names {
        fn list<'a>(names: impl Iterator<Item = &'a String>) -> ArrayRef {
            Arc::new(StringArray::from_iter_values(names))
        }
        match kind {
            EnumKind::Values(values) => Names::Values {
                positions: (0..)
                    .zip(values)
                    .map(|(position, (value, _))| (*value, position))
                    .collect(),
                names: list(values.iter().map(|(_, name)| name)),
            },
            EnumKind::Codes(codes) => Names::Codes {
                positions: (0..)
                    .zip(codes)
                    .map(|(position, (code, _))| (code.clone(), position))
                    .collect(),
                names: list(codes.iter().map(|(_, name)| name)),
            },
            EnumKind::Flags(bits) => Names::Flags(bits.clone()),
            EnumKind::ByGame(variants) => {
                let (variants, names) = NamesByGame::of(variants, games);
                let names = list(names.iter());
                Names::ByGame { variants, names }
            }
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Names::Flags(_) => DataType::Utf8,
            Names::Values { .. } | Names::Codes { .. } | Names::ByGame { .. } => dictionary(),
        }
    }
}

fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// How one table is decoded.
#[derive(Debug)]
pub struct TablePlan {
    pub layout: Arc<Layout>,
    table: usize,
    pub(super) outputs: Vec<Output>,
    pub schema: SchemaRef,
    pub(super) cars: Cars,
    pub(super) car: Option<CarFilter>,
    /// Names of all inputs, for the column that tells them apart.
    pub(super) captures: Option<ArrayRef>,
}

/// How to tell whose rows a table holds.
#[derive(Debug)]
pub(super) enum CarFilter {
    /// Entries along this axis of the table.
    Axis { axis: usize, player: Option<Place> },
    /// The whole record belongs to the car that it names.
    Record { car: Place, player: Place },
}

impl TablePlan {
    /// Plans a table of `layout`. `captures` names all inputs if there are
    /// several; the columns named in `without` are left out, because the
    /// output's folders say their values.
    pub fn new(
        layout: &Arc<Layout>,
        table: usize,
        selection: &Selection,
        captures: Option<&ArrayRef>,
        without: &[String],
    ) -> TablePlan {
        let definition = &layout.tables[table];
        let mut outputs = Vec::new();
        let mut fields = Vec::new();
        let is_partition = |name: &str| without.iter().any(|known| known == name);
        if captures.is_some() && !is_partition("capture") && !selection.columns.excludes("capture")
        {
            outputs.push(Output::Capture);
            let name = unused_name("capture", definition);
            fields.push(described(
                Field::new(name, dictionary(), false),
                &[("description", "the input that the row comes from")],
            ));
        }
        for (position, column) in definition.columns.iter().enumerate() {
            if is_partition(&column.name) || !selection.columns.takes(column) {
                continue;
            }
            outputs.push(Output::Column(position));
            let enumeration = column.enumeration.map(|position| &layout.enums[position]);
            let field = Field::new(&column.name, data_type(column), column.nullable());
            fields.push(described(
                field,
                &[
                    ("unit", column.unit.as_str()),
                    ("description", column.note.as_str()),
                    ("official_name", column.official.as_str()),
                    (
                        "enum",
                        enumeration.map_or("", |enumeration| enumeration.name.as_str()),
                    ),
                ],
            ));
            let Some(enumeration) = enumeration.filter(|_| selection.labels) else {
                continue;
            };
            let names = Arc::new(Names::of(&enumeration.kind, layout.games.len()));
            let name = unused_name(&format!("{}_name", column.name), definition);
            fields.push(described(
                Field::new(name, names.data_type(), true),
                &[
                    ("description", &format!("name of {}", column.name)),
                    ("enum", &enumeration.name),
                ],
            ));
            outputs.push(Output::Label {
                of: outputs.len() - 1,
                names,
            });
        }
        TablePlan {
            layout: layout.clone(),
            table,
            outputs,
            schema: Arc::new(Schema::new(fields)),
            cars: selection.cars,
            car: car_filter(layout, definition),
            captures: captures.cloned(),
        }
    }

    /// The same table of another recording, whose layout has the same tables and
    /// columns but other places for them.
    pub(super) fn of_layout(&self, layout: &Arc<Layout>) -> TablePlan {
        let definition = &layout.tables[self.table];
        TablePlan {
            layout: layout.clone(),
            table: self.table,
            outputs: self.outputs.clone(),
            schema: self.schema.clone(),
            cars: self.cars,
            car: car_filter(layout, definition),
            captures: self.captures.clone(),
        }
    }

    /// The column that says which input each row comes from, by their numbers.
    pub(super) fn capture_column(
        &self,
        captures: impl Iterator<Item = usize>,
    ) -> Result<ArrayRef, ArrowError> {
        let keys = captures.map(|capture| i32::try_from(capture).unwrap_or(i32::MAX));
        let keys = Int32Array::from_iter_values(keys);
        let names = self.captures.clone();
        let names = names.unwrap_or_else(|| Arc::new(StringArray::new_null(0)));
        let column = DictionaryArray::<Int32Type>::try_new(keys, names)?;
        Ok(Arc::new(column))
    }

    pub fn table(&self) -> &Table {
        self.table_of(&self.layout)
    }

    /// The same table in another layout that has the same tables.
    pub(super) fn table_of<'a>(&self, layout: &'a Layout) -> &'a Table {
        &layout.tables[self.table]
    }

    /// `format/table`.
    pub fn qualified_name(&self) -> String {
        format!("{}/{}", self.layout.name, self.table().name)
    }
}

/// The name, with a number behind it if the game has a column of that name.
fn unused_name(name: &str, table: &Table) -> String {
    let is_used = |name: &str| table.columns.iter().any(|column| column.name == name);
    let mut unused = name.to_string();
    let mut number = 1;
    while is_used(&unused) {
        number += 1;
        unused = format!("{name}_{number}");
    }
    unused
}

/// The field with those of the entries as metadata that say something.
fn described(field: Field, entries: &[(&str, &str)]) -> Field {
    let said = entries.iter().filter(|(_, value)| !value.is_empty());
    let metadata: HashMap<String, String> = said
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    field.with_metadata(metadata)
}

fn data_type(column: &Column) -> DataType {
    if column.source == Source::CaptureTime {
        return DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    }
    match column.output() {
        Scalar::U8 => DataType::UInt8,
        Scalar::I8 => DataType::Int8,
        Scalar::U16 => DataType::UInt16,
        Scalar::I16 => DataType::Int16,
        Scalar::U32 => DataType::UInt32,
        Scalar::I32 => DataType::Int32,
        Scalar::U64 => DataType::UInt64,
        Scalar::I64 => DataType::Int64,
        Scalar::F32 | Scalar::FlagOrF32 => DataType::Float32,
        Scalar::F64 => DataType::Float64,
        Scalar::Bool => DataType::Boolean,
        Scalar::Char(_) | Scalar::Latin(_) | Scalar::Text | Scalar::Hex(_) => DataType::Utf8,
    }
}

fn car_filter(layout: &Layout, table: &Table) -> Option<CarFilter> {
    let along = table.axes.iter().enumerate();
    for (axis, row_axis) in along {
        let rule = layout.active.as_ref();
        let is_of_cars = rule.is_some_and(|rule| rule.axis == row_axis.name);
        if row_axis.player.is_some() || is_of_cars {
            let player = row_axis.player;
            return Some(CarFilter::Axis { axis, player });
        }
    }
    // A packet about one car names it in a column that other tables count by.
    let axes = layout.tables.iter().flat_map(|table| &table.axes);
    let mut numbered = axes.filter_map(|axis| Some((axis.index.as_str(), axis.player?)));
    let (index, player) = numbered.next()?;
    table
        .columns
        .iter()
        .find_map(|column| match &column.source {
            Source::Field(field) if column.name == index => Some(CarFilter::Record {
                car: field.place(&[]),
                player,
            }),
            _ => None,
        })
}

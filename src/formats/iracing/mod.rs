//! iRacing: the variables that a recording describes itself become a
//! [`Layout`], as if a layout file had described them; so do the lists of the
//! session string. Recordings differ by car and season: several share tables
//! whose columns are those of all of them.

mod reference;
mod session;
mod weekend;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

pub use reference::reference;
pub use session::{Node, Session};
pub use weekend::{Entry, WeekendDriver};

use crate::capture::{TickFile, Variable, VariableType};
use crate::layout::{
    ActiveRule, Column, Enum, Layout, Packet, Place, Role, RowAxis, Scalar, Source, Strided, Table,
};

/// The name of the format, and of its folder.
pub const NAME: &str = "iracing";
/// Its name for people.
pub const TITLE: &str = "iRacing";
/// Variables that say whose row it is, in this order.
const KEYS: [&str; 3] = ["SessionNum", "SessionTick", "SessionTime"];
/// Arrays with this in front hold a value a car.
const CARS: &str = "CarIdx";
/// The column that numbers the moments within a tick.
const SUB_TICK: &str = "SubTick";

/// Position in [`Layout::packets`] of the ticks and of the session string.
pub const TICK: usize = 0;
pub const SESSION: usize = 1;

static ENUMS: LazyLock<Vec<Enum>> = LazyLock::new(|| {
    let enums = Layout::parse_enums("iracing.enums", include_str!("iracing.enums"));
    enums.unwrap_or_else(|error| panic!("a built-in layout is wrong: {error}"))
});

/// Lists within the lists, which look like a text while they are empty.
const LISTS: [&str; 2] = ["ResultsPositions", "ResultsFastestLap"];

/// A list of the session string that becomes a table.
#[derive(Debug)]
pub struct SessionTable {
    pub name: &'static str,
    /// Keys down to the list; what stands before the last one may be a list too.
    path: &'static [&'static str],
    /// Keys of the items around it that stand in its rows.
    outer: &'static [&'static str],
    /// Which of its values are numbers; all others are text.
    integers: &'static [&'static str],
    floats: &'static [&'static str],
}

/// The tables of the session string.
pub const SESSION_TABLES: [SessionTable; 5] = [
    SessionTable {
        name: "drivers",
        path: &["DriverInfo", "Drivers"],
        outer: &[],
        integers: &[
            "CarIdx",
            "UserID",
            "TeamID",
            "CarNumberRaw",
            "CarClassID",
            "CarID",
            "CarIsPaceCar",
            "CarIsAI",
            "CarIsElectric",
            "CarClassRelSpeed",
            "CarClassLicenseLevel",
            "IRating",
            "LicLevel",
            "LicSubLevel",
            "IsSpectator",
            "CurDriverIncidentCount",
            "TeamIncidentCount",
        ],
        floats: &["CarClassEstLapTime"],
    },
    SessionTable {
        name: "sessions",
        path: &["SessionInfo", "Sessions"],
        outer: &[],
        integers: &[
            "SessionNum",
            "SessionNumLapsToAvg",
            "SessionSkipped",
            "SessionRunGroupsUsed",
            "SessionEnforceTireCompoundChange",
            "ResultsNumCautionFlags",
            "ResultsNumCautionLaps",
            "ResultsNumLeadChanges",
            "ResultsLapsComplete",
            "ResultsOfficial",
        ],
        floats: &["ResultsAverageLapTime"],
    },
    SessionTable {
        name: "results",
        path: &["SessionInfo", "Sessions", "ResultsPositions"],
        outer: &["SessionNum"],
        integers: &[
            "SessionNum",
            "Position",
            "ClassPosition",
            "CarIdx",
            "Lap",
            "FastestLap",
            "LapsLed",
            "LapsComplete",
            "JokerLapsComplete",
            "Incidents",
            "ReasonOutId",
        ],
        floats: &["Time", "FastestTime", "LastTime", "LapsDriven"],
    },
    SessionTable {
        name: "qualify_results",
        path: &["QualifyResultsInfo", "Results"],
        outer: &[],
        integers: &["Position", "ClassPosition", "CarIdx", "FastestLap"],
        floats: &["FastestTime"],
    },
    SessionTable {
        name: "splits",
        path: &["SplitTimeInfo", "Sectors"],
        outer: &[],
        integers: &["SectorNum"],
        floats: &["SectorStartPct"],
    },
];

/// A row of a list: its keys and values, as text.
pub type SessionRow<'a> = Vec<(&'a str, &'a str)>;

/// The text beside the tables, by the name that the user calls it.
pub const DOCUMENT: &str = "session";

impl SessionTable {
    /// The rows of this table in a session string.
    pub fn rows<'a>(&self, session: &'a Session) -> Vec<SessionRow<'a>> {
        let mut rows = Vec::new();
        self.walk(&session.root, self.path, &mut Vec::new(), &mut rows);
        rows
    }

    fn walk<'a>(
        &self,
        node: &'a Node,
        path: &[&str],
        outer: &mut SessionRow<'a>,
        rows: &mut Vec<SessionRow<'a>>,
    ) {
        if let Node::List(items) = node {
            for item in items {
                let before = outer.len();
                if !path.is_empty() {
                    outer.extend(texts(item).filter(|(key, _)| self.outer.contains(key)));
                }
                self.walk(item, path, outer, rows);
                outer.truncate(before);
            }
            return;
        }
        match path {
            [] if node.entries().is_empty() => {}
            [] => rows.push(outer.iter().copied().chain(texts(node)).collect()),
            [key, rest @ ..] => {
                if let Some(inner) = node.get(key) {
                    self.walk(inner, rest, outer, rows);
                }
            }
        }
    }

    fn scalar(&self, key: &str) -> Scalar {
        if self.integers.contains(&key) {
            Scalar::I32
        } else if self.floats.contains(&key) {
            Scalar::F64
        } else {
            Scalar::Text
        }
    }
}

fn texts(node: &Node) -> impl Iterator<Item = (&str, &str)> {
    let entries = node.entries().iter();
    let values = entries.filter(|(key, _)| !LISTS.contains(&key.as_str()));
    values.filter_map(|(key, value)| Some((key.as_str(), value.text()?)))
}

/// What all recordings of a conversion have together. Their layouts have the
/// same tables and columns, each with the places of its own recording.
#[derive(Default)]
pub struct Survey {
    recordings: usize,
    tables: BTreeMap<Kind, Vec<Wanted>>,
    /// Position of each column of a table in its list.
    positions: HashMap<(Kind, String), usize>,
    /// The columns of each of [`SESSION_TABLES`].
    session: [Vec<Column>; SESSION_TABLES.len()],
    session_keys: HashSet<(usize, String)>,
    /// How many columns the tables of ticks have.
    columns: usize,
    first: Option<First>,
}

/// What the tables are planned by.
struct First {
    variables: Vec<Variable>,
    record_length: usize,
    session: Option<String>,
}

/// Several times what all cars of the simulator have together.
const MOST_COLUMNS: usize = 1 << 12;
/// Real session strings have a hundredth of it.
const LONGEST_METADATA: usize = 1 << 20;
/// Of a table of the session string.
const MOST_SESSION_COLUMNS: usize = 300;

impl Survey {
    /// Adds what a recording has.
    pub fn add(&mut self, ticks: &TickFile, session: &Session) {
        let text = (session.text.len() <= LONGEST_METADATA).then(|| session.text.clone());
        self.add_variables(ticks.variables(), ticks.record_length(), text);
        for (number, table) in SESSION_TABLES.iter().enumerate() {
            for (key, _) in table.rows(session).into_iter().flatten() {
                self.add_session_key(number, key);
            }
        }
    }

    /// Adds the variables of a recording, and its session string if it is not too
    /// long to stand in each table.
    fn add_variables(&mut self, list: &[Variable], record_length: usize, session: Option<String>) {
        self.recordings += 1;
        let variables = Variables::of(list);
        for variable in variables.list {
            let kind = variables.kind(variable);
            let columns = self.tables.entry(kind).or_default();
            for mut wanted in Wanted::columns(kind, variable) {
                let position = loop {
                    let next = columns.len();
                    let position = self
                        .positions
                        .entry((kind, wanted.name.clone()))
                        .or_insert(next);
                    let known = columns.get(*position);
                    let is_same = known.is_none_or(|known| known.is_of(&wanted));
                    if is_same && !kind.has_column(&wanted.name) {
                        break *position;
                    }
                    wanted.name.push('_');
                };
                match columns.get_mut(position) {
                    Some(known) => known.agree(&wanted),
                    None if self.columns == MOST_COLUMNS => {
                        self.positions.remove(&(kind, wanted.name));
                    }
                    None => {
                        self.columns += 1;
                        columns.push(wanted);
                    }
                }
            }
        }
        self.first.get_or_insert_with(|| First {
            variables: list.to_vec(),
            record_length,
            session,
        });
    }

    /// Adds a key of one of [`SESSION_TABLES`].
    fn add_session_key(&mut self, number: usize, key: &str) {
        if self.session[number].len() == MOST_SESSION_COLUMNS
            || !self.session_keys.insert((number, key.into()))
        {
            return;
        }
        let source = Source::Session(key.into());
        self.session[number].push(Column {
            official: key.into(),
            optional: true,
            ..Column::new(key, SESSION_TABLES[number].scalar(key), source)
        });
    }

    /// The layout of the first recording, if there is any; what its tables say
    /// of themselves, all tables say.
    pub fn first_layout(&self) -> Option<Arc<Layout>> {
        let first = self.first.as_ref()?;
        // Of several session strings, a table could not say whose it has.
        let session = first.session.as_ref().filter(|_| self.recordings == 1);
        let metadata = session.map(|text| ("session_string".into(), text.clone()));
        Some(Arc::new(Layout {
            metadata: metadata.into_iter().collect(),
            ..self.make_layout(&first.variables, first.record_length)
        }))
    }

    /// How many variables of a recording have no column, because there are too
    /// many of them all together.
    pub fn left_out(&self, ticks: &TickFile) -> usize {
        if self.columns < MOST_COLUMNS {
            return 0;
        }
        let variables = Variables::of(ticks.variables());
        let has_no_column = |variable: &&Variable| {
            let kind = variables.kind(variable);
            let mut columns = Wanted::columns(kind, variable).into_iter();
            !columns.any(|wanted| self.positions.contains_key(&(kind, wanted.name)))
        };
        variables.list.iter().filter(has_no_column).count()
    }

    /// The layout of a recording that was added.
    pub fn layout(&self, ticks: &TickFile) -> Arc<Layout> {
        Arc::new(self.make_layout(ticks.variables(), ticks.record_length()))
    }

    fn make_layout(&self, variables: &[Variable], record_length: usize) -> Layout {
        let variables = Variables::of(variables);
        let mut tables = self.tick_tables(&variables);
        let of_ticks = 0..tables.len();
        let named = SESSION_TABLES.iter().zip(&self.session);
        let named = named.filter(|(_, columns)| !columns.is_empty());
        tables.extend(named.map(|(table, columns)| Table {
            name: table.name.into(),
            packet: SESSION,
            axes: Vec::new(),
            columns: columns.clone(),
            tag: None,
        }));
        let packet = |name: &str, size, tables: Range<usize>| Packet {
            name: name.into(),
            id: None,
            size,
            shorter: Vec::new(),
            leaves: Vec::new(),
            tables: tables.collect(),
        };
        let of_session = of_ticks.end..tables.len();
        Layout {
            title: TITLE.into(),
            packets: vec![
                packet("Tick", record_length, of_ticks),
                packet("Session", 0, of_session),
            ],
            active: variables.active_rule(),
            tables,
            enums: ENUMS.clone(),
            ..Layout::named(NAME)
        }
    }

    /// The tables of ticks as one recording fills them.
    fn tick_tables(&self, variables: &Variables<'_>) -> Vec<Table> {
        let column = |wanted: &Wanted, kind, axes| Column {
            optional: wanted.recordings < self.recordings,
            ..wanted.column(kind, variables, axes)
        };
        let is_key = |wanted: &&Wanted| KEYS.contains(&wanted.name.as_str());
        let keys = self.tables.get(&Kind::Tick).into_iter().flatten();
        let keys: Vec<&Wanted> = keys.filter(is_key).collect();
        let tables = self.tables.iter().map(|(kind, wanted)| {
            let axes = variables.axes(*kind);
            let mut columns = vec![Column {
                note: "date of the session's start, and session time".into(),
                role: Role::Key,
                ..Column::new("capture_time", Scalar::I64, Source::CaptureTime)
            }];
            columns.extend(keys.iter().map(|wanted| Column {
                role: Role::Key,
                ..column(wanted, Kind::Tick, axes.len())
            }));
            columns.extend(axes.iter().enumerate().map(|(axis, row_axis)| {
                let source = Source::Index { axis, start: None };
                Column {
                    note: format!("position in {}, from 0", row_axis.name),
                    role: Role::Key,
                    ..Column::new(&row_axis.index, Scalar::U16, source)
                }
            }));
            let others = wanted
                .iter()
                .filter(|wanted| *kind != Kind::Tick || !is_key(wanted));
            columns.extend(others.map(|wanted| column(wanted, *kind, axes.len())));
            Table {
                name: kind.table_name(),
                packet: TICK,
                axes,
                columns,
                tag: None,
            }
        });
        tables.collect()
    }
}

/// What a table of ticks has a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Tick,
    /// A car and tick; arrays of different lengths do not fit into one table.
    Car {
        nth: usize,
    },
    /// A moment within a tick.
    SubTick {
        nth: usize,
    },
}

impl Kind {
    /// Whether its tables have a column of this name whatever the variables.
    fn has_column(self, name: &str) -> bool {
        match self {
            Kind::Tick => name == "capture_time",
            Kind::Car { .. } => name == "capture_time" || name == CARS || KEYS.contains(&name),
            Kind::SubTick { .. } => {
                name == "capture_time" || name == SUB_TICK || KEYS.contains(&name)
            }
        }
    }

    fn table_name(self) -> String {
        let numbered = |name: &str, nth: usize| match nth {
            0 => name.to_string(),
            nth => format!("{name}_{}", nth + 1),
        };
        match self {
            Kind::Tick => "ticks".into(),
            Kind::Car { nth } => numbered("cars", nth),
            Kind::SubTick { nth } => numbered("subticks", nth),
        }
    }
}

/// The variables of one recording.
struct Variables<'a> {
    list: &'a [Variable],
    by_name: HashMap<&'a str, &'a Variable>,
    /// The lengths of arrays of cars and of sub-ticks, the most frequent first.
    cars: Vec<usize>,
    sub_ticks: Vec<usize>,
}

impl<'a> Variables<'a> {
    fn of(list: &'a [Variable]) -> Variables<'a> {
        let lengths = |belongs: fn(&Variable) -> bool| {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for variable in list.iter().filter(|variable| belongs(variable)) {
                *counts.entry(variable.count).or_default() += 1;
            }
            let mut lengths: Vec<usize> = counts.keys().copied().collect();
            lengths.sort_by_key(|length| Reverse(counts[length]));
            lengths
        };
        let named = list
            .iter()
            .map(|variable| (variable.name.as_str(), variable));
        Variables {
            list,
            by_name: named.collect(),
            cars: lengths(is_of_cars),
            sub_ticks: lengths(is_of_sub_ticks),
        }
    }

    fn kind(&self, variable: &Variable) -> Kind {
        let nth = |lengths: &[usize]| {
            let nth = lengths.iter().position(|length| *length == variable.count);
            nth.unwrap_or(0)
        };
        if is_of_cars(variable) {
            Kind::Car {
                nth: nth(&self.cars),
            }
        } else if is_of_sub_ticks(variable) {
            Kind::SubTick {
                nth: nth(&self.sub_ticks),
            }
        } else {
            Kind::Tick
        }
    }

    /// The arrays whose entries are rows of a table.
    fn axes(&self, kind: Kind) -> Vec<RowAxis> {
        let axis = |name: &str, index: &str, length: Option<&usize>| RowAxis {
            name: name.into(),
            // A recording without such arrays gives no rows.
            length: length.copied().unwrap_or(0),
            count: None,
            player: None,
            index: index.into(),
        };
        match kind {
            Kind::Tick => Vec::new(),
            Kind::Car { nth } => vec![RowAxis {
                player: self.player(),
                ..axis("cars", CARS, self.cars.get(nth))
            }],
            Kind::SubTick { nth } => vec![axis("subticks", SUB_TICK, self.sub_ticks.get(nth))],
        }
    }

    fn player(&self) -> Option<Place> {
        place(self.list, "PlayerCarIdx")
    }

    /// A car takes part once it has been in the world.
    fn active_rule(&self) -> Option<ActiveRule> {
        let variable = self.by_name.get("CarIdxTrackSurface")?;
        (variable.kind == VariableType::Int).then(|| ActiveRule {
            axis: "cars".into(),
            packet: TICK,
            field: Strided {
                offset: variable.offset,
                strides: vec![variable.kind.size()],
                scalar: Scalar::I32,
            },
            length: variable.count,
            from: 0,
        })
    }
}

/// Where records have the variable of this name, if it has one value.
pub fn place(variables: &[Variable], name: &str) -> Option<Place> {
    let mut variables = variables.iter();
    let variable = variables.find(|variable| variable.name == name && variable.count == 1)?;
    Some(Place {
        offset: variable.offset,
        scalar: scalar(variable),
    })
}

fn is_array(variable: &Variable) -> bool {
    variable.count > 1 && variable.kind != VariableType::Char
}

fn is_of_cars(variable: &Variable) -> bool {
    is_array(variable) && !variable.counts_as_time && variable.name.starts_with(CARS)
}

fn is_of_sub_ticks(variable: &Variable) -> bool {
    is_array(variable) && variable.counts_as_time
}

fn scalar(variable: &Variable) -> Scalar {
    match variable.kind {
        VariableType::Char => Scalar::Latin(variable.count),
        VariableType::Bool => Scalar::Bool,
        VariableType::Int => Scalar::I32,
        VariableType::BitField => Scalar::U32,
        VariableType::Float => Scalar::F32,
        VariableType::Double => Scalar::F64,
    }
}

/// A type that holds the values of both exactly.
fn widest(one: Scalar, other: Scalar) -> Scalar {
    let is_float = |scalar| matches!(scalar, Scalar::F32 | Scalar::F64);
    let is_text = |scalar| matches!(scalar, Scalar::Latin(_) | Scalar::Text);
    match (one, other) {
        _ if one == other => one,
        _ if is_text(one) || is_text(other) => Scalar::Text,
        _ if is_float(one) || is_float(other) => Scalar::F64,
        (Scalar::Bool, number) | (number, Scalar::Bool) => number,
        _ => Scalar::I64,
    }
}

/// A column: a variable, or a value of one.
struct Wanted {
    name: String,
    variable: String,
    /// The number of the value in an array that is spread over columns.
    value: Option<usize>,
    scalar: Scalar,
    /// Of all recordings: units have changed over the seasons.
    units: Vec<String>,
    description: String,
    /// How many recordings have it.
    recordings: usize,
}

impl Wanted {
    /// The columns of a variable: one, or one a value if it is an array that
    /// gives no rows.
    fn columns(kind: Kind, variable: &Variable) -> Vec<Wanted> {
        let wanted = |name: String, value| Wanted {
            name,
            variable: variable.name.clone(),
            value,
            scalar: scalar(variable),
            units: vec![variable.unit.clone()],
            description: variable.description.clone(),
            recordings: 1,
        };
        match kind {
            Kind::Tick if is_array(variable) => (0..variable.count)
                .map(|value| wanted(format!("{}_{value}", variable.name), Some(value)))
                .collect(),
            _ => vec![wanted(variable.name.clone(), None)],
        }
    }

    /// Whether both are the same value of the same variable.
    fn is_of(&self, other: &Wanted) -> bool {
        self.variable == other.variable && self.value == other.value
    }

    /// Makes room for what another recording says of the same column.
    fn agree(&mut self, other: &Wanted) {
        self.recordings += 1;
        self.scalar = widest(self.scalar, other.scalar);
        for unit in &other.units {
            if !self.units.contains(unit) {
                self.units.push(unit.clone());
            }
        }
    }

    /// The column as one recording fills it.
    fn column(&self, kind: Kind, variables: &Variables<'_>, axes: usize) -> Column {
        let found = variables.by_name.get(self.variable.as_str());
        let found = found.filter(|variable| {
            variables.kind(variable) == kind
                && self.value.is_none_or(|value| value < variable.count)
                && self.value.is_some() == (kind == Kind::Tick && is_array(variable))
        });
        let (wire, source) = match found {
            None => (self.scalar, Source::Missing),
            Some(variable) => {
                let size = variable.kind.size();
                let stride = if kind == Kind::Tick { 0 } else { size };
                let field = Strided {
                    offset: variable.offset + self.value.unwrap_or(0) * size,
                    strides: vec![stride; axes],
                    scalar: scalar(variable),
                };
                (field.scalar, Source::Field(field))
            }
        };
        Column {
            official: self.variable.clone(),
            unit: self.units.join(" | "),
            note: self.description.clone(),
            enumeration: self.enumeration(),
            widened: (wire != self.scalar).then_some(self.scalar),
            ..Column::new(&self.name, wire, source)
        }
    }

    /// Position in [`ENUMS`] of the names of its values, by what its unit says,
    /// or by its own name.
    fn enumeration(&self) -> Option<usize> {
        let position = |name: &str| ENUMS.iter().position(|known| known.name == name);
        let by_unit = self.units.iter().find_map(|unit| position(unit));
        by_unit.or_else(|| position(&self.variable))
    }
}

//! What a record looks like: named, typed, unit-bearing fields at fixed
//! offsets, and the flat tables that they become. A [`Layout`] knows no file
//! and no game; it is read from a layout file ([`Layout::parse`]), or built
//! from what a recording says of itself. Reading values out of bytes is the
//! business of `decode`.

mod compile;
mod enums;
mod flatten;
mod games;
mod naming;
mod parse;
mod sessions;
mod tables;
mod words;

pub use games::{Evidence, EvidenceRule, Game, Games};
pub use naming::snake_case;
pub use sessions::{
    About, CarField, DriverFact, Fact, LapFields, LapHistory, Seconds, Sessions, Told,
};
pub use words::LayoutError;

/// The type of one value on the wire. All numbers are little-endian and may
/// lie at any offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
    /// A byte that is 0 or not.
    Bool,
    /// A word that is a flag in some games and a float in others: a whole
    /// number 1 is 1.0, all else is a float.
    FlagOrF32,
    /// Text of a fixed number of bytes, cut at the first NUL.
    Char(usize),
    /// Likewise, in Windows-1252 where it is not UTF-8.
    Latin(usize),
    /// Text of any length, which lies outside of the record.
    Text,
    /// Bytes without a known meaning, shown as hexadecimal digits.
    Hex(usize),
}

impl Scalar {
    /// Length on the wire in bytes.
    pub fn size(self) -> usize {
        match self {
            Scalar::U8 | Scalar::I8 | Scalar::Bool => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::U32 | Scalar::I32 | Scalar::F32 | Scalar::FlagOrF32 => 4,
            Scalar::U64 | Scalar::I64 | Scalar::F64 => 8,
            Scalar::Char(length) | Scalar::Latin(length) | Scalar::Hex(length) => length,
            Scalar::Text => 0,
        }
    }

    /// Whether the value is a whole number, and so can count, select or name.
    pub fn is_integer(self) -> bool {
        !matches!(
            self,
            Scalar::F32
                | Scalar::F64
                | Scalar::FlagOrF32
                | Scalar::Bool
                | Scalar::Char(_)
                | Scalar::Latin(_)
                | Scalar::Text
                | Scalar::Hex(_)
        )
    }

    /// Whether it is any number that has one meaning in all games.
    pub fn is_number(self) -> bool {
        self.is_integer() || matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// Whether it is text within the record.
    pub fn is_text(self) -> bool {
        matches!(self, Scalar::Char(_) | Scalar::Latin(_))
    }

    /// Reads a whole number at the start of `bytes`. `None` if the bytes are
    /// too few, the number does not fit, or the type is not an integer.
    pub fn read_integer(self, bytes: &[u8]) -> Option<i64> {
        Some(match self {
            Scalar::U8 => i64::from(*bytes.first()?),
            Scalar::I8 => i64::from(i8::from_le_bytes(*bytes.first_chunk()?)),
            Scalar::U16 => i64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
            Scalar::I16 => i64::from(i16::from_le_bytes(*bytes.first_chunk()?)),
            Scalar::U32 => i64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
            Scalar::I32 => i64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
            Scalar::U64 => i64::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?,
            Scalar::I64 => i64::from_le_bytes(*bytes.first_chunk()?),
            Scalar::Bool => i64::from(*bytes.first()? != 0),
            _ => return None,
        })
    }
}

/// A value at a fixed offset of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub offset: usize,
    pub scalar: Scalar,
}

impl Place {
    /// The whole number at this place of `record`, if there is one.
    pub fn read(self, record: &[u8]) -> Option<i64> {
        self.scalar.read_integer(record.get(self.offset..)?)
    }

    /// The bytes of a value of 1, 2, 4 or 8 bytes at this place as they stand,
    /// widened with zeros; 0 if they are not there.
    pub fn read_bits(self, record: &[u8]) -> u64 {
        let bits = || {
            let bytes = record.get(self.offset..)?;
            // A copy of any length would be a call, for each datagram.
            Some(match self.scalar.size() {
                1 => u64::from(*bytes.first()?),
                2 => u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
                4 => u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
                _ => u64::from_le_bytes(*bytes.first_chunk()?),
            })
        };
        bits().unwrap_or(0)
    }

    /// The number at this place of `record`, if there is one.
    pub fn read_number(self, record: &[u8]) -> Option<f64> {
        let bytes = record.get(self.offset..)?;
        Some(match self.scalar {
            Scalar::F32 => f64::from(f32::from_le_bytes(*bytes.first_chunk()?)),
            Scalar::F64 => f64::from_le_bytes(*bytes.first_chunk()?),
            scalar => scalar.read_integer(bytes)? as f64,
        })
    }
}

/// A format: its packets, the tables they become, and the names of its values.
#[derive(Debug, Default)]
pub struct Layout {
    /// Short name, also that of the output folder, such as `f1_2025`.
    pub name: String,
    /// Name for people, such as `F1 25`.
    pub title: String,
    /// The games that send it, if there are several or they matter.
    pub games: Vec<Game>,
    /// What tells these games apart.
    pub evidence: Option<Evidence>,
    /// Records come to one of these ports; to any if there are none.
    pub ports: Vec<u16>,
    /// A record belongs to this format if all of these hold.
    pub matches: Vec<Match>,
    /// Where a record says which packet it is; without it the length says so.
    pub select: Option<Place>,
    /// Where a record says which session it belongs to.
    pub session: Option<Place>,
    /// Where a record says whether the car is being driven.
    pub driving: Option<Place>,
    /// Where a record says which frame of the game it shows; several packets show
    /// the same one.
    pub frame: Option<Place>,
    /// What says in a few words what is going on.
    pub status: Vec<Fact>,
    /// What records tell of the session that they belong to.
    pub sessions: Sessions,
    /// What holds in every record if the layout is right.
    pub checks: Vec<Check>,
    pub packets: Vec<Packet>,
    pub tables: Vec<Table>,
    pub enums: Vec<Enum>,
    /// How to tell which cars take part.
    pub active: Option<ActiveRule>,
    /// What each of its tables says of itself beyond its columns.
    pub metadata: Vec<(String, String)>,
}

impl Layout {
    /// Reads a layout file. `include` is asked for the text of a file that the
    /// layout includes by name.
    ///
    /// # Errors
    /// A [`LayoutError`] names the file, the line, and what to mend.
    pub fn parse(
        file: &str,
        text: &str,
        include: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Layout, LayoutError> {
        compile::compile(parse::parse(file, text, include)?)
    }

    /// A format of this name that has nothing yet.
    pub fn named(name: &str) -> Layout {
        Layout {
            name: name.into(),
            ..Layout::default()
        }
    }

    /// Reads a layout file that has nothing but names of values.
    ///
    /// # Errors
    /// A [`LayoutError`] names the file, the line, and what to mend.
    pub fn parse_enums(file: &str, text: &str) -> Result<Vec<Enum>, LayoutError> {
        parse::parse_enums(file, text)
    }

    /// Whether more than the length tells its records from others.
    pub fn is_marked(&self) -> bool {
        !self.matches.is_empty() || !self.ports.is_empty()
    }

    /// Whether a record that came to `port` bears the marks of this format.
    pub fn could_be(&self, record: &[u8], port: u16) -> bool {
        (self.ports.is_empty() || self.ports.contains(&port))
            && self.matches.iter().all(|mark| mark.holds(record))
    }

    /// The name of a value in one of the enums, if it has one and it is the same
    /// in all of these games.
    pub fn name_of(&self, enumeration: usize, value: i64, games: Games) -> Option<&str> {
        fn named(names: &[(i64, String)], value: i64) -> Option<&str> {
            let (_, name) = names.iter().find(|(known, _)| *known == value)?;
            Some(name)
        }
        match &self.enums.get(enumeration)?.kind {
            EnumKind::Values(names) => named(names, value),
            EnumKind::ByGame(variants) => {
                let variants = variants.iter();
                let possible = variants.filter(|(of, _)| !of.and(games).is_empty());
                let mut names = possible.map(|(_, names)| named(names, value));
                let first = names.next()?;
                names.all(|name| name == first).then_some(first)?
            }
            EnumKind::Flags(_) | EnumKind::Codes(_) => None,
        }
    }

    /// The packet of this name as the game spells it.
    pub fn packet(&self, name: &str) -> Option<&Packet> {
        self.packets.iter().find(|packet| packet.name == name)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// Bytes that mark the records of a format: one of these values at a place.
#[derive(Debug)]
pub struct Match {
    pub offset: usize,
    /// As they stand on the wire, all of one length.
    pub values: Vec<Vec<u8>>,
}

impl Match {
    /// Whether `record` bears the mark.
    pub fn holds(&self, record: &[u8]) -> bool {
        let at = record.get(self.offset..).unwrap_or_default();
        // Nearly all differ in the first byte: comparing slices would be a call.
        let is_there = |value: &Vec<u8>| {
            at.len() >= value.len() && at.iter().zip(value).all(|(one, other)| one == other)
        };
        self.values.iter().any(is_there)
    }
}

/// A number that must be the length of a vector.
#[derive(Debug)]
pub struct Check {
    /// The official name of the number.
    pub field: String,
    pub number: Place,
    /// The components of the vector.
    pub vector: Vec<Place>,
}

impl Check {
    /// Whether `record` agrees; `None` if all is zero, or not there, and proves
    /// nothing.
    pub fn holds(&self, record: &[u8]) -> Option<bool> {
        let number = self.number.read_number(record)?;
        let components = self.vector.iter().map(|place| place.read_number(record));
        let squares = components.map(|component| Some(component?.powi(2)));
        let length = squares.sum::<Option<f64>>()?.sqrt();
        // Games differ by rounding alone, by up to some 0.00002.
        let tolerance = 0.02 + 0.01 * length;
        (number != 0.0 || length != 0.0).then(|| (number - length).abs() <= tolerance)
    }
}

/// One kind of record of a format.
#[derive(Debug)]
pub struct Packet {
    /// The game's own name.
    pub name: String,
    pub id: Option<i64>,
    /// Length in bytes, header included.
    pub size: usize,
    /// Official lengths of records that lack the last fields.
    pub shorter: Vec<usize>,
    /// Every field, header included, in wire order.
    pub leaves: Vec<Leaf>,
    /// Positions in [`Layout::tables`] of the tables that this packet fills.
    pub tables: Vec<usize>,
}

impl Packet {
    /// Whether a record of this length is sound.
    pub fn has_length(&self, length: usize) -> bool {
        length == self.size || self.shorter.contains(&length)
    }

    /// Where a field lies, by its official path with an index for each array,
    /// such as `carTelemetryData[3].tyresPressure[0]`. The cases of a union
    /// lie below their code: `eventDetails.FTLP.lapTime`.
    pub fn locate(&self, path: &str) -> Option<Place> {
        let mut plain = String::with_capacity(path.len());
        let mut indices = Vec::new();
        for (position, piece) in path.split(['[', ']']).enumerate() {
            match position % 2 {
                0 => plain.push_str(piece),
                _ => indices.push(piece.parse::<usize>().ok()?),
            }
        }
        let leaf = self
            .leaves
            .iter()
            .find(|leaf| leaf.path == plain && leaf.dimensions.len() == indices.len())?;
        let mut offset = leaf.offset;
        for (dimension, index) in leaf.dimensions.iter().zip(indices) {
            if index >= dimension.length {
                return None;
            }
            offset += index * dimension.stride;
        }
        Some(Place {
            offset,
            scalar: leaf.scalar,
        })
    }
}

/// One field of a packet, with the arrays that it lies in.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Official names from the packet down, joined by dots, without indices.
    pub path: String,
    pub scalar: Scalar,
    pub offset: usize,
    /// Outermost array first.
    pub dimensions: Vec<Dimension>,
}

/// One array that a field lies in.
#[derive(Debug, Clone)]
pub struct Dimension {
    pub length: usize,
    pub stride: usize,
}

/// A flat table: one row a record, or one for each entry of the record's
/// arrays.
#[derive(Debug)]
pub struct Table {
    pub name: String,
    /// Position in [`Layout::packets`].
    pub packet: usize,
    /// The arrays whose entries become rows, outermost first.
    pub axes: Vec<RowAxis>,
    pub columns: Vec<Column>,
    /// For a packet with a union: how a record tells which case it holds.
    pub tag: Option<Tag>,
}

impl Table {
    /// The most rows that one record can give.
    pub fn rows_per_record(&self) -> usize {
        let lengths = self.axes.iter().map(|axis| axis.length);
        lengths.fold(1, usize::saturating_mul)
    }

    /// About what they take in memory, decoded.
    pub fn bytes_per_record(&self) -> usize {
        let widths = self
            .columns
            .iter()
            .map(|column| column.scalar.size().max(8));
        self.rows_per_record().saturating_mul(widths.sum())
    }
}

/// An array whose entries become rows.
#[derive(Debug, Clone)]
pub struct RowAxis {
    pub name: String,
    pub length: usize,
    /// How many entries are valid; all if absent.
    pub count: Option<Strided>,
    /// Where the header says which entry is the player's.
    pub player: Option<Place>,
    /// The column that numbers the entries.
    pub index: String,
}

/// A value that repeats along the axes of a table: it lies at `offset` plus,
/// for each axis, the entry's number times the stride.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strided {
    pub offset: usize,
    /// A stride in bytes for each axis of the table; 0 where the value is the
    /// same for all entries.
    pub strides: Vec<usize>,
    pub scalar: Scalar,
}

impl Strided {
    /// Where the value lies for the entries with these numbers, one an axis.
    pub fn place(&self, entries: &[usize]) -> Place {
        let steps = entries.iter().zip(&self.strides);
        Place {
            offset: self.offset + steps.map(|(entry, stride)| entry * stride).sum::<usize>(),
            scalar: self.scalar,
        }
    }

    /// Its place if that is the same for all entries.
    pub fn only_place(&self) -> Option<Place> {
        let constant = self.strides.iter().all(|stride| *stride == 0);
        constant.then(|| self.place(&[]))
    }
}

/// One column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    /// The game's own name for it, if it has one.
    pub official: String,
    pub scalar: Scalar,
    pub unit: String,
    pub note: String,
    /// Position in [`Layout::enums`].
    pub enumeration: Option<usize>,
    pub role: Role,
    pub source: Source,
    /// Whether some records of the packet end before it.
    pub is_partial: bool,
    /// The type of the column, where that of the wire is too narrow for what
    /// other inputs have in it.
    pub widened: Option<Scalar>,
    /// Whether some inputs lack it.
    pub optional: bool,
}

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Says whose row it is; stands in every table of the packet.
    Key,
    Value,
    /// Left out unless asked for by name.
    Hidden,
}

/// Where the values of a column come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The record's time stamp in the capture.
    CaptureTime,
    Field(Strided),
    /// The number of the entry along an axis, counted from `start`.
    Index {
        axis: usize,
        start: Option<Strided>,
    },
    /// The offset in each case of the union; null in a case without one.
    Variant {
        offsets: Vec<Option<usize>>,
    },
    /// The entry of this name in a list of the session string.
    Session(String),
    /// This input does not have it.
    Missing,
}

impl Column {
    /// A column without unit, note or names, of a value like any other.
    pub fn new(name: impl Into<String>, scalar: Scalar, source: Source) -> Column {
        Column {
            name: name.into(),
            official: String::new(),
            scalar,
            unit: String::new(),
            note: String::new(),
            enumeration: None,
            role: Role::Value,
            source,
            is_partial: false,
            widened: None,
            optional: false,
        }
    }

    /// The type of the column.
    pub fn output(&self) -> Scalar {
        self.widened.unwrap_or(self.scalar)
    }

    /// Whether rows without a value are possible.
    pub fn nullable(&self) -> bool {
        matches!(self.source, Source::Variant { .. }) || self.is_partial || self.optional
    }

    /// The game's own name without those of the structs around it.
    pub fn official_name(&self) -> &str {
        self.official.rsplit('.').next().unwrap_or_default()
    }
}

/// How a record with a union tells its case.
#[derive(Debug)]
pub struct Tag {
    pub place: Place,
    /// The value of the tag and the number of its case.
    pub cases: Vec<(Vec<u8>, usize)>,
}

impl Tag {
    /// The case that `record` holds; `None` for a tag that the layout lacks.
    pub fn case(&self, record: &[u8]) -> Option<usize> {
        let tag = record.get(self.place.offset..self.place.offset + self.place.scalar.size())?;
        let (_, case) = self.cases.iter().find(|(value, _)| value == tag)?;
        Some(*case)
    }
}

/// Names for the values of a field.
#[derive(Debug, Clone)]
pub struct Enum {
    pub name: String,
    pub kind: EnumKind,
}

#[derive(Debug, Clone)]
pub enum EnumKind {
    /// One name a value.
    Values(Vec<(i64, String)>),
    /// One name a bit; a value is any set of them.
    Flags(Vec<(u64, String)>),
    /// One name for each text value.
    Codes(Vec<(String, String)>),
    /// One name a value, for each set of games anew.
    ByGame(Vec<(Games, Vec<(i64, String)>)>),
}

/// A car takes part from the moment that a field of it reaches a value.
#[derive(Debug)]
pub struct ActiveRule {
    /// The axis that numbers the cars.
    pub axis: String,
    /// Position in [`Layout::packets`] of the packet that tells.
    pub packet: usize,
    /// The field, along the axis.
    pub field: Strided,
    pub length: usize,
    /// The least value of a car that takes part.
    pub from: i64,
}

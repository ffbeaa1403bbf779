//! The text of a layout file, line by line, into definitions. What the names
//! in it refer to is settled in `compile`.

use std::rc::Rc;

use super::{Enum, EnumKind, Role, Scalar};

/// Why a layout file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct LayoutError {
    pub file: String,
    pub line: usize,
    pub message: String,
}

/// A line of a layout file or of one that it includes.
#[derive(Debug, Clone)]
pub(super) struct Location {
    file: Rc<str>,
    line: usize,
}

impl Location {
    pub(super) fn error(&self, message: impl Into<String>) -> LayoutError {
        LayoutError {
            file: self.file.to_string(),
            line: self.line,
            message: message.into(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Definitions {
    pub start: Location,
    pub name: String,
    pub title: String,
    pub matches: Vec<(Location, String, i64)>,
    pub select: Option<(Location, String)>,
    pub session: Option<(Location, String)>,
    pub axes: Vec<AxisDefinition>,
    pub header: Vec<Member>,
    pub structs: Vec<StructDefinition>,
    pub packets: Vec<PacketDefinition>,
    pub enums: Vec<(Location, Enum)>,
}

#[derive(Debug)]
pub(super) struct AxisDefinition {
    pub at: Location,
    pub name: String,
    pub kind: AxisKind,
}

#[derive(Debug)]
pub(super) enum AxisKind {
    /// Entries become columns with these suffixes.
    Columns(Vec<String>),
    /// Entries become rows.
    Rows {
        length: usize,
        index: String,
        count: Option<String>,
        start: Option<String>,
        table: Option<String>,
        player: Option<String>,
        active: Option<ActiveDefinition>,
    },
}

#[derive(Debug)]
pub(super) struct ActiveDefinition {
    pub packet: String,
    pub field: String,
    pub from: i64,
}

#[derive(Debug)]
pub(super) struct StructDefinition {
    pub at: Location,
    pub name: String,
    pub members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct PacketDefinition {
    pub at: Location,
    pub name: String,
    pub id: Option<i64>,
    pub size: usize,
    pub rows: Vec<String>,
    pub table: Option<String>,
    pub members: Vec<Member>,
}

#[derive(Debug)]
pub(super) struct Member {
    pub at: Location,
    pub name: String,
    pub kind: MemberKind,
    pub axes: Vec<String>,
    pub unit: String,
    pub rename: Option<String>,
    pub enumeration: Option<String>,
    pub role: Role,
    pub note: String,
    /// The table of its own that it belongs to, with those around it.
    pub table: Option<String>,
}

impl Member {
    fn new(at: &Location, name: &str, kind: MemberKind, note: &str) -> Member {
        Member {
            at: at.clone(),
            name: name.into(),
            kind,
            axes: Vec::new(),
            unit: String::new(),
            rename: None,
            enumeration: None,
            role: Role::Value,
            note: note.into(),
            table: None,
        }
    }
}

#[derive(Debug)]
pub(super) enum MemberKind {
    Scalar(Scalar),
    Struct(String),
    Union {
        size: usize,
        by: String,
        cases: Vec<Case>,
    },
    /// Bytes that carry nothing.
    Padding(usize),
}

#[derive(Debug)]
pub(super) struct Case {
    pub codes: Vec<String>,
    pub members: Vec<Member>,
}

const LARGEST_PACKET: usize = 65_535;
const LARGEST_AXIS: usize = 4_096;
const DEEPEST_INCLUDE: usize = 32;

pub(super) fn parse(
    file: &str,
    text: &str,
    include: &dyn Fn(&str) -> Option<String>,
) -> Result<Definitions, LayoutError> {
    let mut parser = Parser {
        definitions: Definitions {
            start: Location {
                file: file.into(),
                line: 1,
            },
            name: String::new(),
            title: String::new(),
            matches: Vec::new(),
            select: None,
            session: None,
            axes: Vec::new(),
            header: Vec::new(),
            structs: Vec::new(),
            packets: Vec::new(),
            enums: Vec::new(),
        },
        open: Open::Nothing,
        table: None,
        include,
    };
    parser.file(file, text, 0)?;
    parser.close_union()?;
    let definitions = parser.definitions;
    if definitions.name.is_empty() {
        return Err(definitions
            .start
            .error("there is no `format NAME TITLE` line: begin the file with one"));
    }
    Ok(definitions)
}

/// What the next lines belong to.
enum Open {
    Nothing,
    Header,
    Struct,
    Packet,
    Union,
    Enum,
}

struct Parser<'a> {
    definitions: Definitions,
    open: Open,
    /// The table that the next fields of the packet go to, if not its own.
    table: Option<String>,
    include: &'a dyn Fn(&str) -> Option<String>,
}

impl Parser<'_> {
    fn file(&mut self, file: &str, text: &str, depth: usize) -> Result<(), LayoutError> {
        let file: Rc<str> = file.into();
        for (number, line) in text.lines().enumerate() {
            let at = Location {
                file: file.clone(),
                line: number + 1,
            };
            let indented = line.starts_with(char::is_whitespace);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix("include ") {
                let name = name.split(" # ").next().unwrap_or(name);
                if depth == DEEPEST_INCLUDE {
                    return Err(at.error("files include each other in a circle"));
                }
                let name = name.trim();
                let text = (self.include)(name)
                    .ok_or_else(|| at.error(format!("cannot read the included file {name}")))?;
                self.file(name, &text, depth + 1)?;
                self.open = Open::Nothing;
                continue;
            }
            if indented {
                self.inner_line(&at, line)?;
            } else {
                self.statement(&at, line)?;
            }
        }
        Ok(())
    }

    /// A line at the margin begins something.
    fn statement(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        self.close_union()?;
        self.open = Open::Nothing;
        self.table = None;
        let line = line.split(" # ").next().unwrap_or(line).trim_end();
        let words: Vec<&str> = line.split_whitespace().collect();
        let definitions = &mut self.definitions;
        match words[..] {
            ["format", name, ..] => {
                definitions.start = at.clone();
                definitions.name = name.into();
                definitions.title = rest_of(line, 2).into();
            }
            ["match", field, "=", value] => {
                let value = integer(at, value)?;
                definitions.matches.push((at.clone(), field.into(), value));
            }
            ["select", field] => definitions.select = Some((at.clone(), field.into())),
            ["session", field] => definitions.session = Some((at.clone(), field.into())),
            ["axis", name, ref rest @ ..] => definitions.axes.push(AxisDefinition {
                at: at.clone(),
                name: name.into(),
                kind: axis(at, rest)?,
            }),
            ["header", _] => self.open = Open::Header,
            ["struct", name] => {
                definitions.structs.push(StructDefinition {
                    at: at.clone(),
                    name: name.into(),
                    members: Vec::new(),
                });
                self.open = Open::Struct;
            }
            ["packet", name, ref rest @ ..] => {
                definitions.packets.push(packet(at, name, rest)?);
                self.open = Open::Packet;
            }
            [kind @ ("enum" | "flags"), name] => {
                // What an included file says may be said anew.
                definitions
                    .enums
                    .retain(|(known, e)| e.name != name || known.file == at.file);
                definitions.enums.push((
                    at.clone(),
                    Enum {
                        name: name.into(),
                        kind: match kind {
                            "flags" => EnumKind::Flags(Vec::new()),
                            _ => EnumKind::Values(Vec::new()),
                        },
                    },
                ));
                self.open = Open::Enum;
            }
            _ => {
                return Err(at.error(format!(
                    "cannot read `{line}`: at the margin stand format, match, select, session, \
                     include, axis, header, struct, packet, enum and flags; fields and values are \
                     indented below them"
                )));
            }
        }
        Ok(())
    }

    /// An indented line belongs to the statement above it.
    fn inner_line(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        if matches!(self.open, Open::Enum) {
            return self.enum_value(at, line);
        }
        let (line, note) = match line.split_once(" -- ") {
            Some((line, note)) => (line.trim_end(), note.trim()),
            None => (line, ""),
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match (words.as_slice(), &self.open) {
            (["union", name, size, "by", tag], Open::Packet) => {
                let size = count(at, size, LARGEST_PACKET)?;
                let kind = MemberKind::Union {
                    size,
                    by: (*tag).into(),
                    cases: Vec::new(),
                };
                self.members(at)?.push(Member::new(at, name, kind, note));
                self.open = Open::Union;
            }
            (["case", codes @ ..], Open::Union) => {
                let case = Case {
                    codes: codes.iter().map(|code| (*code).into()).collect(),
                    members: Vec::new(),
                };
                open_cases(&mut self.definitions.packets).push(case);
            }
            (["end"], Open::Union) => self.open = Open::Packet,
            (["table", name], Open::Packet) => self.table = Some((*name).into()),
            ([name, kind, rest @ ..], _) => {
                let mut member = member(at, name, kind, rest, note)?;
                member.table = self.table.clone();
                self.members(at)?.push(member);
            }
            _ => {
                return Err(at.error(format!(
                    "cannot read `{line}`: a field is written as `NAME TYPE [UNIT]`"
                )));
            }
        }
        Ok(())
    }

    fn close_union(&self) -> Result<(), LayoutError> {
        match (&self.open, self.definitions.packets.last()) {
            (Open::Union, Some(packet)) => Err(packet
                .at
                .error("the union in this packet is not closed: write `end` after its cases")),
            _ => Ok(()),
        }
    }

    fn members(&mut self, at: &Location) -> Result<&mut Vec<Member>, LayoutError> {
        let definitions = &mut self.definitions;
        let members = match self.open {
            Open::Header => Some(&mut definitions.header),
            Open::Struct => definitions
                .structs
                .last_mut()
                .map(|definition| &mut definition.members),
            Open::Packet => definitions
                .packets
                .last_mut()
                .map(|definition| &mut definition.members),
            Open::Union => open_cases(&mut definitions.packets)
                .last_mut()
                .map(|case| &mut case.members),
            Open::Nothing | Open::Enum => None,
        };
        members.ok_or_else(|| {
            at.error("a field must stand below a `header`, `struct`, `packet` or `case` line")
        })
    }

    fn enum_value(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        let (value, name) = line
            .split_once(char::is_whitespace)
            .map(|(value, name)| (value, name.trim().to_string()))
            .ok_or_else(|| at.error("a value of an enum is written as `VALUE NAME`"))?;
        let Some((_, definition)) = self.definitions.enums.last_mut() else {
            unreachable!("an enum is open");
        };
        match &mut definition.kind {
            EnumKind::Flags(bits) => {
                let bit = u64::try_from(integer(at, value)?)
                    .map_err(|_| at.error("a flag is a positive number"))?;
                bits.push((bit, name));
            }
            EnumKind::Values(values) => match integer(at, value) {
                Ok(value) => values.push((value, name)),
                Err(_) if values.is_empty() => {
                    definition.kind = EnumKind::Codes(vec![(value.into(), name)]);
                }
                Err(error) => return Err(error),
            },
            EnumKind::Codes(codes) => codes.push((value.into(), name)),
        }
        Ok(())
    }
}

/// The cases of the union that is open: the last member of the last packet.
fn open_cases(packets: &mut [PacketDefinition]) -> &mut Vec<Case> {
    let union = packets
        .last_mut()
        .and_then(|packet| packet.members.last_mut());
    match union.map(|member| &mut member.kind) {
        Some(MemberKind::Union { cases, .. }) => cases,
        _ => unreachable!("a union is opened as the last member of a packet"),
    }
}

fn axis(at: &Location, words: &[&str]) -> Result<AxisKind, LayoutError> {
    match words {
        ["columns", suffixes @ ..] if !suffixes.is_empty() => Ok(AxisKind::Columns(
            suffixes.iter().map(|suffix| (*suffix).into()).collect(),
        )),
        ["rows", length, options @ ..] => {
            let length = count(at, length, LARGEST_AXIS)?;
            let mut index = None;
            let (mut count, mut start, mut table, mut player) = (None, None, None, None);
            let mut active = None;
            let mut options = options.iter();
            while let Some(option) = options.next() {
                let value = options
                    .next()
                    .ok_or_else(|| at.error(format!("`{option}` needs a name after it")))?
                    .to_string();
                match *option {
                    "index" => index = Some(value),
                    "count" => count = Some(value),
                    "start" => start = Some(value),
                    "table" => table = Some(value),
                    "player" => player = Some(value),
                    "active" => {
                        let (packet, field) = value.split_once('.').ok_or_else(|| {
                            at.error("`active` is written as `active PACKET.FIELD from VALUE`")
                        })?;
                        let from = match (options.next(), options.next()) {
                            (Some(&"from"), Some(from)) => integer(at, from)?,
                            _ => {
                                return Err(at.error(
                                    "`active` is written as `active PACKET.FIELD from VALUE`",
                                ));
                            }
                        };
                        active = Some(ActiveDefinition {
                            packet: packet.into(),
                            field: field.into(),
                            from,
                        });
                    }
                    _ => {
                        return Err(at.error(format!(
                            "unknown option `{option}` of an axis: known are index, count, start, table, player, active"
                        )));
                    }
                }
            }
            Ok(AxisKind::Rows {
                length,
                index: index.ok_or_else(|| {
                    at.error("an axis of rows needs `index COLUMN`, the column that numbers them")
                })?,
                count,
                start,
                table,
                player,
                active,
            })
        }
        _ => Err(at.error(
            "an axis is written as `axis NAME columns SUFFIX…` or `axis NAME rows N index COLUMN`",
        )),
    }
}

fn packet(at: &Location, name: &str, words: &[&str]) -> Result<PacketDefinition, LayoutError> {
    let mut packet = PacketDefinition {
        at: at.clone(),
        name: name.into(),
        id: None,
        size: 0,
        rows: Vec::new(),
        table: None,
        members: Vec::new(),
    };
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        match (*word, words.peek()) {
            ("id", Some(value)) => packet.id = Some(integer(at, value)?),
            ("size", Some(value)) => packet.size = count(at, value, LARGEST_PACKET)?,
            ("table", Some(value)) => packet.table = Some(value.to_string()),
            ("rows", Some(_)) => {
                while let Some(axis) = words.next_if(|word| **word != "table") {
                    packet.rows.push(axis.to_string());
                }
                continue;
            }
            _ => {
                return Err(at.error(format!(
                    "unexpected `{word}`: a packet is written as `packet NAME [id N] size N [table NAME] [rows AXIS…]`"
                )));
            }
        }
        words.next();
    }
    if packet.size == 0 {
        return Err(at.error(format!(
            "packet {name} does not state its length: add `size N`, the official number of bytes"
        )));
    }
    Ok(packet)
}

fn member(
    at: &Location,
    name: &str,
    kind: &str,
    words: &[&str],
    note: &str,
) -> Result<Member, LayoutError> {
    let (base, brackets) = match kind.find('[') {
        Some(position) => kind.split_at(position),
        None => (kind, ""),
    };
    let mut axes = Vec::new();
    let mut rest = brackets;
    while !rest.is_empty() {
        let (axis, after) = rest
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
            .ok_or_else(|| at.error(format!("cannot read the type `{kind}`")))?;
        axes.push(axis.to_string());
        rest = after;
    }
    let kind = match base {
        "u8" => MemberKind::Scalar(Scalar::U8),
        "i8" => MemberKind::Scalar(Scalar::I8),
        "u16" => MemberKind::Scalar(Scalar::U16),
        "i16" => MemberKind::Scalar(Scalar::I16),
        "u32" => MemberKind::Scalar(Scalar::U32),
        "i32" => MemberKind::Scalar(Scalar::I32),
        "u64" => MemberKind::Scalar(Scalar::U64),
        "i64" => MemberKind::Scalar(Scalar::I64),
        "f32" => MemberKind::Scalar(Scalar::F32),
        "f64" => MemberKind::Scalar(Scalar::F64),
        "char" | "hex" | "padding" => {
            if axes.is_empty() {
                return Err(at.error(format!("`{base}` needs a length: write `{base}[N]`")));
            }
            let length = count(at, &axes.remove(0), LARGEST_PACKET)?;
            match base {
                "char" => MemberKind::Scalar(Scalar::Char(length)),
                "hex" => MemberKind::Scalar(Scalar::Hex(length)),
                _ => MemberKind::Padding(length),
            }
        }
        _ => MemberKind::Struct(base.into()),
    };
    let mut member = Member::new(at, name, kind, note);
    member.axes = axes;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "as" | "enum" => {
                let value = words
                    .next()
                    .ok_or_else(|| at.error(format!("`{word}` needs a name after it")))?
                    .to_string();
                match *word {
                    "as" => member.rename = Some(value),
                    _ => member.enumeration = Some(value),
                }
            }
            "key" => member.role = Role::Key,
            "hidden" => member.role = Role::Hidden,
            unit if member.unit.is_empty() => member.unit = unit.into(),
            other => {
                return Err(at.error(format!(
                    "unexpected `{other}`: the unit is already `{}`; a note goes behind ` -- `",
                    member.unit
                )));
            }
        }
    }
    Ok(member)
}

fn integer(at: &Location, text: &str) -> Result<i64, LayoutError> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| at.error(format!("`{text}` is not a whole number")))
}

fn count(at: &Location, text: &str, largest: usize) -> Result<usize, LayoutError> {
    match text.parse() {
        Ok(number) if (1..=largest).contains(&number) => Ok(number),
        _ => Err(at.error(format!(
            "`{text}` is not a whole number from 1 to {largest}"
        ))),
    }
}

/// What follows the first `words` words of a line.
fn rest_of(line: &str, words: usize) -> &str {
    let mut rest = line;
    for _ in 0..words {
        rest = rest
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

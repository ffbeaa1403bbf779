//! The text of a layout file, line by line, into definitions. What the names
//! in it refer to is settled in `compile`.

use std::rc::Rc;

use super::{Enum, EnumKind, EvidenceRule, Game, Games, Role, Scalar};

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
    pub games: Vec<Game>,
    pub ports: Vec<u16>,
    pub matches: Vec<(Location, String, Vec<String>)>,
    pub select: Option<(Location, String)>,
    pub session: Option<(Location, String)>,
    pub driving: Option<(Location, String)>,
    pub checks: Vec<CheckDefinition>,
    pub evidence: Option<EvidenceDefinition>,
    /// Names for types, with what they stand for.
    pub types: Vec<(String, String)>,
    pub axes: Vec<AxisDefinition>,
    pub header: Vec<Member>,
    pub structs: Vec<StructDefinition>,
    pub packets: Vec<PacketDefinition>,
    pub enums: Vec<(Location, Enum)>,
}

/// A field that must be the length of a vector.
#[derive(Debug)]
pub(super) struct CheckDefinition {
    pub at: Location,
    pub field: String,
    pub vector: Vec<String>,
}

#[derive(Debug)]
pub(super) struct EvidenceDefinition {
    pub at: Location,
    pub value: String,
    pub by: String,
    pub rules: Vec<EvidenceRule>,
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
    Columns(Vec<Suffix>),
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

/// What tells a column of an array from its neighbours.
#[derive(Debug)]
pub(super) struct Suffix {
    pub name: String,
    /// What the game itself writes behind the name, if the entries of the
    /// array have names of their own there.
    pub official: String,
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
    /// Official lengths; more than one if the packet may end earlier.
    pub sizes: Vec<usize>,
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
    /// Where it lies, if the file says so.
    pub offset: Option<usize>,
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
            offset: None,
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
/// Far above any real format; files that include each other can grow fast.
const MOST_LINES: usize = 100_000;

pub(super) fn parse(
    file: &str,
    text: &str,
    include: &dyn Fn(&str) -> Option<String>,
) -> Result<Definitions, LayoutError> {
    let definitions = parse_lines(file, text, include)?;
    if definitions.name.is_empty() {
        return Err(definitions
            .start
            .error("there is no `format NAME TITLE` line: begin the file with one"));
    }
    Ok(definitions)
}

pub(super) fn parse_enums(file: &str, text: &str) -> Result<Vec<Enum>, LayoutError> {
    let definitions = parse_lines(file, text, &|_| None)?;
    Ok(definitions
        .enums
        .into_iter()
        .map(|(_, names)| names)
        .collect())
}

fn parse_lines(
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
            games: Vec::new(),
            ports: Vec::new(),
            matches: Vec::new(),
            select: None,
            session: None,
            driving: None,
            checks: Vec::new(),
            evidence: None,
            types: Vec::new(),
            axes: Vec::new(),
            header: Vec::new(),
            structs: Vec::new(),
            packets: Vec::new(),
            enums: Vec::new(),
        },
        open: Open::Nothing,
        table: None,
        lines: 0,
        include,
    };
    parser.file(file, text, 0)?;
    parser.close_union()?;
    Ok(parser.definitions)
}

/// What the next lines belong to.
enum Open {
    Nothing,
    Header,
    Struct,
    Packet,
    Union,
    Enum,
    Evidence,
}

struct Parser<'a> {
    definitions: Definitions,
    open: Open,
    /// The table that the next fields of the packet go to, if not its own.
    table: Option<String>,
    /// How many lines were read, includes included.
    lines: usize,
    include: &'a dyn Fn(&str) -> Option<String>,
}

impl Parser<'_> {
    fn file(&mut self, file: &str, text: &str, depth: usize) -> Result<(), LayoutError> {
        let file: Rc<str> = file.into();
        // Some editors put a byte order mark first.
        let text = text.trim_start_matches('\u{feff}');
        for (number, line) in text.lines().enumerate() {
            let at = Location {
                file: file.clone(),
                line: number + 1,
            };
            let indented = line.starts_with(char::is_whitespace);
            let line = line.trim();
            self.lines += 1;
            if self.lines > MOST_LINES {
                return Err(at.error(format!("more than {MOST_LINES} lines with all includes")));
            }
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
                // Included below something, the lines belong to it.
                if !indented {
                    self.close_union()?;
                    self.open = Open::Nothing;
                }
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
                if !definitions.name.is_empty() {
                    return Err(at.error("a second `format` line: a file describes one format"));
                }
                definitions.start = at.clone();
                definitions.name = file_name(at, name)?;
                definitions.title = match rest_of(line, 2) {
                    "" => name.into(),
                    title => title.into(),
                };
            }
            ["game", id, ..] => {
                if definitions.games.len() == Games::MOST {
                    return Err(at.error(format!("a format has at most {} games", Games::MOST)));
                }
                definitions.games.push(Game {
                    id: id.into(),
                    title: rest_of(line, 2).into(),
                });
            }
            ["port", ref ports @ ..] if !ports.is_empty() => {
                for port in ports {
                    let port = port
                        .parse()
                        .map_err(|_| at.error(format!("`{port}` is not a port")))?;
                    definitions.ports.push(port);
                }
            }
            ["match", field, "=", ref values @ ..] if !values.is_empty() => {
                let values = values.iter().map(|value| value.to_string()).collect();
                definitions.matches.push((at.clone(), field.into(), values));
            }
            ["select", field] => definitions.select = Some((at.clone(), field.into())),
            ["session", field] => definitions.session = Some((at.clone(), field.into())),
            ["driving", field] => definitions.driving = Some((at.clone(), field.into())),
            ["check", field, "=", "length", ref vector @ ..] if !vector.is_empty() => {
                definitions.checks.push(CheckDefinition {
                    at: at.clone(),
                    field: field.into(),
                    vector: vector.iter().map(|field| field.to_string()).collect(),
                });
            }
            ["type", name, "=", kind] => definitions.types.push((name.into(), kind.into())),
            ["tell", value, "by", by] => {
                definitions.evidence = Some(EvidenceDefinition {
                    at: at.clone(),
                    value: value.into(),
                    by: by.into(),
                    rules: Vec::new(),
                });
                self.open = Open::Evidence;
            }
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
            ["enum", name, "of", ref games @ ..] => {
                let games = games_named(at, &definitions.games, games)?;
                // The names for each set of games make one enum.
                let known = definitions.enums.iter().position(|(_, known)| {
                    known.name == name && matches!(known.kind, EnumKind::ByGame(_))
                });
                let mut variants = match known.map(|known| definitions.enums.remove(known)) {
                    Some((
                        _,
                        Enum {
                            kind: EnumKind::ByGame(variants),
                            ..
                        },
                    )) => variants,
                    _ => Vec::new(),
                };
                variants.push((games, Vec::new()));
                self.begin_enum(at, name, EnumKind::ByGame(variants));
            }
            ["enum", name] => self.begin_enum(at, name, EnumKind::Values(Vec::new())),
            ["flags", name] => self.begin_enum(at, name, EnumKind::Flags(Vec::new())),
            _ => {
                return Err(at.error(format!(
                    "cannot read `{line}`: at the margin stand format, game, port, match, select, \
                     session, driving, check, tell, include, type, axis, header, struct, packet, \
                     enum and flags; fields and values are indented below them"
                )));
            }
        }
        Ok(())
    }

    fn begin_enum(&mut self, at: &Location, name: &str, kind: EnumKind) {
        let enums = &mut self.definitions.enums;
        // What an included file says may be said anew.
        enums.retain(|(known, e)| e.name != name || known.file == at.file);
        let name = name.into();
        enums.push((at.clone(), Enum { name, kind }));
        self.open = Open::Enum;
    }

    /// An indented line belongs to the statement above it.
    fn inner_line(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        match self.open {
            Open::Enum => return self.enum_value(at, line),
            Open::Evidence => return self.evidence_rule(at, line),
            _ => {}
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
                let kind = self.resolve(kind);
                let mut member = member(at, name, &kind, rest, note)?;
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

    /// The type with a name that stands for another replaced.
    fn resolve(&self, kind: &str) -> String {
        let (base, brackets) = kind.split_at(kind.find('[').unwrap_or(kind.len()));
        let mut types = self.definitions.types.iter();
        let base = types
            .find_map(|(name, kind)| (name == base).then_some(kind.as_str()))
            .unwrap_or(base);
        format!("{base}{brackets}")
    }

    fn evidence_rule(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        let line = line.split(" -- ").next().unwrap_or(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        let (value, range, games) = match words.as_slice() {
            [value, range, games @ ..] if !games.is_empty() => (value, range, games),
            _ => {
                return Err(at.error("a line of `tell` is written as `VALUE LOW..HIGH GAME…`"));
            }
        };
        let (low, high) = range.split_once("..").unwrap_or((range, range));
        let rule = EvidenceRule {
            value: integer(at, value)?,
            by: integer(at, low)?..=integer(at, high)?,
            games: games_named(at, &self.definitions.games, games)?,
        };
        if let Some(evidence) = &mut self.definitions.evidence {
            evidence.rules.push(rule);
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
            Open::Nothing | Open::Enum | Open::Evidence => None,
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
                add_name(at, bits, bit, name)?;
            }
            EnumKind::Values(values) => match integer(at, value) {
                Ok(value) => add_name(at, values, value, name)?,
                Err(_) if values.is_empty() => {
                    definition.kind = EnumKind::Codes(vec![(value.into(), name)]);
                }
                Err(error) => return Err(error),
            },
            EnumKind::Codes(codes) => add_name(at, codes, value.into(), name)?,
            EnumKind::ByGame(variants) => {
                if let Some((_, values)) = variants.last_mut() {
                    add_name(at, values, integer(at, value)?, name)?;
                }
            }
        }
        Ok(())
    }
}

fn add_name<T: PartialEq>(
    at: &Location,
    names: &mut Vec<(T, String)>,
    value: T,
    name: String,
) -> Result<(), LayoutError> {
    if let Some((_, known)) = names.iter().find(|(known, _)| *known == value) {
        return Err(at.error(format!(
            "this value has the name {known} already: remove one"
        )));
    }
    names.push((value, name));
    Ok(())
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
        ["columns", suffixes @ ..] if !suffixes.is_empty() => {
            let suffixes = suffixes.iter().map(|suffix| {
                let (name, official) = suffix.split_once('=').unwrap_or((suffix, ""));
                Suffix {
                    name: name.into(),
                    official: official.into(),
                }
            });
            Ok(AxisKind::Columns(suffixes.collect()))
        }
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
        sizes: Vec::new(),
        rows: Vec::new(),
        table: None,
        members: Vec::new(),
    };
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        match (*word, words.peek()) {
            ("id", Some(value)) => packet.id = Some(integer(at, value)?),
            ("size", Some(first)) => {
                packet.sizes.push(count(at, first, LARGEST_PACKET)?);
                words.next();
                let is_number =
                    |word: &&&str| word.starts_with(|first: char| first.is_ascii_digit());
                while let Some(size) = words.next_if(is_number) {
                    packet.sizes.push(count(at, size, LARGEST_PACKET)?);
                }
                continue;
            }
            ("table", Some(value)) => packet.table = Some(value.to_string()),
            ("rows", Some(_)) => {
                while let Some(axis) = words.next_if(|word| **word != "table") {
                    packet.rows.push(axis.to_string());
                }
                continue;
            }
            _ => {
                return Err(at.error(format!(
                    "unexpected `{word}`: a packet is written as `packet NAME [id N] size N… [table NAME] [rows AXIS…]`"
                )));
            }
        }
        words.next();
    }
    if packet.sizes.is_empty() {
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
        "flag|f32" => MemberKind::Scalar(Scalar::FlagOrF32),
        "bool" => MemberKind::Scalar(Scalar::Bool),
        "char" | "latin" | "hex" | "padding" => {
            if axes.is_empty() {
                return Err(at.error(format!("`{base}` needs a length: write `{base}[N]`")));
            }
            let length = count(at, &axes.remove(0), LARGEST_PACKET)?;
            match base {
                "char" => MemberKind::Scalar(Scalar::Char(length)),
                "latin" => MemberKind::Scalar(Scalar::Latin(length)),
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
            "as" | "enum" | "at" => {
                let value = words
                    .next()
                    .ok_or_else(|| at.error(format!("`{word}` needs something after it")))?
                    .to_string();
                match *word {
                    "as" => member.rename = Some(value),
                    "enum" => member.enumeration = Some(value),
                    _ => {
                        let offset = value.parse().ok().filter(|offset| *offset < LARGEST_PACKET);
                        member.offset = Some(offset.ok_or_else(|| {
                            at.error(format!("`{value}` is not a place in a datagram"))
                        })?);
                    }
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

/// A name that files and folders can have on every system.
pub(super) fn file_name(at: &Location, name: &str) -> Result<String, LayoutError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(plain) {
        true => Ok(name.into()),
        false => Err(at.error(format!(
            "`{name}` names a folder or a file: use lower-case letters, digits and _, a letter first"
        ))),
    }
}

/// The set of the games with these ids.
fn games_named(at: &Location, known: &[Game], ids: &[&str]) -> Result<Games, LayoutError> {
    ids.iter().try_fold(Games::NONE, |set, id| {
        let position = known.iter().position(|game| game.id == *id);
        let position = position.ok_or_else(|| {
            at.error(format!(
                "unknown game {id}: declare it above with `game {id} TITLE`"
            ))
        })?;
        Ok(set.with(position))
    })
}

fn integer(at: &Location, text: &str) -> Result<i64, LayoutError> {
    let parsed = parse_integer(text).and_then(|value| i64::try_from(value).ok());
    parsed.ok_or_else(|| at.error(format!("`{text}` is not a whole number")))
}

/// A whole number, in decimal or behind `0x` in hexadecimal digits.
pub(super) fn parse_integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
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

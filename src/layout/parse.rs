//! The text of a layout file, line by line, into definitions. What the names
//! in it refer to is settled in `compile`.

use std::collections::HashSet;
use std::rc::Rc;

use super::enums::{EnumDefinitions, Form};
use super::words::{LARGEST_PACKET, LayoutError, Location, count, file_name, integer, words};
use super::{Enum, EvidenceRule, Game, Games, Role, Scalar};

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
    pub frame: Option<(Location, String)>,
    pub status: Option<(Location, Vec<String>)>,
    pub session_changes: Vec<(Location, String)>,
    pub clock: Option<(Location, String)>,
    /// Name and fields of what is told of a session.
    pub about: Vec<(Location, String, Vec<String>)>,
    /// Name and field of what is told of each car.
    pub drivers: Vec<(Location, String, String)>,
    /// The number of the current lap, the time of the last one, the number of the
    /// first one.
    pub lap: Option<(Location, String, String, i64)>,
    /// The car, and the times of all of its laps.
    pub history: Option<(Location, String, String)>,
    pub over: Option<(Location, String)>,
    pub checks: Vec<CheckDefinition>,
    pub evidence: Option<EvidenceDefinition>,
    /// Names for types, with what they stand for.
    pub types: Vec<(String, String)>,
    pub axes: Vec<AxisDefinition>,
    pub header: Vec<Member>,
    pub structs: Vec<StructDefinition>,
    pub packets: Vec<PacketDefinition>,
    pub enums: EnumDefinitions,
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

const LARGEST_AXIS: usize = 4_096;
const DEEPEST_INCLUDE: usize = 32;
/// Far above any real format; files that include each other can grow fast.
const MOST_LINES: usize = 100_000;
const MOST_BYTES: usize = 8 << 20;
const LONGEST_LINE: usize = 4_000;
const MOST_CASES: usize = 256;

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
    definitions.enums.settle(&|_| None)
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
            frame: None,
            status: None,
            session_changes: Vec::new(),
            clock: None,
            about: Vec::new(),
            drivers: Vec::new(),
            lap: None,
            history: None,
            over: None,
            checks: Vec::new(),
            evidence: None,
            types: Vec::new(),
            axes: Vec::new(),
            header: Vec::new(),
            structs: Vec::new(),
            packets: Vec::new(),
            enums: EnumDefinitions::default(),
        },
        open: Open::Nothing,
        table: None,
        lines: 0,
        bytes: 0,
        depth: 0,
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
    bytes: usize,
    /// How many includes down the current line stands.
    depth: usize,
    include: &'a dyn Fn(&str) -> Option<String>,
}

impl Parser<'_> {
    fn file(&mut self, file: &str, text: &str, depth: usize) -> Result<(), LayoutError> {
        let file: Rc<str> = file.into();
        self.depth = depth;
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
            self.bytes += line.len();
            if self.lines > MOST_LINES || self.bytes > MOST_BYTES {
                return Err(at.error(format!(
                    "more than {MOST_LINES} lines or {MOST_BYTES} bytes with all includes"
                )));
            }
            if line.len() > LONGEST_LINE {
                return Err(at.error(format!("the line has more than {LONGEST_LINE} bytes")));
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix("include ") {
                let name = without_comment(name);
                if depth == DEEPEST_INCLUDE {
                    return Err(at.error("files include each other in a circle"));
                }
                let name = name.trim();
                let text = (self.include)(name)
                    .ok_or_else(|| at.error(format!("cannot read the included file {name}")))?;
                self.file(name, &text, depth + 1)?;
                self.depth = depth;
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
        let line = without_comment(line);
        let words = words(at, line)?;
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
                if definitions.games.iter().any(|game| game.id == id) {
                    return Err(at.error(format!("a second game is named {id}: remove one")));
                }
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
            ["session", "changes", ref fields @ ..] if !fields.is_empty() => {
                let fields = fields.iter().map(|field| (at.clone(), field.to_string()));
                definitions.session_changes.extend(fields);
            }
            [
                kind @ ("select" | "session" | "driving" | "frame" | "clock" | "over"),
                name,
            ] => {
                let place = match kind {
                    "select" => &mut definitions.select,
                    "session" => &mut definitions.session,
                    "driving" => &mut definitions.driving,
                    "frame" => &mut definitions.frame,
                    "clock" => &mut definitions.clock,
                    _ => &mut definitions.over,
                };
                if place.replace((at.clone(), name.into())).is_some() {
                    return Err(at.error(format!("a second `{kind}` line: remove one")));
                }
            }
            ["about", name, ref fields @ ..] if !fields.is_empty() => {
                let fields = fields.iter().map(|field| field.to_string()).collect();
                definitions.about.push((at.clone(), name.into(), fields));
            }
            ["driver", name, field] => {
                let driver = (at.clone(), name.into(), field.into());
                definitions.drivers.push(driver);
            }
            ["lap", number, last, ref rest @ ..] if rest.is_empty() || rest[0] == "from" => {
                let first = match rest {
                    [] => 1,
                    [_, first] => integer(at, first)?,
                    _ => return Err(at.error("`from` takes the number of the first lap")),
                };
                let lap = (at.clone(), number.into(), last.into(), first);
                if definitions.lap.replace(lap).is_some() {
                    return Err(at.error("a second `lap` line: remove one"));
                }
            }
            ["laps", car, times] => {
                let history = (at.clone(), car.into(), times.into());
                if definitions.history.replace(history).is_some() {
                    return Err(at.error("a second `laps` line: remove one"));
                }
            }
            ["status", ref fields @ ..] if !fields.is_empty() => {
                let fields = fields.iter().map(|field| field.to_string()).collect();
                if definitions.status.replace((at.clone(), fields)).is_some() {
                    return Err(at.error("a second `status` line: remove one"));
                }
            }
            ["check", field, "=", "length", ref vector @ ..] if !vector.is_empty() => {
                definitions.checks.push(CheckDefinition {
                    at: at.clone(),
                    field: field.into(),
                    vector: vector.iter().map(|field| field.to_string()).collect(),
                });
            }
            ["type", name, "=", kind] => {
                let kind = resolve(&definitions.types, kind);
                let base = kind.split('[').next().unwrap_or(&kind);
                if kind.contains('[') && !matches!(base, "char" | "latin" | "hex" | "padding") {
                    return Err(at.error(format!(
                        "`{kind}` is an array: a name stands for a type without axes, which go \
                         behind the name"
                    )));
                }
                definitions.types.push((name.into(), kind));
            }
            ["tell", value, "by", by] => {
                let evidence = EvidenceDefinition {
                    at: at.clone(),
                    value: value.into(),
                    by: by.into(),
                    rules: Vec::new(),
                };
                if definitions.evidence.replace(evidence).is_some() {
                    return Err(at.error("a second `tell` line: remove one"));
                }
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
                let form = Form::ValuesOf(games);
                definitions.enums.begin(at, name, self.depth, form)?;
                self.open = Open::Enum;
            }
            [kind @ ("enum" | "flags"), name] => {
                let form = match kind {
                    "flags" => Form::Flags,
                    _ => Form::Values,
                };
                definitions.enums.begin(at, name, self.depth, form)?;
                self.open = Open::Enum;
            }
            _ => {
                return Err(at.error(format!(
                    "cannot read `{line}`: at the margin stand format, game, port, match, select, \
                     session, driving, frame, clock, status, about, driver, lap, laps, over, check, \
                     tell, include, type, axis, header, struct, packet, enum and flags; fields and values are indented below them"
                )));
            }
        }
        Ok(())
    }

    /// An indented line belongs to the statement above it.
    fn inner_line(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        match self.open {
            Open::Enum => return self.definitions.enums.add(at, line),
            Open::Evidence => return self.evidence_rule(at, line),
            _ => {}
        }
        let (line, note) = match line.split_once(" -- ") {
            Some((line, note)) => (line.trim_end(), note.trim()),
            None => (line, ""),
        };
        let words = words(at, line)?;
        match (words.as_slice(), &self.open) {
            (["union", name, size, "by", tag], Open::Packet) => {
                let members = self.members(at)?;
                let is_union = |member: &Member| matches!(member.kind, MemberKind::Union { .. });
                if members.iter().any(is_union) {
                    return Err(at.error("a second union: a packet has at most one"));
                }
                let size = count(at, size, LARGEST_PACKET)?;
                let kind = MemberKind::Union {
                    size,
                    by: (*tag).into(),
                    cases: Vec::new(),
                };
                self.members(at)?.push(Member::new(at, name, kind, note));
                self.open = Open::Union;
            }
            (["case"], Open::Union) => {
                return Err(at.error("`case` needs the values that it stands for"));
            }
            (["case", codes @ ..], Open::Union) => {
                let case = Case {
                    codes: codes.iter().map(|code| (*code).into()).collect(),
                    members: Vec::new(),
                };
                let cases = open_cases(&mut self.definitions.packets);
                cases.push(case);
                if cases.iter().map(|case| case.codes.len()).sum::<usize>() > MOST_CASES {
                    return Err(at.error(format!("the union has more than {MOST_CASES} values")));
                }
            }
            (["end"], Open::Union) => self.open = Open::Packet,
            (["table", name], Open::Packet) if scalar(name).is_none() => {
                self.table = Some((*name).into());
            }
            ([name, kind, rest @ ..], _) => {
                let kind = resolve(&self.definitions.types, kind);
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

    fn evidence_rule(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        let line = line.split(" -- ").next().unwrap_or(line);
        let words = words(at, line)?;
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
                let is_axis = |word: &&&str| !matches!(**word, "id" | "size" | "table");
                while let Some(axis) = words.next_if(is_axis) {
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
    let mut sizes = HashSet::new();
    if let Some(size) = packet.sizes.iter().find(|size| !sizes.insert(**size)) {
        return Err(at.error(format!("the size {size} is given twice: remove one")));
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
        _ if let Some(scalar) = scalar(base) => MemberKind::Scalar(scalar),
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

/// What a word at the start of a type stands for, if that needs no length.
fn scalar(word: &str) -> Option<Scalar> {
    Some(match word {
        "u8" => Scalar::U8,
        "i8" => Scalar::I8,
        "u16" => Scalar::U16,
        "i16" => Scalar::I16,
        "u32" => Scalar::U32,
        "i32" => Scalar::I32,
        "u64" => Scalar::U64,
        "i64" => Scalar::I64,
        "f32" => Scalar::F32,
        "f64" => Scalar::F64,
        "bool" => Scalar::Bool,
        "flag|f32" => Scalar::FlagOrF32,
        _ => return None,
    })
}

/// A type with the name that stands for another one replaced.
fn resolve(types: &[(String, String)], kind: &str) -> String {
    let (base, brackets) = kind.split_at(kind.find('[').unwrap_or(kind.len()));
    let named = types.iter().find(|(name, _)| name == base);
    let base = named.map_or(base, |(_, kind)| kind.as_str());
    format!("{base}{brackets}")
}

/// A line at the margin without the comment at its end.
fn without_comment(line: &str) -> &str {
    let mut marks = line.match_indices('#').map(|(position, _)| position);
    let is_white = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let comment = marks.find(|mark| {
        is_white(line[..*mark].chars().next_back()) && is_white(line[mark + 1..].chars().next())
    });
    line[..comment.unwrap_or(line.len())].trim()
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

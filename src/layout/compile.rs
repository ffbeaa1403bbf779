//! Definitions into a [`Layout`]: offsets and strides are computed, names are
//! resolved, and each packet's fields are dealt out to flat tables.
//!
//! Arrays decide the tables. An axis of columns spreads its entries over
//! columns with suffixes. An axis of rows gives a row an entry: in the
//! packet's own table if the packet names the axis among its `rows`, else in a
//! child table.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::parse::{AxisDefinition, AxisKind, Definitions, LayoutError, Location, Member};
use super::parse::{MemberKind, PacketDefinition, Suffix, file_name, parse_integer};
use super::{
    ActiveRule, Check, Column, Dimension, Evidence, Layout, Leaf, Match, Packet, Place, Role,
    RowAxis, Scalar, Source, Strided, Table, Tag, snake_case,
};

// Far above any real format; they keep a hostile layout from claiming memory.
const MOST_ROWS_PER_RECORD: usize = 1 << 16;
/// What the rows of one record may take, decoded.
const MOST_BYTES_PER_RECORD: usize = 64 << 20;
/// Of all packets, with the members of structs as often as they are used.
const MOST_MEMBERS: usize = 1 << 17;
const MOST_FIELDS: usize = 1 << 14;
/// Of all tables.
const MOST_COLUMNS: usize = 1 << 15;
const LONGEST_RECORD: usize = 65_535;

pub(super) fn compile(mut definitions: Definitions) -> Result<Layout, LayoutError> {
    let evidence = definitions.evidence.take();
    let names = Names::of(&definitions)?;
    let common_fields = common_fields(&definitions, &names)?;
    let shortest = match definitions.packets.as_slice() {
        [only] => only.sizes.iter().copied().min(),
        _ => None,
    };
    let place = |at: &Location, name: &str| {
        let field = common_fields
            .iter()
            .find(|field| field.path == name && field.axes.is_empty() && field.case.is_none())
            .ok_or_else(|| at.error(format!("there is no field {name} that every packet has")))?;
        match shortest {
            Some(shortest) if field.end() > shortest => Err(at.error(format!(
                "{name} lies beyond the end of the shortest datagram, which has {shortest} bytes"
            ))),
            _ => Ok(field.place()),
        }
    };
    let whole = |at: &Location, name: &str| {
        let place = place(at, name)?;
        match place.scalar.is_integer() {
            true => Ok(place),
            false => Err(at.error(format!("{name} must be a whole number"))),
        }
    };
    let number = |at: &Location, name: &str| {
        let place = place(at, name)?;
        match place.scalar.is_integer() || matches!(place.scalar, Scalar::F32 | Scalar::F64) {
            true => Ok(place),
            false => Err(at.error(format!("{name} must be a number"))),
        }
    };
    let optional = |field: &Option<(Location, String)>| match field {
        Some((at, name)) => whole(at, name).map(Some),
        None => Ok(None),
    };

    let mut layout = Layout {
        name: definitions.name.clone(),
        title: definitions.title.clone(),
        games: definitions.games.clone(),
        evidence: match evidence {
            Some(definition) => Some(Evidence {
                value: whole(&definition.at, &definition.value)?,
                by: whole(&definition.at, &definition.by)?,
                rules: definition.rules,
            }),
            None => None,
        },
        ports: definitions.ports.clone(),
        matches: definitions
            .matches
            .iter()
            .map(|(at, field, values)| mark(at, place(at, field)?, values))
            .collect::<Result<_, _>>()?,
        select: optional(&definitions.select)?,
        session: optional(&definitions.session)?,
        driving: optional(&definitions.driving)?,
        checks: definitions
            .checks
            .iter()
            .map(|check| {
                let vector = check.vector.iter().map(|field| number(&check.at, field));
                Ok(Check {
                    field: check.field.clone(),
                    number: number(&check.at, &check.field)?,
                    vector: vector.collect::<Result<_, _>>()?,
                })
            })
            .collect::<Result<_, LayoutError>>()?,
        ..Layout::default()
    };
    check_recognition(&definitions)?;

    let mut all_fields = Vec::new();
    for packet in &definitions.packets {
        let mut flattener = Flattener::new(&definitions, &names);
        flattener.members(&definitions.header, &Scope::default(), 0)?;
        let header_length = flattener.fields.len();
        flattener.members(&packet.members, &Scope::default(), 0)?;
        let (size, shorter) = sizes(packet, flattener.offset)?;
        let position = layout.packets.len();
        let tables = PacketTables {
            definitions: &definitions,
            packet,
            position,
            fields: &flattener.fields,
            header_length,
            place: &place,
            columns_left: &names.columns_left,
            shortest: shorter.iter().copied().min().unwrap_or(size),
        }
        .build()?;
        let first = layout.tables.len();
        for table in tables {
            file_name(&packet.at, &table.name)?;

            if layout.table(&table.name).is_some() {
                return Err(packet.at.error(format!(
                    "a second table is named {}: give one of them another name with `table NAME`",
                    table.name
                )));
            }
            layout.tables.push(table);
        }
        layout.packets.push(Packet {
            name: packet.name.clone(),
            id: packet.id,
            size,
            shorter,
            leaves: flattener.fields.iter().flat_map(Flat::leaves).collect(),
            tables: (first..layout.tables.len()).collect(),
        });
        all_fields.push(flattener.fields);
    }
    layout.active = active_rule(&definitions, &all_fields)?;
    let of_text = enums_of_text(&all_fields)?;
    layout.enums = definitions
        .enums
        .settle(&|position| of_text.get(&position).copied())?;
    Ok(layout)
}

/// Whether the values of each enum are texts, by the fields that use it.
fn enums_of_text(fields: &[Vec<Flat>]) -> Result<HashMap<usize, bool>, LayoutError> {
    let mut kinds: HashMap<usize, bool> = HashMap::new();
    for field in fields.iter().flatten() {
        let Some(enumeration) = field.enumeration else {
            continue;
        };
        let is_text = matches!(field.scalar, Scalar::Char(_) | Scalar::Latin(_));
        if !is_text && !field.scalar.is_integer() {
            return Err(field
                .at
                .error("only whole numbers and texts can have names of values"));
        }
        if *kinds.entry(enumeration).or_insert(is_text) != is_text {
            return Err(field.at.error(
                "this enum names the values of another field too, and only one of the two is a text",
            ));
        }
    }
    Ok(kinds)
}

/// The fields that every packet has at the same place: those of the header, or
/// of the only packet.
fn common_fields(definitions: &Definitions, names: &Names) -> Result<Vec<Flat>, LayoutError> {
    let mut flattener = Flattener::new(definitions, names);
    flattener.members(&definitions.header, &Scope::default(), 0)?;
    if let [only] = definitions.packets.as_slice() {
        flattener.members(&only.members, &Scope::default(), 0)?;
    }
    Ok(flattener.fields)
}

/// The length of a packet, and the lengths of records that end earlier.
fn sizes(packet: &PacketDefinition, total: usize) -> Result<(usize, Vec<usize>), LayoutError> {
    let size = packet.sizes.iter().copied().max().unwrap_or(0);
    if total != size {
        return Err(packet.at.error(format!(
            "the fields of packet {} take {total} bytes, but its size is given as {size}",
            packet.name
        )));
    }
    let shorter = packet.sizes.iter().filter(|known| **known != size);
    Ok((size, shorter.copied().collect()))
}

/// Every datagram must be told from those of other formats by something.
fn check_recognition(definitions: &Definitions) -> Result<(), LayoutError> {
    let Definitions {
        start,
        packets,
        select,
        ..
    } = definitions;
    if packets.is_empty() {
        return Err(start.error("there is no packet: add `packet NAME size N` and its fields"));
    }
    if select.is_some() && definitions.matches.is_empty() && definitions.ports.is_empty() {
        return Err(start.error(
            "nothing tells these datagrams from others: add `match FIELD = VALUE` or `port N`",
        ));
    }
    // What chooses the packet must be there once in each, and differ.
    let mut ids = HashSet::new();
    let mut sizes = HashSet::new();
    for packet in packets {
        match (select, packet.id) {
            (Some(_), None) => {
                return Err(packet.at.error(format!(
                    "packet {} has no `id N`, but `select` chooses packets by it",
                    packet.name
                )));
            }
            (None, Some(_)) => {
                return Err(packet.at.error(format!(
                    "packet {} has an id, but no `select FIELD` says where datagrams have it",
                    packet.name
                )));
            }
            (Some(_), Some(id)) if !ids.insert(id) => {
                return Err(packet.at.error(format!(
                    "a second packet has the id {id}: give each its own"
                )));
            }
            (None, None) => {
                if let Some(size) = packet.sizes.iter().find(|size| !sizes.insert(**size)) {
                    return Err(packet.at.error(format!(
                        "a second packet has {size} bytes, and nothing but the length tells them \
                         apart: add `select FIELD` and an `id N` for each"
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn mark(at: &Location, place: Place, values: &[String]) -> Result<Match, LayoutError> {
    let bytes = |value: &String| {
        wire_bytes(place.scalar, value)
            .ok_or_else(|| at.error(format!("`{value}` cannot be a value of this field")))
    };
    Ok(Match {
        offset: place.offset,
        values: values.iter().map(bytes).collect::<Result<_, _>>()?,
    })
}

/// A value as a layout file states it, as it stands on the wire: a whole
/// number, a text with NULs behind it, or hexadecimal digits.
fn wire_bytes(scalar: Scalar, text: &str) -> Option<Vec<u8>> {
    match scalar {
        Scalar::Char(length) | Scalar::Latin(length) => (text.len() <= length).then(|| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(length, 0);
            bytes
        }),
        Scalar::Hex(length) => {
            let digits = text.as_bytes().chunks(2);
            let bytes = digits.map(|pair| {
                let pair = std::str::from_utf8(pair).ok()?;
                u8::from_str_radix(pair, 16).ok()
            });
            let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
            (bytes.len() == length).then_some(bytes)
        }
        _ => {
            let value = parse_integer(text)?;
            let bytes = value.to_le_bytes()[..scalar.size()].to_vec();
            let fits = match scalar {
                // Too large for the signed reader.
                Scalar::U64 => u64::try_from(value).is_ok(),
                _ => scalar.read_integer(&bytes).map(i128::from) == Some(value),
            };
            fits.then_some(bytes)
        }
    }
}

/// What the names of a layout file stand for.
struct Names {
    axes: HashMap<String, usize>,
    structs: HashMap<String, usize>,
    /// How many members may still be listed, structs taken apart.
    members_left: Cell<usize>,
    fields_left: Cell<usize>,
    columns_left: Cell<usize>,
}

impl Names {
    fn of(definitions: &Definitions) -> Result<Names, LayoutError> {
        fn index<'a>(
            kind: &str,
            names: impl Iterator<Item = (&'a Location, &'a String)>,
        ) -> Result<HashMap<String, usize>, LayoutError> {
            let mut positions = HashMap::new();
            for (position, (at, name)) in names.enumerate() {
                if positions.insert(name.clone(), position).is_some() {
                    return Err(at.error(format!(
                        "a second {kind} is named {name}: rename or remove one of them"
                    )));
                }
            }
            Ok(positions)
        }
        index(
            "packet",
            definitions.packets.iter().map(|p| (&p.at, &p.name)),
        )?;
        Ok(Names {
            axes: index("axis", definitions.axes.iter().map(|a| (&a.at, &a.name)))?,
            structs: index(
                "struct",
                definitions.structs.iter().map(|s| (&s.at, &s.name)),
            )?,
            members_left: Cell::new(MOST_MEMBERS),
            fields_left: Cell::new(MOST_FIELDS),
            columns_left: Cell::new(MOST_COLUMNS),
        })
    }
}

/// A field with everything that surrounds it, before it is dealt to a table.
#[derive(Debug, Clone)]
struct Flat {
    at: Location,
    path: String,
    column: String,
    scalar: Scalar,
    offset: usize,
    axes: Vec<AxisUse>,
    unit: String,
    note: String,
    enumeration: Option<usize>,
    role: Role,
    table: Option<String>,
    /// The case of the union that it lies in, and that case's codes.
    case: Option<(usize, Rc<[String]>)>,
}

/// An array on the way down to a field.
#[derive(Debug, Clone)]
struct AxisUse {
    /// Position in [`Definitions::axes`].
    axis: usize,
    length: usize,
    stride: usize,
    is_rows: bool,
    /// Path of the struct that holds the array: its count is a sibling.
    parent: String,
}

impl Flat {
    fn place(&self) -> Place {
        Place {
            offset: self.offset,
            scalar: self.scalar,
        }
    }

    fn row_axes(&self) -> Vec<usize> {
        let rows = self.axes.iter().filter(|used| used.is_rows);
        rows.map(|used| used.axis).collect()
    }

    /// The field with a stride for each of `axes`, `extra` bytes further on.
    fn strided(&self, axes: &[usize], extra: usize) -> Strided {
        let stride = |axis: &usize| {
            self.axes
                .iter()
                .find(|used| used.axis == *axis)
                .map_or(0, |used| used.stride)
        };
        Strided {
            offset: self.offset + extra,
            strides: axes.iter().map(stride).collect(),
            scalar: self.scalar,
        }
    }

    /// Where it ends, or its only entry.
    fn end(&self) -> usize {
        self.end_of(0)
    }

    /// Where the last row of its entry `extra` bytes from the first one ends.
    fn end_of(&self, extra: usize) -> usize {
        let rows = self.axes.iter().filter(|used| used.is_rows);
        let last: usize = rows.map(|used| (used.length - 1) * used.stride).sum();
        self.offset + extra + last + self.scalar.size()
    }

    /// A leaf for each code of the case, or the only one.
    fn leaves(&self) -> Vec<Leaf> {
        let leaf = |path: String| Leaf {
            path,
            scalar: self.scalar,
            offset: self.offset,
            dimensions: self
                .axes
                .iter()
                .map(|used| Dimension {
                    length: used.length,
                    stride: used.stride,
                })
                .collect(),
        };
        match &self.case {
            None => vec![leaf(self.path.clone())],
            Some((_, codes)) => codes
                .iter()
                .map(|code| match self.path.rsplit_once('.') {
                    Some((union, field)) => leaf(format!("{union}.{code}.{field}")),
                    None => leaf(format!("{code}.{}", self.path)),
                })
                .collect(),
        }
    }
}

/// Where the walk through nested members stands.
#[derive(Default, Clone)]
struct Scope {
    path: String,
    column_prefix: String,
    axes: Vec<AxisUse>,
    table: Option<String>,
    case: Option<(usize, Rc<[String]>)>,
    depth: usize,
}

impl Scope {
    fn join(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        }
    }
}

/// Walks members in wire order and lists the fields at their offsets.
struct Flattener<'a> {
    definitions: &'a Definitions,
    names: &'a Names,
    offset: usize,
    fields: Vec<Flat>,
}

impl<'a> Flattener<'a> {
    fn new(definitions: &'a Definitions, names: &'a Names) -> Self {
        Flattener {
            definitions,
            names,
            offset: 0,
            fields: Vec::new(),
        }
    }

    /// Places that members state count from `base`.
    fn members(
        &mut self,
        members: &[Member],
        scope: &Scope,
        base: usize,
    ) -> Result<(), LayoutError> {
        let mut seen = HashSet::new();
        for member in members {
            if !matches!(member.kind, MemberKind::Padding(_)) && !seen.insert(&member.name) {
                return Err(member.at.error(format!(
                    "a second field is named {}: rename one of them",
                    member.name
                )));
            }
            if let Some(stated) = member.offset {
                self.move_to(member, base + stated)?;
            }
            self.member(member, scope)?;
        }
        Ok(())
    }

    /// Skips the bytes up to the place that a member states.
    fn move_to(&mut self, member: &Member, offset: usize) -> Result<(), LayoutError> {
        if offset < self.offset {
            return Err(member.at.error(format!(
                "{} at {offset} overlaps the fields before it, which reach to {}: list fields in \
                 the order of their places",
                member.name, self.offset
            )));
        }
        self.offset = offset;
        Ok(())
    }

    fn member(&mut self, member: &Member, scope: &Scope) -> Result<(), LayoutError> {
        let take = |left: &Cell<usize>| left.replace(left.get().saturating_sub(1)) > 0;
        if !take(&self.names.members_left) || scope.depth > 16 {
            return Err(member.at.error("too many fields, or nested too deeply"));
        }
        if self.offset > LONGEST_RECORD {
            return Err(member
                .at
                .error("it begins beyond the longest datagram that there can be"));
        }
        let start = self.offset;
        let mut inner = scope.clone();
        inner.depth += 1;
        if let Some(table) = &member.table {
            inner.table = Some(table.clone());
        }
        let first_axis = inner.axes.len();
        for name in &member.axes {
            let axis = *self.names.axes.get(name).ok_or_else(|| {
                member.at.error(format!(
                    "unknown axis {name}: declare it with `axis {name} …`"
                ))
            })?;
            let (length, is_rows) = match &self.definitions.axes[axis].kind {
                AxisKind::Columns(suffixes) => (suffixes.len(), false),
                AxisKind::Rows { length, .. } => (*length, true),
            };
            inner.axes.push(AxisUse {
                axis,
                length,
                stride: 0,
                is_rows,
                parent: scope.path.clone(),
            });
        }
        let first_field = self.fields.len();
        match &member.kind {
            MemberKind::Scalar(scalar) => {
                self.push(member, *scalar, &inner)?;
                self.offset += scalar.size();
            }
            MemberKind::Padding(length) => self.offset += length,
            MemberKind::Struct(name) => {
                let position = *self.names.structs.get(name).ok_or_else(|| {
                    member.at.error(format!(
                        "unknown type {name}: known are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 \
                         bool flag|f32 char[N] latin[N] hex[N] padding[N], and the structs and types of \
                         this file"
                    ))
                })?;
                let definition = &self.definitions.structs[position];
                let is_plain = member.role == Role::Value && member.unit.is_empty();
                if !is_plain || member.enumeration.is_some() {
                    return Err(member.at.error(
                        "unit, enum, key and hidden belong to the fields in the struct, not to the \
                         struct",
                    ));
                }
                inner.path = scope.join(&member.name);
                // Rows of an array need no prefix: the table says what they are.
                let in_rows = inner.axes[first_axis..].iter().any(|used| used.is_rows);
                match (&member.rename, in_rows) {
                    (Some(prefix), _) => inner.column_prefix += &format!("{prefix}_"),
                    (None, false) => {
                        inner.column_prefix += &format!("{}_", snake_case(&member.name));
                    }
                    (None, true) => {}
                }
                self.members(&definition.members, &inner, start)?;
                if self.offset == start {
                    return Err(definition.at.error(format!("struct {name} has no fields")));
                }
            }
            MemberKind::Union { size, cases, .. } => {
                self.push(member, Scalar::Hex(*size), &inner)?;
                inner.path = scope.join(&member.name);
                for (number, case) in cases.iter().enumerate() {
                    self.offset = start;
                    inner.case = Some((number, case.codes.as_slice().into()));
                    self.members(&case.members, &inner, start)?;
                    if self.offset - start > *size {
                        return Err(member.at.error(format!(
                            "case {} takes {} bytes, more than the union's {size}",
                            case.codes.join(" "),
                            self.offset - start
                        )));
                    }
                }
                self.offset = start + size;
            }
        }
        // Only now is the length of an entry known.
        let mut stride = self.offset - start;
        for (position, used) in inner.axes.iter().enumerate().skip(first_axis).rev() {
            for field in &mut self.fields[first_field..] {
                field.axes[position].stride = stride;
            }
            stride = stride.saturating_mul(used.length);
        }
        self.offset = start.saturating_add(stride);
        Ok(())
    }

    fn push(&mut self, member: &Member, scalar: Scalar, scope: &Scope) -> Result<(), LayoutError> {
        let enumeration = match &member.enumeration {
            Some(name) => Some(self.definitions.enums.position(name).ok_or_else(|| {
                member.at.error(format!(
                    "unknown enum {name}: declare it with `enum {name}`"
                ))
            })?),
            None => None,
        };
        // A case of a union counts for each of its values, which have a path each.
        let names = scope.case.as_ref().map_or(1, |(_, codes)| codes.len());
        let left = self.names.fields_left.get();
        if left < names {
            return Err(member.at.error(format!("more than {MOST_FIELDS} fields")));
        }
        self.names.fields_left.set(left - names);
        let name = match &member.rename {
            Some(name) => name.clone(),
            None => snake_case(&member.name),
        };
        // The bytes of a union are of use only to those who ask for them.
        let role = match member.kind {
            MemberKind::Union { .. } => Role::Hidden,
            _ => member.role,
        };
        self.fields.push(Flat {
            at: member.at.clone(),
            path: scope.join(&member.name),
            column: format!("{}{name}", scope.column_prefix),
            scalar,
            offset: self.offset,
            axes: scope.axes.clone(),
            unit: member.unit.clone(),
            note: member.note.clone(),
            enumeration,
            role,
            table: scope.table.clone(),
            case: scope.case.clone(),
        });
        Ok(())
    }
}

/// Fields that make a table.
struct Group<'a> {
    axes: Vec<usize>,
    /// Its name, if the layout gives it one of its own.
    table: Option<String>,
    fields: Vec<&'a Flat>,
}

/// Deals the fields of one packet out to its tables.
struct PacketTables<'a> {
    definitions: &'a Definitions,
    packet: &'a PacketDefinition,
    position: usize,
    fields: &'a [Flat],
    header_length: usize,
    /// Where a field lies that every packet has.
    place: &'a dyn Fn(&Location, &str) -> Result<Place, LayoutError>,
    /// How many columns all tables together may still have.
    columns_left: &'a Cell<usize>,
    /// The least length of a record.
    shortest: usize,
}

impl PacketTables<'_> {
    fn build(&self) -> Result<Vec<Table>, LayoutError> {
        let main_axes = self.main_axes()?;
        let main_name = match &self.packet.table {
            Some(name) => name.clone(),
            None => snake_case(&self.packet.name),
        };
        // The packet's own table comes first, then the others in wire order.
        let mut groups = vec![Group {
            axes: main_axes.clone(),
            table: None,
            fields: Vec::new(),
        }];
        for field in self.fields {
            let rows = field.row_axes();
            let is_main = field.table.is_none() && rows.iter().all(|axis| main_axes.contains(axis));
            let axes = if is_main { &main_axes } else { &rows };
            let group = groups
                .iter_mut()
                .find(|group| group.axes == *axes && group.table == field.table);
            match group {
                Some(group) => group.fields.push(field),
                None => groups.push(Group {
                    axes: axes.clone(),
                    table: field.table.clone(),
                    fields: vec![field],
                }),
            }
        }
        groups
            .into_iter()
            .enumerate()
            .map(|(number, group)| {
                let parent = group.table.as_ref().unwrap_or(&main_name);
                let name = match (number, group.axes.as_slice()) {
                    (0, _) | (_, []) => parent.clone(),
                    (_, axes) => format!("{parent}_{}", self.child_suffix(axes)),
                };
                self.table(name, &group.axes, &group.fields)
            })
            .collect()
    }

    fn main_axes(&self) -> Result<Vec<usize>, LayoutError> {
        self.packet
            .rows
            .iter()
            .map(|name| {
                let used = self.fields.iter().flat_map(|field| &field.axes);
                used.filter(|used| used.is_rows)
                    .map(|used| used.axis)
                    .find(|axis| self.definitions.axes[*axis].name == *name)
                    .ok_or_else(|| {
                        self.packet.at.error(format!(
                            "packet {} has no array along {name}",
                            self.packet.name
                        ))
                    })
            })
            .collect()
    }

    fn child_suffix(&self, axes: &[usize]) -> String {
        let Some(innermost) = axes.last() else {
            return String::new();
        };
        let axis = &self.definitions.axes[*innermost];
        match &axis.kind {
            AxisKind::Rows {
                table: Some(table), ..
            } => table.clone(),
            _ => snake_case(&axis.name),
        }
    }

    fn table(&self, name: String, axes: &[usize], own: &[&Flat]) -> Result<Table, LayoutError> {
        let row_axes = axes
            .iter()
            .map(|axis| self.row_axis(*axis, axes, own))
            .collect::<Result<Vec<_>, _>>()?;
        let rows = row_axes
            .iter()
            .fold(1_usize, |rows, axis| rows.saturating_mul(axis.length));
        if rows > MOST_ROWS_PER_RECORD {
            return Err(self.packet.at.error(format!(
                "one record of table {name} would give {rows} rows; the most is {MOST_ROWS_PER_RECORD}"
            )));
        }

        let mut columns = vec![Column {
            note: "time stamp of the datagram in the capture".into(),
            role: Role::Key,
            ..Column::new("capture_time", Scalar::I64, Source::CaptureTime)
        }];
        let reaches = |field: &Flat| field.row_axes().iter().all(|axis| axes.contains(axis));
        let is_key = |field: &Flat| field.role == Role::Key && field.case.is_none();
        for field in self
            .fields
            .iter()
            .filter(|field| is_key(field) && reaches(field))
        {
            columns.extend(self.columns_of(field, axes));
        }
        for (level, axis) in row_axes.iter().enumerate() {
            columns.push(self.index_column(level, axis, axes, own)?);
        }
        let header = self.fields[..self.header_length].iter();
        let hidden = header.filter(|field| field.role == Role::Hidden);
        let header_size = self.header_size();
        let is_own = |field: &Flat| field.offset >= header_size || field.role != Role::Hidden;
        let values = own
            .iter()
            .copied()
            .filter(|field| !is_key(field) && is_own(field));
        for field in hidden.chain(values) {
            match field.case {
                None => columns.extend(self.columns_of(field, axes)),
                Some(_) => self.add_variant(field, &mut columns)?,
            }
        }
        let left = self.columns_left.get().checked_sub(columns.len());
        self.columns_left.set(left.ok_or_else(|| {
            let message = format!("all tables together have more than {MOST_COLUMNS} columns");
            self.packet.at.error(message)
        })?);
        let width = |column: &Column| column.scalar.size().max(8);
        let bytes = rows.saturating_mul(columns.iter().map(width).sum());
        if bytes > MOST_BYTES_PER_RECORD {
            return Err(self.packet.at.error(format!(
                "one record of table {name} would give {bytes} bytes of rows; the most is \
                 {MOST_BYTES_PER_RECORD}"
            )));
        }
        let mut seen = HashSet::new();
        for column in &columns {
            if !seen.insert(&column.name) {
                return Err(self.packet.at.error(format!(
                    "two columns of table {name} are named {}: rename one with `as NAME`",
                    column.name
                )));
            }
        }
        Ok(Table {
            name,
            packet: self.position,
            tag: match own.iter().any(|field| field.case.is_some()) {
                true => Some(self.tag()?),
                false => None,
            },
            axes: row_axes,
            columns,
        })
    }

    fn header_size(&self) -> usize {
        self.fields[..self.header_length]
            .last()
            .map_or(0, |field| field.offset + field.scalar.size())
    }

    fn row_axis(&self, axis: usize, axes: &[usize], own: &[&Flat]) -> Result<RowAxis, LayoutError> {
        let definition = &self.definitions.axes[axis];
        let AxisKind::Rows {
            length,
            index,
            count,
            player,
            ..
        } = &definition.kind
        else {
            unreachable!("only axes of rows make tables");
        };
        Ok(RowAxis {
            name: definition.name.clone(),
            length: *length,
            count: match count {
                Some(field) => Some(self.sibling(definition, axis, field, axes, own)?),
                None => None,
            },
            player: match player {
                Some(field) => Some((self.place)(&definition.at, field)?),
                None => None,
            },
            index: index.clone(),
        })
    }

    /// The field `name` beside the array along `axis`, such as its count.
    fn sibling(
        &self,
        definition: &AxisDefinition,
        axis: usize,
        name: &str,
        axes: &[usize],
        own: &[&Flat],
    ) -> Result<Strided, LayoutError> {
        let parent = own
            .iter()
            .flat_map(|field| &field.axes)
            .find(|used| used.axis == axis)
            .map_or("", |used| used.parent.as_str());
        let path = match parent {
            "" => name.to_string(),
            parent => format!("{parent}.{name}"),
        };
        self.fields
            .iter()
            .find(|field| {
                let rows = field.row_axes();
                field.path == path
                    && field.scalar.is_integer()
                    && rows.len() == field.axes.len()
                    && rows.iter().all(|row| axes.contains(row) && *row != axis)
            })
            .map(|field| field.strided(axes, 0))
            .ok_or_else(|| {
                definition.at.error(format!(
                    "packet {} has no whole number {path} beside its array along {}",
                    self.packet.name, definition.name
                ))
            })
    }

    fn index_column(
        &self,
        level: usize,
        row_axis: &RowAxis,
        axes: &[usize],
        own: &[&Flat],
    ) -> Result<Column, LayoutError> {
        let axis = axes[level];
        let definition = &self.definitions.axes[axis];
        let start = match &definition.kind {
            AxisKind::Rows {
                start: Some(field), ..
            } => {
                let start = self.sibling(definition, axis, field, axes, own)?;
                // The numbers of rows are unsigned, with as many bits.
                if !matches!(start.scalar, Scalar::U8 | Scalar::U16 | Scalar::U32) {
                    return Err(definition.at.error(format!(
                        "{field} must be u8, u16 or u32 to be the number of the first entry"
                    )));
                }
                Some(start)
            }
            _ => None,
        };
        let note = match &start {
            Some(_) => format!("number along {}, the first of all is 0", row_axis.name),
            None => format!("position in {}, from 0", row_axis.name),
        };
        let scalar = match (row_axis.length <= 256, &start) {
            (true, None) => Scalar::U8,
            (false, None) => Scalar::U16,
            (_, Some(_)) => Scalar::U32,
        };
        let source = Source::Index { axis: level, start };
        Ok(Column {
            note,
            role: Role::Key,
            ..Column::new(&row_axis.index, scalar, source)
        })
    }

    /// The columns of a field: one, or one for each entry of its axes of columns.
    fn columns_of(&self, field: &Flat, axes: &[usize]) -> Vec<Column> {
        let places = self.spread(field).into_iter();
        places
            .map(|(name, official, extra)| Column {
                official,
                is_partial: field.end_of(extra) > self.shortest,
                ..column(field, name, Source::Field(field.strided(axes, extra)))
            })
            .collect()
    }

    /// Name, official name and distance from the first of each entry of the
    /// field's axes of columns.
    fn spread(&self, field: &Flat) -> Vec<(String, String, usize)> {
        let mut spread = vec![(field.column.clone(), field.path.clone(), 0)];
        for used in field.axes.iter().filter(|used| !used.is_rows) {
            let AxisKind::Columns(suffixes) = &self.definitions.axes[used.axis].kind else {
                continue;
            };
            let entry = |(column, path, extra): &(String, String, usize)| {
                let (column, path, extra) = (column.clone(), path.clone(), *extra);
                suffixes
                    .iter()
                    .enumerate()
                    .map(move |(number, Suffix { name, official })| {
                        let extra = extra + number * used.stride;
                        (format!("{column}_{name}"), path.clone() + official, extra)
                    })
            };
            spread = spread.iter().flat_map(entry).collect();
        }
        spread
    }

    /// Adds a field of a union's case to the columns of its name, which cases share.
    fn add_variant(&self, field: &Flat, columns: &mut Vec<Column>) -> Result<(), LayoutError> {
        let Some((case, _)) = field.case else {
            return Ok(());
        };
        if field.axes.iter().any(|used| used.is_rows) {
            return Err(field
                .at
                .error("arrays of rows cannot lie in a union: use an axis of columns"));
        }
        for (name, official, extra) in self.spread(field) {
            let known = columns.iter().position(|known| known.name == name);
            let position = known.unwrap_or_else(|| {
                let source = Source::Variant {
                    offsets: Vec::new(),
                };
                columns.push(Column {
                    official,
                    ..column(field, name, source)
                });
                columns.len() - 1
            });
            let known = &mut columns[position];
            let alike = known.scalar == field.scalar
                && known.unit == field.unit
                && known.enumeration == field.enumeration;
            let Source::Variant { offsets } = &mut known.source else {
                return Err(self.clash(field, &known.name));
            };
            if offsets.len() <= case {
                offsets.resize(case + 1, None);
            }
            if !alike || offsets[case].replace(field.offset + extra).is_some() {
                return Err(self.clash(field, &known.name));
            }
        }
        Ok(())
    }

    fn clash(&self, field: &Flat, column: &str) -> LayoutError {
        field.at.error(format!(
            "column {column} means something else in another place: rename this one with `as NAME`"
        ))
    }

    fn tag(&self) -> Result<Tag, LayoutError> {
        let union = self
            .packet
            .members
            .iter()
            .find_map(|member| match &member.kind {
                MemberKind::Union { by, cases, .. } => Some((member, by, cases)),
                _ => None,
            });
        let Some((member, by, cases)) = union else {
            unreachable!("a case lies in a union");
        };
        let place = self
            .fields
            .iter()
            .find(|field| field.path == *by && field.axes.is_empty())
            .map(Flat::place)
            .ok_or_else(|| member.at.error(format!("the packet has no field {by}")))?;
        let mut values: Vec<(Vec<u8>, usize)> = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            for code in &case.codes {
                let value = wire_bytes(place.scalar, code);
                let value = value.ok_or_else(|| {
                    member
                        .at
                        .error(format!("`{code}` cannot be a value of {by}"))
                })?;
                if values.iter().any(|(known, _)| *known == value) {
                    return Err(member
                        .at
                        .error(format!("two cases stand for {code}: remove one")));
                }
                values.push((value, number));
            }
        }
        Ok(Tag {
            place,
            cases: values,
        })
    }
}

fn column(field: &Flat, name: String, source: Source) -> Column {
    Column {
        official: field.path.clone(),
        unit: field.unit.clone(),
        note: field.note.clone(),
        enumeration: field.enumeration,
        role: field.role,
        ..Column::new(name, field.scalar, source)
    }
}

fn active_rule(
    definitions: &Definitions,
    fields: &[Vec<Flat>],
) -> Result<Option<ActiveRule>, LayoutError> {
    for (axis, definition) in definitions.axes.iter().enumerate() {
        let AxisKind::Rows {
            length,
            active: Some(active),
            ..
        } = &definition.kind
        else {
            continue;
        };
        let packet = definitions
            .packets
            .iter()
            .position(|packet| packet.name == active.packet);
        let field = packet.and_then(|packet| {
            fields[packet].iter().find(|field| {
                field.path.rsplit('.').next() == Some(&active.field)
                    && field.axes.len() == 1
                    && field.axes[0].axis == axis
                    && field.scalar.is_integer()
            })
        });
        let (Some(packet), Some(field)) = (packet, field) else {
            return Err(definition.at.error(format!(
                "there is no whole number {}.{} along {}",
                active.packet, active.field, definition.name
            )));
        };
        return Ok(Some(ActiveRule {
            axis: definition.name.clone(),
            packet,
            field: field.strided(&[axis], 0),
            length: *length,
            from: active.from,
        }));
    }
    Ok(None)
}

//! The fields of a packet in wire order, each at its offset: structs are taken
//! apart, arrays get their strides, names are resolved.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::parse::{AxisKind, Definitions, Member, MemberKind};
use super::words::{LARGEST_PACKET, LayoutError, Location};
use super::{Dimension, Leaf, Place, Role, Scalar, Strided, snake_case};

// Far above any real format; they keep a hostile layout from claiming memory.
/// Of all packets, with the members of structs as often as they are used.
const MOST_MEMBERS: usize = 1 << 17;
const MOST_FIELDS: usize = 1 << 14;
/// Of all tables.
pub(super) const MOST_COLUMNS: usize = 1 << 15;

/// Takes so many of those that are left; `false` if there are fewer.
pub(super) fn spend(left: &Cell<usize>, count: usize) -> bool {
    let rest = left.get().checked_sub(count);
    left.set(rest.unwrap_or(0));
    rest.is_some()
}

/// What the names of a layout file stand for.
pub(super) struct Names {
    axes: HashMap<String, usize>,
    structs: HashMap<String, usize>,
    /// How many members may still be listed, structs taken apart.
    members_left: Cell<usize>,
    fields_left: Cell<usize>,
    pub(super) columns_left: Cell<usize>,
}

impl Names {
    pub(super) fn of(definitions: &Definitions) -> Result<Names, LayoutError> {
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
pub(super) struct Flat {
    pub(super) at: Location,
    pub(super) path: String,
    pub(super) column: String,
    pub(super) scalar: Scalar,
    pub(super) offset: usize,
    pub(super) axes: Vec<AxisUse>,
    pub(super) unit: String,
    pub(super) note: String,
    pub(super) enumeration: Option<usize>,
    pub(super) role: Role,
    pub(super) table: Option<String>,
    /// The case of the union that it lies in, and that case's codes.
    pub(super) case: Option<(usize, Rc<[String]>)>,
}

/// An array on the way down to a field.
#[derive(Debug, Clone)]
pub(super) struct AxisUse {
    /// Position in [`Definitions::axes`].
    pub(super) axis: usize,
    pub(super) length: usize,
    pub(super) stride: usize,
    pub(super) is_rows: bool,
    /// Path of the struct that holds the array: its count is a sibling.
    pub(super) parent: String,
}

impl AxisUse {
    /// The path of a field beside the array.
    pub(super) fn sibling(&self, name: &str) -> String {
        match self.parent.as_str() {
            "" => name.to_string(),
            parent => format!("{parent}.{name}"),
        }
    }
}

impl Flat {
    pub(super) fn place(&self) -> Place {
        Place {
            offset: self.offset,
            scalar: self.scalar,
        }
    }

    pub(super) fn all_axes(&self) -> Vec<usize> {
        self.axes.iter().map(|used| used.axis).collect()
    }

    pub(super) fn row_axes(&self) -> Vec<usize> {
        let rows = self.axes.iter().filter(|used| used.is_rows);
        rows.map(|used| used.axis).collect()
    }

    /// The field with a stride for each of `axes`, `extra` bytes further on.
    pub(super) fn strided(&self, axes: &[usize], extra: usize) -> Strided {
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
    pub(super) fn end(&self) -> usize {
        self.end_of(0)
    }

    /// Where the last row of its entry `extra` bytes from the first one ends.
    pub(super) fn end_of(&self, extra: usize) -> usize {
        let rows = self.axes.iter().filter(|used| used.is_rows);
        let last: usize = rows.map(|used| (used.length - 1) * used.stride).sum();
        self.offset + extra + last + self.scalar.size()
    }

    /// A leaf for each code of the case, or the only one.
    pub(super) fn leaves(&self) -> Vec<Leaf> {
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
pub(super) struct Scope {
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
pub(super) struct Flattener<'a> {
    definitions: &'a Definitions,
    names: &'a Names,
    pub(super) offset: usize,
    pub(super) fields: Vec<Flat>,
}

impl<'a> Flattener<'a> {
    pub(super) fn new(definitions: &'a Definitions, names: &'a Names) -> Self {
        Flattener {
            definitions,
            names,
            offset: 0,
            fields: Vec::new(),
        }
    }

    /// Places that members state count from `base`.
    pub(super) fn members(
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
        if !spend(&self.names.members_left, 1) || scope.depth > 16 {
            return Err(member.at.error("too many fields, or nested too deeply"));
        }
        if self.offset > LARGEST_PACKET {
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
        if !spend(&self.names.fields_left, names) {
            return Err(member.at.error(format!("more than {MOST_FIELDS} fields")));
        }
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

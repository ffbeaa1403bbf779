//! Each packet's fields dealt out to flat tables.
//!
//! Arrays decide the tables. An axis of columns spreads its entries over
//! columns with suffixes. An axis of rows gives a row an entry: in the
//! packet's own table if the packet names the axis among its `rows`, else in a
//! child table.

use std::cell::Cell;
use std::collections::HashSet;

use super::flatten::{Flat, MOST_COLUMNS, spend};
use super::parse::{AxisDefinition, AxisKind, Definitions, MemberKind, PacketDefinition, Suffix};
use super::words::{LayoutError, Location, wire_bytes};
use super::{Column, Place, Role, RowAxis, Scalar, Source, Strided, Table, Tag, snake_case};

// Far above any real format; they keep a hostile layout from claiming memory.
const MOST_ROWS_PER_RECORD: usize = 1 << 16;
/// What the rows of one record may take, decoded.
const MOST_BYTES_PER_RECORD: usize = 64 << 20;

/// Fields that make a table.
struct Group<'a> {
    axes: Vec<usize>,
    /// Its name, if the layout gives it one of its own.
    table: Option<String>,
    fields: Vec<&'a Flat>,
}

/// Deals the fields of one packet out to its tables.
pub(super) struct PacketTables<'a> {
    pub(super) definitions: &'a Definitions,
    pub(super) packet: &'a PacketDefinition,
    pub(super) position: usize,
    pub(super) fields: &'a [Flat],
    pub(super) header_length: usize,
    /// Where a field lies that every packet has.
    pub(super) place: &'a dyn Fn(&Location, &str) -> Result<Place, LayoutError>,
    /// How many columns all tables together may still have.
    pub(super) columns_left: &'a Cell<usize>,
    /// The least length of a record.
    pub(super) shortest: usize,
}

impl PacketTables<'_> {
    pub(super) fn build(&self) -> Result<Vec<Table>, LayoutError> {
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
        let table = Table {
            name,
            packet: self.position,
            tag: match own.iter().any(|field| field.case.is_some()) {
                true => Some(self.tag()?),
                false => None,
            },
            axes: row_axes,
            columns,
        };
        self.check(&table)?;
        Ok(table)
    }

    /// Refuses a table that is too large, or whose columns cannot be told apart.
    fn check(&self, table: &Table) -> Result<(), LayoutError> {
        let Table { name, columns, .. } = table;
        let rows = table.rows_per_record();
        let bytes = table.bytes_per_record();
        let complaint = if rows > MOST_ROWS_PER_RECORD {
            format!(
                "one record of table {name} would give {rows} rows; the most is \
                 {MOST_ROWS_PER_RECORD}"
            )
        } else if !spend(self.columns_left, columns.len()) {
            format!("all tables together have more than {MOST_COLUMNS} columns")
        } else if bytes > MOST_BYTES_PER_RECORD {
            format!(
                "one record of table {name} would give {bytes} bytes of rows; the most is \
                 {MOST_BYTES_PER_RECORD}"
            )
        } else {
            let mut seen = HashSet::new();
            let twice = columns.iter().find(|column| !seen.insert(&column.name));
            match twice {
                None => return Ok(()),
                Some(column) => format!(
                    "two columns of table {name} are named {}: rename one with `as NAME`",
                    column.name
                ),
            }
        };
        Err(self.packet.at.error(complaint))
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
        let mut used = own.iter().flat_map(|field| &field.axes);
        let used = used.find(|used| used.axis == axis);
        let path = used.map_or_else(|| name.to_string(), |used| used.sibling(name));
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

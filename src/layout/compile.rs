//! Definitions into a [`Layout`]: what marks its datagrams, what every packet
//! has, and whether it can work at all. Where the fields lie is settled in
//! `flatten`, what becomes of them in `tables`.

use std::collections::{HashMap, HashSet};

use super::flatten::{Flat, Flattener, Names, Scope};
use super::parse::{AxisKind, Definitions, PacketDefinition};
use super::sessions::Finder;
use super::tables::PacketTables;
use super::words::{LayoutError, Location, file_name, wire_bytes};
use super::{ActiveRule, Check, Evidence, Layout, Match, Packet, Place, Scalar};

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
        match place.scalar.is_integer() || place.scalar == Scalar::Bool {
            true => Ok(place),
            false => Err(at.error(format!("{name} must be a whole number or bool"))),
        }
    };
    let number = |at: &Location, name: &str| {
        let place = place(at, name)?;
        match place.scalar.is_number() {
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
        frame: optional(&definitions.frame)?,
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
    let finder = Finder {
        definitions: &definitions,
        fields: &all_fields,
    };
    if let Some((at, names)) = &definitions.status {
        let facts = names.iter().map(|name| finder.fact(at, name));
        layout.status = facts.collect::<Result<_, _>>()?;
    }
    layout.sessions = finder.sessions(&place)?;
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
        let is_text = field.scalar.is_text();
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

//! The tables of a format, column by column, as a conversion would write them,
//! and the names of its values.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::ArrayRef;
use serde_json::{Value, json};

use crate::decode::{Selection, TablePlan};
use crate::layout::{Enum, EnumKind, Layout};
use crate::sink::type_name;
use crate::text::printable;

/// A column as a conversion would write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub name: String,
    pub kind: &'static str,
    pub nullable: bool,
    metadata: BTreeMap<String, String>,
}

impl Column {
    /// What the metadata says by this key.
    pub(super) fn said(&self, key: &str) -> &str {
        self.metadata.get(key).map_or("", String::as_str)
    }

    /// Its type, with a mark if rows may lack it.
    pub(super) fn kind(&self) -> String {
        format!("{}{}", self.kind, if self.nullable { "?" } else { "" })
    }

    pub(super) fn line(&self) -> String {
        let kind = self.kind();
        // iRacing's units name the enum.
        let unit = Some(self.said("unit")).filter(|unit| *unit != self.said("enum"));
        let said = |key: &str| printable(self.said(key));
        let name = printable(&self.name);
        let mut line = format!(
            "{:<36} {kind:<20} {:<8}",
            name,
            printable(unit.unwrap_or_default())
        );
        if !said("enum").is_empty() {
            let _ = write!(line, " [{}]", said("enum"));
        }
        if !said("description").is_empty() {
            let _ = write!(line, " {}", said("description"));
        }
        line.trim_end().to_string()
    }

    fn json(&self) -> Value {
        let mut column = json!({ "name": self.name, "type": self.kind, "nullable": self.nullable });
        for (key, value) in &self.metadata {
            column[key] = value.as_str().into();
        }
        column
    }
}

/// Which tables, and what beyond the columns of the format they have.
#[derive(Debug, Default, Clone)]
pub(super) struct TableOptions {
    /// Positions of the packets that there are; all if absent.
    pub packets: Option<Vec<usize>>,
    /// Names of the inputs, if there are several.
    pub captures: Option<ArrayRef>,
    /// Whether names stand beside ids.
    pub labels: bool,
}

impl TableOptions {
    fn takes(&self, packet: usize) -> bool {
        let packets = self.packets.as_ref();
        packets.is_none_or(|packets| packets.contains(&packet))
    }
}

/// The tables of a format in its own order, as a conversion would write them.
pub(super) fn tables(layout: &Arc<Layout>, options: &TableOptions) -> Vec<(String, Vec<Column>)> {
    let selection = Selection {
        labels: options.labels,
        ..Selection::default()
    };
    let captures = options.captures.as_ref();
    let plans = (0..layout.tables.len())
        .filter(|table| options.takes(layout.tables[*table].packet))
        .map(|table| TablePlan::new(layout, table, &selection, captures, &[]));
    plans
        .map(|plan| {
            let columns = plan.schema.fields().iter().map(|field| Column {
                name: field.name().clone(),
                kind: type_name(field.data_type()),
                nullable: field.is_nullable(),
                metadata: field
                    .metadata()
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            });
            (plan.table().name.clone(), columns.collect())
        })
        .collect()
}

/// A format with its tables, or one of them, and its names of values.
pub(super) fn layout_json(
    layout: &Arc<Layout>,
    only: Option<&str>,
    options: &TableOptions,
) -> Value {
    let tables: Vec<Value> = tables(layout, options)
        .into_iter()
        .filter(|(name, _)| only.is_none_or(|only| only == name))
        .map(|(name, columns)| {
            json!({ "table": name, "columns": columns.iter().map(Column::json).collect::<Vec<_>>() })
        })
        .collect();
    let enums: serde_json::Map<String, Value> = layout
        .enums
        .iter()
        .map(|names| {
            (
                names.name.clone(),
                match &names.kind {
                    EnumKind::ByGame(_) => by_game(layout, names)
                        .into_iter()
                        .map(|(game, values)| (game, json!(to_map(values))))
                        .collect(),
                    _ => json!(to_map(values_of(layout, names))),
                },
            )
        })
        .collect();
    json!({
        "schema_version": 1,
        "format": layout.name,
        "game": layout.title,
        "games": layout.games.iter().map(|game| json!({
            "game": game.id,
            "title": game.title,
        })).collect::<Vec<_>>(),
        "packets": layout.packets.iter().map(|packet| json!({
            "packet": packet.name,
            "id": packet.id,
            "bytes": packet.size,
            "shorter": packet.shorter,
        })).collect::<Vec<_>>(),
        "tables": tables,
        "enums": enums,
    })
}

fn to_map(values: Vec<(String, String)>) -> BTreeMap<String, String> {
    values.into_iter().collect()
}

/// Values and their names in each game of the format.
fn by_game(layout: &Layout, names: &Enum) -> Vec<(String, Vec<(String, String)>)> {
    let EnumKind::ByGame(variants) = &names.kind else {
        return Vec::new();
    };
    let games = layout.games.iter().enumerate();
    games
        .map(|(position, game)| {
            let own = variants.iter().filter(|(set, _)| set.contains(position));
            let values = own.flat_map(|(_, values)| values.iter().map(as_text));
            (game.id.clone(), values.collect())
        })
        .collect()
}

fn as_text((value, name): &(i64, String)) -> (String, String) {
    (value.to_string(), name.clone())
}

/// Values and their names, as text.
pub(super) fn values_of(layout: &Layout, names: &Enum) -> Vec<(String, String)> {
    match &names.kind {
        EnumKind::Values(values) => values.iter().map(as_text).collect(),
        EnumKind::ByGame(_) => by_game(layout, names)
            .into_iter()
            .flat_map(|(game, values)| {
                let of_game = move |(value, name)| (format!("{value} ({game})"), name);
                values.into_iter().map(of_game)
            })
            .collect(),
        EnumKind::Flags(bits) => bits
            .iter()
            .map(|(bit, name)| (format!("{bit:#x}"), name.clone()))
            .collect(),
        EnumKind::Codes(codes) => codes.clone(),
    }
}

//! `simtel schema`: the tables of every format, column by column, and what
//! changed from one format to another.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::formats::FormatOptions;
use super::{Outcome, UsageError, values};
use crate::decode::{Selection, TablePlan};
use crate::formats::Formats;
use crate::layout::{Enum, EnumKind, Layout};
use crate::sink::type_name;

/// Show the tables of a format, and what their columns mean
///
/// Without a name it lists the formats and their tables; with the name of a
/// format or a table, such as f1_2025 or f1_2025/lap_data, the columns with
/// their types, units and notes.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Schema {
    /// A format, or a table as format/table
    name: Option<String>,
    /// Show what changed from one format to another
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "name")]
    compare: Option<Vec<String>>,
    #[command(flatten)]
    formats: FormatOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  simtel schema
  simtel schema f1_2025/car_telemetry
  simtel schema f1_2025 --json
  simtel schema --compare f1_2024 f1_2025";

impl Schema {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let formats = self.formats.formats()?;
        let text = match (&self.compare, &self.name) {
            (Some(names), _) => {
                let old = format(&formats, &names[0])?;
                let new = format(&formats, &names[1])?;
                let changes = Changes::between(old, new);
                match self.json {
                    true => pretty(&changes.json())?,
                    false => changes.text(),
                }
            }
            (None, Some(name)) => self.named(&formats, name)?,
            (None, None) if self.json => {
                let layouts = formats.layouts().iter();
                pretty(&Value::Array(
                    layouts.map(|layout| layout_json(layout, None)).collect(),
                ))?
            }
            (None, None) => list(&formats),
        };
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Complete)
    }

    fn named(&self, formats: &Formats, name: &str) -> anyhow::Result<String> {
        let (name, table) = match name.split_once('/') {
            Some((name, table)) => (name, Some(table)),
            None => (name, None),
        };
        let layout = format(formats, name)?;
        if let Some(table) = table
            && layout.table(table).is_none()
        {
            let names = layout.tables.iter().map(|table| table.name.as_str());
            return Err(UsageError(values::unknown("table", table, names)).into());
        }
        if self.json {
            return pretty(&layout_json(layout, table));
        }
        let mut text = format!("{} ({})\n", layout.title, layout.name);
        for (name, columns) in tables(layout) {
            if table.is_none_or(|table| table == name) {
                let _ = writeln!(text, "\n{}/{name}", layout.name);
                for column in columns {
                    let _ = writeln!(text, "  {}", column.line());
                }
            }
        }
        Ok(text)
    }
}

fn format<'a>(formats: &'a Formats, name: &str) -> anyhow::Result<&'a Arc<Layout>> {
    let mut layouts = formats.layouts().iter();
    layouts.find(|layout| layout.name == name).ok_or_else(|| {
        let names = formats.layouts().iter().map(|layout| layout.name.as_str());
        UsageError(values::unknown("format", name, names)).into()
    })
}

fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn list(formats: &Formats) -> String {
    let mut text = String::new();
    let width = |of: fn(&Layout) -> &str| {
        let layouts = formats.layouts().iter();
        layouts.map(|layout| of(layout).len()).max().unwrap_or(0)
    };
    let (names, titles) = (width(|layout| &layout.name), width(|layout| &layout.title));
    for layout in formats.layouts() {
        let tables: Vec<&str> = layout
            .tables
            .iter()
            .map(|table| table.name.as_str())
            .collect();
        let _ = writeln!(
            text,
            "{:<names$} {:<titles$} {}",
            layout.name,
            layout.title,
            tables.join(" ")
        );
    }
    text
}

/// A column as a conversion would write it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Column {
    name: String,
    kind: &'static str,
    nullable: bool,
    metadata: BTreeMap<String, String>,
}

impl Column {
    fn line(&self) -> String {
        let said = |key: &str| self.metadata.get(key).map_or("", String::as_str);
        let kind = format!("{}{}", self.kind, if self.nullable { "?" } else { "" });
        let mut line = format!("{:<36} {kind:<20} {:<8}", self.name, said("unit"));
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

/// The tables of a format in its own order, as a conversion would write them.
fn tables(layout: &Arc<Layout>) -> Vec<(String, Vec<Column>)> {
    let plans = (0..layout.tables.len())
        .map(|table| TablePlan::new(layout, table, &Selection::default(), None, &[]));
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

fn layout_json(layout: &Arc<Layout>, only: Option<&str>) -> Value {
    let tables: Vec<Value> = tables(layout)
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
fn values_of(layout: &Layout, names: &Enum) -> Vec<(String, String)> {
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

/// What is different in one list of named things.
#[derive(Debug, Default)]
struct Difference {
    added: Vec<String>,
    removed: Vec<String>,
    /// Name, what it was, what it is.
    changed: Vec<(String, String, String)>,
}

impl Difference {
    fn between(old: &[(String, String)], new: &[(String, String)]) -> Difference {
        let lookup = |list: &[(String, String)], name: &str| {
            let found = list.iter().find(|(known, _)| known == name);
            found.map(|(_, what)| what.clone())
        };
        let mut difference = Difference::default();
        for (name, was) in old {
            match lookup(new, name) {
                None => difference.removed.push(name.clone()),
                Some(is) if is != *was => difference.changed.push((name.clone(), was.clone(), is)),
                Some(_) => {}
            }
        }
        let added = new.iter().filter(|(name, _)| lookup(old, name).is_none());
        difference.added = added.map(|(name, _)| name.clone()).collect();
        difference
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    fn text(&self, out: &mut String) {
        for name in &self.added {
            let _ = writeln!(out, "  + {name}");
        }
        for name in &self.removed {
            let _ = writeln!(out, "  - {name}");
        }
        for (name, was, is) in &self.changed {
            let _ = writeln!(out, "  ~ {name}: {was} → {is}");
        }
    }

    fn json(&self) -> Value {
        json!({
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed.iter().map(|(name, was, is)| json!({
                "name": name, "old": was, "new": is,
            })).collect::<Vec<_>>(),
        })
    }
}

/// What is different between two formats.
struct Changes {
    old: String,
    new: String,
    packets: Difference,
    tables: Difference,
    /// By table that both have.
    columns: Vec<(String, Difference)>,
    /// By enum that both have.
    enums: Vec<(String, Difference)>,
}

impl Changes {
    fn between(old: &Arc<Layout>, new: &Arc<Layout>) -> Changes {
        let packets = |layout: &Layout| -> Vec<(String, String)> {
            let packets = layout.packets.iter();
            packets
                .map(|packet| (packet.name.clone(), format!("{} bytes", packet.size)))
                .collect()
        };
        let (old_tables, new_tables) = (tables(old), tables(new));
        let names = |tables: &[(String, Vec<Column>)]| -> Vec<(String, String)> {
            tables
                .iter()
                .map(|(name, _)| (name.clone(), String::new()))
                .collect()
        };
        let columns = |columns: &[Column]| -> Vec<(String, String)> {
            let said = |column: &Column| {
                let unit = column.metadata.get("unit").map_or("", String::as_str);
                format!("{} {unit}", column.kind).trim_end().to_string()
            };
            columns
                .iter()
                .map(|column| (column.name.clone(), said(column)))
                .collect()
        };
        let mut by_table = Vec::new();
        for (name, was) in &old_tables {
            if let Some((_, is)) = new_tables.iter().find(|(known, _)| known == name) {
                let difference = Difference::between(&columns(was), &columns(is));
                by_table.push((name.clone(), difference));
            }
        }
        let mut enums = Vec::new();
        for was in &old.enums {
            if let Some(is) = new.enums.iter().find(|is| is.name == was.name) {
                let difference = Difference::between(&values_of(old, was), &values_of(new, is));
                enums.push((was.name.clone(), difference));
            }
        }
        by_table.retain(|(_, difference)| !difference.is_empty());
        enums.retain(|(_, difference)| !difference.is_empty());
        Changes {
            old: old.name.clone(),
            new: new.name.clone(),
            packets: Difference::between(&packets(old), &packets(new)),
            tables: Difference::between(&names(&old_tables), &names(&new_tables)),
            columns: by_table,
            enums,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} → {}\n", self.old, self.new);
        for (title, difference) in [("packets", &self.packets), ("tables", &self.tables)] {
            if !difference.is_empty() {
                let _ = writeln!(text, "\n{title}");
                difference.text(&mut text);
            }
        }
        for (what, list) in [("columns of", &self.columns), ("names of", &self.enums)] {
            for (name, difference) in list {
                let _ = writeln!(text, "\n{what} {name}");
                difference.text(&mut text);
            }
        }
        text
    }

    fn json(&self) -> Value {
        let list = |list: &[(String, Difference)]| -> Value {
            let entries = list
                .iter()
                .map(|(name, changes)| (name.clone(), changes.json()));
            Value::Object(entries.collect())
        };
        json!({
            "schema_version": 1,
            "old": self.old,
            "new": self.new,
            "packets": self.packets.json(),
            "tables": self.tables.json(),
            "columns": list(&self.columns),
            "enums": list(&self.enums),
        })
    }
}

//! What changed from one format to another.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::tables::{Column, TableOptions, tables, values_of};
use crate::layout::Layout;

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
pub(super) struct Changes {
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
    pub(super) fn between(old: &Arc<Layout>, new: &Arc<Layout>) -> Changes {
        let packets = |layout: &Layout| -> Vec<(String, String)> {
            let packets = layout.packets.iter();
            packets
                .map(|packet| (packet.name.clone(), format!("{} bytes", packet.size)))
                .collect()
        };
        let all = TableOptions::default();
        let (old_tables, new_tables) = (tables(old, &all), tables(new, &all));
        let names = |tables: &[(String, Vec<Column>)]| -> Vec<(String, String)> {
            tables
                .iter()
                .map(|(name, _)| (name.clone(), String::new()))
                .collect()
        };
        let columns = |columns: &[Column]| -> Vec<(String, String)> {
            let said = |column: &Column| {
                format!("{} {}", column.kind, column.said("unit"))
                    .trim_end()
                    .to_string()
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

    pub(super) fn text(&self) -> String {
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

    pub(super) fn json(&self) -> Value {
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

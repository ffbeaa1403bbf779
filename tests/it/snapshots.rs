//! Every table of every packet kind of the samples, schema and values, pinned.

use std::fmt::Write;

use serde_json::Value;

use simtel::formats::Formats;

use crate::support::{Table, Workplace, project_path};

/// The schema of a table, and a few of its rows side by side.
fn describe(schema: &Value, table: &Table) -> String {
    let last = table.rows.len() - 1;
    let shown: Vec<usize> = match last {
        0..30 => (0..=last).collect(),
        // The player's car is number 7.
        _ => vec![0, 7, last / 2, last],
    };
    let mut text = format!("{} rows; shown are {shown:?}\n", table.rows.len());
    let columns = schema["columns"].as_array().expect("columns");
    assert_eq!(columns.len(), table.columns.len());
    for (column, name) in columns.iter().zip(&table.columns) {
        assert_eq!(column["name"], **name);
        let said = |key: &str| column[key].as_str().unwrap_or("").to_string();
        let nullable = if column["nullable"] == true { "?" } else { "" };
        let cells: Vec<&str> = shown.iter().map(|row| table.cell(*row, name)).collect();
        let mut line = format!("{name}: {}{nullable}", said("type"));
        for key in ["unit", "enum", "official_name", "description"] {
            if !said(key).is_empty() {
                write!(line, " | {}", said(key)).expect("text");
            }
        }
        writeln!(text, "{line}\n    {}", cells.join(" | ")).expect("text");
    }
    text
}

#[test]
fn every_table_of_every_sample() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let formats = Formats::built_in();
    let layouts = formats.layouts().iter();
    let samples = layouts.map(|layout| (layout.name.as_str(), "pcap", layout.tables.len()));
    for (format, kind, count) in samples.chain([("iracing", "ibt", 9)]) {
        let place = Workplace::new();
        let sample = project_path(&format!("samples/{format}.{kind}"));
        let sample = sample.display().to_string();
        place.succeed(&["convert", &sample, "-o", "out", "-f", "csv", "--labels"]);
        let files = place.files("out");
        let schema: Value =
            serde_json::from_slice(&files[&format!("{format}/schema.json")]).expect("JSON");
        let tables = schema["tables"].as_object().expect("tables");
        assert_eq!(tables.len(), count, "{format}");
        settings.bind(|| {
            for (name, schema) in tables {
                let table = Table::parse(&files[&format!("{format}/{name}.csv")]);
                insta::assert_snapshot!(format!("{format}__{name}"), describe(schema, &table));
            }
        });
    }
}

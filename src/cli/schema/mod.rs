//! `simtel schema`: the tables of every format, column by column, and what
//! changed from one format to another.

mod compare;
mod markdown;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use clap::Args;
use serde_json::Value;

use super::formats::FormatOptions;
use super::messages::Messages;
use super::{Outcome, UsageError, inputs, progress, values};
use crate::capture::Input;
use crate::formats::{Formats, iracing};
use crate::inspect;
use crate::layout::Layout;
use compare::Changes;
use tables::{TableOptions, layout_json};

/// Show the tables of a format, and what their columns mean
///
/// Without a name it lists the formats and their tables; with the name of a
/// format or a table, such as f1_2025 or f1_2025/lap_data, the columns with
/// their types, units and notes, and the names of values; with captures, the tables
/// that their conversion would write, if each has a row. What a recording of iRacing holds it says itself: iracing shows
/// what has been seen in some.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Schema {
    /// A format, a table as format/table or of all formats, or captures: files,
    /// folders, patterns
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Show what changed from one format to another
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "names")]
    compare: Option<Vec<String>>,
    #[command(flatten)]
    formats: FormatOptions,
    /// Show the columns that --labels adds, too
    #[arg(long, conflicts_with = "compare")]
    labels: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print a manual in Markdown, in which formats of one family share tables
    #[arg(long, conflicts_with_all = ["json", "compare"])]
    markdown: bool,
}

const EXAMPLES: &str = "Examples:
  simtel schema
  simtel schema f1_2025/car_telemetry
  simtel schema f1_2025 --json
  simtel schema stint.ibt
  simtel schema --compare f1_2024 f1_2025
  simtel schema --markdown >tables.md";

/// A format, and which of its tables to show.
struct Shown {
    layout: Arc<Layout>,
    /// The only one of its tables.
    table: Option<String>,
    options: TableOptions,
}

impl Schema {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome::Complete;
        let known = match self.formats.is_limited() {
            true => self.formats.formats()?,
            false => self.formats.formats()?.with_ticks(iracing::reference()),
        };
        let text = if let Some(names) = &self.compare {
            let changes = Changes::between(format(&known, &names[0])?, format(&known, &names[1])?);
            match self.json {
                true => pretty(&changes.json())?,
                false => changes.text(),
            }
        } else {
            let shown = self.shown(&known, messages, &mut outcome)?;
            match (self.json, self.markdown) {
                (true, _) => self.json(&shown)?,
                (_, true) => markdown::text(&shown),
                _ if self.names.is_empty() => list(&known),
                _ => columns(&shown),
            }
        };
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(outcome)
    }

    /// What the names stand for; all formats if there are none.
    fn shown(
        &self,
        formats: &Formats,
        messages: &Messages,
        outcome: &mut Outcome,
    ) -> anyhow::Result<Vec<Shown>> {
        let options = TableOptions {
            labels: self.labels,
            ..TableOptions::default()
        };
        let whole = |layout: &Arc<Layout>| Shown {
            layout: layout.clone(),
            table: None,
            options: options.clone(),
        };
        if self.names.is_empty() {
            return Ok(formats.layouts().iter().map(whole).collect());
        }
        let is_input = |name: &String| is_input(formats, name);
        if self.names.iter().any(is_input) {
            return self.of_inputs(messages, outcome);
        }
        let mut shown = Vec::new();
        for name in &self.names {
            let (format_name, table) = match name.split_once('/') {
                Some((format_name, table)) => (format_name, Some(table)),
                None => (name.as_str(), None),
            };
            // The name of a table alone is that of each format.
            let mut layouts = formats.layouts().iter();
            if table.is_none() && layouts.all(|layout| layout.name != *name) {
                let with_it = formats.layouts().iter();
                let before = shown.len();
                shown.extend(
                    with_it
                        .filter(|layout| layout.table(name).is_some())
                        .map(|layout| Shown {
                            table: Some(name.clone()),
                            ..whole(layout)
                        }),
                );
                if shown.len() > before {
                    continue;
                }
            }
            let layout = format(formats, format_name)?;
            if let Some(table) = table
                && layout.table(table).is_none()
            {
                let names = layout.tables.iter().map(|table| table.name.as_str());
                return Err(UsageError(values::unknown("table", table, names)).into());
            }
            shown.push(Shown {
                table: table.map(String::from),
                ..whole(layout)
            });
        }
        Ok(shown)
    }

    /// What a conversion of the captures that the names stand for would write.
    fn of_inputs(&self, messages: &Messages, outcome: &mut Outcome) -> anyhow::Result<Vec<Shown>> {
        let paths: Vec<PathBuf> = self.names.iter().map(PathBuf::from).collect();
        let paths = inputs::expand(&paths)?;
        let (sources, survey) = inputs::survey(&paths);
        let formats = self.formats.formats()?;
        let names = paths.iter().map(|path| inputs::name(path));
        let captures =
            (paths.len() > 1).then(|| Arc::new(StringArray::from_iter_values(names)) as ArrayRef);
        let bar = progress::bar(&paths, messages);
        let mut seen: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (path, source) in paths.iter().zip(sources) {
            if source.has_ticks() {
                continue;
            }
            let capture = match source.open(path) {
                Ok(Input::Datagrams(capture)) => capture,
                Ok(Input::Ticks(_)) => continue,
                Err(error) if paths.len() > 1 => {
                    messages.warning(error);
                    *outcome = Outcome::Flawed;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let name = inputs::name(path);
            let progress = progress::meter(&bar);
            let found = inspect::datagrams(&name, *capture, &formats, &progress)?;
            for (number, packet) in found.report.packets.keys() {
                seen.entry(*number).or_default().push(*packet);
            }
        }
        bar.finish_and_clear();
        let shown = |layout: Arc<Layout>, packets| Shown {
            layout,
            table: None,
            options: TableOptions {
                packets,
                captures: captures.clone(),
                labels: self.labels,
            },
        };
        let layouts = seen
            .into_iter()
            .map(|(number, packets)| shown(formats.layouts()[number].clone(), Some(packets)));
        let ticks = survey.first_layout().map(|layout| shown(layout, None));
        let found: Vec<Shown> = layouts.chain(ticks).collect();
        if found.is_empty() {
            anyhow::bail!(
                "nothing would be written: no telemetry was found; `simtel info` says what there is"
            );
        }
        Ok(found)
    }

    fn json(&self, shown: &[Shown]) -> anyhow::Result<String> {
        let mut objects: Vec<Value> = shown
            .iter()
            .map(|shown| layout_json(&shown.layout, shown.table.as_deref(), &shown.options))
            .collect();
        match (self.names.as_slice(), objects.len()) {
            // The name of one format or table.
            ([_], 1) => pretty(&objects.remove(0)),
            _ => pretty(&Value::Array(objects)),
        }
    }
}

/// Whether a name is that of captures, not of a format.
fn is_input(formats: &Formats, name: &str) -> bool {
    let format = name.split('/').next().unwrap_or_default();
    let is_format = formats.layouts().iter().any(|layout| layout.name == format);
    let looks_like_files = name == "-" || name.contains(['*', '?', '.']);
    !is_format && (looks_like_files || Path::new(name).exists())
}

/// All columns, table by table.
fn columns(shown: &[Shown]) -> String {
    let mut text = String::new();
    for (number, shown) in shown.iter().enumerate() {
        let mut used = BTreeSet::new();
        let layout = &shown.layout;
        let space = if number > 0 { "\n" } else { "" };
        let _ = writeln!(text, "{space}{} ({})", layout.title, layout.name);
        for (name, columns) in tables::tables(layout, &shown.options) {
            if shown.table.as_ref().is_none_or(|table| *table == name) {
                let _ = writeln!(text, "\n{}/{name}", layout.name);
                for column in columns {
                    let _ = writeln!(text, "  {}", column.line());
                    used.insert(column.said("enum").to_string());
                }
            }
        }
        names_of_values(&mut text, layout, &used);
    }
    text
}

/// The names of values that these columns use.
fn names_of_values(text: &mut String, layout: &Layout, used: &BTreeSet<String>) {
    const WIDTH: usize = 96;
    let mut enums = layout
        .enums
        .iter()
        .filter(|names| used.contains(&names.name))
        .peekable();
    if enums.peek().is_some() {
        let _ = writeln!(text, "\nnames of values");
    }
    for names in enums {
        let mut line = format!("  {}:", names.name);
        for (position, (value, name)) in tables::values_of(layout, names).iter().enumerate() {
            let entry = format!(" {value} {name}");
            line.push_str(if position > 0 { "," } else { "" });
            if line.chars().count() + entry.chars().count() > WIDTH {
                let _ = writeln!(text, "{line}");
                line = "   ".into();
            }
            line.push_str(&entry);
        }
        let _ = writeln!(text, "{line}");
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

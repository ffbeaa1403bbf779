//! The manual of all tables. Formats of one family, such as the years of a game,
//! differ little: they share tables, in which each column says where it is.

use std::fmt::Write as _;

use super::Shown;
use super::tables::{Column, tables, values_of};
use crate::text::printable;

/// Things that some formats of a family have, in an order that suits all.
struct Merged<T> {
    entries: Vec<(T, Vec<usize>)>,
}

impl<T: PartialEq> Merged<T> {
    fn new() -> Merged<T> {
        Merged {
            entries: Vec::new(),
        }
    }

    /// Adds what the format at this position has, each behind the one before it.
    fn add(&mut self, format: usize, list: impl IntoIterator<Item = T>) {
        let mut place = 0;
        for entry in list {
            let known = self.entries.iter().position(|(known, _)| *known == entry);
            let position = known.unwrap_or_else(|| {
                self.entries.insert(place, (entry, Vec::new()));
                place
            });
            self.entries[position].1.push(format);
            place = position + 1;
        }
    }
}

/// The names of the formats of a family.
struct Family<'a> {
    name: &'a str,
    formats: Vec<&'a str>,
}

impl Family<'_> {
    /// Which formats these are, if not all of `among`: `2019–2022, 2025`.
    fn which(&self, formats: &[usize], among: &[usize]) -> String {
        if formats == among {
            return String::new();
        }
        let short = |format: usize| {
            let name = self.formats[format];
            let rest = name.strip_prefix(self.name).unwrap_or(name);
            rest.trim_start_matches('_').to_string()
        };
        let runs = formats.chunk_by(|one, next| one + 1 == *next);
        let said = runs.map(|run| match run {
            [first, .., last] if run.len() > 2 => format!("{}–{}", short(*first), short(*last)),
            few => few
                .iter()
                .map(|format| short(*format))
                .collect::<Vec<_>>()
                .join(", "),
        });
        said.collect::<Vec<_>>().join(", ")
    }
}

pub(super) fn text(shown: &[Shown]) -> String {
    let mut text = String::from(
        "# Tables\n\nEvery table that simtel writes, column by column; made by \
         `simtel schema --markdown`. Columns that not all formats of a table have say which ones \
         do. A `?` behind a type means that rows may lack the value. Names of values, which \
         `--labels` writes beside the ids, follow behind the tables of each family.\n",
    );
    // Those of one family lie side by side.
    let family = |shown: &Shown| {
        let name = shown.layout.name.as_str();
        name.split('_').next().unwrap_or(name).to_string()
    };
    for members in shown.chunk_by(|one, next| family(one) == family(next)) {
        let name = family(&members[0]);
        let formats = members.iter().map(|shown| shown.layout.name.as_str());
        let family = Family {
            name: &name,
            formats: formats.collect(),
        };
        self::family(&mut text, &family, members);
    }
    text
}

fn family(text: &mut String, family: &Family<'_>, members: &[Shown]) {
    let _ = write!(
        text,
        "\n## {}\n\n| format | game |\n|---|---|\n",
        family.name
    );
    for shown in members {
        let _ = writeln!(
            text,
            "| `{}` | {} |",
            shown.layout.name,
            escaped(&shown.layout.title)
        );
    }
    let mut names = Merged::new();
    let mut by_format = Vec::new();
    for (format, shown) in members.iter().enumerate() {
        let mut tables = tables(&shown.layout, &shown.options);
        tables.retain(|(name, _)| shown.table.as_ref().is_none_or(|table| table == name));
        names.add(format, tables.iter().map(|(name, _)| name.clone()));
        by_format.push(tables);
    }
    let everywhere: Vec<usize> = (0..members.len()).collect();
    for (table, formats) in &names.entries {
        let _ = write!(text, "\n### {} {table}\n\n", family.name);
        let which = family.which(formats, &everywhere);
        if !which.is_empty() {
            let _ = write!(text, "In {which}.\n\n");
        }
        let mut columns = Merged::new();
        for format in formats {
            let tables = by_format[*format].iter_mut();
            let mut found = tables.filter(|(name, _)| name == table);
            if let Some((_, found)) = found.next() {
                columns.add(*format, std::mem::take(found));
            }
        }
        table_of_columns(text, family, &columns, formats);
    }
    names_of_values(text, family, members);
}

fn table_of_columns(
    text: &mut String,
    family: &Family<'_>,
    columns: &Merged<Column>,
    formats: &[usize],
) {
    text.push_str(
        "| column | type | unit | names | in | description |\n|---|---|---|---|---|---|\n",
    );
    for (column, of) in &columns.entries {
        let names = match column.said("enum") {
            "" => String::new(),
            names => format!("[{names}](#{}-{})", family.name, names.to_lowercase()),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {names} | {} | {} |",
            printable(&column.name).replace(['`', '|'], "_"),
            column.kind(),
            escaped(column.said("unit")),
            family.which(of, formats),
            escaped(column.said("description")),
        );
    }
}

fn names_of_values(text: &mut String, family: &Family<'_>, members: &[Shown]) {
    let mut enums = Merged::new();
    // Of a single table only its own names are of interest.
    let whole = members
        .iter()
        .enumerate()
        .filter(|(_, shown)| shown.table.is_none());
    for (format, shown) in whole.clone() {
        enums.add(
            format,
            shown.layout.enums.iter().map(|names| names.name.clone()),
        );
    }
    for (name, formats) in &enums.entries {
        let _ = write!(
            text,
            "\n#### {} {name}\n\n| value | name | in |\n|---|---|---|\n",
            family.name
        );
        let mut values = Merged::new();
        for (format, shown) in whole.clone() {
            let found = shown.layout.enums.iter().find(|names| names.name == *name);
            values.add(
                format,
                found
                    .map(|names| values_of(&shown.layout, names))
                    .into_iter()
                    .flatten(),
            );
        }
        for ((value, name), of) in &values.entries {
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                escaped(value),
                escaped(name),
                family.which(of, formats)
            );
        }
    }
}

/// Text as it stands, in a cell of a table.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in printable(text).chars() {
        if matches!(char, '|' | '*' | '_' | '<' | '`' | '\\' | '[') {
            escaped.push('\\');
        }
        escaped.push(char);
    }
    escaped
}

//! Rows of text in columns that line up, whatever script they are in.

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use crate::text::printable;

/// On which side of its column a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// Rows with as many texts each as there are columns.
pub(super) struct Columns {
    sides: Vec<Side>,
    rows: Vec<(Style, Vec<String>)>,
}

impl Columns {
    pub(super) fn new(sides: &[Side]) -> Columns {
        Columns {
            sides: sides.to_vec(),
            rows: Vec::new(),
        }
    }

    pub(super) fn add<const N: usize>(&mut self, style: Style, texts: [String; N]) {
        // It goes to a terminal, and comes from wherever.
        let texts = texts.iter().map(|text| printable(text));
        self.rows.push((style, texts.collect()));
    }

    /// The lines, each behind this indent.
    pub(super) fn text(&self, indent: &str) -> String {
        let width = |column: usize| {
            let texts = self.rows.iter().filter_map(|(_, texts)| texts.get(column));
            texts.map(|text| text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.sides.len()).map(width).collect();
        let mut lines = String::new();
        for (style, texts) in &self.rows {
            let mut line = String::new();
            for ((text, side), width) in texts.iter().zip(&self.sides).zip(&widths) {
                // Nothing ever stands there.
                if *width == 0 {
                    continue;
                }
                let space = " ".repeat(width - text.width());
                let (before, after) = match side {
                    Side::Left => ("", space.as_str()),
                    Side::Right => (space.as_str(), ""),
                };
                line.push_str(&format!("{before}{text}{after}  "));
            }
            lines.push_str(&format!("{indent}{style}{}{style:#}\n", line.trim_end()));
        }
        lines
    }
}

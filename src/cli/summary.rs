//! What a conversion came to, for people on standard error and for programs as
//! JSON on standard output.

use std::time::Duration;

use anyhow::bail;
use serde_json::{Value, json};

use super::messages::{DIM, Messages, STRONG, print_report};
use super::{Outcome, capture_json, values};
use crate::decode::{CaptureReport, Report};
use crate::formats::{Formats, iracing};
use crate::sink::Written;

/// Of what is wrong with a capture, this much is shown unasked.
const FLAWS_SHOWN: usize = 8;
/// Of the texts beside the tables, this many.
const DOCUMENTS_SHOWN: usize = 3;

/// What a conversion came to.
pub(super) struct Summary<'a> {
    pub formats: &'a Formats,
    pub report: &'a Report,
    pub written: &'a Written,
    pub elapsed: Duration,
}

impl Summary<'_> {
    pub(super) fn outcome(&self, messages: &Messages) -> anyhow::Result<Outcome> {
        let captures = &self.report.captures;
        if captures.iter().all(|capture| capture.error.is_some()) {
            bail!("none of the inputs could be read");
        }
        let decoded: u64 = captures.iter().map(CaptureReport::decoded_datagrams).sum();
        if decoded == 0 {
            messages.warning(self.nothing_found());
        } else if self.written.tables.is_empty() && self.written.skipped.is_empty() {
            messages.warning(
                "none of the wanted tables has a row, so none was written; \
                 --keep-empty writes tables without rows",
            );
        }
        let flawed = decoded == 0 || captures.iter().any(CaptureReport::is_flawed);
        Ok(match flawed {
            true => Outcome::Flawed,
            false => Outcome::Complete,
        })
    }

    fn expects_only_ticks(&self) -> bool {
        let mut layouts = self.formats.layouts().iter();
        layouts.all(|layout| layout.name == iracing::NAME)
    }

    fn nothing_found(&self) -> String {
        let captures = &self.report.captures;
        let datagrams: u64 = captures
            .iter()
            .map(|capture| capture.counts.datagrams)
            .sum();
        let out_of_range: u64 = captures.iter().map(|capture| capture.out_of_range).sum();
        let not_driving: u64 = captures.iter().map(|capture| capture.not_driving).sum();
        let known: Vec<String> = self
            .formats
            .layouts()
            .iter()
            .map(|layout| format!("{} ({})", layout.title, layout.name))
            .collect();
        if self.expects_only_ticks() {
            return match out_of_range {
                0 => "no telemetry was found: there is no complete tick".into(),
                _ => format!(
                    "no telemetry was found: all {} ticks are outside of the time range",
                    values::count(out_of_range)
                ),
            };
        }
        let seen = match (datagrams, out_of_range) {
            (0, _) => "there is no UDP datagram".to_string(),
            _ if not_driving > 0 => format!(
                "no car is driven in the {} datagrams of known games (--driving-only)",
                values::count(not_driving)
            ),
            (_, 0) => format!(
                "none of {} UDP datagrams is known",
                values::count(datagrams)
            ),
            _ => format!(
                "none of {} UDP datagrams is known and in the time range ({} are outside it)",
                values::count(datagrams),
                values::count(out_of_range)
            ),
        };
        format!(
            "no telemetry was found: {seen}. Expected were {}; --layout describes another game",
            known.join(", ")
        )
    }

    pub(super) fn print(&self, messages: &Messages) {
        let report = self.report;
        for capture in &report.captures {
            for seen in capture.packets.values() {
                messages.detail(format_args!(
                    "{}: {} {}: {} records, {}",
                    capture.name,
                    seen.format,
                    seen.packet,
                    values::count(seen.tally.datagrams),
                    values::bytes(seen.tally.bytes)
                ));
            }
        }
        for capture in &report.captures {
            for stream in &capture.streams {
                let titles: Vec<&str> = stream.games().map(|game| game.title.as_str()).collect();
                if let (false, Some(sender)) = (titles.is_empty(), stream.sender) {
                    messages.detail(format_args!(
                        "{}: {} from {sender}: {}",
                        capture.name,
                        stream.format,
                        titles.join(" or ")
                    ));
                }
            }
        }
        for (format, title) in &report.formats {
            let mut tables = self.written.tables.iter();
            if tables.any(|table| table.format == *format) {
                messages.note(format_args!("{STRONG}{title}{STRONG:#} ({format})"));
            }
            let tables = self.written.tables.iter();
            for table in tables.filter(|table| table.format == *format && table.path != "-") {
                messages.note(format_args!(
                    "  {:<34} {:>12} rows {:>10}  {DIM}{}{DIM:#}",
                    table.table,
                    values::count(table.rows),
                    values::bytes(table.bytes),
                    table.path
                ));
            }
        }
        let documents = &self.written.documents;
        for (path, bytes) in documents.iter().take(DOCUMENTS_SHOWN) {
            messages.note(format_args!(
                "  {:<34} {:>17} {:>10}  {DIM}{path}{DIM:#}",
                "session string",
                "",
                values::bytes(*bytes)
            ));
        }
        if documents.len() > DOCUMENTS_SHOWN {
            let more = documents.len() - DOCUMENTS_SHOWN;
            messages.note(format_args!(
                "  and {} more session strings",
                values::count(more as u64)
            ));
        }
        for skipped in &self.written.skipped {
            messages.note(format_args!("left alone, since it exists: {skipped}"));
        }
        let datagrams: u64 = report
            .captures
            .iter()
            .map(CaptureReport::decoded_datagrams)
            .sum();
        let ticks: u64 = report.captures.iter().map(CaptureReport::ticks).sum();
        let read: u64 = report
            .captures
            .iter()
            .filter_map(|capture| capture.size)
            .sum();
        let written: u64 = self.written.tables.iter().map(|table| table.bytes).sum();
        messages.note(format_args!(
            "{} tables, {} rows, {} from {} {}{} in {:.2} s",
            self.written.tables.len(),
            values::count(report.rows),
            values::bytes(written),
            values::count(datagrams),
            match datagrams == ticks {
                true if self.expects_only_ticks() => "ticks",
                _ if ticks == 0 => "datagrams",
                _ => "datagrams and ticks",
            },
            match read {
                0 => String::new(),
                read => format!(" ({})", values::bytes(read)),
            },
            self.elapsed.as_secs_f64()
        ));
        for capture in &report.captures {
            let flaws = capture.flaws();
            let shown = match messages.is_verbose() {
                true => flaws.len(),
                false => FLAWS_SHOWN,
            };
            for flaw in flaws.iter().take(shown) {
                // An error of opening names the file itself.
                match &capture.error {
                    Some(error) => messages.warning(error),
                    None => messages.warning(format_args!("{}: {flaw}", capture.name)),
                }
            }
            if flaws.len() > shown {
                messages.warning(format_args!(
                    "{}: {} more like these; --verbose shows them",
                    capture.name,
                    flaws.len() - shown
                ));
            }
            for note in &capture.notes {
                messages.warning(format_args!("{}: {note}", capture.name));
            }
            if capture.more_notes > 0 {
                messages.warning(format_args!(
                    "{}: {} more notes",
                    capture.name, capture.more_notes
                ));
            }
            if capture.counts.untimed > 0 {
                messages.warning(format_args!(
                    "{}: {} records have no date; their capture_time is in 1970",
                    capture.name, capture.counts.untimed
                ));
            }
        }
        if report.replaced_texts > 0 {
            messages.warning(format_args!(
                "{} texts were not UTF-8; what could not be read is shown as \u{FFFD}",
                values::count(report.replaced_texts)
            ));
        }
    }

    pub(super) fn print_json(&self) -> anyhow::Result<()> {
        let report = json!({
            "schema_version": 1,
            "simtel": env!("CARGO_PKG_VERSION"),
            "command": "convert",
            "seconds": self.elapsed.as_secs_f64(),
            "rows": self.report.rows,
            "replaced_texts": self.report.replaced_texts,
            "inputs": self.report.captures.iter().map(input_json).collect::<Vec<_>>(),
            "tables": self.written.tables.iter().map(|table| json!({
                "format": table.format,
                "table": table.table,
                "path": table.path,
                "rows": table.rows,
                "bytes": table.bytes,
            })).collect::<Vec<_>>(),
            "documents": self.written.documents.iter().map(|(path, bytes)| json!({
                "path": path,
                "bytes": bytes,
            })).collect::<Vec<_>>(),
            "skipped": self.written.skipped,
        });
        print_report(&report)
    }
}

fn input_json(report: &CaptureReport) -> Value {
    let mut input = capture_json::capture(report);
    input["first_time_ns"] = report.span.map(|(first, _)| first).into();
    input["last_time_ns"] = report.span.map(|(_, last)| last).into();
    input["out_of_range"] = report.out_of_range.into();
    input["not_driving"] = report.not_driving.into();
    input
}

//! Times, counts and labels as people like to read them.

use std::time::Duration;

use chrono::DateTime;

use crate::cli::columns::{Columns, Side};
use crate::cli::messages::PLAIN;
use crate::cli::values;

/// Labels and what they say.
pub(super) struct Lines(Columns);

impl Lines {
    pub(super) fn new() -> Lines {
        Lines(Columns::new(&[Side::Left, Side::Left]))
    }

    pub(super) fn say(&mut self, label: &str, text: impl Into<String>) {
        self.0.add(PLAIN, [label.into(), text.into()]);
    }

    pub(super) fn text(&self) -> String {
        self.0.text("  ")
    }
}

/// From when to when, and how long.
pub(super) fn span(first: i64, last: i64) -> String {
    let (from, to) = (moment(first, true), moment(last, true));
    let is_same_day = from.get(..10) == to.get(..10);
    let to = if is_same_day {
        to.get(11..).unwrap_or(&to)
    } else {
        &to
    };
    format!("{from} to {to} UTC, {}", length(last.saturating_sub(first)))
}

/// A moment in UTC, with milliseconds if wanted.
pub(super) fn moment(nanoseconds: i64, is_precise: bool) -> String {
    let format = if is_precise {
        "%Y-%m-%d %H:%M:%S%.3f"
    } else {
        "%Y-%m-%d %H:%M"
    };
    DateTime::from_timestamp_nanos(nanoseconds)
        .format(format)
        .to_string()
}

/// So many of them.
pub(super) fn plural(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {what}{ending}", values::count(count))
}

/// How long it took.
pub(super) fn length(nanoseconds: i64) -> String {
    let time = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0));
    match time.as_secs() {
        0..60 => format!("{:.2} s", time.as_secs_f64()),
        seconds => humantime::format_duration(Duration::from_secs(seconds)).to_string(),
    }
}

/// A lap time as drivers write it.
pub(super) fn lap_time(seconds: f64) -> String {
    let milliseconds = (seconds * 1e3).round() as u64;
    let (minutes, rest) = (milliseconds / 60_000, milliseconds % 60_000);
    format!("{minutes}:{:02}.{:03}", rest / 1_000, rest % 1_000)
}

//! What a replay shows while it goes on and when it is over: a line on a
//! terminal, JSON for programs, sentences for people.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::messages::{self, Messages};
use super::values;
use crate::live::PlayReport;

/// How often programs are told.
const JSON_INTERVAL: Duration = Duration::from_secs(1);
/// How often the line is drawn.
const LINE_INTERVAL: Duration = Duration::from_millis(200);
/// A silence that people may take for a fault.
const LONG_SILENCE: Duration = Duration::from_secs(60);
/// Of what is wrong with a capture, this much is shown unasked.
const DAMAGE_SHOWN: usize = 8;

/// Shows how a replay goes.
pub(super) struct Status<'a> {
    messages: &'a Messages,
    json: bool,
    bar: ProgressBar,
    told: Instant,
    /// Datagrams the last time.
    before: u64,
    /// Whether a long silence was told.
    has_said: bool,
}

impl<'a> Status<'a> {
    pub(super) fn new(messages: &'a Messages, json: bool, size: Option<u64>) -> Status<'a> {
        let bar = match (messages.is_quiet() || json, size) {
            (true, _) => ProgressBar::hidden(),
            // On anything but a terminal indicatif draws nothing.
            (false, Some(size)) => ProgressBar::new(size),
            (false, None) => ProgressBar::no_length(),
        };
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {wide_msg}") {
            bar.set_style(style);
        }
        Status {
            messages,
            json,
            bar,
            told: Instant::now(),
            before: 0,
            has_said: false,
        }
    }

    /// Asks for the report, which costs time, only when it is to be shown.
    pub(super) fn tell(&mut self, report: &dyn Fn() -> PlayReport, is_paused: bool) {
        let interval = match self.bar.is_hidden() {
            true => JSON_INTERVAL,
            false => LINE_INTERVAL,
        };
        let elapsed = self.told.elapsed();
        if elapsed < interval {
            return;
        }
        let report = report();
        let new = report.datagrams - self.before;
        let rate = (new as f64 / elapsed.as_secs_f64()).round();
        self.told = Instant::now();
        self.before = report.datagrams;
        if self.json {
            let mut status = counts(&report);
            status["event"] = "status".into();
            status["datagrams_per_second"] = rate.into();
            self.messages.object(&status);
        } else {
            if report.silence.is_some_and(|silence| silence > LONG_SILENCE) && !self.has_said {
                self.has_said = true;
                let silence = values::elapsed(report.silence.unwrap_or_default());
                let note =
                    format!("the next datagram comes in {silence}; --max-gap shortens silences");
                self.bar.suspend(|| self.messages.note(note));
            }
            self.bar.set_position(report.read);
            self.bar.set_message(line(&report, rate, is_paused));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn line(report: &PlayReport, rate: f64, is_paused: bool) -> String {
    let mut parts = Vec::new();
    if is_paused {
        parts.push("PAUSED".into());
    }
    parts.push(values::elapsed(report.position));
    let what = match report.simulator {
        Some(_) => "ticks",
        None => "packets",
    };
    parts.push(format!("{} {what}/s", values::count(rate as u64)));
    parts.push(format!("{} in all", values::count(report.datagrams)));
    if let Some(lateness) = &report.lateness {
        parts.push(format!(
            "late p50 {}, p99 {}, max {}",
            values::precise(lateness.p50),
            values::precise(lateness.p99),
            values::precise(lateness.max)
        ));
    }
    if let Some(silence) = report.silence {
        parts.push(format!("silence for {}", values::elapsed(silence)));
    }
    let mut targets = report.targets.iter();
    if targets.any(|(_, counts)| counts.refused + counts.unreachable > 0) {
        parts.push("NOBODY LISTENS".into());
    }
    parts.join(" · ")
}

/// Whether something could not be sent as it should.
pub(super) fn is_flawed(report: &PlayReport) -> bool {
    report.feed.damage_count > 0
        || report.feed.incomplete > 0
        || report.targets.iter().any(|(_, counts)| counts.failed > 0)
        || is_empty(report)
}

/// Whether the file had nothing that was wanted.
fn is_empty(report: &PlayReport) -> bool {
    report.feed.counts.taken == 0 && !report.is_interrupted
}

/// What a replay came to, for programs.
pub(super) fn report(report: &PlayReport, error: Option<&anyhow::Error>) -> Value {
    let mut value = messages::end("replay", counts(report), error);
    value["interrupted"] = report.is_interrupted.into();
    let feed = &report.feed;
    value["left_out"] = feed.counts.left_out.into();
    value["incomplete"] = feed.incomplete.into();
    value["faults"] = json!({
        "lost": feed.counts.faults.lost,
        "duplicated": feed.counts.faults.duplicated,
        "reordered": feed.counts.faults.reordered,
    });
    let damage = feed.damage.iter();
    value["damage"] = damage
        .map(|(offset, what)| json!({"offset": offset, "what": what}))
        .collect::<Vec<_>>()
        .into();
    value["damage_count"] = feed.damage_count.into();
    value
}

fn counts(report: &PlayReport) -> Value {
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    json!({
        "seconds": report.elapsed.as_secs_f64(),
        "position_seconds": report.position.as_secs_f64(),
        "datagrams": report.datagrams,
        "bytes": report.bytes,
        "late_microseconds": report.lateness.map(|lateness| json!({
            "p50": microseconds(lateness.p50),
            "p90": microseconds(lateness.p90),
            "p99": microseconds(lateness.p99),
            "max": microseconds(lateness.max),
            "last": microseconds(lateness.last),
        })),
        "map": report.simulator.as_ref().map(|(place, simulator)| json!({
            "place": place.to_string(),
            "ticks": simulator.ticks,
            "session_strings": simulator.sessions,
        })),
        "targets": report.targets.iter().map(|(target, counts)| json!({
            "target": target.to_string(),
            "sent": counts.sent,
            "refused": counts.refused,
            "unreachable": counts.unreachable,
            "failed": counts.failed,
            "error": counts.error,
        })).collect::<Vec<_>>(),
    })
}

/// What a replay came to, for people.
pub(super) fn summarise(report: &PlayReport, has_failed: bool, messages: &Messages) {
    let (done, what, bytes) = match &report.simulator {
        Some((_, simulator)) => ("published", "ticks", simulator.bytes),
        None => ("sent", "datagrams", report.bytes),
    };
    messages.note(format_args!(
        "{done} {} {what} ({}) in {:.3} s, {} a second",
        values::count(report.datagrams),
        values::bytes(bytes),
        report.elapsed.as_secs_f64(),
        values::count((report.datagrams as f64 / report.elapsed.as_secs_f64().max(1e-9)) as u64)
    ));
    if let Some(lateness) = report.lateness.filter(|_| report.datagrams > 0) {
        messages.note(format_args!(
            "later than their moments: p50 {}, p90 {}, p99 {}, max {}; the last one {}",
            values::precise(lateness.p50),
            values::precise(lateness.p90),
            values::precise(lateness.p99),
            values::precise(lateness.max),
            values::precise(lateness.last)
        ));
    }
    let feed = &report.feed;
    if feed.counts.left_out > 0 {
        messages.note(format_args!(
            "{} {what} of the file were not wanted",
            values::count(feed.counts.left_out)
        ));
    }
    let faults = &feed.counts.faults;
    if *faults != crate::live::FaultCounts::default() {
        messages.note(format_args!(
            "faults: {} left out, {} sent twice, {} sent after the next",
            values::count(faults.lost),
            values::count(faults.duplicated),
            values::count(faults.reordered)
        ));
    }
    if report.is_interrupted {
        messages.note("interrupted");
    }
    for (target, counts) in &report.targets {
        if counts.refused > 0 {
            messages.warning(format_args!(
                "{target} has answered {} times that nobody listens there",
                values::count(counts.refused)
            ));
        }
        let why = counts.error.as_deref().unwrap_or_default();
        if counts.unreachable > 0 {
            messages.warning(format_args!(
                "{target} could not be reached, as {} answers say: {why}",
                values::count(counts.unreachable)
            ));
        }
        if counts.failed > 0 {
            messages.warning(format_args!(
                "{} datagrams could not be sent to {target}: {why}",
                values::count(counts.failed)
            ));
        }
    }
    let shown = match messages.is_verbose() {
        true => feed.damage.len(),
        false => DAMAGE_SHOWN,
    };
    for (offset, what) in feed.damage.iter().take(shown) {
        messages.warning(format_args!("offset {offset}: {what}"));
    }
    let shown = feed.damage.len().min(shown) as u64;
    if feed.damage_count > shown {
        let more = feed.damage_count - shown;
        messages.warning(format_args!("{} more damaged places", values::count(more)));
    }
    if feed.incomplete > 0 {
        messages.warning(format_args!(
            "{} datagrams of the file are cut, contradictory or lack fragments; they were not sent",
            values::count(feed.incomplete)
        ));
    }
    if is_empty(report) && !has_failed {
        let text = format_args!("nothing was {done}: nothing in the file is wanted");
        messages.warning(text);
    }
}

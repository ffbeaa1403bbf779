//! What a recording of datagrams shows while it goes on and when it is over: a
//! line on a terminal, JSON for programs, sentences for people.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::report::{
    JSON_INTERVAL, destination, end, forwards, note_reason, rate, spinner, summarise_forwards,
    warn_forwards,
};
use crate::cli::messages::Messages;
use crate::cli::values;
use crate::live::{FormatSeen, Report};

/// When to ask whether the game sends at all.
const NOTHING_YET: Duration = Duration::from_secs(10);
/// Formats that the status line names.
const FORMATS_SHOWN: usize = 1;

/// Shows how a recording goes.
pub(super) struct Status<'a> {
    messages: &'a Messages,
    json: bool,
    bar: ProgressBar,
    /// Moment, datagrams and bytes of the last time.
    before: (Instant, u64, u64),
    told_json: Instant,
    /// What was last said of each format.
    said: Vec<String>,
    has_asked: bool,
    /// Targets that were said not to be reached.
    unreached: Vec<SocketAddr>,
}

impl<'a> Status<'a> {
    pub(super) fn new(messages: &'a Messages, json: bool) -> Status<'a> {
        Status {
            messages,
            json,
            bar: spinner(messages, json),
            before: (Instant::now(), 0, 0),
            told_json: Instant::now(),
            said: Vec::new(),
            has_asked: false,
            unreached: Vec::new(),
        }
    }

    pub(super) fn tell(&mut self, report: &Report) {
        for forward in report.forwards.iter().filter(|forward| forward.failed > 0) {
            if !self.unreached.contains(&forward.target) {
                self.unreached.push(forward.target);
                let target = forward.target;
                let text = format!("datagrams cannot be passed on to {target}; trying again");
                self.bar.suspend(|| self.messages.warning(text));
            }
        }
        if self.json {
            if self.told_json.elapsed() >= JSON_INTERVAL {
                self.told_json += JSON_INTERVAL;
                let (datagrams, bytes) = self.rates(report);
                let mut status = counts(report);
                status["event"] = "status".into();
                status["datagrams_per_second"] = datagrams.into();
                status["bytes_per_second"] = bytes.into();
                self.messages.object(&status);
            }
            return;
        }
        if self.bar.is_hidden() {
            self.say_what_is_new(report);
        } else {
            let (datagrams, bytes) = self.rates(report);
            self.bar.set_message(line(report, datagrams, bytes));
            self.bar.tick();
        }
        if received(report) == 0 && report.elapsed > NOTHING_YET && !self.has_asked {
            self.has_asked = true;
            let question = "nothing has arrived yet: is UDP telemetry turned on in the game, and \
                            does it send to this machine and port?";
            self.bar.suspend(|| self.messages.note(question));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// A line for each format that turns up, and for each of its sessions.
    fn say_what_is_new(&mut self, report: &Report) {
        for seen in &report.observed.formats {
            let text = title(seen);
            if !seen.status.is_empty() && !self.said.contains(&text) {
                self.messages.note(format_args!("receiving {text}"));
                self.said.push(text);
            }
        }
    }

    /// Datagrams and bytes a second since the last time.
    fn rates(&mut self, report: &Report) -> (f64, f64) {
        let (moment, datagrams, bytes) = self.before;
        let (now, received, seen) = (
            Instant::now(),
            received(report),
            report
                .observed
                .formats
                .iter()
                .map(|seen| seen.bytes)
                .sum::<u64>()
                + report.observed.unrecognised_bytes,
        );
        self.before = (now, received, seen);
        let elapsed = now - moment;
        (
            rate(received, datagrams, elapsed),
            rate(seen, bytes, elapsed),
        )
    }
}

fn received(report: &Report) -> u64 {
    report
        .listeners
        .iter()
        .map(|listener| listener.received)
        .sum()
}

/// `f1_2025 · Silverstone · Race`
fn title(seen: &FormatSeen) -> String {
    let mut parts = vec![seen.name.clone()];
    parts.extend(seen.status.iter().cloned());
    parts.join(" · ")
}

fn line(report: &Report, datagrams: f64, bytes: f64) -> String {
    let formats = report.observed.formats.iter().take(FORMATS_SHOWN);
    let mut parts: Vec<String> = formats.map(title).collect();
    if parts.is_empty() {
        parts.push(match received(report) {
            0 => "waiting for the game".into(),
            _ => "nothing known yet".into(),
        });
    }
    parts.push(format!("{} packets/s", values::count(datagrams as u64)));
    parts.push(match report.dropped() {
        0 => "none lost".into(),
        lost => format!("{} LOST", values::count(lost)),
    });
    // What comes later may not find room on the terminal.
    parts.push(values::elapsed(report.elapsed));
    parts.push(values::count(received(report)));
    parts.push(values::bytes(report.file_bytes));
    parts.push(format!("{}/s", values::bytes(bytes as u64)));
    parts.join(" · ")
}

/// What a recording came to, for programs.
pub(super) fn report(report: &Report) -> Value {
    end(counts(report), report.reason, report.failure.as_ref())
}

fn counts(report: &Report) -> Value {
    let observed = &report.observed;
    json!({
        "seconds": report.elapsed.as_secs_f64(),
        "datagrams": report.datagrams,
        "bytes": report.payload_bytes,
        "dropped": report.dropped(),
        "unrecorded": report.unrecorded,
        "file": report.path,
        "files": report.files,
        "file_bytes": report.file_bytes,
        "kernel_time": report.kernel_time,
        "clock_set_by_seconds": report.clock_set_by as f64 / 1e9,
        "listeners": report.listeners.iter().map(|listener| json!({
            "address": listener.address.to_string(),
            "buffer": listener.buffer,
            "received": listener.received,
            "dropped_by_system": listener.dropped_by_system,
            "dropped_in_queue": listener.dropped_in_queue,
            "echoes": listener.echoes,
            "error": listener.error,
        })).collect::<Vec<_>>(),
        "forwards": forwards(&report.forwards),
        "formats": observed.formats.iter().map(|seen| json!({
            "format": seen.name,
            "title": seen.title,
            "datagrams": seen.datagrams,
            "bytes": seen.bytes,
            "status": seen.status,
            "frames": seen.gaps.map(|gaps| json!({
                "followed": gaps.frames,
                "missing": gaps.missing_frames,
                "missing_datagrams": gaps.missing,
                "pauses": gaps.pauses,
            })),
        })).collect::<Vec<_>>(),
        "unrecognised": observed.unrecognised,
    })
}

/// What a recording came to, for people.
pub(super) fn summarise(report: &Report, messages: &Messages) {
    messages.note(format_args!(
        "recorded {} datagrams ({}) in {} to {} ({})",
        values::count(report.datagrams),
        values::bytes(report.payload_bytes),
        values::elapsed(report.elapsed),
        destination(report.path.as_deref(), report.files),
        values::bytes(report.file_bytes),
    ));
    let observed = &report.observed;
    for seen in &observed.formats {
        let gaps = match seen.gaps {
            Some(gaps) if gaps.missing + gaps.missing_frames == 0 => {
                format!(", none missing in {} frames", values::count(gaps.frames))
            }
            _ => String::new(),
        };
        messages.note(format_args!(
            "  {}: {} datagrams{gaps}",
            title(seen),
            values::count(seen.datagrams)
        ));
    }
    if observed.unrecognised > 0 {
        messages.note(format_args!(
            "  of no known format: {} datagrams",
            values::count(observed.unrecognised)
        ));
    }
    summarise_forwards(&report.forwards, "datagrams", messages);
    note_reason(report.reason, messages);
    warn(report, messages);
}

fn warn(report: &Report, messages: &Messages) {
    for listener in &report.listeners {
        let address = &listener.address;
        if let Some(dropped @ 1..) = listener.dropped_by_system {
            messages.warning(format_args!(
                "{} datagrams to {address} were lost: the system dropped them, since its buffer of \
                 {} was full; --buffer asks for more, and a machine less busy helps",
                values::count(dropped),
                ByteSize(listener.buffer as u64).display().iec()
            ));
        }
        if listener.dropped_in_queue > 0 {
            messages.warning(format_args!(
                "{} datagrams to {address} were lost: they came faster than they could be written",
                values::count(listener.dropped_in_queue)
            ));
        }
        if listener.echoes > 0 {
            messages.warning(format_args!(
                "{} datagrams to {address} were our own, passed on and come back; they were not \
                 passed on again: forward to another port",
                values::count(listener.echoes)
            ));
        }
        if let Some(error) = &listener.error {
            messages.warning(format_args!("receiving at {address} has failed: {error}"));
        }
    }
    for seen in &report.observed.formats {
        if let Some(gaps) = seen
            .gaps
            .filter(|gaps| gaps.missing + gaps.missing_frames > 0)
        {
            messages.warning(format_args!(
                "{}: by the numbers of its frames {} datagrams are missing in {} frames, and {} \
                 frames are missing whole{}",
                seen.name,
                values::count(gaps.missing),
                values::count(gaps.frames),
                values::count(gaps.missing_frames),
                match report.dropped() {
                    0 => "; they may have been lost before they reached this machine",
                    _ => "",
                }
            ));
        }
    }
    warn_forwards(&report.forwards, "datagrams", messages);
    if report.clock_set_by != 0 {
        messages.warning(format_args!(
            "the system's clock was set by {:.3} s meanwhile: the time stamps have a step there",
            report.clock_set_by as f64 / 1e9
        ));
    }
    if report.unrecorded > 0 {
        messages.note(format_args!(
            "{} more datagrams arrived that the file does not hold",
            values::count(report.unrecorded)
        ));
    }
    for note in &report.not_removed {
        messages.warning(note);
    }
    if received(report) > 0 && !report.kernel_time {
        messages.detail("this system does not say what it drops");
    }
}

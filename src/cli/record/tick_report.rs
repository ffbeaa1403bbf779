//! What a recording of ticks shows while it goes on and when it is over: a line
//! on a terminal, JSON for programs, sentences for people.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use serde_json::{Value, json};

use super::report::{
    JSON_INTERVAL, destination, end, forwards, note_reason, rate, spinner, summarise_forwards,
    warn_forwards,
};
use crate::cli::messages::Messages;
use crate::cli::values;
use crate::live::TickReport;

/// When to tell that no tick comes any more.
const SILENCE: Duration = Duration::from_secs(5);
/// When to ask whether there is a simulator at all.
const NOTHING_YET: Duration = Duration::from_secs(10);

/// Shows how a recording goes.
pub(super) struct Status<'a> {
    messages: &'a Messages,
    json: bool,
    bar: ProgressBar,
    /// Moment and ticks of the last time.
    before: (Instant, u64),
    told_json: Instant,
    /// Simulators that were announced.
    simulators: u64,
    was_connected: bool,
    has_asked: bool,
    /// Since when there has been no tick, behind how many, and whether that was
    /// said.
    silence: (Instant, u64, bool),
    /// What was last said to be wrong.
    said: [Option<String>; 2],
}

impl<'a> Status<'a> {
    pub(super) fn new(messages: &'a Messages, json: bool) -> Status<'a> {
        Status {
            messages,
            json,
            bar: spinner(messages, json),
            before: (Instant::now(), 0),
            told_json: Instant::now(),
            simulators: 0,
            was_connected: false,
            has_asked: false,
            silence: (Instant::now(), 0, false),
            said: [None, None],
        }
    }

    pub(super) fn tell(&mut self, report: &TickReport) {
        let problems = [&report.problem, &report.forward_problem];
        for (said, problem) in self.said.iter_mut().zip(problems) {
            if let Some(problem) = problem
                && said.as_ref() != Some(problem)
            {
                self.bar.suspend(|| self.messages.warning(problem));
            }
            if problem.is_some() {
                said.clone_from(problem);
            }
        }
        self.say_what_is_new(report);
        if self.json {
            if self.told_json.elapsed() >= JSON_INTERVAL {
                self.told_json += JSON_INTERVAL;
                let rate = self.rate(report);
                let mut status = counts(report);
                status["event"] = "status".into();
                status["ticks_per_second"] = rate.into();
                self.messages.object(&status);
            }
            return;
        }
        if !self.bar.is_hidden() {
            let rate = self.rate(report);
            self.bar.set_message(line(report, rate));
            self.bar.tick();
        }
        if let Some(why) = report.absence.filter(|_| report.simulators == 0)
            && report.waiting > NOTHING_YET
            && !self.has_asked
        {
            self.has_asked = true;
            let question = format!(
                "no simulator yet: {why}; is iRacing running, with irsdkEnableMem=1 in its app.ini?"
            );
            self.bar.suspend(|| self.messages.note(question));
        }
        self.note_silence(report);
    }

    /// Says once that a simulator has come to a halt.
    fn note_silence(&mut self, report: &TickReport) {
        if report.received != self.silence.1 || !report.is_connected {
            self.silence = (Instant::now(), report.received, false);
        }
        let (since, _, was_said) = &mut self.silence;
        if since.elapsed() > SILENCE && !*was_said {
            *was_said = true;
            let text = "no new tick for 5 s: is the simulator paused, or has it died?";
            self.bar.suspend(|| self.messages.note(text));
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// A line for each simulator that comes and goes.
    fn say_what_is_new(&mut self, report: &TickReport) {
        if report.simulators != self.simulators
            && let Some(path) = &report.path
        {
            self.simulators = report.simulators;
            let title = match report.title.is_empty() {
                true => String::new(),
                false => format!("{}: ", report.title.join(" · ")),
            };
            let text = format!(
                "recording {title}{} variables at {} Hz, to {}",
                report.variables,
                report.tick_rate.unwrap_or_default(),
                path.display()
            );
            self.bar.suspend(|| self.messages.note(text));
        }
        if self.was_connected && !report.is_connected {
            let text = "the simulator has gone";
            self.bar.suspend(|| self.messages.note(text));
        }
        self.was_connected = report.is_connected;
    }

    /// Ticks a second since the last time.
    fn rate(&mut self, report: &TickReport) -> f64 {
        let (moment, ticks) = self.before;
        self.before = (Instant::now(), report.received);
        rate(report.received, ticks, moment.elapsed())
    }
}

fn line(report: &TickReport, rate: f64) -> String {
    let mut parts = Vec::new();
    if !report.is_connected {
        parts.push("waiting for the simulator".into());
    }
    parts.extend(report.title.iter().cloned());
    parts.push(format!("{} ticks/s", values::count(rate as u64)));
    parts.push(match report.lost() {
        0 => "none lost".into(),
        lost => format!("{} LOST", values::count(lost)),
    });
    parts.push(values::elapsed(report.elapsed));
    parts.push(values::count(report.received));
    parts.push(values::bytes(report.file_bytes));
    parts.join(" · ")
}

/// What a recording came to, for programs.
pub(super) fn report(report: &TickReport) -> Value {
    end(counts(report), report.reason, report.failure.as_ref())
}

fn counts(report: &TickReport) -> Value {
    json!({
        "seconds": report.elapsed.as_secs_f64(),
        "received": report.received,
        "ticks": report.ticks,
        "bytes": report.tick_bytes,
        "lost": report.lost(),
        "missed": report.missed,
        "dropped_in_queue": report.dropped_in_queue,
        "overwritten": report.torn,
        "session_strings": report.sessions,
        "simulators": report.simulators,
        "is_connected": report.is_connected,
        "tick_rate": report.tick_rate,
        "variables": report.variables,
        "title": report.title,
        "problem": report.problem.as_deref().or(report.absence),
        "file": report.path,
        "files": report.files,
        "file_bytes": report.file_bytes,
        "forwards": forwards(&report.forwards),
        "forward_problem": report.forward_problem,
    })
}

/// What a recording came to, for people.
pub(super) fn summarise(report: &TickReport, messages: &Messages) {
    if report.simulators == 0 {
        // If it failed, the error says why.
        if report.failure.is_none() {
            messages.note("nothing was recorded: no simulator has come");
        }
        return;
    }
    messages.note(format_args!(
        "recorded {} ticks ({}) in {} to {} ({})",
        values::count(report.ticks),
        values::bytes(report.tick_bytes),
        values::elapsed(report.elapsed),
        destination(report.path.as_deref(), report.files),
        values::bytes(report.file_bytes),
    ));
    messages.note(format_args!(
        "  session strings: {}; simulators: {}",
        values::count(report.sessions),
        values::count(report.simulators)
    ));
    summarise_forwards(&report.forwards, "ticks", messages);
    note_reason(report.reason, messages);
    if report.missed > 0 {
        messages.warning(format_args!(
            "{} ticks were missed: the simulator had written others over them before they could \
             be read; a machine less busy, or a slower replay, helps",
            values::count(report.missed)
        ));
    }
    if report.dropped_in_queue > 0 {
        messages.warning(format_args!(
            "{} ticks were lost: they came faster than they could be written",
            values::count(report.dropped_in_queue)
        ));
    }
    if let Some(problem) = &report.forward_problem {
        messages.warning(problem);
    }
    warn_forwards(&report.forwards, "ticks", messages);
    for note in &report.not_removed {
        messages.warning(note);
    }
}

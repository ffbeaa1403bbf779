//! What all recordings say alike, while they go on and when they are over.

use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::cli::messages::{self, Messages};
use crate::cli::values;
use crate::live::{ForwardReport, StopReason};

/// How often programs are told.
pub(super) const JSON_INTERVAL: Duration = Duration::from_secs(1);

/// The line on a terminal that tells how it goes.
pub(super) fn spinner(messages: &Messages, json: bool) -> ProgressBar {
    let bar = match messages.is_quiet() || json {
        true => ProgressBar::hidden(),
        // On anything but a terminal indicatif draws nothing.
        false => ProgressBar::new_spinner(),
    };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// How many a second there are of something that was counted twice.
pub(super) fn rate(new: u64, old: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64().max(0.001);
    (new.saturating_sub(old) as f64 / seconds).round()
}

/// Where a recording went to.
pub(super) fn destination(path: Option<&Path>, files: u64) -> String {
    match (path, files) {
        (None, _) => "standard output".into(),
        (Some(path), 1) => path.display().to_string(),
        (Some(path), files) => format!("{files} files up to {}", path.display()),
    }
}

/// What a recording came to, for programs.
pub(super) fn end(
    counts: Value,
    reason: Option<StopReason>,
    failure: Option<&anyhow::Error>,
) -> Value {
    let mut value = messages::end("record", counts, failure);
    value["reason"] = reason.map(reason_text).into();
    value
}

/// Why it ended, as an option or in words.
fn reason_text(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Interrupted => "interrupted",
        StopReason::Duration => "duration",
        StopReason::Idle => "idle",
        StopReason::Size => "size",
        StopReason::Closed => "closed",
        StopReason::Disconnected => "disconnected",
        StopReason::Absent => "absent",
        StopReason::Failed => "failed",
    }
}

/// Says why it ended, if not because somebody wanted it to.
pub(super) fn note_reason(reason: Option<StopReason>, messages: &Messages) {
    let text = match reason {
        Some(StopReason::Duration) => "the time of --duration is over",
        Some(StopReason::Idle) => "nothing more came for the time of --idle-stop",
        Some(StopReason::Size) => "the size of --max-size is reached",
        Some(StopReason::Disconnected) => "the simulator has gone",
        Some(StopReason::Closed | StopReason::Interrupted | StopReason::Absent)
        | Some(StopReason::Failed)
        | None => return,
    };
    messages.note(format_args!("  ended: {text}"));
}

pub(super) fn forwards(forwards: &[ForwardReport]) -> Value {
    let forwards = forwards.iter().map(|forward| {
        json!({
            "target": forward.target.to_string(),
            "sent": forward.sent,
            "refused": forward.refused,
            "failed": forward.failed,
        })
    });
    forwards.collect()
}

/// What was passed on; `what` is that.
pub(super) fn summarise_forwards(forwards: &[ForwardReport], what: &str, messages: &Messages) {
    for forward in forwards {
        messages.note(format_args!(
            "  passed on to {}: {} {what}",
            forward.target,
            values::count(forward.sent)
        ));
    }
}

pub(super) fn warn_forwards(forwards: &[ForwardReport], what: &str, messages: &Messages) {
    for forward in forwards {
        if forward.refused > 0 {
            messages.warning(format_args!(
                "{} has answered {} times that nobody listens there",
                forward.target,
                values::count(forward.refused)
            ));
        }
        if forward.failed > 0 {
            messages.warning(format_args!(
                "{} {what} could not be passed on to {}",
                values::count(forward.failed),
                forward.target
            ));
        }
    }
}

//! What a command says on standard error: errors, warnings, notes.

use std::fmt::Display;
use std::io::Write;

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use super::{Color, Common};

const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const PLAIN: Style = Style::new();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();

pub(super) struct Messages {
    quiet: bool,
    verbose: bool,
    /// Whether everything is a JSON object a line.
    json: bool,
}

impl Messages {
    pub(super) fn new(common: &Common, json: bool) -> Messages {
        match common.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
        Messages {
            quiet: common.quiet,
            verbose: common.verbose,
            json,
        }
    }

    pub(super) fn error(&self, error: &anyhow::Error) {
        let mut causes: Vec<String> = Vec::new();
        for cause in error.chain().map(ToString::to_string) {
            // Libraries wrap an error and repeat it: once is enough.
            let cause = cause.strip_prefix("External: ").unwrap_or(&cause);
            if !causes.last().is_some_and(|last| last.contains(cause)) {
                causes.push(cause.into());
            }
        }
        let text = causes.join(": ");
        match self.json {
            true => self.object(&json!({"event": "error", "message": text})),
            false => say(format_args!("{ERROR}error:{ERROR:#} {text}")),
        }
    }

    pub(super) fn warning(&self, warning: impl Display) {
        if self.json {
            self.object(&json!({"event": "warning", "message": warning.to_string()}));
        } else if !self.quiet {
            say(format_args!("{WARNING}warning:{WARNING:#} {warning}"));
        }
    }

    /// A line that is not printed when the user wants quiet.
    pub(super) fn note(&self, note: impl Display) {
        if !self.quiet && !self.json {
            say(note);
        }
    }

    /// A line for those who want to know more.
    pub(super) fn detail(&self, detail: impl Display) {
        if self.verbose && !self.json {
            say(detail);
        }
    }

    /// A line for programs.
    pub(super) fn object(&self, object: &Value) {
        say(object);
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.verbose
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

/// A message that cannot be printed has nowhere else to go.
fn say(message: impl Display) {
    let _ = writeln!(anstream::stderr(), "{message}");
}

/// What a command came to, for programs: `counts` and what all of them say.
pub(super) fn end(command: &str, counts: Value, error: Option<&anyhow::Error>) -> Value {
    let mut value = counts;
    value["event"] = "end".into();
    value["schema_version"] = 1.into();
    value["simtel"] = env!("CARGO_PKG_VERSION").into();
    value["command"] = command.into();
    value["error"] = error.map(|error| format!("{error:#}")).into();
    value
}

/// A report for programs, on standard output.
pub(super) fn print_report(report: &Value) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout();
    serde_json::to_writer_pretty(&mut stdout, report)?;
    stdout.write_all(b"\n")?;
    Ok(())
}

//! `simtel record iracing`: the ticks of a running simulator into an `.ibt`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use glob::Pattern;

use super::tick_report::{Status, report, summarise};
use super::{Destination, FileArguments};
use crate::cli::messages::{Messages, print_report};
use crate::cli::values::EncodingName;
use crate::cli::{Outcome, UsageError, interrupt, values};
use crate::live::{
    MapPlace, Output, StopReason, TickEncoding, TickRecordOptions, TickRecorder, resolve,
};

/// Which simulator to record, and where to.
#[derive(Debug, Args)]
pub(super) struct Ticks {
    /// Read the simulator's memory from this file; without a file, on Windows,
    /// from what `simtel replay --map` publishes there [default: the
    /// simulator's own memory, on Windows]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    map: Option<PathBuf>,
    /// Give up when no simulator has come for this time [default: wait for ever]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    wait: Option<Duration>,
    /// Wait for the next simulator when one has gone; each gets a file of its own
    #[arg(long)]
    follow: bool,
    /// Pass each tick on to another program as a datagram; may be given several
    /// times
    #[arg(long, value_name = "HOST:PORT", value_parser = resolve)]
    forward: Vec<SocketAddr>,
    /// What to pass on of a tick: its bytes, or a JSON object
    #[arg(long, value_name = "HOW", default_value = "raw", requires = "forward")]
    encode: EncodingName,
    /// Variables of the objects of --encode json, with * and ? [default: all]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', value_parser = values::pattern)]
    columns: Vec<Pattern>,
    #[command(flatten)]
    pub(super) files: FileArguments,
}

/// What files may be limited to at least, in bytes.
const SMALLEST_LIMIT: u64 = 2_000_000;

impl Ticks {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let is_json = self.encode == EncodingName::Json;
        if !self.columns.is_empty() && !is_json {
            let message = "--columns chooses the variables of --encode json";
            return Err(UsageError(message.into()).into());
        }
        let place = values::map_place(self.map.as_deref(), MapPlace::Simulator)?;
        let output = match self.files.destination("iracing") {
            Destination::Other(Output::Stdout) => {
                let message = "an .ibt is changed in place while it grows, which standard output \
                               cannot be: give -o a file or a folder";
                return Err(UsageError(message.into()).into());
            }
            Destination::Other(output) => output,
            Destination::File(path) => match path.extension() {
                Some(extension) if extension.eq_ignore_ascii_case("ibt") => Output::File(path),
                _ => {
                    let message = format!(
                        "{} does not end in .ibt; a folder must exist or end in /",
                        path.display()
                    );
                    return Err(UsageError(message).into());
                }
            },
        };
        if let Some(option) = self.files.limit_below(SMALLEST_LIMIT) {
            let message = format!(
                "an .ibt begins with about a megabyte, room for the session string: {option} must \
                 be 2MB or more"
            );
            return Err(UsageError(message).into());
        }
        let options = TickRecordOptions {
            files: self.files.options(output, "ibt"),
            rules: self.files.rules(true),
            wait: self.wait,
            follow: self.follow,
            forwards: self.forward.clone(),
            encoding: match self.encode {
                EncodingName::Raw => TickEncoding::Raw,
                EncodingName::Json => TickEncoding::Json {
                    columns: self.columns.clone(),
                },
            },
            place,
        };
        let place = options.place.to_string();
        let interrupted = interrupt::watch();
        let recorder = TickRecorder::open(options)?;
        messages.note(format_args!("waiting for {place}; Ctrl-C ends it"));
        if self.files.json {
            messages.object(&serde_json::json!({
                "event": "start",
                "simtel": env!("CARGO_PKG_VERSION"),
                "place": place,
            }));
        }
        let mut status = Status::new(messages, self.files.json);
        let mut done = recorder.run(interrupted, |report| status.tell(report));
        status.finish();
        if self.files.json {
            print_report(&report(&done))?;
        }
        summarise(&done, messages);
        if let Some(error) = done.failure.take() {
            return Err(error);
        }
        if done.reason == Some(StopReason::Absent) {
            let absence = done.absence.map(|why| format!("{place}: {why}"));
            let why = done.problem.or(absence);
            bail!(
                "no simulator has come within {}: {}",
                humantime::format_duration(self.wait.unwrap_or_default()),
                why.unwrap_or_default()
            );
        }
        match done.lost() {
            0 => Ok(Outcome::Complete),
            _ => Ok(Outcome::Flawed),
        }
    }
}

//! `simtel info`: what is in captures. The arguments and the reading; how it is
//! shown to people is in `report` and `overview`, to programs in `json`.

mod json;
mod overview;
mod report;

use std::cell::Cell;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::formats::FormatOptions;
use super::messages::Messages;
use super::{Outcome, inputs, progress};
use crate::capture::{CaptureError, Input};
use crate::formats::Formats;
use crate::inspect::{self, Inspection};

/// Show what is in captures: senders, packets, sessions, laps, damage
///
/// Of one file it tells everything; of several, a line each and the total, or with
/// --verbose everything of each. Nothing is decoded but what tells of sessions, so
/// that a gigabyte takes less than a second.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(super) struct Info {
    /// Captures: .pcap, .pcapng or .ibt files, also compressed with gzip or
    /// zstd; folders of them; patterns; `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    formats: FormatOptions,
    /// End with exit status 3 if anything is damaged, not recognised or not
    /// telemetry at all
    #[arg(long)]
    check: bool,
    /// Print a JSON object for each file, one a line
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "Examples:
  simtel info race.pcap
  simtel info captures/ --verbose
  simtel info --check samples/*.pcap
  simtel info race.pcap --json | jq '.sessions[].laps'

Exit status:
  0  all is well, or --check was not given
  1  no input could be read
  2  wrong usage
  3  some input could not be read; with --check, some was damaged or not recognised";

/// What became of an input.
struct Looked {
    name: String,
    found: Result<Inspection, CaptureError>,
}

impl Looked {
    /// Whether a conversion would have something to complain of.
    fn is_flawed(&self) -> bool {
        match &self.found {
            Ok(inspection) => inspection.report.is_flawed() || recognised(inspection) == 0,
            Err(error) => !error.is_other_file(),
        }
    }
}

/// Datagrams of known games, or ticks.
fn recognised(inspection: &Inspection) -> u64 {
    match &inspection.contents {
        inspect::Contents::Datagrams(_) => inspection.report.decoded_datagrams(),
        inspect::Contents::Ticks(ticks) => ticks.ticks as u64,
    }
}

impl Info {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let formats = self.formats.formats()?;
        let paths = inputs::expand(&self.inputs)?;
        let bar = progress::bar(&paths, messages);
        let look = |path: &PathBuf| {
            let done = Cell::new(0);
            let found = look(path, &formats, &|position| {
                bar.inc(position - done.replace(position));
            });
            Looked {
                name: inputs::name(path),
                found,
            }
        };
        let mut looked: Vec<Looked> = match paths.as_slice() {
            [only] => vec![look(only)],
            several => several.par_iter().map(look).collect(),
        };
        bar.finish_and_clear();

        let mut stdout = anstream::stdout();
        if self.json {
            for one in &looked {
                serde_json::to_writer(&mut stdout, &json::object(one))?;
                stdout.write_all(b"\n")?;
            }
        } else {
            let is_single = looked.len() == 1;
            for one in &looked {
                if let (Ok(inspection), true) = (&one.found, is_single || messages.is_verbose()) {
                    stdout.write_all(report::text(inspection, messages.is_verbose()).as_bytes())?;
                }
            }
            if !is_single {
                stdout.write_all(overview::text(&looked).as_bytes())?;
            }
        }
        // One that is alone is the error itself.
        if let [Looked { found: Err(_), .. }] = looked.as_slice()
            && let Some(Looked {
                found: Err(error), ..
            }) = looked.pop()
        {
            return Err(error.into());
        }
        for one in &looked {
            if let Err(error) = &one.found {
                messages.warning(error);
            }
        }
        if looked.iter().all(|one| one.found.is_err()) {
            anyhow::bail!("none of the inputs could be read");
        }
        let is_unread = |one: &Looked| one.found.is_err() && one.is_flawed();
        let is_flawed = match self.check {
            true => looked.iter().any(Looked::is_flawed),
            false => looked.iter().any(is_unread),
        };
        Ok(match is_flawed {
            true => Outcome::Flawed,
            false => Outcome::Complete,
        })
    }
}

fn look(
    path: &Path,
    formats: &Formats,
    progress: &dyn Fn(u64),
) -> Result<Inspection, CaptureError> {
    let name = inputs::name(path);
    match Input::open(path)? {
        Input::Datagrams(capture) => inspect::datagrams(&name, *capture, formats, progress),
        Input::Ticks(ticks) => Ok(inspect::ticks(&name, &ticks)),
    }
}

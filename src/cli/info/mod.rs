//! `simtel info`: what is in captures. The arguments and the reading; how it is
//! shown to people is in `report`, `session` and `overview`, to programs in `json`.

mod json;
mod overview;
mod report;
mod session;
mod words;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use rayon::iter::{IntoParallelRefIterator, ParallelExtend, ParallelIterator};

use super::formats::FormatOptions;
use super::messages::Messages;
use super::{Outcome, UsageError, inputs, progress};
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
    found: anyhow::Result<Inspection>,
}

impl Looked {
    /// Whether a conversion would have something to complain of.
    fn is_flawed(&self) -> bool {
        let found = self.found.as_ref();
        found.map_or(true, |inspection| !flaws(inspection).is_empty())
    }

    /// Whether it is no capture at all, as opposed to one that cannot be read.
    fn is_other_file(&self) -> bool {
        let error = self.found.as_ref().err();
        let error = error.and_then(|error| error.downcast_ref::<CaptureError>());
        error.is_some_and(CaptureError::is_other_file)
    }
}

/// A sentence for each thing that is wrong.
fn flaws(inspection: &Inspection) -> Vec<String> {
    let mut flaws = inspection.report.flaws();
    if inspection.recognised() == 0 {
        flaws.push("there is no telemetry of a known game in it".into());
    }
    flaws
}

impl Info {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let formats = self.formats.formats()?;
        let mut looked = Vec::new();
        let mut paths = Vec::new();
        for argument in &self.inputs {
            // One that is not there does not hide what the others hold.
            match inputs::expand(std::slice::from_ref(argument)) {
                Ok(found) => paths.extend(found),
                Err(error) if error.is::<UsageError>() => return Err(error),
                Err(error) => looked.push(Looked {
                    name: inputs::name(argument),
                    found: Err(error),
                }),
            }
        }
        inputs::name_each_once(&mut paths);
        let bar = progress::bar(&paths, messages);
        let look = |path: &PathBuf| Looked {
            name: inputs::name(path),
            found: look(path, &formats, &progress::meter(&bar)),
        };
        match paths.as_slice() {
            [only] => looked.push(look(only)),
            several => looked.par_extend(several.par_iter().map(look)),
        }
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
        if looked.len() == 1
            && let Some(Looked {
                found: Err(error), ..
            }) = looked.pop_if(|one| one.found.is_err())
        {
            return Err(error);
        }
        for error in looked.iter().filter_map(|one| one.found.as_ref().err()) {
            messages.warning(format_args!("{error:#}"));
        }
        if looked.iter().all(|one| one.found.is_err()) {
            anyhow::bail!("none of the inputs could be read");
        }
        let is_flawed = |one: &Looked| match self.check {
            true => one.is_flawed(),
            false => one.found.is_err(),
        };
        Ok(match looked.iter().any(is_flawed) {
            true => Outcome::Flawed,
            false => Outcome::Complete,
        })
    }
}

fn look(path: &Path, formats: &Formats, progress: &dyn Fn(u64)) -> anyhow::Result<Inspection> {
    let name = inputs::name(path);
    Ok(match Input::open(path)? {
        Input::Datagrams(capture) => inspect::datagrams(&name, *capture, formats, progress)?,
        Input::Ticks(ticks) => inspect::ticks(&name, &ticks),
    })
}

//! `simtel record`: what comes from a game into a file. Each kind of source has
//! a file of its own; what they share, which is where the file lies and when the
//! recording ends, is here.

mod datagram_report;
mod datagrams;
mod report;
mod tick_report;
mod ticks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::messages::Messages;
use super::{Outcome, values};
use crate::live::{FileOptions, Output, Rotation, StopRules};
use datagrams::{Datagrams, Sender};
use ticks::Ticks;

/// Record what a game sends
///
/// Writes every UDP datagram that arrives, whatever is in it, with its time of
/// arrival and its addresses, to a capture that Wireshark, tcpdump and `simtel
/// convert` read; or every tick of iRacing to an .ibt. Start it before the game,
/// and end it with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_long_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
pub(super) struct Record {
    #[command(subcommand)]
    source: Source,
}

#[derive(Debug, Subcommand)]
enum Source {
    /// Record F1 games, which send to port 20777
    ///
    /// What a game sends to one address reaches one program only: simtel passes
    /// it on to others with --forward.
    #[command(after_long_help = EXIT_STATUS)]
    F1(Datagrams),
    /// Record Forza games; port 9999, set under Data Out
    ///
    /// What a game sends to one address reaches one program only: simtel passes
    /// it on to others with --forward.
    #[command(after_long_help = EXIT_STATUS)]
    Forza(Datagrams),
    /// Record any UDP datagrams; needs --listen
    #[command(after_long_help = EXIT_STATUS)]
    Udp(Datagrams),
    /// Record every tick of iRacing to an .ibt
    ///
    /// Waits for the simulator, and writes all that it shares with other
    /// programs: cars, cameras and more, which its own recordings lack. Beside
    /// the .ibt lies a .session.yaml with all that the session string has been. A
    /// simulator that begins anew, or whose variables change, gets another file.
    #[command(after_long_help = format!("{TICK_EXAMPLES}\n\n{EXIT_STATUS}"))]
    Iracing(Ticks),
}

const EXAMPLES: &str = "Examples:
  simtel record f1
  simtel record f1 -o race.pcap --forward 127.0.0.1:20778
  simtel record forza -o captures/ --listen 192.168.1.20:9999 --idle-stop 5m
  simtel record udp --listen 30000 --listen '[::1]:30001' -o both.pcapng
  simtel record f1 -o /var/lib/telemetry/ --rotate 10m --keep 144
  simtel record f1 -o - | simtel convert - -o out
  simtel record iracing -o stints/ --follow";

const TICK_EXAMPLES: &str = "Examples:
  simtel record iracing
  simtel record iracing -o stints/ --follow
  simtel record iracing --forward 192.168.1.9:9000 --encode json --columns 'Speed,Gear,RPM'
  simtel replay stint.ibt --map /dev/shm/iracing &
  simtel record iracing --map /dev/shm/iracing -o again.ibt --wait 60s";

const EXIT_STATUS: &str = "Exit status:
  0  the recording is complete, however it was ended
  1  failed; what was recorded until then is in the file
  2  wrong usage
  3  the recording is complete, but datagrams or ticks were lost on the way";

/// Where the file lies, and when the recording ends.
#[derive(Debug, Args)]
struct FileArguments {
    /// File to write; or a folder for a file that is named after the game and
    /// the time; or `-` for standard output, not for ticks [default: such a
    /// file here]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// End after this time; that of ticks counts from the first one
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    duration: Option<Duration>,
    /// End once nothing has arrived for this time, but not before the first
    /// arrival
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    idle_stop: Option<Duration>,
    /// End before more than this has been written, files that --keep has removed
    /// included
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    max_size: Option<u64>,
    /// Begin another file when one has this size, such as 100MB, or this age,
    /// such as 10m; may be given for both
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotation)]
    rotate: Vec<Rotation>,
    /// Keep only so many of these files, the latest
    #[arg(long, value_name = "N", requires = "rotate", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// How much a failure of the machine may cost at most, from 200ms on
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = flush_interval)]
    flush_interval: Duration,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Print a JSON object a second on standard error, and a report as JSON on
    /// standard output
    #[arg(long)]
    json: bool,
}

/// What `-o` means.
enum Destination {
    /// This file, whose name may say more.
    File(PathBuf),
    Other(Output),
}

impl Record {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        match self.source {
            Source::F1(datagrams) => datagrams.run(Sender::F1, messages),
            Source::Forza(datagrams) => datagrams.run(Sender::Forza, messages),
            Source::Udp(datagrams) => datagrams.run(Sender::Udp, messages),
            Source::Iracing(ticks) => ticks.run(messages),
        }
    }

    /// Whether standard error is for programs.
    pub(super) fn speaks_json(&self) -> bool {
        match &self.source {
            Source::F1(datagrams) | Source::Forza(datagrams) | Source::Udp(datagrams) => {
                datagrams.files.json
            }
            Source::Iracing(ticks) => ticks.files.json,
        }
    }
}

impl FileArguments {
    /// Where to; a file without a name is named after `stem`.
    fn destination(&self, stem: &str) -> Destination {
        let named = |folder: &Path| {
            Destination::Other(Output::Named {
                folder: folder.into(),
                stem: stem.into(),
            })
        };
        match self.output.as_deref() {
            None => named(Path::new("")),
            Some(path) if path.as_os_str() == "-" => Destination::Other(Output::Stdout),
            Some(path) if is_folder(path) => named(path),
            Some(path) => Destination::File(path.into()),
        }
    }

    /// The first option that limits a file to less than this.
    fn limit_below(&self, least: u64) -> Option<&'static str> {
        let is_below =
            |rotation: &Rotation| matches!(rotation, Rotation::Size(size) if *size < least);
        if self.rotate.iter().any(is_below) {
            return Some("--rotate");
        }
        (self.max_size.is_some_and(|size| size < least)).then_some("--max-size")
    }

    fn rotates(&self) -> bool {
        !self.rotate.is_empty()
    }

    fn options(&self, output: Output, extension: &'static str) -> FileOptions {
        FileOptions {
            output,
            extension,
            rotate: self.rotate.clone(),
            keep: self.keep.map(|keep| keep as usize),
            force: self.force,
            flush_interval: self.flush_interval,
            most_bytes: self.max_size,
        }
    }

    /// When it ends; whether --duration counts from the first arrival.
    fn rules(&self, from_first: bool) -> StopRules {
        StopRules {
            duration: self.duration,
            from_first,
            idle: self.idle_stop,
        }
    }
}

/// Whether a path is one of a folder, that exists or is written as one.
fn is_folder(path: &Path) -> bool {
    let text = path.as_os_str().to_string_lossy();
    path.is_dir() || text.ends_with(['/', std::path::MAIN_SEPARATOR])
}

/// Not less than a datagram takes to the file anyway.
fn flush_interval(text: &str) -> Result<Duration, String> {
    let interval = values::duration(text)?;
    match interval < Duration::from_millis(200) {
        true => Err("it must be 200ms or longer".into()),
        false => Ok(interval),
    }
}

/// `100MB` or `10m`.
fn rotation(text: &str) -> Result<Rotation, String> {
    let is_size = text.ends_with(['B', 'b', 'K', 'M', 'G', 'T']);
    match is_size {
        true => values::size(text).map(Rotation::Size),
        false => values::duration(text)
            .map(Rotation::Time)
            .map_err(|_| "write a size such as 100MB or a time such as 10m".into()),
    }
}

//! `simtel record`: what arrives from a game into a capture.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};

use super::formats::FormatOptions;
use super::messages::{Messages, print_report};
use super::recording::{Status, report, summarise};
use super::{Outcome, UsageError, interrupt, values};
use crate::capture::CaptureFormat;
use crate::live::{
    FileOptions, Group, LARGEST_BUFFER, ListenAddress, ListenOptions, Output, RecordOptions,
    Recorder, Rotation, StopRules, resolve,
};

/// Record what a game sends
///
/// Writes every UDP datagram that arrives, whatever is in it, with its time of
/// arrival and its addresses, to a capture that Wireshark, tcpdump and `simtel
/// convert` read. Start it before the game, and end it with Ctrl-C. What a game
/// sends to one address reaches one program only: simtel passes it on to others
/// with --forward.
#[derive(Debug, Args)]
#[command(after_long_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
pub(super) struct Record {
    /// What to record; says where to listen and how the file is named
    source: Source,
    /// File to write, .pcap or .pcapng; or a folder for a file that is named
    /// after the game and the time; or `-` for standard output [default: such a
    /// file here]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Format of the file [default: by the ending of PATH, else pcap]
    #[arg(short, long)]
    format: Option<FormatName>,
    /// Listen here: PORT for every address of this machine, IPv4 and IPv6, or
    /// ADDRESS:PORT; may be given several times [default: 20777 for f1, 9999 for
    /// forza]
    #[arg(short, long, value_name = "ADDRESS")]
    listen: Vec<ListenAddress>,
    /// Join a multicast group; GROUP@INTERFACE says on which network card, by
    /// its address (IPv4) or number
    #[arg(long, value_name = "GROUP")]
    multicast: Vec<Group>,
    /// Let other programs listen at the same port; works for broadcast and
    /// multicast alone, anything else reaches only one of them
    #[arg(long)]
    share: bool,
    /// Pass each datagram on to another program, unchanged; may be given several
    /// times
    #[arg(long, value_name = "HOST:PORT", value_parser = resolve)]
    forward: Vec<SocketAddr>,
    /// End after this time
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    duration: Option<Duration>,
    /// End once nothing has arrived for this time, but not before the first
    /// datagram
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
    /// How much the system should hold while simtel is busy
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = values::size)]
    buffer: u64,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    formats: FormatOptions,
    /// Print a JSON object a second on standard error, and a report as JSON on
    /// standard output
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "Examples:
  simtel record f1
  simtel record f1 -o race.pcap --forward 127.0.0.1:20778
  simtel record forza -o captures/ --listen 192.168.1.20:9999 --idle-stop 5m
  simtel record udp --listen 30000 --listen '[::1]:30001' -o both.pcapng
  simtel record f1 -o /var/lib/telemetry/ --rotate 10m --keep 144
  simtel record f1 -o - | simtel convert - -o out";

const EXIT_STATUS: &str = "Exit status:
  0  the recording is complete, however it was ended
  1  failed; what was recorded until then is in the file
  2  wrong usage
  3  the recording is complete, but datagrams were lost on the way";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Source {
    /// F1 games, which send to port 20777
    F1,
    /// Forza games; port 9999, set under Data Out
    Forza,
    /// Anything; needs --listen
    Udp,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    Pcap,
    Pcapng,
}

/// Forza Horizon 6 uses these ports itself.
const TAKEN_BY_FORZA: std::ops::RangeInclusive<u16> = 5200..=5300;

impl Record {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let addresses = self.addresses()?;
        if matches!(self.source, Source::Forza)
            && let Some(address) = addresses
                .iter()
                .find(|a| TAKEN_BY_FORZA.contains(&a.port()))
        {
            messages.warning(format_args!(
                "Forza Horizon 6 uses the ports 5200 to 5300 itself: {address} will not work on \
                 the machine that it runs on"
            ));
        }
        let formats = self.formats.formats()?;
        let options = RecordOptions {
            addresses,
            listen: ListenOptions {
                groups: self.multicast.clone(),
                share: self.share,
                buffer: usize::try_from(self.buffer).unwrap_or(usize::MAX),
            },
            forwards: self.forward.clone(),
            files: self.file_options()?,
            rules: StopRules {
                duration: self.duration,
                idle: self.idle_stop,
            },
            formats,
        };
        let is_stream = matches!(options.files.output, Output::Stdout);
        if is_stream && std::io::stdout().is_terminal() {
            let message = "a capture is no text for a terminal: give -o a file, or pipe it on";
            return Err(UsageError(message.into()).into());
        }
        let interrupted = interrupt::watch();
        let recorder = Recorder::open(options)?;
        self.announce(&recorder, messages);
        let mut status = Status::new(messages, self.json);
        let mut done = recorder.run(interrupted, |report| status.tell(report));
        status.finish();
        match (self.json, is_stream) {
            (true, true) => messages.object(&report(&done)),
            (true, false) => print_report(&report(&done))?,
            (false, _) => {}
        }
        summarise(&done, messages);
        match done.failure.take() {
            Some(error) => Err(error),
            None if done.dropped() > 0 => Ok(Outcome::Flawed),
            None => Ok(Outcome::Complete),
        }
    }

    fn addresses(&self) -> anyhow::Result<Vec<ListenAddress>> {
        if !self.listen.is_empty() {
            return Ok(self.listen.clone());
        }
        match self.source {
            Source::F1 => Ok(vec![ListenAddress::Any(20_777)]),
            Source::Forza => Ok(vec![ListenAddress::Any(9_999)]),
            Source::Udp => {
                let message = "`record udp` needs --listen PORT or --listen ADDRESS:PORT";
                Err(UsageError(message.into()).into())
            }
        }
    }

    fn file_options(&self) -> anyhow::Result<FileOptions> {
        let stem = match self.source {
            Source::F1 => "f1",
            Source::Forza => "forza",
            Source::Udp => "udp",
        };
        let named = |folder: &Path| Output::Named {
            folder: folder.into(),
            stem: stem.into(),
        };
        let (output, implied) = match self.output.as_deref() {
            None => (named(Path::new("")), None),
            Some(path) if path.as_os_str() == "-" => (Output::Stdout, None),
            Some(path) if is_folder(path) => (named(path), None),
            Some(path) if self.format.is_some() => (Output::File(path.into()), None),
            Some(path) => (Output::File(path.into()), Some(by_extension(path)?)),
        };
        if matches!(output, Output::Stdout) && !self.rotate.is_empty() {
            return Err(UsageError("standard output cannot be rotated".into()).into());
        }
        let wanted = self.format.map(|format| match format {
            FormatName::Pcap => CaptureFormat::Pcap,
            FormatName::Pcapng => CaptureFormat::PcapNg,
        });
        Ok(FileOptions {
            output,
            format: wanted.or(implied).unwrap_or(CaptureFormat::Pcap),
            rotate: self.rotate.clone(),
            keep: self.keep.map(|keep| keep as usize),
            force: self.force,
            flush_interval: self.flush_interval,
            most_bytes: self.max_size,
            comment: format!(
                "recorded by simtel {} (record {stem}); link and IP headers are synthesised from \
                 the addresses of each datagram",
                env!("CARGO_PKG_VERSION")
            ),
        })
    }

    /// Says that it has begun, and what may go wrong.
    fn announce(&self, recorder: &Recorder, messages: &Messages) {
        let listeners = recorder.listeners();
        let addresses: Vec<String> = listeners.iter().map(|l| l.address.to_string()).collect();
        let file = recorder.path().map(|path| path.display().to_string());
        messages.note(format_args!(
            "recording {} to {}; Ctrl-C ends it",
            addresses.join(", "),
            file.as_deref().unwrap_or("standard output"),
        ));
        if self.json {
            messages.object(&serde_json::json!({
                "event": "start",
                "simtel": env!("CARGO_PKG_VERSION"),
                "file": file,
                "listeners": addresses,
            }));
        }
        let smallest = listeners
            .iter()
            .map(|listener| listener.buffer as u64)
            .min();
        if let Some(given) = smallest.filter(|given| *given < self.buffer) {
            messages.warning(format_args!(
                "the system holds {} for simtel, not {}: should simtel be busy for long, datagrams \
                 may be lost{}",
                ByteSize(given).display().iec(),
                ByteSize(self.buffer).display().iec(),
                match cfg!(target_os = "linux") && self.buffer <= LARGEST_BUFFER as u64 {
                    true => format!(
                        "; `sysctl -w net.core.rmem_max={}` allows more",
                        self.buffer
                    ),
                    false => String::new(),
                }
            ));
        }
    }
}

/// Whether a path is one of a folder, that exists or is written as one.
fn is_folder(path: &Path) -> bool {
    let text = path.as_os_str().to_string_lossy();
    path.is_dir() || text.ends_with(['/', std::path::MAIN_SEPARATOR])
}

fn by_extension(path: &Path) -> anyhow::Result<CaptureFormat> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    match extension.to_lowercase().as_str() {
        "pcap" | "cap" | "dump" => Ok(CaptureFormat::Pcap),
        "pcapng" | "ntar" => Ok(CaptureFormat::PcapNg),
        _ => Err(UsageError(format!(
            "{} ends neither in .pcap nor in .pcapng; a folder must exist or end in /",
            path.display()
        ))
        .into()),
    }
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

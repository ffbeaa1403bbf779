//! `simtel record f1|forza|udp`: datagrams into a capture.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};

use super::datagram_report::{Status, report, summarise};
use super::{Destination, FileArguments};
use crate::capture::CaptureFormat;
use crate::cli::formats::FormatOptions;
use crate::cli::messages::{Messages, print_report};
use crate::cli::{Outcome, UsageError, interrupt, values};
use crate::live::{
    DatagramOptions, Group, LARGEST_BUFFER, ListenAddress, ListenOptions, Output, RecordOptions,
    Recorder, resolve,
};

/// What to record, how, and where to.
#[derive(Debug, Args)]
pub(super) struct Datagrams {
    /// Format of the file [default: by the ending of PATH, else pcap]
    #[arg(short, long)]
    format: Option<FormatName>,
    /// Listen here: PORT for every address of this machine, IPv4 and IPv6, or
    /// ADDRESS:PORT; may be given several times [default: the game's port]
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
    /// How much the system should hold while simtel is busy
    #[arg(long, value_name = "SIZE", default_value = "32MiB", value_parser = values::size)]
    buffer: u64,
    #[command(flatten)]
    pub(super) files: FileArguments,
    #[command(flatten)]
    formats: FormatOptions,
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    F1,
    Forza,
    Udp,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    Pcap,
    Pcapng,
}

/// Forza Horizon 6 uses these ports itself.
const TAKEN_BY_FORZA: std::ops::RangeInclusive<u16> = 5200..=5300;

impl Datagrams {
    pub(super) fn run(self, sender: Sender, messages: &Messages) -> anyhow::Result<Outcome> {
        let addresses = self.addresses(sender)?;
        if sender == Sender::Forza
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
        let (destination, datagrams) = self.destination(sender)?;
        let extension = match datagrams.format {
            CaptureFormat::Pcap => "pcap",
            CaptureFormat::PcapNg => "pcapng",
        };
        let options = RecordOptions {
            addresses,
            listen: ListenOptions {
                groups: self.multicast.clone(),
                share: self.share,
                buffer: usize::try_from(self.buffer).unwrap_or(usize::MAX),
            },
            forwards: self.forward.clone(),
            files: self.files.options(destination, extension),
            datagrams,
            rules: self.files.rules(false),
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
        let mut status = Status::new(messages, self.files.json);
        let mut done = recorder.run(interrupted, |report| status.tell(report));
        status.finish();
        match (self.files.json, is_stream) {
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

    fn addresses(&self, sender: Sender) -> anyhow::Result<Vec<ListenAddress>> {
        if !self.listen.is_empty() {
            return Ok(self.listen.clone());
        }
        match sender {
            Sender::F1 => Ok(vec![ListenAddress::Any(20_777)]),
            Sender::Forza => Ok(vec![ListenAddress::Any(9_999)]),
            Sender::Udp => {
                let message = "`record udp` needs --listen PORT or --listen ADDRESS:PORT";
                Err(UsageError(message.into()).into())
            }
        }
    }

    /// Where to, and in which format.
    fn destination(&self, sender: Sender) -> anyhow::Result<(Output, DatagramOptions)> {
        let stem = match sender {
            Sender::F1 => "f1",
            Sender::Forza => "forza",
            Sender::Udp => "udp",
        };
        let wanted = self.format.map(|format| match format {
            FormatName::Pcap => CaptureFormat::Pcap,
            FormatName::Pcapng => CaptureFormat::PcapNg,
        });
        let (output, implied) = match self.files.destination(stem) {
            Destination::File(path) if wanted.is_none() => {
                let implied = by_extension(&path)?;
                (Output::File(path), Some(implied))
            }
            Destination::File(path) => (Output::File(path), None),
            Destination::Other(output) => (output, None),
        };
        if matches!(output, Output::Stdout) && self.files.rotates() {
            return Err(UsageError("standard output cannot be rotated".into()).into());
        }
        let options = DatagramOptions {
            format: wanted.or(implied).unwrap_or(CaptureFormat::Pcap),
            comment: format!(
                "recorded by simtel {} (record {stem}); link and IP headers are synthesised from \
                 the addresses of each datagram",
                env!("CARGO_PKG_VERSION")
            ),
        };
        Ok((output, options))
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
        if self.files.json {
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

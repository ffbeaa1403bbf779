//! `simtel replay`: a capture to whoever listens, as the game would send it.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use glob::Pattern;

use super::formats::FormatOptions;
use super::keyboard::Keyboard;
use super::messages::{Messages, print_report};
use super::replaying::{Status, is_flawed, report, summarise};
use super::values::EncodingName;
use super::{Outcome, UsageError, interrupt, values};
use crate::clock::{nanoseconds, now};
use crate::decode::{self, TimeBound, TimeRange};
use crate::formats::Formats;
use crate::live::{
    Condition, Control, FaultOptions, FeedOptions, Filter, FilterBy, LONGEST_SPIN, MapPlace,
    PlayOptions, Player, SendInterface, SendOptions, Speed, Spin, Target, TickEncoding,
};

/// Send a capture as the game sent it
///
/// Sends the payload of every datagram of a capture, unchanged and in order, at
/// its original moment; or faster, slower, or as fast as the machine can. On a
/// terminal the space bar pauses, s sends a single datagram, q ends. Recordings
/// of iRacing become a running simulator with --map, or are sent a datagram a
/// tick with --encode.
#[derive(Debug, Args)]
#[command(after_long_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
pub(super) struct Replay {
    /// Capture: .pcap, .pcapng or .ibt, also compressed with gzip or zstd; `-`
    /// for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Send to this address; without a port to the one that each datagram was
    /// sent to; may be given several times
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    to: Vec<Target>,
    /// Publish the ticks of an .ibt in this file as a running iRacing publishes
    /// them in its memory; without a file, on Windows, in memory that `simtel
    /// record iracing --map` reads
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    map: Option<PathBuf>,
    /// Publish them as iRacing itself, so that every program of this machine
    /// takes it for running; on Windows
    #[arg(long, conflicts_with = "map")]
    as_simulator: bool,
    /// How fast, such as 2 or 0.5; or max, without any wait
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    speed: Speed,
    /// Repeat so many times in all, or forever
    #[arg(long = "loop", value_name = "N|forever", default_value = "1", value_parser = passes)]
    passes: Passes,
    /// Wait so long before each repetition
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = gap)]
    loop_gap: Duration,
    /// Shorten longer silences, such as menus and pauses, to this
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_gap: Option<Duration>,
    /// Start here: an offset from the capture's first packet such as 1m30s, or a
    /// moment such as 2026-05-24T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = values::time_bound)]
    from: Option<TimeBound>,
    /// Stop before this time, given like --from
    #[arg(long, value_name = "TIME", value_parser = values::time_bound)]
    until: Option<TimeBound>,
    /// Begin to send at this moment, such as 2026-05-24T12:00:00Z, or after this
    /// time, such as 10s
    #[arg(long, value_name = "TIME", value_parser = values::time_bound)]
    start_at: Option<TimeBound>,
    /// Send only the first N datagrams
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Send only datagrams of a format, packet, source (address, or address and
    /// port) or port: KEY=NAMES, or KEY!=NAMES for all others, with * and ?; all
    /// of several filters must hold
    #[arg(long, value_name = "FILTER", value_parser = condition)]
    filter: Vec<Condition>,
    #[command(flatten)]
    formats: FormatOptions,
    /// Send what went to port A to port B; for --to without a port
    #[arg(long, value_name = "A:B", value_parser = port_pair)]
    map_port: Vec<(u16, u16)>,
    /// Send from the port that each datagram came from
    #[arg(long)]
    preserve_ports: bool,
    /// Time to live of what is sent, for multicast and unicast
    #[arg(long, value_name = "HOPS", value_parser = clap::value_parser!(u8).range(1..))]
    ttl: Option<u8>,
    /// Send from this address of the machine, or by the network card of this name
    #[arg(long, value_name = "ADDRESS|NAME")]
    interface: Option<SendInterface>,
    /// Send each tick of an .ibt as its bytes, or as a JSON object
    #[arg(long, value_name = "HOW")]
    encode: Option<EncodingName>,
    /// Variables of the objects of --encode json, with * and ? [default: all]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', value_parser = values::pattern)]
    columns: Vec<Pattern>,
    /// Share of datagrams to leave out, such as 1%
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = "Faults")]
    loss: Option<f64>,
    /// Share of datagrams to send twice
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = "Faults")]
    duplicate: Option<f64>,
    /// Share of datagrams to send after the next one, which itself stays in place
    #[arg(long, value_name = "SHARE", value_parser = values::share, help_heading = "Faults")]
    reorder: Option<f64>,
    /// Delay each datagram by a time out of this range, such as 5ms..20ms, in the
    /// time of the capture
    #[arg(long, value_name = "RANGE", value_parser = delay, help_heading = "Faults")]
    delay: Option<RangeInclusive<Duration>>,
    /// What decides which datagrams the faults meet; the same seed gives the same
    /// stream
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Faults")]
    seed: u64,
    /// Wake so long before each deadline and spin, for precision; 0 to sleep only
    /// [default: as long as this machine's timers need, up to 200us on Linux]
    #[arg(long, value_name = "TIME", value_parser = spin)]
    spin: Option<Duration>,
    /// End with exit status 3 if a datagram was sent later than this
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    max_late: Option<Duration>,
    /// Fail if nobody listens at a target, as far as its system says so
    #[arg(long)]
    require_listener: bool,
    /// Print a JSON object a second on standard error, and a report as JSON on
    /// standard output
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "Examples:
  simtel replay race.pcap --to 127.0.0.1:20777
  simtel replay race.pcap --to 127.0.0.1:20777 --speed max --require-listener
  simtel replay race.pcap --to 192.168.1.20 --from 5m --until 6m --loop forever
  simtel replay race.pcap --to 239.1.2.3:20777 --ttl 4 --interface 192.168.1.5
  simtel replay race.pcap --to 127.0.0.1:20777 --filter packet=Motion,LapData
  simtel replay race.pcap --to 127.0.0.1:20777 --loss 1% --delay 5ms..20ms --seed 7
  simtel replay stint.ibt --map /dev/shm/iracing --loop forever
  simtel replay stint.ibt --to 127.0.0.1:9000 --encode json --columns 'Speed,Gear,Lap*'";

const EXIT_STATUS: &str = "Exit status:
  0  all was sent, or the replay was interrupted
  1  failed
  2  wrong usage
  3  all was sent, but some of it too late (--max-late), some could not be sent,
     the capture is damaged, or nothing in it is wanted";

/// How often to send it all; for ever if `None`.
#[derive(Debug, Clone, Copy)]
struct Passes(Option<u64>);

impl Replay {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let options = self.options()?;
        let map = options.map.clone();
        let interrupted = interrupt::watch();
        let player = Player::open(options)?;
        let control = Control::default();
        let keyboard = match self.json || messages.is_quiet() {
            true => None,
            false => Keyboard::open(),
        };
        self.announce(messages, map.as_ref(), keyboard.is_some());
        let mut status = Status::new(messages, self.json, player.size());
        let (done, result) = player.run(&control, |report| {
            if interrupted.load(Ordering::Relaxed) {
                control.stop();
            }
            while let Some(key) = keyboard.as_ref().and_then(Keyboard::key) {
                match key {
                    b' ' | b'p' => control.toggle(),
                    b's' | b'.' => control.step(),
                    b'q' => control.stop(),
                    _ => {}
                }
            }
            status.tell(report, control.is_paused());
        });
        status.finish();
        drop(keyboard);
        let latest = done.lateness.map_or(0, |lateness| lateness.max);
        let is_late = self
            .max_late
            .is_some_and(|most| u128::from(latest) > most.as_nanos());
        if self.json {
            print_report(&report(&done, result.as_ref().err()))?;
        }
        summarise(&done, result.is_err(), messages);
        if is_late && let Some(most) = self.max_late {
            messages.warning(format_args!(
                "a datagram was sent {} after its moment, more than the {} of --max-late",
                values::precise(latest),
                humantime::format_duration(most)
            ));
        }
        result?;
        match is_late || is_flawed(&done) {
            true => Ok(Outcome::Flawed),
            false => Ok(Outcome::Complete),
        }
    }

    fn options(&self) -> anyhow::Result<PlayOptions> {
        if !self.columns.is_empty() && !matches!(self.encode, Some(EncodingName::Json)) {
            let message = "--columns chooses the variables of --encode json";
            return Err(UsageError(message.into()).into());
        }
        if !self.map_port.is_empty() && self.to.iter().all(Target::has_port) {
            let message = "--map-port needs a --to without a port, to which it can add one";
            return Err(UsageError(message.into()).into());
        }
        if self.max_late.is_some() && self.speed == Speed::Max {
            let message = "--max-late needs moments, which --speed max does not keep to";
            return Err(UsageError(message.into()).into());
        }
        let map = match (self.as_simulator, &self.map) {
            (true, _) => Some(values::map_place(None, MapPlace::Simulator)?),
            (false, None) => None,
            (false, Some(path)) => Some(values::map_place(Some(path), MapPlace::Isolated)?),
        };
        if let Some(message) = self.contradiction(map.is_some()) {
            return Err(UsageError(message).into());
        }
        let formats = self.formats.formats()?;
        if (self.encode.is_some() || map.is_some()) && !self.filter.is_empty() {
            let message = "--filter chooses datagrams of a capture; ticks are chosen by --from and \
                           --until";
            return Err(UsageError(message.into()).into());
        }
        self.check_filter(&formats)?;
        values::check_time_range(self.from, self.until).map_err(UsageError)?;
        let faults = FaultOptions {
            seed: self.seed,
            loss: self.loss.unwrap_or(0.0),
            duplicate: self.duplicate.unwrap_or(0.0),
            reorder: self.reorder.unwrap_or(0.0),
            delay: self
                .delay
                .as_ref()
                .map(|range| nanoseconds(*range.start())..=nanoseconds(*range.end())),
        };
        let has_faults = self.loss.is_some()
            || self.duplicate.is_some()
            || self.reorder.is_some()
            || self.delay.is_some();
        Ok(PlayOptions {
            feed: FeedOptions {
                path: self.file.clone(),
                time: TimeRange {
                    from: self.from,
                    until: self.until,
                },
                filter: Filter {
                    conditions: self.filter.clone(),
                    formats,
                },
                limit: self.limit,
                max_gap: self.max_gap,
                passes: self.passes.0,
                gap_between_passes: self.loop_gap,
                faults: has_faults.then_some(faults),
                is_published: map.is_some(),
                encoding: self.encode.map(|encoding| match encoding {
                    EncodingName::Raw => TickEncoding::Raw,
                    EncodingName::Json => TickEncoding::Json {
                        columns: self.columns.clone(),
                    },
                }),
            },
            send: SendOptions {
                targets: self.to.clone(),
                map_ports: self.map_port.clone(),
                preserve_ports: self.preserve_ports,
                ttl: self.ttl.map(u32::from),
                interface: self.interface.clone(),
            },
            speed: self.speed,
            spin: self.spin.map_or(Spin::AtMost(LONGEST_SPIN), Spin::Always),
            map,
            start_at: self.start_at.map(moment),
            require_listener: self.require_listener,
        })
    }

    /// What makes no sense with or without --map.
    fn contradiction(&self, is_published: bool) -> Option<String> {
        let is_sent = !self.to.is_empty();
        if !is_sent && !is_published {
            let message = "say where to: --to ADDRESS:PORT, or for an .ibt also --map FILE";
            return Some(message.into());
        }
        let for_sending = [
            ("--encode", self.encode.is_some()),
            ("--ttl", self.ttl.is_some()),
            ("--interface", self.interface.is_some()),
            ("--preserve-ports", self.preserve_ports),
            ("--require-listener", self.require_listener),
        ];
        let needless = for_sending.iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = needless.filter(|_| !is_sent) {
            return Some(format!(
                "{option} is about what is sent, but there is no --to"
            ));
        }
        if !is_published {
            return None;
        }
        if is_sent && self.encode.is_none() {
            let message = "--to beside --map needs --encode, which says what to send of a tick";
            return Some(message.into());
        }
        let on_a_way = [
            ("--duplicate", self.duplicate.is_some()),
            ("--reorder", self.reorder.is_some()),
            ("--delay", self.delay.is_some()),
        ];
        let (option, _) = on_a_way.iter().find(|(_, is_given)| *is_given)?;
        Some(format!(
            "{option} is for datagrams: memory always has the newest tick"
        ))
    }

    /// A misspelt name would silently choose nothing, or everything.
    fn check_filter(&self, formats: &Formats) -> anyhow::Result<()> {
        let layouts = || formats.layouts().iter();
        let packets = || layouts().flat_map(|layout| &layout.packets);
        for condition in &self.filter {
            for name in &condition.values {
                let unknown = match condition.by {
                    FilterBy::Format => {
                        let known = layouts().any(|layout| name.matches(&layout.name));
                        let names = layouts().map(|layout| layout.name.as_str());
                        (!known).then(|| values::unknown("format", name.as_str(), names))
                    }
                    FilterBy::Packet => {
                        let known = packets().any(|packet| decode::names_packet(name, packet));
                        let names = packets().map(|packet| packet.name.as_str());
                        (!known).then(|| values::unknown("packet", name.as_str(), names))
                    }
                    FilterBy::Source | FilterBy::Port => None,
                };
                if let Some(message) = unknown {
                    return Err(UsageError(message).into());
                }
            }
        }
        Ok(())
    }

    fn announce(&self, messages: &Messages, map: Option<&MapPlace>, has_keys: bool) {
        let mut targets: Vec<String> = self.to.iter().map(ToString::to_string).collect();
        targets.extend(map.map(ToString::to_string));
        messages.note(format_args!(
            "replaying {} to {}{}",
            self.file.display(),
            targets.join(", "),
            match has_keys {
                true => "; space pauses, s goes one further, q ends",
                false => "",
            }
        ));
    }
}

/// A moment as nanoseconds since 1970; an offset counts from now.
fn moment(bound: TimeBound) -> i64 {
    match bound {
        TimeBound::Absolute(time) => time,
        TimeBound::Offset(offset) => now().saturating_add(offset),
    }
}

/// `2`, `0.5`, `2x` or `max`.
fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let factor: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
    factor
        .filter(|factor| (0.001..=1_000_000.0).contains(factor))
        .map(|factor| Speed::Times((factor * 1e6).round() as u64))
        .ok_or_else(|| "write a factor such as 2, 0.5 or 10, or max".into())
}

fn passes(text: &str) -> Result<Passes, String> {
    match (text, text.parse()) {
        ("forever", _) => Ok(Passes(None)),
        (_, Ok(passes @ 1..)) => Ok(Passes(Some(passes))),
        _ => Err("write how many times in all, or forever".into()),
    }
}

/// Not so long that keys and interrupts would have to wait.
fn spin(text: &str) -> Result<Duration, String> {
    let spin = gap(text)?;
    match spin > Duration::from_millis(100) {
        true => Err("it must be 100ms or shorter".into()),
        false => Ok(spin),
    }
}

/// What is delayed is held in memory.
fn delay(text: &str) -> Result<RangeInclusive<Duration>, String> {
    let range = values::duration_range(text)?;
    match *range.end() > Duration::from_secs(10) {
        true => Err("it must be 10s or shorter".into()),
        false => Ok(range),
    }
}

/// A time that may be none.
fn gap(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        text => values::duration(text),
    }
}

fn port_pair(text: &str) -> Result<(u16, u16), String> {
    text.split_once(':')
        .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)))
        .ok_or_else(|| "write two ports such as 20777:20778".into())
}

/// `packet=Motion,LapData` or `source!=192.168.1.*`.
fn condition(text: &str) -> Result<Condition, String> {
    let explain = || {
        "write format=NAMES, packet=NAMES, source=ADDRESSES or port=PORTS, or != for all others"
            .to_string()
    };
    let (key, names) = text.split_once('=').ok_or_else(explain)?;
    let (key, is_negated) = match key.strip_suffix('!') {
        Some(key) => (key, true),
        None => (key, false),
    };
    let by = match key {
        "format" => FilterBy::Format,
        "packet" => FilterBy::Packet,
        "source" => FilterBy::Source,
        "port" => FilterBy::Port,
        _ => return Err(explain()),
    };
    let value = |text: &str| {
        // The brackets of an address are none of a pattern.
        let is_address = text.parse::<SocketAddr>().is_ok() || text.parse::<IpAddr>().is_ok();
        match by == FilterBy::Source && is_address {
            true => values::pattern(&Pattern::escape(text)),
            false => values::pattern(text),
        }
    };
    let values = names.split(',').map(value).collect::<Result<_, _>>()?;
    Ok(Condition {
        by,
        is_negated,
        values,
    })
}

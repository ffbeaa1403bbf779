//! What a replay sends: the datagrams of a capture, or the ticks of a recording
//! as datagrams, those of them that are wanted, each at its position in time.
//! Knows no socket and no clock.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use glob::Pattern;

use super::faults::{FaultCounts, FaultOptions, Faults};
use super::tick_object::{self, TickObject};
use crate::capture::{Capture, CaptureError, Input, TickFile};
use crate::clock::nanoseconds;
use crate::decode::{self, TimeRange};
use crate::formats::{Formats, Recognised};

/// A time stamp further back than this is that of a clock that was set; closer
/// ones are out of order.
const CLOCK_SET: i64 = 1_000_000_000;
/// One further ahead, by a day, is that of a clock that was set, or damaged.
const LONGEST_SILENCE: i64 = 86_400 * CLOCK_SET;
/// The longest payload of UDP over IPv4.
pub(super) const LONGEST_PAYLOAD: usize = 65_507;
/// What is read ahead at a time.
const CHUNK_DATAGRAMS: usize = 128;
const CHUNK_BYTES: usize = 1 << 18;

/// What to send of a file.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    pub path: PathBuf,
    pub time: TimeRange,
    pub filter: Filter,
    /// Datagrams of the file, in all passes.
    pub limit: Option<u64>,
    /// The longest silence.
    pub max_gap: Option<Duration>,
    /// How often; for ever if absent.
    pub passes: Option<u64>,
    pub gap_between_passes: Duration,
    pub faults: Option<FaultOptions>,
    /// How ticks become datagrams.
    pub encoding: Option<TickEncoding>,
    /// Whether ticks are published, too; without an encoding they are nothing
    /// else.
    pub is_published: bool,
}

/// How a tick becomes a datagram.
#[derive(Debug, Clone)]
pub enum TickEncoding {
    /// Its bytes as they are.
    Raw,
    /// An object with these variables; all if there are none.
    Json { columns: Vec<Pattern> },
}

/// Which datagrams to send: one condition of each kind must hold.
#[derive(Debug, Clone)]
pub struct Filter {
    pub conditions: Vec<Condition>,
    /// What to recognise them by.
    pub formats: Formats,
}

/// A condition that one of several values fulfils.
#[derive(Debug, Clone)]
pub struct Condition {
    pub by: FilterBy,
    /// Whether none of the values may hold.
    pub is_negated: bool,
    pub values: Vec<Pattern>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterBy {
    Format,
    Packet,
    /// Address of the sender, or address and port.
    Source,
    /// The port that it was sent to.
    Port,
}

/// Some datagrams in the order in which they are to be sent.
#[derive(Default)]
pub(super) struct Chunk {
    pub items: Vec<Item>,
    payloads: Vec<u8>,
    /// Bytes of the file that were read before.
    pub read: u64,
    pub counts: FeedCounts,
}

/// A datagram but for its payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Nanoseconds of the capture since the first that is sent.
    pub position: u64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// Of a tick, its position in the recording.
    pub record: usize,
    start: usize,
    length: usize,
}

impl Chunk {
    pub fn payload(&self, item: &Item) -> &[u8] {
        &self.payloads[item.start..item.start + item.length]
    }

    fn push<P: AsRef<[u8]>>(&mut self, position: u64, outgoing: &Outgoing<P>) {
        let payload = outgoing.payload.as_ref();
        self.items.push(Item {
            position,
            source: outgoing.source,
            destination: outgoing.destination,
            record: outgoing.record,
            start: self.payloads.len(),
            length: payload.len(),
        });
        self.payloads.extend_from_slice(payload);
    }

    fn is_full(&self) -> bool {
        self.items.len() >= CHUNK_DATAGRAMS || self.payloads.len() >= CHUNK_BYTES
    }
}

/// What became of the datagrams of the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct FeedCounts {
    /// Datagrams that were wanted.
    pub taken: u64,
    /// Datagrams that were not.
    pub left_out: u64,
    pub faults: FaultCounts,
}

/// That, and what was wrong with the file.
#[derive(Debug, Clone, Default)]
pub struct FeedReport {
    pub counts: FeedCounts,
    /// Datagrams that the file has only in part.
    pub incomplete: u64,
    /// Offset and what it is.
    pub damage: Vec<(u64, String)>,
    pub damage_count: u64,
}

/// A datagram on its way, with a payload that is borrowed until faults may keep
/// it back.
#[derive(Clone)]
struct Outgoing<P> {
    source: SocketAddr,
    destination: SocketAddr,
    record: usize,
    payload: P,
}

/// Reads a file, as often as it is to be sent.
pub(super) struct Feed {
    options: FeedOptions,
    timeline: Timeline,
    faults: Option<Faults<Outgoing<Vec<u8>>>>,
    chunk: Chunk,
    /// Whether the file may come to a halt, so that nothing may wait for more.
    pub is_stream: bool,
    pub report: FeedReport,
}

/// Whether there is use for more.
type GoOn = bool;

impl Feed {
    pub fn new(options: FeedOptions) -> Feed {
        Feed {
            timeline: Timeline {
                max_gap: options.max_gap.map_or(u64::MAX, nanoseconds),
                position: 0,
                newest: None,
            },
            faults: options.faults.clone().map(Faults::new),
            is_stream: options.path.as_os_str() == "-" || !options.path.is_file(),
            options,
            chunk: Chunk::default(),
            report: FeedReport::default(),
        }
    }

    /// Opens the file, to see whether it can be sent at all.
    ///
    /// # Errors
    /// If it cannot be read, or be sent.
    pub fn open(&self) -> anyhow::Result<Input> {
        let input = Input::open(&self.options.path)?;
        if let Input::Ticks(ticks) = &input {
            check_ticks(ticks, &self.options)?;
        } else if self.options.is_published {
            bail!(
                "{}: --map is for .ibt recordings; the datagrams of a capture are sent with --to",
                self.options.path.display()
            );
        } else if self.options.encoding.is_some() {
            bail!(
                "{}: --encode is for .ibt recordings; the datagrams of a capture are sent as they \
                 are",
                self.options.path.display()
            );
        }
        let repeats = self.options.passes != Some(1);
        if repeats && self.is_stream {
            bail!(
                "{}: what is read from a pipe is gone, so it cannot be repeated",
                self.options.path.display()
            );
        }
        Ok(input)
    }

    /// Hands everything to `take`, beginning with `input`, until that has no use
    /// for more.
    ///
    /// # Errors
    /// If the file cannot be read any more, or holds nothing to repeat.
    pub fn run(&mut self, input: Input, take: &mut dyn FnMut(Chunk) -> GoOn) -> anyhow::Result<()> {
        let result = self.passes(input, take);
        // What was read is sent, whatever came then.
        if let Some(mut faults) = self.faults.take() {
            let chunk = &mut self.chunk;
            faults.finish(self.timeline.position, &mut |position, outgoing| {
                chunk.push(position, &outgoing)
            });
            self.report.counts.faults = faults.counts();
        }
        self.chunk.counts = self.report.counts;
        take(std::mem::take(&mut self.chunk));
        result
    }

    fn passes(&mut self, input: Input, take: &mut dyn FnMut(Chunk) -> GoOn) -> anyhow::Result<()> {
        let mut input = Some(input);
        let mut pass = 0;
        loop {
            let before = self.report.counts.taken;
            let go_on = match input.take().map_or_else(|| self.open(), Ok)? {
                Input::Datagrams(capture) => self.datagrams(*capture, pass == 0, take)?,
                Input::Ticks(ticks) => self.ticks(&ticks, pass == 0, take)?,
            };
            if !go_on {
                return Ok(());
            }
            pass += 1;
            let is_last = self.options.passes.is_some_and(|passes| pass == passes);
            if is_last || self.report.counts.taken == before || self.is_at_limit() {
                return Ok(());
            }
            let stands_still = self.timeline.position == 0;
            let is_endless = self.options.passes.is_none() && self.options.limit.is_none();
            if stands_still && is_endless && self.options.gap_between_passes.is_zero() {
                bail!(
                    "{}: what is to be repeated for ever takes no time: --loop-gap says how much \
                     lies between two passes",
                    self.options.path.display()
                );
            }
            self.timeline
                .next_pass(nanoseconds(self.options.gap_between_passes));
        }
    }

    fn is_at_limit(&self) -> bool {
        self.options
            .limit
            .is_some_and(|limit| self.report.counts.taken >= limit)
    }

    fn datagrams(
        &mut self,
        mut capture: Capture,
        is_first: bool,
        take: &mut dyn FnMut(Chunk) -> GoOn,
    ) -> anyhow::Result<GoOn> {
        let mut read = 0;
        let result = loop {
            if self.is_at_limit() {
                break Ok(true);
            }
            let datagram = match capture.next_datagram() {
                Ok(Some(datagram)) => datagram,
                Ok(None) => break Ok(true),
                Err(error) => break Err(error),
            };
            let (time, start) = (datagram.time, datagram.start);
            // A file ends by itself, and may have an earlier time stamp still.
            if self.is_stream
                && self
                    .options
                    .time
                    .is_over(time.saturating_sub(CLOCK_SET), start)
            {
                break Ok(true);
            }
            if !self.options.time.contains(time, start) || !self.options.filter.takes(&datagram) {
                self.report.counts.left_out += u64::from(is_first);
                continue;
            }
            let outgoing = Outgoing {
                source: datagram.source,
                destination: datagram.destination,
                record: 0,
                payload: datagram.payload,
            };
            if !self.take(time, &outgoing, read, take) {
                break Ok(false);
            }
            read = capture.position();
        };
        if is_first {
            self.note_damage(&capture);
        }
        result.map_err(CaptureError::into)
    }

    fn note_damage(&mut self, capture: &Capture) {
        let counts = capture.counts();
        self.report.incomplete = counts.cut + counts.malformed + counts.incomplete;
        let damage = capture.damage();
        self.report.damage.clone_from(&damage.finds);
        self.report.damage_count = damage.count;
    }

    fn ticks(
        &mut self,
        ticks: &TickFile,
        is_first: bool,
        take: &mut dyn FnMut(Chunk) -> GoOn,
    ) -> anyhow::Result<GoOn> {
        if is_first {
            self.report.damage.clone_from(&ticks.damage().finds);
            self.report.damage_count = ticks.damage().count;
        }
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let encoding = self.options.encoding.clone();
        let wanted = match &encoding {
            Some(TickEncoding::Json { columns }) => {
                let (chosen, unknown) = tick_object::choose(ticks.variables(), columns);
                if let Some(pattern) = unknown {
                    bail!("{}: there is no variable {pattern}", ticks.name());
                }
                Some(chosen)
            }
            _ => None,
        };
        let length = ticks.record_length();
        let start = if ticks.count() > 0 { ticks.time(0) } else { 0 };
        let size = ticks.size().unwrap_or(0);
        let mut text = Vec::new();
        for tick in 0..ticks.count() {
            if self.is_at_limit() {
                break;
            }
            let (time, offset) = (ticks.time(tick), ticks.offset(tick));
            if !self.options.time.contains(time, start) {
                self.report.counts.left_out += u64::from(is_first);
                continue;
            }
            let record = &ticks.mapping()[offset..offset + length];
            let payload = match &wanted {
                None if encoding.is_none() => &[],
                None => record,
                Some(variables) => {
                    text.clear();
                    serde_json::to_writer(&mut text, &TickObject { variables, record })?;
                    text.as_slice()
                }
            };
            if payload.len() > LONGEST_PAYLOAD {
                bail!(
                    "{}: tick {tick} takes {} bytes as JSON, and a datagram holds {LONGEST_PAYLOAD}: \
                     choose fewer variables with --columns",
                    ticks.name(),
                    payload.len()
                );
            }
            let outgoing = Outgoing {
                source: nowhere,
                destination: nowhere,
                record: tick,
                payload,
            };
            // As if its ticks were all of it: the headers take no time.
            let read = size.saturating_mul(tick as u64) / ticks.count() as u64;
            if !self.take(time, &outgoing, read, take) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes a datagram that is wanted.
    fn take(
        &mut self,
        time: i64,
        outgoing: &Outgoing<&[u8]>,
        read: u64,
        take: &mut dyn FnMut(Chunk) -> GoOn,
    ) -> GoOn {
        self.report.counts.taken += 1;
        let position = self.timeline.place(time);
        let chunk = &mut self.chunk;
        match &mut self.faults {
            None => chunk.push(position, outgoing),
            Some(faults) => {
                let outgoing = Outgoing {
                    source: outgoing.source,
                    destination: outgoing.destination,
                    record: outgoing.record,
                    payload: outgoing.payload.to_vec(),
                };
                faults.push(position, outgoing, &mut |position, outgoing| {
                    chunk.push(position, &outgoing)
                });
                self.report.counts.faults = faults.counts();
            }
        }
        self.chunk.read = read;
        self.chunk.counts = self.report.counts;
        if !self.chunk.is_full() && !self.is_stream || self.chunk.items.is_empty() {
            return true;
        }
        take(std::mem::take(&mut self.chunk))
    }
}

/// Time stamps into positions, which never go back.
struct Timeline {
    max_gap: u64,
    position: u64,
    /// The latest time stamp so far.
    newest: Option<i64>,
}

impl Timeline {
    fn place(&mut self, time: i64) -> u64 {
        // Some captures have packets without a time stamp.
        if time == 0 {
            return self.position;
        }
        let mut step = match self.newest {
            None => 0,
            Some(newest) => time.saturating_sub(newest),
        };
        if self.newest.is_none() || !(-CLOCK_SET..0).contains(&step) {
            self.newest = Some(time);
        }
        if step > LONGEST_SILENCE {
            step = 0;
        }
        self.position += u64::try_from(step).unwrap_or(0).min(self.max_gap);
        self.position
    }

    fn next_pass(&mut self, gap: u64) {
        self.position = self.position.saturating_add(gap);
        self.newest = None;
    }
}

impl Filter {
    fn takes(&self, datagram: &crate::capture::Datagram<'_>) -> bool {
        let needs_format = |by| matches!(by, FilterBy::Format | FilterBy::Packet);
        let recognised = match self
            .conditions
            .iter()
            .any(|condition| needs_format(condition.by))
        {
            true => {
                let port = datagram.destination.port();
                self.formats.recognise(datagram.payload, port)
            }
            false => Recognised::Unrecognised,
        };
        let layout = recognised
            .layout()
            .map(|layout| &self.formats.layouts()[layout]);
        let packet = recognised.packet();
        let packet = packet.and_then(|packet| Some(&layout?.packets[packet]));
        self.conditions.iter().all(|condition| {
            let any = |holds: &dyn Fn(&Pattern) -> bool| condition.values.iter().any(holds);
            let holds = match condition.by {
                FilterBy::Format => {
                    layout.is_some_and(|layout| any(&|value| value.matches(&layout.name)))
                }
                FilterBy::Packet => {
                    packet.is_some_and(|packet| any(&|value| decode::names_packet(value, packet)))
                }
                FilterBy::Source => any(&|value| {
                    value.matches(&datagram.source.ip().to_string())
                        || value.matches(&datagram.source.to_string())
                }),
                FilterBy::Port => {
                    any(&|value| value.matches(&datagram.destination.port().to_string()))
                }
            };
            holds != condition.is_negated
        })
    }
}

fn check_ticks(ticks: &TickFile, options: &FeedOptions) -> anyhow::Result<()> {
    let name = ticks.name();
    match &options.encoding {
        None if options.is_published => Ok(()),
        None => bail!(
            "{name} is a recording of ticks, not of datagrams: --encode raw sends each tick as its \
             bytes, --encode json as an object; --map publishes them as a simulator does"
        ),
        Some(TickEncoding::Raw) if ticks.record_length() > LONGEST_PAYLOAD => bail!(
            "{name}: a tick has {} bytes, and a datagram holds {LONGEST_PAYLOAD}: send chosen \
             variables with --encode json --columns",
            ticks.record_length()
        ),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(max_gap: u64, times: &[i64]) -> Vec<u64> {
        let mut timeline = Timeline {
            max_gap,
            position: 0,
            newest: None,
        };
        times.iter().map(|time| timeline.place(*time)).collect()
    }

    #[test]
    fn positions_follow_the_time_stamps_and_never_go_back() {
        assert_eq!(places(u64::MAX, &[50, 60, 90]), [0, 10, 40]);
        // Out of order: sent at once, and nothing is shifted by it.
        assert_eq!(places(u64::MAX, &[50, 60, 55, 58, 70]), [0, 10, 10, 10, 20]);
        // A clock that was set back by an hour.
        let hour = 3_600 * CLOCK_SET;
        assert_eq!(places(u64::MAX, &[hour, hour + 10, 5, 20]), [0, 10, 10, 25]);
        // A clock that was set to the right year, and a damaged time stamp.
        assert_eq!(
            places(u64::MAX, &[10, 20, 50 * 365 * 86_400 * CLOCK_SET + 7]),
            [0, 10, 10]
        );
        let day = 2 * LONGEST_SILENCE;
        assert_eq!(
            places(u64::MAX, &[10, 20, day, 30, 40]),
            [0, 10, 10, 10, 20]
        );
        // Packets without a time stamp.
        assert_eq!(places(u64::MAX, &[50, 0, 60, 0, 70]), [0, 0, 10, 10, 20]);
        // Long silences are cut.
        assert_eq!(places(15, &[1, 11, 501, 511]), [0, 10, 25, 35]);
    }
}

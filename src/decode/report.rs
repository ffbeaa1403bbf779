//! What a conversion has seen: how much of each packet, what was refused and
//! why, what was damaged. Counts only; how they are shown is the CLI's affair.

use std::collections::BTreeMap;

use crate::capture::{Capture, Damage, Datagram, PacketCounts, TickFile};
use crate::clock::widen;
use crate::formats::iracing::{self, Session};
use crate::formats::{Formats, Recognised};
use crate::layout::Layout;

use super::streams::{Stream, Streams};

/// The kinds of refused datagrams that are told apart; beyond that they are
/// only counted.
const MOST_KINDS: usize = 200;
/// Notes on one input that are kept.
const MOST_NOTES: usize = 50;
/// How much of an unrecognised datagram is shown.
const SHOWN_BYTES: usize = 16;

/// What became of all inputs.
#[derive(Debug, Default)]
pub struct Report {
    pub captures: Vec<CaptureReport>,
    /// Name and title of each format that turned up.
    pub formats: Vec<(String, String)>,
    pub rows: u64,
    /// Texts that were not UTF-8.
    pub replaced_texts: u64,
}

/// One file that was written.
#[derive(Debug, Clone)]
pub struct TableReport {
    pub format: String,
    pub table: String,
    pub path: String,
    pub rows: u64,
    pub bytes: u64,
}

/// What became of one input.
#[derive(Debug)]
pub struct CaptureReport {
    pub name: String,
    pub size: Option<u64>,
    pub counts: PacketCounts,
    pub damage: Damage,
    /// Decoded datagrams by the positions of format and packet.
    pub packets: BTreeMap<(usize, usize), PacketReport>,
    pub refused: BTreeMap<Refused, RefusedCount>,
    /// Datagrams of no known format, or of an unknown packet or length.
    pub refused_datagrams: u64,
    /// Datagrams outside the time range that was asked for.
    pub out_of_range: u64,
    /// Datagrams that were left out because the car was not being driven.
    pub not_driving: u64,
    /// The senders of formats that several games share or that can be checked.
    pub streams: Vec<Stream>,
    /// First and last time stamp of the datagrams in the range.
    pub span: Option<(i64, i64)>,
    /// What is worth knowing but no flaw.
    pub notes: Vec<String>,
    /// How many more notes there were.
    pub more_notes: u64,
    /// Why it could not be read at all.
    pub error: Option<String>,
}

/// How much of one packet was decoded.
#[derive(Debug, Clone)]
pub struct PacketReport {
    pub format: String,
    pub packet: String,
    pub tally: Tally,
}

/// How much came, and when.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// Or ticks.
    pub datagrams: u64,
    pub bytes: u64,
    /// Those that have a time.
    timed: u64,
    /// Their earliest and latest time, in nanoseconds since 1970 UTC.
    pub times: Option<(i64, i64)>,
    /// The longest time without any, in nanoseconds, and when it began.
    pub largest_gap: Option<(i64, i64)>,
}

impl Tally {
    /// Notes one; a time of 0 is none.
    pub fn see(&mut self, time: i64, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
        if time == 0 {
            return;
        }
        self.timed += 1;
        let Some((earliest, latest)) = &mut self.times else {
            self.times = Some((time, time));
            return;
        };
        let gap = time.saturating_sub(*latest);
        if gap > self.largest_gap.map_or(0, |(largest, _)| largest) {
            self.largest_gap = Some((gap, *latest));
        }
        *earliest = time.min(*earliest);
        *latest = time.max(*latest);
    }

    /// How many came a second, on average; none if they came all at once.
    pub fn per_second(&self) -> Option<f64> {
        const SHORTEST: f64 = 0.05;
        let (first, last) = self.times?;
        let seconds = last.saturating_sub(first) as f64 / 1e9;
        (seconds >= SHORTEST).then(|| (self.timed - 1) as f64 / seconds)
    }
}

/// Why datagrams were not decoded, or only in part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    UnexpectedLength {
        format: String,
        packet: String,
        expected: usize,
        actual: usize,
        /// Whether the known beginning was decoded all the same.
        decoded: bool,
    },
    UnknownPacket {
        format: String,
        id: i64,
        length: usize,
    },
    Unrecognised {
        port: u16,
        length: usize,
    },
}

/// How many there were, and where the first was.
#[derive(Debug, Clone)]
pub struct RefusedCount {
    pub count: u64,
    pub first_offset: u64,
    pub first_bytes: String,
}

impl CaptureReport {
    pub fn new(name: &str, size: Option<u64>) -> CaptureReport {
        CaptureReport {
            name: name.into(),
            size,
            counts: PacketCounts::default(),
            damage: Damage::default(),
            packets: BTreeMap::new(),
            refused: BTreeMap::new(),
            refused_datagrams: 0,
            out_of_range: 0,
            not_driving: 0,
            streams: Vec::new(),
            span: None,
            notes: Vec::new(),
            more_notes: 0,
            error: None,
        }
    }

    pub fn note(&mut self, note: String) {
        match self.notes.len() < MOST_NOTES {
            true => self.notes.push(note),
            false => self.more_notes += 1,
        }
    }

    /// Notes what is wrong or particular with a recording as a whole.
    pub fn see_ticks(&mut self, ticks: &TickFile) {
        self.damage = ticks.damage().clone();
        if ticks.is_live() {
            self.note(
                "this is a copy of the memory of a running simulator: its newest tick is all that \
                 is read"
                    .into(),
            );
        }
        if !ticks.has_clock() {
            self.counts.untimed = ticks.count() as u64;
        }
    }

    /// Notes what of a session string is only text.
    pub fn note_odd_lines(&mut self, session: &Session) {
        for note in &session.notes {
            self.note(format!("session string: {note}"));
        }
        for (line, what) in &session.odd_lines {
            self.note(format!("session string: line {line} is no entry: {what}"));
        }
        let more = session.odd_count - session.odd_lines.len();
        if more > 0 {
            self.note(format!("session string: {more} more lines like these"));
        }
    }

    pub(super) fn see(&mut self, time: i64) {
        widen(&mut self.span, time);
    }

    /// The tally of a packet of the format at `number`.
    pub fn tally(&mut self, number: usize, layout: &Layout, packet: usize) -> &mut Tally {
        let report = self.packets.entry((number, packet));
        let report = report.or_insert_with(|| PacketReport {
            format: layout.name.clone(),
            packet: layout.packets[packet].name.clone(),
            tally: Tally::default(),
        });
        &mut report.tally
    }

    /// Tells the positions of a datagram's format and packet by what the formats say
    /// of it; what cannot be decoded is noted. With `lenient`, what is longer than the
    /// packet is taken for it.
    pub fn take(
        &mut self,
        formats: &Formats,
        datagram: &Datagram<'_>,
        recognised: Recognised,
        lenient: bool,
    ) -> Option<(usize, usize)> {
        match recognised {
            Recognised::Packet { layout, packet } => return Some((layout, packet)),
            Recognised::UnexpectedLength { layout, packet } => {
                let definition = &formats.layouts()[layout];
                let is_longer = datagram.payload.len() > definition.packets[packet].size;
                let is_decoded = lenient && is_longer;
                self.refuse_length(definition, packet, datagram, is_decoded);
                return is_decoded.then_some((layout, packet));
            }
            Recognised::UnknownPacket { layout, id } => {
                self.refuse_packet(&formats.layouts()[layout], id, datagram);
            }
            Recognised::Unrecognised => self.refuse_unrecognised(datagram),
        }
        None
    }

    fn refuse_length(
        &mut self,
        layout: &Layout,
        packet: usize,
        datagram: &Datagram<'_>,
        decoded: bool,
    ) {
        let packet = &layout.packets[packet];
        let why = Refused::UnexpectedLength {
            format: layout.name.clone(),
            packet: packet.name.clone(),
            expected: packet.size,
            actual: datagram.payload.len(),
            decoded,
        };
        self.refuse(why, datagram);
    }

    fn refuse_packet(&mut self, layout: &Layout, id: i64, datagram: &Datagram<'_>) {
        let why = Refused::UnknownPacket {
            format: layout.name.clone(),
            id,
            length: datagram.payload.len(),
        };
        self.refuse(why, datagram);
    }

    fn refuse_unrecognised(&mut self, datagram: &Datagram<'_>) {
        let why = Refused::Unrecognised {
            port: datagram.destination.port(),
            length: datagram.payload.len(),
        };
        self.refuse(why, datagram);
    }

    fn refuse(&mut self, why: Refused, datagram: &Datagram<'_>) {
        self.refused_datagrams += 1;
        if let Some(known) = self.refused.get_mut(&why) {
            known.count += 1;
        } else if self.refused.len() < MOST_KINDS {
            let shown = &datagram.payload[..datagram.payload.len().min(SHOWN_BYTES)];
            let bytes: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            let count = RefusedCount {
                count: 1,
                first_offset: datagram.offset,
                first_bytes: bytes.join(" "),
            };
            self.refused.insert(why, count);
        }
    }

    pub fn finish(&mut self, capture: &Capture, streams: Streams) {
        self.streams = streams.into_list();
        self.counts = capture.counts();
        self.damage = capture.damage().clone();
    }

    /// Datagrams that were decoded.
    pub fn decoded_datagrams(&self) -> u64 {
        let packets = self.packets.values();
        packets.map(|packet| packet.tally.datagrams).sum()
    }

    /// Ticks that were decoded, of recordings.
    pub fn ticks(&self) -> u64 {
        let packets = self.packets.values();
        let ticks = packets.filter(|packet| packet.format == iracing::NAME);
        ticks.map(|packet| packet.tally.datagrams).sum()
    }

    /// Whether anything is wrong with what was read so far.
    pub fn is_flawed(&self) -> bool {
        self.refused_datagrams > 0
            || self.error.is_some()
            || self.damage.count > 0
            || self.counts.cut + self.counts.malformed + self.counts.incomplete > 0
            || self.counts.unknown_link > 0
            || self.streams.iter().any(Stream::is_doubtful)
    }

    /// A sentence for each thing that is wrong, the weightiest first.
    pub fn flaws(&self) -> Vec<String> {
        let mut flaws: Vec<String> = self.error.iter().cloned().collect();
        for (offset, what) in &self.damage.finds {
            flaws.push(format!("offset {offset}: {what}"));
        }
        let more = self.damage.count - self.damage.finds.len() as u64;
        if more > 0 {
            flaws.push(format!("{more} more damaged places"));
        }
        for stream in self.streams.iter().filter(|stream| stream.is_doubtful()) {
            let (contradictions, checked) = stream.contradictions();
            let first = stream.first_contradiction.as_ref();
            let field = first.map_or("", |first| first.field.as_str());
            let at = first.map_or(0, |first| first.offset);
            let sender = stream.sender.map(|sender| format!(" from {sender}"));
            flaws.push(format!(
                "doubtful layout: in {contradictions} of {checked} {} datagrams{} {field} is not \
                 the length of the vector that it belongs to (first at offset {at}); they may be \
                 of another game: --game says which to expect, --layout brings another",
                stream.format,
                sender.unwrap_or_default()
            ));
        }
        for (why, found) in &self.refused {
            let times = found.count;
            let at = found.first_offset;
            flaws.push(match why {
                Refused::UnexpectedLength {
                    format,
                    packet,
                    expected,
                    actual,
                    decoded,
                } => {
                    let outcome = match decoded {
                        true => "only the known beginning was decoded",
                        false if actual > expected => {
                            "not decoded; --lenient decodes the known beginning"
                        }
                        false => "not decoded",
                    };
                    format!(
                        "unexpected length: {times} × {format} {packet} of {actual} bytes, \
                         expected {expected} (first at offset {at}): {outcome}"
                    )
                }
                Refused::UnknownPacket { format, id, length } => format!(
                    "unknown packet: {times} × {format} packet id {id} of {length} bytes \
                     (first at offset {at})"
                ),
                Refused::Unrecognised { port, length } => format!(
                    "unrecognised: {times} × {length} bytes to port {port} \
                     (first at offset {at}: {})",
                    found.first_bytes
                ),
            });
        }
        let kinds: u64 = self.refused.values().map(|found| found.count).sum();
        let counts = &self.counts;
        for (count, what) in [
            (
                self.refused_datagrams - kinds,
                "more datagrams were not recognised",
            ),
            (
                counts.cut,
                "datagrams were cut by the capture's snap length; capture with `-s 0`",
            ),
            (counts.malformed, "UDP packets have contradictory lengths"),
            (counts.incomplete, "datagrams lack some of their fragments"),
            (counts.unknown_link, "packets are of an unknown link type"),
        ] {
            if count > 0 {
                flaws.push(format!("{count} {what}"));
            }
        }
        flaws
    }
}

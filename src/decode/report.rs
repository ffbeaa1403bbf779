//! What a conversion has seen: how much of each packet, what was refused and
//! why, what was damaged. Counts only; how they are shown is the CLI's affair.

use std::collections::BTreeMap;

use crate::capture::{Capture, Damage, Datagram, PacketCounts};
use crate::formats::iracing::{self, Session};
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
    /// Decoded datagrams by format and packet.
    pub packets: BTreeMap<(String, String), PacketReport>,
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
#[derive(Debug, Default, Clone, Copy)]
pub struct PacketReport {
    pub datagrams: u64,
    pub bytes: u64,
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
    pub(super) fn new(name: &str, size: Option<u64>) -> CaptureReport {
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

    pub(super) fn note(&mut self, note: String) {
        match self.notes.len() < MOST_NOTES {
            true => self.notes.push(note),
            false => self.more_notes += 1,
        }
    }

    /// Notes what of a session string is only text.
    pub(super) fn note_odd_lines(&mut self, session: &Session) {
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
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first.min(time), last.max(time)));
    }

    pub(super) fn decoded(&mut self, layout: &Layout, packet: usize, records: u64, bytes: u64) {
        let packet = &layout.packets[packet];
        let key = (layout.name.clone(), packet.name.clone());
        let report = self.packets.entry(key).or_default();
        report.datagrams += records;
        report.bytes += bytes;
    }

    pub(super) fn refuse_length(
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

    pub(super) fn refuse_packet(&mut self, layout: &Layout, id: i64, datagram: &Datagram<'_>) {
        let why = Refused::UnknownPacket {
            format: layout.name.clone(),
            id,
            length: datagram.payload.len(),
        };
        self.refuse(why, datagram);
    }

    pub(super) fn refuse_unrecognised(&mut self, datagram: &Datagram<'_>) {
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

    pub(super) fn finish(&mut self, capture: &Capture, streams: Streams) {
        self.streams = streams.into_list();
        self.counts = capture.counts();
        self.damage = capture.damage().clone();
    }

    /// Datagrams that were decoded.
    pub fn decoded_datagrams(&self) -> u64 {
        self.packets.values().map(|packet| packet.datagrams).sum()
    }

    /// Ticks that were decoded, of recordings.
    pub fn ticks(&self) -> u64 {
        let packets = self.packets.iter();
        let ticks = packets.filter(|((format, _), _)| format == iracing::NAME);
        ticks.map(|(_, packet)| packet.datagrams).sum()
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

//! What arrives, while it arrives: which formats, how much of each, what the
//! senders say of the session, and whether their own counters have gaps. Looks
//! at datagrams only; nothing here keeps or changes them.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use crate::formats::{Formats, Recognised};
use crate::layout::{Games, Layout, Scalar, StatusField};
use crate::text::{until_nul, utf8_or_latin};

/// Counters that are followed; those of more senders are not.
const MOST_SEQUENCES: usize = 4_096;
/// Steps of one counter that are told apart.
const MOST_STEPS: usize = 256;
/// Below this nothing can be said of a counter.
const FEWEST_STEPS: u64 = 10;
/// A step of so many usual ones is a pause of the sender, not a gap.
const PAUSE: u64 = 600;

/// Follows the traffic.
pub(super) struct Observer {
    formats: Formats,
    seen: Vec<Seen>,
    unrecognised: u64,
    unrecognised_bytes: u64,
    sequences: HashMap<(SocketAddr, usize, usize), Sequence>,
}

/// What was seen of one format.
#[derive(Default)]
struct Seen {
    datagrams: u64,
    bytes: u64,
    last: i64,
    /// In the order of [`Layout::status`].
    status: Vec<Option<String>>,
}

/// A sender's counter in the records of one packet.
#[derive(Default)]
struct Sequence {
    last: Option<(i64, i64)>,
    /// How often it grew by so much, and how long that took in all.
    steps: BTreeMap<u64, Step>,
}

#[derive(Default, Clone, Copy)]
struct Step {
    count: u64,
    nanoseconds: i64,
}

/// What can be said of the traffic so far.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The formats that turned up, the one heard of last first.
    pub formats: Vec<FormatSeen>,
    /// Datagrams of no known format.
    pub unrecognised: u64,
    /// Of their payload.
    pub unrecognised_bytes: u64,
}

/// What can be said of one format.
#[derive(Debug, Clone)]
pub struct FormatSeen {
    pub name: String,
    pub title: String,
    pub datagrams: u64,
    /// Of payload.
    pub bytes: u64,
    /// What the sender says of the session, such as track and kind.
    pub status: Vec<String>,
    /// `None` if its datagrams do not count themselves, or not steadily.
    pub gaps: Option<SequenceGaps>,
}

/// Gaps in the counters of a format's senders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SequenceGaps {
    /// Datagrams that were followed.
    pub followed: u64,
    /// Places where some are missing.
    pub gaps: u64,
    /// How many are missing there.
    pub missing: u64,
    /// Silences of the sender, too long to be called gaps.
    pub pauses: u64,
}

impl Observer {
    pub fn new(formats: Formats) -> Observer {
        let seen = formats.layouts().iter().map(|layout| Seen {
            status: vec![None; layout.status.len()],
            ..Seen::default()
        });
        Observer {
            seen: seen.collect(),
            formats,
            unrecognised: 0,
            unrecognised_bytes: 0,
            sequences: HashMap::new(),
        }
    }

    pub fn see(&mut self, source: SocketAddr, port: u16, time: i64, payload: &[u8]) {
        let (number, packet, is_whole) = match self.formats.recognise(payload, port) {
            Recognised::Packet { layout, packet } => (layout, Some(packet), true),
            Recognised::UnexpectedLength { layout, packet } => (layout, Some(packet), false),
            Recognised::UnknownPacket { layout, .. } => (layout, None, false),
            Recognised::Unrecognised => {
                self.unrecognised += 1;
                self.unrecognised_bytes += payload.len() as u64;
                return;
            }
        };
        let layout = &self.formats.layouts()[number];
        let seen = &mut self.seen[number];
        seen.datagrams += 1;
        seen.bytes += payload.len() as u64;
        seen.last = time;
        let Some(packet) = packet.filter(|_| is_whole) else {
            return;
        };
        let games = self.formats.games_of(number);
        for (field, text) in layout.status.iter().zip(&mut seen.status) {
            if field.packet == packet {
                *text = status_text(layout, field, games, payload);
            }
        }
        let counter = layout.sequence.and_then(|place| place.read(payload));
        // Events and menus often have no number.
        let Some(counter) = counter.filter(|counter| *counter != 0) else {
            return;
        };
        let key = (source, number, packet);
        if self.sequences.len() < MOST_SEQUENCES || self.sequences.contains_key(&key) {
            self.sequences.entry(key).or_default().note(counter, time);
        }
    }

    /// What can be said now.
    pub fn observed(&self) -> Observed {
        let mut gaps: BTreeMap<usize, SequenceGaps> = BTreeMap::new();
        for ((_, format, _), sequence) in &self.sequences {
            if let Some(found) = sequence.gaps() {
                let all = gaps.entry(*format).or_default();
                all.followed += found.followed;
                all.gaps += found.gaps;
                all.missing += found.missing;
                all.pauses += found.pauses;
            }
        }
        let mut seen: Vec<(usize, &Seen)> = self.seen.iter().enumerate().collect();
        seen.retain(|(_, seen)| seen.datagrams > 0);
        seen.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.last));
        let formats = seen.into_iter().map(|(number, seen)| {
            let layout = &self.formats.layouts()[number];
            FormatSeen {
                name: layout.name.clone(),
                title: layout.title.clone(),
                datagrams: seen.datagrams,
                bytes: seen.bytes,
                status: seen.status.iter().flatten().cloned().collect(),
                gaps: gaps.get(&number).copied(),
            }
        });
        Observed {
            formats: formats.collect(),
            unrecognised: self.unrecognised,
            unrecognised_bytes: self.unrecognised_bytes,
        }
    }
}

/// A value as people would say it; nothing for one that has no name but should.
fn status_text(
    layout: &Layout,
    field: &StatusField,
    games: Games,
    payload: &[u8],
) -> Option<String> {
    if let Scalar::Char(length) | Scalar::Latin(length) = field.place.scalar {
        let bytes = payload.get(field.place.offset..field.place.offset + length)?;
        let text = utf8_or_latin(until_nul(bytes));
        // It goes to a terminal.
        let text: String = text.chars().filter(|char| !char.is_control()).collect();
        return Some(text).filter(|text| !text.is_empty());
    }
    let value = field.place.read(payload)?;
    let Some(enumeration) = field.enumeration else {
        return Some(value.to_string());
    };
    let evidence = layout.evidence.as_ref();
    let told = evidence.map_or(Games::NONE, |evidence| evidence.of(payload).and(games));
    let games = match told.is_empty() {
        true => games,
        false => told,
    };
    layout
        .name_of(enumeration, value, games)
        .map(str::to_string)
}

impl Sequence {
    fn note(&mut self, counter: i64, time: i64) {
        if let Some((last, last_time)) = self.last
            && let Ok(step @ 1..) = u64::try_from(counter.saturating_sub(last))
            && (self.steps.len() < MOST_STEPS || self.steps.contains_key(&step))
        {
            let known = self.steps.entry(step).or_default();
            known.count += 1;
            let elapsed = time.saturating_sub(last_time);
            known.nanoseconds = known.nanoseconds.saturating_add(elapsed);
        }
        self.last = Some((counter, time));
    }

    /// Its gaps, if it grows steadily enough to have any: most of its steps must
    /// be about the same. A longer step is a gap only if it took longer, too; a
    /// game that skips frames does so without losing a datagram.
    fn gaps(&self) -> Option<SequenceGaps> {
        let total: u64 = self.steps.values().map(|step| step.count).sum();
        let (usual, usual_step) = self.steps.iter().max_by_key(|(_, step)| step.count)?;
        let usual_time = mean(*usual_step);
        let is_usual = |step: u64| step.abs_diff(*usual) * 4 <= *usual + 2;
        let usual_steps = self.steps.iter().filter(|(step, _)| is_usual(**step));
        let steady: u64 = usual_steps.map(|(_, step)| step.count).sum();
        if total < FEWEST_STEPS || steady * 5 < total * 4 {
            return None;
        }
        let mut gaps = SequenceGaps {
            followed: total + 1,
            ..SequenceGaps::default()
        };
        for (step, found) in &self.steps {
            if step * 2 < usual * 3 || mean(*found) * 2 < usual_time * 3 {
                continue;
            }
            let passed = (step + usual / 2) / usual;
            if passed > PAUSE {
                gaps.pauses += found.count;
            } else {
                gaps.gaps += found.count;
                gaps.missing += (passed - 1) * found.count;
            }
        }
        Some(gaps)
    }
}

fn mean(step: Step) -> i64 {
    step.nanoseconds / i64::try_from(step.count).unwrap_or(i64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: i64 = 16_666_667;

    /// The gaps of a counter with these values, at these frames.
    fn gaps(values: impl Iterator<Item = (i64, i64)>) -> Option<SequenceGaps> {
        let mut sequence = Sequence::default();
        for (counter, frame) in values {
            sequence.note(counter, frame * FRAME);
        }
        sequence.gaps()
    }

    #[test]
    fn a_steady_counter_has_gaps_where_it_jumps() {
        assert_eq!(
            gaps((1..1_000).map(|n| (n, n))).map(|gaps| gaps.missing),
            Some(0)
        );
        let lossy = (1..1_000).filter(|n| n % 100 != 0 && !(500..505).contains(n));
        let found = gaps(lossy.map(|n| (n, n))).expect("a steady counter");
        assert_eq!((found.gaps, found.missing), (9, 13));
        // Every third frame, with one missing.
        let slow = (1..300).filter(|n| n % 3 == 0 && *n != 150);
        assert_eq!(gaps(slow.map(|n| (n, n))).map(|gaps| gaps.missing), Some(1));
    }

    #[test]
    fn what_is_no_loss_is_no_gap() {
        // Milliseconds of a clock that ticks by 16 or 17.
        let clock = (1..1_000).map(|n| (n * 50 / 3, n));
        assert_eq!(gaps(clock).map(|gaps| gaps.missing), Some(0));
        // A game that draws 61 frames while it sends 60.
        let skipping = (1..1_000).map(|n| (n + n / 60, n));
        assert_eq!(gaps(skipping).map(|gaps| gaps.missing), Some(0));
        // A flashback, and a pause.
        let back = (1..500)
            .map(|n| (n, n))
            .chain((300..800).map(|n| (n, n + 200)));
        assert_eq!(gaps(back).map(|gaps| gaps.missing), Some(0));
        let pause = (1..500).chain(5_000..5_500).map(|n| (n, n));
        let found = gaps(pause).expect("a steady counter");
        assert_eq!((found.missing, found.pauses), (0, 1));
        // Events.
        let rare = [1, 20, 300, 400, 450, 460, 461, 470, 500, 800, 900, 1_000];
        assert_eq!(gaps(rare.into_iter().map(|n| (n, n))), None);
    }
}

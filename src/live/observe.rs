//! What arrives, while it arrives: which formats, how much of each, what the
//! senders say of the session, and what is missing by their own count. Looks
//! at datagrams only; nothing here keeps or changes them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use crate::formats::{Formats, Recognised};

/// Senders whose frames are followed.
const MOST_SENDERS: usize = 1_000;
/// Frames that may be under way at once, should datagrams overtake each other.
const FRAMES_UNDER_WAY: usize = 16;
/// Combinations of packets, and steps from frame to frame, that are told apart.
const MOST_KINDS: usize = 1_024;
/// Below this nothing can be said.
const FEWEST_FRAMES: u64 = 10;
/// A silence of the sender this long, in nanoseconds, is a pause, not a gap.
const PAUSE: i64 = 1_000_000_000;

/// Follows the traffic.
pub(super) struct Observer {
    formats: Formats,
    seen: Vec<Seen>,
    unrecognised: u64,
    unrecognised_bytes: u64,
    senders: HashMap<(SocketAddr, usize), Frames>,
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

/// The frames of one sender: moments of the game that it sends several packets
/// of, each with the number of the frame.
#[derive(Default)]
struct Frames {
    under_way: VecDeque<Frame>,
    /// Whether one has been left out, which the recording saw half of.
    has_begun: bool,
    /// How often which packets came together, as bits.
    combinations: HashMap<u64, u64>,
    /// The last frame that more than one packet was of.
    last: Option<Frame>,
    /// How often its number grew by so much, and how long that took in all.
    steps: BTreeMap<u64, Step>,
}

#[derive(Clone, Copy)]
struct Frame {
    session: u64,
    number: i64,
    time: i64,
    /// A bit for each packet.
    packets: u64,
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
    /// `None` if its datagrams do not number frames, or too many are missing to
    /// know which there should be.
    pub gaps: Option<FrameGaps>,
}

/// What is missing by the numbers of a sender's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameGaps {
    /// Frames that were followed.
    pub frames: u64,
    /// Datagrams that are in almost every frame, but not in these.
    pub missing: u64,
    /// Frames of which there is nothing, between others.
    pub missing_frames: u64,
    /// Longer silences of the sender.
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
            senders: HashMap::new(),
        }
    }

    pub fn see(&mut self, source: SocketAddr, port: u16, time: i64, payload: &[u8]) {
        let recognised = self.formats.recognise(payload, port);
        let Some(format) = recognised.layout() else {
            self.unrecognised += 1;
            self.unrecognised_bytes += payload.len() as u64;
            return;
        };
        let layout = &self.formats.layouts()[format];
        let seen = &mut self.seen[format];
        seen.datagrams += 1;
        seen.bytes += payload.len() as u64;
        seen.last = time;
        let Recognised::Packet { packet, .. } = recognised else {
            return;
        };
        let games = self.formats.games_of(format);
        for (fact, text) in layout.status.iter().zip(&mut seen.status) {
            if fact.packet == packet {
                *text = layout.tell(fact, games, payload).and_then(|told| told.text);
            }
        }
        let number = layout.frame.and_then(|place| place.read(payload));
        // Events and menus often have none.
        let Some(number) = number.filter(|number| *number != 0) else {
            return;
        };
        let frame = Frame {
            session: layout.session.map_or(0, |place| place.read_bits(payload)),
            number,
            time,
            packets: 1 << packet.min(63),
        };
        let key = (source, format);
        if self.senders.len() < MOST_SENDERS || self.senders.contains_key(&key) {
            self.senders.entry(key).or_default().note(frame);
        }
    }

    /// What can be said now.
    pub fn observed(&self) -> Observed {
        let mut gaps: HashMap<usize, Option<FrameGaps>> = HashMap::new();
        for ((_, format), frames) in &self.senders {
            let found = frames.gaps();
            let all = gaps.entry(*format).or_insert(Some(FrameGaps::default()));
            // What cannot be said of one cannot be said of all.
            *all = all.zip(found).map(|(all, found)| FrameGaps {
                frames: all.frames + found.frames,
                missing: all.missing + found.missing,
                missing_frames: all.missing_frames + found.missing_frames,
                pauses: all.pauses + found.pauses,
            });
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
                gaps: gaps.get(&number).copied().flatten(),
            }
        });
        Observed {
            formats: formats.collect(),
            unrecognised: self.unrecognised,
            unrecognised_bytes: self.unrecognised_bytes,
        }
    }
}

impl Frames {
    fn note(&mut self, new: Frame) {
        let mut known = self.under_way.iter_mut();
        let same = |frame: &&mut Frame| (frame.session, frame.number) == (new.session, new.number);
        if let Some(frame) = known.find(same) {
            frame.packets |= new.packets;
            return;
        }
        self.under_way.push_back(new);
        if self.under_way.len() > FRAMES_UNDER_WAY
            && let Some(frame) = self.under_way.pop_front()
            && std::mem::replace(&mut self.has_begun, true)
        {
            self.finish(frame);
        }
    }

    fn finish(&mut self, frame: Frame) {
        // Packets that come by themselves say nothing of others.
        if frame.packets.count_ones() < 2 {
            return;
        }
        let combinations = &mut self.combinations;
        if combinations.len() < MOST_KINDS || combinations.contains_key(&frame.packets) {
            *combinations.entry(frame.packets).or_default() += 1;
        }
        // Another session counts anew, and a flashback goes back.
        if let Some(last) = self.last.filter(|last| last.session == frame.session)
            && let Ok(step @ 1..) = u64::try_from(frame.number.saturating_sub(last.number))
            && (self.steps.len() < MOST_KINDS || self.steps.contains_key(&step))
        {
            let known = self.steps.entry(step).or_default();
            known.count += 1;
            let elapsed = frame.time.saturating_sub(last.time);
            known.nanoseconds = known.nanoseconds.saturating_add(elapsed);
        }
        self.last = Some(frame);
    }

    /// What is missing, as far as the frames themselves show it: packets that
    /// are in most frames should be in all; and where the numbers jump by more
    /// than twice what they usually do, there were frames in between.
    fn gaps(&self) -> Option<FrameGaps> {
        let frames: u64 = self.combinations.values().sum();
        if frames < FEWEST_FRAMES {
            return None;
        }
        let of = |packet: u32| {
            let combinations = self.combinations.iter();
            let with = combinations.filter(|(packets, _)| *packets >> packet & 1 == 1);
            with.map(|(_, count)| count).sum::<u64>()
        };
        let usual = (0..u64::BITS).filter(|packet| of(*packet) * 3 > frames * 2);
        let usual = usual.fold(0_u64, |packets, packet| packets | 1 << packet);
        if usual.count_ones() < 2 {
            return None;
        }
        let mut gaps = FrameGaps::default();
        for (packets, count) in &self.combinations {
            let seen = packets & usual;
            // Without any of them it is no such frame.
            if seen != 0 {
                gaps.frames += count;
                gaps.missing += u64::from((usual ^ seen).count_ones()) * count;
            }
        }
        let (usual_step, usual_time) = self
            .steps
            .iter()
            .max_by_key(|(_, step)| step.count)
            .map(|(step, found)| (*step, mean(*found)))?;
        for (step, found) in &self.steps {
            // A game that draws more frames than it sends skips one now and then.
            if mean(*found) > PAUSE {
                gaps.pauses += found.count;
            } else if *step > 2 * usual_step && mean(*found) > 2 * usual_time {
                gaps.missing_frames += (step / usual_step - 1) * found.count;
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
    const MOTION: u64 = 1;
    const LAPS: u64 = 2;
    const TELEMETRY: u64 = 4;
    const SESSION: u64 = 8;

    /// What is missing of frames with these numbers, at these moments, with these
    /// packets.
    fn gaps(frames: impl Iterator<Item = (i64, i64, u64)>) -> Option<FrameGaps> {
        let mut all = Frames::default();
        for (number, moment, packets) in frames {
            for packet in (0..8).filter(|packet| packets >> packet & 1 == 1) {
                all.note(Frame {
                    session: 1,
                    number,
                    time: moment * FRAME,
                    packets: 1 << packet,
                });
            }
        }
        all.gaps()
    }

    /// What every frame has, and now and then something else.
    fn whole(number: i64) -> u64 {
        match number % 30 {
            0 => MOTION | LAPS | TELEMETRY | SESSION,
            _ => MOTION | LAPS | TELEMETRY,
        }
    }

    fn missing(frames: impl Iterator<Item = (i64, i64, u64)>) -> Option<(u64, u64)> {
        gaps(frames).map(|gaps| (gaps.missing, gaps.missing_frames))
    }

    #[test]
    fn single_datagrams_and_whole_frames_are_missed() {
        assert_eq!(missing((1..1_000).map(|n| (n, n, whole(n)))), Some((0, 0)));
        let one_in_fifty = |n: i64| match n % 50 {
            0 => whole(n) & !LAPS,
            _ => whole(n),
        };
        assert_eq!(
            missing((1..1_000).map(|n| (n, n, one_in_fifty(n)))),
            Some((19, 0))
        );
        let burst = (1..1_000).filter(|n| !(500..505).contains(n));
        assert_eq!(missing(burst.map(|n| (n, n, whole(n)))), Some((0, 5)));
        // A quarter of all, each on its own.
        let lossy = |n: i64| {
            let lost = [n % 4 == 0, n % 4 == 1, n % 4 == 2];
            let packets = [MOTION, LAPS, TELEMETRY].into_iter().zip(lost);
            packets
                .filter(|(_, lost)| !lost)
                .fold(0, |all, (packet, _)| all | packet)
        };
        let found = gaps((1..1_017).map(|n| (n, n, lossy(n)))).expect("frames");
        assert!((745..755).contains(&found.missing), "{found:?}");
        // When half is missing nobody knows what there should be.
        let half = |n: i64| {
            if n % 2 == 0 {
                MOTION | SESSION
            } else {
                LAPS | TELEMETRY
            }
        };
        assert_eq!(gaps((1..1_000).map(|n| (n, n, half(n)))), None);
    }

    #[test]
    fn what_is_no_loss_is_no_gap() {
        // Every third frame.
        assert_eq!(
            missing((1..1_000).map(|n| (3 * n, n, whole(n)))),
            Some((0, 0))
        );
        // A game that draws 70 frames while it sends 60, in step with its frames.
        let skipping = (1..1_000).map(|n| (n * 7 / 6, n * 7 / 6, whole(n)));
        assert_eq!(missing(skipping), Some((0, 0)));
        // A flashback, a pause, and menus that send one packet now and then.
        let back = (1..500)
            .map(|n| (n, n))
            .chain((300..800).map(|n| (n, n + 200)));
        assert_eq!(missing(back.map(|(n, m)| (n, m, whole(n)))), Some((0, 0)));
        let pause = (1..500).chain(5_000..5_500).map(|n| (n, n, whole(n)));
        let found = gaps(pause).expect("frames");
        assert_eq!(
            (found.missing, found.missing_frames, found.pauses),
            (0, 0, 1)
        );
        let menu = (500..2_000)
            .filter(|n| n % 30 == 0)
            .map(|n| (n, n, SESSION));
        let driving = (1..500).map(|n| (n, n, whole(n)));
        assert_eq!(missing(driving.chain(menu)), Some((0, 0)));
        // Too few, and one packet only.
        assert_eq!(gaps((1..12).map(|n| (n, n, whole(n)))), None);
        assert_eq!(gaps((1..1_000).map(|n| (n, n, MOTION))), None);
    }

    #[test]
    fn datagrams_may_overtake_each_other() {
        let mut all = Frames::default();
        for number in 0..1_000 {
            for (packet, ahead) in [(MOTION, 0), (LAPS, 1), (TELEMETRY, 3)] {
                all.note(Frame {
                    session: 1,
                    number: 10 + number + ahead,
                    time: number * FRAME,
                    packets: packet,
                });
            }
        }
        let found = all.gaps().expect("frames");
        // The first few have begun before the recording.
        assert!(found.missing <= 6 && found.missing_frames == 0, "{found:?}");
    }
}

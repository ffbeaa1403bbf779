//! The game's clock beside that of the capture: where it stood still, where it
//! went back, and where it began anew.

/// The game's clock must stand still for so long, in nanoseconds, to be a pause.
const PAUSE: i64 = 2_000_000_000;
/// Datagrams that overtook each other differ by less than this, in seconds.
const DISORDER: f64 = 0.25;
/// A clock that goes back to less than this, in seconds, has begun anew …
const BEGINNING: f64 = 1.0;
/// … if it had come this far before, in seconds: flashbacks go back less.
const LONGEST_FLASHBACK: f64 = 10.0;
/// No session is this long, in seconds.
const LONGEST: f64 = 1e8;

/// What a clock did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It went on, or stood still.
    On,
    /// It went back.
    Flashback,
    /// It went back to its beginning.
    Restart,
}

/// The clock of a session.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// First and last reading, in seconds.
    pub clock: Option<(f64, f64)>,
    pub flashbacks: u64,
    pub restarts: u64,
    pub pauses: u64,
    /// How long all pauses were, in nanoseconds.
    pub paused: i64,
    /// When the clock moved last; 0 if that had no time.
    moved: i64,
    /// Whether the reading before this one lay back: one alone is a datagram that
    /// came late.
    is_back: bool,
}

impl Timeline {
    /// What the clock has done if it reads this now.
    pub(super) fn turn(&self, clock: f64) -> Turn {
        match self.clock {
            Some((_, last)) if clock >= last - DISORDER => Turn::On,
            Some((_, last)) if clock < BEGINNING && last > LONGEST_FLASHBACK => Turn::Restart,
            Some(_) => Turn::Flashback,
            None => Turn::On,
        }
    }

    /// Notes a reading at `time` of the capture. Events and menus often have 0,
    /// which is none.
    pub(super) fn see(&mut self, time: i64, clock: f64) {
        if !(clock > 0.0 && clock < LONGEST) {
            return;
        }
        let turn = self.turn(clock);
        let was_back = std::mem::replace(&mut self.is_back, turn != Turn::On);
        if self.is_back && !was_back {
            return;
        }
        let Some((_, last)) = &mut self.clock else {
            self.clock = Some((clock, clock));
            self.moved = time;
            return;
        };
        match turn {
            Turn::On if clock <= *last => return,
            Turn::On => {
                let passed = ((clock - *last) * 1e9) as i64;
                let idle = time.saturating_sub(self.moved).saturating_sub(passed);
                if idle >= PAUSE && self.moved != 0 && time != 0 {
                    self.pauses += 1;
                    self.paused = self.paused.saturating_add(idle);
                }
            }
            Turn::Flashback => self.flashbacks += 1,
            Turn::Restart => self.restarts += 1,
        }
        *last = clock;
        self.moved = time;
        self.is_back = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock at these moments of the capture, both in seconds.
    fn timeline(readings: impl IntoIterator<Item = (f64, f64)>) -> Timeline {
        let mut timeline = Timeline::default();
        for (time, clock) in readings {
            timeline.see((time * 1e9) as i64, clock);
        }
        timeline
    }

    fn counts(timeline: &Timeline) -> (u64, u64, u64) {
        (timeline.flashbacks, timeline.restarts, timeline.pauses)
    }

    #[test]
    fn silence_alone_is_no_pause() {
        let lost = timeline([(0.0, 10.0), (1.0, 11.0), (61.0, 71.0)]);
        assert_eq!(counts(&lost), (0, 0, 0));
        let paused = timeline([(0.0, 10.0), (1.0, 11.0), (61.0, 11.02)]);
        assert_eq!(counts(&paused), (0, 0, 1));
        assert!((59_900_000_000..60_000_000_000).contains(&paused.paused));
        // Datagrams that go on while the clock stands still.
        let menu = (0..600).map(|n| (1.0 + f64::from(n) / 60.0, 11.0));
        let paused = timeline([(0.0, 10.0)].into_iter().chain(menu).chain([(11.0, 11.1)]));
        assert_eq!(counts(&paused), (0, 0, 1));
    }

    #[test]
    fn clocks_go_back_and_begin_anew() {
        let driven = (1..600).map(|n| (f64::from(n) / 60.0, 50.0 + f64::from(n) / 60.0));
        let back = (1..60).map(|n| (12.0 + f64::from(n) / 60.0, 55.0 + f64::from(n) / 60.0));
        let found = timeline(driven.clone().chain(back));
        assert_eq!(counts(&found), (1, 0, 0));
        let anew = (1..60).map(|n| (12.0 + f64::from(n) / 60.0, f64::from(n) / 60.0));
        assert_eq!(counts(&timeline(driven.chain(anew))), (0, 1, 0));
        // Order on the wire, and events without a time.
        let disorder = [
            (0.0, 10.0),
            (0.01, 10.02),
            (0.02, 10.0),
            (0.03, 0.0),
            (0.04, 10.03),
        ];
        assert_eq!(counts(&timeline(disorder)), (0, 0, 0));
        // One that comes very late is no flashback.
        let late = [(0.0, 10.0), (0.5, 10.5), (0.51, 10.1), (0.52, 10.52)];
        assert_eq!(counts(&timeline(late)), (0, 0, 0));
        // To the start of a race that has just begun.
        let early = [(0.0, 4.0), (1.0, 5.0), (3.0, 0.5), (3.01, 0.51)];
        assert_eq!(counts(&timeline(early)), (1, 0, 0));
        let absurd = [(0.0, 4.0), (1.0, 1e18), (2.0, f64::INFINITY), (2.1, 6.0)];
        assert_eq!(counts(&timeline(absurd)), (0, 0, 0));
        // Without times in the capture.
        let untimed = [(0.0, 4.0), (1_000.0, 5.0), (0.0, 6.0)];
        assert_eq!(counts(&timeline(untimed)), (0, 0, 0));
    }
}

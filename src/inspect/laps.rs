//! The laps of one car, from what the game says at each moment: the number of
//! the current lap, and the time of the last one.

use std::collections::BTreeMap;

/// A lap time may follow the number of the next lap by this much, in nanoseconds.
const LATE: i64 = 5_000_000_000;
/// What is longer, in seconds, is no lap time.
const LONGEST: f64 = 86_400.0;
/// More laps than the longest race has.
const MOST_LAPS: usize = 2_000;

/// The completed laps of a car.
#[derive(Debug, Clone, Default)]
pub struct Laps {
    /// By number, from 1; `None` where it gave no time.
    pub laps: BTreeMap<i64, Option<f64>>,
    /// The lap that the car is on.
    pub current: Option<i64>,
    /// The time of the last lap as it is said now.
    last: f64,
    /// A lap that has just ended, whose time may still come, and until when.
    waiting: Option<(i64, i64)>,
}

impl Laps {
    /// Notes what is said at `time` of the capture, in nanoseconds; the first lap
    /// has the number 1.
    pub(super) fn see(&mut self, time: i64, number: i64, last: f64) {
        let Some(current) = self.current else {
            self.current = Some(number);
            self.last = last;
            return;
        };
        let has_changed = last.to_bits() != self.last.to_bits();
        if !has_changed && number == current {
            return;
        }
        self.last = last;
        if number != current {
            self.current = Some(number);
            self.waiting = None;
            if Some(number) == current.checked_add(1) {
                self.set(current, valid(last));
                // The same time again, or not yet the new one.
                self.waiting = (!has_changed).then(|| (current, time.saturating_add(LATE)));
            } else {
                // Back over the line, or the recording has missed something.
                drop(self.laps.split_off(&number));
            }
            return;
        }
        match self.waiting.take() {
            Some((lap, until)) if time <= until => self.set(lap, valid(last)),
            // At the flag the number stays.
            _ if valid(last).is_some() => self.set(current, valid(last)),
            _ => {}
        }
    }

    /// Notes the times of all laps from the first one on, as the game lists them.
    pub(super) fn list(&mut self, times: impl Iterator<Item = f64>) {
        let mut count = 0;
        for (number, time) in (1..).zip(times) {
            count = number;
            match valid(time) {
                Some(time) => self.set(number, Some(time)),
                // The current one has none yet.
                None => {
                    self.laps.remove(&number);
                }
            }
        }
        drop(self.laps.split_off(&(count + 1)));
    }

    fn set(&mut self, lap: i64, seconds: Option<f64>) {
        // What comes before the first line is none.
        if lap < 1 {
            return;
        }
        if self.laps.len() < MOST_LAPS || self.laps.contains_key(&lap) {
            self.laps.insert(lap, seconds);
        }
    }

    /// Number and time of the fastest lap.
    pub fn best(&self) -> Option<(i64, f64)> {
        let timed = self
            .laps
            .iter()
            .filter_map(|(lap, time)| Some((*lap, (*time)?)));
        timed.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }
}

fn valid(seconds: f64) -> Option<f64> {
    (seconds > 0.0 && seconds <= LONGEST).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The laps after these moments: seconds, number, time of the last lap.
    fn laps(moments: &[(f64, i64, f64)]) -> Vec<(i64, Option<f64>)> {
        let mut laps = Laps::default();
        for (time, number, last) in moments {
            laps.see((time * 1e9) as i64, *number, *last);
        }
        laps.laps.into_iter().collect()
    }

    #[test]
    fn a_lap_ends_where_the_next_begins() {
        let driven = [
            (0.0, 1, 0.0),
            (90.0, 2, 89.5),
            (180.0, 3, 90.25),
            (200.0, 3, 90.25),
        ];
        assert_eq!(laps(&driven), [(1, Some(89.5)), (2, Some(90.25))]);
        // The time comes later, or is the same again.
        let late = [
            (0.0, 1, -1.0),
            (90.0, 2, -1.0),
            (92.0, 2, 89.5),
            (180.0, 3, 89.5),
        ];
        assert_eq!(laps(&late), [(1, Some(89.5)), (2, Some(89.5))]);
        // At the flag the number does not change.
        let flag = [
            (0.0, 4, 91.0),
            (90.0, 5, 89.5),
            (180.0, 5, 88.0),
            (190.0, 5, 88.0),
        ];
        assert_eq!(laps(&flag), [(4, Some(89.5)), (5, Some(88.0))]);
    }

    #[test]
    fn flashbacks_undo_laps_and_odd_numbers_are_none() {
        let over_the_line = [
            (0.0, 2, 90.0),
            (90.0, 3, 89.0),
            (95.0, 2, 90.0),
            (100.0, 3, 91.5),
        ];
        assert_eq!(laps(&over_the_line), [(2, Some(91.5))]);
        // A recording begins with a lap 0 before the true number.
        assert_eq!(
            laps(&[(0.0, 0, 0.0), (0.1, 172, 0.0), (60.0, 173, 61.0)]),
            [(172, Some(61.0))]
        );
        let absurd = [(0.0, 1, 0.0), (1.0, 1, 388_328.0), (90.0, 2, f64::NAN)];
        assert_eq!(laps(&absurd), [(1, None)]);
    }

    #[test]
    fn the_games_own_list_is_right() {
        let mut laps = Laps::default();
        laps.see(0, 3, 90.0);
        laps.list([89.0, 90.0, 0.0].into_iter());
        laps.see(90_000_000_000, 4, 91.0);
        laps.list([89.0, 90.0, 91.1, 0.0].into_iter());
        assert_eq!(laps.best(), Some((1, 89.0)));
        assert_eq!(laps.laps[&3], Some(91.1));
        laps.list([89.0, 0.0].into_iter());
        assert_eq!(laps.laps.len(), 1);
    }
}

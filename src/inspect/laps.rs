//! The laps of one car, from what the game says at each moment: the number of
//! the current lap, and the time of the last one.

use std::collections::BTreeMap;

/// What is longer, in seconds, is no lap time.
const LONGEST: f64 = 86_400.0;
/// More laps than the longest race has.
const MOST_LAPS: usize = 2_000;
/// A lap took as long by the clock as the game says, give or take this much, in
/// seconds.
const TOLERANCE: f64 = 1.5;

/// The completed laps of a car.
#[derive(Debug, Clone, Default)]
pub struct Laps {
    /// By number, from 1; `None` where the game gave no time.
    pub laps: BTreeMap<i64, Option<f64>>,
    /// The lap that the car is on.
    pub current: Option<i64>,
    /// When it began by the game's clock, if that was seen.
    began: Option<f64>,
    /// The time of the last lap as it is said now.
    last: f64,
    /// How often the clock had gone back by then.
    flashbacks: u64,
}

/// What is said of a car's laps at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Of the current lap; the first one has the number 1.
    pub number: i64,
    /// The time of the last lap, in seconds.
    pub last: f64,
    /// The game's clock, in seconds, and how often it has gone back so far.
    pub clock: Option<f64>,
    pub flashbacks: u64,
}

impl Laps {
    pub(super) fn see(&mut self, moment: Moment) {
        let Moment {
            number,
            last,
            clock,
            flashbacks,
        } = moment;
        // The slot of a car that is not there, and what comes before the first line.
        if number < 1 {
            return;
        }
        let went_back = std::mem::replace(&mut self.flashbacks, flashbacks) != flashbacks;
        let Some(current) = self.current else {
            self.current = Some(number);
            self.last = last;
            return;
        };
        let has_changed = std::mem::replace(&mut self.last, last).to_bits() != last.to_bits();
        if went_back {
            // What was driven since is undone.
            drop(self.laps.split_off(&number));
            if number != current {
                self.began = None;
            }
            self.current = Some(number);
            return;
        }
        let took = self.began.zip(clock).map(|(began, clock)| clock - began);
        // The same time may be that of a lap before.
        let fits = took.map(|took| (took - last).abs() < TOLERANCE);
        if number > current {
            self.current = Some(number);
            self.began = clock;
            let is_its_own = has_changed || (number == current + 1 && fits == Some(true));
            self.set(number - 1, valid(last).filter(|_| is_its_own));
        } else if number < current {
            self.current = Some(number);
            self.began = None;
        } else if has_changed && valid(last).is_some() {
            let has_no_time = self.laps.get(&(current - 1)) == Some(&None);
            match fits {
                // At the flag the number stays.
                Some(true) => self.set(current, valid(last)),
                None if !has_no_time => self.set(current, valid(last)),
                // Some games say it later than the number.
                _ => self.set(current - 1, valid(last)),
            }
        }
    }

    /// Notes the times of all laps from the first one on, as the game lists them.
    pub(super) fn list(&mut self, times: impl Iterator<Item = f64>) {
        let mut count = 0;
        for (number, time) in (1..=MOST_LAPS as i64).zip(times) {
            count = number;
            match valid(time) {
                Some(time) => self.set(number, Some(time)),
                // The current one has none yet.
                None => {
                    self.laps.remove(&number);
                }
            }
        }
        // Of a session that is over nothing may be left.
        if count > 0 {
            drop(self.laps.split_off(&(count + 1)));
        }
    }

    fn set(&mut self, lap: i64, seconds: Option<f64>) {
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

    /// The laps after these moments: clock, number, time of the last lap. The clock
    /// that goes back has gone back.
    fn laps(moments: &[(f64, i64, f64)]) -> Vec<(i64, Option<f64>)> {
        let mut laps = Laps::default();
        let (mut before, mut flashbacks) = (0.0, 0);
        for (clock, number, last) in moments {
            flashbacks += u64::from(*clock < before);
            before = *clock;
            laps.see(Moment {
                number: *number,
                last: *last,
                clock: Some(*clock),
                flashbacks,
            });
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
        // The time comes later, however much, or is the same again.
        let late = [
            (0.0, 1, -1.0),
            (90.0, 2, -1.0),
            (97.0, 2, 89.5),
            (179.5, 3, 89.5),
        ];
        assert_eq!(laps(&late), [(1, Some(89.5)), (2, Some(89.5))]);
        // The one that was given up in the garage has none.
        let garage = [
            (0.0, 1, 0.0),
            (90.0, 2, 90.0),
            (130.0, 3, 90.0),
            (220.0, 4, 91.0),
        ];
        assert_eq!(laps(&garage), [(1, Some(90.0)), (2, None), (3, Some(91.0))]);
        // At the flag the number does not change.
        let flag = [
            (0.0, 4, 91.0),
            (90.0, 5, 89.5),
            (178.0, 5, 88.0),
            (190.0, 5, 88.0),
        ];
        assert_eq!(laps(&flag), [(4, Some(89.5)), (5, Some(88.0))]);
        // Of those that were missed one is said.
        let hole = [(0.0, 1, 0.0), (90.0, 2, 90.0), (280.0, 4, 92.0)];
        assert_eq!(laps(&hole), [(1, Some(90.0)), (3, Some(92.0))]);
    }

    #[test]
    fn flashbacks_alone_undo_laps() {
        let over_the_line = [
            (0.0, 2, 90.0),
            (90.0, 3, 89.0),
            (85.0, 2, 90.0),
            (92.0, 3, 91.5),
        ];
        assert_eq!(laps(&over_the_line), [(2, Some(91.5))]);
        let over_the_flag = [
            (0.0, 4, 90.0),
            (89.0, 5, 89.0),
            (177.0, 5, 88.0),
            (170.0, 5, 89.0),
        ];
        assert_eq!(laps(&over_the_flag), [(4, Some(89.0))]);
        // A car that leaves, or a race that is over.
        let left = [
            (0.0, 1, 0.0),
            (90.0, 2, 90.0),
            (95.0, 0, 0.0),
            (99.0, 1, 0.0),
        ];
        assert_eq!(laps(&left), [(1, Some(90.0))]);
    }

    #[test]
    fn odd_numbers_are_none() {
        // A recording begins with a lap 0 before the true number.
        let begins = [(0.0, 0, 0.0), (0.1, 172, 0.0), (60.0, 173, 61.0)];
        assert_eq!(laps(&begins), [(172, Some(61.0))]);
        let absurd = [(0.0, 1, 0.0), (1.0, 1, 388_328.0), (90.0, 2, f64::NAN)];
        assert_eq!(laps(&absurd), [(1, None)]);
    }

    #[test]
    fn the_games_own_list_is_right() {
        let mut laps = Laps::default();
        let moment = |number, last| Moment {
            number,
            last,
            clock: None,
            flashbacks: 0,
        };
        laps.see(moment(3, 90.0));
        laps.list([89.0, 90.0, 0.0].into_iter());
        laps.see(moment(4, 91.0));
        laps.list([89.0, 90.0, 91.1, 0.0].into_iter());
        assert_eq!(laps.best(), Some((1, 89.0)));
        assert_eq!(laps.laps[&3], Some(91.1));
        laps.list([89.0, 0.0].into_iter());
        assert_eq!(laps.laps.len(), 1);
    }
}

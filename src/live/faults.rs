//! Faults of a network, for testing those who listen: loss, duplicates,
//! reordering, delay. They depend on the seed and on the order of the datagrams
//! alone, never on the clock, so that the same seed gives the same stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::RangeInclusive;

/// Which faults, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultOptions {
    pub seed: u64,
    /// Shares between 0 and 1.
    pub loss: f64,
    pub duplicate: f64,
    pub reorder: f64,
    /// In nanoseconds of the capture.
    pub delay: Option<RangeInclusive<u64>>,
}

/// How many there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
}

/// Brings faults into a stream of `T`, each with its position.
pub(super) struct Faults<T> {
    options: FaultOptions,
    random: SplitMix,
    counts: FaultCounts,
    /// One that the next one overtakes.
    held: Option<T>,
    held_is_doubled: bool,
    /// What is delayed: position, number, and what it is.
    waiting: BinaryHeap<Reverse<Waiting<T>>>,
    number: u64,
}

struct Waiting<T> {
    position: u64,
    number: u64,
    what: T,
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Waiting<T>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Waiting<T> {}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Waiting<T>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Waiting<T>) -> std::cmp::Ordering {
        (self.position, self.number).cmp(&(other.position, other.number))
    }
}

impl<T: Clone> Faults<T> {
    pub fn new(options: FaultOptions) -> Faults<T> {
        Faults {
            random: SplitMix(options.seed),
            options,
            counts: FaultCounts::default(),
            held: None,
            held_is_doubled: false,
            waiting: BinaryHeap::new(),
            number: 0,
        }
    }

    pub fn counts(&self) -> FaultCounts {
        self.counts
    }

    /// Takes the next of the stream, and hands on what has become due by it.
    /// Positions must not go back.
    pub fn push(&mut self, position: u64, what: T, out: &mut impl FnMut(u64, T)) {
        // The same number of draws for each, so that one share does not change
        // what another one meets.
        let is_lost = self.random.happens(self.options.loss);
        let is_doubled = self.random.happens(self.options.duplicate);
        let is_held = self.random.happens(self.options.reorder);
        let delays = [self.delay(), self.delay()];
        self.release(position, out);
        if is_lost {
            self.counts.lost += 1;
            return;
        }
        if is_held && self.held.is_none() {
            self.held = Some(what);
            self.held_is_doubled = is_doubled;
            return;
        }
        let due = delays.map(|delay| position.saturating_add(delay));
        self.wait_once_or_twice(due, what, is_doubled);
        if let Some(overtaken) = self.held.take() {
            self.counts.reordered += 1;
            self.wait_once_or_twice(due, overtaken, self.held_is_doubled);
        }
        self.release(position, out);
    }

    /// Hands on all that is left.
    pub fn finish(&mut self, position: u64, out: &mut impl FnMut(u64, T)) {
        if let Some(held) = self.held.take() {
            self.wait_once_or_twice([position; 2], held, self.held_is_doubled);
        }
        self.release(u64::MAX, out);
    }

    fn delay(&mut self) -> u64 {
        let drawn = self.random.next();
        let range = self.options.delay.as_ref();
        range.map_or(0, |range| {
            let width = range.end().saturating_sub(*range.start()).saturating_add(1);
            range.start() + drawn % width
        })
    }

    fn wait_once_or_twice(&mut self, due: [u64; 2], what: T, is_doubled: bool) {
        if is_doubled {
            self.counts.duplicated += 1;
            self.wait(due[1], what.clone());
        }
        self.wait(due[0], what);
    }

    fn wait(&mut self, position: u64, what: T) {
        self.number += 1;
        self.waiting.push(Reverse(Waiting {
            position,
            number: self.number,
            what,
        }));
    }

    fn release(&mut self, position: u64, out: &mut impl FnMut(u64, T)) {
        while self
            .waiting
            .peek()
            .is_some_and(|Reverse(first)| first.position <= position)
        {
            if let Some(Reverse(first)) = self.waiting.pop() {
                out(first.position, first.what);
            }
        }
    }
}

/// The generator SplitMix64 (Steele, Lea and Flood 2014), whose numbers will
/// be the same in every version.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn happens(&mut self, share: f64) -> bool {
        // The upper 53 bits are a number from 0 to below 1.
        ((self.next() >> 11) as f64) < share * (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: FaultOptions = FaultOptions {
        seed: 7,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        delay: None,
    };

    fn stream(options: FaultOptions) -> (Vec<(u64, u64)>, FaultCounts) {
        let mut faults = Faults::new(options);
        let mut out = Vec::new();
        for number in 0..10_000 {
            faults.push(number * 1_000, number, &mut |position, what| {
                out.push((position, what))
            });
        }
        faults.finish(10_000_000, &mut |position, what| out.push((position, what)));
        (out, faults.counts())
    }

    #[test]
    fn without_faults_nothing_changes() {
        let expected: Vec<_> = (0..10_000).map(|number| (number * 1_000, number)).collect();
        assert_eq!(stream(NONE).0, expected);
    }

    #[test]
    fn the_seed_alone_decides() {
        let options = |seed| FaultOptions {
            seed,
            loss: 0.01,
            duplicate: 0.005,
            reorder: 0.01,
            delay: Some(5_000..=20_000),
        };
        assert_eq!(stream(options(1)), stream(options(1)));
        assert_ne!(stream(options(1)).0, stream(options(2)).0);
    }

    #[test]
    fn shares_are_kept_and_counted() {
        let (out, counts) = stream(FaultOptions { loss: 0.1, ..NONE });
        assert_eq!(out.len() as u64 + counts.lost, 10_000);
        assert!((900..1_100).contains(&counts.lost), "{counts:?}");
        let (out, counts) = stream(FaultOptions {
            duplicate: 0.1,
            ..NONE
        });
        assert_eq!(out.len() as u64, 10_000 + counts.duplicated);
        assert!((900..1_100).contains(&counts.duplicated), "{counts:?}");
        let (out, counts) = stream(FaultOptions {
            reorder: 0.1,
            ..NONE
        });
        let back = out.windows(2).filter(|pair| pair[0].1 > pair[1].1).count() as u64;
        assert_eq!((out.len(), back), (10_000, counts.reordered));
        assert!((800..1_100).contains(&counts.reordered), "{counts:?}");
        assert!(out.is_sorted_by_key(|(position, _)| *position));
        let (out, _) = stream(FaultOptions {
            delay: Some(5_000..=20_000),
            ..NONE
        });
        assert!(
            out.iter()
                .all(|(at, number)| (5_000..=20_000).contains(&(at - number * 1_000)))
        );
        assert!(out.is_sorted_by_key(|(position, _)| *position));
        assert!(
            !out.is_sorted_by_key(|(_, number)| *number),
            "delays overtake each other"
        );
        let (out, counts) = stream(FaultOptions { loss: 1.0, ..NONE });
        assert_eq!((out.len(), counts.lost), (0, 10_000));
    }
}

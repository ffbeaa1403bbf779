//! The clock of a replay: every deadline is counted from one anchor, so that
//! nothing drifts, whatever came late. Sleeps to shortly before a deadline, then
//! spins; how much before is learned from how late sleep ends on this machine.

use std::time::Duration;

use super::control::{Control, Wish};
use crate::clock::nanoseconds;

/// So often somebody who wants to stop or to pause is noticed.
const LONGEST_SLEEP: u64 = 50_000_000;
/// How often somebody who has paused is asked.
const PAUSE_STEP: u64 = 5_000_000;
/// Lateness beyond this says that the machine was busy, and nothing of its timers.
const LONGEST_LATE: u64 = 400_000;
const MILLION: u128 = 1_000_000;

/// Time that never goes back, in nanoseconds from some beginning.
pub(super) trait Clock {
    fn now(&self) -> u64;
    /// Returns at this time or, more likely, somewhat later.
    fn sleep_until(&self, time: u64);
}

/// How fast to replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// In millionths of the original.
    Times(u64),
    /// Without any wait.
    Max,
}

/// How long before a deadline to wake and spin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spin {
    /// As long as sleep has ended late on this machine, but not longer than this.
    AtMost(Duration),
    /// Always so long; not at all if it is nothing.
    Always(Duration),
}

/// Waits for the moment of each datagram.
pub(super) struct Pacer<C> {
    clock: C,
    speed: Speed,
    /// The moment of position 0.
    anchor: u64,
    spin: Spin,
    /// How late sleep ends, and how much that varies.
    late: f64,
    varies: f64,
}

impl<C: Clock> Pacer<C> {
    /// A pacer whose position 0 is now.
    pub fn start(clock: C, speed: Speed, spin: Spin) -> Pacer<C> {
        Pacer {
            anchor: clock.now(),
            clock,
            speed,
            late: match spin {
                Spin::Always(_) => 0.0,
                Spin::AtMost(longest) => nanoseconds(longest) as f64,
            },
            spin,
            varies: 0.0,
        }
    }

    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// When what lies at `position`, in nanoseconds of the capture, is due.
    pub fn due(&self, position: u64) -> u64 {
        match self.speed {
            Speed::Max => self.anchor,
            Speed::Times(millionths) => {
                let real = u128::from(position) * MILLION / u128::from(millionths.max(1));
                let real = u64::try_from(real).unwrap_or(u64::MAX);
                self.anchor.saturating_add(real)
            }
        }
    }

    /// Waits until `position` is due, however long others pause it meanwhile.
    /// `false` if they want it to end.
    pub fn wait(&mut self, position: u64, control: &Control) -> bool {
        loop {
            match control.wish() {
                Wish::Stop => return false,
                Wish::Play => {}
                Wish::Pause => {
                    let before = self.clock.now();
                    self.clock.sleep_until(before + PAUSE_STEP);
                    self.anchor += self.clock.now() - before;
                    continue;
                }
                Wish::Step => {
                    // Those that follow keep their distance.
                    let early = self.due(position).saturating_sub(self.clock.now());
                    self.anchor -= early.min(self.anchor);
                    return true;
                }
            }
            let due = self.due(position);
            let now = self.clock.now();
            if now >= due {
                return true;
            }
            let wake = due - self.margin().min(due);
            if wake > now {
                let until = wake.min(now + LONGEST_SLEEP);
                self.clock.sleep_until(until);
                self.learn(self.clock.now().saturating_sub(until));
            } else {
                while self.clock.now() < due {
                    std::hint::spin_loop();
                }
                return true;
            }
        }
    }

    /// Waits until a moment of its clock, in one piece.
    pub fn hold_until(&self, time: u64) {
        if self.clock.now() < time {
            self.clock.sleep_until(time);
        }
    }

    /// How much before a deadline to wake.
    fn margin(&self) -> u64 {
        match self.spin {
            Spin::Always(margin) => nanoseconds(margin),
            Spin::AtMost(longest) => {
                let margin = self.late + 1.5 * self.varies;
                (margin as u64).min(nanoseconds(longest))
            }
        }
    }

    fn learn(&mut self, late: u64) {
        let late = late.min(LONGEST_LATE) as f64;
        self.varies += ((late - self.late).abs() - self.varies) / 16.0;
        self.late += (late - self.late) / 16.0;
    }
}

/// The system's own clock, with the best of its timers.
pub(super) struct SystemClock(timer::Timer);

impl SystemClock {
    pub fn new() -> SystemClock {
        SystemClock(timer::Timer::new())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        self.0.now()
    }

    fn sleep_until(&self, time: u64) {
        self.0.sleep_until(time);
    }
}

/// The longest spin that does not cost a laptop its battery.
pub const LONGEST_SPIN: Duration = match () {
    () if cfg!(target_os = "linux") => Duration::from_micros(200),
    () if cfg!(windows) => Duration::from_micros(1_500),
    () => Duration::from_millis(1),
};

#[cfg(target_os = "linux")]
mod timer {
    use std::mem::MaybeUninit;
    use std::ptr;

    /// `clock_nanosleep` to an absolute time, with as little slack as there is.
    pub(super) struct Timer;

    impl Timer {
        pub fn new() -> Timer {
            // SAFETY: it takes numbers only, and concerns this thread alone.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0, 0, 0) };
            Timer
        }

        pub fn now(&self) -> u64 {
            let mut time = MaybeUninit::<libc::timespec>::uninit();
            // SAFETY: the clock exists on every Linux, so the time is filled in.
            let time = unsafe {
                libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr());
                time.assume_init()
            };
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        }

        /// A signal may end it early.
        pub fn sleep_until(&self, time: u64) {
            let time = libc::timespec {
                tv_sec: (time / 1_000_000_000) as libc::time_t,
                tv_nsec: (time % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: it reads one time, and writes nothing since the time is
            // absolute.
            unsafe {
                libc::clock_nanosleep(
                    libc::CLOCK_MONOTONIC,
                    libc::TIMER_ABSTIME,
                    &time,
                    ptr::null_mut(),
                );
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod timer {
    use std::time::{Duration, Instant};

    use crate::clock::nanoseconds;

    /// What the standard library has; on Windows that is a high-resolution
    /// waitable timer.
    pub(super) struct Timer(Instant);

    impl Timer {
        pub fn new() -> Timer {
            Timer(Instant::now())
        }

        pub fn now(&self) -> u64 {
            nanoseconds(self.0.elapsed())
        }

        pub fn sleep_until(&self, time: u64) {
            std::thread::sleep(Duration::from_nanos(time.saturating_sub(self.now())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A clock that stands still but for sleeps, which end late, and a little
    /// whenever it is asked.
    struct TestClock {
        now: Cell<u64>,
        late: u64,
    }

    impl Clock for &TestClock {
        fn now(&self) -> u64 {
            self.now.set(self.now.get() + 100);
            self.now.get()
        }

        fn sleep_until(&self, time: u64) {
            self.now.set(self.now.get().max(time) + self.late);
        }
    }

    fn clock(late: u64) -> TestClock {
        TestClock {
            now: Cell::new(5_000_000_000),
            late,
        }
    }

    const LEARNED: Spin = Spin::AtMost(Duration::from_micros(200));

    /// By how much each of these positions is late.
    fn lateness(
        speed: Speed,
        spin: Spin,
        late: u64,
        positions: impl Iterator<Item = u64>,
    ) -> Vec<u64> {
        let clock = clock(late);
        let control = Control::default();
        let mut pacer = Pacer::start(&clock, speed, spin);
        let wait = |position| {
            assert!(pacer.wait(position, &control));
            let now = pacer.now();
            assert!(now >= pacer.due(position), "never early");
            now - pacer.due(position)
        };
        positions.map(wait).collect()
    }

    #[test]
    fn spinning_makes_up_for_a_late_sleep() {
        let positions = || (0..1_000).map(|n| n * 16_666_667);
        let spun = lateness(Speed::Times(1_000_000), LEARNED, 70_000, positions());
        assert!(spun.iter().all(|late| *late <= 300), "{spun:?}");
        let slept = lateness(
            Speed::Times(1_000_000),
            Spin::Always(Duration::ZERO),
            70_000,
            positions(),
        );
        assert!(
            slept[1..]
                .iter()
                .all(|late| (70_000..71_000).contains(late)),
            "{slept:?}"
        );
    }

    #[test]
    fn nothing_drifts() {
        // Each sleep ends later than the next deadline.
        let positions = (0..100_000).map(|n| n * 1_000_000);
        let late = lateness(Speed::Times(1_000_000), LEARNED, 3_000_000, positions);
        assert!(*late.last().expect("one") <= 3_001_000);
        // An odd speed, over a day.
        let day = 86_400_000_000_000;
        let clock = clock(0);
        let pacer = Pacer::start(&clock, Speed::Times(333_333), LEARNED);
        let due = pacer.due(day) - pacer.due(0);
        assert_eq!(due, (u128::from(day) * 1_000_000 / 333_333) as u64);
    }

    #[test]
    fn a_pause_moves_all_that_follows() {
        let clock = clock(0);
        let control = Control::default();
        let mut pacer = Pacer::start(&clock, Speed::Times(1_000_000), LEARNED);
        let before = pacer.due(1_000_000_000);
        control.pause();
        control.step();
        // A step is sent at once, and those behind it keep their distance.
        assert!(pacer.wait(1_000_000_000, &control));
        let moved = pacer.due(1_000_000_000);
        assert!(moved < before && pacer.now() - moved < 1_000);
        assert_eq!(pacer.due(1_500_000_000) - moved, 500_000_000);
        control.stop();
        assert!(!pacer.wait(2_000_000_000, &control));
    }
}

//! When a recording is over.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::files::TICK;
use crate::clock::nanoseconds;

/// How often those who watch are told.
pub(super) const TELL: Duration = Duration::from_millis(250);

/// When a recording is over by itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct StopRules {
    pub duration: Option<Duration>,
    /// Whether that counts from the first arrival.
    pub from_first: bool,
    /// So long without anything, after the first.
    pub idle: Option<Duration>,
}

/// Why a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    Interrupted,
    Duration,
    Idle,
    Size,
    /// Whoever reads standard output has had enough.
    Closed,
    /// The simulator has ended.
    Disconnected,
    /// The simulator has not come in time.
    Absent,
    Failed,
}

/// The time of a recording, as all its threads see it.
pub(super) struct Progress {
    pub started: Instant,
    /// When something came first and last, in nanoseconds since the start; 0 for
    /// never.
    first: AtomicU64,
    last: AtomicU64,
}

impl Progress {
    pub fn start() -> Progress {
        Progress {
            started: Instant::now(),
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
        }
    }

    /// Says that something has come.
    pub fn note(&self) {
        let elapsed = nanoseconds(self.started.elapsed());
        if self.last.fetch_max(elapsed, Ordering::Relaxed) == 0 {
            self.first.store(elapsed, Ordering::Relaxed);
        }
    }

    /// The time since the first arrival.
    pub fn since_first(&self) -> Option<Duration> {
        let first = self.first.load(Ordering::Relaxed);
        let first = (first > 0).then(|| Duration::from_nanos(first));
        Some(self.started.elapsed().saturating_sub(first?))
    }

    /// Waits for the end, and says why it has come; `is_over` may know of other
    /// reasons than time.
    pub fn wait(
        &self,
        rules: StopRules,
        interrupted: &AtomicBool,
        is_over: impl Fn() -> Option<StopReason>,
        mut tell: impl FnMut(),
    ) -> StopReason {
        let mut told = Instant::now();
        loop {
            let elapsed = self.started.elapsed();
            if let Some(reason) = is_over() {
                return reason;
            }
            if interrupted.load(Ordering::Relaxed) {
                return StopReason::Interrupted;
            }
            let mut patience = TICK;
            let running = match rules.from_first {
                true => self.since_first(),
                false => Some(elapsed),
            };
            if let Some((duration, running)) = rules.duration.zip(running) {
                let Some(left) = duration.checked_sub(running).filter(|left| !left.is_zero())
                else {
                    return StopReason::Duration;
                };
                patience = patience.min(left);
            }
            let last = Duration::from_nanos(self.last.load(Ordering::Relaxed));
            if let Some(idle) = rules.idle.filter(|_| !last.is_zero()) {
                let Some(left) = (last + idle)
                    .checked_sub(elapsed)
                    .filter(|left| !left.is_zero())
                else {
                    return StopReason::Idle;
                };
                patience = patience.min(left);
            }
            thread::sleep(patience);
            if told.elapsed() >= TELL {
                told = Instant::now();
                tell();
            }
        }
    }
}

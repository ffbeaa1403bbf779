//! What somebody who watches a replay wants of it, from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What those who watch a replay may want of it.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    paused: AtomicBool,
    steps: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Play,
    Pause,
    /// One datagram, though paused.
    Step,
    Stop,
}

impl Control {
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
    }

    /// Pauses, or plays on.
    pub fn toggle(&self) {
        self.steps.store(0, Ordering::Relaxed);
        self.paused.fetch_xor(true, Ordering::Relaxed);
    }

    /// Sends one datagram, and pauses.
    pub fn step(&self) {
        self.pause();
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
    }

    /// What is wanted now; a step is wanted once.
    pub(super) fn wish(&self) -> Wish {
        if self.stop.load(Ordering::Relaxed) {
            return Wish::Stop;
        }
        if !self.is_paused() {
            return Wish::Play;
        }
        let less = |steps: u64| steps.checked_sub(1);
        match self
            .steps
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        {
            Ok(_) => Wish::Step,
            Err(_) => Wish::Pause,
        }
    }
}

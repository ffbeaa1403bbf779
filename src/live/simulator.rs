//! A recording of ticks as a running simulator: which record is published when
//! is decided elsewhere; here its session string goes along.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use memmap2::Mmap;

use super::irsdk::{MapPlace, Publisher};
use super::pace::Speed;
use crate::capture::TickFile;
use crate::capture::ibt::Revisions;

/// From the first tick to the second, so that programs can find the simulator.
pub(super) const ARRIVAL: Duration = Duration::from_millis(500);
/// Enough for anybody.
const LONGEST_SPACING: u64 = 20_000_000;
/// After the last tick, so that programs can take it.
const DEPARTURE: Duration = Duration::from_millis(100);

pub(super) struct Simulator {
    publisher: Publisher,
    map: Arc<Mmap>,
    first: usize,
    record_length: usize,
    /// Nanoseconds of the recording between two ticks.
    interval: u64,
    revisions: Revisions,
    /// How many of them have been published in this pass.
    revision: usize,
    session: Vec<u8>,
    last: Option<usize>,
    /// Whether the first tick was published before its turn.
    has_arrived: bool,
    ticks: u64,
    sessions: u64,
}

impl Simulator {
    /// Makes the memory. `path` is that of the recording.
    ///
    /// # Errors
    /// If the memory cannot be made, or somebody else uses it.
    pub fn open(place: &MapPlace, ticks: &TickFile, path: &Path) -> anyhow::Result<Simulator> {
        let cannot = || format!("cannot read the session strings beside {}", path.display());
        let revisions = Revisions::beside(path).with_context(cannot)?;
        let session = match revisions.get(0) {
            Some((0, session)) => session.to_vec(),
            _ => ticks.session().to_vec(),
        };
        let longest = revisions.longest().max(ticks.session().len());
        let rate = u64::try_from(ticks.schema().tick_rate).unwrap_or(0).max(1);
        Ok(Simulator {
            publisher: Publisher::open(place, ticks.schema(), &session, longest)?,
            map: ticks.mapping().clone(),
            first: ticks.offset(0),
            record_length: ticks.record_length(),
            interval: 1_000_000_000 / rate,
            revisions,
            revision: 0,
            session,
            last: None,
            has_arrived: false,
            ticks: 0,
            sessions: 1,
        })
    }

    /// Publishes the first record, so that there is a tick from the beginning, and
    /// says that there is a simulator.
    pub fn arrive(&mut self, record: usize) {
        self.publish(record);
        self.has_arrived = true;
        self.publisher.connect();
    }

    /// Publishes a record of the recording as the next tick.
    pub fn publish(&mut self, record: usize) {
        if std::mem::take(&mut self.has_arrived) {
            return;
        }
        // What is left out was missed by those who read.
        let step = match self.last {
            Some(last) if record > last => i32::try_from(record - last).unwrap_or(1),
            _ => 1,
        };
        if self.last.is_some_and(|last| record < last) {
            self.revision = 0;
        }
        self.last = Some(record);
        let mut newest = None;
        while let Some((from, session)) = self.revisions.get(self.revision)
            && from <= record as u64
        {
            newest = Some(session);
            self.revision += 1;
        }
        if let Some(session) = newest.filter(|session| *session != self.session) {
            self.publisher.session(session);
            self.session = session.to_vec();
            self.sessions += 1;
        }
        let start = self.first + record * self.record_length;
        // A file that still grows has more by now than when it was opened.
        if let Some(bytes) = self.map.get(start..start + self.record_length) {
            self.publisher.publish(bytes, step);
            self.ticks += 1;
        }
    }

    /// Nanoseconds that lie between two ticks at least, so that those who read
    /// have the time to: a simulator never publishes several at once.
    pub fn spacing(&self, speed: Speed) -> u64 {
        match speed {
            Speed::Max => 0,
            Speed::Times(millionths) => {
                (self.interval * 750_000 / millionths.max(1)).min(LONGEST_SPACING)
            }
        }
    }

    /// Gives those who read the time to take the last tick.
    pub fn depart(&self) {
        std::thread::sleep(DEPARTURE);
    }

    pub fn report(&self) -> SimulatorReport {
        SimulatorReport {
            ticks: self.ticks,
            bytes: self.ticks * self.record_length as u64,
            sessions: self.sessions,
        }
    }
}

/// What a replay has published as a simulator.
#[derive(Debug, Clone, Copy)]
pub struct SimulatorReport {
    pub ticks: u64,
    /// Of their records.
    pub bytes: u64,
    /// Session strings, one after the other.
    pub sessions: u64,
}

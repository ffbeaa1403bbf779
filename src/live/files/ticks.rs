//! Ticks as the content of a recording's files, and beside each file all that
//! its session string has been.

use std::sync::Arc;

use super::Content;
use crate::capture::ibt::{REVISIONS_EXTENSION, add_revision};
use crate::capture::{Patch, TickEncoder, TickSchema};

/// A tick to record.
pub(in crate::live) struct TickRecord<'a> {
    pub tick: i32,
    /// When it came, in nanoseconds since 1970.
    pub time: i64,
    pub bytes: &'a [u8],
}

/// What is known when a file begins.
#[derive(Debug, Clone)]
pub(in crate::live) struct TickStart {
    pub schema: Arc<TickSchema>,
    pub session: Vec<u8>,
    /// The simulator's count of changes of it.
    pub session_update: i32,
    /// How long it can become.
    pub session_room: usize,
}

/// An `.ibt`.
pub(in crate::live) struct TickContent {
    encoder: TickEncoder,
    records: u64,
    sidecar: Vec<u8>,
}

impl TickContent {
    /// A new session string, from the next record on.
    pub fn session(&mut self, session: &[u8], update: i32, now: i64) {
        self.encoder.session(session);
        self.note(session, update, now);
    }

    fn note(&mut self, session: &[u8], update: i32, now: i64) {
        if !session.is_empty() {
            add_revision(&mut self.sidecar, update, self.records, now, session);
        }
    }
}

impl Content for TickContent {
    const RECORDS: &'static str = "ticks";
    const SIDECAR: Option<&'static str> = Some(REVISIONS_EXTENSION);
    type Record<'a> = TickRecord<'a>;
    type Context<'a> = &'a TickStart;

    fn begin(start: &TickStart, now: i64) -> anyhow::Result<TickContent> {
        let room = start.session_room;
        let mut content = TickContent {
            encoder: TickEncoder::new(start.schema.clone(), &start.session, room),
            records: 0,
            sidecar: Vec::new(),
        };
        content.note(&start.session, start.session_update, now);
        Ok(content)
    }

    fn time(record: &TickRecord<'_>) -> i64 {
        record.time
    }

    fn add(&mut self, record: &TickRecord<'_>) -> anyhow::Result<u64> {
        self.encoder.tick(record.tick, record.time, record.bytes);
        self.records += 1;
        Ok(record.bytes.len() as u64)
    }

    fn take_back(&mut self, _bytes: usize) {
        self.encoder.take_back();
        self.records -= 1;
    }

    fn bytes(&self) -> &[u8] {
        self.encoder.bytes()
    }

    fn closing_bytes(&self) -> u64 {
        0
    }

    fn close(&mut self, _start: &TickStart, _now: i64) -> anyhow::Result<()> {
        Ok(())
    }

    fn written(&mut self, length: usize) -> Vec<Patch> {
        self.encoder.written(length)
    }

    fn sidecar(&mut self) -> &mut Vec<u8> {
        &mut self.sidecar
    }
}

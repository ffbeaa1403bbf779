//! Writing memory as a running simulator does: three buffers that take turns,
//! where and in which order the simulator writes.

use std::thread;
use std::time::Duration;

use anyhow::bail;

use super::MapPlace;
use super::reader::read_header;
use super::region::{Memory, Region};
use crate::capture::TickSchema;
use crate::capture::ibt::{Buffer, HEADER_LENGTH, Header, MOST_BUFFERS, VARIABLE_LENGTH, field};

/// The simulator's room for the session string.
const SESSION_ROOM: usize = 524_288;
/// And for variable headers.
const VARIABLES_ROOM: usize = 4_096 * VARIABLE_LENGTH;
/// And for a record.
const RECORD_ROOM: usize = 24_576;
const BUFFERS: usize = 3;
const PAGE: usize = 4_096;
/// Longer than any simulator takes to its next tick.
const NEXT_TICK: Duration = Duration::from_millis(150);

/// A simulator, as far as other programs can tell.
pub(in crate::live) struct Publisher {
    memory: Memory,
    header: Header,
    session_room: usize,
    tick: i32,
    buffer: usize,
}

impl Publisher {
    /// Makes the memory, with everything in it but ticks; nobody looks at it until
    /// it is connected.
    ///
    /// # Errors
    /// If it cannot be made, somebody else uses it, or it would be too large.
    pub fn open(
        place: &MapPlace,
        schema: &TickSchema,
        session: &[u8],
        longest_session: usize,
    ) -> anyhow::Result<Publisher> {
        let session_room = SESSION_ROOM.max(longest_session + 1);
        let variables = HEADER_LENGTH + session_room;
        let first = variables + VARIABLES_ROOM.max(schema.headers().len());
        let record_room = RECORD_ROOM.max(schema.record_length.next_multiple_of(16));
        let length = (first + BUFFERS * record_room).next_multiple_of(PAGE);
        let Ok(_) = i32::try_from(length) else {
            bail!("the memory would be too large: {length} bytes");
        };
        let mut buffers = [Buffer::default(); MOST_BUFFERS];
        for (number, buffer) in buffers.iter_mut().take(BUFFERS).enumerate() {
            buffer.offset = (first + number * record_room) as i32;
        }
        let header = Header {
            version: 2,
            status: 0,
            tick_rate: schema.tick_rate,
            session_update: 1,
            session_length: session_room as i32,
            session_offset: HEADER_LENGTH as i32,
            variable_count: (schema.headers().len() / VARIABLE_LENGTH) as i32,
            variables_offset: variables as i32,
            buffer_count: BUFFERS as i32,
            record_length: schema.record_length as i32,
            newest_tick: 0,
            newest_buffer: 0,
            buffers,
        };
        if is_running(place) {
            bail!("{place} belongs to a simulator that is running, or to another replay");
        }
        let mut memory = Memory::create(place, length, is_memory)?;
        memory.store(field::STATUS, 0);
        memory.write(0, &header.bytes());
        memory.write(variables, schema.headers());
        memory.write(first, &vec![0; BUFFERS * record_room]);
        let mut publisher = Publisher {
            memory,
            header,
            session_room,
            tick: 0,
            buffer: 0,
        };
        publisher.write_session(session);
        Ok(publisher)
    }

    /// Says that a simulator is there.
    pub fn connect(&mut self) {
        self.memory.store(field::STATUS, 1);
        self.memory.signal();
    }

    /// Publishes a record as the next tick, or as one `step` further.
    pub fn publish(&mut self, record: &[u8], step: i32) {
        self.tick = self.tick.wrapping_add(step.max(1));
        self.buffer = (self.buffer + 1) % BUFFERS;
        let buffer = self.header.buffers[self.buffer];
        let at = Buffer::place(self.buffer);
        self.memory.store(at + 8, self.tick);
        self.memory.write(buffer.offset as usize, record);
        self.memory.store(at, self.tick);
        self.memory.store(field::CUR_BUF, self.buffer as i32);
        self.memory.store(field::CUR_BUF_TICK_COUNT, self.tick);
        self.memory.signal();
    }

    /// Changes the session string.
    pub fn session(&mut self, session: &[u8]) {
        self.write_session(session);
        self.header.session_update = self.header.session_update.wrapping_add(1);
        self.memory
            .store(field::SESSION_INFO_UPDATE, self.header.session_update);
    }

    fn write_session(&mut self, session: &[u8]) {
        let mut text = session[..session.len().min(self.session_room - 1)].to_vec();
        text.resize(self.session_room, 0);
        self.memory.write(HEADER_LENGTH, &text);
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.memory.store(field::STATUS, 0);
        self.memory.signal();
    }
}

/// Whether another program publishes there. A file that says so and stands still
/// was left behind.
fn is_running(place: &MapPlace) -> bool {
    let newest = || {
        let header = read_header(&Region::open(place).ok()?).ok()?;
        let is_connected = header.version != 0 && header.is_connected();
        is_connected.then(|| header.buffers.map(|buffer| buffer.tick))
    };
    let Some(before) = newest() else {
        return false;
    };
    // Nothing but its status says that memory with a name is in use.
    if !matches!(place, MapPlace::File(_)) {
        return true;
    }
    thread::sleep(NEXT_TICK);
    newest().is_some_and(|now| now != before)
}

/// Whether a file begins like a simulator's memory, and not like a recording of
/// one, which has a single buffer.
fn is_memory(start: &[u8]) -> bool {
    let Some(header) = start.first_chunk() else {
        return false;
    };
    let header = Header::parse(header);
    // One that was made and not yet filled is all zeros.
    header == Header::default()
        || (1..=2).contains(&header.version)
            && (2..=MOST_BUFFERS as i32).contains(&header.buffer_count)
            && header.session_offset == HEADER_LENGTH as i32
}

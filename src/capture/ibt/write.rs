//! Ticks into the bytes of an `.ibt`. Records are appended; what the headers say
//! of them is changed in place, so that the file is whole at every moment. Where
//! the bytes go, and when, is the business of whoever asks for them.
//!
//! A file has room for its session string twice: a new one is written beside the
//! old, and only then does the header point to it.

use std::sync::Arc;

use super::{
    Buffer, HEADER_LENGTH, Header, MOST_BUFFERS, SUB_HEADER, TickSchema, VARIABLE_LENGTH, field,
};

/// Bytes to be written over others that lie in the file already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// Makes the bytes of one recording, and keeps them until they are in the file.
#[derive(Debug)]
pub struct TickEncoder {
    schema: Arc<TickSchema>,
    bytes: Vec<u8>,
    /// How many of them are no records.
    head: usize,
    /// Tick count and time of each record among them.
    ticks: Vec<(i32, i64)>,
    header: Header,
    /// Where the two rooms for the session string begin, and the size of each.
    rooms: [usize; 2],
    room: usize,
    /// A session string that is not in the file yet.
    session: Option<Vec<u8>>,
    totals: Totals,
}

/// What the sub-header says of the records.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Totals {
    /// Seconds since 1970 UTC at session time 0.
    start_date: i64,
    /// Session time of the first record, and the largest.
    start_time: f64,
    end_time: f64,
    /// How often the lap's number has grown, the first one counted.
    laps: i32,
    last_lap: i32,
    records: i32,
}

impl TickEncoder {
    /// Begins a recording whose session string is `session` for now, and may
    /// grow to `room` bytes.
    pub fn new(schema: Arc<TickSchema>, session: &[u8], room: usize) -> TickEncoder {
        let variables = SUB_HEADER.end..SUB_HEADER.end + schema.headers().len();
        let room = room.max(session.len());
        let rooms = [variables.end, variables.end + room];
        let header = Header {
            version: schema.version,
            status: 1,
            tick_rate: schema.tick_rate,
            session_length: number(session.len()),
            session_offset: number(rooms[0]),
            variable_count: number(schema.headers().len() / VARIABLE_LENGTH),
            variables_offset: number(variables.start),
            buffer_count: 1,
            record_length: number(schema.record_length),
            buffers: {
                let mut buffers = [Buffer::default(); MOST_BUFFERS];
                buffers[0].offset = number(rooms[1] + room);
                buffers
            },
            ..Header::default()
        };
        let mut bytes = header.bytes().to_vec();
        bytes.extend(Totals::default().bytes());
        bytes.extend(schema.headers());
        bytes.extend(session);
        bytes.resize(rooms[1] + room, 0);
        TickEncoder {
            head: bytes.len(),
            bytes,
            schema,
            ticks: Vec::new(),
            header,
            rooms,
            room,
            session: None,
            totals: Totals::default(),
        }
    }

    /// What is not in the file yet.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a record of the right length: its tick count, and when it came in
    /// nanoseconds since 1970 UTC.
    pub fn tick(&mut self, tick: i32, time: i64, record: &[u8]) {
        debug_assert_eq!(record.len(), self.schema.record_length);
        self.bytes.extend_from_slice(record);
        self.ticks.push((tick, time));
    }

    /// Takes the last record back that was added since the bytes were written.
    pub fn take_back(&mut self) {
        if self.ticks.pop().is_some() {
            let length = self.bytes.len() - self.schema.record_length;
            self.bytes.truncate(length);
        }
    }

    /// The session string from now on. `false` if it is longer than the room
    /// for it, and the file keeps the one that it has.
    pub fn session(&mut self, session: &[u8]) -> bool {
        let fits = session.len() <= self.room;
        if fits {
            self.session = Some(session.to_vec());
        }
        fits
    }

    /// Lets go of the bytes, of which the first `length` are in the file now.
    /// Returns what must change in it because of them, in this order.
    pub fn written(&mut self, length: usize) -> Vec<Patch> {
        let mut patches = Vec::new();
        if length >= self.head
            && let Some(session) = self.session.take()
        {
            self.header.session_length = number(session.len());
            let other = usize::from(self.header.session_offset == number(self.rooms[0]));
            self.header.session_offset = number(self.rooms[other]);
            patches.push(Patch {
                offset: self.rooms[other] as u64,
                bytes: session,
            });
            let place = field::SESSION_INFO_LEN..field::NUM_VARS;
            patches.push(Patch {
                offset: place.start as u64,
                bytes: self.header.bytes()[place].to_vec(),
            });
        }
        let records = &self.bytes[self.head.min(length)..length];
        let records = records.chunks_exact(self.schema.record_length);
        for (record, (tick, time)) in records.zip(&self.ticks) {
            self.header.buffers[0].tick = *tick;
            self.totals.count(&self.schema, record, *time);
        }
        if length > self.head {
            let ticks = self.header.bytes()[field::VAR_BUF..field::VAR_BUF + 4].to_vec();
            patches.push(Patch {
                offset: field::VAR_BUF as u64,
                bytes: ticks,
            });
            patches.push(Patch {
                offset: SUB_HEADER.start as u64,
                bytes: self.totals.bytes().to_vec(),
            });
        }
        self.bytes.clear();
        self.ticks.clear();
        self.head = 0;
        patches
    }
}

impl Totals {
    fn count(&mut self, schema: &TickSchema, record: &[u8], time: i64) {
        let session_time = schema.session_time(record).filter(|time| time.is_finite());
        let session_time = session_time.unwrap_or(0.0);
        let lap = schema.lap(record).unwrap_or(0);
        if self.records == 0 {
            let seconds = time as f64 / 1e9 - session_time;
            self.start_date = seconds.floor() as i64;
            self.start_time = session_time;
            self.end_time = session_time;
            self.laps = 1;
        } else {
            self.end_time = self.end_time.max(session_time);
            self.laps += i32::from(lap > self.last_lap);
        }
        self.last_lap = lap;
        self.records = self.records.saturating_add(1);
    }

    fn bytes(&self) -> [u8; SUB_HEADER.end - SUB_HEADER.start] {
        let mut bytes = [0; SUB_HEADER.end - SUB_HEADER.start];
        let mut write = |offset: usize, value: &[u8]| {
            let at = offset - HEADER_LENGTH;
            bytes[at..at + value.len()].copy_from_slice(value);
        };
        write(field::SESSION_START_DATE, &self.start_date.to_le_bytes());
        write(field::SESSION_START_TIME, &self.start_time.to_le_bytes());
        write(field::SESSION_END_TIME, &self.end_time.to_le_bytes());
        write(field::SESSION_LAP_COUNT, &self.laps.to_le_bytes());
        write(field::SESSION_RECORD_COUNT, &self.records.to_le_bytes());
        bytes
    }
}

/// A number of the header; offsets and lengths that were read from one fit.
fn number(value: usize) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{array, read_i32};
    use super::*;
    use crate::capture::Damage;

    /// A schema of a session time and a lap.
    fn schema() -> Arc<TickSchema> {
        let mut headers = vec![0; 2 * VARIABLE_LENGTH];
        for (header, (name, kind, offset)) in headers
            .chunks_exact_mut(VARIABLE_LENGTH)
            .zip([("SessionTime", 5, 0), ("Lap", 2, 8)])
        {
            header[0..4].copy_from_slice(&i32::to_le_bytes(kind));
            header[4..8].copy_from_slice(&i32::to_le_bytes(offset));
            header[8] = 1;
            header[16..16 + name.len()].copy_from_slice(name.as_bytes());
        }
        let header = Header {
            version: 2,
            tick_rate: 60,
            buffer_count: 3,
            record_length: 12,
            ..Header::default()
        };
        let wrong = |offset, what| format!("{offset}: {what}");
        let schema = TickSchema::parse(&header, &headers, 144, &wrong, &mut Damage::default());
        Arc::new(schema.expect("a schema"))
    }

    fn record(time: f64, lap: i32) -> Vec<u8> {
        [&time.to_le_bytes()[..], &lap.to_le_bytes()].concat()
    }

    /// Writes the first `length` bytes of what is waiting, and what changes.
    fn write(file: &mut Vec<u8>, encoder: &mut TickEncoder, length: usize) {
        file.extend(&encoder.bytes()[..length]);
        for patch in encoder.written(length) {
            let at = patch.offset as usize;
            file[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
        }
    }

    fn session(file: &[u8]) -> &[u8] {
        let length = read_i32(file, field::SESSION_INFO_LEN) as usize;
        let offset = read_i32(file, field::SESSION_INFO_OFFSET) as usize;
        &file[offset..offset + length]
    }

    #[test]
    fn the_headers_say_what_is_in_the_file_at_every_moment() {
        let mut encoder = TickEncoder::new(schema(), b"first", 100);
        let mut file = Vec::new();
        let length = encoder.bytes().len();
        write(&mut file, &mut encoder, length);
        let first = read_i32(&file, field::VAR_BUF + 4) as usize;
        assert_eq!((first, session(&file)), (file.len(), &b"first"[..]));
        assert_eq!(read_i32(&file, field::SESSION_RECORD_COUNT), 0);
        for (number, (time, lap)) in [(100.5, 0), (100.6, 7), (100.7, 7), (99.0, 8)]
            .into_iter()
            .enumerate()
        {
            encoder.tick(41 + number as i32, 1_000_000_000_000, &record(time, lap));
        }
        encoder.tick(99, 0, &record(1e9, 99));
        encoder.take_back();
        // A full disk takes three of the four; the file says so.
        assert!(encoder.session(b"second, and longer"));
        write(&mut file, &mut encoder, 3 * 12);
        assert_eq!(read_i32(&file, field::SESSION_RECORD_COUNT), 3);
        assert_eq!(read_i32(&file, field::VAR_BUF), 43);
        assert_eq!(read_i32(&file, field::SESSION_LAP_COUNT), 2);
        let number = |offset| f64::from_le_bytes(array(&file, offset));
        assert_eq!(number(field::SESSION_START_TIME), 100.5);
        assert_eq!(number(field::SESSION_END_TIME), 100.7);
        let date = i64::from_le_bytes(array(&file, field::SESSION_START_DATE));
        assert_eq!(date, 899);
        assert_eq!(session(&file), b"second, and longer");
        // The one before lies there still, should the header not be written.
        let rooms = SUB_HEADER.end + 2 * VARIABLE_LENGTH;
        assert!(file[rooms..].starts_with(b"first"));
        assert!(!encoder.session(&[b'x'; 101]));
        assert!(encoder.session(b"third"));
        write(&mut file, &mut encoder, 0);
        assert_eq!(session(&file), b"third");
        assert_eq!(file.len(), first + 3 * 12);
    }
}

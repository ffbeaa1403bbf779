//! Recordings as files, and copies of the shared memory: what they hold, what
//! is damaged, and what can be read all the same.

use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;

use super::super::{CaptureError, Packing};
use super::{
    Buffer, Damage, HEADER_LENGTH, Header, SUB_HEADER, TickSchema, Variable, Wrong, array, field,
    read_i32, read_i64,
};
use crate::text::until_nul;

/// Whether a file that begins like this is iRacing telemetry, damaged or not:
/// version, status and tick rate are small numbers.
pub(in super::super) fn looks_like_ticks(start: &[u8]) -> bool {
    let in_range = |offset, range: Range<i32>| range.contains(&read_i32(start, offset));
    start.len() >= 12
        && in_range(field::VER, 1..100)
        && in_range(field::STATUS, 0..256)
        && in_range(field::TICK_RATE, 1..10_000)
}

/// The ticks of one recording.
pub struct TickFile {
    name: String,
    map: Arc<Mmap>,
    schema: TickSchema,
    session: Range<usize>,
    first: usize,
    count: usize,
    /// Seconds since 1970 UTC.
    start_date: Option<i64>,
    is_live: bool,
    size: Option<u64>,
    packing: Option<Packing>,
    damage: Damage,
}

impl TickFile {
    /// Reads the headers. `size` is that of the file before it was unpacked by
    /// `packing`, `damage` what was found doing so.
    pub(in super::super) fn new(
        name: String,
        map: Mmap,
        size: Option<u64>,
        packing: Option<Packing>,
        mut damage: Damage,
    ) -> Result<TickFile, CaptureError> {
        let wrong = |offset: usize, what: String| CaptureError::BadTicks {
            name: name.clone(),
            offset: offset as u64,
            what,
        };
        let bytes: &[u8] = &map;
        if bytes.len() < HEADER_LENGTH {
            let what = format!("the file ends inside its header of {HEADER_LENGTH} bytes");
            return Err(wrong(bytes.len(), what));
        }
        let header = Header::parse(&array(bytes, 0));
        let headers = header.variable_headers(bytes.len(), &wrong)?;
        let (buffers, record_length) = (header.buffer_count, header.record_length as usize);
        let mut session = session_string(&header, bytes, &mut damage);
        // In memory something else lies where files have their sub-header.
        let covers = |range: &Range<usize>| {
            range.start < SUB_HEADER.end && range.end > SUB_HEADER.start && !range.is_empty()
        };
        let is_live =
            (buffers > 1 || covers(&session) || covers(&headers)) && !has_sub_header(bytes);
        if !is_live && buffers > 1 {
            let what = format!("numBuf is {buffers}, though this is a file, which has one");
            damage.push(field::NUM_BUF as u64, what);
        }
        if !is_live && covers(&session) {
            let what = "sessionInfoOffset lies in the headers: the session string is left out";
            damage.push(field::SESSION_INFO_OFFSET as u64, what);
            session = 0..0;
        }
        let variables = &bytes[headers.clone()];
        let schema = TickSchema::parse(&header, variables, headers.start, &wrong, &mut damage)?;
        let (first, count) = match is_live {
            true => newest_record(&header, bytes, &mut damage),
            false => {
                let first = records_start(&header, bytes, &headers, &wrong)?;
                let end = records_end(bytes, first, record_length, &mut session, &wrong)?;
                let room = end - first;
                (
                    first,
                    record_count(bytes, first, room, record_length, &mut damage),
                )
            }
        };
        if is_live {
            // The rest of the room that it has is not part of it.
            session.end = session.start + until_nul(&bytes[session.clone()]).len();
        }
        let date = read_i64(bytes, field::SESSION_START_DATE);
        Ok(TickFile {
            start_date: (!is_live && date > 0).then_some(date),
            name,
            schema,
            session,
            first,
            count,
            is_live,
            size,
            packing,
            damage,
            map: Arc::new(map),
        })
    }

    /// The name to call it by in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size of the file in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// How the whole file is compressed, if it is.
    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// The date of the session's start in seconds since 1970 UTC, if it is known.
    pub fn start_date(&self) -> Option<i64> {
        self.start_date
    }

    /// What its records look like.
    pub fn schema(&self) -> &TickSchema {
        &self.schema
    }

    pub fn variables(&self) -> &[Variable] {
        &self.schema.variables
    }

    /// The session string, in whatever encoding it has, without what is behind
    /// its end.
    pub fn session(&self) -> &[u8] {
        &self.map[self.session.clone()]
    }

    /// Whether this is a copy of a running simulator's memory, which holds one
    /// tick that can be read and says nothing of the date.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// What is damaged.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// The memory map that the records lie in.
    pub fn mapping(&self) -> &Arc<Mmap> {
        &self.map
    }

    /// Bytes a record.
    pub fn record_length(&self) -> usize {
        self.schema.record_length
    }

    /// How many complete records there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Where a record lies in the map.
    pub fn offset(&self, record: usize) -> usize {
        self.first + record * self.schema.record_length
    }

    /// Whether records have a time.
    pub fn has_clock(&self) -> bool {
        self.schema.has_clock() && self.start_date.is_some()
    }

    /// The time of a record in nanoseconds since 1970 UTC: the date of the
    /// session's start, if it is known, and the session time.
    pub fn time(&self, record: usize) -> i64 {
        let date = self.start_date.unwrap_or(0).saturating_mul(1_000_000_000);
        let bytes = &self.map[self.offset(record)..];
        let seconds = self.schema.session_time(bytes).unwrap_or(0.0);
        // Saturates; what is not a number becomes 0.
        date.saturating_add((seconds * 1e9).round() as i64)
    }
}

/// Where the session string lies. What is wrong with it is only noted: the
/// ticks do not depend on it.
fn session_string(header: &Header, bytes: &[u8], damage: &mut Damage) -> Range<usize> {
    let (offset, length) = (header.session_offset, header.session_length);
    let (Ok(start), Ok(length)) = (usize::try_from(offset), usize::try_from(length)) else {
        let what = format!("sessionInfoOffset is {offset} and sessionInfoLen {length}: left out");
        damage.push(field::SESSION_INFO_LEN as u64, what);
        return 0..0;
    };
    if length == 0 {
        return 0..0;
    }
    if start < HEADER_LENGTH || start >= bytes.len() {
        let what = format!(
            "sessionInfoOffset is {offset}, outside of the file's {} bytes: the session string is \
             left out",
            bytes.len()
        );
        damage.push(field::SESSION_INFO_OFFSET as u64, what);
        return 0..0;
    }
    let end = start + length;
    if end > bytes.len() {
        let what = format!(
            "sessionInfoLen is {length}, but the file ends {} bytes behind the start of the \
             session string",
            bytes.len() - start
        );
        damage.push(field::SESSION_INFO_LEN as u64, what);
    }
    let text = &bytes[start..end.min(bytes.len())];
    let used = text.iter().rposition(|byte| *byte != 0);
    start..start + used.map_or(0, |last| last + 1)
}

/// Whether what begins like this is a recording, not a simulator's memory.
pub fn is_recording(start: &[u8]) -> bool {
    read_i32(start, field::NUM_BUF) == 1 && has_sub_header(start)
}

/// Whether the sub-header that only files have is there: a date of this
/// century, and times within reason.
fn has_sub_header(bytes: &[u8]) -> bool {
    const THIS_CENTURY: Range<i64> = 946_684_800..4_102_444_800;
    let time = |offset| f64::from_le_bytes(array(bytes, offset));
    let (start, end) = (time(SUB_HEADER.start + 8), time(SUB_HEADER.start + 16));
    THIS_CENTURY.contains(&read_i64(bytes, field::SESSION_START_DATE))
        && (0.0..1e7).contains(&start)
        && (0.0..1e7).contains(&end)
}

fn records_start(
    header: &Header,
    bytes: &[u8],
    headers: &Range<usize>,
    wrong: Wrong<'_, CaptureError>,
) -> Result<usize, CaptureError> {
    let offset = header.buffers[0].offset;
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if start < SUB_HEADER.end || start > bytes.len() || headers.contains(&start) {
        let what = format!(
            "bufOffset is {offset}, but the records must lie behind the headers and before the \
             end of the file at {}",
            bytes.len()
        );
        return Err(wrong(Buffer::place(0) + 4, what));
    }
    Ok(start)
}

/// Where the records end: at the end of the file, unless the session string
/// lies behind them. What of it seems to lie among them is not part of it, if
/// the records are as many as the header says.
fn records_end(
    bytes: &[u8],
    first: usize,
    length: usize,
    session: &mut Range<usize>,
    wrong: Wrong<'_, CaptureError>,
) -> Result<usize, CaptureError> {
    if session.start >= first && session.start < session.end {
        return Ok(session.start);
    }
    if session.end > first {
        let room = bytes.len() - first;
        let stated = usize::try_from(read_i32(bytes, field::SESSION_RECORD_COUNT));
        let is_clipped = session.end == bytes.len();
        if !is_clipped && (stated != Ok(room / length) || !room.is_multiple_of(length)) {
            let what = format!("bufOffset is {first}, inside of the session string");
            return Err(wrong(Buffer::place(0) + 4, what));
        }
        session.end = first;
    }
    Ok(bytes.len())
}

/// How many complete records there are in the room for them: the header says
/// so only once the simulator has closed the file.
fn record_count(
    bytes: &[u8],
    first: usize,
    room: usize,
    length: usize,
    damage: &mut Damage,
) -> usize {
    let count = room / length;
    let stated = read_i32(bytes, field::SESSION_RECORD_COUNT);
    if usize::try_from(stated) != Ok(count) {
        let what = format!(
            "the header counts {stated} records, the file holds {count}: the simulator did not \
             close it, or it was cut; all complete records are read"
        );
        damage.push(field::SESSION_RECORD_COUNT as u64, what);
    }
    if !room.is_multiple_of(length) {
        let what = format!(
            "the last record is cut after {} of {length} bytes: left out",
            room % length
        );
        damage.push((first + count * length) as u64, what);
    }
    count
}

/// The newest record of a copy of the memory that was complete when it was
/// copied, and whether there is one.
fn newest_record(header: &Header, bytes: &[u8], damage: &mut Damage) -> (usize, usize) {
    let length = header.record_length as usize;
    let mut newest: Option<(i32, usize)> = None;
    for (number, buffer) in header.buffers_in_use().enumerate() {
        let Buffer {
            tick,
            offset,
            begun,
        } = buffer;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if start < HEADER_LENGTH || start.saturating_add(length) > bytes.len() {
            let what = format!("bufOffset of buffer {number} is {offset}, outside of the file");
            damage.push(Buffer::place(number) as u64 + 4, what);
            continue;
        }
        // Older simulators do not say when they begin to write.
        let is_complete = begun == 0 || begun == tick;
        if is_complete && newest.is_none_or(|(known, _)| tick > known) {
            newest = Some((tick, start));
        }
    }
    match newest {
        Some((_, start)) => (start, 1),
        None => {
            let what = "no buffer holds a complete record";
            damage.push(field::VAR_BUF as u64, what);
            (HEADER_LENGTH, 0)
        }
    }
}

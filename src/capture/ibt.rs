//! iRacing telemetry: `.ibt` files, and copies of the shared memory that a
//! running simulator keeps. A header says where the variable headers, the
//! session string and the records ("ticks") lie; every file describes its own
//! variables. What becomes of them is not known here.
//!
//! Layout by the simulator's SDK (irsdk_defines.h): a header of 112 bytes; in a
//! file, but not in memory, a sub-header of 32 bytes behind it; 144 bytes a
//! variable. All numbers are little-endian; records are packed.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;

use super::{CaptureError, Damage};
use crate::text::{until_nul, utf8_or_latin};

const HEADER_LENGTH: usize = 112;
const SUB_HEADER: Range<usize> = HEADER_LENGTH..HEADER_LENGTH + 32;
const VARIABLE_LENGTH: usize = 144;
/// As many buffers as a header describes.
const MOST_BUFFERS: i32 = 4;
/// Hundreds of times what any simulator has written; a larger number is damage.
const LONGEST_RECORD: i32 = 1 << 22;
/// Several times what any simulator has; more would be as many columns.
const MOST_VALUES: usize = 1 << 14;

/// Offsets in the header, as the SDK names its fields.
mod field {
    pub const VER: usize = 0;
    pub const STATUS: usize = 4;
    pub const TICK_RATE: usize = 8;
    pub const SESSION_INFO_LEN: usize = 16;
    pub const SESSION_INFO_OFFSET: usize = 20;
    pub const NUM_VARS: usize = 24;
    pub const VAR_HEADER_OFFSET: usize = 28;
    pub const NUM_BUF: usize = 32;
    pub const BUF_LEN: usize = 36;
    /// Four of 16 bytes: tick count, offset, tick count when writing began.
    pub const VAR_BUF: usize = 48;
    pub const SESSION_START_DATE: usize = 112;
    pub const SESSION_RECORD_COUNT: usize = 140;
}

/// Whether a file that begins like this is iRacing telemetry, damaged or not:
/// version, status and tick rate are small numbers.
pub(super) fn looks_like_ticks(start: &[u8]) -> bool {
    let in_range = |offset, range: Range<i32>| range.contains(&read_i32(start, offset));
    start.len() >= 12
        && in_range(field::VER, 1..100)
        && in_range(field::STATUS, 0..256)
        && in_range(field::TICK_RATE, 1..10_000)
}

/// The type of a variable, by its number in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableType {
    Char,
    Bool,
    Int,
    BitField,
    Float,
    Double,
}

impl VariableType {
    fn of(number: i32) -> Option<VariableType> {
        Some(match number {
            0 => VariableType::Char,
            1 => VariableType::Bool,
            2 => VariableType::Int,
            3 => VariableType::BitField,
            4 => VariableType::Float,
            5 => VariableType::Double,
            _ => return None,
        })
    }

    /// Bytes a value.
    pub fn size(self) -> usize {
        match self {
            VariableType::Char | VariableType::Bool => 1,
            VariableType::Int | VariableType::BitField | VariableType::Float => 4,
            VariableType::Double => 8,
        }
    }
}

/// A variable as the file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub kind: VariableType,
    /// In the record.
    pub offset: usize,
    /// Values a tick.
    pub count: usize,
    /// Whether the values are moments within the tick.
    pub counts_as_time: bool,
    /// Its unit, or the name of the enum that its values belong to.
    pub unit: String,
    pub description: String,
}

/// The ticks of one recording.
pub struct TickFile {
    name: String,
    map: Arc<Mmap>,
    variables: Vec<Variable>,
    session: Range<usize>,
    first: usize,
    record_length: usize,
    count: usize,
    /// Seconds since 1970 UTC.
    start_date: Option<i64>,
    /// Where records have their SessionTime, in seconds, and of which type.
    clock: Option<(usize, VariableType)>,
    is_live: bool,
    size: Option<u64>,
    damage: Damage,
}

impl TickFile {
    /// Reads the headers. `size` is that of the file before it was unpacked,
    /// `damage` what was found doing so.
    pub(super) fn new(
        name: String,
        map: Mmap,
        size: Option<u64>,
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
        let read = |offset| read_i32(bytes, offset);
        let version = read(field::VER);
        if !(1..=2).contains(&version) {
            let what = format!("ver is {version}; simtel knows versions 1 and 2");
            return Err(wrong(field::VER, what));
        }
        let record_length = read(field::BUF_LEN);
        if !(1..=LONGEST_RECORD).contains(&record_length) {
            let what = format!("bufLen, the length of a record, is {record_length}");
            return Err(wrong(field::BUF_LEN, what));
        }
        let record_length = record_length as usize;
        let buffers = read(field::NUM_BUF);
        if !(1..=MOST_BUFFERS).contains(&buffers) {
            let what = format!("numBuf is {buffers}; there are 1 to {MOST_BUFFERS}");
            return Err(wrong(field::NUM_BUF, what));
        }
        let headers = variable_headers(bytes, &wrong)?;
        let mut session = session_string(bytes, &mut damage);
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
        let variables = variables(bytes, headers.clone(), record_length, &wrong, &mut damage)?;
        let clock = variables.iter().find(|variable| {
            variable.name == "SessionTime"
                && matches!(variable.kind, VariableType::Double | VariableType::Float)
                && variable.count == 1
        });
        let (first, count) = match is_live {
            true => newest_record(bytes, buffers, record_length, &mut damage),
            false => {
                let first = records_start(bytes, &headers, &wrong)?;
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
            clock: clock.map(|variable| (variable.offset, variable.kind)),
            start_date: (!is_live && date > 0).then_some(date),
            name,
            variables,
            session,
            first,
            record_length,
            count,
            is_live,
            size,
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

    pub fn variables(&self) -> &[Variable] {
        &self.variables
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
        self.record_length
    }

    /// How many complete records there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Where a record lies in the map.
    pub fn offset(&self, record: usize) -> usize {
        self.first + record * self.record_length
    }

    /// Whether records have a time.
    pub fn has_clock(&self) -> bool {
        self.clock.is_some() && self.start_date.is_some()
    }

    /// The time of a record in nanoseconds since 1970 UTC: the date of the
    /// session's start, if it is known, and the session time.
    pub fn time(&self, record: usize) -> i64 {
        let date = self.start_date.unwrap_or(0).saturating_mul(1_000_000_000);
        let at = |offset| self.offset(record) + offset;
        let seconds = match self.clock {
            Some((offset, VariableType::Float)) => {
                f64::from(f32::from_le_bytes(array(&self.map, at(offset))))
            }
            Some((offset, _)) => f64::from_le_bytes(array(&self.map, at(offset))),
            None => 0.0,
        };
        // Saturates; what is not a number becomes 0.
        date.saturating_add((seconds * 1e9).round() as i64)
    }
}

type Wrong<'a> = &'a dyn Fn(usize, String) -> CaptureError;

/// Where the variable headers lie.
fn variable_headers(bytes: &[u8], wrong: Wrong<'_>) -> Result<Range<usize>, CaptureError> {
    let offset = read_i32(bytes, field::VAR_HEADER_OFFSET);
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if start < HEADER_LENGTH || start > bytes.len() {
        let what = format!(
            "varHeaderOffset is {offset}, but the variable headers must lie behind the header and \
             before the end of the file at {}",
            bytes.len()
        );
        return Err(wrong(field::VAR_HEADER_OFFSET, what));
    }
    let count = read_i32(bytes, field::NUM_VARS);
    let room = (bytes.len() - start) / VARIABLE_LENGTH;
    match usize::try_from(count) {
        Ok(count) if (1..=room).contains(&count) => Ok(start..start + count * VARIABLE_LENGTH),
        _ => Err(wrong(
            field::NUM_VARS,
            format!("numVars is {count}, but the file has room for 1 to {room} variable headers"),
        )),
    }
}

/// Where the session string lies. What is wrong with it is only noted: the
/// ticks do not depend on it.
fn session_string(bytes: &[u8], damage: &mut Damage) -> Range<usize> {
    let offset = read_i32(bytes, field::SESSION_INFO_OFFSET);
    let length = read_i32(bytes, field::SESSION_INFO_LEN);
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

fn variables(
    bytes: &[u8],
    headers: Range<usize>,
    record_length: usize,
    wrong: Wrong<'_>,
    damage: &mut Damage,
) -> Result<Vec<Variable>, CaptureError> {
    let mut variables = Vec::new();
    let mut values = 0_usize;
    let mut names = HashSet::new();
    for at in headers.step_by(VARIABLE_LENGTH) {
        let header = &bytes[at..at + VARIABLE_LENGTH];
        let name = &header[16..48];
        if !name.contains(&0) || name[0] == 0 {
            let what = "the name of a variable has no end or is empty";
            return Err(wrong(at + 16, what.into()));
        }
        let name = text(name);
        // Whatever is in it, a terminal must not obey it.
        let shown = name.escape_debug();
        if !names.insert(name.clone()) {
            return Err(wrong(
                at + 16,
                format!("a second variable is named {shown}"),
            ));
        }
        let number = read_i32(header, 0);
        let Some(kind) = VariableType::of(number) else {
            let what = format!("{shown} is of the unknown type {number}: left out");
            damage.push(at as u64, what);
            continue;
        };
        let (offset, count) = (read_i32(header, 4), read_i32(header, 8));
        let place = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(count).ok());
        let (offset, count) = place
            .filter(|(offset, count)| {
                let length = count.checked_mul(kind.size());
                let end = length.and_then(|length| length.checked_add(*offset));
                *count > 0 && end.is_some_and(|end| end <= record_length)
            })
            .ok_or_else(|| {
                let what = format!(
                    "{shown} has {count} values at {offset}, but a record has {record_length} bytes"
                );
                wrong(at + 4, what)
            })?;
        values += if kind == VariableType::Char { 1 } else { count };
        if values > MOST_VALUES {
            let what = format!(
                "{shown} has {count} values, and those before it are many: the variables from here \
                 on are left out"
            );
            damage.push(at as u64, what);
            break;
        }
        variables.push(Variable {
            name,
            kind,
            offset,
            count,
            counts_as_time: header[12] != 0,
            unit: text(&header[112..144]),
            description: text(&header[48..112]),
        });
    }
    let mut in_order: Vec<&Variable> = variables.iter().collect();
    in_order.sort_by_key(|variable| variable.offset);
    for pair in in_order.windows(2) {
        let end = pair[0].offset + pair[0].count * pair[0].kind.size();
        if end > pair[1].offset {
            let what = format!(
                "the variables {} and {} overlap: one reaches to byte {end} of the record, the \
                 other begins at {}",
                pair[0].name.escape_debug(),
                pair[1].name.escape_debug(),
                pair[1].offset
            );
            return Err(wrong(
                read_i32(bytes, field::VAR_HEADER_OFFSET) as usize,
                what,
            ));
        }
    }
    Ok(variables)
}

fn records_start(
    bytes: &[u8],
    headers: &Range<usize>,
    wrong: Wrong<'_>,
) -> Result<usize, CaptureError> {
    let at = field::VAR_BUF + 4;
    let offset = read_i32(bytes, at);
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    if start < SUB_HEADER.end || start > bytes.len() || headers.contains(&start) {
        let what = format!(
            "bufOffset is {offset}, but the records must lie behind the headers and before the \
             end of the file at {}",
            bytes.len()
        );
        return Err(wrong(at, what));
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
    wrong: Wrong<'_>,
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
            return Err(wrong(field::VAR_BUF + 4, what));
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
fn newest_record(bytes: &[u8], buffers: i32, length: usize, damage: &mut Damage) -> (usize, usize) {
    let mut newest: Option<(i32, usize)> = None;
    for buffer in 0..buffers as usize {
        let at = field::VAR_BUF + 16 * buffer;
        let (tick, offset, begun) = (
            read_i32(bytes, at),
            read_i32(bytes, at + 4),
            read_i32(bytes, at + 8),
        );
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if start < HEADER_LENGTH || start.saturating_add(length) > bytes.len() {
            let what = format!("bufOffset of buffer {buffer} is {offset}, outside of the file");
            damage.push(at as u64 + 4, what);
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

/// A text of a fixed field, up to its NUL or to the end of the field.
fn text(field: &[u8]) -> String {
    utf8_or_latin(until_nul(field)).into_owned()
}

/// The bytes at `offset`, which must be there; zeros if they are not.
fn array<const N: usize>(bytes: &[u8], offset: usize) -> [u8; N] {
    let at = bytes.get(offset..).unwrap_or_default();
    at.first_chunk().copied().unwrap_or([0; N])
}

fn read_i32(bytes: &[u8], offset: usize) -> i32 {
    i32::from_le_bytes(array(bytes, offset))
}

fn read_i64(bytes: &[u8], offset: usize) -> i64 {
    i64::from_le_bytes(array(bytes, offset))
}

//! iRacing telemetry: what `.ibt` files and the shared memory of a running
//! simulator have in common. A header says where the variable headers, the
//! session string and the records ("ticks") lie; every one describes its own
//! variables. Files are read in `read` and made in `write`; the memory itself,
//! and what becomes of the variables, is not known here.
//!
//! Layout by the simulator's SDK (irsdk_defines.h): a header of 112 bytes; in a
//! file, but not in memory, a sub-header of 32 bytes behind it; 144 bytes a
//! variable. All numbers are little-endian; records are packed.

mod read;
mod revisions;
mod write;

use std::collections::HashSet;
use std::ops::Range;

use super::Damage;
use crate::text::{until_nul, utf8_or_latin};

pub(super) use read::looks_like_ticks;
pub use read::{TickFile, is_recording};
pub use revisions::{REVISIONS_EXTENSION, Revisions, add_revision};
pub use write::{Patch, TickEncoder};

/// Bytes of the header.
pub const HEADER_LENGTH: usize = 112;
/// Bytes of a variable header.
pub const VARIABLE_LENGTH: usize = 144;
/// As many buffers as a header describes.
pub const MOST_BUFFERS: usize = 4;
const SUB_HEADER: Range<usize> = HEADER_LENGTH..HEADER_LENGTH + 32;
/// Hundreds of times what any simulator has written; a larger number is damage.
const LONGEST_RECORD: i32 = 1 << 22;
/// Several times what any simulator has; more would be as many columns.
pub const MOST_VALUES: usize = 1 << 14;

/// Offsets in the header, as the SDK names its fields.
pub mod field {
    pub const VER: usize = 0;
    pub const STATUS: usize = 4;
    pub const TICK_RATE: usize = 8;
    pub const SESSION_INFO_UPDATE: usize = 12;
    pub const SESSION_INFO_LEN: usize = 16;
    pub const SESSION_INFO_OFFSET: usize = 20;
    pub const NUM_VARS: usize = 24;
    pub const VAR_HEADER_OFFSET: usize = 28;
    pub const NUM_BUF: usize = 32;
    pub const BUF_LEN: usize = 36;
    /// Since SDK 1.20, as is the next; padding before.
    pub const CUR_BUF_TICK_COUNT: usize = 40;
    pub const CUR_BUF: usize = 44;
    /// Four of 16 bytes: tick count, offset, tick count when writing began.
    pub const VAR_BUF: usize = 48;
    pub const SESSION_START_DATE: usize = 112;
    pub const SESSION_START_TIME: usize = 120;
    pub const SESSION_END_TIME: usize = 128;
    pub const SESSION_LAP_COUNT: usize = 136;
    pub const SESSION_RECORD_COUNT: usize = 140;
}

/// The header, with the SDK's fields under the names of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    pub version: i32,
    /// Bit 0: connected; set in files too.
    pub status: i32,
    /// Ticks a second.
    pub tick_rate: i32,
    /// Grows with each change of the session string; 0 in files.
    pub session_update: i32,
    /// In memory the room for it.
    pub session_length: i32,
    pub session_offset: i32,
    pub variable_count: i32,
    pub variables_offset: i32,
    pub buffer_count: i32,
    /// Bytes a record.
    pub record_length: i32,
    pub newest_tick: i32,
    pub newest_buffer: u8,
    pub buffers: [Buffer; MOST_BUFFERS],
}

/// Where a record lies in memory, and which it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffer {
    /// Written when the record is complete.
    pub tick: i32,
    pub offset: i32,
    /// Written before the record is touched; 0 if the simulator does not do so.
    pub begun: i32,
}

impl Buffer {
    /// Where the header says so of a buffer: its tick, then its offset, then the
    /// tick that was begun.
    pub fn place(number: usize) -> usize {
        field::VAR_BUF + 16 * number
    }
}

impl Header {
    pub fn parse(bytes: &[u8; HEADER_LENGTH]) -> Header {
        let read = |offset| read_i32(bytes, offset);
        Header {
            version: read(field::VER),
            status: read(field::STATUS),
            tick_rate: read(field::TICK_RATE),
            session_update: read(field::SESSION_INFO_UPDATE),
            session_length: read(field::SESSION_INFO_LEN),
            session_offset: read(field::SESSION_INFO_OFFSET),
            variable_count: read(field::NUM_VARS),
            variables_offset: read(field::VAR_HEADER_OFFSET),
            buffer_count: read(field::NUM_BUF),
            record_length: read(field::BUF_LEN),
            newest_tick: read(field::CUR_BUF_TICK_COUNT),
            newest_buffer: bytes[field::CUR_BUF],
            buffers: std::array::from_fn(|number| {
                let at = Buffer::place(number);
                Buffer {
                    tick: read(at),
                    offset: read(at + 4),
                    begun: read(at + 8),
                }
            }),
        }
    }

    pub fn bytes(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        let mut write = |offset: usize, value: i32| {
            bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        };
        write(field::VER, self.version);
        write(field::STATUS, self.status);
        write(field::TICK_RATE, self.tick_rate);
        write(field::SESSION_INFO_UPDATE, self.session_update);
        write(field::SESSION_INFO_LEN, self.session_length);
        write(field::SESSION_INFO_OFFSET, self.session_offset);
        write(field::NUM_VARS, self.variable_count);
        write(field::VAR_HEADER_OFFSET, self.variables_offset);
        write(field::NUM_BUF, self.buffer_count);
        write(field::BUF_LEN, self.record_length);
        write(field::CUR_BUF_TICK_COUNT, self.newest_tick);
        for (number, buffer) in self.buffers.iter().enumerate() {
            let at = Buffer::place(number);
            write(at, buffer.tick);
            write(at + 4, buffer.offset);
            write(at + 8, buffer.begun);
        }
        bytes[field::CUR_BUF] = self.newest_buffer;
        bytes
    }

    /// The buffers that are in use.
    pub fn buffers_in_use(&self) -> impl Iterator<Item = Buffer> {
        let count = usize::try_from(self.buffer_count).unwrap_or(0);
        self.buffers.into_iter().take(count)
    }

    pub fn is_connected(&self) -> bool {
        self.status & 1 == 1
    }

    /// Checks what nothing can be read without: the version, the length of a
    /// record, the number of buffers.
    fn check<E>(&self, wrong: Wrong<'_, E>) -> Result<(), E> {
        if !(1..=2).contains(&self.version) {
            let what = format!("ver is {}; simtel knows versions 1 and 2", self.version);
            return Err(wrong(field::VER, what));
        }
        let length = self.record_length;
        if !(1..=LONGEST_RECORD).contains(&length) {
            let what = format!("bufLen, the length of a record, is {length}");
            return Err(wrong(field::BUF_LEN, what));
        }
        let buffers = self.buffer_count;
        if !(1..=MOST_BUFFERS as i32).contains(&buffers) {
            let what = format!("numBuf is {buffers}; there are 1 to {MOST_BUFFERS}");
            return Err(wrong(field::NUM_BUF, what));
        }
        Ok(())
    }

    /// Checks it, and says where in `length` bytes the variable headers lie.
    ///
    /// # Errors
    /// What `wrong` makes of an offset and what is wrong there.
    pub fn variable_headers<E>(
        &self,
        length: usize,
        wrong: Wrong<'_, E>,
    ) -> Result<Range<usize>, E> {
        self.check(wrong)?;
        let offset = self.variables_offset;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if start < HEADER_LENGTH || start > length {
            let what = format!(
                "varHeaderOffset is {offset}, but the variable headers must lie behind the header \
                 and before the end of the file at {length}"
            );
            return Err(wrong(field::VAR_HEADER_OFFSET, what));
        }
        let count = self.variable_count;
        let room = (length - start) / VARIABLE_LENGTH;
        match usize::try_from(count) {
            Ok(count) if (1..=room).contains(&count) => Ok(start..start + count * VARIABLE_LENGTH),
            _ => Err(wrong(
                field::NUM_VARS,
                format!(
                    "numVars is {count}, but the file has room for 1 to {room} variable headers"
                ),
            )),
        }
    }
}

/// What makes an error of an offset and of what is wrong there.
pub type Wrong<'a, E> = &'a dyn Fn(usize, String) -> E;

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

/// What records look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickSchema {
    pub version: i32,
    /// Ticks a second.
    pub tick_rate: i32,
    /// Bytes a record.
    pub record_length: usize,
    pub variables: Vec<Variable>,
    /// The variable headers as they came.
    headers: Vec<u8>,
    /// Where records have their SessionTime, in seconds, and of which type.
    clock: Option<(usize, VariableType)>,
    /// Where records have the number of their lap.
    lap: Option<usize>,
}

impl TickSchema {
    /// Reads variable headers, which lie at offset `at`.
    ///
    /// # Errors
    /// What `wrong` makes of an offset and what is wrong there.
    pub fn parse<E>(
        header: &Header,
        headers: &[u8],
        at: usize,
        wrong: Wrong<'_, E>,
        damage: &mut Damage,
    ) -> Result<TickSchema, E> {
        header.check(wrong)?;
        let record_length = header.record_length as usize;
        let variables = variables(headers, at, record_length, wrong, damage)?;
        let single = |name: &str, is_right: fn(VariableType) -> bool| {
            variables.iter().find(|variable| {
                variable.name == name && is_right(variable.kind) && variable.count == 1
            })
        };
        let clock = single("SessionTime", |kind| {
            matches!(kind, VariableType::Double | VariableType::Float)
        });
        let lap = single("Lap", |kind| kind == VariableType::Int);
        Ok(TickSchema {
            version: header.version,
            tick_rate: header.tick_rate,
            record_length,
            clock: clock.map(|variable| (variable.offset, variable.kind)),
            lap: lap.map(|variable| variable.offset),
            headers: headers.to_vec(),
            variables,
        })
    }

    /// The variable headers as they came.
    pub fn headers(&self) -> &[u8] {
        &self.headers
    }

    pub fn has_clock(&self) -> bool {
        self.clock.is_some()
    }

    /// The session time of a record in seconds, if it has one.
    pub fn session_time(&self, record: &[u8]) -> Option<f64> {
        match self.clock? {
            (offset, VariableType::Float) => {
                Some(f64::from(f32::from_le_bytes(array(record, offset))))
            }
            (offset, _) => Some(f64::from_le_bytes(array(record, offset))),
        }
    }

    /// The number of a record's lap, if it has one.
    pub fn lap(&self, record: &[u8]) -> Option<i32> {
        Some(read_i32(record, self.lap?))
    }
}

/// The variables of `bytes`, which lie at offset `start`.
fn variables<E>(
    bytes: &[u8],
    start: usize,
    record_length: usize,
    wrong: Wrong<'_, E>,
    damage: &mut Damage,
) -> Result<Vec<Variable>, E> {
    let mut variables = Vec::new();
    let mut values = 0_usize;
    let mut names = HashSet::new();
    for (number, header) in bytes.chunks_exact(VARIABLE_LENGTH).enumerate() {
        let at = start + number * VARIABLE_LENGTH;
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
        let code = read_i32(header, 0);
        let Some(kind) = VariableType::of(code) else {
            let what = format!("{shown} is of the unknown type {code}: left out");
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
            return Err(wrong(start, what));
        }
    }
    Ok(variables)
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

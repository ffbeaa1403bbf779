//! Reading a running simulator's memory: every tick whole, in order, and none
//! twice. Everything in it may change at any moment, so each thing is read, and
//! then it is asked whether it has moved meanwhile.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::MapPlace;
use super::region::Region;
use crate::capture::ibt::{
    Buffer, HEADER_LENGTH, Header, MOST_VALUES, VARIABLE_LENGTH, field, is_recording,
};
use crate::capture::{Damage, TickSchema};
use crate::live::files::TickStart;
use crate::text::until_nul;

/// How often something that moved is read again.
const ATTEMPTS: usize = 3;
/// So long without a tick, and we ask whether the simulator is still there. It
/// may have gone and come again, which an open mapping does not show.
const STALLED: Duration = Duration::from_secs(1);
/// So long without a tick, and it is gone, as the SDK's own client has it.
const GONE: Duration = Duration::from_secs(30);
/// Far beyond any session string.
const LONGEST_SESSION: usize = 16 << 20;

/// What is found in the memory.
pub(in crate::live) enum Event<'a> {
    /// A simulator, or one whose ticks look otherwise from now on.
    Start(TickStart),
    /// Another session string, from the next tick on.
    Session {
        text: Vec<u8>,
        update: i32,
    },
    Tick {
        tick: i32,
        bytes: &'a [u8],
    },
}

/// How it stands with the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::live) enum State {
    /// There is none yet.
    Waiting,
    /// It is there; whether there was something new.
    Live { is_new: bool },
    /// It was there, and is gone.
    Lost,
}

/// Follows one place.
pub(in crate::live) struct Reader {
    place: MapPlace,
    attached: Option<Attached>,
    /// Whether `Start` was said and not taken back by `Lost`.
    is_connected: bool,
    /// The newest tick taken.
    last: Option<i32>,
    /// When a tick came last, or the simulator.
    heard: Instant,
    looked: Instant,
    /// The tick at which a simulator stood still that was given up.
    stood_at: Option<i32>,
    why: Option<String>,
    record: Vec<u8>,
    /// Ticks that were published, but not to be had any more.
    missed: u64,
    /// Times that a tick was overwritten while it was copied.
    torn: u64,
}

/// Memory whose structure is known.
struct Attached {
    region: Region,
    header: Header,
    schema: Arc<TickSchema>,
    /// Where the variable headers lie.
    headers: Range<usize>,
}

/// Why memory cannot be followed.
enum Problem {
    /// There is nothing, or nothing yet.
    Absent,
    /// What there is makes no sense, now.
    Senseless(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::UnexpectedEof => Problem::Absent,
            _ => Problem::Senseless(error.to_string()),
        }
    }
}

impl Reader {
    pub fn new(place: MapPlace) -> Reader {
        Reader {
            place,
            attached: None,
            is_connected: false,
            last: None,
            heard: Instant::now(),
            looked: Instant::now(),
            stood_at: None,
            why: None,
            record: Vec::new(),
            missed: 0,
            torn: 0,
        }
    }

    /// Ticks that were published, but not to be had any more.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Times that a tick was overwritten while it was copied.
    pub fn torn(&self) -> u64 {
        self.torn
    }

    /// What is wrong with the memory that is there, if anything is.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Waits until there may be something new.
    pub fn wait(&self, patience: Duration) {
        match &self.attached {
            Some(attached) => attached.region.wait(patience),
            None => std::thread::sleep(patience),
        }
    }

    /// Hands what is new to `take`.
    pub fn poll(&mut self, take: &mut dyn FnMut(Event<'_>)) -> State {
        if self.attached.is_none() {
            match self.attach(take) {
                Ok(()) => self.why = None,
                Err(problem) => {
                    self.why = match problem {
                        Problem::Absent => None,
                        Problem::Senseless(why) => Some(why),
                    };
                    return match self.is_connected {
                        false => State::Waiting,
                        true if self.heard.elapsed() > STALLED => self.lose(),
                        true => State::Live { is_new: false },
                    };
                }
            }
        }
        match self.take_new(take) {
            Ok(true) => {
                self.heard = Instant::now();
                State::Live { is_new: true }
            }
            Ok(false) => self.is_still_there(),
            // Whatever it is, it is not what it was: attached anew next time.
            Err(_) => {
                self.attached = None;
                State::Live { is_new: false }
            }
        }
    }

    fn lose(&mut self) -> State {
        self.attached = None;
        self.is_connected = false;
        self.stood_at = self.last.take();
        State::Lost
    }

    /// Opens the memory, and reads what all else depends on.
    fn attach(&mut self, take: &mut dyn FnMut(Event<'_>)) -> Result<(), Problem> {
        let region = Region::open(&self.place)?;
        let header = read_header(&region)?;
        if header.version == 0 || !header.is_connected() {
            return Err(Problem::Absent);
        }
        let mut start = [0; 144];
        if region.read(0, &mut start).is_ok() && is_recording(&start) {
            let what = "it is a recording, not a simulator's memory: `simtel convert` reads it";
            return Err(Problem::Senseless(what.into()));
        }
        if self.stood_at.is_some_and(|tick| tick == newest(&header)) {
            return Err(Problem::Absent);
        }
        let wrong = |offset: usize, what: String| format!("offset {offset}: {what}");
        let headers = header
            .variable_headers(region.length(), &wrong)
            .map_err(Problem::Senseless)?;
        check_buffers(&header, region.length())?;
        if headers.len() > MOST_VALUES * VARIABLE_LENGTH {
            let what = format!("numVars is {}, more than any has", header.variable_count);
            return Err(Problem::Senseless(what));
        }
        let mut bytes = vec![0; headers.len()];
        region.read(headers.start, &mut bytes)?;
        let mut damage = Damage::default();
        let schema = TickSchema::parse(&header, &bytes, headers.start, &wrong, &mut damage)
            .map_err(Problem::Senseless)?;
        let (session, update) = read_session(&region, &header)?;
        if !is_alike(&header, &read_header(&region)?) {
            let what = "its structure changes while it is read";
            return Err(Problem::Senseless(what.into()));
        }
        let attached = Attached {
            region,
            header: Header {
                session_update: update,
                ..header
            },
            schema: Arc::new(schema),
            headers,
        };
        self.stood_at = None;
        self.looked = Instant::now();
        if !self.is_connected {
            self.last = None;
            self.heard = Instant::now();
        }
        self.is_connected = true;
        self.last.get_or_insert_with(|| before_first(&header));
        take(Event::Start(TickStart {
            schema: attached.schema.clone(),
            session_room: room(&header, attached.region.length()),
            session,
            session_update: update,
        }));
        self.record.resize(attached.schema.record_length, 0);
        self.attached = Some(attached);
        Ok(())
    }

    /// Takes everything new. Whether there was a tick.
    fn take_new(&mut self, take: &mut dyn FnMut(Event<'_>)) -> Result<bool, Problem> {
        let Some(attached) = &mut self.attached else {
            return Err(Problem::Absent);
        };
        // Never what it said before: three ticks may have come since.
        let header = read_header(&attached.region)?;
        if !is_alike(&header, &attached.header) {
            return Err(Problem::Absent);
        }
        if header.session_update != attached.header.session_update {
            let (text, update) = read_session(&attached.region, &header)?;
            // A new car may have as many variables as the one before.
            let mut headers = vec![0; attached.headers.len()];
            attached.region.read(attached.headers.start, &mut headers)?;
            if headers != attached.schema.headers() {
                return Err(Problem::Absent);
            }
            attached.header.session_update = update;
            take(Event::Session { text, update });
        }
        let last = self.last.unwrap_or(0);
        // Asked twice: a counter may be read while it is being written.
        if began_anew(&header, last) && began_anew(&read_header(&attached.region)?, last) {
            self.last = None;
            return Err(Problem::Absent);
        }
        let mut waiting: Vec<(i32, usize)> = buffers(&header)
            .map(|buffer| buffer.tick)
            .zip(0..)
            .filter(|(tick, _)| *tick > last)
            .collect();
        waiting.sort_unstable();
        let mut is_new = false;
        for (tick, buffer) in waiting {
            if !attached.copy(buffer, tick, &mut self.record, &mut self.torn)? {
                continue;
            }
            // A simulator may begin to count anywhere.
            if let Some(last @ 1..) = self.last {
                self.missed += u64::try_from(tick - last - 1).unwrap_or(0);
            }
            self.last = Some(tick);
            is_new = true;
            take(Event::Tick {
                tick,
                bytes: &self.record,
            });
        }
        Ok(is_new)
    }

    /// Whether a simulator without new ticks is one still.
    fn is_still_there(&mut self) -> State {
        let silence = self.heard.elapsed();
        if silence > GONE {
            return self.lose();
        }
        if silence > STALLED && self.looked.elapsed() > STALLED {
            self.looked = Instant::now();
            let Ok(region) = Region::open(&self.place) else {
                return self.lose();
            };
            match read_header(&region) {
                Ok(header) if header.version != 0 && !header.is_connected() => return self.lose(),
                // What changed in it is seen next time.
                _ => {
                    if let Some(attached) = &mut self.attached {
                        attached.region = region;
                    }
                }
            }
        }
        State::Live { is_new: false }
    }
}

impl Attached {
    /// Copies the tick of a buffer. `false` if it was overwritten meanwhile, or
    /// may have been.
    fn copy(
        &self,
        number: usize,
        tick: i32,
        record: &mut [u8],
        torn: &mut u64,
    ) -> Result<bool, Problem> {
        let buffer = self.header.buffers[number];
        for _ in 0..ATTEMPTS {
            self.region.read(buffer.offset as usize, record)?;
            let header = read_header(&self.region)?;
            if !is_alike(&header, &self.header) {
                return Err(Problem::Absent);
            }
            let now = header.buffers[number];
            if now.tick != tick {
                break;
            }
            let is_whole = match now.begun {
                // Older simulators do not say when they begin to write, but they
                // take the buffer with the oldest tick.
                0 => {
                    let behind = i64::from(newest(&header)) - i64::from(tick);
                    behind <= i64::from(header.buffer_count - 2).max(0)
                }
                begun => begun == tick,
            };
            if is_whole {
                return Ok(true);
            }
            if now.begun == 0 {
                break;
            }
        }
        *torn += 1;
        Ok(false)
    }
}

fn read_header(region: &Region) -> io::Result<Header> {
    let mut bytes = [0; HEADER_LENGTH];
    region.read(0, &mut bytes)?;
    Ok(Header::parse(&bytes))
}

/// The buffers that are in use.
fn buffers(header: &Header) -> impl Iterator<Item = Buffer> {
    let count = usize::try_from(header.buffer_count).unwrap_or(0);
    header.buffers.into_iter().take(count)
}

/// The largest tick count.
fn newest(header: &Header) -> i32 {
    buffers(header).map(|buffer| buffer.tick).max().unwrap_or(0)
}

/// Whether all buffers hold ticks from before those that were the newest, or
/// none, so that the simulator counts anew.
fn began_anew(header: &Header, last: i32) -> bool {
    let newest = newest(header);
    newest < last.saturating_sub(header.buffer_count) || newest == 0 && last > 0
}

/// The tick before the first of those that are there in a row up to the newest.
/// A buffer that never held anything has 0.
fn before_first(header: &Header) -> i32 {
    let mut ticks: Vec<i32> = buffers(header).map(|buffer| buffer.tick).collect();
    ticks.sort_unstable_by(|one, other| other.cmp(one));
    let mut first = newest(header);
    for tick in ticks {
        if tick == first.saturating_sub(1) && tick > 0 {
            first = tick;
        }
    }
    match first {
        0 => 0,
        first => first.saturating_sub(1),
    }
}

/// Whether everything lies where it lay.
fn is_alike(one: &Header, other: &Header) -> bool {
    let structure = |header: &Header| {
        (
            [
                header.version,
                header.tick_rate,
                header.session_offset,
                header.variable_count,
                header.variables_offset,
                header.buffer_count,
                header.record_length,
            ],
            header.buffers.map(|buffer| buffer.offset),
        )
    };
    structure(one) == structure(other)
}

/// How long the session string can become.
fn room(header: &Header, length: usize) -> usize {
    let start = usize::try_from(header.session_offset).unwrap_or(usize::MAX);
    let room = usize::try_from(header.session_length).unwrap_or(0);
    room.min(length.saturating_sub(start)).min(LONGEST_SESSION)
}

/// The session string, and its count of changes.
fn read_session(region: &Region, header: &Header) -> Result<(Vec<u8>, i32), Problem> {
    let mut text = vec![0; room(header, region.length())];
    let mut before = header.session_update;
    for _ in 0..ATTEMPTS {
        if !text.is_empty() {
            region.read(header.session_offset as usize, &mut text)?;
        }
        let after = read_header(region)?.session_update;
        if after == before {
            break;
        }
        before = after;
    }
    // If it moves on and on, it comes again with the next change.
    text.truncate(until_nul(&text).len());
    Ok((text, before))
}

/// Checks that every buffer lies inside of the memory, behind the header.
fn check_buffers(header: &Header, length: usize) -> Result<(), Problem> {
    let record = usize::try_from(header.record_length).unwrap_or(usize::MAX);
    for (number, buffer) in buffers(header).enumerate() {
        let start = usize::try_from(buffer.offset).unwrap_or(usize::MAX);
        if start < HEADER_LENGTH || start.saturating_add(record) > length {
            let at = field::VAR_BUF + 16 * number + 4;
            return Err(Problem::Senseless(format!(
                "offset {at}: bufOffset of buffer {number} is {} and bufLen {}, but there are only \
                 {length} bytes",
                buffer.offset, header.record_length
            )));
        }
    }
    Ok(())
}

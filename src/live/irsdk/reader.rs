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
    Buffer, HEADER_LENGTH, Header, MOST_VALUES, VARIABLE_LENGTH, is_recording,
};
use crate::capture::{Damage, TickSchema};
use crate::live::files::TickStart;
use crate::text::until_nul;

/// How often something that moved is read again.
const ATTEMPTS: usize = 3;
/// No simulator is slower, unless it stutters.
const LONGEST_INTERVAL: Duration = Duration::from_millis(20);
/// So long without a tick, and we ask whether the simulator is still there. It
/// may have gone and come again, which an open mapping does not show.
const STALLED: Duration = Duration::from_secs(1);
/// So long without a tick, and it is gone, as the SDK's own client has it.
const GONE: Duration = Duration::from_secs(30);
/// Far beyond any session string.
const LONGEST_SESSION: usize = 4 << 20;
/// A structure that changes again within this time, and so on more often than
/// any simulator loads another car, is left alone for a while: each change
/// begins a file.
const UNSTABLE: Duration = Duration::from_secs(2);
const TRUSTED_FLIPS: u32 = 3;
const HOLD: Duration = Duration::from_millis(500);

const NOT_CONNECTED: &str = "it says that no simulator is connected";
/// How often memory is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// How often it is looked into at least and at most, if nothing says when: four
/// times a tick, since three ticks are all that it holds.
const LONGEST_WAIT: Duration = Duration::from_millis(1);
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

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

/// Why nothing is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::live) enum Problem {
    /// There is no simulator yet.
    Absent(&'static str),
    /// There seems to be one, but none of its ticks is new.
    StandsStill,
    /// What there is makes no sense, now.
    Senseless(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Problem {
        match error.kind() {
            ErrorKind::NotFound => Problem::Absent("it is not there"),
            ErrorKind::UnexpectedEof => Problem::Absent("it is too short for any"),
            _ => Problem::Senseless(error.to_string()),
        }
    }
}

/// Follows one place.
pub(in crate::live) struct Reader {
    place: MapPlace,
    attached: Option<Attached>,
    /// Whether `Start` was said and not taken back by `Lost`.
    is_connected: bool,
    /// The newest tick taken, of whatever simulator.
    last: Option<i32>,
    /// Whether that was of this one, so that those behind it are to come.
    follows: bool,
    /// When a tick came last, or the simulator.
    heard: Instant,
    /// From one tick to the next, about.
    interval: Duration,
    looked: Instant,
    /// Since when a simulator that was there cannot be read.
    detached: Option<Instant>,
    /// When the memory was last taken for that of a simulator, how often its
    /// structure has changed soon after that, and until when it is left alone.
    started: Option<Instant>,
    flips: u32,
    held_until: Option<Instant>,
    problem: Option<Problem>,
    record: Vec<u8>,
    missed: u64,
    torn: u64,
}

/// Memory whose structure is known.
struct Attached {
    region: Region,
    header: Header,
    schema: Arc<TickSchema>,
    /// Where the variable headers lie.
    headers: Range<usize>,
    /// What there was when it was found.
    session: Vec<u8>,
    /// The newest tick then: memory without a simulator stands
    /// still, whatever it says.
    found_at: i32,
    /// Whether `Start` was said of it.
    is_started: bool,
}

impl Reader {
    pub fn new(place: MapPlace) -> Reader {
        let now = Instant::now();
        Reader {
            place,
            attached: None,
            is_connected: false,
            last: None,
            follows: false,
            heard: now,
            interval: LONGEST_INTERVAL,
            looked: now,
            detached: None,
            started: None,
            flips: 0,
            held_until: None,
            problem: None,
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

    /// Why there is nothing to read.
    pub fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// Waits until there may be something new.
    pub fn wait(&self) {
        match &self.attached {
            Some(attached) => {
                let wait = self.interval / 4;
                attached
                    .region
                    .wait(wait.clamp(SHORTEST_WAIT, LONGEST_WAIT));
            }
            // Its buffers fill while it is not looked at.
            None if self.is_connected => std::thread::sleep(LONGEST_WAIT),
            None => std::thread::sleep(LOOK),
        }
    }

    /// Hands what is new to `take`.
    pub fn poll(&mut self, take: &mut dyn FnMut(Event<'_>)) -> State {
        match self.take_new(take) {
            Ok(taken) => {
                self.problem = None;
                self.detached = None;
                if taken == 0 {
                    return self.is_still_there();
                }
                let between = self.heard.elapsed() / taken;
                self.interval = (self.interval * 7 + between.min(LONGEST_INTERVAL)) / 8;
                self.heard = Instant::now();
                State::Live { is_new: true }
            }
            Err(problem) => {
                let stands_still = problem == Problem::StandsStill;
                self.problem = Some(problem);
                if !self.is_connected {
                    return State::Waiting;
                }
                // One that begins anew may take a while to its first tick.
                if stands_still {
                    self.detached = None;
                    return self.is_still_there();
                }
                let detached = *self.detached.get_or_insert_with(Instant::now);
                match detached.elapsed() > STALLED {
                    true => self.lose(),
                    false => State::Live { is_new: false },
                }
            }
        }
    }

    fn lose(&mut self) -> State {
        self.attached = None;
        self.is_connected = false;
        self.follows = false;
        self.detached = None;
        State::Lost
    }

    /// Takes everything new; returns how many ticks that were.
    fn take_new(&mut self, take: &mut dyn FnMut(Event<'_>)) -> Result<u32, Problem> {
        if self.attached.is_none() {
            self.attached = Some(self.attach()?);
        }
        let result = self.start(take).and_then(|()| self.take_ticks(take));
        match result {
            Ok(_) => {}
            Err(Problem::StandsStill) => {
                self.look_again();
            }
            // Whatever it is, it is not what it was: attached anew next time.
            Err(_) => self.attached = None,
        }
        result
    }

    /// Asks once in a while whether the memory is there still, since it may be
    /// there for us alone. `false` if it is not, or it says that it has ended.
    fn look_again(&mut self) -> bool {
        if self.looked.elapsed() < STALLED {
            return true;
        }
        self.looked = Instant::now();
        match self.attached.take() {
            Some(attached) if attached.is_started => {
                self.attached = attached.reopen(&self.place);
                self.attached.is_some()
            }
            // What it was found with may be that of another by now.
            _ => true,
        }
    }

    /// Opens the memory, and reads what all else depends on.
    fn attach(&mut self) -> Result<Attached, Problem> {
        if self.held_until.is_some_and(|until| Instant::now() < until) {
            return Err(Problem::Senseless(
                "its structure changes again and again".into(),
            ));
        }
        let region = Region::open(&self.place)?;
        let header = read_header(&region)?;
        if header.version == 0 {
            return Err(Problem::Absent("there is nothing in it"));
        }
        let mut start = [0; 144];
        if region.read(0, &mut start).is_ok() && is_recording(&start) {
            let what = "it is a recording, not a simulator's memory: `simtel convert` reads it";
            return Err(Problem::Senseless(what.into()));
        }
        if !header.is_connected() {
            return Err(Problem::Absent(NOT_CONNECTED));
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
        // They belong to the session string, if they are those of its car still.
        let mut again = vec![0; bytes.len()];
        region.read(headers.start, &mut again)?;
        if again != bytes || !is_alike(&header, &read_header(&region)?) {
            let what = "its structure changes while it is read";
            return Err(Problem::Senseless(what.into()));
        }
        // One that we have lost, and that counts on, cannot be behind that.
        if !self.is_connected && self.last.is_some_and(|last| newest(&header) < last) {
            self.last = None;
        }
        self.looked = Instant::now();
        Ok(Attached {
            region,
            found_at: newest(&header),
            session,
            header: Header {
                session_update: update,
                ..header
            },
            schema: Arc::new(schema),
            headers,
            is_started: false,
        })
    }

    /// Says that there is a simulator, once it has shown a tick, if that was not
    /// said of it.
    fn start(&mut self, take: &mut dyn FnMut(Event<'_>)) -> Result<(), Problem> {
        let attached = self.attached.as_mut();
        let Some(attached) = attached.filter(|attached| !attached.is_started) else {
            return Ok(());
        };
        let header = read_header(&attached.region)?;
        if !is_alike(&header, &attached.header) {
            return Err(has_changed());
        }
        // One that we follow already has moved before.
        let newest = newest(&header);
        // Another one, which may have said something else when it was found.
        if newest < attached.found_at {
            return Err(has_changed());
        }
        if newest == 0 || newest == attached.found_at && !self.is_connected {
            return Err(match header.is_connected() {
                true => Problem::StandsStill,
                false => Problem::Absent(NOT_CONNECTED),
            });
        }
        attached.is_started = true;
        // What is there already is taken too, unless it was before.
        let first = before_first(&header, attached.found_at);
        self.last = match self.last {
            Some(last) if !began_anew(&header, last) => {
                if self.follows {
                    self.missed += u64::try_from(i64::from(first) - i64::from(last)).unwrap_or(0);
                }
                Some(last.max(first))
            }
            _ => {
                self.follows = false;
                Some(first)
            }
        };
        let before = self.started.replace(Instant::now());
        self.flips = match before.is_some_and(|before| before.elapsed() < UNSTABLE) {
            true => self.flips.saturating_add(1),
            false => 0,
        };
        self.is_connected = true;
        self.heard = Instant::now();
        self.record.resize(attached.schema.record_length, 0);
        take(Event::Start(TickStart {
            schema: attached.schema.clone(),
            session_room: room(&header, attached.region.length()),
            // If it is another by now, that comes next.
            session: std::mem::take(&mut attached.session),
            session_update: attached.header.session_update,
        }));
        Ok(())
    }

    /// Takes the session string, if it has changed, and all ticks that are new.
    fn take_ticks(&mut self, take: &mut dyn FnMut(Event<'_>)) -> Result<u32, Problem> {
        let Some(attached) = &mut self.attached else {
            return Ok(0);
        };
        // Never what it said before: three ticks may have come since.
        let header = read_header(&attached.region)?;
        let mut is_alike = is_alike(&header, &attached.header);
        if is_alike && header.session_update != attached.header.session_update {
            let (text, update) = read_session(&attached.region, &header)?;
            // A new car may have as many variables as the one before.
            let mut headers = vec![0; attached.headers.len()];
            attached.region.read(attached.headers.start, &mut headers)?;
            is_alike = headers == attached.schema.headers();
            if is_alike {
                attached.header.session_update = update;
                take(Event::Session { text, update });
            }
        }
        if !is_alike {
            let is_held = self.flips > TRUSTED_FLIPS;
            self.held_until = is_held.then(|| Instant::now() + HOLD);
            return Err(has_changed());
        }
        let last = self.last.unwrap_or(0);
        // Asked twice: a counter may be read while it is being written.
        if began_anew(&header, last) && began_anew(&read_header(&attached.region)?, last) {
            self.last = None;
            return Err(Problem::Senseless("its ticks begin anew".into()));
        }
        let mut waiting: Vec<(i32, usize)> = header
            .buffers_in_use()
            .map(|buffer| buffer.tick)
            .zip(0..)
            .filter(|(tick, _)| *tick > last)
            .collect();
        waiting.sort_unstable();
        let mut taken = 0;
        for (tick, buffer) in waiting {
            if !attached.copy(buffer, tick, &mut self.record, &mut self.torn)? {
                continue;
            }
            // A simulator may begin to count anywhere.
            if self.follows {
                let between = i64::from(tick) - i64::from(self.last.unwrap_or(0)) - 1;
                self.missed += u64::try_from(between).unwrap_or(0);
            }
            self.follows = true;
            self.last = Some(tick);
            taken += 1;
            take(Event::Tick {
                tick,
                bytes: &self.record,
            });
        }
        Ok(taken)
    }

    /// Whether a simulator without new ticks is one still.
    fn is_still_there(&mut self) -> State {
        let silence = self.heard.elapsed();
        if silence > GONE {
            return self.lose();
        }
        if silence > STALLED && !self.look_again() {
            return self.lose();
        }
        State::Live { is_new: false }
    }
}

impl Attached {
    /// Lets go of the memory, which is there for as long as somebody holds it,
    /// and opens it again; `None` if nobody else holds it, or the simulator says
    /// that it has ended. What changed in it is seen later.
    fn reopen(self, place: &MapPlace) -> Option<Attached> {
        drop(self.region);
        let region = Region::open(place).ok()?;
        let has_ended =
            read_header(&region).is_ok_and(|header| header.version != 0 && !header.is_connected());
        (!has_ended).then_some(Attached { region, ..self })
    }

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
                return Err(has_changed());
            }
            let now = header.buffers[number];
            if now.tick != tick {
                break;
            }
            let is_whole = match now.begun {
                // Older simulators do not say when they begin to write, but they
                // take the buffer with the oldest tick.
                0 => {
                    let newer = header.buffers_in_use().filter(|other| other.tick > tick);
                    newer.count() + 2 <= header.buffers_in_use().count().max(2)
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

fn has_changed() -> Problem {
    Problem::Senseless("its structure has changed".into())
}

pub(super) fn read_header(region: &Region) -> io::Result<Header> {
    let mut bytes = [0; HEADER_LENGTH];
    region.read(0, &mut bytes)?;
    Ok(Header::parse(&bytes))
}

/// The largest tick count.
fn newest(header: &Header) -> i32 {
    header
        .buffers_in_use()
        .map(|buffer| buffer.tick)
        .max()
        .unwrap_or(0)
}

/// Whether all buffers hold ticks from before those that were the newest, or
/// none, so that the simulator counts anew.
fn began_anew(header: &Header, last: i32) -> bool {
    let newest = newest(header);
    newest < last.saturating_sub(header.buffer_count) || newest == 0 && last > 0
}

/// The tick before the first of those that are there in a row up to the newest,
/// or up from the one at which the memory was found. A buffer that never held
/// anything has 0.
fn before_first(header: &Header, found_at: i32) -> i32 {
    let mut ticks: Vec<i32> = header.buffers_in_use().map(|buffer| buffer.tick).collect();
    ticks.sort_unstable_by(|one, other| other.cmp(one));
    let mut first = newest(header);
    for tick in ticks {
        if tick == first.saturating_sub(1) && tick > 0 {
            first = tick;
        }
    }
    let is_there = header
        .buffers_in_use()
        .any(|buffer| buffer.tick == found_at);
    if found_at > 0 && is_there {
        first = first.min(found_at);
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

/// The session string, and its count of changes. The simulator changes the one
/// before the other, so that two copies must be alike; if it changes on and on,
/// the count is one that has passed, and it is read again.
fn read_session(region: &Region, header: &Header) -> Result<(Vec<u8>, i32), Problem> {
    let mut text = vec![0; room(header, region.length())];
    if text.is_empty() {
        return Ok((text, header.session_update));
    }
    let mut before = header.session_update;
    let mut label = before;
    region.read(header.session_offset as usize, &mut text)?;
    let mut again = vec![0; text.len()];
    for _ in 0..ATTEMPTS {
        region.read(header.session_offset as usize, &mut again)?;
        let after = read_header(region)?.session_update;
        label = before;
        if after == before && again == text {
            break;
        }
        before = after;
        std::mem::swap(&mut text, &mut again);
    }
    text.truncate(until_nul(&text).len());
    text.shrink_to_fit();
    Ok((text, label))
}

/// Checks that every buffer lies inside of the memory, behind the header.
fn check_buffers(header: &Header, length: usize) -> Result<(), Problem> {
    let record = usize::try_from(header.record_length).unwrap_or(usize::MAX);
    for (number, buffer) in header.buffers_in_use().enumerate() {
        let start = usize::try_from(buffer.offset).unwrap_or(usize::MAX);
        if start < HEADER_LENGTH || start.saturating_add(record) > length {
            let at = Buffer::place(number) + 4;
            return Err(Problem::Senseless(format!(
                "offset {at}: bufOffset of buffer {number} is {} and bufLen {}, but there are only \
                 {length} bytes",
                buffer.offset, header.record_length
            )));
        }
    }
    Ok(())
}

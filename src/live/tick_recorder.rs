//! A recording of a running simulator: a thread that follows its memory and
//! passes ticks on, one that writes, and a clock that says when it is over.
//! Between the two lies a bounded queue. Ticks that get lost are counted.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::feed::TickEncoding;
use super::files::{FileOptions, Files, TICK, TickContent, TickRecord, TickStart, Written};
use super::forward::ForwardReport;
use super::irsdk::{Event, MapPlace, Problem, Reader, State};
use super::priority;
use super::stop::{Progress, StopReason, StopRules};
use super::tick_forward::TickForwards;
use crate::clock::now;
use crate::formats::iracing::Session;
use crate::lock::lock;

/// What may wait to be written: a minute of a simulator's ticks.
const QUEUE: usize = 4_096;
const QUEUE_BYTES: u64 = 64 << 20;
/// How often a session string is looked into.
const TITLE_INTERVAL: Duration = Duration::from_secs(1);

/// What to record, and where to.
#[derive(Debug, Clone)]
pub struct TickRecordOptions {
    pub place: MapPlace,
    pub files: FileOptions,
    pub rules: StopRules,
    /// How long to wait for the simulator; for ever if absent.
    pub wait: Option<Duration>,
    /// Whether to wait for the next simulator when one has gone.
    pub follow: bool,
    /// Where each tick is passed on to.
    pub forwards: Vec<SocketAddr>,
    /// As what.
    pub encoding: TickEncoding,
}

/// What a recording has come to, at its end or so far.
#[derive(Debug)]
pub struct TickReport {
    /// Since the first tick.
    pub elapsed: Duration,
    /// Ticks that were read.
    pub received: u64,
    /// Ticks in the files.
    pub ticks: u64,
    /// Of their records.
    pub tick_bytes: u64,
    /// Of all files, those of a ring that are gone included.
    pub file_bytes: u64,
    /// Files begun.
    pub files: u64,
    /// The file that is written to, or was last, if there was any.
    pub path: Option<PathBuf>,
    /// Ticks that were published but not read in time.
    pub missed: u64,
    /// Ticks that were read, but found no room to wait.
    pub dropped_in_queue: u64,
    /// Ticks that were being overwritten when they were read; they are among
    /// those missed.
    pub torn: u64,
    /// Session strings.
    pub sessions: u64,
    /// Simulators, or one several times.
    pub simulators: u64,
    /// Whether one is there now.
    pub is_connected: bool,
    /// Ticks a second, as it says itself.
    pub tick_rate: Option<i32>,
    /// Variables of a tick.
    pub variables: usize,
    /// Track and car, as far as they are known.
    pub title: Vec<String>,
    /// What is wrong with the memory that is there, while there is no simulator.
    pub problem: Option<String>,
    /// Why there is no simulator, if nothing is wrong.
    pub absence: Option<&'static str>,
    pub waiting: Duration,
    pub forwards: Vec<ForwardReport>,
    /// Why ticks are not passed on.
    pub forward_problem: Option<String>,
    /// Files of the ring that could not be removed.
    pub not_removed: Vec<String>,
    pub reason: Option<StopReason>,
    pub failure: Option<anyhow::Error>,
}

impl TickReport {
    /// Ticks that are known to be lost.
    pub fn lost(&self) -> u64 {
        self.missed + self.dropped_in_queue
    }
}

/// What goes from the reading thread to the writing one.
enum Message {
    Start(TickStart),
    Session {
        text: Vec<u8>,
        update: i32,
        time: i64,
    },
    Tick {
        tick: i32,
        time: i64,
        bytes: Vec<u8>,
    },
}

impl Message {
    fn bytes(&self) -> u64 {
        let bytes = match self {
            Message::Start(start) => start.session.len() + start.schema.headers().len(),
            Message::Session { text, .. } => text.len(),
            Message::Tick { bytes, .. } => bytes.len(),
        };
        bytes as u64
    }
}

/// What the threads know of each other.
struct Shared {
    progress: Progress,
    /// Whether no more is to be read.
    is_over: AtomicBool,
    /// Whether the writer has reached the largest size or failed.
    is_full: AtomicBool,
    /// Why it ends, if not for reasons of time.
    reason: Mutex<Option<StopReason>>,
    received: AtomicU64,
    missed: AtomicU64,
    torn: AtomicU64,
    /// What waits to be written.
    queued_bytes: AtomicU64,
    dropped_in_queue: AtomicU64,
    is_connected: AtomicBool,
    problem: Mutex<Option<Problem>>,
    forwards: TickForwards,
    written: Mutex<Written>,
    known: Mutex<Known>,
}

impl Shared {
    /// Queues a message; `false` if a tick finds no room. The others are never
    /// left out, but wait for it.
    fn queue(&self, messages: &SyncSender<Message>, message: Message) -> bool {
        let bytes = message.bytes();
        if matches!(message, Message::Tick { .. }) {
            let queued = self.queued_bytes.load(Ordering::Relaxed);
            if queued + bytes > QUEUE_BYTES {
                return false;
            }
            self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
            let is_queued = messages.try_send(message).is_ok();
            if !is_queued {
                self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
            return is_queued;
        }
        self.wait_for_room();
        self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        // The writer has ended, if it does not take it.
        messages.send(message).is_ok()
    }

    /// Waits until much of what is queued is written, unless nothing is any more.
    fn wait_for_room(&self) {
        while self.queued_bytes.load(Ordering::Relaxed) > QUEUE_BYTES
            && !self.is_full.load(Ordering::Acquire)
        {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// What the simulator says of itself.
#[derive(Debug, Clone, Default)]
struct Known {
    simulators: u64,
    tick_rate: Option<i32>,
    variables: usize,
    sessions: u64,
    title: Vec<String>,
}

/// A recording that is about to begin.
pub struct TickRecorder {
    options: TickRecordOptions,
}

impl TickRecorder {
    /// Checks what can be checked before there is a simulator.
    ///
    /// # Errors
    /// If the files could not be written.
    pub fn open(options: TickRecordOptions) -> anyhow::Result<TickRecorder> {
        Files::<TickContent>::check(&options.files)?;
        Ok(TickRecorder { options })
    }

    /// Records until a rule, the simulator or `interrupted` says that it is
    /// over. `watch` is told how it goes, several times a second.
    pub fn run(self, interrupted: &AtomicBool, mut watch: impl FnMut(&TickReport)) -> TickReport {
        let options = &self.options;
        let shared = Shared {
            progress: Progress::start(),
            is_over: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            reason: Mutex::new(None),
            received: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            torn: AtomicU64::new(0),
            queued_bytes: AtomicU64::new(0),
            dropped_in_queue: AtomicU64::new(0),
            is_connected: AtomicBool::new(false),
            problem: Mutex::new(None),
            forwards: TickForwards::new(&options.forwards, &options.encoding),
            written: Mutex::new(Written::default()),
            known: Mutex::new(Known::default()),
        };
        let report = || TickReport::new(&shared, options);
        let (messages, waiting) = sync_channel(QUEUE);
        let (reason, failure) = thread::scope(|scope| {
            let shared = &shared;
            let writer = scope.spawn(move || write(shared, &options.files, &waiting));
            scope.spawn(move || read(shared, options, &messages));
            let is_over = || match shared.is_full.load(Ordering::Acquire) {
                true => Some(StopReason::Size),
                false => *lock(&shared.reason),
            };
            let reason = shared
                .progress
                .wait(options.rules, interrupted, is_over, || watch(&report()));
            shared.is_over.store(true, Ordering::Release);
            match writer.join() {
                Ok(Ok(())) => (reason, None),
                Ok(Err(error)) => (StopReason::Failed, Some(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        TickReport {
            reason: Some(reason),
            failure,
            ..report()
        }
    }
}

/// Follows the simulator, passes ticks on, and queues them.
fn read(shared: &Shared, options: &TickRecordOptions, messages: &SyncSender<Message>) {
    priority::raise();
    let mut reader = Reader::new(options.place.clone());
    let mut forwarder = shared.forwards.forwarder();
    let ended = |reason| *lock(&shared.reason) = Some(reason);
    let mut absent_since = Instant::now();
    let mut has_begun = false;
    loop {
        // What is there when it ends is still taken.
        let is_last = shared.is_over.load(Ordering::Acquire);
        let state = reader.poll(&mut |event| match event {
            Event::Start(start) => {
                has_begun = true;
                forwarder.start(&start.schema.variables);
                shared.queue(messages, Message::Start(start));
            }
            Event::Session { text, update } => {
                let time = now();
                shared.queue(messages, Message::Session { text, update, time });
            }
            Event::Tick { tick, bytes } => {
                shared.progress.note();
                shared.received.fetch_add(1, Ordering::Relaxed);
                let message = Message::Tick {
                    tick,
                    time: now(),
                    bytes: bytes.to_vec(),
                };
                if !shared.queue(messages, message) {
                    shared.dropped_in_queue.fetch_add(1, Ordering::Relaxed);
                }
                forwarder.send(bytes);
            }
        });
        shared.missed.store(reader.missed(), Ordering::Relaxed);
        shared.torn.store(reader.torn(), Ordering::Relaxed);
        let is_live = matches!(state, State::Live { .. });
        shared.is_connected.store(is_live, Ordering::Relaxed);
        if is_last || shared.is_full.load(Ordering::Acquire) {
            return;
        }
        match state {
            State::Live { is_new } => {
                absent_since = Instant::now();
                *lock(&shared.problem) = None;
                if !is_new {
                    reader.wait();
                }
            }
            State::Waiting => {
                *lock(&shared.problem) = reader.problem().cloned();
                if options
                    .wait
                    .is_some_and(|wait| absent_since.elapsed() >= wait)
                {
                    return ended(match has_begun {
                        true => StopReason::Disconnected,
                        false => StopReason::Absent,
                    });
                }
                reader.wait();
            }
            State::Lost if !options.follow => return ended(StopReason::Disconnected),
            State::Lost => {}
        }
    }
}

/// Writes what is queued until nothing more can come.
fn write(
    shared: &Shared,
    options: &FileOptions,
    messages: &Receiver<Message>,
) -> anyhow::Result<()> {
    let mut writer = Writer {
        shared,
        options,
        files: None,
        start: None,
        is_titled: true,
        titled: Instant::now(),
    };
    let result = writer.run(messages);
    let is_full = !matches!(result, Ok(true));
    shared.is_full.store(is_full, Ordering::Release);
    let finished = match (&mut writer.files, &writer.start) {
        (Some(files), Some(start)) => files.finish(start, now()),
        _ => Ok(()),
    };
    writer.tell();
    result.and(finished)
}

/// Writes what the reading thread finds.
struct Writer<'a> {
    shared: &'a Shared,
    options: &'a FileOptions,
    files: Option<Files<TickContent>>,
    /// What the next file begins with.
    start: Option<TickStart>,
    /// Whether its session string was looked into, and when that was last.
    is_titled: bool,
    titled: Instant,
}

impl Writer<'_> {
    /// Writes until nothing more can come; `false` if there is no room for more.
    fn run(&mut self, messages: &Receiver<Message>) -> anyhow::Result<bool> {
        let mut ticked = Instant::now();
        loop {
            let message = messages.recv_timeout(TICK);
            if let Ok(message) = &message {
                let queued = &self.shared.queued_bytes;
                queued.fetch_sub(message.bytes(), Ordering::Relaxed);
            }
            match message {
                Ok(Message::Start(start)) => self.start(start)?,
                Ok(Message::Session { text, update, time }) => self.session(text, update, time),
                Ok(Message::Tick { tick, time, bytes }) => {
                    let record = TickRecord {
                        tick,
                        time,
                        bytes: &bytes,
                    };
                    if let (Some(files), Some(start)) = (&mut self.files, &self.start)
                        && !files.write(&record, start)?
                    {
                        return Ok(false);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(true),
            }
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                if let (Some(files), Some(start)) = (&mut self.files, &self.start) {
                    files.tick(start, now())?;
                }
                self.tell();
            }
        }
    }

    /// Begins a file; that of another simulator ends.
    fn start(&mut self, start: TickStart) -> anyhow::Result<()> {
        match (&mut self.files, &self.start) {
            (Some(files), Some(before)) => files.begin_another(before, &start, now())?,
            _ => self.files = Some(Files::create(self.options.clone(), &start, now())?),
        }
        self.tell();
        let mut known = lock(&self.shared.known);
        known.simulators += 1;
        known.tick_rate = Some(start.schema.tick_rate);
        known.variables = start.schema.variables.len();
        known.sessions += u64::from(!start.session.is_empty());
        known.title = title(&start.session);
        drop(known);
        self.start = Some(start);
        Ok(())
    }

    fn session(&mut self, text: Vec<u8>, update: i32, time: i64) {
        if let Some(files) = &mut self.files {
            files.change(|content| content.session(&text, update, time));
        }
        lock(&self.shared.known).sessions += 1;
        if let Some(start) = &mut self.start {
            start.session = text;
            start.session_update = update;
            self.is_titled = false;
        }
    }

    fn tell(&mut self) {
        if let Some(start) = self.start.as_ref().filter(|_| !self.is_titled)
            && self.titled.elapsed() > TITLE_INTERVAL
        {
            let title = title(&start.session);
            lock(&self.shared.known).title = title;
            self.is_titled = true;
            self.titled = Instant::now();
        }
        if let Some(files) = &self.files {
            lock(&self.shared.written).clone_from(&files.written);
        }
    }
}

/// Track and car of a session string.
fn title(session: &[u8]) -> Vec<String> {
    let session = Session::read(session);
    let track = session.root.get("WeekendInfo");
    let track = track.and_then(|info| info.get("TrackDisplayName")?.text());
    let drivers = session.root.get("DriverInfo");
    let car = drivers.and_then(|info| {
        let player = info.get("DriverCarIdx")?.text()?;
        let mut drivers = info.get("Drivers")?.items().iter();
        let driver = drivers
            .find(|driver| driver.get("CarIdx").and_then(|car| car.text()) == Some(player))?;
        driver.get("CarScreenName")?.text()
    });
    let parts = [track, car].into_iter().flatten();
    parts
        .map(String::from)
        .filter(|part| !part.is_empty())
        .collect()
}

impl TickReport {
    fn new(shared: &Shared, options: &TickRecordOptions) -> TickReport {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let written = lock(&shared.written).clone();
        let known = lock(&shared.known).clone();
        let problem = lock(&shared.problem).clone();
        TickReport {
            elapsed: shared.progress.since_first().unwrap_or_default(),
            received: load(&shared.received),
            ticks: written.records,
            tick_bytes: written.payload_bytes,
            file_bytes: written.bytes,
            files: written.files,
            path: written.path,
            missed: load(&shared.missed),
            dropped_in_queue: load(&shared.dropped_in_queue),
            torn: load(&shared.torn),
            sessions: known.sessions,
            simulators: known.simulators,
            is_connected: shared.is_connected.load(Ordering::Relaxed),
            tick_rate: known.tick_rate,
            variables: known.variables,
            title: known.title,
            problem: match &problem {
                Some(Problem::Senseless(what)) => Some(format!("{}: {what}", options.place)),
                _ => None,
            },
            absence: match problem {
                Some(Problem::Absent(why)) => Some(why),
                Some(Problem::StandsStill) => Some("its ticks stand still"),
                _ => None,
            },
            waiting: shared.progress.started.elapsed(),
            forwards: shared.forwards.report(),
            forward_problem: shared.forwards.problem(),
            not_removed: written.not_removed,
            reason: None,
            failure: None,
        }
    }
}

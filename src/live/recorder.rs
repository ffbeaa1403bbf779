//! A recording: a thread for each socket that receives and passes on, one that
//! writes, and a clock that says when it is over. Between them lies a bounded
//! queue. Everything that gets lost on the way is counted.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::files::{
    DatagramContent, DatagramContext, DatagramOptions, DatagramRecord, Drops, FileOptions, Files,
    Output, TICK, Written,
};
use super::forward::{ForwardCounts, ForwardReport, Forwarder};
use super::observe::{Observed, Observer};
use super::queue::{Batch, Queue};
use super::stop::{Progress, StopReason, StopRules, TELL};
use super::udp::{ListenAddress, ListenOptions, Listener, Receiver, Wait};
use crate::clock::{nanoseconds, now};
use crate::formats::Formats;
use crate::lock::lock;
use crate::pipe;

/// What may wait to be written: two minutes of a game's traffic.
const QUEUE_BYTES: usize = 64 << 20;
/// After the end, how long whoever reads a stream has for the rest.
const LAST_READ: Duration = Duration::from_secs(2);
/// After the end, how long what has already arrived may be taken.
const LAST_MOMENT: Duration = Duration::from_secs(1);
/// Before a socket that fails is asked again.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);
/// A clock that runs by so much more or less than time has been set.
const CLOCK_STEP: i64 = 100_000_000;

/// What to record, and where to.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    pub addresses: Vec<ListenAddress>,
    pub listen: ListenOptions,
    /// Where each datagram is passed on to.
    pub forwards: Vec<SocketAddr>,
    pub files: FileOptions,
    pub datagrams: DatagramOptions,
    pub rules: StopRules,
    /// What to recognise.
    pub formats: Formats,
}

/// What a recording has come to, at its end or so far.
#[derive(Debug)]
pub struct Report {
    pub elapsed: Duration,
    /// Datagrams in the files.
    pub datagrams: u64,
    /// Of their payload.
    pub payload_bytes: u64,
    /// Of all files, those of a ring that are gone included.
    pub file_bytes: u64,
    /// Files begun.
    pub files: u64,
    /// The file that is written to, or was last; none for standard output.
    pub path: Option<PathBuf>,
    pub listeners: Vec<ListenerReport>,
    pub forwards: Vec<ForwardReport>,
    pub observed: Observed,
    /// Datagrams that arrived after all, but too late for a file that was full,
    /// closed or failed.
    pub unrecorded: u64,
    /// By how many nanoseconds the system's clock was set meanwhile.
    pub clock_set_by: i64,
    /// Whether time stamps are those of the kernel.
    pub kernel_time: bool,
    /// Files of the ring that could not be removed.
    pub not_removed: Vec<String>,
    pub reason: Option<StopReason>,
    pub failure: Option<anyhow::Error>,
}

/// What one socket has received.
#[derive(Debug, Clone)]
pub struct ListenerReport {
    pub address: ListenAddress,
    /// Bytes that the system holds for it.
    pub buffer: usize,
    pub received: u64,
    /// `None` if the system does not count.
    pub dropped_by_system: Option<u64>,
    /// Received, but there was no room to keep them until they were written.
    pub dropped_in_queue: u64,
    /// Datagrams that were passed on and came back.
    pub echoes: u64,
    /// The last error of the socket.
    pub error: Option<String>,
}

impl Report {
    /// Datagrams that are known to be lost.
    pub fn dropped(&self) -> u64 {
        let dropped = self
            .listeners
            .iter()
            .map(|listener| listener.dropped_by_system.unwrap_or(0) + listener.dropped_in_queue);
        dropped.sum()
    }
}

/// A recording that is about to begin: its sockets are bound already.
pub struct Recorder {
    options: RecordOptions,
    listeners: Vec<Listener>,
    receivers: Vec<Receiver>,
    interfaces: Vec<String>,
    files: Files<DatagramContent>,
}

/// What one thread that receives says of itself.
struct Counts {
    received: AtomicU64,
    dropped_by_system: AtomicU64,
    dropped_in_queue: AtomicU64,
    /// Datagrams that we have passed on and that came back.
    echoes: AtomicU64,
    /// All that was stamped before this moment is in the queue.
    until: AtomicI64,
    error: Mutex<Option<String>>,
}

impl Counts {
    fn new() -> Counts {
        Counts {
            received: AtomicU64::new(0),
            dropped_by_system: AtomicU64::new(0),
            dropped_in_queue: AtomicU64::new(0),
            echoes: AtomicU64::new(0),
            until: AtomicI64::new(i64::MIN),
            error: Mutex::new(None),
        }
    }
}

/// What all threads know of each other.
struct Shared {
    progress: Progress,
    /// The moment of the end, or `i64::MAX`.
    end: AtomicI64,
    datagrams: DatagramOptions,
    /// Names of the listeners.
    interfaces: Vec<String>,
    counts: Vec<Counts>,
    forwards: Vec<ForwardCounts>,
    queue: Queue,
    observer: Mutex<Observer>,
    written: Mutex<Written>,
    /// Whether the writer has reached the largest size or failed.
    is_full: AtomicBool,
}

impl Shared {
    fn drops(&self) -> Vec<Drops> {
        let drops = self.counts.iter().map(|counts| Drops {
            by_system: counts.dropped_by_system.load(Ordering::Relaxed),
            later: counts.dropped_in_queue.load(Ordering::Relaxed),
        });
        drops.collect()
    }

    fn context<'a>(&'a self, drops: &'a [Drops]) -> DatagramContext<'a> {
        DatagramContext {
            options: &self.datagrams,
            interfaces: &self.interfaces,
            drops,
        }
    }
}

impl Recorder {
    /// Binds the sockets and begins the file.
    ///
    /// # Errors
    /// If an address cannot be had, what is passed on would come back, or the
    /// file cannot be written.
    pub fn open(options: RecordOptions) -> anyhow::Result<Recorder> {
        check_addresses(&options)?;
        let addresses = options.addresses.iter();
        let listeners = addresses
            .map(|address| Listener::open(*address, &options.listen))
            .collect::<anyhow::Result<Vec<_>>>()?;
        for target in &options.forwards {
            if let Some(listener) = listeners.iter().find(|listener| listener.hears(*target)) {
                bail!(
                    "--forward {target} would send everything back to this recording, which \
                     listens at {}: forward to another port, set in the other program",
                    listener.address
                );
            }
        }
        let receivers = listeners.iter().map(Listener::receiver);
        let receivers = receivers.collect::<Result<Vec<_>, _>>()?;
        let names = listeners
            .iter()
            .map(|listener| listener.address.to_string());
        let interfaces: Vec<String> = names.collect();
        let context = DatagramContext {
            options: &options.datagrams,
            interfaces: &interfaces,
            drops: &vec![Drops::default(); interfaces.len()],
        };
        let files = Files::create(options.files.clone(), context, now())?;
        Ok(Recorder {
            options,
            listeners,
            receivers,
            interfaces,
            files,
        })
    }

    pub fn listeners(&self) -> &[Listener] {
        &self.listeners
    }

    /// The file that is written to first; none for standard output.
    pub fn path(&self) -> Option<PathBuf> {
        self.files.written.path.clone()
    }

    /// Records until a rule or `interrupted` says that it is over. `watch` is
    /// told how it goes, several times a second.
    pub fn run(self, interrupted: &AtomicBool, mut watch: impl FnMut(&Report)) -> Report {
        let Recorder {
            options,
            listeners,
            receivers,
            interfaces,
            mut files,
        } = self;
        let shared = Shared {
            progress: Progress::start(),
            end: AtomicI64::new(i64::MAX),
            datagrams: options.datagrams.clone(),
            interfaces,
            counts: listeners.iter().map(|_| Counts::new()).collect(),
            forwards: options
                .forwards
                .iter()
                .map(|_| ForwardCounts::default())
                .collect(),
            queue: Queue::new(QUEUE_BYTES, listeners.len()),
            observer: Mutex::new(Observer::new(options.formats.clone())),
            written: Mutex::new(files.written.clone()),
            is_full: AtomicBool::new(false),
        };
        let is_stream = matches!(options.files.output, Output::Stdout);
        let abandoned = files.abandoned.clone();
        let mut clock = Clock::new();
        let report = |clock: &mut Clock| Report::new(&shared, &listeners, &options, clock);
        let (reason, failure) = thread::scope(|scope| {
            let writer = scope.spawn(|| write(&shared, &mut files));
            for (number, receiver) in receivers.into_iter().enumerate() {
                let (shared, targets) = (&shared, &options.forwards);
                scope.spawn(move || receive(shared, number, receiver, targets));
            }
            let is_full = || shared.is_full.load(Ordering::Acquire);
            let is_over = || is_full().then_some(StopReason::Size);
            let tell = || watch(&report(&mut clock));
            let progress = &shared.progress;
            let reason = progress.wait(options.rules, interrupted, is_over, tell);
            shared.end.store(now(), Ordering::Release);
            // Whoever reads a stream may have stopped without closing it.
            let ended = Instant::now();
            while is_stream && !writer.is_finished() && ended.elapsed() < LAST_READ {
                thread::sleep(TICK / 5);
            }
            abandoned.store(true, Ordering::Release);
            match writer.join() {
                Ok(Ok(())) => (reason, None),
                Ok(Err(error)) if is_stream && pipe::is_closed(&error) => {
                    (StopReason::Closed, None)
                }
                Ok(Err(error)) => (StopReason::Failed, Some(error)),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        let done = report(&mut clock);
        let queued: u64 = done
            .listeners
            .iter()
            .map(|l| l.received - l.dropped_in_queue)
            .sum();
        Report {
            unrecorded: queued.saturating_sub(done.datagrams),
            reason: Some(reason),
            failure,
            ..done
        }
    }
}

/// Catches what no system could do, before it says so in its own words.
fn check_addresses(options: &RecordOptions) -> anyhow::Result<()> {
    let addresses = &options.addresses;
    for (number, address) in addresses.iter().enumerate() {
        let same_port =
            |other: &&ListenAddress| other.port() == address.port() && address.port() > 0;
        let covers = |other: &&ListenAddress| match (address, other) {
            (ListenAddress::One(one), ListenAddress::One(other)) => {
                one.is_ipv4() == other.is_ipv4()
                    && (one.ip() == other.ip()
                        || one.ip().is_unspecified()
                        || other.ip().is_unspecified())
            }
            _ => true,
        };
        if let Some(other) = addresses[..number]
            .iter()
            .find(|a| same_port(a) && covers(a))
        {
            bail!("{other} and {address} are the same port twice: --listen one of them");
        }
    }
    for group in &options.listen.groups {
        if !addresses.iter().any(|address| group.fits(*address)) {
            bail!(
                "--multicast {group} reaches none of the addresses that are listened at: listen at \
                 the port alone, or at all addresses of the group's family"
            );
        }
    }
    if let Some(target) = options.forwards.iter().find(|target| target.port() == 0) {
        bail!("--forward {target} has no port");
    }
    Ok(())
}

/// Takes what arrives at one socket, passes it on, and queues it.
fn receive(shared: &Shared, number: usize, mut receiver: Receiver, targets: &[SocketAddr]) {
    let counts = &shared.counts[number];
    let targets = targets.iter().zip(&shared.forwards);
    let mut forwarders: Vec<Forwarder<'_>> = targets
        .map(|(target, counts)| Forwarder::new(*target, counts))
        .collect();
    let mut lost = 0;
    let mut newest = i64::MIN;
    let mut counted = Instant::now();
    let mut over_since = None;
    loop {
        let end = shared.end.load(Ordering::Acquire);
        let is_over = end != i64::MAX;
        let wait = match is_over {
            true => Wait::Not,
            false => Wait::Patiently,
        };
        let mut is_past_end = false;
        let result = receiver.receive(wait, |received| {
            lost += received.lost_before;
            if Receiver::KERNEL_TIME && received.time > end {
                is_past_end = true;
                return;
            }
            // What we have passed on must not go round for ever.
            if forwarders
                .iter()
                .any(|forwarder| forwarder.source() == Some(received.source))
            {
                counts.echoes.fetch_add(1, Ordering::Relaxed);
            } else {
                for forwarder in &mut forwarders {
                    forwarder.send(received.payload);
                }
            }
            counts.received.fetch_add(1, Ordering::Relaxed);
            newest = newest.max(received.time);
            match shared.queue.push(number, &received, newest, lost) {
                true => lost = 0,
                false => {
                    lost += 1;
                    counts.dropped_in_queue.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let is_empty = match result {
            Ok(taken) if taken.count == 0 => {
                newest = newest.max(taken.until);
                true
            }
            Ok(taken) => {
                newest = newest.max(taken.until);
                shared.progress.note();
                false
            }
            Err(error) => {
                // Others need not wait for it.
                newest = newest.max(now());
                *lock(&counts.error) = Some(error.to_string());
                thread::sleep(PAUSE_AFTER_ERROR);
                true
            }
        };
        counts.until.store(newest, Ordering::Release);
        let over_since = match is_over {
            true => *over_since.get_or_insert_with(Instant::now),
            false => Instant::now(),
        };
        let is_full = shared.is_full.load(Ordering::Acquire);
        let is_last =
            is_full || is_over && (is_empty || is_past_end || over_since.elapsed() > LAST_MOMENT);
        if (is_empty || is_last || counted.elapsed() >= TELL)
            && let Some(drops) = receiver.drops()
        {
            counted = Instant::now();
            counts.dropped_by_system.store(drops, Ordering::Relaxed);
        }
        if is_last {
            break;
        }
    }
    shared.queue.close();
}

/// Writes what is queued until nothing more can come.
fn write(shared: &Shared, files: &mut Files<DatagramContent>) -> anyhow::Result<()> {
    let mut sorter = Sorter::new(shared.counts.len());
    let mut batch = Batch::default();
    let mut result = Ok(());
    loop {
        // Asked before the queue, so that all until then is in what it gives.
        let until = shared
            .counts
            .iter()
            .map(|counts| counts.until.load(Ordering::Acquire))
            .min();
        let more = shared.queue.take(&mut batch, TICK);
        let until = until.filter(|_| more).unwrap_or(i64::MAX);
        if shared.is_full.load(Ordering::Relaxed) {
            // What still comes has no place any more.
            batch.clear();
        } else {
            let ready = sorter.sort(&mut batch, until);
            let is_full = match write_batch(shared, files, ready) {
                Ok(has_room) => !has_room,
                Err(error) => {
                    result = Err(error);
                    true
                }
            };
            shared.is_full.store(is_full, Ordering::Release);
        }
        lock(&shared.written).clone_from(&files.written);
        if !more {
            break;
        }
    }
    let drops = shared.drops();
    let finished = files.finish(shared.context(&drops), now());
    lock(&shared.written).clone_from(&files.written);
    result.and(finished)
}

/// Writes a batch; `false` if the recording has reached its largest size.
fn write_batch(
    shared: &Shared,
    files: &mut Files<DatagramContent>,
    batch: &mut Batch,
) -> anyhow::Result<bool> {
    let drops = shared.drops();
    let context = shared.context(&drops);
    let mut written = 0;
    for head in &batch.heads {
        let record = DatagramRecord {
            head,
            payload: batch.payload(head),
        };
        if !files.write(&record, context)? {
            break;
        }
        written += 1;
    }
    let mut observer = lock(&shared.observer);
    for head in &batch.heads[..written] {
        let port = head.destination.port();
        observer.see(head.source, port, head.time, batch.payload(head));
    }
    drop(observer);
    let has_room = written == batch.heads.len();
    batch.clear();
    files.tick(context, now())?;
    Ok(has_room)
}

/// Brings what several sockets have received into the order of its time
/// stamps: what is newer than what all of them have taken waits.
struct Sorter {
    is_needed: bool,
    waiting: Batch,
    ready: Batch,
}

impl Sorter {
    fn new(sockets: usize) -> Sorter {
        Sorter {
            is_needed: sockets > 1,
            waiting: Batch::default(),
            ready: Batch::default(),
        }
    }

    /// Takes over `batch`, and returns what can be written: all that came until
    /// this moment.
    fn sort<'a>(&'a mut self, batch: &'a mut Batch, until: i64) -> &'a mut Batch {
        if !self.is_needed {
            return batch;
        }
        std::mem::swap(&mut self.ready, &mut self.waiting);
        self.ready.append(batch);
        self.ready.heads.sort_by_key(|head| head.order);
        let heads = &self.ready.heads;
        let ready = heads.partition_point(|head| head.order <= until);
        self.waiting = self.ready.split_off(ready);
        &mut self.ready
    }
}

/// The system's clock beside the one that nobody can set.
struct Clock {
    started: Instant,
    wall: i64,
    set_by: i64,
}

impl Clock {
    fn new() -> Clock {
        Clock {
            started: Instant::now(),
            wall: now(),
            set_by: 0,
        }
    }

    /// By how much the clock was set since the start.
    fn set_by(&mut self) -> i64 {
        let elapsed = i64::try_from(nanoseconds(self.started.elapsed())).unwrap_or(i64::MAX);
        let wall = now();
        let drift = (wall - self.wall).saturating_sub(elapsed);
        // Slow corrections are no steps.
        if drift.abs() >= CLOCK_STEP {
            self.set_by += drift;
        }
        self.started = Instant::now();
        self.wall = wall;
        self.set_by
    }
}

impl Report {
    fn new(
        shared: &Shared,
        listeners: &[Listener],
        options: &RecordOptions,
        clock: &mut Clock,
    ) -> Report {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let written = lock(&shared.written).clone();
        let listeners = listeners.iter().zip(&shared.counts);
        let forwards = options.forwards.iter().zip(&shared.forwards);
        Report {
            elapsed: shared.progress.started.elapsed(),
            datagrams: written.records,
            payload_bytes: written.payload_bytes,
            file_bytes: written.bytes,
            files: written.files,
            path: written.path,
            listeners: listeners
                .map(|(listener, counts)| ListenerReport {
                    address: listener.address,
                    buffer: listener.buffer,
                    received: load(&counts.received),
                    dropped_by_system: Receiver::KERNEL_TIME
                        .then(|| load(&counts.dropped_by_system)),
                    dropped_in_queue: load(&counts.dropped_in_queue),
                    echoes: load(&counts.echoes),
                    error: lock(&counts.error).clone(),
                })
                .collect(),
            forwards: forwards
                .map(|(target, counts)| counts.report(*target))
                .collect(),
            observed: lock(&shared.observer).observed(),
            unrecorded: 0,
            clock_set_by: clock.set_by(),
            kernel_time: Receiver::KERNEL_TIME,
            not_removed: written.not_removed,
            reason: None,
            failure: None,
        }
    }
}

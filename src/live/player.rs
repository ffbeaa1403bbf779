//! A replay: one thread reads ahead, another waits for each datagram's moment
//! and sends it, and measures how late it was.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use hdrhistogram::Histogram;

use super::control::{Control, Wish};
use super::feed::{Chunk, Feed, FeedCounts, FeedOptions, FeedReport};
use super::irsdk::MapPlace;
use super::pace::{Clock, Pacer, Speed, Spin, SystemClock};
use super::send::{SendOptions, Sender, Target, TargetCounts};
use super::simulator::{ARRIVAL, Simulator, SimulatorReport};
use crate::capture::Input;
use crate::clock::{nanoseconds, now};
use crate::lock::lock;

/// What is read ahead, in chunks.
const READ_AHEAD: usize = 64;
/// Datagrams that are sent together at most.
const BURST: usize = 64;
/// How often those who watch are told.
const TELL: Duration = Duration::from_millis(50);
/// How long after the last datagram an answer may come that nobody listens.
const LAST_ANSWER: Duration = Duration::from_millis(20);
/// A silence that those who watch may want to know of, in nanoseconds.
const LONG_SILENCE: u64 = 10_000_000_000;
/// The longest lateness that is told apart: an hour.
const LONGEST_LATENESS: u64 = 3_600_000_000_000;

/// What to replay, and how.
#[derive(Debug, Clone)]
pub struct PlayOptions {
    pub feed: FeedOptions,
    pub send: SendOptions,
    /// Where ticks are published as a simulator's.
    pub map: Option<MapPlace>,
    pub speed: Speed,
    pub spin: Spin,
    /// When to begin, in nanoseconds since 1970; at once if absent.
    pub start_at: Option<i64>,
    /// Whether it is a failure that nobody listens.
    pub require_listener: bool,
}

/// What a replay has come to, at its end or so far.
#[derive(Debug, Clone)]
pub struct PlayReport {
    pub elapsed: Duration,
    /// Datagrams sent, each counted once however many targets it went to.
    pub datagrams: u64,
    /// Of their payload.
    pub bytes: u64,
    /// Where in the capture the last one lies, counted from the first.
    pub position: Duration,
    /// Bytes of the file that were read, where that is known.
    pub read: u64,
    /// `None` without any wait.
    pub lateness: Option<Lateness>,
    /// How long it is to the next datagram, if that is long.
    pub silence: Option<Duration>,
    pub targets: Vec<(Target, TargetCounts)>,
    /// Where ticks were published, and how many.
    pub simulator: Option<(MapPlace, SimulatorReport)>,
    pub feed: FeedReport,
    /// Whether it was ended before its time.
    pub is_interrupted: bool,
}

/// How late datagrams were sent, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lateness {
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
    /// That of the last one.
    pub last: u64,
}

/// A replay that is about to begin: file and sockets are open already.
pub struct Player {
    options: PlayOptions,
    feed: Feed,
    input: Input,
    outlets: Outlets,
    size: Option<u64>,
}

/// Where everything goes to.
struct Outlets {
    sender: Sender,
    simulator: Option<Simulator>,
}

struct Stats {
    datagrams: u64,
    bytes: u64,
    position: u64,
    read: u64,
    /// `None` without any wait.
    lateness: Option<Histogram<u64>>,
    last: u64,
    targets: Vec<TargetCounts>,
    simulator: Option<SimulatorReport>,
    started: Option<Instant>,
    /// How long it took, once it is over.
    elapsed: Option<Duration>,
    counts: FeedCounts,
    /// When a long silence ends.
    silent_until: Option<Instant>,
}

impl Player {
    /// Opens the file and the sockets.
    ///
    /// # Errors
    /// If the file cannot be read or sent, or a target not be reached.
    pub fn open(options: PlayOptions) -> anyhow::Result<Player> {
        let feed = Feed::new(options.feed.clone());
        let input = feed.open()?;
        let size = match &input {
            Input::Datagrams(capture) => capture.size(),
            Input::Ticks(ticks) => ticks.size(),
        };
        if matches!(input, Input::Ticks(_))
            && let Some(target) = options
                .send
                .targets
                .iter()
                .find(|target| !target.has_port())
        {
            bail!("ticks were never sent to a port: --to {target} needs one, as in {target}:20777");
        }
        let simulator = match (&options.map, &input) {
            (Some(place), Input::Ticks(ticks)) => {
                Some(Simulator::open(place, ticks, &options.feed.path)?)
            }
            _ => None,
        };
        Ok(Player {
            outlets: Outlets {
                sender: Sender::open(options.send.clone())?,
                simulator,
            },
            options,
            feed,
            input,
            size,
        })
    }

    /// Size of the file, where that is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Replays to the end, or until `control` says so; `watch` can ask how it
    /// goes, many times a second.
    ///
    /// # Errors
    /// If the file cannot be read any more, a target not be reached, or nobody
    /// listens though somebody must. The report tells how far it came.
    pub fn run(
        self,
        control: &Control,
        mut watch: impl FnMut(&dyn Fn() -> PlayReport),
    ) -> (PlayReport, anyhow::Result<()>) {
        let Player {
            options,
            mut feed,
            input,
            mut outlets,
            ..
        } = self;
        let histogram = match options.speed {
            Speed::Max => None,
            // Its bounds are right.
            Speed::Times(_) => Histogram::new_with_bounds(1, LONGEST_LATENESS, 3).ok(),
        };
        let stats = Mutex::new(Stats {
            datagrams: 0,
            bytes: 0,
            position: 0,
            read: 0,
            lateness: histogram,
            last: 0,
            targets: outlets.sender.counts.clone(),
            simulator: outlets.simulator.as_ref().map(Simulator::report),
            started: None,
            elapsed: None,
            counts: FeedCounts::default(),
            silent_until: None,
        });
        let is_over = AtomicBool::new(false);
        let report = || PlayReport::new(&stats, &options);
        let (chunks, waiting) = sync_channel::<Chunk>(READ_AHEAD);
        let is_stream = feed.is_stream;
        let reader = thread::spawn(move || {
            // What is sent no more need not be read.
            let result = feed.run(input, &mut |chunk| chunks.send(chunk).is_ok());
            (feed.report, result)
        });
        let result = thread::scope(|scope| {
            let watcher = thread::current();
            let (options, outlets, stats) = (&options, &mut outlets, &stats);
            let is_over = &is_over;
            let player = scope.spawn(move || {
                let result = play(options, control, waiting, outlets, stats);
                let mut stats = lock(stats);
                stats.targets.clone_from(&outlets.sender.counts);
                is_over.store(true, Ordering::Release);
                watcher.unpark();
                result
            });
            while !is_over.load(Ordering::Acquire) && !player.is_finished() {
                thread::park_timeout(TELL);
                watch(&report);
            }
            player
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let mut done = report();
        done.is_interrupted = matches!(result, Ok(false));
        let is_whole = matches!(result, Ok(true));
        let mut result = result.map(|_| ());
        // A stream may never say anything more.
        if is_whole || !is_stream {
            let (read, read_result) = reader
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let counts = done.feed.counts;
            done.feed = read;
            if !is_whole {
                done.feed.counts = counts;
            }
            result = result.and(read_result);
        }
        (done, result)
    }
}

/// Sends everything that comes, each at its moment. `false` if it was stopped.
fn play(
    options: &PlayOptions,
    control: &Control,
    chunks: Receiver<Chunk>,
    outlets: &mut Outlets,
    stats: &Mutex<Stats>,
) -> anyhow::Result<bool> {
    let Outlets { sender, simulator } = outlets;
    // The clock starts when there is something to send.
    let first = next_chunk(&chunks, control);
    let clock = SystemClock::new();
    let mut start = options.start_at.unwrap_or(0);
    let first_item = first.as_ref().and_then(|chunk| chunk.items.first());
    if let Some((simulator, item)) = simulator.as_mut().zip(first_item) {
        let arrival = nanoseconds(ARRIVAL) as i64;
        start = start.max(now().saturating_add(arrival));
        if !wait_for(&clock, start.saturating_sub(arrival), control) {
            return Ok(false);
        }
        simulator.arrive(item.record);
    }
    if !wait_for(&clock, start, control) {
        return Ok(false);
    }
    let started = Instant::now();
    lock(stats).started = Some(started);
    let mut pacer = Pacer::start(clock, options.speed, options.spin);
    let spacing = simulator
        .as_ref()
        .map_or(0, |simulator| simulator.spacing(options.speed));
    let most = match simulator {
        Some(_) => 1,
        None => BURST,
    };
    let mut earliest = 0;
    let mut next = first;
    while let Some(chunk) = next {
        let mut at = 0;
        while let Some(first) = chunk.items.get(at) {
            let early = pacer.due(first.position).saturating_sub(pacer.now());
            if early > LONG_SILENCE {
                lock(stats).silent_until = Some(Instant::now() + Duration::from_nanos(early));
            }
            if !pacer.wait(first.position, control) {
                return Ok(false);
            }
            if early > LONG_SILENCE {
                lock(stats).silent_until = None;
            }
            pacer.hold_until(earliest);
            let moment = pacer.now();
            earliest = moment + spacing;
            let rest = chunk.items[at..].iter().take(most);
            let due = rest
                .take_while(|item| pacer.due(item.position) <= moment)
                .count();
            // A step is one datagram.
            let due = match control.is_paused() {
                true => 1,
                false => due.max(1),
            };
            if let Some(simulator) = simulator {
                let items = &chunk.items[at..at + due];
                items.iter().for_each(|item| simulator.publish(item.record));
            }
            sender.send(&chunk, at..at + due)?;
            let each = (pacer.now() - moment) / due as u64;
            let mut stats = lock(stats);
            for (number, item) in (0..).zip(&chunk.items[at..at + due]) {
                stats.datagrams += 1;
                stats.bytes += chunk.payload(item).len() as u64;
                stats.position = item.position;
                // Those of a burst go one after the other.
                let moment = moment + number * each;
                stats.last = moment.saturating_sub(pacer.due(item.position));
                let late = stats.last;
                if let Some(lateness) = &mut stats.lateness {
                    lateness.saturating_record(late);
                }
            }
            stats.read = chunk.read;
            stats.counts = chunk.counts;
            stats.targets.clone_from(&sender.counts);
            stats.simulator = simulator.as_ref().map(Simulator::report);
            drop(stats);
            if options.require_listener {
                check_listeners(options, sender)?;
            }
            at += due;
        }
        lock(stats).counts = chunk.counts;
        next = next_chunk(&chunks, control);
    }
    if control.wish() == Wish::Stop {
        return Ok(false);
    }
    lock(stats).elapsed = Some(started.elapsed());
    if let Some(simulator) = simulator {
        simulator.depart();
    }
    if options.require_listener {
        thread::sleep(LAST_ANSWER);
    }
    sender.take_answers();
    if options.require_listener {
        check_listeners(options, sender)?;
    }
    Ok(true)
}

/// The next datagrams; none at the end, or if somebody wants it to end.
fn next_chunk(chunks: &Receiver<Chunk>, control: &Control) -> Option<Chunk> {
    loop {
        match chunks.recv_timeout(TELL) {
            Ok(chunk) => return Some(chunk),
            Err(RecvTimeoutError::Timeout) if control.wish() != Wish::Stop => {}
            Err(_) => return None,
        }
    }
}

fn check_listeners(options: &PlayOptions, sender: &Sender) -> anyhow::Result<()> {
    let targets = options.send.targets.iter().zip(&sender.counts);
    for (target, counts) in targets {
        if counts.refused > 0 {
            return Err(anyhow!("nobody listens at {target} (--require-listener)"));
        }
        if counts.unreachable > 0 {
            let why = counts.error.as_deref().unwrap_or("it cannot be reached");
            return Err(anyhow!(
                "nobody listens at {target} (--require-listener): {why}"
            ));
        }
    }
    Ok(())
}

/// Waits for a moment of the system's clock; `false` if that is not wanted any
/// more.
fn wait_for(clock: &impl Clock, moment: i64, control: &Control) -> bool {
    loop {
        let early = u64::try_from(moment.saturating_sub(now())).unwrap_or(0);
        if early == 0 {
            return true;
        }
        if control.wish() == Wish::Stop {
            return false;
        }
        clock.sleep_until(clock.now() + early.min(50_000_000));
    }
}

impl PlayReport {
    fn new(stats: &Mutex<Stats>, options: &PlayOptions) -> PlayReport {
        let stats = lock(stats);
        let lateness = stats.lateness.as_ref().map(|lateness| Lateness {
            p50: lateness.value_at_quantile(0.5),
            p90: lateness.value_at_quantile(0.9),
            p99: lateness.value_at_quantile(0.99),
            max: lateness.max(),
            last: stats.last,
        });
        let targets = options.send.targets.iter().copied();
        PlayReport {
            elapsed: stats.elapsed.unwrap_or_else(|| {
                let started = stats.started;
                started.map_or(Duration::ZERO, |started| started.elapsed())
            }),
            datagrams: stats.datagrams,
            bytes: stats.bytes,
            position: Duration::from_nanos(stats.position),
            read: stats.read,
            lateness,
            silence: stats
                .silent_until
                .map(|until| until.duration_since(Instant::now())),
            targets: targets.zip(stats.targets.iter().cloned()).collect(),
            simulator: options.map.clone().zip(stats.simulator),
            feed: FeedReport {
                counts: stats.counts,
                ..FeedReport::default()
            },
            is_interrupted: false,
        }
    }
}

//! A running simulator's memory: recorded, and made from a recording, over a
//! file. Every tick whole and none lost, whatever the simulator does.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fake_simulator;
use crate::recording::{Done, PATIENCE, Recording, signal_to};
use crate::support::{Workplace, project_path};

const SAMPLE: &[u8] = include_bytes!("../../samples/iracing.ibt");

fn word(bytes: &[u8], offset: usize) -> i32 {
    i32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

fn sample_path() -> String {
    project_path("samples/iracing.ibt").display().to_string()
}

/// What an `.ibt` consists of.
struct Ibt {
    bytes: Vec<u8>,
}

impl Ibt {
    fn read(path: &Path) -> Ibt {
        let bytes = std::fs::read(path);
        Ibt {
            bytes: bytes.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        }
    }

    fn stated(&self) -> usize {
        word(&self.bytes, 140) as usize
    }

    fn records(&self) -> Vec<&[u8]> {
        let first = word(&self.bytes, 52) as usize;
        let length = word(&self.bytes, 36) as usize;
        self.bytes[first..].chunks_exact(length).collect()
    }

    fn session(&self) -> &[u8] {
        let (length, offset) = (word(&self.bytes, 16), word(&self.bytes, 20));
        &self.bytes[offset as usize..(offset + length) as usize]
    }

    fn headers(&self) -> &[u8] {
        let start = word(&self.bytes, 28) as usize;
        &self.bytes[start..start + 144 * word(&self.bytes, 24) as usize]
    }
}

/// A simulator's memory in a file, every byte of which a test can change. A tick
/// is two numbers, both of them its own.
struct Memory {
    file: File,
    path: PathBuf,
    tick: i32,
    update: i32,
    records: usize,
}

const SESSION_AT: usize = 112;
const SESSION_ROOM: usize = 4_096;
const VARIABLES_AT: usize = SESSION_AT + SESSION_ROOM;
const RECORD: usize = 12;

impl Memory {
    fn create(path: PathBuf) -> Memory {
        let mut memory = Memory {
            file: File::create(&path).expect("a file"),
            path,
            tick: 0,
            update: 1,
            records: VARIABLES_AT + 4 * 144,
        };
        memory.write(0, &[0; VARIABLES_AT + 4 * 144 + 3 * 64]);
        memory.describe(&[("SessionTime", 5), ("SessionTick", 2)]);
        memory.write(SESSION_AT, b"---\nWeekendInfo:\n TrackID: 1\n...\n");
        memory.connect(true);
        memory
    }

    fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.file
            .seek(SeekFrom::Start(offset as u64))
            .expect("a place");
        self.file.write_all(bytes).expect("written");
    }

    fn set(&mut self, offset: usize, value: i32) {
        self.write(offset, &value.to_le_bytes());
    }

    fn connect(&mut self, is_connected: bool) {
        self.set(4, i32::from(is_connected));
    }

    /// The header, for these variables.
    fn describe(&mut self, variables: &[(&str, i32)]) {
        let mut length = 0;
        for (number, (name, kind)) in variables.iter().enumerate() {
            let mut header = [0; 144];
            header[0..4].copy_from_slice(&kind.to_le_bytes());
            header[4..8].copy_from_slice(&i32::to_le_bytes(length));
            header[8] = 1;
            header[16..16 + name.len()].copy_from_slice(name.as_bytes());
            self.write(VARIABLES_AT + number * 144, &header);
            length += if *kind == 5 { 8 } else { 4 };
        }
        for (offset, value) in [
            (8, 60),
            (12, self.update),
            (16, SESSION_ROOM as i32),
            (20, SESSION_AT as i32),
            (24, variables.len() as i32),
            (28, VARIABLES_AT as i32),
            (32, 3),
            (36, length),
            (0, 2),
        ] {
            self.set(offset, value);
        }
        for buffer in 0..3 {
            self.set(48 + 16 * buffer + 4, (self.records + 64 * buffer) as i32);
        }
    }

    fn session(&mut self, text: &str) {
        self.write(SESSION_AT, text.as_bytes());
        self.write(SESSION_AT + text.len(), &[0]);
        self.update += 1;
        self.set(12, self.update);
    }

    fn publish(&mut self, tick: i32) {
        self.tick = tick;
        let buffer = tick as usize % 3;
        let at = 48 + 16 * buffer;
        self.set(at + 8, tick);
        let mut record = f64::from(tick).to_le_bytes().to_vec();
        record.extend(tick.to_le_bytes());
        assert_eq!(record.len(), RECORD);
        self.write(self.records + 64 * buffer, &record);
        self.set(at, tick);
    }

    /// Publishes ticks slowly enough for anybody.
    fn publish_all(&mut self, ticks: impl IntoIterator<Item = i32>) {
        for tick in ticks {
            self.publish(tick);
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn name(&self) -> &str {
        self.path.to_str().expect("a name in UTF-8")
    }
}

/// The numbers of the ticks of a recording of such memory.
fn ticks(path: &Path) -> Vec<i32> {
    let ibt = Ibt::read(path);
    let records = ibt.records();
    assert_eq!(records.len(), ibt.stated(), "the header says how many");
    records
        .iter()
        .map(|record| {
            let tick = word(record, 8);
            let time = f64::from_le_bytes(record[..8].try_into().expect("eight bytes"));
            assert_eq!(time, f64::from(tick), "a tick is whole");
            tick
        })
        .collect()
}

/// Starts to record a file of memory.
fn record(place: &Workplace, map: &str, arguments: &[&str]) -> Recording {
    Recording::start(place, &[&["iracing", "--map", map], arguments].concat())
}

/// Waits until a recording has written so many ticks.
fn wait_for_ticks(recording: &mut Recording, ticks: u64) {
    recording.wait_for(|event| event["ticks"].as_u64() >= Some(ticks));
}

#[test]
fn what_is_replayed_into_memory_is_recorded_from_it() {
    let place = Workplace::new();
    let recording = record(&place, "memory", &["-o", "again.ibt"]);
    let run = place.succeed(&[
        "replay",
        &sample_path(),
        "--map",
        "memory",
        "--speed",
        "1",
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    assert_eq!(report["map"]["ticks"], 120);
    let done = recording.done();
    assert_eq!(done.code, Some(0), "{}", done.report);
    assert_eq!(done.report["reason"], "disconnected");
    assert_eq!((done.number("ticks"), done.number("lost")), (120, 0));
    let (before, after) = (
        Ibt {
            bytes: SAMPLE.to_vec(),
        },
        Ibt::read(&place.path("again.ibt")),
    );
    assert_eq!(after.records(), before.records());
    assert_eq!(after.headers(), before.headers());
    assert_eq!(after.session(), before.session());
    // Start and end in session time, laps, records.
    assert_eq!(after.bytes[120..144], before.bytes[120..144]);
    // The tables are those of the original, but for the time of day.
    place.succeed(&["convert", &sample_path(), "-o", "before", "-f", "csv"]);
    place.succeed(&["convert", "again.ibt", "-o", "after", "-f", "csv"]);
    let (before, after) = (place.files("before"), place.files("after"));
    assert!(before.len() >= 6);
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    for (name, before) in &before {
        let without_time = |bytes: &[u8]| -> Vec<Vec<String>> {
            let mut reader = csv::ReaderBuilder::new();
            let mut reader = reader.has_headers(false).from_reader(bytes);
            let rows: Vec<csv::StringRecord> = reader.records().map_while(Result::ok).collect();
            let time = rows[0].iter().position(|column| column == "capture_time");
            let cells = |row: &csv::StringRecord| {
                let cells = row.iter().enumerate();
                let kept = cells.filter(|(column, _)| Some(*column) != time);
                kept.map(|(_, cell)| cell.to_string()).collect()
            };
            rows.iter().map(cells).collect()
        };
        match name.ends_with(".csv") {
            true => assert_eq!(without_time(before), without_time(&after[name]), "{name}"),
            false => assert_eq!(before, &after[name], "{name}"),
        }
    }
}

/// Runs the fake simulator as fast as it goes beside a recording.
fn flood(is_old: bool) -> (i32, Done, Vec<i32>) {
    let place = Workplace::new();
    let map = place.path("memory").display().to_string();
    let recording = record(&place, &map, &["-o", "flood.ibt"]);
    let published = fake_simulator::publish(&fake_simulator::Options {
        map: Some(map),
        seconds: 1.0,
        is_old,
        cars: 200,
        ..Default::default()
    });
    let done = recording.done();
    let ibt = Ibt::read(&place.path("flood.ibt"));
    let records = ibt.records();
    let ticks = records.iter().map(|record| {
        let tick = word(record, 8);
        assert_eq!(record[..8], f64::from(tick).to_le_bytes());
        // Every value is the tick's number; one of them as a float.
        for (number, value) in record[8..].chunks_exact(4).enumerate() {
            match number {
                2 => assert_eq!(value, (tick as f32).to_le_bytes()),
                _ => assert_eq!(word(value, 0), tick, "value {number} of tick {tick}"),
            }
        }
        tick
    });
    let ticks = ticks.collect();
    (published.expect("published"), done, ticks)
}

#[test]
fn no_tick_is_a_mixture_of_two_however_fast_they_come() {
    for is_old in [false, true] {
        let (published, done, ticks) = flood(is_old);
        assert!(ticks.len() > 100, "{}", done.report);
        assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "in order");
        let (first, last) = (ticks[0], ticks[ticks.len() - 1]);
        assert!(last <= published);
        // What is not there was counted, from when the simulator was found.
        let counted = (done.number("ticks") + done.number("lost")) as i32;
        // A stall may cost the very last ones.
        let all = last - first + 1..=published;
        assert!(all.contains(&counted), "{all:?}: {}", done.report);
        assert!(done.number("missed") > 0, "nobody reads so fast");
        assert_eq!(done.code, Some(3));
        assert!(done.warnings().contains("were missed"));
    }
}

#[test]
fn a_buffer_that_may_be_written_to_is_not_read() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let mut recording = record(&place, memory.name(), &["-o", "a.ibt"]);
    memory.publish_all(1..=3);
    wait_for_ticks(&mut recording, 3);
    // The simulator has begun a tick and not ended it.
    memory.set(48 + 16 + 8, 4);
    memory.write(memory.records + 64, &[0xEE; RECORD]);
    thread::sleep(Duration::from_millis(100));
    memory.publish_all(4..=6);
    wait_for_ticks(&mut recording, 6);
    memory.connect(false);
    let done = recording.done();
    assert_eq!(ticks(&place.path("a.ibt")), [1, 2, 3, 4, 5, 6]);
    assert_eq!(done.number("lost"), 0);
}

#[test]
fn every_session_string_is_kept_and_replayed_at_its_tick() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let mut recording = record(&place, memory.name(), &["-o", "a.ibt"]);
    memory.publish_all(1..=10);
    wait_for_ticks(&mut recording, 10);
    // Longer than the first, in Latin-1, with what looks like our own marks.
    let second = format!(
        "---\nA: {}\n# update 9, before record 1, x, 5 bytes\n...\n",
        "x".repeat(2_000)
    );
    memory.session(&second);
    memory.publish_all(11..=20);
    wait_for_ticks(&mut recording, 20);
    memory.session("---\nA: 3\n...\n");
    memory.publish_all(21..=30);
    wait_for_ticks(&mut recording, 30);
    memory.connect(false);
    let done = recording.done();
    assert_eq!(done.number("session_strings"), 3);
    let ibt = Ibt::read(&place.path("a.ibt"));
    assert_eq!(ibt.session(), b"---\nA: 3\n...\n");
    let sidecar = std::fs::read_to_string(place.path("a.session.yaml")).expect("a sidecar");
    for (update, record, text) in [
        (1, 0, "---\nWeekendInfo"),
        (2, 10, second.as_str()),
        (3, 20, "---\nA: 3"),
    ] {
        let mark = format!("# update {update}, before record {record}, ");
        let (_, rest) = sidecar.split_once(&mark).expect("a mark");
        let (_, rest) = rest.split_once(" bytes\n").expect("a length");
        assert!(rest.starts_with(text), "{update}");
    }
    // A folder of recordings is converted without stumbling over it.
    place.succeed(&["convert", ".", "-o", "out", "-q"]);
    // Replayed, they are there again, each from its tick on.
    let recording = record(&place, "again", &["-o", "b.ibt"]);
    place.succeed(&[
        "replay", "a.ibt", "--map", "again", "--speed", "20", "--limit", "30",
    ]);
    let done = recording.done();
    assert_eq!(
        (done.number("ticks"), done.number("session_strings")),
        (30, 3)
    );
    let marks = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(place.path(name)).expect("a sidecar");
        let lines = text.lines().filter(|line| line.starts_with("# update "));
        let lines = lines.filter_map(|line| line.split_once(", 2"));
        lines.map(|(mark, _)| mark.to_string()).collect()
    };
    assert_eq!(marks("a.session.yaml"), marks("b.session.yaml"));
}

#[test]
fn a_simulator_that_stutters_is_not_gone() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let mut recording = record(&place, memory.name(), &["-o", "a.ibt"]);
    memory.publish_all(1..=5);
    wait_for_ticks(&mut recording, 5);
    thread::sleep(Duration::from_secs(3));
    memory.publish_all(6..=10);
    wait_for_ticks(&mut recording, 10);
    // One that says that it is not connected and goes on all the same is there.
    memory.connect(false);
    memory.publish_all(11..=150);
    let done = recording.done();
    assert_eq!(done.report["reason"], "disconnected");
    assert_eq!(ticks(&place.path("a.ibt")), (1..=150).collect::<Vec<_>>());
}

#[test]
fn a_simulator_that_begins_anew_or_has_other_variables_gets_another_file() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let mut recording = record(&place, memory.name(), &["-o", "a.ibt"]);
    memory.publish_all(1_000..=1_010);
    wait_for_ticks(&mut recording, 11);
    // A tick that goes back: all buffers begin anew.
    for buffer in 0..3 {
        memory.set(48 + 16 * buffer, 0);
        memory.set(48 + 16 * buffer + 8, 0);
    }
    memory.publish_all(1..=5);
    wait_for_ticks(&mut recording, 16);
    // Other names, though as many, of the same length.
    memory.describe(&[("SessionTime", 5), ("Lap", 2)]);
    memory.session("---\nA: 2\n...\n");
    memory.publish_all(6..=10);
    wait_for_ticks(&mut recording, 21);
    // The number of variables changes.
    memory.describe(&[("Lap", 2), ("SessionTick", 2), ("Gear", 2)]);
    memory.publish_all(11..=15);
    wait_for_ticks(&mut recording, 26);
    memory.connect(false);
    let done = recording.done();
    assert_eq!(done.code, Some(0), "{}", done.report);
    assert_eq!((done.number("files"), done.number("simulators")), (4, 4));
    assert_eq!(
        ticks(&place.path("a.ibt")),
        (1_000..=1_010).collect::<Vec<_>>()
    );
    assert_eq!(ticks(&place.path("a-2.ibt")), (1..=5).collect::<Vec<_>>());
    assert_eq!(ticks(&place.path("a-3.ibt")), (6..=10).collect::<Vec<_>>());
    assert_eq!(Ibt::read(&place.path("a-4.ibt")).headers().len(), 3 * 144);
    for name in ["a.ibt", "a-2.ibt", "a-3.ibt"] {
        place.succeed(&["convert", name, "-o", "out", "--force", "-q"]);
    }
}

#[test]
fn with_follow_the_next_simulator_is_waited_for() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let mut recording = record(&place, memory.name(), &["-o", "stints/", "--follow"]);
    memory.publish_all(1..=5);
    wait_for_ticks(&mut recording, 5);
    memory.connect(false);
    recording.wait_for(|event| event["is_connected"] == false);
    // Gone altogether, and another in its place.
    std::fs::remove_file(&memory.path).expect("removed");
    let mut memory = Memory::create(place.path("memory"));
    memory.publish_all(1..=7);
    wait_for_ticks(&mut recording, 12);
    recording.signal("-INT");
    let done = recording.done();
    assert_eq!(done.code, Some(0));
    assert_eq!((done.number("files"), done.number("simulators")), (2, 2));
    let files = place.files("stints");
    let names: Vec<&String> = files.keys().filter(|name| name.ends_with(".ibt")).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("iracing-20")));
}

#[test]
fn memory_that_makes_no_sense_is_told_and_left_alone() {
    let place = Workplace::new();
    type Damage<'a> = &'a dyn Fn(&mut Memory);
    let damages: [(&str, Damage<'_>); 8] = [
        ("bufOffset of buffer 1 is 2000000000", &|memory| {
            memory.set(48 + 16 + 4, 2_000_000_000)
        }),
        ("bufOffset of buffer 2 is -8", &|memory| {
            memory.set(48 + 32 + 4, -8)
        }),
        ("numVars is 2000000000", &|memory| {
            memory.set(24, 2_000_000_000)
        }),
        ("numVars is -1", &|memory| memory.set(24, -1)),
        ("varHeaderOffset is 99999999", &|memory| {
            memory.set(28, 99_999_999)
        }),
        ("bufLen", &|memory| memory.set(36, 0)),
        ("numBuf is 77", &|memory| memory.set(32, 77)),
        ("SessionTick has 1 values at 5000", &|memory| {
            memory.set(VARIABLES_AT + 144 + 4, 5_000)
        }),
    ];
    for (expected, damage) in damages {
        let mut memory = Memory::create(place.path("memory"));
        memory.publish(1);
        damage(&mut memory);
        let run = place.run(&[
            "record", "iracing", "--map", "memory", "-o", "a.ibt", "--wait", "300ms",
        ]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(
            run.stderr.contains("no simulator has come within 300ms"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert!(!place.path("a.ibt").exists());
    }
    for bytes in [&b""[..], &b"\x02"[..], &[0xFF; 5_000], &[0; 5_000]] {
        place.write("memory", bytes);
        let run = place.run(&[
            "record", "iracing", "--map", "memory", "-o", "a.ibt", "--wait", "100ms",
        ]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("no simulator has come within 100ms"));
    }
    // A recording was never a simulator's memory.
    let run = place.run(&[
        "record",
        "iracing",
        "--map",
        &sample_path(),
        "--wait",
        "100ms",
    ]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("is a recording"), "{}", run.stderr);
}

#[test]
fn memory_that_loses_its_sense_meanwhile_ends_the_recording_whole() {
    let place = Workplace::new();
    let damages: [&dyn Fn(&mut Memory); 4] = [
        &|memory| memory.set(48 + 4, -1),
        &|memory| memory.set(24, 4_000_000),
        &|memory| memory.file.set_len(200).expect("shortened"),
        &|memory| std::fs::remove_file(&memory.path).expect("removed"),
    ];
    for (number, damage) in damages.iter().enumerate() {
        let mut memory = Memory::create(place.path("memory"));
        let name = format!("{number}.ibt");
        let mut recording = record(&place, memory.name(), &["-o", &name]);
        memory.publish_all(1..=5);
        wait_for_ticks(&mut recording, 5);
        damage(&mut memory);
        let done = recording.done();
        assert_eq!(done.code, Some(0), "{number}: {}", done.report);
        assert_eq!(done.report["reason"], "disconnected");
        assert_eq!(ticks(&place.path(&name)), [1, 2, 3, 4, 5]);
    }
    // A session string without an end is taken up to the end of its room.
    let mut memory = Memory::create(place.path("memory"));
    memory.write(SESSION_AT, &[b'x'; SESSION_ROOM]);
    let mut recording = record(&place, memory.name(), &["-o", "x.ibt"]);
    memory.publish_all(1..=5);
    wait_for_ticks(&mut recording, 5);
    memory.connect(false);
    assert_eq!(recording.done().code, Some(0));
    assert_eq!(
        Ibt::read(&place.path("x.ibt")).session(),
        [b'x'; SESSION_ROOM]
    );
}

#[cfg(unix)]
#[test]
fn a_recording_that_is_killed_can_be_read() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    for attempt in 0..5 {
        let name = format!("{attempt}.ibt");
        let first = 1 + 1_000 * attempt;
        let mut recording = record(
            &place,
            memory.name(),
            &["-o", &name, "--flush-interval", "200ms"],
        );
        memory.publish_all(first..first + 40 + 13 * attempt);
        recording.wait_for(|event| event["file_bytes"].as_u64() > Some(0));
        recording.signal("-KILL");
        recording.child.wait().expect("an end");
        let path = place.path(&name);
        let ibt = Ibt::read(&path);
        assert!(ibt.records().len() >= ibt.stated());
        let run = place.run(&["convert", &name, "-o", "out", "-f", "csv", "--force"]);
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
    }
}

#[test]
fn recordings_end_by_rule_and_rotate() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let map = memory.name().to_string();
    let is_over = Arc::new(AtomicBool::new(false));
    let ended = is_over.clone();
    let publisher = thread::spawn(move || {
        let mut tick = 1;
        while !ended.load(Ordering::Relaxed) {
            memory.publish_all([tick]);
            tick += 1;
        }
    });
    let done = record(&place, &map, &["-o", "a.ibt", "--duration", "600ms"]).done();
    assert_eq!(done.report["reason"], "duration");
    let count = ticks(&place.path("a.ibt")).len();
    assert!((5..=40).contains(&count), "{count}");
    let done = record(
        &place,
        &map,
        &[
            "-o",
            "c.ibt",
            "--rotate",
            "300ms",
            "--keep",
            "2",
            "--duration",
            "2s",
        ],
    )
    .done();
    assert!(done.number("files") >= 4, "{}", done.report);
    let files = place.files("");
    let of_ring: Vec<&String> = files.keys().filter(|name| name.starts_with("c-")).collect();
    assert_eq!(
        of_ring.len(),
        4,
        "two recordings and what lies beside them: {of_ring:?}"
    );
    let run = place.run(&[
        "record", "iracing", "--map", &map, "-o", "a.ibt", "--wait", "1s",
    ]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("a.ibt exists already"),
        "{}",
        run.stderr
    );
    is_over.store(true, Ordering::Relaxed);
    publisher.join().expect("published");
    for arguments in [["--max-size", "1MB"], ["--rotate", "1999kB"]] {
        let run = place.run(&[&["record", "iracing", "--map", &map], &arguments[..]].concat());
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("must be 2MB or more"), "{}", run.stderr);
    }
}

#[test]
fn files_keep_to_their_size_whatever_grows() {
    let place = Workplace::new();
    let map = place.path("memory").display().to_string();
    let recordings = [
        // Session strings count as much as ticks.
        ["-o", "a.ibt", "--max-size", "2MB"],
        ["-o", "b.ibt", "--rotate", "2MB"],
    ]
    .map(|arguments| record(&place, &map, &arguments));
    let published = fake_simulator::publish(&fake_simulator::Options {
        map: Some(map),
        rate: Some(1_000.0),
        seconds: 1.0,
        change_every: Some(2),
        ..Default::default()
    });
    published.expect("published");
    let [limited, rotated] = recordings.map(Recording::done);
    assert_eq!(limited.report["reason"], "size");
    let size = |names: &[&str]| -> u64 {
        let length = |name: &&str| std::fs::metadata(place.path(name)).expect("a file").len();
        names.iter().map(length).sum()
    };
    let bytes = size(&["a.ibt", "a.session.yaml"]);
    assert_eq!(limited.number("file_bytes"), bytes);
    assert!((1_900_000..=2_000_000).contains(&bytes), "{bytes}");
    assert!(rotated.number("files") >= 2, "{}", rotated.report);
    for (name, bytes) in place.files("") {
        let is_of_ring = name.starts_with("b-") && name.ends_with(".ibt");
        assert!(
            !is_of_ring || bytes.len() <= 2_000_000,
            "{name}: {}",
            bytes.len()
        );
    }
}

#[test]
fn names_that_are_taken_are_left_alone() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    // A session string left over would be told before the simulator comes.
    place.write("a.session.yaml", "mine");
    let run = place.run(&["record", "iracing", "--map", "memory", "-o", "a.ibt"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("a.session.yaml exists already; --force"),
        "{}",
        run.stderr
    );
    // So would a folder that takes nothing.
    place.write("file", "mine");
    let run = place.run(&["record", "iracing", "--map", "memory", "-o", "file/a.ibt"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("cannot write to file"),
        "{}",
        run.stderr
    );
    // A second file finds a name of its own.
    place.write("b-2.ibt", "mine");
    place.write("b-3.session.yaml", "mine");
    let mut recording = record(&place, memory.name(), &["-o", "b.ibt", "--force"]);
    memory.publish_all(1_000..=1_005);
    wait_for_ticks(&mut recording, 6);
    for buffer in 0..3 {
        memory.set(48 + 16 * buffer, 0);
    }
    memory.publish_all(1..=5);
    wait_for_ticks(&mut recording, 11);
    memory.connect(false);
    assert_eq!(recording.done().code, Some(0));
    assert_eq!(ticks(&place.path("b-4.ibt")), [1, 2, 3, 4, 5]);
    let files = place.files("");
    for name in ["a.session.yaml", "b-2.ibt", "b-3.session.yaml", "file"] {
        assert_eq!(files[name], b"mine", "{name}");
    }
}

#[test]
fn only_what_moves_is_a_simulator() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    memory.publish_all(98..=100);
    // It says that it is connected, but that is all.
    let run = place.run(&[
        "record", "iracing", "--map", "memory", "-o", "a.ibt", "--wait", "2500ms",
    ]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("memory: its ticks stand still"),
        "{}",
        run.stderr
    );
    assert!(!place.path("a.ibt").exists());
    // Whoever comes late has missed nothing, and what there is in a row is taken.
    let mut recording = record(&place, memory.name(), &["-o", "a.ibt", "--follow"]);
    thread::sleep(Duration::from_millis(100));
    memory.publish_all(101..=105);
    wait_for_ticks(&mut recording, 5);
    // One that pauses, says so, and goes on counting is the same one.
    memory.connect(false);
    recording.wait_for(|event| event["is_connected"] == false);
    memory.connect(true);
    memory.publish_all(106..=110);
    recording.wait_for(|event| event["received"].as_u64() >= Some(10));
    recording.signal("-INT");
    let done = recording.done();
    assert_eq!(done.number("lost"), 0);
    let mut all = ticks(&place.path("a.ibt"));
    all.extend(ticks(&place.path("a-2.ibt")));
    let first = all[0];
    assert!((99..=101).contains(&first), "{all:?}");
    assert_eq!(all, (first..=110).collect::<Vec<_>>());
}

#[test]
fn of_an_old_simulator_the_buffer_that_may_be_written_to_is_not_read() {
    let place = Workplace::new();
    let mut memory = Memory::create(place.path("memory"));
    let mut recording = record(&place, memory.name(), &["-o", "a.ibt"]);
    let mut publish = |tick: i32| {
        memory.publish(tick);
        // Nothing tells when it began to write.
        for buffer in 0..3 {
            memory.set(48 + 16 * buffer + 8, 0);
        }
        thread::sleep(Duration::from_millis(10));
    };
    (1..=10).for_each(&mut publish);
    // Some count in steps; each but the oldest buffer is there.
    (12..=60).step_by(2).for_each(&mut publish);
    wait_for_ticks(&mut recording, 35);
    memory.connect(false);
    let done = recording.done();
    let expected: Vec<i32> = (1..=10).chain((12..=60).step_by(2)).collect();
    assert_eq!(ticks(&place.path("a.ibt")), expected);
    assert_eq!(done.number("missed"), 25);
}

#[test]
fn a_replay_does_not_write_beside_another_program() {
    let place = Workplace::new();
    let map = place.path("memory").display().to_string();
    let published = thread::spawn({
        let map = Some(map.clone());
        move || {
            fake_simulator::publish(&fake_simulator::Options {
                map,
                rate: Some(60.0),
                seconds: 2.0,
                ..Default::default()
            })
            .map_err(|error| error.to_string())
        }
    });
    thread::sleep(Duration::from_millis(1_000));
    let run = place.run(&["replay", &sample_path(), "--map", &map]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("belongs to a simulator that is running"),
        "{}",
        run.stderr
    );
    published.join().expect("no panic").expect("published");
    // What one has left behind is taken over.
    place.succeed(&["replay", &sample_path(), "--map", &map, "--speed", "10"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_no_memory() {
    let place = Workplace::new();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    let run = place.run(&["record", "iracing", "--map", "pipe", "--wait", "100ms"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("pipe: it is not a file"),
        "{}",
        run.stderr
    );
    let run = place.run(&["replay", &sample_path(), "--map", "pipe"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("it is not a file"), "{}", run.stderr);
}

#[test]
fn ticks_are_passed_on_as_bytes_and_as_objects() {
    let place = Workplace::new();
    let sockets = ["raw", "json"].map(|encoding| {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let target = socket.local_addr().expect("an address").to_string();
        let mut arguments = vec!["-o", encoding, "--forward", &target, "--encode", encoding];
        let name = format!("{encoding}.ibt");
        arguments[1] = &name;
        if encoding == "json" {
            arguments.extend(["--columns", "Speed,Gear"]);
        }
        (record(&place, "memory", &arguments), socket)
    });
    place.succeed(&["replay", &sample_path(), "--map", "memory", "--speed", "1"]);
    let before = Ibt {
        bytes: SAMPLE.to_vec(),
    };
    let mut buffer = [0; 65_536];
    let [(raw, raw_socket), (json, json_socket)] = sockets;
    for record in before.records() {
        let length = raw_socket.recv(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..length], record);
        let length = json_socket.recv(&mut buffer).expect("a datagram");
        let object: Value = serde_json::from_slice(&buffer[..length]).expect("an object");
        assert_eq!(object.as_object().expect("an object").len(), 2);
        assert!(object["Speed"].is_number() && object["Gear"].is_number());
    }
    for recording in [raw, json] {
        let done = recording.done();
        assert_eq!(done.report["forwards"][0]["sent"], 120);
    }
}

#[test]
fn a_replay_is_a_simulator_to_those_who_look() {
    let place = Workplace::new();
    let replay = place
        .command(&[
            "replay",
            &sample_path(),
            "--map",
            "memory",
            "--loop",
            "forever",
            "--quiet",
        ])
        .stdin(Stdio::null())
        .spawn();
    let mut replay = replay.expect("simtel runs");
    let path = place.path("memory");
    let deadline = Instant::now() + PATIENCE;
    let header = |path: &Path| std::fs::read(path).unwrap_or_default();
    while header(&path).get(4) != Some(&1) {
        assert!(Instant::now() < deadline, "it connects");
        thread::sleep(Duration::from_millis(10));
    }
    let bytes = header(&path);
    // Where a simulator has them.
    assert_eq!(bytes.len(), 1_191_936);
    let words: Vec<i32> = (0..10).map(|number| word(&bytes, 4 * number)).collect();
    assert_eq!(words, [2, 1, 60, 1, 524_288, 112, 34, 524_400, 3, 322]);
    let buffers: Vec<i32> = (0..3)
        .map(|number| word(&bytes, 52 + 16 * number))
        .collect();
    assert_eq!(buffers, [1_114_224, 1_138_800, 1_163_376]);
    let before = Ibt {
        bytes: SAMPLE.to_vec(),
    };
    assert!(bytes[112..].starts_with(before.session()));
    // Another one does not get in its way, and a file that is none is not taken.
    let run = place.run(&["replay", &sample_path(), "--map", "memory"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("another replay writes to it"),
        "{}",
        run.stderr
    );
    // Ticks never go back, though the recording begins anew.
    let newest = || {
        let bytes = header(&path);
        (0..3).map(|number| word(&bytes, 48 + 16 * number)).max()
    };
    let mut last = newest();
    while last < Some(150) {
        assert!(Instant::now() < deadline, "ticks go on");
        let now = newest();
        assert!(now >= last);
        last = now;
        thread::sleep(Duration::from_millis(5));
    }
    signal_to(replay.id(), "-INT");
    assert!(replay.wait().expect("an end").success());
    assert_eq!(word(&header(&path), 4), 0, "not connected any more");
}

#[test]
fn what_cannot_be_replayed_into_memory_is_refused() {
    let place = Workplace::new();
    place.write("mine.txt", "not memory");
    place.write("copy.ibt", SAMPLE);
    let capture = project_path("samples/f1_2025.pcap").display().to_string();
    let ibt = sample_path();
    for (arguments, code, expected) in [
        (
            vec!["replay", &ibt, "--map", "mine.txt"],
            1,
            "something else than a simulator's memory",
        ),
        (
            vec!["replay", &ibt, "--map", "copy.ibt"],
            1,
            "something else than a simulator's memory",
        ),
        (
            vec!["replay", &capture, "--map", "memory"],
            1,
            "--map is for .ibt recordings",
        ),
        (vec!["replay", &ibt], 2, "--to"),
        (
            vec!["replay", &ibt, "--map", "m", "--filter", "port=1"],
            2,
            "--filter",
        ),
        (
            vec!["replay", &ibt, "--map", "m", "--reorder", "1%"],
            2,
            "--reorder is for datagrams",
        ),
        (
            vec!["replay", &ibt, "--map", "m", "--ttl", "4"],
            2,
            "--ttl is about what is sent",
        ),
        (
            vec!["replay", &ibt, "--map", "m", "--encode", "raw"],
            2,
            "there is no --to",
        ),
        (
            vec!["replay", &ibt, "--map", "m", "--to", ":9"],
            2,
            "needs --encode",
        ),
        (
            vec!["record", "iracing", "-o", "-", "--map", "m"],
            2,
            "standard output cannot",
        ),
        (
            vec!["record", "iracing", "-o", "a.pcap", "--map", "m"],
            2,
            ".ibt",
        ),
        (
            vec!["record", "iracing", "--map", "m", "--columns", "Speed"],
            2,
            "--encode json",
        ),
    ] {
        let run = place.run(&arguments);
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(expected),
            "{arguments:?}: {}",
            run.stderr
        );
    }
    assert_eq!(place.files("").len(), 2);
    assert_eq!(place.files("")["copy.ibt"], SAMPLE);
}

#[cfg(not(windows))]
#[test]
fn what_only_windows_has_is_refused_elsewhere() {
    let place = Workplace::new();
    let ibt = sample_path();
    for arguments in [
        vec!["record", "iracing"],
        vec!["record", "iracing", "--map"],
        vec!["replay", &ibt, "--as-simulator"],
        vec!["replay", &ibt, "--map"],
    ] {
        let run = place.run(&arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("on Windows alone"));
    }
    for arguments in [
        &["telemetry", "start"][..],
        &["camera", "--car", "007", "--group", "2"],
        &["replay-speed", "-4"],
        &["chat", "macro", "3"],
    ] {
        let run = place.run(&[&["iracing", "send"], arguments].concat());
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains("on Windows alone"), "{}", run.stderr);
    }
    for arguments in [
        &["camera"][..],
        &["camera", "--car", "7", "--position", "2"],
        &["camera", "--car", "1234"],
        &["chat", "macro"],
        &["chat", "macro", "16"],
        &["pit", "sandwich"],
    ] {
        let run = place.run(&[&["iracing", "send"], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
    }
}

/// Memory may also be shortened below its header, or be a folder.
#[test]
fn memory_that_is_none_is_waited_for() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("folder")).expect("a folder");
    let run = place.run(&["record", "iracing", "--map", "folder", "--wait", "100ms"]);
    assert_eq!(run.code, 1);
    let run = place.run(&["record", "iracing", "--map", "nothing", "--wait", "100ms"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("no simulator has come within 100ms: nothing: it is not there"),
        "{}",
        run.stderr
    );
    // It may come while we wait.
    let recording = record(&place, "late", &["--wait", "60s", "-o", "a.ibt"]);
    thread::sleep(Duration::from_millis(200));
    let file = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(place.path("late"));
    drop(file.expect("a file"));
    let mut memory = Memory::create(place.path("late"));
    memory.publish_all(1..=5);
    memory.connect(false);
    assert_eq!(recording.done().report["reason"], "disconnected");
    assert_eq!(ticks(&place.path("a.ibt")), [1, 2, 3, 4, 5]);
}

#[test]
fn what_was_found_in_memory_left_behind_is_not_taken_for_the_next_simulator() {
    let place = Workplace::new();
    let mut left = Memory::create(place.path("memory"));
    left.publish_all(98..=100);
    let mut recording = record(&place, left.name(), &["-o", "a.ibt"]);
    thread::sleep(Duration::from_millis(100));
    std::fs::remove_file(&left.path).expect("removed");
    // The same variables and as many changes, but another session.
    let mut memory = Memory::create(place.path("memory"));
    memory.write(SESSION_AT, b"---\nWeekendInfo:\n TrackID: 2\n...\n");
    thread::sleep(Duration::from_millis(1_500));
    memory.publish_all(1..=5);
    wait_for_ticks(&mut recording, 5);
    // It begins anew, and takes its time to the first tick.
    for buffer in 0..3 {
        memory.set(48 + 16 * buffer, 0);
        memory.set(48 + 16 * buffer + 8, 0);
    }
    thread::sleep(Duration::from_millis(2_500));
    memory.publish_all(1..=7);
    wait_for_ticks(&mut recording, 12);
    memory.connect(false);
    let done = recording.done();
    assert_eq!((done.number("files"), done.number("lost")), (2, 0));
    assert!(
        Ibt::read(&place.path("a.ibt"))
            .session()
            .ends_with(b" TrackID: 2\n...\n")
    );
    assert_eq!(ticks(&place.path("a.ibt")), [1, 2, 3, 4, 5]);
    assert_eq!(ticks(&place.path("a-2.ibt")), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn ticks_that_a_replay_leaves_out_are_missed() {
    let place = Workplace::new();
    let recording = record(&place, "memory", &["-o", "a.ibt"]);
    let arguments = [
        "replay",
        &sample_path(),
        "--map",
        "memory",
        "--loss",
        "30%",
        "--seed",
        "3",
    ];
    place.succeed(&arguments);
    let done = recording.done();
    assert_eq!(done.code, Some(3));
    let (ticks, lost) = (done.number("ticks"), done.number("lost"));
    assert!((60..110).contains(&ticks), "{}", done.report);
    // But for those before the first and after the last that was sent.
    assert!((110..=120).contains(&(ticks + lost)), "{}", done.report);
    let before = Ibt {
        bytes: SAMPLE.to_vec(),
    };
    let (before, after) = (before.records(), Ibt::read(&place.path("a.ibt")));
    let mut before = before.iter();
    assert!(
        after
            .records()
            .iter()
            .all(|record| before.any(|known| known == record))
    );
}

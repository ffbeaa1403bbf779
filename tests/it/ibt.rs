//! iRacing recordings: sound, cut, damaged, live, several at once.

use serde_json::Value;

use crate::support::{Run, Table, Workplace, project_path};

const SAMPLE: &[u8] = include_bytes!("../../samples/iracing.ibt");

/// Offsets of the header's fields.
const NUM_VARS: usize = 24;
const BUF_LEN: usize = 36;
const BUF_OFFSET: usize = 52;
const RECORD_COUNT: usize = 140;

fn word(bytes: &[u8], offset: usize) -> usize {
    let word: [u8; 4] = bytes[offset..offset + 4].try_into().expect("four bytes");
    i32::from_le_bytes(word) as usize
}

fn with_word(bytes: &[u8], offset: usize, value: i32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// Where the header of the variable of this name lies.
fn variable(bytes: &[u8], name: &str) -> usize {
    let headers = (0..word(bytes, NUM_VARS)).map(|number| 144 + 144 * number);
    let mut named =
        headers.filter(|at| bytes[at + 16..].starts_with(format!("{name}\0").as_bytes()));
    named.next().unwrap_or_else(|| panic!("no variable {name}"))
}

/// The sample with another session string, and the offsets that follow from it.
fn with_session(session: &[u8]) -> Vec<u8> {
    let (length, offset) = (word(SAMPLE, 16), word(SAMPLE, 20));
    let mut bytes = SAMPLE[..offset].to_vec();
    bytes.extend(session);
    bytes.extend(&SAMPLE[offset + length..]);
    let bytes = with_word(&bytes, 16, session.len() as i32);
    with_word(&bytes, BUF_OFFSET, (offset + session.len()) as i32)
}

fn convert(bytes: &[u8]) -> (Workplace, Run) {
    let place = Workplace::new();
    place.write("x.ibt", bytes);
    let run = place.run(&["convert", "x.ibt", "-o", "out", "-f", "csv", "--labels"]);
    (place, run)
}

fn table(place: &Workplace, name: &str) -> Table {
    place.table_of("iracing", name)
}

#[test]
fn values_of_every_type_are_those_of_the_record() {
    let (place, run) = convert(SAMPLE);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let ticks = table(&place, "ticks");
    assert_eq!(ticks.rows.len(), 120);
    assert_eq!(
        ticks.columns[..5],
        [
            "capture_time",
            "SessionTime",
            "SessionTick",
            "SessionNum",
            "SessionState"
        ]
    );
    for (column, value) in [
        // 2025-06-21 18:30:00 UTC and 300 seconds.
        ("capture_time", "2025-06-21T18:35:00.000000000Z"),
        ("SessionState_name", "Racing"),
        ("SessionFlags", "2147483652"),
        ("SessionFlags_name", "green|startGo"),
        ("IsOnTrack", "true"),
        ("PlayerTrackSurface_name", "OnTrack"),
        ("Gear", "-1"),
        ("LapDistPct", "0.975"),
        ("Setup", "Nürburg_2"),
        ("Skies_name", "MostlyCloudy"),
        ("TireWear_0", "0.75"),
        ("TireWear_2", "0.875"),
        ("NotANumber", "NaN"),
    ] {
        assert_eq!(ticks.cell(0, column), value, "{column}");
    }
    let cars = table(&place, "cars");
    assert_eq!(cars.rows.len(), 120 * 8);
    assert_eq!(cars.cell(8 + 3, "CarIdx"), "3");
    assert_eq!(cars.cell(8 + 3, "CarIdxOnPitRoad"), "true");
    assert_eq!(cars.cell(8 + 2, "CarIdxSessionFlags_name"), "servicible");
    assert_eq!(cars.cell(8 + 4, "CarIdxLap"), "-1");
    assert_eq!(table(&place, "cars_2").cell(3, "CarIdxGapPair"), "1.25");
    let subticks = table(&place, "subticks");
    assert_eq!(subticks.rows.len(), 120 * 6);
    assert_eq!(subticks.column("SubTick")[6..9], ["0", "1", "2"]);
    let drivers = table(&place, "drivers");
    assert_eq!(
        drivers.column("UserName"),
        ["Pace Car", "Jörg Müller", "? ?"]
    );
    assert_eq!(
        drivers.column("TeamName"),
        ["", "- TERCIO -7 -", "[SIM]: 100% #1"]
    );
    assert_eq!(drivers.column("CarNumber"), ["0", "007", "21"]);
    assert_eq!(table(&place, "results").column("CarIdx"), ["3", "2"]);
    assert_eq!(
        table(&place, "sessions").column("SessionType"),
        ["Practice", "Race"]
    );
    assert_eq!(table(&place, "splits").cell(1, "SectorStartPct"), "0.4125");
    let session = std::fs::read_to_string(place.path("out/iracing/session.yaml"));
    assert!(session.expect("UTF-8").contains("UserName: Jörg Müller\n"));
}

#[test]
fn every_complete_record_of_a_damaged_file_comes_out() {
    let (first, length) = (word(SAMPLE, BUF_OFFSET), word(SAMPLE, BUF_LEN));
    let cut = &SAMPLE[..first + 50 * length + 7];
    for (name, bytes, rows, message) in [
        (
            "not closed",
            with_word(SAMPLE, RECORD_COUNT, 0),
            120,
            "the header counts 0 records, the file holds 120",
        ),
        ("cut", cut.to_vec(), 50, "the last record is cut after 7 of"),
        (
            "cut and not closed",
            with_word(cut, RECORD_COUNT, 0),
            50,
            "counts 0 records, the file holds 50",
        ),
        (
            "cut, count right",
            with_word(cut, RECORD_COUNT, 50),
            50,
            "the last record is cut",
        ),
        (
            "count huge",
            with_word(SAMPLE, RECORD_COUNT, i32::MAX),
            120,
            "counts 2147483647 records",
        ),
        (
            "count negative",
            with_word(SAMPLE, RECORD_COUNT, -1),
            120,
            "counts -1 records",
        ),
        (
            "unknown type",
            with_word(SAMPLE, variable(SAMPLE, "RPM"), 9),
            120,
            "RPM is of the unknown type 9: left out",
        ),
        (
            "no session string",
            with_word(SAMPLE, 20, i32::MAX),
            120,
            "sessionInfoOffset is 2147483647",
        ),
        (
            "long session string",
            with_word(SAMPLE, 16, i32::MAX),
            120,
            "sessionInfoLen is 2147483647",
        ),
        (
            "negative session string",
            with_word(SAMPLE, 16, -5),
            120,
            "sessionInfoLen -5",
        ),
        (
            "session string in the header",
            with_word(SAMPLE, 20, 112),
            120,
            "sessionInfoOffset lies in the headers",
        ),
        (
            "buffers as in memory",
            with_word(SAMPLE, 32, 3),
            120,
            "numBuf is 3, though this is a file",
        ),
        (
            "cut before the first record",
            SAMPLE[..first + 3].to_vec(),
            0,
            "the file holds 0",
        ),
    ] {
        let (place, run) = convert(&bytes);
        assert_eq!(run.code, 3, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{name}: {}", run.stderr);
        if rows > 0 {
            let ticks = table(&place, "ticks");
            assert_eq!(ticks.rows.len(), rows, "{name}");
            assert_eq!(
                ticks.cell(rows - 1, "SessionTick"),
                (18_000 + rows - 1).to_string()
            );
        }
    }
}

#[test]
fn what_cannot_be_read_is_one_clear_error() {
    let at = |name: &str, field: usize| variable(SAMPLE, name) + field;
    let unnamed = {
        let mut bytes = SAMPLE.to_vec();
        let name = at("Speed", 16);
        bytes[name..name + 32].fill(b'x');
        bytes
    };
    let twice = {
        let mut bytes = SAMPLE.to_vec();
        let name = at("Speed", 16);
        bytes[name..name + 4].copy_from_slice(b"RPM\0");
        bytes
    };
    for (bytes, message) in [
        (
            with_word(SAMPLE, 0, 3),
            "offset 0: ver is 3; simtel knows versions 1 and 2",
        ),
        (
            with_word(SAMPLE, NUM_VARS, 2_000_000_000),
            "offset 24: numVars is 2000000000",
        ),
        (with_word(SAMPLE, NUM_VARS, -1), "offset 24: numVars is -1"),
        (with_word(SAMPLE, NUM_VARS, 0), "offset 24: numVars is 0"),
        (
            with_word(SAMPLE, 28, -144),
            "offset 28: varHeaderOffset is -144",
        ),
        (
            with_word(SAMPLE, 28, i32::MAX),
            "offset 28: varHeaderOffset is 2147483647",
        ),
        (with_word(SAMPLE, 32, 0), "offset 32: numBuf is 0"),
        (with_word(SAMPLE, 32, 5), "offset 32: numBuf is 5"),
        (
            with_word(SAMPLE, BUF_LEN, 0),
            "offset 36: bufLen, the length of a record, is 0",
        ),
        (
            with_word(SAMPLE, BUF_LEN, -7),
            "offset 36: bufLen, the length of a record, is -7",
        ),
        (
            with_word(SAMPLE, BUF_LEN, i32::MAX),
            "offset 36: bufLen, the length of a record, is 2147483647",
        ),
        (
            with_word(SAMPLE, BUF_OFFSET, -1),
            "offset 52: bufOffset is -1",
        ),
        (
            with_word(SAMPLE, BUF_OFFSET, 1 << 30),
            "offset 52: bufOffset is 1073741824",
        ),
        (
            with_word(SAMPLE, BUF_OFFSET, 300),
            "offset 52: bufOffset is 300",
        ),
        (
            with_word(SAMPLE, BUF_OFFSET, word(SAMPLE, 20) as i32 + 9),
            "inside of the session string",
        ),
        (
            with_word(SAMPLE, at("Speed", 4), -4),
            "Speed has 1 values at -4",
        ),
        (
            with_word(SAMPLE, at("Speed", 4), 1 << 20),
            "Speed has 1 values at 1048576",
        ),
        (
            with_word(SAMPLE, at("Speed", 8), i32::MAX),
            "Speed has 2147483647 values",
        ),
        (with_word(SAMPLE, at("Speed", 8), 0), "Speed has 0 values"),
        (
            with_word(SAMPLE, at("Speed", 4), 9),
            "the variables SessionTick and Speed overlap",
        ),
        (unnamed, "the name of a variable has no end"),
        (twice, "a second variable is named RPM"),
        (
            SAMPLE[..100].to_vec(),
            "offset 100: the file ends inside its header of 112 bytes",
        ),
        (
            SAMPLE[..1_000].to_vec(),
            "offset 24: numVars is 34, but the file has room for 1 to 5",
        ),
        (vec![0; 5_000], "its first bytes are all zero"),
    ] {
        let (place, run) = convert(&bytes);
        assert_eq!(run.code, 1, "{message}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
        assert!(
            run.stderr.starts_with("error: x.ibt: not"),
            "{}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(!place.path("out").exists());
    }
}

#[test]
fn cuts_anywhere_neither_panic_nor_hang() {
    let place = Workplace::new();
    for end in (0..SAMPLE.len()).step_by(487).chain([111, 112, 143, 144]) {
        place.write("x.ibt", &SAMPLE[..end]);
        let run = place.run(&[
            "convert",
            "x.ibt",
            "-o",
            "out",
            "--force",
            "-t",
            "ticks,drivers",
        ]);
        assert!(
            matches!(run.code, 1 | 3),
            "{end}: {} {}",
            run.code,
            run.stderr
        );
        assert!(!run.stderr.contains("panicked"), "{end}: {}", run.stderr);
    }
}

#[test]
fn session_strings_are_read_in_the_encoding_that_they_state() {
    let names = |session: &[u8]| {
        let (place, run) = convert(&with_session(session));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let name = table(&place, "drivers").cell(0, "UserName").to_string();
        let text = std::fs::read_to_string(place.path("out/iracing/session.yaml"));
        assert!(text.expect("UTF-8").contains(&name));
        assert_eq!(table(&place, "ticks").rows.len(), 120);
        name
    };
    let session = |head: &str, name: &[u8]| {
        let start =
            format!("---\nWeekendInfo:\n{head} TrackID: 1\nDriverInfo:\n Drivers:\n - UserName: ");
        [start.as_bytes(), name, b"\n   CarIdx: 0\n...\n"].concat()
    };
    assert_eq!(names(&session("", b"J\xF6rg")), "Jörg");
    assert_eq!(names(&session("", "Jörg 車".as_bytes())), "Jörg 車");
    assert_eq!(
        names(&session(
            " Encoding: UTF8\n",
            "\"Jörg \"the\" 車\"".as_bytes()
        )),
        "Jörg \"the\" 車"
    );
    assert_eq!(
        names(&session(" Encoding: ISO_8859_1\n", b"\xC3\xB6")),
        "Ã¶"
    );
    assert_eq!(names(&session("", b"\x81\x8D")), "\u{81}\u{8d}");
}

#[test]
fn a_session_string_that_cannot_be_read_never_stops_the_ticks() {
    for (session, notes) in [
        (&b"no yaml at all {{{ ]\n- \n"[..], true),
        (
            b"---\nDriverInfo:\n Drivers:\n - CarIdx: x1\n   UserName: two\nlines\n...\n",
            true,
        ),
        (b"", false),
    ] {
        let (place, run) = convert(&with_session(session));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(
            run.stderr.contains("session string:"),
            notes,
            "{}",
            run.stderr
        );
        assert_eq!(table(&place, "ticks").rows.len(), 120);
    }
    let session = b"---\nDriverInfo:\n Drivers:\n - CarIdx: x1\n   UserName: two\nlines\n...\n";
    let (place, run) = convert(&with_session(session));
    let drivers = table(&place, "drivers");
    assert_eq!(
        (drivers.cell(0, "CarIdx"), drivers.cell(0, "UserName")),
        ("", "two\nlines")
    );
    assert!(
        run.stderr.contains("CarIdx is \"x1\", not a number"),
        "{}",
        run.stderr
    );
}

/// The sample's variables and ticks `1..=3` as a running simulator has them in
/// memory, in three buffers; the newest is in the middle.
fn live() -> Vec<u8> {
    let (count, length) = (word(SAMPLE, NUM_VARS), word(SAMPLE, BUF_LEN));
    let (session_length, session) = (word(SAMPLE, 16), word(SAMPLE, 20));
    let first = word(SAMPLE, BUF_OFFSET);
    let headers = 112 + 4096;
    let rows = headers + 144 * count;
    let mut bytes = SAMPLE[..48].to_vec();
    for (offset, value) in [(16, 4096), (20, 112), (28, headers), (32, 3)] {
        bytes = with_word(&bytes, offset, value as i32);
    }
    for (buffer, tick) in [(0, 2), (1, 3), (2, 1)] {
        for value in [tick, (rows + buffer * length) as i32, 0, 0] {
            bytes.extend(value.to_le_bytes());
        }
    }
    bytes.resize(112, 0);
    bytes.extend(&SAMPLE[session..session + session_length]);
    bytes.resize(headers, 0);
    bytes.extend(&SAMPLE[144..144 + 144 * count]);
    for tick in [2, 3, 1] {
        bytes.extend(&SAMPLE[first + tick * length..][..length]);
    }
    bytes
}

#[test]
fn of_a_copy_of_live_memory_the_newest_complete_tick_is_read() {
    let tick = |bytes: &[u8]| {
        let (place, run) = convert(bytes);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr.contains("the memory of a running simulator"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("1 records have no date"),
            "{}",
            run.stderr
        );
        assert_eq!(table(&place, "drivers").rows.len(), 3);
        let ticks = table(&place, "ticks");
        assert_eq!(ticks.rows.len(), 1);
        assert!(
            ticks
                .cell(0, "capture_time")
                .starts_with("1970-01-01T00:05:00.0")
        );
        ticks.cell(0, "SessionTick").to_string()
    };
    assert_eq!(tick(&live()), "18003");
    // The simulator had begun to write tick 6 over tick 3, and to say so.
    let torn = with_word(&live(), 48 + 16 + 8, 6);
    assert_eq!(tick(&torn), "18002");
}

#[test]
fn recordings_of_different_cars_share_their_tables() {
    // Another season: a variable is gone, one has another type, one another unit.
    let mut other = SAMPLE.to_vec();
    let name = variable(SAMPLE, "FuelLevel") + 16;
    other[name..name + 32].fill(0);
    other[name..name + 7].copy_from_slice(b"Battery");
    let other = with_word(&other, variable(SAMPLE, "EngineWarnings"), 2);
    let mut other = with_word(&other, variable(SAMPLE, "AirTemp"), 2);
    let unit = variable(SAMPLE, "AirTemp") + 112;
    other[unit..unit + 2].copy_from_slice(b"F\0");
    let place = Workplace::new();
    place.write("a.ibt", SAMPLE);
    place.write("b.ibt", other);
    let options = ["-o", "out", "-f", "csv"];
    place.succeed(&[&["convert", "a.ibt", "b.ibt"], &options[..]].concat());
    let ticks = table(&place, "ticks");
    assert_eq!(ticks.rows.len(), 240);
    assert_eq!(ticks.columns.last().map(String::as_str), Some("Battery"));
    for (row, capture, fuel, battery) in [(0, "a.ibt", "19.61", ""), (120, "b.ibt", "", "19.61")] {
        assert_eq!(ticks.cell(row, "capture"), capture);
        assert_eq!(ticks.cell(row, "FuelLevel"), fuel);
        assert_eq!(ticks.cell(row, "Battery"), battery);
        assert_eq!(ticks.cell(row, "EngineWarnings"), "16");
    }
    assert_eq!(ticks.cell(0, "AirTemp"), "21.5");
    assert_eq!(
        ticks.cell(120, "AirTemp"),
        (21.5_f32.to_bits() as f64).to_string() + ".0"
    );
    assert_eq!(table(&place, "drivers").rows.len(), 6);
    assert!(place.path("out/iracing/session/b.yaml").exists());
    // One recording is told by its tables, of several it could be either.
    let says_session = |inputs: &[&str], folder: &str| {
        place.succeed(&[&["convert"], inputs, &["-o", folder]].concat());
        let file = &place.files(folder)["iracing/ticks.parquet"];
        let key = b"simtel.session_string";
        file.windows(key.len()).any(|bytes| bytes == key)
    };
    assert!(says_session(&["a.ibt"], "one"));
    assert!(!says_session(&["a.ibt", "b.ibt"], "two"));
    let files = place.files("out");
    let schema: Value = serde_json::from_slice(&files["iracing/schema.json"]).expect("JSON");
    let columns = schema["tables"]["ticks"]["columns"]
        .as_array()
        .expect("columns");
    let column = |name: &str| columns.iter().find(|column| column["name"] == name);
    assert_eq!(column("AirTemp").expect("a column")["unit"], "C | F");
    assert_eq!(column("EngineWarnings").expect("a column")["type"], "int64");

    // Whatever the number of threads, and beside other captures.
    let mixed = project_path("samples/forza_dash.pcap")
        .display()
        .to_string();
    for threads in ["1", "3"] {
        let folder = format!("mixed{threads}");
        place.succeed(&[
            "convert",
            "b.ibt",
            &mixed,
            "a.ibt",
            "-o",
            &folder,
            "--threads",
            threads,
        ]);
    }
    assert_eq!(place.files("mixed1"), place.files("mixed3"));
    assert!(place.path("mixed1/forza_dash/telemetry.parquet").exists());
}

#[test]
fn ticks_are_chosen_by_time_column_car_and_folder() {
    let place = Workplace::new();
    place.write("a.ibt", SAMPLE);
    let csv = |options: &[&str]| {
        let run = place.succeed(&[&["convert", "a.ibt", "-o", "-", "-f", "csv"], options].concat());
        Table::parse(&run.stdout)
    };
    let ticks = csv(&[
        "-t",
        "ticks",
        "--from",
        "500ms",
        "--until",
        "1s",
        "--columns",
        "Speed,Lap*",
    ]);
    assert_eq!(ticks.rows.len(), 30);
    assert_eq!(
        ticks.columns[4..],
        ["Lap", "LapDist", "LapDistPct", "Speed"].map(String::from)
    );
    assert_eq!(ticks.cell(0, "SessionTick"), "18030");
    let cars = csv(&["-t", "cars", "--cars", "player"]);
    assert!(cars.column("CarIdx").iter().all(|car| *car == "2"));
    assert_eq!(cars.rows.len(), 120);
    let cars = csv(&["-t", "cars", "--cars", "active"]);
    assert_eq!(cars.column("CarIdx")[..10], ["2"; 10]);
    assert_eq!(cars.column("CarIdx")[10..12], ["2", "3"]);

    place.succeed(&[
        "convert",
        "a.ibt",
        "-o",
        "lake",
        "-f",
        "csv",
        "--partition-by",
        "SessionNum,capture",
    ]);
    let files = place.files("lake");
    assert!(
        files.contains_key("iracing/ticks/SessionNum=1/capture=a.ibt/part-0.csv"),
        "{:?}",
        files.keys()
    );
    assert!(
        files.contains_key("iracing/drivers/capture=a.ibt/part-0.csv"),
        "{:?}",
        files.keys()
    );

    let run = place.run(&["convert", "a.ibt", "-o", "x", "--columns", "Sped"]);
    assert!(run.stderr.contains("did you mean Speed?"), "{}", run.stderr);
    let run = place.run(&["convert", "a.ibt", "-o", "x.csv"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    place.succeed(&["convert", "a.ibt", "-o", "only", "-t", "ticks"]);
    assert_eq!(place.files("only").len(), 1);
}

#[test]
fn packed_and_piped_recordings_give_the_same() {
    use std::io::Write as _;
    let place = Workplace::new();
    place.write("plain.ibt", SAMPLE);
    place.write("packed", zstd::bulk::compress(SAMPLE, 3).expect("zstd"));
    for (input, out) in [("plain.ibt", "a"), ("packed", "b")] {
        place.succeed(&["convert", input, "-o", out, "-f", "ndjson"]);
    }
    assert_eq!(place.files("a"), place.files("b"));
    let mut command = place.command(&["convert", "-", "-o", "c", "-f", "ndjson"]);
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("simtel");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(SAMPLE)
        .expect("all is read");
    assert!(child.wait().expect("an end").success());
    assert_eq!(place.files("a"), place.files("c"));
    // A folder finds it by its content.
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place.write("folder/nameless", SAMPLE);
    place.succeed(&["convert", "folder", "-o", "d"]);
    let again = place.run(&["convert", "folder", "-o", "d"]);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
}

#[test]
fn arrays_beyond_measure_are_left_out() {
    // A record of 100,000 bools would be as many columns.
    let (first, length) = (word(SAMPLE, BUF_OFFSET), word(SAMPLE, BUF_LEN));
    let mut bytes = SAMPLE[..first].to_vec();
    for record in SAMPLE[first..].chunks(length).take(3) {
        bytes.extend(record);
        bytes.resize(bytes.len() + 100_000, 1);
    }
    let bytes = with_word(&bytes, BUF_LEN, (length + 100_000) as i32);
    let bytes = with_word(&bytes, RECORD_COUNT, 3);
    let at = variable(&bytes, "NotANumber");
    let bytes = with_word(&bytes, at, 1);
    let bytes = with_word(&bytes, at + 4, length as i32);
    let (place, run) = convert(&with_word(&bytes, at + 8, 100_000));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("NotANumber has 100000 values"),
        "{}",
        run.stderr
    );
    assert_eq!(
        table(&place, "ticks").column("SessionTick"),
        ["18000", "18001", "18002"]
    );
}

#[test]
fn damage_of_packed_recordings_is_told() {
    use std::io::Write as _;
    let place = Workplace::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packer.write_all(SAMPLE).expect("memory");
    let mut packed = packer.finish().expect("memory");
    place.write("sound.gz", &packed);
    place.succeed(&["convert", "sound.gz", "-o", "a"]);
    let middle = packed.len() / 2;
    packed[middle] ^= 1;
    place.write("flipped.gz", &packed);
    place.write("cut.gz", &packed[..middle]);
    for (file, folder) in [("flipped.gz", "b"), ("cut.gz", "c")] {
        let run = place.run(&["convert", file, "-o", folder]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(
            run.stderr.contains("the compressed data is cut or damaged"),
            "{}",
            run.stderr
        );
        assert_eq!(place.run(&["convert", file, "-o", "d", "--strict"]).code, 1);
    }
}

#[test]
fn partitions_are_what_all_recordings_have() {
    let place = Workplace::new();
    place.write("a.ibt", SAMPLE);
    place.write(
        "float.ibt",
        with_word(SAMPLE, variable(SAMPLE, "SessionNum"), 4),
    );
    for inputs in [["a.ibt", "float.ibt"], ["float.ibt", "a.ibt"]] {
        let options = ["-o", "out", "--partition-by", "SessionNum"];
        let run = place.run(&[&["convert"], &inputs[..], &options].concat());
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(
            run.stderr.contains("cannot be partitioned by SessionNum"),
            "{}",
            run.stderr
        );
    }
    // A lake grows by one recording at a time.
    let lake = |file: &str| {
        place.succeed(&[
            "convert",
            file,
            "-o",
            "lake",
            "--partition-by",
            "capture",
            "--skip-existing",
        ])
    };
    lake("a.ibt");
    lake("float.ibt");
    for name in ["a", "float"] {
        assert!(
            place
                .path(&format!("lake/iracing/session/{name}.yaml"))
                .exists()
        );
    }
    place.succeed(&["convert", "a.ibt", "-o", "text", "-t", "session"]);
    let files = place.files("text");
    assert_eq!(files.keys().collect::<Vec<_>>(), ["iracing/session.yaml"]);
}

#[test]
fn recordings_without_ticks_in_the_range_say_so() {
    let place = Workplace::new();
    place.write("a.ibt", SAMPLE);
    let run = place.run(&["convert", "a.ibt", "-o", "out", "--from", "1h"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr
            .contains("all 120 ticks are outside of the time range"),
        "{}",
        run.stderr
    );
    let no_player = with_word(
        SAMPLE,
        variable(SAMPLE, "PlayerCarIdx") + 16,
        i32::from_le_bytes(*b"Some"),
    );
    place.write("b.ibt", no_player);
    let run = place.succeed(&[
        "convert", "b.ibt", "-o", "b", "-f", "csv", "--cars", "player",
    ]);
    assert!(
        run.stderr.contains("there is no PlayerCarIdx"),
        "{}",
        run.stderr
    );
    let out = [
        "convert", "b.ibt", "-o", "-", "-f", "csv", "-t", "cars", "--cars", "active",
    ];
    let cars = Table::parse(&place.succeed(&out).stdout);
    assert_eq!(cars.column("CarIdx")[10..12], ["2", "3"]);
}

#[test]
fn older_files_and_odd_names_are_read_too() {
    let (place, run) = convert(&with_word(SAMPLE, 0, 1));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(table(&place, "ticks").rows.len(), 120);
    // Variables that are named as simtel's own columns, or as a value of an array.
    let mut odd = SAMPLE.to_vec();
    for (name, other) in [
        ("Speed", "capture_time"),
        ("RPM", "TireWear_1"),
        ("LatAccel", "SubTick"),
    ] {
        let at = variable(SAMPLE, name) + 16;
        odd[at..at + 32].fill(0);
        odd[at..at + other.len()].copy_from_slice(other.as_bytes());
    }
    let (place, run) = convert(&odd);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let ticks = table(&place, "ticks");
    assert_eq!(ticks.cell(0, "capture_time_"), "37.653484");
    assert_eq!(
        (ticks.cell(0, "TireWear_1"), ticks.cell(0, "TireWear_1_")),
        ("5259.209", "0.8125")
    );
    assert_eq!(table(&place, "subticks").cell(0, "SubTick_"), "11.85226");
}

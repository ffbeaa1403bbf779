//! The command line as a user meets it: outputs, options, messages, exit codes.

use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{SAMPLE, Table, Workplace, ethernet, ipv4, pcap_of, sample_path};

/// Runs `simtel convert SAMPLE -o out` with more arguments, and succeeds.
fn convert(arguments: &[&str]) -> Workplace {
    let place = Workplace::new();
    let sample = sample_path();
    let mut all = vec!["convert", &sample, "-o", "out"];
    all.extend(arguments);
    place.succeed(&all);
    place
}

/// The payloads of the sample.
fn sample_payloads() -> Vec<Vec<u8>> {
    payloads_of(SAMPLE.to_vec())
}

fn payloads_of(capture: Vec<u8>) -> Vec<Vec<u8>> {
    let stream = std::io::Cursor::new(capture);
    let capture = simtel::capture::Capture::from_reader("sample", Box::new(stream), None);
    let mut capture = capture.expect("a capture");
    let mut payloads = Vec::new();
    while let Some(datagram) = capture.next_datagram().expect("readable") {
        payloads.push(datagram.payload.to_vec());
    }
    payloads
}

fn lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).expect("UTF-8");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn the_output_does_not_depend_on_the_number_of_threads() {
    let place = Workplace::new();
    let payloads = sample_payloads();
    // Enough for several batches of most tables.
    let many: Vec<Vec<u8>> = std::iter::repeat_n(payloads, 60).flatten().collect();
    place.write("many.pcap", pcap_of(&many));
    for format in ["csv", "ndjson", "arrow", "parquet"] {
        let mut first = None;
        for threads in ["1", "2", "7"] {
            let out = format!("{format}-{threads}");
            place.succeed(&[
                "convert",
                "many.pcap",
                "-o",
                &out,
                "-f",
                format,
                "--threads",
                threads,
            ]);
            let files = place.files(&out);
            assert!(files.len() >= 23);
            match &first {
                None => first = Some(files),
                Some(first) => assert!(*first == files, "{format} with {threads} threads"),
            }
        }
    }
}

#[test]
fn all_formats_hold_the_same_values() {
    let csv = convert(&["-f", "csv", "--tables", "car_telemetry,participants,events"]);
    let ndjson = convert(&[
        "-f",
        "ndjson",
        "--tables",
        "car_telemetry,participants,events",
    ]);
    let json = convert(&[
        "-f",
        "json",
        "--tables",
        "car_telemetry,participants,events",
    ]);
    for table in ["car_telemetry", "participants", "events"] {
        let rows = csv.table(table);
        let ndjson = &ndjson.files("out")[&format!("f1_2025/{table}.ndjson")];
        let objects = lines(ndjson);
        let array = &json.files("out")[&format!("f1_2025/{table}.json")];
        let array: Value = serde_json::from_slice(array).expect("one JSON value");
        assert_eq!(array, Value::Array(objects.clone()), "{table}");
        assert_eq!(objects.len(), rows.rows.len(), "{table}");
        for (row, object) in objects.iter().enumerate() {
            for column in &rows.columns {
                let cell = rows.cell(row, column);
                let value = match &object[column] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    number => {
                        // serde_json prints the f64 that it has parsed.
                        let number = number.as_f64().expect("a number");
                        assert_eq!(cell.parse::<f64>().ok(), Some(number), "{table}.{column}");
                        continue;
                    }
                };
                assert_eq!(cell, value, "{table}.{column}");
            }
        }
        assert!(
            objects[0]["session_uid"].is_string(),
            "64-bit ids are strings"
        );
    }
}

#[test]
fn numbers_that_are_not_finite_are_null_in_json() {
    let mut packet = sample_payloads()
        .into_iter()
        .find(|payload| payload.len() == 1_352)
        .expect("car telemetry");
    // Throttle, steer and brake of the first car.
    packet[31..35].copy_from_slice(&f32::NAN.to_le_bytes());
    packet[35..39].copy_from_slice(&f32::INFINITY.to_le_bytes());
    packet[39..43].copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
    let place = Workplace::new();
    place.write("odd.pcap", pcap_of(&[packet]));
    place.succeed(&["convert", "odd.pcap", "-o", "out", "-f", "csv"]);
    let table = place.table("car_telemetry");
    assert_eq!(table.cell(0, "throttle"), "NaN");
    assert_eq!(table.cell(0, "steer"), "inf");
    assert_eq!(table.cell(0, "brake"), "-inf");
    place.succeed(&[
        "convert",
        "odd.pcap",
        "-o",
        "x.ndjson",
        "-t",
        "car_telemetry",
    ]);
    let objects = lines(&std::fs::read(place.path("x.ndjson")).expect("a file"));
    for column in ["throttle", "steer", "brake"] {
        assert!(objects[0][column].is_null(), "{column}");
        assert!(objects[1][column].is_number(), "{column}");
    }
}

#[test]
fn one_table_goes_to_a_file_or_to_standard_output() {
    let place = Workplace::new();
    let sample = sample_path();
    place.succeed(&["convert", &sample, "-o", "laps.csv", "--tables", "lap_data"]);
    let file = std::fs::read(place.path("laps.csv")).expect("a file");
    assert!(place.path("laps.csv.schema.json").exists());
    let run = place.succeed(&[
        "convert",
        &sample,
        "-o",
        "-",
        "--tables",
        "f1_2025/lap_data",
        "-f",
        "csv",
    ]);
    assert_eq!(run.stdout, file);
    // Standard input works, too, compressed or not.
    let mut child = place
        .command(&[
            "convert", "-", "-o", "-", "--tables", "lap_data", "-f", "csv", "-q",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("simtel runs");
    let mut stdin = child.stdin.take().expect("standard input");
    let packed = zstd::bulk::compress(SAMPLE, 1).expect("zstd");
    let writer = std::thread::spawn(move || stdin.write_all(&packed));
    let output = child.wait_with_output().expect("simtel ends");
    writer.join().expect("a thread").expect("all is read");
    assert!(output.status.success());
    assert_eq!(output.stdout, file);

    let run = place.run(&["convert", &sample, "-o", "all.csv"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("one file or stream holds one table"),
        "{}",
        run.stderr
    );
    assert!(!place.path("all.csv").exists());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Workplace::new();
    let many: Vec<Vec<u8>> = std::iter::repeat_n(sample_payloads(), 20)
        .flatten()
        .collect();
    place.write("many.pcap", pcap_of(&many));
    let mut child = place
        .command(&[
            "convert",
            "many.pcap",
            "-o",
            "-",
            "-t",
            "motion",
            "-f",
            "ndjson",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("simtel runs");
    let mut stdout = child.stdout.take().expect("standard output");
    stdout.read_exact(&mut [0; 100]).expect("a beginning");
    drop(stdout);
    let output = child.wait_with_output().expect("simtel ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn files_that_exist_are_kept_unless_forced() {
    let place = convert(&["--tables", "events"]);
    let sample = sample_path();
    let before = place.files("out");
    let run = place.run(&["convert", &sample, "-o", "out"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("events.parquet exists already"),
        "{}",
        run.stderr
    );
    assert_eq!(place.files("out"), before);

    std::fs::write(place.path("out/f1_2025/events.parquet"), "mine").expect("a file");
    let run = place.succeed(&["convert", &sample, "-o", "out", "--skip-existing"]);
    assert!(run.stderr.contains("left alone"), "{}", run.stderr);
    let files = place.files("out");
    assert_eq!(files.len(), 23);
    assert_eq!(files["f1_2025/events.parquet"], b"mine");

    place.succeed(&["convert", &sample, "-o", "out", "--force"]);
    assert_eq!(place.files("out")["f1_2025/events.parquet"][..4], *b"PAR1");
    let leftovers = place
        .files("out")
        .keys()
        .filter(|name| name.contains(".part"))
        .count();
    assert_eq!(leftovers, 0);
}

#[test]
fn an_output_never_replaces_its_input() {
    let place = Workplace::new();
    place.write("x.csv", SAMPLE);
    let run = place.run(&["convert", "x.csv", "-o", "x.csv", "-t", "events", "--force"]);
    assert_eq!(run.code, 2);
    assert_eq!(std::fs::read(place.path("x.csv")).expect("a file"), SAMPLE);
}

#[cfg(unix)]
#[test]
fn an_output_that_cannot_be_written_is_named() {
    let place = Workplace::new();
    place.write("file", "in the way");
    let run = place.run(&["convert", &sample_path(), "-o", "file/out"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("cannot write file/out"),
        "{}",
        run.stderr
    );
}

#[test]
fn what_is_not_recognised_is_counted_and_named() {
    let mut payloads = sample_payloads();
    let total = payloads.len();
    let telemetry = payloads.iter().position(|payload| payload.len() == 1_352);
    let telemetry = telemetry.expect("car telemetry");
    // Too long, too short, an unknown id, and no F1 at all.
    payloads[telemetry].push(0);
    payloads.push(payloads[telemetry][..1_000].to_vec());
    let mut unknown = payloads[telemetry].clone();
    unknown[6] = 99;
    payloads.push(unknown);
    payloads.push(vec![0xAB; 500]);
    payloads.push(vec![0xAB; 500]);
    let place = Workplace::new();
    place.write("mixed.pcap", pcap_of(&payloads));
    let run = place.run(&["convert", "mixed.pcap", "-o", "out", "--json"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    let input = &report["inputs"][0];
    assert_eq!(input["datagrams"], total + 4);
    assert_eq!(input["decoded"], total - 1);
    assert_eq!(input["refused"], 5);
    let refusals = input["refusals"].as_array().expect("a list");
    let refusal = |reason: &str, length: u64| {
        refusals
            .iter()
            .find(|refusal| refusal["reason"] == reason && refusal["length"] == length)
            .unwrap_or_else(|| panic!("no {reason} {length} in {refusals:?}"))
    };
    assert_eq!(refusal("unexpected_length", 1_353)["expected"], 1_352);
    assert_eq!(refusal("unexpected_length", 1_353)["decoded"], false);
    assert_eq!(
        refusal("unexpected_length", 1_000)["packet"],
        "CarTelemetry"
    );
    assert_eq!(refusal("unknown_packet", 1_353)["packet_id"], 99);
    assert_eq!(refusal("unrecognised", 500)["count"], 2);
    assert_eq!(refusal("unrecognised", 500)["port"], 20_777);
    let bytes = refusal("unrecognised", 500)["first_bytes"]
        .as_str()
        .expect("text");
    assert!(bytes.starts_with("ab ab ab"));

    let run = place.run(&[
        "convert",
        "mixed.pcap",
        "-o",
        "lenient",
        "--lenient",
        "-f",
        "csv",
    ]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("only the known beginning was decoded"),
        "{}",
        run.stderr
    );
    let strict = place.run(&["convert", "mixed.pcap", "-o", "strict", "--strict"]);
    assert_eq!(strict.code, 1);
    assert!(
        strict.stderr.contains("unexpected length"),
        "{}",
        strict.stderr
    );
    assert_eq!(place.files("strict").len(), 0);
}

#[test]
fn a_capture_without_telemetry_says_so() {
    let place = Workplace::new();
    place.write("dns.pcap", pcap_of(&[vec![1; 60], vec![2; 60]]));
    let run = place.run(&["convert", "dns.pcap", "-o", "out"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("no telemetry was found"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("none of 2 UDP datagrams is known"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("F1 25"), "{}", run.stderr);
    assert!(!place.path("out").exists());
    let run = place.run(&[
        "convert",
        "dns.pcap",
        "-o",
        "out",
        "--keep-empty",
        "-f",
        "csv",
    ]);
    assert_eq!(run.code, 3);
    assert_eq!(place.table("lap_data").rows.len(), 0);
    assert!(
        place
            .table("lap_data")
            .columns
            .contains(&"lap_distance".into())
    );
}

#[test]
fn keep_empty_adds_the_tables_without_rows() {
    let place = Workplace::new();
    let events: Vec<Vec<u8>> = sample_payloads()
        .into_iter()
        .filter(|payload| payload.len() == 45)
        .collect();
    place.write("events.pcap", pcap_of(&events));
    place.succeed(&["convert", "events.pcap", "-o", "few"]);
    assert_eq!(place.files("few").len(), 1);
    for format in ["parquet", "csv", "json", "ndjson", "arrow"] {
        let out = format!("all-{format}");
        place.succeed(&[
            "convert",
            "events.pcap",
            "-o",
            &out,
            "-f",
            format,
            "--keep-empty",
        ]);
        let files = place.files(&out);
        let tables = files
            .keys()
            .filter(|name| !name.ends_with("schema.json"))
            .count();
        assert_eq!(tables, 23, "{format}");
        if format == "json" {
            let empty = &files["f1_2025/motion.json"];
            let empty: Value = serde_json::from_slice(empty).expect("JSON");
            assert_eq!(empty, Value::Array(Vec::new()));
        }
    }
}

#[test]
fn columns_are_chosen_by_pattern_and_keys_stay() {
    let place = convert(&[
        "-f",
        "csv",
        "--columns",
        "speed,tyres_*temperature_f?,!session_time",
    ]);
    let names = [
        "capture_time",
        "session_uid",
        "frame_identifier",
        "overall_frame_identifier",
        "player_car_index",
        "secondary_player_car_index",
        "car_index",
        "speed",
        "tyres_surface_temperature_fl",
        "tyres_surface_temperature_fr",
        "tyres_inner_temperature_fl",
        "tyres_inner_temperature_fr",
    ];
    assert_eq!(place.table("car_telemetry").columns, names);
    // Only the events have one of these columns as well.
    let files = place.files("out");
    let mut tables: Vec<&str> = files.keys().map(String::as_str).collect();
    tables.sort_unstable();
    assert_eq!(
        tables,
        [
            "f1_2025/car_telemetry.csv",
            "f1_2025/events.csv",
            "f1_2025/schema.json"
        ]
    );
}

#[test]
fn misspelt_names_are_refused_with_a_hint() {
    let place = Workplace::new();
    let sample = sample_path();
    for (arguments, hint) in [
        (["--tables", "car"], "did you mean car_"),
        (["--tables", "xyzzy"], "there is no table xyzzy"),
        (["--tables", "car_telemtry"], "did you mean car_telemetry?"),
        (["--tables", "LAP-DATA"], "did you mean lap_data?"),
        (["--columns", "SPEED"], "did you mean speed?"),
        (["--columns", "car_index,session_uid"], "need not be named"),
        (["--columns", "!*"], "need not be named"),
        (
            ["--partition-by", "car_index"],
            "it must be one of capture, session_uid",
        ),
        (["--compression", "brotli"], "known are zstd"),
        (["--compression", "lz4:3"], "lz4 has no levels"),
        (["--from", "soon"], "1m30s"),
    ] {
        let run = place.run(&[&["convert", &sample, "-o", "out"][..], &arguments].concat());
        assert_ne!(run.code, 0, "{arguments:?}");
        assert!(run.stderr.contains(hint), "{arguments:?}: {}", run.stderr);
    }
    let run = place.run(&[
        "convert",
        &sample,
        "-o",
        "out",
        "-f",
        "csv",
        "--compression",
        "snappy",
    ]);
    assert_eq!(run.code, 2);
    let run = place.run(&["convert", "nowhere.pcap", "-o", "out"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("nowhere.pcap: no such file"),
        "{}",
        run.stderr
    );
    let run = place.run(&["convert"]);
    assert_eq!(run.code, 2);
}

#[test]
fn cars_can_be_narrowed_down() {
    let all = convert(&["-f", "csv"]);
    let player = convert(&["-f", "csv", "--cars", "player"]);
    let active = convert(&["-f", "csv", "--cars", "active"]);
    let telemetry = player.table("car_telemetry");
    assert_eq!(
        telemetry.rows.len() * 22,
        all.table("car_telemetry").rows.len()
    );
    assert_eq!(
        telemetry.column("car_index"),
        telemetry.column("player_car_index")
    );
    // Packets about one car at a time.
    let history = player.table("session_history");
    assert_eq!(
        history.column("car_index"),
        history.column("player_car_index")
    );
    assert!(history.rows.len() < all.table("session_history").rows.len());
    // Tables without cars are as they were.
    assert_eq!(player.table("events").rows, all.table("events").rows);
    assert_eq!(player.table("motion_ex").rows, all.table("motion_ex").rows);
    // Cars 20 and 21 never take part.
    let cars = active.table("lap_data");
    let highest = cars
        .column("car_index")
        .into_iter()
        .map(|car| car.parse::<u32>());
    assert_eq!(highest.flatten().max(), Some(19));
    assert_eq!(cars.rows.len(), all.table("lap_data").rows.len() / 22 * 20);
}

#[test]
fn a_time_range_counts_from_the_first_packet_or_is_absolute() {
    let all = convert(&["-f", "csv"]);
    let times = all.table("car_telemetry");
    let times = times.column("capture_time");
    let late = convert(&["-f", "csv", "--from", "3s"]);
    let late = late.table("car_telemetry");
    let kept = times
        .iter()
        .filter(|time| **time >= "2025-07-06T14:00:03.000012345Z");
    assert_eq!(late.rows.len(), kept.count());
    let window = convert(&[
        "-f",
        "csv",
        "--from",
        "2025-07-06T14:00:02Z",
        "--until",
        "2025-07-06T16:00:03+02:00",
    ]);
    let window = window.table("car_telemetry");
    let kept: Vec<&&str> = times
        .iter()
        .filter(|time| ("2025-07-06T14:00:02".."2025-07-06T14:00:03").contains(*time))
        .collect();
    assert!(!kept.is_empty());
    assert_eq!(window.rows.len(), kept.len());
    let place = Workplace::new();
    let run = place.run(&["convert", &sample_path(), "-o", "out", "--from", "1h"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("are outside it"), "{}", run.stderr);
}

#[test]
fn several_inputs_share_tables_and_are_told_apart() {
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("captures/deeper")).expect("folders");
    place.write("captures/a.pcap", SAMPLE);
    place.write(
        "captures/deeper/b.bin",
        zstd::bulk::compress(SAMPLE, 1).expect("zstd"),
    );
    place.write("captures/notes.txt", "not a capture");
    place.succeed(&["convert", "captures", "-o", "out", "-f", "csv"]);
    let table = place.table("car_telemetry");
    assert_eq!(table.columns[0], "capture");
    let single = convert(&["-f", "csv"]).table("car_telemetry");
    let count = single.rows.len();
    assert_eq!(table.rows.len(), 2 * count);
    let a = format!("captures{}a.pcap", std::path::MAIN_SEPARATOR);
    assert_eq!(table.cell(0, "capture"), a);
    assert!(table.cell(count, "capture").ends_with("b.bin"));
    for (both, one) in table
        .rows
        .iter()
        .zip(single.rows.iter().chain(&single.rows))
    {
        assert_eq!(both[1..], one[..]);
    }
    // A glob that the shell has not expanded, and a bad file among good ones.
    let run = place.run(&["convert", "captures/*", "-o", "two", "-f", "csv"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("notes.txt: not a capture"),
        "{}",
        run.stderr
    );
    let run = place.run(&[
        "convert",
        "captures/notes.txt",
        "captures/*.txt",
        "-o",
        "none",
    ]);
    assert_eq!(run.code, 1);
}

#[test]
fn partitions_become_folders() {
    let place = convert(&[
        "-f",
        "csv",
        "--partition-by",
        "session_uid",
        "-t",
        "car_telemetry,events",
    ]);
    let files = place.files("out");
    let partition = |session: u64| {
        let name = format!("f1_2025/car_telemetry/session_uid={session}/part-0.csv");
        Table::parse(&files[&name])
    };
    let race = partition(0x8F3A_5C17_D204_B96E);
    let trial = partition(0x17E6_02C4_55AA_90D1);
    assert!(!race.columns.contains(&"session_uid".into()));
    let all = convert(&["-f", "csv"]).table("car_telemetry");
    assert_eq!(race.rows.len() + trial.rows.len(), all.rows.len());
    let run = place.run(&["convert", &sample_path(), "-o", "out", "-f", "csv"]);
    assert_eq!(run.code, 1, "the partitioned tables exist already");
}

#[test]
fn fragments_and_whole_datagrams_make_one_table() {
    let payloads = sample_payloads();
    let telemetry: Vec<&Vec<u8>> = payloads.iter().filter(|p| p.len() == 1_352).collect();
    let mut frames = Vec::new();
    for (number, payload) in telemetry.iter().enumerate() {
        let packet = ipv4(payload);
        if number % 3 != 1 {
            frames.push(ethernet(&packet));
            continue;
        }
        let (header, body) = packet.split_at(20);
        for (start, end, more) in [(0, 800, 0x2000), (800, body.len(), 0)] {
            let mut header = header.to_vec();
            header[2..4].copy_from_slice(&((20 + end - start) as u16).to_be_bytes());
            header[4..6].copy_from_slice(&(number as u16 + 1).to_be_bytes());
            header[6..8].copy_from_slice(&((start / 8) as u16 | more).to_be_bytes());
            frames.push(ethernet(&[&header, &body[start..end]].concat()));
        }
    }
    let place = Workplace::new();
    place.write("fragments.pcap", crate::support::pcap(&frames));
    place.succeed(&["convert", "fragments.pcap", "-o", "out", "-f", "csv"]);
    let mixed = place.table("car_telemetry");
    let whole = convert(&["-f", "csv"]).table("car_telemetry");
    assert_eq!(mixed.rows.len(), whole.rows.len());
    for (mixed, whole) in mixed.rows.iter().zip(&whole.rows) {
        // The capture's times differ.
        assert_eq!(mixed[1..], whole[1..]);
    }
}

#[test]
fn text_outputs_can_be_compressed() {
    let plain = convert(&["-f", "csv", "-t", "events"]);
    let plain = &plain.files("out")["f1_2025/events.csv"];
    let gzip = convert(&["-f", "csv", "-t", "events", "--compression", "gzip"]);
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&gzip.files("out")["f1_2025/events.csv.gz"][..])
        .read_to_end(&mut text)
        .expect("gzip");
    assert_eq!(&text, plain);
    let zstd = convert(&["-f", "csv", "-t", "events", "--compression", "zstd:9"]);
    let text = zstd::stream::decode_all(&zstd.files("out")["f1_2025/events.csv.zst"][..]);
    assert_eq!(&text.expect("zstd"), plain);
}

#[test]
fn quiet_is_quiet_and_colours_obey() {
    let place = Workplace::new();
    let sample = sample_path();
    let run = place.succeed(&["convert", &sample, "-o", "a", "-q"]);
    assert_eq!((run.stderr.as_str(), run.stdout.len()), ("", 0));
    let run = place.succeed(&["convert", &sample, "-o", "b"]);
    assert!(!run.stderr.contains('\u{1b}'), "no colours in a pipe");
    assert!(run.stderr.contains("23 tables"), "{}", run.stderr);
    let run = place.succeed(&["convert", &sample, "-o", "c", "--color", "always"]);
    assert!(run.stderr.contains('\u{1b}'));
    let run = place.succeed(&["convert", &sample, "-o", "d", "--json"]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    assert_eq!(report["schema_version"], 1);
    assert_eq!(report["tables"].as_array().map(Vec::len), Some(23));
}

#[test]
fn outputs_that_can_only_be_a_mistake_are_refused() {
    let place = Workplace::new();
    let sample = sample_path();
    place.write("file", "in the way");
    for (arguments, message) in [
        (&["-o", "file"][..], "file is a file"),
        (
            &["-o", "laps.xlsx", "-t", "lap_data"],
            "the ending of no output",
        ),
        (
            &["-o", "laps.parquet.gz", "-t", "lap_data"],
            "compressed twice",
        ),
        (
            &["-o", "-", "-f", "csv"],
            "one file or stream holds one table",
        ),
        (
            &["-o", "out", "--from", "5s", "--until", "5s"],
            "later than --from",
        ),
        (
            &["-o", "out", "--partition-by", "speed"],
            "it must be one of capture",
        ),
    ] {
        let run = place.run(&[&["convert", &sample][..], arguments].concat());
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(message),
            "{arguments:?}: {}",
            run.stderr
        );
    }
    assert!(!place.path("out").exists());
}

#[test]
fn a_table_without_rows_is_written_only_when_asked_for() {
    let place = Workplace::new();
    // Participants without colours: the table of colours gets no row.
    let mut packet = sample_payloads()
        .into_iter()
        .find(|payload| payload.len() == 1_284)
        .expect("participants");
    for car in 0..22 {
        packet[30 + car * 57 + 44] = 0;
    }
    place.write("plain.pcap", pcap_of(&[packet]));
    place.succeed(&["convert", "plain.pcap", "-o", "out"]);
    assert_eq!(place.files("out").len(), 1);
    place.succeed(&["convert", "plain.pcap", "-o", "all", "--keep-empty"]);
    assert_eq!(place.files("all").len(), 23);
    let table = "participants_livery_colours";
    let run = place.succeed(&["convert", "plain.pcap", "-o", "x.csv", "-t", table]);
    assert!(run.stderr.contains("--keep-empty"), "{}", run.stderr);
    assert!(!place.path("x.csv").exists());
}

#[test]
fn a_capture_that_is_named_twice_is_read_once() {
    let place = Workplace::new();
    place.write("a.pcap", SAMPLE);
    let arguments = [
        "convert", "a.pcap", "./a.pcap", ".", "-o", "out", "-f", "csv",
    ];
    place.succeed(&arguments);
    let single = convert(&["-f", "csv"]);
    assert_eq!(place.table("events").rows, single.table("events").rows);
}

#[test]
fn a_damaged_capture_in_a_folder_is_reported() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place.write("folder/a.pcap", SAMPLE);
    place.write("folder/short.pcap", &SAMPLE[..20]);
    place.write("folder/notes.txt", "not a capture");
    let run = place.run(&["convert", "folder", "-o", "out"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("short.pcap"), "{}", run.stderr);
    assert!(!run.stderr.contains("notes.txt"), "{}", run.stderr);
}

#[test]
fn each_partition_counts_its_own_rows() {
    let place = Workplace::new();
    let sample = sample_path();
    let mut arguments = vec!["convert", &sample, "-o", "out", "-t", "lap_data", "--json"];
    arguments.extend(["-f", "csv", "--partition-by", "session_uid"]);
    let run = place.succeed(&arguments);
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    let tables = report["tables"].as_array().expect("tables");
    assert_eq!(tables.len(), 2);
    for table in tables {
        let path = place.path(table["path"].as_str().expect("a path"));
        let rows = Table::parse(&std::fs::read(path).expect("a file"))
            .rows
            .len();
        assert_eq!(table["rows"], rows);
    }
}

#[test]
fn offsets_count_from_the_first_packet_whatever_it_is() {
    let payloads = sample_payloads();
    let mut frames = vec![b"not a datagram".to_vec(); 100];
    frames.extend(payloads.iter().map(|payload| ethernet(&ipv4(payload))));
    let place = Workplace::new();
    place.write("late.pcap", crate::support::pcap(&frames));
    place.succeed(&["convert", "late.pcap", "-o", "out", "-f", "csv"]);
    let all = place.table("car_telemetry").rows.len();
    // Packets are a hundredth of a second apart: the first second has no datagram.
    let run = place.run(&["convert", "late.pcap", "-o", "none", "--until", "1s"]);
    assert_eq!(run.code, 3);
    place.succeed(&[
        "convert",
        "late.pcap",
        "-o",
        "same",
        "-f",
        "csv",
        "--from",
        "1s",
    ]);
    let same = &place.files("same")["f1_2025/car_telemetry.csv"];
    assert_eq!(Table::parse(same).rows.len(), all);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_live_capture_but_keeps_it() {
    let place = Workplace::new();
    let mut child = place
        .command(&["convert", "-", "-o", "out", "-f", "csv"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("simtel runs");
    let mut stdin = child.stdin.take().expect("standard input");
    stdin.write_all(SAMPLE).expect("all is read");
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
    drop(stdin);
    let output = child.wait_with_output().expect("simtel ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let single = convert(&["-f", "csv"]);
    assert_eq!(place.table("events").rows, single.table("events").rows);
}

#[test]
fn schema_describes_formats_tables_and_columns() {
    let place = Workplace::new();
    let said = |arguments: &[&str]| {
        let run = place.succeed(&[&["schema"], arguments].concat());
        String::from_utf8(run.stdout).expect("text")
    };
    assert!(said(&[]).contains("f1_2018"));
    let table = said(&["f1_2025/car_telemetry"]);
    assert!(table.lines().any(|line| {
        line.split_whitespace().collect::<Vec<_>>() == ["speed", "uint16", "km/h"]
    }));
    assert!(!table.contains("lap_distance"));
    let schema: Value = serde_json::from_str(&said(&["f1_2025", "--json"])).expect("JSON");
    assert_eq!(schema["tables"].as_array().map(Vec::len), Some(23));
    assert_eq!(schema["enums"]["Weather"]["5"], "storm");
    assert_eq!(schema["packets"][6]["bytes"], 1_352);
    for (name, hint) in [
        ("f1_2031", "there is no format f1_2031; did you mean f1_20"),
        (
            "f1_2025/laps",
            "there is no table laps; did you mean session_history_laps?",
        ),
    ] {
        let run = place.run(&["schema", name]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains(hint), "{}", run.stderr);
    }
}

#[test]
fn schema_of_a_capture_is_that_of_its_conversion() {
    let place = Workplace::new();
    let mut formats = Vec::new();
    for (sample, kind) in [
        ("f1_2019", "pcap"),
        ("forza_sled", "pcap"),
        ("iracing", "ibt"),
    ] {
        let name = format!("{sample}.{kind}");
        let path = crate::support::project_path(&format!("samples/{name}"));
        place.write(&name, std::fs::read(path).expect("a sample"));
        formats.push((sample, name));
    }
    let all: Vec<&str> = formats.iter().map(|(_, name)| name.as_str()).collect();
    for inputs in all.iter().map(|name| vec![*name]).chain([all.clone()]) {
        for labels in [&[][..], &["--labels"]] {
            let run = place.succeed(&[&["schema", "--json"], labels, &inputs].concat());
            let shown: Value = serde_json::from_slice(&run.stdout).expect("JSON");
            let shown = match shown {
                Value::Array(shown) => shown,
                one => vec![one],
            };
            assert_eq!(shown.len(), inputs.len());
            let convert = ["convert", "-o", "out", "-f", "csv", "--force"];
            place.succeed(&[&convert, labels, &inputs].concat());
            for format in shown {
                let name = format["format"].as_str().expect("a format");
                let written = place.path(&format!("out/{name}/schema.json"));
                let written = std::fs::read(written).expect("a schema");
                let written: Value = serde_json::from_slice(&written).expect("JSON");
                let tables = format["tables"].as_array().expect("tables");
                for table in tables {
                    let name = table["table"].as_str().expect("a name");
                    let columns = &written["tables"][name]["columns"];
                    assert_eq!(table["columns"], *columns, "{name} of {inputs:?}");
                }
                let count = written["tables"].as_object().expect("tables").len();
                assert_eq!(tables.len(), count, "{name}");
            }
        }
    }
    // Its own tables are what is known of recordings in general.
    let known = place.succeed(&["schema", "iracing/cars"]).stdout;
    let known = String::from_utf8(known).expect("text");
    assert!(known.contains("CarIdxLapDistPct"), "{known}");
    let nothing = place.write("empty.pcap", pcap_of(&[]));
    let run = place.run(&["schema", &nothing]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("no telemetry was found"),
        "{}",
        run.stderr
    );
    assert_eq!(place.run(&["schema", "missing.pcap"]).code, 1);
}

#[test]
fn schema_compares_two_formats() {
    let place = Workplace::new();
    let run = place.succeed(&["schema", "--compare", "f1_2025", "f1_2026"]);
    let text = String::from_utf8(run.stdout).expect("text");
    for line in [
        "  + CarTelemetry2",
        "  ~ Motion: 1349 bytes → 1325 bytes",
        "  + car_telemetry2",
        "  ~ g_force_lateral: float32 g → int16 g/1000",
        "  + ers_harvest_limit_per_lap",
        "  ~ 3: overtake → boost",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in {text}");
    }
    let run = place.succeed(&["schema", "--compare", "f1_2025", "f1_2025", "--json"]);
    let same: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(same["columns"], serde_json::json!({}));
    assert_eq!(same["tables"]["added"], serde_json::json!([]));
}

#[test]
fn formats_mixed_in_one_capture_are_told_apart() {
    let place = Workplace::new();
    let samples: Vec<(String, Vec<Vec<u8>>)> = (2018..=2026)
        .map(|year| {
            let path = crate::support::project_path(&format!("samples/f1_{year}.pcap"));
            let bytes = std::fs::read(path).expect("a sample");
            (format!("f1_{year}"), payloads_of(bytes))
        })
        .collect();
    // One datagram of each year in turn.
    let longest = samples.iter().map(|(_, payloads)| payloads.len()).max();
    let mixed: Vec<Vec<u8>> = (0..longest.unwrap_or(0))
        .flat_map(|turn| {
            samples
                .iter()
                .filter_map(move |(_, payloads)| payloads.get(turn))
        })
        .cloned()
        .collect();
    place.write("mixed.pcap", pcap_of(&mixed));
    let run = place.succeed(&["convert", "mixed.pcap", "-o", "out", "-f", "csv", "--json"]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    assert_eq!(report["inputs"][0]["decoded"], mixed.len());
    let files = place.files("out");
    for (format, _) in &samples {
        let sample = crate::support::project_path(&format!("samples/{format}.pcap"));
        let alone = Workplace::new();
        alone.succeed(&[
            "convert",
            &sample.display().to_string(),
            "-o",
            "out",
            "-f",
            "csv",
        ]);
        for (name, bytes) in alone.files("out") {
            if name.ends_with(".csv") {
                let (mixed, alone) = (Table::parse(&files[&name]), Table::parse(&bytes));
                // The times of the captures differ.
                let rest = |table: &Table| -> Vec<Vec<String>> {
                    table.rows.iter().map(|row| row[1..].to_vec()).collect()
                };
                assert!(rest(&mixed) == rest(&alone), "{name}");
            }
        }
    }
}

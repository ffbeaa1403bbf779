//! `simtel info`: what it says of the samples, and of captures made for it.

use serde_json::Value;

use crate::support::{
    DESTINATION, NANOSECONDS, Order, Run, SAMPLE, SOURCE, Workplace, ethernet, ipv4, ipv4_from,
    pcap, pcap_header, pcap_of, pcap_record, project_path,
};

/// The objects that it prints for these inputs.
fn objects(run: &Run) -> Vec<Value> {
    let text = String::from_utf8(run.stdout.clone()).expect("text");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect()
}

fn object(place: &Workplace, arguments: &[&str]) -> Value {
    let run = place.succeed(&[&["info", "--json"], arguments].concat());
    objects(&run).remove(0)
}

#[test]
fn every_sample() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let place = Workplace::new();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(project_path("samples")).expect("samples") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").display().to_string();
        place.write(&name, std::fs::read(&path).expect("a sample"));
        names.push(name);
    }
    names.sort();
    settings.bind(|| {
        for name in &names {
            let text = place.succeed(&["info", name]).stdout;
            let text = String::from_utf8(text).expect("text");
            insta::assert_snapshot!(format!("info__{}", name.replace('.', "_")), text);
        }
        let mut all = vec!["info"];
        all.extend(names.iter().map(String::as_str));
        let text = place.succeed(&all).stdout;
        insta::assert_snapshot!("info", String::from_utf8(text).expect("text"));
        for name in ["f1_2025.pcap", "forza_horizon.pcap", "iracing.ibt"] {
            let mut object = object(&place, &[name]);
            object["simtel"] = "…".into();
            let text = serde_json::to_string_pretty(&object).expect("JSON");
            insta::assert_snapshot!(format!("info_json__{}", name.replace('.', "_")), text);
        }
    });
}

#[test]
fn check_tells_damage_by_the_exit_status() {
    let place = Workplace::new();
    place.write("whole.pcap", SAMPLE);
    place.write("cut.pcap", &SAMPLE[..SAMPLE.len() - 100]);
    place.write("other.pcap", pcap_of(&[vec![1, 2, 3]]));
    place.write("empty.pcap", pcap(&[]));
    place.write("notes.txt", "not a capture");
    assert_eq!(place.run(&["info", "--check", "whole.pcap"]).code, 0);
    for flawed in ["cut.pcap", "other.pcap", "empty.pcap"] {
        assert_eq!(place.run(&["info", flawed]).code, 0, "{flawed}");
        assert_eq!(place.run(&["info", "--check", flawed]).code, 3, "{flawed}");
        let run = place.run(&["info", "--check", "whole.pcap", flawed]);
        assert_eq!(run.code, 3, "{flawed}");
    }
    let cut = object(&place, &["cut.pcap"]);
    assert_eq!(cut["damage_count"], 1);
    let text = place.succeed(&["info", "cut.pcap"]).stdout;
    let text = String::from_utf8(text).expect("text");
    let offset = cut["damage"][0]["offset"].as_u64().expect("an offset");
    assert!(
        text.contains(&format!("offset {offset}: the capture ends inside")),
        "{text}"
    );
    assert_eq!(cut["flawed"], true);

    // What is no capture is told; alone it is an error.
    let run = place.run(&["info", "--check", "whole.pcap", "notes.txt"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("notes.txt: not a capture"),
        "{}",
        run.stderr
    );
    assert_eq!(place.run(&["info", "notes.txt"]).code, 1);
    let run = place.run(&["info", "notes.txt", "missing.pcap"]);
    assert_eq!(run.code, 1);
    // What is missing hides nothing, and what is called a capture should be one.
    let run = place.run(&["info", "--json", "missing.pcap", "whole.pcap"]);
    assert_eq!(run.code, 3);
    let found = objects(&run);
    assert_eq!(
        (&found[0]["flawed"], &found[1]["flawed"]),
        (&true.into(), &false.into())
    );
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place.write("folder/whole.pcap", SAMPLE);
    place.write("folder/notes.txt", "not a capture");
    assert_eq!(place.run(&["info", "--check", "folder"]).code, 0);
    place.write("folder/empty.pcap", "");
    let run = place.run(&["info", "--check", "folder"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr
            .contains("empty.pcap: not a capture: it is empty"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_unreadable_file_spoils_nothing_but_the_exit_status() {
    let place = Workplace::new();
    place.write("whole.pcap", SAMPLE);
    // Its compressed data is cut from the start.
    place.write("cut.pcap.gz", [0x1F, 0x8B, 8, 0]);
    let run = place.run(&["info", "--json", "whole.pcap", "cut.pcap.gz"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let objects = objects(&run);
    assert_eq!(objects[0]["datagrams"], 300);
    assert!(
        objects[1]["error"]
            .as_str()
            .expect("an error")
            .contains("cut.pcap.gz")
    );
}

/// A Forza datagram of the Dash format.
struct Dash {
    car: i32,
    is_race_on: bool,
    race_time: f32,
    lap: u16,
    last_lap: f32,
}

impl Dash {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 311];
        bytes[0] = u8::from(self.is_race_on);
        if self.is_race_on {
            bytes[212..216].copy_from_slice(&self.car.to_le_bytes());
            bytes[216..220].copy_from_slice(&8_i32.to_le_bytes());
            bytes[220..224].copy_from_slice(&999_i32.to_le_bytes());
            bytes[288..292].copy_from_slice(&self.last_lap.to_le_bytes());
            bytes[296..300].copy_from_slice(&self.race_time.to_le_bytes());
            bytes[300..302].copy_from_slice(&self.lap.to_le_bytes());
        }
        bytes
    }
}

/// A capture of datagrams at these moments, in seconds.
fn timed(datagrams: impl IntoIterator<Item = (f64, Vec<u8>)>) -> Vec<u8> {
    let mut bytes = pcap_header(Order::Little, NANOSECONDS, 1);
    for (time, payload) in datagrams {
        let frame = ethernet(&ipv4(&payload));
        let nanoseconds = (time.fract() * 1e9) as u32;
        let seconds = 1_700_000_000 + time as u32;
        bytes.extend(pcap_record(
            Order::Little,
            seconds,
            nanoseconds,
            &frame,
            frame.len(),
        ));
    }
    bytes
}

#[test]
fn forza_laps_races_pauses_and_rewinds() {
    let place = Workplace::new();
    let mut datagrams: Vec<(f64, Vec<u8>)> = Vec::new();
    // So many datagrams, a tenth of a second apart, with the race time from there on.
    let mut drive = |car, lap, last_lap, from: f32, count: usize, step: f32, is_race_on| {
        let mut race_time = from;
        for _ in 0..count {
            let dash = Dash {
                car,
                is_race_on,
                race_time,
                lap,
                last_lap,
            };
            datagrams.push((datagrams.len() as f64 * 0.1, dash.bytes()));
            race_time += step;
        }
    };
    // Two laps, a menu of five seconds in the second one, and a rewind.
    drive(1_000, 0, 0.0, 0.5, 595, 0.1, true);
    drive(1_000, 1, 59.5, 60.0, 200, 0.1, true);
    drive(0, 0, 0.0, 0.0, 50, 0.1, false);
    drive(1_000, 1, 59.5, 80.0, 200, 0.1, true);
    drive(1_000, 1, 59.5, 97.0, 240, 0.1, true);
    drive(1_000, 2, 61.25, 121.0, 40, 0.1, true);
    // Free roam: no race time, no lap.
    drive(1_000, 0, 0.0, 0.0, 50, 0.0, true);
    // The race again, and another car.
    drive(1_000, 0, 0.0, 0.2, 198, 0.1, true);
    drive(2_000, 0, 0.0, 20.0, 200, 0.1, true);
    place.write("forza.pcap", timed(datagrams));

    let found = object(&place, &["forza.pcap"]);
    let sessions = found["sessions"].as_array().expect("sessions");
    assert_eq!(sessions.len(), 3);
    let first = &sessions[0];
    assert_eq!(first["about"]["car"]["values"][0]["value"], 1_000);
    assert_eq!(first["about"]["class"]["values"][0]["name"], "X");
    let laps: Vec<(u64, f64)> = first["laps"]
        .as_array()
        .expect("laps")
        .iter()
        .map(|lap| {
            (
                lap["lap"].as_u64().expect("a lap"),
                lap["seconds"].as_f64().expect("a time"),
            )
        })
        .collect();
    assert_eq!(laps, [(1, 59.5), (2, 61.25)]);
    assert_eq!(first["best_lap"]["lap"], 1);
    assert_eq!(
        (&first["pauses"], &first["flashbacks"]),
        (&1.into(), &1.into())
    );
    let paused = first["paused_seconds"].as_f64().expect("seconds");
    assert!((4.9..5.2).contains(&paused), "{paused}");
    assert_eq!(first["is_restart"], false);
    assert_eq!(sessions[1]["is_restart"], false);
    assert_eq!(sessions[1]["laps"].as_array().map(Vec::len), Some(0));
    assert_eq!(sessions[2]["is_restart"], false);
    assert_eq!(sessions[2]["about"]["car"]["values"][0]["value"], 2_000);
}

/// The sample's datagrams, each with its time from the start in seconds.
fn sample_datagrams() -> Vec<(f64, Vec<u8>)> {
    let word = |at: usize| {
        let bytes = SAMPLE.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    };
    let start = word(24).expect("a record");
    let mut at = 24;
    let mut datagrams = Vec::new();
    while let (Some(second), Some(fraction), Some(length)) = (word(at), word(at + 4), word(at + 8))
    {
        let end = at + 16 + length as usize;
        let time = f64::from(second - start) + f64::from(fraction) / 1e9;
        // Behind the headers of Ethernet, IPv4 and UDP.
        datagrams.push((time, SAMPLE[at + 16 + 42..end].to_vec()));
        at = end;
    }
    datagrams
}

/// Where the datagrams of F1 25 have the number of their session.
const SESSION: std::ops::Range<usize> = 7..15;

#[test]
fn a_session_that_begins_anew_is_a_restart() {
    let place = Workplace::new();
    let number = |bytes: &[u8]| bytes[SESSION].to_vec();
    let mut race = sample_datagrams();
    let first = race
        .iter()
        .map(|(_, bytes)| number(bytes))
        .find(|number| *number != [0; 8]);
    let first = first.expect("a session");
    race.retain(|(_, bytes)| number(bytes) == first);
    let again = |with_end: bool| {
        let is_end = |bytes: &[u8]| bytes[6] == 8;
        let before = race
            .iter()
            .filter(|(_, bytes)| with_end || !is_end(bytes))
            .cloned();
        let after = race.iter().cloned().map(|(time, mut bytes)| {
            bytes[SESSION][0] ^= 1;
            (time + 100.0, bytes)
        });
        timed(before.chain(after))
    };
    for (with_end, expected) in [(false, [false, true]), (true, [false, false])] {
        place.write("again.pcap", again(with_end));
        let found = object(&place, &["again.pcap"]);
        let sessions = found["sessions"].as_array().expect("sessions");
        let restarts: Vec<bool> = sessions
            .iter()
            .map(|session| session["is_restart"] == true)
            .collect();
        assert_eq!(restarts, expected);
    }
}

/// An F1 25 datagram of this session, clock and kind, with the rest zero.
fn f1_datagram(session: u64, clock: f32, packet: u8, player: u8, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    bytes[..2].copy_from_slice(&2025_u16.to_le_bytes());
    bytes[6] = packet;
    bytes[SESSION].copy_from_slice(&session.to_le_bytes());
    bytes[15..19].copy_from_slice(&clock.to_le_bytes());
    bytes[27] = player;
    bytes
}

/// Likewise, with a lap and a last lap time in milliseconds for car 3.
fn lap_data(session: u64, clock: f32, player: u8, lap: u8, last: u32) -> Vec<u8> {
    let mut bytes = f1_datagram(session, clock, 2, player, 1_285);
    // A car takes 57 bytes behind the header; its lap number stands at 33.
    let car = 29 + 3 * 57;
    bytes[car..car + 4].copy_from_slice(&last.to_le_bytes());
    bytes[car + 33] = lap;
    bytes
}

#[test]
fn what_follows_a_session_is_not_part_of_it() {
    let place = Workplace::new();
    let mut datagrams = Vec::new();
    for (clock, lap, last) in [
        (1.0, 1, 0),
        (50.0, 1, 0),
        (90.0, 2, 90_000),
        (120.0, 2, 90_000),
    ] {
        datagrams.push((f64::from(clock), lap_data(7, clock, 3, lap, last)));
    }
    // He watches, and leaves: the slot is empty.
    datagrams.push((121.0, lap_data(7, 121.0, 255, 2, 90_000)));
    datagrams.push((122.0, lap_data(7, 122.0, 255, 0, 0)));
    // Buttons in the menu, and what is sent when a session is over.
    datagrams.push((900.0, f1_datagram(0, 0.5, 3, 255, 45)));
    let mut history = f1_datagram(0, 0.0, 11, 255, 1_460);
    history[29..31].copy_from_slice(&[3, 2]);
    history[36..40].copy_from_slice(&89_999_u32.to_le_bytes());
    history[36 + 14..40 + 14].copy_from_slice(&91_000_u32.to_le_bytes());
    datagrams.push((901.0, history));
    place.write("race.pcap", timed(datagrams));
    let found = object(&place, &["race.pcap"]);
    let session = &found["sessions"][0];
    assert_eq!(session["datagrams"], 6);
    assert_eq!(
        (&session["clock_last"], &session["restarts"]),
        (&122.0.into(), &0.into())
    );
    assert!(
        session["last_time"]
            .as_str()
            .expect("a time")
            .ends_with("15:22.000000000Z")
    );
    assert_eq!(session["player"], 3);
    let laps = serde_json::json!([
        { "lap": 1, "seconds": 89.999 },
        { "lap": 2, "seconds": 91.0 },
    ]);
    assert_eq!(session["laps"], laps);
    assert_eq!(found["sessions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn sessions_and_senders_without_end_are_counted() {
    let place = Workplace::new();
    let sessions = (1..=300).flat_map(|session| {
        [
            lap_data(session, 1.0, 3, 1, 0),
            lap_data(session, 2.0, 3, 1, 0),
        ]
    });
    let sessions = (0..)
        .zip(sessions)
        .map(|(number, bytes)| (f64::from(number) * 0.01, bytes));
    place.write("sessions.pcap", timed(sessions));
    let found = object(&place, &["sessions.pcap"]);
    assert_eq!(found["sessions"].as_array().map(Vec::len), Some(250));
    assert_eq!(found["datagrams_of_more_sessions"], 100);
    let text = place.succeed(&["info", "sessions.pcap"]).stdout;
    let text = String::from_utf8(text).expect("text");
    assert!(
        text.contains("and 230 more sessions")
            && text.contains("and 100 datagrams of more sessions")
    );

    let frames: Vec<Vec<u8>> = (0..1_100_u16)
        .map(|port| ethernet(&ipv4_from([10, 0, 0, 1], 1_000 + port, &[0; 40])))
        .collect();
    place.write("flows.pcap", pcap(&frames));
    let found = object(&place, &["flows.pcap"]);
    assert_eq!(found["flows"].as_array().map(Vec::len), Some(1_000));
    assert_eq!(
        (&found["more_flows"], &found["datagrams"]),
        (&100.into(), &1_100.into())
    );
}

#[test]
fn a_pcapng_tells_who_wrote_it_and_what_was_lost() {
    let place = Workplace::new();
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len().next_multiple_of(4)) as u32;
        let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        bytes.extend(body);
        bytes.resize(length as usize - 4, 0);
        bytes.extend(length.to_le_bytes());
        bytes
    };
    let option = |code: u16, value: &[u8]| {
        let mut bytes = [code.to_le_bytes(), (value.len() as u16).to_le_bytes()].concat();
        bytes.extend(value);
        bytes.resize(4 + value.len().next_multiple_of(4), 0);
        bytes
    };
    let section = [
        &[0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0][..],
        &[0xFF; 8],
        &option(1, "first\ncomment".as_bytes()),
        &option(1, b"second"),
        &option(4, b"dumpcap"),
    ];
    let interface = [
        &[1, 0, 0, 0, 0, 0, 4, 0][..],
        &option(2, b"eth0"),
        &option(9, &[9]),
    ];
    let statistics = [
        &[0; 12][..],
        &option(4, &120_u64.to_le_bytes()),
        &option(5, &7_u64.to_le_bytes()),
    ];
    let capture = [
        block(0x0A0D_0D0A, &section.concat()),
        block(1, &interface.concat()),
        block(5, &statistics.concat()),
    ];
    place.write("capture.pcapng", capture.concat());
    let found = object(&place, &["capture.pcapng"]);
    let container = &found["container"];
    assert_eq!(container["comment"], "first\ncomment");
    assert_eq!(container["application"], "dumpcap");
    let interface = serde_json::json!({
        "name": "eth0", "link": "ETHERNET", "snap_length": 262_144, "resolution_ns": 1,
        "received": 120, "dropped": 7,
    });
    assert_eq!(container["interfaces"], serde_json::json!([interface]));
    let text = place.succeed(&["info", "capture.pcapng"]).stdout;
    let text = String::from_utf8(text).expect("text");
    assert!(
        text.contains("first comment") && text.contains("7 were lost"),
        "{text}"
    );
}

#[test]
fn the_sessions_of_a_weekend_are_told_in_their_order() {
    let place = Workplace::new();
    let sample = project_path("samples/iracing.ibt");
    let mut bytes = std::fs::read(sample).expect("the sample");
    // The second half is another session, whose clock begins anew.
    let ticks = simtel::capture::Input::open(&project_path("samples/iracing.ibt"));
    let Ok(simtel::capture::Input::Ticks(ticks)) = ticks else {
        panic!("the sample holds ticks");
    };
    let place_of = |name: &str| {
        let found = simtel::formats::iracing::place(ticks.variables(), name);
        found.expect("a variable").offset
    };
    let (number, clock) = (place_of("SessionNum"), place_of("SessionTime"));
    let half = ticks.count() / 2;
    for tick in 0..ticks.count() {
        let at = ticks.offset(tick);
        let (session, time) = match tick < half {
            true => (0_i32, 900.0 + tick as f64 / 60.0),
            false => (1, 1.0 + tick as f64 / 60.0),
        };
        bytes[at + number..at + number + 4].copy_from_slice(&session.to_le_bytes());
        bytes[at + clock..at + clock + 8].copy_from_slice(&time.to_le_bytes());
    }
    place.write("weekend.ibt", bytes);
    let found = object(&place, &["weekend.ibt"]);
    let sessions = found["sessions"].as_array().expect("sessions");
    let ids: Vec<&str> = sessions
        .iter()
        .filter_map(|session| session["id"].as_str())
        .collect();
    assert_eq!(ids, ["0", "1"]);
    assert_eq!(sessions[0]["clock_first"], 900.0);
    assert_eq!(sessions[1]["restarts"], 0);
}

#[test]
fn senders_are_told_apart() {
    let place = Workplace::new();
    let payload = [0; 40];
    let frames: Vec<Vec<u8>> = [
        ([10, 0, 0, 1], 20_777),
        ([10, 0, 0, 9], 20_777),
        ([10, 0, 0, 1], 5),
    ]
    .iter()
    .cycle()
    .take(10)
    .map(|(host, port)| ethernet(&ipv4_from(*host, *port, &payload)))
    .collect();
    place.write("mixed.pcap", pcap(&frames));
    let found = object(&place, &["mixed.pcap"]);
    let flows: Vec<(String, String, u64)> = found["flows"]
        .as_array()
        .expect("flows")
        .iter()
        .map(|flow| {
            let text = |key: &str| flow[key].as_str().expect("an address").to_string();
            (
                text("source"),
                text("destination"),
                flow["datagrams"].as_u64().expect("a count"),
            )
        })
        .collect();
    let (source, destination) = (SOURCE.1, "10.0.0.2");
    assert_eq!(DESTINATION.0, [10, 0, 0, 2]);
    assert_eq!(
        flows,
        [
            (
                format!("10.0.0.1:{source}"),
                format!("{destination}:20777"),
                4
            ),
            (
                format!("10.0.0.9:{source}"),
                format!("{destination}:20777"),
                3
            ),
            (format!("10.0.0.1:{source}"), format!("{destination}:5"), 3),
        ]
    );
    assert_eq!(found["all"]["largest_gap_seconds"], 0.01);
    assert_eq!(found["seconds"], 0.09);
    assert_eq!(found["flows"][0]["per_second"], 3.0 / 0.09);
}

#[test]
fn names_cannot_command_the_terminal() {
    let place = Workplace::new();
    let mut datagrams = sample_datagrams();
    for (_, bytes) in &mut datagrams {
        // The first driver's name, in the packet of participants.
        if bytes[6] == 4 {
            bytes[29 + 1 + 7..29 + 1 + 7 + 12].copy_from_slice(b"\x1b[31mEVIL\x07\0\0");
        }
    }
    place.write("evil.pcap", timed(datagrams));
    let text = place.succeed(&["info", "evil.pcap"]).stdout;
    let text = String::from_utf8(text).expect("text");
    assert!(
        text.contains("[31mEVIL") && !text.contains('\x1b') && !text.contains('\x07'),
        "{text}"
    );
}

#[test]
fn what_is_compressed_or_comes_through_a_pipe_is_read_too() {
    let place = Workplace::new();
    let packed = zstd::encode_all(SAMPLE, 3).expect("zstd");
    place.write("race.pcap.zst", packed);
    let found = object(&place, &["race.pcap.zst"]);
    assert_eq!(found["container"]["compression"], "zstd");
    assert_eq!(found["datagrams"], 300);
    let input = std::fs::File::open(place.path("race.pcap.zst")).expect("the file");
    let output = place
        .command(&["info", "--json", "-"])
        .stdin(input)
        .output();
    let run = Run::from(output.expect("simtel runs"));
    assert_eq!(objects(&run)[0]["name"], "standard input");
    assert_eq!(objects(&run)[0]["sessions"], found["sessions"]);
}

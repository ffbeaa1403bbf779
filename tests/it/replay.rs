//! Replaying: the same bytes in the same order at the same distances; what is
//! chosen, changed on the way by wish, or cannot be sent.

use std::net::{SocketAddr, UdpSocket};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use simtel::capture::{Arrival, Capture, CaptureFormat, Encoder};
use socket2::SockRef;

use crate::support::{Workplace, ethernet, ipv4, ipv4_fragments, pcap, project_path, sample_path};

const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who listens, and keeps what comes.
struct Listener {
    address: SocketAddr,
    datagrams: Receiver<Heard>,
}

#[derive(Debug, Clone, PartialEq)]
struct Heard {
    moment: Instant,
    source: SocketAddr,
    payload: Vec<u8>,
}

impl Listener {
    fn start() -> Listener {
        Listener::at("127.0.0.1:0")
    }

    fn at(address: &str) -> Listener {
        let socket = UdpSocket::bind(address).expect("a socket");
        // Systems that do not give so much give what they can, or keep their own.
        let _ = SockRef::from(&socket).set_recv_buffer_size(4 << 20);
        let address = socket.local_addr().expect("an address");
        let (sender, datagrams) = channel();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok((length, source)) = socket.recv_from(&mut buffer) {
                let heard = Heard {
                    moment: Instant::now(),
                    source,
                    payload: buffer[..length].to_vec(),
                };
                if sender.send(heard).is_err() {
                    return;
                }
            }
        });
        Listener { address, datagrams }
    }

    fn to(&self) -> String {
        self.address.to_string()
    }

    /// All that came, once there is silence.
    fn heard(&self) -> Vec<Heard> {
        let mut all = Vec::new();
        while let Ok(heard) = self.datagrams.recv_timeout(Duration::from_millis(300)) {
            all.push(heard);
        }
        all
    }

    fn payloads(&self) -> Vec<Vec<u8>> {
        self.heard()
            .into_iter()
            .map(|heard| heard.payload)
            .collect()
    }
}

/// A datagram of a capture that a test makes.
struct Sent {
    milliseconds: i64,
    from: (u8, u16),
    port: u16,
    payload: Vec<u8>,
}

fn sent(milliseconds: i64, payload: &[u8]) -> Sent {
    Sent {
        milliseconds,
        from: (1, 5_000),
        port: 20_777,
        payload: payload.to_vec(),
    }
}

fn capture(datagrams: &[Sent]) -> Vec<u8> {
    let mut encoder = Encoder::new(CaptureFormat::Pcap, &[], "").expect("an encoder");
    for sent in datagrams {
        let arrival = Arrival {
            interface: 0,
            time: 1_750_000_000_000_000_000 + sent.milliseconds * 1_000_000,
            source: SocketAddr::from(([10, 0, 0, sent.from.0], sent.from.1)),
            destination: SocketAddr::from(([10, 0, 0, 9], sent.port)),
            payload: &sent.payload,
            lost_before: 0,
        };
        encoder.datagram(&arrival).expect("a datagram");
    }
    encoder.bytes().to_vec()
}

/// Numbers 0 to 9, ten milliseconds apart.
fn ten() -> Vec<u8> {
    let all: Vec<Sent> = (0..10_u8).map(|n| sent(i64::from(n) * 10, &[n])).collect();
    capture(&all)
}

fn sample_payloads() -> Vec<Vec<u8>> {
    let path = project_path("samples/f1_2025.pcap");
    let mut capture = Capture::open(&path).expect("a capture");
    let mut payloads = Vec::new();
    while let Some(datagram) = capture.next_datagram().expect("readable") {
        payloads.push(datagram.payload.to_vec());
    }
    payloads
}

fn first_bytes(payloads: &[Vec<u8>]) -> Vec<u8> {
    payloads.iter().map(|payload| payload[0]).collect()
}

/// Replays `ten.pcap` with more arguments, and returns what was heard.
fn replay_ten(arguments: &[&str]) -> Vec<u8> {
    let place = Workplace::new();
    place.write("ten.pcap", ten());
    let listener = Listener::start();
    let to = listener.to();
    let mut all = vec!["replay", "ten.pcap", "--to", &to];
    all.extend(arguments);
    place.succeed(&all);
    first_bytes(&listener.payloads())
}

#[test]
fn every_byte_is_sent_in_order() {
    let place = Workplace::new();
    // As much as the smallest buffer of any system holds, if it comes at once.
    for (speed, limit) in [("max", 60), ("20", 300)] {
        let limit_text = limit.to_string();
        let (one, other) = (Listener::start(), Listener::start());
        let run = place.succeed(&[
            "replay",
            &sample_path(),
            "--to",
            &one.to(),
            "--to",
            &other.to(),
            "--speed",
            speed,
            "--limit",
            &limit_text,
            "--json",
        ]);
        let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
        assert_eq!(report["datagrams"], limit);
        assert_eq!(report["targets"][1]["sent"], limit);
        let expected = &sample_payloads()[..limit];
        assert!(one.payloads() == expected, "--speed {speed}");
        assert!(other.payloads() == expected, "--speed {speed}");
    }
}

#[test]
fn distances_are_those_of_the_capture() {
    let place = Workplace::new();
    let times = [0, 5, 100, 100, 400, 390, 410];
    let all: Vec<Sent> = (0_u8..)
        .zip(times)
        .map(|(n, time)| sent(time, &[n]))
        .collect();
    place.write("a.pcap", capture(&all));
    for (arguments, factor) in [
        (&[][..], 1.0),
        (&["--speed", "2"], 0.5),
        (&["--speed", "0.5x"], 2.0),
    ] {
        let listener = Listener::start();
        let to = listener.to();
        let mut command = vec!["replay", "a.pcap", "--to", &to];
        command.extend(arguments);
        let run = place.succeed(&command);
        assert!(run.stderr.contains("sent 7 datagrams"), "{}", run.stderr);
        assert!(
            run.stderr.contains("later than their moments: p50"),
            "{}",
            run.stderr
        );
        let heard = listener.heard();
        assert_eq!(heard.len(), 7);
        for (number, (heard_one, time)) in heard.iter().zip(times).enumerate() {
            assert_eq!(
                heard_one.payload,
                [number as u8],
                "in the order of the file"
            );
            // What is late in the file is sent at once.
            let time = if time == 390 { 400 } else { time };
            let due = Duration::from_millis(time as u64).mul_f64(factor);
            let after = heard_one.moment - heard[0].moment;
            // Never early; how late is for benches to say.
            assert!(
                after + Duration::from_millis(5) >= due,
                "{number}: {after:?} for {due:?}"
            );
        }
        let whole = heard[6].moment - heard[0].moment;
        assert!(whole < Duration::from_millis(410).mul_f64(factor) + Duration::from_secs(2));
    }
}

#[test]
fn a_recording_of_a_replay_is_the_same_capture() {
    let place = Workplace::new();
    let port = {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.local_addr().expect("an address").port().to_string()
    };
    let mut recorder = place
        .command(&[
            "record",
            "f1",
            "--listen",
            &port,
            "-o",
            "again.pcap",
            "--idle-stop",
            "1s",
            "--quiet",
        ])
        .spawn()
        .expect("simtel runs");
    let to = format!("127.0.0.1:{port}");
    let deadline = Instant::now() + PATIENCE;
    while !place.path("again.pcap").exists() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    place.succeed(&[
        "replay",
        &sample_path(),
        "--to",
        &to,
        "--speed",
        "100",
        "--require-listener",
    ]);
    assert!(recorder.wait().expect("an end").success());
    let mut again = Capture::open(&place.path("again.pcap")).expect("a capture");
    for expected in sample_payloads() {
        let datagram = again
            .next_datagram()
            .expect("readable")
            .expect("a datagram");
        assert!(datagram.payload == expected);
    }
    assert!(again.next_datagram().expect("readable").is_none());
}

#[test]
fn parts_and_repetitions() {
    assert_eq!(replay_ten(&["--from", "30ms"]), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        replay_ten(&["--from", "30ms", "--until", "60ms"]),
        [3, 4, 5]
    );
    assert_eq!(replay_ten(&["--from", "2025-06-15T15:06:40.08Z"]), [8, 9]);
    assert_eq!(replay_ten(&["--limit", "3"]), [0, 1, 2]);
    let twice: Vec<u8> = (0..10).chain(0..10).collect();
    assert_eq!(replay_ten(&["--loop", "2"]), twice);
    assert_eq!(
        replay_ten(&["--loop", "forever", "--limit", "25", "--speed", "max"]).len(),
        25
    );
    let started = Instant::now();
    assert_eq!(
        replay_ten(&["--loop", "3", "--loop-gap", "200ms", "--limit", "21"]).len(),
        21
    );
    assert!(started.elapsed() >= Duration::from_millis(90 + 200 + 90 + 200));
    let started = Instant::now();
    assert_eq!(replay_ten(&["--start-at", "400ms"]).len(), 10);
    assert!(started.elapsed() >= Duration::from_millis(490));
}

#[test]
fn long_silences_are_cut() {
    let place = Workplace::new();
    let times = [0, 10, 60_000, 60_010, 3_600_000];
    let all: Vec<Sent> = (0_u8..)
        .zip(times)
        .map(|(n, time)| sent(time, &[n]))
        .collect();
    place.write("a.pcap", capture(&all));
    let listener = Listener::start();
    let started = Instant::now();
    place.succeed(&[
        "replay",
        "a.pcap",
        "--to",
        &listener.to(),
        "--max-gap",
        "100ms",
    ]);
    assert!(started.elapsed() < Duration::from_secs(30));
    let heard = listener.heard();
    assert_eq!(heard.len(), 5);
    assert!(heard[4].moment - heard[0].moment >= Duration::from_millis(215));
}

#[test]
fn filters_choose_by_what_a_datagram_is() {
    let place = Workplace::new();
    let whole = sample_payloads();
    let of_id = |ids: &[u8]| -> Vec<Vec<u8>> {
        whole
            .iter()
            .filter(|payload| ids.contains(&payload[6]))
            .cloned()
            .collect()
    };
    let replay = |filters: &[&str]| {
        let listener = Listener::start();
        let (sample, to) = (sample_path(), listener.to());
        let mut arguments = vec!["replay", &sample, "--to", &to, "--speed", "20"];
        for filter in filters {
            arguments.extend(["--filter", *filter]);
        }
        place.succeed(&arguments);
        listener.payloads()
    };
    assert!(replay(&["packet=Motion,LapData"]) == of_id(&[0, 2]));
    assert!(replay(&["packet=car_telemetry"]) == of_id(&[6]));
    assert!(replay(&["packet=Car*", "packet!=CarTelemetry,CarDamage"]) == of_id(&[5, 7]));
    assert!(replay(&["format=f1_2025", "port=20777", "source=192.168.1.*"]) == whole);
    let run = place.run(&[
        "replay",
        &sample_path(),
        "--to",
        "127.0.0.1:9",
        "--filter",
        "format=f1_2024",
    ]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr
            .contains("nothing was sent: nothing in the file is wanted"),
        "{}",
        run.stderr
    );
    for wrong in [
        "packets=Motion",
        "Motion",
        "port>5",
        "source=[1",
        "packet=Motion,Lapdata",
        "format!=f1_2o25",
    ] {
        let run = place.run(&["replay", "x", "--to", "127.0.0.1:9", "--filter", wrong]);
        assert_eq!(run.code, 2, "{wrong}");
    }
}

#[test]
fn ports_are_those_of_the_capture_unless_mapped() {
    let place = Workplace::new();
    let (one, other) = (Listener::start(), Listener::start());
    let free = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let from = free.local_addr().expect("an address").port();
    drop(free);
    let all: Vec<Sent> = (0_u8..6)
        .map(|number| Sent {
            milliseconds: i64::from(number),
            from: (number % 2 + 1, from),
            port: if number % 3 == 0 {
                one.address.port()
            } else {
                7
            },
            payload: vec![number],
        })
        .collect();
    place.write("a.pcap", capture(&all));
    let map = format!("7:{}", other.address.port());
    place.succeed(&[
        "replay",
        "a.pcap",
        "--to",
        "127.0.0.1",
        "--map-port",
        &map,
        "--preserve-ports",
    ]);
    let heard = one.heard();
    assert_eq!(
        heard
            .iter()
            .map(|heard| heard.payload[0])
            .collect::<Vec<_>>(),
        [0, 3]
    );
    assert!(heard.iter().all(|heard| heard.source.port() == from));
    assert_eq!(first_bytes(&other.payloads()), [1, 2, 4, 5]);
    let run = place.run(&[
        "replay",
        "a.pcap",
        "--to",
        "127.0.0.1:9",
        "--map-port",
        "1:2",
    ]);
    assert_eq!(run.code, 2);
}

#[test]
fn faults_depend_on_the_seed_alone() {
    let place = Workplace::new();
    let replay = |seed: &str, speed: &str| {
        let listener = Listener::start();
        let run = place.succeed(&[
            "replay",
            &sample_path(),
            "--to",
            &listener.to(),
            "--speed",
            speed,
            "--loss",
            "5%",
            "--duplicate",
            "0.05",
            "--reorder",
            "5%",
            "--delay",
            "1ms..30ms",
            "--seed",
            seed,
            "--json",
        ]);
        let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
        let payloads = listener.payloads();
        let number = |name: &str| report["faults"][name].as_u64().expect("a number");
        assert_eq!(
            payloads.len() as u64,
            300 - number("lost") + number("duplicated"),
            "{report}"
        );
        assert!(number("lost") > 0 && number("duplicated") > 0 && number("reordered") > 0);
        payloads
    };
    let first = replay("7", "20");
    assert!(first == replay("7", "10"), "whatever the speed");
    assert!(first != replay("8", "20"));
    assert!(first != sample_payloads());
    for wrong in ["101%", "-1", "x"] {
        let run = place.run(&[
            "replay",
            "x",
            "--to",
            "127.0.0.1:9",
            &format!("--loss={wrong}"),
        ]);
        assert_eq!(run.code, 2, "{wrong}");
    }
}

#[test]
fn fragments_are_sent_as_the_datagram_they_were() {
    let payload: Vec<u8> = (0..4_000_u32).map(|n| n as u8).collect();
    let fragments = ipv4_fragments(&ipv4(&payload), 7, 1_480);
    let frames: Vec<Vec<u8>> = fragments.iter().map(|packet| ethernet(packet)).collect();
    assert!(frames.len() > 1);
    let place = Workplace::new();
    place.write("a.pcap", pcap(&frames));
    let listener = Listener::start();
    place.succeed(&["replay", "a.pcap", "--to", &listener.to()]);
    assert!(listener.payloads() == [payload]);
    // One of them is missing.
    place.write("b.pcap", pcap(&frames[1..]));
    let run = place.run(&["replay", "b.pcap", "--to", &listener.to()]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("lack fragments; they were not sent"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_damaged_capture_is_sent_as_far_as_it_goes() {
    let place = Workplace::new();
    let mut bytes = ten();
    bytes.truncate(bytes.len() - 5);
    place.write("cut.pcap", bytes);
    let listener = Listener::start();
    let run = place.run(&["replay", "cut.pcap", "--to", &listener.to()]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("the capture ends inside this"),
        "{}",
        run.stderr
    );
    assert_eq!(
        first_bytes(&listener.payloads()),
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
    );
    let run = place.run(&["replay", "nothing.pcap", "--to", &listener.to()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("nothing.pcap"), "{}", run.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn nobody_listening_is_reported() {
    let place = Workplace::new();
    place.write("ten.pcap", ten());
    let nobody = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = nobody.local_addr().expect("an address").to_string();
    drop(nobody);
    let run = place.succeed(&["replay", "ten.pcap", "--to", &to]);
    assert!(
        run.stderr.contains("that nobody listens there"),
        "{}",
        run.stderr
    );
    let run = place.run(&["replay", "ten.pcap", "--to", &to, "--require-listener"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains(&format!("nobody listens at {to}")),
        "{}",
        run.stderr
    );
    // Even if the only datagram is the last.
    let run = place.run(&[
        "replay",
        "ten.pcap",
        "--to",
        &to,
        "--require-listener",
        "--limit",
        "1",
    ]);
    assert_eq!(run.code, 1);
    // Another listener is not kept from hearing all.
    let listener = Listener::start();
    place.succeed(&["replay", "ten.pcap", "--to", &to, "--to", &listener.to()]);
    assert_eq!(listener.heard().len(), 10);
}

#[test]
fn lateness_can_be_a_failure() {
    let place = Workplace::new();
    place.write("ten.pcap", ten());
    let listener = Listener::start();
    let run = place.run(&[
        "replay",
        "ten.pcap",
        "--to",
        &listener.to(),
        "--max-late",
        "1ns",
        "--spin",
        "0",
    ]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("--max-late"), "{}", run.stderr);
    let run = place.succeed(&[
        "replay",
        "ten.pcap",
        "--to",
        &listener.to(),
        "--max-late",
        "1h",
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&run.stdout).expect("a report");
    let late = |name: &str| {
        report["late_microseconds"][name]
            .as_f64()
            .expect("a number")
    };
    assert!(late("p50") <= late("p90") && late("p90") <= late("p99") && late("p99") <= late("max"));
}

#[test]
fn ticks_go_out_as_bytes_or_objects() {
    let place = Workplace::new();
    let sample = project_path("samples/iracing.ibt").display().to_string();
    let listener = Listener::start();
    let run = place.run(&["replay", &sample, "--to", &listener.to()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("--encode raw"), "{}", run.stderr);
    let run = place.run(&["replay", &sample, "--to", "127.0.0.1", "--encode", "raw"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("127.0.0.1:20777"), "{}", run.stderr);
    let run = place.run(&[
        "replay",
        &sample_path(),
        "--to",
        &listener.to(),
        "--encode",
        "raw",
    ]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("--encode is for .ibt recordings"),
        "{}",
        run.stderr
    );

    let fast = ["--speed", "20"];
    place.succeed(
        &[
            &["replay", &sample, "--to", &listener.to(), "--encode", "raw"][..],
            &fast,
        ]
        .concat(),
    );
    let bytes = std::fs::read(project_path("samples/iracing.ibt")).expect("the sample");
    let raw = listener.payloads();
    assert_eq!(raw.len(), 120);
    let whole = raw.concat();
    assert!(
        bytes.ends_with(&whole),
        "the records as they lie in the file"
    );

    place.succeed(&[
        "convert",
        &sample,
        "-o",
        "t.ndjson",
        "-t",
        "ticks",
        "-c",
        "Speed,Gear,Lap",
    ]);
    let table = std::fs::read_to_string(place.path("t.ndjson")).expect("a table");
    place.succeed(
        &[
            &[
                "replay",
                &sample,
                "--to",
                &listener.to(),
                "--encode",
                "json",
                "-c",
                "SessionTime,Speed,Gear,Lap,*_ST",
            ][..],
            &fast,
        ]
        .concat(),
    );
    let objects = listener.payloads();
    assert_eq!(objects.len(), 120);
    for (object, row) in objects.iter().zip(table.lines()) {
        let object: Value = serde_json::from_slice(object).expect("JSON");
        let row: Value = serde_json::from_str(row).expect("JSON");
        for name in ["SessionTime", "Speed", "Gear", "Lap"] {
            assert_eq!(object[name], row[name], "{name}");
        }
        let (_, moments) = object
            .as_object()
            .expect("an object")
            .iter()
            .find(|(name, _)| name.ends_with("_ST"))
            .expect("an array");
        assert_eq!(moments.as_array().map(Vec::len), Some(6));
    }
    let run = place.run(&[
        "replay",
        &sample,
        "--to",
        &listener.to(),
        "--encode",
        "json",
        "-c",
        "Sped",
    ]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("there is no variable Sped"),
        "{}",
        run.stderr
    );
    let run = place.run(&["replay", &sample, "--to", &listener.to(), "-c", "Speed"]);
    assert_eq!(run.code, 2);
}

#[cfg(unix)]
#[test]
fn a_stream_is_sent_at_once_and_ends_when_it_is_to() {
    let place = Workplace::new();
    let listener = Listener::start();
    let mut child = place
        .command(&["replay", "-", "--to", &listener.to(), "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("simtel runs");
    let mut stdin = child.stdin.take().expect("standard input");
    let all = ten();
    // The first three, and then nothing more for a long time.
    let length = 24 + 3 * (16 + 42 + 1);
    std::io::Write::write_all(&mut stdin, &all[..length]).expect("a pipe");
    assert_eq!(first_bytes(&listener.payloads()), [0, 1, 2]);
    let pid = child.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("an end");
    drop(stdin);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(
        (&report["datagrams"], &report["interrupted"]),
        (&3.into(), &true.into())
    );
}

#[test]
fn a_sender_that_would_hear_itself_is_refused() {
    let place = Workplace::new();
    let free = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let own = Sent {
        milliseconds: 0,
        from: (1, port),
        port,
        payload: vec![1],
    };
    place.write("a.pcap", capture(&[own]));
    let run = place.run(&["replay", "a.pcap", "--to", "127.0.0.1", "--preserve-ports"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("would come back to it"),
        "{}",
        run.stderr
    );
}

#[test]
fn odd_time_stamps_do_not_stop_a_replay() {
    let place = Workplace::new();
    let year = 365 * 86_400_000;
    let times = [0, 5, 10 * year, 10, 15, -20 * year, 20];
    let all: Vec<Sent> = (0_u8..)
        .zip(times)
        .map(|(n, time)| sent(time, &[n]))
        .collect();
    place.write("a.pcap", capture(&all));
    let listener = Listener::start();
    place.succeed(&["replay", "a.pcap", "--to", &listener.to()]);
    assert_eq!(first_bytes(&listener.payloads()), [0, 1, 2, 3, 4, 5, 6]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_replay_well() {
    let place = Workplace::new();
    place.write("ten.pcap", ten());
    let listener = Listener::start();
    let child = place
        .command(&[
            "replay",
            "ten.pcap",
            "--to",
            &listener.to(),
            "--loop",
            "forever",
            "--loop-gap",
            "1h",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("simtel runs");
    assert_eq!(listener.heard().len(), 10);
    let pid = child.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["datagrams"], 10);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = Workplace::new();
    place.write("one.pcap", capture(&[sent(0, &[1])]));
    let listener = Listener::start();
    let to = format!(":{}", listener.address.port());
    let run = place.run(&["replay", "one.pcap", "--to", &to, "--loop", "forever"]);
    assert_eq!(run.code, 1);
    assert_eq!(listener.payloads(), [[1]], "what was read is sent");
    assert!(run.stderr.contains("--loop-gap"), "{}", run.stderr);
    for arguments in [
        &["--speed", "0"][..],
        &["--speed", "fast"],
        &["--loop", "0"],
        &["--map-port", "5"],
        &["--from", "5s", "--until", "3s"],
        &["--delay", "9ms..2ms"],
        &["--ttl", "0"],
        &["--to", "127.0.0.1:99999"],
        &["--to", "127.0.0.1:0"],
        &["--to", "20777"],
        &["--speed", "max", "--max-late", "1ms"],
        &["--encode", "raw", "--filter", "port=5"],
        &["--spin", "1s"],
        &["--delay", "1m"],
    ] {
        let mut all = vec!["replay", "one.pcap", "--to", "127.0.0.1:9"];
        all.extend(arguments);
        assert_eq!(place.run(&all).code, 2, "{arguments:?}");
    }
    assert_eq!(place.run(&["replay", "one.pcap"]).code, 2, "--to is needed");
    let mut child = place
        .command(&["replay", "-", "--to", "127.0.0.1:9", "--loop", "2"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("simtel runs");
    let mut stdin = child.stdin.take().expect("standard input");
    std::io::Write::write_all(&mut stdin, &ten()).ok();
    drop(stdin);
    assert_eq!(child.wait().expect("an end").code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn multicast_and_broadcast_are_reached() {
    let place = Workplace::new();
    place.write("ten.pcap", ten());
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let group = std::net::Ipv4Addr::new(239, 255, 78, 8);
    socket
        .join_multicast_v4(&group, &std::net::Ipv4Addr::LOCALHOST)
        .expect("a group");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let port = socket.local_addr().expect("an address").port();
    for target in [format!("{group}:{port}"), format!("127.255.255.255:{port}")] {
        place.succeed(&[
            "replay",
            "ten.pcap",
            "--to",
            &target,
            "--interface",
            "127.0.0.1",
            "--ttl",
            "3",
        ]);
        let mut buffer = [0; 100];
        for number in 0..10 {
            assert_eq!(socket.recv(&mut buffer).expect("a datagram"), 1);
            assert_eq!(buffer[0], number, "{target}");
        }
    }
}

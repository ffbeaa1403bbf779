//! Recording what arrives: every byte, in order, with its addresses and time;
//! rules, forwards, files; and what gets lost is counted.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use simtel::capture::Capture;

use crate::recording::{PATIENCE, Recording, numbered};
use crate::support::{SAMPLE, Workplace};

/// A datagram of a capture.
#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    time: i64,
    source: SocketAddr,
    destination: SocketAddr,
    payload: Vec<u8>,
}

fn datagrams(mut capture: Capture) -> Vec<Recorded> {
    let mut all = Vec::new();
    while let Some(datagram) = capture.next_datagram().expect("readable") {
        all.push(Recorded {
            time: datagram.time,
            source: datagram.source,
            destination: datagram.destination,
            payload: datagram.payload.to_vec(),
        });
    }
    let counts = capture.counts();
    assert_eq!(counts.packets, counts.datagrams, "nothing else is in it");
    all
}

fn read(place: &Workplace, name: &str) -> Vec<Recorded> {
    let capture = Capture::open(&place.path(name)).expect("a capture");
    let all = datagrams(capture);
    for pair in all.windows(2) {
        assert!(pair[0].time <= pair[1].time, "time goes back in {name}");
    }
    all
}

fn sender() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket")
}

fn number_of(payload: &[u8]) -> u64 {
    u64::from_le_bytes(payload[..8].try_into().expect("eight bytes"))
}

fn numbers(recorded: &[Recorded]) -> Vec<u64> {
    recorded
        .iter()
        .map(|datagram| number_of(&datagram.payload))
        .collect()
}

fn sample_payloads() -> Vec<Vec<u8>> {
    let stream = std::io::Cursor::new(SAMPLE.to_vec());
    let capture = Capture::from_reader("sample", Box::new(stream), None).expect("a capture");
    datagrams(capture)
        .into_iter()
        .map(|datagram| datagram.payload)
        .collect()
}

fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time");
    since.as_nanos() as i64
}

#[test]
fn every_byte_is_kept_with_its_time_and_addresses() {
    for (name, rest) in [("a.pcap", 16), ("a.pcapng", 32)] {
        let place = Workplace::new();
        let recording = Recording::udp(&place, name, &["--idle-stop", "500ms"]);
        let (one, other) = (sender(), sender());
        let before = now();
        let lengths = [0, 1, 2, 3, 4, 1_352, 1_472, 1_473, 9_000, 65_507];
        for (number, length) in (0_u8..).zip(lengths) {
            let socket = if number % 2 == 0 { &one } else { &other };
            socket
                .send_to(&vec![number; length], recording.address())
                .expect("sent");
            std::thread::sleep(Duration::from_millis(2));
        }
        let target = recording.address();
        let done = recording.done();
        let after = now();
        assert_eq!(done.code, Some(0), "{}", done.warnings());
        assert_eq!(done.report["reason"], "idle");
        assert_eq!(done.number("datagrams"), 10);
        assert_eq!(done.number("bytes"), lengths.iter().sum::<usize>() as u64);
        let size = std::fs::metadata(place.path(name)).expect("a file").len();
        assert_eq!(done.number("file_bytes"), size);
        assert!(size > 10 * (42 + rest), "{size}");
        let recorded = read(&place, name);
        assert_eq!(recorded.len(), 10);
        for (number, (datagram, length)) in (0_u8..).zip(recorded.iter().zip(lengths)) {
            assert!(
                datagram.payload == vec![number; length],
                "{length} bytes in {name}"
            );
            let socket = if number % 2 == 0 { &one } else { &other };
            assert_eq!(datagram.source, socket.local_addr().expect("an address"));
            assert_eq!(datagram.destination, target);
            assert!((before..after).contains(&datagram.time));
        }
        let spacing = recorded[1].time - recorded[0].time;
        assert!(
            spacing >= 1_900_000,
            "stamped on arrival, not when taken: {spacing}"
        );
    }
}

#[test]
fn one_port_is_heard_on_all_addresses() {
    let place = Workplace::new();
    let recording = Recording::start(&place, &["udp", "--listen", "0", "-o", "a.pcap"]);
    let port = recording.address().port();
    let mut expected = 1;
    sender()
        .send_to(&numbered(0, 8), ("127.0.0.1", port))
        .expect("sent");
    // A machine may be without IPv6.
    let ipv6 = UdpSocket::bind("[::1]:0");
    if let Ok(socket) = &ipv6 {
        std::thread::sleep(Duration::from_millis(5));
        socket
            .send_to(&numbered(1, 8), ("::1", port))
            .expect("sent");
        expected += 1;
    }
    let done = recording.stop_after(expected);
    assert_eq!(done.code, Some(0), "{}", done.warnings());
    let recorded = read(&place, "a.pcap");
    assert_eq!(numbers(&recorded), (0..expected).collect::<Vec<_>>());
    assert_eq!(
        recorded[0].destination,
        SocketAddr::from(([127, 0, 0, 1], port))
    );
    assert!(recorded[0].source.is_ipv4());
    if let Ok(socket) = ipv6 {
        assert_eq!(
            recorded[1].source.ip(),
            socket.local_addr().expect("an address").ip()
        );
        assert_eq!(
            recorded[1].destination,
            format!("[::1]:{port}").parse().expect("one")
        );
    }
}

#[test]
fn several_sockets_share_a_file_in_the_order_of_time() {
    let place = Workplace::new();
    let recording = Recording::start(
        &place,
        &[
            "udp",
            "--listen",
            "127.0.0.1:0",
            "--listen",
            "127.0.0.1:0",
            "--listen",
            "127.0.0.1:0",
            "-o",
            "a.pcapng",
        ],
    );
    let socket = sender();
    for number in 0..3_000 {
        let target = recording.addresses[number as usize * 7 % 3];
        socket
            .send_to(&numbered(number, 100), target)
            .expect("sent");
        if number % 50 == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let addresses = recording.addresses.clone();
    let done = recording.stop_after(3_000);
    assert_eq!(done.code, Some(0), "{}", done.warnings());
    // All come from one thread, so time is the order of sending.
    let recorded = read(&place, "a.pcapng");
    assert_eq!(numbers(&recorded), (0..3_000).collect::<Vec<_>>());
    for datagram in &recorded {
        let number = number_of(&datagram.payload) as usize;
        assert_eq!(datagram.destination, addresses[number * 7 % 3]);
    }
}

#[test]
fn what_is_passed_on_is_what_came() {
    let place = Workplace::new();
    let dashboards = [sender(), sender()];
    let addresses = dashboards
        .iter()
        .map(|socket| socket.local_addr().expect("an address"));
    let targets: Vec<String> = addresses.map(|address| address.to_string()).collect();
    let nobody = sender().local_addr().expect("an address").to_string();
    let recording = Recording::udp(
        &place,
        "a.pcap",
        &[
            "--forward",
            &nobody,
            "--forward",
            &targets[0],
            "--forward",
            &targets[1],
        ],
    );
    let readers = dashboards.map(|dashboard| {
        std::thread::spawn(move || {
            dashboard
                .set_read_timeout(Some(PATIENCE))
                .expect("a timeout");
            let mut buffer = vec![0; 65_536];
            let receive = |_| {
                let length = dashboard.recv(&mut buffer).expect("a datagram");
                buffer[..length].to_vec()
            };
            (0..500).map(receive).collect::<Vec<_>>()
        })
    });
    let socket = sender();
    let sent: Vec<Vec<u8>> = (0..500)
        .map(|number| numbered(number, number as usize * 3))
        .collect();
    for payload in &sent {
        socket.send_to(payload, recording.address()).expect("sent");
        std::thread::sleep(Duration::from_micros(300));
    }
    let done = recording.stop_after(500);
    assert_eq!(done.code, Some(0), "{}", done.warnings());
    let recorded = read(&place, "a.pcap");
    for reader in readers {
        assert!(
            reader.join().expect("a thread") == sent,
            "passed on unchanged"
        );
    }
    assert!(
        recorded.iter().map(|datagram| &datagram.payload).eq(&sent),
        "recorded unchanged"
    );
    assert_eq!(recorded.len(), 500);
    let forwards = done.report["forwards"].as_array().expect("a list");
    assert_eq!(forwards[1]["sent"], 500);
    assert_eq!(forwards[2]["sent"], 500);
    if cfg!(target_os = "linux") {
        assert!(forwards[0]["refused"].as_u64() > Some(0), "{forwards:?}");
        assert!(done.warnings().contains("nobody listens there"));
    }
}

#[test]
fn a_forward_that_would_come_back_is_refused() {
    let place = Workplace::new();
    let free = sender()
        .local_addr()
        .expect("an address")
        .port()
        .to_string();
    for (listen, target) in [
        (free.clone(), format!("127.0.0.1:{free}")),
        (free.clone(), format!("0.0.0.0:{free}")),
        (format!("127.0.0.1:{free}"), format!("127.0.0.1:{free}")),
        (format!("0.0.0.0:{free}"), format!("127.0.0.3:{free}")),
        (format!("127.0.0.1:{free}"), format!("0.0.0.0:{free}")),
        (
            format!("127.0.0.1:{free}"),
            format!("[::ffff:127.0.0.1]:{free}"),
        ),
        (
            format!("0.0.0.0:{free}"),
            format!("[::ffff:127.0.0.1]:{free}"),
        ),
        (format!("0.0.0.0:{free}"), format!("255.255.255.255:{free}")),
        (
            format!("0.0.0.0:{free}"),
            "239.1.2.3:PORT".replace("PORT", &free),
        ),
    ] {
        // Only Linux has all of 127.0.0.0/8.
        if target.starts_with("127.0.0.3") && !cfg!(target_os = "linux") {
            continue;
        }
        let mut arguments = vec!["record", "udp", "--listen", &listen, "--forward", &target];
        if target.starts_with("239") {
            arguments.extend(["--multicast", "239.1.2.3@127.0.0.1"]);
        }
        let run = place.run(&arguments);
        assert_eq!(run.code, 1, "{listen} {target}: {}", run.stderr);
        assert!(
            run.stderr.contains("would send everything back"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(place.files("").len(), 0, "no file was begun");
    let run = place.run(&[
        "record",
        "udp",
        "--listen",
        "0",
        "--forward",
        "nowhere",
        "-o",
        "x.pcap",
    ]);
    assert_eq!(run.code, 2);
}

#[test]
fn a_port_that_is_taken_is_explained() {
    let place = Workplace::new();
    let taken = sender();
    let port = taken.local_addr().expect("an address").port().to_string();
    for listen in [port.clone(), format!("127.0.0.1:{port}")] {
        let run = place.run(&["record", "f1", "--listen", &listen]);
        assert_eq!(run.code, 1);
        for way_out in [
            "another program has this port",
            "--forward",
            "--listen",
            "--share",
        ] {
            assert!(run.stderr.contains(way_out), "{}", run.stderr);
        }
    }
    assert_eq!(place.files("").len(), 0, "no file was begun");
    for (arguments, said) in [
        (
            ["--listen", "5", "--listen", "127.0.0.1:5"],
            "the same port twice",
        ),
        (
            ["--listen", "127.0.0.1:5", "--multicast", "239.1.2.3"],
            "reaches none of the addresses",
        ),
        (
            ["--listen", "0.0.0.0:5", "--multicast", "ff02::1"],
            "reaches none of the addresses",
        ),
        (["--listen", "5", "--forward", "127.0.0.1:0"], "has no port"),
    ] {
        let run = place.run(&[&["record", "udp"][..], &arguments].concat());
        assert_eq!(run.code, 1, "{arguments:?}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let run = place.run(&["record", "udp", "--listen", "192.0.2.1:0"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("does not have the address"),
        "{}",
        run.stderr
    );
}

#[cfg(unix)]
#[test]
fn signals_and_rules_end_a_recording_whole() {
    for signal in ["-INT", "-TERM"] {
        let place = Workplace::new();
        let recording = Recording::udp(&place, "a.pcap", &[]);
        for number in 0..100 {
            recording.send(&sender(), number, 50);
        }
        // At once: what has arrived is kept all the same.
        recording.signal(signal);
        let done = recording.done();
        assert_eq!(done.code, Some(0), "{signal}: {}", done.warnings());
        assert_eq!(done.report["reason"], "interrupted");
        assert_eq!(
            numbers(&read(&place, "a.pcap")),
            (0..100).collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_recording_ends_by_its_rules() {
    let place = Workplace::new();
    let started = Instant::now();
    let run = place.succeed(&[
        "record",
        "udp",
        "--listen",
        "127.0.0.1:0",
        "-o",
        "time.pcap",
        "--duration",
        "300ms",
    ]);
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert!(
        run.stderr.contains("recorded 0 datagrams"),
        "{}",
        run.stderr
    );
    assert_eq!(read(&place, "time.pcap"), []);

    // Silence counts from the first datagram on.
    let recording = Recording::udp(&place, "idle.pcap", &["--idle-stop", "200ms"]);
    std::thread::sleep(Duration::from_millis(500));
    recording.send(&sender(), 0, 50);
    let done = recording.done();
    assert_eq!(
        (done.code, done.report["reason"].as_str()),
        (Some(0), Some("idle"))
    );
    assert_eq!(read(&place, "idle.pcap").len(), 1);

    for (name, most) in [("size.pcap", 24 + 10 * 158), ("size.pcapng", 5_000)] {
        let most_text = format!("{most}B");
        let recording = Recording::udp(&place, name, &["--max-size", &most_text]);
        let socket = sender();
        for number in 0..100 {
            recording.send(&socket, number, 100);
        }
        let done = recording.done();
        assert_eq!(
            (done.code, done.report["reason"].as_str()),
            (Some(0), Some("size"))
        );
        let size = std::fs::metadata(place.path(name)).expect("a file").len();
        assert!(
            (most - 200..=most).contains(&size),
            "{name} has {size} bytes"
        );
        let recorded = read(&place, name);
        assert!(recorded.len() >= 10, "{}", recorded.len());
        assert_eq!(done.number("datagrams"), recorded.len() as u64);
        assert_eq!(
            numbers(&recorded),
            (0..recorded.len() as u64).collect::<Vec<_>>()
        );
    }
}

#[test]
fn files_rotate_by_size_and_only_the_latest_are_kept() {
    for (extension, keep) in [("pcap", None), ("pcapng", None), ("pcap", Some("3"))] {
        let place = Workplace::new();
        let output = format!("out/race.{extension}");
        let mut arguments = vec![
            "udp",
            "--listen",
            "127.0.0.1:0",
            "-o",
            &output,
            "--rotate",
            "5kB",
        ];
        arguments.extend(keep.iter().flat_map(|keep| ["--keep", *keep]));
        let recording = Recording::start(&place, &arguments);
        let socket = sender();
        for number in 0..200 {
            recording.send(&socket, number, 100);
        }
        let done = recording.stop_after(200);
        assert_eq!(done.code, Some(0), "{}", done.warnings());
        assert_eq!(done.number("datagrams"), 200);
        let files = place.files("out");
        let begun = done.number("files");
        assert!(begun >= 7, "{begun}");
        let expected = keep.map_or(begun, |keep| keep.parse().expect("a number"));
        assert_eq!(files.len() as u64, expected);
        let mut all = Vec::new();
        for (name, bytes) in &files {
            assert!(bytes.len() <= 5_000, "{name} has {} bytes", bytes.len());
            assert!(
                name.starts_with("race-20") && name.ends_with(extension),
                "{name}"
            );
            all.extend(numbers(&read(&place, &format!("out/{name}"))));
        }
        let last = 200 - all.len() as u64;
        assert_eq!(
            all,
            (last..200).collect::<Vec<_>>(),
            "in the order of the names"
        );
        assert_eq!(keep.is_none(), last == 0);
    }
}

#[test]
fn files_rotate_by_the_clock() {
    let place = Workplace::new();
    let recording = Recording::udp(
        &place,
        "out/",
        &[
            "--format",
            "pcapng",
            "--rotate",
            "200ms",
            "--flush-interval",
            "1h",
        ],
    );
    let socket = sender();
    recording.send(&socket, 0, 100);
    // No other datagram is needed for the file to be ended.
    let deadline = Instant::now() + PATIENCE;
    let ended = loop {
        let files = place.files("out");
        let (name, bytes) = files.iter().next().expect("a file");
        // The block of statistics is the last.
        if bytes.len() > 100 && bytes[bytes.len() - 100..][..4] == [5, 0, 0, 0] {
            break name.clone();
        }
        assert!(Instant::now() < deadline, "{} bytes", bytes.len());
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(
        ended.starts_with("udp-20") && ended.ends_with("-000001.pcapng"),
        "{ended}"
    );
    assert_eq!(numbers(&read(&place, &format!("out/{ended}"))), [0]);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(place.files("out").len(), 1, "no file without a datagram");
    recording.send(&socket, 1, 100);
    let done = recording.stop_after(2);
    assert_eq!((done.code, done.number("files")), (Some(0), 2));
    let files = place.files("out");
    let last = files.keys().last().expect("a file");
    assert_eq!(numbers(&read(&place, &format!("out/{last}"))), [1]);
}

#[test]
fn no_recording_replaces_another_unasked() {
    let place = Workplace::new();
    place.write("a.pcap", "mine");
    let quick = [
        "record",
        "udp",
        "--listen",
        "127.0.0.1:0",
        "--duration",
        "50ms",
    ];
    let with = |rest: &[&'static str]| [&quick[..], rest].concat();
    let run = place.run(&with(&["-o", "a.pcap"]));
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("a.pcap exists already; --force"),
        "{}",
        run.stderr
    );
    assert_eq!(place.files("")["a.pcap"], b"mine");
    place.succeed(&with(&["-o", "a.pcap", "--force"]));
    assert_eq!(read(&place, "a.pcap"), []);

    // Several in the same second.
    std::fs::create_dir(place.path("here")).expect("a folder");
    for _ in 0..4 {
        place.succeed(&with(&["-o", "here"]));
    }
    assert_eq!(place.files("here").len(), 4);
    for arguments in [
        &with(&["-o", "a.txt"])[..],
        &with(&["-o", "-", "--rotate", "1MB"]),
        &with(&["--keep", "3"]),
        &with(&["--rotate", "5 apples"]),
        &with(&["--max-size", "0"]),
        &with(&["--multicast", "192.168.1.1"]),
        &["record", "udp"],
    ] {
        assert_eq!(place.run(arguments).code, 2, "{arguments:?}");
    }
    assert_eq!(place.files("").len(), 5);
}

#[test]
fn a_recording_goes_to_a_pipe() {
    let place = Workplace::new();
    let recording = Recording::udp(&place, "-", &[]);
    recording.send(&sender(), 7, 100);
    let mut recording = recording;
    let mut stdout = recording.child.stdout.take().expect("standard output");
    // At once, not with the next or at the end.
    let mut bytes = vec![0; 24 + 16 + 42 + 100];
    stdout.read_exact(&mut bytes).expect("a datagram");
    let capture = Capture::from_reader("pipe", Box::new(std::io::Cursor::new(bytes)), None);
    assert_eq!(numbers(&datagrams(capture.expect("a capture"))), [7]);
    // Whoever reads has had enough.
    drop(stdout);
    let socket = sender();
    let deadline = Instant::now() + PATIENCE;
    while recording.child.try_wait().expect("a status").is_none() {
        assert!(Instant::now() < deadline);
        socket.send_to(&numbered(8, 100), recording.address()).ok();
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = recording.child.wait().expect("an end");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_cannot_be_kept_is_counted() {
    // A reader that does not read, so that all buffers fill.
    let place = Workplace::new();
    let mut recording = Recording::udp(&place, "-", &["--buffer", "200kB"]);
    let socket = sender();
    let sent = 1_500;
    for number in 0..sent {
        recording.send(&socket, number, 60_000);
        if number % 3 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let status = recording.wait_for(|event| {
        let received = event["listeners"][0]["received"].as_u64().unwrap_or(0);
        received
            + event["listeners"][0]["dropped_by_system"]
                .as_u64()
                .unwrap_or(0)
            == sent
            || !cfg!(target_os = "linux") && received > 0
    });
    assert!(
        status["listeners"][0]["dropped_in_queue"].as_u64() > Some(0),
        "{status}"
    );
    recording.signal("-INT");
    let mut stdout = recording.child.stdout.take().expect("standard output");
    let mut bytes = Vec::new();
    stdout.read_to_end(&mut bytes).expect("a readable pipe");
    let code = recording.child.wait().expect("an end").code();
    recording.seen.extend(recording.events.iter());
    let end = recording
        .seen
        .iter()
        .find(|event| event["event"] == "end")
        .expect("a report");
    let capture = Capture::from_reader("pipe", Box::new(std::io::Cursor::new(bytes)), None);
    let recorded = datagrams(capture.expect("a capture"));
    assert_eq!(code, Some(3));
    assert_eq!(end["datagrams"], recorded.len());
    if cfg!(target_os = "linux") {
        let dropped = end["dropped"].as_u64().expect("a number");
        assert_eq!(recorded.len() as u64 + dropped, sent, "{end}");
    }
    let warned = recording
        .seen
        .iter()
        .filter_map(|event| event["message"].as_str());
    assert!(
        warned
            .into_iter()
            .any(|text| text.contains("faster than they could be written"))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_kernel_drops_is_counted_to_the_last() {
    let place = Workplace::new();
    let recording = Recording::udp(&place, "a.pcapng", &["--buffer", "4kB"]);
    let socket = sender();
    let sent = 30_000;
    for number in 0..sent {
        recording.send(&socket, number, 1_352);
    }
    let done = recording.stop_after(sent);
    let recorded = read(&place, "a.pcapng");
    assert_eq!(done.number("datagrams"), recorded.len() as u64);
    assert_eq!(
        recorded.len() as u64 + done.number("dropped"),
        sent,
        "{}",
        done.report
    );
    assert!(numbers(&recorded).is_sorted(), "in order");
    assert_eq!(
        done.code,
        Some(if done.number("dropped") > 0 { 3 } else { 0 })
    );
    if done.number("dropped") > 0 {
        assert!(
            done.warnings().contains("the system dropped them"),
            "{}",
            done.warnings()
        );
    }
}

#[cfg(unix)]
#[test]
fn a_killed_recording_has_all_but_the_last_moment() {
    for name in ["a.pcap", "a.pcapng"] {
        let place = Workplace::new();
        let recording = Recording::udp(&place, name, &["--flush-interval", "300ms"]);
        let socket = sender();
        let mut sent = Vec::new();
        for number in 0..800 {
            recording.send(&socket, number, 200);
            sent.push(Instant::now());
            std::thread::sleep(Duration::from_millis(1));
        }
        recording.signal("-KILL");
        let killed = Instant::now();
        assert_eq!(recording.done().code, None);
        let must = sent
            .iter()
            .filter(|moment| killed - **moment > Duration::from_millis(300))
            .count();
        let recorded = read(&place, name);
        assert!(must > 0);
        assert!(
            recorded.len() >= must,
            "{} of at least {must} in {name}",
            recorded.len()
        );
        assert_eq!(
            numbers(&recorded),
            (0..recorded.len() as u64).collect::<Vec<_>>()
        );
    }
}

#[test]
fn it_says_what_arrives() {
    let place = Workplace::new();
    let mut recording =
        Recording::start(&place, &["f1", "--listen", "127.0.0.1:0", "-o", "a.pcap"]);
    let socket = sender();
    let payloads = sample_payloads();
    for payload in &payloads {
        socket.send_to(payload, recording.address()).expect("sent");
        std::thread::sleep(Duration::from_micros(500));
    }
    socket
        .send_to(b"what is this", recording.address())
        .expect("sent");
    let total = payloads.len() as u64 + 1;
    let status = recording
        .wait_for(|event| event["event"] == "status" && event["listeners"][0]["received"] == total);
    for name in [
        "seconds",
        "datagrams_per_second",
        "bytes_per_second",
        "dropped",
        "file_bytes",
    ] {
        assert!(status[name].is_number(), "{name}: {status}");
    }
    let done = recording.stop_after(0);
    assert_eq!(done.code, Some(0));
    let format = &done.report["formats"][0];
    assert_eq!(format["format"], "f1_2025");
    assert_eq!(format["datagrams"], payloads.len());
    assert_eq!(format["status"], serde_json::json!(["Spa", "Time Trial"]));
    assert_eq!(done.number("unrecognised"), 1);
    let recorded = read(&place, "a.pcap");
    assert!(
        recorded
            .iter()
            .map(|datagram| &datagram.payload)
            .take(payloads.len())
            .eq(&payloads)
    );
}

#[test]
fn people_are_told_in_words() {
    let place = Workplace::new();
    let port = {
        let socket = sender();
        socket.local_addr().expect("an address").port()
    };
    let listen = format!("127.0.0.1:{port}");
    let arguments = [
        "record",
        "f1",
        "--listen",
        &listen,
        "-o",
        "a.pcap",
        "--idle-stop",
        "800ms",
    ];
    let child = place.command(&arguments).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("simtel runs");
    let mut stderr = BufReader::new(child.stderr.take().expect("standard error"));
    let mut said = String::new();
    stderr.read_line(&mut said).expect("a line");
    assert!(
        said.contains(&format!("recording {listen} to a.pcap; Ctrl-C ends it")),
        "{said}"
    );
    let socket = sender();
    for payload in sample_payloads() {
        socket.send_to(&payload, &listen).expect("sent");
        std::thread::sleep(Duration::from_micros(300));
    }
    stderr.read_to_string(&mut said).expect("the rest");
    assert!(child.wait().expect("an end").success(), "{said}");
    for words in [
        "receiving f1_2025 · Spa · Time Trial",
        "recorded 300 datagrams (288.47 kB)",
        "  f1_2025 · Spa · Time Trial: 300 datagrams",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn what_is_missing_by_the_senders_own_count_is_told() {
    let place = Workplace::new();
    let recording = Recording::start(&place, &["f1", "--listen", "127.0.0.1:0", "-o", "a.pcap"]);
    let payloads = sample_payloads();
    let of_id = |id: u8| payloads.iter().find(|payload| payload[6] == id).cloned();
    let mut packets = [0, 2, 6].map(|id| of_id(id).expect("a packet"));
    let socket = sender();
    let mut sent = 0;
    let start = Instant::now();
    for frame in 1_000_u32..1_150 {
        let due = Duration::from_millis(4) * (frame - 1_000);
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        for (position, packet) in packets.iter_mut().enumerate() {
            // Two single packets and five whole frames get lost.
            if (frame, position) == (1_020, 0)
                || (frame, position) == (1_030, 2)
                || (1_050..1_055).contains(&frame)
            {
                continue;
            }
            // The frame, and the frame that never goes back.
            packet[19..23].copy_from_slice(&frame.to_le_bytes());
            packet[23..27].copy_from_slice(&frame.to_le_bytes());
            socket.send_to(packet, recording.address()).expect("sent");
            sent += 1;
        }
    }
    let done = recording.stop_after(sent);
    assert_eq!(done.code, Some(0), "lost on the network, not here");
    let frames = &done.report["formats"][0]["frames"];
    assert_eq!(frames["missing_datagrams"], 2, "{frames}");
    assert_eq!(frames["missing"], 5, "{frames}");
    let warnings = done.warnings();
    assert!(
        warnings.contains("2 datagrams are missing in"),
        "{warnings}"
    );
    assert!(
        warnings.contains("and 5 frames are missing whole"),
        "{warnings}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn drops_are_counted_right_when_the_buffer_fills_again_and_again() {
    let place = Workplace::new();
    let recording = Recording::udp(&place, "a.pcapng", &["--buffer", "150kB"]);
    let socket = sender();
    let mut sent = 0;
    for _ in 0..3 {
        recording.signal("-STOP");
        for _ in 0..2_000 {
            recording.send(&socket, sent, 1_352);
            sent += 1;
        }
        recording.signal("-CONT");
        for _ in 0..300 {
            recording.send(&socket, sent, 1_352);
            sent += 1;
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    let done = recording.stop_after(sent);
    let recorded = read(&place, "a.pcapng");
    assert!(done.number("dropped") > 1_000, "{}", done.report);
    assert_eq!(recorded.len() as u64 + done.number("dropped"), sent);
    assert_eq!(done.number("datagrams"), recorded.len() as u64);
    assert_eq!(done.code, Some(3));
}

#[cfg(unix)]
#[test]
fn several_sockets_are_in_order_after_a_stall() {
    let place = Workplace::new();
    let recording = Recording::start(
        &place,
        &[
            "udp",
            "--listen",
            "127.0.0.1:0",
            "--listen",
            "127.0.0.1:0",
            "-o",
            "a.pcap",
        ],
    );
    let socket = sender();
    let mut sent = 0;
    for _ in 0..2 {
        recording.signal("-STOP");
        for number in 0..90 {
            // Many to one of them, few to the other.
            let target = recording.addresses[usize::from(number % 10 == 0)];
            socket.send_to(&numbered(sent, 100), target).expect("sent");
            sent += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        recording.signal("-CONT");
        std::thread::sleep(Duration::from_millis(300));
    }
    let done = recording.stop_after(sent);
    assert_eq!(done.code, Some(0), "{}", done.warnings());
    assert_eq!(
        numbers(&read(&place, "a.pcap")),
        (0..sent).collect::<Vec<_>>()
    );
}

#[cfg(unix)]
#[test]
fn one_ctrl_c_may_come_twice() {
    let place = Workplace::new();
    let recording = Recording::udp(&place, "a.pcap", &["--flush-interval", "1h"]);
    for number in 0..100 {
        recording.send(&sender(), number, 50);
    }
    recording.signal("-INT");
    // It may have ended already.
    let pid = recording.child.id().to_string();
    Command::new("kill")
        .args(["-INT", &pid])
        .stderr(Stdio::null())
        .status()
        .expect("kill runs");
    let done = recording.done();
    assert_eq!(done.code, Some(0));
    assert_eq!(read(&place, "a.pcap").len(), 100);
}

#[cfg(unix)]
#[test]
fn a_file_that_is_removed_is_no_recording() {
    let place = Workplace::new();
    let recording = Recording::udp(&place, "a.pcap", &["--flush-interval", "200ms"]);
    std::fs::remove_file(place.path("a.pcap")).expect("a file");
    recording.send(&sender(), 0, 50);
    let done = recording.done();
    assert_eq!(done.code, Some(1));
    assert!(
        done.warnings()
            .contains("a.pcap was removed while it was written to")
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_stalls_does_not_keep_a_recording_from_ending() {
    let place = Workplace::new();
    let mut recording = Recording::udp(&place, "-", &["--duration", "1s"]);
    let socket = sender();
    for number in 0..300 {
        recording.send(&socket, number, 1_000);
    }
    let started = Instant::now();
    let stdout = recording.child.stdout.take().expect("standard output");
    let code = recording.child.wait().expect("an end").code();
    assert!(started.elapsed() < PATIENCE);
    assert_eq!(code, Some(1));
    drop(stdout);
    let end = recording.wait_for(|event| event["event"] == "end");
    let left = end["unrecorded"].as_u64().expect("a number");
    assert_eq!(
        end["datagrams"].as_u64().map(|written| written + left),
        Some(300),
        "{end}"
    );
    let said = recording.wait_for(|event| event["event"] == "error");
    assert!(
        said["message"].to_string().contains("stopped reading"),
        "{said}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn broadcast_and_multicast_are_shared() {
    let place = Workplace::new();
    let first = Recording::start(
        &place,
        &[
            "udp",
            "--listen",
            "0.0.0.0:0",
            "--share",
            "-o",
            "a.pcap",
            "--multicast",
            "239.255.77.7@127.0.0.1",
        ],
    );
    let port = first.address().port();
    let listen = format!("0.0.0.0:{port}");
    let second = Recording::start(
        &place,
        &[
            "udp",
            "--listen",
            &listen,
            "--share",
            "-o",
            "b.pcap",
            "--multicast",
            "239.255.77.7@127.0.0.1",
        ],
    );
    let socket = sender();
    socket.set_broadcast(true).expect("broadcast");
    for number in 0..20 {
        let target = match number % 2 {
            0 => ("127.255.255.255", port),
            _ => ("239.255.77.7", port),
        };
        socket.send_to(&numbered(number, 40), target).expect("sent");
    }
    for (recording, name) in [(first, "a.pcap"), (second, "b.pcap")] {
        let done = recording.stop_after(20);
        assert_eq!(done.code, Some(0));
        let recorded = read(&place, name);
        assert_eq!(numbers(&recorded), (0..20).collect::<Vec<_>>(), "{name}");
        assert_eq!(recorded[0].destination.ip().to_string(), "127.255.255.255");
        assert_eq!(recorded[1].destination.ip().to_string(), "239.255.77.7");
    }
}

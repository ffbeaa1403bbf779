//! Captures that are cut, overwritten or no captures at all: what can be read
//! is read, the rest is named, nothing panics.

use simtel::capture::Capture;

use crate::support::{SAMPLE, Workplace, ethernet, ipv4, pcap};

fn payloads(bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<(u64, String)>) {
    let stream = std::io::Cursor::new(bytes.to_vec());
    let Ok(mut capture) = Capture::from_reader("x", Box::new(stream), None) else {
        return (Vec::new(), Vec::new());
    };
    let mut payloads = Vec::new();
    while let Some(datagram) = capture.next_datagram().expect("readable") {
        payloads.push(datagram.payload.to_vec());
    }
    (payloads, capture.damage().finds.clone())
}

/// Ten datagrams of 100 bytes: records of 16 + 142 bytes after the header.
fn ten() -> Vec<u8> {
    let frames: Vec<Vec<u8>> = (0..10).map(|n| ethernet(&ipv4(&[n; 100]))).collect();
    pcap(&frames)
}

const RECORD: usize = 16 + 142;

#[test]
fn every_prefix_gives_the_datagrams_before_the_cut() {
    let whole = ten();
    let (all, _) = payloads(&whole);
    assert_eq!(all.len(), 10);
    for length in 24..whole.len() {
        let (read, damage) = payloads(&whole[..length]);
        let complete = (length - 24) / RECORD;
        assert_eq!(read, all[..complete], "cut at {length}");
        match (length - 24) % RECORD {
            0 => assert_eq!(damage, [], "cut at {length}"),
            _ => {
                let offset = (24 + complete * RECORD) as u64;
                let what = "the capture ends inside this record".to_string();
                assert_eq!(damage, [(offset, what)], "cut at {length}");
            }
        }
    }
}

#[test]
fn a_wrong_length_costs_one_record() {
    let whole = ten();
    let (all, _) = payloads(&whole);
    for wrong in [0xFFFF_FFFF_u32, 0x00FF_FFFF, 300_000, 5_000, 200] {
        let mut bytes = whole.clone();
        let record = 24 + 3 * RECORD;
        bytes[record + 8..record + 12].copy_from_slice(&wrong.to_le_bytes());
        let (read, damage) = payloads(&bytes);
        let after: Vec<_> = read.iter().filter(|payload| payload[0] > 5).collect();
        assert_eq!(after.len(), 4, "{wrong}: {damage:?}");
        assert_eq!(read[..3], all[..3], "{wrong}");
        assert!(!damage.is_empty(), "{wrong}");
    }
}

#[test]
fn no_single_byte_makes_it_panic() {
    let whole = ten();
    for at in 0..24 + 2 * RECORD {
        for value in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let (read, _) = payloads(&bytes);
            assert!(read.len() <= 10);
        }
    }
}

#[test]
fn what_is_no_capture_is_refused_by_what_it_is() {
    let place = Workplace::new();
    for (name, bytes, looks) in [
        ("empty.pcap", &b""[..], "it is empty"),
        ("laps.csv", b"lap,time\n1,90.1\n", "a CSV file"),
        ("data.json", b"{\"a\": 1}", "JSON"),
        ("page.html", b"<html></html>", "XML or HTML"),
        ("notes.txt", b"hello world", "text"),
        ("a.zip", b"PK\x03\x04rest", "ZIP archive"),
        ("t.parquet", b"PAR1....", "Parquet"),
        (
            "bare.bin",
            b"\xE9\x07\x19\x01\x12\x01\x06\x00",
            "bare F1 datagrams",
        ),
        (
            "stint.ibt",
            b"\x02\0\0\0\x01\0\0\0\x3C\0\0\0\0\0\0\0",
            "ends inside its header of 112 bytes",
        ),
        ("odd.bin", b"\0\x01\x02\x03\x04", "no capture"),
    ] {
        place.write(name, bytes);
        let run = place.run(&["convert", name, "-o", "out"]);
        assert_eq!(run.code, 1, "{name}");
        assert!(run.stderr.contains(name), "{}", run.stderr);
        assert!(run.stderr.contains(looks), "{name}: {}", run.stderr);
        assert!(!place.path("out").exists(), "{name}");
    }
    place.write("header.pcap", &SAMPLE[..20]);
    let run = place.run(&["convert", "header.pcap", "-o", "out"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr.contains("ends inside its file header"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_cut_sample_converts_up_to_the_cut() {
    let place = Workplace::new();
    place.write("cut.pcap", &SAMPLE[..SAMPLE.len() - 50]);
    let run = place.run(&["convert", "cut.pcap", "-o", "out", "-f", "csv"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("cut.pcap: offset") && run.stderr.contains("ends inside this record"),
        "{}",
        run.stderr
    );
    assert_eq!(place.table("car_telemetry").rows.len() % 22, 0);
    let run = place.run(&["convert", "cut.pcap", "-o", "strict", "--strict"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("--strict"), "{}", run.stderr);
    assert_eq!(place.files("strict").len(), 0);
}

#[test]
fn a_hole_of_zeros_is_stepped_over_and_reported() {
    let whole = ten();
    let (all, _) = payloads(&whole);
    for (start, length) in [
        (3 * RECORD, RECORD),
        (3 * RECORD, 2 * RECORD),
        (3 * RECORD - 20, 60),
    ] {
        let mut bytes = whole.clone();
        bytes[24 + start..24 + start + length].fill(0);
        let (read, damage) = payloads(&bytes);
        assert!(!damage.is_empty());
        assert_eq!(
            read[read.len() - 5..],
            all[5..],
            "{start} {length}: {damage:?}"
        );
    }
}

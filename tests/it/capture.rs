//! Every flavour of capture and every link type, made by hand, gives the same
//! datagrams.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use simtel::capture::{Capture, PacketCounts};

use crate::support::{
    MICROSECONDS, NANOSECONDS, Order, SAMPLE, Workplace, destination, ethernet, hex, ipv4,
    ipv4_fragments, ipv6, pcap, pcap_header, pcap_record, source,
};

const PAYLOAD: &[u8] = b"telemetry";

/// A datagram as the tests compare it.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    time: i64,
    payload: Vec<u8>,
}

struct Read {
    seen: Vec<Seen>,
    counts: PacketCounts,
    damage: Vec<(u64, String)>,
}

/// Reads a capture from a file and again as a stream; both must agree.
///
/// With SIMTEL_KEEP_CAPTURES set to a folder, captures without damage are also
/// left there, for other tools to read.
fn read(bytes: &[u8]) -> Read {
    let place = Workplace::new();
    place.write("capture", bytes);
    let mapped = drain(Capture::open(&place.path("capture")).expect("a capture"));
    let stream = std::io::Cursor::new(bytes.to_vec());
    let streamed = Capture::from_reader("stream", Box::new(stream), None);
    let streamed = drain(streamed.expect("a capture"));
    assert_eq!(mapped.seen, streamed.seen);
    assert_eq!(mapped.counts, streamed.counts);
    assert_eq!(mapped.damage, streamed.damage);
    if mapped.damage.is_empty()
        && let Ok(folder) = std::env::var("SIMTEL_KEEP_CAPTURES")
    {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let test = std::thread::current();
        let test = test.name().unwrap_or("test").replace("::", "-");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(&folder).join(format!("{test}-{number}"));
        std::fs::write(path, bytes).expect("the folder to keep captures in");
    }
    mapped
}

fn drain(mut capture: Capture) -> Read {
    let mut seen = Vec::new();
    let mapping = capture.mapping().cloned();
    while let Some(datagram) = capture.next_datagram().expect("readable") {
        if let (Some(map), Some(at)) = (&mapping, datagram.mapped_at) {
            assert_eq!(&map[at..at + datagram.payload.len()], datagram.payload);
        }
        seen.push(Seen {
            time: datagram.time,
            payload: datagram.payload.to_vec(),
        });
    }
    Read {
        seen,
        counts: capture.counts(),
        damage: capture.damage().finds.clone(),
    }
}

fn one_packet(link: u32, packet: &[u8]) -> Read {
    let mut bytes = pcap_header(Order::Little, NANOSECONDS, link);
    bytes.extend(pcap_record(Order::Little, 5, 7, packet, packet.len()));
    read(&bytes)
}

#[test]
fn pcap_in_both_resolutions_and_byte_orders() {
    let frame = ethernet(&ipv4(PAYLOAD));
    for order in [Order::Little, Order::Big] {
        for (magic, fraction, nanoseconds) in [
            (MICROSECONDS, 123_456, 123_456_000),
            (NANOSECONDS, 123_456_789, 123_456_789),
        ] {
            let mut bytes = pcap_header(order, magic, 1);
            bytes.extend(pcap_record(
                order,
                1_700_000_000,
                fraction,
                &frame,
                frame.len(),
            ));
            let read = read(&bytes);
            assert_eq!(
                read.seen,
                [Seen {
                    time: 1_700_000_000_000_000_000 + nanoseconds,
                    payload: PAYLOAD.into(),
                }],
                "{order:?} {magic:x}"
            );
        }
    }
}

#[test]
fn addresses_and_ports_are_kept() {
    let place = Workplace::new();
    place.write("x", pcap(&[ethernet(&ipv4(PAYLOAD))]));
    let mut capture = Capture::open(&place.path("x")).expect("a capture");
    let datagram = capture.next_datagram().expect("readable").expect("one");
    assert_eq!(datagram.source, source());
    assert_eq!(datagram.destination, destination());
    assert_eq!(datagram.offset, 24);
}

#[test]
fn every_link_type() {
    let v4 = ipv4(PAYLOAD);
    let v6 = ipv6(PAYLOAD);
    let vlan = |tags: &str, packet: &[u8]| {
        [&hex("020000000001 020000000002"), &hex(tags), packet].concat()
    };
    let sll = |kind: &str, packet: &[u8]| {
        [&hex("0000 0001 0006 020000000001 0000"), &hex(kind), packet].concat()
    };
    let sll2 = |kind: &str, packet: &[u8]| {
        let rest = hex("0000 00000003 0001 00 06 020000000001 0000");
        [&hex(kind), &rest, packet].concat()
    };
    let prefixed = |prefix: &str, packet: &[u8]| [&hex(prefix), packet].concat();
    for (what, link, packet) in [
        ("Ethernet, IPv4", 1, ethernet(&v4)),
        ("Ethernet, IPv6", 1, ethernet(&v6)),
        (
            "Ethernet, padded",
            1,
            [&ethernet(&v4)[..], &[0; 7]].concat(),
        ),
        ("VLAN", 1, vlan("8100 0005 0800", &v4)),
        ("QinQ", 1, vlan("88a8 0005 8100 0006 86dd", &v6)),
        ("raw IP, IPv4", 101, v4.clone()),
        ("raw IP, IPv6", 101, v6.clone()),
        ("raw IP, old number 12", 12, v4.clone()),
        ("raw IP, old number 14", 14, v4.clone()),
        ("raw IPv4", 228, v4.clone()),
        ("raw IPv6", 229, v6.clone()),
        ("NULL, little-endian, IPv4", 0, prefixed("02000000", &v4)),
        ("NULL, big-endian, IPv4", 0, prefixed("00000002", &v4)),
        ("NULL, macOS, IPv6", 0, prefixed("1e000000", &v6)),
        ("NULL, FreeBSD, IPv6", 0, prefixed("1c000000", &v6)),
        ("NULL, Windows, IPv6", 0, prefixed("18000000", &v6)),
        ("LOOP, IPv4", 108, prefixed("00000002", &v4)),
        ("LOOP, IPv6", 108, prefixed("00000018", &v6)),
        ("cooked, IPv4", 113, sll("0800", &v4)),
        ("cooked, IPv6", 113, sll("86dd", &v6)),
        ("cooked 2, IPv4", 276, sll2("0800", &v4)),
        ("cooked 2, IPv6", 276, sll2("86dd", &v6)),
        // The upper half tells that frames end with a 4-byte check sequence.
        ("Ethernet with check sequence", 0x5000_0001, {
            [&ethernet(&v4)[..], &[1, 2, 3, 4]].concat()
        }),
    ] {
        let read = one_packet(link, &packet);
        assert_eq!(read.seen.len(), 1, "{what}: {:?}", read.counts);
        assert_eq!(read.seen[0].payload, PAYLOAD, "{what}");
        assert_eq!(read.counts.datagrams, 1, "{what}");
    }
}

#[test]
fn an_unknown_link_type_is_counted() {
    let read = one_packet(147, b"whatever");
    assert_eq!(read.seen, []);
    assert_eq!(read.counts.unknown_link, 1);
}

#[test]
fn ipv6_extension_headers_are_passed() {
    let mut packet = ipv6(PAYLOAD);
    // Hop-by-hop and destination options of 8 bytes each before UDP.
    let options = hex("3c 00 010400000000  11 00 010400000000");
    let length = u16::from_be_bytes([packet[4], packet[5]]) + 16;
    packet[4..6].copy_from_slice(&length.to_be_bytes());
    packet[6] = 0;
    packet.splice(40..40, options);
    let read = one_packet(101, &packet);
    assert_eq!(read.seen.len(), 1);
    assert_eq!(read.seen[0].payload, PAYLOAD);
}

#[test]
fn other_traffic_is_counted_and_passed_over() {
    let arp = hex("ffffffffffff 020000000001 0806 0001 0800 06 04 0001 \
                   020000000001 0a000001 000000000000 0a000002");
    let mut tcp = ipv4(&[0; 40]);
    tcp[9] = 6;
    let read = read(&pcap(&[
        arp,
        ethernet(&tcp),
        b"short".to_vec(),
        ethernet(&ipv4(PAYLOAD)),
    ]));
    assert_eq!(read.seen.len(), 1);
    assert_eq!(read.counts.other, 3);
    assert_eq!(read.counts.packets, 4);
}

#[test]
fn packets_cut_by_a_snap_length_are_known_as_cut() {
    let frame = ethernet(&ipv4(&[7; 500]));
    let mut bytes = pcap_header(Order::Little, NANOSECONDS, 1);
    for kept in [96, 38, 500] {
        bytes.extend(pcap_record(
            Order::Little,
            5,
            7,
            &frame[..kept],
            frame.len(),
        ));
    }
    bytes.extend(pcap_record(Order::Little, 5, 7, &frame, frame.len()));
    let read = read(&bytes);
    assert_eq!(read.seen.len(), 1);
    assert_eq!(read.counts.cut, 3);
    assert_eq!(read.counts.datagrams, 4);
    assert_eq!(read.counts.malformed, 0);
}

#[test]
fn contradictory_lengths_are_malformed() {
    let mut packet = ipv4(PAYLOAD);
    // The UDP length says more than the IP packet holds.
    packet[24..26].copy_from_slice(&60_u16.to_be_bytes());
    let read = one_packet(101, &packet);
    assert_eq!(read.seen, []);
    assert_eq!(read.counts.malformed, 1);
}

/// Splits an IPv6 packet into fragments, with a fragment header in each.
fn ipv6_fragments(packet: &[u8], identification: u32, size: usize) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(40);
    let pieces: Vec<&[u8]> = payload.chunks(size).collect();
    let last = pieces.len() - 1;
    let fragment = |(number, piece): (usize, &&[u8])| {
        let mut header = header.to_vec();
        header[4..6].copy_from_slice(&((8 + piece.len()) as u16).to_be_bytes());
        header[6] = 44;
        let offset = (number * size) as u16 | u16::from(number < last);
        let mut extension = vec![17, 0];
        extension.extend(offset.to_be_bytes());
        extension.extend(identification.to_be_bytes());
        [&header, &extension[..], piece].concat()
    };
    pieces.iter().enumerate().map(fragment).collect()
}

#[test]
fn fragments_are_put_together() {
    let payload: Vec<u8> = (0..3_000_u32).map(|number| number as u8).collect();
    for fragments in [
        ipv4_fragments(&ipv4(&payload), 77, 1_400),
        ipv6_fragments(&ipv6(&payload), 77, 1_400),
    ] {
        assert_eq!(fragments.len(), 3);
        // In order, and with the last one first.
        for order in [[0, 1, 2], [2, 0, 1]] {
            let frames: Vec<Vec<u8>> = order.iter().map(|at| ethernet(&fragments[*at])).collect();
            let read = read(&pcap(&frames));
            assert_eq!(read.seen.len(), 1);
            assert_eq!(read.seen[0].payload, payload);
            assert_eq!(read.counts.datagrams, 1);
            assert_eq!(read.counts.incomplete, 0);
        }
        let frames: Vec<Vec<u8>> = fragments[..2]
            .iter()
            .map(|packet| ethernet(packet))
            .collect();
        let read = read(&pcap(&frames));
        assert_eq!(read.seen, []);
        assert_eq!(read.counts.incomplete, 1);
    }
}

#[test]
fn a_flood_of_fragments_does_not_pile_up() {
    let packet = ipv4(&[1; 2_000]);
    let frames: Vec<Vec<u8>> = (0..5_000)
        .map(|number| ethernet(&ipv4_fragments(&packet, number, 1_400)[0]))
        .collect();
    let read = read(&pcap(&frames));
    assert_eq!(read.seen, []);
    assert_eq!(read.counts.packets, 5_000);
    assert_eq!(read.counts.incomplete, 5_000);
}

/// A block of a pcapng file.
fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padding = (4 - body.len() % 4) % 4;
    let length = (12 + body.len() + padding) as u32;
    [
        &order.u32(kind)[..],
        &order.u32(length),
        body,
        &vec![0; padding],
        &order.u32(length),
    ]
    .concat()
}

fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1A2B_3C4D).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xFF; 8]);
    block(order, 0x0A0D_0D0A, &body)
}

fn interface(order: Order, link: u16, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend(order.u16(0));
    body.extend(order.u32(0));
    for (code, value) in options {
        body.extend(order.u16(*code));
        body.extend(order.u16(value.len() as u16));
        body.extend(*value);
        body.extend(vec![0; (4 - value.len() % 4) % 4]);
    }
    if !options.is_empty() {
        body.extend([0; 4]);
    }
    block(order, 1, &body)
}

fn enhanced(order: Order, interface: u32, ticks: u64, packet: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for word in [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        packet.len() as u32,
        packet.len() as u32,
    ] {
        body.extend(order.u32(word));
    }
    body.extend(packet);
    block(order, 6, &body)
}

#[test]
fn pcapng_with_several_interfaces_and_sections() {
    let frame = ethernet(&ipv4(PAYLOAD));
    let raw = ipv4(b"raw");
    let mut bytes = section(Order::Little);
    bytes.extend(interface(Order::Little, 1, &[]));
    bytes.extend(interface(Order::Little, 101, &[(9, &[9])]));
    bytes.extend(interface(Order::Little, 1, &[(9, &[0x8A])]));
    let offset = 1_000_i64.to_le_bytes();
    bytes.extend(interface(Order::Little, 1, &[(9, &[3]), (14, &offset)]));
    // Microseconds, nanoseconds, 1/1024 s, milliseconds from second 1000 on.
    bytes.extend(enhanced(Order::Little, 0, 1_700_000_000_123_456, &frame));
    bytes.extend(enhanced(Order::Little, 1, 1_700_000_000_123_456_789, &raw));
    bytes.extend(block(Order::Little, 4, &[0; 4]));
    bytes.extend(enhanced(Order::Little, 2, 1_024 * 3 + 512, &frame));
    bytes.extend(enhanced(Order::Little, 3, 2_500, &frame));
    // A second section, in the other byte order, with interfaces of its own.
    bytes.extend(section(Order::Big));
    bytes.extend(interface(Order::Big, 101, &[]));
    bytes.extend(enhanced(Order::Big, 0, 9, &raw));
    let read = read(&bytes);
    assert_eq!(read.damage, []);
    let seen: Vec<(i64, &[u8])> = read
        .seen
        .iter()
        .map(|seen| (seen.time, seen.payload.as_slice()))
        .collect();
    assert_eq!(
        seen,
        [
            (1_700_000_000_123_456_000, PAYLOAD),
            (1_700_000_000_123_456_789, b"raw"),
            (3_500_000_000, PAYLOAD),
            (1_002_500_000_000, PAYLOAD),
            (9_000, b"raw"),
        ]
    );
}

#[test]
fn pcapng_simple_and_obsolete_packets() {
    let frame = ethernet(&ipv4(PAYLOAD));
    for order in [Order::Little, Order::Big] {
        let mut bytes = section(order);
        bytes.extend(interface(order, 1, &[]));
        let simple = [&order.u32(frame.len() as u32)[..], &frame].concat();
        bytes.extend(block(order, 3, &simple));
        let mut obsolete = [order.u16(0), order.u16(0)].concat();
        for word in [0, 2_000_000, frame.len() as u32, frame.len() as u32] {
            obsolete.extend(order.u32(word));
        }
        obsolete.extend(&frame);
        bytes.extend(block(order, 2, &obsolete));
        let read = read(&bytes);
        let times: Vec<i64> = read.seen.iter().map(|seen| seen.time).collect();
        assert_eq!(times, [0, 2_000_000_000], "{order:?}");
        assert!(read.seen.iter().all(|seen| seen.payload == PAYLOAD));
        assert_eq!(read.counts.untimed, 1);
    }
}

#[test]
fn compressed_captures_read_like_plain_ones() {
    let plain = read(SAMPLE);
    assert!(plain.seen.len() > 200);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(SAMPLE).expect("gzip");
    let gzip = gzip.finish().expect("gzip");
    let zstd = zstd::bulk::compress(SAMPLE, 1).expect("zstd");
    for packed in [&gzip, &zstd] {
        let read = read(packed);
        assert_eq!(read.seen, plain.seen);
        assert_eq!(read.counts, plain.counts);
    }
    let twice = zstd::bulk::compress(&gzip, 1).expect("zstd");
    let error = Capture::from_reader("x", Box::new(std::io::Cursor::new(twice)), None);
    assert!(error.is_err_and(|error| error.to_string().contains("compressed twice")));
    // What was packed before the cut is read.
    let cut = read(&gzip[..gzip.len() / 2]);
    assert_eq!(cut.damage.len(), 1);
    assert!(cut.seen.len() > 50);
    assert_eq!(cut.seen[..], plain.seen[..cut.seen.len()]);
    let nothing = std::io::Cursor::new(zstd[..100].to_vec());
    let error = Capture::from_reader("x", Box::new(nothing), None);
    assert!(error.is_err_and(|error| error.to_string().contains("cut or damaged from the start")));
}

#[test]
fn a_missing_file_is_named() {
    let error = Capture::open(Path::new("no/such/file.pcap")).err();
    let error = error.expect("an error").to_string();
    assert!(error.contains("no/such/file.pcap"), "{error}");
}

/// Frames of a pcapng file, one a block, each with a payload of its own.
fn numbered(count: u8) -> Vec<Vec<u8>> {
    let frame = |number| ethernet(&ipv4(&[number; 40]));
    (0..count)
        .map(|number| enhanced(Order::Little, 0, u64::from(number), &frame(number)))
        .collect()
}

#[test]
fn pcapng_goes_on_behind_a_lost_byte_and_at_a_section_that_was_appended() {
    let start = [section(Order::Little), interface(Order::Little, 1, &[])].concat();
    let mut bytes = start.clone();
    let blocks = numbered(10);
    for (number, block) in blocks.iter().enumerate() {
        match number {
            4 => bytes.extend(&block[..block.len() - 1]),
            _ => bytes.extend(block),
        }
    }
    let lost = read(&bytes);
    assert_eq!(lost.seen.len(), 9);
    assert_eq!(lost.damage.len(), 1);
    // A capture that was cut, with another of the other byte order behind it.
    bytes = [&start[..], &blocks[0], &blocks[1][..50]].concat();
    bytes.extend(section(Order::Big));
    bytes.extend(interface(Order::Big, 1, &[]));
    bytes.extend(enhanced(Order::Big, 0, 7, &ethernet(&ipv4(PAYLOAD))));
    let joined = read(&bytes);
    assert_eq!(joined.seen.len(), 2);
    assert_eq!(joined.seen[1].payload, PAYLOAD);
    assert_eq!(joined.seen[1].time, 7_000);
}

#[test]
fn pcapng_options_that_cannot_be_read_cost_nothing() {
    let frame = ethernet(&ipv4(PAYLOAD));
    let mut bytes = section(Order::Little);
    // A name that is not UTF-8, then an interface with another resolution.
    bytes.extend(interface(Order::Little, 1, &[(2, b"R\xE9seau"), (9, &[9])]));
    bytes.extend(interface(Order::Little, 1, &[(9, &[3])]));
    for (number, ticks) in [(0, 5_000_000_000), (1, 5_000)] {
        // A comment that is not UTF-8 at the end of the packet's block.
        let block = enhanced(Order::Little, number, ticks, &frame);
        let mut body = block[8..block.len() - 4].to_vec();
        body.extend([1, 0, 4, 0, 0xFF, 0xFE, 0xFD, 0xFC, 0, 0, 0, 0]);
        bytes.extend(self::block(Order::Little, 6, &body));
    }
    let odd = read(&bytes);
    assert_eq!(odd.damage, []);
    let times: Vec<i64> = odd.seen.iter().map(|seen| seen.time).collect();
    assert_eq!(times, [5_000_000_000, 5_000_000_000]);
}

#[test]
fn pcapng_interfaces_without_end_are_not_kept() {
    let mut bytes = section(Order::Little);
    for _ in 0..70_000 {
        bytes.extend(interface(Order::Little, 1, &[]));
    }
    bytes.extend(enhanced(Order::Little, 0, 0, &ethernet(&ipv4(PAYLOAD))));
    let many = read(&bytes);
    assert_eq!(many.seen.len(), 1);
    assert_eq!(many.damage.len(), 100);
}

//! What the tests share: running simtel, reading its tables, making captures.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use etherparse::PacketBuilder;
use tempfile::TempDir;

/// The sample as bytes.
pub const SAMPLE: &[u8] = include_bytes!("../../samples/f1_2025.pcap");

pub fn project_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn sample_path() -> String {
    project_path("samples/f1_2025.pcap").display().to_string()
}

/// A folder of its own for a test, with simtel run inside it.
pub struct Workplace(TempDir);

/// What a run of simtel came to.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Workplace {
    pub fn new() -> Workplace {
        Workplace(TempDir::new().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts a file in place and returns its name.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), bytes).expect("a file");
        name.into()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_simtel"));
        command.current_dir(self.0.path()).args(arguments);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Run {
        let output = self.command(arguments).stdin(Stdio::null()).output();
        Run::from(output.expect("simtel runs"))
    }

    /// Runs simtel and expects it to succeed.
    pub fn succeed(&self, arguments: &[&str]) -> Run {
        let run = self.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        run
    }

    /// The rows of a CSV table of F1 25 that was written below `out`.
    pub fn table(&self, name: &str) -> Table {
        self.table_of("f1_2025", name)
    }

    /// The rows of a CSV table that was written below `out`.
    pub fn table_of(&self, format: &str, name: &str) -> Table {
        let path = self.path(&format!("out/{format}/{name}.csv"));
        let text = std::fs::read(&path);
        Table::parse(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Every file below `name`, by its path, with its bytes.
    pub fn files(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path(name)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.path(name)).expect("a path inside");
                let bytes = std::fs::read(&path).expect("a readable file");
                files.insert(name.display().to_string(), bytes);
            }
        }
        files
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Run {
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A CSV table in memory.
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn parse(text: &[u8]) -> Table {
        let mut reader = csv::Reader::from_reader(text);
        let own = |record: &csv::StringRecord| record.iter().map(String::from).collect();
        Table {
            columns: own(reader.headers().expect("a header")),
            rows: reader
                .records()
                .map(|record| own(&record.expect("a record")))
                .collect(),
        }
    }

    /// A cell by row and column name.
    pub fn cell(&self, row: usize, column: &str) -> &str {
        let position = self.columns.iter().position(|known| known == column);
        let position = position.unwrap_or_else(|| panic!("no column {column}"));
        &self.rows[row][position]
    }

    /// All cells of a column.
    pub fn column(&self, column: &str) -> Vec<&str> {
        (0..self.rows.len())
            .map(|row| self.cell(row, column))
            .collect()
    }
}

pub const SOURCE: ([u8; 4], u16) = ([10, 0, 0, 1], 50_000);
pub const DESTINATION: ([u8; 4], u16) = ([10, 0, 0, 2], 20_777);

/// The IPv4 packet of a datagram.
pub fn ipv4(payload: &[u8]) -> Vec<u8> {
    ipv4_from(SOURCE.0, DESTINATION.1, payload)
}

/// The IPv4 packet of a datagram from this host to this port.
pub fn ipv4_from(host: [u8; 4], port: u16, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv4(host, DESTINATION.0, 64).udp(SOURCE.1, port);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).expect("a packet");
    bytes
}

/// The IPv6 packet of a datagram.
pub fn ipv6(payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (Ipv6Addr::LOCALHOST.octets(), Ipv6Addr::LOCALHOST.octets());
    let builder = PacketBuilder::ipv6(source, destination, 64).udp(SOURCE.1, DESTINATION.1);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).expect("a packet");
    bytes
}

/// An Ethernet frame around an IPv4 or IPv6 packet.
pub fn ethernet(packet: &[u8]) -> Vec<u8> {
    let kind = match packet[0] >> 4 {
        4 => [0x08, 0x00],
        _ => [0x86, 0xDD],
    };
    [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &kind, packet].concat()
}

pub fn source() -> SocketAddr {
    SocketAddr::from(SOURCE)
}

pub fn destination() -> SocketAddr {
    SocketAddr::from(DESTINATION)
}

/// Writes numbers in either byte order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Order::Little => value.to_le_bytes(),
            Order::Big => value.to_be_bytes(),
        }
    }
}

/// The header of a pcap file.
pub fn pcap_header(order: Order, magic: u32, link: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(order.u32(magic));
    bytes.extend(order.u16(2));
    bytes.extend(order.u16(4));
    bytes.extend([0; 8]);
    bytes.extend(order.u32(262_144));
    bytes.extend(order.u32(link));
    bytes
}

/// A record of a pcap file; `original` is the length on the wire.
pub fn pcap_record(
    order: Order,
    seconds: u32,
    fraction: u32,
    packet: &[u8],
    original: usize,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [seconds, fraction, packet.len() as u32, original as u32] {
        bytes.extend(order.u32(word));
    }
    bytes.extend(packet);
    bytes
}

pub const MICROSECONDS: u32 = 0xA1B2_C3D4;
pub const NANOSECONDS: u32 = 0xA1B2_3C4D;

/// A nanosecond pcap of Ethernet frames, a hundredth of a second apart.
pub fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = pcap_header(Order::Little, NANOSECONDS, 1);
    for (number, frame) in (0..).zip(frames) {
        bytes.extend(pcap_record(
            Order::Little,
            1_700_000_000 + number / 100,
            number % 100 * 10_000_000,
            frame,
            frame.len(),
        ));
    }
    bytes
}

/// A pcap with these payloads, each in a frame of its own.
pub fn pcap_of(payloads: &[Vec<u8>]) -> Vec<u8> {
    let frames: Vec<Vec<u8>> = payloads
        .iter()
        .map(|payload| ethernet(&ipv4(payload)))
        .collect();
    pcap(&frames)
}

/// Bytes from hexadecimal digits; white space is free.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (byte as char).to_digit(16).expect("a digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Splits an IPv4 packet into fragments with `size` bytes of payload each.
pub fn ipv4_fragments(packet: &[u8], identification: u16, size: usize) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(20);
    let pieces: Vec<&[u8]> = payload.chunks(size).collect();
    let last = pieces.len() - 1;
    let fragment = |(number, piece): (usize, &&[u8])| {
        let mut header = header.to_vec();
        header[2..4].copy_from_slice(&((20 + piece.len()) as u16).to_be_bytes());
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        let more = if number < last { 0x2000 } else { 0 };
        let offset = (number * size / 8) as u16 | more;
        header[6..8].copy_from_slice(&offset.to_be_bytes());
        header[10..12].fill(0);
        [&header, *piece].concat()
    };
    pieces.iter().enumerate().map(fragment).collect()
}

//! Files that hold records as they came, opened by their content, whatever
//! their name. UDP datagrams come out of a capture in file order, each with its
//! time stamp; ticks lie side by side in a file that describes them itself. Datagrams
//! become the bytes of a capture here, too. No game is known here.

mod container;
mod frame;
pub mod ibt;
mod pcap;
mod sniff;
mod source;
mod write;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;

use crate::clock::widen;

pub use container::{Container, Framing, InterfaceDetails, Packing, PcapDetails, PcapNgDetails};
pub use ibt::{Patch, TickEncoder, TickFile, TickSchema, Variable, VariableType};
pub use write::{Arrival, CaptureFormat, Encoder, InterfaceStatistics};

use frame::{Frame, Framer};
use pcap::{PcapNgWalker, PcapWalker, Walker};
use sniff::{Kind, SNIFF_LENGTH, sniff};
use source::{CountingReader, Window};

/// Why a capture cannot be opened or read on.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("{name}: cannot read: {source}")]
    Io {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error(
        "{name}: not a capture: {looks}. simtel reads .pcap, .pcapng and .ibt, also as .gz or .zst"
    )]
    NotACapture { name: String, looks: &'static str },
    #[error("{name}: the capture ends inside its file header; it holds no packet")]
    NoHeader { name: String },
    #[error("{name}: not readable as .ibt: offset {offset}: {what}")]
    BadTicks {
        name: String,
        offset: u64,
        what: String,
    },
}

impl CaptureError {
    /// Whether the file is simply something else, as opposed to a capture that
    /// cannot be read.
    pub fn is_other_file(&self) -> bool {
        match self {
            CaptureError::NotACapture { looks, .. } => *looks != CUT_FROM_THE_START,
            CaptureError::Io { .. }
            | CaptureError::NoHeader { .. }
            | CaptureError::BadTicks { .. } => false,
        }
    }
}

const CUT_FROM_THE_START: &str = "its compressed data is cut or damaged from the start";

/// What was wrong with a capture that could still be read.
#[derive(Debug, Default, Clone)]
pub struct Damage {
    /// The first finds: offset in the (decompressed) capture, and what it is.
    pub finds: Vec<(u64, String)>,
    /// How many there were in all.
    pub count: u64,
}

impl Damage {
    /// Enough to see what is wrong, few enough for any memory.
    const MOST_KEPT: usize = 100;

    pub(crate) fn push(&mut self, offset: u64, what: impl Into<String>) {
        self.count += 1;
        if self.finds.len() < Self::MOST_KEPT {
            self.finds.push((offset, what.into()));
        }
    }
}

/// How many packets of each kind were read so far.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PacketCounts {
    /// All packets of the capture.
    pub packets: u64,
    /// UDP datagrams, whole or cut.
    pub datagrams: u64,
    /// UDP datagrams of which the capture kept only the beginning.
    pub cut: u64,
    /// UDP packets whose lengths contradict each other.
    pub malformed: u64,
    /// Packets without UDP over IP.
    pub other: u64,
    /// Packets of a link type that simtel does not know.
    pub unknown_link: u64,
    /// Datagrams of which fragments are missing.
    pub incomplete: u64,
    /// Packets without a time stamp (simple packet blocks of pcapng).
    pub untimed: u64,
    /// Packets whose time lies before that of the packet in front of them.
    pub backwards: u64,
    /// The earliest and the latest time of a packet, of whatever kind, in
    /// nanoseconds since 1970 UTC.
    pub span: Option<(i64, i64)>,
}

impl PacketCounts {
    fn see(&mut self, time: i64, last: i64) {
        self.backwards += u64::from(time < last);
        widen(&mut self.span, time);
    }
}

/// A whole UDP datagram of a capture.
#[derive(Debug)]
pub struct Datagram<'a> {
    /// Nanoseconds since 1970 UTC; 0 if the capture gives no time.
    pub time: i64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub payload: &'a [u8],
    /// Time of the capture's first packet, of whatever kind.
    pub start: i64,
    /// Offset of the packet's record in the (decompressed) capture.
    pub offset: u64,
    /// Where the payload lies in [`Capture::mapping`], if it lies there whole.
    pub mapped_at: Option<usize>,
}

/// An open capture.
pub struct Capture {
    name: String,
    window: Window,
    walker: Walker,
    framer: Framer,
    counts: PacketCounts,
    damage: Damage,
    reassembled: Vec<u8>,
    size: Option<u64>,
    /// Bytes read of a stream; a mapped file knows its own position.
    read: Option<Arc<AtomicU64>>,
    packing: Option<Packing>,
    start: Option<i64>,
    /// Time of the last packet that has one.
    last: i64,
}

/// A file that holds records as they came.
pub enum Input {
    /// UDP datagrams.
    Datagrams(Box<Capture>),
    /// iRacing ticks.
    Ticks(Box<TickFile>),
}

impl Input {
    /// Opens a capture file; `-` is standard input.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a capture.
    pub fn open(path: &Path) -> Result<Input, CaptureError> {
        if path.as_os_str() == "-" {
            return Input::from_reader("standard input", Box::new(io::stdin()), None);
        }
        let name = path.display().to_string();
        let io_error = |source| CaptureError::Io {
            name: name.clone(),
            source,
        };
        let regular = source::is_regular(path).map_err(io_error)?;
        let mut file = File::open(path).map_err(io_error)?;
        if !regular {
            return Input::from_reader(&name, Box::new(file), None);
        }
        let size = file.metadata().map_err(io_error)?.len();
        let mut start = [0; SNIFF_LENGTH];
        let length = read_start(&mut file, &mut start).map_err(io_error)?;
        match sniff(&start[..length]) {
            Kind::Pcap | Kind::PcapNg => {
                let window = Window::map(&file).map_err(io_error)?;
                Capture::from_window(name, window, Some(size), None, None)
            }
            Kind::Ticks => {
                let map = source::map(&file).map_err(io_error)?;
                Input::from_map(name, map, Some(size), None, Damage::default())
            }
            Kind::Gzip | Kind::Zstandard => {
                io::Seek::rewind(&mut file).map_err(io_error)?;
                Input::from_reader(&name, Box::new(file), Some(size))
            }
            Kind::Other(looks) => Err(CaptureError::NotACapture { name, looks }),
        }
    }

    /// Reads a capture from a stream, compressed or not, without holding more
    /// of it in memory than a few megabytes.
    ///
    /// # Errors
    /// If the stream cannot be read, or is not a capture.
    pub fn from_reader(
        name: &str,
        reader: Box<dyn Read + Send>,
        size: Option<u64>,
    ) -> Result<Input, CaptureError> {
        let io_error = |source| CaptureError::Io {
            name: name.into(),
            source,
        };
        let count = Arc::new(AtomicU64::new(0));
        let mut reader: Reader = Box::new(CountingReader {
            inner: reader,
            count: count.clone(),
        });
        let mut packing = None;
        // A compressed capture inside a compressed file is no capture.
        for may_unpack in [true, false] {
            let (kind, mut whole) = match peek(reader) {
                Err(error) if is_cut_stream(&error) => {
                    return Err(CaptureError::NotACapture {
                        name: name.into(),
                        looks: CUT_FROM_THE_START,
                    });
                }
                peeked => peeked.map_err(io_error)?,
            };
            reader = match kind {
                Kind::Pcap | Kind::PcapNg => {
                    let window = Window::stream(whole);
                    return Capture::from_window(name.into(), window, size, Some(count), packing);
                }
                // Their parts may lie in any order.
                Kind::Ticks => {
                    let mut damage = Damage::default();
                    let map = source::map_stream(&mut whole, &mut damage).map_err(io_error)?;
                    return Input::from_map(name.into(), map, size, packing, damage);
                }
                Kind::Gzip | Kind::Zstandard if may_unpack => {
                    packing = Some(match kind {
                        Kind::Gzip => Packing::Gzip,
                        _ => Packing::Zstandard,
                    });
                    unpack(kind, whole).map_err(io_error)?
                }
                Kind::Gzip | Kind::Zstandard => {
                    return Err(CaptureError::NotACapture {
                        name: name.into(),
                        looks: "it is compressed twice",
                    });
                }
                Kind::Other(looks) => {
                    return Err(CaptureError::NotACapture {
                        name: name.into(),
                        looks,
                    });
                }
            };
        }
        unreachable!("the second pass returns")
    }

    fn from_map(
        name: String,
        map: Mmap,
        size: Option<u64>,
        packing: Option<Packing>,
        damage: Damage,
    ) -> Result<Input, CaptureError> {
        let ticks = TickFile::new(name, map, size, packing, damage)?;
        Ok(Input::Ticks(Box::new(ticks)))
    }

    /// Whether the file at `path` holds ticks, by its first bytes, unpacked if
    /// need be. `false` if that cannot be said.
    pub fn has_ticks(path: &Path) -> bool {
        let kind = || {
            let (kind, whole) = peek(Box::new(File::open(path)?))?;
            let (kind, _) = peek(unpack(kind, whole)?)?;
            io::Result::Ok(kind)
        };
        // A pipe would lose what was peeked at.
        let regular = source::is_regular(path);
        regular.is_ok_and(|regular| regular) && kind().is_ok_and(|kind| kind == Kind::Ticks)
    }

    fn into_capture(self) -> Result<Capture, CaptureError> {
        match self {
            Input::Datagrams(capture) => Ok(*capture),
            Input::Ticks(ticks) => Err(CaptureError::NotACapture {
                name: ticks.name().into(),
                looks: "it holds ticks, not datagrams",
            }),
        }
    }
}

impl Capture {
    /// Opens a capture of datagrams; `-` is standard input.
    ///
    /// # Errors
    /// If the file cannot be read, or is not such a capture.
    pub fn open(path: &Path) -> Result<Capture, CaptureError> {
        Input::open(path)?.into_capture()
    }

    /// Reads a capture of datagrams from a stream, compressed or not.
    ///
    /// # Errors
    /// If the stream cannot be read, or is not such a capture.
    pub fn from_reader(
        name: &str,
        reader: Box<dyn Read + Send>,
        size: Option<u64>,
    ) -> Result<Capture, CaptureError> {
        Input::from_reader(name, reader, size)?.into_capture()
    }

    fn from_window(
        name: String,
        mut window: Window,
        size: Option<u64>,
        read: Option<Arc<AtomicU64>>,
        packing: Option<Packing>,
    ) -> Result<Input, CaptureError> {
        let io_error = |source| CaptureError::Io {
            name: name.clone(),
            source,
        };
        if window.bytes().is_empty() {
            window.fill().map_err(io_error)?;
        }
        let walker = match sniff(window.bytes().get(..4).unwrap_or_default()) {
            Kind::PcapNg => PcapNgWalker::open(&mut window)
                .map_err(io_error)?
                .map(Walker::PcapNg),
            _ => PcapWalker::open(&mut window)
                .map_err(io_error)?
                .map(Walker::Pcap),
        };
        let Some(walker) = walker else {
            return Err(CaptureError::NoHeader { name });
        };
        Ok(Input::Datagrams(Box::new(Capture {
            name,
            window,
            walker,
            framer: Framer::default(),
            counts: PacketCounts::default(),
            damage: Damage::default(),
            reassembled: Vec::new(),
            size,
            read,
            packing,
            start: None,
            last: i64::MIN,
        })))
    }

    /// The next whole UDP datagram, or `None` at the end. Damage and other
    /// traffic are stepped over and counted.
    ///
    /// # Errors
    /// If reading fails. A compressed file that is cut counts as damage.
    pub fn next_datagram(&mut self) -> Result<Option<Datagram<'_>>, CaptureError> {
        let Some(found) = self.find_datagram()? else {
            return Ok(None);
        };
        let (payload, mapped_at) = match found.payload {
            Some(range) => (
                &self.window.bytes()[range.clone()],
                // A map's window begins at its offset in the file.
                self.window
                    .mapping()
                    .map(|_| self.window.offset() as usize + range.start),
            ),
            None => (self.reassembled.as_slice(), None),
        };
        Ok(Some(Datagram {
            time: found.packet.time,
            source: found.source,
            destination: found.destination,
            payload,
            start: self.start.unwrap_or(0),
            offset: found.packet.offset,
            mapped_at,
        }))
    }

    fn find_datagram(&mut self) -> Result<Option<Found>, CaptureError> {
        loop {
            let packet = match self.walker.next(&mut self.window, &mut self.damage) {
                Ok(packet) => packet,
                Err(error) if is_cut_stream(&error) => {
                    self.damage.push(self.window.offset(), cut_stream(&error));
                    None
                }
                Err(source) => {
                    return Err(CaptureError::Io {
                        name: self.name.clone(),
                        source,
                    });
                }
            };
            let Some(packet) = packet else {
                self.framer.finish();
                self.counts.incomplete = self.framer.incomplete;
                return Ok(None);
            };
            self.counts.packets += 1;
            self.counts.untimed += u64::from(!packet.timed);
            if packet.timed {
                self.start.get_or_insert(packet.time);
                self.counts.see(packet.time, self.last);
                self.last = packet.time;
            }
            let window = self.window.bytes();
            let bytes = &window[packet.data.clone()];
            match self
                .framer
                .read(packet.link, bytes, packet.cut, packet.time)
            {
                Frame::Udp(udp) => {
                    self.counts.datagrams += 1;
                    let start = udp.payload.as_ptr().addr() - window.as_ptr().addr();
                    return Ok(Some(Found {
                        packet,
                        source: udp.source,
                        destination: udp.destination,
                        payload: Some(start..start + udp.payload.len()),
                    }));
                }
                Frame::Reassembled {
                    source,
                    destination,
                    payload,
                } => {
                    self.counts.datagrams += 1;
                    self.reassembled = payload;
                    return Ok(Some(Found {
                        packet,
                        source,
                        destination,
                        payload: None,
                    }));
                }
                Frame::Cut => {
                    self.counts.datagrams += 1;
                    self.counts.cut += 1;
                }
                Frame::Fragment => {}
                Frame::Other => self.counts.other += 1,
                Frame::Malformed => self.counts.malformed += 1,
                Frame::UnknownLink => self.counts.unknown_link += 1,
            }
        }
    }

    /// Whatever [`Capture::next_datagram`] has passed so far.
    pub fn counts(&self) -> PacketCounts {
        self.counts
    }

    /// What was damaged so far.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// What the file says of itself, as far as it was read.
    pub fn container(&self) -> Container {
        Container {
            packing: self.packing,
            framing: self.walker.framing(),
        }
    }

    /// The name to call it by in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size of the file in bytes, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// How much of the file has been read, in bytes.
    pub fn position(&self) -> u64 {
        match &self.read {
            Some(count) => count.load(Ordering::Relaxed),
            None => self.window.offset(),
        }
    }

    /// The file's memory map, if it has one.
    pub fn mapping(&self) -> Option<&Arc<Mmap>> {
        self.window.mapping()
    }
}

/// A datagram, by where its payload lies.
struct Found {
    packet: pcap::Packet,
    source: SocketAddr,
    destination: SocketAddr,
    /// In the window; `None` if it was put together from fragments.
    payload: Option<Range<usize>>,
}

type Reader = Box<dyn Read + Send>;

/// What a reader holds, by its first bytes, and the reader from its start.
fn peek(mut reader: Reader) -> io::Result<(Kind, Reader)> {
    let mut start = vec![0; SNIFF_LENGTH];
    let mut length = 0;
    // A stream may bring no more than its first packet for long.
    while length < SNIFF_LENGTH && !matches!(sniff(&start[..length]), Kind::Pcap | Kind::PcapNg) {
        match read_some(&mut reader, &mut start[length..])? {
            0 => break,
            read => length += read,
        }
    }
    start.truncate(length);
    let kind = sniff(&start);
    Ok((kind, Box::new(io::Cursor::new(start).chain(reader))))
}

/// What a reader holds, unpacked if it is compressed.
fn unpack(kind: Kind, reader: Reader) -> io::Result<Reader> {
    Ok(match kind {
        Kind::Gzip => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(reader))),
        Kind::Zstandard => Box::new(zstd::stream::read::Decoder::new(reader)?),
        _ => reader,
    })
}

/// Fills `buffer` as far as the reader goes.
fn read_start(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match read_some(reader, &mut buffer[length..])? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// Reads once, whatever interrupts it.
fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// What is said of data that a decoder gave up on.
fn cut_stream(error: &io::Error) -> String {
    format!("the compressed data is cut or damaged: {error}")
}

/// Whether a decoder gave up because its data is cut or wrong, as opposed to
/// the disk failing.
fn is_cut_stream(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

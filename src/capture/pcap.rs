//! The packets of pcap and pcapng, framed by pcap-file. What lies inside a
//! packet is the business of `frame`. Damage is stepped over: the search for
//! the next plausible record goes on behind it, and what was lost is kept in a
//! list.

use std::io;
use std::ops::Range;

use byteorder_slice::{BigEndian, LittleEndian};
use pcap_file::pcap::{PcapHeader, PcapParseError, PcapParser, PcapTsResolution};
use pcap_file::pcapng::blocks::block_common::{
    ENHANCED_PACKET_BLOCK, PACKET_BLOCK, SIMPLE_PACKET_BLOCK,
};
use pcap_file::pcapng::blocks::block_common::{
    INTERFACE_DESCRIPTION_BLOCK, INTERFACE_STATISTIC_BLOCK, SECTION_HEADER_BLOCK,
};
use pcap_file::pcapng::blocks::interface_description::InterfaceTsResolution;
use pcap_file::pcapng::{RawBlock, RawBlockParseError};
use pcap_file::{DataLink, Endianness};

use super::Damage;
use super::container::{Framing, InterfaceDetails, PcapDetails, PcapNgDetails};
use super::source::Window;
use crate::text::utf8_or_latin;

/// No capture tool writes larger packets; a larger length is damage. Also
/// bounds how far a stream is read ahead.
const LARGEST_PACKET: usize = 16 << 20;
/// A record of a damaged file is taken up again only if its packet could hold
/// an IP header …
const PLAUSIBLE_LENGTH: usize = 20;
/// … and if it is at most this far in time from the last good one.
const PLAUSIBLE_STEP_SECONDS: u32 = 7 * 24 * 3600;

/// One packet as it was captured, link header and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packet {
    /// Nanoseconds since 1970 UTC.
    pub time: i64,
    /// Whether the capture gave a time at all.
    pub timed: bool,
    pub link: DataLink,
    /// Where its bytes lie in the window.
    pub data: Range<usize>,
    /// Offset of its record in the capture.
    pub offset: u64,
    /// Whether the capture kept only its beginning.
    pub cut: bool,
}

/// Walks the packets of a capture in file order.
pub(super) enum Walker {
    Pcap(PcapWalker),
    PcapNg(PcapNgWalker),
}

impl Walker {
    /// The next packet, or `None` at the end. What `window` holds stays valid
    /// until the next call.
    pub(super) fn next(
        &mut self,
        window: &mut Window,
        damage: &mut Damage,
    ) -> io::Result<Option<Packet>> {
        match self {
            Walker::Pcap(walker) => walker.next(window, damage),
            Walker::PcapNg(walker) => walker.next(window, damage),
        }
    }

    /// What the file says of itself, as far as it was read.
    pub(super) fn framing(&self) -> Framing {
        match self {
            Walker::Pcap(walker) => Framing::Pcap(walker.details()),
            Walker::PcapNg(walker) => Framing::PcapNg(walker.details.clone()),
        }
    }
}

/// Fills the window until it holds `needed` bytes; `false` if the capture ends
/// before.
fn ensure(window: &mut Window, needed: usize) -> io::Result<bool> {
    while window.bytes().len() < needed {
        if !window.fill()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Has the processor fetch where the headers of the next packet lie: waiting for
/// memory took a third of the walk.
fn prefetch(rest: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in rest.chunks(64).take(2) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = rest;
}

/// Steps forward to the first place where `plausible` holds. `false` if there is
/// none before the end.
fn resynchronise(
    window: &mut Window,
    mut plausible: impl FnMut(&mut Window, usize) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut at = 1;
    loop {
        if !ensure(window, at + 1)? {
            return Ok(false);
        }
        if plausible(window, at)? {
            window.consume(at);
            return Ok(true);
        }
        at += 1;
        // Keeps the buffer of a stream small on a long search.
        if at >= LARGEST_PACKET {
            window.consume(at);
            at = 0;
        }
    }
}

pub(super) struct PcapWalker {
    parser: PcapParser,
    consumed: usize,
    last_second: Option<u32>,
}

impl PcapWalker {
    /// Reads the file header. `None` if the capture is too short for one.
    pub(super) fn open(window: &mut Window) -> io::Result<Option<PcapWalker>> {
        ensure(window, 24)?;
        let Ok((_, parser)) = PcapParser::new(window.bytes()) else {
            return Ok(None);
        };
        window.consume(24);
        Ok(Some(PcapWalker {
            parser,
            consumed: 0,
            last_second: None,
        }))
    }

    fn details(&self) -> PcapDetails {
        let header = self.parser.header();
        PcapDetails {
            version: (header.version_major, header.version_minor),
            is_big_endian: header.endianness == Endianness::Big,
            resolution: match header.ts_resolution {
                PcapTsResolution::MicroSecond => 1_000,
                PcapTsResolution::NanoSecond => 1,
            },
            link: link_name(link_type(header.datalink)),
            snap_length: header.snaplen,
        }
    }

    fn next(&mut self, window: &mut Window, damage: &mut Damage) -> io::Result<Option<Packet>> {
        window.consume(std::mem::take(&mut self.consumed));
        loop {
            let header = self.parser.header();
            let largest = (header.snaplen as usize).clamp(262_144, LARGEST_PACKET);
            let available = window.bytes().len();
            match self.parser.next_raw_packet(window.bytes()) {
                // A header of zeros is a hole in the file, not a packet.
                Ok((rest, packet))
                    if packet.data.len() <= largest && packet.orig_len | packet.incl_len != 0 =>
                {
                    let record = available - rest.len();
                    prefetch(rest);
                    self.consumed = record;
                    // A wrong second would make every later record look wrong.
                    if packet.incl_len <= packet.orig_len
                        && packet.ts_frac < fraction_limit(&header)
                    {
                        self.last_second = Some(packet.ts_sec);
                    }
                    let unit = match header.ts_resolution {
                        PcapTsResolution::MicroSecond => 1_000,
                        PcapTsResolution::NanoSecond => 1,
                    };
                    return Ok(Some(Packet {
                        time: i64::from(packet.ts_sec) * 1_000_000_000
                            + i64::from(packet.ts_frac) * unit,
                        timed: true,
                        link: link_type(header.datalink),
                        data: record - packet.data.len()..record,
                        offset: window.offset(),
                        cut: packet.orig_len > packet.incl_len,
                    }));
                }
                Err(PcapParseError::IncompleteBuffer(needed, _)) if needed <= largest + 16 => {
                    if window.fill()? {
                        continue;
                    }
                    if available == 0 {
                        return Ok(None);
                    }
                }
                Ok(_) | Err(_) => {}
            }
            // Either the capture ends inside this record, or its length is wrong.
            let offset = window.offset();
            let rest = window.bytes().len();
            let last_second = self.last_second;
            let found =
                resynchronise(window, |window, at| {
                    let Some(next) = plausible_record(window, at, &header, largest, last_second)?
                    else {
                        return Ok(false);
                    };
                    // One match may be chance: the record after it must fit too.
                    let ends = !ensure(window, next + 1)? && window.bytes().len() == next;
                    Ok(ends
                        || plausible_record(window, next, &header, largest, last_second)?.is_some())
                })?;
            if !found {
                if rest <= largest + 16 {
                    damage.push(offset, "the capture ends inside this record");
                } else {
                    damage.push(
                        offset,
                        "the record's length is wrong, and no readable record follows",
                    );
                }
                window.consume(usize::MAX);
                return Ok(None);
            }
            damage.push(
                offset,
                format!(
                    "the record's length is wrong; skipped {} bytes to the next readable one",
                    window.offset() - offset
                ),
            );
        }
    }
}

fn fraction_limit(header: &PcapHeader) -> u32 {
    match header.ts_resolution {
        PcapTsResolution::MicroSecond => 1_000_000,
        PcapTsResolution::NanoSecond => 1_000_000_000,
    }
}

/// Whether a record could begin at `at`; if so, where the next one would.
fn plausible_record(
    window: &mut Window,
    at: usize,
    header: &PcapHeader,
    largest: usize,
    last_second: Option<u32>,
) -> io::Result<Option<usize>> {
    if !ensure(window, at + 16)? {
        return Ok(None);
    }
    let word = |position: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&window.bytes()[at + position..at + position + 4]);
        word_in(header.endianness, bytes)
    };
    let (second, fraction, included, original) = (word(0), word(4), word(8), word(12));
    let fits = fraction < fraction_limit(header)
        && (PLAUSIBLE_LENGTH..=largest).contains(&(included as usize))
        && included <= original
        && original as usize <= LARGEST_PACKET
        && last_second.is_none_or(|last| last.abs_diff(second) <= PLAUSIBLE_STEP_SECONDS);
    Ok(match fits && ensure(window, at + 16 + included as usize)? {
        true => Some(at + 16 + included as usize),
        false => None,
    })
}

pub(super) struct PcapNgWalker {
    endianness: Endianness,
    /// Those of the section that is being read.
    interfaces: Vec<Interface>,
    details: PcapNgDetails,
    consumed: usize,
}

/// What matters of an interface description. pcap-file would keep all of its
/// options, without bound, and refuse the whole block for one that is odd.
#[derive(Clone, Copy)]
struct Interface {
    link: DataLink,
    snap_length: u32,
    resolution: InterfaceTsResolution,
    /// Seconds to add to each time stamp.
    offset: i64,
    /// Its position in [`PcapNgDetails::interfaces`], if it has one.
    detailed: Option<usize>,
}

/// More interfaces than this in one section are damage or malice.
const MOST_INTERFACES: usize = 1 << 16;

impl PcapNgWalker {
    /// Begins at the first section header. `None` if the capture ends inside it.
    pub(super) fn open(window: &mut Window) -> io::Result<Option<PcapNgWalker>> {
        Ok(ensure(window, 28)?.then(|| PcapNgWalker {
            endianness: Endianness::Little,
            interfaces: Vec::new(),
            details: PcapNgDetails::default(),
            consumed: 0,
        }))
    }

    fn next(&mut self, window: &mut Window, damage: &mut Damage) -> io::Result<Option<Packet>> {
        loop {
            window.consume(std::mem::take(&mut self.consumed));
            let offset = window.offset();
            let available = window.bytes().len();
            let block = match self.endianness {
                Endianness::Little => RawBlock::from_slice::<LittleEndian>(window.bytes()),
                Endianness::Big => RawBlock::from_slice::<BigEndian>(window.bytes()),
            };
            match block {
                Ok((rest, block)) => {
                    self.consumed = available - rest.len();
                    match self.block(&block, offset) {
                        Ok(Some(packet)) => return Ok(Some(packet)),
                        Ok(None) => {}
                        Err(what) => damage.push(offset, what),
                    }
                    continue;
                }
                Err(RawBlockParseError::IncompleteBuffer(needed, _))
                    if needed <= LARGEST_PACKET =>
                {
                    if window.fill()? {
                        continue;
                    }
                    if available == 0 {
                        return Ok(None);
                    }
                }
                Err(_) => {}
            }
            let rest = window.bytes().len();
            let endianness = self.endianness;
            if !resynchronise(window, |window, at| plausible_block(window, at, endianness))? {
                if rest <= LARGEST_PACKET {
                    damage.push(offset, "the capture ends inside this block");
                } else {
                    damage.push(
                        offset,
                        "the block's length is wrong, and no readable block follows",
                    );
                }
                window.consume(usize::MAX);
                return Ok(None);
            }
            damage.push(
                offset,
                format!(
                    "the block is damaged; skipped {} bytes to the next readable one",
                    window.offset() - offset
                ),
            );
        }
    }

    /// Reads the fixed fields of a block: its packet, if it holds one. Options
    /// are of no use for packets but for two of an interface.
    fn block(&mut self, block: &RawBlock<'_>, offset: u64) -> Result<Option<Packet>, String> {
        let order = self.endianness;
        let word = |at: usize| {
            let bytes = block.body.get(at..)?.first_chunk()?;
            Some(word_in(order, *bytes))
        };
        let (interface, is_timed) = match block.type_ {
            SECTION_HEADER_BLOCK => {
                self.endianness = match block.body.first_chunk() {
                    Some([0x1A, 0x2B, 0x3C, 0x4D]) => Endianness::Big,
                    _ => Endianness::Little,
                };
                self.interfaces.clear();
                self.note_section(&block.body);
                return Ok(None);
            }
            INTERFACE_STATISTIC_BLOCK => {
                if let Some(number) = word(0) {
                    self.note_statistics(number as usize, &block.body);
                }
                return Ok(None);
            }
            INTERFACE_DESCRIPTION_BLOCK => {
                if self.interfaces.len() == MOST_INTERFACES {
                    return Err(format!(
                        "more than {MOST_INTERFACES} interfaces in a section"
                    ));
                }
                let (mut interface, flaw) = interface(order, &block.body);
                interface.detailed = self.note_interface(&interface, &block.body);
                // Those that follow are counted from it, whatever is in it.
                self.interfaces.push(interface);
                return flaw.map_or(Ok(None), |flaw| Err(flaw.into()));
            }
            ENHANCED_PACKET_BLOCK => (word(0), true),
            // The second half of the first word counts drops.
            PACKET_BLOCK => {
                let half = block.body.first_chunk();
                (half.map(|bytes| u32::from(half_in(order, *bytes))), true)
            }
            SIMPLE_PACKET_BLOCK => (Some(0), false),
            _ => return Ok(None),
        };
        let too_short = "this block is too short for its packet";
        let interface = *self
            .interfaces
            .get(interface.ok_or(too_short)? as usize)
            .ok_or("this packet names an interface that is not there")?;
        let (time, captured, original, start) = if is_timed {
            let (high, low) = (word(4).ok_or(too_short)?, word(8).ok_or(too_short)?);
            let ticks = u64::from(high) << 32 | u64::from(low);
            let time = interface.resolution.decode_timestamp(ticks).as_nanos();
            let time = i128::try_from(time)
                .ok()
                .and_then(|time| time.checked_add(i128::from(interface.offset) * 1_000_000_000))
                .and_then(|time| i64::try_from(time).ok())
                .ok_or("this packet's time stamp is beyond the years 1678 to 2262")?;
            let captured = word(12).ok_or(too_short)?;
            (time, captured, word(16).ok_or(too_short)?, 20)
        } else {
            // What is kept of a simple packet is limited by the interface alone.
            let original = word(0).ok_or(too_short)?;
            let limit = match interface.snap_length {
                0 => u32::MAX,
                limit => limit,
            };
            (0, original.min(limit), original, 4)
        };
        let end = start + captured as usize;
        if end > block.body.len() {
            return Err(too_short.into());
        }
        // The body begins behind the block's type and length.
        Ok(Some(Packet {
            time,
            timed: is_timed,
            link: interface.link,
            data: 8 + start..8 + end,
            offset,
            cut: original > captured,
        }))
    }
}

impl PcapNgWalker {
    fn note_section(&mut self, body: &[u8]) {
        let details = &mut self.details;
        details.sections += 1;
        if details.sections > 1 {
            return;
        }
        details.is_big_endian = self.endianness == Endianness::Big;
        for (code, value) in options(self.endianness, body, 16) {
            let place = match code {
                option::COMMENT => &mut details.comment,
                option::HARDWARE => &mut details.hardware,
                option::SYSTEM => &mut details.system,
                option::APPLICATION => &mut details.application,
                _ => continue,
            };
            // There may be several comments.
            if place.is_none() {
                *place = option_text(value);
            }
        }
    }

    /// Its position among the details.
    fn note_interface(&mut self, interface: &Interface, body: &[u8]) -> Option<usize> {
        let mut options = options(self.endianness, body, 8);
        let name = options.find(|(code, _)| *code == option::NAME);
        let tick = interface.resolution.decode_timestamp(1);
        let position = self.details.interfaces.len();
        self.details.add(InterfaceDetails {
            name: name.and_then(|(_, value)| option_text(value)),
            link: link_name(interface.link),
            snap_length: interface.snap_length,
            resolution: u64::try_from(tick.as_nanos()).unwrap_or(u64::MAX),
            received: None,
            dropped: None,
        });
        (self.details.interfaces.len() > position).then_some(position)
    }

    fn note_statistics(&mut self, interface: usize, body: &[u8]) {
        let interface = self.interfaces.get(interface);
        let Some(position) = interface.and_then(|interface| interface.detailed) else {
            return;
        };
        let details = &mut self.details.interfaces[position];
        let order = self.endianness;
        let count = |value: &[u8]| {
            let value = *value.first_chunk()?;
            Some(match order {
                Endianness::Little => u64::from_le_bytes(value),
                Endianness::Big => u64::from_be_bytes(value),
            })
        };
        // Those of the system are named apart; the other count may have them too.
        let mut dropped: Option<u64> = None;
        for (code, value) in options(order, body, 12) {
            match code {
                option::RECEIVED => details.received = count(value),
                option::DROPPED | option::DROPPED_BY_SYSTEM => {
                    dropped = dropped.max(count(value));
                }
                _ => {}
            }
        }
        details.dropped = dropped.or(details.dropped);
    }
}

/// Reads an interface description, and says what in it could not be read.
fn interface(order: Endianness, body: &[u8]) -> (Interface, Option<&'static str>) {
    let half = |at: usize| {
        let bytes = body.get(at..)?.first_chunk()?;
        Some(half_in(order, *bytes))
    };
    let snap_length = body.get(4..).and_then(|bytes| bytes.first_chunk());
    let mut read = Interface {
        link: DataLink::from(u32::from(half(0).unwrap_or(u16::MAX))),
        snap_length: snap_length.map_or(0, |bytes| word_in(order, *bytes)),
        resolution: InterfaceTsResolution::default(),
        offset: 0,
        detailed: None,
    };
    let mut flaw = snap_length
        .is_none()
        .then_some("this interface description is too short");
    for option in options(order, body, 8) {
        match option {
            (option::TIME_RESOLUTION, [resolution, ..]) => {
                match InterfaceTsResolution::from_u8(*resolution) {
                    Ok(resolution) => read.resolution = resolution,
                    Err(_) => {
                        flaw = Some(
                            "this interface's time stamps are finer than nanoseconds; \
                         they are read as microseconds",
                        );
                    }
                }
            }
            (option::TIME_OFFSET, value) => {
                if let Ok(value) = <[u8; 8]>::try_from(value) {
                    read.offset = match order {
                        Endianness::Little => i64::from_le_bytes(value),
                        Endianness::Big => i64::from_be_bytes(value),
                    };
                }
            }
            _ => {}
        }
    }
    (read, flaw)
}

/// Codes of the options that are read, as the draft of pcapng numbers them.
mod option {
    pub const COMMENT: u16 = 1;
    /// Of a section.
    pub const HARDWARE: u16 = 2;
    pub const SYSTEM: u16 = 3;
    pub const APPLICATION: u16 = 4;
    /// Of an interface.
    pub const NAME: u16 = 2;
    pub const TIME_RESOLUTION: u16 = 9;
    pub const TIME_OFFSET: u16 = 14;
    /// Of an interface's statistics.
    pub const RECEIVED: u16 = 4;
    pub const DROPPED: u16 = 5;
    pub const DROPPED_BY_SYSTEM: u16 = 7;
}

/// The options of a block, from `at` on: code and value.
fn options(
    order: Endianness,
    body: &[u8],
    mut at: usize,
) -> impl Iterator<Item = (u16, &[u8])> + use<'_> {
    std::iter::from_fn(move || {
        let half = |at: usize| Some(half_in(order, *body.get(at..)?.first_chunk()?));
        let (code, length) = (half(at)?, usize::from(half(at + 2)?));
        let value = body.get(at + 4..at + 4 + length)?;
        at += 4 + length.next_multiple_of(4);
        (code != 0).then_some((code, value))
    })
}

/// The text of an option; a hostile one may be as long as its block.
fn option_text(value: &[u8]) -> Option<String> {
    const LONGEST: usize = 1_000;
    let text: String = utf8_or_latin(value).chars().take(LONGEST).collect();
    (!text.is_empty()).then_some(text)
}

/// Whether a block of a known type with equal lengths at both ends lies at `at`.
fn plausible_block(window: &mut Window, at: usize, endianness: Endianness) -> io::Result<bool> {
    if !ensure(window, at + 12)? {
        return Ok(false);
    }
    let bytes = |window: &Window, at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&window.bytes()[at..at + 4]);
        bytes
    };
    // A section says itself which byte order it has.
    const SECTION: [u8; 4] = SECTION_HEADER_BLOCK.to_be_bytes();
    let order = match (bytes(window, at), bytes(window, at + 8)) {
        (SECTION, [0x1A, 0x2B, 0x3C, 0x4D]) => Endianness::Big,
        (SECTION, [0x4D, 0x3C, 0x2B, 0x1A]) => Endianness::Little,
        (SECTION, _) => return Ok(false),
        _ => endianness,
    };
    let known = matches!(
        word_in(order, bytes(window, at)),
        SECTION_HEADER_BLOCK | 1..=6 | 9 | 10 | 0x0BAD | 0x4000_0BAD
    );
    let length = word_in(order, bytes(window, at + 4)) as usize;
    if !known || !length.is_multiple_of(4) || !(12..=LARGEST_PACKET).contains(&length) {
        return Ok(false);
    }
    Ok(ensure(window, at + length)?
        && word_in(order, bytes(window, at + length - 4)) as usize == length)
}

fn word_in(order: Endianness, bytes: [u8; 4]) -> u32 {
    match order {
        Endianness::Little => u32::from_le_bytes(bytes),
        Endianness::Big => u32::from_be_bytes(bytes),
    }
}

fn half_in(order: Endianness, bytes: [u8; 2]) -> u16 {
    match order {
        Endianness::Little => u16::from_le_bytes(bytes),
        Endianness::Big => u16::from_be_bytes(bytes),
    }
}

/// What the registry of link types calls it, such as `ETHERNET`.
fn link_name(link: DataLink) -> String {
    format!("{link:?}")
}

/// The link type without the bits that say how a frame check sequence is kept.
fn link_type(link: DataLink) -> DataLink {
    DataLink::from(u32::from(link) & 0xFFFF)
}

//! The packets of pcap and pcapng, framed by pcap-file. What lies inside a
//! packet is the business of `frame`. Damage is stepped over: the search for
//! the next plausible record goes on behind it, and what was lost is kept in a
//! list.

use std::io;
use std::ops::Range;

use pcap_file::pcap::{PcapHeader, PcapParseError, PcapParser};
use pcap_file::pcapng::blocks::block_common::Block;
use pcap_file::pcapng::{PcapNgParseError, PcapNgParser};
use pcap_file::{DataLink, Endianness, pcap::PcapTsResolution};

use super::Damage;
use super::source::Window;

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

/// Steps forward to the first place where `plausible` holds, in steps of
/// `align` bytes. `false` if there is none before the end.
fn resynchronise(
    window: &mut Window,
    align: usize,
    mut plausible: impl FnMut(&mut Window, usize) -> io::Result<bool>,
) -> io::Result<bool> {
    let mut at = align;
    loop {
        if !ensure(window, at + 1)? {
            return Ok(false);
        }
        if plausible(window, at)? {
            window.consume(at);
            return Ok(true);
        }
        at += align;
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

    fn next(&mut self, window: &mut Window, damage: &mut Damage) -> io::Result<Option<Packet>> {
        window.consume(std::mem::take(&mut self.consumed));
        loop {
            let header = self.parser.header();
            let largest = (header.snaplen as usize).clamp(262_144, LARGEST_PACKET);
            let available = window.bytes().len();
            match self.parser.next_raw_packet(window.bytes()) {
                Ok((rest, packet)) if packet.data.len() <= largest => {
                    let record = available - rest.len();
                    self.consumed = record;
                    self.last_second = Some(packet.ts_sec);
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
                resynchronise(window, 1, |window, at| {
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
        match header.endianness {
            Endianness::Big => u32::from_be_bytes(bytes),
            Endianness::Little => u32::from_le_bytes(bytes),
        }
    };
    let (second, fraction, included, original) = (word(0), word(4), word(8), word(12));
    let fraction_limit = match header.ts_resolution {
        PcapTsResolution::MicroSecond => 1_000_000,
        PcapTsResolution::NanoSecond => 1_000_000_000,
    };
    let fits = fraction < fraction_limit
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
    parser: PcapNgParser,
    consumed: usize,
}

impl PcapNgWalker {
    /// Reads the first section header. `None` if the capture ends inside it.
    pub(super) fn open(window: &mut Window) -> io::Result<Option<PcapNgWalker>> {
        loop {
            let available = window.bytes().len();
            let needed = match PcapNgParser::new(window.bytes()) {
                Ok((rest, parser)) => {
                    let consumed = available - rest.len();
                    return Ok(Some(PcapNgWalker { parser, consumed }));
                }
                Err(PcapNgParseError::IncompleteBuffer(needed, _)) => needed,
                Err(_) => return Ok(None),
            };
            if needed > LARGEST_PACKET || !window.fill()? {
                return Ok(None);
            }
        }
    }

    fn next(&mut self, window: &mut Window, damage: &mut Damage) -> io::Result<Option<Packet>> {
        loop {
            window.consume(std::mem::take(&mut self.consumed));
            let offset = window.offset();
            let available = window.bytes().len();
            match self.parser.next_raw_block(window.bytes()) {
                Ok((rest, raw)) => {
                    self.consumed = available - rest.len();
                    let block = match raw.try_into_block(self.parser.state()) {
                        Ok(block) => block,
                        Err(error) => {
                            let cause = format!("{error}: {}", error.source);
                            damage.push(offset, format!("this block is skipped: {cause}"));
                            continue;
                        }
                    };
                    // A block holds its packet after a head of 8 bytes of its
                    // own and the fixed fields of its kind.
                    let (interface, time, original, data, start) = match &block {
                        Block::EnhancedPacket(packet) => (
                            packet.interface_id,
                            Some(packet.timestamp),
                            packet.original_len,
                            packet.data.len(),
                            28,
                        ),
                        Block::Packet(packet) => (
                            u32::from(packet.interface_id),
                            Some(packet.timestamp),
                            packet.original_len,
                            packet.data.len(),
                            28,
                        ),
                        Block::SimplePacket(packet) => {
                            (0, None, packet.original_len, packet.data.len(), 12)
                        }
                        _ => continue,
                    };
                    let Some(interface) = self.parser.interfaces().get(interface as usize) else {
                        damage.push(offset, "this packet names an interface that is not there");
                        continue;
                    };
                    let nanoseconds = time.map_or(0, |time| time.as_nanos());
                    let Ok(nanoseconds) = i64::try_from(nanoseconds) else {
                        damage.push(offset, "this packet's time stamp lies beyond the year 2262");
                        continue;
                    };
                    return Ok(Some(Packet {
                        time: nanoseconds,
                        timed: time.is_some(),
                        link: link_type(interface.linktype),
                        data: start..start + data,
                        offset,
                        cut: original as usize > data,
                    }));
                }
                Err(PcapNgParseError::IncompleteBuffer(needed, _)) if needed <= LARGEST_PACKET => {
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
            let endianness = self.parser.section().endianness;
            if !resynchronise(window, 4, |window, at| {
                plausible_block(window, at, endianness)
            })? {
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
}

/// Whether a block of a known type with equal lengths at both ends lies at `at`.
fn plausible_block(window: &mut Window, at: usize, endianness: Endianness) -> io::Result<bool> {
    if !ensure(window, at + 12)? {
        return Ok(false);
    }
    let word = |window: &Window, at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&window.bytes()[at..at + 4]);
        match endianness {
            Endianness::Big => u32::from_be_bytes(bytes),
            Endianness::Little => u32::from_le_bytes(bytes),
        }
    };
    let known = matches!(
        word(window, at),
        0x0A0D_0D0A | 1..=6 | 9 | 10 | 0x0BAD | 0x4000_0BAD
    );
    let length = word(window, at + 4) as usize;
    if !known || !length.is_multiple_of(4) || !(12..=LARGEST_PACKET).contains(&length) {
        return Ok(false);
    }
    Ok(ensure(window, at + length)? && word(window, at + length - 4) as usize == length)
}

/// The link type without the bits that say how a frame check sequence is kept.
fn link_type(link: DataLink) -> DataLink {
    DataLink::from(u32::from(link) & 0xFFFF)
}

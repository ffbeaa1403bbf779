//! From a captured packet to the UDP datagram in it: link header, IP, UDP, by
//! etherparse. Fragments are put together again.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use etherparse::defrag::IpDefragPool;
use etherparse::{
    EtherType, IpNumber, Ipv4Slice, LaxNetSlice, LaxSlicedPacket, NetSlice, SlicedPacket,
};
use etherparse::{TransportSlice, UdpSlice};
use pcap_file::DataLink;

/// Fragments of a datagram that are further apart than this never complete.
const FRAGMENT_LIFETIME: i64 = 30_000_000_000;
/// More datagrams than this are never put together at the same time; a flood
/// of fragments must not fill memory.
const MOST_INCOMPLETE: usize = 256;

/// A UDP datagram.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Udp<'a> {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub payload: &'a [u8],
}

/// What a packet holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame<'a> {
    Udp(Udp<'a>),
    /// A whole datagram whose last fragment this packet was.
    Reassembled {
        source: SocketAddr,
        destination: SocketAddr,
        payload: Vec<u8>,
    },
    /// A fragment of a datagram that is not complete yet.
    Fragment,
    /// A UDP datagram of which the capture kept only the beginning.
    Cut,
    /// Anything but UDP over IP.
    Other,
    /// UDP over IP whose lengths contradict each other.
    Malformed,
    /// A link type that simtel does not know.
    UnknownLink,
}

/// Where etherparse begins to read.
enum Start<'a> {
    Ethernet(&'a [u8]),
    EtherType(EtherType, &'a [u8]),
    Ip(&'a [u8]),
}

/// Takes datagrams out of packets.
#[derive(Default)]
pub(super) struct Framer {
    fragments: IpDefragPool<i64, ()>,
    fragments_seen: usize,
    /// Datagrams given up because fragments never came or contradicted.
    pub incomplete: u64,
}

impl Framer {
    pub(super) fn read<'a>(
        &mut self,
        link: DataLink,
        packet: &'a [u8],
        cut: bool,
        time: i64,
    ) -> Frame<'a> {
        if let Some(udp) = plain_udp(link, packet) {
            return Frame::Udp(udp);
        }
        let Some(start) = strip_link(link, packet) else {
            return match link_is_known(link) {
                true => Frame::Other,
                false => Frame::UnknownLink,
            };
        };
        let sliced = match start {
            Start::Ethernet(bytes) => SlicedPacket::from_ethernet(bytes),
            Start::EtherType(kind, bytes) => SlicedPacket::from_ether_type(kind, bytes),
            Start::Ip(bytes) => SlicedPacket::from_ip(bytes),
        };
        let Ok(sliced) = sliced else {
            return match (is_udp(start), cut) {
                (true, true) => Frame::Cut,
                (true, false) => Frame::Malformed,
                (false, _) => Frame::Other,
            };
        };
        let (source, destination): (IpAddr, IpAddr) = match &sliced.net {
            Some(NetSlice::Ipv4(ip)) => (
                ip.header().source_addr().into(),
                ip.header().destination_addr().into(),
            ),
            Some(NetSlice::Ipv6(ip)) => (
                ip.header().source_addr().into(),
                ip.header().destination_addr().into(),
            ),
            _ => return Frame::Other,
        };
        match &sliced.transport {
            Some(TransportSlice::Udp(udp)) => Frame::Udp(Udp {
                source: SocketAddr::new(source, udp.source_port()),
                destination: SocketAddr::new(destination, udp.destination_port()),
                payload: udp.payload(),
            }),
            None if sliced.is_ip_payload_fragmented()
                && sliced
                    .ip_payload()
                    .is_some_and(|payload| payload.ip_number == IpNumber::UDP) =>
            {
                self.add_fragment(&sliced, source, destination, time)
            }
            _ => Frame::Other,
        }
    }

    fn add_fragment(
        &mut self,
        sliced: &SlicedPacket<'_>,
        source: IpAddr,
        destination: IpAddr,
        time: i64,
    ) -> Frame<'static> {
        self.fragments_seen += 1;
        if self.fragments_seen.is_multiple_of(MOST_INCOMPLETE) {
            self.drop_stale(time);
        }
        match self.fragments.process_sliced_packet(sliced, time, ()) {
            Ok(None) => Frame::Fragment,
            Ok(Some(whole)) => {
                let frame = match UdpSlice::from_slice(&whole.payload) {
                    Ok(udp) => Frame::Reassembled {
                        source: SocketAddr::new(source, udp.source_port()),
                        destination: SocketAddr::new(destination, udp.destination_port()),
                        payload: udp.payload().to_vec(),
                    },
                    Err(_) => Frame::Malformed,
                };
                self.fragments.return_buf(whole);
                frame
            }
            Err(_) => Frame::Malformed,
        }
    }

    /// Gives up what waits for too long, and everything if that is still too much.
    fn drop_stale(&mut self, now: i64) {
        let before = self.waiting();
        self.fragments
            .retain(|time| now.saturating_sub(*time).abs() <= FRAGMENT_LIFETIME);
        let kept = self.waiting();
        self.incomplete += before - kept;
        if kept > 2 * MOST_INCOMPLETE as u64 {
            self.finish();
        }
    }

    /// Gives up all that is not complete.
    pub(super) fn finish(&mut self) {
        self.incomplete += self.waiting();
        self.fragments = IpDefragPool::new();
    }

    /// How many datagrams are not complete yet.
    fn waiting(&mut self) -> u64 {
        let count = Cell::new(0);
        // As long as all are kept, each is asked about once.
        self.fragments.retain(|_| {
            count.set(count.get() + 1);
            true
        });
        count.get()
    }
}

/// The datagram of a packet as nearly all are: whole, over IPv4, in Ethernet
/// without tags. Slicing all that a packet may be takes three times as long.
fn plain_udp(link: DataLink, packet: &[u8]) -> Option<Udp<'_>> {
    const ETHERNET: usize = 14;
    if link != DataLink::ETHERNET || packet.get(12..ETHERNET)? != [0x08, 0x00] {
        return None;
    }
    let ip = Ipv4Slice::from_slice(&packet[ETHERNET..]).ok()?;
    let payload = ip.payload();
    if payload.fragmented || payload.ip_number != IpNumber::UDP {
        return None;
    }
    let udp = UdpSlice::from_slice(payload.payload).ok()?;
    let (source, destination) = (ip.header().source_addr(), ip.header().destination_addr());
    Some(Udp {
        source: SocketAddr::new(source.into(), udp.source_port()),
        destination: SocketAddr::new(destination.into(), udp.destination_port()),
        payload: udp.payload(),
    })
}

fn link_is_known(link: DataLink) -> bool {
    matches!(
        link,
        DataLink::ETHERNET
            | DataLink::RAW
            | DataLink::IPV4
            | DataLink::IPV6
            | DataLink::NULL
            | DataLink::LOOP
            | DataLink::LINUX_SLL
            | DataLink::LINUX_SLL2
    ) || is_raw_ip(link)
}

/// Raw IP has several numbers: 101 is the registered one, 12 and 14 are what
/// some systems write.
fn is_raw_ip(link: DataLink) -> bool {
    matches!(u32::from(link), 12 | 14 | 101)
}

/// Takes off the link headers that etherparse does not read. `None` if they
/// are cut or hold no IP.
fn strip_link(link: DataLink, packet: &[u8]) -> Option<Start<'_>> {
    match link {
        DataLink::ETHERNET => Some(Start::Ethernet(packet)),
        DataLink::IPV4 | DataLink::IPV6 => Some(Start::Ip(packet)),
        _ if is_raw_ip(link) => Some(Start::Ip(packet)),
        // The address family is in the byte order of the host that captured:
        // 2 is IPv4 everywhere, IPv6 is 24, 28 or 30 by system.
        DataLink::NULL | DataLink::LOOP => {
            let (family, rest) = packet.split_first_chunk::<4>()?;
            let family = u32::from_le_bytes(*family).min(u32::from_be_bytes(*family));
            matches!(family, 2 | 10 | 24 | 28 | 30).then_some(Start::Ip(rest))
        }
        DataLink::LINUX_SLL => {
            let (header, rest) = packet.split_first_chunk::<16>()?;
            let kind = EtherType(u16::from_be_bytes([header[14], header[15]]));
            Some(Start::EtherType(kind, rest))
        }
        DataLink::LINUX_SLL2 => {
            let (header, rest) = packet.split_first_chunk::<20>()?;
            let kind = EtherType(u16::from_be_bytes([header[0], header[1]]));
            Some(Start::EtherType(kind, rest))
        }
        _ => None,
    }
}

/// Whether a packet that cannot be read in full is UDP as far as it goes.
fn is_udp(start: Start<'_>) -> bool {
    let lax = match start {
        Start::Ethernet(bytes) => LaxSlicedPacket::from_ethernet(bytes).ok(),
        Start::EtherType(kind, bytes) => Some(LaxSlicedPacket::from_ether_type(kind, bytes)),
        Start::Ip(bytes) => LaxSlicedPacket::from_ip(bytes).ok(),
    };
    let number = match lax.and_then(|lax| lax.net) {
        Some(LaxNetSlice::Ipv4(ip)) => Some(ip.payload_ip_number()),
        Some(LaxNetSlice::Ipv6(ip)) => Some(ip.payload().ip_number),
        _ => None,
    };
    number == Some(IpNumber::UDP)
}

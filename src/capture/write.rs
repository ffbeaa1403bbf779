//! Datagrams into the bytes of a capture: link, IP and UDP headers with right
//! checksums around each payload, in nanosecond pcap or in pcapng. Where the
//! bytes go, and when, is the business of whoever asks for them.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anyhow::bail;
use byteorder_slice::LittleEndian;
use etherparse::PacketBuilder;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness};

/// What Wireshark and tcpdump state for captures that cut nothing.
const SNAP_LENGTH: u32 = 262_144;
/// What most systems give a datagram on its way; the real one is not known.
const TIME_TO_LIVE: u8 = 64;
/// The length of a pcap's record header.
const RECORD_HEADER: usize = 16;

/// The two kinds of capture files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureFormat {
    Pcap,
    PcapNg,
}

/// A datagram to write.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// Position of the listener among those that the encoder was made with.
    pub interface: u32,
    /// Nanoseconds since 1970 UTC.
    pub time: i64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub payload: &'a [u8],
    /// How many are known to have been lost just before it.
    pub lost_before: u64,
}

/// What a capture says at its end of one of its interfaces.
#[derive(Debug, Clone, Copy, Default)]
pub struct InterfaceStatistics {
    /// Nanoseconds since 1970 UTC.
    pub start: i64,
    pub end: i64,
    /// Datagrams in the capture.
    pub recorded: u64,
    /// Datagrams that the operating system dropped.
    pub dropped_by_system: u64,
    /// Datagrams that were received but not recorded.
    pub dropped_later: u64,
}

/// Makes the bytes of one capture, and keeps them until they are taken away.
pub struct Encoder {
    kind: Kind,
    frame: Vec<u8>,
}

enum Kind {
    Pcap(Vec<u8>),
    PcapNg(Box<PcapNgWriter<Vec<u8>>>),
}

impl Encoder {
    /// Begins a capture of what arrives at `interfaces`; a pcap has no place for
    /// their names, nor for the comment.
    ///
    /// # Errors
    /// None that depends on anything but pcap-file's own checks.
    pub fn new(
        format: CaptureFormat,
        interfaces: &[String],
        comment: &str,
    ) -> anyhow::Result<Encoder> {
        let kind = match format {
            CaptureFormat::Pcap => {
                let header = PcapHeader {
                    snaplen: SNAP_LENGTH,
                    datalink: DataLink::ETHERNET,
                    ts_resolution: PcapTsResolution::NanoSecond,
                    endianness: Endianness::Little,
                    ..PcapHeader::default()
                };
                let mut bytes = Vec::new();
                header.write_to(&mut bytes)?;
                Kind::Pcap(bytes)
            }
            CaptureFormat::PcapNg => {
                let program = concat!("simtel ", env!("CARGO_PKG_VERSION"));
                let section = SectionHeaderBlock {
                    endianness: Endianness::Little,
                    options: vec![
                        SectionHeaderOption::OS(std::env::consts::OS.into()),
                        SectionHeaderOption::UserApplication(program.into()),
                        SectionHeaderOption::Common(CommonOption::Comment(comment.into())),
                    ],
                    ..SectionHeaderBlock::default()
                };
                let mut writer = PcapNgWriter::with_section_header(Vec::new(), section)?;
                for name in interfaces {
                    let mut block = InterfaceDescriptionBlock::new(DataLink::ETHERNET, SNAP_LENGTH);
                    block.options = vec![
                        InterfaceDescriptionOption::IfName(name.into()),
                        InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
                    ];
                    writer.write_pcapng_block(block)?;
                }
                Kind::PcapNg(Box::new(writer))
            }
        };
        Ok(Encoder {
            kind,
            frame: Vec::new(),
        })
    }

    /// What has been made and not yet taken away.
    pub fn bytes(&self) -> &[u8] {
        match &self.kind {
            Kind::Pcap(bytes) => bytes,
            Kind::PcapNg(writer) => writer.get_ref(),
        }
    }

    /// The same, to be taken away.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        match &mut self.kind {
            Kind::Pcap(bytes) => bytes,
            Kind::PcapNg(writer) => writer.get_mut(),
        }
    }

    /// Adds the record of a datagram.
    ///
    /// # Errors
    /// If it cannot be a datagram: addresses of two families, or a payload
    /// longer than UDP has. Nothing is added then.
    pub fn datagram(&mut self, arrival: &Arrival<'_>) -> anyhow::Result<()> {
        self.frame.clear();
        frame(arrival, &mut self.frame)?;
        let length = u32::try_from(self.frame.len())?;
        let data = Cow::Borrowed(self.frame.as_slice());
        match &mut self.kind {
            Kind::Pcap(bytes) => {
                bytes.reserve(RECORD_HEADER + self.frame.len());
                // Its seconds end in 2106.
                let time = timestamp(arrival.time).min(Duration::from_secs(u64::from(u32::MAX)));
                let packet = PcapPacket::new(time, length, data)?;
                packet
                    .as_raw_packet(PcapTsResolution::NanoSecond)
                    .write_to::<_, LittleEndian>(bytes)?;
            }
            Kind::PcapNg(writer) => {
                let lost = Some(arrival.lost_before).filter(|lost| *lost > 0);
                writer.write_pcapng_block(EnhancedPacketBlock {
                    interface_id: arrival.interface,
                    timestamp: timestamp(arrival.time),
                    original_len: length,
                    data,
                    options: lost
                        .map(EnhancedPacketOption::DropCount)
                        .into_iter()
                        .collect(),
                })?;
            }
        }
        Ok(())
    }

    /// Adds what there is to say of an interface at the end; a pcap has no place
    /// for it.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn statistics(
        &mut self,
        interface: u32,
        statistics: &InterfaceStatistics,
    ) -> anyhow::Result<()> {
        let Kind::PcapNg(writer) = &mut self.kind else {
            return Ok(());
        };
        let dropped = statistics.dropped_by_system + statistics.dropped_later;
        writer.write_pcapng_block(InterfaceStatisticsBlock {
            interface_id: interface,
            timestamp: timestamp(statistics.end),
            options: vec![
                InterfaceStatisticsOption::IsbStartTime(timestamp(statistics.start)),
                InterfaceStatisticsOption::IsbEndTime(timestamp(statistics.end)),
                InterfaceStatisticsOption::IsbIfRecv(statistics.recorded + dropped),
                // Where Wireshark and capinfos look for drops.
                InterfaceStatisticsOption::IsbIfDrop(dropped),
                InterfaceStatisticsOption::IsbOsDrop(statistics.dropped_by_system),
                InterfaceStatisticsOption::IsbUsrDeliv(statistics.recorded),
            ],
        })?;
        Ok(())
    }
}

/// A datagram with the headers that it has on a network.
fn frame(arrival: &Arrival<'_>, bytes: &mut Vec<u8>) -> anyhow::Result<()> {
    let (source, destination) = (arrival.source, arrival.destination);
    let link = PacketBuilder::ethernet2(
        hardware_address(source.ip()),
        hardware_address(destination.ip()),
    );
    let network = match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            link.ipv4(source.octets(), destination.octets(), TIME_TO_LIVE)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            link.ipv6(source.octets(), destination.octets(), TIME_TO_LIVE)
        }
        _ => bail!("{source} and {destination} are not of one family"),
    };
    network
        .udp(source.port(), destination.port())
        .write(bytes, arrival.payload)?;
    Ok(())
}

/// Sockets do not tell the addresses of network cards: groups have theirs by
/// rule, for a single machine it is one of those that anyone may choose.
fn hardware_address(address: IpAddr) -> [u8; 6] {
    match address {
        IpAddr::V4(address) if address.is_broadcast() => [0xFF; 6],
        IpAddr::V4(address) => {
            let [first, second, third, fourth] = address.octets();
            match address.is_multicast() {
                true => [0x01, 0x00, 0x5E, second & 0x7F, third, fourth],
                false => [0x02, 0x00, first, second, third, fourth],
            }
        }
        IpAddr::V6(address) => {
            let [.., first, second, third, fourth] = address.octets();
            match address.is_multicast() {
                true => [0x33, 0x33, first, second, third, fourth],
                false => [0x02, 0x00, first, second, third, fourth],
            }
        }
    }
}

fn timestamp(nanoseconds: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

//! Datagrams into a nanosecond pcap, as a recorder beside the game would write
//! them.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

use etherparse::PacketBuilder;
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapTsResolution, PcapWriter};

/// 2025-07-06 14:00:00 UTC, the start of a Grand Prix at Silverstone.
const START: Duration = Duration::from_secs(1_751_810_400);

type Error = Box<dyn std::error::Error>;

/// From whom to which port datagrams go.
pub struct Route {
    host: u8,
    port: u16,
}

impl Route {
    /// From the host of this number in the network to the one that captures.
    pub fn to_port(host: u8, port: u16) -> Route {
        Route { host, port }
    }
}

pub struct CaptureWriter {
    writer: PcapWriter<BufWriter<File>>,
    written: u64,
}

impl CaptureWriter {
    pub fn create(path: &Path) -> Result<CaptureWriter, Error> {
        let header = PcapHeader {
            snaplen: 262_144,
            datalink: DataLink::ETHERNET,
            ts_resolution: PcapTsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        Ok(CaptureWriter {
            writer: PcapWriter::with_header(file, header)?,
            written: 0,
        })
    }

    /// Adds a datagram `time` after the start.
    pub fn write_to(&mut self, route: &Route, time: Duration, payload: &[u8]) -> Result<(), Error> {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, route.host], [2, 0, 0, 0, 0, 20])
            .ipv4([192, 168, 1, route.host], [192, 168, 1, 20], 64)
            .udp(54_321, route.port);
        let mut frame = Vec::with_capacity(builder.size(payload.len()));
        builder.write(&mut frame, payload)?;
        self.written += frame.len() as u64 + 16;
        let length = u32::try_from(frame.len())?;
        let packet = PcapPacket::new(START + time, length, Cow::Owned(frame))?;
        self.writer.write_packet(&packet)?;
        Ok(())
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    pub fn finish(self) -> Result<(), Error> {
        use std::io::Write;
        self.writer.into_inner().flush()?;
        Ok(())
    }
}

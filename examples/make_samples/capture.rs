//! Datagrams into a nanosecond pcap, as a recorder beside the game would write
//! them.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use simtel::capture::{Arrival, CaptureFormat, Encoder};

/// 2025-07-06 14:00:00 UTC, the start of a Grand Prix at Silverstone.
const START: Duration = Duration::from_secs(1_751_810_400);
/// Enough for one call to the system.
const WORTH_WRITING: usize = 1 << 20;

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
    encoder: Encoder,
    file: File,
    written: u64,
}

impl CaptureWriter {
    pub fn create(path: &Path) -> Result<CaptureWriter, Error> {
        Ok(CaptureWriter {
            encoder: Encoder::new(CaptureFormat::Pcap, &[], "")?,
            file: File::create(path)?,
            written: 0,
        })
    }

    /// Adds a datagram `time` after the start.
    pub fn write_to(&mut self, route: &Route, time: Duration, payload: &[u8]) -> Result<(), Error> {
        self.encoder.datagram(&Arrival {
            interface: 0,
            time: i64::try_from((START + time).as_nanos())?,
            source: SocketAddr::from(([192, 168, 1, route.host], 54_321)),
            destination: SocketAddr::from(([192, 168, 1, 20], route.port)),
            payload,
            lost_before: 0,
        })?;
        if self.encoder.bytes().len() >= WORTH_WRITING {
            self.flush()?;
        }
        Ok(())
    }

    /// Bytes so far.
    pub fn written(&self) -> u64 {
        self.written + self.encoder.bytes().len() as u64
    }

    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.write_all(self.encoder.bytes())?;
        self.written = self.written();
        self.encoder.bytes_mut().clear();
        Ok(())
    }
}

//! Datagrams as the content of a recording's files.

use super::Content;
use crate::capture::{Arrival, CaptureFormat, Encoder, InterfaceStatistics, Patch};
use crate::live::queue::Head;

/// Length of the block that says at the end what was dropped.
const STATISTICS_BLOCK: u64 = 100;

/// How to write datagrams.
#[derive(Debug, Clone)]
pub struct DatagramOptions {
    pub format: CaptureFormat,
    /// What a pcapng says of itself.
    pub comment: String,
}

/// Drops of one listener until now.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::live) struct Drops {
    pub by_system: u64,
    pub later: u64,
}

/// A datagram to record.
pub(in crate::live) struct DatagramRecord<'a> {
    pub head: &'a Head,
    pub payload: &'a [u8],
}

/// What a capture is begun and ended with.
#[derive(Clone, Copy)]
pub(in crate::live) struct DatagramContext<'a> {
    pub options: &'a DatagramOptions,
    /// Names of the listeners.
    pub interfaces: &'a [String],
    /// What each of them has lost until now.
    pub drops: &'a [Drops],
}

/// A capture.
pub(in crate::live) struct DatagramContent {
    encoder: Encoder,
    start: i64,
    /// Datagrams of each listener.
    recorded: Vec<u64>,
    drops_before: Vec<Drops>,
    closing_bytes: u64,
    /// The listener of the last datagram.
    last: usize,
    /// Always empty.
    sidecar: Vec<u8>,
}

impl Content for DatagramContent {
    const RECORDS: &'static str = "datagrams";
    const SIDECAR: Option<&'static str> = None;
    type Record<'a> = DatagramRecord<'a>;
    type Context<'a> = DatagramContext<'a>;

    fn begin(context: DatagramContext<'_>, now: i64) -> anyhow::Result<DatagramContent> {
        let DatagramContext {
            options,
            interfaces,
            drops,
        } = context;
        Ok(DatagramContent {
            encoder: Encoder::new(options.format, interfaces, &options.comment)?,
            start: now,
            recorded: vec![0; interfaces.len()],
            drops_before: drops.to_vec(),
            closing_bytes: match options.format {
                CaptureFormat::Pcap => 0,
                CaptureFormat::PcapNg => STATISTICS_BLOCK * interfaces.len() as u64,
            },
            last: 0,
            sidecar: Vec::new(),
        })
    }

    fn time(record: &DatagramRecord<'_>) -> i64 {
        record.head.time
    }

    fn add(&mut self, record: &DatagramRecord<'_>) -> anyhow::Result<u64> {
        let DatagramRecord { head, payload } = record;
        self.encoder.datagram(&Arrival {
            interface: u32::try_from(head.listener)?,
            time: head.time,
            source: head.source,
            destination: head.destination,
            payload,
            lost_before: head.lost_before,
        })?;
        self.recorded[head.listener] += 1;
        self.last = head.listener;
        Ok(payload.len() as u64)
    }

    fn take_back(&mut self, bytes: usize) {
        self.encoder.bytes_mut().truncate(bytes);
        self.recorded[self.last] -= 1;
    }

    fn bytes(&self) -> &[u8] {
        self.encoder.bytes()
    }

    fn closing_bytes(&self) -> u64 {
        self.closing_bytes
    }

    fn close(&mut self, context: DatagramContext<'_>, now: i64) -> anyhow::Result<()> {
        let counts = self
            .recorded
            .iter()
            .zip(&self.drops_before)
            .zip(context.drops);
        for (interface, ((recorded, before), drops)) in (0..).zip(counts) {
            self.encoder.statistics(
                interface,
                &InterfaceStatistics {
                    start: self.start,
                    end: now,
                    recorded: *recorded,
                    dropped_by_system: drops.by_system - before.by_system,
                    dropped_later: drops.later - before.later,
                },
            )?;
        }
        Ok(())
    }

    fn written(&mut self, _length: usize) -> Vec<Patch> {
        self.encoder.bytes_mut().clear();
        Vec::new()
    }

    fn sidecar(&mut self) -> &mut Vec<u8> {
        &mut self.sidecar
    }
}

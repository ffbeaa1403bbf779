//! Who sent to whom: the pairs of sender and receiver of a capture.

use std::net::SocketAddr;

use ahash::HashMap;

use crate::decode::Tally;

/// More pairs than this are only counted.
const MOST_FLOWS: usize = 1_000;

/// What one address and port sent to another.
#[derive(Debug)]
pub struct Flow {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub tally: Tally,
    /// Positions of the formats that came.
    pub formats: Vec<usize>,
}

/// The flows of a capture, in the order of their first datagrams.
#[derive(Default)]
pub(super) struct Flows {
    pub list: Vec<Flow>,
    positions: HashMap<(SocketAddr, SocketAddr), usize>,
    last: usize,
    /// Datagrams between more pairs.
    pub more: u64,
}

impl Flows {
    /// Notes a datagram; `None` if there are too many pairs already.
    pub(super) fn see(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        time: i64,
        bytes: usize,
    ) -> Option<&mut Flow> {
        // The next one is mostly of the same pair.
        let is_last = |flow: &Flow| flow.source == source && flow.destination == destination;
        if !self.list.get(self.last).is_some_and(is_last) {
            let key = (source, destination);
            self.last = match self.positions.get(&key) {
                Some(position) => *position,
                None if self.list.len() == MOST_FLOWS => {
                    self.more += 1;
                    return None;
                }
                None => {
                    self.list.push(Flow {
                        source,
                        destination,
                        tally: Tally::default(),
                        formats: Vec::new(),
                    });
                    self.positions.insert(key, self.list.len() - 1);
                    self.list.len() - 1
                }
            };
        }
        let flow = &mut self.list[self.last];
        flow.tally.see(time, bytes);
        Some(flow)
    }
}

impl Flow {
    pub(super) fn note_format(&mut self, format: usize) {
        if !self.formats.contains(&format) {
            self.formats.push(format);
        }
    }
}

//! What lies between the threads that receive and the one that writes: a batch
//! that grows at one end and is taken away whole at the other. It is bounded;
//! what finds no room is for the receiver to count.

use std::mem;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::udp::Received;
use crate::lock::lock;

/// Enough to wake the writer before its time.
const WORTH_WAKING: usize = 1 << 20;

/// Datagrams in the order in which they were received.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub heads: Vec<Head>,
    payloads: Vec<u8>,
}

/// A datagram but for its payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub listener: usize,
    pub time: i64,
    /// The latest time of its listener so far, should the clock go back.
    pub order: i64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    /// Lost since the one before of this listener.
    pub lost_before: u64,
    start: usize,
    length: usize,
}

impl Batch {
    fn push(&mut self, listener: usize, received: &Received<'_>, order: i64, lost_before: u64) {
        self.heads.push(Head {
            listener,
            time: received.time,
            order,
            source: received.source,
            destination: received.destination,
            lost_before,
            start: self.payloads.len(),
            length: received.payload.len(),
        });
        self.payloads.extend_from_slice(received.payload);
    }

    pub fn payload(&self, head: &Head) -> &[u8] {
        &self.payloads[head.start..head.start + head.length]
    }

    fn size(&self) -> usize {
        self.payloads.len() + self.heads.len() * size_of::<Head>()
    }

    /// Moves the datagrams of `later` behind those of this batch.
    pub fn append(&mut self, later: &mut Batch) {
        let start = self.payloads.len();
        self.payloads.append(&mut later.payloads);
        self.heads.extend(later.heads.drain(..).map(|head| Head {
            start: head.start + start,
            ..head
        }));
    }

    /// Splits off the datagrams from position `at` on.
    pub fn split_off(&mut self, at: usize) -> Batch {
        let mut rest = Batch::default();
        for head in self.heads.drain(at..) {
            let start = rest.payloads.len();
            rest.payloads
                .extend_from_slice(&self.payloads[head.start..head.start + head.length]);
            rest.heads.push(Head { start, ..head });
        }
        rest
    }

    pub fn clear(&mut self) {
        self.heads.clear();
        self.payloads.clear();
        // After a flood.
        self.payloads.shrink_to(4 * WORTH_WAKING);
        self.heads.shrink_to(4 * WORTH_WAKING / size_of::<Head>());
    }
}

/// A bounded queue of datagrams.
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    limit: usize,
}

struct State {
    batch: Batch,
    /// Receivers that may still push.
    open: usize,
}

impl Queue {
    /// A queue that holds up to `limit` bytes from this many receivers.
    pub fn new(limit: usize, receivers: usize) -> Queue {
        Queue {
            state: Mutex::new(State {
                batch: Batch::default(),
                open: receivers,
            }),
            filled: Condvar::new(),
            limit,
        }
    }

    /// Adds a datagram; `false` if there is no room for it.
    pub fn push(
        &self,
        listener: usize,
        received: &Received<'_>,
        order: i64,
        lost_before: u64,
    ) -> bool {
        let mut state = lock(&self.state);
        let added = received.payload.len() + size_of::<Head>();
        if state.batch.size() + added > self.limit {
            return false;
        }
        let before = state.batch.size();
        state.batch.push(listener, received, order, lost_before);
        if before < WORTH_WAKING && state.batch.size() >= WORTH_WAKING {
            self.filled.notify_one();
        }
        true
    }

    /// Says that one receiver will push no more.
    pub fn close(&self) {
        lock(&self.state).open -= 1;
        self.filled.notify_one();
    }

    /// Puts all that has come into `batch`, which must be empty, after `patience`
    /// or when there is much of it. Returns whether more can come.
    pub fn take(&self, batch: &mut Batch, patience: Duration) -> bool {
        let state = lock(&self.state);
        let waited = self.filled.wait_timeout_while(state, patience, |state| {
            state.open > 0 && state.batch.size() < WORTH_WAKING
        });
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut state.batch, batch);
        state.open > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(time: i64, payload: &[u8]) -> Received<'_> {
        let address = SocketAddr::from(([127, 0, 0, 1], 20_777));
        Received {
            time,
            source: address,
            destination: address,
            payload,
            lost_before: 0,
        }
    }

    #[test]
    fn what_finds_no_room_is_refused_and_the_rest_is_whole() {
        let queue = Queue::new(3 * (size_of::<Head>() + 4), 1);
        for time in 0..3 {
            assert!(queue.push(0, &received(time, &[time as u8; 4]), time, 0));
        }
        assert!(!queue.push(0, &received(3, &[3; 4]), 3, 0));
        let mut batch = Batch::default();
        assert!(queue.take(&mut batch, Duration::ZERO));
        for (time, head) in (0..3).zip(&batch.heads) {
            assert_eq!(head.time, i64::from(time));
            assert_eq!(batch.payload(head), [time; 4]);
        }
        batch.clear();
        assert!(queue.push(0, &received(4, &[4; 4]), 4, 1));
        queue.close();
        assert!(!queue.take(&mut batch, Duration::from_secs(60)));
        assert_eq!(batch.heads.len(), 1);
    }

    #[test]
    fn batches_split_and_join() {
        let mut batch = Batch::default();
        for time in 0..5 {
            batch.push(
                0,
                &received(time, &vec![time as u8; time as usize]),
                time,
                0,
            );
        }
        let mut rest = batch.split_off(2);
        assert_eq!(batch.heads.len(), 2);
        assert_eq!(rest.payload(&rest.heads[2]), [4; 4]);
        batch.append(&mut rest);
        for (time, head) in (0..5).zip(&batch.heads) {
            assert_eq!(batch.payload(head), vec![time as u8; time]);
        }
    }
}

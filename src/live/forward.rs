//! Passing datagrams on to other programs, unchanged and at once. A target that
//! is not there is counted, and disturbs nobody.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::send::{SendOptions, connect, is_refusal};
use super::udp::canonical;

/// How long a target without a way to it is left alone.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What became of the datagrams for one target.
#[derive(Debug, Default)]
pub(super) struct ForwardCounts {
    pub sent: AtomicU64,
    /// Answers of the target's system that nobody listens.
    pub refused: AtomicU64,
    /// Not sent: no way to the target, or no room on it.
    pub failed: AtomicU64,
}

impl ForwardCounts {
    pub fn report(&self, target: SocketAddr) -> ForwardReport {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ForwardReport {
            target,
            sent: load(&self.sent),
            refused: load(&self.refused),
            failed: load(&self.failed),
        }
    }
}

/// What became of the datagrams for one target.
#[derive(Debug, Clone, Copy)]
pub struct ForwardReport {
    pub target: SocketAddr,
    pub sent: u64,
    /// Answers that nobody listens there.
    pub refused: u64,
    pub failed: u64,
}

/// The way from one receiver to one target.
pub(super) struct Forwarder<'a> {
    target: SocketAddr,
    counts: &'a ForwardCounts,
    socket: Option<(UdpSocket, Option<SocketAddr>)>,
    tried: Instant,
}

impl<'a> Forwarder<'a> {
    pub fn new(target: SocketAddr, counts: &'a ForwardCounts) -> Forwarder<'a> {
        Forwarder {
            target,
            counts,
            socket: open(target).ok(),
            tried: Instant::now(),
        }
    }

    /// Where the datagrams that it sends come from.
    pub fn source(&self) -> Option<SocketAddr> {
        self.socket.as_ref()?.1
    }

    pub fn send(&mut self, payload: &[u8]) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        if self.socket.is_none() && self.tried.elapsed() > RETRY_AFTER {
            self.tried = Instant::now();
            self.socket = open(self.target).ok();
        }
        let Some((socket, _)) = &self.socket else {
            count(&self.counts.failed);
            return;
        };
        let mut result = socket.send(payload);
        // The answer to an earlier datagram keeps this one from being sent.
        if result.as_ref().is_err_and(is_refusal) {
            count(&self.counts.refused);
            result = socket.send(payload);
        }
        match result {
            Ok(_) => count(&self.counts.sent),
            Err(error) => {
                // This machine may have another address by now.
                if error.kind() != io::ErrorKind::WouldBlock && !is_refusal(&error) {
                    self.socket = None;
                }
                count(&self.counts.failed)
            }
        };
    }
}

/// A socket that never makes its thread wait.
fn open(target: SocketAddr) -> io::Result<(UdpSocket, Option<SocketAddr>)> {
    let socket = connect(target, None, &SendOptions::default())?;
    socket.set_nonblocking(true)?;
    let source = socket.local_addr().ok().map(canonical);
    Ok((socket, source))
}

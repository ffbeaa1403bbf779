//! Passing datagrams on to other programs, unchanged and at once. A target that
//! is not there is counted, and disturbs nobody.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// The way from one receiver to one target.
pub(super) struct Forwarder<'a> {
    target: SocketAddr,
    counts: &'a ForwardCounts,
    socket: Option<UdpSocket>,
    tried: Instant,
}

impl<'a> Forwarder<'a> {
    pub fn new(target: SocketAddr, counts: &'a ForwardCounts) -> Forwarder<'a> {
        Forwarder {
            target,
            counts,
            socket: connect(target).ok(),
            tried: Instant::now(),
        }
    }

    pub fn send(&mut self, payload: &[u8]) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        if self.socket.is_none() && self.tried.elapsed() > RETRY_AFTER {
            self.tried = Instant::now();
            self.socket = connect(self.target).ok();
        }
        let Some(socket) = &self.socket else {
            count(&self.counts.failed);
            return;
        };
        let mut result = socket.send(payload);
        // The answer to an earlier datagram keeps this one from being sent.
        if result.as_ref().is_err_and(is_refusal) {
            count(&self.counts.refused);
            result = socket.send(payload);
        }
        count(match result {
            Ok(_) => &self.counts.sent,
            Err(_) => &self.counts.failed,
        });
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}

/// A connected socket, which unlike others learns that nobody listens.
fn connect(target: SocketAddr) -> io::Result<UdpSocket> {
    let socket = match target {
        SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.set_broadcast(true)?;
    socket.set_nonblocking(true)?;
    socket.connect(target)?;
    Ok(socket)
}

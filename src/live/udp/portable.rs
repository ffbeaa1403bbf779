//! Receiving where the system has no more than `recv_from`: one datagram at a
//! time, stamped on return. What the system drops it does not tell.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use socket2::Socket;

use super::{
    LONGEST_DATAGRAM, ListenAddress, ON_ITS_WAY, Received, Taken, Wait, canonical, local_address,
    unspecified,
};
use crate::clock::now;

/// Senders whose way back is remembered.
const MOST_SENDERS: usize = 1_000;

/// Takes datagrams from one socket.
pub(in crate::live) struct Receiver {
    socket: UdpSocket,
    local: SocketAddr,
    payload: Vec<u8>,
    /// Which address of this machine a sender has most likely sent to.
    own_addresses: HashMap<IpAddr, IpAddr>,
}

impl Receiver {
    /// Whether time stamps are those of the kernel.
    pub const KERNEL_TIME: bool = false;

    pub fn new(socket: Socket, _address: ListenAddress) -> io::Result<Receiver> {
        Ok(Receiver {
            local: local_address(&socket)?,
            socket: socket.into(),
            payload: vec![0; LONGEST_DATAGRAM],
            own_addresses: HashMap::new(),
        })
    }

    /// Hands the next datagram to `each`; none if time ran out.
    ///
    /// # Errors
    /// If the system says anything but that there is nothing yet.
    pub fn receive(&mut self, wait: Wait, mut each: impl FnMut(Received<'_>)) -> io::Result<Taken> {
        let before = now() - ON_ITS_WAY;
        self.socket.set_nonblocking(wait == Wait::Not)?;
        match self.socket.recv_from(&mut self.payload) {
            Ok((length, source)) => {
                let time = now();
                let source = canonical(source);
                let destination = self.destination(source);
                each(Received {
                    time,
                    source,
                    destination,
                    payload: &self.payload[..length],
                    lost_before: 0,
                });
                Ok(Taken {
                    count: 1,
                    until: time,
                })
            }
            Err(error) => match error.kind() {
                // Windows has another word for running out of time.
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => Ok(Taken {
                    count: 0,
                    until: before,
                }),
                _ => Err(error),
            },
        }
    }

    /// The address that a datagram from `source` was sent to: ours, or, if we
    /// listen at all of them, the one from which an answer would go.
    fn destination(&mut self, source: SocketAddr) -> SocketAddr {
        if !self.local.ip().is_unspecified() {
            return self.local;
        }
        let own = self.own_addresses.get(&source.ip()).copied();
        let own = own.unwrap_or_else(|| {
            let own = way_back(source).unwrap_or_else(|_| unspecified(source));
            if self.own_addresses.len() < MOST_SENDERS {
                self.own_addresses.insert(source.ip(), own);
            }
            own
        });
        SocketAddr::new(own, self.local.port())
    }

    /// This system does not count.
    pub fn drops(&mut self) -> Option<u64> {
        None
    }
}

fn way_back(source: SocketAddr) -> io::Result<IpAddr> {
    let socket = UdpSocket::bind((unspecified(source), 0))?;
    socket.connect(source)?;
    Ok(socket.local_addr()?.ip())
}

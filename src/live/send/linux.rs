//! Many datagrams with one call.

use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr;

use crate::live::feed::{Chunk, Item};

/// Datagrams that one call sends at most.
const MOST: usize = 64;

/// Room for what a call is told, kept from one to the next.
#[derive(Default)]
pub(super) struct Burst {
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in it are set anew before each use, and point into the
// arguments of that call alone.
unsafe impl Send for Burst {}

impl Burst {
    /// Sends the first of these items, as many as the system takes at once.
    pub fn send(&mut self, socket: &UdpSocket, chunk: &Chunk, items: &[Item]) -> io::Result<usize> {
        let items = &items[..items.len().min(MOST)];
        if let [item] = items {
            return socket.send(chunk.payload(item)).map(|_| 1);
        }
        self.parts.clear();
        self.parts.extend(items.iter().map(|item| {
            let payload = chunk.payload(item);
            libc::iovec {
                iov_base: payload.as_ptr().cast_mut().cast(),
                iov_len: payload.len(),
            }
        }));
        self.headers.clear();
        for part in &mut self.parts {
            // SAFETY: all fields are numbers or pointers, for which zero is a
            // value; the socket is connected, so no address is needed.
            let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
            header.msg_hdr.msg_iov = ptr::from_mut(part);
            header.msg_hdr.msg_iovlen = 1;
            self.headers.push(header);
        }
        // SAFETY: each header points at one part, and each part at a payload of
        // the chunk, which the kernel only reads.
        let sent = unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as u32,
                0,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

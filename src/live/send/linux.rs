//! Many datagrams with one call, and what other systems answer to them.

use std::io;
use std::mem;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::ptr;

use crate::live::feed::{Chunk, Item};
use crate::live::udp::set_option;

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

/// Has the kernel keep each answer of another system until it is asked for. It
/// would else tell the last one, instead of sending the next datagram.
pub(super) fn keep_answers(socket: &UdpSocket) -> io::Result<()> {
    let (level, name) = match socket.local_addr()?.is_ipv4() {
        true => (libc::IPPROTO_IP, libc::IP_RECVERR),
        false => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
    };
    set_option(socket, level, name, 1)
}

/// The next answer of another system, as the error that it stands for.
pub(super) fn next_answer(socket: &UdpSocket) -> Option<io::Error> {
    let mut control = [0_u64; 32];
    // SAFETY: all fields are numbers or pointers, for which zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = mem::size_of_val(&control) as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the header points at a control buffer of the length that it states,
    // and asks for nothing else.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &mut header, flags) } < 0 {
        return None;
    }
    // SAFETY: the kernel has filled the control buffer, and has set its length.
    let message = unsafe { libc::CMSG_FIRSTHDR(&header) };
    if message.is_null() {
        return None;
    }
    // SAFETY: the first message lies whole in the buffer; what it tells begins
    // with the number of the error, as each message of this queue does.
    let number = unsafe { libc::CMSG_DATA(message).cast::<u32>().read_unaligned() };
    Some(io::Error::from_raw_os_error(number as i32))
}

//! Receiving on Linux: many datagrams with one call, each with the kernel's
//! own time stamp, the address that it was sent to, and the count of those that
//! the kernel had to drop.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::ptr;
use std::slice;

use libc::{c_int, c_void};
use socket2::{SockAddr, SockAddrStorage, Socket};

use super::{LONGEST_DATAGRAM, ListenAddress, ON_ITS_WAY, Received, Taken, Wait, canonical};
use crate::clock::now;

/// Datagrams that one call takes.
const BATCH: usize = 64;
/// Room for the control messages of one datagram, of which there are at most
/// four; aligned as they must be.
type Control = [u64; 16];
/// Position of the count of drops in what SO_MEMINFO tells.
const DROPS: usize = 8;

/// Takes datagrams from one socket.
pub(in crate::live) struct Receiver {
    socket: Socket,
    /// What stands for the destination should the kernel not tell.
    local: SocketAddr,
    payloads: Vec<u8>,
    sources: Vec<SockAddrStorage>,
    controls: Vec<Control>,
    /// The kernel's count of drops, the latest that was seen.
    drops: u64,
    /// The latest that came with a datagram; those in the buffer are behind.
    told_drops: u64,
}

impl Receiver {
    /// Whether time stamps are those of the kernel.
    pub const KERNEL_TIME: bool = true;

    pub fn new(socket: Socket, address: ListenAddress) -> io::Result<Receiver> {
        set_option(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        let local = match address {
            ListenAddress::One(address) => address,
            ListenAddress::Any(port) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        };
        if super::local_address(&socket)?.is_ipv4() {
            set_option(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
        } else {
            set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        }
        Ok(Receiver {
            socket,
            local,
            payloads: vec![0; BATCH * LONGEST_DATAGRAM],
            sources: (0..BATCH).map(|_| SockAddrStorage::zeroed()).collect(),
            controls: vec![Control::default(); BATCH],
            drops: 0,
            told_drops: 0,
        })
    }

    /// Hands each datagram that is there to `each`; none if time ran out.
    ///
    /// # Errors
    /// If the system says anything but that there is nothing yet.
    pub fn receive(&mut self, wait: Wait, mut each: impl FnMut(Received<'_>)) -> io::Result<Taken> {
        let before = now() - ON_ITS_WAY;
        let mut parts: [libc::iovec; BATCH] = [libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: LONGEST_DATAGRAM,
        }; BATCH];
        // SAFETY: all fields are numbers or pointers, for which zero is a value.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        let payloads = self.payloads.chunks_exact_mut(LONGEST_DATAGRAM);
        let rooms = payloads.zip(&mut self.sources).zip(&mut self.controls);
        for ((header, part), ((payload, source), control)) in
            headers.iter_mut().zip(&mut parts).zip(rooms)
        {
            part.iov_base = payload.as_mut_ptr().cast();
            let header = &mut header.msg_hdr;
            header.msg_name = ptr::from_mut(source).cast();
            header.msg_namelen = source.size_of();
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = mem::size_of::<Control>() as _;
        }
        let flags = match wait {
            Wait::Patiently => libc::MSG_WAITFORONE,
            Wait::Not => libc::MSG_DONTWAIT,
        };
        // SAFETY: each header points at a payload, an address and a control
        // buffer of the lengths that it states, which live until the end of
        // this function and are not touched meanwhile.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                flags as _,
                ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(count) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Taken {
                    count: 0,
                    until: before,
                }),
                _ => Err(error),
            };
        };
        let mut last = i64::MIN;
        for (position, header) in headers[..count].iter().enumerate() {
            let told = Told::of(&header.msg_hdr);
            let lost_before = told.drops.map_or(0, |drops| self.note_drops(drops));
            let time = told.time.unwrap_or_else(now);
            last = last.max(time);
            let source = mem::replace(&mut self.sources[position], SockAddrStorage::zeroed());
            // SAFETY: the kernel has put an address of this length there.
            let source = unsafe { SockAddr::new(source, header.msg_hdr.msg_namelen) };
            let start = position * LONGEST_DATAGRAM;
            each(Received {
                time,
                source: canonical(source.as_socket().unwrap_or(self.local)),
                destination: match told.destination {
                    Some(address) => SocketAddr::new(address.to_canonical(), self.local.port()),
                    None => self.local,
                },
                payload: &self.payloads[start..start + header.msg_len as usize],
                lost_before,
            });
        }
        let until = match count < BATCH {
            true => before.max(last),
            false => last,
        };
        Ok(Taken { count, until })
    }

    /// How many datagrams the system has dropped since the socket was opened,
    /// those after the last one that was received included.
    pub fn drops(&mut self) -> Option<u64> {
        let mut told = [0_u32; DROPS + 1];
        let mut length = mem::size_of_val(&told) as libc::socklen_t;
        // SAFETY: the buffer is as long as `length` says.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                told.as_mut_ptr().cast(),
                &mut length,
            )
        };
        // Older kernels tell with the next datagram only.
        if result == 0 && length as usize == mem::size_of_val(&told) {
            let drops = self.extended(told[DROPS]);
            self.drops = self.drops.max(drops);
        }
        Some(self.drops)
    }

    /// Takes the count that came with a datagram, and returns by how much it has
    /// grown since the one before.
    fn note_drops(&mut self, counter: u32) -> u64 {
        let drops = self.extended(counter);
        self.drops = self.drops.max(drops);
        let grown = drops.saturating_sub(self.told_drops);
        self.told_drops = self.told_drops.max(drops);
        grown
    }

    /// The kernel's counter, which wraps, as one that does not. It may be
    /// somewhat older than the latest.
    fn extended(&self, counter: u32) -> u64 {
        let newer = counter.wrapping_sub(self.drops as u32) as i32;
        self.drops.saturating_add_signed(newer.into())
    }
}

/// What the kernel says of a datagram.
#[derive(Default)]
struct Told {
    time: Option<i64>,
    destination: Option<std::net::IpAddr>,
    drops: Option<u32>,
}

impl Told {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the numbers of a time are shorter on 32-bit systems"
    )]
    fn of(header: &libc::msghdr) -> Told {
        let mut told = Told::default();
        // SAFETY: the kernel has filled the control buffer that this header
        // points at, and has set its length.
        let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
        while !message.is_null() {
            // SAFETY: it is not null, so it lies whole in the control buffer.
            let (level, kind, data) = unsafe {
                let data = libc::CMSG_DATA(message);
                let head = data.offset_from_unsigned(message.cast());
                let length = ((*message).cmsg_len as usize).saturating_sub(head);
                (
                    (*message).cmsg_level,
                    (*message).cmsg_type,
                    slice::from_raw_parts(data, length),
                )
            };
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    told.time = read(data).map(|time: libc::timespec| {
                        time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64
                    });
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => told.drops = read(data),
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    told.destination = read(data).map(|info: libc::in_pktinfo| {
                        Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into()
                    });
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    told.destination = read(data).map(|info: libc::in6_pktinfo| {
                        Ipv6Addr::from(info.ipi6_addr.s6_addr).into()
                    });
                }
                _ => {}
            }
            // SAFETY: as above.
            message = unsafe { libc::CMSG_NXTHDR(header, message) };
        }
        told
    }
}

/// What the kernel tells as a value of some structure without references.
trait Plain: Copy {}
impl Plain for u32 {}
impl Plain for libc::timespec {}
impl Plain for libc::in_pktinfo {}
impl Plain for libc::in6_pktinfo {}

/// The value of a control message, whose type its level and kind tell.
fn read<T: Plain>(data: &[u8]) -> Option<T> {
    let value = data.get(..mem::size_of::<T>())?;
    // SAFETY: there are enough bytes, and any bytes are a value of these types.
    Some(unsafe { value.as_ptr().cast::<T>().read_unaligned() })
}

/// Sets the size of the receive buffer beyond the system's limit; `false` if
/// the rights for that are missing.
pub(super) fn force_buffer(socket: &Socket, size: usize) -> bool {
    c_int::try_from(size)
        .is_ok_and(|size| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, size).is_ok())
}

/// Sets an option that is a number.
pub(in crate::live) fn set_option(
    socket: &impl AsRawFd,
    level: c_int,
    name: c_int,
    value: c_int,
) -> io::Result<()> {
    // SAFETY: the kernel reads one number.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_ref(&value).cast::<c_void>(),
            mem::size_of::<c_int>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

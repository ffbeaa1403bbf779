//! UDP sockets that receive: addresses as people write them, options, and why a
//! port cannot be had. How datagrams are taken from a socket, with time stamps
//! and a count of drops where the system gives them, is in `linux` and
//! `portable`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs, UdpSocket};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, anyhow};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, SockRef, Socket, Type};

#[cfg(target_os = "linux")]
pub(super) use linux::{Receiver, set_option};
#[cfg(not(target_os = "linux"))]
pub(super) use portable::Receiver;

/// Longer than any datagram, so that none is cut.
const LONGEST_DATAGRAM: usize = 1 << 16;
/// The largest buffer that can be asked for; the system doubles it.
pub const LARGEST_BUFFER: usize = i32::MAX as usize / 2;
/// How long a receiver waits for a datagram before it looks up.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);
/// How long a datagram, once stamped, takes to its socket at most, in
/// nanoseconds.
const ON_ITS_WAY: i64 = 2_000_000;

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenAddress {
    /// Every address of the machine, of IPv4 and IPv6 alike.
    Any(u16),
    One(SocketAddr),
}

impl ListenAddress {
    pub fn port(self) -> u16 {
        match self {
            ListenAddress::Any(port) => port,
            ListenAddress::One(address) => address.port(),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    /// Reads `20777`, `:20777`, `0.0.0.0:20777`, `[::1]:20777` or
    /// `localhost:20777`.
    fn from_str(text: &str) -> Result<ListenAddress, String> {
        let port = text.strip_prefix('*').unwrap_or(text);
        let port = port.strip_prefix(':').unwrap_or(port);
        match port.parse() {
            Ok(port) => Ok(ListenAddress::Any(port)),
            Err(_) => resolve(text).map(ListenAddress::One),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Any(port) => write!(formatter, "*:{port}"),
            ListenAddress::One(address) => address.fmt(formatter),
        }
    }
}

/// The first address of `HOST:PORT`; `[fe80::1%eth0]:PORT` says by which network
/// card.
///
/// # Errors
/// If it is written otherwise, or the host has no address.
pub fn resolve(text: &str) -> Result<SocketAddr, String> {
    let explain = || "write HOST:PORT such as 127.0.0.1:20777 or [::1]:20777".to_string();
    let (host, port) = text.rsplit_once(':').ok_or_else(explain)?;
    if host.is_empty() || host.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(explain());
    }
    let port: u16 = port.parse().map_err(|_| format!("{port} is not a port"))?;
    if let Some((address, card)) = host.trim_matches(['[', ']']).split_once('%') {
        let address: Ipv6Addr = address.parse().map_err(|_| explain())?;
        let scope = card.parse().ok().or_else(|| interface_index(card));
        let scope = scope.ok_or_else(|| no_such_card(card))?;
        return Ok(SocketAddrV6::new(address, port, 0, scope).into());
    }
    let mut addresses = text
        .to_socket_addrs()
        .map_err(|error| format!("{host}: {error}"))?;
    addresses
        .next()
        .ok_or_else(|| format!("{host} has no address"))
}

fn no_such_card(name: &str) -> String {
    format!("this machine has no network card {name}")
}

/// A multicast group to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    address: IpAddr,
    interface: Interface,
}

impl Group {
    /// Whether what is sent to it can reach a socket at this address.
    pub fn fits(&self, address: ListenAddress) -> bool {
        match address {
            ListenAddress::Any(_) => true,
            // What is bound to one address hears nothing that goes to another.
            ListenAddress::One(address) => {
                address.is_ipv4() == self.address.is_ipv4()
                    && (address.ip().is_unspecified() || address.ip() == self.address)
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    /// The one that the system chooses.
    Any,
    Address(Ipv4Addr),
    Index(u32),
}

impl FromStr for Group {
    type Err = String;

    /// Reads `239.1.2.3`, `239.1.2.3@192.168.1.5` with the address of a network
    /// card, or `ff02::1@eth0` or `ff02::1@2` with its name or number.
    fn from_str(text: &str) -> Result<Group, String> {
        let (group, interface) = match text.split_once('@') {
            Some((group, interface)) => (group, Some(interface)),
            None => (text, None),
        };
        let address: IpAddr = group
            .parse()
            .ok()
            .filter(IpAddr::is_multicast)
            .ok_or_else(|| format!("{group} is no multicast group such as 239.255.50.10"))?;
        let interface = match interface {
            None => Interface::Any,
            Some(text) => match (text.parse(), text.parse()) {
                (Ok(address), _) if group.contains('.') => Interface::Address(address),
                (_, Ok(index)) => Interface::Index(index),
                _ => Interface::Index(interface_index(text).ok_or_else(|| no_such_card(text))?),
            },
        };
        Ok(Group { address, interface })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(formatter)
    }
}

/// How to listen.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// Groups to join; a socket leaves out those that cannot reach it.
    pub groups: Vec<Group>,
    /// Let other programs listen at the same port, which works for broadcast and
    /// multicast alone.
    pub share: bool,
    /// Bytes that the system should hold for us.
    pub buffer: usize,
}

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    /// What was asked for, with the port that the system chose for port 0.
    pub address: ListenAddress,
    /// Bytes that the system holds for us.
    pub buffer: usize,
    groups: Vec<Group>,
}

impl Listener {
    /// Binds a socket.
    ///
    /// # Errors
    /// If the address cannot be had, or a group not be joined; says what to do.
    pub fn open(address: ListenAddress, options: &ListenOptions) -> anyhow::Result<Listener> {
        let socket = bind(address, options).map_err(|error| explain(address, error))?;
        let listener = Listener {
            address: match address {
                ListenAddress::Any(_) => ListenAddress::Any(local_address(&socket)?.port()),
                ListenAddress::One(_) => ListenAddress::One(local_address(&socket)?),
            },
            buffer: enlarge_buffer(&socket, options.buffer)?,
            groups: options
                .groups
                .iter()
                .filter(|group| group.fits(address))
                .copied()
                .collect(),
            socket,
        };
        for group in &listener.groups {
            listener.join(group).with_context(|| {
                format!("cannot join the multicast group {group} at {address}; GROUP@INTERFACE says on which network card")
            })?;
        }
        Ok(listener)
    }

    fn join(&self, group: &Group) -> io::Result<()> {
        let socket = SockRef::from(&self.socket);
        match (group.address, group.interface) {
            (IpAddr::V4(group), interface) => {
                // Not what others on this machine have joined.
                #[cfg(target_os = "linux")]
                socket.set_multicast_all_v4(false)?;
                let interface = match interface {
                    Interface::Any => InterfaceIndexOrAddress::Address(Ipv4Addr::UNSPECIFIED),
                    Interface::Address(address) => InterfaceIndexOrAddress::Address(address),
                    Interface::Index(index) => InterfaceIndexOrAddress::Index(index),
                };
                socket.join_multicast_v4_n(&group, &interface)
            }
            (IpAddr::V6(group), Interface::Index(index)) => socket.join_multicast_v6(&group, index),
            (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, 0),
        }
    }

    /// Whether a datagram to `target` would come back here.
    pub fn hears(&self, target: SocketAddr) -> bool {
        if self.address.port() != target.port() {
            return false;
        }
        let target = match canonical(target) {
            // To no address means to this machine.
            SocketAddr::V4(to) if to.ip().is_unspecified() => (Ipv4Addr::LOCALHOST, 0).into(),
            SocketAddr::V6(to) if to.ip().is_unspecified() => (Ipv6Addr::LOCALHOST, 0).into(),
            mut target => {
                target.set_port(0);
                target
            }
        };
        match self.address {
            ListenAddress::One(address) if !address.ip().is_unspecified() => {
                address.ip().to_canonical() == target.ip()
            }
            ListenAddress::One(address) if address.is_ipv4() != target.is_ipv4() => false,
            _ if target.ip().is_multicast() => {
                self.groups.iter().any(|group| group.address == target.ip())
            }
            // Only what belongs to this machine, or to all, can be bound to.
            _ => {
                let is_broadcast = target.ip() == IpAddr::from(Ipv4Addr::BROADCAST);
                is_broadcast || UdpSocket::bind(target).is_ok()
            }
        }
    }

    pub(super) fn receiver(&self) -> io::Result<Receiver> {
        Receiver::new(self.socket.try_clone()?, self.address)
    }
}

/// The number of a network card with this name.
#[cfg(unix)]
pub(super) fn interface_index(name: &str) -> Option<u32> {
    let name = std::ffi::CString::new(name).ok()?;
    // SAFETY: it reads a text that ends in NUL.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index)
}

/// Windows has names for people, which no option can take.
#[cfg(not(unix))]
pub(super) fn interface_index(_name: &str) -> Option<u32> {
    None
}

fn local_address(socket: &Socket) -> io::Result<SocketAddr> {
    socket
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::Error::other("the socket has no address"))
}

fn bind(address: ListenAddress, options: &ListenOptions) -> io::Result<Socket> {
    match address {
        ListenAddress::One(address) => bind_to(address, true, options),
        // Elsewhere a socket for both cannot join groups of IPv4.
        ListenAddress::Any(port)
            if cfg!(not(target_os = "linux"))
                && options.groups.iter().any(|group| group.address.is_ipv4()) =>
        {
            bind_to(
                SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
                true,
                options,
            )
        }
        ListenAddress::Any(port) => {
            let all = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
            match bind_to(all, false, options) {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    // A machine without IPv6.
                    let ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
                    bind_to(ipv4, true, options)
                }
                bound => bound,
            }
        }
    }
}

fn bind_to(address: SocketAddr, one_family: bool, options: &ListenOptions) -> io::Result<Socket> {
    let socket = new_socket(address)?;
    if address.is_ipv6() {
        socket.set_only_v6(one_family)?;
    }
    if options.share {
        share_port(&socket)?;
    }
    socket.bind(&address.into())?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}

/// A socket for UDP of the family of an address.
pub(super) fn new_socket(address: SocketAddr) -> io::Result<Socket> {
    let family = Domain::for_address(address);
    Socket::new(family, Type::DGRAM, Some(Protocol::UDP))
}

/// Lets several sockets have the same port.
pub(super) fn share_port(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    // What systems other than Linux want for the same.
    #[cfg(all(unix, not(target_os = "linux")))]
    socket.set_reuse_port(true)?;
    Ok(())
}

/// No address in particular, of the family of another.
pub(super) fn unspecified(other: SocketAddr) -> IpAddr {
    match other {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Asks for a buffer of `wanted` bytes, and returns what was given.
fn enlarge_buffer(socket: &Socket, wanted: usize) -> io::Result<usize> {
    // More than the system can count would wrap to next to nothing.
    let wanted = wanted.min(LARGEST_BUFFER);
    // As root the system's limit does not bind.
    #[cfg(target_os = "linux")]
    let forced = linux::force_buffer(socket, wanted);
    #[cfg(not(target_os = "linux"))]
    let forced = false;
    if !forced {
        // Some systems refuse too much instead of giving what they can.
        let mut size = wanted;
        while socket.set_recv_buffer_size(size).is_err() && size > 1 << 16 {
            size /= 2;
        }
    }
    let given = socket.recv_buffer_size()?;
    // Linux counts its own bookkeeping twice over.
    Ok(match cfg!(target_os = "linux") {
        true => given / 2,
        false => given,
    })
}

fn explain(address: ListenAddress, error: io::Error) -> anyhow::Error {
    match error.kind() {
        // Windows says so of a port that another program has for itself.
        io::ErrorKind::PermissionDenied if cfg!(windows) => taken(address),
        io::ErrorKind::AddrInUse => taken(address),
        io::ErrorKind::PermissionDenied => anyhow!(
            "cannot listen at {address}: {error}. Ports below 1024 need more rights: choose another"
        ),
        io::ErrorKind::AddrNotAvailable => anyhow!(
            "cannot listen at {address}: this machine does not have the address; :{} listens at \
             all that it has",
            address.port()
        ),
        _ => anyhow!("cannot listen at {address}: {error}"),
    }
}

fn taken(address: ListenAddress) -> anyhow::Error {
    anyhow!(
        "cannot listen at {address}: another program has this port, and what a game sends to one \
         address reaches one program only. Either let simtel have the port and pass the traffic \
         on: set the other program to another port and add --forward 127.0.0.1:PORT; or have the \
         game or the other program send to another port, and --listen there; or, if the game sends \
         broadcast or multicast, use --share in both"
    )
}

/// A datagram as it came out of a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received<'a> {
    /// Nanoseconds since 1970 UTC, by the kernel where it says.
    pub time: i64,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub payload: &'a [u8],
    /// How many the system has dropped between the one before and this.
    pub lost_before: u64,
}

/// What a look at a socket has brought.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub count: usize,
    /// All that was stamped before this moment has been taken.
    pub until: i64,
}

/// Whether to wait for a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// For a moment.
    Patiently,
    Not,
}

/// IPv4 addresses as such, not inside those of IPv6.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for any in ["20777", ":20777", "*:20777"] {
            assert_eq!(any.parse(), Ok(ListenAddress::Any(20_777)));
        }
        for one in ["0.0.0.0:20777", "[::1]:20777", "127.0.0.1:0"] {
            let address = one.parse().expect("an address");
            assert_eq!(one.parse(), Ok(ListenAddress::One(address)));
        }
        for wrong in ["", ":", "x", "1.2.3.4", "70000", "1.2.3.4:70000", "::1"] {
            assert!(wrong.parse::<ListenAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn groups_must_be_multicast() {
        for group in [
            "239.1.2.3",
            "239.1.2.3@192.168.1.5",
            "ff02::1@2",
            "239.1.2.3@2",
        ] {
            assert!(group.parse::<Group>().is_ok(), "{group}");
        }
        for wrong in ["192.168.1.5", "239.1.2.3@eth", "ff02::1@192.168.1.5", "x"] {
            assert!(wrong.parse::<Group>().is_err(), "{wrong}");
        }
    }
}

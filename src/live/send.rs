//! Sockets that a replay sends from: one for each way that datagrams take,
//! connected, so that the answer of nobody listening arrives. What is due
//! together is sent together.

#[cfg(target_os = "linux")]
mod linux;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::str::FromStr;

use anyhow::{Context, bail};
use socket2::{Domain, Protocol, Socket, Type};

use super::feed::{Chunk, Item};
use super::udp::resolve;

/// More ways than any replay of real traffic has.
const MOST_ROUTES: usize = 10_000;

/// Where to send to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    address: IpAddr,
    /// That of each datagram if absent.
    port: Option<u16>,
}

impl Target {
    pub fn has_port(&self) -> bool {
        self.port.is_some()
    }
}

impl FromStr for Target {
    type Err = String;

    /// Reads `192.168.1.5`, `192.168.1.5:20777`, `[::1]:20777` or
    /// `localhost:20777`.
    fn from_str(text: &str) -> Result<Target, String> {
        if let Ok(address) = text.parse() {
            return Ok(Target {
                address,
                port: None,
            });
        }
        let has_port = text
            .rsplit_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let resolved = match has_port {
            true => resolve(text)?,
            false => resolve(&format!("{text}:0"))?,
        };
        Ok(Target {
            address: resolved.ip(),
            port: has_port.then_some(resolved.port()),
        })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.address, port).fmt(formatter),
            None => self.address.fmt(formatter),
        }
    }
}

/// How to send.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    pub targets: Vec<Target>,
    /// Another port for datagrams that were sent to the first.
    pub map_ports: Vec<(u16, u16)>,
    /// Whether to send from the port that each datagram came from.
    pub preserve_ports: bool,
    pub ttl: Option<u32>,
    /// The address of this machine to send from.
    pub interface: Option<IpAddr>,
}

/// What became of the datagrams for one target.
#[derive(Debug, Clone, Default)]
pub struct TargetCounts {
    pub sent: u64,
    /// Answers that nobody listens there.
    pub refused: u64,
    pub failed: u64,
    /// The last reason why one was not sent.
    pub error: Option<String>,
}

/// Sends datagrams to all targets.
pub(super) struct Sender {
    options: SendOptions,
    routes: HashMap<Route, usize>,
    sockets: Vec<UdpSocket>,
    pub counts: Vec<TargetCounts>,
    #[cfg(target_os = "linux")]
    burst: linux::Burst,
}

/// The way of a datagram: which target, to which port, from which port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Route {
    target: usize,
    port: u16,
    from: Option<u16>,
}

impl Sender {
    /// Opens the sockets that are known beforehand, so that a target without any
    /// way to it is known at once.
    ///
    /// # Errors
    /// If one cannot be opened.
    pub fn open(options: SendOptions) -> anyhow::Result<Sender> {
        let mut sender = Sender {
            counts: vec![TargetCounts::default(); options.targets.len()],
            options,
            routes: HashMap::new(),
            sockets: Vec::new(),
            #[cfg(target_os = "linux")]
            burst: linux::Burst::default(),
        };
        for target in 0..sender.options.targets.len() {
            if let Some(port) = sender.options.targets[target].port
                && !sender.options.preserve_ports
            {
                sender.socket(Route {
                    target,
                    port,
                    from: None,
                })?;
            }
        }
        Ok(sender)
    }

    /// Sends these datagrams of a chunk to each target, in order.
    ///
    /// # Errors
    /// If there is no way to a target. A datagram that cannot be sent is counted.
    pub fn send(&mut self, chunk: &Chunk, range: Range<usize>) -> anyhow::Result<()> {
        for target in 0..self.options.targets.len() {
            let mut at = range.start;
            while at < range.end {
                let route = self.route(target, &chunk.items[at]);
                let alike = chunk.items[at..range.end].iter();
                let alike = alike
                    .take_while(|item| self.route(target, item) == route)
                    .count();
                let socket = self.socket(route)?;
                self.send_alike(target, socket, chunk, at..at + alike);
                at += alike;
            }
        }
        Ok(())
    }

    fn route(&self, target: usize, item: &Item) -> Route {
        let to = item.destination.port();
        let mapped = self.options.map_ports.iter().find(|(from, _)| *from == to);
        let port = self.options.targets[target].port;
        Route {
            target,
            port: port.unwrap_or(mapped.map_or(to, |(_, port)| *port)),
            from: self.options.preserve_ports.then_some(item.source.port()),
        }
    }

    fn socket(&mut self, route: Route) -> anyhow::Result<usize> {
        if let Some(known) = self.routes.get(&route) {
            return Ok(*known);
        }
        if self.sockets.len() == MOST_ROUTES {
            bail!("the datagrams go to or come from more than {MOST_ROUTES} ports");
        }
        let target = SocketAddr::new(self.options.targets[route.target].address, route.port);
        let socket =
            connect(target, route.from, &self.options).with_context(|| match route.from {
                Some(port) => format!("cannot send to {target} from port {port}"),
                None => format!("cannot send to {target}"),
            })?;
        self.sockets.push(socket);
        self.routes.insert(route, self.sockets.len() - 1);
        Ok(self.sockets.len() - 1)
    }

    fn send_alike(&mut self, target: usize, socket: usize, chunk: &Chunk, range: Range<usize>) {
        let counts = &mut self.counts[target];
        let mut items = &chunk.items[range];
        // The answer to an earlier datagram keeps the next from being sent.
        let mut was_refused = false;
        while !items.is_empty() {
            #[cfg(target_os = "linux")]
            let result = self.burst.send(&self.sockets[socket], chunk, items);
            #[cfg(not(target_os = "linux"))]
            let result = self.sockets[socket]
                .send(chunk.payload(&items[0]))
                .map(|_| 1);
            match result {
                Ok(sent) => {
                    counts.sent += sent as u64;
                    items = &items[sent..];
                    was_refused = false;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_refusal(&error) && !was_refused => {
                    counts.refused += 1;
                    was_refused = true;
                }
                Err(error) => {
                    counts.failed += 1;
                    counts.error = Some(error.to_string());
                    items = &items[1..];
                    was_refused = false;
                }
            }
        }
    }

    /// Takes the answers that have come since the last datagrams.
    pub fn take_answers(&mut self) {
        for (route, socket) in &self.routes {
            if let Ok(Some(error)) = self.sockets[*socket].take_error()
                && is_refusal(&error)
            {
                self.counts[route.target].refused += 1;
            }
        }
    }
}

/// A connected socket, which unlike others learns that nobody listens; it sends
/// from this port, or from any.
pub(super) fn connect(
    target: SocketAddr,
    from: Option<u16>,
    options: &SendOptions,
) -> io::Result<UdpSocket> {
    let socket = Socket::new(
        Domain::for_address(target),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    let address = options.interface.unwrap_or(match target {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    });
    if from.is_some() {
        // Several ways begin at the same port.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&SocketAddr::new(address, from.unwrap_or(0)).into())?;
    match (target, address) {
        (SocketAddr::V4(_), IpAddr::V4(address)) => {
            socket.set_broadcast(true)?;
            if target.ip().is_multicast() && !address.is_unspecified() {
                socket.set_multicast_if_v4(&address)?;
            }
            if let Some(ttl) = options.ttl {
                socket.set_ttl_v4(ttl)?;
                socket.set_multicast_ttl_v4(ttl)?;
            }
        }
        _ => {
            if let Some(ttl) = options.ttl {
                socket.set_unicast_hops_v6(ttl)?;
                socket.set_multicast_hops_v6(ttl)?;
            }
        }
    }
    socket.connect(&target.into())?;
    Ok(socket.into())
}

/// Whether an error is the answer that nobody listens.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}

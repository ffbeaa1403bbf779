//! Sockets that a replay sends from: one for each way that datagrams take,
//! connected, so that the answer of nobody listening arrives. What is due
//! together is sent together.

#[cfg(target_os = "linux")]
mod linux;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};

use super::feed::{Chunk, Item};
use super::udp::{interface_index, new_socket, resolve, share_port, unspecified};

/// How often a datagram is tried again.
const MOST_ATTEMPTS: usize = 100;
/// More ways than any replay of real traffic has.
const MOST_ROUTES: usize = 10_000;

/// Where to send to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// With port 0 if each datagram has its own.
    address: SocketAddr,
}

impl Target {
    pub fn has_port(&self) -> bool {
        self.address.port() != 0
    }
}

impl FromStr for Target {
    type Err = String;

    /// Reads `192.168.1.5`, `192.168.1.5:20777`, `[::1]:20777`, `localhost:20777`,
    /// `[fe80::1%eth0]:20777`, or `:20777` for this machine.
    fn from_str(text: &str) -> Result<Target, String> {
        let address = match (text.parse::<IpAddr>(), text.strip_prefix(':')) {
            (Ok(address), _) => SocketAddr::new(address, 0),
            (_, Some(port)) => resolve(&format!("127.0.0.1:{port}"))?,
            // With brackets around it only if there is a port.
            _ if text.matches(':').count() > 1 && !text.starts_with('[') => {
                resolve(&format!("[{text}]:0"))?
            }
            _ if text.contains(':') && !text.ends_with(']') => {
                let address = resolve(text)?;
                if address.port() == 0 {
                    return Err("port 0 is none".into());
                }
                address
            }
            _ => resolve(&format!("{text}:0"))?,
        };
        Ok(Target { address })
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.has_port() {
            true => self.address.fmt(formatter),
            false => self.address.ip().fmt(formatter),
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
    pub interface: Option<SendInterface>,
}

/// What to send from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendInterface {
    /// An address of this machine.
    Address(IpAddr),
    /// A network card, by name and number.
    Card(String, u32),
}

impl FromStr for SendInterface {
    type Err = String;

    fn from_str(text: &str) -> Result<SendInterface, String> {
        if let Ok(address) = text.parse() {
            return Ok(SendInterface::Address(address));
        }
        match interface_index(text) {
            Some(index) => Ok(SendInterface::Card(text.into(), index)),
            None => Err(format!(
                "{text} is neither an address nor a network card of this machine"
            )),
        }
    }
}

/// What became of the datagrams for one target.
#[derive(Debug, Clone, Default)]
pub struct TargetCounts {
    pub sent: u64,
    /// Answers that nobody listens there.
    pub refused: u64,
    /// Answers that it cannot be reached.
    pub unreachable: u64,
    pub failed: u64,
    /// The last reason why one was not sent, or did not arrive.
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
        allow_many_sockets();
        let mut sender = Sender {
            counts: vec![TargetCounts::default(); options.targets.len()],
            options,
            routes: HashMap::new(),
            sockets: Vec::new(),
            #[cfg(target_os = "linux")]
            burst: linux::Burst::default(),
        };
        for target in 0..sender.options.targets.len() {
            let address = sender.options.targets[target].address;
            if address.port() != 0 && !sender.options.preserve_ports {
                let port = address.port();
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
        let port = match self.options.targets[target].address.port() {
            0 => mapped.map_or(to, |(_, port)| *port),
            port => port,
        };
        Route {
            target,
            port,
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
        let mut target = self.options.targets[route.target].address;
        target.set_port(route.port);
        let socket =
            connect(target, route.from, &self.options).with_context(|| match route.from {
                Some(port) => format!("cannot send to {target} from port {port}"),
                None => format!("cannot send to {target}"),
            })?;
        #[cfg(target_os = "linux")]
        linux::keep_answers(&socket)?;
        self.sockets.push(socket);
        self.routes.insert(route, self.sockets.len() - 1);
        Ok(self.sockets.len() - 1)
    }

    fn send_alike(&mut self, target: usize, socket: usize, chunk: &Chunk, range: Range<usize>) {
        let counts = &mut self.counts[target];
        let socket = &self.sockets[socket];
        let mut items = &chunk.items[range];
        let mut attempts = 0;
        while !items.is_empty() {
            #[cfg(target_os = "linux")]
            let result = self.burst.send(socket, chunk, items);
            #[cfg(not(target_os = "linux"))]
            let result = socket.send(chunk.payload(&items[0])).map(|_| 1);
            // An answer ends a burst early, or keeps it from beginning.
            let is_whole = result.as_ref().is_ok_and(|sent| *sent == items.len());
            let answers = !is_whole && note_answers(socket, result.as_ref().err(), counts);
            match result {
                Ok(sent) => {
                    counts.sent += sent as u64;
                    items = &items[sent..];
                    attempts = 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The answer to an earlier datagram has kept this one from being
                // sent.
                Err(_) if answers && attempts < MOST_ATTEMPTS => attempts += 1,
                Err(error) if has_no_room(&error) && attempts < MOST_ATTEMPTS => {
                    std::thread::sleep(Duration::from_micros(200));
                    attempts += 1;
                }
                Err(error) => {
                    counts.failed += 1;
                    counts.error = Some(error.to_string());
                    items = &items[1..];
                    attempts = 0;
                }
            }
        }
    }

    /// Takes the answers that have come since the last datagrams.
    pub fn take_answers(&mut self) {
        for (route, socket) in &self.routes {
            let socket = &self.sockets[*socket];
            let pending = socket.take_error().ok().flatten();
            note_answers(socket, pending.as_ref(), &mut self.counts[route.target]);
        }
    }
}

/// Counts what other systems have answered; whether there was anything.
#[cfg(target_os = "linux")]
fn note_answers(socket: &UdpSocket, _error: Option<&io::Error>, counts: &mut TargetCounts) -> bool {
    let mut any = false;
    while let Some(error) = linux::next_answer(socket) {
        any = true;
        note_answer(&error, counts);
    }
    any
}

/// Likewise, where the only answer is the error of the next call.
#[cfg(not(target_os = "linux"))]
fn note_answers(_socket: &UdpSocket, error: Option<&io::Error>, counts: &mut TargetCounts) -> bool {
    let answer = error.filter(|error| is_refusal(error) || is_unreachable(error));
    if let Some(answer) = answer {
        note_answer(answer, counts);
    }
    answer.is_some()
}

fn note_answer(answer: &io::Error, counts: &mut TargetCounts) {
    match is_refusal(answer) {
        true => counts.refused += 1,
        false => {
            counts.unreachable += 1;
            counts.error = Some(answer.to_string());
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable
    )
}

/// Whether the way out is full, which soon passes.
fn has_no_room(error: &io::Error) -> bool {
    #[cfg(unix)]
    let no_room = error.raw_os_error() == Some(libc::ENOBUFS);
    #[cfg(not(unix))]
    let no_room = false;
    no_room || error.kind() == io::ErrorKind::WouldBlock
}

/// A connected socket, which unlike others learns that nobody listens; it sends
/// from this port, or from any.
pub(super) fn connect(
    target: SocketAddr,
    from: Option<u16>,
    options: &SendOptions,
) -> io::Result<UdpSocket> {
    let socket = new_socket(target)?;
    let address = match options.interface {
        Some(SendInterface::Address(address)) => address,
        _ => unspecified(target),
    };
    if from.is_some() {
        // Several ways begin at the same port.
        share_port(&socket)?;
    }
    // What a network card of its own has needs its number.
    let scope = match target {
        SocketAddr::V6(target) => target.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    let own = match address {
        IpAddr::V6(address) => SocketAddrV6::new(address, from.unwrap_or(0), 0, scope).into(),
        IpAddr::V4(_) => SocketAddr::new(address, from.unwrap_or(0)),
    };
    socket.bind(&own.into())?;
    if let Some(SendInterface::Card(_name, index)) = &options.interface {
        #[cfg(target_os = "linux")]
        socket.bind_device(Some(_name.as_bytes()))?;
        if target.is_ipv6() {
            socket.set_multicast_if_v6(*index)?;
        }
    }
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
            if scope != 0 {
                socket.set_multicast_if_v6(scope)?;
            }
            if let Some(ttl) = options.ttl {
                socket.set_unicast_hops_v6(ttl)?;
                socket.set_multicast_hops_v6(ttl)?;
            }
        }
    }
    socket.connect(&target.into())?;
    let socket = UdpSocket::from(socket);
    if socket.local_addr()? == target {
        let what = "the sender has the same address and port: its datagrams would come back to it";
        return Err(io::Error::other(what));
    }
    Ok(socket)
}

/// Each port may need a socket, and systems allow few unless asked.
fn allow_many_sockets() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        // Without it, those that there are may still do.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        );
    }
}

/// Whether an error is the answer that nobody listens.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
    )
}

//! Recordings under way, as tests of every source drive them.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::Workplace;

/// Long enough for any machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A recording under way, with `--json`.
pub struct Recording {
    pub child: Child,
    pub events: Receiver<Value>,
    pub seen: Vec<Value>,
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
}

/// What a recording has come to.
pub struct Done {
    pub code: Option<i32>,
    pub report: Value,
    pub events: Vec<Value>,
}

impl Recording {
    /// Starts `simtel record` and waits until it listens.
    pub fn start(place: &Workplace, arguments: &[&str]) -> Recording {
        let mut all = vec!["record"];
        all.extend(arguments);
        all.push("--json");
        let child = place
            .command(&all)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("simtel runs");
        let stderr = BufReader::new(child.stderr.take().expect("standard error"));
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line);
                let event = event.unwrap_or_else(|_| panic!("not JSON: {line}"));
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let mut recording = Recording {
            child,
            events,
            seen: Vec::new(),
            addresses: Vec::new(),
        };
        let start = recording.wait_for(|event| event["event"] == "start");
        // A recording of ticks has none.
        let listeners = start["listeners"].as_array().into_iter().flatten();
        recording.addresses = listeners
            .map(|address| {
                let address = address.as_str().expect("an address");
                let address = address.replace("*:", "127.0.0.1:");
                address.parse().expect("an address")
            })
            .collect();
        recording
    }

    /// Starts `simtel record udp` at one address.
    pub fn udp(place: &Workplace, output: &str, arguments: &[&str]) -> Recording {
        let mut all = vec!["udp", "--listen", "127.0.0.1:0", "-o", output];
        all.extend(arguments);
        Recording::start(place, &all)
    }

    /// Sends a datagram of so many bytes with this number to the first address.
    pub fn send(&self, socket: &UdpSocket, number: u64, length: usize) {
        let sent = socket.send_to(&numbered(number, length), self.address());
        assert_eq!(sent.expect("sent"), length);
    }

    /// The first event from now on that is so.
    pub fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.events.recv_timeout(PATIENCE).unwrap_or_else(|_| {
                let code = self.child.try_wait();
                let last = self.seen.last();
                panic!("no such event; ended: {code:?}; the last one: {last:?}")
            });
            self.seen.push(event.clone());
            if is_it(&event) {
                return event;
            }
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    pub fn signal(&self, signal: &str) {
        signal_to(self.child.id(), signal);
    }

    /// Waits for its end.
    pub fn done(mut self) -> Done {
        let mut stdout = Vec::new();
        let mut pipe = self.child.stdout.take().expect("standard output");
        pipe.read_to_end(&mut stdout).expect("a readable pipe");
        let status = self.child.wait().expect("an end");
        self.seen.extend(self.events.iter());
        Done {
            code: status.code(),
            report: serde_json::from_slice(&stdout).unwrap_or(Value::Null),
            events: self.seen,
        }
    }

    /// Interrupts it once it has received so many datagrams or lost them.
    pub fn stop_after(mut self, datagrams: u64) -> Done {
        self.wait_for(|event| {
            let listeners = event["listeners"].as_array().into_iter().flatten();
            let received = listeners.map(|listener| listener["received"].as_u64().unwrap_or(0));
            received.sum::<u64>() + event["dropped"].as_u64().unwrap_or(0) >= datagrams
        });
        self.signal("-INT");
        self.done()
    }
}

impl Done {
    pub fn warnings(&self) -> String {
        let texts = self
            .events
            .iter()
            .filter_map(|event| event["message"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    pub fn number(&self, name: &str) -> u64 {
        self.report[name]
            .as_u64()
            .unwrap_or_else(|| panic!("no {name}: {}", self.report))
    }
}

/// A payload that tells its number.
pub fn numbered(number: u64, length: usize) -> Vec<u8> {
    let mut payload = vec![0xA5; length.max(8)];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    payload
}

/// Sends a signal to a process.
pub fn signal_to(process: u32, signal: &str) {
    let status = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(status.expect("kill runs").success());
}

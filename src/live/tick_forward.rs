//! Passing ticks on to other programs as datagrams, at once.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::feed::{LONGEST_PAYLOAD, TickEncoding};
use super::forward::{ForwardCounts, ForwardReport, Forwarder};
use super::tick_object::{self, TickObject};
use crate::capture::Variable;
use crate::lock::lock;

/// Where ticks go to, and what became of them.
pub(super) struct TickForwards {
    targets: Vec<SocketAddr>,
    encoding: TickEncoding,
    counts: Vec<ForwardCounts>,
    /// Why they are not passed on.
    problem: Mutex<Option<String>>,
}

/// The way there, of the thread that reads.
pub(super) struct TickForwarder<'a> {
    shared: &'a TickForwards,
    forwarders: Vec<Forwarder<'a>>,
    variables: Vec<Variable>,
    text: Vec<u8>,
}

impl TickForwards {
    pub fn new(targets: &[SocketAddr], encoding: &TickEncoding) -> TickForwards {
        TickForwards {
            targets: targets.to_vec(),
            encoding: encoding.clone(),
            counts: targets.iter().map(|_| ForwardCounts::default()).collect(),
            problem: Mutex::new(None),
        }
    }

    pub fn forwarder(&self) -> TickForwarder<'_> {
        let targets = self.targets.iter().zip(&self.counts);
        TickForwarder {
            shared: self,
            forwarders: targets
                .map(|(target, counts)| Forwarder::new(*target, counts))
                .collect(),
            variables: Vec::new(),
            text: Vec::new(),
        }
    }

    pub fn report(&self) -> Vec<ForwardReport> {
        let targets = self.targets.iter().zip(&self.counts);
        targets
            .map(|(target, counts)| counts.report(*target))
            .collect()
    }

    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }
}

impl TickForwarder<'_> {
    /// Ticks have these variables from now on.
    pub fn start(&mut self, variables: &[Variable]) {
        let TickEncoding::Json { columns } = &self.shared.encoding else {
            return;
        };
        if self.forwarders.is_empty() {
            return;
        }
        let (chosen, unknown) = tick_object::choose(variables, columns);
        self.variables = chosen;
        // The recording goes on: another car may have it.
        *lock(&self.shared.problem) =
            unknown.map(|pattern| format!("the simulator has no variable {pattern}"));
    }

    pub fn send(&mut self, record: &[u8]) {
        if self.forwarders.is_empty() {
            return;
        }
        let payload = match &self.shared.encoding {
            TickEncoding::Raw => record,
            // There is nothing to say of it.
            TickEncoding::Json { .. } if self.variables.is_empty() => return,
            TickEncoding::Json { .. } => {
                self.text.clear();
                let object = TickObject {
                    variables: &self.variables,
                    record,
                };
                // Writing to memory does not fail.
                serde_json::to_writer(&mut self.text, &object).ok();
                &self.text
            }
        };
        if payload.len() > LONGEST_PAYLOAD {
            lock(&self.shared.problem).get_or_insert_with(|| {
                format!(
                    "a tick takes {} bytes, and a datagram holds {LONGEST_PAYLOAD}: pass chosen \
                     variables on with --encode json --columns",
                    payload.len()
                )
            });
            for counts in &self.shared.counts {
                counts.failed.fetch_add(1, Ordering::Relaxed);
            }
            return;
        }
        for forwarder in &mut self.forwarders {
            forwarder.send(payload);
        }
    }
}

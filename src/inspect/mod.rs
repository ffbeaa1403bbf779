//! What is in a capture, without decoding it: who sent what how often, which
//! sessions there are and what they were, what is damaged. One pass that looks
//! at the head of each datagram, and into those that tell of a session. How it
//! is shown is the CLI's affair.

mod ahead;
mod flows;
mod laps;
mod sessions;
mod ticks;
mod timeline;

pub use flows::Flow;
pub use laps::Laps;
pub use sessions::{AboutSession, BestLap, Driver, Session};
pub use timeline::Timeline;

use crate::capture::{Capture, CaptureError, Container, Datagram, Packing, TickFile};
use crate::decode::{CaptureReport, Streams, Tally};
use crate::formats::{Formats, Recognised, iracing};
use flows::Flows;
use sessions::{Seen, Sessions};

/// What is in one input.
#[derive(Debug)]
pub struct Inspection {
    pub contents: Contents,
    /// Its counts by packet, what was not recognised, what is damaged.
    pub report: CaptureReport,
    /// In the order of their beginning.
    pub sessions: Vec<Session>,
    /// Datagrams of more sessions.
    pub more_sessions: u64,
}

#[derive(Debug)]
pub enum Contents {
    Datagrams(Datagrams),
    Ticks(Ticks),
}

/// What is particular to a capture of datagrams.
#[derive(Debug)]
pub struct Datagrams {
    pub container: Container,
    /// All datagrams.
    pub tally: Tally,
    pub flows: Vec<Flow>,
    /// Datagrams between pairs beyond those.
    pub more_flows: u64,
}

/// What is particular to a recording of ticks.
#[derive(Debug)]
pub struct Ticks {
    pub packing: Option<Packing>,
    pub version: i32,
    /// Whether it is a copy of a running simulator's memory.
    pub is_live: bool,
    /// Ticks a second, as the header says.
    pub tick_rate: i32,
    pub record_length: usize,
    pub ticks: usize,
    pub variables: usize,
    /// Variables with more than one value, and those of them whose values are
    /// moments within the tick.
    pub arrays: usize,
    pub sub_tick_arrays: usize,
    /// Bytes of the session string.
    pub session_string: usize,
    /// Seconds since 1970 UTC.
    pub start_date: Option<i64>,
    /// First and last time, if the ticks have any, in nanoseconds since 1970 UTC.
    pub span: Option<(i64, i64)>,
}

impl Inspection {
    /// Earliest and latest time in nanoseconds since 1970 UTC.
    pub fn span(&self) -> Option<(i64, i64)> {
        match &self.contents {
            Contents::Datagrams(_) => self.report.counts.span,
            Contents::Ticks(ticks) => ticks.span,
        }
    }

    /// The names of the formats that a flow had datagrams of.
    pub fn formats_of(&self, flow: &Flow) -> Vec<&str> {
        let seen = self.report.packets.iter();
        let mut names: Vec<&str> = seen
            .filter(|((format, _), _)| flow.formats.contains(format))
            .map(|(_, seen)| seen.format.as_str())
            .collect();
        names.dedup();
        names
    }

    /// Datagrams of known games, or ticks.
    pub fn recognised(&self) -> u64 {
        match &self.contents {
            Contents::Datagrams(_) => self.report.decoded_datagrams(),
            Contents::Ticks(ticks) => ticks.ticks as u64,
        }
    }

    /// Datagrams or ticks.
    pub fn records(&self) -> u64 {
        match &self.contents {
            Contents::Datagrams(_) => self.report.counts.datagrams,
            Contents::Ticks(ticks) => ticks.ticks as u64,
        }
    }
}

/// Looks through a capture of datagrams to its end. `progress` is told the
/// position in the file now and then.
///
/// # Errors
/// If reading fails.
pub fn datagrams(
    name: &str,
    capture: Capture,
    formats: &Formats,
    progress: &dyn Fn(u64),
) -> Result<Inspection, CaptureError> {
    let mut report = CaptureReport::new(name, capture.size());
    let mut tally = Tally::default();
    let mut flows = Flows::default();
    let mut streams = Streams::default();
    let mut sessions = Sessions::default();
    let find = |datagram: &Datagram<'_>| {
        let (time, bytes) = (datagram.time, datagram.payload.len());
        tally.see(time, bytes);
        let flow = flows.see(datagram.source, datagram.destination, time, bytes);
        let recognised = formats.recognise(datagram.payload, datagram.destination.port());
        if let (Some(flow), Recognised::Packet { layout, .. }) = (flow, recognised) {
            flow.note_format(layout);
        }
        recognised
    };
    let look = |datagram: &Datagram<'_>, recognised| {
        let Some((number, packet)) = report.take(formats, datagram, recognised, false) else {
            return;
        };
        let (time, payload) = (datagram.time, datagram.payload);
        let layout = &formats.layouts()[number];
        report
            .tally(number, layout, packet)
            .see(time, payload.len());
        let sender = datagram.source.ip();
        let given = formats.games_of(number);
        let games = streams.note((number, layout), sender, payload, datagram.offset, given);
        sessions.see(&Seen {
            layout,
            packet,
            sender: (number, sender),
            time,
            payload,
            games,
        });
    };
    let capture = ahead::read(capture, find, look, progress)?;
    report.finish(&capture, streams);
    Ok(Inspection {
        contents: Contents::Datagrams(Datagrams {
            container: capture.container(),
            tally,
            flows: flows.list,
            more_flows: flows.more,
        }),
        report,
        more_sessions: sessions.more,
        sessions: sessions.finish(),
    })
}

/// Looks through a recording of ticks to its end.
pub fn ticks(name: &str, ticks: &TickFile) -> Inspection {
    let mut report = CaptureReport::new(name, ticks.size());
    report.see_ticks(ticks);
    let session = iracing::Session::read(ticks.session());
    report.note_odd_lines(&session);
    let sessions = ticks::sessions(ticks, &session);
    let spans = sessions.iter().filter_map(|session| session.span);
    let span = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let schema = ticks.schema();
    let arrays = || {
        schema
            .variables
            .iter()
            .filter(|variable| variable.count > 1)
    };
    Inspection {
        contents: Contents::Ticks(Ticks {
            packing: ticks.packing(),
            version: schema.version,
            is_live: ticks.is_live(),
            tick_rate: schema.tick_rate,
            record_length: schema.record_length,
            ticks: ticks.count(),
            variables: schema.variables.len(),
            arrays: arrays().count(),
            sub_tick_arrays: arrays().filter(|variable| variable.counts_as_time).count(),
            session_string: ticks.session().len(),
            start_date: ticks.start_date(),
            span,
        }),
        report,
        sessions,
        more_sessions: 0,
    }
}

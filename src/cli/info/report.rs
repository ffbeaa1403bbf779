//! What is in one capture, for people.

use std::fmt::Write as _;
use std::net::SocketAddr;

use super::session;
use super::words::{Lines, length, moment, span};
use crate::capture::{Framing, InterfaceDetails, Packing};
use crate::cli::columns::{Columns, Side};
use crate::cli::messages::{DIM, PLAIN, STRONG, WARNING};
use crate::cli::values;
use crate::decode::Tally;
use crate::inspect::{Contents, Datagrams, Flow, Inspection, Ticks};
use crate::text::printable;

/// Without --verbose, as many of each are shown.
const FLOWS_SHOWN: usize = 12;
const SESSIONS_SHOWN: usize = 20;
const FLAWS_SHOWN: usize = 20;

pub(super) fn text(inspection: &Inspection, is_verbose: bool) -> String {
    let shown = |most: usize| if is_verbose { usize::MAX } else { most };
    let report = &inspection.report;
    let mut text = format!("{STRONG}{}{STRONG:#}", printable(&report.name));
    if let Some(size) = report.size {
        let _ = write!(text, "  {}", values::bytes(size));
    }
    text.push('\n');
    let mut lines = Lines::new();
    match &inspection.contents {
        Contents::Datagrams(datagrams) => {
            container(&mut lines, datagrams, shown(FLOWS_SHOWN));
            times(&mut lines, inspection);
            packets(&mut lines, inspection, datagrams);
            text.push_str(&lines.text());
            flows(&mut text, inspection, datagrams, shown(FLOWS_SHOWN));
            by_packet(&mut text, inspection);
        }
        Contents::Ticks(ticks) => {
            recording(&mut lines, ticks);
            times(&mut lines, inspection);
            text.push_str(&lines.text());
        }
    }
    for session in inspection.sessions.iter().take(shown(SESSIONS_SHOWN)) {
        text.push_str(&session::text(session, is_verbose));
    }
    let hidden = inspection
        .sessions
        .len()
        .saturating_sub(shown(SESSIONS_SHOWN));
    if hidden > 0 {
        let _ = writeln!(
            text,
            "\n{DIM}and {hidden} more sessions; --verbose shows them{DIM:#}"
        );
    }
    if inspection.more_sessions > 0 {
        let more = values::count(inspection.more_sessions);
        let _ = writeln!(text, "\n{DIM}and {more} datagrams of more sessions{DIM:#}");
    }
    flaws(&mut text, inspection, shown(FLAWS_SHOWN));
    text.push('\n');
    text
}

fn container(lines: &mut Lines, datagrams: &Datagrams, shown: usize) {
    let container = &datagrams.container;
    let packed = packed(container.packing);
    match &container.framing {
        Framing::Pcap(pcap) => lines.say(
            "container",
            format!(
                "pcap {}.{}{packed}, {}, {}-endian, link {}{}",
                pcap.version.0,
                pcap.version.1,
                resolution(pcap.resolution),
                endian(pcap.is_big_endian),
                pcap.link,
                snap(pcap.snap_length)
            ),
        ),
        Framing::PcapNg(pcapng) => {
            let sections = match pcapng.sections {
                0 | 1 => String::new(),
                sections => format!(", {} sections", values::count(sections)),
            };
            lines.say(
                "container",
                format!(
                    "pcapng{packed}, {}-endian{sections}",
                    endian(pcapng.is_big_endian)
                ),
            );
            let said = [
                ("written by", &pcapng.application),
                ("on", &pcapng.system),
                ("hardware", &pcapng.hardware),
                ("comment", &pcapng.comment),
            ];
            for (label, said) in said {
                if let Some(said) = said {
                    lines.say(label, said);
                }
            }
            for interface in pcapng.interfaces.iter().take(shown) {
                lines.say("interface", self::interface(interface));
            }
            let hidden = pcapng.interfaces.len().saturating_sub(shown) as u64;
            if hidden + pcapng.more_interfaces > 0 {
                let more = values::count(hidden + pcapng.more_interfaces);
                lines.say("", format!("and {more} more interfaces"));
            }
        }
    }
}

fn interface(interface: &InterfaceDetails) -> String {
    let mut text = match &interface.name {
        Some(name) => format!("{name}, "),
        None => String::new(),
    };
    let _ = write!(
        text,
        "{}, link {}{}",
        resolution(interface.resolution),
        interface.link,
        snap(interface.snap_length)
    );
    if let Some(received) = interface.received {
        let _ = write!(text, ", {} packets came", values::count(received));
    }
    match interface.dropped {
        Some(0) => text.push_str(", none was lost"),
        Some(dropped) => {
            let _ = write!(text, ", {} were lost", values::count(dropped));
        }
        None => {}
    }
    text
}

fn packed(packing: Option<Packing>) -> String {
    packing.map_or(String::new(), |packing| {
        format!(", compressed with {}", packing.name())
    })
}

fn endian(is_big: bool) -> &'static str {
    if is_big { "big" } else { "little" }
}

fn resolution(nanoseconds: u64) -> String {
    match nanoseconds {
        1 => "nanoseconds".into(),
        1_000 => "microseconds".into(),
        1_000_000 => "milliseconds".into(),
        1_000_000_000 => "seconds".into(),
        other => format!("time steps of {} ns", values::count(other)),
    }
}

fn snap(length: u32) -> String {
    match length {
        0 => String::new(),
        length => format!(", packets up to {} bytes", values::count(length.into())),
    }
}

fn recording(lines: &mut Lines, ticks: &Ticks) {
    let packed = packed(ticks.packing);
    let kind = match ticks.is_live {
        true => "copy of iRacing's memory",
        false => "iRacing telemetry (.ibt)",
    };
    lines.say(
        "container",
        format!("{kind}, version {}{}", ticks.version, packed),
    );
    lines.say(
        "ticks",
        format!(
            "{} of {} bytes, {} a second",
            values::count(ticks.ticks as u64),
            values::count(ticks.record_length as u64),
            ticks.tick_rate
        ),
    );
    let arrays = match (ticks.arrays, ticks.sub_tick_arrays) {
        (0, _) => "none of them an array".into(),
        (arrays, 0) => format!("{arrays} of them arrays"),
        (arrays, sub_ticks) => format!("{arrays} of them arrays, {sub_ticks} within the tick"),
    };
    lines.say(
        "variables",
        format!("{}, {arrays}", values::count(ticks.variables as u64)),
    );
    lines.say("session string", values::bytes(ticks.session_string as u64));
    if let Some(date) = ticks.start_date {
        lines.say(
            "session start",
            format!("{} UTC", moment(date.saturating_mul(1_000_000_000), true)),
        );
    }
}

fn times(lines: &mut Lines, inspection: &Inspection) {
    let Some((first, last)) = inspection.span() else {
        return lines.say("time", "none is given");
    };
    lines.say("time", span(first, last));
    let backwards = inspection.report.counts.backwards;
    if backwards > 0 {
        lines.say(
            "order",
            format!(
                "{} packets are earlier than the one before",
                values::count(backwards)
            ),
        );
    }
}

fn packets(lines: &mut Lines, inspection: &Inspection, datagrams: &Datagrams) {
    let counts = &inspection.report.counts;
    let others = counts.packets - counts.datagrams.min(counts.packets);
    let what = match others {
        _ if counts.packets == 0 => String::new(),
        0 => ", all of them UDP datagrams".to_string(),
        _ => format!(
            ", {} of them UDP datagrams",
            values::count(counts.datagrams)
        ),
    };
    lines.say(
        "packets",
        format!("{}{what}", values::count(counts.packets)),
    );
    if counts.datagrams > 0 {
        let Tally { bytes, .. } = datagrams.tally;
        lines.say(
            "datagrams",
            format!(
                "{} of payload{}",
                values::bytes(bytes),
                pace(&datagrams.tally, inspection)
            ),
        );
    }
}

/// Rate and largest gap.
fn pace(tally: &Tally, inspection: &Inspection) -> String {
    let mut text = String::new();
    if let Some(rate) = tally.per_second() {
        let _ = write!(text, ", {}", self::rate(rate));
    }
    if let Some((gap, at)) = tally.largest_gap {
        let start = inspection.span().map_or(0, |(first, _)| first);
        let _ = write!(
            text,
            ", largest gap {} at {}",
            self::gap(gap),
            length(at.saturating_sub(start))
        );
    }
    text
}

fn rate(per_second: f64) -> String {
    match per_second {
        0.0..1.0 => format!("{per_second:.2}/s"),
        1.0..100.0 => format!("{per_second:.1}/s"),
        _ => format!("{}/s", values::count(per_second.round() as u64)),
    }
}

fn gap(nanoseconds: i64) -> String {
    match u64::try_from(nanoseconds) {
        Ok(short @ ..60_000_000_000) => values::precise(short),
        _ => length(nanoseconds),
    }
}

const TALLY_SIDES: [Side; 4] = [Side::Right; 4];
const TALLY_HEADS: [&str; 4] = ["datagrams", "payload", "rate", "largest gap"];

fn tally_cells(tally: &Tally) -> [String; 4] {
    [
        values::count(tally.datagrams),
        values::bytes(tally.bytes),
        tally.per_second().map_or(String::new(), rate),
        tally
            .largest_gap
            .map_or(String::new(), |(gap, _)| self::gap(gap)),
    ]
}

fn flows(text: &mut String, inspection: &Inspection, datagrams: &Datagrams, shown: usize) {
    if datagrams.flows.is_empty() {
        return;
    }
    let [a, b, c, d] = TALLY_SIDES;
    let mut columns = Columns::new(&[Side::Left, Side::Left, a, b, c, d, Side::Left]);
    let [a, b, c, d] = TALLY_HEADS.map(String::from);
    columns.add(
        DIM,
        ["from".into(), "to".into(), a, b, c, d, "formats".into()],
    );
    let mut flows: Vec<&Flow> = datagrams.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.tally.datagrams));
    let address = |address: SocketAddr| address.to_string();
    for flow in flows.iter().take(shown) {
        let [a, b, c, d] = tally_cells(&flow.tally);
        let formats = inspection.formats_of(flow).join(", ");
        columns.add(
            PLAIN,
            [
                address(flow.source),
                address(flow.destination),
                a,
                b,
                c,
                d,
                formats,
            ],
        );
    }
    let _ = write!(text, "\n{}", columns.text("  "));
    let hidden = flows.len().saturating_sub(shown);
    if hidden > 0 {
        let _ = writeln!(
            text,
            "  {DIM}and {hidden} more; --verbose shows them{DIM:#}"
        );
    }
    if datagrams.more_flows > 0 {
        let more = values::count(datagrams.more_flows);
        let _ = writeln!(text, "  {DIM}and {more} datagrams between others{DIM:#}");
    }
}

fn by_packet(text: &mut String, inspection: &Inspection) {
    let report = &inspection.report;
    if report.packets.is_empty() {
        return;
    }
    let [a, b, c, d] = TALLY_SIDES;
    let mut columns = Columns::new(&[Side::Left, Side::Left, a, b, c, d]);
    let [a, b, c, d] = TALLY_HEADS.map(String::from);
    columns.add(DIM, ["format".into(), "packet".into(), a, b, c, d]);
    let mut before = "";
    for seen in report.packets.values() {
        let format = if seen.format == before {
            ""
        } else {
            &seen.format
        };
        before = &seen.format;
        let [a, b, c, d] = tally_cells(&seen.tally);
        columns.add(PLAIN, [format.into(), seen.packet.clone(), a, b, c, d]);
    }
    let _ = write!(text, "\n{}", columns.text("  "));
}

fn flaws(text: &mut String, inspection: &Inspection, shown: usize) {
    let report = &inspection.report;
    let flaws = super::flaws(inspection);
    if !flaws.is_empty() {
        text.push('\n');
    }
    for flaw in flaws.iter().take(shown) {
        let _ = writeln!(text, "{WARNING}flaw:{WARNING:#} {}", printable(flaw));
    }
    if flaws.len() > shown {
        let more = flaws.len() - shown;
        let _ = writeln!(
            text,
            "{WARNING}flaw:{WARNING:#} {more} more; --verbose shows them"
        );
    }
    for note in &report.notes {
        let _ = writeln!(text, "{DIM}note:{DIM:#} {}", printable(note));
    }
    if report.more_notes > 0 {
        let _ = writeln!(text, "{DIM}note:{DIM:#} {} more notes", report.more_notes);
    }
}

//! What is in a capture, for programs. The shape is described in docs/info.md.

use serde_json::{Map, Value, json};

use super::Looked;
use crate::capture::{Framing, InterfaceDetails, PcapDetails, PcapNgDetails};
use crate::cli::capture_json::{self, moment, seconds};
use crate::inspect::{Contents, Datagrams, Driver, Flow, Inspection, Session, Ticks};
use crate::layout::Told;

pub(super) fn object(looked: &Looked) -> Value {
    let mut object = match &looked.found {
        Ok(inspection) => found(inspection),
        Err(error) => json!({ "name": looked.name, "error": format!("{error:#}") }),
    };
    object["schema_version"] = 1.into();
    object["simtel"] = env!("CARGO_PKG_VERSION").into();
    object["command"] = "info".into();
    object["flawed"] = looked.is_flawed().into();
    object
}

fn found(inspection: &Inspection) -> Value {
    let report = &inspection.report;
    let mut object = capture_json::capture(report);
    let span = inspection.span();
    object["first_time"] = span.map(|(first, _)| moment(first)).into();
    object["last_time"] = span.map(|(_, last)| moment(last)).into();
    object["seconds"] = span
        .map(|(first, last)| seconds(last.saturating_sub(first)))
        .into();
    object["decoded"] = inspection.recognised().into();
    object["backwards"] = report.counts.backwards.into();
    object["flaws"] = super::flaws(inspection).into();
    match &inspection.contents {
        Contents::Datagrams(datagrams) => {
            object["container"] = container(datagrams);
            object["all"] = capture_json::tally(&datagrams.tally);
            object["flows"] = flows(inspection, datagrams);
            object["more_flows"] = datagrams.more_flows.into();
        }
        Contents::Ticks(ticks) => {
            object["container"] = recording(ticks);
            object["ticks"] = ticks.ticks.into();
        }
    }
    let sessions = inspection.sessions.iter().map(session);
    object["sessions"] = sessions.collect::<Vec<_>>().into();
    object["datagrams_of_more_sessions"] = inspection.more_sessions.into();
    object
}

fn byte_order(is_big_endian: bool) -> &'static str {
    match is_big_endian {
        true => "big",
        false => "little",
    }
}

fn container(datagrams: &Datagrams) -> Value {
    let container = &datagrams.container;
    let mut object = match &container.framing {
        Framing::Pcap(details) => pcap(details),
        Framing::PcapNg(details) => pcapng(details),
    };
    object["compression"] = container.packing.map(|packing| packing.name()).into();
    object
}

fn pcap(details: &PcapDetails) -> Value {
    let (major, minor) = details.version;
    json!({
        "kind": "pcap",
        "version": format!("{major}.{minor}"),
        "byte_order": byte_order(details.is_big_endian),
        "resolution_ns": details.resolution,
        "link": details.link,
        "snap_length": details.snap_length,
    })
}

fn pcapng(details: &PcapNgDetails) -> Value {
    let interface = |interface: &InterfaceDetails| {
        json!({
            "name": interface.name,
            "link": interface.link,
            "snap_length": interface.snap_length,
            "resolution_ns": interface.resolution,
            "received": interface.received,
            "dropped": interface.dropped,
        })
    };
    json!({
        "kind": "pcapng",
        "sections": details.sections,
        "byte_order": byte_order(details.is_big_endian),
        "application": details.application,
        "system": details.system,
        "hardware": details.hardware,
        "comment": details.comment,
        "interfaces": details.interfaces.iter().map(interface).collect::<Vec<_>>(),
        "more_interfaces": details.more_interfaces,
    })
}

fn recording(ticks: &Ticks) -> Value {
    json!({
        "kind": "ibt",
        "compression": ticks.packing.map(|packing| packing.name()),
        "version": ticks.version,
        "live": ticks.is_live,
        "tick_rate": ticks.tick_rate,
        "record_bytes": ticks.record_length,
        "variables": ticks.variables,
        "arrays": ticks.arrays,
        "sub_tick_arrays": ticks.sub_tick_arrays,
        "session_string_bytes": ticks.session_string,
        "start_date": ticks.start_date.map(|date| moment(date.saturating_mul(1_000_000_000))),
    })
}

fn flows(inspection: &Inspection, datagrams: &Datagrams) -> Value {
    let flow = |flow: &Flow| {
        let mut object = capture_json::tally(&flow.tally);
        object["source"] = flow.source.to_string().into();
        object["destination"] = flow.destination.to_string().into();
        object["formats"] = inspection.formats_of(flow).into();
        object
    };
    datagrams.flows.iter().map(flow).collect::<Vec<_>>().into()
}

fn session(session: &Session) -> Value {
    let timeline = &session.timeline;
    let about: Map<String, Value> = session
        .about
        .iter()
        .map(|about| {
            let values = about.values.iter().map(|(time, told)| {
                let mut value = told_json(told);
                value["since"] = (*time != 0).then(|| moment(*time)).into();
                value
            });
            let unit = (!about.unit.is_empty()).then_some(about.unit.as_str());
            let entry = json!({ "unit": unit, "values": values.collect::<Vec<_>>() });
            (about.name.clone(), entry)
        })
        .collect();
    json!({
        "format": session.format,
        "game": session.game,
        "sender": session.sender.map(|sender| sender.to_string()),
        // Longer than what JSON readers take for a number.
        "id": session.id.map(|id| id.to_string()),
        "first_time": session.span.map(|(first, _)| moment(first)),
        "last_time": session.span.map(|(_, last)| moment(last)),
        "datagrams": session.datagrams,
        "clock_first": timeline.clock.map(|(first, _)| first),
        "clock_last": timeline.clock.map(|(_, last)| last),
        "flashbacks": timeline.flashbacks,
        "restarts": timeline.restarts,
        "pauses": timeline.pauses,
        "paused_seconds": seconds(timeline.paused),
        "is_restart": session.is_restart,
        "about": about,
        "player": session.player,
        "laps": session.player_driver().map(laps).unwrap_or_default(),
        "best_lap": session.best().map(|(driver, best)| json!({
            "car": driver.car,
            "driver": driver.name(),
            "lap": best.lap,
            "seconds": best.seconds,
        })),
        "drivers": session.drivers.iter().map(driver).collect::<Vec<_>>(),
    })
}

fn laps(driver: &Driver) -> Vec<Value> {
    let laps = driver.laps.laps.iter();
    laps.map(|(lap, seconds)| json!({ "lap": lap, "seconds": seconds }))
        .collect()
}

fn driver(driver: &Driver) -> Value {
    let facts = driver.facts.iter();
    let about: Map<String, Value> = facts
        .map(|(name, told)| (name.clone(), told_json(told)))
        .collect();
    json!({
        "car": driver.car,
        "name": driver.name(),
        "about": about,
        "current_lap": driver.laps.current,
        "laps_completed": driver.lap_count(),
        "laps": laps(driver),
        "best_lap": driver.best().map(|best| json!({ "lap": best.lap, "seconds": best.seconds })),
    })
}

fn told_json(told: &Told) -> Value {
    // The digits of a number are no name.
    let digits = told.number.map(|number| number.to_string());
    let name = told
        .text
        .as_ref()
        .filter(|text| Some(*text) != digits.as_ref());
    json!({ "value": told.number, "name": name })
}

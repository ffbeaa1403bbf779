//! What was read of a capture, for programs: the part that all reports have.

use serde_json::{Value, json};

use crate::clock;
use crate::decode::{CaptureReport, Refused, Tally};

/// Counts by packet and sender, what was refused, what is damaged.
pub(super) fn capture(capture: &CaptureReport) -> Value {
    let counts = &capture.counts;
    json!({
        "name": capture.name,
        "bytes": capture.size,
        "error": capture.error,
        "packets": counts.packets,
        "datagrams": counts.datagrams,
        "decoded": capture.decoded_datagrams(),
        "refused": capture.refused_datagrams,
        "notes": capture.notes,
        "streams": capture.streams.iter().map(|stream| {
            let (contradictions, checked) = stream.contradictions();
            json!({
                "format": stream.format,
                "sender": stream.sender.map(|sender| sender.to_string()),
                "datagrams": stream.datagrams,
                "games": stream.games().map(|game| &game.id).collect::<Vec<_>>(),
                "checked": checked,
                "contradictions": contradictions,
                "doubtful": stream.is_doubtful(),
            })
        }).collect::<Vec<_>>(),
        "cut": counts.cut,
        "malformed": counts.malformed,
        "incomplete": counts.incomplete,
        "other_packets": counts.other,
        "unknown_link": counts.unknown_link,
        "untimed": counts.untimed,
        "by_packet": capture.packets.values().map(|seen| {
            let mut packet = tally(&seen.tally);
            packet["format"] = seen.format.as_str().into();
            packet["packet"] = seen.packet.as_str().into();
            packet
        }).collect::<Vec<_>>(),
        "refusals": capture.refused.iter().map(|(why, found)| {
            let mut refusal = refusal(why);
            refusal["count"] = found.count.into();
            refusal["first_offset"] = found.first_offset.into();
            refusal["first_bytes"] = found.first_bytes.as_str().into();
            refusal
        }).collect::<Vec<_>>(),
        "damage": capture.damage.finds.iter().map(|(offset, what)| json!({
            "offset": offset,
            "what": what,
        })).collect::<Vec<_>>(),
        "damage_count": capture.damage.count,
    })
}

/// How much came, and when.
pub(super) fn tally(tally: &Tally) -> Value {
    json!({
        "datagrams": tally.datagrams,
        "bytes": tally.bytes,
        "first_time": tally.times.map(|(first, _)| moment(first)),
        "last_time": tally.times.map(|(_, last)| moment(last)),
        "per_second": tally.per_second(),
        "largest_gap_seconds": tally.largest_gap.map(|(gap, _)| seconds(gap)),
        "largest_gap_at": tally.largest_gap.map(|(_, at)| moment(at)),
    })
}

/// A moment to the nanosecond: as a number it would be longer than what JSON
/// readers take for one.
pub(super) fn moment(nanoseconds: i64) -> String {
    clock::rfc3339(nanoseconds)
}

pub(super) fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn refusal(why: &Refused) -> Value {
    match why {
        Refused::UnexpectedLength {
            format,
            packet,
            expected,
            actual,
            decoded,
        } => json!({
            "reason": "unexpected_length",
            "format": format,
            "packet": packet,
            "expected": expected,
            "length": actual,
            "decoded": decoded,
        }),
        Refused::UnknownPacket { format, id, length } => json!({
            "reason": "unknown_packet",
            "format": format,
            "packet_id": id,
            "length": length,
        }),
        Refused::Unrecognised { port, length } => json!({
            "reason": "unrecognised",
            "port": port,
            "length": length,
        }),
    }
}

//! What one session was, for people.

use std::fmt::Write as _;

use super::words::{Lines, lap_time, length, plural, span};
use crate::cli::columns::{Columns, Side};
use crate::cli::messages::{DIM, PLAIN, STRONG};
use crate::cli::values;
use crate::inspect::{AboutSession, BestLap, Driver, Session};
use crate::layout::Told;
use crate::text::printable;

/// Without --verbose, as many laps are shown.
const LAPS_SHOWN: usize = 16;
/// What a session is called by: the first of what is told of it.
const TITLE_PARTS: usize = 3;

pub(super) fn text(session: &Session, is_verbose: bool) -> String {
    let parts: Vec<String> = session
        .about
        .iter()
        .take(TITLE_PARTS)
        .map(last_part)
        .collect();
    let mut text = format!("\n{STRONG}{}", printable(&session.game));
    if !parts.is_empty() {
        let _ = write!(text, ": {}", printable(&parts.join(", ")));
    }
    let _ = writeln!(text, "{STRONG:#}");
    let mut lines = Lines::new();
    if let Some((first, last)) = session.span {
        lines.say("time", span(first, last));
    }
    let id = session.id.map(|id| format!("id {id}"));
    let sender = session.sender.map(|sender| format!("from {sender}"));
    let records = match session.sender {
        Some(_) => plural(session.datagrams, "datagram"),
        None => plural(session.datagrams, "tick"),
    };
    let known: Vec<String> = [id, sender, Some(records)].into_iter().flatten().collect();
    lines.say("session", known.join(", "));
    let more: Vec<String> = session
        .about
        .iter()
        .enumerate()
        .filter(|(position, about)| *position >= TITLE_PARTS || about.values.len() > 1)
        .map(|(_, about)| all_parts(about))
        .collect();
    if !more.is_empty() {
        lines.say("about", more.join(", "));
    }
    if let Some(clock) = clock(session) {
        lines.say("game clock", clock);
    }
    if let Some(player) = session.player_driver() {
        if let Some(name) = player.name() {
            lines.say("player", format!("{name}, car {}", player.car));
        }
        lines.say("laps", laps(player, is_verbose));
    }
    let others = session.drivers.len() > 1;
    if let Some((driver, best)) = session.best() {
        let is_listed = driver
            .laps
            .best()
            .is_some_and(|(_, seconds)| seconds == best.seconds);
        if others || !is_listed {
            lines.say("best lap", best_lap(driver, best, others));
        }
    }
    text.push_str(&lines.text());
    if others {
        text.push_str(&drivers(session));
    }
    text
}

fn best_lap(driver: &Driver, best: BestLap, others: bool) -> String {
    let mut text = lap_time(best.seconds);
    if others {
        let name = driver
            .name()
            .map_or_else(|| format!("car {}", driver.car), String::from);
        let _ = write!(text, " by {name}");
    }
    if let Some(lap) = best.lap {
        let _ = write!(text, ", lap {lap}");
    }
    if let Some(laps) = driver.result_laps.filter(|_| !others) {
        let _ = write!(text, " of {laps} by the results");
    }
    text
}

/// The value that holds at the end, with its name if it is only a number.
fn last_part(about: &AboutSession) -> String {
    let told = about.values.last().map(|(_, told)| told);
    match told {
        Some(told) if is_plain(told) => {
            let text = format!("{} {} {}", words(&about.name), said(told), about.unit);
            text.trim_end().into()
        }
        Some(told) => said(told),
        None => String::new(),
    }
}

fn all_parts(about: &AboutSession) -> String {
    let values: Vec<String> = about.values.iter().map(|(_, told)| said(told)).collect();
    let text = format!(
        "{} {} {}",
        words(&about.name),
        values.join(" → "),
        about.unit
    );
    text.trim_end().into()
}

/// Whether it says nothing without its name.
fn is_plain(told: &Told) -> bool {
    told.text
        .as_ref()
        .is_none_or(|text| text.parse::<f64>().is_ok())
}

/// A name that people know, or the number that has none.
fn said(told: &Told) -> String {
    match (&told.text, told.number) {
        (Some(text), _) => text.clone(),
        (None, Some(number)) => number.to_string(),
        (None, None) => String::new(),
    }
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn clock(session: &Session) -> Option<String> {
    let timeline = &session.timeline;
    let (first, last) = timeline.clock?;
    let mut text = format!("{} to {}", lap_time(first), lap_time(last));
    let counts = [
        (timeline.flashbacks, "flashback"),
        (timeline.restarts, "restart"),
        (timeline.pauses, "pause"),
    ];
    for (count, what) in counts {
        if count > 0 {
            let _ = write!(text, ", {}", plural(count, what));
        }
    }
    if timeline.paused > 0 {
        let _ = write!(text, " ({} in all)", length(timeline.paused));
    }
    if session.is_restart {
        text.push_str(", restarted from the session before");
    }
    Some(text)
}

fn laps(driver: &Driver, is_verbose: bool) -> String {
    let laps = &driver.laps;
    let best = laps.best().map(|(lap, _)| lap);
    let mut parts: Vec<String> = laps
        .laps
        .iter()
        .map(|(lap, seconds)| {
            let time = seconds.map_or_else(|| "no time".into(), lap_time);
            let mark = if best == Some(*lap) && laps.laps.len() > 1 {
                " best"
            } else {
                ""
            };
            format!("{lap}: {time}{mark}")
        })
        .collect();
    let count = parts.len();
    if count > LAPS_SHOWN && !is_verbose {
        parts.truncate(LAPS_SHOWN);
        parts.push(format!("… {} more", count - LAPS_SHOWN));
        if let Some((lap, seconds)) = laps.best() {
            parts.push(format!("best {lap}: {}", lap_time(seconds)));
        }
    }
    match (count, laps.current) {
        (0, None) => "none is completed".into(),
        (0, Some(current)) => format!("none is completed, on lap {current}"),
        _ => parts.join("  "),
    }
}

fn drivers(session: &Session) -> String {
    let mut columns = Columns::new(&[
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Left,
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Left,
    ]);
    let heads = [
        "place", "car", "number", "driver", "team", "laps", "best lap", "",
    ];
    columns.add(DIM, heads.map(String::from));
    let place = |driver: &Driver| driver.fact("position").map(said);
    let mut drivers: Vec<&Driver> = session.drivers.iter().collect();
    drivers.sort_by_key(|driver| {
        let place = place(driver).and_then(|place| place.parse::<u64>().ok());
        (
            place.filter(|place| *place > 0).unwrap_or(u64::MAX),
            driver.car,
        )
    });
    for driver in drivers {
        let fact = |name: &str| driver.fact(name).map(said).unwrap_or_default();
        let is_player = session.player == Some(driver.car);
        columns.add(
            PLAIN,
            [
                place(driver)
                    .filter(|place| place != "0")
                    .unwrap_or_default(),
                driver.car.to_string(),
                fact("number"),
                fact("name"),
                fact("team"),
                values::count(driver.lap_count()),
                driver
                    .best()
                    .map_or(String::new(), |best| lap_time(best.seconds)),
                if is_player {
                    "player".into()
                } else {
                    String::new()
                },
            ],
        );
    }
    columns.text("  ")
}

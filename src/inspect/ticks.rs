//! The sessions of a recording of ticks: their times and laps by the ticks
//! themselves, all else by the session string.

use std::collections::BTreeMap;

use super::laps::{Laps, Moment};
use super::sessions::{AboutSession, BestLap, Driver, Session};
use super::timeline::Timeline;
use crate::capture::TickFile;
use crate::clock::widen;
use crate::formats::iracing;
use crate::layout::{Place, Told};

/// Several times what a weekend has.
const MOST_SESSIONS: usize = 50;

/// A session that is followed.
struct Open {
    /// The number of its first tick: the times of sessions may overlap.
    tick: usize,
    span: Option<(i64, i64)>,
    ticks: u64,
    timeline: Timeline,
    laps: Laps,
}

/// The sessions of a recording, in the order of their first ticks.
pub(super) fn sessions(ticks: &TickFile, session: &iracing::Session) -> Vec<Session> {
    let place = |name: &str| iracing::place(ticks.variables(), name);
    let number = place("SessionNum");
    let (lap, last_lap) = (place("Lap"), place("LapLastLapTime"));
    let player = place("PlayerCarIdx");
    let mut sessions: BTreeMap<i64, Open> = BTreeMap::new();
    let mut player_car = session.player();
    let map = ticks.mapping();
    for tick in 0..ticks.count() {
        let offset = ticks.offset(tick);
        let record = &map[offset..offset + ticks.record_length()];
        let read = |place: Option<Place>| place?.read(record);
        let key = read(number).unwrap_or(0);
        if sessions.len() == MOST_SESSIONS && !sessions.contains_key(&key) {
            continue;
        }
        let time = ticks.time(tick);
        let open = sessions.entry(key).or_insert_with(|| Open {
            tick,
            span: None,
            ticks: 0,
            timeline: Timeline::default(),
            laps: Laps::default(),
        });
        open.ticks += 1;
        widen(&mut open.span, time);
        let clock = ticks.schema().session_time(record);
        if let Some(clock) = clock {
            open.timeline.see(time, clock);
        }
        let last_time = last_lap.and_then(|place| place.read_number(record));
        if let (Some(lap), Some(last_time)) = (read(lap), last_time) {
            open.laps.see(Moment {
                number: lap,
                last: last_time,
                clock,
                flashbacks: open.timeline.flashbacks,
            });
        }
        if tick == 0 && player_car.is_none() {
            player_car = read(player).and_then(|car| usize::try_from(car).ok());
        }
    }
    let mut sessions: Vec<(i64, Open)> = sessions.into_iter().collect();
    sessions.sort_by_key(|(_, open)| open.tick);
    let has_clock = ticks.has_clock();
    let sessions = sessions.into_iter();
    sessions
        .map(|(number, open)| finish(number, open, has_clock, player_car, session))
        .collect()
}

fn finish(
    number: i64,
    open: Open,
    has_clock: bool,
    player: Option<usize>,
    session: &iracing::Session,
) -> Session {
    let span = open.span.filter(|_| has_clock);
    let told = |text: String| Told {
        number: None,
        text: Some(text),
    };
    let about = session
        .about(number)
        .into_iter()
        .map(|(name, text)| AboutSession {
            name,
            unit: String::new(),
            values: vec![(span.map_or(0, |(first, _)| first), told(text))],
        });
    let drivers = session.drivers(number).into_iter().map(|driver| {
        let facts = driver.facts.into_iter();
        Driver {
            car: driver.car,
            facts: facts.map(|(name, text)| (name, told(text))).collect(),
            laps: Laps::default(),
            result_laps: driver.laps,
            result_best: driver.best.map(|(lap, seconds)| BestLap { lap, seconds }),
        }
    });
    let mut drivers: Vec<Driver> = drivers.collect();
    let car = player.unwrap_or(0);
    match drivers.iter_mut().find(|driver| driver.car == car) {
        Some(driver) => driver.laps = open.laps,
        None => drivers.push(Driver {
            car,
            facts: Vec::new(),
            laps: open.laps,
            result_laps: None,
            result_best: None,
        }),
    }
    Session {
        format: iracing::NAME.into(),
        game: iracing::TITLE.into(),
        sender: None,
        id: u64::try_from(number).ok(),
        span,
        datagrams: open.ticks,
        timeline: open.timeline,
        is_restart: false,
        about: about.collect(),
        player: Some(car),
        drivers,
    }
}

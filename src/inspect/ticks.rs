//! The sessions of a recording of ticks: their times and laps by the ticks
//! themselves, all else by the session string.

use std::collections::BTreeMap;

use super::laps::Laps;
use super::sessions::{AboutSession, Driver, Session};
use super::timeline::Timeline;
use crate::capture::TickFile;
use crate::formats::iracing;
use crate::layout::{Place, Told};

/// Hundreds of times what a weekend has.
const MOST_SESSIONS: usize = 1_000;

/// A session that is followed.
struct Open {
    first: i64,
    last: i64,
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
            first: time,
            last: time,
            ticks: 0,
            timeline: Timeline::default(),
            laps: Laps::default(),
        });
        open.ticks += 1;
        open.first = open.first.min(time);
        open.last = open.last.max(time);
        if let Some(clock) = ticks.schema().session_time(record) {
            open.timeline.see(time, clock);
        }
        let last_time = last_lap.and_then(|place| place.read_number(record));
        if let (Some(lap), Some(last_time)) = (read(lap), last_time) {
            open.laps.see(time, lap, last_time);
        }
        if tick == 0 && player_car.is_none() {
            player_car = read(player).and_then(|car| usize::try_from(car).ok());
        }
    }
    let mut sessions: Vec<Session> = sessions
        .into_iter()
        .map(|(number, open)| finish(number, open, player_car, session))
        .collect();
    sessions.sort_by_key(|session| session.span);
    if !ticks.has_clock() {
        for session in &mut sessions {
            session.span = None;
        }
    }
    sessions
}

fn finish(number: i64, open: Open, player: Option<usize>, session: &iracing::Session) -> Session {
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
            values: vec![(open.first, told(text))],
        });
    let drivers = session.drivers(number).into_iter().map(|driver| {
        let facts = driver.facts.into_iter();
        Driver {
            car: driver.car,
            facts: facts.map(|(name, text)| (name, told(text))).collect(),
            laps: Laps::default(),
            result_laps: driver.laps,
            result_best: driver.best,
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
        span: Some((open.first, open.last)),
        datagrams: open.ticks,
        timeline: open.timeline,
        is_restart: false,
        about: about.collect(),
        player: Some(car),
        drivers,
    }
}

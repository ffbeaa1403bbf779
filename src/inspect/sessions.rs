//! The sessions of a capture, followed datagram by datagram: what each was, who
//! drove, which laps were completed. What says so is in the layouts; no game is
//! known here.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::laps::Laps;
use super::timeline::{Timeline, Turn};
use crate::layout::{CarField, DriverFact, Games, Layout, Scalar, Told};

/// More sessions than this are only counted.
const MOST_SESSIONS: usize = 2_000;
/// As many values of one fact are kept.
const MOST_VALUES: usize = 20;
/// A session that begins later than this on its own clock, in seconds, is no
/// restart.
const LATEST_RESTART: f64 = 30.0;

/// One session, of one sender.
#[derive(Debug)]
pub struct Session {
    pub format: String,
    /// The game, if it is known which of several with this format it was, else
    /// the format.
    pub game: String,
    pub sender: Option<IpAddr>,
    /// The game's own number for it, if it has one.
    pub id: Option<u64>,
    /// First and last time in the capture, if there is any, in nanoseconds since
    /// 1970 UTC.
    pub span: Option<(i64, i64)>,
    /// Datagrams or ticks of it.
    pub datagrams: u64,
    pub timeline: Timeline,
    /// Whether it is the one before it that began anew.
    pub is_restart: bool,
    /// What it was, in the order of the layout.
    pub about: Vec<AboutSession>,
    pub player: Option<usize>,
    /// Those of which anything is known.
    pub drivers: Vec<Driver>,
}

/// Something that is told of a session.
#[derive(Debug, Clone)]
pub struct AboutSession {
    pub name: String,
    pub unit: String,
    /// In time order, each with the time since when it holds.
    pub values: Vec<(i64, Told)>,
}

impl AboutSession {
    /// Notes a value; `false` if it is the one that holds already.
    fn note(&mut self, time: i64, told: Told) {
        let is_new = self.values.last().is_none_or(|(_, last)| *last != told);
        if is_new && self.values.len() < MOST_VALUES {
            self.values.push((time, told));
        }
    }
}

/// One car and its driver.
#[derive(Debug, Clone)]
pub struct Driver {
    pub car: usize,
    /// Name, number, team and whatever else the layout tells of drivers.
    pub facts: Vec<(String, Told)>,
    /// Those that were completed in the capture.
    pub laps: Laps,
    /// What the results of the session say: how many laps, and number and seconds
    /// of the fastest one.
    pub result_laps: Option<u64>,
    pub result_best: Option<(i64, f64)>,
}

impl Driver {
    /// How many laps are known to be completed.
    pub fn lap_count(&self) -> u64 {
        let seen = self.laps.laps.len() as u64;
        self.result_laps.map_or(seen, |laps| laps.max(seen))
    }

    /// Number and seconds of the fastest lap that is known.
    pub fn best(&self) -> Option<(i64, f64)> {
        let known = [self.laps.best(), self.result_best].into_iter().flatten();
        known.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    pub fn fact(&self, name: &str) -> Option<&Told> {
        let (_, told) = self.facts.iter().find(|(known, _)| known == name)?;
        Some(told)
    }

    pub fn name(&self) -> Option<&str> {
        self.fact("name")?.text.as_deref()
    }
}

impl Session {
    pub fn driver(&self, car: usize) -> Option<&Driver> {
        self.drivers.iter().find(|driver| driver.car == car)
    }

    /// The fastest lap of all, and whose it is.
    pub fn best(&self) -> Option<(&Driver, i64, f64)> {
        let laps = self.drivers.iter().filter_map(|driver| {
            let (lap, seconds) = driver.best()?;
            Some((driver, lap, seconds))
        });
        laps.min_by(|(_, _, one), (_, _, other)| one.total_cmp(other))
    }
}

/// The sessions of one capture.
#[derive(Default)]
pub(super) struct Sessions {
    list: Vec<Open>,
    /// Those with a number of their own.
    known: HashMap<(Sender, u64), usize>,
    /// The one that each sender is in.
    current: HashMap<Sender, usize>,
    /// Where the last datagram went.
    last: Option<(Sender, Option<u64>, usize)>,
    /// How many more there were.
    pub more: u64,
}

/// Position of the format, and the address.
type Sender = (usize, IpAddr);

/// A datagram of a known format.
pub(super) struct Seen<'a> {
    pub layout: &'a Arc<Layout>,
    pub packet: usize,
    pub sender: Sender,
    pub time: i64,
    pub payload: &'a [u8],
    /// The games that can have sent it.
    pub games: Games,
}

/// A session that is followed.
struct Open {
    layout: Arc<Layout>,
    games: Games,
    /// The values whose change ends it.
    changes: Vec<u64>,
    cars: Vec<Car>,
    is_over: bool,
    session: Session,
}

/// What is known of a car so far.
#[derive(Default, Clone)]
struct Car {
    /// In the order of the layout, with the bytes that they were read from.
    facts: Vec<Option<(u64, Told)>>,
    laps: Laps,
}

impl Sessions {
    pub(super) fn see(&mut self, seen: &Seen<'_>) {
        let rules = &seen.layout.sessions;
        let id = seen
            .layout
            .session
            .map(|place| place.read_bits(seen.payload));
        let tells_nothing = rules.about.is_empty() && rules.laps.is_none() && rules.clock.is_none();
        let is_driven = seen
            .layout
            .driving
            .and_then(|place| place.read(seen.payload))
            != Some(0);
        if id.is_none() && (tells_nothing || !is_driven) {
            return;
        }
        if let Some(position) = self.position(seen, id) {
            self.list[position].see(seen);
        }
    }

    /// The session that a datagram belongs to; `None` if it is of none, or of one
    /// too many.
    fn position(&mut self, seen: &Seen<'_>, id: Option<u64>) -> Option<usize> {
        if let Some((sender, last_id, position)) = self.last
            && sender == seen.sender
            && last_id == id
            && id.is_some()
        {
            return Some(position);
        }
        let current = self.current.get(&seen.sender).copied();
        let found = match id {
            // Menus, and what is sent when a session is over.
            Some(0) => return current,
            Some(id) => self.known.get(&(seen.sender, id)).copied(),
            None => current.filter(|current| !self.list[*current].has_ended(seen)),
        };
        let position = match found {
            Some(position) => position,
            None if self.list.len() == MOST_SESSIONS => {
                self.more += 1;
                return None;
            }
            None => {
                let before = current.map(|current| &self.list[current]);
                let open = Open::new(seen, id, before);
                self.list.push(open);
                let position = self.list.len() - 1;
                if let Some(id) = id {
                    self.known.insert((seen.sender, id), position);
                }
                position
            }
        };
        self.current.insert(seen.sender, position);
        self.last = Some((seen.sender, id, position));
        Some(position)
    }

    /// All sessions in time order.
    pub(super) fn finish(self) -> Vec<Session> {
        let mut before: HashMap<(String, Option<IpAddr>), usize> = HashMap::new();
        let mut list = self.list;
        for position in 0..list.len() {
            let key = (
                list[position].session.format.clone(),
                list[position].session.sender,
            );
            if let Some(earlier) = before.insert(key, position)
                && list[position].restarts(&list[earlier])
            {
                list[position].session.is_restart = true;
            }
        }
        let mut sessions: Vec<Session> = list.into_iter().map(Open::finish).collect();
        sessions.sort_by_key(|session| session.span);
        sessions
    }
}

impl Open {
    fn new(seen: &Seen<'_>, id: Option<u64>, before: Option<&Open>) -> Open {
        let layout = seen.layout;
        let rules = &layout.sessions;
        let changes: Vec<u64> = rules
            .changes
            .iter()
            .map(|place| place.read_bits(seen.payload))
            .collect();
        let cars = rules.drivers.iter().map(|driver| &driver.cars);
        let cars = cars.chain(rules.laps.iter().map(|laps| &laps.number));
        let cars = cars.map(|field| field.cars).max().unwrap_or(0);
        let about = rules.about.iter().map(|about| AboutSession {
            name: about.name.clone(),
            unit: about.facts[0].unit.clone(),
            values: Vec::new(),
        });
        Open {
            layout: layout.clone(),
            games: seen.games,
            // The same car again: what else but the clock can have ended it?
            session: Session {
                format: layout.name.clone(),
                game: layout.title.clone(),
                sender: Some(seen.sender.1),
                id,
                span: None,
                datagrams: 0,
                timeline: Timeline::default(),
                is_restart: id.is_none() && before.is_some_and(|open| open.changes == changes),
                about: about.collect(),
                player: None,
                drivers: Vec::new(),
            },
            changes,
            cars: vec![
                Car {
                    facts: vec![None; rules.drivers.len()],
                    laps: Laps::default(),
                };
                cars
            ],
            is_over: false,
        }
    }

    /// Whether a datagram of the same sender begins another session, in a format
    /// that does not say so.
    fn has_ended(&self, seen: &Seen<'_>) -> bool {
        let rules = &self.layout.sessions;
        let mut changes = rules.changes.iter().zip(&self.changes);
        let began_anew =
            |clock: f64| clock > 0.0 && self.session.timeline.turn(clock) == Turn::Restart;
        changes.any(|(place, known)| place.read_bits(seen.payload) != *known)
            || rules
                .clock
                .as_ref()
                .and_then(|clock| clock.read(seen.payload, 0))
                .is_some_and(began_anew)
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let Seen {
            packet,
            time,
            payload,
            games,
            ..
        } = *seen;
        let layout = seen.layout;
        let rules = &layout.sessions;
        self.games = games;
        let session = &mut self.session;
        session.datagrams += 1;
        // 0 is no time.
        if time != 0 {
            let (first, last) = session.span.unwrap_or((time, time));
            session.span = Some((first.min(time), last.max(time)));
        }
        self.is_over |= rules.over == Some(packet);
        if let Some(clock) = rules
            .clock
            .as_ref()
            .and_then(|clock| clock.read(payload, 0))
        {
            session.timeline.see(time, clock);
        }
        for (about, known) in rules.about.iter().zip(&mut session.about) {
            if about.facts[0].packet == packet {
                let told = about
                    .facts
                    .iter()
                    .map(|fact| layout.tell(fact, games, payload));
                if let Some(told) = joined(told.collect()) {
                    known.note(time, told);
                }
            }
        }
        for (number, driver) in rules.drivers.iter().enumerate() {
            if driver.packet == packet {
                self.note_drivers(number, driver, seen);
            }
        }
        if let Some(laps) = rules.laps.as_ref().filter(|laps| laps.packet == packet) {
            if let Some(player) = layout.player().and_then(|place| place.read(payload)) {
                // 255 is nobody.
                let player = usize::try_from(player).ok();
                self.session.player = player.filter(|player| *player < self.cars.len());
            }
            for (number, car) in self.cars.iter_mut().take(laps.number.cars).enumerate() {
                let lap = laps.number.field.place(&[number]).read(payload);
                let last = laps.last.read(payload, number);
                if let (Some(lap), Some(last)) = (lap, last) {
                    car.laps.see(time, lap.saturating_sub(laps.first - 1), last);
                }
            }
        }
        if let Some(history) = rules
            .history
            .as_ref()
            .filter(|history| history.packet == packet)
        {
            let whole = |number: Option<i64>| usize::try_from(number?).ok();
            let count = history
                .count
                .map_or(Some(history.length as i64), |place| place.read(payload));
            let count = whole(count).unwrap_or(0).min(history.length);
            let car = whole(history.car.read(payload)).and_then(|car| self.cars.get_mut(car));
            if let Some(car) = car {
                let times = (0..count).map_while(|lap| history.times.read(payload, lap));
                car.laps.list(times);
            }
        }
    }

    fn note_drivers(&mut self, number: usize, fact: &DriverFact, seen: &Seen<'_>) {
        let Seen {
            layout,
            games,
            payload,
            ..
        } = *seen;
        let CarField { field, cars } = &fact.cars;
        for (car, known) in self.cars.iter_mut().take(*cars).enumerate() {
            let place = field.place(&[car]);
            let bits = place.read_bits(payload);
            let is_text = matches!(place.scalar, Scalar::Char(_) | Scalar::Latin(_));
            let known = &mut known.facts[number];
            if !is_text && known.as_ref().is_some_and(|(before, _)| *before == bits) {
                continue;
            }
            // A name that is gone is no name.
            let told = layout.tell_of_car(fact, car, games, payload);
            *known = told.map(|told| (bits, told));
        }
    }

    /// Whether this is the session before it once more: of the same kind, which
    /// had not come to its end.
    fn restarts(&self, before: &Open) -> bool {
        let began = self
            .session
            .timeline
            .clock
            .map_or(f64::MAX, |(first, _)| first);
        let kind = |open: &Open| -> Vec<Option<Told>> {
            let status = open.layout.status.iter();
            let about = status.filter_map(|fact| {
                let abouts = open.layout.sessions.about.iter().zip(&open.session.about);
                let mut same = abouts.filter(|(about, _)| {
                    let of_fact = &about.facts[0];
                    of_fact.packet == fact.packet && of_fact.place == fact.place
                });
                same.next().map(|(_, about)| about)
            });
            about
                .map(|about| Some(about.values.first()?.1.clone()))
                .collect()
        };
        self.layout.sessions.over.is_some()
            && !before.is_over
            && began < LATEST_RESTART
            && kind(self) == kind(before)
            && kind(self).iter().any(Option::is_some)
    }

    fn finish(self) -> Session {
        let rules = &self.layout.sessions;
        let mut session = self.session;
        let games = self.layout.games.iter().enumerate();
        let mut possible = games.filter(|(position, _)| self.games.contains(*position));
        if let (Some((_, only)), None) = (possible.next(), possible.next()) {
            session.game = only.title.clone();
        }
        session.about.retain(|about| !about.values.is_empty());
        let names_drivers = rules.drivers.iter().any(|driver| driver.name == "name");
        let cars = self.cars.into_iter().enumerate().map(|(car, known)| {
            let facts = rules.drivers.iter().zip(known.facts);
            let told = facts.filter_map(|(driver, told)| Some((driver.name.clone(), told?.1)));
            Driver {
                car,
                facts: told.collect(),
                laps: known.laps,
                result_laps: None,
                result_best: None,
            }
        });
        let player = session.player;
        let is_there = |driver: &Driver| {
            !names_drivers
                || driver.name().is_some()
                || !driver.laps.laps.is_empty()
                || player == Some(driver.car)
        };
        session.drivers = cars.filter(is_there).collect();
        // Where there is one car only, it is the player's.
        if !names_drivers && session.drivers.len() == 1 {
            session.player = Some(0);
        }
        session
    }
}

/// Several facts as one.
fn joined(mut told: Vec<Option<Told>>) -> Option<Told> {
    if told.len() == 1 {
        return told.pop()?;
    }
    let texts: Option<Vec<String>> = told.into_iter().map(|told| told?.text).collect();
    Some(Told {
        number: None,
        text: Some(texts?.join(".")),
    })
}

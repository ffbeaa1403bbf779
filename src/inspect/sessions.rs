//! The sessions of a capture, followed datagram by datagram: what each was, who
//! drove, which laps were completed. What says so is in the layouts; no game is
//! known here.

use std::net::IpAddr;
use std::sync::Arc;

use ahash::HashMap;

use super::laps::{Laps, Moment};
use super::timeline::{Timeline, Turn};
use crate::clock::widen;
use crate::layout::{About, CarField, DriverFact, Games, Layout, Place, Told};

/// More sessions than this are not followed.
const MOST_SESSIONS: usize = 250;
/// As many values of one fact are kept.
const MOST_VALUES: usize = 20;
/// A session that begins later than this on its own clock, in seconds, is no
/// restart …
const LATEST_RESTART: f64 = 30.0;
/// … nor one that begins later than this after the one before it, in nanoseconds.
const LONGEST_BREAK: i64 = 600_000_000_000;

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
    /// Notes a value, unless it is the one that holds already.
    fn note(&mut self, time: i64, told: Told) {
        if self.values.last().is_some_and(|(_, last)| *last == told) {
            return;
        }
        // The last one is what holds at the end.
        self.values.truncate(MOST_VALUES - 1);
        self.values.push((time, told));
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
    /// What the results of the session say: how many laps, and the fastest one.
    pub result_laps: Option<u64>,
    pub result_best: Option<BestLap>,
}

/// The fastest lap of a car.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestLap {
    /// Its number, if that is known.
    pub lap: Option<i64>,
    pub seconds: f64,
}

impl Driver {
    /// How many laps are known to be completed.
    pub fn lap_count(&self) -> u64 {
        let seen = self.laps.laps.len() as u64;
        self.result_laps.map_or(seen, |laps| laps.max(seen))
    }

    /// The fastest lap that is known.
    pub fn best(&self) -> Option<BestLap> {
        let seen = self.laps.best().map(|(lap, seconds)| BestLap {
            lap: Some(lap),
            seconds,
        });
        let known = [seen, self.result_best].into_iter().flatten();
        known.min_by(|one, other| one.seconds.total_cmp(&other.seconds))
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
    /// The player's own car.
    pub fn player_driver(&self) -> Option<&Driver> {
        self.driver(self.player?)
    }

    pub fn driver(&self, car: usize) -> Option<&Driver> {
        self.drivers.iter().find(|driver| driver.car == car)
    }

    /// The fastest lap of all, and whose it is.
    pub fn best(&self) -> Option<(&Driver, BestLap)> {
        let drivers = self.drivers.iter();
        let laps = drivers.filter_map(|driver| Some((driver, driver.best()?)));
        laps.min_by(|(_, one), (_, other)| one.seconds.total_cmp(&other.seconds))
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
    /// Datagrams of more sessions.
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
    /// Where records say which car is the player's.
    player: Option<Place>,
    /// The values whose change ends it.
    changes: Vec<u64>,
    /// The bytes that each fact was last read from, in the order of the layout.
    about: Vec<Option<u64>>,
    cars: Vec<Car>,
    is_over: bool,
    session: Session,
}

/// What is known of a car so far.
#[derive(Default, Clone)]
struct Car {
    /// In the order of the layout, with the bytes that each was read from.
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
        let tells_nothing = rules.about.is_empty() && rules.laps.is_none();
        let is_driven = seen
            .layout
            .driving
            .and_then(|place| place.read(seen.payload))
            != Some(0);
        if id.is_none() && (tells_nothing || !is_driven) {
            return;
        }
        // Menus have no session; what is sent when one is over has no number either.
        if id == Some(0) {
            if let Some(current) = self.current.get(&seen.sender) {
                self.list[*current].see_end(seen);
            }
        } else if let Some(position) = self.position(seen, id) {
            self.list[position].see(seen);
        }
    }

    /// The session that a datagram belongs to; `None` if it is of one too many.
    fn position(&mut self, seen: &Seen<'_>, id: Option<u64>) -> Option<usize> {
        if let Some((sender, last_id, position)) = self.last
            && sender == seen.sender
            && last_id == id
            && (id.is_some() || !self.list[position].has_ended(seen))
        {
            return Some(position);
        }
        let found = match id {
            Some(id) => self.known.get(&(seen.sender, id)).copied(),
            None => {
                let current = self.current.get(&seen.sender).copied();
                current.filter(|current| !self.list[*current].has_ended(seen))
            }
        };
        let position = match found {
            Some(position) => position,
            None if self.list.len() == MOST_SESSIONS => {
                self.more += 1;
                return None;
            }
            None => {
                self.list.push(Open::new(seen, id));
                let position = self.list.len() - 1;
                if let Some(id) = id {
                    self.known.insert((seen.sender, id), position);
                }
                position
            }
        };
        if self.last.is_none_or(|(_, _, last)| last != position) {
            self.current.insert(seen.sender, position);
        }
        self.last = Some((seen.sender, id, position));
        Some(position)
    }

    /// All sessions in time order.
    pub(super) fn finish(self) -> Vec<Session> {
        let mut before: HashMap<(String, Option<IpAddr>), usize> = HashMap::default();
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
    fn new(seen: &Seen<'_>, id: Option<u64>) -> Open {
        let layout = seen.layout;
        let rules = &layout.sessions;
        let changes = rules.changes.iter();
        let changes = changes.map(|place| place.read_bits(seen.payload));
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
            player: layout.player(),
            changes: changes.collect(),
            about: vec![None; rules.about.len()],
            session: Session {
                format: layout.name.clone(),
                game: layout.title.clone(),
                sender: Some(seen.sender.1),
                id,
                span: None,
                datagrams: 0,
                timeline: Timeline::default(),
                is_restart: false,
                about: about.collect(),
                player: None,
                drivers: Vec::new(),
            },
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
        let session = &mut self.session;
        session.datagrams += 1;
        // 0 is no time.
        if time != 0 {
            widen(&mut session.span, time);
        }
        let clock = rules.clock.as_ref();
        let clock = clock
            .and_then(|clock| clock.read(payload, 0))
            .filter(|clock| *clock > 0.0);
        if let Some(clock) = clock {
            session.timeline.see(time, clock);
        }
        // 255 is nobody: who watches has driven before.
        let player = self.player.and_then(|place| place.read(payload));
        let player = player.and_then(|player| usize::try_from(player).ok());
        if let Some(player) = player.filter(|player| *player < self.cars.len()) {
            session.player = Some(player);
        }
        for (number, about) in rules.about.iter().enumerate() {
            if about.facts[0].packet == packet {
                self.note_about(number, about, seen);
            }
        }
        for (number, driver) in rules.drivers.iter().enumerate() {
            if driver.packet == packet {
                self.note_drivers(number, driver, seen);
            }
        }
        if let Some(laps) = rules.laps.as_ref().filter(|laps| laps.packet == packet) {
            let flashbacks = self.session.timeline.flashbacks;
            for (number, car) in self.cars.iter_mut().take(laps.number.cars).enumerate() {
                let lap = laps.number.field.place(&[number]).read(payload);
                let last = laps.last.read(payload, number);
                if let (Some(lap), Some(last)) = (lap, last) {
                    car.laps.see(Moment {
                        number: lap.saturating_sub(laps.first).saturating_add(1),
                        last,
                        clock,
                        flashbacks,
                    });
                }
            }
        }
        self.games = games;
        self.see_end(seen);
    }

    /// Notes what is also sent when a session is over.
    fn see_end(&mut self, seen: &Seen<'_>) {
        let Seen {
            layout,
            packet,
            payload,
            ..
        } = *seen;
        let rules = &layout.sessions;
        self.is_over |= rules.over == Some(packet);
        let history = rules.history.as_ref();
        let Some(history) = history.filter(|history| history.packet == packet) else {
            return;
        };
        let whole = |number: Option<i64>| usize::try_from(number?).ok();
        let count = match history.count {
            Some(place) => whole(place.read(payload)).unwrap_or(0).min(history.length),
            None => history.length,
        };
        let car = whole(history.car.read(payload)).and_then(|car| self.cars.get_mut(car));
        if let Some(car) = car {
            let times = (0..count).map_while(|lap| history.times.read(payload, lap));
            car.laps.list(times);
        }
    }

    fn note_about(&mut self, number: usize, about: &About, seen: &Seen<'_>) {
        let Seen {
            layout,
            time,
            payload,
            games,
            ..
        } = *seen;
        // Mostly the same as before, and names take time to find.
        if let [fact] = about.facts.as_slice()
            && !fact.place.scalar.is_text()
        {
            let bits = fact.place.read_bits(payload);
            if self.about[number].replace(bits) == Some(bits) && self.games == games {
                return;
            }
        }
        let told = about
            .facts
            .iter()
            .map(|fact| layout.tell(fact, games, payload));
        if let Some(told) = joined(told.collect()) {
            self.session.about[number].note(time, told);
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
            let known = &mut known.facts[number];
            if !place.scalar.is_text() && known.as_ref().is_some_and(|(before, _)| *before == bits)
            {
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
        let (one, other) = (&before.session, &self.session);
        let began = other.timeline.clock.map_or(f64::MAX, |(first, _)| first);
        let pause = one.span.zip(other.span);
        let pause = pause.map_or(i64::MAX, |((_, last), (first, _))| {
            first.saturating_sub(last)
        });
        let kind = self.kind();
        self.layout.sessions.over.is_some()
            && !before.is_over
            && began < LATEST_RESTART
            && pause < LONGEST_BREAK
            && kind == before.kind()
            && kind.iter().any(Option::is_some)
    }

    /// What kind of session it is: what the layout says in a few words.
    fn kind(&self) -> Vec<Option<&Told>> {
        let abouts = self.layout.sessions.about.iter().zip(&self.session.about);
        let of_status = abouts.filter(|(about, _)| {
            let mut status = self.layout.status.iter();
            status.any(|fact| {
                (fact.packet, fact.place) == (about.facts[0].packet, about.facts[0].place)
            })
        });
        of_status
            .map(|(_, about)| Some(&about.values.first()?.1))
            .collect()
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

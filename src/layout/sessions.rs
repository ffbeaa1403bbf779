//! What records tell of the session that they belong to: where one ends and the
//! next begins, what it is, who drives, and the laps. The lines of a layout file
//! that say so become [`Sessions`]; following them through a capture is the
//! business of others.

use std::collections::HashSet;

use super::flatten::Flat;
use super::parse::{AxisKind, Definitions};
use super::words::{LayoutError, Location};
use super::{Games, Layout, Place, Scalar, Strided};
use crate::text::{printable, until_nul, utf8_or_latin};

/// Longer arrays of cars are no cars.
const MOST_CARS: usize = 256;

/// How records tell of sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    /// Values that are the same for as long as a session lasts, in formats whose
    /// records do not say which one they belong to.
    pub changes: Vec<Place>,
    /// The time within the session, which goes back on a flashback.
    pub clock: Option<Seconds>,
    /// What a session is, such as its track.
    pub about: Vec<About>,
    /// What is said of each car.
    pub drivers: Vec<DriverFact>,
    pub laps: Option<LapFields>,
    pub history: Option<LapHistory>,
    /// Position in [`Layout::packets`] of the packet that only a session sends
    /// that is over.
    pub over: Option<usize>,
}

/// A time, and how many seconds its unit has.
#[derive(Debug, Clone)]
pub struct Seconds {
    pub field: Strided,
    pub unit: f64,
}

impl Seconds {
    /// The time in seconds for this entry of the array, if it has any.
    pub fn read(&self, record: &[u8], entry: usize) -> Option<f64> {
        let value = self.field.place(&[entry]).read_number(record)?;
        Some(value * self.unit)
    }
}

/// A value that tells what is going on, such as the track.
#[derive(Debug, Clone)]
pub struct Fact {
    /// Position in [`Layout::packets`] of the packet that has it.
    pub packet: usize,
    pub place: Place,
    pub unit: String,
    /// Position in [`Layout::enums`].
    pub enumeration: Option<usize>,
}

/// Something that is told of a session.
#[derive(Debug)]
pub struct About {
    pub name: String,
    /// Of one packet; their texts are joined by dots.
    pub facts: Vec<Fact>,
}

/// Something that is told of each car.
#[derive(Debug)]
pub struct DriverFact {
    pub name: String,
    pub packet: usize,
    pub cars: CarField,
    /// Position in [`Layout::enums`].
    pub enumeration: Option<usize>,
}

/// A value of each car, or of the only one.
#[derive(Debug, Clone)]
pub struct CarField {
    pub field: Strided,
    pub cars: usize,
}

/// Which lap each car is on, and how long the last one took.
#[derive(Debug)]
pub struct LapFields {
    pub packet: usize,
    pub number: CarField,
    /// The number of the first lap.
    pub first: i64,
    pub last: Seconds,
}

/// The times of all laps of a car.
#[derive(Debug)]
pub struct LapHistory {
    pub packet: usize,
    pub car: Place,
    /// How many entries are valid.
    pub count: Option<Place>,
    pub length: usize,
    pub times: Seconds,
}

/// What a value tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The number as it stands, if it is one.
    pub number: Option<i64>,
    /// What people would say; none for a number that should have a name and has
    /// none.
    pub text: Option<String>,
}

impl Layout {
    /// What `record` tells by a fact, if one of `games` has sent it. `None` if it
    /// tells nothing.
    pub fn tell(&self, fact: &Fact, games: Games, record: &[u8]) -> Option<Told> {
        self.told(fact.place, fact.enumeration, games, record)
    }

    /// What `record` tells of a car.
    pub fn tell_of_car(
        &self,
        fact: &DriverFact,
        car: usize,
        games: Games,
        record: &[u8],
    ) -> Option<Told> {
        let place = fact.cars.field.place(&[car]);
        self.told(place, fact.enumeration, games, record)
    }

    fn told(
        &self,
        place: Place,
        enumeration: Option<usize>,
        games: Games,
        record: &[u8],
    ) -> Option<Told> {
        if let Scalar::Char(length) | Scalar::Latin(length) = place.scalar {
            let bytes = record.get(place.offset..place.offset + length)?;
            let text = printable(&utf8_or_latin(until_nul(bytes)));
            return (!text.is_empty()).then_some(Told {
                number: None,
                text: Some(text),
            });
        }
        let number = place.read(record)?;
        let text = match enumeration {
            None => Some(number.to_string()),
            Some(enumeration) => {
                let evidence = self.evidence.as_ref();
                let told = evidence.map_or(Games::NONE, |evidence| evidence.of(record).and(games));
                let games = if told.is_empty() { games } else { told };
                let name = self.name_of(enumeration, number, games);
                name.map(str::to_string)
            }
        };
        Some(Told {
            number: Some(number),
            text,
        })
    }

    /// Where records say which car is the player's.
    pub fn player(&self) -> Option<Place> {
        let mut axes = self.tables.iter().flat_map(|table| &table.axes);
        axes.find_map(|axis| axis.player)
    }
}

/// Finds the fields that a layout file names outside of its packets.
pub(super) struct Finder<'a> {
    pub definitions: &'a Definitions,
    /// Of each packet, those of the header among them.
    pub fields: &'a [Vec<Flat>],
}

impl Finder<'_> {
    /// What tells of sessions.
    pub(super) fn sessions(
        &self,
        place: &impl Fn(&Location, &str) -> Result<Place, LayoutError>,
    ) -> Result<Sessions, LayoutError> {
        let definitions = self.definitions;
        let mut names = HashSet::new();
        let about = definitions
            .about
            .iter()
            .map(|(at, name, _)| (at, "about", name));
        let drivers = definitions
            .drivers
            .iter()
            .map(|(at, name, _)| (at, "driver", name));
        for (at, kind, name) in about.chain(drivers) {
            if !names.insert((kind, name)) {
                return Err(at.error(format!("a second `{kind} {name}` line: remove one")));
            }
        }
        if let (Some((at, _)), Some(_)) =
            (definitions.session_changes.first(), &definitions.session)
        {
            return Err(
                at.error("`session` names a number already: what changes with it need not be said")
            );
        }
        if let (Some((at, ..)), true, None) = (
            &definitions.history,
            definitions.drivers.is_empty(),
            &definitions.lap,
        ) {
            return Err(
                at.error("`laps` needs a `lap` or `driver` line that says which cars there are")
            );
        }
        let changes = definitions.session_changes.iter().map(|(at, name)| {
            let place = place(at, name)?;
            match place.scalar.size() {
                1 | 2 | 4 | 8 => Ok(place),
                _ => Err(at.error(format!("{name} must have 1, 2, 4 or 8 bytes"))),
            }
        });
        let about = definitions.about.iter().map(|(at, name, fields)| {
            let facts = fields.iter().map(|field| self.fact(at, field));
            let facts: Vec<Fact> = facts.collect::<Result<_, _>>()?;
            match facts.windows(2).all(|two| two[0].packet == two[1].packet) {
                true => Ok(About {
                    name: name.clone(),
                    facts,
                }),
                false => Err(at.error("all of these fields must be of one packet")),
            }
        });
        let drivers = definitions.drivers.iter().map(|(at, name, field)| {
            let (packet, found) = self.of_cars(at, field)?;
            if !is_tellable(found.scalar) {
                return Err(at.error(format!("{field} must be a whole number or a text")));
            }
            Ok(DriverFact {
                name: name.clone(),
                packet,
                cars: self.car_field(found),
                enumeration: found.enumeration,
            })
        });
        let clock = definitions.clock.as_ref();
        let clock = clock.map(|(at, name)| self.clock(at, name, place));
        let laps = definitions.lap.as_ref().map(|lap| self.laps(lap));
        let history = definitions.history.as_ref();
        let history = history.map(|(at, car, times)| self.history(at, car, times));
        let over = definitions.over.as_ref().map(|(at, name)| {
            let packet = self.packet(name);
            packet.ok_or_else(|| at.error(format!("there is no packet {name}")))
        });
        Ok(Sessions {
            changes: changes.collect::<Result<_, LayoutError>>()?,
            clock: clock.transpose()?,
            about: about.collect::<Result<_, LayoutError>>()?,
            drivers: drivers.collect::<Result<_, LayoutError>>()?,
            laps: laps.transpose()?,
            history: history.transpose()?,
            over: over.transpose()?,
        })
    }

    /// `Packet.field`, or the field alone if there is only one packet.
    pub(super) fn fact(&self, at: &Location, name: &str) -> Result<Fact, LayoutError> {
        let fits = |field: &Flat| field.axes.is_empty() && is_tellable(field.scalar);
        let (packet, field) = self.field(name, fits).ok_or_else(|| {
            at.error(format!(
                "there is no whole number or text {name} outside of arrays; fields of one of \
                 several packets are written as PACKET.FIELD"
            ))
        })?;
        Ok(Fact {
            packet,
            place: field.place(),
            unit: field.unit.clone(),
            enumeration: field.enumeration,
        })
    }

    fn packet(&self, name: &str) -> Option<usize> {
        let mut packets = self.definitions.packets.iter();
        packets.position(|packet| packet.name == name)
    }

    /// The packet and the field of this name; the name of the field alone, without
    /// that of what it lies in, is enough.
    fn field(&self, name: &str, fits: impl Fn(&Flat) -> bool) -> Option<(usize, &Flat)> {
        let named = name
            .split_once('.')
            .and_then(|(packet, path)| Some((self.packet(packet)?, path)));
        let (packet, path) = match (named, self.definitions.packets.as_slice()) {
            (Some(named), _) => named,
            (None, [_]) => (0, name),
            (None, _) => return None,
        };
        let fields = || {
            let fields = self.fields[packet].iter();
            fields.filter(|field| field.case.is_none() && fits(field))
        };
        if let Some(exact) = fields().find(|field| field.path == path) {
            return Some((packet, exact));
        }
        // The name alone must say which one is meant.
        let mut named = fields().filter(|field| field.path.rsplit('.').next() == Some(path));
        let only = named.next()?;
        named.next().is_none().then_some((packet, only))
    }

    fn of_cars(&self, at: &Location, name: &str) -> Result<(usize, &Flat), LayoutError> {
        let is_of_cars = |field: &Flat| match field.axes.as_slice() {
            [] => true,
            [one] => {
                let kind = &self.definitions.axes[one.axis].kind;
                matches!(
                    kind,
                    AxisKind::Rows {
                        player: Some(_),
                        ..
                    }
                ) && one.length <= MOST_CARS
            }
            _ => false,
        };
        self.field(name, is_of_cars).ok_or_else(|| {
            at.error(format!(
                "there is no {name} outside of arrays or in one with a `player`; fields of one of \
                 several packets are written as PACKET.FIELD"
            ))
        })
    }

    fn car_field(&self, field: &Flat) -> CarField {
        CarField {
            cars: field.axes.first().map_or(1, |used| used.length),
            field: field.strided(&field.all_axes(), 0),
        }
    }

    fn clock(
        &self,
        at: &Location,
        name: &str,
        place: &impl Fn(&Location, &str) -> Result<Place, LayoutError>,
    ) -> Result<Seconds, LayoutError> {
        let place = place(at, name)?;
        let mut fields = self.fields.iter().flatten();
        let field = fields.find(|field| field.path == name && field.place() == place);
        let field = field.ok_or_else(|| at.error(format!("there is no field {name}")))?;
        seconds(at, field)
    }

    fn laps(
        &self,
        (at, number, last, first): &(Location, String, String, i64),
    ) -> Result<LapFields, LayoutError> {
        let (packet, number_field) = self.of_cars(at, number)?;
        let (other, last_field) = self.of_cars(at, last)?;
        let are_alike = packet == other
            && number_field.all_axes() == last_field.all_axes()
            && number_field.scalar.is_integer();
        if !are_alike {
            return Err(at.error(format!(
                "{number} must be a whole number, and {last} must stand beside it"
            )));
        }
        Ok(LapFields {
            packet,
            number: self.car_field(number_field),
            first: *first,
            last: seconds(at, last_field)?,
        })
    }

    fn history(&self, at: &Location, car: &str, times: &str) -> Result<LapHistory, LayoutError> {
        let car = self.fact(at, car)?;
        let in_one_array = |field: &Flat| field.axes.len() == 1;
        let found = self.field(times, in_one_array);
        let (_, field) = found
            .filter(|(packet, _)| *packet == car.packet)
            .ok_or_else(|| {
                at.error(format!(
                    "there is no {times} in an array beside the car's number"
                ))
            })?;
        let used = &field.axes[0];
        let count = match &self.definitions.axes[used.axis].kind {
            AxisKind::Rows {
                count: Some(count), ..
            } => {
                let mut fields = self.fields[car.packet].iter();
                let sibling = used.sibling(count);
                fields.find(|field| field.path == sibling).map(Flat::place)
            }
            _ => None,
        };
        Ok(LapHistory {
            packet: car.packet,
            car: car.place,
            count,
            length: used.length,
            times: seconds(at, field)?,
        })
    }
}

/// A field that holds a time.
fn seconds(at: &Location, field: &Flat) -> Result<Seconds, LayoutError> {
    let unit = match field.unit.as_str() {
        "s" => 1.0,
        "ms" => 1e-3,
        _ => {
            return Err(at.error(format!(
                "{} must be a time: its unit must be s or ms",
                field.path
            )));
        }
    };
    if !field.scalar.is_number() {
        return Err(at.error(format!("{} must be a number", field.path)));
    }
    Ok(Seconds {
        field: field.strided(&field.all_axes(), 0),
        unit,
    })
}

fn is_tellable(scalar: Scalar) -> bool {
    scalar.is_integer() || scalar.is_text()
}

//! What the session string says of each session of the weekend: where, what,
//! who drove, and how it ended.

use std::collections::HashMap;

use super::{Node, Session};

/// What is told of a session, by its place in the session string.
const ABOUT: [(&str, [&str; 2]); 13] = [
    ("track", ["WeekendInfo", "TrackDisplayName"]),
    ("track_configuration", ["WeekendInfo", "TrackConfigName"]),
    ("track_length", ["WeekendInfo", "TrackLength"]),
    ("weather", ["WeekendInfo", "TrackSkies"]),
    ("air_temperature", ["WeekendInfo", "TrackAirTemp"]),
    ("event_type", ["WeekendInfo", "EventType"]),
    ("series", ["WeekendInfo", "SeriesID"]),
    ("season", ["WeekendInfo", "SeasonID"]),
    ("session", ["WeekendInfo", "SessionID"]),
    ("subsession", ["WeekendInfo", "SubSessionID"]),
    ("setup", ["DriverInfo", "DriverSetupName"]),
    ("car_version", ["DriverInfo", "DriverCarVersion"]),
    ("version", ["WeekendInfo", "BuildVersion"]),
];
/// Likewise of one session of the weekend.
const OF_SESSION: [(&str, &str); 4] = [
    ("session_type", "SessionType"),
    ("session_name", "SessionName"),
    ("laps", "SessionLaps"),
    ("time", "SessionTime"),
];
/// Likewise of a driver.
const OF_DRIVER: [(&str, &str); 7] = [
    ("name", "UserName"),
    ("number", "CarNumber"),
    ("team", "TeamName"),
    ("car", "CarScreenName"),
    ("ai", "CarIsAI"),
    ("irating", "IRating"),
    ("licence", "LicString"),
];

/// Several times what the simulator has room for.
const MOST_DRIVERS: usize = 256;

/// A name and what stands there.
pub type Entry = (String, String);

/// A driver, and what the results say.
#[derive(Debug, Clone, PartialEq)]
pub struct WeekendDriver {
    pub car: usize,
    pub facts: Vec<Entry>,
    /// Completed laps, as the results of the session have them.
    pub laps: Option<u64>,
    /// The fastest lap: its number, if that is known, and its time in seconds.
    pub best: Option<(Option<i64>, f64)>,
}

impl Session {
    /// What is told of the session with this number.
    pub fn about(&self, number: i64) -> Vec<Entry> {
        let session = self.of_number(number);
        let own = OF_SESSION
            .iter()
            .filter_map(|(name, key)| Some((name.to_string(), text(session?, key)?.to_string())));
        let mut all = ABOUT.iter().filter_map(|(name, [section, key])| {
            let text = text(self.root.get(section)?, key)?;
            Some((name.to_string(), text.to_string()))
        });
        // What is called by its track and kind has these first.
        let track: Vec<Entry> = all.by_ref().take(1).collect();
        // 0 is what tests and offline sessions have.
        (track.into_iter().chain(own).chain(all))
            .filter(|(_, text)| !text.is_empty() && text != "0")
            .collect()
    }

    /// The car of the one who recorded.
    pub fn player(&self) -> Option<usize> {
        text(self.root.get("DriverInfo")?, "DriverCarIdx")?
            .parse()
            .ok()
    }

    /// The drivers, with their results in the session with this number.
    pub fn drivers(&self, number: i64) -> Vec<WeekendDriver> {
        let drivers = self
            .root
            .get("DriverInfo")
            .and_then(|info| info.get("Drivers"));
        let results = self
            .of_number(number)
            .and_then(|session| session.get("ResultsPositions"));
        let results = results.map(Node::items).unwrap_or_default().iter();
        let results: HashMap<&str, &Node> = results
            .filter_map(|result| Some((text(result, "CarIdx")?, result)))
            .collect();
        let drivers = drivers.map(Node::items).unwrap_or_default().iter();
        let is_racing = |driver: &&Node| {
            let is_set = |key: &str| text(driver, key) == Some("1");
            !is_set("CarIsPaceCar") && !is_set("IsSpectator")
        };
        let driver = |driver: &Node| {
            let car: usize = text(driver, "CarIdx")?.parse().ok()?;
            let facts = OF_DRIVER.iter().filter_map(|(name, key)| {
                let text = text(driver, key).filter(|text| !text.is_empty())?;
                Some((name.to_string(), text.to_string()))
            });
            let mut facts: Vec<Entry> = facts.collect();
            let result = results.get(text(driver, "CarIdx")?);
            let number = |key: &str| number_of(result?, key);
            if let Some(position) = number("Position").filter(|position| *position > 0.0) {
                facts.push(("position".into(), position.to_string()));
            }
            let fastest = number("FastestTime").filter(|time| *time > 0.0);
            Some(WeekendDriver {
                car,
                facts,
                laps: number("LapsComplete")
                    .filter(|laps| *laps >= 0.0)
                    .map(|laps| laps as u64),
                best: fastest.map(|time| (number("FastestLap").map(|lap| lap as i64), time)),
            })
        };
        let racing = drivers.filter(is_racing).take(MOST_DRIVERS);
        racing.filter_map(driver).collect()
    }

    fn of_number(&self, number: i64) -> Option<&Node> {
        let sessions = self.root.get("SessionInfo")?.get("Sessions")?;
        let mut sessions = sessions.items().iter();
        sessions.find(|session| number_of(session, "SessionNum") == Some(number as f64))
    }
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key)?.text()
}

fn number_of(node: &Node, key: &str) -> Option<f64> {
    text(node, key)?.parse().ok()
}

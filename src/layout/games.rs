//! Games that share a layout, and what their records say of which of them it
//! was.

use std::ops::RangeInclusive;

use super::Place;

/// A game that sends a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Game {
    /// Short name, such as `fh6`.
    pub id: String,
    /// Name for people.
    pub title: String,
}

/// A set of the games of one layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Games(u32);

impl Games {
    pub const NONE: Games = Games(0);
    pub const ALL: Games = Games(u32::MAX);
    /// The most games that a layout can have.
    pub const MOST: usize = 32;

    /// The set with the game at this position of [`super::Layout::games`].
    pub fn with(self, position: usize) -> Games {
        Games(self.0 | 1 << position)
    }

    pub fn contains(self, position: usize) -> bool {
        self.0 >> position & 1 == 1
    }

    pub fn and(self, other: Games) -> Games {
        Games(self.0 & other.0)
    }

    pub fn or(self, other: Games) -> Games {
        Games(self.0 | other.0)
    }

    pub fn is_empty(self) -> bool {
        self == Games::NONE
    }
}

/// Two values that together tell which games can have sent a record, such as a
/// car's class beside the performance index that it was given for.
#[derive(Debug)]
pub struct Evidence {
    pub value: Place,
    pub by: Place,
    pub rules: Vec<EvidenceRule>,
}

/// In these games `value` stands beside these values of the other.
#[derive(Debug)]
pub struct EvidenceRule {
    pub value: i64,
    pub by: RangeInclusive<i64>,
    pub games: Games,
}

impl Evidence {
    /// The games that can have sent `record`; none if no rule speaks of it.
    pub fn of(&self, record: &[u8]) -> Games {
        let (Some(value), Some(by)) = (self.value.read(record), self.by.read(record)) else {
            return Games::NONE;
        };
        let rules = self.rules.iter();
        rules
            .filter(|rule| rule.value == value && rule.by.contains(&by))
            .fold(Games::NONE, |games, rule| games.or(rule.games))
    }
}

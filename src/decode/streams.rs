//! What the datagrams of one sender say together: which of the games that
//! share their format sends them, and whether the layout can be right.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::layout::{Game, Games, Layout};

/// More senders than a capture of a real network has; those beyond it are not
/// told apart.
const MOST_SENDERS: usize = 1_000;
/// A layout is doubtful once more than one in this many datagrams disagrees.
const DOUBTFUL_SHARE: u64 = 10;

/// The senders of a capture, by format.
#[derive(Debug, Default)]
pub struct Streams {
    streams: BTreeMap<(usize, Option<IpAddr>), Stream>,
}

/// The datagrams of one format from one sender.
#[derive(Debug, Clone)]
pub struct Stream {
    pub format: String,
    /// `None` for the senders that are not told apart any more.
    pub sender: Option<IpAddr>,
    pub datagrams: u64,
    /// The games that can have sent what was seen last.
    games: Games,
    /// All games of the format.
    known_games: Vec<Game>,
    /// Datagrams that could have contradicted the layout, and those that did.
    checked: u64,
    contradictions: u64,
    pub first_contradiction: Option<Contradiction>,
}

/// A field that is not what the layout says it must be.
#[derive(Debug, Clone)]
pub struct Contradiction {
    pub field: String,
    pub offset: u64,
}

impl Streams {
    /// Notes a datagram at `offset` of the capture; `given` are the games that
    /// the user has left. Returns the games that can have sent it.
    pub fn note(
        &mut self,
        (number, layout): (usize, &Layout),
        sender: IpAddr,
        payload: &[u8],
        offset: u64,
        given: Games,
    ) -> Games {
        if layout.checks.is_empty() && layout.games.is_empty() {
            return given;
        }
        let known =
            self.streams.len() < MOST_SENDERS || self.streams.contains_key(&(number, Some(sender)));
        let sender = known.then_some(sender);
        let stream = self
            .streams
            .entry((number, sender))
            .or_insert_with(|| Stream::new(layout, sender, given));
        stream.datagrams += 1;
        for check in &layout.checks {
            let Some(holds) = check.holds(payload) else {
                continue;
            };
            stream.checked += 1;
            if !holds {
                stream.contradictions += 1;
                stream.first_contradiction.get_or_insert(Contradiction {
                    field: check.field.clone(),
                    offset,
                });
            }
        }
        let evidence = layout.evidence.as_ref();
        let seen = evidence.map_or(Games::NONE, |evidence| evidence.of(payload).and(given));
        // Of several senders together nothing can be said.
        let before = match sender {
            Some(_) => stream.games,
            None => given,
        };
        let agreed = before.and(seen);
        stream.games = match (seen.is_empty(), agreed.is_empty()) {
            (true, _) => before,
            // A sender may start another game.
            (false, true) => seen,
            (false, false) => agreed,
        };
        stream.games
    }

    pub(super) fn into_list(self) -> Vec<Stream> {
        self.streams.into_values().collect()
    }
}

impl Stream {
    fn new(layout: &Layout, sender: Option<IpAddr>, games: Games) -> Stream {
        Stream {
            format: layout.name.clone(),
            sender,
            datagrams: 0,
            games,
            known_games: layout.games.clone(),
            checked: 0,
            contradictions: 0,
            first_contradiction: None,
        }
    }

    /// The games that can have sent the last datagram.
    pub fn games(&self) -> impl Iterator<Item = &Game> {
        let known = self.known_games.iter().enumerate();
        known.filter_map(|(position, game)| self.games.contains(position).then_some(game))
    }

    /// Whether so many datagrams contradict the layout that it may be wrong.
    pub fn is_doubtful(&self) -> bool {
        self.contradictions * DOUBTFUL_SHARE > self.checked
    }

    /// Datagrams that contradict the layout, of how many that could have.
    pub fn contradictions(&self) -> (u64, u64) {
        (self.contradictions, self.checked)
    }
}

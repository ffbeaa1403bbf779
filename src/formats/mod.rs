//! The formats that simtel knows, as layout files, and the question which of
//! them a record has. How a layout file is read is the business of `layout`.

pub mod iracing;

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::thread;

use anyhow::{Context, bail};

use crate::layout::{Games, Layout};

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!($name))),*]
    };
}

/// Layout files by the name under which others include them.
const FILES: &[(&str, &str)] = files! {
    "f1/f1.common"
    "f1/2018.layout" "f1/2018.enums"
    "f1/2019.layout" "f1/2019.enums"
    "f1/2020.layout" "f1/2020.enums"
    "f1/2021.layout" "f1/2021.enums"
    "f1/2022.layout" "f1/2022.enums"
    "f1/2023.layout" "f1/2023.enums"
    "f1/2024.layout" "f1/2024.enums"
    "f1/2025.layout" "f1/2025.enums"
    "f1/2026.layout" "f1/2026.enums"
    "forza/sled.layout" "forza/dash.layout" "forza/horizon.layout" "forza/motorsport.layout"
    "forza/forza.common" "forza/motorsport.classes" "forza/sled.fields" "forza/dash.fields"
};

/// Every built-in layout, oldest first. Each is read on its own thread, since that is
/// most of what a run on a small file takes.
static BUILT_IN: LazyLock<Vec<Arc<Layout>>> = LazyLock::new(|| {
    thread::scope(|scope| {
        let layouts = FILES.iter().filter(|(name, _)| name.ends_with(".layout"));
        let readers: Vec<_> = layouts
            .map(|(name, text)| scope.spawn(|| Layout::parse(name, text, &built_in_file)))
            .collect();
        let layouts = readers.into_iter().map(|reader| match reader.join() {
            Ok(Ok(layout)) => Arc::new(layout),
            Ok(Err(error)) => panic!("a built-in layout is wrong: {error}"),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        layouts.collect()
    })
});

fn built_in_file(name: &str) -> Option<String> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    Some((*text).to_string())
}

/// The formats to recognise records by.
#[derive(Debug, Clone)]
pub struct Formats {
    layouts: Vec<Arc<Layout>>,
    /// What is known beforehand of each layout.
    given: Vec<Given>,
    /// The layouts, the surest marks first: what a datagram says of itself
    /// outweighs its length.
    order: Vec<Glance>,
}

/// What rules a format out at a glance, for most datagrams: bytes of its first
/// mark, side by side with those of all formats.
#[derive(Debug, Clone, Copy)]
struct Glance {
    /// Position of the format.
    layout: usize,
    offset: usize,
    mask: u64,
    value: u64,
    /// Whether there is nothing more to look at.
    is_all: bool,
}

impl Glance {
    /// One for each value of the first mark; without a mark, all may be of it.
    fn of(number: usize, layout: &Layout) -> Vec<Glance> {
        let Some(mark) = layout.matches.first() else {
            return vec![Glance {
                layout: number,
                offset: 0,
                mask: 0,
                value: 0,
                is_all: layout.ports.is_empty(),
            }];
        };
        let is_all =
            |value: &[u8]| value.len() <= 8 && layout.matches.len() == 1 && layout.ports.is_empty();
        let values = mark.values.iter();
        values
            .map(|value| Glance {
                layout: number,
                offset: mark.offset,
                mask: word(&vec![0xFF; value.len()], 0),
                value: word(value, 0),
                is_all: is_all(value),
            })
            .collect()
    }

    /// Whether a payload that begins with the word `start` bears the mark.
    fn could_be(self, start: u64, payload: &[u8]) -> bool {
        let word = match self.offset {
            0 => start,
            offset => word(payload, offset),
        };
        word & self.mask == self.value
    }
}

/// The eight bytes at `offset`, zero where there are none.
fn word(bytes: &[u8], offset: usize) -> u64 {
    let rest = bytes.get(offset..).unwrap_or_default();
    if let Some(word) = rest.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

#[derive(Debug, Clone, Copy)]
struct Given {
    /// The games that can have sent it.
    games: Games,
    /// Whether the user asked for it.
    is_chosen: bool,
    /// Whether the user brought it along.
    is_own: bool,
}

/// What a datagram's payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// A packet of a known format, of the right length.
    Packet { layout: usize, packet: usize },
    /// A packet of a known format with another length than the official one.
    UnexpectedLength { layout: usize, packet: usize },
    /// A known format, but a packet id that it does not have.
    UnknownPacket { layout: usize, id: i64 },
    /// No known format.
    Unrecognised,
}

impl Recognised {
    /// Position of the format, if it is one.
    pub fn layout(self) -> Option<usize> {
        match self {
            Recognised::Packet { layout, .. }
            | Recognised::UnexpectedLength { layout, .. }
            | Recognised::UnknownPacket { layout, .. } => Some(layout),
            Recognised::Unrecognised => None,
        }
    }

    /// Position of the packet in its format, of whatever length it is.
    pub fn packet(self) -> Option<usize> {
        match self {
            Recognised::Packet { packet, .. } | Recognised::UnexpectedLength { packet, .. } => {
                Some(packet)
            }
            Recognised::UnknownPacket { .. } | Recognised::Unrecognised => None,
        }
    }
}

impl Formats {
    /// The formats that simtel brings along.
    pub fn built_in() -> Formats {
        let layouts = BUILT_IN.iter().cloned();
        let given = Given {
            games: Games::ALL,
            is_chosen: false,
            is_own: false,
        };
        Formats::of(layouts.map(|layout| (layout, given)).collect())
    }

    fn of(layouts: Vec<(Arc<Layout>, Given)>) -> Formats {
        let (layouts, given): (Vec<Arc<Layout>>, Vec<Given>) = layouts.into_iter().unzip();
        let mut order: Vec<usize> = (0..layouts.len()).collect();
        order.sort_by_key(|number| {
            let layout = &layouts[*number];
            (
                layout.select.is_none(),
                !(given[*number].is_own && layout.is_marked()),
                layout.matches.is_empty(),
                layout.ports.is_empty(),
            )
        });
        let order = order.into_iter();
        Formats {
            order: order
                .flat_map(|number| Glance::of(number, &layouts[number]))
                .collect(),
            layouts,
            given,
        }
    }

    /// These layouts too. One with the name of a known format takes its place.
    ///
    /// # Errors
    /// If two of the layouts have the same name, or one that is taken.
    pub fn with(self, added: Vec<Layout>) -> anyhow::Result<Formats> {
        let mut names = HashSet::new();
        for Layout { name, .. } in &added {
            if name == iracing::NAME {
                bail!("recordings of iRacing have the name {name}: give the layout another");
            }
            if !names.insert(name.clone()) {
                bail!("two layout files describe a format named {name}: rename one of them");
            }
        }
        let given = Given {
            games: Games::ALL,
            is_chosen: true,
            is_own: true,
        };
        // First, so that they come before others that are marked as well.
        let mut layouts: Vec<_> = added
            .into_iter()
            .map(|layout| (Arc::new(layout), given))
            .collect();
        let known = self.layouts.into_iter().zip(self.given);
        layouts.extend(known.filter(|(layout, _)| !names.contains(&layout.name)));
        Ok(Formats::of(layouts))
    }

    /// Only the formats of the games that `is_wanted` takes by their short
    /// names. Those of a format without games of its own go by its name.
    pub fn of_games(self, is_wanted: impl Fn(&str) -> bool) -> Formats {
        let layouts = self.layouts.into_iter().zip(self.given);
        let wanted = layouts.filter_map(|(layout, before)| {
            let mut games = Games::NONE;
            for (position, game) in layout.games.iter().enumerate() {
                if is_wanted(&game.id) {
                    games = games.with(position);
                }
            }
            if is_wanted(&layout.name) {
                games = Games::ALL;
            }
            let given = Given {
                games,
                is_chosen: true,
                ..before
            };
            (!games.is_empty()).then_some((layout, given))
        });
        Formats::of(wanted.collect())
    }

    /// The short names of all games, and of the formats without any.
    pub fn games(&self) -> Vec<&str> {
        let layouts = self.layouts.iter();
        let names = layouts.flat_map(|layout| {
            let games = layout.games.iter().map(|game| game.id.as_str());
            let format = layout.games.is_empty().then_some(layout.name.as_str());
            games.chain(format)
        });
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The format of recordings of ticks too, which no datagram has.
    pub fn with_ticks(mut self, layout: Arc<Layout>) -> Formats {
        self.layouts.push(layout);
        self.given.push(Given {
            games: Games::ALL,
            is_chosen: false,
            is_own: false,
        });
        self
    }

    /// The format of recordings of ticks alone.
    pub fn only_ticks(layout: Arc<Layout>) -> Formats {
        Formats::of(Vec::new()).with_ticks(layout)
    }

    /// Position of the format of recordings of ticks, if it was added.
    pub fn ticks(&self) -> Option<usize> {
        let mut layouts = self.layouts.iter();
        layouts.position(|layout| layout.name == iracing::NAME)
    }

    pub fn layouts(&self) -> &[Arc<Layout>] {
        &self.layouts
    }

    /// The games that can have sent the datagrams of a layout, as far as the
    /// user has said.
    pub fn games_of(&self, layout: usize) -> Games {
        self.given[layout].games
    }

    /// Tells which packet of which format `payload`, sent to `port`, is: by
    /// its marks, by the packet id that it states, and by its length.
    pub fn recognise(&self, payload: &[u8], port: u16) -> Recognised {
        let mut nearest = Recognised::Unrecognised;
        let start = word(payload, 0);
        for glance in &self.order {
            if !glance.could_be(start, payload) {
                continue;
            }
            let is_whole = glance.is_all && payload.len() >= glance.offset + 8;
            if !is_whole && !self.layouts[glance.layout].could_be(payload, port) {
                continue;
            }
            match self.packet(glance.layout, payload) {
                found @ Recognised::Packet { .. } => return found,
                // Another layout may fit better.
                other if self.is_nearer(other, nearest) => nearest = other,
                _ => {}
            }
        }
        nearest
    }

    /// Whether it says more of a datagram: of two packets of another length, the
    /// longer one that it can begin with.
    fn is_nearer(&self, one: Recognised, other: Recognised) -> bool {
        let size = |recognised| match recognised {
            Recognised::UnexpectedLength { layout, packet } => {
                Some(self.layouts[layout].packets[packet].size)
            }
            _ => None,
        };
        match (size(one), size(other)) {
            (Some(one), Some(other)) => one > other,
            _ => other == Recognised::Unrecognised,
        }
    }

    fn packet(&self, number: usize, payload: &[u8]) -> Recognised {
        let layout = &self.layouts[number];
        let length = payload.len();
        let packets = &layout.packets;
        let position = match layout.select {
            Some(select) => {
                let Some(id) = select.read(payload) else {
                    return Recognised::Unrecognised;
                };
                match packets.iter().position(|packet| packet.id == Some(id)) {
                    Some(position) => position,
                    None => return Recognised::UnknownPacket { layout: number, id },
                }
            }
            None => match packets.iter().position(|packet| packet.has_length(length)) {
                Some(position) => position,
                // What is known by its length alone is another thing if it has
                // another, unless the user has said what comes with its marks.
                None if !self.given[number].is_chosen || !layout.is_marked() => {
                    return Recognised::Unrecognised;
                }
                None => {
                    let below = (0..packets.len()).filter(|packet| packets[*packet].size < length);
                    below
                        .max_by_key(|packet| packets[*packet].size)
                        .unwrap_or(0)
                }
            },
        };
        match packets[position].has_length(length) {
            true => Recognised::Packet {
                layout: number,
                packet: position,
            },
            false => Recognised::UnexpectedLength {
                layout: number,
                packet: position,
            },
        }
    }
}

/// Reads the user's own layout file. Files that it includes lie beside it, or
/// are those of the built-in layouts.
///
/// # Errors
/// If the file cannot be read, or is not a layout.
pub fn read_layout(path: &Path) -> anyhow::Result<Layout> {
    let name = path.display().to_string();
    let text = read_text(path).with_context(|| format!("cannot read the layout file {name}"))?;
    let include = |included: &str| {
        let beside = path.with_file_name(included);
        read_text(&beside).ok().or_else(|| built_in_file(included))
    };
    Ok(Layout::parse(&name, &text, &include)?)
}

/// Far above any layout file; what is longer was given by mistake.
const LONGEST_LAYOUT: u64 = 1 << 20;

fn read_text(path: &Path) -> std::io::Result<String> {
    // A pipe could keep us waiting for ever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    let mut file = File::open(path)?.take(LONGEST_LAYOUT + 1);
    file.read_to_string(&mut text)?;
    match text.len() as u64 > LONGEST_LAYOUT {
        true => Err(std::io::Error::other("it is too large for a layout file")),
        false => Ok(text),
    }
}

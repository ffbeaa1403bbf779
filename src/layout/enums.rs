//! Names of values: as a layout file states them, line by line, and as they are
//! once it is known what kind of field they belong to.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::words::{LayoutError, Location, integer, parse_integer};
use super::{Enum, EnumKind, Games};

/// All enums of a layout file and of those that it includes.
#[derive(Debug, Default)]
pub(super) struct EnumDefinitions {
    list: Vec<EnumDefinition>,
    positions: HashMap<String, usize>,
    /// The one that the next lines belong to; `None` for one that is not kept.
    open: Option<usize>,
}

#[derive(Debug)]
struct EnumDefinition {
    at: Location,
    name: String,
    /// How many includes down it stands.
    depth: usize,
    is_flags: bool,
    /// One for all games, or one for each set of them.
    variants: Vec<Variant>,
}

#[derive(Debug)]
struct Variant {
    games: Option<Games>,
    names: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    at: Location,
    value: String,
    name: String,
}

/// What an enum is declared as.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Values,
    ValuesOf(Games),
    Flags,
}

impl EnumDefinitions {
    /// Begins an enum. What a file says takes the place of what its includes
    /// say, in whatever order.
    pub(super) fn begin(
        &mut self,
        at: &Location,
        name: &str,
        depth: usize,
        form: Form,
    ) -> Result<(), LayoutError> {
        let variant = Variant {
            games: match form {
                Form::ValuesOf(games) => Some(games),
                Form::Values | Form::Flags => None,
            },
            names: Vec::new(),
        };
        let Some(position) = self.positions.get(name).copied() else {
            self.positions.insert(name.into(), self.list.len());
            self.open = Some(self.list.len());
            self.list.push(EnumDefinition {
                at: at.clone(),
                name: name.into(),
                depth,
                is_flags: matches!(form, Form::Flags),
                variants: vec![variant],
            });
            return Ok(());
        };
        let known = &mut self.list[position];
        if known.depth < depth {
            self.open = None;
            return Ok(());
        }
        if known.depth == depth && known.at.is_in_file_of(at) {
            let is_another_variant =
                variant.games.is_some() && known.variants.iter().all(|known| known.games.is_some());
            if !is_another_variant {
                return Err(at.error(format!(
                    "a second enum is named {name}: rename or remove one of them"
                )));
            }
        } else {
            known.at = at.clone();
            known.depth = depth;
            known.is_flags = matches!(form, Form::Flags);
            known.variants.clear();
        }
        known.variants.push(variant);
        self.open = Some(position);
        Ok(())
    }

    /// A line of the enum that is open: a value and its name.
    pub(super) fn add(&mut self, at: &Location, line: &str) -> Result<(), LayoutError> {
        let (value, name) = line
            .split_once(char::is_whitespace)
            .ok_or_else(|| at.error("a value of an enum is written as `VALUE NAME`"))?;
        let open = self.open.and_then(|position| self.list.get_mut(position));
        if let Some(variant) = open.and_then(|definition| definition.variants.last_mut()) {
            variant.names.push(Line {
                at: at.clone(),
                value: value.into(),
                name: name.trim().into(),
            });
        }
        Ok(())
    }

    /// The number of the enum of this name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The enums, by number; `is_of_text` says whether the values are texts, or
    /// nothing of those that no field uses.
    pub(super) fn settle(
        self,
        is_of_text: &dyn Fn(usize) -> Option<bool>,
    ) -> Result<Vec<Enum>, LayoutError> {
        let enums = self.list.into_iter().enumerate();
        enums
            .map(|(position, definition)| {
                Ok(Enum {
                    kind: definition.kind(is_of_text(position))?,
                    name: definition.name,
                })
            })
            .collect()
    }
}

impl EnumDefinition {
    fn kind(&self, is_of_text: Option<bool>) -> Result<EnumKind, LayoutError> {
        let is_plain = !self.is_flags && self.variants.iter().all(|one| one.games.is_none());
        let first = self.variants.first();
        let lines = first.map_or(&[][..], |variant| &variant.names);
        let is_text = |line: &Line| parse_integer(&line.value).is_none();
        let is_of_text = is_of_text.unwrap_or(is_plain && lines.iter().any(is_text));
        if is_of_text && !is_plain {
            return Err(self.at.error(format!(
                "{} names the values of a text, which have no bits and no games",
                self.name
            )));
        }
        Ok(if is_of_text {
            EnumKind::Codes(named(lines, |line| Ok(line.value.clone()))?)
        } else if self.is_flags {
            EnumKind::Flags(named(lines, |line| {
                let mask = parse_integer(&line.value).and_then(|mask| u64::try_from(mask).ok());
                mask.filter(|mask| *mask != 0).ok_or_else(|| {
                    line.at.error(format!(
                        "`{}` is not a mask: write the value of the bit, such as 1, 2, 4 or 0x80",
                        line.value
                    ))
                })
            })?)
        } else if is_plain {
            EnumKind::Values(named(lines, |line| integer(&line.at, &line.value))?)
        } else {
            let variants = self.variants.iter().map(|variant| {
                let values = named(&variant.names, |line| integer(&line.at, &line.value))?;
                Ok((variant.games.unwrap_or(Games::ALL), values))
            });
            EnumKind::ByGame(variants.collect::<Result<_, LayoutError>>()?)
        })
    }
}

/// The names with their values, each of which must stand there once.
fn named<T: Eq + Hash + Clone>(
    lines: &[Line],
    value: impl Fn(&Line) -> Result<T, LayoutError>,
) -> Result<Vec<(T, String)>, LayoutError> {
    let mut seen = HashSet::new();
    let named = lines.iter().map(|line| {
        let value = value(line)?;
        match seen.insert(value.clone()) {
            true => Ok((value, line.name.clone())),
            false => Err(line
                .at
                .error("this value has a name already: remove one of the two")),
        }
    });
    named.collect()
}

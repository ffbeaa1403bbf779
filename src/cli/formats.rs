//! Which formats a command is to expect, as its options say.

use std::path::PathBuf;

use clap::Args;

use super::{UsageError, values};
use crate::formats::{self, Formats};

#[derive(Debug, Args)]
pub(super) struct FormatOptions {
    /// A layout file of your own, for a game that simtel does not know; may be
    /// given several times
    #[arg(long = "layout", value_name = "FILE")]
    layouts: Vec<PathBuf>,
    /// Expect only these games, with * and ?: fm7, fm2023, fh4, fh5, fh6, or a
    /// format such as f1_2025
    #[arg(long = "game", value_name = "NAMES", value_delimiter = ',', value_parser = values::pattern)]
    games: Vec<glob::Pattern>,
}

impl FormatOptions {
    /// Whether only some games are expected.
    pub(super) fn is_limited(&self) -> bool {
        !self.games.is_empty()
    }

    /// The formats of these options.
    ///
    /// # Errors
    /// If a layout file is wrong, or a game unknown.
    pub(super) fn formats(&self) -> anyhow::Result<Formats> {
        let layouts = self.layouts.iter().map(|path| formats::read_layout(path));
        let layouts = layouts.collect::<anyhow::Result<Vec<_>>>()?;
        let mut formats = Formats::built_in();
        if !layouts.is_empty() {
            formats = formats.with(layouts)?;
        }
        if self.games.is_empty() {
            return Ok(formats);
        }
        for pattern in &self.games {
            let of_pattern = formats.clone().of_games(|name| pattern.matches(name));
            if of_pattern.layouts().is_empty() {
                let known = formats.games().into_iter();
                return Err(UsageError(values::unknown("game", pattern.as_str(), known)).into());
            }
        }
        Ok(formats.of_games(|name| self.games.iter().any(|pattern| pattern.matches(name))))
    }
}

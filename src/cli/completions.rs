//! `simtel completions`: what a shell needs to complete simtel's commands.

use std::io::Write;

use clap::Args;
use clap_complete::Shell;

use super::{Outcome, command};

/// Print the completion script of a shell
///
/// Load it in the shell's start-up file, for example
/// `source <(simtel completions bash)`, or save it where the shell looks for
/// completions.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "simtel", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(Outcome::Complete)
    }
}

//! The command line: the whole clap tree, and what an outcome means for the
//! exit code. Each subcommand has a file of its own with its arguments and its
//! `run`; the work itself is done elsewhere.

mod capture_json;
mod columns;
mod completions;
mod convert;
mod formats;
mod info;
mod inputs;
mod interrupt;
mod iracing;
mod keyboard;
mod man;
mod memory;
mod messages;
mod progress;
mod record;
mod replay;
mod replaying;
mod schema;
mod summary;
mod values;

use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::pipe;
use crate::sink::OnlyOneTable;
use messages::Messages;

/// Record sim-racing telemetry, replay it, and turn it into tidy tables.
#[derive(Debug, Parser)]
#[command(
    name = "simtel",
    version,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true,
    after_long_help = EXIT_STATUS
)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Record(Box<record::Record>),
    Replay(Box<replay::Replay>),
    Convert(convert::Convert),
    Info(info::Info),
    Schema(schema::Schema),
    Iracing(iracing::Iracing),
    Completions(completions::Completions),
    Man(man::Man),
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Common options")]
struct Common {
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more about what is read
    #[arg(short, long, global = true)]
    verbose: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

const EXIT_STATUS: &str = "Exit status:
  0  all is well
  1  failed; no output file was left half-written
  2  wrong usage
  3  finished, but some input was damaged or not recognised (see the warnings)";

/// How a command ended, other than by an error.
enum Outcome {
    Complete,
    /// Some input was damaged, lost or not recognised.
    Flawed,
}

/// The user asked for something that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

/// Runs the program on the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is no reason to complain.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    // Whoever reads objects cannot read sentences between them.
    let speaks_json = match &cli.command {
        Command::Record(record) => record.speaks_json(),
        Command::Replay(replay) => replay.json,
        _ => false,
    };
    let messages = Messages::new(&cli.common, speaks_json);
    let result = match cli.command {
        Command::Record(command) => command.run(&messages),
        Command::Replay(command) => command.run(&messages),
        Command::Convert(command) => command.run(&messages),
        Command::Info(command) => command.run(&messages),
        Command::Schema(command) => command.run(&messages),
        Command::Iracing(command) => command.run(),
        Command::Completions(command) => command.run(),
        Command::Man(command) => command.run(),
    };
    match result {
        Ok(Outcome::Complete) => ExitCode::SUCCESS,
        Ok(Outcome::Flawed) => ExitCode::from(3),
        Err(error) if pipe::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            messages.error(&error);
            match error.is::<UsageError>() || error.is::<OnlyOneTable>() {
                true => ExitCode::from(2),
                false => ExitCode::FAILURE,
            }
        }
    }
}

/// The clap tree, ready to generate from.
fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn clap_tree_is_consistent() {
        Cli::command().debug_assert();
    }
}

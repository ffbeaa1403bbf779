//! `simtel man`: manual pages, one for the program and one for each command.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap_mangen::Man as Page;

use super::{Outcome, UsageError, command};

/// Print a manual page, or write all of them to a folder
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The command whose page to print; the program's own if left out
    command: Option<String>,
    /// Write every page into this folder instead
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

impl Man {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let pages = pages()?;
        if let Some(folder) = self.output {
            let cannot = || format!("cannot write to {}", folder.display());
            std::fs::create_dir_all(&folder).with_context(cannot)?;
            for (name, page) in pages {
                std::fs::write(folder.join(format!("{name}.1")), page).with_context(cannot)?;
            }
            return Ok(Outcome::Complete);
        }
        let wanted = match &self.command {
            Some(name) => format!("simtel-{name}"),
            None => "simtel".into(),
        };
        match pages.iter().find(|(name, _)| *name == wanted) {
            Some((_, page)) => std::io::stdout().write_all(page)?,
            None => {
                let message = format!("there is no command {}", self.command.unwrap_or_default());
                return Err(UsageError(message).into());
            }
        }
        Ok(Outcome::Complete)
    }
}

/// Name and text of every page.
fn pages() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut pages = Vec::new();
    add_pages(&command(), "simtel".into(), &mut pages)?;
    Ok(pages)
}

/// Adds the page of a command, and those of its own commands.
fn add_pages(
    command: &clap::Command,
    name: String,
    pages: &mut Vec<(String, Vec<u8>)>,
) -> anyhow::Result<()> {
    let mut text = Vec::new();
    Page::new(command.clone().name(name.clone())).render(&mut text)?;
    pages.push((name.clone(), with_examples(&text).into_bytes()));
    for inner in command.get_subcommands() {
        add_pages(inner, format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}

/// Gives the section of examples its name, and keeps their lines as they are.
fn with_examples(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let Some((before, examples)) = page.split_once(".SH EXTRA\n") else {
        return page.into_owned();
    };
    let (examples, after) = examples.split_once("\n.SH ").unwrap_or((examples, ""));
    let (examples, status) = examples
        .split_once("Exit status:\n")
        .unwrap_or((examples, ""));
    let mut text = before.to_string();
    for (title, lines) in [("EXAMPLES", examples), ("EXIT STATUS", status)] {
        let lines = lines.trim_start_matches(".PP\n").trim_matches('\n');
        let lines = lines.strip_prefix("Examples:\n").unwrap_or(lines);
        if !lines.is_empty() {
            text += &format!(".SH \"{title}\"\n.nf\n{lines}\n.fi\n");
        }
    }
    format!("{text}.SH {after}")
}

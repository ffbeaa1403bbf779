//! Inputs as given on the command line: files, folders, globs, standard input.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::UsageError;
use crate::capture::{Capture, CaptureError, Input, TickFile};
use crate::decode::Recording;
use crate::formats::iracing::{self, Session};

/// Every capture that the arguments stand for, in a fixed order. A file that
/// was named is listed whatever it is; a folder gives the captures in it. Each is
/// listed once.
pub(super) fn expand(arguments: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut inputs = Vec::new();
    for argument in arguments {
        if argument.as_os_str() == "-" {
            inputs.push(argument.clone());
        } else if argument.is_dir() {
            let before = inputs.len();
            captures_below(argument, &mut inputs)?;
            if inputs.len() == before {
                bail!("{}: no capture lies in this folder", argument.display());
            }
        } else if argument.exists() {
            inputs.push(argument.clone());
        } else {
            matches_of(argument, &mut inputs)?;
        }
    }
    // Folders, patterns and names may overlap.
    let mut seen = HashSet::new();
    inputs.retain(|input| seen.insert(input.canonicalize().unwrap_or_else(|_| input.clone())));
    Ok(inputs)
}

/// What an input is.
pub(super) enum Source {
    /// A capture that is opened when its turn comes.
    Waiting,
    Capture(Box<Capture>),
    Recording(Box<Recording>),
    /// It should have been opened.
    Failed(CaptureError),
}

/// Opens the recordings among the inputs: the columns of all of them must be
/// known before the first is written. A single input is opened whatever it is:
/// if that fails, nothing else needs to be said.
pub(super) fn open_recordings(paths: &[PathBuf]) -> Vec<Source> {
    let mut recordings: Vec<(usize, TickFile, Session)> = Vec::new();
    let mut sources = Vec::new();
    for (position, path) in paths.iter().enumerate() {
        sources.push(Source::Waiting);
        // What standard input is, only its bytes say.
        let is_stream = path.as_os_str() == "-";
        if paths.len() > 1 && !is_stream && !Input::has_ticks(path) {
            continue;
        }
        match Input::open(path) {
            Ok(Input::Datagrams(capture)) => sources[position] = Source::Capture(capture),
            Ok(Input::Ticks(ticks)) => {
                let session = Session::read(ticks.session());
                recordings.push((position, *ticks, session));
            }
            Err(error) => sources[position] = Source::Failed(error),
        }
    }
    let described: Vec<_> = recordings
        .iter()
        .map(|(_, ticks, session)| iracing::Recording { ticks, session })
        .collect();
    let layouts = iracing::layouts(&described);
    for ((position, ticks, session), layout) in recordings.into_iter().zip(layouts) {
        sources[position] = Source::Recording(Box::new(Recording {
            ticks,
            session,
            layout,
        }));
    }
    sources
}

/// What matches a pattern that the shell has left alone.
fn matches_of(argument: &Path, inputs: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let text = argument.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        bail!("{text}: no such file");
    }
    let paths = glob::glob(&text).map_err(|error| UsageError(format!("{text}: {error}")))?;
    let before = inputs.len();
    for path in paths {
        let path = path?;
        match path.is_dir() {
            true => captures_below(&path, inputs)?,
            false => inputs.push(path),
        }
    }
    if inputs.len() == before {
        bail!("{text}: no file matches");
    }
    Ok(())
}

fn captures_below(folder: &Path, inputs: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot = || format!("cannot read the folder {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(cannot)?;
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(cannot)?;
    paths.sort();
    for path in paths {
        // A link could lead back up and around for ever.
        if path.is_dir() && !path.is_symlink() {
            captures_below(&path, inputs)?;
        } else if path.is_file()
            && (Input::has_ticks(&path)
                || !Capture::open(&path).is_err_and(|error| error.is_other_file()))
        {
            // A capture that cannot be opened is listed, so that it is reported.
            inputs.push(path);
        }
    }
    Ok(())
}

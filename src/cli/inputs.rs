//! Inputs as given on the command line: files, folders, globs, standard input.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::UsageError;
use crate::capture::{Capture, CaptureError, Input};
use crate::formats::iracing::{Session, Survey};

/// Every capture that the arguments stand for, in a fixed order. A file that
/// was named is listed whatever it is; a folder gives the captures in it. Each is
/// listed once.
pub(super) fn expand(arguments: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut inputs = Vec::new();
    for argument in arguments {
        if is_stdin(argument) {
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
    name_each_once(&mut inputs);
    Ok(inputs)
}

/// Folders, patterns and names may overlap.
pub(super) fn name_each_once(inputs: &mut Vec<PathBuf>) {
    let mut seen = HashSet::new();
    inputs.retain(|input| seen.insert(input.canonicalize().unwrap_or_else(|_| input.clone())));
}

/// What to call an input.
pub(super) fn name(path: &Path) -> String {
    match is_stdin(path) {
        true => "standard input".into(),
        false => path.display().to_string(),
    }
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What is known of an input before it is read.
pub(super) enum Source {
    /// It is opened when its turn comes.
    Waiting {
        has_ticks: bool,
    },
    Open(Input),
    Failed(CaptureError),
}

impl Source {
    pub(super) fn has_ticks(&self) -> bool {
        match self {
            Source::Waiting { has_ticks } => *has_ticks,
            Source::Open(input) => matches!(input, Input::Ticks(_)),
            Source::Failed(_) => false,
        }
    }

    /// The input itself.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(self, path: &Path) -> Result<Input, CaptureError> {
        match self {
            Source::Waiting { .. } => Input::open(path),
            Source::Open(input) => Ok(input),
            Source::Failed(error) => Err(error),
        }
    }
}

/// Looks into the recordings among the inputs: the columns of all of them must
/// be known before the first is written. What cannot be opened twice stays
/// open, and so does a single input: if that fails, nothing else needs to be
/// said.
pub(super) fn survey(paths: &[PathBuf]) -> (Vec<Source>, Survey) {
    let mut survey = Survey::default();
    let mut look = |path: &PathBuf| {
        let is_stream = is_stdin(path) || !path.is_file();
        let keeps = is_stream || paths.len() == 1;
        let has_ticks = !keeps && Input::has_ticks(path);
        if !has_ticks && !keeps {
            return Source::Waiting { has_ticks };
        }
        match Input::open(path) {
            Ok(input) => {
                if let Input::Ticks(ticks) = &input {
                    survey.add(ticks, &Session::read(ticks.session()));
                }
                match keeps {
                    true => Source::Open(input),
                    false => Source::Waiting { has_ticks },
                }
            }
            Err(error) => Source::Failed(error),
        }
    };
    let sources = paths.iter().map(&mut look).collect();
    (sources, survey)
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
            && (is_named_like_a_capture(&path)
                || Input::has_ticks(&path)
                || !Capture::open(&path).is_err_and(|error| error.is_other_file()))
        {
            // A capture that cannot be opened is listed, so that it is reported.
            // What a file is its content says; but one that is called a capture and
            // is none has lost something.
            inputs.push(path);
        }
    }
    Ok(())
}

fn is_named_like_a_capture(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name
        .strip_suffix(".gz")
        .or(name.strip_suffix(".zst"))
        .unwrap_or(&name);
    [".pcap", ".pcapng", ".ibt"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

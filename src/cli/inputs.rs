//! Inputs as given on the command line: files, folders, globs, standard input.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::UsageError;
use crate::capture::Capture;

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
        } else if path.is_file() && !Capture::open(&path).is_err_and(|error| error.is_other_file())
        {
            // A capture that cannot be opened is listed, so that it is reported.
            inputs.push(path);
        }
    }
    Ok(())
}

//! The names of a recording's files: what was asked for, or a name that no other
//! recording has.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use chrono::DateTime;

use super::{FileOptions, Output, exists};

/// Names alike that are tried.
const MOST_LIKE: u64 = 1_000;

/// The names of the files, which sort in the order of their beginnings.
pub(super) struct Names {
    /// The folder and the first part of each name.
    stem: PathBuf,
    extension: String,
    /// When the recording began; with a number behind it, if that is taken.
    tag: Option<String>,
    /// The number of the next file of a rotated recording.
    number: Option<u64>,
    /// Files created so far.
    created: u64,
}

impl Names {
    pub fn new(options: &FileOptions, now: i64) -> Names {
        let rotates = !options.rotate.is_empty();
        let extension = options.extension;
        let (stem, extension, is_exact) = match &options.output {
            Output::File(path) => {
                let extension = path.extension().unwrap_or(extension.as_ref());
                let extension = extension.to_string_lossy().into_owned();
                (path.with_extension(""), extension, !rotates)
            }
            Output::Named { folder, stem } => (folder.join(stem), extension.into(), false),
            Output::Stdout => (PathBuf::new(), String::new(), true),
        };
        Names {
            stem,
            extension,
            tag: (!is_exact).then(|| tag(now)),
            number: rotates.then_some(1),
            created: 0,
        }
    }

    /// The path with this tag and the number of the next file.
    fn path(&self, tag: Option<&str>) -> PathBuf {
        let mut name = self.stem.file_name().unwrap_or_default().to_os_string();
        if let Some(tag) = tag {
            name.push(format!("-{tag}"));
        }
        if let Some(number) = self.number {
            name.push(format!("-{number:06}"));
        }
        name.push(format!(".{}", self.extension));
        self.stem.with_file_name(name)
    }

    /// Creates the next file, which begins `now`. Its name is one that no file
    /// beside it with `sidecar` as ending has either.
    pub fn create(
        &mut self,
        force: bool,
        now: i64,
        sidecar: Option<&str>,
    ) -> anyhow::Result<(File, PathBuf)> {
        self.created += 1;
        if self.number.is_none() {
            self.tag = self.tag.as_ref().map(|_| tag(now));
        }
        let tags = self.candidates();
        let is_only = tags.len() == 1;
        for tag in tags {
            let path = self.path(tag.as_deref());
            let file = match create_new(&path, sidecar) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => match tag {
                    None if force => File::create(&path).with_context(|| cannot(&path))?,
                    Some(_) if !is_only => continue,
                    Some(_) => bail!("{} exists already", path.display()),
                    None => {
                        let beside = sidecar.map(|ending| path.with_extension(ending));
                        bail!(exists(&beside.filter(|_| !path.exists()).unwrap_or(path)))
                    }
                },
                created => created.with_context(|| cannot(&path))?,
            };
            if self.tag.is_some() {
                self.tag = tag;
            }
            self.number = self.number.map(|number| number + 1);
            return Ok((file, path));
        }
        bail!("{} and its like exist already", self.path(None).display())
    }

    /// What the next name may have behind its stem, the best first.
    fn candidates(&self) -> Vec<Option<String>> {
        let Some(tag) = &self.tag else {
            return match self.created {
                1 => vec![None],
                // A name that nobody has asked for must not be taken from anybody.
                number => (number..number + MOST_LIKE)
                    .map(|number| Some(number.to_string()))
                    .collect(),
            };
        };
        // Those of a rotated recording keep the tag of the first.
        if self.number.is_some_and(|number| number > 1) {
            return vec![Some(tag.clone())];
        }
        // Another recording may have begun in the same second.
        let others = (2..MOST_LIKE).map(|number| Some(format!("{tag}-{number}")));
        std::iter::once(Some(tag.clone())).chain(others).collect()
    }
}

/// A moment in nanoseconds since 1970, as names have it.
fn tag(time: i64) -> String {
    let time = DateTime::from_timestamp_nanos(time);
    time.format("%Y%m%dT%H%M%SZ").to_string()
}

fn create_new(path: &Path, sidecar: Option<&str>) -> io::Result<File> {
    if sidecar.is_some_and(|ending| path.with_extension(ending).exists()) {
        return Err(ErrorKind::AlreadyExists.into());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

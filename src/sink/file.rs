//! Output files that appear whole or not at all: written under a temporary
//! name beside their place, synced, and renamed when everything else is done.
//! Standard output is the exception.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

use crate::disk::sync_folder_of;

const BUFFER: usize = 1 << 18;

/// A file or stream that is being written.
pub(super) struct OutputFile {
    writer: BufWriter<Target>,
    written: u64,
}

enum Target {
    Temporary {
        file: NamedTempFile,
        path: PathBuf,
        replace: bool,
    },
    Stdout(io::Stdout),
}

/// An output that is complete but, if it is a file, not yet in its place.
#[must_use = "a file gets its name only when it is published"]
pub(super) struct Completed {
    target: Target,
    pub(super) written: u64,
}

impl OutputFile {
    /// Begins a file that will be at `path`; `replace` lets it take the place
    /// of another.
    pub(super) fn create(path: &Path, replace: bool) -> anyhow::Result<OutputFile> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cannot = || format!("cannot write {}", path.display());
        std::fs::create_dir_all(folder).with_context(cannot)?;
        let prefix = format!(".{name}.");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Like any new file: what the umask leaves of this.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).with_context(cannot)?;
        let target = Target::Temporary {
            file,
            path: path.into(),
            replace,
        };
        Ok(OutputFile::new(target))
    }

    pub(super) fn stdout() -> OutputFile {
        OutputFile::new(Target::Stdout(io::stdout()))
    }

    fn new(target: Target) -> OutputFile {
        OutputFile {
            writer: BufWriter::with_capacity(BUFFER, target),
            written: 0,
        }
    }

    /// Writes out all that is buffered, down to the disk.
    pub(super) fn complete(mut self) -> anyhow::Result<Completed> {
        let written = self.written;
        // Standard output has a buffer of its own, whose errors are lost later.
        self.writer.flush()?;
        let target = self
            .writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        if let Target::Temporary { file, path, .. } = &target {
            file.as_file()
                .sync_all()
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(Completed { target, written })
    }
}

impl Completed {
    /// Gives the file its name.
    pub(super) fn publish(self) -> anyhow::Result<()> {
        let Target::Temporary {
            file,
            path,
            replace,
        } = self.target
        else {
            return Ok(());
        };
        let persisted = match replace {
            true => file.persist(&path),
            false => file.persist_noclobber(&path),
        };
        persisted
            .map_err(|error| error.error)
            .with_context(|| format!("cannot write {}", path.display()))?;
        sync_folder_of(&path);
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Temporary { file, path, .. } => {
                file.as_file_mut().write(bytes).map_err(|error| {
                    let message = format!("cannot write {}: {error}", path.display());
                    io::Error::new(error.kind(), message)
                })
            }
            Target::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Temporary { file, .. } => file.flush(),
            Target::Stdout(stdout) => stdout.flush(),
        }
    }
}

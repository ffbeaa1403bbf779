//! The files of a recording: written in place, append-only, valid at every
//! moment. When one ends and the next begins, how much of them is on the disk,
//! and what is left when the disk is full; their names are made in `names`, what
//! they consist of in `datagrams` and `ticks`.

mod datagrams;
mod names;
mod syncer;
mod ticks;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use names::Names;
use syncer::Syncer;

pub use datagrams::DatagramOptions;
pub(super) use datagrams::{DatagramContent, DatagramContext, DatagramRecord, Drops};
pub(super) use ticks::{TickContent, TickRecord, TickStart};

use super::udp::PATIENCE;
use crate::capture::Patch;
use crate::disk::sync_folder_of;

/// How often the writer looks at the clock.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// Enough for one call to the system.
const WORTH_WRITING: usize = 1 << 18;

/// What a pipe surely takes at once if it takes anything.
const AT_ONCE: usize = 4_096;
/// How long a datagram waits at most before it is written: until the slowest of
/// several sockets has looked up, and the writer twice.
const LONGEST_ON_THE_WAY: Duration = PATIENCE.saturating_add(TICK.saturating_mul(2));

/// Where recordings go.
#[derive(Debug, Clone)]
pub enum Output {
    Stdout,
    /// Exactly this file; with rotation its name is the beginning of theirs.
    File(PathBuf),
    /// A file in this folder, named after `stem` and the time.
    Named {
        folder: PathBuf,
        stem: String,
    },
}

/// When a file ends and another begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// Before it has more than so many bytes.
    Size(u64),
    /// After so much time.
    Time(Duration),
}

/// How to write a recording.
#[derive(Debug, Clone)]
pub struct FileOptions {
    pub output: Output,
    /// That of a file whose name is not given.
    pub extension: &'static str,
    pub rotate: Vec<Rotation>,
    /// How many files to keep of a rotated recording, the latest; all if absent.
    pub keep: Option<usize>,
    /// Whether a file may be replaced.
    pub force: bool,
    /// How much can be lost at most if the machine fails.
    pub flush_interval: Duration,
    /// Bytes of all files together, at most.
    pub most_bytes: Option<u64>,
}

fn exists(path: &Path) -> String {
    format!(
        "{} exists already; --force replaces it, and without -o each recording gets a name of its \
         own",
        path.display()
    )
}

/// What the files of a recording consist of: makes the bytes of one of them.
pub(super) trait Content: Sized {
    /// What records are, in messages.
    const RECORDS: &'static str;
    /// How the name of a second file ends that lies beside each.
    const SIDECAR: Option<&'static str>;
    /// What is recorded.
    type Record<'a>;
    /// What a file begins and ends with.
    type Context<'a>: Copy;

    fn begin(context: Self::Context<'_>, now: i64) -> anyhow::Result<Self>;
    /// Nanoseconds since 1970.
    fn time(record: &Self::Record<'_>) -> i64;
    /// Adds a record; returns the bytes of its payload.
    fn add(&mut self, record: &Self::Record<'_>) -> anyhow::Result<u64>;
    /// Takes the record back that was added last, when there were so many bytes.
    fn take_back(&mut self, bytes: usize);
    /// What is not in the file yet.
    fn bytes(&self) -> &[u8];
    /// What is still to be added when the file ends.
    fn closing_bytes(&self) -> u64;
    fn close(&mut self, context: Self::Context<'_>, now: i64) -> anyhow::Result<()>;
    /// Lets go of the bytes, of which so many are in the file now; returns what
    /// must change in it because of them.
    fn written(&mut self, length: usize) -> Vec<Patch>;
    /// What is to be added to the file beside it.
    fn sidecar(&mut self) -> &mut Vec<u8>;
}

/// The files of one recording.
pub(super) struct Files<C> {
    options: FileOptions,
    names: Names,
    current: Option<Current<C>>,
    finished: VecDeque<PathBuf>,
    finished_bytes: u64,
    syncer: Syncer,
    pub written: Written,
    /// Set when a stream that nobody reads is not to be waited for any more.
    pub abandoned: Arc<AtomicBool>,
}

/// What has been written.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    pub records: u64,
    /// Of payload.
    pub payload_bytes: u64,
    /// Of all files, those that are gone included.
    pub bytes: u64,
    /// Begun so far.
    pub files: u64,
    /// The one that is written to, or was last.
    pub path: Option<PathBuf>,
    /// Files of the ring that could not be removed.
    pub not_removed: Vec<String>,
}

/// The file that is being written.
struct Current<C> {
    sink: Sink,
    content: C,
    /// Where each record in the content's bytes ends, with its payload's length.
    pending: Vec<(usize, u64)>,
    /// Whether the file has a record, or is about to.
    has_records: bool,
    /// How much was to be written beside it when the last record was added.
    beside: usize,
    /// Bytes in the file.
    written: u64,
    began: Instant,
    synced: Instant,
    /// Whether there is something that was not synced.
    is_dirty: bool,
}

enum Sink {
    Stream {
        stdout: File,
        abandoned: Arc<AtomicBool>,
    },
    File {
        file: File,
        path: PathBuf,
        sidecar: Option<Sidecar>,
    },
}

/// A file beside another.
struct Sidecar {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// Whether there is something that was not synced.
    is_dirty: bool,
}

impl Sidecar {
    /// Begins the one beside `path`. There is no other, or it may be replaced.
    fn create(path: &Path, ending: &str) -> anyhow::Result<Sidecar> {
        let path = path.with_extension(ending);
        let cannot = || format!("cannot write {}", path.display());
        Ok(Sidecar {
            file: File::create(&path).with_context(cannot)?,
            path,
            bytes: 0,
            is_dirty: false,
        })
    }
}

impl<C: Content> Files<C> {
    /// Says beforehand what would keep the first file from being written.
    ///
    /// # Errors
    /// If there is such a file already, or no folder that takes it.
    pub fn check(options: &FileOptions) -> anyhow::Result<()> {
        let folder = match &options.output {
            Output::Stdout => return Ok(()),
            Output::Named { folder, .. } => Some(folder.as_path()),
            Output::File(path) => {
                let sidecar = C::SIDECAR.map(|ending| path.with_extension(ending));
                let is_exact = options.rotate.is_empty() && !options.force;
                let mut paths = [Some(path.clone()), sidecar].into_iter().flatten();
                if let Some(path) = paths.find(|path| is_exact && path.exists()) {
                    bail!(exists(&path));
                }
                path.parent()
            }
        };
        let folder = folder.filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let probe = std::fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
        probe.with_context(|| format!("cannot write to {}", folder.display()))?;
        Ok(())
    }

    /// Begins the first file, so that one that cannot be written is known at
    /// once. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// If it cannot be written, or exists.
    pub fn create(
        options: FileOptions,
        context: C::Context<'_>,
        now: i64,
    ) -> anyhow::Result<Files<C>> {
        let mut files = Files {
            names: Names::new(&options, now),
            current: None,
            finished: VecDeque::new(),
            finished_bytes: 0,
            syncer: Syncer::start(),
            written: Written::default(),
            abandoned: Arc::default(),
            options,
        };
        if !files.begin(context, now)? {
            bail!("what a file begins with is more already than --max-size allows");
        }
        Ok(files)
    }

    /// Adds a record. `false` if the recording would become larger than it may.
    ///
    /// # Errors
    /// If it cannot be written. The file then holds all whole records that fit.
    pub fn write(
        &mut self,
        record: &C::Record<'_>,
        context: C::Context<'_>,
    ) -> anyhow::Result<bool> {
        loop {
            let Some(current) = &mut self.current else {
                if !self.begin(context, C::time(record))? {
                    return Ok(false);
                }
                continue;
            };
            let before = current.content.bytes().len();
            let beside = current.content.sidecar().len();
            let length = current.content.add(record)?;
            let size = current.size() + current.content.closing_bytes();
            let too_large = |limit: &Rotation| match limit {
                Rotation::Size(limit) => size > *limit,
                Rotation::Time(_) => false,
            };
            let is_full = self
                .options
                .most_bytes
                .is_some_and(|most| self.finished_bytes + size > most);
            let rotates = current.has_records && self.options.rotate.iter().any(too_large);
            if is_full || rotates {
                current.content.take_back(before);
                // What belongs to the record that has no room.
                current.content.sidecar().truncate(current.beside);
                if is_full {
                    return Ok(false);
                }
                self.end(context, C::time(record))?;
                continue;
            }
            let end = current.content.bytes().len();
            current.pending.push((end, length));
            current.is_dirty = true;
            current.has_records = true;
            current.beside = beside;
            if end >= WORTH_WRITING {
                self.flush()?;
            }
            return Ok(true);
        }
    }

    /// Changes what the current file says besides its records.
    pub fn change(&mut self, change: impl FnOnce(&mut C)) {
        if let Some(current) = &mut self.current {
            change(&mut current.content);
            current.is_dirty = true;
        }
    }

    /// Does what the time demands.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn tick(&mut self, context: C::Context<'_>, now: i64) -> anyhow::Result<()> {
        self.syncer.check()?;
        let Some(current) = &self.current else {
            return Ok(());
        };
        let age = current.began.elapsed();
        let is_due = self.options.rotate.iter().any(|rule| match rule {
            Rotation::Time(limit) => age >= *limit,
            Rotation::Size(_) => false,
        });
        if is_due {
            return self.end(context, now);
        }
        // In time for what came just after the last occasion.
        let patience = self
            .options
            .flush_interval
            .saturating_sub(LONGEST_ON_THE_WAY);
        let is_stream = matches!(current.sink, Sink::Stream { .. });
        if !current.is_dirty || !is_stream && current.synced.elapsed() < patience {
            return Ok(());
        }
        self.flush()?;
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        current.synced = Instant::now();
        current.is_dirty = false;
        if let Sink::File {
            file,
            path,
            sidecar,
        } = &mut current.sink
        {
            if let Some(sidecar) = sidecar.as_mut().filter(|sidecar| sidecar.is_dirty) {
                sidecar.is_dirty = !self.syncer.sync(&sidecar.file);
            }
            if is_removed(file) {
                bail!(
                    "{} was removed while it was written to: what it held is lost, and the \
                     recording ends",
                    path.display()
                );
            }
            // If the disk is still busy with the last, it comes next time.
            current.is_dirty = !self.syncer.sync(file);
        }
        Ok(())
    }

    /// Ends the current file, and begins another at once.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn begin_another(
        &mut self,
        before: C::Context<'_>,
        context: C::Context<'_>,
        now: i64,
    ) -> anyhow::Result<()> {
        self.end(before, now)?;
        // Without room for it the next record says so.
        self.begin(context, now).map(|_| ())
    }

    /// Ends the last file and waits until all of them are on the disk.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn finish(&mut self, context: C::Context<'_>, now: i64) -> anyhow::Result<()> {
        self.end(context, now)?;
        self.syncer.finish()
    }

    /// Begins a file; `false` if the recording would become larger than it may.
    fn begin(&mut self, context: C::Context<'_>, now: i64) -> anyhow::Result<bool> {
        let mut content = C::begin(context, now)?;
        let head = (content.bytes().len() + content.sidecar().len()) as u64;
        let most = self.options.most_bytes;
        if most.is_some_and(|most| self.finished_bytes + head > most) {
            return Ok(false);
        }
        let sink = match &self.options.output {
            Output::Stdout => Sink::Stream {
                stdout: stdout()?,
                abandoned: self.abandoned.clone(),
            },
            Output::File(_) | Output::Named { .. } => {
                let (file, path) = self.names.create(self.options.force, now, C::SIDECAR)?;
                let sidecar = C::SIDECAR.map(|ending| Sidecar::create(&path, ending));
                let sidecar = sidecar.transpose().inspect_err(|_| {
                    std::fs::remove_file(&path).ok();
                })?;
                sync_folder_of(&path);
                Sink::File {
                    file,
                    path,
                    sidecar,
                }
            }
        };
        if let Sink::File { path, .. } = &sink {
            self.written.path = Some(path.clone());
        }
        self.written.files += 1;
        self.current = Some(Current {
            sink,
            content,
            pending: Vec::new(),
            has_records: false,
            beside: usize::MAX,
            written: 0,
            began: Instant::now(),
            synced: Instant::now(),
            is_dirty: true,
        });
        self.keep_to_the_ring();
        // A file is one from its first moment.
        self.flush()?;
        Ok(true)
    }

    /// Ends the current file, if there is one.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn end(&mut self, context: C::Context<'_>, now: i64) -> anyhow::Result<()> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        current.content.close(context, now)?;
        self.flush()?;
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        self.finished_bytes += current.total();
        if let Sink::File {
            file,
            path,
            sidecar,
        } = current.sink
        {
            self.syncer.sync_last(file);
            if let Some(sidecar) = sidecar {
                self.syncer.sync_last(sidecar.file);
            }
            self.finished.push_back(path);
        }
        Ok(())
    }

    fn keep_to_the_ring(&mut self) {
        let Some(keep) = self.options.keep else {
            return;
        };
        // One is being written.
        while self.finished.len() + 1 > keep {
            let Some(oldest) = self.finished.pop_front() else {
                return;
            };
            if let Some(ending) = C::SIDECAR {
                std::fs::remove_file(oldest.with_extension(ending)).ok();
            }
            if let Err(error) = std::fs::remove_file(&oldest) {
                let note = format!("cannot remove {}: {error}", oldest.display());
                self.written.not_removed.push(note);
            }
        }
    }

    /// Hands what has been made to the system.
    fn flush(&mut self) -> anyhow::Result<()> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let result = current.flush();
        let (records, payload_bytes, bytes) = match &result {
            Ok(flushed) | Err((flushed, _)) => *flushed,
        };
        self.written.records += records;
        self.written.payload_bytes += payload_bytes;
        self.written.bytes += bytes;
        match result {
            Ok(_) => Ok(()),
            Err((_, error)) => {
                let current = self.current.take();
                Err(self.explain(error, current))
            }
        }
    }

    fn explain(&self, error: io::Error, current: Option<Current<C>>) -> anyhow::Error {
        let Some(Current {
            sink:
                Sink::File {
                    path,
                    file,
                    sidecar,
                },
            written,
            ..
        }) = current
        else {
            return anyhow::Error::new(error).context("cannot write to standard output");
        };
        let error = anyhow::Error::new(error);
        if written == 0 {
            // Not even a header.
            drop(file);
            std::fs::remove_file(&path).ok();
            if let Some(Sidecar { path, file, .. }) = sidecar {
                drop(file);
                std::fs::remove_file(path).ok();
            }
            return error.context(format!("cannot write {}", path.display()));
        }
        file.sync_all().ok();
        error.context(format!(
            "cannot write more to {}, which is whole up to its byte {written}; the recording ends \
             with {} {}",
            path.display(),
            self.written.records,
            C::RECORDS
        ))
    }
}

/// Records, bytes of their payload, and bytes of the file.
type Flushed = (u64, u64, u64);

impl<C: Content> Current<C> {
    /// With what is to be written.
    fn size(&mut self) -> u64 {
        let waiting = self.content.bytes().len() + self.content.sidecar().len();
        self.total() + waiting as u64
    }

    /// Bytes in the file, and in the one beside it.
    fn total(&self) -> u64 {
        match &self.sink {
            Sink::File {
                sidecar: Some(sidecar),
                ..
            } => self.written + sidecar.bytes,
            _ => self.written,
        }
    }

    fn flush(&mut self) -> Result<Flushed, (Flushed, io::Error)> {
        let bytes = self.content.bytes();
        let mut done = 0;
        let result = loop {
            if done == bytes.len() {
                break self.sink.flush();
            }
            match self.sink.write(&bytes[done..]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(length) => done += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        // Half a record is none.
        let whole = match result {
            Ok(()) => self.pending.len(),
            Err(_) => self.pending.partition_point(|(end, _)| *end <= done),
        };
        let kept = match (&result, whole.checked_sub(1)) {
            (Ok(()), _) => done,
            (Err(_), Some(last)) => self.pending[last].0,
            (Err(_), None) => 0,
        };
        if let (Err(_), Sink::File { file, .. }) = (&result, &self.sink) {
            file.set_len(self.written + kept as u64).ok();
        }
        let before = self.total();
        self.written += kept as u64;
        let payload = self.pending[..whole].iter().map(|(_, length)| length);
        let (whole, payload) = (whole as u64, payload.sum());
        self.pending.clear();
        let patches = self.content.written(kept);
        let sidecar = std::mem::take(self.content.sidecar());
        self.beside = 0;
        // What the file says of its records must be true, whatever happened.
        let patched = self.sink.patch(&patches, self.written);
        let result = result
            .and(patched)
            .and_then(|()| self.sink.add_to_sidecar(&sidecar));
        let flushed = (whole, payload, self.total() - before);
        result.map(|()| flushed).map_err(|error| (flushed, error))
    }
}

impl Sink {
    /// Changes bytes in the file, and goes back to its end.
    fn patch(&mut self, patches: &[Patch], end: u64) -> io::Result<()> {
        let Sink::File { file, .. } = self else {
            return Ok(());
        };
        for patch in patches {
            file.seek(SeekFrom::Start(patch.offset))?;
            file.write_all(&patch.bytes)?;
        }
        if !patches.is_empty() {
            file.seek(SeekFrom::Start(end))?;
        }
        Ok(())
    }

    fn add_to_sidecar(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Sink::File {
                sidecar: Some(sidecar),
                ..
            } => {
                sidecar.file.write_all(bytes)?;
                sidecar.bytes += bytes.len() as u64;
                sidecar.is_dirty |= !bytes.is_empty();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::Stream { stdout, abandoned } => {
                while !is_writable(stdout)? {
                    if abandoned.load(Ordering::Acquire) {
                        let what = "whoever reads it has stopped reading";
                        return Err(io::Error::new(ErrorKind::TimedOut, what));
                    }
                }
                stdout.write(&bytes[..bytes.len().min(AT_ONCE)])
            }
            Sink::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::Stream { stdout: file, .. } | Sink::File { file, .. } => file.flush(),
        }
    }
}

/// Standard output without the buffer that the library has for it.
fn stdout() -> io::Result<File> {
    #[cfg(unix)]
    let stdout = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let stdout = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned()?;
    Ok(File::from(stdout))
}

/// Waits a moment for whoever reads a pipe.
#[cfg(unix)]
fn is_writable(pipe: &File) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    match poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Other systems cannot tell.
#[cfg(not(unix))]
fn is_writable(_pipe: &File) -> io::Result<bool> {
    Ok(true)
}

/// Whether a file has no name any more.
fn is_removed(file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }
    #[cfg(not(unix))]
    {
        // Where files in use cannot be removed.
        let _ = file;
        false
    }
}

//! The files of a recording: written in place, append-only, valid at every
//! moment. When one ends and the next begins, how much of them is on the disk,
//! and what is left when the disk is full; their names are made in `names`.

mod names;
mod syncer;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;

use names::Names;
use syncer::Syncer;

use super::queue::Head;
use super::udp::PATIENCE;
use crate::capture::{Arrival, CaptureFormat, Encoder, InterfaceStatistics};
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
    pub format: CaptureFormat,
    pub rotate: Vec<Rotation>,
    /// How many files to keep of a rotated recording, the latest; all if absent.
    pub keep: Option<usize>,
    /// Whether a file may be replaced.
    pub force: bool,
    /// How much can be lost at most if the machine fails.
    pub flush_interval: Duration,
    /// Bytes of all files together, at most.
    pub most_bytes: Option<u64>,
    /// What a pcapng says of itself.
    pub comment: String,
}

/// Drops of one listener until now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Drops {
    pub by_system: u64,
    pub later: u64,
}

/// The files of one recording.
pub(super) struct Files {
    options: FileOptions,
    interfaces: Vec<String>,
    names: Names,
    current: Option<Current>,
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
    pub datagrams: u64,
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
struct Current {
    sink: Sink,
    encoder: Encoder,
    /// Where each record in the encoder's bytes ends, with its payload's length.
    pending: Vec<(usize, u64)>,
    /// Bytes in the file.
    written: u64,
    began: Instant,
    synced: Instant,
    /// Whether there is something that was not synced.
    is_dirty: bool,
    start: i64,
    /// Datagrams of each listener.
    recorded: Vec<u64>,
    drops_before: Vec<Drops>,
}

enum Sink {
    Stream {
        stdout: File,
        abandoned: Arc<AtomicBool>,
    },
    File {
        file: File,
        path: PathBuf,
    },
}

impl Files {
    /// Begins the first file, so that one that cannot be written is known at
    /// once. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// If it cannot be written, or exists.
    pub fn create(
        options: FileOptions,
        interfaces: Vec<String>,
        now: i64,
    ) -> anyhow::Result<Files> {
        let mut files = Files {
            names: Names::new(&options, now),
            current: None,
            finished: VecDeque::new(),
            finished_bytes: 0,
            syncer: Syncer::start(),
            written: Written::default(),
            abandoned: Arc::default(),
            options,
            interfaces,
        };
        let none = vec![Drops::default(); files.interfaces.len()];
        files.begin(now, &none)?;
        Ok(files)
    }

    /// Adds a datagram. `false` if the recording would become larger than it may.
    ///
    /// # Errors
    /// If it cannot be written. The file then holds all whole records that fit.
    pub fn write(&mut self, head: &Head, payload: &[u8], drops: &[Drops]) -> anyhow::Result<bool> {
        let arrival = Arrival {
            interface: u32::try_from(head.listener)?,
            time: head.time,
            source: head.source,
            destination: head.destination,
            payload,
            lost_before: head.lost_before,
        };
        loop {
            let closing = self.closing_bytes();
            let Some(current) = &mut self.current else {
                self.begin(head.time, drops)?;
                continue;
            };
            let before = current.encoder.bytes().len();
            current.encoder.datagram(&arrival)?;
            let size = current.size() + closing;
            let too_large = |limit: &Rotation| match limit {
                Rotation::Size(limit) => size > *limit,
                Rotation::Time(_) => false,
            };
            let is_full = self
                .options
                .most_bytes
                .is_some_and(|most| self.finished_bytes + size > most);
            let is_first = current.recorded.iter().all(|count| *count == 0);
            let rotates = !is_first && self.options.rotate.iter().any(too_large);
            if is_full || rotates {
                current.encoder.bytes_mut().truncate(before);
                if is_full {
                    return Ok(false);
                }
                self.end(head.time, drops)?;
                continue;
            }
            let end = current.encoder.bytes().len();
            current.pending.push((end, payload.len() as u64));
            current.is_dirty = true;
            current.recorded[head.listener] += 1;
            if end >= WORTH_WRITING {
                self.flush()?;
            }
            return Ok(true);
        }
    }

    /// Does what the time demands.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn tick(&mut self, now: i64, drops: &[Drops]) -> anyhow::Result<()> {
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
            return self.end(now, drops);
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
        if let Sink::File { file, path } = &current.sink {
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

    /// Ends the last file and waits until all of them are on the disk.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn finish(&mut self, now: i64, drops: &[Drops]) -> anyhow::Result<()> {
        self.end(now, drops)?;
        self.syncer.finish()
    }

    fn begin(&mut self, now: i64, drops: &[Drops]) -> anyhow::Result<()> {
        let sink = match &self.options.output {
            Output::Stdout => Sink::Stream {
                stdout: stdout()?,
                abandoned: self.abandoned.clone(),
            },
            Output::File(_) | Output::Named { .. } => {
                let (file, path) = self.names.create(self.options.force)?;
                sync_folder_of(&path);
                Sink::File { file, path }
            }
        };
        if let Sink::File { path, .. } = &sink {
            self.written.path = Some(path.clone());
        }
        self.written.files += 1;
        let encoder = Encoder::new(self.options.format, &self.interfaces, &self.options.comment)?;
        self.current = Some(Current {
            sink,
            encoder,
            pending: Vec::new(),
            written: 0,
            began: Instant::now(),
            synced: Instant::now(),
            is_dirty: true,
            start: now,
            recorded: vec![0; self.interfaces.len()],
            drops_before: drops.to_vec(),
        });
        self.keep_to_the_ring();
        // A file is one from its first moment.
        self.flush()
    }

    /// Ends the current file, if there is one.
    fn end(&mut self, now: i64, drops: &[Drops]) -> anyhow::Result<()> {
        let Some(current) = &mut self.current else {
            return Ok(());
        };
        let counts = current
            .recorded
            .iter()
            .zip(&current.drops_before)
            .zip(drops);
        for (interface, ((recorded, before), drops)) in (0..).zip(counts) {
            current.encoder.statistics(
                interface,
                &InterfaceStatistics {
                    start: current.start,
                    end: now,
                    recorded: *recorded,
                    dropped_by_system: drops.by_system - before.by_system,
                    dropped_later: drops.later - before.later,
                },
            )?;
        }
        self.flush()?;
        let Some(current) = self.current.take() else {
            return Ok(());
        };
        self.finished_bytes += current.written;
        if let Sink::File { file, path } = current.sink {
            self.syncer.sync_last(file);
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
        let (datagrams, payload_bytes, bytes) = match &result {
            Ok(flushed) | Err((flushed, _)) => *flushed,
        };
        self.written.datagrams += datagrams;
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

    fn explain(&self, error: io::Error, current: Option<Current>) -> anyhow::Error {
        let Some(Current {
            sink: Sink::File { path, file },
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
            return error.context(format!("cannot write {}", path.display()));
        }
        file.sync_all().ok();
        error.context(format!(
            "cannot write more to {}, which is whole up to its byte {written}; the recording ends \
             with {} datagrams",
            path.display(),
            self.written.datagrams
        ))
    }

    /// What is still to be added to the current file when it ends.
    fn closing_bytes(&self) -> u64 {
        match self.options.format {
            CaptureFormat::Pcap => 0,
            CaptureFormat::PcapNg => STATISTICS_BLOCK * self.interfaces.len() as u64,
        }
    }
}

/// Length of the block that says at the end what was dropped.
const STATISTICS_BLOCK: u64 = 100;

/// Datagrams, bytes of their payload, and bytes of the file.
type Flushed = (u64, u64, u64);

impl Current {
    fn size(&self) -> u64 {
        self.written + self.encoder.bytes().len() as u64
    }

    fn flush(&mut self) -> Result<Flushed, (Flushed, io::Error)> {
        let bytes = self.encoder.bytes();
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
        self.written += kept as u64;
        let payload = self.pending[..whole].iter().map(|(_, length)| length);
        let flushed = (whole as u64, payload.sum(), kept as u64);
        self.pending.clear();
        self.encoder.bytes_mut().clear();
        result.map(|()| flushed).map_err(|error| (flushed, error))
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

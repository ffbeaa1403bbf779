//! Bytes that several programs share: opened to be read, or made to be written.
//! Knows nothing of what is in them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering, fence};
use std::time::Duration;

use anyhow::{Context, bail};
use memmap2::MmapMut;

use super::MapPlace;
#[cfg(windows)]
use super::windows::{DataEvent, View};
use crate::clock::nanoseconds;
use crate::live::pace::{Clock, SystemClock};

/// How long to wait for the event of a new tick: about one tick.
#[cfg(windows)]
const TICK_WAIT: Duration = Duration::from_millis(16);

/// Memory that another program writes.
pub(super) struct Region {
    bytes: Bytes,
    length: usize,
    clock: SystemClock,
}

enum Bytes {
    /// Reading a file, unlike looking into its mapping, survives that another
    /// program shortens it.
    #[cfg(unix)]
    File(File),
    #[cfg(not(unix))]
    File(memmap2::Mmap),
    #[cfg(windows)]
    Named(View, Option<DataEvent>),
}

impl Region {
    /// # Errors
    /// `NotFound` if it is not there yet.
    pub fn open(place: &MapPlace) -> io::Result<Region> {
        let (bytes, length) = match place {
            MapPlace::File(path) => Bytes::file(path)?,
            #[cfg(windows)]
            MapPlace::Simulator | MapPlace::Isolated => {
                let (mapping, event) = place.names();
                let view = View::open(mapping)?;
                let length = view.length();
                (Bytes::Named(view, DataEvent::open(event).ok()), length)
            }
            #[cfg(not(windows))]
            MapPlace::Simulator | MapPlace::Isolated => return Err(no_names()),
        };
        Ok(Region {
            bytes,
            length,
            clock: SystemClock::new(),
        })
    }

    /// Its size when it was opened.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Copies what is at `offset` now. What was copied before was read before.
    ///
    /// # Errors
    /// If it does not reach so far, or not any more.
    pub fn read(&self, offset: usize, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len());
        if end.is_none_or(|end| end > self.length) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        fence(Ordering::SeqCst);
        match &self.bytes {
            #[cfg(unix)]
            Bytes::File(file) => {
                use std::os::unix::fs::FileExt;
                file.read_exact_at(buffer, offset as u64)?;
            }
            #[cfg(not(unix))]
            Bytes::File(map) => copy(map.as_ptr(), offset, buffer),
            #[cfg(windows)]
            Bytes::Named(view, _) => copy(view.start(), offset, buffer),
        }
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Waits until there may be something new, or this long where nothing says so.
    pub fn wait(&self, patience: Duration) {
        #[cfg(windows)]
        if let Bytes::Named(_, Some(event)) = &self.bytes {
            // It is set and reset at once, so it may well be missed.
            event.wait(TICK_WAIT);
            return;
        }
        let patience = nanoseconds(patience);
        self.clock.sleep_until(self.clock.now() + patience);
    }
}

impl Bytes {
    #[cfg(unix)]
    fn file(path: &Path) -> io::Result<(Bytes, usize)> {
        // To open a pipe would wait for somebody who writes to it.
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        Ok((Bytes::File(file), length))
    }

    #[cfg(not(unix))]
    fn file(path: &Path) -> io::Result<(Bytes, usize)> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        // SAFETY: here files that are mapped cannot be shortened, and what is in
        // them is only ever copied, never referred to.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        let length = map.len();
        Ok((Bytes::File(map), length))
    }
}

/// Copies memory that others may write to meanwhile.
#[cfg(not(unix))]
fn copy(start: *const u8, offset: usize, buffer: &mut [u8]) {
    // SAFETY: the caller has checked that the memory reaches so far. It may
    // change while it is copied; whether it has is found out afterwards.
    unsafe { std::ptr::copy_nonoverlapping(start.add(offset), buffer.as_mut_ptr(), buffer.len()) };
}

#[cfg(not(windows))]
fn no_names() -> io::Error {
    let what = "only Windows has shared memory with names";
    io::Error::new(ErrorKind::Unsupported, what)
}

/// Memory that others read while we write.
pub(super) struct Memory {
    start: *mut u8,
    length: usize,
    /// Keeps the memory, and the lock on the file.
    keeper: Keeper,
}

enum Keeper {
    File {
        _map: MmapMut,
        _file: File,
    },
    #[cfg(windows)]
    Named {
        _view: View,
        event: DataEvent,
    },
}

// SAFETY: the memory belongs to this value alone as far as this program goes.
unsafe impl Send for Memory {}

impl Memory {
    /// Makes it, at least `length` bytes. A file that is there must be one that
    /// `is_ours` by its first bytes; it is changed in place, for those who read
    /// it.
    ///
    /// # Errors
    /// If it cannot be made, or somebody else writes it.
    pub fn create(
        place: &MapPlace,
        length: usize,
        is_ours: impl FnOnce(&[u8]) -> bool,
    ) -> anyhow::Result<Memory> {
        match place {
            MapPlace::File(path) => Memory::in_file(path, length, is_ours)
                .with_context(|| format!("cannot use {place}")),
            #[cfg(windows)]
            MapPlace::Simulator | MapPlace::Isolated => {
                let (mapping, event) = place.names();
                let view = View::create(mapping, length)?;
                if view.length() < length {
                    bail!("another program holds a smaller {mapping} open: end that first");
                }
                Ok(Memory {
                    start: view.start().cast_mut(),
                    length,
                    keeper: Keeper::Named {
                        _view: view,
                        event: DataEvent::create(event)?,
                    },
                })
            }
            #[cfg(not(windows))]
            MapPlace::Simulator | MapPlace::Isolated => Err(no_names().into()),
        }
    }

    fn in_file(
        path: &Path,
        length: usize,
        is_ours: impl FnOnce(&[u8]) -> bool,
    ) -> anyhow::Result<Memory> {
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            bail!("it is not a file");
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        if file.try_lock().is_err() {
            bail!("another replay writes to it");
        }
        let before = file.metadata()?.len();
        if before > 0 {
            let mut start = Vec::new();
            (&file).take(4_096).read_to_end(&mut start)?;
            if !is_ours(&start) {
                bail!("it holds something else than a simulator's memory: give another name");
            }
        }
        if before < length as u64 {
            // Really written: a hole would only meet a full disk later.
            let missing = length - before as usize;
            file.seek(SeekFrom::End(0))?;
            file.write_all(&vec![0; missing])?;
        }
        // SAFETY: only others look at it, and what we write is never read again.
        let mut map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Memory {
            start: map.as_mut_ptr(),
            length: map.len(),
            keeper: Keeper::File {
                _map: map,
                _file: file,
            },
        })
    }

    /// Writes bytes; what was written before is there before.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        assert!(
            offset + bytes.len() <= self.length,
            "it was made large enough"
        );
        fence(Ordering::SeqCst);
        // SAFETY: the memory reaches so far, and is nowhere referred to.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.add(offset), bytes.len());
        }
        fence(Ordering::SeqCst);
    }

    /// Writes a number at once.
    pub fn store(&mut self, offset: usize, value: i32) {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.length);
        // SAFETY: the memory reaches so far, begins at a page and so is aligned,
        // and this program does not access it otherwise meanwhile.
        let number = unsafe { AtomicI32::from_ptr(self.start.add(offset).cast()) };
        number.store(value.to_le(), Ordering::SeqCst);
    }

    /// Tells those who wait that there is something new.
    pub fn signal(&self) {
        match &self.keeper {
            Keeper::File { .. } => {}
            #[cfg(windows)]
            Keeper::Named { event, .. } => event.signal(),
        }
    }
}

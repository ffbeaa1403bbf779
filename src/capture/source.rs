//! The bytes of a capture as a window that moves forward: over a memory map
//! for files, over a growing buffer for streams (standard input, compressed
//! files). Nothing here knows what the bytes mean.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;

use super::{Damage, cut_stream, is_cut_stream};

/// How much a stream is read ahead at a time.
const CHUNK: usize = 1 << 20;

/// A window on the bytes of a capture, from the current position on.
pub(super) struct Window {
    bytes: Bytes,
    /// Offset of the window's first byte in the (decompressed) capture.
    offset: u64,
}

enum Bytes {
    Mapped {
        map: Arc<Mmap>,
        at: usize,
    },
    Stream {
        reader: Box<dyn Read + Send>,
        buffer: Vec<u8>,
        at: usize,
        ended: bool,
    },
}

impl Window {
    /// A window over a regular file that is not empty.
    pub(super) fn map(file: &File) -> io::Result<Window> {
        Ok(Window {
            bytes: Bytes::Mapped {
                map: Arc::new(map(file)?),
                at: 0,
            },
            offset: 0,
        })
    }

    pub(super) fn stream(reader: Box<dyn Read + Send>) -> Window {
        Window {
            bytes: Bytes::Stream {
                reader,
                buffer: Vec::new(),
                at: 0,
                ended: false,
            },
            offset: 0,
        }
    }

    /// What can be read without waiting, from the current position on.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped { map, at } => &map[*at..],
            Bytes::Stream { buffer, at, .. } => &buffer[*at..],
        }
    }

    /// Offset of [`Window::bytes`] in the capture.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves `count` bytes forward, at most to the end of the window.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.bytes().len());
        self.offset += count as u64;
        match &mut self.bytes {
            Bytes::Mapped { at, .. } | Bytes::Stream { at, .. } => *at += count,
        }
    }

    /// Makes the window longer; `false` at the end of the capture.
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        let Bytes::Stream {
            reader,
            buffer,
            at,
            ended,
        } = &mut self.bytes
        else {
            return Ok(false);
        };
        // Asked again and again when the end is searched for a record.
        if *ended {
            return Ok(false);
        }
        buffer.drain(..*at);
        *at = 0;
        let before = buffer.len();
        buffer.resize(before + CHUNK, 0);
        let read = loop {
            match reader.read(&mut buffer[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        *ended = !matches!(read, Ok(1..));
        read.map(|read| read > 0)
    }

    /// The memory map, if the capture is a mapped file.
    pub(super) fn mapping(&self) -> Option<&Arc<Mmap>> {
        match &self.bytes {
            Bytes::Mapped { map, .. } => Some(map),
            Bytes::Stream { .. } => None,
        }
    }
}

/// Maps a regular file that is not empty.
pub(super) fn map(file: &File) -> io::Result<Mmap> {
    report_shrunken_maps();
    // SAFETY: the map is only read. If another process shortens the file,
    // reading past its new end raises a signal instead of returning garbage;
    // `report_shrunken_maps` turns that into a message.
    let map = unsafe { Mmap::map(file)? };
    #[cfg(unix)]
    // Only advice: reading works without it.
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}

/// Maps what comes from a stream by way of a file without a name, so that it
/// takes no memory. Of a stream that is cut or damaged, what came before.
pub(super) fn map_stream(reader: &mut dyn Read, damage: &mut Damage) -> io::Result<Mmap> {
    let mut file = tempfile::tempfile()?;
    if let Err(error) = io::copy(reader, &mut file) {
        let length = file.metadata()?.len();
        if !is_cut_stream(&error) || length == 0 {
            return Err(error);
        }
        damage.push(length, cut_stream(&error));
    }
    map(&file)
}

/// Counts the bytes that pass, for the progress of compressed input.
pub(super) struct CountingReader<R> {
    pub(super) inner: R,
    pub(super) count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Whether `path` can be mapped: a pipe or device must be read as a stream.
pub(super) fn is_regular(path: &Path) -> io::Result<bool> {
    Ok(std::fs::metadata(path)?.is_file())
}

/// Ends the program with a message, rather than with a bare signal, when a
/// mapped file is shortened by someone else while it is read. No OS lets a
/// process go on from there; Windows refuses to shorten a mapped file.
#[cfg(unix)]
fn report_shrunken_maps() {
    extern "C" fn on_bus_error(_: libc::c_int) {
        const MESSAGE: &[u8] = b"error: an input file became shorter while it was being read\n";
        static SAID: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        // Several threads may read the file at the same time: the first one
        // speaks and ends the program, the others must not be faster.
        while SAID.swap(true, Ordering::Relaxed) {
            // SAFETY: pause is async-signal-safe.
            unsafe { libc::pause() };
        }
        // SAFETY: write is async-signal-safe and takes a valid buffer.
        unsafe { libc::write(2, MESSAGE.as_ptr().cast(), MESSAGE.len()) };
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(1) };
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only makes async-signal-safe calls; the struct
        // is zeroed, which is a valid `sigaction` with an empty mask.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
    });
}

#[cfg(not(unix))]
fn report_shrunken_maps() {}

//! Reading ahead: one thread walks through the capture and finds the datagrams,
//! another looks into them. Either takes about as long.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use memmap2::Mmap;

use crate::capture::{Capture, CaptureError, Datagram};

/// Datagrams that are handed over at a time …
const BATCH_DATAGRAMS: usize = 4_096;
/// … or bytes of those that do not lie in the map.
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait to be looked at.
const BATCHES_AHEAD: usize = 4;

/// Datagrams in the order of the file, with what is said of each.
struct Batch<W> {
    found: Vec<Found<W>>,
    /// Payloads that do not lie in the map.
    bytes: Vec<u8>,
    /// How much of the file was read.
    position: u64,
}

impl<W> Batch<W> {
    fn new() -> Batch<W> {
        Batch {
            found: Vec::with_capacity(BATCH_DATAGRAMS),
            bytes: Vec::new(),
            position: 0,
        }
    }
}

struct Found<W> {
    time: i64,
    start: i64,
    source: SocketAddr,
    destination: SocketAddr,
    offset: u64,
    payload: Payload,
    what: W,
}

enum Payload {
    Mapped(Range<usize>),
    Copied(Range<usize>),
}

/// Calls `find` with every datagram of a capture, on a thread of its own, and `look`
/// with every datagram and what `find` says of it, and `progress` with the position now
/// and then; gives the capture back, read to its end.
///
/// # Errors
/// If reading fails.
pub(super) fn read<W: Send>(
    capture: Capture,
    find: impl FnMut(&Datagram<'_>) -> W + Send,
    mut look: impl FnMut(&Datagram<'_>, W),
    progress: &dyn Fn(u64),
) -> Result<Capture, CaptureError> {
    let map = capture.mapping().cloned();
    let (sender, receiver) = sync_channel(BATCHES_AHEAD);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || walk(capture, find, &sender));
        look_at(&receiver, map.as_ref(), &mut look, progress);
        match reader.join() {
            Ok(capture) => capture,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn walk<W>(
    mut capture: Capture,
    mut find: impl FnMut(&Datagram<'_>) -> W,
    sender: &SyncSender<Batch<W>>,
) -> Result<Capture, CaptureError> {
    let mut batch = Batch::new();
    while let Some(datagram) = capture.next_datagram()? {
        let length = datagram.payload.len();
        let payload = match datagram.mapped_at {
            Some(at) => Payload::Mapped(at..at + length),
            None => {
                let at = batch.bytes.len();
                batch.bytes.extend_from_slice(datagram.payload);
                Payload::Copied(at..at + length)
            }
        };
        batch.found.push(Found {
            time: datagram.time,
            start: datagram.start,
            source: datagram.source,
            destination: datagram.destination,
            offset: datagram.offset,
            payload,
            what: find(&datagram),
        });
        if batch.found.len() >= BATCH_DATAGRAMS || batch.bytes.len() >= BATCH_BYTES {
            batch.position = capture.position();
            // Nobody looks any more if looking has panicked.
            let _ = sender.send(std::mem::replace(&mut batch, Batch::new()));
        }
    }
    batch.position = capture.position();
    let _ = sender.send(batch);
    Ok(capture)
}

fn look_at<W>(
    batches: &Receiver<Batch<W>>,
    map: Option<&Arc<Mmap>>,
    look: &mut impl FnMut(&Datagram<'_>, W),
    progress: &dyn Fn(u64),
) {
    for batch in batches {
        for found in batch.found {
            let (payload, mapped_at) = match (&found.payload, map) {
                (Payload::Mapped(range), Some(map)) => (&map[range.clone()], Some(range.start)),
                (Payload::Mapped(_), None) => unreachable!("what is mapped has a map"),
                (Payload::Copied(range), _) => (&batch.bytes[range.clone()], None),
            };
            let datagram = Datagram {
                time: found.time,
                source: found.source,
                destination: found.destination,
                payload,
                start: found.start,
                offset: found.offset,
                mapped_at,
            };
            look(&datagram, found.what);
        }
        progress(batch.position);
    }
}

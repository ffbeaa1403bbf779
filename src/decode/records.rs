//! The records of one packet kind that are waiting to be decoded: where their
//! bytes lie, and their time stamps.

use std::sync::Arc;

use memmap2::Mmap;

use crate::layout::{Games, Layout};

/// Records in capture order, in one piece for each stretch of bytes.
#[derive(Default)]
pub(super) struct Records {
    segments: Vec<Segment>,
    count: usize,
}

/// Records whose bytes lie in one place.
pub(super) struct Segment {
    bytes: SegmentBytes,
    /// Bytes a record.
    size: usize,
    /// Where the values lie, if not where the table's own plan says.
    pub(super) layout: Option<Arc<Layout>>,
    /// Start of each record in the bytes.
    pub(super) offsets: Vec<usize>,
    /// Nanoseconds since 1970 UTC.
    pub(super) times: Vec<i64>,
    /// Which cars take part, a bit each; empty if nobody asks.
    pub(super) active: Vec<u128>,
    /// The games that can have sent each record; empty if nobody asks.
    pub(super) games: Vec<Games>,
    /// How many bytes there are of each record, the others being zero; empty
    /// if the packet has one length.
    pub(super) lengths: Vec<usize>,
    /// Position of the input among all inputs.
    pub(super) capture: usize,
}

enum SegmentBytes {
    Mapped(Arc<Mmap>),
    Owned(Vec<u8>),
}

/// One record on its way into [`Records`].
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub time: i64,
    /// As many as the packet's layout has, or fewer if the packet may be shorter.
    pub bytes: &'a [u8],
    /// How many bytes the layout has.
    pub size: usize,
    /// The layout, if it is another than that of the table's own plan.
    pub layout: Option<&'a Arc<Layout>>,
    /// Where the bytes lie in the map of the capture, if they do.
    pub mapped: Option<(&'a Arc<Mmap>, usize)>,
    pub active: Option<u128>,
    pub games: Option<Games>,
    /// The number of bytes, if the packet has several lengths.
    pub length: Option<usize>,
    pub capture: usize,
}

impl Records {
    pub(super) fn push(&mut self, record: Record<'_>) {
        // Only what is there in full can be read where it lies.
        let mapped = record.mapped.filter(|_| record.bytes.len() == record.size);
        let fits = self.segments.last().is_some_and(|segment| {
            segment.capture == record.capture
                && segment.size == record.size
                && matches!(
                    (&segment.bytes, mapped),
                    (SegmentBytes::Mapped(_), Some(_)) | (SegmentBytes::Owned(_), None)
                )
        });
        if !fits {
            self.segments.push(Segment {
                bytes: match mapped {
                    Some((map, _)) => SegmentBytes::Mapped(map.clone()),
                    None => SegmentBytes::Owned(Vec::new()),
                },
                size: record.size,
                layout: record.layout.cloned(),
                offsets: Vec::new(),
                times: Vec::new(),
                active: Vec::new(),
                games: Vec::new(),
                lengths: Vec::new(),
                capture: record.capture,
            });
        }
        let Some(segment) = self.segments.last_mut() else {
            return;
        };
        segment.offsets.push(match (&mut segment.bytes, mapped) {
            (SegmentBytes::Owned(bytes), _) => {
                let offset = bytes.len();
                bytes.extend_from_slice(record.bytes);
                bytes.resize(offset + record.size, 0);
                offset
            }
            (SegmentBytes::Mapped(_), mapped) => mapped.map_or(0, |(_, offset)| offset),
        });
        segment.times.push(record.time);
        segment.active.extend(record.active);
        segment.games.extend(record.games);
        segment.lengths.extend(record.length);
        self.count += 1;
    }

    /// Copies what lies in a memory map, so that the map can be closed.
    pub(super) fn detach(&mut self) {
        for segment in &mut self.segments {
            let SegmentBytes::Mapped(map) = &segment.bytes else {
                continue;
            };
            let mut bytes = Vec::with_capacity(segment.offsets.len() * segment.size);
            for offset in &mut segment.offsets {
                let copied = bytes.len();
                bytes.extend_from_slice(&map[*offset..*offset + segment.size]);
                *offset = copied;
            }
            segment.bytes = SegmentBytes::Owned(bytes);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// How many stretches there are that have a layout of their own.
    pub(super) fn layouts(&self) -> usize {
        let segments = self.segments.iter();
        segments.filter(|segment| segment.layout.is_some()).count()
    }

    /// Stretches of records of one layout.
    pub(super) fn by_layout(&self) -> impl Iterator<Item = &[Segment]> {
        self.segments
            .chunk_by(|one, next| match (&one.layout, &next.layout) {
                (Some(one), Some(next)) => Arc::ptr_eq(one, next),
                (one, next) => one.is_none() && next.is_none(),
            })
    }
}

impl Segment {
    /// How many bytes there are of a record of at most `size`.
    pub(super) fn length(&self, record: usize, size: usize) -> usize {
        self.lengths.get(record).copied().unwrap_or(size)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            SegmentBytes::Mapped(map) => map,
            SegmentBytes::Owned(bytes) => bytes,
        }
    }
}

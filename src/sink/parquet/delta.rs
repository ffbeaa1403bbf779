//! Parquet's DELTA_BINARY_PACKED: whole numbers as the differences from one to the
//! next, in blocks that each have the fewest bits that do.

use super::chunk::put_varint;

const BLOCK: usize = 128;
/// A block's values are packed in pieces that each have a width of their own.
const PIECES: usize = 4;
const PIECE: usize = BLOCK / PIECES;

/// A whole number of one of Parquet's two widths.
pub(super) trait Whole: Copy + Ord + Default {
    fn minus(self, other: Self) -> Self;
    /// The bits of a difference that is not below zero.
    fn unsigned(self) -> u64;
    fn zigzag(self) -> u64;
}

macro_rules! whole {
    ($number:ty, $unsigned:ty) => {
        impl Whole for $number {
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn unsigned(self) -> u64 {
                u64::from(self as $unsigned)
            }

            fn zigzag(self) -> u64 {
                let wide = i64::from(self);
                ((wide << 1) ^ (wide >> 63)) as u64
            }
        }
    };
}
whole!(i32, u32);
whole!(i64, u64);

/// Adds the values to a page.
pub(super) fn put<W: Whole>(page: &mut Vec<u8>, mut values: impl ExactSizeIterator<Item = W>) {
    put_varint(page, BLOCK as u64);
    put_varint(page, PIECES as u64);
    put_varint(page, values.len() as u64);
    let Some(mut last) = values.next() else {
        return put_varint(page, 0);
    };
    put_varint(page, last.zigzag());
    let mut deltas = [W::default(); BLOCK];
    while values.len() > 0 {
        let count = values.len().min(BLOCK);
        for (delta, value) in deltas.iter_mut().zip(values.by_ref().take(count)) {
            *delta = value.minus(last);
            last = value;
        }
        put_block(page, &mut deltas, count);
    }
}

/// Adds a block of which the first `count` deltas are in use.
fn put_block<W: Whole>(page: &mut Vec<u8>, deltas: &mut [W; BLOCK], count: usize) {
    let least = deltas[..count].iter().copied().min().unwrap_or_default();
    put_varint(page, least.zigzag());
    // What fills up the last piece.
    deltas[count..].fill(least);
    let mut packed = [0_u64; BLOCK];
    for (packed, delta) in packed.iter_mut().zip(deltas.iter()) {
        *packed = delta.minus(least).unsigned();
    }
    let width = |piece: &[u64]| {
        64 - piece
            .iter()
            .fold(0, |all, value| all | value)
            .leading_zeros()
    };
    page.extend(packed.chunks(PIECE).map(|piece| width(piece) as u8));
    for piece in packed.chunks(PIECE).take(count.div_ceil(PIECE)) {
        put_bits(page, piece, width(piece));
    }
}

/// The lowest `width` bits of each value, one after the other, whole bytes in all.
fn put_bits(page: &mut Vec<u8>, values: &[u64], width: u32) {
    if width == 0 {
        return;
    }
    let (mut bits, mut filled) = (0_u64, 0);
    for value in values {
        bits |= value << filled;
        filled += width;
        if filled >= 64 {
            page.extend_from_slice(&bits.to_le_bytes());
            filled -= 64;
            // None are left of a value that ended with the word.
            bits = value.checked_shr(width - filled).unwrap_or(0);
        }
    }
    page.extend_from_slice(&bits.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

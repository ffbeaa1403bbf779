//! Compression of pages.

use std::io::Write;

use bytes::Bytes;

use crate::sink::Compression;

/// Compresses pages, one after the other, with what it can keep from one to the next.
pub(super) enum Packer {
    None,
    Snappy(Box<snap::raw::Encoder>),
    Lz4,
    Gzip(u32),
    Zstandard(zstd::bulk::Compressor<'static>),
}

impl Packer {
    /// # Errors
    /// If there is no such level.
    pub(super) fn new(compression: Compression) -> anyhow::Result<Packer> {
        Ok(match compression {
            Compression::None => Packer::None,
            Compression::Snappy => Packer::Snappy(Box::new(snap::raw::Encoder::new())),
            Compression::Lz4 => Packer::Lz4,
            Compression::Gzip(level) => Packer::Gzip(level),
            Compression::Zstandard(level) => Packer::Zstandard(zstd::bulk::Compressor::new(level)?),
        })
    }

    /// # Errors
    /// If the library fails.
    pub(super) fn pack(&mut self, page: &[u8]) -> anyhow::Result<Bytes> {
        let mut packed = match self {
            Packer::None => page.to_vec(),
            Packer::Snappy(encoder) => encoder.compress_vec(page)?,
            Packer::Lz4 => lz4_flex::block::compress(page),
            Packer::Gzip(level) => {
                let level = flate2::Compression::new(*level);
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(page)?;
                encoder.finish()?
            }
            Packer::Zstandard(compressor) => compressor.compress(page)?,
        };
        // Made for the worst case, it is kept until its file has come so far.
        packed.shrink_to_fit();
        Ok(packed.into())
    }
}

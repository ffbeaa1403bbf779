//! What a file is, by its first bytes; names and extensions do not matter.

use super::ibt;

/// What the first bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pcap,
    PcapNg,
    Gzip,
    Zstandard,
    /// iRacing telemetry.
    Ticks,
    /// Something that simtel cannot read, described for the user.
    Other(&'static str),
}

/// How many bytes [`sniff`] wants to see.
pub(super) const SNIFF_LENGTH: usize = 512;

pub(super) fn sniff(start: &[u8]) -> Kind {
    let begins = |magic: &[u8]| start.starts_with(magic);
    match start {
        [] => Kind::Other("it is empty"),
        [0xA1, 0xB2, 0xC3, 0xD4, ..]
        | [0xD4, 0xC3, 0xB2, 0xA1, ..]
        | [0xA1, 0xB2, 0x3C, 0x4D, ..]
        | [0x4D, 0x3C, 0xB2, 0xA1, ..] => Kind::Pcap,
        [0x0A, 0x0D, 0x0D, 0x0A, ..] => Kind::PcapNg,
        [0x1F, 0x8B, ..] => Kind::Gzip,
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Kind::Zstandard,
        [0x34, 0xCD, 0xB2, 0xA1, ..] | [0xA1, 0xB2, 0xCD, 0x34, ..] => Kind::Other(
            "it looks like a capture of a patched libpcap (magic a1b2cd34); \
             re-save it with `editcap IN OUT.pcapng`",
        ),
        _ if ibt::looks_like_ticks(start) => Kind::Ticks,
        _ if start.iter().all(|byte| *byte == 0) => Kind::Other(
            "its first bytes are all zero, as in a file that was never written or in the memory \
             of a simulator that is not running",
        ),
        _ if begins(b"PAR1") => Kind::Other("it looks like a Parquet file"),
        _ if begins(b"ARROW1") => Kind::Other("it looks like an Arrow file"),
        _ if begins(b"PK\x03\x04") => Kind::Other("it looks like a ZIP archive; unpack it first"),
        _ if begins(b"7z\xBC\xAF\x27\x1C") => {
            Kind::Other("it looks like a 7z archive; unpack it first")
        }
        _ if begins(b"Rar!") => Kind::Other("it looks like a RAR archive; unpack it first"),
        _ if begins(b"\xFD7zXZ") => Kind::Other("it is compressed with xz; unpack it first"),
        _ if begins(b"BZh") => Kind::Other("it is compressed with bzip2; unpack it first"),
        _ if begins(b"\x89PNG") || begins(b"\xFF\xD8\xFF") => {
            Kind::Other("it looks like a picture")
        }
        _ if begins(b"MDMP") || begins(b"MZ") || begins(b"\x7FELF") => {
            Kind::Other("it looks like a program")
        }
        // F1 datagrams begin with the format's year.
        [low, high, ..] if (2018..=2035).contains(&u16::from_le_bytes([*low, *high])) => {
            Kind::Other(
                "it looks like bare F1 datagrams without a capture around them; \
                 `simtel record` keeps their borders and times",
            )
        }
        _ if looks_like_text(start) => {
            match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
                Some(b'{' | b'[') => Kind::Other("it looks like JSON"),
                Some(b'<') => Kind::Other("it looks like XML or HTML"),
                _ if start.contains(&b',') || start.contains(&b'\t') => {
                    Kind::Other("it looks like text, such as a CSV file")
                }
                _ => Kind::Other("it looks like text"),
            }
        }
        _ => Kind::Other("its first bytes are those of no capture"),
    }
}

fn looks_like_text(start: &[u8]) -> bool {
    let printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..);
    start.iter().all(printable)
}

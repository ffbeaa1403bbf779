//! All that the session string of a recording has been, in a file beside it: a
//! stream of YAML documents, each as it came, behind a comment that says from
//! which record on it holds and how many bytes it has.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use chrono::{DateTime, SecondsFormat};
use memmap2::Mmap;

/// How the name of that file ends, instead of the recording's ending.
pub const REVISIONS_EXTENSION: &str = "session.yaml";
const MARK: &str = "# update ";
/// How a simulator ends the document.
const END: &[u8] = b"\n...\n";
/// Far longer than any comment.
const LONGEST_COMMENT: usize = 200;

/// Adds a session string to `file`: the simulator's count of its changes, the
/// record from which on it holds, when it came in nanoseconds since 1970 UTC.
pub fn add_revision(file: &mut Vec<u8>, update: i32, record: u64, time: i64, session: &[u8]) {
    let time = DateTime::from_timestamp_nanos(time).to_rfc3339_opts(SecondsFormat::Millis, true);
    let length = session.len();
    let comment = format!("{MARK}{update}, before record {record}, {time}, {length} bytes\n");
    file.extend(comment.as_bytes());
    file.extend(session);
    // Without an end the next would be no document of its own.
    if !session.ends_with(END) {
        file.extend(END);
    }
}

/// The session strings of a recording, in the order in which they held.
#[derive(Debug)]
pub struct Revisions {
    map: Option<Mmap>,
    /// From which record on, and where it lies.
    places: Vec<(u64, Range<usize>)>,
}

impl Revisions {
    /// Those beside the recording at `path`; none if there is no such file.
    ///
    /// # Errors
    /// If there is one that cannot be read.
    pub fn beside(path: &Path) -> io::Result<Revisions> {
        let none = Revisions {
            map: None,
            places: Vec::new(),
        };
        let is_compressed = path
            .extension()
            .is_some_and(|extension| ["gz", "zst"].iter().any(|known| extension == *known));
        let path = match is_compressed {
            true => path.with_extension(""),
            false => path.to_path_buf(),
        };
        let file = match File::open(path.with_extension(REVISIONS_EXTENSION)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(none),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() == 0 {
            return Ok(none);
        }
        // SAFETY: a file that others change meanwhile gives other bytes.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Revisions {
            places: places(&map),
            map: Some(map),
        })
    }

    /// From which record on each holds, and the session string itself.
    pub fn get(&self, number: usize) -> Option<(u64, &[u8])> {
        let (record, place) = self.places.get(number)?;
        Some((*record, self.map.as_ref()?.get(place.clone())?))
    }

    /// The longest of them, in bytes.
    pub fn longest(&self) -> usize {
        let lengths = self.places.iter().map(|(_, place)| place.len());
        lengths.max().unwrap_or(0)
    }
}

fn places(bytes: &[u8]) -> Vec<(u64, Range<usize>)> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let line = rest.iter().take(LONGEST_COMMENT);
        let line = line.take_while(|byte| **byte != b'\n').count();
        let found = std::str::from_utf8(&rest[..line]).ok().and_then(comment);
        match found {
            // One that is cut at the end was not written to its end.
            Some((record, length)) if length < rest.len() - line => {
                let start = at + line + 1;
                places.push((record, start..start + length));
                at = start + length;
            }
            _ => {
                let end = rest.iter().position(|byte| *byte == b'\n');
                at += end.map_or(rest.len(), |end| end + 1);
            }
        }
    }
    places
}

/// The record from which on it holds, and its length.
fn comment(line: &str) -> Option<(u64, usize)> {
    let mut parts = line.strip_prefix(MARK)?.split(", ");
    let record = parts.nth(1)?.strip_prefix("before record ")?;
    let length = parts.nth(1)?.strip_suffix(" bytes")?;
    Some((record.parse().ok()?, length.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_come_back_as_they_were_whatever_is_in_them() {
        let texts: [&[u8]; 4] = [
            b"---\nA: 1\n...\n",
            b"no end",
            b"# update 9, before record 9, x, 3 bytes\nabc",
            &[0x80, b'\n', 0xFF],
        ];
        let mut file = Vec::new();
        for (number, text) in (0..).zip(texts) {
            add_revision(&mut file, number, 10 * number as u64, 0, text);
        }
        let whole = places(&file);
        let read: Vec<(u64, &[u8])> = whole
            .iter()
            .map(|(record, place)| (*record, &file[place.clone()]))
            .collect();
        assert_eq!(
            read,
            [
                (0, texts[0]),
                (10, texts[1]),
                (20, texts[2]),
                (30, texts[3])
            ]
        );
        // Cut anywhere, those before are there still.
        for end in 0..file.len() {
            let cut = places(&file[..end]);
            assert!(whole.starts_with(&cut), "{end}");
        }
    }
}

//! Words of a layout file: where they stand, what numbers and names they are,
//! and what is said when they are none.

use std::rc::Rc;

use super::Scalar;

/// Why a layout file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct LayoutError {
    pub file: String,
    pub line: usize,
    pub message: String,
}

/// A line of a layout file or of one that it includes.
#[derive(Debug, Clone)]
pub(super) struct Location {
    pub(super) file: Rc<str>,
    pub(super) line: usize,
}

impl Location {
    pub(super) fn is_in_file_of(&self, other: &Location) -> bool {
        self.file == other.file
    }

    pub(super) fn error(&self, message: impl Into<String>) -> LayoutError {
        LayoutError {
            file: self.file.to_string(),
            line: self.line,
            message: message.into(),
        }
    }
}

pub(super) fn integer(at: &Location, text: &str) -> Result<i64, LayoutError> {
    let parsed = parse_integer(text).and_then(|value| i64::try_from(value).ok());
    parsed.ok_or_else(|| at.error(format!("`{text}` is not a whole number")))
}

/// A whole number, in decimal or behind `0x` in hexadecimal digits.
pub(super) fn parse_integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

pub(super) fn count(at: &Location, text: &str, largest: usize) -> Result<usize, LayoutError> {
    match text.parse() {
        Ok(number) if (1..=largest).contains(&number) => Ok(number),
        _ => Err(at.error(format!(
            "`{text}` is not a whole number from 1 to {largest}"
        ))),
    }
}

/// The most bytes that a datagram can have.
pub(super) const LARGEST_PACKET: usize = 65_535;
/// Of fields, suffixes and the like.
const LONGEST_NAME: usize = 100;

/// The words of a line.
pub(super) fn words<'a>(at: &Location, line: &'a str) -> Result<Vec<&'a str>, LayoutError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.iter().all(|word| word.len() <= LONGEST_NAME) {
        true => Ok(words),
        false => Err(at.error(format!("a name has more than {LONGEST_NAME} bytes"))),
    }
}

/// Names that no file can have on Windows, and the one that describes tables.
const TAKEN_NAMES: [&str; 5] = ["con", "prn", "aux", "nul", "schema"];

/// A name that files and folders can have on every system.
pub(super) fn file_name(at: &Location, name: &str) -> Result<String, LayoutError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_port = (name.starts_with("com") || name.starts_with("lpt")) && name.len() == 4;
    if TAKEN_NAMES.contains(&name) || is_port {
        return Err(at.error(format!(
            "no file can be named {name} here: use another name"
        )));
    }
    match name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(plain) {
        true => Ok(name.into()),
        false => Err(at.error(format!(
            "`{name}` names a folder or a file: use lower-case letters, digits and _, a letter first"
        ))),
    }
}

/// A value as a layout file states it, as it stands on the wire: a whole
/// number, a text with NULs behind it, or hexadecimal digits.
pub(super) fn wire_bytes(scalar: Scalar, text: &str) -> Option<Vec<u8>> {
    match scalar {
        Scalar::Char(length) | Scalar::Latin(length) => (text.len() <= length).then(|| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(length, 0);
            bytes
        }),
        Scalar::Hex(length) => {
            let digits = text.as_bytes().chunks(2);
            let bytes = digits.map(|pair| {
                let pair = std::str::from_utf8(pair).ok()?;
                u8::from_str_radix(pair, 16).ok()
            });
            let bytes: Vec<u8> = bytes.collect::<Option<_>>()?;
            (bytes.len() == length).then_some(bytes)
        }
        _ => {
            let value = parse_integer(text)?;
            let bytes = value.to_le_bytes()[..scalar.size()].to_vec();
            let fits = match scalar {
                // Too large for the signed reader.
                Scalar::U64 => u64::try_from(value).is_ok(),
                _ => scalar.read_integer(&bytes).map(i128::from) == Some(value),
            };
            fits.then_some(bytes)
        }
    }
}

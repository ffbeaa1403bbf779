//! Bytes into text.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// Up to the first NUL, or all of it if there is none.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// On one line, and without what a terminal would take for a command.
pub(crate) fn printable(text: &str) -> String {
    let chars = text.chars().map(|char| match char {
        '\n' | '\r' | '\t' => ' ',
        other => other,
    });
    chars.filter(|char| !char.is_control()).collect()
}

/// UTF-8, or Windows-1252 if it is not that; the latter has a character for
/// every byte.
pub(crate) fn utf8_or_latin(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

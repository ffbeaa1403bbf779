//! Pipes whose reader has had enough, as `head` does.

use std::io;

/// Whether something could not be written since nobody reads it any more.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::BrokenPipe)
            // Some libraries keep no more than the text.
            || cause.to_string().contains("Broken pipe (os error 32)")
    })
}

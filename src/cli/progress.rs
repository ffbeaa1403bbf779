//! The bar that shows how far the reading of files is.

use std::cell::Cell;
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

use super::messages::Messages;

/// A bar over the bytes of all files, if they have a size.
pub(super) fn bar(paths: &[PathBuf], messages: &Messages) -> ProgressBar {
    if messages.is_quiet() {
        return ProgressBar::hidden();
    }
    let sizes = paths.iter().map(|path| Some(path.metadata().ok()?.len()));
    // On anything but a terminal indicatif draws nothing.
    let (bar, template) = match sizes.sum::<Option<u64>>() {
        Some(total) => (
            ProgressBar::new(total),
            "{wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {msg} {eta} left",
        ),
        None => (
            ProgressBar::no_length(),
            "{spinner} {decimal_bytes} {decimal_bytes_per_sec} {msg} {elapsed}",
        ),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Moves the bar by what is read of one file, when told how far that is.
pub(super) fn meter(bar: &ProgressBar) -> impl Fn(u64) {
    let done = Cell::new(0);
    move |position: u64| bar.inc(position.saturating_sub(done.replace(position)))
}

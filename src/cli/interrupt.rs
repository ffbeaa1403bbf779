//! Ctrl-C and the signals that ask a program to end.

use std::sync::atomic::{AtomicBool, Ordering};

/// Is set once the user wants the command to end, so that it can do so at the
/// next occasion; a second interrupt ends the program at once.
pub(super) fn watch() -> &'static AtomicBool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    // Without a handler an interrupt ends the program as ever.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &INTERRUPTED
}

//! Ctrl-C and the signals that ask a program to end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::keyboard;
use crate::lock::lock;

/// Shells and wrappers may pass one Ctrl-C on twice.
const ONE_AND_THE_SAME: Duration = Duration::from_secs(1);

/// Whether whoever started us, such as nohup, wants us to outlive the terminal.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action it only fills in the old one.
    unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(unix)]
fn ignore_hangup() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}

#[cfg(not(unix))]
fn ignores_hangup() -> bool {
    false
}

#[cfg(not(unix))]
fn ignore_hangup() {}

/// Is set once the user wants the command to end, so that it can do so at the
/// next occasion; another interrupt later on ends the program at once.
pub(super) fn watch() -> &'static AtomicBool {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    static FIRST: Mutex<Option<Instant>> = Mutex::new(None);
    let ignores_hangup = ignores_hangup();
    // Without a handler an interrupt ends the program as ever.
    let _ = ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::Relaxed);
        let first = *lock(&FIRST).get_or_insert_with(Instant::now);
        if first.elapsed() > ONE_AND_THE_SAME {
            keyboard::restore();
            std::process::exit(130);
        }
    });
    if ignores_hangup {
        ignore_hangup();
    }
    &INTERRUPTED
}

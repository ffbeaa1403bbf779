//! Being served before others, as far as the system lets us.

/// Asks that this thread be served before those of other programs. What must be
/// read in time is little, but the simulator keeps a machine busy.
#[cfg(target_os = "linux")]
pub(super) fn raise() {
    // SAFETY: it takes numbers only; 0 is this thread. Only the system's
    // administrator is allowed it, and nothing depends on it.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -10) };
}

#[cfg(windows)]
pub(super) fn raise() {
    use windows_sys::Win32::System::Threading::{
        GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_HIGHEST,
    };
    // SAFETY: the handle is this thread's own. If it is refused, nothing changes.
    unsafe { SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_HIGHEST) };
}

/// Other systems have no simulator.
#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn raise() {}

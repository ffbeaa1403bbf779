//! How a conversion has the system's allocator go about memory.

/// Has freed memory kept for what comes next, until the process ends: the buffers of
/// columns and texts come and go by the thousand, and giving them back took the system
/// a twentieth of a conversion. Only glibc can be told; elsewhere nothing changes.
pub(super) fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        /// The most that the allocator takes as a threshold.
        const LARGEST: libc::c_int = 32 << 20;
        for (what, bytes) in [
            (libc::M_MMAP_THRESHOLD, LARGEST),
            (libc::M_TOP_PAD, 2 * LARGEST),
            (libc::M_TRIM_THRESHOLD, 1 << 30),
        ] {
            // SAFETY: sets a number within the allocator, which guards it itself. What
            // it does not take is left as it was.
            unsafe { libc::mallopt(what, bytes) };
        }
    }
}

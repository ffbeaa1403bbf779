//! Time as nanoseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970 UTC, by the system's clock.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(nanoseconds(since.unwrap_or_default())).unwrap_or(i64::MAX)
}

/// A time in nanoseconds, or the most that there are.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

//! Time as nanoseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};

/// Nanoseconds since 1970 UTC, by the system's clock.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(nanoseconds(since.unwrap_or_default())).unwrap_or(i64::MAX)
}

/// A time in nanoseconds, or the most that there are.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A moment in UTC as text, to the nanosecond.
pub(crate) fn rfc3339(nanoseconds: i64) -> String {
    DateTime::from_timestamp_nanos(nanoseconds).to_rfc3339_opts(SecondsFormat::Nanos, true)
}

/// Makes an earliest and latest time take in another one.
pub(crate) fn widen(span: &mut Option<(i64, i64)>, time: i64) {
    let (earliest, latest) = span.unwrap_or((time, time));
    *span = Some((earliest.min(time), latest.max(time)));
}

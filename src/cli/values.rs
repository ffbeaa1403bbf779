//! Values as people write them on a command line: durations and moments,
//! compressions, patterns; and sizes and counts as they like to read them.

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use bytesize::ByteSize;
use chrono::DateTime;
use glob::Pattern;

use super::UsageError;
use crate::decode::TimeBound;
use crate::live::MapPlace;
use crate::sink::Compression;

/// `90s`, `1m30s`, `500ms`, or a moment such as `2026-05-24T12:00:00Z`.
pub(super) fn time_bound(text: &str) -> Result<TimeBound, String> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return moment
            .timestamp_nanos_opt()
            .map(TimeBound::Absolute)
            .ok_or_else(|| "this moment lies too far away".into());
    }
    let explain = || {
        "write an offset from the start such as 90s, 1m30s or 500ms, or a moment such as \
         2026-05-24T12:00:00Z"
            .to_string()
    };
    let duration = humantime::parse_duration(text).map_err(|_| explain())?;
    let nanoseconds = i64::try_from(duration.as_nanos()).map_err(|_| explain())?;
    Ok(TimeBound::Offset(nanoseconds))
}

/// Whether there is anything between the two.
pub(super) fn check_time_range(
    from: Option<TimeBound>,
    until: Option<TimeBound>,
) -> Result<(), String> {
    let is_empty = match (from, until) {
        (Some(TimeBound::Offset(from)), Some(TimeBound::Offset(until)))
        | (Some(TimeBound::Absolute(from)), Some(TimeBound::Absolute(until))) => until <= from,
        _ => false,
    };
    match is_empty {
        true => Err("--until must be later than --from".into()),
        false => Ok(()),
    }
}

/// `10s`, `5m`, `500ms`; not nothing.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let explain = || "write a time such as 500ms, 10s, 5m or 2h".to_string();
    // What humantime would take for months are minutes or megabytes.
    if text.ends_with('M') {
        return Err(explain());
    }
    let duration = humantime::parse_duration(text).map_err(|_| explain())?;
    match duration.is_zero() {
        true => Err("it must be longer than nothing".into()),
        false => Ok(duration),
    }
}

/// `5ms..20ms`, or `5ms` for always the same.
pub(super) fn duration_range(text: &str) -> Result<RangeInclusive<Duration>, String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let bound = |text: &str| match text {
        "0" => Ok(Duration::ZERO),
        text => duration(text),
    };
    let range = bound(low)?..=bound(high)?;
    match range.is_empty() {
        true => Err("the first time must not be the longer one".into()),
        false => Ok(range),
    }
}

/// `1%`, `0.5%` or `0.01`, as a share between 0 and 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    share
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "write a share such as 1% or 0.01".into())
}

/// `100MB`, `64MiB`, `1GB`, in bytes; not nothing.
pub(super) fn size(text: &str) -> Result<u64, String> {
    match text.parse::<ByteSize>() {
        Ok(ByteSize(0)) => Err("it must be more than nothing".into()),
        Ok(ByteSize(size)) => Ok(size),
        Err(_) => Err("write a size such as 500kB, 64MiB or 1GB".into()),
    }
}

/// `zstd`, `zstd:9`, `gzip:6`, `snappy`, `lz4`, `none`.
pub(super) fn compression(text: &str) -> Result<Compression, String> {
    let (name, level) = match text.split_once(':') {
        Some((name, level)) => {
            let level: u32 = level
                .parse()
                .map_err(|_| format!("`{level}` is not a compression level"))?;
            (name, Some(level))
        }
        None => (text, None),
    };
    let within = |lowest: u32, highest: u32, default: u32| {
        let level = level.unwrap_or(default);
        match (lowest..=highest).contains(&level) {
            true => Ok(level),
            false => Err(format!("{name} has levels from {lowest} to {highest}")),
        }
    };
    match (name, level) {
        ("none" | "uncompressed", None) => Ok(Compression::None),
        ("snappy", None) => Ok(Compression::Snappy),
        ("lz4", None) => Ok(Compression::Lz4),
        ("gzip", _) => within(1, 9, 6).map(Compression::Gzip),
        ("zstd", _) => within(1, 22, 3).map(|level| Compression::Zstandard(level as i32)),
        ("none" | "uncompressed" | "snappy" | "lz4", Some(_)) => {
            Err(format!("{name} has no levels"))
        }
        _ => Err("known are zstd[:1..22], gzip[:1..9], snappy, lz4 and none".into()),
    }
}

/// A name with `*`, `?` and `[…]`.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text.trim()).map_err(|error| error.msg.to_string())
}

/// Says that there is no such table or column, and which one is nearest.
pub(super) fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let wanted = name.to_lowercase().replace('-', "_");
    let nearness = |known: &str| {
        let part = known.contains(&wanted) || wanted.contains(known);
        strsim::jaro_winkler(&wanted, known) + f64::from(u8::from(part))
    };
    let nearest = known.max_by(|a, b| nearness(a).total_cmp(&nearness(b)));
    match nearest {
        Some(nearest) if nearness(nearest) > 0.75 => {
            format!("there is no {what} {name}; did you mean {nearest}?")
        }
        _ => format!("there is no {what} {name}; `simtel schema` lists all"),
    }
}

/// How many threads to use when the user does not say.
pub(super) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// A number of bytes in a unit that is easy to read.
pub(super) fn bytes(count: u64) -> String {
    indicatif::DecimalBytes(count).to_string()
}

/// A time in whole seconds, or in tenths while it is short.
pub(super) fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1}s", time.as_secs_f64()),
        seconds => humantime::format_duration(Duration::from_secs(seconds)).to_string(),
    }
}

/// A short time in nanoseconds, in a unit that suits it.
pub(super) fn precise(nanoseconds: u64) -> String {
    match nanoseconds {
        0..100_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        100_000..1_000_000 => format!("{:.0} µs", nanoseconds as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.2} s", nanoseconds as f64 / 1e9),
    }
}

/// A number with its thousands apart.
pub(super) fn count(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_offsets_are_told_apart() {
        assert_eq!(time_bound("1m30s"), Ok(TimeBound::Offset(90_000_000_000)));
        assert_eq!(time_bound("500ms"), Ok(TimeBound::Offset(500_000_000)));
        assert_eq!(
            time_bound("1970-01-01T00:00:01.5+00:00"),
            Ok(TimeBound::Absolute(1_500_000_000))
        );
        assert!(time_bound("soon").is_err());
        assert!(time_bound("9999-01-01T00:00:00Z").is_err());
    }

    #[test]
    fn compressions_know_their_levels() {
        assert_eq!(compression("zstd"), Ok(Compression::Zstandard(3)));
        assert_eq!(compression("gzip:9"), Ok(Compression::Gzip(9)));
        assert!(compression("gzip:0").is_err());
        assert!(compression("zstd:x").is_err());
        assert!(compression("snappy:1").is_err());
        assert!(compression("brotli").is_err());
    }
}

/// What of a tick becomes a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EncodingName {
    Raw,
    Json,
}

/// The place that `--map` names: a file, or memory with a name where it names
/// none.
pub(super) fn map_place(map: Option<&Path>, unnamed: MapPlace) -> Result<MapPlace, UsageError> {
    let place = match map {
        Some(path) if path.as_os_str() != "-" => return Ok(MapPlace::File(path.into())),
        Some(_) => MapPlace::Isolated,
        None => unnamed,
    };
    match cfg!(windows) {
        true => Ok(place),
        false => Err(UsageError(
            "iRacing's own memory is on Windows alone: here give --map a file, such as one that \
             `simtel replay stint.ibt --map FILE` writes"
                .into(),
        )),
    }
}

//! Several captures at a glance: a line each, and the total.

use super::Looked;
use super::words::{lap_time, length, moment, plural};
use crate::cli::columns::{Columns, Side};
use crate::cli::messages::{DIM, PLAIN, STRONG, WARNING};
use crate::cli::values;
use crate::inspect::Session;

pub(super) fn text(looked: &[Looked]) -> String {
    let mut columns = Columns::new(&[
        Side::Left,
        Side::Right,
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Left,
        Side::Right,
        Side::Right,
        Side::Right,
        Side::Left,
    ]);
    let heads = [
        "file",
        "size",
        "start (UTC)",
        "length",
        "records",
        "formats",
        "sessions",
        "laps",
        "best lap",
        "",
    ];
    columns.add(DIM, heads.map(String::from));
    let mut total = Total::default();
    for one in looked {
        let Ok(found) = &one.found else {
            let mut cells: [String; 10] = Default::default();
            cells[0] = one.name.clone();
            cells[9] = match one.is_other_file() {
                true => "no capture".into(),
                false => "cannot be read".into(),
            };
            total.flawed += 1;
            columns.add(WARNING, cells);
            continue;
        };
        let report = &found.report;
        let span = found.span();
        let duration = span.map_or(0, |(first, last)| last.saturating_sub(first));
        let players = || found.sessions.iter().filter_map(Session::player_driver);
        let laps: u64 = players().map(|driver| driver.laps.laps.len() as u64).sum();
        let best = players().filter_map(|driver| Some(driver.laps.best()?.1));
        let sessions = found.sessions.len() as u64;
        total.bytes += report.size.unwrap_or(0);
        total.duration = total.duration.saturating_add(duration);
        total.records += found.records();
        total.sessions += sessions;
        total.laps += laps;
        let mut formats: Vec<&str> = report
            .packets
            .values()
            .map(|seen| seen.format.as_str())
            .collect();
        formats.extend(found.sessions.iter().map(|session| session.format.as_str()));
        formats.sort_unstable();
        formats.dedup();
        let flaws = super::flaws(found).len();
        total.flawed += u64::from(flaws > 0);
        columns.add(
            if flaws > 0 { WARNING } else { PLAIN },
            [
                one.name.clone(),
                report.size.map_or(String::new(), values::bytes),
                span.map_or(String::new(), |(first, _)| moment(first, false)),
                span.map_or(String::new(), |_| length(duration)),
                values::count(found.records()),
                formats.join(", "),
                values::count(sessions),
                values::count(laps),
                best.reduce(f64::min).map_or(String::new(), lap_time),
                match flaws {
                    0 => String::new(),
                    flaws => plural(flaws as u64, "flaw"),
                },
            ],
        );
    }
    columns.add(
        STRONG,
        [
            plural(looked.len() as u64, "file"),
            values::bytes(total.bytes),
            String::new(),
            length(total.duration),
            values::count(total.records),
            String::new(),
            values::count(total.sessions),
            values::count(total.laps),
            String::new(),
            match total.flawed {
                0 => String::new(),
                flawed => format!("{} with flaws", values::count(flawed)),
            },
        ],
    );
    columns.text("")
}

#[derive(Default)]
struct Total {
    bytes: u64,
    duration: i64,
    records: u64,
    sessions: u64,
    laps: u64,
    flawed: u64,
}

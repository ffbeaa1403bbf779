//! A stint in iRacing, as the simulator would write it to disk, with what real
//! files have and more: variables of every type at odd offsets, arrays of cars,
//! of moments and of neither, names that no YAML reader takes, in Latin-1.

use std::f64::consts::TAU;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

/// 2025-06-21 18:30:00 UTC.
const START: i64 = 1_750_530_600;
const CARS: usize = 8;
const LAP_SECONDS: f64 = 40.0;
/// Variables beyond those of the sample, as many as real files have.
const MORE: usize = 230;

const CHAR: i32 = 0;
const BOOL: i32 = 1;
const INT: i32 = 2;
const BITS: i32 = 3;
const FLOAT: i32 = 4;
const DOUBLE: i32 = 5;

/// Name, type, values, whether they are moments, unit, description.
type Variable = (&'static str, i32, usize, bool, &'static str, &'static str);

const VARIABLES: [Variable; 34] = [
    (
        "SessionTime",
        DOUBLE,
        1,
        false,
        "s",
        "Seconds since session start",
    ),
    ("SessionTick", INT, 1, false, "", "Current update number"),
    ("SessionNum", INT, 1, false, "", "Session number"),
    (
        "SessionState",
        INT,
        1,
        false,
        "irsdk_SessionState",
        "Session state",
    ),
    (
        "SessionFlags",
        BITS,
        1,
        false,
        "irsdk_Flags",
        "Session flags",
    ),
    (
        "IsOnTrack",
        BOOL,
        1,
        false,
        "",
        "1=Car on track physics running",
    ),
    ("PlayerCarIdx", INT, 1, false, "", "Players carIdx"),
    (
        "PlayerTrackSurface",
        INT,
        1,
        false,
        "irsdk_TrkLoc",
        "Players car track surface type",
    ),
    ("Lap", INT, 1, false, "", "Laps started count"),
    (
        "LapDist",
        FLOAT,
        1,
        false,
        "m",
        "Meters traveled from S/F this lap",
    ),
    (
        "LapDistPct",
        FLOAT,
        1,
        false,
        "%",
        "Percentage distance around lap",
    ),
    ("Speed", FLOAT, 1, false, "m/s", "GPS vehicle speed"),
    ("RPM", FLOAT, 1, false, "revs/min", "Engine rpm"),
    (
        "Gear",
        INT,
        1,
        false,
        "",
        "-1=reverse  0=neutral  1..n=current gear",
    ),
    (
        "Throttle",
        FLOAT,
        1,
        false,
        "%",
        "0=off throttle to 1=full throttle",
    ),
    (
        "Brake",
        FLOAT,
        1,
        false,
        "%",
        "0=brake released to 1=max pedal force",
    ),
    ("DriverMarker", BOOL, 1, false, "", "Driver activated flag"),
    (
        "Lat",
        DOUBLE,
        1,
        false,
        "deg",
        "Latitude in decimal degrees",
    ),
    (
        "Lon",
        DOUBLE,
        1,
        false,
        "deg",
        "Longitude in decimal degrees",
    ),
    (
        "EngineWarnings",
        BITS,
        1,
        false,
        "irsdk_EngineWarnings",
        "Bitfield for warning lights",
    ),
    (
        "Skies",
        INT,
        1,
        false,
        "",
        "Skies (0=clear/1=p cloudy/2=m cloudy/3=overcast)",
    ),
    (
        "AirTemp",
        FLOAT,
        1,
        false,
        "C",
        "Temperature of air at start/finish line",
    ),
    ("Setup", CHAR, 16, false, "", "Name of the setup"),
    (
        "CarIdxLap",
        INT,
        CARS,
        false,
        "",
        "Laps started by car index",
    ),
    (
        "CarIdxLapDistPct",
        FLOAT,
        CARS,
        false,
        "%",
        "Percentage distance around lap by car index",
    ),
    (
        "CarIdxTrackSurface",
        INT,
        CARS,
        false,
        "irsdk_TrkLoc",
        "Track surface type by car index",
    ),
    (
        "CarIdxOnPitRoad",
        BOOL,
        CARS,
        false,
        "",
        "On pit road by car index",
    ),
    (
        "CarIdxSessionFlags",
        BITS,
        CARS,
        false,
        "irsdk_Flags",
        "Session flags for each player",
    ),
    (
        "CarIdxGapPair",
        FLOAT,
        2,
        false,
        "s",
        "An array of cars of another length",
    ),
    (
        "SteeringWheelTorque_ST",
        FLOAT,
        6,
        true,
        "N*m",
        "Output torque at 360 Hz",
    ),
    ("LatAccel", FLOAT, 6, true, "m/s^2", "Lateral acceleration"),
    (
        "TireWear",
        FLOAT,
        3,
        false,
        "%",
        "An array of neither cars nor moments",
    ),
    (
        "FuelLevel",
        FLOAT,
        1,
        false,
        "l",
        "Liters of fuel remaining",
    ),
    (
        "NotANumber",
        FLOAT,
        1,
        false,
        "",
        "NaN, as a sensor that is not there",
    ),
];

const SESSION: &str = "---
WeekendInfo:
 TrackName: oulton fosters
 TrackID: 180
 TrackLength: 2.65 km
 TrackDisplayName: Oulton Park Circuit
 SessionID: 0
 WeekendOptions:
  NumStarters: 8
  Date: 2025-06-21
 TelemetryOptions:
  TelemetryDiskFile: \"\"

SessionInfo:
 Sessions:
 - SessionNum: 0
   SessionLaps: unlimited
   SessionTime: 1800.0000 sec
   SessionType: Practice
   SessionName: PRACTICE
   SessionSubType: 
   ResultsPositions:
   ResultsNumCautionFlags: 0
 - SessionNum: 1
   SessionLaps: 12
   SessionTime: unlimited
   SessionType: Race
   SessionName: RACE
   ResultsPositions:
   - Position: 1
     ClassPosition: 0
     CarIdx: 3
     Lap: 2
     Time: 80.1234
     FastestTime: 39.9876
   - Position: 2
     ClassPosition: 1
     CarIdx: 2
     Lap: 2
     Time: 80.9000
     FastestTime: 40.0012
   ResultsFastestLap:
   - CarIdx: 3
     FastestLap: 2
   ResultsNumCautionFlags: 1

QualifyResultsInfo:
 Results:
 - Position: 0
   CarIdx: 2
   FastestLap: 4
   FastestTime: 39.5000

DriverInfo:
 DriverCarIdx: 2
 PaceCarIdx: 0
 Drivers:
 - CarIdx: 0
   UserName: Pace Car
   CarNumber: \"0\"
   CarIsPaceCar: 1
   CarClassColor: 0xffffff
 - CarIdx: 2
   UserName: Jörg Müller
   TeamName: - TERCIO -7 -
   CarNumber: \"007\"
   CarNumberRaw: 7
   CarScreenName: Global Mazda MX-5 Cup
   CarClassEstLapTime: 40.5000
   IRating: 1350
   LicString: D 3.21
 - CarIdx: 3
   UserName: ? ?
   TeamName: [SIM]: 100% #1
   CarNumber: \"21\"
   IRating: 2010
   LicString: B 4.99

SplitTimeInfo:
 Sectors:
 - SectorNum: 0
   SectorStartPct: 0.000000
 - SectorNum: 1
   SectorStartPct: 0.412500

CarSetup:
 UpdateCount: 2
 Chassis:
  Front:
   ToeIn: +0.5 mm
...
";

/// Writes the sample.
pub fn stint(path: &Path) -> Result {
    write(path, 120, 0)
}

/// Writes a recording of about `size` bytes, as wide as real ones.
pub fn long_stint(path: &Path, size: u64) -> Result {
    let ticks = size / (record_length() + 4 * MORE) as u64;
    write(path, usize::try_from(ticks)?, MORE)
}

fn size_of(kind: i32) -> usize {
    match kind {
        CHAR | BOOL => 1,
        DOUBLE => 8,
        _ => 4,
    }
}

fn record_length() -> usize {
    let sizes = VARIABLES
        .iter()
        .map(|(_, kind, count, ..)| count * size_of(*kind));
    sizes.sum()
}

fn write(path: &Path, ticks: usize, more: usize) -> Result {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    // Latin-1 has the first 256 characters of Unicode.
    let session: Vec<u8> = SESSION.chars().map(|c| c as u8).collect();
    let count = VARIABLES.len() + more;
    let session_offset = 144 + 144 * count;
    let first = session_offset + session.len();
    let length = record_length() + 4 * more;

    let mut header = Vec::new();
    for word in [
        2,
        1,
        60,
        0,
        session.len(),
        session_offset,
        count,
        144,
        1,
        length,
        0,
        0,
    ] {
        header.extend((word as i32).to_le_bytes());
    }
    for word in [4_711, first] {
        header.extend((word as i32).to_le_bytes());
    }
    header.resize(112, 0);
    header.extend(START.to_le_bytes());
    header.extend(time(0).to_le_bytes());
    header.extend(time(ticks - 1).to_le_bytes());
    header.extend(2_i32.to_le_bytes());
    header.extend((ticks as i32).to_le_bytes());
    out.write_all(&header)?;

    let mut offset = 0;
    for (name, kind, values, as_time, unit, description) in VARIABLES {
        let place = (kind, offset, values, as_time);
        out.write_all(&variable(name, place, unit, description))?;
        offset += values * size_of(kind);
    }
    for number in 0..more {
        let name = format!("Channel{number:03}");
        let place = (FLOAT, offset, 1, false);
        out.write_all(&variable(&name, place, "", "One of many channels"))?;
        offset += 4;
    }
    out.write_all(&session)?;
    for tick in 0..ticks {
        let mut record = record(tick);
        for number in 0..more {
            let phase = tick as f64 * 0.01 + number as f64;
            record.extend(((phase.sin() * 80.0) as f32).to_le_bytes());
        }
        assert_eq!(record.len(), length);
        out.write_all(&record)?;
    }
    out.flush()?;
    Ok(())
}

fn variable(
    name: &str,
    (kind, offset, count, as_time): (i32, usize, usize, bool),
    unit: &str,
    description: &str,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [kind, offset as i32, count as i32, i32::from(as_time)] {
        bytes.extend(word.to_le_bytes());
    }
    for (text, end) in [(name, 48), (description, 112), (unit, 144)] {
        bytes.extend(text.as_bytes());
        bytes.resize(end, 0);
    }
    bytes
}

fn time(tick: usize) -> f64 {
    300.0 + tick as f64 / 60.0
}

/// The values of a tick, in the order of the variables.
fn record(tick: usize) -> Vec<u8> {
    let seconds = time(tick) - 300.0 + 39.0;
    let laps = seconds / LAP_SECONDS;
    let share = laps.fract();
    let angle = TAU * share;
    let speed = 40.0 + 15.0 * angle.sin();
    let mut out = Vec::new();
    for (name, kind, count, ..) in VARIABLES {
        for entry in 0..count {
            let other = entry as f64;
            let value = match name {
                "SessionTime" => time(tick),
                "SessionTick" => 18_000.0 + tick as f64,
                "SessionNum" => 1.0,
                "SessionState" => 4.0,
                // Green, and a start light that fills the uppermost bit.
                "SessionFlags" => f64::from(if tick < 30 { 0x8000_0004_u32 } else { 0x4 }),
                "IsOnTrack" => 1.0,
                "PlayerCarIdx" => 2.0,
                "PlayerTrackSurface" => {
                    if tick % 50 == 49 {
                        0.0
                    } else {
                        3.0
                    }
                }
                "Lap" => 1.0 + laps.floor(),
                "LapDist" => share * 2_650.0,
                "LapDistPct" => share,
                "Speed" => speed,
                "RPM" => 3_000.0 + speed * 60.0,
                "Gear" => {
                    if tick < 2 {
                        -1.0
                    } else {
                        4.0
                    }
                }
                "Throttle" => (0.5 + 0.5 * angle.cos()).clamp(0.0, 1.0),
                "Brake" => (-angle.cos()).clamp(0.0, 1.0),
                "DriverMarker" => f64::from(u8::from(tick % 40 == 7)),
                "Lat" => 53.18 + 0.003 * angle.sin(),
                "Lon" => -2.61 + 0.005 * angle.cos(),
                "EngineWarnings" => {
                    if tick < 60 {
                        16.0
                    } else {
                        48.0
                    }
                }
                "Skies" => 2.0,
                "AirTemp" => 21.5,
                "Setup" => f64::from(*b"N\xFCrburg_2\0junk!!".get(entry).unwrap_or(&0)),
                "CarIdxLap" => {
                    if entry > 3 {
                        -1.0
                    } else {
                        laps.floor() + other
                    }
                }
                "CarIdxLapDistPct" => {
                    if entry > 3 {
                        -1.0
                    } else {
                        (share + other / 8.0).fract()
                    }
                }
                // Car 3 comes onto the track later.
                "CarIdxTrackSurface" => match entry {
                    2 => 3.0,
                    3 if tick >= 10 => 1.0,
                    _ => -1.0,
                },
                "CarIdxOnPitRoad" => f64::from(u8::from(entry == 3)),
                "CarIdxSessionFlags" => {
                    if entry == 2 {
                        262_144.0
                    } else {
                        0.0
                    }
                }
                "CarIdxGapPair" => other + 0.25,
                "SteeringWheelTorque_ST" => angle.sin() * 10.0 + other / 8.0,
                "LatAccel" => angle.cos() * 12.0 - other / 16.0,
                "TireWear" => 0.75 + other / 16.0,
                "FuelLevel" => 20.0 - seconds / 100.0,
                _ => f64::NAN,
            };
            match kind {
                CHAR | BOOL => out.push(value as u8),
                INT => out.extend((value as i32).to_le_bytes()),
                BITS => out.extend((value as u32).to_le_bytes()),
                FLOAT => out.extend((value as f32).to_le_bytes()),
                _ => out.extend(value.to_le_bytes()),
            }
        }
    }
    out
}

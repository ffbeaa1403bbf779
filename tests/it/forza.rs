//! The Forza layouts against the official tables, and what the datagrams of the
//! games that share them are told apart by.

use serde_json::Value;
use simtel::formats::Formats;
use simtel::layout::{Layout, Scalar, Source};

use crate::support::{Table, Workplace, ethernet, ipv4_from, pcap, project_path};

/// The first 232 bytes of every datagram: offset, type, official name.
const SLED: [&str; 58] = [
    "0 i32 IsRaceOn",
    "4 u32 TimestampMS",
    "8 f32 EngineMaxRpm",
    "12 f32 EngineIdleRpm",
    "16 f32 CurrentEngineRpm",
    "20 f32 AccelerationX",
    "24 f32 AccelerationY",
    "28 f32 AccelerationZ",
    "32 f32 VelocityX",
    "36 f32 VelocityY",
    "40 f32 VelocityZ",
    "44 f32 AngularVelocityX",
    "48 f32 AngularVelocityY",
    "52 f32 AngularVelocityZ",
    "56 f32 Yaw",
    "60 f32 Pitch",
    "64 f32 Roll",
    "68 f32 NormalizedSuspensionTravelFrontLeft",
    "72 f32 NormalizedSuspensionTravelFrontRight",
    "76 f32 NormalizedSuspensionTravelRearLeft",
    "80 f32 NormalizedSuspensionTravelRearRight",
    "84 f32 TireSlipRatioFrontLeft",
    "88 f32 TireSlipRatioFrontRight",
    "92 f32 TireSlipRatioRearLeft",
    "96 f32 TireSlipRatioRearRight",
    "100 f32 WheelRotationSpeedFrontLeft",
    "104 f32 WheelRotationSpeedFrontRight",
    "108 f32 WheelRotationSpeedRearLeft",
    "112 f32 WheelRotationSpeedRearRight",
    "116 i32 WheelOnRumbleStripFrontLeft",
    "120 i32 WheelOnRumbleStripFrontRight",
    "124 i32 WheelOnRumbleStripRearLeft",
    "128 i32 WheelOnRumbleStripRearRight",
    "132 f32 WheelInPuddleDepthFrontLeft",
    "136 f32 WheelInPuddleDepthFrontRight",
    "140 f32 WheelInPuddleDepthRearLeft",
    "144 f32 WheelInPuddleDepthRearRight",
    "148 f32 SurfaceRumbleFrontLeft",
    "152 f32 SurfaceRumbleFrontRight",
    "156 f32 SurfaceRumbleRearLeft",
    "160 f32 SurfaceRumbleRearRight",
    "164 f32 TireSlipAngleFrontLeft",
    "168 f32 TireSlipAngleFrontRight",
    "172 f32 TireSlipAngleRearLeft",
    "176 f32 TireSlipAngleRearRight",
    "180 f32 TireCombinedSlipFrontLeft",
    "184 f32 TireCombinedSlipFrontRight",
    "188 f32 TireCombinedSlipRearLeft",
    "192 f32 TireCombinedSlipRearRight",
    "196 f32 SuspensionTravelMetersFrontLeft",
    "200 f32 SuspensionTravelMetersFrontRight",
    "204 f32 SuspensionTravelMetersRearLeft",
    "208 f32 SuspensionTravelMetersRearRight",
    "212 i32 CarOrdinal",
    "216 i32 CarClass",
    "220 i32 CarPerformanceIndex",
    "224 i32 DrivetrainType",
    "228 i32 NumCylinders",
];

/// What follows in the Dash format of Forza Motorsport 7.
const DASH: [&str; 27] = [
    "232 f32 PositionX",
    "236 f32 PositionY",
    "240 f32 PositionZ",
    "244 f32 Speed",
    "248 f32 Power",
    "252 f32 Torque",
    "256 f32 TireTempFrontLeft",
    "260 f32 TireTempFrontRight",
    "264 f32 TireTempRearLeft",
    "268 f32 TireTempRearRight",
    "272 f32 Boost",
    "276 f32 Fuel",
    "280 f32 DistanceTraveled",
    "284 f32 BestLap",
    "288 f32 LastLap",
    "292 f32 CurrentLap",
    "296 f32 CurrentRaceTime",
    "300 u16 LapNumber",
    "302 u8 RacePosition",
    "303 u8 Accel",
    "304 u8 Brake",
    "305 u8 Clutch",
    "306 u8 HandBrake",
    "307 u8 Gear",
    "308 i8 Steer",
    "309 i8 NormalizedDrivingLine",
    "310 i8 NormalizedAIBrakeDifference",
];

/// Reads the lines of a table, `shift` bytes further on.
fn official(lines: &[&str], shift: usize) -> Vec<(usize, Scalar, String)> {
    let fields = lines.iter().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let scalar = match words[1] {
            "i32" => Scalar::I32,
            "u32" => Scalar::U32,
            "f32" => Scalar::F32,
            "u16" => Scalar::U16,
            "u8" => Scalar::U8,
            "i8" => Scalar::I8,
            other => panic!("a type {other}"),
        };
        let offset = words[0].parse::<usize>().expect("an offset");
        (offset + shift, scalar, words[2].to_string())
    });
    fields.collect()
}

/// Offset, type and official name of every column of a format's only table.
fn columns(layout: &Layout) -> Vec<(usize, Scalar, String)> {
    let columns = layout.tables[0].columns.iter();
    let mut fields: Vec<_> = columns
        .filter_map(|column| match &column.source {
            Source::Field(field) => Some((
                field.only_place().expect("one place").offset,
                column.scalar,
                column.official.clone(),
            )),
            _ => None,
        })
        .collect();
    fields.sort_by_key(|(offset, ..)| *offset);
    fields
}

fn layout(name: &str) -> std::sync::Arc<Layout> {
    let formats = Formats::built_in();
    let mut layouts = formats.layouts().iter();
    layouts
        .find(|layout| layout.name == name)
        .expect("a format")
        .clone()
}

#[test]
fn every_field_lies_where_the_official_tables_say() {
    let sled = official(&SLED, 0);
    let dash = [sled.clone(), official(&DASH, 0)].concat();
    let mut horizon = sled.clone();
    for field in &mut horizon {
        if field.2.starts_with("WheelInPuddleDepth") {
            field.1 = Scalar::FlagOrF32;
        }
    }
    let own = [
        "232 u32 CarGroup",
        "236 f32 SmashableVelDiff",
        "240 f32 SmashableMass",
    ];
    horizon.extend(official(&own, 0));
    horizon.extend(official(&DASH, 12));
    horizon.extend(official(&["323 u8 HorizonTrailingUnknown"], 0));
    let own = [
        "311 f32 TireWearFrontLeft",
        "315 f32 TireWearFrontRight",
        "319 f32 TireWearRearLeft",
        "323 f32 TireWearRearRight",
        "327 i32 TrackOrdinal",
    ];
    let motorsport = [dash.clone(), official(&own, 0)].concat();
    for (name, size, fields) in [
        ("forza_sled", 232, sled),
        ("forza_dash", 311, dash),
        ("forza_horizon", 324, horizon),
        ("forza_motorsport", 331, motorsport),
    ] {
        let layout = layout(name);
        assert_eq!(columns(&layout), fields, "{name}");
        let (last, scalar, _) = fields.last().expect("fields");
        assert_eq!(last + scalar.size(), size, "{name}");
        assert_eq!(layout.packets[0].size, size, "{name}");
    }
}

/// A datagram of zeros with these values in it.
fn datagram(length: usize, values: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; length];
    for (offset, value) in values {
        bytes[*offset..*offset + value.len()].copy_from_slice(value);
    }
    bytes
}

/// A Horizon datagram of a driven car of this class.
fn horizon(class: i32, performance_index: i32) -> Vec<u8> {
    datagram(
        324,
        &[
            (0, &1_i32.to_le_bytes()),
            (216, &class.to_le_bytes()),
            (220, &performance_index.to_le_bytes()),
            (232, &25_u32.to_le_bytes()),
        ],
    )
}

/// Converts datagrams, each from a host and to a port, to CSV.
fn convert(datagrams: &[(u8, u16, Vec<u8>)], options: &[&str]) -> (Workplace, i32, String) {
    let place = Workplace::new();
    let frames: Vec<Vec<u8>> = datagrams
        .iter()
        .map(|(host, port, payload)| ethernet(&ipv4_from([10, 0, 0, *host], *port, payload)))
        .collect();
    place.write("x.pcap", pcap(&frames));
    let base = ["convert", "x.pcap", "-o", "out", "-f", "csv"];
    let run = place.run(&[&base, options].concat());
    (place, run.code, run.stderr)
}

fn names(place: &Workplace, column: &str) -> Vec<String> {
    let table = place.table_of("forza_horizon", "telemetry");
    table
        .column(column)
        .iter()
        .map(|name| name.to_string())
        .collect()
}

#[test]
fn signs_and_units_are_those_of_the_wire() {
    let bytes = datagram(
        311,
        &[
            (0, &[1]),
            (4, &u32::MAX.to_le_bytes()),
            (132, &1_u32.to_le_bytes()),
            (256, &180.5_f32.to_le_bytes()),
            (307, &[11]),
            (308, &[0x81]),
            (309, &[0x80]),
            (310, &[0x7F]),
        ],
    );
    let (place, code, said) = convert(&[(1, 9999, bytes)], &["--labels"]);
    assert_eq!(code, 0, "{said}");
    let table = place.table_of("forza_dash", "telemetry");
    for (column, value) in [
        ("timestamp_ms", "4294967295"),
        ("is_race_on", "1"),
        // In a Motorsport game this is a float like any other.
        ("wheel_in_puddle_depth_fl", "1e-45"),
        ("tire_temp_fl", "180.5"),
        ("gear", "11"),
        ("gear_name", "N"),
        ("steer", "-127"),
        ("normalized_driving_line", "-128"),
        ("normalized_ai_brake_difference", "127"),
    ] {
        assert_eq!(table.cell(0, column), value, "{column}");
    }
    let files = place.files("out");
    let schema: Value = serde_json::from_slice(&files["forza_dash/schema.json"]).expect("a schema");
    let columns = schema["tables"]["telemetry"]["columns"]
        .as_array()
        .expect("columns");
    let temperature = columns
        .iter()
        .find(|column| column["name"] == "tire_temp_rr");
    let temperature = temperature.expect("the column");
    assert_eq!(temperature["unit"], "degF");
    assert_eq!(temperature["official_name"], "TireTempRearRight");
}

#[test]
fn puddles_are_told_by_their_bits() {
    let depths = |word: u32| datagram(324, &[(132, &word.to_le_bytes())]);
    let datagrams: Vec<_> = [1, 0, 0.25_f32.to_bits(), 2]
        .map(|word| (1, 9999, depths(word)))
        .to_vec();
    let (place, ..) = convert(&datagrams, &[]);
    let depths = names(&place, "wheel_in_puddle_depth_fl");
    assert_eq!(depths, ["1.0", "0.0", "0.25", "3e-45"]);
}

#[test]
fn names_wait_for_what_tells_the_games_apart() {
    let datagrams = [
        // Class 0 is D everywhere; 25 has a name in one of the games only.
        (1, 9999, horizon(0, 300)),
        // Class 6 is R in Forza Horizon 6, but X in the others.
        (1, 9999, horizon(6, 0)),
        (1, 9999, horizon(3, 700)),
        (1, 9999, horizon(6, 0)),
        (2, 9999, horizon(6, 0)),
        (2, 9999, horizon(6, 999)),
        (2, 9999, horizon(6, 0)),
        // The same computer starts another game.
        (2, 9999, horizon(6, 950)),
        (2, 9999, horizon(9, 0)),
    ];
    let (place, code, said) = convert(&datagrams, &["--labels", "-v"]);
    assert_eq!(code, 0, "{said}");
    let open = "undetermined";
    assert_eq!(
        names(&place, "car_class_name"),
        ["D", open, "A", "R", open, "X", "X", "R", ""]
    );
    let hatch = "Super Hot Hatch";
    assert_eq!(
        names(&place, "car_group_name"),
        [open, open, hatch, hatch, open, "", "", hatch, hatch]
    );
    assert!(
        said.contains("forza_horizon from 10.0.0.1: Forza Horizon 6\n"),
        "{said}"
    );

    let (place, code, said) = convert(&datagrams, &["--labels", "--game", "fh4"]);
    assert_eq!(code, 0, "{said}");
    let classes = ["D", "X", "A", "X", "X", "X", "X", "X", ""];
    assert_eq!(names(&place, "car_class_name"), classes);
}

#[test]
fn another_length_is_shown_and_the_rest_converts() {
    let mut strange = datagram(500, &[(0, &[1])]);
    strange[4..8].copy_from_slice(&[0xDE, 0xAD, 0xBE, 0xEF]);
    let datagrams = [
        (1, 9999, horizon(0, 300)),
        (1, 9999, strange),
        (1, 9999, horizon(0, 301)[..323].to_vec()),
        // Not a first word of the game.
        (1, 9999, datagram(324, &[(0, &[2])])),
    ];
    let (place, code, said) = convert(&datagrams, &["--columns", "*index*,*unknown"]);
    assert_eq!(code, 3, "{said}");
    let expected = "unrecognised: 1 × 500 bytes to port 9999";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("01 00 00 00 de ad be ef"), "{said}");
    assert!(said.contains("unrecognised: 1 × 324 bytes"), "{said}");
    assert_eq!(names(&place, "car_performance_index"), ["300", "301"]);
    // The last byte is missing from the shorter one.
    assert_eq!(names(&place, "horizon_trailing_unknown"), ["0", ""]);

    // Whoever says which game it is hears what its length should be.
    let options = ["--game", "fh6", "--lenient", "--columns", "*index*"];
    let (place, code, said) = convert(&datagrams, &options);
    assert_eq!(code, 3, "{said}");
    let expected = "unexpected length: 1 × forza_horizon Telemetry of 500 bytes, expected 324";
    assert!(said.contains(expected), "{said}");
    assert_eq!(names(&place, "car_performance_index"), ["300", "0", "301"]);
}

#[test]
fn menus_are_kept_unless_they_are_not_wanted() {
    let sample = project_path("samples/forza_dash.pcap")
        .display()
        .to_string();
    let place = Workplace::new();
    place.succeed(&["convert", &sample, "-o", "out", "-f", "csv"]);
    let all = place.table_of("forza_dash", "telemetry");
    let options = ["--driving-only", "--json", "--force"];
    let run = place.succeed(
        &[
            &["convert", &sample, "-o", "out", "-f", "csv"],
            &options[..],
        ]
        .concat(),
    );
    let driving = place.table_of("forza_dash", "telemetry");
    assert_eq!((all.rows.len(), driving.rows.len()), (36, 32));
    assert!(driving.column("is_race_on").iter().all(|on| *on == "1"));
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    assert_eq!(report["inputs"][0]["not_driving"], 4);
    let stamps: Vec<u32> = all
        .column("timestamp_ms")
        .iter()
        .map(|stamp| stamp.parse().expect("a number"))
        .collect();
    assert!(
        stamps.windows(2).any(|pair| pair[1] < pair[0]),
        "the clock wraps"
    );
}

#[test]
fn a_speed_that_is_not_that_of_the_velocity_is_doubted() {
    let moving = |speed: f32| {
        let values: [(usize, &[u8]); 3] = [
            (0, &[1]),
            (32, &3_f32.to_le_bytes()),
            (40, &4_f32.to_le_bytes()),
        ];
        let mut bytes = datagram(324, &values);
        bytes[256..260].copy_from_slice(&speed.to_le_bytes());
        (1, 9999, bytes)
    };
    let (_, code, said) = convert(&[moving(5.0), moving(5.0)], &[]);
    assert_eq!(code, 0, "{said}");
    let (_, code, said) = convert(&[moving(5.0), moving(0.0), moving(f32::NAN)], &[]);
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains(
            "doubtful layout: in 2 of 3 forza_horizon datagrams from 10.0.0.1 Speed is not"
        ),
        "{said}"
    );
    let (_, code, said) = convert(&[moving(0.0)], &["--strict"]);
    assert_eq!(code, 1, "{said}");
}

#[test]
fn games_are_chosen_by_name() {
    let sled = datagram(232, &[(0, &[1])]);
    let datagrams = [(1, 9999, sled), (1, 9999, horizon(0, 300))];
    let (place, code, said) = convert(&datagrams, &["--game", "fm2023,f1_2025"]);
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains("unrecognised") || said.contains("unexpected length"),
        "{said}"
    );
    assert_eq!(place.files("out").len(), 2, "one table and its schema");
    let (_, code, said) = convert(&datagrams, &["--game", "fh7"]);
    assert_eq!(code, 2, "{said}");
    assert!(
        said.contains("there is no game fh7; did you mean fh"),
        "{said}"
    );
}

#[test]
fn columns_go_by_the_official_names_too() {
    let (place, code, said) = convert(
        &[(1, 9999, horizon(0, 300))],
        &["--columns", "TireTemp*Left,Speed"],
    );
    assert_eq!(code, 0, "{said}");
    let Table { columns, .. } = place.table_of("forza_horizon", "telemetry");
    let expected = [
        "capture_time",
        "timestamp_ms",
        "speed",
        "tire_temp_fl",
        "tire_temp_rl",
    ];
    assert_eq!(columns, expected);
}

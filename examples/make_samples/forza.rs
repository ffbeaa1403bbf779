//! A drive in each Forza layout: a menu, reversing out of a pit, up through the
//! gears over the line, a rewind. What differs between the games that share a
//! layout comes from two senders.

use std::f64::consts::TAU;
use std::time::Duration;

use simtel::formats::Formats;

use super::capture::{CaptureWriter, Route};
use super::packet::Packet;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

/// The formats that samples are made of.
pub const FORMATS: [&str; 4] = [
    "forza_sled",
    "forza_dash",
    "forza_horizon",
    "forza_motorsport",
];

const LAP_LENGTH: f64 = 1_200.0;
const FRAME: Duration = Duration::from_micros(16_667);

/// The car and the game that one sender is.
struct Sender {
    route: Route,
    class: i32,
    performance_index: i32,
    /// Depth of the puddle, or a flag as Forza Horizon 6 sends it.
    puddle: Puddle,
    car_group: u32,
    /// Leaves out the last byte.
    short: bool,
}

#[derive(Clone, Copy)]
enum Puddle {
    Depth(f64),
    Flag,
}

pub fn drive(out: &mut CaptureWriter, format: &str) -> Result {
    let formats = Formats::built_in();
    let layout = formats
        .layouts()
        .iter()
        .find(|layout| layout.name == format);
    let layout = layout.ok_or("no such format")?;
    let sender = |host, class, performance_index| Sender {
        route: Route::to_port(host, 9_999),
        class,
        performance_index,
        puddle: Puddle::Depth(0.25),
        car_group: 0,
        short: false,
    };
    let senders = match format {
        "forza_horizon" => vec![
            Sender {
                car_group: 25,
                short: true,
                ..sender(10, 5, 905)
            },
            Sender {
                car_group: 13,
                puddle: Puddle::Flag,
                ..sender(11, 6, 950)
            },
        ],
        _ => vec![sender(10, 5, 750)],
    };
    let mut now = Duration::ZERO;
    for frame in 0..36_u32 {
        for sender in &senders {
            let mut packet = Packet::new(layout, "Telemetry", format != "forza_sled");
            // What only some of the layouts have is not missed in the others.
            packet.strict = false;
            fill(&mut packet, sender, frame);
            let length = packet.bytes.len() - usize::from(sender.short);
            out.write_to(&sender.route, now, &packet.bytes[..length])?;
        }
        now += FRAME;
    }
    Ok(())
}

/// What the game says in one frame.
fn fill(packet: &mut Packet, sender: &Sender, frame: u32) {
    // The clock wraps in the midst of the drive, and ticks in whole sixteenths.
    let clock = (u32::MAX - 300).wrapping_add(frame / 2 * 31);
    if frame < 4 {
        // In menus all else is zero.
        packet.bytes.fill(0);
        packet.set("TimestampMS", 0, clock);
        return;
    }
    let seconds = f64::from(frame - 4) * FRAME.as_secs_f64();
    let (gear, speed) = match frame {
        4..8 => (0, -2.0 * seconds - 0.5),
        8..10 => (11, 0.5),
        // A single frame between two gears.
        15 | 21 | 27 => (11, 20.0 + 40.0 * seconds),
        10..15 => (1, 10.0 + 40.0 * seconds),
        16..21 => (2, 20.0 + 40.0 * seconds),
        22..27 => (3, 20.0 + 40.0 * seconds),
        _ => (4, 20.0 + 40.0 * seconds),
    };
    // Over the line in frame 20; a rewind from frame 32 to before it.
    let since_line = match frame {
        32.. => f64::from(frame) - 52.0,
        _ => f64::from(frame) - 20.0,
    };
    let lap = u16::from(since_line >= 0.0);
    let distance = LAP_LENGTH + since_line * 0.9;
    let angle = TAU * distance / LAP_LENGTH;

    packet.set("IsRaceOn", 0, 1_u8);
    packet.set("TimestampMS", 0, clock);
    packet.set("EngineMaxRpm", 0, 8_000.0);
    packet.set("EngineIdleRpm", 0, 850.0);
    packet.set(
        "CurrentEngineRpm",
        0,
        3_000.0 + f64::from(frame % 6) * 800.0,
    );
    packet.set("VelocityX", 0, speed * 0.1);
    packet.set("VelocityY", 0, 0.01);
    packet.set("VelocityZ", 0, speed);
    let length = (0.01_f64.powi(2) + 1.01 * speed * speed).sqrt();
    packet.set("Speed", 0, length);
    packet.set("Yaw", 0, (angle.rem_euclid(TAU)) - TAU / 2.0);
    packet.set("PositionX", 0, 190.0 * angle.cos());
    packet.set("PositionZ", 0, 190.0 * angle.sin());
    for wheel in 0..4 {
        packet.set(
            "WheelOnRumbleStrip",
            wheel,
            u8::from(wheel == 1 && frame.is_multiple_of(9)),
        );
        match (sender.puddle, wheel == 2 && frame.is_multiple_of(7)) {
            (_, false) => packet.set("WheelInPuddleDepth", wheel, 0.0),
            (Puddle::Depth(depth), true) => packet.set("WheelInPuddleDepth", wheel, depth),
            (Puddle::Flag, true) => packet.set("WheelInPuddleDepth", wheel, 1_u8),
        }
        packet.set("WheelRotationSpeed", wheel, speed / 0.33);
        // Both rear tyres always have the same temperature.
        packet.set(
            "TireTemp",
            wheel,
            160.0 + [6.0, 4.0, 0.0, 0.0][wheel] + seconds,
        );
        packet.set("TireWear", wheel, 0.001 * seconds + 0.01 * wheel as f64);
    }
    packet.set("CarOrdinal", 0, 2_352);
    packet.set("CarClass", 0, sender.class);
    packet.set("CarPerformanceIndex", 0, sender.performance_index);
    packet.set("DrivetrainType", 0, 1_u8);
    packet.set("NumCylinders", 0, 6_u8);
    packet.set("CarGroup", 0, sender.car_group);
    packet.set("SmashableVelDiff", 0, if frame == 18 { 0.016 } else { 0.0 });
    packet.set("SmashableMass", 0, if frame == 18 { 0.18 } else { 0.0 });
    packet.set("Power", 0, if gear == 11 { -12_500.0 } else { 183_000.0 });
    packet.set("Torque", 0, if gear == 11 { -40.0 } else { 310.0 });
    packet.set("Boost", 0, -7.5 + f64::from(frame % 6));
    packet.set("Fuel", 0, 1.0 - seconds / 600.0);
    packet.set("DistanceTraveled", 0, distance - LAP_LENGTH);
    packet.set("BestLap", 0, f64::from(lap) * 81.639);
    packet.set("LastLap", 0, f64::from(lap) * 81.639);
    packet.set(
        "CurrentLap",
        0,
        (81.639 * f64::from(1 - lap)) + since_line / 60.0,
    );
    packet.set("CurrentRaceTime", 0, 85.08 + since_line / 60.0);
    packet.set("LapNumber", 0, lap);
    packet.set("RacePosition", 0, 3_u8);
    packet.set("Accel", 0, if gear == 11 { 0_u8 } else { 255 });
    packet.set("Brake", 0, 0_u8);
    packet.set("Clutch", 0, if gear == 11 { 255_u8 } else { 0 });
    packet.set("HandBrake", 0, u8::from(frame == 8) * 255);
    packet.set("Gear", 0, gear as u8);
    packet.set("Steer", 0, (frame % 5) as i32 * 60 - 127);
    packet.set("NormalizedDrivingLine", 0, 40 - 5 * (frame % 20) as i32);
    packet.set("NormalizedAIBrakeDifference", 0, -(frame as i32));
    packet.set("TrackOrdinal", 0, 510);
    packet.set("HorizonTrailingUnknown", 0, 0_u8);
}

//! A weekend in an F1 game of any year: a lobby, a race with every event there
//! is, and a time trial. The cars go round a made-up track; nothing is random.
//! Fields go by the names of F1 25; what an older game lacks is left out.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;

use simtel::formats::Formats;
use simtel::layout::Layout;

use super::capture::{CaptureWriter, Route};
use super::packet::Packet;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The formats that samples are made of.
pub const YEARS: std::ops::RangeInclusive<u16> = 2018..=2026;
/// The format that must know every field, packet and event below.
const REFERENCE_YEAR: u16 = 2025;

const CARS: usize = 20;
/// Not 0, so that a reader that mixes up the cars is seen.
const PLAYER: usize = 7;
const TRACK_LENGTH: f64 = 5_891.0;
const LAP_SECONDS: f64 = 90.0;
const RACE: u64 = 0x8F3A_5C17_D204_B96E;
const TIME_TRIAL: u64 = 0x17E6_02C4_55AA_90D1;
const DRIVERS: [(&str, u8, u8, u8); CARS] = [
    ("PIASTRI", 112, 8, 3),
    ("NORRIS", 54, 8, 10),
    ("LECLERC", 58, 1, 53),
    ("HAMILTON", 7, 1, 10),
    ("VERSTAPPEN", 9, 2, 22),
    ("TSUNODA", 94, 2, 43),
    ("RUSSELL", 50, 0, 10),
    ("Player", 255, 41, 29),
    ("STROLL", 19, 4, 13),
    ("ALONSO", 3, 4, 77),
    ("GASLY", 59, 5, 28),
    ("COLAPINTO", 162, 5, 2),
    ("OCON", 17, 7, 28),
    ("BEARMAN", 147, 7, 10),
    ("LAWSON", 113, 6, 54),
    ("HADJAR", 149, 6, 28),
    ("ALBON", 62, 3, 80),
    ("SAINZ", 0, 3, 77),
    ("HÜLKENBERG", 10, 9, 29),
    ("BORTOLETO", 161, 9, 9),
];

/// The game's clocks.
#[derive(Clone, Copy)]
struct Clock {
    session: u64,
    /// Seconds since the session began; goes back in a flashback.
    time: f64,
    frame: u32,
    /// Never goes back.
    overall_frame: u32,
    player: u8,
}

/// A game that is running and sends its packets.
struct Game<'a> {
    layout: Arc<Layout>,
    packets: BTreeMap<&'static str, Packet>,
    out: &'a mut CaptureWriter,
    route: Route,
    clock: Clock,
    year: u16,
    /// Time since the capture began.
    now: Duration,
    rate: u32,
}

/// A sample: some seconds, every packet kind and every event; longer for one
/// format than for the others, to keep the project small.
pub fn weekend(out: &mut CaptureWriter, year: u16) -> Result<()> {
    let mut game = Game::start(out, year, 10);
    let frames = |frames: u32| {
        if year == REFERENCE_YEAR {
            frames
        } else {
            frames.div_ceil(4)
        }
    };
    game.lobby(3)?;

    game.enter(RACE, PLAYER);
    game.describe_race();
    game.event("SSTA", &[])?;
    for lights in 1..=5_u8 {
        game.event("STLG", &[("numLights", lights.into())])?;
    }
    game.event("LGOT", &[])?;
    game.drive(frames(12))?;
    game.race_events()?;
    game.drive(frames(10))?;
    game.flashback(frames(8))?;
    game.drive(frames(10))?;
    game.event("CHQF", &[])?;
    game.event("RCWN", &[("vehicleIdx", 1.0)])?;
    game.event("SEND", &[])?;
    game.final_classification()?;

    // The game is silent in its menus.
    game.now += Duration::from_secs(20);
    game.enter(TIME_TRIAL, 0);
    game.describe_time_trial();
    game.event("SSTA", &[])?;
    game.drive(6)?;
    game.send("TimeTrial")?;
    Ok(())
}

/// A long race at 60 Hz of about `size` bytes.
pub fn long_race(out: &mut CaptureWriter, size: u64) -> Result<()> {
    let mut game = Game::start(out, REFERENCE_YEAR, 60);
    game.enter(RACE, PLAYER);
    game.describe_race();
    while game.out.written() < size {
        game.drive(60)?;
        game.event("SPTP", &[("vehicleIdx", 3.0), ("speed", 321.5)])?;
    }
    Ok(())
}

impl<'a> Game<'a> {
    fn start(out: &'a mut CaptureWriter, year: u16, rate: u32) -> Game<'a> {
        let formats = Formats::built_in();
        let mut layouts = formats.layouts().iter();
        let layout = layouts.find(|layout| layout.name == format!("f1_{year}"));
        Game {
            layout: layout.expect("the format is built in").clone(),
            year,
            packets: BTreeMap::new(),
            out,
            route: Route::to_port(10, 20_777),
            clock: Clock {
                session: 0,
                time: 0.0,
                frame: 0,
                overall_frame: 0,
                player: PLAYER as u8,
            },
            now: Duration::ZERO,
            rate,
        }
    }

    fn enter(&mut self, session: u64, player: usize) {
        self.clock = Clock {
            session,
            time: 0.0,
            frame: 0,
            overall_frame: 0,
            player: player as u8,
        };
        self.packets.clear();
    }

    fn packet(&mut self, name: &'static str) -> &mut Packet {
        self.packets
            .entry(name)
            .or_insert_with(|| Packet::new(&self.layout, name, self.year == REFERENCE_YEAR))
    }

    fn send(&mut self, name: &'static str) -> Result<()> {
        let Some(id) = self.layout.packet(name).and_then(|packet| packet.id) else {
            return Ok(());
        };
        let (clock, year) = (self.clock, i32::from(self.year));
        let packet = self.packet(name);
        for (field, value) in [
            ("packetFormat", year),
            ("gameYear", year % 100),
            ("gameMajorVersion", 1),
            ("gameMinorVersion", 18),
            ("packetVersion", 1),
        ] {
            packet.set(field, 0, value);
        }
        packet.set("packetId", 0, id as i32);
        packet.set("sessionUID", 0, clock.session);
        packet.set("sessionTime", 0, clock.time);
        packet.set("frameIdentifier", 0, clock.frame);
        packet.set("overallFrameIdentifier", 0, clock.overall_frame);
        packet.set("playerCarIndex", 0, clock.player);
        packet.set("secondaryPlayerCarIndex", 0, 255_u8);
        // Packets of one frame leave some ten microseconds apart.
        self.now += Duration::from_nanos(12_345);
        self.out
            .write_to(&self.route, self.now, &self.packets[name].bytes)
    }

    fn event(&mut self, code: &'static str, details: &[(&str, f64)]) -> Result<()> {
        let events = self
            .layout
            .table("events")
            .and_then(|table| table.tag.as_ref());
        let known = match events {
            Some(tag) => tag.cases.iter().any(|(known, _)| known == code.as_bytes()),
            // The first game has no details, and no more than these.
            None => matches!(code, "SSTA" | "SEND"),
        };
        if !known {
            return Ok(());
        }
        let packet = self.packet("Event");
        packet.set_text("eventStringCode", 0, code);
        // What an event does not use is left over from the one before.
        for (field, value) in details {
            packet.set(&format!("eventDetails.{code}.{field}"), 0, *value);
        }
        self.send("Event")
    }

    fn step(&mut self) {
        let frames = 60 / self.rate;
        self.now += Duration::from_nanos(1_000_000_000 / u64::from(self.rate));
        self.clock.time += 1.0 / f64::from(self.rate);
        self.clock.frame += frames;
        self.clock.overall_frame += frames;
    }

    fn lobby(&mut self, packets: usize) -> Result<()> {
        for _ in 0..packets {
            let lobby = self.packet("LobbyInfo");
            lobby.set("numPlayers", 0, 3_u8);
            for (player, name) in ["Player", "Zoë 🏁", "Marc"].iter().enumerate() {
                lobby.set_text("lobbyPlayers.name", player, name);
                lobby.set("lobbyPlayers.carNumber", player, 11 + player);
                lobby.set("lobbyPlayers.readyStatus", player, player);
            }
            self.send("LobbyInfo")?;
            self.now += Duration::from_millis(500);
        }
        Ok(())
    }

    fn describe_race(&mut self) {
        let session = self.packet("Session");
        for (field, value) in [
            ("weather", 2),
            ("trackTemperature", 31),
            ("airTemperature", -2),
            ("totalLaps", 5),
            ("trackLength", TRACK_LENGTH as i32),
            ("sessionType", 15),
            ("trackId", 7),
            ("formula", 0),
            ("sessionTimeLeft", 5_400),
            ("sessionDuration", 7_200),
            ("pitSpeedLimit", 80),
            ("gamePaused", 0),
            ("isSpectating", 0),
            ("spectatorCarIndex", 255),
            ("numMarshalZones", 18),
            ("networkGame", 0),
            ("numWeatherForecastSamples", 6),
            ("aiDifficulty", 95),
            ("timeOfDay", 870),
            ("numSessionsInWeekend", 5),
        ] {
            session.set(field, 0, value);
        }
        for zone in 0..18 {
            session.set("marshalZones.zoneStart", zone, zone as f64 / 18.0);
            session.set("marshalZones.zoneFlag", zone, i8::from(zone != 4) - 1);
        }
        for sample in 0..6 {
            session.set("weatherForecastSamples.sessionType", sample, 15_u8);
            session.set("weatherForecastSamples.timeOffset", sample, sample * 5);
            session.set("weatherForecastSamples.weather", sample, sample % 4);
            session.set(
                "weatherForecastSamples.trackTemperature",
                sample,
                31 - sample as i32,
            );
            session.set("weatherForecastSamples.airTemperature", sample, -2_i8);
            session.set("weatherForecastSamples.rainPercentage", sample, sample * 15);
        }
        for (day, session_type) in [1_u8, 2, 3, 8, 15].into_iter().enumerate() {
            session.set("weekendStructure", day, session_type);
        }
        if self.year > REFERENCE_YEAR {
            let session = self.packet("Session");
            for (zones, count) in [
                ("ActiveAeroZonesFull", 3),
                ("ActiveAeroZonesPartial", 1),
                ("DRSZones", 2),
            ] {
                session.set(&format!("num{zones}"), 0, count);
            }
        }
        let participants = self.packet("Participants");
        participants.set("numActiveCars", 0, CARS);
        for (car, (name, driver, team, nationality)) in DRIVERS.iter().enumerate() {
            participants.set_text("participants.name", car, name);
            participants.set("participants.driverId", car, *driver);
            participants.set("participants.teamId", car, *team);
            participants.set("participants.nationality", car, *nationality);
            participants.set("participants.raceNumber", car, car + 1);
            participants.set("participants.aiControlled", car, u8::from(car != PLAYER));
            participants.set("participants.techLevel", car, 1_000 + car);
            participants.set("participants.numColours", car, car % 5);
        }
        for car in CARS..participants.entries("participants.name") {
            participants.set_text("participants.name", car, "");
            participants.set("participants.numColours", car, 0_u8);
        }
        for entry in 0..participants.entries("participants.liveryColours.red") {
            participants.set("participants.liveryColours.red", entry, entry * 2);
            participants.set("participants.liveryColours.green", entry, 255 - entry % 256);
            participants.set("participants.liveryColours.blue", entry, entry % 7 * 30);
        }
        let positions = self.packet("LapPositions");
        positions.set("numLaps", 0, 3_u8);
        positions.set("lapStart", 0, 0_u8);
        for lap in 0..3 {
            for car in 0..22 {
                let position = if car < CARS {
                    (car + lap) % CARS + 1
                } else {
                    0
                };
                positions.set("positionForVehicleIdx", lap * 22 + car, position);
            }
        }
    }

    fn describe_time_trial(&mut self) {
        let session = self.packet("Session");
        session.set("sessionType", 0, 18_u8);
        session.set("trackId", 0, 10_u8);
        session.set("numMarshalZones", 0, 0_u8);
        session.set("numWeatherForecastSamples", 0, 0_u8);
        session.set("numSessionsInWeekend", 0, 1_u8);
        let trial = self.packet("TimeTrial");
        for (set, seconds) in [
            ("playerSessionBestDataSet", 104.512),
            ("personalBestDataSet", 103.998),
            ("rivalDataSet", 102.001),
        ] {
            trial.set(&format!("{set}.lapTimeInMS"), 0, (seconds * 1_000.0) as u32);
            trial.set(
                &format!("{set}.sector1TimeInMS"),
                0,
                (seconds * 310.0) as u32,
            );
            trial.set(
                &format!("{set}.sector2TimeInMS"),
                0,
                (seconds * 440.0) as u32,
            );
            trial.set(
                &format!("{set}.sector3TimeInMS"),
                0,
                (seconds * 250.0) as u32,
            );
        }
    }

    /// Drives for some frames of the send rate, sending what the game sends.
    fn drive(&mut self, frames: u32) -> Result<()> {
        for _ in 0..frames {
            self.step();
            let frame = self.clock.frame * self.rate / 60;
            for car in 0..CARS {
                self.place_car(car);
            }
            // Each game sends those that it has.
            for name in [
                "Motion",
                "LapData",
                "CarTelemetry",
                "CarTelemetry2",
                "CarStatus",
                "MotionEx",
            ] {
                self.send(name)?;
            }
            if frame.is_multiple_of(self.rate / 2) {
                self.send("Session")?;
                self.send("CarSetups")?;
            }
            if frame.is_multiple_of(self.rate / 5) {
                self.damage();
                self.send("CarDamage")?;
                self.history((frame / (self.rate / 5)) as usize % CARS);
                self.send("SessionHistory")?;
                self.send("TyreSets")?;
            }
            if frame % self.rate == 1 {
                self.send("LapPositions")?;
            }
            if frame % (self.rate * 5) == 1 {
                self.send("Participants")?;
            }
        }
        Ok(())
    }

    fn place_car(&mut self, car: usize) {
        let time = self.clock.time - car as f64 * 0.8;
        let total = time / LAP_SECONDS * TRACK_LENGTH;
        let lap = (total / TRACK_LENGTH).floor().max(0.0);
        let distance = total - lap * TRACK_LENGTH;
        let angle = total / TRACK_LENGTH * TAU;
        // Corners come and go; no two cars and no two moments are alike.
        let corner = (angle * 9.0).sin();
        let wobble = (time * 3.7 + car as f64).sin();
        let speed = 235.0 + 80.0 * corner + wobble;

        let motion = self.packet("Motion");
        for (field, value) in [
            ("worldPositionX", 900.0 * angle.cos()),
            ("worldPositionY", 12.5 + 3.0 * (angle * 2.0).sin()),
            ("worldPositionZ", 700.0 * angle.sin()),
            ("worldVelocityX", -speed / 3.6 * angle.sin()),
            ("worldVelocityY", 0.1 * wobble),
            ("worldVelocityZ", speed / 3.6 * angle.cos()),
            ("worldForwardDirX", -32_767.0 * angle.sin()),
            ("worldForwardDirZ", 32_767.0 * angle.cos()),
            ("gForceLateral", 3.2 * (1.0 - corner) * wobble),
            ("gForceLongitudinal", 1.4 * corner),
            ("gForceVertical", 0.05 * wobble),
            ("yaw", angle.sin() * std::f64::consts::PI),
            ("pitch", 0.01 * wobble),
            ("roll", -0.02 * wobble),
        ] {
            motion.set(&format!("carMotionData.{field}"), car, value);
        }

        let lap_time = time.max(0.0) - lap * LAP_SECONDS;
        let lap_data = self.packet("LapData");
        for (field, value) in [
            (
                "lastLapTimeInMS",
                if lap > 0.0 {
                    90_123.0 + car as f64 * 17.0
                } else {
                    0.0
                },
            ),
            ("currentLapTimeInMS", lap_time * 1_000.0),
            (
                "sector1TimeMSPart",
                if lap_time > 28.0 { 28_411.0 } else { 0.0 },
            ),
            ("deltaToCarInFrontMSPart", if car > 0 { 800.0 } else { 0.0 }),
            ("deltaToRaceLeaderMSPart", car as f64 * 800.0),
            ("lapDistance", distance),
            ("totalDistance", total),
            ("carPosition", car as f64 + 1.0),
            ("currentLapNum", lap + 1.0),
            (
                "sector",
                (distance / TRACK_LENGTH * 3.0).clamp(0.0, 2.0).floor(),
            ),
            ("gridPosition", car as f64 + 1.0),
            ("driverStatus", 4.0),
            ("resultStatus", 2.0),
            ("speedTrapFastestLap", 255.0),
        ] {
            lap_data.set(&format!("lapData.{field}"), car, value);
        }
        for empty in CARS..lap_data.entries("lapData.resultStatus") {
            lap_data.set("lapData.resultStatus", empty, 0_u8);
        }

        let telemetry = self.packet("CarTelemetry");
        let throttle = (0.5 + corner * 0.8).clamp(0.0, 1.0);
        for (field, value) in [
            ("speed", speed),
            ("gear", (speed / 45.0).floor() + 1.0),
            ("engineRPM", 9_000.0 + 2_800.0 * throttle + 100.0 * wobble),
            ("drs", f64::from(u8::from(corner > 0.95))),
            ("revLightsPercent", throttle * 100.0),
            ("engineTemperature", 108.0 + wobble),
        ] {
            telemetry.set(&format!("carTelemetryData.{field}"), car, value);
        }
        for (field, share) in [
            ("throttle", throttle),
            ("steer", wobble * 0.3 * (1.0 - corner)),
            ("brake", (-corner - 0.4).clamp(0.0, 1.0)),
        ] {
            telemetry.set_share(&format!("carTelemetryData.{field}"), car, share);
        }
        for wheel in 0..4 {
            let entry = car * 4 + wheel;
            let heat = wheel as f64 * 5.0 + 10.0 * wobble;
            for (field, value) in [
                ("brakesTemperature", 450.0 + 20.0 * heat),
                ("tyresSurfaceTemperature", 95.0 + heat),
                ("tyresInnerTemperature", 102.0 + wheel as f64),
                ("tyresPressure", 21.5 + wheel as f64 * 0.4 + 0.1 * wobble),
            ] {
                telemetry.set(&format!("carTelemetryData.{field}"), entry, value);
            }
        }
        telemetry.set("mfdPanelIndex", 0, 255_u8);
        telemetry.set("suggestedGear", 0, -1_i8);

        let status = self.packet("CarStatus");
        for (field, value) in [
            ("fuelInTank", 98.5 - time * 0.03),
            ("fuelRemainingLaps", 1.25 - time * 0.001),
            ("maxRPM", 13_000.0),
            ("idleRPM", 3_500.0),
            ("maxGears", 9.0),
            ("actualTyreCompound", 16.0 + (car % 3) as f64),
            ("visualTyreCompound", 16.0 + (car % 3) as f64),
            ("tyresAgeLaps", lap),
            ("vehicleFiaFlags", -1.0),
            ("enginePowerICE", 540_000.0 * throttle),
            ("enginePowerMGUK", 120_000.0 * throttle),
            ("ersStoreEnergy", 3_200_000.0 - time * 900.0),
            ("ersDeployedThisLap", lap_time * 12_345.0),
        ] {
            status.set(&format!("carStatusData.{field}"), car, value);
        }

        if car == usize::from(self.clock.player) {
            let motion_ex = self.packet("MotionEx");
            for wheel in 0..4 {
                let side = if wheel % 2 == 0 { 1.0 } else { -1.0 };
                for (field, value) in [
                    ("suspensionPosition", 8.0 + side * wobble),
                    ("wheelSpeed", speed / 3.6 + 0.2 * side),
                    ("wheelSlipRatio", 0.02 * wobble),
                    ("wheelVertForce", 4_200.0 + 300.0 * wobble),
                    ("wheelCamber", side * 0.05),
                ] {
                    motion_ex.set(field, wheel, value);
                }
            }
            motion_ex.set("localVelocityZ", 0, speed / 3.6);
            motion_ex.set("frontWheelsAngle", 0, wobble * 0.1);
        }
    }

    fn damage(&mut self) {
        let time = self.clock.time;
        let damage = self.packet("CarDamage");
        for entry in 0..CARS * 4 {
            damage.set(
                "carDamageData.tyresWear",
                entry,
                time * 0.05 + entry as f64 * 0.001,
            );
        }
        for car in 0..CARS {
            damage.set("carDamageData.frontLeftWingDamage", car, car * 3 % 20);
        }
    }

    fn history(&mut self, car: usize) {
        let history = self.packet("SessionHistory");
        for (field, value) in [
            ("carIdx", car),
            ("numLaps", car % 4),
            ("numTyreStints", 1 + car % 2),
            ("bestLapTimeLapNum", 1),
        ] {
            history.set(field, 0, value);
        }
        for lap in 0..4 {
            history.set("lapHistoryData.lapTimeInMS", lap, 90_000 + lap * 250 + car);
            history.set("lapHistoryData.sector1TimeMSPart", lap, 28_000 + lap * 10);
            history.set("lapHistoryData.lapValidBitFlags", lap, 15_u8);
        }
        history.set("tyreStintsHistoryData.endLap", car % 2, 255_u8);
        let sets = self.packet("TyreSets");
        sets.set("carIdx", 0, car);
        sets.set("fittedIdx", 0, 4_u8);
        for set in 0..20 {
            sets.set("tyreSetData.wear", set, set * 4);
            sets.set("tyreSetData.lapDeltaTime", set, set as i32 * 35 - 200);
            sets.set("tyreSetData.fitted", set, u8::from(set == 4));
        }
    }

    /// One of each event that can come up in a race.
    fn race_events(&mut self) -> Result<()> {
        let events: [(&str, &[(&str, f64)]); 18] = [
            ("DRSE", &[]),
            ("DRSD", &[("reason", 1.0)]),
            ("FTLP", &[("vehicleIdx", 7.0), ("lapTime", 89.5)]),
            ("TMPT", &[("vehicleIdx", 6.0)]),
            (
                "PENA",
                &[
                    ("penaltyType", 4.0),
                    ("infringementType", 7.0),
                    ("vehicleIdx", 12.0),
                    ("otherVehicleIdx", 255.0),
                    ("time", 5.0),
                    ("lapNum", 2.0),
                    ("placesGained", 1.0),
                ],
            ),
            (
                "SPTP",
                &[
                    ("vehicleIdx", 3.0),
                    ("speed", 331.25),
                    ("isOverallFastestInSession", 1.0),
                    ("isDriverFastestInSession", 1.0),
                    ("fastestVehicleIdxInSession", 3.0),
                    ("fastestSpeedInSession", 331.25),
                ],
            ),
            ("DTSV", &[("vehicleIdx", 12.0)]),
            ("SGSV", &[("vehicleIdx", 13.0), ("stopTime", 10.5)]),
            ("BUTN", &[("buttonStatus", f64::from(0x8010_0001_u32))]),
            ("RDFL", &[]),
            (
                "OVTK",
                &[
                    ("overtakingVehicleIdx", 7.0),
                    ("beingOvertakenVehicleIdx", 6.0),
                ],
            ),
            ("SCAR", &[("safetyCarType", 2.0), ("eventType", 0.0)]),
            ("COLL", &[("vehicle1Idx", 18.0), ("vehicle2Idx", 19.0)]),
            ("RTMT", &[("vehicleIdx", 19.0), ("reason", 3.0)]),
            ("PMEN", &[("reason", 1.0)]),
            ("PMDI", &[]),
            ("OVEN", &[]),
            ("OVDI", &[]),
        ];
        for (code, details) in events {
            self.event(code, details)?;
        }
        Ok(())
    }

    /// Rewinds some frames of the send rate: the session's clocks go back, the
    /// overall count goes on.
    fn flashback(&mut self, frames: u32) -> Result<()> {
        let target = Clock {
            time: self.clock.time - f64::from(frames) / f64::from(self.rate),
            frame: self.clock.frame - frames * 60 / self.rate,
            ..self.clock
        };
        self.event(
            "FLBK",
            &[
                ("flashbackFrameIdentifier", f64::from(target.frame)),
                ("flashbackSessionTime", target.time),
            ],
        )?;
        self.now += Duration::from_secs(2);
        self.clock = Clock {
            overall_frame: self.clock.overall_frame + 120,
            ..target
        };
        Ok(())
    }

    fn final_classification(&mut self) -> Result<()> {
        let classification = self.packet("FinalClassification");
        classification.set("numCars", 0, CARS);
        for car in 0..classification.entries("classificationData.position") {
            let raced = car < CARS;
            for (field, value) in [
                ("position", if raced { car + 1 } else { 0 }),
                ("numLaps", if raced { 5 } else { 0 }),
                (
                    "points",
                    [25, 18, 15, 12, 10, 8, 6, 4, 2, 1]
                        .get(car)
                        .copied()
                        .unwrap_or(0),
                ),
                ("resultStatus", if raced { 3 } else { 0 }),
                (
                    "bestLapTimeInMS",
                    if raced { 89_500 + car * 111 } else { 0 },
                ),
                ("numTyreStints", if raced { 1 + car % 3 } else { 0 }),
            ] {
                classification.set(&format!("classificationData.{field}"), car, value);
            }
            let race_time = if raced {
                452.125 + car as f64 * 0.8
            } else {
                0.0
            };
            classification.set("classificationData.totalRaceTime", car, race_time);
        }
        // The game numbers no frames once the session has ended, and repeats
        // the result while it is shown.
        self.clock.frame = 0;
        for _ in 0..2 {
            self.send("FinalClassification")?;
            self.now += Duration::from_secs(5);
        }
        Ok(())
    }
}

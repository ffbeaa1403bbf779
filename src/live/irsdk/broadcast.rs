//! Messages that a running iRacing obeys: cameras, replays, pit stops, chat, its
//! own telemetry files. Each is two numbers that go to every window; their
//! packing follows the SDK (irsdk_defines.h, irsdk_BroadcastMsg).

use clap::ValueEnum;

/// A message: its number, and up to three values of 16 bits, of which the last
/// two may be one of 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broadcast {
    message: i16,
    first: i16,
    rest: i32,
}

/// Whom a camera follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CameraFocus {
    Auto(AutoFocus),
    /// The car at this place of the race, from 1.
    Position(u16),
    /// The car with this number, which may have leading zeros.
    Number(CarNumber),
}

/// Whom a camera follows of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum AutoFocus {
    Incident = -3,
    Leader = -2,
    /// A car that leaves the pits
    Exiting = -1,
}

/// A car number as it is painted on: `7`, `07` and `007` are different cars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CarNumber {
    number: i16,
    /// Leading zeros.
    zeros: i16,
}

impl std::str::FromStr for CarNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<CarNumber, String> {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number && text.len() <= 3);
        let number: i16 = number.ok_or("write up to three digits")?;
        let zeros = text.bytes().take_while(|byte| *byte == b'0').count();
        // The 0 of car 0 is its number.
        let zeros = zeros - usize::from(number == 0);
        Ok(CarNumber {
            number,
            zeros: zeros as i16,
        })
    }
}

impl CarNumber {
    /// The number, with the digits that it is painted with as thousands if it
    /// has leading zeros.
    fn padded(self) -> i16 {
        let digits = match self.number {
            100.. => 3,
            10.. => 2,
            _ => 1,
        };
        match self.zeros {
            0 => self.number,
            zeros => self.number + 1_000 * (digits + zeros),
        }
    }
}

/// What of the camera tool is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum CameraState {
    CamToolActive = 0x0004,
    UiHidden = 0x0008,
    AutoShotSelection = 0x0010,
    TemporaryEdits = 0x0020,
    KeyAcceleration = 0x0040,
    #[value(name = "key-10x-acceleration")]
    Key10xAcceleration = 0x0080,
    MouseAimMode = 0x0100,
}

/// From where a frame is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum ReplayOrigin {
    Begin = 0,
    Current = 1,
    End = 2,
}

/// What to look for in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum ReplaySearch {
    ToStart = 0,
    ToEnd = 1,
    PreviousSession = 2,
    NextSession = 3,
    PreviousLap = 4,
    NextLap = 5,
    PreviousFrame = 6,
    NextFrame = 7,
    PreviousIncident = 8,
    NextIncident = 9,
}

/// What to do with the chat window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum ChatCommand {
    Macro = 0,
    Begin = 1,
    Reply = 2,
    Cancel = 3,
}

/// What to have done at the next pit stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum PitCommand {
    /// Nothing of all
    Clear = 0,
    /// Clean the windshield
    Windshield = 1,
    /// Add fuel, in litres
    Fuel = 2,
    /// Change the left front tyre, with a pressure in kPa
    LeftFront = 3,
    RightFront = 4,
    LeftRear = 5,
    RightRear = 6,
    /// Change no tyres
    ClearTires = 7,
    /// Use a fast repair
    FastRepair = 8,
    ClearWindshield = 9,
    ClearFastRepair = 10,
    ClearFuel = 11,
    /// Change to a tyre compound
    TireCompound = 12,
}

/// What the simulator does with its own telemetry file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum TelemetryCommand {
    Stop = 0,
    Start = 1,
    /// End the file, and begin another
    Restart = 2,
}

/// What to do with pictures and videos.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[repr(i16)]
pub enum VideoCommand {
    Screenshot = 0,
    Start = 1,
    End = 2,
    Toggle = 3,
    ShowTimer = 4,
    HideTimer = 5,
}

impl Broadcast {
    /// Two values of 16 bits after the first.
    fn pairs(message: i16, first: i16, second: u16, third: u16) -> Broadcast {
        let rest = u32::from(second) | u32::from(third) << 16;
        Broadcast {
            message,
            first,
            rest: rest as i32,
        }
    }

    fn wide(message: i16, first: i16, rest: i32) -> Broadcast {
        Broadcast {
            message,
            first,
            rest,
        }
    }

    /// Turns the camera to a car; group and camera by their numbers in the
    /// session string, 0 to keep them.
    pub fn camera(focus: CameraFocus, group: u16, camera: u16) -> Broadcast {
        match focus {
            CameraFocus::Auto(focus) => Broadcast::pairs(0, focus as i16, group, camera),
            CameraFocus::Position(place) => Broadcast::pairs(0, place as i16, group, camera),
            CameraFocus::Number(number) => Broadcast::pairs(1, number.padded(), group, camera),
        }
    }

    pub fn camera_state(states: &[CameraState]) -> Broadcast {
        let bits = states.iter().fold(0, |bits, state| bits | *state as i16);
        Broadcast::wide(2, bits, 0)
    }

    /// Plays a replay; 0 pauses, negative is backwards. In slow motion 16 is a
    /// sixteenth.
    pub fn replay_speed(speed: i16, is_slow: bool) -> Broadcast {
        Broadcast::pairs(3, speed, u16::from(is_slow), 0)
    }

    pub fn replay_position(origin: ReplayOrigin, frame: i32) -> Broadcast {
        Broadcast::wide(4, origin as i16, frame)
    }

    pub fn replay_search(search: ReplaySearch) -> Broadcast {
        Broadcast::wide(5, search as i16, 0)
    }

    /// Erases the replay.
    pub fn replay_erase() -> Broadcast {
        Broadcast::wide(6, 0, 0)
    }

    /// Loads the textures of all cars anew, or those of one by its index.
    pub fn reload_textures(car: Option<u16>) -> Broadcast {
        match car {
            None => Broadcast::wide(7, 0, 0),
            Some(car) => Broadcast::pairs(7, 1, car, 0),
        }
    }

    /// A macro by its number, from 1.
    pub fn chat(command: ChatCommand, number: u16) -> Broadcast {
        Broadcast::pairs(8, command as i16, number, 0)
    }

    /// An amount of 0 keeps the present one.
    pub fn pit(command: PitCommand, amount: i32) -> Broadcast {
        Broadcast::wide(9, command as i16, amount)
    }

    pub fn telemetry(command: TelemetryCommand) -> Broadcast {
        Broadcast::wide(10, command as i16, 0)
    }

    /// The largest force of the wheel in newton metres; negative lets the
    /// simulator choose.
    pub fn max_force(force: f32) -> Broadcast {
        // 16 bits behind the point; what does not fit saturates.
        Broadcast::wide(11, 0, (f64::from(force) * 65_536.0).round() as i32)
    }

    /// Goes to a moment of a session, in milliseconds.
    pub fn replay_time(session: i16, milliseconds: i32) -> Broadcast {
        Broadcast::wide(12, session, milliseconds)
    }

    pub fn video(command: VideoCommand) -> Broadcast {
        Broadcast::wide(13, command as i16, 0)
    }

    /// The two numbers that windows get, each as 32 bits.
    pub fn words(self) -> (i32, i32) {
        let low = u32::from(self.message as u16);
        let high = u32::from(self.first as u16) << 16;
        ((low | high) as i32, self.rest)
    }

    /// Sends it to every window, and so to the simulator, if that runs on the
    /// same desktop with the same rights.
    ///
    /// # Errors
    /// If the system does not send it.
    #[cfg(windows)]
    pub fn send(self) -> std::io::Result<()> {
        super::windows::broadcast(self.words())
    }

    /// # Errors
    /// Always: the simulator runs on Windows.
    #[cfg(not(windows))]
    pub fn send(self) -> std::io::Result<()> {
        Err(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "iRacing takes messages on Windows alone, from a program on the same machine",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a message as unsigned numbers.
    fn words(message: Broadcast) -> (u32, u32) {
        let (first, second) = message.words();
        (first as u32, second as u32)
    }

    fn number(text: &str) -> CarNumber {
        text.parse().expect("a car number")
    }

    #[test]
    fn every_message_is_packed_as_the_simulator_unpacks_it() {
        let focus = |focus| Broadcast::camera(focus, 7, 9);
        let expected = [
            (focus(CameraFocus::Position(3)), (0x0003_0000, 0x0009_0007)),
            (
                focus(CameraFocus::Auto(AutoFocus::Incident)),
                (0xFFFD_0000, 0x0009_0007),
            ),
            (
                focus(CameraFocus::Auto(AutoFocus::Leader)),
                (0xFFFE_0000, 0x0009_0007),
            ),
            (
                focus(CameraFocus::Auto(AutoFocus::Exiting)),
                (0xFFFF_0000, 0x0009_0007),
            ),
            (
                focus(CameraFocus::Number(number("64"))),
                (0x0040_0001, 0x0009_0007),
            ),
            // Two digits and a zero make three: 3,007.
            (
                focus(CameraFocus::Number(number("007"))),
                (0x0BBF_0001, 0x0009_0007),
            ),
            (
                Broadcast::camera_state(&[CameraState::UiHidden, CameraState::MouseAimMode]),
                (0x0108_0002, 0),
            ),
            (Broadcast::replay_speed(-2, false), (0xFFFE_0003, 0)),
            (Broadcast::replay_speed(16, true), (0x0010_0003, 1)),
            // The low half of a frame is in the low word.
            (
                Broadcast::replay_position(ReplayOrigin::End, 0x0001_2345),
                (0x0002_0004, 0x0001_2345),
            ),
            (
                Broadcast::replay_position(ReplayOrigin::Current, -60),
                (0x0001_0004, 0xFFFF_FFC4),
            ),
            (
                Broadcast::replay_search(ReplaySearch::NextIncident),
                (0x0009_0005, 0),
            ),
            (Broadcast::replay_erase(), (0x0000_0006, 0)),
            (Broadcast::reload_textures(None), (0x0000_0007, 0)),
            (Broadcast::reload_textures(Some(12)), (0x0001_0007, 12)),
            (Broadcast::chat(ChatCommand::Macro, 15), (0x0000_0008, 15)),
            (Broadcast::chat(ChatCommand::Cancel, 0), (0x0003_0008, 0)),
            (Broadcast::pit(PitCommand::Fuel, 40), (0x0002_0009, 40)),
            (
                Broadcast::pit(PitCommand::TireCompound, 1),
                (0x000C_0009, 1),
            ),
            (
                Broadcast::telemetry(TelemetryCommand::Restart),
                (0x0002_000A, 0),
            ),
            (Broadcast::max_force(12.5), (0x0000_000B, 0x000C_8000)),
            (Broadcast::max_force(-1.0), (0x0000_000B, 0xFFFF_0000)),
            (Broadcast::replay_time(2, 90_500), (0x0002_000C, 90_500)),
            (Broadcast::video(VideoCommand::HideTimer), (0x0005_000D, 0)),
        ];
        for (message, packed) in expected {
            assert_eq!(words(message), packed, "{message:?}");
        }
    }

    #[test]
    fn car_numbers_keep_their_zeros() {
        // By the SDK's padCarNum: number + 1000 * (digits + zeros), if there are
        // any zeros.
        for (text, packed) in [
            ("0", 0),
            ("00", 2_000),
            ("000", 3_000),
            ("7", 7),
            ("07", 2_007),
            ("007", 3_007),
            ("64", 64),
            ("064", 3_064),
            ("999", 999),
        ] {
            assert_eq!(number(text).padded(), packed, "{text}");
        }
        for text in ["", "-1", "+1", "1000", "x"] {
            assert!(text.parse::<CarNumber>().is_err(), "{text}");
        }
    }
}

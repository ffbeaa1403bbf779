//! `simtel iracing`: what a running iRacing can be told.

use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{Outcome, values};
use crate::live::broadcast::{
    AutoFocus, Broadcast, CameraFocus, CameraState, CarNumber, ChatCommand, PitCommand,
    ReplayOrigin, ReplaySearch, TelemetryCommand, VideoCommand,
};

/// Tell a running iRacing what to do
#[derive(Debug, Args)]
pub(super) struct Iracing {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Send a message to the simulator; on Windows, beside it
    ///
    /// The simulator does not answer. It must run on the same desktop and with
    /// the same rights.
    #[command(after_long_help = EXAMPLES)]
    Send {
        #[command(subcommand)]
        message: Message,
    },
}

const EXAMPLES: &str = "Examples:
  simtel iracing send telemetry start
  simtel iracing send camera --car 007 --group 2
  simtel iracing send replay-search previous-incident
  simtel iracing send replay-time --session 2 12m30s
  simtel iracing send pit fuel 40";

#[derive(Debug, Subcommand)]
enum Message {
    /// Turn the camera to a car
    Camera {
        #[command(flatten)]
        focus: Focus,
        /// Camera group, by its number in the session string; 0 keeps it
        #[arg(long, default_value_t = 0, value_name = "N")]
        group: u16,
        /// Camera, by its number in the session string; 0 keeps it
        #[arg(long, default_value_t = 0, value_name = "N")]
        camera: u16,
    },
    /// Say what of the camera tool is on; nothing without any
    CameraState {
        #[arg(value_name = "STATE")]
        states: Vec<CameraState>,
    },
    /// Play a replay; 0 pauses, negative is backwards
    ReplaySpeed {
        #[arg(allow_negative_numbers = true)]
        speed: i16,
        /// Play it this much slower, rather than faster
        #[arg(long)]
        slow_motion: bool,
    },
    /// Go to a frame of a replay
    ReplayPosition {
        /// From where the frame is counted
        origin: ReplayOrigin,
        #[arg(allow_negative_numbers = true)]
        frame: i32,
    },
    /// Look for something in a replay
    ReplaySearch { search: ReplaySearch },
    /// Go to a moment of a session in a replay
    ReplayTime {
        /// The session, by its number in the session string
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i16).range(0..))]
        session: i16,
        /// Time of the session, such as 12m30s
        #[arg(value_parser = values::duration)]
        time: Duration,
    },
    /// Erase the replay
    ReplayErase,
    /// Load the textures of all cars anew
    ReloadTextures {
        /// Of this car only, by its index
        #[arg(long, value_name = "INDEX")]
        car: Option<u16>,
    },
    /// Use the chat window
    Chat {
        command: ChatCommand,
        /// Which macro
        #[arg(value_name = "MACRO", required_if_eq("command", "macro"), value_parser = clap::value_parser!(u16).range(1..=15))]
        number: Option<u16>,
    },
    /// Say what to do at the next pit stop; obeyed in the car only
    Pit {
        command: PitCommand,
        /// Litres of fuel, kPa of a tyre, or number of a compound; 0 keeps the
        /// present one
        #[arg(default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..))]
        amount: i32,
    },
    /// Let the simulator record an .ibt of its own; obeyed in the car only
    Telemetry { command: TelemetryCommand },
    /// Set the largest force of the wheel
    MaxForce {
        /// In newton metres; negative lets the simulator choose
        #[arg(allow_negative_numbers = true)]
        force: f32,
    },
    /// Take pictures and videos
    Video { command: VideoCommand },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Focus {
    /// The car with this number, leading zeros included
    #[arg(long, value_name = "NUMBER")]
    car: Option<CarNumber>,
    /// The car at this place of the race
    #[arg(long, value_name = "PLACE", value_parser = clap::value_parser!(u16).range(1..=32767))]
    position: Option<u16>,
    /// Whatever is of interest
    #[arg(long, value_name = "WHOM")]
    focus: Option<AutoFocus>,
}

impl Iracing {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let Command::Send { message } = self.command;
        message
            .packed()?
            .send()
            .context("cannot send the message")?;
        Ok(Outcome::Complete)
    }
}

impl Message {
    fn packed(self) -> anyhow::Result<Broadcast> {
        Ok(match self {
            Message::Camera {
                focus,
                group,
                camera,
            } => Broadcast::camera(focus.target(), group, camera),
            Message::CameraState { states } => Broadcast::camera_state(&states),
            Message::ReplaySpeed { speed, slow_motion } => {
                Broadcast::replay_speed(speed, slow_motion)
            }
            Message::ReplayPosition { origin, frame } => Broadcast::replay_position(origin, frame),
            Message::ReplaySearch { search } => Broadcast::replay_search(search),
            Message::ReplayTime { session, time } => {
                let milliseconds = i32::try_from(time.as_millis());
                Broadcast::replay_time(session, milliseconds.context("the time is too long")?)
            }
            Message::ReplayErase => Broadcast::replay_erase(),
            Message::ReloadTextures { car } => Broadcast::reload_textures(car),
            Message::Chat { command, number } => Broadcast::chat(command, number.unwrap_or(0)),
            Message::Pit { command, amount } => Broadcast::pit(command, amount),
            Message::Telemetry { command } => Broadcast::telemetry(command),
            Message::MaxForce { force } => Broadcast::max_force(force),
            Message::Video { command } => Broadcast::video(command),
        })
    }
}

impl Focus {
    /// One of them is given.
    fn target(&self) -> CameraFocus {
        let car = self.car.map(CameraFocus::Number);
        let position = || self.position.map(CameraFocus::Position);
        let auto = CameraFocus::Auto(self.focus.unwrap_or(AutoFocus::Leader));
        car.or_else(position).unwrap_or(auto)
    }
}

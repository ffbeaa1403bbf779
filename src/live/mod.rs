//! Live sources and targets: what comes in from the network, or from a running
//! simulator, while it happens, and what goes out as if it happened.
//! Capture files are made in `capture`, what datagrams are is known to
//! `formats`; how all this is shown is the CLI's affair.

mod control;
mod faults;
mod feed;
mod files;
mod forward;
mod irsdk;
mod observe;
mod pace;
mod player;
mod priority;
mod queue;
mod recorder;
mod send;
mod simulator;
mod stop;
mod tick_forward;
mod tick_object;
mod tick_recorder;
mod udp;

pub use control::Control;
pub use faults::{FaultCounts, FaultOptions};
pub use feed::{Condition, FeedCounts, FeedOptions, FeedReport, Filter, FilterBy, TickEncoding};
pub use files::{DatagramOptions, FileOptions, Output, Rotation};
pub use forward::ForwardReport;
pub use irsdk::{MapPlace, broadcast};
pub use observe::{FormatSeen, FrameGaps, Observed};
pub use pace::{LONGEST_SPIN, Speed, Spin};
pub use player::{Lateness, PlayOptions, PlayReport, Player};
pub use recorder::{ListenerReport, RecordOptions, Recorder, Report};
pub use send::{SendInterface, SendOptions, Target, TargetCounts};
pub use simulator::SimulatorReport;
pub use stop::{StopReason, StopRules};
pub use tick_recorder::{TickRecordOptions, TickRecorder, TickReport};
pub use udp::{Group, LARGEST_BUFFER, ListenAddress, ListenOptions, Listener, resolve};

//! Live sources and targets: what comes in from the network while it happens,
//! and what goes out as if it happened.
//! Capture files are made in `capture`, what datagrams are is known to
//! `formats`; how all this is shown is the CLI's affair.

mod control;
mod faults;
mod feed;
mod files;
mod forward;
mod observe;
mod pace;
mod player;
mod queue;
mod recorder;
mod send;
mod udp;

pub use control::Control;
pub use faults::{FaultCounts, FaultOptions};
pub use feed::{Condition, FeedCounts, FeedOptions, FeedReport, Filter, FilterBy, TickEncoding};
pub use files::{FileOptions, Output, Rotation};
pub use observe::{FormatSeen, FrameGaps, Observed};
pub use pace::{LONGEST_SPIN, Speed, Spin};
pub use player::{Lateness, PlayOptions, PlayReport, Player};
pub use recorder::{
    ForwardReport, ListenerReport, RecordOptions, Recorder, Report, StopReason, StopRules,
};
pub use send::{SendInterface, SendOptions, Target, TargetCounts};
pub use udp::{Group, LARGEST_BUFFER, ListenAddress, ListenOptions, Listener, resolve};

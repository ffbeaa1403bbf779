//! Live sources and targets: what comes in from the network while it happens.
//! Capture files are made in `capture`, what datagrams are is known to
//! `formats`; how all this is shown is the CLI's affair.

mod files;
mod forward;
mod observe;
mod queue;
mod recorder;
mod udp;

pub use files::{FileOptions, Output, Rotation};
pub use observe::{FormatSeen, Observed, SequenceGaps};
pub use recorder::{
    ForwardReport, ListenerReport, RecordOptions, Recorder, Report, StopReason, StopRules,
};
pub use udp::{Group, ListenAddress, ListenOptions, Listener, resolve};

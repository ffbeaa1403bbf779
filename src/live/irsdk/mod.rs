//! The memory that a running iRacing shares with other programs, as its SDK
//! lays it out: a header, variable headers, the session string, and up to four
//! buffers that take turns. Read in `reader`, written in `publisher`, both over
//! any bytes that other programs change meanwhile (`region`): the named mapping
//! of Windows, or a file that holds the same. `broadcast` makes the messages
//! that the simulator obeys. What becomes of the ticks is not known here.

pub mod broadcast;
mod publisher;
mod reader;
mod region;
#[cfg(windows)]
mod windows;

use std::fmt;
use std::path::PathBuf;

pub(super) use publisher::Publisher;
pub(super) use reader::{Event, Problem, Reader, State};

/// Where the memory lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapPlace {
    /// In a file, which every system has.
    File(PathBuf),
    /// Under the simulator's own names; on Windows only.
    Simulator,
    /// Under simtel's names, where no other program takes it for a simulator; on
    /// Windows only.
    Isolated,
}

impl MapPlace {
    /// Names of the mapping and of the event that says when there is a new tick.
    #[cfg(windows)]
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            MapPlace::Isolated => (
                "Local\\SimtelIRSDKMemMapFileName",
                "Local\\SimtelIRSDKDataValidEvent",
            ),
            MapPlace::Simulator | MapPlace::File(_) => {
                ("Local\\IRSDKMemMapFileName", "Local\\IRSDKDataValidEvent")
            }
        }
    }
}

impl fmt::Display for MapPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapPlace::File(path) => path.display().fmt(formatter),
            MapPlace::Simulator => formatter.write_str("iRacing's shared memory"),
            MapPlace::Isolated => formatter.write_str("simtel's shared memory"),
        }
    }
}

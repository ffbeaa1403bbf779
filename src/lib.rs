//! simtel records, replays and converts sim-racing telemetry.
//!
//! The house, from the street up:
//!
//! - [`capture`]: files that hold records as they came; knows no game.
//! - [`layout`]: what a record looks like, as data; knows no file.
//! - [`formats`]: the layouts that simtel brings along, and which one a record
//!   has.
//! - [`decode`]: records + layout → Arrow record batches, on all cores.
//! - [`inspect`]: what is in a capture, without decoding it.
//! - [`live`]: what arrives from the network while it happens → captures.
//! - [`sink`]: batches → Parquet, CSV, JSON, Arrow.
//! - [`cli`]: the commands. Nothing imports it.

pub mod capture;
pub mod cli;
mod clock;
pub mod decode;
mod disk;
pub mod formats;
pub mod inspect;
pub mod layout;
pub mod live;
mod lock;
mod pipe;
pub mod sink;
mod text;

//! All integration tests, in one binary so that they link once.

mod capture;
mod command;
mod damage;
mod forza;
mod generated;
mod golden;
mod ibt;
mod info;
mod irsdk;
mod layout;
mod record;
mod recording;
mod replay;
mod snapshots;
mod support;
mod user_layout;

#[allow(
    dead_code,
    reason = "the generator is a program of its own; here only its samples are compared"
)]
#[path = "../../examples/make_samples/main.rs"]
mod make_samples;

#[allow(
    dead_code,
    reason = "a program of its own; here only its simulator publishes"
)]
#[path = "../../examples/fake_simulator.rs"]
mod fake_simulator;

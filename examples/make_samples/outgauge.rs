//! Half a second of OutGauge as Live for Speed sends it, for the layout that is
//! the example of one's own.

use std::time::Duration;

use simtel::layout::Layout;

use super::capture::{CaptureWriter, Route};
use super::packet::Packet;

type Result = std::result::Result<(), Box<dyn std::error::Error>>;

const LAYOUT: &str = include_str!("../outgauge.layout");

pub fn drive(out: &mut CaptureWriter) -> Result {
    let layout = Layout::parse("outgauge.layout", LAYOUT, &|_| None)?;
    let route = Route::to_port(12, 30_000);
    let mut packet = Packet::new(&layout, "OutGauge", true);
    packet.set_text("Car", 0, "XFG");
    packet.set("Flags", 0, 0x4000);
    packet.set("DashLights", 0, 0x7FF);
    packet.set_text("Display1", 0, "Fuel 61%");
    packet.set_text("Display2", 0, "Brake bal 72%");
    packet.set("ID", 0, -3);
    for frame in 0..12_u32 {
        let now = Duration::from_millis(40) * frame;
        let speed = 12.0 + f64::from(frame) * 1.5;
        packet.set("Time", 0, 5_000 + 40 * frame);
        packet.set("Gear", 0, 2 + frame / 4);
        packet.set("Speed", 0, speed);
        packet.set("RPM", 0, 3_500.0 + f64::from(frame % 4) * 900.0);
        packet.set("ShowLights", 0, if frame % 4 == 3 { 0x101 } else { 0x100 });
        packet.set("Throttle", 0, 0.5 + f64::from(frame % 4) / 8.0);
        // Another computer, without an ID in its cfg.txt.
        let length = if frame % 5 == 4 { 92 } else { 96 };
        out.write_to(&route, now, &packet.bytes[..length])?;
    }
    Ok(())
}

//! Sends numbered datagrams at a steady rate, to see whether a recorder keeps
//! up:
//!
//! ```text
//! cargo run --release --example flood -- 127.0.0.1:20777 200000 50000 1352
//! ```
//!
//! Each has its number behind the word `numbered`: 64 bits, little-endian, from
//! 0. Prints how long it took.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, count, rate, size] = arguments.as_slice() else {
        return Err("usage: flood ADDRESS:PORT COUNT PER_SECOND SIZE".into());
    };
    let (count, rate): (u64, f64) = (count.parse()?, rate.parse()?);
    let mut payload = vec![0; size.parse::<usize>()?.max(16)];
    payload[..8].copy_from_slice(b"numbered");
    let any = match target.starts_with('[') {
        true => "[::]:0",
        false => "0.0.0.0:0",
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(target)?;
    let start = Instant::now();
    for number in 0..count {
        let due = start + Duration::from_secs_f64(number as f64 / rate);
        let early = due.saturating_duration_since(Instant::now());
        if early > Duration::from_millis(2) {
            std::thread::sleep(early - Duration::from_millis(1));
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        payload[8..16].copy_from_slice(&number.to_le_bytes());
        socket.send(&payload)?;
    }
    println!("{count} in {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}

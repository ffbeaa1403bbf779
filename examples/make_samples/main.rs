//! Makes the captures in `samples/`, and large ones for benches:
//!
//! ```text
//! cargo run --example make_samples                       # writes samples/
//! cargo run --release --example make_samples -- 1GB out.pcap    # F1 25
//! cargo run --release --example make_samples -- 1GB out.ibt     # iRacing
//! ```
//!
//! Everything is computed, so the same command gives the same bytes. The bytes
//! of a packet are laid out by the layout files; that these are right is for
//! the tests to say, against values that were written down by hand.

mod capture;
mod f1;
mod forza;
mod ibt;
mod outgauge;
mod packet;

use std::path::Path;

use capture::CaptureWriter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => write_samples(&Path::new(env!("CARGO_MANIFEST_DIR")).join("samples"))?,
        [size, path] => {
            let size = parse_size(size).ok_or("write a size such as 500MB or 1GB")?;
            let path = Path::new(path);
            if path.extension().is_some_and(|extension| extension == "ibt") {
                ibt::long_stint(path, size)?;
            } else {
                let mut writer = CaptureWriter::create(path)?;
                f1::long_race(&mut writer, size)?;
                writer.finish()?;
            }
        }
        _ => return Err("usage: make_samples [SIZE OUT.pcap|OUT.ibt]".into()),
    }
    Ok(())
}

/// Writes every sample into `folder`.
pub fn write_samples(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(folder)?;
    for year in f1::YEARS {
        let mut writer = CaptureWriter::create(&folder.join(format!("f1_{year}.pcap")))?;
        f1::weekend(&mut writer, year)?;
        writer.finish()?;
    }
    for format in forza::FORMATS {
        let mut writer = CaptureWriter::create(&folder.join(format!("{format}.pcap")))?;
        forza::drive(&mut writer, format)?;
        writer.finish()?;
    }
    let mut writer = CaptureWriter::create(&folder.join("outgauge.pcap"))?;
    outgauge::drive(&mut writer)?;
    writer.finish()?;
    ibt::stint(&folder.join("iracing.ibt"))?;
    Ok(())
}

fn parse_size(text: &str) -> Option<u64> {
    let (digits, factor) = match text {
        _ if text.ends_with("GB") => (text.strip_suffix("GB")?, 1_000_000_000),
        _ if text.ends_with("MB") => (text.strip_suffix("MB")?, 1_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

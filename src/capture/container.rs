//! What a capture file says of itself, beside its packets: its kind, its
//! interfaces, and who wrote it.

/// What kind of file a capture is.
#[derive(Debug, Clone)]
pub struct Container {
    /// How the whole file is compressed, if it is.
    pub packing: Option<Packing>,
    pub framing: Framing,
}

/// A compression around a whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstandard,
}

impl Packing {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstandard => "zstd",
        }
    }
}

#[derive(Debug, Clone)]
pub enum Framing {
    Pcap(PcapDetails),
    PcapNg(PcapNgDetails),
}

/// The header of a pcap.
#[derive(Debug, Clone)]
pub struct PcapDetails {
    pub version: (u16, u16),
    pub is_big_endian: bool,
    /// Of time stamps, in nanoseconds.
    pub resolution: u64,
    pub link: String,
    /// The most bytes of a packet that are kept; 0 if it does not say.
    pub snap_length: u32,
}

/// What the sections of a pcapng say of themselves.
#[derive(Debug, Clone, Default)]
pub struct PcapNgDetails {
    /// How many there are; a file that was put together has several.
    pub sections: u64,
    pub is_big_endian: bool,
    /// What the first section says of the program and machine that wrote it.
    pub application: Option<String>,
    pub system: Option<String>,
    pub hardware: Option<String>,
    /// The first one.
    pub comment: Option<String>,
    /// Of all sections, the first of them.
    pub interfaces: Vec<InterfaceDetails>,
    pub more_interfaces: u64,
}

/// What a pcapng says of an interface.
#[derive(Debug, Clone)]
pub struct InterfaceDetails {
    pub name: Option<String>,
    pub link: String,
    /// The most bytes of a packet that are kept; 0 if all are.
    pub snap_length: u32,
    /// Of time stamps, in nanoseconds.
    pub resolution: u64,
    /// Packets that came, and those that were lost, as counted at the end of the
    /// capture.
    pub received: Option<u64>,
    pub dropped: Option<u64>,
}

impl PcapNgDetails {
    /// More interfaces than this are only counted.
    const MOST_INTERFACES: usize = 100;

    pub(super) fn add(&mut self, interface: InterfaceDetails) {
        match self.interfaces.len() < Self::MOST_INTERFACES {
            true => self.interfaces.push(interface),
            false => self.more_interfaces += 1,
        }
    }
}

//! The formats that simtel knows, as layout files, and the question which of
//! them a record has. How a layout file is read is the business of `layout`.

use std::sync::{Arc, LazyLock};

use crate::layout::Layout;

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!($name))),*]
    };
}

/// Layout files by the name under which others include them.
const FILES: &[(&str, &str)] = files! {
    "f1/2018.layout" "f1/2018.enums"
    "f1/2019.layout" "f1/2019.enums"
    "f1/2020.layout" "f1/2020.enums"
    "f1/2021.layout" "f1/2021.enums"
    "f1/2022.layout" "f1/2022.enums"
    "f1/2023.layout" "f1/2023.enums"
    "f1/2024.layout" "f1/2024.enums"
    "f1/2025.layout" "f1/2025.enums"
    "f1/2026.layout" "f1/2026.enums"
};

/// Every built-in layout, oldest first.
static BUILT_IN: LazyLock<Vec<Arc<Layout>>> = LazyLock::new(|| {
    FILES
        .iter()
        .filter(|(name, _)| name.ends_with(".layout"))
        .map(|(name, text)| {
            let layout = Layout::parse(name, text, &built_in_file);
            Arc::new(layout.unwrap_or_else(|error| panic!("a built-in layout is wrong: {error}")))
        })
        .collect()
});

fn built_in_file(name: &str) -> Option<String> {
    let (_, text) = FILES.iter().find(|(known, _)| *known == name)?;
    Some((*text).to_string())
}

/// The formats to recognise records by.
#[derive(Debug, Clone)]
pub struct Formats {
    layouts: Vec<Arc<Layout>>,
}

/// What a datagram's payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// A packet of a known format, of the right length.
    Packet { layout: usize, packet: usize },
    /// A packet of a known format with another length than the official one.
    UnexpectedLength { layout: usize, packet: usize },
    /// A known format, but a packet id that it does not have.
    UnknownPacket { layout: usize, id: i64 },
    /// No known format.
    Unrecognised,
}

impl Formats {
    /// The formats that simtel brings along.
    pub fn built_in() -> Formats {
        Formats {
            layouts: BUILT_IN.clone(),
        }
    }

    pub fn layouts(&self) -> &[Arc<Layout>] {
        &self.layouts
    }

    /// Tells which packet of which format `payload` is, by what the header
    /// says and by the length; the length alone never decides.
    pub fn recognise(&self, payload: &[u8]) -> Recognised {
        for (number, layout) in self.layouts.iter().enumerate() {
            let matches = |(place, value): &(_, i64)| {
                let place: &crate::layout::Place = place;
                place.read(payload) == Some(*value)
            };
            if layout.matches.is_empty() || !layout.matches.iter().all(matches) {
                continue;
            }
            let Some(id) = layout.select.and_then(|select| select.read(payload)) else {
                continue;
            };
            let position = layout
                .packets
                .iter()
                .position(|packet| packet.id == Some(id));
            return match position {
                None => Recognised::UnknownPacket { layout: number, id },
                Some(packet) if layout.packets[packet].size == payload.len() => {
                    Recognised::Packet {
                        layout: number,
                        packet,
                    }
                }
                Some(packet) => Recognised::UnexpectedLength {
                    layout: number,
                    packet,
                },
            };
        }
        Recognised::Unrecognised
    }
}

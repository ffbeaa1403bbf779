//! A packet that is filled in by the official names of its fields.

use std::collections::HashMap;

use simtel::layout::{Layout, Place, Scalar};

/// The bytes of one packet kind, kept from one datagram to the next as the
/// game does.
pub struct Packet {
    pub bytes: Vec<u8>,
    name: String,
    /// The places of each field, all entries of its arrays in order.
    fields: HashMap<String, Vec<Place>>,
    /// Whether a field that is not there is a mistake of the generator.
    pub strict: bool,
}

/// A number as it goes into a field of any type.
#[derive(Clone, Copy)]
pub enum Number {
    Integer(i128),
    Float(f64),
}

macro_rules! numbers {
    ($($kind:ty => $case:ident as $wide:ty),*) => {$(
        impl From<$kind> for Number {
            fn from(value: $kind) -> Number {
                Number::$case(value as $wide)
            }
        }
    )*};
}
numbers!(
    u8 => Integer as i128, u16 => Integer as i128, u32 => Integer as i128, u64 => Integer as i128,
    i8 => Integer as i128, i16 => Integer as i128, i32 => Integer as i128,
    usize => Integer as i128, f32 => Float as f64, f64 => Float as f64
);

impl Packet {
    /// A packet of `layout` in which every field has a value of its own, so
    /// that a field read at a wrong place is seen. Unless `strict`, what the
    /// layout lacks is left out in silence: older games know less.
    pub fn new(layout: &Layout, name: &str, strict: bool) -> Packet {
        let definition = layout.packet(name);
        assert!(definition.is_some() || !strict, "no packet {name}");
        let mut packet = Packet {
            bytes: vec![0; definition.map_or(0, |definition| definition.size)],
            name: name.into(),
            fields: HashMap::new(),
            strict,
        };
        let Some(definition) = definition else {
            return packet;
        };
        for (number, leaf) in definition.leaves.iter().enumerate() {
            let mut places = vec![leaf.offset];
            for dimension in &leaf.dimensions {
                places = places
                    .iter()
                    .flat_map(|place| {
                        (0..dimension.length).map(move |entry| place + entry * dimension.stride)
                    })
                    .collect();
            }
            let scalar = leaf.scalar;
            let places: Vec<Place> = places
                .into_iter()
                .map(|offset| Place { offset, scalar })
                .collect();
            for (entry, place) in places.iter().enumerate() {
                let value = match scalar {
                    Scalar::U8 | Scalar::I8 => Number::from((number + entry) % 4),
                    Scalar::F32 | Scalar::F64 | Scalar::FlagOrF32 => {
                        Number::from(number as f64 + entry as f64 * 0.015_625)
                    }
                    _ => Number::from(number * 16 + entry % 16),
                };
                packet.write(*place, value);
            }
            packet.fields.insert(leaf.path.clone(), places);
        }
        packet
    }

    /// Sets the entry `entry` of a field, counted through all of its arrays.
    pub fn set(&mut self, field: &str, entry: usize, value: impl Into<Number>) {
        if let Some(place) = self.place(field, entry) {
            self.write(place, value.into());
        }
    }

    /// Sets a share of the whole: from 0 to 1 in a float, a percentage in a
    /// whole number.
    pub fn set_share(&mut self, field: &str, entry: usize, value: f64) {
        if let Some(place) = self.place(field, entry) {
            let factor = if place.scalar.is_integer() {
                100.0
            } else {
                1.0
            };
            self.write(place, Number::Float(value * factor));
        }
    }

    /// Sets an entry of a text field; the rest of it is NUL.
    pub fn set_text(&mut self, field: &str, entry: usize, text: &str) {
        if let Some(place) = self.place(field, entry) {
            let bytes = &mut self.bytes[place.offset..place.offset + place.scalar.size()];
            bytes.fill(0);
            bytes[..text.len()].copy_from_slice(text.as_bytes());
        }
    }

    /// How many entries the arrays of a field have in all.
    pub fn entries(&self, field: &str) -> usize {
        self.fields.get(field).map_or(0, Vec::len)
    }

    fn place(&self, field: &str, entry: usize) -> Option<Place> {
        let places = self.fields.get(field);
        let place = places.and_then(|places| places.get(entry)).copied();
        assert!(
            place.is_some() || !self.strict,
            "no {field} {entry} in {}",
            self.name
        );
        place
    }

    fn write(&mut self, place: Place, value: Number) {
        let integer = match value {
            Number::Integer(value) => value,
            Number::Float(value) => value as i128,
        };
        let float = match value {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        };
        let bytes = match (place.scalar, value) {
            (Scalar::FlagOrF32, Number::Integer(flag)) => flag.to_le_bytes()[..4].to_vec(),
            (Scalar::F32 | Scalar::FlagOrF32, _) => (float as f32).to_le_bytes().to_vec(),
            (Scalar::F64, _) => float.to_le_bytes().to_vec(),
            (scalar, _) if scalar.is_integer() => integer.to_le_bytes()[..scalar.size()].to_vec(),
            // Texts and raw bytes are set as text.
            _ => return,
        };
        self.bytes[place.offset..place.offset + bytes.len()].copy_from_slice(&bytes);
    }
}

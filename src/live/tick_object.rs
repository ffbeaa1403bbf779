//! Ticks as JSON objects.

use glob::Pattern;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::capture::{Variable, VariableType};
use crate::text::{until_nul, utf8_or_latin};

/// The variables that these patterns name, all if there are no patterns; and the
/// first pattern that names none.
pub(super) fn choose<'a>(
    variables: &[Variable],
    columns: &'a [Pattern],
) -> (Vec<Variable>, Option<&'a Pattern>) {
    let unknown = columns.iter().find(|pattern| {
        let mut variables = variables.iter();
        !variables.any(|variable| pattern.matches(&variable.name))
    });
    let is_wanted = |variable: &&Variable| {
        let mut columns = columns.iter();
        columns.len() == 0 || columns.any(|pattern| pattern.matches(&variable.name))
    };
    let chosen = variables.iter().filter(is_wanted).cloned().collect();
    (chosen, unknown)
}

/// A tick as a JSON object: arrays as arrays, texts as texts, NaN as null.
pub(super) struct TickObject<'a> {
    pub variables: &'a [Variable],
    pub record: &'a [u8],
}

struct VariableValues<'a> {
    variable: &'a Variable,
    bytes: &'a [u8],
}

impl Serialize for TickObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.variables.len()))?;
        for variable in self.variables {
            let length = variable.count * variable.kind.size();
            let bytes = self.record.get(variable.offset..variable.offset + length);
            let bytes = bytes.unwrap_or_default();
            map.serialize_entry(&variable.name, &VariableValues { variable, bytes })?;
        }
        map.end()
    }
}

impl Serialize for VariableValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let VariableValues { variable, bytes } = self;
        if variable.kind == VariableType::Char {
            return serializer.serialize_str(&utf8_or_latin(until_nul(bytes)));
        }
        let values = bytes.chunks_exact(variable.kind.size());
        let mut values = values.map(|bytes| OneValue(variable.kind, bytes));
        match (variable.count, values.next()) {
            (1, Some(value)) => value.serialize(serializer),
            (_, first) => serializer.collect_seq(first.into_iter().chain(values)),
        }
    }
}

struct OneValue<'a>(VariableType, &'a [u8]);

impl Serialize for OneValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let four = || self.1.first_chunk().copied().unwrap_or_default();
        match self.0 {
            VariableType::Char | VariableType::Bool => {
                serializer.serialize_bool(self.1.first().is_some_and(|byte| *byte != 0))
            }
            VariableType::Int => serializer.serialize_i32(i32::from_le_bytes(four())),
            VariableType::BitField => serializer.serialize_u32(u32::from_le_bytes(four())),
            VariableType::Float => serializer.serialize_f32(f32::from_le_bytes(four())),
            VariableType::Double => {
                let eight = self.1.first_chunk().copied().unwrap_or_default();
                serializer.serialize_f64(f64::from_le_bytes(eight))
            }
        }
    }
}

//! What recordings have been seen to hold, for those who have none at hand. Each
//! recording describes itself, and what it says is what counts: nothing here is
//! used to read one.

use std::sync::{Arc, LazyLock};

use super::{SESSION_TABLES, Survey};
use crate::capture::{Variable, VariableType};
use crate::layout::Layout;

/// Name, type, number of values, whether these are moments within the tick, where
/// it was found, unit and description of each variable, as recordings and memory
/// of 2015 to 2025 have them.
const VARIABLES: &str = include_str!("variables.tsv");
/// The keys of the lists of the session string.
const SESSION_KEYS: &str = include_str!("session.tsv");

static REFERENCE: LazyLock<Arc<Layout>> = LazyLock::new(|| {
    let (variables, record_length) = variables();
    let mut survey = Survey::default();
    survey.add_variables(&variables, record_length, None);
    for line in SESSION_KEYS.lines().skip(1) {
        let (table, key) = line.split_once('\t').unwrap_or_default();
        if let Some(number) = SESSION_TABLES.iter().position(|known| known.name == table) {
            survey.add_session_key(number, key);
        }
    }
    survey.first_layout().unwrap_or_default()
});

/// A layout with all that has been seen.
pub fn reference() -> Arc<Layout> {
    REFERENCE.clone()
}

/// The variables, side by side, and the length of a record that has them all.
fn variables() -> (Vec<Variable>, usize) {
    let mut variables = Vec::new();
    let mut offset = 0;
    for line in VARIABLES.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, kind, values, array, found, unit, description] = fields[..] else {
            unreachable!("the file is part of the program: {line}");
        };
        let kind = match kind {
            "char" => VariableType::Char,
            "bool" => VariableType::Bool,
            "int" => VariableType::Int,
            "bitfield" => VariableType::BitField,
            "float" => VariableType::Float,
            _ => VariableType::Double,
        };
        let count = values.parse().unwrap_or(1);
        let only = match found {
            "memory" => " (in memory only)",
            "file" => " (in the simulator's files only)",
            _ => "",
        };
        variables.push(Variable {
            name: name.into(),
            kind,
            offset,
            count,
            counts_as_time: array == "moments",
            unit: unit.into(),
            description: format!("{description}{only}").trim_start().into(),
        });
        offset += count * kind.size();
    }
    (variables, offset)
}

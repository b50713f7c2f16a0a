//! The formats of managed handoffs: the JSON Schemas (draft 2020-12) under `docs/schema/`, whose fields have the order and names of the
//! specifications (dual-agent handoff mechanisms, "Data Transfer Format"; agent handoff service, "HandoffContext"). The program knows the
//! keywords that they use and no others; a field with `x-filled-in` is filled in if the sender leaves it out.

use std::sync::LazyLock;

use serde_json::Value;

/// A type of managed handoff.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    /// The value of `handoff_type`.
    pub name: &'static str,
    pub schema: Value,
}

impl Format {
    /// Whether a handoff of the format can have the field.
    pub fn has(&self, field: &str) -> bool {
        self.schema["properties"].get(field).is_some()
    }
}

/// The key that names the format.
pub const TYPE: &str = "handoff_type";

macro_rules! formats {
    ($($name:literal),*) => {
        [$(Format {
            name: $name,
            schema: serde_json::from_str(include_str!(concat!("../../../docs/schema/", $name, ".json"))).unwrap_or_default(),
        }),*]
    };
}

/// The formats, in the order of the specifications: those of a task, then the context of a session.
pub static FORMATS: LazyLock<[Format; 5]> =
    LazyLock::new(|| formats!["initialization", "progress", "error_recovery", "escalation", "context"]);

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

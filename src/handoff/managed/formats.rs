//! The formats of managed handoffs: the JSON Schemas (draft 2020-12) under `docs/schema/`, with fields named and ordered as in the
//! specifications (dual-agent handoff mechanisms, "Data Transfer Format"; agent handoff service, "HandoffContext"). Only keywords used
//! there are supported; a missing field with `x-filled-in` is filled in.

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
    /// Whether the format has a field.
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

/// In the order of the specifications: four of a task, then the context of a session.
pub static FORMATS: LazyLock<[Format; 5]> =
    LazyLock::new(|| formats!["initialization", "progress", "error_recovery", "escalation", "context"]);

pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

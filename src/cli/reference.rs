//! The JSON documents of the commands: each with its schema, from which the reference is generated.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::render::answer::{FailureView, StoredView, SuccessView};

/// The schema of a type.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// A document that a command answers with when it succeeds.
pub struct Document {
    /// The commands that answer with it; a command can have several documents.
    pub commands: &'static [&'static str],
    /// When it is this one; empty for the only document of its commands.
    pub when: &'static str,
    /// The view whose keys it has, then those that add keys to it.
    pub parts: &'static [SchemaFn],
}

/// The schema of a type, of which no object has other keys than those it names.
fn schema_of(schema: SchemaFn) -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = schema(&mut generator);
    let mut close = RecursiveTransform(|schema: &mut Schema| {
        if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.replace("`None`", "null");
        }
        // widths of numbers, which JSON does not have
        schema.remove("format");
        schema.remove("minimum");
    });
    close.transform(&mut schema);
    schema.to_value()
}

/// The schemas of the keys of any success, of any command that stores, and of any failure.
pub fn common() -> (Value, Value, Value) {
    (
        schema_of(SchemaGenerator::root_schema_for::<SuccessView>),
        schema_of(SchemaGenerator::root_schema_for::<StoredView>),
        schema_of(SchemaGenerator::root_schema_for::<FailureView>),
    )
}

impl Document {
    pub fn schema(&self) -> Value {
        let parts = self.parts.iter().map(|part| schema_of(*part));
        let mut parts = parts.chain(std::iter::once(common().0));
        let mut out = parts.next().unwrap_or_default();
        for part in parts {
            for key in ["properties", "$defs"] {
                let more = part[key].as_object().cloned().unwrap_or_default();
                if let Some(own) = out[key].as_object_mut() {
                    own.extend(more);
                } else if !more.is_empty() {
                    out[key] = more.into();
                }
            }
            let required = [&out, &part].into_iter().flat_map(|schema| schema["required"].as_array().cloned());
            out["required"] = required.flatten().collect();
        }
        out
    }
}

//! Reads the arguments of a call; errors tell how to correct it.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::mcp::tools::schema::{Values, of_arguments};
use crate::use_cases::assess::submit::vectors_of;
use empirica_notes::error::{Error, Result};
use empirica_notes::model::Vectors;

/// Deserializes arguments of a tool or prompt.
pub fn read<A: DeserializeOwned + JsonSchema>(tool: &str, arguments: Map<String, Value>) -> Result<A> {
    // null means omitted
    let arguments: Map<String, Value> = arguments.into_iter().filter(|(_, value)| !value.is_null()).collect();
    // a blank session name gets a more specific error later
    let is_blank =
        |name: &str, value: &Value| name != "session_id" && value.as_str().is_some_and(|text| text.trim().is_empty());
    if let Some((name, _)) = arguments.iter().find(|(name, value)| is_blank(name, value)) {
        return Err(Error::usage(format!("cannot call {tool}: the argument {name} is empty"))
            .provided(name)
            .reason("a blank text has no content")
            .suggest("Give a text, or omit the argument if it is optional."));
    }
    let keys: Vec<String> = arguments.keys().cloned().collect();
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let schema = &of_arguments::<A>().0;
        let names = names(schema);
        let reason = match names.is_empty() {
            true => format!("{tool} takes no arguments"),
            false => format!("the arguments of {tool} are {}", names.join(", ")),
        };
        let out = Error::usage(format!("cannot call {tool}: its arguments do not fit: {error}")).reason(reason);
        match keys.iter().find(|key| schema["properties"].get(key).is_none()).and_then(|key| nearest(key, schema)) {
            Some(near) => out.suggest(format!("Did you mean '{near}'?")).alternative(near),
            None => out.suggest("Call it again with arguments of its schema."),
        }
    })
}

/// The names of the arguments with their types, required ones marked.
fn names(schema: &Map<String, Value>) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let named = |(name, of): (&String, &Value)| {
        let kind = of["type"].as_str().map(|kind| format!(": {kind}")).unwrap_or_default();
        let must = required.is_some_and(|list| list.iter().any(|one| one == name));
        format!("{name}{kind}{}", if must { " (required)" } else { "" })
    };
    schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(named).collect()
}

fn nearest(name: &str, schema: &Map<String, Value>) -> Option<String> {
    let names: Vec<&str> = schema.get("properties")?.as_object()?.keys().map(String::as_str).collect();
    similar::get_close_matches(name, &names, 1, 0.5).first().map(|name| (*name).to_owned())
}

pub fn vectors(values: &Values) -> Result<Vectors> {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    vectors_of(values.0.iter().map(|(name, number)| format!("{name}={}", value(number))))
}

/// A number from 0 to 1.
pub fn unit(name: &str, number: Option<f64>) -> Result<Option<f64>> {
    match number {
        Some(number) if !(0.0..=1.0).contains(&number) => {
            Err(Error::usage(format!("cannot set {name} to {number}: it must be a number from 0 to 1"))
                .provided(number.to_string())
                .reason("0 means not at all, 1 entirely")
                .suggest("Give a number from 0 to 1: 0.7."))
        }
        number => Ok(number),
    }
}

/// A number with a minimum.
pub fn least(name: &str, number: u32, least: u32) -> Result<usize> {
    if number < least {
        return Err(Error::usage(format!("cannot set {name} to {number}: it must be {least} or more"))
            .provided(number.to_string())
            .reason("a smaller value gives no result")
            .suggest(format!("Give {least} or more, or omit it.")));
    }
    Ok(number as usize)
}

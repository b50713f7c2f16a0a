//! Short schemas, since a model reads the list of tools at every start.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error, IntoDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, and its description, from the documentation of their type.
pub fn of_arguments<A: JsonSchema>() -> (JsonObject, String) {
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = generator.into_root_schema_for::<A>().to_value();
    shorten(&mut schema);
    let mut map = match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let description = map.shift_remove("description").and_then(|text| text.as_str().map(one_line)).unwrap_or_default();
    map.entry("properties").or_insert_with(|| json!({}));
    (map, description)
}

/// The schema of a result with these main keys: `name` for a text, or `name:type`, with `?` for one that can be null or
/// absent. Requires only `ok`, since clients check failures against the same schema.
pub fn of_result(keys: &str) -> JsonObject {
    let mut properties = Map::new();
    for key in keys.split_whitespace() {
        let (key, kind) = key.split_once(':').unwrap_or((key, "string"));
        let kind = match kind.strip_suffix('?') {
            Some(kind) => json!([kind, "null"]),
            None => json!(kind),
        };
        properties.insert(key.to_owned(), json!({"type": kind}));
    }
    let keys = [("type", json!("object")), ("properties", properties.into()), ("required", json!(["ok"]))];
    keys.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes keys that a client does not need: the schema's version, titles, widths of numbers, and null for omitted
/// arguments.
fn shorten(schema: &mut Value) {
    let Value::Object(map) = schema else {
        if let Value::Array(list) = schema {
            list.iter_mut().for_each(shorten);
        }
        return;
    };
    for key in ["$schema", "title", "format"] {
        // as the name of a property, the key holds an object
        if map.get(key).is_some_and(Value::is_string) {
            map.shift_remove(key);
        }
    }
    let is_empty = |value: &Value| [json!(null), json!([]), json!({}), json!(false)].contains(value);
    if map.get("default").is_some_and(is_empty) {
        map.shift_remove("default");
    }
    // the default
    if map.get("additionalProperties") == Some(&json!(true)) {
        map.shift_remove("additionalProperties");
    }
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [one] = kinds.as_slice() {
            let one = one.clone();
            map.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(one)] = choices.as_slice() {
            let one = one.clone();
            map.shift_remove("anyOf");
            map.extend(one);
        }
    }
    if map.get("minimum").is_some_and(|least| least == 0) && map.get("type").is_some_and(|kind| kind == "integer") {
        map.shift_remove("minimum");
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = one_line(text);
    }
    map.values_mut().for_each(shorten);
}

// A session by its id or an alias.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, description = "id or alias")]
pub struct Alias(pub String);

// Values of some of the 13 vectors.
#[derive(Debug, Clone, Deserialize, Default, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("additionalProperties" = {"type": "number"}))]
pub struct Values(pub Map<String, Value>);

/// A variant of an enum by its name, in upper or lower case. Its schema lists the names alone.
#[derive(Clone, Copy)]
pub struct Word<T>(pub T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let parse = |word: &str| T::deserialize(word.into_deserializer()).map(Word);
        let parsed: Result<_, serde::de::value::Error> = parse(&word);
        let parsed = parsed.or_else(|error| parse(&word.to_lowercase()).or(parse(&word.to_uppercase())).or(Err(error)));
        parsed.map_err(D::Error::custom)
    }
}

impl<T: JsonSchema> JsonSchema for Word<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schema = T::json_schema(generator).to_value();
        let variants = schema["oneOf"].as_array().into_iter().flatten().chain([&schema]);
        let words: Vec<&Value> = variants
            .flat_map(|variant| variant["enum"].as_array().into_iter().flatten().chain(variant.get("const")))
            .collect();
        schemars::json_schema!({"type": "string", "enum": words})
    }
}

//! Schemas as short as they can be said: a list of tools is read by a model at every start.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

/// The schema of the arguments of a tool, and its description: the words of the type.
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

/// The schema of a result: its main keys as `name` for a text, or `name:type`; one that can be null or absent ends in `?`. A failure,
/// which clients hold against the same schema, has other keys: only `ok` is there in both.
pub fn of_result(keys: &str) -> JsonObject {
    let mut properties = Map::new();
    for key in keys.split_whitespace() {
        let (key, kind) = key.split_once(':').unwrap_or((key, "string"));
        let (kind, maybe) = match kind.strip_suffix('?') {
            Some(kind) => (kind, true),
            None => (kind, false),
        };
        let kind = if maybe { json!([kind, "null"]) } else { json!(kind) };
        properties.insert(key.to_owned(), json!({"type": kind}));
    }
    let schema = json!({"type": "object", "properties": properties, "required": ["ok"]});
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes out what a client does not need: where it is from, titles, widths of numbers, that an argument left out is null.
fn shorten(schema: &mut Value) {
    let Value::Object(map) = schema else {
        if let Value::Array(list) = schema {
            list.iter_mut().for_each(shorten);
        }
        return;
    };
    for key in ["$schema", "title", "format"] {
        // a property can have such a name; then it is an object
        if map.get(key).is_some_and(Value::is_string) {
            map.shift_remove(key);
        }
    }
    let is_nothing = |value: &Value| [json!(null), json!([]), json!({}), json!(false)].contains(value);
    if map.get("default").is_some_and(is_nothing) {
        map.shift_remove("default");
    }
    // any object, as an object is
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

/// A session by its id or an alias.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Alias(pub String);

impl JsonSchema for Alias {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Alias".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({"type": "string", "description": "id or alias"})
    }
}

/// Values that calls give by words.
pub trait Words: Copy + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// The word; a call can write it in capitals or not.
    fn word(self) -> &'static str;
}

/// A value that is given by its word.
#[derive(Clone, Copy)]
pub struct Word<T>(pub T);

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = String::deserialize(deserializer)?;
        let meant = T::ALL.iter().find(|value| value.word().eq_ignore_ascii_case(&given));
        meant.map(|value| Word(*value)).ok_or_else(|| {
            let words: Vec<String> = T::ALL.iter().map(|value| format!("`{}`", value.word())).collect();
            D::Error::custom(format!("unknown variant `{given}`, expected one of {}", words.join(", ")))
        })
    }
}

impl<T: Words> JsonSchema for Word<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Word".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
        schemars::json_schema!({"type": "string", "enum": words})
    }
}

/// Values for some of the 13 vectors.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(transparent)]
pub struct Values(pub Map<String, Value>);

impl JsonSchema for Values {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Values".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "type": "object",
            "additionalProperties": {"type": "number"},
        })
    }
}

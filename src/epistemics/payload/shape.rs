//! What the formats of managed handoffs look like: an example of each, and its JSON Schema.

use serde_json::{Map, Value, json};

use crate::model::formats::{Field, Format, Given, Shape, TYPE};

/// What a field of this shape can hold, with `example` for a single value; what the program gives is left out.
pub(super) fn example_of(shape: &Shape, example: &str) -> Value {
    match shape {
        Shape::Text | Shape::Word(_) | Shape::Time => json!(example),
        Shape::Count(least) => json!(example.parse().unwrap_or(*least)),
        Shape::List(of) => json!([example_of(of, example)]),
        Shape::Fields(fields) => {
            let asked = fields.iter().filter(|field| field.given != Given::ByUs);
            asked.map(|field| (field.name.to_owned(), example_of(&field.shape, field.example))).collect()
        }
    }
}

/// A handoff of the format with everything that a sender can say; it can be stored as it is.
pub fn example(format: &Format) -> Value {
    let mut out = Map::new();
    out.insert(TYPE.to_owned(), json!(format.name));
    if let Value::Object(fields) = example_of(&Shape::Fields(format.fields), "") {
        out.extend(fields);
    }
    Value::Object(out)
}

/// The format as JSON Schema (draft 2020-12): what [`wrongs`](super::wrongs) has nothing against, it allows.
pub fn schema(format: &Format) -> Value {
    let mut out = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format.name,
        "description": format.about,
    });
    let mut described = schema_of(&Shape::Fields(format.fields));
    let mut properties = Map::new();
    properties.insert(TYPE.to_owned(), json!({"const": format.name}));
    if let Some(Value::Object(fields)) = described.get_mut("properties").map(Value::take) {
        properties.extend(fields);
    }
    described["properties"] = Value::Object(properties);
    if let (Value::Object(out), Value::Object(described)) = (&mut out, described) {
        out.extend(described);
    }
    out
}

fn schema_of(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({"type": "string", "pattern": "\\S"}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Count(least) => json!({"type": "integer", "minimum": least}),
        Shape::Time => json!({"type": "string", "format": "date-time"}),
        Shape::List(of) => json!({"type": "array", "items": schema_of(of)}),
        Shape::Fields(fields) => {
            let property = |field: &Field| {
                let mut about = json!({"description": field.about});
                if let (Value::Object(about), Value::Object(shape)) = (&mut about, schema_of(&field.shape)) {
                    about.extend(shape);
                }
                (field.name.to_owned(), about)
            };
            let needed = fields.iter().filter(|field| field.given == Given::Always).map(|field| field.name);
            json!({
                "type": "object",
                "properties": fields.iter().map(property).collect::<Map<_, _>>(),
                "required": needed.collect::<Vec<_>>(),
                "additionalProperties": false,
            })
        }
    }
}

//! Records as JSON lines with a fixed key order.

use std::borrow::Cow;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::model::record::VERSION;
use crate::model::{Body, Envelope, Id, Record};

/// The keys of the envelope, in canonical order.
pub(crate) const ENVELOPE: [&str; 8] = ["v", "id", "kind", "session", "ai", "at", "commit", "tree"];

/// The keys of a body, in their fixed order, without the envelope.
pub fn body_to_map(body: &Body) -> Map<String, Value> {
    keys(body.to_value())
}

fn keys(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(map)) => map,
        // unreachable: envelope and bodies are structs
        _ => Map::new(),
    }
}

/// The record as one line, without the final LF.
pub fn encode(record: &Record) -> String {
    encode_with(&record.envelope, record.body.kind(), body_to_map(&record.body))
}

/// As [`encode`], from an envelope and the keys of a body.
pub fn encode_with(envelope: &Envelope, kind: &str, body: Map<String, Value>) -> String {
    let mut line = keys(serde_json::to_value(envelope));
    line.shift_insert(2, "kind".to_owned(), kind.into());
    line.extend(body);
    Value::Object(line).to_string()
}

/// The length limit of a record's line, in bytes. A longer line is not a record, and is kept.
pub const MAX_LINE_BYTES: usize = 8 << 20;

/// Reads a line; `None` if it is not a record of a supported version and kind.
pub fn decode(line: &[u8]) -> Option<Record> {
    crate::format::lines::id(line).filter(|_| line.len() <= MAX_LINE_BYTES)?;
    let text = std::str::from_utf8(line).ok()?;
    // fast path: in canonical order the line is parsed once
    let mut json = serde_json::Deserializer::from_str(text);
    let record = json.deserialize_map(InOrder).ok().filter(|_| json.end().is_ok());
    record.or_else(|| read_json(line).ok())
}

/// The id of a record of a newer version, or of a kind that this program does not know; `None` for any other line.
pub fn newer(line: &[u8]) -> Option<String> {
    let id = crate::format::lines::id(line).filter(|_| line.len() <= MAX_LINE_BYTES)?;
    let envelope: Envelope = serde_json::from_slice(line).ok()?;
    let kind = kind(line).ok()?;
    (envelope.v > VERSION || (envelope.v == VERSION && !Body::is_kind(&kind))).then(|| id.to_owned())
}

/// Reads a record from JSON with keys in any order; the error explains why it is not a supported record.
pub fn read_json(json: &[u8]) -> Result<Record, String> {
    // without the position, which is relative to the record, not the file
    let reason = |error: serde_json::Error| error.to_string().split(" at line ").next().unwrap_or_default().to_owned();
    let envelope = || -> serde_json::Result<(Envelope, String)> { Ok((serde_json::from_slice(json)?, kind(json)?)) };
    let (envelope, kind) = envelope().map_err(|error| format!("it is not a record: {}", reason(error)))?;
    if envelope.v != VERSION {
        return Err(format!("it is a record of version {}", envelope.v));
    }
    let unknown = || format!("unknown kind '{kind}'");
    if !Body::is_kind(&kind) {
        return Err(unknown());
    }
    let text = std::str::from_utf8(json).map_err(|_| "it is not UTF-8".to_owned())?;
    let body = serde_json::Deserializer::from_str(text).deserialize_map(InAnyOrder(&kind));
    let body = body.map_err(|error| format!("it is not a valid {kind}: {}", reason(error)))?;
    body.map(|body| Record { envelope, body }).ok_or_else(unknown)
}

/// The value of the `kind` key.
pub(crate) fn kind(json: &[u8]) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    serde_json::from_slice::<Kind>(json).map(|parsed| parsed.kind)
}

/// Reads a record whose envelope is complete, in order and before the other keys; anything else is an error.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Record;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut at = 0;
        let mut next = |map: &mut A| {
            let key: Option<Key<'de>> = map.next_key()?;
            let expected = key.as_ref().map(|key| key.0.as_ref()) == ENVELOPE.get(at).copied();
            at += 1;
            if expected { Ok(()) } else { Err(A::Error::custom("not in order")) }
        };
        macro_rules! value {
            () => {{
                next(&mut map)?;
                map.next_value()?
            }};
        }
        let (v, id, kind): (u32, Id, String) = (value!(), value!(), value!());
        let envelope =
            Envelope { v, id, session: value!(), ai: value!(), at: value!(), commit: value!(), tree: value!() };
        if envelope.v != VERSION {
            return Err(A::Error::custom("another version"));
        }
        let body = Body::read(&kind, MapAccessDeserializer::new(Rest { map, is_after_envelope: true }))?;
        let body = body.ok_or_else(|| A::Error::custom("another kind"))?;
        Ok(Record { envelope, body })
    }
}

/// Reads the body of a record of this kind; `None` for an unknown one.
struct InAnyOrder<'k>(&'k str);

impl<'de> Visitor<'de> for InAnyOrder<'_> {
    type Value = Option<Body>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<Body>, A::Error> {
        Body::read(self.0, MapAccessDeserializer::new(Rest { map, is_after_envelope: false }))
    }
}

/// A key, borrowed if it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

/// The keys of the body. After the envelope, another of its keys is an error; else such keys are skipped. One type for both, as each kind of record
/// is compiled for each.
struct Rest<A> {
    map: A,
    is_after_envelope: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Key(key)) = self.map.next_key()? {
            if !ENVELOPE.contains(&key.as_ref()) {
                return seed.deserialize(key.into_deserializer()).map(Some);
            }
            if self.is_after_envelope {
                return Err(A::Error::custom("twice"));
            }
            self.map.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SessionId;
    use crate::model::journal::Finding;

    #[test]
    fn a_record_has_a_fixed_key_order_and_round_trips() {
        let record = Record {
            envelope: Envelope {
                v: 1,
                id: Id::parse("019ab000-0000-7000-8000-00000000000a").unwrap(),
                session: SessionId::parse("11111111-2222-4333-8444-555555555555"),
                ai: "claude".into(),
                at: "2026-01-02T03:04:05.678Z".into(),
                commit: None,
                tree: None,
            },
            body: Body::Finding(Finding {
                text: "a\n\"b\" é \u{1b}".into(),
                impact: Some(0.7),
                memory: None,
                ..Default::default()
            }),
        };
        let line = encode(&record);
        assert_eq!(
            line,
            r#"{"v":1,"id":"019ab000-0000-7000-8000-00000000000a","kind":"finding","session":"11111111-2222-4333-8444-555555555555","ai":"claude","at":"2026-01-02T03:04:05.678Z","commit":null,"tree":null,"text":"a\n\"b\" é \u001b","impact":0.7}"#
        );
        assert_eq!(decode(line.as_bytes()), Some(record));
    }

    #[test]
    fn other_versions_and_kinds_are_not_decoded_and_no_error() {
        let id = r#""id":"019ab000-0000-7000-8000-00000000000a""#;
        let rest = r#""session":null,"ai":"x","at":"","commit":null,"tree":null,"text":"t""#;
        assert!(decode(format!(r#"{{"v":1,{id},"kind":"finding",{rest},"new":[1]}}"#).as_bytes()).is_some());
        assert!(decode(format!(r#"{{"v":2,{id},"kind":"finding",{rest}}}"#).as_bytes()).is_none());
        assert!(decode(format!(r#"{{"v":1,{id},"kind":"prophecy",{rest}}}"#).as_bytes()).is_none());
        assert!(decode(b"{\"v\":1}").is_none());
        assert!(decode("[".repeat(100_000).as_bytes()).is_none());
    }
}

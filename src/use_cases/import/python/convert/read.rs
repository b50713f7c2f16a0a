//! Lenient parsing of the Python tool's payloads: Python's JSON, all its time formats, texts and lists.

use chrono::{DateTime, NaiveDateTime};
use serde_json::Value;

/// The year 10000, in milliseconds; later times are invalid.
const END_MS: f64 = 253_402_300_800_000.0;

/// Parses Python's JSON, reading `NaN` and `Infinity` as null. `None` if it is invalid.
pub fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&without_nan(text)?).ok())
}

/// Whether the value preserves the text: no number lost digits, no key is duplicate.
pub fn is_kept_whole(text: &str, value: &Value) -> bool {
    fn members(value: &Value) -> usize {
        match value {
            Value::Array(items) => items.iter().map(members).sum(),
            Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
            _ => 0,
        }
    }
    let (mut colons, mut digits, mut quoted, mut escaped) = (0, 0, false, false);
    for c in text.chars() {
        match (quoted, c) {
            (true, _) if escaped => escaped = false,
            (true, '\\') => escaped = true,
            (_, '"') => quoted = !quoted,
            (false, ':') => colons += 1,
            _ => {}
        }
        digits = match c {
            '0'..='9' if !quoted => digits + 1,
            '.' => digits,
            _ => 0,
        };
        if digits > 17 {
            return false;
        }
    }
    colons == members(value)
}

/// Replaces bare `NaN` and `Infinity` by null; `None` if there are none.
fn without_nan(text: &str) -> Option<String> {
    let (mut out, mut rest, mut quoted, mut found) = (String::new(), text, false, false);
    while let Some(first) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].iter().find(|word| !quoted && rest.starts_with(**word));
        let length = match (word, first) {
            (Some(word), _) => word.len(),
            (None, '\\') if quoted => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => first.len_utf8(),
        };
        quoted ^= first == '"';
        found |= word.is_some();
        out.push_str(if word.is_some() { "null" } else { &rest[..length] });
        rest = &rest[length..];
    }
    found.then_some(out)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTime {
    pub ms: u64,
    /// Whether it has no zone and is read as UTC.
    pub naive: bool,
}

/// Parses a time: ISO 8601 with or without a zone, or Unix seconds.
pub fn moment(value: &Value) -> Option<ParsedTime> {
    let (ms, naive) = match value {
        Value::Number(seconds) => (seconds.as_f64()? * 1000.0, false),
        Value::String(text) => match DateTime::parse_from_rfc3339(text.trim()) {
            Ok(time) => (time.timestamp_millis() as f64, false),
            Err(_) => {
                let forms = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
                let time = forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text.trim(), form).ok())?;
                (time.and_utc().timestamp_millis() as f64, true)
            }
        },
        _ => return None,
    };
    (1.0..END_MS).contains(&ms).then_some(ParsedTime { ms: ms as u64, naive })
}

/// Unix milliseconds as RFC 3339 UTC.
pub fn rfc3339(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// A string that is not blank.
pub fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

/// A value as text: a string as it is, null as nothing, anything else as JSON.
pub fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        other => Some(other.to_string()),
    }
}

/// The texts of a list, or of a string with a JSON list; another string counts as one text.
pub fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => list.iter().filter_map(words).collect(),
        Some(value) => match value.as_str().map(serde_json::from_str::<Value>) {
            Some(Ok(Value::Array(list))) => list.iter().filter_map(words).collect(),
            _ => words(value).into_iter().collect(),
        },
        None => Vec::new(),
    }
}

/// Whether a flag is set: true, or a number other than 0.
pub fn flag(value: &Value, key: &str) -> bool {
    match value.get(key) {
        Some(Value::Bool(set)) => *set,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
        _ => false,
    }
}

/// A number from 0 to 1.
pub fn share(value: Option<&Value>) -> Option<f64> {
    value?.as_f64().filter(|number| (0.0..=1.0).contains(number))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn python_writes_more_than_json() {
        assert_eq!(
            json(r#"{"a":NaN,"b":"NaN \" NaN","c":[-Infinity]}"#),
            Some(json!({"a": null, "b": "NaN \" NaN", "c": [null]}))
        );
        assert_eq!(json("plain"), None);
        assert_eq!(json(r#"{"a":"\"#), None);
        assert_eq!(json("\"NaN\\\u{e9}"), None);
    }

    #[test]
    fn times_come_in_three_forms() {
        let ms = 1_795_292_747_133;
        assert_eq!(moment(&json!("2026-11-21T20:25:47.133513+00:00")), Some(ParsedTime { ms, naive: false }));
        assert_eq!(moment(&json!("2026-11-21T20:25:47.133513")), Some(ParsedTime { ms, naive: true }));
        assert_eq!(moment(&json!("2026-11-21 20:25:47.133")), Some(ParsedTime { ms, naive: true }));
        assert_eq!(moment(&json!(1795292747.133)).map(|m| m.ms / 10), Some(ms / 10));
        for no in [json!("yesterday"), json!(null), json!(-5), json!(1e300), json!("0000-01-01T00:00:00")] {
            assert_eq!(moment(&no), None, "{no}");
        }
        assert_eq!(rfc3339(ms), "2026-11-21T20:25:47.133Z");
    }

    #[test]
    fn a_list_can_be_in_a_text() {
        assert_eq!(texts(Some(&json!("[\"HS256\", {\"a\": 1}]"))), ["HS256", "{\"a\":1}"]);
        assert_eq!(texts(Some(&json!("HS256"))), ["HS256"]);
        assert_eq!(texts(Some(&json!([null, "", "x"]))), ["x"]);
        assert!(texts(Some(&json!(""))).is_empty());
    }
}

//! Lines of an export, to and from stored lines. The bytes of a record are copied, not re-encoded.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::format::record::{self, read_json};
use crate::format::{hex, lines};
use crate::model::{Id, Namespace};

/// A parsed line of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportLine {
    /// The annotated object, as given; not checked.
    pub commit: String,
    /// As given, or by the record's kind.
    pub namespace: Namespace,
    /// One line without its LF; not empty.
    pub line: Vec<u8>,
}

/// The namespace of the line's kind. `None` for kinds that can be in any, and for lines that cannot be decoded.
pub fn namespace_of(line: &[u8]) -> Option<Namespace> {
    record::decode(line)?.body.namespace()
}

/// The export of a line, without the final LF. A line that is one JSON object is embedded unchanged, other text as a
/// string, and invalid UTF-8 in hex.
pub fn encode(commit: &str, namespace: Namespace, line: &[u8]) -> String {
    let place = format!("{{\"commit\":\"{commit}\",\"shelf\":\"{}\"", namespace.name());
    match std::str::from_utf8(line) {
        Ok(text) if is_object(line) => match namespace_of(line) {
            Some(implied) if implied == namespace => format!("{{\"commit\":\"{commit}\",\"record\":{text}}}"),
            _ => format!("{place},\"record\":{text}}}"),
        },
        Ok(text) => format!("{place},\"line\":{}}}", Value::from(text)),
        Err(_) => format!("{place},\"hex\":\"{}\"}}", hex(line)),
    }
}

/// The export of a namespace's redaction entry (`epoch`), without the final LF.
pub fn encode_tombstones(namespace: Namespace, epoch: &str) -> String {
    format!("{{\"shelf\":\"{}\",\"epoch\":{}}}", namespace.name(), Value::from(epoch))
}

/// A line of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportEntry {
    /// A stored line.
    Line(ExportLine),
    /// A namespace's redaction entry; not checked.
    Tombstones(Namespace, String),
}

/// Parses a line of an export. The error is a sentence that does not quote the line.
pub fn decode(text: &[u8]) -> Result<ExportEntry, String> {
    std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
    let members = members(text).ok_or_else(|| match serde_json::from_slice::<IgnoredAny>(text.trim_ascii()) {
        Err(error) => format!("it is not one JSON object: {}", error.to_string().replace("line 1 ", "")),
        Ok(_) => "it is not one JSON object".to_owned(),
    })?;
    if members.iter().any(|(key, _)| key == "epoch") {
        return decode_tombstones(&members);
    }
    decode_line(members).map(ExportEntry::Line)
}

fn decode_tombstones(members: &[(String, &[u8])]) -> Result<ExportEntry, String> {
    let [namespace, epoch] = ["shelf", "epoch"].map(|key| {
        let value = members.iter().find(|(name, _)| name == key);
        value.and_then(|(_, value)| serde_json::from_slice::<String>(value).ok())
    });
    match (members.len(), namespace.as_deref().and_then(Namespace::parse), epoch) {
        (2, Some(namespace), Some(epoch)) => Ok(ExportEntry::Tombstones(namespace, epoch)),
        _ => Err("expected exactly \"epoch\", a string, and the name of a shelf".to_owned()),
    }
}

fn decode_line(members: Vec<(String, &[u8])>) -> Result<ExportLine, String> {
    let (mut commit, mut namespace, mut line) = (None, None, None);
    for (key, value) in members {
        let string = || {
            let wrong = |_| format!("the value of \"{key}\" is not a string");
            serde_json::from_slice::<String>(value).map_err(wrong)
        };
        let twice = match key.as_str() {
            "commit" => commit.replace(string()?).is_some(),
            "shelf" => {
                let wrong = "the shelf is not journal, checkpoints or handoffs";
                namespace.replace(Namespace::parse(&string()?).ok_or(wrong)?).is_some()
            }
            "record" if is_object(value) => line.replace(value.to_vec()).is_some(),
            "record" => return Err("the value of \"record\" is not a JSON object".to_owned()),
            "line" => line.replace(string()?.into_bytes()).is_some(),
            "hex" => line.replace(from_hex(&string()?).ok_or("the value of \"hex\" is not hex")?).is_some(),
            _ => return Err("it has a key other than commit, shelf, record, line and hex".to_owned()),
        };
        if twice {
            return Err("a key is given twice, or several of record, line and hex are given".to_owned());
        }
    }
    let commit = commit.ok_or("it has no key \"commit\"")?;
    let line = line.ok_or("it has no key \"record\", \"line\" or \"hex\"")?;
    if line.is_empty() || line.contains(&b'\n') {
        return Err("it does not hold exactly one line".to_owned());
    }
    let namespace = match (namespace, read_json(&line)) {
        (Some(namespace), _) => namespace,
        (None, Ok(record)) => record.body.namespace().ok_or("it has no key \"shelf\", which its kind requires")?,
        (None, Err(why)) => return Err(format!("{why}; and it has no key \"shelf\"")),
    };
    Ok(ExportLine { commit, namespace, line })
}

/// The canonical form of a record given as equivalent JSON, with other white space, key order, escapes or number forms.
/// `None` if the line is stored as given: foreign lines, and records in canonical key order with more in them than this
/// program understands.
pub fn canonical(line: &[u8]) -> Option<Vec<u8>> {
    if record::decode(line).is_some_and(|record| record::encode(&record).as_bytes() == line) {
        return None;
    }
    let members = members(line)?;
    let keys: BTreeSet<&String> = members.iter().map(|(key, _)| key).collect();
    if keys.len() < members.len() {
        return None;
    }
    let member = |key: &str| members.iter().find(|(name, _)| name == key).map(|(_, value)| *value);
    let version: u64 = serde_json::from_slice(member("v")?).ok()?;
    let id = Id::parse(&serde_json::from_slice::<String>(member("id")?).ok()?)?;
    let own = read_json(line).ok().and_then(|record| serde_json::from_str(&record::encode(&record)).ok());
    let own: Map<String, Value> = own.unwrap_or_default();
    let is_own = |key: &str, value: &[u8]| own.get(key).filter(|own| is_equal_to(own, value)).map(Value::to_string);
    let understood = members.iter().all(|(key, value)| is_own(key, value).is_some());
    if !understood && lines::id(line).is_some() {
        return None;
    }
    let mut out = vec![format!("\"v\":{version}"), format!("\"id\":\"{id}\"")];
    let mut add = |key: &str, value: &[u8]| {
        let value = is_own(key, value).unwrap_or_else(|| compact(value));
        out.push(format!("{}:{value}", Value::from(key)));
    };
    let is_rest = |key: &str| !["v", "id"].contains(&key);
    own.keys().filter(|key| is_rest(key)).for_each(|key| member(key).into_iter().for_each(|value| add(key, value)));
    let more = members.iter().filter(|(key, _)| is_rest(key) && !own.contains_key(key));
    more.for_each(|(key, value)| add(key, value));
    Some(format!("{{{}}}", out.join(",")).into_bytes())
}

/// Whether two texts are equal as JSON.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    serde_json::from_slice(a).is_ok_and(|a: Value| is_equal_to(&a, b))
}

fn is_equal_to(value: &Value, text: &[u8]) -> bool {
    serde_json::from_slice(text).is_ok_and(|other: Value| equal(value, &other))
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// The JSON text without white space between tokens.
fn compact(json: &[u8]) -> String {
    let (mut out, mut in_string, mut escaped) = (Vec::with_capacity(json.len()), false, false);
    for byte in json {
        if in_string || !byte.is_ascii_whitespace() {
            out.push(*byte);
        }
        in_string ^= *byte == b'"' && !escaped;
        escaped = in_string && *byte == b'\\' && !escaped;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The `kind` of a record line; `None` for other lines.
pub fn kind(line: &[u8]) -> Option<String> {
    lines::id(line)?;
    record::kind(line).ok()
}

/// The `kind` of a record line, or `unknown kind`.
pub fn kind_or_unknown(line: &[u8]) -> String {
    kind(line).unwrap_or_else(|| "unknown kind".to_owned())
}

/// Whether these bytes are exactly one JSON object, without surrounding white space.
fn is_object(bytes: &[u8]) -> bool {
    let closed = bytes.first() == Some(&b'{') && bytes.last() == Some(&b'}');
    closed && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// The members of a JSON object with the bytes of their values; `None` if the text is not one object.
fn members(text: &[u8]) -> Option<Vec<(String, &[u8])>> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de [u8])>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                out.push((key, value.get().as_bytes()));
            }
            Ok(out)
        }
    }
    let mut json = serde_json::Deserializer::from_slice(text);
    let members = json.deserialize_map(Members).ok()?;
    json.end().ok().map(|()| members)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: &str = "09d3540d834a48213dcc44f94da7c913ff162e06";
    const HEAD: &str = r#""id":"019ab000-0000-7000-8000-00000000000a","kind":"finding","session":null,"ai":"x","at":"","commit":null,"tree":null"#;

    #[test]
    fn every_line_round_trips() {
        let finding = format!(r#"{{"v":1,{HEAD},"text":"\u00e9 \ud800","n":1.50e+2}}"#);
        let later = format!(r#"{{"v":2,{HEAD},"text":"t"}}"#);
        let lines: [&[u8]; 9] = [
            finding.as_bytes(),
            later.as_bytes(),
            br#"{"a":  1}"#,
            br#"{"a":1} "#,
            b"Reviewed by \"me\"\r",
            b"\xff\xfe\x00",
            b"{\"a\":\"\xff\"}",
            b"[1]",
            b"\0\x1b[2J",
        ];
        for namespace in Namespace::ALL {
            for line in lines {
                let text = encode(C, namespace, line);
                let back = decode(text.as_bytes());
                let line = ExportLine { commit: C.to_owned(), namespace, line: line.to_vec() };
                assert_eq!(back, Ok(ExportEntry::Line(line)), "{text}");
                assert_eq!(text.bytes().filter(|byte| *byte == b'\n').count(), 0);
            }
        }
    }

    #[test]
    fn the_namespace_is_written_only_if_the_kind_does_not_imply_it() {
        let finding = format!(r#"{{"v":1,{HEAD},"text":"t"}}"#);
        assert_eq!(
            encode(C, Namespace::Journal, finding.as_bytes()),
            format!(r#"{{"commit":"{C}","record":{finding}}}"#)
        );
        assert!(encode(C, Namespace::Handoffs, finding.as_bytes()).contains(r#""shelf":"handoffs","record":{"#));
        assert!(encode(C, Namespace::Journal, b"foreign").contains(r#""shelf":"journal","line":"foreign""#));
        assert!(encode(C, Namespace::Journal, b"\xff").contains(r#""hex":"ff""#));
        assert_eq!(kind(finding.as_bytes()).as_deref(), Some("finding"));
        assert_eq!(kind(b"{\"kind\":\"finding\"}"), None);
    }

    #[test]
    fn keys_may_have_any_order_and_spaces_between() {
        let finding = format!(r#"{{"v":1,{HEAD},"text":"}},"}}"#);
        let text = format!(" {{ \"record\" : {finding} ,\t\"commit\":\"{C}\" }} \r");
        let Ok(ExportEntry::Line(read)) = decode(text.as_bytes()) else { panic!("a line") };
        assert_eq!(read.line, finding.into_bytes());
    }

    #[test]
    fn an_epoch_round_trips() {
        let text = encode_tombstones(Namespace::Handoffs, "2\nabc\n");
        assert_eq!(text, r#"{"shelf":"handoffs","epoch":"2\nabc\n"}"#);
        assert_eq!(decode(text.as_bytes()), Ok(ExportEntry::Tombstones(Namespace::Handoffs, "2\nabc\n".to_owned())));
    }

    #[test]
    fn errors_name_the_cause() {
        for (text, word) in [
            (r#"{"shelf":"x","epoch":"1"}"#, "name of a shelf"),
            (r#"{"shelf":"journal","epoch":1}"#, "a string"),
            (r#"{"shelf":"journal","epoch":"1","commit":"a"}"#, "exactly"),
            ("", "one JSON object"),
            ("{}", "no key \"commit\""),
            ("[1]", "one JSON object"),
            (r#"{"commit":"a","line":"x","shelf":"journal"} {}"#, "one JSON object"),
            (r#"{"commit":"a","line":"x","shelf":"journal"},"#, "one JSON object"),
            (r#"{"commit":1}"#, "not a string"),
            (r#"{"commit":"a","record":1}"#, "not a JSON object"),
            (r#"{"commit":"a","record":{"a":1}}"#, "no key \"shelf\""),
            (r#"{"commit":"a","shelf":"x","line":"x"}"#, "journal"),
            (r#"{"commit":"a","shelf":"journal","line":"x\ny"}"#, "one line"),
            (r#"{"commit":"a","shelf":"journal","line":""}"#, "one line"),
            (r#"{"commit":"a","shelf":"journal","hex":"f"}"#, "not hex"),
            (r#"{"commit":"a","shelf":"journal","hex":"+f"}"#, "not hex"),
            (r#"{"commit":"a","commit":"a"}"#, "twice"),
            (r#"{"commit":"a","shelf":"journal","line":"x","hex":"ff"}"#, "several"),
            (r#"{"commit":"a","more":1}"#, "a key other than"),
        ] {
            let error = decode(text.as_bytes()).expect_err(text);
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}

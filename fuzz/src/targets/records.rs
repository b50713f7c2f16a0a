//! A line is a record or not; a record round-trips, and its redacted text is gone.

use empirica_notes::format::redact::{RedactedTexts, is_stub, stub};
use empirica_notes::format::{export, lines, record};
use empirica_notes::model::Body;

pub fn fuzz(data: &[u8]) {
    let mut texts = RedactedTexts::default();
    if let Some(first) = lines::split(data).next() {
        texts.add(first);
    }
    for line in lines::split(data) {
        if let Some(read) = record::decode(line) {
            let again = record::encode(&read);
            assert!(!again.contains('\n'), "one line");
            assert_eq!(lines::id(line), Some(read.envelope.id.as_str()));
            assert_eq!(record::decode(again.as_bytes()), Some(read.clone()), "{again}");
            assert_eq!(record::encode(&read), again);
            assert_eq!(export::kind(line).as_deref(), Some(read.body.kind()));
            let stub = stub(line, None).expect("of a record");
            assert!(is_stub(&stub) && lines::id(&stub) == lines::id(line));
            assert!(record::decode(&stub).is_some_and(|stub| matches!(stub.body, Body::Redacted(_))));
        }
        if lines::id(line).is_some() {
            let stub = stub(line, None).expect("of whatever has an id");
            assert!(is_stub(&stub) && lines::id(&stub) == lines::id(line));
        }
        if let Some(left) = texts.redact_line(line) {
            assert!(!left.line.contains(&b'\n'), "one line");
            assert_eq!(lines::id(&left.line), lines::id(line));
            assert_eq!(texts.redact_line(&left.line), None, "a second call finds nothing");
            assert!(record::decode(line).is_none() || record::decode(&left.line).is_some(), "a record stays one");
        }
    }
}

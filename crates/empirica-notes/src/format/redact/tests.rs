//! Texts that are replaced, and texts that are kept.

use crate::format::redact::*;

fn line(n: u8, kind: &str, body: &str) -> Vec<u8> {
    let head = r#""session":null,"ai":"claude","at":"2026-01-02T03:04:05.678Z","commit":null,"tree":null"#;
    format!(r#"{{"v":1,"id":"{}","kind":"{kind}",{head},{body}}}"#, id(n)).into_bytes()
}

fn id(n: u8) -> String {
    format!("019ab000-0000-7000-8000-0000000000{n:02x}")
}

fn texts(lines: &[Vec<u8>]) -> RedactedTexts {
    let mut texts = RedactedTexts::default();
    lines.iter().for_each(|line| texts.add(line));
    texts
}

#[test]
fn a_text_is_replaced_wherever_it_is_quoted() {
    let gone = "the password of the  staging\n database is hunter2hunter2";
    let texts = texts(&[line(1, "finding", &format!(r#""text":{}"#, json!(gone)))]);
    let quotes = [
        ("the password of the staging database is hunter2hunter2", "[redacted]"),
        ("Learned: the password of the staging database is hunter2hunter2.", "Learned: [redacted]."),
        ("a; the password of the staging… b", "a; [redacted] b"),
        ("the password of the…", "[redacted]"),
        ("…ging database is hunter2h…", "[redacted]…"),
        ("…staging database is hunter2hunter2", "[redacted]"),
        (
            "twice the password of the staging database is hunter2hunter2 the password of the staging database is hunter2hunter2",
            "twice [redacted] [redacted]",
        ),
    ];
    for (quote, rest) in quotes {
        assert_eq!(texts.passage(quote).as_deref(), Some(rest), "{quote}");
        let other = line(2, "unknown", &format!(r#""text":{}"#, json!(quote)));
        let without = texts.redact_line(&other).unwrap_or_else(|| panic!("{quote}"));
        let output: Value = serde_json::from_slice(&without.line).unwrap();
        assert_eq!((output["text"].as_str(), without.is_stub), (Some(rest), false), "{quote}");
        assert_eq!(without.quoted_ids, BTreeSet::from([id(1)]));
        assert_eq!(texts.redact_line(&without.line), None, "not idempotent");
    }
    for kept in ["the password", "the staging database", "…the pass…", "the password of another", ""] {
        assert_eq!(texts.passage(kept), None, "{kept}");
    }
    // also in a foreign line
    assert_eq!(
        texts.redact_line(b"x the password of the staging database is hunter2hunter2").unwrap().line,
        b"x [redacted]"
    );
}

#[test]
fn a_record_keeps_its_own_text() {
    let own = line(1, "finding", r#""text":"a text that is long enough""#);
    assert_eq!(texts(std::slice::from_ref(&own)).redact_line(&own), None);
}

#[test]
fn short_texts_are_replaced_only_in_composed_records() {
    let texts = texts(&[line(1, "finding", r#""text":"hunter2""#), line(2, "unknown", r#""text":"why""#)]);
    assert_eq!(texts.redact_line(&line(3, "goal", r#""text":"hunter2""#)), None);
    let handoff =
        line(3, "handoff", r#""type":"epistemic","task":"why","findings":[{"text":"hunter2"},{"text":"no hunter2"}]"#);
    let without = String::from_utf8(texts.redact_line(&handoff).unwrap().line).unwrap();
    assert!(without.contains(r#""task":"why","findings":[{"text":"[redacted]"},{"text":"no hunter2"}]"#), "{without}");
}

#[test]
fn only_texts_of_the_handoff_itself_are_replaced() {
    let body = format!(
        r#""task":"of the handoff itself","findings":[{{"id":"{}","text":"from the journal, long"}},{{"text":"said with it, and long"}}]"#,
        id(9)
    );
    let texts = texts(&[line(1, "handoff", &body)]);
    let finding = line(9, "finding", r#""text":"from the journal, long""#);
    assert_eq!(texts.redact_line(&finding), None);
    assert_eq!(
        texts.redact_line(&line(8, "finding", r#""text":"said with it, and long""#)),
        None,
        "only in composed records"
    );
    let status = line(3, "handoff", r#""payload":{"a":{"status":"PARTIAL","how":"IN_SOME_PART","x":"s3cret"}}"#);
    let mut of_status = RedactedTexts::default();
    of_status.add(&status);
    let like = line(4, "handoff", r#""payload":{"a":{"how":"IN_SOME_PART","x":"s3cret"}}"#);
    let without = String::from_utf8(of_status.redact_line(&like).unwrap().line).unwrap();
    assert!(without.contains("IN_SOME_PART") && !without.contains("s3cret"), "{without}");
    let other = line(2, "handoff", &body);
    let without = String::from_utf8(texts.redact_line(&other).unwrap().line).unwrap();
    assert!(without.contains("from the journal") && !without.contains("said with it") && !without.contains("itself"));
}

#[test]
fn structural_values_are_not_texts() {
    let other = id(9);
    let lines: Vec<Vec<u8>> = ["medium", "not_assessable", "PREFLIGHT", "pattern", "epistemic", &other]
        .iter()
        .zip(10..)
        .map(|(text, n)| line(n, "finding", &format!(r#""text":{}"#, json!(text))))
        .collect();
    let texts = texts(&lines);
    let goal = r#"{"id":"019ab000-0000-7000-8000-000000000009","text":"medium","status":"open","priority":"medium","criteria":[]}"#;
    let handoff = line(
        2,
        "handoff",
        &format!(
            r#""type":"epistemic","calibration_status":"not_assessable","goals":[{goal}],"findings":[{{"text":"innocent"}}]"#
        ),
    );
    assert!(record::decode(&handoff).is_some());
    let without = texts.redact_line(&handoff).unwrap();
    let new = String::from_utf8(without.line.clone()).unwrap();
    assert!(!without.is_stub && record::decode(&without.line).is_some(), "{new}");
    assert!(
        new.contains(r#""text":"[redacted]","status":"open","priority":"medium""#) && new.contains("innocent"),
        "{new}"
    );
    let finding = line(3, "finding", &format!(r#""text":"x","as":"pattern","led_from":"{other}""#));
    assert_eq!(texts.redact_line(&finding), None);
}

#[test]
fn a_text_within_another_is_replaced_with_it_and_remainders_are_found() {
    let inner = line(1, "finding", r#""text":"the password is hunter2hunter2""#);
    let outer =
        line(2, "finding", r#""text":"in prod too: the password is hunter2hunter2, and the user is bob-the-admin""#);
    let quote = "heard: in prod too: the password is hunter2hunter2, and the user is bob-the-admin";
    assert_eq!(texts(&[inner.clone(), outer.clone()]).passage(quote).as_deref(), Some("heard: [redacted]"));
    // redacted one after the other
    let first = texts(std::slice::from_ref(&inner));
    let (quote, outer) = (first.passage(quote).unwrap(), first.redact_line(&outer).unwrap().line);
    assert!(quote.contains("bob-the-admin"));
    assert_eq!(texts(std::slice::from_ref(&outer)).passage(&quote).as_deref(), Some("heard: [redacted]"));
    assert_eq!(
        texts(&[outer]).passage("the rest: , and the user is bob-the-admin").as_deref(),
        Some("the rest: [redacted]")
    );
}

#[test]
fn escapes_hide_nothing() {
    let texts = texts(&[line(1, "finding", r#""text":"use <b>\"hunter2\"</b> [there]""#)]);
    assert_eq!(texts.passage(r#"so: use \<b>"hunter2"\</b> \[there\]!"#).as_deref(), Some("so: [redacted]!"));
    let foreign = br#"{"note":"use <b>\"hunter2\"</b> [there]"}"#;
    assert_eq!(texts.redact_line(foreign).unwrap().line, br#"{"note":"[redacted]"}"#);
}

#[test]
fn every_record_with_a_text_that_was_removed_is_named() {
    let own = |n, text: &str| line(n, "finding", &format!(r#""text":"{text}""#));
    let (whole, part) = ("the password is hunter2hunter2", "is hunter2hunter2");
    let texts = texts(&[own(1, whole), own(2, whole), own(3, part), own(4, "another that is long")]);
    let quote = line(5, "unknown", &format!(r#""text":"who said {whole}?""#));
    let left = texts.redact_line(&quote).unwrap();
    assert_eq!(left.quoted_ids, [1, 2, 3].map(id).into());
    assert_eq!(left.line, line(5, "unknown", r#""text":"who said [redacted]?""#));
}

#[test]
fn a_text_in_a_repeated_key_is_removed_and_no_line_becomes_a_record() {
    let own = line(1, "finding", r#""text":"the password is hunter2hunter2""#);
    let texts = texts(std::slice::from_ref(&own));
    let twice = line(2, "finding", r#""text":"the password is hunter2hunter2","text":"x""#);
    assert_eq!(texts.redact_line(&twice).unwrap().line, line(2, "finding", r#""text":"x""#));
    let foreign = br#"{"a":"the password is hunter2hunter2","a":"b"}"#;
    assert_eq!(texts.redact_line(foreign).unwrap().line, br#"{"a":"b"}"#);
    let id = "019ab000-0000-7000-8000-000000000003";
    let hidden = format!(r#"{{"v":1,"id":"","id":"{id}","note":"the password is hunter2hunter2"}}"#);
    let left = texts.redact_line(hidden.as_bytes()).unwrap().line;
    assert!(lines::id(&left).is_none() && !String::from_utf8_lossy(&left).contains("hunter2"));
    assert_eq!(texts.redact_line(&left), None);
}

#[test]
fn texts_a_handoff_repeats_belong_to_their_record() {
    let handoff = line(1, "handoff", r#""task":"implement the login page","next_steps":["only said here, by it"]"#);
    let start = line(2, "session_start", r#""task":"implement the login page""#);
    let mut texts = texts(&[handoff]);
    assert!(texts.is_own_text_of(&start));
    texts.drop_texts_owned_by(&start);
    let other = line(3, "handoff", r#""task":"implement the login page","next_steps":["only said here, by it"]"#);
    let new = String::from_utf8(texts.redact_line(&other).unwrap().line).unwrap();
    assert!(new.contains("login page") && !new.contains("only said here"), "{new}");
}

#[test]
fn a_stub_keeps_the_envelope_and_is_recognized_by_its_prefix() {
    let old = line(1, "finding", r#""text":"secret","foreign":{"original":"secret"}"#);
    let by =
        Attribution { ai: "lead".into(), at: "2026-02-03T00:00:00.000Z".into(), reason: Some("a password".into()) };
    let new = String::from_utf8(stub(&old, Some(&by)).unwrap()).unwrap();
    assert_eq!(
        new,
        format!(
            r#"{{"v":1,"id":"{}","kind":"redacted","session":null,"ai":"claude","at":"2026-01-02T03:04:05.678Z","commit":null,"tree":null,"was":"finding","redacted_by":"lead","redacted_at":"2026-02-03T00:00:00.000Z","reason":"a password"}}"#,
            id(1)
        )
    );
    assert!(is_stub(new.as_bytes()) && is_stub(&stub(&old, None).unwrap()) && !is_stub(&old));
    assert!(record::decode(new.as_bytes()).is_some());
    assert_eq!(stub(b"no record", None), None);
    let sly = line(3, "finding", r#""text":"\",\"kind\":\"redacted\"""#);
    assert!(!is_stub(&sly));
}

#[test]
fn telling_words_are_not_prose() {
    let texts =
        texts(&[line(1, "finding", r#""text":"the token is `abcd1234wxyz` (see RS256, internationalisation).""#)]);
    assert_eq!(texts.distinctive_words(), BTreeSet::from(["abcd1234wxyz".to_owned()]));
}

#[test]
fn every_line_with_an_id_has_a_stub_with_that_id() {
    let id = "019ab000-0000-7000-8000-00000000000f";
    let rest = r#""session":null,"ai":"x","at":"","commit":null,"tree":null"#;
    for (line, was) in [
        (format!(r#"{{"v":1,"id":"{id}","kind":"finding",{rest},"text":"t"}}"#), "finding"),
        (format!(r#"{{"v":1,"id":"{id}","kind":"finding",{rest},"text":"t","x":1e999}}"#), "finding"),
        (format!(r#"{{"v":1,"id":"{id}","kind":"finding",{rest},"text":"t","x":"\ud800"}}"#), "finding"),
        // a duplicate key
        (format!(r#"{{"v":1,"id":"{id}","kind":"unknown",{rest},"text":"t","id":"claude","v":"x"}}"#), "unknown"),
        (format!(r#"{{"v":27,"id":"{id}","kind":"prophecy","text":"t"}}"#), "prophecy"),
        (format!(r#"{{"v":1,"id":"{id}",no JSON"#), "unknown"),
    ] {
        let stub = stub(line.as_bytes(), None).unwrap();
        let text = String::from_utf8(stub.clone()).unwrap();
        assert!(is_stub(&stub) && !text.contains("\"text\""), "{text}");
        assert_eq!((lines::id(&stub), lines::id(line.as_bytes())), (Some(id), Some(id)), "{text}");
        assert!(text.contains(&format!("\"was\":\"{was}\"")), "{text}");
        assert_eq!(text.starts_with("{\"v\":27,"), line.starts_with("{\"v\":27,"));
        assert!(record::decode(line.as_bytes()).is_none() || record::decode(&stub).is_some(), "{text}");
    }
    assert_eq!(stub(b"a foreign line", None), None);
}

#[test]
fn a_line_keeps_its_id_whatever_is_replaced_in_it() {
    let id = "019ab000-0000-7000-8000-00000000000f";
    let mut texts = RedactedTexts::default();
    let line =
        r#"{"v":1,"id":"019ab000-0000-7000-8000-000000000001","kind":"finding","text":"019ab000-0000 is the one"}"#;
    texts.add(line.as_bytes());
    texts.add(line.replace("0001", "0002").replace("-0000 is the one", "").as_bytes());
    let rest = r#""kind":"finding","text":"see 019ab000-0000 is the one""#;
    for line in [
        format!(r#"{{"v":1,"id":"{id}",{rest},"v":"x","id":[]}}"#),
        format!(r#"{{"v":1,"id":"{id}",{rest},no JSON"#),
        format!(r#"{{"v":1,"id":"{id}",{rest},"x":1e999}}"#),
    ] {
        let left = texts.redact_line(line.as_bytes()).unwrap();
        assert_eq!(lines::id(&left.line), Some(id), "{}", String::from_utf8_lossy(&left.line));
        assert!(left.line.windows(6).any(|part| part == b"[redac") && texts.redact_line(&left.line).is_none());
    }
}

//! What is replaced, and what is left as it is.

use super::*;

fn line(n: u8, kind: &str, body: &str) -> Vec<u8> {
    let head = r#""session":null,"ai":"claude","at":"2026-01-02T03:04:05.678Z","commit":null,"tree":null"#;
    format!(r#"{{"v":1,"id":"{}","kind":"{kind}",{head},{body}}}"#, id(n)).into_bytes()
}

fn id(n: u8) -> String {
    format!("019ab000-0000-7000-8000-0000000000{n:02x}")
}

fn texts(lines: &[Vec<u8>]) -> Texts {
    let mut texts = Texts::default();
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
        let without = texts.without(&other).unwrap_or_else(|| panic!("{quote}"));
        let said: Value = serde_json::from_slice(&without.line).unwrap();
        assert_eq!((said["text"].as_str(), without.is_gone), (Some(rest), false), "{quote}");
        assert_eq!(without.of, BTreeSet::from([id(1)]));
        assert_eq!(texts.without(&without.line), None, "once is enough");
    }
    for kept in ["the password", "the staging database", "…the pass…", "the password of another", ""] {
        assert_eq!(texts.passage(kept), None, "{kept}");
    }
    // in a foreign line as well
    assert_eq!(
        texts.without(b"x the password of the staging database is hunter2hunter2").unwrap().line,
        b"x [redacted]"
    );
}

#[test]
fn what_it_says_itself_is_left_to_the_record() {
    let own = line(1, "finding", r#""text":"a text that is long enough""#);
    assert_eq!(texts(std::slice::from_ref(&own)).without(&own), None);
}

#[test]
fn short_texts_count_only_where_others_are_put_together() {
    let texts = texts(&[line(1, "finding", r#""text":"hunter2""#), line(2, "unknown", r#""text":"why""#)]);
    assert_eq!(texts.without(&line(3, "goal", r#""text":"hunter2""#)), None);
    let handoff =
        line(3, "handoff", r#""type":"epistemic","task":"why","findings":[{"text":"hunter2"},{"text":"no hunter2"}]"#);
    let without = String::from_utf8(texts.without(&handoff).unwrap().line).unwrap();
    assert!(without.contains(r#""task":"why","findings":[{"text":"[redacted]"},{"text":"no hunter2"}]"#), "{without}");
}

#[test]
fn of_a_handoff_counts_what_it_says_itself() {
    let drawn = format!(
        r#""task":"of the handoff itself","findings":[{{"id":"{}","text":"from the journal, long"}},{{"text":"said with it, and long"}}]"#,
        id(9)
    );
    let texts = texts(&[line(1, "handoff", &drawn)]);
    let finding = line(9, "finding", r#""text":"from the journal, long""#);
    assert_eq!(texts.without(&finding), None);
    assert_eq!(
        texts.without(&line(8, "finding", r#""text":"said with it, and long""#)),
        None,
        "only what is put together"
    );
    let status = line(3, "handoff", r#""payload":{"a":{"status":"PARTIAL","how":"IN_SOME_PART","x":"s3cret"}}"#);
    let mut of_status = Texts::default();
    of_status.add(&status);
    let like = line(4, "handoff", r#""payload":{"a":{"how":"IN_SOME_PART","x":"s3cret"}}"#);
    let without = String::from_utf8(of_status.without(&like).unwrap().line).unwrap();
    assert!(without.contains("IN_SOME_PART") && !without.contains("s3cret"), "{without}");
    let other = line(2, "handoff", &drawn);
    let without = String::from_utf8(texts.without(&other).unwrap().line).unwrap();
    assert!(without.contains("from the journal") && !without.contains("said with it") && !without.contains("itself"));
}

#[test]
fn what_is_no_record_any_more_is_a_stub() {
    let texts = texts(&[line(1, "finding", r#""text":"well_calibrated""#)]);
    let handoff = line(2, "handoff", r#""type":"epistemic","calibration_status":"well_calibrated""#);
    assert!(record::decode(&handoff).is_some());
    let without = texts.without(&handoff).unwrap();
    assert!(without.is_gone && is_stub(&without.line), "{}", String::from_utf8_lossy(&without.line));
}

#[test]
fn a_stub_keeps_the_envelope_and_is_known_by_its_beginning() {
    let old = line(1, "finding", r#""text":"secret","foreign":{"original":"secret"}"#);
    let by = By { ai: "lead".into(), at: "2026-02-03T00:00:00.000Z".into(), reason: Some("a password".into()) };
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
fn words_that_are_no_prose_are_told() {
    let texts =
        texts(&[line(1, "finding", r#""text":"the token is `abcd1234wxyz` (see RS256, internationalisation).""#)]);
    assert_eq!(texts.telling(), BTreeSet::from(["abcd1234wxyz".to_owned()]));
}

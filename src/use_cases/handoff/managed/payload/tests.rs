//! Payloads: complete examples, violations, single values.

use proptest::prelude::*;

use crate::use_cases::handoff::managed::payload::*;

/// An example of each format, in which `A|B` stands for one of several words.
const EXAMPLES: [(&str, &str); 4] = [
    ("initialization", include_str!("../../../../../tests/fixtures/documents/initialization.json")),
    ("progress", include_str!("../../../../../tests/fixtures/documents/progress.json")),
    ("error_recovery", include_str!("../../../../../tests/fixtures/documents/error_recovery.json")),
    ("escalation", include_str!("../../../../../tests/fixtures/documents/escalation.json")),
];

/// The same with the `at`th word of each choice; of fewer the last.
fn chosen(value: &Value, at: usize) -> Value {
    match value {
        Value::String(text) if text.contains('|') => {
            let words: Vec<&str> = text.split('|').collect();
            json!(words[at.min(words.len() - 1)])
        }
        Value::Array(entries) => entries.iter().map(|entry| chosen(entry, at)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), chosen(value, at))).collect(),
        other => other.clone(),
    }
}

/// A document without its type, read as that.
fn read(kind: &str, document: &Value) -> Result<Document, String> {
    let mut fields = document.clone();
    fields.as_object_mut().map(|fields| fields.shift_remove(TYPE));
    Document::read(kind, &fields).map_err(|error| error.to_string())
}

/// The paths of a document without a value.
fn nulls(path: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Null => vec![path.to_owned()],
        Value::Object(map) => map.iter().flat_map(|(key, value)| nulls(&format!("{path}.{key}"), value)).collect(),
        Value::Array(entries) => entries.iter().flat_map(|entry| nulls(path, entry)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn complete_examples_come_back_with_the_same_bytes() {
    for (kind, text) in EXAMPLES {
        let example: Value = serde_json::from_str(text).expect(kind);
        for at in 0..6 {
            let given = chosen(&example, at);
            let read = read(kind, &given).expect(kind);
            // it has every field that is ours
            assert_eq!(nulls("", &json!(read)), Vec::<String>::new());
            let mut handoff = Handoff::default();
            read.put_in(&mut handoff);
            let back = document(&handoff, "1999-01-01T00:00:00Z").expect("a document");
            assert_eq!(Value::Object(back).to_string(), given.to_string());
        }
    }
}

#[test]
fn our_examples_have_every_field_that_the_program_does_not_fill_in() {
    let filled_in = [
        ("initialization", &[".timestamp"][..]),
        ("progress", &[".timestamp", ".iteration"]),
        ("error_recovery", &[".timestamp", ".iteration", ".retry_count", ".max_retries"]),
        ("escalation", &[".timestamp", ".complete_history", ".current_state.files_modified"]),
    ];
    for (kind, paths) in filled_in {
        let read = json!(read(kind, &example(kind).expect(kind)).expect(kind));
        assert_eq!(nulls("", &read[kind]), paths);
    }
    read(CONTEXT, &example(CONTEXT).expect("an example")).expect("valid");
    assert_eq!(example("epistemic"), None);
}

#[test]
fn the_first_violation_is_named_with_its_path() {
    let report = |more: &str| format!(r#"{{"task_id":"t","worker_report":{{"status":"PARTIAL"{more}}}}}"#);
    for (document, expected) in [
        ("[]", "progress: invalid length 0, expected struct Progress with 7 elements"),
        ("{}", "progress: missing field `task_id`"),
        (r#"{"task_id":" \n"}"#, "progress.task_id: expected a text that is not blank"),
        (r#"{"task_id":5}"#, "progress.task_id: invalid type: integer `5`, expected a string"),
        (r#"{"timestamp":"now"}"#, "progress.timestamp: expected a time such as 2024-01-01T12:00:00Z"),
        (r#"{"iteration":0}"#, "progress.iteration: invalid value: integer `0`, expected a nonzero u64"),
        (r#"{"worker_report":{}}"#, "progress.worker_report: missing field `status`"),
        (
            r#"{"worker_report":{"status":"COMPLETED|PARTIAL|FAILED"}}"#,
            "progress.worker_report.status: unknown variant `COMPLETED|PARTIAL|FAILED`, expected one of `COMPLETED`, `PARTIAL`, `FAILED`",
        ),
        (
            &report(r#","files_modified":[{"path":"a"},{"description":"x"}]"#),
            "progress.worker_report.files_modified[1]: missing field `path`",
        ),
        (
            &report(r#","tests":{"added":-1}"#),
            "progress.worker_report.tests.added: invalid value: integer `-1`, expected u64",
        ),
        (
            &report(r#","issues":"one""#),
            "progress.worker_report.issues: invalid type: string \"one\", expected a sequence",
        ),
        (
            r#"{"context_updates":{"surprise":1}}"#,
            "progress.context_updates.surprise: unknown field `surprise`, expected one of `new_patterns`, `architecture_changes`, `dependencies_added`",
        ),
    ] {
        let found = read("progress", &serde_json::from_str(document).expect("JSON"));
        assert_eq!(found, Err(expected.to_owned()), "{document}");
    }
}

#[test]
fn a_key_given_twice_is_refused() {
    let text = r#"{"a":[1,-2,0.5,"x\n",true,null,{"a":{}}],"b":{"a":[]}}"#;
    assert_eq!(parsed(text).expect("JSON").to_string(), text);
    for text in [r#"{"a":1,"a":1}"#, r#"[{"b":{"a":1,"c":2,"a":3}}]"#, r#"{"a":1,"\u0061":2}"#] {
        assert_eq!(parsed(text), Err("the key \"a\" is given twice".to_owned()), "{text}");
    }
    for text in ["", "{", "[1,]", "nul", "1 2", "{a: 1}", "// a\n{}"] {
        assert!(parsed(text).is_err(), "{text}");
    }
}

#[test]
fn a_single_value_is_set_at_its_path() {
    let mut made = json!({});
    let mut put = |path: &str, text: &str| set("progress", &mut made, path, text, false);
    for (path, text) in [
        ("worker_report.status", "completed"),
        ("worker_report.issues", "one"),
        ("worker_report.issues", "two = 2"),
        ("worker_report.tests.added", " 5 "),
        ("worker_report.files_modified", r#"{"path":"a.js"}"#),
        ("manager_decision", "Refine"),
        ("task_id", "{\"x\":1}"),
    ] {
        assert!(put(path, text), "{path}");
    }
    let expected = json!({
        "worker_report": {
            "status": "COMPLETED", "issues": ["one", "two = 2"], "tests": {"added": 5}, "files_modified": [{"path": "a.js"}],
        },
        "manager_decision": "REFINE", "task_id": "{\"x\":1}",
    });
    for path in ["worker_report.status", "worker_report.tests.added", "worker_report.status.x", "worker_report"] {
        assert!(!put(path, "5"), "{path}");
    }
    assert_eq!(made, expected);
    assert!(read("progress", &made).is_ok());
    assert!(set("progress", &mut made, "task_id", "t", true) && made["task_id"] == "t");
}

#[test]
fn a_value_set_wrongly_is_named_with_its_path() {
    for (path, text, expected) in [
        ("worker_report.tests.passing", "-5", "progress.worker_report.tests.passing: invalid value: integer `-5`"),
        ("manager_decision", "maybe", "progress.manager_decision: unknown variant `maybe`, expected one of"),
        (
            "worker_report.files_modified",
            "a.js",
            "progress.worker_report.files_modified[0]: invalid type: string \"a.js\"",
        ),
        ("worker_report.tests.failing", "1", "progress.worker_report.tests.failing: unknown field `failing`"),
        ("worker_report.status.x", "1", "progress.worker_report.status"),
        ("", "1", "progress.: unknown field ``"),
    ] {
        let mut made = json!({});
        assert!(set("progress", &mut made, path, text, false), "{path}");
        let found = read("progress", &made).expect_err(path);
        assert!(found.starts_with(expected), "{path}: {found}");
    }
}

proptest! {
    #[test]
    fn a_document_with_some_of_the_fields_comes_back_with_the_same_bytes(nth in 0usize..4, gone in any::<u64>()) {
        /// Removes a quarter of the fields.
        fn without(value: &mut Value, gone: &mut u64) {
            match value {
                Value::Object(map) => map.retain(|_, value| {
                    without(value, gone);
                    *gone = gone.rotate_right(1);
                    *gone & 3 != 3
                }),
                Value::Array(entries) => entries.iter_mut().for_each(|entry| without(entry, gone)),
                _ => {}
            }
        }
        let (kind, text) = EXAMPLES[nth];
        let mut given = chosen(&serde_json::from_str(text).expect("JSON"), 0);
        without(&mut given, &mut gone.clone());
        given.as_object_mut().expect("an object").shift_remove(TYPE);
        if let Ok(read) = Document::read(kind, &given) {
            prop_assert_eq!(without_nulls(json!(read))[kind].to_string(), given.to_string());
        }
    }
}

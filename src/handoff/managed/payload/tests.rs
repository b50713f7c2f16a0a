//! Validation of payloads: the examples of the specification, violations, schemas.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::handoff::managed::formats::FORMATS;
use crate::handoff::managed::payload::*;

/// The specification's own examples, in which `A|B` stands for one of several words.
const SEED: [(&str, &str); 4] = [
    ("initialization", include_str!("../../../../tests/fixtures/seed/initialization.json")),
    ("progress", include_str!("../../../../tests/fixtures/seed/progress.json")),
    ("error_recovery", include_str!("../../../../tests/fixtures/seed/error_recovery.json")),
    ("escalation", include_str!("../../../../tests/fixtures/seed/escalation.json")),
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

/// The values of a document with their paths as [`Violation`] has them; empty lists and objects as well.
fn leaves(value: &Value, path: &str, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(at, entry)| leaves(entry, &format!("{path}[{at}]"), out));
        }
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &below(path, key), out)),
        other => out.push((path.to_owned(), other.clone())),
    }
}

/// Whether a document is valid by a schema, for the keywords in use; panics on others.
fn allows(schema: &Value, value: &Value) -> bool {
    schema.as_object().expect("a schema").iter().all(|(keyword, wanted)| match keyword.as_str() {
        "$schema" | "title" | "description" => true,
        "x-filled-in" => wanted == &json!(true),
        // each example is valid
        "examples" => {
            let mut bare = schema.clone();
            bare.as_object_mut().expect("a schema").shift_remove("examples");
            wanted.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(|one| allows(&bare, one)))
        }
        "type" => match wanted.as_str().expect("a type") {
            "string" => value.is_string(),
            "integer" => value.is_u64() || value.is_i64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}"),
        },
        "const" => value == wanted,
        "enum" => wanted.as_array().expect("words").contains(value),
        "pattern" => {
            assert_eq!(wanted, "\\S");
            value.as_str().is_none_or(|text| !text.trim().is_empty())
        }
        "format" => value.as_str().is_none_or(|text| chrono::DateTime::parse_from_rfc3339(text).is_ok()),
        "minimum" => value.as_i64().is_none_or(|number| Some(number) >= wanted.as_i64()),
        "items" => value.as_array().is_none_or(|entries| entries.iter().all(|entry| allows(wanted, entry))),
        "required" => value.as_object().is_none_or(|map| {
            wanted.as_array().expect("keys").iter().all(|key| map.contains_key(key.as_str().expect("a key")))
        }),
        "properties" => value.as_object().is_none_or(|map| {
            map.iter().all(|(key, value)| wanted.get(key).is_none_or(|schema| allows(schema, value)))
        }),
        "additionalProperties" => {
            assert_eq!(wanted, &json!(false));
            let known = schema["properties"].as_object().expect("properties");
            value.as_object().is_none_or(|map| map.keys().all(|key| known.contains_key(key)))
        }
        other => panic!("{other}"),
    })
}

#[test]
fn examples_of_the_specification_are_valid_and_have_the_same_fields_in_order() {
    for (name, text) in SEED {
        let format = named(name).expect(name);
        let seed: Value = serde_json::from_str(text).expect(name);
        for at in 0..6 {
            let one = chosen(&seed, at);
            assert_eq!(violations(format, &one), [], "{name}");
            assert_eq!(Value::Object(with_type(format, &one)).to_string(), one.to_string(), "{name}");
            assert!(allows(&format.schema, &one), "{name}");
            let mut handoff = Handoff::default();
            put_in(format, &one, &mut handoff);
            let back = document(&handoff, "1999-01-01T00:00:00Z").expect("a document");
            assert_eq!(Value::Object(back).to_string(), one.to_string(), "{name}");
        }
        // nothing is in our format that is not in the specification's
        let mut whole = example(format);
        fn all_keys(value: &Value, path: &str, out: &mut Vec<String>) {
            match value {
                Value::Array(entries) => entries.iter().for_each(|entry| all_keys(entry, path, out)),
                Value::Object(map) => map.iter().for_each(|(key, value)| {
                    out.push(below(path, key));
                    all_keys(value, &below(path, key), out);
                }),
                _ => {}
            }
        }
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        all_keys(&seed, "", &mut theirs);
        for (key, value) in format.schema["properties"].as_object().expect("properties") {
            if whole.get(key).is_none() {
                whole[key] = chosen(&seed[key], 0);
                assert!(allows(value, &whole[key]), "{name}: {key}");
            }
        }
        whole["current_state"] = seed["current_state"].clone();
        all_keys(&whole, "", &mut ours);
        theirs.sort();
        ours.retain(|key| key != "current_state" || name == "escalation");
        ours.sort();
        ours.dedup();
        theirs.dedup();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn an_unresolved_choice_is_a_violation() {
    let progress = named("progress").expect("a format");
    let seed: Value = serde_json::from_str(SEED[1].1).expect("JSON");
    let found: Vec<String> = violations(progress, &seed).iter().map(Violation::line).collect();
    assert_eq!(
        found,
        [
            "worker_report.status is \"COMPLETED|PARTIAL|FAILED\": expected COMPLETED or PARTIAL or FAILED",
            "manager_decision is \"COMPLETE|CONTINUE|ESCALATE|REFINE\": expected COMPLETE or CONTINUE or ESCALATE or REFINE",
        ]
    );
}

#[test]
fn violations_name_path_and_expected_value() {
    let progress = named("progress").expect("a format");
    let given = json!({
        "handoff_type": "initialization",
        "iteration": 0,
        "worker_report": {"files_modified": [{"path": "a"}, {"description": "x"}, "b"], "tests": {"added": -1}, "issues": "one"},
        "context_updates": [],
        "surprise": 1,
    });
    let found: Vec<String> = violations(progress, &given).iter().map(Violation::line).collect();
    assert_eq!(
        found,
        [
            "handoff_type is \"initialization\": expected \"progress\"",
            "task_id is missing: expected a text that is not blank",
            "iteration is 0: expected a whole number, 1 or more",
            "worker_report.status is missing: expected COMPLETED or PARTIAL or FAILED",
            "worker_report.files_modified[1].path is missing: expected a text that is not blank",
            "worker_report.files_modified[2] is \"b\": expected an object with path, description",
            "worker_report.tests.added is -1: expected a whole number, 0 or more",
            "worker_report.issues is \"one\": expected a list of texts",
            "context_updates is a list: expected an object with new_patterns, architecture_changes, dependencies_added",
            "surprise is an unknown key: expected one of the keys timestamp, task_id, iteration, worker_report, \
             manager_decision, continuation_instructions, context_updates",
        ]
    );
    for one in violations(progress, &given).iter().filter(|one| one.found.is_none()) {
        assert!(serde_json::from_str::<Value>(&one.example).is_ok_and(|example| !example.is_null()), "{one:?}");
    }
    for other in [json!(null), json!([]), json!("x")] {
        assert_eq!(violations(progress, &other).len(), 1, "{other}");
        assert!(violations(progress, &other)[0].line().starts_with("the whole is "), "{other}");
    }
}

#[test]
fn examples_are_valid_and_settable_by_single_values() {
    for format in FORMATS.iter() {
        let whole = example(format);
        assert_eq!(violations(format, &whole), [], "{}", format.name);
        let mut all = Vec::new();
        leaves(&whole, "", &mut all);
        let mut made = json!({});
        for (path, value) in all.iter().filter(|(path, _)| path != TYPE && !path.contains("[0].")) {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            set(format, &mut made, path.trim_end_matches("[0]"), &text, false).expect(path);
        }
        for (path, entry) in [("worker_report.files_modified", &whole["worker_report"]["files_modified"][0])] {
            if !entry.is_null() {
                set(format, &mut made, path, &entry.to_string(), false).expect(path);
            }
        }
        assert_eq!(with_type(format, &made), *whole.as_object().expect("an object"), "{}", format.name);
    }
}

#[test]
fn a_single_value_is_set_at_its_path_or_refused() {
    let format = named("progress").expect("a format");
    let mut made = json!({});
    let mut put = |path: &str, text: &str| set(format, &mut made, path, text, false).map_err(|wrong| wrong.line());
    assert_eq!(put("worker_report.status", "completed"), Ok(()));
    assert_eq!(put("worker_report.issues", "one"), Ok(()));
    assert_eq!(put("worker_report.issues", "two = 2"), Ok(()));
    assert_eq!(put("worker_report.tests.added", " 5 "), Ok(()));
    assert_eq!(put("task_id", "{\"x\":1}"), Ok(()));
    let refused = |text: Result<(), String>| text.expect_err("refused");
    assert_eq!(
        refused(put("worker_report.status", "FAILED")),
        "worker_report.status is given twice: \"COMPLETED\" and \"FAILED\": expected COMPLETED or PARTIAL or FAILED, once"
    );
    assert_eq!(
        refused(put("worker_report.tests.added", "5")).split(':').next(),
        Some("worker_report.tests.added is given twice")
    );
    assert_eq!(
        refused(put("worker_report.tests.passing", "-5")),
        "worker_report.tests.passing is \"-5\": expected a whole number, 0 or more"
    );
    assert_eq!(
        refused(put("manager_decision", "maybe")),
        "manager_decision is \"maybe\": expected COMPLETE or CONTINUE or ESCALATE or REFINE"
    );
    assert_eq!(
        refused(put("worker_report.files_modified", "a.js")),
        "worker_report.files_modified is \"a.js\": expected an object with path, description"
    );
    assert!(
        refused(put("worker_report.tests.failing", "1"))
            .ends_with("expected worker_report.tests with one of added, passing, coverage")
    );
    assert!(
        refused(put("worker_report.status.x", "1"))
            .ends_with("expected worker_report.status, which is COMPLETED or PARTIAL or FAILED")
    );
    assert!(refused(put("", "1")).contains("expected a key with one of timestamp, task_id"));
    assert_eq!(
        made,
        json!({"worker_report": {"status": "COMPLETED", "issues": ["one", "two = 2"], "tests": {"added": 5}}, "task_id": "{\"x\":1}"})
    );
}

#[test]
fn setting_a_value_overwrites_nothing() {
    let format = named("progress").expect("a format");
    for there in [json!("x"), json!([]), json!({"worker_report": 1}), json!({"worker_report": {"issues": "one"}})] {
        let mut made = there.clone();
        let _ = set(format, &mut made, "worker_report.issues", "two", false);
        assert_eq!(made, there);
        assert_ne!(violations(format, &made), []);
    }
}

/// Misplaced values.
fn anything() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-3),
        json!(1.5),
        json!(7),
        json!(""),
        json!(" \n"),
        json!("x"),
        json!("COMPLETE"),
        json!("2024-01-01T12:00:00Z"),
        json!([]),
        json!(["x"]),
        json!([1]),
        json!([[]]),
        json!({}),
        json!({"path": "x"}),
        json!({"iteration": 2}),
    ])
}

/// Replaces, adds or removes a value at some place of a document.
fn mutate(value: &mut Value, at: Index, how: u8, new: &Value) {
    match value {
        Value::Object(map) if !map.is_empty() && how > 0 => {
            let key = map.keys().nth(at.index(map.len())).expect("a key").clone();
            match how {
                1 => drop(map.shift_remove(&key)),
                2 => drop(map.insert(format!("{key}_"), new.clone())),
                _ => mutate(&mut map[&key], at, how - 3, new),
            }
        }
        Value::Array(entries) if !entries.is_empty() && how > 0 => {
            let place = at.index(entries.len());
            mutate(&mut entries[place], at, how - 1, new);
        }
        other => *other = new.clone(),
    }
}

proptest! {
    #[test]
    fn a_document_without_violations_is_valid_by_schema(
        format in select(FORMATS.to_vec()), changes in prop::collection::vec((any::<Index>(), 0u8..12, anything()), 0..4), seed: bool, at in 0usize..6,
    ) {
        let mut given = example(&format);
        // the context of a session has no example in the specification
        let example = SEED.iter().find(|(name, _)| *name == format.name).filter(|_| seed);
        if let Some((_, text)) = example {
            given = chosen(&serde_json::from_str(text).expect("JSON"), at);
        }
        for (at, how, new) in changes {
            mutate(&mut given, at, how, &new);
        }
        let wrong = violations(&format, &given);
        prop_assert_eq!(allows(&format.schema, &given), wrong.is_empty(), "{}: {:?}", given, wrong);
        if wrong.is_empty() {
            // nothing is lost by putting it in order
            let mut back = Value::Object(with_type(&format, &given));
            prop_assert!(violations(&format, &back).is_empty());
            if given.get(TYPE).is_none() {
                back.as_object_mut().expect("an object").shift_remove(TYPE);
            }
            prop_assert_eq!(back, given);
        }
    }
}

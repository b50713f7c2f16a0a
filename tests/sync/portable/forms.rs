//! Formats that `import --jsonl` accepts beside that of `export`, and its errors.

use serde_json::Value;

use crate::support::harness::Sandbox;
use crate::sync::portable::export::{export, import, lived, tips, trees};

/// A document written otherwise: with white space, keys sorted, other escapes, other forms of numbers.
fn otherwise(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let member = |key: &&String| format!("{} :\t{}", escaped(key), otherwise(&map[*key]));
            format!("{{ {} }}", keys.iter().map(member).collect::<Vec<_>>().join(" , "))
        }
        Value::Array(list) => format!("[ {} ]", list.iter().map(otherwise).collect::<Vec<_>>().join(" ,")),
        Value::String(text) => escaped(text),
        Value::Number(number) if number.is_f64() => format!("{:e}", number.as_f64().expect("a number")),
        other => other.to_string(),
    }
}

fn escaped(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{units}\"")
}

#[test]
fn equivalent_json_is_stored_in_canonical_form() {
    let place = Sandbox::new();
    let repo = lived(&place);
    repo.json(["preflight", "-v", "know=0.25,uncertainty=1", "--reasoning", "tab\tand \u{e9}\u{1f980} \\\" quotes"]);
    repo.json(["handoff", "--next", "go on"]);
    let (text, before) = (export(&repo), tips(&repo));
    let other: String =
        text.lines().map(|line| format!("  {}\t\r\n", otherwise(&serde_json::from_str(line).expect("JSON")))).collect();
    let there = place.at("project-2");
    place.at(".").git(["clone", "-q", "project", "project-2"]).ok();
    import(&there, &other);
    assert_eq!((export(&there), trees(&there)), (text.clone(), trees(&repo)), "the same bytes");
    let again = import(&repo, &other);
    assert_eq!((&again["new"], tips(&repo)), (&0.into(), before), "{again}");
    // unknown lines are imported byte for byte
    let id = "019ab000-0000-7000-8000-0000000000ff";
    let later = format!(r#"{{"v":7,"id":"{id}","kind":"vision","x":[1.50e+2,"\u00e9"]}}"#);
    let more = format!(
        r#"{{"v":1,"id":"{}","kind":"finding","session":null,"ai":"x","at":"2026-03-01T12:00:00.000Z","commit":null,"tree":null,"text":"t","color":{{"b":1.50,"a":2}}}}"#,
        id.replace("ff", "fe")
    );
    let commit = repo.head();
    let wrap = |record: &str| format!("{{\"commit\":\"{commit}\",\"shelf\":\"journal\",\"record\":{record}}}\n");
    let foreign = format!(r#"{{"commit":"{commit}","shelf":"journal","record":{{"b":  1.0, "a":2}}}}"#);
    import(&there, &(wrap(&later) + &wrap(&more) + &foreign));
    let (kept, own) = (there.lines("journal"), |line: &str| line.to_owned());
    for line in [own(&later), own(&more), own(r#"{"b":  1.0, "a":2}"#)] {
        assert!(kept.contains(&line), "{line} is not among {kept:#?}");
    }
    // the same with white space gets the form of a record, and nothing of it is lost
    let spaced = |line: &str| wrap(&line.replace("\":", "\" : ").replace(",\"", " , \""));
    let third = place.at("project-3");
    place.at(".").git(["clone", "-q", "project", "project-3"]).ok();
    import(&third, &(spaced(&later) + &spaced(&more)));
    assert!(third.lines("journal").contains(&later) && third.lines("journal").contains(&more));
}

#[test]
fn refused_lines_are_named_with_number_and_reason() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let commit = repo.head();
    let record = |body: &str| format!("{{\"commit\":\"{commit}\",\"record\":{body}}}");
    let head = r#""id":"019ab000-0000-7000-8000-0000000000ff","session":null,"ai":"x","at":"2026-03-01T12:00:00.000Z","commit":null,"tree":null"#;
    for (line, reason) in [
        ("{\"commit\":\"a\"".to_owned(), "line 2: it is not one JSON object: EOF while parsing an object at column 13"),
        ("{'commit':1}".to_owned(), "line 2: it is not one JSON object: key must be a string at column 2"),
        (
            record(&format!("{{\"v\":1,{head},\"kind\":\"finding\"}}")),
            "line 2: it is not a valid finding: missing field `text`",
        ),
        (
            record(&format!("{{\"v\": 7,{head},\"kind\":\"finding\"}}")),
            "line 2: it is a record of version 7; and it has no key \"shelf\"",
        ),
        (
            record(&format!("{{\"v\":1,{head},\"kind\":\"vision\"}}")),
            "line 2: unknown kind 'vision'; and it has no key \"shelf\"",
        ),
        (record("{\"text\":\"t\"}"), "line 2: it is not a record: missing field `v`"),
    ] {
        let ran = repo.run_with_input(["import", "--jsonl", "-", "--json"], format!("\n{line}\n").as_bytes()).code(2);
        let json = ran.json();
        assert_eq!(json["error"], "cannot import line 2 of standard input");
        let text = json["reason"].as_str().expect("a text");
        assert!(text.starts_with(reason), "{line}: {text}");
    }
}

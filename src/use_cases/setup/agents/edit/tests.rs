//! Adding sets the value, removing restores the former text, and nothing else changes.

use proptest::prelude::*;
use serde_json::json;

use crate::use_cases::setup::agents::edit::*;

fn hook(event: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": format!("{MARK}x {event} || true"), "timeout": 5}]})
}

fn put(text: &str, spot: &EntryPath, value: &Value) -> String {
    let (out, entry) = FileFormat::Json.put(text, spot, value).unwrap();
    assert_eq!(FileFormat::Json.take(&out, &entry).unwrap().as_deref(), Some(text), "{out}");
    out
}

#[test]
fn an_entry_takes_the_format_of_its_surroundings() {
    let spot = EntryPath::key(&["mcpServers", "empirica"]);
    let value = json!({"command": "git-empirica"});
    let cases = [
        ("", "{\n  \"mcpServers\": {\n    \"empirica\": {\n      \"command\": \"git-empirica\"\n    }\n  }\n}\n"),
        ("{}", "{\n  \"mcpServers\": {\n    \"empirica\": {\n      \"command\": \"git-empirica\"\n    }\n  }\n}"),
        // a parent on one line is spread
        (
            "{\"a\":1}\n",
            "{\n  \"a\":1,\n  \"mcpServers\": {\n    \"empirica\": {\n      \"command\": \"git-empirica\"\n    }\n  }\n}\n",
        ),
        (
            "{\n\t\"mcpServers\": {}\n}\n",
            "{\n\t\"mcpServers\": {\n\t\t\"empirica\": {\n\t\t\t\"command\": \"git-empirica\"\n\t\t}\n\t}\n}\n",
        ),
        (
            "{\r\n    \"mcpServers\": {\r\n        \"b\": 1 // why\r\n    } // end\r\n}",
            "{\r\n    \"mcpServers\": {\r\n        \"b\": 1, // why\r\n        \"empirica\": {\r\n            \"command\": \"git-empirica\"\r\n        }\r\n    } // end\r\n}",
        ),
        (
            "{\n  \"mcpServers\": {\n    \"b\": 1, /* x */\n  },\n}",
            "{\n  \"mcpServers\": {\n    \"b\": 1, /* x */\n    \"empirica\": {\n      \"command\": \"git-empirica\",\n    },\n  },\n}",
        ),
        (
            "// head\n{ // a\n  // b\n}\n",
            "// head\n{ // a\n  // b\n  \"mcpServers\": {\n    \"empirica\": {\n      \"command\": \"git-empirica\"\n    }\n  }\n}\n",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(put(text, &spot, &value), wanted);
    }
    let list = EntryPath::list(&["hooks", "Stop"]);
    assert_eq!(
        put("{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": []}]\n  }\n}\n", &list, &json!("git-empirica")),
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []},\n      \"git-empirica\"\n    ]\n  }\n}\n"
    );
}

#[test]
fn a_foreign_entry_is_not_removed() {
    let (text, entry) = FileFormat::Json.put("{}", &EntryPath::list(&["a"]), &json!("theirs")).unwrap();
    assert_eq!(FileFormat::Json.take(&text, &entry).unwrap(), None);
}

#[test]
fn a_version_stays_for_as_long_as_there_are_hooks() {
    let (first, version) = FileFormat::Json.put("{\"a\": 1}", &EntryPath::key(&["version"]), &json!(1)).unwrap();
    let (text, _) =
        FileFormat::Json.put(&first, &EntryPath::list(&["hooks", "stop"]), &json!({"command": "theirs"})).unwrap();
    assert_eq!(FileFormat::Json.take(&text, &version).unwrap(), None);
    assert_eq!(FileFormat::Json.take(&first, &version).unwrap().unwrap(), "{\"a\": 1}");
}

#[test]
fn a_conflicting_value_is_named() {
    let list = EntryPath::list(&["hooks", "Stop"]);
    let fault = |text: &str| FileFormat::Json.put(text, &list, &json!(1)).unwrap_err();
    assert_eq!(fault("[]"), EditError::Shape { at: String::new(), expected: "an object" });
    assert_eq!(fault("{\"hooks\": []}"), EditError::Shape { at: "hooks".into(), expected: "an object" });
    assert_eq!(fault("{\"hooks\": {\"Stop\": {}}}"), EditError::Shape { at: "hooks.Stop".into(), expected: "a list" });
    for text in ["{\n\"a\": }", "{\n'a': 1}", "{\n\"a\": 1 \"b\": 2}", "{\n"] {
        let EditError::Syntax { line, .. } = fault(text) else { panic!("{text}") };
        assert!(line >= 1, "{text}");
    }
}

#[test]
fn foreign_siblings_stay() {
    let spot = EntryPath::list(&["hooks", "Stop"]);
    let (text, entry) = FileFormat::Json.put("{}\n", &spot, &hook("Stop")).unwrap();
    // another group behind ours
    let (more, _) = FileFormat::Json.put(&text, &spot, &json!({"hooks": [{"command": "theirs"}]})).unwrap();
    let left = FileFormat::Json.take(&more, &entry).unwrap().unwrap();
    assert_eq!(FileFormat::Json.read(&left).unwrap(), json!({"hooks": {"Stop": [{"hooks": [{"command": "theirs"}]}]}}));
    // another hook in our group, with comments
    let beside = more
        .replace("\"timeout\": 5\n", "\"timeout\": 5 // s\n")
        .replace("        ]\n      },", "        , /* mine */ {\"command\": \"mine\"}]\n      },");
    let left = FileFormat::Json.take(&beside, &entry).unwrap().unwrap();
    let wanted = json!({"hooks": {"Stop": [{"hooks": [{"command": "mine"}]}, {"hooks": [{"command": "theirs"}]}]}});
    assert_eq!(FileFormat::Json.read(&left).unwrap(), wanted, "{left}");
    assert!(left.contains("/* mine */"), "{left}");
    // reformatted, on one line
    let line = FileFormat::Json.read(&text).unwrap().to_string();
    assert_eq!(FileFormat::Json.take(&line, &entry).unwrap().unwrap(), "{}");
    assert_eq!(FileFormat::Json.take("{}", &entry).unwrap(), None);
    // an existing container is kept, though empty
    let (text, entry) = FileFormat::Json.put("{\"hooks\": {}}", &spot, &hook("Stop")).unwrap();
    let line = FileFormat::Json.read(&text).unwrap().to_string();
    assert_eq!(FileFormat::Json.take(&line, &entry).unwrap().unwrap(), "{\"hooks\":{}}");
}

#[test]
fn a_comment_on_the_line_of_an_entry_is_not_lost_with_it() {
    let spot = EntryPath::key(&["mcpServers", "empirica"]);
    let (text, entry) = FileFormat::Json
        .put("{\n  // above\n  \"a\": 1 // beside\n}", &spot, &json!({"command": "git-empirica"}))
        .unwrap();
    let other = text.replace("    ", "\t");
    let left = FileFormat::Json.take(&other, &entry).unwrap().unwrap();
    assert_eq!(left, "{\n  // above\n  \"a\": 1 // beside\n}");
    assert!(FileFormat::Json.take(&other.replace("\n}", " // mine\n}"), &entry).is_err());
}

#[test]
fn a_command_line_is_reworded_and_comes_back() {
    let spot = EntryPath::list(&["hooks", "Stop"]);
    let (text, first) = FileFormat::Json.put("{}\n", &spot, &hook("Stop")).unwrap();
    let (was, now) = (format!("{MARK}x Stop || true"), format!("{MARK}x Stop 2>/dev/null || true"));
    let (other, second) = reword(&text, &spot, &was, &now).unwrap();
    assert!(other.contains("2>/dev/null"), "{other}");
    let back = FileFormat::Json.take(&other, &second).unwrap().unwrap();
    assert_eq!(back, text);
    assert_eq!(FileFormat::Json.take(&back, &first).unwrap().unwrap(), "{}\n");
}

#[test]
fn toml_gets_a_table_after_its_siblings() {
    let spot = EntryPath::key(&["mcp_servers", "empirica"]);
    let value = json!({"command": "git-empirica", "args": ["mcp"]});
    let table = "[mcp_servers.empirica]\ncommand = \"git-empirica\"\nargs = [\"mcp\"]\n";
    for (text, wanted) in [
        ("", table.to_owned()),
        ("a = 1 # b", format!("a = 1 # b\n\n{table}")),
        ("[mcp_servers.x]\ncommand='y'\n", format!("[mcp_servers.x]\ncommand='y'\n\n{table}")),
        ("mcp_servers.x.command = 'y'\n\n", format!("mcp_servers.x.command = 'y'\n\n{table}\n")),
        ("[mcp_servers.x]\n\n# b\n[z]\n", format!("[mcp_servers.x]\n\n{table}\n# b\n[z]\n")),
        ("a = 1\r\n", format!("a = 1\r\n\r\n{}", table.replace('\n', "\r\n"))),
        (
            "mcp_servers = { x = { command = 'y' } } # z\n",
            "mcp_servers = { x = { command = 'y' } , empirica = { command = \"git-empirica\", args = [\"mcp\"] } } # z\n"
                .to_owned(),
        ),
    ] {
        let (out, entry) = FileFormat::Toml.put(text, &spot, &value).unwrap();
        assert_eq!(out, wanted);
        assert_eq!(FileFormat::Toml.take(&out, &entry).unwrap().as_deref(), Some(text));
        assert!(FileFormat::Toml.put(&out, &spot, &value).is_err(), "it is there");
    }
    let (out, entry) = FileFormat::Toml.put("[a]\nb = 1\n", &spot, &value).unwrap();
    assert!(
        FileFormat::Toml.take(&format!("{out}env = {{}}\n"), &entry).is_err(),
        "what was added to it would be lost"
    );
    assert_eq!(FileFormat::Toml.take(&format!("{out}\n[c]\n"), &entry).unwrap().unwrap(), "[a]\nb = 1\n\n[c]\n");
    assert!(matches!(FileFormat::Toml.read("a = 1\nb = \n"), Err(EditError::Syntax { line: 2, .. })));
    assert!(FileFormat::Toml.put("mcp_servers = 1\n", &spot, &value).is_err());
}

/// JSON in any form: white space, comments, trailing commas.
fn document() -> impl Strategy<Value = String> {
    let gap = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just("\n\n    ".to_owned()),
        1 => Just(" // note, {\n".to_owned()),
        1 => Just("/* more ] */".to_owned()),
    ];
    let key =
        prop_oneof![3 => Just("hooks"), 2 => Just("Stop"), 2 => Just("mcpServers"), 2 => Just("k"), 1 => Just("é\\n")];
    let leaf = prop_oneof![
        "[1-9][0-9]{0,2}",
        Just("\"a, // {\"".to_owned()),
        Just("null".to_owned()),
        Just("{}".to_owned()),
        Just("[]".to_owned())
    ];
    let inner = leaf.prop_recursive(4, 24, 4, move |inner| {
        let item = (gap.clone(), inner.clone(), gap.clone());
        let member = (gap.clone(), key.clone(), gap.clone(), item.clone());
        let list = (prop::collection::vec(item, 0..4), any::<bool>(), gap.clone()).prop_map(|(items, comma, gap)| {
            let items: Vec<String> = items.into_iter().map(|(a, b, c)| [a, b, c].concat()).collect();
            let comma = if comma && !items.is_empty() { "," } else { "" };
            format!("[{}{comma}{gap}]", items.join(","))
        });
        let object =
            (prop::collection::vec(member, 0..4), any::<bool>(), gap.clone()).prop_map(|(members, comma, gap)| {
                let mut seen = std::collections::BTreeSet::new();
                let members: Vec<String> = members
                    .into_iter()
                    .filter(|(_, key, ..)| seen.insert(*key))
                    .map(|(a, key, b, (c, value, d))| format!("{a}\"{key}\"{b}:{c}{value}{d}"))
                    .collect();
                let comma = if comma && !members.is_empty() { "," } else { "" };
                format!("{{{}{comma}{gap}}}", members.join(","))
            });
        prop_oneof![3 => object, 1 => list]
    });
    (prop::bool::ANY, inner, prop_oneof![Just(""), Just("\n"), Just("\r\n")])
        .prop_map(|(mark, inner, end)| format!("{}{inner}{end}", if mark { "\u{feff}" } else { "" }))
}

fn comments(text: &str) -> Vec<usize> {
    ["// note, {", "/* more ] */"].iter().map(|comment| text.matches(comment).count()).collect()
}

proptest! {
    #[test]
    fn adding_then_removing_restores_the_text(text in document()) {
        let was = FileFormat::Json.read(&text).unwrap();
        let spots = [EntryPath::list(&["hooks", "Start"]), EntryPath::list(&["hooks", "Stop"]), EntryPath::key(&["mcpServers", "empirica"])];
        let (mut now, mut entries) = (text.clone(), Vec::new());
        for (at, spot) in spots.iter().enumerate() {
            let added = if spot.list { hook(&at.to_string()) } else { json!({"command": "git-empirica", "args": ["mcp"]}) };
            let Ok((next, entry)) = FileFormat::Json.put(&now, spot, &added) else { continue };
            let value = FileFormat::Json.read(&next).unwrap();
            prop_assert_eq!(without(&value, &entry), FileFormat::Json.read(&now).unwrap(), "{}", next);
            let path: Vec<&str> = spot.path.iter().map(String::as_str).collect();
            let there = at_end(&value, &path, spot.list);
            prop_assert_eq!(there, Some(&added), "{}", next);
            prop_assert_eq!(comments(&next), comments(&text));
            (now, entries) = (next, [entries, vec![entry]].concat());
        }
        // byte for byte as they were
        let taken = entries.iter().rev().fold(now.clone(), |text, entry| FileFormat::Json.take(&text, entry).unwrap().unwrap());
        prop_assert_eq!(&taken, &text);
        // by value if the surrounding bytes changed; refused only if a comment would be lost
        let blurred = entries.iter().rev().try_fold(now.clone(), |text, entry| {
            let entry = AddedEntry { now: String::new(), ..entry.clone() };
            FileFormat::Json.take(&text, &entry).map(|taken| taken.unwrap())
        });
        match blurred {
            Ok(blurred) => {
                prop_assert_eq!(FileFormat::Json.read(&blurred).unwrap(), was, "{}", blurred);
                prop_assert_eq!(comments(&blurred), comments(&text), "{}", blurred);
            }
            Err(fault) => prop_assert!(comments(&text) != [0, 0], "{fault:?}: {now}"),
        }
    }

    #[test]
    fn no_text_is_too_strange(text in "[\\[\\]{},:\"a1/* \n\\\\\u{feff}é]{0,24}") {
        let _ = FileFormat::Json.put(&text, &EntryPath::list(&["a", "b"]), &json!(1)).map(|(out, entry)| {
            FileFormat::Json.read(&out).unwrap();
            let _ = FileFormat::Json.take(&out, &entry);
        });
        let _ = FileFormat::Toml.put(&text, &EntryPath::key(&["a", "b"]), &json!({}));
    }
}

fn at_end<'v>(value: &'v Value, path: &[&str], list: bool) -> Option<&'v Value> {
    let found = path.iter().try_fold(value, |value, key| value.get(*key))?;
    if list { found.as_array()?.last() } else { Some(found) }
}

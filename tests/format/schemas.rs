//! The JSON documents that the tests see match the schemas of their commands.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use clap::{Command, CommandFactory};
use git_empirica::cli::Cli;
use git_empirica::cli::DOCUMENTS;
use git_empirica::cli::aliases::expand;
use serde_json::Value;

/// Options with which a command answers otherwise, and its name in the reference then.
pub const FORMS: &[(&str, &str, &str)] = &[
    ("status", "--all", "status --all"),
    ("status", "--budget", "status --all"),
    ("check", "--drift", "check --drift"),
    ("collect", "--all", "collect --all"),
    ("search", "--handoffs", "search --handoffs"),
    ("search", "--like", "search --like"),
    ("search", "--repository", "search --repository"),
    ("doctor", "--repairs", "doctor --repairs"),
];

/// The command that these arguments run, as the reference names it.
fn command(arguments: &[&OsStr]) -> String {
    static CLI: OnceLock<Command> = OnceLock::new();
    let mut command = CLI.get_or_init(Cli::command);
    let given = std::iter::once(OsString::from("git-empirica")).chain(arguments.iter().map(OsString::from));
    let arguments = expand(given.collect());
    let mut names: Vec<&str> = Vec::new();
    for word in arguments.iter().skip(1) {
        match word.to_str().and_then(|word| command.find_subcommand(word)) {
            Some(next) => command = next,
            None if names.is_empty() && word == "help" => return "help".to_owned(),
            None if names.is_empty() => continue,
            None => break,
        }
        names.push(command.get_name());
    }
    let name = names.join(" ");
    let is_given = |option: &str| arguments.iter().any(|word| word.to_string_lossy().split('=').next() == Some(option));
    let form = FORMS.iter().find(|(command, option, _)| *command == name && is_given(option));
    form.map_or(name, |(.., form)| (*form).to_owned())
}

fn schemas() -> &'static BTreeMap<&'static str, Vec<Value>> {
    static SCHEMAS: OnceLock<BTreeMap<&'static str, Vec<Value>>> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let mut out: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for document in DOCUMENTS {
            document.commands.iter().for_each(|command| out.entry(command).or_default().push(document.schema()));
        }
        out
    })
}

/// The document of a success must be one of its command's.
#[track_caller]
pub fn check(arguments: &[&OsStr], document: &Value) {
    let command = command(arguments);
    let Some(schemas) = schemas().get(command.as_str()) else { return };
    let wrong: Vec<String> = schemas.iter().filter_map(|schema| holds(schema, document).err()).collect();
    assert!(wrong.len() < schemas.len(), "{command}: {wrong:#?}\n{document}");
}

/// Validates a document against a schema; the error names the violation and its path.
pub fn holds(schema: &Value, document: &Value) -> Result<(), String> {
    wrong(schema, schema, document, "")
}

/// What is wrong with a value, and where.
fn wrong(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect("a definition");
        return wrong(root, target, value, at);
    }
    for key in ["anyOf", "oneOf"] {
        let Some(choices) = schema[key].as_array() else { continue };
        let all: Vec<String> = choices.iter().filter_map(|choice| wrong(root, choice, value, at).err()).collect();
        if all.len() == choices.len() {
            return Err(all.join(", or "));
        }
    }
    let kinds = match &schema["type"] {
        Value::Null => Vec::new(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => Vec::from_iter(kind.as_str()),
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("a type that is not known: {other}"),
    };
    let fits = kinds.is_empty() || kinds.iter().any(is);
    let listed = schema["enum"].as_array().is_none_or(|values| values.contains(value));
    let constant = schema.get("const").is_none_or(|one| one == value);
    if !(fits && listed && constant) {
        return Err(format!("{at}: {value} is not {schema}"));
    }
    if let Value::Object(map) = value {
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            map.get(key).ok_or_else(|| format!("{at}/{key} is missing"))?;
        }
        for (key, inner) in map {
            let at = format!("{at}/{key}");
            match (&schema["properties"][key], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(false)) => return Err(format!("{at} is not documented")),
                (Value::Null, other) => wrong(root, other, inner, &at)?,
                (known, _) => wrong(root, known, inner, &at)?,
            }
        }
    }
    for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
        let of_place = schema["prefixItems"].get(index).unwrap_or(&schema["items"]);
        wrong(root, of_place, inner, &format!("{at}/{index}"))?;
    }
    Ok(())
}

#[test]
fn a_document_with_another_key_or_without_a_required_one_is_not_of_its_command() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "array", "items": {"$ref": "#/$defs/B"}}},
        "$defs": {"B": {"anyOf": [{"const": "x"}, {"type": "null"}]}},
    });
    let check = |text: &str| wrong(&schema, &schema, &serde_json::from_str(text).expect("JSON"), "");
    assert_eq!(check(r#"{"a": null, "b": ["x", null]}"#), Ok(()));
    for bad in [r#"{"b": []}"#, r#"{"a": 1}"#, r#"{"a": "", "c": 1}"#, r#"{"a": "", "b": ["y"]}"#, "[]"] {
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_command_of_a_call_is_found_whatever_name_it_is_called_by() {
    let of = |words: &[&str]| command(&words.iter().map(OsStr::new).collect::<Vec<_>>());
    assert_eq!(of(&["session", "start", "--task", "end"]), "session start");
    assert_eq!(of(&["sessions-list"]), "session list");
    assert_eq!(of(&["status", "--budget=100"]), "status --all");
    assert_eq!(of(&["bootstrap"]), "status --all");
    assert_eq!(of(&["--no-pager", "handoff", "--task", "list"]), "handoff");
}

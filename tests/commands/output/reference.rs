//! The reference of the commands' JSON and the schemas match the views; `EMPIRICA_BLESS=1` regenerates them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use git_empirica::cli::reference::{Document, common};
use git_empirica::cli::{Cli, DOCUMENTS};
use serde_json::Value;

use crate::format::schemas::{FORMS, holds};

/// Stands where a key has no doc comment.
const UNDOCUMENTED: &str = "(no doc comment)";

const INTRODUCTION: &str = "\
# JSON of the commands

This page is generated from the program, as are the JSON Schemas in [schema](schema): one a command, and
[that](schema/handoff-document.json) of the documents that `handoff --from` takes.

With `--json` a command prints exactly one document and a line feed on standard output, in success and in failure, usage errors
included. `setup --completions` and `export --jsonl` have no JSON; `-h` after a command and `--version` print text; `help` and a bare
`-h` have one key, `help`: the text.

Ids are whole; commits are full hex; times are RFC 3339 UTC. A key that can be empty is there all the same, as `null`, `[]` or `{}`,
unless it is called optional. Keys are only added.

A failure exits with 1 (not found, refused, invalid state), 2 (usage) or 128 (no repository, unusable storage). A record that was logged waits
in the log by design: `storage` is `log` and `degraded_mode` false, and the next command that writes notes writes it.

`token_count`, where a document has it, estimates the tokens that this very document takes.
";

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>()
        .replace(' ', "-")
}

/// The title of an object: the name of its type in words.
fn title(name: &str) -> String {
    let name = name.trim_end_matches("View");
    assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "two types are called {name}");
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(if out.is_empty() { c } else { c.to_ascii_lowercase() });
    }
    out
}

/// One line for a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// The definition that a schema refers to.
fn target<'a>(root: &'a Value, schema: &Value) -> Option<(&'a str, &'a Value)> {
    let name = schema["$ref"].as_str()?.trim_start_matches("#/$defs/");
    root["$defs"].as_object()?.get_key_value(name).map(|(name, schema)| (name.as_str(), schema))
}

/// The type of a value in words.
fn kind(root: &Value, schema: &Value) -> String {
    if let Some((name, _)) = target(root, schema) {
        return format!("[{}](#{})", title(name), anchor(&title(name)));
    }
    if let Some(choices) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let all: BTreeSet<(bool, String)> =
            choices.iter().map(|choice| kind(root, choice)).map(|kind| (kind == "null", kind)).collect();
        return all.into_iter().map(|(_, kind)| kind).collect::<Vec<_>>().join(" or ");
    }
    let names = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => Vec::from_iter(name.as_str()),
    };
    let one = |name: &str| match (name, &schema["items"], &schema["additionalProperties"]) {
        ("array", Value::Object(_), _) => format!("list of {}", kind(root, &schema["items"])),
        ("array", _, _) => {
            let items = schema["prefixItems"].as_array().into_iter().flatten();
            format!("list: {}", items.map(|item| kind(root, item)).collect::<Vec<_>>().join(", "))
        }
        ("object", _, inner @ Value::Object(_)) => format!("object of {}", kind(root, inner)),
        _ => name.to_owned(),
    };
    match names.as_slice() {
        [] if schema["const"].is_string() => "string".to_owned(),
        [] => "any".to_owned(),
        names => names.iter().map(|name| one(name)).collect::<Vec<_>>().join(" or "),
    }
}

/// The values of an enumeration, with their descriptions if any.
fn values(schema: &Value) -> String {
    let quoted = |value: &Value| value.as_str().map(|text| format!("`{text}`"));
    let described = |choice: &Value| match (choice["const"].as_str(), choice["description"].as_str()) {
        (Some(word), Some(text)) => vec![format!("`{word}`: {}", cell(text).trim_end_matches('.'))],
        (Some(word), None) => vec![format!("`{word}`")],
        _ => choice["enum"].as_array().into_iter().flatten().filter_map(quoted).collect(),
    };
    let all = ["oneOf", "anyOf"].into_iter().flat_map(|key| schema[key].as_array().into_iter().flatten());
    // an enumeration that can be null is one of two
    let nested = all.flat_map(|choice| match choice["oneOf"].as_array() {
        Some(inner) => inner.iter().flat_map(described).collect(),
        None => described(choice),
    });
    let listed = schema["enum"].as_array().into_iter().flatten().filter_map(quoted);
    let all: Vec<String> = nested.chain(listed).collect();
    if all.is_empty() {
        String::new()
    } else {
        format!(" {}.", all.join(if all.iter().any(|v| v.contains(": ")) { "; " } else { ", " }))
    }
}

fn table(root: &Value, schema: &Value, without: &Value) -> String {
    let mut out = String::new();
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (key, value) in properties.filter(|(key, _)| without["properties"].get(key).is_none()) {
        let about = value["description"].as_str().unwrap_or_default();
        let about = if about.is_empty() { UNDOCUMENTED } else { about };
        let kind = kind(root, value);
        let kind = match required.contains(key.as_str()) {
            true => kind,
            false => format!("{}, optional", kind.trim_end_matches(" or null")),
        };
        writeln!(out, "| `{key}` | {} | {}{} |", kind, cell(about), values(value)).expect("a line");
    }
    if out.is_empty() { out } else { format!("\n| key | type | |\n|---|---|---|\n{out}") }
}

/// The objects that a schema refers to, itself left out.
fn objects<'a>(root: &'a Value, schema: &Value, out: &mut BTreeMap<&'a str, &'a Value>) {
    if let Some((name, definition)) = target(root, schema)
        && out.insert(name, definition).is_none()
    {
        objects(root, definition, out);
    }
    match schema {
        Value::Object(map) => {
            map.iter().filter(|(key, _)| *key != "$defs").for_each(|(_, inner)| objects(root, inner, out))
        }
        Value::Array(list) => list.iter().for_each(|inner| objects(root, inner, out)),
        _ => {}
    }
}

fn section(level: &str, name: &str, root: &Value, schema: &Value, without: &Value) -> String {
    let about = schema["description"].as_str().map(|text| format!("\n{text}\n")).unwrap_or_default();
    format!("\n{level} {name}\n{about}{}", table(root, schema, without))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference")
}

/// A command in the names of its files.
fn stem(command: &str) -> String {
    command.replace("--", "").replace(' ', "-")
}

/// The file of a command.
fn file(command: &str) -> String {
    format!("{}.json", stem(command))
}

fn page() -> String {
    let (success, stored, failure) = common();
    let schemas: Vec<(&Document, Value)> = DOCUMENTS.iter().map(|document| (document, document.schema())).collect();
    let mut users: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut definitions: BTreeMap<&str, (&Value, &Value)> = BTreeMap::new();
    let of_all = [&success, &stored, &failure];
    let roots = schemas.iter().map(|(_, schema)| schema).chain(of_all);
    for (index, root) in roots.enumerate() {
        let mut own = BTreeMap::new();
        objects(root, root, &mut own);
        for (name, definition) in own {
            users.entry(name).or_default().insert(index.min(schemas.len()));
            let (_, known) = definitions.entry(name).or_insert((root, definition));
            assert_eq!(*known, definition, "two types are called {name}");
        }
    }
    let mut out = INTRODUCTION.to_owned();
    let nothing = Value::Null;
    out.push_str(&section("##", "Any success", &success, &success, &nothing));
    out.push_str(&section("##", "Any command that stores", &stored, &stored, &nothing));
    out.push_str(&section("##", "Any failure", &failure, &failure, &nothing));
    let object = |name: &str| {
        let (root, definition) = definitions[name];
        section("###", &title(name), root, definition, &nothing)
    };
    for (index, (document, schema)) in schemas.iter().enumerate() {
        let names: Vec<String> = document.commands.iter().map(|command| format!("`{command}`")).collect();
        let when = if document.when.is_empty() { String::new() } else { format!(", {}", document.when) };
        let mut without = success.clone();
        let stores = schema["properties"].get("degraded_mode").is_some();
        if stores {
            let all = stored["properties"].as_object().expect("keys").clone();
            without["properties"].as_object_mut().expect("keys").extend(all);
        }
        out.push_str(&section("##", &(names.join(", ") + &when), schema, schema, &without));
        if stores {
            out.push_str("\nAnd the keys of [any command that stores](#any-command-that-stores).\n");
        }
        for command in document.commands {
            let file = folder().join("example").join(file(command));
            let example = std::fs::read_to_string(file).unwrap_or_default();
            let fits = |line: &&str| serde_json::from_str(line).is_ok_and(|json| holds(schema, &json).is_ok());
            let example: Vec<&str> = example.lines().filter(fits).collect();
            if !example.is_empty() {
                writeln!(out, "\n```json\n{}\n```", example.join("\n")).expect("a line");
            }
        }
        let own = users.iter().filter(|(_, users)| users.iter().eq([&index]));
        own.for_each(|(name, _)| out.push_str(&object(name)));
    }
    out.push_str("\n## Shared objects\n");
    users
        .iter()
        .filter(|(_, users)| users.len() > 1 || users.contains(&schemas.len()))
        .for_each(|(name, _)| out.push_str(&object(name)));
    out
}

/// The schemas by the names of their files: what a command with several documents answers is one of them; and that of managed handoffs.
fn schemas() -> BTreeMap<String, String> {
    let mut all: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for document in DOCUMENTS {
        for command in document.commands {
            let mut schema = document.schema();
            schema["title"] = format!("git empirica {command} --json").into();
            all.entry(command).or_default().push(schema);
        }
    }
    let one = |mut schemas: Vec<Value>| match schemas.len() {
        1 => schemas.remove(0),
        _ => serde_json::json!({"anyOf": schemas}),
    };
    let text = |schema: Value| serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    let managed =
        ("handoff-document.json".to_owned(), text(git_empirica::use_cases::handoff::managed::payload::schema()));
    all.into_iter().map(|(command, schemas)| (file(command), text(one(schemas)))).chain([managed]).collect()
}

/// Asserts that a file equals its generated text.
fn current(path: &Path, text: &str) {
    if std::env::var_os("EMPIRICA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == text, "{} is not current: EMPIRICA_BLESS=1 cargo test --test runner reference", path.display());
}

#[test]
fn the_reference_matches_the_views() {
    let folder = folder();
    let page = page();
    current(&folder.join("json.md"), &page);
    let undocumented: Vec<&str> = page.lines().filter(|line| line.contains(UNDOCUMENTED)).collect();
    assert!(undocumented.is_empty(), "{undocumented:#?}");
    let schemas = schemas();
    schemas.iter().for_each(|(name, text)| current(&folder.join("schema").join(name), text));
    let there = std::fs::read_dir(folder.join("schema")).expect("a folder").count();
    assert_eq!(there, schemas.len(), "docs/reference/schema holds schemas that are gone");
}

#[test]
fn every_example_is_a_document_of_its_command() {
    let mut examples = 0;
    for entry in std::fs::read_dir(folder().join("example")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        let own: Vec<Value> = DOCUMENTS
            .iter()
            .filter(|document| document.commands.iter().any(|command| stem(command) == name))
            .map(Document::schema)
            .collect();
        for line in std::fs::read_to_string(&path).expect("a file").lines() {
            let json: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}"));
            let wrong: Vec<String> = own.iter().filter_map(|schema| holds(schema, &json).err()).collect();
            assert!(wrong.len() < own.len(), "{name}: {wrong:#?}");
            examples += 1;
        }
    }
    assert!(examples > 5, "examples were found");
}

/// The commands that take `--json`.
fn answering(command: &Command, path: &str, out: &mut BTreeSet<String>) {
    if command.get_arguments().any(|argument| argument.get_id() == "json") {
        out.insert(path.to_owned());
    }
    for sub in command.get_subcommands() {
        answering(sub, format!("{path} {}", sub.get_name()).trim(), out);
    }
}

#[test]
fn every_command_that_takes_json_has_a_document() {
    let mut all: BTreeSet<String> = FORMS.iter().map(|(.., form)| (*form).to_owned()).collect();
    // an option that answers like a command
    all.insert("--version".to_owned());
    let mut program = Cli::command();
    program.build();
    answering(&program, "", &mut all);
    let known: BTreeSet<String> =
        DOCUMENTS.iter().flat_map(|document| document.commands).map(|command| (*command).to_owned()).collect();
    assert_eq!(known.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new(), "no command is called so");
    assert_eq!(all.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "a command has no document");
}

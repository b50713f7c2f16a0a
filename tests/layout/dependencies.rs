//! Dependencies are those that `deny.toml` allows, as far as can be checked offline.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn file(name: &str) -> toml_edit::DocumentMut {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("a file");
    text.parse().expect("TOML")
}

/// The strings of a list, or those under a key of its tables.
fn strings(list: &toml_edit::Item, key: Option<&str>) -> BTreeSet<String> {
    let list = list.as_array().expect("a list").iter();
    let text = |value: &toml_edit::Value| match key {
        Some(key) => value.as_inline_table().expect("a table").get(key).expect("the key").as_str().map(str::to_owned),
        None => value.as_str().map(str::to_owned),
    };
    list.map(|value| text(value).expect("a string")).collect()
}

#[test]
fn banned_crates_are_absent_and_all_come_from_the_registry() {
    let banned = strings(&file("deny.toml")["bans"]["deny"], Some("crate"));
    assert!(banned.contains("git2") && banned.contains("openssl"), "{banned:?}");
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let lock = file(lock);
        let packages = lock["package"].as_array_of_tables().expect("packages");
        assert!(packages.len() > 100, "they were found");
        for package in packages {
            let name = package["name"].as_str().expect("a name");
            assert!(!banned.contains(name), "{name} is banned");
            let source = package.get("source").map(|source| source.as_str().expect("text"));
            let ours = name.starts_with("git-empirica") || name.starts_with("empirica-");
            let registry = source == Some("registry+https://github.com/rust-lang/crates.io-index");
            assert!(registry || (ours && source.is_none()), "{name} comes from {source:?}");
        }
    }
}

/// Whether the allowed licenses satisfy an expression.
fn is_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let tokens = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = tokens.split_whitespace().collect();
    let mut at = 0;
    let met = either(&tokens, &mut at, allowed);
    met && at == tokens.len()
}

fn either(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = both(tokens, at, allowed);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        met |= both(tokens, at, allowed);
    }
    met
}

fn both(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(tokens, at, allowed);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(tokens, at, allowed);
    }
    met
}

fn one(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let token = tokens.get(*at).copied().unwrap_or_default();
    *at += 1;
    if token == "(" {
        let met = either(tokens, at, allowed);
        *at += 1;
        return met;
    }
    // an exception only permits more
    if tokens.get(*at) == Some(&"WITH") {
        *at += 2;
    }
    allowed.contains(token)
}

#[test]
fn every_license_is_one_that_is_allowed() {
    let allowed = strings(&file("deny.toml")["licenses"]["allow"], None);
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0 OR MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Zlib", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("MIT MIT", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--all-features", "--format-version", "1", "--filter-platform"]);
    let output = cargo.args(["x86_64-unknown-linux-gnu", "--manifest-path", manifest]).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100, "they were found");
    for package in packages {
        // a package without a name of its license has its text
        let text = package["license"].as_str().unwrap_or_else(|| {
            let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
            let license = std::fs::read_to_string(manifest.with_file_name("LICENSE")).unwrap_or_default();
            if license.starts_with("MIT License\n") { "MIT" } else { "" }
        });
        assert!(is_met(text, &allowed), "{}: {text:?}", package["name"]);
    }
}

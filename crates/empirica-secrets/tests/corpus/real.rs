//! Strings of real repositories: the sources of the packages that the workspace depends on.
//!
//! Cargo has them wherever this test builds, in the versions and with the checksums of `Cargo.lock`. Strings are
//! selected by their hash, a bounded number of each kind from each package, so that the same lock selects the same
//! ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

/// The number of strings of a kind, and of those from one package.
const OF_A_KIND: usize = 4_000;
const OF_A_PACKAGE: usize = 60;
/// Larger files are generated tables or amalgamations.
const FILE_BYTES: u64 = 512 * 1024;

/// Strings by their hash.
type Strings = BTreeMap<u64, String>;

/// The strings, each with its kind; one of several kinds comes once.
pub fn strings() -> Vec<(&'static str, String)> {
    let mut kinds: BTreeMap<&str, Strings> = BTreeMap::new();
    for (name, root) in packages() {
        let mut files = Vec::new();
        super::below(&root, &mut files);
        let mut found: BTreeMap<&str, Strings> = BTreeMap::new();
        for file in files {
            let path = file.strip_prefix(&root).expect("inside").to_string_lossy().replace('\\', "/");
            add(found.entry("paths").or_default(), &format!("{name}/{path}"), OF_A_PACKAGE);
            let is_license = ["LICEN", "license", "COPYING"].iter().any(|part| path.contains(part));
            let is_small = fs::metadata(&file).is_ok_and(|data| data.len() <= FILE_BYTES);
            let Some(text) = fs::read_to_string(&file).ok().filter(|_| is_small && !is_license) else { continue };
            let of_file = kind_of_file(&path);
            let is_log_of_changes = of_file == "prose" && path.to_ascii_lowercase().contains("change");
            let is_paragraphs = of_file == "prose" && !is_log_of_changes;
            for string in parts(&text, is_paragraphs) {
                let kind = match kind_of_content(string) {
                    Some(kind) => kind,
                    None if is_log_of_changes => "changes",
                    None => of_file,
                };
                add(found.entry(kind).or_default(), string, OF_A_PACKAGE);
            }
        }
        for (kind, strings) in found {
            let all = kinds.entry(kind).or_default();
            strings.values().for_each(|string| add(all, string, OF_A_KIND));
        }
    }
    let of_kind = |(kind, strings): (_, Strings)| strings.into_iter().map(move |(hash, string)| (hash, (kind, string)));
    kinds.into_iter().flat_map(of_kind).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The folders of the dependencies by name, of all versions of each.
fn packages() -> Vec<(String, PathBuf)> {
    let cargo = |args: &[&str]| {
        let out = Command::new(env!("CARGO")).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        let out = out.expect("cargo");
        assert!(out.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    let version = cargo(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("the host");
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", host]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter().filter(|one| !one["source"].is_null());
    let folder = |one: &serde_json::Value| {
        let manifest = Path::new(one["manifest_path"].as_str().expect("a path"));
        (one["name"].as_str().expect("a name").to_owned(), manifest.parent().expect("a folder").to_owned())
    };
    packages.map(folder).collect()
}

/// Adds a string of ordinary length; keeps the `limit` ones with the smallest hashes.
fn add(strings: &mut Strings, string: &str, limit: usize) {
    let string = string.trim();
    if !(8..=1_000).contains(&string.len()) {
        return;
    }
    // FNV-1a
    let hash = string
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let is_full = strings.len() >= limit;
    if is_full && strings.last_key_value().is_some_and(|(last, _)| hash >= *last) || strings.contains_key(&hash) {
        return;
    }
    if is_full {
        strings.pop_last();
    }
    strings.insert(hash, string.to_owned());
}

/// The paragraphs or the lines of a text.
fn parts(text: &str, is_paragraphs: bool) -> Vec<&str> {
    if is_paragraphs { text.split("\n\n").collect() } else { text.split('\n').collect() }
}

fn kind_of_file(path: &str) -> &'static str {
    let is_test = path.contains("test") || path.contains("fixture");
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "rs" if is_test => "tests",
        "rs" => "code",
        "md" | "rst" => "prose",
        "c" | "h" | "cc" | "cpp" | "hxx" | "py" | "js" | "sh" | "pl" | "S" | "css" | "cmake" => "code, not Rust",
        "toml" | "orig" | "yml" | "yaml" | "json" | "lock" => "configuration",
        _ if path.contains("README") => "prose",
        _ => "data",
    }
}

/// The kind of a string by its first distinctive part: a time of day, a hash, a word that often stands beside a secret.
fn kind_of_content(string: &str) -> Option<&'static str> {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        let words = "passw|passphrase|secret|token|api_?key|credential|authorization|bearer";
        let pattern = format!("(?i-u)[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}|[0-9a-f]{{32}}|{words}");
        Regex::new(&pattern).expect("a pattern")
    });
    let part = PARTS.find(string)?.as_str();
    Some(match part.len() {
        8 if part.contains(':') => "times",
        32 => "hashes",
        _ => "words of secrets",
    })
}

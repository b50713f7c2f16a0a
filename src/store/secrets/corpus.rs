//! The corpus: what the rules find of secrets of every kind, and what they take for one that is none.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::draw::Draw;
use super::{kinds, ordinary, redact_text};

/// How many samples of each kind.
const SAMPLES: usize = 16;
/// How many lines are made that hold no secret.
const LINES: usize = 36_000;

/// Every sample: its group, its kind, the text, and the secret in it.
pub fn samples(seed: u64) -> Vec<(&'static str, &'static str, String, String)> {
    let mut draw = Draw(seed);
    let mut out = Vec::new();
    let tokens = kinds::TOKENS.iter().chain(kinds::MORE_TOKENS).map(|kind| ("token", kind));
    let named = kinds::NAMED.iter().map(|kind| ("named", kind));
    for (group, (kind, template)) in tokens.chain(named) {
        for at in 0..SAMPLES {
            let (text, secret) = draw.fill(template);
            out.push((group, *kind, around(at, &text), secret));
        }
    }
    for kind in kinds::KEYS {
        for at in 0..SAMPLES {
            let (kind_of, end) = if kind == "PGP @" { ("PGP ", " BLOCK") } else { (kind, "") };
            let edge = |edge: &str| format!("-----{edge} {kind_of}{}{end}-----", "PRIVATE KEY");
            let lines: Vec<String> = (0..6).map(|_| draw.kind(b'b', 64)).collect();
            let glue = if at % 2 == 0 { "\n" } else { "\\n" };
            let text = [&[edge("BEGIN")], &lines[..], &[edge("END")]].concat().join(glue);
            out.push(("key", if kind.is_empty() { "PKCS8 " } else { kind }, around(at, &text), lines[4].clone()));
        }
    }
    out
}

fn around(at: usize, text: &str) -> String {
    let around = kinds::AROUND[at % kinds::AROUND.len()];
    let text = if around.starts_with('{') { text.replace('"', "\\\"").replace('\n', "\\n") } else { text.to_owned() };
    around.replace('@', &text)
}

/// Every line without a secret: made ones, and the prose and code of this repository.
pub fn ordinary(root: &Path) -> Vec<String> {
    let mut draw = Draw(7);
    let mut out: Vec<String> = (0..LINES).map(|at| ordinary::line(&mut draw, at)).collect();
    let mut files = Vec::new();
    for folder in ["docs", "src/model", "src/git", "man"] {
        below(&root.join(folder), &mut files);
    }
    files.extend(
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Cargo.lock", "Cargo.toml"].map(|name| root.join(name)),
    );
    // what speaks of secrets by example
    files.retain(|path| !path.to_string_lossy().contains("secrets"));
    files.sort();
    let texts = files.iter().filter_map(|path| fs::read_to_string(path).ok());
    out.extend(texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()));
    out
}

fn below(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() { below(&path, out) } else { out.push(path) }
    }
}

/// Whether the text as it would be stored does not have the secret: neither whole nor its later half.
pub fn is_gone(clean: &str, secret: &str) -> bool {
    !clean.contains(secret) && !clean.contains(&secret[secret.len() / 2..])
}

#[test]
fn nineteen_of_twenty_secrets_are_found() {
    let mut missed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let samples = samples(1);
    for (_, kind, text, secret) in &samples {
        if !redact_text(text).is_some_and(|(clean, _)| is_gone(&clean, secret)) {
            missed.entry(kind).or_default().push(text.clone());
        }
    }
    let count: usize = missed.values().map(Vec::len).sum();
    assert!(samples.len() > 2500 && count * 20 <= samples.len(), "{count} of {}: {missed:#?}", samples.len());
    // there are few kinds that are missed in most places
    let whole: Vec<_> = missed.iter().filter(|(_, texts)| texts.len() * 2 > SAMPLES).map(|(kind, _)| kind).collect();
    assert!(whole.len() <= 2, "{whole:?}");
}

#[test]
fn one_false_alarm_in_ten_thousand_lines_at_most() {
    let lines = ordinary(Path::new(env!("CARGO_MANIFEST_DIR")));
    let alarms: Vec<_> = lines.iter().filter_map(|line| redact_text(line)).collect();
    assert!(
        lines.len() > 45_000 && alarms.len() * 10_000 <= lines.len(),
        "{} of {}: {alarms:#?}",
        alarms.len(),
        lines.len()
    );
}

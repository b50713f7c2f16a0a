//! How well `search` finds, as numbers: recall among the first five and ten and the mean reciprocal rank, beside FTS5 as it is and with
//! Porter stems and without stop words, over the same texts. With a model in `EMPIRICA_RETRIEVAL_MODEL`, and in `EMPIRICA_RETRIEVAL_URL`
//! its endpoint, also by meaning, alone and with the words.
//!
//! Three sets. Paraphrases, which are part of this repository: records, each with a query that shares no word with it. Commit citations out of a real history, the bare repository in `EMPIRICA_RETRIEVAL_HISTORY`: its last 8,000 messages are
//! decisions (the subject, and the rest as the reason); a sentence of a message that cites another one of these commits is a query,
//! the cited commit the truth. Dialogue turns, the JSON files in the folder `EMPIRICA_RETRIEVAL_DIALOGUES`: each turn is a finding, the
//! description of a picture that was shown with a turn is a query, the turn the truth. docs/performance.md names both.
#![allow(clippy::disallowed_methods, missing_docs)]

#[path = "common.rs"]
#[allow(dead_code)]
mod common;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use common::{Bench, run, say};
use empirica_embed::file::VectorFile;
use regex::Regex;
use rusqlite::Connection;
use serde_json::{Value, json};

const MESSAGES: usize = 8000;
/// The texts that count as found.
const FIRST: usize = 10;
/// The goal beside the better baseline.
const GOAL: f64 = 1.05;

/// Reads a set from a place.
type Read = fn(&Bench, &Path) -> Set;

/// Texts of one or two parts, and queries: words, the text to find, and one that does not count.
#[derive(Default)]
struct Set {
    texts: Vec<[String; 2]>,
    queries: Vec<(String, usize, Option<usize>)>,
}

fn main() {
    let mut bench = Bench::new();
    let sets: [(&str, &str, Read); 3] = [
        ("paraphrases", "", paraphrases),
        ("commit citations", "EMPIRICA_RETRIEVAL_HISTORY", citations),
        ("dialogue turns", "EMPIRICA_RETRIEVAL_DIALOGUES", dialogues),
    ];
    for (name, variable, read) in sets {
        let here = variable.is_empty().then(|| env!("CARGO_MANIFEST_DIR").into());
        let Some(from) = here.or_else(|| std::env::var_os(variable)) else {
            say(&format!("{name}: {variable} is not set"));
            continue;
        };
        let set = read(&bench, Path::new(&from));
        say(&format!("\n{name}: {} texts, {} queries\n", set.texts.len(), set.queries.len()));
        say("| | recall@5 | recall@10 | MRR |\n|---|---|---|---|");
        let plain = measured("FTS5 as it is", &set, fts5(&set, "unicode61", false));
        let porter = measured("FTS5, Porter stems, no stop words", &set, fts5(&set, "porter unicode61", true));
        let repo = stored(&bench, &set);
        let ours = measured("`search`", &set, ours(&bench, &repo, &[]));
        if embedded(&bench, &repo) {
            measured("`search --semantic`", &set, self::ours(&bench, &repo, &["--semantic"]));
            measured("`search`, with a model", &set, self::ours(&bench, &repo, &[]));
        }
        if plain[0] + porter[0] < 0.1 {
            continue; // the words are not there
        }
        let better = |of: fn(&[f64; 2]) -> f64| of(&plain).max(of(&porter));
        let [recall, rank] = [ours[0] / better(|one| one[0]), ours[1] / better(|one| one[1])];
        say(&format!("\nbeside the better baseline: recall {recall:.3}, MRR {rank:.3}"));
        bench.failed |= recall < GOAL || rank <= 1.0;
    }
    nearest(&mut bench);
    bench.end();
}

/// How long the nearest of many vectors take, in process, from a file that was read before.
fn nearest(bench: &mut Bench) {
    const ROWS: u32 = 100_000;
    let file = VectorFile::at(&bench.dir.path().join("vectors"));
    let vector = |seed: u32| -> Vec<f32> {
        let number = |at: u32| seed.wrapping_mul(2_654_435_761).wrapping_add(at.wrapping_mul(40_503)) >> 8;
        (0..256).map(|at| number(at).wrapping_mul(2_246_822_519) as f32 / u32::MAX as f32 - 0.5).collect()
    };
    for first in (0..ROWS).step_by(1000) {
        let key = |n: u32| std::array::from_fn(|at| if at < 4 { n.to_le_bytes()[at] } else { 0 });
        let rows: Vec<_> = (first..first + 1000).map(|n| (key(n), vector(n))).collect();
        file.append(&rows).expect("written");
    }
    let mut times: Vec<f64> = (0..40)
        .map(|n| {
            let begun = Instant::now();
            assert_eq!(file.nearest(&vector(n * 99), 10, |_| true).expect("a file").nearest.len(), 10);
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    say(&format!(
        "\nthe nearest of {ROWS} vectors of 256 numbers: {:.1} ms (median of {}), at most 30",
        times[20],
        times.len()
    ));
    bench.failed |= times[20] > 30.0;
}

/// Recall and mean reciprocal rank of a search, which gives the best texts first.
fn measured(name: &str, set: &Set, mut search: impl FnMut(&str) -> Vec<usize>) -> [f64; 2] {
    let (mut first, mut found, mut ranks) = (0.0, 0.0, 0.0);
    for (query, truth, beside) in &set.queries {
        let hits = search(query).into_iter().filter(|hit| Some(*hit) != *beside).take(FIRST);
        if let Some(at) = hits.into_iter().position(|hit| hit == *truth) {
            found += 1.0;
            first += f64::from(u8::from(at < 5));
            ranks += 1.0 / (at + 1) as f64;
        }
    }
    let all = set.queries.len().max(1) as f64;
    say(&format!("| {name} | {:.3} | {:.3} | {:.3} |", first / all, found / all, ranks / all));
    [found / all, ranks / all]
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect()
}

/// FTS5 alone: any of the words.
fn fts5(set: &Set, tokenizer: &str, without_stop_words: bool) -> impl FnMut(&str) -> Vec<usize> {
    let db = Connection::open_in_memory().expect("a database");
    db.execute_batch(&format!("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='{tokenizer}')")).expect("a table");
    for (at, parts) in set.texts.iter().enumerate() {
        db.execute("INSERT INTO t(rowid, x) VALUES(?, ?)", (at as i64, words(&parts.concat()).join(" ")))
            .expect("a row");
    }
    move |query| {
        let all = words(query);
        let mut wanted: Vec<&String> = all.iter().collect();
        if without_stop_words && all.iter().any(|word| !git_empirica::text::stem::is_stop(word)) {
            wanted.retain(|word| !git_empirica::text::stem::is_stop(word));
        }
        let wanted: Vec<String> = wanted.into_iter().map(|word| format!("\"{word}\"")).collect();
        let sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 11";
        let mut select = db.prepare_cached(sql).expect("a query");
        let rows = select.query_map([wanted.join(" OR ")], |row| row.get::<_, i64>(0));
        let hits = rows.map(|rows| rows.filter_map(Result::ok).map(|row| row as usize).collect());
        hits.unwrap_or_default()
    }
}

fn id(at: usize) -> String {
    format!("019ca945-0000-7000-8000-{at:012x}")
}

/// Computes the vectors of a repository; false without a model.
fn embedded(bench: &Bench, repo: &Path) -> bool {
    let Ok(model) = std::env::var("EMPIRICA_RETRIEVAL_MODEL") else {
        say("by meaning: EMPIRICA_RETRIEVAL_MODEL is not set");
        return false;
    };
    run(bench.git(repo, &["config", "empirica.embed.model", &model]));
    if let Ok(url) = std::env::var("EMPIRICA_RETRIEVAL_URL") {
        run(bench.git(repo, &["config", "empirica.embed.url", &url]));
    }
    run(bench.ours(repo, &["embed"]));
    true
}

/// A repository with these texts.
fn stored(bench: &Bench, set: &Set) -> PathBuf {
    let repo = bench.dir.path().join(format!("texts-{}", set.texts.len()));
    std::fs::create_dir_all(&repo).expect("a folder");
    run(bench.git(&repo, &["init", "-q", "-b", "main"]));
    bench.configure(&repo);
    run(bench.git(&repo, &["commit", "-q", "--allow-empty", "-m", "work"]));
    let mut import = bench.ours(&repo, &["import", "--jsonl", "-"]);
    let mut child = import.stdin(Stdio::piped()).spawn().expect("the program");
    let mut stream = std::io::BufWriter::new(child.stdin.take().expect("a pipe"));
    for (at, [text, more]) in set.texts.iter().enumerate() {
        let commit = format!("{:040x}", (at as u128 + 1) * 0x9e37_79b9_7f4a_7c15_f39c);
        let body = match more.is_empty() {
            true => json!({"kind": "finding", "text": text}),
            false => json!({"kind": "decision", "text": text, "why": more}),
        };
        let mut record = json!({"v": 1, "id": id(at), "kind": body["kind"], "session": null, "ai": "bench", "at": "2026-01-01T00:00:00.000Z",
            "commit": commit, "tree": null});
        record.as_object_mut().expect("an object").extend(body.as_object().expect("an object").clone());
        writeln!(stream, "{}", json!({"commit": commit, "shelf": "journal", "record": record})).expect("a line");
    }
    drop(stream);
    assert!(child.wait().expect("the program").success());
    repo
}

/// `git empirica search` with these options.
fn ours<'b>(bench: &'b Bench, repo: &'b Path, options: &'b [&'b str]) -> impl FnMut(&str) -> Vec<usize> + 'b {
    move |query| {
        // its syntax is none of the sentence's
        let words = query.split(|c: char| c.is_whitespace() || "\"*:".contains(c));
        let words: Vec<&str> = words.map(|word| word.trim_start_matches('-')).filter(|word| !word.is_empty()).collect();
        let words: String = words.join(" ").chars().take(3900).collect();
        let mut search = bench.ours(repo, &["search", "--json", "--limit", "11"]);
        let search = search.args(options).args(["--", &words]);
        let output = search.stdout(Stdio::piped()).output().expect("the program");
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let hits = answer["hits"].as_array().cloned().unwrap_or_default();
        let number = |id: &str| usize::from_str_radix(id.rsplit('-').next()?, 16).ok();
        hits.iter().filter_map(|hit| number(hit["id"].as_str()?)).collect()
    }
}

/// Records, and queries in other words.
fn paraphrases(_: &Bench, root: &Path) -> Set {
    let pairs = std::fs::read(root.join("tests/fixtures/paraphrases/pairs.json")).expect("the pairs");
    let pairs: Vec<Value> = serde_json::from_slice(&pairs).expect("JSON");
    let mut set = Set::default();
    for pair in pairs {
        let text = |key: &str| pair[key].as_str().unwrap_or_default().to_owned();
        set.queries.push((text("query"), set.texts.len(), None));
        set.texts.push([text("text"), text("why")]);
    }
    set
}

/// Sentences that cite a commit among the last messages of a history.
fn citations(bench: &Bench, history: &Path) -> Set {
    let number = MESSAGES.to_string();
    let mut log = bench.git(history, &["log", "--no-merges", "-n", &number, "--format=%H%x00%B%x00%x00"]);
    let output = log.stdout(Stdio::piped()).output().expect("git log").stdout;
    let output = String::from_utf8_lossy(&output);
    let trailer = Regex::new(r"^[A-Z][A-Za-z-]+: ").expect("a pattern");
    let cites = Regex::new(r"\b([0-9a-f]{7,40}) \((?:[^()]|\([^()]*\))*, \d{4}-\d\d-\d\d\)").expect("a pattern");
    let (mut set, mut ids) = (Set::default(), BTreeMap::new());
    for entry in output.split("\0\0").filter_map(|entry| entry.trim_matches('\n').split_once('\0')) {
        let lines: Vec<&str> = entry.1.lines().filter(|line| !trailer.is_match(line)).collect();
        let text = lines.join("\n");
        let (subject, body) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        ids.insert(entry.0.to_owned(), set.texts.len());
        set.texts.push([subject.to_owned(), body.trim().to_owned()]);
    }
    for (at, parts) in set.texts.iter().enumerate() {
        let text = parts.join("\n").split_whitespace().collect::<Vec<_>>().join(" ");
        for sentence in sentences(&text) {
            let found: Vec<_> = cites.captures_iter(sentence).collect();
            let [cited] = found.as_slice() else { continue };
            let hash = &cited[1];
            let near = ids.range(hash.to_owned()..).next().filter(|(id, _)| id.starts_with(hash)).map(|(_, at)| *at);
            let query = cites.replace_all(sentence, " ").split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some(truth) = near.filter(|truth| *truth != at && query.split(' ').count() >= 4) {
                set.queries.push((query, truth, Some(at)));
            }
        }
    }
    set
}

/// A text cut behind each sentence, before a capital letter.
fn sentences(text: &str) -> Vec<&str> {
    let (mut out, mut begin) = (Vec::new(), 0);
    let bytes = text.as_bytes();
    for at in 1..bytes.len().saturating_sub(1) {
        if bytes[at] == b' ' && b".!?".contains(&bytes[at - 1]) && bytes[at + 1].is_ascii_uppercase() {
            out.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    out.push(&text[begin..]);
    out
}

/// The turns of dialogues, and the pictures that were shown with them.
fn dialogues(_: &Bench, folder: &Path) -> Set {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    let mut set = Set::default();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "json")) {
        let dialogue: Value = serde_json::from_slice(&std::fs::read(file).expect("a file")).expect("JSON");
        for number in 1.. {
            let Some(turns) = dialogue[format!("session_{number}")].as_array() else { break };
            for turn in turns {
                if let Some(query) = turn["query"].as_str().filter(|query| !query.trim().is_empty()) {
                    set.queries.push((query.to_owned(), set.texts.len(), None));
                }
                set.texts.push([turn["text"].as_str().unwrap_or_default().to_owned(), String::new()]);
            }
        }
    }
    set
}

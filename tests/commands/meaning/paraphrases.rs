//! How well records are found by other words: pairs of a query and the record that it means, which share no word. The vectors are those
//! of a real model, all-MiniLM-L6-v2 (384 numbers, int8), as recorded beside the pairs: those of the queries, then those of the texts.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::meaning::{inputs, set_up};
use crate::mcp::server::Client;
use crate::support::harness::Sandbox;
use crate::support::http::{Reply, Server};

/// The numbers of a vector.
const LENGTH: usize = 384;
/// The places that count.
const FIRST: usize = 5;

fn pairs() -> (Vec<Value>, HashMap<String, Vec<i8>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/paraphrases");
    let pairs: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("pairs.json")).expect("the pairs")).expect("JSON");
    let bytes = std::fs::read(folder.join("vectors.bin")).expect("the vectors");
    assert_eq!(bytes.len(), 2 * pairs.len() * LENGTH);
    let texts = pairs.iter().map(|pair| text(pair, "query")).chain(pairs.iter().map(whole));
    let vectors = bytes.chunks(LENGTH).map(|bytes| bytes.iter().map(|byte| byte.cast_signed()).collect());
    let vectors = texts.zip(vectors).collect();
    (pairs, vectors)
}

fn text(pair: &Value, key: &str) -> String {
    pair[key].as_str().unwrap_or_default().to_owned()
}

/// What a record says.
fn whole(pair: &Value) -> String {
    match text(pair, "why") {
        why if why.is_empty() => text(pair, "text"),
        why => format!("{}\n{why}", text(pair, "text")),
    }
}

/// The share of the queries whose record is among the first.
fn recall(client: &mut Client, pairs: &[Value]) -> f64 {
    let is_found = |pair: &&Value| {
        let found = client.ok("search_history", json!({"query": pair["query"], "limit": FIRST}));
        found["hits"].as_array().expect("a list").iter().any(|hit| hit["text"] == pair["text"])
    };
    let found = pairs.iter().filter(is_found).count();
    found as f64 / pairs.len() as f64
}

#[test]
fn a_model_finds_most_of_what_words_do_not() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (pairs, vectors) = pairs();
    assert!(pairs.len() >= 100);
    repo.start("ada", "t");
    let lines: Vec<String> = pairs
        .iter()
        .enumerate()
        .map(|(at, pair)| {
            let kind = text(pair, "kind");
            let main = if kind == "dead_end" { "approach" } else { "text" };
            let mut record = json!({
                "v": 1, "id": format!("019ca945-0000-7000-8000-{at:012x}"), "kind": kind, "session": null, "ai": "ada",
                "at": "2026-01-01T00:00:00.000Z", "commit": repo.head(), "tree": null, main: pair["text"],
            });
            if pair["why"].is_string() {
                record["why"] = pair["why"].clone();
            }
            json!({"commit": repo.head(), "shelf": "journal", "record": record}).to_string()
        })
        .collect();
    repo.run_with_input(["import", "--jsonl", "-"], lines.join("\n").as_bytes()).ok();
    let mut client = Client::new(&repo, &[]);
    let before = recall(&mut client, &pairs);
    assert!(before < 0.05, "the pairs share no word: {before}");
    let server = Server::new(move |asked| {
        let known: Option<Vec<&Vec<i8>>> = inputs(asked).iter().map(|text| vectors.get(text)).collect();
        match known {
            Some(known) => {
                let data: Vec<Value> = known.iter().map(|vector| json!({ "embedding": vector })).collect();
                Reply::json(200, &json!({ "data": data }))
            }
            None => Reply::json(400, &json!({"error": {"message": "the text is none of the pairs"}})),
        }
    });
    set_up(&repo, &server);
    let after = recall(&mut client, &pairs);
    assert!(after > 0.7, "recall among the first {FIRST}: {before} before, {after} after");
}

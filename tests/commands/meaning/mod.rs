//! Search by meaning: endpoints, models in folders, what is found, what leaves the machine.

pub mod endpoint;
pub mod found;
pub mod kept;
pub mod paraphrases;
pub mod team;

use serde_json::{Value, json};

use crate::support::harness::Repo;
use crate::support::http::{Reply, Request, Server};

/// Words of one meaning, a number of the vectors each. A model of the tests knows these and no others.
const MEANINGS: [&[&str]; 8] = [
    &["database", "db", "postgres", "store"],
    &["choice", "choose", "used", "which", "decided"],
    &["login", "sign-in", "auth", "credentials"],
    &["slow", "latency", "timeout", "hangs"],
    &["test", "tests", "spec", "suite"],
    &["chart", "graph", "plot", "axis"],
    &["cache", "memoize", "redis"],
    &["money", "price", "invoice"],
];

/// The vector of a text: how often each meaning occurs, and a little of everything, as models have it.
pub fn vector(text: &str) -> Vec<f32> {
    let words: Vec<String> = text.split(|c: char| !(c.is_alphanumeric() || c == '-')).map(str::to_lowercase).collect();
    let count = |meaning: &&[&str]| words.iter().filter(|word| meaning.contains(&word.as_str())).count() as f32;
    MEANINGS.iter().map(|meaning| count(meaning) + 0.05).collect()
}

/// The texts of a request for vectors.
pub fn inputs(asked: &Request) -> Vec<String> {
    asked.body["input"].as_array().expect("a list").iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// The answer of the API to texts.
pub fn embedded(texts: &[String]) -> Value {
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": vector(text)}))
        .collect();
    json!({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 8, "total_tokens": 8}})
}

/// An endpoint whose answers are those of the model, unless `first` has one.
pub fn endpoint(first: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) -> Server {
    Server::new(move |asked| match first(asked) {
        Some(reply) => reply,
        None if asked.path == "/v1/embeddings" && asked.method == "POST" => Reply::json(200, &embedded(&inputs(asked))),
        None => Reply::json(404, &json!({"error": {"message": "no such path", "type": "invalid_request_error"}})),
    })
}

/// Configures an endpoint.
pub fn configure(repo: &Repo<'_>, server: &Server) {
    repo.git(["config", "empirica.embed.url", &format!("{}/v1", server.url())]).ok();
    repo.git(["config", "empirica.embed.model", "m"]).ok();
}

/// Configures an endpoint and computes the vectors.
pub fn set_up(repo: &Repo<'_>, server: &Server) {
    configure(repo, server);
    repo.run(["embed"]).ok();
    server.take();
}

/// Journals of two agents.
pub fn history(repo: &Repo<'_>) {
    repo.start("ada", "Make sign-in fast");
    repo.json(["unknown", "Which DB is used?"]);
    repo.json(["finding", "Credentials are checked twice, so the timeout is hit"]);
    repo.json(["deadend", "Memoize tokens in Redis", "--why", "they are revoked too late"]);
    repo.json(["decision", "Keep the suite serial", "--why", "it shares one clock"]);
    repo.hand_over("Make sign-in fast");
    repo.json(["session", "end"]);
    repo.start("codex", "Draw the invoice");
    repo.json(["finding", "The axis of the plot begins at zero"]);
    repo.json(["mistake", "Rounded the price", "--prevention", "count cents"]);
}

/// The main texts of what a query finds, best first.
#[track_caller]
pub fn texts(repo: &Repo<'_>, arguments: &[&str]) -> Vec<String> {
    let json = repo.json([&["search"], arguments].concat());
    let hits = json["hits"].as_array().expect("a list");
    hits.iter().map(|hit| hit["text"].as_str().expect("a text").to_owned()).collect()
}

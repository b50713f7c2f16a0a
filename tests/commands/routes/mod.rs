//! Chains of tasks: rules that name receivers, what waits for an agent, who takes it up, and how long that takes.

pub mod chains;
pub mod claims;
pub mod endings;
pub mod rules;

use serde_json::Value;

use crate::support::harness::Repo;

/// Lead, then tester, then validator; failed checks go back at most twice.
pub const CHAIN: &str = "agents = [\"lead\", \"tester\", \"validator\"]

[[route]]
name = \"test\"
from = \"lead\"
to = \"tester\"

[[route]]
name = \"back\"
from = \"tester\"
failed_evidence = true
to = \"lead\"
rounds = 2

[[route]]
name = \"validate\"
from = \"tester\"
to = \"validator\"
";

/// Writes the rules into the work tree.
pub fn rules(repo: &Repo<'_>, text: &str) {
    repo.write(".empirica/routes.toml", text);
}

/// Runs a command as an agent with a session of its own.
#[track_caller]
pub fn by(repo: &Repo<'_>, ai: &str, arguments: &[&str]) -> Value {
    repo.json_with_env(&[("EMPIRICA_AI", ai)], arguments)
}

/// Begins a session of an agent, and returns its id.
#[track_caller]
pub fn begin(repo: &Repo<'_>, ai: &str) -> String {
    let json = by(repo, ai, &["session", "start"]);
    json["session_id"].as_str().expect("an id").to_owned()
}

/// The ids of a list of an inbox.
pub fn ids(inbox: &Value, list: &str) -> Vec<String> {
    let all = inbox[list].as_array().expect("a list").iter();
    all.map(|handed| handed["handoff_id"].as_str().expect("an id").to_owned()).collect()
}

pub fn id(json: &Value) -> String {
    json["handoff_id"].as_str().expect("an id").to_owned()
}

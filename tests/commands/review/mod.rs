//! `handoff --pr`: what agents recorded for a range of commits.

pub mod hosts;
pub mod range;
pub mod rules;
pub mod text;

use crate::support::harness::{Repo, Sandbox};

/// The text for a pull request.
#[track_caller]
fn text(repo: &Repo<'_>, range: &str) -> String {
    repo.run(["handoff", "--pr", range]).ok().out
}

/// The part of a text that is not folded.
fn unfolded(text: &str) -> String {
    let mut is_folded = false;
    let mut out = String::new();
    for line in text.lines() {
        is_folded &= line != "</details>";
        if !is_folded {
            out.push_str(&format!("{line}\n"));
        }
        is_folded |= line.starts_with("<details>");
    }
    out
}

/// A repository whose `main` has a claim about `src/a.rs`, and a branch `topic` with two commits of two agents. Returns the commit of
/// `main`.
fn two_agents(repo: &Repo<'_>) -> String {
    repo.commit("src/a.rs", "fn queue() {\n    list();\n}\n", "Add a queue");
    repo.start("ada", "Look");
    repo.json(["decision", "Keep the queue a list", "--why", "it is simple", "--at", "src/a.rs:2"]);
    repo.json(["session", "end"]);
    let base = repo.commit("src/b.rs", "fn other() {}\n", "Add another file");
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    let ada = repo.start("ada", "Make the queue a ring");
    let of_ada = |arguments: &[&str]| {
        let session = ["--session", ada.as_str()];
        repo.json(arguments.iter().copied().chain(session))
    };
    of_ada(&["decision", "Use a ring", "--why", "bounded memory", "--alternative", "a linked list"]);
    of_ada(&["deadend", "mmap of the file", "--why", "it fails on NFS"]);
    of_ada(&["unknown", "Does it hold on ARM?", "--blocking"]);
    of_ada(&["unknown", "How large can it grow?"]);
    of_ada(&["evidence", "cargo test", "--exit", "1"]);
    of_ada(&["evidence", "cargo clippy", "--exit", "0", "--file", "src"]);
    repo.commit("src/a.rs", "fn queue() {\n    ring();\n}\n", "Use a ring");
    of_ada(&["evidence", "cargo test", "--exit", "0", "--file", "src/b.rs"]);
    of_ada(&["handoff", "--accomplished", "The queue is a ring", "--next", "Measure it"]);
    of_ada(&["session", "end"]);
    let bo = repo.start("bo", "Bound the ring");
    repo.json(["finding", "ring() wraps at 1024", "--at", "src/a.rs:2", "--session", &bo]);
    repo.json(["evidence", "cargo bench", "--exit", "101", "--session", &bo]);
    repo.commit("src/a.rs", "fn queue() {\n    ring(512);\n}\n", "Bound the ring");
    repo.json(["session", "end", "--session", &bo]);
    base
}

/// The two agents' branch in a new repository.
fn branch(sandbox: &Sandbox) -> Repo<'_> {
    let repo = sandbox.set_up("r");
    two_agents(&repo);
    repo
}

/// A text with `ID` in place of short ids and commits.
fn without_ids(text: &str) -> String {
    regex(text, r"\b[0-9a-f]{8}\b")
}

fn regex(text: &str, pattern: &str) -> String {
    regex::Regex::new(pattern).expect("a pattern").replace_all(text, "ID").into_owned()
}

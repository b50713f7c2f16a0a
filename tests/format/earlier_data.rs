//! Data of the previous release is read, shown and merged unchanged. The fixture is described beside it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::REFS;

const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/release-0.1.0.bundle");

/// A place whose clock is after all that was recorded.
fn place() -> Sandbox {
    let mut place = Sandbox::new();
    place.now = "2026-12-02T12:00:00.000Z".into();
    place
}

/// A repository with the refs that the bundle has below `refs/<name>/`.
fn restored<'p>(place: &'p Sandbox, name: &str) -> Repo<'p> {
    let repo = place.init(name);
    let refs = format!("refs/{name}/*:refs/*");
    repo.git(["fetch", "-q", "--update-head-ok", BUNDLE, &refs]).ok();
    repo.git(["reset", "-q", "--hard"]).ok();
    repo.git(["remote", "add", "origin", "../shared"]).ok();
    repo
}

/// The answers that were recorded, by the file they are in.
fn answers(repo: &Repo<'_>) -> BTreeMap<String, String> {
    let run = |arguments: &[&str]| repo.run(arguments).ok().out;
    let log = run(&["log", "--handoffs", "--json"]);
    let all: Value = serde_json::from_str(&log).expect("a document");
    let handoffs = all["commits"].as_array().expect("a list").iter().flat_map(|commit| commit["handoffs"].as_array());
    let ids = handoffs.flatten().map(|handoff| handoff["handoff_id"].as_str().expect("an id"));
    let shown = ids.map(|id| (format!("show-{id}.json"), run(&["show", id, "--json"])));
    let mut out: BTreeMap<String, String> = shown.collect();
    out.insert("log.json".to_owned(), log);
    out.insert("sessions.json".to_owned(), run(&["session", "list", "--json"]));
    out.insert("export.jsonl".to_owned(), run(&["export", "--jsonl"]));
    out
}

/// Both clones in their order, after the first one has all that the second one has, and the reverse.
fn merged<'p>(place: &'p Sandbox, order: [&str; 2]) -> [Repo<'p>; 2] {
    restored(place, "shared").git(["config", "core.bare", "true"]).ok();
    let repos = order.map(|name| restored(place, name));
    for at in [0, 1, 0] {
        repos[at].json(["sync"]);
    }
    repos
}

/// Adds what `now` lacks of `then`, or has otherwise; keys that are new do not count.
fn lost(at: &str, then: &Value, now: &Value, out: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(then), Value::Object(_)) => {
            then.iter().for_each(|(key, inner)| lost(&format!("{at}.{key}"), inner, &now[key], out));
        }
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            then.iter().zip(now).enumerate().for_each(|(n, (then, now))| lost(&format!("{at}[{n}]"), then, now, out));
        }
        _ if then == now => {}
        _ => out.push(format!("{at}: {then} is now {now}")),
    }
}

fn refs(repo: &Repo<'_>) -> String {
    repo.git_out(["for-each-ref", "refs/notes/"])
}

#[test]
fn data_of_the_previous_release_is_shown_unchanged() {
    for name in ["a", "b"] {
        let place = place();
        let repo = restored(&place, name);
        repo.git(["fetch", "-q", BUNDLE, "refs/recorded:refs/recorded"]).ok();
        let answers = answers(&repo);
        let recorded = repo.git_out(["ls-tree", "--name-only", &format!("refs/recorded:{name}")]);
        let names: Vec<&str> = answers.keys().map(String::as_str).collect();
        assert_eq!(names, recorded.lines().collect::<Vec<_>>(), "{name}");
        for (file, now) in &answers {
            let then = repo.git(["cat-file", "blob", &format!("refs/recorded:{name}/{file}")]).ok().out;
            if file.ends_with(".jsonl") {
                let missing: Vec<&str> = then.lines().filter(|line| !now.lines().any(|now| now == *line)).collect();
                assert_eq!(missing, Vec::<&str>::new(), "{name}/{file}");
                assert_eq!(*now, then, "{name}/{file}");
                continue;
            }
            let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("a document");
            let mut out = Vec::new();
            lost("", &parsed(&then), &parsed(now), &mut out);
            assert_eq!(out, Vec::<String>::new(), "{name}/{file}");
        }
    }
}

#[test]
fn reading_and_flushing_data_of_the_release_before_changes_no_ref() {
    for name in ["a", "b"] {
        let place = place();
        let repo = restored(&place, name);
        let before = refs(&repo);
        answers(&repo);
        for command in ["status", "resume", "bootstrap", "doctor", "metrics", "calibration"] {
            repo.json([command]);
        }
        repo.json(["flush"]);
        assert_eq!(refs(&repo), before, "{name}");
    }
}

#[test]
fn two_clones_of_the_previous_release_merge_into_the_same_notes() {
    for order in [["a", "b"], ["b", "a"]] {
        let place = place();
        for repo in merged(&place, order) {
            let then = format!("refs/merged/{}/*:refs/then/*", order.concat());
            repo.git(["fetch", "-q", BUNDLE, &then]).ok();
            for name in REFS {
                let then = name.replace("refs/", "refs/then/");
                let differ = repo.git_out(["diff", &format!("{then}^{{tree}}"), &format!("{name}^{{tree}}")]);
                assert_eq!(differ, "", "{order:?} {name}");
            }
        }
    }
}

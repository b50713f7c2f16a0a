//! Claims about code as others may have made them: the views go on, and nothing is told that is not so.

use serde_json::{Value, json};

use crate::commands::code::anchors::{id, lines, place};
use crate::support::harness::{Repo, Sandbox};

/// Imports records of another's session: each a kind and its keys.
fn import(repo: &Repo<'_>, records: &[(&str, Value)]) -> Vec<String> {
    let mut ids = Vec::new();
    let mut text = String::new();
    for (number, (kind, keys)) in records.iter().enumerate() {
        let id = format!("019ca945-0a00-7000-8000-{:012x}", number + 0xabc_0000);
        let mut record = json!({"v": 1, "id": id, "kind": kind, "session": null, "ai": "eve", "at": "2026-02-01T12:00:00.000Z",
            "commit": repo.head(), "tree": repo.git_out(["rev-parse", "HEAD^{tree}"])});
        record.as_object_mut().expect("an object").extend(keys.as_object().expect("an object").clone());
        text.push_str(&format!("{}\n", json!({"commit": repo.head(), "shelf": "journal", "record": record})));
        ids.push(id);
    }
    repo.run_with_input(["import", "--jsonl", "-"], text.as_bytes()).ok();
    ids
}

fn anchor(path: &str, lines: Value) -> Value {
    json!({"path": path, "lines": lines, "blob": "0".repeat(40), "hash": "0123456789abcdef"})
}

#[test]
fn no_anchor_leads_out_or_stops_a_view() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    let deep = "a/".repeat(200_000) + "b";
    let paths = ["../../etc/passwd", "/etc/passwd", ".git/config", "", "a\nb", "\u{1b}[31m", "src/../src/a.rs", &deep];
    let mut records: Vec<(&str, Value)> = paths
        .iter()
        .map(|path| ("finding", json!({"text": "hostile", "anchors": [anchor(path, json!([1, 1]))]})))
        .collect();
    for lines in [json!([0, 0]), json!([5, 2]), json!([u32::MAX, u32::MAX]), json!([1, u32::MAX])] {
        records.push(("finding", json!({"text": "hostile", "anchors": [anchor("src/a.rs", lines)]})));
    }
    for (blob, hash) in [("zz", "no hash"), ("", ""), ("0", "ffffffffffffffffffff")] {
        let anchor = json!({"path": "src/a.rs", "lines": [1, 1], "blob": blob, "hash": hash});
        records.push(("finding", json!({"text": "hostile", "anchors": [anchor]})));
    }
    let ids = import(&repo, &records);
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]).ok();
    let bare = sandbox.at("bare.git");
    bare.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    for repo in [&repo, &bare] {
        for (id, path) in ids.iter().zip(paths) {
            // a file can have such a name
            let state = if ["a\nb", "\u{1b}[31m"].contains(&path) { "gone" } else { "unknown" };
            assert_eq!(place(repo, id).0, state, "{path:?}");
        }
        for words in
            [&["why", "src/a.rs"][..], &["search", "hostile", "--limit", "50"], &["status", "--all"], &["doctor"]]
        {
            let output = repo.run(words.iter().copied());
            // a bare repository lacks what doctor wants
            assert!(output.code == 0 || words == ["doctor"], "{words:?}: {}", output.err);
            let text = output.out;
            assert!(!text.contains('\u{1b}') && !text.contains("a\nb"), "{words:?}: {text}");
        }
    }
    let known = repo.json(["why", "src/a.rs"])["known"].as_array().expect("a list").len();
    assert_eq!(known, 7, "only those that name the file");
}

#[test]
fn a_retract_can_name_anything_as_the_replacement() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", "a\n", "first");
    repo.start("ada", "Learn");
    let finding = id(&repo.json(["finding", "the axolotl swims"]));
    let handoff = repo.json(["handoff"])["handoff_id"].as_str().expect("an id").to_owned();
    let me = "019ca945-0a00-7000-8000-00000abc0002";
    for by in [handoff.as_str(), &finding, me, "019ca945-0a00-7000-8000-ffffffffffff"] {
        let repo = repo.copied(&format!("copy {by}"));
        import(
            &repo,
            &[
                ("finding", json!({"text": "x"})),
                ("finding", json!({"text": "y"})),
                ("retract", json!({"of": [finding], "by": by})),
            ],
        );
        for words in [&["resume"][..], &["show"], &["handoff", "list"], &["status", "--all"]] {
            let text = repo.run(words.iter().copied()).ok().out;
            assert!(!text.contains("axolotl"), "{by} {words:?}: {text}");
        }
        repo.fsck();
    }
}

#[test]
fn a_confirmation_of_something_else_is_none() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", &lines("line"), "first");
    repo.start("ada", "Learn");
    let handoff = repo.json(["finding", "x"]);
    let note = repo.json(["evidence", "make test", "--exit", "0"]);
    import(&repo, &[("confirm", json!({"of": note["id"], "anchors": [anchor("a", json!([1, 1]))]}))]);
    assert_eq!(repo.json(["why", "a"])["known"][0]["kind"], Value::Null, "{handoff}");
    assert!(!repo.run(["doctor"]).out.contains("may no longer hold"));
}

#[test]
fn thousands_of_places_in_a_large_file_are_compared_in_bounded_time() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    let text: String = (0..200_000).map(|n| format!("{n}\n")).collect();
    repo.commit("large", &text, "first");
    let anchors: Vec<Value> = (1..3000).map(|n| anchor("large", json!([n, n + n % 50]))).collect();
    let [one] = import(&repo, &[("finding", json!({"text": "hostile", "anchors": anchors}))]).try_into().expect("one");
    let places = repo.json(["show", &one])["anchors"].as_array().expect("places").clone();
    // fifty passes over the file, which is all that a command makes
    assert!(places.iter().all(|place| place["state"] == "changed" || place["state"] == "unknown"));
    assert_eq!(places.len(), 2999);
}

#[test]
fn nothing_hides_an_old_dead_end_from_an_agent() {
    let sandbox = Sandbox::new();
    let repo = sandbox.init("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    let at = ["--at", "src/a.rs:11", "--ai", "ada"];
    let dead_end = id(&repo.json([&["deadend", "a mutex", "--why", "it waits"][..], &at].concat()));
    repo.json([&["source", "docs/lock.md"][..], &at].concat());
    repo.json(["session", "end"]);
    let hash = repo.json(["show", &dead_end])["anchors"][0].clone();
    assert_eq!(hash["state"], "holds");
    let long = json!({"path": format!("{} name", "long/".repeat(700)), "blob": "0"});
    let here = |n: usize| json!({"path": "src/a.rs", "lines": [n % 20 + 1, n % 20 + 1], "blob": "0", "hash": "0"});
    let mut records: Vec<(&str, Value)> = vec![
        ("dead_end", json!({"approach": "noise", "why": "noise", "anchors": [here(3), long]})),
        ("finding", json!({"text": "it was down", "until": "2026-02-02T00:00:00Z", "anchors": [here(1)]})),
    ];
    records.extend((0..130).map(|n| ("finding", json!({"text": format!("noise {n}"), "anchors": [here(n)]}))));
    import(&repo, &records);
    let folder = repo.path.to_string_lossy().into_owned();
    let hook = |event: &str, more: Value| {
        let mut payload = json!({"session_id": "s-1", "cwd": folder, "hook_event_name": event});
        payload.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        repo.run_with_input(["hook", "agent", "claude-code", event], payload.to_string().as_bytes()).ok().out
    };
    hook("SessionStart", json!({"source": "startup"}));
    let read =
        || hook("PostToolUse", json!({"tool_name": "Read", "tool_input": {"file_path": repo.path.join("src/a.rs")}}));
    let first = read();
    assert!(first.contains("a mutex — it waits"), "{first}");
    let mut all = first;
    for _ in 0..60 {
        all.push_str(&read());
    }
    assert!(all.contains("noise — noise") && all.contains("docs/lock.md"), "{all}");
    assert!(all.contains("held until 2026-02-02 00:00 UTC): it was down"), "{all}");
    let known = repo.json(["why", "src/a.rs", "--budget", "100000"]);
    assert!(known["known"].as_array().expect("a list").iter().any(|one| one["id"] == json!(dead_end)), "{known}");
}

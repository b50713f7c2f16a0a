//! `import` from the Python tool: a whole session as that tool wrote it, twice, in two clones, on missing commits.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const OURS: [&str; 4] = ["data/journal", "data/checkpoints", "data/handoffs", "handoffs"];

/// A place late enough for what the tool wrote.
fn place() -> Sandbox {
    let mut place = Sandbox::new();
    place.now = "2026-12-01T12:00:00.000Z".into();
    place
}

/// A repository with the notes of the bundle, and its commits when `with_commits`.
fn bundled<'p>(place: &'p Sandbox, name: &str, with_commits: bool) -> Repo<'p> {
    let repo = if with_commits { place.init(name) } else { place.repo(name) };
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/python-empirica-small.bundle");
    if with_commits {
        repo.git(["fetch", "-q", bundle, "refs/heads/main:refs/heads/came", "refs/notes/*:refs/notes/*"]).ok();
        repo.git(["reset", "-q", "--hard", "came"]).ok();
        return repo;
    }
    // the notes without the commits they annotate
    let full = bundled(place, &format!("{name}-full"), true);
    repo.git(["fetch", "-q", full.path.to_str().expect("UTF-8"), "refs/notes/*:refs/notes/*"]).ok();
    repo
}

fn trees(repo: &Repo<'_>) -> Vec<String> {
    OURS.iter().map(|name| repo.git_out(["rev-parse", &format!("refs/notes/empirica/{name}^{{tree}}")])).collect()
}

/// The refs of the tool with their values.
fn theirs(repo: &Repo<'_>) -> Vec<String> {
    let all = repo.git_out(["for-each-ref", "--format=%(refname) %(objectname)", "refs/notes/"]);
    let ours = |line: &str| OURS.iter().any(|name| line.starts_with(&format!("refs/notes/empirica/{name} ")));
    all.lines().filter(|line| !ours(line) && !line.contains("/remotes/")).map(str::to_owned).collect()
}

fn records(repo: &Repo<'_>) -> Vec<Value> {
    let namespaces = ["journal", "checkpoints", "handoffs"];
    let lines = namespaces.iter().flat_map(|namespace| repo.lines(namespace));
    let mut out: Vec<Value> = lines.map(|line| serde_json::from_str(&line).expect("a record")).collect();
    out.sort_by_key(|record| record["id"].to_string());
    out
}

fn of_kind<'r>(records: &'r [Value], kind: &str) -> Vec<&'r Value> {
    records.iter().filter(|record| record["kind"] == kind).collect()
}

#[test]
fn an_imported_session_is_shown_by_every_command() {
    let place = place();
    let repo = bundled(&place, "project", true);
    let before = theirs(&repo);
    let answer = repo.json(["import"]);
    assert_eq!((&answer["refs"], &answer["originals"], &answer["read"]), (&17.into(), &19.into(), &19.into()));
    assert_eq!((&answer["new"], &answer["known"], &answer["sessions"]), (&22.into(), &0.into(), &1.into()));
    assert_eq!(answer["storage"], "git_notes");
    assert!(answer["not_understood"].as_array().expect("a list").is_empty(), "{answer}");
    assert_eq!(theirs(&repo), before, "the originals are untouched");

    let session = repo.json(["session", "show", "75c755d2"]);
    assert_eq!(session["session_id"], "75c755d2-f3ff-4a18-a6f1-e2f6a59c732b");
    assert_eq!(session["ai_id"], "claude-code");
    let text = session.to_string();
    for expected in
        ["JWT tokens expire", "Polling", "RS256", "HS256", "Edited wrong file", "Server is UTC", "Rate limiter"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(repo.json(["session", "list", "--active"])["sessions"], Value::Array(vec![]), "it is over");
    let handoff = &repo.json(["query"])["reports"][0];
    assert_eq!(handoff["task"], "Auth done");
    assert_eq!(handoff["calibration_status"], "well_calibrated");
    assert!(repo.run(["resume"]).ok().out.contains("Refresh rotation works"));
    let commit = repo.git_out(["rev-parse", "HEAD~1"]);
    assert_eq!(repo.handoffs_at(&commit).len(), 1);
    assert!(repo.note("refs/notes/empirica/handoffs", &commit).contains("PKCE"), "it is Markdown for git log");
    assert!(repo.json(["bootstrap"]).to_string().contains("Read first"));
    assert_eq!(repo.json(["calibration"])["total_sessions"], 1);
    let goals = repo.json(["goal", "list"]);
    let status = |text: &str| {
        let goals = goals["goals"].as_array().expect("a list");
        goals.iter().find(|goal| goal["text"] == text).map(|goal| goal["status"].clone())
    };
    assert_eq!((status("Implement OAuth"), status("Rate limiter")), (Some("done".into()), Some("open".into())));
    repo.fsck();
}

#[test]
fn records_keep_times_commits_and_content() {
    let place = place();
    let repo = bundled(&place, "project", true);
    repo.json(["import"]);
    let records = records(&repo);
    let finding = of_kind(&records, "finding")[0];
    assert_eq!(finding["at"], "2026-11-21T20:23:49.116Z");
    assert_eq!(finding["commit"], "f341ae1c5f8e092baec4a6bbbd8536ca82444dfc");
    let mut originals = 0;
    for line in repo.git_out(["for-each-ref", "--format=%(refname)", "refs/notes/empirica/"]).lines() {
        if OURS.iter().any(|ours| line.ends_with(ours)) {
            continue;
        }
        for entry in repo.git_out(["ls-tree", line]).lines() {
            let (blob, commit) = entry.split_once('\t').expect("an entry");
            let payload = repo.git_out(["cat-file", "blob", blob.split(' ').nth(2).expect("a blob")]);
            let payload: Value = serde_json::from_str(&payload).expect("JSON");
            let from = |record: &&Value| record["foreign"]["ref"] == line && record["foreign"]["commit"] == commit;
            let whole = records.iter().filter(from).filter(|record| record["foreign"]["original"] == payload);
            assert_eq!(whole.count(), 1, "{line} {commit}");
            originals += 1;
        }
    }
    assert_eq!(originals, 19);
    let resolve = of_kind(&records, "resolve")[0];
    let unknown = records.iter().find(|record| record["id"] == resolve["of"]).expect("its unknown");
    assert_eq!((&unknown["text"], &resolve["text"]), (&"Rate limit handling unclear".into(), &"docs".into()));
    assert_eq!(of_kind(&records, "handoff")[0]["foreign"]["time"], "naive");
    assert_eq!(of_kind(&records, "assessment").len(), 3);
    assert!(records.iter().all(|record| record["tree"].is_null()));
}

#[test]
fn a_dry_run_writes_nothing_and_imports_are_idempotent() {
    let place = place();
    let repo = bundled(&place, "project", true);
    let objects = || (repo.git_out(["count-objects", "-v"]), theirs(&repo));
    let before = objects();
    let dry = repo.json(["import", "--dry-run"]);
    assert_eq!((&dry["new"], &dry["dry_run"]), (&22.into(), &true.into()));
    assert!(dry["storage"].is_null());
    assert_eq!(objects(), before);
    let first = repo.json(["import"]);
    assert_eq!(first["kinds"], dry["kinds"], "it said what would come");
    let (trees_before, tips) = (trees(&repo), repo.git_out(["for-each-ref", "refs/notes/"]));
    let again = repo.json(["import"]);
    assert_eq!((&again["new"], &again["known"]), (&0.into(), &22.into()));
    assert_eq!(trees(&repo), trees_before);
    assert_eq!(repo.git_out(["for-each-ref", "refs/notes/"]), tips, "not even a commit");
    assert_eq!(repo.json(["import", "--dry-run"])["new"], 0);
}

#[test]
fn clones_that_both_import_and_sync_have_no_duplicates() {
    let place = place();
    let one = bundled(&place, "one", true);
    let server = place.path().join("server.git");
    let url = server.to_str().expect("UTF-8");
    one.git(["clone", "-q", "--bare", ".", url]).ok();
    one.git(["remote", "add", "origin", url]).ok();
    let two = bundled(&place, "two", true);
    two.git(["remote", "add", "origin", url]).ok();
    one.json(["import"]);
    two.json(["import"]);
    assert_eq!(trees(&one), trees(&two), "the same bytes in both");
    let before = trees(&one);
    one.json(["sync", "origin"]);
    two.json(["sync", "origin"]);
    one.json(["sync", "origin"]);
    assert_eq!((trees(&one), trees(&two)), (before.clone(), before));
    assert_eq!(one.json(["query"])["total_found"], 1);
}

#[test]
fn the_next_import_brings_later_notes() {
    let place = place();
    let repo = bundled(&place, "project", true);
    repo.json(["import"]);
    let session = "75c755d2-f3ff-4a18-a6f1-e2f6a59c732b";
    let later = serde_json::json!({"finding_id": "x", "session_id": session, "ai_id": "claude-code",
        "created_at": "2026-11-22T08:00:00+00:00", "finding": "Said later"});
    repo.git(["notes", "--ref", "refs/notes/empirica/findings/x", "add", "-m", &later.to_string()]).ok();
    let answer = repo.json(["import"]);
    assert_eq!((&answer["new"], &answer["known"]), (&2.into(), &21.into()), "a finding, and a later end: {answer}");
    let shown = repo.json(["session", "show", session]);
    assert!(shown.to_string().contains("Said later"));
    assert_eq!(shown["ended_at"], "2026-11-22T08:00:00.000Z");
    assert_eq!(repo.json(["import"])["new"], 0);
}

#[test]
fn records_on_missing_commits_are_attached_to_the_nearest() {
    let place = place();
    let repo = bundled(&place, "bare-of-commits", false);
    let head = repo.head();
    let answer = repo.json(["import"]);
    assert_eq!(answer["new"], 22);
    let moved = answer["moved"].as_array().expect("a list");
    assert_eq!(moved.len(), 19, "each original: {answer}");
    assert!(moved.iter().all(|one| one["to"] == head.as_str() && one["commit"] != one["to"]), "{answer}");
    assert_eq!(repo.handoffs_at(&head).len(), 1, "the log of this clone has it");
    let kept: Vec<Value> = records(&repo);
    let made_on = &of_kind(&kept, "handoff")[0]["commit"];
    assert_eq!(*made_on, "f341ae1c5f8e092baec4a6bbbd8536ca82444dfc", "it still says where it was made");
    let before = trees(&repo);
    let again = repo.json(["import"]);
    assert_eq!((&again["new"], trees(&repo)), (&0.into(), before.clone()));
    repo.commit("later", "x\n", "Later");
    repo.json(["import"]);
    assert_eq!(trees(&repo), before, "what was attached is not attached again");
}

#[test]
fn without_a_commit_records_are_stored_and_attached_to_the_first() {
    let place = place();
    let full = bundled(&place, "full", true);
    let repo = place.init("unborn");
    repo.git(["fetch", "-q", full.path.to_str().expect("UTF-8"), "refs/notes/*:refs/notes/*"]).ok();
    let answer = repo.json(["import"]);
    assert_eq!(answer["new"], 22);
    assert!(answer["moved"][0]["to"].is_null(), "{answer}");
    assert_eq!(repo.json(["query"])["total_found"], 1);
    let head = repo.commit("a", "a\n", "Begin");
    let answer = repo.json(["import"]);
    assert_eq!((&answer["new"], &answer["moved"][0]["to"]), (&0.into(), &head.as_str().into()));
    assert_eq!(repo.handoffs_at(&head).len(), 1);
}

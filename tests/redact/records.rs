//! `redact`: the text is unreachable, everything else stays, and incomplete work is reported.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{REFS, clones, hook, hub, lines, sync, trees, work};

pub const SECRET: &str = "the staging gate opens with hunter2hunter2, in the vault";

/// A clone with work and the secret, shared with its hub; the secret's finding.
pub fn shared<'p>(place: &'p Sandbox, n: usize) -> (Repo<'p>, Vec<Repo<'p>>, String) {
    let hub = hub(place);
    let repos = clones(place, &hub, n);
    work(&repos[0], "one");
    let id = say(&repos[0]);
    sync(&repos[0]);
    (hub, repos, id)
}

/// A finding with the secret.
pub fn say(repo: &Repo<'_>) -> String {
    repo.json(["finding", SECRET])["id"].as_str().expect("an id").to_owned()
}

/// Every object of the repository and every file beside them that holds a text, after git removed what nothing leads to.
pub fn holders(repo: &Repo<'_>, text: &str) -> Vec<String> {
    repo.git(["gc", "--prune=now", "--quiet"]).ok();
    let mut out = Vec::new();
    // all in one go; one by one only where it is found
    if repo.git(["cat-file", "--batch-all-objects", "--batch"]).ok().out.contains(text) {
        let all = repo.git_out(["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
        let holds = |id: &&str| repo.git(["cat-file", "-p", id]).out.contains(text);
        out.extend(all.lines().filter(holds).map(str::to_owned));
    }
    let folder = repo.git_out(["rev-parse", "--absolute-git-dir"]);
    files(Path::new(&folder), text, &mut out);
    out
}

fn files(folder: &Path, text: &str, out: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with("objects") {
                files(&path, text, out);
            }
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.windows(text.len()).any(|part| part == text.as_bytes())
        {
            out.push(path.display().to_string());
        }
    }
}

#[track_caller]
pub fn assert_gone(repo: &Repo<'_>, text: &str) {
    assert_eq!(holders(repo, text), Vec::<String>::new(), "{} still holds it", repo.path.display());
}

/// The ids of all lines, sorted.
fn ids(repo: &Repo<'_>) -> Vec<String> {
    let lines = lines(repo);
    lines.iter().filter_map(|line| empirica_notes::format::lines::id(line.as_bytes()).map(str::to_owned)).collect()
}

/// A session that quotes the secret wherever a session quotes something.
fn session(repo: &Repo<'_>) -> String {
    repo.start("one", "look for it");
    repo.json(["preflight", "-v", "know=0.4,uncertainty=0.6"]);
    let id = say(repo);
    repo.json(["finding", "innocent"]);
    repo.json(["checkpoint", "--search", "staging password"]);
    repo.json(["handoff", "--next", "go on"]);
    repo.json(["postflight", "-v", "know=0.8,uncertainty=0.2"]);
    id
}

#[test]
fn the_text_is_unreachable_and_everything_else_stays() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    let id = session(&repo);
    let head = repo.head();
    repo.git(["notes", "--ref", REFS[3], "append", "-m", &format!("Reviewed: {SECRET}!")]).ok();
    repo.git(["notes", "--ref", REFS[0], "append", "-m", &format!("a foreign line, {SECRET}")]).ok();
    let answer = repo.json(["unknown", &format!("why was it said that {SECRET}?")]);
    let answer = answer["id"].as_str().expect("an id").to_owned();
    // read, so that an index exists, and recorded again, so that a record is pending
    repo.json(["search", "staging password"]);
    let waiting = say(&repo);
    assert!(holders(&repo, SECRET).len() > 5);
    let before = ids(&repo);
    let done = repo.json(["redact", &id, &waiting, "--reason", "a password", "--ai", "lead"]);
    assert_gone(&repo, "hunter2hunter2, in the vault");
    let redacted = done["redacted"].as_array().expect("a list");
    assert_eq!(redacted.len(), 2, "{done}");
    assert!(redacted.iter().all(|r| r["kind"] == "finding"));
    let kinds: Vec<&str> =
        done["rewritten"].as_array().expect("a list").iter().filter_map(|r| r["kind"].as_str()).collect();
    for kind in ["unknown", "checkpoint", "handoff"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!((&done["complete"], &done["remotes"]), (&json!(true), &json!([])));
    // every other record is there once
    let all = lines(&repo).join("\n");
    let mut expected = before;
    expected.extend([answer, waiting]);
    expected.sort();
    assert_eq!(ids(&repo), expected);
    for kept in ["\"innocent\"", "look for it", "go on", "a foreign line, [redacted]", "said that [redacted]?"] {
        assert!(all.contains(kept), "{kept}: {all}");
    }
    let note = repo.note(REFS[3], &head);
    assert!(
        note.contains("Reviewed: [redacted]!")
            && note.contains("- Learned: [redacted]")
            && note.contains("- Learned: innocent"),
        "{note}"
    );
    // the stub says that it was
    let shown = repo.json(["show", &id]);
    let values = ["kind", "was", "redacted_by", "reason"].map(|key| shown[key].as_str().unwrap_or_default().to_owned());
    assert_eq!(values, ["redacted", "finding", "lead", "a password"]);
    let resumed = repo.run(["resume", "--detail", "full"]).ok().out;
    assert!(resumed.contains("innocent") && resumed.contains("[redacted]"), "{resumed}");
    // every command works on it
    for command in
        [&["status"][..], &["bootstrap"], &["log", "--journal"], &["session", "show", "latest"], &["metrics"]]
    {
        let shown = repo.run(command).ok();
        assert!(!shown.out.contains("hunter2"), "{command:?}: {}", shown.out);
    }
    repo.fsck();
}

#[test]
fn redacting_is_idempotent_and_keeps_later_records() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    let id = session(&repo);
    repo.json(["redact", &id]);
    let stood = trees(&repo);
    let again = repo.json(["redact", &id[28..]]);
    assert_eq!((&again["redacted"], &again["redacted_before"]), (&json!([]), &json!([id])));
    assert_eq!(trees(&repo)[0].is_some(), stood[0].is_some());
    let lines_of = |repo: &Repo<'_>| lines(repo);
    let known = lines_of(&repo);
    // the rewritten handoff follows an amend, with its Markdown
    repo.git(["commit", "-q", "--amend", "--allow-empty", "-m", "amended"]).ok();
    let note = repo.note(REFS[3], &repo.head());
    assert!(note.contains("[redacted]"), "{note}");
    assert!(lines_of(&repo).len() > known.len());
    // and a new session quotes it is now
    let handed = repo.json(["handoff", "--next", "later"]);
    assert!(handed["markdown"].as_str().expect("a text").contains("- innocent"));
    assert_gone(&repo, "hunter2hunter2");
}

#[test]
fn a_dry_run_reports_and_changes_nothing() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    let id = session(&repo);
    repo.json(["finding", "the vault knows hunter2hunter2 as well"]);
    let refs = repo.git_out(["for-each-ref"]);
    let answer = repo.json(["redact", &id, "--dry-run"]);
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
    assert_eq!(
        (&answer["dry_run"], &answer["complete"], &answer["epoch"]),
        (&json!(true), &json!(false), &Value::Null)
    );
    let done = repo.json(["redact", &id]);
    assert_eq!(answer["redacted"], done["redacted"]);
    assert_eq!(answer["rewritten"], done["rewritten"]);
    // similar texts are reported, not changed
    let look: Vec<&str> =
        done["look_at"].as_array().expect("a list").iter().filter_map(|r| r["kind"].as_str()).collect();
    assert_eq!(look, ["finding"], "{done}");
    assert_eq!(answer["look_at"], done["look_at"]);
    let ran = repo.run(["redact", &id, "--dry-run"]).ok();
    assert!(ran.out.contains("redacted before") && ran.err.contains("dry run"), "{ran:?}");
}

#[test]
fn redacting_a_handoff_leaves_a_marked_block_and_keeps_its_sources() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    repo.start("one", "the task of the session");
    repo.json(["finding", "drawn from the journal"]);
    let handed = repo.json(["handoff", "--next", SECRET, "--context", "only here, and long enough"]);
    let id = handed["handoff_id"].as_str().expect("an id").to_owned();
    repo.json(["checkpoint"]);
    repo.json(["redact", &id, "--reason", "<b>it</b> was\n# a password"]);
    assert_gone(&repo, "hunter2hunter2");
    assert_gone(&repo, "only here, and long enough");
    let note = repo.note(REFS[3], &repo.head());
    let short = &id[28..];
    assert!(note.starts_with(&format!("# Handoff {short}, redacted\n")), "{note}");
    assert_eq!(note.matches("\n# ").count(), 0, "a reason forges no heading: {note}");
    assert!(lines(&repo).join("\n").contains("drawn from the journal"));
    let left = repo.json(["resume"]);
    assert_eq!(left["ok"], true);
    assert_eq!(repo.json(["query"])["total_found"], 0);
}

#[test]
fn impossible_redactions_are_refused_and_change_nothing() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    let id = session(&repo);
    let handed = repo.hand_over("again");
    let refs = repo.git_out(["for-each-ref"]);
    repo.fails(1, ["redact", "019ab000-0000-7000-8000-000000000001"]);
    repo.fails(1, ["redact", "deadbeef"]);
    repo.fails(2, ["redact"]);
    repo.fails(2, ["redact", &id, "--reason", " "]);
    let all = repo.lines("handoffs");
    let supersede = all.iter().find(|line| line.contains(&format!("\"by\":\"{handed}\""))).expect("a record");
    let supersede: Value = serde_json::from_str(supersede).expect("JSON");
    repo.fails(1, ["redact", supersede["id"].as_str().expect("an id")]);
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
    // somebody holds the lock: nothing is half done
    repo.git(["config", "empirica.lockTimeout", "20ms"]).ok();
    let lock = std::fs::File::options().write(true).open(repo.path.join(".git/empirica/lock")).expect("a lock");
    lock.lock().expect("the lock");
    repo.fails(128, ["redact", &id]);
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
    drop(lock);
    // a ref that cannot be moved: none is
    std::fs::write(repo.path.join(".git/refs/notes/empirica/data/handoffs.lock"), "").expect("a file");
    repo.fails(128, ["redact", &id]);
    assert_eq!(repo.git_out(["for-each-ref"]), refs);
    std::fs::remove_file(repo.path.join(".git/refs/notes/empirica/data/handoffs.lock")).expect("a file");
    repo.json(["redact", &id]);
    assert_gone(&repo, "hunter2hunter2");
}

#[test]
fn a_reason_that_holds_a_secret_is_stored_without_it() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    repo.start("one", "t");
    let id = say(&repo);
    let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    repo.json(["redact", &id, "--reason", &format!("it was {token}")]);
    assert_gone(&repo, &token);
}

#[test]
fn a_redaction_is_pushed_and_a_refusing_remote_reported() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let repo = &repos[0];
    work(repo, "one");
    let id = say(repo);
    repo.json(["handoff", "--next", "on"]);
    sync(repo);
    let refuses = hook(&hub, "pre-receive", "echo 'no force here' >&2; exit 1");
    let ran = repo.run(["redact", &id, "--json"]).code(1);
    let answer = ran.json();
    assert_eq!((&answer["ok"], &answer["complete"]), (&json!(false), &json!(false)), "{answer}");
    assert_eq!(answer["remotes"][0]["state"], "not_redacted", "{answer}");
    assert_eq!(answer["redacted"][0]["id"], json!(id));
    assert!(answer["recovery_commands"][0].as_str().expect("a command").ends_with(&id), "{answer}");
    assert_gone(repo, "hunter2hunter2");
    assert!(!holders(&hub, SECRET).is_empty());
    // a fetch brings it near, and no command lets it in or leaves it there
    repo.git(["fetch", "-q"]).ok();
    assert!(!repo.run(["log", "--journal"]).ok().out.contains("hunter2"));
    repo.run(["sync"]);
    assert_gone(repo, "hunter2hunter2");
    std::fs::remove_file(refuses).expect("a file");
    let again = repo.json(["redact", &id]);
    assert_eq!((&again["remotes"][0]["state"], &again["complete"]), (&json!("redacted"), &json!(true)));
    assert_gone(&hub, "hunter2hunter2");
    sync(&repos[1]);
    assert_eq!(trees(&repos[1]), trees(&hub));
    assert_gone(&repos[1], "hunter2hunter2");
}

#[test]
fn excluded_remotes_are_reported_as_not_redacted() {
    let place = Sandbox::new();
    let (hub, repos, id) = shared(&place, 1);
    let repo = &repos[0];
    repo.git(["config", "empirica.sync", "off"]).ok();
    let answer = repo.run(["redact", &id, "--json"]).code(1).json();
    let reason = answer["remotes"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("empirica.sync"), "{answer}");
    repo.git(["config", "--unset", "empirica.sync"]).ok();
    assert_eq!(repo.json(["redact", &id])["complete"], true);
    assert_gone(&hub, "hunter2hunter2");
    // a remote that never had notes does not get any for it
    repo.git(["init", "-q", "--bare", "../empty.git"]).ok();
    repo.git(["remote", "add", "empty", "../empty.git"]).ok();
    repo.git(["config", "--add", "empirica.remote", "origin"]).ok();
    repo.git(["config", "--add", "empirica.remote", "empty"]).ok();
    let answer = repo.json(["redact", &id]);
    assert_eq!(answer["remotes"][1], json!({"remote": "empty", "state": "no_notes", "reason": null}));
    assert_eq!(place.at("empty.git").git_out(["for-each-ref"]), "");
}

#[test]
fn an_export_of_redacted_records_restores_the_same_trees_and_redacts() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    let id = session(&repo);
    let with_text = place.repo("b");
    let old = repo.run(["export", "--jsonl"]).ok().out;
    with_text.run_with_input(["import", "--jsonl", "-"], old.as_bytes()).ok();
    with_text.start("two", "t");
    with_text.json(["handoff", "--next", &format!("quoted: {SECRET}")]);
    repo.json(["redact", &id]);
    let copy = repo.run(["export", "--jsonl"]).ok().out;
    assert!(copy.starts_with("{\"shelf\":\"journal\",\"epoch\":\"1\\n"), "{copy}");
    let empty = place.repo("c");
    empty.run_with_input(["import", "--jsonl", "-"], copy.as_bytes()).ok();
    assert_eq!(trees(&empty)[..3], trees(&repo)[..3]);
    assert_eq!(empty.run(["export", "--jsonl"]).ok().out, copy);
    // clones that still have the text lose it and its quotations
    with_text.run_with_input(["import", "--jsonl", "-"], copy.as_bytes()).ok();
    assert_gone(&with_text, "hunter2hunter2");
    assert!(lines(&with_text).join("\n").contains("quoted: [redacted]"));
    let answer = with_text.run_with_input(["import", "--jsonl", "-", "--json"], copy.as_bytes()).json();
    assert_eq!((&answer["new"], &answer["left_out"]), (&json!(0), &json!(0)), "{answer}");
    let wrong = with_text.run_with_input(["import", "--jsonl", "-", "--json"], b"{\"shelf\":\"journal\",\"epoch\":1}");
    assert!(wrong.code(2).json()["reason"].as_str().expect("a reason").contains("epoch"));
}

#[test]
fn an_earlier_export_does_not_restore_redacted_text() {
    let place = Sandbox::new();
    let repo = place.set_up("a");
    let id = session(&repo);
    let exported = repo.run(["export", "--jsonl"]).ok().out;
    std::fs::write(place.path().join("old.jsonl"), &exported).expect("a file");
    repo.json(["redact", &id]);
    let stood = trees(&repo);
    repo.json(["import", "--jsonl", "../old.jsonl"]);
    assert_eq!(trees(&repo)[0], stood[0]);
    // nor do later records that quote it, if the import contains it
    let later = place.repo("later");
    later.json(["import", "--jsonl", "../old.jsonl"]);
    later.start("two", "t");
    later.json(["handoff", "--next", &format!("quoted: {SECRET}")]);
    std::fs::write(place.path().join("old.jsonl"), later.run(["export", "--jsonl"]).ok().out).expect("a file");
    repo.json(["import", "--jsonl", "../old.jsonl"]);
    assert!(lines(&repo).join("\n").contains("quoted: [redacted]"));
    std::fs::remove_file(place.path().join("old.jsonl")).expect("a file");
    assert_gone(&repo, "hunter2hunter2");
}

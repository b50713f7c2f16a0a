//! Notes with damaged or missing objects that no remote has: the rest is read, and rewritten on
//! request.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::harness::{Repo, Sandbox};

const JOURNAL: &str = "refs/notes/empirica/data/journal";
const HANDOFFS: &str = "refs/notes/empirica/data/handoffs";
const MARKDOWN: &str = "refs/notes/empirica/handoffs";

/// Three flushes on two commits.
fn written(place: &Sandbox) -> Repo<'_> {
    let repo = place.repo("r");
    repo.git(["config", "empirica.lockTimeout", "300ms"]).ok();
    repo.start("ada", "Work");
    repo.json(["finding", "on the first commit"]);
    repo.json(["handoff", "-m", "handed over"]);
    repo.commit("b", "b\n", "Next");
    repo.json(["finding", "on the second commit"]);
    repo.json(["flush"]);
    repo.json(["finding", "said last"]);
    repo.json(["handoff", "-m", "handed over last"]);
    repo
}

fn loose(repo: &Repo<'_>, id: &str) -> PathBuf {
    repo.path.join(".git/objects").join(&id[..2]).join(&id[2..])
}

/// Puts something in the place of an object: garbage, nothing at all, or no file.
fn damage(repo: &Repo<'_>, id: &str, how: &str) {
    let file = loose(repo, id);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    match how {
        "garbage" => fs::write(&file, b"no object at all").expect("a file"),
        "empty" => fs::write(&file, b"").expect("a file"),
        _ => fs::remove_file(&file).expect("a file"),
    }
    // what was written lately comes back by itself
    repo.forget_written_logs();
}

fn all(repo: &Repo<'_>) -> String {
    ["journal", "handoffs", "checkpoints"]
        .iter()
        .flat_map(|namespace| repo.lines(namespace))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Runs the commands that doctor names until it finds nothing wrong.
#[track_caller]
fn mend(repo: &Repo<'_>) {
    for _ in 0..4 {
        let ran = repo.run(["doctor", "--json"]);
        if ran.code == 0 {
            return;
        }
        let answer = ran.json();
        let wrong = answer["checks"].as_array().expect("checks").iter().find(|check| check["ok"] == false);
        for command in wrong.expect("a check")["commands"].as_array().expect("commands") {
            let command = command.as_str().expect("a command");
            assert!(!command.contains("update-ref -d refs/notes/empirica/data"), "{command}");
            let ran = repo.place.command("sh", &repo.path).args(["-c", command]).output().expect("a shell");
            assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        }
    }
    panic!("{}", repo.run(["doctor"]).out);
}

fn tip(repo: &Repo<'_>, name: &str) -> String {
    repo.git_out(["rev-parse", name])
}

#[test]
fn a_damaged_tip_is_never_taken_for_an_empty_ref_and_loses_no_record() {
    for how in ["garbage", "empty", "missing"] {
        for name in [JOURNAL, HANDOFFS] {
            let place = Sandbox::new();
            let repo = written(&place);
            let before = all(&repo);
            damage(&repo, &tip(&repo, name), how);
            let exported = repo.run(["export", "--jsonl"]);
            assert_eq!((exported.code, exported.out.as_str()), (128, ""), "a part is not to be taken for all");
            assert!(exported.err.contains(name), "{how} {name}: {}", exported.err);
            let log = repo.run(["log", "--journal"]);
            assert!(log.out.contains("on the first commit") && log.err.contains(name), "{how} {name}: {}", log.err);
            let answer = repo.json(["finding", "said meanwhile"]);
            let flushed = repo.json(["flush"]);
            if name == JOURNAL {
                assert_eq!(flushed["degraded_mode"], true, "{how}: {flushed}");
            }
            mend(&repo);
            assert_eq!(repo.json(["flush"])["waiting"], 0);
            let after = all(&repo);
            for line in before.lines() {
                assert!(after.contains(line), "{how} {name}: {line}\n{after}");
            }
            assert!(after.contains(answer["id"].as_str().expect("an id")), "{how} {name}");
            repo.fsck();
        }
    }
}

#[test]
fn a_damaged_markdown_tip_is_rendered_again() {
    let place = Sandbox::new();
    let repo = written(&place);
    let before = repo.git_out(["notes", "--ref", MARKDOWN, "show", "HEAD"]);
    damage(&repo, &tip(&repo, MARKDOWN), "missing");
    mend(&repo);
    assert_eq!(repo.git_out(["notes", "--ref", MARKDOWN, "show", "HEAD"]), before);
    assert!(repo.git_out(["notes", "--ref", MARKDOWN, "show", "HEAD~"]).contains("handed over"));
}

#[test]
fn total_loss_is_reported_and_not_taken_for_an_empty_ref() {
    let place = Sandbox::new();
    let repo = written(&place);
    repo.git(["reflog", "expire", "--expire=all", JOURNAL]).ok();
    fs::remove_dir_all(repo.path.join(".git/empirica")).expect("a folder");
    damage(&repo, &tip(&repo, JOURNAL), "garbage");
    for command in [&["export", "--jsonl"][..], &["log", "--journal"], &["query"], &["session", "list"]] {
        let ran = repo.run(command);
        assert!(ran.err.contains(JOURNAL) || ran.err.contains(&tip(&repo, JOURNAL)), "{command:?}: {}", ran.err);
        assert!(ran.code == 128 || !ran.out.contains("Nothing"), "{command:?}: {}", ran.out);
    }
    // the tree of the tip is there all the same, and leads to every note
    mend(&repo);
    assert!(all(&repo).contains("on the first commit") && all(&repo).contains("said last"));
}

#[test]
fn a_damaged_note_keeps_no_other_from_being_written_and_its_older_version_comes_back() {
    for how in ["garbage", "missing"] {
        let place = Sandbox::new();
        let repo = written(&place);
        let before: Vec<String> = repo.lines("journal");
        let blob = repo.git_out(["notes", "--ref", JOURNAL, "list", "HEAD"]);
        damage(&repo, &blob, how);
        let status = repo.run(["status"]);
        assert_eq!(status.code, 0, "{how}: {}", status.err);
        assert!(status.err.contains(&blob), "{how}: {}", status.err);
        let exported = repo.run(["export", "--jsonl"]);
        assert_eq!(exported.code, 128, "a part is not to be taken for all");
        let answer = repo.json(["finding", "said meanwhile"]);
        mend(&repo);
        let after = repo.lines("journal").join("\n");
        let last = before.iter().filter(|line| !after.contains(line.as_str())).collect::<Vec<_>>();
        assert!(last.iter().all(|line| line.contains("said last") || line.contains("handed")), "{how}: {last:?}");
        assert!(
            after.contains("on the second commit") && after.contains(answer["id"].as_str().expect("an id")),
            "{how}"
        );
        // and the damaged object is unreachable, so a push works
        repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
        repo.git(["remote", "add", "origin", "../hub.git"]).ok();
        repo.json(["sync"]);
        let hub = place.at("hub.git");
        let fsck = place.command("git", &hub.path).args(["fsck", "--strict"]).status();
        assert!(fsck.is_ok_and(|status| status.success()), "{how}");
    }
}

#[test]
fn every_command_that_goes_past_a_damaged_note_says_so() {
    let place = Sandbox::new();
    let repo = written(&place);
    repo.json(["flush"]);
    let blob = repo.git_out(["notes", "--ref", JOURNAL, "list", "HEAD"]);
    damage(&repo, &blob, "garbage");
    for command in [
        &["log", "--journal"][..],
        &["log", "--journal", "-n", "5000"],
        &["log", "--journal", "--json"],
        &["session", "list"],
        &["search", "commit"],
        &["status"],
        &["resume"],
    ] {
        let ran = repo.run(command);
        let output = format!("{}{}", ran.out, ran.err);
        assert!(output.contains(&blob), "{command:?}: {output}");
    }
}

#[test]
fn a_damaged_tree_loses_no_note_that_is_there_and_a_damaged_history_is_found() {
    let place = Sandbox::new();
    let repo = written(&place);
    repo.json(["flush"]);
    let before = all(&repo);
    damage(&repo, &tip(&repo, &format!("{JOURNAL}^{{tree}}")), "garbage");
    mend(&repo);
    let after = all(&repo);
    assert!(before.lines().all(|line| after.contains(line)), "{before}\n{after}");
    repo.fsck();
    repo.json(["finding", "and on"]);
    repo.json(["flush"]);
    damage(&repo, &tip(&repo, &format!("{JOURNAL}~1")), "missing");
    let failure = repo.fails(1, ["doctor"]);
    assert!(failure["reason"].as_str().is_some_and(|why| why.contains("the whole history of")), "{failure}");
    let before = all(&repo);
    mend(&repo);
    assert_eq!(all(&repo), before);
    repo.fsck();
}

#[test]
fn a_remote_that_lacks_the_missing_objects_gets_the_rest_on_request() {
    let place = Sandbox::new();
    let repo = written(&place);
    // a version that only the history of the notes has
    let old = repo.git_out(["rev-parse", &format!("{JOURNAL}~1")]);
    let blob =
        repo.git_out(["ls-tree", "-r", "--format=%(objectname)", &old]).lines().last().expect("a note").to_owned();
    let now = repo.git_out(["ls-tree", "-r", JOURNAL]);
    assert!(!now.contains(&blob), "{now}");
    damage(&repo, &blob, "missing");
    let before = all(&repo);
    repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
    repo.git(["remote", "add", "origin", "../hub.git"]).ok();
    let failure = repo.fails(128, ["sync"]);
    assert!(failure["recovery_commands"].to_string().contains("git empirica flush --without-damaged"), "{failure}");
    let flushed = repo.json(["flush", "--without-damaged"]);
    assert_eq!((&flushed["rescued"][0]["ref"], &flushed["rescued"][0]["whole"]), (&JOURNAL.into(), &true.into()));
    assert_eq!(all(&repo), before);
    repo.json(["sync"]);
    assert_eq!(repo.json(["flush", "--without-damaged"])["rescued"], serde_json::json!([]));
}

#[test]
fn notes_of_a_remote_are_restored_after_any_damage() {
    for (what, how) in [("commit", "garbage"), ("commit", "missing"), ("tree", "empty"), ("blob", "garbage")] {
        let place = Sandbox::new();
        let repo = written(&place);
        repo.git(["init", "-q", "--bare", "../hub.git"]).ok();
        repo.git(["remote", "add", "origin", "../hub.git"]).ok();
        repo.json(["sync"]);
        let before = all(&repo);
        let id = match what {
            "commit" => tip(&repo, JOURNAL),
            "tree" => tip(&repo, &format!("{JOURNAL}^{{tree}}")),
            _ => repo.git_out(["notes", "--ref", JOURNAL, "list", "HEAD"]),
        };
        damage(&repo, &id, how);
        let answer = repo.json(["finding", "said meanwhile"]);
        mend(&repo);
        repo.json(["sync"]);
        let after = all(&repo);
        assert!(before.lines().all(|line| after.contains(line)), "{what} {how}: {before}\n{after}");
        assert!(after.contains(answer["id"].as_str().expect("an id")), "{what} {how}");
        repo.json(["sync"]);
        repo.fsck();
    }
}

#[test]
fn redacted_text_does_not_return_from_unreachable_objects() {
    let place = Sandbox::new();
    let repo = written(&place);
    let id = repo.json(["finding", "the word is swordfish"])["id"].as_str().expect("an id").to_owned();
    repo.json(["flush"]);
    repo.json(["redact", &id]);
    repo.json(["finding", "said after it"]);
    repo.json(["flush"]);
    let before = all(&repo);
    assert!(!before.contains("swordfish"));
    damage(&repo, &tip(&repo, JOURNAL), "missing");
    mend(&repo);
    let after = all(&repo);
    assert!(!after.contains("swordfish"), "{after}");
    assert!(before.lines().all(|line| after.contains(line)), "{before}\n{after}");
}

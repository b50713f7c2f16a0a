//! Where hooks, repair and other writers meet: what a commit took from its parent, and what could not follow at once.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use crate::harness::{Place, Repo};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// Work that is handed over, then committed; the handoff's id.
fn handed_over(repo: &Repo<'_>, name: &str) -> String {
    repo.start("claude", name);
    repo.write(&format!("{name}.txt"), "x\n");
    let json = repo.json(["handoff", "-m", name, "--context", "c", "--next", "n"]);
    repo.run(["session", "end"]).ok();
    repo.commit(&format!("{name}.txt"), "x\n", name);
    json["handoff_id"].as_str().expect("an id").to_owned()
}

fn at(repo: &Repo<'_>, commit: &str) -> Vec<String> {
    let log = repo.json(["log", "--handoffs"]);
    let commits = log["commits"].as_array().expect("a list").iter().filter(|c| c["commit"] == commit);
    let handoffs = commits.flat_map(|commit| commit["handoffs"].as_array().expect("a list").clone());
    handoffs.map(|handoff| handoff["handoff_id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_handoff_that_a_commit_took_from_its_parent_is_repaired_with_that_commit() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.run(["init"]).ok();
    repo.git(["switch", "-q", "-c", "feat"]).ok();
    let id = handed_over(&repo, "one");
    repo.git(["notes", "--ref", HANDOFFS, "append", "-m", "Reviewed."]).ok();
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("base.txt", "x\n", "Moved");
    repo.git(["cherry-pick", "feat"]).ok();
    repo.git(["branch", "-q", "-D", "feat"]).ok();
    let picked = repo.head();
    let found = repo.json(["repair", "--apply"]);
    assert_eq!(found["repairs"][0]["to"], *picked, "{found}");
    assert_eq!(found["repairs"][0]["rule"], "patch_id");
    assert_eq!(at(&repo, &picked), [id]);
    assert!(repo.note(HANDOFFS, &picked).contains("Reviewed."));
    assert_eq!(repo.json(["repair"])["total_found"], 0);
}

#[test]
fn what_took_the_place_of_the_parent_does_not_get_the_childs_handoff() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.run(["init"]).ok();
    repo.git(["switch", "-q", "-c", "feat"]).ok();
    repo.commit("one.txt", "1\n", "one");
    let id = handed_over(&repo, "two");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("base.txt", "x\n", "Moved");
    repo.git(["cherry-pick", "feat~1"]).ok();
    let one = repo.head();
    repo.json(["repair", "--apply"]);
    assert!(at(&repo, &one).is_empty());
    repo.git(["cherry-pick", "feat"]).ok();
    repo.json(["repair", "--apply"]);
    assert_eq!(at(&repo, &repo.head()), std::slice::from_ref(&id));
    assert!(at(&repo, &one).is_empty());
}

#[test]
fn what_could_not_follow_an_amend_follows_with_the_next_command() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.run(["init"]).ok();
    handed_over(&repo, "one");
    repo.git(["notes", "--ref", HANDOFFS, "append", "-m", "Reviewed."]).ok();
    repo.run(["status"]).ok();
    let lock = File::options().write(true).open(repo.path.join(".git/empirica/lock")).expect("a lock");
    lock.lock().expect("the lock");
    repo.git(["commit", "-q", "--amend", "-m", "one, amended"]).ok();
    assert!(!repo.note(HANDOFFS, &repo.head()).contains("Reviewed."));
    assert!(repo.run(["doctor"]).out.contains("post-rewrite"), "what went wrong can be seen");
    drop(lock);
    repo.run(["status"]).ok();
    let note = repo.note(HANDOFFS, &repo.head());
    assert!(note.contains("Reviewed.") && note.contains("## What I Learned"), "{note}");
}

#[test]
fn views_name_the_commit_that_holds_the_work() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.run(["init"]).ok();
    let id = handed_over(&repo, "one");
    for (arguments, key) in [(&["resume"][..], "sessions"), (&["handoff", "list"], "handoffs"), (&["query"], "reports")]
    {
        let json = repo.json(arguments);
        assert_eq!((&json[key][0]["handoff_id"], &json[key][0]["commit"]), (&id.clone().into(), &repo.head().into()));
    }
}

#[test]
fn the_group_of_a_shared_repository_can_write_where_we_wrote() {
    let place = Place::new();
    let repo = place.repo("r");
    repo.git(["init", "-q", "--shared=group"]).ok();
    repo.run(["init"]).ok();
    let mut shell = place.command("sh", &repo.path);
    let script = "umask 077; git empirica session start --ai a && git empirica finding f && git empirica handoff";
    let out = shell.args(["-c", script]).output().expect("it starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut folders = vec![repo.path.join(".git/empirica"), repo.path.join(".git/refs/notes")];
    let objects = std::fs::read_dir(repo.path.join(".git/objects")).expect("a folder").flatten();
    folders.extend(objects.map(|entry| entry.path()).filter(|path| path.is_dir()));
    while let Some(path) = folders.pop() {
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        let wanted = if path.is_dir() { 0o070 } else { 0o040 };
        // what git made before the group was named is git's
        if path.starts_with(repo.path.join(".git/empirica")) || path.starts_with(repo.path.join(".git/refs/notes")) {
            assert_eq!(mode & wanted, wanted, "{}: {mode:o}", path.display());
        }
        if path.is_dir() {
            folders.extend(std::fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()));
        } else if path.starts_with(repo.path.join(".git/objects")) {
            assert_eq!(mode & 0o040, 0o040, "{}: {mode:o}", path.display());
        }
    }
}

#[test]
fn a_url_that_git_rewrote_is_not_rewritten_again() {
    let place = Place::new();
    let repo = place.repo("r");
    let team = place.path().join("srv/team");
    let nested = team.join("team");
    std::fs::create_dir_all(&nested).expect("folders");
    for folder in [&team, &nested] {
        let path = folder.join("p.git");
        repo.git(["init", "-q", "--bare", path.to_str().expect("UTF-8")]).ok();
    }
    let srv = place.path().join("srv");
    let key = format!("url.{}/.insteadOf", team.display());
    repo.git(["config", &key, &format!("{}/", srv.display())]).ok();
    repo.git(["remote", "add", "origin", srv.join("p.git").to_str().expect("UTF-8")]).ok();
    repo.run(["init"]).ok();
    handed_over(&repo, "one");
    repo.git(["push", "-q", "origin", "main"]).ok();
    let refs = |path: &str| place.at(path).git_out(["for-each-ref", "--format=%(refname)"]);
    assert!(refs("srv/team/p.git").contains("refs/notes/empirica/handoffs"));
    assert_eq!(refs("srv/team/team/p.git"), "");
    repo.json(["finding", "later", "--session", "latest"]);
    repo.run(["sync"]).ok();
    assert_eq!(refs("srv/team/team/p.git"), "");
}

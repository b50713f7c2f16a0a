//! Interaction of hooks, repair and other writers: records taken from a parent, and delayed follow-ups.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;

use crate::support::harness::{Repo, Sandbox};

const HANDOFFS: &str = "refs/notes/empirica/handoffs";

/// Work that is handed over, then committed; the handoff's id.
fn handed_over(repo: &Repo<'_>, name: &str) -> String {
    repo.start("claude", name);
    repo.write(&format!("{name}.txt"), "x\n");
    let id = repo.hand_over(name);
    repo.run(["session", "end"]).ok();
    repo.commit(&format!("{name}.txt"), "x\n", name);
    id
}

#[test]
fn a_handoff_that_a_commit_took_from_its_parent_is_repaired_with_that_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
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
    assert_eq!(repo.handoffs_at(&picked), [id]);
    assert!(repo.note(HANDOFFS, &picked).contains("Reviewed."));
    assert_eq!(repo.json(["repair"])["total_found"], 0);
}

#[test]
fn the_replacement_of_the_parent_does_not_get_the_childs_handoff() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["switch", "-q", "-c", "feat"]).ok();
    repo.commit("one.txt", "1\n", "one");
    let id = handed_over(&repo, "two");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("base.txt", "x\n", "Moved");
    repo.git(["cherry-pick", "feat~1"]).ok();
    let one = repo.head();
    repo.json(["repair", "--apply"]);
    assert!(repo.handoffs_at(&one).is_empty());
    repo.git(["cherry-pick", "feat"]).ok();
    repo.json(["repair", "--apply"]);
    assert_eq!(repo.handoffs_at(&repo.head()), std::slice::from_ref(&id));
    assert!(repo.handoffs_at(&one).is_empty());
}

#[test]
fn records_that_could_not_follow_an_amend_follow_with_the_next_command() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
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
    assert!(note.contains("Reviewed.") && note.contains("- All: "), "{note}");
}

#[test]
fn views_name_the_commit_that_holds_the_work() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let id = handed_over(&repo, "one");
    for (arguments, key) in [(&["resume"][..], "sessions"), (&["handoff", "list"], "handoffs"), (&["query"], "reports")]
    {
        let json = repo.json(arguments);
        assert_eq!((&json[key][0]["handoff_id"], &json[key][0]["commit"]), (&id.clone().into(), &repo.head().into()));
    }
}

#[test]
fn the_group_of_a_shared_repository_can_write_where_we_wrote() {
    let place = Sandbox::new();
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
    let place = Sandbox::new();
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

#[test]
fn a_commit_waits_half_a_second_for_others_in_all() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    handed_over(&repo, "one");
    repo.start("claude", "two");
    repo.run(["finding", "kept"]).ok();
    repo.write(".git/refs/notes/empirica/data/journal.lock", "");
    let commit = repo.commit("two.txt", "x\n", "two");
    let errors = std::fs::read_to_string(repo.path.join(".git/empirica/hook-errors")).expect("errors of hooks");
    assert_eq!(errors.matches("post-commit: ").count(), 1, "one wait, not one a step: {errors}");
    std::fs::remove_file(repo.path.join(".git/refs/notes/empirica/data/journal.lock")).expect("the lock");
    repo.run(["status"]).ok();
    repo.run(["flush"]).ok();
    assert!(repo.note(HANDOFFS, &commit).contains("kept"));
}

#[test]
fn a_merge_concluded_by_hand_is_silent_and_succeeds() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.git(["switch", "-q", "-c", "side"]).ok();
    repo.commit("a.txt", "side\n", "Side");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("a.txt", "main\n", "Main");
    repo.start("claude", "t");
    repo.run(["finding", "on the way"]).ok();
    assert_ne!(repo.git(["merge", "side"]).code, 0, "it conflicts");
    repo.write("a.txt", "both\n");
    repo.git(["commit", "-q", "-a", "-m", "Merge side"]).ok();
    assert_eq!(repo.note(HANDOFFS, &repo.head()), "");
    let own = repo.commit("b.txt", "b\n", "Own");
    assert!(repo.note(HANDOFFS, &own).contains("on the way"));
}

#[test]
fn a_block_in_a_note_names_no_other_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let parent = repo.head();
    let id = handed_over(&repo, "one");
    assert!(!repo.note(HANDOFFS, &repo.head()).contains(&parent[..8]));
    assert!(repo.run(["show"]).ok().out.contains(&repo.head()[..8]), "on the terminal it is named: {id}");
}

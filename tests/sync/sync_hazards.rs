//! Git's own commands on shared notes: fetch, pull, mirrors, users' refspecs. Nothing is lost.

use std::fs;

use crate::repository::kinds::{Format, git_has};
use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{REFS, clones, hub, lines, statuses, sync, tips, trees, work};

/// Two clones, of which the first has shared and the second has something unpushed.
fn two<'p>(place: &'p Sandbox) -> (Repo<'p>, Vec<Repo<'p>>) {
    let hub = hub(place);
    let repos = clones(place, &hub, 2);
    work(&repos[0], "one");
    sync(&repos[0]);
    work(&repos[1], "two");
    (hub, repos)
}

#[test]
fn every_form_of_fetch_and_pull_loses_nothing_and_brings_teammates_handoffs() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let forms: [&[&str]; 5] = [
        &["fetch", "-q"],
        &["fetch", "-q", "--prune"],
        &["pull", "-q"],
        &["pull", "-q", "--rebase"],
        &["fetch", "-q", "--all", "--prune", "--force"],
    ];
    for (at, form) in forms.iter().enumerate() {
        work(&repos[0], &format!("one{at}"));
        sync(&repos[0]);
        work(&repos[1], &format!("two{at}"));
        let ours = lines(&repos[1]);
        repos[1].git(*form).ok();
        let text = format!("task of one{at}");
        // at once for our own log, and for git's after that
        assert!(repos[1].run(["log", "--handoffs"]).ok().out.contains(&text), "{form:?}");
        assert!(repos[1].git_out(["log", "--notes=empirica/handoffs"]).contains(&text), "{form:?}");
        let now = lines(&repos[1]);
        assert!(ours.iter().all(|line| now.contains(line)), "{form:?}");
    }
    let tips = tips(&repos[1]);
    repos[1].json(["status"]);
    assert_eq!(crate::sync::team::tips(&repos[1]), tips, "a reader that finds nothing new writes nothing");
    sync(&repos[1]);
    sync(&repos[0]);
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
}

#[test]
fn the_next_reading_command_merges_fetched_notes() {
    let place = Sandbox::new();
    let _clones = two(&place);
    for reader in [&["resume"][..], &["handoff", "list"], &["status"], &["session", "show", "latest:one"]] {
        let at = place.path().join("copy");
        let _ = std::fs::remove_dir_all(&at);
        place.command("cp", &place.path()).args(["-R", "c1", "copy"]).status().expect("a copy");
        let copy = place.at("copy");
        copy.git(["fetch", "-q"]).ok();
        copy.json(reader);
        assert!(copy.note(REFS[3], "HEAD").contains("task of one"), "{reader:?}");
        assert!(copy.note(REFS[3], "HEAD").contains("task of two"), "{reader:?}");
        assert_eq!(copy.lines("journal").len(), 4, "{reader:?}");
    }
}

#[test]
fn a_session_continued_elsewhere_is_complete_after_a_sync() {
    let place = Sandbox::new();
    let (_hub, repos) = two(&place);
    sync(&repos[1]);
    let id = repos[1].json(["session", "list", "--ai", "one"])["sessions"][0]["session_id"].clone();
    let id = id.as_str().expect("an id");
    repos[1].run(["session", "show", id]).ok();
    repos[0].json(["finding", "said later", "--session", id]);
    sync(&repos[0]);
    sync(&repos[1]);
    assert!(repos[1].run(["session", "show", id]).ok().out.contains("said later"));
}

#[test]
fn a_users_refspec_over_all_notes_loses_nothing_through_any_number_of_fetches_and_syncs() {
    let place = Sandbox::new();
    let (hub, repos) = two(&place);
    let ours = lines(&repos[1]);
    repos[1].git(["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]).ok();
    repos[1].git(["fetch", "-q", "--prune"]).ok();
    assert_eq!(tips(&repos[1]), tips(&hub), "the fetch was to overwrite ours");
    repos[1].json(["status"]);
    let now = lines(&repos[1]);
    assert!(ours.iter().all(|line| now.contains(line)));
    assert_eq!(sync(&repos[1])["rounds"], 1);
    // the fetch of a sync does not apply it
    work(&repos[0], "three");
    sync(&repos[0]);
    work(&repos[1], "four");
    assert_eq!(statuses(&sync(&repos[1])), ["exchanged"; 4]);
    repos[1].git(["fetch", "-q", "--prune"]).ok();
    sync(&repos[0]);
    sync(&repos[1]);
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    assert_eq!(lines(&repos[0]).len(), 16);
}

#[test]
fn a_mirror_push_from_a_clone_without_notes_is_undone_by_the_next_sync() {
    let place = Sandbox::new();
    let (hub, repos) = two(&place);
    sync(&repos[1]);
    let all = trees(&hub);
    let bare = place.clone(&hub, "bare", false);
    bare.git(["push", "-q", "--mirror"]).ok();
    assert_eq!(tips(&hub), vec![None; 4], "the mirror was to wipe them");
    repos[0].git(["fetch", "-q", "--prune"]).ok();
    repos[0].json(["status"]);
    assert_eq!(statuses(&sync(&repos[1])), ["sent"; 4]);
    assert_eq!(trees(&hub), all);
    sync(&repos[0]);
    assert_eq!(trees(&repos[0]), all);
}

#[test]
fn ref_name_conflicts_are_reported_and_lose_nothing() {
    let place = Sandbox::new();
    let (hub, repos) = two(&place);
    // where our folder would be, the remote has a ref
    let commit = hub.git_out(["rev-parse", "main"]);
    for name in REFS {
        hub.git(["update-ref", "-d", name]).ok();
    }
    hub.git(["update-ref", "refs/notes/empirica", &commit]).ok();
    let before = lines(&repos[1]);
    let failed = repos[1].fails(1, ["sync"]);
    assert!(failed["suggestion"].as_str().is_some_and(|text| text.contains("safe")), "{failed}");
    let now = lines(&repos[1]);
    assert!(before.iter().all(|line| now.contains(line)));
    hub.git(["update-ref", "-d", "refs/notes/empirica"]).ok();
    [1, 0, 1].iter().for_each(|at| drop(sync(&repos[*at])));
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
}

/// A stale lock of a killed git on a fetched ref.
fn left_lock(refs: &'static str, lock: &str) {
    let place = Sandbox::new();
    if !git_has(&place, Format { hash: "sha1", refs }) {
        return;
    }
    let hub = hub(&place);
    hub.git(["config", "--global", "init.defaultRefFormat", refs]).ok();
    let team = clones(&place, &hub, 2);
    let [one, other] = [&team[0], &team[1]];
    assert_eq!(one.path.join(".git/reftable").is_dir(), refs == "reftable");
    work(one, "one");
    sync(one);
    work(other, "other");
    sync(other);
    let lock = one.path.join(".git").join(lock);
    fs::write(&lock, "").expect("a lock");
    let tracked = || one.git_out(["rev-parse", "refs/notes/empirica/remotes/origin/data/journal"]);
    let before = tracked();
    let failed = one.run(["sync", "--json"]).code(1);
    let json = failed.json();
    let (output, path) = (json.to_string(), lock.display().to_string());
    assert!(output.contains(&path) && output.contains("cannot fetch the notes from origin"), "{output}");
    assert!(!output.contains("git remote -v"), "{output}");
    assert_eq!(json["recovery_commands"], serde_json::json!([format!("rm -f {path}")]), "{output}");
    assert_eq!(tracked(), before);
    assert!(lock.exists(), "it is never removed silently");
    fs::remove_file(&lock).expect("a lock");
    sync(one);
    assert!(lines(one).join("\n").contains("other"));
}

#[test]
fn a_lock_left_on_a_tracking_ref_is_named_with_its_remedy() {
    left_lock("files", "refs/notes/empirica/remotes/origin/data/journal.lock");
}

#[test]
fn a_lock_left_on_tables_of_refs_is_named_with_its_remedy() {
    left_lock("reftable", "reftable/tables.list.lock");
}

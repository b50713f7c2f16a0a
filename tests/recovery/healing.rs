//! Notes refs changed by others: nothing is lost, and the next command, even a reading one, restores them.

use std::fs::{self, File};

use crate::support::harness::{Repo, Sandbox};

const REFS: [&str; 4] = [
    "refs/notes/empirica/data/checkpoints",
    "refs/notes/empirica/data/handoffs",
    "refs/notes/empirica/data/journal",
    "refs/notes/empirica/handoffs",
];

/// A session with something on every ref; returns its handoff.
fn work(repo: &Repo<'_>, ai: &str) -> String {
    repo.start(ai, &format!("task of {ai}"));
    repo.json(["finding", &format!("finding of {ai}"), "--ai", ai]);
    repo.json(["checkpoint", "-v", "know=0.5", "--ai", ai]);
    let handoff = repo.json(["handoff", "--ai", ai]);
    assert_eq!(handoff["degraded_mode"], false, "{handoff}");
    handoff["handoff_id"].as_str().expect("an id").to_owned()
}

fn tree(repo: &Repo<'_>, name: &str) -> Option<String> {
    let ran = repo.git(["rev-parse", "-q", "--verify", &format!("{name}^{{tree}}")]);
    (ran.code == 0).then(|| ran.out.trim().to_owned())
}

fn trees(repo: &Repo<'_>) -> Vec<Option<String>> {
    REFS.iter().map(|name| tree(repo, name)).collect()
}

/// The trees of a repository where every ref exists.
#[track_caller]
fn whole(repo: &Repo<'_>) -> Vec<Option<String>> {
    let trees = trees(repo);
    assert!(trees.iter().all(Option::is_some), "{trees:?}");
    trees
}

fn ids(repo: &Repo<'_>) -> Vec<String> {
    let list = repo.json(["handoff", "list"]);
    let mut ids: Vec<String> = list["handoffs"]
        .as_array()
        .expect("handoffs")
        .iter()
        .map(|h| h["handoff_id"].as_str().expect("handoffs").to_owned())
        .collect();
    ids.sort();
    ids
}

/// Every record line of every namespace, sorted; a line on two objects comes twice.
fn lines(repo: &Repo<'_>) -> Vec<String> {
    let mut lines: Vec<String> = ["journal", "checkpoints", "handoffs"].iter().flat_map(|s| repo.lines(s)).collect();
    lines.sort();
    lines
}

/// Two clones of one bare repository, with the notes of neither.
fn team(place: &Sandbox) -> (Repo<'_>, Repo<'_>, Repo<'_>) {
    let seed = place.repo("seed");
    seed.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    let hub = place.at("hub.git");
    let (one, two) = (place.clone(&hub, "one", false), place.clone(&hub, "two", false));
    (hub, one, two)
}

fn push(repo: &Repo<'_>) {
    repo.git(["push", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
}

#[test]
fn a_forced_fetch_over_our_refs_loses_no_record() {
    let place = Sandbox::new();
    let (_hub, one, two) = team(&place);
    let (first, second) = (work(&one, "one"), work(&two, "two"));
    let (theirs, ours) = (lines(&one), lines(&two));
    let block = two.note(REFS[3], &two.head());
    push(&one);
    two.git(["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]).ok();
    assert_eq!(lines(&two), theirs, "the fetch was to overwrite ours");

    let mut both = [first, second];
    both.sort();
    assert_eq!(ids(&two), both);
    let mut expected = [ours, theirs].concat();
    expected.sort();
    assert_eq!(lines(&two), expected);
    let note = two.note(REFS[3], &two.head());
    assert!(note.contains(block.trim_end()) && note.contains("task of one"), "{note}");
    two.fsck();
}

#[test]
fn a_pruning_fetch_that_deletes_notes_refs_loses_nothing() {
    let place = Sandbox::new();
    let (_hub, _one, two) = team(&place);
    work(&two, "two");
    let before = whole(&two);
    two.git(["config", "--add", "remote.origin.fetch", "+refs/notes/*:refs/notes/*"]).ok();
    two.git(["fetch", "-q", "--prune"]).ok();
    assert_eq!(trees(&two), vec![None; 4], "the prune was to delete them");
    two.json(["session", "list"]);
    assert_eq!(trees(&two), before);
}

#[test]
fn each_deleted_ref_is_back_after_any_command() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo, "a");
    let before = whole(&repo);
    let readers: [&[&str]; 8] = [
        &["handoff", "list"],
        &["resume"],
        &["log", "--handoffs"],
        &["status"],
        &["session", "show", "latest"],
        &["show"],
        &["query"],
        &["flush"],
    ];
    for name in REFS {
        for reader in readers {
            repo.git(["update-ref", "-d", name]).ok();
            assert_eq!(tree(&repo, name), None);
            repo.json(reader);
            assert_eq!(trees(&repo), before, "{name} after {reader:?}");
        }
    }
    repo.fsck();
}

#[test]
fn a_ref_set_back_is_united_with_what_it_had() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let old = work(&repo, "a");
    let tips: Vec<String> = REFS.iter().map(|name| repo.git_out(["rev-parse", name])).collect();
    repo.commit("a", "a", "Second");
    let new = work(&repo, "b");
    let before = whole(&repo);
    for (name, tip) in REFS.iter().zip(&tips) {
        repo.git(["update-ref", name, tip]).ok();
    }
    assert_ne!(trees(&repo), before);
    assert_eq!(ids(&repo), [old, new]);
    assert_eq!(trees(&repo), before);
}

#[test]
fn a_ref_set_back_and_written_on_by_others_keeps_both() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let journal = REFS[2];
    work(&repo, "a");
    let known = repo.lines("journal");
    repo.git(["update-ref", "-d", journal]).ok();
    repo.git(["notes", "--ref", journal, "add", "-m", "from scratch"]).ok();
    repo.json(["status"]);
    let expected: String = known.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(repo.note(journal, "HEAD"), expected + "from scratch\n");
}

#[test]
fn notes_removed_overwritten_or_pruned_with_git_come_back() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    let gone = repo.commit("t", "t", "Topic");
    work(&repo, "a");
    repo.git(["switch", "-q", "main"]).ok();
    work(&repo, "b");
    let before = whole(&repo);

    for name in REFS {
        repo.git(["notes", "--ref", name, "remove", "HEAD"]).ok();
    }
    assert_ne!(trees(&repo), before);
    repo.json(["handoff", "list"]);
    assert_eq!(trees(&repo), before);

    repo.git(["notes", "--ref", REFS[1], "add", "-f", "-m", "overwritten"]).ok();
    repo.json(["handoff", "list"]);
    assert!(repo.note(REFS[1], "HEAD").ends_with("}\noverwritten\n"));
    let before = whole(&repo);

    repo.git(["branch", "-q", "-D", "topic"]).ok();
    repo.git(["reflog", "expire", "--expire=now", "--all"]).ok();
    repo.git(["-c", "gc.auto=0", "prune", "--expire=now"]).ok();
    assert_ne!(repo.git(["cat-file", "-e", &gone]).code, 0, "the annotated commit was to vanish");
    for name in REFS {
        repo.git(["notes", "--ref", name, "prune"]).ok();
    }
    assert_ne!(trees(&repo), before);
    assert_eq!(ids(&repo).len(), 2);
    assert_eq!(trees(&repo), before);
}

#[test]
fn text_appended_by_a_user_survives_repair_and_writes() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo, "a");
    let block = repo.note(REFS[3], "HEAD");
    for name in REFS {
        repo.git(["notes", "--ref", name, "append", "-m", "Looks good to me."]).ok();
    }
    repo.git(["notes", "--ref", REFS[3], "append", "-m", "But see the port.\n\nTwice."]).ok();
    repo.json(["status"]);
    work(&repo, "b");
    for name in REFS {
        repo.git(["update-ref", "-d", name]).ok();
    }
    repo.json(["status"]);
    for name in REFS {
        assert!(repo.note(name, "HEAD").contains("\nLooks good to me.\n"), "{name}");
    }
    let note = repo.note(REFS[3], "HEAD");
    assert!(note.starts_with(block.trim_end()), "{note}");
    assert!(note.ends_with("\n\nLooks good to me.\n\nBut see the port.\n\nTwice.\n"), "{note}");
    assert_eq!(note.matches("Looks good").count(), 1, "{note}");
}

#[test]
fn one_repair_is_enough_and_reading_alone_writes_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo, "a");
    repo.git(["update-ref", "-d", REFS[2]]).ok();
    repo.json(["status"]);
    let tips: Vec<String> = REFS.iter().map(|name| repo.git_out(["rev-parse", name])).collect();
    for reader in [["handoff", "list"], ["session", "list"], ["log", "--all"]] {
        repo.json(reader);
        assert_eq!(REFS.map(|name| repo.git_out(["rev-parse", name])).to_vec(), tips, "{reader:?}");
    }
}

#[test]
fn notes_that_cannot_be_repaired_now_are_still_read() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let id = work(&repo, "a");
    let before = whole(&repo);
    for name in REFS {
        repo.git(["update-ref", "-d", name]).ok();
    }
    repo.git(["config", "empirica.lockTimeout", "50ms"]).ok();
    let lock = File::options().write(true).open(repo.path.join(".git/empirica/lock")).unwrap();
    lock.lock().unwrap();
    let list = repo.json(["handoff", "list"]);
    assert_eq!(list["handoffs"][0]["handoff_id"], *id);
    assert!(list["warning"].is_string(), "{list}");
    assert!(repo.json(["log", "--journal"])["commits"][0]["journal"].to_string().contains("finding of a"));
    drop(lock);
    repo.json(["handoff", "list"]);
    assert_eq!(trees(&repo), before);
}

#[test]
fn records_of_another_clone_are_read_from_the_tracking_refs() {
    let place = Sandbox::new();
    let (_hub, one, two) = team(&place);
    let id = work(&one, "one");
    push(&one);
    let specs = [
        "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*",
        "+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/origin/handoffs*",
    ];
    two.git(["fetch", "-q", "origin", specs[0], specs[1]]).ok();
    assert_eq!(trees(&two), vec![None; 4]);

    assert_eq!(ids(&two), [id.as_str()]);
    assert_eq!(two.json(["resume"])["sessions"][0]["handoff_id"], *id);
    let log = two.json(["log", "--handoffs", "--journal", "--checkpoints"]);
    let commit = &log["commits"][0];
    assert_eq!(commit["handoffs"][0]["handoff_id"], *id, "{log}");
    assert!(commit["journal"].to_string().contains("finding of one"), "{log}");
    assert_eq!(commit["checkpoints"].as_array().map(Vec::len), Some(1), "{log}");
    assert!(two.json(["show", &id]).to_string().contains("task of one"));

    // the same records in our refs, too, are still one each
    let own = work(&two, "two");
    two.git(["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*", specs[0], specs[1]]).ok();
    let mut both = [id, own];
    both.sort();
    assert_eq!(ids(&two), both);
    assert_eq!(two.json(["log", "--handoffs"])["commits"][0]["handoffs"].as_array().map(Vec::len), Some(2));
    let journal = two.json(["log", "--journal"])["commits"][0]["journal"].to_string();
    assert_eq!(journal.matches("finding of one").count(), 1, "{journal}");
    assert_eq!(journal.matches("finding of two").count(), 1, "{journal}");
    let all = lines(&two);
    let once: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(once.len(), all.len(), "a record was doubled");
}

#[test]
fn a_new_id_is_later_than_every_id_that_was_fetched() {
    let mut place = Sandbox::new();
    {
        let (_hub, one, _two) = team(&place);
        work(&one, "one");
        push(&one);
    }
    // the other clone's clock is an hour behind
    place.now = "2026-03-01T11:00:00.000Z".into();
    let (one, two) = (place.at("one"), place.at("two"));
    two.git(["fetch", "-q", "origin", "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*"]).ok();
    two.json(["status"]);
    let newest = lines(&one).into_iter().max().unwrap();
    two.start("two", "t");
    let id = two.json(["finding", "f"])["id"].as_str().unwrap().to_owned();
    let known = empirica_notes::format::lines::id(newest.as_bytes()).unwrap();
    assert!(id.as_str() > known, "{id} is not later than {known}");
}

#[test]
fn an_unreadable_tracking_ref_hides_no_local_record() {
    let place = Sandbox::new();
    let (_hub, one, two) = team(&place);
    work(&one, "one");
    push(&one);
    two.git(["fetch", "-q", "origin", "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*"]).ok();
    let own = work(&two, "two");
    // a fetch that broke off: the ref is there, its commit is not
    let name = two.path.join(".git/refs/notes/empirica/remotes/origin/data/handoffs");
    fs::write(name, format!("{}\n", "1".repeat(40))).unwrap();
    assert!(ids(&two).contains(&own));
}

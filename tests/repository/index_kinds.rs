//! The index in linked worktrees, bare repositories, submodules, other object formats, and clones that lack objects.

use std::fs;

use crate::repository::index::{answers, equal, folder, records, remove};
use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{REFS, SPECS, hub, sync, work};

const ASKED: [&str; 6] =
    ["session list", "handoff list", "query", "calibration", "resume --last 3", "log --handoffs --journal"];

/// The answers, which must equal those of a rebuilt index.
#[track_caller]
fn assert_same_after_rebuild(repo: &Repo<'_>) -> Vec<(String, i32, String)> {
    let stored = records(repo);
    let known = answers(repo, &ASKED, &stored);
    assert!(known.iter().all(|(_, code, _)| [0, 1].contains(code)), "{known:#?}");
    assert!(folder(repo).join("index.db").exists());
    remove(repo);
    equal(&known, &answers(repo, &ASKED, &stored), "made anew");
    known
}

#[test]
fn linked_worktrees_share_one_index() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo, "ada");
    repo.git(["worktree", "add", "-q", "--detach", "../w"]).ok();
    let tree = place.at("w");
    work(&tree, "bob");
    assert_eq!(folder(&repo), folder(&tree));
    assert_eq!(tree.json(["query"])["total_found"], 2);
    let made = fs::metadata(folder(&repo).join("index.db")).expect("an index").modified().expect("a time");
    assert_eq!(repo.json(["query"])["total_found"], 2);
    let now = fs::metadata(folder(&repo).join("index.db")).expect("an index").modified().expect("a time");
    assert_eq!(made, now, "what one brought up to date is so for the other");
    assert_same_after_rebuild(&tree);
    assert_same_after_rebuild(&repo);
}

#[test]
fn a_bare_repository_a_submodule_and_sha256_have_an_index_of_their_own() {
    let place = Sandbox::new();
    let (hub, repo) = shared(&place);
    work(&repo, "ada");
    sync(&repo);
    assert_eq!(hub.json(["query"])["total_found"], 1);
    assert_same_after_rebuild(&hub);

    let outer = place.repo("outer");
    work(&outer, "outer");
    let url = hub.path.to_string_lossy().into_owned();
    outer.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "inner"]).ok();
    let inner = place.at("outer/inner");
    inner.git(["config", "user.name", "I"]).ok();
    inner.git(["config", "user.email", "i@example.com"]).ok();
    work(&inner, "inner");
    assert_ne!(folder(&outer), folder(&inner));
    assert_eq!(inner.json(["query"])["reports"][0]["ai_id"], "inner");
    assert_eq!(outer.json(["query"])["reports"][0]["ai_id"], "outer");
    assert_same_after_rebuild(&inner);
    assert!(outer.git_out(["status", "--porcelain"]).lines().all(|line| !line.contains("index.db")));

    let other = place.at("sha256");
    fs::create_dir(&other.path).expect("a folder");
    other.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    other.git(["config", "user.name", "S"]).ok();
    other.git(["config", "user.email", "s@example.com"]).ok();
    other.commit("f", "f\n", "Begin");
    work(&other, "sha");
    assert_eq!(other.json(["query"])["total_found"], 1);
    work(&other, "more");
    assert_same_after_rebuild(&other);
}

#[test]
fn a_shallow_clone_has_an_index_over_all_notes() {
    let place = Sandbox::new();
    let (hub, repo) = shared(&place);
    work(&repo, "ada");
    sync(&repo);
    let url = format!("file://{}", hub.path.display());
    repo.git(["clone", "-q", "--depth", "1", &url, "../shallow"]).ok();
    let shallow = place.at("shallow");
    shallow.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    assert_eq!(shallow.json(["query"])["total_found"], 1);
    assert_same_after_rebuild(&shallow);
}

/// A server, and a clone that fetches its notes.
fn shared(place: &Sandbox) -> (Repo<'_>, Repo<'_>) {
    let hub = hub(place);
    let repo = place.clone(&hub, "c", false);
    SPECS.iter().for_each(|spec| drop(repo.git(["config", "--add", "remote.origin.fetch", spec]).ok()));
    (hub, repo)
}

/// A clone without blobs, that has the notes' trees.
fn partial<'p>(place: &'p Sandbox, hub: &Repo<'p>) -> Repo<'p> {
    hub.git(["config", "uploadpack.allowFilter", "true"]).ok();
    hub.git(["config", "uploadpack.allowAnySHA1InWant", "true"]).ok();
    let url = format!("file://{}", hub.path.display());
    hub.git(["clone", "-q", "--filter=blob:none", &url, "../partial"]).ok();
    let repo = place.at("partial");
    repo.git(["config", "user.name", "P"]).ok();
    repo.git(["config", "user.email", "p@example.com"]).ok();
    repo.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    repo
}

#[test]
fn a_partial_clone_fetches_all_missing_notes_in_one_batch() {
    let place = Sandbox::new();
    let (hub, repo) = shared(&place);
    for (n, ai) in ["ada", "bob", "cyd"].into_iter().enumerate() {
        repo.commit("f", &format!("{n}\n"), "More");
        work(&repo, ai);
    }
    repo.git(["push", "-q", "origin", "HEAD"]).ok();
    sync(&repo);
    let partial = partial(&place, &hub);
    let packs = || fs::read_dir(partial.path.join(".git/objects/pack")).expect("packs").count();
    let before = packs();
    // the first command fetches them
    assert!(partial.run(["log", "--oneline"]).ok().out.contains("bob"));
    let fetched = packs();
    assert!(fetched > before && fetched <= before + 4, "one pack: {before}, then {fetched}");
    assert_eq!(partial.json(["query"])["total_found"], 3);
    for command in ASKED {
        partial.run(command.split(' ')).ok();
    }
    assert_eq!(packs(), fetched);
    assert_same_after_rebuild(&partial);
}

#[test]
fn a_note_that_a_partial_clone_left_out_is_not_written_over() {
    let place = Sandbox::new();
    let (hub, repo) = shared(&place);
    work(&repo, "ada");
    sync(&repo);
    let partial = partial(&place, &hub);
    let away = hub.path.with_extension("away");
    fs::rename(&hub.path, &away).expect("moved");
    partial.json(["session", "start", "--ai", "bob"]);
    partial.json(["finding", "It is said beside what is not here"]);
    assert_eq!(partial.json(["flush"])["degraded_mode"], true);
    fs::rename(&away, &hub.path).expect("moved back");
    partial.json(["flush"]);
    let note = partial.note(REFS[0], &partial.head());
    assert!(note.contains("\"ai\":\"ada\"") && note.contains("beside what is not here"), "{note}");
}

#[test]
fn a_partial_clone_answers_without_its_remote_and_retries_later() {
    let place = Sandbox::new();
    let (hub, repo) = shared(&place);
    work(&repo, "ada");
    sync(&repo);
    let partial = partial(&place, &hub);
    let away = hub.path.with_extension("away");
    fs::rename(&hub.path, &away).expect("moved");
    assert_eq!(partial.json(["query"])["total_found"], 0);
    fs::rename(&away, &hub.path).expect("moved back");
    let later = partial.json_with_env(&[("EMPIRICA_NOW", "2026-03-01T13:00:00.000Z")], ["query"]);
    assert_eq!(later["total_found"], 1);
}

// An index must not be trusted any more when blobs have come that it was made without.
#[test]
fn notes_are_found_when_their_blobs_arrive() {
    let place = Sandbox::new();
    let (hub, repo) = shared(&place);
    work(&repo, "ada");
    sync(&repo);
    let partial = partial(&place, &hub);
    for command in ASKED {
        partial.run(command.split(' ')).ok();
    }
    // git itself fetches missing blobs on demand
    for name in &REFS[..3] {
        for line in partial.git_out(["notes", "--ref", name, "list"]).lines() {
            partial.git(["cat-file", "blob", &line[..line.find(' ').expect("a blob")]]).ok();
        }
    }
    assert_eq!(partial.json(["query"])["total_found"], 1);
    assert_same_after_rebuild(&partial);
}

//! Redacted text never returns: epochs in all merges, from either side.

use crate::support::harness::{Repo, Sandbox};
use crate::sync::team::{REFS, clones, hub, is_quiet, lines, sync, tips, trees, work};

const SECRET: &str = "the-secret-words";

/// Rewrites a ref as a redaction does: a commit without parents, the record's line a stub, an epoch that names it.
pub fn redact(repo: &Repo<'_>, name: &str, id: &str, stub: &str, number: u32) {
    let place = repo.place;
    let mut entries = String::new();
    for line in repo.git_out(["ls-tree", "-r", name]).lines() {
        let (meta, path) = line.split_once('\t').expect("an entry");
        let blob = meta.split(' ').nth(2).expect("a blob");
        if path == "epoch" {
            continue;
        }
        let note = repo.git_out(["cat-file", "blob", blob]);
        let kept: Vec<String> = if name == REFS[3] {
            vec![if note.contains(id) { stub.to_owned() } else { note }]
        } else {
            note.lines()
                .map(|line| if line.contains(&format!("\"id\":\"{id}\"")) { stub } else { line }.to_owned())
                .collect()
        };
        entries.push_str(&format!("100644 blob {}\t{path}\n", blob_of(repo, &format!("{}\n", kept.join("\n")))));
    }
    entries.push_str(&format!("100644 blob {}\tepoch\n", blob_of(repo, &format!("{number}\n{id}\n"))));
    std::fs::write(place.path().join("in"), entries).expect("a file");
    let input = std::fs::File::open(place.path().join("in")).expect("a file");
    let out = place.command("git", &repo.path).arg("mktree").stdin(input).output().expect("git starts");
    let tree = String::from_utf8(out.stdout).expect("an id").trim().to_owned();
    let commit = repo.git_out(["commit-tree", "-m", "redacted", &tree]);
    repo.git(["update-ref", name, &commit]).ok();
}

fn blob_of(repo: &Repo<'_>, text: &str) -> String {
    std::fs::write(repo.place.path().join("blob"), text).expect("a file");
    repo.git_out(["hash-object", "-w", "../blob"])
}

pub fn stub(id: &str) -> String {
    format!(r#"{{"v":1,"id":"{id}","kind":"redacted"}}"#)
}

/// A finding with the secret on a ref that both clones and the hub have; its id.
fn shared<'p>(place: &'p Sandbox) -> (Repo<'p>, Vec<Repo<'p>>, String) {
    let hub = hub(place);
    let repos = clones(place, &hub, 3);
    work(&repos[0], "one");
    let id = repos[0].json(["finding", SECRET])["id"].as_str().expect("an id").to_owned();
    sync(&repos[0]);
    for (repo, ai) in repos[1..].iter().zip(["two", "three"]) {
        sync(repo);
        repo.start(ai, "t");
    }
    assert!(lines(&repos[2]).join("\n").contains(SECRET));
    (hub, repos, id)
}

/// Whether anything that can be reached from our ref or by a reader holds the secret.
fn holds(repo: &Repo<'_>, name: &str) -> bool {
    let objects = repo.git_out(["rev-list", "--objects", name]);
    objects.lines().any(|line| {
        let id = line.split(' ').next().expect("an id");
        repo.git(["cat-file", "-p", id]).out.contains(SECRET)
    })
}

#[test]
fn a_redaction_reaches_every_clone_and_no_sync_restores_the_text() {
    let place = Sandbox::new();
    let (hub, repos, id) = shared(&place);
    // the others go on, and do not know
    repos[1].json(["finding", "more of the second"]);
    repos[1].json(["flush"]);
    repos[2].json(["finding", "more of the third"]);
    redact(&repos[0], REFS[0], &id, &stub(&id), 1);
    repos[0].json(["status"]);
    assert!(!holds(&repos[0], REFS[0]), "healing brought it back");
    sync(&repos[0]);
    assert!(!holds(&hub, REFS[0]), "the one forced push");
    for at in [1, 2, 0, 1, 2] {
        sync(&repos[at]);
    }
    for repo in repos.iter().chain([&hub]) {
        assert!(!holds(repo, REFS[0]));
        let all = lines(repo).join("\n");
        for kept in ["more of the second", "more of the third", "finding of one", &stub(&id)] {
            assert!(all.contains(kept), "{kept} is gone");
        }
    }
    assert_eq!(trees(&repos[1]), trees(&hub));
    repos.iter().for_each(|repo| assert!(is_quiet(&sync(repo))));
    assert_eq!(repos[2].git_out(["cat-file", "-p", &format!("{}:epoch", REFS[0])]), format!("1\n{id}"));
}

#[test]
fn pushing_the_old_history_after_a_redaction_does_not_restore_the_text() {
    let place = Sandbox::new();
    let (hub, repos, id) = shared(&place);
    redact(&repos[0], REFS[0], &id, &stub(&id), 1);
    sync(&repos[0]);
    // by plain git, with force, as one without the program would
    repos[1].git(["push", "-q", "-f", "origin", REFS[0]]).ok();
    assert!(holds(&hub, REFS[0]));
    repos[2].json(["finding", "meanwhile"]);
    sync(&repos[2]);
    sync(&repos[0]);
    assert!(!holds(&hub, REFS[0]) && !holds(&repos[0], REFS[0]));
    sync(&repos[2]);
    assert_eq!(trees(&repos[2]), trees(&hub));
    assert!(lines(&hub).join("\n").contains("meanwhile"));
}

#[test]
fn a_ref_set_back_behind_a_redaction_is_healed_without_the_text() {
    let place = Sandbox::new();
    let (_hub, repos, id) = shared(&place);
    let old = repos[0].git_out(["rev-parse", REFS[0]]);
    redact(&repos[0], REFS[0], &id, &stub(&id), 1);
    repos[0].json(["status"]);
    let redacted = tips(&repos[0]);
    repos[0].git(["update-ref", REFS[0], &old]).ok();
    repos[0].json(["status"]);
    assert_eq!(tips(&repos[0]), redacted);
    repos[0].git(["update-ref", REFS[0], &old]).ok();
    repos[0].git(["notes", "--ref", REFS[0], "append", "-m", "written on it"]).ok();
    repos[0].json(["finding", "and a record"]);
    repos[0].json(["flush"]);
    assert!(!holds(&repos[0], REFS[0]));
    let all = lines(&repos[0]).join("\n");
    assert!(all.contains("written on it") && all.contains("and a record") && all.contains(&stub(&id)), "{all}");
}

#[test]
fn pending_records_with_a_redacted_id_are_neither_shown_nor_written() {
    let place = Sandbox::new();
    let (_hub, repos, _) = shared(&place);
    let id = repos[0].json(["finding", &format!("{SECRET} again")])["id"].as_str().expect("an id").to_owned();
    repos[0].json(["finding", "innocent"]);
    // redacted elsewhere, and fetched before it was flushed here
    redact(&repos[1], REFS[0], &id, &stub(&id), 2);
    sync(&repos[1]);
    repos[0].git(["fetch", "-q"]).ok();
    let shown = repos[0].run(["log", "--journal"]).ok().out;
    assert!(shown.contains("innocent") && !shown.contains("again"), "{shown}");
    repos[0].json(["flush"]);
    let all = lines(&repos[0]).join("\n");
    assert!(all.contains("innocent") && !all.contains("again"), "{all}");
}

#[test]
fn readers_do_not_show_the_text_from_a_source_that_does_not_know() {
    let place = Sandbox::new();
    let (_hub, repos, id) = shared(&place);
    redact(&repos[0], REFS[0], &id, &stub(&id), 1);
    // the tracking ref still has it, and nothing can be written now
    repos[0].git(["config", "empirica.lockTimeout", "20ms"]).ok();
    let lock = std::fs::File::options().write(true).open(repos[0].path.join(".git/empirica/lock")).expect("a lock");
    lock.lock().expect("the lock");
    for reader in [&["log", "--journal"][..], &["resume", "--detail", "full"], &["session", "show", "latest:one"]] {
        let shown = repos[0].run(reader).ok().out;
        assert!(shown.contains("finding of one") && !shown.contains(SECRET), "{reader:?}: {shown}");
    }
}

#[test]
fn concurrent_redactions_both_hold_and_neither_history_is_a_parent() {
    let place = Sandbox::new();
    let (hub, repos, first) = shared(&place);
    let all = lines(&repos[1]);
    let second = all.iter().find(|line| line.contains("finding of one")).expect("a line");
    let second = empirica_notes::format::lines::id(second.as_bytes()).expect("an id").to_owned();
    redact(&repos[0], REFS[0], &first, &stub(&first), 1);
    redact(&repos[1], REFS[0], &second, &stub(&second), 1);
    for at in [0, 1, 2, 0, 1] {
        sync(&repos[at]);
    }
    for repo in repos.iter().chain([&hub]) {
        let reached = repo.git_out(["log", "-p", REFS[0]]);
        assert!(!reached.contains(SECRET) && !reached.contains("finding of one"), "{reached}");
        assert!(reached.contains(&stub(&first)) && reached.contains(&stub(&second)));
    }
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    repos.iter().for_each(|repo| assert!(is_quiet(&sync(repo))));
}

#[test]
fn a_redacted_block_of_markdown_stays_redacted_and_others_entries_are_united() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let id = work(&repos[0], SECRET);
    sync(&repos[0]);
    sync(&repos[1]);
    let short = &id[id.len() - 8..];
    let block = format!("# Handoff {short}, redacted\n\n-- empirica {id} r9");
    redact(&repos[0], REFS[3], &id, &block, 1);
    sync(&repos[0]);
    repos[1].git(["notes", "--ref", REFS[3], "append", "-m", "Reviewed."]).ok();
    sync(&repos[1]);
    sync(&repos[0]);
    for repo in repos.iter().chain([&hub]) {
        let note = repo.note(REFS[3], &repos[0].head());
        assert!(note.contains("redacted") && note.contains("Reviewed.") && !note.contains(SECRET), "{note}");
        assert!(!holds(repo, REFS[3]));
    }
}

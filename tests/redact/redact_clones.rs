//! No clone restores a redacted text: stars and rings of clones that wrote more, quoted it, and merge later.

use crate::redact::records::{SECRET, assert_gone, say};
use crate::support::harness::{Repo, Sandbox, is_long};
use crate::sync::team::{REFS, clones, hub, is_quiet, lines, sync, trees, work};

/// Every clone quotes the secret in what only it has: a handoff, a checkpoint, an answer, a note of a reviewer, a record that
/// still waits.
fn quote(repos: &[Repo<'_>], id: &str) {
    for (at, repo) in repos.iter().enumerate() {
        let ai = format!("ai{at}");
        let say = |arguments: &[&str]| drop(repo.json(arguments.iter().chain(&["--ai", &ai])));
        repo.start(&ai, "go on");
        say(&["finding", &format!("clone {at} heard: {SECRET}")]);
        say(&["unknown", &format!("question of clone {at}")]);
        say(&["finding", &format!("kept by clone {at}"), "--led-from", id]);
        say(&["checkpoint", "-v", "know=0.5"]);
        say(&["handoff", "--next", &format!("clone {at}: {SECRET}")]);
        repo.git(["notes", "--ref", REFS[3], "append", "-m", &format!("reviewer {at}: {SECRET}")]).ok();
        say(&["finding", &format!("clone {at} waits with: {SECRET}")]);
    }
}

#[track_caller]
fn assert_all_kept(repo: &Repo<'_>, n: usize) {
    let all = lines(repo).join("\n");
    let blobs = repo.git_out(["ls-tree", "-r", "--format=%(objectname)", REFS[3]]);
    let markdown: String = blobs.lines().map(|blob| repo.git_out(["cat-file", "blob", blob])).collect();
    for at in 0..n {
        for kept in [
            format!("\"kept by clone {at}\""),
            format!("question of clone {at}"),
            format!("clone {at} heard: [redacted]"),
            format!("clone {at} waits with: [redacted]"),
            format!("clone {at}: [redacted]"),
        ] {
            assert!(all.contains(&kept), "{kept} is gone: {all}");
        }
        assert!(markdown.contains(&format!("reviewer {at}: [redacted]")), "{markdown}");
        assert!(
            markdown.contains(&format!("clone {at}: \\[redacted\\]"))
                || markdown.contains(&format!("clone {at}: [redacted]")),
            "{markdown}"
        );
    }
}

/// All sync one after the other until nothing moves any more.
#[track_caller]
fn settle(repos: &[Repo<'_>], rounds: usize) {
    for _ in 0..rounds {
        repos.iter().for_each(|repo| drop(sync(repo)));
    }
    for repo in repos {
        assert!(is_quiet(&sync(repo)), "{} does not come to rest", repo.path.display());
    }
}

#[test]
fn in_a_star_of_clones_the_text_never_returns() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 4 + usize::from(is_long()));
    work(&repos[0], "one");
    let id = say(&repos[0]);
    repos[0].json(["handoff", "--next", "first"]);
    repos.iter().for_each(|repo| drop(sync(repo)));
    quote(&repos, &id);
    // one has published what it quoted before the redaction
    sync(&repos[1]);
    let done = repos[0].json(["redact", &id]);
    assert_eq!(done["complete"], true, "{done}");
    assert_gone(&hub, "hunter2hunter2");
    // one learns by git alone, one by a push of its own, the others by sync
    repos[2].git(["fetch", "-q"]).ok();
    repos[2].json(["status"]);
    assert_gone(&repos[2], "hunter2hunter2");
    repos[3].json(["init"]);
    repos[3].commit("c3", "c3\n", "Third clone");
    repos[3].git(["push", "-q", "origin", "HEAD:refs/heads/third"]).ok();
    settle(&repos, 2);
    assert_gone(&hub, "hunter2hunter2");
    for repo in &repos {
        assert_gone(repo, "hunter2hunter2");
        assert_eq!(trees(repo), trees(&hub));
        assert_all_kept(repo, repos.len());
        repo.fsck();
    }
}

/// Clones without a hub: each knows only the next one.
fn ring<'p>(place: &'p Sandbox, n: usize) -> Vec<Repo<'p>> {
    let hub = hub(place);
    let repos = clones(place, &hub, n);
    for (at, repo) in repos.iter().enumerate() {
        let next = repos[(at + 1) % n].path.display().to_string();
        repo.git(["remote", "set-url", "origin", &next]).ok();
    }
    repos
}

#[test]
fn in_a_ring_of_clones_the_text_never_returns() {
    let place = Sandbox::new();
    let repos = ring(&place, 4 + usize::from(is_long()));
    work(&repos[0], "one");
    let id = say(&repos[0]);
    for _ in 0..2 {
        repos.iter().for_each(|repo| drop(sync(repo)));
    }
    assert!(repos.iter().all(|repo| lines(repo).join("\n").contains(SECRET)));
    quote(&repos, &id);
    repos[3].json(["redact", &id]);
    // it goes round, against those that still send the text on
    for _ in 0..3 {
        repos.iter().for_each(|repo| drop(sync(repo)));
    }
    settle(&repos, 2);
    for repo in &repos {
        assert_eq!(trees(repo), trees(&repos[0]));
        assert_all_kept(repo, repos.len());
        assert_gone(repo, "hunter2hunter2");
    }
}

const OTHER: &str = "the production token is swordfish0815, see the wiki";

/// Three clones; the first has a session with two secrets.
fn two_secrets(place: &Sandbox) -> (Repo<'_>, Vec<Repo<'_>>, [String; 2]) {
    let hub = hub(place);
    let repos = clones(place, &hub, 3);
    repos[0].start("one", "t");
    let first = say(&repos[0]);
    let second = repos[0].json(["finding", OTHER])["id"].as_str().expect("an id").to_owned();
    (hub, repos, [first, second])
}

#[test]
fn concurrent_redactions_of_one_handoff_both_hold() {
    let place = Sandbox::new();
    let (hub, repos, [first, second]) = two_secrets(&place);
    let handed = repos[0].json(["handoff", "--next", "on"])["handoff_id"].as_str().expect("an id").to_owned();
    sync(&repos[0]);
    sync(&repos[1]);
    sync(&repos[2]);
    // neither reaches the other before it is done
    let away = repos[1].git_out(["remote", "get-url", "origin"]);
    repos[1].git(["remote", "set-url", "origin", "../nowhere.git"]).ok();
    repos[0].json(["redact", &first]);
    repos[1].run(["redact", &second]).code(1);
    assert_gone(&repos[1], "swordfish0815");
    repos[1].git(["remote", "set-url", "origin", &away]).ok();
    settle(&repos, 3);
    for repo in repos.iter().chain([&hub]) {
        assert_gone(repo, "hunter2hunter2");
        assert_gone(repo, "swordfish0815");
        assert_eq!(trees(repo), trees(&hub));
        let found = lines(repo).into_iter().find(|line| line.contains(&format!("\"id\":\"{handed}\"")));
        let found = found.expect("the handoff");
        assert_eq!(found.matches("\"text\":\"[redacted]\"").count(), 2, "{found}");
    }
}

#[test]
fn one_after_the_other_a_handoff_loses_both_texts_and_stays() {
    let place = Sandbox::new();
    let (hub, repos, [first, second]) = two_secrets(&place);
    repos[0].json(["handoff", "--next", "and this stays"]);
    repos.iter().for_each(|repo| drop(sync(repo)));
    repos[0].json(["redact", &first]);
    sync(&repos[1]);
    repos[1].json(["redact", &second]);
    // the third knows of neither and writes on
    repos[2].start("three", "t");
    repos[2].json(["handoff", "--next", &format!("{SECRET}; {OTHER}")]);
    settle(&repos, 3);
    for repo in &repos {
        assert_gone(repo, "hunter2hunter2");
        assert_gone(repo, "swordfish0815");
        let note = repo.note(REFS[3], &repo.head());
        assert!(note.contains("and this stays") && note.contains("[redacted]; [redacted]"), "{note}");
        assert_eq!(trees(repo), trees(&hub));
    }
}

#[test]
fn a_forced_fetch_of_the_old_state_restores_no_redacted_text() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    work(&repos[0], "one");
    let id = say(&repos[0]);
    sync(&repos[0]);
    sync(&repos[1]);
    repos[1].start("two", "t");
    repos[1].json(["handoff", "--next", &format!("quoted: {SECRET}")]);
    sync(&repos[1]);
    let url = repos[0].git_out(["remote", "get-url", "origin"]);
    repos[0].git(["remote", "set-url", "origin", "../nowhere.git"]).ok();
    repos[0].run(["redact", &id]).code(1);
    repos[0].git(["remote", "set-url", "origin", &url]).ok();
    repos[0].git(["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*"]).ok();
    repos[0].json(["status"]);
    assert_gone(&repos[0], "hunter2hunter2");
    assert!(lines(&repos[0]).join("\n").contains("quoted: [redacted]"));
    settle(&repos, 2);
    for repo in repos.iter().chain([&hub]) {
        assert_gone(repo, "hunter2hunter2");
        assert_eq!(trees(repo), trees(&hub));
    }
}

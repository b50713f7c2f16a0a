//! `sync` between clones: they converge, settle, and lose nothing.

use crate::support::harness::{Repo, Sandbox, is_long};
use crate::sync::team::{
    REFS, all_refs, clones, converge, hub, is_quiet, lines, resolve, statuses, sync, tips, trees, work,
};

#[test]
fn concurrently_syncing_clones_converge_with_every_record() {
    let (count, rounds) = if is_long() { (20, 20) } else { (5, 3) };
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, count);
    converge(&repos, &hub, rounds);
}

#[test]
fn one_sync_each_shares_the_records() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let id = work(&repos[0], "one");
    let synced = sync(&repos[0]);
    assert_eq!(synced["first"], true, "{synced}");
    assert_eq!(statuses(&synced), ["sent"; 4]);
    assert_eq!(synced["outgoing"]["records"], 4, "{synced}");
    assert_eq!(synced["outgoing"]["handoffs"][0]["handoff_id"], *id);
    assert_eq!(synced["incoming"]["records"], 0);

    let synced = sync(&repos[1]);
    assert_eq!(statuses(&synced), ["received"; 4]);
    assert_eq!(synced["incoming"]["handoffs"][0]["task"], "task of one");
    assert_eq!(synced["first"], false);
    assert_eq!(tips(&repos[1]), tips(&repos[0]), "who has nothing of his own takes what is there");
    assert!(repos[1].git_out(["log", "--notes=empirica/handoffs"]).contains("task of one"));
    assert_eq!(lines(&hub), lines(&repos[1]));
}

#[test]
fn a_sync_with_nothing_new_changes_nothing_and_takes_one_round() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    repos.iter().zip(["one", "two"]).for_each(|(repo, ai)| drop(work(repo, ai)));
    repos.iter().for_each(|repo| drop(sync(repo)));
    sync(&repos[0]);
    let before: Vec<String> = repos.iter().chain([&hub]).map(all_refs).collect();
    for repo in &repos {
        let synced = sync(repo);
        assert!(is_quiet(&synced) && synced["rounds"] == 1, "{synced}");
        assert!(repo.run(["sync"]).ok().out.contains("nothing new"));
    }
    assert_eq!(repos.iter().chain([&hub]).map(all_refs).collect::<Vec<_>>(), before);
}

/// Ten clones that each have a handoff of their own.
fn ten_clones<'p>(place: &'p Sandbox, hub: &Repo<'p>) -> Vec<Repo<'p>> {
    let repos = clones(place, hub, 10);
    for (at, repo) in repos.iter().enumerate() {
        repo.start(&format!("ai{at}"), "t");
        repo.run(["handoff", "--next", &format!("step {at}")]).ok();
    }
    repos
}

/// Syncs each with its remotes, in turns, until a whole turn is quiet; returns how many turns were not.
fn settle(repos: &[Repo<'_>], remotes: &dyn Fn(usize) -> String) -> usize {
    for turn in 0..repos.len() + 3 {
        let quiet = |at: usize| is_quiet(&repos[at].json(["sync", &remotes(at)])["remotes"][0]);
        // all of them, also behind one that was not
        let loud = (0..repos.len()).filter(|at| !quiet(*at)).count();
        if loud == 0 {
            return turn;
        }
    }
    panic!("they never settle");
}

#[test]
fn ten_clones_in_a_star_settle_after_two_turns() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = ten_clones(&place, &hub);
    assert_eq!(settle(&repos, &|_| "origin".to_owned()), 2);
    assert_eq!(trees(&repos[3]), trees(&hub));
    let refs = all_refs(&hub);
    repos.iter().for_each(|repo| assert!(is_quiet(&sync(repo))));
    assert_eq!(all_refs(&hub), refs, "a push after settling");
}

#[test]
fn ten_clones_in_a_ring_settle_with_equal_trees() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = ten_clones(&place, &hub);
    let next = |at: usize| repos[(at + 1) % 10].path.to_str().expect("UTF-8").to_owned();
    assert!(settle(&repos, &next) <= 3);
    let before: Vec<String> = repos.iter().map(all_refs).collect();
    assert_eq!(settle(&repos, &next), 0);
    assert_eq!(repos.iter().map(all_refs).collect::<Vec<_>>(), before);
    for repo in &repos {
        assert_eq!(trees(repo), trees(&repos[0]));
        let all = lines(repo).join("\n");
        (0..10).for_each(|at| assert!(all.contains(&format!("\"step {at}\"")), "step {at} is gone"));
    }
}

#[test]
fn two_clones_that_unite_the_same_two_sides_make_the_same_commit() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    repos.iter().zip(["one", "two"]).for_each(|(repo, ai)| drop(work(repo, ai)));
    for at in 0..2 {
        let other = repos[1 - at].path.to_str().expect("UTF-8");
        let to = |spec: &str| spec.replace("remotes/origin", "remotes/other");
        repos[at]
            .git([
                "fetch",
                "-q",
                "--refmap=",
                other,
                &to(crate::sync::team::SPECS[0]),
                &to(crate::sync::team::SPECS[1]),
            ])
            .ok();
    }
    // in different years, by different people
    repos[0].git(["config", "user.name", "Somebody else"]).ok();
    repos[0].json(["status"]);
    repos[1].json_with_env(&[("GIT_COMMITTER_DATE", "2031-01-01T00:00:00Z")], ["status"]);
    assert_eq!(tips(&repos[0]), tips(&repos[1]));
    for name in REFS {
        let shown = repos[0].git_out(["log", "-1", "--format=%P|%an|%ae|%cn|%s", name]);
        let (parents, rest) = shown.split_once('|').expect("fields");
        let parents: Vec<&str> = parents.split(' ').collect();
        assert!(parents.len() == 2 && parents[0] < parents[1], "{parents:?}");
        let who = "git-empirica|git-empirica@localhost|git-empirica|Notes merged by 'git empirica'";
        assert_eq!(rest, who);
    }
}

#[test]
fn a_dry_run_lists_transfers_and_changes_no_local_ref() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let first = work(&repos[0], "one");
    sync(&repos[0]);
    let second = work(&repos[1], "two");
    repos[1].json(["finding", "it waits in the log"]);
    let (ours, theirs) = (tips(&repos[1]), all_refs(&hub));
    for _ in 0..2 {
        let json = repos[1].json(["sync", "--dry-run"]);
        let synced = &json["remotes"][0];
        assert_eq!(json["dry_run"], true);
        assert_eq!(statuses(synced), ["exchanged"; 4]);
        assert_eq!(synced["incoming"]["handoffs"][0]["handoff_id"], *first);
        assert_eq!(synced["outgoing"]["handoffs"][0]["handoff_id"], *second);
        assert_eq!(synced["outgoing"]["records"], 5, "{synced}");
        assert_eq!((tips(&repos[1]), all_refs(&hub)), (ours.clone(), theirs.clone()));
    }
    assert_eq!(repos[1].json(["status"])["unflushed"], 1);
    let ran = repos[1].run(["sync", "--dry-run"]).ok();
    assert!(ran.out.contains("task of two") && ran.err.contains("dry run"), "{ran:?}");
}

#[test]
fn only_allowed_records_are_pushed() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    repos.iter().zip(["one", "two"]).for_each(|(repo, ai)| drop(work(repo, ai)));
    repos[0].git(["config", "empirica.sync", "handoffs"]).ok();
    let synced = sync(&repos[0]);
    assert_eq!(statuses(&synced), ["kept", "kept", "sent", "sent"]);
    assert_eq!(synced["outgoing"]["kinds"][0]["kind"], "handoff");
    assert_eq!(synced["outgoing"]["records"], 1, "{synced}");
    let there = tips(&hub);
    assert!(there[0].is_none() && there[1].is_none() && there[2].is_some() && there[3].is_some(), "{there:?}");

    sync(&repos[1]);
    let refs = all_refs(&hub);
    repos[0].git(["config", "empirica.sync", "off"]).ok();
    repos[0].json(["handoff", "--next", "stays here"]);
    let json = repos[0].json(["sync"]);
    assert_eq!(json["remotes"][0]["refs"][2]["status"], "received", "{json}");
    assert!(json["warning"].as_str().is_some_and(|text| text.contains("off")), "{json}");
    assert_eq!(all_refs(&hub), refs);
    assert!(lines(&repos[0]).join("\n").contains("finding of two"), "what others share comes in all the same");
    repos[0].git(["config", "empirica.sync", "some"]).ok();
    assert_eq!(repos[0].fails(1, ["sync"])["provided"], "some");
}

#[test]
fn a_secret_that_would_leave_for_the_first_time_is_held_back_and_named() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    repo.start("one", "t");
    repo.git(["config", "empirica.redact", "false"]).ok();
    let secret = "ghp_a8Kd03nfKq92mfLwP20sXz71bVcN5tYh6RjQ";
    repo.json(["handoff", "--next", &format!("the token is {secret}")]);
    repo.git(["config", "empirica.redact", "true"]).ok();
    let id = repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"].as_str().expect("an id").to_owned();
    let failed = repo.fails(1, ["sync"]);
    assert!(failed["error"].as_str().is_some_and(|text| text.contains(&id)), "{failed}");
    assert!(failed["reason"].as_str().is_some_and(|text| text.contains("github") && text.contains(" in ")), "{failed}");
    assert!(failed["recovery_commands"].to_string().contains(&format!("git empirica redact {id}")), "{failed}");
    assert!(!failed.to_string().contains(secret), "{failed}");
    let there = tips(&hub);
    assert!(there[0].is_some() && there[2].is_none() && there[3].is_none(), "the rest went: {there:?}");
    repo.git(["config", "empirica.redact", "false"]).ok();
    assert_eq!(statuses(&sync(repo))[2], "sent");
    repo.git(["config", "empirica.redact", "true"]).ok();
    assert!(is_quiet(&sync(repo)), "what has left is not held back any more");
}

#[test]
fn foreign_lines_reviews_and_notes_on_missing_commits_are_synced() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    repos.iter().zip(["one", "two"]).for_each(|(repo, ai)| drop(work(repo, ai)));
    let private = repos[0].commit("p", "p\n", "Never pushed");
    work(&repos[0], "late");
    repos[0].git(["notes", "--ref", REFS[0], "append", "-m", "zz foreign"]).ok();
    repos[1].git(["notes", "--ref", REFS[3], "append", "-m", "Looks good.\n\nBut see b."]).ok();
    repos[0].git(["notes", "--ref", REFS[3], "append", "-m", "Second reviewer.", "HEAD~1"]).ok();
    for at in [0, 1, 0] {
        sync(&repos[at]);
    }
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    assert_ne!(repos[1].git(["cat-file", "-e", &private]).code, 0, "the commit is absent");
    let lines = repos[1].lines("journal");
    assert!(lines.iter().any(|line| line == "zz foreign"), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("finding of late")), "{lines:?}");
    let note = repos[1].note(REFS[3], "HEAD");
    assert!(note.contains("\n\nLooks good.\n\nBut see b.\n") && note.contains("\n\nSecond reviewer.\n"), "{note}");
    assert_eq!(note.matches("-- empirica 0").count(), 2, "{note}");
    assert_eq!(repos[1].json(["handoff", "list"])["total_found"], 3);
}

#[test]
fn unrelated_histories_of_notes_are_united() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    work(&repos[0], "one");
    sync(&repos[0]);
    sync(&repos[1]);
    // the same content and more, in a history of its own
    work(&repos[1], "two");
    for name in REFS {
        let root = repos[1].git_out(["commit-tree", "-m", "anew", &format!("{name}^{{tree}}")]);
        repos[1].git(["update-ref", name, &root]).ok();
    }
    assert_eq!(statuses(&sync(&repos[1])), ["sent"; 4]);
    sync(&repos[0]);
    assert_eq!(trees(&repos[0]), trees(&repos[1]));
    assert!(lines(&repos[0]).join("\n").contains("finding of two"));
    let graph = hub.git_out(["rev-list", "--max-parents=0", REFS[0]]);
    assert_eq!(graph.lines().count(), 2, "both histories are kept: {graph}");
}

#[test]
fn a_tree_with_two_fanouts_is_merged_and_normalized() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    repos.iter().zip(["one", "two"]).for_each(|(repo, ai)| drop(work(repo, ai)));
    let head = repos[0].head();
    // the note flat, and another note of the same commit fanned out
    let flat = repos[0].git_out(["notes", "--ref", REFS[0], "list", "HEAD"]);
    repos[0].write("line", "another line\n");
    let other = repos[0].git_out(["hash-object", "-w", "line"]);
    let tree = |input: String| {
        std::fs::write(place.path().join("in"), input).expect("a file");
        let mut command = place.command("git", &repos[0].path);
        let input = std::fs::File::open(place.path().join("in")).expect("a file");
        let out = command.arg("mktree").stdin(input).output().expect("git starts");
        String::from_utf8(out.stdout).expect("an id").trim().to_owned()
    };
    let inner = tree(format!("100644 blob {other}\t{}\n", &head[2..]));
    let outer = tree(format!("100644 blob {flat}\t{head}\n040000 tree {inner}\t{}\n", &head[..2]));
    let commit = repos[0].git_out(["commit-tree", "-m", "mixed", &outer]);
    repos[0].git(["push", "-q", "origin", &format!("{commit}:{}", REFS[0])]).ok();
    sync(&repos[1]);
    let listed = hub.git_out(["ls-tree", "-r", "--name-only", REFS[0]]);
    assert_eq!(listed.replace('/', ""), head, "each object once");
    let note = hub.note(REFS[0], &head);
    for part in ["another line", "finding of one", "finding of two"] {
        assert!(note.contains(part), "{part}: {note}");
    }
    sync(&repos[0]);
    assert_eq!(resolve(&repos[0], &format!("{}^{{tree}}", REFS[0])), resolve(&hub, &format!("{}^{{tree}}", REFS[0])));
}

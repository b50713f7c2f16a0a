//! The records of a range, also if its commits were rewritten since.

use serde_json::Value;

use super::{branch, text, two_agents, unfolded, without_ids};
use crate::support::harness::{Repo, Sandbox};

/// The agents of the sessions that belong to a range.
fn agents(repo: &Repo<'_>, range: &str) -> Vec<String> {
    let answer = repo.json(["handoff", "--pr", range]);
    let sessions = answer["sessions"].as_array().expect("a list").clone();
    let mut out: Vec<String> = sessions.iter().map(|one| one["ai_id"].as_str().expect("a name").to_owned()).collect();
    out.sort();
    out
}

/// The texts of the claims of a range, sorted.
fn claims(answer: &Value) -> Vec<String> {
    let sessions = answer["sessions"].as_array().expect("a list").iter();
    let claims = sessions.flat_map(|one| one["claims"].as_array().expect("a list").clone());
    let mut out: Vec<String> = claims.map(|claim| claim["text"].as_str().expect("a text").to_owned()).collect();
    out.sort();
    out
}

#[test]
fn a_range_with_two_agents_says_what_was_done_decided_tried_checked_and_is_open() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    let said = without_ids(&unfolded(&text(&repo, "main..topic")));
    let expected = "\
### What agents recorded

2 sessions of bo and ada, for 2 of 2 commits (`ID..ID`). Claims hold at `ID` unless marked.

**1 check failed; 1 blocking question is open; 2 claims are about code that changed; 1 check passed before the code changed**

**Done**

- Bound the ring
- The queue is a ring

**Decided**

- Use a ring — bounded memory; rejected: a linked list `ID` by ada

**Tried without success**

- mmap of the file — it fails on NFS `ID` by ada

**Checked**

- **failed:** `cargo bench` (exit 101)
- passed, before the code changed: `cargo clippy` (changed since: src/a.rs)
- passed: `cargo test` (last of 2 runs)

**Still open**

- Blocking: Does it hold on ARM? `ID` by ada
- How large can it grow? `ID` by ada
- Next: Measure it

**Recorded earlier, about code that this changes**

- Keep the queue a list — it is simple (src/a.rs:2 changed) `ID` by ada

<details><summary>bo, session ID: Bound the ring</summary>
</details>

<details><summary>ada, session ID: Make the queue a ring</summary>
</details>
";
    assert_eq!(said, expected);
    assert!(without_ids(include_str!("../../../docs/review.md")).contains(expected), "the example is the text");
    let whole = text(&repo, "main..topic");
    assert!(whole.contains("- ring() wraps at 1024 (src/a.rs:2 changed) `"), "{whole}");
    // each commit alone has its own agent
    assert_eq!(agents(&repo, "main..topic~1"), ["ada"]);
    assert_eq!(agents(&repo, "topic~1..topic"), ["bo"]);
    // what main has is no part of it
    assert_eq!(agents(&repo, "main~2..main"), ["ada"]);
    assert!(!text(&repo, "main~2..main").contains("Use a ring"));
}

#[test]
fn the_text_depends_on_the_notes_and_the_range_alone() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    let before = text(&repo, "main..topic");
    for range in ["main...topic", "main..HEAD", "main", "main.."] {
        assert_eq!(text(&repo, range), before, "{range}");
    }
    assert_eq!(repo.run(["handoff", "--pr"]).ok().out, before, "main is the base");
    // uncommitted work, another branch, later, another folder, the index off
    repo.write("src/a.rs", "gone\n");
    assert_eq!(text(&repo, "main..topic"), before);
    repo.git(["checkout", "-q", "--force", "main"]).ok();
    assert_eq!(text(&repo, "main..topic"), before);
    let below = sandbox.at(repo.path.join("src"));
    assert_eq!(text(&below, "main..topic"), before);
    let later = [("EMPIRICA_NOW", "2027-01-01T00:00:00Z")];
    assert_eq!(repo.run_with_env(&later, ["handoff", "--pr", "main..topic"]).ok().out, before);
    repo.git(["config", "empirica.index", "false"]).ok();
    assert_eq!(text(&repo, "main..topic"), before);
    // another clone, and a bare one
    repo.run(["flush"]).ok();
    let clone = sandbox.clone(&repo, "clone", true);
    assert_eq!(text(&clone, "origin/main..origin/topic"), before);
    let bare = sandbox.path().join("bare.git");
    repo.git(["clone", "-q", "--mirror", ".", bare.to_str().expect("UTF-8")]).ok();
    assert_eq!(text(&sandbox.at("bare.git"), "main..topic"), before);
    // nothing of it changes what else is told
    assert_eq!(repo.json(["why", "src/a.rs"]), clone.json(["why", "src/a.rs"]));
}

#[test]
fn squashed_rebased_and_picked_commits_keep_their_records() {
    let sandbox = Sandbox::new();
    for hooks in [true, false] {
        let repo = sandbox.set_up(if hooks { "hooks" } else { "none" });
        two_agents(&repo);
        let whole = claims(&repo.json(["handoff", "--pr", "main..topic"]));
        if !hooks {
            repo.git(["config", "core.hooksPath", "/dev/null"]).ok();
        }
        repo.git(["checkout", "-q", "main"]).ok();
        repo.commit("c.txt", "c\n", "Meanwhile");
        // a squash
        repo.git(["checkout", "-q", "-b", "squashed"]).ok();
        repo.git(["merge", "-q", "--squash", "topic"]).ok();
        repo.git(["commit", "-q", "-m", "The ring, squashed"]).ok();
        let squashed = repo.json(["handoff", "--pr", "main..squashed"]);
        assert_eq!(claims(&squashed), whole, "{hooks}");
        // of the first commit, so before the second
        let stale = |command: &str| {
            let checks = squashed["checks"].as_array().expect("a list").iter();
            checks.filter(|check| check["command"] == command).all(|check| check["before_squashed"] == true)
        };
        assert!(stale("cargo clippy") && !stale("cargo bench"), "{squashed}");
        let said = unfolded(&text(&repo, "main..squashed"));
        let line = "- passed, before the code changed: `cargo clippy` (later commits were squashed with it)\n";
        assert!(said.contains(line), "{said}");
        // picks
        repo.git(["checkout", "-q", "-b", "picked", "main"]).ok();
        repo.git(["cherry-pick", "topic~1", "topic"]).ok();
        assert_eq!(claims(&repo.json(["handoff", "--pr", "main..picked"])), whole, "{hooks}");
        assert_eq!(agents(&repo, "picked~1..picked"), ["bo"], "{hooks}");
        // a rebase
        repo.git(["checkout", "-q", "-B", "rebased", "topic"]).ok();
        repo.git(["rebase", "-q", "main"]).ok();
        assert_eq!(claims(&repo.json(["handoff", "--pr", "main..rebased"])), whole, "{hooks}");
        assert_eq!(agents(&repo, "main..rebased~1"), ["ada"], "{hooks}");
    }
}

#[test]
fn a_squash_is_known_where_its_branch_never_was() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    let whole = claims(&repo.json(["handoff", "--pr", "main..topic"]));
    repo.git(["checkout", "-q", "main"]).ok();
    repo.git(["merge", "-q", "--squash", "topic"]).ok();
    repo.git(["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "Squashed"]).ok();
    repo.run(["flush"]).ok();
    repo.git(["branch", "-q", "-D", "topic"]).ok();
    let url = format!("file://{}", repo.path.display());
    let target = sandbox.path().join("other");
    repo.git(["clone", "-q", &url, target.to_str().expect("UTF-8")]).ok();
    let other = sandbox.at("other");
    other.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    // by the tree of the branch's last commit, on which the second agent made nothing: its digest is on it
    let told = other.json(["handoff", "--pr", "HEAD~1..HEAD"]);
    assert!(claims(&told).contains(&"ring() wraps at 1024".to_owned()), "{told}");
    // a message that names a session brings the rest
    let session = repo.json(["session", "list"])["sessions"].clone();
    let id = |ai: &str| {
        let all = session.as_array().expect("a list").iter();
        let of = all.filter(|one| one["ai_id"] == ai && one["task"] == "Make the queue a ring");
        of.map(|one| one["session_id"].as_str().expect("an id").to_owned()).next().expect("a session")
    };
    let message = format!("Squashed\n\n* Use a ring\n\n  Empirica-Session: {}\n\n* Bound it\n", id("ada"));
    let identity = ["-c", "user.name=Other", "-c", "user.email=other@example.com"];
    other.git(identity.into_iter().chain(["commit", "-q", "--amend", "-m", &message])).ok();
    assert_eq!(claims(&other.json(["handoff", "--pr", "HEAD~1..HEAD"])), whole);
}

#[test]
fn claims_come_from_handoffs_and_digests_where_only_these_are_shared() {
    let sandbox = Sandbox::new();
    let repo = branch(&sandbox);
    repo.run(["flush"]).ok();
    let other = sandbox.clone(&repo, "other", false);
    let only = "refs/notes/empirica/data/handoffs:refs/notes/empirica/data/handoffs";
    other.git(["fetch", "-q", "origin", only]).ok();
    let (here, there) =
        (repo.json(["handoff", "--pr", "main..topic"]), other.json(["handoff", "--pr", "origin/main..origin/topic"]));
    assert_eq!(claims(&there), claims(&here));
    let commands = |answer: &Value| -> Vec<String> {
        let checks = answer["checks"].as_array().expect("a list").iter();
        checks.map(|check| format!("{} {}", check["command"], check["exit"])).collect()
    };
    assert_eq!(commands(&there), commands(&here));
}

#[test]
fn nothing_recorded_is_one_line() {
    let sandbox = Sandbox::new();
    let repo = sandbox.set_up("r");
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    repo.commit("a.txt", "a\n", "A");
    let said = without_ids(&text(&repo, "main..topic"));
    assert_eq!(said, "No agent recorded anything for 1 commit (`ID..ID`).\n");
    assert_eq!(without_ids(&text(&repo, "topic..topic")), "No agent recorded anything for 0 commits (`ID..ID`).\n");
    let answer = repo.json(["handoff", "--pr", "main..topic"]);
    assert_eq!((&answer["commits"], &answer["sessions"]), (&1.into(), &Value::Array(Vec::new())));
}

#[test]
fn the_base_is_the_branch_that_would_be_merged_into() {
    let sandbox = Sandbox::new();
    let upstream = sandbox.repo("upstream");
    let repo = sandbox.clone(&upstream, "r", false);
    let commits = |repo: &Repo<'_>| repo.json(["handoff", "--pr"])["commits"].as_u64().expect("a number");
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    repo.commit("a.txt", "a\n", "A");
    assert_eq!(commits(&repo), 1, "the default branch of the remote");
    repo.git(["checkout", "-q", "-b", "onto"]).ok();
    repo.commit("b.txt", "b\n", "B");
    assert_eq!(commits(&repo), 2);
    repo.git(["branch", "-q", "--set-upstream-to=topic"]).ok();
    assert_eq!(commits(&repo), 1, "a branch that this one tracks under another name");
    let alone = sandbox.repo("alone");
    alone.git(["checkout", "-q", "-b", "only"]).ok();
    alone.git(["branch", "-q", "-D", "main"]).ok();
    let refused = alone.fails(2, ["handoff", "--pr"]);
    assert_eq!(refused["error"], "cannot find the base of the pull request: no remote has a default branch here");
    for (range, side) in [("nowhere..HEAD", "nowhere"), ("HEAD..gone", "gone")] {
        let refused = alone.fails(2, ["handoff", "--pr", range]);
        assert_eq!(refused["error"], format!("cannot find the commits of {range}: '{side}' is not a commit"));
    }
    alone.git(["checkout", "-q", "--orphan", "unborn"]).ok();
    alone.fails(2, ["handoff", "--pr", "only..HEAD"]);
}

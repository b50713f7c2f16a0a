//! A clone that was moved, is mounted at another path, or is mounted read-only.

use std::fs;

use serde_json::Value;

use crate::repository::surroundings::{Container, formats, id, repo_of, stored_once};
use crate::setup::init::script;
use crate::support::harness::{RunOutput, Sandbox, is_long};

#[test]
fn a_moved_clone_keeps_sessions_pending_records_hooks_and_worktrees() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        repo.run(["init"]).ok();
        repo.git(["worktree", "add", "-q", "-b", "side", "linked"]).ok();
        let session = repo.start("ada", "before");
        let side = place.at(format!("{name}/linked")).start("eve", "beside");
        let mut ids = vec![id(&repo.json(["finding", "pending when it was moved"]))];
        fs::create_dir(place.path().join(format!("other-{name}"))).expect("a folder");
        let moved = place.path().join(format!("other-{name}/moved"));
        fs::rename(&repo.path, &moved).expect("moved");
        let repo = place.at(&moved);
        // git itself names worktrees by their paths
        repo.git(["worktree", "repair", "linked"]).ok();
        let linked = place.at(moved.join("linked"));
        let after = repo.json(["finding", "after it was moved"]);
        assert_eq!(after["session_id"], *session);
        let beside = linked.json(["finding", "in the worktree"]);
        assert_eq!(beside["session_id"], *side);
        ids.extend([id(&after), id(&beside)]);
        let commit = repo.commit("moved.txt", "x\n", "Moved");
        assert!(repo.note("refs/notes/empirica/handoffs", &commit).contains("after it was moved"), "hooks run");
        assert_eq!(repo.run(["init"]).ok().out.lines().next(), Some("Set up already."));
        ids.push(repo.hand_over("after"));
        stored_once(&repo, &ids);
        repo.run(["deinit"]).ok();
        assert_eq!(repo.git(["config", "--local", "--get-regexp", "empirica"]).code, 1);
    }
}

#[test]
fn a_clone_mounted_at_two_paths_is_one_clone() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        let session = repo.start("ada", "one task");
        let mut ids = vec![id(&repo.json(["finding", "here 0"]))];
        let at = place.path().join("mounted");
        let _ = fs::create_dir(&at);
        let prepare = format!("mount --bind '{}' '{}'", repo.path.display(), at.display());
        let container = Container { host: "elsewhere", user: 0, umask: "0022", prepare };
        let rounds = if is_long() { 20 } else { 3 };
        // a mount point is entered after it is mounted
        let script = format!(
            "cd '{}' && for n in $(seq {rounds}); do git empirica finding \"there $n\" --json || exit 1; done \
             && git empirica handoff -m there --json",
            at.display()
        );
        let Some(mut command) = container.command(&repo, &script) else { return };
        let there = command.spawn().expect("it starts");
        for n in 1..=rounds {
            ids.push(id(&repo.json(["finding", &format!("here {n}")])));
        }
        let there = RunOutput::new(there.wait_with_output().expect("it ends")).ok();
        for line in there.out.lines() {
            let answer: Value = serde_json::from_str(line).expect("a document");
            assert_eq!(answer["session_id"], *session, "one session, at both paths");
            ids.push(id(&answer));
        }
        assert_eq!(ids.len(), 2 + 2 * rounds);
        stored_once(&repo, &ids);
    }
}

#[test]
fn at_two_paths_the_hooks_of_the_user_run_whichever_was_set_up() {
    let place = Sandbox::older_git();
    let repo = place.repo("here");
    for (name, text) in [("pre-commit", "#!/bin/sh\necho theirs refuses >&2\nexit 1\n"), ("post-commit", "#!/bin/sh\n")]
    {
        script(&repo.path.join(".git/hooks").join(name), text);
    }
    repo.json(["init"]);
    let refused = |err: &str| assert!(err.contains("theirs refuses"), "{err}");
    let at = place.path().join("mounted");
    fs::create_dir(&at).expect("a folder");
    let prepare = format!("mount --bind '{}' '{}'", repo.path.display(), at.display());
    let container = Container { host: "elsewhere", user: 0, umask: "0022", prepare };
    // hooks that call themselves never end
    let commit = "timeout 20 git commit -q --allow-empty -m x";
    let tried = format!(
        "cd '{}' && git empirica init > /dev/null && {commit}; test $? = 1 && git empirica doctor > /dev/null && git empirica status --json",
        at.display()
    );
    let Some(there) = container.run(&repo, &tried).map(RunOutput::ok) else { return };
    refused(&there.err);
    assert_eq!(there.json()["set_up"], true);
    refused(&repo.git(["commit", "-q", "--allow-empty", "-m", "x"]).err);
    assert_eq!(repo.json(["status"])["set_up"], true);
    repo.json(["deinit"]);
    assert_eq!(repo.git(["config", "core.hooksPath"]).code, 1);
    refused(&repo.git(["commit", "-q", "--allow-empty", "-m", "x"]).err);
}

#[test]
fn on_a_read_only_mount_records_are_read_and_new_ones_wait_in_the_state_folder() {
    let place = Sandbox::new();
    for format in formats(&place) {
        let name = format!("{}-{}", format.hash, format.refs);
        let repo = repo_of(&place, &name, format);
        repo.start("ada", "before");
        let mut ids = vec![id(&repo.json(["finding", "written before"])), repo.hand_over("before")];
        let path = repo.path.display();
        let prepare = format!("mount --bind '{path}' '{path}' && mount -o remount,bind,ro '{path}'");
        let container = Container { host: "reader", user: 0, umask: "0022", prepare };
        let home = place.path().join("home");
        // what it cannot write there goes to the user's folder, which is the same afterwards
        let run = |line: &str| {
            container
                .run(&repo, &format!("cd '{path}' && export HOME='{}' && git empirica {line} --json", home.display()))
        };
        let Some(resumed) = run("resume") else { return };
        assert!(resumed.ok().out.contains("written before"));
        for line in ["status", "log", "search written", "handoff list", "query", "doctor"] {
            let ran = run(line).expect("a container");
            let json = ran.json();
            assert_eq!(json["ok"], line != "doctor", "{line}: {json}");
        }
        let doctor = run("doctor").expect("a container").out;
        assert!(doctor.contains("cannot be written") || doctor.contains("read-only"), "{doctor}");
        let stored = run("finding 'said there'").expect("a container").ok().json();
        assert_eq!((&stored["storage"], &stored["degraded_mode"]), (&"user_state".into(), &true.into()), "{stored}");
        assert!(stored["warning"].as_str().is_some_and(|text| text.to_lowercase().contains("read-only")), "{stored}");
        let seen = run("session show latest").expect("a container").ok();
        assert!(seen.out.contains("said there"), "{}", seen.out);
        ids.push(id(&stored));
        // where it can be written, the next flush takes it along
        stored_once(&repo, &ids);
    }
}

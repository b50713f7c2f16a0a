//! Two users with `core.sharedRepository`, and a repository that is owned by another.

use std::fs;

use serde_json::Value;

use crate::repository::surroundings::{Container, formats, id, is_root, repo_of, shared, stored, stored_once};
use crate::support::harness::{Repo, RunOutput, Sandbox};

fn user(user: u32, umask: &'static str) -> Container<'static> {
    Container { host: "one-host", user, umask, prepare: String::new() }
}

/// What a user answers to a command line, as a document of a success.
fn json(repo: &Repo<'_>, user: &Container<'_>, line: &str) -> Option<Value> {
    let ran = user.run(repo, &format!("git empirica {line} --json"))?;
    let json = ran.ok().json();
    assert_eq!(json["ok"], true, "{line}: {json}");
    assert!(json["degraded_mode"] != true && json["storage"] != "user_state", "{line}: {json}");
    Some(json)
}

#[test]
fn two_users_of_a_shared_repository_do_everything_in_turns_with_a_mask_that_shuts_others_out() {
    if !is_root() {
        return;
    }
    let place = Sandbox::new();
    let (ada, eve) = (user(12345, "0077"), user(12346, "0077"));
    for format in formats(&place) {
        let repo = shared(&place, &format!("{}-{}", format.hash, format.refs), format);
        repo.git(["config", "--global", "safe.directory", "*"]).ok();
        let mut ids = Vec::new();
        for (turn, by) in [&ada, &eve, &ada, &eve].into_iter().enumerate() {
            let name = format!("--ai u{}", by.user);
            for line in [
                format!("session start --task t{turn} {name}"),
                "init".to_owned(),
                format!("finding 'found in turn {turn}' {name}"),
                format!("checkpoint -v know=0.5 {name}"),
                format!("finding 'pending in turn {turn}' {name}"),
                "search found".to_owned(),
            ] {
                let Some(answer) = json(&repo, by, &line) else { return };
                if !line.starts_with("session") && !line.starts_with("init") && !line.starts_with("search") {
                    ids.push(id(&answer));
                }
            }
            // a commit of theirs runs our hooks, which write, too
            let commit = format!("echo {turn} >f{turn} && git add f{turn} && git commit -q -m 'Turn {turn}'");
            by.run(&repo, &commit).expect("a container").ok();
            ids.push(id(&json(&repo, by, &format!("handoff -m t{turn} {name}")).expect("a container")));
            by.run(&repo, "git commit -q --amend -m Again && git gc -q && git pack-refs --all")
                .expect("a container")
                .ok();
            json(&repo, by, &format!("session end {name}")).expect("a container");
        }
        let redacted = json(&repo, &ada, &format!("redact {}", ids.swap_remove(0))).expect("a container");
        assert_eq!(redacted["complete"], true, "{redacted}");
        json(&repo, &eve, "finding 'after the redaction' --ai u12346").expect("a container");
        for by in [&ada, &eve] {
            let listed = json(&repo, by, "handoff list").expect("a container");
            assert_eq!(listed["handoffs"].as_array().map(Vec::len), Some(4), "{listed}");
        }
        // an amended commit takes its handoff along
        stored(&repo, &ids, 2);
    }
}

#[test]
fn a_repository_of_another_is_refused_to_every_command_and_its_hooks_are_silent_until_git_trusts_it() {
    if !is_root() {
        return;
    }
    let place = Sandbox::new();
    let eve = user(12346, "0022");
    for format in formats(&place) {
        let repo = repo_of(&place, &format!("{}-{}", format.hash, format.refs), format);
        repo.run(["init"]).ok();
        repo.start("ada", "t");
        let handoff = repo.hand_over("t");
        let before = crate::setup::init::listing(&repo.path);
        // without the setting of the container
        let run = |line: &str| eve.run(&repo, &format!("unset GIT_CONFIG_COUNT; {line}"));
        let Some(by_git) = run("git status") else { return };
        assert_eq!(by_git.code, 128, "{}", by_git.out);
        for line in [
            "finding x",
            "session start --ai eve",
            "status",
            "resume",
            "log",
            "search t",
            "handoff list",
            "handoff",
            "flush",
            "sync",
            "init",
            "deinit",
            "doctor",
            "import",
            "redact ffffffff",
            "instructions",
        ] {
            let ran = run(&format!("git empirica {line} --json")).expect("a container");
            let json = ran.code(128).json();
            let command = json["recovery_commands"][0].as_str().expect("a command");
            assert_eq!(command, format!("git config --global --add safe.directory {}", repo.path.display()), "{line}");
            let words = json["reason"].as_str().expect("a text");
            assert!(by_git.err.contains(words.split(';').next().expect("a part")), "{line}: {words}: {}", by_git.err);
        }
        for hook in
            ["post-commit", "post-merge", "post-rewrite amend", "pre-push origin url", "agent claude-code SessionStart"]
        {
            let ran = run(&format!("git empirica hook {hook} </dev/null")).expect("a container");
            assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""), "{hook}: {}", ran.code);
        }
        assert_eq!(crate::setup::init::listing(&repo.path), before, "nothing is written");
        // the command of the error is enough to read it; what cannot be written there is in the user's own folder
        let trusted = run(&format!(
            "git config --global --add safe.directory '{}' && git empirica resume --json",
            repo.path.display()
        ));
        let resumed = trusted.expect("a container").ok().json();
        assert_eq!(resumed["sessions"].as_array().map(Vec::len), Some(1), "{resumed}");
        let own = run("git empirica finding 'by eve' --ai eve --json").expect("a container");
        let answer = own.ok().json();
        assert_eq!((&answer["storage"], &answer["degraded_mode"]), (&"user_state".into(), &true.into()), "{answer}");
        assert!(run("git empirica search eve --json").expect("a container").ok().out.contains("by eve"));
        assert_eq!(repo.lines("journal").iter().filter(|line| line.contains("by eve")).count(), 0);
        fs::remove_dir_all(place.path().join("home-12346")).expect("hers");
        stored_once(&repo, &[handoff]);
    }
}

/// The program and git agree on whose repository it is when root acts for a user, as with sudo.
#[test]
fn root_in_the_place_of_a_user_may_use_the_repositories_of_that_user() {
    if !is_root() {
        return;
    }
    let place = Sandbox::new();
    let repo = place.repo("r");
    for path in std::iter::once(repo.path.clone()).chain(crate::repository::surroundings::below(&repo.path)) {
        std::os::unix::fs::chown(path, Some(12345), None).expect("root may");
    }
    for (sudo, code) in [(Some("12345"), 0), (Some("12346"), 128), (None, 128)] {
        let with = |program: &str, arguments: &[&str]| {
            let mut command = place.command(program, &repo.path);
            command.args(arguments).envs(sudo.map(|user| ("SUDO_UID", user)));
            RunOutput::new(command.output().expect("it starts"))
        };
        assert_eq!(with("git", &["rev-parse", "--git-dir"]).code, code, "git itself, {sudo:?}");
        assert_eq!(with(env!("CARGO_BIN_EXE_git-empirica"), &["status"]).code, code, "{sudo:?}");
    }
}

//! Pushes with the hooks installed: concurrent, interrupted, over ssh, from a mirror.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use crate::support::harness::{Repo, Sandbox, is_long};
use crate::sync::team::{REFS, clones, hub, lines, resolve, tips, work};

/// Clones that are set up, with the hooks.
pub fn hooked<'p>(place: &'p Sandbox, hub: &Repo<'p>, count: usize) -> Vec<Repo<'p>> {
    let all = clones(place, hub, count);
    all.iter().for_each(|repo| drop(repo.run(["init"]).ok()));
    all
}

#[test]
fn clones_that_push_at_the_same_time_bring_everything_along() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let team = hooked(&place, &hub, 5);
    let rounds = if is_long() { 3 } else { 2 };
    for round in 0..rounds {
        let pushes: Vec<_> = team
            .iter()
            .enumerate()
            .map(|(n, repo)| {
                if round == 0 {
                    repo.start(&format!("agent-{n}"), "t");
                    repo.git(["switch", "-q", "-c", &format!("branch-{n}")]).ok();
                }
                repo.run(["finding", &format!("round {round} of {n}")]).ok();
                repo.commit(&format!("{n}-{round}.txt"), "x\n", "Work");
                let mut push = place.command("git", &repo.path);
                push.args(["push", "-q", "origin", &format!("branch-{n}")]).stderr(Stdio::piped());
                push.spawn().expect("git starts")
            })
            .collect();
        for push in pushes {
            let out = push.wait_with_output().expect("it ends");
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        }
    }
    // what was outrun goes along with the next push, or a sync
    for repo in team.iter().chain(&team) {
        repo.run(["sync"]).ok();
    }
    let known = lines(&hub).join("\n");
    for round in 0..rounds {
        (0..team.len()).for_each(|n| assert!(known.contains(&format!("round {round} of {n}")), "{round} {n}"));
    }
    for reference in REFS {
        let tree = |repo: &Repo<'_>| resolve(repo, &format!("{reference}^{{tree}}"));
        team.iter().for_each(|repo| assert_eq!(tree(repo), tree(&hub), "{reference}"));
    }
}

#[test]
fn interrupting_a_push_ends_its_processes() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    work(repo, "one");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/x.git", listener.local_addr().expect("an address"));
    repo.git(["config", "empirica.remote", &url]).ok();
    repo.git(["config", "empirica.syncTimeout", "60s"]).ok();
    let before = tips(repo);
    // the terminal sends an interrupt to the whole group
    let mut hook = place.command(repo.path.join(".git/hooks/pre-push"), &repo.path);
    hook.args([&url, &url]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = hook.spawn().expect("it starts");
    let (mut stream, _) = listener.accept().expect("a connection");
    let group = format!("-{}", running.id());
    let mut kill = place.command("sh", &repo.path);
    kill.args(["-c", "kill -s INT -- \"$0\"", &group]);
    assert!(kill.status().expect("it starts").success());
    running.wait().expect("it ends");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a limit");
    let mut request = Vec::new();
    stream.read_to_end(&mut request).expect("nobody holds the connection any more");
    assert_eq!(tips(repo), before);
}

#[test]
fn ssh_never_prompts_unless_the_user_configured_the_command() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    let log = place.path().join("ssh.log");
    let bin = place.path().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    // the remote side, run here: the last argument is what git wants run there
    let script = format!(
        "#!/bin/sh\necho \"$* terminal=$GIT_TERMINAL_PROMPT\" >> {}\nfor last in \"$@\"; do :; done\nexec sh -c \"$last\"\n",
        log.display()
    );
    for name in ["ssh", "myssh"] {
        std::fs::write(bin.join(name), &script).expect("a file");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("its mode");
    }
    repo.git(["remote", "set-url", "origin", &format!("ssh://host{}", hub.path.display())]).ok();
    let path = std::env::join_paths(
        std::iter::once(bin.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .expect("paths");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_git-empirica")).parent().expect("a folder");
    let path = std::env::join_paths(std::iter::once(program.to_owned()).chain(std::env::split_paths(&path)));
    let path = path.expect("paths");
    let push = |file: &str, ssh: Option<&str>| -> String {
        let _ = std::fs::remove_file(&log);
        work(repo, file);
        repo.commit(&format!("{file}.txt"), "x\n", "Work");
        let mut push = place.command("git", &repo.path);
        push.args(["push", "-q", "origin", "HEAD:refs/heads/x"]).env("PATH", &path);
        if let Some(ssh) = ssh {
            push.env("GIT_SSH_COMMAND", ssh);
        }
        let out = push.output().expect("git starts");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        std::fs::read_to_string(&log).expect("a log")
    };
    let commands = push("one", None);
    // the first is the user's own
    let mut commands = commands.lines();
    assert!(commands.next().is_some_and(|own| !own.contains("BatchMode")));
    let ours: Vec<&str> = commands.collect();
    assert!(ours.len() >= 2 && ours.iter().all(|line| line.contains("BatchMode=yes")), "{ours:?}");
    assert!(lines(&hub).join("\n").contains("one"));
    let chosen = push("two", Some("myssh"));
    assert!(!chosen.contains("BatchMode"), "{chosen}");
    assert!(lines(&hub).join("\n").contains("two"));
}

#[test]
fn a_mirror_clone_that_is_fetched_with_prune_keeps_what_it_recorded() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let path = place.path().join("mirror.git");
    hub.git(["clone", "-q", "--mirror", hub.path.to_str().expect("UTF-8"), path.to_str().expect("UTF-8")]).ok();
    let mirror = place.at("mirror.git");
    mirror.start("claude", "t");
    mirror.run(["finding", "only in the mirror"]).ok();
    mirror.run(["flush"]).ok();
    mirror.git(["fetch", "-q", "--prune"]).ok();
    mirror.run(["status"]).ok();
    assert!(mirror.lines("journal").join("\n").contains("only in the mirror"));
}

#[test]
fn a_server_that_hides_our_refs_does_not_hinder_the_push() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    hub.git(["config", "transfer.hideRefs", "refs/notes/empirica"]).ok();
    work(repo, "one");
    repo.commit("a.txt", "a\n", "A");
    repo.git(["push", "-q", "origin", "HEAD:refs/heads/x"]).ok();
    assert_eq!(hub.git_out(["rev-parse", "x"]), repo.head());
    assert!(repo.lines("journal").join("\n").contains("one"));
    assert!(hub.git_out(["for-each-ref", "refs/notes"]).is_empty());
}

#[test]
fn configuration_of_one_command_applies_to_its_hook() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    work(repo, "one");
    repo.commit("a.txt", "a\n", "A");
    repo.git(["-c", "empirica.sync=off", "push", "-q", "origin", "HEAD:refs/heads/x"]).ok();
    assert_eq!(hub.git_out(["for-each-ref", "refs/notes"]), "");
    repo.git(["push", "-q", "origin", "HEAD:refs/heads/y"]).ok();
    assert!(lines(&hub).join("\n").contains("one"));
}

#[test]
fn a_strict_push_fails_if_what_is_pending_cannot_be_written() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    work(repo, "one");
    repo.git(["push", "-q", "origin", "HEAD:refs/heads/x"]).ok();
    repo.run(["finding", "still pending"]).ok();
    repo.write(".git/refs/notes/empirica/data/journal.lock", "");
    repo.commit("a.txt", "a\n", "A");
    let strict = repo.git(["-c", "empirica.strict=true", "push", "origin", "HEAD:refs/heads/y"]);
    assert!(strict.code == 1 && strict.err.contains("journal.lock"), "{}", strict.err);
    repo.git(["push", "origin", "HEAD:refs/heads/y"]).ok();
}

#[test]
fn withheld_records_are_not_retried_at_every_push() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    repo.git(["config", "empirica.redact", "false"]).ok();
    repo.start("claude", "t");
    repo.run(["finding", "the key is AKIAIOSFODNN7EXAMPLQ"]).ok();
    repo.git(["config", "--unset", "empirica.redact"]).ok();
    let push = |branch: &str| {
        let mut push = place.command("git", &repo.path);
        let trace = place.path().join(format!("trace-{branch}"));
        push.args(["push", "origin", &format!("HEAD:refs/heads/{branch}")]).env("GIT_TRACE", &trace);
        let out = push.output().expect("git starts");
        assert!(out.status.success());
        String::from_utf8_lossy(&out.stderr).into_owned() + &std::fs::read_to_string(trace).expect("a trace")
    };
    let first = push("one");
    assert!(first.contains("holds a secret") && first.contains("upload-pack"), "{first}");
    let second = push("two");
    assert!(!second.contains("holds a secret") && !second.contains("upload-pack"), "{second}");
    let strict = repo.git(["-c", "empirica.strict=true", "push", "origin", "HEAD:refs/heads/strict"]);
    assert!(strict.code == 1 && strict.err.contains("holds a secret"), "{}", strict.err);
    assert!(!hub.git_out(["for-each-ref", "refs/notes"]).contains("journal"));
    repo.run(["finding", "something new"]).ok();
    assert!(push("three").contains("holds a secret"), "a new tip is looked at anew");
}

#[test]
fn two_renderers_do_not_push_against_each_other() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = hooked(&place, &hub, 2);
    work(&repos[0], "one");
    repos[0].hand_over("one");
    repos[0].run(["sync"]).ok();
    repos[1].run(["sync"]).ok();
    // as a later version would render it
    let markdown = "refs/notes/empirica/handoffs";
    let head = repos[1].head();
    let note = repos[1].note(markdown, &head);
    let (block, _) = note.trim_end().rsplit_once(" r").expect("a footer");
    assert!(block.contains("- Next: "), "{note}");
    let newer = format!("{} r201\n", block.replace("- Next: ", "- To do: "));
    repos[1].set_note(markdown, &head, newer.as_bytes());
    for _ in 0..2 {
        repos.iter().rev().for_each(|repo| drop(repo.run(["sync"]).ok()));
    }
    let settled = tips(&hub);
    for repo in repos.iter().chain(&repos) {
        repo.run(["sync"]).ok();
        assert_eq!(tips(&hub), settled);
        assert!(repo.note(markdown, &head).contains("- To do: "));
    }
}

#[test]
fn a_sync_with_nothing_new_connects_once() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &hooked(&place, &hub, 1)[0];
    work(repo, "one");
    repo.run(["sync"]).ok();
    let trace = place.path().join("trace");
    let ran = repo.run_with_env(&[("GIT_TRACE", trace.to_str().expect("UTF-8"))], ["sync"]).ok();
    assert!(ran.out.contains("nothing new"), "{}", ran.out);
    let trace = std::fs::read_to_string(trace).expect("a trace");
    let connections =
        |program: &str| trace.lines().filter(|line| line.contains("run_command: ") && line.contains(program)).count();
    assert_eq!((connections("git-upload-pack"), connections("git-receive-pack")), (1, 0), "{trace}");
}

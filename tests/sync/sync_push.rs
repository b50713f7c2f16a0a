//! Notes before a user's own `git push`: real pushes, with the shipped hook.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::path::PathBuf;

use empirica_notes::env::Env;
use empirica_notes::git::Repository;
use git_empirica::context::{CommandContext, Selection};
use git_empirica::use_cases::handoff::note::BuiltIn;
use git_empirica::use_cases::sync::run::{BeforePush, before_push};

use crate::setup::init::script;
use crate::support::harness::{Repo, RunOutput, Sandbox};
use crate::sync::team::{REFS, all_refs, clones, hook, hub, lines, sync, tips, work};

/// The use case in a repository, with these variables.
fn call(variables: HashMap<String, String>, cwd: PathBuf, remote: &str, url: &str, lines: &[String]) -> BeforePush {
    let env = Env::new(variables, cwd, PathBuf::new());
    let repo = Repository::discover(&env).expect("a repository");
    let context = CommandContext::new(&env, &repo, &BuiltIn, Selection::default()).expect("a context");
    before_push(&context, remote, url, lines)
}

#[test]
fn the_hook_does_nothing_during_a_sync() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repo = &clones(&place, &hub, 1)[0];
    work(repo, "one");
    let refs = (all_refs(&hub), all_refs(repo));
    let variables = HashMap::from([("EMPIRICA_IN_HOOK".to_owned(), "1".to_owned())]);
    let came = call(variables, repo.path.clone(), "origin", hub.path.to_str().expect("UTF-8"), &[]);
    assert!(came.messages.is_empty() && came.failed.is_none());
    assert_eq!((all_refs(&hub), all_refs(repo)), refs);
}

/// Installs the hooks.
fn install(repo: &Repo<'_>) {
    repo.run(["init"]).ok();
    repo.git(["config", "--unset-all", "empirica.remote"]);
}

/// A clone with the hook and something to say, and its hub.
fn ready<'p>(place: &'p Sandbox) -> (Repo<'p>, Repo<'p>) {
    let hub = hub(place);
    let repo = clones(place, &hub, 1).remove(0);
    install(&repo);
    work(&repo, "one");
    (hub, repo)
}

/// Runs git and counts the fetches the hook makes.
fn fetches(repo: &Repo<'_>, arguments: &[&str]) -> (usize, RunOutput) {
    let trace = repo.place.path().join("trace");
    let _ = std::fs::remove_file(&trace);
    let mut command = repo.place.command("git", &repo.path);
    let out = command.args(arguments).env("GIT_TRACE", &trace).output().expect("git starts");
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let ran = RunOutput {
        code: out.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&out.stdout).into_owned(),
        err: String::from_utf8_lossy(&out.stderr).into_owned(),
    };
    // a git without this option is run again without it
    let is_ours = |line: &&str| line.contains("built-in: git fetch") && line.contains("--porcelain");
    (text.lines().filter(is_ours).count(), ran)
}

#[test]
fn a_push_syncs_the_notes_only_if_something_is_new() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    repo.commit("c", "c\n", "Work");
    let (fetches_count, ran) = fetches(&repo, &["push", "-q", "origin", "main"]);
    assert_eq!((fetches_count, ran.code), (1, 0), "{}", ran.err);
    assert!(ran.err.contains("sent 5, received 0"), "{}", ran.err);
    assert!(ran.err.contains("publishing there: attach 1, checkpoint 1"), "{}", ran.err);
    assert_eq!(tips(&hub), tips(&repo));
    assert_eq!(hub.git_out(["rev-parse", "main"]), repo.head());

    let (fetches_count, ran) = fetches(&repo, &["push", "-q", "origin", "main"]);
    assert_eq!((fetches_count, ran.code), (0, 0));
    assert!(!ran.err.contains("said:"), "{}", ran.err);
    // our records are pushed even if git has nothing to push
    repo.json(["finding", "one more"]);
    let (fetches_count, _) = fetches(&repo, &["push", "-q", "origin", "main"]);
    assert_eq!(fetches_count, 1);
    assert!(lines(&hub).join("\n").contains("one more"));
}

#[test]
fn a_dry_run_sends_nothing() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    repo.commit("c", "c\n", "Work");
    repo.git(["config", "alias.try", "push --dry-run"]).ok();
    let before = all_refs(&hub);
    for arguments in [&["push", "--dry-run"][..], &["push", "-qn", "origin", "main"], &["try"], &["push", "--dry"]] {
        repo.git(arguments).ok();
        assert_eq!(all_refs(&hub), before, "{arguments:?}");
    }
    repo.git(["push", "-q"]).ok();
    assert_ne!(tips(&hub), vec![None; 4]);
}

#[test]
fn a_push_that_names_notes_or_mirrors_is_left_alone() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    repo.commit("c", "c\n", "Work");
    let ours = tips(&repo);
    let (fetches_count, ran) = fetches(&repo, &["push", "-q", "origin", "main", "refs/notes/empirica/data/*"]);
    assert_eq!((fetches_count, ran.code), (0, 0), "{}", ran.err);
    assert_eq!(tips(&hub)[..3], ours[..3]);
    assert!(tips(&hub)[3].is_none());
    hub.git(["init", "-q", "--bare", "../mirror.git"]).ok();
    repo.git(["config", "empirica.remote", "../mirror.git"]).ok();
    let (fetches_count, ran) = fetches(&repo, &["push", "-q", "--mirror", "../mirror.git"]);
    assert_eq!((fetches_count, ran.code), (0, 0), "{}", ran.err);
}

#[test]
fn notes_are_pushed_only_to_allowed_remotes() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    hub.git(["clone", "-q", "--bare", ".", "../other.git"]).ok();
    repo.git(["remote", "add", "other", "../other.git"]).ok();
    repo.commit("c", "c\n", "Work");
    repo.git(["push", "-q", "other", "main"]).ok();
    assert_eq!(tips(&place.at("other.git")), vec![None; 4], "the branch tracks origin");
    repo.git(["config", "empirica.sync", "off"]).ok();
    repo.git(["push", "-q", "origin", "main"]).ok();
    assert_eq!(tips(&hub), vec![None; 4]);
    repo.git(["config", "empirica.sync", "handoffs"]).ok();
    repo.git(["push", "-q", "origin", "main"]).ok();
    let there = tips(&hub);
    assert!(there[0].is_none() && there[2].is_some() && there[3].is_some(), "{there:?}");
    repo.json(["finding", "nothing that may leave"]);
    assert_eq!(fetches(&repo, &["push", "-q", "origin", "main"]).0, 0);
}

#[test]
fn each_of_several_push_urls_gets_the_notes() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    let others: Vec<Repo<'_>> = ["p1.git", "p2.git", "p3.git"].map(|name| place.at(name)).into();
    for other in &others {
        let path = other.path.to_str().expect("UTF-8");
        hub.git(["clone", "-q", "--bare", ".", path]).ok();
        repo.git(["remote", "set-url", "--add", "--push", "origin", path]).ok();
    }
    repo.commit("c", "c\n", "Work");
    repo.git(["push", "-q", "origin", "main"]).ok();
    others.iter().for_each(|other| assert_eq!(tips(other), tips(&repo)));
    assert_eq!(fetches(&repo, &["push", "-q", "origin", "main"]).0, 0);
}

#[test]
fn a_server_that_refuses_notes_is_retried_once_a_day() {
    let mut place = Sandbox::new();
    {
        let (hub, repo) = ready(&place);
        let script = "while read old new ref; do case $ref in refs/notes/*) exit 1;; esac; done";
        hook(&hub, "pre-receive", script);
        repo.commit("c", "c\n", "Work");
        let (fetches_count, ran) = fetches(&repo, &["push", "-q", "origin", "main"]);
        assert_eq!((fetches_count, ran.code), (1, 0), "{}", ran.err);
        assert!(ran.err.contains("origin rejected it"), "{}", ran.err);
        assert_eq!(hub.git_out(["rev-parse", "main"]), repo.head(), "the user's push is unaffected");
        let (fetches_count, ran) = fetches(&repo, &["push", "-q", "origin", "main"]);
        assert_eq!((fetches_count, ran.code), (0, 0));
        assert!(!ran.err.contains("cannot sync"), "{}", ran.err);
        assert!(repo.run(["doctor"]).out.contains("origin refused the notes; pushes ask it again after a day"));
        // strict pushes always ask
        let (fetches_count, ran) = fetches(&repo, &["-c", "empirica.strict=true", "push", "-q", "origin", "main"]);
        assert_eq!((fetches_count, ran.code), (1, 1), "{}", ran.err);
    }
    place.now = "2026-03-02T13:00:00.000Z".into();
    assert_eq!(fetches(&place.at("c0"), &["push", "-q", "origin", "main"]).0, 1);
}

#[test]
fn a_hanging_remote_times_out_and_its_processes_are_killed() {
    let place = Sandbox::new();
    let (_hub, repo) = ready(&place);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/x.git", listener.local_addr().expect("an address"));
    repo.git(["config", "empirica.remote", &url]).ok();
    let before = tips(&repo);
    let run = || {
        let hook = repo.path.join(".git/hooks/pre-push");
        let out = place.command(hook, &repo.path).args([&url, &url]).output().expect("it starts");
        (out.status.success(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    listener.set_nonblocking(true).expect("a mode");
    // on a busy machine a short time is over before git has connected
    let connected = [300, 1000, 3000, 9000].into_iter().find_map(|time| {
        repo.git(["config", "empirica.syncTimeout", &format!("{time}ms")]).ok();
        let (went, output) = run();
        assert!(went && output.contains("cannot sync with"), "{output}");
        listener.accept().ok()
    });
    // the helper that held the connection has ended, too
    let (mut stream, _) = connected.expect("a connection");
    stream.set_nonblocking(false).expect("a mode");
    stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a limit");
    let mut request = Vec::new();
    stream.read_to_end(&mut request).expect("its end");
    assert!(request.starts_with(b"GET /x.git/info/refs"), "{request:?}");
    assert_eq!(tips(&repo), before);
    repo.git(["config", "empirica.syncTimeout", "300ms"]).ok();
    repo.git(["config", "empirica.strict", "true"]).ok();
    assert!(!run().0, "strict lets the push fail");
}

#[test]
fn a_lock_that_is_held_does_not_hinder_the_push() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    sync(&repo);
    repo.commit("c", "c\n", "Work");
    repo.json(["finding", "later"]);
    let lock = File::options().write(true).open(repo.path.join(".git/empirica/lock")).expect("a lock");
    lock.lock().expect("the lock");
    repo.git(["push", "-q", "origin", "main"]).ok();
    assert_eq!(hub.git_out(["rev-parse", "main"]), repo.head());
    assert!(!lines(&hub).join("\n").contains("later"));
    drop(lock);
    repo.git(["push", "-q", "origin", "main"]).ok();
    assert!(lines(&hub).join("\n").contains("later"));
}

#[test]
fn a_sync_runs_no_hook() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    hook(&repo, "pre-push", "touch \"$(git rev-parse --git-common-dir)/hooked\"; exit 1");
    repo.git(["config", "push.followTags", "true"]).ok();
    repo.git(["tag", "-a", "-m", "v", "v1"]).ok();
    sync(&repo);
    assert!(!repo.path.join(".git/hooked").exists());
    assert_eq!(tips(&hub), tips(&repo));
    assert!(!all_refs(&hub).contains("refs/tags/v1"), "nothing else is taken along");
}

#[test]
fn a_push_from_a_linked_worktree_takes_the_notes_along() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    repo.git(["worktree", "add", "-q", "-b", "topic", "../linked", "--track", "origin/main"]).ok();
    let linked = place.at("linked");
    linked.commit("sub/t", "t\n", "Topic");
    let inside = Repo { place: &place, path: linked.path.join("sub") };
    inside.git(["push", "-q", "origin", "topic"]).ok();
    assert!(REFS.iter().zip(tips(&hub)).all(|(_, tip)| tip.is_some()), "{:?}", tips(&hub));
}

/// A slow user hook on notes refs; it logs whether it began and whether it finished.
fn slow_hook(repo: &Repo<'_>) -> [PathBuf; 2] {
    let paths = ["began", "ended"].map(|name| repo.place.path().join(name));
    let body = format!(
        "#!/bin/sh\ngrep -q refs/notes/empirica/data || exit 0\necho x >>'{}'\nsleep 60\necho x >>'{}'\n",
        paths[0].display(),
        paths[1].display()
    );
    script(&repo.path.join(".git/hooks/reference-transaction"), &body);
    paths
}

#[test]
fn the_push_time_limit_covers_local_writes() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    sync(&repo);
    repo.commit("c", "c\n", "Work");
    // waits in the log: a push is what would write it
    let lock = File::options().write(true).open(repo.path.join(".git/empirica/lock")).expect("a lock");
    lock.lock().expect("the lock");
    repo.git(["config", "empirica.lockTimeout", "1ms"]).ok();
    repo.json(["finding", "kept waiting"]);
    drop(lock);
    repo.git(["config", "empirica.syncTimeout", "300ms"]).ok();
    let (before, marks) = (tips(&repo), slow_hook(&repo));
    let ran = repo.git(["push", "-q", "origin", "main"]).ok();
    assert_eq!(hub.git_out(["rev-parse", "main"]), repo.head(), "the user's push is unaffected");
    assert!(marks[0].exists() && !marks[1].exists(), "it was ended: {}", ran.err);
    assert!(ran.err.contains("timed out") && ran.err.contains("empirica.syncTimeout"), "{}", ran.err);
    assert!(!ran.err.contains("origin"), "the remote is not to blame: {}", ran.err);
    assert_eq!(tips(&repo), before);
    // with the hook gone, it is written and goes along
    std::fs::remove_file(repo.path.join(".git/hooks/reference-transaction")).expect("a hook");
    repo.git(["config", "empirica.syncTimeout", "60s"]).ok();
    repo.commit("d", "d\n", "More");
    repo.git(["push", "-q", "origin", "main"]).ok();
    assert!(lines(&hub).join("\n").contains("kept waiting"));
    repo.fsck();
}

#[test]
fn an_invalid_time_limit_is_reported_and_a_number_is_seconds() {
    let place = Sandbox::new();
    let (hub, repo) = ready(&place);
    repo.git(["config", "empirica.syncTimeout", "soon"]).ok();
    let ran = repo.git(["push", "-q", "origin", "main"]).ok();
    assert!(ran.err.contains("empirica.syncTimeout is 'soon'") && ran.err.contains("10s is used"), "{}", ran.err);
    assert!(!lines(&hub).is_empty(), "the notes went along");
    repo.git(["config", "empirica.syncTimeout", "60"]).ok();
    assert!(repo.run(["doctor"]).out.contains("every empirica.* value can be used"));
    repo.run(["finding", "another"]).ok();
    repo.commit("c", "c\n", "Work");
    let ran = repo.git(["push", "-q", "origin", "main"]).ok();
    assert!(!ran.err.contains("syncTimeout") && lines(&hub).join("\n").contains("another"), "{}", ran.err);
    // none at all: the push waits for nothing, and says that nothing went
    repo.git(["config", "empirica.syncTimeout", "0"]).ok();
    repo.run(["finding", "a third"]).ok();
    repo.commit("d", "d\n", "More");
    let ran = repo.git(["push", "-q", "origin", "main"]).ok();
    assert!(ran.err.contains("timed out") && !lines(&hub).join("\n").contains("a third"), "{}", ran.err);
}

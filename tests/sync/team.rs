//! Several clones of one repository, for the tests of sync.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, is_long};

pub const REFS: [&str; 4] = [
    "refs/notes/empirica/data/journal",
    "refs/notes/empirica/data/checkpoints",
    "refs/notes/empirica/data/handoffs",
    "refs/notes/empirica/handoffs",
];
pub const SPECS: [&str; 2] = [
    "+refs/notes/empirica/data/*:refs/notes/empirica/remotes/origin/data/*",
    "+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/origin/handoffs*",
];

/// A bare repository with three commits on main.
pub fn hub<'p>(place: &'p Sandbox) -> Repo<'p> {
    let seed = place.repo("seed");
    seed.commit("a", "a\n", "Second");
    seed.commit("b", "b\n", "Third");
    seed.git(["clone", "-q", "--bare", ".", "../hub.git"]).ok();
    place.at("hub.git")
}

/// Clones of it, `c0` and so on, with the two refspecs that `init` sets.
pub fn clones<'p>(place: &'p Sandbox, hub: &Repo<'p>, n: usize) -> Vec<Repo<'p>> {
    let clone = |at: usize| {
        let repo = place.clone(hub, &format!("c{at}"), false);
        SPECS.iter().for_each(|spec| drop(repo.git(["config", "--add", "remote.origin.fetch", spec]).ok()));
        repo
    };
    (0..n).map(clone).collect()
}

/// A session with something on every ref; returns its handoff.
#[track_caller]
pub fn work(repo: &Repo<'_>, ai: &str) -> String {
    repo.start(ai, &format!("task of {ai}"));
    repo.json(["finding", &format!("finding of {ai}"), "--ai", ai]);
    repo.json(["checkpoint", "-v", "know=0.5", "--ai", ai]);
    let handoff = repo.json(["handoff", "--ai", ai]);
    assert_eq!(handoff["degraded_mode"], false, "{handoff}");
    handoff["handoff_id"].as_str().expect("an id").to_owned()
}

/// Syncs with the only remote; what came of it there.
#[track_caller]
pub fn sync(repo: &Repo<'_>) -> Value {
    repo.json(["sync"])["remotes"][0].clone()
}

/// The status of each ref, in their order.
pub fn statuses(synced: &Value) -> Vec<String> {
    let refs = synced["refs"].as_array().expect("refs");
    refs.iter().map(|r| r["status"].as_str().expect("a word").to_owned()).collect()
}

pub fn is_quiet(synced: &Value) -> bool {
    statuses(synced).iter().all(|status| status == "unchanged")
}

/// What a ref points to, or its tree with `^{tree}`.
pub fn resolve(repo: &Repo<'_>, name: &str) -> Option<String> {
    let ran = repo.git(["rev-parse", "-q", "--verify", name]);
    (ran.code == 0).then(|| ran.out.trim().to_owned())
}

pub fn tips(repo: &Repo<'_>) -> Vec<Option<String>> {
    REFS.iter().map(|name| resolve(repo, name)).collect()
}

pub fn trees(repo: &Repo<'_>) -> Vec<Option<String>> {
    REFS.iter().map(|name| resolve(repo, &format!("{name}^{{tree}}"))).collect()
}

/// Every line of every data ref, sorted.
pub fn lines(repo: &Repo<'_>) -> Vec<String> {
    let mut lines: Vec<String> = ["journal", "checkpoints", "handoffs"].iter().flat_map(|s| repo.lines(s)).collect();
    lines.sort();
    lines
}

/// All refs of a repository with what they point to.
pub fn all_refs(repo: &Repo<'_>) -> String {
    repo.git_out(["for-each-ref", "--format=%(refname) %(objectname)"])
}

/// Makes a hook of a repository's.
pub fn hook(repo: &Repo<'_>, name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let folder = PathBuf::from(repo.git_out(["rev-parse", "--absolute-git-dir"])).join("hooks");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    path
}

/// Syncs; where others were faster each time, runs it again, as it says.
#[track_caller]
fn sync_at_last(repo: &Repo<'_>) {
    for _ in 0..if is_long() { 200 } else { 5 } {
        let ran = repo.run(["sync", "--json"]);
        if ran.code == 0 {
            return;
        }
        let error = ran.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains("gave up after 12 attempts: the remote kept changing"), "{error}");
    }
    panic!("others were always faster");
}

/// Several rounds in which all clones write and sync at once; then all must have all.
#[track_caller]
pub fn converge(repos: &[Repo<'_>], hub: &Repo<'_>, rounds: usize) {
    std::thread::scope(|scope| {
        for (at, repo) in repos.iter().enumerate() {
            scope.spawn(move || {
                repo.start(&format!("ai{at}"), "t");
                for round in 0..rounds {
                    repo.run(["finding", &format!("fact {at}-{round}")]).ok();
                    repo.run(["handoff", "--next", &format!("step {at}-{round}")]).ok();
                    sync_at_last(repo);
                }
            });
        }
    });
    // those that were done first have not seen the others' last
    repos.iter().for_each(|repo| drop(sync(repo)));
    let expected = trees(hub);
    assert!(expected.iter().filter(|tree| tree.is_some()).count() == 3, "{expected:?}");
    for repo in repos {
        assert_eq!(trees(repo), expected);
        let all = lines(repo).join("\n");
        for at in 0..repos.len() {
            for round in 0..rounds {
                assert!(all.contains(&format!("\"fact {at}-{round}\"")), "fact {at}-{round} is gone");
                assert!(all.contains(&format!("\"step {at}-{round}\"")), "step {at}-{round} is gone");
            }
        }
        assert!(is_quiet(&sync(repo)));
        repo.fsck();
    }
}

//! Every kind of repository: {sha1, sha256} x {files, reftable} x {main worktree, linked worktree, bare, submodule} x {full,
//! shallow, partial}, reading a teammate's records, writing, following a commit, syncing back.

use std::fs;

use crate::support::harness::{Repo, Sandbox, each};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    Main,
    Linked,
    Bare,
    Submodule,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Depth {
    Full,
    Shallow,
    Partial,
}

/// How objects are named and refs are stored.
#[derive(Clone, Copy)]
pub struct Format {
    pub hash: &'static str,
    pub refs: &'static str,
}

impl Format {
    /// The options of `git init`; git before 2.45 knows nothing but files.
    pub fn options(&self) -> Vec<String> {
        let refs = (self.refs != "files").then(|| format!("--ref-format={}", self.refs));
        [format!("--object-format={}", self.hash)].into_iter().chain(refs).collect()
    }
}

const FILE: &str = "protocol.file.allow=always";

/// Whether the installed git can make such a repository.
pub fn git_has(place: &Sandbox, format: Format) -> bool {
    let home = place.at("home");
    let options = format.options();
    let words = ["init", "-q", "--bare", "probe"].into_iter().chain(options.iter().map(String::as_str));
    let made = home.git(words).code == 0;
    let _ = fs::remove_dir_all(home.path.join("probe"));
    made
}

/// A new repository of a format, with an identity.
pub fn new<'p>(place: &'p Sandbox, name: &str, format: Format, bare: bool) -> Repo<'p> {
    fs::create_dir_all(place.path().join(name)).expect("a folder");
    let repo = place.at(name);
    let options = format.options();
    let words = ["init", "-q", "-b", "main"].into_iter().chain(bare.then_some("--bare"));
    repo.git(words.chain(options.iter().map(String::as_str))).ok();
    named(repo, "Test")
}

fn named<'p>(repo: Repo<'p>, name: &str) -> Repo<'p> {
    repo.git(["config", "user.name", name]).ok();
    repo.git(["config", "user.email", "test@example.com"]).ok();
    repo
}

/// A server's repository with three commits, and a teammate's clone of it with pushed notes.
fn served<'p>(place: &'p Sandbox, format: Format) -> (Repo<'p>, Repo<'p>) {
    let hub = new(place, "hub.git", format, true);
    for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        hub.git(["config", key, "true"]).ok();
    }
    let mate = new(place, "mate", format, false);
    for n in 1..=3 {
        mate.commit("f", &format!("{n}\n"), &format!("Commit {n}"));
    }
    let url = format!("file://{}", hub.path.display());
    mate.git(["remote", "add", "origin", &url]).ok();
    mate.git(["push", "-q", "-u", "origin", "main"]).ok();
    mate.start("mate", "the mate's task");
    mate.json(["finding", "the mate found it"]);
    mate.hand_over("the mate's task");
    assert_eq!(mate.json(["sync"])["ok"], true);
    (hub, mate)
}

/// A clone as a user makes it, with whatever is between it and the place it is worked in.
fn cloned<'p>(place: &'p Sandbox, hub: &Repo<'_>, format: Format, place_is: Where, depth: Depth) -> Repo<'p> {
    let home = place.at("home");
    let url = format!("file://{}", hub.path.display());
    let mut words: Vec<String> = ["-c", FILE, "clone", "-q"].map(str::to_owned).to_vec();
    if format.refs != "files" {
        words.push(format!("--ref-format={}", format.refs));
    }
    words.extend(match depth {
        Depth::Full => None,
        Depth::Shallow => Some("--depth=1".to_owned()),
        Depth::Partial => Some("--filter=blob:none".to_owned()),
    });
    let target = |name: &str| place.path().join(name).display().to_string();
    match place_is {
        Where::Bare => {
            home.git(words.into_iter().chain(["--bare".to_owned(), url, target("bare.git")])).ok();
            named(place.at("bare.git"), "Me")
        }
        Where::Main => {
            home.git(words.into_iter().chain([url, target("me")])).ok();
            named(place.at("me"), "Me")
        }
        Where::Linked => {
            home.git(words.into_iter().chain([url, target("me")])).ok();
            let main = named(place.at("me"), "Me");
            main.git(["worktree", "add", "-q", "-b", "side", &target("linked"), "main"]).ok();
            place.at("linked")
        }
        Where::Submodule => {
            let above = new(place, "above", format, false);
            above.commit("f", "x\n", "One");
            home.git(words.into_iter().chain([url.clone(), target("above/sub")])).ok();
            above.git(["-c", FILE, "submodule", "--quiet", "add", &url, "sub"]).ok();
            above.git(["submodule", "absorbgitdirs"]).ok();
            above.git(["commit", "-q", "-m", "Add sub"]).ok();
            assert!(above.path.join("sub/.git").is_file(), "the git directory is the superproject's");
            named(place.at("above/sub"), "Me")
        }
    }
}

/// In a full clone, a shallow and a partial one; in the short form in one of them, such that each format and each place has each depth.
#[track_caller]
fn lives_at_each_depth(format: Format, place_is: Where) {
    let first = usize::from(format.hash == "sha256") + 2 * usize::from(format.refs == "reftable") + place_is as usize;
    let depths = [Depth::Full, Depth::Shallow, Depth::Partial];
    for depth in depths.into_iter().skip(first % each(3)).step_by(each(3)) {
        lives(format, place_is, depth);
    }
}

/// That the clone is what the test takes it for.
#[track_caller]
fn is_of_its_kind(repo: &Repo<'_>, format: Format, place_is: Where, depth: Depth) {
    let common = repo.path.join(repo.git_out(["rev-parse", "--git-common-dir"]));
    assert_eq!(common.join("reftable").is_dir(), format.refs == "reftable");
    assert_eq!(repo.head().len(), if format.hash == "sha1" { 40 } else { 64 });
    assert_eq!(common.join("shallow").exists(), depth == Depth::Shallow);
    let lacking = repo.git_out(["rev-list", "--objects", "--all", "--missing=print"]);
    assert_eq!(lacking.contains("\n?"), depth == Depth::Partial, "{lacking}");
    assert_eq!(repo.git_out(["rev-parse", "--is-bare-repository"]) == "true", place_is == Where::Bare);
}

/// The whole life of records in one kind of repository.
#[track_caller]
fn lives(format: Format, place_is: Where, depth: Depth) {
    let place = Sandbox::new();
    if !git_has(&place, format) {
        return;
    }
    let what = format!("{} {} {place_is:?} {depth:?}", format.hash, format.refs);
    let (hub, mate) = served(&place, format);
    let repo = cloned(&place, &hub, format, place_is, depth);
    is_of_its_kind(&repo, format, place_is, depth);

    // the first sync fetches the teammate's records, also those on missing commits
    repo.json(["sync", "origin"]);
    let known = repo.json(["query"]);
    assert_eq!(known["total_found"], 1, "{what}: {known}");
    assert!(repo.json(["search", "found"]).to_string().contains("the mate found it"), "{what}");
    assert!(repo.json(["resume"]).to_string().contains("the mate's task"), "{what}");

    // it is written to, in all ways there are
    let session = repo.start("me", "my task");
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.5"]);
    let finding = repo.json(["finding", "I found it, too"])["id"].as_str().expect("an id").to_owned();
    let secret = repo.json(["finding", "what should not have been said"])["id"].as_str().expect("an id").to_owned();
    repo.json(["checkpoint"]);
    let handoff = repo.hand_over("my task");
    let stored = repo.json(["status"]);
    assert_eq!(stored["unflushed"], 0, "{what}: {stored}");
    assert_eq!(repo.handoffs_at(&repo.head()).iter().filter(|id| **id == handoff).count(), 1, "{what}");
    let note = repo.git_out(["log", "-1", "--notes=empirica/handoffs", "--format=%N"]);
    assert!(note.contains("my task"), "{what}: {note}");
    repo.fsck();

    // a note follows its commit
    if place_is != Where::Bare {
        repo.run(["init"]).ok();
        repo.commit("mine", "x\n", "Mine");
        repo.json(["finding", "said on the commit", "--session", &session]);
        let later = repo.hand_over("on the commit");
        repo.git(["commit", "-q", "--amend", "-m", "Mine, said better"]).ok();
        assert!(repo.handoffs_at(&repo.head()).contains(&later), "{what}");
        assert_eq!(repo.git_out(["status", "--porcelain"]), "", "{what}");
        let doctor = repo.run(["doctor"]);
        assert_eq!(doctor.code, 0, "{what}: {}{}", doctor.out, doctor.err);
    }

    // it is taken out again and synced, and the teammate reads it
    repo.json(["redact", &secret]);
    let sent = repo.json(["sync", "origin"]);
    assert_eq!(sent["ok"], true, "{what}: {sent}");
    mate.json(["sync"]);
    let answer = mate.json(["search", "too"]).to_string();
    assert!(answer.contains(&finding), "{what}: {answer}");
    let output = mate.run(["export", "--jsonl"]).ok().out.contains("should not have been said");
    assert!(!output, "{what}");
    for clone in [&repo, &mate, &hub] {
        clone.fsck();
    }
    let refs = ["data/journal", "data/checkpoints", "data/handoffs", "handoffs"];
    for name in refs.map(|name| format!("refs/notes/empirica/{name}^{{tree}}")) {
        assert_eq!(repo.git_out(["rev-parse", &name]), hub.git_out(["rev-parse", &name]), "{what}: {name}");
    }
}

macro_rules! kinds {
    ($($name:ident: $hash:literal $refs:literal;)*) => {$(
        mod $name {
            use super::*;

            const FORMAT: Format = Format { hash: $hash, refs: $refs };

            #[test]
            fn main_worktrees_keep_records() {
                lives_at_each_depth(FORMAT, Where::Main);
            }

            #[test]
            fn linked_worktrees_keep_records() {
                lives_at_each_depth(FORMAT, Where::Linked);
            }

            #[test]
            fn bare_repositories_keep_records() {
                lives_at_each_depth(FORMAT, Where::Bare);
            }

            #[test]
            fn submodules_keep_records() {
                lives_at_each_depth(FORMAT, Where::Submodule);
            }
        }
    )*};
}

kinds! {
    sha1_files: "sha1" "files";
    sha1_reftable: "sha1" "reftable";
    sha256_files: "sha256" "files";
    sha256_reftable: "sha256" "reftable";
}

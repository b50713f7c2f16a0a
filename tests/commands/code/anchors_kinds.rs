//! Anchors in repositories of every kind; what is not here is unknown, and never fetched.

use crate::commands::code::anchors::{id, lines, place};
use crate::support::harness::{Repo, Sandbox};

/// A server's repository and a clone in which a claim was made about `src/a.rs:10-12`, which then changed.
fn served<'p>(sandbox: &'p Sandbox, options: &[&str]) -> (Repo<'p>, String) {
    let hub = sandbox.path().join("hub.git");
    let home = sandbox.at("home");
    let init = ["init", "-q", "-b", "main"].into_iter();
    let hub_name = hub.to_str().expect("a path");
    home.git(init.clone().chain(["--bare"]).chain(options.iter().copied()).chain([hub_name])).ok();
    let mate = sandbox.path().join("mate");
    home.git(init.chain(options.iter().copied()).chain([mate.to_str().expect("a path")])).ok();
    let mate = sandbox.at("mate");
    for (key, value) in [("user.name", "Test"), ("user.email", "test@example.com")] {
        mate.git(["config", key, value]).ok();
    }
    for key in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        sandbox.at("hub.git").git(["config", key, "true"]).ok();
    }
    mate.git(["remote", "add", "origin", &format!("file://{hub_name}")]).ok();
    mate.commit("src/a.rs", &lines("line"), "first");
    mate.start("ada", "Learn");
    let claim = id(&mate.json(["finding", "needs a retry", "--at", "src/a.rs:10-12"]));
    mate.commit("src/a.rs", &lines("line").replace("line 11", "LINE"), "second");
    mate.git(["push", "-q", "origin", "main"]).ok();
    mate.json(["sync"]);
    (mate, claim)
}

fn cloned<'p>(sandbox: &'p Sandbox, name: &str, options: &[&str]) -> Repo<'p> {
    let url = format!("file://{}", sandbox.path().join("hub.git").display());
    let target = sandbox.path().join(name).display().to_string();
    let words = ["-c", "protocol.file.allow=always", "clone", "-q"].into_iter();
    sandbox.at("home").git(words.chain(options.iter().copied()).chain([url.as_str(), &target])).ok();
    let repo = sandbox.at(name);
    repo.git(["config", "user.name", "Me"]).ok();
    repo.git(["config", "user.email", "me@example.com"]).ok();
    repo.json(["sync"]);
    repo
}

#[test]
fn in_clones_of_every_format_and_depth() {
    let sandbox = Sandbox::new();
    for options in [&[][..], &["--object-format=sha256"], &["--ref-format=reftable"]] {
        let sandbox = if options.is_empty() { &sandbox } else { &Sandbox::new() };
        if sandbox.at("home").git(["init", "-q"].into_iter().chain(options.iter().copied()).chain(["probe"])).code != 0
        {
            continue;
        }
        let (mate, claim) = served(sandbox, options);
        assert_eq!(place(&mate, &claim).0, "changed");
        for (name, depth) in [("full", None), ("shallow", Some("--depth=1")), ("partial", Some("--filter=blob:none"))] {
            let repo = cloned(sandbox, name, depth.as_slice());
            assert_eq!(place(&repo, &claim).0, "changed", "{options:?} {name}");
            repo.write("src/a.rs", &format!("new\n{}", lines("line")));
            assert_eq!(place(&repo, &claim), ("moved".to_owned(), "src/a.rs:11-13".to_owned()), "{options:?} {name}");
            let bare =
                cloned(sandbox, &format!("{name}.git"), &["--bare"].into_iter().chain(depth).collect::<Vec<_>>());
            let state = if name == "partial" { "unknown" } else { "changed" };
            assert_eq!(place(&bare, &claim).0, state, "{options:?} bare {name}");
        }
    }
}

#[test]
fn nothing_is_fetched_to_compare() {
    let sandbox = Sandbox::new();
    let (mate, claim) = served(&sandbox, &[]);
    mate.git(["mv", "src/a.rs", "src/b.rs"]).ok();
    mate.git(["commit", "-q", "-m", "third"]).ok();
    mate.git(["push", "-q", "origin", "main"]).ok();
    for (name, options) in [
        ("blobless", &["--filter=blob:none"][..]),
        ("bare.git", &["--bare", "--filter=blob:none"]),
        ("treeless", &["--filter=tree:0"]),
    ] {
        let repo = cloned(&sandbox, name, options);
        let hits = repo.json(["search", "retry"]);
        assert_eq!(hits["total_found"], 1);
        let objects = || repo.git_out(["cat-file", "--batch-all-objects", "--batch-check"]);
        let before = objects();
        std::fs::rename(sandbox.path().join("hub.git"), sandbox.path().join("away")).expect("renamed");
        // no object is here to tell a rename
        assert_eq!(place(&repo, &claim).0, "unknown", "{name}");
        assert_eq!(objects(), before, "{name}");
        std::fs::rename(sandbox.path().join("away"), sandbox.path().join("hub.git")).expect("renamed");
    }
}

#[test]
fn a_shallow_clone_does_not_say_that_a_renamed_file_is_gone() {
    let sandbox = Sandbox::new();
    let (mate, claim) = served(&sandbox, &[]);
    mate.git(["mv", "src/a.rs", "src/b.rs"]).ok();
    mate.git(["commit", "-q", "-m", "third"]).ok();
    mate.commit("other", "x\n", "fourth");
    mate.git(["push", "-q", "origin", "main"]).ok();
    assert_eq!(place(&cloned(&sandbox, "full", &[]), &claim).0, "changed");
    let shallow = cloned(&sandbox, "shallow", &["--depth=1"]);
    assert_eq!(place(&shallow, &claim).0, "unknown");
    shallow.git(["fetch", "-q", "--unshallow"]).ok();
    assert_eq!(place(&shallow, &claim).0, "changed");
}

#[test]
fn what_is_known_is_told_without_fetching_and_from_head() {
    let sandbox = Sandbox::new();
    let (mate, _) = served(&sandbox, &[]);
    mate.json(["decision", "shout", "--why", "it is heard"]);
    mate.json(["sync"]);
    let repo = cloned(&sandbox, "partial", &["--filter=blob:none"]);
    let objects = || repo.git_out(["cat-file", "--batch-all-objects", "--batch-check"]);
    repo.json(["search", "shout"]);
    let before = objects();
    for place in ["src/a.rs", "src/a.rs:11"] {
        repo.json(["why", place]);
        assert_eq!(objects(), before, "{place}");
    }
    let full = cloned(&sandbox, "full", &[]);
    full.git(["sparse-checkout", "set", "other"]).ok();
    assert!(!full.path.join("src/a.rs").exists());
    let known = full.json(["why", "src/a.rs:11"]);
    assert_eq!(known["known"][0]["text"], "shout", "{known}");
}

#[test]
fn a_sparse_checkout_is_compared_with_head() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    repo.commit("lib/b.rs", "x\n", "second");
    repo.start("ada", "Learn");
    let claim = id(&repo.json(["finding", "x", "--at", "src/a.rs:10-12"]));
    repo.git(["sparse-checkout", "set", "lib"]).ok();
    assert!(!repo.path.join("src/a.rs").exists());
    assert_eq!(place(&repo, &claim).0, "holds");
    // named from HEAD, too
    let other = id(&repo.json(["finding", "y", "--at", "src/a.rs:3"]));
    assert_eq!(place(&repo, &other).0, "holds");
}

#[test]
fn submodules_and_filters_are_no_change() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    let sub = sandbox.repo("sub");
    sub.commit("f", "x\n", "first");
    repo.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        sub.path.to_str().expect("a path"),
        "lib",
    ])
    .ok();
    repo.write(".gitattributes", "*.txt text eol=crlf\n");
    repo.commit("a.txt", "one\r\ntwo\r\n", "first");
    let other = sandbox.clone(&repo, "other", false);
    repo.start("ada", "Learn");
    let error = repo.fails(2, ["finding", "x", "--at", "lib"]);
    assert!(error["error"].as_str().expect("a text").ends_with("it is a folder"), "{error}");
    let claim = id(&repo.json(["finding", "x", "--at", "a.txt"]));
    let lines = id(&repo.json(["finding", "y", "--at", "a.txt:2"]));
    repo.json(["flush"]);
    other.git(["fetch", "-q", "origin", "refs/notes/empirica/*:refs/notes/empirica/*"]).ok();
    other.git(["config", "core.autocrlf", "false"]).ok();
    other.write("a.txt", "one\ntwo\n");
    for repo in [&repo, &other] {
        assert_eq!((place(repo, &claim).0, place(repo, &lines).0), ("holds".to_owned(), "holds".to_owned()));
    }
}

//! Refs with odd names and trees with odd entries below our refs are read or skipped, and kept.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;

use crate::format::hostile_notes::{HANDOFFS, JOURNAL, readers_work, write};
use crate::support::harness::{Repo, Sandbox};

#[test]
fn refs_with_odd_names_are_read_or_passed_over() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    repo.json(["handoff", "--context", "c", "--next", "n"]);
    let (journal, handoffs) = (repo.git_out(["rev-parse", JOURNAL]), repo.git_out(["rev-parse", HANDOFFS]));
    let odd: [&[u8]; 9] = [
        b"--exec",
        b"$(touch pwned)",
        b"a/b/c",
        b"\xff\xfe",
        "\u{202e}x".as_bytes(),
        b"'\"",
        b"%41",
        b"data",
        "\u{9b}31m".as_bytes(),
    ];
    for (name, tip) in odd.iter().flat_map(|name| [(name, &journal), (name, &handoffs)]) {
        let end: &[u8] = if *tip == journal { b"/data/journal" } else { b"/data/handoffs" };
        let full = [b"refs/notes/empirica/remotes/", *name, end].concat();
        repo.git([OsStr::new("update-ref"), OsStr::from_bytes(&full), OsStr::new(tip.as_str())]);
        let full = [b"refs/notes/empirica/", *name, b"-x"].concat();
        repo.git([OsStr::new("update-ref"), OsStr::from_bytes(&full), OsStr::new(tip.as_str())]);
    }
    let before = repo.git(["for-each-ref", "refs/notes/empirica/remotes"]).out.lines().count();
    assert!(before >= 14, "{before}");
    readers_work(&repo);
    write(&repo);
    readers_work(&repo);
    assert_eq!(repo.git(["for-each-ref", "refs/notes/empirica/remotes"]).out.lines().count(), before);
    assert!(!repo.path.join("pwned").exists());
}

#[test]
fn a_ref_in_place_of_a_folder_is_reported_and_loses_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let blocking = "refs/notes/empirica/data";
    repo.git(["update-ref", blocking, "HEAD"]).ok();
    readers_work(&repo);
    repo.start("ada", "t");
    let made = repo.json(["handoff", "--context", "c", "--next", "n"]);
    assert_eq!(made["degraded_mode"], true, "{made}");
    assert!(made["warning"].as_str().is_some_and(|text| text.contains(blocking)), "{made}");
    readers_work(&repo);
    repo.git(["update-ref", "-d", blocking]).ok();
    repo.json(["flush"]);
    assert!(repo.note(HANDOFFS, &repo.head()).contains("\"context\":\"c\""));
}

#[test]
fn trees_with_odd_entries_are_read_and_keep_them() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let head = repo.head();
    repo.start("ada", "t");
    repo.json(["flush"]);
    let blob = repo.git_out(["rev-parse", "HEAD:README.md"]);
    let tree = repo.git_out(["rev-parse", "HEAD^{tree}"]);
    let other = |letter: &str| letter.repeat(40);
    let entries = format!(
        "120000 blob {blob}\t{}\n160000 commit {head}\t{}\n040000 tree {tree}\t{}\n040000 tree {tree}\tzz\n040000 tree {tree}\t0\n\
         100644 blob {blob}\tREADME\n100644 blob {blob}\t--exec\n100644 blob {blob}\t{}\n100755 blob {blob}\t{}\n120000 blob {blob}\tlink\n",
        other("1"),
        other("2"),
        other("3"),
        other("A"),
        other("4"),
    );
    let notes = repo.git_out(["ls-tree", JOURNAL]);
    let file = place.path().join("tree");
    fs::write(&file, format!("{entries}{notes}\n")).expect("a file");
    let mut make = place.command("git", &repo.path);
    make.arg("mktree").stdin(File::open(&file).expect("the file"));
    let made = String::from_utf8(make.output().expect("git").stdout).expect("an id").trim().to_owned();
    let commit = repo.git_out(["commit-tree", "-m", "odd", "-p", JOURNAL, &made]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    let odd = |repo: &Repo<'_>| -> Vec<String> {
        let all = repo.git_out(["ls-tree", "-r", "-t", JOURNAL]);
        all.lines()
            .filter(|line| !line.ends_with(&head) && !line.contains("README.md"))
            .filter(|line| line.len() > 60)
            .map(str::to_owned)
            .collect()
    };
    let before = odd(&repo);
    readers_work(&repo);
    write(&repo);
    readers_work(&repo);
    let after = repo.git_out(["ls-tree", "-r", "-t", JOURNAL]).replace('/', "");
    for line in before.iter().filter(|line| !line.starts_with("040000")) {
        // git, too, makes a plain file of a note, and writes its name in lower case
        let (_, content) = line.split_once(' ').expect("a mode");
        let content = content.replace('/', "");
        assert!(after.contains(&content) || after.contains(&content.to_lowercase()), "lost: {line}\n{after}");
    }
    // a commit whose tree is a file, and a ref that names no commit
    repo.git(["update-ref", "refs/notes/empirica/remotes/x/data/journal", &blob]);
    repo.git(["update-ref", "refs/notes/empirica/remotes/y/data/journal", &tree]);
    readers_work(&repo);
}

#[test]
fn a_name_that_is_no_text_stays_when_a_tree_is_put_in_order() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let head = repo.head();
    repo.start("ada", "t");
    repo.json(["flush"]);
    let made = |entries: &[u8]| {
        let file = place.path().join("tree");
        fs::write(&file, entries).expect("a file");
        let mut make = place.command("git", &repo.path);
        make.arg("mktree").stdin(File::open(&file).expect("the file"));
        String::from_utf8(make.output().expect("git").stdout).expect("an id").trim().to_owned()
    };
    let blob = repo.git_out(["rev-parse", "HEAD:README.md"]);
    // the same note twice, once fanned out: only a hand-made tree has both
    let inner = made(format!("100644 blob {blob}\t{}\n", &head[2..]).as_bytes());
    let notes = repo.git_out(["ls-tree", JOURNAL]);
    let entries = format!("{notes}\n040000 tree {inner}\t{}\n100644 blob {blob}\tcaf", &head[..2]);
    let tree = made(&[entries.as_bytes(), b"\xe9\n"].concat());
    let commit = repo.git_out(["commit-tree", "-m", "odd", "-p", JOURNAL, &tree]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    repo.json(["finding", "on top"]);
    repo.json(["flush"]);
    let names = repo.git_out(["ls-tree", "--name-only", JOURNAL]);
    assert!(names.contains("caf\\351"), "{names}");
    let lines = repo.lines("journal").join("\n");
    assert!(lines.contains("on top") && lines.contains("hello"), "{lines}");
    repo.fsck();
}

//! Interoperability: git reads our notes; we read and keep notes of git and others.

use std::collections::BTreeSet;

use empirica_notes::format::lines;

use crate::support::harness::{Repo, Sandbox};

const JOURNAL: &str = "refs/notes/empirica/data/journal";
const SHELVES: [&str; 3] = ["journal", "checkpoints", "handoffs"];

fn finding(repo: &Repo<'_>, text: &str) -> String {
    repo.json(["finding", text])["id"].as_str().expect("an id").to_owned()
}

fn flush(repo: &Repo<'_>) {
    let json = repo.json(["flush"]);
    assert_eq!((&json["degraded_mode"], &json["waiting"]), (&false.into(), &0.into()), "{json}");
}

/// A session with findings, checkpoints and handoffs on two commits.
fn work(repo: &Repo<'_>) {
    repo.start("a", "the task");
    for n in 0..5 {
        finding(repo, &format!("finding {n}"));
    }
    repo.json(["preflight", "-v", "know=0.5,uncertainty=0.6"]);
    repo.json(["checkpoint", "-v", "know=0.55"]);
    repo.json(["handoff", "-m", "first"]);
    let head = repo.head();
    repo.commit("b", &format!("after {head}"), "Second");
    finding(repo, "one more");
    repo.json(["checkpoint", "-v", "know=0.75"]);
    repo.json(["handoff", "-m", "second"]);
    flush(repo);
}

/// The (blob, object) pairs of a ref, as git lists them.
fn pairs(repo: &Repo<'_>, name: &str) -> BTreeSet<(String, String)> {
    let list = repo.git_out(["notes", "--ref", name, "list"]);
    list.lines().map(|line| line.split_once(' ').map(|(blob, on)| (blob.into(), on.into())).expect("a pair")).collect()
}

/// The tree that git itself writes for the notes of a ref.
fn rebuilt(repo: &Repo<'_>, name: &str) -> String {
    let copy = "refs/notes/rebuilt";
    repo.git(["update-ref", copy, name]).ok();
    let each: String = pairs(repo, name).into_iter().map(|(_, on)| format!("{on} {on}\n")).collect();
    input(repo, &["notes", "--ref", copy, "copy", "-f", "--stdin"], &each);
    let tree = repo.git_out(["rev-parse", &format!("{copy}^{{tree}}")]);
    repo.git(["update-ref", "-d", copy]).ok();
    tree
}

fn tree(repo: &Repo<'_>, name: &str) -> String {
    repo.git_out(["rev-parse", &format!("{name}^{{tree}}")])
}

/// `count` commits that no branch needs to hold, oldest first; HEAD stays.
fn commits(repo: &Repo<'_>, count: usize) -> Vec<String> {
    let mut stream = String::new();
    for n in 0..count {
        let text = format!("commit {n}");
        stream += &format!("commit refs/heads/many\nmark :{}\n", n + 1);
        stream += "committer T <t@example.com> 1772000000 +0000\n";
        stream += &format!("data {}\n{text}\n", text.len());
    }
    input(repo, &["fast-import", "--quiet"], &stream);
    repo.git_out(["rev-list", "--reverse", "many"]).lines().map(str::to_owned).collect()
}

/// Runs git with a text on its standard input; returns what it prints.
fn input(repo: &Repo<'_>, arguments: &[&str], text: &str) -> String {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = repo.place.command("git", &repo.path);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git starts");
    child.stdin.take().expect("git reads it").write_all(text.as_bytes()).expect("git reads it");
    let output = child.wait_with_output().expect("git ends");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
}

#[test]
fn notes_are_canonical_as_git_prints_them() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo);
    for namespace in SHELVES {
        let name = format!("refs/notes/empirica/data/{namespace}");
        let pairs = pairs(&repo, &name);
        assert_eq!(pairs.len(), 2, "{namespace}");
        for (_, on) in pairs {
            let note = repo.git(["notes", "--ref", &name, "show", &on]).ok().out;
            let ids: Vec<&str> = note.lines().map(|line| lines::id(line.as_bytes()).expect(line)).collect();
            assert!(ids.is_sorted() && !ids.is_empty(), "{note}");
            assert!(note.ends_with("}\n") && !note.contains("\n\n") && !note.starts_with('\n'), "{note:?}");
            assert_eq!(lines::canonical(lines::split(note.as_bytes())), note.as_bytes());
        }
    }
    repo.fsck();
}

#[test]
fn only_the_four_refs_of_the_format_exist() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo);
    let refs = repo.git_out(["for-each-ref", "--format=%(refname)"]);
    assert_eq!(
        refs.lines().collect::<Vec<_>>(),
        [
            "refs/heads/main",
            "refs/notes/empirica/data/checkpoints",
            "refs/notes/empirica/data/handoffs",
            "refs/notes/empirica/data/journal",
            "refs/notes/empirica/handoffs",
        ]
    );
    assert_eq!(repo.git_out(["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(repo.git(["config", "--local", "--get-regexp", "empirica|notes|remote"]).out, "");
}

#[test]
fn the_work_tree_and_the_index_stay_as_they_are() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.write("staged", "s");
    repo.git(["add", "staged"]).ok();
    repo.write("README.md", "changed\n");
    repo.write("new", "n");
    let state = || {
        let status = repo.git_out(["status", "--porcelain", "--ignored"]);
        let index = repo.git_out(["ls-files", "--stage"]);
        let mut names: Vec<_> = std::fs::read_dir(&repo.path).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        (status, index, names, repo.git_out(["stash", "list"]), repo.head())
    };
    let before = state();
    repo.start("a", "t");
    finding(&repo, "f");
    for command in [
        &["checkpoint", "-v", "know=0.5"][..],
        &["postflight", "-v", "know=0.7"],
        &["handoff"],
        &["resume"],
        &["log", "--journal"],
        &["session", "end"],
        &["flush"],
    ] {
        repo.json(command);
        assert_eq!(state(), before, "{command:?}");
    }
}

#[test]
fn a_line_appended_with_git_survives_byte_for_byte_behind_the_records() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    finding(&repo, "zzz before");
    flush(&repo);
    for line in [
        "foreign line",
        "  Acked-by:\tA  é ",
        "{\"v\":1}",
        "{\"v\":9,\"id\":\"00000000-0000-7000-8000-00000000000a\",\"new\":0.70}",
    ] {
        let path = place.path().join("line");
        std::fs::write(&path, line).expect("written");
        let blob = repo.git_out(["hash-object", "-w", path.to_str().expect("UTF-8")]);
        repo.git(["notes", "--ref", JOURNAL, "append", "-C", &blob]).ok();
    }
    finding(&repo, "after");
    flush(&repo);
    let note = repo.note(JOURNAL, "HEAD");
    let lines: Vec<&str> = note.lines().collect();
    // a record of a version that is not known sorts with the records
    assert_eq!(lines[0], "{\"v\":9,\"id\":\"00000000-0000-7000-8000-00000000000a\",\"new\":0.70}");
    assert!(lines[1].contains("session_start") && lines[2].contains("zzz before") && lines[3].contains("after"));
    assert_eq!(lines[4..], ["  Acked-by:\tA  é ", "foreign line", "{\"v\":1}"]);
    assert!(!note.contains("\n\n"));
    assert_eq!(repo.json(["session", "show", "latest"])["findings"].as_array().map(Vec::len), Some(2));
}

#[test]
fn bytes_that_are_no_text_survive_our_next_write() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let odd = b"\xff\xfe odd \r\nlast without a line end";
    std::fs::write(repo.path.join(".git/odd"), odd).unwrap();
    let blob = repo.git_out(["hash-object", "-w", ".git/odd"]);
    repo.git(["notes", "--ref", JOURNAL, "add", "-f", "-C", &blob]).ok();
    finding(&repo, "f");
    flush(&repo);
    let shown =
        repo.place.command("git", &repo.path).args(["notes", "--ref", JOURNAL, "show"]).output().unwrap().stdout;
    assert!(shown.ends_with(b"}\nlast without a line end\n\xff\xfe odd \r\n"), "{:?}", String::from_utf8_lossy(&shown));
}

#[test]
fn the_trees_of_many_notes_are_those_git_writes() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    // few notes lie flat, many fanned out; git rebuilds the same at each size
    for (at, commit) in commits(&repo, 300).iter().enumerate() {
        repo.git(["update-ref", "--no-deref", "HEAD", commit]).ok();
        finding(&repo, &format!("on {at}"));
        if [1, 20, 60, 150, 299].contains(&at) {
            flush(&repo);
            assert_eq!(pairs(&repo, JOURNAL).len(), at + 2);
            assert_eq!(tree(&repo, JOURNAL), rebuilt(&repo, JOURNAL), "{at}");
        }
    }
    repo.fsck();
}

#[test]
fn adding_to_many_notes_of_git_writes_the_tree_git_would() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let many = commits(&repo, 300);
    for (at, commit) in many.iter().enumerate() {
        repo.git(["notes", "--ref", JOURNAL, "add", "-m", &format!("note {at}"), commit]).ok();
    }
    repo.git(["update-ref", "--no-deref", "HEAD", &many[7]]).ok();
    finding(&repo, "f");
    flush(&repo);
    let note = repo.note(JOURNAL, &many[7]);
    assert!(note.contains("\"f\"") && note.ends_with("\nnote 7\n"), "{note}");
    assert_eq!(tree(&repo, JOURNAL), rebuilt(&repo, JOURNAL));
    assert_eq!(pairs(&repo, JOURNAL).len(), 301);
}

#[test]
fn sha256_repositories_hold_notes_git_reads() {
    let place = Sandbox::new();
    place.init("dummy");
    std::fs::create_dir(place.path().join("r")).unwrap();
    let repo = place.at("r");
    repo.git(["init", "-q", "-b", "main", "--object-format=sha256"]).ok();
    repo.git(["config", "user.name", "T"]).ok();
    repo.git(["config", "user.email", "t@example.com"]).ok();
    assert_eq!(repo.commit("a", "a", "Begin").len(), 64);
    work(&repo);
    for namespace in SHELVES {
        let name = format!("refs/notes/empirica/data/{namespace}");
        assert_eq!(pairs(&repo, &name).len(), 2, "{namespace}");
        assert_eq!(tree(&repo, &name), rebuilt(&repo, &name), "{namespace}");
    }
    assert!(repo.git_out(["log", "-1", "--notes=empirica/handoffs"]).contains("second"));
    repo.fsck();
}

/// A ref whose tree mixes fan-outs: flat, fanned out, one object in both, and entries that are not notes.
fn mixed(repo: &Repo<'_>) -> Vec<String> {
    repo.start("a", "t");
    let many = commits(repo, 4);
    for (at, commit) in many[..3].iter().enumerate() {
        repo.git(["update-ref", "--no-deref", "HEAD", commit]).ok();
        finding(repo, &format!("found {at}"));
    }
    flush(repo);
    let start = repo.note(JOURNAL, "main");
    let blob = |text: &str| input(repo, &["hash-object", "-w", "--stdin"], text);
    let note = |at: usize| blob(&repo.note(JOURNAL, &many[at]));
    let second = blob("only in the fanned-out entry\n");
    let plain = blob("no note\n");
    let fan = |hex: &str, id: &str| {
        let inner = format!("100644 blob {id}\t{}\n100644 blob {plain}\tnotes.txt\n", &hex[2..]);
        format!("040000 tree {}\t{}\n", input(repo, &["mktree"], &inner), &hex[..2])
    };
    let docs = input(repo, &["mktree"], &format!("100755 blob {plain}\trun.sh\n"));
    let entries = [
        format!("100644 blob {}\t{}\n", note(0), many[0]),
        fan(&many[1], &note(1)),
        format!("100644 blob {}\t{}\n", note(2), many[2]),
        fan(&many[2], &second),
        format!("100644 blob {}\t{}\n", blob(&start), repo.git_out(["rev-parse", "main"])),
        format!("100644 blob {plain}\tepoch\n"),
        format!("040000 tree {docs}\tdocs\n"),
    ];
    assert_ne!(many[1][..2], many[2][..2], "the fixture needs two folders");
    let tree = input(repo, &["mktree"], &entries.concat());
    let commit = repo.git_out(["commit-tree", "-m", "mixed", &tree]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    // nothing may come back from memory
    std::fs::remove_dir_all(repo.path.join(".git/empirica")).expect("derived state");
    many
}

#[test]
fn of_notes_written_together_none_is_lost_if_a_folder_has_one_twice() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    let many = commits(&repo, 4);
    flush(&repo);
    // notes are written in the order of their ids: the folder is reached last
    let last = many.iter().max().expect("a commit");
    let blob = |text: &str| input(&repo, &["hash-object", "-w", "--stdin"], text);
    let twice = ["one", "two"].map(|text| format!("100644 blob {}\t{}\n", blob(&format!("{text}\n")), &last[2..]));
    let inner = input(&repo, &["mktree"], &twice.concat());
    let fan = format!("040000 tree {inner}\t{}\n", &last[..2]);
    let tree = input(&repo, &["mktree"], &(repo.git_out(["ls-tree", JOURNAL]) + "\n" + &fan));
    let commit = repo.git_out(["commit-tree", "-m", "twice", "-p", JOURNAL, &tree]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    for commit in &many {
        repo.git(["update-ref", "--no-deref", "HEAD", commit]).ok();
        repo.json(["finding", &format!("beside others on {commit}"), "--session", "latest"]);
    }
    flush(&repo);
    for commit in &many {
        assert!(repo.note(JOURNAL, commit).contains(&format!("beside others on {commit}")), "{commit}");
    }
    let note = repo.note(JOURNAL, last);
    assert!(note.contains("one") && note.contains("two"), "{note}");
}

#[test]
fn a_tree_of_mixed_fan_out_is_read_and_written_without_loss() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let many = mixed(&repo);
    repo.git(["update-ref", "--no-deref", "HEAD", &many[2]]).ok();
    let found = |repo: &Repo<'_>| {
        let show = repo.json(["session", "show", "latest"]);
        let findings = show["findings"].as_array().unwrap();
        let mut texts: Vec<String> = findings.iter().map(|f| f["text"].as_str().unwrap().to_owned()).collect();
        texts.sort();
        texts
    };
    assert_eq!(found(&repo), ["found 0", "found 1", "found 2"]);
    assert!(repo.json(["log", "--journal", "-n", "1"]).to_string().contains("found 2"));

    for commit in [&many[3], &many[2], &many[1]] {
        repo.git(["update-ref", "--no-deref", "HEAD", commit]).ok();
        repo.json(["finding", "later", "--session", "latest"]);
        flush(&repo);
    }
    assert_eq!(found(&repo), ["found 0", "found 1", "found 2", "later", "later", "later"]);
    // now git reads it, too
    assert_eq!(pairs(&repo, JOURNAL).len(), 5);
    for (at, commit) in many[..3].iter().enumerate() {
        assert!(repo.note(JOURNAL, commit).contains(&format!("found {at}")), "{at}");
    }
    assert!(repo.note(JOURNAL, &many[2]).ends_with("\nonly in the fanned-out entry\n"));
    assert!(repo.note(JOURNAL, "main").contains("session_start"));
    let rest = repo.git_out(["ls-tree", "-r", JOURNAL]);
    for name in ["\tepoch", "\tdocs/run.sh"] {
        assert!(rest.lines().any(|line| line.ends_with(name)), "{name} in {rest}");
    }
    assert!(rest.contains("100755 blob"), "{rest}");
    assert_eq!(rest.matches("/notes.txt").count(), 2, "{rest}");
    repo.fsck();
}

#[test]
fn other_entries_of_a_well_formed_tree_survive_every_write() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    work(&repo);
    for namespace in SHELVES.iter().map(|namespace| format!("data/{namespace}")).chain(["handoffs".to_owned()]) {
        let name = format!("refs/notes/empirica/{namespace}");
        let text = input(&repo, &["hash-object", "-w", "--stdin"], "1\n");
        let entries = repo.git_out(["ls-tree", &name]) + &format!("\n100644 blob {text}\tepoch\n");
        let tree = input(&repo, &["mktree"], &entries);
        let commit = repo.git_out(["commit-tree", "-m", "with an epoch", "-p", &name, &tree]);
        repo.git(["update-ref", &name, &commit]).ok();
    }
    repo.commit("c", "c", "Third");
    work(&repo);
    for namespace in ["data/journal", "data/checkpoints", "data/handoffs", "handoffs"] {
        let name = format!("refs/notes/empirica/{namespace}");
        assert_eq!(repo.git_out(["show", &format!("{name}:epoch")]), "1", "{namespace}");
        assert_eq!(pairs(&repo, &name).len(), 4, "{namespace}");
    }
}

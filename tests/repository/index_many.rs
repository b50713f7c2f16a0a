//! An index of many and of large notes, which another thread reads, equals one into which they came one after another.

use std::os::unix::fs::MetadataExt;

use crate::repository::index::folder;
use crate::repository::index_grows::{assert_equals_rebuilt, content, forget};
use crate::support::harness::{Repo, Sandbox, fed};

const JOURNAL: &str = "refs/notes/empirica/data/journal";
/// Enough for a thread, more than the sessions whose notes are read together, and few enough to be put in where others are.
const NOTES: usize = 320;
/// Lines of the large note: it is read in several parts.
const LARGE: usize = 1500;

fn id(n: usize) -> String {
    format!("019ab000-0000-7000-8000-{n:012x}")
}

/// A record of a session, with as many bytes that nobody knows.
fn line(n: usize, session: usize, kind: &str, rest: &str, filler: usize) -> String {
    format!(
        "{{\"v\":1,\"id\":\"{}\",\"kind\":\"{kind}\",\"session\":\"{session:08x}-2222-4333-8444-555555555555\",\"ai\":\"ada\",\
         \"at\":\"2026-01-02T03:04:05.678Z\",\"commit\":null,\"tree\":null,{rest},\"x\":\"{}\"}}\n",
        id(n),
        "x".repeat(filler)
    )
}

/// The note of a number: claims about a file, questions that another session answers, and claims that two others replace.
fn note(n: usize) -> String {
    let of = |at: usize| 1 << 20 | (8 * n + at);
    let blob = "de980441c3ab03a8c07dda1ad27b8a11f39deb1e";
    let anchor = format!(r#"[{{"path":"src/f{}.rs","lines":[2,2],"blob":"{blob}","hash":"af63df4c8601f1a5"}}]"#, n % 7);
    let text = |text: &str| format!(r#""text":"{text} {n} of lib/{}.c""#, n % 5);
    // so much of few sessions that not all lines are held at once
    let mut out = line(of(0), n % 8, "finding", &format!(r#"{},"anchors":{anchor}"#, text("cache")), 180_000);
    out += &line(of(1), n, "unknown", &text("which lock"), 10);
    out += &line(of(2), n, "finding", &text("newer"), 10);
    out += &line(of(3), n, "finding", &text("newest"), 10);
    if n.is_multiple_of(3) {
        let replaced = |by: usize| format!(r#""of":["{}"],"by":"{}""#, id(of(0)), id(of(by)));
        out += &line(of(4), n, "retract", &replaced(2), 10);
        out += &line(of(5), n, "retract", &replaced(3), 10);
    }
    if n > 0 {
        let answer = format!(r#""of":"{}","text":"the inner one""#, id(of(1) - 8));
        out += &line(of(6), n, "resolve", &answer, 10);
    }
    out
}

/// The note whose lines are those of many sessions.
fn large() -> String {
    let each = |at: usize| line(2 << 20 | at, at % 40, "finding", &format!(r#""text":"large {at}""#), 300);
    (0..LARGE).map(each).collect()
}

/// Replaces the journal by these notes, on objects that are not here.
fn import(repo: &Repo<'_>, notes: &[String]) {
    let width = repo.head().len();
    let mut stream = format!("commit {JOURNAL}\ncommitter T <t@example.com> 1 +0000\ndata 0\n");
    for (at, note) in notes.iter().enumerate() {
        stream += &format!("M 100644 inline {:0width$x}\ndata {}\n{note}\n", at + 1, note.len());
    }
    let mut git = repo.place.command("git", &repo.path);
    git.args(["fast-import", "--quiet", "--force"]);
    fed(git, stream.as_bytes()).ok();
}

/// Sessions of others that say something about one record each.
const OTHERS: usize = 1200;

/// A note on what many sessions refer to: a question, and a goal with a step. Of what they say, each note has versions of its own.
fn referring(version: usize) -> String {
    let [question, goal, step] = [0, 1, 2].map(|at| id(3 << 20 | at));
    let mut out = line(3 << 20, 0, "unknown", r#""text":"which lock""#, 10);
    out += &line(3 << 20 | 1, 0, "goal", r#""text":"find the lock""#, 10);
    out += &line(3 << 20 | 2, 0, "subtask", &format!(r#""of":"{goal}","text":"look""#), 10);
    for n in 0..OTHERS {
        let (at, session) = ((4 << 20) | (4 * n), 100 + n);
        out += &line(at, session, "resolve", &format!(r#""of":"{question}","text":"the lock {n}""#), 10 + version);
        let from = "00000000-2222-4333-8444-555555555555";
        out += &line(at + 1, session, "goal_take", &format!(r#""from":"{from}","of":["{goal}"]"#), 10 + version);
        out += &line(at + 2, session, "goal_done", &format!(r#""of":"{step}""#), 10 + version);
    }
    out
}

#[test]
fn what_very_many_sessions_refer_to_in_many_versions_is_the_same_grown_and_made() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let notes: Vec<String> = (0..12).map(referring).collect();
    let half = |note: &String| note.split_inclusive('\n').take(3 + 3 * OTHERS / 2).collect::<String>();
    import(&repo, &notes[..2].iter().map(half).collect::<Vec<_>>());
    let owner = || repo.json(["goal", "show", &id(3 << 20 | 1)])["goal"].clone();
    let last = |of: usize| format!("{:08x}-2222-4333-8444-555555555555", 99 + of);
    assert_eq!(owner()["session_id"], last(OTHERS / 2));
    import(&repo, &notes);
    assert_equals_rebuilt(&repo, "more sessions and versions");
    assert_eq!((&owner()["session_id"], &owner()["progress"]), (&last(OTHERS).into(), &"1/1 subtasks".into()));
    let index = content(&folder(&repo).join("index.db"));
    assert_eq!((index["records"].len(), index["standing"].len()), (3 + 3 * OTHERS, 12 * (3 + 3 * OTHERS)));
    let shown = repo.json(["show", &id(4 << 20)]);
    assert_eq!(shown["other_versions"].as_array().map(Vec::len), Some(11), "{shown}");
    import(&repo, &notes[..1].iter().map(half).collect::<Vec<_>>());
    forget(&repo);
    assert_equals_rebuilt(&repo, "fewer");
    assert_eq!(owner()["session_id"], last(OTHERS / 2));
}

#[test]
fn many_and_large_notes_make_the_index_that_grows() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut notes: Vec<String> = (0..NOTES).map(note).collect();
    notes.push(large());
    assert!(notes.iter().map(String::len).sum::<usize>() > 50 << 20, "more than stays parsed");
    import(&repo, &notes[..1]);
    repo.json(["query"]);
    let inode = || std::fs::metadata(folder(&repo).join("index.db")).expect("an index").ino();
    let first = inode();
    import(&repo, &notes);
    assert_equals_rebuilt(&repo, "all");
    assert_eq!(inode(), first, "it grew");
    let index = content(&folder(&repo).join("index.db"));
    let sizes = ["records", "anchors", "anchored", "disputed"].map(|name| index[name].len());
    let retracts = NOTES.div_ceil(3);
    assert_eq!(sizes, [4 * NOTES + 2 * retracts + NOTES - 1 + LARGE, NOTES, 7, retracts]);
    let found = repo.json(["search", "large 1499"]);
    assert_eq!(found["hits"][0]["id"], id(2 << 20 | 1499), "{found}");

    // a note that is not there hides no other
    let entries = repo.git_out(["ls-tree", JOURNAL]);
    let gone = entries.lines().nth(NOTES / 2).and_then(|entry| entry.split_whitespace().nth(2)).expect("an entry");
    let mut git = repo.place.command("git", &repo.path);
    git.args(["mktree", "--missing"]);
    let tree = fed(git, (entries.replace(gone, &"1".repeat(gone.len())) + "\n").as_bytes()).ok().out;
    let commit = repo.git_out(["commit-tree", "-m", "", tree.trim()]);
    repo.git(["update-ref", JOURNAL, &commit]).ok();
    forget(&repo);
    assert_equals_rebuilt(&repo, "the loss");
    let left = content(&folder(&repo).join("index.db"))["records"].len();
    assert!((1..=7).contains(&(index["records"].len() - left)), "{left}");
}

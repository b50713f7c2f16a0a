//! What anchors can be given, and which a text has.

use serde_json::json;

use crate::commands::code::anchors::{id, lines, place, places};
use crate::support::harness::Sandbox;

#[test]
fn what_is_no_place_in_the_code_is_refused_and_says_why() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    repo.write("bin", "a\0b\n");
    repo.write("empty", "");
    std::fs::File::create(repo.path.join("huge")).and_then(|file| file.set_len(200 << 20)).expect("a file of 200 MB");
    #[cfg(unix)]
    std::os::unix::fs::symlink("src/a.rs", repo.path.join("link")).expect("a link");
    #[cfg(unix)]
    std::os::unix::fs::symlink("src", repo.path.join("folder")).expect("a link");
    let session = repo.start("ada", "Learn");
    for (at, cause) in [
        ("src/a.rs:21", "the file has 20 lines"),
        ("src/a.rs:5-4294967295", "the file has 20 lines"),
        ("src/a.rs:12-10", "the range ends before it begins"),
        ("src/a.rs:0", "lines are counted from 1"),
        ("src/b.rs:1", "there is no such file"),
        ("src/a.rs:x", "there is no such file"),
        ("src/a.rs:99999999999", "there is no such file"),
        ("src/a.rs/b", "there is no such file"),
        ("src", "it is a folder"),
        ("../r/src/a.rs", "it is not a file of this work tree"),
        ("/etc/passwd", "it is not a file of this work tree"),
        (".git/config", "it is not a file of this work tree"),
        (".", "it is not a file of this work tree"),
        ("", "it is not a file of this work tree"),
        ("bin:1", "the file is not text"),
        ("empty:1", "the file has 0 lines"),
        ("huge", "the file is larger than 4 MiB, or cannot be read"),
        ("huge:1", "the file is larger than 4 MiB, or cannot be read"),
        ("link:2", "the file has 1 lines"),
        ("folder/a.rs", "the file is larger than 4 MiB, or cannot be read"),
    ] {
        let error = repo.fails(2, ["finding", "x", "--at", at]);
        assert_eq!(error["error"], json!(format!("cannot anchor a claim at '{at}': {cause}")));
    }
    assert!(repo.json(["session", "show", &session])["findings"].as_array().expect("findings").is_empty());
    for at in ["bin", "empty", "link", "./src/../src/a.rs:3", &format!("{}/src/a.rs:3", repo.path.display())] {
        let claim = id(&repo.json(["finding", "x", "--at", at]));
        assert_eq!(place(&repo, &claim).0, "holds", "{at}");
    }
    repo.write("bin", "a\0c\n");
    let hits = repo.json(["search", "kind:finding", "--limit", "50"]);
    let changed = hits["hits"].as_array().expect("hits").iter().filter(|hit| hit["anchors"][0]["state"] == "changed");
    assert_eq!(changed.count(), 1, "{hits}");
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf_8_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("a", "a", "first");
    let name = OsStr::from_bytes(b"b\xff.rs");
    std::fs::write(repo.path.join(name), "x\n").expect("a file");
    repo.start("ada", "Learn");
    let output = repo.run([OsStr::new("finding"), OsStr::new("x"), OsStr::new("--at"), name]);
    assert_eq!(output.code, 2, "{}", output.err);
    assert!(output.err.contains("UTF-8"), "{}", output.err);
}

#[test]
fn a_text_that_names_a_line_is_about_it() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    repo.start("ada", "Learn");
    let names = |words: &[&str]| -> Vec<String> {
        places(&repo, &id(&repo.json(words.iter().copied()))).into_iter().map(|(_, at)| at).collect()
    };
    assert_eq!(names(&["finding", "see `src/a.rs:10-12`, and (src/a.rs:3:7)."]), ["src/a.rs:10-12", "src/a.rs:3"]);
    assert_eq!(names(&["decision", "a", "--why", "src/a.rs:7 is slow"]), ["src/a.rs:7"]);
    assert_eq!(names(&["finding", "src/a.rs:7", "--at", "src/a.rs:7", "--at", "src/a.rs"]), ["src/a.rs:7", "src/a.rs"]);
    for text in ["src/a.rs is slow", "src/a.rs:99", "at 12:30", "http://src/a.rs:8", "src/b.rs:1", "../r/src/a.rs:1"] {
        assert!(names(&["finding", text]).is_empty(), "{text}");
    }
    // relative to the root and to the current folder
    let below = sandbox.at(repo.path.join("src"));
    for text in ["src/a.rs:2", "a.rs:2"] {
        let claim = id(&below.json(["finding", text]));
        assert_eq!(place(&below, &claim).1, "src/a.rs:2");
    }
    let source = id(&repo.json(["source", "src/a.rs:4"]));
    assert_eq!(place(&repo, &source).1, "src/a.rs:4");
}

#[test]
fn ten_thousand_places_are_kept_and_compared() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    let text: String = (1..=10_000).map(|n| format!("line {n}\n")).collect();
    repo.commit("a", &text, "first");
    repo.start("ada", "Learn");
    // a text gives at most sixteen
    let all: Vec<String> = (1..=10_000).map(|n| format!("a:{n}")).collect();
    let claim = id(&repo.json(["finding", &all[..100].join(" ")]));
    assert_eq!(places(&repo, &claim).len(), 16);
    let words = ["finding".to_owned(), "x".to_owned()].into_iter();
    let given = all.iter().flat_map(|at| ["--at".to_owned(), at.clone()]);
    let claim = id(&repo.json(words.chain(given)));
    repo.write("a", &format!("new\n{}", text.replace("line 5000\n", "line\n")));
    let found = places(&repo, &claim);
    assert_eq!(found.len(), 10_000);
    let count = |state: &str| found.iter().filter(|(is, _)| is == state).count();
    assert_eq!((count("moved"), count("changed")), (9_999, 1));
    let shown = repo.run(["search", "x"]).ok().out;
    assert!(shown.contains("a:5000 changed, ") && shown.contains("and 9997 more"), "{shown}");
    repo.json(["flush"]);
    repo.fsck();
}

#[test]
fn agents_give_places_in_their_calls() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.commit("src/a.rs", &lines("line"), "first");
    let mut client = crate::mcp::server::Client::new(&repo, &[]);
    let claim = id(&client.ok("log_finding", json!({"finding": "x", "at": ["src/a.rs:3"], "until": "changed"})));
    assert_eq!(place(&repo, &claim), ("holds".to_owned(), "src/a.rs:3".to_owned()));
    client.ok("confirm_claim", json!({"claim_id": claim, "at": ["src/a.rs:4"]}));
    assert_eq!(place(&repo, &claim).1, "src/a.rs:4");
    let new = id(&client.ok("replace_claim", json!({"claim_id": claim, "text": "y", "at": ["src/a.rs:5"]})));
    assert_eq!(place(&repo, &new).1, "src/a.rs:5");
}

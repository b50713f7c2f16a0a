//! `export --markdown`: a file for each session, in a folder of its agent, and nothing anywhere else.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

/// All files below a folder, by their path in it, with their content.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below it").display().to_string();
                out.insert(name, std::fs::read_to_string(&path).expect("text"));
            }
        }
    }
    out
}

fn handed(repo: &Repo<'_>, ai: &str, task: &str, finding: &str) -> String {
    let session = repo.json(["session", "start", &format!("--ai={ai}"), "--task", task])["session_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    repo.json(["finding", finding, "--session", &session]);
    repo.json(["handoff", "--session", &session]);
    repo.json(["session", "end", "--session", &session]);
    session
}

#[test]
fn each_session_has_a_file_for_people_and_one_for_programs() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let first = handed(&repo, "claude", "fix the login", "the token is read twice");
    let second = handed(&repo, "gpt-5.1", "review it", "looks right");
    // a second handoff of a session supersedes the first; one of another type does not
    repo.json(["handoff", "--session", &first, "--next", "measure"]);
    let example = repo.run(["handoff", "--type", "progress", "--example"]).ok().out;
    repo.run_with_input(["handoff", "--session", &first, "--type", "progress", "--from", "-"], example.as_bytes()).ok();
    repo.start("idle", "nothing yet");
    let answer = repo.json(["export", "--markdown", "../out"]);
    let out = files(&place.path().join("out"));
    let names: Vec<&String> = out.keys().collect();
    let expected = [("claude", &first), ("gpt-5.1", &second)]
        .map(|(ai, id)| [format!("{ai}/{id}.json"), format!("{ai}/{id}.md")])
        .concat();
    assert_eq!(names, expected.iter().collect::<Vec<_>>());
    let markdown = &out[&format!("claude/{first}.md")];
    assert!(markdown.contains("the token is read twice") && markdown.contains("measure"), "{markdown}");
    let sidecar: Value = serde_json::from_str(&out[&format!("claude/{first}.json")]).expect("JSON");
    assert_eq!(sidecar["handoffs"].as_array().expect("a list").len(), 2);
    assert!(markdown.contains("the session cookie is not renewed"), "{markdown}");
    assert_eq!((&sidecar["session_id"], &sidecar["ai_id"]), (&json!(first), &json!("claude")));
    let handoff = sidecar["handoffs"][0].as_object().expect("an object");
    let keys: Vec<&str> = handoff.keys().map(String::as_str).collect();
    let compact = ["s", "ai", "ts", "task", "deltas", "findings", "unknowns", "next", "recommend", "calibrated"];
    assert_eq!((keys, &handoff["findings"][0]), (compact.to_vec(), &json!("the token is read twice")));
    assert_eq!(answer["sessions"], 2, "{answer}");
    assert_eq!(
        (&answer["files_written"], &answer["sessions_without_handoff"], &answer["renamed"]),
        (&json!(4), &json!(1), &json!([]))
    );
    // the same once more writes nothing; what else is there stays
    std::fs::write(place.path().join("out/claude/mine.md"), "mine").expect("a file");
    assert_eq!(repo.json(["export", "--markdown", "../out"])["files_written"], 0);
    // what became another is replaced
    repo.json(["handoff", "--session", &second, "--next", "ship it"]);
    assert_eq!(repo.json(["export", "--markdown", "../out"])["files_written"], 2);
    let after = files(&place.path().join("out"));
    assert!(after[&format!("gpt-5.1/{second}.md")].contains("ship it"));
    assert_eq!(after["claude/mine.md"], "mine");
    // and the work tree is as it was
    assert_eq!(repo.git_out(["status", "--porcelain"]), "");
}

#[test]
fn no_agent_name_escapes_the_folder() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let long = "n".repeat(300);
    let agents = [
        "../escape",
        "/absolute",
        "a/b\\c",
        ".git",
        "..",
        "-rf",
        "Case",
        "case",
        "con",
        "tab\tand\u{1b}[2J",
        "\u{202e}evil",
        &long,
    ];
    for ai in agents {
        handed(&repo, ai, "t", "f");
    }
    let ran = repo.run(["export", "--markdown", "deep/out"]).ok();
    assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{:?}", ran.out);
    let out = files(&repo.path.join("deep/out"));
    assert_eq!(out.len(), agents.len() * 2, "{:?}", out.keys());
    let folders: std::collections::BTreeSet<String> =
        out.keys().map(|name| name.split('/').next().expect("a folder").to_lowercase()).collect();
    assert_eq!(folders.len(), agents.len(), "{folders:?}");
    assert!(out.keys().all(|name| name.split('/').count() == 2 && name.len() < 120), "{:?}", out.keys());
    assert!(!place.path().join("escape").exists() && !repo.path.join("deep/escape").exists());
    let answer = repo.json(["export", "--markdown", "deep/out"]);
    let renamed = answer["renamed"].as_array().expect("a list");
    assert_eq!((renamed.len(), &answer["files_written"]), (agents.len(), &json!(0)), "{answer}");
}

#[test]
fn links_are_not_followed_and_write_errors_are_reported() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let session = handed(&repo, "claude", "t", "f");
    std::fs::create_dir_all(place.path().join("out")).expect("a folder");
    std::fs::create_dir_all(place.path().join("elsewhere")).expect("a folder");
    std::os::unix::fs::symlink("../elsewhere", place.path().join("out/claude")).expect("a link");
    let answer = repo.fails(1, ["export", "--markdown", "../out"]);
    assert!(answer["error"].as_str().expect("a text").contains("is a link"), "{answer}");
    assert!(files(&place.path().join("elsewhere")).is_empty());
    std::fs::remove_file(place.path().join("out/claude")).expect("a file");
    // a link in the place of a file is replaced, not followed
    std::fs::create_dir(place.path().join("out/claude")).expect("a folder");
    std::fs::write(place.path().join("elsewhere/kept"), "kept").expect("a file");
    let link = place.path().join(format!("out/claude/{session}.md"));
    std::os::unix::fs::symlink("../../elsewhere/kept", &link).expect("a link");
    repo.json(["export", "--markdown", "../out"]);
    assert_eq!(files(&place.path().join("elsewhere"))["kept"], "kept");
    assert!(!std::fs::symlink_metadata(&link).expect("a file").is_symlink());
    repo.fails(1, ["export", "--markdown", "../elsewhere/kept"]);
    repo.fails(2, ["export"]);
    repo.fails(2, ["export", "--markdown", "../out", "--jsonl"]);
    repo.run(["export", "--jsonl", "--json"]).code(2);
}

#[test]
fn without_handoffs_there_is_an_empty_folder() {
    let place = Sandbox::new();
    let repo = place.repo("project");
    let answer = repo.json(["export", "--markdown", "../out"]);
    assert_eq!((&answer["sessions"], &answer["handoffs"], &answer["files_written"]), (&json!(0), &json!(0), &json!(0)));
    assert!(files(&place.path().join("out")).is_empty());
}

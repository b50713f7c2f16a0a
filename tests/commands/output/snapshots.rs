//! Outputs of one session, verbatim, against `tests/snapshots/`. `EMPIRICA_BLESS=1` regenerates them; ids are masked.

use std::path::Path;

use crate::support::harness::{Repo, Sandbox};

/// Ids are random: words of 8 hex digits, UUIDs and object ids are masked.
fn masked(text: &str) -> String {
    let uuid =
        regex::Regex::new(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b").expect("a pattern");
    let object = regex::Regex::new(r"\b[0-9a-f]{40}\b").expect("a pattern");
    let short = regex::Regex::new(r"\b[0-9a-f]{7,8}\b").expect("a pattern");
    let text = uuid.replace_all(text, "<uuid>");
    let text = object.replace_all(&text, "<object>");
    short.replace_all(&text, "<id>").into_owned()
}

#[track_caller]
fn is(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    let got = masked(got);
    if std::env::var_os("EMPIRICA_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, &got).expect("a snapshot");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        got == expected,
        "{name} is not as it was; EMPIRICA_BLESS=1 writes it anew\n--- expected\n{expected}\n--- got\n{got}"
    );
}

#[track_caller]
fn both(name: &str, repo: &Repo<'_>, arguments: &[&str]) {
    let ran = repo.run(arguments);
    is(
        name,
        &format!(
            "$ git empirica {}\n{}--- stderr\n{}--- exit {}\n",
            arguments.join(" "),
            ran.unfenced(),
            ran.err,
            ran.code
        ),
    );
}

#[test]
fn a_session_as_people_see_it() {
    let mut place = Sandbox::new();
    let repo_path = place.repo("r").path;
    let at = |place: &mut Sandbox, time: &str| place.now = format!("2026-03-01T{time}:00.000Z");
    at(&mut place, "12:00");
    let repo = Repo { place: &place, path: repo_path.clone() };
    both("status-empty.txt", &repo, &["status"]);
    both("first-finding.txt", &place.repo("fresh"), &["finding", "x"]);
    both("start.txt", &repo, &["session", "start", "--ai", "ada", "--task", "fix the flaky login test"]);
    both("preflight.txt", &repo, &["preflight", "-v", "know=0.45,context=0.5,density=0.6,uncertainty=0.7"]);
    both("wrong-vector.txt", &repo, &["check", "-v", "uncertanty=0.3"]);
    both("finding.txt", &repo, &["finding", "Discovered: the token is cached for 60 s\nso a second login fails"]);
    repo.run(["deadend", "Retrying the login", "--why", "the cache returns the same stale token"]).ok();
    repo.run(["decision", "Key the cache by nonce", "--why", "tokens stay unique", "--alternative", "drop the cache"])
        .ok();
    repo.run(["mistake", "Edited the vendored copy", "--prevention", "grep for a second definition first"]).ok();
    repo.run(["unknown", "Does the mobile client reuse nonces?"]).ok();
    repo.run(["evidence", "pytest tests/test_login.py", "--exit", "1"]).ok();
    repo.run(["evidence", "pytest tests/test_login.py", "--exit", "0", "--file", "login.py"]).ok();
    repo.run(["evidence", "pytest tests/test_mobile.py", "--exit", "2"]).ok();
    repo.run(["source", "docs/auth.md"]).ok();
    repo.run(["activity", "edit", "the cache key", "--file", "login.py"]).ok();
    repo.run([
        "goal",
        "add",
        "The login test is green 100 times",
        "--criterion",
        "pytest --count 100",
        "--priority",
        "high",
    ])
    .ok();
    repo.commit("login.py", "def login(): ...\n", "Key the token cache by nonce");
    both("status.txt", &repo, &["status"]);
    both("goal-list.txt", &repo, &["goal", "list"]);
    both(
        "check.txt",
        &repo,
        &["check", "-v", "know=0.7,uncertainty=0.4", "--confidence", "0.8", "--reasoning", "reproduced it"],
    );

    at(&mut place, "13:25");
    let repo = Repo { place: &place, path: repo_path };
    both(
        "postflight.txt",
        &repo,
        &[
            "postflight",
            "-v",
            "know=0.85,context=0.8,density=0.3,uncertainty=0.25",
            "--context",
            "Staging still runs the old cache",
            "--next",
            "Ask the mobile team",
        ],
    );
    both("end.txt", &repo, &["session", "end"]);
    both("session-list.txt", &repo, &["session", "list"]);
    both("session-show.txt", &repo, &["session", "show", "latest"]);
    both("handoff-list.txt", &repo, &["handoff", "list"]);
    both("show.txt", &repo, &["show"]);
    both("show-compact.txt", &repo, &["show", "--format", "compact"]);
    // where it is tight, the random ids decide about the last entry: these are far from any edge
    both("resume-detailed.txt", &repo, &["resume", "--detail", "detailed"]);
    both("resume-full.txt", &repo, &["resume", "--detail", "full"]);
    both("resume-tight.txt", &repo, &["resume", "--budget", "120"]);
    both("bootstrap.txt", &repo, &["bootstrap"]);
    both("log.txt", &repo, &["log", "--handoffs"]);
    both("log-oneline.txt", &repo, &["log", "--handoffs", "--checkpoints", "--journal", "--oneline"]);
    both("log-journal.txt", &repo, &["log", "--journal", "--checkpoints", "-4"]);
    both("query.txt", &repo, &["query", "--task", "LOGIN", "--ai", "ada"]);
    both("checkpoint-list.txt", &repo, &["checkpoint", "list"]);
    is("git-log.txt", &repo.git(["log", "-1", "--notes=empirica/handoffs"]).ok().out);
    repo.git(["commit", "-q", "--amend", "-m", "Key the token cache by user and nonce"]).ok();
    both("repair.txt", &repo, &["repair"]);
    both("repair-apply.txt", &repo, &["repair", "--apply"]);
    let attached = repo.head();
    repo.git(["reset", "-q", "--hard", "HEAD~1"]).ok();
    both("repair-lost.txt", &repo, &["repair"]);
    repo.commit("other", "moved\n", "Move the base");
    repo.git(["cherry-pick", &attached]).ok();
    repo.git(["revert", "--no-edit", "HEAD"]).ok();
    repo.git(["cherry-pick", &attached]).ok();
    both("repair-ambiguous.txt", &repo, &["repair"]);
}

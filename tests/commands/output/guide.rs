//! The guide and the README: their shell lines run in order and print the output shown.

use std::fs;
use std::path::Path;
use std::process::Command;

use regex::{Captures, Regex};

use crate::support::harness::{Repo, Sandbox, unfenced};

/// A shell block of a page, and the output that is written below it.
#[derive(Debug)]
struct Step {
    line: usize,
    script: String,
    output: Option<Vec<String>>,
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The `sh` blocks of a page, each with the `text` block that follows it at once.
fn steps(page: &str) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    let mut lines = page.lines().enumerate().peekable();
    let mut ended = 0;
    while let Some((at, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        match kind {
            "sh" => out.push(Step { line: at + 1, script: body.join("\n"), output: None }),
            "text" if ended == at => {
                let step = out.last_mut().expect("a shell block stands above");
                step.output = Some(body.iter().map(|line| masked(line)).collect());
            }
            _ => {}
        }
        ended = if kind == "sh" { at + body.len() + 2 } else { 0 };
    }
    out
}

/// A line with what differs from run to run masked: ids, dates, durations.
fn masked(line: &str) -> String {
    let rules = [
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC\b", "<date>"),
        (r"\b[0-9a-f]{7,40}\b", "<id>"),
        (r"\b\d+ (?:s|min|h|d)\b(?: \d+ (?:min|h)\b)?", "<duration>"),
    ];
    let mut out = line.trim_end().to_owned();
    for (pattern, name) in rules {
        let word = Regex::new(pattern).expect("a pattern");
        out = word.replace_all(&out, |_: &Captures<'_>| name).into_owned();
    }
    out
}

/// Whether the lines match; `…` matches any number of lines.
fn fits(expected: &[String], lines: &[String]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => (0..=lines.len()).any(|skip| fits(rest, &lines[skip..])),
        Some((first, rest)) => lines.split_first().is_some_and(|(line, lines)| line == first && fits(rest, lines)),
    }
}

/// A shell in the repository, with a user's identity and the real clock.
fn shell(repo: &Repo<'_>, script: &str) -> Command {
    let mut command = repo.place.command("sh", &repo.path);
    for fixed in ["EMPIRICA_NOW", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        command.env_remove(fixed);
    }
    command.args(["-e", "-c", script]);
    command
}

/// Runs every shell block of a page; returns how many outputs were compared.
fn follow(name: &str) -> usize {
    let place = Sandbox::new();
    fs::write(place.path().join("home/.gitconfig"), "[user]\n\tname = Test\n\temail = test@example.com\n")
        .expect("a configuration");
    let repo = place.repo("project");
    let mut compared = 0;
    for step in steps(&page(name)) {
        let out = shell(&repo, &step.script).output().expect("the shell starts");
        let printed = String::from_utf8(out.stdout).expect("UTF-8");
        let place = format!("{name}:{}\n{}", step.line, step.script);
        assert!(out.status.success(), "{place}\n{printed}\n{}", String::from_utf8_lossy(&out.stderr));
        let Some(expected) = step.output else { continue };
        // as on a terminal
        let lines: Vec<String> = unfenced(&printed).trim_end().lines().map(masked).collect();
        assert!(fits(&expected, &lines), "{place}\nexpected:\n{}\nprinted:\n{printed}", expected.join("\n"));
        compared += 1;
    }
    compared
}

#[test]
fn the_guides_commands_run_as_printed() {
    assert!(follow("docs/guide.md") >= 20);
}

#[test]
fn the_readmes_commands_run_as_printed() {
    assert!(follow("README.md") >= 1);
}

#[test]
fn a_comparison_can_fail() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(masked).collect() };
    let printed = lines("Session 1234abcd ended after 2 h 5 min.\nknow 0.50\n\nlast");
    assert!(fits(&lines("Session ffffffff ended after 0 s.\n…\nlast"), &printed));
    assert!(!fits(&lines("Session ffffffff ended after 0 s.\n…\nknow 0.60\n…"), &printed));
    assert!(!fits(&lines("…\nknow 0.50"), &printed));
    let steps = steps("```sh\na\nb\n```\n```text\nx\n```\n\n```text\nno\n```\n```console\n$ c\n```\n```sh\nd\n```\n");
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].script, "a\nb");
    assert_eq!(steps[0].output.as_deref(), Some(["x".to_owned()].as_slice()));
    assert!(steps[1].output.is_none());
}

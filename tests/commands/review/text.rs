//! The Markdown: bounded, and without effect on its host.

use super::{text, unfolded};
use crate::support::harness::{Repo, Sandbox};

fn topic<'s>(sandbox: &'s Sandbox) -> Repo<'s> {
    let repo = sandbox.set_up("r");
    repo.git(["checkout", "-q", "-b", "topic"]).ok();
    repo
}

#[test]
fn sixty_lines_at_most_are_not_folded_and_what_is_left_out_is_counted() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    for n in 0..12 {
        let ai = format!("agent{n}");
        let session = repo.start(&ai, &format!("Task {n}"));
        let of = |arguments: &[&str]| drop(repo.json(arguments.iter().copied().chain(["--session", &session])));
        for m in 0..3 {
            of(&["decision", &format!("Decide {n}.{m}"), "--why", "so"]);
            of(&["deadend", &format!("Try {n}.{m}"), "--why", "no"]);
            of(&["unknown", &format!("Ask {n}.{m}?")]);
            of(&["evidence", &format!("check {n}.{m}"), "--exit", "0"]);
        }
        repo.commit("a.txt", &format!("{n}\n"), &format!("Commit {n}"));
        of(&["session", "end"]);
    }
    let whole = text(&repo, "main..topic");
    let shown = unfolded(&whole);
    // what is seen of a folded part is its first line
    let seen = shown.lines().filter(|line| *line != "</details>").count();
    assert!((55..=60).contains(&seen), "{seen}\n{shown}");
    for title in ["Done", "Decided", "Tried without success", "Checked", "Still open"] {
        let section = shown.split(&format!("**{title}**\n\n")).nth(1).expect("a section");
        let entries = section.split("\n\n").next().expect("entries");
        assert!(entries.lines().last().is_some_and(|line| line.ends_with(" more)")), "{title}: {entries}");
    }
    assert!(shown.contains("12 sessions of agent11, agent10, agent9 and 9 more, for 12 of 12 commits"), "{shown}");
    assert_eq!(whole.matches("<details>").count(), 8);
    assert!(whole.ends_with("\n4 earlier sessions not shown: `git empirica log`\n"), "{whole}");
    assert_eq!(repo.json(["handoff", "--pr", "main..topic"])["sessions"].as_array().map(Vec::len), Some(12));
}

#[test]
fn long_texts_are_cut_and_the_whole_stays_below_the_limit_of_hosts() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    for n in 0..8 {
        let session = repo.start(&format!("agent{n}"), &"long task ".repeat(500));
        for m in 0..12 {
            let text = format!("{n}.{m} {}", "a finding that goes on ".repeat(100));
            repo.json(["finding", &text, "--session", &session]);
            repo.json(["decision", &text, "--why", &text, "--session", &session]);
        }
        repo.commit("a.txt", &format!("{n}\n"), &format!("Commit {n}"));
        repo.json(["session", "end", "--session", &session]);
    }
    let whole = text(&repo, "main..topic");
    assert!(whole.len() <= 50_000, "{}", whole.len());
    assert!(whole.contains("earlier sessions not shown"), "{whole}");
    let shown = unfolded(&whole);
    assert!(shown.lines().all(|line| line.chars().count() <= 280), "{shown}");
}

#[test]
fn texts_from_records_act_on_nothing() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    let hostile = [
        "fixes #12, closes https://github.com/o/r/issues/3 and GH-4",
        "</details><script>alert(1)</script> <img src=x> <!-- x",
        "![pixel](http://h/x.png) [x] [click](javascript:1)",
        "ask @ada and @org/team, see !7",
        "# heading\n\n---\n/close\n\n```\n<details>",
        "| a | b |\n|---|---|",
        "\u{202e}evil\u{1b}[31m `unpaired",
    ];
    let session = repo.start("@bot</summary>", "closes #1 </summary> @ada");
    for text in hostile {
        repo.json(["decision", text, "--why", text, "--alternative", text, "--session", &session]);
        repo.json(["deadend", text, "--why", text, "--session", &session]);
        repo.json(["finding", text, "--session", &session]);
        repo.json(["unknown", text, "--session", &session]);
        repo.json(["evidence", text, "--exit", "1", "--session", &session]);
    }
    repo.commit("a.txt", "a\n", "A");
    let last = ["handoff", "--next", hostile[0], "--accomplished", hostile[4], "--context", hostile[2]];
    repo.json(last.into_iter().chain(["--session", &session]));
    let whole = text(&repo, "main..topic");
    // code spans do nothing on a host
    let code = regex::Regex::new(r"(?m)(^|[^\\`])`[^`\n]+`").expect("a pattern");
    let outside = code.replace_all(&whole, "$1");
    for gone in [
        "@ada",
        "@org",
        "@bot",
        "#12",
        "#1 ",
        "!7",
        "GH-4",
        "![",
        "[x]",
        "[click",
        "<script",
        "<img",
        "<!--",
        "closes https",
        "\u{202e}",
        "\u{1b}",
    ] {
        let found = outside.match_indices(gone).find(|(at, _)| !outside[..*at].ends_with('\\'));
        assert_eq!(found, None, "{gone}\n{outside}");
    }
    // its own structure, and nothing else
    let tags: Vec<&str> = whole.lines().filter(|line| line.starts_with('<')).collect();
    assert_eq!((tags.len(), tags[1]), (2, "</details>"), "{tags:?}");
    assert_eq!(tags[0].matches("</summary>").count(), 1);
    let is_ours = |line: &&str| {
        line.is_empty()
            || ["### What", "- ", "**", "<", "Began ", "1 session of "].iter().any(|begin| line.starts_with(begin))
    };
    assert_eq!(whole.lines().find(|line| !is_ours(line)), None, "{whole}");
}

#[test]
fn the_folded_part_of_a_single_session_repeats_nothing() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    let session = repo.start("ada", "One");
    repo.json(["decision", "said once", "--why", "so", "--session", &session]);
    repo.json(["finding", "learned below", "--session", &session]);
    repo.commit("a.txt", "a\n", "A");
    repo.json(["handoff", "--next", "go on", "--session", &session]);
    let whole = text(&repo, "main..topic");
    for (once, place) in [("said once", "above"), ("go on", "above"), ("learned below", "below")] {
        assert_eq!(whole.matches(once).count(), 1, "{once}: {whole}");
        assert_eq!(unfolded(&whole).contains(once), place == "above", "{once}: {whole}");
    }
}

#[test]
fn a_claim_that_holds_for_a_time_is_judged_by_the_time_of_the_last_commit() {
    let sandbox = Sandbox::new();
    let repo = topic(&sandbox);
    let session = repo.start("ada", "Dates");
    repo.json(["finding", "over soon", "--until", "2026-03-02", "--session", &session]);
    repo.commit("a.txt", "a\n", "A");
    assert!(!text(&repo, "main..topic").contains("held until"));
    repo.write("a.txt", "b\n");
    repo.git(["add", "."]).ok();
    let later = "2026-04-01T00:00:00Z";
    let mut commit = repo.place.command("git", &repo.path);
    let ran = commit.args(["commit", "-q", "-m", "B"]).env("GIT_COMMITTER_DATE", later).output().expect("git");
    assert!(ran.status.success());
    assert!(text(&repo, "main..topic").contains("over soon (held until 2026-03-02"), "{}", text(&repo, "main..topic"));
}

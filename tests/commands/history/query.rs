//! `query`: each filter alone and combined, the order, the total count, the formats, invalid input.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

/// The tasks that a query finds, in its order.
#[track_caller]
fn tasks(repo: &Repo<'_>, arguments: &[&str]) -> Vec<String> {
    let json = repo.json([&["query"], arguments].concat());
    let reports = json["reports"].as_array().expect("a list");
    assert_eq!(json["total_found"], reports.len(), "{json}");
    reports.iter().map(|report| report["task"].as_str().expect("a task").to_owned()).collect()
}

/// A session of an agent at a time, handed over; returns it.
fn work(repo: &Repo<'_>, ai: &str, now: &str, task: &str, more: &[&str]) -> String {
    let env = [("EMPIRICA_NOW", now), ("EMPIRICA_AI", ai)];
    let session = repo.json_with_env(&env, ["session", "start", "--task", task]);
    let session = session["session_id"].as_str().expect("an id");
    repo.json_with_env(&env, [&["handoff", "--session", session, "-m", task], more].concat());
    repo.json_with_env(&env, ["session", "end", "--session", session]);
    session.to_owned()
}

/// Four handoffs: of two agents, at four times, on three commits; returns the sessions.
fn history(repo: &Repo<'_>) -> [String; 4] {
    let one =
        work(repo, "ada", "2026-01-01T00:00:00Z", "Fix the login", &["--finding", "One", "--artifact", "src/a.rs"]);
    repo.git(["tag", "v1"]).ok();
    repo.commit("src/b.rs", "b\n", "Add b");
    let two = work(repo, "bob", "2026-01-31T23:59:59.900Z", "Test the LOGIN", &["--artifact", "src/deep/c.rs"]);
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    repo.commit("d", "d\n", "Add d");
    repo.write("new.rs", "new\n");
    let three = work(repo, "ada", "2026-02-22T12:00:00Z", "Draw (a+b)*", &[]);
    std::fs::remove_file(repo.path.join("new.rs")).expect("a file");
    let at = [("EMPIRICA_NOW", "2026-02-28T12:00:00Z"), ("EMPIRICA_AI", "bob")];
    let four = repo.json_with_env(&at, ["session", "start"])["session_id"].as_str().expect("an id").to_owned();
    repo.json_with_env(&at, ["preflight", "-v", "know=0.4,uncertainty=0.6"]);
    repo.json_with_env(&at, ["postflight", "-v", "know=0.8,uncertainty=0.2", "--task", "Grow", "--finding", "Two"]);
    [one, two, three, four]
}

const ALL: [&str; 4] = ["Grow", "Draw (a+b)*", "Test the LOGIN", "Fix the login"];

#[test]
fn each_filter_finds_its_matches_newest_first() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let [one, _, three, four] = history(&repo);
    for (arguments, expected) in [
        (&[][..], &ALL[..]),
        (&["--ai", "ada"], &["Draw (a+b)*", "Fix the login"]),
        (&["--ai", "nobody"], &[]),
        (&["--task", "login"], &["Test the LOGIN", "Fix the login"]),
        (&["--task-pattern", "^fix|draw"], &["Draw (a+b)*", "Fix the login"]),
        (&["--task", r"\(A\+B\)"], &["Draw (a+b)*"]),
        (&["--session", &one], &["Fix the login"]),
        (&["--session", &three[..8]], &["Draw (a+b)*"]),
        (&["--session", "latest:bob"], &["Grow"]),
        (&["--session-id", &four], &["Grow"]),
        (&["--range", "v1"], &["Fix the login"]),
        (&["--range", "v1.."], &["Grow", "Draw (a+b)*", "Test the LOGIN"]),
        (&["--range", "main..topic"], &["Grow", "Draw (a+b)*"]),
        (&["--range", "topic", "--range", "^main"], &["Grow", "Draw (a+b)*"]),
        (&["--range", "HEAD..HEAD"], &[]),
        (&["--path", "src"], &["Test the LOGIN", "Fix the login"]),
        (&["--path", "src/a.rs"], &["Fix the login"]),
        (&["--path", "src/deep/"], &["Test the LOGIN"]),
        (&["--path", "sr"], &[]),
        (&["--path", "new.rs"], &["Draw (a+b)*"]),
        (&["--type", "epistemic"], &ALL),
        (&["--type", "error_recovery"], &[]),
        (&["--calibration", "well_calibrated"], &["Grow"]),
        (&["--calibration", "not-assessable"], &["Draw (a+b)*", "Test the LOGIN", "Fix the login"]),
    ] {
        assert_eq!(tasks(&repo, arguments), expected, "{arguments:?}");
    }
    let cwd = place.at("r/src");
    assert_eq!(tasks(&cwd, &["--path", "a.rs"]), ["Fix the login"], "relative to the folder");
    assert_eq!(tasks(&cwd, &["--path", "../new.rs"]), ["Draw (a+b)*"]);
    assert_eq!(tasks(&cwd, &["--path", "."]), ["Test the LOGIN", "Fix the login"]);
}

#[test]
fn dates_are_days_moments_and_git_s_own_forms() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    // it is 2026-03-01 12:00, a Sunday
    for (arguments, expected) in [
        (&["--since", "yesterday"][..], &ALL[..1]),
        (&["--after", "7 days ago"], &ALL[..2]),
        (&["--since", "6.days.ago"], &ALL[..1]),
        (&["--since", "last friday"], &ALL[..1]),
        (&["--since", "two weeks ago", "--until", "one day ago"], &ALL[..2]),
        (&["--since", "now"], &[]),
        (&["--until", "never"], &[]),
        (&["--until", "1969-12-31"], &[]),
        (&["--until", "2150-12-31"], &ALL),
        (&["--since", "2026-01-01", "--until", "2026-01-31"], &ALL[2..]),
        (&["--since", "2026-01-02", "--until", "2026-01-30"], &[]),
        (&["--before", "20260131"], &ALL[2..]),
        (&["--until", "2026-01-31T23:59:58Z"], &ALL[3..]),
        (&["--since", "2026-01-31T23:59:59Z"], &ALL[..3]),
        (&["--since", "2026-01-31 23:59"], &ALL[..3]),
        (&["--since", "2026-02-22T14:00:00+02:00"], &ALL[..2]),
        (&["--since", "2026-02-22 12:00:01 +0000"], &ALL[..1]),
        (&["--since", "1771761600"], &ALL[..2]),
    ] {
        assert_eq!(tasks(&repo, arguments), expected, "{arguments:?}");
    }
    // an hour to the east the day of the second one is the next
    let json = repo.json_with_env(&[("TZ", "CET-1")], ["query", "--since", "2026-02-01", "--until", "2026-02-01"]);
    assert_eq!((&json["total_found"], &json["reports"][0]["task"]), (&1.into(), &"Test the LOGIN".into()), "{json}");
}

#[test]
fn filters_are_combined_and_the_count_covers_all_pages() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let both = ["--ai", "ada", "--task", "login", "--path", "src", "--range", "main", "--until", "2026-02-01"];
    assert_eq!(tasks(&repo, &both), ["Fix the login"]);
    assert_eq!(tasks(&repo, &[&both[..], &["--calibration", "overconfident"]].concat()), [""; 0]);
    for (limit, listed) in [("0", 0), ("1", 1), ("3", 3), ("4", 4), ("99", 4)] {
        let json = repo.json(["query", "--limit", limit]);
        assert_eq!(json["total_found"], 4, "{json}");
        let reports = json["reports"].as_array().expect("a list").iter();
        let found: Vec<&str> = reports.map(|report| report["task"].as_str().expect("a task")).collect();
        assert_eq!(found, ALL[..listed]);
    }
    let ran = repo.run(["query", "--limit", "1", "--task", "login"]).ok();
    assert!(ran.err.contains("1 more fit") && ran.err.contains("--limit 2"), "{}", ran.err);
    assert!(repo.run(["query", "--limit", "0"]).ok().out.is_empty());
    assert!(repo.run(["query", "--ai", "nobody"]).ok().err.contains("No handoff fits."));
    for _ in 0..8 {
        work(&repo, "cyd", "2026-03-01T00:00:00Z", "More", &[]);
    }
    let json = repo.json(["query"]);
    assert_eq!((json["reports"].as_array().expect("a list").len(), &json["total_found"]), (10, &12.into()));
}

#[test]
fn every_format_has_the_same_reports_and_unknown_growth_is_null() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let json = repo.json(["query"]);
    let growth: Vec<Option<f64>> = (0..4).map(|at| json["reports"][at]["epistemic_growth"].as_f64()).collect();
    assert!(growth[0].is_some_and(|growth| growth > 0.2) && growth[1..] == [None; 3], "{json}");
    assert_eq!(json["reports"][0]["key_findings"], serde_json::json!(["Two"]));
    assert_eq!(json["reports"][0]["type"], "epistemic");

    let same = repo.run(["query", "--format", "json"]).ok().json();
    assert_eq!(same, json);
    let lines = repo.run(["query", "--format", "jsonl"]).ok();
    let rows: Vec<Value> = lines.out.lines().map(|line| serde_json::from_str(line).expect("a report")).collect();
    assert_eq!(Value::Array(rows), json["reports"]);
    assert_eq!(repo.run(["query", "--format", "jsonl", "--ai", "nobody"]).ok().out, "");

    let table = repo.run(["query"]).ok().out;
    assert_eq!(table, repo.run(["query", "--format", "table"]).ok().out);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("HANDOFF ") && lines[0].ends_with("TASK"), "{table}");
    let (task, grown) = (lines[0].find("TASK").expect("a title"), lines[0].find("GROWTH").expect("a title"));
    assert_eq!((&lines[1][task..], lines[2]), ("Grow", "  - Two"), "{table}");
    assert!(lines[1][grown..].starts_with('+') && lines[3][grown..].starts_with("unknown "), "{table}");
    assert_eq!(lines.len(), 1 + 4 + 2, "{table}");

    let markdown = repo.run(["query", "--format", "markdown"]).ok().out;
    assert_eq!(markdown.matches("\n## Handoff ").count(), 3, "{markdown}");
    assert!(markdown.contains(": Draw (a+b)*\n") && markdown.contains("\n- Two\n"), "{markdown}");
    assert!(markdown.contains("growth unknown, no self-assessment"), "{markdown}");
}

#[test]
fn hostile_texts_stay_data_in_every_form() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let text = "a\n| b |\n# c\n{\"handoff_id\":\"x\"}\n\x1b[31m FAILED \u{202e}<script>\n01a2004e  forged row";
    work(&repo, text, "2026-01-01T00:00:00Z", text, &["--finding", text]);
    repo.git(["config", "color.ui", "always"]).ok();
    for form in ["table", "markdown", "jsonl", "json"] {
        let out = repo.run(["query", "--format", form]).ok().out;
        let plain = out.replace("\x1b[1m", "").replace("\x1b[31;1m", "").replace("\x1b[0m", "");
        assert!(!plain.contains(['\x1b', '\u{202e}']), "{form}: {out:?}");
        assert_eq!(out.contains('\x1b'), ["table", "markdown"].contains(&form), "{form}: colors: {out:?}");
        match form {
            "table" => {
                assert_eq!(plain.lines().count(), 3, "a cell is on one line: {plain}");
            }
            "markdown" => {
                assert_eq!(plain.lines().filter(|line| line.starts_with('#')).count(), 1, "{plain}");
                assert!(!plain.contains(" <script>") && !plain.lines().any(|line| line.starts_with('|')), "{plain}");
            }
            _ => {
                assert_eq!(out.lines().count(), 1, "{out}");
                let json: Value = serde_json::from_str(&out).expect("one document");
                let report = if form == "json" { &json["reports"][0] } else { &json };
                assert_eq!((&report["task"], &report["key_findings"][0]), (&text.into(), &text.into()));
            }
        }
    }
}

#[test]
fn nonsensical_filters_are_clear_errors() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    for flag in ["--since", "--until"] {
        for bad in ["blorp", "2026-13-45", "2026-02-30", "2026-01-01T25:00", "20261345", "", "days ago"] {
            let json = repo.fails(2, ["query", flag, bad]);
            assert_eq!(json["provided"], bad);
            assert!(json["error"].as_str().is_some_and(|error| error.contains(flag)), "{json}");
            assert!(json["alternatives"].as_array().is_some_and(|list| !list.is_empty()), "{json}");
        }
    }
    let json = repo.fails(2, ["query", "--since", "2026-02-01", "--until", "2026-01-01"]);
    assert!(json["error"].as_str().is_some_and(|error| error.contains("later than --until")), "{json}");
    assert!(json["reason"].as_str().is_some_and(|why| why.contains("2026-01-01T23:59:59")), "{json}");

    let json = repo.fails(2, ["query", "--task", "a("]);
    assert_eq!((&json["provided"], &json["alternatives"][0]), (&"a(".into(), &r"a\(".into()));
    for (flag, bad, right) in [
        ("--type", "epistemc", "epistemic"),
        ("--calibration", "overconfidnt", "overconfident"),
        ("--format", "jsn", "json"),
    ] {
        let json = repo.fails(2, ["query", flag, bad]);
        assert_eq!((&json["provided"], &json["alternatives"][0]), (&bad.into(), &right.into()), "{json}");
    }
    let json = repo.fails(1, ["query", "--range", "mian..topic"]);
    assert_eq!(json["provided"], "mian..topic");
    assert_eq!(json["alternatives"], serde_json::json!(["main", "topic", "v1"]));
    assert!(json["error"].as_str().is_some_and(|error| error.contains("mian..topic")), "{json}");
    repo.fails(2, ["query", "--range=--all"]);
    repo.fails(1, ["query", "--range", ""]);
    let json = repo.fails(1, ["query", "--session", "nobody"]);
    assert!(json["alternatives"].as_array().is_some_and(|list| !list.is_empty()), "{json}");
    for bad in ["..", "/etc/passwd", ".git/config", ""] {
        assert_eq!(repo.fails(2, ["query", "--path", bad])["provided"], bad);
    }
    repo.fails(2, ["query", "--limit", "-1"]);
    for form in ["table", "markdown", "jsonl"] {
        repo.fails(2, ["query", "--format", form]);
    }
    // --format json fails as --json does, jsonl says it aside
    let ran = repo.run(["query", "--format", "json", "--since", "blorp"]).code(2);
    assert_eq!((ran.json()["ok"].as_bool(), ran.err.as_str()), (Some(false), ""));
    let ran = repo.run(["query", "--format=jsonl", "--since", "blorp"]).code(2);
    assert!(ran.out.is_empty() && ran.err.starts_with("error: "), "{ran:?}");
}

//! The help: one screen of names, the rest by topic, pages of commands, aliases and topics, all before anything is set up.

use std::collections::BTreeSet;

use clap::CommandFactory;
use git_empirica::cli::Cli;
use git_empirica::cli::help::manual;

use crate::support::harness::{Repo, Sandbox};

/// The names that a list of commands has: the first words of its indented lines.
fn names(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect()
}

/// Every command with its subcommands, as its words.
fn commands() -> Vec<Vec<String>> {
    let pages = manual::pages(&Cli::command()).into_iter().skip(1);
    pages.map(|(name, _)| name["git-empirica-".len()..name.len() - 2].split('-').map(str::to_owned).collect()).collect()
}

/// The options that a help lists.
fn flags(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--"))).collect()
}

#[test]
fn the_short_help_is_one_screen_of_at_most_24_names_in_five_groups() {
    let place = Sandbox::new();
    let outside = place.at(".");
    let screen = outside.run(["-h"]).ok().out;
    for same in [&["help"][..], &["help", "-h"], &[]] {
        assert_eq!(outside.run(same).ok().out, screen, "{same:?}");
    }
    assert!(screen.lines().count() <= 40 && screen.lines().all(|line| line.len() <= 100), "{screen}");
    assert_eq!(screen.split("\n\n").count(), 7, "a usage, five groups, and where the rest is: {screen}");
    let names = names(&screen);
    assert!((20..=24).contains(&names.len()), "{names:?}");
    let lines: BTreeSet<&str> = screen.lines().filter(|line| line.starts_with("  ")).map(|line| &line[16..]).collect();
    assert_eq!(lines.len(), names.len(), "each has a line of its own words");
    assert!(screen.contains("help -a"), "{screen}");
}

#[test]
fn every_command_is_in_exactly_one_of_the_two_lists() {
    let place = Sandbox::new();
    let outside = place.at(".");
    let (screen, rest) = (outside.run(["help"]).ok().out, outside.run(["help", "-a"]).ok().out);
    assert_eq!(outside.run(["help", "--all"]).ok().out, rest);
    assert!(rest.lines().all(|line| line.len() <= 100), "{rest}");
    let listed = [names(&screen), names(&rest)].concat();
    let all: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(all.len(), listed.len(), "nothing is there twice");
    let topics = ["config", "routes", "tasks", "vectors"];
    let expected: BTreeSet<String> = commands().into_iter().map(|words| words[0].clone()).collect();
    let without: BTreeSet<String> = all.iter().filter(|name| !topics.contains(name)).map(|n| (*n).to_owned()).collect();
    assert_eq!(without, expected);
    assert!(topics.iter().all(|topic| all.contains(topic)), "{rest}");
}

#[test]
fn each_command_has_a_help_of_two_lengths_outside_a_repository() {
    let place = Sandbox::new();
    let outside = place.at(".");
    for words in commands() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let page = outside.run([&["help"], &words[..]].concat()).ok();
        assert!(page.out.contains("Usage: git empirica") && page.err.is_empty(), "{words:?}: {page:?}");
        assert_eq!(outside.run([&words[..], &["--help"]].concat()).ok().out, page.out, "{words:?}");
        let short = outside.run([&words[..], &["-h"]].concat()).ok().out;
        assert!(short.contains("Usage: git empirica"), "{words:?}: {short}");
        assert!(flags(&short).len() <= 12, "{words:?}: {short}");
        let long = flags(&page.out);
        assert!(flags(&short).iter().all(|flag| long.contains(flag)), "{words:?}");
        assert!(!outside.run([&["--no-pager"], &words[..], &["--help"]].concat()).ok().out.is_empty());
    }
}

#[test]
fn options_missing_from_the_short_handoff_help_are_on_its_page_and_the_tasks_topic() {
    let place = Sandbox::new();
    let outside = place.at(".");
    let (short, page) = (outside.run(["handoff", "-h"]).ok().out, outside.run(["help", "handoff"]).ok().out);
    let topic = outside.run(["help", "tasks"]).ok().out;
    assert_eq!(outside.run(["help", "handoffs"]).ok().out, topic);
    for flag in ["--set", "--from", "--example", "--validate", "--transcript", "--detail", "--regenerate", "--task-id"]
    {
        assert!(!short.contains(flag) && page.contains(flag) && topic.contains(flag), "{flag}");
    }
    for kind in ["initialization", "progress", "error_recovery", "escalation", "context"] {
        assert!(topic.contains(kind), "{topic}");
    }
    assert!(topic.lines().count() <= 40 && topic.lines().all(|line| line.len() <= 100), "{topic}");
}

#[test]
fn the_topic_of_vectors_defines_all_13_and_what_follows_from_them_in_40_lines() {
    let place = Sandbox::new();
    let text = place.at(".").run(["help", "vectors"]).ok().out;
    assert!(text.lines().count() <= 40 && text.lines().all(|line| line.len() <= 100), "{text}");
    for vector in [
        "engagement",
        "know",
        "do",
        "context",
        "clarity",
        "coherence",
        "signal",
        "density",
        "state",
        "change",
        "completion",
        "impact",
        "uncertainty",
    ] {
        let defined = text.lines().filter(|line| line.starts_with(&format!("  {vector} "))).count();
        assert_eq!(defined, 1, "{vector}: {text}");
    }
    for word in ["preflight", "check", "postflight", "checkpoint", "uncertainty > 0.6", "know < 0.7", "0.70", "0.30"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn help_resolves_aliases_and_suggests_similar_names() {
    let place = Sandbox::new();
    let outside = place.at(".");
    for (alias, meant) in [
        ("query", "search --handoffs"),
        ("similar", "search --like"),
        ("drift", "check --drift"),
        ("repair", "doctor --repairs"),
        ("completions", "setup --completions"),
        ("bootstrap", "status --all"),
        ("project-bootstrap", "status --all"),
        ("finding-log", "finding"),
        ("session-create", "session start"),
    ] {
        let text = outside.run(["help", alias]).ok().out;
        let (first, rest) = text.split_once("\n\n").expect("two parts");
        assert_eq!(first, format!("'git empirica {alias}' is an alias of 'git empirica {meant}'."));
        let command: Vec<&str> = meant.split(' ').filter(|word| !word.starts_with('-')).collect();
        assert_eq!(rest, outside.run([&["help"], &command[..]].concat()).ok().out, "{alias}");
        assert!(outside.run([alias, "-h"]).ok().out.contains("Usage: git empirica"), "{alias}");
    }
    for (words, near) in
        [(&["fnding"][..], "finding"), (&["vectrs"], "vectors"), (&["quer"], "query"), (&["session", "stat"], "start")]
    {
        let json = outside.fails(2, [&["help"], words].concat());
        assert_eq!((&json["provided"], &json["alternatives"][0]), (&words[words.len() - 1].into(), &near.into()));
    }
    assert_eq!(outside.json(["help", "undo"])["help"], outside.run(["help", "undo"]).ok().out);
    let config = outside.run(["help", "config"]).ok().out;
    assert!(config.contains("  empirica.sync\n") && config.contains("  EMPIRICA_AI\n"), "{config}");
    assert!(!config.contains('\\') && !config.contains(".TP"), "{config}");
}

/// Two agents: ada handed over in February, bob has a finding of March.
fn history(repo: &Repo<'_>) {
    let run = |now: &str, words: &[&str]| {
        repo.json_with_env(&[("EMPIRICA_NOW", now), ("EMPIRICA_AI", words[0])], &words[1..]);
    };
    run("2026-02-01T12:00:00Z", &["ada", "session", "start", "--task", "Fix the flaky login"]);
    run("2026-02-01T12:00:01Z", &["ada", "finding", "The clock is mocked too late"]);
    run("2026-02-01T12:00:02Z", &["ada", "handoff", "--artifact", "src/login.rs", "--next", "mock the clock first"]);
    run("2026-02-01T12:00:03Z", &["ada", "session", "end"]);
    run("2026-03-01T12:00:00Z", &["bob", "finding", "The clock runs backwards"]);
}

#[test]
fn one_search_combines_words_filters_and_similarity() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let texts = |words: &[&str]| -> Vec<String> {
        let json = repo.json([&["search"], words].concat());
        let hits = json["hits"].as_array().unwrap_or_else(|| panic!("no hits: {json}"));
        assert_eq!(json["total_found"], hits.len(), "{json}");
        hits.iter().map(|hit| hit["text"].as_str().expect("a text").to_owned()).collect()
    };
    let (late, back, task) = ("The clock is mocked too late", "The clock runs backwards", "Fix the flaky login");
    // filters alone list the newest, of all kinds
    assert_eq!(texts(&["--since", "2026-02-15"]), [back]);
    assert_eq!(texts(&["--until", "2026-02-15"]), [task, late]);
    assert_eq!(texts(&["--since", "2026-02-01", "--until", "2026-02-01", "--kind", "finding"]), [late]);
    assert_eq!(texts(&["--session", "latest:ada", "--kind", "finding"]), [late]);
    // and words within them rank
    assert_eq!(texts(&["clock", "--kind", "finding", "--since", "2026-02-15"]), [back]);
    assert_eq!(texts(&["clock", "--session", "latest:bob"]), [back]);
    assert_eq!(texts(&["clock", "--path", "src"]), [task], "of the handoffs that changed it");
    assert_eq!(texts(&["clock", "--path", "docs"]), [""; 0]);
    let without = repo.run(["search", "--json", "--", "-backwards", "kind:finding"]).ok().json();
    assert_eq!((&without["total_found"], &without["hits"][0]["text"]), (&1.into(), &late.into()));
    // what only handoffs have lists them, as query does
    let reports = repo.json(["query"]);
    assert_eq!((&reports["total_found"], &reports["reports"][0]["task"]), (&1.into(), &task.into()));
    for words in [&["--path", "src"][..], &["--task", "LOGIN"], &["--type", "epistemic"], &["--range", "HEAD"]] {
        assert_eq!(repo.json([&["search"], words].concat()), reports, "{words:?}");
        assert_eq!(repo.json([&["query"], words].concat()), reports, "{words:?}");
    }
    assert_eq!(repo.json(["query", "clock"]), repo.json(["search", "clock"]), "words are searched");
    assert_eq!(repo.json(["similar", task]), repo.json(["search", "--like", task]));
    assert_eq!(repo.json(["search", "--like", "flaky", "login"])["sessions"][0]["task"], task);
    // what has no meaning together is refused
    for words in [
        &["--kind", "finding", "--path", "src"][..],
        &["--like"],
        &["--like", "x", "--ai", "ada"],
        &["x", "--format", "jsonl"],
        &["x", "--plan", "--path", "src"],
        &[],
    ] {
        repo.fails(2, [&["search"], words].concat());
    }
}

#[test]
fn check_drift_shows_the_result_of_check_and_records_nothing() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "t");
    for know in ["0.3", "0.3", "0.9"] {
        repo.run(["check", "-v", &format!("know={know}")]);
    }
    let before = repo.lines("checkpoints");
    let shown = repo.run(["check", "--drift", "--window", "2", "--json"]).code(3).json();
    assert_eq!((&shown["drift_analysis"]["severity"], &shown["safe_to_proceed"]), (&"severe".into(), &false.into()));
    assert_eq!(repo.run(["drift", "--window", "2", "--json"]).code(3).json(), shown);
    assert_eq!(repo.lines("checkpoints"), before);
    for words in [&["--drift", "-v", "know=0.5"][..], &["--drift", "--finding", "x"], &["--window", "2"]] {
        repo.fails(2, [&["check"], words].concat());
    }
}

#[test]
fn doctor_lists_handoffs_of_missing_commits_and_fix_repairs_them_with_hooks_settings_and_pending_records() {
    let place = Sandbox::older_git();
    let repo = place.set_up("r");
    repo.start("ada", "work");
    repo.git(["switch", "-q", "-c", "topic"]).ok();
    repo.commit("a", "a\n", "Work");
    let id = repo.hand_over("work");
    repo.git(["switch", "-q", "main"]).ok();
    repo.commit("b", "b\n", "Meanwhile");
    // as a server does it: no hook runs
    repo.git(["-c", "core.hooksPath=/dev/null", "cherry-pick", "topic"]).ok();
    repo.json(["finding", "waits in the log"]);
    std::fs::remove_file(repo.path.join(".git/hooks/post-commit")).expect("a hook");
    let refs = repo.git_out(["for-each-ref"]);
    let found = repo.fails(1, ["doctor"]);
    assert_eq!(repo.git_out(["for-each-ref"]), refs, "without --fix nothing is changed");
    assert_eq!(found["repairs"], repo.json(["repair"])["repairs"], "{found}");
    assert_eq!(
        (&found["repairs"][0]["state"], &found["repairs"][0]["records"][0]["id"]),
        (&"would_attach".into(), &id.clone().into())
    );
    let text = repo.run(["doctor"]).code(1);
    assert!(text.out.contains("would attach") && text.err.contains("git empirica doctor --fix"), "{text:?}");

    let fixed = repo.json(["doctor", "--fix"]);
    assert_eq!((&fixed["wrong"], &fixed["repairs"][0]["state"]), (&0.into(), &"attached".into()), "{fixed}");
    assert!(fixed["flushed"].as_u64().is_some_and(|records| records > 0), "{fixed}");
    assert!(fixed["changes"].as_array().is_some_and(|changes| !changes.is_empty()), "{fixed}");
    assert!(repo.path.join(".git/hooks/post-commit").exists());
    assert_eq!(repo.handoffs_at(&repo.head()), [id]);
    let again = repo.json(["doctor", "--fix"]);
    assert_eq!(
        (&again["repairs"], &again["changes"], &again["flushed"]),
        (&serde_json::json!([]), &serde_json::json!([]), &0.into())
    );
}

#[test]
fn vectors_come_from_a_file_or_a_pipe_by_the_one_option() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.write("v.json", "{\"know\": 0.8}");
    let json = repo.json(["preflight", "-v", "@v.json", "-v", "uncertainty=0.2"]);
    assert_eq!(json["vectors"], serde_json::json!({"know": 0.8, "uncertainty": 0.2}));
    let piped = repo.run_with_input(["check", "-v", "-", "--json"], b"know=0.7 do=0.6").ok().json();
    assert_eq!(piped["vectors"], serde_json::json!({"know": 0.7, "do": 0.6}));
    assert_eq!(repo.json(["check", "--vectors", "v.json"])["vectors"], serde_json::json!({"know": 0.8}));
}

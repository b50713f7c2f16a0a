//! `search` and `similar`: matches, order, display, and agreement with the notes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox};

const REFS: [&str; 2] = ["refs/notes/empirica/data/journal", "refs/notes/empirica/data/handoffs"];

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

fn hits(json: &Value) -> &Vec<Value> {
    json["hits"].as_array().expect("a list")
}

/// The main texts of what a query finds, best first.
#[track_caller]
fn texts(repo: &Repo<'_>, arguments: &[&str]) -> Vec<String> {
    let json = repo.json([&["search"], arguments].concat());
    assert_eq!(json["total_found"], hits(&json).len(), "{json}");
    hits(&json).iter().map(|hit| id(hit, "text")).collect()
}

fn ids(json: &Value) -> BTreeSet<String> {
    hits(json).iter().map(|hit| id(hit, "id")).collect()
}

/// Two sessions with records of every kind; returns the IDs of the dead end and the unknown.
fn history(repo: &Repo<'_>) -> (String, String) {
    repo.start("ada", "Fix the flaky login");
    repo.json(["finding", "The LOGIN test is flaky: the clock is mocked too late"]);
    let dead = id(&repo.json(["deadend", "Mocking the clock", "--why", "tokens are cached; 令牌过期太早"]), "id");
    let unknown = id(&repo.json(["unknown", "Why does the Café token expire?"]), "id");
    repo.json(["decision", "Inject a clock", "--why", "tests own time", "--alternative", "Freeze it with libfaketime"]);
    repo.json(["mistake", "Forgot the leap day", "--prevention", "property tests"]);
    repo.json(["session", "end"]);
    repo.start("codex", "Draw the chart");
    repo.json(["finding", "The chart needs a clock axis"]);
    (dead, unknown)
}

#[test]
fn words_phrases_prefixes_exclusions_and_fields_select() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let flaky = "The LOGIN test is flaky: the clock is mocked too late";
    let chart = "The chart needs a clock axis";
    for (arguments, expected) in [
        (&["login", "flaky"][..], &[flaky][..]),
        (&["flaky login"], &[flaky]),
        (&["\"login test\""], &[flaky]),
        (&["cafe"], &["Why does the Café token expire?"]),
        (&["CAFÉ"], &["Why does the Café token expire?"]),
        (&["libfake*"], &["Inject a clock"]),
        (&["\"leap d\"*"], &["Forgot the leap day"]),
        (&["property"], &["Forgot the leap day"]),
        (&["令牌"], &["Mocking the clock"]),
        (&["过期太早"], &["Mocking the clock"]),
        (&["clock ai:codex"], &[chart]),
        (&["clock", "--ai", "codex"], &[chart]),
        (&["clock kind:deadend"], &["Mocking the clock"]),
        (&["clock", "--kind", "deadend"], &["Mocking the clock"]),
        (&["clock session:latest:codex"], &[chart]),
        (&["kind:deadend ai:ada"], &["Mocking the clock"]),
        (&["kind:finding"], &[chart, flaky]),
        (&["kind:finding ai:nobody"], &[]),
        (&["ai:codex -axis"], &[]),
        (&["clock -mocking -mocked -inject"], &[chart]),
        (&["clock -\"clock axis\" kind:finding"], &[flaky]),
        (&["late:mocked"], &[flaky, "Mocking the clock"]),
        (&["flaky:the"], &[flaky]),
    ] {
        if expected.is_empty() {
            let json = repo.json([&["search"], arguments].concat());
            assert!(json["total_found"] == 0 || json["widened"] == true, "{arguments:?}: {json}");
        } else {
            assert_eq!(texts(&repo, arguments), expected, "{arguments:?}");
        }
    }
    let both: BTreeSet<String> = texts(&repo, &["clock", "kind:deadend", "kind:decision"]).into_iter().collect();
    assert_eq!(both, ["Inject a clock", "Mocking the clock"].map(str::to_owned).into());
    assert_eq!(texts(&repo, &["clock"]).len(), 4);
    let json = repo.run(["search", "--json", "--", "-axis", "clock", "kind:finding"]).ok().json();
    assert_eq!((&json["total_found"], &hits(&json)[0]["text"]), (&1.into(), &flaky.into()), "{json}");
    for (limit, listed) in [("0", 0), ("1", 1), ("9", 4)] {
        let json = repo.json(["search", "clock", "--limit", limit]);
        assert_eq!((hits(&json).len(), &json["total_found"]), (listed, &4.into()), "{json}");
    }
    let ran = repo.run(["search", "clock", "--limit", "1"]).ok();
    assert!(ran.err.contains("3 more fit: --limit 4"), "{}", ran.err);
}

#[test]
fn a_hit_has_its_commit_its_time_its_score_and_the_passage_that_matches() {
    let mut place = Sandbox::new();
    let (dead, unknown) = history(&place.repo("r"));
    place.now = "2026-03-04T13:00:00.000Z".into();
    let repo = place.at("r");
    repo.json(["resolve", &unknown, "by nonce"]);
    repo.json(["flush"]);
    let json = repo.json(["search", "tokens clock"]);
    let hit = &hits(&json)[0];
    assert_eq!((hit["id"].as_str(), hit["kind"].as_str()), (Some(dead.as_str()), Some("dead_end")), "{json}");
    assert_eq!(hit["commit"], repo.head());
    assert_eq!(hit["why"], "tokens are cached; 令牌过期太早");
    assert!(hit["age"].as_u64().is_some_and(|age| age / 3600 == 73), "{hit}");
    assert!(hit["score"].as_f64().is_some_and(|score| score > 0.0), "{hit}");
    let marked = |hit: &Value| -> Vec<String> {
        let passage: Vec<char> = hit["passage"].as_str().expect("a text").chars().collect();
        let ends = hit["highlights"].as_array().expect("a list").iter();
        let end = |pair: &Value, at: usize| pair[at].as_u64().expect("a number") as usize;
        ends.map(|pair| passage[end(pair, 0)..end(pair, 1)].iter().collect()).collect()
    };
    assert_eq!(marked(hit), ["clock", "tokens"], "{hit}");
    assert_eq!(marked(&hits(&repo.json(["search", "牌过"]))[0]), ["牌过"]);
    let answered = repo.json(["search", "cafe"]);
    let answered = &hits(&answered)[0];
    assert_eq!((&answered["resolved"], &answered["answer"]), (&true.into(), &"by nonce".into()), "{answered}");
    assert_eq!((&hit["resolved"], &hit["answer"]), (&Value::Null, &Value::Null));

    // the best first: more of the words, in the shorter text
    repo.json(["finding", "axis"]);
    let ranked = repo.json(["search", "axis"]);
    let scores: Vec<f64> = hits(&ranked).iter().map(|hit| hit["score"].as_f64().expect("a number")).collect();
    assert_eq!(hits(&ranked)[0]["text"], "axis", "{ranked}");
    assert!(scores.len() == 2 && scores[0] > scores[1], "{scores:?}");

    let text = repo.run(["search", "tokens clock"]).ok().unfenced();
    assert!(
        text.starts_with(&format!("dead end {} · ada · 2026-03-01 12:00 UTC · {}\n", &dead[28..], &repo.head()[..8])),
        "{text}"
    );
    assert!(text.contains("\n  Mocking the clock · tokens are cached; 令牌过期太早\n"), "{text}");
    assert!(repo.run(["search", "cafe"]).ok().out.contains(" · answered\n") && !text.contains('\x1b'), "{text}");
    repo.git(["config", "color.ui", "always"]).ok();
    let painted = repo.run(["search", "tokens clock"]).ok().out;
    assert!(painted.contains("clock\x1b[0m ·"), "{painted:?}");
    let long = "word ".repeat(100) + "needle" + &" word".repeat(100);
    repo.json(["finding", &long]);
    let out = repo
        .run(["search", "needle"])
        .ok()
        .out
        .replace("\x1b[31;1m", "")
        .replace("\x1b[0m", "")
        .replace("\x1b[33m", "");
    assert!(out.contains("needle") && out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn of_equals_the_newest_come_first_and_better_ones_before_them() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Say the same");
    let say = |text: &str, times: usize| -> Vec<String> {
        let one = |_| {
            repo.json(["flush"]);
            id(&repo.json(["finding", text]), "id")
        };
        let mut ids: Vec<String> = (0..times).map(one).collect();
        ids.sort_by(|a, b| b.cmp(a));
        ids
    };
    let twice = say("the lock of the lock", 2);
    let same = say("the lock of a queue", 9);
    // more that are newer than there are equals: those are not among the newest
    let others = say("something of another sort", 12);
    let found = |arguments: &[&str]| -> (Vec<String>, u64) {
        let json = repo.json([&["search"], arguments].concat());
        (hits(&json).iter().map(|hit| id(hit, "id")).collect(), json["total_found"].as_u64().expect("a number"))
    };
    assert_eq!(found(&["lock", "--limit", "5"]), ([&twice[..], &same[..3]].concat(), 11));
    assert_eq!(found(&["of lock", "--limit", "1"]), (twice[..1].to_vec(), 11));
    assert_eq!(found(&["sort", "--limit", "2"]), (others[..2].to_vec(), 12));
    assert_eq!(found(&["sort -lock", "--limit", "20"]), (others.clone(), 12));
    assert_eq!(found(&["kind:finding -lock", "--limit", "2"]), (others[..2].to_vec(), 12));
    assert_eq!(found(&["queue", "--limit", "0"]), (vec![], 9));
}

#[test]
fn a_plan_shows_failures_first() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    repo.json(["finding", "clock clock clock"]);
    assert_ne!(texts(&repo, &["clock"])[0], "Mocking the clock");
    let all = texts(&repo, &["--plan", "clock"]);
    assert_eq!((all[0].as_str(), all[1].as_str(), all.len()), ("Mocking the clock", "Inject a clock", 5), "{all:?}");
    let json = repo.json(["search", "--plan", "clock", "--limit", "1"]);
    assert_eq!((&json["total_found"], &hits(&json)[0]["kind"]), (&5.into(), &"dead_end".into()));
    let text = repo.run(["search", "--plan", "clock"]).ok().unfenced();
    assert!(text.starts_with("tried and FAILED ") && text.matches("FAILED").count() == 1, "{text}");
    assert!(!texts(&repo, &["--plan", "clock", "kind:finding"]).contains(&"Mocking the clock".to_owned()));
}

#[test]
fn without_a_full_match_partial_matches_are_found_and_reported() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let (dead, _) = history(&repo);
    let json = repo.json(["search", "caching", "elsewhere"]);
    assert_eq!((&json["widened"], &hits(&json)[0]["id"]), (&true.into(), &dead.as_str().into()), "{json}");
    assert_eq!(repo.json(["search", "cached"])["widened"], false);
    assert!(repo.run(["search", "caching elsewhere"]).ok().err.contains("have some of them"));
    let json = repo.json(["search", "zebra"]);
    assert_eq!((&json["widened"], &json["total_found"]), (&false.into(), &0.into()));
    let ran = repo.run(["search", "zebra"]).ok();
    assert!(ran.out.is_empty() && ran.err.contains("Nothing was found.") && ran.err.contains("hint: "), "{ran:?}");
    assert_eq!(repo.json(["search", "caching -cached"])["total_found"], 0);
    assert_eq!(repo.json(["search", "caching", "ai:codex"])["total_found"], 0);
}

#[test]
fn no_query_is_an_error_of_the_database_and_a_query_without_a_word_is_a_clear_one() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let many = (0..700).map(|n| format!("a{n}")).collect::<Vec<_>>().join(" ");
    let agents = (0..400).map(|n| format!("ai:{n}")).collect::<Vec<_>>().join(" ");
    for query in [
        "AND",
        "OR NOT",
        "NEAR(",
        "NEAR(a b, 2)",
        "a AND",
        "'; DROP TABLE words; --",
        "kind:",
        "ai:",
        "\"login",
        "login\"",
        "a:b:c",
        "{text}: a",
        "^login",
        "login + test",
        "(login",
        "http://x/y?z=1",
        "🚀 login",
        "login*test",
        "text:login",
        "%",
        "_ a",
        "\\",
        "x\u{7}y",
        "\u{1}a\u{2}",
        "a\u{301}",
        "\u{fffd}z",
        &many,
        &agents,
    ] {
        let ran = repo.run(["search", "--json", "--", query]);
        let json = ran.json();
        match ran.code {
            0 => assert!(json["total_found"].is_u64(), "{query}: {json}"),
            code => {
                assert!(code == 2 && json["error"] == "cannot search: the query has no word to find", "{query}: {json}")
            }
        }
    }
    for query in ["", " ", "\"", "*", "🚀", "\"\"", "-login", "- -"] {
        let json = repo.run(["search", "--json", "--", query]).code(2).json();
        assert!(json["recovery_commands"][0].as_str().is_some_and(|c| c.starts_with("git empirica search ")), "{json}");
    }
    repo.fails(2, ["search"]);
    let json = repo.fails(2, ["search", "kind:findng"]);
    assert_eq!(json["alternatives"].as_array().map(Vec::len), Some(6), "{json}");
    repo.fails(2, ["search", &"a ".repeat(4000)]);
    repo.fails(2, ["search", "x", "--kind", "handof"]);
    repo.fails(1, ["search", "x session:nobody"]);
    repo.fails(2, ["similar", " "]);
    repo.fails(1, ["similar", "01234567"]);
    repo.fails(1, ["similar", "latest:nobody"]);
}

/// The words of a text as plainly as can be.
fn plain(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace('ä', "a");
    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Everything that can be searched, out of the notes themselves: id, kind, agent, words.
fn everything(repo: &Repo<'_>) -> Vec<(String, String, String, Vec<String>)> {
    let mut records: Vec<Value> = Vec::new();
    for name in REFS {
        for line in repo.git_out(["notes", "--ref", name, "list"]).lines() {
            let note = repo.git_out(["cat-file", "blob", line.split(' ').next().expect("a blob")]);
            records.extend(note.lines().filter_map(|line| serde_json::from_str(line).ok()));
        }
    }
    let aside: BTreeSet<String> = records.iter().filter(|r| r["kind"] == "supersede").map(|r| id(r, "of")).collect();
    let mut out = Vec::new();
    for record in records.iter().filter(|record| !aside.contains(record["id"].as_str().unwrap_or_default())) {
        let kind = id(record, "kind");
        if !["finding", "unknown", "dead_end", "decision", "mistake", "handoff"].contains(&kind.as_str()) {
            continue;
        }
        let mut texts: Vec<&str> = Vec::new();
        for key in ["text", "approach", "why", "prevention", "task", "context"] {
            texts.extend(record[key].as_str());
        }
        for key in
            ["alternatives", "accomplished", "next_steps", "findings", "unknowns", "dead_ends", "decisions", "mistakes"]
        {
            for item in record[key].as_array().into_iter().flatten() {
                texts.extend(item.as_str());
                texts.extend(["text", "approach", "why"].iter().filter_map(|key| item[key].as_str()));
            }
        }
        let words = texts.iter().flat_map(|text| plain(text)).collect();
        let row = (id(record, "id"), kind, id(record, "ai"), words);
        if !out.contains(&row) {
            out.push(row);
        }
    }
    out
}

#[test]
fn search_finds_the_same_as_a_plain_scan_of_the_notes() {
    const WORDS: [&str; 6] = ["cache", "login", "flaky", "token", "Zähler", "cached"];
    let place = Sandbox::new();
    let repo = place.repo("r");
    let mut state = 7u32;
    let mut pick = |n: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % n
    };
    for (at, ai) in ["ada", "codex", "ada"].into_iter().enumerate() {
        repo.start(ai, &format!("{} {}", WORDS[pick(6)], WORDS[pick(6)]));
        for _ in 0..9 {
            let text = (0..=pick(3)).map(|_| WORDS[pick(6)]).collect::<Vec<_>>().join(" ");
            match pick(5) {
                0 => repo.json(["unknown", &text]),
                1 => repo.json(["deadend", &text, "--why", WORDS[pick(6)]]),
                2 => repo.json(["decision", &text, "--why", WORDS[pick(6)], "--alternative", WORDS[pick(6)]]),
                3 => repo.json(["mistake", &text, "--prevention", WORDS[pick(6)]]),
                _ => repo.json(["finding", &text]),
            };
        }
        repo.json(["handoff", "--next", WORDS[pick(6)]]);
        repo.json(["handoff", "--context", WORDS[pick(6)]]);
        if at < 2 {
            repo.json(["session", "end"]);
        }
    }
    repo.json(["flush"]);
    let all = everything(&repo);
    assert!(all.len() >= 30, "{}", all.len());
    assert_eq!(all.iter().filter(|(_, kind, ..)| kind == "handoff").count(), 3, "superseded ones do not count");
    let mut found = 0;
    let stems = git_empirica::text::stem::Stems::default();
    for at in 0..60 {
        let (one, two) = (WORDS[pick(6)], WORDS[pick(6)]);
        let (begin, kind, ai) =
            (pick(2) == 0, ["", "finding", "dead_end", "handoff"][pick(4)], ["", "ada", "codex"][pick(3)]);
        let mut query = format!("{one} {}{}", &two[..4], if begin { "*" } else { "" });
        for (name, value) in [("kind", kind), ("ai", ai)] {
            if !value.is_empty() {
                query.push_str(&format!(" {name}:{value}"));
            }
        }
        let (one, two) = (plain(one).concat(), plain(&two[..4]).concat());
        let fits = |(_, known, by, words): &&(String, String, String, Vec<String>)| {
            (kind.is_empty() || known == kind)
                && (ai.is_empty() || by == ai)
                && words.iter().any(|word| {
                    let same = |other: &str| stems.of(word) == stems.of(other);
                    same(&one) || if begin { word.starts_with(&two) } else { same(&two) }
                })
        };
        let expected: BTreeSet<String> = all.iter().filter(fits).map(|(id, ..)| id.clone()).collect();
        let json = repo.json(["search", &query, "--limit", "1000"]);
        assert_eq!(ids(&json), expected, "{at}: {query}");
        found += expected.len();
    }
    assert!(found > 30, "{found}");
    for kind in ["finding", "dead_end", "handoff", "unknown"] {
        for ai in ["ada", "codex", "nobody"] {
            let expected: BTreeSet<String> =
                all.iter().filter(|row| row.1 == kind && row.2 == ai).map(|row| row.0.clone()).collect();
            let json = repo.json(["search", &format!("kind:{kind} ai:{ai}"), "--limit", "1000"]);
            assert_eq!((ids(&json), &json["total_found"]), (expected.clone(), &expected.len().into()), "{kind} {ai}");
        }
    }
}

#[test]
fn the_answer_is_the_same_without_the_index_and_from_the_log() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    history(&repo);
    let ask = || -> Vec<String> {
        let queries: [&[&str]; 5] = [
            &["search", "clock", "--json"],
            &["search", "--plan", "clock token"],
            &["search", "kind:handoff", "--json"],
            &["search", "caching", "--json"],
            &["similar", "a flaky login test", "--json"],
        ];
        queries.iter().map(|query| repo.run(*query).ok().out).collect()
    };
    let forget = || {
        for name in ["index.db", "index.stamp", "index.lock"] {
            let _ = std::fs::remove_file(repo.path.join(".git/empirica").join(name));
        }
    };
    let check = |what: &str| {
        let kept = ask();
        forget();
        assert_eq!(ask(), kept, "{what}: made anew");
        repo.git(["config", "empirica.index", "false"]).ok();
        assert_eq!(ask(), kept, "{what}: in memory");
        repo.git(["config", "--unset", "empirica.index"]).ok();
        kept
    };
    let waiting = check("in the log");
    assert!(waiting[0].contains("\"total_found\":4"), "{}", waiting[0]);
    repo.json(["flush"]);
    assert_eq!(check("in the notes"), waiting);
    repo.json(["handoff", "-m", "One clock"]);
    ask();
    let newer = repo.json(["handoff", "-m", "Two clocks"]);
    let json = repo.json(["search", "kind:handoff"]);
    assert_eq!(ids(&json), [id(&newer, "handoff_id")].into(), "{json}");
    assert_eq!(repo.json(["search", "\"one clock\""])["widened"], true);
    check("after a newer handoff");
    repo.git(["config", "user.name", "Other"]).ok();
    repo.git(["update-ref", "-d", "refs/notes/empirica/data/journal"]).ok();
    check("after a ref was deleted");
}

#[test]
fn hostile_texts_stay_data() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let text = "needle\n# h\n\x1b[31m FAILED \u{202e}<script>\u{1}x\u{2}\ncommit 01a2004e";
    repo.start(text, text);
    repo.json(["deadend", text, "--why", text]);
    repo.json(["unknown", text]);
    for command in [["search", "needle"], ["search", "--plan needle"], ["similar", "needle commit script failed"]] {
        let out = repo.run(command[1].split(' ').fold(vec![command[0]], |mut all, word| {
            all.push(word);
            all
        }));
        let out = out.ok().unfenced();
        assert!(!out.contains(['\x1b', '\u{202e}', '\u{1}', '\u{2}']), "{out:?}");
        assert!(out.lines().all(|line| !line.starts_with(['#', 'c', '<'])), "{out}");
    }
    let json = repo.json(["search", "needle"]);
    assert_eq!(hits(&json)[0]["text"], text);
}

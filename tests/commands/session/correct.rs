//! `replace`, `retract` and `confirm`: every view has only the claims in force, and `show` tells what became of the others.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::agents::hook_payloads::At;
use crate::commands::session::undo::{WORD, nowhere, views};
use crate::support::harness::{Repo, Sandbox, is_long};
use crate::sync::team::{clones, hub, sync};

const NEW: &str = "axolotl";

fn id(logged: &Value) -> String {
    logged["id"].as_str().expect("an id").to_owned()
}

fn state(repo: &Repo<'_>, id: &str) -> Value {
    repo.json(["show", id])
}

/// Rebuilds the index, then leaves it out.
fn with_every_index(repo: &Repo<'_>, check: impl Fn()) {
    check();
    std::fs::remove_file(repo.path.join(".git/empirica/index.db")).ok();
    check();
    repo.git(["config", "empirica.index", "false"]).ok();
    check();
    repo.git(["config", "--unset", "empirica.index"]).ok();
}

#[test]
fn a_claim_of_another_is_replaced_in_every_view() {
    let place = Sandbox::new();
    for flushed in [false, true] {
        let repo = place.repo(if flushed { "flushed" } else { "pending" });
        repo.commit("a", "a", "first");
        repo.start("ada", "Learn");
        let old = id(&repo.json(["finding", &format!("a {WORD} swims"), "--impact", "0.9"]));
        if flushed {
            repo.json(["flush"]);
        }
        repo.commit("b", "b", "second");
        let bob = repo.start("bob", "Correct");
        let made =
            repo.json(["replace", &old, &format!("an {NEW} swims"), "--why", "looked closer", "--session", &bob]);
        assert_eq!((&made["kind"], &made["of"], &made["of_ai_id"]), (&json!("finding"), &json!(old), &json!("ada")));
        let new = id(&made);
        with_every_index(&repo, || {
            nowhere(&repo);
            let shown = views(&repo).into_iter().filter(|(_, text)| text.contains(NEW)).count();
            assert!(shown > 6, "{shown}");
            let gone = state(&repo, &old);
            assert_eq!(gone["state"], "replaced");
            let [how] = gone["corrections"].as_array().expect("a list").as_slice() else { panic!("{gone}") };
            assert_eq!(
                (&how["ai_id"], &how["replaced_by"], &how["why"]),
                (&json!("bob"), &json!(new), &json!("looked closer"))
            );
            let held = state(&repo, &new);
            assert_eq!((&held["state"], &held["replaces"]), (&json!("holds"), &json!([old])));
            assert_eq!(held["impact"], 0.9);
        });
        let shown = repo.run(["show", &old]).ok().unfenced();
        assert!(
            shown.starts_with("No longer holds: bob replaced it with ") && shown.contains(": looked closer."),
            "{shown}"
        );
        repo.json(["flush"]);
        nowhere(&repo);
        repo.fsck();
    }
}

#[test]
fn a_claim_is_retracted_for_a_reason_and_confirmed_by_anyone() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("a", "a", "first");
    repo.start("ada", "Learn");
    let wrong = id(&repo.json(["deadend", &format!("a {WORD}"), "--why", "it swims away"]));
    let right = id(&repo.json(["finding", &format!("an {NEW}")]));
    repo.json(["flush"]);
    let bob = repo.start("bob", "Correct");
    repo.json(["retract", &wrong, "--why", "it came back", "--session", &bob]);
    let ran = repo.run(["confirm", &right, "--session", &bob]).ok();
    assert!(ran.err.contains(&format!("Confirmed finding {} of ada.", &right[28..])), "{}", ran.err);
    with_every_index(&repo, || {
        nowhere(&repo);
        let gone = state(&repo, &wrong);
        assert_eq!((&gone["state"], &gone["corrections"][0]["why"]), (&json!("retracted"), &json!("it came back")));
        let held = state(&repo, &right);
        assert_eq!((&held["state"], &held["confirmed"]["ai_id"]), (&json!("holds"), &json!("bob")));
        assert_eq!(held["confirmed"]["commit"].as_str(), Some(repo.head().as_str()));
        assert_eq!(repo.json(["search", "kind:finding"])["hits"][0]["confirmed"], held["confirmed"]);
    });
    assert!(repo.run(["show", &right]).ok().unfenced().starts_with("Confirmed by bob on "));
    let of_agents = repo.json(["metrics"])["agents"].clone();
    let corrected: Vec<(&Value, &Value)> = of_agents
        .as_array()
        .expect("agents")
        .iter()
        .map(|agent| (&agent["ai_id"], &agent["corrections"]["n"]))
        .collect();
    assert_eq!(corrected, [(&json!("ada"), &json!(0)), (&json!("bob"), &json!(1))]);
    assert!(repo.run(["metrics"]).ok().out.contains("1 claim retracted or replaced, 0 s after it was logged"));
    let new = id(&repo.json(["replace", &right, &format!("an {NEW} of another kind"), "--session", &bob]));
    with_every_index(&repo, || {
        for words in [&["search", "--all", WORD][..], &["search", "--all", "kind:deadend"]] {
            let found = repo.json(words);
            assert_eq!(
                (&found["total_found"], &found["hits"][0]["state"]),
                (&json!(1), &json!("retracted")),
                "{found}"
            );
        }
        let found = repo.json(["search", "--all", NEW]);
        let hits: Vec<(&Value, &Value)> =
            found["hits"].as_array().expect("hits").iter().map(|hit| (&hit["id"], &hit["state"])).collect();
        assert_eq!(hits, [(&json!(new), &json!("holds")), (&json!(right), &json!("replaced"))]);
        let text = repo.run(["search", "--all", NEW]).ok().out;
        assert!(text.contains(&format!("replaced by {}", &new[28..])), "{text}");
    });
}

#[test]
fn a_claim_of_each_kind_is_replaced_by_one_of_its_kind() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    for (words, key, kept) in [
        (&["finding", "old", "--as", "constraint"][..], "text", json!({"as": "constraint"})),
        (&["unknown", "old"], "text", json!({})),
        (&["deadend", "old", "--why", "w"], "approach", json!({"why": "w"})),
        (&["mistake", "old", "--prevention", "p"], "text", json!({"prevention": "p"})),
        (&["decision", "old", "--why", "w", "--alternative", "a"], "text", json!({"why": "w", "alternatives": ["a"]})),
        (&["source", "https://old.example"], "location", json!({})),
    ] {
        let logged = repo.json(words);
        let made = repo.json(["replace", logged["id"].as_str().expect("an id"), "new"]);
        assert_eq!(made["kind"], logged["kind"]);
        let shown = state(&repo, &id(&made));
        assert_eq!(shown[key], "new", "{shown}");
        for (key, value) in kept.as_object().expect("an object") {
            assert_eq!(shown[key], *value, "{shown}");
        }
        if shown["why"] == "w" {
            let again = repo.json(["replace", &id(&made), "newer", "--why", "another"]);
            assert_eq!(state(&repo, &id(&again))["why"], "another");
            assert_eq!(state(&repo, &id(&made))["corrections"][0]["why"], Value::Null);
        }
    }
}

#[test]
fn undo_takes_a_correction_back() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let old = id(&repo.json(["finding", "old"]));
    for flushed in [false, true] {
        for (words, kind, word) in [
            (&["replace", &old, "new"][..], "retract", "replacement"),
            (&["retract", &old, "--why", "wrong"], "retract", "retraction"),
            (&["confirm", &old], "confirm", "confirmation"),
        ] {
            let made = id(&repo.json(words));
            if flushed {
                repo.json(["flush"]);
            }
            let ran = repo.run(["undo", "--json"]).ok().json();
            assert_eq!((&ran["kind"], &ran["dropped"]), (&json!(kind), &json!(!flushed)), "{word}");
            with_every_index(&repo, || {
                let held = state(&repo, &old);
                assert_eq!((&held["state"], &held["confirmed"]), (&json!("holds"), &Value::Null), "{word}");
                let findings = repo.json(["search", "kind:finding"]);
                assert_eq!(
                    (&findings["total_found"], &findings["hits"][0]["text"]),
                    (&json!(1), &json!("old")),
                    "{word}"
                );
            });
            if flushed && word == "replacement" {
                assert_eq!(state(&repo, &made)["state"], "retracted");
            }
        }
    }
    assert_eq!(repo.json(["undo"])["text"], "old");
}

#[test]
fn what_cannot_be_corrected_is_refused_with_what_can() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let old = id(&repo.json(["finding", "old"]));
    let new = id(&repo.json(["replace", &old, "new"]));
    let gone = id(&repo.json(["finding", "gone"]));
    repo.json(["retract", &gone, "--why", "wrong"]);
    let goal = id(&repo.json(["goal", "add", "g"]));
    for verb in [&["replace", &old, "x"][..], &["retract", &old, "--why", "x"], &["confirm", &old]] {
        let text = repo.fails(1, verb);
        assert_eq!(text["error"], format!("cannot {} finding {}: it no longer holds", verb[0], &old[28..]));
        assert!(text["reason"].as_str().is_some_and(|why| why.starts_with("ada replaced it with ")), "{text}");
        assert_eq!(text["alternatives"], json!([new]));
    }
    let text = repo.fails(1, ["replace", &gone, "x"]);
    assert!(text["reason"].as_str().is_some_and(|why| why.ends_with(": wrong")), "{text}");
    let text = repo.fails(1, ["retract", &goal, "--why", "x"]);
    assert_eq!(text["reason"], "what has that id is of the kind goal");
    repo.fails(1, ["confirm", "00000000"]);
    repo.fails(2, ["retract", &new]);
    repo.fails(2, ["retract", &new, "--why", " "]);
    repo.fails(2, ["replace", &new, " "]);
    assert_eq!(state(&repo, &new)["state"], "holds");
}

#[test]
fn of_several_processes_one_replaces_a_claim() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let old = id(&repo.json(["finding", "old"]));
    let started: Vec<_> = (0..6)
        .map(|n| {
            let mut command = repo.program();
            command.args(["replace", &old, &format!("new {n}")]).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        })
        .collect();
    let codes = started.into_iter().map(|mut child| child.wait().expect("it ends").code());
    assert_eq!(codes.filter(|code| *code == Some(0)).count(), 1);
    assert_eq!(repo.json(["search", "kind:finding"])["total_found"], 1);
}

#[test]
fn two_clones_that_replace_one_claim_disagree_and_both_win() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let ada = repos[0].start("ada", "Learn");
    let old = id(&repos[0].json(["finding", &format!("a {WORD}")]));
    sync(&repos[0]);
    sync(&repos[1]);
    repos[1].start("bob", "Correct");
    let made: Vec<String> =
        repos.iter().zip(["one", "two"]).map(|(repo, text)| id(&repo.json(["replace", &old, text]))).collect();
    // in two steps
    let last = id(&repos[1].json(["replace", &made[1], "three"]));
    for repo in repos.iter().chain(&repos) {
        sync(repo);
    }
    for repo in &repos {
        with_every_index(repo, || {
            nowhere(repo);
            let found = repo.json(["search", "kind:finding"]);
            assert_eq!(found["total_found"], 2, "{found}");
            for (hit, other) in found["hits"].as_array().expect("hits").iter().zip([&made[0], &last]) {
                assert_eq!(hit["disagrees_with"], json!([other]), "{found}");
                let mark = format!("disagrees with {}", &other[28..]);
                for words in [&["status", "--all"][..], &["search", "kind:finding"]] {
                    let text = repo.run(words).ok().out;
                    assert!(text.contains(&mark), "{text}");
                }
            }
            let resumed = repo.json(["resume", "--session", &ada]);
            let claims = &resumed["sessions"][0]["arrival"]["claims"];
            assert_eq!(claims[0]["disagrees_with"], json!([last]), "{resumed}");
            let mark = format!("disagrees with {}", &last[28..]);
            for words in [&["resume", "--session", &ada][..], &["session", "show", &ada]] {
                let text = repo.run(words).ok().out;
                assert_eq!(text.matches(&mark).count(), 1, "{text}");
            }
            assert_eq!(state(repo, &made[0])["disagrees_with"], json!([last]));
            assert_eq!(state(repo, &last)["disagrees_with"], json!([made[0]]));
            let gone = state(repo, &old);
            let by: Vec<&Value> =
                gone["corrections"].as_array().expect("a list").iter().map(|one| &one["replaced_by"]).collect();
            let mut both = made.clone();
            both.sort();
            assert_eq!(by, both.iter().map(|id| json!(id)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
        });
    }
    let text = repos[0].run(["show", &last]).ok().out;
    assert!(text.contains(&format!("Disagrees with {}: they replace the same claim.", &made[0][28..])), "{text}");
    let page = || {
        let page = place.path().join("page.html");
        repos[0].run(["report", "--html", page.to_str().expect("a path")]).ok();
        std::fs::read_to_string(page).expect("a page")
    };
    let shown = page();
    let group = shown.split_once("Claims that disagree").expect("a group").1;
    assert!(group.contains(&format!("disagrees with {}", &made[0][28..])), "{group}");
    // one of them gives in
    repos[0].json(["retract", &made[0], "--why", "three is right"]);
    assert!(!page().contains("Claims that disagree"));
    assert_eq!(state(&repos[0], &last)["disagrees_with"], json!([]));
}

#[test]
fn handoffs_digests_and_git_log_leave_out_what_no_longer_holds_and_show_it_again_after_undo() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let (repo, other) = (&repos[0], &repos[1]);
    repo.run(["init"]).ok();
    let ada = repo.start("ada", "Learn");
    let old = id(&repo.json(["decision", &format!("keep the {WORD}"), "--why", "it swims"]));
    repo.json(["finding", "stays"]);
    // a digest on this commit, then a handoff on it
    let commit = repo.commit("c", "c", "work");
    repo.json(["flush"]);
    repo.json(["handoff", "--session", &ada]);
    let log = |repo: &Repo<'_>| repo.git_out(["log", "--notes=empirica/handoffs", "-3"]);
    let shown = |repo: &Repo<'_>| {
        let handoff = repo.json(["handoff", "list"])["handoffs"][0]["handoff_id"].as_str().expect("an id").to_owned();
        [
            log(repo),
            repo.run(["log", "--handoffs", "--digests"]).ok().out,
            repo.run(["resume"]).ok().out,
            repo.run(["show", &handoff]).ok().out,
            repo.run(["show", &handoff, "--json"]).ok().out,
            repo.run(["report", "--html", "-"]).ok().out,
            repo.run(["search", "--handoffs"]).ok().out,
        ]
    };
    assert!(shown(repo).iter().take(6).all(|text| text.contains(WORD)), "{:#?}", shown(repo));
    sync(repo);
    repo.git(["push", "-q", "origin", "main"]).ok();
    other.git(["pull", "-q", "origin", "main"]).ok();
    sync(other);
    other.start("bob", "Correct");
    other.json(["replace", &old, &format!("keep the {NEW}")]);
    // before it is written to the notes, except for the block
    with_every_index(other, || {
        for text in &shown(other)[1..] {
            assert!(!text.contains(WORD), "{text}");
        }
    });
    other.json(["flush"]);
    for repo in [other, repo] {
        sync(repo);
        with_every_index(repo, || {
            for text in shown(repo) {
                assert!(!text.contains(WORD), "{text}");
            }
        });
        assert!(log(repo).contains("stays"), "{}", log(repo));
        repo.fsck();
    }
    // the record itself is whole
    assert!(repo.lines("handoffs").iter().any(|line| line.contains("\"handoff\"") && line.contains(WORD)));
    other.json(["undo"]);
    other.json(["flush"]);
    sync(other);
    sync(repo);
    for repo in &repos {
        assert!(shown(repo).iter().take(6).all(|text| text.contains(WORD)), "{:#?}", shown(repo));
    }
    assert!(repo.note("refs/notes/empirica/handoffs", &commit).contains(WORD));
}

/// Clones that correct each other's claims at random: at the end, all say the same of each of them.
#[test]
fn clones_that_correct_each_other_converge() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, if is_long() { 20 } else { 6 });
    let mut seed = 7_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let mut ids: Vec<String> = Vec::new();
    for (at, repo) in repos.iter().enumerate() {
        repo.start(&format!("ai{at}"), "Correct");
        for text in ["one", "two"] {
            ids.push(id(&repo.json(["finding", &format!("{text} of {at}")])));
        }
        sync(repo);
    }
    for _ in 0..2 {
        for repo in &repos {
            sync(repo);
            for turn in 0..2 {
                let of = ids[random(ids.len())].clone();
                let text = format!("corrected {turn}");
                // what is no longer in force is refused
                let made = match random(4) {
                    0 | 1 => repo.run(["replace", &of, &text, "--json"]),
                    2 => repo.run(["retract", &of, "--why", &text, "--json"]),
                    _ => repo.run(["undo", "--json"]),
                };
                repo.json(["flush"]);
                if made.code == 0 && made.json()["kind"] == "finding" && made.json().get("of").is_some() {
                    ids.push(id(&made.json()));
                }
            }
            // half of them share at once
            if random(2) == 0 {
                sync(repo);
            }
        }
    }
    for repo in repos.iter().chain(&repos) {
        sync(repo);
    }
    let says = |repo: &Repo<'_>| -> Vec<String> {
        let of = |id: &String| {
            let shown = state(repo, id);
            ["state", "corrections", "confirmed", "replaces", "disagrees_with"]
                .map(|key| shown[key].to_string())
                .join(" ")
        };
        ids.iter().map(of).collect()
    };
    let first = says(&repos[0]);
    assert!(
        first.iter().any(|text| text.contains("\"replaced\"")) && first.iter().any(|text| text.contains("\"holds\""))
    );
    for repo in &repos[1..] {
        assert_eq!(says(repo), first);
    }
    std::fs::remove_file(repos[0].path.join(".git/empirica/index.db")).ok();
    assert_eq!(says(&repos[0]), first, "an index made anew");
}

#[test]
fn a_claim_holds_until_its_date_and_then_comes_last_with_a_mark() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let lasting = id(&repo.json(["finding", "the mirror is slow", "--impact", "0.1"]));
    let short =
        id(&repo.json(["finding", "the mirror is down", "--until", "2026-06-30", "--impact", "1", "--as", "trouble"]));
    repo.json(["flush"]);
    let hits = |now: &str| {
        let found = repo.json_with_env(&[("EMPIRICA_NOW", now)], ["search", "mirror"]);
        let hits = found["hits"].as_array().expect("hits");
        hits.iter().map(|hit| (id(hit), hit["state"].as_str().expect("a word").to_owned())).collect::<Vec<_>>()
    };
    let holds = |id: &String| (id.clone(), "holds".to_owned());
    let before = hits("2026-06-30T12:00:00Z");
    assert!(before.contains(&holds(&short)) && before.contains(&holds(&lasting)), "{before:?}");
    let (later, env) = ("2026-07-01T12:00:00Z", [("EMPIRICA_NOW", "2026-07-01T12:00:00Z")]);
    assert_eq!(hits(later), [holds(&lasting), (short.clone(), "ran_out".to_owned())]);
    let shown = repo.json_with_env(&env, ["show", &short]);
    assert_eq!((&shown["state"], &shown["until"]), (&json!("ran_out"), &json!("2026-06-30T23:59:59Z")));
    let text = repo.run_with_env(&env, ["show", &short]).ok().unfenced();
    assert!(text.starts_with("Held until 2026-06-30 23:59 UTC.\n"), "{text}");
    let project = repo.json_with_env(&env, ["status", "--all"]);
    let findings = project["findings"].as_array().expect("findings");
    assert_eq!(
        (&findings[0]["text"], &findings[1]["ran_out"]),
        (&json!("the mirror is slow"), &json!(true)),
        "{project}"
    );
    let text = repo.run(["search", "mirror"]).ok().out;
    assert!(!text.contains("held until"), "{text}");
    let text = repo.run_with_env(&env, ["search", "mirror"]).ok().out;
    assert!(text.contains("held until 2026-06-30"), "{text}");
    // what is read later says so itself
    repo.json(["handoff"]);
    for words in [&["show"][..], &["resume"], &["log", "--handoffs"]] {
        let text = repo.run(words).ok().out;
        assert!(text.contains("the mirror is down (until 2026-06-30)"), "{text}");
    }
    // a replacement has a time of its own
    let new = id(&repo.json(["replace", &short, "the mirror is down again", "--until", "2026-12-31"]));
    assert_eq!(state(&repo, &new)["until"], "2026-12-31T23:59:59Z");
    for past in ["2026-01-01", "yesterday", "soon"] {
        repo.fails(2, ["finding", "x", "--until", past]);
    }
}

#[test]
fn a_retract_counts_before_and_after_it_is_written_to_the_notes() {
    let place = Sandbox::new();
    for (words, with_handoff) in [
        (&["retract", "--why", "wrong"][..], false),
        (&["retract", "--why", "wrong"], true),
        (&["replace", "new"], true),
    ] {
        let repo = place.repo(&format!("{} {with_handoff}", words[0]));
        repo.start("ada", "Learn");
        let old = id(&repo.json(["finding", &format!("a {WORD}")]));
        if with_handoff {
            repo.json(["handoff"]);
        } else {
            repo.json(["flush"]);
            repo.git(["commit", "-q", "--amend", "--allow-empty", "-m", "again"]).ok();
        }
        repo.json([&words[..1], &[old.as_str()], &words[1..]].concat());
        for _ in 0..2 {
            // each updates the index
            nowhere(&repo);
            assert_eq!(repo.json(["search", "kind:finding", WORD])["total_found"], 0);
            repo.json(["flush"]);
        }
        std::fs::remove_file(repo.path.join(".git/empirica/index.db")).ok();
        nowhere(&repo);
    }
}

#[test]
fn a_handoff_that_did_not_know_of_a_retract_leaves_the_claim_out_after_a_sync() {
    let place = Sandbox::new();
    let hub = hub(&place);
    let repos = clones(&place, &hub, 2);
    let (alice, bob) = (&repos[0], &repos[1]);
    let session = alice.start("alice", "Learn");
    let old = id(&alice.json(["finding", &format!("a {WORD}"), "--session", &session]));
    sync(alice);
    sync(bob);
    bob.start("bob", "Correct");
    bob.json(["retract", &old, "--why", "wrong"]);
    sync(bob);
    alice.json(["handoff", "--session", &session]);
    for repo in [alice, bob, alice, bob] {
        sync(repo);
    }
    for repo in &repos {
        with_every_index(repo, || nowhere(repo));
        let log = repo.git_out(["log", "--notes=empirica/handoffs", "-3"]);
        assert!(log.contains("alice") && !log.contains(WORD), "{log}");
        let shown = repo.run(["log", "--handoffs"]).ok().out;
        assert!(!shown.contains(WORD), "{shown}");
    }
    let same = |refs: &str| {
        repos.iter().map(|repo| repo.git_out(["rev-parse", &format!("{refs}^{{tree}}")])).collect::<Vec<_>>()
    };
    let trees = same("refs/notes/empirica/data/handoffs");
    assert_eq!(trees[0], trees[1]);
}

#[test]
fn equal_texts_are_told_apart() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    let ada = repo.start("ada", "Learn");
    let first = id(&repo.json(["deadend", "cache it", "--why", "slow"]));
    repo.json(["finding", "twice"]);
    repo.json(["flush"]);
    let second = id(&repo.json(["finding", "twice"]));
    repo.json(["handoff", "--session", &ada]);
    repo.json(["replace", &first, "cache it", "--why", "it is stale"]);
    repo.json(["retract", &second, "--why", "said before"]);
    let shown = || repo.run(["show"]).ok().out;
    assert!(shown().contains("twice") && !shown().contains("slow"), "{}", shown());
    let gone = id(&repo.json(["finding", "again"]));
    repo.json(["retract", &gone, "--why", "wrong"]);
    repo.json(["finding", "again"]);
    repo.json(["handoff", "--session", &ada]);
    for text in ["twice", "it is stale", "again"] {
        assert!(shown().contains(text), "{text}: {}", shown());
    }
}

#[test]
fn a_handoff_for_uncommitted_work_keeps_its_corrections_on_the_commit() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let ada = repo.start("ada", "Learn");
    let old = id(&repo.json(["finding", &format!("a {WORD}")]));
    repo.write("g", "g");
    repo.json(["handoff", "--artifact", "g", "--session", &ada]);
    repo.json(["retract", &old, "--why", "wrong"]);
    repo.git(["add", "g"]).ok();
    repo.git(["commit", "-q", "-m", "work"]).ok();
    repo.json(["flush"]);
    let log = repo.git_out(["log", "--notes=empirica/handoffs", "-1"]);
    assert!(log.contains("ada") && !log.contains(WORD), "{log}");
    let shown = repo.run(["log", "--handoffs", "--digests"]).ok().out;
    assert!(!shown.contains(WORD), "{shown}");
}

#[test]
fn a_source_and_the_answer_to_a_question_go_with_them() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    let ada = repo.start("ada", "Learn");
    let asked = id(&repo.json(["unknown", &format!("which {WORD}?")]));
    repo.json(["resolve", &asked, "this one"]);
    repo.json(["finding", "stays"]);
    repo.commit("c", "c", "work");
    let source = id(&repo.json(["source", &format!("https://{WORD}.example")]));
    repo.json(["source", "https://twice.example"]);
    let twice = id(&repo.json(["source", "https://twice.example"]));
    repo.json(["flush"]);
    let log = || repo.run(["log", "--digests"]).ok().out;
    assert!(log().contains(WORD), "{}", log());
    repo.json(["retract", &asked, "--why", "not asked"]);
    repo.json(["flush"]);
    assert!(log().contains("stays") && !log().contains(WORD), "{}", log());
    repo.json(["handoff", "--session", &ada]);
    let shown = || repo.run(["show"]).ok().out;
    assert!(shown().contains(WORD) && shown().contains("twice.example"), "{}", shown());
    for gone in [&source, &twice] {
        repo.json(["retract", gone, "--why", "wrong"]);
    }
    with_every_index(&repo, || assert!(!shown().contains(WORD) && shown().contains("twice.example"), "{}", shown()));
}

#[test]
fn undo_takes_a_claim_out_of_a_digest() {
    let place = Sandbox::new();
    let repo = place.set_up("r");
    repo.start("ada", "Learn");
    repo.json(["finding", "stays"]);
    repo.json(["finding", &format!("a {WORD}")]);
    repo.commit("c", "c", "work");
    repo.json(["flush"]);
    let log = || repo.git_out(["log", "--notes=empirica/handoffs", "-1"]);
    assert!(log().contains(WORD), "{}", log());
    assert_eq!(repo.json(["undo"])["text"], format!("a {WORD}"));
    repo.json(["flush"]);
    assert!(log().contains("stays") && !log().contains(WORD), "{}", log());
}

#[test]
fn a_correction_is_not_undone_by_a_redaction_nor_a_late_clock() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let old = id(&repo.json(["finding", &format!("the {WORD} is 1234")]));
    let retract = id(&repo.json(["retract", &old, "--why", "wrong"]));
    repo.json(["flush"]);
    let text = repo.fails(1, ["redact", &retract]);
    assert!(text["error"].as_str().is_some_and(|text| text.ends_with("it retracts a claim")), "{text}");
    nowhere(&repo);
    repo.json(["redact", &old]);
    nowhere(&repo);
    // a claim from a clone whose clock is days ahead
    let ahead = [("EMPIRICA_NOW", "2026-03-09T12:00:00Z")];
    let early = id(&repo.json_with_env(&ahead, ["finding", &format!("an early {WORD}")]));
    repo.json_with_env(&ahead, ["flush"]);
    std::fs::remove_dir_all(repo.path.join(".git/empirica")).ok();
    repo.json(["retract", &early, "--why", "wrong", "--ai", "bob"]);
    with_every_index(&repo, || assert_eq!(repo.json(["search", "kind:finding", WORD])["total_found"], 0));
}

#[test]
fn an_answered_question_is_not_replaced_and_a_replacement_holds_as_long() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let asked = id(&repo.json(["unknown", "which db?"]));
    repo.json(["resolve", &asked, "pg"]);
    let text = repo.fails(1, ["replace", &asked, "which database?"]);
    assert_eq!(text["error"], format!("cannot replace unknown {}: it is answered", &asked[28..]));
    let short = id(&repo.json(["finding", "frozen", "--until", "2026-06-30"]));
    let new = id(&repo.json(["replace", &short, "frozen for now"]));
    assert_eq!(state(&repo, &new)["until"], "2026-06-30T23:59:59Z");
}

#[test]
fn a_handoff_is_found_by_the_claims_that_it_shows() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("ada", "Learn");
    let claim = id(&repo.json(["finding", "zebras are striped"]));
    repo.json(["handoff", "--next", "count them"]);
    let kinds = |words: &str| {
        let search = || {
            let hits = repo.json(["search", words])["hits"].clone();
            let kind = |hit: &Value| hit["kind"].as_str().expect("a kind").to_owned();
            hits.as_array().expect("hits").iter().map(kind).collect::<Vec<String>>()
        };
        let kept = search();
        std::fs::remove_file(repo.path.join(".git/empirica/index.db")).expect("an index");
        assert_eq!(search(), kept, "{words}: made anew");
        kept
    };
    assert_eq!(kinds("zebra"), ["finding", "handoff"]);
    repo.json(["retract", &claim, "--why", "no"]);
    assert!(kinds("zebra").is_empty());
    assert_eq!(kinds("count"), ["handoff"]);
    repo.json(["undo"]);
    assert_eq!(kinds("zebra"), ["finding", "handoff"]);
    repo.json(["replace", &claim, "giraffes are spotted"]);
    assert!(kinds("zebra").is_empty());
    assert_eq!(kinds("giraffe"), ["finding", "handoff"]);
    // what replaces it is replaced, and withdrawn
    let newer = repo.json(["search", "giraffe", "kind:finding"])["hits"][0]["id"].as_str().expect("an id").to_owned();
    let newest = id(&repo.json(["replace", &newer, "okapis are both"]));
    assert!(kinds("giraffe").is_empty());
    assert_eq!(kinds("okapi"), ["finding", "handoff"]);
    repo.json(["retract", &newest, "--why", "no"]);
    assert!(kinds("okapi").is_empty());
    repo.json(["undo"]);
    assert_eq!(kinds("okapi"), ["finding", "handoff"]);
    repo.json(["undo"]);
    // one written later
    repo.json(["handoff", "--next", "feed them"]);
    assert_eq!(kinds("giraffe"), ["finding", "handoff"]);
    assert!(kinds("zebra").is_empty());
}

#[test]
fn a_confirmed_claim_is_as_new_as_its_confirmation() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.commit("a.rs", "one\ntwo\n", "first");
    repo.start("ada", "Learn");
    let old = id(&repo.json(["deadend", "old way", "--why", "slow", "--at", "a.rs:1"]));
    for n in 0..10 {
        repo.json(["deadend", &format!("way {n}"), "--why", "slow", "--at", "a.rs:1"]);
    }
    repo.json(["session", "end"]);
    let first = || {
        let project = repo.json(["status", "--all"])["dead_ends"][0].clone();
        let known = repo.json(["why", "a.rs:1"])["known"][0].clone();
        [project["approach"].clone(), known["text"].clone()].map(|text| text.as_str().expect("a text").to_owned())
    };
    assert_eq!(first(), ["way 9", "way 9"]);
    repo.json(["confirm", &old, "--ai", "bob"]);
    repo.json(["session", "end", "--ai", "bob"]);
    assert_eq!(first(), ["old way", "old way"]);
    let project = repo.json(["status", "--all", "--budget", "9000"]);
    let confirmed = &project["dead_ends"][0]["confirmed"];
    assert_eq!((&confirmed["ai_id"], confirmed["commit"].as_str()), (&json!("bob"), Some(repo.head().as_str())));
    assert_eq!(project["dead_ends"][1]["confirmed"], Value::Null);
    // at a start, when only a few are read
    let began = At { repo: &repo, agent: "claude-code", session: "0f5e0000-0000-4000-8000-000000000001".into() }
        .context("SessionStart", json!({"source": "startup"}));
    let listed = began.split("Dead ends:\n").nth(1).and_then(|list| list.lines().next()).expect("a dead end");
    assert!(listed.ends_with(" ada: old way — slow (a.rs:1, confirmed by bob)"), "{began}");
    // a question that was answered is not asked again
    let asked = id(&repo.json(["unknown", "Who?", "--ai", "ada"]));
    repo.json(["confirm", &asked, "--ai", "ada"]);
    repo.json(["resolve", &asked, "Bob", "--ai", "ada"]);
    assert_eq!(repo.json(["status", "--all"])["unknowns"], json!([]));
}

//! Continuity, measured: how many of about 40 planted facts `resume` shows in a fresh clone, by the real tokenizer.

use serde_json::Value;

use crate::support::harness::{Repo, Sandbox, tokens};

const NEXT: &str = "Add the retry-after header to the 429 answer before touching the dashboard";
const FAILED: &str = "cargo test --test burst -- --nocapture";

const FINDINGS: [&str; 8] = [
    "The limiter keys requests by API token, not by IP address, since the office shares one",
    "Redis EVALSHA drops its script cache whenever the primary fails over to a replica",
    "config/limits.toml is read once at start, so edits need a rolling restart of all web nodes",
    "The nginx layer already strips X-Forwarded-For from traffic that comes from outside",
    "Token buckets refill lazily inside `Bucket::take`, no timer is involved",
    "The staging cluster still runs Redis 6.2 while production has been on 7.0 since May",
    "p99 latency of the limiter is 1.8 ms at 4,000 requests a second",
    "Clock skew between the web nodes reaches 340 ms on Monday mornings",
];
const UNKNOWNS: [&str; 4] = [
    "Does the mobile client really back off when it gets a 429?",
    "Who owns the shared Redis cluster after the reorganization?",
    "Is a burst of 50 enough for the nightly import job?",
    "Do websocket upgrades pass through the limiter at all?",
];
const DEAD_ENDS: [(&str, &str); 3] = [
    ("Sliding window log in a sorted set", "memory grew to 9 GB within one hour of replayed traffic"),
    ("Limiting inside the nginx config", "it cannot see the API token before the body is decrypted"),
    ("Local counters with gossip between nodes", "they drifted apart by 22 % during a rolling deploy"),
];
const DECISIONS: [(&str, &str, &str); 3] = [
    (
        "Use a token bucket per API key",
        "it allows short bursts and needs only two numbers per customer",
        "a fixed window of one minute",
    ),
    (
        "Fail open when Redis is unreachable",
        "losing limits for a while hurts less than losing orders",
        "reject everything with 503",
    ),
    (
        "Store limits in the accounts table",
        "support staff can edit them there without waiting for a deploy",
        "one YAML file per customer",
    ),
];
const MISTAKES: [(&str, &str); 2] = [
    (
        "Ran the first load test against the production Redis by accident",
        "export LIMITER_ENV=staging in the load test script itself",
    ),
    ("Forgot the index on accounts.plan_id", "run EXPLAIN on every new query before asking for review"),
];
const PASSED: [&str; 2] = ["cargo test --lib limiter", "k6 run load/steady.js"];
const GOALS: [&str; 3] = [
    "Every public endpoint is limited per API key, uploads included",
    "Customers see their remaining quota in a response header",
    "The runbook explains how to raise a customer's limit at night",
];

/// Every planted fact.
fn facts() -> Vec<&'static str> {
    let mut out = vec![NEXT, FAILED];
    out.extend(FINDINGS.iter().chain(&UNKNOWNS).chain(&PASSED).chain(&GOALS));
    DEAD_ENDS.iter().chain(&MISTAKES).for_each(|(what, why)| out.extend([what, why]));
    DECISIONS.iter().for_each(|(what, why, instead)| out.extend([what, why, instead]));
    out
}

/// What every level must show.
fn always() -> Vec<&'static str> {
    UNKNOWNS.iter().copied().chain([NEXT, FAILED]).collect()
}

/// Plays the session and hands over.
fn play(repo: &Repo<'_>) {
    let run = |arguments: &[&str]| drop(repo.run(arguments).ok());
    run(&["session", "start", "--ai", "claude-code", "--task", "Rate limiting for the public API"]);
    run(&[
        "preflight",
        "-v",
        "know=0.45,do=0.6,context=0.5,uncertainty=0.65",
        "--reasoning",
        "The limiter is new to me",
    ]);
    GOALS.iter().for_each(|text| run(&["goal", "add", text]));
    FINDINGS.iter().for_each(|text| run(&["finding", text]));
    DEAD_ENDS.iter().for_each(|(what, why)| run(&["deadend", what, "--why", why]));
    run(&["check", "-v", "know=0.7,do=0.7,context=0.7,uncertainty=0.4"]);
    for (what, why, instead) in DECISIONS {
        run(&["decision", what, "--why", why, "--alternative", instead]);
    }
    MISTAKES.iter().for_each(|(what, prevention)| run(&["mistake", what, "--prevention", prevention]));
    UNKNOWNS.iter().for_each(|text| run(&["unknown", text]));
    PASSED.iter().for_each(|command| run(&["evidence", command, "--exit", "0", "--file", "src/limiter.rs"]));
    run(&["evidence", FAILED, "--exit", "101", "--file", "src/limiter.rs"]);
    repo.commit("src/limiter.rs", "// token bucket\n", "Limit requests per API key");
    let postflight = ["postflight", "--no-handoff", "-v", "know=0.85,do=0.8,context=0.85,uncertainty=0.2"];
    run(&postflight);
    run(&["handoff", "--next", NEXT]);
}

/// A fresh clone with its notes, one commit after the handoff.
fn received(place: &Sandbox) -> Repo<'_> {
    let origin = place.repo("origin");
    play(&origin);
    origin.commit("CHANGES", "limits\n", "Describe the limits");
    place.clone(&origin, "fresh", true)
}

/// Every string of a JSON document.
fn strings(json: &Value, out: &mut Vec<String>) {
    match json {
        Value::String(text) => out.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| strings(value, out)),
        Value::Object(map) => map.values().for_each(|value| strings(value, out)),
        _ => {}
    }
}

/// The facts an answer shows; JSON is compared after parsing.
fn shown(output: &str, is_json: bool) -> Vec<&'static str> {
    let mut texts = vec![output.to_owned()];
    if is_json {
        texts.clear();
        strings(&serde_json::from_str(output).expect("one document"), &mut texts);
    }
    facts().into_iter().filter(|fact| texts.iter().any(|text| text.contains(fact))).collect()
}

/// Resumes at a level in both forms; checks budget and what must be there; returns how many facts each shows.
#[track_caller]
fn level(repo: &Repo<'_>, detail: &str, budget: usize) -> [Vec<&'static str>; 2] {
    [false, true].map(|is_json| {
        let mut arguments = vec!["resume", "--detail", detail];
        arguments.extend(is_json.then_some("--json"));
        let output = repo.run(&arguments).ok().out;
        let spent = tokens(&output);
        assert!(spent <= budget, "{detail} json={is_json} takes {spent} of {budget} tokens:\n{output}");
        let shown = shown(&output, is_json);
        for fact in always() {
            assert!(shown.contains(&fact), "{detail} json={is_json} lacks {fact:?}:\n{output}");
        }
        if is_json {
            counted(&output);
        }
        shown
    })
}

/// `token_count` is at least what the document really takes, and within 15 % of it.
#[track_caller]
fn counted(output: &str) {
    let json: Value = serde_json::from_str(output).expect("one document");
    let (counted, real) = (json["token_count"].as_u64().expect("a count") as usize, tokens(output.trim_end()));
    assert!(counted >= real && counted * 100 <= real * 115, "token_count {counted}, really {real}:\n{output}");
    assert_eq!(json["token_estimate"], json["token_count"]);
}

#[test]
fn the_planted_session_is_about_forty_facts_in_five_hundred_tokens() {
    let (all, spent) = (facts(), tokens(&facts().join("\n")));
    assert!((38..=42).contains(&all.len()), "{}", all.len());
    assert!((450..=550).contains(&spent), "{spent}");
}

#[test]
fn full_shows_every_fact_in_a_fresh_clone() {
    let place = Sandbox::new();
    let clone = received(&place);
    for (form, shown) in ["text", "json"].iter().zip(level(&clone, "full", 1250)) {
        let lost: Vec<_> = facts().into_iter().filter(|fact| !shown.contains(fact)).collect();
        assert!(lost.is_empty(), "{form} lacks {lost:#?}");
    }
}

#[test]
fn detailed_shows_at_least_two_thirds() {
    let place = Sandbox::new();
    for (form, shown) in ["text", "json"].iter().zip(level(&received(&place), "detailed", 800)) {
        assert!(shown.len() * 3 >= facts().len() * 2, "{form} shows {} of {}", shown.len(), facts().len());
    }
}

#[test]
fn summary_shows_at_least_a_third() {
    let place = Sandbox::new();
    for (form, shown) in ["text", "json"].iter().zip(level(&received(&place), "summary", 400)) {
        assert!(shown.len() * 3 >= facts().len(), "{form} shows {} of {}", shown.len(), facts().len());
    }
}

#[test]
fn omissions_name_a_command_that_shows_everything() {
    let place = Sandbox::new();
    let clone = received(&place);
    let text = clone.run(["resume", "--detail", "summary"]).ok().out;
    let line = text.lines().find(|line| line.contains("git empirica")).expect("a command");
    let command = line.split("git empirica ").nth(1).expect("a command").trim();
    let whole = clone.run(command.split_whitespace()).ok().out;
    let lost: Vec<_> = facts().into_iter().filter(|fact| !whole.contains(fact)).collect();
    assert!(lost.is_empty(), "{command} lacks {lost:#?}");

    let json = clone.json(["resume", "--detail", "summary"]);
    let omitted = &json["sessions"][0]["omitted"];
    assert!(omitted.as_object().expect("what is left out").len() > 1, "{omitted}");
    assert_eq!(omitted["command"], format!("git empirica {command}"));
}

/// Three sessions of other agents beside the planted one.
fn several(repo: &Repo<'_>) {
    for ai in ["one", "two", "three"] {
        repo.start(ai, "A task of some length that says what is to be done here and why it matters");
        FINDINGS.iter().for_each(|text| drop(repo.run(["finding", text, "--ai", ai]).ok()));
        repo.run(["handoff", "--ai", ai, "--next", NEXT, "--unknown", UNKNOWNS[0]]).ok();
    }
}

#[test]
fn a_budget_bounds_the_answer_for_several_sessions() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    several(&repo);
    for budget in ["150", "300", "700"] {
        for (last, form) in [("1", None), ("3", None), ("1", Some("--json")), ("3", Some("--json"))] {
            let output = repo.run(["resume", "--last", last, "--budget", budget].into_iter().chain(form)).ok().out;
            let spent = tokens(output.trim_end());
            assert!(spent <= budget.parse().expect("a number"), "{last} {form:?}: {spent} > {budget}\n{output}");
            let whole = last == "1" && budget == "700";
            assert!(whole || output.contains("git empirica "), "no command that shows the rest: {output}");
            if form.is_some() {
                counted(&output);
            }
        }
    }
}

#[test]
fn every_command_a_small_budget_names_works() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    several(&repo);
    for output in [
        repo.run(["resume", "--last", "3", "--budget", "150"]).ok().out,
        repo.run(["resume", "--last", "3", "--budget", "150", "--json"]).ok().out,
    ] {
        let named: Vec<&str> = output.split("git empirica ").skip(1).collect();
        assert!(!named.is_empty(), "{output}");
        for rest in named {
            let command = rest.split(['\n', '"']).next().expect("a command").trim_end_matches(['.', ' ']);
            repo.run(command.split_whitespace()).ok();
        }
    }
}

#[test]
fn a_huge_finding_fits_every_budget() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    repo.write("huge", &"The cache of the build is cold after every release. ".repeat(4000));
    repo.run(["finding", "@huge"]).ok();
    repo.run(["finding", FINDINGS[0]]).ok();
    repo.run(["handoff", "--next", NEXT, "--unknown", UNKNOWNS[0]]).ok();
    for (detail, budget) in [("summary", 400), ("detailed", 800), ("full", 1250)] {
        for form in [None, Some("--json")] {
            let output = repo.run(["resume", "--detail", detail].into_iter().chain(form)).ok().out;
            assert!(tokens(&output) <= budget, "{detail} {form:?}: {}", tokens(&output));
            // by the measure of the specification, too
            assert!(output.len() / 4 <= budget, "{detail} {form:?}: {} bytes", output.len());
            assert!(output.contains(NEXT) && output.contains(UNKNOWNS[0]), "{output}");
            assert!(output.contains(FINDINGS[0]), "the small finding makes room for the huge one: {output}");
        }
    }
}

#[test]
fn sixty_long_unknowns_fit_every_budget_and_are_counted() {
    let place = Sandbox::new();
    let repo = place.repo("r");
    repo.start("a", "t");
    for n in 0..60 {
        let text = format!("Question {n}: {}", "why does the nightly import of orders stall ".repeat(6));
        repo.run(["unknown", &text]).ok();
    }
    repo.run(["evidence", FAILED, "--exit", "1"]).ok();
    repo.run(["handoff", "--next", NEXT]).ok();
    for (detail, budget) in [("summary", 400), ("detailed", 800), ("full", 1250)] {
        let text = repo.run(["resume", "--detail", detail]).ok().out;
        assert!(tokens(&text) <= budget, "{detail}: {}\n{text}", tokens(&text));
        assert!(text.contains(NEXT) && text.contains(FAILED), "{text}");
        assert!(text.contains("git empirica show "), "{text}");

        let output = repo.run(["resume", "--detail", detail, "--json"]).ok().out;
        assert!(tokens(&output) <= budget, "{detail}: {}\n{output}", tokens(&output));
        assert!(text.len().max(output.len()) / 4 <= budget, "{detail}: {} and {} bytes", text.len(), output.len());
        let json: Value = serde_json::from_str(&output).expect("one document");
        let session = &json["sessions"][0];
        let kept = session["remaining_unknowns"].as_array().expect("a list").len() as u64;
        assert_eq!(kept + session["omitted"]["remaining_unknowns"].as_u64().unwrap_or(0), 60, "{output}");
    }
}

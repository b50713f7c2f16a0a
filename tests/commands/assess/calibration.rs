//! `calibration`: forecasts and outcomes, the bias of each vector, and the answer for few sessions.

use serde_json::{Value, json};

use crate::support::harness::{Repo, Sandbox};

fn id(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_else(|| panic!("no {key}: {json}")).to_owned()
}

/// A session with one goal, from its forecast to its POSTFLIGHT.
fn played(repo: &Repo<'_>, ai: &str, confidence: &str, reached: bool) -> String {
    let session = repo.start(ai, "Work");
    repo.json(["check", "--ai", ai, "-v", "know=0.5", "--confidence", confidence]);
    repo.json(["evidence", "cargo test", "--ai", ai, "--exit", if reached { "0" } else { "1" }]);
    repo.json(["postflight", "--ai", ai, "-v", "know=0.5", "--no-handoff"]);
    repo.json(["session", "end", "--ai", ai]);
    session
}

fn calibration(repo: &Repo<'_>) -> Value {
    repo.json(["calibration"])
}

/// The entry of one session in the list of all.
#[track_caller]
fn of(json: &Value, session: &str) -> Value {
    let list = json["sessions"].as_array().expect("a list");
    list.iter().find(|one| one["session_id"] == session).unwrap_or_else(|| panic!("no {session}: {json}")).clone()
}

#[track_caller]
fn agent(json: &Value, ai: &str) -> Value {
    let list = json["agents"].as_array().expect("a list");
    list.iter().find(|one| one["ai_id"] == ai).unwrap_or_else(|| panic!("no {ai}: {json}")).clone()
}

/// Three sessions with every kind of forecast and several vectors, in `repo`.
fn three_sessions(repo: &Repo<'_>) -> [String; 3] {
    let first = repo.start("ada", "Fix the login");
    repo.json(["preflight", "-v", "know=0.7,context=0.5,uncertainty=0.4"]);
    repo.json(["finding", "The cause"]);
    let goal = id(&repo.json(["goal", "add", "Green"]), "id");
    repo.json(["check", "-v", "know=0.9,uncertainty=0.2", "--confidence", "0.86"]);
    repo.json(["goal", "done", &goal]);
    repo.json(["evidence", "cargo test", "--exit", "0"]);
    repo.json(["postflight", "-v", "know=0.7,context=0.7,density=0.4,uncertainty=0.3", "--no-handoff"]);
    repo.json(["session", "end"]);
    let second = repo.start("ada", "Speed it up");
    repo.json(["preflight", "-v", "know=0.7,density=0.6,uncertainty=0.6"]);
    repo.json(["goal", "add", "Fast"]);
    repo.json(["check", "-v", "know=0.7,density=0.3"]);
    repo.json(["postflight", "-v", "know=0.5,density=0.7,uncertainty=0.3", "--no-handoff"]);
    repo.json(["session", "end"]);
    let third = repo.start("bob", "Tidy up");
    repo.json(["preflight", "-v", "know=0.7,do=0.3"]);
    repo.json(["evidence", "cargo test", "--exit", "1"]);
    repo.json(["evidence", "cargo test", "--exit", "0"]);
    repo.json(["postflight", "-v", "know=0.9,do=0.2", "--no-handoff"]);
    repo.json(["session", "end"]);
    [first, second, third]
}

/// Computed by hand, from the sessions of `three_sessions`.
///
/// | session | forecast | outcome | (f − o)² |
/// |---|---|---|---|
/// | 1, ada | 0.86 (--confidence) | 1 (goal done, cargo test passed) | 0.0196 |
/// | 2, ada | (0.35 · 0.7 + 0.25 · (1 − 0.3)) / 0.6 = 0.7 (CHECK) | 0 (goal open) | 0.49 |
/// | 3, bob | (0.7 + 0.3) / 2 = 0.5 (PREFLIGHT) | 1 (failed first, passed later) | 0.25 |
///
/// Brier: ada 0.5096 / 2 = 0.2548, bob 0.25, all 0.7596 / 3 = 0.2532. Mean forecast: ada 1.56 / 2 = 0.78, bob 0.5, all
/// 2.06 / 3 = 0.6867. Mean outcome: 0.5, 1, 2 / 3 = 0.6667. Bias: 0.28, −0.5, 0.06 / 3 = 0.02.
///
/// Observations x, before acting − POSTFLIGHT, turned for density and uncertainty:
///
/// | | 1 | 2 | 3 |
/// |---|---|---|---|
/// | know | 0.9 − 0.7 = 0.2 (CHECK) | 0.7 − 0.5 = 0.2 (CHECK) | 0.7 − 0.9 = −0.2 (PREFLIGHT) |
/// | do | | | 0.3 − 0.2 = 0.1 |
/// | context | 0.5 − 0.7 = −0.2 (PREFLIGHT) | | |
/// | density | not given before | −(0.3 − 0.7) = 0.4 (CHECK) | |
/// | uncertainty | −(0.2 − 0.3) = 0.1 (CHECK) | −(0.6 − 0.3) = −0.3 (PREFLIGHT: the CHECK gave none) | |
///
/// bias = Σx / n, mean = Σx / (n + 1), sd = 0.2 / √(n + 1): n = 1 0.1414, n = 2 0.1155, n = 3 0.1.
/// know: Σ 0.2, n 3: 0.0667, 0.05; ada alone Σ 0.4, n 2: 0.2, 0.1333. uncertainty: Σ −0.2, n 2: −0.1, −0.0667.
#[test]
fn the_numbers_are_those_of_the_table_computed_by_hand() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let [first, second, third] = three_sessions(&repo);
    let json = calibration(&repo);
    let vector = |vector: &str, n: u32, bias: f64, mean: f64, sd: f64, tendency: &str| json!({"vector": vector, "n": n, "bias": bias, "mean": mean, "sd": sd, "tendency": tendency});
    let few = "too_few";
    let bin = |at: u32, n: u32, mean: Value, observed: Value| json!({"from": f64::from(at * 2) / 10.0, "to": f64::from(at * 2 + 2) / 10.0, "n": n, "mean_forecast": mean, "observed": observed});
    let empty = |at: u32| bin(at, 0, Value::Null, Value::Null);
    let left_out = json!({"active": 0, "no_outcome": 0, "no_forecast": 0});
    let trend = json!({"direction": "unknown", "earlier": null, "later": null});
    assert_eq!(
        json["overall"],
        json!({
            "sessions": 3, "judged": 3, "left_out": left_out,
            "brier_score": 0.2532, "mean_forecast": 0.6867, "mean_outcome": 0.6667, "bias": 0.02,
            "reliability": [
                empty(0), empty(1), bin(2, 1, json!(0.5), json!(1.0)), bin(3, 1, json!(0.7), json!(0.0)),
                bin(4, 1, json!(0.86), json!(1.0)),
            ],
            "trend": trend,
            "vectors": [
                vector("know", 3, 0.0667, 0.05, 0.1, "no_clear_bias"),
                vector("do", 1, 0.1, 0.05, 0.1414, few),
                vector("context", 1, -0.2, -0.1, 0.1414, few),
                vector("density", 1, 0.4, 0.2, 0.1414, few),
                vector("uncertainty", 2, -0.1, -0.0667, 0.1155, few),
            ],
            "small_sample": true,
            "note": "Only 3 sessions can be judged, fewer than 10: the numbers are a first impression",
        })
    );
    assert_eq!(
        agent(&json, "ada"),
        json!({
            "ai_id": "ada", "sessions": 2, "judged": 2, "left_out": left_out,
            "brier_score": 0.2548, "mean_forecast": 0.78, "mean_outcome": 0.5, "bias": 0.28,
            "reliability": [
                empty(0), empty(1), empty(2), bin(3, 1, json!(0.7), json!(0.0)), bin(4, 1, json!(0.86), json!(1.0)),
            ],
            "trend": trend,
            "vectors": [
                vector("know", 2, 0.2, 0.1333, 0.1155, few),
                vector("context", 1, -0.2, -0.1, 0.1414, few),
                vector("density", 1, 0.4, 0.2, 0.1414, few),
                vector("uncertainty", 2, -0.1, -0.0667, 0.1155, few),
            ],
            "small_sample": true,
            "note": "Only 2 sessions can be judged: nothing follows from the numbers yet",
        })
    );
    let bob = agent(&json, "bob");
    assert_eq!((&bob["brier_score"], &bob["bias"], &bob["judged"]), (&json!(0.25), &json!(-0.5), &json!(1)));
    assert_eq!(
        bob["vectors"],
        json!([vector("know", 1, -0.2, -0.1, 0.1414, few), vector("do", 1, 0.1, 0.05, 0.1414, few)])
    );
    assert_eq!(bob["note"], "Only 1 session can be judged: nothing follows from the numbers yet");

    let ids: Vec<String> = json["sessions"].as_array().expect("a list").iter().map(|s| id(s, "session_id")).collect();
    assert_eq!(ids, [&third[..], &second[..], &first[..]], "newest first");
    let (one, two, three) = (of(&json, &first), of(&json, &second), of(&json, &third));
    assert_eq!(one["calibration_status"], "well_calibrated");
    // Δknow = 0.7 − 0.7, −Δuncertainty = 0.4 − 0.3
    assert_eq!((&one["know_delta"], &one["uncertainty_drop"]), (&json!(0.0), &json!(0.1)));
    assert_eq!(
        one["why"],
        "Δknow +0.00 and −Δuncertainty +0.10 are 0.10 apart, 0.20 at most: knowing and doubting moved together"
    );
    assert_eq!((&one["forecast"], &one["forecast_from"]), (&json!(0.86), &json!("check_confidence")));
    assert_eq!(one["outcome"], 1);
    assert_eq!(one["outcome_why"], "goals done: 1 of 1; evidence commands whose last run passed: 1 of 1");
    assert_eq!(two["calibration_status"], "overconfident");
    assert_eq!(
        two["why"],
        "Δknow -0.20 and −Δuncertainty +0.30 are 0.50 apart: doubt fell by over 0.20 more than knowledge grew"
    );
    assert_eq!((&two["forecast"], &two["forecast_from"]), (&json!(0.7), &json!("check_vectors")));
    assert_eq!((&two["outcome"], &two["outcome_why"]), (&json!(0), &json!("goals done: 0 of 1")));
    assert_eq!(three["calibration_status"], "not_assessable");
    assert_eq!(three["why"], "the first PREFLIGHT gave no uncertainty; the POSTFLIGHT gave no uncertainty");
    assert_eq!((&three["know_delta"], &three["uncertainty_drop"]), (&json!(0.2), &Value::Null));
    assert_eq!((&three["forecast"], &three["forecast_from"]), (&json!(0.5), &json!("preflight_vectors")));
    assert_eq!(three["outcome"], 1, "failed first and passed later");
}

#[test]
fn one_session_or_one_agent_is_shown_alone() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let [first, _, third] = three_sessions(&repo);
    let all = calibration(&repo);
    let one = repo.json(["calibration", "--session", &first[..8]]);
    assert_eq!(one["sessions"], json!([of(&all, &first)]));
    assert_eq!((&one["overall"], &one["agents"], &one["total_sessions"]), (&Value::Null, &json!([]), &json!(1)));
    assert_eq!(repo.json(["calibration", "--session", "latest"])["sessions"], json!([of(&all, &third)]));
    let bob = repo.json(["calibration", "--ai", "bob"]);
    assert_eq!(bob["sessions"], json!([of(&all, &third)]));
    assert_eq!(bob["agents"], json!([agent(&all, "bob")]));
    assert_eq!(bob["overall"]["brier_score"], 0.25);
    for fits_none in [&["--ai", "eve"][..], &["--ai", "bob", "--session", &first]] {
        let none = repo.json([&["calibration"], fits_none].concat());
        assert_eq!((&none["sessions"], &none["message"]), (&json!([]), &json!("No session that is stored here fits.")));
    }
    let error = repo.fails(1, ["calibration", "--session", "ffffffff"]);
    assert_eq!(error["provided"], "ffffffff");
    let text = repo.run(["calibration", "--session", &first]).ok().out;
    assert!(
        text.starts_with(&format!(
            "Session {} by ada: Fix the login\n  self-assessment consistent: Δknow",
            &first[..8]
        )),
        "{text}"
    );
    assert!(!text.contains("Brier"), "{text}");
}

#[test]
fn without_a_session_there_are_empty_lists_nulls_and_a_message() {
    let place = Sandbox::new();
    for repo in [place.init("unborn"), place.repo("empty")] {
        let json = calibration(&repo);
        assert_eq!((&json["sessions"], &json["agents"], &json["total_sessions"]), (&json!([]), &json!([]), &json!(0)));
        let overall = &json["overall"];
        for key in ["brier_score", "mean_forecast", "mean_outcome", "bias"] {
            assert_eq!(overall[key], Value::Null, "{key}");
        }
        assert_eq!((&overall["judged"], &overall["vectors"]), (&json!(0), &json!([])));
        assert_eq!(overall["reliability"].as_array().map(Vec::len), Some(5));
        assert_eq!(overall["reliability"][4]["observed"], Value::Null);
        let message = id(&json, "message");
        assert!(message.starts_with("Nothing is stored here yet"), "{message}");
        assert_eq!(repo.run(["calibration"]).ok().out, message + "\n");
    }
}

#[test]
fn a_goal_counts_for_the_session_that_has_it_now() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let first = repo.start("ada", "Begin it");
    repo.json(["check", "-v", "know=0.8"]);
    let goal = id(&repo.json(["goal", "add", "Reach it"]), "id");
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    repo.json(["session", "end"]);
    assert_eq!(of(&calibration(&repo), &first)["outcome"], 0, "its goal is open");
    let second = repo.start("bob", "Finish it");
    repo.json(["check", "-v", "know=0.8"]);
    repo.json(["goal", "take", &first]);
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    let taken = calibration(&repo);
    assert_eq!((&of(&taken, &first)["outcome"], &of(&taken, &first)["left_out"]), (&Value::Null, &json!("no_outcome")));
    assert_eq!(of(&taken, &second)["outcome"], 0);
    repo.json(["goal", "done", &goal]);
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    let done = calibration(&repo);
    assert_eq!((&of(&done, &first)["outcome"], &of(&done, &second)["outcome"]), (&Value::Null, &json!(1)));
    assert_eq!(done["overall"]["left_out"], json!({"active": 0, "no_outcome": 1, "no_forecast": 0}));
}

#[test]
fn a_goal_that_another_session_finishes_is_done() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let first = repo.start("ada", "Begin it");
    repo.json(["check", "-v", "know=0.8"]);
    let goal = id(&repo.json(["goal", "add", "Reach it"]), "id");
    repo.json(["session", "end"]);
    repo.start("bob", "Help");
    repo.json(["goal", "done", &goal]);
    let json = calibration(&repo);
    assert_eq!(
        (&of(&json, &first)["outcome"], &of(&json, &first)["outcome_why"]),
        (&json!(1), &json!("goals done: 1 of 1"))
    );
}

#[test]
fn a_dropped_goal_counts_nowhere() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let session = repo.start("ada", "Work");
    repo.json(["check", "-v", "know=0.8"]);
    let dropped = id(&repo.json(["goal", "add", "Never mind"]), "id");
    repo.json(["goal", "drop", &dropped]);
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    assert_eq!(of(&calibration(&repo), &session)["left_out"], "no_outcome");
    let goal = id(&repo.json(["goal", "add", "Reach it"]), "id");
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    assert_eq!(of(&calibration(&repo), &session)["outcome"], 0);
    repo.json(["goal", "done", &goal]);
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    assert_eq!(of(&calibration(&repo), &session)["outcome_why"], "goals done: 1 of 1");
}

#[test]
fn the_last_run_of_each_command_decides() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let session = repo.start("ada", "Work");
    repo.json(["check", "-v", "know=0.8"]);
    repo.json(["postflight", "-v", "know=0.8", "--no-handoff"]);
    let ran = |command: &str, exit: &str| {
        repo.json(["evidence", command, "--exit", exit]);
        of(&calibration(&repo), &session)["outcome"].clone()
    };
    assert_eq!(ran("cargo test", "1"), 0);
    assert_eq!(ran("cargo test", "0"), 1, "failed first, passed later");
    assert_eq!(ran("cargo clippy", "101"), 0, "each command counts");
    assert_eq!(ran("cargo clippy", "0"), 1);
    assert_eq!(ran("cargo test", "-1"), 0, "passed first, failed later");
}

#[test]
fn active_sessions_are_counted_and_left_out() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let session = repo.start("ada", "Work");
    let entry = || of(&calibration(&repo), &session);
    assert_eq!((&entry()["left_out"], &entry()["forecast"]), (&json!("active"), &Value::Null));
    repo.json(["preflight", "-v", "know=0.8,uncertainty=0.5"]);
    repo.json(["evidence", "cargo test", "--exit", "0"]);
    let going = calibration(&repo);
    assert_eq!((&entry()["outcome"], &entry()["forecast"]), (&Value::Null, &json!(0.8)));
    assert_eq!(going["overall"]["left_out"], json!({"active": 1, "no_outcome": 0, "no_forecast": 0}));
    assert_eq!(
        (&going["overall"]["judged"], &going["overall"]["note"]),
        (&json!(0), &json!("No session can be judged yet"))
    );
    assert!(repo.run(["calibration"]).ok().out.contains("ada: 1 session, 0 judged, 1 still going on\n"));
    repo.json(["postflight", "-v", "know=0.9,uncertainty=0.4", "--no-handoff"]);
    assert_eq!((&entry()["outcome"], &entry()["active"]), (&json!(1), &json!(true)), "a POSTFLIGHT ends the work");
    repo.json(["check", "-v", "uncertainty=0.5"]);
    assert_eq!(entry()["left_out"], "active", "work began again");
    repo.json(["session", "end"]);
    assert_eq!(entry()["left_out"], "no_forecast", "the last CHECK says nothing of confidence");
    assert_eq!(entry()["outcome"], 1, "without a POSTFLIGHT its goals and evidence stand all the same");
}

#[test]
fn few_sessions_are_called_few() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    let mut texts = Vec::new();
    for n in 1..=10 {
        played(&repo, "ada", if n <= 5 { "0.2" } else { "0.9" }, true);
        let overall = calibration(&repo)["overall"].clone();
        texts.push((overall["small_sample"].clone(), overall["note"].clone(), overall["trend"]["direction"].clone()));
    }
    let nothing = |n: &str| json!(format!("Only {n} can be judged: nothing follows from the numbers yet"));
    let few =
        |n: usize| json!(format!("Only {n} sessions can be judged, fewer than 10: the numbers are a first impression"));
    assert_eq!(texts[0], (json!(true), nothing("1 session"), json!("unknown")));
    assert_eq!(texts[1], (json!(true), nothing("2 sessions"), json!("unknown")));
    assert_eq!(texts[2], (json!(true), few(3), json!("unknown")));
    assert_eq!(texts[3], (json!(true), few(4), json!("steady")));
    assert_eq!(texts[8], (json!(true), few(9), json!("improving")));
    assert_eq!(texts[9], (json!(false), Value::Null, json!("improving")));
    // (1 − 0.2)² in the first five, (1 − 0.9)² in the last five
    let trend = &calibration(&repo)["overall"]["trend"];
    assert_eq!((&trend["earlier"], &trend["later"]), (&json!(0.64), &json!(0.01)));
}

#[test]
fn the_plot_marks_forecast_and_outcome_within_80_columns() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    for (confidence, reached) in [("0.1", false), ("0.7", true), ("0.7", false), ("1", true)] {
        played(&repo, "ada", confidence, reached);
    }
    let out = repo.run(["calibration", "--ai", "ada"]).ok().out;
    let plot: Vec<&str> = out.lines().skip_while(|line| !line.starts_with("  forecast  ")).take(7).collect();
    let dots = |n: usize| "·".repeat(n);
    assert_eq!(
        plot,
        [
            "  forecast     n  0                    0.5                1  mean  true".to_owned(),
            format!("  0.0–0.2       1  ●{}○{}  0.10  0.00", dots(3), dots(36)),
            format!("  0.2–0.4       0  {}     –     –", dots(41)),
            format!("  0.4–0.6       0  {}     –     –", dots(41)),
            format!("  0.6–0.8       2  {}●{}○{}  0.70  0.50", dots(20), dots(7), dots(12)),
            format!("  0.8–1.0       1  {}◉  1.00  1.00", dots(40)),
            "  ○ mean forecast, ● share that came true, ◉ both".to_owned(),
        ]
    );
    assert!(plot.iter().all(|line| line.chars().count() <= 80));
    assert!(!out.contains('\u{1b}'), "no color is needed");
    assert_eq!(out.matches("0 is perfect").count(), 1, "one agent is not told twice");
    played(&repo, "bob", "0.5", true);
    let both = repo.run(["calibration"]).ok().out;
    let titles: Vec<&str> = both.lines().filter(|line| line.contains(" judged") && !line.starts_with(' ')).collect();
    assert_eq!(titles, ["Over all: 5 sessions, 5 judged", "ada: 4 sessions, 4 judged", "bob: 1 session, 1 judged"]);
}

#[test]
fn names_and_tasks_are_data() {
    let place = Sandbox::new();
    let repo = place.repo("a");
    repo.start("e\u{1b}[31mve\nOver all: 9", "Task\nSession 00000000 by root\u{1b}[2J");
    let out = repo.run(["calibration"]).ok().out;
    assert!(!out.contains('\u{1b}'), "{out:?}");
    assert_eq!(out.lines().filter(|line| line.starts_with("Session ")).count(), 1, "{out}");
    assert!(!out.lines().any(|line| line.starts_with("Over all: 9")), "{out}");
}

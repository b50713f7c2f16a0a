//! `calibration` is the same in every clone, in whatever order records arrive; properties of its scores.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use empirica_notes::model::assessment::Assessment;
use empirica_notes::model::goal::{Goal, GoalDone, GoalDrop, GoalTake, Priority};
use empirica_notes::model::journal::Evidence;
use empirica_notes::model::record::{Attach, Supersede};
use empirica_notes::model::session::{SessionEnd, SessionStart};
use empirica_notes::model::vectors::{Vector, Vectors};
use empirica_notes::model::{Body, Envelope, Id, Phase, Record, SessionId};
use git_empirica::fold::assessment::belief::{beliefs, differences};
use git_empirica::fold::assessment::track_record::{Score, TrackEntry};
use git_empirica::fold::session_records::SessionRecords;

use crate::support::harness::Sandbox;

fn calibration(repo: &crate::support::harness::Repo<'_>) -> Value {
    repo.json(["calibration"])
}

#[test]
fn sessions_of_another_clone_count_and_both_clones_answer_alike() {
    let place = Sandbox::new();
    let here = place.repo("here");
    let there = place.clone(&here, "there", false);
    here.git(["init", "-q", "--bare", "../hub.git"]).ok();
    let ada = here.start("ada", "Here");
    here.json(["preflight", "-v", "know=0.8,uncertainty=0.5"]);
    let goal = here.json(["goal", "add", "Reach it"])["id"].as_str().expect("an id").to_owned();
    here.json(["check", "-v", "know=0.8", "--confidence", "0.9"]);
    here.json(["postflight", "-v", "know=0.6,uncertainty=0.5", "--no-handoff"]);
    here.json(["session", "end"]);
    here.json(["sync", "../hub.git"]);
    there.json(["sync", "../hub.git"]);
    // the other clone ends the goal of the session here, has a session that is over and one that goes on
    let bob = there.start("bob", "There");
    there.json(["goal", "done", &goal]);
    there.json(["check", "-v", "know=0.7", "--confidence", "0.6"]);
    there.json(["evidence", "cargo test", "--exit", "1"]);
    there.json(["postflight", "-v", "know=0.5", "--no-handoff"]);
    there.json(["session", "end"]);
    let eve = there.start("eve", "Still there");
    there.json(["check", "-v", "know=0.5"]);
    let before = calibration(&here);
    assert_eq!((&before["total_sessions"], &before["overall"]["brier_score"]), (&1.into(), &0.81.into()), "0.9²");
    there.json(["sync", "../hub.git"]);
    here.json(["sync", "../hub.git"]);
    let (left, right) = (calibration(&here), calibration(&there));
    assert_eq!(left, right);
    // (0.9 − 1)² = 0.01 and 0.6² = 0.36
    assert_eq!(left["overall"]["brier_score"], 0.185);
    assert_eq!((&left["overall"]["judged"], &left["overall"]["left_out"]["active"]), (&2.into(), &1.into()));
    let outcome = |id: &str| {
        let list = left["sessions"].as_array().expect("a list");
        list.iter().find(|one| one["session_id"] == id).expect("the session")["outcome"].clone()
    };
    assert_eq!((outcome(&ada), outcome(&bob), outcome(&eve)), (1.into(), 0.into(), Value::Null));
}

fn id(n: usize) -> Id {
    Id::parse(&format!("019ab000-0000-7000-8000-0000{n:08x}")).expect("an id")
}

fn session(n: usize) -> SessionId {
    SessionId::parse(&format!("1111111{n}-2222-4333-8444-555555555555")).expect("an id")
}

fn record(n: usize, of: usize, body: Body) -> Record {
    let envelope = Envelope {
        v: 1,
        id: id(n),
        session: Some(session(of)),
        ai: format!("agent {}", of % 2),
        at: format!("2026-03-01T12:00:{n:02}.000Z"),
        commit: None,
        tree: None,
    };
    Record { envelope, body }
}

fn assessment(phase: Phase, know: f64, uncertainty: f64, confidence: Option<f64>) -> Body {
    let mut vectors = Vectors::default();
    assert!(vectors.set(Vector::Know, know) && vectors.set(Vector::Uncertainty, uncertainty));
    Body::Assessment(Box::new(Assessment {
        phase,
        round: 1,
        vectors,
        confidence,
        reasoning: None,
        task: None,
        cycle: None,
        scope: None,
        tags: Vec::new(),
        meta: Default::default(),
    }))
}

/// A session ends with its own last record: attachments and supersedes can be much later.
#[test]
fn later_records_for_a_session_do_not_move_its_end() {
    let start = SessionStart {
        task: None,
        kind: None,
        external_id: None,
        worktree: "main".into(),
        place: "p".into(),
        from: None,
        from_handoff: None,
    };
    let attach = Attach { of: vec![id(0)], from: "a".into(), to: "b".into() };
    let records = [
        record(0, 0, Body::SessionStart(start)),
        record(1, 0, assessment(Phase::Postflight, 0.5, 0.5, None)),
        record(2, 0, Body::SessionEnd(SessionEnd { reason: None })),
        record(3, 0, Body::Attach(attach)),
        record(4, 0, Body::Supersede(Supersede { of: id(0), by: id(1) })),
    ];
    let collected = SessionRecords::collect(&records, &session(0)).expect("a session");
    assert_eq!(collected.end, id(2));
}

/// Anything that matters to the track record; references may lead nowhere or forward.
fn body() -> impl Strategy<Value = Body> {
    let unit = || (0u32..=10_000).prop_map(|n| f64::from(n) / 10_000.0);
    let phase = prop_oneof![Just(Phase::Preflight), Just(Phase::Check), Just(Phase::Postflight)];
    prop_oneof![
        4 => (phase, unit(), unit(), proptest::option::of(unit())).prop_map(|(p, k, u, c)| assessment(p, k, u, c)),
        2 => Just(Body::Goal(Goal { text: "g".into(), criteria: vec![], priority: Priority::Low, rationale: None, vector: None })),
        2 => (0usize..30).prop_map(|of| Body::GoalDone(GoalDone { of: id(of), evidence: None, concerns: vec![] })),
        1 => (0usize..30).prop_map(|of| Body::GoalDrop(GoalDrop { of: id(of), why: None, concerns: vec![] })),
        1 => (0usize..4, vec((0usize..30).prop_map(id), 0..4))
            .prop_map(|(from, of)| Body::GoalTake(GoalTake { from: session(from), of, concerns: vec![] })),
        3 => ("[ab]", 0i32..2).prop_map(|(command, exit)| Body::Evidence(Evidence { command, exit, files: vec![], ..Default::default() })),
        1 => Just(Body::SessionEnd(SessionEnd { reason: None })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scores_keep_within_their_bounds_and_do_not_depend_on_the_order_of_sessions(
        bodies in vec((0usize..4, body()), 0..30),
    ) {
        let records: Vec<Record> = bodies.into_iter().enumerate().map(|(n, (of, body))| record(n, of, body)).collect();
        let all: Vec<SessionRecords> = (0..4).filter_map(|of| SessionRecords::collect(&records, &session(of))).collect();
        let entries: Vec<TrackEntry> = all.iter().map(TrackEntry::of).collect();
        let score = Score::of(&entries);
        prop_assert_eq!(&score, &Score::of(entries.iter().rev()));
        let left_out = score.left_out;
        prop_assert_eq!(score.judged + left_out.active + left_out.no_outcome + left_out.no_forecast, entries.len());
        prop_assert_eq!(score.reliability.iter().map(|bin| bin.n).sum::<usize>(), score.judged);
        prop_assert_eq!(score.brier.is_some(), score.judged > 0);
        for value in [score.brier, score.mean_forecast, score.mean_outcome, score.trend.earlier, score.trend.later] {
            prop_assert!(value.is_none_or(|value| (0.0..=1.0).contains(&value)), "{:?}", value);
        }
        for one in beliefs(all.iter().flat_map(differences).collect::<Vec<_>>().iter()) {
            prop_assert!(one.n > 0 && one.n <= all.len());
            prop_assert!(one.mean.abs() <= one.bias.abs() && one.sd < 0.2, "drawn towards 0, never wider than the prior");
        }
    }
}

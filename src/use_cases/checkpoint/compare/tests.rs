//! Tests the comparison: losses in each dimension, and the summary.

use std::collections::BTreeSet;

use crate::use_cases::checkpoint::compare::operand::{JournalItems, OperandGoal, OperandGoals};
use crate::use_cases::checkpoint::compare::*;
use empirica_notes::model::snapshot::{GitState, UncommittedChanges};
use empirica_notes::model::{SessionId, Vectors};

fn id(n: u32) -> Id {
    Id::parse(&format!("00000000-0000-7000-8000-0000{n:08x}")).unwrap()
}

fn session(n: u8) -> Option<SessionId> {
    SessionId::parse(&format!("{n:08x}-2222-4333-8444-555555555555"))
}

fn operand() -> Operand {
    Operand { kind: "checkpoint", session: session(1), ai: "ada".into(), ..Operand::default() }
}

fn same_clone() -> HistoryBetween {
    HistoryBetween { added: Some(0), gone: Some(0), committed: Some(BTreeSet::new()), ..HistoryBetween::default() }
}

fn of(a: &Operand, b: &Operand, history: &HistoryBetween) -> Comparison {
    compare(a, b, history, &|_| true)
}

fn texts(comparison: &Comparison, kind: ChangeKind) -> Vec<&str> {
    comparison.of(kind).map(|change| change.what.as_str()).collect()
}

fn items(session: u64, total: u64, listed: &[u32]) -> Option<JournalItems> {
    let listed = listed.iter().map(|n| (Some(id(*n)), format!("text {n}"))).collect();
    Some(JournalItems { session: Some(session), total: Some(total), listed, whole: false })
}

fn whole(listed: &[u32]) -> Option<JournalItems> {
    Some(JournalItems { total: None, whole: true, ..items(listed.len() as u64, 0, listed)? })
}

fn git(paths: &[&str]) -> Option<GitState> {
    let uncommitted_changes = UncommittedChanges {
        files_modified: paths.len() as u64,
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..UncommittedChanges::default()
    };
    Some(GitState { uncommitted_changes, ..GitState::default() })
}

fn goals(total: u64, completed: u64, open: &[(u32, Option<(u64, u64)>)]) -> Option<OperandGoals> {
    let current = open.first().map(|(n, _)| id(*n));
    let open =
        open.iter().map(|(n, progress)| OperandGoal { id: id(*n), text: format!("goal {n}"), progress: *progress });
    Some(OperandGoals { total, completed, active: total - completed, open: open.collect(), current })
}

#[test]
fn the_seeds_sentence() {
    let a = Operand {
        findings: items(8, 125, &[8, 7, 6, 5, 4]),
        git: git(&["a", "b", "c"]),
        goals: goals(3, 1, &[(1, Some((2, 4)))]),
        ..operand()
    };
    let b = Operand {
        findings: items(5, 122, &[5, 4]),
        git: git(&["c"]),
        goals: goals(3, 1, &[(1, Some((0, 4)))]),
        ..operand()
    };
    let comparison = of(&a, &b, &same_clone());
    assert_eq!(comparison.summary, "3 findings are missing, 2 files went back, the goal's progress was forgotten");
    let items: Vec<&Vec<String>> = comparison.of(ChangeKind::Lost).map(|change| &change.items).collect();
    assert_eq!(items[0], &["text 8", "text 7", "text 6"]);
    assert_eq!(items[1], &["a", "b"]);
    assert_eq!(items[2], &["goal 1: 2/4 subtasks → 0/4 subtasks"]);
    assert_eq!(comparison.compared, ["breadcrumbs", "git_state", "goals", "session"]);
}

#[test]
fn a_side_beside_itself_has_changed_in_nothing() {
    let full = Operand {
        vectors: vectors("know=0.5"),
        findings: items(8, 125, &[8, 7]),
        unknowns: items(1, 2, &[3]),
        resolved: Some(1),
        dead_ends: items(1, 1, &[4]),
        mistakes: items(0, 0, &[]),
        git: git(&["a"]),
        goals: goals(3, 1, &[(1, None)]),
        handoffs: Some(1),
        sessions: Some(2),
        active: Some(1),
        agents: Some(2),
        threads: Some(vec!["a → b".into()]),
        documents: Some(3),
        reasoning: vec!["because".into()],
        cycle: Some(2),
        ..operand()
    };
    let comparison = of(&full, &full, &same_clone());
    assert_eq!((comparison.summary.as_str(), comparison.changes.len()), ("Nothing changed", 0));
    assert_eq!(comparison.compared, DIMENSIONS);
    assert_eq!(comparison.vector_deltas, Some([(Vector::Know, 0.0)].into()));
}

#[test]
fn numbers_that_fall_are_lost_and_those_that_rise_are_gained() {
    let kind = |a: Operand, b: Operand| {
        let comparison = of(&a, &b, &same_clone());
        (texts(&comparison, ChangeKind::Lost).join(), texts(&comparison, ChangeKind::Gained).join())
    };
    trait Join {
        fn join(self) -> String;
    }
    impl Join for Vec<&str> {
        fn join(self) -> String {
            <[&str]>::join(&self, ", ")
        }
    }
    let one = |was: u64, is: u64| {
        kind(
            Operand { unknowns: items(was, was, &[]), ..operand() },
            Operand { unknowns: items(is, is, &[]), ..operand() },
        )
    };
    assert_eq!(one(2, 1), ("1 question is missing".into(), String::new()));
    assert_eq!(one(1, 3), (String::new(), "2 questions more".into()));
    let answers = kind(Operand { resolved: Some(3), ..operand() }, Operand { resolved: Some(1), ..operand() });
    assert_eq!(answers.0, "2 answers are missing");
    let rest = kind(
        Operand { handoffs: Some(2), documents: Some(4), sessions: Some(9), agents: Some(1), ..operand() },
        Operand { handoffs: Some(1), documents: Some(3), sessions: Some(8), agents: Some(2), ..operand() },
    );
    assert_eq!(rest.0, "1 consulted document is missing, 1 handoff is missing, 1 session is missing");
    assert_eq!(rest.1, "1 agent more");
    let goals =
        kind(Operand { goals: goals(3, 1, &[]), ..operand() }, Operand { goals: goals(2, 0, &[]), ..operand() });
    assert_eq!(goals.0, "1 goal is missing, the completion of goals was forgotten");
}

#[test]
fn what_is_named_and_stored_nowhere_is_missing_whatever_the_numbers_say() {
    let a = Operand { findings: items(2, 9, &[2, 1]), goals: goals(1, 0, &[(7, None)]), ..operand() };
    let b = Operand { findings: items(3, 9, &[3, 1]), goals: goals(1, 0, &[]), ..operand() };
    let comparison =
        compare(&a, &b, &same_clone(), &|id| [1, 3].map(crate::use_cases::checkpoint::compare::tests::id).contains(id));
    assert_eq!(comparison.summary, "1 finding is missing, 1 goal is missing");
    assert_eq!(comparison.changes[0].items, ["text 2"]);
    assert_eq!(comparison.changes[1].items, ["goal 7"]);
}

#[test]
fn files_that_were_committed_did_not_go_back() {
    let (a, b) = (Operand { git: git(&["a", "new/", "c"]), ..operand() }, Operand { git: git(&["d"]), ..operand() });
    let committed = ["a", "new/x"].map(str::to_owned).into();
    let history = HistoryBetween { added: Some(2), gone: Some(0), committed: Some(committed), ..same_clone() };
    let comparison = of(&a, &b, &history);
    assert_eq!(texts(&comparison, ChangeKind::Lost), ["1 file went back"]);
    assert_eq!(texts(&comparison, ChangeKind::Gained), ["2 commits more", "1 file more changed"]);
    // a new folder that is now named file by file is the same
    let named = of(&a, &Operand { git: git(&["a", "new/x", "c"]), ..operand() }, &same_clone());
    assert_eq!(named.summary, "Nothing changed");
    // paths that are not named may be among the others
    let mut many = git(&["z"]);
    if let Some(state) = &mut many {
        state.uncommitted_changes.paths_omitted = 9;
        state.uncommitted_changes.files_modified = 10;
    }
    assert_eq!(
        texts(&of(&a, &Operand { git: many, ..operand() }, &same_clone()), ChangeKind::Lost),
        Vec::<&str>::new()
    );
}

#[test]
fn commits_that_are_gone_are_lost() {
    let operand = Operand { git: git(&[]), ..operand() };
    let gone = |gone| {
        of(&operand, &operand, &HistoryBetween { added: Some(0), gone: Some(gone), ..HistoryBetween::default() })
            .summary
    };
    assert_eq!(gone(1), "1 commit is no longer in HEAD's history");
    assert_eq!(gone(3), "3 commits are no longer in HEAD's history");
}

fn vectors(text: &str) -> Vectors {
    let mut v = Vectors::default();
    v.add_pairs(text).unwrap();
    v
}

#[test]
fn vectors_are_reported_from_fifteen_hundredths_on_and_only_when_assessed_again() {
    let of = |before: &str, after: &str, from: Option<u32>| {
        let a = Operand { vectors: vectors(before), vectors_from: Some(id(1)), ..operand() };
        let b = Operand { vectors: vectors(after), vectors_from: from.map(id), ..operand() };
        of(&a, &b, &same_clone())
    };
    assert_eq!(of("know=0.8,do=0.5", "know=0.6501,do=0.9", Some(2)).summary, "Nothing was lost; do rose by 0.40");
    assert_eq!(of("know=0.8", "know=0.65", Some(2)).summary, "Know fell by 0.15");
    assert_eq!(of("uncertainty=0.3", "uncertainty=0.5", None).summary, "Uncertainty rose by 0.20");
    assert_eq!(of("know=0.8", "do=0.1", Some(2)).vector_deltas, Some(BTreeMap::new()));
    let same = of("know=0.8", "know=0.8", Some(1));
    assert_eq!((same.vector_deltas, same.summary.as_str()), (None, "Nothing changed"));
    // work goes on from it: an assessment can follow
    let a = Operand { vectors: vectors("know=0.8"), vectors_from: Some(id(1)), ..operand() };
    let now = Operand { is_present: true, ..a.clone() };
    let waits = crate::use_cases::checkpoint::compare::tests::of(&a, &now, &same_clone());
    assert_eq!(waits.summary, "Nothing changed; the vectors are compared at the next assessment");
}

#[test]
fn reasoning_goes_on_or_breaks_off() {
    let of = |a: &[&str], b: &[&str]| {
        let reasoned =
            |texts: &[&str]| Operand { reasoning: texts.iter().map(|t| (*t).to_owned()).collect(), ..operand() };
        of(&reasoned(a), &reasoned(b), &same_clone()).summary
    };
    assert_eq!(of(&["one", "two"], &["one", "two", "three"]), "Nothing was lost; 1 step of reasoning more");
    assert_eq!(of(&["one", "two"], &["one"]), "The reasoning broke off");
    assert_eq!(of(&["one"], &[]), "The reasoning was forgotten");
    assert_eq!(of(&["a long thou…"], &["a long thought"]), "Nothing changed");
}

#[test]
fn two_sessions_differ_and_open_goals_are_to_be_taken_over() {
    let a = Operand { findings: items(8, 9, &[1]), goals: goals(1, 0, &[(1, None)]), ..operand() };
    let b = Operand { session: session(2), findings: items(0, 9, &[1]), goals: goals(0, 0, &[]), ..operand() };
    let comparison = of(&a, &b, &same_clone());
    assert_eq!(comparison.summary, "1 open goal was not taken over");
    assert_eq!(texts(&comparison, ChangeKind::Changed), ["session: 00000001 of ada → 00000002 of ada"]);
}

#[test]
fn goals_are_left_behind_only_when_that_is_known() {
    let summary = |a: Option<OperandGoals>, b: Option<OperandGoals>, other: bool, history: &HistoryBetween| {
        let b = Operand { goals: b, session: session(1 + u8::from(other)), ..operand() };
        let changes = of(&Operand { goals: a, ..operand() }, &b, history).changes;
        let about_goals: Vec<String> =
            changes.into_iter().map(|c| c.what).filter(|what| what.contains("goal")).collect();
        about_goals.join(", ")
    };
    let three = || goals(3, 0, &[(1, None), (2, None), (3, None)]);
    let closed = HistoryBetween { closed: [id(2)].into(), ..same_clone() };
    assert_eq!(summary(three(), goals(2, 0, &[(1, None), (3, None)]), true, &closed), "", "it is done");
    assert_eq!(
        summary(three(), goals(2, 0, &[(1, None), (3, None)]), true, &same_clone()),
        "1 open goal was not taken over"
    );
    // a stored snapshot names one of its goals
    assert_eq!(summary(three(), goals(3, 0, &[(1, None)]), true, &same_clone()), "");
    assert_eq!(summary(three(), goals(2, 0, &[(1, None)]), true, &same_clone()), "1 open goal was not taken over");
    assert_eq!(summary(three(), goals(3, 0, &[(1, None)]), false, &same_clone()), "");
    let one = |n| goals(3, 0, &[(n, None)]);
    assert_eq!(summary(one(1), one(2), false, &same_clone()), "another goal is worked on");
    assert_eq!(
        summary(three(), goals(2, 0, &[(1, None), (2, None)]), false, &same_clone()),
        "1 goal was taken over by another session"
    );
    let all = |done| goals(3, 0, &[(1, Some((done, 4))), (2, Some((done, 4)))]);
    assert_eq!(summary(all(2), all(1), false, &same_clone()), "2 goals' progress was forgotten");
    assert_eq!(summary(all(2), all(3), true, &same_clone()), "2 goals made progress");
}

#[test]
fn handoffs_name_everything_and_are_compared_by_it() {
    let handoff =
        |findings: &[u32], session| Operand { kind: "handoff", session, findings: whole(findings), ..operand() };
    let same = of(&handoff(&[1, 2, 3], session(1)), &handoff(&[1, 4], session(1)), &HistoryBetween::default());
    assert_eq!(texts(&same, ChangeKind::Lost), ["2 findings are missing"]);
    assert_eq!(texts(&same, ChangeKind::Gained), ["1 finding more"]);
    let other = of(&handoff(&[1, 2, 3], session(1)), &handoff(&[1, 4], session(2)), &HistoryBetween::default());
    assert_eq!(texts(&other, ChangeKind::Lost), Vec::<&str>::new());
    assert_eq!(
        texts(&other, ChangeKind::Changed),
        ["2 findings only in the first", "session: 00000001 of ada → 00000002 of ada"]
    );
    // beside a snapshot, which names the newest only, the numbers count
    let mixed = of(
        &Operand { findings: items(5, 9, &[5]), ..operand() },
        &handoff(&[1, 2], session(1)),
        &HistoryBetween::default(),
    );
    assert_eq!(mixed.summary, "3 findings are missing");
}

#[test]
fn a_cycle_that_fell_was_forgotten() {
    let at = |cycle| Operand { cycle, ..operand() };
    assert_eq!(of(&at(Some(3)), &at(None), &same_clone()).summary, "The cycle of the investigation was forgotten");
    assert_eq!(of(&at(Some(3)), &at(Some(4)), &same_clone()).summary, "Nothing was lost; cycle: 3 → 4");
    assert_eq!(of(&at(None), &at(Some(1)), &same_clone()).summary, "Nothing changed");
}

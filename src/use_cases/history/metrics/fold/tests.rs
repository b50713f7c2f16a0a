//! Metrics of constructed facts, compared with manual computation.

use crate::use_cases::history::metrics::fold::*;

/// Midnight, in UTC, this many days after the first of March 2026.
fn day(days: i64) -> i64 {
    1_772_323_200_000 + days * 86_400_000
}

fn session(n: u8) -> SessionId {
    SessionId::parse(&format!("{n:08x}-0000-4000-8000-000000000000")).unwrap()
}

/// A record ID; greater numbers are later.
fn id(n: u32) -> Id {
    Id::parse(&format!("019c0000-0000-7000-8000-{n:012x}")).unwrap()
}

fn facts(n: u8, ai: &str, days: i64) -> SessionFacts {
    SessionFacts {
        session: session(n),
        ai: ai.into(),
        began_ms: day(days),
        to_first_entry_ms: None,
        handoffs: Vec::new(),
        accepts: Vec::new(),
        touched: BTreeSet::new(),
        inquiries: Vec::new(),
        corrections: Vec::new(),
    }
}

fn handoff(n: u32, days: i64, in_force: bool, paths: &[&str]) -> HandoffFacts {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    HandoffFacts { id: id(n), at_ms: day(days), in_force, paths }
}

fn accept(n: u32, of: u32, decision: Option<Verdict>, questions: u32, gaps: u32) -> AcceptFacts {
    AcceptFacts { id: id(n), at_ms: day(10), of: id(of), from: None, decision, questions, gaps }
}

fn everything() -> MetricsQuery {
    MetricsQuery { ai: None, since_ms: None, until_ms: None, by: Period::Month }
}

fn ratio(numerator: u64, denominator: u64) -> Ratio {
    Ratio { numerator, denominator }
}

/// Ada hands over twice, revising the first handoff; Bob and Eve take it up; nobody takes up Bob's handoff.
fn team() -> Vec<SessionFacts> {
    let mut ada = facts(1, "ada", 0);
    ada.to_first_entry_ms = Some(4000);
    ada.handoffs = vec![handoff(10, 1, false, &["a"]), handoff(11, 2, true, &["a", "b", "c"])];
    let mut bob = facts(2, "bob", 5);
    bob.to_first_entry_ms = Some(1000);
    bob.handoffs = vec![handoff(20, 40, true, &["b", "z"])];
    bob.accepts = vec![accept(30, 10, None, 1, 0), accept(31, 11, Some(Verdict::Complete), 0, 0)];
    bob.touched = ["b", "z"].map(str::to_owned).into();
    let mut eve = facts(3, "eve", 6);
    eve.accepts = vec![accept(32, 11, Some(Verdict::Continue), 0, 0), accept(33, 11, Some(Verdict::Complete), 0, 0)];
    eve.touched = ["a", "b"].map(str::to_owned).into();
    vec![ada, bob, eve]
}

#[test]
fn a_team_is_measured() {
    let found = metrics(&team(), &everything());
    let all = &found.overall;
    assert_eq!((all.sessions, all.handoffs), (3, 2));
    assert_eq!((median_seconds(&all.first_entries), all.mean_seconds()), (Some(2.5), Some(2.5)));
    // the first handoff raised a question, the second none
    assert_eq!(all.accepted_without_gaps, ratio(1, 2));
    // Bob touched 0 of 1 path of the first and 1 of 3 of the second, Eve 2 of 3
    assert_eq!(all.paths_reused, ratio(3, 7));
    assert_eq!(all.paths_reused.value(), Some(0.4286));
    // Eve's CONTINUE followed Bob's COMPLETE, and preceded her own
    assert_eq!(all.completions_kept, ratio(1, 2));
    assert_eq!(found.agents.keys().collect::<Vec<_>>(), ["ada", "bob", "eve"]);
    assert_eq!(
        (found.agents["ada"].accepted_without_gaps, found.agents["bob"].accepted_without_gaps),
        (ratio(1, 2), ratio(0, 0))
    );
    assert_eq!(
        (found.agents["bob"].completions_kept, found.agents["eve"].completions_kept),
        (ratio(0, 1), ratio(1, 1))
    );
    assert_eq!(found.agents["bob"].accepted_without_gaps.value(), None);
    let periods: Vec<(&str, u64, u64)> =
        found.periods.iter().map(|(period, tally)| (period.as_str(), tally.sessions, tally.handoffs)).collect();
    assert_eq!(periods, [("2026-03", 3, 1), ("2026-04", 0, 1)]);
    assert_eq!(found.handed.iter().map(|handed| &handed.id).collect::<Vec<_>>(), [&id(20), &id(11)]);
}

#[test]
fn the_order_of_the_facts_does_not_count() {
    let mut team = team();
    let found = metrics(&team, &everything());
    team.reverse();
    let mut other = metrics(&team, &everything());
    other.overall.first_entries.reverse();
    other.periods.values_mut().for_each(|tally| tally.first_entries.reverse());
    assert_eq!(found, other);
}

#[test]
fn filters_apply_to_agent_and_time() {
    let ada = metrics(&team(), &MetricsQuery { ai: Some("ada".into()), ..everything() });
    assert_eq!((ada.overall.sessions, ada.overall.handoffs, ada.agents.len()), (1, 1, 1));
    assert_eq!(
        (ada.overall.accepted_without_gaps, ada.overall.completions_kept),
        (ratio(1, 2), ratio(0, 0)),
        "others accepted"
    );
    let later = metrics(&team(), &MetricsQuery { since_ms: Some(day(2)), until_ms: Some(day(5)), ..everything() });
    assert_eq!((later.overall.sessions, later.overall.handoffs), (1, 1), "on both edges");
    let later =
        metrics(&team(), &MetricsQuery { since_ms: Some(day(2) + 1), until_ms: Some(day(5) - 1), ..everything() });
    assert_eq!((later.overall.sessions, later.overall.handoffs), (0, 0));
    assert_eq!(median_seconds(&later.overall.first_entries), None);
    assert_eq!(metrics(&[], &everything()).overall, HandoverMetrics::default());
}

#[test]
fn acknowledgements_by_the_own_session_do_not_count() {
    let mut ada = facts(1, "ada", 0);
    ada.handoffs = vec![handoff(10, 1, true, &["a"])];
    ada.accepts = vec![accept(11, 10, Some(Verdict::Complete), 0, 0)];
    ada.touched = ["a".to_owned()].into();
    let found = metrics(&[ada.clone()], &everything()).overall;
    assert_eq!(
        (found.accepted_without_gaps, found.paths_reused, found.completions_kept),
        (ratio(0, 0), ratio(0, 0), ratio(0, 0))
    );
    assert_eq!(reception(&[ada], &id(10)), Reception::default());
}

#[test]
fn a_later_decision_on_another_handoff_of_the_session_reopens() {
    let mut ada = facts(1, "ada", 0);
    ada.handoffs = vec![handoff(10, 1, false, &[]), handoff(12, 2, true, &[])];
    let mut bob = facts(2, "bob", 3);
    bob.accepts = vec![accept(11, 10, Some(Verdict::Complete), 0, 0), accept(13, 12, Some(Verdict::Refine), 0, 0)];
    let accurate = |all: &[SessionFacts]| metrics(all, &everything()).overall.completions_kept;
    assert_eq!(accurate(&[ada.clone(), bob.clone()]), ratio(0, 1));
    bob.accepts[1].decision = None;
    assert_eq!(accurate(&[ada.clone(), bob.clone()]), ratio(1, 1), "no decision reopens nothing");
    bob.accepts[1] = accept(13, 99, Some(Verdict::Refine), 0, 0);
    assert_eq!(accurate(&[ada.clone(), bob.clone()]), ratio(1, 1), "a handoff of somebody else");
    bob.accepts[1].from = Some(session(1));
    assert_eq!(accurate(&[ada, bob]), ratio(0, 1), "the handoff is not here, whose it was is");
}

#[test]
fn duplicates_count_for_the_later_agent() {
    let inquiry = |n, kind, text: &str| Inquiry { id: id(n), kind, text: text.into() };
    let (mut ada, mut bob) = (facts(1, "ada", 0), facts(2, "bob", 3));
    ada.inquiries =
        vec![inquiry(1, InquiryKind::Unknown, "Which port?"), inquiry(2, InquiryKind::DeadEnd, "mock the clock")];
    bob.inquiries = vec![
        inquiry(3, InquiryKind::Unknown, "which port"),
        inquiry(4, InquiryKind::Unknown, "mock the clock"),
        inquiry(5, InquiryKind::DeadEnd, "Mock the clock."),
    ];
    let found = metrics(&[bob, ada], &everything());
    assert_eq!((found.overall.duplicates, found.agents["bob"].duplicates), (2, 2));
    let pairs: Vec<(InquiryKind, &Id, &Id, &str)> =
        found.duplicates.iter().map(|d| (d.kind, &d.earlier.id, &d.later.id, d.earlier.ai.as_str())).collect();
    assert_eq!(pairs, [(InquiryKind::DeadEnd, &id(2), &id(5), "ada"), (InquiryKind::Unknown, &id(1), &id(3), "ada")]);
}

#[test]
fn a_handoff_has_receivers_and_the_paths_they_touched() {
    let found = reception(&team(), &id(11));
    assert_eq!(found.is_complete, Some(true));
    let paths = |n: usize| found.receivers[n].paths.iter().map(|(_, touched)| *touched).collect::<Vec<_>>();
    assert_eq!((found.receivers[0].ai.as_str(), paths(0)), ("bob", vec![false, true, false]));
    assert_eq!((found.receivers[1].ai.as_str(), paths(1)), ("eve", vec![true, true, false]));
    assert_eq!((found.receivers[0].relevant(), found.receivers[0].to_first_entry_ms), (ratio(1, 3), Some(1000)));
    assert_eq!(reception(&team(), &id(10)).is_complete, Some(false));
    assert_eq!(reception(&team(), &id(20)), Reception::default(), "nobody took it up");
}

#[test]
fn periods_are_those_of_the_calendar() {
    let new_year = 1_798_761_599_000; // 2026-12-31 23:59:59
    assert_eq!(Period::Day.of(new_year), "2026-12-31");
    assert_eq!(Period::Week.of(new_year), "2026-W53");
    assert_eq!(Period::Week.of(new_year + 1000), "2026-W53", "the year of an ISO week is its Thursday's");
    assert_eq!(Period::Month.of(new_year + 1000), "2027-01");
    assert_eq!(Period::Month.of(i64::MAX), "");
}

#[test]
fn the_middle_of_an_even_number_is_the_mean_of_two() {
    let tally = |entries: &[u64]| HandoverMetrics { first_entries: entries.to_vec(), ..Default::default() };
    assert_eq!(median_seconds(&[9000, 1000, 2000]), Some(2.0));
    assert_eq!(median_seconds(&[9000, 1000, 2000, 4000]), Some(3.0));
    assert_eq!(tally(&[1000, 1000, 2000]).mean_seconds(), Some(1.333));
}

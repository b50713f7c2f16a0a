//! A session of the page.

use serde_json::{Value, json};

use crate::fold::assessment::confidence::{overall, series};
use crate::fold::assessment::trajectory::NOTHING_SHARED;
use crate::fold::session_records::SessionRecords;
use crate::render::format::{duration, seconds_between};
use crate::render::{format, safe};
use crate::text::shorten::short;
use crate::use_cases::report::gather::SessionStory;
use crate::use_cases::report::page::entries::{NO_TASK, PageEntries, shown};
use crate::use_cases::report::page::trajectory::cells;
use empirica_notes::model::SessionId;
use empirica_notes::model::goal::GoalState;
use empirica_notes::model::handoff::Calibration;

/// Most entries of a list.
const ENTRIES: usize = 40;

/// The data of a session for the template.
pub fn session(story: &SessionStory, page: &PageEntries<'_>) -> Value {
    let records = &story.records;
    let session = &records.session;
    let last = session.ended_at.as_deref().unwrap_or(&records.last_at);
    let lasted = duration(seconds_between(&session.started_at, last));
    let outcome = story.entry.outcome.reached().map(|reached| {
        let word = if reached { "reached what it set out for" } else { "did not reach what it set out for" };
        format!("{word}: {}", story.entry.outcome.why())
    });
    let is_assessable = story.calibration.status != Calibration::NotAssessable;
    let assessments: Vec<Value> = records
        .assessments
        .iter()
        .take(ENTRIES)
        .map(|(head, a)| {
            json!({
                "phase": a.phase.name(), "round": a.round, "at": format::date(&head.at),
                "overall": overall(&a.vectors).map(|value| format!("{value:.2}")),
                "confidence": a.confidence.map(|value| format!("{value:.2}")),
                "reasoning": a.reasoning.as_deref().map(shown),
            })
        })
        .collect();
    let link = |id: &SessionId| json!({"id": id, "is_here": page.has(id)});
    let continued = page.continued.get(&session.id).into_iter().flatten().map(|id| link(id));
    let assessed = is_assessable.then(|| story.calibration.status.phrase());
    let sure = [confidence(records), assessed].into_iter().flatten().collect::<Vec<_>>().join(", ");
    json!({
        "id": session.id,
        "when": format::date(&session.started_at),
        "ai": safe::line(&session.ai),
        "task": session.task.as_deref().map_or_else(|| NO_TASK.to_owned(), |task| short(&safe::line(task), 160)),
        "sure": sure,
        "is_active": session.is_active(),
        "lasted": if session.is_active() { format!("active, last record after {lasted}") } else { format!("lasted {lasted}") },
        "kind": session.kind.as_deref().map(safe::line),
        "from": session.from.as_ref().map(link),
        "continued": continued.collect::<Vec<_>>(),
        "outcome": outcome,
        "why": is_assessable.then(|| story.calibration.why.clone()),
        "lists": lists(records),
        "assessments": assessments,
        "assessments_gone": records.assessments.len().saturating_sub(ENTRIES),
        "cells": cells(records),
    })
}

/// Overall confidence of the first and the last assessment; `None` without any.
fn confidence(records: &SessionRecords) -> Option<String> {
    let vectors = || records.assessments.iter().map(|(_, a)| &a.vectors);
    let present: Vec<f64> = series(vectors()).into_iter().flatten().collect();
    match present.as_slice() {
        [] => vectors().any(|vectors| overall(vectors).is_some()).then(|| NOTHING_SHARED.to_owned()),
        [only] => Some(format!("{only:.2}")),
        [first, .., last] => Some(format!("{first:.2} → {last:.2}")),
    }
}

type SessionEntry<'t> = (&'t str, Option<String>);

fn lists(records: &SessionRecords) -> Vec<Value> {
    let plain = |text| (text, None);
    let goal = |goal: &GoalState| {
        let steps = goal.progress().map(|steps| format!(", {steps}")).unwrap_or_default();
        Some(format!("{}{steps}", goal.status.name()))
    };
    let handoffs = records.handoffs.iter().map(|(_, handoff)| {
        let more = [handoff.to.as_ref().map(|to| format!("for {to}")), Some(handoff.context.clone())];
        let more: Vec<String> = more.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        (handoff.task.as_str(), Some(more.join("\n")))
    });
    [
        list("Goals", records.goals.iter().map(|g| (g.text.as_str(), goal(g)))),
        list("Findings", records.findings.iter().map(|item| plain(item.text.as_str()))),
        list("Open questions", records.unknowns.iter().map(|item| plain(item.text.as_str()))),
        list("Answered questions", records.answered.iter().map(|a| (a.question.as_str(), Some(a.answer.clone())))),
        list("Dead ends", records.dead_ends.iter().map(|d| (d.approach.as_str(), Some(d.why.clone())))),
        list(
            "Decisions",
            records.decisions.iter().map(|d| (d.text.as_str(), Some(d.why.clone()).filter(|why| !why.is_empty()))),
        ),
        list("Mistakes", records.mistakes.iter().map(|m| (m.text.as_str(), m.prevention.clone()))),
        list("Handed over", handoffs),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn list<'t>(title: &str, entries: impl ExactSizeIterator<Item = SessionEntry<'t>>) -> Option<Value> {
    let gone = entries.len().saturating_sub(ENTRIES);
    let entries: Vec<Value> = entries
        .take(ENTRIES)
        .map(|(text, more)| json!({"text": shown(text), "more": more.as_deref().map(shown).filter(|more| !more.is_empty())}))
        .collect();
    (!entries.is_empty()).then(|| json!({"title": title, "entries": entries, "gone": gone}))
}

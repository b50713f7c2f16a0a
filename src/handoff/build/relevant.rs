//! What was said before and bears on a handoff's task, found among everything that is stored.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::fold::task::handoffs;
use crate::handoff::build::relevance::{TaskProfile, relevant};
use crate::index::by_rare_words;
use empirica_notes::error::Result;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::Relevant;
use empirica_notes::model::record::CLAIMS;
use empirica_notes::model::{Handoff, Id};

/// How many records are looked at: those that have most of the rare words of the task.
const RECORDS: usize = 200;
/// How many of them a handoff has.
const MOST: usize = 10;

/// What bears on the task of a handoff, the most relevant first: on its task, instructions and open goals, and on the files it
/// names. Empty when the task says nothing.
pub fn of(context: &CommandContext<'_>, handoff: &Handoff) -> Result<Vec<Relevant>> {
    let open = handoff.goals.iter().filter(|goal| goal.status == GoalStatus::Open).map(|goal| goal.text.as_str());
    let told = ["/instructions", "/summary"].into_iter().filter_map(|pointer| handoffs::text(handoff, pointer));
    let texts: Vec<&str> = [handoff.task.as_str()].into_iter().chain(told).chain(open).collect();
    let listed = handoffs::texts(handoff, "/context/relevant_files");
    let mut paths: Vec<&str> = listed.iter().map(String::as_str).collect();
    // what a session changed says what it is about, unless it is told
    if paths.is_empty() {
        paths.extend(handoff.artifacts.iter().take(RECORDS).map(String::as_str));
    }
    let wanted = TaskProfile::new(texts.iter().copied(), paths.iter().copied());
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let index = context.index()?;
    let text = [texts.join("\n"), paths.join("\n")].join("\n");
    let (_, found) = by_rare_words(&index, &text, CLAIMS, RECORDS)?;
    let ids: Vec<Id> = found.hits.into_iter().map(|(id, _)| id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let found = index.ids(&ids)?;
    // an answered question is none any more
    let answers = index.naming(&ids, &["resolve"])?;
    let answered: BTreeSet<&Id> = answers.records().flat_map(|record| record.names()).collect();
    let open = found.records().filter(|record| !answered.contains(&record.head.id));
    let now = u64::try_from(context.store.now().timestamp_millis()).unwrap_or_default();
    Ok(relevant(&wanted, open, now, MOST))
}

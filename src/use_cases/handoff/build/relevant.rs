//! Finds the stored records relevant to the task of a handoff.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::fold::task::handoffs;
use crate::index::by_rare_words;
use crate::use_cases::handoff::build::relevance::{TaskProfile, relevant};
use empirica_notes::error::Result;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::Relevant;
use empirica_notes::model::record::CLAIMS;
use empirica_notes::model::{Handoff, Id};

/// Most records ranked: those with most of the rare words of the task.
const MAX_CANDIDATES: usize = 200;
/// Most records a handoff has.
const MAX_RELEVANT: usize = 10;

/// The records relevant to the task, instructions, open goals and files of a handoff, the most relevant first.
pub fn find_relevant(context: &CommandContext<'_>, handoff: &Handoff) -> Result<Vec<Relevant>> {
    let open = handoff.goals.iter().filter(|goal| goal.status == GoalStatus::Open).map(|goal| goal.text.as_str());
    let payload = ["/instructions", "/summary"].into_iter().filter_map(|pointer| handoffs::text(handoff, pointer));
    let texts: Vec<&str> = [handoff.task.as_str()].into_iter().chain(payload).chain(open).collect();
    let listed = handoffs::texts(handoff, "/context/relevant_files");
    let mut paths: Vec<&str> = listed.iter().map(String::as_str).collect();
    // by default, the files that the session changed
    if paths.is_empty() {
        paths.extend(handoff.artifacts.iter().take(MAX_CANDIDATES).map(String::as_str));
    }
    let task = TaskProfile::new(texts.iter().copied(), paths.iter().copied());
    if task.is_empty() {
        return Ok(Vec::new());
    }
    let index = context.index()?;
    let text = [texts.join("\n"), paths.join("\n")].join("\n");
    let (_, found) = by_rare_words(&index, &text, CLAIMS, MAX_CANDIDATES)?;
    let ids: Vec<Id> = found.hits.into_iter().map(|(id, _)| id).collect();
    let found = index.ids(&ids)?;
    let answers = index.naming(&ids, &["resolve"])?;
    let answered: BTreeSet<&Id> = answers.records().flat_map(|record| record.referenced_ids()).collect();
    let open = found.records().filter(|record| !answered.contains(&record.envelope.id));
    let now = u64::try_from(context.store.now().timestamp_millis()).unwrap_or_default();
    Ok(relevant(&task, open, now, MAX_RELEVANT))
}

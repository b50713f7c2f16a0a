//! What needs attention on the page: open questions, failed checks, stale or unclaimed work, unfinished goals.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::claims::anchors;
use crate::context::claims::anchors::LostClaims;
use crate::context::{CommandContext, handoffs};
use crate::fold::journal::OwnedGoal;
use crate::fold::task::handoffs::{taken_up, text};
use crate::index::Index;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::fold::StaleCheck;
use empirica_notes::error::Result;
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record};

/// Most entries of a list, the newest.
pub const LISTED: usize = 200;

/// Number of newest handoffs whose checks are compared with the code.
const CHECKED: usize = 8;

/// What needs attention. Records have the commit they are placed on; each list is newest first.
#[derive(Debug, Default)]
pub struct Attention {
    /// Open questions.
    pub unknowns: Vec<Record>,
    /// Checks whose last run failed.
    pub failed: Vec<Record>,
    /// Handoffs with open work that no session took up.
    pub unclaimed: Vec<Record>,
    /// Number of such handoffs not listed.
    pub unclaimed_more: usize,
    /// Checks that passed before the code changed, with their handoff.
    pub stale: Vec<(Envelope, StaleCheck)>,
    /// Claims whose code changed or is gone.
    pub lost: LostClaims,
    /// Claims in force that replace the same one, each with the others, newest first.
    pub disagreeing: Vec<(Record, Vec<Id>)>,
    /// Open goals, without suggestions that nobody pursued.
    pub goals: Vec<(Envelope, GoalState)>,
    /// Number of such goals not listed.
    pub goals_more: usize,
}

/// The last run of each check, if it failed, newest first.
pub fn failed(index: &Index<'_>, own: &[&Record]) -> Result<Vec<Record>> {
    let mut seen = BTreeSet::new();
    let last = own.iter().rev().filter_map(|record| match &record.body {
        Body::Evidence(run) => seen.insert(&run.command).then_some((&record.envelope.id, run.exit)),
        _ => None,
    });
    placed(index, last.filter(|(_, exit)| *exit != 0).map(|(id, _)| id))
}

/// Handoffs (newest first) with open work that no session took up; of a task only the newest counts.
pub fn unclaimed<'r>(handoffs: &[&'r Record], records: &[&Record], claimed: &BTreeSet<&Id>) -> Vec<&'r Id> {
    let accepted = taken_up(records.iter().copied());
    let mut tasks = BTreeSet::new();
    let unclaimed = handoffs.iter().filter(|record| {
        let Body::Handoff(handoff) = &record.body else { return false };
        let is_newest = handoff.task_id.as_ref().is_none_or(|task| tasks.insert(task));
        let id = &record.envelope.id;
        is_newest && has_open_work(handoff) && !claimed.contains(id) && !accepted.contains(id)
    });
    unclaimed.map(|record| &record.envelope.id).collect()
}

fn has_open_work(handoff: &Handoff) -> bool {
    let goals = || handoff.goals.iter().any(|goal| goal.status == GoalStatus::Open && !goal.is_idle_suggestion());
    match text(handoff, "/manager_decision") {
        Some("COMPLETE") => false,
        _ if handoff.kind == "escalation" || handoff.to.is_some() => true,
        _ => !handoff.unknowns.is_empty() || !handoff.next_steps.is_empty() || goals(),
    }
}

/// Checks of the newest handoffs that passed before the code changed; only the newest run of a command counts.
pub fn stale(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    handoffs: &[&Record],
) -> Result<Vec<(Envelope, StaleCheck)>> {
    let has_checks = |record: &&&Record| matches!(&record.body, Body::Handoff(h) if !h.evidence.is_empty());
    let ids: Vec<Id> = handoffs.iter().filter(has_checks).take(CHECKED).map(|r| r.envelope.id.clone()).collect();
    let listed = handoffs::by_ids(index, &ids)?;
    let (arrivals, _) = arrival::changes_since(context, &listed.iter().collect::<Vec<_>>())?;
    let (mut seen, mut out) = (BTreeSet::new(), Vec::new());
    for (listed, arrival) in listed.iter().zip(arrivals) {
        let stale = arrival.stale_evidence.into_iter().flatten().filter(|stale| !seen.contains(&stale.command));
        out.extend(stale.map(|stale| (listed.envelope.clone(), stale)));
        seen.extend(listed.handoff.evidence.iter().map(|run| run.command.clone()));
    }
    Ok(out)
}

/// The claims of these whose code changed or is gone.
pub fn lost(context: &CommandContext<'_>, own: &[&Record]) -> Result<LostClaims> {
    let own: BTreeSet<&Id> = own.iter().map(|record| &record.envelope.id).collect();
    let mut lost = anchors::lost(context)?;
    lost.claims.retain(|(record, _)| own.contains(&record.envelope.id));
    lost.more += lost.claims.len().saturating_sub(LISTED);
    lost.claims.truncate(LISTED);
    Ok(lost)
}

/// Those of these records that are claims in force and disagree with others, newest first.
pub fn disagreeing(index: &Index<'_>, own: &[&Record]) -> Result<Vec<(Record, Vec<Id>)>> {
    let (replacing, mut rivals) = (index.replacing()?, BTreeMap::new());
    for id in own.iter().map(|record| &record.envelope.id).filter(|id| replacing.contains(id)) {
        let others = index.rivals(id)?;
        if !others.is_empty() {
            rivals.insert(id, others);
        }
    }
    let found = placed(index, rivals.keys().rev().copied())?;
    Ok(found
        .into_iter()
        .filter_map(|record| rivals.remove(&record.envelope.id).map(|others| (record, others)))
        .collect())
}

/// Open goals (newest first) without suggestions that nobody pursued, and the number of those not listed.
pub fn goals<'o>(
    index: &Index<'_>,
    open: impl Iterator<Item = &'o OwnedGoal>,
) -> Result<(Vec<(Envelope, GoalState)>, usize)> {
    let open: Vec<&GoalState> = open.map(|owned| &owned.goal).filter(|goal| !goal.is_idle_suggestion()).collect();
    let heads = placed(index, open.iter().map(|goal| &goal.id))?.into_iter().map(|record| record.envelope);
    let shown: Vec<_> = heads.zip(&open).map(|(envelope, goal)| (envelope, (*goal).clone())).collect();
    let more = open.len() - shown.len();
    Ok((shown, more))
}

/// The first [`LISTED`] records with the commit they are placed on, in the given order.
pub(crate) fn placed<'i>(index: &Index<'_>, ids: impl Iterator<Item = &'i Id>) -> Result<Vec<Record>> {
    index.placed(&ids.take(LISTED).cloned().collect::<Vec<_>>())
}

//! Whether the claims of a range hold at its tip, and which claims its changes contradict.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::context::claims::anchors::{Anchors, Place};
use crate::context::claims::{Standing, standings};
use crate::use_cases::report::review::work::SessionWork;
use empirica_notes::error::Result;
use empirica_notes::git::history::head_move::changed_paths;
use empirica_notes::git::history::range::CommitRange;
use empirica_notes::model::journal::anchor::AnchorState;
use empirica_notes::model::{Id, Record};

/// A claim, and its state at the tip of the range.
#[derive(Debug, Clone)]
pub struct RangeClaim {
    pub record: Record,
    pub standing: Standing,
}

/// The claims of each session, those that hold first, then the newest.
pub fn of_sessions(tip: &CommandContext<'_>, sessions: &[SessionWork]) -> Result<Vec<Vec<RangeClaim>>> {
    let mut anchors = Anchors::new(tip);
    let mut out = Vec::new();
    for work in sessions {
        let standings = standings(tip, &work.claims, &mut anchors)?;
        let records = work.claims.iter().cloned();
        let mut claims: Vec<RangeClaim> =
            records.zip(standings).map(|(record, standing)| RangeClaim { record, standing }).collect();
        claims.sort_by(order);
        out.push(claims);
    }
    Ok(out)
}

/// Sound claims first, then the newest.
pub fn order(a: &RangeClaim, b: &RangeClaim) -> std::cmp::Ordering {
    let key = |claim: &RangeClaim| !claim.standing.is_sound();
    key(a).cmp(&key(b)).then_with(|| b.record.envelope.id.cmp(&a.record.envelope.id))
}

/// The claims in force from before the range whose code was there at its fork, and is not at its tip; the newest first.
pub fn contradicted(
    fork: &CommandContext<'_>,
    tip: &CommandContext<'_>,
    range: &CommitRange,
    own: &BTreeSet<&Id>,
) -> Result<Vec<RangeClaim>> {
    let Some(from) = range.fork else { return Ok(Vec::new()) };
    let files = changed_paths(tip.repo, from, range.tip)?;
    let mut claims = tip.index()?.anchors_in(files.iter().map(String::as_str), usize::MAX)?;
    claims.retain(|claim| !own.contains(&claim.claim));
    let before = Anchors::new(fork).states(claims.clone())?;
    let mut lost = Anchors::new(tip).states(claims)?;
    let was_there = |place: &Place| matches!(place.state, AnchorState::Holds | AnchorState::Moved);
    lost.retain(|id, places| {
        let before = before.get(id).map_or(&[][..], Vec::as_slice);
        places.iter().zip(before).any(|(place, before)| place.state.is_lost() && was_there(before))
    });
    let records: Vec<Record> = tip.index()?.ids(lost.keys())?.records().cloned().collect();
    let standings = standings(tip, &records, &mut Anchors::new(tip))?;
    let lost = records.into_iter().zip(standings).filter(|(_, standing)| standing.word() == "holds");
    let mut out: Vec<RangeClaim> = lost.map(|(record, standing)| RangeClaim { record, standing }).collect();
    out.sort_by(|a, b| b.record.envelope.id.cmp(&a.record.envelope.id));
    Ok(out)
}

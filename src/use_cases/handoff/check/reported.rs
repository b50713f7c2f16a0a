//! Finds gaps that receivers reported in earlier handoffs of a type.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::context::handoffs::in_force;
use crate::index::{HandoffQuery, RecordQuery};
use crate::use_cases::handoff::check::gaps::{self, ReportedGap};
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Handoff, Id};

/// Most acknowledgements searched, the newest.
const MAX_ACCEPTS: usize = 200;
/// Most gaps listed.
const MAX_GAPS: usize = 10;

/// A warning for each reported gap that this handoff does not cover either.
pub fn warnings(context: &CommandContext<'_>, handoff: &Handoff) -> Result<Vec<String>> {
    Ok(gaps::uncovered(handoff, &reported(context, handoff)?).into_iter().map(gaps::sentence).collect())
}

/// The gaps reported for handoffs of the same type, newest first. A later handoff of the type settles those it covers, and all if it
/// was acknowledged without question or gap.
pub fn reported(context: &CommandContext<'_>, handoff: &Handoff) -> Result<Vec<ReportedGap>> {
    let index = context.index()?;
    let accepts = index.kinds(&["accept"], RecordQuery { session: None, newest: Some(MAX_ACCEPTS) })?;
    let accepts: Vec<_> = accepts
        .records()
        .filter_map(|record| match &record.body {
            Body::Accept(accept) => Some((record.envelope.id.clone(), record.envelope.ai.clone(), accept.clone())),
            _ => None,
        })
        .collect();
    if accepts.iter().all(|(.., accept)| accept.gaps.is_empty()) {
        return Ok(Vec::new());
    }
    let about: BTreeSet<&Id> = accepts.iter().map(|(.., accept)| &accept.of).collect();
    let handoffs = index.ids(about)?;
    let of_type = |id: &Id| {
        handoffs.get(id).is_some_and(|entry| matches!(&entry.record.body, Body::Handoff(h) if h.kind == handoff.kind))
    };
    let reports: Vec<_> = accepts.iter().filter(|(.., accept)| of_type(&accept.of)).collect();
    if reports.iter().all(|(.., accept)| accept.gaps.is_empty()) {
        return Ok(Vec::new());
    }
    let later = later(context, handoff, reports.first().map(|(id, ..)| id))?;
    let mut out = Vec::new();
    for (id, by, accept) in reports.iter().rev() {
        let is_clear_since = reports.iter().any(|(newer, _, other)| {
            newer > id && other.of > accept.of && other.is_clear() && !other.concerns.is_empty()
        });
        for gap in &accept.gaps {
            let is_covered = later.iter().any(|(later, text)| later > id && gaps::covers(text, gap));
            if !is_covered && !is_clear_since && out.len() < MAX_GAPS {
                out.push(ReportedGap { gap: gap.clone(), by: by.clone(), of: accept.of.short().to_owned() });
            }
        }
    }
    Ok(out)
}

/// The texts of the handoffs of the same type after a record, newest first.
fn later(context: &CommandContext<'_>, handoff: &Handoff, after: Option<&Id>) -> Result<Vec<(Id, String)>> {
    let query = HandoffQuery { kind: Some(handoff.kind.clone()), ..Default::default() };
    let listed = in_force(context, &query, MAX_ACCEPTS)?;
    let later = listed.into_iter().filter(|listed| after.is_none_or(|after| listed.envelope.id > *after));
    Ok(later.map(|listed| (listed.envelope.id, gaps::all_text(&listed.handoff))).collect())
}

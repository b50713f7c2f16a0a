//! The gaps that receivers reported, remembered for the next handoff of the type.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::context::handoffs::{ListedHandoff, in_force};
use crate::handoff::check::gaps;
use crate::handoff::check::gaps::{ReportedGap, covers_gap};
use crate::index::{HandoffQuery, RecordQuery};
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Handoff, Id};

/// How many of the newest acknowledgements are looked at for gaps.
const ACCEPTS: usize = 200;
/// How many gaps are remembered.
const GAPS: usize = 10;

/// What receivers missed in earlier handoffs of the type and this one does not say either, a sentence each.
pub fn warnings(context: &CommandContext<'_>, handoff: &Handoff) -> Result<Vec<String>> {
    let remembered = remembered(context, handoff)?;
    Ok(gaps::missed(handoff, &remembered).into_iter().map(gaps::missed_sentence).collect())
}

/// The gaps that receivers reported for handoffs of the same type, newest first, until a later handoff of the type says what
/// was missed, or is taken up without question or gap. The one that this handoff is rewritten for is looked at as well.
pub fn remembered(context: &CommandContext<'_>, handoff: &Handoff) -> Result<Vec<ReportedGap>> {
    let index = context.index()?;
    let accepts = index.kinds(&["accept"], RecordQuery { session: None, newest: Some(ACCEPTS) })?;
    let accepts: Vec<_> = accepts
        .records()
        .filter_map(|record| match &record.body {
            Body::Accept(accept) => Some((record.head.id.clone(), record.head.ai.clone(), accept.clone())),
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
            let is_said = later.iter().any(|later| later.head.id > *id && covers_gap(&later.handoff, gap));
            if !is_said && !is_clear_since && out.len() < GAPS {
                out.push(ReportedGap { gap: gap.clone(), by: by.clone(), of: accept.of.short().to_owned() });
            }
        }
    }
    Ok(out)
}

/// The handoffs of the same type that were made after a record, newest first.
fn later(context: &CommandContext<'_>, handoff: &Handoff, after: Option<&Id>) -> Result<Vec<ListedHandoff>> {
    let wanted = HandoffQuery { kind: Some(handoff.kind.clone()), ..Default::default() };
    let listed = in_force(context, &wanted, ACCEPTS)?;
    let is_later = |listed: &ListedHandoff| after.is_none_or(|after| listed.head.id > *after);
    Ok(listed.into_iter().filter(is_later).collect())
}

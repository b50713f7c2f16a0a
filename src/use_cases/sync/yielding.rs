//! Claims that reached the remote first: a session whose claim did not leaves the handoff to the other.

use std::collections::BTreeSet;

use crate::context::{CommandContext, tasks};
use crate::fold::task::claims::Receipts;
use empirica_notes::error::Result;
use empirica_notes::format::record::decode;
use empirica_notes::model::{Accept, Body, Id, Record};
use empirica_notes::store::{FlushTiming, TransferLines};

/// Yields each claim of this clone that the remote lacks to one of another session that it has: who was first there may rely on it.
/// Returns a warning for each.
pub fn yield_claims(context: &CommandContext<'_>, unsent: &TransferLines) -> Result<Vec<String>> {
    let unsent: Vec<Record> = unsent.lines.iter().filter_map(|line| decode(&line.bytes)).collect();
    let ids: BTreeSet<&Id> = unsent.iter().map(|record| &record.envelope.id).collect();
    let (mut out, mut warnings) = (Vec::new(), Vec::new());
    for own in unsent.iter().filter(|record| context.store.made(&record.envelope.id)) {
        let (Body::Accept(accept), Some(session)) = (&own.body, &own.envelope.session) else { continue };
        if !is_claim(accept) {
            continue;
        }
        let index = context.index()?;
        let found = index.ids([&accept.of])?;
        let handoff = found.get(&accept.of).and_then(|entry| match &entry.record.body {
            Body::Handoff(handoff) => Some(handoff),
            _ => None,
        });
        let Some(handoff) = handoff else { continue };
        let scan = tasks::receipts(context, &accept.of, handoff)?;
        let groups = scan.records().collect::<Receipts<'_>>().grouped();
        let claims = groups.of(&accept.of);
        let all = || claims.owner.iter().chain(&claims.rivals);
        // it yielded before, or has it by taking it over
        if !all().any(|claim| claim.session() == Some(session)) || accept.takes_over.is_some() {
            continue;
        }
        let yielded = scan.records().any(|record| match &record.body {
            Body::Accept(said) => {
                said.yields_to.is_some() && said.of == accept.of && record.envelope.session.as_ref() == Some(session)
            }
            _ => false,
        });
        let first = all().find(|claim| claim.session() != Some(session) && !ids.contains(&claim.envelope.id));
        let Some(first) = first.filter(|_| !yielded) else { continue };
        let concerns = accept.concerns.clone();
        let body = Accept { yields_to: Some(first.envelope.id.clone()), concerns, ..Accept::new(accept.of.clone()) };
        out.push(context.store.writer().new_record(session, &own.envelope.ai, Body::Accept(body)));
        let owned = tasks::inbox::owned(&accept.of, first.envelope);
        warnings.push(format!("{}, session {}: {owned}; stop work on it", own.envelope.ai, session.short()));
    }
    if !out.is_empty() {
        context.store.writer().append(out, FlushTiming::Now)?;
    }
    Ok(warnings)
}

fn is_claim(accept: &Accept) -> bool {
    accept.resolution.is_none() && accept.yields_to.is_none() && !accept.released
}

//! Claims that reached the remote first: a session whose claim did not leaves the handoff to the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::{CommandContext, tasks};
use crate::fold::task::claims::{Claim, Receipts};
use empirica_notes::error::Result;
use empirica_notes::format::record::decode;
use empirica_notes::model::{Accept, Body, Id, Record, SessionId};
use empirica_notes::store::{FlushTiming, TransferLines};

/// Yields each claim of this clone that the remote lacks to one of another session that it has: who was first there may rely on it.
/// Returns a warning for each.
pub fn yield_claims(context: &CommandContext<'_>, unsent: &TransferLines) -> Result<Vec<String>> {
    let unsent: Vec<Record> = unsent.lines.iter().filter_map(|line| decode(&line.bytes)).collect();
    let ids: BTreeSet<&Id> = unsent.iter().map(|record| &record.envelope.id).collect();
    let (mut out, mut warnings) = (Vec::new(), Vec::new());
    let mut newest: BTreeMap<(&SessionId, &Id), (&Record, &Accept)> = BTreeMap::new();
    for own in unsent.iter().filter(|record| context.store.made(&record.envelope.id)) {
        let (Body::Accept(accept), Some(session)) = (&own.body, &own.envelope.session) else { continue };
        let earlier = newest.get(&(session, &accept.of)).map(|(earlier, _)| &earlier.envelope.id);
        if is_claim(accept) && earlier.is_none_or(|earlier| *earlier < own.envelope.id) {
            newest.insert((session, &accept.of), (own, accept));
        }
    }
    for ((session, _), (own, accept)) in newest {
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
        if !all().any(|claim| claim.session() == Some(session)) {
            continue;
        }
        let versions = groups.versions(&accept.of);
        let said = scan.records().filter_map(|record| match &record.body {
            Body::Accept(said) if record.envelope.session.as_ref() == Some(session) => {
                Some((&record.envelope.id, said))
            }
            _ => None,
        });
        let said: Vec<(&Id, &Accept)> = said.filter(|(_, said)| versions.contains(&said.of)).collect();
        let gave_up =
            said.iter().filter(|(_, said)| said.released || said.yields_to.is_some()).map(|(id, _)| *id).max();
        // what a session says later does not make it lose what it has
        let has_reached_it = said
            .iter()
            .any(|(id, said)| is_claim(said) && !ids.contains(id) && gave_up.is_none_or(|gave_up| gave_up < *id));
        if gave_up > Some(&own.envelope.id) || has_reached_it && accept.takes_over.is_none() {
            continue;
        }
        // who takes over knew the owner; of those who take over from the same owner, the first at the remote has it
        let is_rival = |claim: &&Claim<'_>| match &accept.takes_over {
            Some(of) => claim.accept.takes_over.as_ref() == Some(of) || *of == accept.of,
            None => true,
        };
        let others = all().filter(|claim| claim.session() != Some(session) && !ids.contains(&claim.envelope.id));
        let Some(first) = others.into_iter().find(is_rival) else { continue };
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

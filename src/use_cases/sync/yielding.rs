//! Claims that reached the remote first: a session whose claim did not leaves the handoff to the other.

use std::collections::BTreeMap;

use empirica_notes::error::Result;
use empirica_notes::format::record::decode;
use empirica_notes::model::{Accept, Body, Id, Record};
use empirica_notes::store::{FlushTiming, Store, TransferLines};

/// Yields each claim of this clone that the remote lacks to one of another session that it has: who was first there may rely on it.
pub fn yield_claims(store: &Store<'_>, received: &TransferLines, unsent: &TransferLines) -> Result<()> {
    let (theirs, ours) = (accepts(received), accepts(unsent));
    let mut out = Vec::new();
    for (own, accept) in ours.values().filter(|(record, accept)| store.made(&record.envelope.id) && is_claim(accept)) {
        let Some(session) = &own.envelope.session else { continue };
        let first = theirs.values().find(|(other, claim)| {
            claim.of == accept.of && is_claim(claim) && other.envelope.session.as_ref() != Some(session)
        });
        let Some((first, _)) = first else { continue };
        let knows = |other: &Accept| other.of == accept.of && other.yields_to.as_ref() == Some(&first.envelope.id);
        if ours.values().any(|(other, said)| other.envelope.session.as_ref() == Some(session) && knows(said)) {
            continue;
        }
        let concerns = accept.concerns.clone();
        let body = Accept { yields_to: Some(first.envelope.id.clone()), concerns, ..Accept::new(accept.of.clone()) };
        out.push(store.writer().new_record(session, &own.envelope.ai, Body::Accept(body)));
    }
    if !out.is_empty() {
        store.writer().append(out, FlushTiming::Now)?;
    }
    Ok(())
}

fn is_claim(accept: &Accept) -> bool {
    accept.resolution.is_none() && accept.yields_to.is_none()
}

/// The acknowledgements among lines, in order of their ids.
fn accepts(transfer: &TransferLines) -> BTreeMap<Id, (Record, Accept)> {
    let records = transfer.lines.iter().filter_map(|line| decode(&line.bytes));
    let accepts = records.filter_map(|record| match &record.body {
        Body::Accept(accept) => Some((record.envelope.id.clone(), (record.clone(), accept.clone()))),
        _ => None,
    });
    accepts.collect()
}

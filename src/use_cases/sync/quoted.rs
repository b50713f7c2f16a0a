//! Handoffs that were written before their clone knew that a claim is no longer in force.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::index::RecordQuery;
use empirica_notes::error::Result;
use empirica_notes::format::record::encode;
use empirica_notes::store::FlushTiming;

/// Adds retracts in force to the notes of handoffs and digests that quote what they name, so that readers of a single note, such as
/// git log, leave it out. Every clone adds the same lines.
pub fn complete(context: &CommandContext<'_>) -> Result<()> {
    let index = context.index()?;
    let retracts = index.kinds(&["retract"], RecordQuery::default())?;
    for retract in retracts.records() {
        let id = &retract.envelope.id;
        let has = index.notes_of(id)?;
        let mut lacks = BTreeSet::new();
        for quoting in index.quoting(retract.referenced_ids())?.records() {
            lacks.extend(index.notes_of(&quoting.envelope.id)?.difference(&has).copied());
        }
        // a record of a later version may have keys that this program does not know
        let is_whole = retracts.line(id) == Some(encode(retract).as_bytes());
        if is_whole && !lacks.is_empty() {
            context.store.writer().append_in_notes(retract, &lacks, None, FlushTiming::Now)?;
        }
    }
    Ok(())
}

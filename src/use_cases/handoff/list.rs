//! Lists the handoffs in force.

use crate::context::CommandContext;
use crate::context::handoffs::{ListedHandoff, in_force};
use crate::fold::task::handoffs::taken_up;
use crate::index::{HandoffQuery, RecordQuery};
use empirica_notes::error::Result;

/// The handoffs in force, newest first, of `--session` or `--ai` if given; with `unacknowledged` only those without an
/// acknowledgement by another session.
pub fn list(context: &CommandContext<'_>, unacknowledged: bool) -> Result<(Vec<ListedHandoff>, Vec<String>)> {
    let mut warnings = context.store.reconcile();
    let session = match &context.selection.session {
        Some(name) => Some(crate::context::names::session(context, name)?.id),
        None => None,
    };
    let query = HandoffQuery { session, ai: context.selection.ai.clone(), ..HandoffQuery::default() };
    let mut listed = in_force(context, &query, usize::MAX)?;
    if unacknowledged {
        let acknowledged = taken_up(context.index()?.kinds(&["accept"], RecordQuery::default())?.records());
        listed.retain(|listed| !acknowledged.contains(&listed.envelope.id));
    }
    let shown = listed.iter().map(|listed| listed.envelope.id.clone()).collect();
    warnings.extend(context.index()?.doubts(&shown)?);
    Ok((listed, warnings))
}

//! The handoffs in force, as a list.

use crate::context::CommandContext;
use crate::context::handoffs::{ListedHandoff, in_force};
use crate::index::{HandoffQuery as Wanted, RecordQuery};
use empirica_notes::error::Result;

/// The handoffs in force, newest first: those of `--session` or `--ai` when given; `unacknowledged` only those that no other
/// session than their own has taken up.
pub fn list(context: &CommandContext<'_>, unacknowledged: bool) -> Result<(Vec<ListedHandoff>, Vec<String>)> {
    let warnings = context.store.reconcile();
    let session = match &context.selection.session {
        Some(given) => Some(crate::context::names::session(context, given)?.id),
        None => None,
    };
    let wanted = Wanted { session, ai: context.selection.ai.clone(), ..Wanted::default() };
    let mut listed = in_force(context, &wanted, usize::MAX)?;
    if unacknowledged {
        let taken_up = crate::fold::task::handoffs::taken_up(
            context.index()?.kinds(&["accept"], RecordQuery::default())?.records(),
        );
        listed.retain(|listed| !taken_up.contains(&listed.head.id));
    }
    Ok((listed, warnings))
}

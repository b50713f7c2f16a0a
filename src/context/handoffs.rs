//! The handoffs in force, whole, each with the commit it is at home on.

use crate::context::CommandContext;
use crate::index::{HandoffQuery as Wanted, HandoffRow, Index};
use empirica_notes::error::Result;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::{Body, Envelope, Handoff, Id, SessionId};

/// A stored handoff with its envelope.
#[derive(Debug, Clone)]
pub struct ListedHandoff {
    pub head: Envelope,
    pub handoff: Handoff,
}

/// The handoffs that no newer one of their session has taken the place of and that are wanted, newest first, `most` of
/// them, each with the commit it is at home on.
pub fn in_force(context: &CommandContext<'_>, wanted: &Wanted, most: usize) -> Result<Vec<ListedHandoff>> {
    let index = context.index()?;
    let (rows, _) = index.handoffs(wanted, most, None)?;
    listed(&index, &rows)
}

/// Handoffs that the index found, whole.
pub fn listed(index: &Index<'_>, rows: &[HandoffRow]) -> Result<Vec<ListedHandoff>> {
    whole(index, &rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>())
}

/// The handoffs of these ids, whole, each with the commit it is at home on, in the order given.
pub fn whole(index: &Index<'_>, ids: &[Id]) -> Result<Vec<ListedHandoff>> {
    let whole = index.placed(ids)?.into_iter().filter_map(|record| match record.body {
        Body::Handoff(handoff) => Some(ListedHandoff { head: record.head, handoff: *handoff }),
        _ => None,
    });
    Ok(whole.collect())
}

/// The handoff of a session that is in force; of several, the newest that says most.
pub fn of_session(context: &CommandContext<'_>, session: &SessionId) -> Result<Option<ListedHandoff>> {
    newest(&context.index()?, &Wanted { session: Some(session.clone()), ..Wanted::default() })
}

/// The newest handoff in force that is wanted and hands over work, else the newest.
pub fn newest(index: &Index<'_>, wanted: &Wanted) -> Result<Option<ListedHandoff>> {
    let mut first = None;
    for most in [1, 20, usize::MAX] {
        let found = listed(index, &index.handoffs(wanted, most, None)?.0)?;
        let all = found.len() < most;
        first = first.or_else(|| found.first().cloned());
        let work = found.into_iter().find(|listed| Substance::of(&listed.handoff) == Substance::Work);
        if work.is_some() || all {
            return Ok(work.or(first));
        }
    }
    Ok(first)
}

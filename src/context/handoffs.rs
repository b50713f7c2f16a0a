//! Handoffs in force, with the commit they are placed on.

use crate::context::CommandContext;
use crate::index::{HandoffQuery, HandoffRow, Index};
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Envelope, Handoff, Id, Record, SessionId};

/// A stored handoff with its envelope.
#[derive(Debug, Clone)]
pub struct ListedHandoff {
    pub envelope: Envelope,
    pub handoff: Handoff,
}

impl ListedHandoff {
    pub fn record(&self) -> Record {
        Record { envelope: self.envelope.clone(), body: Body::Handoff(Box::new(self.handoff.clone())) }
    }
}

/// The newest `most` matching handoffs in force, newest first.
pub fn in_force(context: &CommandContext<'_>, query: &HandoffQuery, most: usize) -> Result<Vec<ListedHandoff>> {
    let index = context.index()?;
    of_rows(&index, &index.handoff_rows(query, most)?)
}

pub fn of_rows(index: &Index<'_>, rows: &[HandoffRow]) -> Result<Vec<ListedHandoff>> {
    by_ids(index, &rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>())
}

/// The handoffs with these IDs, in the given order.
pub fn by_ids(index: &Index<'_>, ids: &[Id]) -> Result<Vec<ListedHandoff>> {
    let handoffs = index.placed(ids)?.into_iter().filter_map(|record| match record.body {
        Body::Handoff(handoff) => Some(ListedHandoff { envelope: record.envelope, handoff: *handoff }),
        _ => None,
    });
    Ok(handoffs.collect())
}

/// The handoff of a session in force, as [`newest`].
pub fn of_session(context: &CommandContext<'_>, session: &SessionId) -> Result<Option<ListedHandoff>> {
    newest(&context.index()?, &HandoffQuery { session: Some(session.clone()), ..HandoffQuery::default() })
}

/// The newest matching handoff in force that hands over work; if none does, the newest.
pub fn newest(index: &Index<'_>, query: &HandoffQuery) -> Result<Option<ListedHandoff>> {
    let row = match index.newest_handoff(&HandoffQuery { works: true, ..query.clone() })? {
        None => index.newest_handoff(query)?,
        found => found,
    };
    Ok(of_rows(index, row.as_slice())?.pop())
}

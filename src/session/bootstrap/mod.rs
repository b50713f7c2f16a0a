//! What a new context needs to know about the project: everybody's work, what is open, what failed.

pub mod memory;
pub mod overview;
pub mod sections;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::active;
use crate::context::handoffs::newest as newest_handoff;
use crate::context::{CommandContext, names};
use crate::index::{HandoffQuery, Index, RecordQuery};
use crate::session::bootstrap::memory::Memory;
use crate::session::bootstrap::overview::{Overview, overview};
use empirica_notes::error::Result;
use empirica_notes::model::SessionId;
use empirica_notes::model::journal::MEMORY;
use empirica_notes::store::Scan;

/// For whom.
#[derive(Debug, Clone, Default)]
pub struct BootstrapRequest {
    /// The session that asks: its things come first. `None`: the one the user named, else the one at work here, else
    /// nobody's.
    pub own: Option<SessionId>,
}

/// The project as it stands.
#[derive(Debug)]
pub struct BootstrapOutcome {
    /// What there is to know; handoffs with the commit they are at home on.
    pub overview: Overview,
    /// What is kept in mind.
    pub memory: Memory,
    /// Whether the user said who asks: then the same command must say it, too.
    pub named: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How many of a kind are looked at, the newest first. Of findings, what lies further back weighs less than a sixth.
const LOOKED_AT: usize = 250;

/// Looks at what is at work, open, and newest. A repository in which nothing is stored is an empty overview.
pub fn run(context: &CommandContext<'_>, request: &BootstrapRequest) -> Result<BootstrapOutcome> {
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    let own = match &request.own {
        Some(own) => Some(own.clone()),
        None => asking(context, &index, &mut warnings)?,
    };
    let scan = at_hand(&index, own.as_ref())?;
    let mut sessions = BTreeMap::new();
    for id in scan.records().filter_map(|record| record.head.session.as_ref()) {
        if !sessions.contains_key(id)
            && let Some(known) = index.session_row(id)?
        {
            sessions.insert(id.clone(), known.session);
        }
    }
    let mut overview = overview(scan.records().collect::<Vec<_>>(), &sessions, own.as_ref());
    (overview.sessions, overview.agents) = (index.count_sessions()?, index.agents()?.len());
    for handed in &mut overview.handoffs {
        if let Some(placed) = index.placed(std::slice::from_ref(&handed.head.id))?.pop() {
            handed.head = placed.head;
        }
    }
    let memory = kept_in_mind(&index, &overview)?;
    let named = request.own.is_none() && (context.selection.session.is_some() || context.selection.ai.is_some());
    Ok(BootstrapOutcome { overview, memory, named, warnings })
}

/// The records that the overview is made of: all of the session that asks, of active sessions and of the newest one of each
/// agent, open goals, and the newest of what was said by all.
fn at_hand(index: &Index<'_>, own: Option<&SessionId>) -> Result<Scan> {
    let newest = index.agents()?.into_iter();
    let mut sessions: BTreeSet<SessionId> = newest.clone().map(|(_, session)| session).collect();
    sessions.extend(index.sessions(true)?.into_iter().map(|session| session.id));
    sessions.extend(own.cloned());
    let only = RecordQuery { newest: Some(LOOKED_AT), ..RecordQuery::default() };
    let mut out = index.kinds(&["finding", "dead_end", "mistake", "decision"], only)?;
    out.merge(index.ids(&index.open("unknown", LOOKED_AT)?)?);
    out.merge(index.goals(&index.open("goal", LOOKED_AT)?)?);
    for id in &sessions {
        out.merge(index.session(id)?);
    }
    for (ai, _) in newest {
        let last = HandoffQuery { ai: Some(ai), ..HandoffQuery::default() };
        out.merge(index.ids(newest_handoff(index, &last)?.iter().map(|listed| &listed.head.id))?);
    }
    Ok(out)
}

/// What is kept in mind: the last decisions, what was said to be kept, and the task of the session that asks, else of the one
/// that was seen last.
fn kept_in_mind(index: &Index<'_>, overview: &Overview) -> Result<Memory> {
    let newest = RecordQuery { newest: Some(2 * memory::DECISIONS), ..RecordQuery::default() };
    let mut scan = index.kinds(&["decision"], newest)?;
    for word in MEMORY {
        scan.merge(index.memory(word, 2 * memory::TEXTS)?);
    }
    let own = overview.active_sessions.iter().find(|active| active.own).or(overview.active_sessions.first());
    Ok(memory::memory(scan.records(), own.and_then(|active| active.session.task.clone())))
}

/// The session that asks: as named by `--session`, or by `EMPIRICA_SESSION` without `--ai`, else the newest active one here of
/// the named agent, else that agent's newest anywhere, else the only agent's active here. `None` when it cannot be told.
fn asking(context: &CommandContext<'_>, index: &Index<'_>, warnings: &mut Vec<String>) -> Result<Option<SessionId>> {
    if let Some(given) = &context.selection.session {
        return Ok(Some(names::session(context, given)?.id));
    }
    let in_environment = context.env.get("EMPIRICA_SESSION").filter(|_| context.selection.ai.is_none());
    if let Some(given) = in_environment {
        match names::session(context, given) {
            Ok(session) => return Ok(Some(session.id)),
            // what is set once for many repositories keeps nobody from reading this one
            Err(error) => warnings.push(format!("EMPIRICA_SESSION is left out: {error}")),
        }
    }
    let active = active::load(context)?;
    if let Some(ai) = context.named_ai() {
        if let Some(session) = active.iter().rev().find(|session| session.ai == ai) {
            return Ok(Some(session.id.clone()));
        }
        let newest = index.agents()?.into_iter().find(|(name, _)| name == ai).map(|(_, session)| session);
        if newest.is_none() && context.selection.ai.is_some() {
            warnings.push(format!("no session of {ai} is stored here: nothing is marked as its own"));
        }
        return Ok(newest);
    }
    let several = active.iter().any(|session| active.first().is_some_and(|first| first.ai != session.ai));
    Ok(active.last().filter(|_| !several).map(|session| session.id.clone()))
}

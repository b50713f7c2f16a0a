//! The project for a new context: the work of all agents, open goals and questions, what failed.

pub mod memory;
pub mod overview;
pub mod sections;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::active;
use crate::context::claims;
use crate::context::claims::anchors::Anchors;
use crate::context::claims::inject::{self, Inject};
use crate::context::claims::signed::signers;
use crate::context::handoffs::newest as newest_handoff;
use crate::context::{CommandContext, names};
use crate::fold::journal;
use crate::index::{HandoffQuery, Index, RecordQuery};
use crate::use_cases::session::project_overview::memory::Memory;
use crate::use_cases::session::project_overview::overview::{Overview, overview};
use empirica_notes::error::Result;
use empirica_notes::model::journal::MEMORY;
use empirica_notes::model::{Id, Record, SessionId};
use empirica_notes::store::Scan;

/// The state of the project.
#[derive(Debug)]
pub struct ProjectOverviewOutcome {
    /// Handoffs have the commit they are attached to.
    pub overview: Overview,
    pub memory: Memory,
    /// Whether the user named the requesting session: a command that repeats the request names it too.
    pub named: bool,
    pub warnings: Vec<String>,
}

/// The kinds of claims, and of what can be open.
const CLAIMS: [&str; 4] = ["finding", "dead_end", "mistake", "decision"];
const OPEN: [&str; 2] = ["unknown", "goal"];

/// How much of the project is read, the newest first.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The most records of a kind, and assessments of a session.
    claims: usize,
    /// The most active sessions, and agents, each with its newest session and its handoff.
    sessions: usize,
    /// Whether only what `empirica.inject` admits is read.
    pub is_unasked: bool,
}

impl Extent {
    /// Older findings have less than a sixth of their importance.
    pub const WHOLE: Self = Extent { claims: 250, sessions: 250, is_unasked: false };

    /// For some hundred tokens that an agent waits for and did not ask for: its own session, and claims.
    pub fn unasked(context: &CommandContext<'_>) -> Self {
        let claims = match Inject::configured(context.repo) {
            Inject::All => 8,
            // few of the newest may be admitted
            Inject::Signed | Inject::Mine => Self::WHOLE.claims,
        };
        Extent { claims, sessions: 0, is_unasked: true }
    }
}

/// Reads the state of the project for the session that the user named, else for the active one here. A repository without records
/// has an empty overview.
pub fn run(context: &CommandContext<'_>) -> Result<ProjectOverviewOutcome> {
    let named = context.selection.session.is_some() || context.selection.ai.is_some();
    let own = |index: &Index<'_>, warnings: &mut Vec<String>| requesting_session(context, index, warnings);
    Ok(ProjectOverviewOutcome { named, ..read_for(context, own, Extent::WHOLE)? })
}

/// The same for the session `own`, or one without records, to that extent.
pub fn read(context: &CommandContext<'_>, own: Option<SessionId>, extent: Extent) -> Result<ProjectOverviewOutcome> {
    read_for(context, |_, _| Ok(own), extent)
}

fn read_for(
    context: &CommandContext<'_>,
    own: impl FnOnce(&Index<'_>, &mut Vec<String>) -> Result<Option<SessionId>>,
    extent: Extent,
) -> Result<ProjectOverviewOutcome> {
    let mut warnings = context.store.reconcile();
    let index = context.index()?;
    let own = own(&index, &mut warnings)?;
    let mut scan = overview_records(&index, own.as_ref(), extent)?;
    let is_whole = !extent.is_unasked || inject::admit(context, &mut scan)?;
    // what others say of a session of this clone does not count
    let mut sessions = if is_whole { BTreeMap::new() } else { journal::sessions(scan.records()) };
    for id in scan.records().filter_map(|record| record.envelope.session.as_ref()) {
        if is_whole
            && !sessions.contains_key(id)
            && let Some(row) = index.session_row(id)?
        {
            sessions.insert(id.clone(), row.session);
        }
    }
    let records: Vec<&Record> = scan.records().collect();
    let mut overview = overview(&records, &sessions, own.as_ref(), context.store.horizon());
    (overview.sessions, overview.active, overview.agents) =
        (index.count_sessions()?, index.count_active()?, index.agents()?.len());
    for handoff in &mut overview.handoffs {
        if let Some(placed) = index.placed(std::slice::from_ref(&handoff.handoff_id))?.pop() {
            handoff.commit = placed.envelope.commit;
        }
    }
    for kind in CLAIMS.into_iter().chain(OPEN) {
        let unread = if is_whole { index.count_open(kind)?.saturating_sub(extent.claims) } else { 0 };
        overview.unread.insert(kind, unread);
    }
    let replacing = index.replacing()?;
    let rivals = |id: &Id| if replacing.contains(id) { index.rivals(id) } else { Ok(Vec::new()) };
    let claims: Vec<&Record> = records.iter().copied().filter(|record| claims::is_claim(&record.body)).collect();
    let mut anchors = if extent.is_unasked { Anchors::unasked(context) } else { Anchors::new(context) };
    let places = anchors.of(claims.iter().map(|record| &record.envelope.id))?;
    let signers = signers(context, claims)?;
    overview.set_states(places, signers, |until, places| claims::has_run_out(context, until, places), rivals)?;
    let mut remembered = memory_records(&index)?;
    if !is_whole {
        inject::admit(context, &mut remembered)?;
    }
    let current = overview.active_sessions.iter().find(|active| active.own).or(overview.active_sessions.first());
    let memory =
        memory::memory(remembered.records(), current.and_then(|active| active.task.clone()), context.store.horizon());
    Ok(ProjectOverviewOutcome { overview, memory, named: false, warnings })
}

/// The records for the overview: all of the requesting session; of active sessions and of the newest one of each agent the last
/// record and the assessments; open goals, and the claims of all sessions that were made or confirmed last.
fn overview_records(index: &Index<'_>, own: Option<&SessionId>, extent: Extent) -> Result<Scan> {
    let newest = index.agents()?.into_iter().take(extent.sessions);
    let mut sessions: BTreeSet<SessionId> = newest.clone().map(|(_, session)| session).collect();
    sessions.extend(index.sessions(true)?.into_iter().rev().take(extent.sessions).map(|session| session.id));
    let only = RecordQuery { newest: Some(extent.claims), ..RecordQuery::default() };
    let mut out = index.kinds(&CLAIMS, only)?;
    let [unknowns, goals] = OPEN.map(|kind| index.open(kind, extent.claims));
    out.merge(index.ids(&unknowns?)?);
    if index.count("confirm")? > 0 {
        let renewed = index.kinds(&["confirm"], only)?;
        let mut of = index.ids(renewed.records().flat_map(Record::referenced_ids))?;
        // a question may have been answered
        let is_claim = |record: &&Record| CLAIMS.contains(&record.body.kind());
        let claims: BTreeSet<Id> = of.records().filter(is_claim).map(|record| record.envelope.id.clone()).collect();
        of.retain(|id| claims.contains(id));
        out.merge(of);
        let claims: Vec<Id> = out.records().map(|record| record.envelope.id.clone()).collect();
        out.merge(index.naming(&claims, &["confirm"])?);
    }
    out.merge(index.goals(&goals?)?);
    out.merge(index.assessed(&sessions, extent.claims)?);
    if let Some(own) = own {
        out.merge(index.session(own)?);
    }
    for (ai, _) in newest {
        let last = HandoffQuery { ai: Some(ai), ..HandoffQuery::default() };
        out.merge(index.ids(newest_handoff(index, &last)?.iter().map(|listed| &listed.envelope.id))?);
    }
    Ok(out)
}

/// The last decisions and the findings in memory.
fn memory_records(index: &Index<'_>) -> Result<Scan> {
    let newest = RecordQuery { newest: Some(2 * memory::DECISIONS), ..RecordQuery::default() };
    let mut scan = index.kinds(&["decision"], newest)?;
    for kind in MEMORY {
        scan.merge(index.memory(kind, 2 * memory::TEXTS)?);
    }
    Ok(scan)
}

/// The session that `--session` names, or `EMPIRICA_SESSION` without `--ai`, else the newest active one here of the named
/// agent, else that agent's newest anywhere, else the newest active here if all are one agent's. `None` if there is none.
fn requesting_session(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<SessionId>> {
    if let Some(name) = &context.selection.session {
        return Ok(Some(names::session(context, name)?.id));
    }
    let in_environment = context.env.get("EMPIRICA_SESSION").filter(|_| context.selection.ai.is_none());
    if let Some(name) = in_environment {
        match names::session(context, name) {
            Ok(session) => return Ok(Some(session.id)),
            // the variable may be set for many repositories
            Err(error) => warnings.push(format!("EMPIRICA_SESSION ignored: {error}")),
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

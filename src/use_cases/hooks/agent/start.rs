//! The start of a session: what its agent is told.

use crate::context::claims::inject::{self, Inject};
use crate::context::claims::signed::signers;
use crate::context::handoffs::ListedHandoff;
use crate::context::{CommandContext, active, handoffs, records, tasks};
use crate::fold::assessment::drift::WINDOW;
use crate::fold::assessment::gate::Gate;
use crate::fold::assessment::session_gate::gate;
use crate::index::{HandoffQuery, Index};
use crate::use_cases::handoff::arrival::PendingChanges;
use crate::use_cases::handoff::arrival::fold::Arrival;
use crate::use_cases::hooks::agent::background::{LARGE, in_new_process, is_in_background};
use crate::use_cases::hooks::agent::event::{HookEvent, StartSource};
use crate::use_cases::hooks::agent::event_session::{self, EventSession};
use crate::use_cases::hooks::agent::injection::{Injection, SessionBrief};
use crate::use_cases::hooks::agent::{compaction, new_clone};
use crate::use_cases::hooks::errors::in_one_line;
use crate::use_cases::session::project_overview::{Extent, ProjectOverviewOutcome};
use crate::use_cases::session::{project_overview, unattended};
use empirica_notes::error::Result;
use empirica_notes::model::SessionId;

/// Default of `empirica.startBudget`, in tokens.
const START_BUDGET: usize = 500;

pub fn on_session_start(
    context: &mut CommandContext<'_>,
    event: &HookEvent,
    source: StartSource,
    payload: &[u8],
) -> Result<Option<Injection>> {
    if source == StartSource::Compact {
        return compaction::after(context, event, true);
    }
    let hook = format!("agent {} {}", event.agent.name(), event.name);
    let lacks_setup = new_clone::lacks_setup(context)?;
    if lacks_setup {
        new_clone::fetch_notes(context, &hook)?;
    }
    let most = (!is_in_background(context.env)).then_some(LARGE);
    let leaves_some = match unattended::catch_up(context, most) {
        // the background begins the session
        Err(error) if context.index_cache.is_late() => return Err(error),
        Ok(leaves_some) => leaves_some,
        Err(error) => {
            // start the session anyway
            context.store.hook_errors().add(&hook, &in_one_line(&error));
            false
        }
    };
    if is_in_background(context.env) && event_session::known(context, event)?.is_some() {
        // it began, and may have ended since
        return Ok(None);
    }
    let budget = context.repo.config("empirica.startBudget").and_then(|text| text.parse().ok()).unwrap_or(START_BUDGET);
    // read before a new session is stored, as the index is made current for the next reader
    let read = (budget > 0).then(|| read(context, event));
    let Some(EventSession { id, continues }) = event_session::find_or_start(context, event, true)? else {
        return Ok(None);
    };
    context.belongs_to_this_agent(&id);
    if leaves_some && event.session.is_some() {
        // which finds the session by the agent's ID
        in_new_process(context, event, payload)?;
    }
    let Some(Project { overview, handed, inbox, warnings, signer, gate }) = read.transpose()? else { return Ok(None) };
    Ok(Some(Injection::Session(Box::new(SessionBrief {
        session: id,
        continues: continues || source == StartSource::Resume,
        project: overview,
        handed,
        inbox,
        warnings,
        now: context.store.now().to_rfc3339(),
        signer,
        gate,
        lacks_setup,
        budget,
    }))))
}

struct Project {
    overview: ProjectOverviewOutcome,
    /// The newest handoff with what changed since.
    handed: Option<(ListedHandoff, Arrival)>,
    /// What waits for the agent, and how much.
    inbox: (Vec<ListedHandoff>, usize),
    /// What its session took up, but another first; and doubts of who made the handoff.
    warnings: Vec<String>,
    signer: Option<String>,
    gate: Option<Gate>,
}

fn read(context: &CommandContext<'_>, event: &HookEvent) -> Result<Project> {
    let known = event_session::known(context, event)?;
    let index = context.index()?;
    let handoff = newest_handoff(context, &index)?;
    // it takes as long as the rest
    let changes = handoff.as_ref().map(|handoff| PendingChanges::start(context, &[handoff]));
    let before = handoff.as_ref().and_then(|listed| listed.envelope.session.as_ref());
    // the confidence that was lost before is told to whoever comes next
    let gate = match (&known, before) {
        (Some(continued), _) => Some(last_gate(context, &continued.id)?),
        (None, Some(before)) => Some(last_gate(context, before)?).filter(|gate| !gate.drift.is_safe()),
        (None, None) => None,
    };
    let own = known.filter(|session| session.is_active).map(|session| session.id);
    let overview = project_overview::read(context, own.clone(), Extent::unasked(context))?;
    let arrival = match changes {
        Some(changes) => changes.read_unasked(context)?.0.pop(),
        None => None,
    };
    let ai = context.author(None);
    let inbox = tasks::inbox::unasked(context, &ai, own.as_ref())?;
    let mut warnings = match &own {
        Some(own) => {
            let sessions: Vec<_> = active::cached(context).into_iter().filter(|session| session.id == *own).collect();
            tasks::inbox::lost(context, &sessions)?
        }
        None => Vec::new(),
    };
    let handed_over = handoff.iter().map(|listed| listed.envelope.id.clone()).collect();
    warnings.extend(index.doubts(&handed_over)?);
    let record = handoff.as_ref().map(ListedHandoff::record);
    let signer = signers(context, &record)?.into_values().next();
    Ok(Project { overview, handed: handoff.zip(arrival), inbox, warnings, signer, gate })
}

/// Most handoffs that are looked through for one that `empirica.inject` admits.
const LOOKED_THROUGH: usize = 50;

/// The newest handoff that the agent may be told of.
fn newest_handoff(context: &CommandContext<'_>, index: &Index<'_>) -> Result<Option<ListedHandoff>> {
    if Inject::configured(context.repo) == Inject::All {
        return handoffs::newest(index, &HandoffQuery::default());
    }
    let works = HandoffQuery { works: true, ..HandoffQuery::default() };
    let newest = handoffs::in_force(context, &works, LOOKED_THROUGH)?;
    let mut admitted = index.ids(newest.iter().map(|listed| &listed.envelope.id))?;
    inject::admit(context, &mut admitted)?;
    Ok(newest.into_iter().find(|listed| admitted.get(&listed.envelope.id).is_some()))
}

/// The gate of a session; without an assessment, that of the one that it continues.
fn last_gate(context: &CommandContext<'_>, id: &SessionId) -> Result<Gate> {
    let own = gate(&records::session(context, id)?, id, WINDOW);
    let parent = context.index()?.session_row(id)?.and_then(|row| row.session.from);
    match parent.filter(|_| own.drift.analyzed == 0) {
        Some(parent) => Ok(gate(&records::session(context, &parent)?, &parent, WINDOW)),
        None => Ok(own),
    }
}

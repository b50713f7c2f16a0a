//! What a new context needs to know about the project: everybody's work, what is open, what failed.

use super::alias;
use super::context::Context;
use super::current::Current;
use crate::epistemics::journal::sessions;
use crate::epistemics::overview::{Overview, overview};
use crate::error::Result;
use crate::model::SessionId;
use crate::store::{Homes, Scan};

/// For whom.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The session that asks: its things come first. `None`: the one the user named, else the one at work here, else
    /// nobody's.
    pub own: Option<SessionId>,
}

/// The project as it stands.
#[derive(Debug)]
pub struct Outcome {
    /// What there is to know; handoffs with the commit they are at home on.
    pub overview: Overview,
    /// Whether the user said who asks: then the same command must say it, too.
    pub named: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Looks at everything once. A repository in which nothing is stored is an empty overview.
pub fn run(context: &Context<'_>, request: &Request) -> Result<Outcome> {
    let mut warnings = context.store.settle();
    let scan = context.store.scan_all()?;
    let own = match &request.own {
        Some(own) => Some(own.clone()),
        None => asking(context, &scan, &mut warnings)?,
    };
    let mut overview = overview(scan.records().collect::<Vec<_>>(), own.as_ref());
    let homes = Homes::new(&scan);
    for handed in &mut overview.handoffs {
        if let Some(entry) = scan.get(&handed.head.id) {
            handed.head = homes.placed(&context.store, entry).head;
        }
    }
    let named = request.own.is_none() && (context.asked.session.is_some() || context.asked.ai.is_some());
    Ok(Outcome { overview, named, warnings })
}

/// The session that asks: as named by `--session`, or by `EMPIRICA_SESSION` without `--ai`, else the newest active one here of
/// the named agent, else that agent's newest anywhere, else the only agent's active here. `None` when it cannot be told.
fn asking(context: &Context<'_>, scan: &Scan, warnings: &mut Vec<String>) -> Result<Option<SessionId>> {
    if let Some(given) = &context.asked.session {
        return Ok(Some(alias::session(context, given)?.id));
    }
    let in_environment = context.env.get("EMPIRICA_SESSION").filter(|_| context.asked.ai.is_none());
    if let Some(given) = in_environment {
        match alias::session(context, given) {
            Ok(session) => return Ok(Some(session.id)),
            // what is set once for many repositories keeps nobody from reading this one
            Err(error) => warnings.push(format!("EMPIRICA_SESSION is left out: {error}")),
        }
    }
    let active = Current::load(context)?.active;
    if let Some(ai) = context.named_ai() {
        if let Some(session) = active.iter().rev().find(|session| session.ai == ai) {
            return Ok(Some(session.id.clone()));
        }
        let of_agent = sessions(scan.records()).into_values().filter(|session| session.ai == ai);
        let newest = of_agent.max_by(|a, b| a.began.cmp(&b.began)).map(|session| session.id);
        if newest.is_none() && context.asked.ai.is_some() {
            warnings.push(format!("no session of {ai} is stored here: nothing is marked as its own"));
        }
        return Ok(newest);
    }
    let several = active.iter().any(|session| active.first().is_some_and(|first| first.ai != session.ai));
    Ok(active.last().filter(|_| !several).map(|session| session.id.clone()))
}

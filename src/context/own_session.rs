//! Which of the active sessions is the caller's own.

use empirica_notes::git::process::ancestors::{Ancestor, chain, is_running};
use empirica_notes::model::SessionId;

use crate::context::CommandContext;
use crate::context::active::{self, ActiveSession};
use crate::context::caller::stored_id;

/// The outcome of looking for the caller's own session.
#[derive(Debug, PartialEq)]
pub enum OwnSession<'s> {
    None,
    /// By its id or its process.
    Certain(&'s ActiveSession),
    /// No other may be its own.
    Likely(&'s ActiveSession),
    /// Nothing tells which of them.
    Several(Vec<&'s ActiveSession>),
}

impl CommandContext<'_> {
    /// The caller's own id of its session.
    pub(crate) fn external_id(&self) -> Option<String> {
        match &self.selection.client {
            Some(client) => client.session.clone(),
            None => {
                let agent = self.env.agent()?;
                self.env.agent_session(agent).map(|id| stored_id(agent.name(), id))
            }
        }
    }

    /// The processes of a session that the caller, an agent, starts: nearest first.
    pub(crate) fn processes(&self) -> Vec<String> {
        let chain = chain();
        let server = chain.first().filter(|_| self.selection.client.is_some());
        let agent = chain.iter().skip(1).find(|process| !process.is_wrapper);
        server.into_iter().chain(agent).map(|process| process.id.clone()).collect()
    }

    /// The newest session that the agent which runs this process started or resumed.
    pub(crate) fn of_agent_process<'s>(&self, active: &'s [ActiveSession]) -> Option<&'s ActiveSession> {
        let own = self.processes();
        active.iter().rev().find(|session| session.processes.iter().any(|process| own.contains(process)))
    }

    /// Remembers that a session of this worktree belongs to the agent that runs this process.
    pub(crate) fn belongs_to_this_agent(&self, id: &SessionId) {
        let known = active::cached(self).into_iter().find(|session| session.id == *id);
        let processes = self.processes();
        if let Some(session) = known.filter(|session| session.processes != processes) {
            // if this fails, it is told from others by its id alone
            let _ = active::begin(self, &ActiveSession { processes, ..session });
        }
    }

    /// The session among `active` that is the caller's own: the one with its own id, else the only one of its process, else the
    /// only one of its name that may be its own.
    pub(crate) fn own<'s>(&self, active: &'s [ActiveSession]) -> OwnSession<'s> {
        self.own_by_name(active, self.named_ai())
    }

    /// As [`Self::own`], with another name in place of `--ai` and `EMPIRICA_AI`.
    pub(crate) fn own_by_name<'s>(&self, active: &'s [ActiveSession], named: Option<&str>) -> OwnSession<'s> {
        let Some(name) = named.map(str::to_owned).or_else(|| self.running_as()) else { return OwnSession::None };
        let of_name: Vec<&ActiveSession> = active.iter().filter(|session| session.ai == name).collect();
        let id = self.external_id();
        if let Some(id) = &id {
            let mut with_id = active.iter().rev().filter(|session| session.external_id.as_ref() == Some(id));
            // only --ai, not a name for all that an agent starts, is another session's
            let of_other = named.filter(|_| self.selection.ai.is_some());
            let found = with_id.find(|session| of_other.is_none_or(|name| session.ai == name));
            if let Some(found) = found {
                return OwnSession::Certain(found);
            }
        }
        if of_name.is_empty() {
            return OwnSession::None;
        }
        let chain = if self.is_agent() || named.is_some() { chain() } else { Vec::new() };
        if let Some(nearest) = of_name.iter().filter_map(|session| distance(session, &chain)).min() {
            let nearest = of_name.iter().filter(|session| distance(session, &chain) == Some(nearest));
            return match only(nearest.copied().collect()) {
                OwnSession::Likely(session) => OwnSession::Certain(session),
                several => several,
            };
        }
        let may_be_own = |session: &&&ActiveSession| {
            let is_other = id.is_some() && session.external_id.is_some();
            let has_caller = self.is_agent() && !session.by_hook && session.processes.iter().any(|id| is_running(id));
            !is_other && !has_caller
        };
        only(of_name.iter().filter(may_be_own).copied().collect())
    }
}

/// How far above the caller the process of a session is; `None` if it is not.
fn distance(session: &ActiveSession, chain: &[Ancestor]) -> Option<usize> {
    let (nearest, others) = session.processes.split_first()?;
    let place = |id: &String| chain.iter().position(|process| process.id == *id);
    // another server of the same agent has another conversation
    place(nearest).or_else(|| others.iter().find_map(place).filter(|_| !is_running(nearest)))
}

/// The only one; of several, the newest, as the last one that was started, unless two are of agents that gave them an id.
pub(crate) fn only(sessions: Vec<&ActiveSession>) -> OwnSession<'_> {
    match sessions.last() {
        None => OwnSession::None,
        Some(_) if sessions.iter().filter(|session| session.external_id.is_some()).count() > 1 => {
            OwnSession::Several(sessions)
        }
        Some(newest) => OwnSession::Likely(newest),
    }
}

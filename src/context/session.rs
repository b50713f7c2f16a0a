//! The session of a command: the named one, otherwise the active one, otherwise a new one.

use crate::context::active::ActiveSession;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, active, names};
use empirica_notes::error::{Error, Result, empirica, option, text};
use empirica_notes::model::session::SessionStart;
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::FlushTiming;
use empirica_transcripts::model::Agent;

impl<'a> CommandContext<'a> {
    /// The session to read: as named by `--session` or `EMPIRICA_SESSION`, otherwise the newest active one of the agent in this
    /// worktree, otherwise that of the only active agent.
    pub fn working(&self) -> Result<WorkingSession> {
        if let Some(named) = self.named_session()? {
            return Ok(named);
        }
        let active = active::load(self)?;
        if let Some(session) = self.own(&active).or_else(|| only_agent(&active)) {
            return Ok(self.working_in(session));
        }
        Err(self.none_or_several(&active))
    }

    /// The session to write to: as for reading, but not another agent's. Without one, starts one.
    pub fn writing(&self) -> Result<WorkingSession> {
        if let Some(own) = self.own_session()? {
            return Ok(own);
        }
        // another process may be starting it
        let _turn = self.store.read_decide_write_lock();
        self.writing_in_turn()
    }

    /// As [`Self::writing`], for a caller that has the turn.
    pub fn writing_in_turn(&self) -> Result<WorkingSession> {
        if let Some(own) = self.own_session()? {
            return Ok(own);
        }
        let session = WorkingSession { id: SessionId::random(), ai: self.author(None), note: None };
        let start = SessionStart {
            task: None,
            kind: None,
            external_id: None,
            worktree: self.store.paths().worktree().to_owned(),
            place: self.store.paths().worktree_id(),
            from: None,
            from_handoff: None,
        };
        let (_, stored) = begin(self, &session, start, false)?;
        self.began.replace(Some((session.clone(), stored)));
        Ok(session)
    }

    /// The session to write to, if any; starts none.
    pub fn own_session(&self) -> Result<Option<WorkingSession>> {
        if let Some(named) = self.named_session()? {
            return Ok(Some(named));
        }
        Ok(self.open(&active::load(self)?)?.map(|session| self.working_in(&session)))
    }

    fn named_session(&self) -> Result<Option<WorkingSession>> {
        let Some(name) = self.selection.session.as_deref().or(self.env.get("EMPIRICA_SESSION")) else {
            return Ok(None);
        };
        let session = names::session(self, name)?;
        Ok(Some(WorkingSession { ai: self.author(Some(&session.ai)), id: session.id, note: None }))
    }

    /// The newest session of the named or running agent.
    fn own<'s>(&self, active: &'s [ActiveSession]) -> Option<&'s ActiveSession> {
        newest_of(self.named_ai().or(self.running())?, active)
    }

    /// The active session to write to: the agent's own, otherwise one that may be its own. A session is another's if the agent
    /// has another name, or if an agent runs the command and the session is the user's or that of a known agent.
    pub(crate) fn open(&self, active: &[ActiveSession]) -> Result<Option<ActiveSession>> {
        let is_other = |session: &&ActiveSession| {
            self.named_ai().is_some()
                || self.running().is_some()
                    && (Agent::parse(&session.ai).is_some()
                        || self.repo.config("user.name").as_ref() == Some(&session.ai))
        };
        let own = self.own(active).or_else(|| only_agent(active).filter(|session| !is_other(session)));
        if own.is_some() || active.is_empty() || self.named_ai().or(self.running()).is_some() {
            return Ok(own.cloned());
        }
        let own = newest_of(&self.author(None), active);
        own.cloned().map(Some).ok_or_else(|| self.none_or_several(active))
    }

    fn working_in(&self, session: &ActiveSession) -> WorkingSession {
        let ai = self.author(Some(&session.ai));
        let other = self.named_ai().filter(|named| *named != session.ai);
        let note = other.map(|named| {
            format!("{named} has no active session here: using session {} of {}", session.id.short(), session.ai)
        });
        WorkingSession { ai, id: session.id.clone(), note }
    }

    /// Error: a worktree has no active session, or those of several agents.
    fn none_or_several(&self, active: &[ActiveSession]) -> Error {
        let mut agents: Vec<&str> = active.iter().map(|session| session.ai.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        if agents.is_empty() {
            return Error::not_found("cannot choose a session: no active session here")
                .reason(format!(
                    "no session was started in the worktree '{}', or all have ended",
                    self.store.paths().worktree()
                ))
                .suggest(text!["The first record starts one; or name a session with ", option("--session"), "."])
                .command(names::start_command(self.named_ai()))
                .command(empirica("session list"));
        }
        let newest: Vec<&ActiveSession> = agents.iter().filter_map(|agent| newest_of(agent, active)).collect();
        let label = |session: &&ActiveSession| format!("{} (session {})", session.ai, session.id.short());
        let labels: Vec<String> = newest.iter().map(label).collect();
        let named = self.named_ai().map(|named| format!("{named} has none, and ")).unwrap_or_default();
        let mut error = Error::refused("cannot choose a session: several agents are active here")
            .reason(format!("{named}{} are active in this worktree", labels.join(" and ")))
            .suggest(text![
                "Name the agent with ",
                option("--ai"),
                " or EMPIRICA_AI, or the session with ",
                option("--session"),
                "; end sessions that are over."
            ]);
        for session in newest {
            error = error
                .alternative(session.id.as_str())
                .command(empirica("session end").option("--session", session.id.short()));
        }
        error
    }
}

fn newest_of<'s>(ai: &str, active: &'s [ActiveSession]) -> Option<&'s ActiveSession> {
    active.iter().rev().find(|session| session.ai == ai)
}

/// The newest session, if all are of one agent.
fn only_agent(active: &[ActiveSession]) -> Option<&ActiveSession> {
    active.last().filter(|last| active.iter().all(|session| session.ai == last.ai))
}

/// Stores the start of a session and caches it as active in this worktree; `by_hook`: an agent's hook starts it. Returns the
/// stored record.
pub fn begin(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    start: SessionStart,
    by_hook: bool,
) -> Result<(Option<Record>, StoreReport)> {
    let (records, mut stored) = context.store(session, vec![Body::SessionStart(start)], FlushTiming::Later)?;
    let first = records.into_iter().next();
    if let Some(first) = &first {
        // as stored, without secrets
        let (id, began, ai) = (session.id.clone(), first.envelope.id.clone(), first.envelope.ai.clone());
        let external_id = match &first.body {
            Body::SessionStart(start) => start.external_id.clone(),
            _ => None,
        };
        let cached = active::begin(context, &ActiveSession { id, began, ai, external_id, by_hook, task: None });
        if let Err(error) = cached {
            let id = &session.id;
            stored.warnings.push(format!("cannot remember the session in this worktree ({error}): name it, {id}"));
        }
    }
    Ok((first, stored))
}

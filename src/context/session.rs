//! The session of a command: the named one, otherwise the active one, otherwise a new one.

use crate::context::active::ActiveSession;
use crate::context::own_session::OwnSession;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, active, names, own_session};
use empirica_notes::error::{Error, Result, empirica, option, text};
use empirica_notes::model::session::SessionStart;
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::FlushTiming;
use empirica_transcripts::model::Agent;

impl<'a> CommandContext<'a> {
    /// The session to read: as named by `--session` or `EMPIRICA_SESSION`, otherwise the agent's own active one in this
    /// worktree, otherwise the only active one; for a person, the newest of the only active agent.
    pub fn working(&self) -> Result<WorkingSession> {
        if let Some(named) = self.named_session()? {
            return Ok(named);
        }
        let active = active::load(self)?;
        match self.own(&active) {
            OwnSession::Certain(session) | OwnSession::Likely(session) => Ok(self.working_in(session)),
            OwnSession::Several(sessions) => Err(self.none_or_several(&sessions)),
            OwnSession::None => {
                let is_agent = self.named_ai().or(self.running()).is_some();
                let only = only_agent(&active).filter(|_| active.len() == 1 || !is_agent || are_without_id(&active));
                only.map(|session| self.working_in(session))
                    .ok_or_else(|| self.none_or_several(&newest_of_each(&active)))
            }
        }
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
            external_id: self.external_id(),
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

    /// The active session to write to: the agent's own, otherwise one that may be its own. A session is another's if the agent
    /// has another name, or if an agent runs the command and the session is the user's or that of a known agent.
    pub(crate) fn open(&self, active: &[ActiveSession]) -> Result<Option<ActiveSession>> {
        let own = match self.own(active) {
            OwnSession::None if self.named_ai().is_some() => OwnSession::None,
            OwnSession::None if self.is_agent() => match (only_agent(active), self.external_id()) {
                (Some(last), id) if !self.is_other(last) && (id.is_none() || are_without_id(active)) => {
                    own_session::only(active.iter().collect())
                }
                _ => OwnSession::None,
            },
            OwnSession::None => match only_agent(active) {
                Some(_) => own_session::only(active.iter().collect()),
                // a person's own, beside those of agents
                None => own_session::only(active.iter().filter(|session| session.ai == self.author(None)).collect()),
            },
            own => own,
        };
        match own {
            OwnSession::Certain(session) | OwnSession::Likely(session) => Ok(Some(session.clone())),
            OwnSession::Several(sessions) => Err(self.none_or_several(&sessions)),
            OwnSession::None if active.is_empty() || self.named_ai().or(self.running()).is_some() => Ok(None),
            OwnSession::None => Err(self.none_or_several(&newest_of_each(active))),
        }
    }

    /// Whether a session is the user's or that of a known agent.
    fn is_other(&self, session: &ActiveSession) -> bool {
        Agent::parse(&session.ai).is_some() || self.repo.config("user.name").as_ref() == Some(&session.ai)
    }

    fn working_in(&self, session: &ActiveSession) -> WorkingSession {
        let ai = self.author(Some(&session.ai));
        let other = self.named_ai().filter(|named| *named != session.ai);
        let note = other.map(|named| {
            format!("{named} has no active session here: using session {} of {}", session.id.short(), session.ai)
        });
        WorkingSession { ai, id: session.id.clone(), note }
    }

    /// Error: a worktree has no active session, or several that it could be.
    pub(crate) fn none_or_several(&self, sessions: &[&ActiveSession]) -> Error {
        if sessions.is_empty() {
            return Error::not_found("cannot choose a session: no active session here")
                .reason(format!(
                    "no session was started in the worktree '{}', or all have ended",
                    self.store.paths().worktree()
                ))
                .suggest(text!["The first record starts one; or name a session with ", option("--session"), "."])
                .command(names::start_command(self.named_ai()))
                .command(empirica("session list"));
        }
        let label = |session: &&ActiveSession| format!("{} (session {})", session.ai, session.id.short());
        let labels: Vec<String> = sessions.iter().rev().take(SHOWN).map(label).collect();
        let is_of_one = sessions.iter().all(|session| session.ai == sessions[0].ai);
        let named = self.named_ai().filter(|_| !is_of_one).map(|named| format!("{named} has none, and "));
        let title = if is_of_one { "several are active here" } else { "several agents are active here" };
        let mut error = Error::refused(format!("cannot choose a session: {title}"))
            .reason(format!("{}{} are active in this worktree", named.unwrap_or_default(), labels.join(" and ")))
            .suggest(text![
                "Name the agent with ",
                option("--ai"),
                " or EMPIRICA_AI, or the session with ",
                option("--session"),
                "; end sessions that are over."
            ]);
        for session in sessions.iter().rev().take(SHOWN) {
            error = error
                .alternative(session.id.as_str())
                .command(empirica("session end").option("--session", session.id.short()));
        }
        error
    }
}

/// Most sessions shown by an error.
const SHOWN: usize = 5;

/// The newest session, if all are of one agent.
fn only_agent(active: &[ActiveSession]) -> Option<&ActiveSession> {
    active.last().filter(|last| active.iter().all(|session| session.ai == last.ai))
}

/// Whether agents gave none of the sessions an id of their own.
fn are_without_id(active: &[ActiveSession]) -> bool {
    active.iter().all(|session| session.external_id.is_none())
}

/// The newest session of each agent.
fn newest_of_each(active: &[ActiveSession]) -> Vec<&ActiveSession> {
    let mut newest: Vec<&ActiveSession> = Vec::new();
    for session in active {
        newest.retain(|other| other.ai != session.ai);
        newest.push(session);
    }
    newest.sort_by(|a, b| b.ai.cmp(&a.ai));
    newest
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
        // a person's commands are told apart by the name only
        let is_agent = by_hook || context.is_agent();
        let processes = if is_agent { context.processes() } else { Vec::new() };
        let session = ActiveSession { id, began, ai, external_id, by_hook, processes, task: None };
        let cached = active::begin(context, &session);
        if let Err(error) = cached {
            let id = &session.id;
            stored.warnings.push(format!("cannot remember the session in this worktree ({error}): name it, {id}"));
        }
    }
    Ok((first, stored))
}

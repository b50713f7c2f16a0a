//! The session a command works in: as named, else the active one, else one that begins.

use crate::context::active::{ActiveSession, ActiveSessions};
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, active, names};
use empirica_notes::error::{Error, Result, empirica, option, text};
use empirica_notes::model::session::SessionStart;
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::FlushTiming;
use empirica_transcripts::model::Agent;

impl<'a> CommandContext<'a> {
    /// The session the command reads of: as named by `--session` or `EMPIRICA_SESSION`, else the newest active one of
    /// the speaking agent in this worktree, else the only agent's active here.
    pub fn working(&self) -> Result<WorkingSession> {
        if let Some(named) = self.named_session()? {
            return Ok(named);
        }
        let active = ActiveSessions::load(self)?.active;
        if let Some(session) = self.own(&active).or_else(|| only_agent(&active)) {
            return Ok(self.speaking_in(session));
        }
        Err(self.none_or_several(&active))
    }

    /// The session the command writes to: as for reading, but another agent's is left to that agent. Where there is none, one begins.
    pub fn writing(&self) -> Result<WorkingSession> {
        self.written(|| self.store.decision_lock())
    }

    /// The same for who has the turn already.
    pub fn writing_in_turn(&self) -> Result<WorkingSession> {
        self.written(|| None::<()>)
    }

    /// The session the command writes to, if there is one; none begins.
    pub fn own_session(&self) -> Result<Option<WorkingSession>> {
        if let Some(named) = self.named_session()? {
            return Ok(Some(named));
        }
        Ok(self.open(&ActiveSessions::load(self)?.active)?.map(|session| self.speaking_in(&session)))
    }

    fn written<T>(&self, turn: impl FnOnce() -> Option<T>) -> Result<WorkingSession> {
        if let Some(own) = self.own_session()? {
            return Ok(own);
        }
        // another process may be about to begin it
        let _turn = turn();
        if let Some(own) = self.own_session()? {
            return Ok(own);
        }
        let who = WorkingSession { id: SessionId::random(), ai: self.author(None), note: None };
        let start = SessionStart {
            task: None,
            kind: None,
            external_id: None,
            worktree: self.store.paths().worktree().to_owned(),
            place: self.store.paths().place(),
            from: None,
            from_handoff: None,
        };
        let (_, stored) = begin(self, &who, start, false)?;
        self.began.replace(Some((who.clone(), stored)));
        Ok(who)
    }

    fn named_session(&self) -> Result<Option<WorkingSession>> {
        let Some(given) = self.selection.session.as_deref().or(self.env.get("EMPIRICA_SESSION")) else {
            return Ok(None);
        };
        let session = names::session(self, given)?;
        Ok(Some(WorkingSession { ai: self.author(Some(&session.ai)), id: session.id, note: None }))
    }

    /// The newest session of the speaking agent.
    fn own<'s>(&self, active: &'s [ActiveSession]) -> Option<&'s ActiveSession> {
        let of = |ai: &str| active.iter().rev().find(|session| session.ai == ai);
        self.named_ai().or(self.running()).and_then(of)
    }

    /// The session that what is said now belongs to: the speaker's own, else one that may be it. A session is another's when the
    /// speaker is named otherwise, or when an agent speaks and it is the user's or of another agent that is known.
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
        let ai = self.author(None);
        let own = active.iter().rev().find(|session| session.ai == ai);
        own.cloned().map(Some).ok_or_else(|| self.none_or_several(active))
    }

    fn speaking_in(&self, session: &ActiveSession) -> WorkingSession {
        let ai = self.author(Some(&session.ai));
        let other = self.named_ai().filter(|named| *named != session.ai);
        let note = other.map(|named| {
            format!("{named} has no active session here; {}'s session {} is meant", session.ai, session.id.short())
        });
        WorkingSession { ai, id: session.id.clone(), note }
    }

    /// The error of a worktree without an active session, or with those of several agents.
    fn none_or_several(&self, active: &[ActiveSession]) -> Error {
        let newest_of = |ai: &str| active.iter().rev().find(|session| session.ai == ai);
        let mut agents: Vec<&str> = active.iter().map(|session| session.ai.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        if agents.is_empty() {
            return Error::not_found("there is no active session here")
                .reason(format!(
                    "no session was started in the worktree '{}', or all have ended",
                    self.store.paths().worktree()
                ))
                .suggest(text!["The first record begins one; or name a session with ", option("--session"), "."])
                .command(names::start_command(self.named_ai()))
                .command(empirica("session list"));
        }
        let named: Vec<String> = agents
            .iter()
            .filter_map(|agent| Some(format!("{agent} (session {})", newest_of(agent)?.id.short())))
            .collect();
        let who = self.named_ai().map(|named| format!("{named} has none, and ")).unwrap_or_default();
        let mut error = Error::refused("several agents have an active session here")
            .reason(format!("{who}{} are active in this worktree", named.join(" and ")))
            .suggest(text![
                "Say who you are with ",
                option("--ai"),
                " or EMPIRICA_AI, or which session with ",
                option("--session"),
                "; end those that are over."
            ]);
        for session in agents.iter().filter_map(|agent| newest_of(agent)) {
            error = error
                .alternative(session.id.as_str())
                .command(empirica("session end").option("--session", session.id.short()));
        }
        error
    }
}

/// The newest session, where all are of one agent.
fn only_agent(active: &[ActiveSession]) -> Option<&ActiveSession> {
    active.last().filter(|last| active.iter().all(|session| session.ai == last.ai))
}

/// Stores the start of a session, and remembers it as active in this worktree; `by_hook` is whether a hook of the agent's begins
/// it. Returns the record as stored.
pub fn begin(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    start: SessionStart,
    by_hook: bool,
) -> Result<(Option<Record>, StoreReport)> {
    let (records, mut stored) = context.store(who, vec![Body::SessionStart(start)], FlushTiming::Later)?;
    let first = records.into_iter().next();
    if let Some(first) = &first {
        // as stored, without secrets
        let (id, began, ai) = (who.id.clone(), first.head.id.clone(), first.head.ai.clone());
        let external_id = match &first.body {
            Body::SessionStart(start) => start.external_id.clone(),
            _ => None,
        };
        let remembered = active::begin(context, &ActiveSession { id, began, ai, external_id, by_hook, task: None });
        if let Err(error) = remembered {
            stored.warnings.push(format!("this worktree cannot remember the session ({error}): name it, {}", who.id));
        }
    }
    Ok((first, stored))
}

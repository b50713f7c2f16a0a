//! What every use case starts from: repository, store, and whose session it is.

pub mod active;
pub mod names;
pub mod paths;
pub mod stored;

use std::cell::RefCell;

use crate::context::active::{ActiveSession, ActiveSessions};
use crate::context::stored::StoreReport;
use crate::index::{Index, Opener};
use crate::session::lifecycle;
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica, option, text};
use empirica_notes::git::Repository;
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::{FlushTiming, Render, Scan, Store};
use empirica_secrets::Replaced;
use empirica_transcripts::model::Agent;

/// Who and which session the user named.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `--ai`.
    pub ai: Option<String>,
    /// `--session`.
    pub session: Option<String>,
    /// The agent that a client of the MCP server says it is.
    pub client: Option<String>,
    /// `--allow-secret`: what looks like a secret is stored as it is.
    pub allow_secret: bool,
}

/// What every use case starts from.
pub struct CommandContext<'a> {
    /// What the process was given.
    pub env: &'a Env,
    /// The repository.
    pub repo: &'a Repository,
    /// Its records.
    pub store: Store<'a>,
    /// The index over them.
    pub opener: Opener,
    /// Who and which session the user named.
    pub selection: Selection,
    /// `--ai` or `EMPIRICA_AI`, as it is stored.
    named: Option<String>,
    /// The rules that saw a secret in it, which is stored without.
    in_name: Vec<&'static str>,
    /// The session that this command began by itself.
    began: RefCell<Option<lifecycle::StartOutcome>>,
}

/// The session a command works in.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingSession {
    /// The session.
    pub id: SessionId,
    /// Who speaks.
    pub ai: String,
    /// What the user should know about that choice.
    pub note: Option<String>,
}

impl<'a> CommandContext<'a> {
    /// A context over an opened repository.
    pub fn new(env: &'a Env, repo: &'a Repository, render: &'a dyn Render, selection: Selection) -> Result<Self> {
        let mut context = CommandContext {
            env,
            repo,
            store: Store::new(repo, env, render)?,
            opener: Opener::default(),
            selection,
            named: None,
            in_name: Vec::new(),
            began: RefCell::new(None),
        };
        if context.selection.allow_secret {
            context.store.allow_secrets();
        }
        context.optional("agent", context.selection.ai.as_deref())?;
        // a name is compared with what is stored, and shown
        let stored = |name: &str| context.store.without_secrets(name);
        let asked = context.selection.ai.as_deref().map(stored);
        let given = context.selection.ai.as_deref().or(env.get("EMPIRICA_AI"));
        context.named = given.map(stored);
        if context.named.as_deref() != given {
            context.in_name = given.and_then(empirica_secrets::redact_text).map_or_else(Vec::new, |(_, rules)| rules);
        }
        context.selection.ai = asked;
        Ok(context)
    }

    /// The index over the records as they are now.
    pub fn index(&self) -> Result<Index<'_>> {
        self.opener.open(&self.store)
    }

    /// Everything a session said and everything that is about what it said.
    pub fn session(&self, session: &SessionId) -> Result<Scan> {
        self.store.session(session, || self.index()?.session(session))
    }

    /// `--ai` or `EMPIRICA_AI`, as it is stored.
    pub fn named_ai(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// Who speaks: as named, else the session's own agent, else the agent that runs the command, else `empirica.ai`, else
    /// `user.name`, else `unknown`.
    pub fn author(&self, of_session: Option<&str>) -> String {
        let configured = || self.repo.config("empirica.ai").or_else(|| self.repo.config("user.name"));
        self.named_ai()
            .or(of_session)
            .or(self.running())
            .map(str::to_owned)
            .or_else(configured)
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| "unknown".to_owned())
    }

    /// The agent that runs the command: the client of an MCP server, else as its environment says.
    fn running(&self) -> Option<&str> {
        self.selection.client.as_deref().or(self.env.agent())
    }

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
        self.written(|| self.store.turn())
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
        let started = lifecycle::start(self, lifecycle::StartRequest::default())?;
        let who = WorkingSession { id: started.session_id.clone(), ai: started.ai_id.clone(), note: None };
        self.began.replace(Some(started));
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

    /// Stores what one session says, and what is left to say about that.
    pub fn store(
        &self,
        who: &WorkingSession,
        bodies: Vec<Body>,
        when: FlushTiming,
    ) -> Result<(Vec<Record>, StoreReport)> {
        let records = bodies.into_iter().map(|body| self.store.new_record(&who.id, &who.ai, body)).collect();
        let mut written = self.store.append(records, when)?;
        written.redacted.extend(self.in_name.iter().map(|rule| Replaced { field: "ai".to_owned(), rule }));
        let mut stored = StoreReport { warnings: who.note.iter().cloned().collect(), ..Default::default() };
        stored.add(&mut written);
        if let Some(began) = self.began.borrow_mut().as_mut() {
            stored.session_started = Some((began.session_id.clone(), began.ai_id.clone()));
            stored.after(std::mem::take(&mut began.stored));
        }
        Ok((written.records, stored))
    }

    /// A text that must say something; blank is a usage error that names the argument.
    pub fn text<'t>(&self, name: &str, text: &'t str) -> Result<&'t str> {
        if text.trim().is_empty() {
            return Err(Error::usage(format!("the {name} is empty"))
                .reason("a record without text says nothing to the next session")
                .suggest("Give the text, or leave it out where it may be."));
        }
        Ok(text)
    }

    /// A text that may be absent, but not blank.
    pub fn optional(&self, name: &str, text: Option<&str>) -> Result<()> {
        text.map_or(Ok(()), |text| self.text(name, text).map(|_| ()))
    }

    /// Refuses an id whose records could not be found by it again, because it would be stored without a secret.
    pub fn stored_as_it_is(&self, name: &str, id: Option<&str>) -> Result<()> {
        if id.is_none_or(|id| self.store.without_secrets(id) == id) {
            return Ok(());
        }
        Err(Error::usage(format!("the {name} looks like a secret"))
            .reason(format!("secrets are replaced before anything is stored, and records are found by the {name}"))
            .suggest("Give an id that holds no secret."))
    }

    /// A record found by its id, the end of it (4 hex digits or more) or its beginning.
    pub fn record(&self, given: &str, what: &str, on: &[Namespace], fits: impl Fn(&Record) -> bool) -> Result<Record> {
        names::record(self, given, what, on, fits)
    }

    /// Resolves `--led-from`.
    pub fn led_from(&self, given: Option<&str>) -> Result<Option<Id>> {
        given
            .map(|given| self.record(given, "record", &Namespace::ALL, |_| true).map(|record| record.head.id))
            .transpose()
    }
}

/// The newest session, where all are of one agent.
fn only_agent(active: &[ActiveSession]) -> Option<&ActiveSession> {
    active.last().filter(|last| active.iter().all(|session| session.ai == last.ai))
}

//! The context of every use case: repository, store, and current session.

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

/// Agent and session named by the user.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// `--ai`.
    pub ai: Option<String>,
    /// `--session`.
    pub session: Option<String>,
    /// Name of the MCP client.
    pub client: Option<String>,
    /// `--allow-secret`: stores secrets unchanged.
    pub allow_secret: bool,
}

/// Context of a use case.
pub struct CommandContext<'a> {
    /// Environment of the process.
    pub env: &'a Env,
    /// The repository.
    pub repo: &'a Repository,
    /// Records of the repository.
    pub store: Store<'a>,
    /// Index over the records.
    pub opener: Opener,
    /// Agent and session named by the user.
    pub selection: Selection,
    /// `--ai` or `EMPIRICA_AI`, as stored.
    named: Option<String>,
    /// Rules that found a secret in it.
    in_name: Vec<&'static str>,
    /// Session started automatically by this command.
    began: RefCell<Option<lifecycle::StartOutcome>>,
}

/// Session of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingSession {
    /// The session.
    pub id: SessionId,
    /// The agent.
    pub ai: String,
    /// A note for the user about the choice of the session.
    pub note: Option<String>,
}

impl<'a> CommandContext<'a> {
    /// Creates a context for an opened repository.
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
        // compared with stored names, and shown
        let stored = |name: &str| context.store.without_secrets(name);
        let named_ai = context.selection.ai.as_deref().map(stored);
        let given = context.selection.ai.as_deref().or(env.get("EMPIRICA_AI"));
        context.named = given.map(stored);
        if context.named.as_deref() != given {
            context.in_name = given.and_then(empirica_secrets::redact_text).map_or_else(Vec::new, |(_, rules)| rules);
        }
        context.selection.ai = named_ai;
        Ok(context)
    }

    /// The index over the current records.
    pub fn index(&self) -> Result<Index<'_>> {
        self.opener.open(&self.store)
    }

    /// The records of a session, and those that refer to them.
    pub fn session(&self, session: &SessionId) -> Result<Scan> {
        self.store.session(session, || self.index()?.session(session))
    }

    /// `--ai` or `EMPIRICA_AI`, as stored.
    pub fn named_ai(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// The agent: as named, otherwise the agent of the session, the agent that runs the command, `empirica.ai`,
    /// `user.name`, or `unknown`.
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

    /// The agent that runs the command: the MCP client, otherwise according to the environment.
    fn running(&self) -> Option<&str> {
        self.selection.client.as_deref().or(self.env.agent())
    }

    /// The session to read: `--session` or `EMPIRICA_SESSION`, otherwise the agent's newest active one in this
    /// worktree, otherwise that of the only agent active here.
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

    /// The session to write to: as for reading, but never another agent's. Starts one if there is none.
    pub fn writing(&self) -> Result<WorkingSession> {
        self.written(|| self.store.turn())
    }

    /// Same, if the caller holds the turn.
    pub fn writing_in_turn(&self) -> Result<WorkingSession> {
        self.written(|| None::<()>)
    }

    /// The session to write to, if any; starts none.
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
        // another process may be starting it
        let _turn = turn();
        if let Some(own) = self.own_session()? {
            return Ok(own);
        }
        let started = lifecycle::start(self, lifecycle::StartRequest::default())?;
        let session = WorkingSession { id: started.session_id.clone(), ai: started.ai_id.clone(), note: None };
        self.began.replace(Some(started));
        Ok(session)
    }

    fn named_session(&self) -> Result<Option<WorkingSession>> {
        let Some(given) = self.selection.session.as_deref().or(self.env.get("EMPIRICA_SESSION")) else {
            return Ok(None);
        };
        let session = names::session(self, given)?;
        Ok(Some(WorkingSession { ai: self.author(Some(&session.ai)), id: session.id, note: None }))
    }

    /// The agent's newest session.
    fn own<'s>(&self, active: &'s [ActiveSession]) -> Option<&'s ActiveSession> {
        let of = |ai: &str| active.iter().rev().find(|session| session.ai == ai);
        self.named_ai().or(self.running()).and_then(of)
    }

    /// The session for new records: the agent's own, otherwise one that may be. A session is another's if a different
    /// agent is named, or if a known agent runs the command and the session is the user's or of another known agent.
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

    /// Error: no active session in the worktree, or sessions of several agents.
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
        let named_agent = self.named_ai().map(|named| format!("{named} has none, and ")).unwrap_or_default();
        let mut error = Error::refused("several agents have an active session here")
            .reason(format!("{named_agent}{} are active in this worktree", named.join(" and ")))
            .suggest(text![
                "Name the agent with ",
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

    /// Stores records of a session; returns warnings and remedies.
    pub fn store(
        &self,
        session: &WorkingSession,
        bodies: Vec<Body>,
        when: FlushTiming,
    ) -> Result<(Vec<Record>, StoreReport)> {
        let records = bodies.into_iter().map(|body| self.store.new_record(&session.id, &session.ai, body)).collect();
        let mut written = self.store.append(records, when)?;
        written.redacted.extend(self.in_name.iter().map(|rule| Replaced { field: "ai".to_owned(), rule }));
        let mut stored = StoreReport { warnings: session.note.iter().cloned().collect(), ..Default::default() };
        stored.add(&mut written);
        if let Some(began) = self.began.borrow_mut().as_mut() {
            stored.session_started = Some((began.session_id.clone(), began.ai_id.clone()));
            stored.after(std::mem::take(&mut began.stored));
        }
        Ok((written.records, stored))
    }

    /// Requires a text; a blank one is a usage error that names the argument.
    pub fn text<'t>(&self, name: &str, text: &'t str) -> Result<&'t str> {
        if text.trim().is_empty() {
            return Err(Error::usage(format!("the {name} is empty"))
                .reason("a record without text says nothing to the next session")
                .suggest("Give the text, or leave it out where it may be."));
        }
        Ok(text)
    }

    /// An optional text that must not be blank.
    pub fn optional(&self, name: &str, text: Option<&str>) -> Result<()> {
        text.map_or(Ok(()), |text| self.text(name, text).map(|_| ()))
    }

    /// Refuses an ID with a secret: it would be stored without it, so its records could not be found.
    pub fn stored_as_it_is(&self, name: &str, id: Option<&str>) -> Result<()> {
        if id.is_none_or(|id| self.store.without_secrets(id) == id) {
            return Ok(());
        }
        Err(Error::usage(format!("the {name} looks like a secret"))
            .reason(format!("secrets are replaced before anything is stored, and records are found by the {name}"))
            .suggest("Give an id that holds no secret."))
    }

    /// Finds a record by its ID, its end (4 hex digits or more) or its beginning.
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

/// The newest session, if all have the same agent.
fn only_agent(active: &[ActiveSession]) -> Option<&ActiveSession> {
    active.last().filter(|last| active.iter().all(|session| session.ai == last.ai))
}

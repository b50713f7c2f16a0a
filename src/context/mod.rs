//! The context of every use case: repository, store, and current session.

pub mod active;
pub mod caller;
pub mod claims;
pub mod handoffs;
pub mod names;
pub mod own_session;
pub mod paths;
pub mod records;
pub mod session;
pub mod stored;
pub mod tasks;

use std::cell::RefCell;

use crate::context::caller::Caller;
use crate::context::stored::StoreReport;
use crate::index::{Index, IndexCache};
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::Repository;
use empirica_notes::model::{Body, Id, Record, SessionId};
use empirica_notes::store::{FlushTiming, Render, Scan, Store};
use empirica_secrets::Replaced;
use empirica_transcripts::model::Agent;

/// Agent and session named by the user.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub ai: Option<String>,
    pub session: Option<String>,
    /// The MCP client.
    pub client: Option<Caller>,
    /// `--allow-secret`: stores secrets unchanged.
    pub allow_secret: bool,
}

/// Context of a use case.
pub struct CommandContext<'a> {
    /// Environment of the process.
    pub env: &'a Env,
    pub repo: &'a Repository,
    /// Records of the repository.
    pub store: Store<'a>,
    /// Index over the records.
    pub index_cache: IndexCache,
    /// Agent and session named by the user.
    pub selection: Selection,
    /// `--ai` or `EMPIRICA_AI`, as stored.
    named: Option<String>,
    /// Rules that found a secret in it.
    in_name: Vec<&'static str>,
    /// The session started by this command, and the rest of its outcome.
    began: RefCell<Option<(WorkingSession, StoreReport)>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkingSession {
    pub id: SessionId,
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
            index_cache: IndexCache::default(),
            selection,
            named: None,
            in_name: Vec::new(),
            began: RefCell::new(None),
        };
        if context.selection.allow_secret {
            context.store.allow_secrets();
        }
        context.optional("agent", context.selection.ai.as_deref())?;
        // as stored, for comparison and output
        let stored = |name: &str| context.store.secret_filter().clean(name);
        let named_ai = context.selection.ai.as_deref().map(stored);
        let ai = context.selection.ai.as_deref().or(env.get("EMPIRICA_AI"));
        context.named = ai.map(stored);
        if context.named.as_deref() != ai {
            context.in_name = ai.and_then(empirica_secrets::redact_text).map_or_else(Vec::new, |(_, rules)| rules);
        }
        context.selection.ai = named_ai;
        Ok(context)
    }

    /// The index over the current records.
    pub fn index(&self) -> Result<Index<'_>> {
        self.index_cache.open(&self.store)
    }

    /// Warnings of those of these records that somebody else may have stored under a session of this clone. The index is asked only for
    /// records that this clone did not make.
    pub(crate) fn unproven<'i>(&self, ids: impl IntoIterator<Item = &'i Id>) -> Vec<String> {
        let others: Vec<&Id> = ids.into_iter().filter(|id| !self.store.made(id)).collect();
        if others.is_empty() {
            return Vec::new();
        }
        let found = self.index().and_then(|index| index.unproven_warnings(others));
        found.unwrap_or_else(|error| vec![format!("cannot tell who stored the records: {}", error.in_one_line())])
    }

    /// The stored records of a session, and those that refer to them; [`records::session`] has those that count.
    fn stored_session(&self, session: &SessionId) -> Result<Scan> {
        self.store.reader().session(session, || self.index()?.session(session))
    }

    /// `--ai` or `EMPIRICA_AI`, as stored.
    pub fn named_ai(&self) -> Option<&str> {
        self.named.as_deref()
    }

    /// The agent: as named, otherwise the agent of the session, `empirica.ai`, the agent that runs the command,
    /// `user.name`, or `unknown`.
    pub fn author(&self, of_session: Option<&str>) -> String {
        self.named_ai()
            .or(of_session)
            .map(str::to_owned)
            .or_else(|| self.repo.config("empirica.ai"))
            .or_else(|| self.running().map(str::to_owned))
            .or_else(|| self.repo.config("user.name"))
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| "unknown".to_owned())
    }

    /// The agent that runs the command: the MCP client, otherwise according to the environment.
    fn running(&self) -> Option<&str> {
        self.selection.client.as_ref().map(|client| client.name.as_str()).or(self.env.agent().map(Agent::name))
    }

    /// The name of the agent that runs the command: `empirica.ai`, or its own.
    pub(crate) fn running_as(&self) -> Option<String> {
        let running = self.running()?;
        Some(self.repo.config("empirica.ai").unwrap_or_else(|| running.to_owned()))
    }

    /// Whether an agent runs the command.
    pub(crate) fn is_agent(&self) -> bool {
        self.running().is_some()
    }

    /// Stores records of a session.
    pub fn store(
        &self,
        session: &WorkingSession,
        bodies: Vec<Body>,
        when: FlushTiming,
    ) -> Result<(Vec<Record>, StoreReport)> {
        let records =
            bodies.into_iter().map(|body| self.store.writer().new_record(&session.id, &session.ai, body)).collect();
        let mut written = self.store.writer().append(records, when)?;
        written.redacted.extend(self.in_name.iter().map(|rule| Replaced { field: "ai".to_owned(), rule }));
        let mut stored = StoreReport { warnings: session.note.iter().cloned().collect(), ..Default::default() };
        stored.add(&mut written);
        if let Some((began, left)) = self.began.borrow_mut().as_mut() {
            stored.session_started = Some((began.id.clone(), began.ai.clone()));
            stored.prepend(std::mem::take(left));
        }
        Ok((written.records, stored))
    }

    /// Requires a text; a blank one is a usage error that names the argument.
    pub fn text<'t>(&self, name: &str, text: &'t str) -> Result<&'t str> {
        if text.trim().is_empty() {
            return Err(Error::usage(format!("cannot use the {name}: it is empty"))
                .reason("a record without text says nothing to the next session")
                .suggest("Give the text, or leave it out if it is optional."));
        }
        Ok(text)
    }

    /// An optional text that must not be blank.
    pub fn optional(&self, name: &str, text: Option<&str>) -> Result<()> {
        text.map_or(Ok(()), |text| self.text(name, text).map(|_| ()))
    }

    /// Refuses an ID with a secret: it would be stored without it, so its records could not be found.
    pub fn stored_as_it_is(&self, name: &str, id: Option<&str>) -> Result<()> {
        if id.is_none_or(|id| self.store.secret_filter().clean(id) == id) {
            return Ok(());
        }
        Err(Error::usage(format!("cannot use the {name}: it looks like a secret"))
            .reason(format!("secrets are replaced before anything is stored, and records are found by the {name}"))
            .suggest("Give an id without a secret."))
    }
}

//! What every use case starts from: repository, store, and whose session it is.

pub mod active;
pub mod handoffs;
pub mod names;
pub mod paths;
pub mod records;
pub mod stored;
pub mod working;

use std::cell::RefCell;

use crate::context::stored::StoreReport;
use crate::index::{Index, Opener};
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::Repository;
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::{FlushTiming, Render, Scan, Store};
use empirica_secrets::Replaced;

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
    began: RefCell<Option<(WorkingSession, StoreReport)>>,
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
        if let Some((began, left)) = self.began.borrow_mut().as_mut() {
            stored.session_started = Some((began.id.clone(), began.ai.clone()));
            stored.after(std::mem::take(left));
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
}

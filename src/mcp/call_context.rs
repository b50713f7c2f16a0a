//! What a call works with: the repository, the user's templates, and what the conversation remembers.

use std::collections::HashMap;

use crate::context::{CommandContext, Selection};
use crate::handoff::note::BuiltIn;
use crate::mcp::tools::schema::Alias;
use crate::render::template::Templates;
use crate::session::lifecycle;
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::model::Phase;
use empirica_transcripts::model::Agent;

/// What is remembered from one call to the next, as long as the server runs; losing it loses no record.
#[derive(Debug, Clone, Default)]
pub struct ConversationState {
    /// When the server began, in milliseconds since 1970.
    pub began_ms: u64,
    /// The session this client began or went on with: meant when no other is named.
    pub session: Option<String>,
    /// The name of the client, as it said when it connected.
    pub client: Option<String>,
    /// What was said when an assessment was asked for, for when it is submitted: by session and phase.
    pub said: HashMap<(String, &'static str), CallInput>,
}

/// What an agent said when it asked what to assess.
#[derive(Debug, Clone, Default)]
pub struct CallInput {
    /// The task, or what was done.
    pub task: Option<String>,
    /// How sure it is to go on, 0 to 1.
    pub confidence: Option<f64>,
}

/// A repository, opened for one call.
pub struct CallContext<'a> {
    /// What the process was given.
    pub env: &'a Env,
    pub repo: &'a Repository,
    /// The templates of the user's.
    pub templates: Templates,
    pub remembered: &'a mut ConversationState,
}

impl<'a> CallContext<'a> {
    /// A context that reads: it filters by what is named, and by nothing else.
    pub fn reading(&self, ai: Option<String>, session: Option<Alias>) -> Result<CommandContext<'a>> {
        let session = session.map(|alias| alias.0);
        CommandContext::new(self.env, self.repo, &BuiltIn, Selection { ai, session, ..Default::default() })
    }

    /// A context that works in a session: as named, else this client's own, else the one at work call, of the client's agent when it
    /// has one.
    pub fn working(&self, ai: Option<String>, session: Option<Alias>) -> Result<CommandContext<'a>> {
        let session = match (session, &self.remembered.session) {
            (None, Some(own)) if ai.is_none() => Some(self.own(own)?),
            (session, _) => session.map(|alias| alias.0),
        };
        let is_named = session.is_some();
        let asked = Selection { ai, session, client: self.client(), ..Default::default() };
        let context = CommandContext::new(self.env, self.repo, &BuiltIn, asked)?;
        if is_named {
            // a wrong session is said before what is wrong with other ids
            context.working()?;
        }
        Ok(context)
    }

    /// The session this client began; one that has ended meanwhile is an error: what is said in it now, nobody would see.
    fn own(&self, id: &str) -> Result<String> {
        match lifecycle::is_active(&self.reading(None, None)?, id) {
            true => Ok(id.to_owned()),
            false => Err(Error::refused("the session you began has ended")
                .provided(id)
                .reason("it was ended by another command or client, or is no longer stored here")
                .suggest("Begin another one, or name it with session_id to add to it all the same.")
                .command(empirica("session start"))
                .command(empirica("session show").arg(id))),
        }
    }

    /// The agent that the client is, by the name it connected with; `None` when the user says who speaks, and when it said none.
    pub fn client(&self) -> Option<String> {
        if self.env.get("EMPIRICA_AI").is_some() || self.repo.config("empirica.ai").is_some() {
            return None;
        }
        let name = self.remembered.client.as_deref().map(str::trim).filter(|name| !name.is_empty())?;
        let lower = name.to_ascii_lowercase();
        let agent = Agent::ALL.into_iter().find(|agent| lower.contains(agent.name()));
        Some(agent.map_or_else(|| name.to_owned(), |agent| agent.name().to_owned()))
    }

    /// Keeps input for the assessment that follows, in place of earlier input.
    pub fn keep(&mut self, session: &str, phase: Phase, said: CallInput) {
        let kept = self.remembered.said.entry((session.to_owned(), phase.name())).or_default();
        kept.task = said.task.or_else(|| kept.task.take());
        kept.confidence = said.confidence.or(kept.confidence);
    }

    /// What was said for an assessment.
    pub fn said(&self, session: &str, phase: Phase) -> CallInput {
        self.remembered.said.get(&(session.to_owned(), phase.name())).cloned().unwrap_or_default()
    }

    /// Forgets it: the assessment is stored.
    pub fn assessed(&mut self, session: &str, phase: Phase) {
        self.remembered.said.remove(&(session.to_owned(), phase.name()));
    }
}

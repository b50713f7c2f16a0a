//! The context of a call: the repository, the user's templates, and the state of the conversation.

use std::collections::HashMap;

use crate::context::{CommandContext, Selection};
use crate::mcp::tools::schema::Alias;
use crate::render::template::Templates;
use crate::use_cases::handoff::note::BuiltIn;
use crate::use_cases::session::lifecycle;
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::Repository;
use empirica_notes::model::Phase;
use empirica_transcripts::model::Agent;

/// State between the calls of a conversation, in memory only; no record depends on it.
#[derive(Debug, Clone, Default)]
pub struct ConversationState {
    /// Start of the server, in milliseconds since 1970.
    pub began_ms: u64,
    /// The session that the client started or continued: the default of `session_id`.
    pub session: Option<String>,
    /// The name that the client connected with.
    pub client: Option<String>,
    /// Input from guided assessments that are not yet submitted, by session and phase.
    pub inputs: HashMap<(String, &'static str), AssessmentInput>,
}

/// Input for an assessment from the call that guided it.
#[derive(Debug, Clone, Default)]
pub struct AssessmentInput {
    /// The task, or a summary of the work.
    pub task: Option<String>,
    /// The confidence to proceed, from 0 to 1.
    pub confidence: Option<f64>,
}

/// A repository, opened for one call.
pub struct CallContext<'a> {
    pub env: &'a Env,
    pub repo: &'a Repository,
    pub templates: Templates,
    pub state: &'a mut ConversationState,
}

impl<'a> CallContext<'a> {
    /// A context for reading, filtered by the given agent and session only.
    pub fn reading(&self, ai: Option<String>, session: Option<Alias>) -> Result<CommandContext<'a>> {
        let session = session.map(|alias| alias.0);
        CommandContext::new(self.env, self.repo, &BuiltIn, Selection { ai, session, ..Default::default() })
    }

    /// A context in a session: the given one, else the client's own, else the active one, of the client's agent if known.
    pub fn working(&self, ai: Option<String>, session: Option<Alias>) -> Result<CommandContext<'a>> {
        let session = match (session, &self.state.session) {
            (None, Some(own)) if ai.is_none() => Some(self.own(own)?),
            (session, _) => session.map(|alias| alias.0),
        };
        let is_named = session.is_some();
        let selection = Selection { ai, session, client: self.client(), ..Default::default() };
        let context = CommandContext::new(self.env, self.repo, &BuiltIn, selection)?;
        if is_named {
            // report a wrong session before other wrong ids
            context.working()?;
        }
        Ok(context)
    }

    /// The client's session; an error if it has ended, since nobody would see later records in it.
    fn own(&self, id: &str) -> Result<String> {
        match lifecycle::is_active(&self.reading(None, None)?, id) {
            true => Ok(id.to_owned()),
            false => Err(Error::refused("cannot continue the session you began: it has ended")
                .provided(id)
                .reason("another command or client ended it, or it is no longer stored here")
                .suggest("Start another one, or name it with session_id to add to it all the same.")
                .command(empirica("session start"))
                .command(empirica("session show").arg(id))),
        }
    }

    /// The client's agent, by the name it connected with; `None` without a name, and if the user sets the agent.
    pub fn client(&self) -> Option<String> {
        if self.env.get("EMPIRICA_AI").is_some() || self.repo.config("empirica.ai").is_some() {
            return None;
        }
        let name = self.state.client.as_deref().map(str::trim).filter(|name| !name.is_empty())?;
        let lower = name.to_ascii_lowercase();
        let agent = Agent::ALL.into_iter().find(|agent| lower.contains(agent.name()));
        Some(agent.map_or_else(|| name.to_owned(), |agent| agent.name().to_owned()))
    }

    /// Keeps input for a later submission; later input overrides earlier input.
    pub fn keep_input(&mut self, session: &str, phase: Phase, input: AssessmentInput) {
        let kept = self.state.inputs.entry((session.to_owned(), phase.name())).or_default();
        kept.task = input.task.or_else(|| kept.task.take());
        kept.confidence = input.confidence.or(kept.confidence);
    }

    /// The input for a submission.
    pub fn input(&self, session: &str, phase: Phase) -> AssessmentInput {
        self.state.inputs.get(&(session.to_owned(), phase.name())).cloned().unwrap_or_default()
    }

    /// Drops the input of a submitted assessment.
    pub fn drop_input(&mut self, session: &str, phase: Phase) {
        self.state.inputs.remove(&(session.to_owned(), phase.name()));
    }
}

//! The context of a call: the repository, the user's templates, and the state of the conversation.

use std::collections::HashMap;

use crate::context::caller::{Caller, stored_id};
use crate::context::own_session::OwnSession;
use crate::context::{CommandContext, Selection, active};
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
    /// The session that the client started or continued, by its own id of the present session, if it gives one: the default of
    /// `session_id`.
    pub sessions: HashMap<Option<String>, String>,
    /// The client's name, and its own id of the present session.
    pub client: Caller,
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
        self.context(ai, session.map(|alias| alias.0), None)
    }

    /// A context of the given agent, session and client.
    pub fn context(
        &self,
        ai: Option<String>,
        session: Option<String>,
        client: Option<Caller>,
    ) -> Result<CommandContext<'a>> {
        CommandContext::new(self.env, self.repo, &BuiltIn, Selection { ai, session, client, ..Default::default() })
    }

    /// A context in a session: the given one, else the client's own, else the active one, of the client's agent if known.
    pub fn working(&self, ai: Option<String>, session: Option<Alias>) -> Result<CommandContext<'a>> {
        let client = self.client();
        let session =
            match (session, self.state.sessions.get(&client.as_ref().and_then(|client| client.session.clone()))) {
                (None, Some(own)) if ai.is_none() => self.own(own, client.as_ref())?,
                (session, _) => session.map(|alias| alias.0),
            };
        let is_named = session.is_some();
        let context = self.context(ai, session, client)?;
        if is_named {
            // report a wrong session before other wrong ids
            context.working()?;
        }
        Ok(context)
    }

    /// The client's session. If it has ended: `None` if the client has another one; else an error, since nobody would see later
    /// records in it.
    fn own(&self, id: &str, client: Option<&Caller>) -> Result<Option<String>> {
        if lifecycle::is_active(&self.reading(None, None)?, id) {
            return Ok(Some(id.to_owned()));
        }
        let context = self.context(None, None, client.cloned())?;
        if let OwnSession::Certain(_) = context.own(&active::load(&context)?) {
            return Ok(None);
        }
        Err(Error::refused("cannot continue the session you began: it has ended")
            .provided(id)
            .reason("another command or client ended it, or it is no longer stored here")
            .suggest("Start another one, or name it with session_id to add to it all the same.")
            .command(empirica("session start"))
            .command(empirica("session show").arg(id)))
    }

    /// The client: the name that the user configured, else the agent's, else its own, and its own id of the session, as it tells or as the environment
    /// of this server does. `None` without a name.
    pub fn client(&self) -> Option<Caller> {
        let Caller { name, session } = &self.state.client;
        let name = Some(name.trim()).filter(|name| !name.is_empty())?;
        let lower = name.to_ascii_lowercase();
        let agent = Agent::ALL.into_iter().find(|agent| lower.contains(agent.name()));
        let own = agent.map_or_else(|| name, |agent| agent.name());
        let session = session.as_deref().or_else(|| agent.and_then(|agent| self.env.agent_session(agent)));
        let named = self.env.get("EMPIRICA_AI").map(str::to_owned);
        Some(Caller {
            name: named.or_else(|| self.repo.config("empirica.ai")).unwrap_or_else(|| own.to_owned()),
            session: session.map(|id| stored_id(own, id)),
        })
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

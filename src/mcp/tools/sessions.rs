//! Tools for sessions: start, end, list and show them, and show the project.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::call_context::CallContext;
use crate::mcp::tools::arguments::least;
use crate::mcp::tools::schema::Alias;
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands};
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::use_cases::history::show::{committer, trust};
use crate::use_cases::session::{lifecycle, project_overview, view};
use empirica_notes::error::Result;

/// Start a session: first call of new work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootstrapSession {
    /// your name, such as claude-code
    ai_id: Option<String>,
    /// your task
    task: Option<String>,
    session_type: Option<String>,
    /// your own session id
    external_id: Option<String>,
    /// session or handoff to continue
    from: Option<String>,
}

impl Call for BootstrapSession {
    const NAME: &'static str = "bootstrap_session";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["session start"]).renamed_options(&[("--task", "")]);
    const RETURNS: &'static str = "session_id ai_id started_at";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let client = call.client();
        let ai = self.ai_id.or_else(|| client.as_ref().map(|client| client.name.clone()));
        let request = lifecycle::StartRequest {
            task: self.task,
            kind: self.session_type,
            external_id: self.external_id,
            by_hook: false,
            from: self.from,
        };
        let own_id = client.as_ref().and_then(|client| client.session.clone());
        let started = lifecycle::start(&call.context(ai, None, client)?, request)?;
        call.state.sessions.insert(own_id, started.session_id.as_str().to_owned());
        Ok(view::started(&started))
    }
}

/// End a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndSession {
    session_id: Option<Alias>,
    ai_id: Option<String>,
    reason: Option<String>,
}

impl Call for EndSession {
    const NAME: &'static str = "end_session";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["session end"]);
    const RETURNS: &'static str = "session_id ended_at handoff:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let ended = lifecycle::end(&call.working(self.ai_id, self.session_id)?, self.reason)?;
        call.state.sessions.retain(|_, own| *own != ended.session_id.as_str());
        Ok(view::ended(&ended))
    }
}

/// List sessions, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSessions {
    ai_id: Option<String>,
    /// only active ones
    #[serde(default)]
    active: bool,
}

impl Call for ListSessions {
    const NAME: &'static str = "list_sessions";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["session list"]);
    const RETURNS: &'static str = "sessions:array total_sessions:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        Ok(view::list(&lifecycle::list(&call.reading(self.ai_id, None)?, self.active)?))
    }
}

/// Show all records of a session: assessments, journal, goals, handoffs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    session_id: Option<Alias>,
}

impl Call for Summary {
    const NAME: &'static str = "get_session_summary";
    const COMMANDS: EquivalentCommands =
        EquivalentCommands::of(&["session show", "checkpoint list"]).positionals(&["session_id"]);
    const RETURNS: &'static str = "session_id ai_id assessments:array findings:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        let (shown, warnings) = lifecycle::show(&context, context.selection.session.as_deref())?;
        let committers = committer::of_session(&context, &shown.records.session.id)?;
        Ok(trust::session(view::show(&shown, warnings, &mut call.templates)?, &committers))
    }
}

/// Show the project for a new context: active sessions, open work, failures.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootstrapProject {
    /// most tokens of the answer, default 1000
    #[schemars(range(min = 100))]
    budget: Option<u32>,
    ai_id: Option<String>,
    session_id: Option<Alias>,
}

impl Call for BootstrapProject {
    const NAME: &'static str = "bootstrap_project";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["status"]);
    const RETURNS: &'static str = "token_count:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let budget = least("budget", self.budget.unwrap_or(1000), 100)?;
        let context = call.working(self.ai_id, self.session_id)?;
        let outcome = project_overview::run(&context)?;
        project_overview::view::answer(&outcome, budget, OutputForm::Json, &mut call.templates)
    }
}

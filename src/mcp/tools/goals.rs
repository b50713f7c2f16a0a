//! Tools for goals and their steps.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp::call_context::CallContext;
use crate::mcp::tools::schema::{Alias, Word};
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands, also};
use crate::render::answer::Answer;
use crate::use_cases::assess::{self, goal_suggestions};
use crate::use_cases::claim::goal::{self, view};
use empirica_notes::error::{Error, Result};
use empirica_notes::model::goal::Priority;

fn change(call: &CallContext<'_>, session: Option<Alias>, request: goal::GoalRequest) -> Result<Answer> {
    let context = call.working(None, session)?;
    Ok(view::changed(&goal::run(&context, request)?))
}

/// Add a task to the session, without a PREFLIGHT of its own.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cascade {
    session_id: Option<Alias>,
    task: String,
}

impl Call for Cascade {
    const NAME: &'static str = "create_cascade";
    const EFFECT: Effect = Effect::Adds;
    const RETURNS: &'static str = "cascade_id session_id";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = goal::GoalRequest::Add { text: self.task, criteria: Vec::new(), priority: Priority::Medium };
        Ok(also(change(call, self.session_id, request)?, "cascade_id", "id"))
    }
}

/// Propose goals for the weak vectors of the last assessment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    session_id: Option<Alias>,
    /// the subject of the work
    conversation_context: Option<String>,
    /// true, or left out
    #[serde(default = "yes")]
    use_epistemic_state: bool,
}

fn yes() -> bool {
    true
}

impl Call for Generate {
    const NAME: &'static str = "generate_goals";
    const EFFECT: Effect = Effect::AddsOnce;
    const RETURNS: &'static str = "session_id goals:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        if !self.use_epistemic_state {
            return Err(Error::usage("cannot propose goals without the epistemic state")
                .provided("use_epistemic_state=false")
                .reason("they are for weak vectors; without these there is nothing to propose")
                .suggest("Omit use_epistemic_state, or set a goal of your own with create_goal."));
        }
        let context = call.working(None, self.session_id)?;
        Ok(assess::view::proposed(&goal_suggestions::suggest(&context, self.conversation_context)?))
    }
}

/// List goals with steps and progress.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    session_id: Option<Alias>,
    ai_id: Option<String>,
    /// only open ones
    #[serde(default)]
    open: bool,
}

impl Call for Query {
    const NAME: &'static str = "query_goal_orchestrator";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["goal list"]);
    const RETURNS: &'static str = "goals:array total_found:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.reading(self.ai_id, self.session_id)?;
        let (goals, warnings) = goal::list(&context, self.open)?;
        Ok(view::list(&goals, warnings))
    }
}

/// Set a goal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    session_id: Option<Alias>,
    objective: String,
    /// texts, or objects with a description
    #[serde(default)]
    success_criteria: Vec<Criterion>,
    priority: Option<Word<Priority>>,
}

// A success criterion of a goal.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("type" = ["string", "object"]))]
pub struct Criterion(Value);

/// The text of a criterion; for an object its description, with its other keys in parentheses.
fn criterion(criterion: Criterion) -> Result<String> {
    match criterion.0 {
        Value::String(text) => Ok(text),
        Value::Object(mut map) => {
            let text = map.shift_remove("description").and_then(|text| text.as_str().map(str::to_owned));
            let more: Vec<String> = map
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| {
                    format!("{key}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                })
                .collect();
            let text = text.ok_or_else(|| no_criterion("it has no description"))?;
            Ok(if more.is_empty() { text } else { format!("{text} ({})", more.join(", ")) })
        }
        _ => Err(no_criterion("it is neither a text nor an object")),
    }
}

fn no_criterion(why: &str) -> Error {
    Error::usage("cannot read a success criterion")
        .reason(why)
        .suggest("Give success_criteria as texts, such as [\"the tests pass\"].")
}

impl Call for Create {
    const NAME: &'static str = "create_goal";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["goal add"]).positionals(&["objective"]);
    const RETURNS: &'static str = "goal_id session_id";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = goal::GoalRequest::Add {
            text: self.objective,
            criteria: self.success_criteria.into_iter().map(criterion).collect::<Result<_>>()?,
            priority: self.priority.map_or(Priority::Medium, |word| word.0),
        };
        Ok(also(change(call, self.session_id, request)?, "goal_id", "id"))
    }
}

/// Add a step to a goal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddSubtask {
    session_id: Option<Alias>,
    goal_id: String,
    description: String,
}

impl Call for AddSubtask {
    const NAME: &'static str = "add_subtask";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["goal sub"]).positionals(&["goal_id", "description"]);
    const RETURNS: &'static str = "subtask_id session_id";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = goal::GoalRequest::Sub { goal: self.goal_id, text: self.description };
        Ok(also(change(call, self.session_id, request)?, "subtask_id", "id"))
    }
}

/// Mark a step or a goal as done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteSubtask {
    session_id: Option<Alias>,
    #[serde(alias = "task_id")]
    subtask_id: String,
    /// proof: a commit, a file
    evidence: Option<String>,
}

impl Call for CompleteSubtask {
    const NAME: &'static str = "complete_subtask";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["goal done"]).positionals(&["subtask_id"]);
    const RETURNS: &'static str = "id session_id goals:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        change(call, self.session_id, goal::GoalRequest::Done { id: self.subtask_id, evidence: self.evidence })
    }
}

/// Show the progress of a goal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    goal_id: String,
}

impl Call for Progress {
    const NAME: &'static str = "get_goal_progress";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["goal show"]).positionals(&["goal_id"]);
    const RETURNS: &'static str = "goal:object";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let (owned, warnings) = goal::show(&call.reading(None, None)?, &self.goal_id)?;
        Ok(view::shown(&owned, warnings))
    }
}

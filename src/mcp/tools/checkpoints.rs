//! Tools for checkpoints: create one, load the newest, compare with the present.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::mcp::call_context::CallContext;
use crate::mcp::tools::arguments::vectors;
use crate::mcp::tools::schema::{Alias, Values, Word};
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands};
use crate::render::answer::Answer;
use crate::use_cases::checkpoint::snapshot::SnapshotRequest;
use crate::use_cases::checkpoint::{diff, save, view};
use crate::use_cases::history::show::record;
use empirica_notes::error::Result;
use empirica_notes::model::Phase;
use empirica_notes::model::assessment::Trigger;

/// Store a snapshot of the work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    session_id: Option<Alias>,
    phase: Option<Word<Phase>>,
    round_num: Option<u32>,
    /// default: those of the last assessment
    #[serde(default)]
    vectors: Values,
    reasoning: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl Call for Create {
    const NAME: &'static str = "create_git_checkpoint";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["checkpoint"]);
    const RETURNS: &'static str = "session_id checkpoint_id degraded_mode:boolean token_count:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let request = SnapshotRequest {
            phase: self.phase.map(|word| word.0),
            round: self.round_num,
            trigger: Trigger::Manual,
            vectors: vectors(&self.vectors)?,
            reasoning: self.reasoning,
            metadata: self.metadata.into_iter().map(|(key, value)| (key, text(value))).collect(),
            ..SnapshotRequest::default()
        };
        let context = call.working(None, self.session_id)?;
        Ok(view::done(&save::run(&context, request)?))
    }
}

/// Load the newest checkpoint or assessment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    session_id: Option<Alias>,
    phase: Option<Word<Phase>>,
    max_age_hours: Option<u32>,
}

impl Call for Load {
    const NAME: &'static str = "load_git_checkpoint";
    const RETURNS: &'static str = "checkpoint_id session_id vectors:object";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.reading(None, self.session_id)?;
        let (newest, warnings) = save::newest(&context, self.phase.map(|word| word.0), self.max_age_hours)?;
        let record = newest.ok_or_else(save::none_stored)?;
        Ok(record::shown(&record, warnings))
    }
}

/// List what was lost from a checkpoint, handoff or session to a later one, or to now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    session_id: Option<Alias>,
    /// the earlier, default: the newest checkpoint
    from: Option<String>,
    /// the later, default: now
    to: Option<String>,
    #[serde(default)]
    current_vectors: Values,
}

impl Call for Diff {
    const NAME: &'static str = "get_vector_diff";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["diff"]).positionals(&["from", "to"]);
    const RETURNS: &'static str = "a:object b:object vector_deltas:object?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let present = vectors(&self.current_vectors)?;
        let context = call.working(None, self.session_id)?;
        Ok(diff::view::answer(&diff::run(&context, self.from.as_deref(), self.to.as_deref(), present)?))
    }
}

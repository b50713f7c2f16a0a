//! Checkpoints: make one, load the newest, compare with now.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Call, Commands, Effect};
use crate::checkpoint;
use crate::checkpoint::diff;
use crate::checkpoint::snapshot::SnapshotRequest;
use crate::mcp::call_context::Here;
use crate::mcp::tools::arguments::vectors;
use crate::mcp::tools::schema::{Alias, Values};
use crate::render::answer::Answer;
use empirica_notes::error::Result;
use empirica_notes::model::Phase;
use empirica_notes::model::assessment::Trigger;

// The phases, in the words of the seeds.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PhaseWord {
    #[serde(alias = "preflight")]
    Preflight,
    #[serde(alias = "check")]
    Check,
    #[serde(alias = "act")]
    Act,
    #[serde(alias = "postflight")]
    Postflight,
}

impl From<PhaseWord> for Phase {
    fn from(word: PhaseWord) -> Self {
        match word {
            PhaseWord::Preflight => Phase::Preflight,
            PhaseWord::Check => Phase::Check,
            PhaseWord::Act => Phase::Act,
            PhaseWord::Postflight => Phase::Postflight,
        }
    }
}

/// Store a full snapshot of the work, as before a compaction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Create {
    session_id: Option<Alias>,
    phase: Option<PhaseWord>,
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
    const COMMANDS: Commands = (&["checkpoint"], &[], &[]);
    const RETURNS: &'static str = "session_id checkpoint_id degraded_mode:boolean token_count:integer";

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let request = SnapshotRequest {
            phase: self.phase.map(Phase::from),
            round: self.round_num,
            trigger: Trigger::Manual,
            vectors: vectors(&self.vectors)?,
            reasoning: self.reasoning,
            metadata: self.metadata.into_iter().map(|(key, value)| (key, text(value))).collect(),
            ..SnapshotRequest::default()
        };
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        Ok(crate::checkpoint::view::done(&checkpoint::save::run(&context, request)?))
    }
}

/// Load the newest checkpoint or assessment.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    session_id: Option<Alias>,
    phase: Option<PhaseWord>,
    max_age_hours: Option<u32>,
}

impl Call for Load {
    const NAME: &'static str = "load_git_checkpoint";
    const RETURNS: &'static str = "checkpoint_id session_id vectors:object";

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let context = here.reading(None, self.session_id.map(|alias| alias.0))?;
        let (newest, warnings) = checkpoint::save::newest(&context, self.phase.map(Phase::from), self.max_age_hours)?;
        let record = newest.ok_or_else(checkpoint::save::none_stored)?;
        Ok(crate::history::show::record::shown(&record, warnings))
    }
}

/// Compare a checkpoint, handoff or session with a later one, or with now, and say what was lost.
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
    const COMMANDS: Commands = (&["diff"], &["from", "to"], &[]);
    const RETURNS: &'static str = "a:object b:object vector_deltas:object?";

    fn call(self, here: &mut Here<'_>) -> Result<Answer> {
        let present = vectors(&self.current_vectors)?;
        let context = here.working(None, self.session_id.map(|alias| alias.0))?;
        Ok(crate::checkpoint::diff::view::answer(&diff::run(
            &context,
            self.from.as_deref(),
            self.to.as_deref(),
            present,
        )?))
    }
}

//! Tools for the journal: one per kind of entry.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::call_context::CallContext;
use crate::mcp::tools::arguments::unit;
use crate::mcp::tools::schema::Alias;
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands, Tool, tool};
use crate::render::answer::Answer;
use crate::use_cases::claim::correct::{self, Change};
use crate::use_cases::claim::scope::Scope;
use crate::use_cases::claim::{add, undo, view};
use empirica_notes::error::Result;
use empirica_notes::model::Body;
use empirica_notes::model::journal::{DeadEnd, Decision, Evidence, Finding, MEMORY, Mistake, Unknown};

const RETURNS: &str = "id session_id";

/// The tools that log an entry.
pub const TOOLS: &[Tool] = &[
    tool::<LogFinding>(),
    tool::<LogUnknown>(),
    tool::<ResolveUnknown>(),
    tool::<LogDeadEnd>(),
    tool::<LogDecision>(),
    tool::<LogMistake>(),
    tool::<LogEvidence>(),
    tool::<ReplaceClaim>(),
    tool::<RetractClaim>(),
    tool::<ConfirmClaim>(),
    tool::<UndoLast>(),
];

fn log(call: &CallContext<'_>, session: Option<Alias>, entry: Body, scope: Scope) -> Result<Answer> {
    Ok(view::logged(&add::log(&call.working(None, session)?, entry, None, &scope)?))
}

// A kind of long-term memory.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("enum" = MEMORY))]
pub struct Memory(String);

/// Log a finding, as soon as you learn it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogFinding {
    session_id: Option<Alias>,
    finding: String,
    /// 0 to 1
    impact: Option<f64>,
    /// keep it in long-term memory as
    r#as: Option<Memory>,
    /// date it holds until, or `changed`
    until: Option<String>,
    /// PATH[:LINE[-LINE]] it is about
    #[serde(default)]
    at: Vec<String>,
}

impl Call for LogFinding {
    const NAME: &'static str = "log_finding";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["finding"]).positionals(&["finding"]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let impact = unit("impact", self.impact)?;
        let memory = self.r#as.map(|word| word.0);
        log(
            call,
            self.session_id,
            Body::Finding(Finding { text: self.finding, impact, memory, ..Default::default() }),
            Scope { until: self.until, at: self.at },
        )
    }
}

/// Log an open question.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogUnknown {
    session_id: Option<Alias>,
    unknown: String,
    #[serde(default)]
    blocking: bool,
    until: Option<String>,
    /// PATH[:LINE[-LINE]] it is about
    #[serde(default)]
    at: Vec<String>,
}

impl Call for LogUnknown {
    const NAME: &'static str = "log_unknown";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["unknown"]).positionals(&["unknown"]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        log(
            call,
            self.session_id,
            Body::Unknown(Unknown { text: self.unknown, blocking: self.blocking, ..Default::default() }),
            Scope { until: self.until, at: self.at },
        )
    }
}

/// Answer an open question.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveUnknown {
    session_id: Option<Alias>,
    unknown_id: String,
    #[serde(alias = "resolution")]
    answer: String,
    #[serde(default)]
    again: bool,
}

impl Call for ResolveUnknown {
    const NAME: &'static str = "resolve_unknown";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["resolve"]).positionals(&["unknown_id", "answer"]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.working(None, self.session_id)?;
        Ok(view::logged(&add::resolve(&context, &self.unknown_id, self.answer, self.again)?))
    }
}

/// Log a failed approach, so that nobody tries it again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogDeadEnd {
    session_id: Option<Alias>,
    approach: String,
    #[serde(alias = "why_failed")]
    why: String,
    until: Option<String>,
    /// PATH[:LINE[-LINE]] it is about
    #[serde(default)]
    at: Vec<String>,
}

impl Call for LogDeadEnd {
    const NAME: &'static str = "log_dead_end";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["deadend"]).positionals(&["approach"]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let entry = DeadEnd { approach: self.approach, why: self.why, ..Default::default() };
        log(call, self.session_id, Body::DeadEnd(entry), Scope { until: self.until, at: self.at })
    }
}

/// Log a mistake and its prevention.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogMistake {
    session_id: Option<Alias>,
    mistake: String,
    prevention: Option<String>,
    until: Option<String>,
    #[serde(default)]
    at: Vec<String>,
}

impl Call for LogMistake {
    const NAME: &'static str = "log_mistake";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["mistake"]).positionals(&["mistake"]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let entry = Mistake { text: self.mistake, prevention: self.prevention, ..Default::default() };
        log(call, self.session_id, Body::Mistake(entry), Scope { until: self.until, at: self.at })
    }
}

/// Log a decision, its reason and alternatives.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogDecision {
    session_id: Option<Alias>,
    decision: String,
    #[serde(alias = "rationale")]
    why: String,
    #[serde(default)]
    alternatives: Vec<String>,
    until: Option<String>,
    /// PATH[:LINE[-LINE]] it is about
    #[serde(default)]
    at: Vec<String>,
}

impl Call for LogDecision {
    const NAME: &'static str = "log_decision";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["decision"])
        .positionals(&["decision"])
        .renamed_options(&[("--alternative", "alternatives")]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let Self { session_id: session, decision: text, why, alternatives, until, at } = self;
        log(
            call,
            session,
            Body::Decision(Decision { text, why, alternatives, ..Default::default() }),
            Scope { until, at },
        )
    }
}

/// Log a check that you ran.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogEvidence {
    session_id: Option<Alias>,
    command: String,
    exit_code: i32,
    /// covered files
    #[serde(default)]
    files: Vec<String>,
}

impl Call for LogEvidence {
    const NAME: &'static str = "log_evidence";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["evidence"])
        .positionals(&["command"])
        .renamed_options(&[("--exit", "exit_code"), ("--file", "files")]);
    const RETURNS: &'static str = RETURNS;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let Self { command, exit_code: exit, files, .. } = self;
        log(
            call,
            self.session_id,
            Body::Evidence(Evidence { command, exit, files, ..Default::default() }),
            Scope::default(),
        )
    }
}

const CORRECTED: &str = "id of of_ai_id";

fn correct(call: &CallContext<'_>, session: Option<Alias>, id: &str, change: Change) -> Result<Answer> {
    Ok(view::corrected(&correct::run(&call.working(None, session)?, id, change)?))
}

/// Replace a wrong entry: a finding, question, dead end, decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceClaim {
    session_id: Option<Alias>,
    claim_id: String,
    text: String,
    /// new reason of a dead end or decision, else why it is replaced
    why: Option<String>,
    until: Option<String>,
    #[serde(default)]
    at: Vec<String>,
}

impl Call for ReplaceClaim {
    const NAME: &'static str = "replace_claim";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = false;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["replace"]).positionals(&["claim_id", "text"]);
    const RETURNS: &'static str = CORRECTED;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        correct(
            call,
            self.session_id,
            &self.claim_id,
            Change::Replace { text: self.text, why: self.why, scope: Scope { until: self.until, at: self.at } },
        )
    }
}

/// Withdraw a wrong entry: a finding, question, dead end, decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetractClaim {
    session_id: Option<Alias>,
    claim_id: String,
    why: String,
}

impl Call for RetractClaim {
    const NAME: &'static str = "retract_claim";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["retract"]).positionals(&["claim_id"]);
    const RETURNS: &'static str = CORRECTED;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        correct(call, self.session_id, &self.claim_id, Change::Retract { why: self.why })
    }
}

/// Confirm an entry that still holds, and where its code is now.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmClaim {
    session_id: Option<Alias>,
    claim_id: String,
    #[serde(default)]
    at: Vec<String>,
}

impl Call for ConfirmClaim {
    const NAME: &'static str = "confirm_claim";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["confirm"]).positionals(&["claim_id"]);
    const RETURNS: &'static str = CORRECTED;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        correct(call, self.session_id, &self.claim_id, Change::Confirm { at: self.at })
    }
}

/// Take back the last record of the session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoLast {
    session_id: Option<Alias>,
}

impl Call for UndoLast {
    const NAME: &'static str = "undo_last";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["undo"]);
    const RETURNS: &'static str = "id kind session_id text dropped:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        Ok(view::undone(&undo::run(&call.working(None, self.session_id)?)?))
    }
}

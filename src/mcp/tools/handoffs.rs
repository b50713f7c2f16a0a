//! Tools for handoffs: write one, resume from earlier ones, find and accept them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::fold::handoff_report::HandoffInput;
use crate::mcp::call_context::CallContext;
use crate::mcp::resources::PREFIX;
use crate::mcp::tools::schema::{Alias, Word};
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands};
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::color::Paint;
use crate::use_cases::handoff::managed::{self, HandoffType};
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::search::filter::FilterInput;
use crate::use_cases::search::reports::Format;
use crate::use_cases::session::{resume, take_up};
use crate::use_cases::{handoff, search};
use empirica_notes::error::{Error, Kind, Result, empirica};
use empirica_notes::model::Verdict;

/// Refuses to edit a draft: a client has no editor.
pub const NO_EDITOR: handoff::write::Editor<'static> =
    &|_: &str| Err(Error::refused("cannot open an editor: a client has none"));

/// Hand over to the next session. The journal, assessments and git supply omitted arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    session_id: Option<Alias>,
    /// the work done
    task_summary: Option<String>,
    #[serde(default)]
    key_findings: Vec<String>,
    #[serde(default)]
    remaining_unknowns: Vec<String>,
    next_session_context: Option<String>,
    #[serde(default)]
    artifacts_created: Vec<String>,
    #[serde(default)]
    next_steps: Vec<String>,
    handoff_type: Option<Word<HandoffType>>,
    /// receiver
    to: Option<String>,
    task_id: Option<String>,
    /// fields of the type
    payload: Option<Map<String, Value>>,
    /// check it first
    #[serde(default)]
    validate: bool,
}

impl Call for Generate {
    const NAME: &'static str = "generate_handoff_report";
    const EFFECT: Effect = Effect::Adds;
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["handoff"]).renamed_options(&[
        ("--type", "handoff_type"),
        ("--finding", "key_findings"),
        ("--unknown", "remaining_unknowns"),
        ("--context", "next_session_context"),
        ("--artifact", "artifacts_created"),
        ("--next", "next_steps"),
        ("-m", "task_summary"),
    ]);
    const RETURNS: &'static str = "session_id report_id markdown storage_location:string? token_count:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let kind = self.handoff_type.map(|word| word.0.name());
        let request = handoff::write::HandoffRequest {
            input: HandoffInput {
                task: self.task_summary,
                findings: self.key_findings,
                unknowns: self.remaining_unknowns,
                context: self.next_session_context,
                next_steps: Some(self.next_steps).filter(|steps| !steps.is_empty()),
                artifacts: self.artifacts_created,
                ..HandoffInput::default()
            },
            managed: managed::ManagedInput {
                kind,
                to: self.to,
                task_id: self.task_id,
                document: self.payload.map(|payload| Value::Object(payload).to_string()),
                ..managed::ManagedInput::default()
            },
            budget: Some(Detail::Full.budget()),
            validate: self.validate,
            ..handoff::write::HandoffRequest::default()
        };
        let context = call.working(None, self.session_id)?;
        let done = handoff::write::run(&context, request, NO_EDITOR).map_err(|error| {
            match kind.map(managed::view::example) {
                // no other tool shows the form of a payload
                Some(Ok(example)) if error.kind() == Kind::Usage => error.alternative(example.text.trim()),
                _ => error,
            }
        })?;
        handoff::view::answer(&done, &mut call.templates)
    }
}

// Which sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Last,
    LastN,
    SessionId,
}

/// Show the handoffs of earlier sessions, to continue work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    ai_id: Option<String>,
    resume_mode: Option<Mode>,
    session_id: Option<Alias>,
    /// for last_n, 1 to 5
    count: Option<u8>,
    /// about 400, 800, 1250 tokens
    detail_level: Option<Word<Detail>>,
}

impl Resume {
    /// The number of newest sessions, and the name of the session, if given.
    fn chosen(&self) -> Result<(usize, Option<Alias>)> {
        let contradiction = |what: &str| {
            Err(Error::usage(format!("cannot combine resume_mode and {what}: they contradict each other"))
                .reason("last takes the newest session, last_n as many as count says, session_id the one of session_id")
                .suggest("Omit resume_mode, or give the argument it requires."))
        };
        let session = self.session_id.clone();
        let mode = self.resume_mode.unwrap_or(match (&session, self.count) {
            (Some(_), _) => Mode::SessionId,
            (None, Some(_)) => Mode::LastN,
            (None, None) => Mode::Last,
        });
        if self.count == Some(0) {
            return Err(
                Error::usage("cannot resume 0 sessions: count must be 1 to 5").suggest("Give a count from 1 to 5.")
            );
        }
        match (mode, session) {
            (Mode::SessionId, None) => Err(Error::usage("cannot resume one session: session_id is missing")
                .reason("resume_mode session_id names one session")
                .suggest("Give session_id, an id or an alias such as latest.")
                .command(empirica("session list"))),
            (Mode::SessionId, Some(_)) if self.count.is_some_and(|count| count > 1) => contradiction("count"),
            (Mode::Last | Mode::LastN, Some(_)) => contradiction("session_id"),
            (Mode::Last, None) if self.count.is_some_and(|count| count > 1) => contradiction("count"),
            (Mode::LastN, None) => Ok((usize::from(self.count.unwrap_or(1).min(5)), None)),
            (_, session) => Ok((1, session)),
        }
    }
}

impl Call for Resume {
    const NAME: &'static str = "resume_previous_session";
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["resume"]).renamed_options(&[("--last", "count")]);
    const RETURNS: &'static str = "sessions:array total_sessions:integer token_estimate:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let (last, session) = self.chosen()?;
        let detail = self.detail_level.map_or(Detail::Summary, |word| word.0);
        let outcome = resume::run(&call.reading(self.ai_id, session)?, last)?;
        let form = resume::view::ResumeForm { detail, budget: None, form: OutputForm::Json };
        let mut answer = resume::view::answer(&outcome, form, &mut call.templates)?;
        let sessions = answer.json.get_mut("sessions").and_then(Value::as_array_mut).into_iter().flatten();
        for (session, resumed) in sessions.zip(&outcome.sessions) {
            // the client reads the handoff as a resource
            if let (Some(envelope), Some(Value::Object(omitted))) = (&resumed.envelope, session.get_mut("omitted"))
                && omitted.shift_remove("command").is_some()
            {
                omitted.insert("resource".to_owned(), format!("{PREFIX}{}", envelope.id.short()).into());
            }
        }
        Ok(answer)
    }
}

/// Find handoffs by agent, time, task or session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    ai_id: Option<String>,
    session_id: Option<Alias>,
    /// 2026-01-31, 7 days ago
    since: Option<String>,
    until: Option<String>,
    /// regular expression
    task_pattern: Option<String>,
    /// default 10
    limit: Option<u32>,
}

impl Call for Query {
    const NAME: &'static str = "query_handoff_reports";
    const COMMANDS: EquivalentCommands =
        EquivalentCommands::of(&["handoff list"]).renamed_options(&[("--task", "task_pattern")]);
    const RETURNS: &'static str = "reports:array total_found:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let filter =
            FilterInput { since: self.since, until: self.until, task: self.task_pattern, ..FilterInput::default() };
        let limit = self.limit.map_or(10, |limit| limit as usize);
        let request = search::SearchRequest { filter, handoffs: true, limit, ..Default::default() };
        let outcome = search::run(&call.reading(self.ai_id, self.session_id)?, &request)?;
        Ok(search::view::answer(&outcome, Format::Table, Paint::default(), None))
    }
}

/// Take a handoff up: understanding, questions, decision.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    session_id: Option<Alias>,
    #[serde(alias = "report_id")]
    handoff_id: String,
    understanding: Option<String>,
    decision: Option<Word<Verdict>>,
    instructions: Option<String>,
    #[serde(default)]
    questions: Vec<String>,
    #[serde(default)]
    gaps: Vec<String>,
    /// of an escalation
    resolution: Option<String>,
    #[serde(default)]
    take_over: bool,
}

impl Call for Accept {
    const NAME: &'static str = "accept_handoff";
    const EFFECT: Effect = Effect::Adds;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["accept"])
        .positionals(&["handoff_id"])
        .renamed_options(&[("--question", "questions"), ("--gap", "gaps")]);
    const RETURNS: &'static str = "id session_id";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = accept::AcceptRequest {
            handoff: self.handoff_id,
            understanding: self.understanding,
            decision: self.decision.map(|word| word.0),
            instructions: self.instructions,
            questions: self.questions,
            gaps: self.gaps,
            resolution: self.resolution,
            take_over: self.take_over,
        };
        let outcome = take_up::run(&call.working(None, self.session_id)?, request)?;
        take_up::answer(&outcome, OutputForm::Json, &mut call.templates)
    }
}

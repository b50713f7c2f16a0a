//! Tools for the whole history: search, calibration, the quality of handoffs, sync.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::mcp::call_context::CallContext;
use crate::mcp::tools::schema::Alias;
use crate::mcp::tools::tool::{Call, Effect, EquivalentCommands};
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::color::Paint;
use crate::text::query::{KINDS, kind};
use crate::use_cases::assess::calibration;
use crate::use_cases::history::metrics;
use crate::use_cases::history::metrics::fold::Period;
use crate::use_cases::search;
use crate::use_cases::search::why;
use crate::use_cases::sync;
use empirica_notes::error::{Error, Result};

// A searchable kind.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline, extend("enum" = KINDS))]
pub struct HitKind(String);

impl HitKind {
    fn name(&self) -> Result<&'static str> {
        kind(&self.0).ok_or_else(|| {
            Error::usage(format!("cannot search for the kind '{}': unknown kind", self.0))
                .provided(&self.0)
                .reason(format!("the kinds are {}", KINDS.join(", ")))
                .suggest("Use one of them.")
        })
    }
}

/// Search what everyone logged, before you begin or try something.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// words, "phrases", tok*, -without, ai:NAME, session:ALIAS
    query: String,
    #[serde(default)]
    kinds: Vec<HitKind>,
    ai_id: Option<String>,
    /// the query is a plan: list failed attempts first
    #[serde(default)]
    plan: bool,
    /// also what was replaced or retracted
    #[serde(default)]
    all: bool,
    /// default 10
    limit: Option<u32>,
}

impl Call for Search {
    const NAME: &'static str = "search_history";
    const CORE: bool = true;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["search"]).positionals(&["query"]);
    const RETURNS: &'static str = "hits:array total_found:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = search::SearchRequest {
            words: vec![self.query],
            plan: self.plan,
            all: self.all,
            kinds: self.kinds.iter().map(HitKind::name).collect::<Result<_>>()?,
            limit: self.limit.map_or(10, |limit| limit as usize),
            ..Default::default()
        };
        let outcome = search::run(&call.reading(self.ai_id, None)?, &request)?;
        Ok(search::view::answer(&outcome, Default::default(), Paint::default(), None))
    }
}

/// Show what was logged about code before you change it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// PATH[:LINE[-LINE]]
    place: String,
}

impl Call for Explain {
    const NAME: &'static str = "explain_code";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["why"]).positionals(&["place"]);
    const RETURNS: &'static str = "known:array omitted:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let outcome = why::run(&call.reading(None, None)?, &self.place)?;
        Ok(why::view::answer(&outcome, why::view::BUDGET, OutputForm::Json))
    }
}

/// Compare confidence with outcomes, by session, agent and over all.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationReport {
    session_id: Option<Alias>,
    ai_id: Option<String>,
}

impl Call for CalibrationReport {
    const NAME: &'static str = "get_calibration_report";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["calibration"]);
    const RETURNS: &'static str = "sessions:array overall:object? agents:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.reading(self.ai_id, self.session_id)?;
        Ok(calibration::view::answer(&calibration::run(&context)?))
    }
}

/// Show the usual error of each vector.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beliefs {
    session_id: Option<Alias>,
    ai_id: Option<String>,
}

impl Call for Beliefs {
    const NAME: &'static str = "query_bayesian_beliefs";
    const RETURNS: &'static str = "overall:object? agents:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.reading(self.ai_id, self.session_id)?;
        Ok(calibration::view::beliefs(&calibration::run(&context)?))
    }
}

/// Measure the tokens that a handoff saves.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    session_id: Option<Alias>,
    /// default: the session's newest
    handoff_id: Option<String>,
}

/// Measures a handoff, or the newest of a session.
fn measured(call: &mut CallContext<'_>, session: Option<Alias>, handoff: Option<String>) -> Result<Answer> {
    let one = match handoff {
        Some(handoff) => metrics::one(&call.reading(None, None)?, &handoff, false)?,
        None => metrics::of_session(&call.working(None, session)?, false)?,
    };
    metrics::view::of_handoff(&one, &mut call.templates)
}

impl Call for Measure {
    const NAME: &'static str = "measure_token_efficiency";
    const RETURNS: &'static str = "handoff_id session_id tokens:object? transcript_tokens:integer?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        measured(call, self.session_id, self.handoff_id)
    }
}

// The forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportForm {
    Json,
    Text,
}

/// Measure handoffs: of one session, or of all by agent, over time.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    session_id: Option<Alias>,
    ai_id: Option<String>,
    since: Option<String>,
    until: Option<String>,
    format: Option<ReportForm>,
}

impl Call for Report {
    const NAME: &'static str = "generate_efficiency_report";
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["metrics"]);
    const RETURNS: &'static str = "report:string?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let of_all = self.ai_id.is_some() || self.since.is_some() || self.until.is_some();
        if self.session_id.is_some() && of_all {
            return Err(Error::usage("cannot combine session_id with ai_id, since or until")
                .reason("session_id names one session, and ai_id, since and until choose among all")
                .suggest("Omit session_id, or the others."));
        }
        let mut answer = match self.session_id {
            Some(session) => measured(call, Some(session), None)?,
            None => {
                let request = metrics::MetricsRequest {
                    since: self.since,
                    until: self.until,
                    by: Period::Month,
                    limit: 10,
                    exact: false,
                };
                let outcome = metrics::run(&call.reading(self.ai_id, None)?, &request)?;
                metrics::view::answer(&outcome, &mut call.templates)?
            }
        };
        if self.format == Some(ReportForm::Text) {
            answer.json = [("report".to_owned(), json!(answer.text))].into_iter().collect();
        }
        Ok(answer)
    }
}

/// Exchange notes with a remote: fetch, merge, push.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// default: as configured
    remote: Option<String>,
    #[serde(default)]
    dry_run: bool,
}

impl Call for Sync {
    const NAME: &'static str = "sync_notes";
    const EFFECT: Effect = Effect::AddsOnce;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&["sync"]).positionals(&["remote"]);
    const RETURNS: &'static str = "remotes:array dry_run:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = sync::run::SyncRequest {
            remote: self.remote,
            dry_run: self.dry_run,
            unattended: true,
            ..Default::default()
        };
        let mut lines = Vec::new();
        let outcome = sync::run::run(&call.reading(None, None)?, &request, &mut |line| lines.push(line.to_owned()))?;
        Ok(sync::view::answer(&outcome).warn(lines))
    }
}

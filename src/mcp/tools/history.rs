//! The whole history: search, calibration, what handing over is worth, and the exchange with others.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::assess::calibration;
use crate::history::metrics;
use crate::history::metrics::fold::Period;
use crate::mcp::call_context::CallContext;
use crate::mcp::tools::schema::Alias;
use crate::mcp::tools::schema::Word;
use crate::mcp::tools::schema::Words;
use crate::mcp::tools::tool::{Call, Commands, Effect};
use crate::render::answer::Answer;
use crate::render::color::Paint;
use crate::search;
use crate::sync;
use crate::text::query::KINDS;
use empirica_notes::error::Error;
use empirica_notes::error::Result;

// The kinds that are searched.
#[derive(Clone, Copy)]
pub struct Kind(&'static str);

impl Words for Kind {
    const ALL: &'static [Self] = &{
        let mut out = [Kind(""); KINDS.len()];
        let mut at = 0;
        while at < KINDS.len() {
            out[at] = Kind(KINDS[at]);
            at += 1;
        }
        out
    };

    fn word(self) -> &'static str {
        self.0
    }
}

/// Search what anyone found, asked, tried, decided, handed over: before you begin or try something.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// words, "phrases", tok*, -without, ai:NAME, session:ALIAS
    query: String,
    #[serde(default)]
    kinds: Vec<Word<Kind>>,
    ai_id: Option<String>,
    /// the query is a plan: what failed comes first
    #[serde(default)]
    plan: bool,
    /// default 10
    limit: Option<u32>,
}

impl Call for Search {
    const NAME: &'static str = "search_history";
    const CORE: bool = true;
    const COMMANDS: Commands = (&["search"], &["query"], &[]);
    const RETURNS: &'static str = "hits:array total_found:integer";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = search::SearchRequest {
            words: vec![self.query],
            plan: self.plan,
            kinds: self.kinds.into_iter().map(|word| word.0.word()).collect(),
            limit: self.limit.map_or(10, |limit| limit as usize),
            ..Default::default()
        };
        let outcome = search::run(&call.reading(self.ai_id, None)?, &request)?;
        Ok(search::view::answer(&outcome, Default::default(), Paint::default(), None))
    }
}

/// Was confidence borne out? By session, agent and over all.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalibrationReport {
    session_id: Option<Alias>,
    ai_id: Option<String>,
}

impl Call for CalibrationReport {
    const NAME: &'static str = "get_calibration_report";
    const COMMANDS: Commands = (&["calibration"], &[], &[]);
    const RETURNS: &'static str = "sessions:array overall:object? agents:array";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let context = call.reading(self.ai_id, self.session_id)?;
        Ok(calibration::view::answer(&calibration::run(&context)?))
    }
}

/// By how much each vector is usually off.
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

/// What resuming from a handoff costs in tokens, and what it replaces.
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

/// How well handing over works: of one session, or of all, by agent and over time.
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
    const COMMANDS: Commands = (&["metrics"], &[], &[]);
    const RETURNS: &'static str = "report:string?";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let of_all = self.ai_id.is_some() || self.since.is_some() || self.until.is_some();
        if self.session_id.is_some() && of_all {
            return Err(Error::usage("one session is measured, or those of an agent or a time")
                .reason("session_id names one session, and ai_id, since and until choose among all")
                .suggest("Leave session_id out, or the others."));
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
    const EFFECT: Effect = Effect::Settles;
    const COMMANDS: Commands = (&["sync"], &["remote"], &[]);
    const RETURNS: &'static str = "remotes:array dry_run:boolean";

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer> {
        let request = sync::run::SyncRequest {
            remote: self.remote,
            dry_run: self.dry_run,
            unattended: true,
            ..Default::default()
        };
        let mut said = Vec::new();
        let outcome = sync::run::run(&call.reading(None, None)?, &request, &mut |line| said.push(line.to_owned()))?;
        Ok(sync::view::answer(&outcome).warn(said))
    }
}

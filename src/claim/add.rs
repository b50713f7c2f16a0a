//! The journal: one entry said along the way.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::paths;
use crate::context::stored::StoreReport;
use crate::text::shorten::short;
use empirica_notes::error::{Error, Result, empirica, option, text};
use empirica_notes::model::journal;
use empirica_notes::model::journal::{
    Activity, DeadEnd, Decision, Evidence, Finding, Mistake, Resolve, Source, Unknown,
};
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::FlushTiming;

/// What is said.
#[derive(Debug, Clone)]
pub enum ClaimInput {
    Finding { text: String, impact: Option<f64>, memory: Option<String> },
    Unknown { text: String },
    Resolve { of: String, text: String, again: bool },
    DeadEnd { approach: String, why: String },
    Mistake { text: String, prevention: Option<String> },
    Decision { text: String, why: String, alternatives: Vec<String> },
    Source { location: String },
    Evidence { command: String, exit: i32, files: Vec<String> },
    Activity { category: String, text: String, failed: bool, files: Vec<String> },
}

/// An entry that was stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedClaim {
    /// The record.
    pub id: Id,
    /// Its kind.
    pub kind: &'static str,
    /// Its session.
    pub session_id: SessionId,
    /// What storing left to say.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Stores one entry in the session the command works in. It may name the record that led to it; an answer names its unknown already.
pub fn log(context: &CommandContext<'_>, entry: ClaimInput, led_from: Option<&str>) -> Result<AddedClaim> {
    let again = matches!(entry, ClaimInput::Resolve { again: true, .. });
    let mut body = body(context, entry, context.led_from(led_from)?)?;
    let mut warnings = match &body {
        Body::Source(source) => paths::source(context, &source.location),
        Body::Evidence(run) => paths::files(context, "file", &run.files),
        Body::Resolve(resolve) if !again => refuse_resolved(context, resolve).map(|()| Vec::new())?,
        _ => Vec::new(),
    };
    let who = context.writing()?;
    if let Body::Resolve(resolve) = &mut body {
        resolve.concerns.retain(|owner| *owner != who.id);
    }
    let kind = body.kind();
    let (records, mut stored) = context.store(&who, vec![body], FlushTiming::Later)?;
    stored.warnings.append(&mut warnings);
    let record = records.into_iter().next().ok_or_else(Error::unstored)?;
    Ok(AddedClaim { id: record.head.id, kind, session_id: who.id, stored })
}

/// Stores findings and open questions; none of them when one is blank.
pub fn log_each(context: &CommandContext<'_>, findings: Vec<String>, unknowns: Vec<String>) -> Result<()> {
    findings.iter().try_for_each(|text| context.text("finding", text).map(drop))?;
    unknowns.iter().try_for_each(|text| context.text("unknown", text).map(drop))?;
    let findings = findings.into_iter().map(|text| ClaimInput::Finding { text, impact: None, memory: None });
    let mut entries = findings.chain(unknowns.into_iter().map(|text| ClaimInput::Unknown { text }));
    entries.try_for_each(|entry| log(context, entry, None).map(drop))
}

/// Refuses a second answer: an unknown is resolved once, unless another answer is wanted.
fn refuse_resolved(context: &CommandContext<'_>, resolve: &Resolve) -> Result<()> {
    let answers = context.index()?.naming([&resolve.of], &["resolve"])?;
    let Some(Record { head, body: Body::Resolve(earlier) }) = answers.records().next_back() else { return Ok(()) };
    let at = head.at.get(..16).unwrap_or(&head.at).replace('T', " ");
    let unknown = resolve.of.short();
    Err(Error::refused(format!("cannot resolve unknown {unknown}: {} resolved it on {at} UTC", head.ai))
        .provided(&*resolve.text)
        .reason(format!("its answer is: {}", short(&earlier.text, ANSWER)))
        .suggest(text!["Add another answer with ", option("--again"), "."])
        .command(empirica("resolve").arg(unknown).arg(&*resolve.text).flag("--again")))
}

/// How much of an answer is quoted, in characters.
const ANSWER: usize = 300;

fn body(context: &CommandContext<'_>, entry: ClaimInput, led_from: Option<Id>) -> Result<Body> {
    let text = |name: &str, text: String| context.text(name, &text).map(str::to_owned);
    let optional = |name: &str, given: Option<String>| given.map(|given| text(name, given)).transpose();
    let each =
        |name: &str, list: Vec<String>| list.into_iter().map(|item| text(name, item)).collect::<Result<Vec<_>>>();
    let body = match entry {
        ClaimInput::Finding { text: finding, impact, memory } => {
            let memory = memory.map(known_memory).transpose()?;
            Body::Finding(Finding { text: text("finding", finding)?, impact, memory, led_from })
        }
        ClaimInput::Unknown { text: unknown } => Body::Unknown(Unknown { text: text("unknown", unknown)?, led_from }),
        ClaimInput::Resolve { of, text: answer, .. } => {
            let answer = text("answer", answer)?;
            let about =
                context.record(&of, "unknown", &[Namespace::Journal], |r| matches!(r.body, Body::Unknown(_)))?;
            let concerns = about.head.session.into_iter().collect();
            Body::Resolve(Resolve { of: about.head.id, text: answer, concerns })
        }
        ClaimInput::DeadEnd { approach, why } => {
            Body::DeadEnd(DeadEnd { approach: text("approach", approach)?, why: text("reason", why)?, led_from })
        }
        ClaimInput::Mistake { text: mistake, prevention } => Body::Mistake(Mistake {
            text: text("mistake", mistake)?,
            prevention: optional("prevention", prevention)?,
            led_from,
        }),
        ClaimInput::Decision { text: decision, why, alternatives } => Body::Decision(Decision {
            text: text("decision", decision)?,
            why: text("reason", why)?,
            alternatives: each("alternative", alternatives)?,
            led_from,
        }),
        ClaimInput::Source { location } => Body::Source(Source { location: text("source", location)?, led_from }),
        ClaimInput::Evidence { command, exit, files } => {
            Body::Evidence(Evidence { command: text("command", command)?, exit, files: each("file", files)?, led_from })
        }
        ClaimInput::Activity { category, text: activity, failed, files } => Body::Activity(Activity {
            failed,
            category: known_category(category)?,
            text: text("activity", activity)?,
            files: each("file", files)?,
            led_from,
        }),
    };
    Ok(body)
}

fn known_memory(memory: String) -> Result<String> {
    if journal::MEMORY.contains(&memory.as_str()) {
        return Ok(memory);
    }
    let error = Error::usage(format!("nothing is kept in mind as '{memory}'")).provided(&*memory);
    Err(journal::MEMORY.iter().fold(
        error.reason(format!("the words are {}", journal::MEMORY.join(", "))).suggest("Use one of them."),
        |error, word| error.alternative(*word),
    ))
}

fn known_category(given: String) -> Result<String> {
    let lower = given.to_ascii_lowercase();
    if journal::CATEGORIES.contains(&lower.as_str()) {
        return Ok(lower);
    }
    let mut error = Error::usage(format!("there is no activity category '{given}'"))
        .provided(given)
        .reason(format!("the categories are {}", journal::CATEGORIES.join(", ")));
    if let Some(near) = similar::get_close_matches(lower.as_str(), journal::CATEGORIES, 1, 0.5).first() {
        error = error.suggest(format!("Did you mean '{near}'?")).alternative(*near);
    } else {
        error = error.suggest("Use mcp for a tool that fits none of the others.").alternative("mcp");
    }
    Err(error)
}

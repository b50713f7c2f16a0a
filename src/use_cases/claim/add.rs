//! Logs one entry of the journal.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession};
use crate::context::{active, paths};
use crate::text::shorten::short;
use crate::use_cases::claim::scope::Scope;
use empirica_notes::error::{Command, Error, Result, empirica, option, text};
use empirica_notes::model::journal::{self, Activity, Evidence, Finding, Resolve, Unknown};
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};
use empirica_notes::store::FlushTiming;

/// An entry that was stored.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AddedClaim {
    /// The record.
    pub id: Id,
    /// Its kind.
    pub kind: &'static str,
    /// Its session.
    pub session_id: SessionId,
    /// The command that says where in the code a claim is: in the file that the agent read or changed last; absent if it says where, and
    /// if no hook told of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub next_step: Option<Command>,
    #[serde(skip)]
    pub stored: StoreReport,
}

/// Stores one entry in the session of the command. It may name the record that led to it, and a claim has a scope.
pub fn log(context: &CommandContext<'_>, mut entry: Body, led_from: Option<&str>, scope: &Scope) -> Result<AddedClaim> {
    entry.set_led_from(context.led_from(led_from)?);
    scope.apply(context, &mut entry)?;
    check(context, &mut entry)?;
    let warnings = match &entry {
        Body::Source(source) => paths::source(context, &source.location),
        Body::Evidence(run) => paths::files(context, "file", &run.files),
        _ => Vec::new(),
    };
    store(context, &context.writing()?, entry, warnings)
}

/// Answers an unknown, which may be of another session. `again` adds an answer to one that is resolved.
pub fn resolve(context: &CommandContext<'_>, of: &str, answer: String, again: bool) -> Result<AddedClaim> {
    context.text("answer", &answer)?;
    let about = context.record(of, "unknown", &[Namespace::Journal], |r| matches!(r.body, Body::Unknown(_)))?;
    let mut resolve =
        Resolve { of: about.envelope.id, text: answer, concerns: about.envelope.session.into_iter().collect() };
    if !again {
        refuse_resolved(context, &resolve)?;
    }
    let session = context.writing()?;
    resolve.concerns.retain(|owner| *owner != session.id);
    store(context, &session, Body::Resolve(resolve), Vec::new())
}

fn store(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    body: Body,
    mut warnings: Vec<String>,
) -> Result<AddedClaim> {
    let kind = body.kind();
    let lacks_place = body.claim().is_some() && body.anchors().is_empty();
    let (records, mut stored) = context.store(session, vec![body], FlushTiming::Later)?;
    stored.warnings.append(&mut warnings);
    let record = records.into_iter().next().ok_or_else(Error::unstored)?;
    let file = lacks_place.then(|| active::last_touched(context, &session.id)).flatten();
    let next_step = file.map(|file| empirica("confirm").arg(record.envelope.id.short()).option("--at", file));
    Ok(AddedClaim { id: record.envelope.id, kind, session_id: session.id.clone(), next_step, stored })
}

/// Stores findings and open questions; none of them when one is blank.
pub fn log_each(context: &CommandContext<'_>, findings: Vec<String>, unknowns: Vec<String>) -> Result<()> {
    findings.iter().try_for_each(|text| context.text("finding", text).map(drop))?;
    unknowns.iter().try_for_each(|text| context.text("unknown", text).map(drop))?;
    let findings = findings.into_iter().map(|text| Body::Finding(Finding { text, ..Default::default() }));
    let mut entries =
        findings.chain(unknowns.into_iter().map(|text| Body::Unknown(Unknown { text, ..Default::default() })));
    entries.try_for_each(|entry| log(context, entry, None, &Scope::default()).map(drop))
}

/// Refuses a second answer.
fn refuse_resolved(context: &CommandContext<'_>, resolve: &Resolve) -> Result<()> {
    let answers = context.index()?.naming([&resolve.of], &["resolve"])?;
    let Some(Record { envelope, body: Body::Resolve(earlier) }) = answers.records().next_back() else { return Ok(()) };
    let at = envelope.at.get(..16).unwrap_or(&envelope.at).replace('T', " ");
    let unknown = resolve.of.short();
    Err(Error::refused(format!("cannot resolve unknown {unknown}: {} resolved it on {at} UTC", envelope.ai))
        .provided(&*resolve.text)
        .reason(format!("its answer is: {}", short(&earlier.text, ANSWER)))
        .suggest(text!["Add another answer with ", option("--again"), "."])
        .command(empirica("resolve").arg(unknown).arg(&*resolve.text).flag("--again")))
}

/// The longest quotation of an answer, in characters.
const ANSWER: usize = 300;

/// Refuses blank texts and unknown words; writes a category in lower case.
pub(super) fn check(context: &CommandContext<'_>, entry: &mut Body) -> Result<()> {
    let kind = entry.kind().replace('_', " ");
    for (key, text) in entry.own_texts() {
        let name = match key {
            "text" => kind.as_str(),
            "location" => "source",
            "why" => "reason",
            "alternatives" => "alternative",
            key => key,
        };
        context.text(name, text)?;
    }
    match entry {
        Body::Finding(Finding { memory: Some(memory), .. }) => check_memory(memory),
        Body::Evidence(Evidence { files, .. }) => {
            files.iter().try_for_each(|file| context.text("file", file).map(drop))
        }
        Body::Activity(Activity { category, files, .. }) => {
            *category = parse_category(category)?;
            files.iter().try_for_each(|file| context.text("file", file).map(drop))
        }
        _ => Ok(()),
    }
}

fn check_memory(memory: &str) -> Result<()> {
    if journal::MEMORY.contains(&memory) {
        return Ok(());
    }
    let error = Error::usage(format!("cannot log a memory of the kind '{memory}': unknown kind")).provided(memory);
    Err(journal::MEMORY.iter().fold(
        error.reason(format!("the kinds are {}", journal::MEMORY.join(", "))).suggest("Use one of them."),
        |error, kind| error.alternative(*kind),
    ))
}

fn parse_category(name: &str) -> Result<String> {
    let lower = name.to_ascii_lowercase();
    if journal::CATEGORIES.contains(&lower.as_str()) {
        return Ok(lower);
    }
    let mut error = Error::usage(format!("cannot log an activity of the category '{name}': unknown category"))
        .provided(name)
        .reason(format!("the categories are {}", journal::CATEGORIES.join(", ")));
    if let Some(near) = similar::get_close_matches(lower.as_str(), journal::CATEGORIES, 1, 0.5).first() {
        error = error.suggest(format!("Did you mean '{near}'?")).alternative(*near);
    } else {
        error = error.suggest("Use mcp for any other tool.").alternative("mcp");
    }
    Err(error)
}

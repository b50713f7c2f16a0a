//! The answer of `show`: a handoff, a session, a record, or the records of a commit.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::context::handoffs::ListedHandoff;
use crate::render::answer::Answer;
use crate::render::safe;
use crate::render::template::Templates;
use crate::use_cases::handoff::view::{HandoffView, compact, markdown, template};
use crate::use_cases::handoff::{arrival, receive};
use crate::use_cases::history::record_line;
use crate::use_cases::history::show::record::PointView;
use crate::use_cases::history::show::{ShowOutcome, record, state, trust};
use crate::use_cases::session;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::{Body, Record};

/// The records attached to a commit.
#[derive(Serialize, JsonSchema)]
pub struct CommitView<'a> {
    /// The commit.
    commit: &'a str,
    /// Its subject.
    subject: &'a str,
    /// Its handoffs.
    handoffs: Vec<HandoffView<'a>>,
    /// Its other records.
    records: Vec<PointView<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Markdown,
    Json,
    Compact,
}

/// The answer of `show`. `compact` is for handoffs only; a session's is that of its handoff.
pub fn shown(shown: &ShowOutcome, format: Format, warnings: Vec<String>, terminal: &mut Templates) -> Result<Answer> {
    let one = |listed: &ListedHandoff, terminal: &mut Templates| -> Result<Answer> {
        if format == Format::Compact {
            let json = compact(&listed.envelope, &listed.handoff);
            let text = safe::json(&json) + "\n";
            return Ok(Answer::new(json).text(text));
        }
        let answer = Answer::new(HandoffView::of(&listed.envelope, &listed.handoff));
        if format == Format::Json {
            return Ok(answer);
        }
        let record =
            Record { envelope: listed.envelope.clone(), body: Body::Handoff(Box::new(listed.handoff.clone())) };
        Ok(answer.text(markdown(terminal, &record)?).paged())
    };
    match (shown, format) {
        (ShowOutcome::Handoff(listed, ..), Format::Compact) => Ok(one(listed, terminal)?.warn(warnings)),
        (ShowOutcome::Handoff(listed, arrival, received, trust), _) => {
            // the user's own template decides the text
            let is_ours = terminal.is_built_in(template(&listed.handoff));
            let answer = one(listed, terminal)?.warn(warnings);
            let answer = receive::view::added(arrival::view::added(answer, arrival, is_ours), received, is_ours);
            let answer = trust::committed(answer, &trust.committed, is_ours);
            as_text(trust.verification.iter().fold(answer, trust::verified), format)
        }
        (ShowOutcome::Session(_, Some(listed), _), Format::Compact) => Ok(one(listed, terminal)?.warn(warnings)),
        (ShowOutcome::Session(_, None, _), Format::Compact) => Err(no_compact("the session has no handoff")),
        (ShowOutcome::Session(session, _, committers), _) => {
            as_text(trust::session(session::view::show(session, warnings, terminal)?, committers), format)
        }
        (ShowOutcome::Record(record, committed, standing), Format::Markdown | Format::Json) => {
            let answer = trust::committed(record::shown(record, warnings), committed, true);
            as_text(state::added(answer, standing), format)
        }
        (ShowOutcome::Commit { commit, subject, records }, Format::Markdown | Format::Json) => {
            as_text(commit_answer(commit, subject, records, warnings, terminal)?, format)
        }
        _ => Err(no_compact("only a handoff has a compact form")),
    }
}

fn no_compact(why: &str) -> Error {
    Error::usage("cannot show this in compact form")
        .reason(why)
        .suggest("Name a handoff, or leave --format out.")
        .command(empirica("handoff list"))
}

/// With `--format json`, the text is the document.
fn as_text(mut answer: Answer, format: Format) -> Result<Answer> {
    if format != Format::Json {
        return Ok(answer.quoting());
    }
    answer.text = safe::json(&Value::Object(answer.json.clone())) + "\n";
    Ok(answer.data())
}

fn commit_answer(
    commit: &str,
    subject: &str,
    records: &[Record],
    warnings: Vec<String>,
    terminal: &mut Templates,
) -> Result<Answer> {
    let mut text = format!("commit {commit}\n    {}\n", safe::line(subject));
    for record in records {
        match &record.body {
            Body::Handoff(_) => text.push_str(&format!("\n{}", markdown(terminal, record)?)),
            _ => text.push_str(&format!(
                "\n{} {} by {}: {}\n",
                record.envelope.id.short(),
                record.body.kind().replace('_', " "),
                safe::line(&record.envelope.ai),
                safe::indented(&record_line::text(record), 4)
            )),
        }
    }
    let handoffs = records.iter().filter_map(|record| match &record.body {
        Body::Handoff(handoff) => Some(HandoffView::of(&record.envelope, handoff)),
        _ => None,
    });
    let others = records.iter().filter(|record| !matches!(record.body, Body::Handoff(_)));
    let (handoffs, records_view) = (handoffs.collect(), others.map(PointView::from).collect());
    let view = CommitView { commit, subject, handoffs, records: records_view };
    let answer = Answer::new(view).text(text).warn(warnings).paged();
    Ok(if records.is_empty() { answer.say("Nothing is stored on this commit.") } else { answer })
}

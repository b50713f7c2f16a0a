//! One commit of the log with what stands on it.

use std::sync::Mutex;

use serde_json::{Value, json};

use super::colour::Paint;
use super::handoff::{growth, json_of};
use super::pack::{Detail, lists, texts};
use super::template::Templates;
use super::{safe, words};
use crate::epistemics::report::duration;
use crate::error::Result;
use crate::model::{Body, Record};
use crate::ops::log::Annotated;

fn point_json(record: &Record) -> Value {
    let mut json = json!({
        "id": record.head.id, "kind": record.body.kind(), "session_id": record.head.session, "ai_id": record.head.ai,
        "timestamp": record.head.at,
    });
    if let Value::Object(map) = &mut json {
        map.extend(super::snapshot::brief_keys(&record.body));
    }
    json
}

/// The commit as JSON; `checkpoints` and `journal` only when they were asked for.
pub fn json_line(found: &Annotated, with_checkpoints: bool, with_journal: bool) -> Value {
    let handoffs: Vec<Value> = found
        .handoffs
        .iter()
        .filter_map(|record| match &record.body {
            Body::Handoff(handoff) => Some(json_of(&record.head, handoff)),
            _ => None,
        })
        .collect();
    let of_kind = |fits: fn(&Body) -> bool| -> Vec<Value> {
        found.handoffs.iter().filter(|record| fits(&record.body)).map(point_json).collect()
    };
    let mut json = json!({
        "commit": found.commit.id.to_string(),
        "subject": found.commit.subject,
        "author": format!("{} <{}>", found.commit.author, found.commit.email),
        "date": found.commit.date,
        "handoffs": handoffs,
        "digests": of_kind(|body| matches!(body, Body::Digest(_))),
        "acknowledgements": of_kind(|body| matches!(body, Body::Accept(_))),
    });
    if with_checkpoints {
        json["checkpoints"] = found.checkpoints.iter().map(point_json).collect();
    }
    if with_journal {
        json["journal"] = found.journal.iter().map(point_json).collect();
    }
    json
}

/// The commit on a line, with a line for each handoff and a count of the rest.
pub fn one_line(found: &Annotated, paint: Paint) -> String {
    let mut text = format!("{} {}\n", paint.commit(&found.commit.short), safe::line(&found.commit.subject));
    for record in &found.handoffs {
        if let Body::Digest(digest) = &record.body {
            text.push_str(&format!(
                "  {} {}: digest of {} ({})\n",
                paint.heading(record.head.id.short()),
                safe::line(&record.head.ai),
                safe::line(&digest.task),
                [
                    words::count(digest.findings.len(), "finding"),
                    words::count(digest.decisions.len(), "decision"),
                    words::count(digest.evidence.len(), "check"),
                ]
                .join(", ")
            ));
        }
        if let Body::Accept(accept) = &record.body {
            text.push_str(&format!(
                "  {} {}: {}{}\n",
                paint.heading(record.head.id.short()),
                safe::line(&record.head.ai),
                accept.of.short(),
                words::accepted(accept)
            ));
        }
        if let Body::Handoff(handoff) = &record.body {
            text.push_str(&format!(
                "  {} {}: {} ({}, {})\n",
                paint.heading(record.head.id.short()),
                safe::line(&record.head.ai),
                safe::line(&handoff.task),
                words::signed(growth(handoff)),
                handoff.calibration_status.name().replace('_', " ")
            ));
        }
    }
    for (records, noun) in [(&found.checkpoints, "checkpoint"), (&found.journal, "journal record")] {
        if !records.is_empty() {
            text.push_str(&format!("  {}\n", words::count(records.len(), noun)));
        }
    }
    text
}

/// The templates of the terminal, for several threads.
pub struct Terminal<'t> {
    templates: Mutex<&'t mut Templates>,
    is_built_in: bool,
}

impl<'t> Terminal<'t> {
    /// These templates.
    pub fn new(templates: &'t mut Templates) -> Self {
        Terminal { is_built_in: templates.is_built_in("log.txt"), templates: Mutex::new(templates) }
    }
}

/// The commit as `git log` shows it, with its records below.
pub fn entry(found: &Annotated, paint: Paint, terminal: &Terminal<'_>) -> Result<String> {
    let commit = &found.commit;
    let mut text = paint.commit(&format!("commit {}", commit.id)) + "\n";
    if commit.parents.len() > 1 {
        text.push_str(&format!("Merge: {}\n", commit.parents.join(" ")));
    }
    text.push_str(&format!(
        "Author: {} <{}>\nDate:   {}\n\n",
        safe::line(&commit.author),
        safe::line(&commit.email),
        commit.shown_date
    ));
    for line in safe::clean(commit.message.trim_end()).split('\n') {
        let begun = text.len();
        text.push_str("    ");
        text.push_str(line);
        text.truncate(begun + text[begun..].trim_end().len());
        text.push('\n');
    }
    let records = if terminal.is_built_in { built_in(found) } else { templated(found, terminal)? };
    text.push_str(&paint.text(records.trim_end()));
    text.push_str("\n\n");
    Ok(text)
}

/// What the built-in `log.txt` says, without what a template costs: a log can show a hundred thousand commits. A test holds
/// that both say the same.
fn built_in(found: &Annotated) -> String {
    let mut out = String::new();
    for record in &found.handoffs {
        let Body::Handoff(handoff) = &record.body else { continue };
        let task = safe::line(&handoff.task);
        out.push_str(&format!(
            "\nHandoff {} by {}, session {}, {}, {}\n    {}",
            record.head.id.short(),
            safe::line(&record.head.ai),
            session(record),
            duration(handoff.duration_seconds),
            handoff.calibration_status.name().replace('_', " "),
            if task.is_empty() { "(no task given)" } else { &task },
        ));
        for (title, texts) in texts(handoff) {
            out.push_str("\n    ");
            out.push_str(title);
            out.push(':');
            for text in texts {
                out.push_str("\n      - ");
                out.push_str(&safe::indented(&text, 8));
            }
        }
        out.push('\n');
    }
    for record in &found.handoffs {
        let Body::Digest(digest) = &record.body else { continue };
        out.push_str(&format!(
            "\nDigest {} by {}, session {}\n    {}",
            record.head.id.short(),
            safe::line(&record.head.ai),
            session(record),
            safe::line(&digest.task)
        ));
        for entry in words::digest(digest) {
            out.push_str(&format!("\n      - {}", safe::line(&entry)));
        }
        out.push('\n');
    }
    for record in found.handoffs.iter().filter(|record| matches!(record.body, Body::Accept(_))) {
        let text = safe::indented(&words::said(record), 4);
        out.push_str(&format!(
            "\nAcknowledgement {} by {}: {text}\n",
            record.head.id.short(),
            safe::line(&record.head.ai)
        ));
    }
    if !found.checkpoints.is_empty() {
        out.push_str("\nCheckpoints:");
        for record in &found.checkpoints {
            let (short, what) = (record.head.id.short(), super::record::point_name(record));
            out.push_str(&format!("\n    {short} {what} by {}: {}", safe::line(&record.head.ai), words::said(record)));
        }
        out.push('\n');
    }
    if !found.journal.is_empty() {
        out.push_str("\nJournal:");
        for record in &found.journal {
            let (short, kind) = (record.head.id.short(), record.body.kind().replace('_', " "));
            let text = safe::indented(&words::said(record), 8);
            out.push_str(&format!("\n    {short} {kind} by {}: {text}", safe::line(&record.head.ai)));
        }
        out.push('\n');
    }
    out
}

/// The short id of the session, as a template shows what can be missing.
fn session(record: &Record) -> &str {
    record.head.session.as_ref().map_or("none", |id| id.short())
}

/// The records as the user's own template shows them.
fn templated(found: &Annotated, terminal: &Terminal<'_>) -> Result<String> {
    let handoffs: Vec<Value> = found.handoffs.iter().filter_map(handoff_view).collect();
    let digests: Vec<Value> = found.handoffs.iter().filter_map(digest_view).collect();
    let accepts = found.handoffs.iter().filter(|record| matches!(record.body, Body::Accept(_)));
    let accepts: Vec<Value> = accepts
        .map(|record| json!({"short": record.head.id.short(), "ai": record.head.ai, "text": words::said(record)}))
        .collect();
    let checkpoints: Vec<Value> = found
        .checkpoints
        .iter()
        .map(|record| {
            let what = super::record::point_name(record);
            json!({"short": record.head.id.short(), "what": what, "ai": record.head.ai, "values": words::said(record)})
        })
        .collect();
    let journal: Vec<Value> = found
        .journal
        .iter()
        .map(|record| {
            let kind = record.body.kind().replace('_', " ");
            json!({"short": record.head.id.short(), "kind": kind, "ai": record.head.ai, "text": words::said(record)})
        })
        .collect();
    let data = json!({
        "handoffs": handoffs, "digests": digests, "acknowledgements": accepts, "checkpoints": checkpoints,
        "journal": journal,
    });
    // a thread that panicked in it has left it whole: it is made anew or as it was
    let mut templates = terminal.templates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    templates.render("log.txt", data)
}

fn digest_view(record: &Record) -> Option<Value> {
    let Body::Digest(digest) = &record.body else { return None };
    Some(json!({
        "short": record.head.id.short(),
        "ai": record.head.ai,
        "session": record.head.session.as_ref().map(|id| id.short()),
        "task": digest.task,
        "entries": words::digest(digest),
    }))
}

fn handoff_view(record: &Record) -> Option<Value> {
    let Body::Handoff(handoff) = &record.body else { return None };
    // what is done shows in the commit itself
    let shown = lists(handoff, Detail::Summary)
        .into_iter()
        .filter(|list| !list.entries.is_empty() && list.key != "accomplished");
    let lists: Vec<Value> = shown
        .map(|list| json!({"title": list.title, "entries": list.entries.iter().map(|e| &e.text).collect::<Vec<_>>()}))
        .collect();
    Some(json!({
        "short": record.head.id.short(),
        "ai": record.head.ai,
        "session": record.head.session.as_ref().map(|id| id.short()),
        "duration": duration(handoff.duration_seconds),
        "calibration": handoff.calibration_status.name().replace('_', " "),
        "task": handoff.task,
        "lists": lists,
    }))
}

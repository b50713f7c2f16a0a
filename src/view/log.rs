//! One commit of the log with what stands on it.

use serde_json::{Value, json};

use super::colour::Paint;
use super::handoff::{growth, json_of};
use super::pack::{Detail, lists};
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

/// The commit as `git log` shows it, with its records below.
pub fn entry(found: &Annotated, paint: Paint, terminal: &mut Templates) -> Result<String> {
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
        text.push_str(format!("    {line}").trim_end());
        text.push('\n');
    }
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
    let records = terminal.render("log.txt", data)?;
    text.push_str(&paint.text(records.trim_end()));
    text.push_str("\n\n");
    Ok(text)
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

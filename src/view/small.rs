//! The answers of commands that say one thing: journal, checkpoints, goals, query, flush, show, setup.

use serde_json::{Value, json};

use super::handoff::{compact, growth, json_of, markdown};
use super::template::Templates;
use super::{Answer, safe, words};
use crate::epistemics::confidence::overall;
use crate::epistemics::journal::Owned;
use crate::error::{Error, Result};
use crate::model::goal::{GoalStatus, completion_rate, reached};
use crate::model::{Body, Phase, Record};
use crate::ops::handoff::Listed;
use crate::ops::show::Shown;
use crate::ops::{flush, goal, journal, query, setup};

/// The answer of a journal command.
pub fn logged(outcome: &journal::Logged) -> Answer {
    let json = json!({"id": outcome.id, "kind": outcome.kind, "session_id": outcome.session_id});
    Answer::new(json)
        .text(format!("{}\n", outcome.id.short()))
        .say(format!(
            "Logged {} {} in session {}.",
            outcome.kind.replace('_', " "),
            outcome.id.short(),
            outcome.session_id.short()
        ))
        .stored(&outcome.stored)
}

/// A record as JSON. A checkpoint or assessment goes by `checkpoint_id` and has its overall confidence; of a checkpoint the
/// snapshot is left out.
pub fn point_json(record: &Record) -> Value {
    if let Body::Checkpoint(checkpoint) = &record.body {
        return Value::Object(super::snapshot::brief_json(&record.head, checkpoint));
    }
    let head = &record.head;
    let vectors = match &record.body {
        Body::Assessment(a) => Some(&a.vectors),
        _ => None,
    };
    let mut json = json!({});
    json[if vectors.is_some() { "checkpoint_id" } else { "id" }] = json!(head.id);
    let envelope = json!({
        "kind": record.body.kind(), "session_id": head.session, "ai_id": head.ai, "timestamp": head.at,
        "commit": head.commit,
    });
    if let (Value::Object(json), Value::Object(envelope)) = (&mut json, envelope) {
        json.extend(envelope);
        json.extend(crate::wire::record::body_to_map(&record.body));
        if let Some(vectors) = vectors {
            json.insert("overall_confidence".to_owned(), json!(overall(vectors)));
        }
    }
    json
}

/// What a checkpoint or assessment is, in a word or two.
pub fn point_name(record: &Record) -> String {
    match &record.body {
        Body::Assessment(a) => format!("{} {}", a.phase.name(), a.round),
        Body::Checkpoint(c) => format!("checkpoint {} {}", c.phase.map_or("–", Phase::name), c.round),
        other => other.kind().to_owned(),
    }
}

/// The answer of `checkpoint show`, and of `show` for a record that is no handoff.
pub fn record(record: &Record, warnings: Vec<String>) -> Answer {
    let head = &record.head;
    let mut text = format!(
        "{} {}\nId:      {}\nAgent:   {}\nSession: {}\nDate:    {}\nCommit:  {}\n",
        record.body.kind().replace('_', " "),
        head.id.short(),
        head.id,
        safe::line(&head.ai),
        head.session.as_ref().map_or("–", |id| id.as_str()),
        words::date(&head.at),
        head.commit.as_deref().unwrap_or("none yet"),
    );
    for (key, value) in crate::wire::record::body_to_map(&record.body) {
        let shown = match &value {
            Value::String(text) => safe::indented(text, 4),
            Value::Object(map) if map.values().all(Value::is_number) => {
                let pairs: Vec<String> = map.iter().map(|(name, value)| format!("{name} {value}")).collect();
                safe::indented(&pairs.join(", "), 4)
            }
            Value::Null => "–".to_owned(),
            other => safe::indented(&other.to_string(), 4),
        };
        text.push_str(&format!("{key}: {shown}\n"));
    }
    Answer::new(point_json(record)).text(text).warn(warnings).paged()
}

fn goal_json(owned: &Owned) -> Value {
    let mut json = json!(owned.goal);
    json["session_id"] = json!(owned.session);
    json["progress"] = json!(owned.goal.progress());
    json
}

/// A goal and its steps; with `proof` what shows that the steps are done, too.
fn goal_lines(owned: &Owned, proof: bool) -> String {
    let goal = &owned.goal;
    let progress = goal.progress().map(|p| format!(" ({p})")).unwrap_or_default();
    let mut text = format!(
        "{} {:<7} {:<6} {}{progress}\n",
        goal.id.short(),
        goal.status.name(),
        goal.priority.name(),
        safe::line(&goal.text)
    );
    for subtask in &goal.subtasks {
        text.push_str(&format!(
            "  {} {:<7} {}\n",
            subtask.id.short(),
            subtask.status.name(),
            safe::line(&subtask.text)
        ));
        if let Some(evidence) = subtask.evidence.as_ref().filter(|_| proof) {
            text.push_str(&evidence_line(subtask.status, evidence, 4));
        }
    }
    text
}

/// What shows that it is done, or why it was dropped.
fn evidence_line(status: GoalStatus, evidence: &str, indent: usize) -> String {
    let title = if status == GoalStatus::Dropped { "why" } else { "evidence" };
    format!("{:indent$}{title}: {}\n", "", safe::indented(evidence, indent))
}

/// The answer of `goal add|sub|done|drop|take`.
pub fn goal_changed(outcome: &goal::Outcome) -> Answer {
    let json = json!({
        "id": outcome.id,
        "kind": outcome.kind,
        "session_id": outcome.session_id,
        "goals": outcome.goals.iter().map(goal_json).collect::<Vec<_>>(),
    });
    let said: String = outcome.goals.iter().map(|goal| goal_lines(goal, false)).collect();
    Answer::new(json).text(format!("{}\n", outcome.id.short())).say(said.trim_end().to_owned()).stored(&outcome.stored)
}

/// The answer of `goal list`.
pub fn goals(goals: &[Owned], warnings: Vec<String>) -> Answer {
    let (done, counted) = reached(goals.iter().map(|owned| &owned.goal));
    let json = json!({
        "goals": goals.iter().map(goal_json).collect::<Vec<_>>(),
        "total_found": goals.len(),
        "completion_rate": completion_rate(goals.iter().map(|owned| &owned.goal)),
    });
    let answer = Answer::new(json)
        .text(goals.iter().map(|goal| goal_lines(goal, false)).collect::<String>())
        .warn(warnings)
        .paged();
    match counted {
        _ if goals.is_empty() => answer.say("There is no goal."),
        0 => answer,
        _ => answer.say(format!("{done} of {} done.", words::count(counted, "goal"))),
    }
}

/// The answer of `goal show`.
pub fn goal_shown(owned: &Owned, warnings: Vec<String>) -> Answer {
    let mut text = goal_lines(owned, true);
    if let Some(rationale) = &owned.goal.rationale {
        text.push_str(&format!("  rationale: {}\n", safe::lines(rationale)));
    }
    for criterion in &owned.goal.criteria {
        text.push_str(&format!("  criterion: {}\n", safe::lines(criterion)));
    }
    if let Some(evidence) = &owned.goal.evidence {
        text.push_str(&evidence_line(owned.goal.status, evidence, 2));
    }
    Answer::new(json!({"goal": goal_json(owned)})).text(text).warn(warnings)
}

/// How many findings of each handoff `query` shows.
const SHOWN: usize = 5;

/// The answer of `query`.
pub fn queried(outcome: &query::Outcome) -> Answer {
    let row = |listed: &Listed| {
        json!({
            "handoff_id": listed.head.id,
            "session_id": listed.head.session,
            "ai_id": listed.head.ai,
            "timestamp": listed.head.at,
            "commit": listed.head.commit,
            "task": listed.handoff.task,
            "key_findings": listed.handoff.findings.iter().map(|f| &f.text).collect::<Vec<_>>(),
            "remaining_unknowns": listed.handoff.unknowns.iter().map(|u| &u.text).collect::<Vec<_>>(),
            "calibration_status": listed.handoff.calibration_status,
            "epistemic_growth": growth(&listed.handoff),
        })
    };
    let block = |listed: &Listed| {
        let mut text = format!(
            "{} {} {}  growth {}  {}\n  {}\n",
            listed.head.id.short(),
            words::date(&listed.head.at),
            safe::line(&listed.head.ai),
            words::signed(growth(&listed.handoff)),
            listed.handoff.calibration_status.name().replace('_', " "),
            safe::line(&listed.handoff.task)
        );
        for finding in listed.handoff.findings.iter().take(SHOWN) {
            text.push_str(&format!("  - {}\n", safe::indented(&finding.text, 4)));
        }
        if let more @ 1.. = listed.handoff.findings.len().saturating_sub(SHOWN) {
            text.push_str(&format!("  {more} more: git empirica show {}\n", listed.head.id.short()));
        }
        text
    };
    let rows: Vec<Value> = outcome.reports.iter().map(row).collect();
    let text = outcome.reports.iter().map(block).collect::<Vec<_>>().join("\n");
    let answer = Answer::new(json!({"reports": rows, "total_found": outcome.total_found}))
        .text(text)
        .warn(outcome.warnings.clone())
        .paged();
    match outcome.total_found - outcome.reports.len() {
        0 if outcome.reports.is_empty() => answer.say("No handoff fits."),
        0 => answer,
        more => answer.hint(format!("{more} more fit: git empirica query --limit {}", outcome.total_found)),
    }
}

/// The answer of `flush`.
pub fn flushed(outcome: &flush::Outcome) -> Answer {
    let json = json!({
        "flushed": outcome.flushed,
        "waiting": outcome.waiting,
        "degraded_mode": outcome.degraded.is_some(),
    });
    let mut answer = Answer::new(json)
        .text(format!(
            "{} written to the notes, {} waiting.\n",
            words::count(outcome.flushed, "record"),
            outcome.waiting
        ))
        .warn(outcome.warnings.clone());
    if let Some(error) = &outcome.degraded {
        answer.warnings.push(format!("the notes could not be written: {}", error.in_one_line()));
        answer.advise(&[(error.suggestion_text().to_owned(), error.commands().to_vec())]);
    }
    answer
}

/// How `show` is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    Markdown,
    Json,
    Compact,
}

/// The answer of `show`. `compact` is for handoffs only; a session's is that of its handoff.
pub fn shown(shown: &Shown, format: Format, warnings: Vec<String>, terminal: &mut Templates) -> Result<Answer> {
    let one = |listed: &Listed, terminal: &mut Templates| -> Result<Answer> {
        let record = Record { head: listed.head.clone(), body: Body::Handoff(Box::new(listed.handoff.clone())) };
        let json = json_of(&listed.head, &listed.handoff);
        Ok(match format {
            Format::Compact => {
                let json = compact(&listed.head, &listed.handoff);
                let text = safe::json(&json) + "\n";
                Answer::new(json).text(text)
            }
            Format::Json => {
                let text = safe::json(&json) + "\n";
                Answer::new(json).text(text)
            }
            Format::Markdown => Answer::new(json).text(markdown(terminal, &record, None)?).paged(),
        })
    };
    match (shown, format) {
        (Shown::Handoff(listed, arrival), _) => {
            let answer = one(listed, terminal)?.warn(warnings);
            // the user's own template says what the user wants
            let is_ours = terminal.is_built_in("handoff.md");
            Ok(match format {
                Format::Compact => answer,
                _ => super::arrival::added(answer, arrival, format, is_ours),
            })
        }
        (Shown::Session(_, Some(listed)), Format::Compact) => Ok(one(listed, terminal)?.warn(warnings)),
        (Shown::Session(_, None), Format::Compact) => Err(no_compact("the session has no handoff")),
        (Shown::Session(gathered, _), _) => as_text(super::session::show(gathered, warnings, terminal)?, format),
        (Shown::Record(record), Format::Markdown | Format::Json) => {
            as_text(super::snapshot::shown(record, warnings), format)
        }
        (Shown::Commit { commit, subject, records }, Format::Markdown | Format::Json) => {
            as_text(commit_answer(commit, subject, records, warnings, terminal)?, format)
        }
        _ => Err(no_compact("only a handoff has a compact form")),
    }
}

fn no_compact(why: &str) -> Error {
    Error::usage("there is no compact form of this")
        .reason(why)
        .suggest("Name a handoff, or leave --format out.")
        .command("git empirica handoff list")
}

/// With `--format json` the text is the document.
fn as_text(mut answer: Answer, format: Format) -> Result<Answer> {
    if format == Format::Json {
        answer.text = safe::json(&Value::Object(answer.json.clone())) + "\n";
        answer.paged = false;
    }
    Ok(answer)
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
            Body::Handoff(_) => text.push_str(&format!("\n{}", markdown(terminal, record, None)?)),
            _ => text.push_str(&format!(
                "\n{} {} by {}: {}\n",
                record.head.id.short(),
                record.body.kind().replace('_', " "),
                safe::line(&record.head.ai),
                safe::indented(&words::said(record), 4)
            )),
        }
    }
    let handoffs: Vec<Value> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::Handoff(handoff) => Some(json_of(&record.head, handoff)),
            _ => None,
        })
        .collect();
    let others: Vec<Value> = records.iter().filter(|r| !matches!(r.body, Body::Handoff(_))).map(point_json).collect();
    let answer = Answer::new(json!({"commit": commit, "subject": subject, "handoffs": handoffs, "records": others}))
        .text(text)
        .warn(warnings)
        .paged();
    Ok(if records.is_empty() { answer.say("Nothing is stored on this commit.") } else { answer })
}

/// The answer of `setup`.
pub fn set_up(outcome: &setup::Outcome) -> Answer {
    let files: Vec<String> = outcome.files.iter().map(|file| file.display().to_string()).collect();
    let text: String = files.iter().map(|file| format!("{file}\n")).collect();
    let word = if outcome.dry_run { "Would install" } else { "Installed" };
    let answer = Answer::new(json!({"files": files, "dry_run": outcome.dry_run, "hints": outcome.hints}))
        .text(text)
        .say(format!("{word} {}.", words::count(files.len(), "file")));
    outcome.hints.iter().fold(answer, |answer, hint| answer.hint(hint.clone()))
}

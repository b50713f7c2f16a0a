//! The answers about sessions.

use serde_json::{Value, json};

use super::pack::{Detail, lists};
use super::snapshot::brief_keys;
use super::sparkline;
use super::template::Templates;
use super::{Answer, safe, words};
use crate::epistemics::collected::Known;
use crate::epistemics::confidence::{alone, overall};
use crate::epistemics::gathered::Gathered;
use crate::epistemics::report::{Said, Work, duration, report};
use crate::epistemics::trajectory::OVERALL;
use crate::error::{Result, blank, empirica, text};
use crate::model::Body;
use crate::model::session::Session;
use crate::ops::session::{Ended, Listed, Started, seconds_between};

/// The answer of `session start`.
pub fn started(outcome: &Started) -> Answer {
    let json = json!({
        "session_id": outcome.session_id,
        "ai_id": outcome.ai_id,
        "started_at": outcome.started_at,
        "task": outcome.task,
        "resumed": outcome.resumed,
        "from": outcome.continues.as_ref().map(|from| json!({
            "session_id": from.session_id, "ai_id": from.ai_id, "handoff_id": from.handoff_id, "handoff_written": from.is_written,
        })),
    });
    let word = if outcome.resumed { "goes on" } else { "started" };
    let mut answer = Answer::new(json)
        .text(format!("{}\n", outcome.session_id))
        .say(format!("Session {} of {} {word}.", outcome.session_id.short(), safe::line(&outcome.ai_id)))
        .stored(&outcome.stored);
    if let Some(from) = &outcome.continues {
        let written = if from.is_written { ", whose context was handed over just now" } else { "" };
        answer = answer
            .say(format!("It continues {}'s session {}{written}.", safe::line(&from.ai_id), from.session_id.short()))
            .hint(text!["read it: ", empirica("show").arg(from.handoff_id.short())]);
    }
    if let Some((first, more)) = outcome.others.split_first() {
        let others = match more.len() {
            0 => format!("{}'s session {} is", safe::line(&first.ai), first.id.short()),
            more => format!("{}'s session {} and {more} more are", safe::line(&first.ai), first.id.short()),
        };
        answer = answer.warn([text![
            format!("{others} still active in this worktree; end what is over: "),
            empirica("session end").option("--session", first.id.short())
        ]]);
    }
    if outcome.others.iter().any(|other| other.ai != outcome.ai_id) {
        answer = answer.hint(format!(
            "say who you are in every command: export EMPIRICA_AI={}",
            crate::git::repository::quote(&outcome.ai_id)
        ));
    }
    answer.hint_once(
        &outcome.session_id,
        "log",
        text!["log what you learn as you go: ", empirica("finding").arg(blank("<what you learned>"))],
    )
}

/// The answer of `session end`.
pub fn ended(outcome: &Ended) -> Answer {
    let json = json!({
        "session_id": outcome.session_id,
        "ai_id": outcome.ai_id,
        "ended_at": outcome.ended_at,
        "duration": duration(outcome.duration_seconds),
        "duration_seconds": outcome.duration_seconds,
        "handoff": outcome.has_handoff,
    });
    let answer = Answer::new(json)
        .text(format!("Session {} ended after {}.\n", outcome.session_id.short(), duration(outcome.duration_seconds)))
        .stored(&outcome.stored);
    if outcome.has_handoff || !outcome.said_something {
        return answer;
    }
    answer.hint(text![
        "it wrote no handoff; write one now: ",
        empirica("handoff").option("--session", outcome.session_id.short())
    ])
}

/// A session as JSON.
pub fn json_of(session: &Session) -> Value {
    json!({
        "session_id": session.id,
        "ai_id": session.ai,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "active": session.is_active(),
        "task": session.task,
        "type": session.kind,
        "external_id": session.external_id,
        "commit": session.commit,
        "worktree": session.worktree,
        "from": session.from,
        "from_handoff": session.from_handoff,
    })
}

/// The answer of `session list`.
pub fn list(listed: &Listed) -> Answer {
    let line = |s: &Session| {
        format!(
            "{} {} {:<7} {:<12} {}\n",
            s.id.short(),
            words::date(&s.started_at),
            if s.is_active() { "active" } else { "ended" },
            safe::line(&s.ai),
            safe::line(s.task.as_deref().unwrap_or(""))
        )
    };
    let rows: Vec<Value> = listed.sessions.iter().map(json_of).collect();
    let answer = Answer::new(json!({"sessions": rows, "total_sessions": rows.len()}))
        .text(listed.sessions.iter().map(line).collect::<String>())
        .warn(listed.warnings.clone())
        .paged();
    if listed.sessions.is_empty() {
        answer.say("No session is stored here.").hint(text!["start one: ", crate::ops::alias::start_command(None)])
    } else {
        answer
    }
}

/// What was collected of a transcript, as JSON.
fn transcript_json(known: &Known) -> Value {
    json!({
        "agent": known.agent, "transcript_id": known.transcript, "branch": known.branch, "model": known.model,
        "started_at": known.started_at, "ended_at": known.ended_at, "rows": known.rows, "skipped_rows": known.skipped_rows,
        "size": known.to, "tool_summaries": known.tools, "files_modified": known.files, "files_outside": known.files_outside,
        "pending_tasks": known.pending_tasks, "decisions": known.decisions, "tokens": known.tokens,
        "context_tokens": known.context_tokens, "subagents": known.subagents,
    })
}

/// The lines that draw how each vector went, in columns; none without an assessment.
fn trajectory(gathered: &Gathered) -> Vec<String> {
    let rows = sparkline::rows(gathered.assessments.iter().map(|(_, assessment)| assessment));
    let alone = words::only(alone(gathered.assessments.iter().map(|(_, assessment)| &assessment.vectors)));
    let name = |row: &sparkline::Row| row.name.replace("overall_confidence", "overall");
    let marks = rows.iter().map(|row| row.line.chars().count()).max().unwrap_or(0);
    let line = |row: sparkline::Row| match row.last {
        Some(last) => {
            let change = words::signed(Some(last - row.first));
            let alone = if row.name == OVERALL { alone.as_str() } else { "" };
            format!("{:<11} {:.2} {:<marks$} {last:.2}  {change}{alone}", name(&row), row.first, row.line)
        }
        None => format!("{:<11} {:.2}", name(&row), row.first),
    };
    rows.into_iter().map(line).collect()
}

/// The answer of `session show`.
pub fn show(gathered: &Gathered, warnings: Vec<String>, terminal: &mut Templates) -> Result<Answer> {
    let session = &gathered.session;
    let last = session.ended_at.as_deref().unwrap_or(&gathered.last_at);
    let seconds = seconds_between(&session.started_at, last);
    let at = chrono::DateTime::parse_from_rfc3339(last).map(|t| t.with_timezone(&chrono::Utc)).unwrap_or_default();
    let handoff = report(gathered, Work::default(), Said::default(), at);
    let assessed: Vec<Value> = gathered
        .assessments
        .iter()
        .map(|(head, a)| {
            json!({
                "checkpoint_id": head.id, "phase": a.phase, "round": a.round, "at": head.at, "vectors": a.vectors,
                "overall_confidence": overall(&a.vectors), "confidence": a.confidence, "reasoning": a.reasoning,
                "task": a.task, "cycle": a.cycle, "scope": a.scope, "tags": a.tags, "meta": a.meta,
            })
        })
        .collect();
    let with_ids = |items: &[crate::model::handoff::Item]| -> Vec<Value> {
        items.iter().map(|i| json!({"id": i.id, "text": i.text})).collect()
    };
    let mut json = json_of(session);
    let more = json!({
        "duration": duration(seconds),
        "duration_seconds": seconds,
        "assessments": assessed,
        "checkpoints": gathered.checkpoints.iter().map(|(head, c)| json!({"checkpoint_id": head.id, "at": head.at, "checkpoint": brief_keys(&Body::Checkpoint(Box::new(c.clone())))})).collect::<Vec<_>>(),
        "handoffs": gathered.handoffs.iter().map(|(head, _)| &head.id).collect::<Vec<_>>(),
        "findings": with_ids(&gathered.findings),
        "unknowns": with_ids(&gathered.unknowns),
        "resolved": gathered.answered.iter().map(|a| json!({"question": a.question, "answer": a.answer})).collect::<Vec<_>>(),
        "dead_ends": gathered.dead_ends,
        "decisions": gathered.decisions,
        "mistakes": gathered.mistakes,
        "evidence": gathered.evidence,
        "sources": gathered.sources,
        "tools": gathered.tools,
        "tool_summaries": gathered.activity,
        "transcripts": gathered.transcripts.iter().map(transcript_json).collect::<Vec<_>>(),
        "continued_by": gathered.continued_by.iter().map(|head| json!({"session_id": head.session, "ai_id": head.ai, "started_at": head.at})).collect::<Vec<_>>(),
        "goals": gathered.goals,
    });
    if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    let numbered = |item: &crate::model::handoff::Item| {
        item.id.as_ref().map_or_else(|| item.text.clone(), |id| format!("{} {}", id.short(), item.text))
    };
    let text_lists: Vec<Value> = lists(&handoff, Detail::Detailed)
        .into_iter()
        .filter(|list| !list.entries.is_empty() && list.key != "next_steps")
        .map(|list| {
            let entries: Vec<String> = match list.key {
                "remaining_unknowns" => gathered.unknowns.iter().map(numbered).collect(),
                "key_findings" => gathered.findings.iter().map(numbered).collect(),
                "goals" => {
                    gathered.goals.iter().map(|g| format!("{} {}: {}", g.id.short(), g.status.name(), g.text)).collect()
                }
                _ => list.entries.iter().map(|entry| entry.text.clone()).collect(),
            };
            json!({"title": list.title, "entries": entries})
        })
        .collect();
    let rows: Vec<Value> = gathered
        .assessments
        .iter()
        .map(|(head, a)| {
            json!({
                "phase": a.phase.name(), "round": a.round, "at": head.at, "overall": overall(&a.vectors),
                "values": words::vectors(&a.vectors), "reasoning": a.reasoning,
            })
        })
        .collect();
    let data = json!({
        "id": session.id, "ai": session.ai, "started_at": session.started_at, "ended_at": session.ended_at,
        "duration": duration(seconds), "task": session.task, "kind": session.kind,
        "handoff": gathered.handoffs.last().map(|(head, _)| head.id.short()),
        "trajectory": trajectory(gathered), "assessments": rows, "lists": text_lists,
    });
    let text = terminal.render("session.txt", data)?.trim().to_owned() + "\n";
    Ok(Answer::new(json).text(text).warn(warnings).paged())
}

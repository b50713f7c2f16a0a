//! The handoff in its forms: Markdown, JSON, the seed's compact JSON.

use serde_json::{Map, Value, json};

use crate::context::handoffs::ListedHandoff;
use crate::fold::assessment::gaps::FINDING;
use crate::fold::assessment::trajectory::{OVERALL, alone, deltas};
use crate::fold::handoff_report::duration;
use crate::handoff::build::next_steps;
use crate::handoff::write::HandoffOutcome;
use crate::handoff::{check, managed};
use crate::history::show::short_commit;
use crate::render::answer::{Answer, count};
use crate::render::format;
use crate::render::template::Templates;
use empirica_notes::error::{Command, Result, empirica, text};
use empirica_notes::model::goal::GoalState;
use empirica_notes::model::handoff::{CONTEXT, Gap, MadeIn};
use empirica_notes::model::{Body, Envelope, Handoff, Id, Phase, Record};

/// The whole handoff report as Markdown.
pub fn markdown(templates: &mut Templates, record: &Record) -> Result<String> {
    let Body::Handoff(handoff) = &record.body else { return Ok(String::new()) };
    let head = &record.head;
    let mut data = serde_json::to_value(handoff.as_ref()).unwrap_or_default();
    for (shown, goal) in data["goals"].as_array_mut().into_iter().flatten().zip(&handoff.goals) {
        shown["progress"] = json!(goal.progress());
    }
    if let Some(goals) = data["goals"].as_array_mut() {
        let mut idle = handoff.goals.iter().map(GoalState::is_idle_suggestion);
        goals.retain(|_| idle.next() != Some(true));
    }
    let document = handoff.payload.as_ref().filter(|_| handoff.kind == CONTEXT);
    let text = templates.render(
        template(handoff),
        json!({
            "d": document,
            "learned": learned(handoff),
            "signs": signs(),
            "since": handoff.since.as_ref().map(Id::short),
            "session_short": head.session.as_ref().map(|id| id.short()),
            "short": head.id.short(),
            "session": head.session.as_ref().map(|id| id.as_str()),
            "ai": head.ai,
            "date": format::date(&head.at),
            "duration": duration(handoff.duration_seconds),
            "commit": short_commit(head.commit.as_deref()),
            "git": handoff.git.as_ref().map(git_line),
            "regenerates": handoff.regenerates.as_ref().map(Id::short),
            "way": way(handoff),
            "alone": alone(&handoff.trajectory).map(empirica_notes::model::Vector::name),
            "h": data,
            "sections": managed::view::sections(handoff),
            "accomplished": accomplished(handoff),
            "tools": tools(handoff),
            "next_steps": next_steps(handoff),
            "settled": settled(handoff).map(|(_, text)| text).collect::<Vec<_>>(),
        }),
    )?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// The template a handoff is shown by.
pub fn template(handoff: &Handoff) -> &'static str {
    match handoff.kind == CONTEXT && handoff.payload.is_some() {
        true => "context.md",
        false => "handoff.md",
    }
}

/// What was learned, without what stands among what bears on the task.
fn learned(handoff: &Handoff) -> Vec<&empirica_notes::model::handoff::Item> {
    let elsewhere: Vec<&Id> = handoff.relevant.iter().map(|relevant| &relevant.id).collect();
    handoff.findings.iter().filter(|item| !item.id.as_ref().is_some_and(|id| elsewhere.contains(&id))).collect()
}

/// What stands before something that bears on the task, by what it is for it.
fn signs() -> Value {
    json!({
        "decided": "decided", "worked": "worked before", "failed": "**known failure, avoid**", "open": "open question",
        "known": "known",
    })
}

/// The state of git in a line: the branch, how far it is from its upstream, what was not committed.
fn git_line(git: &MadeIn) -> String {
    let mut parts = vec![git.branch.clone().map_or_else(|| "no branch".to_owned(), |branch| format!("on {branch}"))];
    let far = [(git.ahead, "ahead"), (git.behind, "behind")];
    parts.extend(far.into_iter().filter_map(|(n, word)| n.filter(|n| *n > 0).map(|n| format!("{n} {word}"))));
    let loose = [(git.modified, "modified"), (git.added, "new"), (git.deleted, "deleted")];
    let loose: Vec<String> = loose.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    parts.push(match loose.is_empty() {
        true => "everything committed".to_owned(),
        false => format!("not committed: {}", loose.join(", ")),
    });
    parts.join("; ")
}

/// The state of git as JSON.
fn git_json(git: &MadeIn) -> Value {
    let mut json = json!(git);
    json["dirty"] = json!(git.modified + git.added + git.deleted > 0);
    json
}

/// Which assessments the trajectory compares.
fn way(handoff: &Handoff) -> String {
    let Some(last) = handoff.assessments.last() else { return "PREFLIGHT → POSTFLIGHT".to_owned() };
    match (last.phase, last.round) {
        (Phase::Postflight, _) => "PREFLIGHT → POSTFLIGHT".to_owned(),
        (Phase::Preflight, 1) => "PREFLIGHT".to_owned(),
        (phase, round) => format!("PREFLIGHT → {} {round}", phase.name()),
    }
}

/// What was done: in the agent's words, the goals that were reached, the commits. What was to be investigated is not a
/// thing done: it stands among the goals.
pub fn accomplished(handoff: &Handoff) -> Vec<String> {
    let mut out = handoff.accomplished.clone();
    let done = handoff.goals.iter().filter(|goal| goal.status.name() == "done" && goal.vector.is_none());
    out.extend(done.map(|goal| match &goal.evidence {
        Some(evidence) => format!("{} ({evidence})", goal.text),
        None => goal.text.clone(),
    }));
    out.extend(handoff.commits.iter().map(|c| format!("{} {}", c.commit.get(..8).unwrap_or(&c.commit), c.subject)));
    out
}

/// The tools used: activity categories with their number, the programs of the evidence, the sources.
pub fn tools(handoff: &Handoff) -> Vec<String> {
    let counted = |tool: &empirica_notes::model::handoff::ToolUse| match tool.count {
        1 => tool.tool.clone(),
        many => format!("{} ×{many}", tool.tool),
    };
    let mut out: Vec<String> = handoff.tools.iter().map(counted).collect();
    let program = |proof: &empirica_notes::model::handoff::HandoffEvidence| {
        Some(proof.command.split_whitespace().next()?.to_owned())
    };
    let programs: Vec<String> = handoff.evidence.iter().filter_map(program).collect();
    crate::text::list::add_new(&mut out, programs.iter().chain(&handoff.sources));
    out
}

/// What to do next: the agent's own steps, then those of the rules.
pub fn next_steps(handoff: &Handoff) -> Vec<String> {
    handoff.next_steps.iter().cloned().chain(next_steps::steps(handoff)).collect()
}

/// What was settled: questions with their answers, and findings that settle something. What only the vectors tell stands
/// among the deltas.
pub fn settled(handoff: &Handoff) -> impl Iterator<Item = (&Gap, String)> {
    let told = handoff.gaps_filled.iter().filter(|gap| gap.confidence_change.is_none());
    let text = |gap: &Gap| match (gap.gap.as_str(), gap.before.as_str()) {
        (FINDING, _) => gap.after.clone(),
        (gap_filled, "Unknown" | "") => format!("{gap_filled} → {}", gap.after),
        (gap_filled, before) => format!("{gap_filled}: {before} → {}", gap.after),
    };
    told.map(move |gap| (gap, text(gap)))
}

/// The deltas by vector, overall confidence last.
pub fn delta_map(handoff: &Handoff) -> Map<String, Value> {
    deltas(&handoff.trajectory).into_iter().map(|(name, delta)| (name, json!(delta))).collect()
}

/// The growth of overall confidence; `None` when it was not assessed on both sides.
pub fn growth(handoff: &Handoff) -> Option<f64> {
    handoff.trajectory.iter().find(|row| row.vector == OVERALL).and_then(|row| row.delta)
}

/// A handoff as JSON, whole (DESIGN §4).
pub fn json_of(head: &Envelope, handoff: &Handoff) -> Value {
    let mut json = whole(head, handoff);
    if let Value::Object(json) = &mut json {
        json.extend(managed::view::keys(handoff, &head.at));
    }
    json
}

fn whole(head: &Envelope, handoff: &Handoff) -> Value {
    let texts = |items: &[empirica_notes::model::handoff::Item]| -> Vec<String> {
        items.iter().map(|i| i.text.clone()).collect()
    };
    json!({
        "handoff_id": head.id,
        "type": handoff.kind,
        "session_id": head.session,
        "ai_id": head.ai,
        "timestamp": head.at,
        "commit": head.commit,
        "duration": duration(handoff.duration_seconds),
        "duration_seconds": handoff.duration_seconds,
        "session_status": handoff.session_status,
        "task": handoff.task,
        "epistemic_deltas": delta_map(handoff),
        "trajectory": handoff.trajectory,
        "calibration_status": handoff.calibration_status,
        "accomplished": accomplished(handoff),
        "key_findings": texts(&handoff.findings),
        "knowledge_gaps_filled": handoff.gaps_filled,
        "remaining_unknowns": texts(&handoff.unknowns),
        "dead_ends": handoff.dead_ends,
        "decisions": handoff.decisions,
        "mistakes": handoff.mistakes,
        "evidence": handoff.evidence,
        "goals": handoff.goals.iter().filter(|goal| !goal.is_idle_suggestion()).collect::<Vec<_>>(),
        "investigation_tools": tools(handoff),
        "next_session_context": handoff.context,
        "next_steps": next_steps(handoff),
        "next_steps_by_rule": next_steps::steps(handoff).len(),
        "artifacts_created": handoff.artifacts,
        "assessments": handoff.assessments,
        "git_state": handoff.git.as_ref().map(git_json),
        "regenerates": handoff.regenerates,
        "clarifications": handoff.clarifications,
        "missed": handoff.missed,
        "relevant": handoff.relevant,
        "left_out": handoff.left_out,
        "since": handoff.since,
    })
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// The seed's compact JSON: short keys, short texts (`_compress_report`).
pub fn compact(head: &Envelope, handoff: &Handoff) -> Value {
    let texts = |items: &[empirica_notes::model::handoff::Item], most: usize| -> Vec<String> {
        items.iter().take(5).map(|item| cut(&item.text, most)).collect()
    };
    let significant: Map<String, Value> = deltas(&handoff.trajectory)
        .into_iter()
        .filter(|(_, delta)| delta.abs() >= 0.10)
        .map(|(name, delta)| (name, json!((delta * 100.0).round() / 100.0)))
        .collect();
    let recommend: Vec<String> = next_steps(handoff).iter().take(3).map(|text| cut(text, 100)).collect();
    json!({
        "s": head.session.as_ref().map(|id| id.short()),
        "ai": head.ai,
        "ts": head.at,
        "task": cut(&handoff.task, 200),
        "deltas": significant,
        "findings": texts(&handoff.findings, 150),
        "unknowns": texts(&handoff.unknowns, 100),
        "next": cut(&handoff.context, 300),
        "recommend": recommend,
        "calibrated": handoff.calibration_status,
    })
}

/// The keys of a written or drafted handoff.
pub fn outcome_json(outcome: &HandoffOutcome, markdown: &str) -> Map<String, Value> {
    let head = &outcome.record.head;
    let missing: Vec<Value> =
        outcome.missing.iter().map(|(what, command)| json!({"missing": what, "command": command})).collect();
    let json = json!({
        "handoff_id": head.id,
        "report_id": head.id,
        "session_id": head.session,
        "commit": head.commit,
        "type": outcome.handoff().map(|handoff| handoff.kind.as_str()),
        "task_id": outcome.handoff().and_then(|handoff| handoff.task_id.as_deref()),
        "iteration": outcome.handoff().and_then(|handoff| handoff.iteration),
        "storage_location": outcome.is_stored.then(|| outcome.storage_location()),
        "stored": outcome.is_stored,
        "token_count": null,
        "markdown": markdown,
        "missing": missing,
        "regenerates": outcome.handoff().and_then(|handoff| handoff.regenerates.as_ref()),
        "signature_id": outcome.signature,
        "validation": outcome.checks.as_deref().map(check::view::json_of),
    });
    let Value::Object(mut json) = json else { return Map::new() };
    count(&mut json);
    json
}

/// The answer of `handoff`.
pub fn answer(outcome: &HandoffOutcome, terminal: &mut Templates) -> Result<Answer> {
    let built_in = markdown(&mut Templates::built_in(), &outcome.record)?;
    let mut answer = Answer::new(outcome_json(outcome, &built_in)).stored(&outcome.stored);
    let name = outcome.handoff().map_or("handoff.md", template);
    let shown = if terminal.is_built_in(name) { None } else { Some(markdown(terminal, &outcome.record)) };
    answer = match shown {
        None => answer.text(built_in),
        Some(Ok(text)) => answer.text(text),
        // it is stored; a template of the user's that is broken takes nothing from that
        Some(Err(error)) if outcome.is_stored => answer.text(built_in).warn([error.to_string()]),
        Some(Err(error)) => return Err(error),
    };
    let head = &outcome.record.head;
    answer = if outcome.is_stored {
        let on = short_commit(head.commit.as_deref()).unwrap_or_else(|| "the commit to come".to_owned());
        answer.say(format!("Stored handoff {} on {on}.", head.id.short()))
    } else {
        let why = match check::view::stops(outcome.checks.as_deref()) {
            true => "A check has an error: nothing is stored.",
            false => "This is a dry run: nothing is stored.",
        };
        answer.say(why)
    };
    answer = hint_missing(answer, outcome, "");
    Ok(match &outcome.checks {
        Some(checks) => check::view::added(answer, checks),
        None => answer,
    })
}

/// Names what a good handoff still lacks, with the one command that adds it. `place` is that of the handoff in the document.
pub fn hint_missing(mut answer: Answer, outcome: &HandoffOutcome, place: &str) -> Answer {
    for (at, (_, command)) in outcome.missing.iter().enumerate() {
        answer = answer.remedy(format!("{place}/missing/{at}/command"), command.clone());
    }
    let Some(session) = outcome.record.head.session.as_ref().filter(|_| !outcome.missing.is_empty()) else {
        return answer;
    };
    let what: Vec<&str> = outcome.missing.iter().map(|(what, _)| *what).collect();
    let options = outcome.missing.iter().flat_map(|(_, command)| command.arguments.iter().cloned());
    let command = Command { arguments: options.collect(), ..empirica("handoff") };
    answer.hint_once(session, "handoff", text![format!("no {} recorded; add with: ", what.join(", ")), command])
}

/// The answer of `handoff list`.
pub fn list(handoffs: &[ListedHandoff], warnings: Vec<String>) -> Answer {
    let row = |listed: &ListedHandoff| {
        json!({
            "handoff_id": listed.head.id,
            "session_id": listed.head.session,
            "ai_id": listed.head.ai,
            "timestamp": listed.head.at,
            "commit": listed.head.commit,
            "type": listed.handoff.kind,
            "task_id": listed.handoff.task_id,
            "to": listed.handoff.to,
            "task": listed.handoff.task,
            "calibration_status": listed.handoff.calibration_status,
            "epistemic_growth": growth(&listed.handoff),
        })
    };
    let line = |listed: &ListedHandoff| {
        format!(
            "{} {} {:<12} {}\n",
            listed.head.id.short(),
            format::date(&listed.head.at),
            crate::render::safe::line(&listed.head.ai),
            crate::render::safe::line(&listed.handoff.task)
        )
    };
    let text: String = handoffs.iter().map(line).collect();
    let rows: Vec<Value> = handoffs.iter().map(row).collect();
    let answer =
        Answer::new(json!({"handoffs": rows, "total_found": handoffs.len()})).text(text).warn(warnings).paged();
    if handoffs.is_empty() { answer.say("No handoff is stored here.") } else { answer }
}

//! Views of a handoff: Markdown, JSON, and compact JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::handoffs::ListedHandoff;
use crate::fold::assessment::gaps::FINDING;
use crate::fold::assessment::trajectory::{OVERALL, alone, deltas};
use crate::render::answer::{Answer, EnvelopeView, count, keys};
use crate::render::format::duration;
use crate::render::format::short_commit;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::list::add_new;
use crate::use_cases::handoff::build::next_steps;
use crate::use_cases::handoff::check::view::ValidationView;
use crate::use_cases::handoff::managed::payload;
use crate::use_cases::handoff::write::HandoffOutcome;
use crate::use_cases::handoff::{check, managed};
use empirica_notes::error::{Command, Result, empirica, text};
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::{
    Assessed, CONTEXT, Calibration, Clarification, Gap, HandoffEvidence, Item, Relevant, ReportedGap, RepositoryState,
    Route, Trajectory,
};
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake};
use empirica_notes::model::{Body, Envelope, Handoff, Id, Phase, Record, SessionId, Vector};

pub fn markdown(templates: &mut Templates, record: &Record) -> Result<String> {
    let Body::Handoff(handoff) = &record.body else { return Ok(String::new()) };
    let envelope = &record.envelope;
    let mut data = json!(handoff);
    let goal = |goal: &&GoalState| {
        let mut shown = json!(goal);
        shown["progress"] = json!(goal.progress());
        shown
    };
    data["goals"] = goals(handoff).iter().map(goal).collect();
    let document = handoff.payload.as_ref().filter(|_| handoff.kind == CONTEXT);
    let text = templates.render(
        template(handoff),
        json!({
            "d": document,
            "learned": learned(handoff),
            "signs": signs(),
            "since": handoff.since.as_ref().map(Id::short),
            "session_short": envelope.session.as_ref().map(|id| id.short()),
            "short": envelope.id.short(),
            "session": envelope.session.as_ref().map(|id| id.as_str()),
            "ai": envelope.ai,
            "date": format::date(&envelope.at),
            "duration": duration(handoff.duration_seconds),
            "commit": short_commit(envelope.commit.as_deref()),
            "git": handoff.git.as_ref().map(git_line),
            "regenerates": handoff.regenerates.as_ref().map(Id::short),
            "continues": handoff.continues.as_ref().map(Id::short),
            "way": compared(handoff),
            "alone": alone(&handoff.trajectory).map(Vector::name),
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

pub fn template(handoff: &Handoff) -> &'static str {
    match handoff.kind == CONTEXT && handoff.payload.is_some() {
        true => "context.md",
        false => "handoff.md",
    }
}

/// The findings that are not among the relevant records.
fn learned(handoff: &Handoff) -> Vec<&Item> {
    let relevant: Vec<&Id> = handoff.relevant.iter().map(|relevant| &relevant.id).collect();
    handoff.findings.iter().filter(|item| !item.id.as_ref().is_some_and(|id| relevant.contains(&id))).collect()
}

/// The goals, without suggestions not taken up.
fn goals(handoff: &Handoff) -> Vec<&GoalState> {
    handoff.goals.iter().filter(|goal| !goal.is_idle_suggestion()).collect()
}

/// The labels of relevant records by sign.
fn signs() -> Value {
    json!({
        "decided": "decided", "worked": "worked before", "failed": "**known failure, avoid**", "open": "open question",
        "known": "known",
    })
}

/// The state of git in a line: branch, distance from its upstream, uncommitted files.
fn git_line(git: &RepositoryState) -> String {
    let mut parts = vec![git.branch.clone().map_or_else(|| "no branch".to_owned(), |branch| format!("on {branch}"))];
    let distance = [(git.ahead, "ahead"), (git.behind, "behind")];
    parts.extend(distance.into_iter().filter_map(|(n, word)| n.filter(|n| *n > 0).map(|n| format!("{n} {word}"))));
    let uncommitted = [(git.modified, "modified"), (git.added, "new"), (git.deleted, "deleted")];
    let uncommitted: Vec<String> =
        uncommitted.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    parts.push(match uncommitted.is_empty() {
        true => "everything committed".to_owned(),
        false => format!("not committed: {}", uncommitted.join(", ")),
    });
    parts.join("; ")
}

/// The state of git when a handoff was written.
#[derive(Serialize, JsonSchema)]
struct GitStateView<'a> {
    #[serde(flatten)]
    git: &'a RepositoryState,
    /// Whether there were uncommitted changes.
    dirty: bool,
}

/// The assessments that the trajectory compares.
fn compared(handoff: &Handoff) -> String {
    let Some(last) = handoff.assessments.last() else { return "PREFLIGHT → POSTFLIGHT".to_owned() };
    match (last.phase, last.round) {
        (Phase::Postflight, _) => "PREFLIGHT → POSTFLIGHT".to_owned(),
        (Phase::Preflight, 1) => "PREFLIGHT".to_owned(),
        (phase, round) => format!("PREFLIGHT → {} {round}", phase.name()),
    }
}

/// The agent's accomplishments, reached goals except suggested ones, and commits.
pub fn accomplished(handoff: &Handoff) -> Vec<String> {
    let mut out = handoff.accomplished.clone();
    let done = handoff.goals.iter().filter(|goal| goal.status == GoalStatus::Done && goal.vector.is_none());
    out.extend(done.map(|goal| match &goal.evidence {
        Some(evidence) => format!("{} ({evidence})", goal.text),
        None => goal.text.clone(),
    }));
    out.extend(handoff.commits.iter().map(|c| format!("{} {}", c.commit.get(..8).unwrap_or(&c.commit), c.subject)));
    out
}

/// The tools used: activity categories with their number, programs of the evidence, sources.
pub fn tools(handoff: &Handoff) -> Vec<String> {
    let counted = |tool: &empirica_notes::model::handoff::ToolUse| match tool.count {
        1 => tool.tool.clone(),
        many => format!("{} ×{many}", tool.tool),
    };
    let mut out: Vec<String> = handoff.tools.iter().map(counted).collect();
    let program = |proof: &HandoffEvidence| Some(proof.command.split_whitespace().next()?.to_owned());
    let programs: Vec<String> = handoff.evidence.iter().filter_map(program).collect();
    add_new(&mut out, programs.iter().chain(&handoff.sources));
    out
}

/// The agent's next steps, then derived ones.
pub fn next_steps(handoff: &Handoff) -> Vec<String> {
    handoff.next_steps.iter().cloned().chain(next_steps::steps(handoff)).collect()
}

/// The gaps filled by answers and findings, with their texts. Those derived from vectors only are among the deltas.
pub fn settled(handoff: &Handoff) -> impl Iterator<Item = (&Gap, String)> {
    let filled = handoff.gaps_filled.iter().filter(|gap| gap.confidence_change.is_none());
    let text = |gap: &Gap| match (gap.gap.as_str(), gap.before.as_str()) {
        (FINDING, _) => gap.after.clone(),
        (gap_filled, "Unknown" | "") => format!("{gap_filled} → {}", gap.after),
        (gap_filled, before) => format!("{gap_filled}: {before} → {}", gap.after),
    };
    filled.map(move |gap| (gap, text(gap)))
}

/// The deltas by vector, overall confidence last.
pub fn delta_map(rows: &[Trajectory]) -> Map<String, Value> {
    deltas(rows).into_iter().map(|(name, delta)| (name, json!(delta))).collect()
}

/// The growth of overall confidence; `None` unless assessed before and after.
pub fn growth(handoff: &Handoff) -> Option<f64> {
    handoff.trajectory.iter().find(|row| row.vector == OVERALL).and_then(|row| row.delta)
}

/// A handoff.
#[derive(Serialize, JsonSchema)]
pub struct HandoffView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// Its type.
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    /// The duration of the session until then: `2 h 5 min`.
    duration: String,
    /// Likewise in seconds.
    duration_seconds: u64,
    /// The state of the session then, `active` or `ended`.
    session_status: &'a str,
    /// The task.
    task: &'a str,
    /// The change of each vector; `overall_confidence` last.
    #[schemars(with = "BTreeMap<String, f64>")]
    epistemic_deltas: Map<String, Value>,
    /// Each vector before and after, then overall confidence.
    trajectory: &'a [Trajectory],
    /// Whether `know` and `uncertainty` moved consistently.
    calibration_status: Calibration,
    /// Accomplishments of the agent, goals done, commits.
    accomplished: Vec<String>,
    /// The findings.
    key_findings: Vec<&'a str>,
    /// The gaps filled.
    knowledge_gaps_filled: &'a [Gap],
    /// The open questions.
    remaining_unknowns: Vec<&'a str>,
    /// The dead ends.
    dead_ends: &'a [DeadEnd],
    /// The decisions.
    decisions: &'a [Decision],
    /// The mistakes.
    mistakes: &'a [Mistake],
    /// The evidence.
    evidence: &'a [HandoffEvidence],
    /// The goals, without suggestions not taken up.
    goals: Vec<&'a GoalState>,
    /// Activity categories, programs of the evidence, sources.
    investigation_tools: Vec<String>,
    /// Context for the next session.
    next_session_context: &'a str,
    /// Next steps of the agent, then up to 3 derived ones: failed checks, and without steps of the agent, unfinished goals and open
    /// questions.
    next_steps: Vec<String>,
    /// The number of derived ones.
    next_steps_by_rule: usize,
    /// Files made or changed.
    artifacts_created: &'a [String],
    /// The assessments, oldest first.
    assessments: &'a [Assessed],
    /// The state of git then; null if unknown.
    git_state: Option<GitStateView<'a>>,
    /// The handoff that it revises.
    regenerates: Option<&'a Id>,
    /// The questions of the receivers of that handoff.
    clarifications: &'a [Clarification],
    /// The gaps reported by the receivers of that handoff.
    missed: &'a [ReportedGap],
    /// Earlier records relevant to the task, the most relevant first.
    relevant: &'a [Relevant],
    /// The parts left out to fit the budget, a text each.
    left_out: &'a [String],
    /// The previous handoff, if it has only changes since that; otherwise null.
    since: Option<&'a Id>,
    /// The receiving agent; null for any.
    to: Option<&'a str>,
    /// The rule that names it; null if the sender did, or nobody.
    route: Option<&'a Route>,
    /// The task that it belongs to.
    task_id: Option<&'a str>,
    /// The handoff of that task which its session took up.
    continues: Option<&'a Id>,
    /// The round of a managed handoff, from 1.
    iteration: Option<u64>,
    /// The document of a managed handoff.
    payload: Option<Map<String, Value>>,
}

/// The texts of items.
pub fn texts(items: &[Item]) -> Vec<&str> {
    items.iter().map(|item| item.text.as_str()).collect()
}

impl<'a> HandoffView<'a> {
    pub fn of(envelope: &'a Envelope, handoff: &'a Handoff) -> Self {
        let git = handoff.git.as_ref();
        HandoffView {
            handoff_id: &envelope.id,
            kind: &handoff.kind,
            envelope: envelope.into(),
            duration: duration(handoff.duration_seconds),
            duration_seconds: handoff.duration_seconds,
            session_status: &handoff.session_status,
            task: &handoff.task,
            epistemic_deltas: delta_map(&handoff.trajectory),
            trajectory: &handoff.trajectory,
            calibration_status: handoff.calibration_status,
            accomplished: accomplished(handoff),
            key_findings: texts(&handoff.findings),
            knowledge_gaps_filled: &handoff.gaps_filled,
            remaining_unknowns: texts(&handoff.unknowns),
            dead_ends: &handoff.dead_ends,
            decisions: &handoff.decisions,
            mistakes: &handoff.mistakes,
            evidence: &handoff.evidence,
            goals: goals(handoff),
            investigation_tools: tools(handoff),
            next_session_context: &handoff.context,
            next_steps: next_steps(handoff),
            next_steps_by_rule: next_steps::steps(handoff).len(),
            artifacts_created: &handoff.artifacts,
            assessments: &handoff.assessments,
            git_state: git.map(|git| GitStateView { git, dirty: git.modified + git.added + git.deleted > 0 }),
            regenerates: handoff.regenerates.as_ref(),
            clarifications: &handoff.clarifications,
            missed: &handoff.missed,
            relevant: &handoff.relevant,
            left_out: &handoff.left_out,
            since: handoff.since.as_ref(),
            to: handoff.to.as_deref(),
            route: handoff.route.as_ref(),
            task_id: handoff.task_id.as_deref(),
            continues: handoff.continues.as_ref(),
            iteration: handoff.iteration,
            payload: payload::document(handoff, &envelope.at),
        }
    }
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A handoff with short keys and short texts. Without `--json`, `--format json` and `--format compact` print the same keys without `ok`.
#[derive(Serialize, JsonSchema)]
pub struct CompactView<'a> {
    /// The short ID of the session.
    s: Option<&'a str>,
    /// Its agent.
    ai: &'a str,
    /// Its time.
    ts: &'a str,
    /// The task, at most 200 characters.
    task: String,
    /// Changes of vectors by at least 0.10, 2 decimals.
    #[schemars(with = "BTreeMap<String, f64>")]
    deltas: Map<String, Value>,
    /// The findings, at most 5 of 150 characters.
    findings: Vec<String>,
    /// The open questions, at most 5 of 100 characters.
    unknowns: Vec<String>,
    /// Context for the next session, at most 300 characters.
    next: String,
    /// Next steps, at most 3 of 100 characters.
    recommend: Vec<String>,
    /// Whether `know` and `uncertainty` moved consistently.
    calibrated: Calibration,
}

pub fn compact(envelope: &Envelope, handoff: &Handoff) -> Value {
    let texts = |items: &[Item], most| items.iter().take(5).map(|item| cut(&item.text, most)).collect();
    let significant = deltas(&handoff.trajectory).into_iter().filter(|(_, delta)| delta.abs() >= 0.10);
    json!(CompactView {
        s: envelope.session.as_ref().map(SessionId::short),
        ai: &envelope.ai,
        ts: &envelope.at,
        task: cut(&handoff.task, 200),
        deltas: significant.map(|(name, delta)| (name, json!((delta * 100.0).round() / 100.0))).collect(),
        findings: texts(&handoff.findings, 150),
        unknowns: texts(&handoff.unknowns, 100),
        next: cut(&handoff.context, 300),
        recommend: next_steps(handoff).iter().take(3).map(|text| cut(text, 100)).collect(),
        calibrated: handoff.calibration_status,
    })
}

/// A missing part of a good handoff.
#[derive(Serialize, JsonSchema)]
struct MissingView<'a> {
    /// `task`, `findings`, `unknowns`, `context` or `artifacts`.
    missing: &'a str,
    /// The command that adds it.
    #[schemars(with = "String")]
    command: &'a Command,
}

/// A written handoff. If a check of `--validate` fails, nothing is stored: the document is a failure with these keys, and the exit code
/// is 3.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HandoffWrittenView")]
pub struct WrittenView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// As `handoff_id`.
    report_id: &'a Id,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// HEAD; null if unborn.
    commit: Option<&'a str>,
    /// Its type.
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    /// The task that it belongs to.
    task_id: Option<&'a str>,
    /// The receiving agent; null for any.
    to: Option<&'a str>,
    /// The rule that names it; null if the sender did, or nobody.
    route: Option<&'a Route>,
    /// The round of a managed handoff, from 1.
    iteration: Option<u64>,
    /// Its note, or the future one while `storage` is not `git_notes`; null with `--dry-run`.
    storage_location: Option<String>,
    /// Whether it is stored.
    stored: bool,
    /// Estimated tokens of this document.
    token_count: usize,
    /// The built-in Markdown of the handoff, without footer.
    markdown: &'a str,
    /// The missing parts of a good handoff.
    missing: Vec<MissingView<'a>>,
    /// With `--regenerate`: the revised handoff.
    regenerates: Option<&'a Id>,
    /// With `--sign`: its signature; null, with a warning, if git cannot sign.
    signature_id: Option<&'a Id>,
    /// With `--validate`: the results of the checks.
    validation: Option<ValidationView<'a>>,
}

/// The keys of a written or drafted handoff, and its Markdown.
pub fn outcome_json(outcome: &HandoffOutcome, built_in: &mut Templates) -> Result<(Map<String, Value>, String)> {
    let (envelope, handoff) = (&outcome.record.envelope, outcome.handoff());
    let markdown = markdown(built_in, &outcome.record)?;
    let missing = outcome.missing.iter().map(|(missing, command)| MissingView { missing, command });
    let mut json = keys(WrittenView {
        handoff_id: &envelope.id,
        report_id: &envelope.id,
        session_id: envelope.session.as_ref(),
        commit: envelope.commit.as_deref(),
        kind: handoff.map(|handoff| handoff.kind.as_str()),
        task_id: handoff.and_then(|handoff| handoff.task_id.as_deref()),
        to: handoff.and_then(|handoff| handoff.to.as_deref()),
        route: handoff.and_then(|handoff| handoff.route.as_ref()),
        iteration: handoff.and_then(|handoff| handoff.iteration),
        storage_location: outcome.is_stored.then(|| outcome.storage_location()),
        stored: outcome.is_stored,
        token_count: 0,
        markdown: &markdown,
        missing: missing.collect(),
        regenerates: handoff.and_then(|handoff| handoff.regenerates.as_ref()),
        signature_id: outcome.signature.as_ref(),
        validation: outcome.checks.as_deref().map(check::view::json_of),
    });
    count(&mut json);
    Ok((json, markdown))
}

pub fn answer(outcome: &HandoffOutcome, terminal: &mut Templates) -> Result<Answer> {
    let (json, built_in) = outcome_json(outcome, &mut Templates::built_in())?;
    let mut answer = Answer::new(json).stored(&outcome.stored);
    let is_built_in = terminal.is_built_in(outcome.handoff().map_or("handoff.md", template));
    let own = (!is_built_in).then(|| markdown(terminal, &outcome.record));
    answer = match own.transpose() {
        Ok(own) => answer.text(own.unwrap_or(built_in)),
        // a broken template of the user does not undo the stored handoff
        Err(error) if outcome.is_stored => answer.text(built_in).warn([error.to_string()]),
        Err(error) => return Err(error),
    };
    let envelope = &outcome.record.envelope;
    answer = if outcome.is_stored {
        let on = short_commit(envelope.commit.as_deref()).unwrap_or_else(|| "the next commit".to_owned());
        answer.say(format!("Stored handoff {} on {on}{}.", envelope.id.short(), receiver(outcome.handoff())))
    } else {
        let why = match check::view::stops(outcome.checks.as_deref()) {
            true => "A check has an error: nothing is stored.",
            false => "This is a dry run: nothing is stored.",
        };
        let receiver = receiver(outcome.handoff().filter(|handoff| handoff.route.is_some()));
        let answer = if receiver.is_empty() { answer } else { answer.say(format!("It would be stored{receiver}.")) };
        answer.say(why)
    };
    answer = hint_missing(answer, outcome, "");
    Ok(match &outcome.checks {
        Some(checks) => check::view::added(answer, checks),
        None => answer,
    })
}

/// Whom a handoff is for, and by which rule; empty if for anyone.
fn receiver(handoff: Option<&Handoff>) -> String {
    let Some(handoff) = handoff else { return String::new() };
    let to = handoff.to.as_ref().map(|to| format!(" for {}", safe::words(to)));
    match &handoff.route {
        None => to.unwrap_or_default(),
        Some(Route { rule, escalated: false, .. }) => {
            format!("{}, by rule '{}'", to.unwrap_or_default(), safe::words(rule))
        }
        Some(Route { rule, .. }) => {
            let to = to.unwrap_or_else(|| " for a person".to_owned());
            format!("{to}, escalated: rule '{}' reached its rounds", safe::words(rule))
        }
    }
}

/// Hints at the missing parts, with one command that adds all. `place` is the pointer to the handoff in the document.
pub fn hint_missing(mut answer: Answer, outcome: &HandoffOutcome, place: &str) -> Answer {
    for (at, (_, command)) in outcome.missing.iter().enumerate() {
        answer = answer.remedy(format!("{place}/missing/{at}/command"), command.clone());
    }
    let Some(session) = outcome.record.envelope.session.as_ref().filter(|_| !outcome.missing.is_empty()) else {
        return answer;
    };
    let what: Vec<&str> = outcome.missing.iter().map(|(what, _)| *what).collect();
    let options = outcome.missing.iter().flat_map(|(_, command)| command.arguments.iter().cloned());
    let command = Command { arguments: options.collect(), ..empirica("handoff") };
    answer.hint_once(session, "handoff", text![format!("no {} recorded; add with: ", what.join(", ")), command])
}

/// The main data of a handoff.
#[derive(Serialize, JsonSchema)]
pub struct BriefView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// Its type.
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    /// Its task or title.
    task: &'a str,
    /// Whether `know` and `uncertainty` moved consistently.
    calibration_status: Calibration,
    /// The growth of overall confidence, from -1 to 1; null unless assessed before and after.
    epistemic_growth: Option<f64>,
}

impl<'a> From<&'a ListedHandoff> for BriefView<'a> {
    fn from(ListedHandoff { envelope, handoff }: &'a ListedHandoff) -> Self {
        BriefView {
            handoff_id: &envelope.id,
            kind: &handoff.kind,
            envelope: envelope.into(),
            task: &handoff.task,
            calibration_status: handoff.calibration_status,
            epistemic_growth: growth(handoff),
        }
    }
}

/// A handoff in a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListedHandoffView")]
struct ListedView<'a> {
    #[serde(flatten)]
    brief: BriefView<'a>,
    /// The task of a managed handoff.
    task_id: Option<&'a str>,
    /// The receiving agent.
    to: Option<&'a str>,
}

impl<'a> From<&'a ListedHandoff> for ListedView<'a> {
    fn from(listed: &'a ListedHandoff) -> Self {
        let handoff = &listed.handoff;
        ListedView { brief: listed.into(), task_id: handoff.task_id.as_deref(), to: handoff.to.as_deref() }
    }
}

/// The handoffs in force.
#[derive(Serialize, JsonSchema)]
pub struct ListView<'a> {
    /// The handoffs, newest first.
    handoffs: Vec<ListedView<'a>>,
    /// Their number.
    total_found: usize,
}

pub fn list(handoffs: &[ListedHandoff], warnings: Vec<String>) -> Answer {
    let line = |listed: &ListedHandoff| {
        format!(
            "{} {} {:<12} {}\n",
            listed.envelope.id.short(),
            format::date(&listed.envelope.at),
            safe::line(&listed.envelope.ai),
            safe::line(&listed.handoff.task)
        )
    };
    let text: String = handoffs.iter().map(line).collect();
    let view = ListView { handoffs: handoffs.iter().map(ListedView::from).collect(), total_found: handoffs.len() };
    let answer = Answer::new(view).text(text).warn(warnings).paged();
    if handoffs.is_empty() { answer.say("No handoff is stored here.") } else { answer }
}

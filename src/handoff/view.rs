//! The handoff in its forms: Markdown, JSON, the seed's compact JSON.

use empirica_notes::model::{Id, SessionId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use crate::context::handoffs::ListedHandoff;
use crate::fold::assessment::gaps::FINDING;
use crate::fold::assessment::trajectory::{OVERALL, alone, deltas};
use crate::fold::handoff_report::duration;
use crate::handoff::build::next_steps;
use crate::handoff::check;
use crate::handoff::check::view::ValidationView;
use crate::handoff::managed;
use crate::handoff::managed::payload;
use crate::handoff::write::HandoffOutcome;
use crate::render::answer::Answer;
use crate::render::answer::count;
use crate::render::answer::keys;
use crate::render::format;
use crate::render::format::short_commit;
use crate::render::template::Templates;
use empirica_notes::error::{Command, Result, empirica, text};
use empirica_notes::model::Body;
use empirica_notes::model::Envelope;
use empirica_notes::model::Handoff;
use empirica_notes::model::Phase;
use empirica_notes::model::Record;
use empirica_notes::model::goal::GoalState;
use empirica_notes::model::handoff::Assessed;
use empirica_notes::model::handoff::CONTEXT;
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::handoff::Clarification;
use empirica_notes::model::handoff::Gap;
use empirica_notes::model::handoff::HandoffDeadEnd;
use empirica_notes::model::handoff::HandoffDecision;
use empirica_notes::model::handoff::HandoffEvidence;
use empirica_notes::model::handoff::HandoffMistake;
use empirica_notes::model::handoff::Item;
use empirica_notes::model::handoff::MadeIn;
use empirica_notes::model::handoff::Missed;
use empirica_notes::model::handoff::Relevant;
use empirica_notes::model::handoff::Trajectory;

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
fn learned(handoff: &Handoff) -> Vec<&Item> {
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

/// The state of git that a handoff was made in.
#[derive(Serialize, JsonSchema)]
struct GitStateView<'a> {
    #[serde(flatten)]
    git: &'a MadeIn,
    /// Whether anything was not committed.
    dirty: bool,
}

impl<'a> From<&'a MadeIn> for GitStateView<'a> {
    fn from(git: &'a MadeIn) -> Self {
        GitStateView { git, dirty: git.modified + git.added + git.deleted > 0 }
    }
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
pub fn delta_map(rows: &[Trajectory]) -> Map<String, Value> {
    deltas(rows).into_iter().map(|(name, delta)| (name, json!(delta))).collect()
}

/// The growth of overall confidence; `None` when it was not assessed on both sides.
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
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    /// HEAD then; null when it was unborn.
    commit: Option<&'a str>,
    /// How long the session was until then, in words: `2 h 5 min`.
    duration: String,
    /// The same in seconds.
    duration_seconds: u64,
    /// `active` or `ended`, then.
    session_status: &'a str,
    /// What was to be done.
    task: &'a str,
    /// How far each vector moved; `overall_confidence` last.
    #[schemars(with = "BTreeMap<String, f64>")]
    epistemic_deltas: Map<String, Value>,
    /// Each vector before and after, then overall confidence.
    trajectory: &'a [Trajectory],
    /// Whether knowing and doubting moved together.
    calibration_status: Calibration,
    /// What was done: in the agent's words, goals done, commits.
    accomplished: Vec<String>,
    /// What was learned.
    key_findings: Vec<&'a str>,
    /// Doubts that were settled.
    knowledge_gaps_filled: &'a [Gap],
    /// What is still unknown.
    remaining_unknowns: Vec<&'a str>,
    /// What was tried and failed.
    dead_ends: &'a [HandoffDeadEnd],
    /// What was decided.
    decisions: &'a [HandoffDecision],
    /// What was done wrong.
    mistakes: &'a [HandoffMistake],
    /// What was checked.
    evidence: &'a [HandoffEvidence],
    /// The goals, without suggestions that nobody took up.
    goals: Vec<&'a GoalState>,
    /// Activity categories, programs of the evidence, sources.
    investigation_tools: Vec<String>,
    /// What the next session must know.
    next_session_context: &'a str,
    /// The agent's own, then those that a rule adds: checks that failed last; when the agent named no step, also unfinished goals and
    /// open questions, 3 at most.
    next_steps: Vec<String>,
    /// How many of them, at the end, a rule added.
    next_steps_by_rule: usize,
    /// Files made or changed.
    artifacts_created: &'a [String],
    /// The assessments, oldest first.
    assessments: &'a [Assessed],
    /// The state of git then; null when it is not known.
    git_state: Option<GitStateView<'a>>,
    /// The handoff that it supersedes with answers to what its receivers asked.
    regenerates: Option<&'a Id>,
    /// What receivers of that handoff asked.
    clarifications: &'a [Clarification],
    /// What receivers of that handoff missed.
    missed: &'a [Missed],
    /// What was logged before and bears on the task, the most relevant first.
    relevant: &'a [Relevant],
    /// What was left out to fit the size, a text each.
    left_out: &'a [String],
    /// The handoff since which it tells what changed; null when it tells everything.
    since: Option<&'a Id>,
    /// The agent it is for; null for whoever comes.
    to: Option<&'a str>,
    /// The task of a managed handoff.
    task_id: Option<&'a str>,
    /// The round of a managed handoff, from 1.
    iteration: Option<u64>,
    /// Of a managed handoff: the document of its format, whole.
    payload: Option<Map<String, Value>>,
}

impl<'a> HandoffView<'a> {
    /// A handoff with its envelope.
    pub fn of(head: &'a Envelope, handoff: &'a Handoff) -> Self {
        fn texts(items: &[Item]) -> Vec<&str> {
            items.iter().map(|item| item.text.as_str()).collect()
        }
        HandoffView {
            handoff_id: &head.id,
            kind: &handoff.kind,
            session_id: head.session.as_ref(),
            ai_id: &head.ai,
            timestamp: &head.at,
            commit: head.commit.as_deref(),
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
            goals: handoff.goals.iter().filter(|goal| !goal.is_idle_suggestion()).collect(),
            investigation_tools: tools(handoff),
            next_session_context: &handoff.context,
            next_steps: next_steps(handoff),
            next_steps_by_rule: next_steps::steps(handoff).len(),
            artifacts_created: &handoff.artifacts,
            assessments: &handoff.assessments,
            git_state: handoff.git.as_ref().map(GitStateView::from),
            regenerates: handoff.regenerates.as_ref(),
            clarifications: &handoff.clarifications,
            missed: &handoff.missed,
            relevant: &handoff.relevant,
            left_out: &handoff.left_out,
            since: handoff.since.as_ref(),
            to: handoff.to.as_deref(),
            task_id: handoff.task_id.as_deref(),
            iteration: handoff.iteration,
            payload: payload::document(handoff, &head.at),
        }
    }
}

/// A handoff as JSON, whole.
pub fn json_of(head: &Envelope, handoff: &Handoff) -> Value {
    json!(HandoffView::of(head, handoff))
}

fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// A handoff with short keys and short texts. Without `--json`, `--format json` and `--format compact` print the same keys without `ok`.
#[derive(Serialize, JsonSchema)]
pub struct CompactView<'a> {
    /// The session, its short id.
    s: Option<&'a str>,
    /// Its agent.
    ai: &'a str,
    /// When.
    ts: &'a str,
    /// What was to be done, at most 200 characters.
    task: String,
    /// How far vectors moved, those of 0.10 or more either way, 2 decimals.
    #[schemars(with = "BTreeMap<String, f64>")]
    deltas: Map<String, Value>,
    /// What was learned, at most 5 of 150 characters.
    findings: Vec<String>,
    /// What is still unknown, at most 5 of 100 characters.
    unknowns: Vec<String>,
    /// What the next session must know, at most 300 characters.
    next: String,
    /// What to do next, at most 3 of 100 characters.
    recommend: Vec<String>,
    /// Whether knowing and doubting moved together.
    calibrated: Calibration,
}

/// A handoff as compact JSON.
pub fn compact(head: &Envelope, handoff: &Handoff) -> Value {
    let texts = |items: &[Item], most| items.iter().take(5).map(|item| cut(&item.text, most)).collect();
    let significant = deltas(&handoff.trajectory).into_iter().filter(|(_, delta)| delta.abs() >= 0.10);
    json!(CompactView {
        s: head.session.as_ref().map(SessionId::short),
        ai: &head.ai,
        ts: &head.at,
        task: cut(&handoff.task, 200),
        deltas: significant.map(|(name, delta)| (name, json!((delta * 100.0).round() / 100.0))).collect(),
        findings: texts(&handoff.findings, 150),
        unknowns: texts(&handoff.unknowns, 100),
        next: cut(&handoff.context, 300),
        recommend: next_steps(handoff).iter().take(3).map(|text| cut(text, 100)).collect(),
        calibrated: handoff.calibration_status,
    })
}

/// Something that a good handoff has.
#[derive(Serialize, JsonSchema)]
struct MissingView<'a> {
    /// Task, findings, unknowns, context or artifacts.
    missing: &'a str,
    /// The command that adds it.
    #[schemars(with = "String")]
    command: &'a Command,
}

/// A handoff that was written. If a check of `--validate` finds an error, nothing is stored: the document is a failure that has these
/// keys, too, and the exit code is 3.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HandoffWrittenView")]
pub struct WrittenView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// As `handoff_id`.
    report_id: &'a Id,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// HEAD; null when it is unborn.
    commit: Option<&'a str>,
    /// Its type.
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    /// The task of a managed handoff.
    task_id: Option<&'a str>,
    /// The round of a managed handoff, from 1.
    iteration: Option<u64>,
    /// The note that it is in, or goes to while `storage` is not `git_notes`; null with `--dry-run`.
    storage_location: Option<String>,
    /// Whether it is stored.
    stored: bool,
    /// The tokens of this document, an estimate.
    token_count: usize,
    /// The handoff in the built-in Markdown, without the footer.
    markdown: &'a str,
    /// What a good handoff still lacks.
    missing: Vec<MissingView<'a>>,
    /// With `--regenerate`: the handoff that it supersedes.
    regenerates: Option<&'a Id>,
    /// With `--sign`: its signature; null, with a warning, when git could not sign.
    signature_id: Option<&'a Id>,
    /// With `--validate`: what the checks found.
    validation: Option<ValidationView<'a>>,
}

/// The keys of a written or drafted handoff, and its Markdown.
pub fn outcome_json(outcome: &HandoffOutcome, built_in: &mut Templates) -> Result<(Map<String, Value>, String)> {
    let (head, handoff) = (&outcome.record.head, outcome.handoff());
    let markdown = markdown(built_in, &outcome.record)?;
    let missing = outcome.missing.iter().map(|(missing, command)| MissingView { missing, command });
    let mut json = keys(WrittenView {
        handoff_id: &head.id,
        report_id: &head.id,
        session_id: head.session.as_ref(),
        commit: head.commit.as_deref(),
        kind: handoff.map(|handoff| handoff.kind.as_str()),
        task_id: handoff.and_then(|handoff| handoff.task_id.as_deref()),
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

/// The answer of `handoff`.
pub fn answer(outcome: &HandoffOutcome, terminal: &mut Templates) -> Result<Answer> {
    let (json, built_in) = outcome_json(outcome, &mut Templates::built_in())?;
    let mut answer = Answer::new(json).stored(&outcome.stored);
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

/// A handoff in a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListedHandoffView")]
struct ListedView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    /// HEAD then.
    commit: Option<&'a str>,
    /// Its type.
    #[serde(rename = "type")]
    kind: &'a str,
    /// The task of a managed handoff.
    task_id: Option<&'a str>,
    /// The agent it is for.
    to: Option<&'a str>,
    /// What it is about.
    task: &'a str,
    /// Whether knowing and doubting moved together.
    calibration_status: Calibration,
    /// How far overall confidence grew, from -1 to 1; null when it was not assessed on both sides.
    epistemic_growth: Option<f64>,
}

impl<'a> From<&'a ListedHandoff> for ListedView<'a> {
    fn from(ListedHandoff { head, handoff, .. }: &'a ListedHandoff) -> Self {
        ListedView {
            handoff_id: &head.id,
            session_id: head.session.as_ref(),
            ai_id: &head.ai,
            timestamp: &head.at,
            commit: head.commit.as_deref(),
            kind: &handoff.kind,
            task_id: handoff.task_id.as_deref(),
            to: handoff.to.as_deref(),
            task: &handoff.task,
            calibration_status: handoff.calibration_status,
            epistemic_growth: growth(handoff),
        }
    }
}

/// The handoffs in force.
#[derive(Serialize, JsonSchema)]
pub struct ListView<'a> {
    /// The handoffs, newest first.
    handoffs: Vec<ListedView<'a>>,
    /// How many they are.
    total_found: usize,
}

/// The answer of `handoff list`.
pub fn list(handoffs: &[ListedHandoff], warnings: Vec<String>) -> Answer {
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
    let view = ListView { handoffs: handoffs.iter().map(ListedView::from).collect(), total_found: handoffs.len() };
    let answer = Answer::new(view).text(text).warn(warnings).paged();
    if handoffs.is_empty() { answer.say("No handoff is stored here.") } else { answer }
}

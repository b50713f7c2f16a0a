//! The answers about sessions.

use std::collections::BTreeMap;

use minijinja::{Value as Text, context};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::claims::anchors::ClaimChange;
use crate::fold::assessment::confidence::{alone, overall};
use crate::fold::assessment::trajectory::OVERALL;
use crate::fold::collected::CollectedTranscript;
use crate::fold::handoff_report::{GitWork, HandoffInput, report};
use crate::fold::session_records::{AnsweredUnknown, SessionRecords};
use crate::render::answer::Answer;
use crate::render::format::{duration, seconds_between};
use crate::render::sparkline;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::use_cases::checkpoint::view::brief_keys;
use crate::use_cases::handoff::pack::{Detail, lists};
use crate::use_cases::session::lifecycle::{EndOutcome, SessionList, ShownSession, StartOutcome};
use empirica_notes::error::{Result, blank, empirica, text};
use empirica_notes::model::goal::GoalState;
use empirica_notes::model::handoff::{HandoffEvidence, Item, ToolUse};
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Assessment, Body, Envelope, Id, Phase, SessionId, Vectors};
use empirica_transcripts::model::ToolSummary;

pub fn started(outcome: &StartOutcome) -> Answer {
    let word = if outcome.resumed { "resumed" } else { "started" };
    let mut answer = Answer::new(outcome)
        .text(format!("{}\n", outcome.session_id))
        .say(format!("Session {} of {} {word}.", outcome.session_id.short(), safe::line(&outcome.ai_id)))
        .stored(&outcome.stored);
    if let Some(from) = &outcome.continues {
        let written = if from.is_written { ", whose context handoff was written now" } else { "" };
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
            format!("{others} still active in this worktree; end those that are over: "),
            empirica("session end").option("--session", first.id.short())
        ]]);
    }
    if outcome.total_waiting > 0 {
        let waiting = format::count(outcome.total_waiting, "handoff");
        answer = answer.say(format!("Waiting for {}: {waiting}.", safe::line(&outcome.ai_id)));
        answer = answer.hint(empirica("inbox"));
    }
    if outcome.others.iter().any(|other| other.ai != outcome.ai_id) {
        answer = answer.hint(format!(
            "name yourself in every command: export EMPIRICA_AI={}",
            empirica_notes::error::quote(&outcome.ai_id)
        ));
    }
    answer.hint_once(
        &outcome.session_id,
        "log",
        text!["log what you learn as you go: ", empirica("finding").arg(blank("<what you learned>"))],
    )
}

pub fn ended(outcome: &EndOutcome) -> Answer {
    let answer = Answer::new(outcome)
        .text(format!("Session {} ended after {}.\n", outcome.session_id.short(), outcome.duration))
        .stored(&outcome.stored);
    if outcome.has_handoff || !outcome.has_entries {
        return answer;
    }
    answer.hint(text![
        "it wrote no handoff; write one now: ",
        empirica("handoff").option("--session", outcome.session_id.short())
    ])
}

/// A session.
#[derive(Serialize, JsonSchema)]
pub struct SessionView<'a> {
    #[serde(flatten)]
    session: &'a Session,
    /// Whether it has not ended.
    active: bool,
}

impl<'a> From<&'a Session> for SessionView<'a> {
    fn from(session: &'a Session) -> Self {
        SessionView { session, active: session.is_active() }
    }
}

/// The sessions that are stored.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionListView")]
pub struct ListView<'a> {
    /// The sessions, newest first.
    sessions: Vec<SessionView<'a>>,
    /// How many they are.
    total_sessions: usize,
}

pub fn list(listed: &SessionList) -> Answer {
    let line = |s: &Session| {
        format!(
            "{} {} {:<7} {:<12} {}\n",
            s.id.short(),
            format::date(&s.started_at),
            if s.is_active() { "active" } else { "ended" },
            safe::line(&s.ai),
            safe::line(s.task.as_deref().unwrap_or(""))
        )
    };
    let sessions: Vec<SessionView<'_>> = listed.sessions.iter().map(SessionView::from).collect();
    let answer = Answer::new(ListView { total_sessions: sessions.len(), sessions })
        .text(listed.sessions.iter().map(line).collect::<String>())
        .warn(listed.warnings.clone())
        .paged();
    if listed.sessions.is_empty() {
        answer.say("No session is stored here.").hint(text!["start one: ", crate::context::names::start_command(None)])
    } else {
        answer
    }
}

/// An assessment of the session.
#[derive(Serialize, JsonSchema)]
struct AssessmentView<'a> {
    /// The assessment.
    checkpoint_id: &'a Id,
    /// When in the workflow.
    phase: Phase,
    /// Which one of its phase, from 1.
    round: u32,
    /// When.
    at: &'a str,
    /// Its values.
    vectors: &'a Vectors,
    /// Null when it gave only uncertainty.
    overall_confidence: Option<f64>,
    /// The confidence it claims to act with.
    confidence: Option<f64>,
    /// Why it is so.
    reasoning: Option<&'a str>,
    /// The task as the agent saw it then.
    task: Option<&'a str>,
    /// The iteration of the investigation, from 1.
    cycle: Option<u32>,
    /// The depth of the scope, from 0 to 1.
    scope: Option<f64>,
    /// Labels.
    tags: &'a [String],
    /// The agent's own keys.
    meta: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a (Envelope, Assessment)> for AssessmentView<'a> {
    fn from((head, a): &'a (Envelope, Assessment)) -> Self {
        AssessmentView {
            checkpoint_id: &head.id,
            phase: a.phase,
            round: a.round,
            at: &head.at,
            vectors: &a.vectors,
            overall_confidence: overall(&a.vectors),
            confidence: a.confidence,
            reasoning: a.reasoning.as_deref(),
            task: a.task.as_deref(),
            cycle: a.cycle,
            scope: a.scope,
            tags: &a.tags,
            meta: &a.meta,
        }
    }
}

/// A checkpoint of the session.
#[derive(Serialize, JsonSchema)]
struct CheckpointView<'a> {
    /// The checkpoint.
    checkpoint_id: &'a Id,
    /// When.
    at: &'a str,
    /// Its record, without `git_state` and `snapshot`.
    checkpoint: Map<String, Value>,
}

/// A session that continues this one.
#[derive(Serialize, JsonSchema)]
struct ContinuationView<'a> {
    /// The session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When it began.
    started_at: &'a str,
}

/// All that a session logged.
#[derive(Serialize, JsonSchema)]
pub struct ShownView<'a> {
    #[serde(flatten)]
    session: SessionView<'a>,
    /// How long it was, or is so far, in words: `2 h 5 min`.
    duration: &'a str,
    /// The same in seconds.
    duration_seconds: u64,
    /// Its assessments, oldest first.
    assessments: Vec<AssessmentView<'a>>,
    /// Its checkpoints, oldest first.
    checkpoints: Vec<CheckpointView<'a>>,
    /// Its handoffs, superseded ones too.
    handoffs: Vec<&'a Id>,
    /// Its findings.
    findings: &'a [Item],
    /// Its open questions.
    unknowns: &'a [Item],
    /// Its questions that were answered.
    resolved: &'a [AnsweredUnknown],
    /// Dead ends.
    dead_ends: &'a [DeadEnd],
    /// Decisions.
    decisions: &'a [Decision],
    /// Mistakes.
    mistakes: &'a [Mistake],
    /// The last run of each check.
    evidence: &'a [HandoffEvidence],
    /// The documents and pages that were consulted.
    sources: &'a [String],
    /// How often each category of tools was used, most used first.
    tools: &'a [ToolUse],
    /// The use of tools, as its agent's transcripts tell, or as it logged when that is more.
    tool_summaries: &'a [ToolSummary],
    /// Its collected transcripts.
    transcripts: &'a [CollectedTranscript],
    /// The sessions that continue it.
    continued_by: Vec<ContinuationView<'a>>,
    /// Its goals.
    goals: &'a [GoalState],
    /// Its claims whose code moved, changed, is gone or cannot be compared, and those that disagree with others.
    claims: &'a [ClaimChange],
}

/// The trajectory of each vector, in columns; none without an assessment.
fn trajectory(records: &SessionRecords) -> Vec<String> {
    let rows = sparkline::rows(records.assessments.iter().map(|(_, assessment)| assessment));
    let alone = format::only(alone(records.assessments.iter().map(|(_, assessment)| &assessment.vectors)));
    let name = |row: &sparkline::SparklineRow| row.name.replace("overall_confidence", "overall");
    let marks = rows.iter().map(|row| row.line.chars().count()).max().unwrap_or(0);
    let line = |row: sparkline::SparklineRow| match row.last {
        Some(last) => {
            let change = format::signed(Some(last - row.first));
            let alone = if row.name == OVERALL { alone.as_str() } else { "" };
            format!("{:<11} {:.2} {:<marks$} {last:.2}  {change}{alone}", name(&row), row.first, row.line)
        }
        None => format!("{:<11} {:.2}", name(&row), row.first),
    };
    rows.into_iter().map(line).collect()
}

/// The text marks the claims whose code is not as it was.
pub fn show(shown: &ShownSession, warnings: Vec<String>, terminal: &mut Templates) -> Result<Answer> {
    let ShownSession { records, claims } = shown;
    let session = &records.session;
    let last = session.ended_at.as_deref().unwrap_or(&records.last_at);
    let seconds = seconds_between(&session.started_at, last);
    let at = chrono::DateTime::parse_from_rfc3339(last).map(|t| t.with_timezone(&chrono::Utc)).unwrap_or_default();
    let long = duration(seconds);
    let view = ShownView {
        session: SessionView::from(session),
        duration: &long,
        duration_seconds: seconds,
        assessments: records.assessments.iter().map(AssessmentView::from).collect(),
        checkpoints: records
            .checkpoints
            .iter()
            .map(|(head, checkpoint)| CheckpointView {
                checkpoint_id: &head.id,
                at: &head.at,
                checkpoint: brief_keys(&Body::Checkpoint(Box::new(checkpoint.clone()))),
            })
            .collect(),
        handoffs: records.handoffs.iter().map(|(head, _)| &head.id).collect(),
        findings: &records.findings,
        unknowns: &records.unknowns,
        resolved: &records.answered,
        dead_ends: &records.dead_ends,
        decisions: &records.decisions,
        mistakes: &records.mistakes,
        evidence: &records.evidence,
        sources: &records.sources,
        tools: &records.tools,
        tool_summaries: &records.activity,
        transcripts: &records.transcripts,
        continued_by: records
            .continued_by
            .iter()
            .map(|head| ContinuationView { session_id: head.session.as_ref(), ai_id: &head.ai, started_at: &head.at })
            .collect(),
        goals: &records.goals,
        claims,
    };
    let marked = records.clone().marked(|id, text| format::mark(claims, id, text));
    let handoff = report(&marked, GitWork::default(), HandoffInput::default(), at);
    let numbered =
        |item: &Item| item.id.as_ref().map_or_else(|| item.text.clone(), |id| format!("{} {}", id.short(), item.text));
    let text_lists: Vec<Text> = lists(&handoff, Detail::Detailed)
        .into_iter()
        .filter(|list| !list.entries.is_empty() && list.key != "next_steps")
        .map(|list| {
            let entries: Vec<String> = match list.key {
                "remaining_unknowns" => marked.unknowns.iter().map(numbered).collect(),
                "key_findings" => marked.findings.iter().map(numbered).collect(),
                "goals" => {
                    records.goals.iter().map(|g| format!("{} {}: {}", g.id.short(), g.status.name(), g.text)).collect()
                }
                _ => list.entries.iter().map(|entry| entry.text.clone()).collect(),
            };
            context! { title => list.title, entries }
        })
        .collect();
    let rows = records.assessments.iter().map(|(head, a)| {
        context! {
            phase => a.phase.name(),
            round => a.round,
            at => &head.at,
            overall => overall(&a.vectors),
            values => format::vectors(&a.vectors),
            reasoning => a.reasoning.as_deref(),
        }
    });
    let data = context! {
        id => session.id.as_str(),
        ai => &session.ai,
        started_at => &session.started_at,
        ended_at => session.ended_at.as_deref(),
        duration => &long,
        task => session.task.as_deref(),
        kind => session.kind.as_deref(),
        handoff => records.handoffs.last().map(|(head, _)| head.id.short()),
        trajectory => trajectory(records),
        assessments => rows.collect::<Vec<_>>(),
        lists => text_lists,
    };
    let text = terminal.render("session.txt", data)?.trim().to_owned() + "\n";
    Ok(Answer::new(view).text(text).warn(warnings).paged())
}

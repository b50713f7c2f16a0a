//! The answer of `resume`: sessions packed into their budgets.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value as Rendered};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::fold::assessment::confidence::overall;
use crate::render::answer::Answer;
use crate::render::budget::{self, BudgetEntry, BudgetList, Entries, Keep, OutputForm, Shortening, list, plain};
use crate::render::format::duration;
use crate::render::format::short_commit;
use crate::render::pairs::Pairs;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::tokens;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::view::PackedArrivalView;
use crate::use_cases::handoff::pack::{Detail, PackedAssessment, PackedGoal, is_derived, lists};
use crate::use_cases::handoff::view::markdown;
use crate::use_cases::session::resume::{ResumeOutcome, ResumedSession};
use empirica_notes::error::{Command, Result, Shell, Text, empirica, text};
use empirica_notes::model::handoff::{Assessed, Calibration, Gap, HandoffEvidence};
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake};
use empirica_notes::model::{Id, Phase, Record, SessionId};

/// The detail, size and form of the answer.
#[derive(Debug, Clone, Copy)]
pub struct ResumeForm {
    pub detail: Detail,
    /// The most tokens of the whole answer.
    pub budget: Option<usize>,
    pub form: OutputForm,
}

/// The newest sessions that handed work over.
#[derive(Serialize, JsonSchema)]
pub struct ResumeView<'a> {
    /// Sessions that handed something over, newest first; those that only assessed themselves if there is no other. Each takes 400
    /// tokens at most with `--detail summary`, 800 with `detailed`, 1,250 with `full`.
    sessions: Vec<ResumedView<'a>>,
    /// How many they are, with those for which there was no room.
    total_sessions: usize,
    /// summary, detailed or full.
    detail_level: &'static str,
    /// The last assessment of a later session that handed nothing over; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    assessed_since: Option<AssessedSinceView<'a>>,
    /// That there is nothing; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    message: Option<Text>,
    /// The sessions for which there was no room; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<NoRoomView>,
    /// The tokens that this document takes, estimated.
    token_count: usize,
    /// The same.
    token_estimate: usize,
}

/// The sessions for which there was no room.
#[derive(Serialize, JsonSchema)]
struct NoRoomView {
    /// How many.
    sessions: usize,
    /// The command that lists them.
    #[schemars(with = "String")]
    command: Command,
}

/// The last assessment of a session that handed nothing over.
#[derive(Serialize, JsonSchema)]
struct AssessedSinceView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: String,
    /// When.
    timestamp: &'a str,
    /// When in the workflow.
    phase: Phase,
    /// Which one of its phase, from 1.
    round: u32,
    /// Null when it gave only uncertainty.
    overall_confidence: Option<f64>,
}

/// A session to continue from. A shortened one lacks optional keys.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ResumedSessionView")]
pub(crate) struct ResumedView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: String,
    /// Who vouches for its handoff by a signature that git accepts; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<&'a str>,
    /// Its handoff; null when it wrote none.
    #[serde(skip_serializing_if = "Option::is_none")]
    handoff_id: Option<Option<&'a Id>>,
    /// When the handoff was written, else when its last record was made.
    timestamp: &'a str,
    /// How long it was, in words: `2 h 5 min`.
    duration: String,
    /// The same in seconds. Absent where texts are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_seconds: Option<u64>,
    /// active or ended, now.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_status: Option<&'static str>,
    /// handoff, or summary when it wrote none. Absent when it is shortened and a handoff.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
    /// How many records it made after the handoff. Absent when it is shortened and none.
    #[serde(skip_serializing_if = "Option::is_none")]
    since_handoff: Option<usize>,
    /// The commit that the handoff is attached to; null without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<Option<&'a str>>,
    /// The task, 60 tokens at most.
    task: String,
    /// The self-assessment.
    calibration_status: Calibration,
    #[serde(flatten)]
    lists: ListsView,
    /// The state of the handoff since; of a session that wrote none, only the claims whose code is not as it was, null without any, absent
    /// then when it is shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    arrival: Option<Option<PackedArrivalView>>,
    /// What was left out; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<OmittedView>,
    /// With `full`: the whole Markdown of the handoff as it was written; null when there is no room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_markdown: Option<Option<String>>,
}

/// The omissions of a session: by key, how many entries; by `derived` how many of `epistemic_deltas`, `accomplished`,
/// `knowledge_gaps_filled`, `artifacts_created`, `investigation_tools` and `assessments` together. Of `arrival` the entries are counted
/// under their own keys, `stale_evidence` with the files of its entries.
#[derive(Default, Serialize, JsonSchema)]
struct OmittedView {
    #[serde(flatten)]
    counts: Pairs<&'static str, usize>,
    /// Whether texts were cut, with `…`, or entries have their texts only; absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shortened: bool,
    /// The command that shows all of it.
    #[schemars(with = "String")]
    command: Option<Command>,
}

/// The lists of a session, at most so many entries as there is room for.
#[derive(Serialize, JsonSchema)]
struct ListsView {
    /// Of a managed handoff: its fields, a line each.
    #[serde(skip_serializing_if = "Option::is_none")]
    handed_over: Option<Entries<String>>,
    /// The next steps: the agent's own, then those that a rule adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_steps: Option<Entries<String>>,
    /// How many of them, at the end, a rule added; absent when none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_steps_by_rule: Option<usize>,
    /// The questions that are still open.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_unknowns: Option<Entries<String>>,
    /// The last run of each check, failed ones first; of a shortened one `command` and `exit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Entries<HandoffEvidence>>,
    /// Findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_findings: Option<Entries<String>>,
    /// Dead ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    dead_ends: Option<Entries<DeadEnd>>,
    /// Decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    decisions: Option<Entries<Decision>>,
    /// Mistakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    mistakes: Option<Entries<Mistake>>,
    /// The goals, open ones first; of a shortened one `text` and `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    goals: Option<Entries<PackedGoal<'static>>>,
    /// The agent's context for the next session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    next_session_context: Option<Value>,
    /// By vector, `overall_confidence` last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    epistemic_deltas: Option<Value>,
    /// The agent's own list, goals that were done, commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    accomplished: Option<Entries<String>>,
    /// Questions and vectors before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    knowledge_gaps_filled: Option<Entries<Gap>>,
    /// With `detailed` and `full`: the files that were made or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts_created: Option<Entries<String>>,
    /// With `detailed` and `full`: categories of tools, programs of the evidence, sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    investigation_tools: Option<Entries<String>>,
    /// With `full`: the assessments; of a shortened one `phase`, `round` and `vectors`.
    #[serde(skip_serializing_if = "Option::is_none")]
    assessments: Option<Entries<PackedAssessment<'static>>>,
    /// Claims of other sessions that are near in meaning, each with its kind, ID and agent; absent without search by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<Entries<String>>,
}

impl ListsView {
    /// `brief`: without an empty text.
    fn new(lists: &[BudgetList], brief: bool) -> Self {
        // an empty list says that there is nothing; one that is left out is counted by `omitted`
        let is_shown = |list: &&BudgetList| list.omitted == 0 || !list.entries.is_empty();
        let list = |key: &str| lists.iter().find(|list| list.key == key).filter(is_shown);
        let one =
            |key: &str, none: Value| list(key).map(|list| list.entries.last().map_or(none, |entry| entry.json.clone()));
        let by_rule = |list: &BudgetList| list.entries.iter().filter(|entry| entry.by_rule).count();
        ListsView {
            handed_over: list("handed_over").map(Into::into),
            next_steps: list("next_steps").map(Into::into),
            next_steps_by_rule: list("next_steps").map(by_rule).filter(|count| *count > 0),
            remaining_unknowns: list("remaining_unknowns").map(Into::into),
            evidence: list("evidence").map(Into::into),
            key_findings: list("key_findings").map(Into::into),
            dead_ends: list("dead_ends").map(Into::into),
            decisions: list("decisions").map(Into::into),
            mistakes: list("mistakes").map(Into::into),
            goals: list("goals").map(Into::into),
            next_session_context: one("next_session_context", json!("")).filter(|text| !brief || text != ""),
            epistemic_deltas: one("epistemic_deltas", json!({})),
            accomplished: list("accomplished").map(Into::into),
            knowledge_gaps_filled: list("knowledge_gaps_filled").map(Into::into),
            artifacts_created: list("artifacts_created").map(Into::into),
            investigation_tools: list("investigation_tools").map(Into::into),
            assessments: list("assessments").map(Into::into),
            related: list("related").map(Into::into),
        }
    }
}

/// A packed session.
struct Shown<'a> {
    view: ResumedView<'a>,
    lists: Vec<BudgetList>,
    arrival: String,
    omitted: String,
}

/// The rank of related claims: before derived entries, after the session's own.
const RELATED: usize = 900;
/// The fewest tokens for a session.
const LEAST: usize = 90;

/// Packs the sessions and answers. The rest of a session's share goes to those after it.
pub fn answer(outcome: &ResumeOutcome, options: ResumeForm, terminal: &mut Templates) -> Result<Answer> {
    let all = outcome.sessions.len();
    // short texts can take a little more than estimated
    let requested = options.budget.map_or(usize::MAX, |budget| (budget - budget / 25).saturating_sub(2));
    let most = requested.min(options.detail.budget() * all.max(1));
    let since = assessed_since(outcome);
    let frame = match options.form {
        OutputForm::Text => tokens::estimate(&since) + safe::FENCE,
        OutputForm::Json => {
            tokens::estimate(&safe::json(&document(outcome, options, Vec::new(), 0).document(&Shell).into())) + 2
        }
    };
    let room = most.saturating_sub(frame);
    let mut shown = Vec::new();
    // the newest ones, each with more than its head
    for count in (1..=all.min(room / LEAST + 1)).rev() {
        // a line for those that do not fit at all
        let line = if count < all { tokens::estimate(&left_out(all)) + 10 } else { 0 };
        shown = together(&outcome.sessions[..count], options, room.saturating_sub(line), terminal)?;
        if !shown.is_empty() {
            break;
        }
    }
    let missing = all - shown.len();
    let (text, sessions) = match options.form {
        OutputForm::Text if shown.is_empty() && missing > 0 => (left_out(missing) + "\n", Vec::new()),
        OutputForm::Text => {
            let rest = if missing > 0 { format!("\n{}\n", left_out(missing)) } else { String::new() };
            (text(&shown, terminal, &nothing(outcome).to_string())? + &since + &rest, Vec::new())
        }
        OutputForm::Json => (String::new(), shown.into_iter().map(|shown| shown.view).collect()),
    };
    let answer = document(outcome, options, sessions, missing).text(text);
    Ok(if outcome.sessions.is_empty() { answer } else { answer.quoting() })
}

/// All of these sessions within `room` tokens; none if they do not fit together.
fn together<'a>(
    sessions: &'a [ResumedSession],
    options: ResumeForm,
    mut room: usize,
    terminal: &mut Templates,
) -> Result<Vec<Shown<'a>>> {
    let mut shown = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let share = (room / (sessions.len() - at)).min(options.detail.budget());
        let Some(packed) = packed(session, options, share, terminal)? else { return Ok(Vec::new()) };
        room = room.saturating_sub(measured(&packed, options.form, terminal)?);
        shown.push(packed);
    }
    Ok(shown)
}

/// The line for sessions without room.
fn left_out(sessions: usize) -> String {
    format!("Left out: {}. All of them: {}", format::count(sessions, "session"), empirica("session list"))
}

/// The newest assessment of a later session that handed nothing over.
fn last_assessed(outcome: &ResumeOutcome) -> Option<(&ResumedSession, &Assessed)> {
    let session = outcome.assessed_since.as_ref()?;
    Some((session, session.handoff.assessments.last()?))
}

/// The same as a line; empty without one.
fn assessed_since(outcome: &ResumeOutcome) -> String {
    let Some((session, last)) = last_assessed(outcome) else { return String::new() };
    let vectors = last.vectors.iter().take(3).map(|(vector, value)| format!("{} {value:.2}", vector.name()));
    format!(
        "\nSince then {} assessed itself: {} {}, {}. All of it: {}\n",
        safe::line(&shortened(&session.ai_id)),
        last.phase.name(),
        last.round,
        vectors.collect::<Vec<_>>().join(", "),
        empirica("session show").arg(session.session_id.short())
    )
}

/// The message without sessions.
fn nothing(outcome: &ResumeOutcome) -> Text {
    match &outcome.ai {
        Some(ai) => text![
            format!("No sessions found for ai_id={}. Others' sessions: ", safe::line(ai)),
            empirica("session list")
        ],
        None => text!["Nothing to resume from is stored here. Others' records come with ", empirica("sync"), "."],
    }
}

fn document<'a>(
    outcome: &'a ResumeOutcome,
    options: ResumeForm,
    sessions: Vec<ResumedView<'a>>,
    missing: usize,
) -> Answer {
    let assessed_since = last_assessed(outcome).map(|(session, last)| AssessedSinceView {
        session_id: &session.session_id,
        ai_id: shortened(&session.ai_id),
        timestamp: &last.at,
        phase: last.phase,
        round: last.round,
        overall_confidence: overall(&last.vectors),
    });
    let view = ResumeView {
        sessions,
        total_sessions: outcome.sessions.len(),
        detail_level: options.detail.name(),
        assessed_since,
        message: outcome.sessions.is_empty().then(|| nothing(outcome)),
        omitted: (missing > 0).then(|| NoRoomView { sessions: missing, command: empirica("session list") }),
        token_count: 0,
        token_estimate: 0,
    };
    let answer = Answer::new(view).warn(outcome.warnings.clone());
    let answer = answer.remedy("/message", nothing(outcome)).remedy("/omitted/command", empirica("session list"));
    let commands = outcome.sessions.iter().map(command).enumerate();
    commands.fold(answer, |answer, (at, command)| answer.remedy(format!("/sessions/{at}/omitted/command"), command))
}

/// A session within its budget; `None` if not even its head fits.
fn packed<'a>(
    session: &'a ResumedSession,
    options: ResumeForm,
    budget: usize,
    terminal: &mut Templates,
) -> Result<Option<Shown<'a>>> {
    let mut all = lists(&session.remaining(), options.detail);
    if !session.related.is_empty() {
        all.push(list("related", "Related", session.related.iter().map(related).collect()));
    }
    // an entry takes a token at least
    let all = budget::truncated(&all, budget);
    let longest = (budget / 8).max(24);
    let mut attempt = |lists: Vec<BudgetList>, how: Shortening, less: bool| {
        let shown = assembled(session, lists, less, how, options);
        let spent = measured(&shown, options.form, terminal)?;
        Ok((spent <= budget).then_some((shown, spent)))
    };
    let whole = [Shortening::Nothing, Shortening::Brief, Shortening::Texts(longest)].map(|how| (how, Keep::All));
    if let Some((mut shown, spent)) = budget::fit(&all, options.form, &whole, &mut attempt)? {
        if options.detail == Detail::Full && options.form == OutputForm::Json {
            place_markdown(&mut shown, full_markdown(session)?, budget.saturating_sub(spent), session);
        }
        return Ok(Some(shown));
    }
    let steps = [
        (Shortening::Texts(longest), Keep::Musts),
        (Shortening::Musts(longest, 24), Keep::Musts),
        (Shortening::Musts(longest, 16), Keep::Musts),
        (Shortening::Musts(longest, 12), Keep::OnlyMusts(0)),
    ];
    Ok(budget::fit(&all, options.form, &steps, attempt)?.map(|(shown, _)| shown))
}

/// A related claim, which gives way before what the session itself left.
fn related(record: &Record) -> BudgetEntry {
    let text = record.body.claim_text();
    let kind = record.body.kind().replace('_', " ");
    let mut entry = plain(&format!("{kind} {} by {}: {text}", record.envelope.id.short(), record.envelope.ai));
    entry.rank = RELATED;
    entry
}

fn measured(shown: &Shown<'_>, form: OutputForm, terminal: &mut Templates) -> Result<usize> {
    Ok(match form {
        OutputForm::Json => tokens::estimate(&safe::json(&json!(shown.view))),
        OutputForm::Text => tokens::estimate(&text(std::slice::from_ref(shown), terminal, "")?),
    })
}

fn full_markdown(session: &ResumedSession) -> Result<String> {
    let Some(listed) = session.listed() else { return Ok(String::new()) };
    markdown(&mut Templates::built_in(), &listed.record())
}

/// The whole Markdown if there is room for it; else null, and counted as omitted.
fn place_markdown(shown: &mut Shown<'_>, markdown: String, room: usize, session: &ResumedSession) {
    let fits = !markdown.is_empty() && tokens::estimate(&Value::from(markdown.as_str()).to_string()) + 4 <= room;
    shown.view.full_markdown = Some(fits.then_some(markdown));
    if !fits {
        let omitted = shown.view.omitted.get_or_insert_default();
        omitted.counts.0.push(("full_markdown", 1));
        omitted.command = Some(command(session));
    }
}

fn command(session: &ResumedSession) -> Command {
    match &session.envelope {
        Some(envelope) => empirica("show").arg(envelope.id.short()),
        None => empirica("session show").arg(session.session_id.short()),
    }
}

/// The first 60 tokens of a task.
pub(crate) fn shortened(task: &str) -> String {
    match tokens::truncate_to(task, 60) {
        (whole, false) => whole.to_owned(),
        (part, true) => format!("{}…", part.trim_end()),
    }
}

fn assembled<'a>(
    session: &'a ResumedSession,
    lists: Vec<BudgetList>,
    mut is_shortened: bool,
    how: Shortening,
    options: ResumeForm,
) -> Shown<'a> {
    let is_shortening = how != Shortening::Nothing;
    // the brief head leaves out the keys that `omitted.command` shows
    let brief = is_shortening && options.form == OutputForm::Json;
    let whole = !brief;
    let (envelope, handoff) = (session.envelope.as_ref(), &session.handoff);
    // where texts are cut, the duration in words suffices
    let is_cut = options.form == OutputForm::Json && matches!(how, Shortening::Texts(_) | Shortening::Musts(..));
    let mut view = ResumedView {
        session_id: &session.session_id,
        ai_id: shortened(&session.ai_id),
        signed_by: session.signer.as_deref(),
        handoff_id: whole.then(|| envelope.map(|envelope| &envelope.id)),
        timestamp: &session.timestamp,
        duration: duration(handoff.duration_seconds),
        duration_seconds: (!is_cut).then_some(handoff.duration_seconds),
        session_status: whole.then_some(if session.active { "active" } else { "ended" }),
        source: (whole || envelope.is_none()).then_some(if envelope.is_some() { "handoff" } else { "summary" }),
        since_handoff: (whole || session.since_handoff > 0).then_some(session.since_handoff),
        commit: whole.then(|| envelope.and_then(|envelope| envelope.commit.as_deref())),
        task: shortened(&handoff.task),
        calibration_status: handoff.calibration_status,
        lists: ListsView::new(&lists, brief),
        arrival: None,
        omitted: None,
        full_markdown: None,
    };
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    let mut left = budget::omitted_texts(&lists);
    for list in &lists {
        if list.omitted > 0 {
            let key = if brief && is_derived(list) { "derived" } else { list.key };
            match counts.iter_mut().find(|(counted, _)| *counted == key) {
                Some((_, count)) => *count += list.omitted,
                None => counts.push((key, list.omitted)),
            }
        }
    }
    let mut arrived = String::new();
    if let Some(arrival) = &session.arrival {
        let packed = arrival::view::packed(arrival, options.detail, how, options.form);
        view.arrival = Some(Some(packed.view));
        arrived = packed.text;
        is_shortened |= packed.shortened;
        let more: usize = packed.omitted.iter().map(|(_, count)| count).sum();
        if more > 0 {
            left.push(format!("what became of it ({more})"));
        }
        counts.extend(packed.omitted);
    } else if whole {
        view.arrival = Some(None);
    }
    // the brief head is shortened, too
    let is_shortened = is_shortened || (brief && counts.is_empty());
    left.extend(is_shortened.then(|| "the rest of shortened texts".to_owned()));
    let mut text = String::new();
    if !left.is_empty() {
        view.omitted =
            Some(OmittedView { counts: Pairs(counts), shortened: is_shortened, command: Some(command(session)) });
        text = format!("Left out: {}. All of it: {}", left.join(", "), command(session));
    } else if options.detail != Detail::Full && options.form == OutputForm::Text {
        text = format!("All of it: {}", command(session));
    }
    Shown { view, lists, arrival: arrived, omitted: text }
}

fn text(sessions: &[Shown<'_>], terminal: &mut Templates, message: &str) -> Result<String> {
    let view = |shown: &Shown<'_>| {
        let note = match (shown.view.source, shown.view.since_handoff) {
            (Some("summary"), _) => {
                Some("It wrote no handoff: this is a summary of its journal and assessments.".to_owned())
            }
            (_, Some(since @ 1..)) => Some(format!(
                "After the handoff it made {} more: {}",
                format::count(since, "record"),
                empirica("session show").arg(shown.view.session_id.short())
            )),
            _ => None,
        };
        context! {
            status => shown.view.session_status,
            signed => format::signed_by(shown.view.signed_by.map(str::to_owned).as_ref()),
            note,
            since => shown.arrival.as_str(),
            commit => short_commit(shown.view.commit.flatten()),
            lists => budget::texts(&shown.lists),
            omitted_text => shown.omitted.as_str(),
            ..Rendered::from(Serde(&shown.view))
        }
    };
    let sessions: Vec<Rendered> = sessions.iter().map(view).collect();
    let text = terminal.render("resume.md", context! { sessions, message })?;
    Ok(text.trim_end().to_owned() + "\n")
}

//! The answers of `metrics`: over all, by agent, over time, and of one handoff.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::format::duration;
use crate::render::pairs::Pairs;
use crate::render::safe::Fence;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::list::busiest;
use crate::text::tokens;
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::handoff::receive;
use crate::use_cases::handoff::receive::view::{AcceptView, QuestionView};
use crate::use_cases::history::metrics::fold::{
    DatedInquiry, Duplicate, HandoffMetrics, HandoverMetrics, Period, Ratio, Receiver, median_seconds,
};
use crate::use_cases::history::metrics::stages::{self, Stages};
use crate::use_cases::history::metrics::{HandoffWorth, MetricsOutcome};
use crate::use_cases::session::resume;
use crate::use_cases::session::resume::view::ResumeForm;
use crate::use_cases::session::resume::{ResumeOutcome, ResumedSession};
use empirica_notes::error::{Result, Shell};
use empirica_notes::model::{Id, SessionId};

/// Tokens that `resume` prints of a session.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "ResumeTokens")]
struct Cost {
    /// As text.
    text: usize,
    /// As JSON.
    json: usize,
    /// Tokens of the session's transcripts, which it replaces; `None` if none was collected.
    #[serde(skip)]
    replaces: Option<u64>,
}

impl Cost {
    /// Of `resume --session` at this level of detail.
    fn of(resumed: &ResumedSession, detail: Detail, exact: bool, terminal: &mut Templates) -> Result<Self> {
        let sessions = vec![resumed.clone()];
        let outcome = ResumeOutcome { sessions, assessed_since: None, ai: None, warnings: Vec::new() };
        let mut printed =
            |form: OutputForm| resume::view::answer(&outcome, ResumeForm { detail, budget: None, form }, terminal);
        let text = tokens::count(&Fence::default().around(&printed(OutputForm::Text)?.text), exact);
        let json = tokens::count(&safe::json(&printed(OutputForm::Json)?.document(&Shell).into()), exact);
        Ok(Cost { text, json, replaces: resumed.transcript_tokens })
    }
}

/// The mean cost; `None` without any.
fn mean(costs: &[Cost], of: fn(&Cost) -> usize) -> Option<u64> {
    let sum: usize = costs.iter().map(of).sum();
    (!costs.is_empty()).then(|| (sum as f64 / costs.len() as f64).round() as u64)
}

/// The mean of replaced tokens, and of how many transcripts; `None` without any.
fn replaced(costs: &[Cost]) -> Option<(u64, usize)> {
    let replaced: Vec<u64> = costs.iter().filter_map(|cost| cost.replaces).collect();
    let sum: u128 = replaced.iter().map(|tokens| u128::from(*tokens)).sum();
    let mean = sum.checked_div(replaced.len() as u128)?;
    Some((u64::try_from(mean).unwrap_or(u64::MAX), replaced.len()))
}

fn replaced_text(tokens: Option<u64>, transcripts: usize) -> String {
    match (tokens, transcripts) {
        (None, _) => "no transcript was collected to compare it with".to_owned(),
        (Some(tokens), 1) => format!("in place of {tokens} tokens of a transcript"),
        (Some(tokens), many) => format!("in place of {tokens} tokens, the mean of {many} transcripts"),
    }
}

/// A part of a total.
#[derive(Clone, Copy, Serialize, JsonSchema)]
struct RatioView {
    /// From 0 to 1, 4 decimals; null when the denominator is 0.
    value: Option<f64>,
    /// The part.
    numerator: u64,
    /// The total.
    denominator: u64,
}

impl From<Ratio> for RatioView {
    fn from(ratio: Ratio) -> Self {
        RatioView { value: ratio.value(), numerator: ratio.numerator, denominator: ratio.denominator }
    }
}

/// Tokens of `resume --session` for the newest handoffs: of at most three sessions of an agent, and 30 in all.
#[derive(Serialize, JsonSchema)]
struct ResumeCostView {
    /// How many handoffs.
    n: usize,
    /// The mean tokens of the text; null when `n` is 0.
    text_tokens: Option<u64>,
    /// The mean tokens of the JSON; null when `n` is 0.
    json_tokens: Option<u64>,
    /// The mean tokens of the transcripts it replaces: in context at their end, else used in all. Null when none was
    /// collected.
    transcript_tokens: Option<u64>,
    /// How many transcripts were collected.
    transcripts: usize,
}

/// The time from the start of a session to its first journal entry, except goals that a PREFLIGHT proposed.
#[derive(Serialize, JsonSchema)]
struct FirstEntryView {
    /// How many sessions have one, and a stored start.
    n: usize,
    /// The median in seconds; null when `n` is 0.
    median_seconds: Option<f64>,
    /// The mean in seconds; null when `n` is 0.
    mean_seconds: Option<f64>,
}

/// The numbers of some sessions. Everything counts at its own time, for the agent that began its session; an
/// acknowledgement by the session that handed over does not count.
#[derive(Serialize, JsonSchema)]
struct NumbersView {
    /// Sessions started.
    sessions: u64,
    /// Handoffs in force made.
    handoffs: u64,
    /// Tokens to resume.
    resume: ResumeCostView,
    /// Time to the first journal entry.
    first_entry: FirstEntryView,
    /// Handoffs acknowledged without question or gap, of those acknowledged, in force or not.
    first_try_completeness: RatioView,
    /// Artifacts of these handoffs that the receiver wrote or edited, of all; once for each session that acknowledged.
    context_relevance: RatioView,
    /// Acknowledgements COMPLETE that were not reopened, of all COMPLETE, for the agent that decided. Reopened: a later
    /// acknowledgement of that handoff, or of another one of its session, decides otherwise.
    decision_accuracy: RatioView,
    /// Unknowns and dead ends that another session had before, each once.
    duplicates: u64,
    /// Claims, of any session, retracted or replaced.
    corrections: CorrectionsView,
}

/// Claims retracted or replaced.
#[derive(Serialize, JsonSchema)]
struct CorrectionsView {
    /// How many.
    n: usize,
    /// The median time after they were logged, in seconds; null when `n` is 0.
    median_seconds: Option<f64>,
}

impl NumbersView {
    fn of(tally: &HandoverMetrics, costs: &[Cost]) -> Self {
        let (transcript_tokens, transcripts) = replaced(costs).unzip();
        NumbersView {
            sessions: tally.sessions,
            handoffs: tally.handoffs,
            resume: ResumeCostView {
                n: costs.len(),
                text_tokens: mean(costs, |cost| cost.text),
                json_tokens: mean(costs, |cost| cost.json),
                transcript_tokens,
                transcripts: transcripts.unwrap_or_default(),
            },
            first_entry: FirstEntryView {
                n: tally.first_entries.len(),
                median_seconds: median_seconds(&tally.first_entries),
                mean_seconds: tally.mean_seconds(),
            },
            first_try_completeness: tally.accepted_without_gaps.into(),
            context_relevance: tally.paths_reused.into(),
            decision_accuracy: tally.completions_kept.into(),
            duplicates: tally.duplicates,
            corrections: CorrectionsView {
                n: tally.corrections.len(),
                median_seconds: median_seconds(&tally.corrections),
            },
        }
    }
}

/// The numbers of an agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentMetricsView")]
struct AgentView<'a> {
    /// The agent.
    ai_id: &'a str,
    #[serde(flatten)]
    numbers: NumbersView,
}

/// The numbers of a period, in UTC.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PeriodMetricsView")]
struct PeriodView<'a> {
    /// The day, week or month.
    period: &'a str,
    #[serde(flatten)]
    numbers: NumbersView,
}

/// Metrics of handovers, computed from all records, fetched and pending ones included.
#[derive(Serialize, JsonSchema)]
pub struct MetricsView<'a> {
    /// The `--ai` filter.
    ai_id: Option<&'a str>,
    /// The `--since` filter.
    since: Option<String>,
    /// The `--until` filter.
    until: Option<String>,
    /// Length of the periods.
    by: Period,
    /// Whether tokens were counted (o200k), not estimated.
    exact: bool,
    /// All that matches the filter.
    overall: NumbersView,
    /// By agent, in order of their names: the 500 with most sessions.
    agents: Vec<AgentView<'a>>,
    /// How many agents there are.
    total_agents: usize,
    /// Each period with a record, oldest first.
    periods: Vec<PeriodView<'a>>,
    /// How long handoffs to a receiver wait, how long its work takes, and where tasks stall.
    stages: &'a Stages,
    /// Unknowns and dead ends that another session had before, each with the first one; newest first, at most `--limit`.
    duplicate_pairs: &'a [Duplicate],
    /// Present if nothing matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

/// The metrics of a handoff.
#[derive(Serialize, JsonSchema)]
pub struct HandedOverView<'a> {
    /// The handoff.
    handoff_id: &'a Id,
    /// Its session.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When it was written.
    timestamp: &'a str,
    /// Its task.
    task: &'a str,
    /// Whether tokens were counted (o200k), not estimated.
    exact: bool,
    /// Tokens of `resume --session`, by its `--detail`: summary, detailed, full. Null when that shows another handoff.
    tokens: Option<Pairs<&'static str, Cost>>,
    /// Tokens of the session's transcripts: in context at its end, else used in all; null when none was collected.
    transcript_tokens: Option<u64>,
    /// Whether no acknowledgement has a question or gap; null without acknowledgements.
    first_try_complete: Option<bool>,
    /// Its acknowledgements, oldest first.
    acknowledgements: Vec<AcceptView<'a>>,
    /// Each session that accepted it.
    receivers: Vec<ReceiverView<'a>>,
    /// Questions of its receivers.
    questions: Vec<QuestionView<'a>>,
}

/// A session that accepted a handoff.
#[derive(Serialize, JsonSchema)]
struct ReceiverView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    /// Seconds from its start to its first journal entry; null if unknown.
    first_entry_seconds: Option<f64>,
    /// Paths it touched, of those handed over.
    context_relevance: RatioView,
    /// The paths handed over.
    paths: Vec<PathView<'a>>,
}

/// A path that was handed over.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HandedOverPathView")]
struct PathView<'a> {
    /// The path.
    path: &'a str,
    /// Whether the receiver wrote or edited it.
    touched: bool,
}

impl<'a> From<&'a Receiver> for ReceiverView<'a> {
    fn from(receiver: &'a Receiver) -> Self {
        ReceiverView {
            session_id: &receiver.session,
            ai_id: &receiver.ai,
            first_entry_seconds: receiver.to_first_entry_ms.map(|ms| ms as f64 / 1000.0),
            context_relevance: receiver.relevant().into(),
            paths: receiver.paths.iter().map(|(path, touched)| PathView { path, touched: *touched }).collect(),
        }
    }
}

/// `0.50: 1 of 2 …`, or `not known: no …`.
fn ratio_text(ratio: RatioView, of: &str, holds: &str) -> String {
    match ratio.value {
        None => format!("not known: no {of}"),
        value => format!("{}: {} of {} {of} {holds}", format::value(value), ratio.numerator, ratio.denominator),
    }
}

fn seconds(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |seconds| duration(seconds.round() as u64))
}

fn tokens_text(count: Option<u64>) -> String {
    count.map_or_else(|| "–".to_owned(), |count| count.to_string())
}

fn method(exact: bool) -> &'static str {
    if exact { "counted" } else { "estimated" }
}

fn overall_text(numbers: &NumbersView, exact: bool) -> String {
    let NumbersView { resume, first_entry, .. } = numbers;
    let resume = match resume.n {
        0 => "not known: no handoff in force".to_owned(),
        n => format!(
            "{} tokens as text, {} as JSON, {}, the mean of {}; {}",
            tokens_text(resume.text_tokens),
            tokens_text(resume.json_tokens),
            method(exact),
            format::count(n, "handoff"),
            replaced_text(resume.transcript_tokens, resume.transcripts)
        ),
    };
    let first = match first_entry.n {
        0 => "not known: no session has one".to_owned(),
        n => format!(
            "{} after the start, the median; the mean is {} ({})",
            seconds(first_entry.median_seconds),
            seconds(first_entry.mean_seconds),
            format::count(n, "session")
        ),
    };
    let corrected = match numbers.corrections.n {
        0 => "no claim was retracted or replaced".to_owned(),
        n => format!(
            "{} retracted or replaced, {} after it was logged, the median",
            format::count(n, "claim"),
            seconds(numbers.corrections.median_seconds)
        ),
    };
    let complete = ratio_text(numbers.first_try_completeness, "accepted handoffs", "left neither question nor gap");
    let rows = [
        ("resume", resume),
        ("first journal entry", first),
        ("first-try completeness", complete),
        (
            "context relevance",
            ratio_text(numbers.context_relevance, "paths handed over", "were touched by the receiver"),
        ),
        ("decision accuracy", ratio_text(numbers.decision_accuracy, "COMPLETE", "not reopened")),
        ("corrections", corrected),
        ("duplicates", format!("{}: an unknown or dead end that an earlier session had", numbers.duplicates)),
    ];
    let mut out = format!(
        "{}, {} in force\n",
        format::count(numbers.sessions as usize, "session"),
        format::count(numbers.handoffs as usize, "handoff")
    );
    for (name, text) in rows {
        out.push_str(&format!("  {name:<23} {text}\n"));
    }
    out
}

fn table<'a>(title: &str, rows: impl Iterator<Item = (&'a str, &'a NumbersView)>) -> String {
    let rows: Vec<(String, &NumbersView)> = rows.map(|(name, numbers)| (safe::line(name), numbers)).collect();
    let width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0).max(title.chars().count());
    let short = |ratio: RatioView| format!("{}/{}", ratio.numerator, ratio.denominator);
    let mut out = format!(
        "{title:<width$} {:>8} {:>8} {:>6} {:>11} {:>9} {:>9} {:>9} {:>10}\n",
        "sessions", "handoffs", "tokens", "first entry", "complete", "relevant", "accurate", "duplicates"
    );
    for (name, numbers) in rows {
        out.push_str(&format!(
            "{name:<width$} {:>8} {:>8} {:>6} {:>11} {:>9} {:>9} {:>9} {:>10}\n",
            numbers.sessions,
            numbers.handoffs,
            tokens_text(numbers.resume.text_tokens),
            seconds(numbers.first_entry.median_seconds),
            short(numbers.first_try_completeness),
            short(numbers.context_relevance),
            short(numbers.decision_accuracy),
            numbers.duplicates
        ));
    }
    out
}

fn pair_text(pair: &Duplicate) -> String {
    let line = |inquiry: &DatedInquiry| {
        format!("{} by {}: {}", inquiry.id.short(), safe::line(&inquiry.ai), safe::line(&inquiry.text))
    };
    format!("  {} {}\n    as {}\n", pair.kind.name().replace('_', " "), line(&pair.later), line(&pair.earlier))
}

/// An RFC 3339 time; `None` for none, and outside the calendar.
fn time(ms: Option<i64>) -> Option<String> {
    let at = chrono::DateTime::<chrono::Utc>::from_timestamp_millis(ms?)?;
    Some(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}

pub fn answer(outcome: &MetricsOutcome, terminal: &mut Templates) -> Result<Answer> {
    let (metrics, query) = (&outcome.metrics, &outcome.query);
    let mut costs: Vec<(&HandoffMetrics, Cost)> = Vec::new();
    for (handed, resumed) in &outcome.measured {
        costs.push((handed, Cost::of(resumed, Detail::Summary, outcome.exact, terminal)?));
    }
    let numbers = |tally: &HandoverMetrics, fits: &dyn Fn(&HandoffMetrics) -> bool| {
        let costs = costs.iter().filter(|(handed, _)| fits(handed)).map(|(_, cost)| *cost);
        NumbersView::of(tally, &costs.collect::<Vec<_>>())
    };
    let listed = &metrics.duplicates[..outcome.limit.min(metrics.duplicates.len())];
    let message = match (metrics.periods.is_empty(), outcome.any) {
        (false, _) => None,
        (true, true) => Some("Nothing that is stored here fits."),
        (true, false) => Some("Nothing is stored here yet."),
    };
    let busiest = busiest(metrics.agents.iter().map(|(ai, tally)| (ai.as_str(), tally.sessions as usize)));
    let view = MetricsView {
        ai_id: query.ai.as_deref(),
        since: time(query.since_ms),
        until: time(query.until_ms),
        by: query.by,
        exact: outcome.exact,
        overall: numbers(&metrics.overall, &|_| true),
        agents: metrics
            .agents
            .iter()
            .filter(|(ai, _)| busiest.contains(ai.as_str()))
            .map(|(ai, tally)| AgentView { ai_id: ai, numbers: numbers(tally, &|handed| handed.ai == *ai) })
            .collect(),
        total_agents: metrics.agents.len(),
        periods: metrics
            .periods
            .iter()
            .map(|(period, tally)| PeriodView {
                period,
                numbers: numbers(tally, &|handed| query.by.of(handed.at_ms) == *period),
            })
            .collect(),
        stages: &outcome.stages,
        duplicate_pairs: listed,
        message,
    };
    let mut parts = vec![
        overall_text(&view.overall, outcome.exact),
        table("agent", view.agents.iter().map(|agent| (agent.ai_id, &agent.numbers))),
        table(query.by.name(), view.periods.iter().map(|period| (period.period, &period.numbers))),
    ];
    parts.extend(stages::text(&outcome.stages));
    if !listed.is_empty() {
        parts.push(format!("Duplicates:\n{}", listed.iter().map(pair_text).collect::<String>()));
    }
    let answer = Answer::new(view).warn(outcome.warnings.clone());
    if let Some(message) = message {
        return Ok(answer.text(format!("{message}\n")));
    }
    let mut answer = answer.text(parts.join("\n")).paged();
    if metrics.agents.len() > busiest.len() {
        let more = format::count(metrics.agents.len() - busiest.len(), "agent");
        answer = answer.hint(format!("not listed: {more}; show one agent: --ai <id>"));
    }
    Ok(match metrics.duplicates.len() - listed.len() {
        0 => answer,
        more => answer.hint(format!("{more} more duplicates: --limit {}", metrics.duplicates.len())),
    })
}

fn receiver_text(receiver: &ReceiverView<'_>) -> String {
    let first = match receiver.first_entry_seconds {
        None => "time to its first journal entry not known".to_owned(),
        time => format!("first journal entry {} after its start", seconds(time)),
    };
    let mut out = format!(
        "\nReceived by {} in session {}: {first}\n  {}\n",
        safe::line(receiver.ai_id),
        receiver.session_id.short(),
        ratio_text(receiver.context_relevance, "paths handed over", "were touched")
    );
    for PathView { path, touched } in &receiver.paths {
        let mark = if *touched { "touched    " } else { "not touched" };
        out.push_str(&format!("  {mark} {}\n", safe::line(path)));
    }
    out
}

pub fn of_handoff(one: &HandoffWorth, terminal: &mut Templates) -> Result<Answer> {
    let envelope = &one.listed.envelope;
    let mut costs: Vec<(&'static str, Cost)> = Vec::new();
    for detail in [Detail::Summary, Detail::Detailed, Detail::Full] {
        if let Some(resumed) = &one.resumed {
            costs.push((detail.name(), Cost::of(resumed, detail, one.exact, terminal)?));
        }
    }
    let received = &one.received;
    let view = HandedOverView {
        handoff_id: &envelope.id,
        session_id: envelope.session.as_ref(),
        ai_id: &envelope.ai,
        timestamp: &envelope.at,
        task: &one.listed.handoff.task,
        exact: one.exact,
        tokens: one.resumed.is_some().then(|| Pairs(costs.clone())),
        transcript_tokens: one.resumed.as_ref().and_then(|resumed| resumed.transcript_tokens),
        first_try_complete: one.reception.is_complete,
        acknowledgements: received.accepts.iter().map(|(envelope, accept)| AcceptView::of(envelope, accept)).collect(),
        receivers: one.reception.receivers.iter().map(ReceiverView::from).collect(),
        questions: received.questions.iter().map(QuestionView::from).collect(),
    };
    let mut text = format!(
        "Handoff {} by {}: {}\n",
        envelope.id.short(),
        safe::line(&envelope.ai),
        safe::line(&one.listed.handoff.task)
    );
    for (name, cost) in &costs {
        text.push_str(&format!(
            "  resume --detail {name:<8} {:>5} tokens as text, {:>5} as JSON, {}\n",
            cost.text,
            cost.json,
            method(one.exact)
        ));
    }
    if costs.is_empty() {
        text.push_str("  resume shows a newer handoff of the session: its tokens are not known\n");
    }
    text.push_str(&format!("  {}\n", replaced_text(view.transcript_tokens, 1)));
    text.push_str(match one.reception.is_complete {
        Some(true) => "  accepted without question or gap\n",
        Some(false) => "  accepted with questions or gaps\n",
        None => "  accepted by no other session yet\n",
    });
    text.extend(view.receivers.iter().map(receiver_text));
    let answer = Answer::new(view).text(text).warn(one.warnings.clone()).paged();
    // acknowledgements are listed as in show
    Ok(receive::view::added(answer, &one.received, true))
}

//! The answers of `metrics`: over all, by agent, over time, and of one handoff.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::handoff_report::duration;
use crate::handoff::pack::Detail;
use crate::handoff::receive;
use crate::handoff::receive::view::{AcceptView, QuestionView};
use crate::history::metrics::fold::{DatedInquiry, Duplicate, HandoffMetrics, Period, Ratio, Receiver, Tally};
use crate::history::metrics::{HandoffWorth, MetricsOutcome};
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::pairs::Pairs;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::session::resume;
use crate::session::resume::ResumedSession;
use crate::session::resume::view::ResumeForm;
use crate::text::tokens;
use empirica_notes::error::{Result, Shell};
use empirica_notes::model::{Id, SessionId};

/// Why there is nothing to compare a resume with.
const UNKNOWN: &str = "what the transcripts took is unknown";

/// What `resume` prints of a session, in tokens; null when it cannot be counted.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "ResumeTokens")]
struct Cost {
    /// As text.
    text: Option<usize>,
    /// As JSON.
    json: Option<usize>,
    /// What it replaces: the tokens of the session's transcripts; `None` while they were not collected.
    #[serde(skip)]
    replaces: Option<u64>,
}

impl Cost {
    /// Of what `resume --session` prints, at this level of detail.
    fn of(resumed: &ResumedSession, detail: Detail, exact: bool, terminal: &mut Templates) -> Result<Self> {
        let sessions = vec![resumed.clone()];
        let outcome =
            crate::session::resume::ResumeOutcome { sessions, assessed_since: None, ai: None, warnings: Vec::new() };
        let mut printed =
            |form: OutputForm| resume::view::answer(&outcome, ResumeForm { detail, budget: None, form }, terminal);
        let count = |text: &str| if exact { tokens::exact(text) } else { Some(tokens::estimate(text)) };
        let text = count(&printed(OutputForm::Text)?.text);
        let json = count(&safe::json(&printed(OutputForm::Json)?.document(&Shell).into()));
        Ok(Cost { text, json, replaces: resumed.transcript_tokens })
    }
}

/// The mean cost of several; what is not known of one is not known of all.
fn mean(costs: &[Cost]) -> (Option<u64>, Option<u64>) {
    let mean = |of: fn(&Cost) -> Option<usize>| {
        let sum: usize = costs.iter().map(of).sum::<Option<usize>>()?;
        (!costs.is_empty()).then(|| (sum as f64 / costs.len() as f64).round() as u64)
    };
    (mean(|cost| cost.text), mean(|cost| cost.json))
}

/// The mean of what is replaced where that is known, and of how many it is; `None` when it is known of none.
fn replaced(costs: &[Cost]) -> Option<(u64, usize)> {
    let known: Vec<u64> = costs.iter().filter_map(|cost| cost.replaces).collect();
    let sum: u128 = known.iter().map(|tokens| u128::from(*tokens)).sum();
    let mean = sum.checked_div(known.len() as u128)?;
    Some((u64::try_from(mean).unwrap_or(u64::MAX), known.len()))
}

/// What is replaced, in words.
fn replaced_text(replaced: Option<(u64, usize)>) -> String {
    match replaced {
        None => UNKNOWN.to_owned(),
        Some((tokens, 1)) => format!("in place of {tokens} tokens of a transcript"),
        Some((tokens, many)) => format!("in place of {tokens} tokens, the mean of {many} transcripts"),
    }
}

/// A part of a number of things.
#[derive(Serialize, JsonSchema)]
struct RatioView {
    /// From 0 to 1, 4 decimals; null when the denominator is 0.
    value: Option<f64>,
    /// The part.
    numerator: u64,
    /// The number.
    denominator: u64,
}

impl From<Ratio> for RatioView {
    fn from(ratio: Ratio) -> Self {
        RatioView { value: ratio.value(), numerator: ratio.numerator, denominator: ratio.denominator }
    }
}

/// What `resume --session` prints now of the newest handoffs, of three sessions of an agent at most and of 30 in all.
#[derive(Serialize, JsonSchema)]
struct ResumeCostView {
    /// How many handoffs.
    n: usize,
    /// The mean tokens of the text; null when `n` is 0.
    text_tokens: Option<u64>,
    /// The mean tokens of the JSON; null when `n` is 0.
    json_tokens: Option<u64>,
    /// The mean of what it replaces: what the sessions' transcripts held in context at their end, else what they used in all. Null when
    /// none was collected.
    transcript_tokens: Option<u64>,
    /// How many transcripts were collected.
    transcripts: usize,
}

/// The time from the start of a session to its first journal entry, without goals that a PREFLIGHT proposed.
#[derive(Serialize, JsonSchema)]
struct FirstEntryView {
    /// How many sessions have one, and a start that is stored.
    n: usize,
    /// The median in seconds; null when `n` is 0.
    median_seconds: Option<f64>,
    /// The mean in seconds; null when `n` is 0.
    mean_seconds: Option<f64>,
}

/// The numbers of some sessions. A thing counts when it was made, for the agent that began the session that made it; an acknowledgement
/// by the session that handed over itself counts nowhere.
#[derive(Serialize, JsonSchema)]
struct NumbersView {
    /// Sessions that began.
    sessions: u64,
    /// Handoffs in force that were made.
    handoffs: u64,
    /// What it costs to resume.
    resume: ResumeCostView,
    /// How fast sessions get to work.
    first_entry: FirstEntryView,
    /// Handoffs none of whose acknowledgements has a question or gap, of those that were acknowledged, in force or not.
    first_try_completeness: RatioView,
    /// Artifacts of these handoffs that the receiver wrote or edited, of all; once for each session that acknowledged.
    context_relevance: RatioView,
    /// Acknowledgements COMPLETE that were not reopened, of all COMPLETE, for who decided. Reopened: a later acknowledgement of that
    /// handoff, or of another one of its session, decides otherwise.
    decision_accuracy: RatioView,
    /// Unknowns and dead ends that another session had before, each once.
    duplicates: u64,
}

impl NumbersView {
    fn of(tally: &Tally, costs: &[Cost]) -> Self {
        let (text_tokens, json_tokens) = mean(costs);
        let (transcript_tokens, transcripts) = replaced(costs).unzip();
        let n = costs.len();
        NumbersView {
            sessions: tally.sessions,
            handoffs: tally.handoffs,
            resume: ResumeCostView {
                n,
                text_tokens,
                json_tokens,
                transcript_tokens,
                transcripts: transcripts.unwrap_or_default(),
            },
            first_entry: FirstEntryView {
                n: tally.first_entries.len(),
                median_seconds: tally.median_seconds(),
                mean_seconds: tally.mean_seconds(),
            },
            first_try_completeness: tally.complete.into(),
            context_relevance: tally.relevant.into(),
            decision_accuracy: tally.accurate.into(),
            duplicates: tally.duplicates,
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

/// How well handing over works: computed from all records, those that were fetched or wait in a log included.
#[derive(Serialize, JsonSchema)]
pub struct MetricsView<'a> {
    /// The agent that was asked for.
    ai_id: Option<&'a str>,
    /// The begin that was asked for.
    since: Option<String>,
    /// The end that was asked for.
    until: Option<String>,
    /// How time is divided.
    by: Period,
    /// Whether tokens were counted (o200k), not estimated.
    exact: bool,
    /// All that was asked for.
    overall: NumbersView,
    /// Each agent, by name.
    agents: Vec<AgentView<'a>>,
    /// Each period in which something was made, oldest first.
    periods: Vec<PeriodView<'a>>,
    /// Unknowns and dead ends that another session had before, each with the first of these; newest first, at most `--limit`.
    duplicate_pairs: &'a [Duplicate],
    /// That there is nothing; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

/// What was handed over with one handoff.
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
    /// What it is about.
    task: &'a str,
    /// Whether tokens were counted (o200k), not estimated.
    exact: bool,
    /// What `resume --session` prints now, by its `--detail`: summary, detailed, full. Null when that shows another handoff.
    tokens: Option<Pairs<&'static str, Cost>>,
    /// What the session's transcripts held in context at its end, else what they used in all; null when none was collected.
    transcript_tokens: Option<u64>,
    /// Whether no acknowledgement has a question or gap; null before one accepted it.
    first_try_complete: Option<bool>,
    /// Who took it up, oldest first.
    acknowledgements: Vec<AcceptView<'a>>,
    /// Each session that accepted it.
    receivers: Vec<ReceiverView<'a>>,
    /// What they asked.
    questions: Vec<QuestionView<'a>>,
}

/// A session that accepted a handoff.
#[derive(Serialize, JsonSchema)]
struct ReceiverView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    /// The seconds from its start to its first journal entry; null when that is not known.
    first_entry_seconds: Option<f64>,
    /// The paths that it touched, of those handed over.
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
fn ratio_text(ratio: Ratio, of: &str, holds: &str) -> String {
    match ratio.value() {
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

fn how(exact: bool) -> &'static str {
    if exact { "counted" } else { "estimated" }
}

fn overall_text(tally: &Tally, costs: &[Cost], exact: bool) -> String {
    let (text, json) = mean(costs);
    let resume = match costs.len() {
        0 => "not known: no handoff in force".to_owned(),
        n => format!(
            "{} tokens as text, {} as JSON, {}, the mean of {}; {}",
            tokens_text(text),
            tokens_text(json),
            how(exact),
            format::count(n, "handoff"),
            replaced_text(replaced(costs))
        ),
    };
    let first = match tally.first_entries.len() {
        0 => "not known: no session has one".to_owned(),
        n => format!(
            "{} after the start, the median; the mean is {} ({})",
            seconds(tally.median_seconds()),
            seconds(tally.mean_seconds()),
            format::count(n, "session")
        ),
    };
    let rows = [
        ("resume", resume),
        ("first journal entry", first),
        ("first-try completeness", ratio_text(tally.complete, "accepted handoffs", "left neither question nor gap")),
        ("context relevance", ratio_text(tally.relevant, "paths handed over", "were touched by the receiver")),
        ("decision accuracy", ratio_text(tally.accurate, "COMPLETE", "not reopened")),
        ("duplicates", format!("{}: an unknown or dead end that an earlier session had", tally.duplicates)),
    ];
    let mut out = format!(
        "{}, {}\n",
        format::count(tally.sessions as usize, "session"),
        format::count(tally.handoffs as usize, "handoff") + " in force"
    );
    for (name, text) in rows {
        out.push_str(&format!("  {name:<23} {text}\n"));
    }
    out
}

/// A table with a line for each row.
fn table(title: &str, rows: &[(String, &Tally, Vec<Cost>)]) -> String {
    let width = rows.iter().map(|row| row.0.chars().count()).max().unwrap_or(0).max(title.chars().count());
    let short = |ratio: Ratio| format!("{}/{}", ratio.numerator, ratio.denominator);
    let mut out = format!(
        "{title:<width$} {:>8} {:>8} {:>6} {:>11} {:>9} {:>9} {:>9} {:>10}\n",
        "sessions", "handoffs", "tokens", "first entry", "complete", "relevant", "accurate", "duplicates"
    );
    for (name, tally, costs) in rows {
        out.push_str(&format!(
            "{name:<width$} {:>8} {:>8} {:>6} {:>11} {:>9} {:>9} {:>9} {:>10}\n",
            tally.sessions,
            tally.handoffs,
            tokens_text(mean(costs).0),
            seconds(tally.median_seconds()),
            short(tally.complete),
            short(tally.relevant),
            short(tally.accurate),
            tally.duplicates
        ));
    }
    out
}

fn pair_text(pair: &Duplicate) -> String {
    let said = |asker: &DatedInquiry| {
        format!("{} by {}: {}", asker.id.short(), safe::line(&asker.ai), safe::line(&asker.text))
    };
    format!("  {} {}\n    as {}\n", pair.kind.name().replace('_', " "), said(&pair.later), said(&pair.earlier))
}

/// An RFC 3339 time; `None` for none, and for one that no calendar knows.
fn time(ms: Option<i64>) -> Option<String> {
    let at = chrono::DateTime::<chrono::Utc>::from_timestamp_millis(ms?)?;
    Some(at.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}

/// The answer of `metrics`.
pub fn answer(outcome: &MetricsOutcome, terminal: &mut Templates) -> Result<Answer> {
    let (metrics, asked) = (&outcome.metrics, &outcome.asked);
    let mut costs: Vec<(&HandoffMetrics, Cost)> = Vec::new();
    for (handed, resumed) in &outcome.measured {
        costs.push((handed, Cost::of(resumed, Detail::Summary, outcome.exact, terminal)?));
    }
    let of = |fits: &dyn Fn(&HandoffMetrics) -> bool| -> Vec<Cost> {
        costs.iter().filter(|(handed, _)| fits(handed)).map(|(_, cost)| *cost).collect()
    };
    let all = of(&|_| true);
    let agents: Vec<(String, &Tally, Vec<Cost>)> =
        metrics.agents.iter().map(|(ai, tally)| (ai.clone(), tally, of(&|handed| handed.ai == *ai))).collect();
    let periods: Vec<(String, &Tally, Vec<Cost>)> = metrics
        .periods
        .iter()
        .map(|(period, tally)| (period.clone(), tally, of(&|handed| asked.by.of(handed.at_ms) == *period)))
        .collect();
    let listed = &metrics.duplicates[..outcome.limit.min(metrics.duplicates.len())];
    let message = match (metrics.periods.is_empty(), outcome.any) {
        (false, _) => None,
        (true, true) => Some("Nothing that is stored here fits."),
        (true, false) => Some("Nothing is stored here yet."),
    };
    let view = MetricsView {
        ai_id: asked.ai.as_deref(),
        since: time(asked.since_ms),
        until: time(asked.until_ms),
        by: asked.by,
        exact: outcome.exact,
        overall: NumbersView::of(&metrics.overall, &all),
        agents: agents
            .iter()
            .map(|(ai_id, tally, costs)| AgentView { ai_id, numbers: NumbersView::of(tally, costs) })
            .collect(),
        periods: periods
            .iter()
            .map(|(period, tally, costs)| PeriodView { period, numbers: NumbersView::of(tally, costs) })
            .collect(),
        duplicate_pairs: listed,
        message,
    };
    let answer = Answer::new(view).warn(outcome.warnings.clone());
    if let Some(message) = message {
        return Ok(answer.text(format!("{message}\n")));
    }
    let clean = |rows: Vec<(String, _, _)>| -> Vec<_> {
        rows.into_iter().map(|(name, tally, costs)| (safe::line(&name), tally, costs)).collect()
    };
    let mut parts = vec![overall_text(&metrics.overall, &all, outcome.exact)];
    parts.push(table("agent", &clean(agents)));
    parts.push(table(asked.by.name(), &periods));
    if !listed.is_empty() {
        parts.push(format!("Duplicates:\n{}", listed.iter().map(pair_text).collect::<String>()));
    }
    let answer = answer.text(parts.join("\n")).paged();
    Ok(match metrics.duplicates.len() - listed.len() {
        0 => answer,
        more => answer.hint(format!("{more} more duplicates: --limit {}", metrics.duplicates.len())),
    })
}

fn receiver_text(receiver: &Receiver) -> String {
    let first = match receiver.to_first_entry_ms {
        Some(ms) => format!("first journal entry {} after its start", seconds(Some(ms as f64 / 1000.0))),
        None => "time to its first journal entry not known".to_owned(),
    };
    let mut out = format!(
        "\nReceived by {} in session {}: {first}\n  {}\n",
        safe::line(&receiver.ai),
        receiver.session.short(),
        ratio_text(receiver.relevant(), "paths handed over", "were touched")
    );
    for (path, touched) in &receiver.paths {
        let mark = if *touched { "touched    " } else { "not touched" };
        out.push_str(&format!("  {mark} {}\n", safe::line(path)));
    }
    out
}

/// The answer of `metrics HANDOFF`.
pub fn of_handoff(one: &HandoffWorth, terminal: &mut Templates) -> Result<Answer> {
    let head = &one.listed.head;
    let mut costs: Vec<(&'static str, Cost)> = Vec::new();
    for detail in [Detail::Summary, Detail::Detailed, Detail::Full] {
        if let Some(resumed) = &one.resumed {
            costs.push((detail.name(), Cost::of(resumed, detail, one.exact, terminal)?));
        }
    }
    let received = &one.received;
    let view = HandedOverView {
        handoff_id: &head.id,
        session_id: head.session.as_ref(),
        ai_id: &head.ai,
        timestamp: &head.at,
        task: &one.listed.handoff.task,
        exact: one.exact,
        tokens: one.resumed.is_some().then(|| Pairs(costs.clone())),
        transcript_tokens: one.resumed.as_ref().and_then(|resumed| resumed.transcript_tokens),
        first_try_complete: one.reception.is_complete,
        acknowledgements: received.accepts.iter().map(|(head, said)| AcceptView::of(head, said)).collect(),
        receivers: one.reception.receivers.iter().map(ReceiverView::from).collect(),
        questions: received.questions.iter().map(QuestionView::from).collect(),
    };
    let mut text =
        format!("Handoff {} by {}: {}\n", head.id.short(), safe::line(&head.ai), safe::line(&one.listed.handoff.task));
    for (name, cost) in &costs {
        let count = |count: Option<usize>| tokens_text(count.map(|count| count as u64));
        text.push_str(&format!(
            "  resume --detail {name:<8} {:>5} tokens as text, {:>5} as JSON, {}\n",
            count(cost.text),
            count(cost.json),
            how(one.exact)
        ));
    }
    if costs.is_empty() {
        text.push_str("  resume shows a newer handoff of the session: its tokens are not known\n");
    }
    let replaced = one.resumed.as_ref().and_then(|resumed| Some((resumed.transcript_tokens?, 1)));
    text.push_str(&format!("  {}\n", replaced_text(replaced)));
    text.push_str(match one.reception.is_complete {
        Some(true) => "  accepted without question or gap\n",
        Some(false) => "  accepted with questions or gaps\n",
        None => "  accepted by no other session yet\n",
    });
    text.extend(one.reception.receivers.iter().map(receiver_text));
    let answer = Answer::new(view).text(text).warn(one.warnings.clone()).paged();
    // acknowledgements stand there as in show
    Ok(receive::view::added(answer, &one.received, true))
}

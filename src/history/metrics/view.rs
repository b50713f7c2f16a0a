//! The answers of `metrics`: over all, by agent, over time, and of one handoff.

use serde_json::{Map, Value, json};

use crate::fold::handoff_report::duration;
use crate::handoff::pack::Detail;
use crate::handoff::receive;
use crate::history::metrics::fold::{DatedInquiry, Duplicate, HandoffMetrics, Ratio, Receiver, Tally};
use crate::history::metrics::{HandoffWorth, MetricsOutcome};
use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::session::resume;
use crate::session::resume::ResumedSession;
use crate::session::resume::view::ResumeForm;
use crate::text::tokens;
use empirica_notes::error::{Result, Shell};

/// Why there is nothing to compare a resume with.
const UNKNOWN: &str = "what the transcripts took is unknown";

/// What `resume` prints of a session costs, in tokens; `None` when it cannot be counted.
#[derive(Clone, Copy)]
struct Cost {
    text: Option<usize>,
    json: Option<usize>,
    /// What it replaces: the tokens of the session's transcripts; `None` while they were not collected.
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

fn ratio_json(ratio: Ratio) -> Value {
    json!({"value": ratio.value(), "numerator": ratio.numerator, "denominator": ratio.denominator})
}

fn row_json(tally: &Tally, costs: &[Cost]) -> Map<String, Value> {
    let (text, json) = mean(costs);
    let replaced = replaced(costs);
    let row = json!({
        "sessions": tally.sessions,
        "handoffs": tally.handoffs,
        "resume": {"n": costs.len(), "text_tokens": text, "json_tokens": json, "transcript_tokens": replaced.map(|(tokens, _)| tokens), "transcripts": replaced.map_or(0, |(_, known)| known)},
        "first_entry": {
            "n": tally.first_entries.len(),
            "median_seconds": tally.median_seconds(),
            "mean_seconds": tally.mean_seconds(),
        },
        "first_try_completeness": ratio_json(tally.complete),
        "context_relevance": ratio_json(tally.relevant),
        "decision_accuracy": ratio_json(tally.accurate),
        "duplicates": tally.duplicates,
    });
    match row {
        Value::Object(row) => row,
        _ => Map::new(),
    }
}

fn asker_json(asker: &DatedInquiry) -> Value {
    json!({"id": asker.id, "session_id": asker.session, "ai_id": asker.ai, "text": asker.text})
}

fn pair_json(pair: &Duplicate) -> Value {
    json!({
        "kind": pair.kind.name(),
        "likeness": pair.likeness,
        "earlier": asker_json(&pair.earlier),
        "later": asker_json(&pair.later),
    })
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
    let named = |key: &str, rows: &[(String, &Tally, Vec<Cost>)]| -> Vec<Value> {
        let row = |(name, tally, costs): &(String, &Tally, Vec<Cost>)| {
            let mut row = Map::from_iter([(key.to_owned(), json!(name))]);
            row.extend(row_json(tally, costs));
            Value::Object(row)
        };
        rows.iter().map(row).collect()
    };
    let listed = &metrics.duplicates[..outcome.limit.min(metrics.duplicates.len())];
    let mut json = json!({
        "ai_id": asked.ai,
        "since": time(asked.since_ms),
        "until": time(asked.until_ms),
        "by": asked.by.name(),
        "exact": outcome.exact,
        "overall": row_json(&metrics.overall, &all),
        "agents": named("ai_id", &agents),
        "periods": named("period", &periods),
        "duplicate_pairs": listed.iter().map(pair_json).collect::<Vec<_>>(),
    });
    if metrics.periods.is_empty() {
        let message = if outcome.any { "Nothing that is stored here fits." } else { "Nothing is stored here yet." };
        json["message"] = json!(message);
        return Ok(Answer::new(json).text(format!("{message}\n")).warn(outcome.warnings.clone()));
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
    let answer = Answer::new(json).text(parts.join("\n")).warn(outcome.warnings.clone()).paged();
    Ok(match metrics.duplicates.len() - listed.len() {
        0 => answer,
        more => answer.hint(format!("{more} more duplicates: --limit {}", metrics.duplicates.len())),
    })
}

fn receiver_json(receiver: &Receiver) -> Value {
    let path = |(path, touched): &(String, bool)| json!({"path": path, "touched": touched});
    json!({
        "session_id": receiver.session,
        "ai_id": receiver.ai,
        "first_entry_seconds": receiver.to_first_entry_ms.map(|ms| ms as f64 / 1000.0),
        "context_relevance": ratio_json(receiver.relevant()),
        "paths": receiver.paths.iter().map(path).collect::<Vec<_>>(),
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
    let mut costs: Vec<(&str, Cost)> = Vec::new();
    for detail in [Detail::Summary, Detail::Detailed, Detail::Full] {
        if let Some(resumed) = &one.resumed {
            costs.push((detail.name(), Cost::of(resumed, detail, one.exact, terminal)?));
        }
    }
    let of_detail = |(name, cost): &(&str, Cost)| ((*name).to_owned(), json!({"text": cost.text, "json": cost.json}));
    let json = json!({
        "handoff_id": head.id,
        "session_id": head.session,
        "ai_id": head.ai,
        "timestamp": head.at,
        "task": one.listed.handoff.task,
        "exact": one.exact,
        "tokens": one.resumed.is_some().then(|| costs.iter().map(of_detail).collect::<Map<_, _>>()),
        "transcript_tokens": one.resumed.as_ref().and_then(|resumed| resumed.transcript_tokens),
        "first_try_complete": one.reception.is_complete,
        "acknowledgements": one.received.accepts.iter().map(|(head, said)| receive::view::AcceptView::of(head, said)).collect::<Vec<_>>(),
        "receivers": one.reception.receivers.iter().map(receiver_json).collect::<Vec<_>>(),
    });
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
    let answer = Answer::new(json).text(text).warn(one.warnings.clone()).paged();
    // acknowledgements stand there as in show
    Ok(receive::view::added(answer, &one.received, true))
}

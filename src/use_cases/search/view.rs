//! The answer of `search`: matching records, matching handoffs, or similar sessions.

use crate::context::claims::anchors;
use crate::context::claims::anchors::Place;
use crate::index::RANKED;
use crate::render::answer::{Answer, EnvelopeView};
use crate::render::color::Paint;
use crate::render::format::short_commit;
use crate::render::{format, safe};
use crate::text::passage::Passage;
use crate::text::width::{cut, measure};
use crate::use_cases::meaning::team::TeamHit;
use crate::use_cases::search::like::{LikeQuery, SessionWork, SimilarSession};
use crate::use_cases::search::reports::Format;
use crate::use_cases::search::reports::{ReportView, ReportsView};
use crate::use_cases::search::{SearchHit, SearchOutcome, SearchResults, reports};
use empirica_notes::model::journal::DeadEnd;
use empirica_notes::model::{Body, Id, Record};
use schemars::JsonSchema;
use serde::Serialize;

/// Columns of a text not written to a terminal.
const WIDTH: usize = 80;
/// Most lines of a passage.
const LINES: usize = 2;
const INDENT: &str = "  ";

/// The main text of a record: the approach of a dead end, the task of a handoff, the location of a source.
pub(super) fn main_text(record: &Record) -> &str {
    match &record.body {
        Body::Handoff(body) => &body.task,
        body => body.own_texts().first().map_or("", |(_, text)| text),
    }
}

/// The reason of a dead end or a decision.
pub(super) fn why(record: &Record) -> Option<&str> {
    match &record.body {
        Body::DeadEnd(body) => Some(&body.why),
        Body::Decision(body) => Some(&body.why),
        _ => None,
    }
}

/// The matching records.
#[derive(Serialize, JsonSchema)]
pub struct HitsView<'a> {
    /// The query as given.
    query: &'a str,
    /// Whether `--plan` was given: dead ends come first, then decisions and constraints, mistakes, the rest.
    plan: bool,
    /// Whether none of the first records has all the words.
    widened: bool,
    /// At most `--limit` of them, best first; of equal scores, and without words, newest first.
    hits: Vec<HitView<'a>>,
    /// Number of matches, beyond the limit too. More than 10,000, and more than the limit, count as one more.
    total_found: usize,
}

/// A matching record.
#[derive(Serialize, JsonSchema)]
struct HitView<'a> {
    /// The record.
    id: &'a Id,
    /// finding, unknown, dead_end, decision, mistake or handoff.
    kind: &'a str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    /// Its age in seconds, 0 or more; null if its time is invalid.
    age: Option<u64>,
    /// How well it answers, greater than 0, the greater the better; comparable within one answer. Null for a query without
    /// words.
    score: Option<f64>,
    /// Its text: of a dead end the approach, of a handoff the task.
    text: &'a str,
    /// Of a dead end and a decision: the reason.
    why: Option<&'a str>,
    /// The part of the record that matches, about 200 characters: its texts joined by ` · `, white space collapsed, `…` for
    /// omissions.
    passage: &'a str,
    /// Positions of the words in `passage`, each begin and end (exclusive) in Unicode code points, in order; of the first
    /// 10,000 words of the record's text that match.
    highlights: &'a [(usize, usize)],
    /// holds or ran_out; with `--all` also replaced or retracted.
    state: &'static str,
    /// Who confirmed it last, when, and on what commit.
    confirmed: Option<EnvelopeView<'a>>,
    /// The places in the code that it is about.
    anchors: &'a [Place],
    /// Other claims that replace the same one.
    disagrees_with: &'a [Id],
    /// Who vouches for it by a signature that git accepts; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<&'a str>,
    /// Of an unknown: whether it was answered.
    resolved: Option<bool>,
    /// Of an unknown: the answer.
    answer: Option<&'a str>,
}

impl<'a> From<&'a SearchHit> for HitView<'a> {
    fn from(hit: &'a SearchHit) -> Self {
        let (envelope, body) = (&hit.record.envelope, &hit.record.body);
        HitView {
            id: &envelope.id,
            kind: body.kind(),
            envelope: envelope.into(),
            age: hit.age,
            score: hit.score,
            text: main_text(&hit.record),
            why: why(&hit.record),
            passage: &hit.passage.text,
            highlights: &hit.passage.highlights,
            state: hit.standing.word(),
            confirmed: hit.standing.confirmed.as_ref().map(EnvelopeView::from),
            anchors: &hit.standing.places,
            disagrees_with: &hit.standing.rivals,
            signed_by: hit.standing.signer.as_deref(),
            resolved: matches!(body, Body::Unknown(_)).then_some(hit.answer.is_some()),
            answer: hit.answer.as_deref(),
        }
    }
}

/// The records of a team's repositories that are near to a query.
#[derive(Serialize, JsonSchema)]
pub struct TeamHitsView<'a> {
    /// The query as given.
    query: &'a str,
    /// At most `--limit` of them, the nearest first.
    hits: Vec<TeamHitView<'a>>,
    /// Number of listed records.
    total_found: usize,
}

/// A record of a team's repository.
#[derive(Serialize, JsonSchema)]
struct TeamHitView<'a> {
    /// The repository, as its clones name it.
    repository: &'a str,
    /// The record.
    id: &'a Id,
    /// finding, unknown, dead_end, decision, mistake or handoff.
    kind: &'a str,
    /// Its agent.
    ai_id: &'a str,
    /// When it was made.
    timestamp: &'a str,
    /// Whether it is in force; false only with `--all`.
    in_force: bool,
    /// Its texts, a line each.
    text: &'a str,
    /// The cosine, at most 1.
    score: f64,
}

impl<'a> From<&'a TeamHit> for TeamHitView<'a> {
    fn from(hit: &'a TeamHit) -> Self {
        TeamHitView {
            repository: &hit.repository,
            id: &hit.id,
            kind: &hit.kind,
            ai_id: &hit.ai,
            timestamp: &hit.timestamp,
            in_force: hit.in_force,
            text: &hit.text,
            score: hit.score,
        }
    }
}

/// The sessions that resemble a subject.
#[derive(Serialize, JsonSchema)]
pub struct SimilarSessionsView<'a> {
    /// The subject.
    about: AboutView<'a>,
    /// At most `--limit` of them, the most similar first, without the session of the subject.
    sessions: &'a [SimilarSession],
    /// Number of similar sessions among those compared.
    total_found: usize,
}

/// The subject that sessions are compared with.
#[derive(Serialize, JsonSchema)]
struct AboutView<'a> {
    /// handoff, session or text.
    kind: &'static str,
    /// The handoff or session.
    id: Option<&'a str>,
    /// The text.
    text: Option<&'a str>,
}

impl<'a> From<&'a LikeQuery> for AboutView<'a> {
    fn from(about: &'a LikeQuery) -> Self {
        let (kind, id, text) = match about {
            LikeQuery::Handoff(id) => ("handoff", Some(id.as_str()), None),
            LikeQuery::Session(id) => ("session", Some(id.as_str()), None),
            LikeQuery::Text(text) => ("text", None, Some(text.as_str())),
        };
        AboutView { kind, id, text }
    }
}

/// The answer, handoffs in this format, for a terminal of `width` columns; `None` without a terminal.
pub fn answer(outcome: &SearchOutcome, format: Format, paint: Paint, width: Option<usize>) -> Answer {
    let columns = width.unwrap_or(WIDTH).max(20);
    let total_found = outcome.total_found;
    let (answer, text, shown, fit): (Answer, String, usize, &str) = match &outcome.found {
        SearchResults::Hits { hits, widened, .. } => {
            let view = HitsView {
                query: &outcome.query,
                plan: outcome.plan,
                widened: *widened,
                hits: hits.iter().map(HitView::from).collect(),
                total_found,
            };
            let text = hits.iter().map(|hit| hit_text(hit, outcome.plan, paint, columns)).collect();
            (Answer::new(view), text, hits.len(), "fit")
        }
        SearchResults::Handoffs(listed) => {
            let reports: Vec<ReportView<'_>> = listed.iter().map(ReportView::from).collect();
            let text = reports::text(listed, &reports, format, width);
            (Answer::new(ReportsView { reports, total_found }), text, listed.len(), "fit")
        }
        SearchResults::Similar(about, sessions) => {
            let view = SimilarSessionsView { about: AboutView::from(about), sessions, total_found };
            let text = sessions.iter().map(|similar| similar_text(similar, columns)).collect();
            (Answer::new(view), text, sessions.len(), "resemble it")
        }
        SearchResults::Team(hits) => {
            let view =
                TeamHitsView { query: &outcome.query, hits: hits.iter().map(TeamHitView::from).collect(), total_found };
            let text = hits.iter().map(|hit| team_text(hit, columns)).collect();
            (Answer::new(view), text, hits.len(), "fit")
        }
    };
    let answer = answer.text(text).warn(outcome.warnings.clone());
    let answer = match outcome.found {
        _ if format == Format::Lines => answer.data(),
        SearchResults::Handoffs(_) => answer.paged(),
        _ => answer.paged().quoting(),
    };
    let answer = match outcome.found {
        SearchResults::Hits { by_meaning: true, widened: true, .. } => {
            answer.say("No record has all these words; these have some of them, or are near in meaning.")
        }
        SearchResults::Hits { widened: true, .. } => {
            answer.say("No record has all these words; these have some of them, in any form.")
        }
        _ => answer,
    };
    match (&outcome.found, total_found.saturating_sub(shown)) {
        (SearchResults::Hits { .. }, _) if total_found > RANKED && shown <= RANKED => {
            answer.hint(format!("more than {RANKED} fit: use rarer words or a filter"))
        }
        (_, more @ 1..) => answer.hint(format!("{more} more {fit}: --limit {total_found} lists all")),
        _ if shown > 0 => answer,
        (SearchResults::Hits { .. }, _) => answer
            .say("Nothing was found.")
            .hint("use fewer or other words, or the beginning of one: tok*; log --journal lists all"),
        (SearchResults::Handoffs(_), _) => answer.say("No handoff fits."),
        (SearchResults::Team(_), _) => answer.say("Nothing was found."),
        (SearchResults::Similar(..), _) => {
            answer.say("No session resembles it.").hint("search without --like finds single words")
        }
    }
}

fn hit_text(hit: &SearchHit, plan: bool, paint: Paint, width: usize) -> String {
    let (record, envelope) = (&hit.record, &hit.record.envelope);
    let failed = plan && matches!(record.body, Body::DeadEnd(_));
    let kind = if failed { "tried and FAILED".to_owned() } else { record.body.kind().replace('_', " ") };
    let day = |at: &str| format::date(at).chars().take(10).collect::<String>();
    let mut about = vec![format!("{kind} {}", envelope.id.short())];
    about.extend(hit.standing.gone_as());
    about.extend(hit.standing.ran_out.as_ref().map(|end| format::until(end, true)));
    about.extend(anchors::listed(&hit.standing.places).map(|places| safe::line(&places)));
    about.extend(format::disagreement(&hit.standing.rivals));
    about.push(cut(&safe::line(&envelope.ai), 24));
    about.extend(format::signed_by(hit.standing.signer.as_ref()));
    about.push(format::date(&envelope.at));
    about.extend(hit.standing.confirmed.as_ref().map(|by| format!("confirmed {}", day(&by.at))));
    about.extend(short_commit(envelope.commit.as_deref()));
    if hit.answer.is_some() {
        about.push("answered".to_owned());
    }
    let line = cut(&about.join(" · "), width);
    let line = if failed || !paint.on { line } else { paint.commit(&line) };
    let mut out = format!("{line}\n{}", passage(&hit.passage, paint, width));
    if let Some(answer) = &hit.answer {
        out.push_str(&cut(&format!("{INDENT}→ {}", safe::line(answer)), width));
        out.push('\n');
    }
    out
}

/// The lines of a passage with the first match, of `width` columns, with matches painted.
fn passage(passage: &Passage, paint: Paint, width: usize) -> String {
    let chars: Vec<char> = passage.text.chars().collect();
    // words: whether the space before is part of a match, and characters, shown as text, with the same
    let mut parts: Vec<(bool, Vec<(String, bool)>)> = vec![Default::default()];
    for (at, c) in chars.iter().enumerate() {
        let is_found = passage.highlights.iter().any(|(begin, end)| (*begin..*end).contains(&at));
        if *c == ' ' {
            parts.push((is_found, Vec::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push((safe::clean(&c.to_string()), is_found));
        }
    }
    let room = width.saturating_sub(INDENT.len() + 1).max(1);
    let mut lines: Vec<Vec<(String, bool)>> = vec![Vec::new()];
    let wide = |list: &[(String, bool)]| list.iter().map(|(text, _)| measure(text)).sum::<usize>();
    for (space, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
        let taken = lines.last().map_or(0, |line| wide(line));
        if taken > 0 && taken + 1 + wide(&part) > room {
            lines.push(Vec::new());
        } else if taken > 0
            && let Some(line) = lines.last_mut()
        {
            line.push((" ".to_owned(), space));
        }
        for piece in part {
            let taken = lines.last().map_or(0, |line| wide(line));
            if taken + measure(&piece.0) > room {
                lines.push(Vec::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(piece);
            }
        }
    }
    // at the end of a long text, the first match is below
    let matching = lines.iter().position(|line| line.iter().any(|(_, is_found)| *is_found));
    let above = matching.map_or(0, |at| (at + 1).saturating_sub(LINES));
    if above > 0 {
        lines.drain(..above);
        lines[0].insert(0, ("…".to_owned(), false));
    }
    let is_cut = lines.len() > LINES;
    lines.truncate(LINES);
    if is_cut && let Some(last) = lines.last_mut() {
        last.push(("…".to_owned(), false));
    }
    lines.iter().map(|line| format!("{INDENT}{}\n", painted(line, paint))).collect()
}

fn painted(line: &[(String, bool)], paint: Paint) -> String {
    let mut out = String::new();
    for run in line.chunk_by(|a, b| a.1 == b.1) {
        let text: String = run.iter().map(|(text, _)| text.as_str()).collect();
        out.push_str(&if run[0].1 { paint.found(&text) } else { text });
    }
    out
}

fn team_text(hit: &TeamHit, width: usize) -> String {
    let mut about = vec![format!("{} {}", hit.kind.replace('_', " "), hit.id.short())];
    about.push(safe::line(&hit.repository));
    about.push(cut(&safe::line(&hit.ai), 24));
    about.push(format::date(&hit.timestamp));
    about.extend((!hit.in_force).then(|| "no longer in force".to_owned()));
    let text = Passage { text: hit.text.lines().collect::<Vec<_>>().join(" · "), highlights: Vec::new() };
    format!("{}\n{}", cut(&about.join(" · "), width), passage(&text, Paint::default(), width))
}

fn similar_text(similar: &SimilarSession, width: usize) -> String {
    let SessionWork { handoff_id, calibration_status, task, key_findings, dead_ends, .. } = &similar.work;
    let task = task.as_deref().map_or_else(|| "no task".to_owned(), safe::line);
    let (name, state) = match handoff_id.as_ref().zip(*calibration_status) {
        Some((id, calibration)) => (format!("handoff {}", id.short()), format::words(calibration.word())),
        None => {
            let state = if similar.active { "still active" } else { "wrote no handoff" };
            (format!("session {}", similar.session_id.short()), state.to_owned())
        }
    };
    let mut about = vec![format!("{:.2} {name}", similar.likeness), cut(&safe::line(&similar.ai_id), 24)];
    about.push(format::date(&similar.started_at));
    about.extend(short_commit(similar.commit.as_deref()));
    about.push(state);
    let mut lines = vec![about.join(" · "), format!("{INDENT}{task}")];
    if !similar.shared_words.is_empty() {
        lines.push(format!("{INDENT}shares: {}", safe::line(&similar.shared_words.join(", "))));
    }
    lines.extend(key_findings.iter().take(LINES).map(|text| format!("{INDENT}- {}", safe::line(text))));
    let failed =
        |f: &DeadEnd| format!("{INDENT}- tried and FAILED: {} — {}", safe::line(&f.approach), safe::line(&f.why));
    lines.extend(dead_ends.iter().take(LINES).map(failed));
    lines.iter().map(|line| cut(line, width) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_fits_its_columns_and_matches_are_painted() {
        let text = "The flaky login test waits";
        let shown = Passage { text: text.to_owned(), highlights: vec![(4, 15), (21, 26)] };
        let plain = passage(&shown, Paint::default(), 80);
        assert_eq!(plain, format!("  {text}\n"));
        let painted = passage(&shown, Paint { on: true }, 80);
        assert_eq!(painted.matches("\u{1b}[0m").count(), 2, "a phrase is one: {painted:?}");
        assert!(painted.contains("flaky login\u{1b}"), "{painted:?}");
        let late = "word ".repeat(30) + "last";
        let late = passage(&Passage { highlights: vec![(150, 154)], text: late }, Paint::default(), 40);
        assert!(late.starts_with("  …word") && late.ends_with("last\n") && late.lines().count() == LINES, "{late}");
        for width in [20, 40, 60, 80] {
            for text in ["word ".repeat(40), "令牌".repeat(60), "x".repeat(300), "a\u{1b}[31m \u{202e}b".repeat(20)] {
                let lines = passage(
                    &Passage { text: text.trim().to_owned(), highlights: vec![(0, 3)] },
                    Paint::default(),
                    width,
                );
                assert!(
                    lines.lines().count() <= LINES && lines.lines().all(|line| measure(line) <= width),
                    "{width}: {lines}"
                );
                assert!(lines.starts_with("  ") && !lines.contains(['\u{1b}', '\u{202e}']), "{lines:?}");
            }
        }
    }
}

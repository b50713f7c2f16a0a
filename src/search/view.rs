//! The answer of `search`: records with the words, handoffs that fit, or sessions that are alike.

use crate::render::answer::Answer;
use crate::render::color::Paint;
use crate::render::format::short_commit;
use crate::render::{format, safe};
use crate::search::like::{LikeQuery, SimilarSession};
use crate::search::reports::Format;
use crate::search::reports::{ReportView, ReportsView};
use crate::search::{SearchHit, SearchOutcome, SearchResults, reports};
use crate::text::passage::Passage;
use crate::text::width::{cut, measure};
use empirica_notes::model::handoff::{Calibration, HandoffDeadEnd};
use empirica_notes::model::{Body, Id, Record, SessionId};
use schemars::JsonSchema;
use serde::Serialize;

/// How wide a text is that goes to no terminal, in columns.
const WIDTH: usize = 80;
/// How many lines a passage takes.
const LINES: usize = 2;
const INDENT: &str = "  ";

/// What a record says in its main key: of a dead end what was tried, of a handoff its task.
pub fn main_text(record: &Record) -> &str {
    match &record.body {
        Body::Handoff(body) => &body.task,
        body => body.claim().map_or("", |claim| claim.text),
    }
}

fn why(record: &Record) -> Option<&str> {
    match &record.body {
        Body::DeadEnd(body) => Some(&body.why),
        Body::Decision(body) => Some(&body.why),
        _ => None,
    }
}

/// The records that were found.
#[derive(Serialize, JsonSchema)]
pub struct HitsView<'a> {
    /// The query as it was given.
    query: &'a str,
    /// Whether `--plan` was given: dead ends come first.
    plan: bool,
    /// Whether nothing has all the words, and these have one of them, in any form.
    widened: bool,
    /// At most `--limit` of them, best first; of equal scores, and without words, newest first.
    hits: Vec<HitView<'a>>,
    /// How many fit, beyond the limit too.
    total_found: usize,
}

/// A record that was found.
#[derive(Serialize, JsonSchema)]
struct HitView<'a> {
    /// The record.
    id: &'a Id,
    /// finding, unknown, dead_end, decision, mistake or handoff.
    kind: &'a str,
    /// Its session; null for a record that no session made.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When it was made.
    timestamp: &'a str,
    /// Seconds since then, 0 or more; null when its time cannot be read.
    age: Option<u64>,
    /// The commit it is at home on.
    commit: Option<&'a str>,
    /// BM25 over all records that are searched, greater than 0, the greater the better; comparable within one answer. Null when no
    /// words are asked for.
    score: Option<f64>,
    /// Its text: of a dead end the approach, of a handoff the task.
    text: &'a str,
    /// Of a dead end and a decision: the reason.
    why: Option<&'a str>,
    /// The part of the record that matches, about 200 characters: its texts joined by ` · `, white space made one space, `…` where
    /// something is left out.
    passage: &'a str,
    /// Where the words are in `passage`, each begin and end (not included) in Unicode code points, in order; of the first 10,000 words
    /// of the record's text that are among those searched for.
    highlights: &'a [(usize, usize)],
    /// Of an unknown: whether it was answered.
    resolved: Option<bool>,
    /// Of an unknown: the answer.
    answer: Option<&'a str>,
}

impl<'a> From<&'a SearchHit> for HitView<'a> {
    fn from(hit: &'a SearchHit) -> Self {
        let (head, body) = (&hit.record.head, &hit.record.body);
        HitView {
            id: &head.id,
            kind: body.kind(),
            session_id: head.session.as_ref(),
            ai_id: &head.ai,
            timestamp: &head.at,
            age: hit.age,
            commit: head.commit.as_deref(),
            score: hit.score,
            text: main_text(&hit.record),
            why: why(&hit.record),
            passage: &hit.passage.text,
            highlights: &hit.passage.highlights,
            resolved: matches!(body, Body::Unknown(_)).then_some(hit.answer.is_some()),
            answer: hit.answer.as_deref(),
        }
    }
}

/// The sessions that resemble something.
#[derive(Serialize, JsonSchema)]
pub struct AlikesView<'a> {
    /// What they are compared with.
    about: AboutView<'a>,
    /// At most `--limit` of them, the most alike first. The session itself, or that of the handoff, is never among them.
    sessions: Vec<AlikeView<'a>>,
    /// How many resemble it, of those that were compared.
    total_found: usize,
}

/// What sessions are compared with.
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

/// A session that resembles something.
#[derive(Serialize, JsonSchema)]
struct AlikeView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    /// When it began.
    started_at: &'a str,
    /// Whether it has not ended.
    active: bool,
    /// What its handoff is about, else what it set out to do.
    task: Option<&'a str>,
    /// The commit that its handoff is at home on, else the one it began on.
    commit: Option<&'a str>,
    /// In (0, 1], 4 decimals: the words both share over the geometric mean of their numbers of words; of the tasks alone or of tasks and
    /// findings, whichever is greater.
    likeness: f64,
    /// Words of the asking text that the session has in any form, at most 8, sorted.
    shared_words: &'a [String],
    /// Its handoff in force.
    handoff_id: Option<&'a Id>,
    /// Of that handoff.
    calibration_status: Option<Calibration>,
    /// As handed over, else as they are now; so are the next two.
    key_findings: &'a [String],
    /// The open questions.
    remaining_unknowns: &'a [String],
    /// What was tried and failed.
    dead_ends: &'a [HandoffDeadEnd],
}

impl<'a> From<&'a SimilarSession> for AlikeView<'a> {
    fn from(alike: &'a SimilarSession) -> Self {
        let handoff = alike.handoff.as_ref();
        AlikeView {
            session_id: &alike.session_id,
            ai_id: &alike.ai_id,
            started_at: &alike.started_at,
            active: alike.active,
            task: alike.task.as_deref(),
            commit: alike.commit.as_deref(),
            likeness: (alike.likeness * 10_000.0).round() / 10_000.0,
            shared_words: &alike.shared,
            handoff_id: handoff.map(|listed| &listed.head.id),
            calibration_status: handoff.map(|listed| listed.handoff.calibration_status),
            key_findings: &alike.findings,
            remaining_unknowns: &alike.unknowns,
            dead_ends: &alike.dead_ends,
        }
    }
}

/// The answer, handoffs in that form, for a terminal of `width` columns; `None` when the text goes to none.
pub fn answer(outcome: &SearchOutcome, format: Format, paint: Paint, width: Option<usize>) -> Answer {
    let columns = width.unwrap_or(WIDTH).max(20);
    let total_found = outcome.total_found;
    let (answer, text, shown, fit): (Answer, String, usize, &str) = match &outcome.found {
        SearchResults::Hits { hits, widened } => {
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
            let view = AlikesView {
                about: AboutView::from(about),
                sessions: sessions.iter().map(AlikeView::from).collect(),
                total_found,
            };
            let text = sessions.iter().map(|alike| alike_text(alike, columns)).collect();
            (Answer::new(view), text, sessions.len(), "resemble it")
        }
    };
    let answer = answer.text(text).warn(outcome.warnings.clone());
    let answer = if format == Format::Lines { answer.data() } else { answer.paged() };
    let answer = match outcome.found {
        SearchResults::Hits { widened: true, .. } => {
            answer.say("Nothing has all these words; this is what has one of them, in any form.")
        }
        _ => answer,
    };
    match (&outcome.found, total_found.saturating_sub(shown)) {
        (_, more @ 1..) => answer.hint(format!("{more} more {fit}: --limit {total_found} lists all")),
        _ if shown > 0 => answer,
        (SearchResults::Hits { .. }, _) => answer
            .say("Nothing was found.")
            .hint("use fewer or other words, or the beginning of one: tok*; log --journal lists all"),
        (SearchResults::Handoffs(_), _) => answer.say("No handoff fits."),
        (SearchResults::Similar(..), _) => {
            answer.say("No session resembles it.").hint("search without --like finds single words")
        }
    }
}

fn hit_text(hit: &SearchHit, plan: bool, paint: Paint, width: usize) -> String {
    let (record, head) = (&hit.record, &hit.record.head);
    let failed = plan && matches!(record.body, Body::DeadEnd(_));
    let kind = if failed { "tried and FAILED".to_owned() } else { record.body.kind().replace('_', " ") };
    let mut about = vec![format!("{kind} {}", head.id.short()), cut(&safe::line(&head.ai), 24)];
    about.push(format::date(&head.at));
    about.extend(short_commit(head.commit.as_deref()));
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

/// A passage in lines of `width` columns, what was found in it painted.
fn passage(passage: &Passage, paint: Paint, width: usize) -> String {
    let chars: Vec<char> = passage.text.chars().collect();
    // words, each with the mark of the space before it and of its characters; one may be shown as several
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

fn alike_text(alike: &SimilarSession, width: usize) -> String {
    let task = alike.task.as_deref().map_or_else(|| "no task said".to_owned(), safe::line);
    let (name, state) = match (&alike.handoff, alike.active) {
        (Some(listed), _) => {
            (format!("handoff {}", listed.head.id.short()), format::words(listed.handoff.calibration_status.word()))
        }
        (None, true) => (format!("session {}", alike.session_id.short()), "still active".to_owned()),
        (None, false) => (format!("session {}", alike.session_id.short()), "wrote no handoff".to_owned()),
    };
    let mut about = vec![format!("{:.2} {name}", alike.likeness), cut(&safe::line(&alike.ai_id), 24)];
    about.push(format::date(&alike.started_at));
    about.extend(short_commit(alike.commit.as_deref()));
    about.push(state);
    let mut lines = vec![about.join(" · "), format!("{INDENT}{task}")];
    if !alike.shared.is_empty() {
        lines.push(format!("{INDENT}shares: {}", safe::line(&alike.shared.join(", "))));
    }
    lines.extend(alike.findings.iter().take(LINES).map(|text| format!("{INDENT}- {}", safe::line(text))));
    let failed = |f: &empirica_notes::model::handoff::HandoffDeadEnd| {
        format!("{INDENT}- tried and FAILED: {} — {}", safe::line(&f.approach), safe::line(&f.why))
    };
    lines.extend(alike.dead_ends.iter().take(LINES).map(failed));
    lines.iter().map(|line| cut(line, width) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_fits_its_columns_and_what_was_found_is_painted() {
        let text = "The flaky login test waits";
        let shown = Passage { text: text.to_owned(), highlights: vec![(4, 15), (21, 26)] };
        let plain = passage(&shown, Paint::default(), 80);
        assert_eq!(plain, format!("  {text}\n"));
        let painted = passage(&shown, Paint { on: true }, 80);
        assert_eq!(painted.matches("\u{1b}[0m").count(), 2, "a phrase is one: {painted:?}");
        assert!(painted.contains("flaky login\u{1b}"), "{painted:?}");
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

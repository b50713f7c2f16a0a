//! The Markdown of a review: at most 60 lines, and a folded part for each session.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::json;

use crate::context::claims::Standing;
use crate::context::claims::anchors::listed;
use crate::render::fill::one_line;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::width::measure;
use crate::use_cases::report::review::checks::LastRun;
use crate::use_cases::report::review::claims::RangeClaim;
use crate::use_cases::report::review::references::{html, inert};
use crate::use_cases::report::review::rules::is_blocking;
use crate::use_cases::report::review::{Review, ReviewedSession};
use empirica_notes::error::{Result, empirica};
use empirica_notes::model::goal::GoalState;
use empirica_notes::model::{Body, Id};

/// Most lines that are not folded.
const LINES: usize = 60;
/// The lines before the first section: heading, lead, attention, with blank lines.
const HEAD: usize = 5;
/// The lines of a section beside its entries, and of a folded part.
const FRAME: usize = 3;
const FOLD: usize = 2;
/// Most columns of an entry, and of one in a folded part.
const COLUMNS: usize = 240;
const FOLDED_COLUMNS: usize = 1000;
/// Most entries of a folded list.
const FOLDED_ENTRIES: usize = 40;
/// Most folded parts: sessions that recorded earlier are counted.
const FOLDS: usize = 8;
/// Most bytes; hosts allow 65,536 for a whole description.
const BYTES: usize = 50_000;
/// Marks a next step among other open points.
const NEXT: &str = "Next: ";
/// Most agents that the lead names, and files that a check names.
const NAMED: usize = 3;

/// Entries below a title, each on one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    pub title: &'static str,
    pub lines: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Folded {
    summary: String,
    about: String,
    sections: Vec<Section>,
}

/// The text. The same for the same notes and the same range.
pub fn markdown(review: &Review) -> Result<String> {
    let mut folded: Vec<Folded> = review.sessions.iter().take(FOLDS).map(|session| folded(review, session)).collect();
    let shown = sections(review);
    if let [only] = folded.as_mut_slice()
        && review.sessions.len() == 1
    {
        only.leave_out(&fitted(shown.clone(), LINES - HEAD - FOLD));
    }
    let tip = short(review.range.tip);
    let range = format!(
        "{} (`{}..{tip}`)",
        format::count(review.commits, "commit"),
        short(review.range.fork.unwrap_or(review.range.base))
    );
    let mut parts = folded.len();
    loop {
        let left_out = review.sessions.len() - parts;
        let lines = LINES - HEAD - FOLD * (parts + usize::from(left_out > 0));
        let text = Templates::built_in().render(
            "pull-request.md",
            json!({
                "range": range,
                "lead": lead(review, &range),
                "attention": attention(review),
                "sections": fitted(shown.clone(), lines),
                "sessions": folded[..parts],
                "more": (left_out > 0 && !review.is_empty()).then(|| {
                    format!("{} not shown: `{}`", format::count(left_out, "earlier session"), empirica("log"))
                }),
            }),
        )?;
        if text.len() <= BYTES || parts == 0 {
            return Ok(text.trim_end().to_owned() + "\n");
        }
        parts -= 1;
    }
}

impl Folded {
    /// Leaves out the entries that are shown above.
    fn leave_out(&mut self, shown: &[Section]) {
        let lines: BTreeSet<&String> = shown.iter().flat_map(|section| &section.lines).collect();
        for section in &mut self.sections {
            section.lines.retain(|line| !lines.contains(line) && !lines.contains(&format!("{NEXT}{line}")));
        }
        self.sections.retain(|section| !section.lines.is_empty());
    }
}

fn short(commit: empirica_notes::git::Oid) -> String {
    format::short_commit(Some(&commit.to_string())).unwrap_or_default()
}

/// The agents, sessions and commits in a line.
fn lead(review: &Review, range: &str) -> String {
    let mut agents: Vec<String> = Vec::new();
    for session in &review.sessions {
        let agent = entry(&session.work.session.ai, COLUMNS / 4);
        if !agents.contains(&agent) {
            agents.push(agent);
        }
    }
    let more = agents.len().saturating_sub(NAMED);
    agents.truncate(NAMED);
    agents.extend((more > 0).then(|| format!("{more} more")));
    let who = match agents.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => return format!("No session recorded anything for {range}."),
    };
    let commits: BTreeSet<_> = review.sessions.iter().flat_map(|session| &session.work.commits).collect();
    let sessions = format::count(review.sessions.len(), "session");
    format!(
        "{sessions} of {who}, for {} of {range}. Claims hold at `{}` unless marked.",
        commits.len(),
        short(review.range.tip)
    )
}

/// The counts that need attention; `None` if all are zero.
fn attention(review: &Review) -> Option<String> {
    let failed = review.checks.iter().filter(|last| !last.has_passed()).count();
    let stale = review.checks.iter().filter(|last| last.is_stale()).count();
    let blocking = review.claims(is_blocking).len();
    let lost = review.lost().count();
    let counts = [
        (failed, "check", "failed"),
        (blocking, "blocking question", if blocking == 1 { "is open" } else { "are open" }),
        (lost, "claim", if lost == 1 { "is about code that changed" } else { "are about code that changed" }),
        (stale, "check", "passed before the code changed"),
    ];
    let texts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let texts: Vec<String> =
        texts.map(|(count, noun, what)| format!("{} {what}", format::count(count, noun))).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// The sections of all sessions, without empty ones.
pub fn sections(review: &Review) -> Vec<Section> {
    let several = review.sessions.iter().map(|session| &session.work.session.ai).collect::<BTreeSet<_>>().len() > 1;
    let of_kind = |is_kind: &dyn Fn(&Body) -> bool| -> Vec<String> {
        review.claims(is_kind).into_iter().map(|claim| claim_line(claim, several, COLUMNS)).collect()
    };
    let mut open = of_kind(&is_blocking);
    open.extend(of_kind(&|body| matches!(body, Body::Unknown(_)) && !is_blocking(body)));
    open.extend(review.sessions.iter().flat_map(|session| goals_open(session, COLUMNS)));
    open.extend(review.sessions.iter().flat_map(|session| next_steps(session, NEXT, COLUMNS)));
    named(vec![
        ("Done", review.sessions.iter().flat_map(|session| done(session, COLUMNS)).collect()),
        ("Decided", of_kind(&|body| matches!(body, Body::Decision(_)))),
        ("Tried without success", of_kind(&|body| matches!(body, Body::DeadEnd(_)))),
        ("Checked", review.checks.iter().map(|last| check_line(last, COLUMNS)).collect()),
        ("Still open", open),
        (
            "Recorded earlier, about code that this changes",
            review.contradicted.iter().map(|claim| claim_line(claim, true, COLUMNS)).collect(),
        ),
    ])
}

/// Sections with entries, each entry once.
fn named(sections: Vec<(&'static str, Vec<String>)>) -> Vec<Section> {
    let sections = sections.into_iter().map(|(title, mut lines)| {
        let mut seen = BTreeSet::new();
        lines.retain(|line| !line.is_empty() && seen.insert(line.clone()));
        Section { title, lines }
    });
    sections.filter(|section| !section.lines.is_empty()).collect()
}

/// The sections in at most this many lines: each keeps at least one entry, and counts those that do not fit.
fn fitted(sections: Vec<Section>, lines: usize) -> Vec<Section> {
    let mut left = lines.saturating_sub(sections.len() * (FRAME + 1));
    let mut granted = vec![1; sections.len()];
    while left > 0 {
        let mut any = false;
        for (section, granted) in sections.iter().zip(&mut granted) {
            if left > 0 && *granted < section.lines.len() {
                (*granted, left, any) = (*granted + 1, left - 1, true);
            }
        }
        if !any {
            break;
        }
    }
    sections.into_iter().zip(granted).map(|(section, most)| counted(section, most)).collect()
}

/// The first entries of a section; the last of them counts those that do not fit.
fn counted(mut section: Section, most: usize) -> Section {
    let more = section.lines.len().saturating_sub(most);
    section.lines.truncate(most);
    if let Some(last) = section.lines.last_mut().filter(|_| more > 0) {
        last.push_str(&format!(" (+{more} more)"));
    }
    section
}

fn folded(review: &Review, session: &ReviewedSession) -> Folded {
    let work = &session.work;
    let task = match &work.handoff {
        Some((_, handoff)) if !handoff.task.trim().is_empty() => Some(handoff.task.as_str()),
        _ => work.session.task.as_deref(),
    };
    let task = task.filter(|task| !task.trim().is_empty()).map(|task| format!(": {task}")).unwrap_or_default();
    let summary = format!("{}, session {}{task}", work.session.ai, work.session.id.short());
    let summary: String = safe::line(&summary).chars().take(COLUMNS / 2).collect();
    let mut commits: Vec<String> = work.commits.iter().map(|commit| format!("`{}`", short(*commit))).collect();
    let more = commits.len().saturating_sub(FOLDS);
    commits.truncate(FOLDS);
    commits.extend((more > 0).then(|| format!("{more} more")));
    let columns = FOLDED_COLUMNS;
    let of_kind = |is_kind: fn(&Body) -> bool| -> Vec<String> {
        let claims = session.claims.iter().filter(|claim| is_kind(&claim.record.body));
        claims.map(|claim| claim_line(claim, false, columns)).collect()
    };
    let own = review.checks.iter().filter(|last| last.run.envelope.session.as_ref() == Some(&work.session.id));
    let handoff = work.handoff.as_ref().map(|(_, handoff)| handoff);
    let mut open = of_kind(|body| matches!(body, Body::Unknown(_)));
    open.extend(goals_open(session, columns));
    let answered = work.answered.iter().map(|(question, answer)| match question.is_empty() {
        true => entry(answer, columns),
        false => entry(&format!("{question} → {answer}"), columns),
    });
    let withdrawn = work.withdrawn.iter().map(|(record, retract)| {
        let text = record.body.claim_text();
        let why = match retract {
            Some(retract) => match (&retract.by, &retract.why) {
                (Some(by), _) => format!("replaced by {}", by.short()),
                (None, Some(why)) => format!("retracted: {why}"),
                (None, None) => "retracted".to_owned(),
            },
            None => "retracted".to_owned(),
        };
        line(&format!("{text} ({why})"), &id_mark(&record.envelope.id), columns)
    });
    let sections = named(vec![
        ("Done", done(session, columns)),
        ("Decided", of_kind(|body| matches!(body, Body::Decision(_)))),
        ("Tried without success", of_kind(|body| matches!(body, Body::DeadEnd(_)))),
        ("Learned", of_kind(|body| matches!(body, Body::Finding(_)))),
        ("Answered", answered.collect()),
        ("Mistakes", of_kind(|body| matches!(body, Body::Mistake(_)))),
        ("Checked", own.map(|last| check_line(last, columns)).collect()),
        ("Open", open),
        ("Next", next_steps(session, "", columns)),
        ("Context", handoff.map(|handoff| entry(&handoff.context, columns)).into_iter().collect()),
        ("Withdrawn", withdrawn.collect()),
    ]);
    Folded {
        summary: html(&summary),
        about: format!(
            "Began {}; for {}. All of it: `{}`",
            format::date(&work.session.started_at),
            commits.join(", "),
            empirica("show").arg(work.session.id.short())
        ),
        sections: sections.into_iter().map(|section| counted(section, FOLDED_ENTRIES)).collect(),
    }
}

/// The accomplishments of a session and its goals; without any its task.
fn done(session: &ReviewedSession, columns: usize) -> Vec<String> {
    let work = &session.work;
    let handoff = work.handoff.as_ref().map(|(_, handoff)| handoff);
    let mut out: Vec<String> =
        handoff.iter().flat_map(|handoff| &handoff.accomplished).map(|text| entry(text, columns)).collect();
    out.extend(work.goals_done.iter().map(|goal| match &goal.evidence {
        Some(evidence) => entry(&format!("{} ({evidence})", goal.text), columns),
        None => entry(&goal.text, columns),
    }));
    if out.is_empty() {
        let task = handoff.map(|handoff| &handoff.task).filter(|task| !task.trim().is_empty());
        out.extend(task.or(work.session.task.as_ref()).map(|task| entry(task, columns)));
    }
    out
}

fn goals_open(session: &ReviewedSession, columns: usize) -> Vec<String> {
    let text = |goal: &GoalState| match goal.progress() {
        Some(progress) => format!("Goal: {} ({progress})", goal.text),
        None => format!("Goal: {}", goal.text),
    };
    session.work.goals_open.iter().map(|goal| entry(&text(goal), columns)).collect()
}

fn next_steps(session: &ReviewedSession, label: &str, columns: usize) -> Vec<String> {
    let handoff = session.work.handoff.as_ref().map(|(_, handoff)| handoff);
    let steps = handoff.iter().flat_map(|handoff| &handoff.next_steps);
    steps.map(|step| entry(&format!("{label}{step}"), columns)).collect()
}

/// A claim with its reason, its marks and its id.
fn claim_line(claim: &RangeClaim, with_agent: bool, columns: usize) -> String {
    let text = match &claim.record.body {
        Body::Unknown(one) if one.blocking => format!("Blocking: {}", one.text),
        body => body.claim_text(),
    };
    let mut end = marks(&claim.standing);
    let agent =
        if with_agent { format!(" by {}", entry(&claim.record.envelope.ai, COLUMNS / 8)) } else { String::new() };
    end.push_str(&format!("{}{agent}", id_mark(&claim.record.envelope.id)));
    line(&text, &end, columns)
}

/// The marks of a claim: its places in the code, its state if it does not hold, and the claims that it disagrees with.
fn marks(standing: &Standing) -> String {
    let mut marks: Vec<String> = standing.ran_out.iter().map(|until| format::until(until, true)).collect();
    marks.extend(standing.gone_as());
    marks.extend(listed(&standing.places));
    marks.extend(format::disagreement(&standing.rivals));
    if marks.is_empty() { String::new() } else { format!(" ({})", inert(&safe::words(&marks.join("; ")))) }
}

fn id_mark(id: &Id) -> String {
    format!(" `{}`", id.short())
}

/// The last run of a check.
fn check_line(last: &LastRun, columns: usize) -> String {
    let evidence = &last.run.evidence;
    let runs = if last.runs > 1 { format!(", last of {} runs", last.runs) } else { String::new() };
    let end = match (last.has_passed(), last.changed.as_slice()) {
        (false, _) => format!(" (exit {}{runs})", evidence.exit),
        (true, []) if last.before_squashed => format!(" (later commits were squashed with it{runs})"),
        (true, []) if runs.is_empty() => String::new(),
        (true, []) => format!(" ({})", runs.trim_start_matches(", ")),
        (true, files) => {
            let more = files.len().saturating_sub(NAMED);
            let mut names: Vec<String> = files.iter().take(NAMED).cloned().collect();
            names.extend((more > 0).then(|| format!("{more} more")));
            format!(" (changed since: {}{runs})", inert(&safe::words(&names.join(", "))))
        }
    };
    let result = match (last.has_passed(), !last.is_stale()) {
        (false, _) => "**failed:**",
        (true, true) => "passed:",
        (true, false) => "passed, before the code changed:",
    };
    let room = columns.saturating_sub(measure(&end) + measure(result) + 1);
    format!("{result} {}{end}", inert(&one_line(&safe::code(&evidence.command), room)))
}

/// A text from a record on one line.
fn entry(text: &str, columns: usize) -> String {
    line(text, "", columns)
}

/// A text from a record, cut to leave room for its end.
fn line(text: &str, end: &str, columns: usize) -> String {
    let room = columns.saturating_sub(measure(end)).max(columns / 2);
    let text = safe::begun(one_line(&safe::words(text), room));
    if text.is_empty() && end.is_empty() { String::new() } else { format!("{}{end}", inert(&text)) }
}

//! The handoff report: derived from a session's records and git, completed by the agent.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::fold::assessment::{calibration, gaps, trajectory};
use crate::fold::session_records::SessionRecords;
use crate::text::list::add_new;
use empirica_notes::error::{Command, blank, empirica};
use empirica_notes::model::Handoff;
use empirica_notes::model::assessment::CommitLine;
use empirica_notes::model::handoff::{Item, MadeIn};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct HandoffInput {
    /// Replaces the task of the session.
    pub task: Option<String>,
    pub accomplished: Vec<String>,
    /// Findings not in the journal.
    pub findings: Vec<String>,
    /// Unknowns not in the journal.
    pub unknowns: Vec<String>,
    /// Context for the next session.
    pub context: Option<String>,
    /// Next steps; `None` keeps those of an earlier handoff.
    pub next_steps: Option<Vec<String>>,
    /// Files created or changed, besides those known to git.
    pub artifacts: Vec<String>,
}

impl HandoffInput {
    /// Drops findings and unknowns already logged in the session, and duplicates, so that retries add nothing.
    /// Compares texts as `stored`, i.e. without secrets.
    pub fn drop_logged(&mut self, session: &SessionRecords, stored: &dyn Fn(&str) -> String) {
        let texts = |items: &[Item]| items.iter().map(|item| item.text.clone()).collect();
        drop_known(&mut self.findings, texts(&session.findings), stored);
        drop_known(&mut self.unknowns, texts(&session.unknowns), stored);
    }

    /// Drops accomplishments and artifacts that [`report`] carries over from an earlier handoff.
    pub fn drop_carried(&mut self, session: &SessionRecords, stored: &dyn Fn(&str) -> String) {
        let carried =
            |list: fn(&Handoff) -> &Vec<String>| carried_from(session).into_iter().flat_map(list).cloned().collect();
        drop_known(&mut self.accomplished, carried(|handoff| &handoff.accomplished), stored);
        drop_known(&mut self.artifacts, carried(|handoff| &handoff.named_artifacts), stored);
    }
}

fn drop_known(texts: &mut Vec<String>, mut seen: BTreeSet<String>, stored: &dyn Fn(&str) -> String) {
    texts.retain(|text| seen.insert(stored(text)));
}

/// The handoff whose own texts the next one of the session repeats.
fn carried_from(session: &SessionRecords) -> Option<&Handoff> {
    session.handoffs.iter().rev().map(|(_, handoff)| handoff).find(|handoff| handoff.kind == "epistemic")
}

/// State of git since the session began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GitWork {
    /// The commits, newest first.
    pub commits: Vec<CommitLine>,
    /// Files committed or changed.
    pub files: Vec<String>,
    /// Present state of git; `None` if unavailable.
    pub git: Option<MadeIn>,
}

/// A handoff of the session at `now`. It supersedes earlier ones, so it carries over their own texts
/// (accomplishments, context, next steps, artifacts) unless given again.
pub fn report(gathered: &SessionRecords, work: GitWork, input: HandoffInput, now: DateTime<Utc>) -> Handoff {
    let earlier = carried_from(gathered);
    let (before, after) = (gathered.before(), gathered.after());
    let calibration_status = calibration::status(before, after);
    let shown_after = after.or_else(|| {
        // without a POSTFLIGHT, show the trajectory so far
        let (_, last) = gathered.last()?;
        (gathered.assessments.len() > 1).then_some(&last.vectors)
    });
    let plain = |text: &String| Item { id: None, text: text.clone() };
    let mut findings = gathered.findings.clone();
    findings.extend(input.findings.iter().map(plain));
    let mut unknowns = gathered.unknowns.clone();
    unknowns.extend(input.unknowns.iter().map(plain));
    let answered = gathered.answered.iter().map(|a| (a.question.as_str(), a.answer.as_str()));
    let gaps_filled = gaps::filled(before, after, answered, findings.iter().map(|f| f.text.as_str()));

    let carried = |list: fn(&Handoff) -> &Vec<String>| earlier.map(list).cloned().unwrap_or_default();
    let mut accomplished = carried(|h| &h.accomplished);
    add_new(&mut accomplished, &input.accomplished);
    let next_steps = input.next_steps.unwrap_or_else(|| carried(|h| &h.next_steps));
    let mut named_artifacts = carried(|h| &h.named_artifacts);
    add_new(&mut named_artifacts, &input.artifacts);
    let mut artifacts = named_artifacts.clone();
    add_new(&mut artifacts, work.files.iter().chain(&gathered.touched_files));
    let task = input.task.or_else(|| gathered.session.task.clone()).or_else(|| earlier.map(|h| h.task.clone()));
    let started = DateTime::parse_from_rfc3339(&gathered.session.started_at).ok();
    Handoff {
        kind: "epistemic".to_owned(),
        git: work.git,
        task: task.unwrap_or_default(),
        started_at: gathered.session.started_at.clone(),
        duration_seconds: started.map_or(0, |t| (now - t.with_timezone(&Utc)).num_seconds().max(0) as u64),
        session_status: if gathered.session.is_active() { "active" } else { "ended" }.to_owned(),
        trajectory: trajectory::rows(before, shown_after, calibration_status),
        calibration_status,
        accomplished,
        commits: work.commits,
        findings,
        gaps_filled,
        unknowns,
        dead_ends: gathered.dead_ends.clone(),
        mistakes: gathered.mistakes.clone(),
        decisions: gathered.decisions.clone(),
        evidence: gathered.evidence.clone(),
        goals: gathered.goals.clone(),
        tools: gathered.tools.clone(),
        sources: gathered.sources.clone(),
        context: input.context.or_else(|| earlier.map(|h| h.context.clone())).unwrap_or_default(),
        next_steps,
        artifacts,
        named_artifacts,
        assessments: gathered.assessed(),
        ..Handoff::default()
    }
}

/// Missing parts of a good handoff, with the commands that add them.
pub fn missing(handoff: &Handoff) -> Vec<(&'static str, Command)> {
    let checks = [
        (handoff.task.is_empty(), "task", "-m", "<what was to be done>"),
        (handoff.findings.is_empty(), "findings", "--finding", "<what you learned>"),
        (handoff.unknowns.is_empty(), "unknowns", "--unknown", "<what is still open>"),
        (handoff.context.is_empty(), "context", "--context", "<what the next session must know>"),
        (handoff.artifacts.is_empty(), "artifacts", "--artifact", "<path>"),
    ];
    let incomplete = checks.into_iter().filter(|(lacks, ..)| *lacks);
    incomplete.map(|(_, what, option, shown)| (what, empirica("handoff").option(option, blank(shown)))).collect()
}

/// A duration in two units: "45 s", "12 min", "2 h 5 min", "3 d 4 h".
pub fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |big: u64, unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{big} {unit}"),
        _ => format!("{big} {unit} {small} {small_unit}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => pair(hours, "h", minutes % 60, "min"),
        _ => pair(days, "d", hours % 24, "h"),
    }
}

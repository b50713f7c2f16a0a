//! The handoff report: derived from a session's records and git, completed by the agent.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::fold::assessment::{calibration, gaps, trajectory};
use crate::fold::session_records::SessionRecords;
use crate::text::list::add_new;
use empirica_notes::model::Handoff;
use empirica_notes::model::assessment::CommitLine;
use empirica_notes::model::handoff::{Item, RepositoryState};

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
    pub git: Option<RepositoryState>,
}

/// A handoff of the session at `now`. It supersedes earlier ones, so it carries over their own texts
/// (accomplishments, context, next steps, artifacts) unless given again.
pub fn report(records: &SessionRecords, work: GitWork, input: HandoffInput, now: DateTime<Utc>) -> Handoff {
    let with_ends: SessionRecords;
    let records = match records.ends.is_empty() {
        true => records,
        false => {
            with_ends = records.clone().with_ends();
            &with_ends
        }
    };
    let earlier = carried_from(records);
    let (before, after) = (records.before(), records.after());
    let calibration_status = calibration::status(before, after);
    let shown_after = after.or_else(|| {
        // without a POSTFLIGHT, show the trajectory so far
        let (_, last) = records.last()?;
        (records.assessments.len() > 1).then_some(&last.vectors)
    });
    let plain = |text: &String| Item { id: None, text: text.clone() };
    let mut findings = records.findings.clone();
    findings.extend(input.findings.iter().map(plain));
    let mut unknowns = records.unknowns.clone();
    unknowns.extend(input.unknowns.iter().map(plain));
    let answered = records.answered.iter().map(|a| (a.question.as_str(), a.answer.as_str()));
    let gaps_filled = gaps::filled(before, after, answered, findings.iter().map(|f| f.text.as_str()));

    let carried = |list: fn(&Handoff) -> &Vec<String>| earlier.map(list).cloned().unwrap_or_default();
    let mut accomplished = carried(|h| &h.accomplished);
    add_new(&mut accomplished, &input.accomplished);
    let next_steps = input.next_steps.unwrap_or_else(|| carried(|h| &h.next_steps));
    let mut named_artifacts = carried(|h| &h.named_artifacts);
    add_new(&mut named_artifacts, &input.artifacts);
    let mut artifacts = named_artifacts.clone();
    add_new(&mut artifacts, work.files.iter().chain(&records.touched_files));
    let task = input.task.or_else(|| records.session.task.clone()).or_else(|| earlier.map(|h| h.task.clone()));
    let started = DateTime::parse_from_rfc3339(&records.session.started_at).ok();
    Handoff {
        kind: "epistemic".to_owned(),
        git: work.git,
        task: task.unwrap_or_default(),
        started_at: records.session.started_at.clone(),
        duration_seconds: started.map_or(0, |t| (now - t.with_timezone(&Utc)).num_seconds().max(0) as u64),
        session_status: if records.session.is_active() { "active" } else { "ended" }.to_owned(),
        trajectory: trajectory::rows(before, shown_after, calibration_status),
        calibration_status,
        accomplished,
        commits: work.commits,
        findings,
        gaps_filled,
        unknowns,
        dead_ends: records.dead_ends.clone(),
        mistakes: records.mistakes.clone(),
        decisions: records.decisions.clone(),
        evidence: records.evidence.clone(),
        goals: records.goals.clone(),
        tools: records.tools.clone(),
        sources: records.sources.clone(),
        context: input.context.or_else(|| earlier.map(|h| h.context.clone())).unwrap_or_default(),
        next_steps,
        artifacts,
        named_artifacts,
        assessments: records.assessed(),
        ..Handoff::default()
    }
}

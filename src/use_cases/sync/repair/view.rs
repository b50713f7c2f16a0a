//! Handoffs whose commits vanished: each commit with its handoffs, their targets, and the user's choices.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::sync::repair::{Candidate, Repair, RepairOutcome, RepairVerdict};
use empirica_notes::error::{Command, empirica, text};
use empirica_notes::git::Oid;
use empirica_notes::git::rewrites::Rule;
use empirica_notes::model::{Body, Id, Record};

fn short(commit: Oid) -> String {
    commit.to_hex_with_len(8).to_string()
}

/// The name and the description of a rule, or of the user's choice.
fn rule_words(rule: Option<Rule>) -> (&'static str, &'static str) {
    match rule {
        None => ("chosen", "as you chose"),
        Some(Rule::CommitMap) => ("commit_map", "filter-repo's commit map names it"),
        Some(Rule::RangePatchId) => ("range_patch_id", "the patch of the whole branch"),
        Some(Rule::PatchId) => ("patch_id", "the same patch"),
        Some(Rule::TreeAuthorDate) => ("tree_author_date", "the same tree, author and date"),
        Some(Rule::Tree) => ("tree", "the same tree; the old commit is not here to compare more"),
        Some(Rule::Amend) => ("amend", "amended, by the reflog"),
        Some(Rule::Trailer) => ("trailer", "its message names the session"),
    }
}

/// The repair of a commit's records.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
enum State {
    /// They belong to the commit `to`; with `--fix` they are attached to it.
    WouldAttach,
    /// They are attached to the commit `to`.
    Attached,
    /// Several commits can replace it: choose one of `candidates`.
    Ambiguous,
    /// No commit here replaced it.
    Lost,
}

impl From<&RepairVerdict> for State {
    fn from(verdict: &RepairVerdict) -> Self {
        match verdict {
            RepairVerdict::Attach { done: true, .. } => State::Attached,
            RepairVerdict::Attach { .. } => State::WouldAttach,
            RepairVerdict::Ambiguous(..) => State::Ambiguous,
            RepairVerdict::Lost => State::Lost,
        }
    }
}

/// Handoffs whose commits vanished.
#[derive(Serialize, JsonSchema)]
pub struct RepairsView<'a> {
    /// The commits; empty when there is nothing to do.
    repairs: Vec<RepairView<'a>>,
    /// How many they are.
    total_found: usize,
    /// Whether `--fix` (`--apply`) was given.
    applied: bool,
}

/// A commit outside HEAD's history, and the repair of its records.
#[derive(Serialize, JsonSchema)]
pub struct RepairView<'a> {
    /// The commit that has the records.
    from: String,
    /// Its subject; null when the commit is not in this clone.
    from_subject: Option<&'a str>,
    /// Its replacement; null unless there is exactly one.
    to: Option<String>,
    /// Its subject.
    to_subject: Option<&'a str>,
    /// The rule that found it: `commit_map`, `range_patch_id`, `patch_id`, `tree_author_date`, `tree`, `amend`, or `chosen` with `--to`;
    /// null when it is lost.
    rule: Option<&'static str>,
    /// Their state.
    state: State,
    /// The commits to choose from when it is ambiguous, newest first.
    candidates: Vec<CandidateView<'a>>,
    /// The handoffs and digests there; with `--to`, and when there is none of these, all records.
    records: Vec<StrandedView<'a>>,
}

/// A possible replacement of a commit.
#[derive(Serialize, JsonSchema)]
struct CandidateView<'a> {
    /// The commit.
    commit: String,
    /// Its subject.
    subject: &'a str,
    /// When it was committed, strict ISO 8601.
    date: &'a str,
    /// The command that chooses it.
    #[schemars(with = "String")]
    command: Command,
}

/// A record of a commit that vanished.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordToAttachView")]
struct StrandedView<'a> {
    /// The record.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
    /// Its agent.
    ai_id: &'a str,
    /// The task of a handoff or digest; null for other kinds.
    task: Option<&'a str>,
}

fn command(from: Oid, to: Oid) -> Command {
    empirica("doctor").flag("--fix").option("--to", format!("{from}={to}"))
}

fn task(record: &Record) -> Option<&str> {
    match &record.body {
        Body::Handoff(handoff) => Some(&handoff.task),
        Body::Digest(digest) => Some(&digest.task),
        _ => None,
    }
}

impl<'a> From<&'a Repair> for RepairView<'a> {
    fn from(repair: &'a Repair) -> Self {
        let (to, rule, candidates): (_, _, &[Candidate]) = match &repair.verdict {
            RepairVerdict::Attach { to, rule, .. } => (Some(to), Some(rule_words(*rule).0), &[]),
            RepairVerdict::Ambiguous(rule, candidates) => (None, Some(rule_words(Some(*rule)).0), candidates),
            RepairVerdict::Lost => (None, None, &[]),
        };
        let candidate = |one: &'a Candidate| CandidateView {
            commit: one.commit.to_string(),
            subject: &one.subject,
            date: &one.date,
            command: command(repair.from, one.commit),
        };
        let record = |record: &'a Record| StrandedView {
            id: &record.envelope.id,
            kind: record.body.kind(),
            ai_id: &record.envelope.ai,
            task: task(record),
        };
        RepairView {
            from: repair.from.to_string(),
            from_subject: repair.subject.as_deref(),
            to: to.map(|to| to.commit.to_string()),
            to_subject: to.map(|to| to.subject.as_str()),
            rule,
            state: State::from(&repair.verdict),
            candidates: candidates.iter().map(candidate).collect(),
            records: repair.records.iter().map(record).collect(),
        }
    }
}

fn text_of(repair: &Repair) -> String {
    let from = short(repair.from);
    let mut lines = Vec::new();
    let subject =
        repair.subject.as_ref().map_or_else(|| "(not in this clone)".to_owned(), |subject| safe::line(subject));
    match &repair.verdict {
        RepairVerdict::Attach { to, rule, done } => {
            let word = if *done { "attached" } else { "would attach" };
            lines.push(format!("{word} {from} → {} ({})\n  {subject}", short(to.commit), rule_words(*rule).1));
            lines.push(format!("  → {}", safe::line(&to.subject)));
        }
        RepairVerdict::Ambiguous(rule, candidates) => {
            let rule = rule_words(Some(*rule)).1;
            lines.push(format!("choose for {from} among {} ({rule})\n  {subject}", candidates.len()));
            for Candidate { commit, subject, date } in candidates {
                lines.push(format!("  → {} {} {}", short(*commit), format::date(date), safe::line(subject)));
                lines.push(format!("    {}", command(repair.from, *commit)));
            }
        }
        RepairVerdict::Lost => lines.push(format!("lost {from}: no commit here replaced it\n  {subject}")),
    }
    for record in &repair.records {
        let task = task(record).map(safe::line).filter(|task| !task.is_empty());
        let task = task.map_or_else(String::new, |task| format!(": {task}"));
        let kind = record.body.kind().replace('_', " ");
        lines.push(format!("  {kind} {} by {}{task}", record.envelope.id.short(), safe::line(&record.envelope.ai)));
        if repair.verdict == RepairVerdict::Lost {
            lines.push(format!("    {}", empirica("show").arg(record.envelope.id.short())));
        }
    }
    lines.join("\n") + "\n"
}

/// The repairs as views and as text.
pub(crate) fn listed(outcome: &RepairOutcome) -> (Vec<RepairView<'_>>, String) {
    let texts: Vec<String> = outcome.repairs.iter().map(text_of).collect();
    (outcome.repairs.iter().map(RepairView::from).collect(), texts.join("\n"))
}

pub fn answer(outcome: &RepairOutcome) -> Answer {
    let (repairs, listed) = listed(outcome);
    let text = match repairs.len() {
        0 if outcome.unborn => "Nothing to repair: HEAD has no commit yet.\n".to_owned(),
        0 => "Nothing to repair: every handoff has its commit.\n".to_owned(),
        _ => listed,
    };
    let view = RepairsView { total_found: repairs.len(), repairs, applied: outcome.applied };
    summarize(outcome, Answer::new(view).text(text).stored(&outcome.stored)).paged()
}

/// Adds how many repairs have each state, and the next steps.
pub(crate) fn summarize(outcome: &RepairOutcome, mut answer: Answer) -> Answer {
    let count = |state| outcome.repairs.iter().filter(|repair| State::from(&repair.verdict) == state).count();
    let (would, ambiguous) = (count(State::WouldAttach), count(State::Ambiguous));
    let counted = [
        (would, "would be attached"),
        (count(State::Attached), "are attached"),
        (ambiguous, "wait for your choice"),
        (count(State::Lost), "have no target; they stay readable"),
    ];
    for (number, what) in counted.into_iter().filter(|(number, _)| *number > 0) {
        answer = answer.say(format!("The handoffs of {} {what}.", format::count(number, "commit")));
    }
    if would > 0 {
        answer = answer.hint(text!["nothing was written; to apply it: ", empirica("doctor").flag("--fix")]);
    }
    if ambiguous > 0 {
        answer = answer.hint("to choose, run one of the commands that name a commit with --to");
    }
    answer
}

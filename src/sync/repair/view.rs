//! Handoffs whose commits vanished: each commit with its handoffs, their targets, and the user's choices.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::sync::repair::{Candidate, Repair, RepairOutcome, RepairVerdict};
use empirica_notes::error::{Command, empirica, text};
use empirica_notes::git::Oid;
use empirica_notes::git::rewrites::Rule;
use empirica_notes::model::{Body, Id, Record};

fn short(commit: Oid) -> String {
    commit.to_hex_with_len(8).to_string()
}

fn rule_name(rule: Option<Rule>) -> &'static str {
    match rule {
        None => "chosen",
        Some(Rule::CommitMap) => "commit_map",
        Some(Rule::RangePatchId) => "range_patch_id",
        Some(Rule::PatchId) => "patch_id",
        Some(Rule::TreeAuthorDate) => "tree_author_date",
        Some(Rule::Tree) => "tree",
        Some(Rule::Amend) => "amend",
    }
}

fn rule_text(rule: Option<Rule>) -> &'static str {
    match rule {
        None => "as you chose",
        Some(Rule::CommitMap) => "filter-repo's commit map names it",
        Some(Rule::RangePatchId) => "the patch of the whole branch",
        Some(Rule::PatchId) => "the same patch",
        Some(Rule::TreeAuthorDate) => "the same tree, author and date",
        Some(Rule::Tree) => "the same tree; the old commit is not here, so nothing else can be compared",
        Some(Rule::Amend) => "amended, says the reflog",
    }
}

/// What becomes of the records of a commit.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
enum State {
    /// They belong to the commit `to`; with `--fix` they are attached to it.
    WouldAttach,
    /// They are attached to the commit `to`.
    Attached,
    /// Several commits can have taken its place: choose one of `candidates`.
    Ambiguous,
    /// No commit here took its place.
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

/// The handoffs whose commits vanished.
#[derive(Serialize, JsonSchema)]
pub struct RepairsView<'a> {
    /// The commits; empty when there is nothing to do.
    repairs: Vec<RepairView<'a>>,
    /// How many they are.
    total_found: usize,
    /// Whether `--fix` (`--apply`) was given.
    applied: bool,
}

/// A commit that is not in HEAD's history, and what becomes of its records.
#[derive(Serialize, JsonSchema)]
pub struct RepairView<'a> {
    /// The commit that has the records.
    from: String,
    /// Its subject; null when the commit is not in this clone.
    from_subject: Option<&'a str>,
    /// The commit that took its place; null unless there is exactly one.
    to: Option<String>,
    /// Its subject.
    to_subject: Option<&'a str>,
    /// How that is known: `commit_map`, `range_patch_id`, `patch_id`, `tree_author_date`, `tree`, `amend`, or `chosen` with `--to`;
    /// null when it is lost.
    rule: Option<&'static str>,
    /// What becomes of the records.
    state: State,
    /// The commits to choose from when it is ambiguous, newest first.
    candidates: Vec<CandidateView<'a>>,
    /// The handoffs and digests there; with `--to`, and when there is none of these, all records.
    records: Vec<StrandedView<'a>>,
}

/// A commit that can have taken the place of another.
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
    /// What a handoff or digest is about; null for other kinds.
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
            RepairVerdict::Attach { to, rule, .. } => (Some(to), Some(rule_name(*rule)), &[]),
            RepairVerdict::Ambiguous(rule, candidates) => (None, Some(rule_name(Some(*rule))), candidates),
            RepairVerdict::Lost => (None, None, &[]),
        };
        let candidate = |one: &'a Candidate| CandidateView {
            commit: one.commit.to_string(),
            subject: &one.subject,
            date: &one.date,
            command: command(repair.from, one.commit),
        };
        let record = |record: &'a Record| StrandedView {
            id: &record.head.id,
            kind: record.body.kind(),
            ai_id: &record.head.ai,
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
    match &repair.verdict {
        RepairVerdict::Attach { to, rule, done } => {
            let word = if *done { "attached" } else { "would attach" };
            lines.push(format!("{word} {from} → {} ({})", short(to.commit), rule_text(*rule)));
            lines.push(format!("  {}", shown_subject(repair)));
            lines.push(format!("  → {}", safe::line(&to.subject)));
        }
        RepairVerdict::Ambiguous(rule, candidates) => {
            lines.push(format!("choose for {from} among {} ({})", candidates.len(), rule_text(Some(*rule))));
            lines.push(format!("  {}", shown_subject(repair)));
            for one in candidates {
                let subject = safe::line(&one.subject);
                lines.push(format!("  → {} {} {subject}", short(one.commit), format::date(&one.date)));
                lines.push(format!("    {}", command(repair.from, one.commit)));
            }
        }
        RepairVerdict::Lost => {
            lines.push(format!("lost {from}: no commit here took its place"));
            lines.push(format!("  {}", shown_subject(repair)));
        }
    }
    for record in &repair.records {
        let said = safe::line(task(record).unwrap_or_default());
        let kind = record.body.kind().replace('_', " ");
        let colon = if said.is_empty() { "" } else { ": " };
        lines.push(format!("  {kind} {} by {}{colon}{said}", record.head.id.short(), safe::line(&record.head.ai)));
        if repair.verdict == RepairVerdict::Lost {
            lines.push(format!("    {}", empirica("show").arg(record.head.id.short())));
        }
    }
    lines.join("\n") + "\n"
}

fn shown_subject(repair: &Repair) -> String {
    repair.subject.as_ref().map_or_else(|| "(not in this clone)".to_owned(), |subject| safe::line(subject))
}

/// The repairs as views and as text.
pub(crate) fn listed(outcome: &RepairOutcome) -> (Vec<RepairView<'_>>, String) {
    let texts: Vec<String> = outcome.repairs.iter().map(text_of).collect();
    (outcome.repairs.iter().map(RepairView::from).collect(), texts.join("\n"))
}

/// The answer of `doctor --repairs`.
pub fn answer(outcome: &RepairOutcome) -> Answer {
    let (repairs, listed) = listed(outcome);
    let text = match repairs.len() {
        0 if outcome.unborn => "Nothing to repair: HEAD has no commit yet.\n".to_owned(),
        0 => "Nothing to repair: every handoff has its commit.\n".to_owned(),
        _ => listed,
    };
    let view = RepairsView { total_found: repairs.len(), repairs, applied: outcome.applied };
    told(outcome, Answer::new(view).text(text).stored(&outcome.stored)).paged()
}

/// Says how many there are of each kind, and what to do.
pub(crate) fn told(outcome: &RepairOutcome, mut answer: Answer) -> Answer {
    let count = |wanted| outcome.repairs.iter().filter(|repair| State::from(&repair.verdict) == wanted).count();
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

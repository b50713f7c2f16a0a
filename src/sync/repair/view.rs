//! Handoffs whose commits vanished: each commit with its handoffs, where they belong, and what is left to the user.

use serde_json::{Value, json};

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::sync::repair::{Candidate, Repair, RepairOutcome, RepairVerdict};
use empirica_notes::error::{Command, empirica, text};
use empirica_notes::git::Oid;
use empirica_notes::git::rewrites::Rule;
use empirica_notes::model::{Body, Record};

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

fn state(verdict: &RepairVerdict) -> &'static str {
    match verdict {
        RepairVerdict::Attach { done: true, .. } => "attached",
        RepairVerdict::Attach { .. } => "would_attach",
        RepairVerdict::Ambiguous(..) => "ambiguous",
        RepairVerdict::Lost => "lost",
    }
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

fn json_of(repair: &Repair) -> Value {
    let (to, rule, candidates): (Option<&Candidate>, Value, &[Candidate]) = match &repair.verdict {
        RepairVerdict::Attach { to, rule, .. } => (Some(to), json!(rule_name(*rule)), &[]),
        RepairVerdict::Ambiguous(rule, candidates) => (None, json!(rule_name(Some(*rule))), candidates),
        RepairVerdict::Lost => (None, Value::Null, &[]),
    };
    let candidates: Vec<Value> = candidates
        .iter()
        .map(|one| {
            json!({
                "commit": one.commit.to_string(), "subject": one.subject, "date": one.date,
                "command": command(repair.from, one.commit),
            })
        })
        .collect();
    let records: Vec<Value> = repair
        .records
        .iter()
        .map(|record| {
            json!({
                "id": record.head.id, "kind": record.body.kind(), "ai_id": record.head.ai, "task": task(record),
            })
        })
        .collect();
    json!({
        "from": repair.from.to_string(),
        "from_subject": repair.subject,
        "to": to.map(|to| to.commit.to_string()),
        "to_subject": to.map(|to| &to.subject),
        "rule": rule,
        "state": state(&repair.verdict),
        "candidates": candidates,
        "records": records,
    })
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

/// The repairs as JSON and as text.
pub(crate) fn listed(outcome: &RepairOutcome) -> (Vec<Value>, String) {
    let texts: Vec<String> = outcome.repairs.iter().map(text_of).collect();
    (outcome.repairs.iter().map(json_of).collect(), texts.join("\n"))
}

/// The answer of `doctor --repairs`.
pub fn answer(outcome: &RepairOutcome) -> Answer {
    let (repairs, listed) = listed(outcome);
    let json = json!({"repairs": repairs, "total_found": repairs.len(), "applied": outcome.applied});
    let text = match repairs.len() {
        0 if outcome.unborn => "Nothing to repair: HEAD has no commit yet.\n".to_owned(),
        0 => "Nothing to repair: no handoff has lost its commit.\n".to_owned(),
        _ => listed,
    };
    told(outcome, Answer::new(json).text(text).stored(&outcome.stored)).paged()
}

/// Says how many there are of each kind, and what to do.
pub(crate) fn told(outcome: &RepairOutcome, mut answer: Answer) -> Answer {
    let count = |wanted: &str| outcome.repairs.iter().filter(|repair| state(&repair.verdict) == wanted).count();
    let (would, attached, ambiguous, lost) =
        (count("would_attach"), count("attached"), count("ambiguous"), count("lost"));
    let counted = [
        (would, "would be attached"),
        (attached, "are attached"),
        (ambiguous, "wait for your choice"),
        (lost, "have nowhere to go; they stay readable"),
    ];
    for (number, what) in counted.into_iter().filter(|(number, _)| *number > 0) {
        answer = answer.say(format!("The handoffs of {} {what}.", format::count(number, "commit")));
    }
    if would > 0 {
        answer = answer.hint(text!["nothing was written; to do it: ", empirica("doctor").flag("--fix")]);
    }
    if ambiguous > 0 {
        answer = answer.hint("to choose, run one of the commands that name a commit with --to");
    }
    answer
}

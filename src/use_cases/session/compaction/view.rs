//! The answer of a checkpoint after a compaction: one block of context for injection.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::render::answer::Answer;
use crate::render::budget::OutputForm;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::shorten::short;
use crate::text::tokens;
use crate::use_cases::checkpoint;
use crate::use_cases::checkpoint::compare::operand::Operand;
use crate::use_cases::checkpoint::diff::view::{DiffView, details, sentence};
use crate::use_cases::checkpoint::save::CheckpointOutcome as Taken;
use crate::use_cases::session::compaction::CompactionOutcome;
use crate::use_cases::session::project_overview;
use empirica_notes::error::{Result, empirica};
use empirica_notes::model::Id;

/// The most tokens of the block without `--budget`.
pub const BUDGET: usize = 1500;
/// The longest quotation, in characters.
const QUOTED: usize = 300;
/// The fewest tokens for the project.
const LEAST: usize = 60;

/// The loss of a compaction.
#[derive(Serialize, JsonSchema)]
struct LostView<'a> {
    #[serde(flatten)]
    diff: DiffView<'a>,
    /// The checkpoint before the compaction.
    pre_checkpoint_id: Option<&'a Id>,
}

/// The keys of `checkpoint --trigger post_compact` beside those of the checkpoint.
#[derive(Serialize, JsonSchema)]
pub struct CompactionView<'a> {
    /// The difference from the session's newest checkpoint with `--trigger pre_compact`, else from the newest such of an agent
    /// of that name in this worktree; null without one.
    compaction: Option<LostView<'a>>,
    /// The project, with the keys of `status --all` but `token_count`.
    bootstrap: Map<String, Value>,
    /// The block that is printed as text, at most `--budget` tokens (1,500).
    context: &'a str,
}

/// The block as text, and in JSON beside the checkpoint's keys, of `budget` tokens at most: the report of the loss, then the
/// project in the rest.
pub fn answer(
    taken: &Taken,
    outcome: &CompactionOutcome,
    budget: usize,
    form: OutputForm,
    terminal: &mut Templates,
) -> Result<Answer> {
    let report = report(outcome, budget);
    let room = budget.saturating_sub(tokens::estimate(&report)).max(LEAST);
    let project = project_overview::view::fitted(&outcome.project, room, OutputForm::Text, terminal)?.text;
    let block = format!("{report}\n{project}");
    let mut answer = checkpoint::view::taken(taken);
    answer.messages.clear();
    answer = answer.text(block.clone()).warn(outcome.project.warnings.clone());
    if form == OutputForm::Json {
        let project = project_overview::view::fitted(&outcome.project, room, OutputForm::Json, terminal)?.json;
        let compared = outcome.compared.as_ref();
        let compaction =
            compared.map(|compared| LostView { diff: compared.into(), pre_checkpoint_id: compared.a.id.as_ref() });
        answer = answer.with(CompactionView { compaction, bootstrap: project, context: &block });
    }
    Ok(answer)
}

/// The state before: phase, task, goal and the last reasoning.
fn place(before: &Operand) -> String {
    let phase = before.phase.map(|phase| match before.round {
        Some(round) => format!("{} {round}", phase.name()),
        None => phase.name().to_owned(),
    });
    let cycle = before.cycle.map(|cycle| format!("cycle {cycle}"));
    let stood: Vec<String> = phase.into_iter().chain(cycle).collect();
    let mut lines = Vec::new();
    if !stood.is_empty() {
        lines.push(format!("Then: {}.", stood.join(", ")));
    }
    lines.extend(before.context.iter().map(|text| format!("- {}", safe::item(&short(text, QUOTED)))));
    let latest = before.reasoning.last();
    lines.extend(latest.map(|text| format!("- reasoning: {}", safe::item(&short(text, QUOTED)))));
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

/// The report of the loss, within half of the budget.
fn report(outcome: &CompactionOutcome, budget: usize) -> String {
    let Some(compared) = &outcome.compared else {
        return format!(
            "# After the compaction\n\nNo checkpoint was taken before it: what was lost is not known. Take one next time \
             with: {}\n",
            empirica("checkpoint").option("--trigger", "pre_compact")
        );
    };
    let pre = compared.a.id.as_ref().map_or("", |id| id.short());
    if outcome.is_brief {
        let command = empirica("diff").arg(pre);
        return format!("# After the compaction\n\nWhat was lost since checkpoint {pre}: {command}\n");
    }
    let head = format!(
        "# After the compaction: {}\n\nCompared with checkpoint {pre} of {}. All of it: {}\n",
        sentence(&compared.comparison),
        format::date(&compared.a.at),
        empirica("diff").arg(pre)
    );
    let mut out = format!("{head}{}", place(&compared.a));
    for line in details(&compared.comparison).lines() {
        let next = format!("{out}{line}\n");
        if tokens::estimate(&next) > budget / 2 {
            break;
        }
        out = next;
    }
    out
}

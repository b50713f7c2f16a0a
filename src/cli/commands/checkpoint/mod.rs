//! `checkpoint`, and the commands below it.

use crate::checkpoint::{save, snapshot, view};
use crate::cli::commands::assess::assessment::About;
use crate::cli::commands::prelude::*;
use crate::session::compaction;
use empirica_notes::model::{Phase, Trigger};

mod list;
mod show;

/// Record where the work stands: vectors, goals, findings, changed files
///
/// Of each vector that is not given, the newest value that an assessment of the session gave is taken and marked so. Lists hold the 5 newest entries, and all of it
/// at most 16 KiB; the records themselves are whole. After a compaction (--trigger post_compact) it prints what a new
/// context needs, and what was lost since the checkpoint before it.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Checkpoint {
    #[command(subcommand)]
    pub command: Option<CheckpointCommand>,
    /// Where in the workflow [default: as last said, by an assessment or a checkpoint]
    #[arg(long, value_name = "PHASE", ignore_case = true)]
    #[arg(value_parser = one_of([
        ("preflight", Phase::Preflight),
        ("check", Phase::Check),
        ("act", Phase::Act),
        ("postflight", Phase::Postflight),
    ]))]
    pub phase: Option<Phase>,
    /// Which one of its phase, from 1 [default: that of the phase's last assessment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub round: Option<u32>,
    /// Why it is taken
    #[arg(long, value_name = "TRIGGER", default_value = "manual")]
    #[arg(value_parser = one_of([
        ("manual", Trigger::Manual),
        ("pre_compact", Trigger::PreCompact),
        ("post_compact", Trigger::PostCompact),
    ]))]
    pub trigger: Trigger,
    /// The most tokens of what is printed after a compaction, 200 or more [default: 1500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(200..), hide_short_help = true)]
    pub budget: Option<u32>,
    /// Add the 5 records that match QUERY best, as search finds them, to the checkpoint; without a QUERY, those that match
    /// the task, the goal and the recent findings and unknowns, and are none of these
    #[arg(long, alias = "semantic-search", value_name = "QUERY", num_args = 0..=1, default_missing_value = "")]
    pub search: Option<String>,
    /// The name that other programs know --search QUERY by
    #[arg(long, hide = true, value_name = "QUERY", conflicts_with = "search")]
    pub semantic_query: Option<String>,
    #[command(flatten)]
    pub about: About,
}

/// The commands below `checkpoint`.
#[derive(Debug, Subcommand)]
pub enum CheckpointCommand {
    List(list::List),
    Show(show::Show),
}

impl Checkpoint {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        match self.command {
            Some(CheckpointCommand::List(list)) => return list.run(context),
            Some(CheckpointCommand::Show(show)) => return show.run(context),
            None => {}
        }
        let (said, asked) = self.about.request(&mut context.input())?;
        let request = snapshot::SnapshotRequest {
            phase: self.phase,
            round: self.round,
            trigger: self.trigger,
            vectors: said.vectors,
            reasoning: said.reasoning,
            cycle: said.cycle,
            scope: said.scope,
            tags: said.tags,
            metadata: said.meta,
            search: self.semantic_query.or(self.search),
        };
        let is_after_compaction = self.trigger == Trigger::PostCompact;
        if self.budget.is_some() && !is_after_compaction {
            return Err(Error::usage("--budget is for checkpoints after a compaction")
                .reason("only with --trigger post_compact is there anything to bound")
                .suggest("Leave it out, or add --trigger post_compact."));
        }
        let opened = context.open(asked)?;
        let taken = save::run(&opened, request)?;
        if !is_after_compaction {
            return Ok(view::taken(&taken));
        }
        let outcome = compaction::run(&opened, &taken)?;
        let budget = self.budget.map_or(compaction::view::BUDGET, |budget| budget as usize);
        compaction::view::answer(&taken, &outcome, budget, context.form(), &mut context.templates()?)
    }
}

//! `checkpoint`, and the commands below it.

use crate::cli::commands::assess::assessment::AssessmentArguments;
use crate::cli::commands::prelude::*;
use crate::use_cases::checkpoint::{save, snapshot, view};
use crate::use_cases::session::compaction;
use crate::use_cases::session::project_overview::Extent;
use empirica_notes::model::{Phase, Trigger};

mod list;
mod show;

/// Record the state of the work: vectors, goals, findings, changed files
///
/// A missing vector gets its newest value from an assessment of the session, and is marked. Lists hold the 5 newest entries,
/// and all of it at most 16 KiB; the records themselves stay whole. After a compaction (--trigger post_compact) it prints
/// the content for a new context, and the losses since the previous checkpoint.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Checkpoint {
    #[command(subcommand)]
    pub command: Option<CheckpointCommand>,
    /// The phase of the workflow [default: that of the last assessment or checkpoint]
    #[arg(long, value_name = "PHASE", ignore_case = true)]
    #[arg(value_parser = one_of([
        ("preflight", Phase::Preflight),
        ("check", Phase::Check),
        ("act", Phase::Act),
        ("postflight", Phase::Postflight),
    ]))]
    pub phase: Option<Phase>,
    /// Its number within the phase, from 1 [default: that of the phase's last assessment]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), hide_short_help = true)]
    pub round: Option<u32>,
    /// The reason for it
    #[arg(long, value_name = "TRIGGER", default_value = "manual")]
    #[arg(value_parser = one_of([
        ("manual", Trigger::Manual),
        ("pre_compact", Trigger::PreCompact),
        ("post_compact", Trigger::PostCompact),
    ]))]
    pub trigger: Trigger,
    /// Most tokens of the text after a compaction, 200 or more [default: 1500]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(200..), hide_short_help = true)]
    pub budget: Option<u32>,
    /// Add the 5 records that match QUERY best, as in search; without a QUERY, the best other matches for the task, the goal
    /// and the recent findings and unknowns
    #[arg(long, alias = "semantic-search", value_name = "QUERY", num_args = 0..=1, default_missing_value = "")]
    pub search: Option<String>,
    /// Another name of --search QUERY, for other programs
    #[arg(long, hide = true, value_name = "QUERY", conflicts_with = "search")]
    pub semantic_query: Option<String>,
    #[command(flatten)]
    pub assessment: AssessmentArguments,
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
        let (assessment, selection) = self.assessment.request(&mut context.input())?;
        let request = snapshot::SnapshotRequest {
            phase: self.phase,
            round: self.round,
            trigger: self.trigger,
            vectors: assessment.vectors,
            reasoning: assessment.reasoning,
            cycle: assessment.cycle,
            scope: assessment.scope,
            tags: assessment.tags,
            metadata: assessment.meta,
            search: self.semantic_query.or(self.search),
        };
        let is_after_compaction = self.trigger == Trigger::PostCompact;
        if self.budget.is_some() && !is_after_compaction {
            return Err(Error::usage("cannot apply --budget: the checkpoint is not after a compaction")
                .reason("only --trigger post_compact prints a text to limit")
                .suggest("Leave it out, or add --trigger post_compact."));
        }
        let opened = context.open(selection)?;
        let taken = save::run(&opened, request)?;
        if !is_after_compaction {
            return Ok(view::taken(&taken));
        }
        let outcome = compaction::run(&opened, &taken, Extent::WHOLE)?;
        let budget = self.budget.map_or(compaction::view::BUDGET, |budget| budget as usize);
        compaction::view::answer(&taken, &outcome, budget, context.form(), &mut context.templates()?)
    }
}

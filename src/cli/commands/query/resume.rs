//! `resume`.

use crate::cli::commands::prelude::*;
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::session::resume::{self, view};

/// Show the handoffs of earlier sessions, and later changes
///
/// Fits each session into a budget of tokens: summary 400, detailed 800, full 1,250. Always includes next steps, open
/// unknowns and failed evidence; counts omitted parts, and names the command that shows them. A session without a handoff
/// gets a summary of its journal. For a handoff, shows later changes: commits, changed or missing artifacts, answered
/// questions, evidence older than the code.
#[derive(Debug, Args)]
pub struct Resume {
    /// Number of sessions, newest first, 1 to 5
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=5), conflicts_with = "session")]
    pub last: u8,
    /// The detail of each session
    #[arg(long, value_name = "LEVEL", default_value = "summary", value_parser = named(Detail::ALL, Detail::name))]
    pub detail: Detail,
    /// Most tokens of the whole answer, 100 or more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..))]
    pub budget: Option<u32>,
    #[command(flatten)]
    pub filter: Filter,
}

impl Resume {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let budget = self.budget.map(|budget| budget as usize);
        let wanted = view::ResumeForm { detail: self.detail, budget, form: context.form() };
        let outcome = resume::run(&context.open(self.filter)?, self.last as usize)?;
        view::answer(&outcome, wanted, &mut context.templates()?)
    }
}

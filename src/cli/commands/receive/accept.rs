//! `accept`.

use crate::cli::commands::prelude::*;
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::session::take_up;
use empirica_notes::model::Verdict;

/// Accept a handoff, with your understanding, decision and questions
///
/// The first session of the receiver that accepts a handoff owns it, and others are refused; what it hands over next continues the
/// task. Another agent's acknowledgement is a comment. It is stored with the handoffs, on HEAD; show lists it
/// with the handoff. A gap is information that the
/// handoff lacks: metrics count handoffs accepted without question or gap, and the next handoff of that type is checked
/// for it. A resolution continues an escalated task, and is logged as a decision and a pattern. A text can be `-`
/// (standard input) or `@FILE`.
#[derive(Debug, Args)]
pub struct Accept {
    /// The handoff's id, or a unique part of it
    #[arg(value_name = "HANDOFF")]
    pub handoff: String,
    /// The task in your own words
    #[arg(long, value_name = "TEXT")]
    pub understanding: Option<String>,
    /// Your decision: the task is complete, continues, goes to another person, or needs a better handoff
    #[arg(long, value_name = "DECISION", ignore_case = true)]
    #[arg(value_parser = named(Verdict::ALL, Verdict::name))]
    pub decision: Option<Verdict>,
    /// Instructions for the next step
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// A question; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    /// Information that the handoff lacks; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub gap: Vec<String>,
    /// The resolution of an escalated task, for its handoff
    #[arg(long, value_name = "TEXT")]
    pub resolution: Option<String>,
    /// Claim it although another session owns it, or it is for another agent
    #[arg(long)]
    pub take_over: bool,
    #[command(flatten)]
    pub author: Author,
}

impl Accept {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut input = context.input();
        let request = accept::AcceptRequest {
            handoff: self.handoff,
            understanding: input.optional(self.understanding)?,
            decision: self.decision,
            instructions: input.optional(self.instructions)?,
            questions: input.each(self.question)?,
            gaps: input.each(self.gap)?,
            resolution: input.optional(self.resolution)?,
            take_over: self.take_over,
        };
        let form = context.form();
        let outcome = take_up::run(&context.open(self.author)?, request)?;
        take_up::answer(&outcome, form, &mut context.templates()?)
    }
}

//! `accept`.

use crate::cli::commands::prelude::*;
use crate::handoff::receive::{accept, view};
use empirica_notes::model::Verdict;

/// Take up a handoff: what you understood, decide and have to ask
///
/// The acknowledgement is stored beside the handoffs, on HEAD, and show lists it with the handoff. What the handoff
/// should have said and did not is a gap: metrics count handoffs that were accepted without question or gap, and the next
/// handoff of that type is checked for it. A resolution lets an escalated task go on, and is kept as a decision and a
/// pattern. A text can be `-` (standard input) or `@FILE`.
#[derive(Debug, Args)]
pub struct Accept {
    /// The handoff's id, or a unique part of it
    #[arg(value_name = "HANDOFF")]
    pub handoff: String,
    /// The task in your own words
    #[arg(long, value_name = "TEXT")]
    pub understanding: Option<String>,
    /// What you decide: it is done, it goes on, somebody else must decide, or the handoff must be made better
    #[arg(long, value_name = "DECISION", ignore_case = true)]
    #[arg(value_parser = named([Verdict::Complete, Verdict::Continue, Verdict::Escalate, Verdict::Refine], Verdict::name))]
    pub decision: Option<Verdict>,
    /// What is to be done next
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// A question; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub question: Vec<String>,
    /// Something the handoff should have said; can be given several times
    #[arg(long, value_name = "TEXT")]
    pub gap: Vec<String>,
    /// How what was escalated is resolved; for a handoff of an escalated task
    #[arg(long, value_name = "TEXT")]
    pub resolution: Option<String>,
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
        };
        Ok(view::answer(&accept::run(&context.open(self.author)?, request)?))
    }
}

//! `diff`.

use crate::cli::commands::prelude::*;
use crate::use_cases::checkpoint::diff::{self, view};

/// Compare two checkpoints or handoffs, and list the losses
///
/// A name is the id of a checkpoint, assessment or handoff, or a session, for the newest of these. Compares one name with the
/// present state; without a name, compares the newest checkpoint of the active session with it.
#[derive(Debug, Args)]
pub struct Diff {
    /// The earlier one: a checkpoint, an assessment or a handoff by its id, or a session for its newest one [default: the
    /// session's newest checkpoint]
    #[arg(value_name = "A")]
    pub a: Option<String>,
    /// The later one, likewise [default: the present state]
    #[arg(value_name = "B")]
    pub b: Option<String>,
    #[command(flatten)]
    pub identity: Identity,
}

impl Diff {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let (a, b) = (self.a.as_deref(), self.b.as_deref());
        Ok(view::answer(&diff::run(&context.open(self.identity)?, a, b, Default::default())?))
    }
}

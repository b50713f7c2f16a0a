//! `handoff sign`.

use crate::cli::commands::prelude::*;
use crate::use_cases::handoff::sign;
use crate::use_cases::history::show::trust;

/// Sign a stored handoff with your git signing key; show --verify checks it
#[derive(Debug, Args)]
pub struct Sign {
    /// The handoff's id
    pub handoff: String,
    /// The signing agent [default: EMPIRICA_AI, empirica.ai, user.name]
    #[arg(long, value_name = "AI")]
    pub ai: Option<String>,
}

impl Sign {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let context = context.open(Selection { ai: self.ai, ..Default::default() })?;
        Ok(trust::signed(&sign::run(&context, &self.handoff)?))
    }
}

//! `instructions`.

use crate::cli::commands::prelude::*;
use crate::setup::agents::readers::Reader;
use crate::setup::agents::{instructions, view};

/// Print instructions for an agent, or keep them in the files agents read
///
/// With --write the text is kept in a marked block of the files agents read, such as AGENTS.md, CLAUDE.md and GEMINI.md: of
/// those that are there, else AGENTS.md is made. Nothing outside of the block is changed; what stands in it is replaced.
/// deinit takes the blocks out again.
#[derive(Debug, Args)]
pub struct Instructions {
    /// The agent: its words, and with --write its file only, which is made when it is not there
    #[arg(long, value_name = "AGENT", value_parser = named(Reader::all(), Reader::name))]
    pub agent: Option<Reader>,
    /// Write the block into the files instead of printing the text
    #[arg(long)]
    pub write: bool,
    /// Show which files --write would change and change none
    #[arg(long, requires = "write")]
    pub dry_run: bool,
}

impl Instructions {
    pub fn run(self, context: &mut Invocation) -> Result<Answer> {
        let mut templates = context.templates()?;
        let mut render = |file| view::text(file, &mut templates);
        if !self.write {
            return Ok(view::shown(self.agent, render(self.agent.map(Reader::file))?));
        }
        let written = instructions::write(context.repo()?, self.agent, self.dry_run, &mut render)?;
        Ok(view::written(self.agent, &written))
    }
}

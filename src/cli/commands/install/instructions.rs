//! `instructions`.

use crate::cli::commands::prelude::*;
use crate::use_cases::setup::agents::readers::Reader;
use crate::use_cases::setup::agents::{instructions, view};

/// Print instructions for an agent, or write them to the files that agents read
///
/// --write keeps the text in a marked block of the existing files that agents read, such as AGENTS.md, CLAUDE.md and
/// GEMINI.md, or of a new AGENTS.md. It replaces only the content of the block; deinit removes the blocks.
#[derive(Debug, Args)]
pub struct Instructions {
    /// The agent whose instructions to print; with --write, only its file, created if missing
    #[arg(long, value_name = "AGENT", value_parser = named(Reader::all(), Reader::name))]
    pub agent: Option<Reader>,
    /// Write the block to the files instead of printing the text
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

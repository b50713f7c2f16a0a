//! The context of a command: environment, repository, output.

use std::cell::OnceCell;

use super::input::Input;
use super::output::Output;
use super::progress::Progress;
use crate::context::{CommandContext, Selection, active};
use crate::render::answer::Answer;
use crate::render::budget;
use crate::render::color::Paint;
use crate::render::format::unreadable;
use crate::render::template::Templates;
use crate::use_cases::handoff::note::BuiltIn;
use empirica_notes::env::Env;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;

/// Serves one MCP client on the process's streams, listing all tools if true, else the core tools, and returns the exit
/// code.
pub type Serve<'a> = &'a dyn Fn(bool) -> u8;

/// The context of one command.
pub struct Invocation<'a> {
    pub env: &'a Env,
    /// Empty until the first use.
    pub repo: &'a OnceCell<Repository>,
    pub output: &'a mut Output,
    /// Defines the whole command line.
    pub program: fn() -> clap::Command,
    /// `None` in a program built without the MCP server.
    pub serve: Option<Serve<'a>>,
}

impl<'a> Invocation<'a> {
    /// The repository of the current folder.
    pub fn repo(&self) -> Result<&'a Repository> {
        match self.repo.get() {
            Some(repo) => Ok(repo),
            None => Repository::discover(self.env).map(|repo| self.repo.get_or_init(|| repo)),
        }
    }

    /// The context of a use case.
    pub fn open(&self, selection: impl Into<Selection>) -> Result<CommandContext<'a>> {
        let context = CommandContext::new(self.env, self.repo()?, &BuiltIn, selection.into())?;
        context.index_cache.on_progress(Box::new(Progress::counting(self.output, "indexing notes")));
        Ok(context)
    }

    /// The reader of texts in arguments. Create one per command: it reads standard input once.
    pub fn input(&mut self) -> Input<'_> {
        Input::new(self.output.stdin())
    }

    /// The user's templates.
    pub fn templates(&self) -> Result<Templates> {
        Ok(Templates::for_terminal(self.repo()?.config_path("empirica.templateDir")))
    }

    /// The form of the answer that a token budget limits.
    pub fn form(&self) -> budget::OutputForm {
        if self.output.as_json { budget::OutputForm::Json } else { budget::OutputForm::Text }
    }

    /// The colors of standard output.
    pub fn paint(&self) -> Result<Paint> {
        Ok(self.output.paint(self.env, Some(self.repo()?)))
    }

    /// Writes an answer, and returns the exit code.
    pub fn finish(&mut self, answer: Answer) -> Result<u8> {
        let repo = self.repo.get();
        let mut answer = answer.warn(repo.and_then(|repo| unreadable(&repo.unreadable_notes())));
        if !answer.hints_once.is_empty() && self.output.shows_hints(repo) {
            let context = self.open(Selection::default())?;
            let once = std::mem::take(&mut answer.hints_once).into_iter();
            let new = once.filter(|(session, kind, _)| active::takes_hint(&context, session, kind));
            answer.hints.extend(new.map(|(.., hint)| hint));
        }
        self.output.answer(&answer, self.env, repo)?;
        Ok(answer.exit_code())
    }
}

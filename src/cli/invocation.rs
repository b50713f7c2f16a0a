//! What a command works with: the environment, the repository, and where its answer goes.

use std::cell::OnceCell;

use super::input::Input;
use super::output::Output;
use super::progress::Progress;
use crate::context::{CommandContext, Selection, active};
use crate::handoff::note::BuiltIn;
use crate::render::answer::Answer;
use crate::render::budget;
use crate::render::color::Paint;
use crate::render::format::unreadable;
use crate::render::template::Templates;
use empirica_notes::env::Env;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;

/// Serves one MCP client on the process's own streams, with all tools or the core ones, and returns the exit code.
pub type Serve<'a> = &'a dyn Fn(bool) -> u8;

/// The context of one command.
pub struct Invocation<'a> {
    pub env: &'a Env,
    /// Empty until a command asks for it.
    pub repo: &'a OnceCell<Repository>,
    pub output: &'a mut Output,
    /// The definition of the whole command line.
    pub program: fn() -> clap::Command,
    /// Serves an MCP client; `None` in a program that was built without it.
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
    pub fn open(&self, asked: impl Into<Selection>) -> Result<CommandContext<'a>> {
        let context = CommandContext::new(self.env, self.repo()?, &BuiltIn, asked.into())?;
        context.opener.on_progress(Box::new(Progress::counting(self.output, "indexing notes")));
        Ok(context)
    }

    /// The texts of the arguments. A command has one, as standard input is read once.
    pub fn input(&mut self) -> Input<'_> {
        Input::new(self.output.stdin())
    }

    /// The user's templates.
    pub fn templates(&self) -> Result<Templates> {
        Ok(Templates::for_terminal(self.repo()?.config_path("empirica.templateDir")))
    }

    /// The form that a budget of tokens is for.
    pub fn form(&self) -> budget::OutputForm {
        if self.output.as_json { budget::OutputForm::Json } else { budget::OutputForm::Text }
    }

    /// The colours of standard output.
    pub fn paint(&self) -> Result<Paint> {
        Ok(self.output.paint(self.env, Some(self.repo()?)))
    }

    /// Writes an answer, and returns the exit code.
    pub fn finish(&mut self, answer: Answer) -> Result<u8> {
        let repo = self.repo.get();
        let mut answer = answer.warn(repo.and_then(|repo| unreadable(&repo.unreadable())));
        if !answer.hints_once.is_empty() && self.output.gives_hints(repo) {
            let context = self.open(Selection::default())?;
            let once = std::mem::take(&mut answer.hints_once).into_iter();
            let new = once.filter(|(session, kind, _)| active::takes_hint(&context, session, kind));
            answer.hints.extend(new.map(|(.., hint)| hint));
        }
        self.output.answer(&answer, self.env, repo)?;
        Ok(answer.exit_code())
    }
}

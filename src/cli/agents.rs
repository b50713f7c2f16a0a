//! From the commands between and about agents to their answers: `accept`, `answer`, `task`, `collect`, `init`, `instructions`.

use super::args::TaskCommand;
use super::dispatch::Here;
use super::input::Input;
use super::{args, requests};
use crate::context::Selection;
use crate::handoff::receive::{accept, answer};
use crate::render::answer::Answer;
use crate::session::collect;
use crate::setup::agents::instructions;
use crate::setup::agents::readers::Reader;
use crate::setup::init;
use crate::task;
use empirica_notes::error::Result;
use empirica_transcripts::model::Agent;

impl Here<'_> {
    pub(super) fn accept(&mut self, given: args::Accept) -> Result<Answer> {
        let (request, asked) = requests::accept(given, &mut Input::new(self.output.stdin()))?;
        Ok(crate::handoff::receive::view::answer(&accept::run(&self.context(asked)?, request)?))
    }

    pub(super) fn answer_to(&mut self, given: args::AnswerTo) -> Result<Answer> {
        let text = Input::new(self.output.stdin()).text(given.text)?;
        Ok(crate::handoff::receive::view::answered(&answer::run(&self.context(given.who)?, &given.question, &text)?))
    }

    pub(super) fn collect(&mut self, given: args::Collect) -> Result<Answer> {
        let request = collect::CollectRequest {
            path: given.transcript,
            agent: given.agent.map(Agent::from),
            dry_run: given.dry_run,
        };
        Ok(crate::session::collect::view::answer(&collect::run(&self.context(given.who)?, &request)?))
    }

    pub(super) fn init(&mut self, given: args::Init) -> Result<Answer> {
        let context = self.context(Selection::default())?;
        let request = requests::init(given)?;
        let outcome = init::run(&context, &request, &mut |agents| {
            // at an agent's terminal nobody answers
            if self.env.agent().is_some() {
                return Ok(None);
            }
            let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
            self.output.ask(&format!("Enter hooks and MCP tools into the files of {} here?", names.join(", ")))
        })?;
        Ok(crate::setup::view::set_up(&outcome))
    }

    pub(super) fn instructions(&mut self, given: args::Instructions) -> Result<Answer> {
        let reader = given.agent.map(Reader::from);
        if !given.write {
            let text = crate::setup::agents::view::text(reader.map(Reader::file), &mut self.terminal)?;
            return Ok(crate::setup::agents::view::shown(reader, text));
        }
        let mut render = |file| crate::setup::agents::view::text(file, &mut self.terminal);
        Ok(crate::setup::agents::view::written(
            reader,
            &instructions::write(self.repo, reader, given.dry_run, &mut render)?,
        ))
    }

    pub(super) fn task(&mut self, command: TaskCommand) -> Result<Answer> {
        let context = self.context(Selection::default())?;
        Ok(match command {
            TaskCommand::Show { task, .. } => {
                let (task, warnings) = task::list::show(&context, &task)?;
                crate::task::view::shown(&task, warnings)
            }
            TaskCommand::List { open, .. } => {
                let (tasks, warnings) = task::list::list(&context, open)?;
                crate::task::view::list(&tasks, open, warnings)
            }
        })
    }
}

//! `hook`.

use clap::builder::PossibleValuesParser;

use crate::cli::commands::prelude::*;
use crate::render::safe;
use crate::use_cases::handoff::note::BuiltIn;
use crate::use_cases::hooks::{self, GitHook};
use crate::use_cases::setup::agents::entries::PLUGIN;

/// Run an installed hook of git or, with agent NAME EVENT, of an agent
///
/// A git hook reads git's input for it. It prints little and never blocks: failures go to a log in the git directory, which
/// doctor reads, and no record is lost. Exits with 0, except pre-push with empirica.strict, which exits with 1 if it cannot
/// sync the notes.
///
/// An agent's hook reads the agent's JSON on standard input, answers in the agent's format if it has text for the model, logs
/// failures likewise, and always exits with 0.
#[derive(Debug, Args)]
pub struct Hook {
    /// The hook
    #[arg(value_name = "NAME", value_parser = names())]
    pub name: String,
    /// The arguments from git, or the agent and its event
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(GitHook::ALL.map(GitHook::name).into_iter().chain(["agent"]))
}

impl Hook {
    /// Runs the hook, and returns the exit code; 0 lets git or the agent continue.
    pub fn run(self, context: &mut Invocation) -> Result<u8> {
        Ok(match GitHook::ALL.into_iter().find(|hook| hook.name() == self.name) {
            Some(name) => self.git(name, context),
            None => self.agent(context),
        })
    }

    fn git(self, name: GitHook, context: &mut Invocation) -> u8 {
        let (env, output) = (context.env, &mut *context.output);
        let mut input = Vec::new();
        if name.reads_input() {
            // doctor finds commits that are not read here
            let _ = output.stdin().read_to_end(&mut input);
        }
        let outcome = hooks::run(env, &BuiltIn, &hooks::HookCall { name, arguments: self.arguments, input });
        // the reader may have closed the stream
        let _ = outcome.messages.iter().try_for_each(|text| output.say(&safe::lines(text)));
        let _ = output.notices(&outcome.warnings, &[]);
        u8::from(outcome.stops)
    }

    /// Writes the answer for an agent, if any, to standard output.
    fn agent(self, context: &mut Invocation) -> u8 {
        if let [agent, event, rest @ ..] = self.arguments.as_slice()
            && let in_plugin = rest.first().is_some_and(|word| word == PLUGIN)
            && let Some(answer) =
                hooks::agent::call::run(context.env, &BuiltIn, agent, event, in_plugin, context.output.stdin())
        {
            // the reader may have closed the stream
            let _ = context.output.json(answer);
        }
        0
    }
}

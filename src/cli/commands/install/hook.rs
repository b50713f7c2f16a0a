//! `hook`.

use crate::cli::commands::prelude::*;
use crate::handoff::note::BuiltIn;
use crate::hooks::{self, GitHook};
use crate::render::safe;

/// Run a hook that init installed: one of git's, or with agent NAME EVENT an agent's
///
/// A hook of an agent reads the agent's JSON on standard input, answers in the agent's form when there is something to put before its model, and
/// always ends with 0: what goes wrong is written to the same log, which doctor reads.
///
/// Reads what git gives that hook. It says little and waits for nobody: what goes wrong is written to a log in the git
/// directory, and no record is lost. It does not fail, except pre-push with empirica.strict, which ends with 1 when the
/// notes could not be synced.
#[derive(Debug, Args)]
pub struct Hook {
    /// The hook
    #[arg(value_name = "NAME")]
    #[arg(value_parser = one_of([
        ("post-commit", HookName::Git(GitHook::PostCommit)),
        ("post-applypatch", HookName::Git(GitHook::PostApplypatch)),
        ("post-merge", HookName::Git(GitHook::PostMerge)),
        ("post-rewrite", HookName::Git(GitHook::PostRewrite)),
        ("pre-push", HookName::Git(GitHook::PrePush)),
        ("agent", HookName::Agent),
    ]))]
    pub name: HookName,
    /// What git tells the hook
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// A hook of git's, or those of agents.
#[derive(Debug, Clone, Copy)]
pub enum HookName {
    Git(GitHook),
    Agent,
}

impl Hook {
    /// Runs the hook, and returns the exit code: 0 if its caller can go on.
    pub fn run(self, context: &mut Invocation) -> Result<u8> {
        Ok(match self.name {
            HookName::Git(name) => self.git(name, context),
            HookName::Agent => self.agent(context),
        })
    }

    fn git(self, name: GitHook, context: &mut Invocation) -> u8 {
        let (env, output) = (context.env, &mut *context.output);
        let mut input = Vec::new();
        if name.reads_input() {
            // doctor finds the commits that could not be read
            let _ = output.stdin().read_to_end(&mut input);
        }
        let outcome = hooks::run(env, &BuiltIn, &hooks::HookCall { name, arguments: self.arguments, input });
        // nobody may be there to read it
        let _ = outcome.messages.iter().try_for_each(|text| output.say(&safe::lines(text)));
        let _ = output.notices(&outcome.warnings, &[]);
        u8::from(outcome.stops)
    }

    /// Standard output has the answer of an agent's hook, or nothing.
    fn agent(self, context: &mut Invocation) -> u8 {
        if let [agent, event, ..] = self.arguments.as_slice()
            && let Some(answer) = hooks::agent::call::run(context.env, &BuiltIn, agent, event, context.output.stdin())
        {
            // nobody may be there to read it
            let _ = context.output.write(&format!("{}\n", safe::json(&answer))).and_then(|()| context.output.flush());
        }
        0
    }
}

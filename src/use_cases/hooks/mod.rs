//! Git hooks: message, commit, merge, rewrite and push. They never fail and never block.

pub mod agent;
mod commit;
pub mod digest;
pub mod errors;
mod rewrite;
mod trailer;

use crate::context::{CommandContext, Selection};
use crate::use_cases::hooks::errors::in_one_line;
use crate::use_cases::sync;
use empirica_notes::env::Env;
use empirica_notes::error::{Kind, Result};
use empirica_notes::git::Repository;
use empirica_notes::store::Render;

empirica_notes::named_enum! {
    /// The git hooks that `init` installs, by git's name.
    pub enum GitHook {
        CommitMsg = "commit-msg",
        PostCommit = "post-commit",
        PostApplypatch = "post-applypatch",
        PostMerge = "post-merge",
        PostRewrite = "post-rewrite",
        PrePush = "pre-push",
    }
}

impl GitHook {
    /// Whether git writes to its standard input.
    pub fn reads_input(self) -> bool {
        matches!(self, GitHook::PostRewrite | GitHook::PrePush)
    }
}

#[derive(Debug, Clone)]
pub struct HookCall {
    pub name: GitHook,
    pub arguments: Vec<String>,
    /// Its standard input; empty for hooks without one.
    pub input: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct HookOutcome {
    /// Messages for the user, a sentence each; usually none.
    pub messages: Vec<String>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
    /// Whether to stop git: only before a push, if `empirica.strict` is set.
    pub stops: bool,
}

/// Runs a hook. Logs failures; loses no record.
pub fn run(env: &Env, render: &dyn Render, call: &HookCall) -> HookOutcome {
    let mut outcome = HookOutcome::default();
    let repo = match Repository::discover(env) {
        Ok(repo) => repo,
        // git refuses this repository, too; a message at every commit would only repeat that
        Err(error) if error.kind() == Kind::NoRepository => return outcome,
        Err(error) => {
            outcome.warnings.push(error.to_string());
            return outcome;
        }
    };
    let mut context = match CommandContext::new(env, &repo, render, Selection::default()) {
        Ok(context) => context,
        Err(error) => {
            outcome.warnings.push(in_one_line(&error));
            return outcome;
        }
    };
    context.store.limit_waiting_for_hook();
    let result = match call.name {
        GitHook::CommitMsg => trailer::run(&context, call.arguments.first().map(String::as_str)),
        GitHook::PostCommit => commit::run(&context),
        GitHook::PostApplypatch | GitHook::PostMerge => arrived(&context),
        GitHook::PostRewrite => rewrite::run(&context, &call.input),
        GitHook::PrePush => Ok(before_push(&context, call, &mut outcome)),
    };
    match result {
        Ok(errors) => errors.iter().for_each(|error| context.store.hook_errors().add(call.name.name(), error)),
        Err(error) => {
            let text = in_one_line(&error);
            context.store.hook_errors().add(call.name.name(), &text);
            outcome.warnings.push(text);
        }
    }
    outcome
}

/// Syncs notes with the destination of the push, if there is anything new.
fn before_push(context: &CommandContext<'_>, call: &HookCall, outcome: &mut HookOutcome) -> Vec<String> {
    let argument = |n: usize| call.arguments.get(n).map_or("", String::as_str);
    let input = String::from_utf8_lossy(&call.input);
    let lines: Vec<String> = input.lines().map(str::to_owned).collect();
    let pushed = sync::run::before_push(context, argument(0), argument(1), &lines);
    outcome.messages.extend(pushed.messages);
    outcome.warnings.extend(pushed.warnings);
    outcome.stops = pushed.blocks;
    let Some(error) = pushed.failed else { return Vec::new() };
    let text = in_one_line(&error);
    outcome.warnings.push(format!("cannot sync the notes: {text}"));
    vec![text]
}

/// After a merge or a patch: merges arrived notes and writes pending records.
fn arrived(context: &CommandContext<'_>) -> Result<Vec<String>> {
    let mut errors = context.store.reconcile();
    if context.store.log().counts().total() > 0 {
        errors.extend(sync::flush::flush_pending(&context.store, in_one_line));
    }
    Ok(errors)
}

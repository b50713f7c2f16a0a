//! Git hooks: commit, merge, rewrite and push. They never fail and never block.

pub mod agent;
mod commit;
pub mod digest;
mod rewrite;
pub mod trouble;

use crate::context::{CommandContext, Selection};
use crate::hooks::trouble::in_one_line;
use crate::sync;
use empirica_notes::env::Env;
use empirica_notes::error::{Kind, Result};
use empirica_notes::git::Repository;
use empirica_notes::store::Render;

/// Hooks of git that we install.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitHook {
    PostCommit,
    PostApplypatch,
    PostMerge,
    PostRewrite,
    PrePush,
}

impl GitHook {
    /// Git's name for it.
    pub fn as_str(self) -> &'static str {
        match self {
            GitHook::PostCommit => "post-commit",
            GitHook::PostApplypatch => "post-applypatch",
            GitHook::PostMerge => "post-merge",
            GitHook::PostRewrite => "post-rewrite",
            GitHook::PrePush => "pre-push",
        }
    }

    /// Whether git writes to its standard input.
    pub fn reads_input(self) -> bool {
        matches!(self, GitHook::PostRewrite | GitHook::PrePush)
    }
}

/// A call of a hook.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// The hook.
    pub name: GitHook,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its standard input; empty for hooks without one.
    pub input: Vec<u8>,
}

/// Result of a hook.
#[derive(Debug, Default)]
pub struct HookOutcome {
    /// Messages for the user, a sentence each; usually none.
    pub messages: Vec<String>,
    /// Warnings, a sentence each.
    pub warnings: Vec<String>,
    /// Whether to stop git: only before a push, if `empirica.strict` is set.
    pub stops: bool,
}

/// Does what a hook is for. Whatever goes wrong is written down; the records are safe in any case.
pub fn run(env: &Env, render: &dyn Render, called: &HookCall) -> HookOutcome {
    let mut outcome = HookOutcome::default();
    let repo = match Repository::discover(env) {
        Ok(repo) => repo,
        // what git itself would refuse is nothing to talk about at every commit; the commands do
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
    context.store.hurry();
    let done = match called.name {
        GitHook::PostCommit => commit::run(&context),
        GitHook::PostApplypatch | GitHook::PostMerge => arrived(&context),
        GitHook::PostRewrite => rewrite::run(&context, &called.input),
        GitHook::PrePush => Ok(before_push(&context, called, &mut outcome)),
    };
    match done {
        Ok(troubles) => troubles.iter().for_each(|trouble| context.store.trouble(called.name.as_str(), trouble)),
        Err(error) => {
            let text = in_one_line(&error);
            context.store.trouble(called.name.as_str(), &text);
            outcome.warnings.push(text);
        }
    }
    outcome
}

/// Syncs notes with the destination of the push, if there is anything new.
fn before_push(context: &CommandContext<'_>, called: &HookCall, outcome: &mut HookOutcome) -> Vec<String> {
    let argument = |n: usize| called.arguments.get(n).map_or("", String::as_str);
    let input = String::from_utf8_lossy(&called.input);
    let lines: Vec<String> = input.lines().map(str::to_owned).collect();
    let came = sync::run::before_push(context, argument(0), argument(1), &lines);
    outcome.messages.extend(came.messages);
    outcome.warnings.extend(came.warnings);
    outcome.stops = came.blocks;
    let Some(error) = came.failed else { return Vec::new() };
    let text = in_one_line(&error);
    outcome.warnings.push(format!("the notes were not synced: {text}"));
    vec![text]
}

/// After a merge or a patch: merges arrived notes and writes pending records.
fn arrived(context: &CommandContext<'_>) -> Result<Vec<String>> {
    let mut troubles = context.store.reconcile();
    if context.store.unflushed() > 0 {
        let flushed = context.store.flush();
        troubles.extend(flushed.warnings);
        troubles.extend(flushed.degraded.iter().map(in_one_line));
    }
    Ok(troubles)
}

//! The status for a prompt of a shell: three numbers, fast.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::active::cached;
use crate::render::answer::Answer;

/// How long a prompt waits for an index that is not current; without it, it shows the sessions alone.
const INDEX_WAIT: Duration = Duration::from_millis(20);

/// The numbers of a prompt.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PromptView")]
pub struct PromptOutcome {
    /// The active sessions of this worktree.
    pub sessions_active: usize,
    /// The open questions.
    pub unknowns_open: usize,
    /// The handoffs that wait for a receiver.
    pub handoffs_waiting: usize,
}

/// Counts without repairing anything, nor looking at a remote.
pub fn run(context: &CommandContext<'_>) -> PromptOutcome {
    context.index_cache.limit(INDEX_WAIT);
    let mut out = PromptOutcome { sessions_active: cached(context).len(), ..PromptOutcome::default() };
    if context.repo.config_bool("empirica.index") != Some(false)
        && let Ok(index) = context.index()
    {
        out.unknowns_open = index.count_open("unknown").unwrap_or_default();
        out.handoffs_waiting = index.count_waiting().unwrap_or_default();
    }
    out
}

/// The answer: `s2 ?3 h1` for two sessions, three questions and one handoff; without zeros, and nothing if there is nothing.
pub fn answer(outcome: &PromptOutcome) -> Answer {
    let parts = [("s", outcome.sessions_active), ("?", outcome.unknowns_open), ("h", outcome.handoffs_waiting)];
    let parts = parts.into_iter().filter(|(_, count)| *count > 0);
    let text = parts.map(|(sign, count)| format!("{sign}{count}")).collect::<Vec<_>>().join(" ");
    let text = if text.is_empty() { text } else { text + "\n" };
    Answer::new(outcome).text(text).data()
}

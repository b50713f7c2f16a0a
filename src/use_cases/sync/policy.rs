//! The remotes that notes are pushed to.

use crate::context::CommandContext;
use empirica_notes::git::remotes::transfer;
use empirica_notes::git::{Repository, remotes};

/// The remotes for notes: `empirica.remote`, else the one the current branch tracks, else `origin`, else the only one.
pub fn destinations(repo: &Repository) -> Vec<String> {
    let configured = repo.config_all("empirica.remote");
    if configured.is_empty() { remotes::default(repo).into_iter().collect() } else { configured }
}

/// Whether a git that this program started runs this process.
pub(crate) fn is_nested(context: &CommandContext<'_>) -> bool {
    context.env.get(transfer::GUARD).is_some()
}

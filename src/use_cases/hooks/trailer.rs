//! Before a commit: adds the trailer that names its session to the message, with `empirica.trailers`.

use std::path::Path;

use crate::context::CommandContext;
use crate::context::active::cached;
use crate::use_cases::setup::git_hooks::scripts::adds_trailers;
use empirica_notes::error::Result;
use empirica_notes::git::history::head_move::HeadMove;
use empirica_notes::git::history::{messages, trailer};
use empirica_notes::model::SessionId;

/// Adds the trailer to the message in a file, unless the message is empty or names the session, the commit is another's, or git
/// makes it: in a rebase, a pick, a revert, a merge.
pub(crate) fn run(context: &CommandContext<'_>, file: Option<&str>) -> Result<Vec<String>> {
    let active = cached(context);
    let Some(file) = file.filter(|_| adds_trailers(context.repo) && !active.is_empty()) else { return Ok(Vec::new()) };
    if HeadMove::last(context.repo).in_sequence || is_of_another(context) {
        return Ok(Vec::new());
    }
    let Some(session) = context.open(&active)?.map(|session| session.id) else { return Ok(Vec::new()) };
    add(context, &context.env.cwd.join(file), &session)
}

fn add(context: &CommandContext<'_>, file: &Path, session: &SessionId) -> Result<Vec<String>> {
    let Ok(message) = std::fs::read(file) else { return Ok(Vec::new()) };
    let message = String::from_utf8_lossy(&message);
    // a message without text stops the commit, and must go on doing so
    if messages::is_empty(context.repo, &message)? || trailer::sessions(&message).contains(session) {
        return Ok(Vec::new());
    }
    messages::add_session(context.repo, file, session).map(|()| Vec::new())
}

/// Whether git commits in the name of somebody else than the author, as when one amends another's commit.
fn is_of_another(context: &CommandContext<'_>) -> bool {
    let author = context.env.get("GIT_AUTHOR_EMAIL");
    let committer = messages::committer_email(context.repo);
    matches!((author, committer), (Some(author), Some(committer)) if !author.eq_ignore_ascii_case(&committer))
}

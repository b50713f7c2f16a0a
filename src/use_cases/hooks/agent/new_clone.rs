//! A clone with agents' files that were committed, where `init` never ran, or not since it was moved.

use std::time::Duration;

use crate::context::CommandContext;
use crate::use_cases::hooks::errors::in_one_line;
use crate::use_cases::setup::init;
use crate::use_cases::setup::record::SetupRecord;
use crate::use_cases::sync;
use empirica_notes::error::Result;
use empirica_notes::git::remotes;

/// The longest time that an agent waits for the notes of a remote.
const WAIT: Duration = Duration::from_secs(3);

/// Whether `git push` sends no records: there is a remote, and `init` never ran here, or not since the clone was moved.
pub fn lacks_setup(context: &CommandContext<'_>) -> Result<bool> {
    let record = SetupRecord::load(&context.repo.common_dir())?;
    let is_set_up = record.is_some_and(|record| record.is_set_up() && !record.is_left_behind(context.repo));
    // names are read without git
    Ok(!is_set_up && !remotes::names(context.repo).is_empty() && !init::sources(context.repo, None)?.is_empty())
}

/// Fetches the notes of the first remote, if no session is known here.
pub fn fetch_notes(context: &CommandContext<'_>, hook: &str) -> Result<()> {
    if context.index()?.count_sessions()? > 0 {
        return Ok(());
    }
    let first = init::sources(context.repo, None)?.into_iter().take(1).collect();
    for (name, received) in sync::run::receive(context, first, WAIT, &mut Vec::new()) {
        if let Err(error) = received {
            context.store.hook_errors().add(hook, &format!("cannot fetch from {name}: {}", in_one_line(&error)));
        }
    }
    Ok(())
}

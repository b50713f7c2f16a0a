//! Events with a transcript that takes longer to read than an agent shall wait: they are handled in the background.

use std::process::Command;

use crate::context::CommandContext;
use crate::use_cases::collect::of_session;
use crate::use_cases::hooks::agent::event::HookEvent;
use crate::use_cases::hooks::agent::injection::Injection;
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::in_background;

/// Set in the environment of a background run.
const BACKGROUND: &str = "EMPIRICA_IN_BACKGROUND";

/// A transcript of more bytes is collected in the background.
pub const LARGE: u64 = 512 << 10;

/// Whether no agent waits for this process.
pub fn is_in_background(env: &Env) -> bool {
    env.get(BACKGROUND).is_some()
}

/// Whether the agent would have to wait for the transcript.
pub fn is_large(context: &CommandContext<'_>, event: &HookEvent) -> bool {
    let bytes = match (&event.transcript, &event.session) {
        (Some(path), _) => std::fs::metadata(path).ok().map(|file| file.len()),
        (None, Some(id)) => of_session::find(context, event.agent, id).map(|found| found.bytes),
        (None, None) => None,
    };
    !is_in_background(context.env) && bytes.is_some_and(|bytes| bytes > LARGE)
}

/// Flushes the records of the hooks in the background, and updates the index for the next one; if that fails, the next command does.
pub fn flush(context: &CommandContext<'_>) {
    let mut command = Command::new(&context.env.program);
    let _ = in_background(command.arg("flush").current_dir(&context.env.cwd), b"");
}

/// Handles the event in the background.
pub fn in_new_process(context: &CommandContext<'_>, event: &HookEvent, payload: &[u8]) -> Result<Option<Injection>> {
    let mut command = Command::new(&context.env.program);
    command.args(["hook", "agent", event.agent.name(), &event.name]).current_dir(&context.env.cwd).env(BACKGROUND, "1");
    in_background(&mut command, payload).map_err(|error| {
        Error::storage("cannot collect the transcript in the background")
            .command(empirica("collect").flag("--latest"))
            .caused_by(error)
    })?;
    Ok(None)
}

//! Events with a transcript that takes longer to read than an agent shall wait: they are handled in the background.

use std::process::Command;

use crate::context::CommandContext;
use crate::use_cases::collect::of_session;
use crate::use_cases::hooks::agent::event::{HookEvent, HookKind};
use crate::use_cases::hooks::agent::injection::Injection;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::process::in_background;

/// Set in the environment of a background run.
pub const BACKGROUND: &str = "EMPIRICA_IN_BACKGROUND";

/// From these sizes in bytes on, a transcript is collected in the background: at the start and the end of a session, and at a turn, after
/// which the session goes on.
pub const LARGE: u64 = 2 << 20;
const LARGE_FOR_TURN: u64 = 512 << 10;

/// Whether the agent would have to wait for the transcript.
pub fn is_large(context: &CommandContext<'_>, event: &HookEvent) -> bool {
    let bytes = match (&event.transcript, &event.session) {
        (Some(path), _) => std::fs::metadata(path).ok().map(|file| file.len()),
        (None, Some(id)) => of_session::find(context, event.agent, id).map(|found| found.bytes),
        (None, None) => None,
    };
    let most = match event.event {
        HookKind::Prompt | HookKind::TurnEnd => LARGE_FOR_TURN,
        _ => LARGE,
    };
    bytes.is_some_and(|bytes| bytes > most)
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

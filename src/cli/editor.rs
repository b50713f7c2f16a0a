//! The user's editor, as git would open it.

use std::path::Path;

use crate::handoff::build::draft;
use empirica_notes::error::{Error, Kind, Result, empirica, quote};
use empirica_notes::git::Repository;
use empirica_notes::git::process::{shell, variable};
use empirica_notes::store::unique;
use empirica_secrets::redact_text;

/// Opens the editor on `text` and returns what was left. The file lies in the git directory and stays there when the
/// editor fails.
pub fn edit(repo: &Repository, text: &str, out_is_terminal: bool) -> Result<Option<String>> {
    // a draft that is kept after a failure keeps no secret
    let clean = redact_text(text).map(|(clean, _)| clean);
    let text = clean.as_deref().unwrap_or(text);
    let path = repo.git_dir().join(format!("EMPIRICA_EDITMSG.{}", unique()));
    let line = variable(repo.cwd(), "GIT_EDITOR").ok_or_else(|| {
        Error::refused("there is no editor to open")
            .reason("the terminal is dumb, and neither GIT_EDITOR, core.editor, VISUAL nor EDITOR is set")
            .suggest("Set one with git config core.editor NAME, or hand over without an editor.")
            .command(empirica("handoff"))
    })?;
    let kept = |what: &str, path: &Path| {
        Error::refused(what.to_owned())
            .reason(format!("the draft is kept in {}", path.display()))
            .suggest("Mend the editor's setting, then edit again; or hand over without an editor.")
            .command("git var GIT_EDITOR")
            .command(format!("cat {}", quote(&path.to_string_lossy())))
            .command(empirica("handoff"))
    };
    std::fs::write(&path, text).map_err(|error| {
        Error::storage(format!("the draft {} cannot be written", path.display())).on_path(&path, error)
    })?;
    let mut command = shell(&line, &[path.as_os_str()]);
    command.stdin(std::process::Stdio::inherit());
    if !out_is_terminal {
        // standard output is for the answer
        command.stdout(std::io::stderr());
    }
    let status = command.status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(kept(&format!("the editor '{line}' ended with {status}"), &path)),
        Err(error) => return Err(kept(&format!("the editor '{line}' could not be started"), &path).caused_by(error)),
    }
    let edited = std::fs::read_to_string(&path)
        .map_err(|error| kept("the draft cannot be read back", &path).caused_by(error))?;
    if let Err(error) = draft::read(&edited)
        && error.kind() == Kind::Usage
    {
        return Err(error.suggest(format!("The draft is kept in {}.", path.display())));
    }
    let _ = std::fs::remove_file(&path);
    Ok((!edited.trim().is_empty()).then_some(edited))
}

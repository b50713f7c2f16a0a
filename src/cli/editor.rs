//! The user's editor, chosen as git does.

use crate::use_cases::handoff::build::draft;
use empirica_notes::error::{Error, Kind, Result, empirica, quote};
use empirica_notes::git::Repository;
use empirica_notes::git::process::{shell, variable};
use empirica_notes::store::unique;
use empirica_secrets::redact_text;

/// Opens the editor on `text` and returns the edited text, unless it is blank. If the editor fails, the draft stays in
/// the git directory.
pub fn edit(repo: &Repository, text: &str, out_is_terminal: bool) -> Result<Option<String>> {
    // the draft may stay on disk after a failure
    let clean = redact_text(text).map(|(clean, _)| clean);
    let text = clean.as_deref().unwrap_or(text);
    let path = repo.git_dir().join(format!("EMPIRICA_EDITMSG.{}", unique()));
    let line = variable(repo.cwd(), "GIT_EDITOR").ok_or_else(|| {
        Error::refused("cannot open an editor: none is set")
            .reason("the terminal is dumb, and neither GIT_EDITOR, core.editor, VISUAL nor EDITOR is set")
            .suggest("Set one with git config core.editor NAME, or hand over without an editor.")
            .command(empirica("handoff"))
    })?;
    let kept = |message: &str| {
        Error::refused(message)
            .reason(format!("the draft is kept in {}", path.display()))
            .suggest("Correct the editor's setting, then edit again; or hand over without an editor.")
            .command("git var GIT_EDITOR")
            .command(format!("cat {}", quote(&path.to_string_lossy())))
            .command(empirica("handoff"))
    };
    std::fs::write(&path, text)
        .map_err(|error| Error::storage(format!("cannot write the draft {}", path.display())).on_path(&path, error))?;
    let mut command = shell(&line, &[path.as_os_str()]);
    command.stdin(std::process::Stdio::inherit());
    if !out_is_terminal {
        // standard output is for the answer
        command.stdout(std::io::stderr());
    }
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(kept(&format!("cannot edit the draft: the editor '{line}' ended with {status}"))),
        Err(error) => return Err(kept(&format!("cannot start the editor '{line}'")).caused_by(error)),
    }
    let edited =
        std::fs::read_to_string(&path).map_err(|error| kept("cannot read the edited draft").caused_by(error))?;
    if let Err(error) = draft::read(&edited)
        && error.kind() == Kind::Usage
    {
        return Err(error.suggest(format!("The draft is kept in {}.", path.display())));
    }
    let _ = std::fs::remove_file(&path);
    Ok((!edited.trim().is_empty()).then_some(edited))
}

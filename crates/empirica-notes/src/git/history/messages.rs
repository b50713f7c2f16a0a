//! Messages of commits and the trailers in them, by git.

use std::path::Path;

use crate::error::Result;
use crate::git::history::no_commit;
use crate::git::history::trailer::{SESSION, sessions};
use crate::git::process::{StreamingGit, git, output, output_with_input, variable};
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};
use crate::model::SessionId;

/// The commits of HEAD's history whose message names a session, newest first, each with the sessions.
pub fn commits_naming_sessions(repo: &Repository) -> Result<Vec<(Oid, Vec<SessionId>)>> {
    let mut command = git(repo.cwd());
    let grep = format!("--grep={SESSION}:");
    command.args(["log", "-z", "--no-show-signature", "--no-notes", "--encoding=UTF-8", "--format=tformat:%H%x00%B"]);
    command.args(["--regexp-ignore-case", "--fixed-strings", &grep, &repo.head_revision(), "--"]);
    let mut running = StreamingGit::start(&mut command)?;
    let mut out = Vec::new();
    while let (Some(id), Some(message)) = (running.field()?, running.field()?) {
        let id = std::str::from_utf8(&id).ok().and_then(parse_oid).ok_or_else(no_commit)?;
        out.push((id, sessions(&String::from_utf8_lossy(&message))));
    }
    running.finish()?;
    Ok(out)
}

/// Ends the message in an editor, behind a comment character; the patch of `commit --verbose` follows.
const SCISSORS: &str = " ------------------------ >8 ------------------------";

/// Whether a message that git has yet to clean up has no text but comments.
pub fn is_empty(repo: &Repository, message: &str) -> Result<bool> {
    let own: String = message.split_inclusive('\n').take_while(|line| !line.trim_end().ends_with(SCISSORS)).collect();
    let text = output_with_input(git(repo.cwd()).args(["stripspace", "--strip-comments"]), own.into_bytes())?;
    Ok(text.is_empty())
}

/// Adds the trailer of a session to the message in a file, as git's configuration says of trailers.
pub fn add_session(repo: &Repository, file: &Path, session: &SessionId) -> Result<()> {
    let mut command = git(repo.cwd());
    command.args([
        "interpret-trailers",
        "--in-place",
        "--no-divider",
        "--if-exists=addIfDifferent",
        "--if-missing=add",
    ]);
    output(command.arg("--trailer").arg(format!("{SESSION}: {session}")).arg(file)).map(drop)
}

/// The address of the committer, as git has it in a hook; `None` without an identity.
pub fn committer_email(repo: &Repository) -> Option<String> {
    let identity = variable(repo.cwd(), "GIT_COMMITTER_IDENT")?;
    let (_, rest) = identity.split_once('<')?;
    rest.split_once('>').map(|(email, _)| email.to_owned())
}

//! Signs and verifies texts by the user's git, as messages of unreferenced commits of the empty tree.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::git::process;
use crate::git::process::Ended;
use crate::git::repository::Repository;

/// The verification of a signed commit.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// Whether `git verify-commit` accepts it.
    pub accepted: bool,
    /// Git's letter, as in `%G?`: G good, B bad, U of unknown validity, X and Y expired, R revoked, E cannot be
    /// checked, N none.
    pub letter: char,
    /// The signer by the key.
    pub signer: Option<String>,
    /// The id of the key.
    pub key: Option<String>,
    /// The fingerprint of the key.
    pub fingerprint: Option<String>,
    /// Git's message.
    pub words: String,
}

/// A git command with objects written to `folder`, to be discarded with it, and without replace refs.
fn git(repo: &Repository, folder: &Path) -> Command {
    let mut command = process::git(repo.cwd());
    command.env("GIT_OBJECT_DIRECTORY", folder).args(["--no-replace-objects", "-c", "i18n.commitEncoding=UTF-8"]);
    command
}

/// Signs a commit with `paragraphs` as its message; returns the raw commit.
pub fn sign(repo: &Repository, folder: &Path, paragraphs: &[String]) -> Result<String> {
    let mut command = git(repo, folder);
    command.args(["commit-tree", "-S", &repo.empty_tree().to_string()]);
    command.args(paragraphs.iter().flat_map(|text| ["-m", text]));
    let id = match process::run_until(&mut command, None, false)? {
        Ended::Itself { success: true, stdout, .. } => String::from_utf8_lossy(&stdout).trim().to_owned(),
        Ended::Itself { stderr, .. } => return Err(unsigned(&stderr)),
        Ended::TimedOut => return Err(unsigned(b"")),
    };
    let commit = process::output(git(repo, folder).args(["cat-file", "commit", &id]))?;
    String::from_utf8(commit).map_err(|error| unsigned(b"the signed commit is not UTF-8").caused_by(error))
}

/// Verifies a raw commit.
pub fn verify(repo: &Repository, folder: &Path, commit: &str) -> Result<Verified> {
    let mut store = git(repo, folder);
    store.args(["hash-object", "-t", "commit", "-w", "--stdin"]);
    let stored = process::fed(&mut store, commit.as_bytes().to_vec());
    let id = match stored {
        Ok(id) => String::from_utf8_lossy(&id).trim().to_owned(),
        // it is not a commit
        Err(error) => return Ok(Verified { letter: 'B', words: error.in_one_line(), ..Verified::default() }),
    };
    let mut check = git(repo, folder);
    check.args(["verify-commit", &id]);
    let (accepted, words) = match process::run_until(&mut check, None, false)? {
        Ended::Itself { success, stderr, .. } => (success, String::from_utf8_lossy(&stderr).trim().to_owned()),
        Ended::TimedOut => (false, String::new()),
    };
    let mut log = git(repo, folder);
    log.args(["-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8"]);
    log.args(["log", "-1", "--no-color", "--no-decorate", "--format=%G?%x00%GS%x00%GK%x00%GF", &id]);
    let fields = process::output(&mut log)?;
    let fields = String::from_utf8_lossy(&fields);
    let mut parts = fields.trim_end_matches('\n').split('\0');
    let letter = parts.next().and_then(|text| text.chars().last()).unwrap_or('E');
    let mut next = || parts.next().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    Ok(Verified { accepted, letter, signer: next(), key: next(), fingerprint: next(), words })
}

fn unsigned(stderr: &[u8]) -> Error {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let reason = if lines.is_empty() { "git could not sign and said nothing".to_owned() } else { lines.join("; ") };
    Error::refused("the handoff could not be signed")
        .reason(reason)
        .suggest("See which key git signs with, and whether a commit can be signed with it.")
        .command("git config --get-regexp '^(gpg\\..*|user\\.signingkey)$' || true")
}

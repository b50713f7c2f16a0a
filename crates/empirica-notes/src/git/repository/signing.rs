//! Texts signed and verified by the user's own git: as messages of commits of the empty tree that no ref names.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::git::process;
use crate::git::process::Ended;
use crate::git::repository::Repository;

/// What git says of a signed commit.
#[derive(Debug, Clone, Default)]
pub struct Verified {
    /// Whether `git verify-commit` accepts it.
    pub accepted: bool,
    /// git's letter for it, as in `%G?`: G good, B bad, U of unknown validity, X and Y expired, R revoked, E cannot be checked, N none.
    pub letter: char,
    /// Who signed, as the key says.
    pub signer: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// Its fingerprint.
    pub fingerprint: Option<String>,
    /// git's own words.
    pub words: String,
}

/// git in the repository with its objects in `folder`: what it makes is gone with that. Replaced objects count for nothing.
fn git(repo: &Repository, folder: &Path) -> Command {
    let mut command = process::git(repo.cwd());
    command.env("GIT_OBJECT_DIRECTORY", folder).args(["--no-replace-objects", "-c", "i18n.commitEncoding=UTF-8"]);
    command
}

/// A commit with `paragraphs` as its message, signed with the user's key, whole.
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

/// What git says of a commit given whole.
pub fn verify(repo: &Repository, folder: &Path, commit: &str) -> Result<Verified> {
    let mut store = git(repo, folder);
    store.args(["hash-object", "-t", "commit", "-w", "--stdin"]);
    let stored = process::fed(&mut store, commit.as_bytes().to_vec());
    let id = match stored {
        Ok(id) => String::from_utf8_lossy(&id).trim().to_owned(),
        // it is no commit at all
        Err(error) => return Ok(Verified { letter: 'B', words: error.in_one_line(), ..Verified::default() }),
    };
    let mut check = git(repo, folder);
    check.args(["verify-commit", &id]);
    let (accepted, words) = match process::run_until(&mut check, None, false)? {
        Ended::Itself { success, stderr, .. } => (success, String::from_utf8_lossy(&stderr).trim().to_owned()),
        Ended::TimedOut => (false, String::new()),
    };
    let mut tell = git(repo, folder);
    tell.args(["-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8"]);
    tell.args(["log", "-1", "--no-color", "--no-decorate", "--format=%G?%x00%GS%x00%GK%x00%GF", &id]);
    let told = process::output(&mut tell)?;
    let told = String::from_utf8_lossy(&told);
    let mut parts = told.trim_end_matches('\n').split('\0');
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

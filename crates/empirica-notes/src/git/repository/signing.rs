//! Signs and verifies texts by the user's git, as messages of unreferenced commits of the empty tree.

use std::path::Path;
use std::process::Command;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::git::process;
use crate::git::repository::Repository;

/// The verification of a signed commit.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Verified {
    /// Whether `git verify-commit` accepts it.
    #[serde(skip)]
    pub accepted: bool,
    /// Git's letter, as in `%G?`: G good, B bad, U of unknown validity, X and Y expired, R revoked, E cannot be
    /// checked, N none.
    #[serde(skip)]
    pub letter: char,
    /// The signer, as named by git.
    pub signer: Option<String>,
    /// The key, as named by git.
    pub key: Option<String>,
    /// Fingerprint of the key.
    pub fingerprint: Option<String>,
    /// Message of git about it.
    #[serde(rename = "git")]
    pub words: String,
}

/// A git command with objects written to `folder`, to be discarded with it, and without replace refs.
fn git(repo: &Repository, folder: &Path) -> Command {
    let mut command = process::git(repo.cwd());
    command.env("GIT_OBJECT_DIRECTORY", folder).args(["--no-replace-objects", "-c", "i18n.commitEncoding=UTF-8"]);
    command
}

/// Signs a commit with this message; returns the raw commit.
pub fn sign(repo: &Repository, folder: &Path, message: &str) -> Result<String> {
    let mut command = git(repo, folder);
    command.args(["commit-tree", "-S", &repo.empty_tree().to_string()]);
    let out = process::run(&mut command, message.as_bytes().to_vec())?;
    if !out.status.success() {
        return Err(unsigned(&out.stderr));
    }
    let id = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    let commit = process::output(git(repo, folder).args(["cat-file", "commit", &id]))?;
    String::from_utf8(commit).map_err(|error| unsigned(b"the signed commit is not UTF-8").caused_by(error))
}

/// The message of a raw commit, if it can be one of our signatures: its tree is empty, and it has no parents. `None` for any other
/// commit, such as one of code, and for what is no commit.
pub fn message<'c>(repo: &Repository, commit: &'c str) -> Option<&'c str> {
    let (headers, message) = commit.split_once("\n\n")?;
    let is_empty = headers.lines().next() == Some(&format!("tree {}", repo.empty_tree()));
    (is_empty && !headers.lines().any(|line| line.starts_with("parent "))).then_some(message)
}

/// Verifies a raw commit.
pub fn verify(repo: &Repository, folder: &Path, commit: &str) -> Result<Verified> {
    let mut store = git(repo, folder);
    store.args(["hash-object", "-t", "commit", "-w", "--stdin"]);
    let stored = process::output_with_input(&mut store, commit.as_bytes().to_vec());
    let id = match stored {
        Ok(id) => String::from_utf8_lossy(&id).trim().to_owned(),
        // it is not a commit
        Err(error) => return Ok(Verified { letter: 'B', words: error.in_one_line(), ..Verified::default() }),
    };
    let mut check = git(repo, folder);
    check.args(["verify-commit", &id]);
    let checked = process::run(&mut check, Vec::new())?;
    let (accepted, words) = (checked.status.success(), String::from_utf8_lossy(&checked.stderr).trim().to_owned());
    let mut log = git(repo, folder);
    log.args(["-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8"]);
    log.args(["log", "-1", "--no-color", "--no-decorate", "--format=%G?%x00%GS%x00%GK%x00%GF", &id]);
    // a commit with parents that are not there cannot be listed
    let fields = process::text(&mut log).unwrap_or_default();
    let mut parts = fields.split('\0');
    let letter = parts.next().and_then(|text| text.chars().last()).unwrap_or('E');
    let mut next = || parts.next().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    Ok(Verified { accepted, letter, signer: next(), key: next(), fingerprint: next(), words })
}

fn unsigned(stderr: &[u8]) -> Error {
    let message = process::message(stderr);
    Error::refused("cannot sign the handoff")
        .reason(if message.is_empty() { "git failed without a message".to_owned() } else { message })
        .suggest("Check which key git signs with, and whether a commit can be signed with it.")
        .command("git config --get-regexp '^(gpg\\..*|user\\.signingkey)$' || true")
}

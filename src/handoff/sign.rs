//! A handoff signed with the user's git signing key, and what becomes of its signatures when they are checked.

use std::collections::BTreeSet;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::context::Context;
use crate::context::stored::Stored;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::repository::signing;
use empirica_notes::git::repository::signing::Verified;
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::record::Signature;
use empirica_notes::model::{Body, Head, Id, Record, Shelf};
use empirica_notes::store::When;

/// The largest signed commit that is handed to git.
const LARGEST: usize = 64 * 1024;
/// The most signatures of a handoff that are checked, the newest.
const MOST: usize = 20;

/// A handoff that was signed.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub of: Id,
    pub signature_id: Id,
    pub sha256: String,
    pub stored: Stored,
}

/// What a signature is worth, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// git accepts it, and it is of this handoff as it is stored.
    Good,
    /// Whoever signed is not known here, or not trusted, or nothing here can check it.
    UnknownKey,
    /// It, or the key, has expired, or the key was revoked.
    Expired,
    /// git accepts or knows it, but it is of another text.
    OtherText,
    /// It does not fit what it signs, or is no signature.
    Bad,
    /// There is none.
    Unsigned,
}

impl State {
    /// Its word in JSON.
    pub fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::UnknownKey => "unknown_key",
            State::Expired => "expired",
            State::OtherText => "other_text",
            State::Bad => "bad",
            State::Unsigned => "unsigned",
        }
    }
}

/// A signature that was checked.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Checked {
    pub head: Head,
    pub state: State,
    pub git: Verified,
}

/// What the signatures of a handoff are worth.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Verification {
    pub of: Id,
    /// That of the best.
    pub state: State,
    /// The best first.
    pub signatures: Vec<Checked>,
}

/// Signs a handoff that is stored; `ai` is who asked for it. The signature lies beside it wherever it stands.
pub fn sign(context: &Context<'_>, of: &Id, ai: &str) -> Result<Outcome> {
    let (sha256, places) = line(context, of)?;
    let folder = Folder::new(context.store.paths().state())?;
    let signed = signing::sign(context.repo, &folder.0, &message(of, &sha256))?;
    let head = context.store.new_head(None, ai);
    let signature_id = head.id.clone();
    let body = Body::Signature(Signature { of: of.clone(), sha256: sha256.clone(), signed });
    let mut stored = Stored::default();
    let places = places.into_iter().map(|on| (Shelf::Handoffs, on)).collect();
    stored.add(&mut context.store.put_beside(&Record { head, body }, &places, When::Now)?);
    Ok(Outcome { of: of.clone(), signature_id, sha256, stored })
}

/// Signs the handoff of that name.
pub fn run(context: &Context<'_>, given: &str) -> Result<Outcome> {
    let is_handoff = |record: &Record| matches!(record.body, Body::Handoff(_));
    let record = context.record(given, "handoff", &[Shelf::Handoffs], is_handoff)?;
    sign(context, &record.head.id, &context.author(None))
}

/// Checks the signatures of a handoff.
pub fn verify(context: &Context<'_>, of: &Id) -> Result<Verification> {
    let (sha256, _) = line(context, of)?;
    let scan = context.index()?.naming([of], &["signature"])?;
    let mut signatures = Vec::new();
    for record in scan.records().rev().take(MOST) {
        if let Body::Signature(signature) = &record.body {
            let folder = Folder::new(context.store.paths().state())?;
            let (state, git) = check(context.repo, &folder, signature, of, &sha256)?;
            signatures.push(Checked { head: record.head.clone(), state, git });
        }
    }
    signatures.sort_by_key(|checked| checked.state);
    let state = signatures.first().map_or(State::Unsigned, |best| best.state);
    Ok(Verification { of: of.clone(), state, signatures })
}

fn check(repo: &Repository, folder: &Folder, given: &Signature, of: &Id, sha256: &str) -> Result<(State, Verified)> {
    if given.signed.len() > LARGEST {
        let words = format!("it is larger than {LARGEST} bytes");
        return Ok((State::Bad, Verified { letter: 'B', words, ..Verified::default() }));
    }
    let git = signing::verify(repo, &folder.0, &given.signed)?;
    // headers hold no empty line
    let said = given.signed.split_once("\n\n").map(|(_, message)| message);
    let is_ours = said == Some(&(message(of, sha256).join("\n\n") + "\n"));
    // without a file of allowed signers git says of a signature in SSH's form that there is none
    let is_signed = given.signed.split("\n\n").next().is_some_and(|headers| headers.contains("\ngpgsig"));
    let state = match (git.letter, git.accepted) {
        ('B', _) => State::Bad,
        ('N', _) if !is_signed => State::Bad,
        _ if !is_ours => State::OtherText,
        (_, true) => State::Good,
        ('X' | 'Y' | 'R', _) => State::Expired,
        // of SSH's keys git only says it in words
        _ if git.words.contains("key has expired") => State::Expired,
        _ => State::UnknownKey,
    };
    Ok((state, git))
}

/// What is signed: which handoff, and what it says.
fn message(of: &Id, sha256: &str) -> [String; 2] {
    [format!("Handoff {of}"), format!("SHA-256 of its record: {sha256}")]
}

/// The SHA-256 of a handoff's line, hex, and where it stands.
fn line(context: &Context<'_>, of: &Id) -> Result<(String, BTreeSet<Oid>)> {
    let scan = context.index()?.ids([of])?;
    let (Some(line), Some(entry)) = (scan.line(of), scan.get(of)) else { return Err(Error::unstored()) };
    let sha256 = Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((sha256, entry.on.clone()))
}

/// A folder of our own for objects of git, gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(state: &std::path::Path) -> Result<Self> {
        let name = format!("signing-{}", empirica_notes::store::unique());
        let path = state.join(name);
        let made = std::fs::create_dir_all(&path);
        made.map_err(|error| Error::storage("there is no place to check signatures in").on_path(&path, error))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // what is left over is disposable
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

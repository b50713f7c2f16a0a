//! A handoff signed with the user's git signing key, and what becomes of its signatures when they are checked.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::repository::signing;
use empirica_notes::git::repository::signing::Verified;
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::record::Signature;
use empirica_notes::model::{Body, Envelope, Id, Namespace, Record};
use empirica_notes::store::FlushTiming;

/// The largest signed commit that is handed to git.
const LARGEST: usize = 64 * 1024;
/// The most signatures of a handoff that are checked, the newest.
const MOST: usize = 20;

/// The signature that was stored beside a handoff.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignOutcome {
    /// The handoff.
    #[serde(rename = "handoff_id")]
    pub of: Id,
    /// The signature.
    pub signature_id: Id,
    /// The SHA-256 of what was signed, hex.
    pub sha256: String,
    /// What storing left to say.
    #[serde(skip)]
    pub stored: StoreReport,
}

/// What a signature is worth, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum SignatureState {
    /// git accepts it, and it is of this handoff as it is stored.
    Good,
    /// git does not know or trust the key, or nothing here can check it.
    UnknownKey,
    /// It or its key has expired, or an OpenPGP key was revoked.
    Expired,
    /// It is of another handoff, or of another text of this one.
    OtherText,
    /// It does not fit what it signs, is no signature, or its SSH key is in `gpg.ssh.revocationFile`.
    Bad,
    /// There is none.
    Unsigned,
}

/// A signature that was checked.
#[derive(Debug)]
pub struct CheckedSignature {
    pub head: Envelope,
    pub state: SignatureState,
    pub git: Verified,
}

/// What the signatures of a handoff are worth.
#[derive(Debug)]
pub struct Verification {
    pub of: Id,
    /// That of the best.
    pub state: SignatureState,
    /// The best first.
    pub signatures: Vec<CheckedSignature>,
}

/// Signs a handoff that is stored; `ai` is who asked for it. The signature lies beside it wherever it stands.
pub fn sign(context: &CommandContext<'_>, of: &Id, ai: &str) -> Result<SignOutcome> {
    let (sha256, places) = line(context, of)?;
    let folder = Folder::new(context.store.paths().state())?;
    let signed = signing::sign(context.repo, &folder.0, &message(of, &sha256))?;
    let head = context.store.new_envelope(None, ai);
    let signature_id = head.id.clone();
    let body = Body::Signature(Signature { of: of.clone(), sha256: sha256.clone(), signed });
    let mut stored = StoreReport::default();
    let places = places.into_iter().map(|on| (Namespace::Handoffs, on)).collect();
    stored.add(&mut context.store.append_in_notes(&Record { head, body }, &places, FlushTiming::Now)?);
    Ok(SignOutcome { of: of.clone(), signature_id, sha256, stored })
}

/// Signs the handoff of that name.
pub fn run(context: &CommandContext<'_>, given: &str) -> Result<SignOutcome> {
    let is_handoff = |record: &Record| matches!(record.body, Body::Handoff(_));
    let record = context.record(given, "handoff", &[Namespace::Handoffs], is_handoff)?;
    sign(context, &record.head.id, &context.author(None))
}

/// Checks the signatures of a handoff.
pub fn verify(context: &CommandContext<'_>, of: &Id) -> Result<Verification> {
    let (sha256, _) = line(context, of)?;
    let scan = context.index()?.naming([of], &["signature"])?;
    let mut signatures = Vec::new();
    for record in scan.records().rev().take(MOST) {
        if let Body::Signature(signature) = &record.body {
            let folder = Folder::new(context.store.paths().state())?;
            let (state, git) = check(context.repo, &folder, signature, of, &sha256)?;
            signatures.push(CheckedSignature { head: record.head.clone(), state, git });
        }
    }
    signatures.sort_by_key(|checked| checked.state);
    let state = signatures.first().map_or(SignatureState::Unsigned, |best| best.state);
    Ok(Verification { of: of.clone(), state, signatures })
}

fn check(
    repo: &Repository,
    folder: &Folder,
    given: &Signature,
    of: &Id,
    sha256: &str,
) -> Result<(SignatureState, Verified)> {
    if given.signed.len() > LARGEST {
        let words = format!("it is larger than {LARGEST} bytes");
        return Ok((SignatureState::Bad, Verified { letter: 'B', words, ..Verified::default() }));
    }
    let git = signing::verify(repo, &folder.0, &given.signed)?;
    // headers hold no empty line
    let said = given.signed.split_once("\n\n").map(|(_, message)| message);
    let is_ours = said == Some(&(message(of, sha256).join("\n\n") + "\n"));
    // without a file of allowed signers git says of a signature in SSH's form that there is none
    let is_signed = given.signed.split("\n\n").next().is_some_and(|headers| headers.contains("\ngpgsig"));
    let state = match (git.letter, git.accepted) {
        ('B', _) => SignatureState::Bad,
        ('N', _) if !is_signed => SignatureState::Bad,
        _ if !is_ours => SignatureState::OtherText,
        (_, true) => SignatureState::Good,
        ('X' | 'Y' | 'R', _) => SignatureState::Expired,
        // of SSH's keys git only says it in words
        _ if git.words.contains("key has expired") => SignatureState::Expired,
        _ => SignatureState::UnknownKey,
    };
    Ok((state, git))
}

/// What is signed: which handoff, and what it says.
fn message(of: &Id, sha256: &str) -> [String; 2] {
    [format!("Handoff {of}"), format!("SHA-256 of its record: {sha256}")]
}

/// The SHA-256 of a handoff's line, hex, and where it stands.
fn line(context: &CommandContext<'_>, of: &Id) -> Result<(String, BTreeSet<Oid>)> {
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

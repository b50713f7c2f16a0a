//! Signs handoffs with the user's git signing key, and verifies their signatures.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use crate::use_cases::handoff::receive::accept::named;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::repository::signing::{self, Verified};
use empirica_notes::git::{Oid, Repository};
use empirica_notes::model::record::Signature;
use empirica_notes::model::{Body, Envelope, Id, Namespace, Record};
use empirica_notes::store::FlushTiming;

/// The largest signed commit passed to git.
const MAX_SIGNED_BYTES: usize = 64 * 1024;
/// Most signatures verified, the newest.
const MAX_SIGNATURES: usize = 20;

/// A stored signature.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignOutcome {
    /// The handoff.
    #[serde(rename = "handoff_id")]
    pub of: Id,
    /// The signature.
    pub signature_id: Id,
    /// The SHA-256 of the signed record, hex.
    pub sha256: String,
    #[serde(skip)]
    pub stored: StoreReport,
}

/// The state of a signature, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum SignatureState {
    /// git accepts it, and it fits this handoff as stored.
    Good,
    /// git does not know or trust the key, or cannot verify it here.
    UnknownKey,
    /// It or its key has expired, or an OpenPGP key was revoked.
    Expired,
    /// It is of another handoff, or of another text of this one.
    OtherText,
    /// It does not fit its content, is not a signature, or its SSH key is in `gpg.ssh.revocationFile`.
    Bad,
    /// The handoff has no signature.
    Unsigned,
}

/// A verified signature.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignatureView")]
pub struct CheckedSignature {
    /// The signature.
    pub signature_id: Id,
    /// The agent that requested it, as claimed.
    pub ai_id: String,
    /// When it was made.
    pub timestamp: String,
    /// Its state.
    pub state: SignatureState,
    #[serde(flatten)]
    pub git: Verified,
}

/// Verification of a handoff's signatures.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VerificationView")]
pub struct Verification {
    /// The handoff.
    #[serde(skip)]
    pub of: Id,
    /// State of the best signature.
    pub state: SignatureState,
    /// Signatures, best first; at most the 20 newest are checked.
    pub signatures: Vec<CheckedSignature>,
}

/// Signs a stored handoff as agent `ai`. The signature goes to the notes that have the handoff.
pub fn sign(context: &CommandContext<'_>, of: &Id, ai: &str) -> Result<SignOutcome> {
    let (sha256, places) = line(context, of)?;
    let folder = Folder::new(context.store.paths().state())?;
    let signed = signing::sign(context.repo, &folder.0, &message(of, &sha256))?;
    let envelope = context.store.writer().new_envelope(None, ai);
    let signature_id = envelope.id.clone();
    let body = Body::Signature(Signature { of: of.clone(), sha256: sha256.clone(), signed });
    let mut stored = StoreReport::default();
    let places = places.into_iter().map(|on| (Namespace::Handoffs, on)).collect();
    stored.add(&mut context.store.writer().append_in_notes(
        &Record { envelope, body },
        &places,
        None,
        FlushTiming::Now,
    )?);
    Ok(SignOutcome { of: of.clone(), signature_id, sha256, stored })
}

pub fn run(context: &CommandContext<'_>, name: &str) -> Result<SignOutcome> {
    sign(context, &named(context, name)?.envelope.id, &context.author(None))
}

pub fn verify(context: &CommandContext<'_>, of: &Id) -> Result<Verification> {
    let (sha256, _) = line(context, of)?;
    let scan = context.index()?.naming([of], &["signature"])?;
    let mut signatures = Vec::new();
    for record in scan.records().rev().take(MAX_SIGNATURES) {
        if let Body::Signature(signature) = &record.body {
            let folder = Folder::new(context.store.paths().state())?;
            let (state, git) = check(context.repo, &folder, signature, of, &sha256)?;
            let Envelope { id: signature_id, ai: ai_id, at: timestamp, .. } = record.envelope.clone();
            signatures.push(CheckedSignature { signature_id, ai_id, timestamp, state, git });
        }
    }
    signatures.sort_by_key(|checked| checked.state);
    let state = signatures.first().map_or(SignatureState::Unsigned, |best| best.state);
    Ok(Verification { of: of.clone(), state, signatures })
}

fn check(
    repo: &Repository,
    folder: &Folder,
    signature: &Signature,
    of: &Id,
    sha256: &str,
) -> Result<(SignatureState, Verified)> {
    if signature.signed.len() > MAX_SIGNED_BYTES {
        let words = format!("it is larger than {MAX_SIGNED_BYTES} bytes");
        return Ok((SignatureState::Bad, Verified { letter: 'B', words, ..Verified::default() }));
    }
    let git = signing::verify(repo, &folder.0, &signature.signed)?;
    // the message follows the first empty line
    let signed = signature.signed.split_once("\n\n").map(|(_, message)| message);
    let is_ours = signed == Some(&(message(of, sha256).join("\n\n") + "\n"));
    // without a file of allowed signers, git reports no signature in place of an SSH one
    let is_signed = signature.signed.split("\n\n").next().is_some_and(|headers| headers.contains("\ngpgsig"));
    let state = match (git.letter, git.accepted) {
        ('B', _) => SignatureState::Bad,
        ('N', _) if !is_signed => SignatureState::Bad,
        _ if !is_ours => SignatureState::OtherText,
        (_, true) => SignatureState::Good,
        ('X' | 'Y' | 'R', _) => SignatureState::Expired,
        // for SSH keys, git reports it only in its message
        _ if git.words.contains("key has expired") => SignatureState::Expired,
        _ => SignatureState::UnknownKey,
    };
    Ok((state, git))
}

/// The signed message: ID and hash of the handoff.
fn message(of: &Id, sha256: &str) -> [String; 2] {
    [format!("Handoff {of}"), format!("SHA-256 of its record: {sha256}")]
}

/// The SHA-256 of a handoff's line, hex, and the commits with it.
fn line(context: &CommandContext<'_>, of: &Id) -> Result<(String, BTreeSet<Oid>)> {
    let scan = context.index()?.ids([of])?;
    let (Some(line), Some(entry)) = (scan.line(of), scan.get(of)) else { return Err(Error::unstored()) };
    let sha256 = Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((sha256, entry.on.clone()))
}

/// A temporary folder for git objects, deleted on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(state: &std::path::Path) -> Result<Self> {
        let path = state.join(format!("signing-{}", empirica_notes::store::unique()));
        let made = std::fs::create_dir_all(&path);
        made.map_err(|error| Error::storage("cannot create a folder for signatures").on_path(&path, error))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // leftovers are harmless
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

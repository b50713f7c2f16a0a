//! The signatures of handoffs, and who vouches by them for which records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::context::CommandContext;
use empirica_notes::error::{Error, Result};
use empirica_notes::format::record::decode;
use empirica_notes::git::Oid;
use empirica_notes::git::repository::signing::{self, Verified};
use empirica_notes::model::record::Signature;
use empirica_notes::model::{Body, Envelope, Id, Record};

/// The largest signed commit passed to git.
const MAX_SIGNED_BYTES: usize = 64 * 1024;
/// Most claims in a signed message, so that it stays below that.
const MAX_CLAIMS: usize = 500;
/// Most signatures of a handoff verified, the newest.
const MAX_SIGNATURES: usize = 20;

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

pub fn verify(context: &CommandContext<'_>, of: &Id) -> Result<Verification> {
    let StoredHandoff { sha256, .. } = stored(context, of)?;
    let scan = context.index()?.naming([of], &["signature"])?;
    let mut signatures = Vec::new();
    for record in scan.records().rev().take(MAX_SIGNATURES) {
        if let Body::Signature(signature) = &record.body {
            let (state, git) = check(context, signature, of, &sha256)?;
            let Envelope { id: signature_id, ai: ai_id, at: timestamp, .. } = record.envelope.clone();
            signatures.push(CheckedSignature { signature_id, ai_id, timestamp, state, git });
        }
    }
    signatures.sort_by_key(|checked| checked.state);
    let state = signatures.first().map_or(SignatureState::Unsigned, |best| best.state);
    Ok(Verification { of: of.clone(), state, signatures })
}

fn check(
    context: &CommandContext<'_>,
    signature: &Signature,
    of: &Id,
    sha256: &str,
) -> Result<(SignatureState, Verified)> {
    if signature.signed.len() > MAX_SIGNED_BYTES {
        let words = format!("it is larger than {MAX_SIGNED_BYTES} bytes");
        return Ok((SignatureState::Bad, Verified { letter: 'B', words, ..Verified::default() }));
    }
    let folder = Folder::new(context.store.paths().state())?;
    let git = signing::verify(context.repo, folder.path(), &signature.signed)?;
    let is_ours = signing::message(context.repo, &signature.signed).is_some_and(|text| is_of(text, of, sha256));
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

/// Begins the paragraph of a signed message with the claims.
const CLAIMS: &str = "SHA-256 of the claims that it quotes:";

/// The signed message: the handoff, the hash of its line, and by their ids the hashes of the claims that it quotes.
pub fn message(of: &Id, sha256: &str, claims: &BTreeMap<Id, String>) -> String {
    let lines: String = claims.iter().map(|(id, sha256)| format!("\n{id} {sha256}")).collect();
    let claims = if claims.is_empty() { String::new() } else { format!("\n{CLAIMS}{lines}\n") };
    format!("Handoff {of}\n\nSHA-256 of its record: {sha256}\n{claims}")
}

/// Whether a signed message is of this handoff.
fn is_of(text: &str, of: &Id, sha256: &str) -> bool {
    let rest = text.strip_prefix(&message(of, sha256, &BTreeMap::new()));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(&format!("\n{CLAIMS}\n")))
}

/// The claims in a signed message, with their hashes.
fn claims_in(text: &str) -> BTreeMap<Id, &str> {
    let claims = text.split_once(CLAIMS).map_or("", |(_, claims)| claims);
    let pairs = claims.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(id, sha256)| Some((Id::parse(id)?, sha256))).collect()
}

/// A handoff as it is stored.
pub struct StoredHandoff {
    /// The SHA-256 of its line, hex.
    pub sha256: String,
    /// The commits with it.
    pub places: BTreeSet<Oid>,
    /// The SHA-256 of the lines of the claims that it quotes, hex.
    pub claims: BTreeMap<Id, String>,
}

/// The stored handoff; an error if there is none.
pub fn stored(context: &CommandContext<'_>, of: &Id) -> Result<StoredHandoff> {
    let index = context.index()?;
    let scan = index.ids([of])?;
    let (Some(line), Some(entry)) = (scan.line(of), scan.get(of)) else { return Err(Error::unstored()) };
    let quoted = decode(line).map(|record| record.body.quoted_claims()).unwrap_or_default();
    let claims = index.ids(&quoted)?;
    let hash = |id: &Id| Some((id.clone(), sha256(claims.line(id)?)));
    let claims = quoted.iter().take(MAX_CLAIMS).filter_map(hash).collect();
    Ok(StoredHandoff { sha256: sha256(line), places: entry.on.clone(), claims })
}

/// Who vouches for these records by a signature that git accepts, by their ids: for a handoff without claims that were put into it
/// later, and for a claim that such a handoff quotes. Git is asked once a day for a signature, and again when the keys that it
/// knows change.
pub fn signers<'r>(
    context: &CommandContext<'_>,
    records: impl IntoIterator<Item = &'r Record>,
) -> Result<BTreeMap<Id, String>> {
    let index = context.index()?;
    if index.count("signature")? == 0 {
        return Ok(BTreeMap::new());
    }
    let records: Vec<&Record> = records.into_iter().collect();
    let ids = || records.iter().map(|record| &record.envelope.id);
    let (handoffs, lines) = (index.signed(ids())?, index.ids(ids())?);
    let signatures = index.naming(handoffs.records().map(|handoff| &handoff.envelope.id), &["signature"])?;
    let mut verdicts = Verdicts::read(context);
    let mut out = BTreeMap::new();
    for handoff in handoffs.records().map(|handoff| &handoff.envelope.id) {
        let Some(line) = handoffs.line(handoff) else { continue };
        let of_handoff = signatures.records().rev().filter_map(|record| match &record.body {
            Body::Signature(signature) if signature.of == *handoff => Some(signature),
            _ => None,
        });
        let good = verdicts.good(of_handoff.take(MAX_SIGNATURES), handoff, &sha256(line));
        let Some((signature, signer)) = good else { continue };
        let claims = signing::message(context.repo, &signature.signed).map(claims_in).unwrap_or_default();
        // as it was signed, without what others replaced
        let quoted = decode(line).map(|signed| signed.body.quoted_claims()).unwrap_or_default();
        for record in &records {
            let id = &record.envelope.id;
            let is_vouched_for = match id == handoff {
                true => record.body.quoted_claims().is_subset(&quoted),
                false => lines.line(id).is_some_and(|line| claims.get(id).is_some_and(|hash| *hash == sha256(line))),
            };
            if is_vouched_for {
                out.entry(id.clone()).or_insert_with(|| signer.clone());
            }
        }
    }
    Ok(out)
}

/// What git said of signatures, kept in a file that can be deleted.
struct Verdicts<'c> {
    context: &'c CommandContext<'c>,
    /// What the verdicts depend on besides the signature.
    settings: String,
    /// By key, the signer; empty for a signature that is not good.
    known: BTreeMap<String, String>,
    /// When git is no longer asked: what it did not say yet is not good.
    until: Option<Instant>,
}

/// How long a hook asks git about signatures.
const HOOK_PATIENCE: Duration = Duration::from_millis(300);

/// Most verdicts kept.
const MOST_VERDICTS: usize = 1000;

impl<'c> Verdicts<'c> {
    fn read(context: &'c CommandContext<'_>) -> Self {
        let text = std::fs::read_to_string(file(context)).unwrap_or_default();
        let known = text.lines().filter_map(|line| line.split_once(' '));
        let known = known.map(|(key, signer)| (key.to_owned(), signer.to_owned())).collect();
        let until = context.store.is_in_hook().then(|| Instant::now() + HOOK_PATIENCE);
        Verdicts { settings: settings(context), context, known, until }
    }

    /// The first good one of a handoff's signatures, and its signer. One that cannot be checked is not good.
    fn good<'s>(
        &mut self,
        mut signatures: impl Iterator<Item = &'s Signature>,
        of: &Id,
        hash: &str,
    ) -> Option<(&'s Signature, String)> {
        signatures.find_map(|signature| {
            let signer = self.signer(signature, of, hash);
            (!signer.is_empty()).then_some((signature, signer))
        })
    }

    /// The signer; empty if the signature is not good.
    fn signer(&mut self, signature: &Signature, of: &Id, hash: &str) -> String {
        let key = sha256([&self.settings, of.as_str(), hash, &signature.signed].join("\0").as_bytes());
        if let Some(signer) = self.known.get(&key) {
            return signer.clone();
        }
        if self.until.is_some_and(|until| Instant::now() > until) {
            return String::new();
        }
        let signer = match check(self.context, signature, of, hash) {
            // G: of a key that is trusted
            Ok((SignatureState::Good, git)) if git.letter == 'G' => {
                git.signer.or(git.fingerprint).or(git.key).unwrap_or_default()
            }
            Ok(_) => String::new(),
            Err(_) => return String::new(),
        };
        let signer = signer.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.context.index_cache.leaves_file() {
            let paths = self.context.store.paths();
            // if this fails, git is asked again
            let _ = paths.append_bounded(&file(self.context), &format!("{key} {signer}\n"), MOST_VERDICTS);
        }
        self.known.insert(key, signer.clone());
        signer
    }
}

fn file(context: &CommandContext<'_>) -> PathBuf {
    context.store.paths().state().join("signers")
}

/// The day, the files of keys that git is configured with, and when the OpenPGP keys changed.
fn settings(context: &CommandContext<'_>) -> String {
    let keys = ["gpg.ssh.allowedSignersFile", "gpg.ssh.revocationFile"].map(|key| {
        let text = context.repo.config_path(key).and_then(|path| std::fs::read(path).ok());
        text.map(|text| sha256(&text)).unwrap_or_default()
    });
    let home = context.env.get("GNUPGHOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(context.env.get("HOME")?).join(".gnupg"))).unwrap_or_default();
    let changed = ["pubring.kbx", "pubring.gpg", "trustdb.gpg"].map(|name| {
        let seen = std::fs::metadata(home.join(name)).and_then(|file| file.modified()).ok();
        seen.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.as_nanos()).to_string()
    });
    let configured = ["gpg.format", "gpg.program", "gpg.ssh.program", "gpg.minTrustLevel"]
        .map(|key| context.repo.config(key).unwrap_or_default());
    let day = context.store.now().date_naive().to_string();
    [vec![day], keys.to_vec(), changed.to_vec(), configured.to_vec()].concat().join("\n")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A temporary folder for git objects, deleted on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn new(state: &Path) -> Result<Self> {
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

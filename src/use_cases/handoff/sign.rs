//! Signs handoffs with the user's git signing key.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::claims::signed::{Folder, StoredHandoff, message, stored};
use crate::context::stored::StoreReport;
use crate::use_cases::handoff::receive::accept::named;
use empirica_notes::error::Result;
use empirica_notes::git::repository::signing;
use empirica_notes::model::record::Signature;
use empirica_notes::model::{Body, Id, Namespace, Record};
use empirica_notes::store::FlushTiming;

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

/// Signs a stored handoff as agent `ai`. The signature goes to the notes that have the handoff.
pub fn sign(context: &CommandContext<'_>, of: &Id, ai: &str) -> Result<SignOutcome> {
    let StoredHandoff { sha256, places, claims } = stored(context, of)?;
    let folder = Folder::new(context.store.paths().state())?;
    let signed = signing::sign(context.repo, folder.path(), &message(of, &sha256, &claims))?;
    context.store.paths().identify();
    let envelope = context.store.writer().new_envelope(None, ai);
    let signature_id = envelope.id.clone();
    let body = Body::Signature(Signature { of: of.clone(), sha256: sha256.clone(), signed });
    let mut report = StoreReport::default();
    let places = places.into_iter().map(|on| (Namespace::Handoffs, on)).collect();
    report.add(&mut context.store.writer().append_in_notes(
        &Record { envelope, body },
        &places,
        None,
        FlushTiming::Now,
    )?);
    Ok(SignOutcome { of: of.clone(), signature_id, sha256, stored: report })
}

pub fn run(context: &CommandContext<'_>, name: &str) -> Result<SignOutcome> {
    sign(context, &named(context, name)?.envelope.id, &context.author(None))
}

//! Which records may be put into an agent's context unasked.

use std::collections::BTreeSet;

use crate::context::CommandContext;
use crate::context::claims::signed::signers;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::model::Id;
use empirica_notes::store::Scan;

empirica_notes::named_enum! {
    /// `empirica.inject`: the records that hooks tell an agent.
    pub enum Inject {
        /// All.
        All = "all",
        /// Those made in this clone, and those that a good signature vouches for.
        Signed = "signed",
        /// Those made in this clone, and those signed with a key of `user.email`.
        Mine = "mine",
    }
}

impl Inject {
    /// As configured: [`Inject::All`] without a value, and [`Inject::Mine`] for another word, which may mean a restriction.
    pub fn configured(repo: &Repository) -> Self {
        repo.config("empirica.inject").map_or(Inject::All, |word| Inject::parse(&word).unwrap_or(Inject::Mine))
    }
}

/// Whether all may be.
pub fn is_all(context: &CommandContext<'_>) -> bool {
    Inject::configured(context.repo) == Inject::All
}

/// Whether this clone made a record of a scan; of two with one id, which is the copy is not known.
pub fn is_own(context: &CommandContext<'_>, scan: &Scan, id: &Id) -> bool {
    context.store.made(id) && !scan.conflicting_ids.contains(id)
}

/// Leaves out the records that may not be told; returns whether `empirica.inject` admits all. Also then, a claim under a session of this
/// clone that another stored there is not told.
pub fn admit(context: &CommandContext<'_>, scan: &mut Scan) -> Result<bool> {
    let inject = Inject::configured(context.repo);
    if inject == Inject::All {
        let claims = scan.records().filter(|record| record.body.claim().is_some()).map(|record| &record.envelope.id);
        let unproven = context.index()?.unproven(claims)?;
        scan.retain(|id| !unproven.contains(id));
        return Ok(true);
    }
    let signers = signers(context, scan.records())?;
    let email = context.repo.config("user.email").filter(|email| !email.is_empty());
    let is_mine = |signer: &String| {
        email.as_ref().is_some_and(|email| signer == email || signer.ends_with(&format!("<{email}>")))
    };
    let is_admitted = |id: &&Id| match signers.get(*id) {
        Some(signer) if inject == Inject::Signed || is_mine(signer) => true,
        _ => is_own(context, scan, id),
    };
    let ids = scan.records().map(|record| &record.envelope.id);
    let admitted: BTreeSet<Id> = ids.filter(is_admitted).cloned().collect();
    scan.retain(|id| admitted.contains(id));
    Ok(false)
}

//! The state of claims, from the records that name them.

pub mod anchors;
pub mod inject;
pub mod signed;

use chrono::DateTime;

use crate::context::CommandContext;
use crate::context::claims::anchors::{Anchors, Place};
use crate::index::Index;
use empirica_notes::error::Result;
use empirica_notes::model::journal::UNTIL_CHANGED;
use empirica_notes::model::record::{CLAIMS, Retract};
use empirica_notes::model::{Body, Envelope, Id, Record};

/// Whether a record is a claim, which can be retracted, replaced and confirmed.
pub fn is_claim(body: &Body) -> bool {
    CLAIMS.contains(&body.kind()) || matches!(body, Body::Source(_))
}

/// Whether the time of a claim that holds until then, RFC 3339 or [`UNTIL_CHANGED`], is over. These are its places in the code.
pub fn has_run_out(context: &CommandContext<'_>, until: &str, places: &[Place]) -> bool {
    if until == UNTIL_CHANGED {
        return places.iter().any(|place| place.state.is_lost());
    }
    DateTime::parse_from_rfc3339(until).is_ok_and(|end| end < context.store.now())
}

/// What others say of a record, and whether its time is over. It is in force unless one retracts or replaces it.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// The retracts in force that name it, oldest first.
    pub retracts: Vec<(Envelope, Retract)>,
    /// The newest record that confirms it.
    pub confirmed: Option<Envelope>,
    /// The claims that it replaces.
    pub replaces: Vec<Id>,
    /// Other claims in force that replace one of those, perhaps in several steps.
    pub rivals: Vec<Id>,
    /// When its time ended, RFC 3339 UTC or [`UNTIL_CHANGED`]; `None` if it is not over.
    pub ran_out: Option<String>,
    /// The places in the code that it is about.
    pub places: Vec<Place>,
    /// Who vouches for it by a signature that git accepts.
    pub signer: Option<String>,
}

impl Standing {
    /// The word for its state: holds, ran_out, replaced or retracted.
    pub fn word(&self) -> &'static str {
        match self.retracts.as_slice() {
            [] if self.ran_out.is_some() => "ran_out",
            [] => "holds",
            some if some.iter().any(|(_, retract)| retract.by.is_some()) => "replaced",
            _ => "retracted",
        }
    }

    /// Whether it holds, and the code that it is about, too.
    pub fn is_sound(&self) -> bool {
        self.word() == "holds" && !self.places.iter().any(|place| place.state.is_lost())
    }

    /// The record that made it, `id`, or renewed it last; ids sort by time.
    pub fn renewed<'i>(&'i self, id: &'i Id) -> &'i Id {
        self.confirmed.as_ref().map_or(id, |by| (&by.id).max(id))
    }

    /// The claims that replace it, oldest first.
    pub fn successors(&self) -> impl DoubleEndedIterator<Item = &Id> {
        self.retracts.iter().filter_map(|(_, retract)| retract.by.as_ref())
    }

    /// By what it was replaced, or that it was retracted; `None` if it is in force.
    pub fn gone_as(&self) -> Option<String> {
        let by: Vec<&str> = self.successors().map(Id::short).collect();
        match self.retracts.as_slice() {
            [] => None,
            _ if by.is_empty() => Some("retracted".to_owned()),
            _ => Some(format!("replaced by {}", by.join(" and "))),
        }
    }

    /// Who retracted or replaced it, when and why, in a line; empty if it is in force.
    pub fn why_gone(&self) -> String {
        let each = self.retracts.iter().map(|(envelope, retract)| {
            let what = match &retract.by {
                Some(by) => format!("replaced it with {}", by.short()),
                None => "retracted it".to_owned(),
            };
            let why = retract.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{} {what} on {}{why}", envelope.ai, envelope.at.get(..10).unwrap_or(&envelope.at))
        });
        each.collect::<Vec<_>>().join("; ")
    }
}

/// What the records say of one of them, and its code.
pub fn standing(context: &CommandContext<'_>, of: &Record) -> Result<Standing> {
    let mut all = standings(context, std::slice::from_ref(of), &mut Anchors::new(context))?;
    Ok(all.pop().unwrap_or_default())
}

/// What the records say of these, and the code they are about.
pub fn standings(context: &CommandContext<'_>, records: &[Record], anchors: &mut Anchors<'_>) -> Result<Vec<Standing>> {
    let mut places = anchors.of(records.iter().map(|record| &record.envelope.id))?;
    let mut signers = signed::signers(context, records)?;
    let index = context.index()?;
    let standing = |of: &Record| {
        let id = &of.envelope.id;
        one(context, &index, of, places.remove(id).unwrap_or_default(), signers.remove(id))
    };
    records.iter().map(standing).collect()
}

fn one(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    of: &Record,
    places: Vec<Place>,
    signer: Option<String>,
) -> Result<Standing> {
    let id = &of.envelope.id;
    let about = index.naming([id], &["retract", "confirm"])?;
    let retracts = about.records().filter_map(|record| match record {
        Record { envelope, body: Body::Retract(retract) } => Some((envelope.clone(), retract.clone())),
        _ => None,
    });
    let horizon = context.store.horizon();
    let counts = |record: &&Record| matches!(record.body, Body::Confirm(_)) && !horizon.is_ahead(&record.envelope.id);
    let newest = about.records().rev().find(counts);
    Ok(Standing {
        retracts: retracts.collect(),
        confirmed: newest.map(|record| record.envelope.clone()),
        replaces: index.replaced_by(id)?,
        rivals: index.rivals(id)?,
        ran_out: of.body.until().filter(|until| has_run_out(context, until, &places)).map(str::to_owned),
        places,
        signer,
    })
}

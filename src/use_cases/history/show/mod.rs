//! Shows a handoff, session, commit or other record in full.

pub mod committer;
pub mod record;
pub mod state;
pub mod trust;
pub mod view;

use std::collections::BTreeSet;

use crate::context::claims::Standing;
use crate::context::claims::signed::{self, Verification};
use crate::context::handoffs::{ListedHandoff, newest, of_session};
use crate::context::names::NamedObject;
use crate::context::{CommandContext, claims, names};
use crate::index::HandoffQuery;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::fold::Arrival;
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::handoff::receive::accept::ReceivedHandoff;
use crate::use_cases::history::show::committer::{Committed, Committers};
use crate::use_cases::session::lifecycle::ShownSession;
use empirica_notes::error::{Error, Kind, Result, empirica, text};
use empirica_notes::git::Oid;
use empirica_notes::model::{Body, Id, Namespace, Record};
use empirica_notes::store::Placements;

/// The object shown.
#[derive(Debug)]
pub enum ShowOutcome {
    /// A handoff with its state, acknowledgements and trust.
    Handoff(Box<ListedHandoff>, Box<Arrival>, ReceivedHandoff, Box<Trust>),
    /// A session with its handoff in force, if any, and its committers.
    Session(Box<ShownSession>, Option<Box<ListedHandoff>>, Committers),
    /// The records attached to a commit.
    Commit {
        /// Its hex ID.
        commit: String,
        subject: String,
        /// Records in force, oldest first.
        records: Vec<Record>,
    },
    /// Any other record, its committer, and what others say of it.
    Record(Box<Record>, Committed, Box<Standing>),
}

/// Provenance of a handoff.
#[derive(Debug)]
pub struct Trust {
    pub committed: Committed,
    /// Verification of its signatures, if requested.
    pub verification: Option<Verification>,
}

/// Finds `name`: a session alias, the ID of a handoff or other record, or a revision; by default, the newest
/// handoff. An ambiguous name is an error unless one object matches exactly. `verify` checks signatures of a handoff;
/// other objects have none.
pub fn run(context: &CommandContext<'_>, name: Option<&str>, verify: bool) -> Result<(ShowOutcome, Vec<String>)> {
    let (mut shown, warnings) = found(context, name)?;
    if verify {
        let ShowOutcome::Handoff(listed, _, _, trust) = &mut shown else {
            return Err(Error::refused("cannot verify a signature: only a handoff is signed")
                .reason("the name is that of a session, a commit or another record")
                .suggest("Name a handoff of the list.")
                .command(empirica("handoff list")));
        };
        trust.verification = Some(signed::verify(context, &listed.envelope.id)?);
    }
    Ok((shown, warnings))
}

fn found(context: &CommandContext<'_>, name: Option<&str>) -> Result<(ShowOutcome, Vec<String>)> {
    let mut warnings = context.store.reconcile();
    let Some(name) = name else {
        return match newest(&context.index()?, &HandoffQuery::default())? {
            Some(listed) => Ok((handoff(context, listed, &mut warnings)?, warnings)),
            None => {
                let doubts = context.index()?.doubts(&BTreeSet::new())?;
                let reason = doubts.into_iter().next().unwrap_or("no session has handed over here yet".to_owned());
                Err(Error::not_found("cannot show a handoff: none is stored here")
                    .reason(reason)
                    .suggest(text![
                        "See which sessions there are; a session hands over with ",
                        empirica("handoff"),
                        "."
                    ])
                    .command(empirica("session list")))
            }
        };
    };
    let object = names::session_or_record(context, name, "record", &Namespace::ALL, |_| true);
    let mut retracted = false;
    let object = object.or_else(|error| {
        let record = names::retracted(context, name, error)?;
        retracted = true;
        Ok::<_, Error>(NamedObject::Record(Box::new(record)))
    });
    let as_commit = context.repo.resolve_commit(name);
    let describe = |commit: Oid| {
        format!("commit {}: {}", commit.to_hex_with_len(8), context.repo.subject(commit).unwrap_or_default())
    };
    let object = match (object, as_commit) {
        (Ok(object), Some(commit)) if object.is_abbreviated(name) => {
            let error = names::ambiguous(name, &[object.label()]).alternative(object.id());
            let error = names::add_candidate(error, &describe(commit), &commit.to_string());
            return Err(error.command(empirica("show").arg(object.id())));
        }
        (Err(error), Some(commit)) if error.kind() == Kind::Refused => {
            return Err(names::add_candidate(error, &describe(commit), &commit.to_string()));
        }
        (object, _) => object,
    };
    let shown = match (object, as_commit) {
        (Ok(NamedObject::Session(named)), _) => {
            let session = ShownSession::read(context, &named.id)?;
            let own = of_session(context, &named.id)?;
            let committers = committer::of_session(context, &named.id)?;
            ShowOutcome::Session(Box::new(session), own.map(Box::new), committers)
        }
        (Ok(NamedObject::Record(record)), _) => match &record.body {
            Body::Handoff(_) if !retracted => {
                let placed = context.index()?.placed(std::slice::from_ref(&record.envelope.id))?.pop();
                let Record { envelope, body: Body::Handoff(written) } = placed.unwrap_or(*record) else {
                    return Err(nothing(name));
                };
                handoff(context, ListedHandoff { envelope, handoff: *written }, &mut warnings)?
            }
            _ => {
                let committed =
                    committer::committers_of(context, &record.envelope.id, record.envelope.session.as_ref())?;
                let standing = claims::standing(context, &record)?;
                ShowOutcome::Record(record, committed, Box::new(standing))
            }
        },
        (Err(_), Some(commit)) => {
            let index = context.index()?;
            let mut scan = index.on(commit)?;
            let ids: Vec<Id> = scan.records().map(|record| record.envelope.id.clone()).collect();
            let of_handoffs = scan.records().filter(|record| matches!(record.body, Body::Handoff(_)));
            let superseded = index.superseded(of_handoffs.map(|record| &record.envelope.id))?;
            scan.merge(index.naming(&ids, &["attach"])?);
            let placements = Placements::new(&scan);
            let entries = scan.entries().filter(|entry| {
                entry.on.contains(&commit)
                    && !entry.record.body.is_meta()
                    && !superseded.contains(&entry.record.envelope.id)
                    && placements.of(&context.store, entry) == commit
            });
            warnings.extend(index.doubts(&scan.records().map(|record| record.envelope.id.clone()).collect())?);
            let records = entries.map(|entry| placements.placed(&context.store, entry)).collect();
            ShowOutcome::Commit {
                subject: context.repo.subject(commit).unwrap_or_default(),
                commit: commit.to_string(),
                records,
            }
        }
        (Err(error), None) if error.kind() == Kind::Refused => return Err(error),
        (Err(_), None) => return Err(nothing(name)),
    };
    Ok((shown, warnings))
}

/// A handoff with its state and receivers.
fn handoff(context: &CommandContext<'_>, listed: ListedHandoff, warnings: &mut Vec<String>) -> Result<ShowOutcome> {
    let (arrivals, more) = arrival::changes_since(context, &[&listed])?;
    warnings.extend(more);
    let arrival = arrivals.into_iter().next().ok_or_else(|| nothing(listed.envelope.id.short()))?;
    let received = accept::received_handoff(context, &listed.envelope.id)?;
    let committed = committer::committers_of(context, &listed.envelope.id, listed.envelope.session.as_ref())?;
    let trust = Trust { committed, verification: None };
    Ok(ShowOutcome::Handoff(Box::new(listed), Box::new(arrival), received, Box::new(trust)))
}

fn nothing(name: &str) -> Error {
    Error::not_found(format!("cannot show '{name}': not a handoff, session or commit"))
        .provided(name)
        .reason("no stored id begins or ends with it, and git knows no such revision")
        .suggest("Use an id from the list.")
        .command(empirica("log").flag("--journal"))
}

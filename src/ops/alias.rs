//! Names of sessions and records: full ids, unique parts of them, `latest…`, an agent's own session id.

use super::context::Context;
use super::current;
use crate::epistemics::journal::sessions;
use crate::error::{Error, Result};
use crate::model::session::Session;
use crate::model::{Id, Record, SessionId, Shelf};

/// The fewest characters of an abbreviated id.
const SHORTEST: usize = 4;

/// The session and its agent that a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The session.
    pub id: SessionId,
    /// Its agent.
    pub ai: String,
}

/// Every session that is stored here, newest start last.
pub fn all_sessions(context: &Context<'_>) -> Result<Vec<Session>> {
    let scan = context.store.scan_all()?;
    let mut all: Vec<Session> = sessions(scan.records()).into_values().collect();
    all.sort_by(|a, b| (&a.started_at, &a.began).cmp(&(&b.started_at, &b.began)));
    Ok(all)
}

/// Resolves a session: a full UUID, a unique prefix of 4 characters or more, `latest`, `latest:active`, `latest:<ai>`,
/// `latest:active:<ai>`, or the id the agent's own tool knows it by. Ambiguity and absence are errors that list what
/// there is.
pub fn session(context: &Context<'_>, given: &str) -> Result<Named> {
    let given = given.trim();
    if let Some(session) = current::anywhere(context, given) {
        return Ok(Named { id: session.id, ai: session.ai });
    }
    let all = all_sessions(context)?;
    let found = pick(&all, given)?;
    Ok(Named { id: found.id.clone(), ai: found.ai.clone() })
}

/// Resolves a name among sessions that are sorted by their start.
pub fn pick<'s>(all: &'s [Session], given: &str) -> Result<&'s Session> {
    if let Some(exact) = all.iter().find(|s| s.id.as_str() == given) {
        return Ok(exact);
    }
    let mut parts = given.split(':');
    if parts.next() == Some("latest") {
        let rest: Vec<&str> = parts.collect();
        let (active, ai) = match rest.as_slice() {
            [] => (false, None),
            ["active"] => (true, None),
            ["active", ai] => (true, Some(*ai)),
            [ai] => (false, Some(*ai)),
            _ => return Err(unknown(all, given, "it is not of the form latest[:active][:<ai>]")),
        };
        let fits = |s: &&Session| (!active || s.is_active()) && ai.is_none_or(|ai| s.ai == ai);
        let newest = all.iter().rev().find(fits);
        return newest.ok_or_else(|| unknown(all, given, "no session fits it"));
    }
    // an agent's tool may use its id again: the active session of that id, else the newest
    let external = |s: &&Session| s.external_id.as_deref() == Some(given);
    let named = all.iter().rev().find(|s| external(s) && s.is_active());
    if let Some(session) = named.or_else(|| all.iter().rev().find(external)) {
        return Ok(session);
    }
    let hexish = given.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if !hexish || given.len() < SHORTEST {
        return Err(unknown(all, given, "it is neither an id, nor 4 or more characters of one, nor an alias"));
    }
    let lower = given.to_ascii_lowercase();
    let matches: Vec<&Session> = all.iter().filter(|s| s.id.as_str().starts_with(&lower)).collect();
    match matches.as_slice() {
        [only] => Ok(only),
        [] => Err(unknown(all, given, "no session's id begins with it")),
        many => {
            let mut error = Error::refused(format!("'{given}' is the beginning of {} sessions", many.len()))
                .provided(given)
                .reason("an abbreviated id must be unique")
                .suggest("Give more characters.");
            for session in many.iter().take(5) {
                error = error.alternative(session.id.as_str());
            }
            Err(error.command("git empirica session list"))
        }
    }
}

fn unknown(all: &[Session], given: &str, why: &str) -> Error {
    let mut error = Error::not_found(format!("there is no session '{given}'"))
        .provided(given)
        .reason(why)
        .suggest("Use an id from the list, or latest, latest:active, latest:<ai>, latest:active:<ai>.");
    for session in all.iter().rev().take(3) {
        error = error.alternative(session.id.as_str());
    }
    error.command("git empirica session list")
}

/// Resolves a record on one of `shelves` that `fits`: its full id, or 4 or more characters that only its short form
/// begins with, or that only its id ends or begins with.
pub fn record(
    context: &Context<'_>,
    given: &str,
    what: &str,
    shelves: &[Shelf],
    fits: impl Fn(&Record) -> bool,
) -> Result<Record> {
    let given = given.trim().to_ascii_lowercase();
    let absent = |why: &str| {
        Error::not_found(format!("there is no {what} '{given}'"))
            .provided(given.clone())
            .reason(why.to_owned())
            .suggest("Use an id as the lists show it.")
            .command(if what == "goal" { "git empirica goal list" } else { "git empirica log --journal" })
    };
    let hexish = given.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if !hexish || given.len() < SHORTEST {
        return Err(absent("an id is hexadecimal and has 4 characters or more"));
    }
    let matches = |id: &Id| {
        let short = id.short().starts_with(&given);
        short || id.as_str().ends_with(&given) || id.as_str().starts_with(&given)
    };
    let mut found = Vec::new();
    for shelf in shelves {
        let scan = context.store.scan(*shelf)?;
        found.extend(scan.records().filter(|r| matches(&r.head.id) && fits(r)).cloned());
    }
    // a short form that begins with it is meant before any other part of an id
    if found.len() > 1 && found.iter().filter(|r| r.head.id.short().starts_with(&given)).count() == 1 {
        found.retain(|r| r.head.id.short().starts_with(&given));
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(absent("no stored id has it at its beginning or end")),
        many => {
            let mut error = Error::refused(format!("'{given}' stands for {} records", many.len()))
                .provided(given.clone())
                .reason("an abbreviated id must be unique")
                .suggest("Give more characters.");
            for record in many.iter().take(5) {
                error = error.alternative(record.head.id.as_str());
            }
            Err(error)
        }
    }
}

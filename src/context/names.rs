//! Resolves names of sessions and records: full IDs, unique parts, `latest…`, the agent's session ID.

use crate::context::{CommandContext, active};
use crate::index::searchable;
use crate::text::shorten::short;
use empirica_notes::error::{Command, Error, Kind, Result, blank, empirica, text};
use empirica_notes::model::session::Session;
use empirica_notes::model::{Id, Namespace, Record, SessionId};

/// Ways to name a session.
const FORMS: &str = "Use an id from the list, or latest, latest:active, latest:<ai>, latest:active:<ai>.";

/// Fewest characters of an abbreviated ID.
const SHORTEST: usize = 4;

/// A resolved session and its agent.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionName {
    pub id: SessionId,
    pub ai: String,
}

/// Most candidates shown for an ambiguous ID, and characters of their texts.
const SHOWN: usize = 5;
const WORDS: usize = 40;

/// A session or a record.
#[derive(Debug)]
pub enum NamedObject {
    Session(SessionName),
    Record(Box<Record>),
}

impl NamedObject {
    /// The full ID.
    pub fn id(&self) -> &str {
        match self {
            NamedObject::Session(session) => session.id.as_str(),
            NamedObject::Record(record) => record.envelope.id.as_str(),
        }
    }

    /// Whether a name is a part of the ID rather than the whole ID or an alias.
    pub fn is_abbreviated(&self, name: &str) -> bool {
        let (name, id) = (name.trim().to_ascii_lowercase(), self.id());
        id != name && (matches!(self, NamedObject::Record(_)) || id.starts_with(&name))
    }

    /// Kind and short ID, with the agent or the first words.
    pub fn label(&self) -> String {
        match self {
            NamedObject::Session(session) => format!("session {} of {}", session.id.short(), session.ai),
            NamedObject::Record(record) => label_of(record),
        }
    }
}

/// Resolves a session, or a record that `fits`. An abbreviation shared by both kinds is refused with all candidates;
/// a full ID or an alias is unambiguous.
pub fn session_or_record(
    context: &CommandContext<'_>,
    name: &str,
    what: &str,
    namespaces: &[Namespace],
    fits: impl Fn(&Record) -> bool,
) -> Result<NamedObject> {
    let session = session(context, name).map(NamedObject::Session);
    let record = context.record(name, what, namespaces, fits).map(|record| NamedObject::Record(Box::new(record)));
    let is_ambiguous = |error: &Error| error.kind() == Kind::Refused;
    match (session, record) {
        (Ok(session), Ok(record)) if !session.is_abbreviated(name) || !record.is_abbreviated(name) => {
            Ok(if session.is_abbreviated(name) { record } else { session })
        }
        (Ok(session), Ok(record)) => {
            let error = ambiguous(name, &[session.label()]).alternative(session.id());
            Err(add_candidate(error, &record.label(), record.id()).command(empirica("session show").arg(session.id())))
        }
        (Ok(session), Err(records)) if is_ambiguous(&records) && session.is_abbreviated(name) => {
            Err(add_candidate(records, &session.label(), session.id()))
        }
        (Err(sessions), Ok(record)) if is_ambiguous(&sessions) => {
            Err(add_candidate(sessions, &record.label(), record.id()))
        }
        (Err(sessions), Err(records)) if is_ambiguous(&sessions) && is_ambiguous(&records) => {
            let reason = format!("{}; {}", sessions.reason_text(), records.reason_text());
            Err(records.alternatives().iter().fold(sessions.reason(reason), |error, id| error.alternative(id)))
        }
        (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
        // an ambiguous name is reported before an unknown one; an alias can only name a session
        (Err(session), Err(record)) => {
            let is_alias = name.trim().split(':').next() == Some("latest");
            Err(if is_alias || is_ambiguous(&session) { session } else { record })
        }
    }
}

/// Adds a candidate to the error of an ambiguous abbreviation.
pub fn add_candidate(error: Error, candidate: &str, id: &str) -> Error {
    let reason = format!("{}; {candidate}", error.reason_text());
    error.reason(reason).alternative(id)
}

/// Error: an abbreviation matches several IDs.
pub fn ambiguous(name: &str, listed: &[String]) -> Error {
    Error::refused(format!("cannot resolve '{name}': it is ambiguous"))
        .provided(name)
        .reason(format!("it could be {}", listed.join("; ")))
        .suggest("Give more characters.")
}

/// As [`ambiguous`], with a message of its own and the full IDs of the candidates as alternatives.
fn several(message: String, name: &str, candidates: impl Iterator<Item = (String, String)>) -> Error {
    let (labels, ids): (Vec<String>, Vec<String>) = candidates.take(SHOWN).unzip();
    let error = Error::refused(message)
        .provided(name)
        .reason(format!("it could be {}", labels.join("; ")))
        .suggest("Give more characters.");
    ids.into_iter().fold(error, |error, id| error.alternative(id))
}

fn label_of_session(session: &Session) -> String {
    let task = session.task.as_deref().map(|task| format!(": {}", short(task, WORDS))).unwrap_or_default();
    format!("session {} of {}{task}", session.id.short(), session.ai)
}

/// A record as a candidate: kind, short ID, first words.
pub fn label_of(record: &Record) -> String {
    let words =
        searchable::searchable_text(&record.body).map(|text| format!(": {}", short(&text, WORDS))).unwrap_or_default();
    format!("{} {}{words}", record.body.kind().replace('_', " "), record.envelope.id.short())
}

/// Resolves a session: a full UUID, a unique prefix of 4 characters or more, `latest`, `latest:active`,
/// `latest:<ai>`, `latest:active:<ai>`, or the session ID of the agent's tool. Errors list the candidates.
pub fn session(context: &CommandContext<'_>, name: &str) -> Result<SessionName> {
    let name = name.trim();
    if let Some(session) = active::anywhere(context, name) {
        return Ok(SessionName { id: session.id, ai: session.ai });
    }
    let found = context.index()?.sessions_like(name)?;
    let found = pick(&found, name)?;
    Ok(SessionName { id: found.id.clone(), ai: found.ai.clone() })
}

/// Resolves a name among sessions sorted by start: all sessions, or all candidates for the name.
#[doc(hidden)]
pub fn pick<'s>(all: &'s [Session], name: &str) -> Result<&'s Session> {
    if let Some(exact) = all.iter().find(|s| s.id.as_str() == name) {
        return Ok(exact);
    }
    let mut parts = name.split(':');
    if parts.next() == Some("latest") {
        const FORM: &str = "an alias is of the form latest, latest:active, latest:<ai> or latest:active:<ai>";
        let rest: Vec<&str> = parts.collect();
        let (active, ai) = match rest.as_slice() {
            [] => (false, None),
            ["active"] => (true, None),
            ["active", ai] if !ai.is_empty() => (true, Some(*ai)),
            [ai] if !ai.is_empty() => (false, Some(*ai)),
            _ => return Err(unknown(all, name, FORM)),
        };
        let fits = |s: &&Session| (!active || s.is_active()) && ai.is_none_or(|ai| s.ai == ai);
        let newest = all.iter().rev().find(fits);
        return newest.ok_or_else(|| none_of(all, name, active, ai));
    }
    // a tool may reuse its ID: prefer the active session, otherwise the newest
    let external = |s: &&Session| s.external_id.as_deref() == Some(name);
    let named = all.iter().rev().find(|s| external(s) && s.is_active());
    if let Some(session) = named.or_else(|| all.iter().rev().find(external)) {
        return Ok(session);
    }
    let hexish = name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    if !hexish || name.len() < SHORTEST {
        return Err(unknown(all, name, "it is neither an id, nor 4 or more characters of one, nor an alias"));
    }
    let lower = name.to_ascii_lowercase();
    let matches: Vec<&Session> = all.iter().filter(|s| s.id.as_str().starts_with(&lower)).collect();
    match matches.as_slice() {
        [only] => Ok(only),
        [] => Err(unknown(all, name, "no session's id begins with it")),
        many => {
            let message = format!("cannot resolve '{name}': it is the beginning of {} sessions", many.len());
            let candidates = many.iter().map(|session| (label_of_session(session), session.id.to_string()));
            Err(several(message, name, candidates).command(empirica("session list")))
        }
    }
}

fn unknown(all: &[Session], name: &str, why: &str) -> Error {
    let near = similar::get_close_matches(name, &["latest", "latest:active"], 1, 0.7)
        .first()
        .copied()
        .filter(|_| !name.ends_with(':'));
    let error = Error::not_found(format!("cannot find session '{name}'")).provided(name).reason(why);
    let error = match near {
        Some(near) => error.suggest(format!("Did you mean '{near}'?")).alternative(near),
        None => error.suggest(FORMS),
    };
    newest(all, error).command(empirica("session list"))
}

/// Error: an alias matches no session.
fn none_of(all: &[Session], name: &str, active: bool, ai: Option<&str>) -> Error {
    let which = if active { "active sessions" } else { "sessions" };
    let whose = ai.map(|ai| format!(" for ai_id '{ai}'")).unwrap_or_default();
    let start = start_command(ai);
    let mut error = Error::not_found(format!("cannot find session '{name}'"))
        .provided(name)
        .reason(format!("No {which} are stored here{whose}"))
        .suggest(text!["Start one: ", start.clone(), format!(". Or u{}", &FORMS[1..])]);
    if let Some(ai) = ai.filter(|ai| active && all.iter().any(|session| session.ai == *ai)) {
        error = error.alternative(format!("latest:{ai}"));
    }
    let agents: Vec<&str> = all.iter().map(|session| session.ai.as_str()).collect();
    let near = ai.and_then(|ai| similar::get_close_matches(ai, &agents, 1, 0.6).first().copied());
    if let Some(near) = near.filter(|near| ai != Some(*near)) {
        let near = if active { format!("latest:active:{near}") } else { format!("latest:{near}") };
        error = error.suggest(format!("Did you mean '{near}'?")).alternative(near);
    }
    if ai.is_some() && all.iter().any(Session::is_active) {
        error = error.alternative("latest:active");
    }
    if !all.is_empty() {
        error = error.alternative("latest");
    }
    let is_of_one = active && ai.is_some();
    newest(all, error).command(if is_of_one || all.is_empty() { start } else { empirica("session list") })
}

/// Adds the IDs of the newest sessions as alternatives.
fn newest(all: &[Session], error: Error) -> Error {
    all.iter().rev().take(3).fold(error, |error, session| error.alternative(session.id.as_str()))
}

/// The command that starts a session, for the named agent if any.
pub fn start_command(ai: Option<&str>) -> Command {
    ai.into_iter()
        .fold(empirica("session start"), |command, ai| command.option("--ai", ai))
        .option("--task", blank("<what you are going to do>"))
}

/// Error: no such record. `what` is the expected kind: goal, checkpoint, record, …
pub fn no_record(name: &str, what: &str, why: &str) -> Error {
    let list = match what {
        "goal" => empirica("goal list"),
        "handoff" => empirica("handoff list"),
        "session" | "session or goal" | "session or handoff" => empirica("session list"),
        "checkpoint" | "checkpoint or handoff" => empirica("checkpoint list"),
        "acknowledgement" => empirica("log"),
        "unknown" => empirica("search").arg("kind:unknown"),
        "claim" => empirica("search").arg("kind:finding"),
        _ => empirica("log").flag("--journal"),
    };
    Error::not_found(format!("cannot find {what} '{name}'"))
        .provided(name)
        .reason(why)
        .suggest(if list.name == "session list" { FORMS } else { "Use an id as the list shows it." })
        .command(list)
}

/// Resolves a task by its full ID or a unique prefix.
pub fn task(context: &CommandContext<'_>, name: &str) -> Result<String> {
    let mut ids: Vec<String> = context.index()?.of_tasks(None)?.into_iter().map(|(id, _)| id).collect();
    ids.dedup();
    if ids.iter().any(|id| id == name) {
        return Ok(name.to_owned());
    }
    let begins = |id: &&String| !name.is_empty() && id.to_lowercase().starts_with(&name.to_lowercase());
    let like: Vec<String> = ids.iter().filter(begins).cloned().collect();
    match like.as_slice() {
        [only] => Ok(only.clone()),
        [] => {
            let error = Error::not_found(format!("cannot find task '{name}'"))
                .provided(name)
                .reason("no handoff names it as its task")
                .suggest("Give the id as the list shows it.")
                .command(empirica("task list"));
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let near = similar::get_close_matches(name, &ids, 3, 0.6);
            Err(near.into_iter().fold(error, |error, near| error.alternative(near)))
        }
        many => {
            let candidates = many.iter().map(|id| (id.clone(), id.clone()));
            Err(several(format!("cannot resolve '{name}': it is ambiguous"), name, candidates)
                .command(empirica("task list")))
        }
    }
}

/// Reason for not finding a retracted record.
const RETRACTED: &str = "it was retracted";

/// Resolves a name to a retracted record if it matches nothing else, to show or redact it.
pub fn retracted(context: &CommandContext<'_>, name: &str, error: Error) -> Result<Record> {
    if error.reason_text().to_string() != RETRACTED {
        return Err(error);
    }
    let name = name.trim().to_ascii_lowercase();
    let like = context.index()?.ids_like(&name)?;
    let mut found = like.retracted().filter(|record| is_part(&name, &record.envelope.id));
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only.clone()),
        _ => Err(error),
    }
}

fn is_part(name: &str, id: &Id) -> bool {
    id.short().starts_with(name) || id.as_str().ends_with(name) || id.as_str().starts_with(name)
}

impl<'a> CommandContext<'a> {
    /// Resolves a record on one of `namespaces` that `fits`: a full ID, or 4 or more characters that are a unique prefix of
    /// its short form, or a unique suffix or prefix of its ID.
    pub fn record(
        &self,
        name: &str,
        what: &str,
        namespaces: &[Namespace],
        fits: impl Fn(&Record) -> bool,
    ) -> Result<Record> {
        let trimmed = name.trim();
        let name = trimmed.to_ascii_lowercase();
        let absent = |why: &str| no_record(trimmed, what, why);
        let hexish = name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if !hexish || name.len() < SHORTEST {
            return Err(absent("an id is hexadecimal and has 4 characters or more"));
        }
        let matches = |id: &Id| is_part(&name, id);
        let like = self.index()?.ids_like(&name)?;
        let on_namespace = |record: &Record| {
            let own = record.body.namespace();
            own.is_none_or(|own| namespaces.contains(&own))
        };
        let fitting = like.records().filter(|r| matches(&r.envelope.id) && on_namespace(r) && fits(r));
        let mut found: Vec<Record> = fitting.cloned().collect();
        // a prefix of the short form takes precedence
        if found.len() > 1 && found.iter().filter(|r| r.envelope.id.short().starts_with(&name)).count() == 1 {
            found.retain(|r| r.envelope.id.short().starts_with(&name));
        }
        match found.as_slice() {
            [only] => Ok(only.clone()),
            [] if like.retracted().any(|record| matches(&record.envelope.id)) => Err(absent(RETRACTED)),
            [] if namespaces.len() == Namespace::ALL.len() => {
                Err(absent("no stored id has it at its beginning or end"))
            }
            [] => {
                // report a record of another kind
                let other = like.records().find(|record| matches(&record.envelope.id));
                let kind = other.map(|record| record.body.kind().replace('_', " "));
                Err(absent(&kind.map_or_else(
                    || "no stored id has it at its beginning or end".to_owned(),
                    |kind| format!("what has that id is of the kind {kind}"),
                )))
            }
            many => {
                let message = format!("cannot resolve '{name}': it matches {} records", many.len());
                let candidates = many.iter().map(|record| (label_of(record), record.envelope.id.to_string()));
                Err(several(message, &name, candidates).command(empirica("show").arg(many[0].envelope.id.as_str())))
            }
        }
    }

    /// Resolves `--led-from`.
    pub fn led_from(&self, name: Option<&str>) -> Result<Option<Id>> {
        name.map(|name| self.record(name, "record", &Namespace::ALL, |_| true).map(|record| record.envelope.id))
            .transpose()
    }
}

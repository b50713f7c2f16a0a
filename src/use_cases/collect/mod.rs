//! Collects transcripts: their new parts become records of the agent's session.

pub mod all;
mod filed;
pub mod of_session;
pub mod seen;
pub mod view;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::context::active;
use crate::context::caller::{hashed_id, stored_id};
use crate::context::claims::inject;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, names};
use crate::fold::collected::{CollectedTranscript, added, by_transcript};
use crate::index::RecordQuery;
use crate::use_cases::collect::filed::{Filed, Filing};
use crate::use_cases::meaning;
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::git::history;
use empirica_notes::model::collected::Collected;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Record, SessionId};
use empirica_notes::store::FlushTiming;
use empirica_secrets::redact_value;
use empirica_transcripts::find;
use empirica_transcripts::model::{Agent, Transcript};

#[derive(Debug, Clone, Default)]
pub struct CollectRequest {
    /// Its file or folder; `None` for the newest of this work tree.
    pub path: Option<String>,
    /// Its agent; `None` to detect it.
    pub agent: Option<Agent>,
    pub dry_run: bool,
}

#[derive(Debug)]
pub struct CollectOutcome {
    pub collection: Collection,
    pub stored: StoreReport,
}

impl CollectOutcome {
    pub fn is_stored(&self) -> bool {
        self.stored.storage.is_some()
    }

    /// The session with the transcript; `None` if it would be started only by storing.
    pub fn session(&self) -> Option<&WorkingSession> {
        Some(&self.collection.session).filter(|_| !self.collection.is_new_session || self.is_stored())
    }
}

/// Reads a transcript and, unless it is a dry run, stores its new parts.
pub fn run(context: &CommandContext<'_>, request: &CollectRequest) -> Result<CollectOutcome> {
    let collection = prepare(context, request)?;
    let stored = match request.dry_run {
        true => StoreReport { warnings: collection.warnings.clone(), ..StoreReport::default() },
        false => {
            let stored = collection.store(context)?;
            meaning::update_in_background(context);
            stored
        }
    };
    Ok(CollectOutcome { collection, stored })
}

/// A transcript with its new parts.
#[derive(Debug)]
pub struct Collection {
    pub path: PathBuf,
    /// Without secrets.
    pub transcript: Transcript,
    /// Its ID in records.
    pub id: String,
    /// The new parts, if any.
    pub added: Option<Collected>,
    pub session: WorkingSession,
    pub is_new_session: bool,
    /// The new parts as records.
    pub records: Vec<Record>,
    pub warnings: Vec<String>,
}

impl Collection {
    /// Stores the new parts.
    pub fn store(&self, context: &CommandContext<'_>) -> Result<StoreReport> {
        let mut stored = StoreReport { warnings: self.warnings.clone(), ..StoreReport::default() };
        if !self.records.is_empty() {
            stored.add(&mut context.store.writer().append(self.records.clone(), FlushTiming::Later)?);
        }
        Ok(stored)
    }
}

/// Reads a transcript and finds its session, the first of: the one `--session` names; the one with the agent's own ID; the only active
/// one here without such an ID that began during the transcript; a new one, with the start and end of the transcript. Stores nothing.
pub fn prepare(context: &CommandContext<'_>, request: &CollectRequest) -> Result<Collection> {
    let (path, transcript) = read(context, request)?;
    prepare_one(context, path, transcript)
}

/// As [`prepare`], of a transcript that was read.
fn prepare_one(context: &CommandContext<'_>, path: PathBuf, transcript: Transcript) -> Result<Collection> {
    let commit_at = |time: i64| history::at_time(context.repo, &format!("@{time}"));
    let filing = Filing { is_one_of_all: false, changed_at: None, commit_at: &commit_at };
    prepare_read(context, path, transcript, &filing)
}

fn prepare_read(
    context: &CommandContext<'_>,
    path: PathBuf,
    mut transcript: Transcript,
    filing: &Filing<'_>,
) -> Result<Collection> {
    let id = id_of(&transcript, &path);
    if context.repo.config_bool("empirica.redact").unwrap_or(true) {
        transcript = without_secrets(transcript)?;
    }
    // redact before cutting, which may split a secret
    transcript.cut();
    for time in [&mut transcript.started_at, &mut transcript.ended_at] {
        *time = time.take().or_else(|| filing.changed_at.clone());
    }
    let mut with_id = own_sessions_with_external_id(context, &id)?;
    if with_id.is_empty() {
        with_id = sessions_with_external_id(context, &id)?;
    }
    let chosen = choose(context, &transcript, &id, &with_id, !filing.is_one_of_all)?;
    let sessions = with_id.iter().map(|session| &session.id).chain(chosen.iter().map(|session| &session.id));
    let before = collected_before(context, sessions, &transcript, &id)?;
    let mut added = added(&transcript, &id, &before);
    let chosen_id = chosen.as_ref().map(|session| &session.id);
    if let Some(added) = &mut added
        && with_id.iter().any(|session| Some(&session.id) == chosen_id && session.task.is_some())
    {
        added.task = None;
    }
    if let (Some(added), Some(parent), 0) = (&mut added, &transcript.parent, before.rows) {
        let parent = stored_id(transcript.agent.name(), parent);
        added.forked_from = sessions_with_external_id(context, &parent)?.pop().map(|session| session.id);
    }
    let mut warnings: Vec<String> = chosen.iter().filter_map(|session| session.note.clone()).collect();
    if transcript.size < before.to {
        let text =
            "the transcript is shorter than its collected part: it was truncated, or another transcript has its id";
        warnings.push(text.to_owned());
    }
    let is_new_session = chosen.is_none();
    let session = chosen.unwrap_or_else(|| {
        let named = context.named_ai().filter(|_| !filing.is_one_of_all);
        let ai = named.unwrap_or(transcript.agent.name()).to_owned();
        WorkingSession { id: filed::session_id(&transcript, &id), ai, note: None }
    });
    let has_ended = |other: &Session| other.id == session.id && !other.is_active();
    let filed = Filed {
        context,
        filing,
        session: &session,
        transcript: &transcript,
        id: &id,
        is_new: is_new_session,
        is_over: is_new_session || with_id.iter().any(has_ended),
    };
    let records = match &added {
        Some(added) => filed.records(added)?,
        None => Vec::new(),
    };
    Ok(Collection { path, transcript, id, added, session, is_new_session, records, warnings })
}

fn read(context: &CommandContext<'_>, request: &CollectRequest) -> Result<(PathBuf, Transcript)> {
    let root = context.repo.work_tree();
    let path = match &request.path {
        Some(path) => context.env.cwd.join(path),
        None => latest(context, root.as_deref(), request.agent)?,
    };
    let transcript = empirica_transcripts::read(&path, root.as_deref())?;
    match request.agent.filter(|agent| *agent != transcript.agent) {
        None => Ok((path, transcript)),
        Some(agent) => Err(Error::refused(format!("cannot collect the transcript: it is not by {}", agent.name()))
            .provided(path.display().to_string())
            .reason(format!("it has the format of {}", transcript.agent.name()))
            .suggest("Leave --agent out: it is detected.")
            .alternative(transcript.agent.name())),
    }
}

fn latest(context: &CommandContext<'_>, root: Option<&Path>, agent: Option<Agent>) -> Result<PathBuf> {
    let variable = |name: &str| context.env.get(name).map(PathBuf::from);
    let found = root.and_then(|root| find::latest(&variable, root, &context.env.cwd, agent));
    found.ok_or_else(|| {
        let whose = agent.map(|agent| format!(" of {}", agent.name())).unwrap_or_default();
        let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        Error::not_found(format!("cannot find a transcript{whose} of this work tree"))
            .reason(format!("none of the folders of {} has one", names.join(", ")))
            .suggest("Name the file of the transcript.")
            .command(empirica("collect").arg(blank("<transcript>")))
    })
}

/// The ID of a transcript in records: as [`stored_id`], or without an ID of its own, a hash of its path.
fn id_of(transcript: &Transcript, path: &Path) -> String {
    match &transcript.session_id {
        Some(id) => stored_id(transcript.agent.name(), id),
        None => hashed_id(
            transcript.agent.name(),
            path.canonicalize().unwrap_or_else(|_| path.to_owned()).as_os_str().as_encoded_bytes(),
        ),
    }
}

/// Replaces the secrets of a transcript except in its ID and its parent's.
fn without_secrets(transcript: Transcript) -> Result<Transcript> {
    let (id, parent) = (transcript.session_id.clone(), transcript.parent.clone());
    let mut json = serde_json::to_value(transcript).map_err(|error| unreadable_notes().caused_by(error))?;
    redact_value(&mut json);
    let clean: Transcript =
        serde_json::from_str(&json.to_string()).map_err(|error| unreadable_notes().caused_by(error))?;
    Ok(Transcript { session_id: id, parent, ..clean })
}

fn unreadable_notes() -> Error {
    Error::storage("cannot redact the transcript")
        .reason("internal error; please report it")
        .suggest("Collect it with --dry-run to see how much of it is readable.")
        .command(empirica("collect").flag("--dry-run").arg(blank("<transcript>")))
}

/// The sessions with that ID of the agent's own, oldest first.
pub(crate) fn sessions_with_external_id(context: &CommandContext<'_>, id: &str) -> Result<Vec<Session>> {
    let mut found = context.index()?.sessions_like(id)?;
    found.retain(|session| session.external_id.as_deref() == Some(id));
    Ok(found)
}

/// Those of them that this clone began: no other session gets what an agent here goes on with. All of them if the clone has no id to tell by.
pub(crate) fn own_sessions_with_external_id(context: &CommandContext<'_>, id: &str) -> Result<Vec<Session>> {
    let all = sessions_with_external_id(context, id)?;
    if context.store.paths().secret().is_none() {
        return Ok(all);
    }
    let mut own = Vec::new();
    for session in all {
        let only = RecordQuery { session: Some(&session.id), newest: None };
        let starts = context.index()?.kinds(&["session_start"], only)?;
        let is_own = starts.records().any(|start| inject::is_own(context, &starts, &start.envelope.id));
        own.extend(is_own.then_some(session));
    }
    Ok(own)
}

/// The session for the new parts; `None` if it must be started. `is_named`: whether the session and the agent that the command
/// names count.
fn choose(
    context: &CommandContext<'_>,
    transcript: &Transcript,
    id: &str,
    with_id: &[Session],
    is_named: bool,
) -> Result<Option<WorkingSession>> {
    let of = |session: &Session| WorkingSession {
        ai: if is_named { context.author(Some(&session.ai)) } else { session.ai.clone() },
        id: session.id.clone(),
        note: None,
    };
    let named = context.selection.session.as_deref().or(context.env.get("EMPIRICA_SESSION"));
    if let Some(name) = named.filter(|_| is_named) {
        let named = names::session(context, name)?;
        let row = context.index()?.session_row(&named.id)?;
        let other = row.and_then(|row| row.session.external_id).filter(|other| other != id);
        return match other {
            None => Ok(Some(WorkingSession { ai: context.author(Some(&named.ai)), id: named.id, note: None })),
            Some(other) => Err(Error::refused(format!(
                "cannot collect into session {}: it is of another transcript",
                named.id.short()
            ))
            .provided(name)
            .reason(format!("the agent knows it by the id {other}, and the transcript is of {id}"))
            .suggest("Leave --session out: the session of the transcript is found or made.")),
        };
    }
    if let Some(session) = with_id.iter().rev().find(|session| session.is_active()).or(with_id.last()) {
        return Ok(Some(of(session)));
    }
    let mut fitting = Vec::new();
    let is_same_agent = |ai: &str| match context.named_ai().filter(|_| is_named) {
        Some(named) => named == ai,
        // a custom name may belong to any agent
        None => Agent::parse(ai).is_none_or(|agent| agent == transcript.agent),
    };
    let active = active::load(context)?.into_iter();
    for session in active.filter(|session| session.external_id.is_none() && is_same_agent(&session.ai)) {
        let Some(row) = context.index()?.session_row(&session.id)? else { continue };
        if row.session.external_id.is_none() && began_within(&row.session, transcript) {
            fitting.push(row.session);
        }
    }
    Ok(match fitting.as_slice() {
        [only] => Some(of(only)),
        _ => None,
    })
}

/// Whether a session began during a transcript.
fn began_within(session: &Session, transcript: &Transcript) -> bool {
    let time = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
    let span = (transcript.started_at.as_deref().and_then(time), transcript.ended_at.as_deref().and_then(time));
    match (span, time(&session.started_at)) {
        ((Some(from), Some(to)), Some(began)) => (from..=to).contains(&began),
        _ => false,
    }
}

/// The parts of the transcript already in these sessions.
fn collected_before<'s>(
    context: &CommandContext<'_>,
    sessions: impl Iterator<Item = &'s SessionId>,
    transcript: &Transcript,
    id: &str,
) -> Result<CollectedTranscript> {
    let index = context.index()?;
    let mut all: Vec<Collected> = Vec::new();
    let distinct: BTreeSet<&SessionId> = sessions.collect();
    for session in distinct {
        let scan = index.kinds(&["transcript"], RecordQuery { session: Some(session), newest: None })?;
        all.extend(scan.records().filter_map(|record| match &record.body {
            Body::Transcript(collected) => Some((**collected).clone()),
            _ => None,
        }));
    }
    all.retain(|one| one.agent == transcript.agent.name() && one.transcript == id);
    Ok(by_transcript(&all).pop().unwrap_or_default())
}

//! Collects transcripts: their new parts become records of the agent's session.

pub mod view;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::context::active;
use crate::context::caller::{hashed_id, stored_id};
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, names};
use crate::fold::collected::{CollectedTranscript, added, by_transcript, task_of};
use crate::index::RecordQuery;
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::git::{history, parse_oid};
use empirica_notes::model::collected::Collected;
use empirica_notes::model::hash::fnv;
use empirica_notes::model::session::{Session, SessionEnd, SessionStart};
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
        false => collection.store(context)?,
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
    /// Whether it belongs to the session with this ID of the agent's own.
    pub fn is_of(&self, id: Option<&str>) -> bool {
        self.transcript.session_id.is_some() && id == Some(&self.id)
    }

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
    let (path, mut transcript) = read(context, request)?;
    let id = id_of(&transcript, &path);
    if context.repo.config_bool("empirica.redact").unwrap_or(true) {
        transcript = without_secrets(transcript)?;
    }
    // redact before cutting, which may split a secret
    transcript.cut();
    let with_id = sessions_with_external_id(context, &id)?;
    let chosen = choose(context, &transcript, &id, &with_id)?;
    let sessions = with_id.iter().map(|session| &session.id).chain(chosen.iter().map(|session| &session.id));
    let before = collected_before(context, sessions, &transcript, &id)?;
    let mut added = added(&transcript, &id, &before);
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
        let ai = context.named_ai().unwrap_or(transcript.agent.name()).to_owned();
        WorkingSession { id: SessionId::random(), ai, note: None }
    });
    let mut records = Vec::new();
    if let Some(added) = &added {
        if is_new_session {
            records.push(session_start(context, &session, &transcript, &id)?);
        }
        records.push(context.store.writer().new_record(
            &session.id,
            &session.ai,
            Body::Transcript(Box::new(added.clone())),
        ));
        let has_ended = |other: &Session| other.id == session.id && !other.is_active();
        if is_new_session || with_id.iter().any(has_ended) {
            records.push(session_end(context, &session, &transcript));
        }
    }
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
    let clean: Transcript = serde_json::from_value(json).map_err(|error| unreadable_notes().caused_by(error))?;
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

/// The session for the new parts; `None` if it must be started.
fn choose(
    context: &CommandContext<'_>,
    transcript: &Transcript,
    id: &str,
    with_id: &[Session],
) -> Result<Option<WorkingSession>> {
    let of = |session: &Session| WorkingSession {
        ai: context.author(Some(&session.ai)),
        id: session.id.clone(),
        note: None,
    };
    if let Some(name) = context.selection.session.as_deref().or(context.env.get("EMPIRICA_SESSION")) {
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
    let is_same_agent = |ai: &str| match context.named_ai() {
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

/// The start of a session for a transcript: at its start, on the commit of that time.
fn session_start(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    transcript: &Transcript,
    id: &str,
) -> Result<Record> {
    let paths = context.store.paths();
    let is_in_work_tree = match (&transcript.cwd, context.repo.work_tree()) {
        (Some(cwd), Some(root)) => {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            real(Path::new(cwd)).starts_with(real(&root))
        }
        (None, Some(_)) => true,
        (_, None) => false,
    };
    let start = SessionStart {
        task: task_of(transcript),
        kind: None,
        external_id: Some(id.to_owned()),
        from: None,
        from_handoff: None,
        worktree: paths.worktree().to_owned(),
        // work elsewhere gets another place
        place: if is_in_work_tree {
            paths.worktree_id()
        } else {
            format!("{:016x}", fnv(transcript.cwd.iter().flat_map(|cwd| cwd.bytes()).collect::<Vec<_>>().as_slice()))
        },
    };
    let mut record = context.store.writer().new_record(&session.id, &session.ai, Body::SessionStart(start));
    if let Some(began) = &transcript.started_at {
        record.envelope.at = in_records(began);
        let named = transcript.commit.as_deref().and_then(parse_oid).filter(|commit| context.repo.is_commit(*commit));
        let then = || history::at_time(context.repo, began).ok().flatten();
        if let Some(commit) = named.or_else(then)
            && let Ok(tree) = context.repo.tree_of(commit)
        {
            record.envelope.commit = Some(commit.to_string());
            record.envelope.tree = Some(tree.to_string());
        }
    }
    Ok(record)
}

/// The end of such a session: at the end of the transcript so far.
fn session_end(context: &CommandContext<'_>, session: &WorkingSession, transcript: &Transcript) -> Record {
    let reason = Some("its transcript was collected".to_owned());
    let mut record =
        context.store.writer().new_record(&session.id, &session.ai, Body::SessionEnd(SessionEnd { reason }));
    if let Some(end) = &transcript.ended_at {
        record.envelope.at = in_records(end);
    }
    record
}

/// A time in the format of records, to the millisecond.
fn in_records(time: &str) -> String {
    let parsed = chrono::DateTime::parse_from_rfc3339(time).ok();
    let utc = parsed.map(|time| time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
    utc.unwrap_or_else(|| time.to_owned())
}

//! Collecting a transcript: what an agent did, said and left to do becomes part of its session, only what is new.

pub mod view;

use std::path::{Path, PathBuf};

use crate::context::active;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, names};
use crate::fold::collected::{CollectedTranscript, added, by_transcript};
use crate::index::RecordQuery;
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::git::{Oid, history, parse_oid};
use empirica_notes::model::collected::Collected;
use empirica_notes::model::hash::fnv;
use empirica_notes::model::session::{Session, SessionEnd, SessionStart};
use empirica_notes::model::{Body, Envelope, Record, SessionId};
use empirica_notes::store::{FlushTiming, WriteOutcome};
use empirica_secrets::{redact_text, redact_value};
use empirica_transcripts::find;
use empirica_transcripts::model::{Agent, Transcript};

/// The longest task of a session that is made for a transcript, in characters.
const TASK: usize = 200;

/// Which transcript.
#[derive(Debug, Clone, Default)]
pub struct CollectRequest {
    /// Its file or folder; `None` for the newest of this work tree.
    pub path: Option<String>,
    /// Whose; `None` as its content tells.
    pub agent: Option<Agent>,
    /// Whether nothing is to be stored.
    pub dry_run: bool,
}

impl CollectRequest {
    /// The transcript at a path.
    pub fn of(path: &str) -> Self {
        CollectRequest { path: Some(path.to_owned()), ..CollectRequest::default() }
    }
}

/// A transcript that was collected.
#[derive(Debug)]
pub struct CollectOutcome {
    /// Where it was read.
    pub path: PathBuf,
    /// What it tells, without secrets.
    pub transcript: Transcript,
    /// What stands for it in records: the agent's own id where it has one.
    pub id: String,
    /// What was new in it; `None` when nothing was.
    pub added: Option<Collected>,
    /// Whose work it is; `None` when nothing is stored and no session has it.
    pub session: Option<WorkingSession>,
    pub is_new_session: bool,
    pub stored: StoreReport,
}

/// Reads a transcript and stores what is new in it, unless nothing is to be stored.
pub fn run(context: &CommandContext<'_>, request: &CollectRequest) -> Result<CollectOutcome> {
    let prepared = prepared(context, request)?;
    let has_session = !prepared.is_new_session;
    let is_stored = !request.dry_run && prepared.added.is_some();
    let mut out = CollectOutcome {
        path: prepared.path.clone(),
        transcript: prepared.transcript.clone(),
        id: prepared.id.clone(),
        added: prepared.added.clone(),
        session: (has_session || is_stored).then(|| prepared.who.clone()),
        is_new_session: prepared.is_new_session && is_stored,
        stored: StoreReport::default(),
    };
    match is_stored {
        true => out.stored = prepared.store(context)?,
        false => out.stored.warnings = prepared.warnings,
    }
    Ok(out)
}

/// A transcript that was read, and what is to be stored of it.
#[derive(Debug)]
pub struct PreparedCollection {
    path: PathBuf,
    /// What it tells, without secrets.
    pub transcript: Transcript,
    id: String,
    added: Option<Collected>,
    /// The session it is of.
    pub who: WorkingSession,
    is_new_session: bool,
    /// What is new, as records; none when nothing is.
    pub records: Vec<Record>,
    /// What there is to say of it.
    pub warnings: Vec<String>,
}

impl PreparedCollection {
    /// Whether it is of the session that the agent knows by this id.
    pub fn is_of(&self, id: Option<&str>) -> bool {
        self.transcript.session_id.is_some() && id == Some(&self.id)
    }

    /// Stores what is new.
    pub fn store(self, context: &CommandContext<'_>) -> Result<StoreReport> {
        let mut stored = StoreReport { warnings: self.warnings, ..StoreReport::default() };
        if !self.records.is_empty() {
            let mut written: WriteOutcome = context.store.append(self.records, FlushTiming::Later)?;
            stored.add(&mut written);
        }
        Ok(stored)
    }
}

/// Reads a transcript, and finds its session: that which `--session` names, else the one that has the agent's own id, else the only
/// active one here that began while the transcript was written and has no such id, else one that is made for it, which began and
/// ended when the transcript did. Stores nothing.
pub fn prepared(context: &CommandContext<'_>, request: &CollectRequest) -> Result<PreparedCollection> {
    let (path, mut transcript) = read(context, request)?;
    let id = id_of(&transcript, &path);
    if context.repo.config_bool("empirica.redact").unwrap_or(true) {
        transcript = without_secrets(transcript)?;
    }
    // what was cut before could have had half a secret at its end
    transcript.cut();
    let having = having(context, &id)?;
    let chosen = choose(context, &transcript, &id, &having)?;
    let sessions = having.iter().map(|session| &session.id).chain(chosen.iter().map(|who| &who.id));
    let before = known_of(context, sessions, &transcript, &id)?;
    let added = added(&transcript, &id, &before);
    let mut warnings: Vec<String> = chosen.iter().filter_map(|who| who.note.clone()).collect();
    if transcript.size < before.to {
        let text = "the transcript is shorter than what was collected of it: it was cut off, or another has its id";
        warnings.push(text.to_owned());
    }
    let is_new_session = chosen.is_none();
    let who = chosen.unwrap_or_else(|| {
        let ai = context.named_ai().unwrap_or(transcript.agent.name()).to_owned();
        WorkingSession { id: SessionId::random(), ai, note: None }
    });
    let mut records = Vec::new();
    if let Some(added) = &added {
        if is_new_session {
            records.push(begun(context, &who, &transcript, &id)?);
        }
        records.push(context.store.new_record(&who.id, &who.ai, Body::Transcript(Box::new(added.clone()))));
        let has_ended = |session: &Session| session.id == who.id && !session.is_active();
        if is_new_session || having.iter().any(has_ended) {
            records.push(ended(context, &who, &transcript));
        }
    }
    Ok(PreparedCollection { path, transcript, id, added, who, is_new_session, records, warnings })
}

/// Reads the transcript that is meant.
pub fn read(context: &CommandContext<'_>, request: &CollectRequest) -> Result<(PathBuf, Transcript)> {
    let root = context.repo.work_tree();
    let path = match &request.path {
        Some(given) => context.env.cwd.join(given),
        None => latest(context, root.as_deref(), request.agent)?,
    };
    let transcript = empirica_transcripts::read(&path, root.as_deref())?;
    match request.agent.filter(|agent| *agent != transcript.agent) {
        None => Ok((path, transcript)),
        Some(agent) => Err(Error::refused(format!("the transcript is not of {}", agent.name()))
            .provided(path.display().to_string())
            .reason(format!("by what is in it, {} wrote it", transcript.agent.name()))
            .suggest("Leave --agent out: whose it is shows.")
            .alternative(transcript.agent.name())),
    }
}

fn latest(context: &CommandContext<'_>, root: Option<&Path>, agent: Option<Agent>) -> Result<PathBuf> {
    let variable = |name: &str| context.env.get(name).map(PathBuf::from);
    let found = root.and_then(|root| find::latest(&variable, root, &context.env.cwd, agent));
    found.ok_or_else(|| {
        let whose = agent.map(|agent| format!(" of {}", agent.name())).unwrap_or_default();
        let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.name()).collect();
        Error::not_found(format!("there is no transcript{whose} of this work tree"))
            .reason(format!("none was made in it, where {} keep theirs", names.join(", ")))
            .suggest("Name the file of the transcript.")
            .command(empirica("collect").arg(blank("<transcript>")))
    })
}

/// What stands for a transcript in records: the agent's own id; for one without any, or whose id would not be stored as it is,
/// a hash of that id or of the path.
fn id_of(transcript: &Transcript, path: &Path) -> String {
    match &transcript.session_id {
        Some(id) => stored_id(transcript.agent, id),
        None => hashed(
            transcript.agent,
            path.canonicalize().unwrap_or_else(|_| path.to_owned()).as_os_str().as_encoded_bytes(),
        ),
    }
}

fn hashed(agent: Agent, bytes: &[u8]) -> String {
    format!("{}-{:016x}", agent.name(), fnv(bytes))
}

/// An agent's own id as it is stored: itself; a hash of one that is blank, longer than 200 bytes, or would not be stored as it is.
pub fn stored_id(agent: Agent, id: &str) -> String {
    match id.trim().is_empty() || id.len() > 200 || redact_text(id).is_some() {
        true => hashed(agent, id.as_bytes()),
        false => id.to_owned(),
    }
}

/// The transcript with its secrets replaced; the id stays.
fn without_secrets(transcript: Transcript) -> Result<Transcript> {
    let id = transcript.session_id.clone();
    let mut json = serde_json::to_value(transcript).map_err(|error| unreadable().caused_by(error))?;
    redact_value(&mut json);
    let clean: Transcript = serde_json::from_value(json).map_err(|error| unreadable().caused_by(error))?;
    Ok(Transcript { session_id: id, ..clean })
}

fn unreadable() -> Error {
    Error::storage("what the transcript tells cannot be put into words")
        .reason("internal error; please report it")
        .suggest("Collect it with --dry-run to see how far it is read.")
        .command(empirica("collect").flag("--dry-run").arg(blank("<transcript>")))
}

/// The sessions that have that id of the agent's own, oldest first.
pub(crate) fn having(context: &CommandContext<'_>, id: &str) -> Result<Vec<Session>> {
    let mut found = context.index()?.sessions_like(id)?;
    found.retain(|session| session.external_id.as_deref() == Some(id));
    Ok(found)
}

/// The session that what is new goes to; `None` when one is to be made.
fn choose(
    context: &CommandContext<'_>,
    transcript: &Transcript,
    id: &str,
    having: &[Session],
) -> Result<Option<WorkingSession>> {
    let of = |session: &Session| WorkingSession {
        ai: context.author(Some(&session.ai)),
        id: session.id.clone(),
        note: None,
    };
    if let Some(given) = context.selection.session.as_deref().or(context.env.get("EMPIRICA_SESSION")) {
        let named = names::session(context, given)?;
        let row = context.index()?.session_row(&named.id)?;
        let other = row.and_then(|row| row.session.external_id).filter(|other| other != id);
        return match other {
            None => Ok(Some(WorkingSession { ai: context.author(Some(&named.ai)), id: named.id, note: None })),
            Some(other) => Err(Error::refused(format!("the session {} is of another transcript", named.id.short()))
                .provided(given)
                .reason(format!("the agent knows it by the id {other}, and the transcript is of {id}"))
                .suggest("Leave --session out: the session of the transcript is found or made.")),
        };
    }
    if let Some(session) = having.iter().rev().find(|session| session.is_active()).or(having.last()) {
        return Ok(Some(of(session)));
    }
    let mut fitting = Vec::new();
    let is_same_agent = |ai: &str| match context.named_ai() {
        Some(named) => named == ai,
        // a name of its own can be anybody's, that of another agent cannot
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

/// Whether a session began while a transcript was written.
fn began_within(session: &Session, transcript: &Transcript) -> bool {
    let time = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
    let span = (transcript.started_at.as_deref().and_then(time), transcript.ended_at.as_deref().and_then(time));
    match (span, time(&session.started_at)) {
        ((Some(from), Some(to)), Some(began)) => (from..=to).contains(&began),
        _ => false,
    }
}

/// What is known of the transcript from these sessions.
fn known_of<'s>(
    context: &CommandContext<'_>,
    sessions: impl Iterator<Item = &'s SessionId>,
    transcript: &Transcript,
    id: &str,
) -> Result<CollectedTranscript> {
    let index = context.index()?;
    let mut all: Vec<Collected> = Vec::new();
    let distinct: std::collections::BTreeSet<&SessionId> = sessions.collect();
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

/// The beginning of a session that is made for a transcript: when that began, on the commit that was there then.
fn begun(context: &CommandContext<'_>, who: &WorkingSession, transcript: &Transcript, id: &str) -> Result<Record> {
    let paths = context.store.paths();
    let is_here = match (&transcript.cwd, context.repo.work_tree()) {
        (Some(cwd), Some(root)) => {
            let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
            real(Path::new(cwd)).starts_with(real(&root))
        }
        (None, Some(_)) => true,
        (_, None) => false,
    };
    let task = transcript.task.as_deref().and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    let start = SessionStart {
        task: task.map(|line| line.chars().take(TASK).collect()),
        kind: None,
        external_id: Some(id.to_owned()),
        from: None,
        from_handoff: None,
        worktree: paths.worktree().to_owned(),
        // what was made elsewhere is no work of this place
        place: if is_here {
            paths.place()
        } else {
            format!("{:016x}", fnv(transcript.cwd.iter().flat_map(|cwd| cwd.bytes()).collect::<Vec<_>>().as_slice()))
        },
    };
    let mut record = context.store.new_record(&who.id, &who.ai, Body::SessionStart(start));
    if let Some(began) = &transcript.started_at {
        record.head.at = in_records(began);
        let named = transcript.commit.as_deref().and_then(parse_oid).filter(|commit| context.repo.is_commit(*commit));
        let then = || history::at_time(context.repo, began).ok().flatten();
        if let Some(commit) = named.or_else(then) {
            stand_on(context, &mut record.head, commit);
        }
    }
    Ok(record)
}

fn stand_on(context: &CommandContext<'_>, head: &mut Envelope, commit: Oid) {
    if let Ok(tree) = context.repo.tree_of(commit) {
        head.commit = Some(commit.to_string());
        head.tree = Some(tree.to_string());
    }
}

/// Its end: when the transcript ends, so far.
fn ended(context: &CommandContext<'_>, who: &WorkingSession, transcript: &Transcript) -> Record {
    let reason = Some("its transcript was collected".to_owned());
    let mut record = context.store.new_record(&who.id, &who.ai, Body::SessionEnd(SessionEnd { reason }));
    if let Some(end) = &transcript.ended_at {
        record.head.at = in_records(end);
    }
    record
}

/// A time as records have it, to the millisecond.
fn in_records(time: &str) -> String {
    let parsed = chrono::DateTime::parse_from_rfc3339(time).ok();
    let utc = parsed.map(|time| time.to_utc().to_rfc3339_opts(chrono::SecondsFormat::Millis, true));
    utc.unwrap_or_else(|| time.to_owned())
}

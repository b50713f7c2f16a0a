//! Sessions similar to a task, to avoid repeating work.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::handoffs::ListedHandoff;
use crate::context::names::NamedObject;
use crate::context::{CommandContext, handoffs, names};
use crate::fold::assessment::confidence::round4;
use crate::fold::session_records::SessionRecords;
use crate::index::{HandoffQuery, Index};
use crate::text::similarity::{cosine_similarity, words};
use empirica_notes::error::{Error, Kind, Result, blank, empirica};
use empirica_notes::model::handoff::{Calibration, Item};
use empirica_notes::model::journal::DeadEnd;
use empirica_notes::model::{Body, Envelope, Id, Namespace, Record, SessionId};

/// Most records examined, the best ones by rare words.
const RECORDS: usize = 200;
/// Most sessions compared.
const SESSIONS: usize = 50;
/// Most shared words listed.
const SHARED: usize = 8;

/// Subject of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum LikeQuery {
    Handoff(Id),
    Session(SessionId),
    Text(String),
}

/// A similar session.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "SimilarSessionView")]
pub struct SimilarSession {
    /// The session.
    pub session_id: SessionId,
    /// Its agent.
    pub ai_id: String,
    /// When it began.
    pub started_at: String,
    /// Whether it has not ended.
    pub active: bool,
    /// The commit its handoff is attached to, else the one it began on.
    pub commit: Option<String>,
    /// In (0, 1], 4 decimals: the number of shared words over the geometric mean of both numbers of words; of the tasks, or of
    /// tasks and findings, whichever is greater.
    pub likeness: f64,
    /// Words of the subject that the session has in any form, at most 8, sorted.
    pub shared_words: Vec<String>,
    #[serde(flatten)]
    pub work: SessionWork,
}

/// Content of a session: from its handoff in force if any, otherwise its present state.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SessionWork {
    #[serde(skip)]
    envelope: Option<Envelope>,
    /// Its handoff in force.
    pub handoff_id: Option<Id>,
    /// Of that handoff.
    pub calibration_status: Option<Calibration>,
    /// The task of its handoff, else of the session.
    pub task: Option<String>,
    /// As handed over, else as they are now, like the next two.
    pub key_findings: Vec<String>,
    /// The open questions.
    pub remaining_unknowns: Vec<String>,
    /// Failed approaches.
    pub dead_ends: Vec<DeadEnd>,
}

/// Texts of a session: its task, and the task with its findings.
struct SessionText {
    task: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl SessionText {
    /// The greater similarity of the tasks or of the whole texts.
    fn likeness(&self, other: &SessionText) -> Option<f64> {
        let [tasks, all] = [cosine_similarity(&self.task, &other.task), cosine_similarity(&self.all, &other.all)];
        [tasks, all].into_iter().flatten().max_by(f64::total_cmp)
    }
}

/// The subject, the at most `most` sessions most similar to it, and the number of similar ones among those compared.
pub(crate) fn run(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    subject: &str,
    most: usize,
) -> Result<(LikeQuery, Vec<SimilarSession>, usize)> {
    if subject.trim().is_empty() {
        return Err(Error::usage("cannot search for similar sessions: the text is empty")
            .provided(subject)
            .reason("a blank text resembles nothing")
            .suggest("Name a handoff or a session, or describe what you are going to do.")
            .command(empirica("search").option("--like", "latest"))
            .command(empirica("search").option("--like", blank("Make the login test stable"))));
    }
    let about = resolve(context, subject.trim())?;
    let (own, work) = match &about {
        LikeQuery::Text(text) => (None, SessionWork { task: Some(text.clone()), ..SessionWork::default() }),
        LikeQuery::Session(id) => (Some(id.clone()), SessionWork::of(context, index, id)?),
        LikeQuery::Handoff(id) => match handoffs::by_ids(index, std::slice::from_ref(id))?.pop() {
            Some(listed) => (listed.envelope.session.clone(), SessionWork::handed_over(listed)),
            None => return Err(names::no_record(id.as_str(), "handoff", "it is not stored any more")),
        },
    };
    let (text, wanted) = (work.whole(), work.session_text());
    let mut sessions = Vec::new();
    for id in candidates(index, &text, &wanted)? {
        if own.as_ref() == Some(&id) {
            continue;
        }
        sessions.extend(compared(context, index, &id, &wanted, &text)?);
    }
    // newer ones are more useful
    sessions.sort_by(|a, b| {
        b.likeness
            .total_cmp(&a.likeness)
            .then_with(|| (&b.started_at, &b.session_id).cmp(&(&a.started_at, &a.session_id)))
    });
    let total_found = sessions.len();
    sessions.truncate(most);
    sessions.iter_mut().for_each(|similar| similar.likeness = round4(similar.likeness));
    Ok((about, sessions, total_found))
}

/// Resolves the subject. A single word that looks like an ID with a digit must be one.
fn resolve(context: &CommandContext<'_>, name: &str) -> Result<LikeQuery> {
    let hexish = name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let is_name = hexish && name.contains(|c: char| c.is_ascii_digit()) || name.split(':').next() == Some("latest");
    let is_handoff = |record: &Record| matches!(record.body, Body::Handoff(_));
    match names::session_or_record(context, name, "session or handoff", &[Namespace::Handoffs], is_handoff) {
        Ok(NamedObject::Session(named)) => Ok(LikeQuery::Session(named.id)),
        Ok(NamedObject::Record(handoff)) => Ok(LikeQuery::Handoff(handoff.envelope.id)),
        Err(error) if is_name || error.kind() == Kind::Refused => Err(error),
        Err(_) => Ok(LikeQuery::Text(name.to_owned())),
    }
}

fn texts(items: Vec<Item>) -> Vec<String> {
    items.into_iter().map(|item| item.text).collect()
}

impl SessionWork {
    fn handed_over(ListedHandoff { envelope, handoff }: ListedHandoff) -> Self {
        SessionWork {
            handoff_id: Some(envelope.id.clone()),
            envelope: Some(envelope),
            calibration_status: Some(handoff.calibration_status),
            task: Some(handoff.task).filter(|task| !task.trim().is_empty()),
            key_findings: texts(handoff.findings),
            remaining_unknowns: texts(handoff.unknowns),
            dead_ends: handoff.dead_ends,
        }
    }

    fn of(context: &CommandContext<'_>, index: &Index<'_>, id: &SessionId) -> Result<Self> {
        let wanted = HandoffQuery { session: Some(id.clone()), ..Default::default() };
        if let Some(listed) = handoffs::in_force(context, &wanted, 1)?.pop() {
            return Ok(SessionWork::handed_over(listed));
        }
        let scan = index.session(id)?;
        let records: Vec<&Record> = scan.records().collect();
        let Some(session_records) = SessionRecords::collect(records.iter().copied(), id) else {
            return Ok(SessionWork::default());
        };
        Ok(SessionWork {
            task: session_records.session.task,
            key_findings: texts(session_records.findings),
            remaining_unknowns: texts(session_records.unknowns),
            dead_ends: session_records.dead_ends,
            ..SessionWork::default()
        })
    }

    /// Findings, unknowns and dead ends.
    fn texts(&self) -> Vec<&str> {
        let failed = self.dead_ends.iter().map(|dead_end| &dead_end.approach);
        self.key_findings.iter().chain(&self.remaining_unknowns).chain(failed).map(String::as_str).collect()
    }

    fn whole(&self) -> String {
        [self.task.as_deref().unwrap_or_default(), &self.texts().join("\n")].join("\n")
    }

    fn session_text(&self) -> SessionText {
        let task = words(self.task.as_deref().unwrap_or_default());
        let all = self.texts().into_iter().flat_map(words).chain(task.iter().cloned()).collect();
        SessionText { task, all }
    }
}

/// Active sessions with a similar task, then the sessions of the records with most rare words of the text.
fn candidates(index: &Index<'_>, text: &str, wanted: &SessionText) -> Result<Vec<SessionId>> {
    let mut out: Vec<SessionId> = Vec::new();
    // the task of a new session is in no searchable record
    for session in index.sessions(true)?.iter().rev().take(RECORDS) {
        let task = words(session.task.as_deref().unwrap_or_default());
        if cosine_similarity(&wanted.task, &task).is_some() && out.len() < SESSIONS / 2 {
            out.push(session.id.clone());
        }
    }
    let (_, found) = crate::index::by_rare_words(index, text, &[], RECORDS)?;
    let ids: Vec<Id> = found.hits.into_iter().map(|(id, _)| id).collect();
    let mut of: BTreeMap<Id, SessionId> = BTreeMap::new();
    for record in index.ids(&ids)?.records() {
        of.extend(record.envelope.session.clone().map(|session| (record.envelope.id.clone(), session)));
    }
    for session in ids.iter().filter_map(|id| of.get(id)) {
        if !out.contains(session) && out.len() < SESSIONS {
            out.push(session.clone());
        }
    }
    Ok(out)
}

fn compared(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    id: &SessionId,
    wanted: &SessionText,
    text: &str,
) -> Result<Option<SimilarSession>> {
    let work = SessionWork::of(context, index, id)?;
    let other = work.session_text();
    let Some(likeness) = wanted.likeness(&other) else { return Ok(None) };
    let session = index.session_row(id)?.map(|row| row.session);
    let envelope = work.envelope.as_ref();
    Ok(Some(SimilarSession {
        session_id: id.clone(),
        ai_id: session
            .as_ref()
            .map(|s| s.ai.clone())
            .or(envelope.map(|envelope| envelope.ai.clone()))
            .unwrap_or_default(),
        started_at: session
            .as_ref()
            .map(|s| s.started_at.clone())
            .or(envelope.map(|h| h.at.clone()))
            .unwrap_or_default(),
        active: session.as_ref().is_some_and(|session| session.is_active()),
        commit: envelope.and_then(|envelope| envelope.commit.clone()).or(session.and_then(|session| session.commit)),
        likeness,
        shared_words: shared(text, &other.all),
        work,
    }))
}

/// Words of a text that occur in another, as written in the text.
fn shared(text: &str, other: &BTreeSet<String>) -> Vec<String> {
    let mut out = BTreeSet::new();
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        if words(word).iter().any(|stem| other.contains(stem)) {
            out.insert(word.to_owned());
        }
    }
    out.into_iter().take(SHARED).collect()
}

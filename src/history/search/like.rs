//! Sessions that resemble a task: what was done before need not be done twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::handoffs::ListedHandoff;
use crate::context::names::NamedObject;
use crate::context::{CommandContext, names};
use crate::fold::session_state::SessionRecords;
use crate::index::{HandoffQuery, Index};
use crate::text::similarity::{likeness, words};
use empirica_notes::error::{Error, Kind, Result, blank, empirica};
use empirica_notes::model::handoff::{HandoffDeadEnd, Item};
use empirica_notes::model::{Body, Id, Namespace, Record, SessionId};

/// How many records are looked at, the best by their rare words.
const RECORDS: usize = 200;
/// How many sessions are compared.
const SESSIONS: usize = 50;
/// How many shared words are told.
const TOLD: usize = 8;

/// What the sessions are compared with.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum LikeQuery {
    Handoff(Id),
    Session(SessionId),
    Text(String),
}

/// A session that resembles it.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct SimilarSession {
    pub session_id: SessionId,
    pub ai_id: String,
    pub started_at: String,
    pub active: bool,
    pub task: Option<String>,
    /// The commit the handoff is at home on, or the session began on.
    pub commit: Option<String>,
    /// How much it resembles, in (0, 1].
    pub likeness: f64,
    /// The words they share, as the asking text has them, in alphabetical order, a few at most.
    pub shared: Vec<String>,
    /// What came of it: the handoff in force; `None` when it has none.
    pub handoff: Option<ListedHandoff>,
    /// What it found: as it handed over, else as it was journalled; and what is open, and what failed.
    pub findings: Vec<String>,
    pub unknowns: Vec<String>,
    pub dead_ends: Vec<HandoffDeadEnd>,
}

/// What a session is about: its task, and that with what it found.
struct SessionText {
    task: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl SessionText {
    /// Tasks that are alike resemble each other, whatever was found; and the other way round.
    fn likeness(&self, other: &SessionText) -> Option<f64> {
        let [tasks, all] = [likeness(&self.task, &other.task), likeness(&self.all, &other.all)];
        [tasks, all].into_iter().flatten().max_by(f64::total_cmp)
    }
}

/// What is compared, the sessions whose task and findings resemble it, the most alike first, `most` of them, and how many of those
/// that were compared resemble it.
pub(crate) fn run(
    context: &CommandContext<'_>,
    index: &Index<'_>,
    given: &str,
    most: usize,
) -> Result<(LikeQuery, Vec<SimilarSession>, usize)> {
    if given.trim().is_empty() {
        return Err(Error::usage("like what?")
            .provided(given)
            .reason("a blank text resembles nothing")
            .suggest("Name a handoff or a session, or say what you are going to do.")
            .command(empirica("search").option("--like", "latest"))
            .command(empirica("search").option("--like", blank("Make the login test stable"))));
    }
    let about = resolve(context, given.trim())?;
    let (own, work) = match &about {
        LikeQuery::Text(text) => {
            let task = Some(text.clone());
            (None, SessionWork { handoff: None, task, findings: vec![], unknowns: vec![], dead_ends: vec![] })
        }
        LikeQuery::Session(id) => (Some(id.clone()), SessionWork::of(context, index, id)?),
        LikeQuery::Handoff(id) => match crate::context::handoffs::whole(index, std::slice::from_ref(id))?.pop() {
            Some(listed) => (listed.head.session.clone(), SessionWork::handed_over(listed)),
            None => return Err(names::no_record(id.as_str(), "handoff", "it is not stored any more")),
        },
    };
    let (text, wanted) = (work.whole(), work.said());
    let mut sessions = Vec::new();
    for id in candidates(index, &text, &wanted)? {
        if own.as_ref() == Some(&id) {
            continue;
        }
        sessions.extend(compared(context, index, &id, &wanted, &text)?);
    }
    // what is newer is more of use
    sessions.sort_by(|a, b| {
        b.likeness
            .total_cmp(&a.likeness)
            .then_with(|| (&b.started_at, &b.session_id).cmp(&(&a.started_at, &a.session_id)))
    });
    let total_found = sessions.len();
    sessions.truncate(most);
    Ok((about, sessions, total_found))
}

/// What is named. One word that looks like an id with a digit in it must be one.
fn resolve(context: &CommandContext<'_>, given: &str) -> Result<LikeQuery> {
    let hexish = given.len() >= 4 && given.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let is_name = hexish && given.contains(|c: char| c.is_ascii_digit()) || given.split(':').next() == Some("latest");
    let is_handoff = |record: &Record| matches!(record.body, Body::Handoff(_));
    match names::thing(context, given, "session or handoff", &[Namespace::Handoffs], is_handoff) {
        Ok(NamedObject::Session(named)) => Ok(LikeQuery::Session(named.id)),
        Ok(NamedObject::Record(handoff)) => Ok(LikeQuery::Handoff(handoff.head.id)),
        Err(error) if is_name || error.kind() == Kind::Refused => Err(error),
        Err(_) => Ok(LikeQuery::Text(given.to_owned())),
    }
}

/// What a session did: as it handed over, when it did, else as it is now.
struct SessionWork {
    handoff: Option<ListedHandoff>,
    task: Option<String>,
    findings: Vec<String>,
    unknowns: Vec<String>,
    dead_ends: Vec<HandoffDeadEnd>,
}

impl SessionWork {
    fn handed_over(listed: ListedHandoff) -> Self {
        let handoff = &listed.handoff;
        let texts = |items: &[Item]| items.iter().map(|item| item.text.clone()).collect();
        SessionWork {
            task: Some(handoff.task.clone()).filter(|task| !task.trim().is_empty()),
            findings: texts(&handoff.findings),
            unknowns: texts(&handoff.unknowns),
            dead_ends: handoff.dead_ends.clone(),
            handoff: Some(listed),
        }
    }

    fn of(context: &CommandContext<'_>, index: &Index<'_>, id: &SessionId) -> Result<Self> {
        let wanted = HandoffQuery { session: Some(id.clone()), ..Default::default() };
        if let Some(listed) = crate::context::handoffs::in_force(context, &wanted, 1)?.pop() {
            return Ok(SessionWork::handed_over(listed));
        }
        let scan = index.session(id)?;
        let records: Vec<&Record> = scan.records().collect();
        let Some(gathered) = SessionRecords::collect(records.iter().copied(), id) else {
            return Ok(SessionWork {
                handoff: None,
                task: None,
                findings: vec![],
                unknowns: vec![],
                dead_ends: vec![],
            });
        };
        let texts = |items: Vec<Item>| items.into_iter().map(|item| item.text).collect();
        Ok(SessionWork {
            handoff: None,
            task: gathered.session.task,
            findings: texts(gathered.findings),
            unknowns: texts(gathered.unknowns),
            dead_ends: gathered.dead_ends,
        })
    }

    /// What was found, asked and tried.
    fn texts(&self) -> Vec<&str> {
        let said =
            self.findings.iter().chain(&self.unknowns).chain(self.dead_ends.iter().map(|failure| &failure.approach));
        said.map(String::as_str).collect()
    }

    /// All of it in one text.
    fn whole(&self) -> String {
        [self.task.as_deref().unwrap_or_default(), &self.texts().join("\n")].join("\n")
    }

    fn said(&self) -> SessionText {
        let task = words(self.task.as_deref().unwrap_or_default());
        let all = self.texts().into_iter().flat_map(words).chain(task.iter().cloned()).collect();
        SessionText { task, all }
    }
}

/// Active sessions with such a task, and the sessions of the records that have most of the rare words of the text, those of
/// the best records first.
fn candidates(index: &Index<'_>, text: &str, wanted: &SessionText) -> Result<Vec<SessionId>> {
    let mut out: Vec<SessionId> = Vec::new();
    // what somebody has only begun is in no record that is searched
    for session in index.sessions(true)?.iter().rev().take(RECORDS) {
        let task = words(session.task.as_deref().unwrap_or_default());
        if likeness(&wanted.task, &task).is_some() && out.len() < SESSIONS / 2 {
            out.push(session.id.clone());
        }
    }
    let (_, found) = crate::index::by_rare_words(index, text, &[], RECORDS)?;
    let ids: Vec<Id> = found.hits.into_iter().map(|(id, _)| id).collect();
    let mut of: BTreeMap<Id, SessionId> = BTreeMap::new();
    for record in index.ids(&ids)?.records() {
        of.extend(record.head.session.clone().map(|session| (record.head.id.clone(), session)));
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
    let said = work.said();
    let Some(likeness) = wanted.likeness(&said) else { return Ok(None) };
    let known = index.session_row(id)?.map(|known| known.session);
    let head = work.handoff.as_ref().map(|listed| &listed.head);
    Ok(Some(SimilarSession {
        session_id: id.clone(),
        ai_id: known.as_ref().map(|s| s.ai.clone()).or(head.map(|head| head.ai.clone())).unwrap_or_default(),
        started_at: known.as_ref().map(|s| s.started_at.clone()).or(head.map(|h| h.at.clone())).unwrap_or_default(),
        active: known.as_ref().is_some_and(|session| session.is_active()),
        commit: head.and_then(|head| head.commit.clone()).or(known.and_then(|session| session.commit)),
        likeness,
        shared: shared(text, &said.all),
        task: work.task,
        findings: work.findings,
        unknowns: work.unknowns,
        dead_ends: work.dead_ends,
        handoff: work.handoff,
    }))
}

/// The words of a text that another has, too, as the text has them.
fn shared(text: &str, other: &BTreeSet<String>) -> Vec<String> {
    let mut out = BTreeSet::new();
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()) {
        if words(word).iter().any(|stem| other.contains(stem)) {
            out.insert(word.to_owned());
        }
    }
    out.into_iter().take(TOLD).collect()
}

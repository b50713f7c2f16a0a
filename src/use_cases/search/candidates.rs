//! Values that complete an argument on a command line, with a few words about each.

use std::time::Duration;

use crate::context::{CommandContext, Selection, handoffs};
use crate::index::{HandoffQuery, Index, RecordQuery};
use crate::render::safe;
use crate::text::shorten::short;
use empirica_notes::env::Env;
use empirica_notes::error::Result;
use empirica_notes::git::Repository;
use empirica_notes::model::record::CLAIMS;
use empirica_notes::model::session::Session;
use empirica_notes::model::{Body, Record};
use empirica_notes::store::Render;

/// Most candidates of a kind, the newest.
const MOST: usize = 50;
/// Most characters about a candidate.
const WORDS: usize = 60;
/// How long a key press waits for an index that is not current.
const INDEX_WAIT: Duration = Duration::from_millis(100);

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    Sessions,
    Handoffs,
    /// Findings, open questions, dead ends, decisions and mistakes in force.
    Claims,
    /// Open questions.
    Questions,
    /// Open goals.
    Goals,
    Agents,
    /// Branches and tags.
    Refs,
}

/// A value and its description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub value: String,
    /// On one line; may be empty.
    pub about: String,
}

impl Candidate {
    fn new(value: impl Into<String>, about: &str) -> Self {
        let about = short(&safe::line(about), WORDS);
        Candidate { value: value.into(), about }
    }
}

/// The values of these kinds that begin with a text, kind by kind, the newest first. None outside a repository, and if something cannot be
/// read.
pub fn of(env: &Env, render: &dyn Render, kinds: &[CandidateKind], prefix: &str) -> Vec<Candidate> {
    let find = || -> Result<Vec<Candidate>> {
        let repo = Repository::discover(env)?;
        let context = CommandContext::new(env, &repo, render, Selection::default())?;
        context.index_cache.limit(INDEX_WAIT);
        let mut out = Vec::new();
        for kind in kinds {
            let found = of_kind(&context, *kind, prefix)?;
            out.extend(found.into_iter().filter(|one| one.value.starts_with(prefix)).take(MOST));
        }
        Ok(out)
    };
    find().unwrap_or_default()
}

fn of_kind(context: &CommandContext<'_>, kind: CandidateKind, prefix: &str) -> Result<Vec<Candidate>> {
    if kind == CandidateKind::Refs {
        return refs(context);
    }
    let index = context.index()?;
    let is_hex = prefix.len() <= 8 && prefix.chars().all(|c| c.is_ascii_hexdigit());
    match kind {
        CandidateKind::Sessions => {
            let sessions: Vec<Session> = match prefix.is_empty() || !is_hex {
                true => index.last_heard(None, 0, MOST)?.into_iter().map(|row| row.session).collect(),
                false => index.sessions_like(prefix)?.into_iter().rev().collect(),
            };
            let about = |task: &Option<String>, ai: &str| match task {
                Some(task) => format!("{ai}: {task}"),
                None => ai.to_owned(),
            };
            let named = [("latest", "the newest session"), ("latest:active", "the newest active session")];
            let named = named.map(|(alias, about)| Candidate::new(alias, about));
            let all = sessions.iter().map(|one| Candidate::new(one.id.short(), &about(&one.task, &one.ai)));
            Ok(all.chain(named).collect())
        }
        CandidateKind::Agents => {
            let agents = index.agents()?.into_iter();
            Ok(agents.map(|(ai, session)| Candidate::new(ai, &format!("last session {}", session.short()))).collect())
        }
        _ if !is_hex => Ok(Vec::new()),
        CandidateKind::Handoffs if prefix.is_empty() => {
            let listed = handoffs::in_force(context, &HandoffQuery::default(), MOST)?;
            Ok(listed.iter().map(|listed| of_record(&listed.record())).collect())
        }
        kind => Ok(records(&index, kind, prefix)?.iter().map(of_record).collect()),
    }
}

/// The records of a kind that may begin with a text, newest first.
fn records(index: &Index<'_>, kind: CandidateKind, prefix: &str) -> Result<Vec<Record>> {
    let open = match kind {
        CandidateKind::Questions => Some("unknown"),
        CandidateKind::Goals => Some("goal"),
        _ => None,
    };
    let scan = match open {
        Some(kind) => index.ids(&index.open(kind, MOST)?)?,
        None if kind == CandidateKind::Handoffs => index.short_like(&["handoff"], prefix, MOST)?,
        None if prefix.is_empty() => index.kinds(CLAIMS, RecordQuery { newest: Some(MOST / 5), session: None })?,
        None => index.short_like(CLAIMS, prefix, MOST)?,
    };
    Ok(scan.records().rev().cloned().collect())
}

fn of_record(record: &Record) -> Candidate {
    let kind = record.body.kind().replace('_', " ");
    let text = match &record.body {
        Body::Handoff(handoff) => handoff.task.clone(),
        Body::Goal(goal) => goal.text.clone(),
        body => body.own_texts().first().map(|(_, text)| (*text).to_owned()).unwrap_or_default(),
    };
    Candidate::new(record.envelope.id.short(), &format!("{kind} by {}: {text}", record.envelope.ai))
}

fn refs(context: &CommandContext<'_>) -> Result<Vec<Candidate>> {
    let mut out = vec![Candidate::new("HEAD", "")];
    for (prefix, what) in [("refs/heads/", "branch"), ("refs/remotes/", "remote branch"), ("refs/tags/", "tag")] {
        let refs = context.repo.list_refs(prefix)?.into_iter();
        out.extend(refs.filter_map(|(name, _)| Some(Candidate::new(name.strip_prefix(prefix)?, what))));
    }
    Ok(out)
}

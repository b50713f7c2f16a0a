//! What a handoff is made of: the session's records, what git knows, what it says for its type, what bears on its task.

pub mod context;
pub mod draft;
pub mod next_steps;
pub mod relevance;
pub mod relevant;
pub mod revise;
pub mod uncommitted;

use std::collections::BTreeSet;

use crate::context::handoffs::{in_force, whole};
use crate::context::records::gathered_of;
use crate::context::{CommandContext, WorkingSession};
use crate::fold::handoff_report::{GitWork, HandoffInput, report};
use crate::fold::session_state::SessionRecords;
use crate::handoff::build::context as document;
use crate::handoff::build::revise::Revision;
use crate::handoff::build::uncommitted::WorkTreeState;
use crate::handoff::managed::CheckedHandoff;
use crate::index::HandoffQuery as Wanted;
use crate::text::list::add_new;
use crate::text::tokens;
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::git::repository::status;
use empirica_notes::git::repository::status::Status;
use empirica_notes::git::{history, parse_oid};
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::{CONTEXT, MadeIn};
use empirica_notes::model::{Body, Handoff, Id, Record, SessionId};
use empirica_notes::store::Scan;
use empirica_transcripts::model::Transcript;

/// How many commits a handoff lists.
const COMMITS: usize = 200;

/// What a handoff is besides the report of its session.
#[derive(Debug, Default)]
pub struct Content {
    /// What it says for its type.
    pub managed: CheckedHandoff,
    /// The handoff it supersedes.
    pub again: Option<Revision>,
    /// The transcript of its session, when it is at hand.
    pub transcript: Option<Transcript>,
    /// What is new in that and not stored yet.
    pub new: Vec<Record>,
    /// How large a document can be, in tokens.
    pub budget: Option<usize>,
    /// The handoff since which it tells what changed.
    pub since: Option<PreviousHandoff>,
    /// Whether a hook makes it.
    pub automatic: bool,
}

impl Content {
    /// All that the session said, with what is new and not stored yet.
    fn session(&self, scan: &Scan, id: &SessionId) -> Result<SessionRecords> {
        gathered_of(&scan.records().chain(&self.new).collect::<Vec<_>>(), id)
    }

    /// What the session said, with what is new and not stored yet; of an incremental one, only what was said since.
    pub fn gathered(&self, scan: &Scan, id: &SessionId) -> Result<SessionRecords> {
        let Some(PreviousHandoff { id: since, .. }) = &self.since else { return self.session(scan, id) };
        let all: Vec<&Record> = scan.records().chain(&self.new).collect();
        // answers and goals stand for what they are about; who the session is, what it is sure of and what it has collected is
        // known by all of it
        let names_of = |record: &&Record| record.head.id > *since;
        let named: BTreeSet<&Id> =
            all.iter().copied().filter(|record| names_of(record)).flat_map(Record::names).collect();
        let is_news = |record: &Record| {
            let is_said = !record.body.own_texts().is_empty() || matches!(record.body, Body::Handoff(_));
            !is_said || record.head.id > *since || named.contains(&record.head.id)
        };
        let news: Vec<&Record> = all.iter().copied().filter(|record| is_news(record)).collect();
        let mut gathered = gathered_of(&news, id)?;
        gathered.leave_out_collected(&all, since);
        Ok(gathered)
    }

    fn put_in(&self, handoff: &mut Handoff) {
        self.managed.put_in(handoff);
        self.again.iter().for_each(|again| again.put_in(handoff));
    }

    /// What there is to say of the session, and of what is still to be answered.
    pub fn warnings(&self, who: &WorkingSession) -> Vec<String> {
        who.note.iter().cloned().chain(self.again.iter().flat_map(Revision::warnings)).collect()
    }
}

/// The handoff: the report of the session, what it says for its type, what bears on its task.
pub fn composed(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    gathered: &SessionRecords,
    work: GitWork,
    mut said: HandoffInput,
    what: &Content,
) -> Result<Handoff> {
    said.drop_carried(gathered, &|text| context.store.without_secrets(text));
    let mut handoff = report(gathered, work, said, context.store.now());
    what.put_in(&mut handoff);
    handoff.automatic = what.automatic;
    handoff.since = what.since.as_ref().map(|since| since.id.clone());
    let is_context = handoff.kind == CONTEXT;
    if is_context || handoff.kind == "initialization" {
        handoff.relevant = relevant::of(context, &handoff)?;
        // what the session itself decided, asked and failed at is told elsewhere
        handoff.relevant.retain(|relevant| relevant.kind == "finding" || !gathered.entry_ids.contains(&relevant.id));
        // what the receiver has been told is no news
        handoff.relevant.retain(|relevant| what.since.as_ref().is_none_or(|since| relevant.id > since.id));
    }
    if is_context {
        let now = context.store.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let source = document::Source { gathered, transcript: what.transcript.as_ref(), ai: &who.ai, now: &now };
        document::fill(&mut handoff, &source);
        if let Some(budget) = what.budget {
            let head = context.store.new_record(&who.id, &who.ai, Body::Handoff(Box::default())).head;
            // the id it gets is another one
            let budget = budget.saturating_sub(8);
            let size = |handoff: &Handoff| {
                let record = Record { head: head.clone(), body: Body::Handoff(Box::new(handoff.clone())) };
                // what cannot be rendered at all is too large
                context.store.report(&record).map_or(usize::MAX, |text| tokens::estimate(&text))
            };
            document::fit(&mut handoff, budget, &size);
        }
    }
    Ok(handoff)
}

/// A handoff that is not stored, and what git said.
#[derive(Debug)]
pub struct DraftHandoff {
    pub handoff: Handoff,
    /// What git's own diff has since the session began, deleted files as well, and what is untracked; `None` when git could not
    /// be asked.
    pub changed: Option<Vec<String>>,
    /// Those of them that no merge brought; `None` likewise.
    pub own: Option<Vec<String>>,
    /// What could not be found out.
    pub warnings: Vec<String>,
}

/// The handoff of a session as it would be stored now.
pub fn drafted(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    mut said: HandoffInput,
    what: &Content,
) -> Result<DraftHandoff> {
    let asked = status::ask(context.repo);
    let scan = context.session(&who.id)?;
    let gathered = what.gathered(&scan, &who.id)?;
    let (work, warnings, seen) = work(context, &gathered, what.since.as_ref(), asked);
    let since = gathered.session.commit.as_deref().and_then(parse_oid);
    let changed = match &seen {
        WorkTreeState::All(changes) => status::changed_since(context.repo, since).ok().map(|mut changed| {
            // untracked files are no part of git's diff
            add_new(&mut changed, &changes.files_added);
            changed
        }),
        _ => None,
    };
    let own = match &seen {
        WorkTreeState::All(Changes { files_added, files_modified, files_deleted }) => {
            history::own_files(context.repo, since).ok().map(|mut own| {
                add_new(&mut own, files_added.iter().chain(files_modified).chain(files_deleted));
                own
            })
        }
        _ => None,
    };
    let session = what.since.is_some().then(|| what.session(&scan, &who.id)).transpose()?;
    said.drop_logged(session.as_ref().unwrap_or(&gathered), &|text| context.store.without_secrets(text));
    let handoff = composed(context, who, &gathered, work, said, what)?;
    Ok(DraftHandoff { handoff, changed, own, warnings })
}

/// What git knows since the session began. Without git, nothing, with a warning.
pub fn work(
    context: &CommandContext<'_>,
    gathered: &SessionRecords,
    told: Option<&PreviousHandoff>,
    asked: status::PendingStatus,
) -> (GitWork, Vec<String>, WorkTreeState) {
    let status = asked.read();
    let git = status.as_ref().ok().map(|status| made_in(context, status));
    let paths = context.store.paths();
    let session = &gathered.session;
    if session.place.as_deref().is_some_and(|place| !paths.is_here(&session.id, place)) {
        let text = "the session worked in another worktree or clone; commits and files are left out: hand over there";
        return (GitWork { git, ..GitWork::default() }, vec![text.to_owned()], WorkTreeState::Elsewhere);
    }
    let told = told.and_then(|told| told.commit.as_deref());
    let since = told.or(gathered.session.commit.as_deref()).and_then(parse_oid);
    let read = || -> Result<(GitWork, Changes)> {
        let committed = history::since(context.repo, since, COMMITS)?;
        let changes = status?.changes;
        let mut files = committed.files;
        add_new(&mut files, changes.files_added.iter().chain(&changes.files_modified));
        Ok((GitWork { commits: committed.commits, files, git: git.clone() }, changes))
    };
    match read() {
        Ok((work, changes)) => (work, Vec::new(), WorkTreeState::All(changes)),
        Err(error) => {
            let work = GitWork { git, ..GitWork::default() };
            (work, vec![format!("commits and files are left out: {error}")], WorkTreeState::Unasked)
        }
    }
}

/// The state of git now.
fn made_in(context: &CommandContext<'_>, status: &Status) -> MadeIn {
    let (head, changes) = (context.store.head(), &status.changes);
    MadeIn {
        commit: head.commit.map(|id| id.to_string()),
        branch: head.branch.clone(),
        ahead: status.ahead_behind.ahead,
        behind: status.ahead_behind.behind,
        modified: changes.files_modified.len() as u64,
        added: changes.files_added.len() as u64,
        deleted: changes.files_deleted.len() as u64,
    }
}

/// The newest handoff of the same type to the receiver of this one, by the same session or for the same task, that left nothing out;
/// `None` when there is none: then everything is new to it. A handoff that supersedes the session's earlier ones has to be whole.
pub fn since_last(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    managed: &CheckedHandoff,
) -> Result<Option<PreviousHandoff>> {
    let (to, task) = managed.receiver();
    let Some(to) = to else {
        return Err(Error::usage("what changed since the last handoff to whom?")
            .reason("an incremental handoff leaves out what the same receiver was told before")
            .suggest("Name the receiver with --to.")
            .command(
                empirica("handoff").option("--type", "context").option("--to", blank("<ai>")).flag("--incremental"),
            ));
    };
    let Some(kind) = managed.kind() else {
        return Err(Error::usage("an epistemic handoff is always whole")
            .provided("--incremental")
            .reason("it supersedes the session's earlier ones, so whatever it omits would be hidden")
            .suggest("Hand over the context instead.")
            .command(empirica("handoff").option("--type", "context").option("--to", to).flag("--incremental")));
    };
    let index = context.index()?;
    let own = Wanted { session: Some(who.id.clone()), ..Wanted::default() };
    let mut found = in_force(context, &own, usize::MAX)?;
    if let Some(task) = task {
        let ids: Vec<Id> = index.of_tasks(Some(task))?.into_iter().map(|(_, id)| id).collect();
        found.extend(whole(&index, &ids)?);
    }
    // what was left out the receiver was not told
    found.retain(|listed| {
        let said = &listed.handoff;
        said.to.as_deref() == Some(to) && said.kind == kind && said.left_out.is_empty()
    });
    let newest = found.into_iter().max_by(|a, b| a.head.id.cmp(&b.head.id));
    Ok(newest
        .map(|listed| PreviousHandoff { id: listed.head.id, commit: listed.handoff.git.and_then(|git| git.commit) }))
}

/// What a receiver was told last.
#[derive(Debug, Clone)]
pub struct PreviousHandoff {
    /// The handoff.
    pub id: Id,
    /// HEAD when it was made.
    pub commit: Option<String>,
}

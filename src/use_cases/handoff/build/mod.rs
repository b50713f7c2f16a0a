//! Composes handoffs from the records of a session, git, the payload and relevant records.

pub mod context;
pub mod draft;
pub mod next_steps;
pub mod relevance;
pub mod relevant;
pub mod revise;
pub mod stage;
pub mod uncommitted;

use std::collections::BTreeSet;

use crate::context::handoffs::{ListedHandoff, by_ids, in_force};
use crate::context::records::{self, collect_session};
use crate::context::{CommandContext, WorkingSession};
use crate::fold::handoff_report::{GitWork, HandoffInput, report};
use crate::fold::session_records::SessionRecords;
use crate::index::HandoffQuery;
use crate::text::list::add_new;
use crate::text::tokens;
use crate::use_cases::handoff::build::context as document;
use crate::use_cases::handoff::build::revise::Revision;
use crate::use_cases::handoff::build::stage::{PreviousHandoff, Stage};
use crate::use_cases::handoff::build::uncommitted::WorkTreeState;
use crate::use_cases::handoff::managed::CheckedHandoff;
use empirica_notes::error::{Error, Result, blank, empirica};
use empirica_notes::git::repository::status;
use empirica_notes::git::repository::status::Status;
use empirica_notes::git::{history, parse_oid};
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::{CONTEXT, RepositoryState};
use empirica_notes::model::{Body, Handoff, Id, Record, SessionId};
use empirica_notes::store::Scan;
use empirica_transcripts::model::Transcript;

/// Most commits a handoff lists.
const MAX_COMMITS: usize = 200;

/// The content of a handoff besides the report of its session.
#[derive(Debug, Default)]
pub struct HandoffParts {
    pub managed: CheckedHandoff,
    /// The handoff it revises.
    pub revision: Option<Revision>,
    /// The transcript of its session, if available.
    pub transcript: Option<Transcript>,
    /// New records of that transcript, not yet stored.
    pub unstored: Vec<Record>,
    /// Largest size of a context document, in tokens.
    pub budget: Option<usize>,
    /// The handoff on which an incremental one builds.
    pub since: Option<PreviousHandoff>,
    /// What it continues; `None` for a handoff that a hook writes, or that revises another.
    pub stage: Option<Stage>,
    /// Whether a hook writes it.
    pub automatic: bool,
}

impl HandoffParts {
    /// The records of the session, for an incremental handoff only those since the previous one.
    pub fn gather(&self, scan: &Scan, id: &SessionId) -> Result<SessionRecords> {
        let all: Vec<&Record> = scan.records().chain(&self.unstored).collect();
        let Some(PreviousHandoff { id: since, .. }) = &self.since else { return collect_session(&all, id) };
        // earlier records stay if a later one names them, or if they only describe the session
        let is_later = |record: &&&Record| record.envelope.id > *since;
        let named: BTreeSet<&Id> = all.iter().filter(is_later).flat_map(|record| record.referenced_ids()).collect();
        let continues = self.stage.as_ref().is_some_and(Stage::continues);
        let is_new = |record: &&&Record| {
            if continues && matches!(record.body, Body::Handoff(_)) {
                // its texts are of another stage
                return is_later(record);
            }
            let has_text = !record.body.own_texts().is_empty() || matches!(record.body, Body::Handoff(_));
            !has_text || is_later(record) || named.contains(&record.envelope.id)
        };
        let mut records = collect_session(&all.iter().filter(is_new).copied().collect::<Vec<_>>(), id)?;
        records.leave_out_collected(&all, since);
        Ok(records)
    }

    /// Finds the stage, unless a hook writes the handoff or it revises another. An epistemic handoff of a later stage has only what the
    /// session logged since it handed on the one before.
    pub fn enter_stage(&mut self, context: &CommandContext<'_>, session: &WorkingSession, own: &Scan) -> Result<()> {
        if self.automatic || self.revision.is_some() {
            return Ok(());
        }
        let (_, task) = self.managed.receiver();
        let stage = Stage::of(context, session, own, task)?;
        if self.since.is_none() && self.managed.kind().is_none() {
            self.since = stage.previous(task);
        }
        self.stage = Some(stage);
        Ok(())
    }

    fn put_in(&self, handoff: &mut Handoff) {
        self.managed.put_in(handoff);
        self.revision.iter().for_each(|revision| revision.put_in(handoff));
    }

    /// Warnings about the session, and about open questions.
    pub fn warnings(&self, session: &WorkingSession) -> Vec<String> {
        let of_stage = self.stage.iter().flat_map(|stage| stage.warnings.iter().cloned());
        session.note.iter().cloned().chain(self.revision.iter().flat_map(Revision::warnings)).chain(of_stage).collect()
    }
}

/// The handoff: report of the session, payload, relevant records.
pub fn compose(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    records: &SessionRecords,
    work: GitWork,
    mut input: HandoffInput,
    content: &mut HandoffParts,
) -> Result<Handoff> {
    input.drop_carried(records, &|text| context.store.secret_filter().clean(text));
    let mut handoff = report(records, work, input, context.store.now());
    content.put_in(&mut handoff);
    handoff.automatic = content.automatic;
    handoff.since = content.since.as_ref().map(|since| since.id.clone());
    if let Some(stage) = &mut content.stage {
        stage.put_in(context, session, &mut handoff)?;
    }
    let is_context = handoff.kind == CONTEXT;
    if is_context || handoff.kind == "initialization" {
        handoff.relevant = relevant::find_relevant(context, &handoff)?;
        // the handoff has the session's own decisions, unknowns and dead ends elsewhere, and the receiver has earlier records
        handoff.relevant.retain(|relevant| {
            (relevant.kind == "finding" || !records.entry_ids.contains(&relevant.id))
                && content.since.as_ref().is_none_or(|since| relevant.id > since.id)
        });
    }
    if is_context {
        let now = context.store.now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        let source = document::Source { records, transcript: content.transcript.as_ref(), ai: &session.ai, now: &now };
        document::fill(&mut handoff, &source);
        if let Some(budget) = content.budget {
            let envelope =
                context.store.writer().new_record(&session.id, &session.ai, Body::Handoff(Box::default())).envelope;
            // the stored one has another ID
            let budget = budget.saturating_sub(8);
            let size = |handoff: &Handoff| {
                let record = Record { envelope: envelope.clone(), body: Body::Handoff(Box::new(handoff.clone())) };
                // a handoff that cannot be rendered counts as too large
                context.store.render().report(&record).map_or(usize::MAX, |text| tokens::estimate(&text))
            };
            document::fit(&mut handoff, budget, &size);
        }
    }
    Ok(handoff)
}

#[derive(Debug)]
pub struct DraftHandoff {
    pub handoff: Handoff,
    /// Files that git lists as changed since the session began, including deleted and untracked ones; `None` if git failed.
    pub changed: Option<Vec<String>>,
    /// Those of them not changed by a merge; `None` likewise.
    pub own: Option<Vec<String>>,
    pub warnings: Vec<String>,
}

/// The handoff of a session as it would be stored now.
pub fn draft(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    mut input: HandoffInput,
    content: &mut HandoffParts,
) -> Result<DraftHandoff> {
    let status = status::start(context.repo);
    let scan = records::session(context, &session.id)?;
    content.enter_stage(context, session, &scan)?;
    let records = content.gather(&scan, &session.id)?;
    let (work, warnings, work_tree) = work(context, &records, content.since.as_ref(), status);
    let since = records.session.commit.as_deref().and_then(parse_oid);
    let (mut changed, mut own) = (None, None);
    if let WorkTreeState::All(Changes { files_added, files_modified, files_deleted }) = &work_tree {
        changed = status::changed_since(context.repo, since).ok();
        own = history::own_files(context.repo, since).ok();
        // git's diff has no untracked files
        changed.iter_mut().for_each(|changed| add_new(changed, files_added));
        let uncommitted = || files_added.iter().chain(files_modified).chain(files_deleted);
        own.iter_mut().for_each(|own| add_new(own, uncommitted()));
    }
    let logged = match &content.since {
        Some(_) => &collect_session(&scan.records().chain(&content.unstored).collect::<Vec<_>>(), &session.id)?,
        None => &records,
    };
    input.drop_logged(logged, &|text| context.store.secret_filter().clean(text));
    let handoff = compose(context, session, &records, work, input, content)?;
    Ok(DraftHandoff { handoff, changed, own, warnings })
}

/// The commits and files since the session or the previous handoff. If git fails, none, with a warning.
pub fn work(
    context: &CommandContext<'_>,
    records: &SessionRecords,
    previous: Option<&PreviousHandoff>,
    status: status::PendingStatus,
) -> (GitWork, Vec<String>, WorkTreeState) {
    let status = status.read();
    let git = status.as_ref().ok().map(|status| made_in(context, status));
    let paths = context.store.paths();
    let session = &records.session;
    if session.place.as_deref().is_some_and(|place| !paths.is_session_here(&session.id, place)) {
        let text = "the session worked in another worktree or clone; commits and files are left out: hand over there";
        return (GitWork { git, ..GitWork::default() }, vec![text.to_owned()], WorkTreeState::Elsewhere);
    }
    let since = previous.and_then(|previous| previous.commit.as_deref()).or(session.commit.as_deref());
    let read = || -> Result<(GitWork, Changes)> {
        let committed = history::commits_since(context.repo, since.and_then(parse_oid), MAX_COMMITS)?;
        let changes = status?.changes;
        let mut files = committed.files;
        add_new(&mut files, changes.files_added.iter().chain(&changes.files_modified));
        Ok((GitWork { commits: committed.commits, files, git: git.clone() }, changes))
    };
    match read() {
        Ok((work, changes)) => (work, Vec::new(), WorkTreeState::All(changes)),
        Err(error) => {
            let work = GitWork { git, ..GitWork::default() };
            (work, vec![format!("commits and files are left out: {error}")], WorkTreeState::Unknown)
        }
    }
}

/// The present state of git.
fn made_in(context: &CommandContext<'_>, status: &Status) -> RepositoryState {
    let (head, changes) = (context.store.head(), &status.changes);
    RepositoryState {
        commit: head.commit.map(|id| id.to_string()),
        branch: head.branch.clone(),
        ahead: status.ahead_behind.ahead,
        behind: status.ahead_behind.behind,
        modified: changes.files_modified.len() as u64,
        added: changes.files_added.len() as u64,
        deleted: changes.files_deleted.len() as u64,
    }
}

/// The newest complete handoff of the same type to the same receiver, by the same session or for the same task; `None` if there is
/// none. Handoffs that supersede earlier ones cannot be incremental.
pub fn since_last(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    managed: &CheckedHandoff,
) -> Result<Option<PreviousHandoff>> {
    let (to, task) = managed.receiver();
    let example = |to| empirica("handoff").option("--type", "context").option("--to", to).flag("--incremental");
    let Some(to) = to else {
        return Err(Error::usage("cannot write an incremental handoff: it needs a receiver")
            .reason("it leaves out the content of the last handoff to the same receiver")
            .suggest("Name the receiver with --to.")
            .command(example(blank("<ai>"))));
    };
    let Some(kind) = managed.kind() else {
        return Err(Error::usage("cannot write an incremental epistemic handoff: it would hide earlier ones")
            .provided("--incremental")
            .reason("it supersedes the session's earlier ones, so whatever it omits would be hidden")
            .suggest("Hand over the context instead.")
            .command(example(to.into())));
    };
    let index = context.index()?;
    let own = HandoffQuery { session: Some(session.id.clone()), ..HandoffQuery::default() };
    let mut found = in_force(context, &own, usize::MAX)?;
    if let Some(task) = task {
        let ids: Vec<Id> = index.of_tasks(Some(task))?.into_iter().map(|(_, id)| id).collect();
        found.extend(by_ids(&index, &ids)?);
    }
    found.retain(|ListedHandoff { handoff, .. }| {
        handoff.to.as_deref() == Some(to) && handoff.kind == kind && handoff.left_out.is_empty()
    });
    let newest = found.into_iter().max_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
    let previous = |ListedHandoff { envelope, handoff }: ListedHandoff| PreviousHandoff {
        id: envelope.id,
        commit: handoff.git.and_then(|git| git.commit),
    };
    Ok(newest.map(previous))
}

//! Writes handoffs: composed from the journal, the assessments and git, completed by the agent's input.

use std::collections::BTreeSet;

use crate::context::records::{self, gather};
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, paths};
use crate::fold::handoff_report::HandoffInput;
use crate::use_cases::collect::{self, CollectRequest};
use crate::use_cases::handoff::build::stage::Stage;
use crate::use_cases::handoff::build::uncommitted::WorkTreeState;
use crate::use_cases::handoff::build::{HandoffParts, compose, draft, revise, since_last, uncommitted, work};
use crate::use_cases::handoff::check::missing::missing_parts;
use crate::use_cases::handoff::check::reported;
use crate::use_cases::handoff::check::rules::{Check, Level};
use crate::use_cases::handoff::{check, managed};
use empirica_notes::error::{Command, Error, Result, blank, empirica};
use empirica_notes::git::Oid;
use empirica_notes::git::repository::status;
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::handoff::superseded::replacements;
use empirica_notes::model::journal::{Finding, Unknown};
use empirica_notes::model::{Body, Handoff, Id, Namespace, Record, SessionId};
use empirica_notes::store::{FlushTiming, RecordEntry, Scan};

/// A handoff, stored or only drafted.
#[derive(Debug)]
pub struct HandoffOutcome {
    pub record: Record,
    pub is_stored: bool,
    /// Missing parts, with the commands that add them.
    pub missing: Vec<(&'static str, Command)>,
    /// The results of the checks, if requested.
    pub checks: Option<Vec<Check>>,
    /// Its signature, if requested and successful.
    pub signature: Option<Id>,
    pub stored: StoreReport,
}

impl HandoffOutcome {
    pub fn handoff(&self) -> Option<&Handoff> {
        match &self.record.body {
            Body::Handoff(handoff) => Some(handoff),
            _ => None,
        }
    }

    /// The ref and commit that hold it.
    pub fn storage_location(&self) -> String {
        let on = self.record.envelope.commit.as_deref().unwrap_or("the empty tree, until the first commit");
        format!("git:{} on {on}", empirica_notes::store::data_ref(Namespace::Handoffs))
    }
}

#[derive(Debug, Clone, Default)]
pub struct HandoffRequest {
    pub input: HandoffInput,
    pub managed: managed::ManagedInput,
    pub regenerate: Option<String>,
    /// A transcript to collect first; its session is handed over.
    pub transcript: Option<String>,
    /// The limit of a document of the type context, in tokens; `None` for no limit.
    pub budget: Option<usize>,
    /// Whether it has only changes since the last handoff to the same receiver.
    pub incremental: bool,
    pub sign: bool,
    pub edit: bool,
    /// Whether to run the checks before storing.
    pub validate: bool,
    pub dry_run: bool,
}

/// Opens a text in the user's editor; `None` if they abandon it.
pub type Editor<'e> = &'e dyn Fn(&str) -> Result<Option<String>>;

/// Composes and stores the handoff of the working session, or of that whose handoff is revised. A handoff that fails a requested
/// check is not stored.
pub fn run(context: &CommandContext<'_>, mut request: HandoffRequest, editor: Editor<'_>) -> Result<HandoffOutcome> {
    check(context, &request.input)?;
    let is_managed = request.managed.kind.is_some() || request.managed.document.is_some();
    // decisions that depend on the handoffs of a task, and claims, are made one at a time
    let turn = (!request.dry_run && !request.edit).then(|| context.store.read_decide_write_lock());
    let revision = request.regenerate.as_deref().map(|name| revise::prepare(context, name)).transpose()?;
    let managed = match &revision {
        Some(revision) => revision.managed(context, &mut request.managed)?,
        None => managed::prepare(context, &request.managed)?,
    };
    let collected = match &request.transcript {
        Some(path) => {
            Some(collect::prepare(context, &CollectRequest { path: Some(path.clone()), ..CollectRequest::default() })?)
        }
        None => None,
    };
    let session = match (&revision, &collected) {
        (Some(revision), _) => revision.session.clone(),
        (_, Some(collected)) => collected.session.clone(),
        // without input, there must be a session to report
        _ if request.dry_run || !request.edit && !is_managed && request.input == HandoffInput::default() => {
            context.working()?
        }
        _ if turn.is_some() => context.writing_in_turn()?,
        _ => context.writing()?,
    };
    let since = match request.incremental {
        true => since_last(context, &session, &managed)?,
        false => None,
    };
    let transcript = collected.as_ref().map(|collected| collected.transcript.clone());
    let unstored = collected.as_ref().map(|collected| collected.records.clone()).unwrap_or_default();
    let mut content = HandoffParts {
        managed,
        revision,
        transcript,
        unstored,
        budget: request.budget,
        since,
        ..HandoffParts::default()
    };
    let mut input = request.input;
    if request.edit {
        let draft = draft(context, &session, input.clone(), &mut HandoffParts::default())?;
        let edited = editor(&draft::write(&draft.handoff, &input))?.ok_or_else(draft::empty)?;
        input = draft::read(&edited)?;
    }
    let mut checks = None;
    if request.validate || request.dry_run {
        let draft = draft(context, &session, input.clone(), &mut content)?;
        refuse_without_summary(&draft.handoff, &session, &content)?;
        if request.validate {
            checks = Some(check::checks(context, &draft)?);
        }
        let stops = checks.iter().flatten().any(|check| check.level == Level::Error);
        if request.dry_run || stops {
            let mut warnings = collected.map_or_else(Vec::new, |collected| collected.warnings);
            warnings.extend(all_warnings(
                context,
                &session,
                &content,
                &input.artifacts,
                &draft.handoff,
                draft.warnings,
            )?);
            let missing = missing_parts(&draft.handoff);
            let record =
                context.store.writer().new_record(&session.id, &session.ai, Body::Handoff(Box::new(draft.handoff)));
            let (record, replaced) = context.store.writer().preview(record)?;
            warnings.extend(replaced.iter().map(|one| {
                format!(
                    "{}: a secret would be replaced by [redacted:{}]; if it is real, change it",
                    one.field, one.rule
                )
            }));
            let stored = StoreReport { warnings, ..Default::default() };
            return Ok(HandoffOutcome { record, is_stored: false, missing, checks, signature: None, stored });
        }
    }
    let mut stored = StoreReport::default();
    if let Some(collected) = collected {
        stored = collected.store(context)?;
        content.unstored.clear();
    }
    let mut outcome = HandoffOutcome { checks, ..write(context, &session, input, content)? };
    outcome.stored.prepend(stored);
    if request.sign {
        sign(context, &session, &mut outcome);
    }
    Ok(outcome)
}

/// Signs a stored handoff. A failure is only a warning, with the command that signs it later.
pub fn sign(context: &CommandContext<'_>, session: &WorkingSession, outcome: &mut HandoffOutcome) {
    let id = outcome.record.envelope.id.clone();
    match crate::use_cases::handoff::sign::sign(context, &id, &session.ai) {
        Ok(signed) => {
            outcome.signature = Some(signed.signature_id);
            outcome.stored.warnings.extend(signed.stored.warnings);
            outcome.stored.storage = signed.stored.storage.or(outcome.stored.storage);
            outcome.stored.degraded_mode |= signed.stored.degraded_mode;
            outcome.stored.remedies.extend(signed.stored.remedies);
        }
        Err(error) => outcome.stored.warnings.push(format!(
            "cannot sign the handoff, which is stored: {}; sign it later: {}",
            error.reason_text(),
            empirica("handoff sign").arg(id.short())
        )),
    }
}

/// Refuses blank texts.
pub fn check(context: &CommandContext<'_>, input: &HandoffInput) -> Result<()> {
    let lists: [(&str, &[String]); 7] = [
        ("finding", &input.findings),
        ("unknown", &input.unknowns),
        ("accomplished", &input.accomplished),
        ("next step", input.next_steps.as_deref().unwrap_or_default()),
        ("artifact", &input.artifacts),
        ("task", input.task.as_slice()),
        ("context", input.context.as_slice()),
    ];
    for (name, text) in lists.into_iter().flat_map(|(name, list)| list.iter().map(move |text| (name, text))) {
        context.text(name, text)?;
    }
    Ok(())
}

/// Stores the handoff of a session: first its new findings and unknowns, then the handoff.
pub fn write(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    mut input: HandoffInput,
    mut content: HandoffParts,
) -> Result<HandoffOutcome> {
    // git reads the work tree meanwhile
    let status = status::start(context.repo);
    let mut stored = StoreReport::default();
    let artifacts = input.artifacts.clone();
    if !input.findings.is_empty() || !input.unknowns.is_empty() {
        input.drop_logged(&gather(context, &session.id)?, &|text| context.store.secret_filter().clean(text));
    }
    let finding = |text| Body::Finding(Finding { text, impact: None, memory: None, ..Default::default() });
    let unknown = |text| Body::Unknown(Unknown { text, ..Default::default() });
    let mut claims: Vec<Body> = std::mem::take(&mut input.findings).into_iter().map(finding).collect();
    claims.extend(std::mem::take(&mut input.unknowns).into_iter().map(unknown));
    if !claims.is_empty() {
        let (_, logged) = context.store(session, claims, FlushTiming::Later)?;
        stored.append(logged);
    }
    let scan = records::session(context, &session.id)?;
    content.enter_stage(context, session, &scan)?;
    let records = content.gather(&scan, &session.id)?;
    let (work, warnings, work_tree) = work(context, &records, content.since.as_ref(), status);
    let mut handoff = compose(context, session, &records, work, input, &mut content)?;
    refuse_without_summary(&handoff, session, &content)?;
    if let Some(claim) = content.stage.as_ref().and_then(Stage::claim) {
        stored.append(context.store(session, vec![claim], FlushTiming::Later)?.1);
    }
    stored.warnings.extend(all_warnings(context, session, &content, &artifacts, &handoff, warnings)?);
    let doubtful: Vec<String> = handoff.named_artifacts.iter().chain(&records.touched_files).cloned().collect();
    handoff.uncommitted = uncommitted::uncommitted_files(context, &handoff, &doubtful, &work_tree);
    let missing = missing_parts(&handoff);
    let has_no_commit = handoff.commits.is_empty();
    let mut superseded = superseded_by(&scan, &handoff, &session.id);
    stored.warnings.extend(replaced(&scan, &superseded, &handoff));
    if let Some(revision) = &content.revision
        && superseded.iter().all(|(id, _)| *id != revision.envelope.id)
    {
        superseded.push((revision.envelope.id.clone(), revision.on.clone()));
    }
    let record = context.store.writer().new_record(&session.id, &session.ai, Body::Handoff(Box::new(handoff)));
    let mut written = context.store.writer().append_handoff(record, superseded)?;
    stored.add(&mut written);
    let record = written.records.into_iter().next().ok_or_else(Error::unstored)?;
    if let WorkTreeState::All(Changes { files_added, files_modified, files_deleted, .. }) = work_tree {
        let paths: Vec<String> = files_added.into_iter().chain(files_modified).chain(files_deleted).collect();
        // with a clean tree and commits, the handoff is already on its commit
        if !paths.is_empty() || has_no_commit {
            context.store.pending_handoffs().add(&record.envelope, paths);
        }
    }
    Ok(HandoffOutcome { record, is_stored: true, missing, checks: None, signature: None, stored })
}

/// The warnings about a handoff and its session, after those `of_git`.
fn all_warnings(
    context: &CommandContext<'_>,
    session: &WorkingSession,
    content: &HandoffParts,
    artifacts: &[String],
    handoff: &Handoff,
    of_git: Vec<String>,
) -> Result<Vec<String>> {
    let absent = paths::files(context, "artifact", artifacts);
    let doubts = context.index()?.doubts(&Body::Handoff(Box::new(handoff.clone())).quoted_claims())?;
    Ok([of_git, content.warnings(session), absent, reported::warnings(context, handoff)?, doubts].concat())
}

/// Refuses a handoff without a summary and with nothing in the log that could be one, except of a hook or of a continued session.
fn refuse_without_summary(handoff: &Handoff, session: &WorkingSession, content: &HandoffParts) -> Result<()> {
    let substance = Substance::of(handoff);
    let is_of_hook = content.automatic && (substance > Substance::Nothing || handoff.payload.is_some());
    let mut reasons = handoff.assessments.iter().filter_map(|assessed| assessed.reasoning.as_deref());
    let is_told = substance == Substance::Work || reasons.any(|reason| !reason.trim().is_empty());
    // a task goes on also without a word
    if is_told || is_of_hook || handoff.continues.is_some() {
        return Ok(());
    }
    let cause = match (&content.since, substance) {
        (Some(since), _) => format!("it has no new content since handoff {}", since.id.short()),
        (None, Substance::Nothing) => "it has no content yet".to_owned(),
        (None, _) => "nothing in it says what was done".to_owned(),
    };
    let command =
        empirica("handoff").option("-m", blank("<what was done>")).option("--next", blank("<what to do next>"));
    Err(Error::refused(format!("cannot hand over session {}: {cause}", session.id.short()))
        .reason("it has no task, finding, unknown, decision or commit, and no text was given for the handoff")
        .suggest("Say what was done, or log it first.")
        .command(command))
}

/// A warning for each handoff to another receiver that this one replaces.
fn replaced(scan: &Scan, superseded: &[(Id, BTreeSet<Oid>)], new: &Handoff) -> Vec<String> {
    let earlier = superseded.iter().filter_map(|(id, _)| match &scan.get(id)?.record.body {
        Body::Handoff(earlier) if earlier.to.is_some() && earlier.to != new.to => {
            let to = earlier.to.as_deref().unwrap_or_default();
            Some(format!("the handoff replaces {} for {to}; use another --task-id for work beside it", id.short()))
        }
        _ => None,
    });
    earlier.collect()
}

/// The earlier handoffs of the stage that a new one supersedes, with their commits: those without more substance. A managed
/// handoff supersedes none.
fn superseded_by(scan: &Scan, new: &Handoff, session: &SessionId) -> Vec<(Id, BTreeSet<Oid>)> {
    let substance = Substance::of(new);
    let before = replacements(scan.records());
    let is_replaced = |entry: &&RecordEntry| match &entry.record.body {
        Body::Handoff(earlier) => {
            let owner = entry.record.envelope.session.as_ref();
            let is_same = owner.is_some_and(|owner| earlier.stage(owner) == new.stage(session));
            is_same && earlier.kind == "epistemic" && Substance::of(earlier) <= substance
        }
        _ => false,
    };
    let earlier = scan.entries().filter(is_replaced).filter(|entry| !before.contains_key(&entry.record.envelope.id));
    let earlier = earlier.filter(|_| new.payload.is_none());
    earlier.map(|entry| (entry.record.envelope.id.clone(), entry.on.clone())).collect()
}

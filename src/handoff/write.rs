//! The handoff: drawn from the journal, the assessments and git, completed by what the agent adds.

use std::collections::BTreeSet;

use crate::collect;
use crate::context::records::gather;
use crate::context::stored::StoreReport;
use crate::context::{CommandContext, WorkingSession, paths};
use crate::fold::handoff_report::{HandoffInput, missing};
use crate::handoff::build::uncommitted::WorkTreeState;
use crate::handoff::build::{Content, composed, draft, drafted, revise, since_last, uncommitted, work};
use crate::handoff::check::reported;
use crate::handoff::check::rules::{Check, Level};
use crate::handoff::{check, managed};
use empirica_notes::error::{Command, Error, Result, blank, empirica};
use empirica_notes::git::Oid;
use empirica_notes::git::repository::status;
use empirica_notes::model::assessment::Changes;
use empirica_notes::model::handoff::substance::Substance;
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::journal::{Finding, Unknown};
use empirica_notes::model::{Body, Handoff, Id, Namespace, Record};
use empirica_notes::store::{FlushTiming, RecordEntry, Scan};

/// A handoff, stored or only drafted.
#[derive(Debug)]
pub struct HandoffOutcome {
    pub record: Record,
    pub is_stored: bool,
    /// What it still lacks, with the command that adds it.
    pub missing: Vec<(&'static str, Command)>,
    /// What the checks found; `None` when they were not asked for.
    pub checks: Option<Vec<Check>>,
    /// Its signature, when it was to be signed and could be.
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

    /// Where it is stored.
    pub fn storage_location(&self) -> String {
        let on = self.record.head.commit.as_deref().unwrap_or("the empty tree, until the first commit");
        format!("git:{} on {on}", empirica_notes::store::data_ref(Namespace::Handoffs))
    }
}

/// How a handoff is made.
#[derive(Debug, Clone, Default)]
pub struct HandoffRequest {
    pub said: HandoffInput,
    pub managed: managed::ManagedInput,
    /// The handoff that is rewritten.
    pub regenerate: Option<String>,
    /// The transcript whose session is handed over; it is collected first.
    pub transcript: Option<String>,
    /// How large a document of the type context can be, in tokens; `None` for as large as it is.
    pub budget: Option<usize>,
    /// Whether it only has what changed since the last handoff to the same receiver.
    pub incremental: bool,
    pub sign: bool,
    pub edit: bool,
    /// Whether it is checked before it is stored.
    pub validate: bool,
    pub dry_run: bool,
}

/// Lets the user change a text; `None` means that they gave up.
pub type Editor<'e> = &'e dyn Fn(&str) -> Result<Option<String>>;

/// Makes and stores the handoff of the session the command works in, or of the one whose handoff is rewritten. What is
/// to be checked and has an error is not stored.
pub fn run(context: &CommandContext<'_>, mut request: HandoffRequest, editor: Editor<'_>) -> Result<HandoffOutcome> {
    check(context, &request.said)?;
    // what is decided by the chain of a task is decided by one at a time
    let is_managed = request.managed.kind.is_some() || request.managed.document.is_some();
    let decides = is_managed || request.managed.task_id.is_some() || request.regenerate.is_some();
    let turn = (decides && !request.dry_run).then(|| context.store.decision_lock());
    let again = request.regenerate.as_deref().map(|given| revise::prepared(context, given)).transpose()?;
    let managed = match &again {
        Some(again) => again.managed(context, &mut request.managed)?,
        None => managed::prepared(context, &request.managed)?,
    };
    let collected = match &request.transcript {
        Some(path) => Some(collect::prepared(context, &collect::CollectRequest::of(path))?),
        None => None,
    };
    let who = match (&again, &collected) {
        (Some(again), _) => again.who.clone(),
        (_, Some(collected)) => collected.who.clone(),
        // without a word of its own it says what a session did
        _ if request.dry_run || !request.edit && !is_managed && request.said == HandoffInput::default() => {
            context.working()?
        }
        _ if turn.is_some() => context.writing_in_turn()?,
        _ => context.writing()?,
    };
    let since = match request.incremental {
        true => since_last(context, &who, &managed)?,
        false => None,
    };
    let transcript = collected.as_ref().map(|collected| collected.transcript.clone());
    let new = collected.as_ref().map(|collected| collected.records.clone()).unwrap_or_default();
    let mut what = Content { managed, again, transcript, new, budget: request.budget, since, automatic: false };
    let mut said = request.said;
    if request.edit {
        let draft = drafted(context, &who, said.clone(), &Content::default())?;
        let text = draft::write(&draft.handoff, &said);
        let edited = editor(&text)?.ok_or_else(draft::given_up)?;
        said = draft::read(&edited)?;
    }
    let mut checks = None;
    if request.validate || request.dry_run {
        let draft = drafted(context, &who, said.clone(), &what)?;
        refuse_nothing(&draft.handoff, &who, &what)?;
        if request.validate {
            checks = Some(check::checks(context, &draft)?);
        }
        let stops = checks.iter().flatten().any(|check| check.level == Level::Error);
        if request.dry_run || stops {
            let mut warnings = collected.map_or_else(Vec::new, |collected| collected.warnings);
            warnings.extend(noted(context, &who, &what, &said.artifacts, &draft.handoff, draft.warnings)?);
            let missing = lacking(&draft.handoff);
            let record = context.store.new_record(&who.id, &who.ai, Body::Handoff(Box::new(draft.handoff)));
            let (record, replaced) = context.store.preview(record)?;
            warnings.extend(replaced.iter().map(|one| {
                format!(
                    "{}: a secret would be replaced by [redacted:{}]; if it is real, change it",
                    one.field, one.rule
                )
            }));
            return Ok(HandoffOutcome {
                missing,
                record,
                is_stored: false,
                checks,
                signature: None,
                stored: StoreReport { warnings, ..Default::default() },
            });
        }
    }
    let mut stored = StoreReport::default();
    if let Some(collected) = collected {
        stored = collected.store(context)?;
        what.new.clear();
    }
    let mut outcome = HandoffOutcome { checks, ..write(context, &who, said, &what)? };
    outcome.stored.after(stored);
    if request.sign {
        sign(context, &who, &mut outcome);
    }
    Ok(outcome)
}

/// Signs a handoff that was just stored. One that cannot be signed stands all the same: it is said why, and how it is signed later.
pub fn sign(context: &CommandContext<'_>, who: &WorkingSession, outcome: &mut HandoffOutcome) {
    let id = outcome.record.head.id.clone();
    match crate::handoff::sign::sign(context, &id, &who.ai) {
        Ok(signed) => {
            outcome.signature = Some(signed.signature_id);
            outcome.stored.warnings.extend(signed.stored.warnings);
            outcome.stored.storage = signed.stored.storage.or(outcome.stored.storage);
            outcome.stored.degraded_mode |= signed.stored.degraded_mode;
            outcome.stored.remedies.extend(signed.stored.remedies);
        }
        Err(error) => outcome.stored.warnings.push(format!(
            "the handoff is stored and not signed: {}; sign it later: {}",
            error.reason_text(),
            empirica("handoff sign").arg(id.short())
        )),
    }
}

/// Refuses a blank text in what the agent says with the handoff.
pub fn check(context: &CommandContext<'_>, said: &HandoffInput) -> Result<()> {
    let lists: [(&str, &[String]); 5] = [
        ("finding", &said.findings),
        ("unknown", &said.unknowns),
        ("accomplished", &said.accomplished),
        ("next step", said.next_steps.as_deref().unwrap_or_default()),
        ("artifact", &said.artifacts),
    ];
    for (name, list) in lists {
        for text in list {
            context.text(name, text)?;
        }
    }
    for (name, text) in [("task", &said.task), ("context", &said.context)] {
        if let Some(text) = text {
            context.text(name, text)?;
        }
    }
    Ok(())
}

/// Stores the handoff of a session: what is new in it goes to the journal first, then the report, whole.
pub fn write(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    mut said: HandoffInput,
    what: &Content,
) -> Result<HandoffOutcome> {
    // git looks at the work tree while the records are read
    let asked = status::ask(context.repo);
    let mut stored = StoreReport::default();
    let artifacts = said.artifacts.clone();
    let mut entries: Vec<Body> = Vec::new();
    if !said.findings.is_empty() || !said.unknowns.is_empty() {
        said.drop_logged(&gather(context, &who.id)?, &|text| context.store.without_secrets(text));
    }
    for text in std::mem::take(&mut said.findings) {
        entries.push(Body::Finding(Finding { text, impact: None, memory: None, led_from: None }));
    }
    for text in std::mem::take(&mut said.unknowns) {
        entries.push(Body::Unknown(Unknown { text, led_from: None }));
    }
    if !entries.is_empty() {
        let (_, journalled) = context.store(who, entries, FlushTiming::Later)?;
        stored.before(journalled);
    }
    let scan = context.session(&who.id)?;
    let gathered = what.gathered(&scan, &who.id)?;
    let (work, warnings, seen) = work(context, &gathered, what.since.as_ref(), asked);
    let mut handoff = composed(context, who, &gathered, work, said, what)?;
    refuse_nothing(&handoff, who, what)?;
    stored.warnings.extend(noted(context, who, what, &artifacts, &handoff, warnings)?);
    let doubtful: Vec<String> = handoff.named_artifacts.iter().chain(&gathered.touched_files).cloned().collect();
    handoff.uncommitted = uncommitted::of(context, &handoff, &doubtful, &seen);
    let lacking = lacking(&handoff);
    let has_no_commit = handoff.commits.is_empty();
    let record = context.store.new_record(&who.id, &who.ai, Body::Handoff(Box::new(handoff)));
    let is_managed = matches!(&record.body, Body::Handoff(handoff) if handoff.payload.is_some());
    let mut aside = if is_managed { Vec::new() } else { set_aside(&scan, &record) };
    if let Some(again) = &what.again
        && aside.iter().all(|(id, _)| *id != again.head.id)
    {
        aside.push((again.head.id.clone(), again.on.clone()));
    }
    let mut written = context.store.hand_over(record, aside)?;
    stored.add(&mut written);
    let record = written.records.into_iter().next().ok_or_else(Error::unstored)?;
    if let WorkTreeState::All(Changes { files_added, files_modified, files_deleted, .. }) = seen {
        let paths: Vec<String> = files_added.into_iter().chain(files_modified).chain(files_deleted).collect();
        // on a clean tree it stands for the commits of its session, or else for the one to come
        if !paths.is_empty() || has_no_commit {
            context.store.remember_pending(&record.head, paths);
        }
    }
    Ok(HandoffOutcome { record, is_stored: true, missing: lacking, checks: None, signature: None, stored })
}

/// The warnings about a handoff and its session, the same for a dry run as for storing: after `of_git`, those of its work.
fn noted(
    context: &CommandContext<'_>,
    who: &WorkingSession,
    what: &Content,
    artifacts: &[String],
    handoff: &Handoff,
    of_git: Vec<String>,
) -> Result<Vec<String>> {
    let absent = paths::files(context, "artifact", artifacts);
    Ok([of_git, what.warnings(who), absent, reported::warnings(context, handoff)?].concat())
}

/// Refuses a handoff that says nothing. A session that is continued hands over its context, however little that is.
fn refuse_nothing(handoff: &Handoff, who: &WorkingSession, what: &Content) -> Result<()> {
    if Substance::of(handoff) > Substance::Nothing || what.automatic && handoff.payload.is_some() {
        return Ok(());
    }
    let session = who.id.short();
    let error = match &what.since {
        Some(since) => {
            format!("cannot hand over session {session}: it said nothing since handoff {}", since.id.short())
        }
        None => format!("cannot hand over session {session}: it said nothing yet"),
    };
    Err(Error::refused(error)
        .reason("it has no claim, commit or assessment, and the handoff has no words of its own")
        .suggest("Say what was done, what was learned, or what is next.")
        .command(empirica("handoff").option("--next", blank("<what to do next>"))))
}

/// What a handoff still lacks. A managed one has what its format wants.
fn lacking(handoff: &Handoff) -> Vec<(&'static str, Command)> {
    if handoff.payload.is_some() { Vec::new() } else { missing(handoff) }
}

/// The session's earlier handoffs that the new one supersedes, those that say no more, and where each is.
fn set_aside(scan: &Scan, new: &Record) -> Vec<(Id, BTreeSet<Oid>)> {
    let Body::Handoff(handoff) = &new.body else { return Vec::new() };
    let says = Substance::of(handoff);
    let aside = superseded(scan.records().filter(|record| matches!(record.body, Body::Supersede(_))));
    let is_replaced = |entry: &&RecordEntry| match &entry.record.body {
        Body::Handoff(earlier) => {
            let is_own = entry.record.head.session == new.head.session;
            is_own && earlier.kind == "epistemic" && Substance::of(earlier) <= says
        }
        _ => false,
    };
    let earlier = scan.entries().filter(is_replaced).filter(|entry| !aside.contains(&entry.record.head.id));
    earlier.map(|entry| (entry.record.head.id.clone(), entry.on.clone())).collect()
}

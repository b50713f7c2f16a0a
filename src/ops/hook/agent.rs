//! What the hooks of agents are for: a session under the agent's own id, snapshots around a compaction, the transcript collected, a
//! handoff at the end. They never fail, and they keep no agent waiting.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use super::in_one_line;
use crate::env::Env;
use crate::epistemics::gathered::Gathered;
use crate::epistemics::report::Said;
use crate::error::Result;
use crate::git::Repository;
use crate::git::process::in_background;
use crate::model::assessment::Trigger;
use crate::model::{Phase, SessionId};
use crate::ops::compose::What;
use crate::ops::context::{Context, Working};
use crate::ops::drift::{Gate, gate};
use crate::ops::journal::{self, Entry};
use crate::ops::session::{self, gather_from};
use crate::ops::{Asked, bootstrap, checkpoint, collect, compaction, current, handoff, snapshot};
use crate::store::Render;
use crate::wire::hooks::{Event, Source, Told};

/// From this size on a transcript is collected beside the agent, which goes on meanwhile, in bytes.
const LARGE: u64 = 2 << 20;
/// How many assessments drift is looked for in.
const WINDOW: usize = crate::epistemics::drift::WINDOW;
/// The variable that says it is done beside the agent already.
pub const BESIDE: &str = "EMPIRICA_BESIDE";

/// What is put before the agent's model.
#[derive(Debug)]
pub enum Inject {
    /// The project, for a session that begins or goes on; how confidence stood, when it goes on.
    Project(SessionId, Box<bootstrap::Outcome>, Option<Gate>),
    /// What a compaction took, and the project.
    Compacted(Box<checkpoint::Outcome>, Box<compaction::Outcome>, Gate),
    /// The last CHECK was unsafe.
    Unsafe(SessionId, Gate),
}

/// Does what an event is for, and says what is to be put before the model; what goes wrong is written down. `payload` is what the agent
/// told, as it was, for what is done beside it.
pub fn run(env: &Env, repo: &Repository, render: &dyn Render, told: &Told, payload: &[u8]) -> Option<Inject> {
    // who the user says speaks comes first
    let named = env.get("EMPIRICA_AI").is_some() || repo.config("empirica.ai").is_some();
    let ai = (!named).then(|| told.agent.name().to_owned());
    let mut context = Context::new(env, repo, render, Asked { ai, session: None }).ok()?;
    context.store.hurry();
    let done = match &told.event {
        Event::Begins(source) => begins(&mut context, told, *source),
        Event::Prompt => prompt(&mut context, told),
        Event::Compacts => compacts(&mut context, told),
        Event::Compacted => compacted(&mut context, told).map(Some),
        Event::Stops | Event::Ends { .. } if is_large(told) && env.get(BESIDE).is_none() => {
            beside(&context, told, payload)
        }
        Event::Stops => collected(&mut context, told),
        Event::Ends { reason } => ends(&mut context, told, reason),
        Event::Failed { category, text } => failed(&mut context, told, category, text),
        Event::Nothing => Ok(None),
    };
    done.unwrap_or_else(|error| {
        context.store.trouble(&format!("agent {} {}", told.agent.name(), told.name), &in_one_line(&error));
        None
    })
}

/// The session of the agent's id that goes on; `None` when none does.
fn known(context: &Context<'_>, told: &Told) -> Result<Option<SessionId>> {
    let Some(external) = &told.session else { return Ok(None) };
    if let Some(active) =
        current::remembered(context).into_iter().rev().find(|s| s.external_id.as_ref() == Some(external))
    {
        return Ok(Some(active.id));
    }
    Ok(having(context, external)?.into_iter().rfind(|session| session.is_active()).map(|session| session.id))
}

/// The sessions that have this id of the agent's own, oldest first.
fn having(context: &Context<'_>, external: &str) -> Result<Vec<crate::model::session::Session>> {
    let mut found = context.store.index()?.sessions_like(external)?;
    found.retain(|session| session.external_id.as_deref() == Some(external));
    Ok(found)
}

/// The session of the agent's id: the one that goes on, else one that begins, which continues the one that had ended.
fn own(context: &mut Context<'_>, told: &Told) -> Result<SessionId> {
    let id = match known(context, told)? {
        Some(id) => id,
        None => {
            let ended = match &told.session {
                Some(external) => having(context, external)?.pop(),
                None => None,
            };
            let request = session::Start {
                task: None,
                kind: None,
                external_id: told.session.clone(),
                adopt: false,
                from: ended.map(|session| session.id.as_str().to_owned()),
            };
            session::start(context, request)?.session_id
        }
    };
    context.asked.session = Some(id.as_str().to_owned());
    Ok(id)
}

fn begins(context: &mut Context<'_>, told: &Told, source: Source) -> Result<Option<Inject>> {
    if source == Source::Compact {
        return compacted(context, told).map(Some);
    }
    let went_on = known(context, told)?.is_some();
    let id = own(context, told)?;
    tell_shell(context, &id);
    let goes_on = went_on || source == Source::Resume;
    let project = bootstrap::run(context, &bootstrap::Request { own: Some(id.clone()) })?;
    let scan = context.store.session(&id)?;
    let gate = goes_on.then(|| gate(&scan, &id, WINDOW));
    Ok(Some(Inject::Project(id, Box::new(project), gate)))
}

/// Tells the agent's shell which session its commands are in, where the agent has a file for that.
fn tell_shell(context: &Context<'_>, id: &SessionId) {
    let Some(file) = context.env.get("CLAUDE_ENV_FILE") else { return };
    let line = format!("export EMPIRICA_SESSION={id}\n");
    let append = || std::fs::OpenOptions::new().append(true).create(true).open(file)?.write_all(line.as_bytes());
    // without it, the session at work here is found as always
    let _ = append();
}

/// Nothing, unless the last CHECK was unsafe; and after a compaction that no event tells of, what it took.
fn prompt(context: &mut Context<'_>, told: &Told) -> Result<Option<Inject>> {
    let Some(id) = known(context, told)? else { return Ok(None) };
    let scan = context.store.session(&id)?;
    let gathered = gather_from(&scan, &id)?;
    if gathered.checkpoints.last().is_some_and(|(_, checkpoint)| checkpoint.trigger == Trigger::PreCompact) {
        return compacted(context, told).map(Some);
    }
    let was_check = gathered.assessments.last().is_some_and(|(_, last)| last.phase == Phase::Check);
    let gate = gate(&scan, &id, WINDOW);
    Ok((was_check && !gate.drift.is_safe()).then_some(Inject::Unsafe(id, gate)))
}

fn snapshot_now(context: &mut Context<'_>, told: &Told, trigger: Trigger) -> Result<checkpoint::Outcome> {
    own(context, told)?;
    checkpoint::run(context, snapshot::Request { trigger, ..snapshot::Request::default() })
}

fn compacts(context: &mut Context<'_>, told: &Told) -> Result<Option<Inject>> {
    snapshot_now(context, told, Trigger::PreCompact).map(|_| None)
}

fn compacted(context: &mut Context<'_>, told: &Told) -> Result<Inject> {
    let taken = snapshot_now(context, told, Trigger::PostCompact)?;
    let outcome = compaction::run(context, &taken)?;
    let scan = context.store.session(&taken.session_id)?;
    let gate = gate(&scan, &taken.session_id, WINDOW);
    Ok(Inject::Compacted(Box::new(taken), Box::new(outcome), gate))
}

/// Whether the transcript is so large that the agent would wait for it.
fn is_large(told: &Told) -> bool {
    told.transcript.as_ref().and_then(|path| std::fs::metadata(path).ok()).is_some_and(|file| file.len() > LARGE)
}

/// Does the same beside the agent.
fn beside(context: &Context<'_>, told: &Told, payload: &[u8]) -> Result<Option<Inject>> {
    let mut command = Command::new(&context.env.program);
    command.args(["hook", "agent", told.agent.name(), &told.name]).current_dir(&context.env.cwd).env(BESIDE, "1");
    in_background(&mut command, payload).map_err(|error| {
        crate::error::Error::storage("the transcript cannot be collected beside the agent")
            .command("git empirica collect --latest")
            .caused_by(error)
    })?;
    Ok(None)
}

/// Where the transcript is: as the agent says; of one that does not say, the latest here when it is of that session.
fn transcript(context: &Context<'_>, told: &Told) -> Option<PathBuf> {
    if let Some(path) = &told.transcript {
        // one that is not written yet is no trouble
        return path.exists().then(|| path.clone());
    }
    let request = collect::Request { path: None, agent: Some(told.agent), dry_run: true };
    let (path, transcript) = collect::read(context, &request).ok()?;
    (transcript.session_id.is_some() && transcript.session_id == told.session).then_some(path)
}

/// Takes in what is new in the transcript, when no other does.
fn collected(context: &mut Context<'_>, told: &Told) -> Result<Option<Inject>> {
    if let (Some(_alone), Some(path)) = (context.store.alone("collecting"), transcript(context, told)) {
        let path = Some(path.to_string_lossy().into_owned());
        collect::run(context, &collect::Request { path, agent: Some(told.agent), dry_run: false })?;
    }
    Ok(None)
}

/// Whether a session said anything that another can use.
fn has_something(gathered: &Gathered) -> bool {
    gathered.entries > 0 || !gathered.assessments.is_empty() || !gathered.transcripts.is_empty()
}

fn ends(context: &mut Context<'_>, told: &Told, reason: &str) -> Result<Option<Inject>> {
    if let Err(error) = collected(context, told) {
        // the handoff is written all the same
        context.store.trouble(&format!("agent {} {}", told.agent.name(), told.name), &in_one_line(&error));
    }
    let Some(id) = known(context, told)? else { return Ok(None) };
    context.asked.session = Some(id.as_str().to_owned());
    let gathered = session::gather(context, &id)?;
    if gathered.handoffs.is_empty() && has_something(&gathered) {
        let who = Working { ai: context.author(Some(&gathered.session.ai)), id, note: None };
        handoff::write(context, &who, Said::default(), &What::default())?;
    }
    session::end(context, Some(reason.to_owned()).filter(|reason| !reason.trim().is_empty()))?;
    Ok(None)
}

fn failed(context: &mut Context<'_>, told: &Told, category: &str, text: &str) -> Result<Option<Inject>> {
    own(context, told)?;
    let entry = Entry::Activity {
        category: category.to_owned(),
        text: text.to_owned(),
        failed: true,
        files: Vec::new(),
        led_from: None,
    };
    journal::log(context, entry).map(|_| None)
}

//! The stage of a task that a handoff ends: what its session took up, and who gets it next.

use std::collections::BTreeSet;

use crate::context::tasks::routes;
use crate::context::{CommandContext, WorkingSession, tasks};
use crate::fold::task::claims::Receipts;
use crate::fold::task::state::{TaskEvent, TaskState};
use crate::use_cases::handoff::managed::HandoffType;
use empirica_notes::error::Result;
use empirica_notes::model::{Body, Handoff, Id, Record, SessionId};
use empirica_notes::store::Scan;

/// A handoff that a session took up.
#[derive(Debug)]
struct Taken {
    id: Id,
    task_id: String,
    title: String,
}

/// What a session hands over: a stage of a task, or its own work.
#[derive(Debug, Default)]
pub struct Stage {
    /// The handoff to a receiver that the session took up last.
    taken: Option<Taken>,
    /// The session's epistemic handoffs, each with its task and what it continues.
    own: Vec<(Id, Handoff)>,
    pub warnings: Vec<String>,
}

/// An earlier handoff, since which another reports.
#[derive(Debug, Clone)]
pub struct PreviousHandoff {
    pub id: Id,
    /// HEAD then.
    pub commit: Option<String>,
}

fn epistemic(own: &Scan, session: &SessionId) -> Vec<(Id, Handoff)> {
    let all = own.records().filter_map(|record| match &record.body {
        Body::Handoff(handoff) if handoff.kind == "epistemic" && record.envelope.session.as_ref() == Some(session) => {
            Some((record.envelope.id.clone(), (**handoff).clone()))
        }
        _ => None,
    });
    all.collect()
}

impl Stage {
    /// The stage of a session, or that of the task if one is named.
    pub fn of(context: &CommandContext<'_>, session: &WorkingSession, own: &Scan, task: Option<&str>) -> Result<Self> {
        let mut stage = Stage { own: epistemic(own, &session.id), ..Stage::default() };
        stage.taken = stage.last_taken(context, &session.id, own, task)?;
        Ok(stage)
    }

    /// The handoff to a receiver that the session took up last and that is its own, of this task if one is given. A warning tells of
    /// one that another session took up first.
    fn last_taken(
        &mut self,
        context: &CommandContext<'_>,
        session: &SessionId,
        own: &Scan,
        task: Option<&str>,
    ) -> Result<Option<Taken>> {
        let mut accepted: Vec<&Id> = Vec::new();
        for Record { envelope, body } in own.records().rev() {
            match body {
                Body::Accept(accept)
                    if envelope.session.as_ref() == Some(session) && !accepted.contains(&&accept.of) =>
                {
                    accepted.push(&accept.of);
                }
                _ => {}
            }
        }
        if accepted.is_empty() {
            return Ok(None);
        }
        let found = context.index()?.ids(accepted.iter().copied())?;
        for id in accepted {
            let Some(Record { envelope, body: Body::Handoff(handoff) }) = found.get(id).map(|entry| &entry.record)
            else {
                continue;
            };
            let is_received = handoff.to.is_some() && envelope.session.as_ref() != Some(session);
            let of = handoff.task_id.as_ref().filter(|of| is_received && task.is_none_or(|task| task == *of));
            let Some(of) = of else { continue };
            let receipts = tasks::receipts(context, id, handoff)?;
            let claims = receipts.records().collect::<Receipts<'_>>().of(id);
            match claims.holder {
                Some(holder) if holder.session() != Some(session) => self.warnings.push(format!(
                    "{}; this handoff does not continue the task '{of}'",
                    tasks::inbox::not_yours(id, holder.envelope)
                )),
                _ => return Ok(Some(Taken { id: id.clone(), task_id: of.clone(), title: handoff.task.clone() })),
            }
        }
        Ok(None)
    }

    /// Whether it continues a task that the session took up.
    pub fn continues(&self) -> bool {
        self.taken.is_some()
    }

    /// The session's newest handoff of another stage, before any of this one.
    pub fn previous(&self, task: Option<&str>) -> Option<PreviousHandoff> {
        let (continues, of) = self.taken.as_ref().map(|taken| (&taken.id, taken.task_id.as_str())).unzip();
        let is_same =
            |handoff: &Handoff| handoff.continues.as_ref() == continues && handoff.task_id.as_deref() == task.or(of);
        let first = self.own.iter().find(|(_, handoff)| is_same(handoff)).map(|(id, _)| id);
        // the session's own work includes that of its stages
        let is_before = |(id, handoff): &&(Id, Handoff)| {
            continues.is_some() && first.is_none_or(|first| id < first) && !is_same(handoff)
        };
        let (id, handoff) = self.own.iter().rev().find(is_before)?;
        let commit = handoff.git.as_ref().and_then(|git| git.commit.clone());
        Some(PreviousHandoff { id: id.clone(), commit })
    }

    /// Puts the task of a handoff into it and, if none is named, its receiver by the rules.
    pub fn put_in(
        &mut self,
        context: &CommandContext<'_>,
        session: &WorkingSession,
        handoff: &mut Handoff,
    ) -> Result<()> {
        if let Some(Taken { id, task_id, title }) = &self.taken {
            handoff.task_id.get_or_insert_with(|| task_id.clone());
            handoff.continues = Some(id.clone());
            if handoff.task.is_empty() {
                handoff.task.clone_from(title);
            }
        }
        if handoff.to.is_none()
            && let Err(error) = self.route(context, session, handoff)
        {
            self.warnings.push(format!("the handoff has no receiver: {}", error.in_one_line()));
        }
        if handoff.task_id.is_none() && (handoff.to.is_some() || handoff.route.is_some()) {
            handoff.task_id = Some(session.id.short().to_owned());
        }
        Ok(())
    }

    fn route(&self, context: &CommandContext<'_>, session: &WorkingSession, handoff: &mut Handoff) -> Result<()> {
        let Some(file) = routes::read(context, &HandoffType::ALL.map(HandoffType::name))? else { return Ok(()) };
        routes::usable(&file)?;
        let task = handoff.task_id.as_deref().map(|task| tasks::state(context, task)).transpose()?.flatten();
        let versions = self.versions(&session.id, handoff);
        let is_own = |step: &TaskEvent| versions.contains(&step.envelope.id);
        if task.as_ref().and_then(TaskState::escalation).is_some_and(|step| !is_own(step)) {
            // it waits for a person
            return Ok(());
        }
        let facts = routes::facts(handoff, &session.ai, Some(&session.id), task.as_ref());
        if let Some(rule) = file.rules.first(&facts) {
            let handed_on = routes::rounds(rule, task.as_ref(), &versions);
            let (to, route) = routes::applied(rule, handed_on);
            (handoff.to, handoff.route) = (to, Some(route));
        }
        Ok(())
    }

    /// The handoffs of the session that this one supersedes.
    fn versions(&self, session: &SessionId, handoff: &Handoff) -> BTreeSet<Id> {
        let is_same =
            |earlier: &Handoff| handoff.kind == earlier.kind && earlier.stage(session) == handoff.stage(session);
        self.own.iter().filter(|(_, earlier)| is_same(earlier)).map(|(id, _)| id.clone()).collect()
    }
}

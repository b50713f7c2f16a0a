//! The stage of a task that a handoff ends: what its session took up, and who gets it next.

use crate::context::handoffs::ListedHandoff;
use crate::context::tasks::routes;
use crate::context::tasks::routes::Choice;
use crate::context::{CommandContext, WorkingSession, tasks};
use crate::fold::task::chain::chain;
use crate::fold::task::claims::Receipts;
use crate::use_cases::handoff::managed::HandoffType;
use empirica_notes::error::Result;
use empirica_notes::model::{Accept, Body, Handoff, Id, Record, SessionId};
use empirica_notes::store::Scan;

/// A handoff that a session took up.
#[derive(Debug)]
struct Taken {
    id: Id,
    task_id: String,
    title: String,
    /// Its acknowledgement; `None` if the handoff that answers it claims it.
    claim: Option<Id>,
    /// The session that handed over.
    from: Option<SessionId>,
}

/// What a session hands over: a stage of a task, or its own work.
#[derive(Debug, Default)]
pub struct Stage {
    /// The handoff to a receiver that the session took up last.
    taken: Option<Taken>,
    /// The session's epistemic handoffs, each with its task and what it continues.
    own: Vec<(Id, Handoff)>,
    /// Whether another session owns what this one claimed, so that the task goes on without it.
    is_lost: bool,
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

/// Whether a session gave up a handoff at its end.
fn gives_up(record: &Record, session: &SessionId, id: &Id) -> bool {
    let is_own = record.envelope.session.as_ref() == Some(session);
    matches!(&record.body, Body::Accept(accept) if is_own && accept.released && accept.of == *id)
}

impl Stage {
    /// The stage of a session, or that of the task if one is named.
    pub fn of(context: &CommandContext<'_>, session: &WorkingSession, own: &Scan, task: Option<&str>) -> Result<Self> {
        let mut stage = Stage { own: epistemic(own, &session.id), ..Stage::default() };
        stage.taken = stage.last_taken(context, session, own, task)?;
        if let Some(answered) = stage.answered(context, session, task)? {
            stage.taken = Some(answered);
        }
        if let Some(task) = task.filter(|_| stage.taken.is_none() && !stage.is_lost) {
            stage.find_owner(context, session, task)?;
        }
        Ok(stage)
    }

    /// Warns if another session of the agent owns its part of the task.
    fn find_owner(&mut self, context: &CommandContext<'_>, session: &WorkingSession, task: &str) -> Result<()> {
        let Some(state) = tasks::state(context, task)? else { return Ok(()) };
        let links = chain(&state, context.store.now());
        let open = links.iter().rev().filter(|link| link.is_open && link.to == Some(session.ai.as_str()));
        let of_another = open.filter_map(|link| Some((&link.envelope.id, link.owner?)));
        if let Some((id, owner)) = of_another.into_iter().find(|(_, owner)| owner.session() != Some(&session.id)) {
            let owned = tasks::inbox::owned(id, owner.envelope);
            self.warnings.push(format!("the handoff does not continue the task '{task}': {owned}"));
            self.is_lost = true;
        }
        Ok(())
    }

    /// The handoff to a receiver that the session took up last and that is its own, of this task if one is given. A warning tells of
    /// one that another session took up first.
    fn last_taken(
        &mut self,
        context: &CommandContext<'_>,
        WorkingSession { id: session, ai, .. }: &WorkingSession,
        own: &Scan,
        task: Option<&str>,
    ) -> Result<Option<Taken>> {
        let mut accepted: Vec<(&Id, &Id)> = Vec::new();
        for Record { envelope, body } in own.records().rev() {
            let Body::Accept(accept) = body else { continue };
            match accepted.iter_mut().find(|(of, _)| **of == accept.of) {
                _ if envelope.session.as_ref() != Some(session) => {}
                // the first one counts
                Some((_, claim)) => *claim = &envelope.id,
                None => accepted.push((&accept.of, &envelope.id)),
            }
        }
        if accepted.is_empty() {
            return Ok(None);
        }
        let found = context.index()?.ids(accepted.iter().map(|(of, _)| *of))?;
        for (id, claim) in accepted {
            let Some(Record { envelope, body: Body::Handoff(handoff) }) = found.get(id).map(|entry| &entry.record)
            else {
                continue;
            };
            let is_addressed = handoff.to.is_some() || handoff.route.is_some();
            let is_received = is_addressed && envelope.session.as_ref() != Some(session);
            let of = handoff.task_id.as_ref().filter(|of| is_received && task.is_none_or(|task| task == *of));
            let Some(of) = of else { continue };
            let receipts = tasks::receipts(context, id, handoff)?;
            let claims = receipts.records().collect::<Receipts<'_>>().of(id);
            let Some(owner) = claims.owner else {
                if self.warnings.is_empty() && own.records().any(|record| gives_up(record, session, id)) {
                    let given_up = format!("the session gave up handoff {} when it ended", id.short());
                    self.warnings
                        .push(format!("the handoff does not continue the task '{of}': {given_up}; accept it again"));
                }
                continue;
            };
            if owner.session() == Some(session) {
                let (claim, from) = (Some(claim.clone()), envelope.session.clone());
                return Ok(Some(Taken {
                    id: id.clone(),
                    task_id: of.clone(),
                    title: handoff.task.clone(),
                    claim,
                    from,
                }));
            }
            // what another agent acknowledged was a comment
            if claims.to == Some(ai.as_str()) || claims.rivals.iter().any(|rival| rival.session() == Some(session)) {
                let owned = tasks::inbox::owned(id, owner.envelope);
                self.warnings.push(format!("the handoff does not continue the task '{of}': {owned}"));
                self.is_lost = true;
            }
        }
        Ok(None)
    }

    /// The newest handoff that waits for the agent and that this session answers without having accepted it: one of the task, unless it
    /// took up another, or one that continues its own.
    fn answered(
        &self,
        context: &CommandContext<'_>,
        session: &WorkingSession,
        task: Option<&str>,
    ) -> Result<Option<Taken>> {
        let waiting = tasks::inbox::waiting(context, &session.ai, Some(&session.id))?;
        let own: Vec<&Id> = self.own.iter().map(|(id, _)| id).collect();
        let answers = |listed: &ListedHandoff| {
            let of = listed.handoff.task_id.as_deref();
            let is_of_task = task.is_none_or(|task| of == Some(task));
            let continues_own = listed.handoff.continues.as_ref().is_some_and(|id| own.contains(&id));
            of.is_some() && is_of_task && (continues_own || self.taken.is_none() && task.is_some())
        };
        let newest = waiting.into_iter().rev().find(answers);
        Ok(newest.and_then(|ListedHandoff { envelope, handoff }| {
            let (id, from) = (envelope.id, envelope.session);
            Some(Taken { id, task_id: handoff.task_id?, title: handoff.task, claim: None, from })
        }))
    }

    /// What claims the handoff that is answered without having been accepted.
    pub fn claim(&self) -> Option<Body> {
        let taken = self.taken.as_ref().filter(|taken| taken.claim.is_none())?;
        let concerns = taken.from.clone().into_iter().collect();
        Some(Body::Accept(Accept { concerns, ..Accept::new(taken.id.clone()) }))
    }

    /// Whether it continues a task that the session took up.
    pub fn continues(&self) -> bool {
        self.taken.is_some()
    }

    /// The session's newest handoff of another stage before it claimed what it continues; `None` if it continues nothing, as the
    /// session's own work includes that of its stages.
    pub fn previous(&self, task: Option<&str>) -> Option<PreviousHandoff> {
        let taken = self.taken.as_ref()?;
        let is_before = |(id, handoff): &&(Id, Handoff)| {
            let of = handoff.task_id.as_deref();
            let is_same = handoff.continues.as_ref() == Some(&taken.id) && of == task.or(Some(&taken.task_id));
            taken.claim.as_ref().is_none_or(|claim| id < claim) && !is_same
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
        if let Some(Taken { id, task_id, title, .. }) = &self.taken {
            handoff.task_id.get_or_insert_with(|| task_id.clone());
            handoff.continues = Some(id.clone());
            if handoff.task.is_empty() {
                handoff.task.clone_from(title);
            }
        }
        if handoff.to.is_none()
            && !(self.is_lost && self.taken.is_none())
            && let Err(error) = self.route(context, session, handoff)
        {
            self.warnings.push(format!("the handoff has no receiver: {}", error.in_one_line()));
        }
        if handoff.task_id.is_none() && (handoff.to.is_some() || handoff.route.is_some()) {
            handoff.task_id = Some(session.id.short().to_owned());
        }
        Ok(())
    }

    fn route(&mut self, context: &CommandContext<'_>, session: &WorkingSession, handoff: &mut Handoff) -> Result<()> {
        let Some(file) = routes::read(context, &HandoffType::ALL.map(HandoffType::name))? else { return Ok(()) };
        routes::usable(&file)?;
        let task = handoff.task_id.as_deref().map(|task| tasks::state(context, task)).transpose()?.flatten();
        match routes::choose(&file.rules, handoff, &session.ai, Some(&session.id), task.as_ref()) {
            Choice::Rule { to, route, .. } => (handoff.to, handoff.route) = (to, Some(route)),
            Choice::NoRule => {}
            Choice::Escalated => {
                let task = handoff.task_id.as_deref().unwrap_or_default();
                self.warnings.push(format!(
                    "the handoff has no receiver: the task '{task}' is escalated and waits for a person"
                ));
            }
        }
        Ok(())
    }
}

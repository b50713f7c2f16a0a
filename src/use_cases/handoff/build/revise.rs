//! Revises a handoff with the questions, gaps and answers that arrived since, and with new input.

use std::collections::BTreeSet;

use crate::context::{CommandContext, WorkingSession};
use crate::use_cases::handoff::managed::{
    CheckedHandoff, HandoffType, ManagedInput, payload, prepare as check_document,
};
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::handoff::receive::accept::ReceivedHandoff;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::Oid;
use empirica_notes::model::handoff::CONTEXT;
use empirica_notes::model::handoff::{Clarification, ReportedGap};
use empirica_notes::model::{Body, Envelope, Handoff, Record};

/// Most earlier versions whose questions and gaps are included.
const MAX_VERSIONS: usize = 100;

#[derive(Debug)]
pub struct Revision {
    pub envelope: Envelope,
    /// Its session, which also gets the new one.
    pub session: WorkingSession,
    /// Its commits.
    pub on: BTreeSet<Oid>,
    handoff: Handoff,
    /// Replies to it and its earlier versions, oldest first.
    received: Vec<ReceivedHandoff>,
}

/// The handoff of that name, which must be in force and belong to a session.
pub fn prepare(context: &CommandContext<'_>, name: &str) -> Result<Revision> {
    let Record { envelope, body: Body::Handoff(handoff) } = accept::named(context, name)? else {
        return Err(Error::unstored());
    };
    let short = envelope.id.short();
    if let Some(newer) = accept::newer(context, &envelope.id, envelope.session.as_ref())? {
        return Err(Error::refused(format!("cannot revise handoff {short}: it is superseded"))
            .provided(name)
            .reason("receivers ask about the one in force")
            .suggest("Revise that one.")
            .command(empirica("handoff").option("--regenerate", newer)));
    }
    let Some(session) = envelope.session.clone() else {
        return Err(Error::refused(format!("cannot revise handoff {short}: it belongs to no session"))
            .reason("there is no journal to compose it from")
            .suggest("Hand over from a session of your own.")
            .command(empirica("handoff")));
    };
    // the author is the working agent, the session that of the work
    let author = context.working().map_or_else(|_| context.author(Some(&envelope.ai)), |session| session.ai);
    let session = WorkingSession { id: session, ai: author, note: None };
    let index = context.index()?;
    let on = index.ids([&envelope.id])?.entries().flat_map(|entry| entry.on.iter().copied()).collect();
    let mut received = vec![accept::received_handoff(context, &envelope.id)?];
    let mut earlier = handoff.regenerates.clone();
    while let Some(id) = earlier.filter(|_| received.len() < MAX_VERSIONS) {
        received.push(accept::received_handoff(context, &id)?);
        earlier = index.ids([&id])?.get(&id).and_then(|entry| match &entry.record.body {
            Body::Handoff(earlier) => earlier.regenerates.clone(),
            _ => None,
        });
    }
    received.reverse();
    Ok(Revision { envelope, session, on, handoff: *handoff, received })
}

impl Revision {
    /// Its payload, overlaid with the input.
    pub fn managed(&self, context: &CommandContext<'_>, input: &mut ManagedInput) -> Result<CheckedHandoff> {
        let (own, short) = (self.handoff.kind.as_str(), self.envelope.id.short());
        if let Some(other) = input.kind.filter(|kind| *kind != own) {
            return Err(Error::usage(format!("cannot change the type of handoff {short}: it is {own}"))
                .provided(other)
                .reason("a revised handoff keeps its type")
                .suggest("Leave --type out."));
        }
        if let Some(other) = input.task_id.as_deref().filter(|id| self.handoff.task_id.as_deref() != Some(id)) {
            return Err(Error::usage(format!("cannot change the task of handoff {short}"))
                .provided(other)
                .reason("a revised handoff keeps its task")
                .suggest("Leave --task-id out."));
        }
        input.to = input.to.take().or_else(|| self.handoff.to.clone());
        input.task_id = self.handoff.task_id.clone();
        // the context of a session is recomputed
        let mut base = payload::document(&self.handoff, "").filter(|_| own != CONTEXT);
        base.iter_mut().for_each(|base| drop(base.shift_remove("timestamp")));
        input.base = base.map(serde_json::Value::Object);
        input.kind = input.kind.or_else(|| HandoffType::parse(own).map(HandoffType::name));
        input.revises = Some(self.envelope.id.clone());
        check_document(context, input)
    }

    /// Adds the questions, answers and gaps of its receivers.
    pub fn put_in(&self, handoff: &mut Handoff) {
        handoff.regenerates = Some(self.envelope.id.clone());
        handoff.continues = self.handoff.continues.clone();
        if handoff.to == self.handoff.to {
            handoff.route = self.handoff.route.clone();
        }
        // earlier ones stay where their records are unavailable
        handoff.clarifications = self.handoff.clarifications.clone();
        for question in self.received.iter().flat_map(|received| &received.questions) {
            let (text, asked_by) = (&question.text, &question.envelope.ai);
            let answer = question.answer.as_ref().map(|(_, text)| text.clone());
            match handoff.clarifications.iter_mut().find(|one| one.question == *text && one.asked_by == *asked_by) {
                Some(earlier) => earlier.answer = answer.or_else(|| earlier.answer.take()),
                None => handoff.clarifications.push(Clarification {
                    question: text.clone(),
                    asked_by: asked_by.clone(),
                    answer,
                }),
            }
        }
        handoff.missed = self.handoff.missed.clone();
        for (envelope, accept) in self.received.iter().flat_map(|received| &received.accepts) {
            for gap in &accept.gaps {
                let missed = ReportedGap { gap: gap.clone(), reported_by: envelope.ai.clone() };
                if !handoff.missed.contains(&missed) {
                    handoff.missed.push(missed);
                }
            }
        }
        if handoff.task.is_empty() {
            handoff.task = self.handoff.task.clone();
        }
    }

    /// The open questions, a warning each.
    pub fn warnings(&self) -> Vec<String> {
        let questions = self.received.iter().flat_map(|received| &received.questions);
        let open = questions.filter(|question| question.answer.is_none());
        open.map(|question| format!("question {} has no answer: {}", question.name(), question.text)).collect()
    }
}

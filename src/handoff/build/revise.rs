//! A handoff rewritten: what it said, what its receivers asked and missed since, and what is said otherwise now.

use std::collections::BTreeSet;

use crate::context::{CommandContext, WorkingSession};
use crate::handoff::managed;
use crate::handoff::managed::CheckedHandoff;
use crate::handoff::managed::formats;
use crate::handoff::managed::payload;
use crate::handoff::receive::accept;
use crate::handoff::receive::accept::ReceivedHandoff;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::Oid;
use empirica_notes::model::handoff::CONTEXT;
use empirica_notes::model::handoff::{Clarification, Missed};
use empirica_notes::model::{Body, Envelope, Handoff, Record};

/// How often a handoff can be rewritten with all that was asked from the beginning.
const LONGEST: usize = 100;

/// A handoff that is to be rewritten.
#[derive(Debug)]
pub struct Revision {
    /// Its envelope.
    pub head: Envelope,
    /// Its session, in which the new one is written: it is that session's work that is handed over.
    pub who: WorkingSession,
    /// Where it stands.
    pub on: BTreeSet<Oid>,
    handoff: Handoff,
    /// What receivers said of it, and of those it was rewritten for.
    received: Vec<ReceivedHandoff>,
}

/// The handoff of that name, which must be in force and of a session.
pub fn prepared(context: &CommandContext<'_>, given: &str) -> Result<Revision> {
    let Record { head, body: Body::Handoff(handoff) } = accept::named(context, given)? else {
        return Err(Error::unstored());
    };
    if let Some(newer) = accept::newer(context, &head.id, head.session.as_ref())? {
        return Err(Error::refused(format!("cannot rewrite handoff {}: it is superseded", head.id.short()))
            .provided(given)
            .reason("what receivers ask is about the one that is in force")
            .suggest("Rewrite that one.")
            .command(empirica("handoff").option("--regenerate", newer)));
    }
    let Some(session) = head.session.clone() else {
        return Err(Error::refused(format!("the handoff {} belongs to no session", head.id.short()))
            .reason("there is no journal to rewrite it from")
            .suggest("Hand over from a session of your own.")
            .command(empirica("handoff")));
    };
    // who writes it says so; the session is that of the work
    let writer = context.working().map_or_else(|_| context.author(Some(&head.ai)), |who| who.ai);
    let who = WorkingSession { id: session, ai: writer, note: None };
    let on = context.index()?.ids([&head.id])?.entries().flat_map(|entry| entry.on.iter().copied()).collect();
    let mut received = vec![accept::of(context, &head.id)?];
    let mut before = handoff.regenerates.clone();
    while let Some(id) = before.filter(|_| received.len() < LONGEST) {
        received.push(accept::of(context, &id)?);
        let found = context.index()?.ids([&id])?;
        before = found.get(&id).and_then(|entry| match &entry.record.body {
            Body::Handoff(older) => older.regenerates.clone(),
            _ => None,
        });
    }
    received.reverse();
    Ok(Revision { head, who, on, handoff: *handoff, received })
}

impl Revision {
    /// What it says for its type: what it said, and what is said otherwise now.
    pub fn managed(&self, context: &CommandContext<'_>, asked: &mut managed::ManagedInput) -> Result<CheckedHandoff> {
        let own = self.handoff.kind.as_str();
        if let Some(other) = asked.kind.filter(|kind| *kind != own) {
            return Err(Error::usage(format!("the handoff {} is of the type {own}", self.head.id.short()))
                .provided(other)
                .reason("rewritten, a handoff keeps its type")
                .suggest("Leave --type out."));
        }
        if let Some(other) = asked.task_id.as_deref().filter(|id| self.handoff.task_id.as_deref() != Some(id)) {
            return Err(Error::usage(format!("the handoff {} is of another task", self.head.id.short()))
                .provided(other)
                .reason("rewritten, a handoff keeps its task")
                .suggest("Leave --task-id out."));
        }
        asked.to = asked.to.take().or_else(|| self.handoff.to.clone());
        asked.task_id = self.handoff.task_id.clone();
        let mut base = payload::document(&self.handoff, "");
        // it is written now
        base.iter_mut().for_each(|base| drop(base.shift_remove("timestamp")));
        // the context of a session is computed again
        asked.base = base.filter(|_| own != CONTEXT).map(serde_json::Value::Object);
        asked.kind = asked.kind.or_else(|| formats::named(own).map(|format| format.name));
        asked.again = Some(self.head.id.clone());
        managed::prepared(context, asked)
    }

    /// Puts in what was asked and missed, with what the handoff had taken up itself.
    pub fn put_in(&self, handoff: &mut Handoff) {
        handoff.regenerates = Some(self.head.id.clone());
        // what is known of it by itself, where the records of who asked are not here
        handoff.clarifications = self.handoff.clarifications.clone();
        for question in self.received.iter().flat_map(|received| &received.questions) {
            let (text, asked_by) = (&question.text, &question.asked.ai);
            let answer = question.answer.as_ref().map(|(_, text)| text.clone());
            match handoff.clarifications.iter_mut().find(|one| one.question == *text && one.asked_by == *asked_by) {
                Some(known) => known.answer = answer.or_else(|| known.answer.take()),
                None => handoff.clarifications.push(Clarification {
                    question: text.clone(),
                    asked_by: asked_by.clone(),
                    answer,
                }),
            }
        }
        handoff.missed = self.handoff.missed.clone();
        for (head, accept) in self.received.iter().flat_map(|received| &received.accepts) {
            for gap in &accept.gaps {
                let missed = Missed { gap: gap.clone(), reported_by: head.ai.clone() };
                if !handoff.missed.contains(&missed) {
                    handoff.missed.push(missed);
                }
            }
        }
        if handoff.task.is_empty() {
            handoff.task = self.handoff.task.clone();
        }
    }

    /// What is still to be answered.
    pub fn warnings(&self) -> Vec<String> {
        let asked = self.received.iter().flat_map(|received| &received.questions);
        let open = asked.filter(|question| question.answer.is_none());
        let tell = |name: String, text: &str| format!("nobody has answered {name}: {text}");
        open.map(|question| tell(question.name(), &question.text)).collect()
    }
}

//! Where a task stands: the handoffs of one task id and what their receivers said, folded.

use std::collections::BTreeSet;

use super::task;
use crate::model::accept::Answer;
use crate::model::{Accept, Body, Handoff, Head, Id, Record, Verdict};

/// What somebody did for the task.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// It was handed over; `true` when a newer handoff took the place of this one.
    Handoff(Box<Handoff>, bool),
    /// A handoff was taken up.
    Accept(Accept),
    /// A question was answered.
    Answer(Answer),
}

/// Something that happened to the task, and who did it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Who, when, in which session.
    pub head: Head,
    /// What.
    pub deed: Deed,
}

impl Step {
    /// The decision it states: a report's, an acknowledgement's; an escalation is one.
    pub fn decision(&self) -> Option<Verdict> {
        match &self.deed {
            Deed::Handoff(handoff, _) if handoff.kind == "escalation" => Some(Verdict::Escalate),
            Deed::Handoff(handoff, _) => task::text(handoff, "/manager_decision").and_then(Verdict::parse),
            Deed::Accept(accept) => accept.decision,
            Deed::Answer(_) => None,
        }
    }
}

/// Whether work on the task can go on (dual-agent handoff mechanisms, "Human Handoff").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It can.
    Open,
    /// A person must resolve it first.
    Escalated,
    /// It is done.
    Complete,
}

impl Status {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Escalated => "escalated",
            Status::Complete => "complete",
        }
    }
}

/// A question of a receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The acknowledgement that asks it, with its envelope.
    pub asked: Head,
    /// The handoff it is about.
    pub handoff: Id,
    /// Which of the acknowledgement's, from 1.
    pub number: u32,
    /// The question.
    pub text: String,
    /// The newest answer, with its envelope.
    pub answer: Option<(Head, String)>,
}

impl Question {
    /// How it is named: the short form of the acknowledgement's id, a stop, its number.
    pub fn name(&self) -> String {
        format!("{}.{}", self.asked.id.short(), self.number)
    }
}

/// The questions that receivers ask in these records, oldest first, each with its newest answer among them.
pub fn questions<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Question> {
    let mut out: Vec<Question> = Vec::new();
    for record in records {
        match &record.body {
            Body::Accept(accept) => out.extend((1..).zip(&accept.questions).map(|(number, text)| Question {
                asked: record.head.clone(),
                handoff: accept.of.clone(),
                number,
                text: text.clone(),
                answer: None,
            })),
            Body::Answer(answer) => {
                let of =
                    |question: &&mut Question| question.asked.id == answer.of && question.number == answer.question;
                if let Some(question) = out.iter_mut().find(of) {
                    question.answer = Some((record.head.clone(), answer.text.clone()));
                }
            }
            _ => {}
        }
    }
    out
}

/// A task as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Whether work can go on.
    pub status: Status,
    /// What it is about: what its first handoff that says so says; possibly nothing.
    pub title: String,
    /// The round that was reported last; 0 before the first.
    pub round: u64,
    /// The step that decided last.
    pub decided: Option<usize>,
    /// The step that escalated it; only while it is escalated.
    pub escalated: Option<usize>,
    /// The files its reports and handoffs name, each once.
    pub files: Vec<String>,
    /// What its receivers asked.
    pub questions: Vec<Question>,
    /// What happened, oldest first.
    pub steps: Vec<Step>,
}

impl Standing {
    /// The questions nobody has answered.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.answer.is_none())
    }

    /// The handoffs that count, oldest first.
    pub fn chain(&self) -> Vec<&Handoff> {
        in_force(&self.steps).collect()
    }

    /// Whether an escalation stands that a person was given: else only a decision says that there should be one.
    pub fn is_with_a_person(&self) -> bool {
        let step = self.escalated.and_then(|at| self.steps.get(at));
        step.is_some_and(|step| matches!(step.deed, Deed::Handoff(..)) && is_kind(step, "escalation"))
    }

    /// Whom the task waits for: the receiver of its newest handoff, when that was named.
    pub fn waits_for(&self) -> Option<&str> {
        let newest = self.steps.iter().rev().find_map(|step| match &step.deed {
            Deed::Handoff(handoff, false) => Some(handoff),
            _ => None,
        });
        newest?.to.as_deref().filter(|_| self.status != Status::Complete)
    }
}

fn is_kind(step: &Step, kind: &str) -> bool {
    matches!(&step.deed, Deed::Handoff(handoff, _) if handoff.kind == kind)
}

fn in_force(steps: &[Step]) -> impl Iterator<Item = &Handoff> {
    steps.iter().filter_map(|step| match &step.deed {
        Deed::Handoff(handoff, false) => Some(handoff.as_ref()),
        _ => None,
    })
}

/// Folds the handoffs of a task, and the acknowledgements and answers about them, given in order of id. `aside` has those
/// handoffs that a newer one took the place of: they are told and do not count.
///
/// A COMPLETE ends the task until a handoff of the protocol or another decision opens it again. An escalation, or the
/// decision to escalate, holds it up until a resolution.
pub fn standing(records: &[&Record], aside: &BTreeSet<Id>) -> Standing {
    let deed = |record: &Record| match &record.body {
        Body::Handoff(handoff) => Some(Deed::Handoff(handoff.clone(), aside.contains(&record.head.id))),
        Body::Accept(accept) => Some(Deed::Accept(accept.clone())),
        Body::Answer(answer) => Some(Deed::Answer(answer.clone())),
        _ => None,
    };
    let step = |record: &Record| Some(Step { head: record.head.clone(), deed: deed(record)? });
    let steps: Vec<Step> = records.iter().copied().filter_map(step).collect();
    let (mut status, mut decided, mut escalated) = (Status::Open, None, None);
    for (at, step) in steps.iter().enumerate() {
        if matches!(step.deed, Deed::Handoff(_, true)) {
            continue;
        }
        let decision = step.decision();
        decided = decision.map(|_| at).or(decided);
        let resolves = matches!(&step.deed, Deed::Accept(accept) if accept.resolution.is_some());
        let works = ["initialization", "progress", "error_recovery"].iter().any(|kind| is_kind(step, kind));
        if resolves {
            (status, escalated) = (Status::Open, None);
        }
        status = match (status, decision) {
            (_, Some(Verdict::Escalate)) => {
                // the escalation itself tells more than the decision before it
                escalated = escalated.filter(|_| !is_kind(step, "escalation")).or(Some(at));
                Status::Escalated
            }
            (Status::Escalated, _) => Status::Escalated,
            (_, Some(Verdict::Complete)) => Status::Complete,
            (_, Some(_)) => Status::Open,
            (Status::Complete, None) if !works => Status::Complete,
            (_, None) => Status::Open,
        };
    }
    let chain: Vec<&Handoff> = in_force(&steps).collect();
    let title = chain.iter().find_map(|handoff| task::title(handoff));
    let named = || chain.iter().map(|handoff| handoff.task.clone()).find(|task| !task.is_empty());
    Standing {
        status,
        title: title.or_else(named).unwrap_or_default(),
        round: task::next_round(&chain).saturating_sub(1),
        decided,
        escalated,
        files: task::files(&chain),
        questions: questions(records.iter().copied()),
        steps,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::epistemics::payload;
    use crate::model::formats;

    fn head(number: u64) -> Head {
        let id = Id::parse(&format!("01900000-0000-7000-8000-{number:012}")).unwrap();
        Head { v: 1, id, session: None, ai: format!("ai{number}"), at: String::new(), commit: None, tree: None }
    }

    fn handoff(number: u64, kind: &str, more: serde_json::Value) -> Record {
        let mut given = json!({"handoff_type": kind, "task_id": "t"});
        given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut handoff = Handoff::default();
        payload::put_in(formats::named(kind).unwrap(), &given, &mut handoff);
        Record { head: head(number), body: Body::Handoff(Box::new(handoff)) }
    }

    fn report(number: u64, decision: Option<&str>) -> Record {
        let mut said = json!({"iteration": number, "worker_report": {"status": "PARTIAL"}});
        if let Some(decision) = decision {
            said["manager_decision"] = json!(decision);
        }
        handoff(number, "progress", said)
    }

    fn accept(number: u64, of: u64, decision: Option<Verdict>, resolution: Option<&str>) -> Record {
        let body = Accept {
            of: head(of).id,
            concerns: Vec::new(),
            understanding: None,
            decision,
            instructions: None,
            questions: vec!["which?".into(), "when?".into()],
            gaps: Vec::new(),
            resolution: resolution.map(str::to_owned),
        };
        Record { head: head(number), body: Body::Accept(body) }
    }

    fn status(records: &[Record]) -> (Status, Option<usize>) {
        let standing = standing(&records.iter().collect::<Vec<_>>(), &BTreeSet::new());
        (standing.status, standing.escalated)
    }

    #[test]
    fn decisions_complete_and_open_a_task() {
        let (one, done) = (report(1, None), report(2, Some("COMPLETE")));
        assert_eq!(status(std::slice::from_ref(&one)), (Status::Open, None));
        assert_eq!(status(&[one.clone(), done.clone()]), (Status::Complete, None));
        let plain = Record { head: head(3), body: Body::Handoff(Box::default()) };
        assert_eq!(
            status(&[one.clone(), done.clone(), plain]),
            (Status::Complete, None),
            "it says nothing of the task"
        );
        assert_eq!(status(&[one.clone(), done.clone(), report(3, None)]), (Status::Open, None));
        let refined = accept(3, 2, Some(Verdict::Refine), None);
        assert_eq!(status(&[one.clone(), done, refined]), (Status::Open, None));
        assert_eq!(status(&[one, accept(2, 1, Some(Verdict::Complete), None)]), (Status::Complete, None));
    }

    #[test]
    fn only_a_resolution_ends_an_escalation() {
        let (decided, escalation) = (report(1, Some("ESCALATE")), handoff(2, "escalation", json!({})));
        assert_eq!(status(std::slice::from_ref(&decided)), (Status::Escalated, Some(0)));
        let both = [decided, escalation];
        assert_eq!(status(&both), (Status::Escalated, Some(1)), "the escalation is what tells it");
        assert!(standing(&both.iter().collect::<Vec<_>>(), &BTreeSet::new()).is_with_a_person());
        let with = |more: Record| status(&[both[0].clone(), both[1].clone(), more]);
        assert_eq!(with(report(3, Some("COMPLETE"))).0, Status::Escalated);
        assert_eq!(with(accept(3, 2, Some(Verdict::Continue), None)).0, Status::Escalated);
        assert_eq!(with(accept(3, 2, None, Some("a key was bought"))), (Status::Open, None));
        assert_eq!(with(accept(3, 2, Some(Verdict::Complete), Some("x"))).0, Status::Complete);
        assert_eq!(with(accept(3, 2, Some(Verdict::Escalate), Some("x"))).0, Status::Escalated);
        // one that a newer took the place of does not count
        let aside = BTreeSet::from([head(1).id, head(2).id]);
        assert_eq!(standing(&both.iter().collect::<Vec<_>>(), &aside).status, Status::Open);
    }

    #[test]
    fn questions_have_their_newest_answer() {
        let answer = |number: u64, question: u32, text: &str| {
            let body = Answer { of: head(2).id, question, text: text.into(), concerns: Vec::new() };
            Record { head: head(number), body: Body::Answer(body) }
        };
        let all = [
            report(1, None),
            accept(2, 1, None, None),
            answer(3, 2, "soon"),
            answer(4, 2, "now"),
            answer(5, 7, "what?"),
        ];
        let standing = standing(&all.iter().collect::<Vec<_>>(), &BTreeSet::new());
        let told: Vec<_> = standing.questions.iter().map(|q| (q.name(), q.answer.as_ref().map(|a| &*a.1))).collect();
        assert_eq!(told, [("00000002.1".to_owned(), None), ("00000002.2".to_owned(), Some("now"))]);
        assert_eq!(standing.open_questions().count(), 1);
        assert_eq!((standing.round, standing.steps.len()), (1, 5));
    }
}

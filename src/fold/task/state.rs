//! State of a task, folded from its handoffs and what their receivers answered.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::fold::task::handoffs;
use crate::fold::task::questions::{Question, questions};
use empirica_notes::model::handoff::accept::Answer;
use empirica_notes::model::{Accept, Body, Envelope, Handoff, Id, Record, Verdict};

#[derive(Debug, Clone, PartialEq)]
pub enum TaskAction {
    /// A handoff; `true` if superseded.
    Handoff(Box<Handoff>, bool),
    Accept(Accept),
    Answer(Answer),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TaskEvent {
    /// Author, time and session.
    pub envelope: Envelope,
    pub action: TaskAction,
}

impl TaskEvent {
    /// Its decision: of a report or an acknowledgement; an escalation is one, and so is a handoff beyond the rounds of its rule.
    pub fn decision(&self) -> Option<Verdict> {
        let is_escalated = |handoff: &Handoff| {
            handoff.kind == "escalation" || handoff.route.as_ref().is_some_and(|route| route.escalated)
        };
        match &self.action {
            TaskAction::Handoff(handoff, _) if is_escalated(handoff) => Some(Verdict::Escalate),
            TaskAction::Handoff(handoff, _) => handoffs::text(handoff, "/manager_decision").and_then(Verdict::parse),
            TaskAction::Accept(accept) => accept.decision,
            TaskAction::Answer(_) => None,
        }
    }
}

empirica_notes::named_enum! {
    /// Whether work can continue; an escalated task waits for a person.
    pub enum TaskStatus {
        /// Work can continue.
        Open = "open",
        /// A person must decide first.
        Escalated = "escalated",
        /// It is done.
    Complete = "complete",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TaskState {
    /// Whether work can continue.
    pub status: TaskStatus,
    /// Its title, from the first handoff with one; may be empty.
    pub title: String,
    /// The round that was reported last; 0 before the first.
    pub round: u64,
    /// The step with the last decision.
    pub decided: Option<usize>,
    /// Unresolved escalating steps, most important first: escalations before decisions, then newest first.
    pub escalated: Vec<usize>,
    /// Distinct files of its reports and handoffs.
    pub files: Vec<String>,
    pub questions: Vec<Question>,
    /// Events, oldest first.
    pub steps: Vec<TaskEvent>,
    /// Indexes of steps in effective order: a revised handoff replaces the original, and a step that refers
    /// to another follows it, whatever their clocks.
    pub order: Vec<usize>,
}

impl TaskState {
    /// Questions without an answer.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|question| question.answer.is_none())
    }

    /// Handoffs in force, oldest first.
    pub fn chain(&self) -> Vec<&Handoff> {
        self.chain_without(None)
    }

    /// Same, without the one being revised.
    pub fn chain_without(&self, id: Option<&Id>) -> Vec<&Handoff> {
        let step = |at: &usize| match &self.steps[*at] {
            TaskEvent { envelope, action: TaskAction::Handoff(handoff, false) } if Some(&envelope.id) != id => {
                Some(handoff.as_ref())
            }
            _ => None,
        };
        self.order.iter().filter_map(step).collect()
    }

    /// Steps in effective order.
    pub fn in_order(&self) -> impl Iterator<Item = &TaskEvent> {
        self.order.iter().map(|at| &self.steps[*at])
    }

    /// The most important escalating step.
    pub fn escalation(&self) -> Option<&TaskEvent> {
        self.escalated.first().map(|at| &self.steps[*at])
    }

    /// Whether a resolution of this handoff would settle an escalation.
    pub fn is_resolved_by<'s>(&'s self, handoff: &'s Id) -> bool {
        let roots = Roots::new(&self.steps);
        let named = roots.of(handoff);
        self.escalated.iter().any(|at| {
            let step = &self.steps[*at];
            let of = match &step.action {
                TaskAction::Accept(accept) => &accept.of,
                _ => &step.envelope.id,
            };
            roots.of(of) == named
        })
    }

    /// Whether a person was given an escalation, as opposed to a decision to escalate.
    pub fn is_with_a_person(&self) -> bool {
        self.escalation().is_some_and(|step| is_kind(step, "escalation"))
    }

    /// The receiver of the newest handoff in force, if named and the task is not complete; of one that a rule escalated and a person
    /// resolved, whom it goes to then.
    pub fn waits_for(&self) -> Option<&str> {
        let (id, newest) = self.steps.iter().rev().find_map(|step| match &step.action {
            TaskAction::Handoff(handoff, false) => Some((&step.envelope.id, handoff)),
            _ => None,
        })?;
        let is_resolved = || {
            let roots = Roots::new(&self.steps);
            let mut resolved = self.steps.iter().filter_map(|step| match &step.action {
                TaskAction::Accept(Accept { of, resolution: Some(_), .. }) => Some(of),
                _ => None,
            });
            resolved.any(|of| roots.of(of) == roots.of(id))
        };
        let to = match &newest.route {
            Some(route) if route.escalated && is_resolved() => &route.then,
            _ => &newest.to,
        };
        to.as_deref().filter(|_| self.status != TaskStatus::Complete)
    }
}

/// Whether it hands the task to a named receiver.
fn is_for_another(step: &TaskEvent) -> bool {
    matches!(&step.action, TaskAction::Handoff(handoff, _) if handoff.kind == "epistemic" && handoff.to.is_some())
}

fn is_routed(step: &TaskEvent) -> bool {
    matches!(&step.action, TaskAction::Handoff(handoff, _) if handoff.route.is_some())
}

fn is_kind(step: &TaskEvent, kind: &str) -> bool {
    matches!(&step.action, TaskAction::Handoff(handoff, _) if handoff.kind == kind)
}

/// Effective order: by the ID of the step replaced or referred to, then by their own.
fn order(steps: &[TaskEvent]) -> Vec<usize> {
    let at_of: BTreeMap<&Id, usize> = steps.iter().enumerate().map(|(at, step)| (&step.envelope.id, at)).collect();
    let mut keys: Vec<(&Id, &Id)> = steps.iter().map(|step| (&step.envelope.id, &step.envelope.id)).collect();
    // longest possible chain of references
    for _ in 0..steps.len().min(64) {
        let mut changed = false;
        for (at, step) in steps.iter().enumerate() {
            let key = match &step.action {
                TaskAction::Handoff(handoff, _) => {
                    handoff.regenerates.as_ref().and_then(|of| Some(keys[*at_of.get(of)?].0))
                }
                TaskAction::Accept(Accept { of, .. }) | TaskAction::Answer(Answer { of, .. }) => {
                    at_of.get(of).map(|named| keys[*named].0.max(&step.envelope.id))
                }
            };
            if let Some(key) = key.filter(|key| *key != keys[at].0) {
                keys[at].0 = key;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    // a reference follows its target also if both have one key
    let is_reply =
        |at: usize| !matches!(steps[at].action, TaskAction::Handoff(..)) && keys[at].0 != &steps[at].envelope.id;
    let mut out: Vec<usize> = (0..steps.len()).collect();
    out.sort_by(|a, b| (keys[*a].0, is_reply(*a), keys[*a].1).cmp(&(keys[*b].0, is_reply(*b), keys[*b].1)));
    out
}

/// The first version of each revised handoff; of versions that revise each other, the one with the smallest id.
struct Roots<'s> {
    revised: HashMap<&'s Id, &'s Id>,
    known: RefCell<HashMap<&'s Id, &'s Id>>,
}

impl<'s> Roots<'s> {
    fn new(steps: &'s [TaskEvent]) -> Self {
        let revised = steps.iter().filter_map(|step| match &step.action {
            TaskAction::Handoff(handoff, _) => Some((&step.envelope.id, handoff.regenerates.as_ref()?)),
            _ => None,
        });
        Roots { revised: revised.collect(), known: RefCell::default() }
    }

    fn of(&self, id: &'s Id) -> &'s Id {
        let mut known = self.known.borrow_mut();
        let (mut way, mut on_way) = (vec![id], HashSet::from([id]));
        let root = loop {
            let last = way[way.len() - 1];
            match (known.get(last), self.revised.get(last)) {
                (Some(root), _) => break *root,
                (None, None) => break last,
                (None, Some(of)) if on_way.insert(of) => way.push(of),
                (None, Some(of)) => {
                    let circle = way.iter().skip_while(|id| *id != of);
                    break circle.min().copied().unwrap_or(last);
                }
            }
        };
        known.extend(way.into_iter().map(|id| (id, root)));
        root
    }
}

/// Folds the handoffs of a task with their acknowledgements and answers, in order of ID. Superseded
/// handoffs are listed but have no effect.
///
/// A COMPLETE ends the task until a managed handoff or another decision reopens it. An escalation, or a decision to
/// escalate, blocks it until a resolution that names it; any resolution also settles mere decisions, not what a rule escalated.
pub fn task_state(records: Vec<Record>, superseded: &BTreeSet<Id>) -> TaskState {
    let questions = questions(&records);
    let step = |Record { envelope, body }: Record| {
        let action = match body {
            Body::Handoff(handoff) => {
                let is_superseded = superseded.contains(&envelope.id);
                TaskAction::Handoff(handoff, is_superseded)
            }
            Body::Accept(accept) => TaskAction::Accept(accept),
            Body::Answer(answer) => TaskAction::Answer(answer),
            _ => return None,
        };
        Some(TaskEvent { envelope, action })
    };
    let steps: Vec<TaskEvent> = records.into_iter().filter_map(step).collect();
    let order = order(&steps);
    let roots = Roots::new(&steps);
    let (mut status, mut decided) = (TaskStatus::Open, None);
    // by the first version of the handoff; those that any resolution settles apart
    let (mut escalations, mut decisions) = (HashMap::<&Id, Vec<usize>>::new(), Vec::new());
    for at in order.iter().copied() {
        let step = &steps[at];
        if matches!(step.action, TaskAction::Handoff(_, true)) {
            continue;
        }
        let decision = step.decision();
        decided = decision.map(|_| at).or(decided);
        if let TaskAction::Accept(Accept { of, resolution: Some(_), .. }) = &step.action {
            escalations.remove(roots.of(of));
            decisions.clear();
            status = TaskStatus::Open;
        }
        let works = ["initialization", "progress", "error_recovery"].iter().any(|kind| is_kind(step, kind));
        let works = works || is_routed(step) || is_for_another(step);
        status = match (status, decision) {
            (_, Some(Verdict::Escalate)) => {
                match is_kind(step, "escalation") || is_routed(step) {
                    true => escalations.entry(roots.of(&step.envelope.id)).or_default().push(at),
                    false => decisions.push(at),
                }
                TaskStatus::Open
            }
            // a rule hands the task on: only its stage is complete
            (_, Some(Verdict::Complete)) if !is_routed(step) => TaskStatus::Complete,
            (_, Some(_)) => TaskStatus::Open,
            (TaskStatus::Complete, None) if !works => TaskStatus::Complete,
            (_, None) => TaskStatus::Open,
        };
    }
    let place_of: HashMap<usize, usize> = order.iter().enumerate().map(|(place, at)| (*at, place)).collect();
    let mut escalated: Vec<usize> = escalations.into_values().flatten().chain(decisions).collect();
    escalated.sort_by_key(|at| (!is_kind(&steps[*at], "escalation"), std::cmp::Reverse(place_of[at])));
    let mut out = TaskState {
        status: if escalated.is_empty() { status } else { TaskStatus::Escalated },
        title: String::new(),
        round: 0,
        decided,
        escalated,
        files: Vec::new(),
        questions,
        steps,
        order,
    };
    let chain = out.chain();
    let title = chain.iter().find_map(|handoff| handoffs::title(handoff));
    let named = || chain.iter().map(|handoff| handoff.task.clone()).find(|task| !task.is_empty());
    let (title, round, files) = (
        title.or_else(named).unwrap_or_default(),
        handoffs::next_round(&chain).saturating_sub(1),
        handoffs::files(&chain),
    );
    (out.title, out.round, out.files) = (title, round, files);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::use_cases::handoff::managed::payload;

    #[test]
    fn versions_have_one_root_in_any_order_and_in_a_circle() {
        let id = |number: u64| head(number).id;
        let step = |(number, of): (u64, u64)| TaskEvent {
            envelope: head(number),
            action: TaskAction::Handoff(Box::new(Handoff { regenerates: Some(id(of)), ..Handoff::default() }), false),
        };
        // 3 revises 2, which revises 1, which nobody has; 4 to 6 are a circle to which 7 leads
        let mut steps: Vec<TaskEvent> = [(2, 1), (3, 2), (4, 5), (5, 6), (6, 4), (7, 5), (8, 8)].map(step).into();
        let ids: Vec<Id> = (1..9).map(id).collect();
        for _ in 0..2 {
            let roots = Roots::new(&steps);
            let all: Vec<&Id> = ids.iter().map(|id| roots.of(id)).collect();
            assert_eq!(all, [1, 1, 1, 4, 4, 4, 4, 8].map(id).iter().collect::<Vec<_>>());
            steps.reverse();
        }
    }

    fn head(number: u64) -> Envelope {
        let id = Id::parse(&format!("01900000-0000-7000-8000-{number:012}")).unwrap();
        Envelope { v: 1, id, session: None, ai: format!("ai{number}"), at: String::new(), commit: None, tree: None }
    }

    fn handoff(number: u64, kind: &str, more: serde_json::Value) -> Record {
        let mut document = json!({"task_id": "t"});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut handoff = Handoff::default();
        payload::put_in(kind, document, &mut handoff);
        Record { envelope: head(number), body: Body::Handoff(Box::new(handoff)) }
    }

    fn report(number: u64, decision: Option<&str>) -> Record {
        let mut payload = json!({"iteration": number, "worker_report": {"status": "PARTIAL"}});
        if let Some(decision) = decision {
            payload["manager_decision"] = json!(decision);
        }
        handoff(number, "progress", payload)
    }

    fn accept(number: u64, of: u64, decision: Option<Verdict>, resolution: Option<&str>) -> Record {
        let body = Accept {
            decision,
            questions: vec!["which?".into(), "when?".into()],
            resolution: resolution.map(str::to_owned),
            ..Accept::new(head(of).id)
        };
        Record { envelope: head(number), body: Body::Accept(body) }
    }

    fn status(records: &[Record]) -> (TaskStatus, Option<usize>) {
        let mut records = records.to_vec();
        records.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
        let state = task_state(records, &BTreeSet::new());
        (state.status, state.escalated.first().copied())
    }

    #[test]
    fn decisions_complete_and_open_a_task() {
        let (one, done) = (report(1, None), report(2, Some("COMPLETE")));
        assert_eq!(status(std::slice::from_ref(&one)), (TaskStatus::Open, None));
        assert_eq!(status(&[one.clone(), done.clone()]), (TaskStatus::Complete, None));
        let plain = Record { envelope: head(3), body: Body::Handoff(Box::default()) };
        assert_eq!(
            status(&[one.clone(), done.clone(), plain]),
            (TaskStatus::Complete, None),
            "it says nothing of the task"
        );
        assert_eq!(status(&[one.clone(), done.clone(), report(3, None)]), (TaskStatus::Open, None));
        let refined = accept(3, 2, Some(Verdict::Refine), None);
        assert_eq!(status(&[one.clone(), done, refined]), (TaskStatus::Open, None));
        assert_eq!(status(&[one, accept(2, 1, Some(Verdict::Complete), None)]), (TaskStatus::Complete, None));
    }

    #[test]
    fn only_a_resolution_ends_an_escalation() {
        let (decided, escalation) = (report(1, Some("ESCALATE")), handoff(2, "escalation", json!({})));
        assert_eq!(status(std::slice::from_ref(&decided)), (TaskStatus::Escalated, Some(0)));
        let both = [decided, escalation];
        assert_eq!(status(&both), (TaskStatus::Escalated, Some(1)), "the escalation is what tells it");
        assert!(task_state(both.to_vec(), &BTreeSet::new()).is_with_a_person());
        let with = |more: Record| status(&[both[0].clone(), both[1].clone(), more]);
        assert_eq!(with(report(3, Some("COMPLETE"))).0, TaskStatus::Escalated);
        assert_eq!(with(accept(3, 2, Some(Verdict::Continue), None)).0, TaskStatus::Escalated);
        assert_eq!(with(accept(3, 2, None, Some("a key was bought"))), (TaskStatus::Open, None));
        assert_eq!(with(accept(3, 2, Some(Verdict::Complete), Some("x"))).0, TaskStatus::Complete);
        assert_eq!(with(accept(3, 2, Some(Verdict::Escalate), Some("x"))).0, TaskStatus::Escalated);
        // superseded handoffs have no effect
        let superseded = BTreeSet::from([head(1).id, head(2).id]);
        assert_eq!(task_state(both.to_vec(), &superseded).status, TaskStatus::Open);
    }

    #[test]
    fn each_escalation_waits_for_a_resolution_of_its_own() {
        let all =
            [handoff(1, "escalation", json!({})), handoff(2, "escalation", json!({})), accept(3, 1, None, Some("x"))];
        assert_eq!(status(&all), (TaskStatus::Escalated, Some(1)), "who resolved the first knew nothing of the second");
        let both = [&all[..], &[accept(4, 2, None, Some("y"))]].concat();
        assert_eq!(status(&both).0, TaskStatus::Open);
    }

    #[test]
    fn what_names_another_counts_after_it_whatever_the_clocks_said() {
        // the escalation has a future ID
        let (escalation, resolved) = (handoff(900, "escalation", json!({})), accept(5, 900, None, Some("x")));
        assert_eq!(status(&[report(1, None), resolved, escalation]).0, TaskStatus::Open);
    }

    #[test]
    fn a_revised_handoff_takes_effect_where_the_original_did() {
        let revise = |number: u64, of: u64, mut record: Record| {
            record.envelope = head(number);
            if let Body::Handoff(handoff) = &mut record.body {
                handoff.regenerates = Some(head(of).id);
            }
            record
        };
        let escalation = handoff(2, "escalation", json!({}));
        let resolved = accept(3, 2, None, Some("x"));
        let done = report(4, Some("COMPLETE"));
        let all = [report(1, None), escalation.clone(), resolved, done, revise(5, 2, escalation)];
        let superseded = BTreeSet::from([head(2).id]);
        let found = task_state(all.to_vec(), &superseded);
        assert_eq!(found.status, TaskStatus::Complete, "it was resolved and done");
        assert_eq!(found.steps.last().map(|step| step.envelope.id.clone()), Some(head(5).id), "listed as it happened");
        let begun = handoff(1, "initialization", json!({"instructions": "a"}));
        let all = [begun.clone(), report(2, Some("COMPLETE")), revise(3, 1, begun)];
        let found = task_state(all.to_vec(), &BTreeSet::from([head(1).id]));
        assert_eq!((found.status, found.chain()[0].kind.as_str()), (TaskStatus::Complete, "initialization"));
    }

    #[test]
    fn questions_have_their_newest_answer() {
        let answer = |number: u64, question: u32, text: &str| {
            let body = Answer { of: head(2).id, question, text: text.into(), concerns: Vec::new() };
            Record { envelope: head(number), body: Body::Answer(body) }
        };
        let all = [
            report(1, None),
            accept(2, 1, None, None),
            answer(3, 2, "soon"),
            answer(4, 2, "now"),
            answer(5, 7, "what?"),
        ];
        let state = task_state(all.to_vec(), &BTreeSet::new());
        let questions: Vec<_> = state.questions.iter().map(|q| (q.name(), q.answer.as_ref().map(|a| &*a.1))).collect();
        assert_eq!(questions, [("00000002.1".to_owned(), None), ("00000002.2".to_owned(), Some("now"))]);
        assert_eq!(state.open_questions().count(), 1);
        assert_eq!((state.round, state.steps.len()), (1, 5));
    }
}

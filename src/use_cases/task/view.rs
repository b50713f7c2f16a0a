//! The answers of `task list` and `task show`.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::tasks::resolve_command;
use crate::fold::task::chain::chain;
use crate::fold::task::state::{TaskAction, TaskEvent, TaskState, TaskStatus};
use crate::fold::task::{handoffs, questions};
use crate::render::answer::{Answer, EnvelopeView};
use crate::render::{format, safe};
use crate::use_cases::handoff::managed::payload;
use crate::use_cases::handoff::receive::acceptance;
use crate::use_cases::handoff::receive::view::{AcceptView, QuestionView, question_lines};
use crate::use_cases::task::chain_view;
use crate::use_cases::task::chain_view::LinkView;
use crate::use_cases::task::list::Task;
use empirica_notes::model::{Id, Verdict};

/// A task.
#[derive(Serialize, JsonSchema)]
struct TaskView<'a> {
    /// The task.
    task_id: &'a str,
    /// Whether work can continue, a person must decide first, or it is done.
    status: TaskStatus,
    /// Its title, from the first handoff with one; may be empty.
    title: &'a str,
    /// The round that was reported last; 0 before the first.
    iteration: u64,
    /// The last decision.
    decision: Option<Verdict>,
    /// Its agent.
    decided_by: Option<&'a str>,
    /// `a person` while it is escalated, otherwise the receiver of its newest handoff, if named.
    waits_for: Option<String>,
    /// The number of open questions.
    open_questions: usize,
    /// The time of its last event.
    updated_at: Option<&'a str>,
    /// The agent of its last event.
    updated_by: Option<&'a str>,
}

impl<'a> From<&'a Task> for TaskView<'a> {
    fn from(Task { task_id, state }: &'a Task) -> Self {
        let decided = state.decided.map(|at| &state.steps[at]);
        let newest = state.steps.last();
        TaskView {
            task_id,
            status: state.status,
            title: &state.title,
            iteration: state.round,
            decision: decided.and_then(TaskEvent::decision),
            decided_by: decided.map(|step| step.envelope.ai.as_str()),
            waits_for: waits_for(state),
            open_questions: state.open_questions().count(),
            updated_at: newest.map(|step| step.envelope.at.as_str()),
            updated_by: newest.map(|step| step.envelope.ai.as_str()),
        }
    }
}

/// The tasks, most recent event first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TaskListView")]
pub struct ListView<'a> {
    /// The tasks.
    tasks: Vec<TaskView<'a>>,
    /// Their number.
    total_found: usize,
}

/// A task with its events.
#[derive(Serialize, JsonSchema)]
pub struct ShownView<'a> {
    #[serde(flatten)]
    task: TaskView<'a>,
    /// Its stages, in order: each handoff in force, who owns it, and how long that took.
    chain: Vec<LinkView<'a>>,
    /// The files of its reports and handoffs.
    files: &'a [String],
    /// The questions of its receivers.
    questions: Vec<QuestionView<'a>>,
    /// Its events, oldest first.
    history: Vec<StepView<'a>>,
}

/// An event of a task.
#[derive(Serialize, JsonSchema)]
struct StepView<'a> {
    /// The record.
    id: &'a Id,
    /// A handoff, an acknowledgement (`accept`) or an answer.
    kind: &'static str,
    /// The type of a handoff, else null.
    #[serde(rename = "type")]
    handoff_type: Option<&'a str>,
    /// The round of a handoff.
    iteration: Option<u64>,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    /// The receiver of a handoff.
    to: Option<&'a str>,
    /// The handoff, or that of an acknowledgement; null for an answer.
    handoff_id: Option<&'a Id>,
    /// Its decision.
    decision: Option<Verdict>,
    /// Whether a newer handoff superseded it.
    superseded: bool,
    /// Its texts.
    said: Vec<String>,
    /// Of a handoff: the document of its format, null if its type has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Option<Map<String, Value>>>,
    /// Of an acknowledgement: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    acknowledgement: Option<AcceptView<'a>>,
    /// Of an answer: the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    question_id: Option<String>,
}

impl<'a> From<&'a TaskEvent> for StepView<'a> {
    fn from(step: &'a TaskEvent) -> Self {
        let envelope = &step.envelope;
        let mut view = StepView {
            id: &envelope.id,
            kind: "handoff",
            handoff_type: None,
            iteration: None,
            envelope: envelope.into(),
            to: None,
            handoff_id: Some(&envelope.id),
            decision: step.decision(),
            superseded: false,
            said: texts(step),
            payload: None,
            acknowledgement: None,
            question_id: None,
        };
        match &step.action {
            TaskAction::Handoff(handoff, superseded) => {
                view.handoff_type = Some(&handoff.kind);
                view.iteration = handoff.iteration;
                view.to = handoff.to.as_deref();
                view.superseded = *superseded;
                view.payload = Some(payload::document(handoff, &envelope.at));
            }
            TaskAction::Accept(accept) => {
                view.kind = "accept";
                view.handoff_id = Some(&accept.of);
                view.acknowledgement = Some(AcceptView::of(envelope, accept));
            }
            TaskAction::Answer(answer) => {
                view.kind = "answer";
                view.handoff_id = None;
                view.question_id = Some(questions::name(&answer.of, answer.question));
            }
        }
        view
    }
}

fn waits_for(state: &TaskState) -> Option<String> {
    match state.status {
        TaskStatus::Escalated => Some("a person".to_owned()),
        _ => state.waits_for().map(str::to_owned),
    }
}

/// The texts of an event with their titles.
fn texts(step: &TaskEvent) -> Vec<String> {
    let titled = |title: &str, text: Option<&str>| text.map(|text| format!("{title}: {text}"));
    match &step.action {
        TaskAction::Handoff(handoff, _) => {
            let of = |title: &str, pointer: &str| titled(title, handoffs::text(handoff, pointer));
            let own_task = Some(handoff.task.as_str()).filter(|task| handoff.payload.is_none() && !task.is_empty());
            let all = [
                of("instructions", "/instructions"),
                of("status", "/worker_report/status"),
                of("error", "/error_report/description"),
                of("strategy", "/recovery_instructions/strategy"),
                of("escalated", "/escalation_details/description"),
                of("recommendation", "/escalation_details/recommendation"),
                of("next", "/continuation_instructions"),
                titled("task", own_task),
            ];
            all.into_iter().flatten().collect()
        }
        TaskAction::Accept(accept) => {
            let all = [
                titled("understood", accept.understanding.as_deref()),
                titled("resolution", accept.resolution.as_deref()),
                titled("instructions", accept.instructions.as_deref()),
            ];
            let questions = (1..).zip(&accept.questions).map(|(number, text)| format!("question {number}: {text}"));
            all.into_iter()
                .flatten()
                .chain(questions)
                .chain(accept.gaps.iter().map(|text| format!("gap: {text}")))
                .collect()
        }
        TaskAction::Answer(answer) => vec![answer.text.clone()],
    }
}

/// An event in a few words.
fn name(step: &TaskEvent) -> String {
    let decided = step.decision().map(|decision| format!(", {}", decision.name())).unwrap_or_default();
    match &step.action {
        TaskAction::Handoff(handoff, superseded) => {
            let round = handoff.iteration.map(|round| format!(" {round}")).unwrap_or_default();
            let to = handoff.to.as_ref().map(|to| format!(" to {}", safe::line(to))).unwrap_or_default();
            let superseded = if *superseded { ", superseded" } else { "" };
            // the type of an escalation implies its decision
            let decided = if handoff.kind == "escalation" { String::new() } else { decided };
            format!("{}{round}{to}{decided}{superseded}", safe::line(&handoff.kind).replace('_', " "))
        }
        TaskAction::Accept(accept) => format!("{}{}", accept.of.short(), acceptance::accepted(accept)),
        TaskAction::Answer(answer) => format!("answer to {}", questions::name(&answer.of, answer.question)),
    }
}

fn step_text(step: &TaskEvent) -> String {
    let envelope = &step.envelope;
    let mut out = format!(
        "{} {} {}: {}\n",
        envelope.id.short(),
        format::date(&envelope.at),
        safe::line(&envelope.ai),
        name(step)
    );
    for text in texts(step) {
        out.push_str(&format!("    {}\n", safe::indented(&text, 6)));
    }
    out
}

fn heading(Task { task_id, state }: &Task) -> String {
    let title = if state.title.is_empty() { String::new() } else { format!(": {}", safe::line(&state.title)) };
    format!("{}{title}", safe::line(task_id))
}

fn line(Task { state, .. }: &Task) -> String {
    let round = if state.round == 0 { String::new() } else { format!(", iteration {}", state.round) };
    let waits = waits_for(state).map(|whom| format!(", waits for {}", safe::line(&whom))).unwrap_or_default();
    let open = match state.open_questions().count() {
        0 => String::new(),
        open => format!(", {}", format::count(open, "open question")),
    };
    format!("{}{round}{waits}{open}", state.status.name())
}

pub fn shown(task: &Task, now: DateTime<Utc>, warnings: Vec<String>) -> Answer {
    let state = &task.state;
    let chain = chain(state, now);
    let view = ShownView {
        task: TaskView::from(task),
        chain: chain.iter().map(LinkView::from).collect(),
        files: &state.files,
        questions: state.questions.iter().map(QuestionView::from).collect(),
        history: state.steps.iter().map(StepView::from).collect(),
    };
    let mut text = format!("Task {}\n{}\n\n", heading(task), line(task));
    if !chain.is_empty() {
        let stages: String = (1..).zip(&chain).map(|(at, link)| chain_view::line(at, link) + "\n").collect();
        text.push_str(&format!("{}\n{stages}\n", chain_view::path(&chain)));
    }
    state.steps.iter().for_each(|step| text.push_str(&step_text(step)));
    if !state.questions.is_empty() {
        text.push_str("\nQuestions:\n");
        state.questions.iter().for_each(|question| text.push_str(&question_lines(question)));
    }
    let mut answer = Answer::new(view).text(text).warn(warnings).paged();
    if let Some(command) = resolve_command(state) {
        answer = answer.hint(command);
    }
    for question in state.open_questions() {
        answer = answer.hint(question.command());
    }
    answer
}

pub fn list(tasks: &[Task], open_only: bool, warnings: Vec<String>) -> Answer {
    let entry = |task: &Task| format!("{}\n    {}\n", heading(task), line(task));
    let answer = Answer::new(ListView { tasks: tasks.iter().map(TaskView::from).collect(), total_found: tasks.len() })
        .text(tasks.iter().map(entry).collect::<String>())
        .warn(warnings)
        .paged();
    match (tasks.is_empty(), open_only) {
        (false, _) => answer,
        (true, true) => answer.say("No task is open."),
        (true, false) => answer.say("No handoff names a task."),
    }
}

//! The answers about tasks: their history, and where they stand.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::tasks::resolve_command;
use crate::fold::task::state::{TaskAction, TaskEvent, TaskState, TaskStatus};
use crate::fold::task::{handoffs, questions};
use crate::handoff::managed::payload;
use crate::handoff::receive::acceptance;
use crate::handoff::receive::view::{AcceptView, QuestionView, question_lines};
use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::task::list::Task;
use empirica_notes::model::{Id, SessionId, Verdict};

/// A task.
#[derive(Serialize, JsonSchema)]
struct TaskView<'a> {
    /// The task.
    task_id: &'a str,
    /// Whether work can go on, a person must resolve it first, or it is done.
    status: TaskStatus,
    /// What its first handoff that names it is about; can be empty.
    title: &'a str,
    /// The round that was reported last; 0 before the first.
    iteration: u64,
    /// The last decision.
    decision: Option<Verdict>,
    /// Whose it was.
    decided_by: Option<&'a str>,
    /// `a person` while it is escalated, else the receiver of its newest handoff, if that was named.
    waits_for: Option<String>,
    /// How many questions nobody answered.
    open_questions: usize,
    /// When something happened last.
    updated_at: Option<&'a str>,
    /// Whose it was.
    updated_by: Option<&'a str>,
}

impl<'a> From<&'a Task> for TaskView<'a> {
    fn from(Task { task_id, standing }: &'a Task) -> Self {
        let decided = standing.decided.map(|at| &standing.steps[at]);
        let newest = standing.steps.last();
        TaskView {
            task_id,
            status: standing.status,
            title: &standing.title,
            iteration: standing.round,
            decision: decided.and_then(TaskEvent::decision),
            decided_by: decided.map(|step| step.head.ai.as_str()),
            waits_for: waits_for(standing),
            open_questions: standing.open_questions().count(),
            updated_at: newest.map(|step| step.head.at.as_str()),
            updated_by: newest.map(|step| step.head.ai.as_str()),
        }
    }
}

/// The tasks, those of which something happened last first.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TaskListView")]
pub struct ListView<'a> {
    /// The tasks.
    tasks: Vec<TaskView<'a>>,
    /// How many they are.
    total_found: usize,
}

/// A task and all that happened to it.
#[derive(Serialize, JsonSchema)]
pub struct ShownView<'a> {
    #[serde(flatten)]
    task: TaskView<'a>,
    /// The files that its reports and handoffs name.
    files: &'a [String],
    /// What its receivers asked.
    questions: Vec<QuestionView<'a>>,
    /// What happened, oldest first.
    history: Vec<StepView<'a>>,
}

/// Something that happened to a task.
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
    /// When.
    timestamp: &'a str,
    /// Who.
    ai_id: &'a str,
    /// In which session.
    session_id: Option<&'a SessionId>,
    /// HEAD then.
    commit: Option<&'a str>,
    /// The receiver of a handoff.
    to: Option<&'a str>,
    /// The handoff; of an acknowledgement the one that was taken up; null for an answer.
    handoff_id: Option<&'a Id>,
    /// The decision that it states.
    decision: Option<Verdict>,
    /// Whether a newer handoff took its place.
    superseded: bool,
    /// What it says, a text each.
    said: Vec<String>,
    /// Of a handoff: the document of its format, null when its type has none.
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
        let head = &step.head;
        let mut view = StepView {
            id: &head.id,
            kind: "handoff",
            handoff_type: None,
            iteration: None,
            timestamp: &head.at,
            ai_id: &head.ai,
            session_id: head.session.as_ref(),
            commit: head.commit.as_deref(),
            to: None,
            handoff_id: Some(&head.id),
            decision: step.decision(),
            superseded: false,
            said: said(step),
            payload: None,
            acknowledgement: None,
            question_id: None,
        };
        match &step.action {
            TaskAction::Handoff(handoff, aside) => {
                view.handoff_type = Some(&handoff.kind);
                view.iteration = handoff.iteration;
                view.to = handoff.to.as_deref();
                view.superseded = *aside;
                view.payload = Some(payload::document(handoff, &head.at));
            }
            TaskAction::Accept(accept) => {
                view.kind = "accept";
                view.handoff_id = Some(&accept.of);
                view.acknowledgement = Some(AcceptView::of(head, accept));
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

/// Whom it waits for: a person while it is escalated, else the receiver of its newest handoff.
fn waits_for(standing: &TaskState) -> Option<String> {
    match standing.status {
        TaskStatus::Escalated => Some("a person".to_owned()),
        _ => standing.waits_for().map(str::to_owned),
    }
}

/// What a step says, a text each.
fn said(step: &TaskEvent) -> Vec<String> {
    let titled = |title: &str, text: Option<&str>| text.map(|text| format!("{title}: {text}"));
    match &step.action {
        TaskAction::Handoff(handoff, _) => {
            let of = |title: &str, pointer: &str| titled(title, handoffs::text(handoff, pointer));
            let all = [
                of("instructions", "/instructions"),
                of("status", "/worker_report/status"),
                of("error", "/error_report/description"),
                of("strategy", "/recovery_instructions/strategy"),
                of("escalated", "/escalation_details/description"),
                of("recommendation", "/escalation_details/recommendation"),
                of("next", "/continuation_instructions"),
                titled(
                    "task",
                    Some(handoff.task.as_str()).filter(|task| handoff.payload.is_none() && !task.is_empty()),
                ),
            ];
            all.into_iter().flatten().collect()
        }
        TaskAction::Accept(said) => {
            let all = [
                titled("understood", said.understanding.as_deref()),
                titled("resolution", said.resolution.as_deref()),
                titled("instructions", said.instructions.as_deref()),
            ];
            let asked = (1..).zip(&said.questions).map(|(number, text)| format!("question {number}: {text}"));
            all.into_iter().flatten().chain(asked).chain(said.gaps.iter().map(|text| format!("gap: {text}"))).collect()
        }
        TaskAction::Answer(answer) => vec![answer.text.clone()],
    }
}

/// What a step is, in a few words.
fn name(step: &TaskEvent) -> String {
    let decided = step.decision().map(|decision| format!(", {}", decision.name())).unwrap_or_default();
    match &step.action {
        TaskAction::Handoff(handoff, aside) => {
            let round = handoff.iteration.map(|round| format!(" {round}")).unwrap_or_default();
            let to = handoff.to.as_ref().map(|to| format!(" to {}", safe::line(to))).unwrap_or_default();
            let aside = if *aside { ", rewritten since" } else { "" };
            // that an escalation escalates need not be said
            let decided = if handoff.kind == "escalation" { String::new() } else { decided };
            format!("{}{round}{to}{decided}{aside}", safe::line(&handoff.kind).replace('_', " "))
        }
        TaskAction::Accept(said) => format!("{}{}", said.of.short(), acceptance::accepted(said)),
        TaskAction::Answer(answer) => format!("answer to {}", questions::name(&answer.of, answer.question)),
    }
}

fn step_text(step: &TaskEvent) -> String {
    let (head, mut out) = (&step.head, String::new());
    let (short, date) = (head.id.short(), format::date(&head.at));
    out.push_str(&format!("{short} {date} {}: {}\n", safe::line(&head.ai), name(step)));
    for text in said(step) {
        out.push_str(&format!("    {}\n", safe::indented(&text, 6)));
    }
    out
}

fn line(task: &Task) -> String {
    let standing = &task.standing;
    let round = if standing.round == 0 { String::new() } else { format!(", iteration {}", standing.round) };
    let waits = waits_for(standing).map(|whom| format!(", waits for {}", safe::line(&whom))).unwrap_or_default();
    let open = match standing.open_questions().count() {
        0 => String::new(),
        open => format!(", {}", format::count(open, "open question")),
    };
    format!("{}{round}{waits}{open}", standing.status.name())
}

/// The answer of `task show`.
pub fn shown(task: &Task, warnings: Vec<String>) -> Answer {
    let standing = &task.standing;
    let view = ShownView {
        task: TaskView::from(task),
        files: &standing.files,
        questions: standing.questions.iter().map(QuestionView::from).collect(),
        history: standing.steps.iter().map(StepView::from).collect(),
    };
    let title = if standing.title.is_empty() { String::new() } else { format!(": {}", safe::line(&standing.title)) };
    let mut text = format!("Task {}{title}\n{}\n\n", safe::line(&task.task_id), line(task));
    standing.steps.iter().for_each(|step| text.push_str(&step_text(step)));
    if !standing.questions.is_empty() {
        text.push_str("\nQuestions:\n");
        standing.questions.iter().for_each(|question| text.push_str(&question_lines(question)));
    }
    let mut answer = Answer::new(view).text(text).warn(warnings).paged();
    if let Some(command) = resolve_command(standing) {
        answer = answer.hint(command);
    }
    for question in standing.open_questions() {
        answer = answer.hint(question.command());
    }
    answer
}

/// The answer of `task list`.
pub fn list(tasks: &[Task], open_only: bool, warnings: Vec<String>) -> Answer {
    let entry = |task: &Task| {
        let title = if task.standing.title.is_empty() {
            String::new()
        } else {
            format!(": {}", safe::line(&task.standing.title))
        };
        format!("{}{title}\n    {}\n", safe::line(&task.task_id), line(task))
    };
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

//! The answers about tasks: their history, and where they stand.

use serde_json::{Value, json};

use super::{Answer, accept, safe, words};
use crate::epistemics::standing::{Deed, Standing, Status, Step};
use crate::epistemics::{payload, questions, task};
use crate::model::Verdict;
use crate::ops::task::{Task, resolve_command};

fn standing_json(task: &Task) -> Value {
    let Task { task_id, standing } = task;
    let decided = standing.decided.map(|at| &standing.steps[at]);
    let newest = standing.steps.last();
    json!({
        "task_id": task_id,
        "status": standing.status.name(),
        "title": standing.title,
        "iteration": standing.round,
        "decision": decided.and_then(Step::decision).map(Verdict::name),
        "decided_by": decided.map(|step| &step.head.ai),
        "waits_for": waits_for(standing),
        "open_questions": standing.open_questions().count(),
        "updated_at": newest.map(|step| &step.head.at),
        "updated_by": newest.map(|step| &step.head.ai),
    })
}

/// Whom it waits for: a person while it is escalated, else the receiver of its newest handoff.
fn waits_for(standing: &Standing) -> Option<String> {
    match standing.status {
        Status::Escalated => Some("a person".to_owned()),
        _ => standing.waits_for().map(str::to_owned),
    }
}

fn step_json(step: &Step) -> Value {
    let head = &step.head;
    let mut json = json!({
        "id": head.id,
        "kind": "handoff",
        "type": null,
        "iteration": null,
        "timestamp": head.at,
        "ai_id": head.ai,
        "session_id": head.session,
        "commit": head.commit,
        "to": null,
        "handoff_id": head.id,
        "decision": step.decision().map(Verdict::name),
        "superseded": false,
        "said": said(step),
    });
    match &step.deed {
        Deed::Handoff(handoff, aside) => {
            json["type"] = json!(handoff.kind);
            json["iteration"] = json!(handoff.iteration);
            json["to"] = json!(handoff.to);
            json["superseded"] = json!(aside);
            json["payload"] = json!(payload::document(handoff, &head.at));
        }
        Deed::Accept(said) => {
            json["kind"] = json!("accept");
            json["handoff_id"] = json!(said.of);
            json["acknowledgement"] = accept::json_of(head, said);
        }
        Deed::Answer(answer) => {
            json["kind"] = json!("answer");
            json["handoff_id"] = Value::Null;
            json["question_id"] = json!(questions::name(&answer.of, answer.question));
        }
    }
    json
}

/// What a step says, a text each.
fn said(step: &Step) -> Vec<String> {
    let titled = |title: &str, text: Option<&str>| text.map(|text| format!("{title}: {text}"));
    match &step.deed {
        Deed::Handoff(handoff, _) => {
            let of = |title: &str, pointer: &str| titled(title, task::text(handoff, pointer));
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
        Deed::Accept(said) => {
            let all = [
                titled("understood", said.understanding.as_deref()),
                titled("resolution", said.resolution.as_deref()),
                titled("instructions", said.instructions.as_deref()),
            ];
            let asked = (1..).zip(&said.questions).map(|(number, text)| format!("question {number}: {text}"));
            all.into_iter().flatten().chain(asked).chain(said.gaps.iter().map(|text| format!("gap: {text}"))).collect()
        }
        Deed::Answer(answer) => vec![answer.text.clone()],
    }
}

/// What a step is, in a few words.
fn name(step: &Step) -> String {
    let decided = step.decision().map(|decision| format!(", {}", decision.name())).unwrap_or_default();
    match &step.deed {
        Deed::Handoff(handoff, aside) => {
            let round = handoff.iteration.map(|round| format!(" {round}")).unwrap_or_default();
            let to = handoff.to.as_ref().map(|to| format!(" to {}", safe::line(to))).unwrap_or_default();
            let aside = if *aside { ", written anew since" } else { "" };
            // that an escalation escalates need not be said
            let decided = if handoff.kind == "escalation" { String::new() } else { decided };
            format!("{}{round}{to}{decided}{aside}", safe::line(&handoff.kind).replace('_', " "))
        }
        Deed::Accept(said) => format!("{}{}", said.of.short(), words::accepted(said)),
        Deed::Answer(answer) => format!("answer to {}", questions::name(&answer.of, answer.question)),
    }
}

fn step_text(step: &Step) -> String {
    let (head, mut out) = (&step.head, String::new());
    let (short, date) = (head.id.short(), words::date(&head.at));
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
        open => format!(", {}", words::count(open, "open question")),
    };
    format!("{}{round}{waits}{open}", standing.status.name())
}

/// The answer of `task show`.
pub fn shown(task: &Task, warnings: Vec<String>) -> Answer {
    let standing = &task.standing;
    let mut json = standing_json(task);
    json["files"] = json!(standing.files);
    json["questions"] = standing.questions.iter().map(accept::question_json).collect();
    json["history"] = standing.steps.iter().map(step_json).collect();
    let title = if standing.title.is_empty() { String::new() } else { format!(": {}", safe::line(&standing.title)) };
    let mut text = format!("Task {}{title}\n{}\n\n", safe::line(&task.task_id), line(task));
    standing.steps.iter().for_each(|step| text.push_str(&step_text(step)));
    if !standing.questions.is_empty() {
        text.push_str("\nQuestions:\n");
        standing.questions.iter().for_each(|question| text.push_str(&accept::question_lines(question)));
    }
    let mut answer = Answer::new(json).text(text).warn(warnings).paged();
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
    let rows: Vec<Value> = tasks.iter().map(standing_json).collect();
    let entry = |task: &Task| {
        let title = if task.standing.title.is_empty() {
            String::new()
        } else {
            format!(": {}", safe::line(&task.standing.title))
        };
        format!("{}{title}\n    {}\n", safe::line(&task.task_id), line(task))
    };
    let answer = Answer::new(json!({"tasks": rows, "total_found": tasks.len()}))
        .text(tasks.iter().map(entry).collect::<String>())
        .warn(warnings)
        .paged();
    match (tasks.is_empty(), open_only) {
        (false, _) => answer,
        (true, true) => answer.say("No task is open."),
        (true, false) => answer.say("No handoff names a task."),
    }
}

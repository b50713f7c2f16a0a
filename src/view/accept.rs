//! Acknowledgements: the answer of `accept`, and their list where a handoff is shown.

use serde_json::{Value, json};

use super::{Answer, safe, words};
use crate::model::{Accept, Head, Verdict};
use crate::ops::accept::Outcome;

/// An acknowledgement as JSON; what was not said is null or empty.
pub fn json_of(head: &Head, accept: &Accept) -> Value {
    json!({
        "accept_id": head.id,
        "handoff_id": accept.of,
        "session_id": head.session,
        "ai_id": head.ai,
        "timestamp": head.at,
        "decision": accept.decision.map(Verdict::name),
        "understanding": accept.understanding,
        "instructions": accept.instructions,
        "questions": accept.questions,
        "gaps": accept.gaps,
    })
}

/// The answer of `accept`.
pub fn answer(outcome: &Outcome) -> Answer {
    let (head, accept) = (&outcome.head, &outcome.accept);
    let mut json = json!({"id": head.id, "kind": "accept"});
    if let (Value::Object(json), Value::Object(said)) = (&mut json, json_of(head, accept)) {
        json.extend(said);
    }
    Answer::new(json)
        .text(format!("{}\n", head.id.short()))
        .say(format!(
            "Handoff {}{}, in session {}.",
            accept.of.short(),
            words::accepted(accept),
            outcome.session_id.short()
        ))
        .stored(&outcome.stored)
}

/// Adds them to the answer of `show`: under `acknowledgements`, and `in_text` as a section, when there are any.
pub fn added(mut answer: Answer, accepts: &[(Head, Accept)], in_text: bool) -> Answer {
    let list: Vec<Value> = accepts.iter().map(|(head, accept)| json_of(head, accept)).collect();
    answer.json.insert("acknowledgements".to_owned(), Value::Array(list));
    if in_text && !accepts.is_empty() {
        let entries: String = accepts.iter().map(|(head, accept)| entry(head, accept)).collect();
        answer.text = format!("{}\n## Acknowledgements\n\n{entries}", answer.text);
    }
    answer
}

fn entry(head: &Head, accept: &Accept) -> String {
    let mut lines = vec![format!(
        "{} {} {}{}",
        head.id.short(),
        words::date(&head.at),
        safe::words(&head.ai),
        words::accepted(accept)
    )];
    let one = |title: &str, text: &Option<String>| text.iter().map(|text| format!("{title}: {text}")).collect();
    let each = |title: &str, list: &[String]| list.iter().map(|text| format!("{title}: {text}")).collect();
    let said: [Vec<String>; 4] = [
        one("understood", &accept.understanding),
        one("instructions", &accept.instructions),
        each("question", &accept.questions),
        each("gap", &accept.gaps),
    ];
    lines.extend(said.iter().flatten().map(|text| format!("  - {}", safe::item(text).replace('\n', "\n  "))));
    format!("- {}\n", lines.join("\n"))
}

//! The user's answers to the questions of an ask tool.

use serde_json::Value;

use crate::read::lenient::repaired;
use crate::summary::fold::Fold;

/// Reads the answers to `questions` from a result: JSON with `answers` by question or id, else a text that repeats each
/// question with its answer, `"question"="answer"`, else the whole text for a single question.
pub fn add_answers(questions: &[(Option<String>, String)], json: &str, text: &str, fold: &mut Fold) {
    for source in [json, text] {
        let found = answers(source);
        if found.is_empty() {
            continue;
        }
        for (id, question) in questions {
            let matches = |key: &str| key == question || id.as_deref() == Some(key);
            for (_, answer) in found.iter().filter(|(key, _)| matches(key)) {
                fold.add_answer(question, answer);
            }
        }
        return;
    }
    let mut quoted = false;
    for (_, question) in questions {
        if let Some((_, rest)) = text.split_once(&format!("\"{question}\"=\"")) {
            let end = ["\", \"", "\". ", "\" "].iter().filter_map(|end| rest.find(end)).min();
            let answer = &rest[..end.or(rest.rfind('"')).unwrap_or(rest.len())];
            fold.add_answer(question, answer);
            quoted = true;
        }
    }
    if let ([(_, question)], false) = (questions, quoted) {
        fold.add_answer(question, text);
    }
}

/// The `answers` of a JSON object by key; empty if there are none.
fn answers(json: &str) -> Vec<(String, String)> {
    if !json.trim_start().starts_with('{') {
        return Vec::new();
    }
    let parsed = serde_json::from_str::<Value>(json).ok();
    let parsed = parsed.or_else(|| serde_json::from_str(&repaired(json)?).ok()).unwrap_or_default();
    let found = parsed.get("answers").and_then(Value::as_object);
    found.into_iter().flatten().map(|(key, answer)| (key.clone(), answer_text(answer))).collect()
}

fn answer_text(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Array(several) => {
            several.iter().map(answer_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ")
        }
        Value::Object(inner) => inner.get("answers").or(inner.get("answer")).map(answer_text).unwrap_or_default(),
        Value::Number(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Null => String::new(),
    }
}

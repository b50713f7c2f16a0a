//! What a command answers: a document for programs, a text for people, and what is said aside.

use serde_json::{Map, Value, json};

use super::safe;
use crate::epistemics::tokens;
use crate::error::Error;
use crate::model::SessionId;
use crate::ops::Stored;
use crate::store::Storage;
use empirica_secrets::redact_text;

/// The exit code when a gate says stop.
const GATE: u8 = 3;

/// The answer of one command.
#[derive(Debug, Default)]
pub struct Answer {
    /// The keys of the JSON document, without `ok`.
    pub json: Map<String, Value>,
    /// The text on standard output.
    pub text: String,
    /// What is said on standard error before the warnings.
    pub said: Vec<String>,
    /// Warnings, on standard error; in JSON under `warnings`.
    pub warnings: Vec<String>,
    /// Hints, on standard error.
    pub hints: Vec<String>,
    /// Hints on how to work: a session is given each kind once.
    pub hints_once: Vec<(SessionId, String, String)>,
    /// Whether a person may want to page it.
    pub paged: bool,
    /// Whether the text is data for a program: written as it is, without colours.
    pub is_data: bool,
    /// Why the command fails although it answers: the document has the keys of both, the exit code is the error's.
    pub failed: Option<Error>,
    /// Whether a gate says stop: the command did what it was asked to, and exits with 3.
    pub stops: bool,
}

impl Answer {
    /// An answer from the keys of a JSON object.
    pub fn new(json: Value) -> Self {
        let json = match json {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Answer { json, ..Default::default() }
    }

    /// Sets the text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Says something aside.
    pub fn say(mut self, line: impl Into<String>) -> Self {
        self.said.push(line.into());
        self
    }

    /// Adds warnings.
    pub fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint that a session is given once of its kind.
    pub fn hint_once(mut self, session: &SessionId, kind: impl Into<String>, hint: impl Into<String>) -> Self {
        self.hints_once.push((session.clone(), kind.into(), hint.into()));
        self
    }

    /// Says how many tokens the document takes.
    pub fn counted(mut self) -> Self {
        self.json.insert("token_count".to_owned(), Value::Null);
        self
    }

    /// May be paged.
    pub fn paged(mut self) -> Self {
        self.paged = true;
        self
    }

    /// Is data for a program: neither paged nor painted.
    pub fn data(mut self) -> Self {
        (self.is_data, self.paged) = (true, false);
        self
    }

    /// Takes in what storing left to say: `degraded_mode`, `storage`, `redacted`, `secrets_allowed`, the warnings, and what to do about them.
    /// The last call says where the records are.
    pub fn stored(mut self, stored: &Stored) -> Self {
        self.json.insert("degraded_mode".to_owned(), json!(stored.degraded_mode));
        self.json.insert("storage".to_owned(), json!(stored.storage.map(Storage::name)));
        self.json.remove("recovery_commands");
        if let Some((session, ai)) = &stored.session_started {
            self.json.insert("session_started".to_owned(), json!({"session_id": session, "ai_id": ai}));
            self.said.insert(0, format!("Began session {} of {ai}.", session.short()));
        }
        if stored.degraded_mode {
            self.advise(&stored.remedies);
        }
        for (key, secrets) in [("redacted", &stored.redacted), ("secrets_allowed", &stored.allowed)] {
            let listed: Vec<Value> = secrets.iter().map(|s| json!({"field": s.field, "rule": s.rule})).collect();
            if !listed.is_empty() {
                self.json.insert(key.to_owned(), Value::Array(listed));
            }
        }
        self.warnings.extend(stored.warnings.iter().cloned());
        self
    }

    /// Says what to do about what is degraded: as hints, and as `recovery_commands`.
    pub fn advise(&mut self, remedies: &[(String, Vec<String>)]) {
        let mut all: Vec<&String> = Vec::new();
        for (suggestion, commands) in remedies {
            for said in [suggestion].into_iter().chain(commands).filter(|said| !said.is_empty()) {
                if !self.hints.contains(said) {
                    self.hints.push(said.clone());
                }
            }
            for command in commands {
                if !all.contains(&command) {
                    all.push(command);
                }
            }
        }
        self.json.insert("recovery_commands".to_owned(), json!(all));
    }

    /// The exit code of the command.
    pub fn exit_code(&self) -> u8 {
        let failed = self.failed.as_ref().map_or(0, |error| error.kind().exit_code());
        if self.stops { GATE } else { failed }
    }

    /// The one document.
    pub fn document(&self) -> Value {
        let mut out = match self.failed.as_ref().map(failure) {
            Some(Value::Object(failed)) => failed,
            _ => Map::from_iter([("ok".to_owned(), json!(true))]),
        };
        out.extend(self.json.clone());
        if !self.warnings.is_empty() {
            out.insert("warning".to_owned(), json!(self.warnings.join("; ")));
            out.insert("warnings".to_owned(), json!(self.warnings));
        }
        count(&mut out);
        Value::Object(out)
    }
}

/// Sets `token_count` and `token_estimate`, where a document has them, to the tokens of that document, themselves included.
pub fn count(document: &mut Map<String, Value>) {
    let keys = ["token_count", "token_estimate"].into_iter().filter(|key| document.contains_key(*key));
    let keys: Vec<&str> = keys.collect();
    let mut tokens = 1000;
    for _ in 0..=2 * usize::from(!keys.is_empty()) {
        keys.iter().for_each(|key| drop(document.insert((*key).to_owned(), json!(tokens))));
        tokens = tokens::estimate(&safe::json(&Value::Object(document.clone())));
    }
}

/// The one document of a failure.
pub fn failure(error: &Error) -> Value {
    let all = |texts: &[String]| texts.iter().map(|text| told(text)).collect::<Vec<_>>();
    let mut out = json!({
        "ok": false,
        "error": told(&error.to_string()),
        "reason": told(&error.reason_text()),
        "suggestion": told(error.suggestion_text()),
        "alternatives": all(error.alternatives()),
        "recovery_commands": all(error.commands()),
    });
    if let (Some(provided), Value::Object(map)) = (error.provided_text(), &mut out) {
        map.insert("provided".to_owned(), json!(told(provided)));
    }
    out
}

/// A text of an error without secrets: it repeats what was given, and ends in logs and transcripts.
pub fn told(text: &str) -> String {
    redact_text(text).map_or_else(|| text.to_owned(), |(text, _)| text)
}

/// A failure as people read it: what happened, why, what to do.
pub fn failure_text(error: &Error) -> String {
    let shown = |text: &str| safe::lines(&told(text));
    let mut out = format!("error: {}\n", shown(&error.to_string()));
    let causes = error.causes();
    let reason = error.reason_text();
    if !reason.is_empty() {
        out.push_str(&format!("reason: {}\n", shown(&reason)));
    }
    if error.has_reason() {
        causes.iter().for_each(|cause| out.push_str(&format!("caused by: {}\n", shown(cause))));
    }
    // a command says by itself what to do
    let suggestion = error.suggestion_text();
    let is_needed = error.has_suggestion() || error.commands().is_empty();
    let others = error.alternatives().iter().filter(|other| !suggestion.contains(&format!("'{other}'")));
    let below = others.chain(error.commands());
    let indent = if is_needed { "  " } else { "" };
    if is_needed {
        out.push_str(&format!("hint: {}\n", shown(suggestion)));
    }
    below.for_each(|line| out.push_str(&format!("hint: {indent}{}\n", shown(line))));
    out
}

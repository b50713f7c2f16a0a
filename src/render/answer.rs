//! The answer of a command: a JSON document, a text, and messages.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::stored::StoreReport;
use crate::render::safe;
use crate::text::tokens;
use empirica_notes::error::{Argument, Command, Error, Terms, Text};
use empirica_notes::model::{Envelope, SessionId};
use empirica_notes::store::Storage;
use empirica_secrets::{Replaced, redact_text};

/// Exit code if a check failed: severe drift, or an error or a violation that `handoff --validate` finds.
const GATE: u8 = 3;

/// The keys that any document of a success has, or can have.
#[derive(Serialize, JsonSchema)]
pub struct SuccessView {
    /// Always true.
    ok: bool,
    /// What the user should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The warnings in one text, joined by `; `.
    #[serde(skip_serializing_if = "String::is_empty")]
    warning: String,
}

/// The size of the document.
#[derive(Serialize, JsonSchema)]
pub struct CountedView {
    /// The tokens that this document takes, estimated.
    token_count: usize,
}

/// Place of stored records.
#[derive(Serialize, JsonSchema)]
pub struct StoredView<'a> {
    /// Whether the notes, or even the repository's log, cannot be written.
    degraded_mode: bool,
    /// Where the records are now; null if nothing was stored.
    storage: Option<Storage>,
    /// Session started automatically because none was active.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_started: Option<BegunView<'a>>,
    /// If `degraded_mode` is true: commands that fix it or show more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    recovery_commands: Option<Vec<&'a Command>>,
    /// The secrets that were replaced.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    redacted: &'a [Replaced],
    /// Secrets stored unchanged, with `--allow-secret`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    secrets_allowed: &'a [Replaced],
}

/// A started session.
#[derive(Serialize, JsonSchema)]
struct BegunView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
}

impl<'a> From<&'a StoreReport> for StoredView<'a> {
    fn from(stored: &'a StoreReport) -> Self {
        let started = stored.session_started.as_ref();
        StoredView {
            degraded_mode: stored.degraded_mode,
            storage: stored.storage,
            session_started: started.map(|(session_id, ai_id)| BegunView { session_id, ai_id }),
            recovery_commands: stored.degraded_mode.then(|| commands(&stored.remedies)),
            redacted: &stored.redacted,
            secrets_allowed: &stored.allowed,
        }
    }
}

/// Author, time and place of a record.
#[derive(Serialize, JsonSchema)]
pub struct EnvelopeView<'a> {
    /// Its session; null for a record made outside sessions.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When it was made.
    timestamp: &'a str,
    /// The commit it is attached to; null if HEAD was unborn.
    commit: Option<&'a str>,
}

impl<'a> From<&'a Envelope> for EnvelopeView<'a> {
    fn from(envelope: &'a Envelope) -> Self {
        EnvelopeView {
            session_id: envelope.session.as_ref(),
            ai_id: &envelope.ai,
            timestamp: &envelope.at,
            commit: envelope.commit.as_deref(),
        }
    }
}

/// Distinct commands of remedies.
fn commands(remedies: &[(Text, Vec<Command>)]) -> Vec<&Command> {
    let mut all: Vec<&Command> = Vec::new();
    for command in remedies.iter().flat_map(|(_, commands)| commands) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}

pub(crate) fn keys(view: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(view) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

#[derive(Debug, Default)]
pub struct Answer {
    /// Keys of the JSON document, except `ok`.
    pub json: Map<String, Value>,
    /// Text for standard output.
    pub text: String,
    /// Messages for standard error, before the warnings.
    pub messages: Vec<String>,
    /// Warnings for standard error; in JSON `warnings`.
    pub warnings: Vec<Text>,
    /// Remedies for a degraded state; in JSON `recovery_commands`.
    recovery: Vec<Command>,
    /// Texts that name commands, by JSON pointer: each interface renders them in its own terms.
    remedies: Vec<(String, Text)>,
    /// Hints for standard error.
    pub hints: Vec<String>,
    /// Hints on how to work: session, kind, hint. A session gets each kind once.
    pub hints_once: Vec<(SessionId, String, String)>,
    pub paged: bool,
    /// Whether the text is quoted from records.
    pub quotes: bool,
    /// Whether the text is data for a program, written without colors.
    pub is_data: bool,
    /// Error of a command that fails with an answer: the document has the keys of both, the exit code is the error's.
    pub failed: Option<Error>,
    /// Whether a check failed: the command itself succeeded, and exits with 3.
    pub stops: bool,
}

impl Answer {
    /// Creates an answer with the keys of a view.
    pub fn new(view: impl Serialize) -> Self {
        Answer { json: keys(view), ..Default::default() }
    }

    /// Adds the keys of another view.
    pub fn with(mut self, view: impl Serialize) -> Self {
        self.json.extend(keys(view));
        self
    }

    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// Adds a message for standard error.
    pub fn say(mut self, line: impl Into<String>) -> Self {
        self.messages.push(line.into());
        self
    }

    pub fn warn(mut self, warnings: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.warnings.extend(warnings.into_iter().map(Into::into));
        self
    }

    pub fn hint(mut self, hint: impl Into<Text>) -> Self {
        self.hints.push(hint.into().to_string());
        self
    }

    /// Adds a hint given once per session and kind.
    pub fn hint_once(mut self, session: &SessionId, kind: impl Into<String>, hint: impl Into<Text>) -> Self {
        self.hints_once.push((session.clone(), kind.into(), hint.into().to_string()));
        self
    }

    /// Adds a text with commands at a JSON pointer; ignored if the document lacks the place.
    pub fn remedy(mut self, place: impl Into<String>, text: impl Into<Text>) -> Self {
        self.remedies.push((place.into(), text.into()));
        self
    }

    /// Adds the number of tokens of the document.
    pub fn counted(self) -> Self {
        self.with(CountedView { token_count: 0 })
    }

    /// Marks the answer as worth a pager.
    pub fn paged(mut self) -> Self {
        self.paged = true;
        self
    }

    /// Marks the text as quoted from records: it is fenced for whoever reads it without a terminal, such as an agent.
    pub fn quoting(mut self) -> Self {
        self.quotes = true;
        self
    }

    /// Marks the text as data for a program: no pager, no colors.
    pub fn data(mut self) -> Self {
        (self.is_data, self.paged) = (true, false);
        self
    }

    /// Adds the outcome of storing: `degraded_mode`, `storage`, `redacted`, `secrets_allowed`, warnings and remedies.
    /// The last call determines where the records are.
    pub fn stored(mut self, stored: &StoreReport) -> Self {
        self.json.remove("recovery_commands");
        self.json.extend(keys(StoredView::from(stored)));
        if let Some((session, ai)) = &stored.session_started {
            self.messages.insert(0, format!("Began session {} of {ai}.", session.short()));
        }
        if stored.degraded_mode {
            self.advise(&stored.remedies);
        }
        self.warnings.extend(stored.warnings.iter().cloned().map(Into::into));
        self
    }

    /// Adds remedies as hints and as `recovery_commands`.
    pub fn advise(&mut self, remedies: &[(Text, Vec<Command>)]) {
        self.recovery = remedies.iter().flat_map(|(_, commands)| commands.iter().cloned()).collect();
        for (suggestion, commands) in remedies {
            for line in [suggestion.to_string()].into_iter().chain(commands.iter().map(ToString::to_string)) {
                if !line.is_empty() && !self.hints.contains(&line) {
                    self.hints.push(line);
                }
            }
        }
        self.json.insert("recovery_commands".to_owned(), Value::Null);
    }

    pub fn exit_code(&self) -> u8 {
        let failed = self.failed.as_ref().map_or(0, |error| error.kind().exit_code());
        if self.stops { GATE } else { failed }
    }

    /// The JSON document, in the terms of an interface.
    pub fn document(&self, terms: &dyn Terms) -> Map<String, Value> {
        let warnings: Vec<String> = self.warnings.iter().map(|warning| warning.render(terms)).collect();
        let common = keys(SuccessView { ok: self.failed.is_none(), warning: warnings.join("; "), warnings });
        let mut out = match &self.failed {
            Some(error) => failure(error, terms),
            // the first key; its value follows
            None => Map::from_iter([("ok".to_owned(), Value::Null)]),
        };
        out.extend(self.json.clone());
        if self.json.contains_key("recovery_commands") {
            recovery(&mut out, &self.recovery, terms);
        }
        out.extend(common);
        let mut out = Value::Object(out);
        for (place, text) in &self.remedies {
            if let Some(value) = out.pointer_mut(place) {
                *value = json!(text.render(terms));
            }
        }
        let Value::Object(mut out) = out else { return Map::new() };
        count(&mut out);
        out
    }
}

/// Sets `token_count` and `token_estimate`, if present, to the tokens of the document, including these keys.
pub fn count(document: &mut Map<String, Value>) {
    let keys = ["token_count", "token_estimate"].into_iter().filter(|key| document.contains_key(*key));
    let keys: Vec<&str> = keys.collect();
    let mut tokens = 1000;
    for _ in 0..=2 * usize::from(!keys.is_empty()) {
        keys.iter().for_each(|key| drop(document.insert((*key).to_owned(), json!(tokens))));
        tokens = tokens::estimate(&safe::json(&Value::Object(document.clone())));
    }
}

/// A failed command. One that fails with an answer has its own keys, too.
#[derive(Serialize, JsonSchema)]
pub struct FailureView {
    /// Always false.
    ok: bool,
    /// What happened.
    error: String,
    /// Why.
    reason: String,
    /// Advice.
    suggestion: String,
    /// Valid values.
    alternatives: Vec<String>,
    /// Commands that fix it or show more, ready to run; may be empty.
    recovery_commands: Vec<String>,
    /// The given name or value, if that was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    provided: Option<String>,
}

/// The JSON document of a failure, in the terms of an interface.
pub fn failure(error: &Error, terms: &dyn Terms) -> Map<String, Value> {
    let mut out = keys(FailureView {
        ok: false,
        error: redacted_text(&error.message().render(terms)),
        reason: redacted_text(&error.reason_text().render(terms)),
        suggestion: redacted_text(&error.suggestion_text().render(terms)),
        alternatives: error.alternatives().iter().map(|text| redacted_text(text)).collect(),
        recovery_commands: Vec::new(),
        provided: error.provided_text().map(redacted_text),
    });
    recovery(&mut out, error.commands(), terms);
    out
}

/// Sets `recovery_commands` to the interface's calls for the commands, and `shell_commands` to lines of commands
/// without a call.
fn recovery(document: &mut Map<String, Value>, commands: &[Command], terms: &dyn Terms) {
    let (mut calls, mut lines) = (Vec::new(), Vec::new());
    for command in commands {
        let (list, line) = match terms.call(command) {
            Some(call) => (&mut calls, call),
            // an interface without help offers it elsewhere
            None if command.arguments.contains(&Argument::Flag("-h")) => continue,
            None => (&mut lines, command.to_string()),
        };
        let line = redacted_text(&line);
        if !list.contains(&line) {
            list.push(line);
        }
    }
    document.insert("recovery_commands".to_owned(), json!(calls));
    if !lines.is_empty() {
        document.insert("shell_commands".to_owned(), json!(lines));
    }
}

/// Removes secrets from a text of an error, as errors repeat input and end up in logs and transcripts.
pub fn redacted_text(text: &str) -> String {
    redact_text(text).map_or_else(|| text.to_owned(), |(text, _)| text)
}

/// A failure for people: message, cause, advice, each with its label.
pub fn failure_lines(error: &Error) -> Vec<(&'static str, String)> {
    let shown = |text: &str| safe::lines(&redacted_text(text));
    let mut out = vec![("error", shown(&error.to_string()))];
    let reason = error.reason_text().to_string();
    if !reason.is_empty() {
        out.push(("reason", shown(&reason)));
    }
    if error.has_reason() {
        out.extend(error.causes().iter().map(|cause| ("caused by", shown(cause))));
    }
    // commands need no further advice
    let suggestion = error.suggestion_text().to_string();
    let is_needed = error.has_suggestion() || error.commands().is_empty();
    let indent = if is_needed { "  " } else { "" };
    if is_needed {
        out.push(("hint", shown(&suggestion)));
    }
    let others = error.alternatives().iter().filter(|other| !suggestion.contains(&format!("'{other}'"))).cloned();
    let lines = others.chain(error.commands().iter().map(ToString::to_string));
    out.extend(lines.map(|line| ("hint", format!("{indent}{}", shown(&line)))));
    out
}

//! What a command answers: a document for programs, a text for people, and what is said aside.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::stored::StoreReport;
use crate::render::safe;
use crate::text::tokens;
use empirica_notes::error::{Argument, Command, Error, Terms, Text};
use empirica_notes::model::SessionId;
use empirica_notes::store::Storage;
use empirica_secrets::{Replaced, redact_text};

/// The exit code when a gate says stop.
const GATE: u8 = 3;

/// Where records were stored.
#[derive(Serialize, JsonSchema)]
pub struct StoredView<'a> {
    /// Whether the records are not where they should be, because the notes, or not even the repository's log, could be written.
    degraded_mode: bool,
    /// Where the records are now; null when there was nothing to store.
    storage: Option<Storage>,
    /// The session that the command began because none was active.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_started: Option<BegunView<'a>>,
    /// With `degraded_mode` true: the commands that mend that, or show more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    recovery_commands: Option<Vec<&'a Command>>,
    /// The secrets that were replaced.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    redacted: &'a [Replaced],
    /// The secrets that were stored as they are, with `--allow-secret`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    secrets_allowed: &'a [Replaced],
}

/// A session that began.
#[derive(Serialize, JsonSchema)]
struct BegunView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
}

impl<'a> From<&'a StoreReport> for StoredView<'a> {
    fn from(stored: &'a StoreReport) -> Self {
        let begun = stored.session_started.as_ref();
        StoredView {
            degraded_mode: stored.degraded_mode,
            storage: stored.storage,
            session_started: begun.map(|(session_id, ai_id)| BegunView { session_id, ai_id }),
            recovery_commands: stored.degraded_mode.then(|| commands(&stored.remedies)),
            redacted: &stored.redacted,
            secrets_allowed: &stored.allowed,
        }
    }
}

/// The commands of remedies, each once.
fn commands(remedies: &[(Text, Vec<Command>)]) -> Vec<&Command> {
    let mut all: Vec<&Command> = Vec::new();
    for command in remedies.iter().flat_map(|(_, commands)| commands) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}

/// The keys of a view.
pub(crate) fn keys(view: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(view) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

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
    pub warnings: Vec<Text>,
    /// What to do about what is degraded; under `recovery_commands`.
    recovery: Vec<Command>,
    /// Texts of the document that name commands, by their place in it: each interface renders them in its terms.
    remedies: Vec<(String, Text)>,
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
    /// An answer with the keys of a view.
    pub fn new(view: impl Serialize) -> Self {
        Answer { json: keys(view), ..Default::default() }
    }

    /// Adds the keys of another view.
    pub fn with(mut self, view: impl Serialize) -> Self {
        self.json.extend(keys(view));
        self
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
    pub fn warn(mut self, warnings: impl IntoIterator<Item = impl Into<Text>>) -> Self {
        self.warnings.extend(warnings.into_iter().map(Into::into));
        self
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<Text>) -> Self {
        self.hints.push(hint.into().to_string());
        self
    }

    /// Adds a hint that a session is given once of its kind.
    pub fn hint_once(mut self, session: &SessionId, kind: impl Into<String>, hint: impl Into<Text>) -> Self {
        self.hints_once.push((session.clone(), kind.into(), hint.into().to_string()));
        self
    }

    /// Names commands at a place of the document, a JSON pointer; nothing where the document has no such place.
    pub fn remedy(mut self, place: impl Into<String>, text: impl Into<Text>) -> Self {
        self.remedies.push((place.into(), text.into()));
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
    pub fn stored(mut self, stored: &StoreReport) -> Self {
        self.json.remove("recovery_commands");
        self.json.extend(keys(StoredView::from(stored)));
        if let Some((session, ai)) = &stored.session_started {
            self.said.insert(0, format!("Began session {} of {ai}.", session.short()));
        }
        if stored.degraded_mode {
            self.advise(&stored.remedies);
        }
        self.warnings.extend(stored.warnings.iter().cloned().map(Into::into));
        self
    }

    /// Says what to do about what is degraded: as hints, and as `recovery_commands`.
    pub fn advise(&mut self, remedies: &[(Text, Vec<Command>)]) {
        self.recovery = remedies.iter().flat_map(|(_, commands)| commands.iter().cloned()).collect();
        for (suggestion, commands) in remedies {
            for said in [suggestion.to_string()].into_iter().chain(commands.iter().map(ToString::to_string)) {
                if !said.is_empty() && !self.hints.contains(&said) {
                    self.hints.push(said);
                }
            }
        }
        self.json.insert("recovery_commands".to_owned(), Value::Null);
    }

    /// The exit code of the command.
    pub fn exit_code(&self) -> u8 {
        let failed = self.failed.as_ref().map_or(0, |error| error.kind().exit_code());
        if self.stops { GATE } else { failed }
    }

    /// The one document, in the terms of an interface.
    pub fn document(&self, terms: &dyn Terms) -> Map<String, Value> {
        let mut out = match &self.failed {
            Some(error) => failure(error, terms),
            None => Map::from_iter([("ok".to_owned(), json!(true))]),
        };
        out.extend(self.json.clone());
        if self.json.contains_key("recovery_commands") {
            recovery(&mut out, &self.recovery, terms);
        }
        if !self.warnings.is_empty() {
            let warnings: Vec<String> = self.warnings.iter().map(|warning| warning.render(terms)).collect();
            out.insert("warning".to_owned(), json!(warnings.join("; ")));
            out.insert("warnings".to_owned(), json!(warnings));
        }
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

/// The command did not do what it was asked to. A command that fails although it answers has its own keys, too.
#[derive(Serialize, JsonSchema)]
pub struct FailureView {
    /// Always false.
    ok: bool,
    /// What happened.
    error: String,
    /// Why.
    reason: String,
    /// What to do.
    suggestion: String,
    /// Values that would have worked.
    alternatives: Vec<String>,
    /// Commands that mend it or show more, ready to run; empty where no command can help.
    recovery_commands: Vec<String>,
    /// What was given, if a name or value was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    provided: Option<String>,
}

/// The one document of a failure, in the terms of an interface.
pub fn failure(error: &Error, terms: &dyn Terms) -> Map<String, Value> {
    let mut out = keys(FailureView {
        ok: false,
        error: told(&error.message().render(terms)),
        reason: told(&error.reason_text().render(terms)),
        suggestion: told(&error.suggestion_text().render(terms)),
        alternatives: error.alternatives().iter().map(|text| told(text)).collect(),
        recovery_commands: Vec::new(),
        provided: error.provided_text().map(told),
    });
    recovery(&mut out, error.commands(), terms);
    out
}

/// Sets `recovery_commands` to the calls that do what the commands do, and `shell_commands` to the lines of those without a call.
fn recovery(document: &mut Map<String, Value>, commands: &[Command], terms: &dyn Terms) {
    let (mut calls, mut lines) = (Vec::new(), Vec::new());
    for command in commands {
        let (list, line) = match terms.call(command) {
            Some(call) => (&mut calls, call),
            // an interface that has no help has it elsewhere
            None if command.arguments.contains(&Argument::Flag("-h")) => continue,
            None => (&mut lines, command.to_string()),
        };
        let line = told(&line);
        if !list.contains(&line) {
            list.push(line);
        }
    }
    document.insert("recovery_commands".to_owned(), json!(calls));
    if !lines.is_empty() {
        document.insert("shell_commands".to_owned(), json!(lines));
    }
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
    let reason = error.reason_text().to_string();
    if !reason.is_empty() {
        out.push_str(&format!("reason: {}\n", shown(&reason)));
    }
    if error.has_reason() {
        causes.iter().for_each(|cause| out.push_str(&format!("caused by: {}\n", shown(cause))));
    }
    // a command says by itself what to do
    let suggestion = error.suggestion_text().to_string();
    let is_needed = error.has_suggestion() || error.commands().is_empty();
    let others = error.alternatives().iter().filter(|other| !suggestion.contains(&format!("'{other}'")));
    let commands: Vec<String> = error.commands().iter().map(ToString::to_string).collect();
    let below = others.chain(&commands);
    let indent = if is_needed { "  " } else { "" };
    if is_needed {
        out.push_str(&format!("hint: {}\n", shown(&suggestion)));
    }
    below.for_each(|line| out.push_str(&format!("hint: {indent}{}\n", shown(line))));
    out
}

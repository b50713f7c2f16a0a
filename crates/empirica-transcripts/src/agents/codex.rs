//! Rollouts of Codex CLI: items of the conversation, and events that repeat them.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::agents::format::{Format, Match, Reader, RowFormat, Sessions};
use crate::model::{Agent, Role, Tokens};
use crate::read::block::Blocks;
use crate::read::call::Call;
use crate::read::keys::Keys;
use crate::read::lenient::{Count, Flag, Text, lenient, string};
use crate::summary::answers;
use crate::summary::fold::Fold;
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::Codex,
    tools: &[("shell", "shell"), ("local_shell", "shell"), ("container.exec", "shell"), ("exec", "shell")],
    data: (Some("CODEX_HOME"), ".codex"),
    sessions: Sessions::Rows(RowFormat {
        files: &["sessions/*/*/*/*.jsonl"],
        matches: |row| {
            let kinds = ["session_meta", "turn_context", "response_item", "event_msg", "compacted"];
            let is_known = row.text("type").is_some_and(|kind| kinds.contains(&kind.as_str()));
            Match::of(is_known && row.has_object("payload"))
        },
        reader: || Box::<Codex>::default(),
        folder_by_path: |_, _| None,
        folder_in_row: |row, _| row.object("payload").text("cwd"),
    }),
};

lenient! {
    /// Numbers of tokens; `input` includes cached ones.
    Usage {
        input: Count = "input_tokens",
        cached: Count = "cached_input_tokens",
        output: Count = "output_tokens",
    }

    /// Token usage.
    Info {
        total: Option<Usage<'a>> = "total_token_usage",
        last: Option<Usage<'a>> = "last_token_usage",
    }

    /// The state of the repository.
    Git {
        commit: Text<'a> = "commit_hash",
        branch: Text<'a> = "branch",
    }

    /// The content of a row.
    Payload {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        timestamp: Text<'a> = "timestamp",
        cwd: Text<'a> = "cwd",
        model: Text<'a> = "model",
        git: Git<'a> = "git",
        role: Text<'a> = "role",
        content: Blocks<'a> = "content",
        message: Text<'a> = "message",
        name: Text<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
        input: Option<&'a RawValue> = "input",
        call: Text<'a> = "call_id",
        status: Text<'a> = "status",
        output: Option<&'a RawValue> = "output",
        action: Option<&'a RawValue> = "action",
        info: Info<'a> = "info",
        success: Flag = "success",
    }

    Row {
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        payload: Payload<'a> = "payload",
    }

    /// The result of a command.
    Metadata {
        exit: Option<&'a RawValue> = "exit_code",
    }

    Output {
        output: Text<'a> = "output",
        content: Blocks<'a> = "content",
        success: Flag = "success",
        metadata: Metadata<'a> = "metadata",
        exit: Option<&'a RawValue> = "exit_code",
    }
}

/// Reads the rows of a rollout.
#[derive(Debug, Default)]
pub struct Codex {
    /// The number of times each text came as an item and as an event.
    counts: HashMap<u64, [u32; 2]>,
    /// The calls that modified files, in the order of their results; a later event can still mark one as failed.
    edits: Vec<Edit>,
    /// The index in `edits` by call id.
    edit_indices: HashMap<u64, usize>,
}

/// A call that modified files.
#[derive(Debug)]
struct Edit {
    category: Option<usize>,
    files: Vec<String>,
}

#[derive(Clone, Copy)]
enum Source {
    Item,
    Event,
}

impl Codex {
    /// Adds a message, unless it came as often from the other source.
    fn add_message(&mut self, source: Source, role: Role, text: &str, at: Option<&str>, fold: &mut Fold) {
        let number = fold.hash(text.trim()) ^ (role == Role::User) as u64;
        let times = self.counts.entry(number).or_default();
        let most = times[0].max(times[1]);
        times[source as usize] += 1;
        if times[source as usize] > most {
            fold.add_message(role, text, at);
        }
    }

    fn item(&mut self, payload: &Payload, at: Option<&str>, fold: &mut Fold) {
        let (call, name) = (payload.call.get(), payload.name.get().unwrap_or_default());
        match payload.kind.get() {
            Some("message") => {
                let parts = payload.content.texts();
                match payload.role.get() {
                    Some("user") => {
                        let own: Vec<&str> = parts.into_iter().filter_map(words::user_text).collect();
                        self.add_message(Source::Item, Role::User, &own.join("\n"), at, fold);
                    }
                    Some("assistant") => self.add_message(Source::Item, Role::Assistant, &parts.join("\n"), at, fold),
                    _ => {}
                }
            }
            Some("function_call") => self.call(name, payload.arguments, call, fold),
            Some("custom_tool_call") => self.call(name, payload.input.or(payload.arguments), call, fold),
            Some("local_shell_call") => self.call("local_shell", payload.action, call.or(payload.id.get()), fold),
            Some("web_search_call") => {
                let action = payload.action.and_then(|raw| serde_json::from_str::<Keys>(raw.get()).ok());
                let is_page = action.is_some_and(|action| action.text("url").is_some());
                let name = if is_page { "web_fetch" } else { "web_search" };
                self.call(name, payload.action, call.or(payload.id.get()), fold);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                if let Some(id) = call {
                    self.output(id, payload.output, fold);
                }
            }
            _ => {}
        }
    }

    fn call(&self, name: &str, input: Option<&RawValue>, id: Option<&str>, fold: &mut Fold) {
        fold.add_call(None, id, Call::of(FORMAT.tools, name, input, fold.folder.as_deref()));
    }

    fn event(&mut self, payload: &Payload, at: Option<&str>, fold: &mut Fold) {
        let text = payload.message.get().unwrap_or_default();
        match payload.kind.get() {
            Some("user_message") => {
                self.add_message(Source::Event, Role::User, words::user_text(text).unwrap_or_default(), at, fold);
            }
            Some("agent_message") => self.add_message(Source::Event, Role::Assistant, text, at, fold),
            Some("token_count") => {
                if let Some(total) = &payload.info.total {
                    fold.set_usage(None, tokens(total));
                }
                if let Some(last) = payload.info.last.as_ref().map(tokens).filter(|last| last.sum() > 0) {
                    fold.out.context_tokens = Some(last.sum());
                }
            }
            Some("patch_apply_end") => {
                let refused = matches!(payload.status.get(), Some("declined" | "failed"));
                if let Some(id) = payload.call.get().filter(|_| refused || payload.success.is_false()) {
                    self.fail(id, fold);
                }
            }
            _ => {}
        }
    }

    /// Marks a call as failed, regardless of its output.
    fn fail(&mut self, id: &str, fold: &mut Fold) {
        if fold.take_call(id, true).is_some() {
            return;
        }
        let index = self.edit_indices.remove(&fold.hash(id));
        let Some(edit) = index.and_then(|index| self.edits.get_mut(index)) else { return };
        edit.files = Vec::new();
        if let Some(category) = edit.category {
            fold.add_failure(None, category);
        }
    }

    fn output(&mut self, id: &str, raw: Option<&RawValue>, fold: &mut Fold) {
        let raw = raw.map_or("", RawValue::get);
        let text = string(raw).unwrap_or_default();
        let inner = if raw.starts_with('{') { raw } else { text.trim_start() };
        let output: Output =
            if inner.starts_with('{') { serde_json::from_str(inner).unwrap_or_default() } else { Output::default() };
        let listed = raw.starts_with('[').then(|| serde_json::from_str::<Blocks>(raw).unwrap_or_default());
        let parts = listed.as_ref().unwrap_or(&output.content).texts().join("\n");
        let output_text = [output.output.get(), Some(parts.as_str()), Some(text.as_str())];
        let output_text = output_text.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default();
        let number = |code: Option<&RawValue>| serde_json::from_str::<f64>(code?.get()).ok();
        let code = number(output.metadata.exit).or(number(output.exit)).map(|code| code != 0.0);
        // in a text, it was printed by the command
        let denied = raw.starts_with('{') && output.success.is_false();
        let failed = denied || code.unwrap_or_else(|| is_failure(output_text));
        let Some(open) = fold.take_call(id, failed).filter(|_| !failed) else { return };
        if !open.questions.is_empty() {
            answers::add_answers(&open.questions, inner, output_text, fold);
        }
        if !open.files.is_empty() {
            self.edit_indices.insert(fold.hash(id), self.edits.len());
            self.edits.push(Edit { category: open.category, files: open.files });
        }
    }
}

fn tokens(usage: &Usage) -> Tokens {
    let cached = usage.cached.get().min(usage.input.get());
    Tokens { input: usage.input.get() - cached, output: usage.output.get(), cache_read: cached, cache_write: 0 }
}

/// The most lines before the output of a command.
const HEAD: usize = 6;

/// How the outputs of failed edits and scripts begin.
const FAILURES: [&str; 10] = [
    "patch rejected",
    "aborted",
    "rejected by user",
    "Failed to find expected lines",
    "apply_patch verification failed",
    "Script failed",
    "exec_command failed",
    "failed to spawn",
    "execution error",
    "failed to parse",
];

/// Whether a text reports a failure, before the command's own output.
fn is_failure(text: &str) -> bool {
    if FAILURES.iter().any(|failure| text.trim_start().starts_with(failure)) {
        return true;
    }
    let mut head = text.lines().map(str::trim).take(HEAD).take_while(|line| *line != "Output:");
    let code = |line: &str| {
        let rest = line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: "))?;
        Some(rest.trim_end_matches('.').trim() != "0")
    };
    head.find_map(code).unwrap_or(false)
}

impl Reader for Codex {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
        let (payload, at) = (&row.payload, row.timestamp.get());
        fold.add_time(at);
        match row.kind.get() {
            Some("session_meta") => {
                fold.set_cwd(payload.cwd.get());
                fold.add_time(payload.timestamp.get());
                // in a forked session, the rows of the original session follow
                let out = &mut fold.out;
                payload.id.set_first(&mut out.session_id);
                payload.git.commit.set_first(&mut out.commit);
                payload.git.branch.set_first(&mut out.branch);
            }
            Some("turn_context") => {
                fold.set_cwd(payload.cwd.get());
                payload.model.set(&mut fold.out.model);
            }
            Some("response_item") => self.item(payload, at, fold),
            Some("event_msg") => self.event(payload, at, fold),
            Some("compacted") => fold.set_summary(payload.message.get().unwrap_or_default()),
            _ => {}
        }
        true
    }
    fn end(&mut self, fold: &mut Fold) {
        self.edit_indices.clear();
        self.edits.drain(..).for_each(|edit| fold.add_files(None, edit.files));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::model::Transcript;
    use crate::reader::read_from;

    fn row(kind: &str, payload: Value) -> String {
        json!({"type": kind, "payload": payload}).to_string() + "\n"
    }

    fn call(id: &str, path: &str) -> String {
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n*** End Patch");
        row("response_item", json!({"type": "custom_tool_call", "call_id": id, "name": "apply_patch", "input": patch}))
    }

    fn output(id: &str, text: &str) -> String {
        row("response_item", json!({"type": "custom_tool_call_output", "call_id": id, "output": text}))
    }

    fn summary_of(rows: &[String]) -> Transcript {
        let start = row("session_meta", json!({"id": "s", "cwd": "/r"}));
        read_from((start + &rows.concat()).as_bytes(), None).unwrap()
    }

    #[test]
    fn an_edit_whose_output_begins_as_that_of_a_failure_modified_nothing() {
        for text in super::FAILURES.map(|text| format!("{text}: because")) {
            for output in [output("1", &text), output("1", &json!({"output": text}).to_string())] {
                let found = summary_of(&[call("1", "a"), output]);
                assert_eq!((found.files_modified.len(), found.tools[0].errors), (0, 1), "{text}");
            }
        }
        for text in ["Success. Updated the following files:\nA a", "Exit code: 0\nOutput:\nScript failed", "Aborted"] {
            let found = summary_of(&[call("1", "a"), output("1", text)]);
            assert_eq!((found.files_modified.len(), found.tools[0].errors), (1, 0), "{text}");
        }
    }

    #[test]
    fn an_event_of_a_patch_that_was_not_applied_counts_before_and_after_the_output() {
        let event = |more: Value| {
            let mut event = json!({"type": "patch_apply_end", "call_id": "1"});
            event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            row("event_msg", event)
        };
        let (first, done) = (call("1", "a"), output("1", "Done"));
        let second = [call("2", "b"), output("2", "Done"), call("3", "a"), output("3", "Done")].concat();
        for more in [json!({"success": false}), json!({"status": "declined"}), json!({"status": "failed"})] {
            let event = event(more);
            for rows in [[&first, &event, &done, &event], [&first, &done, &event, &event]] {
                let found = summary_of(&[rows.map(String::as_str).concat(), second.clone()]);
                assert_eq!(
                    (found.files_modified.as_slice(), found.tools[0].errors),
                    (["b".to_owned(), "a".into()].as_slice(), 1)
                );
            }
        }
        let found = summary_of(&[first, event(json!({"success": true, "status": "completed"})), done, second]);
        assert_eq!(
            (found.files_modified.as_slice(), found.tools[0].errors),
            (["a".to_owned(), "b".into()].as_slice(), 0)
        );
    }
}

//! Rollouts of Codex CLI: items of the conversation, and events that repeat them. Each subagent has its own.

mod item;
mod script;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};

use serde_json::value::RawValue;

use crate::agents::codex::item::{Item, Thread};
use crate::agents::codex::script::Script;
use crate::agents::format::{Format, Match, NamedRepository, Reader, RowFormat, Sessions, read_subagent};
use crate::model::{Agent, Role, Tokens};
use crate::read::block::Blocks;
use crate::read::call::{Call, category_index};
use crate::read::exit;
use crate::read::files::{entries, matching};
use crate::read::keys::Keys;
use crate::read::lenient::{Count, Flag, Text, lenient, string};
use crate::summary::answers;
use crate::summary::fold::{Fold, OpenCall, Owner, parsed};
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::Codex,
    tools: &[
        ("shell", "shell"),
        ("local_shell", "shell"),
        ("container.exec", "shell"),
        ("exec", "shell"),
        ("write_stdin", "shell"),
        ("view_image", "read"),
        ("spawn_agent", "task"),
        ("wait_agent", "task"),
        ("wait", "task"),
        ("close_agent", "task"),
        ("resume_agent", "task"),
        ("send_input", "task"),
        ("send_message", "task"),
        ("followup_task", "task"),
        ("interrupt_agent", "task"),
        ("list_agents", "task"),
    ],
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
        folder_in_row,
        repository_in_row: |row| {
            let payload = row.object("payload");
            let git = payload.object("git");
            NamedRepository { root: None, commit: git.text("commit_hash"), remote: git.text("repository_url") }
        },
    }),
};

/// The folder of a session; that of a subagent's rollout is nowhere, as it is not a separate session.
fn folder_in_row(row: &Keys, _: &Path) -> Option<String> {
    let payload = row.object("payload");
    let is_subagent = payload.has("parent_thread_id") || payload.object("source").has("subagent");
    if is_subagent { Some(String::new()) } else { payload.text("cwd") }
}

lenient! {
    /// Numbers of tokens; `input` includes cached ones.
    Usage {
        input: Count = "input_tokens",
        cached: Count = "cached_input_tokens",
        cache_write: Count = "cache_write_input_tokens",
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
        item: Option<&'a RawValue> = "item",
        forked: Text<'a> = "forked_from_id",
        turn: Text<'a> = "turn_id",
        response: Text<'a> = "response_id",
        usage: Usage<'a> = "usage",
        /// Of an event with tokens in older versions.
        input_tokens: Count = "input_tokens",
        cached_tokens: Count = "cached_input_tokens",
        output_tokens: Count = "output_tokens",
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
        agent: Text<'a> = "agent_id",
    }
}

/// Reads the rows of a rollout.
#[derive(Debug, Default)]
pub struct Codex {
    owner: Owner,
    /// The id of the session or subagent, and the time of its start.
    id: Option<String>,
    began: Option<DateTime<Utc>>,
    is_fork: bool,
    /// The tokens before the fork: the sums of a forked session begin with them.
    base: Option<Tokens>,
    /// Whether a forked session has the tokens of each response.
    has_usage: bool,
    scripts: Vec<Script>,
    threads: VecDeque<Thread>,
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

/// The longest time in which the rows of a fork are copied.
const AT_ONCE: TimeDelta = TimeDelta::seconds(3);

#[derive(Clone, Copy)]
enum Source {
    Item,
    Event,
}

impl Codex {
    /// Adds a message, unless it came as often from the other source.
    fn add_message(&mut self, source: Source, role: Role, text: &str, at: Option<&str>, fold: &mut Fold) {
        if self.owner.is_some() {
            return;
        }
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
            // of a script's cell
            Some("function_call")
                if name == "wait" && payload.arguments.is_some_and(|raw| raw.get().contains("cell_id")) =>
            {
                self.call("write_stdin", payload.arguments, call, fold);
            }
            Some("function_call") => self.call(name, payload.arguments, call, fold),
            Some("custom_tool_call") if name == "exec" => self.script(payload.input, call, fold),
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
        fold.add_call(self.owner, id, Call::of(FORMAT.tools, name, input, fold.folder.as_deref()));
    }

    fn script(&mut self, input: Option<&RawValue>, id: Option<&str>, fold: &mut Fold) {
        let text = input.and_then(|raw| string(raw.get())).unwrap_or_default();
        let is_patch = text.contains("apply_patch(") && !text.contains("exec_command(");
        let mut call = Call::of(FORMAT.tools, "exec", input, fold.folder.as_deref());
        call.todos = script::plan(&text);
        if let Some(id) = id {
            let id = fold.hash(id);
            self.scripts.push(Script { id, call, is_patch, has_items: false, has_failed: false });
        } else {
            fold.add_call(self.owner, None, call);
        }
    }

    /// Adds the call of a script that ended, or whose end is unknown, unless its items or its plan tell what it did.
    fn end_script(&self, id: Option<&str>, script: Script, failed: bool, fold: &mut Fold) {
        let is_told = script.has_items || script.call.todos.is_some();
        let mut call = script.call;
        if let Some(todos) = call.todos.take().filter(|_| self.owner.is_none() && !failed) {
            fold.update_todos(todos);
        }
        if failed && script.is_patch {
            // a failed patch has no item
            call.category = category_index("edit");
        }
        if !is_told || failed && !script.has_failed {
            fold.add_call(self.owner, id, call);
        }
    }

    /// Reads an item: the failure of a call, or the call of a script.
    fn completed(&mut self, raw: &RawValue, fold: &mut Fold) {
        let Ok(item) = serde_json::from_str::<Item>(raw.get()) else { return };
        if !fold.is_copy {
            self.threads.extend(item.threads());
        }
        let Some(id) = item.id.get() else { return };
        let failed = item.has_failed();
        if fold.has_call(id) {
            if failed {
                self.fail(id, fold);
            }
        } else if let Some(call) = item.call(raw, fold) {
            for script in &mut self.scripts {
                script.has_items = true;
                script.has_failed |= failed;
            }
            fold.add_call(self.owner, Some(id), call);
            if let Some(open) = fold.take_call(id, failed).filter(|_| !failed) {
                self.add_edit(id, open, fold);
            }
        }
    }

    /// Whether a row of a forked session was copied. Copies are written at once, before the first own turn; ids of
    /// turns begin with their time, as those of sessions.
    fn is_copy(&mut self, row: &Row, fold: &Fold) -> bool {
        if !fold.is_copy {
            return false;
        }
        let is_ordered = |id: &str| id.len() == 36 && id.as_bytes()[14] == b'7';
        match (row.payload.turn.get(), self.id.as_deref()) {
            (Some(turn), Some(id)) if is_ordered(turn) && is_ordered(id) => turn < id,
            _ => {
                let at = row.timestamp.get().and_then(parsed);
                self.began.zip(at).is_none_or(|(began, at)| at - began < AT_ONCE)
            }
        }
    }

    fn meta(&mut self, payload: &Payload, at: Option<&str>, fold: &mut Fold) {
        if self.id.is_some() {
            // in a forked session, the rows of the original session follow
            if payload.id.get() != self.id.as_deref() {
                (self.is_fork, fold.is_copy) = (true, true);
                if self.owner.is_none() {
                    payload.id.set_first(&mut fold.out.parent);
                }
            }
            return;
        }
        payload.id.set(&mut self.id);
        self.began = payload.timestamp.get().or(at).and_then(parsed);
        fold.set_cwd(payload.cwd.get());
        fold.add_time(payload.timestamp.get());
        self.is_fork = payload.forked.get().is_some();
        fold.is_copy = self.is_fork;
        if self.owner.is_none() {
            let out = &mut fold.out;
            payload.id.set_first(&mut out.session_id);
            payload.forked.set_first(&mut out.parent);
            payload.git.commit.set_first(&mut out.commit);
            payload.git.branch.set_first(&mut out.branch);
        }
    }

    /// Sets or adds tokens. A forked session has the tokens of each response, or sums that include its parent's.
    fn tokens(&mut self, payload: &Payload, fold: &mut Fold) {
        let total = payload.info.total.as_ref().map(tokens);
        if fold.is_copy {
            self.base = total.or(self.base);
            return;
        }
        let last = payload.info.last.as_ref().map(tokens);
        if let Some(last) = last.filter(|last| last.sum() > 0 && self.owner.is_none()) {
            fold.out.context_tokens = Some(last.sum());
        }
        let flat = Usage {
            input: payload.input_tokens,
            cached: payload.cached_tokens,
            output: payload.output_tokens,
            ..Usage::default()
        };
        match total {
            Some(total) if !self.has_usage => fold.set_usage(self.owner, total.minus(self.base.unwrap_or_default())),
            Some(_) => {}
            None => fold.add_usage(self.owner, None, tokens(&flat)),
        }
    }

    fn event(&mut self, payload: &Payload, at: Option<&str>, fold: &mut Fold) {
        let text = payload.message.get().unwrap_or_default();
        match payload.kind.get() {
            Some("user_message") => {
                self.add_message(Source::Event, Role::User, words::user_text(text).unwrap_or_default(), at, fold);
            }
            Some("agent_message") => self.add_message(Source::Event, Role::Assistant, text, at, fold),
            Some("token_count") => self.tokens(payload, fold),
            Some("item_completed") => {
                if let Some(item) = payload.item {
                    self.completed(item, fold);
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
            fold.add_failure(self.owner, category);
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
        let code = exit::has_failed(output.metadata.exit).or(exit::has_failed(output.exit));
        // in a text, it was printed by the command
        let denied = raw.starts_with('{') && output.success.is_false();
        let failed = denied || code.unwrap_or_else(|| is_failure(output_text));
        if let Some(thread) = output.agent.get().filter(|_| !fold.is_copy) {
            self.threads.push_back(Thread { id: thread.to_owned(), name: None });
        }
        let number = fold.hash(id);
        if let Some(place) = self.scripts.iter().position(|script| script.id == number) {
            let script = self.scripts.remove(place);
            self.end_script(Some(id), script, failed, fold);
        }
        let Some(open) = fold.take_call(id, failed).filter(|_| !failed) else { return };
        if !open.questions.is_empty() {
            answers::add_answers(&open.questions, inner, output_text, fold);
        }
        self.add_edit(id, open, fold);
    }

    fn add_edit(&mut self, id: &str, open: OpenCall, fold: &Fold) {
        if !open.files.is_empty() {
            self.edit_indices.insert(fold.hash(id), self.edits.len());
            self.edits.push(Edit { category: open.category, files: open.files });
        }
    }
}

fn tokens(usage: &Usage) -> Tokens {
    let cached = usage.cached.get().min(usage.input.get());
    let cache_write = usage.cache_write.get().min(usage.input.get() - cached);
    let input = usage.input.get() - cached - cache_write;
    Tokens { input, output: usage.output.get(), cache_read: cached, cache_write }
}

/// The length of a rollout's end that is searched for an exit code, in bytes.
const END: u64 = 256 << 10;

/// The exit code of a call's command, if the end of a rollout has it. Codex CLI writes it before it runs hooks, and does
/// not tell it to them.
pub fn exit_code(rollout: &Path, call: &str) -> Option<i64> {
    let mut file = File::open(rollout).ok()?;
    let length = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    let mut end = Vec::new();
    file.take(END).read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    end.lines().rev().filter(|line| line.contains(call)).find_map(|line| {
        let row = serde_json::from_str::<Row>(line).ok()?;
        let item = serde_json::from_str::<Item>(row.payload.item?.get()).ok()?;
        serde_json::from_str(item.exit.filter(|_| item.id.get() == Some(call))?.get()).ok()
    })
}

/// The files of the days from that of a rollout on, where those of its subagents are.
fn rollouts_since(path: &Path) -> Vec<PathBuf> {
    let Some(day) = path.parent() else { return Vec::new() };
    let days = match path.ancestors().nth(4) {
        Some(root) if day.components().rev().take(3).all(is_number) => matching(root, "*/*/*"),
        _ => vec![day.to_owned()],
    };
    days.iter().filter(|other| other.as_path() >= day).flat_map(|day| entries(day)).collect()
}

fn is_number(part: Component) -> bool {
    part.as_os_str().as_encoded_bytes().iter().all(u8::is_ascii_digit)
}

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
    exit::in_codex(text).is_some()
}

impl Reader for Codex {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
        let (payload, at) = (&row.payload, row.timestamp.get());
        fold.is_copy = self.is_copy(&row, fold);
        fold.add_time(at);
        match row.kind.get() {
            Some("session_meta") => self.meta(payload, at, fold),
            Some("turn_context") => {
                fold.set_cwd(payload.cwd.get());
                if self.owner.is_none() {
                    payload.model.set(&mut fold.out.model);
                }
            }
            Some("token_usage_record") if self.is_fork && !fold.is_copy => {
                self.has_usage = true;
                fold.add_usage(self.owner, payload.response.get(), tokens(&payload.usage));
            }
            Some("response_item") => self.item(payload, at, fold),
            Some("event_msg") => self.event(payload, at, fold),
            Some("compacted") if self.owner.is_none() => fold.set_summary(payload.message.get().unwrap_or_default()),
            _ => {}
        }
        true
    }

    /// Reads the rollouts of subagents, found by the ids in their names.
    fn read_adjacent(&mut self, path: &Path, fold: &mut Fold) {
        if self.threads.is_empty() {
            return;
        }
        let files = rollouts_since(path);
        let mut threads = std::mem::take(&mut self.threads);
        let mut seen: HashSet<String> = self.id.iter().cloned().collect();
        while let Some(thread) = threads.pop_front() {
            let end = format!("-{}.jsonl", thread.id);
            let is_its = |file: &&PathBuf| file.as_os_str().as_encoded_bytes().ends_with(end.as_bytes());
            let Some(file) = files.iter().find(is_its).filter(|_| seen.insert(thread.id.clone())) else { continue };
            let owner = fold.add_subagent(Some(&thread.id));
            if let Some(name) = &thread.name {
                fold.name(owner, name);
            }
            let mut rollout = Codex { owner, ..Codex::default() };
            fold.is_copy = false;
            read_subagent(&mut rollout, file, fold);
            rollout.end(fold);
            threads.extend(rollout.threads);
        }
    }

    fn end(&mut self, fold: &mut Fold) {
        fold.is_copy = false;
        for script in std::mem::take(&mut self.scripts) {
            self.end_script(None, script, false, fold);
        }
        self.edit_indices.clear();
        self.edits.drain(..).for_each(|edit| fold.add_files(self.owner, edit.files));
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

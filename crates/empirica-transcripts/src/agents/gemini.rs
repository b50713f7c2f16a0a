//! Chats of Gemini CLI, as one JSON document or rows: messages can be replaced by id, and rewound.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::agents::format::{Format, Match, NamedRepository, Reader, RowFormat, Sessions, in_first_row, read_subagent};
use crate::model::{Agent, Role, Tokens};
use crate::read::block::Blocks;
use crate::read::call::{Call, Sample, TODO, Todos, category_index};
use crate::read::exit;
use crate::read::files::{ancestor_name, entries, names, small};
use crate::read::input::Todo;
use crate::read::keys::Keys;
use crate::read::lenient::{Content, Count, List, Text, is_read, lenient};
use crate::read::paths;
use crate::summary::fold::{Fold, Owner};
use crate::text::limits::{MESSAGE, with_margin};
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::Gemini,
    tools: &[
        ("read_many_files", "read"),
        ("google_web_search", "search"),
        ("ask_user", "ask"),
        ("invoke_agent", "task"),
        ("generalist", "task"),
        ("codebase_investigator", "task"),
        ("tracker_create_task", TODO),
        ("tracker_update_task", TODO),
        ("tracker_get_task", TODO),
        ("tracker_list_tasks", TODO),
        ("tracker_add_dependency", TODO),
        ("tracker_visualize", TODO),
    ],
    data: (Some("GEMINI_CLI_HOME"), ""),
    sessions: Sessions::Rows(RowFormat {
        files: &[".gemini/tmp/*/chats/*.json", ".gemini/tmp/*/chats/*.jsonl"],
        matches,
        reader: || Box::<Gemini>::default(),
        folder_by_path: |path, folder| {
            let is_subagent = in_first_row(path, |row| row.text("kind")).is_some_and(|kind| kind == SUBAGENT);
            let by_path = || project_root(path).or_else(|| with_hash(folder?, ancestor_name(path, 2)?));
            if is_subagent { None } else { by_path() }
        },
        folder_in_row: |row, folder| {
            with_hash(folder, &row.text("projectHash")?)
                .filter(|_| row.text("kind").is_none_or(|kind| kind != SUBAGENT))
        },
        repository_in_row: |_| NamedRepository::default(),
    }),
};

/// The kind of a chat that a subagent wrote.
const SUBAGENT: &str = "subagent";

fn matches(row: &Keys) -> Match {
    let kind = row.text("type").unwrap_or_default();
    let has_mark = row.text("projectHash").or(row.text("$rewindTo")).is_some() || row.has_object("$set");
    if has_mark || kind == "gemini" {
        return Match::Certain;
    }
    let is_message = ["user", "info", "error", "warning"].contains(&kind.as_str()) && row.has("content");
    let is_foreign = row.has("message") || row.text("uuid").is_some();
    if is_message && !is_foreign && row.text("id").is_some() { Match::Possible } else { Match::No }
}

/// The folder of a session, from `.project_root` above its chats.
fn project_root(path: &Path) -> Option<String> {
    let text = small(&path.ancestors().nth(2)?.join(".project_root"))?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|text| !text.is_empty())
}

/// The folder, if Gemini CLI's name for it, the SHA-256 of its path in hex, is `hash`.
fn with_hash(folder: &Path, hash: &str) -> Option<String> {
    let is_equal = names(folder).iter().any(|name| hash_of(name) == hash);
    is_equal.then(|| folder.to_str().map(str::to_owned))?
}

pub(crate) fn hash_of(folder: &Path) -> String {
    Sha256::digest(folder.as_os_str().as_encoded_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of newest messages whose text is kept, in case later ones are rewound.
const NEWEST: usize = 400;

lenient! {
    /// Numbers of tokens; `input` includes cached ones, `output` excludes thoughts.
    Usage {
        input: Count = "input",
        output: Count = "output",
        cached: Count = "cached",
        thoughts: Count = "thoughts",
        tool: Count = "tool",
    }

    /// The displayed part of a result.
    Display {
        file_path: Text<'a> = "filePath",
        todos: Content<'a, Todo<'a>> = "todos",
    }

    /// The result for the model.
    Outcome {
        function: Function<'a> = "functionResponse",
    }

    Function {
        response: Response<'a> = "response",
    }

    Response {
        output: Text<'a> = "output",
    }

    /// A call of a tool, with its result.
    ToolCall {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        args: Option<&'a RawValue> = "args",
        status: Text<'a> = "status",
        display: Display<'a> = "resultDisplay",
        result: List<Outcome<'a>> = "result",
        agent: Text<'a> = "agentId",
    }

    /// A row: session data, a message, or a change to earlier rows.
    Row {
        session: Text<'a> = "sessionId",
        start: Text<'a> = "startTime",
        updated: Text<'a> = "lastUpdated",
        summary: Text<'a> = "summary",
        folders: List<Text<'a>> = "directories",
        messages: List<Option<&'a RawValue>> = "messages",
        id: Text<'a> = "id",
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        content: Blocks<'a> = "content",
        model: Text<'a> = "model",
        tokens: Option<Usage<'a>> = "tokens",
        calls: List<ToolCall<'a>> = "toolCalls",
        set: Option<&'a RawValue> = "$set",
        rewind: Text<'a> = "$rewindTo",
    }
}

/// A message, without its full text.
#[derive(Debug, Default)]
struct GeminiMessage {
    id: Option<u64>,
    role: Option<Role>,
    at: Option<String>,
    text: Option<String>,
    decisions: Vec<String>,
    model: Option<String>,
    tokens: Option<Tokens>,
    calls: Vec<GeminiCall>,
}

#[derive(Debug)]
struct GeminiCall {
    call: Call,
    /// Whether it failed, if it ended.
    failed: Option<bool>,
    /// The id of the subagent that it started.
    agent: Option<String>,
}

/// What follows the summary with which a compressed chat begins.
const ACKNOWLEDGED: &str = "\"Got it. Thanks for the additional context!\"";

/// Reads the rows of a chat.
#[derive(Debug, Default)]
pub struct Gemini {
    owner: Owner,
    messages: Vec<GeminiMessage>,
    indices: HashMap<u64, usize>,
    /// The index of the first message with text by the user.
    first: Option<usize>,
    /// The summaries with which compressed chats began, by id.
    summaries: HashSet<Option<u64>>,
}

impl Gemini {
    fn session(&mut self, row: &Row, fold: &mut Fold) {
        fold.add_time(row.start.get());
        fold.add_time(row.updated.get());
        if self.owner.is_none() {
            row.session.set(&mut fold.out.session_id);
            fold.set_summary(row.summary.get().unwrap_or_default());
        }
        if fold.folder.is_none() {
            fold.set_cwd(row.folders.0.first().and_then(Text::get));
        }
        // a list of messages is the model's present context, not all messages: it adds and replaces some
        let messages = || row.messages.0.iter().flatten();
        let is_ack = |raw: &&RawValue| raw.get().contains(ACKNOWLEDGED);
        for (raw, next) in messages().zip(messages().skip(1).map(Some).chain([None])) {
            is_read(raw.get(), |text| {
                let Ok(message) = serde_json::from_str::<Row>(text) else { return false };
                match next.filter(|next| is_ack(next)) {
                    Some(_) if self.owner.is_none() => {
                        fold.set_summary(&message.content.texts().concat());
                        let id = message.id.get().map(|id| fold.hash(id));
                        fold.out.compactions += u64::from(self.summaries.insert(id));
                    }
                    None if is_ack(raw) => {}
                    _ => self.message(&message, fold),
                }
                true
            });
        }
    }

    fn message(&mut self, row: &Row, fold: &mut Fold) {
        let id = row.id.get().map(|id| fold.hash(id));
        fold.add_time(row.timestamp.get());
        if self.owner.is_none() && row.kind.get() == Some("user") {
            // the first message of a compressed chat
            row.content
                .texts()
                .into_iter()
                .filter(|text| text.contains("<state_snapshot>"))
                .for_each(|text| fold.set_summary(text));
        }
        let mut message = message(row, fold);
        message.id = id;
        let is_first = |index: usize, first: Option<usize>| first.is_none_or(|first| index < first);
        let existing = id.and_then(|id| self.indices.get(&id).copied()).filter(|index| *index < self.messages.len());
        let index = existing.unwrap_or(self.messages.len());
        if message.role == Some(Role::User) && message.text.is_some() && is_first(index, self.first) {
            self.first = Some(index);
        }
        if existing.is_some() {
            let before = std::mem::take(&mut self.messages[index]);
            self.messages[index] = message.after(before);
            self.drop_text(index);
            return;
        }
        self.messages.push(message);
        if let Some(id) = id {
            self.indices.insert(id, index);
        }
        if let Some(old) = index.checked_sub(NEWEST) {
            self.drop_text(old);
        }
    }

    /// Drops the text of a message that is not among the newest; keeps the user's first.
    fn drop_text(&mut self, index: usize) {
        if self.first != Some(index) && index + NEWEST < self.messages.len() {
            self.messages[index].text = None;
        }
    }

    /// Removes the messages after the one with this id, if there is one.
    fn rewind(&mut self, id: u64) {
        let Some(index) = self.indices.get(&id).copied() else { return };
        for message in self.messages.drain(self.messages.len().min(index + 1)..) {
            message.id.map(|id| self.indices.remove(&id));
        }
        self.first = self.first.filter(|first| *first <= index);
    }
}

impl GeminiMessage {
    /// A message that comes again. As part of the model's context, it has neither tokens nor results.
    fn after(self, before: GeminiMessage) -> GeminiMessage {
        GeminiMessage {
            at: before.at.or(self.at),
            text: self.text.or(before.text),
            decisions: if self.decisions.is_empty() { before.decisions } else { self.decisions },
            model: self.model.or(before.model),
            tokens: self.tokens.or(before.tokens),
            calls: if self.calls.is_empty() { before.calls } else { self.calls },
            ..self
        }
    }
}

fn message(row: &Row, fold: &Fold) -> GeminiMessage {
    let role = match row.kind.get() {
        Some("user") => Role::User,
        Some("gemini") => Role::Assistant,
        _ => return GeminiMessage::default(),
    };
    let text = row.content.texts().concat();
    let own = if role == Role::User { words::user_text(&text).unwrap_or_default() } else { text.trim() };
    let calls = row.calls.0.iter().map(|call| {
        let name = call.name.get().unwrap_or_default();
        let mut made = Call::of(FORMAT.tools, name, call.args, fold.folder.as_deref());
        let outputs = || call.result.0.iter().filter_map(|result| result.function.response.output.get());
        let failed = match call.status.get() {
            Some("success") if made.category == category_index("shell") => {
                Some(outputs().any(|text| exit::in_gemini(text).is_some()))
            }
            Some("success") => Some(false),
            Some("error" | "cancelled") => Some(true),
            _ => None,
        };
        // reading tools also display files
        let edits =
            made.category.is_some() && [category_index("write"), category_index("edit")].contains(&made.category);
        let shown = call.display.file_path.get().filter(|_| edits);
        if let Some(shown) = shown.and_then(|path| paths::normalized(path, fold.folder.as_deref())) {
            made.files = vec![shown];
        }
        if let Content::Parts(todos) = &call.display.todos
            && !todos.is_empty()
        {
            made.todos = Some(Todos::of(todos));
        }
        GeminiCall { call: made, failed, agent: call.agent.get().map(str::to_owned) }
    });
    GeminiMessage {
        id: None,
        role: Some(role),
        at: row.timestamp.get().map(str::to_owned),
        text: (!own.is_empty()).then(|| with_margin(own, MESSAGE).to_owned()),
        decisions: if role == Role::Assistant { words::decisions(own) } else { Vec::new() },
        model: row.model.get().map(str::to_owned),
        tokens: row.tokens.as_ref().map(tokens),
        calls: calls.collect(),
    }
}

fn tokens(usage: &Usage) -> Tokens {
    let cached = usage.cached.get().min(usage.input.get());
    Tokens {
        input: (usage.input.get() - cached).saturating_add(usage.tool.get()),
        output: usage.output.get().saturating_add(usage.thoughts.get()),
        cache_read: cached,
        cache_write: 0,
    }
}

impl Reader for Gemini {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
        if let Some(id) = row.rewind.get() {
            self.rewind(fold.hash(id));
        } else if let Some(set) = row.set {
            if let Ok(row) = serde_json::from_str::<Row>(set.get()) {
                self.session(&row, fold);
            }
        } else if row.kind.get().is_some() {
            self.message(&row, fold);
        } else {
            self.session(&row, fold);
        }
        true
    }

    /// Reads the chats of subagents, in a folder named after the session or after the subagent that started them.
    fn read_adjacent(&mut self, path: &Path, fold: &mut Fold) {
        let calls = self.messages.iter().flat_map(|message| &message.calls);
        let mut names: HashMap<String, Sample> =
            calls.filter_map(|one| Some((one.agent.clone()?, one.call.sample.clone()?))).collect();
        let folders: Vec<PathBuf> = path.parent().map(entries).unwrap_or_default();
        let mut sessions: Vec<String> = fold.out.session_id.iter().cloned().collect();
        let mut seen = HashSet::new();
        while let Some(session) = sessions.pop() {
            if !seen.insert(session.clone()) {
                continue;
            }
            let of = folders.iter().filter(|folder| folder.file_name().is_some_and(|name| *name == *session));
            for file in of.flat_map(|folder| entries(folder)) {
                let Some(id) = file.file_stem().and_then(|id| id.to_str()).map(str::to_owned) else { continue };
                let owner = fold.add_subagent(Some(&id));
                if let Some(Sample::Text(name)) = names.remove(&id) {
                    fold.name(owner, &name);
                }
                let mut chat = Gemini { owner, ..Gemini::default() };
                read_subagent(&mut chat, &file, fold);
                chat.end(fold);
                sessions.push(id);
            }
        }
    }

    fn end(&mut self, fold: &mut Fold) {
        self.indices.clear();
        for message in std::mem::take(&mut self.messages) {
            let Some(role) = message.role else { continue };
            if self.owner.is_none() {
                message.decisions.into_iter().for_each(|decision| fold.add_decision(decision));
                if let Some(text) = message.text {
                    fold.add_short_message(role, text, message.at.as_deref());
                }
                fold.out.model = message.model.or(fold.out.model.take());
            }
            if let Some(tokens) = message.tokens {
                fold.add_usage(self.owner, None, tokens);
            }
            for one in message.calls {
                fold.add_ended_call(self.owner, one.call, one.failed);
            }
        }
    }
}

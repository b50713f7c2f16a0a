//! Chats of Gemini CLI, as one JSON document or rows: messages can be replaced by id, and rewound.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::agents::reader::Reader;
use crate::model::{Agent, Role, Tokens};
use crate::read::call::{Call, category_index};
use crate::read::input::Input;
use crate::read::lenient::{Content, Count, List, Text, lenient, repaired};
use crate::read::paths;
use crate::summary::fold::Fold;
use crate::text::limits::{MESSAGE, held};
use crate::text::words;

/// The number of newest messages whose text is kept, in case later ones are rewound.
const WORDS: usize = 400;

lenient! {
    /// Numbers of tokens; `input` includes cached ones, `output` excludes thoughts.
    Usage {
        input: Count = "input",
        output: Count = "output",
        cached: Count = "cached",
        thoughts: Count = "thoughts",
        tool: Count = "tool",
        /// Unused; gives the struct its lifetime.
        note: Text<'a> = "note",
    }
}

lenient! {
    /// A part of a message.
    Part {
        text: Text<'a> = "text",
    }
}

lenient! {
    /// The displayed part of a result.
    Display {
        file_path: Text<'a> = "filePath",
    }
}

lenient! {
    /// A call of a tool, with its result.
    ToolCall {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        args: Option<&'a RawValue> = "args",
        status: Text<'a> = "status",
        display: Display<'a> = "resultDisplay",
    }
}

lenient! {
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
        content: Content<'a, Part<'a>> = "content",
        model: Text<'a> = "model",
        tokens: Option<Usage<'a>> = "tokens",
        calls: List<ToolCall<'a>> = "toolCalls",
        set: Option<&'a RawValue> = "$set",
        rewind: Text<'a> = "$rewindTo",
    }
}

/// The status of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Done,
    Failed,
}

/// A message, without its full text.
#[derive(Debug, Default)]
struct KeptMessage {
    id: Option<u64>,
    role: Option<Role>,
    at: Option<String>,
    text: Option<String>,
    decisions: Vec<String>,
    model: Option<String>,
    tokens: Option<Tokens>,
    calls: Vec<(Call, End)>,
}

/// Reads the rows of a chat.
#[derive(Debug, Default)]
pub struct Gemini {
    kept: Vec<KeptMessage>,
    indices: HashMap<u64, usize>,
    /// The index of the first message with text by the user.
    first: Option<usize>,
}

impl Gemini {
    fn session(&mut self, row: &Row, fold: &mut Fold) {
        if let Some(session) = row.session.get() {
            fold.out.session_id = Some(session.to_owned());
        }
        for time in [&row.start, &row.updated].into_iter().filter_map(Text::get) {
            fold.add_time(time);
        }
        fold.set_summary(row.summary.get().unwrap_or_default());
        if let Some(folder) = row.folders.0.first().and_then(Text::get)
            && fold.folder.is_none()
        {
            fold.set_cwd(folder);
        }
        // a list of messages is the model's present context, not all messages: it adds and replaces some
        for raw in row.messages.0.iter().flatten() {
            if let Ok(message) = serde_json::from_str::<Row>(raw.get()) {
                self.message(&message, fold);
            } else if let Some(text) = repaired(raw.get())
                && let Ok(message) = serde_json::from_str::<Row>(&text)
            {
                self.message(&message, fold);
            }
        }
    }

    fn message(&mut self, row: &Row, fold: &mut Fold) {
        let id = row.id.get().map(|id| fold.hash(id));
        if let Some(time) = row.timestamp.get() {
            fold.add_time(time);
        }
        let mut kept = kept(row, fold);
        kept.id = id;
        let is_first = |index: usize, first: Option<usize>| first.is_none_or(|first| index < first);
        let existing = id.and_then(|id| self.indices.get(&id).copied()).filter(|index| *index < self.kept.len());
        let index = existing.unwrap_or(self.kept.len());
        if kept.role == Some(Role::User) && kept.text.is_some() && is_first(index, self.first) {
            self.first = Some(index);
        }
        if existing.is_some() {
            self.kept[index] = kept;
            self.drop_text(index);
            return;
        }
        self.kept.push(kept);
        if let Some(id) = id {
            self.indices.insert(id, index);
        }
        if let Some(old) = index.checked_sub(WORDS) {
            self.drop_text(old);
        }
    }

    /// Drops the text of a message that is not among the newest; keeps the user's first.
    fn drop_text(&mut self, index: usize) {
        if self.first != Some(index) && index + WORDS < self.kept.len() {
            self.kept[index].text = None;
        }
    }

    /// Removes the messages after the one with this id; no-op if it is unknown.
    fn rewind(&mut self, id: u64) {
        let Some(index) = self.indices.get(&id).copied() else { return };
        for kept in self.kept.drain(self.kept.len().min(index + 1)..) {
            kept.id.map(|id| self.indices.remove(&id));
        }
        self.first = self.first.filter(|first| *first <= index);
    }
}

fn kept(row: &Row, fold: &Fold) -> KeptMessage {
    let role = match row.kind.get() {
        Some("user") => Role::User,
        Some("gemini") => Role::Assistant,
        _ => return KeptMessage::default(),
    };
    let text = match &row.content {
        Content::Text(text) => text.to_string(),
        Content::Parts(parts) => parts.iter().filter_map(|part| part.text.get()).collect(),
    };
    let own = if role == Role::User { words::of_user(&text).unwrap_or_default() } else { text.trim() };
    let calls = row.calls.0.iter().map(|call| {
        let name = call.name.get().unwrap_or_default();
        let mut made = Input::with(call.args, |input| Call::of(Agent::Gemini, name, input, fold.folder.as_deref()));
        let end = match call.status.get() {
            Some("success") => End::Done,
            Some("error" | "cancelled") => End::Failed,
            _ => End::Open,
        };
        // reading tools also display files
        let edits =
            made.category.is_some() && [category_index("write"), category_index("edit")].contains(&made.category);
        let shown = call.display.file_path.get().filter(|_| edits);
        if let Some(shown) = shown.and_then(|path| paths::normalized(path, fold.folder.as_deref())) {
            made.files = vec![shown];
        }
        (made, end)
    });
    KeptMessage {
        id: None,
        role: Some(role),
        at: row.timestamp.get().map(str::to_owned),
        text: (!own.is_empty()).then(|| held(own, MESSAGE).to_owned()),
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

    fn end(&mut self, fold: &mut Fold) {
        self.indices.clear();
        for kept in std::mem::take(&mut self.kept) {
            let Some(role) = kept.role else { continue };
            kept.decisions.into_iter().for_each(|decision| fold.add_decision(decision));
            if let Some(text) = kept.text {
                fold.add_short_message(role, text, kept.at.as_deref());
            }
            fold.out.model = kept.model.or(fold.out.model.take());
            if let Some(tokens) = kept.tokens {
                fold.add_usage(None, None, tokens);
            }
            for (call, end) in kept.calls {
                let (category, files) = (call.category, call.files.clone());
                fold.add_call(None, None, call);
                match (end, category) {
                    (End::Failed, Some(category)) => fold.add_failure(None, category),
                    (End::Done, _) => fold.add_files(None, files),
                    _ => {}
                }
            }
        }
    }
}

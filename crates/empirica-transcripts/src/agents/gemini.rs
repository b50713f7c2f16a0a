//! Chats of Gemini CLI, one JSON document or rows: messages come again under their ids, and can be taken back.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::agents::reader::Reader;
use crate::model::{Agent, Role, Tokens};
use crate::read::call::{Call, place};
use crate::read::input::Input;
use crate::read::lenient::{Content, Count, List, Text, lenient, mended};
use crate::read::paths;
use crate::summary::fold::Fold;
use crate::text::limits::{MESSAGE, held};
use crate::text::words;

/// How many of the newest messages keep their words, in case later ones are taken back.
const WORDS: usize = 400;

lenient! {
    /// Numbers of tokens; those of the cache are among the input, thoughts are not among the output.
    Usage {
        input: Count = "input",
        output: Count = "output",
        cached: Count = "cached",
        thoughts: Count = "thoughts",
        tool: Count = "tool",
        /// Keeps the lifetime of the others.
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
    /// What is shown of a result.
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
    /// A row: what is known of the session, a message, or a change to what came before.
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

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Done,
    Failed,
}

/// What is kept of a message.
#[derive(Debug, Default)]
struct Kept {
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
    kept: Vec<Kept>,
    places: HashMap<u64, usize>,
    /// The place of the first message that has words of the user's.
    first: Option<usize>,
}

impl Gemini {
    fn session(&mut self, row: &Row, fold: &mut Fold) {
        if let Some(session) = row.session.get() {
            fold.out.session_id = Some(session.to_owned());
        }
        for time in [&row.start, &row.updated].into_iter().filter_map(Text::get) {
            fold.at(time);
        }
        fold.summed_up(row.summary.get().unwrap_or_default());
        if let Some(folder) = row.folders.0.first().and_then(Text::get)
            && fold.here.is_none()
        {
            fold.move_to(folder);
        }
        // a list of messages is what the model has before it from now on, not all that was said: it adds and changes
        for raw in row.messages.0.iter().flatten() {
            if let Ok(message) = serde_json::from_str::<Row>(raw.get()) {
                self.message(&message, fold);
            } else if let Some(text) = mended(raw.get())
                && let Ok(message) = serde_json::from_str::<Row>(&text)
            {
                self.message(&message, fold);
            }
        }
    }

    fn message(&mut self, row: &Row, fold: &mut Fold) {
        let id = row.id.get().map(|id| fold.number(id));
        if let Some(time) = row.timestamp.get() {
            fold.at(time);
        }
        let mut kept = kept(row, fold);
        kept.id = id;
        let is_first = |place: usize, first: Option<usize>| first.is_none_or(|first| place < first);
        let known = id.and_then(|id| self.places.get(&id).copied()).filter(|place| *place < self.kept.len());
        let place = known.unwrap_or(self.kept.len());
        if kept.role == Some(Role::User) && kept.text.is_some() && is_first(place, self.first) {
            self.first = Some(place);
        }
        if known.is_some() {
            self.kept[place] = kept;
            self.forget_words(place);
            return;
        }
        self.kept.push(kept);
        if let Some(id) = id {
            self.places.insert(id, place);
        }
        if let Some(old) = place.checked_sub(WORDS) {
            self.forget_words(old);
        }
    }

    /// Lets go of the words of a message that is not among the newest; the first of the user's stay.
    fn forget_words(&mut self, place: usize) {
        if self.first != Some(place) && place + WORDS < self.kept.len() {
            self.kept[place].text = None;
        }
    }

    /// Takes back what came after a message; nothing when it is not known.
    fn rewind(&mut self, id: u64) {
        let Some(place) = self.places.get(&id).copied() else { return };
        for kept in self.kept.drain(self.kept.len().min(place + 1)..) {
            kept.id.map(|id| self.places.remove(&id));
        }
        self.first = self.first.filter(|first| *first <= place);
    }
}

fn kept(row: &Row, fold: &Fold) -> Kept {
    let role = match row.kind.get() {
        Some("user") => Role::User,
        Some("gemini") => Role::Assistant,
        _ => return Kept::default(),
    };
    let text = match &row.content {
        Content::Text(text) => text.to_string(),
        Content::Parts(parts) => parts.iter().filter_map(|part| part.text.get()).collect(),
    };
    let own = if role == Role::User { words::of_user(&text).unwrap_or_default() } else { text.trim() };
    let calls = row.calls.0.iter().map(|call| {
        let name = call.name.get().unwrap_or_default();
        let mut made = Input::with(call.args, |input| Call::of(Agent::Gemini, name, input, fold.here.as_deref()));
        let end = match call.status.get() {
            Some("success") => End::Done,
            Some("error" | "cancelled") => End::Failed,
            _ => End::Open,
        };
        // tools that only read show files, too
        let edits = made.category.is_some() && [place("write"), place("edit")].contains(&made.category);
        let shown = call.display.file_path.get().filter(|_| edits);
        if let Some(shown) = shown.and_then(|path| paths::normal(path, fold.here.as_deref())) {
            made.files = vec![shown];
        }
        (made, end)
    });
    Kept {
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
            self.rewind(fold.number(id));
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
        self.places.clear();
        for kept in std::mem::take(&mut self.kept) {
            let Some(role) = kept.role else { continue };
            kept.decisions.into_iter().for_each(|decision| fold.decided(decision));
            if let Some(text) = kept.text {
                fold.heard(role, text, kept.at.as_deref());
            }
            fold.out.model = kept.model.or(fold.out.model.take());
            if let Some(tokens) = kept.tokens {
                fold.used(None, None, tokens);
            }
            for (call, end) in kept.calls {
                let (category, files) = (call.category, call.files.clone());
                fold.called(None, None, call);
                match (end, category) {
                    (End::Failed, Some(category)) => fold.failed(None, category),
                    (End::Done, _) => fold.modified(None, files),
                    _ => {}
                }
            }
        }
    }
}

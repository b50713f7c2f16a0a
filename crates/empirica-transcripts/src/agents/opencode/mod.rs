//! Messages of OpenCode and their parts, as its database and its storage hold them.

pub mod database;
pub mod storage;

use serde_json::value::RawValue;

use crate::model::{Agent, Role, Tokens};
use crate::read::call::Call;
use crate::read::input::Input;
use crate::read::lenient::{Count, Flag, List, Text, lenient};
use crate::read::paths;
use crate::summary::answers;
use crate::summary::fold::{Fold, Whose, from_millis};
use crate::text::words;

lenient! {
    /// When something happened, in milliseconds since 1970.
    Time {
        created: Count = "created",
        updated: Count = "updated",
        completed: Count = "completed",
        start: Count = "start",
        end: Count = "end",
        /// Keeps the lifetime of the others.
        note: Text<'a> = "note",
    }
}

lenient! {
    /// What is known of a session.
    Session {
        id: Text<'a> = "id",
        parent: Text<'a> = "parentID",
        folder: Text<'a> = "directory",
        title: Text<'a> = "title",
        time: Time<'a> = "time",
    }
}

lenient! {
    /// What the cache gave and took.
    Cache {
        read: Count = "read",
        write: Count = "write",
        /// Keeps the lifetime of the others.
        note: Text<'a> = "note",
    }
}

lenient! {
    /// Numbers of tokens; those of the cache are not among the input.
    Usage {
        input: Count = "input",
        output: Count = "output",
        reasoning: Count = "reasoning",
        cache: Cache<'a> = "cache",
    }
}

lenient! {
    /// Where a message was made.
    Place {
        cwd: Text<'a> = "cwd",
        root: Text<'a> = "root",
    }
}

lenient! {
    /// A message.
    Message {
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        model: Text<'a> = "modelID",
        time: Time<'a> = "time",
        path: Place<'a> = "path",
        tokens: Option<Usage<'a>> = "tokens",
        summary: Flag = "summary",
    }
}

lenient! {
    /// How far a call of a tool is.
    State {
        status: Text<'a> = "status",
        input: Option<&'a RawValue> = "input",
        output: Text<'a> = "output",
        metadata: Option<&'a RawValue> = "metadata",
        time: Time<'a> = "time",
    }
}

lenient! {
    /// A part of a message.
    Part {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        synthetic: Flag = "synthetic",
        ignored: Flag = "ignored",
        tool: Text<'a> = "tool",
        call: Text<'a> = "callID",
        state: State<'a> = "state",
        files: List<Text<'a>> = "files",
    }
}

/// Reads the messages of one session.
#[derive(Debug)]
pub struct OpenCode {
    whose: Whose,
    role: Option<Role>,
    is_summary: bool,
    at: Option<String>,
}

impl OpenCode {
    /// Of the main agent's session, or a subagent's.
    pub fn new(whose: Whose) -> Self {
        OpenCode { whose, role: None, is_summary: false, at: None }
    }

    /// Takes a message; its parts follow. `id` is the name under which it is kept. Whether it could be read.
    pub fn message(&mut self, text: &str, id: &str, fold: &mut Fold) -> bool {
        let Ok(message) = serde_json::from_str::<Message>(text) else { return false };
        self.role = match message.role.get() {
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            _ => None,
        };
        self.is_summary = message.summary.is_set();
        self.at = message.time.created.known().and_then(from_millis);
        for time in [message.time.created, message.time.completed] {
            seen(time, fold);
        }
        if let Some(cwd) = message.path.cwd.get() {
            fold.move_to(cwd);
        }
        if self.whose.is_none() {
            if let Some(root) = message.path.root.get().filter(|root| *root != "/") {
                fold.own_root = Some(root.to_owned());
            }
            if let Some(model) = message.model.get() {
                fold.out.model = Some(model.to_owned());
            }
        }
        if let Some(usage) = &message.tokens {
            let tokens = Tokens {
                input: usage.input.get(),
                output: usage.output.get().saturating_add(usage.reasoning.get()),
                cache_read: usage.cache.read.get(),
                cache_write: usage.cache.write.get(),
            };
            fold.used(self.whose, message.id.get().or(Some(id)), tokens);
        }
        true
    }

    /// Takes a part of the message that came last. Whether it could be read.
    pub fn part(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(part) = serde_json::from_str::<Part>(text) else { return false };
        match part.kind.get() {
            Some("text") if !part.synthetic.is_set() && !part.ignored.is_set() => {
                self.text(part.text.get().unwrap_or_default(), fold);
            }
            Some("tool") => self.tool(&part, fold),
            Some("patch") => {
                let here = fold.here.clone();
                let files = part.files.0.iter().filter_map(|file| paths::normal(file.get()?, here.as_deref()));
                fold.modified(self.whose, files.collect());
            }
            _ => {}
        }
        true
    }

    fn text(&self, text: &str, fold: &mut Fold) {
        match (self.role, self.whose) {
            (Some(Role::User), Some(_)) => fold.told(self.whose, text),
            (Some(Role::Assistant), None) if self.is_summary => fold.summed_up(text),
            (Some(Role::User), None) => {
                fold.said(Role::User, words::of_user(text).unwrap_or_default(), self.at.as_deref());
            }
            (Some(Role::Assistant), None) => fold.said(Role::Assistant, text, self.at.as_deref()),
            _ => {}
        }
    }

    fn tool(&self, part: &Part, fold: &mut Fold) {
        let state = &part.state;
        for time in [state.time.start, state.time.end] {
            seen(time, fold);
        }
        let name = part.tool.get().unwrap_or_default();
        let call = Input::with(state.input, |input| Call::of(Agent::OpenCode, name, input, fold.here.as_deref()));
        let end = match state.status.get() {
            Some("completed") => Some(false),
            Some("error") => Some(true),
            _ => None,
        };
        let Some(id) = part.call.get() else {
            // it has its result with it, but nothing to find it by
            let (category, files) = (call.category, call.files.clone());
            fold.called(self.whose, None, call);
            match (end, category) {
                (Some(true), Some(category)) => fold.failed(self.whose, category),
                (Some(false), _) => fold.modified(self.whose, files),
                _ => {}
            }
            return;
        };
        fold.called(self.whose, Some(id), call);
        let Some(failed) = end else { return };
        if let Some(open) = fold.ended(id, failed)
            && !failed
            && !open.questions.is_empty()
        {
            let metadata = state.metadata.map(RawValue::get).unwrap_or_default();
            answers::take(&open.questions, metadata, state.output.get().unwrap_or_default(), fold);
        }
    }
}

fn seen(time: Count, fold: &mut Fold) {
    if let Some(time) = time.known().filter(|ms| *ms > 0).and_then(from_millis) {
        fold.at(&time);
    }
}

/// A session, as it is chosen among others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Info {
    pub id: String,
    /// The session it works for.
    pub parent: Option<String>,
    /// Its folder, as it is written there.
    pub folder: String,
    pub title: String,
    /// When it changed last, in milliseconds since 1970.
    pub updated: u64,
}

impl Info {
    /// A session in JSON; `None` for what is none.
    pub fn parse(text: &str) -> Option<Info> {
        let session = serde_json::from_str::<Session>(text).ok()?;
        Some(Info {
            id: session.id.get()?.to_owned(),
            parent: session.parent.get().map(str::to_owned),
            folder: session.folder.get()?.to_owned(),
            title: session.title.get().unwrap_or_default().to_owned(),
            updated: session.time.updated.known().or(session.time.created.known()).unwrap_or_default(),
        })
    }
}

/// The newest of the sessions that work for no other and were made in `root`; without a root, the newest of all.
pub fn newest<'i>(sessions: &'i [Info], root: Option<&std::path::Path>) -> Option<&'i Info> {
    let inside = |info: &&Info| root.is_none_or(|root| paths::is_inside(&info.folder, root));
    sessions.iter().filter(|info| info.parent.is_none()).filter(inside).max_by_key(|info| info.updated)
}

/// The sessions that work for `main`, and those that work for these, in the order of `sessions`.
pub fn working_for<'i>(sessions: &'i [Info], main: &str) -> Vec<&'i Info> {
    let mut ids = std::collections::HashSet::from([main]);
    let mut out: Vec<&Info> = Vec::new();
    loop {
        let before = out.len();
        for info in sessions {
            if info.parent.as_deref().is_some_and(|parent| ids.contains(parent)) && ids.insert(&info.id) {
                out.push(info);
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

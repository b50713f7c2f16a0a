//! Messages of OpenCode and their parts, in its database and its older storage.

mod database;
pub mod storage;
pub mod store;

use std::path::Path;

use serde_json::value::RawValue;

use crate::error::Result;
use crate::model::{Agent, Role, Tokens, Transcript};
use crate::read::call::{Call, Tools, category_index};
use crate::read::exit;
use crate::read::lenient::{Count, Flag, List, Text, is_read, lenient};
use crate::read::paths;
use crate::summary::answers;
use crate::summary::fold::{Fold, Owner, from_millis};
use crate::text::words;

const TOOLS: Tools = &[
    ("read", "read"),
    ("write", "write"),
    ("patch", "edit"),
    ("multiedit", "edit"),
    ("list", "glob"),
    ("websearch", "search"),
    ("webfetch", "fetch"),
    ("task", "task"),
    ("question", "ask"),
];

lenient! {
    /// Times in milliseconds since 1970.
    Time {
        created: Count = "created",
        updated: Count = "updated",
        completed: Count = "completed",
        start: Count = "start",
        end: Count = "end",
    }

    Session {
        id: Text<'a> = "id",
        parent: Text<'a> = "parentID",
        folder: Text<'a> = "directory",
        title: Text<'a> = "title",
        time: Time<'a> = "time",
    }

    /// Tokens read from and written to the cache.
    Cache {
        read: Count = "read",
        write: Count = "write",
    }

    /// Numbers of tokens; `input` excludes cached ones.
    Usage {
        input: Count = "input",
        output: Count = "output",
        reasoning: Count = "reasoning",
        cache: Cache<'a> = "cache",
    }

    /// The context of a message.
    Place {
        cwd: Text<'a> = "cwd",
        root: Text<'a> = "root",
    }

    Message {
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        model: Text<'a> = "modelID",
        time: Time<'a> = "time",
        path: Place<'a> = "path",
        tokens: Option<Usage<'a>> = "tokens",
        summary: Flag = "summary",
    }

    /// The state of a tool call.
    State {
        status: Text<'a> = "status",
        input: Option<&'a RawValue> = "input",
        output: Text<'a> = "output",
        metadata: Option<&'a RawValue> = "metadata",
        time: Time<'a> = "time",
    }

    /// What the shell adds to the state.
    Exit {
        code: Option<&'a RawValue> = "exit",
    }

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
    owner: Owner,
    role: Option<Role>,
    is_summary: bool,
    at: Option<String>,
    /// The creation of the session, in milliseconds since 1970.
    began: u64,
    /// That of the last message that is older: a fork begins with copies of its parent's.
    copied: Option<u64>,
}

impl OpenCode {
    pub fn new(owner: Owner, began: u64) -> Self {
        OpenCode { owner, role: None, is_summary: false, at: None, began, copied: None }
    }

    /// Reads a message, whose parts follow. `id` is its key in the store. `false` if it is invalid.
    pub fn message(&mut self, text: &str, id: &str, fold: &mut Fold) -> bool {
        let Ok(message) = serde_json::from_str::<Message>(text) else { return false };
        self.role = match message.role.get() {
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            _ => None,
        };
        self.is_summary = message.summary.is_true();
        self.at = message.time.created.0.and_then(from_millis);
        let copied = message.time.created.0.filter(|created| *created < self.began);
        fold.is_copy = copied.is_some();
        self.copied = copied.or(self.copied);
        add_times([message.time.created, message.time.completed], fold);
        fold.set_cwd(message.path.cwd.get());
        if self.owner.is_none() {
            if message.path.root.get() != Some("/") {
                message.path.root.set(&mut fold.own_root);
            }
            message.model.set(&mut fold.out.model);
        }
        if let Some(usage) = &message.tokens {
            let tokens = Tokens {
                input: usage.input.get(),
                output: usage.output.get().saturating_add(usage.reasoning.get()),
                cache_read: usage.cache.read.get(),
                cache_write: usage.cache.write.get(),
            };
            fold.add_usage(self.owner, message.id.get().or(Some(id)), tokens);
        }
        true
    }

    /// Reads a part of the last message. `false` if it is invalid.
    pub fn part(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(part) = serde_json::from_str::<Part>(text) else { return false };
        match part.kind.get() {
            Some("text") if !part.synthetic.is_true() && !part.ignored.is_true() => {
                self.text(part.text.get().unwrap_or_default(), fold);
            }
            Some("tool") => self.tool(&part, fold),
            Some("patch") => {
                let folder = fold.folder.clone();
                let files = part.files.0.iter().filter_map(|file| paths::normalized(file.get()?, folder.as_deref()));
                fold.add_files(self.owner, files.collect());
            }
            _ => {}
        }
        true
    }

    fn text(&self, text: &str, fold: &mut Fold) {
        match (self.role, self.owner) {
            (Some(Role::User), Some(_)) => fold.name_after_prompt(self.owner, text),
            (Some(Role::Assistant), None) if self.is_summary => fold.set_summary(text),
            (Some(Role::User), None) => {
                fold.add_message(Role::User, words::user_text(text).unwrap_or_default(), self.at.as_deref());
            }
            (Some(Role::Assistant), None) => fold.add_message(Role::Assistant, text, self.at.as_deref()),
            _ => {}
        }
    }

    fn tool(&self, part: &Part, fold: &mut Fold) {
        let state = &part.state;
        add_times([state.time.start, state.time.end], fold);
        let name = part.tool.get().unwrap_or_default();
        let call = Call::of(TOOLS, name, state.input, fold.folder.as_deref());
        let failed = match state.status.get() {
            Some("completed") => Some(call.category == category_index("shell") && has_exited_with_error(state)),
            Some("error") => Some(true),
            _ => None,
        };
        let Some(id) = part.call.get() else {
            // its result is in the same part
            return fold.add_ended_call(self.owner, call, failed);
        };
        fold.add_call(self.owner, Some(id), call);
        let Some(failed) = failed else { return };
        if let Some(open) = fold.end_call(id, failed)
            && !failed
            && !open.questions.is_empty()
        {
            let metadata = state.metadata.map(RawValue::get).unwrap_or_default();
            answers::add_answers(&open.questions, metadata, state.output.get().unwrap_or_default(), fold);
        }
    }
}

fn has_exited_with_error(state: &State) -> bool {
    let exit = state.metadata.and_then(|raw| serde_json::from_str::<Exit>(raw.get()).ok()).unwrap_or_default();
    exit::has_failed(exit.code) == Some(true)
}

fn add_times(times: [Count; 2], fold: &mut Fold) {
    for time in times.into_iter().filter_map(|count| count.0).filter(|ms| *ms > 0) {
        fold.add_time(from_millis(time).as_deref());
    }
}

/// The data by which a session is selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: String,
    /// The parent session of a subagent.
    pub parent: Option<String>,
    /// Its folder, as written.
    pub folder: String,
    pub title: String,
    /// The times of its creation and last change, in milliseconds since 1970.
    pub created: u64,
    pub updated: u64,
}

impl SessionInfo {
    /// Parses a session; `None` if it is not one.
    pub fn parse(text: &str) -> Option<SessionInfo> {
        let session = serde_json::from_str::<Session>(text).ok()?;
        Some(SessionInfo {
            id: session.id.get()?.to_owned(),
            parent: session.parent.get().map(str::to_owned),
            folder: session.folder.get()?.to_owned(),
            title: session.title.get().unwrap_or_default().to_owned(),
            created: session.time.created.get(),
            updated: session.time.updated.0.or(session.time.created.0).unwrap_or_default(),
        })
    }
}

/// The newest session that has no parent and was made in `root`; without a root, the newest of all.
fn newest<'i>(sessions: &'i [SessionInfo], root: Option<&Path>) -> Option<&'i SessionInfo> {
    let inside = |info: &&SessionInfo| root.is_none_or(|root| paths::is_inside(&info.folder, root));
    sessions.iter().filter(|info| info.parent.is_none()).filter(inside).max_by_key(|info| info.updated)
}

/// Reads the session `main` and its subagents; `messages` reads the messages of one session.
fn read(
    sessions: &[SessionInfo],
    main: &SessionInfo,
    root: Option<&Path>,
    mut messages: impl FnMut(&SessionInfo, &mut OpenCode, &mut Fold) -> Result<()>,
) -> Result<Transcript> {
    let mut fold = Fold::new(Agent::OpenCode);
    fold.out.session_id = Some(main.id.clone());
    for (number, session) in std::iter::once(main).chain(subagents_of(sessions, &main.id)).enumerate() {
        let owner = if number == 0 { None } else { fold.add_subagent(Some(&session.id)) };
        fold.set_cwd(Some(&session.folder));
        messages(session, &mut OpenCode::new(owner, session.created), &mut fold)?;
        fold.is_copy = false;
        if !session.title.trim().is_empty() {
            fold.name(owner, &session.title);
        }
    }
    Ok(fold.finish(root))
}

/// Reads a document, repaired if necessary, and counts it.
fn read_document(text: &str, fold: &mut Fold, mut read: impl FnMut(&str, &mut Fold) -> bool) {
    let counter = if is_read(text, |text| read(text, fold)) { &mut fold.out.rows } else { &mut fold.out.skipped_rows };
    *counter += 1;
}

/// The direct and indirect subagents of `main`, breadth first.
fn subagents_of<'i>(sessions: &'i [SessionInfo], main: &str) -> Vec<&'i SessionInfo> {
    let mut ids = std::collections::HashSet::from([main]);
    let mut out: Vec<&SessionInfo> = Vec::new();
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

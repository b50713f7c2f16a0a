//! Transcripts of Claude Code: one row per block of a message; subagents in rows or files of their own.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;

use crate::agents::format::{Format, Match, NamedRepository, Reader, RowFormat, Sessions, read_subagent};
use crate::model::{Agent, Role, Tokens};
use crate::read::block::{Block, Blocks};
use crate::read::call::{Call, Entry, TODO, Todos};
use crate::read::files::entries;
use crate::read::keys::Keys;
use crate::read::lenient::{Count, Flag, Text, lenient};
use crate::read::rows;
use crate::summary::answers;
use crate::summary::fold::{Fold, Owner, parsed};
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::ClaudeCode,
    tools: &[("TaskCreate", TODO), ("TaskUpdate", TODO), ("TaskGet", TODO), ("TaskList", TODO)],
    data: (Some("CLAUDE_CONFIG_DIR"), ".claude"),
    sessions: Sessions::Rows(RowFormat {
        files: &["projects/*/*.jsonl"],
        matches,
        reader: || Box::<Claude>::default(),
        folder_by_path: |_, _| None,
        // a transcript that starts in a subagent is not a separate session
        folder_in_row: |row, _| row.text("cwd").filter(|_| !row.is_true("isSidechain")),
        repository_in_row: |_| NamedRepository::default(),
    }),
};

/// Most bytes of added rows that are looked at.
const FEW: u64 = 64 << 10;

fn matches(row: &Keys) -> Match {
    let kind = row.text("type").unwrap_or_default();
    let is_event = ["system", "progress"].contains(&kind.as_str());
    let is_identified = row.text("uuid").or(row.text("sessionId")).is_some() || row.has("parentUuid");
    Match::of(
        (is_event || ["user", "assistant"].contains(&kind.as_str()))
            && (row.has_object("message") || is_identified && (is_event || row.has("message")))
            || kind == "summary" && row.text("leafUuid").is_some(),
    )
}

lenient! {
    /// The tokens of an API message.
    Usage {
        input: Count = "input_tokens",
        output: Count = "output_tokens",
        cache_write: Count = "cache_creation_input_tokens",
        cache_read: Count = "cache_read_input_tokens",
    }

    /// An API message.
    Message {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        content: Blocks<'a> = "content",
        usage: Option<Usage<'a>> = "usage",
    }

    Row {
        kind: Text<'a> = "type",
        uuid: Text<'a> = "uuid",
        parent: Text<'a> = "parentUuid",
        session: Text<'a> = "sessionId",
        cwd: Text<'a> = "cwd",
        branch: Text<'a> = "gitBranch",
        timestamp: Text<'a> = "timestamp",
        message: Message<'a> = "message",
        summary: Text<'a> = "summary",
        agent: Text<'a> = "agentId",
        is_sidechain: Flag = "isSidechain",
        is_meta: Flag = "isMeta",
        is_hidden: Flag = "isVisibleInTranscriptOnly",
        is_summary: Flag = "isCompactSummary",
        is_failure: Flag = "isApiErrorMessage",
        result: Option<&'a RawValue> = "toolUseResult",
        forked: Fork<'a> = "forkedFrom",
    }

    /// The origin of a copied row.
    Fork {
        session: Text<'a> = "sessionId",
    }

    /// The result of a tool that added an entry to the task list.
    Added {
        task: Task<'a> = "task",
    }

    Task {
        id: Text<'a> = "id",
        subject: Text<'a> = "subject",
    }
}

/// Reads the rows of a session, then those of its subagents' files.
#[derive(Debug, Default)]
pub struct Claude {
    seen: HashSet<u64>,
    /// The subagents by id, and by the ids of their rows.
    agents: HashMap<u64, Owner>,
    chains: HashMap<u64, Owner>,
    /// The subagent of rows without any id.
    nameless: Option<Owner>,
    /// The id of the subagent whose file is being read.
    file: Option<String>,
    /// The time of the first row, if that is none of the conversation.
    start: Option<DateTime<Utc>>,
    /// The ids of the first row of the conversation, and of the last one that was copied without its origin.
    first: Option<String>,
    copied: Option<(String, DateTime<Utc>)>,
}

impl Claude {
    /// Reads the file of a subagent.
    fn subagent(&mut self, path: &Path, fold: &mut Fold) -> Option<()> {
        let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        self.file = Some(id.to_owned());
        read_subagent(self, path, fold)
    }

    /// Whether a row was copied from another session: it names that one, or is older than the first row of this one.
    fn is_copy(&mut self, row: &Row, fold: &mut Fold) -> bool {
        if row.forked.session.get().is_some() {
            row.forked.session.set(&mut fold.out.parent);
            return true;
        }
        let at = row.timestamp.get().and_then(parsed);
        let Some(uuid) = row.uuid.get() else {
            self.start = self.start.or(at.filter(|_| self.first.is_none()));
            return false;
        };
        self.first.get_or_insert_with(|| uuid.to_owned());
        let Some(at) = at.filter(|at| self.start.is_some_and(|start| *at < start)) else { return false };
        self.copied = Some((uuid.to_owned(), at));
        true
    }

    /// The session that the last copied row is from, if it is in the folder: of those that have it and began before it,
    /// the newest.
    fn parent(&self, path: &Path) -> Option<String> {
        let (first, (uuid, at)) = (self.first.as_deref()?, self.copied.as_ref()?);
        let files = entries(path.parent()?).into_iter().filter(|file| file != path && file.is_file());
        let relatives = files.filter_map(|file| {
            let (session, start) = head(&file, first)?;
            (start <= *at && has(&file, uuid)).then_some((start, session))
        });
        relatives.max().map(|(_, session)| session)
    }

    fn owner(&mut self, row: &Row, fold: &mut Fold) -> Owner {
        if !row.is_sidechain.is_true() && self.file.is_none() {
            return None;
        }
        let agent = row.agent.get().or(self.file.as_deref());
        let uuid = row.uuid.get().map(|uuid| fold.hash(uuid));
        let parent = row.parent.get().map(|parent| fold.hash(parent));
        let owner = match agent {
            Some(agent) => *self.agents.entry(fold.hash(agent)).or_insert_with(|| fold.add_subagent(Some(agent))),
            None => match parent.and_then(|parent| self.chains.get(&parent)) {
                Some(index) => *index,
                None if uuid.is_none() => *self.nameless.get_or_insert_with(|| fold.add_subagent(None)),
                None => fold.add_subagent(None),
            },
        };
        if let Some(uuid) = uuid {
            self.chains.insert(uuid, owner);
        }
        owner
    }

    fn user(&self, row: &Row, owner: Owner, fold: &mut Fold) {
        let meta = row.is_meta.is_true() || row.is_hidden.is_true();
        let parts = row.message.content.texts();
        for block in row.message.content.of_kind("tool_result") {
            result(block, row.result, owner, fold);
        }
        if owner.is_some() {
            parts.first().inspect(|text| fold.name_after_prompt(owner, text));
        } else if row.is_summary.is_true() {
            fold.set_summary(&parts.join("\n"));
        } else if !meta {
            let own: Vec<&str> = parts.into_iter().filter_map(words::user_text).collect();
            fold.add_message(Role::User, &own.join("\n"), row.timestamp.get());
        }
    }

    fn assistant(&self, row: &Row, owner: Owner, fold: &mut Fold) {
        let message = &row.message;
        let real = message.model.get() != Some("<synthetic>") && !row.is_failure.is_true();
        if let Some(usage) = message.usage.as_ref().filter(|_| real) {
            let tokens = Tokens {
                input: usage.input.get(),
                output: usage.output.get(),
                cache_read: usage.cache_read.get(),
                cache_write: usage.cache_write.get(),
            };
            fold.add_usage(owner, message.id.get(), tokens);
        }
        if real && owner.is_none() {
            message.model.set(&mut fold.out.model);
            for text in message.content.texts() {
                fold.add_message(Role::Assistant, text, row.timestamp.get());
            }
        }
        for block in message.content.of_kind("tool_use") {
            let name = block.name.get().unwrap_or_default();
            let call = Call::of(FORMAT.tools, name, block.input, fold.folder.as_deref());
            fold.add_call(owner, block.id.get(), call);
        }
    }
}

/// The files of a session's subagents.
fn subagents(path: &Path) -> Vec<PathBuf> {
    entries(&path.with_extension("").join("subagents"))
}

/// Whether the conversation in a transcript of Claude Code is the one it had when its
/// [`size`](crate::model::Transcript::size) was `size`. `false` if that is not certain.
pub fn is_unchanged(path: &Path, size: u64) -> bool {
    added(path, size).is_some_and(|rows| {
        let mut rows = rows.split(|byte| *byte == b'\n').filter(|row| !row.is_empty());
        rows.all(|row| Keys::with(row, matches) == Some(Match::No))
    })
}

/// The rows added since then; `None` if they are many, or if subagents added some.
fn added(path: &Path, size: u64) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let of_subagents = subagents(path).iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
    let added = length.saturating_add(of_subagents).checked_sub(size).filter(|added| *added < length.min(FEW))?;
    // from the end of the row before
    file.seek(SeekFrom::Start(length - added - 1)).ok()?;
    let mut rows = Vec::new();
    file.read_to_end(&mut rows).ok()?;
    rows.starts_with(b"\n").then_some(rows)
}

/// The session in a file and the time of its first row, if its conversation begins with the row `first`.
fn head(path: &Path, first: &str) -> Option<(String, DateTime<Utc>)> {
    let (_, mut rows) = rows::rows(BufReader::new(File::open(path).ok()?)).ok()?;
    let mut start = None;
    loop {
        rows.next().ok()??;
        let keys = |row: &Keys| {
            start = start.or(row.text("timestamp").as_deref().and_then(parsed));
            Some((row.text("uuid")?, row.text("sessionId")?))
        };
        if let Some((uuid, session)) = Keys::with(&rows.row, keys).flatten() {
            return start.filter(|_| uuid == first).map(|start| (session, start));
        }
    }
}

/// Whether a file has a row with this id.
fn has(path: &Path, uuid: &str) -> bool {
    let Some((_, mut rows)) = File::open(path).ok().and_then(|file| rows::rows(BufReader::new(file)).ok()) else {
        return false;
    };
    let wanted = format!("\"uuid\":\"{uuid}\"");
    while let Ok(Some(_)) = rows.next() {
        if String::from_utf8_lossy(&rows.row).contains(&wanted) {
            return true;
        }
    }
    false
}

/// Adds the entry that a tool added to the main agent's task list; it has an id only in the result.
fn add_task(whole: Option<&RawValue>, fold: &mut Fold) {
    let added = whole.and_then(|raw| serde_json::from_str::<Added>(raw.get()).ok()).unwrap_or_default();
    if let (Some(id), Some(subject)) = (added.task.id.get(), added.task.subject.get()) {
        let entry = Entry { id: Some(id.to_owned()), text: subject.to_owned(), status: String::new() };
        fold.update_todos(Todos { entries: vec![entry], merge: true });
    }
}

fn result(block: &Block, whole: Option<&RawValue>, owner: Owner, fold: &mut Fold) {
    let Some(id) = block.of.get() else { return };
    let failed = block.is_error.is_true();
    if !failed && owner.is_none() {
        add_task(whole, fold);
    }
    let Some(open) = fold.end_call(id, failed) else { return };
    if failed || open.questions.is_empty() {
        return;
    }
    let content = block.content.and_then(|raw| serde_json::from_str::<Blocks>(raw.get()).ok()).unwrap_or_default();
    answers::add_answers(
        &open.questions,
        whole.map(RawValue::get).unwrap_or_default(),
        &content.texts().join("\n"),
        fold,
    );
}

impl Reader for Claude {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
        if let Some(uuid) = row.uuid.get()
            && !self.seen.insert(fold.hash(uuid))
        {
            return true;
        }
        fold.is_copy = self.is_copy(&row, fold);
        fold.add_time(row.timestamp.get());
        fold.set_cwd(row.cwd.get());
        let owner = self.owner(&row, fold);
        if owner.is_none() {
            row.session.set(&mut fold.out.session_id);
            row.branch.set(&mut fold.out.branch);
        }
        match row.kind.get() {
            Some("user") => self.user(&row, owner, fold),
            Some("assistant") => self.assistant(&row, owner, fold),
            Some("summary") => fold.set_summary(row.summary.get().unwrap_or_default()),
            _ => {}
        }
        true
    }

    fn read_adjacent(&mut self, path: &Path, fold: &mut Fold) {
        fold.is_copy = false;
        if fold.out.parent.is_none() {
            fold.out.parent = self.parent(path);
        }
        for file in subagents(path) {
            self.subagent(&file, fold);
        }
    }
}

//! Transcripts of Claude Code: one row per block of a message; subagents in rows or files of their own.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde_json::value::RawValue;

use crate::agents::format::{Format, Match, Reader, RowFormat, Sessions, read_rows};
use crate::model::{Agent, Role, Tokens};
use crate::read::block::{Block, Blocks};
use crate::read::call::Call;
use crate::read::files::{entries, modified};
use crate::read::keys::Keys;
use crate::read::lenient::{Count, Flag, Text, lenient};
use crate::read::rows;
use crate::summary::answers;
use crate::summary::fold::{Fold, Owner};
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::ClaudeCode,
    tools: &[],
    data: (Some("CLAUDE_CONFIG_DIR"), ".claude"),
    sessions: Sessions::Rows(RowFormat {
        files: &["projects/*/*.jsonl"],
        matches,
        reader: || Box::<Claude>::default(),
        folder_by_path: |_, _| None,
        // a transcript that starts in a subagent is not a separate session
        folder_in_row: |row, _| row.text("cwd").filter(|_| !row.is_true("isSidechain")),
    }),
};

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
}

impl Claude {
    /// Reads the file of a subagent.
    fn subagent(&mut self, path: &Path, fold: &mut Fold) -> Option<()> {
        let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        modified(path)?;
        let (_, mut rows) = rows::rows(BufReader::new(File::open(path).ok()?)).ok()?;
        let torn = std::mem::take(&mut fold.out.torn);
        self.file = Some(id.to_owned());
        // a read error ends it
        let _ = read_rows(self, &mut rows, fold);
        if std::mem::replace(&mut fold.out.torn, torn) {
            fold.out.skipped_rows -= 1;
        }
        fold.out.size = fold.out.size.saturating_add(rows.size);
        Some(())
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
            result(block, row.result, fold);
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

fn result(block: &Block, whole: Option<&RawValue>, fold: &mut Fold) {
    let Some(id) = block.of.get() else { return };
    let failed = block.is_error.is_true();
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
        for file in entries(&path.with_extension("").join("subagents")) {
            self.subagent(&file, fold);
        }
    }
}

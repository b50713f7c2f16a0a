//! Transcripts of Claude Code: one row per block of a message; subagents in rows or files of their own.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use crate::agents::reader::Reader;
use crate::model::{Agent, Role, Tokens};
use crate::read::call::Call;
use crate::read::input::Input;
use crate::read::lenient::{Content, Count, Flag, Text, lenient};
use crate::summary::answers;
use crate::summary::fold::{Fold, Owner};
use crate::text::words;

lenient! {
    /// The tokens of an API message.
    Usage {
        input: Count = "input_tokens",
        output: Count = "output_tokens",
        cache_write: Count = "cache_creation_input_tokens",
        cache_read: Count = "cache_read_input_tokens",
        /// Unused; gives the struct its lifetime.
        tier: Text<'a> = "service_tier",
    }
}

lenient! {
    /// A block of a message.
    Block {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Option<&'a RawValue> = "input",
        of: Text<'a> = "tool_use_id",
        content: Option<&'a RawValue> = "content",
        is_error: Flag = "is_error",
    }
}

lenient! {
    /// An API message.
    Message {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        content: Content<'a, Block<'a>> = "content",
        usage: Option<Usage<'a>> = "usage",
    }
}

lenient! {
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
    /// Starts the file of a subagent.
    pub fn begin_file(&mut self, agent: &str) {
        self.file = Some(agent.to_owned());
    }

    fn owner(&mut self, row: &Row, fold: &mut Fold) -> Owner {
        if !row.is_sidechain.is_set() && self.file.is_none() {
            return None;
        }
        let agent = row.agent.get().or(self.file.as_deref());
        let uuid = row.uuid.get().map(|uuid| fold.hash(uuid));
        let parent = row.parent.get().map(|parent| fold.hash(parent));
        let owner = match agent {
            Some(agent) => *self.agents.entry(fold.hash(agent)).or_insert_with(|| fold.add_subagent(Some(agent))),
            None => match parent.and_then(|parent| self.chains.get(&parent)) {
                Some(known) => *known,
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
        let meta = row.is_meta.is_set() || row.is_hidden.is_set();
        let parts: Vec<&str> = match &row.message.content {
            Content::Text(text) => vec![text],
            Content::Parts(blocks) => blocks.iter().filter_map(|block| block.text.get()).collect(),
        };
        if let Content::Parts(blocks) = &row.message.content {
            for block in blocks.iter().filter(|block| block.kind.get() == Some("tool_result")) {
                result(block, row.result, fold);
            }
        }
        if owner.is_some() {
            parts.first().inspect(|text| fold.name_after_prompt(owner, text));
        } else if row.is_summary.is_set() {
            fold.set_summary(&parts.join("\n"));
        } else if !meta {
            let own: Vec<&str> = parts.into_iter().filter_map(words::of_user).collect();
            fold.add_message(Role::User, &own.join("\n"), row.timestamp.get());
        }
    }

    fn assistant(&self, row: &Row, owner: Owner, fold: &mut Fold) {
        let message = &row.message;
        let real = message.model.get() != Some("<synthetic>") && !row.is_failure.is_set();
        if let Some(usage) = message.usage.as_ref().filter(|_| real) {
            let tokens = Tokens {
                input: usage.input.get(),
                output: usage.output.get(),
                cache_read: usage.cache_read.get(),
                cache_write: usage.cache_write.get(),
            };
            fold.add_usage(owner, message.id.get(), tokens);
        }
        if let Some(model) = message.model.get().filter(|_| real && owner.is_none()) {
            fold.out.model = Some(model.to_owned());
        }
        let blocks = match &message.content {
            Content::Text(text) if real && owner.is_none() => {
                return fold.add_message(Role::Assistant, text, row.timestamp.get());
            }
            Content::Text(_) => return,
            Content::Parts(blocks) => blocks,
        };
        for block in blocks {
            match block.kind.get() {
                Some("text") if real && owner.is_none() => {
                    fold.add_message(Role::Assistant, block.text.get().unwrap_or_default(), row.timestamp.get());
                }
                Some("tool_use") => {
                    let name = block.name.get().unwrap_or_default();
                    let cwd = fold.folder.as_deref();
                    let call = Input::with(block.input, |input| Call::of(Agent::ClaudeCode, name, input, cwd));
                    fold.add_call(owner, block.id.get(), call);
                }
                _ => {}
            }
        }
    }
}

fn result(block: &Block, whole: Option<&RawValue>, fold: &mut Fold) {
    let Some(id) = block.of.get() else { return };
    let failed = block.is_error.is_set();
    let Some(open) = fold.end_call(id, failed) else { return };
    if failed || open.questions.is_empty() {
        return;
    }
    let text = block.content.and_then(|raw| serde_json::from_str::<Content<Block>>(raw.get()).ok());
    let text = match text {
        Some(Content::Text(text)) => text.into_owned(),
        Some(Content::Parts(blocks)) => {
            blocks.iter().map(|block| block.text.to_string()).collect::<Vec<_>>().join("\n")
        }
        None => String::new(),
    };
    answers::take(&open.questions, whole.map(RawValue::get).unwrap_or_default(), &text, fold);
}

impl Reader for Claude {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
        if let Some(uuid) = row.uuid.get()
            && !self.seen.insert(fold.hash(uuid))
        {
            return true;
        }
        if let Some(time) = row.timestamp.get() {
            fold.add_time(time);
        }
        if let Some(cwd) = row.cwd.get() {
            fold.set_cwd(cwd);
        }
        let owner = self.owner(&row, fold);
        if owner.is_none() {
            if let Some(session) = row.session.get() {
                fold.out.session_id = Some(session.to_owned());
            }
            if let Some(branch) = row.branch.get() {
                fold.out.branch = Some(branch.to_owned());
            }
        }
        match row.kind.get() {
            Some("user") => self.user(&row, owner, fold),
            Some("assistant") => self.assistant(&row, owner, fold),
            Some("summary") => fold.set_summary(row.summary.get().unwrap_or_default()),
            _ => {}
        }
        true
    }
}

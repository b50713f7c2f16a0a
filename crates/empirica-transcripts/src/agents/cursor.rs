//! Transcripts of Cursor: messages without times, ids and results.

use std::path::Path;

use crate::agents::format::{Format, Match, NamedRepository, Reader, RowFormat, Sessions};
use crate::model::{Agent, Role};
use crate::read::block::Blocks;
use crate::read::call::Call;
use crate::read::files::{ancestor_name, names};
use crate::read::lenient::{Text, lenient};
use crate::summary::fold::Fold;
use crate::text::words;

pub(crate) static FORMAT: Format = Format {
    agent: Agent::Cursor,
    tools: &[("Delete", "edit")],
    data: (None, ".cursor"),
    sessions: Sessions::Rows(RowFormat {
        files: &["projects/*/agent-transcripts/*/*.jsonl"],
        matches: |row| {
            let is_message = row.text("role").is_some_and(|role| role == "user" || role == "assistant");
            Match::of(is_message && row.text("type").is_none() && row.has_object("message"))
        },
        reader: || Box::<Cursor>::default(),
        folder_by_path: |path, folder| {
            let folder = folder.filter(|folder| ancestor_name(path, 3).is_some_and(|slug| is_slug_of(slug, folder)));
            folder?.to_str().map(str::to_owned)
        },
        folder_in_row: |_, _| None,
        repository_in_row: |_| NamedRepository::default(),
    }),
};

/// Whether a slug is Cursor's folder name for `folder`: its path with everything but letters and digits as `-`.
fn is_slug_of(slug: &str, folder: &Path) -> bool {
    let plain = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        text.trim_matches('-').to_owned()
    };
    !plain(slug).is_empty()
        && names(folder).iter().filter_map(|name| name.to_str()).any(|name| plain(name) == plain(slug))
}

lenient! {
    Message {
        content: Blocks<'a> = "content",
    }

    Row {
        role: Text<'a> = "role",
        message: Message<'a> = "message",
    }
}

/// Reads the rows of a session.
#[derive(Debug, Default)]
pub struct Cursor;

/// The user's text without Cursor's wrapping.
fn query(text: &str) -> Option<&str> {
    match text.split_once("<user_query>") {
        Some((_, rest)) => Some(rest.split_once("</user_query>").map_or(rest, |(query, _)| query).trim()),
        None => words::user_text(text).filter(|text| !text.starts_with('<')),
    }
}

impl Reader for Cursor {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(row) = serde_json::from_str::<Row>(text) else { return false };
        let role = match row.role.get() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            _ => return true,
        };
        let texts = row.message.content.texts();
        let own: Vec<&str> = match role {
            Role::User => texts.into_iter().filter_map(query).collect(),
            Role::Assistant => texts,
        };
        fold.add_message(role, &own.join("\n"), None);
        for block in row.message.content.of_kind("tool_use") {
            let name = block.name.get().unwrap_or_default();
            let call = Call::of(FORMAT.tools, name, block.input, fold.folder.as_deref());
            // there are no results: assume success
            fold.add_ended_call(None, call, Some(false));
        }
        true
    }

    fn read_adjacent(&mut self, path: &Path, fold: &mut Fold) {
        // the file is named after the session
        let name = path.file_stem().and_then(|name| name.to_str());
        fold.out.session_id = fold.out.session_id.take().or(name.map(str::to_owned));
    }
}

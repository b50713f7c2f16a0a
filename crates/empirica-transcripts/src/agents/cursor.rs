//! Transcripts of Cursor: messages without times, ids and results.

use serde_json::value::RawValue;

use crate::agents::reader::Reader;
use crate::model::{Agent, Role};
use crate::read::call::Call;
use crate::read::input::Input;
use crate::read::lenient::{Content, Text, lenient};
use crate::summary::fold::Fold;
use crate::text::words;

lenient! {
    /// A part of a message.
    Block {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        name: Text<'a> = "name",
        input: Option<&'a RawValue> = "input",
    }
}

lenient! {
    Message {
        content: Content<'a, Block<'a>> = "content",
    }
}

lenient! {
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
        None => words::of_user(text).filter(|text| !text.starts_with('<')),
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
        let texts: Vec<&str> = match &row.message.content {
            Content::Text(text) => vec![text],
            Content::Parts(blocks) => blocks.iter().filter_map(|block| block.text.get()).collect(),
        };
        let own: Vec<&str> = match role {
            Role::User => texts.into_iter().filter_map(query).collect(),
            Role::Assistant => texts,
        };
        fold.add_message(role, &own.join("\n"), None);
        let Content::Parts(blocks) = &row.message.content else { return true };
        for block in blocks.iter().filter(|block| block.kind.get() == Some("tool_use")) {
            let name = block.name.get().unwrap_or_default();
            let call = Input::with(block.input, |input| Call::of(Agent::Cursor, name, input, fold.folder.as_deref()));
            // there are no results: assume success
            fold.add_files(None, call.files.clone());
            fold.add_call(None, None, call);
        }
        true
    }
}

//! The content of a message: a text, or blocks with texts, calls of tools and their results.

use serde_json::value::RawValue;

use crate::read::lenient::{Content, Flag, Text, lenient};

lenient! {
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

pub type Blocks<'a> = Content<'a, Block<'a>>;

impl<'a> Blocks<'a> {
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Content::Text(text) => vec![text],
            Content::Parts(blocks) => blocks.iter().filter_map(|block| block.text.get()).collect(),
        }
    }

    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Block<'a>> {
        let blocks: &[Block] = match self {
            Content::Text(_) => &[],
            Content::Parts(blocks) => blocks,
        };
        blocks.iter().filter(move |block| block.kind.get() == Some(kind))
    }
}

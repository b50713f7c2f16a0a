//! The Markdown that goes into the notes: the built-in rendering, the same bytes in every clone.

use serde_json::json;

use super::handoff::markdown;
use super::template::Templates;
use crate::error::Result;
use crate::model::{Body, Record};
use crate::store::Render;
use crate::wire::blocks::footer;

/// The renderer of whole handoffs. Raised by 2 when the template changes what it says; the odd number above it marks
/// a handoff that was put aside, so that this wins over the same renderer's whole one.
pub const RENDERER: u32 = 2;

/// Renders with the built-in templates.
pub struct BuiltIn;

impl Render for BuiltIn {
    fn block(&self, record: &Record) -> Result<Option<String>> {
        let mut templates = Templates::built_in();
        let text = match &record.body {
            Body::Handoff(_) => markdown(&mut templates, record, Some(&footer(&record.head.id, RENDERER)))?,
            Body::Supersede(supersede) => {
                let data = json!({
                    "of": supersede.of.short(),
                    "by": supersede.by.short(),
                    "footer": footer(&supersede.of, RENDERER + 1),
                });
                templates.render("superseded.md", data)?
            }
            _ => return Ok(None),
        };
        Ok(Some(text.trim_end().to_owned()))
    }
}

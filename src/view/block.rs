//! The Markdown that goes into the notes: the built-in rendering, the same bytes in every clone.

use serde_json::json;

use super::handoff::markdown;
use super::template::Templates;
use crate::error::Result;
use crate::model::{Body, Record};
use crate::ops::show::short_commit;
use crate::store::Render;
use crate::wire::blocks::footer;

/// The renderer of whole handoffs and digests. Raised by 2 when a template changes what it says; the odd number above
/// it marks what was put aside or stands elsewhere, so that this wins over the same renderer's whole one.
pub const RENDERER: u32 = 4;

/// Renders with the built-in templates.
pub struct BuiltIn;

impl Render for BuiltIn {
    fn block(&self, record: &Record) -> Result<Option<String>> {
        let mut templates = Templates::built_in();
        let text = match &record.body {
            Body::Handoff(_) => markdown(&mut templates, record, Some(&footer(&record.head.id, RENDERER)))?,
            Body::Digest(digest) => {
                let data = json!({
                    "short": record.head.id.short(),
                    "session": record.head.session.as_ref().map(|id| id.short()),
                    "ai": record.head.ai,
                    "d": digest,
                    "footer": footer(&record.head.id, RENDERER),
                });
                templates.render("digest.md", data)?
            }
            Body::Supersede(supersede) => {
                let data = json!({
                    "of": supersede.of.short(),
                    "by": supersede.by.short(),
                    "footer": footer(&supersede.of, RENDERER + 1),
                });
                templates.render("superseded.md", data)?
            }
            Body::Redacted(redacted) if matches!(redacted.was.as_str(), "handoff" | "digest") => {
                let data = json!({
                    "what": super::words::words(&redacted.was),
                    "of": record.head.id.short(),
                    "by": redacted.redacted_by,
                    "at": redacted.redacted_at,
                    "reason": redacted.reason,
                    "footer": footer(&record.head.id, RENDERER),
                });
                templates.render("redacted.md", data)?
            }
            _ => return Ok(None),
        };
        Ok(Some(text.trim_end().to_owned()))
    }

    fn attached(&self, record: &Record, to: &str) -> Result<Option<String>> {
        let what = match &record.body {
            Body::Handoff(_) => "Handoff",
            Body::Digest(_) => "Digest",
            _ => return Ok(None),
        };
        let data = json!({
            "what": what,
            "of": record.head.id.short(),
            "to": short_commit(Some(to)),
            "footer": footer(&record.head.id, RENDERER + 1),
        });
        let text = Templates::built_in().render("attached.md", data)?;
        Ok(Some(text.trim_end().to_owned()))
    }
}

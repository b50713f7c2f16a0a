//! Handoffs as resources: `empirica://handoff/<id>`, as Markdown.

use crate::search::{self, SearchResults};
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use crate::context::handoffs::ListedHandoff;
use crate::handoff::receive::accept;
use crate::history::show;
use crate::history::show::view;
use crate::history::show::view::Format;
use crate::mcp::call_context::CallContext;
use crate::render::format;
use crate::render::safe;
use empirica_notes::error::{Error, Result};

/// What every name begins with.
pub const PREFIX: &str = "empirica://handoff/";
/// How many are listed at once.
const PAGE: usize = 100;
const MARKDOWN: &str = "text/markdown";

/// The handoffs in force, newest first, from where the last page ended.
pub fn list(call: &mut CallContext<'_>, cursor: Option<&str>) -> Result<ListResourcesResult> {
    let from = match cursor.map(str::parse::<usize>) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(error)) => {
            return Err(Error::usage("the cursor is none of this list's")
                .provided(cursor.unwrap_or_default())
                .suggest("Begin without a cursor.")
                .caused_by(error));
        }
    };
    let until = from.saturating_add(PAGE);
    let request = search::SearchRequest { handoffs: true, limit: until, ..Default::default() };
    let outcome = search::run(&call.reading(None, None)?, &request)?;
    let handoffs = match outcome.found {
        SearchResults::Handoffs(handoffs) => handoffs,
        _ => Vec::new(),
    };
    let resource = |listed: &ListedHandoff| {
        let task = safe::line(&listed.handoff.task);
        let of = format!("Handoff by {} of {}", safe::line(&listed.head.ai), format::date(&listed.head.at));
        let mut out =
            Resource::new(format!("{PREFIX}{}", listed.head.id), format!("handoff {}", listed.head.id.short()));
        out.title = Some(if task.is_empty() { of.clone() } else { task });
        out.description = Some(of);
        out.mime_type = Some(MARKDOWN.to_owned());
        out
    };
    let mut out = ListResourcesResult::with_all_items(handoffs.iter().skip(from).map(resource).collect());
    out.next_cursor = (outcome.total_found > until).then(|| until.to_string());
    Ok(out)
}

/// How a handoff is named.
pub fn templates() -> ListResourceTemplatesResult {
    let mut template = ResourceTemplate::new(format!("{PREFIX}{{id}}"), "handoff");
    template.title = Some("A handoff".to_owned());
    template.description = Some("A handoff as Markdown, by its id or 4 or more characters of it".to_owned());
    template.mime_type = Some(MARKDOWN.to_owned());
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// A handoff.
pub fn read(call: &mut CallContext<'_>, uri: &str) -> Result<ReadResourceResult> {
    let id = uri.strip_prefix(PREFIX).ok_or_else(|| {
        Error::not_found(format!("there is no resource '{uri}'"))
            .provided(uri)
            .reason(format!("the resources are named {PREFIX}<id>"))
            .suggest("Use a name of the list.")
    })?;
    let context = call.reading(None, None)?;
    let record = accept::named(&context, id)?;
    let (shown, warnings) = show::run(&context, Some(record.head.id.as_str()), false)?;
    let answer = view::shown(&shown, Format::Markdown, warnings, &mut call.templates)?;
    let contents = ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(MARKDOWN.to_owned()),
        text: answer.text,
        meta: None,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

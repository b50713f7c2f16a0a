//! Handoffs as resources: `empirica://handoff/<id>`, as Markdown.

use crate::use_cases::search::{self, SearchResults};
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

use crate::context::handoffs::ListedHandoff;
use crate::mcp::call_context::CallContext;
use crate::render::safe::Fence;
use crate::render::{format, safe};
use crate::use_cases::handoff::receive::accept;
use crate::use_cases::history::show;
use crate::use_cases::history::show::view::{self, Format};
use empirica_notes::error::{Error, Result};

/// The prefix of all URIs.
pub const PREFIX: &str = "empirica://handoff/";
/// Resources per page of the list.
const PAGE: usize = 100;
const MARKDOWN: &str = "text/markdown";

/// Lists a page of the handoffs in force, newest first.
pub fn list(call: &mut CallContext<'_>, cursor: Option<&str>) -> Result<ListResourcesResult> {
    let from = match cursor.map(str::parse::<usize>) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(error)) => {
            return Err(Error::usage("cannot list the resources: the cursor is not from this list")
                .provided(cursor.unwrap_or_default())
                .suggest("Start without a cursor.")
                .caused_by(error));
        }
    };
    let until = from.saturating_add(PAGE);
    let request = search::SearchRequest { handoffs: true, limit: until, ..Default::default() };
    let outcome = search::run(&call.reading(None, None)?, &request)?;
    let SearchResults::Handoffs(handoffs) = outcome.found else {
        return Ok(ListResourcesResult::default());
    };
    let resource = |listed: &ListedHandoff| {
        let task = safe::inert(&safe::line(&listed.handoff.task));
        let about = format!(
            "Handoff by {} of {}",
            safe::inert(&safe::line(&listed.envelope.ai)),
            format::date(&listed.envelope.at)
        );
        let mut out =
            Resource::new(format!("{PREFIX}{}", listed.envelope.id), format!("handoff {}", listed.envelope.id.short()));
        out.title = Some(if task.is_empty() { about.clone() } else { task });
        out.description = Some(about);
        out.mime_type = Some(MARKDOWN.to_owned());
        out
    };
    let mut out = ListResourcesResult::with_all_items(handoffs.iter().skip(from).map(resource).collect());
    out.next_cursor = (outcome.total_found > until).then(|| until.to_string());
    Ok(out)
}

/// The URI template of handoffs.
pub fn templates() -> ListResourceTemplatesResult {
    let mut template = ResourceTemplate::new(format!("{PREFIX}{{id}}"), "handoff");
    template.title = Some("A handoff".to_owned());
    template.description = Some("A handoff as Markdown, by its id or 4 or more characters of it".to_owned());
    template.mime_type = Some(MARKDOWN.to_owned());
    ListResourceTemplatesResult::with_all_items(vec![template])
}

/// Reads a handoff as Markdown.
pub fn read(call: &mut CallContext<'_>, uri: &str) -> Result<ReadResourceResult> {
    let id = uri.strip_prefix(PREFIX).ok_or_else(|| {
        Error::not_found(format!("cannot find resource '{uri}'"))
            .provided(uri)
            .reason(format!("the resources are named {PREFIX}<id>"))
            .suggest("Use a URI of the list.")
    })?;
    let context = call.reading(None, None)?;
    let record = accept::named(&context, id)?;
    let (shown, warnings) = show::run(&context, Some(record.envelope.id.as_str()), false)?;
    let answer = view::shown(&shown, Format::Markdown, warnings, &mut call.templates)?;
    let contents = ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(MARKDOWN.to_owned()),
        text: Fence::of(context.store.paths()).around(&answer.text),
        meta: None,
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

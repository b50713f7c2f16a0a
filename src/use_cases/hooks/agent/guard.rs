//! What is known of a file, told when an agent reads or changes it: each claim once in a session.

use std::collections::BTreeSet;

use crate::context::{CommandContext, active};
use crate::render::safe::Fence;
use crate::use_cases::hooks::agent::background::is_in_background;
use crate::use_cases::hooks::agent::event::HookEvent;
use crate::use_cases::hooks::agent::event_session;
use crate::use_cases::hooks::agent::injection::Injection;
use crate::use_cases::hooks::agent::view;
use crate::use_cases::search::why;
use empirica_notes::error::Result;
use empirica_notes::git::objects::content::{WorkTree, inside, tree_path};

/// What others logged about these files and the session was not told yet; nothing with `empirica.guard` false, without a session,
/// and of files outside the work tree.
pub fn on_touch(context: &CommandContext<'_>, event: &HookEvent, files: &[String]) -> Result<Option<Injection>> {
    let root = context.repo.work_tree();
    let root = root.as_deref();
    let in_tree = |file: &String| inside(root, file).or_else(|| tree_path(root, &context.env.cwd, file));
    let paths: BTreeSet<String> = files.iter().filter_map(in_tree).filter(|path| !path.is_empty()).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let Some(session) = event_session::active_session(context, event)? else { return Ok(None) };
    let files = WorkTree::of(context.repo);
    if let Some(path) = paths.iter().find(|path| files.as_ref().is_some_and(|files| files.has_file(path))) {
        active::touch(context, &session, path);
    }
    if context.repo.config_bool("empirica.guard") == Some(false) {
        return Ok(None);
    }
    if is_in_background(context.env) {
        // nobody hears what is said here: only the index is brought up to date
        return context.index().map(|_| None);
    }
    let told = active::given(context, &session);
    let known = why::before_change(context, &paths, |id, of| of == Some(&session) || told.contains(id.as_str()))?;
    let (text, shown) = view::known(&known, &Fence::of(context.store.paths()));
    active::give(context, &session, shown.iter().map(|id| id.as_str()));
    Ok((!shown.is_empty()).then_some(Injection::Known(text)))
}

//! Active sessions of a worktree: derived from the records, cached in a file each.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::context::CommandContext;
use empirica_notes::error::Result;
use empirica_notes::fault;
use empirica_notes::git::process::ancestors::is_running;
use empirica_notes::model::{Id, SessionId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveSession {
    pub id: SessionId,
    /// The record that started it.
    pub began: Id,
    pub ai: String,
    /// ID of the session in the agent's own tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Whether an agent's hook started it; the agent may then set the task later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hook: bool,
    /// The processes that it belongs to, nearest first: the MCP server that started it, if one did, and the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<String>,
    /// Task set after the start; the next assessment stores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl ActiveSession {
    /// Whether no hook tells of it, and its processes have ended.
    pub fn is_unattended(&self) -> bool {
        !self.by_hook && !self.processes.is_empty() && !self.processes.iter().any(|id| is_running(id))
    }
}

/// The active sessions of this worktree, oldest first. If none were cached, derives those of this clone and worktree from
/// the records.
pub fn load(context: &CommandContext<'_>) -> Result<Vec<ActiveSession>> {
    if let Some(cached) = read(&context.store.paths().current()) {
        return Ok(cached);
    }
    let mut found = context.index()?.active_at(&context.store.paths().worktree_ids())?;
    // the place is no secret
    found.retain(|session| context.store.paths().secret().is_none() || context.store.made(&session.began));
    let derived = found.into_iter().map(|s| ActiveSession {
        id: s.id,
        began: s.began,
        ai: s.ai,
        external_id: s.external_id,
        by_hook: false,
        processes: Vec::new(),
        task: None,
    });
    let active: Vec<ActiveSession> = derived.collect();
    for session in &active {
        // if this fails, it is derived from the records next time
        let _ = begin(context, session);
    }
    Ok(active)
}

/// The sessions cached for this worktree, oldest first.
pub fn cached(context: &CommandContext<'_>) -> Vec<ActiveSession> {
    read(&context.store.paths().current()).unwrap_or_default()
}

/// The sessions cached in a folder, oldest first; `None` without the folder.
fn read(folder: &Path) -> Option<Vec<ActiveSession>> {
    let files = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok());
    // skips temporary files of a process that died
    let files = files.filter(|file| SessionId::parse(&file.file_name().to_string_lossy()).is_some());
    let parsed = files.filter_map(|file| serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok());
    let mut active: Vec<ActiveSession> = parsed.collect();
    active.sort_by(|a, b| a.began.cmp(&b.began));
    Some(active)
}

/// Adds a session to the cache of this worktree.
pub fn begin(context: &CommandContext<'_>, session: &ActiveSession) -> std::io::Result<()> {
    let text = serde_json::to_string(session).map_err(std::io::Error::other)?;
    context.store.paths().replace(&context.store.paths().current().join(session.id.as_str()), &text)
}

/// Removes redacted tasks from the cached sessions of all worktrees.
pub fn forget_redacted(context: &CommandContext<'_>) {
    for folder in worktrees(context) {
        for mut session in read(&folder).unwrap_or_default() {
            let task = session.task.as_deref().and_then(|task| context.store.redaction().without_redacted(task));
            if task.is_some() {
                session.task = task;
                let text = serde_json::to_string(&session).unwrap_or_default();
                // if this fails, the session is derived from the records
                if context.store.paths().replace(&folder.join(session.id.as_str()), &text).is_err() {
                    end(context, &session.id);
                }
            }
        }
    }
}

/// Removes a session and its hint state from the cache of any worktree.
pub fn end(context: &CommandContext<'_>, session: &SessionId) {
    for folder in worktrees(context) {
        // it may be missing
        let file = folder.join(session.as_str());
        let _ = fault::point("session: to be forgotten").and_then(|()| std::fs::remove_file(file));
        let _ = std::fs::remove_file(hints(&folder, session));
    }
}

fn hints(folder: &Path, session: &SessionId) -> std::path::PathBuf {
    folder.join(format!("{session}.hints"))
}

/// Whether to give a session a kind of hint: once per active session of this worktree; always for other sessions.
pub fn takes_hint(context: &CommandContext<'_>, session: &SessionId, kind: &str) -> bool {
    let is_new = !given(context, session).contains(kind);
    if is_new {
        give(context, session, [kind]);
    }
    is_new
}

/// The hints that an active session of this worktree was given.
pub fn given(context: &CommandContext<'_>, session: &SessionId) -> BTreeSet<String> {
    let text = std::fs::read_to_string(hints(&context.store.paths().current(), session)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Remembers that a session was given these hints, if it is an active one of this worktree.
pub fn give<'k>(context: &CommandContext<'_>, session: &SessionId, kinds: impl IntoIterator<Item = &'k str>) {
    let folder = context.store.paths().current();
    if folder.join(session.as_str()).exists() {
        let lines: String = kinds.into_iter().map(|kind| format!("{kind}\n")).collect();
        // if this fails, the hint is repeated
        let _ = context.store.paths().append(&hints(&folder, session), &lines);
    }
}

/// Remembers the file that an active session read or changed last.
pub fn touch(context: &CommandContext<'_>, session: &SessionId, path: &str) {
    if !path.contains(char::is_control) && last_touched(context, session).as_deref() != Some(path) {
        give(context, session, [format!("{TOUCHED}{path}").as_str()]);
    }
}

/// The file that an active session of this worktree read or changed last; `None` if no hook told of one.
pub fn last_touched(context: &CommandContext<'_>, session: &SessionId) -> Option<String> {
    let text = std::fs::read_to_string(hints(&context.store.paths().current(), session)).ok()?;
    text.lines().rev().find_map(|line| line.strip_prefix(TOUCHED)).map(str::to_owned)
}

/// Begins the line of a file in the file of hints.
const TOUCHED: &str = "file ";

/// An active session of any worktree, by its full ID.
pub fn anywhere(context: &CommandContext<'_>, id: &str) -> Option<ActiveSession> {
    SessionId::parse(id)?;
    worktrees(context).into_iter().find_map(|folder| serde_json::from_slice(&std::fs::read(folder.join(id)).ok()?).ok())
}

fn worktrees(context: &CommandContext<'_>) -> Vec<std::path::PathBuf> {
    let folder = context.store.paths().current();
    let all = folder.parent().and_then(|all| std::fs::read_dir(all).ok());
    all.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

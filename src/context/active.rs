//! The sessions that are active in a worktree: derived from the records, kept in a small file each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::context::CommandContext;
use empirica_notes::error::Result;
use empirica_notes::fault;
use empirica_notes::model::{Id, SessionId};

/// An active session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ActiveSession {
    pub id: SessionId,
    /// The record it began with.
    pub began: Id,
    pub ai: String,
    /// The id the agent's own tool knows it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Whether a hook of the agent's began it: then the agent may say later what it is for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hook: bool,
    /// What it is for, when that was said after it began; the next assessment keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// The active sessions of this worktree, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ActiveSessions {
    /// The sessions.
    pub active: Vec<ActiveSession>,
}

impl ActiveSessions {
    /// Reads the files; without their folder, finds the sessions in the records that this clone and worktree began.
    pub fn load(context: &CommandContext<'_>) -> Result<Self> {
        let folder = context.store.paths().current();
        if let Some(mut active) = read(&folder) {
            active.sort_by(|a, b| a.began.cmp(&b.began));
            return Ok(ActiveSessions { active });
        }
        let found = context.index()?.active_at(&context.store.paths().places())?;
        let active: Vec<ActiveSession> = found
            .into_iter()
            .map(|s| ActiveSession {
                id: s.id,
                began: s.began,
                ai: s.ai,
                external_id: s.external_id,
                by_hook: false,
                task: None,
            })
            .collect();
        for session in &active {
            // a file that cannot be written is found in the records again
            let _ = begin(context, session);
        }
        Ok(ActiveSessions { active })
    }
}

/// The active sessions of this worktree as far as they are remembered, oldest first: nothing is looked for.
pub fn remembered(context: &CommandContext<'_>) -> Vec<ActiveSession> {
    let mut active = read(&context.store.paths().current()).unwrap_or_default();
    active.sort_by(|a, b| a.began.cmp(&b.began));
    active
}

fn read(folder: &Path) -> Option<Vec<ActiveSession>> {
    let files = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok());
    // what a process wrote that died before it gave it its name is no session
    let files = files.filter(|file| SessionId::parse(&file.file_name().to_string_lossy()).is_some());
    Some(files.filter_map(|file| serde_json::from_slice(&std::fs::read(file.path()).ok()?).ok()).collect())
}

/// Remembers a session as active in this worktree.
pub fn begin(context: &CommandContext<'_>, session: &ActiveSession) -> std::io::Result<()> {
    let text = serde_json::to_string(session).map_err(std::io::Error::other)?;
    context.store.replace_file(&context.store.paths().current().join(session.id.as_str()), &text)
}

/// Forgets what the active sessions of all worktrees are for where that was redacted.
pub fn forget_redacted(context: &CommandContext<'_>) {
    for folder in worktrees(context) {
        for mut session in read(&folder).unwrap_or_default() {
            let task = session.task.as_deref().and_then(|task| context.store.without_redacted(task));
            if task.is_some() {
                session.task = task;
                let text = serde_json::to_string(&session).unwrap_or_default();
                // what cannot be written again is found in the records
                if context.store.replace_file(&folder.join(session.id.as_str()), &text).is_err() {
                    end(context, &session.id);
                }
            }
        }
    }
}

/// Forgets a session and the hints it was given, in whichever worktree it is remembered.
pub fn end(context: &CommandContext<'_>, session: &SessionId) {
    for folder in worktrees(context) {
        // not there is as good as removed
        let file = folder.join(session.as_str());
        let _ = fault::point("session: to be forgotten").and_then(|()| std::fs::remove_file(file));
        let _ = std::fs::remove_file(hints(&folder, session));
    }
}

fn hints(folder: &Path, session: &SessionId) -> std::path::PathBuf {
    folder.join(format!("{session}.hints"))
}

/// Whether a session is to be given a kind of hint: once while it is active in this worktree, and always when it is not.
pub fn takes_hint(context: &CommandContext<'_>, session: &SessionId, kind: &str) -> bool {
    let folder = context.store.paths().current();
    if !folder.join(session.as_str()).exists() {
        return true;
    }
    let file = hints(&folder, session);
    let given = std::fs::read_to_string(&file).unwrap_or_default();
    let is_new = given.lines().all(|line| line != kind);
    if is_new {
        // where it cannot be remembered, the hint comes again
        let _ = context.store.replace_file(&file, &format!("{given}{kind}\n"));
    }
    is_new
}

/// An active session of any worktree, by its full id.
pub fn anywhere(context: &CommandContext<'_>, id: &str) -> Option<ActiveSession> {
    SessionId::parse(id)?;
    worktrees(context).into_iter().find_map(|folder| serde_json::from_slice(&std::fs::read(folder.join(id)).ok()?).ok())
}

fn worktrees(context: &CommandContext<'_>) -> Vec<std::path::PathBuf> {
    let folder = context.store.paths().current();
    let all = folder.parent().and_then(|all| std::fs::read_dir(all).ok());
    all.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

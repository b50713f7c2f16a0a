//! Export for people: the handoffs of each session in a file in its agent's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::CommandContext;
use crate::context::handoffs::{ListedHandoff, by_ids};
use crate::index::HandoffQuery;
use empirica_notes::error::{Error, Result, quote};
use empirica_notes::model::Id;
use empirica_notes::model::hash::fnv;

/// Number of handoffs read at once.
const BATCH: usize = 200;
/// Most characters of a folder name.
const MAX_NAME_CHARS: usize = 60;
/// Names reserved on some systems.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

#[derive(Debug, Clone)]
pub struct MarkdownFile {
    pub markdown: String,
    pub json: String,
}

/// Result of the export.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct MarkdownOutcome {
    /// The folder, as given.
    pub folder: String,
    /// Number of sessions with files.
    pub sessions: usize,
    /// Number of handoffs in force in them.
    pub handoffs: usize,
    /// Number of new or changed files.
    #[serde(rename = "files_written")]
    pub written: usize,
    /// Number of sessions without a handoff, and so without a file.
    #[serde(rename = "sessions_without_handoff")]
    pub without_handoff: usize,
    /// Agents whose folders are named differently.
    pub renamed: Vec<Renamed>,
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// An agent whose folder is named differently.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RenamedFolder")]
pub struct Renamed {
    /// The agent.
    #[serde(rename = "ai_id")]
    pub ai: String,
    /// Name of its folder.
    pub folder: String,
}

/// Writes `FOLDER/<ai>/<session>.md` and `.json` for each session with a handoff in force, with all its handoffs,
/// oldest first. `folder` is relative to the current folder, and is created. Replaces only files that differ. Names of
/// agents cannot escape `folder`: see `folder_names`. A symlink in place of an agent's folder is an error.
pub fn run(
    context: &CommandContext<'_>,
    folder: &Path,
    render: &mut dyn FnMut(&[ListedHandoff]) -> Result<MarkdownFile>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<MarkdownOutcome> {
    let mut outcome = MarkdownOutcome { warnings: context.store.reconcile(), ..Default::default() };
    let target = context.env.cwd.join(folder);
    std::fs::create_dir_all(&target).map_err(|error| unwritable(folder, &target, error))?;
    let index = context.index()?;
    let (rows, _) = index.handoffs(&HandoffQuery::default(), usize::MAX, None)?;
    let ids: Vec<Id> = rows.into_iter().map(|row| row.id).collect();
    let mut sessions: BTreeMap<(String, String), Vec<Id>> = BTreeMap::new();
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    // newest first: a session is filed under the agent of its newest handoff
    for batch in ids.chunks(BATCH) {
        for listed in by_ids(&index, batch)? {
            let session = listed.envelope.session.map_or_else(|| listed.envelope.id.to_string(), |id| id.to_string());
            let ai = owners.entry(session.clone()).or_insert(listed.envelope.ai).clone();
            sessions.entry((ai, session)).or_default().push(listed.envelope.id);
        }
    }
    let names = folder_names(sessions.keys().map(|(ai, _)| ai.as_str()));
    let renamed = names.iter().filter(|(ai, name)| ai != name);
    outcome.renamed = renamed.map(|(ai, name)| Renamed { ai: ai.clone(), folder: name.clone() }).collect();
    outcome.sessions = sessions.len();
    outcome.handoffs = ids.len();
    outcome.without_handoff = index.count_sessions()?.saturating_sub(sessions.len());
    for (done, ((ai, session), mut ids)) in sessions.into_iter().enumerate() {
        ids.sort();
        let page = render(&by_ids(&index, &ids)?)?;
        let below = target.join(&names[&ai]);
        if std::fs::symlink_metadata(&below).is_ok_and(|found| found.is_symlink()) {
            return Err(Error::refused(format!("cannot write to {}: it is a link", below.display()))
                .reason("the name of an agent must not lead out of the folder")
                .suggest("Remove the link, or name another folder.")
                .command(format!("rm {}", quote(&below.to_string_lossy()))));
        }
        for (ending, text) in [("md", &page.markdown), ("json", &page.json)] {
            let file = below.join(format!("{session}.{ending}"));
            let is_same = std::fs::symlink_metadata(&file).is_ok_and(|found| found.is_file())
                && std::fs::read(&file).is_ok_and(|bytes| bytes == text.as_bytes());
            if !is_same {
                context.store.paths().replace(&file, text).map_err(|error| unwritable(folder, &file, error))?;
                outcome.written += 1;
            }
        }
        progress(done + 1, outcome.sessions);
    }
    outcome.folder = folder.to_string_lossy().into_owned();
    Ok(outcome)
}

fn unwritable(folder: &Path, path: &Path, error: std::io::Error) -> Error {
    Error::refused(format!("cannot write the handoffs to {}", folder.display())).on_path(path, error)
}

/// The folder name of each agent: its own with `-` for characters other than ASCII letters, digits, `.`, `_` and `-`,
/// without leading `.` and `-`, cut to 60 characters. If that is empty, differs from the agent's name, is reserved on
/// some systems or differs from another one by case only, `~` and 8 hex digits of a hash of the agent's name are
/// appended.
fn folder_names<'a>(agents: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let agents: BTreeSet<&str> = agents.collect();
    let mut folded: BTreeMap<String, usize> = BTreeMap::new();
    for ai in &agents {
        *folded.entry(ai.to_lowercase()).or_default() += 1;
    }
    let name = |ai: &str| {
        let kept = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let cleaned: String = ai.chars().map(kept).collect();
        let cleaned: String = cleaned.trim_start_matches(['.', '-']).chars().take(MAX_NAME_CHARS).collect();
        let cleaned = cleaned.trim_end_matches('.');
        let stem = cleaned.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_own = cleaned == ai && !cleaned.is_empty() && !RESERVED.contains(&stem.as_str());
        match is_own && folded.get(&ai.to_lowercase()) == Some(&1) {
            true => cleaned.to_owned(),
            false => format!("{cleaned}~{:08x}", fnv(ai.as_bytes()) & 0xffff_ffff),
        }
    };
    agents.into_iter().map(|ai| (ai.to_owned(), name(ai))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_agents_name_where_that_is_one() {
        let agents = ["claude", "gpt-5.1", "Ada", "ada", "../x", "a/b", "", ".git", "-rf", "con", "NUL.txt", "x.", "é"];
        let long = "l".repeat(300);
        let names = folder_names(agents.iter().copied().chain([long.as_str()]));
        assert_eq!((names["claude"].as_str(), names["gpt-5.1"].as_str()), ("claude", "gpt-5.1"));
        let mut seen = BTreeSet::new();
        for (ai, name) in &names {
            assert!(seen.insert(name.to_lowercase()), "{ai}: {name} twice");
            let fine = |c: char| c.is_ascii_alphanumeric() || "._-~".contains(c);
            assert!(name.chars().all(fine) && !name.is_empty() && name.len() <= 70, "{ai}: {name}");
            assert!(!name.starts_with(['.', '-']) && !name.ends_with('.'), "{ai}: {name}");
            assert!(*ai == "claude" || *ai == "gpt-5.1" || name.contains('~'), "{ai}: {name}");
        }
        assert!(names["../x"].starts_with("x~") || names["../x"].starts_with("-x~") || names["../x"].contains("x~"));
    }
}

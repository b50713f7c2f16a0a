//! Files around a transcript: transcripts in folders, subagents' files, and hints of where it was made.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::agents::Any;
use crate::agents::opencode::storage;
use crate::model::Agent;
use crate::read::rows;
use crate::summary::fold::Fold;

/// The size limit of small files beside a transcript, in bytes.
const SMALL: u64 = 64 << 10;

/// OpenCode's database in its data folder.
pub const DATABASE: &str = "opencode.db";

/// The modification time of a regular file; `None` for anything else.
pub fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.modified().ok()
}

fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "jsonl" || end == "json")
}

/// The transcripts right below a folder, newest first.
pub(crate) fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let files = storage::entries(folder).into_iter().filter(|path| is_transcript(path));
    let mut out: Vec<(SystemTime, PathBuf)> = files.filter_map(|path| Some((modified(&path)?, path))).collect();
    out.sort_by(|a, b| b.cmp(a));
    out.into_iter().map(|(_, path)| path).collect()
}

/// The text of a small file; `None` when there is none, or it is long.
fn small(path: &Path) -> Option<String> {
    let file = std::fs::metadata(path).ok()?;
    (file.is_file() && file.len() <= SMALL).then(|| std::fs::read_to_string(path).ok())?
}

/// The root as given, and its real path if that differs.
pub fn names(root: &Path) -> Vec<PathBuf> {
    let mut out = vec![root.to_owned()];
    out.extend(root.canonicalize().ok().filter(|real| real != root));
    out
}

/// Gemini CLI's folder name for a project: the SHA-256 of its path, in hex.
pub fn gemini_hash(root: &Path) -> String {
    Sha256::digest(root.as_os_str().as_encoded_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a hash is [`gemini_hash`] of `root`.
pub fn is_hash_of(hash: &str, root: &Path) -> bool {
    names(root).iter().any(|name| gemini_hash(name) == hash)
}

/// Whether a slug is Cursor's folder name for `root`: its path with everything but letters and digits as `-`.
pub fn is_slug_of(slug: &str, root: &Path) -> bool {
    let plain = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        text.trim_matches('-').to_owned()
    };
    !plain(slug).is_empty()
        && names(root).iter().filter_map(|name| name.to_str()).any(|name| plain(name) == plain(slug))
}

/// The ancestor `levels` levels above a path.
fn above(path: &Path, levels: usize) -> Option<&Path> {
    path.ancestors().nth(levels).filter(|folder| !folder.as_os_str().is_empty())
}

/// The folder of a Gemini CLI session, from `.project_root` above its chats.
pub fn project_root(path: &Path) -> Option<String> {
    let text = small(&above(path, 2)?.join(".project_root"))?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|text| !text.is_empty())
}

/// A value in `workspace.yaml` beside the events of Copilot CLI.
pub fn workspace(path: &Path, key: &str) -> Option<String> {
    let text = small(&path.with_file_name("workspace.yaml"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(quoted.unwrap_or(value).to_owned()).filter(|value| !value.is_empty())
}

/// The folder a transcript was made in, for agents whose rows lack it.
pub fn hint(agent: Agent, path: &Path, root: Option<&Path>) -> Option<String> {
    let name = |levels| above(path, levels)?.file_name()?.to_str();
    let by_name = || match agent {
        Agent::Gemini => root.filter(|root| name(2).is_some_and(|hash| is_hash_of(hash, root))),
        Agent::Cursor => root.filter(|root| name(3).is_some_and(|slug| is_slug_of(slug, root))),
        _ => None,
    };
    let recorded = match agent {
        Agent::Gemini => project_root(path),
        Agent::Copilot => workspace(path, "cwd"),
        _ => None,
    };
    recorded.or_else(|| by_name()?.to_str().map(str::to_owned))
}

/// Adds data beside a transcript: subagents of Claude Code, and the session id of Cursor, which is the file name.
pub fn complete(any: &mut Any, fold: &mut Fold, path: &Path) {
    match any {
        Any::Cursor(_) => {
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            fold.out.session_id = fold.out.session_id.take().or(stem.map(str::to_owned));
        }
        Any::Claude(_) => {
            for file in storage::entries(&path.with_extension("").join("subagents")) {
                subagent(any, fold, &file);
            }
        }
        _ => {}
    }
}

fn subagent(any: &mut Any, fold: &mut Fold, path: &Path) -> Option<()> {
    let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
    modified(path)?;
    let (_, mut rows) = rows::rows(BufReader::new(File::open(path).ok()?)).ok()?;
    let torn = std::mem::take(&mut fold.out.torn);
    if let Any::Claude(reader) = any {
        reader.begin_file(id);
    }
    // a read error ends it
    while let Ok(Some(piece)) = rows.next() {
        let row = std::mem::take(&mut rows.row);
        crate::agents::take(any, piece, &row, &mut rows, fold);
        rows.row = row;
    }
    if std::mem::replace(&mut fold.out.torn, torn) {
        fold.out.skipped_rows -= 1;
    }
    fold.out.size = fold.out.size.saturating_add(rows.size);
    Some(())
}

//! Finds the newest transcript made in a work tree, in the folders where agents keep them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::agents::opencode;
use crate::agents::opencode::{database, storage};
use crate::model::Agent;
use crate::read::lenient::{Flag, Text, lenient};
use crate::read::paths;
use crate::read::rows;
use crate::read::rows::Piece;
use crate::reader::folder;
use crate::reader::folder::modified;

/// The number of rows searched for the folder that a transcript was made in.
const ROWS: usize = 100;

/// The data folders of agents, from the environment. `None` means the fallback below `home`; without `home`, no folder.
#[derive(Debug, Clone, Default)]
pub struct DataFolders {
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`; else `.claude`.
    pub claude: Option<PathBuf>,
    /// `CODEX_HOME`; else `.codex`.
    pub codex: Option<PathBuf>,
    /// `XDG_DATA_HOME`; else `.local/share`.
    pub data: Option<PathBuf>,
}

impl DataFolders {
    fn below(&self, folder: &Option<PathBuf>, fallback: &str) -> Option<PathBuf> {
        folder.clone().or_else(|| Some(self.home.as_ref()?.join(fallback)))
    }
}

/// The newest transcript made in the work tree `root`, without nested work trees, by one agent or any. Chats of Gemini
/// CLI whose folder is named by a hash alone are matched with the folders from `root` to `cwd`. Newest is by
/// modification time: of the file, or of the session in OpenCode's database. Skips what cannot be read; `None` without
/// a match.
pub fn latest(folders: &DataFolders, root: &Path, cwd: &Path, agent: Option<Agent>) -> Option<PathBuf> {
    let places = up_to(root, cwd);
    let agents = Agent::ALL.into_iter().filter(|known| agent.is_none_or(|agent| agent == *known));
    let newest = agents.filter_map(|agent| match agent {
        Agent::OpenCode => open_code(folders, root),
        _ => {
            let mut files: Vec<(SystemTime, PathBuf)> =
                candidates(folders, agent).into_iter().filter_map(|path| Some((modified(&path)?, path))).collect();
            files.sort_by(|a, b| b.cmp(a));
            files.into_iter().find(|(_, path)| is_from(path, agent, root, &places))
        }
    });
    newest.max().map(|(_, path)| path)
}

/// The folders from `root` down to `cwd`; only `root` if `cwd` is elsewhere.
fn up_to(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut out = vec![root.to_owned()];
    for (root, cwd) in
        folder::names(root).iter().flat_map(|root| folder::names(cwd).into_iter().map(move |cwd| (root, cwd)))
    {
        if cwd.starts_with(root) {
            out.extend(cwd.ancestors().take_while(|above| above != root).map(Path::to_owned));
        }
    }
    out
}

/// The entries `levels` levels below a folder.
fn entries_at(folder: &Path, levels: usize) -> Vec<PathBuf> {
    (1..levels).fold(storage::entries(folder), |folders, _| {
        folders.iter().flat_map(|folder| storage::entries(folder)).collect()
    })
}

fn ends(paths: Vec<PathBuf>, ends: &[&str]) -> Vec<PathBuf> {
    let wanted = |path: &PathBuf| path.extension().and_then(|end| end.to_str()).is_some_and(|end| ends.contains(&end));
    paths.into_iter().filter(wanted).collect()
}

/// The files that may be transcripts of an agent.
fn candidates(folders: &DataFolders, agent: Agent) -> Vec<PathBuf> {
    let within = |folder: &Option<PathBuf>, fallback: &str| folders.below(folder, fallback);
    let files = match agent {
        Agent::ClaudeCode => {
            within(&folders.claude, ".claude").map(|base| ends(entries_at(&base.join("projects"), 2), &["jsonl"]))
        }
        Agent::Codex => {
            within(&folders.codex, ".codex").map(|base| ends(entries_at(&base.join("sessions"), 4), &["jsonl"]))
        }
        Agent::Gemini => within(&None, ".gemini/tmp").map(|base| {
            let chats = entries_at(&base, 2).into_iter().filter(|path| path.ends_with("chats"));
            ends(chats.flat_map(|chats| storage::entries(&chats)).collect(), &["json", "jsonl"])
        }),
        Agent::Copilot => within(&None, ".copilot/session-state").map(|base| {
            let sessions = storage::entries(&base).into_iter().map(|session| session.join("events.jsonl"));
            sessions.collect()
        }),
        Agent::Cursor => within(&None, ".cursor/projects").map(|base| {
            let transcripts = entries_at(&base, 2).into_iter().filter(|path| path.ends_with("agent-transcripts"));
            ends(transcripts.flat_map(|transcripts| entries_at(&transcripts, 2)).collect(), &["jsonl"])
        }),
        Agent::OpenCode => None,
    };
    files.unwrap_or_default()
}

/// Whether a file is a transcript of the agent made in `root`; a hash may be that of any of the `places`.
fn is_from(path: &Path, agent: Agent, root: &Path, places: &[PathBuf]) -> bool {
    let hint = match agent {
        Agent::Gemini => places.iter().find_map(|place| folder::hint(agent, path, Some(place))),
        _ => folder::hint(agent, path, Some(root)),
    };
    match (agent, hint) {
        (Agent::Cursor, hint) => hint.is_some(),
        (_, Some(cwd)) => paths::is_inside(&cwd, root),
        (_, None) => is_made_in(path, agent, root, places),
    }
}

lenient! {
    /// The context of a row.
    Place {
        cwd: Text<'a> = "cwd",
    }
}

lenient! {
    /// The first row of a session.
    Start {
        cwd: Text<'a> = "cwd",
        context: Place<'a> = "context",
    }
}

lenient! {
    /// The keys of a row that identify its folder.
    Row {
        cwd: Text<'a> = "cwd",
        payload: Start<'a> = "payload",
        data: Start<'a> = "data",
        project: Text<'a> = "projectHash",
        is_sidechain: Flag = "isSidechain",
    }
}

/// Whether the first rows name `root`. A transcript that starts in a subagent is not a session of its own.
fn is_made_in(path: &Path, agent: Agent, root: &Path, places: &[PathBuf]) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let Ok((_, mut rows)) = rows::rows(BufReader::with_capacity(64 << 10, file)) else { return false };
    first(&mut rows, agent, root, places).unwrap_or(false)
}

fn first<R: BufRead>(rows: &mut rows::Rows<R>, agent: Agent, root: &Path, places: &[PathBuf]) -> Option<bool> {
    for _ in 0..ROWS {
        let piece = rows.next().ok()??;
        if piece == Piece::Lost {
            continue;
        }
        let text = String::from_utf8_lossy(&rows.row);
        let Ok(row) = serde_json::from_str::<Row>(&text) else { continue };
        if let Some(hash) = row.project.get().filter(|_| agent == Agent::Gemini) {
            return Some(
                places.iter().any(|place| {
                    folder::is_hash_of(hash, place) && paths::is_inside(&place.display().to_string(), root)
                }),
            );
        }
        if let Some(cwd) = [&row.cwd, &row.payload.cwd, &row.data.context.cwd].into_iter().find_map(Text::get) {
            return Some(!row.is_sidechain.is_set() && paths::is_inside(cwd, root));
        }
    }
    None
}

/// OpenCode's database, or a session file of its older storage, whichever has the newer session of `root`.
fn open_code(folders: &DataFolders, root: &Path) -> Option<(SystemTime, PathBuf)> {
    let base = folders.below(&folders.data, ".local/share")?.join("opencode");
    let at = |ms: u64| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(SystemTime::UNIX_EPOCH);
    let file = base.join(folder::DATABASE);
    let in_database = modified(&file).and_then(|_| database::list(&file).ok()).unwrap_or_default();
    let newest = opencode::newest(&in_database, Some(root)).map(|info| (at(info.updated), file));
    let (files, stored): (Vec<PathBuf>, Vec<_>) = storage::list(&base.join("storage")).into_iter().unzip();
    let newest_stored = opencode::newest(&stored, Some(root)).and_then(|info| {
        let index = stored.iter().position(|other| other == info)?;
        Some((at(info.updated), files.get(index)?.clone()))
    });
    newest.into_iter().chain(newest_stored).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: PathBuf, text: &str, age: u64) -> PathBuf {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        let file = File::options().append(true).open(&path).expect("a file");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000 - age)).expect("a time");
        path
    }

    #[test]
    fn the_newest_transcript_of_the_work_tree_is_found_for_each_agent() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, root) = (folder.path().join("home"), folder.path().join("my repo"));
        std::fs::create_dir_all(root.join("sub")).expect("a folder");
        let folders = DataFolders { home: Some(home.clone()), ..Default::default() };
        assert_eq!(latest(&folders, &root, &root, None), None);
        let cwd = root.join("sub").display().to_string();
        let row = |cwd: &str| format!("{{\"type\":\"user\",\"cwd\":\"{cwd}\"}}\n");
        let claude = put(home.join(".claude/projects/x/a.jsonl"), &format!("\n{{\n{}", row(&cwd)), 50);
        put(home.join(".claude/projects/x/old.jsonl"), &row(&cwd), 60);
        put(home.join(".claude/projects/x/other.jsonl"), &row(&format!("{}x", root.display())), 0);
        put(home.join(".claude/projects/x/agent-1.jsonl"), &row(&cwd).replace('}', ",\"isSidechain\":true}"), 0);
        let meta = format!("{{\"type\":\"session_meta\",\"payload\":{{\"cwd\":\"{cwd}\"}}}}\n");
        let codex = put(home.join(".codex/sessions/2026/01/02/rollout-1.jsonl"), &meta, 40);
        let start = format!("{{\"type\":\"session.start\",\"data\":{{\"context\":{{\"cwd\":\"{cwd}\"}}}}}}\n");
        let copilot = put(home.join(".copilot/session-state/1/events.jsonl"), &start, 30);
        let hash = folder::gemini_hash(&root);
        let gemini = put(home.join(format!(".gemini/tmp/{hash}/chats/session-1.json")), "{}", 20);
        put(home.join(".gemini/tmp/other/chats/session-1.json"), "{\"projectHash\":\"0\",\"messages\":[]}", 0);
        let slug = root.display().to_string().replace(['/', ' ', '.'], "-");
        let cursor = put(
            home.join(format!(".cursor/projects/{}/agent-transcripts/u/u.jsonl", slug.trim_matches('-'))),
            "{}",
            10,
        );
        for (agent, path) in [
            (Agent::ClaudeCode, &claude),
            (Agent::Codex, &codex),
            (Agent::Copilot, &copilot),
            (Agent::Gemini, &gemini),
            (Agent::Cursor, &cursor),
        ] {
            assert_eq!(latest(&folders, &root, &root, Some(agent)).as_ref(), Some(path), "{}", agent.name());
        }
        assert_eq!(latest(&folders, &root, &root, None), Some(cursor));
        let named = put(home.join(".gemini/tmp/new/chats/session-1.jsonl"), "{}", 5);
        put(home.join(".gemini/tmp/new/.project_root"), &format!("{cwd}\n"), 5);
        assert_eq!(latest(&folders, &root, &root, None), Some(named));
    }

    #[test]
    fn a_chat_of_gemini_is_found_by_the_hash_of_a_folder_between_the_root_and_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, root) = (folder.path().join("home"), folder.path().join("repo"));
        let folders = DataFolders { home: Some(home.clone()), ..Default::default() };
        let here = root.join("sub/deep");
        std::fs::create_dir_all(&here).expect("a folder");
        let hash = folder::gemini_hash(&root.join("sub"));
        let named = put(home.join(format!(".gemini/tmp/{hash}/chats/session-1.json")), "{}", 20);
        let find = |cwd: &Path| latest(&folders, &root, cwd, None);
        assert_eq!([find(&here), find(&root.join("sub"))], [Some(named.clone()), Some(named)]);
        assert_eq!([find(&root), find(folder.path()), find(&root.join("other"))], [None, None, None]);
        let row = format!("{{\"projectHash\":\"{hash}\",\"messages\":[]}}");
        let recorded = put(home.join(".gemini/tmp/x/chats/session-2.json"), &row, 10);
        assert_eq!([find(&here), find(&root)], [Some(recorded), None]);
    }

    #[test]
    fn a_transcript_of_another_work_tree_below_the_root_is_not_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, root) = (folder.path().join("home"), folder.path().join("repo"));
        let folders = DataFolders { home: Some(home.clone()), ..Default::default() };
        let feat = root.join(".claude/worktrees/feat");
        put(feat.join(".git"), "gitdir: x", 0);
        let row = |cwd: &Path| format!("{{\"type\":\"user\",\"cwd\":\"{}\"}}\n", cwd.display());
        let own = put(home.join(".claude/projects/x/a.jsonl"), &row(&root), 50);
        let other = put(home.join(".claude/projects/y/b.jsonl"), &row(&feat), 0);
        let session =
            |cwd: &Path| format!(r#"{{"id":"s","directory":"{}","time":{{"updated":9000000000000}}}}"#, cwd.display());
        put(home.join(".local/share/opencode/storage/session/p/s.json"), &session(&feat), 0);
        assert_eq!(latest(&folders, &root, &root, None), Some(own));
        assert_eq!(latest(&folders, &feat, &feat, Some(Agent::ClaudeCode)), Some(other));
        assert!(latest(&folders, &feat, &feat, Some(Agent::OpenCode)).is_some());
    }

    #[test]
    fn the_session_of_an_older_storage_is_found_by_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let (data, root) = (folder.path().join("data"), folder.path().join("repo"));
        let sessions = data.join("opencode/storage/session");
        let session = |id: &str, cwd: &Path, at: u64| {
            format!(r#"{{"id":"{id}","directory":"{}","time":{{"updated":{at}}}}}"#, cwd.display())
        };
        put(sessions.join("p/old.json"), &session("old", &root, 1), 0);
        let wanted = put(sessions.join("p/new.json"), &session("x/../../y", &root.join("sub"), 2), 0);
        put(sessions.join("q/other.json"), &session("other", folder.path(), 3), 0);
        let folders = DataFolders { data: Some(data), ..Default::default() };
        assert_eq!(latest(&folders, &root, &root, Some(Agent::OpenCode)), Some(wanted));
    }
}

//! Finds transcripts in the folders where agents keep them: the newest of a work tree, or all of a repository.

mod all;
mod origin;

use std::path::{Path, PathBuf};

use crate::agents::FORMATS;
use crate::agents::format::{Format, RowFormat, Sessions};
use crate::find::origin::origin;
use crate::model::Agent;
use crate::read::files::{matching, names, newest_first};
use crate::read::paths;

pub use crate::find::all::{FoundTranscript, FoundTranscripts, Repository, all, of_session, read};

/// The newest transcript made in the work tree `root`, without nested work trees, by one agent or any; `None` if there
/// is none that can be read.
///
/// `variable` reads the environment, which names the home folder and data folders of agents; relative paths in it do
/// not count. Agents that store a folder only as a slug or hash find their transcripts from `root` and the folders down
/// to `cwd`. Newest is by modification time: of the file, or of the session in OpenCode's database.
pub fn latest(
    variable: &dyn Fn(&str) -> Option<PathBuf>,
    root: &Path,
    cwd: &Path,
    agent: Option<Agent>,
) -> Option<PathBuf> {
    let folders = up_to(root, cwd);
    let newest = of_agent(agent).filter_map(|format| {
        let data = data_folder(format, variable)?;
        match &format.sessions {
            Sessions::Store(store) => (store.newest)(&data, root),
            Sessions::Rows(format) => {
                let files = newest_first(candidates(format, &data));
                files.into_iter().find(|(_, path)| {
                    origin(path, format, &folders).is_some_and(|origin| paths::is_inside(&origin.folder, root))
                })
            }
        }
    });
    newest.max().map(|(_, path)| path)
}

fn of_agent(agent: Option<Agent>) -> impl Iterator<Item = &'static Format> {
    FORMATS.into_iter().filter(move |format| agent.is_none_or(|agent| agent == format.agent))
}

/// The folder of an agent's data, as the environment names it.
pub(crate) fn data_folder(format: &Format, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let (name, fallback) = format.data;
    let named = name.and_then(variable).filter(|path| path.is_absolute());
    named.or_else(|| Some(variable("HOME")?.join(fallback)))
}

/// The files that may be transcripts.
fn candidates(format: &RowFormat, data: &Path) -> impl Iterator<Item = PathBuf> {
    format.files.iter().flat_map(|pattern| matching(data, pattern))
}

/// The folders from `root` down to `cwd`; only `root` if `cwd` is elsewhere.
fn up_to(root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut out = vec![root.to_owned()];
    for (root, cwd) in names(root).iter().flat_map(|root| names(cwd).into_iter().map(move |cwd| (root, cwd))) {
        if cwd.starts_with(root) {
            out.extend(cwd.ancestors().take_while(|above| above != root).map(Path::to_owned));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::agents::gemini::hash_of as gemini_hash;

    /// The environment with one variable.
    fn set(variable: &str, folder: &Path) -> impl Fn(&str) -> Option<PathBuf> {
        move |name| (name == variable).then(|| folder.to_owned())
    }

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
        let variable = set("HOME", &home);
        assert_eq!(latest(&variable, &root, &root, None), None);
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
        let hash = gemini_hash(&root);
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
            assert_eq!(latest(&variable, &root, &root, Some(agent)).as_ref(), Some(path), "{}", agent.name());
        }
        assert_eq!(latest(&variable, &root, &root, None), Some(cursor));
        let named = put(home.join(".gemini/tmp/new/chats/session-1.jsonl"), "{}", 5);
        put(home.join(".gemini/tmp/new/.project_root"), &format!("{cwd}\n"), 5);
        assert_eq!(latest(&variable, &root, &root, None), Some(named));
    }

    #[test]
    fn a_chat_of_gemini_is_found_by_the_hash_of_a_folder_between_the_root_and_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, root) = (folder.path().join("home"), folder.path().join("repo"));
        let variable = set("HOME", &home);
        let here = root.join("sub/deep");
        std::fs::create_dir_all(&here).expect("a folder");
        let hash = gemini_hash(&root.join("sub"));
        let named = put(home.join(format!(".gemini/tmp/{hash}/chats/session-1.json")), "{}", 20);
        let find = |cwd: &Path| latest(&variable, &root, cwd, None);
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
        let variable = set("HOME", &home);
        let feat = root.join(".claude/worktrees/feat");
        put(feat.join(".git"), "gitdir: x", 0);
        let row = |cwd: &Path| format!("{{\"type\":\"user\",\"cwd\":\"{}\"}}\n", cwd.display());
        let own = put(home.join(".claude/projects/x/a.jsonl"), &row(&root), 50);
        let other = put(home.join(".claude/projects/y/b.jsonl"), &row(&feat), 0);
        let session =
            |cwd: &Path| format!(r#"{{"id":"s","directory":"{}","time":{{"updated":9000000000000}}}}"#, cwd.display());
        put(home.join(".local/share/opencode/storage/session/p/s.json"), &session(&feat), 0);
        assert_eq!(latest(&variable, &root, &root, None), Some(own));
        assert_eq!(latest(&variable, &feat, &feat, Some(Agent::ClaudeCode)), Some(other));
        assert!(latest(&variable, &feat, &feat, Some(Agent::OpenCode)).is_some());
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
        let variable = set("XDG_DATA_HOME", &data);
        assert_eq!(latest(&variable, &root, &root, Some(Agent::OpenCode)), Some(wanted));
    }
}

//! All transcripts of a repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::agents::format::{NamedRepository, Sessions, Store, StoredSession};
use crate::error::Result;
use crate::find::origin::origin;
use crate::find::{candidates, data_folder, of_agent, up_to};
use crate::model::{Agent, Transcript};
use crate::read::files::{entries, modified, newest_first};
use crate::read::paths;
use crate::reader;

/// A repository, as transcripts can name it.
pub struct Repository<'r> {
    /// The roots of its work trees, also of removed ones that git still knows.
    pub roots: &'r [PathBuf],
    /// The folders where it was earlier, by the user's word.
    pub earlier: &'r [PathBuf],
    /// The present folder, in one of the roots.
    pub cwd: &'r Path,
    /// Whether it has a commit.
    pub has_commit: &'r dyn Fn(&str) -> bool,
    /// Whether a text is the URL of one of its remotes, or the end of one.
    pub has_remote: &'r dyn Fn(&str) -> bool,
}

/// A transcript of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTranscript {
    /// The agent in whose folder it is.
    pub agent: Agent,
    /// Its file; of OpenCode's sessions, the database.
    pub path: PathBuf,
    /// The session, if the file has several.
    pub session: Option<String>,
    /// The folder that its paths are relative to.
    pub root: PathBuf,
    /// A time at its beginning, as written; `None` if its first rows have none.
    pub started_at: Option<String>,
    /// When it was changed last.
    pub modified: SystemTime,
    /// Its size in bytes, with the files of its subagents.
    pub bytes: u64,
}

impl FoundTranscript {
    fn in_store(agent: Agent, store: &Store, session: StoredSession, root: PathBuf) -> Self {
        FoundTranscript {
            agent,
            bytes: (store.size)(&session),
            path: session.path,
            session: session.is_shared.then_some(session.id),
            root,
            started_at: None,
            modified: session.updated,
        }
    }

    fn in_file(agent: Agent, path: PathBuf, modified: SystemTime, started_at: Option<String>, root: PathBuf) -> Self {
        let bytes = length(&path) + adjacent(&path.with_extension(""), 2);
        FoundTranscript { agent, path, session: None, root, started_at, modified, bytes }
    }

    /// Whether its place tells that it is the transcript with an agent's own id.
    pub fn is_of(&self, id: &str) -> bool {
        self.session.as_deref().map_or_else(|| is_in_name(&self.path, id), |session| session == id)
    }
}

/// Whether an id is in the name of a file or of its folder.
fn is_in_name(path: &Path, id: &str) -> bool {
    let has = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(id));
    !id.is_empty() && (has(path) || path.parent().is_some_and(has))
}

/// The newest transcript of an agent with its own id, if it was made in `root`, not in a nested work tree; `None` if neither the
/// name of a file nor a store has the id. `variable` is that of [`latest`](crate::find::latest).
pub fn of_session(
    variable: &dyn Fn(&str) -> Option<PathBuf>,
    root: &Path,
    agent: Agent,
    id: &str,
) -> Option<FoundTranscript> {
    let format = of_agent(Some(agent)).next()?;
    let data = data_folder(format, variable)?;
    let is_own = |folder: &str| paths::is_inside(folder, root);
    match &format.sessions {
        Sessions::Store(store) => {
            let session =
                (store.list)(&data).into_iter().find(|session| session.id == id && is_own(&session.folder))?;
            Some(FoundTranscript::in_store(agent, store, session, root.to_owned()))
        }
        Sessions::Rows(rows) => {
            let files = newest_first(candidates(rows, &data).filter(|path| is_in_name(path, id)));
            files.into_iter().find_map(|(modified, path)| {
                let origin = origin(&path, rows, &[root.to_owned()]).filter(|origin| is_own(&origin.folder))?;
                Some(FoundTranscript::in_file(agent, path, modified, origin.started_at, root.to_owned()))
            })
        }
    }
}

/// The transcripts of a repository.
#[derive(Debug, Default)]
pub struct FoundTranscripts {
    /// The oldest change first.
    pub transcripts: Vec<FoundTranscript>,
    /// The number of transcripts of which nothing shows whose they are, by folder: it no longer exists, or they name a
    /// remote of another repository.
    pub unproven: BTreeMap<String, usize>,
}

/// The transcripts of a repository by one agent or any, without those of subagents. Holds no text of them.
///
/// A transcript is the repository's if it was made in one of its folders; or if its folder no longer exists and it names
/// a commit or remote of the repository, or was made where such a transcript was. One that names a remote of another
/// repository, and no commit of this one, is left out.
///
/// `variable` is that of [`latest`](crate::find::latest). Agents that store a folder only as a slug or hash find their
/// transcripts from the roots, the folders down to `cwd`, and those of the transcripts of other agents.
pub fn all(
    variable: &dyn Fn(&str) -> Option<PathBuf>,
    repository: &Repository<'_>,
    agent: Option<Agent>,
) -> FoundTranscripts {
    let mut search = Search::of(repository);
    let (by_name, by_folder): (Vec<_>, Vec<_>) =
        of_agent(agent).partition(|format| matches!(format.agent, Agent::Gemini | Agent::Cursor));
    for format in by_folder.into_iter().chain(by_name) {
        let Some(data) = data_folder(format, variable) else { continue };
        match &format.sessions {
            Sessions::Store(store) => {
                for session in (store.list)(&data) {
                    let folder = session.folder.clone();
                    let Some(place) = search.place_of(&folder, &NamedRepository::default()) else { continue };
                    search.add(&folder, place, |root| FoundTranscript::in_store(format.agent, store, session, root));
                }
            }
            Sessions::Rows(rows) => {
                for path in candidates(rows, &data) {
                    let found = origin(&path, rows, &search.folders).filter(|found| !found.is_subagent());
                    let (Some(modified), Some(found)) = (modified(&path), found) else { continue };
                    let Some(place) = search.place_of(&found.folder, &found.repository) else { continue };
                    let started_at = found.started_at;
                    let in_file = |root| FoundTranscript::in_file(format.agent, path, modified, started_at, root);
                    search.add(&found.folder, place, in_file);
                }
            }
        }
    }
    search.finish()
}

/// Reads a found transcript.
///
/// Fails as [`read`](crate::read).
pub fn read(found: &FoundTranscript) -> Result<Transcript> {
    let stores = of_agent(Some(found.agent)).filter_map(|format| match &format.sessions {
        Sessions::Store(store) => Some(store),
        Sessions::Rows(_) => None,
    });
    match (&found.session, stores.into_iter().next()) {
        (Some(id), Some(store)) => (store.read_session)(&found.path, id, &found.root),
        _ => reader::read(&found.path, Some(&found.root)),
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

/// The length of the files below a folder, so many levels deep.
fn adjacent(folder: &Path, levels: usize) -> u64 {
    let below = entries(folder).into_iter();
    below.map(|path| if path.is_dir() && levels > 1 { adjacent(&path, levels - 1) } else { length(&path) }).sum()
}

/// Where a transcript belongs, if it can be the repository's.
enum Place {
    /// In a folder of the repository.
    Root(PathBuf),
    Unproven,
}

struct Search<'r> {
    repository: &'r Repository<'r>,
    /// The folders to compare names with.
    folders: Vec<PathBuf>,
    /// The roots, the innermost first.
    roots: Vec<PathBuf>,
    /// The folders that no longer exist where transcripts of the repository were made.
    learned: Vec<PathBuf>,
    found: Vec<FoundTranscript>,
    unproven: Vec<(String, FoundTranscript)>,
}

impl<'r> Search<'r> {
    fn of(repository: &'r Repository<'r>) -> Self {
        let mut roots = repository.roots.to_vec();
        roots.sort_by_key(|root| std::cmp::Reverse(root.as_os_str().len()));
        let at_cwd = roots.iter().find(|root| repository.cwd.starts_with(root));
        let mut folders = at_cwd.map(|root| up_to(root, repository.cwd)).unwrap_or_default();
        folders.extend(roots.iter().chain(repository.earlier).cloned());
        Search { repository, folders, roots, learned: Vec::new(), found: Vec::new(), unproven: Vec::new() }
    }

    /// The place of a transcript made in `folder`; `None` if it is another repository's.
    fn place_of(&mut self, folder: &str, named: &NamedRepository) -> Option<Place> {
        let inside = |root: &&PathBuf| paths::is_inside(folder, root);
        if let Some(root) = self.repository.earlier.iter().find(inside) {
            return Some(Place::Root(root.clone()));
        }
        let is_known = named.commit.as_deref().is_some_and(self.repository.has_commit);
        let remote = named.remote.as_deref().map(self.repository.has_remote);
        let (is_ours, is_foreign) = (is_known || remote == Some(true), !is_known && remote == Some(false));
        match self.roots.iter().find(inside) {
            Some(_) if is_foreign => Some(Place::Unproven),
            Some(root) => Some(Place::Root(root.clone())),
            None if !Path::new(folder).exists() && is_ours => {
                let root = PathBuf::from(named.root.as_deref().unwrap_or(folder));
                self.learned.push(root.clone());
                Some(Place::Root(root))
            }
            None => {
                let is_lost = !is_foreign && !Path::new(folder).exists() && !paths::is_in_work_tree(folder);
                is_lost.then_some(Place::Unproven)
            }
        }
    }

    fn add(&mut self, folder: &str, place: Place, found: impl FnOnce(PathBuf) -> FoundTranscript) {
        match place {
            Place::Root(root) => {
                if !self.folders.iter().any(|known| known.as_path() == Path::new(folder)) {
                    self.folders.push(PathBuf::from(folder));
                }
                self.found.push(found(root));
            }
            Place::Unproven => self.unproven.push((folder.to_owned(), found(PathBuf::from(folder)))),
        }
    }

    /// The result: transcripts without proof belong to the repository if they were made where one with it was.
    fn finish(mut self) -> FoundTranscripts {
        let mut out = FoundTranscripts::default();
        for (folder, mut found) in self.unproven {
            match self.learned.iter().find(|root| paths::is_inside(&folder, root)) {
                Some(root) => {
                    found.root.clone_from(root);
                    self.found.push(found);
                }
                None => *out.unproven.entry(folder).or_default() += 1,
            }
        }
        self.found.sort_by(|a, b| (a.modified, &a.path, &a.session).cmp(&(b.modified, &b.path, &b.session)));
        out.transcripts = self.found;
        out
    }
}

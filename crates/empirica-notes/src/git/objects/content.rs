//! The content at a path in a commit's tree or the work tree, as git object ids.

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use crate::git::Oid;
use crate::git::repository::Repository;

/// The size limit of a file that is read, in bytes.
pub const LARGEST: u64 = 4 << 20;
/// The total limit of bytes read.
pub const ALL: u64 = 64 << 20;
/// The length limit of a path, in bytes; no system opens longer ones.
const MAX_PATH_BYTES: usize = 4096;

/// The content at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathContent {
    /// Nothing.
    Nothing,
    /// A file (its blob), a symbolic link (a blob of its target) or a submodule (its commit).
    File(Oid),
    /// A folder, with its tree; `None` in a work tree.
    Folder(Option<Oid>),
    /// Unreadable: a missing tree, a file too large, a device.
    Unknown,
}

/// The trees of one commit, each read once.
pub struct Tree<'r> {
    repo: &'r Repository,
    root: Option<Oid>,
    /// By path; `None` if missing.
    folders: HashMap<String, Option<HashMap<Vec<u8>, PathContent>>>,
}

impl<'r> Tree<'r> {
    /// Starts at a root tree; `None` is the empty tree of an unborn HEAD. Reads nothing yet.
    pub fn new(repo: &'r Repository, root: Option<Oid>) -> Self {
        Tree { repo, root, folders: HashMap::new() }
    }

    /// The content at a path from [`inside`]; [`PathContent::Unknown`] if a tree on the way is missing. Never fetches.
    pub fn find(&mut self, path: &str) -> PathContent {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !self.folders.contains_key(folder) {
            let at = match (folder, self.root) {
                ("", None) => PathContent::Nothing,
                ("", root) => PathContent::Folder(root),
                _ => self.find(folder),
            };
            let read = match at {
                PathContent::Nothing | PathContent::File(_) => Some(HashMap::new()),
                PathContent::Folder(Some(id)) => self.read(id),
                PathContent::Folder(None) | PathContent::Unknown => None,
            };
            self.folders.insert(folder.to_owned(), read);
        }
        match self.folders.get(folder) {
            Some(Some(entries)) => entries.get(name.as_bytes()).copied().unwrap_or(PathContent::Nothing),
            _ => PathContent::Unknown,
        }
    }

    fn read(&self, id: Oid) -> Option<HashMap<Vec<u8>, PathContent>> {
        let tree = self.repo.gix().find_tree(id).ok()?;
        let mut out = HashMap::new();
        for entry in tree.iter() {
            let entry = entry.ok()?;
            let id = entry.oid().to_owned();
            let content = if entry.mode().is_tree() { PathContent::Folder(Some(id)) } else { PathContent::File(id) };
            out.insert(entry.filename().to_vec(), content);
        }
        Some(out)
    }
}

/// The files of a work tree.
pub struct WorkTree {
    root: PathBuf,
    hash: gix::hash::Kind,
    /// The number of bytes that may still be read.
    left: Cell<u64>,
}

impl WorkTree {
    /// The work tree of a repository; `None` if bare.
    pub fn of(repo: &Repository) -> Option<Self> {
        let hash = repo.gix().object_hash();
        Some(WorkTree { root: repo.work_tree()?, hash, left: Cell::new(ALL) })
    }

    /// The content at a path from [`inside`], without git's filters. [`PathContent::Unknown`] behind a symbolic link,
    /// above 4 MiB, if unreadable or of another file type, and for all files once 64 MiB have been read.
    pub fn content(&self, path: &str) -> PathContent {
        self.read(path).0
    }

    /// The content at a path as [`content`](Self::content) tells it, and the bytes of a file or symbolic link.
    pub fn read(&self, path: &str) -> (PathContent, Option<Vec<u8>>) {
        match self.bytes(path) {
            Ok(Some(bytes)) => {
                let id = gix::objs::compute_hash(self.hash, gix::objs::Kind::Blob, &bytes);
                (id.map_or(PathContent::Unknown, PathContent::File), Some(bytes))
            }
            Ok(None) if self.root.join(path).is_dir() => (PathContent::Folder(None), None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                (PathContent::Nothing, None)
            }
            _ => (PathContent::Unknown, None),
        }
    }

    /// Whether anything exists at a path from [`inside`].
    pub fn has(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok()
    }

    /// Whether something other than a folder exists at such a path.
    pub fn has_file(&self, path: &str) -> bool {
        self.root.join(path).symlink_metadata().is_ok_and(|meta| !meta.is_dir())
    }

    /// The bytes of a file, or the target of a symbolic link; `None` for anything else, and beyond the limits.
    fn bytes(&self, path: &str) -> std::io::Result<Option<Vec<u8>>> {
        let mut at = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let meta = at.symlink_metadata()?;
            if parts.peek().is_some() {
                // like git, follow no symlink on the way
                if meta.is_symlink() {
                    return Err(ErrorKind::Unsupported.into());
                }
                continue;
            }
            let bytes = if meta.is_symlink() {
                at.read_link()?.into_os_string().into_encoded_bytes()
            } else if meta.is_file() && meta.len() <= LARGEST.min(self.left.get()) {
                let mut bytes = Vec::new();
                std::fs::File::open(&at)?.take(LARGEST).read_to_end(&mut bytes)?;
                // it grew meanwhile
                if bytes.len() as u64 > meta.len() {
                    return Ok(None);
                }
                bytes
            } else {
                return Ok(None);
            };
            self.left.set(self.left.get().saturating_sub(bytes.len() as u64));
            return Ok(Some(bytes));
        }
        Ok(None)
    }
}

/// Normalizes a given path to one in git's trees: relative to the root of the work tree, separated by single slashes.
/// `None` if it leads outside or into `.git`, is longer than 4,096 bytes, or contains U+FFFD, which replaces invalid
/// UTF-8.
pub fn inside(root: Option<&Path>, text: &str) -> Option<String> {
    if text.is_empty() || text.len() > MAX_PATH_BYTES || text.contains(['\0', '\u{fffd}']) {
        return None;
    }
    let path = Path::new(text);
    let path = if path.is_absolute() { path.strip_prefix(root?).ok()? } else { path };
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(name.to_str()?),
            _ => return None,
        }
    }
    let first = parts.first()?;
    if first.eq_ignore_ascii_case(".git") { None } else { Some(parts.join("/")) }
}

/// Normalizes a path given in the folder `cwd` to one in git's trees; the root itself is empty. Outside the work tree,
/// as in a bare repository (`root` is `None`), it is relative to the root. Absolute, it may name the root through a symlink.
/// `None` if it leads out of the work tree or into `.git`.
pub fn tree_path(root: Option<&Path>, cwd: &Path, text: &str) -> Option<String> {
    let path = Path::new(text);
    let prefix = root.and_then(|root| cwd.strip_prefix(root).ok()).unwrap_or(Path::new(""));
    let below = match (path.is_absolute(), root) {
        (true, root) => below(root?, path)?.to_owned(),
        (false, _) => prefix.join(path),
    };
    let mut out = PathBuf::new();
    for part in below.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.pop() => {}
            Component::Normal(name) => out.push(name),
            _ => return None,
        }
    }
    if text.is_empty() || out.as_os_str().is_empty() {
        return (!text.is_empty()).then(String::new);
    }
    inside(None, out.to_str()?)
}

/// An absolute path from the root; `None` outside.
fn below<'p>(root: &Path, path: &'p Path) -> Option<&'p Path> {
    let names_root = |folder: &&Path| folder.canonicalize().is_ok_and(|real| real == root);
    path.strip_prefix(root).ok().or_else(|| path.strip_prefix(path.ancestors().find(names_root)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_work_tree_are_accepted() {
        let root = Some(Path::new("/work/project"));
        let path = |text| inside(root, text);
        assert_eq!(path("./src//a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(path("new/").as_deref(), Some("new"));
        assert_eq!(path("/work/project/src/a.rs").as_deref(), Some("src/a.rs"));
        for outside in
            ["", ".", "../a", "a/../../b", "/etc/passwd", "/work/project", ".git/config", "a\u{fffd}b", "a\0"]
        {
            assert_eq!(path(outside), None, "{outside:?}");
        }
        assert_eq!(inside(None, "/work/project/a"), None);
        assert_eq!(path(&"a/".repeat(2049)), None);
    }

    #[test]
    fn a_path_is_relative_to_the_folder_it_is_given_in() {
        let root = Some(Path::new("/work/project"));
        let path = |cwd: &str, text: &str| tree_path(root, Path::new(cwd), text);
        assert_eq!(path("/work/project", "src/a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(path("/work/project/src", "./a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!(path("/work/project/src", "../docs/").as_deref(), Some("docs"));
        assert_eq!(path("/work/project/src", "..").as_deref(), Some(""));
        assert_eq!(path("/work/project", ".").as_deref(), Some(""));
        assert_eq!(path("/elsewhere", "/work/project/a").as_deref(), Some("a"));
        assert_eq!(tree_path(None, Path::new("/bare.git"), "a/b").as_deref(), Some("a/b"));
        for outside in ["", "..", "../../a", "/etc/passwd", ".git", ".git/config"] {
            assert_eq!(path("/work/project", outside), None, "{outside:?}");
        }
    }

    #[test]
    fn an_absolute_path_may_name_the_work_tree_through_a_symlink() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("project/src")).unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let path = |text: &str| tree_path(Some(&real.join("project")), &real, &format!("{}/{text}", real.display()));
        assert_eq!(path("link/project/src/new.rs").as_deref(), Some("src/new.rs"));
        assert_eq!(path("link/link/project").as_deref(), Some(""));
        assert_eq!(path("link/other/a"), None);
    }
}

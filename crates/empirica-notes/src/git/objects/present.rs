//! The present files: those of the work tree, else of HEAD.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::git::Oid;
use crate::git::objects::content::{ALL, LARGEST, PathContent, Tree, WorkTree};
use crate::git::repository::Repository;
use crate::model::journal::anchor::TextLines;

/// The present files, each read once. Never fetches.
pub struct PresentFiles<'r> {
    repo: &'r Repository,
    head: Tree<'r>,
    /// `None` in a bare repository.
    files: Option<WorkTree>,
    /// Whether a file can be in HEAD without being in the work tree.
    is_sparse: bool,
    /// The number of bytes of blobs that may still be read.
    left: Cell<u64>,
    seen: HashMap<String, Rc<PresentFile>>,
}

/// A present file, or what else is at a path.
pub struct PresentFile {
    /// In the work tree without git's filters, else in HEAD.
    pub content: PathContent,
    /// In HEAD.
    pub in_head: PathContent,
    bytes: Option<Vec<u8>>,
    lines: OnceCell<Option<TextLines>>,
}

impl<'r> PresentFiles<'r> {
    /// The files of the work tree, and of this tree of HEAD, `None` if it is unborn. Reads nothing yet.
    pub fn new(repo: &'r Repository, head: Option<Oid>) -> Self {
        PresentFiles {
            repo,
            head: Tree::new(repo, head),
            files: WorkTree::of(repo),
            is_sparse: repo.config_bool("core.sparseCheckout") == Some(true),
            left: Cell::new(ALL),
            seen: HashMap::new(),
        }
    }

    /// What is in HEAD at a path from [`inside`](crate::git::objects::content::inside).
    pub fn in_head(&mut self, path: &str) -> PathContent {
        self.head.find(path)
    }

    /// Whether a file, a symbolic link or a submodule is at such a path; reads no file.
    pub fn is_file(&mut self, path: &str) -> bool {
        let in_head = |head: &mut Tree<'_>| matches!(head.find(path), PathContent::File(_) | PathContent::Unknown);
        match &self.files {
            None => in_head(&mut self.head),
            Some(files) => files.has_file(path) || (self.is_sparse && !files.has(path) && in_head(&mut self.head)),
        }
    }

    /// What is at such a path.
    pub fn at(&mut self, path: &str) -> Rc<PresentFile> {
        if let Some(seen) = self.seen.get(path) {
            return Rc::clone(seen);
        }
        let in_head = self.head.find(path);
        let (content, bytes) = match &self.files {
            None => (in_head, None),
            Some(files) => match files.read(path) {
                (PathContent::Nothing, _) if self.is_sparse => (in_head, None),
                read => read,
            },
        };
        let file = Rc::new(PresentFile { content, in_head, bytes, lines: OnceCell::new() });
        self.seen.insert(path.to_owned(), Rc::clone(&file));
        file
    }

    /// The lines of a file; `None` if it is not text, not here, too large, or none.
    pub fn lines<'f>(&self, file: &'f PresentFile) -> Option<&'f TextLines> {
        let read = || match (&file.bytes, file.content) {
            (Some(bytes), _) => TextLines::of(bytes),
            (None, PathContent::File(id)) => self.lines_of(id),
            _ => None,
        };
        file.lines.get_or_init(read).as_ref()
    }

    /// Whether the content of a file comes from HEAD.
    pub fn is_of_head(&self, file: &PresentFile) -> bool {
        file.bytes.is_none() && file.content == file.in_head
    }

    /// Whether the content of a file is in this clone.
    pub fn is_here(&self, file: &PresentFile) -> bool {
        file.bytes.is_some() || matches!(file.content, PathContent::File(id) if self.repo.has_object(id))
    }

    /// The lines of a blob, likewise.
    pub fn lines_of(&self, id: Oid) -> Option<TextLines> {
        let size = self.repo.gix().find_header(id).ok()?.size();
        let is_small = size <= LARGEST.min(self.left.get());
        self.left.set(self.left.get().saturating_sub(size));
        let bytes = is_small.then(|| self.repo.read_blob(id).ok().flatten())??;
        TextLines::of(&bytes)
    }
}

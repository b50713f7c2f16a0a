//! Notes trees with any fan-out: lookup, edit and listing.

pub mod difference;
mod folders;
pub mod foreign;
pub(crate) mod repeats;

use std::borrow::Cow;
use std::collections::BTreeMap;

use gix::note::plumbing::State;
use gix::objs::tree::EntryKind;
use gix::objs::{FindExt, WriteTo as _};

use crate::error::{Error, Result, io_cause, refuses_writes};
use crate::git::notes::difference::{Other, is_hex, is_no_name, is_path_in_place, join};
use crate::git::notes::folders::{Folders, Found};
use crate::git::notes::repeats::Repeats;
use crate::git::objects::unreadable;
use crate::git::repository::Repository;
use crate::git::{Oid, parse_oid};

/// Unites two versions of one note.
pub type Unite = fn(&[u8], &[u8]) -> Vec<u8>;

/// A notes tree, read and edited lazily.
pub struct NotesTree<'r> {
    repo: &'r Repository,
    read: Folders,
    /// The tree as it is edited, from the first edit on; also to read an ill-formed one.
    state: Option<State>,
    /// The notes that are not yet written, each with its blob.
    staged: BTreeMap<Oid, Oid>,
    unite: Unite,
}

impl<'r> NotesTree<'r> {
    /// Opens the notes of a notes commit; `None` is the empty tree. `unite` merges the notes of an object that an
    /// ill-formed tree lists twice (flat and fanned out), which git cannot read.
    pub fn open(repo: &'r Repository, commit: Option<Oid>, unite: Unite) -> Result<Self> {
        let tree = commit.map_or_else(|| Ok(repo.empty_tree()), |id| repo.tree_of(id))?;
        let read = Folders::new(repo, tree).map_err(|error| unreadable(tree, error))?;
        Ok(NotesTree { repo, read, state: None, staged: BTreeMap::new(), unite })
    }

    /// The tree as last written.
    pub fn tree(&self) -> Oid {
        self.state.as_ref().map_or(self.read.root(), State::root_tree_id)
    }

    /// Calls `action` on the tree with the staged notes. If it is ill-formed, calls it again on an equal tree without duplicates.
    fn with_state<T>(&mut self, mut action: impl FnMut(&mut State, &Repository) -> gix::error::Result<T>) -> Result<T> {
        let (repo, tree) = (self.repo, self.tree());
        let is_ill_formed = |error: &gix::Error| error.is_corrupted();
        let mut state = match self.state.take().map_or_else(|| State::new(tree, repo), Ok) {
            Err(error) if is_ill_formed(&error) => normalized(repo, tree, self.unite)?,
            state => state.map_err(|error| unreadable(tree, error))?,
        };
        let mut done = action(&mut state, repo);
        if done.as_ref().is_err_and(is_ill_formed) {
            state = normalized(repo, tree, self.unite)?;
            let mut staged = self.staged.iter();
            let edited = staged.try_for_each(|(on, blob)| state.edit(*on, Some(*blob), repo).map(drop));
            done = edited.and_then(|()| action(&mut state, repo));
        }
        self.state = Some(state);
        done.map_err(|error| failed(repo, tree, error))
    }

    /// The blob of the note of `target`, which may be missing; `None` without a note.
    pub fn blob(&mut self, target: Oid) -> Result<Option<Oid>> {
        if self.state.is_none() {
            let (repo, tree) = (self.repo, self.tree());
            if let Found::Note(blob) = self.read.find(repo, target).map_err(|error| failed(repo, tree, error))? {
                return Ok(blob);
            }
        }
        self.with_state(|state, repo| state.get(&target, repo))
    }

    /// The content of the note of `target`; `None` without a note, or if its blob is missing.
    pub fn get(&mut self, target: Oid) -> Result<Option<Vec<u8>>> {
        self.blob(target)?.map_or(Ok(None), |blob| self.repo.read_blob(blob))
    }

    /// Stages a new note for `target`, to be written by [`Self::write`]. Call it before the next [`Self::get`] only for
    /// objects that were not read as damaged.
    pub fn set(&mut self, target: Oid, content: &[u8]) -> Result<()> {
        let blob = self.repo.write_blob(content)?;
        self.with_state(|state, repo| state.edit(target, Some(blob), repo).map(drop))?;
        self.staged.insert(target, blob);
        Ok(())
    }

    /// Writes the staged notes and returns the new tree.
    pub fn write(&mut self) -> Result<Oid> {
        let tree = self.with_state(|state, repo| state.write(repo))?;
        self.staged.clear();
        Ok(tree)
    }
}

/// The error for a tree that cannot be read, or whose new version cannot be written.
fn failed(repo: &Repository, tree: Oid, error: gix::Error) -> Error {
    let is_write = io_cause(&error).is_some_and(refuses_writes);
    if is_write { repo.unwritable(error) } else { unreadable(tree, error) }
}

/// Builds a tree from `base`, with notes set to existing blobs or removed, and other entries set by path, unless that is a place of notes. A
/// function of its input. `lay_out` first normalizes a tree that is both flat and fanned out, or has another entry in the place of notes.
pub fn rebuild_tree(
    repo: &Repository,
    base: Oid,
    notes: &BTreeMap<Oid, Option<Oid>>,
    others: &[(Vec<u8>, Other)],
    unite: Unite,
    lay_out: bool,
) -> Result<Oid> {
    let apply = |mut state: State| {
        for (target, blob) in notes {
            state.edit(*target, *blob, repo)?;
        }
        state.write(repo)
    };
    let opened = if lay_out { Ok(normalized(repo, base, unite)?) } else { State::new(base, repo) };
    let tree = match opened.and_then(apply) {
        // duplicates, and names that cannot be written, show only when reached
        Err(error) if !lay_out && !io_cause(&error).is_some_and(refuses_writes) => {
            apply(normalized(repo, base, unite)?)
        }
        other => other,
    };
    let broken = |error| failed(repo, base, error);
    let tree = tree.map_err(broken)?;
    if others.is_empty() {
        return Ok(tree);
    }
    let (mut buffer, ordered) = (Vec::new(), Ordered(repo));
    let root = ordered.find_tree(&tree, &mut buffer).map_err(broken)?.into();
    let mut editor = gix::objs::tree::Editor::new(root, &ordered, repo.gix().object_hash());
    for (path, other) in others.iter().filter(|(path, _)| !is_path_in_place(path, repo.hex_len())) {
        let parts = path.split(|byte| *byte == b'/');
        editor.upsert(parts, other.kind, other.id).map_err(broken)?;
    }
    editor.write(|tree| gix::objs::Write::write(repo, in_order(tree).as_ref())).map_err(broken)
}

/// Reads trees [in order](in_order): the editor looks entries up by bisection, and panics in trees that no git makes.
struct Ordered<'r>(&'r Repository);

impl gix::objs::Find for Ordered<'_> {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::error::Result<Option<gix::objs::Data<'a>>> {
        let Some(found) = self.0.try_find(id, buffer)? else { return Ok(None) };
        let (kind, object_hash) = (found.kind, found.object_hash);
        if kind == gix::objs::Kind::Tree {
            let tree: gix::objs::Tree = gix::objs::TreeRef::from_bytes(found.data, object_hash)?.into();
            buffer.clear();
            in_order(&tree).write_to(buffer).map_err(gix::Error::from_error)?;
        }
        Ok(Some(gix::objs::Data { kind, object_hash, data: buffer }))
    }
}

/// The tree in git's order without duplicates, of which the greater object is kept, the same in all clones.
fn in_order(tree: &gix::objs::Tree) -> Cow<'_, gix::objs::Tree> {
    if tree.entries.is_sorted_by(|a, b| a < b && a.filename != b.filename) {
        return Cow::Borrowed(tree);
    }
    let mut ordered = tree.clone();
    ordered.entries.sort_unstable_by(|a, b| a.filename.cmp(&b.filename).then_with(|| b.oid.cmp(&a.oid)));
    ordered.entries.dedup_by(|a, b| a.filename == b.filename);
    ordered.entries.sort_unstable();
    Cow::Owned(ordered)
}

/// The blob with this name at the root of a tree; `None` without one.
pub fn root_file(repo: &Repository, tree: Oid, name: &str) -> Result<Option<Oid>> {
    if tree == repo.empty_tree() {
        return Ok(None);
    }
    let mut buffer = Vec::new();
    let read = repo.find_tree(&tree, &mut buffer).map_err(|error| unreadable(tree, error))?;
    let found = read.entries.iter().find(|entry| entry.filename == name && entry.mode.is_blob());
    Ok(found.map(|entry| entry.oid.to_owned()))
}

/// A tree with the same notes and other entries, without duplicate notes and without others in the place of notes.
pub(crate) fn normalized(repo: &Repository, tree: Oid, unite: Unite) -> Result<State> {
    let Entries { notes, others, .. } = entries(repo, tree)?;
    let mut united: BTreeMap<Oid, Vec<Oid>> = Default::default();
    for (target, blob) in notes {
        united.entry(target).or_default().push(blob);
    }
    let broken = |error| unreadable(tree, error);
    let mut editor = gix::objs::tree::Editor::new(gix::objs::Tree::empty(), repo, repo.gix().object_hash());
    for (path, other) in others.into_iter().filter(|(path, _)| !is_path_in_place(path, repo.hex_len())) {
        editor.upsert(path.split(|byte| *byte == b'/'), other.kind, other.id).map_err(broken)?;
    }
    let base = editor.write(|tree| gix::objs::Write::write(repo, tree)).map_err(broken)?;
    let mut state = State::new(base, repo).map_err(broken)?;
    for (target, blobs) in united {
        let blob = if let [only] = blobs.as_slice() {
            *only
        } else {
            let mut union = Vec::new();
            for id in blobs {
                if let Some(content) = repo.read_blob(id)? {
                    union = unite(&union, &content);
                }
            }
            repo.write_blob(&union)?
        };
        state.edit(target, Some(blob), repo).map_err(broken)?;
    }
    state.write(repo).map_err(broken)?;
    Ok(state)
}

/// The entries of a notes tree.
#[derive(Debug, Default)]
pub struct Entries {
    /// The notes as (annotated object, blob). An ill-formed tree can list an object twice; blobs may be missing.
    pub notes: Vec<(Oid, Oid)>,
    /// The other entries by path, which need not be UTF-8.
    others: Vec<(Vec<u8>, Other)>,
    /// Other entries whose names cannot be written.
    odd: Vec<(Vec<u8>, Other)>,
}

impl Entries {
    /// The entries other than notes, by path.
    pub fn others(&self) -> impl Iterator<Item = (&[u8], Other)> {
        self.others.iter().map(|(path, other)| (path.as_slice(), *other))
    }
}

/// All entries of a notes tree with any fan-out. Fails if a tree is in it too often.
pub fn entries(repo: &Repository, tree: Oid) -> Result<Entries> {
    entries_skipping_unreadable(repo, tree, &mut |_, error| Err(error))
}

/// As [`entries`]; calls `lost` for each unreadable tree, which is skipped if that returns `Ok`.
pub fn entries_skipping_unreadable(
    repo: &Repository,
    tree: Oid,
    lost: &mut dyn FnMut(Oid, Error) -> Result<()>,
) -> Result<Entries> {
    let Entries { mut notes, mut others, mut odd } = Entries::default();
    let mut pending = vec![(tree, String::new(), Vec::new())];
    let mut buffer = Vec::new();
    let mut repeats = Repeats::default();
    while let Some((id, hex, path)) = pending.pop() {
        let tree = match repo.find_tree(&id, &mut buffer) {
            Ok(tree) => tree,
            Err(error) => {
                lost(id, unreadable(id, error))?;
                continue;
            }
        };
        repeats.count(id, tree.entries.len())?;
        for entry in tree.entries {
            let path = join(&path, entry.filename);
            let joined = format!("{hex}{}", String::from_utf8_lossy(entry.filename));
            let other = Other { id: entry.oid.to_owned(), kind: entry.mode.kind() };
            let target = parse_oid(&joined).filter(|_| is_hex(entry.filename) && joined.len() == repo.hex_len());
            let is_fan = is_hex(entry.filename) && entry.filename.len() == 2 && joined.len() < repo.hex_len();
            match target {
                _ if entry.mode.is_tree() && is_fan => pending.push((other.id, joined, path)),
                Some(target) if entry.mode.is_blob() => notes.push((target, other.id)),
                _ if is_no_name(entry.filename) => odd.push((path, other)),
                _ => others.push((path, other)),
            }
        }
    }
    Ok(Entries { notes, others, odd })
}

/// All files of a notes tree other than notes, with their paths, including those in subtrees. Fails if one is in it too
/// often.
pub fn files(repo: &Repository, tree: Oid) -> Result<Vec<(Vec<u8>, Other)>> {
    let mut out = Vec::new();
    let Entries { others: mut pending, odd, .. } = entries(repo, tree)?;
    pending.extend(odd);
    let mut buffer = Vec::new();
    let mut repeats = Repeats::default();
    while let Some((path, other)) = pending.pop() {
        if other.kind != EntryKind::Tree {
            out.push((path, other));
            continue;
        }
        let folder = repo.find_tree(&other.id, &mut buffer).map_err(|error| unreadable(other.id, error))?;
        repeats.count(other.id, folder.entries.len())?;
        for entry in folder.entries {
            pending.push((join(&path, entry.filename), Other { id: entry.oid.to_owned(), kind: entry.mode.kind() }));
        }
    }
    Ok(out)
}

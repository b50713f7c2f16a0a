//! Worktree files we add to: locating, reading, and removing what was added.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::use_cases::setup::agents::edit::FileFormat;
use crate::use_cases::setup::agents::edit::spot::EditError;
use crate::use_cases::setup::agents::marked;
use crate::use_cases::setup::agents::marked::BrokenMarks;
use crate::use_cases::setup::record::{EditedFile, Insertion, hash};
use crate::use_cases::setup::steps::{SetupStep, SetupWarning};
use empirica_notes::error::{Error, Result, move_aside, quote};
use empirica_notes::git::Repository;

/// A worktree whose files may be edited.
#[derive(Debug)]
pub struct EditableWorkTree {
    /// As named in the setup record.
    pub worktree: String,
    /// Its root, absolute, without symlinks.
    pub top: PathBuf,
    /// Git directories; their files do not belong to the worktree.
    git: Vec<PathBuf>,
}

/// A worktree file that exists or can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFile {
    /// The requested path, from the root.
    pub name: PathBuf,
    /// Its path with symlinks resolved.
    pub path: PathBuf,
    /// Device and inode if it exists, since two names may share a file.
    pub inode: Option<(u64, u64)>,
    /// Folders to create for it, from the root, outermost first.
    pub folders: Vec<PathBuf>,
}

impl EditableWorkTree {
    /// The worktree of the repository; an error if it is bare.
    pub fn new(repo: &Repository) -> Result<Self> {
        let top = repo.work_tree().ok_or_else(|| {
            Error::refused("cannot set up agents: the repository has no work tree")
                .reason("it is bare, and agents read files of a worktree")
                .suggest("Run the command in a clone that has a work tree.")
        })?;
        Ok(Self::at(repo, repo.worktree_key(), top))
    }

    fn at(repo: &Repository, worktree: String, top: PathBuf) -> Self {
        EditableWorkTree { worktree, top, git: vec![repo.common_dir(), repo.git_dir()] }
    }

    /// The worktree of an entry: the present one, otherwise its former root if that is still a worktree of the repository.
    fn of(repo: &Repository, edited: &EditedFile) -> Option<Self> {
        let top = match edited.worktree == repo.worktree_key() {
            true => repo.work_tree()?,
            false => edited.top.canonicalize().ok().filter(|top| Self::is_of(repo, top))?,
        };
        Some(Self::at(repo, edited.worktree.clone(), top))
    }

    /// Whether a folder is a worktree of the repository, and not of one that this is a copy of.
    fn is_of(repo: &Repository, top: &Path) -> bool {
        let git = top.join(".git");
        let linked = fs::read_to_string(&git).ok();
        let linked = linked.as_deref().and_then(|text| text.strip_prefix("gitdir: ")).map(str::trim_end);
        // core.worktree needs no .git
        let names_none = linked.is_none() && !git.exists();
        let git_dir = linked.map_or(git, |path| top.join(path)).canonicalize();
        names_none || git_dir.is_ok_and(|git_dir| git_dir.starts_with(repo.common_dir()))
    }

    /// Locates a file by its path from the root. Follows symlinks, but not out of the worktree.
    pub fn locate(&self, name: &str) -> Result<LocatedFile> {
        let path = self.top.join(name);
        // split the path into existing and missing parts
        let existing = path.ancestors().find(|path| fs::symlink_metadata(path).is_ok()).unwrap_or(&self.top);
        let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
        let real = existing.canonicalize().map_err(|error| {
            Error::refused(format!("cannot follow the link {}", existing.display()))
                .reason("its target does not exist")
                .suggest("Create its target, or remove the link.")
                .command(format!("ls -l {}", quote(&existing.to_string_lossy())))
                .caused_by(error)
        })?;
        if !real.starts_with(&self.top) || self.git.iter().any(|git| real.starts_with(git)) {
            return Err(Error::refused(format!("cannot use {}: it leads out of the work tree", path.display()))
                .reason(format!("it lies in {}", real.display()))
                .suggest("Replace it by a file in the worktree; files outside are not written.")
                .command(format!("ls -ld {}", quote(&existing.to_string_lossy()))));
        }
        let metadata = fs::metadata(&real).map_err(|error| unread(&real, error))?;
        let is_new = rest != Path::new("");
        if is_new && !metadata.is_dir() {
            return Err(unread(&path, ErrorKind::NotADirectory.into()));
        }
        if !is_new && !metadata.is_file() {
            return Err(unread(&path, ErrorKind::IsADirectory.into()));
        }
        let base = existing.strip_prefix(&self.top).unwrap_or(Path::new(""));
        let mut folders: Vec<PathBuf> =
            rest.ancestors().skip(1).filter(|path| *path != Path::new("")).map(|path| base.join(path)).collect();
        folders.reverse();
        let inode = (!is_new).then(|| (metadata.dev(), metadata.ino()));
        Ok(LocatedFile { name: PathBuf::from(name), path: if is_new { real.join(rest) } else { real }, inode, folders })
    }

    /// Reads a file; `None` if it does not exist. An error if it is not UTF-8.
    pub fn read(&self, located: &LocatedFile) -> Result<Option<String>> {
        if located.inode.is_none() {
            return Ok(None);
        }
        let path = &located.path;
        let bytes = fs::read(path).map_err(|error| unread(path, error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Error::refused(format!("cannot read {}: it is not UTF-8", path.display()))
                .reason(format!("byte {} begins no character", error.utf8_error().valid_up_to()))
                .suggest("Convert it to UTF-8, then run the command again.")
                .command(format!("file {}", quote(&path.to_string_lossy())))
        })?;
        Ok(Some(text))
    }

    /// The steps that write a file and create its folders.
    pub fn write(&self, located: &LocatedFile, content: String) -> Vec<SetupStep> {
        let folders = located.folders.iter().map(|folder| SetupStep::MakeFolder(self.top.join(folder)));
        let (path, new) = (located.path.clone(), located.inode.is_none());
        folders.chain([SetupStep::WriteFile { path, content: content.into_bytes(), new }]).collect()
    }
}

fn unread(path: &Path, error: std::io::Error) -> Error {
    Error::refused(format!("cannot use {}", path.display())).on_path(path, error)
}

/// Error: marks do not form a block.
pub fn broken(path: &Path, broken: &BrokenMarks) -> Error {
    let shown = quote(&path.to_string_lossy());
    Error::refused(format!("cannot edit {}: its line {} {}", path.display(), broken.line, broken.what))
        .reason(format!("a block is one line {}, and below it one line {}", marked::BEGIN, marked::END))
        .suggest("Remove the surplus markers; a missing block is written again.")
        .command(format!("grep -n git-empirica: {shown}"))
}

/// Error: a configuration file cannot be edited.
pub fn faulty(path: &Path, fault: &EditError) -> Error {
    let shown = path.display();
    let what = match fault {
        EditError::Syntax { line: 0, what } => format!("cannot edit {shown}: {what}"),
        EditError::Syntax { line, what } => format!("cannot parse line {line} of {shown}: {what}"),
        EditError::Shape { at, expected } if at.is_empty() => format!("cannot edit {shown}: it is not {expected}"),
        EditError::Shape { at, expected } => format!("cannot edit {shown}: its {at} is not {expected}"),
    };
    Error::refused(what)
        .reason("its content is kept, so it must be valid")
        .suggest("Fix the file, or rename it so that a new one is written.")
        .command(move_aside(path))
}

/// Adds the steps that remove the addition to a file. Parts edited since are kept.
pub fn revert(repo: &Repository, edited: &EditedFile, steps: &mut Vec<SetupStep>, warnings: &mut Vec<SetupWarning>) {
    let name = edited.file.to_string_lossy();
    // without a worktree or file, nothing is left to remove
    let Some(site) = EditableWorkTree::of(repo, edited) else { return };
    let is_plain = edited.file.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || fs::symlink_metadata(site.top.join(&edited.file)).is_err() {
        return;
    }
    let mut kept = |what: String| warnings.push(SetupWarning::new(format!("{what}; it is kept")));
    let found = site.locate(&name).and_then(|located| Ok((site.read(&located)?.unwrap_or_default(), located)));
    let (text, located) = match found {
        Ok(found) => found,
        Err(error) => return kept(error.in_one_line()),
    };
    let Remainder { text: rest, alone, kept: parts } = rest(&text, edited, &located.path);
    parts.into_iter().for_each(&mut kept);
    if edited.made && alone {
        steps.push(SetupStep::Remove(located.path));
        steps.extend(edited.folders.iter().rev().map(|folder| SetupStep::RemoveFolder(site.top.join(folder))));
    } else if rest != text {
        steps.extend(site.write(&located, rest));
    }
}

struct Remainder {
    text: String,
    /// Whether nothing else is left.
    alone: bool,
    /// The edited parts, without a full stop.
    kept: Vec<String>,
}

/// A text without the addition.
fn rest(text: &str, edited: &EditedFile, path: &Path) -> Remainder {
    let unchanged = |kept| Remainder { text: text.to_owned(), alone: false, kept: Vec::from_iter(kept) };
    match &edited.put {
        Insertion::Block { hash: written, before, after, former } => match marked::find(text) {
            Err(fault) => unchanged(Some(broken(path, &fault).to_string())),
            Ok(None) => unchanged(None),
            Ok(Some(range)) if hash(marked::plain(&text[range.clone()]).as_bytes()) != *written => {
                unchanged(Some(format!("the block in {} was edited by hand", path.display())))
            }
            Ok(Some(_)) => {
                let text = marked::take(text, *before, *after, former.as_deref()).unwrap_or_else(|_| text.to_owned());
                Remainder { alone: text.trim_start_matches('\u{feff}').is_empty(), text, kept: Vec::new() }
            }
        },
        Insertion::Whole { hash: written, former } => {
            let same = hash(text.as_bytes()) == *written;
            match former {
                _ if !same => unchanged(Some(format!("{} was edited by hand", path.display()))),
                Some(former) => Remainder { text: former.clone(), alone: false, kept: Vec::new() },
                None => Remainder { text: String::new(), alone: true, kept: Vec::new() },
            }
        }
        Insertion::Entries { entries, began } => {
            let form = FileFormat::of(&edited.file.to_string_lossy());
            let (mut now, mut kept) = (text.to_owned(), Vec::new());
            for entry in entries.iter().rev() {
                match form.take(&now, entry) {
                    Ok(Some(text)) => now = text,
                    Ok(None) => {}
                    Err(fault) => kept.push(faulty(path, &fault).to_string()),
                }
            }
            kept.dedup();
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            let alone = began.as_ref().is_some_and(|began| bare(began) == bare(&now));
            Remainder { text: now, alone, kept }
        }
    }
}

impl EditedFile {
    pub fn at(site: &EditableWorkTree, located: &LocatedFile, put: Insertion) -> Self {
        EditedFile {
            worktree: site.worktree.clone(),
            top: site.top.clone(),
            file: located.name.clone(),
            made: located.inode.is_none(),
            folders: located.folders.clone(),
            put,
        }
    }
}

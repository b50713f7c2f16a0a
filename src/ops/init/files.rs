//! Files of the work tree that something is put into: where they really lie, how they are read, how what was put in is taken back.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::hooks::Trouble;
use super::record::{Edited, Put, hash};
use super::steps::Step;
use crate::error::{Error, Result, quote};
use crate::git::Repository;
use crate::wire::marked::{self, Broken};

/// A work tree whose files may be edited.
#[derive(Debug)]
pub struct Site {
    /// What the work tree is called in what is written down.
    pub worktree: String,
    /// Its root, absolute, without links.
    pub top: PathBuf,
    /// Git directories: what is in them is no file of the work tree.
    git: Vec<PathBuf>,
}

/// A file of the work tree that is there or can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its path from the root, as it is asked for.
    pub name: PathBuf,
    /// Where it really lies, links followed.
    pub path: PathBuf,
    /// Which file it is, when it is there: two names may be of one file.
    pub inode: Option<(u64, u64)>,
    /// The folders that have to be made for it, as paths from the root, outermost first.
    pub folders: Vec<PathBuf>,
}

impl Site {
    /// The work tree of the repository; a bare one is refused.
    pub fn new(repo: &Repository) -> Result<Self> {
        let top = repo.work_tree().ok_or_else(|| {
            Error::refused("this repository has no work tree")
                .reason("it is bare, and what agents read lies in a work tree")
                .suggest("Run the command in a clone that has a work tree.")
        })?;
        Ok(Site { worktree: repo.worktree_key(), top, git: vec![repo.common_dir(), repo.git_dir()] })
    }

    /// The work tree that an entry is about: the present one, else where it was then, if that is still there.
    fn of(repo: &Repository, edited: &Edited) -> Option<Self> {
        let (worktree, git) = (repo.worktree_key(), vec![repo.common_dir(), repo.git_dir()]);
        if edited.worktree == worktree {
            return repo.work_tree().map(|top| Site { worktree, top, git });
        }
        let top = edited.top.canonicalize().ok().filter(|top| top.is_dir())?;
        Some(Site { worktree: edited.worktree.clone(), top, git })
    }

    /// Finds a file by its path from the root. Links are followed, but not out of the work tree.
    pub fn locate(&self, name: &str) -> Result<Located> {
        let given = self.top.join(name);
        // what is there of it, and what is not
        let there = given.ancestors().find(|path| fs::symlink_metadata(path).is_ok()).unwrap_or(&self.top);
        let rest = given.strip_prefix(there).unwrap_or(Path::new(""));
        let real = there.canonicalize().map_err(|error| {
            Error::refused(format!("{} leads nowhere", there.display()))
                .reason("it is a link to something that does not exist")
                .suggest("Make what it leads to, or remove the link.")
                .command(format!("ls -l {}", quote(&there.to_string_lossy())))
                .caused_by(error)
        })?;
        if !real.starts_with(&self.top) || self.git.iter().any(|git| real.starts_with(git)) {
            return Err(Error::refused(format!("{} leads out of the work tree", given.display()))
                .reason(format!("it lies in {}", real.display()))
                .suggest("Put a file of the work tree in its place; what is outside is not written to.")
                .command(format!("ls -ld {}", quote(&there.to_string_lossy()))));
        }
        let about = fs::metadata(&real).map_err(|error| unread(&real, error))?;
        let (folder, wanted) =
            (rest != Path::new(""), if rest == Path::new("") { about.is_file() } else { about.is_dir() });
        if !wanted {
            let kind = if folder { std::io::ErrorKind::NotADirectory } else { std::io::ErrorKind::IsADirectory };
            return Err(unread(&given, kind.into()));
        }
        let base = there.strip_prefix(&self.top).unwrap_or(Path::new(""));
        let mut folders: Vec<PathBuf> =
            rest.ancestors().skip(1).filter(|path| *path != Path::new("")).map(|path| base.join(path)).collect();
        folders.reverse();
        let inode = (!folder).then(|| inode(&about));
        Ok(Located { name: PathBuf::from(name), path: if folder { real.join(rest) } else { real }, inode, folders })
    }

    /// The text of a file; `None` when it is not there. One that is not UTF-8 is refused.
    pub fn read(&self, located: &Located) -> Result<Option<String>> {
        if located.inode.is_none() {
            return Ok(None);
        }
        let path = &located.path;
        let bytes = fs::read(path).map_err(|error| unread(path, error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            Error::refused(format!("{} is not UTF-8", path.display()))
                .reason(format!("byte {} begins no character", error.utf8_error().valid_up_to()))
                .suggest("Convert it to UTF-8, then run the command again.")
                .command(format!("file {}", quote(&path.to_string_lossy())))
        })?;
        Ok(Some(text))
    }

    /// The steps that write a file, and the folders they make.
    pub fn write(&self, located: &Located, content: String) -> Vec<Step> {
        let folders = located.folders.iter().map(|folder| Step::Folder(self.top.join(folder)));
        let (path, new) = (located.path.clone(), located.inode.is_none());
        folders.chain([Step::Put { path, content: content.into_bytes(), new }]).collect()
    }
}

fn inode(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

fn unread(path: &Path, error: std::io::Error) -> Error {
    Error::refused(format!("{} cannot be used", path.display())).on_path(path, error)
}

/// A file has marks that make no block.
pub fn broken(path: &Path, broken: &Broken) -> Error {
    let shown = quote(&path.to_string_lossy());
    Error::refused(format!("line {} of {} {}", broken.line, path.display(), broken.what))
        .reason(format!("a block is one line {}, and below it one line {}", marked::BEGIN, marked::END))
        .suggest("Remove the marks that are too many; a block that is missing is written anew.")
        .command(format!("grep -n git-empirica: {shown}"))
}

/// The steps that take back what was put into a file. What is no longer as it was written stays.
pub fn take_back(repo: &Repository, edited: &Edited, steps: &mut Vec<Step>, troubles: &mut Vec<Trouble>) {
    let name = edited.file.to_string_lossy();
    // where there is neither work tree nor file, nothing is left of it
    let Some(site) = Site::of(repo, edited) else { return };
    let is_plain = edited.file.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || fs::symlink_metadata(site.top.join(&edited.file)).is_err() {
        return;
    }
    let found = site.locate(&name).and_then(|located| Ok((site.read(&located)?, located)));
    let rest = found.and_then(|(text, located)| {
        let text = text.unwrap_or_default();
        let rest = without(&text, &edited.put).map_err(|fault| broken(&located.path, &fault))?;
        Ok((text, rest, located))
    });
    let mut kept = |what: String| troubles.push(Trouble { what: format!("{what}; it is kept"), commands: Vec::new() });
    match rest {
        Err(error) => kept(error.in_one_line()),
        Ok((_, None, located)) => kept(format!("the block in {} was edited by hand", located.path.display())),
        Ok((_, Some(rest), located)) if edited.made && rest.trim_start_matches('\u{feff}').is_empty() => {
            steps.push(Step::Remove(located.path));
            steps.extend(edited.folders.iter().rev().map(|folder| Step::RemoveFolder(site.top.join(folder))));
        }
        Ok((text, Some(rest), located)) if rest != text => steps.extend(site.write(&located, rest)),
        Ok(_) => {}
    }
}

/// A text without what was put into it; `None` when that was edited since.
fn without(text: &str, put: &Put) -> Result<Option<String>, Broken> {
    match put {
        Put::Block { hash: written, before, after, former } => {
            let Some(range) = marked::find(text)? else { return Ok(Some(text.to_owned())) };
            if hash(marked::plain(&text[range]).as_bytes()) != *written {
                return Ok(None);
            }
            marked::take(text, *before, *after, former.as_deref()).map(Some)
        }
    }
}

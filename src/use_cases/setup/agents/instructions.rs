//! Instructions about the program in the files that agents read.

use std::path::PathBuf;

use crate::use_cases::setup::agents::files::{EditableWorkTree, LocatedFile, broken};
use crate::use_cases::setup::agents::marked;
use crate::use_cases::setup::agents::readers;
use crate::use_cases::setup::agents::readers::{InstructionFile, Reader};
use crate::use_cases::setup::record::{EditedFile, Insertion, SetupRecord, hash};
use crate::use_cases::setup::steps;
use crate::use_cases::setup::steps::SetupStep;
use empirica_notes::error::{Error, Result};
use empirica_notes::git::Repository;

#[derive(Debug, Default)]
pub struct InstructionsOutcome {
    pub dry_run: bool,
    pub steps: Vec<SetupStep>,
    /// Files already up to date.
    pub current: Vec<PathBuf>,
}

/// Renders the instructions for a file; without one, the general text.
pub type RenderInstructions<'a> = &'a mut dyn FnMut(Option<InstructionFile>) -> Result<String>;

/// Updates the block in the file of `reader`, creating the file if missing. Without a reader, updates the existing
/// files, or creates the first if there are none. With `dry_run`, changes nothing.
///
/// Reads and plans everything before it writes.
pub fn write(
    repo: &Repository,
    reader: Option<Reader>,
    dry_run: bool,
    render: RenderInstructions<'_>,
) -> Result<InstructionsOutcome> {
    let site = EditableWorkTree::new(repo)?;
    let common = repo.common_dir();
    let before = SetupRecord::load(&common)?.unwrap_or_default();
    let mut record = before.clone();
    let mut out = InstructionsOutcome { dry_run, ..Default::default() };
    let exists = |file: &&InstructionFile| std::fs::symlink_metadata(site.top.join(file.path)).is_ok();
    let files = readers::files();
    let mut targets: Vec<InstructionFile> = match reader {
        Some(reader) => vec![reader.file()],
        None => files.iter().filter(exists).copied().collect(),
    };
    if targets.is_empty() {
        targets.push(files[0]);
    }
    let mut done = Vec::new();
    for file in targets {
        let located = site.locate(file.path)?;
        if located.inode.is_some() && done.contains(&located.inode) {
            continue;
        }
        done.push(located.inode);
        // a shared file must not contain wording for one agent
        let shared = |other: &InstructionFile| {
            located.inode.is_some() && site.locate(other.path).is_ok_and(|other| other.inode == located.inode)
        };
        let names = files.iter().filter(|other| shared(other)).count();
        let body = render((names < 2).then_some(file))?;
        if marked::find(&body) != Ok(None) {
            return Err(Error::refused("cannot use the template instructions.md: it has the marks of a block")
                .reason(format!("{} and {} are added around its text", marked::BEGIN, marked::END))
                .suggest("Remove them from the template in the folder that empirica.templateDir names."));
        }
        let text = site.read(&located)?;
        let put =
            marked::put(text.as_deref().unwrap_or_default(), &body).map_err(|fault| broken(&located.path, &fault))?;
        if text.as_ref() == Some(&put.text) {
            out.current.push(located.path);
            continue;
        }
        note(&mut record, &site, &located, &put);
        out.steps.extend(site.write(&located, put.text));
    }
    if !dry_run && !out.steps.is_empty() {
        record.save(repo)?;
        steps::apply(repo, &out.steps)?;
    }
    Ok(out)
}

/// Records what was added to a file; keeps the record of what preceded our first block.
fn note(record: &mut SetupRecord, site: &EditableWorkTree, located: &LocatedFile, put: &marked::MarkedText) {
    let block = marked::find(&put.text).ok().flatten().map(|range| marked::plain(&put.text[range])).unwrap_or_default();
    let (before, after, former) = (put.before, put.after, put.former.clone());
    let mut edited =
        EditedFile::at(site, located, Insertion::Block { hash: hash(block.as_bytes()), before, after, former });
    match record.files.iter_mut().find(|recorded| recorded.same_place(&edited)) {
        // our own block is not a former one
        Some(recorded) if put.former.is_some() => {
            if let Insertion::Block { hash: now, .. } = &mut recorded.put {
                *now = hash(block.as_bytes());
            }
        }
        Some(recorded) => std::mem::swap(recorded, &mut edited),
        None => record.files.push(edited),
    }
}

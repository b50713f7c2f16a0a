//! Records made before the first commit: they lie on the empty tree, and are attached to that commit once it exists.

use std::fs;
use std::io::Write;

use super::Store;
use super::files::read_lines;
use super::log::Waiting;
use super::paths::Paths;
use super::read::Lookup;
use super::write::When;
use crate::error::Result;
use crate::model::record::Attach;
use crate::model::{Body, Id, Record, Shelf};
use crate::wire;
use crate::wire::lines;

/// Remembers that a record of this worktree lies on the empty tree, and how long HEAD's reflog was then: the first
/// commit is looked for after that.
pub(super) fn remember(paths: &Paths, waiting: &Waiting, reflog: usize) {
    let Some(id) = lines::id(&waiting.line) else { return };
    let line = format!("{reflog} {} {id}\n", waiting.shelf.name());
    let append = || -> std::io::Result<()> {
        let path = paths.unborn();
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::OpenOptions::new().create(true).append(true).open(&path)?.write_all(line.as_bytes())
    };
    // without it the records stay readable where they lie
    let _ = append();
}

impl Store<'_> {
    /// Copies the records this worktree made on an unborn HEAD to the first commit, with an attachment.
    pub(super) fn attach_unborn(&self) -> Result<()> {
        if self.head.commit.is_none() || !self.paths.unborn().exists() {
            return Ok(());
        }
        let remembered: Vec<(usize, Shelf, Id)> = read_lines(&self.paths.unborn())
            .iter()
            .filter_map(|line| {
                let mut words = line.split(' ');
                Some((words.next()?.parse().ok()?, Shelf::parse(words.next()?)?, Id::parse(words.next()?)?))
            })
            .collect();
        let reflog = remembered.iter().map(|(reflog, ..)| *reflog).min().unwrap_or(0);
        let oldest = remembered.iter().map(|(_, _, id)| id.ms() / 1000).min().unwrap_or(0);
        let Some(first) = self.repo.first_commit_after(reflog, oldest as i64) else { return Ok(()) };
        let mut records: Vec<(Record, Option<(Shelf, crate::git::Oid)>)> = Vec::new();
        for shelf in Shelf::ALL {
            let wanted: Vec<&Id> = remembered.iter().filter(|(_, s, _)| *s == shelf).map(|(_, _, id)| id).collect();
            if wanted.is_empty() {
                continue;
            }
            let here = Lookup::open(self, shelf)?.lines(self.repo.empty_tree())?;
            let copied: Vec<Record> = here
                .iter()
                .filter_map(|line| wire::record::decode(line))
                .filter(|record| wanted.contains(&&record.head.id))
                .collect();
            let of: Vec<Id> = copied.iter().map(|record| record.head.id.clone()).collect();
            let Some(last) = copied.last() else { continue };
            let mut head = self.new_head(last.head.session.as_ref(), &last.head.ai);
            head.commit = Some(first.to_string());
            head.tree = self.repo.tree_of(first).ok().map(|id| id.to_string());
            let attach = Record {
                head,
                body: Body::Attach(Attach { of, from: self.repo.empty_tree().to_string(), to: first.to_string() }),
            };
            records.push((attach.clone(), Some((shelf, self.repo.empty_tree()))));
            records.push((attach, Some((shelf, first))));
            records.extend(copied.into_iter().map(|record| (record, Some((shelf, first)))));
        }
        if !records.is_empty() {
            self.append_on(records, When::Now)?;
        }
        // already copied twice is the same as once
        let _ = fs::remove_file(self.paths.unborn());
        Ok(())
    }
}

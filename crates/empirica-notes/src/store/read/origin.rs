//! The origin of a line: the committer of the first notes commit that has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::Result;
use crate::format::lines;
use crate::git::repository::committer;
use crate::git::repository::committer::CommitterInfo;
use crate::git::{NotesTree, Oid, Repository};
use crate::model::{Id, Namespace};
use crate::store::Reader;

/// The limit of notes commits to walk.
const COMMITS: usize = 20_000;
/// The limit of the notes to read, in bytes.
const READ_BYTES: usize = 64 << 20;
/// Subjects of commits that identify no origin: equal in every clone, or with lines of others.
const NO_ORIGIN: [&str; 3] =
    ["Notes imported by 'git empirica'", "Notes redacted by 'git empirica'", "Notes merged by 'git empirica'"];

/// The notes commit that added a line, and its committer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Committer")]
pub struct LineOrigin {
    /// The committer's name.
    pub name: String,
    /// The committer's e-mail address.
    pub email: String,
    /// The commit date, strict ISO 8601.
    pub date: String,
    /// The notes commit, hex.
    pub commit: String,
}

impl LineOrigin {
    /// Whether it is another person: by address, or by name if neither has an address.
    pub fn is_other(&self, than: &LineOrigin) -> bool {
        match (self.email.is_empty(), than.email.is_empty()) {
            (true, true) => self.name != than.name,
            _ => !self.email.eq_ignore_ascii_case(&than.email),
        }
    }
}

/// A line to find the origin of.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct LineQuery {
    pub id: Id,
    pub namespace: Namespace,
    pub line: Vec<u8>,
    /// The annotated objects.
    pub on: BTreeSet<Oid>,
}

/// The lines in a commit, as indices of the lines searched for.
type HeldLines = BTreeSet<usize>;

struct Walk<'s> {
    repo: &'s Repository,
    lines: Vec<&'s LineQuery>,
    targets: BTreeSet<Oid>,
    notes: HashMap<(Oid, Oid), HeldLines>,
    commits: HashMap<Oid, HeldLines>,
    /// The bytes of notes read.
    read: usize,
}

impl Walk<'_> {
    /// The lines found in a notes commit, none if it cannot be read; `None` if more than [`READ_BYTES`] were read.
    fn held(&mut self, commit: Oid) -> Option<HeldLines> {
        if let Some(cached) = self.commits.get(&commit) {
            return Some(cached.clone());
        }
        let mut held = HeldLines::new();
        if let Ok(mut tree) = NotesTree::open(self.repo, Some(commit), lines::union) {
            for target in self.targets.clone() {
                if let Ok(Some(blob)) = tree.blob(target) {
                    held.extend(self.of_note(target, blob));
                }
                if self.read > READ_BYTES {
                    return None;
                }
            }
        }
        self.commits.insert(commit, held.clone());
        Some(held)
    }

    fn of_note(&mut self, target: Oid, blob: Oid) -> HeldLines {
        if let Some(cached) = self.notes.get(&(target, blob)) {
            return cached.clone();
        }
        let content = self.repo.read_blob(blob).ok().flatten().unwrap_or_default();
        self.read += content.len();
        let mut searched: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (at, one) in self.lines.iter().enumerate().filter(|(_, one)| one.on.contains(&target)) {
            searched.entry(&one.line).or_default().push(at);
        }
        let lengths: HashSet<usize> = searched.keys().map(|line| line.len()).collect();
        let stored = lines::split(&content).filter(|line| lengths.contains(&line.len()));
        let held: HeldLines = stored.filter_map(|line| searched.get(line)).flatten().copied().collect();
        self.notes.insert((target, blob), held.clone());
        held
    }
}

impl Reader<'_> {
    /// The first origin of each of these lines, in local or fetched notes. Lines are absent that are only pending, or
    /// whose origin is lost, as after an import, a redaction, or in a shallow clone, and those whose notes have too long a
    /// history to be read.
    pub fn origins(&self, searched: &[LineQuery]) -> Result<BTreeMap<Id, LineOrigin>> {
        let view = self.pending_view()?;
        let mut out: BTreeMap<Id, (i64, LineOrigin)> = BTreeMap::new();
        for namespace in Namespace::ALL {
            let lines: Vec<&LineQuery> = searched.iter().filter(|one| one.namespace == namespace).collect();
            if lines.is_empty() {
                continue;
            }
            let targets = lines.iter().flat_map(|one| one.on.iter().copied()).collect();
            let (notes, commits) = Default::default();
            let mut walk = Walk { repo: self.store.repo, lines, targets, notes, commits, read: 0 };
            let (sources, _) = self.sources(namespace, &view);
            let mut todo: Vec<Oid> = sources.into_iter().map(|source| source.tip).collect();
            let mut seen: HashSet<Oid> = HashSet::new();
            'walk: while let Some(commit) = todo.pop() {
                if seen.len() >= COMMITS {
                    break;
                }
                let Some(mut new) = walk.held(commit) else { break 'walk };
                let Some(author) =
                    committer::read(self.store.repo, commit).filter(|_| !new.is_empty() && seen.insert(commit))
                else {
                    continue;
                };
                let parents: BTreeSet<Oid> = author.parents.iter().copied().collect();
                for parent in &parents {
                    let Some(before) = walk.held(*parent) else { break 'walk };
                    new.retain(|at| !before.contains(at));
                    if !before.is_empty() {
                        todo.push(*parent);
                    }
                }
                let has_origin = !NO_ORIGIN.contains(&author.subject.as_str())
                    && parents.iter().all(|id| self.store.repo.has_object(*id));
                if !has_origin {
                    continue;
                }
                let CommitterInfo { name, email, date, seconds, .. } = author;
                let origin = LineOrigin { name, email, date, commit: commit.to_string() };
                for at in new {
                    let id = &walk.lines[at].id;
                    if out.get(id).is_none_or(|(earliest, _)| seconds < *earliest) {
                        out.insert(id.clone(), (seconds, origin.clone()));
                    }
                }
            }
            if walk.read > READ_BYTES {
                // an earlier commit may not have been reached
                walk.lines.iter().for_each(|line| drop(out.remove(&line.id)));
            }
        }
        Ok(out.into_iter().map(|(id, (_, origin))| (id, origin)).collect())
    }
}

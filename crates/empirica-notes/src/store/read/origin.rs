//! Who brought a line into the notes: the committer of the first commit that has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::error::Result;
use crate::format::lines;
use crate::git::repository::author;
use crate::git::repository::author::Author;
use crate::git::{Notes, Oid, Repository};
use crate::model::{Id, Namespace};
use crate::store::Store;

/// The most commits of the notes that are looked at.
const COMMITS: usize = 20_000;
/// What commits of ours begin with that are alike in every clone, or hold what others brought.
const OURS: [&str; 3] =
    ["Notes imported by 'git empirica'", "Notes redacted by 'git empirica'", "Notes merged by 'git empirica'"];

/// The commit that brought a line, and who made it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Committer")]
pub struct LineOrigin {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// When, strict ISO 8601.
    pub date: String,
    /// The commit of the notes, hex.
    pub commit: String,
}

impl LineOrigin {
    /// Whether it is another person: another address, or another name where neither has one.
    pub fn is_other(&self, than: &LineOrigin) -> bool {
        match (self.email.is_empty(), than.email.is_empty()) {
            (true, true) => self.name != than.name,
            _ => !self.email.eq_ignore_ascii_case(&than.email),
        }
    }
}

/// A line whose committer is asked for.
#[derive(Debug, Clone)]
pub struct WantedLine {
    /// The record.
    pub id: Id,
    /// The namespace it is on.
    pub namespace: Namespace,
    /// Its line.
    pub line: Vec<u8>,
    /// The objects whose notes hold it.
    pub on: BTreeSet<Oid>,
}

/// The lines that a commit holds, by their place in what is wanted.
type HeldLines = BTreeSet<usize>;

struct Walk<'s> {
    repo: &'s Repository,
    wanted: Vec<&'s WantedLine>,
    targets: BTreeSet<Oid>,
    notes: HashMap<(Oid, Oid), HeldLines>,
    commits: HashMap<Oid, HeldLines>,
}

impl Walk<'_> {
    /// Which of the lines a commit of the notes holds; none when it cannot be read.
    fn held(&mut self, commit: Oid) -> HeldLines {
        if let Some(known) = self.commits.get(&commit) {
            return known.clone();
        }
        let mut held = HeldLines::new();
        if let Ok(mut tree) = Notes::open(self.repo, Some(commit), lines::union) {
            for target in self.targets.clone() {
                if let Ok(Some(blob)) = tree.blob(target) {
                    held.extend(self.of_note(target, blob));
                }
            }
        }
        self.commits.insert(commit, held.clone());
        held
    }

    fn of_note(&mut self, target: Oid, blob: Oid) -> HeldLines {
        if let Some(known) = self.notes.get(&(target, blob)) {
            return known.clone();
        }
        let content = self.repo.read_blob(blob).ok().flatten().unwrap_or_default();
        let there: HashSet<&[u8]> = lines::split(&content).collect();
        let wanted = self.wanted.iter().enumerate();
        let held: HeldLines =
            wanted.filter(|(_, w)| w.on.contains(&target) && there.contains(&w.line[..])).map(|(at, _)| at).collect();
        self.notes.insert((target, blob), held.clone());
        held
    }
}

impl Store<'_> {
    /// Who brought each of these lines into our notes or those that were fetched: of several, who did it first. Absent are
    /// those that only wait in a log, and those whose history does not tell, as after an import, a redaction, or in a
    /// shallow clone.
    pub fn origins(&self, wanted: &[WantedLine]) -> Result<BTreeMap<Id, LineOrigin>> {
        let reading = self.reading()?;
        let mut out: BTreeMap<Id, (i64, LineOrigin)> = BTreeMap::new();
        for namespace in Namespace::ALL {
            let wanted: Vec<&WantedLine> = wanted.iter().filter(|one| one.namespace == namespace).collect();
            if wanted.is_empty() {
                continue;
            }
            let targets = wanted.iter().flat_map(|one| one.on.iter().copied()).collect();
            let mut walk = Walk { repo: self.repo, wanted, targets, notes: HashMap::new(), commits: HashMap::new() };
            let (sources, _) = self.sources(namespace, &reading);
            let mut todo: Vec<Oid> = sources.into_iter().map(|source| source.tip).collect();
            let mut seen: HashSet<Oid> = HashSet::new();
            while let Some(commit) = todo.pop() {
                if seen.len() >= COMMITS {
                    break;
                }
                let mut new = walk.held(commit);
                let Some(made) = author::of(self.repo, commit).filter(|_| !new.is_empty() && seen.insert(commit))
                else {
                    continue;
                };
                for parent in &made.parents {
                    let before = walk.held(*parent);
                    new.retain(|at| !before.contains(at));
                    if !before.is_empty() {
                        todo.push(*parent);
                    }
                }
                let is_told =
                    !OURS.contains(&made.subject.as_str()) && made.parents.iter().all(|id| self.repo.has_object(*id));
                for at in new.into_iter().filter(|_| is_told) {
                    let found = (made.seconds, brought(&made, commit));
                    let id = &walk.wanted[at].id;
                    if out.get(id).is_none_or(|known| found.0 < known.0) {
                        out.insert(id.clone(), found);
                    }
                }
            }
        }
        Ok(out.into_iter().map(|(id, (_, brought))| (id, brought)).collect())
    }
}

fn brought(made: &Author, commit: Oid) -> LineOrigin {
    LineOrigin {
        name: made.name.clone(),
        email: made.email.clone(),
        date: made.date.clone(),
        commit: commit.to_string(),
    }
}

//! The differences of two sides, dimension by dimension.

use schemars::JsonSchema;
use serde::Serialize;

use std::collections::{BTreeMap, BTreeSet};

use crate::checkpoint::compare::operand::{KnownItems, Operand};
use crate::fold::assessment::confidence::round4;
use empirica_notes::model::{Id, Vector};

/// From this fall on a vector is told of in the sentence.
const FELL: f64 = 0.15;

empirica_notes::words! {
    /// What happened to something from one side to the other.
    pub enum ChangeKind {
        Lost = "lost",
        Gained = "gained",
        Changed = "changed",
    }
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
pub struct Change {
    /// The dimension it is in, as in `compared`.
    pub dimension: &'static str,
    /// What happened.
    #[serde(skip)]
    pub turn: ChangeKind,
    /// In words: `3 findings are missing`.
    pub what: String,
    /// What it is about, as far as it is named.
    pub items: Vec<String>,
}

/// What lies between two sides, as git and the records know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryBetween {
    /// Commits that only the later side's HEAD has; `None` when one of both is not here.
    pub added: Option<u64>,
    /// Commits that only the earlier side's HEAD has.
    pub gone: Option<u64>,
    /// Files that the later side's commits changed, and those that are still there though git no longer names
    /// them; `None` when it is not known, and no file is said to have gone back.
    pub committed: Option<BTreeSet<String>>,
    /// Whether the sides saw different work trees: what is not committed is not compared.
    pub elsewhere: bool,
    /// Goals that are done or dropped by now, whoever did it.
    pub closed: BTreeSet<Id>,
    /// Goals that the later side's session has.
    pub held: BTreeSet<Id>,
}

/// The differences as they are found.
#[derive(Default)]
pub(crate) struct Changes {
    pub same_session: bool,
    pub list: Vec<Change>,
    /// The dimensions both sides know.
    pub compared: Vec<&'static str>,
}

impl Changes {
    pub fn add(&mut self, dimension: &'static str, turn: ChangeKind, what: String, items: Vec<String>) {
        self.list.push(Change { dimension, turn, what, items });
    }

    /// So many are missing.
    pub fn missing(&mut self, dimension: &'static str, words: (&str, &str), count: u64, items: Vec<String>) {
        let verb = if count == 1 { "is" } else { "are" };
        self.add(dimension, ChangeKind::Lost, format!("{} {verb} missing", counted(count, words)), items);
    }

    /// A number that should not fall.
    pub fn number(&mut self, dimension: &'static str, words: (&str, &str), was: Option<u64>, is: Option<u64>) {
        let (Some(was), Some(is)) = (was, is) else { return };
        self.compared.push(dimension);
        if is < was {
            self.missing(dimension, words, was - is, Vec::new());
        } else if is > was {
            self.add(dimension, ChangeKind::Gained, format!("{} more", counted(is - was, words)), Vec::new());
        }
    }

    /// Something that is neither lost nor gained.
    pub fn differ<T: PartialEq + std::fmt::Display>(
        &mut self,
        dimension: &'static str,
        what: &str,
        was: Option<T>,
        is: Option<T>,
    ) {
        if let (Some(was), Some(is)) = (was, is)
            && was != is
        {
            self.add(dimension, ChangeKind::Changed, format!("{what}: {was} → {is}"), Vec::new());
        }
    }

    /// Things that were said. Between sessions only what the project has can be missing, and what both name whole is
    /// told apart.
    pub fn known(&mut self, words: (&str, &str), a: &KnownItems, b: &KnownItems, exists: &dyn Fn(&Id) -> bool) {
        let dimension = "breadcrumbs";
        self.compared.push(dimension);
        let only = |a: &KnownItems, b: &KnownItems| -> Vec<String> {
            let ids: BTreeSet<&Id> = b.listed.iter().filter_map(|(id, _)| id.as_ref()).collect();
            let texts: BTreeSet<&String> = b.listed.iter().map(|(_, text)| text).collect();
            let named = |id: &Option<Id>, text| id.as_ref().is_some_and(|id| ids.contains(id)) || texts.contains(text);
            a.listed.iter().filter(|(id, text)| !named(id, text)).map(|(_, text)| text.clone()).collect()
        };
        if a.whole && b.whole {
            let (gone, new) = (only(a, b), only(b, a));
            match (gone.len() as u64, self.same_session) {
                (0, _) => {}
                (count, true) => self.missing(dimension, words, count, gone),
                (count, false) => {
                    let what = format!("{} only in the first", counted(count, words));
                    self.add(dimension, ChangeKind::Changed, what, gone);
                }
            }
            if !new.is_empty() {
                self.add(dimension, ChangeKind::Gained, format!("{} more", counted(new.len() as u64, words)), new);
            }
            return;
        }
        let fall = |was: Option<u64>, is: Option<u64>| Some(i128::from(was?) - i128::from(is?));
        let in_session = fall(a.session, b.session).filter(|_| self.same_session);
        let in_all = fall(a.total, b.total);
        // what is named and stored nowhere is missing whatever the numbers say
        let vanished = a.listed.iter().filter(|(id, _)| id.as_ref().is_some_and(|id| !exists(id)));
        let vanished: Vec<String> = vanished.map(|(_, text)| text.clone()).collect();
        let fallen = in_session.into_iter().chain(in_all).max().unwrap_or(0);
        let missing = fallen.max(vanished.len() as i128);
        if missing > 0 {
            let mut items = vanished;
            items.extend(only(a, b).into_iter().take((missing as usize).saturating_sub(items.len())));
            items.dedup();
            self.missing(dimension, words, missing as u64, items);
        } else if let Some(more @ 1..) = in_all.or(in_session).map(|fall| -fall) {
            self.add(dimension, ChangeKind::Gained, format!("{} more", counted(more as u64, words)), only(b, a));
        }
    }

    pub fn git(&mut self, a: &Operand, b: &Operand, way: &HistoryBetween) {
        let dimension = "git_state";
        match (way.gone, way.added) {
            (Some(gone), Some(added)) => {
                self.compared.push(dimension);
                if gone > 0 {
                    let what = match gone {
                        1 => "1 commit is no longer in HEAD's history".to_owned(),
                        many => format!("{many} commits are no longer in HEAD's history"),
                    };
                    self.add(dimension, ChangeKind::Lost, what, Vec::new());
                }
                if added > 0 {
                    let what = format!("{} more", counted(added, ("commit", "commits")));
                    self.add(dimension, ChangeKind::Gained, what, Vec::new());
                }
            }
            _ => self.differ(dimension, "HEAD", a.commit.as_ref(), b.commit.as_ref()),
        }
        let (Some(was), Some(is)) = (&a.git, &b.git) else { return };
        self.compared.push(dimension);
        self.differ(dimension, "branch", was.branch.as_ref(), is.branch.as_ref());
        if way.elsewhere {
            return;
        }
        let (before, after) = (&was.uncommitted_changes, &is.uncommitted_changes);
        // git names a new folder instead of the files in it
        let like = |one: &str, other: &str| {
            one == other
                || (one.ends_with('/') && other.starts_with(one))
                || (other.ends_with('/') && one.starts_with(other))
        };
        let has = |paths: &[String], path: &str| paths.iter().any(|other| like(path, other));
        let committed = |path: &str| way.committed.as_ref().is_none_or(|all| all.iter().any(|other| like(path, other)));
        let (saved, back): (Vec<String>, Vec<String>) =
            before.paths.iter().filter(|path| !has(&after.paths, path)).cloned().partition(|path| committed(path));
        let mut back = back;
        // of new files, git may name the folder: their number falls when they are no longer staged
        let count = |c: &empirica_notes::model::snapshot::Uncommitted| c.files_modified.saturating_add(c.files_deleted);
        let unnamed = before.paths_omitted > 0 || after.paths_omitted > 0;
        let still = (way.gone, way.added) == (Some(0), Some(0));
        if after.paths_omitted > 0 {
            // those that are not named may be among the others
            back.clear();
        }
        let fallen = count(before).saturating_sub(count(after)) * u64::from(still && unnamed);
        let gone = fallen.max(back.len() as u64);
        // what was committed takes its lines along
        let fell = (before.insertions.checked_sub(after.insertions)).zip(before.deletions.checked_sub(after.deletions));
        let lost = fell.filter(|fell| gone > 0 && saved.is_empty() && !unnamed && *fell != (0, 0));
        if gone > 0 {
            let lines = match lost {
                Some((added, 0)) => format!(" ({})", counted(added, ("uncommitted line", "uncommitted lines"))),
                Some((added, removed)) => format!(" (uncommitted lines: +{added} −{removed})"),
                None => String::new(),
            };
            let what = format!("{} went back{lines}", counted(gone, ("file", "files")));
            self.add(dimension, ChangeKind::Lost, what, back);
        }
        let new: Vec<String> = after.paths.iter().filter(|path| !has(&before.paths, path)).cloned().collect();
        if !new.is_empty() && before.paths_omitted == 0 {
            let what = format!("{} more changed", counted(new.len() as u64, ("file", "files")));
            self.add(dimension, ChangeKind::Gained, what, new);
        }
        let lines = |c: &empirica_notes::model::snapshot::Uncommitted| format!("+{} −{}", c.insertions, c.deletions);
        if lost.is_none() {
            self.differ(dimension, "uncommitted lines", Some(lines(before)), Some(lines(after)));
        }
    }

    pub fn reasoning(&mut self, a: &Operand, b: &Operand) {
        if a.kind == "handoff" && b.kind == "handoff" {
            self.compared.push("reasoning");
            if a.context != b.context {
                let what = "task, context or next steps are different".to_owned();
                self.add("reasoning", ChangeKind::Changed, what, Vec::new());
            }
        }
        if a.reasoning.is_empty() && b.reasoning.is_empty() {
            return;
        }
        let dimension = "reasoning";
        self.compared.push(dimension);
        // a snapshot may have shortened either
        let like = |one: &str, other: &str| {
            let (one, other) = (one.trim_end_matches('…').trim_end(), other.trim_end_matches('…').trim_end());
            one.starts_with(other) || other.starts_with(one)
        };
        let has = |side: &Operand, text: &str| side.reasoning.iter().any(|other| like(text, other));
        let forgotten = a.reasoning.last().filter(|latest| !has(b, latest));
        // a long way keeps its last steps only
        let is_cut = b.reasoning.len() >= crate::checkpoint::snapshot::fold::STEPS;
        if let Some(latest) = forgotten.filter(|_| !is_cut) {
            let what = if b.reasoning.is_empty() { "the reasoning was forgotten" } else { "the reasoning broke off" };
            let turn = if self.same_session || b.reasoning.is_empty() { ChangeKind::Lost } else { ChangeKind::Changed };
            self.add(dimension, turn, what.to_owned(), vec![latest.clone()]);
        }
        let new: Vec<String> = b.reasoning.iter().filter(|text| !has(a, text)).cloned().collect();
        if !new.is_empty() {
            let what = format!("{} more", counted(new.len() as u64, ("step of reasoning", "steps of reasoning")));
            self.add(dimension, ChangeKind::Gained, what, new);
        }
    }

    pub fn vectors(&mut self, a: &Operand, b: &Operand) -> Option<BTreeMap<Vector, f64>> {
        if a.vectors.is_empty() || b.vectors.is_empty() {
            return None;
        }
        // an assessment that is no newer than the earlier side's tells nothing about the time between
        let is_new = |vector| {
            let seen = a.source(vector).or(a.id.as_ref());
            b.source(vector).zip(seen).is_none_or(|(from, seen)| from > seen)
        };
        if !b.vectors.iter().any(|(vector, _)| is_new(vector)) {
            return None;
        }
        let dimension = "vectors";
        self.compared.push(dimension);
        let both =
            a.vectors.iter().filter_map(|(vector, was)| Some((vector, round4(b.vectors.get(vector)? - was) + 0.0)));
        let deltas: BTreeMap<Vector, f64> = both.filter(|(vector, _)| is_new(*vector)).collect();
        for (vector, delta) in &deltas {
            let better = if vector.less_is_better() { -delta } else { *delta };
            let way = if *delta < 0.0 { "fell" } else { "rose" };
            if better.abs() >= FELL {
                let turn = if better < 0.0 { ChangeKind::Lost } else { ChangeKind::Gained };
                self.add(dimension, turn, format!("{vector} {way} by {:.2}", delta.abs()), Vec::new());
            }
        }
        Some(deltas)
    }

    pub fn session(&mut self, a: &Operand, b: &Operand) {
        let dimension = "session";
        self.compared.push(dimension);
        if !self.same_session {
            let name = |side: &Operand| {
                side.session
                    .as_ref()
                    .map(|id| format!("{} of {}", id.short(), crate::text::shorten::short(&side.ai, 40)))
            };
            self.differ(dimension, "session", name(a), name(b));
            return;
        }
        let place = |side: &Operand| {
            let phase = side.phase?.name();
            Some(side.round.map_or_else(|| phase.to_owned(), |round| format!("{phase} {round}")))
        };
        self.differ(dimension, "phase", place(a), place(b));
        match (a.cycle, b.cycle) {
            (Some(was), is) if is.is_none_or(|is| is < was) && b.kind != "assessment" && b.kind != "handoff" => {
                self.add(
                    dimension,
                    ChangeKind::Lost,
                    "the cycle of the investigation was forgotten".to_owned(),
                    Vec::new(),
                );
            }
            (was, is) => self.differ(dimension, "cycle", was, is),
        }
        self.differ(dimension, "scope", a.scope, b.scope);
    }

    pub fn threads(&mut self, a: &Operand, b: &Operand) {
        let (Some(was), Some(is)) = (&a.threads, &b.threads) else { return };
        let dimension = "investigation";
        self.compared.push(dimension);
        if !self.same_session {
            return;
        }
        // a thread goes on: its end changes, not its beginning
        let begins = |thread: &str| thread.split(" → ").next().unwrap_or_default().to_owned();
        let has = |threads: &[String], thread: &str| threads.iter().any(|other| begins(other) == begins(thread));
        let gone: Vec<String> = was.iter().filter(|thread| !has(is, thread)).cloned().collect();
        if !gone.is_empty() && is.len() < was.len() {
            let words = ("thread of the inquiry", "threads of the inquiry");
            self.missing(dimension, words, gone.len() as u64, gone);
        }
        let new: Vec<String> = is.iter().filter(|thread| !was.contains(thread)).cloned().collect();
        if !new.is_empty() {
            let words = ("step of the inquiry", "steps of the inquiry");
            self.add(dimension, ChangeKind::Gained, format!("{} more", counted(new.len() as u64, words)), new);
        }
    }
}

/// So many of them.
pub(crate) fn counted(count: u64, (one, many): (&str, &str)) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

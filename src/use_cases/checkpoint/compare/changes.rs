//! The differences of two operands, by dimension.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::assessment::confidence::round4;
use crate::text::shorten::short;
use crate::use_cases::checkpoint::compare::operand::{JournalItems, Operand};
use crate::use_cases::checkpoint::snapshot::fold::STEPS;
use empirica_notes::model::snapshot::UncommittedChanges;
use empirica_notes::model::{Id, Vector};

/// Least change of a vector that counts as a loss or a gain.
const MOVED: f64 = 0.15;

/// Singular and plural of a noun.
pub(crate) type Noun = (&'static str, &'static str);

empirica_notes::named_enum! {
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
    /// Its dimension, as in `compared`.
    pub dimension: &'static str,
    #[serde(skip)]
    pub kind: ChangeKind,
    /// In words: `3 findings are missing`.
    pub what: String,
    /// The affected entries, as far as they are named.
    pub items: Vec<String>,
}

/// The history between two operands, from git and the records.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HistoryBetween {
    /// Commits that only the later operand's HEAD has; `None` if either HEAD is missing here.
    pub added: Option<u64>,
    /// Commits that only the earlier operand's HEAD has.
    pub gone: Option<u64>,
    /// Files changed by the later operand's commits, and existing files that git ignores; `None` if unknown, which
    /// reports no file as reverted.
    pub committed: Option<BTreeSet<String>>,
    /// Whether the operands have different work trees, whose uncommitted changes are not compared.
    pub elsewhere: bool,
    /// Goals done or dropped by any session.
    pub closed: BTreeSet<Id>,
    /// Open goals of the later operand's session.
    pub held: BTreeSet<Id>,
}

/// Collects differences.
#[derive(Default)]
pub(crate) struct Changes {
    pub same_session: bool,
    pub list: Vec<Change>,
    /// Dimensions known to both operands.
    pub compared: Vec<&'static str>,
}

impl Changes {
    pub fn add(&mut self, dimension: &'static str, kind: ChangeKind, what: impl Into<String>, items: Vec<String>) {
        self.list.push(Change { dimension, kind, what: what.into(), items });
    }

    /// Adds a loss of `count` entries, if any.
    pub fn missing(&mut self, dimension: &'static str, noun: Noun, count: u64, items: Vec<String>) {
        if count > 0 {
            let verb = if count == 1 { "is" } else { "are" };
            self.add(dimension, ChangeKind::Lost, format!("{} {verb} missing", counted(count, noun)), items);
        }
    }

    /// Adds a gain of `count` entries, if any.
    pub fn more(&mut self, dimension: &'static str, noun: Noun, count: u64, items: Vec<String>) {
        if count > 0 {
            self.add(dimension, ChangeKind::Gained, format!("{} more", counted(count, noun)), items);
        }
    }

    /// Compares a number of entries, which should not fall.
    pub fn number(&mut self, dimension: &'static str, noun: Noun, was: Option<u64>, is: Option<u64>) {
        let (Some(was), Some(is)) = (was, is) else { return };
        self.compared.push(dimension);
        self.missing(dimension, noun, was.saturating_sub(is), Vec::new());
        self.more(dimension, noun, is.saturating_sub(was), Vec::new());
    }

    /// Compares a value whose change is neither a loss nor a gain.
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

    /// Compares journal entries. CommitComparison sessions, only entries of the project can be missing, and complete lists of both
    /// only differ.
    pub fn journal(&mut self, noun: Noun, a: &JournalItems, b: &JournalItems, exists: &dyn Fn(&Id) -> bool) {
        let dimension = "breadcrumbs";
        self.compared.push(dimension);
        let only = |a: &JournalItems, b: &JournalItems| -> Vec<String> {
            let ids: BTreeSet<&Id> = b.listed.iter().filter_map(|(id, _)| id.as_ref()).collect();
            let texts: BTreeSet<&String> = b.listed.iter().map(|(_, text)| text).collect();
            let named = |id: &Option<Id>, text| id.as_ref().is_some_and(|id| ids.contains(id)) || texts.contains(text);
            a.listed.iter().filter(|(id, text)| !named(id, text)).map(|(_, text)| text.clone()).collect()
        };
        if a.whole && b.whole {
            let (gone, new) = (only(a, b), only(b, a));
            if self.same_session {
                self.missing(dimension, noun, gone.len() as u64, gone);
            } else if !gone.is_empty() {
                let what = format!("{} only in the first", counted(gone.len() as u64, noun));
                self.add(dimension, ChangeKind::Changed, what, gone);
            }
            self.more(dimension, noun, new.len() as u64, new);
            return;
        }
        let fall = |was: Option<u64>, is: Option<u64>| Some(i128::from(was?) - i128::from(is?));
        let in_session = fall(a.session, b.session).filter(|_| self.same_session);
        let in_all = fall(a.total, b.total);
        // an entry that is stored nowhere is missing, whatever the numbers
        let vanished = a.listed.iter().filter(|(id, _)| id.as_ref().is_some_and(|id| !exists(id)));
        let vanished: Vec<String> = vanished.map(|(_, text)| text.clone()).collect();
        let fallen = in_session.into_iter().chain(in_all).max().unwrap_or(0);
        let missing = fallen.max(vanished.len() as i128);
        if missing > 0 {
            let mut items = vanished;
            items.extend(only(a, b).into_iter().take((missing as usize).saturating_sub(items.len())));
            items.dedup();
            self.missing(dimension, noun, missing as u64, items);
        } else if let Some(more @ 1..) = in_all.or(in_session).map(|fall| -fall) {
            self.more(dimension, noun, more as u64, only(b, a));
        }
    }

    pub fn git(&mut self, a: &Operand, b: &Operand, history: &HistoryBetween) {
        let dimension = "git_state";
        match (history.gone, history.added) {
            (Some(gone), Some(added)) => {
                self.compared.push(dimension);
                if gone > 0 {
                    let what = match gone {
                        1 => "1 commit is no longer in HEAD's history".to_owned(),
                        many => format!("{many} commits are no longer in HEAD's history"),
                    };
                    self.add(dimension, ChangeKind::Lost, what, Vec::new());
                }
                self.more(dimension, ("commit", "commits"), added, Vec::new());
            }
            _ => self.differ(dimension, "HEAD", a.commit.as_ref(), b.commit.as_ref()),
        }
        let (Some(was), Some(is)) = (&a.git, &b.git) else { return };
        self.compared.push(dimension);
        self.differ(dimension, "branch", was.branch.as_ref(), is.branch.as_ref());
        if history.elsewhere {
            return;
        }
        let (before, after) = (&was.uncommitted_changes, &is.uncommitted_changes);
        // git may name a new folder instead of its files
        let like = |one: &str, other: &str| {
            one == other
                || (one.ends_with('/') && other.starts_with(one))
                || (other.ends_with('/') && one.starts_with(other))
        };
        let has = |paths: &[String], path: &str| paths.iter().any(|other| like(path, other));
        let committed =
            |path: &str| history.committed.as_ref().is_none_or(|all| all.iter().any(|other| like(path, other)));
        let (saved, mut reverted): (Vec<String>, Vec<String>) =
            before.paths.iter().filter(|path| !has(&after.paths, path)).cloned().partition(|path| committed(path));
        // without new files: unstaging them lowers their number, as git then names their folder
        let count = |c: &UncommittedChanges| c.files_modified.saturating_add(c.files_deleted);
        let unnamed = before.paths_omitted > 0 || after.paths_omitted > 0;
        let same_head = (history.gone, history.added) == (Some(0), Some(0));
        if after.paths_omitted > 0 {
            // they may be among the omitted paths
            reverted.clear();
        }
        let fallen = count(before).saturating_sub(count(after)) * u64::from(same_head && unnamed);
        let gone = fallen.max(reverted.len() as u64);
        // committed files no longer count uncommitted lines
        let fell = (before.insertions.checked_sub(after.insertions)).zip(before.deletions.checked_sub(after.deletions));
        let lost = fell.filter(|fell| gone > 0 && saved.is_empty() && !unnamed && *fell != (0, 0));
        if gone > 0 {
            let lines = match lost {
                Some((added, 0)) => format!(" ({})", counted(added, ("uncommitted line", "uncommitted lines"))),
                Some((added, removed)) => format!(" (uncommitted lines: +{added} −{removed})"),
                None => String::new(),
            };
            let what = format!("{} went back{lines}", counted(gone, ("file", "files")));
            self.add(dimension, ChangeKind::Lost, what, reverted);
        }
        let new: Vec<String> = after.paths.iter().filter(|path| !has(&before.paths, path)).cloned().collect();
        if !new.is_empty() && before.paths_omitted == 0 {
            let what = format!("{} more changed", counted(new.len() as u64, ("file", "files")));
            self.add(dimension, ChangeKind::Gained, what, new);
        }
        let lines = |c: &UncommittedChanges| format!("+{} −{}", c.insertions, c.deletions);
        if lost.is_none() {
            self.differ(dimension, "uncommitted lines", Some(lines(before)), Some(lines(after)));
        }
    }

    pub fn reasoning(&mut self, a: &Operand, b: &Operand) {
        if a.kind == "handoff" && b.kind == "handoff" {
            self.compared.push("reasoning");
            if a.context != b.context {
                self.add("reasoning", ChangeKind::Changed, "task, context or next steps are different", Vec::new());
            }
        }
        if a.reasoning.is_empty() && b.reasoning.is_empty() {
            return;
        }
        let dimension = "reasoning";
        self.compared.push(dimension);
        // snapshots may shorten either
        let like = |one: &str, other: &str| {
            let (one, other) = (one.trim_end_matches('…').trim_end(), other.trim_end_matches('…').trim_end());
            one.starts_with(other) || other.starts_with(one)
        };
        let has = |operand: &Operand, text: &str| operand.reasoning.iter().any(|other| like(text, other));
        let forgotten = a.reasoning.last().filter(|latest| !has(b, latest));
        // a full trajectory has dropped its first steps
        let is_cut = b.reasoning.len() >= STEPS;
        if let Some(latest) = forgotten.filter(|_| !is_cut) {
            let what = if b.reasoning.is_empty() { "the reasoning was forgotten" } else { "the reasoning broke off" };
            let kind = if self.same_session || b.reasoning.is_empty() { ChangeKind::Lost } else { ChangeKind::Changed };
            self.add(dimension, kind, what, vec![latest.clone()]);
        }
        let new: Vec<String> = b.reasoning.iter().filter(|text| !has(a, text)).cloned().collect();
        self.more(dimension, ("step of reasoning", "steps of reasoning"), new.len() as u64, new);
    }

    pub fn vectors(&mut self, a: &Operand, b: &Operand) -> Option<BTreeMap<Vector, f64>> {
        if a.vectors.is_empty() || b.vectors.is_empty() {
            return None;
        }
        // only an assessment newer than the earlier operand's says anything about the time between
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
            let verb = if *delta < 0.0 { "fell" } else { "rose" };
            if better.abs() >= MOVED {
                let kind = if better < 0.0 { ChangeKind::Lost } else { ChangeKind::Gained };
                self.add(dimension, kind, format!("{vector} {verb} by {:.2}", delta.abs()), Vec::new());
            }
        }
        Some(deltas)
    }

    pub fn session(&mut self, a: &Operand, b: &Operand) {
        let dimension = "session";
        self.compared.push(dimension);
        if !self.same_session {
            let name = |operand: &Operand| {
                operand.session.as_ref().map(|id| format!("{} of {}", id.short(), short(&operand.ai, 40)))
            };
            self.differ(dimension, "session", name(a), name(b));
            return;
        }
        let place = |operand: &Operand| {
            let phase = operand.phase?.name();
            Some(operand.round.map_or_else(|| phase.to_owned(), |round| format!("{phase} {round}")))
        };
        self.differ(dimension, "phase", place(a), place(b));
        match (a.cycle, b.cycle) {
            (Some(was), is) if is.is_none_or(|is| is < was) && b.kind != "assessment" && b.kind != "handoff" => {
                self.add(dimension, ChangeKind::Lost, "the cycle of the investigation was forgotten", Vec::new());
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
        // a continued thread changes at its end, not at its beginning
        fn begins(thread: &str) -> &str {
            thread.split(" → ").next().unwrap_or_default()
        }
        let (known, begun): (BTreeSet<&String>, BTreeSet<&str>) =
            (was.iter().collect(), is.iter().map(|thread| begins(thread)).collect());
        let gone: Vec<String> = was.iter().filter(|thread| !begun.contains(begins(thread))).cloned().collect();
        if is.len() < was.len() {
            self.missing(dimension, ("thread of the inquiry", "threads of the inquiry"), gone.len() as u64, gone);
        }
        let new: Vec<String> = is.iter().filter(|thread| !known.contains(thread)).cloned().collect();
        self.more(dimension, ("step of the inquiry", "steps of the inquiry"), new.len() as u64, new);
    }
}

/// A number with its noun.
pub(crate) fn counted(count: u64, (one, many): Noun) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

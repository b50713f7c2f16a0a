//! Two sides compared in all dimensions: what was lost, what was gained, what is different, and a sentence to act on.

use std::collections::BTreeSet;

use super::confidence::round4;
use super::side::{Known, Side};
use crate::model::{Id, Vector};

/// What happened to something from one side to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Turn {
    Lost,
    Gained,
    Changed,
}

impl Turn {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Turn::Lost => "lost",
            Turn::Gained => "gained",
            Turn::Changed => "changed",
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// One of [`DIMENSIONS`].
    pub dimension: &'static str,
    /// What happened.
    pub turn: Turn,
    /// In words: "3 findings are missing".
    pub what: String,
    /// What it is about, as far as it is named.
    pub items: Vec<String>,
}

/// The dimensions that are compared, in the order they are told (the seed's).
pub const DIMENSIONS: [&str; 9] = [
    "breadcrumbs",
    "git_state",
    "goals",
    "reasoning",
    "vectors",
    "session",
    "investigation",
    "reference_docs",
    "project",
];
/// From this fall on a vector is told of in the sentence.
const FELL: f64 = 0.15;

/// What lies between two sides, as git and the records know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Way {
    /// Commits that only the later side's HEAD has; `None` when one of both is not here.
    pub added: Option<u64>,
    /// Commits that only the earlier side's HEAD has.
    pub gone: Option<u64>,
    /// Files that were committed in between, on either side, and those that are still there though git no longer names
    /// them; `None` when it is not known, and no file is said to have gone back.
    pub committed: Option<BTreeSet<String>>,
    /// Whether the sides saw different work trees: what is not committed is not compared.
    pub elsewhere: bool,
    /// Goals that are done or dropped by now, whoever did it.
    pub closed: BTreeSet<Id>,
    /// Goals that the later side's session has.
    pub held: BTreeSet<Id>,
}

/// What the comparison came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The sentence.
    pub summary: String,
    /// Every difference, dimension by dimension, losses first.
    pub changes: Vec<Change>,
    /// The dimensions both sides know.
    pub compared: Vec<&'static str>,
    /// Later value − earlier value of the vectors given on both sides, 4 decimals; `None` when the later side has no
    /// assessment of its own, or one of both has none.
    pub vector_deltas: Option<Vec<(Vector, f64)>>,
}

impl Comparison {
    /// The differences of a turn.
    pub fn of(&self, turn: Turn) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.turn == turn)
    }
}

/// Compares an earlier side with a later one. `exists` says whether a record is stored here.
pub fn compare(a: &Side, b: &Side, way: &Way, exists: &dyn Fn(&Id) -> bool) -> Comparison {
    let mut all = Changes { same_session: a.session.is_some() && a.session == b.session, ..Changes::default() };
    for (words, a, b) in [
        (("finding", "findings"), &a.findings, &b.findings),
        (("question", "questions"), &a.unknowns, &b.unknowns),
        (("dead end", "dead ends"), &a.dead_ends, &b.dead_ends),
        (("mistake", "mistakes"), &a.mistakes, &b.mistakes),
        (("decision", "decisions"), &a.decisions, &b.decisions),
    ] {
        if let (Some(a), Some(b)) = (a, b) {
            all.known(words, a, b, exists);
        }
    }
    all.number("breadcrumbs", ("answer", "answers"), a.resolved, b.resolved);
    all.git(a, b, way);
    all.goals(a, b, way, exists);
    all.reasoning(a, b);
    let vector_deltas = all.vectors(a, b);
    all.session(a, b);
    all.threads(a, b);
    if all.same_session {
        all.number("reference_docs", ("consulted document", "consulted documents"), a.documents, b.documents);
    }
    all.number("project", ("handoff", "handoffs"), a.handoffs, b.handoffs);
    all.number("project", ("session", "sessions"), a.sessions, b.sessions);
    all.number("project", ("agent", "agents"), a.agents, b.agents);
    all.differ("project", "active sessions", a.active, b.active);
    let order = |change: &Change| DIMENSIONS.iter().position(|dimension| *dimension == change.dimension);
    all.list.sort_by_key(|change| (change.turn as u8, order(change)));
    // what is stored already is never assessed anew
    let is_waiting = b.is_present && vector_deltas.is_none() && !a.vectors.is_empty() && !b.vectors.is_empty();
    Comparison {
        summary: summary(&all.list, is_waiting),
        compared: DIMENSIONS.into_iter().filter(|dimension| all.compared.contains(dimension)).collect(),
        changes: all.list,
        vector_deltas,
    }
}

/// The sentence a person acts on: what was lost, else what was gained.
fn summary(changes: &[Change], is_waiting: bool) -> String {
    let told = |turn: Turn| -> Vec<&str> {
        changes.iter().filter(|change| change.turn == turn).map(|change| change.what.as_str()).collect()
    };
    let (lost, gained, changed) = (told(Turn::Lost), told(Turn::Gained), told(Turn::Changed));
    let mut text = match (lost.as_slice(), gained.as_slice(), changed.as_slice()) {
        ([], [], []) => "nothing changed".to_owned(),
        ([], [], changed) => format!("nothing was lost; {}", changed.join(", ")),
        ([], gained, _) => format!("nothing was lost; {}", gained.join(", ")),
        (lost, ..) => lost.join(", "),
    };
    if is_waiting {
        text.push_str("; the vectors are compared at the next assessment");
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The differences as they are found.
#[derive(Default)]
struct Changes {
    same_session: bool,
    list: Vec<Change>,
    compared: Vec<&'static str>,
}

impl Changes {
    fn add(&mut self, dimension: &'static str, turn: Turn, what: String, items: Vec<String>) {
        self.list.push(Change { dimension, turn, what, items });
    }

    /// So many are missing.
    fn missing(&mut self, dimension: &'static str, words: (&str, &str), count: u64, items: Vec<String>) {
        let verb = if count == 1 { "is" } else { "are" };
        self.add(dimension, Turn::Lost, format!("{} {verb} missing", counted(count, words)), items);
    }

    /// A number that should not fall.
    fn number(&mut self, dimension: &'static str, words: (&str, &str), was: Option<u64>, is: Option<u64>) {
        let (Some(was), Some(is)) = (was, is) else { return };
        self.compared.push(dimension);
        if is < was {
            self.missing(dimension, words, was - is, Vec::new());
        } else if is > was {
            self.add(dimension, Turn::Gained, format!("{} more", counted(is - was, words)), Vec::new());
        }
    }

    /// Something that is neither lost nor gained.
    fn differ<T: PartialEq + std::fmt::Display>(
        &mut self,
        dimension: &'static str,
        what: &str,
        was: Option<T>,
        is: Option<T>,
    ) {
        if let (Some(was), Some(is)) = (was, is)
            && was != is
        {
            self.add(dimension, Turn::Changed, format!("{what}: {was} → {is}"), Vec::new());
        }
    }

    /// Things that were said. Between sessions only what the project has can be missing, and what both name whole is
    /// told apart.
    fn known(&mut self, words: (&str, &str), a: &Known, b: &Known, exists: &dyn Fn(&Id) -> bool) {
        let dimension = "breadcrumbs";
        self.compared.push(dimension);
        let only = |a: &Known, b: &Known| -> Vec<String> {
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
                    self.add(dimension, Turn::Changed, what, gone);
                }
            }
            if !new.is_empty() {
                self.add(dimension, Turn::Gained, format!("{} more", counted(new.len() as u64, words)), new);
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
            self.add(dimension, Turn::Gained, format!("{} more", counted(more as u64, words)), only(b, a));
        }
    }

    fn git(&mut self, a: &Side, b: &Side, way: &Way) {
        let dimension = "git_state";
        match (way.gone, way.added) {
            (Some(gone), Some(added)) => {
                self.compared.push(dimension);
                if gone > 0 {
                    let what = match gone {
                        1 => "1 commit is no longer in HEAD's history".to_owned(),
                        many => format!("{many} commits are no longer in HEAD's history"),
                    };
                    self.add(dimension, Turn::Lost, what, Vec::new());
                }
                if added > 0 {
                    let what = format!("{} more", counted(added, ("commit", "commits")));
                    self.add(dimension, Turn::Gained, what, Vec::new());
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
        let back = before.paths.iter().filter(|path| !has(&after.paths, path) && !committed(path));
        let mut back: Vec<String> = back.cloned().collect();
        // of new files, git may name the folder: their number falls when they are no longer staged
        let count = |c: &crate::model::snapshot::Uncommitted| c.files_modified.saturating_add(c.files_deleted);
        let unnamed = before.paths_omitted > 0 || after.paths_omitted > 0;
        let still = (way.gone, way.added) == (Some(0), Some(0));
        if after.paths_omitted > 0 {
            // those that are not named may be among the others
            back.clear();
        }
        let fallen = count(before).saturating_sub(count(after)) * u64::from(still && unnamed);
        let gone = fallen.max(back.len() as u64);
        if gone > 0 {
            let what = if gone == 1 { "1 file went back".to_owned() } else { format!("{gone} files went back") };
            self.add(dimension, Turn::Lost, what, back);
        }
        let new: Vec<String> = after.paths.iter().filter(|path| !has(&before.paths, path)).cloned().collect();
        if !new.is_empty() && before.paths_omitted == 0 {
            let what = format!("{} more changed", counted(new.len() as u64, ("file", "files")));
            self.add(dimension, Turn::Gained, what, new);
        }
        let lines = |c: &crate::model::snapshot::Uncommitted| format!("+{} −{}", c.insertions, c.deletions);
        self.differ(dimension, "uncommitted lines", Some(lines(before)), Some(lines(after)));
    }

    fn reasoning(&mut self, a: &Side, b: &Side) {
        if a.kind == "handoff" && b.kind == "handoff" {
            self.compared.push("reasoning");
            if a.context != b.context {
                let what = "task, context or next steps are different".to_owned();
                self.add("reasoning", Turn::Changed, what, Vec::new());
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
        let has = |side: &Side, text: &str| side.reasoning.iter().any(|other| like(text, other));
        let forgotten = a.reasoning.last().filter(|latest| !has(b, latest));
        // a long way keeps its last steps only
        let is_cut = b.reasoning.len() >= super::snapshot::STEPS;
        if let Some(latest) = forgotten.filter(|_| !is_cut) {
            let what = if b.reasoning.is_empty() { "the reasoning was forgotten" } else { "the reasoning broke off" };
            let turn = if self.same_session || b.reasoning.is_empty() { Turn::Lost } else { Turn::Changed };
            self.add(dimension, turn, what.to_owned(), vec![latest.clone()]);
        }
        let new: Vec<String> = b.reasoning.iter().filter(|text| !has(a, text)).cloned().collect();
        if !new.is_empty() {
            let what = format!("{} more", counted(new.len() as u64, ("step of reasoning", "steps of reasoning")));
            self.add(dimension, Turn::Gained, what, new);
        }
    }

    fn vectors(&mut self, a: &Side, b: &Side) -> Option<Vec<(Vector, f64)>> {
        if a.vectors.is_empty() || b.vectors.is_empty() {
            return None;
        }
        // an assessment that is no newer than the earlier side's tells nothing about the time between
        let seen = a.vectors_from.as_ref().or(a.id.as_ref());
        let taken = b.vectors_from.as_ref().zip(seen).is_some_and(|(from, seen)| from <= seen);
        if taken {
            return None;
        }
        let dimension = "vectors";
        self.compared.push(dimension);
        let both =
            a.vectors.iter().filter_map(|(vector, was)| Some((vector, round4(b.vectors.get(vector)? - was) + 0.0)));
        let deltas: Vec<(Vector, f64)> = both.collect();
        for (vector, delta) in &deltas {
            let better = if vector.less_is_better() { -delta } else { *delta };
            let way = if *delta < 0.0 { "fell" } else { "rose" };
            if better.abs() >= FELL {
                let turn = if better < 0.0 { Turn::Lost } else { Turn::Gained };
                self.add(dimension, turn, format!("{vector} {way} by {:.2}", delta.abs()), Vec::new());
            }
        }
        Some(deltas)
    }

    fn session(&mut self, a: &Side, b: &Side) {
        let dimension = "session";
        self.compared.push(dimension);
        if !self.same_session {
            let name = |side: &Side| {
                side.session.as_ref().map(|id| format!("{} of {}", id.short(), super::short::short(&side.ai, 40)))
            };
            self.differ(dimension, "session", name(a), name(b));
            return;
        }
        let place = |side: &Side| {
            let phase = side.phase?.name();
            Some(side.round.map_or_else(|| phase.to_owned(), |round| format!("{phase} {round}")))
        };
        self.differ(dimension, "phase", place(a), place(b));
        match (a.cycle, b.cycle) {
            (Some(was), is) if is.is_none_or(|is| is < was) && b.kind != "assessment" && b.kind != "handoff" => {
                self.add(dimension, Turn::Lost, "the cycle of the investigation was forgotten".to_owned(), Vec::new());
            }
            (was, is) => self.differ(dimension, "cycle", was, is),
        }
        self.differ(dimension, "scope", a.scope, b.scope);
    }

    fn threads(&mut self, a: &Side, b: &Side) {
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
            self.add(dimension, Turn::Gained, format!("{} more", counted(new.len() as u64, words)), new);
        }
    }
}

fn counted(count: u64, (one, many): (&str, &str)) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

mod goals;
#[cfg(test)]
mod tests;

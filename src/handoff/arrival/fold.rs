//! What became of a handoff since it was written: the findings of others folded into one report.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use empirica_notes::model::{Body, Handoff, Id, Record};

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    Same,
    /// Its content is another.
    Changed,
    /// It is no longer there.
    Missing,
    /// What it was, or what it is, is not known.
    Unjudged,
}

/// An open question of the handoff that has been answered since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ResolvedUnknown")]
pub struct AnsweredQuestion {
    /// The unknown.
    pub id: Id,
    /// What was asked.
    pub question: String,
    /// The newest answer.
    pub answer: String,
    /// Who gave it.
    pub ai_id: String,
}

/// A check that passed, before files it vouches for became others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StaleEvidence")]
pub struct StaleCheck {
    /// The command line.
    pub command: String,
    /// The files that changed or are missing.
    pub files: Vec<String>,
}

/// What became of the commit a handoff is at home on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitState {
    /// How many commits HEAD has that this one has not; `None` when either is not known.
    pub commits_since: Option<usize>,
    /// Whether it is HEAD or an ancestor; `None` when that cannot be known.
    pub reachable: Option<bool>,
    /// Whether it is in this clone; `None` for a handoff that is on no commit.
    pub here: Option<bool>,
}

/// What became of a handoff since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Arrival {
    /// How many commits HEAD has and the handoff's commit has not; null when either is not here, and when the history of a shallow
    /// clone ends before.
    pub commits_since: Option<usize>,
    /// Whether that commit is HEAD or in its history; null for a handoff on no commit, and when the history of a shallow clone ends
    /// before.
    pub reachable: Option<bool>,
    /// Artifacts with another content; null when none of several could be judged.
    pub changed_artifacts: Option<Vec<String>>,
    /// Artifacts that are gone; null when none of several could be judged.
    pub missing_artifacts: Option<Vec<String>>,
    /// How many artifacts could not be judged.
    pub unjudged_artifacts: usize,
    /// Questions of the handoff that are answered now.
    pub resolved_unknowns: Vec<AnsweredQuestion>,
    /// Passed evidence of which files, else artifacts, changed or are missing; null when none of its files could be judged.
    pub stale_evidence: Option<Vec<StaleCheck>>,
    /// Whether its commit is in this clone; `None` for a handoff that is on no commit.
    #[serde(skip)]
    pub here: Option<bool>,
}

/// The report. `judge` says what became of a file that the handoff names, by that name; each is asked once.
pub fn arrival<'a>(
    handoff: &Handoff,
    records: impl IntoIterator<Item = &'a Record>,
    commit: CommitState,
    mut judge: impl FnMut(&str) -> FileState,
) -> Arrival {
    let mut known: BTreeMap<&str, FileState> = BTreeMap::new();
    let passed = || handoff.evidence.iter().filter(|proof| proof.exit == 0);
    for file in handoff.artifacts.iter().chain(passed().flat_map(|proof| &proof.files)) {
        known.entry(file).or_insert_with(|| judge(file));
    }
    let is = |file: &String, verdicts: &[FileState]| known.get(file.as_str()).is_some_and(|v| verdicts.contains(v));
    let which = |files: &[String], verdicts: &[FileState]| -> Vec<String> {
        let mut seen = BTreeSet::new();
        files.iter().filter(|file| is(file, verdicts) && seen.insert(*file)).cloned().collect()
    };
    let judged = |files: &[String]| files.iter().any(|file| !is(file, &[FileState::Unjudged]));
    // without files of its own, a check vouches for all that was made
    let vouched = |proof: &'_ empirica_notes::model::handoff::HandoffEvidence| match proof.files.is_empty() {
        true => handoff.artifacts.clone(),
        false => proof.files.clone(),
    };
    let is_known = handoff.artifacts.is_empty() || judged(&handoff.artifacts);
    let stale = passed().map(|proof| StaleCheck {
        command: proof.command.clone(),
        files: which(&vouched(proof), &[FileState::Changed, FileState::Missing]),
    });
    let stale_known = passed().next().is_none() || passed().any(|proof| judged(&vouched(proof)));
    Arrival {
        commits_since: commit.commits_since,
        reachable: commit.reachable,
        changed_artifacts: is_known.then(|| which(&handoff.artifacts, &[FileState::Changed])),
        missing_artifacts: is_known.then(|| which(&handoff.artifacts, &[FileState::Missing])),
        unjudged_artifacts: which(&handoff.artifacts, &[FileState::Unjudged]).len(),
        resolved_unknowns: resolved(handoff, records),
        stale_evidence: stale_known.then(|| stale.filter(|stale| !stale.files.is_empty()).collect()),
        here: commit.here,
    }
}

/// The questions of the handoff that any of the records, in order of id, answers: the newest answer of each.
fn resolved<'a>(handoff: &Handoff, records: impl IntoIterator<Item = &'a Record>) -> Vec<AnsweredQuestion> {
    let asked: BTreeSet<&Id> = handoff.unknowns.iter().filter_map(|item| item.id.as_ref()).collect();
    let mut answers: BTreeMap<&Id, (&String, &String)> = BTreeMap::new();
    for record in records {
        if let Body::Resolve(resolve) = &record.body
            && asked.contains(&resolve.of)
        {
            answers.insert(&resolve.of, (&resolve.text, &record.head.ai));
        }
    }
    let answered = handoff.unknowns.iter().filter_map(|item| {
        let id = item.id.as_ref()?;
        let (answer, ai) = answers.get(id)?;
        let (answer, ai_id) = ((*answer).clone(), (*ai).clone());
        Some(AnsweredQuestion { id: id.clone(), question: item.text.clone(), answer, ai_id })
    });
    answered.collect()
}

/// The handoff as the next session needs it: without the questions that were answered since.
pub fn remaining(handoff: &Handoff, arrival: &Arrival) -> Handoff {
    let mut out = handoff.clone();
    out.unknowns.retain(|item| arrival.resolved_unknowns.iter().all(|resolved| item.id.as_ref() != Some(&resolved.id)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::handoff::{HandoffEvidence, Item};

    fn handoff(artifacts: &[&str], evidence: &[(&str, i32, &[&str])]) -> Handoff {
        let strings = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let proof = |(command, exit, files): &(&str, i32, &[&str])| HandoffEvidence {
            command: (*command).to_owned(),
            exit: *exit,
            files: strings(files),
            runs: 1,
        };
        Handoff { artifacts: strings(artifacts), evidence: evidence.iter().map(proof).collect(), ..Default::default() }
    }

    fn judged(handoff: &Handoff) -> Arrival {
        arrival(handoff, [], CommitState::default(), |file| match file.chars().next() {
            Some('c') => FileState::Changed,
            Some('m') => FileState::Missing,
            Some('s') => FileState::Same,
            _ => FileState::Unjudged,
        })
    }

    #[test]
    fn files_are_sorted_by_verdict_and_what_is_not_known_is_null() {
        let out = judged(&handoff(&["c1", "m1", "s1", "u1", "c2"], &[]));
        assert_eq!(out.changed_artifacts, Some(vec!["c1".to_owned(), "c2".to_owned()]));
        assert_eq!(out.missing_artifacts, Some(vec!["m1".to_owned()]));
        assert_eq!(out.unjudged_artifacts, 1);
        let out = judged(&handoff(&["u1", "u2"], &[]));
        assert_eq!((out.changed_artifacts, out.missing_artifacts, out.unjudged_artifacts), (None, None, 2));
        let out = judged(&handoff(&[], &[]));
        assert_eq!((out.changed_artifacts, out.stale_evidence), (Some(Vec::new()), Some(Vec::new())));
    }

    #[test]
    fn evidence_vouches_for_its_files_or_else_for_all_artifacts() {
        let stale = |files: &[&str], exit: i32, artifacts: &[&str]| {
            let out = judged(&handoff(artifacts, &[("t", exit, files)]));
            out.stale_evidence.map(|list| list.into_iter().flat_map(|stale| stale.files).collect::<Vec<_>>())
        };
        assert_eq!(stale(&["s1", "m1"], 0, &["c1"]), Some(vec!["m1".to_owned()]));
        assert_eq!(stale(&[], 0, &["s1", "c1"]), Some(vec!["c1".to_owned()]));
        assert_eq!(stale(&["s1"], 0, &["c1"]), Some(Vec::new()));
        assert_eq!(stale(&["c1"], 1, &["c1"]), Some(Vec::new()), "what failed vouches for nothing");
        assert_eq!(stale(&["u1"], 0, &["c1"]), None);
        assert_eq!(stale(&[], 0, &[]), None);
    }

    #[test]
    fn an_answered_question_leaves_the_unknowns() {
        let id = |n: u32| Id::parse(&format!("019ab000-0000-7000-8000-00000000000{n}")).unwrap();
        let item = |n: u32| Item { id: Some(id(n)), text: format!("q{n}") };
        let mut handoff = handoff(&[], &[]);
        handoff.unknowns = vec![item(1), item(2)];
        let mut out = judged(&handoff);
        assert_eq!(remaining(&handoff, &out), handoff);
        let resolved = |n| AnsweredQuestion { id: id(n), question: "q".into(), answer: "a".into(), ai_id: "b".into() };
        out.resolved_unknowns = vec![resolved(1)];
        assert_eq!(remaining(&handoff, &out).unknowns, [item(2)]);
    }
}

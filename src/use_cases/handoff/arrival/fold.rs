//! The changes since a handoff was written, folded into one report.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::anchors::ClaimChange;
use crate::render::format;
use empirica_notes::model::handoff::HandoffEvidence;
use empirica_notes::model::journal::anchor::AnchorState;
use empirica_notes::model::{Body, Handoff, Id, Record};

/// The state of a file since the handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// Against its content then: in the handoff's commit, or as recorded.
    pub state: AnchorState,
    /// The file it was renamed to.
    pub now: Option<String>,
}

impl From<AnchorState> for FileState {
    fn from(state: AnchorState) -> Self {
        FileState { state, now: None }
    }
}

/// A file that was renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MovedFile {
    /// Its path in the handoff.
    pub path: String,
    /// Its present path.
    pub now: String,
}

/// An open question of the handoff, answered since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ResolvedUnknown")]
pub struct AnsweredQuestion {
    /// The unknown.
    pub id: Id,
    /// The question.
    pub question: String,
    /// The newest answer.
    pub answer: String,
    /// Its agent.
    pub ai_id: String,
}

/// A claim of the handoff that was retracted since, and is no longer in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RetractedClaim {
    /// The claim.
    pub id: Id,
    /// The agent that retracted it last.
    pub ai_id: String,
    /// Why, if it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A check that passed before the files it covers changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "StaleEvidence")]
pub struct StaleCheck {
    /// The command line.
    pub command: String,
    /// The files that changed or are gone.
    pub files: Vec<String>,
}

/// The state of a handoff's commit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct CommitState {
    /// How many commits of HEAD the handoff's commit lacks; null if either is not in this clone, or beyond the end of a shallow
    /// history.
    pub commits_since: Option<usize>,
    /// Whether that commit is HEAD or in its history; null for a handoff without a commit, and beyond the end of a shallow history.
    pub reachable: Option<bool>,
    /// Whether it is in this clone; `None` for a handoff without a commit.
    #[serde(skip)]
    pub exists: Option<bool>,
}

/// The changes since a handoff.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Arrival {
    #[serde(flatten)]
    pub commit: CommitState,
    /// Artifacts with different content; null if none could be compared.
    pub changed_artifacts: Option<Vec<String>>,
    /// Artifacts with the same content in another file, to which they were renamed; null if none could be compared.
    pub moved_artifacts: Option<Vec<MovedFile>>,
    /// Artifacts that no longer exist; null if none could be compared.
    pub missing_artifacts: Option<Vec<String>>,
    /// How many artifacts could not be compared.
    pub unjudged_artifacts: usize,
    /// Questions of the handoff answered since.
    pub resolved_unknowns: Vec<AnsweredQuestion>,
    /// Passed evidence whose files, or without files the artifacts, changed or are gone; null if none of them could be compared.
    pub stale_evidence: Option<Vec<StaleCheck>>,
    /// Claims of the handoff whose code moved, changed, is gone or cannot be compared.
    pub claims: Vec<ClaimChange>,
    /// Claims of the handoff that were retracted since; they are not in it.
    pub retracted_claims: Vec<RetractedClaim>,
}

/// The report. Calls `judge` once for each file that the handoff names.
pub fn arrival<'a>(
    handoff: &Handoff,
    records: impl IntoIterator<Item = &'a Record>,
    commit: CommitState,
    (claims, retracted_claims): (Vec<ClaimChange>, Vec<RetractedClaim>),
    mut judge: impl FnMut(&str) -> FileState,
) -> Arrival {
    let mut states: BTreeMap<&str, FileState> = BTreeMap::new();
    let passed = || handoff.evidence.iter().filter(|proof| proof.exit == 0);
    for file in handoff.artifacts.iter().chain(passed().flat_map(|proof| &proof.files)) {
        states.entry(file).or_insert_with(|| judge(file));
    }
    let is = |file: &String, among: &[AnchorState]| {
        states.get(file.as_str()).is_some_and(|file| among.contains(&file.state))
    };
    let which = |files: &[String], among: &[AnchorState]| -> Vec<String> {
        let mut seen = BTreeSet::new();
        files.iter().filter(|file| is(file, among) && seen.insert(*file)).cloned().collect()
    };
    let judged = |files: &[String]| files.iter().any(|file| !is(file, &[AnchorState::Unknown]));
    // a check without files covers all artifacts
    let covered = |proof: &HandoffEvidence| match proof.files.is_empty() {
        true => handoff.artifacts.clone(),
        false => proof.files.clone(),
    };
    let is_known = handoff.artifacts.is_empty() || judged(&handoff.artifacts);
    let stale = passed().map(|proof| StaleCheck {
        command: proof.command.clone(),
        files: which(&covered(proof), &[AnchorState::Changed, AnchorState::Gone]),
    });
    let stale_known = passed().next().is_none() || passed().any(|proof| judged(&covered(proof)));
    Arrival {
        commit,
        changed_artifacts: is_known.then(|| which(&handoff.artifacts, &[AnchorState::Changed])),
        moved_artifacts: is_known.then(|| {
            let moved = which(&handoff.artifacts, &[AnchorState::Moved]).into_iter();
            let now = |path: &String| states.get(path.as_str()).and_then(|file| file.now.clone());
            moved.filter_map(|path| Some(MovedFile { now: now(&path)?, path })).collect()
        }),
        missing_artifacts: is_known.then(|| which(&handoff.artifacts, &[AnchorState::Gone])),
        unjudged_artifacts: which(&handoff.artifacts, &[AnchorState::Unknown]).len(),
        resolved_unknowns: resolved(handoff, records),
        stale_evidence: stale_known.then(|| stale.filter(|stale| !stale.files.is_empty()).collect()),
        claims,
        retracted_claims,
    }
}

/// The questions of the handoff with their newest answers in the records, which are in order of ID.
fn resolved<'a>(handoff: &Handoff, records: impl IntoIterator<Item = &'a Record>) -> Vec<AnsweredQuestion> {
    let questions: BTreeSet<&Id> = handoff.unknowns.iter().filter_map(|item| item.id.as_ref()).collect();
    let mut answers: BTreeMap<&Id, (&String, &String)> = BTreeMap::new();
    for record in records {
        if let Body::Resolve(resolve) = &record.body
            && questions.contains(&resolve.of)
        {
            answers.insert(&resolve.of, (&resolve.text, &record.envelope.ai));
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

/// The handoff without the questions answered since; behind the text of each claim whose code is not as it was, or that disagrees
/// with others, what is said of it.
pub fn remaining(handoff: &Handoff, arrival: &Arrival) -> Handoff {
    let mut out = handoff.clone();
    out.unknowns.retain(|item| arrival.resolved_unknowns.iter().all(|resolved| item.id.as_ref() != Some(&resolved.id)));
    out.mark_claims(|id, text| format::mark(&arrival.claims, Some(id), text));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::claims::anchors::{Place, Spot};
    use empirica_notes::model::handoff::Item;
    use empirica_notes::model::journal::anchor::Anchor;

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
        arrival(handoff, [], CommitState::default(), Default::default(), |file| {
            let now = file.strip_prefix('m').map(|name| format!("n{name}"));
            let state = match file.chars().next() {
                Some('c') => AnchorState::Changed,
                Some('g') => AnchorState::Gone,
                Some('s') => AnchorState::Holds,
                Some('m') => AnchorState::Moved,
                _ => AnchorState::Unknown,
            };
            FileState { state, now }
        })
    }

    #[test]
    fn files_are_listed_by_state_and_unknown_ones_are_null() {
        let out = judged(&handoff(&["c1", "g1", "s1", "u1", "c2", "m1"], &[]));
        assert_eq!(out.changed_artifacts, Some(vec!["c1".to_owned(), "c2".to_owned()]));
        assert_eq!(out.missing_artifacts, Some(vec!["g1".to_owned()]));
        assert_eq!(out.moved_artifacts, Some(vec![MovedFile { path: "m1".to_owned(), now: "n1".to_owned() }]));
        assert_eq!(out.unjudged_artifacts, 1);
        let out = judged(&handoff(&["u1", "u2"], &[]));
        assert_eq!((out.changed_artifacts, out.missing_artifacts, out.unjudged_artifacts), (None, None, 2));
        let out = judged(&handoff(&[], &[]));
        assert_eq!((out.changed_artifacts, out.stale_evidence), (Some(Vec::new()), Some(Vec::new())));
    }

    #[test]
    fn evidence_covers_its_files_or_all_artifacts() {
        let stale = |files: &[&str], exit: i32, artifacts: &[&str]| {
            let out = judged(&handoff(artifacts, &[("t", exit, files)]));
            out.stale_evidence.map(|list| list.into_iter().flat_map(|stale| stale.files).collect::<Vec<_>>())
        };
        assert_eq!(stale(&["s1", "m1", "g1"], 0, &["c1"]), Some(vec!["g1".to_owned()]));
        assert_eq!(stale(&[], 0, &["s1", "c1"]), Some(vec!["c1".to_owned()]));
        assert_eq!(stale(&["s1"], 0, &["c1"]), Some(Vec::new()));
        assert_eq!(stale(&["c1"], 1, &["c1"]), Some(Vec::new()), "a failure covers nothing");
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
        let spot = Spot { path: "a.rs".to_owned(), lines: Some((3, 3)) };
        let anchor = Anchor { path: spot.path.clone(), lines: spot.lines, blob: String::new(), hash: String::new() };
        let place = Place { anchor, spot, state: AnchorState::Changed, now: None };
        out.claims =
            vec![ClaimChange { id: id(2), text: "q2".into(), anchors: vec![place], disagrees_with: Vec::new() }];
        assert_eq!(remaining(&handoff, &out).unknowns[0].text, "q2 (a.rs:3 changed)");
    }
}

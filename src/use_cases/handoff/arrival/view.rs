//! Views of the changes since a handoff: packed in `resume`, whole in `show`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::anchors::ClaimChange;
use crate::render::answer::Answer;
use crate::render::budget::{OutputForm, Shortening, shorten};
use crate::render::{format, safe};
use crate::use_cases::handoff::arrival::fold::{AnsweredQuestion, Arrival, MovedFile, RetractedClaim, StaleCheck};
use crate::use_cases::handoff::pack::Detail;
use empirica_notes::error::{empirica, quote};

/// Changes since a handoff, as in `show`: at most 3, 5 or 10 entries a list by `--detail`, fewer if the budget is short. When shortened,
/// values without news are absent: empty lists, no unjudged artifacts, a reachable commit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PackedArrivalView {
    /// The commits that HEAD has and the handoff's commit has not; null when that is not known.
    commits_since: Option<usize>,
    /// Whether that commit is HEAD or in its history; null when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    reachable: Option<Option<bool>>,
    /// The artifacts with another content; null when none could be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_artifacts: Option<Option<Vec<String>>>,
    /// The artifacts that were renamed, with the same content; null when none could be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_artifacts: Option<Option<Vec<MovedFile>>>,
    /// The artifacts that are gone; null when none could be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_artifacts: Option<Option<Vec<String>>>,
    /// How many could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    unjudged_artifacts: Option<usize>,
    /// The questions that were answered since; they are not among `remaining_unknowns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_unknowns: Option<Vec<AnsweredQuestion>>,
    /// The passed evidence whose files changed or are gone; null when none could be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_evidence: Option<Option<Vec<StaleCheck>>>,
    /// The claims of the handoff whose code moved, changed, is gone or cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<Vec<ClaimChange>>,
    /// The claims that were retracted since; they are not in the lists. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    retracted_claims: Option<Vec<RetractedClaim>>,
}

#[derive(Debug)]
pub struct PackedArrival {
    pub view: PackedArrivalView,
    /// Empty if there is nothing to show.
    pub text: String,
    /// Omitted entries by key, without zeros.
    pub omitted: Vec<(&'static str, usize)>,
    /// Whether a text was cut.
    pub shortened: bool,
}

/// Most entries of a list, and most tokens of a text.
fn limits(detail: Detail, how: Shortening) -> (usize, usize) {
    match (how, detail) {
        (Shortening::Nothing | Shortening::Brief, Detail::Summary) => (3, 60),
        (Shortening::Nothing | Shortening::Brief, Detail::Detailed) => (5, 60),
        (Shortening::Nothing | Shortening::Brief, Detail::Full) => (10, 60),
        (Shortening::Texts(_), _) => (2, 24),
        (Shortening::Musts(_, later), _) if later > 12 => (1, 16),
        (Shortening::Musts(..), _) => (0, 0),
    }
}

/// Packs an arrival. The JSON lacks lists without remaining entries; if shortened, also values without news: empty lists, no unjudged
/// artifacts, a reachable commit.
pub fn packed(arrival: &Arrival, detail: Detail, how: Shortening, form: OutputForm) -> PackedArrival {
    let (most, longest) = limits(detail, how);
    let mut kept = arrival.clone();
    let mut files_left_out = 0;
    if form == OutputForm::Json {
        for check in kept.stale_evidence.iter_mut().flat_map(|checks| checks.iter_mut().take(most)) {
            files_left_out += check.files.len().saturating_sub(most);
            check.files.truncate(most);
        }
    }
    let mut shortened = false;
    let mut cut = |text: &mut String| shortened |= shorten(text, longest);
    let mut omitted = Vec::new();
    for (key, files) in
        [("changed_artifacts", &mut kept.changed_artifacts), ("missing_artifacts", &mut kept.missing_artifacts)]
    {
        let files = files.as_mut();
        omitted.push((key, files.map_or(0, |files| reduce(files, most, |file| cut(file)))));
    }
    let moved = kept.moved_artifacts.as_mut();
    let moved = moved
        .map_or(0, |files| reduce(files, most, |file| [&mut file.path, &mut file.now].into_iter().for_each(&mut cut)));
    omitted.push(("moved_artifacts", moved));
    // lost ones first: the sort is stable
    kept.claims.sort_by_key(|claim| !claim.is_lost());
    let claims = reduce(&mut kept.claims, most, |claim| {
        cut(&mut claim.text);
        claim.anchors.truncate(most.max(1));
        claim.disagrees_with.truncate(most.max(1));
    });
    omitted.push(("claims", claims));
    let retracted = reduce(&mut kept.retracted_claims, most, |claim| {
        std::iter::once(&mut claim.ai_id).chain(&mut claim.why).for_each(&mut cut);
    });
    omitted.push(("retracted_claims", retracted));
    let answered = reduce(&mut kept.resolved_unknowns, most, |answered| {
        // an id is of use only whole
        [&mut answered.question, &mut answered.answer, &mut answered.ai_id].into_iter().for_each(&mut cut);
    });
    let stale = kept.stale_evidence.as_mut().map_or(0, |checks| {
        reduce(checks, most, |check| std::iter::once(&mut check.command).chain(&mut check.files).for_each(&mut cut))
    });
    omitted.extend([("resolved_unknowns", answered), ("stale_evidence", stale + files_left_out)]);
    omitted.retain(|(_, more)| *more > 0);
    let text = text(&kept, arrival);
    let is_shortening = how != Shortening::Nothing;
    let only_filled = |key: &str| is_shortening || omitted.iter().any(|(omitted, _)| *omitted == key);
    let view = PackedArrivalView {
        commits_since: kept.commit.commits_since,
        reachable: Some(kept.commit.reachable).filter(|reachable| !is_shortening || *reachable != Some(true)),
        changed_artifacts: present(kept.changed_artifacts, only_filled("changed_artifacts")),
        moved_artifacts: present(kept.moved_artifacts, only_filled("moved_artifacts")),
        missing_artifacts: present(kept.missing_artifacts, only_filled("missing_artifacts")),
        unjudged_artifacts: Some(kept.unjudged_artifacts).filter(|unjudged| !is_shortening || *unjudged > 0),
        resolved_unknowns: present(Some(kept.resolved_unknowns), only_filled("resolved_unknowns")).flatten(),
        stale_evidence: present(kept.stale_evidence, only_filled("stale_evidence")),
        claims: present(Some(kept.claims), only_filled("claims")).flatten(),
        retracted_claims: present(Some(kept.retracted_claims), true).flatten(),
    };
    PackedArrival { view, text, omitted, shortened }
}

/// Keeps the first `most` entries, with their texts cut by `cut`; returns how many others there were.
fn reduce<T>(list: &mut Vec<T>, most: usize, cut: impl FnMut(&mut T)) -> usize {
    let more = list.len().saturating_sub(most);
    list.truncate(most);
    list.iter_mut().for_each(cut);
    more
}

/// The list, null if it was not judged; absent if it is empty and `only_filled`.
fn present<T>(list: Option<Vec<T>>, only_filled: bool) -> Option<Option<Vec<T>>> {
    Some(list).filter(|list| !only_filled || list.as_ref().is_none_or(|list| !list.is_empty()))
}

/// A file name on one line, quoted for a shell if necessary.
fn name(file: &str) -> String {
    safe::words(&quote(&safe::line(file)))
}

fn moved_text(file: &MovedFile) -> String {
    format!("{} to {}", name(&file.path), name(&file.now))
}

/// A claim with what is said of it.
fn claim_text(claim: &ClaimChange) -> String {
    format!(
        "{} {} ({})",
        claim.id.short(),
        safe::words(&claim.text),
        safe::words(&format::about(&claim.anchors, &claim.disagrees_with))
    )
}

/// A claim with who retracted it, and why.
fn retracted_text(claim: &RetractedClaim) -> String {
    let why = claim.why.as_ref().map(|why| format!(": {}", safe::words(why))).unwrap_or_default();
    format!("{} ({}{why})", claim.id.short(), safe::words(&claim.ai_id))
}

/// The text of `kept`, the packed form of `arrival`.
fn text(kept: &Arrival, arrival: &Arrival) -> String {
    let listed = |all: usize, noun: &str, title: &str, none: &str, entries: Vec<String>| {
        let more = all - entries.len();
        match (all, entries.is_empty()) {
            (0, _) => None,
            (_, true) => Some(format!("{} {none}", format::count(all, noun))),
            _ => {
                let more = if more > 0 { format!(" (+{more} more)") } else { String::new() };
                Some(format!("{title}: {}{more}", entries.join(", ")))
            }
        }
    };
    let files = |word: &str, all: &Option<Vec<String>>, kept: &Option<Vec<String>>| {
        let names = kept.iter().flatten().map(|file| name(file)).collect();
        listed(all.as_ref().map_or(0, Vec::len), "artifact", word, word, names)
    };
    let answered = kept.resolved_unknowns.iter().map(|AnsweredQuestion { question, answer, ai_id, .. }| {
        format!("{} → {} ({})", safe::words(question), safe::words(answer), safe::words(ai_id))
    });
    let stale = kept.stale_evidence.iter().flatten().map(|check| safe::words(&check.command)).collect();
    let all_stale = arrival.stale_evidence.as_ref().map_or(0, Vec::len);
    let moved = kept.moved_artifacts.iter().flatten().map(moved_text).collect();
    let outdated = kept.claims.iter().filter(|claim| claim.is_lost()).map(claim_text).collect();
    let all_lost = arrival.claims.iter().filter(|claim| claim.is_lost()).count();
    let retracted = kept.retracted_claims.iter().map(retracted_text).collect();
    let lists = [
        listed(arrival.retracted_claims.len(), "claim", "retracted", "retracted", retracted),
        listed(all_lost, "claim", "may no longer hold", "may no longer hold", outdated),
        files("changed", &arrival.changed_artifacts, &kept.changed_artifacts),
        listed(arrival.moved_artifacts.as_ref().map_or(0, Vec::len), "artifact", "moved", "moved", moved),
        files("gone", &arrival.missing_artifacts, &kept.missing_artifacts),
        listed(arrival.resolved_unknowns.len(), "unknown", "answered", "answered", answered.collect()),
        listed(all_stale, "check", "evidence older than the code", "older than the code", stale),
        unjudged(arrival),
    ];
    let mut parts: Vec<String> = lists.into_iter().flatten().collect();
    let is_at_head = arrival.commit.commits_since == Some(0) && arrival.commit.reachable == Some(true);
    let is_unchanged = parts.is_empty() && is_at_head;
    if let Some(commits) = commits(arrival)
        && !is_unchanged
    {
        parts.insert(0, commits);
    }
    let changes = match (is_unchanged, parts.is_empty()) {
        (true, _) => Some("Nothing changed since.".to_owned()),
        (_, true) => None,
        _ => Some(format!("Since then: {}.", parts.join("; "))),
    };
    changes.into_iter().chain(lost(arrival)).collect::<Vec<_>>().join("\n")
}

fn unjudged(arrival: &Arrival) -> Option<String> {
    let number = arrival.unjudged_artifacts;
    (number > 0).then(|| format!("{} not compared", format::count(number, "artifact")))
}

/// The commits since, in words; `None` if unknown.
fn commits(arrival: &Arrival) -> Option<String> {
    let count = arrival.commit.commits_since?;
    Some(match (count, arrival.commit.reachable) {
        (0, _) => "no commit".to_owned(),
        (_, Some(true)) => format::count(count, "commit"),
        _ => format!("HEAD has {}", format::count(count, "other commit")),
    })
}

/// The place of a commit outside HEAD's history, with a remedy.
fn lost(arrival: &Arrival) -> Option<String> {
    let doctor = empirica("doctor");
    Some(match (arrival.commit.reachable, arrival.commit.exists?) {
        (Some(true), _) => return None,
        (Some(false), true) => format!("Its commit is not in HEAD's history; if that was rewritten: {doctor}"),
        (Some(false), false) => format!("Its commit is not in this clone; fetch it, or: {doctor}"),
        (None, true) => "History is cut off before its commit: git fetch --unshallow".to_owned(),
        (None, false) => "Its commit is not in this shallow clone: git fetch --unshallow".to_owned(),
    })
}

/// A handoff's arrival.
#[derive(Serialize, JsonSchema)]
pub struct ArrivalView<'a> {
    /// The changes since.
    arrival: &'a Arrival,
}

/// Adds an arrival to the answer of `show`: under `arrival`, and `in_text` as the last section of the Markdown.
pub fn added(answer: Answer, arrival: &Arrival, in_text: bool) -> Answer {
    let mut answer = answer.with(ArrivalView { arrival });
    if in_text {
        answer.text = format!("{}\n{}", answer.text, section(arrival));
    }
    answer
}

fn section(arrival: &Arrival) -> String {
    let mut lines: Vec<String> = commits(arrival).into_iter().collect();
    let named = |title: &str, files: &Option<Vec<String>>| -> Vec<String> {
        files.iter().flatten().map(|file| format!("{title}: {}", name(file))).collect()
    };
    lines.extend(named("changed", &arrival.changed_artifacts));
    let moved = arrival.moved_artifacts.iter().flatten();
    lines.extend(moved.map(|file| format!("moved: {}", moved_text(file))));
    lines.extend(named("gone", &arrival.missing_artifacts));
    let title = |claim: &ClaimChange| if claim.is_lost() { "may no longer hold" } else { "claim" };
    lines.extend(arrival.claims.iter().map(|claim| format!("{}: {}", title(claim), claim_text(claim))));
    lines.extend(arrival.retracted_claims.iter().map(|claim| format!("retracted: {}", retracted_text(claim))));
    let answered = arrival.resolved_unknowns.iter();
    lines.extend(answered.map(|r| safe::item_of(format!("answered: {} → {} ({})", r.question, r.answer, r.ai_id))));
    let stale = arrival.stale_evidence.iter().flatten();
    lines.extend(stale.map(|stale| {
        let files: Vec<String> = stale.files.iter().map(|file| name(file)).collect();
        format!("evidence older than the code: {} ({})", safe::words(&stale.command), files.join(", "))
    }));
    lines.extend(unjudged(arrival));
    lines.extend(lost(arrival));
    if lines == ["no commit"] {
        lines = vec!["nothing changed".to_owned()];
    }
    if lines.is_empty() {
        lines.push("nothing is known".to_owned());
    }
    format!("## Since Then\n\n- {}\n", lines.join("\n- "))
}

//! Packs a handoff into a budget of tokens: lists by importance, with the omitted entries counted.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::render::budget::{BudgetEntry, BudgetList, brief, entry, list, must, plain};
use crate::render::{format, safe};
use crate::use_cases::handoff::build::next_steps;
use crate::use_cases::handoff::managed;
use crate::use_cases::handoff::view::{accomplished, delta_map, settled, tools};
use empirica_notes::model::goal::{GoalState, GoalStatus};
use empirica_notes::model::handoff::{Assessed, Gap, HandoffEvidence, Item};
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake};
use empirica_notes::model::{Handoff, Phase, Vectors, decision_text};

empirica_notes::named_enum! {
    #[derive(PartialOrd, Ord)]
    pub enum Detail {
        /// The key points, at most 400 tokens a session.
        Summary = "summary",
        /// With tools and artifacts, at most 800.
        Detailed = "detailed",
        /// With all assessments, at most 1,250.
        Full = "full",
    }
}

impl Detail {
    /// Most tokens of a session.
    pub fn budget(self) -> usize {
        match self {
            Detail::Summary => 400,
            Detail::Detailed => 800,
            Detail::Full => 1250,
        }
    }
}

/// Rank of derived entries: they are dropped before the agent's own, and later entries of a list before earlier ones.
const DERIVED: usize = 1000;
const DERIVED_LISTS: [&str; 4] = ["epistemic_deltas", "accomplished", "knowledge_gaps_filled", "artifacts_created"];
const MEASURED_LISTS: [&str; 2] = ["investigation_tools", "assessments"];

fn ranked(mut lists: Vec<BudgetList>) -> Vec<BudgetList> {
    for (order, list) in lists.iter_mut().enumerate() {
        let base = match list.key {
            key if MEASURED_LISTS.contains(&key) => 2 * DERIVED,
            key if DERIVED_LISTS.contains(&key) => DERIVED,
            _ => 0,
        };
        for (at, entry) in list.entries.iter_mut().enumerate() {
            let base = if entry.by_rule { DERIVED } else { base };
            entry.rank += base + at * 20 + order;
        }
    }
    lists
}

/// The derived next steps. A summary with steps of the agent has none: its evidence lists the failures.
fn by_rule(handoff: &Handoff, detail: Detail) -> Vec<String> {
    match detail {
        Detail::Summary if !handoff.next_steps.is_empty() => Vec::new(),
        _ => next_steps::steps(handoff),
    }
}

/// The lists of a handoff, those that matter most first.
pub fn lists(handoff: &Handoff, detail: Detail) -> Vec<BudgetList> {
    let own = handoff.next_steps.iter().map(|text| must(plain(text)));
    let by_rule = by_rule(handoff, detail);
    let next = own.chain(by_rule.iter().map(|text| BudgetEntry { by_rule: true, ..plain(text) })).collect();
    let proof = |proof: &HandoffEvidence| {
        let whole = entry(proof_text(proof), json!(proof));
        let mut shown = brief(whole, json!({"command": proof.command, "exit": proof.exit}));
        shown.must = proof.exit != 0;
        shown
    };
    let goal = |goal: &GoalState| {
        let shown = entry(goal_text(goal), goal_json(goal));
        let mut shown = brief(shown, json!(PackedGoal::Brief { text: &goal.text, status: goal.status }));
        // suggested goals rank as derived
        shown.rank = if goal.vector.is_some() { DERIVED } else { 0 };
        shown
    };
    let deltas = |text| entry(text, Value::Object(delta_map(&handoff.trajectory)));
    let gap = |(gap, text): (&Gap, String)| entry(safe::item_of(text), json!(gap));
    let fields = managed::view::lines(handoff);
    let mut out = vec![
        list("next_steps", "Next steps", next),
        list(
            "remaining_unknowns",
            "Remaining unknowns",
            handoff.unknowns.iter().map(|u| must(entry(unknown_text(u), json!(u.text)))).collect(),
        ),
        list("evidence", "Evidence", proofs(handoff).into_iter().map(proof).collect()),
        list("key_findings", "Learned", handoff.findings.iter().map(|f| plain(&f.text)).collect()),
        list(
            "dead_ends",
            "Dead ends",
            handoff.dead_ends.iter().map(|d| entry(dead_end_text(d), without_id(d))).collect(),
        ),
        list("decisions", "Decisions", handoff.decisions.iter().map(|d| entry(decided(d), without_id(d))).collect()),
        list("mistakes", "Mistakes", handoff.mistakes.iter().map(|m| entry(mistake_text(m), without_id(m))).collect()),
        list("goals", "Goals", goals(handoff).into_iter().map(goal).collect()),
        list(
            "next_session_context",
            "Context",
            Some(&handoff.context).filter(|c| !c.is_empty()).map(|c| plain(c)).into_iter().collect(),
        ),
        list("epistemic_deltas", "Deltas", delta_text(handoff).map(deltas).into_iter().collect()),
        list("accomplished", "Accomplished", accomplished(handoff).iter().map(|t| plain(t)).collect()),
        list("knowledge_gaps_filled", "Gaps filled", gaps(handoff).map(gap).collect()),
    ];
    if !fields.is_empty() {
        out.insert(0, list("handed_over", "Handed over", fields.iter().map(|text| must(plain(text))).collect()));
    }
    if detail >= Detail::Detailed {
        out.push(list("artifacts_created", "Artifacts", handoff.artifacts.iter().map(|t| plain(t)).collect()));
        out.push(list("investigation_tools", "Tools", tools(handoff).iter().map(|t| plain(t)).collect()));
    }
    if detail >= Detail::Full {
        out.push(list("assessments", "Assessments", assessment_entries(handoff)));
    }
    ranked(out)
}

/// Calls `visit` with each text of [`lists`] for [`Detail::Summary`] and the title of its list, without building the lists. Omits
/// accomplishments.
pub fn each_text<'h>(handoff: &'h Handoff, visit: &mut dyn FnMut(&'static str, Cow<'h, str>)) {
    let mut list = |title, texts: &mut dyn Iterator<Item = Cow<'h, str>>| texts.for_each(|text| visit(title, text));
    let item = |text: &'h String| safe::item(text);
    let fields = managed::view::lines(handoff);
    list("Handed over", &mut fields.iter().map(|text| Cow::Owned(safe::item(text).into_owned())));
    list("Next steps", &mut handoff.next_steps.iter().map(item));
    list(
        "Next steps",
        &mut by_rule(handoff, Detail::Summary).iter().map(|step| Cow::Owned(safe::item(step).into_owned())),
    );
    list("Remaining unknowns", &mut handoff.unknowns.iter().map(unknown_text).map(Cow::Owned));
    list("Evidence", &mut proofs(handoff).into_iter().map(proof_text).map(Cow::Owned));
    list("Learned", &mut handoff.findings.iter().map(|finding| safe::item(&finding.text)));
    list("Dead ends", &mut handoff.dead_ends.iter().map(dead_end_text).map(Cow::Owned));
    list("Decisions", &mut handoff.decisions.iter().map(decided).map(Cow::Owned));
    list("Mistakes", &mut handoff.mistakes.iter().map(mistake_text).map(Cow::Owned));
    list("Goals", &mut goals(handoff).into_iter().map(goal_text).map(Cow::Owned));
    list("Context", &mut Some(&handoff.context).filter(|context| !context.is_empty()).map(item).into_iter());
    list("Deltas", &mut delta_text(handoff).map(Cow::Owned).into_iter());
    list("Gaps filled", &mut gaps(handoff).map(|(_, text)| Cow::Owned(safe::item_of(text))));
}

/// The evidence, failures first.
fn proofs(handoff: &Handoff) -> Vec<&HandoffEvidence> {
    let mut proofs: Vec<&HandoffEvidence> = handoff.evidence.iter().collect();
    proofs.sort_by_key(|proof| proof.exit == 0);
    proofs
}

fn proof_text(proof: &HandoffEvidence) -> String {
    let outcome = if proof.exit == 0 { "passed".to_owned() } else { format!("FAILED (exit {})", proof.exit) };
    format!("{outcome}: {}", safe::item(&proof.command))
}

fn goals(handoff: &Handoff) -> Vec<&GoalState> {
    let mut goals: Vec<&GoalState> = handoff.goals.iter().filter(|goal| !goal.is_idle_suggestion()).collect();
    goals.sort_by_key(|goal| (goal.vector.is_some(), goal.status != GoalStatus::Open, goal.priority));
    goals
}

fn goal_text(goal: &GoalState) -> String {
    let progress = goal.progress().map(|p| format!(", {p}")).unwrap_or_default();
    let evidence = goal.evidence.as_ref().map(|e| format!(" — {}", safe::item(e))).unwrap_or_default();
    format!("{}: {}{progress}{evidence}", goal.status.name(), safe::item(&goal.text))
}

fn decided(decision: &Decision) -> String {
    safe::item_of(decision_text(&decision.text, &decision.why, &decision.alternatives))
}

fn dead_end_text(dead: &DeadEnd) -> String {
    safe::item_of(format!("{} — {}", dead.approach, dead.why))
}

fn mistake_text(mistake: &Mistake) -> String {
    let prevention = mistake.prevention.as_ref().map(|p| format!(" — prevention: {p}")).unwrap_or_default();
    safe::item_of(format!("{}{prevention}", mistake.text))
}

/// An unknown with its ID, the argument of `resolve`.
fn unknown_text(unknown: &Item) -> String {
    let id = unknown.id.as_ref().map(|id| format!("{} ", id.short())).unwrap_or_default();
    format!("{id}{}", safe::item(&unknown.text))
}

fn delta_text(handoff: &Handoff) -> Option<String> {
    Some(format::deltas(&handoff.trajectory)).filter(|text| !text.is_empty())
}

/// The filled gaps, without those listed as findings.
fn gaps(handoff: &Handoff) -> impl Iterator<Item = (&Gap, String)> {
    let is_finding = |text: &str| handoff.findings.iter().any(|finding| finding.text == text);
    settled(handoff).filter(move |(gap, _)| !is_finding(&gap.after))
}

/// A goal, or its texts only.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum PackedGoal<'a> {
    Whole(Box<GoalState>),
    Brief { text: &'a str, status: GoalStatus },
}

/// An assessment, or its values only.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum PackedAssessment<'a> {
    Whole(&'a Assessed),
    Brief { phase: Phase, round: u32, vectors: &'a Vectors },
}

/// A goal without the rationale of its suggestion.
fn goal_json(goal: &GoalState) -> Value {
    json!(PackedGoal::Whole(Box::new(GoalState { rationale: None, vector: None, ..goal.clone() })))
}

fn assessment_entries(handoff: &Handoff) -> Vec<BudgetEntry> {
    let shown = handoff.assessments.iter().map(|a| {
        let why = a.reasoning.as_ref().map(|r| format!(" — {}", safe::item(r))).unwrap_or_default();
        let text = format!("{} {}: {}{why}", a.phase.name(), a.round, format::vectors(&a.vectors));
        let values = PackedAssessment::Brief { phase: a.phase, round: a.round, vectors: &a.vectors };
        brief(entry(text, json!(PackedAssessment::Whole(a))), json!(values))
    });
    shown.collect()
}

/// Whether the list is derived or measured.
pub fn is_derived(list: &BudgetList) -> bool {
    DERIVED_LISTS.contains(&list.key) || MEASURED_LISTS.contains(&list.key)
}
/// A claim as JSON for a small budget.
fn without_id(claim: &impl Serialize) -> Value {
    let mut json = json!(claim);
    if let Value::Object(keys) = &mut json {
        keys.shift_remove("claim_id");
    }
    json
}

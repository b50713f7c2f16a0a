//! The lists of a project for `status --all`, each entry as text and as JSON, with their order of importance.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::context::claims::anchors;
use crate::render::budget::{BudgetEntry, BudgetList, OutputForm, brief, entry, list};
use crate::render::format::short_commit;
use crate::render::{budget, format, safe};
use crate::text::tokens;
use crate::use_cases::session::project_overview::memory::Memory;
use crate::use_cases::session::project_overview::overview::{
    AgentWork, DatedClaim, HandoffLine, LearnedItem, OpenGoal, OpenQuestion, Overview, PastDecision, PastMistake,
    RecentSession, never, status,
};
use empirica_notes::model::decision_text;
use empirica_notes::model::journal::DeadEnd;

/// The entries that each list gets in a round, most important list first; `true` if those of the first round are dropped last.
const ROUNDS: [(&str, usize, bool); 11] = [
    ("goals", 3, true),
    ("unknowns", 3, true),
    ("mistakes", 2, true),
    ("team", 3, false),
    ("findings", 4, false),
    ("dead_ends", 2, false),
    ("working_memory", 4, false),
    ("handoffs", 2, false),
    ("long_term_memory", 3, false),
    ("decisions", 1, false),
    ("active_sessions", 2, false),
];
/// The same for the start of a session.
const START_ROUNDS: [(&str, usize, bool); 6] = [
    ("next_steps", 4, false),
    ("unknowns", 3, false),
    ("dead_ends", 2, false),
    ("decisions", 2, false),
    ("mistakes", 1, false),
    ("findings", 2, false),
];
/// More than there are entries of one round.
const ROUND: usize = 100;

/// The lists in display order. Text shows nothing twice: decisions have a list of their own, and findings in memory are not
/// among the findings.
pub fn lists(overview: &Overview, memory: &Memory, form: OutputForm) -> Vec<BudgetList> {
    let is_elsewhere = |finding: &&DatedClaim<LearnedItem>| form == OutputForm::Text && memory.has(&finding.body.text);
    let findings = overview.findings.iter().filter(|finding| !is_elsewhere(finding));
    let mut lists = vec![
        list("working_memory", "Working memory", working(memory, form)),
        list("long_term_memory", "Long-term memory", long_term(memory)),
        list("active_sessions", "Active sessions", overview.active_sessions.iter().map(active).collect()),
        list("team", "Team", overview.team.iter().map(member).collect()),
        list("goals", "Goals", overview.goals.iter().map(goal).collect()),
        list("unknowns", "Unknowns", overview.unknowns.iter().map(unknown).collect()),
        list("findings", "Findings", findings.map(finding).collect()),
        list("dead_ends", "Dead ends", overview.dead_ends.iter().map(dead_end).collect()),
        list("mistakes", "Mistakes", overview.mistakes.iter().map(mistake).collect()),
        list("decisions", "Decisions", overview.decisions.iter().map(decision).collect()),
        list("handoffs", "Handoffs", overview.handoffs.iter().map(handoff).collect()),
    ];
    rank(&mut lists, &ROUNDS);
    lists
}

/// The lists for the start of a session: the next steps of the last handoff before the open goals, then what is open, failed,
/// decided, learned.
pub fn start(overview: &Overview, next_steps: Vec<String>) -> Vec<BudgetList> {
    let steps = next_steps.iter().map(|step| budget::plain(step)).chain(overview.goals.iter().map(goal)).collect();
    let mut lists = vec![
        list("next_steps", "Next steps", steps),
        list("unknowns", "Open questions", overview.unknowns.iter().map(unknown).collect()),
        list("dead_ends", "Dead ends", overview.dead_ends.iter().map(dead_end).collect()),
        list("decisions", "Decisions", overview.decisions.iter().map(decision).collect()),
        list("mistakes", "Mistakes", overview.mistakes.iter().map(mistake).collect()),
        list("findings", "Learned", overview.findings.iter().map(finding).collect()),
    ];
    for (list, kind) in lists.iter_mut().zip(["goal", "unknown", "dead_end", "decision", "mistake", "finding"]) {
        list.omitted = overview.unread.get(kind).copied().unwrap_or_default();
    }
    rank(&mut lists, &START_ROUNDS);
    lists
}

fn rank(lists: &mut [BudgetList], rounds: &[(&str, usize, bool)]) {
    for list in lists {
        let place = rounds.iter().position(|(key, ..)| *key == list.key).unwrap_or(rounds.len());
        let (share, stays) = rounds.get(place).map_or((1, false), |(_, share, stays)| (*share, *stays));
        for (at, entry) in list.entries.iter_mut().enumerate() {
            let round = at / share;
            entry.must = stays && round == 0;
            // within a round the first of each list comes before the second of any
            entry.rank = round * ROUND + (at % share) * rounds.len() + place;
        }
    }
}

/// Entries of a memory: the JSON key of the texts, their title in text.
fn remembered<'m>(
    key: &'static str,
    title: &'static str,
    texts: impl IntoIterator<Item = &'m String>,
) -> Vec<BudgetEntry> {
    let one = |text: &String| entry(format!("{title}: {}", safe::words(text)), json!({"key": key, "text": text}));
    texts.into_iter().map(one).collect()
}

fn working(memory: &Memory, form: OutputForm) -> Vec<BudgetEntry> {
    let decisions = memory.recent_decisions.iter().filter(|_| form == OutputForm::Json);
    [
        remembered("current_task", "task", &memory.current_task),
        remembered("known_constraints", "constraint", memory.of("constraint")),
        remembered("established_patterns", "pattern", memory.of("pattern")),
        remembered("quality_standards", "standard", memory.of("standard")),
        remembered("recent_decisions", "decided", decisions),
    ]
    .concat()
}

fn long_term(memory: &Memory) -> Vec<BudgetEntry> {
    [
        remembered("project_architecture", "architecture", memory.of("architecture")),
        remembered("technology_stack", "stack", memory.of("stack")),
        remembered("team_preferences", "preference", memory.of("preference")),
        remembered("successful_strategies", "worked", memory.of("strategy")),
        remembered("problematic_areas", "trouble", memory.of("trouble")),
    ]
    .concat()
}

/// The memory for the work at hand. Each list has the newest 10 texts, each once.
#[derive(Serialize, JsonSchema)]
pub struct WorkingMemoryView {
    /// The task of the requesting session, else of the active one seen last.
    current_task: Option<String>,
    /// The last 5 decisions, with their reasons.
    recent_decisions: Vec<String>,
    /// From resolutions and `finding --as pattern`.
    established_patterns: Vec<String>,
    /// From `finding --as constraint`.
    known_constraints: Vec<String>,
    /// From `finding --as standard`.
    quality_standards: Vec<String>,
}

/// The memory of the project. Several texts of one key are joined by `; `.
#[derive(Serialize, JsonSchema)]
pub struct LongTermMemoryView {
    /// From `finding --as architecture`.
    project_architecture: Option<String>,
    /// From `finding --as stack`.
    technology_stack: Option<String>,
    /// From `finding --as preference`.
    team_preferences: Option<String>,
    /// From `finding --as strategy`.
    successful_strategies: Vec<String>,
    /// From `finding --as trouble`.
    problematic_areas: Vec<String>,
}

/// The texts under a key of a memory list.
fn texts_of(list: &BudgetList, key: &str) -> Vec<String> {
    let same = list.entries.iter().filter(|entry| entry.json["key"] == key);
    same.filter_map(|entry| entry.json["text"].as_str().map(str::to_owned)).collect()
}

/// The same as one text.
fn text_of(list: &BudgetList, key: &str) -> Option<String> {
    Some(texts_of(list, key).join("; ")).filter(|text| !text.is_empty())
}

impl From<&BudgetList> for WorkingMemoryView {
    fn from(list: &BudgetList) -> Self {
        WorkingMemoryView {
            current_task: text_of(list, "current_task"),
            recent_decisions: texts_of(list, "recent_decisions"),
            established_patterns: texts_of(list, "established_patterns"),
            known_constraints: texts_of(list, "known_constraints"),
            quality_standards: texts_of(list, "quality_standards"),
        }
    }
}

impl From<&BudgetList> for LongTermMemoryView {
    fn from(list: &BudgetList) -> Self {
        LongTermMemoryView {
            project_architecture: text_of(list, "project_architecture"),
            technology_stack: text_of(list, "technology_stack"),
            team_preferences: text_of(list, "team_preferences"),
            successful_strategies: texts_of(list, "successful_strategies"),
            problematic_areas: texts_of(list, "problematic_areas"),
        }
    }
}

/// An entry of a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Entry")]
pub struct EntryView<T> {
    /// Of a shortened entry: the short form of the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    short_id: Option<String>,
    #[serde(flatten)]
    keys: T,
    /// Whether the requesting session logged it; of a shortened entry only where it is true.
    #[serde(skip_serializing_if = "never")]
    own: bool,
}

/// An entry with its whole JSON, and its brief JSON of these keys.
fn both(text: String, short_id: Option<&str>, keys: impl Serialize, brief_keys: &[&str], own: bool) -> BudgetEntry {
    let whole = json!(EntryView { short_id: None, keys, own });
    let mut short: Map<String, Value> = short_id.map(|id| ("short_id".to_owned(), json!(id))).into_iter().collect();
    let brief_keys = brief_keys.iter().copied().chain(own.then_some("own"));
    short.extend(brief_keys.map(|key| (key.to_owned(), whole[key].clone())));
    brief(entry(text, whole), Value::Object(short))
}

/// The most tokens of an agent's name in a text: a longer one would leave no room for the claim.
const NAME: usize = 12;

/// An agent's name, safe to show.
pub fn name(ai: &str) -> String {
    match tokens::truncate_to(ai, NAME) {
        (whole, false) => safe::words(whole),
        (part, true) => format!("{}…", safe::words(part)),
    }
}

fn agent(ai: &str, own: bool) -> String {
    format!("{}{}", if own { "own, " } else { "" }, name(ai))
}

/// The parts in parentheses; empty if there are none.
fn parenthesis(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn times(count: usize) -> Option<String> {
    (count > 1).then(|| format!("×{count}"))
}

fn confidence(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("confidence {value:.2}"))
}

fn on(commit: Option<&str>) -> Option<String> {
    short_commit(commit).map(|commit| format!("on {commit}"))
}

/// A claim: its id, agent and text, then details, which are cut first.
fn claim<T: Serialize>(
    claim: &DatedClaim<T>,
    text: &str,
    details: [Option<String>; 2],
    brief_keys: &[&str],
) -> BudgetEntry {
    let rivals = format::disagreement(&claim.disagrees_with);
    let end = claim.until.as_deref().map(|until| format::until(until, claim.ran_out));
    let places = anchors::listed(&claim.anchors).map(|places| safe::words(&places));
    let confirmed = claim.confirmed.as_ref().map(|by| format!("confirmed by {}", name(&by.ai_id)));
    let details = parenthesis([places, end, rivals, times(claim.count), confirmed].into_iter().chain(details));
    let author = if claim.own { "own".to_owned() } else { name(&claim.ai_id) };
    let signed = format::signed_by(claim.signed_by.as_ref()).map(|signed| format!(", {signed}")).unwrap_or_default();
    let text = format!("{} {author}{signed}: {}{details}", claim.id.short(), safe::words(text));
    both(text, Some(claim.id.short()), claim, brief_keys, claim.own)
}

fn active(active: &RecentSession) -> BudgetEntry {
    let (id, phase) = (active.session_id.short(), active.phase.zip(active.round));
    let text = format!(
        "{id} {}: {}{}",
        agent(&active.ai_id, active.own),
        task(active.task.as_deref()),
        parenthesis([
            Some(phase.map_or("no assessment".to_owned(), |(phase, round)| format!("{} {round}", phase.name()))),
            confidence(active.overall_confidence),
            active.worktree.as_ref().map(|worktree| format!("worktree {}", safe::words(worktree))),
            Some(format!("since {}", format::date(&active.started_at))),
            Some(format!("last seen {}", format::date(&active.last_seen))),
        ]),
    );
    both(text, Some(id), active, &["ai_id", "task"], active.own)
}

fn task(task: Option<&str>) -> String {
    task.map_or("no task named".to_owned(), safe::words)
}

fn member(member: &AgentWork) -> BudgetEntry {
    let next = member.next_step.as_ref().map(|next| format!("; next: {}", safe::words(next))).unwrap_or_default();
    let text = format!(
        "{}: {}{next}{}",
        agent(&member.ai_id, member.own),
        task(member.task.as_deref()),
        parenthesis([
            Some(format!("{} session {}", status(member.active), member.session_id.short())),
            Some(member.calibration_status.phrase()),
            confidence(member.overall_confidence),
            Some(format!("last seen {}", format::date(&member.last_seen))),
        ]),
    );
    both(text, None, member, &["ai_id", "task", "active", "calibration_status", "next_step"], member.own)
}

fn goal(goal: &OpenGoal) -> BudgetEntry {
    let holder = match (&goal.ai_id, goal.own) {
        (_, true) => ", own".to_owned(),
        (Some(ai), false) => format!(", {}", name(ai)),
        (None, false) => String::new(),
    };
    let session = goal.session_id.as_ref().zip(goal.session_status).filter(|_| !goal.own);
    let text = format!(
        "{} {}{holder}: {}{}",
        goal.id.short(),
        goal.priority.name(),
        safe::words(&goal.text),
        parenthesis([
            times(goal.count),
            goal.progress.clone(),
            session.map(|(id, status)| format!("{status} session {}", id.short())),
        ]),
    );
    both(text, Some(goal.id.short()), goal, &["text", "priority"], goal.own)
}

fn unknown(unknown: &DatedClaim<OpenQuestion>) -> BudgetEntry {
    claim(unknown, &unknown.body.text, [None, None], &["text"])
}

fn finding(finding: &DatedClaim<LearnedItem>) -> BudgetEntry {
    let body = &finding.body;
    let impact = body.impact.map(|impact| format!("impact {impact:.2}"));
    claim(finding, &body.text, [impact, on(body.commit.as_deref())], &["text"])
}

fn dead_end(dead_end: &DatedClaim<DeadEnd>) -> BudgetEntry {
    let DeadEnd { approach, why, .. } = &dead_end.body;
    claim(dead_end, &format!("{approach} — {why}"), [None, None], &["approach", "why"])
}

fn mistake(mistake: &DatedClaim<PastMistake>) -> BudgetEntry {
    let PastMistake { text, prevention } = &mistake.body;
    match prevention {
        Some(prevention) => {
            let text = format!("{text} — prevention: {prevention}");
            claim(mistake, &text, [None, None], &["text", "prevention"])
        }
        None => claim(mistake, text, [None, None], &["text"]),
    }
}

fn decision(decision: &DatedClaim<PastDecision>) -> BudgetEntry {
    let PastDecision { text, why, alternatives } = &decision.body;
    claim(decision, &decision_text(text, why, alternatives), [None, None], &["text", "why"])
}

fn handoff(handoff: &HandoffLine) -> BudgetEntry {
    let text = format!(
        "{} {}: {}{}",
        handoff.handoff_id.short(),
        agent(&handoff.ai_id, handoff.own),
        task(Some(handoff.task.as_str()).filter(|task| !task.is_empty())),
        parenthesis([
            Some(format::date(&handoff.timestamp)),
            on(handoff.commit.as_deref()),
            Some(handoff.calibration_status.phrase()),
        ]),
    );
    both(text, Some(handoff.handoff_id.short()), handoff, &["ai_id", "task"], handoff.own)
}

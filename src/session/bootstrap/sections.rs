//! The lists of a project for `bootstrap`, each entry as text and as JSON, with their order of importance.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::render::budget::{BudgetEntry, BudgetList, OutputForm, brief, entry, list};
use crate::render::format::short_commit;
use crate::render::{budget, format, safe};
use crate::session::bootstrap::memory::Memory;
use crate::session::bootstrap::overview::{
    AgentWork, DatedClaim, HandoffLine, LearnedItem, OpenGoal, Overview, RecentSession,
};
use crate::text::tokens;
use empirica_notes::model::goal::Priority;
use empirica_notes::model::handoff::Calibration;
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Unknown};
use empirica_notes::model::{Id, Phase, SessionId};

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
    let is_elsewhere = |learned: &&LearnedItem| {
        let Finding { text, memory: word, .. } = &learned.noted.body;
        form == OutputForm::Text && word.is_some() && memory.has(text)
    };
    let findings = overview.findings.iter().filter(|learned| !is_elsewhere(learned));
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

/// What bears on the work now. Each list has the newest 10 texts, each once.
#[derive(Serialize, JsonSchema)]
pub struct WorkingMemoryView {
    /// The task of the session that asks, else of the active one that was seen last.
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

/// What is true of the project for long. Several texts of one key are joined by `; `.
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

/// Marks a key that only whole entries have.
fn never<T>(_: &T) -> bool {
    false
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
    /// Whether the session that asks logged it; of a shortened entry only where it is true.
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

/// An entry of the journal.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}")]
pub struct NotedView<'a, T> {
    /// The record.
    #[serde(skip_serializing_if = "never")]
    id: &'a Id,
    /// Its agent.
    #[serde(skip_serializing_if = "never")]
    ai_id: &'a str,
    /// Its session.
    #[serde(skip_serializing_if = "never")]
    session_id: Option<&'a SessionId>,
    /// When.
    #[serde(skip_serializing_if = "never")]
    timestamp: &'a str,
    /// How many records say the same but for case and outer white space; this is the first.
    #[serde(skip_serializing_if = "never")]
    count: usize,
    #[serde(flatten)]
    keys: T,
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
fn claim<T>(
    noted: &DatedClaim<T>,
    text: &str,
    details: [Option<String>; 2],
    keys: impl Serialize,
    brief_keys: &[&str],
) -> BudgetEntry {
    let DatedClaim { head, own, count, .. } = noted;
    let details = parenthesis([times(*count)].into_iter().chain(details));
    let author = if *own { "own".to_owned() } else { name(&head.ai) };
    let text = format!("{} {author}: {}{details}", head.id.short(), safe::words(text));
    let view = NotedView {
        id: &head.id,
        ai_id: &head.ai,
        session_id: head.session.as_ref(),
        timestamp: &head.at,
        count: *count,
        keys,
    };
    both(text, Some(head.id.short()), view, brief_keys, *own)
}

/// A session that has not ended.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ActiveSession")]
pub struct ActiveView<'a> {
    /// The session.
    #[serde(skip_serializing_if = "never")]
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    /// What it set out to do.
    task: Option<&'a str>,
    /// Of its last assessment; so are the next two.
    #[serde(skip_serializing_if = "never")]
    phase: Option<Phase>,
    /// Which one of its phase, from 1.
    #[serde(skip_serializing_if = "never")]
    round: Option<u32>,
    /// From 0 to 1.
    #[serde(skip_serializing_if = "never")]
    overall_confidence: Option<f64>,
    /// When it began.
    #[serde(skip_serializing_if = "never")]
    started_at: &'a str,
    /// The worktree it began in.
    #[serde(skip_serializing_if = "never")]
    worktree: Option<&'a str>,
    /// When its last record was made.
    #[serde(skip_serializing_if = "never")]
    last_seen: &'a str,
}

fn active(active: &RecentSession) -> BudgetEntry {
    let session = &active.session;
    let phase = active.phase.map_or("no assessment".to_owned(), |(phase, round)| format!("{} {round}", phase.name()));
    let text = format!(
        "{} {}: {}{}",
        session.id.short(),
        agent(&session.ai, active.own),
        task(session.task.as_deref()),
        parenthesis([
            Some(phase),
            confidence(active.overall_confidence),
            session.worktree.as_ref().map(|worktree| format!("worktree {}", safe::words(worktree))),
            Some(format!("since {}", format::date(&session.started_at))),
            Some(format!("last seen {}", format::date(&active.last_seen))),
        ]),
    );
    let view = ActiveView {
        session_id: &session.id,
        ai_id: &session.ai,
        task: session.task.as_deref(),
        phase: active.phase.map(|(phase, _)| phase),
        round: active.phase.map(|(_, round)| round),
        overall_confidence: active.overall_confidence,
        started_at: &session.started_at,
        worktree: session.worktree.as_deref(),
        last_seen: &active.last_seen,
    };
    both(text, Some(session.id.short()), view, &["ai_id", "task"], active.own)
}

fn status(active: bool) -> &'static str {
    if active { "active" } else { "ended" }
}

fn task(task: Option<&str>) -> String {
    task.map_or("no task named".to_owned(), safe::words)
}

/// An agent, as its newest session shows it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TeamMember")]
pub struct MemberView<'a> {
    /// The agent.
    ai_id: &'a str,
    /// Its newest session.
    #[serde(skip_serializing_if = "never")]
    session_id: &'a SessionId,
    /// What that set out to do.
    task: Option<&'a str>,
    /// Whether that has not ended.
    active: bool,
    /// The self-assessment, of the first PREFLIGHT against a POSTFLIGHT that nothing followed.
    calibration_status: Calibration,
    /// Of its last assessment, from 0 to 1.
    #[serde(skip_serializing_if = "never")]
    overall_confidence: Option<f64>,
    /// The first next step of its handoff in force, else its first open goal.
    next_step: Option<&'a str>,
    /// When its last record was made.
    #[serde(skip_serializing_if = "never")]
    last_seen: &'a str,
}

fn member(member: &AgentWork) -> BudgetEntry {
    let session = &member.session;
    let next = member.next_step.as_ref().map(|next| format!("; next: {}", safe::words(next))).unwrap_or_default();
    let text = format!(
        "{}: {}{next}{}",
        agent(&session.ai, member.own),
        task(session.task.as_deref()),
        parenthesis([
            Some(format!("{} session {}", status(session.is_active()), session.id.short())),
            Some(member.calibration_status.phrase()),
            confidence(member.overall_confidence),
            Some(format!("last seen {}", format::date(&member.last_seen))),
        ]),
    );
    let view = MemberView {
        ai_id: &session.ai,
        session_id: &session.id,
        task: session.task.as_deref(),
        active: session.is_active(),
        calibration_status: member.calibration_status,
        overall_confidence: member.overall_confidence,
        next_step: member.next_step.as_deref(),
        last_seen: &member.last_seen,
    };
    both(text, None, view, &["ai_id", "task", "active", "calibration_status", "next_step"], member.own)
}

/// A goal that is open.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OpenGoal")]
pub struct GoalView<'a> {
    /// The goal.
    #[serde(skip_serializing_if = "never")]
    id: &'a Id,
    /// What is to be reached.
    text: &'a str,
    /// How urgent it is.
    priority: Priority,
    /// "2/4 subtasks"; null without subtasks.
    #[serde(skip_serializing_if = "never")]
    progress: Option<&'a str>,
    /// How one knows that it is reached.
    #[serde(skip_serializing_if = "never")]
    criteria: &'a [String],
    /// The session that has it now.
    #[serde(skip_serializing_if = "never")]
    session_id: Option<&'a SessionId>,
    /// The agent of that session.
    #[serde(skip_serializing_if = "never")]
    ai_id: Option<&'a str>,
    /// active or ended.
    #[serde(skip_serializing_if = "never")]
    session_status: Option<&'static str>,
    /// How many goals say the same but for case and outer white space; this is the first.
    #[serde(skip_serializing_if = "never")]
    count: usize,
}

fn goal(open: &OpenGoal) -> BudgetEntry {
    let goal = &open.goal;
    let progress = goal.progress();
    let whose = match (&open.ai, open.own) {
        (_, true) => ", own".to_owned(),
        (Some(ai), false) => format!(", {}", name(ai)),
        (None, false) => String::new(),
    };
    let of = open.session.as_ref().map(|id| format!("{} session {}", status(open.active), id.short()));
    let text = format!(
        "{} {}{whose}: {}{}",
        goal.id.short(),
        goal.priority.name(),
        safe::words(&goal.text),
        parenthesis([times(open.count), progress.clone(), of.filter(|_| !open.own)]),
    );
    let view = GoalView {
        id: &goal.id,
        text: &goal.text,
        priority: goal.priority,
        progress: progress.as_deref(),
        criteria: &goal.criteria,
        session_id: open.session.as_ref(),
        ai_id: open.ai.as_deref(),
        session_status: open.session.as_ref().map(|_| status(open.active)),
        count: open.count,
    };
    both(text, Some(goal.id.short()), view, &["text", "priority"], open.own)
}

/// The text of an entry.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OpenQuestion")]
pub struct TextView<'a> {
    /// Its text.
    text: &'a str,
}

fn unknown(noted: &DatedClaim<Unknown>) -> BudgetEntry {
    let text = &noted.body.text;
    claim(noted, text, [None, None], TextView { text }, &["text"])
}

/// What was learned.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub struct LearnedView<'a> {
    /// Its text.
    text: &'a str,
    /// How much it matters, from 0 to 1, as the agent gave it.
    #[serde(skip_serializing_if = "never")]
    impact: Option<f64>,
    /// The impact (0.5 when none was given) / (1 + newer / 50), with the number of newer findings, 4 decimals.
    #[serde(skip_serializing_if = "never")]
    importance: f64,
    /// HEAD when it was logged.
    #[serde(skip_serializing_if = "never")]
    commit: Option<&'a str>,
}

fn finding(learned: &LearnedItem) -> BudgetEntry {
    let (noted, body) = (&learned.noted, &learned.noted.body);
    let impact = body.impact.map(|impact| format!("impact {impact:.2}"));
    let commit = noted.head.commit.as_deref();
    let view = LearnedView { text: &body.text, impact: body.impact, importance: learned.importance, commit };
    claim(noted, &body.text, [impact, on(commit)], view, &["text"])
}

/// What was tried and failed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DeadEnd")]
pub struct FailedView<'a> {
    /// What was tried.
    approach: &'a str,
    /// Why it failed.
    why: &'a str,
}

fn dead_end(noted: &DatedClaim<DeadEnd>) -> BudgetEntry {
    let DeadEnd { approach, why, .. } = &noted.body;
    claim(noted, &format!("{approach} — {why}"), [None, None], FailedView { approach, why }, &["approach", "why"])
}

/// What was done wrong.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Mistake")]
pub struct MistakeView<'a> {
    /// What was done wrong.
    text: &'a str,
    /// What prevents it.
    #[serde(skip_serializing_if = "never")]
    prevention: Option<&'a str>,
}

fn mistake(noted: &DatedClaim<Mistake>) -> BudgetEntry {
    let Mistake { text, prevention, .. } = &noted.body;
    let shown = prevention.as_ref().map(|prevention| format!("{text} — prevention: {prevention}"));
    let brief_keys = if prevention.is_some() { &["text", "prevention"][..] } else { &["text"] };
    let view = MistakeView { text, prevention: prevention.as_deref() };
    claim(noted, shown.as_ref().unwrap_or(text), [None, None], view, brief_keys)
}

/// What was decided.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Decision")]
pub struct DecidedView<'a> {
    /// What was decided.
    text: &'a str,
    /// Why.
    why: &'a str,
    /// What it was chosen over.
    #[serde(skip_serializing_if = "never")]
    alternatives: &'a [String],
}

fn decision(noted: &DatedClaim<Decision>) -> BudgetEntry {
    let Decision { text, why, alternatives, .. } = &noted.body;
    let view = DecidedView { text, why, alternatives };
    claim(noted, &format::decision(text, why, alternatives), [None, None], view, &["text", "why"])
}

/// The last handoff in force of an agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LastHandoff")]
pub struct HandoffView<'a> {
    /// The handoff.
    #[serde(skip_serializing_if = "never")]
    handoff_id: &'a Id,
    /// Its session.
    #[serde(skip_serializing_if = "never")]
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When it was written.
    #[serde(skip_serializing_if = "never")]
    timestamp: &'a str,
    /// The commit it is at home on.
    #[serde(skip_serializing_if = "never")]
    commit: Option<&'a str>,
    /// What it is about.
    task: &'a str,
    /// The self-assessment.
    #[serde(skip_serializing_if = "never")]
    calibration_status: Calibration,
}

fn handoff(handed: &HandoffLine) -> BudgetEntry {
    let head = &handed.head;
    let text = format!(
        "{} {}: {}{}",
        head.id.short(),
        agent(&head.ai, handed.own),
        task(Some(handed.task.as_str()).filter(|task| !task.is_empty())),
        parenthesis([
            Some(format::date(&head.at)),
            on(head.commit.as_deref()),
            Some(handed.calibration_status.phrase()),
        ]),
    );
    let view = HandoffView {
        handoff_id: &head.id,
        session_id: head.session.as_ref(),
        ai_id: &head.ai,
        timestamp: &head.at,
        commit: head.commit.as_deref(),
        task: &handed.task,
        calibration_status: handed.calibration_status,
    };
    both(text, Some(head.id.short()), view, &["ai_id", "task"], handed.own)
}

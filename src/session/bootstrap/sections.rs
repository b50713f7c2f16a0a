//! The lists of a project for `bootstrap`, each entry as text and as JSON, with their order of importance.

use serde_json::{Value, json};

use crate::history::show::short_commit;
use crate::render::budget;
use crate::render::budget::{BudgetEntry, BudgetList, OutputForm, brief, entry, list};
use crate::render::{format, safe};
use crate::session::bootstrap::memory::Memory;
use crate::session::bootstrap::overview::{
    AgentWork, DatedClaim, HandoffLine, LearnedItem, OpenGoal, Overview, RecentSession,
};
use crate::text::tokens;
use empirica_notes::model::Envelope;
use empirica_notes::model::journal::{DeadEnd, Decision, Finding, Mistake, Unknown};

/// What matters most, first: in every round so many entries of each list. Those of the first round that are marked stay
/// longest.
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
/// The same for what a session begins with.
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

/// The lists in the order they are shown. In text nothing stands twice: decisions have a list of their own, and what is kept in
/// mind is left out of the findings.
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

/// What a session begins with: the next steps of the last handoff before the open goals, then what is open, failed, decided, learned.
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

/// An entry of a memory: the key of the specification it is under, and its text.
fn kept<'m>(key: &'static str, title: &'static str, texts: impl IntoIterator<Item = &'m String>) -> Vec<BudgetEntry> {
    let one = |text: &String| entry(format!("{title}: {}", safe::words(text)), json!({"key": key, "text": text}));
    texts.into_iter().map(one).collect()
}

fn working(memory: &Memory, form: OutputForm) -> Vec<BudgetEntry> {
    let decisions = memory.recent_decisions.iter().filter(|_| form == OutputForm::Json);
    [
        kept("current_task", "task", &memory.current_task),
        kept("known_constraints", "constraint", &memory.constraints),
        kept("established_patterns", "pattern", &memory.patterns),
        kept("quality_standards", "standard", &memory.standards),
        kept("recent_decisions", "decided", decisions),
    ]
    .concat()
}

fn long_term(memory: &Memory) -> Vec<BudgetEntry> {
    [
        kept("project_architecture", "architecture", &memory.architecture),
        kept("technology_stack", "stack", &memory.stack),
        kept("team_preferences", "preference", &memory.preferences),
        kept("successful_strategies", "worked", &memory.strategies),
        kept("problematic_areas", "trouble", &memory.troubles),
    ]
    .concat()
}

/// The entries of a memory as the specification has them: by their keys, single texts and lists.
pub fn memory_json(list: &BudgetList) -> Value {
    const SINGLE: [&str; 4] = ["current_task", "project_architecture", "technology_stack", "team_preferences"];
    let keys: &[&str] = match list.key {
        "working_memory" => {
            &["current_task", "recent_decisions", "established_patterns", "known_constraints", "quality_standards"]
        }
        _ => &SINGLE[1..],
    };
    let lists: &[&str] =
        if list.key == "working_memory" { &[] } else { &["successful_strategies", "problematic_areas"] };
    let of = |key: &str| -> Vec<&str> {
        let same = list.entries.iter().filter(|entry| entry.json["key"] == key);
        same.filter_map(|entry| entry.json["text"].as_str()).collect()
    };
    let value = |key: &&str| {
        let texts = of(key);
        let value = match SINGLE.contains(key) {
            true if texts.is_empty() => Value::Null,
            true => json!(texts.join("; ")),
            false => json!(texts),
        };
        ((*key).to_owned(), value)
    };
    keys.iter().chain(lists).map(value).collect()
}

fn insert(json: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = json {
        map.insert(key.to_owned(), value);
    }
}

/// An entry with its whole and its brief JSON, which both say whether it is the own session's.
fn both(text: String, mut whole: Value, mut short: Value, own: bool) -> BudgetEntry {
    insert(&mut whole, "own", json!(own));
    if own {
        insert(&mut short, "own", json!(true));
    }
    brief(entry(text, whole), short)
}

/// The most tokens of an agent's name in a text: a longer one would leave no room for what the agent said.
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

/// What every entry of the journal carries.
fn envelope(head: &Envelope, count: usize) -> Value {
    json!({
        "id": head.id,
        "ai_id": head.ai,
        "session_id": head.session,
        "timestamp": head.at,
        "count": count,
    })
}

/// What stands in parentheses after a text; nothing when there is nothing.
fn aside(parts: impl IntoIterator<Item = Option<String>>) -> String {
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

/// An entry of the journal: its id, who said it, its text, and what else is to be known of it, which goes first when it
/// is cut.
fn said<T>(noted: &DatedClaim<T>, text: &str, more: [Option<String>; 2], keys: Value, short: Value) -> BudgetEntry {
    let mut whole = envelope(&noted.head, noted.count);
    let mut less = json!({"short_id": noted.head.id.short()});
    for (json, keys) in [(&mut whole, keys), (&mut less, short)] {
        if let (Value::Object(json), Value::Object(keys)) = (json, keys) {
            json.extend(keys);
        }
    }
    let aside = aside([times(noted.count)].into_iter().chain(more));
    let who = if noted.own { "own".to_owned() } else { name(&noted.head.ai) };
    let text = format!("{} {who}: {}{aside}", noted.head.id.short(), safe::words(text));
    both(text, whole, less, noted.own)
}

fn active(active: &RecentSession) -> BudgetEntry {
    let session = &active.session;
    let phase = active.phase.map_or("no assessment".to_owned(), |(phase, round)| format!("{} {round}", phase.name()));
    let text = format!(
        "{} {}: {}{}",
        session.id.short(),
        agent(&session.ai, active.own),
        task(session.task.as_deref()),
        aside([
            Some(phase),
            confidence(active.overall_confidence),
            session.worktree.as_ref().map(|worktree| format!("worktree {}", safe::words(worktree))),
            Some(format!("since {}", format::date(&session.started_at))),
            Some(format!("last seen {}", format::date(&active.last_seen))),
        ]),
    );
    let whole = json!({
        "session_id": session.id,
        "ai_id": session.ai,
        "task": session.task,
        "phase": active.phase.map(|(phase, _)| phase),
        "round": active.phase.map(|(_, round)| round),
        "overall_confidence": active.overall_confidence,
        "started_at": session.started_at,
        "worktree": session.worktree,
        "last_seen": active.last_seen,
    });
    let short = json!({"short_id": session.id.short(), "ai_id": session.ai, "task": session.task});
    both(text, whole, short, active.own)
}

fn status(active: bool) -> &'static str {
    if active { "active" } else { "ended" }
}

fn task(task: Option<&str>) -> String {
    task.map_or("no task named".to_owned(), safe::words)
}

fn member(member: &AgentWork) -> BudgetEntry {
    let session = &member.session;
    let next = member.next_step.as_ref().map(|next| format!("; next: {}", safe::words(next))).unwrap_or_default();
    let text = format!(
        "{}: {}{next}{}",
        agent(&session.ai, member.own),
        task(session.task.as_deref()),
        aside([
            Some(format!("{} session {}", status(session.is_active()), session.id.short())),
            Some(member.calibration_status.phrase()),
            confidence(member.overall_confidence),
            Some(format!("last seen {}", format::date(&member.last_seen))),
        ]),
    );
    let whole = json!({
        "ai_id": session.ai,
        "session_id": session.id,
        "task": session.task,
        "active": session.is_active(),
        "calibration_status": member.calibration_status,
        "overall_confidence": member.overall_confidence,
        "next_step": member.next_step,
        "last_seen": member.last_seen,
    });
    let short = json!({
        "ai_id": session.ai,
        "task": session.task,
        "active": session.is_active(),
        "calibration_status": member.calibration_status,
        "next_step": member.next_step,
    });
    both(text, whole, short, member.own)
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
        aside([times(open.count), progress.clone(), of.filter(|_| !open.own)]),
    );
    let whole = json!({
        "id": goal.id,
        "text": goal.text,
        "priority": goal.priority,
        "progress": progress,
        "criteria": goal.criteria,
        "session_id": open.session,
        "ai_id": open.ai,
        "session_status": open.session.as_ref().map(|_| status(open.active)),
        "count": open.count,
    });
    let short = json!({"short_id": goal.id.short(), "text": goal.text, "priority": goal.priority});
    both(text, whole, short, open.own)
}

fn unknown(noted: &DatedClaim<Unknown>) -> BudgetEntry {
    let text = &noted.body.text;
    said(noted, text, [None, None], json!({"text": text}), json!({"text": text}))
}

fn finding(learned: &LearnedItem) -> BudgetEntry {
    let (noted, body) = (&learned.noted, &learned.noted.body);
    let impact = body.impact.map(|impact| format!("impact {impact:.2}"));
    let whole = json!({
        "text": body.text,
        "impact": body.impact,
        "importance": learned.importance,
        "commit": noted.head.commit,
    });
    said(noted, &body.text, [impact, on(noted.head.commit.as_deref())], whole, json!({"text": body.text}))
}

fn dead_end(noted: &DatedClaim<DeadEnd>) -> BudgetEntry {
    let DeadEnd { approach, why, .. } = &noted.body;
    let keys = json!({"approach": approach, "why": why});
    said(noted, &format!("{approach} — {why}"), [None, None], keys.clone(), keys)
}

fn mistake(noted: &DatedClaim<Mistake>) -> BudgetEntry {
    let Mistake { text, prevention, .. } = &noted.body;
    let shown = prevention.as_ref().map(|prevention| format!("{text} — prevention: {prevention}"));
    let keys = json!({"text": text, "prevention": prevention});
    let short = if prevention.is_some() { keys.clone() } else { json!({"text": text}) };
    said(noted, shown.as_ref().unwrap_or(text), [None, None], keys, short)
}

fn decision(noted: &DatedClaim<Decision>) -> BudgetEntry {
    let Decision { text, why, alternatives, .. } = &noted.body;
    let whole = json!({"text": text, "why": why, "alternatives": alternatives});
    said(noted, &format::decision(text, why, alternatives), [None, None], whole, json!({"text": text, "why": why}))
}

fn handoff(handed: &HandoffLine) -> BudgetEntry {
    let head = &handed.head;
    let text = format!(
        "{} {}: {}{}",
        head.id.short(),
        agent(&head.ai, handed.own),
        task(Some(handed.task.as_str()).filter(|task| !task.is_empty())),
        aside([Some(format::date(&head.at)), on(head.commit.as_deref()), Some(handed.calibration_status.phrase()),]),
    );
    let whole = json!({
        "handoff_id": head.id,
        "session_id": head.session,
        "ai_id": head.ai,
        "timestamp": head.at,
        "commit": head.commit,
        "task": handed.task,
        "calibration_status": handed.calibration_status,
    });
    let short = json!({"short_id": head.id.short(), "ai_id": head.ai, "task": handed.task});
    both(text, whole, short, handed.own)
}

//! The document of a session's context for its successor, and its reduction to a budget of tokens.

use serde_json::{Value, json};

use crate::fold::collected::pending_text;
use crate::fold::session_records::SessionRecords;
use crate::render::format::count;
use crate::text::list::add_new;
use crate::text::shorten::short;
use crate::use_cases::handoff::managed::payload::context::{Context, Message, ToolSummary};
use crate::use_cases::handoff::managed::payload::text::{Time, text, texts};
use crate::use_cases::handoff::managed::payload::without_nulls;
use empirica_notes::model::Handoff;
use empirica_notes::model::goal::GoalStatus;
use empirica_transcripts::model::{self, Role, Transcript};

/// Length of a shortened message, in characters.
const MESSAGE: usize = 300;
/// Length of a shortened summary, in characters.
const SUMMARY: usize = 400;

/// The sources of the document besides the handoff.
pub struct Source<'s> {
    pub records: &'s SessionRecords,
    /// The transcript, if available: the source of messages.
    pub transcript: Option<&'s Transcript>,
    /// The author of the handoff.
    pub ai: &'s str,
    /// Now, RFC 3339 UTC.
    pub now: &'s str,
}

/// Fills in the missing fields of a context document.
pub fn fill(handoff: &mut Handoff, source: &Source<'_>) {
    let mut document = json!(drawn(handoff, source));
    if let (Some(fields), Some(given)) = (document.as_object_mut(), handoff.payload.take()) {
        fields.extend(given);
    }
    handoff.payload = without_nulls(document).as_object().cloned();
}

/// The document of the session alone.
fn drawn(handoff: &Handoff, source: &Source<'_>) -> Context {
    let Source { records, transcript, .. } = source;
    let mut pending: Vec<String> = Vec::new();
    for goal in records.goals.iter().filter(|goal| goal.status == GoalStatus::Open && !goal.is_idle_suggestion()) {
        pending.push(goal.text.clone());
        let open = goal.subtasks.iter().filter(|step| step.status == GoalStatus::Open);
        pending.extend(open.map(|step| format!("{}: {}", goal.text, step.text)));
    }
    let of_agent = records.transcripts.iter().flat_map(|collected| &collected.pending_tasks);
    pending.extend(of_agent.map(pending_text));
    let decisions: Vec<String> = records.decisions.iter().map(|one| format!("{} — {}", one.text, one.why)).collect();
    let distinct = |texts: &mut dyn Iterator<Item = &String>| {
        let mut out = Vec::new();
        add_new(&mut out, texts);
        out
    };
    let decisions = distinct(&mut decisions.iter().chain(records.transcripts.iter().flat_map(|one| &one.decisions)));
    let message = |message: &model::Message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let timestamp = message.at.clone().and_then(|at| Time::try_from(at).ok());
        Some(Message { role: text(role)?, content: text(&message.text)?, timestamp })
    };
    let tools = records.activity.iter().filter_map(|tool| {
        let samples = Some(texts(&tool.samples)).filter(|samples| !samples.is_empty());
        Some(ToolSummary { category: text(&tool.category)?, count: tool.count, samples })
    });
    let messages = transcript.iter().flat_map(|transcript| &transcript.messages);
    let agent = records.transcripts.last().map_or(&records.session.ai, |collected| &collected.agent);
    let target = handoff.to.as_ref().and_then(text);
    Context {
        session_id: text(records.session.id.as_str()),
        source_agent_type: text(agent),
        source_agent_id: text(source.ai),
        target_agent_type: target.clone(),
        target_agent_id: target,
        summary: summary(handoff, source).and_then(text),
        tool_summaries: Some(tools.collect()),
        files_modified: Some(texts(&handoff.artifacts)),
        pending_tasks: Some(texts(distinct(&mut pending.iter().chain(&handoff.next_steps)))),
        decisions: Some(texts(decisions)),
        recent_messages: Some(messages.filter_map(message).collect()),
        created_at: Time::try_from(source.now.to_owned()).ok(),
    }
}

/// The task, and the first of: context for the next session, summary of the conversation, reason of the last assessment,
/// accomplishments.
fn summary(handoff: &Handoff, source: &Source<'_>) -> Option<String> {
    let reasoning = source.records.last().and_then(|(_, last)| last.reasoning.clone());
    let summary = source.transcript.and_then(|transcript| transcript.summary.clone());
    let accomplished = Some(handoff.accomplished.join("; "));
    let is_text = |text: &String| !text.trim().is_empty();
    let more = [Some(handoff.context.clone()), summary, reasoning, accomplished].into_iter().flatten().find(is_text);
    let parts: Vec<String> = [Some(handoff.task.clone()).filter(is_text), more].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// A list of a handoff that can be reduced, with the noun of its entries. The oldest entries of lists ordered by time go first, and
/// the last ones of others.
#[derive(Clone, Copy)]
struct List {
    pointer: &'static str,
    noun: &'static str,
    is_by_time: bool,
}

const fn list(pointer: &'static str, noun: &'static str, is_by_time: bool) -> List {
    List { pointer, noun, is_by_time }
}

const MESSAGES: List = list("/payload/recent_messages", "message", true);
const DECISIONS: List = list("/payload/decisions", "decision", true);
const FILES: List = list("/payload/files_modified", "file", false);
const PENDING: List = list("/payload/pending_tasks", "pending task", false);
const RELEVANT: List = list("/relevant", "relevant record", false);
const FINDINGS: List = list("/findings", "finding", true);
const UNKNOWNS: List = list("/unknowns", "unknown", true);
const DEAD_ENDS: List = list("/dead_ends", "dead end", true);
const MISTAKES: List = list("/mistakes", "mistake", true);
const TOOLS: &str = "/payload/tool_summaries";

/// A reduction, applied to one entry or text after the other.
#[derive(Clone, Copy)]
enum Step {
    /// Drops entries beyond that many.
    Entries(List, usize),
    /// Drops samples of each tool beyond that many.
    Samples(usize),
    LongMessages,
    Summary,
}
use Step::{Entries, LongMessages, Samples, Summary};

/// In the order of application; the last two only if nothing else is enough.
const STEPS: [Step; 29] = [
    Entries(MESSAGES, 4),
    LongMessages,
    Samples(2),
    Entries(FILES, 40),
    Entries(FINDINGS, 10),
    Entries(RELEVANT, 5),
    Entries(DECISIONS, 8),
    Entries(DEAD_ENDS, 5),
    Entries(MISTAKES, 5),
    Entries(UNKNOWNS, 8),
    Entries(FILES, 20),
    Entries(MESSAGES, 2),
    Samples(1),
    Entries(FINDINGS, 4),
    Entries(RELEVANT, 2),
    Entries(DECISIONS, 4),
    Entries(FILES, 8),
    Summary,
    Entries(MESSAGES, 0),
    Samples(0),
    Entries(RELEVANT, 0),
    Entries(FINDINGS, 0),
    Entries(MISTAKES, 0),
    Entries(PENDING, 8),
    Entries(FILES, 0),
    Entries(DEAD_ENDS, 0),
    Entries(UNKNOWNS, 0),
    Entries(DECISIONS, 0),
    Entries(PENDING, 0),
];

/// Reduces a handoff with a context document to a budget of tokens, as `measure` counts them. Removes no more entries than
/// necessary, and lists the removed ones in `left_out`.
pub fn fit(handoff: &mut Handoff, budget: usize, measure: &dyn Fn(&Handoff) -> usize) {
    if measure(handoff) <= budget {
        return;
    }
    let whole = json!(handoff);
    let mut now = whole.clone();
    for step in STEPS {
        let reduced = |times: usize| {
            let mut value = now.clone();
            step.apply(&mut value, times);
            value["left_out"] = json!(left_out(&value, &whole));
            serde_json::from_str(&value.to_string()).ok().filter(|handoff| measure(handoff) <= budget)
        };
        let most = step.possible(&now);
        if most > 0
            && let Some(mut best) = reduced(most)
        {
            // binary search, as each measurement renders the whole document
            let (mut low, mut high) = (0, most);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                match reduced(middle) {
                    Some(larger) => (best, high) = (larger, middle),
                    None => low = middle,
                }
            }
            *handoff = best;
            return;
        }
        step.apply(&mut now, most);
    }
    now["left_out"] = json!(left_out(&now, &whole));
    if let Ok(smallest) = serde_json::from_str(&now.to_string()) {
        *handoff = smallest;
    }
}

fn entries<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn entries_mut<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Vec<Value>> {
    value.pointer_mut(pointer).and_then(Value::as_array_mut)
}

fn is_longer(text: &Value, most: usize) -> bool {
    text.as_str().is_some_and(|text| text.chars().count() > most)
}

fn shorten(text: &mut Value, most: usize) {
    *text = json!(short(text.as_str().unwrap_or_default(), most));
}

impl Step {
    /// How often the step can be applied.
    fn possible(self, handoff: &Value) -> usize {
        match self {
            Entries(list, keep) => entries(handoff, list.pointer).len().saturating_sub(keep),
            Samples(keep) => {
                let samples = entries(handoff, TOOLS).iter().map(|tool| entries(tool, "/samples").len());
                samples.map(|samples| samples.saturating_sub(keep)).sum()
            }
            LongMessages => {
                let messages = entries(handoff, MESSAGES.pointer).iter();
                messages.filter(|message| is_longer(&message["content"], MESSAGE)).count()
            }
            Summary => usize::from(is_longer(&handoff["payload"]["summary"], SUMMARY)),
        }
    }

    /// Applies the step at most so many times.
    fn apply(self, handoff: &mut Value, mut times: usize) {
        match self {
            Entries(list, _) => {
                let Some(entries) = entries_mut(handoff, list.pointer) else { return };
                let begin = if list.is_by_time { 0 } else { entries.len() - times };
                entries.drain(begin..begin + times);
            }
            Samples(keep) => {
                for tool in entries_mut(handoff, TOOLS).into_iter().flatten().rev() {
                    let Some(samples) = entries_mut(tool, "/samples") else { continue };
                    let gone = times.min(samples.len().saturating_sub(keep));
                    times -= gone;
                    samples.truncate(samples.len() - gone);
                    if let (true, Some(tool)) = (samples.is_empty(), tool.as_object_mut()) {
                        tool.shift_remove("samples");
                    }
                }
            }
            LongMessages => {
                let messages = entries_mut(handoff, MESSAGES.pointer).into_iter().flatten();
                let long = messages.map(|message| &mut message["content"]).filter(|text| is_longer(text, MESSAGE));
                long.take(times).for_each(|text| shorten(text, MESSAGE));
            }
            Summary if times > 0 => shorten(&mut handoff["payload"]["summary"], SUMMARY),
            Summary => {}
        }
    }
}

/// The parts of the `whole` missing from a reduced handoff, a text each.
fn left_out(handoff: &Value, whole: &Value) -> Vec<String> {
    let gone = |noun: &str, size: &dyn Fn(&Value) -> usize| {
        let number = size(whole) - size(handoff);
        (number > 0).then(|| count(number, noun))
    };
    let of_list = |list: List| gone(list.noun, &|handoff| entries(handoff, list.pointer).len());
    let samples = |handoff: &Value| entries(handoff, TOOLS).iter().map(|tool| entries(tool, "/samples").len()).sum();
    let mut out = vec![of_list(MESSAGES), gone("sample", &samples)];
    let lists = [RELEVANT, FINDINGS, UNKNOWNS, DEAD_ENDS, MISTAKES, DECISIONS, FILES, PENDING];
    out.extend(lists.map(of_list));
    let summary = |handoff: &Value| handoff.pointer("/payload/summary").cloned();
    out.push((summary(handoff) != summary(whole)).then(|| "the rest of the summary".to_owned()));
    let (messages, all) = (entries(handoff, MESSAGES.pointer), entries(whole, MESSAGES.pointer));
    let is_cut = messages.iter().rev().zip(all.iter().rev()).any(|(message, whole)| message != whole);
    out.push(is_cut.then(|| "the rest of long messages".to_owned()));
    out.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::handoff::CONTEXT;

    fn large() -> Handoff {
        let numbered = |what: &str, count: usize| (0..count).map(|at| format!("{what} {at}")).collect::<Vec<_>>();
        let messages: Vec<Value> =
            (0..10).map(|at| json!({"role": "user", "content": format!("{at} {}", "word ".repeat(200))})).collect();
        let payload = json!({
            "summary": "sum ".repeat(300),
            "tool_summaries": [{"category": "shell", "count": 9, "samples": ["a", "b", "c"]}],
            "files_modified": numbered("file", 50), "pending_tasks": numbered("task", 20),
            "decisions": numbered("decision", 20), "recent_messages": messages,
        });
        Handoff { kind: CONTEXT.into(), payload: payload.as_object().cloned(), ..Default::default() }
    }

    fn size(handoff: &Handoff) -> usize {
        json!(handoff.payload).to_string().len() + handoff.left_out.join(", ").len()
    }

    #[test]
    fn entries_are_removed_in_order_and_listed() {
        let whole = size(&large());
        let fitted = |budget: usize| {
            let mut handoff = large();
            fit(&mut handoff, budget, &size);
            handoff
        };
        assert_eq!(fitted(whole), large(), "it fits");
        let some = fitted(whole - 1500);
        assert_eq!(some.left_out, ["2 messages"]);
        let left = &some.payload.as_ref().unwrap()["recent_messages"];
        assert!(left[0]["content"].as_str().unwrap().starts_with("2 "), "the newest stay: {left}");
        for budget in (300..whole).step_by(371) {
            let handoff = fitted(budget);
            assert!(size(&handoff) <= budget.max(700), "{budget}: {}", size(&handoff));
        }
        let many = (0..12_000).map(|at| Value::from(format!("vendor/file_{at}"))).collect();
        let mut huge = large();
        huge.payload.as_mut().unwrap().insert("files_modified".into(), Value::Array(many));
        fit(&mut huge, 2000, &size);
        assert!(
            size(&huge) <= 2000 && huge.left_out.iter().any(|text| text.ends_with(" files")),
            "{:?}",
            huge.left_out
        );
        let least = fitted(0);
        let payload = least.payload.as_ref().unwrap();
        assert_eq!(payload["tool_summaries"][0]["count"], 9);
        assert!(payload["summary"].as_str().unwrap().chars().count() <= SUMMARY);
        assert!(least.left_out.contains(&"20 decisions".to_owned()) && least.left_out.contains(&"50 files".to_owned()));
    }
}

//! The session-context document (agent handoff service, "HandoffContext"), and its reduction to a budget of tokens.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fold::session_state::SessionRecords;
use crate::handoff::managed::formats;
use crate::handoff::managed::payload::ordered;
use crate::render::format::count;
use crate::text::list::add_new;
use crate::text::shorten::short;
use empirica_notes::model::Handoff;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::{CONTEXT, HandoffDeadEnd, HandoffMistake, Item, Relevant};
use empirica_transcripts::model::{Exchange, Role, ToolSummary, Transcript};

/// Length of a shortened message, in characters.
const MESSAGE: usize = 300;
/// Length of a shortened summary, in characters.
const SUMMARY: usize = 400;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tool {
    category: String,
    count: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    samples: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Message {
    role: String,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
}

/// The parts of the document without a fixed size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Lists {
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    tool_summaries: Vec<Tool>,
    files_modified: Vec<String>,
    pending_tasks: Vec<String>,
    decisions: Vec<String>,
    recent_messages: Vec<Message>,
}

/// The sources of the document besides the handoff.
pub struct Source<'s> {
    pub gathered: &'s SessionRecords,
    /// The transcript, if available: the source of messages.
    pub transcript: Option<&'s Transcript>,
    /// The author of the handoff.
    pub ai: &'s str,
    /// Now, RFC 3339 UTC.
    pub now: &'s str,
}

/// Fills in the missing fields of a context document.
pub fn fill(handoff: &mut Handoff, source: &Source<'_>) {
    let lists = json!(lists(handoff, source));
    let session = &source.gathered.session;
    let agent = source.gathered.transcripts.last().map_or(&session.ai, |collected| &collected.agent);
    let own = json!({
        "session_id": session.id,
        "source_agent_type": agent,
        "source_agent_id": source.ai,
        "target_agent_type": handoff.to,
        "target_agent_id": handoff.to,
        "created_at": source.now,
    });
    let mut payload = handoff.payload.take().unwrap_or_default();
    let fields = [&own, &lists].into_iter().filter_map(Value::as_object).flatten();
    for (key, value) in fields.filter(|(_, value)| !value.is_null()) {
        payload.entry(key).or_insert_with(|| value.clone());
    }
    if let Some(format) = formats::named(CONTEXT) {
        payload = ordered(format, &Value::Object(payload));
    }
    handoff.payload = Some(payload);
}

fn lists(handoff: &Handoff, source: &Source<'_>) -> Lists {
    let Source { gathered, transcript, .. } = source;
    let tool =
        |tool: &ToolSummary| Tool { category: tool.category.clone(), count: tool.count, samples: tool.samples.clone() };
    let mut pending: Vec<String> = Vec::new();
    for goal in gathered.goals.iter().filter(|goal| goal.status == GoalStatus::Open && !goal.is_idle_suggestion()) {
        pending.push(goal.text.clone());
        let open = goal.subtasks.iter().filter(|step| step.status == GoalStatus::Open);
        pending.extend(open.map(|step| format!("{}: {}", goal.text, step.text)));
    }
    let of_agent = gathered.transcripts.iter().flat_map(|collected| &collected.pending_tasks);
    pending.extend(of_agent.map(|task| match task.status.as_str() {
        "pending" => task.text.clone(),
        status => format!("{} ({})", task.text, status.replace('_', " ")),
    }));
    let decisions: Vec<String> = gathered.decisions.iter().map(|one| format!("{} — {}", one.text, one.why)).collect();
    let distinct = |texts: &mut dyn Iterator<Item = &String>| {
        let mut out = Vec::new();
        add_new(&mut out, texts);
        out
    };
    let message = |message: &Exchange| Message {
        role: match message.role {
            Role::User => "user".to_owned(),
            Role::Assistant => "assistant".to_owned(),
        },
        content: message.text.clone(),
        timestamp: message.at.clone(),
    };
    let messages = transcript.iter().flat_map(|transcript| &transcript.messages);
    Lists {
        summary: summary(handoff, source),
        tool_summaries: gathered.activity.iter().map(tool).collect(),
        files_modified: handoff.artifacts.clone(),
        pending_tasks: distinct(&mut pending.iter().chain(&handoff.next_steps)),
        decisions: distinct(&mut decisions.iter().chain(gathered.transcripts.iter().flat_map(|one| &one.decisions))),
        recent_messages: messages.filter(|message| !message.text.trim().is_empty()).map(message).collect(),
    }
}

/// The task, and the first of: context for the next session, summary of the conversation, reason of the last assessment,
/// accomplishments.
fn summary(handoff: &Handoff, source: &Source<'_>) -> Option<String> {
    let reasoning = source.gathered.last().and_then(|(_, last)| last.reasoning.clone());
    let summary = source.transcript.and_then(|transcript| transcript.summary.clone());
    let accomplished = Some(handoff.accomplished.join("; "));
    let is_text = |text: &String| !text.trim().is_empty();
    let more = [Some(handoff.context.clone()), summary, reasoning, accomplished].into_iter().flatten().find(is_text);
    let parts: Vec<String> = [Some(handoff.task.clone()).filter(is_text), more].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// The parts of a handoff and its document that can be reduced.
#[derive(Debug, Clone, Default)]
struct Long {
    lists: Lists,
    relevant: Vec<Relevant>,
    findings: Vec<Item>,
    unknowns: Vec<Item>,
    dead_ends: Vec<HandoffDeadEnd>,
    mistakes: Vec<HandoffMistake>,
}

/// A reduction. Each removes entries down to `keep`, one at a time.
#[derive(Debug, Clone, Copy)]
enum Step {
    Messages { keep: usize },
    ShortMessages,
    Samples { keep: usize },
    Relevant { keep: usize },
    Findings { keep: usize },
    DeadEnds { keep: usize },
    Mistakes { keep: usize },
    Unknowns { keep: usize },
    Decisions { keep: usize },
    Files { keep: usize },
    Pending { keep: usize },
    ShortSummary,
}

/// In the order of application; the last two only if nothing else is enough.
const STEPS: [Step; 29] = [
    Step::Messages { keep: 4 },
    Step::ShortMessages,
    Step::Samples { keep: 2 },
    Step::Files { keep: 40 },
    Step::Findings { keep: 10 },
    Step::Relevant { keep: 5 },
    Step::Decisions { keep: 8 },
    Step::DeadEnds { keep: 5 },
    Step::Mistakes { keep: 5 },
    Step::Unknowns { keep: 8 },
    Step::Files { keep: 20 },
    Step::Messages { keep: 2 },
    Step::Samples { keep: 1 },
    Step::Findings { keep: 4 },
    Step::Relevant { keep: 2 },
    Step::Decisions { keep: 4 },
    Step::Files { keep: 8 },
    Step::ShortSummary,
    Step::Messages { keep: 0 },
    Step::Samples { keep: 0 },
    Step::Relevant { keep: 0 },
    Step::Findings { keep: 0 },
    Step::Mistakes { keep: 0 },
    Step::Pending { keep: 8 },
    Step::Files { keep: 0 },
    Step::DeadEnds { keep: 0 },
    Step::Unknowns { keep: 0 },
    Step::Decisions { keep: 0 },
    Step::Pending { keep: 0 },
];

/// Reduces a handoff with a context document to a budget of tokens, as `measure` counts them. Removes no more entries than
/// necessary, and lists the removed ones in `left_out`.
pub fn fit(handoff: &mut Handoff, budget: usize, measure: &dyn Fn(&Handoff) -> usize) {
    if measure(handoff) <= budget {
        return;
    }
    let whole = Long::of(handoff);
    let mut now = whole.clone();
    for step in STEPS {
        let most = now.possible(step);
        let with = |times: usize| {
            let mut tried = now.clone();
            tried.apply(step, times);
            tried
        };
        let fits = |times: usize| {
            let mut tried = handoff.clone();
            with(times).put_in(&mut tried, &whole);
            measure(&tried) <= budget
        };
        if most > 0 && fits(most) {
            // binary search, as each measurement renders the whole document
            let (mut low, mut high) = (0, most);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if fits(middle) { high = middle } else { low = middle }
            }
            return with(high).put_in(handoff, &whole);
        }
        now.apply(step, most);
    }
    now.put_in(handoff, &whole);
}

impl Long {
    fn of(handoff: &Handoff) -> Self {
        let payload = handoff.payload.clone().map(Value::Object);
        Long {
            lists: payload.and_then(|payload| serde_json::from_value(payload).ok()).unwrap_or_default(),
            relevant: handoff.relevant.clone(),
            findings: handoff.findings.clone(),
            unknowns: handoff.unknowns.clone(),
            dead_ends: handoff.dead_ends.clone(),
            mistakes: handoff.mistakes.clone(),
        }
    }

    fn long_messages(&self) -> impl Iterator<Item = usize> {
        let messages = self.lists.recent_messages.iter().enumerate();
        messages.filter(|(_, message)| message.content.chars().count() > MESSAGE).map(|(at, _)| at)
    }

    /// How often a step can be applied.
    fn possible(&self, step: Step) -> usize {
        let Lists { summary, tool_summaries, files_modified, pending_tasks, decisions, recent_messages } = &self.lists;
        match step {
            Step::Messages { keep } => recent_messages.len().saturating_sub(keep),
            Step::ShortMessages => self.long_messages().count(),
            Step::Samples { keep } => tool_summaries.iter().map(|tool| tool.samples.len().saturating_sub(keep)).sum(),
            Step::Relevant { keep } => self.relevant.len().saturating_sub(keep),
            Step::Findings { keep } => self.findings.len().saturating_sub(keep),
            Step::DeadEnds { keep } => self.dead_ends.len().saturating_sub(keep),
            Step::Mistakes { keep } => self.mistakes.len().saturating_sub(keep),
            Step::Unknowns { keep } => self.unknowns.len().saturating_sub(keep),
            Step::Decisions { keep } => decisions.len().saturating_sub(keep),
            Step::Files { keep } => files_modified.len().saturating_sub(keep),
            Step::Pending { keep } => pending_tasks.len().saturating_sub(keep),
            Step::ShortSummary => usize::from(summary.as_ref().is_some_and(|text| text.chars().count() > SUMMARY)),
        }
    }

    /// Applies a step so many times. In lists ordered by time, the newest entries stay.
    fn apply(&mut self, step: Step, times: usize) {
        fn oldest<T>(list: &mut Vec<T>, times: usize) {
            list.drain(..times.min(list.len()));
        }
        fn last<T>(list: &mut Vec<T>, times: usize) {
            list.truncate(list.len().saturating_sub(times));
        }
        match step {
            Step::Messages { .. } => oldest(&mut self.lists.recent_messages, times),
            Step::ShortMessages => {
                for at in self.long_messages().take(times).collect::<Vec<_>>() {
                    let message = &mut self.lists.recent_messages[at];
                    message.content = short(&message.content, MESSAGE);
                }
            }
            Step::Samples { keep } => {
                let mut left = times;
                for tool in self.lists.tool_summaries.iter_mut().rev() {
                    let gone = left.min(tool.samples.len().saturating_sub(keep));
                    last(&mut tool.samples, gone);
                    left -= gone;
                }
            }
            Step::Relevant { .. } => last(&mut self.relevant, times),
            Step::Findings { .. } => oldest(&mut self.findings, times),
            Step::DeadEnds { .. } => oldest(&mut self.dead_ends, times),
            Step::Mistakes { .. } => oldest(&mut self.mistakes, times),
            Step::Unknowns { .. } => oldest(&mut self.unknowns, times),
            Step::Decisions { .. } => oldest(&mut self.lists.decisions, times),
            Step::Files { .. } => last(&mut self.lists.files_modified, times),
            Step::Pending { .. } => last(&mut self.lists.pending_tasks, times),
            Step::ShortSummary if times > 0 => {
                self.lists.summary = self.lists.summary.as_ref().map(|text| short(text, SUMMARY));
            }
            Step::ShortSummary => {}
        }
    }

    /// Puts the remaining parts into a handoff, and lists those missing from the `whole`.
    fn put_in(&self, handoff: &mut Handoff, whole: &Long) {
        let gone = |noun: &str, before: usize, now: usize| (before > now).then(|| count(before - now, noun));
        let samples = |long: &Long| long.lists.tool_summaries.iter().map(|tool| tool.samples.len()).sum();
        let (own, all) = (&self.lists, &whole.lists);
        let left_out = [
            gone("message", all.recent_messages.len(), own.recent_messages.len()),
            gone("sample", samples(whole), samples(self)),
            gone("relevant record", whole.relevant.len(), self.relevant.len()),
            gone("finding", whole.findings.len(), self.findings.len()),
            gone("unknown", whole.unknowns.len(), self.unknowns.len()),
            gone("dead end", whole.dead_ends.len(), self.dead_ends.len()),
            gone("mistake", whole.mistakes.len(), self.mistakes.len()),
            gone("decision", all.decisions.len(), own.decisions.len()),
            gone("file", all.files_modified.len(), own.files_modified.len()),
            gone("pending task", all.pending_tasks.len(), own.pending_tasks.len()),
            (own.summary != all.summary).then(|| "the rest of the summary".to_owned()),
            own.recent_messages
                .iter()
                .rev()
                .zip(all.recent_messages.iter().rev())
                .any(|(own, all)| own.content != all.content)
                .then(|| "the rest of long messages".to_owned()),
        ];
        handoff.left_out = left_out.into_iter().flatten().collect();
        handoff.relevant.clone_from(&self.relevant);
        handoff.findings.clone_from(&self.findings);
        handoff.unknowns.clone_from(&self.unknowns);
        handoff.dead_ends.clone_from(&self.dead_ends);
        handoff.mistakes.clone_from(&self.mistakes);
        let payload = handoff.payload.get_or_insert_default();
        if let Ok(Value::Object(fields)) = serde_json::to_value(own) {
            payload.extend(fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! The session-context document: what a session did and knows, for who continues it (agent handoff service, "HandoffContext").

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fold::session_state::SessionRecords;
use crate::text::list::add_new;
use crate::text::shorten::short;
use empirica_notes::model::Handoff;
use empirica_notes::model::goal::GoalStatus;
use empirica_notes::model::handoff::{CONTEXT, HandoffDeadEnd, HandoffMistake, Item, Relevant};
use empirica_transcripts::model::{Role, Transcript};

/// How long a message is that was shortened to fit, in characters.
const MESSAGE: usize = 300;
/// How long a summary is that was shortened to fit, in characters.
const SUMMARY: usize = 400;

/// The use of a category of tools.
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

/// What can be long in the document.
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

/// What the document is drawn from, besides the handoff of the session.
pub struct Source<'s> {
    /// What the session said.
    pub gathered: &'s SessionRecords,
    /// Its transcript, when it is at hand: only that has messages.
    pub transcript: Option<&'s Transcript>,
    /// Who hands over.
    pub ai: &'s str,
    /// Now, RFC 3339 UTC.
    pub now: &'s str,
}

/// Puts into a handoff what its document lacks. What was given stays as it was given.
pub fn fill(handoff: &mut Handoff, source: &Source<'_>) {
    let drawn = drawn(handoff, source);
    let session = &source.gathered.session;
    let agent = source.gathered.transcripts.last().map(|known| known.agent.clone());
    let mut all = Map::new();
    let mut put =
        |key: &str, value: Option<String>| all.extend(value.map(|value| (key.to_owned(), Value::String(value))));
    put("session_id", Some(session.id.to_string()));
    put("source_agent_type", agent.or_else(|| Some(session.ai.clone())));
    put("source_agent_id", Some(source.ai.to_owned()));
    put("target_agent_type", handoff.to.clone());
    put("target_agent_id", handoff.to.clone());
    put("created_at", Some(source.now.to_owned()));
    if let Ok(Value::Object(lists)) = serde_json::to_value(&drawn) {
        all.extend(lists);
    }
    let payload = handoff.payload.get_or_insert_default();
    for (key, value) in all {
        payload.entry(key).or_insert(value);
    }
    if let Some(format) = crate::handoff::managed::formats::named(CONTEXT) {
        let mut ordered = crate::handoff::managed::payload::ordered(format, &Value::Object(std::mem::take(payload)));
        ordered.shift_remove(crate::handoff::managed::formats::TYPE);
        *payload = ordered;
    }
}

fn drawn(handoff: &Handoff, source: &Source<'_>) -> Lists {
    let Source { gathered, transcript, .. } = source;
    let tool = |tool: &empirica_transcripts::model::ToolSummary| Tool {
        category: tool.category.clone(),
        count: tool.count,
        samples: tool.samples.clone(),
    };
    let mut pending: Vec<String> = Vec::new();
    for goal in gathered.goals.iter().filter(|goal| goal.status == GoalStatus::Open && !goal.is_idle_suggestion()) {
        let open = goal.subtasks.iter().filter(|step| step.status == GoalStatus::Open);
        add_new(&mut pending, std::slice::from_ref(&goal.text));
        add_new(&mut pending, &open.map(|step| format!("{}: {}", goal.text, step.text)).collect::<Vec<_>>());
    }
    for known in &gathered.transcripts {
        let state = |task: &empirica_transcripts::model::Pending| match task.status.as_str() {
            "pending" => task.text.clone(),
            status => format!("{} ({})", task.text, status.replace('_', " ")),
        };
        add_new(&mut pending, &known.pending_tasks.iter().map(state).collect::<Vec<_>>());
    }
    add_new(&mut pending, &handoff.next_steps);
    let mut decisions: Vec<String> = Vec::new();
    add_new(
        &mut decisions,
        &gathered.decisions.iter().map(|one| format!("{} — {}", one.text, one.why)).collect::<Vec<_>>(),
    );
    gathered.transcripts.iter().for_each(|known| add_new(&mut decisions, &known.decisions));
    let message = |said: &empirica_transcripts::model::Exchange| Message {
        role: match said.role {
            Role::User => "user".to_owned(),
            Role::Assistant => "assistant".to_owned(),
        },
        content: said.text.clone(),
        timestamp: said.at.clone(),
    };
    let spoken = transcript.iter().flat_map(|told| &told.messages).filter(|said| !said.text.trim().is_empty());
    Lists {
        summary: summary(handoff, source),
        tool_summaries: gathered.activity.iter().map(tool).collect(),
        files_modified: handoff.artifacts.clone(),
        pending_tasks: pending,
        decisions,
        recent_messages: spoken.map(message).collect(),
    }
}

/// The task, then the first of these that there is: what the next session must know, the conversation's own summary, the reason
/// of the last assessment, what was accomplished.
fn summary(handoff: &Handoff, source: &Source<'_>) -> Option<String> {
    let reasoned = source.gathered.last().and_then(|(_, last)| last.reasoning.clone());
    let told = source.transcript.and_then(|told| told.summary.clone());
    let accomplished = Some(handoff.accomplished.join("; "));
    let is_text = |text: &String| !text.trim().is_empty();
    let more = [Some(handoff.context.clone()), told, reasoned, accomplished].into_iter().flatten().find(is_text);
    let parts: Vec<String> = [Some(handoff.task.clone()).filter(is_text), more].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

/// What can be long in a handoff with such a document: its lists, and what the session said.
#[derive(Debug, Clone, Default)]
struct Long {
    lists: Lists,
    relevant: Vec<Relevant>,
    findings: Vec<Item>,
    unknowns: Vec<Item>,
    dead_ends: Vec<HandoffDeadEnd>,
    mistakes: Vec<HandoffMistake>,
}

/// A step towards a smaller document; they are taken in this order, each as often as is needed.
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

const STEPS: [Step; 27] = [
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
];
/// When all of that is not enough: nothing but the overview and the beginning of the summary.
const LAST: [Step; 2] = [Step::Decisions { keep: 0 }, Step::Pending { keep: 0 }];

/// Makes the document of a handoff as small as it must be: `measure` tells how large it is, in tokens, and `budget` how large it
/// can be. The oldest messages go first, then what is least important; entries go one by one, and what went is told.
pub fn fit(handoff: &mut Handoff, budget: usize, measure: &dyn Fn(&Handoff) -> usize) {
    if measure(handoff) <= budget {
        return;
    }
    let whole = Long::of(handoff);
    let mut now = whole.clone();
    for step in STEPS.into_iter().chain(LAST) {
        let most = now.possible(step);
        let with = |times: usize| {
            let mut tried = now.clone();
            tried.take(step, times);
            tried
        };
        let fits = |times: usize| {
            let mut tried = handoff.clone();
            with(times).put_in(&mut tried, &whole);
            measure(&tried) <= budget
        };
        if most > 0 && fits(most) {
            // the fewest times that are enough, found by halves: each measuring renders the whole document
            let (mut low, mut high) = (0, most);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if fits(middle) { high = middle } else { low = middle }
            }
            let fitted = with(high);
            fitted.put_in(handoff, &whole);
            return;
        }
        now.take(step, most);
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

    /// How often a step can be taken.
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

    /// Takes a step so many times. Of what is told in order of time the newest stays.
    fn take(&mut self, step: Step, times: usize) {
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

    /// Puts what is left into a handoff, and says what is not there of the `whole`.
    fn put_in(&self, handoff: &mut Handoff, whole: &Long) {
        let gone = |what: &str, before: usize, now: usize| {
            let many = before.saturating_sub(now);
            (many > 0).then(|| format!("{many} {what}{}", if many == 1 { "" } else { "s" }))
        };
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
    use serde_json::json;

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
    fn what_is_least_important_goes_first_and_what_went_is_told() {
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

//! Accumulates the summary of a transcript row by row, independent of the agent.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::model::CATEGORIES;
use crate::model::{Agent, Message, PendingTask, Role, Subagent, Tokens, ToolSummary, Transcript};
use crate::read::call::{Call, Entry, Sample, Todos};
use crate::read::paths;
use crate::read::paths::Bases;
use crate::text::limits::{DECISION, MESSAGE, SAMPLE, STATUS, SUMMARY, line_with_margin, with_margin};
use crate::text::words;

/// Limits of messages, decisions, samples per category, failed commands, subagents, and entries of a task list.
const MESSAGES: usize = 10;
const DECISIONS: usize = 20;
const SAMPLES: usize = 3;
const FAILED: usize = 10;
const SUBAGENTS: usize = 200;
const TODOS: usize = 1_000;

/// The statuses of finished entries.
const DONE: [&str; 6] = ["completed", "complete", "done", "cancelled", "canceled", "deleted"];

/// An agent: `None` for the main agent, else the index of a subagent.
pub type Owner = Option<usize>;

#[derive(Debug, Default)]
struct Counter {
    count: u64,
    errors: u64,
    samples: Vec<Sample>,
}

#[derive(Debug, Default)]
struct AgentActivity {
    name: Option<String>,
    id: Option<String>,
    counters: [Counter; CATEGORIES.len()],
    files: Vec<String>,
    seen: HashSet<String>,
    tokens: Tokens,
}

/// A call without a result.
#[derive(Debug)]
pub struct OpenCall {
    owner: Owner,
    pub category: Option<usize>,
    /// The command of a shell.
    command: Option<Sample>,
    /// The files it would modify; empty once they were added.
    pub files: Vec<String>,
    /// The questions, each with its id, if any.
    pub questions: Vec<(Option<String>, String)>,
}

pub struct Fold {
    hasher: RandomState,
    /// The fields that are set directly.
    pub out: Transcript,
    /// The root of the repository according to the transcript.
    pub own_root: Option<String>,
    main: AgentActivity,
    subagents: Vec<AgentActivity>,
    calls: HashMap<u64, Option<OpenCall>>,
    usages: HashMap<u64, (Owner, Tokens)>,
    tasks: HashMap<u64, String>,
    todos: Vec<Entry>,
    /// The indices in `todos` of entries with ids.
    todo_places: HashMap<u64, usize>,
    messages: VecDeque<Message>,
    decisions: VecDeque<String>,
    /// The commands whose last run failed.
    failed: VecDeque<Sample>,
    /// The present folder, normalized.
    pub folder: Option<String>,
    /// Whether the rows that follow were copied from another session, where they count: only their task lists are read.
    pub is_copy: bool,
    times: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

fn is_shell(category: Option<usize>) -> bool {
    category.and_then(|place| CATEGORIES.get(place)) == Some(&"shell")
}

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

/// Parses a time in RFC 3339.
pub fn parsed(time: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(time.trim()).ok().map(|time| time.to_utc())
}

/// Formats milliseconds since 1970 as RFC 3339; `None` if out of range.
pub fn from_millis(ms: u64) -> Option<String> {
    DateTime::from_timestamp_millis(i64::try_from(ms).ok()?).map(written)
}

impl Fold {
    /// An empty accumulator.
    pub fn new(agent: Agent) -> Self {
        Fold {
            hasher: RandomState::new(),
            out: Transcript::new(agent),
            own_root: None,
            main: AgentActivity::default(),
            subagents: Vec::new(),
            calls: HashMap::new(),
            usages: HashMap::new(),
            tasks: HashMap::new(),
            todos: Vec::new(),
            todo_places: HashMap::new(),
            messages: VecDeque::new(),
            decisions: VecDeque::new(),
            failed: VecDeque::new(),
            folder: None,
            is_copy: false,
            times: None,
        }
    }

    /// The hash of an id, which can be as long as a row.
    pub fn hash(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    /// Sets the folder of the rows that follow, if there is one; the first one is the transcript's.
    pub fn set_cwd(&mut self, cwd: Option<&str>) {
        let Some((cwd, folder)) = cwd.and_then(|cwd| Some((cwd, paths::normalized(cwd, None)?))) else { return };
        self.out.cwd.get_or_insert_with(|| cwd.to_owned());
        self.folder = Some(folder);
    }

    /// Extends the time range; ignores invalid times.
    pub fn add_time(&mut self, time: Option<&str>) {
        let Some(time) = time.filter(|_| !self.is_copy).and_then(parsed) else { return };
        let (first, last) = self.times.get_or_insert((time, time));
        (*first, *last) = (time.min(*first), time.max(*last));
    }

    fn activity(&mut self, owner: Owner) -> &mut AgentActivity {
        match owner {
            Some(place) if place < self.subagents.len() => &mut self.subagents[place],
            _ => &mut self.main,
        }
    }

    /// Adds a subagent; beyond the limit, returns the one that sums up all others.
    pub fn add_subagent(&mut self, id: Option<&str>) -> Owner {
        if self.subagents.len() >= SUBAGENTS {
            if self.subagents.len() == SUBAGENTS {
                self.subagents.push(AgentActivity { name: Some("others".to_owned()), ..Default::default() });
            }
            return Some(SUBAGENTS);
        }
        self.subagents
            .push(AgentActivity { id: id.map(|id| with_margin(id, MESSAGE).to_owned()), ..Default::default() });
        Some(self.subagents.len() - 1)
    }

    /// Names a subagent, unless it has a name.
    pub fn name(&mut self, owner: Owner, name: &str) {
        if let Some(activity) = owner.and_then(|place| self.subagents.get_mut(place)) {
            activity.name.get_or_insert_with(|| line_with_margin(name, SAMPLE));
        }
    }

    /// Names a subagent after the task with this prompt.
    pub fn name_after_prompt(&mut self, owner: Owner, text: &str) {
        let number = self.hash(text.trim());
        if let Some(name) = self.tasks.get(&number).cloned() {
            self.name(owner, &name);
        }
    }

    /// Adds a message of the main agent or its user.
    pub fn add_message(&mut self, role: Role, text: &str, at: Option<&str>) {
        let text = text.trim();
        if text.is_empty() || self.is_copy {
            return;
        }
        if role == Role::Assistant {
            for decision in words::decisions(text) {
                self.add_decision(decision);
            }
        }
        self.add_short_message(role, with_margin(text, MESSAGE).to_owned(), at);
    }

    /// Adds a message of limited length, without searching it for decisions.
    pub fn add_short_message(&mut self, role: Role, text: String, at: Option<&str>) {
        if role == Role::User && self.out.task.is_none() {
            self.out.task = Some(text.clone());
        }
        if self.messages.len() == MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(Message { role, text, at: at.and_then(parsed).map(written) });
    }

    pub fn add_decision(&mut self, decision: String) {
        self.decisions.retain(|other| *other != decision);
        self.decisions.push_back(decision);
        if self.decisions.len() > DECISIONS {
            self.decisions.pop_front();
        }
    }

    /// Adds an answer as a decision, unless it is blank.
    pub fn add_answer(&mut self, question: &str, answer: &str) {
        if !answer.trim().is_empty() {
            self.add_decision(line_with_margin(&format!("{} → {}", question.trim(), answer.trim()), DECISION));
        }
    }

    /// Sets the summary, unless it is blank.
    pub fn set_summary(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && !self.is_copy {
            self.out.summary = Some(with_margin(text, SUMMARY).to_owned());
        }
    }

    /// Adds a call. Ignores ids seen before. A call without an id gets no result.
    pub fn add_call(&mut self, owner: Owner, id: Option<&str>, call: Call) {
        let number = id.map(|id| self.hash(id));
        if number.is_some_and(|number| self.calls.contains_key(&number)) {
            return;
        }
        let Call { category, sample, files, questions, todos, task } = call;
        if let Some(todos) = todos.filter(|_| owner.is_none()) {
            self.update_todos(todos);
        }
        if self.is_copy {
            // a result is not read either
            number.map(|number| self.calls.insert(number, None));
            return;
        }
        if let Some((prompt, name)) = task {
            let number = self.hash(prompt.trim());
            self.tasks.insert(number, name);
        }
        let command = sample.clone().filter(|_| is_shell(category));
        let activity = self.activity(owner);
        if let Some(counter) = category.and_then(|place| activity.counters.get_mut(place)) {
            counter.count += 1;
            if let Some(sample) = sample.filter(|_| counter.samples.len() < SAMPLES)
                && !counter.samples.contains(&sample)
            {
                counter.samples.push(sample);
            }
        }
        if let Some(number) = number {
            self.calls.insert(number, Some(OpenCall { owner, category, command, files, questions }));
        }
    }

    /// Whether a call has this id.
    pub fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(&self.hash(id))
    }

    /// Adds a call without an id, and whether it failed, if it ended.
    pub fn add_ended_call(&mut self, owner: Owner, mut call: Call, failed: Option<bool>) {
        let (category, files) = (call.category, std::mem::take(&mut call.files));
        let command = call.sample.clone().filter(|_| is_shell(category));
        self.add_call(owner, None, call);
        let failed = failed.filter(|_| !self.is_copy);
        if let Some((command, failed)) = command.zip(failed) {
            self.end_command(command, failed);
        }
        match (failed, category) {
            (Some(true), Some(category)) => self.add_failure(owner, category),
            (Some(false), _) => self.add_files(owner, files),
            _ => {}
        }
    }

    /// Sets or changes the task list.
    pub fn update_todos(&mut self, todos: Todos) {
        if !todos.merge {
            self.todos.clear();
            self.todo_places.clear();
        }
        for mut entry in todos.entries {
            entry.text.truncate(with_margin(&entry.text, MESSAGE).len());
            entry.status.truncate(with_margin(&entry.status, STATUS).len());
            let id = entry.id.take().map(|id| self.hash(&id));
            let index = id.and_then(|id| self.todo_places.get(&id)).copied().filter(|_| todos.merge);
            match index {
                Some(index) => {
                    let existing = &mut self.todos[index];
                    if !entry.status.is_empty() {
                        existing.status = entry.status;
                    }
                    if !entry.text.is_empty() {
                        existing.text = entry.text;
                    }
                }
                None if self.todos.len() < TODOS => {
                    if entry.status.is_empty() {
                        entry.status = "pending".to_owned();
                    }
                    if let Some(id) = id {
                        self.todo_places.entry(id).or_insert(self.todos.len());
                    }
                    self.todos.push(entry);
                }
                None => {}
            }
        }
    }

    /// Ends a call. Returns it, the first time it ends.
    pub fn end_call(&mut self, id: &str, failed: bool) -> Option<OpenCall> {
        let mut open = self.take_call(id, failed)?;
        if !failed {
            self.add_files(open.owner, std::mem::take(&mut open.files));
        }
        Some(open)
    }

    /// As [`Fold::end_call`], without adding its files.
    pub fn take_call(&mut self, id: &str, failed: bool) -> Option<OpenCall> {
        let number = self.hash(id);
        let mut open = self.calls.get_mut(&number)?.take()?;
        if let Some(command) = open.command.take() {
            self.end_command(command, failed);
        }
        if let Some(place) = open.category.filter(|_| failed) {
            self.add_failure(open.owner, place);
        }
        Some(open)
    }

    /// Notes whether the last run of a command failed.
    fn end_command(&mut self, command: Sample, failed: bool) {
        self.failed.retain(|other| *other != command);
        if failed {
            self.failed.push_back(command);
        }
        if self.failed.len() > FAILED {
            self.failed.pop_front();
        }
    }

    /// Counts a failed call of a category.
    pub fn add_failure(&mut self, owner: Owner, category: usize) {
        if let Some(counter) = self.activity(owner).counters.get_mut(category) {
            counter.errors += 1;
        }
    }

    /// Adds modified files, by normalized path.
    pub fn add_files(&mut self, owner: Owner, files: Vec<String>) {
        if self.is_copy {
            return;
        }
        let activity = self.activity(owner);
        for file in files {
            if activity.seen.insert(file.clone()) {
                activity.files.push(file);
            }
        }
    }

    /// Sets the tokens of an API message by id; adds them if it has no id.
    pub fn add_usage(&mut self, owner: Owner, id: Option<&str>, tokens: Tokens) {
        if self.is_copy {
            return;
        }
        if owner.is_none() && tokens.sum() > 0 {
            self.out.context_tokens = Some(tokens.sum());
        }
        match id {
            None => self.set_usage(owner, self.usage_of(owner).plus(tokens)),
            Some(id) => {
                let number = self.hash(id);
                self.usages.insert(number, (owner, tokens));
            }
        }
    }

    fn usage_of(&self, owner: Owner) -> Tokens {
        owner.and_then(|place| self.subagents.get(place)).unwrap_or(&self.main).tokens
    }

    /// Sets the tokens of an agent, without those of messages with ids.
    pub fn set_usage(&mut self, owner: Owner, tokens: Tokens) {
        self.activity(owner).tokens = tokens;
    }

    /// Returns the summary, with paths relative to `root`, else to its own repository.
    pub fn finish(mut self, root: Option<&Path>) -> Transcript {
        for (owner, tokens) in std::mem::take(&mut self.usages).into_values() {
            let activity = self.activity(owner);
            activity.tokens = activity.tokens.plus(tokens);
        }
        let bases = Bases::of(root, self.out.cwd.as_deref(), self.own_root.as_deref());
        let mut out = self.out;
        let mut outside = HashSet::new();
        let main = self.main.summary_with(&bases, &mut outside);
        (out.tools, out.files_modified, out.tokens) = (main.tools, main.files_modified, main.tokens);
        out.subagents =
            self.subagents.into_iter().map(|activity| activity.summary_with(&bases, &mut outside)).collect();
        out.tokens = out.subagents.iter().fold(out.tokens, |sum, subagent| sum.plus(subagent.tokens));
        out.files_outside = outside.len() as u64;
        let open = |entry: &Entry| !entry.text.trim().is_empty() && !DONE.contains(&entry.status.as_str());
        let pending = self.todos.into_iter().filter(open);
        out.pending_tasks = pending.map(|entry| PendingTask { text: entry.text, status: entry.status }).collect();
        out.decisions = self.decisions.into();
        out.failed_commands = self.failed.into_iter().map(|command| shown(command, &bases)).collect();
        out.messages = self.messages.into();
        (out.started_at, out.ended_at) =
            self.times.map_or((None, None), |(first, last)| (Some(written(first)), Some(written(last))));
        out
    }
}

impl AgentActivity {
    fn summary_with(self, bases: &Bases, outside: &mut HashSet<String>) -> Subagent {
        let used = self.counters.into_iter().zip(CATEGORIES).filter(|(counter, _)| counter.count > 0);
        let mut tools: Vec<ToolSummary> = used
            .map(|(counter, category)| ToolSummary {
                category: (*category).to_owned(),
                count: counter.count,
                errors: counter.errors,
                samples: counter.samples.into_iter().map(|sample| shown(sample, bases)).collect(),
            })
            .collect();
        // stable: equal counts stay in the order of the categories
        tools.sort_by_key(|tool| std::cmp::Reverse(tool.count));
        let (mut files_modified, mut seen) = (Vec::new(), HashSet::new());
        for file in self.files {
            match bases.relative(&file) {
                Some(path) if seen.insert(path.clone()) => files_modified.push(path),
                Some(_) => {}
                None => {
                    outside.insert(file);
                }
            }
        }
        Subagent { name: self.name, id: self.id, tools, files_modified, tokens: self.tokens }
    }
}

fn shown(sample: Sample, bases: &Bases) -> String {
    match sample {
        Sample::Text(text) => text,
        Sample::Path(path) => line_with_margin(&bases.relative(&path).unwrap_or(path), SAMPLE),
    }
}

//! What a transcript tells, gathered while its rows go by. Nothing here knows which agent wrote it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use crate::model::CATEGORIES;
use crate::model::{Agent, Exchange, Pending, Role, Subagent, Tokens, ToolSummary, Transcript};
use crate::read::call::{Call, Entry, Sample, Todos};
use crate::read::paths;
use crate::read::paths::Bases;
use crate::text::limits::{DECISION, MESSAGE, SAMPLE, STATUS, SUMMARY, held, held_line};
use crate::text::words;

/// How many messages are kept.
const MESSAGES: usize = 10;
/// How many decisions are kept.
const DECISIONS: usize = 20;
/// How many samples of a category are kept.
const SAMPLES: usize = 3;

/// How many subagents are told apart.
const SUBAGENTS: usize = 200;

/// How many entries a list of tasks keeps.
const TODOS: usize = 1_000;

/// The statuses of what is not to be done any more.
const DONE: [&str; 6] = ["completed", "complete", "done", "cancelled", "canceled", "deleted"];

/// Whose doing something is: the main agent's, or that of the subagent at a place.
pub type Whose = Option<usize>;

#[derive(Debug, Default)]
struct Counter {
    count: u64,
    errors: u64,
    samples: Vec<Sample>,
}

/// What one agent did.
#[derive(Debug, Default)]
struct Side {
    name: Option<String>,
    id: Option<String>,
    counters: [Counter; CATEGORIES.len()],
    files: Vec<String>,
    seen: HashSet<String>,
    tokens: Tokens,
}

/// A call that has no result yet.
#[derive(Debug)]
pub struct Open {
    whose: Whose,
    /// The place of its category.
    pub category: Option<usize>,
    /// The files it would modify; none where they are modified already.
    pub files: Vec<String>,
    /// What was asked: the id, if any, and the question.
    pub questions: Vec<(Option<String>, String)>,
}

/// The gathered transcript.
pub struct Fold {
    hasher: RandomState,
    /// What needs no gathering.
    pub out: Transcript,
    /// The root of the repository, as the transcript itself names it.
    pub own_root: Option<String>,
    main: Side,
    subagents: Vec<Side>,
    calls: HashMap<u64, Option<Open>>,
    usages: HashMap<u64, (Whose, Tokens)>,
    tasks: HashMap<u64, String>,
    todos: Vec<Entry>,
    /// Where the entries that have ids are in the list.
    todo_places: HashMap<u64, usize>,
    messages: VecDeque<Exchange>,
    decisions: VecDeque<String>,
    /// The folder the rows are from now, normal.
    pub here: Option<String>,
    times: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn parsed(time: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(time.trim()).ok().map(|time| time.to_utc())
}

/// A time in milliseconds since 1970, RFC 3339; `None` beyond the calendar.
pub fn from_millis(ms: u64) -> Option<String> {
    DateTime::from_timestamp_millis(i64::try_from(ms).ok()?).map(written)
}

impl Fold {
    /// Nothing yet.
    pub fn new(agent: Agent) -> Self {
        Fold {
            hasher: RandomState::new(),
            out: Transcript::new(agent),
            own_root: None,
            main: Side::default(),
            subagents: Vec::new(),
            calls: HashMap::new(),
            usages: HashMap::new(),
            tasks: HashMap::new(),
            todos: Vec::new(),
            todo_places: HashMap::new(),
            messages: VecDeque::new(),
            decisions: VecDeque::new(),
            here: None,
            times: None,
        }
    }

    /// A number that stands for a text; an id can be as long as a row.
    pub fn number(&self, text: &str) -> u64 {
        self.hasher.hash_one(text)
    }

    /// The rows from here on are from that folder; the first is the transcript's.
    pub fn move_to(&mut self, cwd: &str) {
        let Some(here) = paths::normal(cwd, None) else { return };
        self.out.cwd.get_or_insert_with(|| cwd.to_owned());
        if self.here.as_ref() != Some(&here) {
            self.here = Some(here);
        }
    }

    /// Something happened at that time.
    pub fn at(&mut self, time: &str) {
        let Some(time) = parsed(time) else { return };
        let (first, last) = self.times.get_or_insert((time, time));
        (*first, *last) = (time.min(*first), time.max(*last));
    }

    fn side(&mut self, whose: Whose) -> &mut Side {
        match whose {
            Some(place) if place < self.subagents.len() => &mut self.subagents[place],
            _ => &mut self.main,
        }
    }

    /// A new subagent; when there are very many, all others are one.
    pub fn add_subagent(&mut self, id: Option<&str>) -> Whose {
        if self.subagents.len() >= SUBAGENTS {
            if self.subagents.len() == SUBAGENTS {
                self.subagents.push(Side { name: Some("others".to_owned()), ..Default::default() });
            }
            return Some(SUBAGENTS);
        }
        self.subagents.push(Side { id: id.map(|id| held(id, MESSAGE).to_owned()), ..Default::default() });
        Some(self.subagents.len() - 1)
    }

    /// The name of a subagent, if it has none yet.
    pub fn name(&mut self, whose: Whose, name: &str) {
        if let Some(side) = whose.and_then(|place| self.subagents.get_mut(place)) {
            side.name.get_or_insert_with(|| held_line(name, SAMPLE));
        }
    }

    /// What a subagent was told first: it is called as the task it was started for.
    pub fn told(&mut self, whose: Whose, text: &str) {
        let number = self.number(text.trim());
        if let Some(name) = self.tasks.get(&number).cloned() {
            self.name(whose, &name);
        }
    }

    /// Something was said by the main agent or its user.
    pub fn said(&mut self, role: Role, text: &str, at: Option<&str>) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if role == Role::Assistant {
            for decision in words::decisions(text) {
                self.decided(decision);
            }
        }
        self.heard(role, held(text, MESSAGE).to_owned(), at);
    }

    /// Something short was said, in which decisions were looked for already.
    pub fn heard(&mut self, role: Role, text: String, at: Option<&str>) {
        if role == Role::User && self.out.task.is_none() {
            self.out.task = Some(text.clone());
        }
        if self.messages.len() == MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back(Exchange { role, text, at: at.and_then(parsed).map(written) });
    }

    /// Something was decided.
    pub fn decided(&mut self, decision: String) {
        self.decisions.retain(|known| *known != decision);
        self.decisions.push_back(decision);
        if self.decisions.len() > DECISIONS {
            self.decisions.pop_front();
        }
    }

    /// The user answered a question.
    pub fn answered(&mut self, question: &str, answer: &str) {
        if !answer.trim().is_empty() {
            self.decided(held_line(&format!("{} → {}", question.trim(), answer.trim()), DECISION));
        }
    }

    /// The agent summed up the conversation.
    pub fn summed_up(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            self.out.summary = Some(held(text, SUMMARY).to_owned());
        }
    }

    /// A tool was called. An id that was called before is the same call. Without an id there will be no result.
    pub fn called(&mut self, whose: Whose, id: Option<&str>, call: Call) {
        let number = id.map(|id| self.number(id));
        if number.is_some_and(|number| self.calls.contains_key(&number)) {
            return;
        }
        let Call { category, sample, files, questions, todos, task } = call;
        if let Some(todos) = todos.filter(|_| whose.is_none()) {
            self.planned(todos);
        }
        if let Some((prompt, name)) = task {
            let number = self.number(prompt.trim());
            self.tasks.insert(number, name);
        }
        let side = self.side(whose);
        if let Some(counter) = category.and_then(|place| side.counters.get_mut(place)) {
            counter.count += 1;
            if let Some(sample) = sample.filter(|_| counter.samples.len() < SAMPLES)
                && !counter.samples.contains(&sample)
            {
                counter.samples.push(sample);
            }
        }
        if let Some(number) = number {
            self.calls.insert(number, Some(Open { whose, category, files, questions }));
        }
    }

    fn planned(&mut self, todos: Todos) {
        if !todos.merge {
            self.todos.clear();
            self.todo_places.clear();
        }
        for mut entry in todos.entries {
            entry.text.truncate(held(&entry.text, MESSAGE).len());
            entry.status.truncate(held(&entry.status, STATUS).len());
            let id = entry.id.take().map(|id| self.number(&id));
            let place = id.and_then(|id| self.todo_places.get(&id)).copied().filter(|_| todos.merge);
            match place {
                Some(place) => {
                    let known = &mut self.todos[place];
                    known.status = entry.status;
                    if !entry.text.is_empty() {
                        known.text = entry.text;
                    }
                }
                None if self.todos.len() < TODOS => {
                    if let Some(id) = id {
                        self.todo_places.entry(id).or_insert(self.todos.len());
                    }
                    self.todos.push(entry);
                }
                None => {}
            }
        }
    }

    /// A call has its result: `failed` or not. The call, the first time there is one.
    pub fn ended(&mut self, id: &str, failed: bool) -> Option<Open> {
        let mut open = self.settled(id, failed)?;
        if !failed {
            self.modified(open.whose, std::mem::take(&mut open.files));
        }
        Some(open)
    }

    /// As [`Fold::ended`], but the files are left for the caller to modify.
    pub fn settled(&mut self, id: &str, failed: bool) -> Option<Open> {
        let number = self.number(id);
        let open = self.calls.get_mut(&number)?.take()?;
        if let Some(place) = open.category.filter(|_| failed) {
            self.failed(open.whose, place);
        }
        Some(open)
    }

    /// One call of a category failed.
    pub fn failed(&mut self, whose: Whose, category: usize) {
        if let Some(counter) = self.side(whose).counters.get_mut(category) {
            counter.errors += 1;
        }
    }

    /// Files were modified; their paths are normal.
    pub fn modified(&mut self, whose: Whose, files: Vec<String>) {
        let side = self.side(whose);
        for file in files {
            if side.seen.insert(file.clone()) {
                side.files.push(file);
            }
        }
    }

    /// What a message of the API used; said again under the same id, it takes the place of what was said before. Without an id
    /// it counts for itself.
    pub fn used(&mut self, whose: Whose, id: Option<&str>, tokens: Tokens) {
        if whose.is_none() && tokens.sum() > 0 {
            self.out.context_tokens = Some(tokens.sum());
        }
        match id {
            None => self.used_in_all(whose, self.used_by(whose).plus(tokens)),
            Some(id) => {
                let number = self.number(id);
                self.usages.insert(number, (whose, tokens));
            }
        }
    }

    fn used_by(&self, whose: Whose) -> Tokens {
        whose.and_then(|place| self.subagents.get(place)).unwrap_or(&self.main).tokens
    }

    /// What was used up to now, messages with an id not counted.
    pub fn used_in_all(&mut self, whose: Whose, tokens: Tokens) {
        self.side(whose).tokens = tokens;
    }

    /// The transcript, its paths told from `root`, else from its own repository.
    pub fn finish(mut self, root: Option<&Path>) -> Transcript {
        for (whose, tokens) in std::mem::take(&mut self.usages).into_values() {
            let side = self.side(whose);
            side.tokens = side.tokens.plus(tokens);
        }
        let bases = Bases::of(root, self.out.cwd.as_deref(), self.own_root.as_deref());
        let mut out = self.out;
        let mut outside = HashSet::new();
        let main = self.main.told(&bases, &mut outside);
        (out.tools, out.files_modified, out.tokens) = (main.tools, main.files_modified, main.tokens);
        out.subagents = self.subagents.into_iter().map(|side| side.told(&bases, &mut outside)).collect();
        out.tokens = out.subagents.iter().fold(out.tokens, |sum, subagent| sum.plus(subagent.tokens));
        out.files_outside = outside.len() as u64;
        let open = |entry: &Entry| !entry.text.trim().is_empty() && !DONE.contains(&entry.status.as_str());
        let pending = self.todos.into_iter().filter(open);
        out.pending_tasks = pending.map(|entry| Pending { text: entry.text, status: entry.status }).collect();
        out.decisions = self.decisions.into();
        out.messages = self.messages.into();
        (out.started_at, out.ended_at) =
            self.times.map_or((None, None), |(first, last)| (Some(written(first)), Some(written(last))));
        out
    }
}

impl Side {
    fn told(self, bases: &Bases, outside: &mut HashSet<String>) -> Subagent {
        let used = self.counters.into_iter().zip(CATEGORIES).filter(|(counter, _)| counter.count > 0);
        let mut tools: Vec<ToolSummary> = used
            .map(|(counter, category)| ToolSummary {
                category: (*category).to_owned(),
                count: counter.count,
                errors: counter.errors,
                samples: counter.samples.into_iter().map(|sample| shown(sample, bases)).collect(),
            })
            .collect();
        // stable: what was used alike often stays in the order of the categories
        tools.sort_by_key(|tool| std::cmp::Reverse(tool.count));
        let (mut files_modified, mut seen) = (Vec::new(), HashSet::new());
        for file in self.files {
            match bases.place(&file) {
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
        Sample::Path(path) => held_line(&bases.place(&path).unwrap_or(path), SAMPLE),
    }
}

//! Sums of a transcript's collections, and its uncollected part.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::text::list::add_new;
use empirica_notes::model::collected::{Collected, NumberedSubagent};
use empirica_transcripts::model::{CATEGORIES, PendingTask, Subagent, Tokens, ToolSummary, Transcript};

/// Number of samples kept per category.
const SAMPLES: usize = 3;

/// The collected part of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Transcript")]
pub struct CollectedTranscript {
    /// The agent that wrote it, as `collect --agent` names it.
    pub agent: String,
    /// The transcript: the agent's own id of its session, or a substitute.
    #[serde(rename = "transcript_id")]
    pub transcript: String,
    /// The last branch.
    pub branch: Option<String>,
    /// The last model.
    pub model: Option<String>,
    /// Time of its start.
    pub started_at: Option<String>,
    /// Time of its last row.
    pub ended_at: Option<String>,
    /// Number of rows read.
    pub rows: u64,
    /// Number of unreadable rows.
    pub skipped_rows: u64,
    /// End of the collected part, in bytes.
    #[serde(rename = "size")]
    pub to: u64,
    /// Tool use by category.
    #[serde(rename = "tool_summaries")]
    pub tools: Vec<ToolSummary>,
    /// Modified files, relative to the repository root.
    #[serde(rename = "files_modified")]
    pub files: Vec<String>,
    /// Number of modified files outside the repository.
    pub files_outside: u64,
    /// Open entries of the newest to-do list.
    pub pending_tasks: Vec<PendingTask>,
    /// The commands whose last run failed.
    pub failed_commands: Vec<String>,
    /// The decisions.
    pub decisions: Vec<String>,
    /// Tokens used.
    pub tokens: Tokens,
    /// Tokens in the context at the end.
    pub context_tokens: Option<u64>,
    /// Summary of each subagent.
    pub subagents: Vec<Subagent>,
    /// Number of compactions that no event told.
    #[serde(skip)]
    pub compactions: u64,
}

impl CollectedTranscript {
    fn add(&mut self, new: &Collected) {
        self.to = new.to;
        self.rows = self.rows.saturating_add(new.rows);
        self.compactions = self.compactions.saturating_add(new.compactions);
        self.skipped_rows = self.skipped_rows.saturating_add(new.skipped_rows);
        for (own, new) in
            [(&mut self.branch, &new.branch), (&mut self.model, &new.model), (&mut self.ended_at, &new.ended_at)]
        {
            *own = new.clone().or_else(|| own.take());
        }
        self.started_at = self.started_at.take().or_else(|| new.started_at.clone());
        new.tools.iter().for_each(|tool| add_tool(&mut self.tools, tool));
        add_new(&mut self.files, &new.files);
        self.files_outside = self.files_outside.saturating_add(new.files_outside);
        self.pending_tasks = new.pending_tasks.clone().unwrap_or_else(|| std::mem::take(&mut self.pending_tasks));
        self.failed_commands = new.failed_commands.clone().unwrap_or_else(|| std::mem::take(&mut self.failed_commands));
        add_new(&mut self.decisions, &new.decisions);
        self.tokens = self.tokens.plus(new.tokens);
        self.context_tokens = new.context_tokens.or(self.context_tokens);
        for NumberedSubagent { at, subagent } in &new.subagents {
            match usize::try_from(*at).ok() {
                Some(at) if at < self.subagents.len() => self.subagents[at] = subagent.clone(),
                // without an index it comes last
                _ => self.subagents.push(subagent.clone()),
            }
        }
    }

    /// Subtracts an earlier state, except for pending tasks, which are a state.
    pub fn leave_out(&mut self, before: &CollectedTranscript) {
        self.tools = self.tools.iter().filter_map(|tool| more(tool, &before.tools)).collect();
        self.files.retain(|file| !before.files.contains(file));
        self.decisions.retain(|text| !before.decisions.contains(text));
        self.tokens = self.tokens.minus(before.tokens);
    }

    /// Tokens that a resume replaces: its context at the end, otherwise its input and output.
    pub fn stands_for(&self) -> Option<u64> {
        let used = self.tokens.sum();
        self.context_tokens.or((used > 0).then_some(used))
    }
}

/// A pending task with its status, unless that is `pending`.
pub fn pending_text(task: &PendingTask) -> String {
    match task.status.as_str() {
        "pending" => task.text.clone(),
        status => format!("{} ({})", task.text, status.replace('_', " ")),
    }
}

/// Adds tool use of a category.
pub fn add_tool(tools: &mut Vec<ToolSummary>, new: &ToolSummary) {
    match tools.iter_mut().find(|tool| tool.category == new.category) {
        None => tools.push(new.clone()),
        Some(tool) => {
            tool.count = tool.count.saturating_add(new.count);
            tool.errors = tool.errors.saturating_add(new.errors);
            add_new(&mut tool.samples, &new.samples);
            tool.samples.truncate(SAMPLES);
        }
    }
}

/// Sorts tools: most used first, then by category.
fn in_order(tools: &mut [ToolSummary]) {
    let place = |tool: &ToolSummary| CATEGORIES.iter().position(|category| *category == tool.category);
    tools.sort_by(|a, b| b.count.cmp(&a.count).then(place(a).cmp(&place(b))));
}

/// Tool use by category. An agent's own log is also in its transcripts, so per category the larger counts. Most used
/// first.
pub fn activity(logged: Vec<ToolSummary>, transcripts: &[CollectedTranscript]) -> Vec<ToolSummary> {
    let mut out: Vec<ToolSummary> = Vec::new();
    transcripts.iter().flat_map(|collected| &collected.tools).for_each(|tool| add_tool(&mut out, tool));
    for tool in logged {
        match out.iter_mut().find(|other| other.category == tool.category) {
            Some(other) if other.count < tool.count => *other = tool,
            Some(_) => {}
            None => out.push(tool),
        }
    }
    in_order(&mut out);
    out
}

/// Sums collections by transcript, in order of ID.
///
/// Two clones may have collected the same part of a transcript, and a session may have only some parts: of
/// overlapping parts, those that cover most together count, so that nothing counts twice.
pub fn by_transcript<'a>(all: impl IntoIterator<Item = &'a Collected>) -> Vec<CollectedTranscript> {
    let mut of: BTreeMap<(&str, &str), Vec<&Collected>> = BTreeMap::new();
    for collected in all {
        of.entry((&collected.agent, &collected.transcript)).or_default().push(collected);
    }
    let sum = |((agent, transcript), collections): ((&str, &str), Vec<&Collected>)| {
        let (agent, transcript) = (agent.into(), transcript.into());
        let mut sum = CollectedTranscript { agent, transcript, ..CollectedTranscript::default() };
        chain(&collections).into_iter().for_each(|part| sum.add(part));
        in_order(&mut sum.tools);
        sum
    };
    of.into_iter().map(sum).collect()
}

/// The non-overlapping collections, in order, that cover most together.
fn chain<'a>(collections: &[&'a Collected]) -> Vec<&'a Collected> {
    let mut by_end: Vec<&Collected> = collections.iter().copied().filter(|one| one.to > one.from).collect();
    // keeps the first of equal ranges
    by_end.sort_by_key(|one| (one.to, one.from));
    by_end.dedup_by_key(|one| (one.to, one.from));
    // per prefix, the largest coverage, and whether its last collection is included
    let mut best: Vec<(u64, bool)> = vec![(0, false)];
    let before = |one: &Collected| by_end.partition_point(|other| other.to <= one.from);
    for one in &by_end {
        let with = best[before(one)].0.saturating_add(one.to - one.from);
        let without = best.last().map_or(0, |(reach, _)| *reach);
        best.push((with.max(without), with > without));
    }
    let (mut out, mut at) = (Vec::new(), by_end.len());
    while at > 0 {
        if best[at].1 {
            out.push(by_end[at - 1]);
            at = before(by_end[at - 1]);
        } else {
            at -= 1;
        }
    }
    out.reverse();
    out
}

/// The uncollected part of a transcript; `None` if the transcript is neither longer nor ends later (a shorter one
/// may, after a part was reverted). Numbers that decreased add nothing.
pub fn added(transcript: &Transcript, id: &str, collected: &CollectedTranscript) -> Option<Collected> {
    if transcript.size <= collected.to && !ends_later(transcript, collected) {
        return None;
    }
    let files: Vec<String> = transcript.all_files_modified().into_iter().map(str::to_owned).collect();
    let new = |list: &[String], collected: &[String]| -> Vec<String> {
        let collected: BTreeSet<&String> = collected.iter().collect();
        list.iter().filter(|text| !collected.contains(text)).cloned().collect()
    };
    let changed =
        |now: &Option<String>, collected: &Option<String>| now.clone().filter(|now| Some(now) != collected.as_ref());
    let numbered = (0..).zip(&transcript.subagents);
    let subagents = numbered.filter(|(at, subagent)| collected.subagents.get(*at) != Some(*subagent));
    Some(Collected {
        agent: transcript.agent.name().to_owned(),
        transcript: id.to_owned(),
        task: task_of(transcript),
        // which session has the parent's transcript is known to the caller
        forked_from: None,
        compactions: transcript.compactions.saturating_sub(collected.compactions),
        from: collected.to,
        to: transcript.size.max(collected.to.saturating_add(1)),
        rows: transcript.rows.saturating_sub(collected.rows),
        // a torn last row is complete the next time
        skipped_rows: transcript
            .skipped_rows
            .saturating_sub(u64::from(transcript.torn))
            .saturating_sub(collected.skipped_rows),
        branch: changed(&transcript.branch, &collected.branch),
        model: changed(&transcript.model, &collected.model),
        started_at: transcript.started_at.clone().filter(|_| collected.started_at.is_none()),
        ended_at: changed(&transcript.ended_at, &collected.ended_at),
        tools: transcript.tools.iter().filter_map(|tool| more(tool, &collected.tools)).collect(),
        files: new(&files, &collected.files),
        files_outside: transcript.files_outside.saturating_sub(collected.files_outside),
        pending_tasks: (transcript.pending_tasks != collected.pending_tasks).then(|| transcript.pending_tasks.clone()),
        failed_commands: (transcript.failed_commands != collected.failed_commands)
            .then(|| transcript.failed_commands.clone()),
        decisions: new(&transcript.decisions, &collected.decisions),
        tokens: transcript.tokens.minus(collected.tokens),
        context_tokens: transcript.context_tokens.filter(|now| Some(*now) != collected.context_tokens),
        subagents: subagents
            .map(|(at, subagent)| NumberedSubagent { at: at as u64, subagent: subagent.clone() })
            .collect(),
    })
}

/// Longest task, in characters.
const MAX_TASK: usize = 200;

/// The task of a transcript: the first line of the user's first message.
pub fn task_of(transcript: &Transcript) -> Option<String> {
    let line = transcript.task.as_deref()?.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_TASK).collect())
}

/// Whether a transcript ends after its collected part.
fn ends_later(transcript: &Transcript, collected: &CollectedTranscript) -> bool {
    let time = |text: &Option<String>| chrono::DateTime::parse_from_rfc3339(text.as_deref()?).ok();
    time(&transcript.ended_at).zip(time(&collected.ended_at)).is_some_and(|(now, before)| now > before)
}

/// New tool use of a category; `None` if there is none.
fn more(tool: &ToolSummary, collected: &[ToolSummary]) -> Option<ToolSummary> {
    let nothing = ToolSummary::default();
    let collected = collected.iter().find(|collected| collected.category == tool.category).unwrap_or(&nothing);
    let count = tool.count.saturating_sub(collected.count);
    let errors = tool.errors.saturating_sub(collected.errors);
    let free = SAMPLES.saturating_sub(collected.samples.len());
    let samples = tool.samples.iter().filter(|text| !collected.samples.contains(text)).take(free).cloned().collect();
    (count + errors > 0).then(|| ToolSummary { category: tool.category.clone(), count, errors, samples })
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_transcripts::model::Agent;

    fn transcript(size: u64, count: u64) -> Transcript {
        let mut out = Transcript::new(Agent::Codex);
        out.size = size;
        out.rows = size / 10;
        let samples = (0..count.min(3)).map(|at| format!("run {at}")).collect();
        out.tools = vec![ToolSummary { category: "shell".into(), count, errors: count / 2, samples }];
        out.files_modified = (0..count).map(|at| format!("f{at}")).collect();
        out.tokens = Tokens { input: 10 * count, ..Tokens::default() };
        out.context_tokens = Some(size);
        out.pending_tasks = vec![PendingTask { text: format!("do {count}"), status: "pending".into() }];
        out.subagents = vec![Subagent { name: Some(format!("s{count}")), ..Default::default() }];
        out
    }

    fn only(all: &[Collected]) -> CollectedTranscript {
        let mut folded = by_transcript(all);
        assert_eq!(folded.len(), 1);
        folded.remove(0)
    }

    #[test]
    fn only_the_uncollected_part_is_added() {
        let first = added(&transcript(100, 2), "x", &CollectedTranscript::default()).expect("something");
        let one = only(std::slice::from_ref(&first));
        assert_eq!((one.to, one.rows, one.tools[0].count, one.files.len()), (100, 10, 2, 2));
        assert_eq!(added(&transcript(100, 2), "x", &one), None, "nothing is new");
        assert_eq!(added(&transcript(90, 1), "x", &one), None, "it was cut off");
        // shorter but later: a part was reverted, then others were added
        let ended = CollectedTranscript { ended_at: Some("2026-03-01T10:00:00Z".into()), ..one.clone() };
        let mut undone = transcript(90, 1);
        undone.ended_at = Some("2026-03-01T10:00:00.500Z".into());
        undone.files_modified.push("new".into());
        let undone = added(&undone, "x", &ended).expect("something");
        assert_eq!((undone.from, undone.to, &undone.files[..]), (100, 101, &["new".to_owned()][..]));
        assert_eq!(undone.pending_tasks.expect("a list")[0].text, "do 1");
        let second = added(&transcript(250, 5), "x", &one).expect("something");
        assert_eq!((second.from, second.rows, second.tools[0].count, second.tokens.input), (100, 15, 3, 30));
        assert_eq!(
            (&second.files[..], &second.tools[0].samples[..]),
            (&["f2".into(), "f3".into(), "f4".into()][..], &["run 2".to_owned()][..])
        );
        let both = only(&[first, second]);
        let whole = added(&transcript(250, 5), "x", &CollectedTranscript::default()).map(|all| only(&[all]));
        assert_eq!(Some(both), whole, "in two collections or in one");
    }

    #[test]
    fn parts_that_two_clones_collected_count_once() {
        let part = |from: u64, to: u64, count: u64| Collected {
            agent: "codex".into(),
            transcript: "x".into(),
            from,
            to,
            tools: vec![ToolSummary { category: "shell".into(), count, ..Default::default() }],
            ..Default::default()
        };
        let count = |all: &[Collected]| only(all).tools.first().map_or(0, |tool| tool.count);
        assert_eq!(count(&[part(0, 100, 1), part(0, 100, 1), part(100, 150, 1)]), 2);
        assert_eq!(count(&[part(0, 100, 1), part(0, 120, 5), part(100, 150, 1)]), 2, "the way that leads furthest");
        assert_eq!(count(&[part(0, 100, 1), part(0, 120, 5)]), 5);
        assert_eq!(count(&[part(50, 100, 1)]), 1, "what was before is with another session");
        assert_eq!(count(&[part(0, 30, 1), part(40, 100, 2), part(0, 50, 9)]), 3, "nothing else is left out");
        let many: Vec<Collected> = (0..500).map(|at| part(at * 10, at * 10 + 15, 1)).collect();
        assert_eq!(count(&many), 250);
        assert_eq!(count(&[part(0, 0, 1), part(10, 5, 1)]), 0);
    }

    #[test]
    fn transcripts_are_summed_separately() {
        let of = |agent: &str, id: &str| Collected {
            agent: agent.into(),
            transcript: id.into(),
            to: 1,
            ..Default::default()
        };
        assert_eq!(by_transcript(&[of("codex", "x"), of("codex", "y"), of("gemini", "x")]).len(), 3);
        assert_eq!(by_transcript(&[]).len(), 0);
    }
}

//! The answer of `collect --all`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::collect::all::{AgentTranscripts, CollectAllOutcome, FailedTranscript};
use empirica_notes::error::{Command, Error, empirica, text};
use empirica_transcripts::model::Tokens;

/// The most folders that are named in text.
const FOLDERS: usize = 3;

/// All transcripts of the repository on this machine.
#[derive(Serialize, JsonSchema)]
pub struct CollectedAllView<'a> {
    /// Whether nothing was read and stored.
    dry_run: bool,
    /// The agents that have any.
    agents: &'a [AgentTranscripts],
    /// The number of transcripts with new parts.
    collected: usize,
    /// The sessions started for them.
    new_sessions: usize,
    /// The handoffs written for them: by each session that is over and has something to hand over.
    handoffs: usize,
    /// The number of new rows.
    rows: u64,
    /// The number of rows not read: invalid JSON, or longer than 16 MB.
    skipped_rows: u64,
    /// The new tokens, each message of the API once.
    tokens: Tokens,
    /// The number of transcripts left out as they changed within the last 5 minutes: their sessions may go on.
    in_use: usize,
    /// The transcripts that could not be read.
    failed: &'a [FailedTranscript],
    /// The transcripts left out as nothing shows whose they are, by folder.
    unproven: Vec<UnprovenView<'a>>,
    /// The remotes to which the next push or `sync` sends the records.
    sent_to: &'a [String],
}

/// Transcripts of which nothing shows whose they are.
#[derive(Serialize, JsonSchema)]
struct UnprovenView<'a> {
    /// The folder they were made in: it no longer exists, or they name a remote of another repository.
    folder: &'a str,
    /// How many they are.
    transcripts: usize,
    /// The command that collects them, too.
    #[schemars(with = "String")]
    command: Command,
}

fn take(folder: &str) -> Command {
    empirica("collect").flag("--all").arg(folder)
}

/// A number of bytes as `12 kB` or `3.4 MB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

pub fn answer(outcome: &CollectAllOutcome) -> Answer {
    let mut unproven: Vec<(&str, usize)> =
        outcome.unproven.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    unproven.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut answer = Answer::new(CollectedAllView {
        dry_run: outcome.dry_run,
        agents: &outcome.agents,
        collected: outcome.collected,
        new_sessions: outcome.new_sessions,
        handoffs: outcome.handoffs,
        rows: outcome.rows,
        skipped_rows: outcome.skipped_rows,
        tokens: outcome.tokens,
        in_use: outcome.in_use,
        failed: &outcome.failed,
        unproven: unproven
            .iter()
            .map(|(folder, transcripts)| UnprovenView { folder, transcripts: *transcripts, command: take(folder) })
            .collect(),
        sent_to: &outcome.sent_to,
    });
    for (at, (folder, _)) in unproven.iter().enumerate() {
        answer = answer.remedy(format!("/unproven/{at}/command"), take(folder));
    }
    answer = answer.text(listed(outcome));
    for (folder, count) in unproven.iter().take(FOLDERS) {
        let transcripts = format::count(*count, "transcript");
        answer = answer.say(format!(
            "{transcripts} made in {} left out: nothing shows that they belong to this repository. To collect them anyway: {}",
            safe::line(folder),
            take(folder)
        ));
    }
    if unproven.len() > FOLDERS {
        let rest: usize = unproven[FOLDERS..].iter().map(|(_, count)| count).sum();
        let folders = format::count(unproven.len() - FOLDERS, "other folder");
        answer = answer.say(format!("{} of {folders} left out, too.", format::count(rest, "transcript")));
    }
    answer = match (outcome.agents.is_empty(), outcome.dry_run) {
        (true, _) => answer.say("There is no transcript of this repository."),
        (_, true) => answer.say("This is a dry run: nothing is stored."),
        _ => collected(outcome, answer),
    };
    if outcome.collected > 0 {
        answer = sent(outcome, answer).hint(text!["what they left: ", empirica("resume")]);
    }
    if !outcome.failed.is_empty() {
        let transcripts = format::count(outcome.failed.len(), "transcript");
        answer.failed = Some(
            Error::refused(format!("cannot collect {transcripts}; the others are stored"))
                .reason("they cannot be read")
                .suggest("Check the files that the warnings name, then repeat the command."),
        );
    }
    answer.stored(&outcome.stored)
}

/// Says what was collected and what was not.
pub fn collected(outcome: &CollectAllOutcome, answer: Answer) -> Answer {
    let transcripts = |number| format::count(number, "transcript");
    let mut answer = answer.say(match outcome.collected {
        0 => "Nothing is new in them.".to_owned(),
        collected => format!(
            "Collected {}: {}, {}.",
            transcripts(collected),
            format::count(outcome.new_sessions, "new session"),
            format::count(outcome.handoffs, "handoff")
        ),
    });
    if outcome.in_use > 0 {
        let left_out = transcripts(outcome.in_use);
        answer = answer.say(format!(
            "Left out {left_out} that changed in the last 5 minutes: collect again when the session is over."
        ));
    }
    if outcome.skipped_rows > 0 {
        let rows = format::count(outcome.skipped_rows as usize, "row");
        answer = answer.warn([format!("{rows} of the transcripts could not be read and were left out")]);
    }
    answer.warn(outcome.failed.iter().map(|one| safe::line(&one.error)))
}

/// Says where the records go next.
fn sent(outcome: &CollectAllOutcome, answer: Answer) -> Answer {
    if outcome.sent_to.is_empty() {
        return answer;
    }
    answer.say(format!(
        "They are stored only in this clone. The next push sends them to {}; to preview: {}; to keep them local: git config empirica.sync off",
        outcome.sent_to.iter().map(|name| safe::line(name)).collect::<Vec<_>>().join(", "),
        empirica("sync").flag("--dry-run")
    ))
}

/// A line per agent.
fn listed(outcome: &CollectAllOutcome) -> String {
    let line = |one: &AgentTranscripts| {
        let since = one.since.as_deref().map(|since| format!(" since {}", format::date(since))).unwrap_or_default();
        let transcripts = format::count(one.transcripts, "transcript");
        format!("{:<12} {transcripts}{since}, {}; {} new\n", one.agent.name(), size(one.bytes), one.new)
    };
    outcome.agents.iter().map(line).collect()
}

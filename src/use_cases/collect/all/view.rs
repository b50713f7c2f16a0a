//! The answer of `collect --all`.

use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::collect::all::{AgentTranscripts, CollectAllOutcome};
use empirica_notes::error::{Error, empirica, text};

/// The most folders that are named in text.
const FOLDERS: usize = 3;

/// A number of bytes as `12 kB` or `3.4 MB`.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

pub fn answer(outcome: &CollectAllOutcome) -> Answer {
    let mut answer = Answer::new(outcome);
    for (at, one) in outcome.unproven.iter().enumerate() {
        answer = answer.remedy(format!("/unproven/{at}/command"), one.command.clone());
    }
    answer = answer.text(listed(outcome));
    for one in outcome.unproven.iter().take(FOLDERS) {
        let transcripts = format::count(one.transcripts, "transcript");
        answer = answer.say(format!(
            "{transcripts} made in {} left out: nothing shows that they belong to this repository. To collect them anyway: {}",
            safe::line(&one.folder),
            one.command
        ));
    }
    if let Some(rest) = outcome.unproven.get(FOLDERS..).filter(|rest| !rest.is_empty()) {
        let folders = format::count(rest.len(), "other folder");
        let rest: usize = rest.iter().map(|one| one.transcripts).sum();
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

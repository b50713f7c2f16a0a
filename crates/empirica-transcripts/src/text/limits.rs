//! Length limits of texts: while reading, with a margin, and final.

use crate::model::{MARGIN, ToolSummary, Transcript};

/// The limit of samples and subagent names, in characters.
pub const SAMPLE: usize = 120;
/// The limit of decisions, in characters.
pub const DECISION: usize = 300;
/// The limit of messages, tasks, list entries and ids, in characters.
pub const MESSAGE: usize = 2_000;
/// The limit of summaries, in characters.
pub const SUMMARY: usize = 20_000;
/// The limit of statuses, in characters.
pub const STATUS: usize = 40;

/// Cuts a truncated text after its last whole word, unless that word begins before `most`.
fn without_partial_word(text: &str, most: usize) -> &str {
    let least = truncated(text, most).len();
    text.rfind(char::is_whitespace).filter(|end| *end >= least).map_or(text, |end| text[..end].trim_end())
}

/// The first `most` characters of a text and the margin, without a partial word.
pub fn with_margin(text: &str, most: usize) -> &str {
    let kept = truncated(text, most + MARGIN);
    if kept.len() == text.len() { text } else { without_partial_word(kept, most) }
}

/// A text on one line of at most `most` characters, cut after a word and ended by `…` if it is longer.
fn line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most * 4 {
            break;
        }
    }
    let kept = truncated(&line, most);
    if kept.len() == line.len() {
        line
    } else {
        format!("{}…", without_partial_word(truncated(kept, most.saturating_sub(1)), most / 2))
    }
}

/// As [`with_margin`], on one line.
pub fn line_with_margin(text: &str, most: usize) -> String {
    let line = line(text, most + MARGIN);
    match line.strip_suffix('…').filter(|kept| kept.chars().count() > most) {
        Some(kept) => format!("{}…", without_partial_word(kept, most)),
        None => line,
    }
}

fn cut(text: &mut String, most: usize) {
    text.truncate(truncated(text, most).len());
}

fn cut_tools(tools: &mut [ToolSummary]) {
    tools.iter_mut().flat_map(|tool| &mut tool.samples).for_each(|sample| *sample = line(sample, SAMPLE));
}

impl Transcript {
    /// Cuts all texts to their limits. They are read with [`MARGIN`] more characters, so that secrets are replaced
    /// while whole: replace them before you call this. Paths are never cut.
    pub fn cut(&mut self) {
        cut_tools(&mut self.tools);
        self.decisions.iter_mut().for_each(|decision| *decision = line(decision, DECISION));
        self.failed_commands.iter_mut().for_each(|command| *command = line(command, SAMPLE));
        self.task.iter_mut().for_each(|task| cut(task, MESSAGE));
        self.summary.iter_mut().for_each(|summary| cut(summary, SUMMARY));
        self.messages.iter_mut().for_each(|message| cut(&mut message.text, MESSAGE));
        for pending in &mut self.pending_tasks {
            cut(&mut pending.text, MESSAGE);
            cut(&mut pending.status, STATUS);
        }
        for subagent in &mut self.subagents {
            cut_tools(&mut subagent.tools);
            subagent.name.iter_mut().for_each(|name| *name = line(name, SAMPLE));
            subagent.id.iter_mut().for_each(|id| cut(id, MESSAGE));
        }
    }
}

/// The first `most` characters of a text.
pub fn truncated(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::reader::read_from;

    /// A transcript with `text` in every place that has a limit.
    fn everywhere(text: &str) -> Transcript {
        let row = |kind: &str, rest: serde_json::Value| {
            let mut row = json!({"type": kind, "sessionId": "s", "cwd": "/r"});
            row.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            row.to_string() + "\n"
        };
        let call = |name: &str, input: serde_json::Value| json!([{"type": "tool_use", "id": name, "name": name, "input": input}]);
        let rows = [
            row("user", json!({"message": {"content": text}})),
            row("assistant", json!({"message": {"content": format!("I decided to {text}")}})),
            row("summary", json!({"summary": text})),
            row("assistant", json!({"message": {"content": call("Bash", json!({"command": text}))}})),
            row(
                "assistant",
                json!({"message": {"content": call("Write", json!({"file_path": format!("/r/{}", &text[..3000])}))}}),
            ),
            row(
                "assistant",
                json!({"message": {"content": call("Task", json!({"description": text, "prompt": "go"}))}}),
            ),
            row(
                "assistant",
                json!({"message": {"content": call("TodoWrite", json!({"todos": [{"content": text, "status": text}]}))}}),
            ),
            row("user", json!({"isSidechain": true, "agentId": text, "message": {"content": "go"}})),
        ];
        read_from(rows.concat().as_bytes(), None).unwrap()
    }

    fn lengths(summary: &Transcript) -> Vec<usize> {
        let samples = summary.tools.iter().flat_map(|tool| &tool.samples);
        let agent = &summary.subagents[0];
        let texts = samples.chain(&summary.decisions).chain(&agent.name).chain(&agent.id).chain(&summary.task);
        let texts = texts.chain(summary.messages.iter().map(|message| &message.text)).chain(&summary.summary);
        let pending = summary.pending_tasks.iter().flat_map(|entry| [&entry.text, &entry.status]);
        texts.chain(pending).map(|text| text.chars().count()).collect()
    }

    #[test]
    fn texts_are_read_with_a_margin_and_cut_in_the_end() {
        let mut summary = everywhere(&"x".repeat(50_000));
        let limits = [120, 120, 120, 300, 120, 2_000, 2_000, 2_000, 2_000, 20_000, 2_000, 40];
        assert_eq!(lengths(&summary), limits.map(|limit| limit + MARGIN));
        summary.cut();
        assert_eq!(lengths(&summary), limits);
        let once = summary.clone();
        summary.cut();
        assert_eq!(summary, once);
    }

    #[test]
    fn a_secret_at_a_limit_is_whole_until_it_is_replaced() {
        for limit in [SAMPLE, DECISION, MESSAGE, SUMMARY] {
            let secret = format!("sk_{}", "k".repeat(60));
            let text = format!("{} {secret} {}", "y".repeat(limit - 20), "z".repeat(3_000));
            assert!(with_margin(&text, limit).contains(&secret) && line_with_margin(&text, limit).contains(&secret));
        }
    }

    #[test]
    fn a_truncated_text_ends_with_a_whole_word() {
        let text = "secret-of-some-length ".repeat(1_000);
        for cut in [with_margin(&text, SAMPLE), line_with_margin(&text, SAMPLE).trim_end_matches('…')] {
            assert!(cut.ends_with(" secret-of-some-length"), "{cut}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!((truncated("äöü", 2), truncated("äö", 2), truncated("", 0)), ("äö", "äö", ""));
    }
}

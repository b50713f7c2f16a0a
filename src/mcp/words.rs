//! What the command line says in commands, said in tools: recovery, next steps, warnings.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::view::answer::count;

/// A command with its arguments, within a sentence: words that follow it without being arguments are the sentence's.
static COMMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let value = r#"(?:"[^"]*"|'[^']*'|<[^>]*>|[^\s.;,:()]+)"#;
    let valued = format!("--(?:ai|session|task|to|task-id|budget)[ =]{value}");
    let other = r#"-v \S+|--[a-z-]+|"[^"]*"|'[^']*'|<[^>]*>|[0-9a-f]{8}|[A-Z]{2,}"#;
    Regex::new(&format!("git empirica [a-z]+(?: (?:start|end|list|show|add))?(?: (?:{valued}|{other}))*")).ok()
});
/// An option, within a sentence.
static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"--([a-z][a-z-]*)").ok());

/// How a positional argument, or an option, of a command is called by its tool.
struct Spelling {
    /// The words of the command.
    command: &'static str,
    tool: &'static str,
    /// The name of the first positional argument; empty when it takes none.
    first: &'static str,
    /// Options and their arguments; those not named here cannot be said.
    options: &'static [(&'static str, &'static str)],
}

const SESSION: (&str, &str) = ("--session", "session_id");
const AI: (&str, &str) = ("--ai", "ai_id");

const fn spelling(
    command: &'static str,
    tool: &'static str,
    first: &'static str,
    options: &'static [(&'static str, &'static str)],
) -> Spelling {
    Spelling { command, tool, first, options }
}

/// The longer commands first.
static SPELLINGS: [Spelling; 22] = [
    spelling("session start", "bootstrap_session", "", &[AI, ("--task", "task")]),
    spelling("session list", "list_sessions", "", &[AI]),
    spelling("session end", "end_session", "", &[SESSION, AI]),
    spelling("session show", "get_session_summary", "session_id", &[]),
    spelling("handoff list", "query_handoff_reports", "", &[SESSION, AI]),
    spelling("checkpoint list", "get_session_summary", "", &[SESSION]),
    spelling("goal list", "query_goal_orchestrator", "", &[SESSION, AI]),
    spelling("goal show", "get_goal_progress", "goal_id", &[]),
    spelling("goal add", "create_goal", "objective", &[SESSION]),
    spelling("handoff", "generate_handoff_report", "", &[SESSION, ("--to", "to"), ("--task-id", "task_id")]),
    spelling("checkpoint", "create_git_checkpoint", "", &[SESSION]),
    spelling("preflight", "execute_preflight", "", &[SESSION]),
    spelling("check", "execute_check", "", &[SESSION]),
    spelling("postflight", "execute_postflight", "", &[SESSION]),
    spelling("resume", "resume_previous_session", "", &[SESSION, AI]),
    spelling("status", "bootstrap_project", "", &[SESSION, AI, ("--budget", "budget")]),
    spelling("search", "search_history", "query", &[AI]),
    spelling("calibration", "get_calibration_report", "", &[SESSION, AI]),
    spelling("metrics", "generate_efficiency_report", "", &[AI]),
    spelling("diff", "get_vector_diff", "from", &[SESSION]),
    spelling("accept", "accept_handoff", "handoff_id", &[SESSION]),
    spelling("sync", "sync_notes", "remote", &[]),
];

/// What arguments are called by the command line and by the tools, where they differ.
const ARGUMENTS: [(&str, &str); 13] = [
    ("session", "session_id"),
    ("ai", "ai_id"),
    ("type", "handoff_type"),
    ("task-id", "task_id"),
    ("external-id", "external_id"),
    ("question", "questions"),
    ("gap", "gaps"),
    ("finding", "key_findings"),
    ("unknown", "remaining_unknowns"),
    ("set", "payload"),
    ("from", "payload"),
    ("last", "count"),
    ("window", "window_size"),
];

/// The options that mean the same without being said.
const SILENT: [&str; 3] = ["--json", "--open", "--journal"];

fn spelled(words: &[&str]) -> Option<(&'static Spelling, usize)> {
    SPELLINGS.iter().find_map(|spelling| {
        let of: Vec<&str> = spelling.command.split(' ').collect();
        words.starts_with(&of).then_some((spelling, of.len()))
    })
}

/// What only stands for something.
fn is_blank(word: &str) -> bool {
    word.contains('<') && word.contains('>')
}

/// A value as an argument of a call: a number of what is counted, else a text.
fn argument(name: &str, value: &str) -> String {
    if name == "budget" && value.parse::<u32>().is_ok() {
        return format!("{name}={value}");
    }
    format!("{name}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// The call that does what a command does; `None` for one that no tool does.
fn call(command: &str) -> Option<String> {
    let words = shlex::split(command)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rest = words.strip_prefix(&["git", "empirica"])?;
    let (spelling, used) = spelled(rest)?;
    let (mut arguments, mut rest) = (Vec::new(), rest[used..].iter());
    let mut said: Vec<&str> = Vec::new();
    let mut first = Some(spelling.first).filter(|name| !name.is_empty());
    while let Some(word) = rest.next() {
        if SILENT.contains(word) {
            continue;
        }
        if *word == "-v" {
            // what to assess says which vectors there are
            rest.next();
            continue;
        }
        if word.starts_with('-') {
            let (option, joined) = word.split_once('=').map_or((*word, None), |(name, value)| (name, Some(value)));
            let (_, name) = spelling.options.iter().find(|(known, _)| *known == option)?;
            let value = joined.or_else(|| rest.next().copied())?;
            if !is_blank(value) {
                arguments.push(argument(name, value));
            }
            continue;
        }
        if is_blank(word) {
            return None;
        }
        if spelling.first == "query" {
            // all of it are words of the query
            said.push(word);
            first = None;
            continue;
        }
        arguments.push(argument(first.take()?, word));
    }
    if !said.is_empty() {
        arguments.push(argument(spelling.first, &said.join(" ")));
    }
    // what the tool cannot do without
    let lacks = first.is_some_and(|name| ["goal_id", "handoff_id", "objective", "query"].contains(&name));
    (!lacks).then(|| format!("{}({})", spelling.tool, arguments.join(", ")))
}

/// A sentence in which commands and options have the names of tools and arguments; a command whose tool is not offered stays.
fn sentence(text: &str, offered: &dyn Fn(&str) -> bool) -> String {
    let replaced = COMMAND.as_ref().map(|pattern| {
        pattern.replace_all(text, |found: &regex::Captures<'_>| {
            let words: Vec<&str> = found[0].split(' ').skip(2).collect();
            match spelled(&words).filter(|(spelling, _)| offered(spelling.tool)) {
                Some((spelling, used)) if used == words.len() => spelling.tool.to_owned(),
                Some((spelling, _)) => call(&found[0]).unwrap_or_else(|| spelling.tool.to_owned()),
                None => found[0].to_owned(),
            }
        })
    });
    let replaced = replaced.map(|text| text.replace("task takes a regular", "task_pattern takes a regular"));
    // what has another form in a call
    let replaced = replaced.map(|text| text.replace(" as an argument, as - for standard input, or as @FILE", ""));
    let replaced =
        replaced.map(|text| text.replace("-v know=0.6,uncertainty=0.4", "vectors={'know': 0.6, 'uncertainty': 0.4}"));
    let text = replaced.unwrap_or_else(|| text.to_owned());
    if text.contains("git ") {
        // a command of the shell keeps its own options
        return text;
    }
    let renamed = OPTION.as_ref().map(|pattern| {
        pattern.replace_all(&text, |found: &regex::Captures<'_>| {
            let before = found.get(0).map_or(0, |whole| whole.start());
            if text[..before].matches(" '").count() > text[..before].matches("' ").count() {
                // within what somebody said
                return found[0].to_owned();
            }
            let name = &found[1];
            let known = ARGUMENTS.iter().find(|(option, _)| *option == name);
            known.map_or_else(|| name.replace('-', "_"), |(_, argument)| (*argument).to_owned())
        })
    });
    renamed.map_or_else(|| text.clone(), |text| text.into_owned())
}

/// Commands as calls, and those that no tool does that is offered.
fn sorted(commands: &Value, offered: &dyn Fn(&str) -> bool) -> (Vec<Value>, Vec<Value>) {
    let (mut calls, mut shell) = (Vec::new(), Vec::new());
    for command in commands.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let is_offered = |call: &String| offered(call.split('(').next().unwrap_or_default());
        match call(command).filter(is_offered) {
            Some(call) if !calls.contains(&json!(call)) => calls.push(json!(call)),
            Some(_) => {}
            // help is for a shell; the schemas are the help of tools
            None if command.ends_with(" -h") => {}
            None => shell.push(json!(command)),
        }
    }
    (calls, shell)
}

fn in_place(map: &mut Map<String, Value>, key: &str, offered: &dyn Fn(&str) -> bool) {
    match map.get_mut(key) {
        Some(Value::String(text)) => *text = sentence(text, offered),
        Some(Value::Array(list)) => {
            for item in list {
                if let Value::String(text) = item {
                    *text = sentence(text, offered);
                }
            }
        }
        _ => {}
    }
}

/// What was left out is named with the call that shows it.
fn omitted(map: &mut Map<String, Value>, offered: &dyn Fn(&str) -> bool) {
    if let Some(Value::Object(omitted)) = map.get_mut("omitted")
        && let Some(command) = omitted.get("command").and_then(Value::as_str).map(str::to_owned)
    {
        if let Some(call) = call(&command).filter(|call| offered(call.split('(').next().unwrap_or_default())) {
            omitted.insert("command".to_owned(), json!(call));
        } else if let Some(id) = command.strip_prefix("git empirica show ") {
            omitted.shift_remove("command");
            omitted.insert("resource".to_owned(), json!(format!("{}{id}", super::resources::PREFIX)));
        }
    }
}

fn recovery(map: &mut Map<String, Value>, offered: &dyn Fn(&str) -> bool) {
    if let Some(commands) = map.get("recovery_commands") {
        let (calls, shell) = sorted(commands, offered);
        map.insert("recovery_commands".to_owned(), json!(calls));
        if !shell.is_empty() {
            map.insert("shell_commands".to_owned(), json!(shell));
        }
    }
}

/// A failure, with what to do in calls of tools; commands that no tool does are `shell_commands`.
pub fn failed(mut document: Value, offered: &dyn Fn(&str) -> bool) -> Value {
    if let Value::Object(map) = &mut document {
        for key in ["reason", "suggestion"] {
            in_place(map, key, offered);
        }
        if let Some(Value::String(error)) = map.get_mut("error") {
            // what was given is quoted in it: only what is surely ours is said otherwise
            *error = error.replace("used for --since", "used for since").replace("used for --until", "used for until");
        }
        recovery(map, offered);
        map.entry("status").or_insert(json!("error"));
        count(map);
    }
    document
}

/// A result in the words of tools. Texts of records are left as they are.
pub fn done(mut document: Value, offered: &dyn Fn(&str) -> bool) -> Value {
    if document.get("ok") == Some(&json!(false)) {
        return failed(document, offered);
    }
    if let Value::Object(map) = &mut document {
        for key in ["next_step", "message", "warning", "warnings"] {
            in_place(map, key, offered);
        }
        recovery(map, offered);
        omitted(map, offered);
        if let Some(Value::Array(sessions)) = map.get_mut("sessions") {
            sessions.iter_mut().filter_map(Value::as_object_mut).for_each(|session| omitted(session, offered));
        }
        if let Some(Value::Array(missing)) = map.get_mut("missing") {
            for lack in missing.iter_mut().filter_map(Value::as_object_mut) {
                lack.shift_remove("command");
            }
        }
        map.entry("status").or_insert(json!("success"));
        count(map);
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_becomes_a_call_of_a_tool_that_exists() {
        for (command, expected) in [
            (
                "git empirica session start --ai claude-code --task \"<what you are going to do>\"",
                "bootstrap_session(ai_id='claude-code')",
            ),
            ("git empirica session start --ai=-x --task \"<t>\"", "bootstrap_session(ai_id='-x')"),
            ("git empirica session list", "list_sessions()"),
            ("git empirica session end --session 12345678", "end_session(session_id='12345678')"),
            ("git empirica preflight -v know=<0..1>,uncertainty=<0..1>", "execute_preflight()"),
            ("git empirica handoff --session 'a b'", "generate_handoff_report(session_id='a b')"),
            ("git empirica status --budget 3000 --json", "bootstrap_project(budget=3000)"),
            ("git empirica sync origin", "sync_notes(remote='origin')"),
            ("git empirica accept abcd", "accept_handoff(handoff_id='abcd')"),
            ("git empirica goal list --open", "query_goal_orchestrator()"),
            ("git empirica search flaky login", "search_history(query='flaky login')"),
            ("git empirica search \"it's\"", "search_history(query='it\\'s')"),
        ] {
            assert_eq!(call(command).as_deref(), Some(expected), "{command}");
        }
        for command in [
            "git empirica flush",
            "git empirica accept",
            "git empirica accept <handoff>",
            "git empirica handoff --finding \"<what>\"",
            "git config empirica.sync off",
            "rm -f 'x",
        ] {
            assert_eq!(call(command), None, "{command}");
        }
        assert!(SPELLINGS.iter().all(|spelling| crate::mcp::tools::find(spelling.tool, true).is_ok()));
    }

    #[test]
    fn sentences_name_tools_and_arguments() {
        for (text, expected) in [
            (
                "Act; when the work is done run: git empirica postflight -v know=<0..1>,uncertainty=<0..1>",
                "Act; when the work is done run: execute_postflight()",
            ),
            ("Hand over with: git empirica handoff", "Hand over with: generate_handoff_report"),
            (
                "See the list, or make one with git empirica checkpoint.",
                "See the list, or make one with create_git_checkpoint.",
            ),
            ("Others' records come with git empirica sync.", "Others' records come with sync_notes."),
            (
                "Say who you are with --ai, or which session with --session.",
                "Say who you are with ai_id, or which session with session_id.",
            ),
            (
                "follow the goals (git empirica goal list --open), log",
                "follow the goals (query_goal_orchestrator()), log",
            ),
            ("what git empirica sync wrote stays", "what sync_notes wrote stays"),
            ("give the URL or path: git empirica sync URL", "give the URL or path: sync_notes(remote='URL')"),
            (
                "Start one: git empirica session start --ai nobody --task \"<what you are going to do>\". Or use latest.",
                "Start one: bootstrap_session(ai_id='nobody'). Or use latest.",
            ),
            ("git empirica doctor knows more; --ai is not it", "git empirica doctor knows more; --ai is not it"),
        ] {
            assert_eq!(sentence(text, &|_| true), expected);
        }
        let text = "Act; then run: git empirica postflight -v know=<0..1>";
        assert_eq!(sentence(text, &|_| false), text, "a tool that is not listed is no help");
    }
}

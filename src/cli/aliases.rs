//! Aliases for the commands and options of the Python tool, and the call without a command.

use std::ffi::OsString;

use empirica_notes::git::history::selecting;

const NAMES: &[(&str, &[&str])] = &[
    ("bootstrap", &["status", "--all"]),
    ("project-bootstrap", &["status", "--all"]),
    ("session-create", &["session", "start"]),
    ("session-end", &["session", "end"]),
    ("sessions-list", &["session", "list"]),
    ("sessions-show", &["session", "show"]),
    ("sessions-resume", &["resume"]),
    ("preflight-submit", &["preflight"]),
    ("check-submit", &["check"]),
    ("postflight-submit", &["postflight"]),
    ("checkpoint-list", &["checkpoint", "list"]),
    ("checkpoint-load", &["checkpoint", "show"]),
    ("checkpoint-diff", &["diff"]),
    ("handoff-create", &["handoff"]),
    ("handoff-query", &["search", "--handoffs"]),
    ("drift", &["check", "--drift"]),
    ("repair", &["doctor", "--repairs"]),
    ("completions", &["setup", "--completions"]),
    ("query", &["search", "--handoffs"]),
    ("similar", &["search", "--like"]),
    ("finding-log", &["finding"]),
    ("unknown-log", &["unknown"]),
    ("unknown-resolve", &["resolve"]),
    ("deadend-log", &["deadend"]),
    ("mistake-log", &["mistake"]),
    ("decision-log", &["decision"]),
    ("goals-create", &["goal", "add"]),
    ("goals-list", &["goal", "list"]),
    ("goals-add-subtask", &["goal", "sub"]),
    ("goals-complete", &["goal", "done"]),
    ("goals-complete-subtask", &["goal", "done"]),
];

/// Renamed options of a command; without a new name, the value becomes a positional argument, in this order.
const OPTIONS: &[(&str, &str, Option<&str>)] = &[
    ("finding", "--finding", None),
    ("unknown", "--unknown", None),
    ("deadend", "--approach", None),
    ("deadend", "--why-failed", Some("--why")),
    ("mistake", "--mistake", None),
    ("decision", "--choice", None),
    ("decision", "--rationale", Some("--why")),
    ("resolve", "--unknown-id", None),
    ("resolve", "--resolved-by", None),
    ("resolve", "--resolution", None),
    ("goal add", "--objective", None),
    ("goal add", "--success-criteria", Some("--criterion")),
    ("goal sub", "--goal-id", None),
    ("goal sub", "--description", None),
    ("goal done", "--goal-id", None),
    ("goal done", "--subtask-id", None),
    ("preflight", "--prompt", Some("--task")),
    ("check", "--prompt", Some("--task")),
    ("checkpoint", "--prompt", Some("--reasoning")),
    ("assess-state", "--prompt", Some("--reasoning")),
    ("checkpoint-create", "--prompt", Some("--reasoning")),
];

/// The command of an alias; `None` for other names.
pub fn target(name: &str) -> Option<&'static [&'static str]> {
    NAMES.iter().find(|(alias, _)| *alias == name).map(|(_, command)| *command)
}

pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    NAMES.iter().map(|(name, _)| -> &'a str { name })
}

/// Rewrites aliases and their options; returns other arguments unchanged.
pub fn expand(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter();
    let mut out: Vec<OsString> = arguments.next().into_iter().collect();
    let mut rest: Vec<OsString> = arguments.collect();
    if rest.first().is_some_and(|word| word == "--no-pager") {
        out.push(rest.remove(0));
    }
    // options of the answer alone name no command
    if rest.iter().all(|word| word == "--json") {
        rest.insert(0, "status".into());
    }
    let mut rest = rest.into_iter().peekable();
    let Some(first) = rest.next() else { return out };
    if first == "log" {
        out.push(first);
        out.extend(log_arguments(rest));
        return out;
    }
    let mut name = first.to_string_lossy().into_owned();
    match target(&name) {
        Some(command) => {
            // an option without its value would swallow the one that asks for help
            let asks_help = rest.peek().is_some_and(|word| word == "-h" || word == "--help");
            out.extend(command.iter().filter(|word| !asks_help || !word.starts_with('-')).map(OsString::from));
            name = command.join(" ");
        }
        None => {
            if let Some(second) = rest.peek().filter(|_| name == "goal") {
                name = format!("{name} {}", second.to_string_lossy());
            }
            out.push(first);
        }
    }
    let options: Vec<_> = OPTIONS.iter().filter(|(command, ..)| *command == name).collect();
    let mut texts: Vec<(usize, OsString)> = Vec::new();
    while let Some(word) = rest.next() {
        if word == "--" {
            out.push(word);
            break;
        }
        let text = word.to_string_lossy();
        let (option, value) = text.split_once('=').map_or((&*text, None), |(option, value)| (option, Some(value)));
        if text == "--output=json" || text == "--output" && rest.next_if(|value| value == "json").is_some() {
            out.push("--json".into());
            continue;
        }
        let renamed = match option {
            "--ai-id" => Some((0, Some("--ai"))),
            _ => options.iter().position(|(_, name, _)| *name == option).map(|at| (at, options[at].2)),
        };
        let Some((at, new_name)) = renamed else {
            out.push(word);
            continue;
        };
        let Some(value) = value.map(OsString::from).or_else(|| rest.next()) else {
            out.push(word);
            continue;
        };
        match new_name {
            // joined, as the value may begin with a dash
            Some(name) => {
                let mut joined = OsString::from(format!("{name}="));
                joined.push(value);
                out.push(joined);
            }
            None => texts.push((at, value)),
        }
    }
    if !texts.is_empty() && !out.iter().any(|word| word == "--") {
        texts.sort_by_key(|(at, _)| *at);
        out.push("--".into());
    }
    out.extend(texts.into_iter().map(|(_, text)| text));
    out.extend(rest);
    out
}

/// Sorts the arguments of `log`: its own options, then `--` and the arguments that select commits for `git log`.
fn log_arguments(mut arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut out, mut selection) = (Vec::new(), Vec::new());
    while let Some(word) = arguments.next() {
        let text = word.to_string_lossy();
        let is_count = text.len() > 1 && text[1..].bytes().all(|byte| byte.is_ascii_digit());
        match (&*text, selecting(&text)) {
            ("--", _) => {
                selection.push(word);
                selection.extend(arguments.by_ref());
            }
            ("--no-color", _) => out.push("--color=never".into()),
            ("--no-decorate", _) => out.push("--decorate=no".into()),
            ("-n" | "--max-count" | "--ai", _) => out.extend(std::iter::once(word).chain(arguments.next())),
            (text, Some(2)) => {
                let value = arguments.next();
                let joint = if value.is_some() && text.starts_with("--") { "=" } else { "" };
                let mut joined = OsString::from(format!("{text}{joint}"));
                joined.push(value.unwrap_or_default());
                selection.push(joined);
            }
            (text, None) if text.starts_with('-') && is_count => out.push(format!("-n{}", &text[1..]).into()),
            (text, None) if text.starts_with('-') => out.push(word),
            _ => selection.push(word),
        }
    }
    if !selection.is_empty() {
        out.push("--".into());
        out.append(&mut selection);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_expand_and_other_arguments_stay() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, expanded) in [
            ("x", "x status"),
            ("x --json", "x status --json"),
            ("x project-bootstrap --session-id S --output json", "x status --all --session-id S --json"),
            ("x finding-log --session-id S --finding F --impact 0.7", "x finding --session-id S --impact 0.7 -- F"),
            ("x finding --finding=-F", "x finding -- -F"),
            ("x goals-create --objective O --ai-id a", "x goal add --ai=a -- O"),
            ("x goals-add-subtask --description D --goal-id G", "x goal sub -- G D"),
            ("x preflight --prompt P -v know=1", "x preflight --task=P -v know=1"),
            ("x assess-state --prompt P --output=json", "x assess-state --reasoning=P --json"),
            ("x deadend-log --approach A --why-failed W", "x deadend --why=W -- A"),
            ("x handoff --finding F", "x handoff --finding F"),
            ("x finding -- --finding F", "x finding -- --finding F"),
            ("x log", "x log"),
            (
                "x log a..b -3 --author ann --json --since=1 -- p",
                "x log -n3 --json -- a..b --author=ann --since=1 -- p",
            ),
            ("x log -n 3 --ai ann -Sx -S y --no-color", "x log -n 3 --ai ann --color=never -- -Sx -Sy"),
            ("x log --stat -- -3", "x log --stat -- -- -3"),
            ("x --no-pager log -1", "x --no-pager log -n1"),
            ("x export --output file", "x export --output file"),
            ("x query --ai a", "x search --handoffs --ai a"),
            ("x completions bash", "x setup --completions bash"),
            ("x completions -h", "x setup -h"),
            ("x repair --apply --to a=b", "x doctor --repairs --apply --to a=b"),
            ("x finding --finding", "x finding --finding"),
        ] {
            assert_eq!(expand(words(line)), words(expanded), "{line}");
        }
    }
}

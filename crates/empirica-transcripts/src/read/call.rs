//! Tool calls: their category, subject, and the files they would modify.

use serde_json::value::RawValue;

use crate::model::CATEGORIES;
use crate::read::input::{Input, Question, Todo};
use crate::read::lenient::{Content, Text};
use crate::read::{patch, paths};
use crate::text::limits::{SAMPLE, line_with_margin};

/// The limit of files of a call.
const FILES: usize = 64;
/// The limit of questions read from a call.
const QUESTIONS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sample {
    /// A text on one line.
    Text(String),
    /// A resolved path; made relative to the repository at the end.
    Path(String),
}

/// An entry of a task list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: Option<String>,
    /// The task; empty if only the status changes.
    pub text: String,
    /// Empty if it does not change; then a new entry is pending.
    pub status: String,
}

/// A task list in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todos {
    pub entries: Vec<Entry>,
    /// Whether to merge the entries into the existing list.
    pub merge: bool,
}

impl Todos {
    /// A whole list.
    pub fn of(list: &[Todo]) -> Todos {
        Todos { entries: list.iter().filter_map(entry).collect(), merge: false }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The index of its category in [`CATEGORIES`]; `None` for task lists, which are not counted.
    pub category: Option<usize>,
    pub sample: Option<Sample>,
    /// The files it would modify, resolved.
    pub files: Vec<String>,
    /// The questions to the user, each with its id, if any.
    pub questions: Vec<(Option<String>, String)>,
    /// The task list it sets.
    pub todos: Option<Todos>,
    /// The prompt and name of the subagent it starts.
    pub task: Option<(String, String)>,
}

/// Stands for a category in [`Tools`] if the tool is for task lists.
pub const TODO: &str = "";

/// The categories of tools, by name.
pub type Tools = &'static [(&'static str, &'static str)];

/// The category of a tool; `None` for task lists. Names are case-sensitive; `own` has those specific to one agent.
pub fn category(own: Tools, name: &str) -> Option<&'static str> {
    Some(match name {
        "Bash"
        | "bash"
        | "terminal"
        | "run_terminal_command"
        | "run_shell_command"
        | "Shell"
        | "exec_command"
        | "shell_command"
        | "Execute" => "shell",
        "Read" | "ReadFile" | "read_file" | "view" => "read",
        "Write" | "WriteFile" | "write_file" | "Create" | "create_file" | "create" => "write",
        "Edit" | "MultiEdit" | "NotebookEdit" | "EditFile" | "edit_file" | "edit" | "apply_diff" | "apply_patch"
        | "ApplyPatch" | "StrReplace" | "str_replace_editor" | "replace" => "edit",
        "Grep" | "grep" | "grep_search" | "codebase_search" | "search_file_content" => "grep",
        "Glob" | "glob" | "list_directory" | "LS" | "FindFiles" => "glob",
        "WebSearch" | "web_search" => "search",
        "WebFetch" | "web_fetch" => "fetch",
        "Task" | "Agent" => "task",
        "AskUserQuestion" | "request_user_input" => "ask",
        "TodoWrite" | "todo_write" | "update_plan" | "todowrite" | "todoread" | "update_todo" | "write_todos" => {
            return None;
        }
        name => match own.iter().find(|(own, _)| *own == name) {
            Some((_, TODO)) => return None,
            own => own.map_or("mcp", |(_, category)| category),
        },
    })
}

/// The index of a category in [`CATEGORIES`].
pub fn category_index(category: &str) -> Option<usize> {
    CATEGORIES.iter().position(|other| *other == category)
}

/// The first line of a text that is not blank, as a sample.
pub fn line(text: &str) -> Option<Sample> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    Some(Sample::Text(line_with_margin(first, SAMPLE)))
}

impl Call {
    /// Reads a call of the tool `name` with `input`, made in the normalized folder `cwd`.
    pub fn of(tools: Tools, name: &str, input: Option<&RawValue>, cwd: Option<&str>) -> Call {
        Input::with(input, |input| Call::with(tools, name, input, cwd))
    }

    /// The files that a call reads or would modify, resolved; of a command, each of its words could be one. At most 64.
    pub fn files_of(tools: Tools, name: &str, input: &str, cwd: Option<&str>) -> Vec<String> {
        Input::with_text(input, |input| {
            let call = Call::with(tools, name, input, cwd);
            let mut out = call.files;
            if let Some(Sample::Path(path)) = call.sample {
                out.push(path);
            } else if call.category == category_index("shell") {
                let command = input.command().unwrap_or_default();
                let moved = patch::folder_of_command(&command);
                let given = input.folder().and_then(|folder| paths::normalized(folder, cwd));
                let cwd = given.as_deref().or(cwd);
                let folder = moved.and_then(|folder| paths::normalized(folder, cwd));
                let words = command.split(|c: char| c.is_whitespace() || "\"'`;|&<>()=:".contains(c));
                let files = words.filter(|word| word.contains(['.', '/']) && !word.starts_with('-')).map(str::to_owned);
                out.extend(resolved(files.collect(), folder.as_deref().or(cwd)));
            }
            let mut seen = std::collections::BTreeSet::new();
            out.retain(|file| seen.insert(file.clone()));
            out.truncate(FILES);
            out
        })
    }

    fn with(tools: Tools, name: &str, input: &Input, cwd: Option<&str>) -> Call {
        let Some(mut category) = category(tools, name) else {
            return Call { todos: change(input).or_else(|| todos(input)), ..Default::default() };
        };
        if name == "str_replace_editor" && matches!(&input.command, Content::Text(command) if command.trim() == "view")
        {
            category = "read";
        }
        let folder = input.folder().and_then(|folder| paths::normalized(folder, cwd));
        let cwd = folder.as_deref().or(cwd);
        let file = input.path().and_then(|path| paths::normalized(path, cwd));
        let (files, command) = match category {
            "write" | "edit" => (edited(input, file.clone(), cwd), None),
            "shell" => {
                let command = input.command();
                let given = command.as_deref().unwrap_or_default();
                let folder = patch::folder_of_command(given).and_then(|folder| paths::normalized(folder, cwd));
                (resolved(patch::files_of_command(given), folder.as_deref().or(cwd)), command)
            }
            _ => (Vec::new(), None),
        };
        let texts = |keys: &[&Text]| keys.iter().find_map(|text| line(text.get()?));
        let sample = match category {
            "shell" => command.as_deref().and_then(line),
            "read" => file.map(Sample::Path),
            "write" | "edit" => file.or(files.first().cloned()).map(Sample::Path),
            "grep" | "glob" => texts(&[&input.pattern, &input.glob_pattern, &input.query]).or(file.map(Sample::Path)),
            "search" => texts(&[&input.query, &input.search_term]),
            "fetch" => texts(&[&input.url, &input.prompt]),
            "task" => texts(&[&input.description, &input.task_name, &input.prompt, &input.message]).or(line(name)),
            "ask" => input.questions.0.iter().find_map(|one| line(one.question.get()?)).or(texts(&[&input.question])),
            _ => line(name),
        };
        Call {
            category: category_index(category),
            sample,
            files,
            questions: if category == "ask" { questions(input) } else { Vec::new() },
            todos: None,
            task: if category == "task" { task(input) } else { None },
        }
    }
}

fn resolved(files: Vec<String>, cwd: Option<&str>) -> Vec<String> {
    files.into_iter().filter_map(|path| paths::normalized(&path, cwd)).collect()
}

fn edited(input: &Input, file: Option<String>, cwd: Option<&str>) -> Vec<String> {
    let several = input.edits.0.iter().filter_map(|edit| edit.file_path.get().or(edit.path.get()));
    let mut out: Vec<String> =
        file.into_iter().chain(several.filter_map(|path| paths::normalized(path, cwd))).collect();
    if let Some(patch) = input.patch() {
        out.extend(resolved(patch::files_of_patch(patch), cwd));
    }
    // a patch as an argument of a command: `["apply_patch", "*** Begin Patch…"]`
    if out.is_empty() {
        out = input.command().map(|command| resolved(patch::files(&command), cwd)).unwrap_or_default();
    }
    out
}

fn questions(input: &Input) -> Vec<(Option<String>, String)> {
    let question = |one: &Question| Some((one.id.get().map(str::to_owned), one.question.get()?.to_owned()));
    let single = input.question.get().map(|question| (None, question.to_owned()));
    input.questions.0.iter().filter_map(question).chain(single).take(QUESTIONS).collect()
}

fn task(input: &Input) -> Option<(String, String)> {
    let names = [&input.description, &input.subagent_type, &input.task_name, &input.agent_name];
    let name = names.into_iter().find_map(Text::get)?;
    Some((input.prompt.get().or(input.message.get())?.to_owned(), line_with_margin(name, SAMPLE)))
}

fn todos(input: &Input) -> Option<Todos> {
    let list = [&input.todos, &input.plan].into_iter().find(|list| match list {
        Content::Text(text) => !text.trim().is_empty(),
        Content::Parts(parts) => !parts.is_empty(),
    });
    let merge = input.merge.is_true();
    match list {
        Some(Content::Text(text)) => Some(Todos { entries: markdown_todos(text), merge }),
        Some(Content::Parts(parts)) => Some(Todos { merge, ..Todos::of(parts) }),
        None => None,
    }
}

fn entry(todo: &Todo) -> Option<Entry> {
    let text = [&todo.content, &todo.step, &todo.text, &todo.title, &todo.description].into_iter().find_map(Text::get);
    let id = todo.id.get().map(str::to_owned);
    if text.is_none() && id.is_none() {
        return None;
    }
    let status = todo.status.get().unwrap_or_default().to_owned();
    Some(Entry { id, text: text.unwrap_or_default().to_owned(), status })
}

/// The change of the entry that the input names.
fn change(input: &Input) -> Option<Todos> {
    let id = input.task_id.get()?.to_owned();
    let text = input.subject.get().unwrap_or_default().to_owned();
    let status = input.status.get().unwrap_or_default().to_owned();
    Some(Todos { entries: vec![Entry { id: Some(id), text, status }], merge: true })
}

/// A task list in Markdown: `- [ ]` and `- [x]`.
fn markdown_todos(text: &str) -> Vec<Entry> {
    let entry = |line: &str| {
        let rest = line.trim().trim_start_matches(['-', '*', ' ']);
        let (mark, text) = rest.strip_prefix('[')?.split_once(']')?;
        let status = match mark.trim() {
            "x" | "X" => "completed",
            "" => "pending",
            _ => "in_progress",
        };
        Some(Entry { id: None, text: text.trim().to_owned(), status: status.to_owned() })
    };
    text.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, input: &str) -> Call {
        let own = &[("shell", "shell"), ("exec", "shell")];
        Input::with_text(input, |input| Call::with(own, name, input, Some("/r")))
    }

    fn named(call: &Call) -> &'static str {
        call.category.map_or("none", |place| CATEGORIES[place])
    }

    #[test]
    fn names_are_taken_as_they_are_written() {
        for (name, category) in [
            ("Bash", "shell"),
            ("BASH", "mcp"),
            ("mcp__x__y", "mcp"),
            ("Read", "read"),
            ("replace", "edit"),
            ("LS", "glob"),
            ("Task", "task"),
            ("TodoWrite", "none"),
            ("todoread", "none"),
        ] {
            assert_eq!(named(&call(name, "{}")), category, "{name}");
        }
        assert_eq!(call("mcp__x__y", "{}").sample, Some(Sample::Text("mcp__x__y".into())));
        assert_eq!(named(&call("shell", "{}")), "shell");
    }

    #[test]
    fn every_carrier_of_an_edit_names_its_files() {
        let patch = "*** Begin Patch\\n*** Update File: a\\n*** Move to: b\\n*** End Patch";
        for (name, input, files) in [
            ("Edit", r#"{"file_path":"a"}"#.to_owned(), vec!["/r/a"]),
            ("MultiEdit", r#"{"file_path":"/r/a","edits":[{},5]}"#.to_owned(), vec!["/r/a"]),
            ("NotebookEdit", r#"{"notebook_path":"n.ipynb"}"#.to_owned(), vec!["/r/n.ipynb"]),
            ("create_file", r#"{"path":"../x"}"#.to_owned(), vec!["/x"]),
            ("str_replace_editor", r#"{"command":"insert","path":"a"}"#.to_owned(), vec!["/r/a"]),
            ("str_replace_editor", r#"{"command":"view","path":"a"}"#.to_owned(), vec![]),
            ("apply_patch", format!(r#"{{"patch":"{patch}"}}"#), vec!["/r/a", "/r/b"]),
            ("apply_patch", format!(r#"{{"input":"{patch}"}}"#), vec!["/r/a", "/r/b"]),
            ("apply_patch", patch.replace("\\n", "\n"), vec!["/r/a", "/r/b"]),
            ("shell", format!(r#"{{"command":["apply_patch","{patch}"]}}"#), vec!["/r/a", "/r/b"]),
            (
                "shell",
                format!(r#"{{"command":["bash","-lc","apply_patch <<'E'\n{patch}\nE"],"workdir":"s"}}"#),
                vec!["/r/s/a", "/r/s/b"],
            ),
            ("exec_command", format!(r#"{{"cmd":"cd s && apply_patch <<'E'\n{patch}\nE"}}"#), vec!["/r/s/a", "/r/s/b"]),
            ("exec", format!("tools.apply_patch(\"{patch}\")"), vec!["/r/a", "/r/b"]),
            ("Read", r#"{"file_path":"a"}"#.to_owned(), vec![]),
            ("Bash", r#"{"command":"rm a"}"#.to_owned(), vec![]),
            ("Write", "5".to_owned(), vec![]),
        ] {
            assert_eq!(call(name, &input).files, files, "{name} {input}");
        }
    }

    #[test]
    fn every_call_names_the_files_that_it_touches() {
        let own = &[("shell", "shell")];
        for (name, input, files) in [
            ("Read", r#"{"file_path":"/r/a.rs"}"#, vec!["/r/a.rs"]),
            ("read_file", r#"{"absolute_path":"/r/a.rs"}"#, vec!["/r/a.rs"]),
            ("view", r#"{"path":"src/a.rs"}"#, vec!["/r/src/a.rs"]),
            ("Edit", r#"{"file_path":"a.rs"}"#, vec!["/r/a.rs"]),
            ("Bash", r#"{"command":"sed -n 1,9p src/a.rs | grep x"}"#, vec!["/r/src/a.rs"]),
            ("shell", r#"{"command":["bash","-lc","cd sub && cat './b.rs'"]}"#, vec!["/r/sub/b.rs"]),
            ("Bash", r#"{"command":"ls --color=auto"}"#, vec![]),
            ("WebFetch", r#"{"url":"https://a/b.rs"}"#, vec![]),
            ("Grep", r#"{"pattern":"x.y","path":"src"}"#, vec![]),
            ("mcp__x", "{}", vec![]),
            ("Read", "5", vec![]),
        ] {
            assert_eq!(Call::files_of(own, name, input, Some("/r")), files, "{name} {input}");
        }
        let many: String = (0..99).map(|n| format!(" {n}.rs")).collect();
        let input = format!(r#"{{"command":"cat{many} 1.rs"}}"#);
        assert_eq!(Call::files_of(own, "Bash", &input, Some("/r")).len(), FILES);
    }

    #[test]
    fn a_list_of_tasks_is_read_from_objects_and_from_markdown() {
        let plan = call("update_plan", r#"{"plan":[{"step":"a","status":"completed"},{"step":"b"},7]}"#).todos.unwrap();
        assert_eq!(plan.entries.iter().map(|entry| entry.status.as_str()).collect::<Vec<_>>(), ["completed", ""]);
        let ticks = call("update_todo", r#"{"todos":"- [x] a\n- [ ] b"}"#).todos.unwrap();
        assert_eq!((ticks.entries[0].status.as_str(), ticks.entries[1].text.as_str()), ("completed", "b"));
    }
}

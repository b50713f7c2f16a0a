//! The input of a tool call: the keys of all agents' tools that identify its subject.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::read::lenient::{Content, Flag, Lenient, List, Text, lenient, repaired, string};

lenient! {
    /// A question of an ask tool.
    Question {
        id: Text<'a> = "id",
        question: Text<'a> = "question",
    }

    /// An entry of a task list or plan.
    Todo {
        id: Text<'a> = "id",
        content: Text<'a> = "content",
        step: Text<'a> = "step",
        description: Text<'a> = "description",
        text: Text<'a> = "text",
        title: Text<'a> = "title",
        status: Text<'a> = "status",
    }

    Edit {
        file_path: Text<'a> = "file_path",
        path: Text<'a> = "path",
    }

    Input {
        command: Content<'a, Text<'a>> = "command",
        cmd: Content<'a, Text<'a>> = "cmd",
        script: Text<'a> = "script",
        code: Text<'a> = "code",
        workdir: Text<'a> = "workdir",
        working_directory: Text<'a> = "working_directory",
        file_path: Text<'a> = "file_path",
        camel_file_path: Text<'a> = "filePath",
        notebook_path: Text<'a> = "notebook_path",
        target_notebook: Text<'a> = "target_notebook",
        target_file: Text<'a> = "target_file",
        absolute_path: Text<'a> = "absolute_path",
        path: Text<'a> = "path",
        edits: List<Edit<'a>> = "edits",
        pattern: Text<'a> = "pattern",
        glob_pattern: Text<'a> = "glob_pattern",
        query: Text<'a> = "query",
        search_term: Text<'a> = "search_term",
        url: Text<'a> = "url",
        description: Text<'a> = "description",
        subagent_type: Text<'a> = "subagent_type",
        prompt: Text<'a> = "prompt",
        question: Text<'a> = "question",
        questions: List<Question<'a>> = "questions",
        todos: Content<'a, Todo<'a>> = "todos",
        plan: Content<'a, Todo<'a>> = "plan",
        merge: Flag = "merge",
        task_id: Text<'a> = "taskId",
        subject: Text<'a> = "subject",
        status: Text<'a> = "status",
        message: Text<'a> = "message",
        task_name: Text<'a> = "task_name",
        agent_name: Text<'a> = "agent_name",
        patch: Text<'a> = "patch",
        patch_text: Text<'a> = "patchText",
        input: Text<'a> = "input",
        diff: Text<'a> = "diff",
        /// The input if it is a text instead of an object.
        bare: Text<'a> = "\0",
    }
}

impl<'a> Input<'a> {
    /// Parses the input from a JSON value: an object, or a string with one; any other string is kept as `bare`. Empty
    /// for other values and `None`.
    pub fn with<T>(raw: Option<&'a RawValue>, then: impl FnOnce(&Input) -> T) -> T {
        let raw = raw.map_or("", RawValue::get);
        match string(raw) {
            Some(text) => Input::with_text(&text, then),
            None if raw.starts_with('{') => Input::with_text(raw, then),
            None => then(&Input::default()),
        }
    }

    /// Parses the input from a text: a JSON object, else kept as `bare`.
    pub fn with_text<T>(text: &str, then: impl FnOnce(&Input) -> T) -> T {
        if !text.trim_start().starts_with('{') {
            return then(&Input { bare: Text::from_text(Cow::Borrowed(text)), ..Default::default() });
        }
        if let Ok(input) = serde_json::from_str(text) {
            return then(&input);
        }
        match repaired(text).as_deref().map(serde_json::from_str) {
            Some(Ok(input)) => then(&input),
            _ => then(&Input { bare: Text::from_text(Cow::Borrowed(text)), ..Default::default() }),
        }
    }

    /// The shell command: a text, or the script in an argument list such as `["bash", "-c", …]`.
    pub fn command(&self) -> Option<Cow<'_, str>> {
        for command in [&self.command, &self.cmd] {
            match command {
                Content::Text(text) => return Some(Cow::Borrowed(text)),
                Content::Parts(words) if !words.is_empty() => {
                    let words: Vec<&str> = words.iter().filter_map(Text::get).collect();
                    return Some(match words.as_slice() {
                        [shell, flag, script, ..]
                            if flag.starts_with('-') && flag.ends_with('c') && is_shell(shell) =>
                        {
                            Cow::Borrowed(*script)
                        }
                        words => Cow::Owned(words.join(" ")),
                    });
                }
                Content::Parts(_) => {}
            }
        }
        [&self.script, &self.code, &self.bare].into_iter().find_map(Text::get).map(Cow::Borrowed)
    }

    /// The working folder, if given.
    pub fn folder(&self) -> Option<&str> {
        self.workdir.get().or(self.working_directory.get())
    }

    /// The file it is about, if any.
    pub fn path(&self) -> Option<&str> {
        let keys = [
            &self.file_path,
            &self.camel_file_path,
            &self.notebook_path,
            &self.target_notebook,
            &self.target_file,
            &self.absolute_path,
            &self.path,
        ];
        keys.into_iter().find_map(Text::get)
    }

    pub fn patch(&self) -> Option<&str> {
        [&self.patch, &self.patch_text, &self.input, &self.diff, &self.bare].into_iter().find_map(Text::get)
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    ["sh", "bash", "zsh", "dash", "ksh", "fish"].contains(&name)
}

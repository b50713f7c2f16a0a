//! What a tool was called with, whichever agent's it is: the keys that tell what it was about.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::read::lenient::{Content, Flag, List, Text, lenient, mended, string};

lenient! {
    /// A question that an ask tool puts.
    Question {
        id: Text<'a> = "id",
        question: Text<'a> = "question",
    }
}

lenient! {
    /// An entry of a list of tasks or a plan.
    Todo {
        id: Text<'a> = "id",
        content: Text<'a> = "content",
        step: Text<'a> = "step",
        description: Text<'a> = "description",
        text: Text<'a> = "text",
        title: Text<'a> = "title",
        status: Text<'a> = "status",
    }
}

lenient! {
    /// One of several edits.
    Edit {
        file_path: Text<'a> = "file_path",
        path: Text<'a> = "path",
    }
}

lenient! {
    /// The input of a tool.
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
        patch: Text<'a> = "patch",
        patch_text: Text<'a> = "patchText",
        input: Text<'a> = "input",
        diff: Text<'a> = "diff",
        /// What was given instead of an object.
        bare: Text<'a> = "\0",
    }
}

impl<'a> Input<'a> {
    /// The input in a JSON value: an object, or a string that holds one; any other string is kept as `bare`. Anything else, and
    /// nothing, is empty.
    pub fn with<T>(raw: Option<&'a RawValue>, then: impl FnOnce(&Input) -> T) -> T {
        let raw = raw.map_or("", RawValue::get);
        match string(raw) {
            Some(text) => Input::with_text(&text, then),
            None if raw.starts_with('{') => Input::with_text(raw, then),
            None => then(&Input::default()),
        }
    }

    /// The input in a text: JSON, or a text of its own.
    pub fn with_text<T>(text: &str, then: impl FnOnce(&Input) -> T) -> T {
        if !text.trim_start().starts_with('{') {
            return then(&Input { bare: Text::of(Cow::Borrowed(text)), ..Default::default() });
        }
        if let Ok(input) = serde_json::from_str(text) {
            return then(&input);
        }
        match mended(text).as_deref().map(serde_json::from_str) {
            Some(Ok(input)) => then(&input),
            _ => then(&Input { bare: Text::of(Cow::Borrowed(text)), ..Default::default() }),
        }
    }

    /// The command for a shell: a text, or what a list of arguments hands to one.
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

    /// The folder the tool was to work in, where it says so.
    pub fn folder(&self) -> Option<&str> {
        self.workdir.get().or(self.working_directory.get())
    }

    /// The one file it is about.
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

    /// The patch it hands over; `None` when it has none.
    pub fn patch(&self) -> Option<&str> {
        [&self.patch, &self.patch_text, &self.input, &self.diff, &self.bare].into_iter().find_map(Text::get)
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    ["sh", "bash", "zsh", "dash", "ksh", "fish"].contains(&name)
}

//! Templates: built in; those for terminal and instructions can be overridden in the user's folder.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::PathBuf;

use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error as TemplateError};
use serde::Serialize;

use crate::render::{format, safe};
use empirica_notes::error::{Error, Result, move_aside};

const BUILT_IN: [(&str, &str); 14] = [
    ("handoff.md", include_str!("../../templates/handoff.md")),
    ("context.md", include_str!("../../templates/context.md")),
    ("note.md", include_str!("../../templates/note.md")),
    ("pull-request.md", include_str!("../../templates/pull-request.md")),
    ("redacted.md", include_str!("../../templates/redacted.md")),
    ("resume.md", include_str!("../../templates/resume.md")),
    ("bootstrap.md", include_str!("../../templates/bootstrap.md")),
    ("log.txt", include_str!("../../templates/log.txt")),
    ("session.txt", include_str!("../../templates/session.txt")),
    ("status.txt", include_str!("../../templates/status.txt")),
    ("instructions.md", include_str!("../../templates/instructions.md")),
    ("demo.txt", include_str!("../../templates/demo.txt")),
    ("prompt-hand-over.md", include_str!("../../templates/prompt-hand-over.md")),
    ("prompt-take-up.md", include_str!("../../templates/prompt-take-up.md")),
];

pub struct Templates {
    environment: LazyCell<Environment<'static>>,
    overridden: Option<PathBuf>,
    loaded: BTreeSet<String>,
}

impl Templates {
    /// Built-in templates only, so that notes render to the same bytes in every clone.
    pub fn built_in() -> Self {
        Self::with(None)
    }

    /// Templates for the terminal: a file of the same name in `folder` overrides a built-in one.
    pub fn for_terminal(folder: Option<PathBuf>) -> Self {
        Self::with(folder)
    }

    fn with(overridden: Option<PathBuf>) -> Self {
        Templates { environment: LazyCell::new(environment), overridden, loaded: BTreeSet::new() }
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.overridden.as_ref().map(|folder| folder.join(name)).filter(|file| file.is_file())
    }

    /// Whether no file of the user overrides the template.
    pub fn is_built_in(&self, name: &str) -> bool {
        self.file(name).is_none()
    }

    /// Renders a template. If a user's template fails, the error names file and line.
    pub fn render(&mut self, name: &str, data: impl Serialize) -> Result<String> {
        let file = self.file(name);
        let broken = |error: TemplateError| {
            let shown = file.as_ref().map_or_else(|| name.to_owned(), |file| file.display().to_string());
            Error::refused(format!("cannot use the template {shown}"))
                .suggest("Fix the template, or rename it to use the built-in one.")
                .commands_of(file.iter().map(|file| move_aside(file)))
                .caused_by(error)
        };
        let data = Value::from(Serde(data));
        if self.loaded.contains(name) {
            return self.environment.get_template(name).and_then(|template| template.render(data)).map_err(broken);
        }
        let built_in =
            BUILT_IN.iter().find(|(built_in_name, _)| *built_in_name == name).map_or("", |(_, source)| source);
        let source = match &file {
            None => built_in.to_owned(),
            Some(file) => std::fs::read_to_string(file).map_err(|error| {
                let out = Error::refused(format!("cannot read the template {}", file.display()));
                match error.kind() {
                    std::io::ErrorKind::InvalidData => out
                        .reason("it is not valid UTF-8")
                        .suggest("Convert it to UTF-8, or rename it to use the built-in one.")
                        .command(move_aside(file))
                        .caused_by(error),
                    _ => out.on_path(file, error),
                }
            })?,
        };
        self.environment.add_template_owned(name.to_owned(), source).map_err(broken)?;
        self.loaded.insert(name.to_owned());
        let rendered = self.environment.get_template(name).and_then(|template| template.render(data));
        rendered.map_err(broken)
    }
}

fn number(value: &Value) -> Option<f64> {
    f64::try_from(value.clone()).ok()
}

/// Filters and functions of templates.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Lenient);
    environment.set_fuel(Some(5_000_000));
    let text = |f: fn(&str) -> String| move |value: &str| f(value);
    environment.add_filter("line", text(safe::line));
    environment.add_filter("item", text(|text| safe::item(text).into_owned()));
    environment.add_filter("inline", text(safe::words));
    environment.add_filter("cell", text(safe::cell));
    environment.add_filter("paragraph", text(safe::paragraph));
    environment.add_filter("quoted", text(safe::quoted));
    environment.add_filter("code", text(safe::code));
    environment.add_filter("date", text(format::date));
    environment.add_filter("vector", text(format::vector));
    environment.add_filter("words", text(format::words));
    environment.add_filter("indented", |value: &str, width: usize| safe::indented(value, width));
    environment.add_filter("value", |value: Value| format::value(number(&value)));
    environment.add_filter("signed", |value: Value| format::signed(number(&value)));
    environment.add_filter("short_session", |value: &str| value.chars().take(8).collect::<String>());
    environment.add_function("bullets", bullets);
    environment
}

/// A Markdown list of texts, after a blank line.
fn bullets(list: Value) -> Result<String, TemplateError> {
    let entries = list.try_iter()?.map(|entry| format!("\n- {}", safe::item(entry.as_str().unwrap_or_default())));
    Ok(entries.collect())
}

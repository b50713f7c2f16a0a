//! A tool: its arguments, what it does to the repository, how it is listed, and the commands that it does.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{arguments, schema};
use crate::mcp::call_context::CallContext;
use crate::render::answer::Answer;
use empirica_notes::error::{self, Argument, Command, Result};

/// What a call does to the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing of record.
    Reads,
    /// Adds records; each call adds more.
    Adds,
    /// Adds records; the same call again adds nothing.
    Settles,
}

/// The commands that a tool does, by their names; its arguments by their positions; the options whose argument has another name, an
/// empty one where a call leaves it out.
pub type Commands = (&'static [&'static str], &'static [&'static str], &'static [(&'static str, &'static str)]);

/// The arguments of a tool, which are the tool: their documentation is its description.
pub trait Call: DeserializeOwned + JsonSchema {
    /// Its name.
    const NAME: &'static str;
    /// What it does.
    const EFFECT: Effect = Effect::Reads;
    /// Whether it is one of the few that a day's work needs.
    const CORE: bool = false;
    /// The commands of the command line that it does.
    const COMMANDS: Commands = (&[], &[], &[]);
    /// The main keys of its result, as [`schema::of_result`] takes them.
    const RETURNS: &'static str;

    /// Does it.
    fn call(self, call: &mut CallContext<'_>) -> Result<Answer>;
}

/// A tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Does it.
    pub run: fn(&mut CallContext<'_>, Map<String, Value>) -> Result<Answer>,
    effect: Effect,
    /// Whether it is one of the few that a day's work needs.
    pub core: bool,
    /// The commands that it does.
    pub commands: Commands,
    returns: &'static str,
    schema: fn() -> (JsonObject, String),
}

pub const fn tool<C: Call>() -> Tool {
    Tool {
        name: C::NAME,
        run: |call, given| arguments::read::<C>(C::NAME, given)?.call(call),
        effect: C::EFFECT,
        core: C::CORE,
        commands: C::COMMANDS,
        returns: C::RETURNS,
        schema: schema::of_arguments::<C>,
    }
}

impl Tool {
    /// As a client sees it.
    pub fn listed(&self) -> Listed {
        let (input, description) = (self.schema)();
        let annotations = match self.effect {
            Effect::Reads => ToolAnnotations::new().read_only(true),
            Effect::Adds => ToolAnnotations::new().destructive(false),
            Effect::Settles => ToolAnnotations::new().destructive(false).idempotent(true),
        };
        Listed::new(self.name, description, Arc::new(input))
            .with_raw_output_schema(Arc::new(schema::of_result(self.returns)))
            .with_annotations(annotations)
    }

    /// The argument that an option stands for.
    pub fn argument(&self, option: &str) -> String {
        match self.commands.2.iter().find(|(name, _)| *name == option) {
            Some((_, argument)) => (*argument).to_owned(),
            None => argument(option),
        }
    }

    /// The call that does what a command does; `None` when the one has an argument that the other lacks.
    pub fn call(&self, command: &Command) -> Option<String> {
        let schema = (self.schema)().0;
        let mut given: Vec<(String, error::Value)> = Vec::new();
        let mut positions = self.commands.1.iter();
        for argument in &command.arguments {
            let (name, value) = match argument {
                // an answer is a document anyway
                Argument::Flag("--json") => continue,
                Argument::Flag(name) => (self.argument(name), "True".into()),
                Argument::Option(name, value) => (self.argument(name), value.clone()),
                Argument::Positional(value) => match (positions.next(), given.last_mut()) {
                    (Some(name), _) => ((*name).to_owned(), value.clone()),
                    (None, last) => {
                        last?.1.text += &format!(" {}", value.text);
                        continue;
                    }
                },
            };
            match schema["properties"].get(&name) {
                Some(_) => given.push((name, value)),
                None if value.is_blank => {}
                None => return None,
            }
        }
        let lacks = required(&schema).any(|name| given.iter().all(|(given, _)| given != name));
        (!lacks).then(|| self.called(&schema, &given))
    }

    /// A call with what it must be given, for who gave something else.
    pub fn example(&self) -> String {
        let schema = (self.schema)().0;
        let blank = |name: &str| (name.to_owned(), error::Value { text: format!("<{name}>"), is_blank: true });
        self.called(&schema, &required(&schema).map(blank).collect::<Vec<_>>())
    }

    fn called(&self, schema: &JsonObject, given: &[(String, error::Value)]) -> String {
        let literal = |(name, value): &(String, error::Value)| {
            let text = value.text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            match schema["properties"][name]["type"].as_str() {
                Some("integer") if value.is_blank => format!("{name}=0"),
                Some("integer" | "number" | "boolean") => format!("{name}={text}"),
                Some("object") => format!("{name}={{'know': 0.7, 'uncertainty': 0.3}}"),
                Some("array") => format!("{name}=['{text}']"),
                _ => format!("{name}='{text}'"),
            }
        };
        format!("{}({})", self.name, given.iter().map(literal).collect::<Vec<_>>().join(", "))
    }
}

/// The arguments that must be there.
fn required(schema: &JsonObject) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The argument that an option of the command line stands for, where a tool has no other name for it.
pub fn argument(option: &str) -> String {
    match option {
        "--session" | "--ai" => format!("{}_id", &option[2..]),
        _ => option.trim_start_matches('-').replace('-', "_"),
    }
}

/// Says a key of an answer under a second name as well.
pub fn also(mut answer: Answer, name: &str, key: &str) -> Answer {
    let value = answer.json.get(key).cloned().unwrap_or(json!(null));
    answer.json.insert(name.to_owned(), value);
    answer
}

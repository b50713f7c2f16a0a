//! A tool: its arguments, effect, list entry, and equivalent commands.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{arguments, schema};
use crate::mcp::call_context::CallContext;
use crate::render::answer::Answer;
use empirica_notes::error::{self, Argument, Command, Result};

/// The effect of a call on the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Adds no records.
    Reads,
    /// Adds records; each call adds more.
    Adds,
    /// Adds records; the same call again adds nothing.
    AddsOnce,
}

/// The commands that do the same as a tool.
#[derive(Debug, Clone, Copy)]
pub struct EquivalentCommands {
    pub names: &'static [&'static str],
    /// The tool's arguments for their positional arguments.
    positionals: &'static [&'static str],
    /// Options and the tool's arguments for them, if named differently; an empty name for an omitted one.
    renamed_options: &'static [(&'static str, &'static str)],
}

impl EquivalentCommands {
    pub const fn of(names: &'static [&'static str]) -> Self {
        EquivalentCommands { names, positionals: &[], renamed_options: &[] }
    }

    pub const fn positionals(self, positionals: &'static [&'static str]) -> Self {
        EquivalentCommands { positionals, ..self }
    }

    pub const fn renamed_options(self, renamed_options: &'static [(&'static str, &'static str)]) -> Self {
        EquivalentCommands { renamed_options, ..self }
    }
}

/// The arguments of a tool, which define it: their documentation is its description.
pub trait Call: DeserializeOwned + JsonSchema {
    const NAME: &'static str;
    const EFFECT: Effect = Effect::Reads;
    /// Whether it is one of the everyday tools.
    const CORE: bool = false;
    const COMMANDS: EquivalentCommands = EquivalentCommands::of(&[]);
    /// The main keys of its result, in the notation of [`schema::of_result`].
    const RETURNS: &'static str;

    fn call(self, call: &mut CallContext<'_>) -> Result<Answer>;
}

pub struct Tool {
    pub name: &'static str,
    pub run: fn(&mut CallContext<'_>, Map<String, Value>) -> Result<Answer>,
    effect: Effect,
    pub core: bool,
    pub commands: EquivalentCommands,
    returns: &'static str,
    schema: fn() -> (JsonObject, String),
}

pub const fn tool<C: Call>() -> Tool {
    Tool {
        name: C::NAME,
        run: |call, values| arguments::read::<C>(C::NAME, values)?.call(call),
        effect: C::EFFECT,
        core: C::CORE,
        commands: C::COMMANDS,
        returns: C::RETURNS,
        schema: schema::of_arguments::<C>,
    }
}

impl Tool {
    pub fn listed(&self) -> Listed {
        let (input, description) = (self.schema)();
        let annotations = match self.effect {
            Effect::Reads => ToolAnnotations::new().read_only(true),
            Effect::Adds => ToolAnnotations::new().destructive(false),
            Effect::AddsOnce => ToolAnnotations::new().destructive(false).idempotent(true),
        };
        Listed::new(self.name, description, Arc::new(input))
            .with_raw_output_schema(Arc::new(schema::of_result(self.returns)))
            .with_annotations(annotations)
    }

    /// The argument for an option of the command.
    pub fn argument(&self, option: &str) -> String {
        match self.commands.renamed_options.iter().find(|(name, _)| *name == option) {
            Some((_, argument)) => (*argument).to_owned(),
            None => argument(option),
        }
    }

    /// The call equivalent to a command; `None` if either has an argument that the other lacks.
    pub fn call(&self, command: &Command) -> Option<String> {
        let schema = (self.schema)().0;
        let mut arguments: Vec<(String, error::Value)> = Vec::new();
        let mut positions = self.commands.positionals.iter();
        for argument in &command.arguments {
            let (name, value) = match argument {
                // every result is JSON
                Argument::Flag("--json") => continue,
                Argument::Flag(name) => (self.argument(name), "True".into()),
                Argument::Option(name, value) => (self.argument(name), value.clone()),
                Argument::Positional(value) => match (positions.next(), arguments.last_mut()) {
                    (Some(name), _) => ((*name).to_owned(), value.clone()),
                    (None, last) => {
                        last?.1.text += &format!(" {}", value.text);
                        continue;
                    }
                },
            };
            match schema["properties"].get(&name) {
                Some(_) => arguments.push((name, value)),
                None if value.is_placeholder => {}
                None => return None,
            }
        }
        let lacks = required(&schema).any(|name| arguments.iter().all(|(argument, _)| argument != name));
        (!lacks).then(|| self.rendered(&schema, &arguments))
    }

    /// A call with the required arguments, to correct a wrong one.
    pub fn example(&self) -> String {
        let schema = (self.schema)().0;
        let blank = |name: &str| (name.to_owned(), error::Value { text: format!("<{name}>"), is_placeholder: true });
        self.rendered(&schema, &required(&schema).map(blank).collect::<Vec<_>>())
    }

    fn rendered(&self, schema: &JsonObject, arguments: &[(String, error::Value)]) -> String {
        let literal = |(name, value): &(String, error::Value)| {
            let text = value.text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n");
            match schema["properties"][name]["type"].as_str() {
                Some("integer") if value.is_placeholder => format!("{name}=0"),
                Some("integer" | "number" | "boolean") => format!("{name}={text}"),
                Some("object") => format!("{name}={{'know': 0.7, 'uncertainty': 0.3}}"),
                Some("array") => format!("{name}=['{text}']"),
                _ => format!("{name}='{text}'"),
            }
        };
        format!("{}({})", self.name, arguments.iter().map(literal).collect::<Vec<_>>().join(", "))
    }
}

fn required(schema: &JsonObject) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The argument for an option, unless the tool names it differently.
pub fn argument(option: &str) -> String {
    match option {
        "--session" | "--ai" => format!("{}_id", &option[2..]),
        _ => option.trim_start_matches('-').replace('-', "_"),
    }
}

/// Repeats a key of an answer under a second name.
pub fn also(mut answer: Answer, name: &str, key: &str) -> Answer {
    let value = answer.json.get(key).cloned().unwrap_or(json!(null));
    answer.json.insert(name.to_owned(), value);
    answer
}

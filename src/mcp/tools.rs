//! The tools: their names, what they do to the repository, and how they are listed.

mod checkpoints;
mod goals;
mod handoffs;
mod history;
mod journal;
mod sessions;
mod workflow;

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::here::Here;
use super::{arguments, schema};
use crate::error::{Error, Result};
use crate::view::Answer;

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

/// The arguments of a tool, which are the tool: their documentation is its description.
pub trait Call: DeserializeOwned + JsonSchema {
    /// Its name.
    const NAME: &'static str;
    /// What it does.
    const EFFECT: Effect = Effect::Reads;
    /// Whether it is one of the few that a day's work needs.
    const CORE: bool = false;
    /// The main keys of its result, as [`schema::of_result`] takes them.
    const RETURNS: &'static str;

    /// Does it.
    fn call(self, here: &mut Here<'_>) -> Result<Answer>;
}

/// A tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Does it.
    pub run: fn(&mut Here<'_>, Map<String, Value>) -> Result<Answer>,
    effect: Effect,
    core: bool,
    returns: &'static str,
    schema: fn() -> (JsonObject, String),
}

const fn tool<C: Call>() -> Tool {
    Tool {
        name: C::NAME,
        run: |here, given| arguments::read::<C>(C::NAME, given)?.call(here),
        effect: C::EFFECT,
        core: C::CORE,
        returns: C::RETURNS,
        schema: schema::of_arguments::<C>,
    }
}

/// All of them, in the order of a session.
static ALL: [Tool; 40] = [
    tool::<sessions::BootstrapSession>(),
    tool::<handoffs::Resume>(),
    tool::<workflow::ExecutePreflight>(),
    tool::<workflow::SubmitPreflight>(),
    tool::<journal::LogFinding>(),
    tool::<journal::LogUnknown>(),
    tool::<journal::ResolveUnknown>(),
    tool::<journal::LogDeadEnd>(),
    tool::<journal::LogDecision>(),
    tool::<workflow::ExecuteCheck>(),
    tool::<workflow::SubmitCheck>(),
    tool::<workflow::ExecutePostflight>(),
    tool::<workflow::SubmitPostflight>(),
    tool::<handoffs::Generate>(),
    tool::<sessions::EndSession>(),
    tool::<journal::LogMistake>(),
    tool::<journal::LogEvidence>(),
    tool::<history::Search>(),
    tool::<sessions::BootstrapProject>(),
    tool::<sessions::ListSessions>(),
    tool::<sessions::Summary>(),
    tool::<workflow::State>(),
    tool::<workflow::Drift>(),
    tool::<history::CalibrationReport>(),
    tool::<history::Beliefs>(),
    tool::<checkpoints::Create>(),
    tool::<checkpoints::Load>(),
    tool::<checkpoints::Diff>(),
    tool::<history::Measure>(),
    tool::<history::Report>(),
    tool::<goals::Cascade>(),
    tool::<goals::Generate>(),
    tool::<goals::Query>(),
    tool::<goals::Create>(),
    tool::<goals::AddSubtask>(),
    tool::<goals::CompleteSubtask>(),
    tool::<goals::Progress>(),
    tool::<handoffs::Query>(),
    tool::<handoffs::Accept>(),
    tool::<history::Sync>(),
];

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

    /// A call with what it must be given, for who gave something else.
    pub fn example(&self) -> String {
        let schema = (self.schema)().0;
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let value = |name: &str| match schema["properties"][name]["type"].as_str() {
            Some("integer") => format!("{name}=0"),
            Some("object") => format!("{name}={{'know': 0.7, 'uncertainty': 0.3}}"),
            _ => format!("{name}='<{name}>'"),
        };
        format!("{}({})", self.name, required.map(value).collect::<Vec<_>>().join(", "))
    }
}

fn offered(all: bool) -> impl Iterator<Item = &'static Tool> {
    ALL.iter().filter(move |tool| all || tool.core)
}

/// The list of tools.
pub fn listed(all: bool) -> Vec<Listed> {
    offered(all).map(Tool::listed).collect()
}

/// Whether the list has a tool.
pub fn is_listed(name: &str, all: bool) -> bool {
    offered(all).any(|tool| tool.name == name)
}

/// The tool of a name, whether it is listed or not: a client may know it from elsewhere. An error names tools of the list.
pub fn find(name: &str, all: bool) -> Result<&'static Tool> {
    ALL.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = offered(all).map(|tool| tool.name).collect();
        let name: &str = &name.chars().take(100).collect::<String>();
        let out = Error::not_found(format!("there is no tool '{name}'")).provided(name);
        let out = out.reason(format!("the tools are {}", names.join(", "))).suggest("Use a tool of the list.");
        similar::get_close_matches(name, &names, 3, 0.5).into_iter().fold(out, |out, near| out.alternative(near))
    })
}

/// Says a key of an answer under a second name as well.
fn also(mut answer: Answer, name: &str, key: &str) -> Answer {
    let value = answer.json.get(key).cloned().unwrap_or(json!(null));
    answer.json.insert(name.to_owned(), value);
    answer
}

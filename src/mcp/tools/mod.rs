//! The table of tools, and the part that a client lists.

pub mod arguments;
mod checkpoints;
mod goals;
pub mod handoffs;
mod history;
mod journal;
pub mod schema;
mod sessions;
mod tool;
mod workflow;

use rmcp::model::Tool as Listed;

use empirica_notes::error::{Command, Error, Result, Terms};
use tool::{Tool, argument, tool};

/// All tools, in the order of a session.
static ALL: [&[Tool]; 3] = [
    &[
        tool::<sessions::BootstrapSession>(),
        tool::<handoffs::Resume>(),
        tool::<workflow::ExecutePreflight>(),
        tool::<workflow::SubmitPreflight>(),
    ],
    journal::TOOLS,
    &[
        tool::<workflow::ExecuteCheck>(),
        tool::<workflow::SubmitCheck>(),
        tool::<workflow::ExecutePostflight>(),
        tool::<workflow::SubmitPostflight>(),
        tool::<handoffs::Generate>(),
        tool::<sessions::EndSession>(),
        tool::<history::Search>(),
        tool::<history::Explain>(),
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
    ],
];

fn offered(all: bool) -> impl Iterator<Item = &'static Tool> {
    ALL.into_iter().flatten().filter(move |tool| all || tool.core)
}

pub fn commands() -> impl Iterator<Item = &'static str> {
    offered(true).flat_map(|tool| tool.commands.names).copied()
}

pub fn listed(all: bool) -> Vec<Listed> {
    offered(all).map(Tool::listed).collect()
}

/// The terms of a client: calls of its listed tools, and their arguments.
pub struct ToolTerms {
    /// Whether the client lists all tools, or only the core ones.
    pub all: bool,
    /// The tool of the present call.
    pub called: Option<&'static Tool>,
}

impl Terms for ToolTerms {
    fn call(&self, command: &Command) -> Option<String> {
        offered(self.all)
            .find(|tool| command.is_own && tool.commands.names.contains(&command.name.as_str()))?
            .call(command)
    }

    fn option(&self, name: &str) -> String {
        self.called.map_or_else(|| argument(name), |tool| tool.argument(name))
    }
}

/// Finds a tool by name, even an unlisted one; an error suggests listed tools.
pub fn find(name: &str, all: bool) -> Result<&'static Tool> {
    offered(true).find(|tool| tool.name == name).ok_or_else(|| {
        let names: Vec<&str> = offered(all).map(|tool| tool.name).collect();
        let name: &str = &name.chars().take(100).collect::<String>();
        let out = Error::not_found(format!("cannot find tool '{name}'")).provided(name);
        let out = out.reason(format!("the tools are {}", names.join(", "))).suggest("Use a tool of the list.");
        similar::get_close_matches(name, &names, 3, 0.5).into_iter().fold(out, |out, near| out.alternative(near))
    })
}

//! The call of an agent's hook: from its input to the answer in its format. It never fails.

use std::io::Read;
use std::path::PathBuf;

use serde_json::Value;

use crate::render::safe::Fence;
use crate::render::template::Templates;
use crate::use_cases::hooks::agent;
use crate::use_cases::hooks::agent::event::{self, HookEvent, HookKind};
use crate::use_cases::hooks::agent::view;
use crate::use_cases::setup::agents;
use crate::use_cases::setup::agents::entries::entry;
use empirica_notes::env::Env;
use empirica_notes::git::Repository;
use empirica_notes::store::{Paths, Render};
use empirica_transcripts::model::Agent;

/// Largest input in bytes; a longer one is unreadable.
const MAX_INPUT_BYTES: u64 = 32 << 20;

/// Handles an event, and returns the answer for the agent; `None` without text for its model.
/// A hook of a plugin (`in_plugin`) leaves the event to the project's own hook, if there is one.
pub fn run(
    env: &Env,
    render: &dyn Render,
    agent: &str,
    event: &str,
    in_plugin: bool,
    input: impl Read,
) -> Option<Value> {
    let agent = Agent::parse(agent)?;
    let mut env = env.without("EMPIRICA_SESSION");
    let payload = match event::payload(input.take(MAX_INPUT_BYTES)) {
        Ok(payload) => payload,
        Err(error) => {
            agent::log_unreadable_input(&env, render, &format!("agent {} {event}", agent.name()), &error.to_string());
            return None;
        }
    };
    // another agent that runs these hooks has its own
    if event::running(&payload, &|name| env.get(name).is_some()).is_some_and(|running| running != agent) {
        return None;
    }
    let event = event::read(agent, event, &payload).filter(|event| event.event != HookKind::Nothing)?;
    if let Some(folder) = folder(&event, &env) {
        env.cwd = folder;
    }
    let repo = Repository::discover(&env).ok()?;
    if in_plugin && agents::has_hook(&repo, &env.cwd, event.agent, &event.name) {
        return None;
    }
    let inject = agent::run(&env, &repo, render, &event, payload.to_string().as_bytes())?;
    let mut templates = Templates::for_terminal(repo.config_path("empirica.templateDir"));
    let fence = Fence::of(&Paths::new(&repo, &env));
    event::answer(&event, &view::text(&inject, &fence, &mut templates).unwrap_or_default())
}

/// The folder of the project, from the agent's environment, else from the event.
fn folder(event: &HookEvent, env: &Env) -> Option<PathBuf> {
    let named = entry(event.agent).dialect.project.and_then(|name| env.get(name)).map(PathBuf::from);
    named
        .filter(|folder| folder.is_absolute() && folder.is_dir())
        .or_else(|| event.folder.clone().filter(|folder| folder.is_dir()))
}

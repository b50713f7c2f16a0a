//! The call of an agent's hook: from what the agent tells to the answer in its form. Whatever happens, the agent goes on.

use std::io::Read;
use std::path::PathBuf;

use serde_json::Value;

use crate::hooks::agent;
use crate::hooks::agent::event::{self, HookEvent, HookKind};
use crate::hooks::agent::view;
use crate::render::template::Templates;
use crate::setup::agents::entries::entry;
use empirica_notes::env::Env;
use empirica_notes::git::Repository;
use empirica_notes::store::Render;
use empirica_transcripts::model::Agent;

/// The most that an agent can tell, in bytes; what is longer is taken for nothing.
const MOST: u64 = 32 << 20;

/// Does what an event of an agent is for, and returns the agent's answer; `None` when there is nothing to put before its model.
pub fn run(env: &Env, render: &dyn Render, agent: &str, event: &str, input: impl Read) -> Option<Value> {
    let agent = Agent::parse(agent)?;
    let mut env = env.without("EMPIRICA_SESSION");
    let payload = match event::payload(input.take(MOST)) {
        Ok(payload) => payload,
        Err(error) => {
            agent::unread(&env, render, &format!("agent {} {event}", agent.name()), &error.to_string());
            return None;
        }
    };
    // another agent that runs the hooks of this one has its own
    if event::running(&payload, &|name| env.get(name).is_some()).is_some_and(|running| running != agent) {
        return None;
    }
    // most tools work, and that is nobody's business here
    let told = event::read(agent, event, &payload).filter(|told| told.event != HookKind::Nothing)?;
    if let Some(folder) = folder(&told, &env) {
        env.cwd = folder;
    }
    let repo = Repository::discover(&env).ok()?;
    let inject = agent::run(&env, &repo, render, &told, payload.to_string().as_bytes())?;
    let mut templates = Templates::for_terminal(repo.config_path("empirica.templateDir"));
    event::answer(&told, &view::text(&inject, &mut templates).unwrap_or_default())
}

/// Where the project is: as the agent's environment says, else as it told.
fn folder(told: &HookEvent, env: &Env) -> Option<PathBuf> {
    let named = entry(told.agent).dialect.project.and_then(|name| env.get(name)).map(PathBuf::from);
    named
        .filter(|folder| folder.is_absolute() && folder.is_dir())
        .or_else(|| told.folder.clone().filter(|folder| folder.is_dir()))
}

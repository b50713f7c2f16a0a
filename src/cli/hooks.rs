//! The hooks: git's own, and those of agents. They say what they have to say, and nothing else.

use std::io::Read;

use super::output::Output;
use super::{args, requests};
use crate::handoff::note::BuiltIn;
use crate::hooks;
use crate::hooks::agent::event;
use crate::hooks::agent::event::{HookEvent, HookKind};
use crate::render::template::Templates;
use empirica_notes::env::Env;
use empirica_notes::error::Kind;
use empirica_notes::git::Repository;
use empirica_transcripts::model::Agent;

/// The most that an agent can tell, in bytes; what is longer is taken for nothing.
const MOST: u64 = 32 << 20;

/// A hook of git's: what there is to say goes to standard error. Returns whether git may go on.
pub fn git(name: hooks::GitHook, arguments: Vec<String>, env: &Env, output: &mut Output) -> bool {
    let mut input = Vec::new();
    if name.reads_input() {
        // what cannot be read is followed by `repair`
        let _ = output.stdin().read_to_end(&mut input);
    }
    let outcome = match Repository::discover(env) {
        Ok(repo) => hooks::run(env, &repo, &BuiltIn, &hooks::HookCall { name, arguments, input }),
        // what git itself would refuse is nothing to talk about at every commit; the commands do
        Err(error) if error.kind() == Kind::NoRepository => hooks::HookOutcome::default(),
        Err(error) => hooks::HookOutcome { warnings: vec![error.to_string()], ..Default::default() },
    };
    // nobody may be there to read it
    let _ = outcome.messages.iter().try_for_each(|text| output.say(&crate::render::safe::lines(text)));
    let _ = output.aside(&outcome.warnings, &[]);
    !outcome.stops
}

/// Runs a hook; returns whether who called it may go on.
pub fn run(given: args::Hook, env: &Env, output: &mut Output) -> bool {
    match requests::hook(given.name) {
        Some(name) => git(name, given.arguments, env, output),
        None => {
            agent(&given.arguments, env, output);
            true
        }
    }
}

/// A hook of an agent: standard output has its answer, or nothing; whatever happens, the agent goes on.
fn agent(arguments: &[String], env: &Env, output: &mut Output) {
    let [agent, event, ..] = arguments else { return };
    let Some(agent) = Agent::parse(agent) else { return };
    let mut env = env.without("EMPIRICA_SESSION");
    let payload = match event::payload(output.stdin().take(MOST)) {
        Ok(payload) => payload,
        Err(error) => {
            hooks::agent::unread(&env, &BuiltIn, &format!("agent {} {event}", agent.name()), &error.to_string());
            return;
        }
    };
    // another agent that runs the hooks of this one has its own
    if event::running(&payload, &|name| env.get(name).is_some()).is_some_and(|running| running != agent) {
        return;
    }
    // most tools work, and that is nobody's business here
    let Some(told) = event::read(agent, event, &payload).filter(|told| told.event != HookKind::Nothing) else { return };
    if let Some(folder) = folder(&told, &env) {
        env.cwd = folder;
    }
    let Ok(repo) = Repository::discover(&env) else { return };
    let Some(inject) = hooks::agent::run(&env, &repo, &BuiltIn, &told, payload.to_string().as_bytes()) else { return };
    let mut templates = Templates::for_terminal(repo.config_path("empirica.templateDir"));
    let text = crate::hooks::agent::view::text(&inject, &mut templates).unwrap_or_default();
    if let Some(answer) = event::answer(&told, &text) {
        // nobody may be there to read it
        let _ = output.write(&format!("{}\n", crate::render::safe::json(&answer))).and_then(|()| output.flush());
    }
}

/// Where the project is: as the agent's environment says, else as it told.
fn folder(told: &HookEvent, env: &Env) -> Option<std::path::PathBuf> {
    let variable = match told.agent {
        Agent::ClaudeCode => Some("CLAUDE_PROJECT_DIR"),
        Agent::Cursor => Some("CURSOR_PROJECT_DIR"),
        Agent::Gemini => Some("GEMINI_PROJECT_DIR"),
        Agent::Copilot => Some("COPILOT_PROJECT_DIR"),
        Agent::Codex | Agent::OpenCode => None,
    };
    let named = variable.and_then(|name| env.get(name)).map(std::path::PathBuf::from);
    named
        .filter(|folder| folder.is_absolute() && folder.is_dir())
        .or_else(|| told.folder.clone().filter(|folder| folder.is_dir()))
}

//! Checks of git, the program found by hooks, and the setup.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::context::CommandContext;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use crate::use_cases::setup::doctor::settings::unset;
use crate::use_cases::setup::git_hooks::scripts::{self, shell_path};
use crate::use_cases::setup::record::{HookPlacement, SetupRecord};
use crate::use_cases::setup::steps::SetupStep;
use crate::use_cases::setup::{git_hooks, init, settings};
use empirica_notes::error::empirica;
use empirica_notes::git::process;
use empirica_notes::git::process::version;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::ConfigValue;

/// The checks, and whether the repository is set up.
pub fn checks(context: &CommandContext<'_>) -> (bool, Vec<DoctorCheck>) {
    let mut out = vec![git(context), program(context)];
    let record = match SetupRecord::load(&context.repo.common_dir()) {
        Ok(Some(record)) if record.is_set_up() => record,
        Ok(_) => {
            let what = "not set up here: no hooks, nothing shown by git log or fetched";
            out.push(DoctorCheck::right("setup", what).command(empirica("init")));
            return (false, out);
        }
        Err(error) => {
            out.push(DoctorCheck::failed("setup", &error));
            return (true, out);
        }
    };
    match init::plan(context.repo, &record) {
        Ok(plan) => {
            out.extend(hook_checks(context, &plan.hooks, &plan.settings));
            out.extend(setting_checks(plan.settings));
        }
        Err(error) => out.push(DoctorCheck::failed("hooks", &error)),
    }
    (true, out)
}

fn git(context: &CommandContext<'_>) -> DoctorCheck {
    let Some(version) = process::installed(context.repo.cwd()) else {
        return DoctorCheck::wrong("git", "cannot start git").command("git --version");
    };
    match version::too_old(&version) {
        Some(old) => DoctorCheck::wrong("git", format!("{old}: update it")).command("git --version"),
        None => DoctorCheck::right("git", format!("version {version}")),
    }
}

/// Hooks must find this program.
fn program(context: &CommandContext<'_>) -> DoctorCheck {
    let own = env!("CARGO_PKG_VERSION");
    let folder = context.env.program.parent().unwrap_or(Path::new("/"));
    let first = format!("export PATH={}:\"$PATH\"", shell_path(folder));
    let Some(found) = context.env.find_program("git-empirica") else {
        return DoctorCheck::wrong("program", "git-empirica is not on PATH: hooks cannot find it").command(first);
    };
    let output = Command::new(&found).arg("--version").stdin(Stdio::null()).output();
    let output = output.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default();
    let version = output.strip_prefix("git-empirica ").unwrap_or("of unknown version");
    if version == own {
        return DoctorCheck::right("program", format!("version {own}, {}", found.display()));
    }
    let what = format!("hooks will find {} ({version}), this is {own}", found.display());
    DoctorCheck::wrong("program", what).command(first)
}

fn hook_checks(
    context: &CommandContext<'_>,
    plan: &git_hooks::HookPlan,
    settings: &settings::SettingsPlan,
) -> Vec<DoctorCheck> {
    let mut missing: Vec<String> = Vec::new();
    if !plan.left.is_empty() {
        missing.push("our hooks now belong in another place".to_owned());
    }
    // causes first: a wrong core.hooksPath explains the rest
    let (set, rest): (Vec<&SetupStep>, Vec<&SetupStep>) =
        plan.steps.iter().partition(|step| matches!(step, SetupStep::SetValues { .. }));
    for step in set.into_iter().chain(rest).filter(|_| plan.left.is_empty()) {
        match step {
            SetupStep::SetValues { former, .. } => {
                let names = former.last().map_or("is not set".to_owned(), |value| format!("is '{value}'"));
                missing.push(format!("core.hooksPath {names}: git does not run our hooks"));
            }
            SetupStep::WriteScript { path, content } => missing.push(script(path, content)),
            SetupStep::Rename { from, .. } => {
                missing.push(format!("{} is not ours and does not call us", from.display()))
            }
            SetupStep::Remove(path) => missing.push(format!("{} calls a hook that is gone", path.display())),
            _ => {}
        }
    }
    let keys = settings.steps.iter().filter_map(SetupStep::key).filter(|key| key.starts_with("hook."));
    missing.extend(keys.map(|key| format!("{key} differs from our hook")));
    let mut out = Vec::new();
    if let Some(first) = missing.first() {
        let more = if missing.len() > 1 { format!(", and {} more like it", missing.len() - 1) } else { String::new() };
        out.push(DoctorCheck::wrong("hooks", format!("{first}{more}")).command(empirica("init")));
    }
    // problems of a place no longer used are fixed by init alone
    for warning in plan.warnings.iter().filter(|_| plan.left.is_empty()) {
        out.push(DoctorCheck::wrong("hooks", &warning.what).commands(&warning.commands));
    }
    if plan.hooks.placement == HookPlacement::Config {
        out.extend(disabled(context));
    }
    out.extend(overridden(context, plan));
    if out.is_empty() {
        let place = match plan.hooks.placement {
            HookPlacement::Config => "named by git's configuration".to_owned(),
            _ => format!("in {}", plan.hooks.folder.display()),
        };
        out.push(DoctorCheck::right("hooks", place));
    }
    out
}

fn script(path: &Path, content: &[u8]) -> String {
    let what = match std::fs::read(path) {
        Err(_) => "is missing",
        Ok(now) if now == content => "is not executable",
        Ok(_) => "is of another version",
    };
    format!("{} {what}", path.display())
}

/// Hooks in the configuration that are disabled.
fn disabled(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    let is_ours = |key: &str| {
        let name = key.strip_prefix("hook.").and_then(|key| key.strip_suffix(".enabled"));
        name.is_some_and(|name| scripts::names().any(|hook| hook == name.strip_prefix("empirica-").unwrap_or(name)))
    };
    let off = config::matching(context.repo, is_ours).unwrap_or_default();
    let off = off.iter().filter(|value| matches!(value.value.as_str(), "false" | "no" | "off" | "0"));
    let check = |value: &ConfigValue| {
        DoctorCheck::wrong("hooks", format!("{} is off", value.key)).command(unset(context.repo, value))
    };
    off.map(check).collect()
}

/// A core.hooksPath that overrides ours, such as one from an included file, which init cannot fix.
fn overridden(context: &CommandContext<'_>, plan: &git_hooks::HookPlan) -> Option<DoctorCheck> {
    let sets = plan.steps.iter().any(|step| matches!(step, SetupStep::SetValues { .. }));
    let (what, other) = plan.hooks.overridden(context.repo).ok()?.filter(|_| !sets)?;
    Some(DoctorCheck::wrong("hooks", what).command(unset(context.repo, &other)))
}

fn setting_checks(plan: settings::SettingsPlan) -> Vec<DoctorCheck> {
    let changes = |prefix: &str| plan.steps.iter().filter_map(SetupStep::key).any(|key| key.starts_with(prefix));
    let mut out = Vec::new();
    out.push(if changes("notes.") {
        DoctorCheck::wrong("display", "notes.displayRef does not show our Markdown: plain git log stays silent")
            .command(empirica("init"))
    } else {
        DoctorCheck::right("display", "plain git log shows the handoffs")
    });
    let mut added = plan.steps.iter().filter(|step| matches!(step, SetupStep::AddValue { .. }));
    out.push(match added.find_map(|step| step.key()?.strip_prefix("remote.")?.strip_suffix(".fetch")) {
        Some(name) => {
            DoctorCheck::wrong("fetch", format!("git fetch {name} does not bring its notes")).command(empirica("init"))
        }
        None => DoctorCheck::right("fetch", "git fetch brings the notes of the remotes"),
    });
    // init already reported those without a fix
    for (check, warnings) in [("hooks", &plan.hook_warnings), ("fetch", &plan.fetch_warnings)] {
        for warning in warnings.iter().filter(|warning| !warning.commands.is_empty()) {
            out.push(DoctorCheck::wrong(check, &warning.what).commands(&warning.commands));
        }
    }
    let changed = changes("empirica.");
    out.push(match plan.remote {
        Some(remote) if !changed => DoctorCheck::right("remote", format!("records go to {remote}")),
        Some(remote) => {
            DoctorCheck::wrong("remote", format!("empirica.remote does not name {remote}")).command(empirica("init"))
        }
        None => DoctorCheck::right("remote", "there is no remote to send records to"),
    });
    out
}

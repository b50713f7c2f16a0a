//! Checks of the configuration: settings that overwrite or garble notes, and invalid values.

use std::path::Path;

use crate::context::CommandContext;
use crate::context::claims::inject::Inject;
use crate::use_cases::meaning::source;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use crate::use_cases::setup::settings::remotes::sides;
use crate::use_cases::setup::settings::{choice, remotes};
use empirica_notes::error::{Result, empirica, quote};
use empirica_notes::git::Repository;
use empirica_notes::git::repository::config;
use empirica_notes::git::repository::config::matches;
use empirica_notes::git::repository::config::{ConfigFile, ConfigValue};
use empirica_notes::store::SyncPolicy;
use empirica_notes::store::{PREFIX, own_refs, parse_duration};

/// Checks; those of other programs' settings only if we have notes (`ours`).
pub fn checks(context: &CommandContext<'_>, ours: bool) -> Vec<DoctorCheck> {
    let mut out = Vec::new();
    let mut all = |found: Result<Vec<DoctorCheck>>, check: &'static str, right: &str| match found {
        Ok(found) if found.is_empty() => out.push(DoctorCheck::right(check, right)),
        Ok(found) => out.extend(found),
        Err(error) => out.push(DoctorCheck::failed(check, &error)),
    };
    if ours {
        all(refspecs(context), "refspecs", "no refspec overwrites notes");
        all(rewrites(context), "rewrite", "git itself copies none of our notes");
    }
    all(values(context), "config", "every empirica.* value can be used");
    all(Ok(identity(context)), "identity", "records name their author");
    out.extend(meaning(context));
    if !context.store.secret_filter().is_enabled() {
        let off = "empirica.redact is off: secrets are neither replaced before storing nor held back from a push";
        out.push(DoctorCheck::right("secrets", off).command("git config empirica.redact true"));
    }
    out
}

/// Search by meaning, if it is configured. Asks no endpoint.
fn meaning(context: &CommandContext<'_>) -> Option<DoctorCheck> {
    const NAME: &str = "search by meaning";
    let state = || -> Result<Option<DoctorCheck>> {
        let Some(source) = source::source(context)? else { return Ok(None) };
        source::check(&source)?;
        let (have, all) = (source::file(context, &source).count(), context.index()?.searchable()?);
        let check = DoctorCheck::right(NAME, format!("{have} of {all} records have a vector"));
        Ok(Some(if have < all { check.command(empirica("embed")) } else { check }))
    };
    state().unwrap_or_else(|error| Some(DoctorCheck::failed(NAME, &error)))
}

/// The command that unsets a value in its file.
pub fn unset(repo: &Repository, value: &ConfigValue) -> String {
    let own = config::own(repo, &ConfigFile::Local, &value.key).unwrap_or_default();
    let file = match value.origin.strip_prefix("file:") {
        _ if value.scope == "local" && own.contains(&value.value) => String::new(),
        Some(path) => {
            let top = repo.work_tree().unwrap_or_else(|| repo.git_dir());
            format!("--file {} ", quote(&top.join(path).to_string_lossy()))
        }
        None => format!("--{} ", value.scope),
    };
    format!("git config {file}--fixed-value --unset-all {} {}", quote(&value.key), quote(&value.value))
}

/// Refspecs that force our refs to the other side's value.
fn refspecs(context: &CommandContext<'_>) -> Result<Vec<DoctorCheck>> {
    let is_refspec = |key: &str| key.starts_with("remote.") && (key.ends_with(".fetch") || key.ends_with(".push"));
    let values = config::matching(context.repo, is_refspec)?;
    let mut out = Vec::new();
    for value in &values {
        let fetch = value.key.ends_with(".fetch");
        let Some((from, to)) = sides(&value.value) else { continue };
        // mirrors are checked separately
        if (from, to) == ("refs/*", "refs/*") || (!fetch && !value.value.starts_with('+')) {
            continue;
        }
        let excluded = |other: &ConfigValue| other.key == value.key && other.value == format!("^{PREFIX}*");
        let overwrites = own_refs().iter().any(|name| glob(to, name)) && !values.iter().any(excluded);
        let nests = glob(from, &format!("{PREFIX}remotes/x/handoffs")) && to.starts_with(PREFIX);
        let what = match (overwrites, fetch, nests) {
            (true, true, _) => "overwrites our notes with every fetch",
            (true, false, _) => "overwrites the notes of the other side with every push",
            (false, _, true) => "copies the fetched notes again with every fetch",
            _ => continue,
        };
        let what = format!("{} = {} {what}", value.key, value.value);
        out.push(DoctorCheck::wrong("refspecs", what).command(unset(context.repo, value)));
    }
    Ok(out)
}

/// Whether a side of a refspec matches a ref; it has one `*` at most.
fn glob(side: &str, name: &str) -> bool {
    match side.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => side == name,
    }
}

/// Settings by which git itself copies our notes on rewrites: without compare-and-swap, and in modes that garble
/// them.
fn rewrites(context: &CommandContext<'_>) -> Result<Vec<DoctorCheck>> {
    let values = config::matching(context.repo, |key| key == "notes.rewriteref")?;
    let ours = |value: &&ConfigValue| own_refs().iter().any(|name| matches(&value.value, name));
    let wrong = values.iter().filter(ours).map(|value| {
        let what = format!("notes.rewriteRef = {}: git copies our notes beside us, and can lose some", value.value);
        DoctorCheck::wrong("rewrite", what).command(unset(context.repo, value))
    });
    Ok(wrong.collect())
}

fn values(context: &CommandContext<'_>) -> Result<Vec<DoctorCheck>> {
    let remotes = remotes::list(context.repo)?;
    let templates = config::paths(context.repo, "empirica.templatedir")?;
    let mut out = Vec::new();
    for value in config::matching(context.repo, |key| key.starts_with("empirica."))? {
        let text = value.value.as_str();
        let expected = match value.key.as_str() {
            "empirica.locktimeout" | "empirica.synctimeout" if parse_duration(text).is_none() => {
                "a duration such as 300ms, 10s or 2m"
            }
            "empirica.sync" if SyncPolicy::configured(context.repo).is_err() => "all, handoffs or off",
            "empirica.strict" | "empirica.digest" | "empirica.index" | "empirica.redact" | "empirica.guard"
                if !is_bool(text) =>
            {
                "true or false"
            }
            "empirica.startbudget" if text.parse::<usize>().is_err() => "a number of tokens, 0 for nothing",
            "empirica.inject" if Inject::parse(text).is_none() => "all, signed or mine",
            "empirica.note" if !["short", "full"].contains(&text) => "short or full",
            "empirica.remote" if empirica_notes::git::remotes::target(context.repo, text).is_err() => {
                "the name of a remote"
            }
            "empirica.ai" if text.trim().is_empty() => "a name",
            "empirica.templatedir" if !templates.iter().any(|path| Path::new(&path.value).is_dir()) => "a folder",
            _ => continue,
        };
        let check = DoctorCheck::wrong("config", format!("{} is '{text}' and must be {expected}", value.key));
        let another = choice(context.repo, &remotes).filter(|_| value.key == "empirica.remote");
        out.push(check.command(match another {
            Some(name) if value.scope == "local" => format!("git config empirica.remote {}", quote(&name)),
            _ => unset(context.repo, &value),
        }));
    }
    Ok(out)
}

/// Whether git accepts it as a boolean.
fn is_bool(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    ["true", "false", "yes", "no", "on", "off", ""].contains(&word.as_str()) || word.parse::<i64>().is_ok()
}

fn identity(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    let set = |key: &str| context.repo.config(key).is_some_and(|value| !value.trim().is_empty());
    if context.named_ai().is_some() || set("empirica.ai") || set("user.name") {
        return Vec::new();
    }
    let what = "records will say 'unknown': neither user.name, empirica.ai nor EMPIRICA_AI is set";
    let check = DoctorCheck::wrong("identity", what).command("git config user.name \"Your Name\"");
    vec![check.command("git config user.email \"you@example.com\"")]
}

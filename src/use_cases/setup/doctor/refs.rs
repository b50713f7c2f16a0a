//! Checks of refs and store: name conflicts, damage, pending records, unsynchronized refs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::context::CommandContext;
use crate::render::format;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use crate::use_cases::setup::git_hooks::scripts::shell_path;
use crate::use_cases::sync::policy::destinations;
use empirica_notes::error::{Error, empirica, quote};
use empirica_notes::git::history::reach::check_reachable;
use empirica_notes::git::objects::integrity::Integrity;
use empirica_notes::git::refs::{damaged_packed_refs, deletion, locks};
use empirica_notes::git::remotes::tracking_name;
use empirica_notes::git::{Oid, Repository, remotes};
use empirica_notes::store::{NotesHealth, PREFIX, SyncPolicy, own_refs};

/// Locks on refs are held for milliseconds; one this old was left by a process that died.
const STALE: Duration = Duration::from_secs(60);

pub fn any(context: &CommandContext<'_>) -> bool {
    let found = |name: &String| !matches!(context.repo.find_ref(name), Ok(None));
    own_refs().iter().any(found)
}

pub fn checks(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    let packed = damaged_packed_refs(&context.repo.common_dir());
    let mut refs: Vec<DoctorCheck> = packed.iter().map(|error| DoctorCheck::failed("refs", error)).collect();
    refs.extend(conflicts(context.repo));
    refs.extend(broken(context));
    refs.extend(refused(context));
    if refs.is_empty() {
        refs.push(DoctorCheck::right("refs", "all our refs can be read and written"));
    }
    let notes = context.store.health().notes();
    refs.push(damaged(context, &notes));
    refs.extend(newer(&notes));
    refs.extend(damaged_history(context));
    refs.extend(locks(context.repo));
    refs.push(pending(context));
    refs.push(unsynced(context));
    refs.push(writable(context));
    refs.extend(hook_errors(context));
    refs
}

/// Records that only a newer program reads.
fn newer(notes: &NotesHealth) -> Option<DoctorCheck> {
    let unknown = notes.newer.len();
    let what = format!(
        "{} written by a newer version of this program: kept and synced, but not shown; update the program",
        format::count(unknown, "record")
    );
    (unknown > 0).then(|| DoctorCheck::wrong("version", what).command(empirica("--version").flag("--json")))
}

/// Last failure logged by hooks. It needs no fix: its records were written later or are pending.
fn hook_errors(context: &CommandContext<'_>) -> Option<DoctorCheck> {
    let all = context.store.hook_errors().list();
    let last = all.last()?;
    Some(DoctorCheck::right(
        "hook-errors",
        format!("hooks logged {}; the last: {last}", format::count(all.len(), "failure")),
    ))
}

/// Refs of other programs whose names conflict with ours, and the commands that rename them.
fn conflicts(repo: &Repository) -> Vec<DoctorCheck> {
    let base = PREFIX.trim_end_matches('/');
    let mut wrong: Vec<String> = [base.to_owned(), format!("{base}/data"), format!("{base}/remotes")]
        .into_iter()
        .filter(|name| !matches!(repo.find_ref(name), Ok(None)))
        .collect();
    for name in own_refs() {
        let below = repo.list_refs(&format!("{name}/")).unwrap_or_default();
        wrong.extend(below.into_iter().map(|(name, _)| name));
    }
    let check = |name: &String| {
        let to = format!("refs/notes/aside-empirica{}", name.trim_start_matches(base));
        let to = if to.ends_with("empirica") { format!("{to}/notes") } else { to };
        let quoted = quote(name);
        let what = format!("the ref {name} conflicts with our refs");
        let keep = format!("git update-ref {} {quoted}", quote(&to));
        DoctorCheck::wrong("refs", what).command(format!("{keep} && git update-ref -d {quoted}"))
    };
    wrong.iter().map(check).collect()
}

/// Unreadable refs, and refs that are gone although their last value is remembered.
fn broken(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    let repo = context.repo;
    let remembered = context.store.health().saved_tips();
    let mut out = Vec::new();
    let common = repo.common_dir();
    // read the files, as a listing skips unreadable refs
    let remotes = common.join(format!("{PREFIX}remotes"));
    let tracking = files(&common).into_iter().filter(|path| path.starts_with(&remotes) && !is_lock(path));
    let tracking = tracking.filter_map(|path| Some(path.strip_prefix(&common).ok()?.to_string_lossy().into_owned()));
    for name in own_refs().into_iter().chain(tracking) {
        let own = !name.starts_with(&format!("{PREFIX}remotes/"));
        let mend = if own { format!(" && {}", empirica("flush")) } else { String::new() };
        match repo.find_ref(&name) {
            Ok(None) if remembered.get(&name).is_some_and(|id| repo.has_object(*id)) => {
                let what = format!("the ref {name} is gone; its last value is remembered");
                out.push(DoctorCheck::wrong("refs", what).command(empirica("flush")));
            }
            Ok(None) => {}
            Ok(Some(id)) if context.store.recovery().is_readable(id) => {}
            Ok(Some(id)) => {
                let what = format!("the ref {name} names {id}, which is not a notes commit here, or is damaged");
                let check = move_objects(repo, [id], DoctorCheck::wrong("refs", what));
                out.push(if own {
                    with_rewrite(repo, check)
                } else {
                    check.command(deletion(&repo.common_dir(), &name))
                });
            }
            Err(error) => {
                out.push(
                    DoctorCheck::unreadable("refs", &error)
                        .command(format!("{}{mend}", deletion(&repo.common_dir(), &name))),
                );
            }
        }
    }
    out
}

/// Notes refs that a reference-transaction hook refuses to update.
fn refused(context: &CommandContext<'_>) -> Option<DoctorCheck> {
    let repo = context.repo;
    let why = |name: &String| repo.hook_refuses(name, repo.find_ref(name).ok()??);
    let (name, words) = own_refs().into_iter().find_map(|name| why(&name).map(|words| (name, words)))?;
    let what = format!(
        "a reference-transaction hook rejects updates of {name} ({words}): records stay pending until it accepts them"
    );
    Some(DoctorCheck::wrong("refs", what).command("git rev-parse --git-path hooks/reference-transaction"))
}

/// Files of our refs, locks included.
fn files(common: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut folders = vec![common.join(PREFIX)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok()) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

/// Locks on our refs, stale or held.
fn locks(repo: &Repository) -> Vec<DoctorCheck> {
    let own = files(&repo.common_dir()).into_iter().filter(|path| is_lock(path));
    let found = own.chain(repo.ref_locks(&[], true)).filter_map(|path| Some((locks::age(&path)?, path)));
    let check = |(age, path): (Duration, PathBuf)| {
        let remedy = format!("rm -f {}", shell_path(&path));
        let path = path.display();
        if age > STALE {
            let what =
                format!("{path} was left by a process that died, {} ago: nothing is written there", locks::long(age));
            return DoctorCheck::wrong("locks", what).command(remedy);
        }
        let what =
            format!("{path} is held since {}; if no git is running, it was left by one that died", locks::long(age));
        DoctorCheck::right("locks", what).command(remedy)
    };
    let all: Vec<DoctorCheck> = found.map(check).collect();
    if all.is_empty() { vec![DoctorCheck::right("locks", "our refs are not locked")] } else { all }
}

/// Unreadable objects of our notes. A damaged loose object hides an intact one, so it is moved away; what a remote
/// has is then fetched, the rest is restored from what is left here.
fn damaged(context: &CommandContext<'_>, notes: &NotesHealth) -> DoctorCheck {
    let all = &notes.damaged;
    let Some((name, id, why)) = all.first() else { return DoctorCheck::right("objects", "every note can be read") };
    let others = if all.len() > 1 { format!(", and {} more", all.len() - 1) } else { String::new() };
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let check = DoctorCheck::wrong("objects", format!("{id} of {name} cannot be read{others}{why}"));
    with_rewrite(context.repo, move_objects(context.repo, all.iter().map(|(_, id, _)| *id), check))
}

/// Refs with a readable tip but a damaged history, which cannot be pushed to a remote that lacks it.
fn damaged_history(context: &CommandContext<'_>) -> Vec<DoctorCheck> {
    let repo = context.repo;
    let tips = own_refs().into_iter().filter_map(|name| Some((repo.find_ref(&name).ok()??, name)));
    let broken = tips.filter(|(tip, _)| context.store.recovery().is_readable(*tip)).filter_map(|(tip, name)| {
        let error = check_reachable(repo, tip).err()?;
        let what = format!("cannot walk the whole history of {name}: {error}");
        Some(with_rewrite(repo, DoctorCheck::wrong("objects", what)))
    });
    broken.collect()
}

/// Adds the commands that move away the files of damaged objects, so that intact ones can replace them.
fn move_objects(repo: &Repository, ids: impl IntoIterator<Item = Oid>, check: DoctorCheck) -> DoctorCheck {
    // what is no note, or no commit, may be an object of the user's
    let integrity = Integrity::new(repo);
    let files = ids.into_iter().filter(|id| !integrity.is_intact(*id)).take(16).map(|id| {
        let hex = id.to_string();
        (repo.objects().join(&hex[..2]).join(&hex[2..]), repo.common_dir().join(format!("damaged-{hex}")))
    });
    let loose = files.filter(|(file, _)| file.exists());
    loose.fold(check, |check, (file, to)| check.command(format!("mv {} {}", shell_path(&file), shell_path(&to))))
}

/// Adds the commands that rewrite the notes from what is left, and fetch what a remote has.
fn with_rewrite(repo: &Repository, check: DoctorCheck) -> DoctorCheck {
    let check = check.command(empirica("flush").flag("--without-damaged"));
    if destinations(repo).is_empty() { check } else { check.command(empirica("sync")) }
}

/// Pending records are safe and readable here; they are synchronized once flushed.
fn pending(context: &CommandContext<'_>) -> DoctorCheck {
    let what = match context.store.log().counts().total() {
        0 => return DoctorCheck::right("log", "no record is pending"),
        1 => "1 record is pending; it will be written with the next ones".to_owned(),
        many => format!("{many} records are pending; they will be written with the next ones"),
    };
    DoctorCheck::right("log", what).command(empirica("flush"))
}

/// Whether the remote had all records when last contacted. Not a problem: they go with the next push.
fn unsynced(context: &CommandContext<'_>) -> DoctorCheck {
    let repo = context.repo;
    let policy = match SyncPolicy::configured(repo) {
        Ok(SyncPolicy::Nothing) => return DoctorCheck::right("sync", "empirica.sync keeps the records here"),
        Ok(policy) => policy,
        // reported by the checks of settings
        Err(_) => return DoctorCheck::right("sync", "the sync policy is invalid"),
    };
    let remotes = destinations(repo);
    let differs = |remote: &&String| {
        let refs = context.store.remotes().compare_refs(&tracking_name(repo, remote), None).unwrap_or_default();
        refs.iter().any(|compared| compared.ours.is_some() && !compared.equal && policy.allows(&compared.name))
    };
    match (remotes.iter().find(differs), remotes.first()) {
        (Some(remote), _) => {
            let target = remotes::target(repo, remote).ok();
            let what = match target.and_then(|target| context.store.server(&target.push).refusal()) {
                Some(words) => format!("{remote} refused the notes; pushes ask it again after a day: {words}"),
                None => format!("records here and on {remote} differ, as far as is known"),
            };
            DoctorCheck::right("sync", what).command(empirica("sync"))
        }
        (None, Some(remote)) => DoctorCheck::right("sync", format!("{remote} has all records, as far as is known")),
        (None, None) => DoctorCheck::right("sync", "there is no remote to send records to"),
    }
}

fn writable(context: &CommandContext<'_>) -> DoctorCheck {
    match context.store.health().probe() {
        Ok(()) => match context.store.health().unwritable() {
            None => DoctorCheck::right("store", "records can be written"),
            Some(error) => DoctorCheck::failed("store", &error),
        },
        Err((folder, error)) if folder.is_dir() => {
            let what = format!("{} cannot be written: {error}", folder.display());
            let fault = Error::storage(what.as_str()).about_path(&folder, &error);
            DoctorCheck::wrong("store", what).commands(fault.commands())
        }
        Err((folder, error)) => {
            let path = shell_path(&folder);
            DoctorCheck::wrong("store", format!("{} cannot be written: {error}", folder.display()))
                .command(format!("mv {path} {path}.old"))
        }
    }
}

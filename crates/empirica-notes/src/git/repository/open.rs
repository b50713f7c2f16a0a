//! Finds and opens the repository as git would, or refuses it with git's reason.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Error, Kind, Result, quote};
use crate::git::objects::delta_bases::DeltaBases;
use crate::git::objects::limits::MAX_ALLOCATED_BYTES;
use crate::git::process::git;
use crate::git::process::parameters::parameters;

/// The extensions that this program supports.
const KNOWN_EXTENSIONS: [&str; 7] =
    ["noop", "preciousobjects", "partialclone", "worktreeconfig", "objectformat", "relativeworktrees", "refstorage"];

/// The extensions that git accepts only in format version 1.
const VERSION_1_EXTENSIONS: [&str; 4] = ["noop-v1", "objectformat", "relativeworktrees", "refstorage"];

/// The supported ref storages.
const REF_STORAGES: [&str; 2] = ["files", "reftable"];

/// Variables that move a part of the repository, with the path used if they are unset.
type Relocated = (&'static str, fn(&gix::Repository) -> PathBuf);
const RELOCATED: [Relocated; 2] = [
    ("GIT_OBJECT_DIRECTORY", |repo| repo.objects.store_ref().path().to_owned()),
    ("GIT_COMMON_DIR", |repo| repo.common_dir().to_owned()),
];

/// Finds and opens the repository of an environment: the one its variables name, else the nearest upwards from the
/// working folder, with the settings of `git -c`.
///
/// Fails, with exit code 128, if git would refuse the repository (another owner, an unknown extension), or if a
/// variable is not supported.
pub(crate) fn open(env: &Env) -> Result<gix::Repository> {
    let cwd = env.cwd.as_path();
    let overrides = env.get("GIT_CONFIG_PARAMETERS").map(parameters).unwrap_or_default();
    let limit = format!("gitoxide.objects.allocLimit={MAX_ALLOCATED_BYTES}");
    let options = || {
        let options = gix::open::Options::default().bail_if_untrusted(true).cli_overrides(overrides.clone());
        options.config_overrides([limit.as_str()])
    };
    let discover = |reduced| {
        gix::ThreadSafeRepository::discover_with_environment_overrides_opts(
            cwd,
            gix::discover::upwards::Options { match_ceiling_dir_or_error: false, ..Default::default() },
            gix::sec::trust::Mapping { full: options(), reduced },
        )
    };
    let mut opened = discover(options());
    // git also takes `safe.directory` from `git -c` and GIT_CONFIG_COUNT, gix only from files
    if opened.as_ref().is_err_and(is_untrusted) && Verdict::read(cwd).accepted {
        opened = discover(options().bail_if_untrusted(false).with(gix::sec::Trust::Full));
    }
    let mut repo = opened.map_err(|error| no_repository(cwd, error))?.to_thread_local();
    repo.objects.set_pack_cache(|| Box::new(DeltaBases::default()));
    // namespaces are for servers: like git's own commands, use all refs
    repo.clear_namespace();
    refuse_unknown_formats(cwd, &repo)?;
    refuse_relocated(env, &repo)?;
    if is_doubtful(env, &repo) {
        let verdict = Verdict::read(cwd);
        if verdict.is_none() {
            return Err(nothing_found(cwd));
        }
        if let Some(reason) = verdict.refused {
            return Err(Error::new(Kind::NoRepository, "cannot open the repository: git refuses it")
                .reason(reason)
                .advised(verdict.advice));
        }
    }
    Ok(repo)
}

/// Git's verdict on a repository.
#[derive(Default)]
struct Verdict {
    /// Whether git ran and opened it.
    accepted: bool,
    /// The reason for refusing it; `None` if git does not, or cannot be run.
    refused: Option<String>,
    /// The command that git suggests.
    advice: Option<String>,
}

impl Verdict {
    /// Whether git finds no repository.
    fn is_none(&self) -> bool {
        self.refused.as_deref().is_some_and(|reason| reason.starts_with("not a git repository"))
    }

    /// Runs git in `cwd`.
    fn read(cwd: &Path) -> Self {
        let Ok(output) = git(cwd).args(["rev-parse", "--git-dir"]).output() else { return Verdict::default() };
        if output.status.success() {
            return Verdict { accepted: true, ..Verdict::default() };
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
        let commands = |line: &&str| line.starts_with("git ");
        let reason: Vec<&str> = lines()
            .take_while(|line| !commands(line))
            .map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: "))
            .filter(|line| !line.starts_with("To add an exception"))
            .collect();
        Verdict {
            accepted: false,
            refused: Some(if reason.is_empty() { "git gives no reason".to_owned() } else { reason.join("; ") }),
            advice: lines().find(commands).map(str::to_owned),
        }
    }
}

impl Error {
    /// Adds the command that git suggests, else `git status`.
    fn advised(self, command: Option<String>) -> Self {
        match command {
            Some(command) => self.suggest("If you trust it, allow it in the configuration of git.").command(command),
            None => self.suggest("Check what git reports about it.").command("git status"),
        }
    }
}

/// Whether git might refuse a repository that gix opens: with ceiling directories, a bare repository under
/// `safe.bareRepository`, or files of another owner.
fn is_doubtful(env: &Env, repo: &gix::Repository) -> bool {
    if env.get("GIT_CEILING_DIRECTORIES").is_some() {
        return true;
    }
    let config = repo.config_snapshot();
    if repo.is_bare() && config.string("safe.bareRepository").is_some_and(|which| which == "explicit") {
        return true;
    }
    let me = rustix::process::geteuid().as_raw();
    let tree = repo.workdir().map(|path| env.cwd.join(path));
    let link = tree.as_ref().map(|tree| tree.join(".git"));
    let foreign = |path: &PathBuf| std::fs::symlink_metadata(path).is_ok_and(|file| file.uid() != me);
    tree.iter().chain(&link).any(foreign)
}

/// Whether gix refuses a repository for its owner.
fn is_untrusted(error: &gix::Error) -> bool {
    error.is_permission_denied() || error.to_string().contains("trust")
}

fn no_repository(cwd: &Path, error: gix::Error) -> Error {
    if cwd.as_os_str().is_empty() {
        return Error::new(Kind::NoRepository, "cannot open a repository: the current folder was removed")
            .suggest("Change into a folder that exists.");
    }
    let verdict = Verdict::read(cwd);
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists() || folder.join("HEAD").is_file());
    if is_untrusted(&error) && verdict.accepted {
        // gix takes what it cannot read for another's
        let what = "cannot open the repository: its work tree or its git directory cannot be read";
        return Error::new(Kind::NoRepository, what).advised(None).caused_by(error);
    }
    if is_untrusted(&error) {
        let root = root.unwrap_or(cwd).to_string_lossy();
        let command = format!("git config --global --add safe.directory {}", quote(&root));
        let out = Error::new(Kind::NoRepository, "cannot open the repository: it belongs to another user");
        let out = verdict.refused.into_iter().fold(out, Error::reason);
        return out.advised(Some(verdict.advice.unwrap_or(command))).caused_by(error);
    }
    // there may be one above the ceiling directories
    let is_beyond = error.to_string().contains("within ceiling height");
    if let Some(root) = root.filter(|_| !is_beyond && !verdict.is_none()) {
        let out = Error::new(Kind::NoRepository, format!("cannot open the repository at {}", root.display()));
        return verdict.refused.into_iter().fold(out, Error::reason).advised(verdict.advice).caused_by(error);
    }
    nothing_found(cwd).caused_by(error)
}

fn nothing_found(cwd: &Path) -> Error {
    Error::new(Kind::NoRepository, "cannot open a repository: this is not a git repository")
        .reason(format!("no repository was found at or above {}", cwd.display()))
        .suggest("Change into a repository, or create one.")
        .command("git init")
}

/// Refuses a repository of an unknown format or with an unknown extension, as git does.
fn refuse_unknown_formats(cwd: &Path, repo: &gix::Repository) -> Result<()> {
    let config = repo.config_snapshot();
    let version = config.integer("core.repositoryFormatVersion").unwrap_or(0);
    let refuse = |what: String| {
        let out = Error::new(Kind::NoRepository, what);
        let verdict = Verdict::read(cwd);
        Err(match verdict.refused {
            Some(reason) => out.reason(reason).advised(verdict.advice),
            None => out
                .reason("writing to a repository of an unknown format could damage it")
                .suggest("Use a newer version of this program."),
        })
    };
    if !(0..=1).contains(&version) {
        return refuse(format!("cannot open the repository: it has format version {version}"));
    }
    let file = config.plumbing();
    for section in file.sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            let name = name.to_string().to_ascii_lowercase();
            if version == 0 && VERSION_1_EXTENSIONS.contains(&name.as_str()) {
                return refuse(format!(
                    "cannot open the repository: it has format version 0, and the extension '{name}' of version 1"
                ));
            }
            if version == 1 && !KNOWN_EXTENSIONS.contains(&name.as_str()) {
                return refuse(format!("cannot open the repository: it uses the unknown extension '{name}'"));
            }
        }
    }
    let storage = config.string("extensions.refStorage").unwrap_or_default();
    if !storage.is_empty() && !REF_STORAGES.iter().any(|supported| storage == *supported) {
        return refuse(format!("cannot open the repository: it uses the unknown ref storage '{storage}'"));
    }
    Ok(())
}

/// Refuses variables that move objects or refs to unsupported places.
fn refuse_relocated(env: &Env, repo: &gix::Repository) -> Result<()> {
    let absolute = |path: &Path| {
        let joined = env.cwd.join(path);
        joined.canonicalize().unwrap_or(joined)
    };
    let mut names = RELOCATED
        .iter()
        .filter(|(name, usual)| env.get(name).is_some_and(|path| absolute(Path::new(path)) != absolute(&usual(repo))));
    let more = env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES").map(|_| "GIT_ALTERNATE_OBJECT_DIRECTORIES");
    let Some(name) = names.next().map(|(name, _)| *name).or(more) else { return Ok(()) };
    Err(Error::new(Kind::NoRepository, format!("cannot open the repository: {name} is set, which is not supported"))
        .reason("records would be stored in the repository's own folder, not in the one of the variable")
        .suggest("Run the command without the variable; objects/info/alternates is supported.")
        .command(format!("unset {name}")))
}

//! User-level setup: man pages and completions where man and the shells look for them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica, quote};

/// A file to install.
#[derive(Debug, Clone)]
pub struct UserFile {
    pub place: UserPlace,
    pub name: String,
    pub content: Vec<u8>,
}

/// Place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserPlace {
    Man,
    Bash,
    Zsh,
    Fish,
    FishStart,
}

/// Result of the user-level setup.
#[derive(Debug)]
pub struct UserSetupOutcome {
    pub files: Vec<PathBuf>,
    pub dry_run: bool,
    /// What the user must do, a sentence each.
    pub hints: Vec<String>,
}

/// Installs `files` for the user. Idempotent. With `dry_run`, writes nothing.
pub fn run(env: &Env, files: &[UserFile], dry_run: bool) -> Result<UserSetupOutcome> {
    let data = env.xdg("XDG_DATA_HOME", ".local/share").ok_or_else(no_home)?;
    let config = env.xdg("XDG_CONFIG_HOME", ".config").ok_or_else(no_home)?;
    let (man, found) = man_folder(env, &data);
    let zsh = data.join("zsh/site-functions");
    let mut written = Vec::new();
    for file in files {
        let folder = match file.place {
            UserPlace::Man => man.clone(),
            UserPlace::Bash => data.join("bash-completion/completions"),
            UserPlace::Zsh => zsh.clone(),
            UserPlace::Fish => config.join("fish/completions"),
            UserPlace::FishStart => config.join("fish/conf.d"),
        };
        let path = folder.join(&file.name);
        if !dry_run {
            let write = || -> std::io::Result<()> {
                std::fs::create_dir_all(&folder)?;
                if std::fs::read(&path).ok().as_deref() != Some(&file.content) {
                    std::fs::write(&path, &file.content)?;
                }
                Ok(())
            };
            write()
                .map_err(|error| Error::refused(format!("cannot write {}", path.display())).on_path(&path, error))?;
        }
        written.push(path);
    }
    let mut hints = Vec::new();
    if !found {
        hints.push(format!("add {} to MANPATH, with a colon at its end", man.parent().unwrap_or(&man).display()));
    }
    hints.push(format!("zsh: put fpath=({} $fpath) before compinit in your .zshrc", zsh.display()));
    Ok(UserSetupOutcome { files: written, dry_run, hints })
}

/// Folder for section 1, and whether man searches it: man searches `<prefix>/share/man` for each `<prefix>/bin` in
/// PATH.
fn man_folder(env: &Env, data: &Path) -> (PathBuf, bool) {
    let bin = env.program.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "bin"));
    let path = env.get("PATH").unwrap_or_default();
    let on_path = |folder: &Path| std::env::split_paths(path).any(|entry| entry == folder);
    let beside = bin.filter(|bin| on_path(bin)).and_then(Path::parent).map(|prefix| prefix.join("share/man/man1"));
    match beside.filter(|folder| writable(folder)) {
        Some(folder) => (folder, true),
        None => {
            let user_bin = env.get("HOME").map(|home| Path::new(home).join(".local/bin"));
            let default = user_bin.filter(|_| data.ends_with(".local/share")).is_some_and(|bin| on_path(&bin));
            (data.join("man/man1"), default)
        }
    }
}

/// Whether files can be created there. Leaves nothing behind.
fn writable(folder: &Path) -> bool {
    let Some(nearest) = folder.ancestors().find(|folder| folder.is_dir()) else { return false };
    let probe = nearest.join(format!(".git-empirica-{}", empirica_notes::store::unique()));
    let made = std::fs::File::create_new(&probe).is_ok();
    made && std::fs::remove_file(&probe).is_ok()
}

fn no_home() -> Error {
    Error::refused("there is no home folder to install into")
        .reason("HOME is not set")
        .suggest("Set HOME, or XDG_DATA_HOME and XDG_CONFIG_HOME.")
        .commands_of(home().map(|home| format!("HOME={} {}", quote(&home), empirica("setup"))))
}

/// The home folder according to /etc/passwd.
fn home() -> Option<String> {
    let own = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<&str>>());
    fields.into_iter().find(|fields| fields.get(2) == Some(&own.as_str()))?.get(5).map(|home| (*home).to_owned())
}

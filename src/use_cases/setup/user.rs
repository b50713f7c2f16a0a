//! User-level setup: man pages and completions where man and the shells look for them.

use std::path::{Path, PathBuf};

use crate::use_cases::setup::steps::unwritten;
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, empirica};

#[derive(Debug, Clone)]
pub struct UserFile {
    pub place: UserPlace,
    pub name: String,
    pub content: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserPlace {
    Man,
    Bash,
    Zsh,
    FishStart,
}

#[derive(Debug)]
pub struct UserSetupOutcome {
    pub files: Vec<PathBuf>,
    pub dry_run: bool,
    /// What is left to the user, a sentence each.
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
            write().map_err(|error| unwritten(&path, error))?;
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

/// Whether files can be created there.
fn writable(folder: &Path) -> bool {
    let Some(nearest) = folder.ancestors().find(|folder| folder.is_dir()) else { return false };
    let probe = nearest.join(format!(".git-empirica-{}", empirica_notes::store::unique()));
    let made = std::fs::File::create_new(&probe).is_ok();
    made && std::fs::remove_file(&probe).is_ok()
}

fn no_home() -> Error {
    Error::refused("cannot install: there is no home folder")
        .reason("HOME is not set")
        .suggest("Set HOME, or XDG_DATA_HOME and XDG_CONFIG_HOME.")
        .command(format!("HOME=$(getent passwd $(id -u) | cut -d: -f6) {}", empirica("setup")))
}

//! What a release publishes. `contrib/packages/check` installs the packages themselves; here the program is packaged as it is tested.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use crate::support::harness::{RunOutput, Sandbox};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The target of this machine that packages are built for; `None` if there is none.
fn target() -> Option<String> {
    cfg!(target_os = "linux").then(|| format!("{}-unknown-linux-musl", std::env::consts::ARCH))
}

/// Packages that run the tested program, in a folder of the sandbox; `None` without the tools that it takes.
fn packages(sandbox: &Sandbox) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    if !["jq", "npm", "node", "python3", "curl"].iter().all(is_there) {
        return None;
    }
    let (target, out) = (target()?, sandbox.path().join("packages"));
    // the tested program has a hundred megabytes
    let program = sandbox.path().join("program");
    fs::write(&program, format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_git-empirica"))).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut build = Command::new(root().join("contrib/packages/build"));
    build.args(["--out", out.to_str()?, "--url", &format!("file://{}", out.display()), "--program", program.to_str()?]);
    build.env("npm_config_cache", sandbox.path().join("npm")).env("npm_config_update_notifier", "false");
    RunOutput::new(build.arg(target).output().expect("it starts")).ok();
    Some(out)
}

fn install(sandbox: &Sandbox, script: &Path, arguments: &[&str]) -> RunOutput {
    let mut sh = sandbox.command("sh", &sandbox.path());
    RunOutput::new(sh.arg(script).args(arguments).output().expect("it starts"))
}

#[test]
fn the_installer_installs_what_has_its_checksum_and_nothing_else() {
    let sandbox = Sandbox::new();
    let Some(packages) = packages(&sandbox) else { return };
    let (script, home) = (packages.join("install.sh"), sandbox.path().join("home"));
    let prefix = home.join(".local");
    let run = |arguments: &[&str]| install(&sandbox, &script, arguments);
    let refused = |ran: RunOutput, cause: &str| {
        let ran = ran.code(1);
        let is_told = ran.err.lines().any(|line| line.starts_with("error: cannot ") && line.contains(cause));
        assert!(is_told, "{}", ran.err);
    };
    // part of it, as of a broken download, does nothing
    let text = fs::read_to_string(&script).expect("a file");
    let part = sandbox.path().join("part.sh");
    fs::write(&part, &text[..text.rfind("main \"$@\"").expect("the call")]).expect("a file");
    assert_eq!(install(&sandbox, &part, &[]).ok().out, "");
    refused(run(&["--version"]), "'--version'");
    refused(run(&["--prefix"]), "it needs a folder");
    let machine = text.replace("$(uname -s)-$(uname -m)", "Plan9-mips");
    fs::write(&part, machine).expect("a file");
    refused(install(&sandbox, &part, &[]), "Plan9-mips: this release has no program for it");
    let archive = packages.join(format!("git-empirica-{VERSION}-{}.tar.gz", target().expect("a target")));
    let bytes = fs::read(&archive).expect("an archive");
    fs::write(&archive, &bytes[..bytes.len() - 1]).expect("a file");
    refused(run(&[]), "cannot trust git-empirica-");
    fs::remove_file(&archive).expect("removed");
    refused(run(&[]), "cannot download file://");
    fs::write(&archive, &bytes).expect("a file");
    let mut homeless = sandbox.command("sh", &sandbox.path());
    refused(RunOutput::new(homeless.arg(&script).env_remove("HOME").output().expect("it starts")), "HOME is not set");
    assert!(!prefix.exists());

    let ran = run(&[]).ok();
    let wanted = format!(
        "Installed git-empirica {VERSION} in {0}.\nAdd {0}/bin to PATH, then try it: git empirica demo\n",
        prefix.display()
    );
    assert_eq!(ran.out, wanted);
    // again, and into a folder with a space
    let other = sandbox.path().join("a prefix");
    for _ in 0..2 {
        let mut sh = sandbox.command("sh", &sandbox.path());
        sh.args(["-c", "umask 077 && sh \"$0\" --prefix \"$1\""]).arg(&script).arg(&other);
        RunOutput::new(sh.output().expect("it starts")).ok();
    }
    let mode = |file: &str| other.join(file).metadata().expect("a file").permissions().mode() & 0o777;
    assert_eq!((mode("bin"), mode("bin/git-empirica"), mode("share/man/man1/git-empirica.1")), (0o755, 0o755, 0o644));
    for prefix in [&prefix, &other] {
        let mut program = sandbox.command(prefix.join("bin/git-empirica"), &sandbox.path());
        assert_eq!(
            RunOutput::new(program.arg("--version").output().expect("it starts")).ok().out,
            format!("git-empirica {VERSION}\n")
        );
        for file in
            ["man/man1/git-empirica-handoff.1", "zsh/site-functions/_git-empirica", "doc/git-empirica/LICENSE-MIT"]
        {
            assert!(prefix.join("share").join(file).is_file(), "{file}");
        }
    }
    // nothing is left beside them
    let names: Vec<_> =
        fs::read_dir(prefix.join("bin")).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["git-empirica"]);
}

#[test]
fn the_same_files_give_the_same_archive() {
    let sandbox = Sandbox::new();
    let Some(first) = packages(&sandbox) else { return };
    let sums = |folder: &Path| fs::read_to_string(folder.join("SHA256SUMS")).expect("a file");
    let kept = sums(&first);
    fs::remove_dir_all(&first).expect("removed");
    packages(&sandbox);
    let archive = |sums: &str| sums.lines().find(|line| line.ends_with(".tar.gz")).map(str::to_owned);
    assert_eq!(archive(&sums(&first)), archive(&kept));
    assert_eq!(kept.lines().count(), 5, "{kept}");
}

#[test]
fn cargo_binstall_is_told_the_archive_and_the_place_in_it() {
    let sandbox = Sandbox::new();
    let Some(packages) = packages(&sandbox) else { return };
    let manifest: toml_edit::DocumentMut =
        fs::read_to_string(root().join("Cargo.toml")).expect("a file").parse().expect("a manifest");
    let told = |key: &str| {
        let value = manifest["package"]["metadata"]["binstall"][key].as_str().expect("a text").to_owned();
        let (name, target) = (env!("CARGO_PKG_NAME"), target().expect("a target"));
        let values =
            [("repo", "URL"), ("name", name), ("bin", name), ("version", VERSION), ("target", target.as_str())];
        values.iter().fold(value, |out, (key, value)| out.replace(&format!("{{ {key} }}"), value))
    };
    let (url, place) = (told("pkg-url"), told("bin-dir"));
    let archive = url.strip_prefix(&format!("URL/releases/download/v{VERSION}/")).expect("the URL of a release");
    let mut tar = sandbox.command("tar", &packages);
    let list = RunOutput::new(tar.args(["-tzf", archive]).output().expect("it starts")).ok().out;
    assert!(list.lines().any(|line| line == place), "{place} is not in {list}");
}

#[test]
fn the_npm_package_runs_the_program_of_its_platform() {
    let sandbox = Sandbox::new();
    let Some(packages) = packages(&sandbox) else { return };
    let modules = sandbox.path().join("node_modules");
    let unpack = |file: String, name: &str| {
        let folder = modules.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let mut tar = sandbox.command("tar", &folder);
        tar.args(["-xzf", packages.join(file).to_str().expect("UTF-8"), "--strip-components=1"]);
        RunOutput::new(tar.output().expect("it starts")).ok();
    };
    unpack(format!("git-empirica-{VERSION}.tgz"), "git-empirica");
    let launcher = modules.join("git-empirica/npm.js");
    let node = |arguments: &[&str]| {
        RunOutput::new(
            sandbox.command("node", &sandbox.path()).arg(&launcher).args(arguments).output().expect("it starts"),
        )
    };
    let alone = node(&["--version"]).code(1);
    assert!(alone.err.starts_with("error: cannot find git-empirica for linux on "), "{}", alone.err);
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(modules.join("git-empirica/package.json")).expect("a file"))
            .expect("JSON");
    let needed = manifest["optionalDependencies"].as_object().expect("an object");
    let (name, version) = needed.iter().next().expect("a package");
    assert_eq!((needed.len(), version, &manifest["version"]), (1, &Value::from(VERSION), &Value::from(VERSION)));
    unpack(format!("{name}-{VERSION}.tgz"), name);
    assert_eq!(node(&["--version"]).ok().out, format!("git-empirica {VERSION}\n"));
    // data, codes and input pass
    let repo = sandbox.init("r");
    let mut command = sandbox.command("node", &repo.path);
    command.arg(&launcher).args(["finding", "-", "--json"]);
    let found = crate::support::harness::fed(command, b"through npm").ok().json();
    assert_eq!(found["ok"], true, "{found}");
    assert_eq!(node(&["show"]).code(128).out, "");
    // a server that is told to end ends its program
    let mut server = sandbox.command("node", &repo.path);
    server.arg(&launcher).arg("mcp").stdin(std::process::Stdio::piped());
    let mut server = server.spawn().expect("it starts");
    let children = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", server.id())).unwrap_or_default();
    let child = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        children().split_whitespace().next().map(str::to_owned)
    });
    let child = child.expect("a program");
    let mut kill = sandbox.command("kill", &repo.path);
    RunOutput::new(kill.arg(server.id().to_string()).output().expect("it starts")).ok();
    // the server ends as it can: by itself once it listens to signals, before that by this one
    assert!(matches!(server.wait().expect("it ends").code(), Some(0 | 143)));
    assert!(!Path::new("/proc").join(child).exists());
}

#[test]
fn versions_come_from_the_manifest() {
    // where a file names a version that no tool puts there; `EMPIRICA_BLESS=1` writes it
    let places = [
        ("contrib/vscode/package.json", r#"("version": ")[^"]+(")"#),
        ("contrib/github/review.yml", r"(git-empirica==)\S+()"),
        ("contrib/github/review.yml", r"(contrib/github@v)\S+()"),
        ("contrib/gitlab/empirica.yml", r#"(EMPIRICA_VERSION: ")[^"]+(")"#),
    ];
    for (name, pattern) in places {
        let path = root().join(name);
        let text = fs::read_to_string(&path).expect("a file");
        let pattern = Regex::new(pattern).expect("a pattern");
        assert!(pattern.is_match(&text), "{name} names no version");
        let current = pattern.replace_all(&text, format!("${{1}}{VERSION}${{2}}"));
        if std::env::var_os("EMPIRICA_BLESS").is_some() {
            fs::write(&path, current.as_ref()).expect("a file");
        } else {
            assert!(text == current, "{name} has another version: EMPIRICA_BLESS=1 cargo test --test runner packages");
        }
    }
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).expect("a file");
    assert!(changes.contains(&format!("\n## [{VERSION}] - ")), "CHANGELOG.md has no part for {VERSION}");
}

#[test]
fn the_license_is_that_of_the_manifest() {
    assert_eq!(env!("CARGO_PKG_LICENSE"), "MIT OR Apache-2.0");
    for (name, words) in [("LICENSE-MIT", "MIT License"), ("LICENSE-APACHE", "Apache License")] {
        let text = fs::read_to_string(root().join(name)).expect("a file");
        assert!(text.trim_start().lines().next().is_some_and(|line| line.trim() == words), "{name}");
    }
}

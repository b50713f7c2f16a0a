//! Completion in the real shells, with what the program offers.

use std::path::Path;

use crate::commands::code::anchors::id;
use crate::support::harness::{Repo, RunOutput, Sandbox};

/// A repository with records to complete, in a home where the scripts are installed.
fn filled<'s>(sandbox: &'s Sandbox) -> (Repo<'s>, String, String) {
    let repo = sandbox.repo("r");
    repo.run(["setup"]).ok();
    repo.commit("src/a.rs", "one\n", "A");
    repo.start("ada", "Find the leak");
    let finding = id(&repo.json(["finding", "the leak is in a.rs"]));
    let unknown = id(&repo.json(["unknown", "why does it leak: a buffer?"]));
    repo.git(["branch", "topic/leak"]).ok();
    repo.git(["tag", "v1"]).ok();
    (repo, short(&finding), short(&unknown))
}

fn short(id: &str) -> String {
    id[id.len() - 8..].to_owned()
}

fn has(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).is_file())
}

/// The lines that the program prints for a command line, whose last word is completed.
fn offered(repo: &Repo<'_>, line: &[&str]) -> Vec<String> {
    let at = line.len().to_string();
    let words = ["setup", "--complete", &at, "--", "git-empirica"];
    let out = repo.run(words.iter().chain(line)).ok().out;
    out.lines().map(str::to_owned).collect()
}

#[test]
fn ids_come_with_their_first_words_and_each_argument_has_its_own() {
    let sandbox = Sandbox::new();
    let (repo, finding, unknown) = filled(&sandbox);
    let of = |line: &[&str]| offered(&repo, line);
    let question = format!("{unknown}\tunknown by ada: why does it leak: a buffer?");
    assert_eq!(of(&["resolve", ""]), std::slice::from_ref(&question));
    assert_eq!(of(&["resolve", &unknown[..3]]), std::slice::from_ref(&question));
    assert!(of(&["resolve", "zz"]).is_empty());
    let claims = of(&["retract", ""]);
    assert_eq!(claims.len(), 2, "{claims:?}");
    assert!(claims.contains(&format!("{finding}\tfinding by ada: the leak is in a.rs")), "{claims:?}");
    let sessions = of(&["session", "show", ""]);
    assert!(sessions[0].ends_with("\tada: Find the leak"), "{sessions:?}");
    assert!(sessions.contains(&"latest:active\tthe newest active session".to_owned()), "{sessions:?}");
    let handoff = repo.hand_over("The leak");
    let handoffs = of(&["accept", ""]);
    assert_eq!(handoffs, [format!("{}\thandoff by ada: The leak", short(&handoff))]);
    let all = of(&["show", ""]);
    for one in [&finding, &unknown, &short(&handoff)] {
        assert!(all.iter().any(|line| line.starts_with(one.as_str())), "{one}: {all:?}");
    }
    assert!(of(&["finding", "x", "--ai", ""])[0].starts_with("ada\t"));
    assert!(of(&["search", "--ai", "a"])[0].starts_with("ada\t"));
    assert_eq!(of(&["handoff", "--pr", "v1..to"]), ["v1..topic/leak\tbranch"]);
    assert_eq!(of(&["log", "to"]), ["topic/leak\tbranch"]);
    assert_eq!(of(&["why", "sr"]), ["src/"]);
    assert_eq!(of(&["finding", "x", "--at", "src/"]), ["src/a.rs"]);
    assert_eq!(of(&["fin"]), ["finding\tLog something you learned"]);
    assert!(of(&["handoff", "--ne"])[0].starts_with("--next\t"));
    assert!(of(&["finding", "--as", "con"])[0].starts_with("constraint"));
    // what was answered is no longer offered
    repo.json(["resolve", &unknown, "it does"]);
    assert!(of(&["resolve", ""]).iter().all(|line| line.starts_with('-')), "{:?}", of(&["resolve", ""]));
    // outside a repository, and where nothing can be read
    let outside = sandbox.at(".");
    assert!(offered(&outside, &["resolve", ""]).iter().all(|line| line.starts_with('-')));
    assert_eq!(offered(&outside, &["fin"]), ["finding\tLog something you learned"]);
}

#[test]
fn texts_of_records_are_one_plain_line() {
    let sandbox = Sandbox::new();
    let repo = sandbox.repo("r");
    repo.run(["setup"]).ok();
    repo.start("ada", "x");
    repo.json(["unknown", "$(touch trap) `touch trap`\n\tsecond\u{1b}[31m \u{202e} 'quoted\""]);
    let lines = offered(&repo, &["resolve", ""]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0].matches('\t').count(), 1, "{lines:?}");
    assert!(!lines[0].contains(['\u{1b}', '\u{202e}']), "{lines:?}");
    for (shell, run) in [("bash", bash as fn(&Repo<'_>, &str) -> Vec<String>), ("fish", fish), ("zsh", zsh)] {
        if has(shell) {
            drop(run(&repo, "git-empirica resolve "));
        }
    }
    assert!(!repo.path.join("trap").exists());
}

/// Runs a script in a shell of a user who has the scripts installed.
fn shell(repo: &Repo<'_>, program: &str, arguments: &[&str]) -> RunOutput {
    let mut command = repo.place.command(program, &repo.path);
    command.args(arguments).env("TERM", "dumb");
    RunOutput::new(command.output().expect("the shell starts"))
}

/// What bash puts into COMPREPLY for a line with the cursor at its end, by the function that `complete` names.
fn bash(repo: &Repo<'_>, line: &str) -> Vec<String> {
    let script = repo.place.path().join("home/.local/share/bash-completion/completions/git-empirica");
    let function = if line.starts_with("git ") {
        "_git_empirica"
    } else {
        "$(complete -p git-empirica | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
    };
    let quoted = line.replace('\'', r"'\''");
    let run = format!(
        "source '{}' && COMP_LINE='{quoted}' COMP_POINT={} COMP_TYPE=9 && {function} && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        line.len()
    );
    let out = shell(repo, "bash", &["--noprofile", "--norc", "-c", &run]).ok();
    out.out.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// What fish offers for a line.
fn fish(repo: &Repo<'_>, line: &str) -> Vec<String> {
    let run = format!("complete --do-complete='{}'", line.replace('\'', "\\'"));
    let out = shell(repo, "fish", &["-c", &run]).ok();
    out.out.lines().map(str::to_owned).collect()
}

/// What zsh inserts or lists when the tabulator key is pressed at the end of a line, in a terminal; it lists also when ids begin alike.
fn zsh(repo: &Repo<'_>, line: &str) -> Vec<String> {
    let folder = repo.place.path().join("home/.local/share/zsh/site-functions");
    let driver = format!(
        r#"zmodload zsh/zpty
zpty z zsh -f -i
put() {{ zpty -w z "$1" }}
put "PS1=; unsetopt zle_bracketed_paste list_ambiguous; fpath=({} \$fpath); autoload -U compinit; compinit -u -D; zstyle ':completion:*' list-colors; LISTMAX=10000; COLUMNS=200"
put 'echo ready''now'
while zpty -r z out; do [[ $out == *readynow* ]] && break; done
zpty -w -n z {}$'\t'
integer quiet=0
while (( quiet < 60 )); do
    if zpty -r -t z out; then print -rn -- "$out"; quiet=0; else sleep 0.05; (( quiet += 1 )); fi
done
zpty -d z"#,
        folder.display(),
        shell_quoted(line),
    );
    let out = shell(repo, "zsh", &["-f", "-c", &driver]);
    let control = regex::Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]|[\u{0}-\u{9}\u{b}-\u{1f}]").expect("a pattern");
    control.replace_all(&out.out, "").lines().map(|line| line.trim_end().to_owned()).collect()
}

fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[test]
fn bash_completes_for_both_names_of_the_program() {
    if !has("bash") {
        return;
    }
    let sandbox = Sandbox::new();
    let (repo, finding, unknown) = filled(&sandbox);
    for name in ["git-empirica", "git empirica", "git -C . empirica"] {
        let of = |rest: &str| bash(&repo, &format!("{name} {rest}"));
        // a single one is inserted, several are explained
        assert_eq!(of("resolve "), std::slice::from_ref(&unknown), "{name}");
        let several = of("retract ");
        assert!(several.contains(&format!("{finding}  (finding by ada: the leak is in a.rs)")), "{name}: {several:?}");
        assert_eq!(of("handoff --pr v1..to"), ["v1..topic/leak"], "{name}");
        assert_eq!(of("fin"), ["finding"], "{name}");
        assert_eq!(of("why src/"), ["src/a.rs"], "{name}");
        // bash breaks words at = and :
        assert_eq!(of("search --ai=ad"), ["ada"], "{name}");
        assert_eq!(of("session show latest:ac"), ["active"], "{name}");
    }
}

#[test]
fn bash_completes_through_gits_own_completion() {
    let git = Path::new("/usr/share/bash-completion/completions/git");
    if !has("bash") || !git.is_file() {
        return;
    }
    let sandbox = Sandbox::new();
    let (repo, _, unknown) = filled(&sandbox);
    let script = sandbox.path().join("home/.local/share/bash-completion/completions/git-empirica");
    let line = "git empirica resolve ";
    let run = format!(
        "source '{}' && source '{}' && COMP_WORDS=(git empirica resolve '') COMP_CWORD=3 COMP_LINE='{line}' COMP_POINT={} COMP_TYPE=9 && __git_wrap__git_main && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        git.display(),
        script.display(),
        line.len()
    );
    assert_eq!(shell(&repo, "bash", &["--noprofile", "--norc", "-c", &run]).ok().out.trim(), unknown);
}

#[test]
fn fish_completes_for_both_names_of_the_program() {
    if !has("fish") {
        return;
    }
    let sandbox = Sandbox::new();
    let (repo, finding, unknown) = filled(&sandbox);
    for name in ["git-empirica", "git empirica"] {
        let of = |rest: &str| fish(&repo, &format!("{name} {rest}"));
        assert_eq!(of("resolve "), [format!("{unknown}\tunknown by ada: why does it leak: a buffer?")], "{name}");
        assert!(of("retract ").contains(&format!("{finding}\tfinding by ada: the leak is in a.rs")), "{name}");
        assert_eq!(of("handoff --pr v1..to"), ["v1..topic/leak\tbranch"], "{name}");
        assert!(of("fin").iter().any(|line| line.starts_with("finding")), "{name}");
    }
    assert!(fish(&repo, "git empir").iter().any(|line| line.starts_with("empirica")));
}

#[test]
fn zsh_completes_for_both_names_of_the_program() {
    if !has("zsh") {
        return;
    }
    let sandbox = Sandbox::new();
    let (repo, finding, unknown) = filled(&sandbox);
    for name in ["git-empirica", "git empirica"] {
        let shown = zsh(&repo, &format!("{name} resolve ")).join("\n");
        assert!(shown.contains(&format!("{name} resolve {unknown}")), "{name}: {shown}");
        let listed = zsh(&repo, &format!("{name} retract ")).join("\n");
        assert!(listed.contains(&format!("{finding} -- finding by ada: the leak is in a.rs")), "{name}: {listed}");
    }
}

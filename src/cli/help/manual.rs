//! Manual pages and completions, from the same definitions as the help.

use clap::Command;
use clap_complete::Shell;

use crate::setup::user::{UserFile, UserPlace};

/// What the first page says beyond the help.
const SECTIONS: &str = r#".SH "EVERY COMMAND"
.TP
\-\-json
Answer with exactly one JSON document on standard output, also on failure.
.TP
\-q, \-\-quiet
Say nothing beside the answer and warnings.
.TP
\-h, \-\-help
Show the everyday options; all of them.
.SH "EXIT STATUS"
.TP
0
Done.
.TP
1
Not found, refused, or the present state does not allow it.
.TP
2
Wrong arguments or values.
.TP
3
A gate says stop.
.TP
128
No repository, or storage beyond help.
.SH CONFIGURATION
Read with \fBgit config\fR.
.TP
empirica.agentHooks
Whether the hooks of agents do anything here. Default: true.
.TP
empirica.ai
Who speaks, when neither \-\-ai nor EMPIRICA_AI nor a session says so. Default: user.name.
.TP
empirica.digest
Whether a commit made in a session gets a digest of what was said since the last one. Default: true, unless empirica.sync
is handoffs.
.TP
empirica.hints
Whether commands say what to do next, on standard error. Default: true.
.TP
empirica.index
Whether an index over the notes is kept in the git directory. Default: true. Without it every question about the whole
history reads all notes; answers are the same.
.TP
empirica.lockTimeout
How long a writer waits for others: 300ms, 10s, 2m; a number alone is seconds. Default: 10s. After that the record waits in the log.
.TP
empirica.note
What the note of a commit has for git log: short (one block for each session, at most 12 lines) or full (whole handoffs and
digests). Default: short.
.TP
empirica.redact
Whether secrets in texts are replaced before they are stored. Default: true.
.TP
empirica.remote
A remote that records go to with a push and with sync; can be given several times. Default: the remote the current branch
tracks, else origin, else the only one.
.TP
empirica.startBudget
How many tokens of what is known are put into an agent's context when a session begins or is resumed; 0: nothing. Default: 500.
.TP
empirica.strict
Whether a push fails when the records could not be synced. Default: false.
.TP
empirica.sync
What may leave this repository: all, handoffs (these, the digests made so far, and their Markdown) or off. Default: all.
.TP
empirica.syncTimeout
How long a push may wait for the records to be synced, with what has to be written here before, and init for those of a
remote: 300ms, 10s, 2m; a number alone is seconds. Default: 10s.
.TP
empirica.templateDir
A folder whose templates take the place of the built-in ones on the terminal, and in instructions. What is stored in the
notes is always the built-in rendering.
.PP
color.ui, core.pager, GIT_PAGER, core.editor and GIT_EDITOR mean what they mean to git.
.SH ENVIRONMENT
.TP
EMPIRICA_AI
The agent that the record is by, as \-\-ai.
.TP
EMPIRICA_SESSION
The session, as \-\-session.
.TP
EMPIRICA_NOW
A fixed time (RFC 3339), for runs that must repeat.
.SH FILES
.TP
refs/notes/empirica/data/*
The records, for programs.
.TP
refs/notes/empirica/handoffs
The handoffs as Markdown, for people: git log \-\-notes=empirica/handoffs
.TP
$GIT_COMMON_DIR/empirica/
The write\-ahead log, and derived state that can be deleted.
"#;

/// The same as text, for a reader without the manual pages.
pub fn sections() -> String {
    let mut out = String::new();
    let mut lines = SECTIONS.lines();
    while let Some(line) = lines.next() {
        let plain = line.replace("\\fB", "").replace("\\fR", "").replace("\\-", "-");
        match plain.as_str() {
            ".TP" => out.push_str(&format!("  {}\n", lines.next().unwrap_or_default().replace("\\-", "-"))),
            ".PP" => out.push('\n'),
            text => match text.strip_prefix(".SH ") {
                Some(heading) => {
                    let gap = if out.is_empty() { "" } else { "\n" };
                    out.push_str(&format!("{gap}{}\n", heading.trim_matches('"')));
                }
                None => out.push_str(&format!("      {text}\n")),
            },
        }
    }
    out
}

/// The definition of the program with that of its commands complete.
fn built(program: &Command) -> Command {
    let mut program = program.clone();
    program.build();
    program
}

/// The manual pages, `git-empirica.1` first, then one a command.
pub fn pages(program: &Command) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    collect(&built(program), "git-empirica", &mut out);
    out
}

fn collect(command: &Command, name: &str, out: &mut Vec<(String, Vec<u8>)>) {
    let page = command.clone().name(name.to_owned()).disable_help_subcommand(true);
    let man = clap_mangen::Man::new(page)
        .title(name.to_uppercase())
        .date("")
        .source(format!("git-empirica {}", env!("CARGO_PKG_VERSION")))
        .manual("Git Empirica Manual");
    let mut bytes = Vec::new();
    // writing to memory cannot fail
    if man.render(&mut bytes).is_ok() {
        if command.get_name() == "git-empirica" {
            bytes.extend_from_slice(SECTIONS.as_bytes());
        }
        out.push((format!("{name}.1"), bytes));
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        collect(sub, &format!("{name}-{}", sub.get_name()), out);
    }
}

/// The completions of a shell, for `git-empirica` and for `git empirica`.
pub fn completions(program: &Command, shell: Shell) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut plain = program.clone().bin_name("git-empirica");
    clap_complete::generate(shell, &mut plain, "git-empirica", &mut bytes);
    if shell == Shell::Bash {
        // the help says `git empirica`, a command line of this program says `git-empirica`
        let text =
            String::from_utf8_lossy(&bytes).replace("git__subcmd__empirica__subcmd__", "git__empirica__subcmd__");
        bytes = text.into_bytes();
    }
    let more = match shell {
        // git's own completion calls _git_<command> for `git <command>`
        Shell::Bash => "\n_git_empirica() {\n    local words_=(\"${COMP_WORDS[@]}\") at=$COMP_CWORD i\n    for ((i = 1; i < ${#words_[@]}; i++)); do\n        [ \"${words_[i]}\" = empirica ] && break\n    done\n    COMP_WORDS=(git-empirica \"${words_[@]:i+1}\")\n    COMP_CWORD=$((at - i))\n    _git__empirica git-empirica \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n    COMP_WORDS=(\"${words_[@]}\")\n    COMP_CWORD=$at\n}\n".to_owned(),
        _ => String::new(),
    };
    bytes.extend_from_slice(more.as_bytes());
    bytes
}

/// The completions of fish for `git empirica`. They are read when fish starts, for its own file for git does not know us.
fn fish_for_git(program: &Command) -> String {
    let mut out = String::from(
        "complete -c git -n '__fish_git_needs_command' -f -a empirica -d 'Keep what agents learned as git notes'\n",
    );
    let all: Vec<Command> = built(program).get_subcommands().cloned().collect();
    let names: Vec<&str> = all.iter().map(|sub| sub.get_name()).collect();
    let given = names.join(" ");
    let at = format!("__fish_git_using_command empirica; and not __fish_seen_subcommand_from {given}");
    out.push_str(&format!("complete -c git -n '{at}' -f -a '{given}'\n"));
    for sub in &all {
        let name = sub.get_name();
        let here = format!("__fish_git_using_command empirica; and __fish_seen_subcommand_from {name}");
        let below: Vec<&str> = sub.get_subcommands().map(|sub| sub.get_name()).collect();
        if !below.is_empty() {
            out.push_str(&format!("complete -c git -n '{here}' -f -a '{}'\n", below.join(" ")));
        }
        for long in sub.get_arguments().filter_map(|argument| argument.get_long()) {
            out.push_str(&format!("complete -c git -n '{here}' -l {long}\n"));
        }
    }
    out
}

/// Everything `setup` installs.
pub fn files(program: &Command) -> Vec<UserFile> {
    let mut out: Vec<UserFile> =
        pages(program).into_iter().map(|(name, content)| UserFile { place: UserPlace::Man, name, content }).collect();
    let shells = [
        (UserPlace::Bash, "git-empirica", Shell::Bash),
        (UserPlace::Zsh, "_git-empirica", Shell::Zsh),
        (UserPlace::Fish, "git-empirica.fish", Shell::Fish),
    ];
    let fish = UserFile {
        place: UserPlace::FishStart,
        name: "git-empirica.fish".to_owned(),
        content: fish_for_git(program).into_bytes(),
    };
    out.push(fish);
    out.extend(shells.map(|(place, name, shell)| UserFile {
        place,
        name: name.to_owned(),
        content: completions(program, shell),
    }));
    out
}

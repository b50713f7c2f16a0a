//! Manual pages and completions, from the same definitions as the help.

use clap::Command;

use crate::use_cases::setup::user::{UserFile, UserPlace};

/// Sections of the first page that the help lacks.
const SECTIONS: &str = r#".SH "EVERY COMMAND"
.TP
\-\-json
Answer with exactly one JSON document on standard output, also on failure.
.TP
\-q, \-\-quiet
Print only the answer and warnings.
.TP
\-h, \-\-help
\-h shows the everyday options, \-\-help all of them.
.SH "EXIT STATUS"
.TP
0
Done.
.TP
1
Not found, refused, or not possible in the present state.
.TP
2
Wrong arguments or values.
.TP
3
A check failed: severe drift, or \fBhandoff \-\-validate\fR found an error or a violation.
.TP
128
No repository, or the notes and logs cannot be read or written.
.SH CONFIGURATION
Read with \fBgit config\fR.
.TP
empirica.agentHooks
Whether the hooks of agents act in this repository. Default: true.
.TP
empirica.ai
The agent of a record, if neither \-\-ai, EMPIRICA_AI nor a session names one. Default: the agent that runs the command, else
user.name.
.TP
empirica.digest
Whether a commit made in a session gets a digest of the claims since the last one. Default: true, unless empirica.sync
is handoffs.
.TP
empirica.embed.model
The model for search by meaning: its name at empirica.embed.url, or without that the folder of a static model in the
format of model2vec. Default: none; search finds words only.
.TP
empirica.embed.url
An endpoint with OpenAI's embeddings API, such as http://localhost:11434/v1. No text goes there before
\fBgit empirica embed\fR. Default: none.
.TP
empirica.guard
Whether an agent that reads or changes a file is told what was logged about it. Default: true.
.TP
empirica.hints
Whether commands print hints for the next step on standard error. Default: true.
.TP
empirica.index
Whether to keep an index over the notes in the git directory. Default: true. Without it, every query over the whole
history reads all notes; the answers are the same.
.TP
empirica.inject
The records that hooks may tell an agent unasked: all; signed (those made in this clone, and those that a good signature
vouches for); mine (those made in this clone, and those signed by user.email). Default: all. Another value counts as mine.
.TP
empirica.lockTimeout
How long a writer waits for others: 300ms, 10s, 2m; a number alone is seconds. Default: 10s. After that the record stays
pending in the log.
.TP
empirica.note
The content of a commit's note for git log: short (one block for each session, at most 12 lines) or full (whole handoffs and
digests). Default: short.
.TP
empirica.qdrant.url
A team's Qdrant server for search \-\-repository, such as http://localhost:6333. No text goes there before
\fBgit empirica embed\fR. Default: none.
.TP
empirica.redact
Whether to replace secrets in texts before storing them. Default: true.
.TP
empirica.remote
A remote that sync, and a push, send records to; can be set several times. Default: the remote the current branch
tracks, else origin, else the only one.
.TP
empirica.require
What handoff \-\-pr \-\-validate requires of a range of commits, separated by commas: checks (none failed in its last run),
questions (no blocking one is open), claims (none is about code that the range changed). Default: nothing.
.TP
empirica.startBudget
How many tokens about the project to add to an agent's context when a session starts or resumes; 0: none. Default: 500.
.TP
empirica.strict
Whether a push fails if the records cannot be synced. Default: false.
.TP
empirica.sync
The records that may leave this repository: all, handoffs (these, the digests written so far, and their Markdown) or off.
Default: all.
.TP
empirica.syncTimeout
How long a push may wait for the sync of records, including pending writes, and init for the records of a
remote: 300ms, 10s, 2m; a number alone is seconds. Default: 10s.
.TP
empirica.templateDir
A folder whose templates replace the built-in ones on the terminal and in instructions. The notes always hold the
built-in rendering.
.TP
empirica.trailers
Whether a commit made in a session names it in its message: Empirica\-Session: ID. Run \fBgit empirica init\fR after a change.
Default: false.
.PP
color.ui, core.pager, GIT_PAGER, core.editor and GIT_EDITOR have the same meaning as in git.
.SH ENVIRONMENT
.TP
EMPIRICA_AI
The agent of the record, as \-\-ai.
.TP
EMPIRICA_EMBED_KEY
The key of empirica.embed.url. Default: the password that git's credential helper has for it.
.TP
EMPIRICA_QDRANT_KEY
The key of empirica.qdrant.url. Default: the password that git's credential helper has for it.
.TP
EMPIRICA_SESSION
The session, as \-\-session.
.TP
EMPIRICA_NOW
A fixed time (RFC 3339), for reproducible runs.
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

/// These sections as text, for `help config`.
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

/// The program with the definitions of its commands complete.
fn built(program: &Command) -> Command {
    let mut program = program.clone();
    program.build();
    program
}

/// The manual pages: `git-empirica.1`, then one for each command.
pub fn pages(program: &Command) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    collect(&built(program), "git-empirica", &mut out);
    out
}

fn collect(command: &Command, name: &str, out: &mut Vec<(String, Vec<u8>)>) {
    // the page is the long form; clap_mangen leaves out the text of arguments hidden from the short help
    let page = command.clone().name(name.to_owned()).disable_help_subcommand(true);
    let page = page.mut_args(|argument| argument.hide_short_help(false));
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

empirica_notes::named_enum! {
    /// The shells with completions.
    pub enum Shell {
        Bash = "bash",
        Zsh = "zsh",
        Fish = "fish",
    }
}

impl Shell {
    /// The script for `git-empirica` and for `git empirica`; it asks the program for the candidates.
    pub fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("shells/git-empirica.bash"),
            Shell::Zsh => include_str!("shells/_git-empirica"),
            Shell::Fish => include_str!("shells/git-empirica.fish"),
        }
    }
}

/// The files that `setup` installs.
pub fn files(program: &Command) -> Vec<UserFile> {
    let pages = pages(program).into_iter().map(|(name, content)| UserFile { place: UserPlace::Man, name, content });
    let completions = [
        (UserPlace::Bash, "git-empirica", Shell::Bash.script()),
        (UserPlace::Zsh, "_git-empirica", Shell::Zsh.script()),
        // read when fish starts: its file for git does not look for ours
        (UserPlace::FishStart, "git-empirica.fish", Shell::Fish.script()),
    ];
    let file = |(place, name, text): (_, &str, &str)| UserFile { place, name: name.to_owned(), content: text.into() };
    pages.chain(completions.map(file)).collect()
}

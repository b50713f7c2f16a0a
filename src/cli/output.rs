//! Where an answer goes: standard output or the user's pager, in colour or not, as git's configuration says.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::{Child, Stdio};

use clap::ValueEnum;

use super::streams::Streams;
use crate::render::answer::Answer;
use crate::render::color::Paint;
use crate::render::safe;
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, Shell};
use empirica_notes::git::Repository;
use empirica_notes::git::process::{shell, variable};

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWord {
    Always,
    Auto,
    Never,
}

/// The output of one command.
pub struct Output {
    streams: Streams,
    pager: Option<Child>,
    /// Whether a JSON document is wanted.
    pub as_json: bool,
    /// Whether only the answer and warnings are wanted.
    pub quiet: bool,
    /// Whether long answers go through a pager.
    pub pages: bool,
    /// When there are colours, if the arguments say it.
    pub color: Option<ColorWord>,
}

/// Whether the reader of our output has gone.
pub fn is_broken_pipe(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn unwritten(error: io::Error) -> Error {
    Error::storage("the output could not be written")
        .suggest("See whether there is room where the output goes; what the command stored is stored.")
        .caused_by(error)
}

/// A line of standard error in its colour.
pub fn painted(line: &str, paint: Paint) -> String {
    let split = line.split_once(": ");
    match split {
        Some(("error", rest)) => format!("{} {rest}", paint.bad("error:")),
        Some(("warning", rest)) => format!("{} {rest}", paint.warning("warning:")),
        Some(("hint", rest)) => format!("{} {rest}", paint.hint("hint:")),
        _ => line.to_owned(),
    }
}

impl Output {
    /// An output over the process's streams.
    pub fn new(streams: Streams, as_json: bool, quiet: bool) -> Self {
        Output { streams, pager: None, as_json, quiet, pages: true, color: None }
    }

    /// The streams, after a pager has ended.
    pub fn into_streams(mut self) -> Streams {
        self.close();
        let closed = Streams {
            stdin: Box::new(io::empty()),
            out: Box::new(io::sink()),
            err: Box::new(io::sink()),
            out_is_terminal: false,
            out_width: None,
            err_is_terminal: false,
            in_is_terminal: false,
        };
        std::mem::replace(&mut self.streams, closed)
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.streams.out_is_terminal
    }

    /// How many columns the terminal has that standard output is: `COLUMNS`, else what it says itself, else 80. `None` when it is none.
    pub fn width(&self, env: &Env) -> Option<usize> {
        let said = || env.get("COLUMNS").and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
        self.streams.out_is_terminal.then(|| said().or(self.streams.out_width).unwrap_or(80))
    }

    /// Whether what a program of git's says about its progress is for somebody: at a terminal, and no document is wanted.
    pub fn tells_progress(&self) -> bool {
        self.streams.err_is_terminal && !self.as_json
    }

    /// Asks a question that is answered with yes or no; yes when nothing is answered. `None` where nobody can be asked, and where only
    /// the answer is wanted.
    pub fn ask(&mut self, question: &str) -> Result<Option<bool>> {
        if !self.streams.in_is_terminal || !self.tells_progress() || self.quiet {
            return Ok(None);
        }
        self.streams.err.write_all(format!("{question} [Y/n] ").as_bytes()).map_err(unwritten)?;
        self.streams.err.flush().map_err(unwritten)?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        // no more than the line
        while matches!(self.streams.stdin.read(&mut byte), Ok(1)) {
            answer.push(byte[0]);
            if byte == *b"\n" {
                break;
            }
        }
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        Ok(Some(matches!(answer.as_str(), "\n" | "\r\n") || matches!(answer.trim(), "y" | "yes")))
    }

    /// Standard input.
    pub fn stdin(&mut self) -> &mut dyn io::Read {
        &mut *self.streams.stdin
    }

    /// Whether colours are wanted on standard output: `--color`, `color.ui`, `NO_COLOR`, and a terminal or git's own pager.
    pub fn paint(&self, env: &Env, repo: Option<&Repository>) -> Paint {
        let configured = repo.and_then(|repo| repo.config("color.ui"));
        let shown =
            (self.streams.out_is_terminal && env.get("TERM") != Some("dumb")) || env.get("GIT_PAGER_IN_USE").is_some();
        let on = match (self.color, configured.as_deref()) {
            (Some(ColorWord::Always), _) => true,
            (Some(ColorWord::Never), _) => false,
            _ if env.get("NO_COLOR").is_some() || self.as_json => false,
            (None, Some("always")) => true,
            (None, Some("never" | "false" | "no" | "off" | "0")) => false,
            _ => shown,
        };
        Paint { on }
    }

    /// Sends what follows through the user's pager, when standard output is a terminal and git has a pager.
    pub fn page(&mut self, env: &Env) {
        if !self.pages || !self.streams.out_is_terminal || self.as_json || env.get("GIT_PAGER_IN_USE").is_some() {
            return;
        }
        let Some(line) = variable(&env.cwd, "GIT_PAGER").filter(|line| line != "cat") else { return };
        let mut command = shell(&line, &[]);
        command.stdin(Stdio::piped()).env("GIT_PAGER_IN_USE", "true");
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::process::Command::get_envs(&command).all(|(known, _)| known != name) && !is_set(name) {
                command.env(name, value);
            }
        }
        // without a pager it is shown as it is
        self.pager = command.spawn().ok();
    }

    /// Writes data.
    pub fn write(&mut self, text: &str) -> Result<()> {
        let written = match self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            Some(stdin) => stdin.write_all(text.as_bytes()),
            None => self.streams.out.write_all(text.as_bytes()),
        };
        written.map_err(unwritten)
    }

    /// Makes what was written visible.
    pub fn flush(&mut self) -> Result<()> {
        self.streams.out.flush().map_err(unwritten)
    }

    /// Says something aside.
    pub fn say(&mut self, line: &str) -> Result<()> {
        let paint = Paint { on: self.streams.err_is_terminal };
        // in one write: several programs can share where it goes
        let line = format!("{}\n", painted(line, paint));
        self.streams.err.write_all(line.as_bytes()).map_err(unwritten)
    }

    /// Waits for the pager.
    fn close(&mut self) {
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            // how a pager ends is the user's affair
            let _ = pager.wait();
        }
    }

    /// Writes a whole answer in the wanted form.
    pub fn answer(&mut self, answer: &Answer, env: &Env, repo: Option<&Repository>) -> Result<()> {
        if self.as_json {
            self.write(&format!("{}\n", safe::json(&answer.document(&Shell).into())))?;
            return self.flush();
        }
        let paint = if answer.is_data { Paint::default() } else { self.paint(env, repo) };
        if answer.paged {
            self.page(env);
        }
        self.write(&paint.text(&answer.text))?;
        self.flush()?;
        self.close();
        for line in if self.quiet { &[][..] } else { &answer.messages } {
            self.say(line)?;
        }
        self.aside(&answer.warnings, if self.gives_hints(repo) { &answer.hints } else { &[] })
    }

    /// Whether hints are shown: not to programs, not under `--quiet`, not where `empirica.hints` is false.
    pub fn gives_hints(&self, repo: Option<&Repository>) -> bool {
        let is_off = || repo.and_then(|repo| repo.config_bool("empirica.hints")) == Some(false);
        !self.as_json && !self.quiet && !is_off()
    }

    /// Warnings, then hints.
    pub fn aside(&mut self, warnings: &[impl Display], hints: &[String]) -> Result<()> {
        self.close();
        for warning in warnings {
            self.say(&format!("warning: {}", safe::lines(&warning.to_string())))?;
        }
        for hint in hints {
            self.say(&format!("hint: {}", safe::lines(hint)))?;
        }
        Ok(())
    }
}

fn is_set(name: &str) -> bool {
    // the one variable that is not ours to read but the pager's: only whether the user has set it
    #[allow(clippy::disallowed_methods)]
    std::env::var_os(name).is_some()
}

impl Drop for Output {
    fn drop(&mut self) {
        self.close();
    }
}

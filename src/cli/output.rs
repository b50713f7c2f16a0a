//! Output of an answer: standard output or the user's pager, with colors as configured in git.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::{Child, Stdio};

use clap::ValueEnum;
use serde_json::Value;

use super::streams::Streams;
use crate::render::answer::{Answer, failure, failure_lines};
use crate::render::color::Paint;
use crate::render::safe::{self, Fence};
use empirica_notes::env::Env;
use empirica_notes::error::{Error, Result, Shell};
use empirica_notes::git::Repository;
use empirica_notes::git::process::{shell, variable};
use empirica_notes::store::Paths;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWord {
    Always,
    Auto,
    Never,
}

pub struct Output {
    streams: Streams,
    pager: Option<Child>,
    pub as_json: bool,
    pub quiet: bool,
    /// Whether long answers go through a pager.
    pub pages: bool,
    pub color: Option<ColorWord>,
}

/// Whether the reader of the output closed it.
pub fn is_broken_pipe(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|e| e.downcast_ref::<io::Error>());
    source.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn unwritten(error: io::Error) -> Error {
    Error::storage("cannot write the output")
        .suggest("Check for free space where the output goes; the command's records are stored.")
        .caused_by(error)
}

impl Output {
    pub fn new(streams: Streams, as_json: bool, quiet: bool) -> Self {
        Output { streams, pager: None, as_json, quiet, pages: true, color: None }
    }

    /// Whether standard output is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.streams.out_is_terminal
    }

    /// Whether a person reads standard output: on a terminal, or through git's pager.
    pub fn shows_terminal(&self, env: &Env) -> bool {
        self.is_terminal() || env.get("GIT_PAGER_IN_USE").is_some()
    }

    /// Columns of the terminal of standard output: `COLUMNS`, else the terminal's own value, else 80. `None` without a
    /// terminal.
    pub fn width(&self, env: &Env) -> Option<usize> {
        let set = || env.get("COLUMNS").and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
        self.streams.out_is_terminal.then(|| set().or(self.streams.out_width).unwrap_or(80))
    }

    /// Whether to show progress: on a terminal, without `--json`.
    pub fn shows_progress(&self) -> bool {
        self.streams.err_is_terminal && !self.as_json
    }

    /// Asks a yes-or-no question; an empty line means yes. `None` without a terminal, and with `--quiet`.
    pub fn ask(&mut self, question: &str) -> Result<Option<bool>> {
        if !self.streams.in_is_terminal || !self.shows_progress() || self.quiet {
            return Ok(None);
        }
        self.streams.err.write_all(format!("{question} [Y/n] ").as_bytes()).map_err(unwritten)?;
        self.streams.err.flush().map_err(unwritten)?;
        let (mut answer, mut byte) = (Vec::new(), [0]);
        // bytes after the line belong to the command's input
        while matches!(self.streams.stdin.read(&mut byte), Ok(1)) {
            answer.push(byte[0]);
            if byte == *b"\n" {
                break;
            }
        }
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        Ok(Some(matches!(answer.as_str(), "\n" | "\r\n") || matches!(answer.trim(), "y" | "yes")))
    }

    pub fn stdin(&mut self) -> &mut dyn io::Read {
        &mut *self.streams.stdin
    }

    /// The colors of standard output, by `--color`, `NO_COLOR`, `color.ui`, and whether it is a terminal or git's pager.
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

    /// Starts the user's pager for later writes, if standard output is a terminal.
    pub fn page(&mut self, env: &Env) {
        if !self.pages || !self.streams.out_is_terminal || self.as_json || env.get("GIT_PAGER_IN_USE").is_some() {
            return;
        }
        let Some(line) = variable(&env.cwd, "GIT_PAGER").filter(|line| line != "cat") else { return };
        let mut command = shell(&line, &[]);
        command.stdin(Stdio::piped()).env("GIT_PAGER_IN_USE", "true");
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if std::process::Command::get_envs(&command).all(|(variable_name, _)| variable_name != name)
                && !is_set(name)
            {
                command.env(name, value);
            }
        }
        // if the pager cannot start, write to the terminal
        self.pager = command.spawn().ok();
    }

    /// Writes to standard output, or to the pager.
    pub fn write(&mut self, text: &str) -> Result<()> {
        let written = match self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            Some(stdin) => stdin.write_all(text.as_bytes()),
            None => self.streams.out.write_all(text.as_bytes()),
        };
        written.map_err(unwritten)
    }

    pub fn flush(&mut self) -> Result<()> {
        self.streams.out.flush().map_err(unwritten)
    }

    /// Writes a line to standard error.
    pub fn say(&mut self, line: &str) -> Result<()> {
        // in one write: programs can share the stream
        self.streams.err.write_all(format!("{line}\n").as_bytes()).map_err(unwritten)
    }

    /// Writes a line with a label, in the color of the label, to standard error.
    fn say_labeled(&mut self, label: &str, text: &str) -> Result<()> {
        let paint = Paint { on: self.streams.err_is_terminal };
        let prefix = format!("{label}:");
        let prefix = match label {
            "error" => paint.bad(&prefix),
            "warning" => paint.warning(&prefix),
            "hint" => paint.hint(&prefix),
            _ => prefix,
        };
        self.say(&format!("{prefix} {}", quoted_texts(text)))
    }

    /// Waits for the pager.
    fn close(&mut self) {
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            // the pager's exit code does not matter
            let _ = pager.wait();
        }
    }

    /// Writes an answer: as text with messages, warnings and hints, or as JSON.
    pub fn answer(&mut self, answer: &Answer, env: &Env, repo: Option<&Repository>) -> Result<()> {
        if self.as_json {
            return self.json(answer.document(&Shell).into());
        }
        let paint = if answer.is_data { Paint::default() } else { self.paint(env, repo) };
        if answer.paged {
            self.page(env);
        }
        let text = paint.text(&answer.text);
        let is_for_people =
            (self.streams.out_is_terminal || env.get("GIT_PAGER_IN_USE").is_some()) && env.agent().is_none();
        self.write(&match repo {
            Some(repo) if answer.quotes && !is_for_people => Fence::of(&Paths::new(repo, env)).around(&text),
            _ => text,
        })?;
        self.flush()?;
        self.close();
        for line in if self.quiet { &[][..] } else { &answer.messages } {
            self.say(line)?;
        }
        self.notices(&answer.warnings, if self.shows_hints(repo) { &answer.hints } else { &[] })
    }

    /// Writes a JSON document as one line.
    pub fn json(&mut self, document: Value) -> Result<()> {
        self.write(&format!("{}\n", safe::json(&document)))?;
        self.flush()
    }

    /// Writes an error, as text on standard error or as JSON, and returns its exit code.
    pub fn error(&mut self, error: &Error) -> u8 {
        self.close();
        // if even this cannot be written, the exit code still tells
        let _ = match self.as_json {
            true => self.json(failure(error, &Shell).into()),
            false => failure_lines(error).iter().try_for_each(|(label, text)| self.say_labeled(label, text)),
        };
        error.kind().exit_code()
    }

    /// Whether to show hints: neither with `--json` or `--quiet`, nor if `empirica.hints` is false.
    pub fn shows_hints(&self, repo: Option<&Repository>) -> bool {
        let is_off = || repo.and_then(|repo| repo.config_bool("empirica.hints")) == Some(false);
        !self.as_json && !self.quiet && !is_off()
    }

    /// Writes warnings, then hints, to standard error.
    pub fn notices(&mut self, warnings: &[impl Display], hints: &[String]) -> Result<()> {
        self.close();
        for warning in warnings {
            self.say_labeled("warning", &safe::lines(&warning.to_string()))?;
        }
        for hint in hints {
            self.say_labeled("hint", &safe::lines(hint))?;
        }
        Ok(())
    }
}

/// A message without the ends of tags: it can quote records, and a model may read it.
fn quoted_texts(text: &str) -> String {
    text.replace("</", "‹/").replace("<|", "‹|")
}

fn is_set(name: &str) -> bool {
    // a variable of the pager, which git_empirica's own environment does not read
    #[allow(clippy::disallowed_methods)]
    std::env::var_os(name).is_some()
}

impl Drop for Output {
    fn drop(&mut self) {
        self.close();
    }
}

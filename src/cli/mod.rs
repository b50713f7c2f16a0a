//! The command line: arguments in, one use case, one answer out; no logic.

pub mod aliases;
mod commands;
mod editor;
mod error;
pub mod help;
mod input;
mod invocation;
mod output;
mod progress;
pub mod reference;
mod streams;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, Parser};

pub use commands::{Cli, DOCUMENTS};
use empirica_notes::env::Env;
use empirica_notes::error::Kind;
use invocation::Invocation;
pub use invocation::Serve;
use output::{Output, is_broken_pipe};
pub use streams::Streams;

use crate::use_cases::setup::doctor::version;

/// Runs one command and returns the exit code: 0 done, 1 not found or refused, 2 usage, 3 a check failed,
/// 128 no repository, or the notes and logs cannot be read or written.
///
/// `serve` runs the MCP server; `None` in a program built without it, which refuses `mcp`.
pub fn run(arguments: Vec<OsString>, env: &Env, mut streams: Streams, serve: Option<Serve>) -> u8 {
    // some tools ask for the version on every start: answered without the parser
    let is_version = |word: &OsString| word == "--version" || word == "-V";
    if let [_, word] = arguments.as_slice()
        && is_version(word)
    {
        let written = writeln!(streams.out, "git-empirica {}", env!("CARGO_PKG_VERSION"));
        return u8::from(written.and_then(|()| streams.out.flush()).is_err());
    }
    let is_bare = arguments.len() <= 1;
    let help = help::requested(&arguments);
    let arguments = if help.is_some() { arguments } else { aliases::expand(arguments) };
    let mut output = Output::new(streams, error::wants_json(&arguments), error::wants_quiet(&arguments));
    if let [_, first, second] = arguments.as_slice()
        && (is_version(first) && second == "--json" || first == "--json" && is_version(second))
    {
        return output.answer(&version::answer(), env, None).map_or_else(|error| output.error(&error), |()| 0);
    }
    if let Some(words) = help {
        output.pages = !words.is_empty() && arguments.get(1).is_some_and(|word| word != "--no-pager");
        let shown = help::answer(&words).and_then(|answer| output.answer(&answer, env, None));
        return match shown {
            Ok(()) => 0,
            Err(error) if is_broken_pipe(&error) => 0,
            Err(error) => output.error(&error),
        };
    }
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            output.as_json = false;
            // the long form of the help is a page
            if arguments.iter().any(|word| word == "--help") && arguments.iter().all(|word| word != "--no-pager") {
                output.page(env);
            }
            let _ = output.write(&error.render().to_string()).and_then(|()| output.flush());
            return 0;
        }
        Err(error) => return output.error(&error::from_parser(&error, &arguments)),
    };
    output.pages = !cli.no_pager;
    let repo = OnceCell::new();
    let mut context = Invocation { env, repo: &repo, output: &mut output, program: Cli::command, serve };
    match cli.command.run(&mut context) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => 0,
        Err(error) if is_bare && error.kind() == Kind::NoRepository => {
            // without a command, the help is more useful than the error
            let _ = output.write(&help::screen()).and_then(|()| output.flush());
            0
        }
        // the help of the command explains its arguments
        Err(error) if error.kind() == Kind::Usage && error.commands().is_empty() => {
            output.error(&error.command(error::help_command(&arguments)))
        }
        Err(error) => output.error(&error),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    struct Written(Rc<RefCell<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The exit code and the output of `git empirica mcp` with `arguments`, in a program without the server.
    fn mcp(arguments: &[&str]) -> (u8, String, String) {
        let (out, err) = (Rc::default(), Rc::default());
        let streams = Streams {
            stdin: Box::new(std::io::empty()),
            out: Box::new(Written(Rc::clone(&out))),
            err: Box::new(Written(Rc::clone(&err))),
            out_is_terminal: false,
            out_width: None,
            err_is_terminal: false,
            in_is_terminal: false,
        };
        let env = Env::new([], "/".into(), "/git-empirica".into());
        let all = ["git-empirica", "mcp"].iter().chain(arguments).map(OsString::from).collect();
        let code = run(all, &env, streams, None);
        let text = |written: &RefCell<Vec<u8>>| String::from_utf8_lossy(&written.borrow()).into_owned();
        (code, text(&out), text(&err))
    }

    #[test]
    fn a_program_without_the_server_refuses_mcp_and_names_the_build_that_has_it() {
        let (code, out, err) = mcp(&["--tools", "core"]);
        assert_eq!((code, out.as_str()), (1, ""), "a client reads no answer from standard output");
        assert!(err.contains("cannot serve MCP clients") && err.contains("cargo install --locked --path ."), "{err}");
    }
}

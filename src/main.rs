//! The binary: arguments, environment and streams go in, an exit code comes out.
#![forbid(unsafe_code)]

use std::io::IsTerminal;
use std::process::ExitCode;

use empirica_notes::env::Env;
use git_empirica::cli::{self, Streams};

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// reads the environment for all others, as `Env`; only gix and the pager's variables (`cli/output.rs`) bypass it
#[allow(clippy::disallowed_methods)]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let cwd = std::env::current_dir().unwrap_or_default();
    let program = std::env::current_exe().unwrap_or_default();
    #[cfg(feature = "fault-injection")]
    empirica_notes::fault::arm(std::env::var("EMPIRICA_FAULT").ok().as_deref());
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let env = Env::new(variables, cwd, program);
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let streams = Streams {
        out_is_terminal: stdout.is_terminal(),
        out_width: columns(&stdout),
        err_is_terminal: stderr.is_terminal(),
        in_is_terminal: std::io::stdin().is_terminal(),
        stdin: Box::new(std::io::stdin()),
        out: Box::new(std::io::BufWriter::new(stdout)),
        err: Box::new(stderr),
    };
    #[cfg(feature = "mcp")]
    let serve = |all| git_empirica::mcp::serve(&env, all, std::io::stdin(), std::io::stdout());
    #[cfg(feature = "mcp")]
    let serve: Option<cli::Serve> = Some(&serve);
    #[cfg(not(feature = "mcp"))]
    let serve: Option<cli::Serve> = None;
    ExitCode::from(cli::run(arguments, &env, streams, serve))
}

/// The width of a terminal; `None` for what is none, and for one that does not say.
fn columns(stdout: &std::io::Stdout) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

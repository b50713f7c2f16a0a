//! Fault injection for tests: at a chosen point the process dies or an operation fails. No-ops without the feature
//! `fault-injection`.
//!
//! `EMPIRICA_FAULT` arms a build that has the feature. Points are counted from 1, in the order they are reached:
//! `kill:N` kills the process at the N-th, `fail:N:ERRNO` makes it fail with that errno, `wait:N:FILE` creates a file
//! there and waits until it is removed, `list:FILE` appends each point reached to a file. A *point* precedes an operation
//! and can fail or kill; a *step* follows one and can only kill.

use std::io;

/// A point before an operation; fails if `EMPIRICA_FAULT` says so.
#[inline]
pub fn point(name: &str) -> io::Result<()> {
    #[cfg(feature = "fault-injection")]
    return armed::reach(name, true);
    #[cfg(not(feature = "fault-injection"))]
    {
        let _ = name;
        Ok(())
    }
}

/// A step after an operation.
#[inline]
pub fn step(name: &str) {
    #[cfg(feature = "fault-injection")]
    let _ = armed::reach(name, false);
    #[cfg(not(feature = "fault-injection"))]
    let _ = name;
}

/// The part of a text to write: half of it if this point is due, else all. A kill that is due here happens at the next
/// step, after the half is written.
#[inline]
pub fn part<'t>(name: &str, text: &'t [u8]) -> &'t [u8] {
    #[cfg(feature = "fault-injection")]
    return if armed::halves(name) { &text[..text.len() / 2] } else { text };
    #[cfg(not(feature = "fault-injection"))]
    {
        let _ = name;
        text
    }
}

#[cfg(feature = "fault-injection")]
pub use armed::arm;

#[cfg(feature = "fault-injection")]
mod armed {
    use std::io::{self, Write};
    use std::sync::Mutex;

    #[derive(Clone)]
    enum FaultAction {
        Kill(usize),
        Fail(usize, i32),
        List(String),
        Wait(usize, String),
    }

    struct State {
        action: Option<FaultAction>,
        reached: usize,
        dying: bool,
    }

    static STATE: Mutex<State> = Mutex::new(State { action: None, reached: 0, dying: false });

    /// Arms this process; exits with 70 if `text` cannot be parsed, so that no test passes unarmed.
    pub fn arm(text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let action = match parts[..] {
            ["kill", n] => n.parse().ok().map(FaultAction::Kill),
            ["fail", n, errno] => n.parse().ok().zip(errno.parse().ok()).map(|(n, errno)| FaultAction::Fail(n, errno)),
            ["wait", n, file] => n.parse().ok().map(|n| FaultAction::Wait(n, file.to_owned())),
            ["list", file] => Some(FaultAction::List(file.to_owned())),
            _ => None,
        };
        match (action, STATE.lock()) {
            (Some(action), Ok(mut state)) => state.action = Some(action),
            _ => std::process::exit(70),
        }
    }

    /// Counts a point. Returns the action, and whether it is due here.
    fn count(name: &str, fails: bool) -> (Option<FaultAction>, bool) {
        let Ok(mut state) = STATE.lock() else { return (None, false) };
        state.reached += 1;
        let now = state.reached;
        let is_due = match &state.action {
            Some(FaultAction::Kill(n)) => *n == now || state.dying,
            Some(FaultAction::Fail(n, _)) => *n == now && fails,
            Some(FaultAction::List(file)) => {
                let line = format!("{now} {} {name}\n", if fails { "point" } else { "step" });
                let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
                // the test that wants the list sees that it is missing
                let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
                false
            }
            Some(FaultAction::Wait(n, file)) => {
                if *n == now && std::fs::write(file, "").is_ok() {
                    while std::path::Path::new(file).exists() {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                    }
                }
                false
            }
            None => false,
        };
        (state.action.clone(), is_due)
    }

    pub fn reach(name: &str, fails: bool) -> io::Result<()> {
        match count(name, fails) {
            (Some(FaultAction::Kill(_)), true) => die(),
            (Some(FaultAction::Fail(_, errno)), true) => Err(io::Error::from_raw_os_error(errno)),
            _ => Ok(()),
        }
    }

    pub fn halves(name: &str) -> bool {
        let (action, is_due) = count(name, true);
        if is_due && matches!(action, Some(FaultAction::Kill(_))) {
            STATE.lock().map(|mut state| state.dying = true).unwrap_or_default();
        }
        is_due
    }

    /// Dies by SIGKILL: no destructor runs.
    pub fn die() -> ! {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort()
    }
}

//! Faults on demand, for tests: at a point that is reached the process dies, or what comes next fails. An ordinary build has
//! none of it: there the points are nothing.
//!
//! `EMPIRICA_FAULT` arms a build with the feature `fault-injection`. Points count from 1, in the order they are reached:
//! `kill:N` kills the process at the N-th, `fail:N:ERRNO` fails it with an error of the system, `list:FILE` writes down which are
//! reached. A *point* can fail as the step after it can; a *step* has been made, and there one can only die.

use std::io;

/// What comes next can fail.
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

/// Something was done.
#[inline]
pub fn step(name: &str) {
    #[cfg(feature = "fault-injection")]
    let _ = armed::reach(name, false);
    #[cfg(not(feature = "fault-injection"))]
    let _ = name;
}

/// As much of a text as is written before the fault: all of it, or half when this point is to fail; who dies here, dies when
/// that half is written, which is at the next step.
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

/// A point where one can only die; `half` is done first, to leave what a process leaves that dies half-way through it.
#[cfg(feature = "fault-injection")]
pub fn half_way(name: &str, half: impl FnOnce()) {
    if armed::dies_at(name) {
        half();
        armed::die();
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
    }

    struct State {
        what: Option<FaultAction>,
        reached: usize,
        dying: bool,
    }

    static STATE: Mutex<State> = Mutex::new(State { what: None, reached: 0, dying: false });

    /// Arms this process. What is not understood ends it: a test that arms nothing must not pass.
    pub fn arm(text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let what = match parts[..] {
            ["kill", n] => n.parse().ok().map(FaultAction::Kill),
            ["fail", n, errno] => n.parse().ok().zip(errno.parse().ok()).map(|(n, errno)| FaultAction::Fail(n, errno)),
            ["list", file] => Some(FaultAction::List(file.to_owned())),
            _ => None,
        };
        match (what, STATE.lock()) {
            (Some(what), Ok(mut state)) => state.what = Some(what),
            _ => std::process::exit(70),
        }
    }

    /// Counts a point. Returns what is asked for, and whether this is the one.
    fn count(name: &str, fails: bool) -> (Option<FaultAction>, bool) {
        let Ok(mut state) = STATE.lock() else { return (None, false) };
        state.reached += 1;
        let now = state.reached;
        let is_due = match &state.what {
            Some(FaultAction::Kill(n)) => *n == now || state.dying,
            Some(FaultAction::Fail(n, _)) => *n == now && fails,
            Some(FaultAction::List(file)) => {
                let line = format!("{now} {} {name}\n", if fails { "point" } else { "step" });
                let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
                // a list that is not there is seen by who wanted it
                let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
                false
            }
            None => false,
        };
        (state.what.clone(), is_due)
    }

    pub fn reach(name: &str, fails: bool) -> io::Result<()> {
        match count(name, fails) {
            (Some(FaultAction::Kill(_)), true) => die(),
            (Some(FaultAction::Fail(_, errno)), true) => Err(io::Error::from_raw_os_error(errno)),
            _ => Ok(()),
        }
    }

    pub fn halves(name: &str) -> bool {
        let (what, is_due) = count(name, true);
        if is_due && matches!(what, Some(FaultAction::Kill(_))) {
            STATE.lock().map(|mut state| state.dying = true).unwrap_or_default();
        }
        is_due
    }

    pub fn dies_at(name: &str) -> bool {
        matches!(count(name, false), (Some(FaultAction::Kill(_)), true))
    }

    /// As hard as a process can die: nothing of it is run any more.
    pub fn die() -> ! {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort()
    }
}

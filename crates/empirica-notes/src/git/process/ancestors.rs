//! The processes above this one, by which a caller is told from another of the same name.

use crate::git::process::stat;

/// A process, as long as the machine runs: no later one has its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ancestor {
    /// Boot, process namespace, number and start time.
    pub id: String,
    /// Whether it only runs others: a shell, git, and the like.
    pub is_wrapper: bool,
}

const WRAPPERS: [&str; 13] =
    ["sh", "bash", "dash", "ash", "zsh", "fish", "ksh", "mksh", "busybox", "git", "env", "timeout", "nice"];

/// The limit of processes above this one.
const MAX_ANCESTORS: usize = 64;

/// This process and those above it, nearest first; empty without `/proc`.
pub fn chain() -> Vec<Ancestor> {
    let place = place();
    let (mut out, mut number) = (Vec::new(), std::process::id());
    while let Some(found) = stat(number).filter(|_| number > 0 && out.len() < MAX_ANCESTORS) {
        let is_wrapper = WRAPPERS.contains(&found.program.as_str());
        out.push(Ancestor { id: format!("{place}-{number}-{}", found.started), is_wrapper });
        number = found.parent;
    }
    out
}

/// Whether a process of [`chain`] runs, as far as this process can see.
pub fn is_running(id: &str) -> bool {
    let parts = id.rsplit_once('-').and_then(|(rest, started)| Some((rest.rsplit_once('-')?, started)));
    let Some(((at, number), started)) = parts else { return false };
    // elsewhere, its end cannot be seen
    at != place() || number.parse().ok().and_then(stat).is_some_and(|found| found.started == started)
}

/// The boot and the process namespace.
fn place() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{}-{digits}", boot.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_as_long_as_it_runs() {
        let chain = chain();
        let Some(own) = chain.first() else { return assert!(!std::path::Path::new("/proc/self/stat").exists()) };
        assert!(chain.len() > 1 && chain.iter().all(|process| is_running(&process.id)), "{chain:?}");
        let (number, started) = own.id.rsplit_once('-').expect("a start time");
        assert!(!is_running(&format!("{number}-1{started}")));
        assert!(!is_running(&own.id.replace(&std::process::id().to_string(), "4194399")));
        assert!(is_running(&format!("elsewhere-1-{started}")));
        for none in ["", "x", "1-2"] {
            assert!(!is_running(none) || none == "1-2", "{none}");
        }
    }

    #[test]
    fn a_process_that_ended_does_not_run_before_its_parent_knows() {
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
        let started = stat(child.id()).map(|found| found.started);
        let id = format!("{}-{}-{}", place(), child.id(), started.clone().unwrap_or_default());
        assert_eq!(is_running(&id), started.is_some());
        drop(child.stdin.take());
        let ended = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            !is_running(&id)
        });
        assert!(ended && child.wait().is_ok_and(|status| status.success()));
    }
}

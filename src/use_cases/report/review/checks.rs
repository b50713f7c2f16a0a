//! The last run of each check, and whether the code changed after it.

use std::collections::BTreeMap;

use crate::use_cases::report::review::placement::Placed;
use crate::use_cases::report::review::work::{CheckRun, SessionWork};
use empirica_notes::error::Result;
use empirica_notes::git::Oid;
use empirica_notes::git::history::head_move::changed_paths;
use empirica_notes::git::history::range::CommitRange;
use empirica_notes::git::repository::Repository;

/// The last run of a check in a range.
#[derive(Debug, Clone, PartialEq)]
pub struct LastRun {
    pub run: CheckRun,
    /// How often it ran, in all sessions.
    pub runs: u32,
    /// The files that changed after it, of those that it covers, else of all; empty for one that failed.
    pub changed: Vec<String>,
    /// Whether it passed, and later commits were squashed into the one that it belongs to; which files they changed is not known.
    pub before_squashed: bool,
}

impl LastRun {
    pub fn has_passed(&self) -> bool {
        self.run.evidence.exit == 0
    }

    /// Whether it passed before the code changed.
    pub fn is_stale(&self) -> bool {
        self.before_squashed || !self.changed.is_empty()
    }
}

/// The last run of each check: those that failed, those that passed before the code changed, then the others; the newest first.
pub fn last_runs(repo: &Repository, range: &CommitRange, sessions: &[SessionWork]) -> Result<Vec<LastRun>> {
    let mut all: Vec<&CheckRun> = sessions.iter().flat_map(|work| &work.runs).collect();
    all.sort_by(|a, b| a.envelope.id.cmp(&b.envelope.id));
    let mut last: BTreeMap<&str, (u32, &CheckRun)> = BTreeMap::new();
    for run in all {
        let runs = last.get(run.evidence.command.as_str()).map_or(0, |(runs, _)| *runs);
        last.insert(&run.evidence.command, (runs + run.evidence.runs, run));
    }
    let mut since: BTreeMap<Oid, Vec<String>> = BTreeMap::new();
    let mut out = Vec::new();
    for (runs, run) in last.into_values() {
        let mut changed = Vec::new();
        if run.evidence.exit == 0 {
            let files = match since.get(&run.placed.commit) {
                Some(files) => files,
                None => {
                    let files = changed_paths(repo, run.placed.commit, range.tip)?.into_iter().collect();
                    since.entry(run.placed.commit).or_insert(files)
                }
            };
            changed.extend(files.iter().filter(|file| covers(&run.evidence.files, file)).cloned());
        }
        let place = &run.placed;
        let is_later = |report: &Placed| {
            report.commit == place.commit && report.original != place.original && report.upto > place.upto
        };
        let squashed = sessions.iter().flat_map(|work| &work.reports).any(is_later);
        out.push(LastRun { run: run.clone(), runs, changed, before_squashed: squashed && run.evidence.exit == 0 });
    }
    out.sort_by(|a, b| {
        let order = |run: &LastRun| (run.has_passed(), !run.is_stale());
        order(a).cmp(&order(b)).then_with(|| b.run.envelope.id.cmp(&a.run.envelope.id))
    });
    Ok(out)
}

/// Whether a check of these files and folders covers a file; without any, it covers all.
fn covers(files: &[String], file: &str) -> bool {
    let within = |covered: &String| {
        let covered = covered.trim_start_matches("./").trim_end_matches('/');
        covered == "." || file.strip_prefix(covered).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    files.is_empty() || files.iter().any(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_covers_its_files_and_folders_or_all() {
        let files = |list: &[&str]| list.iter().map(|file| (*file).to_owned()).collect::<Vec<_>>();
        for (covered, file, expected) in [
            (vec![], "src/a.rs", true),
            (vec!["src/a.rs"], "src/a.rs", true),
            (vec!["src/a.rs"], "src/a.rsx", false),
            (vec!["./src/"], "src/a.rs", true),
            (vec!["src"], "srcs/a.rs", false),
            (vec!["."], "src/a.rs", true),
            (vec!["b", "a"], "a", true),
        ] {
            assert_eq!(covers(&files(&covered), file), expected, "{covered:?} {file}");
        }
    }
}

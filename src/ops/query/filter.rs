//! What a question asks of a handoff, as plain values, and whether one fits.

use std::collections::BTreeSet;
use std::path::PathBuf;

use regex::Regex;

use crate::git::content::inside;
use crate::git::{Oid, parse_oid};
use crate::model::SessionId;
use crate::model::handoff::Calibration;
use crate::ops::handoff::Listed;

/// What is asked; `None` asks for nothing. A handoff fits when it fits all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// The agent that wrote it, as it is.
    pub ai: Option<String>,
    /// Written in this second or later, since 1970.
    pub since: Option<i64>,
    /// Written in this second or earlier, since 1970.
    pub until: Option<i64>,
    /// What its task matches somewhere.
    pub task: Option<Regex>,
    /// Whose session's it is.
    pub session: Option<SessionId>,
    /// What the commit it is at home on is one of.
    pub commits: Option<BTreeSet<Oid>>,
    /// Where one of its files lies.
    pub path: Option<Below>,
    /// Its type.
    pub kind: Option<String>,
    /// Whether confidence and doubt moved together.
    pub calibration: Option<Calibration>,
}

/// A file, or a folder with all that is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Below {
    /// As git's trees have it, relative to the root of the work tree; empty for the root.
    pub path: String,
    /// The root of the work tree, for artifacts that were named by their absolute path; `None` in a bare repository.
    pub root: Option<PathBuf>,
}

impl Below {
    /// What a file is named as: in the work tree, and by its absolute path.
    pub fn names(&self) -> Vec<String> {
        let absolute = self.root.as_ref().and_then(|root| root.join(&self.path).to_str().map(str::to_owned));
        std::iter::once(self.path.clone()).chain(absolute).collect()
    }

    /// Whether a file of a handoff, as it was named, is this one or lies below it. What is no path in the work tree does not.
    fn has(&self, named: &str) -> bool {
        let Some(file) = inside(self.root.as_deref(), named) else { return false };
        let rest = file.strip_prefix(self.path.as_str());
        self.path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Whether a handoff is one that is asked for. What is not known of it fits no question about it.
pub fn fits(filter: &Filter, listed: &Listed) -> bool {
    let (head, handoff) = (&listed.head, &listed.handoff);
    let at = || chrono::DateTime::parse_from_rfc3339(&head.at).ok().map(|time| time.timestamp());
    let home = || head.commit.as_deref().and_then(parse_oid);
    let files = || handoff.artifacts.iter().chain(handoff.uncommitted.iter().map(|file| &file.path));
    filter.ai.as_ref().is_none_or(|ai| head.ai == *ai)
        && filter.since.is_none_or(|since| at().is_some_and(|at| at >= since))
        && filter.until.is_none_or(|until| at().is_some_and(|at| at <= until))
        && filter.session.as_ref().is_none_or(|session| head.session.as_ref() == Some(session))
        && filter.kind.as_ref().is_none_or(|kind| handoff.kind == *kind)
        && filter.calibration.is_none_or(|status| handoff.calibration_status == status)
        && filter.commits.as_ref().is_none_or(|commits| home().is_some_and(|home| commits.contains(&home)))
        && filter.path.as_ref().is_none_or(|below| files().any(|file| below.has(file)))
        && filter.task.as_ref().is_none_or(|task| task.is_match(&handoff.task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::handoff::Uncommitted;
    use crate::model::{Handoff, Head, Id};

    const SESSION: &str = "11111111-2222-4333-8444-555555555555";
    const COMMIT: &str = "09d3540d834a48213dcc44f94da7c913ff162e06";

    fn listed() -> Listed {
        let head = Head {
            v: 1,
            id: Id::parse("01a2004e-a732-738b-ae3d-eb67a874c4a9").expect("an id"),
            session: SessionId::parse(SESSION),
            ai: "ada".to_owned(),
            at: "2026-03-01T12:00:00.338Z".to_owned(),
            commit: Some(COMMIT.to_owned()),
            tree: None,
        };
        let handoff = Handoff {
            kind: "epistemic".to_owned(),
            task: "Fix the LOGIN test".to_owned(),
            artifacts: ["src/login.rs", "./docs//a.md", "/work/project/abs.rs", "/etc/passwd"]
                .map(str::to_owned)
                .into(),
            uncommitted: vec![Uncommitted { path: "new.rs".to_owned(), blob: None, deleted: false }],
            calibration_status: Calibration::Overconfident,
            ..Handoff::default()
        };
        Listed { head, handoff }
    }

    #[track_caller]
    fn told_apart(fitting: Filter, other: Filter) {
        assert!(fits(&fitting, &listed()), "{fitting:?}");
        assert!(!fits(&other, &listed()), "{other:?}");
    }

    #[test]
    fn each_question_is_asked() {
        assert!(fits(&Filter::default(), &listed()));
        let none = Filter::default;
        let ai = |name: &str| Filter { ai: Some(name.to_owned()), ..none() };
        told_apart(ai("ada"), ai("Ada"));
        let session = |id: &str| Filter { session: SessionId::parse(id), ..none() };
        told_apart(session(SESSION), session("11111111-2222-4333-8444-555555555556"));
        let kind = |word: &str| Filter { kind: Some(word.to_owned()), ..none() };
        told_apart(kind("epistemic"), kind("progress"));
        let status = |status| Filter { calibration: Some(status), ..none() };
        told_apart(status(Calibration::Overconfident), status(Calibration::NotAssessable));
        let task = |pattern: &str| Filter { task: Regex::new(pattern).ok(), ..none() };
        told_apart(task("L.GIN"), task("^LOGIN"));
        let commits = |id: &str| Filter { commits: Some(parse_oid(id).into_iter().collect()), ..none() };
        told_apart(commits(COMMIT), commits(&COMMIT.replace('0', "1")));
        assert!(!fits(&Filter { commits: Some(BTreeSet::new()), ..none() }, &listed()), "an empty range holds none");
    }

    #[test]
    fn the_edges_of_the_time_belong_to_it() {
        let at = chrono::DateTime::parse_from_rfc3339("2026-03-01T12:00:00Z").expect("a time").timestamp();
        let since = |since| Filter { since: Some(since), ..Filter::default() };
        told_apart(since(at), since(at + 1));
        let until = |until| Filter { until: Some(until), ..Filter::default() };
        told_apart(until(at), until(at - 1));
    }

    #[test]
    fn a_folder_holds_what_is_below_it() {
        let path = |path: &str| {
            let below = Below { path: path.to_owned(), root: Some("/work/project".into()) };
            fits(&Filter { path: Some(below), ..Filter::default() }, &listed())
        };
        for there in ["src/login.rs", "src", "docs/a.md", "docs", "new.rs", "abs.rs", ""] {
            assert!(path(there), "{there}");
        }
        for absent in ["src/login", "sr", "login.rs", "etc/passwd", "passwd", "new.rs/a"] {
            assert!(!path(absent), "{absent}");
        }
    }

    #[test]
    fn what_is_not_known_fits_no_question_about_it() {
        let mut unknown = listed();
        (unknown.head.at, unknown.head.commit, unknown.head.session) = ("once".to_owned(), None, None);
        let commits = Some(parse_oid(COMMIT).into_iter().collect());
        assert!(fits(&Filter::default(), &unknown));
        for filter in [
            Filter { since: Some(0), ..Filter::default() },
            Filter { until: Some(i64::MAX), ..Filter::default() },
            Filter { commits, ..Filter::default() },
            Filter { session: SessionId::parse(SESSION), ..Filter::default() },
        ] {
            assert!(!fits(&filter, &unknown), "{filter:?}");
        }
    }
}

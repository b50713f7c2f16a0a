//! The rules of the checks: the ten lines of the two checklists in `docs/checks.md`, one for each direction between manager and
//! worker, and reported gaps.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::fold::task::handoffs;
use crate::text::imperative::{can_judge, has_imperative, steps};
use crate::use_cases::handoff::check::gaps::{self, ReportedGap};
use empirica_notes::model::Handoff;
use empirica_notes::model::goal::GoalStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// Most steps, files to read and criteria of one iteration.
const MAX_STEPS: usize = 7;
const MAX_FILES: usize = 20;
const MAX_CRITERIA: usize = 10;
/// Most paths in a message.
const MAX_NAMED: usize = 5;

empirica_notes::named_enum! {
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// The check does not apply to the handoff.
        NotApplicable = "not_applicable",
        /// The handoff satisfies it.
        Pass = "pass",
        /// The receiver can work with the handoff, but will have questions.
        Warning = "warning",
        /// The receiver cannot work with the handoff.
        Error = "error",
    }
}

/// A check with its result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "HandoffCheck")]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The line of the checklist.
    pub line: &'static str,
    /// The result.
    pub level: Level,
    /// The reason, without a full stop.
    pub message: String,
}

/// The place of a path that a handoff names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState {
    /// In the commit of the handoff.
    Committed,
    /// In the work tree only.
    Uncommitted,
    /// Deleted since the session began.
    Deleted,
    Missing,
    Outside,
}

pub struct CheckFacts<'f> {
    pub place: &'f dyn Fn(&str) -> PathState,
    /// A path relative to the root of the repository.
    pub plain: &'f dyn Fn(&str) -> String,
    /// Those of the changed files not changed by a merge; `None` if unknown.
    pub own: Option<&'f [String]>,
    /// Files changed since the session began, including deleted ones; `None` if unknown.
    pub changed: Option<&'f [String]>,
    /// The earlier handoffs of the task, oldest first.
    pub chain: &'f [&'f Handoff],
    /// Whether a manifest declares a dependency; `None` without a manifest.
    pub declares: &'f dyn Fn(&str) -> Option<bool>,
    /// The gaps reported for earlier handoffs of the type and not covered since.
    pub reported: &'f [ReportedGap],
}

/// The results of all checks, in the order of the checklists, reported gaps last.
pub fn checks(handoff: &Handoff, facts: &CheckFacts<'_>) -> Vec<Check> {
    let subject = Subject { handoff, kind: handoff.kind.as_str() };
    let all: [(&'static str, &'static str, CheckResult); 11] = [
        ("instructions_actionable", "Instructions are clear and actionable", subject.instructions()),
        ("files_exist", "All necessary context provided", subject.files_exist(facts)),
        ("success_criteria", "Success criteria defined", subject.criteria(facts)),
        ("single_iteration", "Scope is appropriate for single iteration", subject.scope()),
        ("dependencies_present", "Dependencies are available", subject.dependencies(facts)),
        ("status_given", "Status clearly indicated", subject.status()),
        ("tests_reported", "All required report sections completed", subject.tests()),
        ("files_documented", "File modifications documented", subject.documented(facts)),
        ("issues_described", "Issues and blockers clearly described", subject.issues()),
        ("validation_steps", "Validation steps performed", subject.validation()),
        ("gaps_covered", "Document failure pattern to prevent recurrence", subject.gaps(facts.reported)),
    ];
    all.into_iter().map(|(name, line, (level, message))| Check { name, line, level, message }).collect()
}

type CheckResult = (Level, String);

fn pass(message: &str) -> CheckResult {
    (Level::Pass, message.to_owned())
}

fn warn(message: impl Into<String>) -> CheckResult {
    (Level::Warning, message.into())
}

fn fail(message: impl Into<String>) -> CheckResult {
    (Level::Error, message.into())
}

fn none(message: &str) -> CheckResult {
    (Level::NotApplicable, message.to_owned())
}

/// The first finding of the highest level.
fn worst(found: impl IntoIterator<Item = CheckResult>) -> Option<CheckResult> {
    found.into_iter().reduce(|worst, next| if next.0 > worst.0 { next } else { worst })
}

/// The first few paths, and the number of others.
fn named(paths: &[&str]) -> String {
    let mut out = paths.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if paths.len() > MAX_NAMED {
        out = format!("{out} and {} more", paths.len() - MAX_NAMED);
    }
    out
}

/// Whether a path is among these, or below one of them.
fn covers(listed: &BTreeSet<&str>, path: &str) -> bool {
    let bare = path.trim_end_matches('/');
    listed.contains(path)
        || listed.contains(bare)
        || listed.iter().any(|listed| {
            let (listed_bare, below) = (listed.trim_end_matches('/'), |path: &str, folder: &str| {
                path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            });
            below(path, listed_bare) || (path.ends_with('/') && below(listed, bare))
        })
}

struct Subject<'h> {
    handoff: &'h Handoff,
    kind: &'h str,
}

impl<'h> Subject<'h> {
    fn text(&self, pointer: &str) -> Option<&'h str> {
        handoffs::text(self.handoff, pointer).filter(|text| !text.trim().is_empty())
    }

    fn texts(&self, pointer: &str) -> Vec<String> {
        handoffs::texts(self.handoff, pointer)
    }

    /// Whether a report requests another round.
    fn continues(&self) -> bool {
        matches!(self.text("/manager_decision"), Some("CONTINUE" | "REFINE"))
    }

    fn is_completed(&self) -> bool {
        self.text("/worker_report/status") == Some("COMPLETED")
    }

    fn failed(&self) -> Vec<&'h str> {
        self.handoff.evidence.iter().filter(|proof| proof.exit != 0).map(|proof| proof.command.as_str()).collect()
    }

    /// The instructions for the receiver; `None` for a report that does not continue.
    fn next(&self) -> Option<String> {
        let text = |pointer: &str| self.text(pointer).unwrap_or_default().to_owned();
        let list = |steps: &[String]| steps.iter().map(|step| format!("- {step}")).collect::<Vec<_>>().join("\n");
        Some(match self.kind {
            "initialization" => text("/instructions"),
            "progress" if self.continues() => text("/continuation_instructions"),
            "progress" => return None,
            "error_recovery" => {
                let steps = list(&self.texts("/recovery_instructions/steps"));
                format!("{}\n{steps}", text("/recovery_instructions/strategy"))
            }
            "escalation" => text("/escalation_details/recommendation"),
            _ => list(&self.handoff.next_steps),
        })
    }

    fn instructions(&self) -> CheckResult {
        let Some(next) = self.next() else { return none("a report without a next round") };
        // a session without a task may leave nothing to do
        let missing = if self.handoff.payload.is_some() { fail } else { warn };
        match next.trim() {
            "" => missing("there are no instructions".to_owned()),
            text if !can_judge(text) => pass("there are instructions; whether they are imperative is not judged"),
            text if has_imperative(text) => pass("a sentence begins with an imperative"),
            _ => warn("no sentence begins with an imperative"),
        }
    }

    /// The files that it names.
    fn listed(&self) -> Vec<String> {
        match self.kind {
            "initialization" => self.texts("/context/relevant_files"),
            "progress" => handoffs::reported(self.handoff),
            "error_recovery" => self.texts("/error_report/affected_files"),
            "escalation" => self.texts("/current_state/files_modified"),
            _ => self.handoff.artifacts.clone(),
        }
    }

    fn files_exist(&self, facts: &CheckFacts<'_>) -> CheckResult {
        let listed = self.listed();
        let at = |place: PathState| -> Vec<&str> {
            listed.iter().filter(|path| (facts.place)(path) == place).map(String::as_str).collect()
        };
        let states = [
            (PathState::Missing, Level::Error, "neither in the commit nor in the work tree"),
            (PathState::Outside, Level::Error, "outside the repository"),
            (PathState::Uncommitted, Level::Warning, "in the work tree and not in the commit"),
        ];
        let found = states.into_iter().filter_map(|(place, level, text)| {
            let paths = at(place);
            (!paths.is_empty()).then(|| (level, format!("{text}: {}", named(&paths))))
        });
        worst(found).unwrap_or_else(|| match (listed.is_empty(), self.kind) {
            (true, "initialization") => warn("no file to look at is named"),
            (true, _) => none("no file is named"),
            _ => pass("every file that is named is in the commit"),
        })
    }

    fn criteria(&self, facts: &CheckFacts<'_>) -> CheckResult {
        match self.kind {
            "initialization" if self.texts("/success_criteria").is_empty() => {
                fail("there are no criteria: success_criteria is empty")
            }
            "error_recovery" if self.texts("/recovery_instructions/success_indicators").is_empty() => {
                warn("there are no criteria: recovery_instructions.success_indicators is empty")
            }
            "progress" if self.continues() => {
                let has = |handoff: &&Handoff| !handoffs::texts(handoff, "/success_criteria").is_empty();
                match facts.chain.iter().any(has) {
                    true => pass("an earlier handoff of the task has criteria"),
                    false => warn("another round follows, and no handoff of the task has criteria"),
                }
            }
            "progress" | "escalation" | "context" => none("it assigns no work"),
            "initialization" | "error_recovery" => pass("there are criteria"),
            _ => {
                let open =
                    self.handoff.goals.iter().filter(|goal| goal.status == GoalStatus::Open && goal.vector.is_none());
                let bare = open.clone().filter(|goal| goal.criteria.is_empty()).count();
                match (open.count(), bare) {
                    (0, _) => none("no goal is open"),
                    (_, 0) => pass("every open goal has a criterion"),
                    (all, bare) => warn(format!("{bare} of {all} open goals have no criterion")),
                }
            }
        }
    }

    fn scope(&self) -> CheckResult {
        let Some(next) = self.next() else { return none("a report without a next round") };
        let counted = [
            (steps(&next), MAX_STEPS, "steps"),
            (self.texts("/context/relevant_files").len(), MAX_FILES, "files to look at"),
            (self.texts("/success_criteria").len(), MAX_CRITERIA, "criteria"),
        ];
        let over = counted.iter().find(|(count, most, _)| count > most);
        match over {
            Some((count, most, what)) => {
                warn(format!("{count} {what}; more than {most} are more than one iteration's work"))
            }
            None => pass("one iteration's work"),
        }
    }

    fn dependencies(&self, facts: &CheckFacts<'_>) -> CheckResult {
        let own = self.texts("/context_updates/dependencies_added");
        let mut added: BTreeSet<String> = own.iter().cloned().collect();
        added.extend(
            facts.chain.iter().flat_map(|handoff| handoffs::texts(handoff, "/context_updates/dependencies_added")),
        );
        let declared: Vec<(&String, Option<bool>)> = added.iter().map(|name| (name, (facts.declares)(name))).collect();
        let undeclared: Vec<&str> =
            declared.iter().filter(|(_, declared)| *declared == Some(false)).map(|(name, _)| name.as_str()).collect();
        let root = self.text("/context/project_root").filter(|root| {
            let inside = !root.starts_with('/') && !matches!(root.trim_end_matches('/'), "." | "");
            inside && matches!((facts.place)(root), PathState::Missing | PathState::Outside)
        });
        let is_path = |source: &&str| !source.contains("://") && !source.contains(char::is_whitespace);
        let sources = self.handoff.sources.iter().map(String::as_str).filter(is_path);
        let gone: Vec<&str> = sources.filter(|source| (facts.place)(source) == PathState::Missing).collect();
        let found = [
            (!undeclared.is_empty()).then(|| {
                let message = format!("added, and declared in no manifest: {}", named(&undeclared));
                // a dependency of an earlier round may have been removed since
                let is_new = undeclared.iter().any(|name| own.iter().any(|text| text == name));
                if is_new { fail(message) } else { warn(message) }
            }),
            root.map(|root| fail(format!("the project root {root} is not in the repository"))),
            declared
                .iter()
                .any(|(_, declared)| declared.is_none())
                .then(|| warn("there is no manifest that could declare the added dependencies")),
            (!gone.is_empty()).then(|| warn(format!("sources that do not exist: {}", named(&gone)))),
        ];
        worst(found.into_iter().flatten()).unwrap_or_else(|| {
            match (added.is_empty(), self.handoff.sources.is_empty()) {
                (true, true) => none("it has none"),
                _ => pass("they exist"),
            }
        })
    }

    fn status(&self) -> CheckResult {
        let failed = self.failed();
        match self.kind {
            "initialization" | "context" => none("it is not a report"),
            "progress" if self.is_completed() && !failed.is_empty() => {
                fail(format!("it is COMPLETED, and the last run failed: {}", named(&failed)))
            }
            "progress" if self.is_completed() && self.passing_falls_short() => {
                fail("it is COMPLETED, and fewer tests pass than were added")
            }
            "error_recovery" if self.text("/error_report/severity").is_none() => warn("the severity is not given"),
            "escalation" if self.text("/escalation_details/urgency").is_none() => warn("the urgency is not given"),
            "progress" | "error_recovery" | "escalation" => pass("the status is given"),
            _ => match self.handoff.assessments.iter().any(|a| a.phase == empirica_notes::model::Phase::Postflight) {
                true => pass("the session ends with a POSTFLIGHT"),
                false => warn("the session has no POSTFLIGHT"),
            },
        }
    }

    fn passing_falls_short(&self) -> bool {
        let number = |key| handoffs::number(self.handoff, key);
        number("/worker_report/tests/added").zip(number("/worker_report/tests/passing")).is_some_and(|(a, p)| p < a)
    }

    fn tests(&self) -> CheckResult {
        let reported = handoffs::has(self.handoff, "/worker_report/tests") || !self.handoff.evidence.is_empty();
        match self.kind {
            "initialization" | "context" | "escalation" => none("it reports no work"),
            "error_recovery" if self.texts("/error_report/attempted_solutions").is_empty() => {
                warn("attempts are not reported: error_report.attempted_solutions is empty")
            }
            "error_recovery" => pass("attempts are reported"),
            "progress" if reported && self.texts("/worker_report/accomplished").is_empty() && self.is_completed() => {
                warn("accomplishments are not reported: worker_report.accomplished is empty")
            }
            "progress" if !reported && self.is_completed() => {
                fail("it is COMPLETED without worker_report.tests or evidence of a run")
            }
            "progress" if !reported => warn("there is neither worker_report.tests nor evidence of a run"),
            "progress" => pass("tests are reported"),
            _ if self.handoff.artifacts.is_empty() => none("no file was changed"),
            _ if self.handoff.evidence.is_empty() => warn("files were changed, and no evidence of a run is stored"),
            _ => pass("evidence of a run is stored"),
        }
    }

    fn documented(&self, facts: &CheckFacts<'_>) -> CheckResult {
        if matches!(self.kind, "initialization" | "error_recovery") {
            return none("it reports no finished work");
        }
        let Some(changed) = facts.changed else { return warn("git cannot list the changes") };
        let mut listed = self.listed();
        if self.kind == "progress" {
            // earlier reports count
            listed.extend(facts.chain.iter().flat_map(|handoff| handoffs::reported(handoff)));
        }
        let listed: Vec<String> = listed.iter().map(|path| (facts.plain)(path)).collect();
        let listed: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let silent: Vec<&str> = match self.kind {
            "progress" | "escalation" => {
                changed.iter().map(String::as_str).filter(|path| !covers(&listed, path)).collect()
            }
            _ => Vec::new(),
        };
        if !silent.is_empty() {
            let own: Option<BTreeSet<&str>> = facts.own.map(|own| own.iter().map(String::as_str).collect());
            let theirs: Vec<&str> =
                silent.iter().copied().filter(|path| own.as_ref().is_none_or(|own| covers(own, path))).collect();
            return match theirs.is_empty() || self.kind != "progress" {
                false => fail(format!("changed and not documented: {}", named(&theirs))),
                true => warn(format!("changed and not documented: {}", named(&silent))),
            };
        }
        let by_git: BTreeSet<&str> = changed.iter().map(String::as_str).collect();
        let own = if self.kind == "progress" { handoffs::reported(self.handoff) } else { Vec::new() };
        let own: Vec<String> = own.iter().map(|path| (facts.plain)(path)).collect();
        let unchanged: Vec<&str> = own.iter().map(String::as_str).filter(|path| !covers(&by_git, path)).collect();
        if !unchanged.is_empty() {
            return warn(format!("documented, and unchanged since the session began: {}", named(&unchanged)));
        }
        let bare = handoffs::undescribed(self.handoff);
        let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
        match (changed.is_empty(), bare.is_empty() || self.kind != "progress") {
            (_, false) => warn(format!("documented without a description: {}", named(&bare))),
            (true, _) => none("git lists no change since the session began"),
            _ => pass("all changes are documented"),
        }
    }

    fn issues(&self) -> CheckResult {
        let has = |pointer: &str| !self.texts(pointer).is_empty();
        match self.kind {
            "initialization" | "context" => none("it is not a report"),
            "progress" if !self.is_completed() && !has("/worker_report/issues") => {
                fail("it is not completed, and worker_report.issues is empty")
            }
            "progress" if !self.handoff.unknowns.is_empty() && !has("/worker_report/issues") => {
                warn("questions are open, and worker_report.issues is empty")
            }
            "error_recovery"
                if self.text("/error_report/context").is_none() && !has("/error_report/error_messages") =>
            {
                fail("there is neither error_report.error_messages nor error_report.context")
            }
            "escalation" if self.text("/escalation_details/impact").is_none() => warn("the impact is not described"),
            "progress" | "error_recovery" | "escalation" => pass("issues are described"),
            _ => {
                let described =
                    self.handoff.unknowns.len() + self.handoff.dead_ends.len() + self.handoff.mistakes.len();
                match (self.failed().is_empty(), described) {
                    (false, 0) => {
                        warn(format!("the last run failed without a described issue: {}", named(&self.failed())))
                    }
                    (true, 0) => none("none is recorded"),
                    _ => pass("issues are described"),
                }
            }
        }
    }

    fn validation(&self) -> CheckResult {
        let passed = self.handoff.evidence.iter().any(|proof| proof.exit == 0);
        let has = |pointer: &str| !self.texts(pointer).is_empty();
        match self.kind {
            "context" => none("it reports no work"),
            "initialization" if has("/quality_gates") => pass("there are quality gates"),
            "initialization" => warn("quality_gates is empty"),
            "error_recovery" if has("/recovery_instructions/success_indicators") => {
                pass("there are success indicators")
            }
            "error_recovery" => warn("recovery_instructions.success_indicators is empty"),
            "escalation" if self.text("/resume_instructions").is_some() => pass("there are instructions to resume"),
            "escalation" => warn("resume_instructions is missing"),
            "progress" if has("/worker_report/validation") || passed => pass("validation was performed"),
            "progress" if self.is_completed() => {
                fail("it is COMPLETED without worker_report.validation or passed evidence")
            }
            "progress" => warn("no validation was performed"),
            _ if passed => pass("evidence passed"),
            _ if self.handoff.artifacts.is_empty() => none("no file was changed"),
            _ => warn("no evidence passed"),
        }
    }

    fn gaps(&self, reported: &[ReportedGap]) -> CheckResult {
        if reported.is_empty() {
            return none("no reported gap is open");
        }
        match gaps::uncovered(self.handoff, reported).first() {
            None => pass("the reported gaps are covered"),
            Some(first) => warn(gaps::sentence(first)),
        }
    }
}

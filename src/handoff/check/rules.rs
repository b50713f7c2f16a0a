//! The checks before a handoff: the ten lines of the specification's two checklists, each as a rule (dual-agent handoff
//! mechanisms, "Pre-Handoff Checks"), and what receivers missed before.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::fold::task::handoffs;
use crate::handoff::check::gaps::{ReportedGap, missed, missed_sentence};
use crate::text::imperative::{can_judge, has_imperative, steps};
use empirica_notes::model::Handoff;
use empirica_notes::model::goal::GoalStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// More steps than this are more than one iteration's work.
const STEPS: usize = 7;
/// More files to look at than this are, too.
const FILES: usize = 20;
/// More criteria than this are, too.
const CRITERIA: usize = 10;
/// How many paths a message names.
const NAMED: usize = 5;

empirica_notes::words! {
    /// What came of a check.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        /// It does not concern handoffs of this type, or nothing in this one.
        NotApplicable = "not_applicable",
        /// It holds.
        Pass = "pass",
        /// The receiver can work with it, and will have to ask.
        Warning = "warning",
        /// The receiver cannot work with it.
        Error = "error",
    }
}

/// A check, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "HandoffCheck")]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// The line of the specification.
    pub line: &'static str,
    /// What came of it.
    pub level: Level,
    /// Why, in a sentence without a stop.
    pub message: String,
}

/// Where a path that a handoff names is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState {
    /// In the commit the handoff is on.
    Committed,
    /// In the work tree only.
    Uncommitted,
    /// Nowhere, and git knows that it was there when the session began.
    Deleted,
    /// Nowhere.
    Missing,
    /// Outside the repository.
    Outside,
}

/// What a handoff is held against.
pub struct CheckFacts<'f> {
    /// Where a path is.
    pub place: &'f dyn Fn(&str) -> PathState,
    /// A path as git has it.
    pub plain: &'f dyn Fn(&str) -> String,
    /// Those of the changed files that the session itself changed, by commits that are no merges or without one yet; `None` when
    /// that cannot be told.
    pub own: Option<&'f [String]>,
    /// The files that git knows to be changed since the session began, deleted ones as well; `None` when it cannot tell.
    pub changed: Option<&'f [String]>,
    /// The handoffs of the task so far, oldest first, without this one.
    pub chain: &'f [&'f Handoff],
    /// Whether a file that declares dependencies names this one; `None` when there is no such file.
    pub declares: &'f dyn Fn(&str) -> Option<bool>,
    /// What receivers missed in earlier handoffs of the type and none has said since.
    pub remembered: &'f [ReportedGap],
}

/// Every check, in the order of the specification, then the gaps that are remembered.
pub fn checks(handoff: &Handoff, facts: &CheckFacts<'_>) -> Vec<Check> {
    let said = Subject { handoff, kind: handoff.kind.as_str() };
    let all: [(&'static str, &'static str, Finding); 11] = [
        ("instructions_actionable", "Instructions are clear and actionable", said.instructions()),
        ("files_exist", "All necessary context provided", said.files_exist(facts)),
        ("success_criteria", "Success criteria defined", said.criteria(facts)),
        ("single_iteration", "Scope is appropriate for single iteration", said.scope()),
        ("dependencies_present", "Dependencies are available", said.dependencies(facts)),
        ("status_given", "Status clearly indicated", said.status()),
        ("tests_reported", "All required report sections completed", said.tests()),
        ("files_documented", "File modifications documented", said.documented(facts)),
        ("issues_described", "Issues and blockers clearly described", said.issues()),
        ("validation_steps", "Validation steps performed", said.validation()),
        ("gaps_covered", "Document failure pattern to prevent recurrence", said.gaps(facts.remembered)),
    ];
    all.into_iter().map(|(name, line, (level, message))| Check { name, line, level, message }).collect()
}

type Finding = (Level, String);

fn pass(message: &str) -> Finding {
    (Level::Pass, message.to_owned())
}

fn warn(message: impl Into<String>) -> Finding {
    (Level::Warning, message.into())
}

fn wrong(message: impl Into<String>) -> Finding {
    (Level::Error, message.into())
}

fn none(message: &str) -> Finding {
    (Level::NotApplicable, message.to_owned())
}

/// The worse of what was found; of equals the first.
fn worst(found: impl IntoIterator<Item = Finding>) -> Option<Finding> {
    found.into_iter().reduce(|worst, next| if next.0 > worst.0 { next } else { worst })
}

/// Paths as a message names them: the first few, and how many more there are.
fn named(paths: &[&str]) -> String {
    let mut out = paths.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED {
        out = format!("{out} and {} more", paths.len() - NAMED);
    }
    out
}

/// Whether a path is one of these, or below one that is a folder.
fn covers(known: &BTreeSet<&str>, path: &str) -> bool {
    let bare = path.trim_end_matches('/');
    known.contains(path)
        || known.contains(bare)
        || known.iter().any(|known| {
            let (known_bare, below) = (known.trim_end_matches('/'), |path: &str, folder: &str| {
                path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            });
            below(path, known_bare) || (path.ends_with('/') && below(known, bare))
        })
}

/// A handoff as the checks read it.
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

    /// Whether a report asks for another round.
    fn goes_on(&self) -> bool {
        matches!(self.text("/manager_decision"), Some("CONTINUE" | "REFINE"))
    }

    fn is_completed(&self) -> bool {
        self.text("/worker_report/status") == Some("COMPLETED")
    }

    fn failed(&self) -> Vec<&'h str> {
        self.handoff.evidence.iter().filter(|proof| proof.exit != 0).map(|proof| proof.command.as_str()).collect()
    }

    /// What it tells its receiver to do; `None` for a report that tells nothing.
    fn told(&self) -> Option<String> {
        let joined = |texts: Vec<String>| texts.join("\n");
        Some(match self.kind {
            "initialization" => self.text("/instructions").unwrap_or_default().to_owned(),
            "progress" if self.goes_on() => self.text("/continuation_instructions").unwrap_or_default().to_owned(),
            "progress" => return None,
            "error_recovery" => {
                let list = |text: String| format!("- {text}");
                let strategy = self.text("/recovery_instructions/strategy").map(str::to_owned);
                let steps: Vec<String> = self.texts("/recovery_instructions/steps").into_iter().map(list).collect();
                joined(strategy.into_iter().chain(steps).collect())
            }
            "escalation" => self.text("/escalation_details/recommendation").unwrap_or_default().to_owned(),
            _ => joined(self.handoff.next_steps.iter().map(|step| format!("- {step}")).collect()),
        })
    }

    fn instructions(&self) -> Finding {
        let Some(told) = self.told() else { return none("a report that asks for nothing further") };
        // a session that hands over without a task may well leave nothing to do
        let lacks = if self.handoff.payload.is_some() { wrong } else { warn };
        match told.trim() {
            "" => lacks("nothing says what is to be done next".to_owned()),
            told if !can_judge(told) => pass("there are instructions; whether they are imperative is not judged"),
            told if has_imperative(told) => pass("a sentence begins with what to do"),
            _ => warn("no sentence begins with a verb that says what to do"),
        }
    }

    /// The files it names, with where they are named.
    fn listed(&self) -> Vec<String> {
        match self.kind {
            "initialization" => self.texts("/context/relevant_files"),
            "progress" => handoffs::reported(self.handoff),
            "error_recovery" => self.texts("/error_report/affected_files"),
            "escalation" => self.texts("/current_state/files_modified"),
            _ => self.handoff.artifacts.clone(),
        }
    }

    fn files_exist(&self, facts: &CheckFacts<'_>) -> Finding {
        let listed = self.listed();
        let at = |place: PathState| -> Vec<&str> {
            listed.iter().filter(|path| (facts.place)(path) == place).map(String::as_str).collect()
        };
        let (missing, outside, loose) = (at(PathState::Missing), at(PathState::Outside), at(PathState::Uncommitted));
        let found = [
            (
                missing.is_empty(),
                Level::Error,
                format!("neither in the commit nor in the work tree: {}", named(&missing)),
            ),
            (outside.is_empty(), Level::Error, format!("outside the repository: {}", named(&outside))),
            (loose.is_empty(), Level::Warning, format!("in the work tree and not in the commit: {}", named(&loose))),
        ];
        let found = found.into_iter().filter(|(holds, ..)| !holds).map(|(_, level, message)| (level, message));
        worst(found).unwrap_or_else(|| match (listed.is_empty(), self.kind) {
            (true, "initialization") => warn("no file to look at is named"),
            (true, _) => none("no file is named"),
            _ => pass("every file that is named is in the commit"),
        })
    }

    fn criteria(&self, facts: &CheckFacts<'_>) -> Finding {
        match self.kind {
            "initialization" if self.texts("/success_criteria").is_empty() => {
                wrong("nothing says how to see that it is done: success_criteria is empty")
            }
            "error_recovery" if self.texts("/recovery_instructions/success_indicators").is_empty() => {
                warn("nothing says how to see that it is mended: recovery_instructions.success_indicators is empty")
            }
            "progress" if self.goes_on() => {
                let has = |handoff: &&Handoff| !handoffs::texts(handoff, "/success_criteria").is_empty();
                match facts.chain.iter().any(has) {
                    true => pass("the task has criteria from its beginning"),
                    false => warn("it goes on, and no handoff of the task says how to see that it is done"),
                }
            }
            "progress" | "escalation" | "context" => none("no work is given out"),
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

    fn scope(&self) -> Finding {
        let Some(told) = self.told() else { return none("a report that asks for nothing further") };
        let counted = [
            (steps(&told), STEPS, "steps"),
            (self.texts("/context/relevant_files").len(), FILES, "files to look at"),
            (self.texts("/success_criteria").len(), CRITERIA, "criteria"),
        ];
        let over = counted.iter().find(|(count, most, _)| count > most);
        match over {
            Some((count, most, what)) => {
                warn(format!("{count} {what}; more than {most} are more than one iteration's work"))
            }
            None => pass("one iteration's work"),
        }
    }

    fn dependencies(&self, facts: &CheckFacts<'_>) -> Finding {
        let here = self.texts("/context_updates/dependencies_added");
        let mut added: BTreeSet<String> = here.iter().cloned().collect();
        added.extend(
            facts.chain.iter().flat_map(|handoff| handoffs::texts(handoff, "/context_updates/dependencies_added")),
        );
        let said: Vec<(&String, Option<bool>)> = added.iter().map(|name| (name, (facts.declares)(name))).collect();
        let undeclared: Vec<&str> =
            said.iter().filter(|(_, declared)| *declared == Some(false)).map(|(name, _)| name.as_str()).collect();
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
                // what an earlier round added may have been taken out again
                let is_new = undeclared.iter().any(|name| here.iter().any(|own| own == name));
                if is_new { wrong(message) } else { warn(message) }
            }),
            root.map(|root| wrong(format!("the project root {root} is not in the repository"))),
            said.iter()
                .any(|(_, declared)| declared.is_none())
                .then(|| warn("there is no manifest to look for what was added")),
            (!gone.is_empty()).then(|| warn(format!("consulted, and not here: {}", named(&gone)))),
        ];
        worst(found.into_iter().flatten()).unwrap_or_else(|| {
            match (added.is_empty(), self.handoff.sources.is_empty()) {
                (true, true) => none("it names none"),
                _ => pass("what it rests on is there"),
            }
        })
    }

    fn status(&self) -> Finding {
        let failed = self.failed();
        match self.kind {
            "initialization" | "context" => none("it reports nothing"),
            "progress" if self.is_completed() && !failed.is_empty() => {
                wrong(format!("it says COMPLETED, and what was run last failed: {}", named(&failed)))
            }
            "progress" if self.is_completed() && self.passing_falls_short() => {
                wrong("it says COMPLETED, and fewer tests pass than were added")
            }
            "error_recovery" if self.text("/error_report/severity").is_none() => warn("the severity is not given"),
            "escalation" if self.text("/escalation_details/urgency").is_none() => warn("the urgency is not given"),
            "progress" | "error_recovery" | "escalation" => pass("the status is given"),
            _ => match self.handoff.assessments.iter().any(|a| a.phase == empirica_notes::model::Phase::Postflight) {
                true => pass("the session ends with a POSTFLIGHT"),
                false => warn("no POSTFLIGHT says how sure the session is of its work"),
            },
        }
    }

    fn passing_falls_short(&self) -> bool {
        let number = |key| handoffs::number(self.handoff, key);
        number("/worker_report/tests/added").zip(number("/worker_report/tests/passing")).is_some_and(|(a, p)| p < a)
    }

    fn tests(&self) -> Finding {
        let reported = handoffs::has(self.handoff, "/worker_report/tests") || !self.handoff.evidence.is_empty();
        match self.kind {
            "initialization" | "context" | "escalation" => none("it reports no work"),
            "error_recovery" if self.texts("/error_report/attempted_solutions").is_empty() => {
                warn("what was tried is not reported: error_report.attempted_solutions is empty")
            }
            "error_recovery" => pass("what was tried is reported"),
            "progress" if reported && self.texts("/worker_report/accomplished").is_empty() && self.is_completed() => {
                warn("what was done is not reported: worker_report.accomplished is empty")
            }
            "progress" if !reported && self.is_completed() => {
                wrong("it says COMPLETED without worker_report.tests or evidence of a run")
            }
            "progress" if !reported => warn("neither worker_report.tests nor evidence of a run tells of tests"),
            "progress" => pass("tests are reported"),
            _ if self.handoff.artifacts.is_empty() => none("no file was changed"),
            _ if self.handoff.evidence.is_empty() => warn("files were changed, and no evidence of a run is stored"),
            _ => pass("evidence of a run is stored"),
        }
    }

    fn documented(&self, facts: &CheckFacts<'_>) -> Finding {
        if matches!(self.kind, "initialization" | "error_recovery") {
            return none("it reports no finished work");
        }
        let Some(changed) = facts.changed else { return warn("git cannot tell what was changed") };
        let mut listed = self.listed();
        if self.kind == "progress" {
            // what an earlier round reported is documented
            listed.extend(facts.chain.iter().flat_map(|handoff| handoffs::reported(handoff)));
        }
        let listed: Vec<String> = listed.iter().map(|path| (facts.plain)(path)).collect();
        let known: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
        let silent: Vec<&str> = match self.kind {
            // its files come from git themselves, but for those that were deleted
            "progress" | "escalation" => {
                changed.iter().map(String::as_str).filter(|path| !covers(&known, path)).collect()
            }
            _ => Vec::new(),
        };
        if !silent.is_empty() {
            let own: Option<BTreeSet<&str>> = facts.own.map(|own| own.iter().map(String::as_str).collect());
            let theirs: Vec<&str> =
                silent.iter().copied().filter(|path| own.as_ref().is_none_or(|own| covers(own, path))).collect();
            return match theirs.is_empty() || self.kind != "progress" {
                false => wrong(format!("changed and not documented: {}", named(&theirs))),
                true => warn(format!("changed and not documented: {}", named(&silent))),
            };
        }
        let by_git: BTreeSet<&str> = changed.iter().map(String::as_str).collect();
        let own = if self.kind == "progress" { handoffs::reported(self.handoff) } else { Vec::new() };
        let own: Vec<String> = own.iter().map(|path| (facts.plain)(path)).collect();
        let unchanged: Vec<&str> = own.iter().map(String::as_str).filter(|path| !covers(&by_git, path)).collect();
        if !unchanged.is_empty() {
            return warn(format!("documented, and unchanged for git since the session began: {}", named(&unchanged)));
        }
        let bare = handoffs::undescribed(self.handoff);
        let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
        match (changed.is_empty(), bare.is_empty() || self.kind != "progress") {
            (_, false) => warn(format!("documented without what was changed: {}", named(&bare))),
            (true, _) => none("git knows of no change since the session began"),
            _ => pass("what git knows to be changed is documented"),
        }
    }

    fn issues(&self) -> Finding {
        let told = |pointer: &str| !self.texts(pointer).is_empty();
        match self.kind {
            "initialization" | "context" => none("it reports nothing"),
            "progress" if !self.is_completed() && !told("/worker_report/issues") => {
                wrong("it is not completed, and worker_report.issues does not say why")
            }
            "progress" if !self.handoff.unknowns.is_empty() && !told("/worker_report/issues") => {
                warn("questions are open, and worker_report.issues names none")
            }
            "error_recovery"
                if self.text("/error_report/context").is_none() && !told("/error_report/error_messages") =>
            {
                wrong("neither error_report.error_messages nor error_report.context says what happened")
            }
            "escalation" if self.text("/escalation_details/impact").is_none() => warn("the impact is not described"),
            "progress" | "error_recovery" | "escalation" => pass("issues are described"),
            _ => {
                let described =
                    self.handoff.unknowns.len() + self.handoff.dead_ends.len() + self.handoff.mistakes.len();
                match (self.failed().is_empty(), described) {
                    (false, 0) => {
                        warn(format!("what was run last failed, and nothing says why: {}", named(&self.failed())))
                    }
                    (true, 0) => none("none is known"),
                    _ => pass("issues are described"),
                }
            }
        }
    }

    fn validation(&self) -> Finding {
        let passed = self.handoff.evidence.iter().any(|proof| proof.exit == 0);
        let told = |pointer: &str| !self.texts(pointer).is_empty();
        match self.kind {
            "context" => none("it reports no work"),
            "initialization" if told("/quality_gates") => pass("what the work must satisfy is said"),
            "initialization" => warn("quality_gates does not say what the work must satisfy"),
            "error_recovery" if told("/recovery_instructions/success_indicators") => {
                pass("what shows the recovery is said")
            }
            "error_recovery" => warn("nothing says how to validate the recovery"),
            "escalation" if self.text("/resume_instructions").is_some() => pass("how to go on afterwards is said"),
            "escalation" => warn("resume_instructions does not say how to go on afterwards"),
            "progress" if told("/worker_report/validation") || passed => pass("validation was performed"),
            "progress" if self.is_completed() => {
                wrong("it says COMPLETED without worker_report.validation or evidence that passed")
            }
            "progress" => warn("no validation was performed"),
            _ if passed => pass("evidence passed"),
            _ if self.handoff.artifacts.is_empty() => none("no file was changed"),
            _ => warn("no evidence passed"),
        }
    }

    fn gaps(&self, remembered: &[ReportedGap]) -> Finding {
        if remembered.is_empty() {
            return none("no receiver missed anything that is not said since");
        }
        match missed(self.handoff, remembered).first() {
            None => pass("what receivers missed before is said"),
            Some(first) => warn(missed_sentence(first)),
        }
    }
}

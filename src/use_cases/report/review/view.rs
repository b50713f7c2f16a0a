//! The answer of `handoff --pr`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::anchors::Place;
use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::report::review::checks::LastRun;
use crate::use_cases::report::review::claims::RangeClaim;
use crate::use_cases::report::review::rules::Rule;
use crate::use_cases::report::review::violations::{Violation, violations};
use crate::use_cases::report::review::{Review, text};
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::{Body, Id, SessionId};

/// The records of a range of commits.
#[derive(Serialize, JsonSchema)]
pub struct ReviewView<'a> {
    /// The commit that the range is to be merged into.
    base: String,
    /// Its last commit.
    head: String,
    /// How many commits it has.
    commits: usize,
    /// The sessions that recorded something for it, those that recorded last first.
    sessions: Vec<ReviewedSessionView<'a>>,
    /// The last run of each check: failed ones, those before the code changed, the others.
    checks: Vec<CheckView<'a>>,
    /// Claims from before the range about code that it changed.
    contradicted: Vec<RangeClaimView<'a>>,
    /// The rules of `empirica.require`, with `--validate`.
    required: &'a [Rule],
    /// The violations of these rules.
    violations: &'a [Violation],
    /// The text for the pull request.
    markdown: String,
}

/// A session with records of a range.
#[derive(Serialize, JsonSchema)]
struct ReviewedSessionView<'a> {
    /// The session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    /// Its task; null if it has none.
    task: Option<&'a str>,
    /// The commits of the range that it recorded something for.
    commits: Vec<String>,
    /// Its newest handoff of the range; null without one.
    handoff_id: Option<&'a Id>,
    /// Its claims, those that hold first.
    claims: Vec<RangeClaimView<'a>>,
}

/// A claim, and its state at the end of a range.
#[derive(Serialize, JsonSchema)]
struct RangeClaimView<'a> {
    /// The record.
    id: &'a Id,
    /// Its kind.
    kind: &'a str,
    /// Its agent.
    ai_id: &'a str,
    /// Its main text.
    text: String,
    /// Its reason, or how to prevent a mistake; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// The rejected alternatives of a decision.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    alternatives: &'a [String],
    /// Whether a question blocks what depends on it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    blocking: bool,
    /// holds, ran_out, replaced or retracted.
    state: &'a str,
    /// The places in the code that it is about.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    anchors: &'a [Place],
    /// Other claims in force that replace the same one.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    disagrees_with: &'a [Id],
}

/// The last run of a check in a range.
#[derive(Serialize, JsonSchema)]
struct CheckView<'a> {
    /// The command line.
    command: &'a str,
    /// Its exit code; 0 passed.
    exit: i32,
    /// How often it ran.
    runs: u32,
    /// The agent of that run.
    ai_id: &'a str,
    /// The commit of the range that it belongs to.
    commit: String,
    /// The files that changed after it, if it passed.
    changed: &'a [String],
    /// Whether it passed, and later commits were squashed into the same one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    before_squashed: bool,
}

impl<'a> From<&'a RangeClaim> for RangeClaimView<'a> {
    fn from(claim: &'a RangeClaim) -> Self {
        let (record, standing) = (&claim.record, &claim.standing);
        let (why, alternatives, blocking): (_, &[String], _) = match &record.body {
            Body::Decision(one) => (Some(one.why.as_str()), &one.alternatives, false),
            Body::DeadEnd(one) => (Some(one.why.as_str()), &[], false),
            Body::Mistake(one) => (one.prevention.as_deref(), &[], false),
            Body::Unknown(one) => (None, &[], one.blocking),
            _ => (None, &[], false),
        };
        RangeClaimView {
            id: &record.envelope.id,
            kind: record.body.kind(),
            ai_id: &record.envelope.ai,
            text: record.body.claim().map(|claim| claim.text.to_owned()).unwrap_or_default(),
            why,
            alternatives,
            blocking,
            state: standing.word(),
            anchors: &standing.places,
            disagrees_with: &standing.rivals,
        }
    }
}

impl<'a> From<&'a LastRun> for CheckView<'a> {
    fn from(last: &'a LastRun) -> Self {
        CheckView {
            command: &last.run.evidence.command,
            exit: last.run.evidence.exit,
            runs: last.runs,
            ai_id: &last.run.envelope.ai,
            commit: last.run.placed.commit.to_string(),
            changed: &last.changed,
            before_squashed: last.before_squashed,
        }
    }
}

/// The answer: the Markdown, and an error if it breaks a rule.
pub fn answer(review: &Review) -> Result<Answer> {
    let markdown = text::markdown(review)?;
    let violations = violations(review);
    let sessions = review.sessions.iter().map(|session| ReviewedSessionView {
        session_id: &session.work.session.id,
        ai_id: &session.work.session.ai,
        task: session.work.session.task.as_deref(),
        commits: session.work.commits.iter().map(ToString::to_string).collect(),
        handoff_id: session.work.handoff.as_ref().map(|(envelope, _)| &envelope.id),
        claims: session.claims.iter().map(Into::into).collect(),
    });
    let view = ReviewView {
        base: review.range.base.to_string(),
        head: review.range.tip.to_string(),
        commits: review.commits,
        sessions: sessions.collect(),
        checks: review.checks.iter().map(Into::into).collect(),
        contradicted: review.contradicted.iter().map(Into::into).collect(),
        required: review.required.as_deref().unwrap_or_default(),
        violations: &violations,
        markdown: markdown.clone(),
    };
    let mut answer = Answer::new(view).text(markdown).warn(review.warnings.clone()).data();
    for violation in &violations {
        let text = safe::line(&violation.text);
        answer = answer.say(format!("{}: {text} ({})", violation.rule.name(), violation.id.short()));
    }
    if let Some(required) = &review.required {
        let (range, count) = (safe::line(&review.range.name), format::count(violations.len(), "violation"));
        answer = answer.say(match required.is_empty() {
            true => format!("Checked nothing in {range}: empirica.require names no rule."),
            false => format!("Checked {range}: {count} of empirica.require."),
        });
    }
    if let Some(first) = violations.first() {
        let more = violations.len() - 1;
        let more = if more > 0 { format!(", and {}", format::count(more, "other")) } else { String::new() };
        answer.stops = true;
        answer.failed = Some(
            Error::refused(format!(
                "cannot pass {}: empirica.require {} is not met",
                review.range.name,
                first.rule.name()
            ))
            .reason(format!("{}{more}", safe::line(&first.text)))
            .suggest("Answer, correct or confirm what it names, or run the check again and log the result.")
            .command(empirica("show").arg(first.id.short())),
        );
    }
    Ok(answer)
}

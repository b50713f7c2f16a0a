//! Views of acknowledgements and answers: of `accept`, `answer`, and in `show`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::task::questions::{self, Question};
use crate::render::answer::Answer;
use crate::render::{format, safe};
use crate::use_cases::handoff::receive::accept::{AcceptOutcome, ReceivedHandoff};
use crate::use_cases::handoff::receive::{acceptance, answer};
use empirica_notes::error::{empirica, text};
use empirica_notes::model::{Accept, Envelope, Id, SessionId, Verdict};

/// An acknowledgement of a handoff.
#[derive(Serialize, JsonSchema)]
pub struct AcceptView<'a> {
    /// The acknowledgement.
    accept_id: &'a Id,
    /// The handoff.
    handoff_id: &'a Id,
    /// The session that acknowledged it.
    session_id: Option<&'a SessionId>,
    /// Its agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    /// Its decision about the task; null without one.
    decision: Option<Verdict>,
    /// The task in its own words.
    understanding: Option<&'a str>,
    /// Instructions for the next round.
    instructions: Option<&'a str>,
    /// Its questions.
    questions: &'a [String],
    /// Gaps in the handoff.
    gaps: &'a [String],
    /// The resolution of an escalation.
    resolution: Option<&'a str>,
}

impl<'a> AcceptView<'a> {
    pub fn of(envelope: &'a Envelope, accept: &'a Accept) -> Self {
        AcceptView {
            accept_id: &envelope.id,
            handoff_id: &accept.of,
            session_id: envelope.session.as_ref(),
            ai_id: &envelope.ai,
            timestamp: &envelope.at,
            decision: accept.decision,
            understanding: accept.understanding.as_deref(),
            instructions: accept.instructions.as_deref(),
            questions: &accept.questions,
            gaps: &accept.gaps,
            resolution: accept.resolution.as_deref(),
        }
    }
}

/// A question of a receiver.
#[derive(Serialize, JsonSchema)]
pub struct QuestionView<'a> {
    /// Its name, the argument of `answer`.
    question_id: String,
    /// The handoff.
    handoff_id: &'a Id,
    /// The question.
    question: &'a str,
    /// The agent that asks.
    asked_by: &'a str,
    /// When.
    asked_at: &'a str,
    /// The newest answer; null without one.
    answer: Option<&'a str>,
    /// The agent of the answer.
    answered_by: Option<&'a str>,
    /// When.
    answered_at: Option<&'a str>,
}

impl<'a> From<&'a Question> for QuestionView<'a> {
    fn from(question: &'a Question) -> Self {
        let (envelope, text) = question.answer.as_ref().map(|(envelope, text)| (envelope, text.as_str())).unzip();
        QuestionView {
            question_id: question.name(),
            handoff_id: &question.handoff,
            question: &question.text,
            asked_by: &question.envelope.ai,
            asked_at: &question.envelope.at,
            answer: text,
            answered_by: envelope.map(|envelope| envelope.ai.as_str()),
            answered_at: envelope.map(|envelope| envelope.at.as_str()),
        }
    }
}

/// A question with its name and answer, as an entry of a list.
pub fn question_lines(question: &Question) -> String {
    let what = safe::item(&question.text).replace('\n', "\n  ");
    match &question.answer {
        None => format!("- {} {what}\n", question.name()),
        Some((envelope, text)) => {
            let text = safe::item(text).replace('\n', "\n    ");
            format!("- {} {what}\n  - {}: {text}\n", question.name(), safe::words(&envelope.ai))
        }
    }
}

/// A stored acknowledgement.
#[derive(Serialize, JsonSchema)]
pub struct AcceptedView<'a> {
    /// The acknowledgement, as `accept_id`.
    id: &'a Id,
    /// `accept`.
    kind: &'static str,
    #[serde(flatten)]
    accept: AcceptView<'a>,
    /// Whether the handoff is now the session's work; otherwise it is a comment.
    claimed: bool,
    /// The names of its questions, arguments of `answer`.
    question_ids: Vec<String>,
    /// The decision stored for its resolution; null without one.
    decision_id: Option<&'a Id>,
    /// The pattern stored for its resolution, a finding; null without one.
    pattern_id: Option<&'a Id>,
}

pub fn answer(outcome: &AcceptOutcome) -> Answer {
    let (envelope, accept) = (&outcome.envelope, &outcome.accept);
    let learned =
        |kind: &str| outcome.learned.iter().find(|record| record.body.kind() == kind).map(|record| &record.envelope.id);
    let view = AcceptedView {
        id: &envelope.id,
        kind: "accept",
        accept: AcceptView::of(envelope, accept),
        claimed: outcome.claims,
        question_ids: (1..).zip(&accept.questions).map(|(n, _)| questions::name(&envelope.id, n)).collect(),
        decision_id: learned("decision"),
        pattern_id: learned("finding"),
    };
    let answer = Answer::new(view)
        .text(format!("{}\n", envelope.id.short()))
        .say(format!(
            "Handoff {}{}, in session {}.",
            accept.of.short(),
            acceptance::accepted(accept),
            outcome.session_id.short()
        ))
        .stored(&outcome.stored);
    match outcome.is_shared {
        true => answer.hint_once(
            &outcome.session_id,
            "claim",
            text!["sync before you begin: the first to reach the remote owns it: ", empirica("sync")],
        ),
        false => answer,
    }
}

/// A stored answer.
#[derive(Serialize, JsonSchema)]
pub struct AnsweredView<'a> {
    /// The answer.
    id: &'a Id,
    /// `answer`.
    kind: &'static str,
    /// Its session.
    session_id: &'a SessionId,
    /// Its agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    /// The handoff.
    handoff_id: &'a Id,
    /// The acknowledgement with the question.
    accept_id: &'a Id,
    /// The name of the question.
    question_id: String,
    /// The question.
    question: &'a str,
    /// The answer.
    answer: &'a str,
    /// The open questions about that handoff.
    open_questions: Vec<QuestionView<'a>>,
}

pub fn answered(outcome: &answer::AnswerOutcome) -> Answer {
    let view = AnsweredView {
        id: &outcome.envelope.id,
        kind: "answer",
        session_id: &outcome.session_id,
        ai_id: &outcome.envelope.ai,
        timestamp: &outcome.envelope.at,
        handoff_id: &outcome.question.handoff,
        accept_id: &outcome.answer.of,
        question_id: outcome.question.name(),
        question: &outcome.question.text,
        answer: &outcome.answer.text,
        open_questions: outcome.open.iter().map(QuestionView::from).collect(),
    };
    let rest = match outcome.open.len() {
        0 => "no question about that handoff is open".to_owned(),
        open => format!("{} still open", format::count(open, "question")),
    };
    let mut answer = Answer::new(view)
        .text(format!("{}\n", outcome.envelope.id.short()))
        .say(format!("Answered {} of handoff {}; {rest}.", outcome.question.name(), outcome.question.handoff.short()))
        .stored(&outcome.stored);
    for question in &outcome.open {
        answer = answer.hint(question.command());
    }
    answer
}

/// The replies of the receivers of a handoff.
#[derive(Serialize, JsonSchema)]
pub struct ReceivedView<'a> {
    /// The acknowledgements, oldest first.
    acknowledgements: Vec<AcceptView<'a>>,
    /// Their questions.
    questions: Vec<QuestionView<'a>>,
}

/// Adds the replies to the answer of `show`; `in_text` as sections.
pub fn added(answer: Answer, received: &ReceivedHandoff, in_text: bool) -> Answer {
    let ReceivedHandoff { accepts, questions } = received;
    let mut answer = answer.with(ReceivedView {
        acknowledgements: accepts.iter().map(|(envelope, accept)| AcceptView::of(envelope, accept)).collect(),
        questions: questions.iter().map(QuestionView::from).collect(),
    });
    if in_text && !accepts.is_empty() {
        let entries: String = accepts.iter().map(|(envelope, accept)| entry(envelope, accept)).collect();
        answer.text = format!("{}\n## Acknowledgements\n\n{entries}", answer.text);
    }
    if in_text && !questions.is_empty() {
        let entries: String = questions.iter().map(question_lines).collect();
        answer.text = format!("{}\n## Questions\n\n{entries}", answer.text);
    }
    answer
}

fn entry(envelope: &Envelope, accept: &Accept) -> String {
    let mut lines = vec![format!(
        "{} {} {}{}",
        envelope.id.short(),
        format::date(&envelope.at),
        safe::words(&envelope.ai),
        acceptance::accepted(accept)
    )];
    let one = |title: &str, text: &Option<String>| text.iter().map(|text| format!("{title}: {text}")).collect();
    let each = |title: &str, list: &[String]| list.iter().map(|text| format!("{title}: {text}")).collect();
    let parts: [Vec<String>; 4] = [
        one("understood", &accept.understanding),
        one("resolution", &accept.resolution),
        one("instructions", &accept.instructions),
        each("gap", &accept.gaps),
    ];
    lines.extend(parts.iter().flatten().map(|text| format!("  - {}", safe::item(text).replace('\n', "\n  "))));
    format!("- {}\n", lines.join("\n"))
}

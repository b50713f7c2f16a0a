//! Answers a question of the receiver of a handoff.

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use crate::fold::task::questions::Question;
use crate::use_cases::handoff::receive::accept;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::model::handoff::accept::Answer;
use empirica_notes::model::{Body, Envelope, Namespace, Record, SessionId};
use empirica_notes::store::FlushTiming;

#[derive(Debug)]
pub struct AnswerOutcome {
    pub envelope: Envelope,
    pub answer: Answer,
    pub session_id: SessionId,
    pub question: Question,
    /// The other open questions about that handoff.
    pub open: Vec<Question>,
    pub stored: StoreReport,
}

/// Answers a question. Its name is the ID of the acknowledgement, or a unique part of that, a dot, and its number there; the number
/// is optional if only one question is open. The newest answer counts.
pub fn run(context: &CommandContext<'_>, question_name: &str, text: &str) -> Result<AnswerOutcome> {
    context.text("answer", text)?;
    let (name, number) = match question_name.trim().rsplit_once('.') {
        Some((name, number)) => (
            name,
            Some(number.parse::<u32>().map_err(|_| unknown(question_name, "the part after the dot is not a number"))?),
        ),
        None => (question_name.trim(), None),
    };
    let is_accept = |record: &Record| matches!(record.body, Body::Accept(_));
    let Record { envelope: accepted, body: Body::Accept(accept) } =
        context.record(name, "acknowledgement", &[Namespace::Handoffs], is_accept)?
    else {
        return Err(unknown(question_name, "no acknowledgement has that id"));
    };
    let mut questions = accept::received_handoff(context, &accept.of)?.questions;
    let at = chosen(question_name, &accepted, number, &questions)?;
    let question = questions.remove(at);
    questions.retain(|question| question.answer.is_none());
    let session = context.writing()?;
    let mut concerns: Vec<SessionId> =
        accepted.session.into_iter().chain(accept.concerns).filter(|id| *id != session.id).collect();
    concerns.sort();
    concerns.dedup();
    let answer = Answer { of: accepted.id, question: question.number, text: text.to_owned(), concerns };
    let (records, stored) = context.store(&session, vec![Body::Answer(answer)], FlushTiming::Now)?;
    match records.into_iter().next() {
        Some(Record { envelope, body: Body::Answer(answer) }) => {
            Ok(AnswerOutcome { envelope, answer, session_id: session.id, question, open: questions, stored })
        }
        _ => Err(Error::unstored()),
    }
}

/// The index of the question; without a number, that of the only open one, otherwise the only one.
fn chosen(question_name: &str, accepted: &Envelope, number: Option<u32>, questions: &[Question]) -> Result<usize> {
    let is_own = |(_, question): &(usize, &Question)| question.envelope.id == accepted.id;
    let own: Vec<(usize, &Question)> = questions.iter().enumerate().filter(is_own).collect();
    let open: Vec<(usize, &Question)> = own.iter().copied().filter(|(_, question)| question.answer.is_none()).collect();
    let found = match number {
        Some(number) => own.iter().find(|(_, question)| question.number == number),
        None => match (open.as_slice(), own.as_slice()) {
            ([only], _) | ([], [only]) => Some(only),
            _ => None,
        },
    };
    found.map(|(at, _)| *at).ok_or_else(|| {
        let error = match (own.is_empty(), number) {
            (true, _) => unknown(question_name, "the acknowledgement has no questions"),
            (_, Some(_)) => unknown(question_name, "the acknowledgement has no question of that number"),
            (_, None) => Error::refused(format!("cannot answer '{question_name}': it has several questions"))
                .provided(question_name)
                .reason("an answer is for one question")
                .suggest("Add a dot and the number of the question."),
        };
        open.iter()
            .fold(error, |error, (_, question)| error.alternative(question.name()))
            .commands_of(open.iter().map(|(_, question)| question.command()))
    })
}

fn unknown(question_name: &str, why: &str) -> Error {
    Error::not_found(format!("cannot find question '{question_name}'"))
        .provided(question_name)
        .reason(why)
        .suggest("Name it as show or task show has it, such as 1f0a6b9c.1.")
        .command(empirica("handoff list"))
}

//! Questions of receivers of handoffs, and answers.

use std::collections::HashMap;

use empirica_notes::error::{Command, blank, empirica};
use empirica_notes::model::{Body, Envelope, Id, Record};

/// A receiver's question.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The acknowledgement that asks it.
    pub envelope: Envelope,
    pub handoff: Id,
    /// Its number within the acknowledgement, from 1.
    pub number: u32,
    pub text: String,
    /// The newest answer, with its envelope.
    pub answer: Option<(Envelope, String)>,
}

impl Question {
    pub fn name(&self) -> String {
        name(&self.envelope.id, self.number)
    }

    pub fn command(&self) -> Command {
        empirica("answer").arg(self.name()).arg(blank("\"<answer>\""))
    }
}

/// Name of a question: short ID of the acknowledgement, a dot, its number.
pub fn name(accept: &Id, number: u32) -> String {
    format!("{}.{number}", accept.short())
}

/// Questions in these records, oldest first, each with its newest answer. Answers may have any ID, as clocks differ.
pub fn questions<'a>(records: impl IntoIterator<Item = &'a Record> + Clone) -> Vec<Question> {
    let mut out: Vec<Question> = Vec::new();
    for record in records.clone() {
        if let Body::Accept(accept) = &record.body {
            out.extend((1..).zip(&accept.questions).map(|(number, text)| Question {
                envelope: record.envelope.clone(),
                handoff: accept.of.clone(),
                number,
                text: text.clone(),
                answer: None,
            }));
        }
    }
    let of = |(at, question): (usize, &Question)| ((question.envelope.id.clone(), question.number), at);
    let at_of: HashMap<(Id, u32), usize> = out.iter().enumerate().rev().map(of).collect();
    for record in records {
        let Body::Answer(answer) = &record.body else { continue };
        if let Some(at) = at_of.get(&(answer.of.clone(), answer.question)) {
            out[*at].answer = Some((record.envelope.clone(), answer.text.clone()));
        }
    }
    out
}

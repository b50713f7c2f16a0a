//! The state of a record in the answer of `show`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::claims::Standing;
use crate::context::claims::anchors::Place;
use crate::render::answer::{Answer, EnvelopeView};
use crate::render::{format, safe};
use empirica_notes::model::Id;

/// The state of a record.
#[derive(Serialize, JsonSchema)]
pub struct StateView<'a> {
    /// holds, ran_out, replaced or retracted.
    state: &'static str,
    /// Who replaced or retracted it, oldest first.
    corrections: Vec<CorrectionView<'a>>,
    /// The places in the code that it is about.
    anchors: &'a [Place],
    /// Who confirmed it last, when, and on what commit.
    confirmed: Option<EnvelopeView<'a>>,
    /// The claims that it replaces.
    replaces: &'a [Id],
    /// Other claims that replace one of these, and hold.
    disagrees_with: &'a [Id],
    /// Who vouches for it by a signature that git accepts: of it, or of a handoff that quotes it; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<&'a str>,
}

/// Who replaced or retracted a record.
#[derive(Serialize, JsonSchema)]
struct CorrectionView<'a> {
    /// The agent.
    ai_id: &'a str,
    /// When.
    timestamp: &'a str,
    /// Why, if it was said.
    why: Option<&'a str>,
    /// The claim that replaces it; null if it was retracted.
    replaced_by: Option<&'a Id>,
}

impl<'a> From<&'a Standing> for StateView<'a> {
    fn from(standing: &'a Standing) -> Self {
        let corrections = standing.retracts.iter().map(|(envelope, retract)| CorrectionView {
            ai_id: &envelope.ai,
            timestamp: &envelope.at,
            why: retract.why.as_deref(),
            replaced_by: retract.by.as_ref(),
        });
        StateView {
            state: standing.word(),
            corrections: corrections.collect(),
            anchors: &standing.places,
            confirmed: standing.confirmed.as_ref().map(EnvelopeView::from),
            replaces: &standing.replaces,
            disagrees_with: &standing.rivals,
            signed_by: standing.signer.as_deref(),
        }
    }
}

/// What others say of a record, a sentence a line; empty if they say nothing.
fn state_text(standing: &Standing) -> String {
    let mut out = String::new();
    let mut add = |text: String| out.push_str(&format!("{}\n", safe::line(&text)));
    if !standing.retracts.is_empty() {
        add(format!("No longer holds: {}.", standing.why_gone()));
    }
    if let Some(end) = &standing.ran_out {
        add(format!("{}.", format::until(end, true).replacen('h', "H", 1)));
    }
    for place in &standing.places {
        add(format!("Code: {}.", place.text()));
    }
    if let Some(by) = &standing.confirmed {
        add(format!("Confirmed by {}.", format::origin(by)));
    }
    if let Some(signed) = format::signed_by(standing.signer.as_ref()) {
        add(format!("{}.", signed.replacen('s', "S", 1)));
    }
    let names = |ids: &[Id]| ids.iter().map(Id::short).collect::<Vec<_>>().join(", ");
    if !standing.replaces.is_empty() {
        add(format!("Replaces {}.", names(&standing.replaces)));
    }
    if let Some(disagrees) = format::disagreement(&standing.rivals) {
        add(format!("{}: they replace the same claim.", disagrees.replacen('d', "D", 1)));
    }
    out
}

/// Adds the state to the answer: its keys, and what others say before the text.
pub fn added(answer: Answer, standing: &Standing) -> Answer {
    let mut answer = answer.with(StateView::from(standing));
    answer.text.insert_str(0, &state_text(standing));
    answer
}

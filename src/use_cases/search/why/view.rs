//! The answer of `why`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::context::claims::anchors::{Place, Spot, listed};
use crate::render::answer::{Answer, EnvelopeView};
use crate::render::budget::OutputForm;
use crate::render::{format, safe};
use crate::text::tokens;
use crate::use_cases::search::view::{main_text, why};
use crate::use_cases::search::why::{Known, Relation, WhyOutcome};
use empirica_notes::model::{Id, Record};

/// The most tokens of the answer.
pub const BUDGET: usize = 1000;

/// What is known of a place in the code.
#[derive(Serialize, JsonSchema)]
pub struct WhyView<'a> {
    /// The place.
    #[serde(flatten)]
    spot: &'a Spot,
    /// What is known of it, best first, within the budget.
    known: Vec<KnownView<'a>>,
    /// How many entries did not fit.
    omitted: usize,
}

/// A record about the code.
#[derive(Serialize, JsonSchema)]
struct KnownView<'a> {
    /// The record.
    id: &'a Id,
    /// finding, unknown, dead_end, decision, mistake, source or handoff.
    kind: &'a str,
    #[serde(flatten)]
    envelope: EnvelopeView<'a>,
    /// Its text: of a dead end the approach, of a handoff the task.
    text: &'a str,
    /// Of a dead end and a decision: the reason.
    why: Option<&'a str>,
    /// Why it is known to be about the code.
    relation: Relation,
    /// holds or ran_out.
    state: &'static str,
    /// Who confirmed it last, when, and on what commit.
    confirmed: Option<EnvelopeView<'a>>,
    /// The places in the code that it is about.
    anchors: &'a [Place],
    /// Other claims that replace the same one.
    disagrees_with: &'a [Id],
    /// Who vouches for it by a signature that git accepts; absent without.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_by: Option<&'a str>,
}

impl<'a> From<&'a Known> for KnownView<'a> {
    fn from(known: &'a Known) -> Self {
        let (record, standing) = (&known.record, &known.standing);
        KnownView {
            id: &record.envelope.id,
            kind: record.body.kind(),
            envelope: (&record.envelope).into(),
            text: main_text(record),
            why: why(record),
            relation: known.relation,
            state: standing.word(),
            confirmed: standing.confirmed.as_ref().map(EnvelopeView::from),
            anchors: &standing.places,
            disagrees_with: &standing.rivals,
            signed_by: standing.signer.as_deref(),
        }
    }
}

/// The entries that fit into `budget` tokens, the first always.
pub fn answer(outcome: &WhyOutcome, budget: usize, form: OutputForm) -> Answer {
    let mut left = budget.saturating_sub(if form == OutputForm::Text { safe::FENCE } else { 0 });
    let all = left;
    let mut fits = |tokens: usize| match left.checked_sub(tokens) {
        Some(rest) => {
            left = rest;
            true
        }
        None => std::mem::replace(&mut left, 0) == all,
    };
    let texts: Vec<String> = outcome.known.iter().map(text).collect();
    let kept = outcome.known.iter().zip(&texts).take_while(|(known, text)| match form {
        OutputForm::Text => fits(tokens::estimate(text)),
        OutputForm::Json => fits(tokens::estimate(&safe::json(&json!(KnownView::from(*known))))),
    });
    let kept = kept.count();
    let omitted = outcome.known.len() - kept;
    let known = outcome.known.iter().take(kept).map(KnownView::from).collect();
    let mut out: String = texts.into_iter().take(kept).collect();
    if omitted > 0 {
        out.push_str(&format!("Left out: {}.\n", format::count(omitted, "record")));
    }
    let answer = Answer::new(WhyView { spot: &outcome.spot, known, omitted }).text(out).warn(outcome.warnings.clone());
    match outcome.known.is_empty() {
        true => answer.say(format!("Nothing is known of {}.", safe::line(&outcome.spot.text()))),
        false => answer.paged().quoting(),
    }
}

/// All texts of a record on one line: of a handoff the task, of a source the location.
pub fn whole(record: &Record) -> String {
    record.body.claim().map_or_else(|| main_text(record).to_owned(), |_| record.body.claim_text())
}

/// An entry: its kind, state, author, time and commit, then its text.
pub fn text(known: &Known) -> String {
    let (record, standing) = (&known.record, &known.standing);
    let envelope = &record.envelope;
    let mut about = vec![format!("{} {}", record.body.kind().replace('_', " "), envelope.id.short())];
    about.extend(listed(&standing.places).map(|places| safe::line(&places)));
    about.extend(standing.ran_out.as_ref().map(|end| format::until(end, true)));
    about.extend(format::disagreement(&standing.rivals));
    about.push(safe::line(&envelope.ai));
    about.extend(format::signed_by(standing.signer.as_ref()));
    about.push(format::date(&envelope.at));
    about.extend(standing.confirmed.as_ref().map(|by| format!("confirmed by {}", safe::line(&by.ai))));
    about.extend(format::short_commit(envelope.commit.as_deref()).map(|commit| format!("on {commit}")));
    format!("{}\n  {}\n", about.join(" · "), safe::line(&whole(record)))
}

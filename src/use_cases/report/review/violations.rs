//! Violations of the rules that a team sets for ranges.

use schemars::JsonSchema;
use serde::Serialize;

use crate::use_cases::report::review::Review;
use crate::use_cases::report::review::claims::RangeClaim;
use crate::use_cases::report::review::rules::{Rule, is_blocking};
use empirica_notes::model::Id;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The record.
    pub id: Id,
    /// The command of a check, or the text of a claim.
    pub text: String,
}

/// The violations of the required rules.
pub fn violations(review: &Review) -> Vec<Violation> {
    let of_claim = |rule, claim: &RangeClaim| Violation {
        rule,
        id: claim.record.envelope.id.clone(),
        text: claim.record.body.claim().map(|claim| claim.text.to_owned()).unwrap_or_default(),
    };
    let mut out = Vec::new();
    for rule in review.required.iter().flatten() {
        match rule {
            Rule::Checks => out.extend(review.checks.iter().filter(|last| !last.has_passed()).map(|last| Violation {
                rule: *rule,
                id: last.run.envelope.id.clone(),
                text: format!("{} (exit {})", last.run.evidence.command, last.run.evidence.exit),
            })),
            Rule::Questions => out.extend(review.claims(is_blocking).into_iter().map(|claim| of_claim(*rule, claim))),
            Rule::Claims => out.extend(review.lost().map(|claim| of_claim(*rule, claim))),
        }
    }
    out
}

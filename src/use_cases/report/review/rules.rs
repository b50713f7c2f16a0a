//! The rules that a team sets for ranges: `empirica.require`.

use empirica_notes::error::{Error, Result};
use empirica_notes::git::Repository;
use empirica_notes::model::Body;

empirica_notes::named_enum! {
    /// A rule for the records of a range.
    pub enum Rule {
        /// No check failed in its last run.
        Checks = "checks",
        /// No blocking question is open.
        Questions = "questions",
        /// No claim is about code that the range changed, unless it was confirmed, replaced or retracted.
        Claims = "claims",
    }
}

/// The rules of `empirica.require`, each once: names, separated by commas or spaces. None by default.
pub fn required(repo: &Repository) -> Result<Vec<Rule>> {
    let mut out = Vec::new();
    let configured = repo.config_all("empirica.require").join(",");
    for name in configured.split([',', ' ']).filter(|name| !name.is_empty()) {
        let rule = Rule::ALL.iter().find(|rule| rule.name() == name).ok_or_else(|| {
            let names = Rule::ALL.iter().map(|rule| rule.name());
            names.fold(
                Error::usage(format!("cannot check the range: empirica.require names no rule '{name}'")).provided(name),
                Error::alternative,
            )
        })?;
        out.extend(Some(*rule).filter(|rule| !out.contains(rule)));
    }
    Ok(out)
}

/// Whether an open question blocks what depends on it.
pub fn is_blocking(body: &Body) -> bool {
    matches!(body, Body::Unknown(unknown) if unknown.blocking)
}

//! Gaps filled: unknowns and uncertainty that the session resolved.

use crate::fold::assessment::confidence::round4;
use empirica_notes::model::handoff::Gap;
use empirica_notes::model::{Vector, Vectors};

/// Minimum gain in a vector for a filled gap (Python tool, `_identify_filled_gaps`).
const GAIN: f64 = 0.15;
/// Minimum fall in uncertainty for a filled gap.
const FALL: f64 = 0.20;
/// Name of gaps filled by findings.
pub const FINDING: &str = "Investigation finding";
/// Whole words that mark a finding as filling a gap.
const SETTLING: &[&str] = &["learned", "discovered", "found", "validated"];

/// Gaps in this order: domain knowledge, task uncertainty, contextual understanding, resolved unknowns as (question,
/// answer), findings with a settling word. Missing vectors fill nothing.
pub fn filled<'a>(
    before: Option<&Vectors>,
    after: Option<&Vectors>,
    resolved: impl IntoIterator<Item = (&'a str, &'a str)>,
    findings: impl IntoIterator<Item = &'a str>,
) -> Vec<Gap> {
    let mut out = Vec::new();
    let mut by_vector = |vector: Vector, label: &str, sign: f64, least: f64| {
        let values = before.and_then(|v| v.get(vector)).zip(after.and_then(|v| v.get(vector)));
        if let Some((b, a)) = values {
            let change = round4((a - b) * sign);
            if change >= least {
                let name = vector.name().to_uppercase();
                out.push(Gap {
                    gap: label.to_owned(),
                    before: format!("{name}: {b:.2}"),
                    after: format!("{name}: {a:.2}"),
                    confidence_change: Some(change),
                });
            }
        }
    };
    by_vector(Vector::Know, "Domain knowledge", 1.0, GAIN);
    by_vector(Vector::Uncertainty, "Task uncertainty", -1.0, FALL);
    by_vector(Vector::Context, "Contextual understanding", 1.0, GAIN);
    out.extend(resolved.into_iter().map(|(question, answer)| Gap {
        gap: question.to_owned(),
        before: "Unknown".to_owned(),
        after: answer.to_owned(),
        confidence_change: None,
    }));
    out.extend(findings.into_iter().filter(|text| settles(text)).map(|text| Gap {
        gap: FINDING.to_owned(),
        before: "Unknown".to_owned(),
        after: text.to_owned(),
        confidence_change: None,
    }));
    out
}

/// The questions among gaps that an answer filled.
pub fn answered(gaps: &[Gap]) -> impl Iterator<Item = &str> {
    gaps.iter().filter(|gap| gap.confidence_change.is_none() && gap.gap != FINDING).map(|gap| gap.gap.as_str())
}

fn settles(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| SETTLING.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(text: &str) -> Vectors {
        let mut v = Vectors::default();
        v.add_pairs(text).unwrap();
        v
    }

    fn names(b: &str, a: &str) -> Vec<(String, Option<f64>)> {
        let (b, a) = (v(b), v(a));
        filled(Some(&b), Some(&a), [], []).into_iter().map(|g| (g.gap, g.confidence_change)).collect()
    }

    #[test]
    fn both_sides_of_each_edge() {
        assert_eq!(names("know=0.70", "know=0.85"), [("Domain knowledge".to_owned(), Some(0.15))]);
        assert!(names("know=0.70", "know=0.8499").is_empty());
        assert_eq!(names("uncertainty=0.6", "uncertainty=0.4"), [("Task uncertainty".to_owned(), Some(0.2))]);
        assert!(names("uncertainty=0.6", "uncertainty=0.4001").is_empty());
        assert_eq!(names("context=0.1", "context=0.25"), [("Contextual understanding".to_owned(), Some(0.15))]);
        assert!(names("context=0.1,know=0.9", "context=0.2,know=0.1").is_empty());
    }

    #[test]
    fn whole_words_settle_and_questions_carry_answers() {
        let gaps = filled(
            None,
            None,
            [("Which port?", "8080")],
            ["Discovered: the cache is cold", "foundation laid", "unfounded", "We FOUND it"],
        );
        let got: Vec<(&str, &str, &str)> =
            gaps.iter().map(|g| (g.gap.as_str(), g.before.as_str(), g.after.as_str())).collect();
        assert_eq!(
            got,
            [
                ("Which port?", "Unknown", "8080"),
                ("Investigation finding", "Unknown", "Discovered: the cache is cold"),
                ("Investigation finding", "Unknown", "We FOUND it"),
            ]
        );
    }
}

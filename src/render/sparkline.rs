//! Sparklines of values in one line: ▁▂▃▄▅▆▇█.

use crate::fold::assessment::confidence::series;
use crate::fold::assessment::trajectory::OVERALL;
use empirica_notes::model::{Assessment, Vector};

/// For values from 0 to 1.
const MARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// For missing values.
const NONE: char = '·';
/// Most marks of a line, for narrow terminals.
const MAX_MARKS: usize = 32;

/// A vector over a session.
#[derive(Debug, PartialEq)]
pub struct SparklineRow {
    /// The vector, or `overall_confidence`.
    pub name: &'static str,
    pub first: f64,
    /// Last value, if there are several.
    pub last: Option<f64>,
    /// A mark per assessment; empty for a single value.
    pub line: String,
}

/// A mark per value in [0, 1]. Too many values are sampled evenly, including first and last.
pub fn line(values: &[Option<f64>]) -> String {
    let mark = |value: &Option<f64>| match value {
        // 1 has the highest mark
        Some(value) => MARKS[((value * MARKS.len() as f64) as usize).min(MARKS.len() - 1)],
        None => NONE,
    };
    let last = values.len().saturating_sub(1);
    match values.len() <= MAX_MARKS {
        true => values.iter().map(mark).collect(),
        false => (0..MAX_MARKS).map(|at| mark(&values[at * last / (MAX_MARKS - 1)])).collect(),
    }
}

/// A row per vector, in display order, overall confidence last.
pub fn rows<'a>(assessments: impl Iterator<Item = &'a Assessment> + Clone) -> Vec<SparklineRow> {
    let row = |name, values: Vec<Option<f64>>| {
        let mut present = values.iter().copied().flatten();
        let first = present.next()?;
        let last = present.next_back();
        let line = if last.is_some() { line(&values) } else { String::new() };
        Some(SparklineRow { name, first, last, line })
    };
    let of = |vector| assessments.clone().map(|a| a.vectors.get(vector)).collect();
    let all = series(assessments.clone().map(|a| &a.vectors));
    let vectors = Vector::ALL.into_iter().filter_map(|vector| row(vector.name(), of(vector)));
    vectors.chain(row(OVERALL, all)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use empirica_notes::model::{Phase, Vectors};

    fn assessed(phase: Phase, pairs: &str) -> Assessment {
        let mut vectors = Vectors::default();
        vectors.add_pairs(pairs).unwrap();
        Assessment {
            phase,
            round: 1,
            vectors,
            confidence: None,
            reasoning: None,
            task: None,
            cycle: None,
            scope: None,
            tags: Vec::new(),
            meta: Default::default(),
        }
    }

    #[test]
    fn marks_grow_with_the_value() {
        let values: Vec<Option<f64>> = (0..=8).map(|eighth| Some(f64::from(eighth) / 8.0)).collect();
        assert_eq!(line(&values), "▁▂▃▄▅▆▇██");
        assert_eq!(line(&[Some(0.0), None, Some(1.0)]), "▁·█");
        assert_eq!(line(&[]), "");
    }

    #[test]
    fn many_values_fit_with_both_ends() {
        let values: Vec<Option<f64>> = (0..=999).map(|at| Some(f64::from(at) / 999.0)).collect();
        let shown = line(&values);
        assert_eq!(shown.chars().count(), MAX_MARKS);
        assert!(shown.starts_with("▁▁") && shown.ends_with("██"), "{shown}");
    }

    #[test]
    fn a_single_value_has_no_line() {
        let all = [
            assessed(Phase::Preflight, "know=0.2,do=0.5,uncertainty=0.9"),
            assessed(Phase::Check, "know=0.6"),
            assessed(Phase::Postflight, "know=0.8,uncertainty=0.1"),
        ];
        let row_values: Vec<(&str, f64, Option<f64>, String)> =
            rows(all.iter()).into_iter().map(|row| (row.name, row.first, row.last, row.line)).collect();
        assert_eq!(
            row_values,
            [
                ("know", 0.2, Some(0.8), "▂▅▇".to_owned()),
                ("do", 0.5, None, String::new()),
                ("uncertainty", 0.9, Some(0.1), "█·▁".to_owned()),
                ("overall_confidence", 0.2, Some(0.8), "▂▅▇".to_owned()),
            ]
        );
        assert!(rows(std::iter::empty()).is_empty());
    }
}

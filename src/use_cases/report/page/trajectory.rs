//! Pictures of trajectories: each vector of a session, and the overall confidence of all sessions.

use serde::Serialize;

use crate::fold::assessment::confidence::{alone, series};
use crate::fold::session_records::SessionRecords;
use crate::render::format;
use crate::use_cases::report::gather::SessionStory;
use crate::use_cases::report::page::svg::{at, line, number, picture, scrolling};
use empirica_notes::model::Vector;
use empirica_notes::model::vectors::Tier;

/// Most values written out.
const VALUES: usize = 5;
/// Most sessions in the picture of all, the newest.
const SESSIONS: usize = 80;
/// Most points of a line.
const POINTS: usize = 60;

/// The picture of a vector of a session.
#[derive(Debug, Serialize)]
pub struct Cell {
    name: String,
    /// CSS class of its tier.
    tier: &'static str,
    /// SVG path of the line.
    path: String,
    values: String,
    /// Change from the first to the last value; empty for a single one.
    change: String,
    /// CSS class: `better`, `worse` or empty.
    turn: &'static str,
}

/// CSS class of a vector's tier.
fn tier(vector: Vector) -> &'static str {
    match vector.tier() {
        Some(Tier::Foundation) => "foundation",
        Some(Tier::Comprehension) => "comprehension",
        Some(Tier::Execution) => "execution",
        Some(Tier::Engagement) => "engagement",
        None => "uncertainty",
    }
}

/// A picture of overall confidence and of each given vector, in the order of the tiers.
pub fn cells(session: &SessionRecords) -> Vec<Cell> {
    let assessments = || session.assessments.iter().map(|(_, assessment)| assessment);
    let all = series(assessments().map(|a| &a.vectors));
    let mut vectors = Vector::ALL;
    // uncertainty stays last, engagement goes before it
    vectors.sort_by_key(|vector| {
        ["foundation", "comprehension", "execution", "engagement"].iter().position(|t| *t == tier(*vector)).unwrap_or(4)
    });
    let of = |vector| assessments().map(|a| a.vectors.get(vector)).collect::<Vec<_>>();
    let cells = vectors
        .into_iter()
        .filter_map(|vector| cell(vector.name(), tier(vector), vector.less_is_better(), &of(vector)));
    let name = format!("overall confidence{}", format::only(alone(assessments().map(|a| &a.vectors))));
    cell(&name, "overall", false, &all).into_iter().chain(cells).collect()
}

fn cell(name: &str, tier: &'static str, less_is_better: bool, values: &[Option<f64>]) -> Option<Cell> {
    let present: Vec<f64> = values.iter().copied().flatten().collect();
    let (first, last) = (*present.first()?, *present.last()?);
    let written: Vec<String> = present.iter().map(|value| format!("{value:.2}")).collect();
    let written = match written.len() {
        0..=VALUES => written.join(" → "),
        many => format!("{first:.2} → {} more → {last:.2}", many - 2),
    };
    let change = if present.len() > 1 { format::signed(Some(last - first)) } else { String::new() };
    let turn = match (last - first, less_is_better) {
        (d, _) if d.abs() < 0.005 => "",
        (d, less) if (d > 0.0) != less => "better",
        _ => "worse",
    };
    Some(Cell { name: name.to_owned(), tier, path: path(values), values: written, change, turn })
}

/// A line through the given values, in a box of 120 by 40.
fn path(values: &[Option<f64>]) -> String {
    let last = values.len().saturating_sub(1);
    let count = values.len().min(POINTS);
    let point = |at: usize| {
        let at = at * last / (count.max(2) - 1);
        let x = if last == 0 { 60.0 } else { 4.0 + 112.0 * at as f64 / last as f64 };
        Some(format!("{} {}", number(x), number(36.0 - 32.0 * values[at]?)))
    };
    let points: Vec<String> = (0..count).filter_map(point).collect();
    match points.as_slice() {
        [] => String::new(),
        [only] => format!("M{only}h.01"),
        several => format!("M{}", several.join("L")),
    }
}

/// Overall confidence of the newest sessions at their first and last assessment: an arrow each, oldest at the left. Also
/// returns the number of omitted sessions with assessments; `None` without any.
pub fn all(sessions: &[SessionStory]) -> Option<(String, usize)> {
    let ends = |story: &SessionStory| {
        let all = series(story.records.assessments.iter().map(|(_, a)| &a.vectors));
        let present: Vec<f64> = all.into_iter().flatten().collect();
        Some((story.records.session.id.clone(), *present.first()?, *present.last()?, present.len()))
    };
    let mut assessed: Vec<_> = sessions.iter().filter_map(ends).collect();
    let left_out = assessed.len().saturating_sub(SESSIONS);
    assessed.truncate(SESSIONS);
    assessed.reverse();
    if assessed.is_empty() {
        return None;
    }
    let step = (1012.0 / assessed.len() as f64).clamp(12.5, 180.0);
    let (left, top, height) = (44.0, 14.0, 190.0);
    let right = left + step * assessed.len() as f64;
    let width = right + 40.0;
    let y = |value: f64| top + (1.0 - value) * height;
    let mut body = String::new();
    for quarter in 0..=4 {
        let value = f64::from(quarter) / 4.0;
        body.push_str(&line("grid", (left, y(value)), (right, y(value))));
        body.push_str(&at("axis", 6.0, y(value) + 4.0, &format!("{value:.2}")));
        body.push_str(&at("axis", right + 8.0, y(value) + 4.0, &format!("{value:.2}")));
    }
    let (mut rose, mut fell) = (0, 0);
    for (place, (id, first, last, count)) in assessed.iter().enumerate() {
        let x = left + step * (place as f64 + 0.5);
        let (class, tip) = match last - first {
            d if d >= 0.005 => ("rose", "M-5 6L0-2L5 6z"),
            d if d <= -0.005 => ("fell", "M-5-6L0 2L5-6z"),
            _ => ("same", "M-5-1.5H5V1.5H-5z"),
        };
        rose += usize::from(class == "rose");
        fell += usize::from(class == "fell");
        let [px, py, from] = [x, y(*last), y(*first)].map(number);
        let shaft = match count {
            0 | 1 => String::new(),
            _ => {
                let shaft = line("way", (x, y(*first)), (x, y(*last)));
                format!("{shaft}<circle class=\"begin\" cx=\"{px}\" cy=\"{from}\" r=\"3.5\"/>")
            }
        };
        body.push_str(&format!(
            "<g class=\"{class}\" data-session=\"s-{}\"><title>{first:.2} → {last:.2}</title>{shaft}<path class=\"tip\" transform=\"translate({px} {py})\" d=\"{tip}\"/></g>",
            id.as_str()
        ));
    }
    let description = format!(
        "Overall confidence from 0 to 1 of {} sessions, oldest at the left: from the first assessment to the last it rose in {rose} and fell in {fell}. The list of sessions gives each value.",
        assessed.len()
    );
    let drawn = picture(
        "growth",
        "How sure sessions were, before and after",
        &description,
        (width, top + height + 14.0),
        &body,
    );
    Some((scrolling("growth", "Confidence before and after each session", &drawn), left_out))
}

//! Plots of calibration: forecast against outcome, and the bias of each vector.

use serde::Serialize;

use crate::fold::assessment::belief::{Belief, Tendency};
use crate::fold::assessment::track_record::{ReliabilityBin, Score};
use crate::render::format;
use crate::use_cases::report::page::svg::{at, line, number, picture};

/// Left and top of the plot, and its width and height.
const LEFT: f64 = 64.0;
const TOP: f64 = 20.0;
const SIDE: f64 = 270.0;
/// Height of a row of the bias plot.
const ROW: f64 = 24.0;
/// Largest bias drawn unclamped.
const MAX_BIAS: f64 = 0.5;

/// A row of the table beside the plot.
#[derive(Debug, Serialize)]
pub struct PlotBin {
    range: String,
    sessions: usize,
    forecast: String,
    observed: String,
}

pub fn bins(score: &Score) -> Vec<PlotBin> {
    let row = |bin: &ReliabilityBin| PlotBin {
        range: format!("{:.1} to {:.1}", bin.from, bin.to),
        sessions: bin.n,
        forecast: format::value(bin.mean_forecast),
        observed: format::value(bin.observed),
    };
    score.reliability.iter().map(row).collect()
}

/// Forecast against outcome: a circle for each bin, larger with more sessions. `None` without judged sessions.
pub fn plot(score: &Score) -> Option<String> {
    let most = score.reliability.iter().map(|bin| bin.n).max().filter(|most| *most > 0)?;
    let (x, y) = (|value: f64| LEFT + value * SIDE, |value: f64| TOP + (1.0 - value) * SIDE);
    let mut body = String::new();
    for fifth in 0..=5 {
        let value = f64::from(fifth) / 5.0;
        body.push_str(&line("grid", (x(value), y(0.0)), (x(value), y(1.0))));
        body.push_str(&line("grid", (x(0.0), y(value)), (x(1.0), y(value))));
        body.push_str(&at("axis middle", x(value), y(0.0) + 30.0, &format!("{value:.1}")));
        body.push_str(&at("axis end", LEFT - 20.0, y(value) + 4.0, &format!("{value:.1}")));
    }
    body.push_str(&line("perfect", (x(0.0), y(0.0)), (x(1.0), y(1.0))));
    let bins: Vec<(f64, f64, usize)> =
        score.reliability.iter().filter_map(|bin| Some((bin.mean_forecast?, bin.observed?, bin.n))).collect();
    let points: Vec<String> = bins.iter().map(|(f, o, _)| format!("{} {}", number(x(*f)), number(y(*o)))).collect();
    body.push_str(&format!("<path class=\"observed\" d=\"M{}\"/>", points.join("L")));
    for (forecast, observed, n) in &bins {
        let radius = 6.0 + 9.0 * (*n as f64 / most as f64).sqrt();
        let [cx, cy, radius] = [x(*forecast), y(*observed), radius].map(number);
        body.push_str(&format!(
            "<g><title>{}: forecast {forecast:.2}, reached {observed:.2}</title><circle class=\"bin\" cx=\"{cx}\" cy=\"{cy}\" r=\"{radius}\"/>{}</g>",
            format::count(*n, "session"),
            at("count middle", x(*forecast), y(*observed) + 4.0, &n.to_string())
        ));
    }
    body.push_str(&at("axis middle", x(0.5), y(0.0) + 48.0, "forecast"));
    body.push_str(&format!(
        "<text class=\"axis middle\" transform=\"translate(12 {})rotate(-90)\">reached</text>",
        number(y(0.5))
    ));
    let description = format!(
        "How often sessions reached what they set out for, by how sure they were of it. On the dashed diagonal both agree. {} were judged; the table beside it has the numbers.",
        format::count(score.judged, "session")
    );
    Some(picture("reliability", "Forecast and outcome", &description, (LEFT + SIDE + 20.0, TOP + SIDE + 56.0), &body))
}

/// The score of judged sessions in sentences.
pub fn sentences(score: &Score) -> Vec<String> {
    let mut out = Vec::new();
    if score.small_sample() {
        out.push(format!("Only {} judged: a first impression, not more.", format::count(score.judged, "session")));
    }
    let tends = match score.bias {
        Some(bias) if bias >= 0.05 => format!("More was forecast than came of it ({}).", format::signed(score.bias)),
        Some(bias) if bias <= -0.05 => format!("More came of it than was forecast ({}).", format::signed(score.bias)),
        _ => "Forecasts and outcomes agree on the whole.".to_owned(),
    };
    out.push(tends);
    let halves = match (score.trend.earlier, score.trend.later) {
        (Some(earlier), Some(later)) => format!(" (Brier score {earlier:.2}, then {later:.2})"),
        _ => ": it takes four judged sessions".to_owned(),
    };
    out.push(format!("Trend: {}{halves}.", score.trend.direction.name()));
    out
}

/// A row of the table beside the bias plot.
#[derive(Debug, Serialize)]
pub struct Bias {
    vector: &'static str,
    sessions: usize,
    mean: String,
    sd: String,
    tendency: String,
}

pub fn biases(beliefs: &[Belief]) -> Vec<Bias> {
    let row = |belief: &Belief| Bias {
        vector: belief.vector.name(),
        sessions: belief.n,
        mean: format::signed(Some(belief.mean)),
        sd: format!("{:.2}", belief.sd),
        tendency: belief.tendency.name().replace('_', " "),
    };
    beliefs.iter().map(row).collect()
}

/// The bias of each vector, with two standard deviations; `None` without any.
pub fn bias_plot(beliefs: &[Belief]) -> Option<String> {
    if beliefs.is_empty() {
        return None;
    }
    let (left, side) = (96.0, 226.0);
    let x = |value: f64| left + (value.clamp(-MAX_BIAS, MAX_BIAS) / MAX_BIAS + 1.0) / 2.0 * side;
    let height = ROW * beliefs.len() as f64;
    let mut body = String::new();
    for value in [-MAX_BIAS, 0.0, MAX_BIAS] {
        let (class, shown) = (if value == 0.0 { "zero" } else { "grid" }, format::signed(Some(value)));
        body.push_str(&line(class, (x(value), 6.0), (x(value), height + 8.0)));
        body.push_str(&at("axis middle", x(value), height + 24.0, if value == 0.0 { "0" } else { shown.as_str() }));
    }
    for (row, belief) in beliefs.iter().enumerate() {
        let y = ROW * row as f64 + 20.0;
        let class = match belief.tendency {
            Tendency::Overestimates => "over",
            Tendency::Underestimates => "under",
            Tendency::NoClearBias | Tendency::TooFew => "none",
        };
        let (cx, cy) = (number(x(belief.mean)), number(y));
        body.push_str(&at("axis end", left - 10.0, y + 4.0, belief.vector.name()));
        body.push_str(&line(class, (x(belief.mean - 2.0 * belief.sd), y), (x(belief.mean + 2.0 * belief.sd), y)));
        body.push_str(&format!("<circle class=\"{class}\" cx=\"{cx}\" cy=\"{cy}\" r=\"5\"/>"));
    }
    let description = "For each vector the bias that is believed, with two standard deviations to both sides. Right of the middle: taken for better before the work than after it. The table has the numbers.";
    Some(picture("bias", "Bias of each vector", description, (left + side + 24.0, height + 34.0), &body))
}

//! The timeline: a lane for each agent, a bar for each session, an arrow for each handoff that was taken up.

use std::collections::{BTreeMap, BTreeSet};

use crate::fold::handover_graph::Handover;
use crate::text::shorten::short;
use crate::use_cases::report::gather::SessionStory;
use crate::use_cases::report::page::svg::{at, label, line, number, picture, scrolling, text};
use empirica_notes::model::{Id, SessionId};

/// Most sessions, the newest.
const SESSIONS: usize = 40;
/// Most agents, those with the newest sessions.
const AGENTS: usize = 12;
/// Heights of a row, of the bar in it, and of the dates above.
const ROW: f64 = 36.0;
const BAR: f64 = 22.0;
const TOP: f64 = 30.0;
/// Margin at the left and the right.
const EDGE: f64 = 18.0;
/// Least width of the picture.
const WIDTH: f64 = 964.0;
/// Widths of a date, of the gap after which it is repeated, and of the agents' names.
const DATE: f64 = 76.0;
const REPEAT: f64 = 110.0;
const NAMES: f64 = 138.0;
/// Steps after the start of a session, which has its task there, and after another event.
const ROOM: (f64, f64) = (2.6, 0.8);

pub struct Timeline {
    pub html: String,
    /// Number of sessions not drawn.
    pub left_out: usize,
}

/// Time and record of an event.
type Moment<'t> = (&'t str, &'t Id);

struct Bar<'t> {
    story: &'t SessionStory,
    from: f64,
    to: f64,
    y: f64,
}

/// Draws sessions (newest first); time runs to the right, a step for each event. `None` without any.
pub fn timeline(sessions: &[SessionStory], handovers: &[Handover]) -> Option<Timeline> {
    let mut agents: Vec<&str> = Vec::new();
    for story in sessions.iter().take(SESSIONS) {
        let ai = story.records.session.ai.as_str();
        if !agents.contains(&ai) && agents.len() < AGENTS {
            agents.push(ai);
        }
    }
    let is_drawn = |story: &&SessionStory| agents.contains(&story.records.session.ai.as_str());
    let drawn: Vec<&SessionStory> = sessions.iter().take(SESSIONS).filter(is_drawn).collect();
    let newest = drawn.first()?;
    let by_id: BTreeMap<&SessionId, &SessionStory> =
        drawn.iter().map(|story| (&story.records.session.id, *story)).collect();
    let handovers: Vec<&Handover> =
        handovers.iter().filter(|p| by_id.contains_key(&p.from) && by_id.contains_key(&p.to)).collect();
    let (places, end) = places(&drawn, &handovers);
    let width = (end + EDGE).max(WIDTH);
    let (bars, lanes, height) = laid_out(&drawn, &agents, |story| {
        let records = &story.records;
        let from = places.get(&began(story)).copied().unwrap_or(EDGE);
        let to = places.get(&ended(story)).copied().unwrap_or(from);
        let to = if records.session.is_active() { width - EDGE } else { to.max(from + 10.0) };
        (from, to)
    });
    let mut body = String::new();
    for (lane, (_, y, rows)) in lanes.iter().enumerate() {
        let class = if lane % 2 == 0 { "lane even" } else { "lane" };
        let (y, height) = (number(*y), number(ROW * *rows as f64));
        body.push_str(&format!(
            "<rect class=\"{class}\" x=\"0\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
            number(width)
        ));
    }
    body.push_str(&days(&places, height, width));
    body.push_str("<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"4.5\" markerHeight=\"4.5\" orient=\"auto\"><path class=\"point\" d=\"M0 0L8 4L0 8z\"/></marker></defs>");
    for bar in &bars {
        // the task ends before the first handoff
        let handed = bar.story.records.handoffs.first().and_then(|(head, _)| places.get(&(head.at.as_str(), &head.id)));
        body.push_str(&drawn_bar(bar, handed.map_or(bar.to, |place| place - 6.0)));
    }
    let at_bar: BTreeMap<&SessionId, &Bar<'_>> = bars.iter().map(|bar| (&bar.story.records.session.id, bar)).collect();
    let mut marked = BTreeSet::new();
    for bar in &bars {
        for (head, _) in &bar.story.records.handoffs {
            if let Some(place) = places.get(&(head.at.as_str(), &head.id)).filter(|_| marked.insert(&head.id)) {
                let (x, y) = (number(*place), number(bar.y + BAR / 2.0));
                body.push_str(&format!(
                    "<path class=\"given\" transform=\"translate({x} {y})\" d=\"M0-6L6 0L0 6L-6 0z\"/>"
                ));
            }
        }
    }
    let moment_of = |story: &SessionStory, id: &Id| {
        let records = &story.records;
        let handed = records.handoffs.iter().map(|(head, _)| head);
        let head = handed.chain(records.accepts.iter().map(|(head, _)| head)).find(|head| head.id == *id);
        // without one, the start of the session names the handoff
        let moment = head.map_or_else(|| began(story), |head| (head.at.as_str(), &head.id));
        places.get(&moment).copied()
    };
    for handover in &handovers {
        let (Some(from), Some(to)) = (at_bar.get(&handover.from), at_bar.get(&handover.to)) else { continue };
        let handoff =
            handover.handoff.as_ref().filter(|id| from.story.records.handoffs.iter().any(|(head, _)| head.id == **id));
        let x1 = handoff.and_then(|id| moment_of(from.story, id)).unwrap_or(from.to);
        let x2 = moment_of(to.story, &handover.by).unwrap_or(to.from);
        body.push_str(&arrow((x1, from.y), (x2, to.y), handover.accepted));
    }
    let description = format!(
        "{} sessions of {} agents, oldest at the left. Time runs to the right; pauses are shortened. The list of sessions says the same in words.",
        drawn.len(),
        agents.len()
    );
    let lanes_drawn = picture("timeline", "Sessions and handoffs over time", &description, (width, height), &body);
    let mut names = String::new();
    for (ai, y, rows) in &lanes {
        let middle = y + ROW * *rows as f64 / 2.0 + 4.0;
        names.push_str(&format!(
            "<g><title>{}</title>{}</g>",
            text(ai),
            at("name", 12.0, middle, &label(ai, (NAMES - 14.0) / 1.15))
        ));
    }
    let (names_width, names_height) = (number(NAMES), number(height));
    let names = format!(
        "<svg class=\"names\" aria-hidden=\"true\" width=\"{names_width}\" height=\"{names_height}\" viewBox=\"0 0 {names_width} {names_height}\">{names}</svg>"
    );
    let what = format!("Timeline, up to {}", crate::render::format::date(&newest.records.session.started_at));
    // scrolls a long one to its end
    let opens = if end + EDGE > WIDTH { "timeline" } else { "short-timeline" };
    let html = format!("<div class=\"lanes\">{names}{}</div>", scrolling(opens, &what, &lanes_drawn));
    Some(Timeline { html, left_out: sessions.len() - drawn.len() })
}

fn began(story: &SessionStory) -> Moment<'_> {
    (&story.records.session.started_at, &story.records.session.began)
}

/// The end of a session, or its last record.
fn ended(story: &SessionStory) -> Moment<'_> {
    let records = &story.records;
    (records.session.ended_at.as_deref().unwrap_or(&records.last_at), &records.end)
}

/// The position of each event from the left, and the end of the last one.
fn places<'t>(drawn: &[&'t SessionStory], handovers: &[&Handover]) -> (BTreeMap<Moment<'t>, f64>, f64) {
    let taken_up: BTreeSet<&Id> = handovers.iter().map(|handover| &handover.by).collect();
    let mut moments: BTreeMap<Moment<'t>, f64> = BTreeMap::new();
    for story in drawn {
        let handed = story.records.handoffs.iter().map(|(head, _)| head);
        let accepted = story.records.accepts.iter().map(|(head, _)| head).filter(|head| taken_up.contains(&head.id));
        let all = handed.chain(accepted).map(|head| (head.at.as_str(), &head.id)).chain([ended(story)]);
        for moment in all {
            moments.entry(moment).or_insert(ROOM.1);
        }
        moments.insert(began(story), ROOM.0);
    }
    let step = ((WIDTH - 2.0 * EDGE) / moments.values().sum::<f64>().max(1.0)).clamp(10.0, 80.0);
    let mut end = EDGE;
    for room in moments.values_mut() {
        (*room, end) = (end, end + *room * step);
    }
    (moments, end)
}

/// An agent, the top of its lane, and its number of rows.
type Lane<'t> = (&'t str, f64, usize);

/// The bars, the lanes and the total height; overlapping sessions of an agent are in different rows.
fn laid_out<'t>(
    drawn: &[&'t SessionStory],
    agents: &[&'t str],
    span: impl Fn(&SessionStory) -> (f64, f64),
) -> (Vec<Bar<'t>>, Vec<Lane<'t>>, f64) {
    let (mut bars, mut lanes, mut y) = (Vec::new(), Vec::new(), TOP);
    // the agent that began first is at the top
    for ai in agents.iter().rev() {
        let mut ends: Vec<f64> = Vec::new();
        for story in drawn.iter().rev().filter(|story| story.records.session.ai == **ai) {
            let (from, to) = span(story);
            let row = ends.iter().position(|end| end + 2.0 <= from).unwrap_or(ends.len());
            ends.resize(ends.len().max(row + 1), 0.0);
            ends[row] = to;
            bars.push(Bar { story, from, to, y: y + ROW * row as f64 + (ROW - BAR) / 2.0 });
        }
        lanes.push((*ai, y, ends.len()));
        y += ROW * ends.len() as f64;
    }
    (bars, lanes, y + 6.0)
}

fn drawn_bar(bar: &Bar<'_>, free: f64) -> String {
    let session = &bar.story.records.session;
    let class = if session.is_active() { "bar active" } else { "bar" };
    let width = bar.to - bar.from;
    let room = free - bar.from - 14.0;
    let task = session.task.as_deref().unwrap_or("");
    let shown = if room < 40.0 { String::new() } else { at("task", bar.from + 9.0, bar.y + 15.0, &label(task, room)) };
    let [x, y, width, height] = [bar.from, bar.y, width, BAR].map(number);
    format!(
        "<g data-session=\"s-{}\"><title>{}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>{shown}</g>",
        session.id.as_str(),
        text(&short(&format!("{}: {task}", session.ai), 200))
    )
}

/// An arrow from a handoff to the session that took it up; within a lane it passes above the bars.
fn arrow((x1, y1): (f64, f64), (x2, y2): (f64, f64), accepted: bool) -> String {
    let class = if accepted { "passed accepted" } else { "passed" };
    let (start, leave, arrive, end) = match y1.total_cmp(&y2) {
        std::cmp::Ordering::Less => (y1 + BAR, y1 + BAR + 16.0, y2 - 17.0, y2 - 1.0),
        std::cmp::Ordering::Equal => (y1, y1 - 16.0, y2 - 17.0, y2 - 1.0),
        std::cmp::Ordering::Greater => (y1, y1 - 16.0, y2 + BAR + 17.0, y2 + BAR + 1.0),
    };
    let [x1, start, x2, end, leave, arrive] = [x1, start, x2, end, leave, arrive].map(number);
    format!(
        "<path class=\"{class}\" marker-end=\"url(#head)\" d=\"M{x1} {start}C{x1} {leave} {x2} {arrive} {x2} {end}\"/>"
    )
}

/// A line where a day begins, and dates repeated so that one is visible at every scroll position.
fn days(places: &BTreeMap<Moment<'_>, f64>, height: f64, end: f64) -> String {
    let (mut out, mut day, mut dates) = (String::new(), "", Vec::<(f64, &str)>::new());
    let moments = places.iter().map(|((moment, _), place)| (place - 6.0, moment.get(..10).unwrap_or(moment)));
    for (x, new) in moments.chain([(end, "")]) {
        while let Some((last, _)) = dates.last().filter(|(last, _)| last + REPEAT + DATE <= x) {
            dates.push((last + REPEAT, day));
        }
        if new != day && !new.is_empty() {
            out.push_str(&line("day", (x, TOP - 8.0), (x, height)));
            if dates.last().is_none_or(|(last, _)| last + DATE <= x) {
                dates.push((x, new));
            }
        }
        day = new;
    }
    dates.iter().for_each(|(x, day)| out.push_str(&at("date", *x, 14.0, &text(day))));
    out
}

//! The timeline: a lane for each agent, a bar for each session, an arrow for each handoff that was taken up.

use std::collections::{BTreeMap, BTreeSet};

use crate::fold::handover_graph::Handover;
use crate::report::gather::SessionStory;
use crate::report::page::svg::{at, label, line, number, picture, scrolling, text};
use crate::text::shorten::short;
use empirica_notes::model::{Id, SessionId};

/// The most sessions, the newest.
const SESSIONS: usize = 40;
/// The most agents, those whose sessions are newest.
const AGENTS: usize = 12;
/// The height of a row of bars.
const ROW: f64 = 36.0;
/// The height of a bar.
const BAR: f64 = 22.0;
/// Above the first lane: the days.
const TOP: f64 = 30.0;
/// Left and right of what is drawn.
const EDGE: f64 = 18.0;
/// The width of all, when there is little to draw.
const WIDTH: f64 = 964.0;
/// The width of a date.
const DATE: f64 = 76.0;
/// After so much of a day its date stands again.
const AGAIN: f64 = 110.0;
/// The width of the names.
const NAMES: f64 = 138.0;
/// How much room a session has for its task, and how much follows anything else that happens.
const ROOM: (f64, f64) = (2.6, 0.8);

/// The picture, and how many sessions it leaves out.
pub struct Timeline {
    /// Names and lanes, as HTML.
    pub html: String,
    /// How many sessions are not drawn.
    pub left_out: usize,
}

/// A moment: moments are in order of time and, within one, of the records.
type Moment<'t> = (&'t str, &'t Id);

struct Bar<'t> {
    told: &'t SessionStory,
    from: f64,
    to: f64,
    y: f64,
}

/// Draws sessions, given newest first; time runs to the right, a step for each thing that happened. `None` without any.
pub fn timeline(sessions: &[SessionStory], passings: &[Handover]) -> Option<Timeline> {
    let mut agents: Vec<&str> = Vec::new();
    for told in sessions.iter().take(SESSIONS) {
        let ai = told.gathered.session.ai.as_str();
        if !agents.contains(&ai) && agents.len() < AGENTS {
            agents.push(ai);
        }
    }
    let is_drawn = |told: &&SessionStory| agents.contains(&told.gathered.session.ai.as_str());
    let drawn: Vec<&SessionStory> = sessions.iter().take(SESSIONS).filter(is_drawn).collect();
    let newest = drawn.first()?;
    let by_id: BTreeMap<&SessionId, &SessionStory> =
        drawn.iter().map(|told| (&told.gathered.session.id, *told)).collect();
    let passings: Vec<&Handover> =
        passings.iter().filter(|p| by_id.contains_key(&p.from) && by_id.contains_key(&p.to)).collect();
    let (places, end) = places(&drawn, &passings);
    let width = (end + EDGE).max(WIDTH);
    let (bars, lanes, height) = laid_out(&drawn, &agents, |told| {
        let gathered = &told.gathered;
        let from = places.get(&began(told)).copied().unwrap_or(EDGE);
        let to = places.get(&ended(told)).copied().unwrap_or(from);
        let to = if gathered.session.is_active() { width - EDGE } else { to.max(from + 10.0) };
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
        let handed = bar.told.gathered.handoffs.first().and_then(|(head, _)| places.get(&(head.at.as_str(), &head.id)));
        body.push_str(&drawn_bar(bar, handed.map_or(bar.to, |place| place - 6.0)));
    }
    let at_bar: BTreeMap<&SessionId, &Bar<'_>> = bars.iter().map(|bar| (&bar.told.gathered.session.id, bar)).collect();
    let mut marked = BTreeSet::new();
    for bar in &bars {
        for (head, _) in &bar.told.gathered.handoffs {
            if let Some(place) = places.get(&(head.at.as_str(), &head.id)).filter(|_| marked.insert(&head.id)) {
                let (x, y) = (number(*place), number(bar.y + BAR / 2.0));
                body.push_str(&format!(
                    "<path class=\"given\" transform=\"translate({x} {y})\" d=\"M0-6L6 0L0 6L-6 0z\"/>"
                ));
            }
        }
    }
    let moment_of = |told: &SessionStory, id: &Id| {
        let gathered = &told.gathered;
        let handed = gathered.handoffs.iter().map(|(head, _)| head);
        let head = handed.chain(gathered.accepts.iter().map(|(head, _)| head)).find(|head| head.id == *id);
        // a session that says in its start what it goes on with
        let moment = head.map_or_else(|| began(told), |head| (head.at.as_str(), &head.id));
        places.get(&moment).copied()
    };
    for passing in &passings {
        let (Some(from), Some(to)) = (at_bar.get(&passing.from), at_bar.get(&passing.to)) else { continue };
        let given =
            passing.handoff.as_ref().filter(|id| from.told.gathered.handoffs.iter().any(|(head, _)| head.id == **id));
        let x1 = given.and_then(|id| moment_of(from.told, id)).unwrap_or(from.to);
        let x2 = moment_of(to.told, &passing.by).unwrap_or(to.from);
        body.push_str(&arrow((x1, from.y), (x2, to.y), passing.accepted));
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
    let what = format!("Timeline, up to {}", crate::render::format::date(&newest.gathered.session.started_at));
    // a long one opens at its end, a short one where its sessions are
    let opens = if end + EDGE > WIDTH { "timeline" } else { "short-timeline" };
    let html = format!("<div class=\"lanes\">{names}{}</div>", scrolling(opens, &what, &lanes_drawn));
    Some(Timeline { html, left_out: sessions.len() - drawn.len() })
}

fn began(told: &SessionStory) -> Moment<'_> {
    (&told.gathered.session.started_at, &told.gathered.session.began)
}

/// When a session ended, or when it was last heard of.
fn ended(told: &SessionStory) -> Moment<'_> {
    let gathered = &told.gathered;
    (gathered.session.ended_at.as_deref().unwrap_or(&gathered.last_at), &gathered.end)
}

/// The place of each moment, from the left, and where the last one ends. Where a session begins there is room for its task.
fn places<'t>(drawn: &[&'t SessionStory], passings: &[&Handover]) -> (BTreeMap<Moment<'t>, f64>, f64) {
    let taken_up: BTreeSet<&Id> = passings.iter().map(|passing| &passing.by).collect();
    let mut moments: BTreeMap<Moment<'t>, f64> = BTreeMap::new();
    for told in drawn {
        let handed = told.gathered.handoffs.iter().map(|(head, _)| head);
        let accepted = told.gathered.accepts.iter().map(|(head, _)| head).filter(|head| taken_up.contains(&head.id));
        let all = handed.chain(accepted).map(|head| (head.at.as_str(), &head.id)).chain([ended(told)]);
        for moment in all {
            moments.entry(moment).or_insert(ROOM.1);
        }
        moments.insert(began(told), ROOM.0);
    }
    let step = ((WIDTH - 2.0 * EDGE) / moments.values().sum::<f64>().max(1.0)).clamp(10.0, 80.0);
    let mut end = EDGE;
    for room in moments.values_mut() {
        (*room, end) = (end, end + *room * step);
    }
    (moments, end)
}

/// An agent, where its lane begins, and of how many rows it is.
type Lane<'t> = (&'t str, f64, usize);

/// The bars, the lanes and the height of all: sessions of an agent that overlap are in rows of their own.
fn laid_out<'t>(
    drawn: &[&'t SessionStory],
    agents: &[&'t str],
    span: impl Fn(&SessionStory) -> (f64, f64),
) -> (Vec<Bar<'t>>, Vec<Lane<'t>>, f64) {
    let (mut bars, mut lanes, mut y) = (Vec::new(), Vec::new(), TOP);
    // who began first is at the top
    for ai in agents.iter().rev() {
        let mut ends: Vec<f64> = Vec::new();
        for told in drawn.iter().rev().filter(|told| told.gathered.session.ai == **ai) {
            let (from, to) = span(told);
            let row = ends.iter().position(|end| end + 2.0 <= from).unwrap_or(ends.len());
            ends.resize(ends.len().max(row + 1), 0.0);
            ends[row] = to;
            bars.push(Bar { told, from, to, y: y + ROW * row as f64 + (ROW - BAR) / 2.0 });
        }
        lanes.push((*ai, y, ends.len()));
        y += ROW * ends.len() as f64;
    }
    (bars, lanes, y + 6.0)
}

fn drawn_bar(bar: &Bar<'_>, free: f64) -> String {
    let session = &bar.told.gathered.session;
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

/// From a handoff to where it was taken up; within a lane it goes over the bars.
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

/// A line where a day begins, and dates so near to each other that one is seen wherever the picture is scrolled to.
fn days(places: &BTreeMap<Moment<'_>, f64>, height: f64, end: f64) -> String {
    let (mut out, mut day, mut dates) = (String::new(), "", Vec::<(f64, &str)>::new());
    let moments = places.iter().map(|((moment, _), place)| (place - 6.0, moment.get(..10).unwrap_or(moment)));
    for (x, new) in moments.chain([(end, "")]) {
        while let Some((last, _)) = dates.last().filter(|(last, _)| last + AGAIN + DATE <= x) {
            dates.push((last + AGAIN, day));
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

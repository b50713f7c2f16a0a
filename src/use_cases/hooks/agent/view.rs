//! Text of an agent's hook for the model.

use crate::context::claims::anchors::listed;
use crate::context::handoffs::ListedHandoff;
use crate::fold::assessment::gate::Gate;
use crate::render::budget::{self, BudgetList, Keep, LEAST, OutputForm, Shortening};
use crate::render::drift::drift_line;
use crate::render::safe::Fence;
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::text::tokens;
use crate::use_cases::handoff::arrival;
use crate::use_cases::handoff::arrival::fold::remaining;
use crate::use_cases::handoff::pack::Detail;
use crate::use_cases::hooks::agent::injection::{Injection, SessionBrief};
use crate::use_cases::search;
use crate::use_cases::search::why::Known;
use crate::use_cases::session::project_overview::sections;
use crate::use_cases::session::{compaction, project_overview, resume};
use crate::use_cases::task;
use empirica_notes::error::{Result, empirica};
use empirica_notes::model::Id;

/// The text for the model; may be empty.
pub fn text(inject: &Injection, fence: &Fence, templates: &mut Templates) -> Result<String> {
    Ok(match inject {
        Injection::Session(brief) => session_brief(brief, fence, templates)?,
        Injection::Known(text) => text.clone(),
        Injection::Compacted(taken, outcome, gate) => {
            let budget = compaction::view::BUDGET - safe::FENCE;
            let block = compaction::view::answer(taken, outcome, budget, OutputForm::Text, templates)?.text;
            format!("git empirica: session {} continues.\n{}{}", taken.session_id, drift(gate), fence.around(&block))
        }
        Injection::Unsafe(id, gate) => format!(
            "git empirica: the last CHECK of session {id} was not safe to act on. {}\nBefore acting, log the real changes as \
             findings or evidence, and make another CHECK.\n",
            drift(gate).trim_end()
        ),
    })
}

/// The most tokens of what was logged about files, and of an entry.
const GUARD: usize = 300;
const GUARD_ENTRY: usize = 80;
/// Of these its places.
const GUARD_PLACES: usize = 30;

/// What is known of files within its budget, and which records it tells.
pub fn known<'k>(known: &'k [Known], fence: &Fence) -> (String, Vec<&'k Id>) {
    let head = "git empirica: what was logged about this code.\n";
    let mut out = String::new();
    let mut left = GUARD - tokens::estimate(head) - safe::FENCE;
    let mut told = Vec::new();
    for one in known {
        let mut line = entry(one);
        budget::shorten(&mut line, GUARD_ENTRY);
        let line = format!("- {}\n", safe::mended(&line));
        match left.checked_sub(tokens::estimate(&line)) {
            Some(rest) => left = rest,
            None => continue,
        }
        out.push_str(&line);
        told.push(&one.record.envelope.id);
    }
    (if told.is_empty() { String::new() } else { format!("{head}{}", fence.around(&out)) }, told)
}

/// A record on one line: what it is, whose, when, where, whether it still holds, and its text.
fn entry(known: &Known) -> String {
    let (record, standing) = (&known.record, &known.standing);
    let (kind, id) = (record.body.kind().replace('_', " "), record.envelope.id.short());
    let day: String = record.envelope.at.chars().take(10).collect();
    let places = listed(&standing.places).map(|places| {
        let mut places = safe::words(&places);
        budget::shorten(&mut places, GUARD_PLACES);
        places
    });
    let over = standing.ran_out.as_ref().map(|end| format::until(end, true));
    let about: Vec<String> = places.into_iter().chain(over).chain(format::disagreement(&standing.rivals)).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let text = search::why::view::whole(record);
    let by: Vec<String> = [sections::name(&record.envelope.ai)]
        .into_iter()
        .chain(format::signed_by(standing.signer.as_ref()))
        .chain([safe::words(&day)])
        .collect();
    format!("{kind} {id} of {}{about}: {}", by.join(", "), safe::words(&text))
}

/// The text for a session that starts or resumes: the most useful entries within its budget, and a count of the others.
/// Empty without content.
fn session_brief(brief: &SessionBrief, fence: &Fence, templates: &mut Templates) -> Result<String> {
    let steps = brief.handed.iter().flat_map(|(listed, arrival)| remaining(&listed.handoff, arrival).next_steps);
    let mut lists = sections::start(&brief.project.overview, steps.collect());
    lists.insert(0, inbox(brief));
    let has_moved = brief.gate.as_ref().is_some_and(|gate| !drift(gate).is_empty());
    if lists.iter().all(|list| list.entries.is_empty())
        && brief.handed.is_none()
        && !has_moved
        && brief.warnings.is_empty()
        && !brief.lacks_setup
    {
        return Ok(String::new());
    }
    let room = brief.budget - brief.budget / 25 - 2.min(brief.budget);
    let lists = budget::truncated(&lists, room / LEAST);
    let fits = |text: &String| project_overview::view::cost(text) <= room;
    if lists.iter().all(|list| list.omitted == 0)
        && let Some(whole) = Some(assembled(brief, fence, &lists, false, "")).filter(fits)
    {
        return Ok(whole);
    }
    let command = project_overview::view::command_for_all(&brief.project, templates)?.to_string();
    let steps = [(Shortening::Texts((room / 16).max(24)), Keep::Musts)];
    let shown = budget::fit(&lists, OutputForm::Text, &steps, |lists, _, less| {
        Ok(Some(assembled(brief, fence, &lists, less, &command)).filter(fits))
    })?;
    Ok(shown.unwrap_or_default())
}

/// Most handoffs for the agent that are named.
const INBOX: usize = 3;

/// The handoffs that wait for the agent; those that are named are never dropped.
fn inbox(SessionBrief { inbox: (waiting, _), now, .. }: &SessionBrief) -> BudgetList {
    let line = |listed: &ListedHandoff| {
        let mut text = task::inbox::line(listed, now);
        budget::shorten(&mut text, GUARD_ENTRY);
        budget::must(budget::plain(&text))
    };
    let entries = waiting.iter().take(INBOX).map(line).collect();
    budget::list("inbox", "Waiting for you", entries)
}

fn assembled(brief: &SessionBrief, fence: &Fence, lists: &[BudgetList], shortened: bool, command: &str) -> String {
    let word = if brief.continues { "continues" } else { "has started" };
    let mut out = format!("git empirica: session {} {word}.\n", brief.session.short());
    out.extend(brief.gate.as_ref().map(drift));
    if brief.inbox.1 > 0 {
        let waiting = format::count(brief.inbox.1, "handoff");
        let (accept, inbox) = (empirica("accept"), empirica("inbox"));
        out.push_str(&format!("{waiting} for you: claim one with {accept} <id>; {inbox} lists them.\n"));
    }
    brief.warnings.iter().for_each(|text| out.push_str(&format!("{}.\n", safe::line(text))));
    if brief.lacks_setup {
        out.push_str(&format!("git push does not send what you log here until someone runs {}.\n", empirica("init")));
    }
    let mut records = String::new();
    let since = brief.handed.as_ref().map(|(listed, arrival)| {
        let (ai, id) = (sections::name(&listed.envelope.ai), listed.envelope.id.short());
        let signed = format::signed_by(brief.signer.as_ref()).map(|signed| format!(", {signed}")).unwrap_or_default();
        let task = Some(safe::words(&resume::view::shortened(&listed.handoff.task))).filter(|task| !task.is_empty());
        let task = task.map(|task| format!(": {task}")).unwrap_or_default();
        records.push_str(&format!("Last handed over by {ai}{signed}{task} ({})\n", empirica("show").arg(id)));
        arrival::view::packed(arrival, Detail::Summary, Shortening::Musts(24, 16), OutputForm::Text).text
    });
    for list in lists.iter().filter(|list| !list.entries.is_empty()) {
        let entries: String = list.entries.iter().map(|entry| format!("- {}\n", entry.text)).collect();
        records.push_str(&format!("\n{}:\n{entries}", list.title));
    }
    let mut left = budget::omitted_texts(lists);
    records.extend(since.filter(|since| !since.is_empty()).map(|since| format!("\n{since}\n")));
    out.push_str(&fence.around(&records));
    left.extend(shortened.then(|| "the rest of shortened texts".to_owned()));
    if !left.is_empty() {
        out.push_str(&format!("Left out: {}. All of it: {command}\n", left.join(", ")));
    }
    out
}

/// The drift of confidence in one line; empty with fewer than two assessments.
fn drift(gate: &Gate) -> String {
    if gate.drift.analyzed < 2 {
        return String::new();
    }
    let advice = gate.recommendation.map(|word| format!(" Recommendation: {}.", word.replace('_', " ")));
    format!("{}.{}\n", safe::line(&drift_line(&gate.drift)), advice.unwrap_or_default())
}

//! What a hook of an agent puts before its model.

use crate::fold::assessment::gate::Gate;
use crate::handoff::arrival;
use crate::handoff::arrival::fold::remaining;
use crate::handoff::pack::Detail;
use crate::hooks::agent::{Injection, SessionBrief};
use crate::render::budget::{self, BudgetList, Keep, LEAST, OutputForm, Press};
use crate::render::drift::drift_line;
use crate::render::safe;
use crate::render::template::Templates;
use crate::session::bootstrap::sections;
use crate::session::{bootstrap, compaction, resume};
use empirica_notes::error::{Result, empirica};

/// The text; empty when there is nothing to say.
pub fn text(inject: &Injection, templates: &mut Templates) -> Result<String> {
    Ok(match inject {
        Injection::Session(start) => begun(start, templates)?,
        Injection::Compacted(taken, outcome, gate) => {
            let block =
                compaction::view::answer(taken, outcome, compaction::view::BUDGET, OutputForm::Text, templates)?.text;
            format!("git empirica: session {} goes on.\n{}\n{block}", taken.session_id, drift(gate))
        }
        Injection::Unsafe(id, gate) => format!(
            "git empirica: the last CHECK of session {id} was not safe to act on. {}\nBefore acting: what really changed is logged as \
             findings or evidence, and another CHECK is made.\n",
            drift(gate).trim_end()
        ),
    })
}

/// What a session begins with: as much of the most useful as its budget has room for, and how much there is beside it. Empty when there
/// is nothing.
fn begun(start: &SessionBrief, templates: &mut Templates) -> Result<String> {
    let steps = start.handed.iter().flat_map(|(listed, arrival)| remaining(&listed.handoff, arrival).next_steps);
    let lists = sections::start(&start.project.overview, steps.collect());
    let has_moved = start.gate.as_ref().is_some_and(|gate| !drift(gate).is_empty());
    if lists.iter().all(|list| list.entries.is_empty()) && start.handed.is_none() && !has_moved {
        return Ok(String::new());
    }
    let room = start.budget - start.budget / 25 - 2.min(start.budget);
    let lists = budget::truncated(&lists, room / LEAST);
    let fits = |text: &String| bootstrap::view::cost(text) <= room;
    if lists.iter().all(|list| list.omitted == 0)
        && let Some(whole) = Some(assembled(start, &lists, false, "")).filter(fits)
    {
        return Ok(whole);
    }
    let command = bootstrap::view::command_for_all(&start.project, templates)?.to_string();
    let steps = [(Press::Texts((room / 16).max(24)), Keep::Musts)];
    let shown = budget::fit(&lists, OutputForm::Text, &steps, |lists, _, less| {
        Ok(Some(assembled(start, &lists, less, &command)).filter(fits))
    })?;
    Ok(shown.unwrap_or_default())
}

fn assembled(start: &SessionBrief, lists: &[BudgetList], shortened: bool, command: &str) -> String {
    let word = if start.gate.is_some() { "goes on" } else { "has begun" };
    let mut out = format!("git empirica: session {} {word}.\n", start.session.short());
    out.extend(start.gate.as_ref().map(drift));
    let since = start.handed.as_ref().map(|(listed, arrival)| {
        let (ai, id) = (sections::name(&listed.head.ai), listed.head.id.short());
        let task = safe::words(&resume::view::shortened(&listed.handoff.task));
        out.push_str(&format!("Last handed over by {ai}: {task} ({})\n", empirica("show").arg(id)));
        arrival::view::packed(arrival, Detail::Summary, Press::Musts(24, 16), OutputForm::Text).text
    });
    for list in lists.iter().filter(|list| !list.entries.is_empty()) {
        let entries: String = list.entries.iter().map(|entry| format!("- {}\n", entry.text)).collect();
        out.push_str(&format!("\n{}:\n{entries}", list.title));
    }
    let mut left = budget::omitted_texts(lists);
    out.extend(since.filter(|since| !since.is_empty()).map(|since| format!("\n{since}\n")));
    left.extend(shortened.then(|| "the rest of shortened texts".to_owned()));
    if !left.is_empty() {
        out.push_str(&format!("\nLeft out: {}. All of it: {command}\n", left.join(", ")));
    }
    out
}

/// How confidence moved, in a line; empty when there is nothing to compare.
fn drift(gate: &Gate) -> String {
    if gate.drift.analyzed < 2 {
        return String::new();
    }
    let advice = gate.recommendation.map(|word| format!(" Recommendation: {}.", word.replace('_', " ")));
    format!("{}.{}\n", safe::line(&drift_line(&gate.drift)), advice.unwrap_or_default())
}

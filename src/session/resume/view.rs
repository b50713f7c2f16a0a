//! The answer of `resume`: sessions packed into their budgets.

use serde_json::{Map, Value, json};

use crate::fold::assessment::confidence::overall;
use crate::handoff::pack::{Detail, is_derived, lists, session_duration};
use crate::handoff::view::markdown;
use crate::history::show::short_commit;
use crate::render::answer::Answer;
use crate::render::budget::{BudgetList, Order, OutputForm, Press, keep, most, ordered, press};
use crate::render::template::Templates;
use crate::render::{format, safe};
use crate::session::resume::{ResumeOutcome, ResumedSession};
use crate::text::tokens;
use empirica_notes::error::{Command, Result, Shell, Text, empirica, text};
use empirica_notes::model::handoff::Assessed;
use empirica_notes::model::{Body, Record};

/// How the answer is wanted.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct ResumeForm {
    pub detail: Detail,
    /// The most tokens of the whole answer.
    pub budget: Option<usize>,
    pub form: OutputForm,
}

/// A session as it is shown.
struct Shown {
    json: Map<String, Value>,
    lists: Vec<BudgetList>,
    arrival: String,
    omitted: String,
}

/// The least a session is worth showing with, in tokens.
const LEAST: usize = 90;

/// Packs the sessions and answers. What is left of one session's share goes to those after it.
pub fn answer(outcome: &ResumeOutcome, wanted: ResumeForm, terminal: &mut Templates) -> Result<Answer> {
    let all = outcome.sessions.len();
    // short texts can take a little more than estimated
    let asked = wanted.budget.map_or(usize::MAX, |budget| budget - budget / 25 - 2);
    let most = asked.min(wanted.detail.budget() * all.max(1));
    let since = assessed_since(outcome);
    let frame = match wanted.form {
        OutputForm::Text => tokens::estimate(&since),
        OutputForm::Json => {
            tokens::estimate(&safe::json(&document(outcome, wanted, Vec::new(), 0).document(&Shell).into())) + 2
        }
    };
    let room = most.saturating_sub(frame);
    let mut shown = Vec::new();
    // rather fewer sessions than heads without a body, and the newest ones
    for count in (1..=all.min(room / LEAST + 1)).rev() {
        // a line for those that do not fit at all
        let line = if count < all { tokens::estimate(&left_out(all)) + 10 } else { 0 };
        shown = together(&outcome.sessions[..count], wanted, room.saturating_sub(line), terminal)?;
        if !shown.is_empty() {
            break;
        }
    }
    let missing = all - shown.len();
    let (text, sessions) = match wanted.form {
        OutputForm::Text if shown.is_empty() && missing > 0 => (left_out(missing) + "\n", Vec::new()),
        OutputForm::Text => {
            let rest = if missing > 0 { format!("\n{}\n", left_out(missing)) } else { String::new() };
            (text(&shown, terminal, &nothing(outcome).to_string())? + &since + &rest, Vec::new())
        }
        OutputForm::Json => (String::new(), shown.into_iter().map(|s| Value::Object(s.json)).collect::<Vec<_>>()),
    };
    Ok(document(outcome, wanted, sessions, missing).text(text))
}

/// All of these sessions within `room` tokens, or none when they do not fit together.
fn together(
    sessions: &[ResumedSession],
    wanted: ResumeForm,
    mut room: usize,
    terminal: &mut Templates,
) -> Result<Vec<Shown>> {
    let mut shown = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let share = (room / (sessions.len() - at)).min(wanted.detail.budget());
        let Some(packed) = packed(session, wanted, share, terminal)? else { return Ok(Vec::new()) };
        room = room.saturating_sub(measured(&packed, wanted.form, terminal)?);
        shown.push(packed);
    }
    Ok(shown)
}

/// What is said of sessions for which there was no room.
fn left_out(sessions: usize) -> String {
    format!("Left out: {}. All of them: {}", format::count(sessions, "session"), empirica("session list"))
}

/// The newest assessment of a later session that handed nothing over.
fn last_assessed(outcome: &ResumeOutcome) -> Option<(&ResumedSession, &Assessed)> {
    let session = outcome.assessed_since.as_ref()?;
    Some((session, session.handoff.assessments.last()?))
}

/// The same in a line.
fn assessed_since(outcome: &ResumeOutcome) -> String {
    let Some((session, last)) = last_assessed(outcome) else { return String::new() };
    let vectors = last.vectors.iter().take(3).map(|(vector, value)| format!("{} {value:.2}", vector.name()));
    format!(
        "\nSince then {} assessed itself: {} {}, {}. All of it: {}\n",
        safe::line(&shortened(&session.ai_id)),
        last.phase.name(),
        last.round,
        vectors.collect::<Vec<_>>().join(", "),
        empirica("session show").arg(session.session_id.short())
    )
}

/// That there is nothing, or nothing of the agent that was asked for.
fn nothing(outcome: &ResumeOutcome) -> Text {
    match &outcome.ai {
        Some(ai) => text![
            format!("No sessions found for ai_id={}. Others' sessions: ", safe::line(ai)),
            empirica("session list")
        ],
        None => text!["Nothing to resume from is stored here. Others' records come with ", empirica("sync"), "."],
    }
}

fn document(outcome: &ResumeOutcome, wanted: ResumeForm, sessions: Vec<Value>, missing: usize) -> Answer {
    let mut json = json!({
        "sessions": sessions,
        "total_sessions": outcome.sessions.len(),
        "detail_level": wanted.detail.name(),
    });
    if let Some((session, last)) = last_assessed(outcome) {
        json["assessed_since"] = json!({
            "session_id": session.session_id,
            "ai_id": shortened(&session.ai_id),
            "timestamp": last.at,
            "phase": last.phase.name(),
            "round": last.round,
            "overall_confidence": overall(&last.vectors),
        });
    }
    if outcome.sessions.is_empty() {
        json["message"] = json!(nothing(outcome));
    }
    if missing > 0 {
        json["omitted"] = json!({"sessions": missing, "command": empirica("session list")});
    }
    let mut answer = Answer::new(json).warn(outcome.warnings.clone()).counted();
    answer = answer.remedy("/message", nothing(outcome)).remedy("/omitted/command", empirica("session list"));
    for (at, session) in outcome.sessions.iter().enumerate() {
        answer = answer.remedy(format!("/sessions/{at}/omitted/command"), command(session));
    }
    answer.json.insert("token_estimate".to_owned(), Value::Null);
    answer
}

/// A session within its budget. It is pressed harder until it fits, and gives up the entries that matter least;
/// `None` when not even its head fits.
fn packed(
    session: &ResumedSession,
    wanted: ResumeForm,
    budget: usize,
    terminal: &mut Templates,
) -> Result<Option<Shown>> {
    let mut all = lists(&session.remaining(), wanted.detail);
    // an entry takes a token at least: what cannot be there in any form need not be tried
    let every = ordered(&all);
    keep(&mut all, &every[..every.len().min(budget)]);
    let longest = (budget / 8).max(24);
    let mut attempt = |how: Press, kept: &[Order]| -> Result<Option<Shown>> {
        let mut lists = all.clone();
        let less = press(&mut lists, how, wanted.form);
        keep(&mut lists, kept);
        let shown = assembled(session, lists, less, how, wanted);
        let spent = measured(&shown, wanted.form, terminal)?;
        Ok((spent <= budget).then_some(shown))
    };
    let every = ordered(&all);
    for how in [Press::Nothing, Press::Brief, Press::Texts(longest)] {
        if let Some(mut shown) = attempt(how, &every)? {
            if wanted.detail == Detail::Full && wanted.form == OutputForm::Json {
                let spent = measured(&shown, wanted.form, terminal)?;
                place_markdown(&mut shown, full_markdown(session)?, budget.saturating_sub(spent), session);
            }
            return Ok(Some(shown));
        }
    }
    let musts = every.iter().filter(|(may_go, _)| !may_go).count();
    for how in [Press::Texts(longest), Press::Musts(longest, 24), Press::Musts(longest, 16)] {
        if attempt(how, &every[..musts])?.is_some() {
            return most(&every, musts, |kept| attempt(how, kept));
        }
    }
    most(&every[..musts], 0, |kept| attempt(Press::Musts(longest, 12), kept))
}

fn measured(shown: &Shown, form: OutputForm, terminal: &mut Templates) -> Result<usize> {
    Ok(match form {
        OutputForm::Json => tokens::estimate(&safe::json(&Value::Object(shown.json.clone()))),
        OutputForm::Text => tokens::estimate(&text(std::slice::from_ref(shown), terminal, "")?),
    })
}

fn full_markdown(session: &ResumedSession) -> Result<String> {
    let Some(head) = &session.head else { return Ok(String::new()) };
    let record = Record { head: head.clone(), body: Body::Handoff(Box::new(session.handoff.clone())) };
    markdown(&mut Templates::built_in(), &record)
}

/// The whole Markdown when there is room for it; else its place names the command that shows it.
fn place_markdown(shown: &mut Shown, markdown: String, room: usize, session: &ResumedSession) {
    let fits = !markdown.is_empty() && tokens::estimate(&Value::from(markdown.as_str()).to_string()) + 4 <= room;
    let value = if fits { json!(markdown) } else { Value::Null };
    shown.json.insert("full_markdown".to_owned(), value);
    if !fits {
        let omitted = shown.json.entry("omitted").or_insert_with(|| json!({}));
        omitted["full_markdown"] = json!(1);
        omitted["command"] = json!(command(session));
    }
}

fn command(session: &ResumedSession) -> Command {
    match &session.head {
        Some(head) => empirica("show").arg(head.id.short()),
        None => empirica("session show").arg(session.session_id.short()),
    }
}

/// The head of a session. The brief one leaves out what the commands of this program find again.
fn header(session: &ResumedSession, brief: bool) -> Map<String, Value> {
    let handoff = &session.handoff;
    let json = json!({
        "session_id": session.session_id,
        "ai_id": shortened(&session.ai_id),
        "handoff_id": session.head.as_ref().map(|head| &head.id),
        "timestamp": session.timestamp,
        "duration": session_duration(handoff),
        "duration_seconds": handoff.duration_seconds,
        "session_status": if session.active { "active" } else { "ended" },
        "source": if session.head.is_some() { "handoff" } else { "summary" },
        "since_handoff": session.since_handoff,
        "commit": session.head.as_ref().and_then(|head| head.commit.clone()),
        "task": shortened(&handoff.task),
        "calibration_status": handoff.calibration_status,
    });
    let Value::Object(mut map) = json else { return Map::new() };
    if brief {
        ["handoff_id", "commit", "session_status"].into_iter().for_each(|key| drop(map.shift_remove(key)));
        map.retain(|key, value| !(key == "since_handoff" && *value == 0 || key == "source" && *value == "handoff"));
    }
    map
}

/// A task as the head of a session shows it: its first 60 tokens.
pub(crate) fn shortened(task: &str) -> String {
    match tokens::truncate_to(task, 60) {
        (whole, false) => whole.to_owned(),
        (part, true) => format!("{}…", part.trim_end()),
    }
}

fn assembled(
    session: &ResumedSession,
    lists: Vec<BudgetList>,
    mut shortened: bool,
    how: Press,
    wanted: ResumeForm,
) -> Shown {
    let brief = how != Press::Nothing;
    let mut json = header(session, brief && wanted.form == OutputForm::Json);
    if wanted.form == OutputForm::Json && matches!(how, Press::Texts(_) | Press::Musts(..)) {
        // where texts are cut, the duration in words is enough
        json.shift_remove("duration_seconds");
    }
    let mut omitted = Map::new();
    let mut left: Vec<String> = Vec::new();
    for list in &lists {
        let brief = brief && wanted.form == OutputForm::Json;
        let mut entries: Vec<Value> = list.entries.iter().map(|entry| entry.json.clone()).collect();
        let value = match list.key {
            "epistemic_deltas" => entries.pop().unwrap_or_else(|| json!({})),
            "next_session_context" => entries.pop().unwrap_or_else(|| json!("")),
            _ => Value::Array(entries),
        };
        // an empty list says that there is nothing; one that is left out is named below
        let is_no_text = brief && value == "";
        if (list.omitted == 0 || !list.entries.is_empty()) && !is_no_text {
            json.insert(list.key.to_owned(), value);
        }
        let by_rule = list.entries.iter().filter(|entry| entry.by_rule).count();
        if by_rule > 0 {
            json.insert(format!("{}_by_rule", list.key), json!(by_rule));
        }
        if list.omitted > 0 {
            let key = if brief && is_derived(list) { "derived" } else { list.key };
            let known = omitted.get(key).and_then(Value::as_u64).unwrap_or(0);
            omitted.insert(key.to_owned(), json!(known + list.omitted as u64));
            left.push(format!("{} ({})", list.title.to_lowercase(), list.omitted));
        }
    }
    let mut arrived = String::new();
    if let Some(arrival) = &session.arrival {
        let packed = crate::handoff::arrival::view::packed(arrival, wanted.detail, how, wanted.form);
        json.insert("arrival".to_owned(), packed.json);
        arrived = packed.text;
        shortened |= packed.shortened;
        let more: usize = packed.omitted.iter().map(|(_, count)| count).sum();
        if more > 0 {
            left.push(format!("what became of it ({more})"));
        }
        omitted.extend(packed.omitted.into_iter().map(|(key, count)| (key.to_owned(), json!(count))));
    } else if !brief || wanted.form == OutputForm::Text {
        json.insert("arrival".to_owned(), Value::Null);
    }
    // the brief head is less than the whole one, too
    if shortened || (brief && wanted.form == OutputForm::Json && omitted.is_empty()) {
        omitted.insert("shortened".to_owned(), json!(true));
        left.push("the rest of shortened texts".to_owned());
    }
    let mut text = String::new();
    if !left.is_empty() {
        omitted.insert("command".to_owned(), json!(command(session)));
        json.insert("omitted".to_owned(), Value::Object(omitted));
        text = format!("Left out: {}. All of it: {}", left.join(", "), command(session));
    } else if wanted.detail != Detail::Full && wanted.form == OutputForm::Text {
        text = format!("All of it: {}", command(session));
    }
    Shown { json, lists, arrival: arrived, omitted: text }
}

fn text(sessions: &[Shown], terminal: &mut Templates, message: &str) -> Result<String> {
    let view = |shown: &Shown| {
        let lists: Vec<Value> = shown
            .lists
            .iter()
            .filter(|list| !list.entries.is_empty())
            .map(|list| json!({"title": list.title, "entries": list.entries.iter().map(|e| &e.text).collect::<Vec<_>>()}))
            .collect();
        let mut view = shown.json.clone();
        let note = match (shown.json["source"].as_str(), shown.json["since_handoff"].as_u64()) {
            (Some("summary"), _) => {
                Some("It wrote no handoff: this is a summary of its journal and assessments.".to_owned())
            }
            (_, Some(since)) if since > 0 => Some(format!(
                "After the handoff it made {} more: {}",
                format::count(since as usize, "record"),
                empirica("session show")
                    .arg(shown.json["session_id"].as_str().unwrap_or_default().get(..8).unwrap_or_default())
            )),
            _ => None,
        };
        view.insert("status".to_owned(), shown.json["session_status"].clone());
        view.insert("note".to_owned(), json!(note));
        view.insert("since".to_owned(), json!(shown.arrival));
        view.insert("commit".to_owned(), json!(short_commit(shown.json["commit"].as_str())));
        view.insert("lists".to_owned(), Value::Array(lists));
        view.insert("omitted_text".to_owned(), json!(shown.omitted));
        Value::Object(view)
    };
    let sessions: Vec<Value> = sessions.iter().map(view).collect();
    let text = terminal.render("resume.md", json!({"sessions": sessions, "message": message}))?;
    Ok(text.trim_end().to_owned() + "\n")
}

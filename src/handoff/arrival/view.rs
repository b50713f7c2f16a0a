//! Views of the changes since a handoff: packed in `resume`, whole in `show`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::handoff::arrival::fold::Arrival;
use crate::handoff::pack::Detail;
use crate::render::answer::Answer;
use crate::render::budget::{OutputForm, Press, shorten_in};
use crate::render::{format, safe};
use empirica_notes::error::{empirica, quote};

/// The lists of an arrival by importance.
const LISTS: [&str; 4] = ["changed_artifacts", "missing_artifacts", "resolved_unknowns", "stale_evidence"];

/// An arrival packed for the answer about a session.
#[derive(Debug)]
pub struct PackedArrival {
    pub json: Value,
    /// May be empty.
    pub text: String,
    /// Omitted entries by key, without zeros.
    pub omitted: Vec<(&'static str, usize)>,
    /// Whether a text was cut.
    pub shortened: bool,
}

/// Most entries of a list, and most tokens of a text.
fn limits(detail: Detail, how: Press) -> (usize, usize) {
    match (how, detail) {
        (Press::Nothing | Press::Brief, Detail::Summary) => (3, 60),
        (Press::Nothing | Press::Brief, Detail::Detailed) => (5, 60),
        (Press::Nothing | Press::Brief, Detail::Full) => (10, 60),
        (Press::Texts(_), _) => (2, 24),
        (Press::Musts(_, later), _) if later > 12 => (1, 16),
        (Press::Musts(..), _) => (0, 0),
    }
}

/// Packs an arrival. The JSON lacks lists without remaining entries; if pressed, also values without news: empty lists, no unjudged
/// artifacts, a reachable commit.
pub fn packed(arrival: &Arrival, detail: Detail, how: Press, form: OutputForm) -> PackedArrival {
    let (most, longest) = limits(detail, how);
    let whole = serde_json::to_value(arrival).unwrap_or_default();
    let mut omitted = Vec::new();
    let mut json = Map::new();
    let mut shortened = false;
    for (key, mut value) in whole.as_object().cloned().unwrap_or_default() {
        if let Some(list) = LISTS.iter().find(|list| **list == key)
            && let Value::Array(entries) = &mut value
        {
            let mut more = entries.len().saturating_sub(most);
            entries.truncate(most);
            if form == OutputForm::Json {
                more += entries.iter_mut().map(|entry| cut_files(entry, most)).sum::<usize>();
            }
            if more > 0 {
                omitted.push((*list, more));
                if entries.is_empty() {
                    continue;
                }
            }
            shortened |= entries.iter_mut().fold(false, |less, entry| shorten(entry, longest) | less);
        }
        json.insert(key, value);
    }
    let text = text(&Value::Object(json.clone()), &whole, arrival);
    if how != Press::Nothing {
        json.retain(|key, value| match key.as_str() {
            "commits_since" => true,
            "reachable" => *value != true,
            "unjudged_artifacts" => *value != 0,
            _ => *value != json!([]),
        });
    }
    PackedArrival { json: Value::Object(json), text, omitted, shortened }
}

/// Shortens the texts of an entry except its ID. Returns whether any was longer.
fn shorten(entry: &mut Value, longest: usize) -> bool {
    match entry {
        Value::Object(map) => {
            let texts = map.iter_mut().filter(|(key, _)| *key != "id");
            texts.fold(false, |less, (_, text)| shorten_in(text, longest) | less)
        }
        text => shorten_in(text, longest),
    }
}

/// Cuts the files of stale evidence. Returns how many were omitted.
fn cut_files(entry: &mut Value, most: usize) -> usize {
    let Some(files) = entry.get_mut("files").and_then(Value::as_array_mut) else { return 0 };
    let more = files.len().saturating_sub(most);
    files.truncate(most);
    more
}

/// A file name on one line, quoted for a shell if necessary.
fn name(file: &str) -> String {
    safe::words(&quote(&safe::line(file)))
}

/// The text of `kept`, the packed form of `whole`.
fn text(kept: &Value, whole: &Value, arrival: &Arrival) -> String {
    // without entries, only their number: "2 artifacts changed"
    let listed = |key: &str, title: &str, noun: &str, state: &str, word: &dyn Fn(&Value) -> String| {
        let all = whole[key].as_array().map_or(0, Vec::len);
        let entries: Vec<String> = kept[key].as_array().into_iter().flatten().map(word).collect();
        match (all, all - entries.len()) {
            (0, _) => None,
            (_, 0) => Some(format!("{title}: {}", entries.join(", "))),
            (_, more) if more == all => Some(format!("{} {state}", format::count(all, noun))),
            (_, more) => Some(format!("{title}: {} (+{more} more)", entries.join(", "))),
        }
    };
    let answered = |entry: &Value| {
        let text = |key: &str| safe::words(entry[key].as_str().unwrap_or_default());
        format!("{} → {} ({})", text("question"), text("answer"), text("ai_id"))
    };
    let command = |entry: &Value| safe::words(entry["command"].as_str().unwrap_or_default());
    let file = |entry: &Value| name(entry.as_str().unwrap_or_default());
    let lists = [
        listed("changed_artifacts", "changed", "artifact", "changed", &file),
        listed("missing_artifacts", "missing", "artifact", "missing", &file),
        listed("resolved_unknowns", "answered", "unknown", "answered", &answered),
        listed("stale_evidence", "evidence older than the code", "check", "older than the code", &command),
        unjudged(arrival),
    ];
    let mut parts: Vec<String> = lists.into_iter().flatten().collect();
    let is_at_head = arrival.commit.commits_since == Some(0) && arrival.commit.reachable == Some(true);
    let is_unchanged = parts.is_empty() && is_at_head;
    if let Some(commits) = commits(arrival)
        && !is_unchanged
    {
        parts.insert(0, commits);
    }
    let changes = match (is_unchanged, parts.is_empty()) {
        (true, _) => Some("Nothing changed since.".to_owned()),
        (_, true) => None,
        _ => Some(format!("Since then: {}.", parts.join("; "))),
    };
    changes.into_iter().chain(lost(arrival)).collect::<Vec<_>>().join("\n")
}

fn unjudged(arrival: &Arrival) -> Option<String> {
    let number = arrival.unjudged_artifacts;
    (number > 0).then(|| format!("{} not compared", format::count(number, "artifact")))
}

/// The commits since, in words; `None` if unknown.
fn commits(arrival: &Arrival) -> Option<String> {
    let count = arrival.commit.commits_since?;
    Some(match (count, arrival.commit.reachable) {
        (0, _) => "no commit".to_owned(),
        (_, Some(true)) => format::count(count, "commit"),
        _ => format!("HEAD has {}", format::count(count, "other commit")),
    })
}

/// The place of a commit outside HEAD's history, with a remedy.
fn lost(arrival: &Arrival) -> Option<String> {
    let doctor = empirica("doctor");
    Some(match (arrival.commit.reachable, arrival.commit.is_here?) {
        (Some(true), _) => return None,
        (Some(false), true) => format!("Its commit is not in HEAD's history; if that was rewritten: {doctor}"),
        (Some(false), false) => format!("Its commit is not in this clone; fetch it, or: {doctor}"),
        (None, true) => "History is cut off before its commit: git fetch --unshallow".to_owned(),
        (None, false) => "Its commit is not in this shallow clone: git fetch --unshallow".to_owned(),
    })
}

/// A handoff's arrival.
#[derive(Serialize, JsonSchema)]
pub struct ArrivalView<'a> {
    /// The changes since.
    arrival: &'a Arrival,
}

/// Adds an arrival to the answer of `show`: under `arrival`, and `in_text` as the last section of the Markdown.
pub fn added(answer: Answer, arrival: &Arrival, in_text: bool) -> Answer {
    let mut answer = answer.with(ArrivalView { arrival });
    if in_text {
        answer.text = format!("{}\n{}", answer.text, section(arrival));
    }
    answer
}

fn section(arrival: &Arrival) -> String {
    let mut lines: Vec<String> = commits(arrival).into_iter().collect();
    let named = |title: &str, files: &Option<Vec<String>>| -> Vec<String> {
        files.iter().flatten().map(|file| format!("{title}: {}", name(file))).collect()
    };
    lines.extend(named("changed", &arrival.changed_artifacts));
    lines.extend(named("missing", &arrival.missing_artifacts));
    let answered = arrival.resolved_unknowns.iter();
    lines.extend(answered.map(|r| safe::item_of(format!("answered: {} → {} ({})", r.question, r.answer, r.ai_id))));
    let stale = arrival.stale_evidence.iter().flatten();
    lines.extend(stale.map(|stale| {
        let files: Vec<String> = stale.files.iter().map(|file| name(file)).collect();
        format!("evidence older than the code: {} ({})", safe::words(&stale.command), files.join(", "))
    }));
    lines.extend(unjudged(arrival));
    lines.extend(lost(arrival));
    if lines == ["no commit"] {
        lines = vec!["nothing changed".to_owned()];
    }
    if lines.is_empty() {
        lines.push("nothing is known".to_owned());
    }
    format!("## Since Then\n\n- {}\n", lines.join("\n- "))
}

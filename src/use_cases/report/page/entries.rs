//! The lists of the page.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::render::{format, safe};
use crate::text::shorten::short;
use crate::use_cases::report::gather::ReportOutcome;
use crate::use_cases::search::why::view::whole;
use empirica_notes::model::{Body, Envelope, Id, Record, SessionId};

/// Most characters of a text.
const TEXT: usize = 1200;

/// Shown for a session without a task.
pub const NO_TASK: &str = "no task was named";

#[derive(Debug, Default, Serialize)]
pub(crate) struct PageEntry {
    full: Option<Id>,
    id: String,
    text: String,
    /// Answer, reason or next step.
    more: Option<String>,
    /// The kind, in a list of several kinds.
    kind: Option<String>,
    /// A few words each.
    notes: Vec<String>,
    ai: String,
    at: String,
    commit: Option<String>,
    session: Option<SessionId>,
    /// Whether the page has the session.
    is_here: bool,
}

pub struct PageEntries<'o> {
    outcome: &'o ReportOutcome,
    here: BTreeSet<&'o SessionId>,
    /// The sessions that continued each session.
    pub continued: BTreeMap<&'o SessionId, Vec<&'o SessionId>>,
}

impl<'o> PageEntries<'o> {
    pub(crate) fn new(outcome: &'o ReportOutcome) -> Self {
        let here = outcome.sessions.iter().map(|story| &story.records.session.id).collect();
        let mut continued: BTreeMap<&SessionId, Vec<&SessionId>> = BTreeMap::new();
        for handover in &outcome.handovers {
            let after = continued.entry(&handover.from).or_default();
            if !after.contains(&&handover.to) {
                after.push(&handover.to);
            }
        }
        PageEntries { outcome, here, continued }
    }

    pub fn has(&self, session: &SessionId) -> bool {
        self.here.contains(session)
    }

    fn entry(&self, envelope: &Envelope, text: &str) -> PageEntry {
        PageEntry {
            full: Some(envelope.id.clone()),
            id: envelope.id.short().to_owned(),
            text: shown(text),
            ai: safe::line(&envelope.ai),
            at: format::date(&envelope.at),
            commit: envelope.commit.as_deref().map(|commit| safe::line(commit).chars().take(8).collect()),
            session: envelope.session.clone(),
            is_here: envelope.session.as_ref().is_some_and(|session| self.has(session)),
            ..PageEntry::default()
        }
    }

    /// Entries of questions, runs of checks, and handoffs.
    pub(crate) fn records(&self, records: &[Record]) -> Vec<PageEntry> {
        let entry = |record: &Record| match &record.body {
            Body::Unknown(unknown) => Some(self.entry(&record.envelope, &unknown.text)),
            Body::Evidence(run) => {
                let notes = vec![format!("exit {}", run.exit)];
                Some(PageEntry { notes, ..self.entry(&record.envelope, &run.command) })
            }
            Body::Handoff(handoff) => {
                let notes = handoff.to.iter().map(|to| format!("for {}", safe::line(to))).collect();
                let kind = (handoff.kind != "epistemic").then(|| safe::line(&handoff.kind).replace('_', " "));
                let more = handoff.next_steps.first().map(|step| shown(step));
                Some(PageEntry { notes, kind, more, ..self.entry(&record.envelope, &handoff.task) })
            }
            _ => None,
        };
        records.iter().filter_map(entry).collect()
    }

    pub(crate) fn stale(&self) -> Vec<PageEntry> {
        let stale = self.outcome.attention.stale.iter().map(|(envelope, stale)| {
            let notes = stale.files.iter().map(|file| safe::line(file)).collect();
            let more = Some("passed before these files changed".to_owned());
            PageEntry { notes, more, ..self.entry(envelope, &stale.command) }
        });
        stale.collect()
    }

    pub(crate) fn lost(&self) -> Vec<PageEntry> {
        let lost = self.outcome.attention.lost.claims.iter().map(|(record, places)| {
            let notes = places.iter().map(|place| safe::line(&place.text())).collect();
            let kind = Some(record.body.kind().replace('_', " "));
            PageEntry { notes, kind, ..self.entry(&record.envelope, &whole(record)) }
        });
        lost.collect()
    }

    pub(crate) fn disagreeing(&self) -> Vec<PageEntry> {
        let disagreeing = self.outcome.attention.disagreeing.iter().map(|(record, others)| {
            let notes = format::disagreement(others).into_iter().collect();
            let kind = Some(record.body.kind().replace('_', " "));
            PageEntry { notes, kind, ..self.entry(&record.envelope, &whole(record)) }
        });
        disagreeing.collect()
    }

    pub(crate) fn quiet(&self) -> Vec<PageEntry> {
        let quiet = self.outcome.sessions.iter().filter(|story| story.is_quiet(self.outcome.now)).map(|story| {
            let session = &story.records.session;
            PageEntry {
                text: shown(session.task.as_deref().unwrap_or(NO_TASK)),
                ai: safe::line(&session.ai),
                at: format!("last record {}", format::date(&story.records.last_at)),
                session: Some(session.id.clone()),
                is_here: true,
                ..PageEntry::default()
            }
        });
        quiet.collect()
    }

    pub(crate) fn goals(&self) -> Vec<PageEntry> {
        let goals = self.outcome.attention.goals.iter().map(|(envelope, goal)| {
            let notes = [Some(format!("{} priority", goal.priority.name())), goal.progress()];
            PageEntry { notes: notes.into_iter().flatten().collect(), ..self.entry(envelope, &goal.text) }
        });
        goals.collect()
    }

    /// Facts, grouped by the first file they are about, otherwise by commit.
    pub(crate) fn facts(&self) -> Vec<Value> {
        let mut groups: BTreeMap<(bool, &str), Vec<PageEntry>> = BTreeMap::new();
        for fact in &self.outcome.facts {
            let entry = PageEntry {
                more: fact.more.as_deref().map(shown),
                kind: Some(fact.kind.name().to_owned()),
                notes: fact.files.iter().skip(1).map(|file| safe::line(file)).collect(),
                ..self.entry(&fact.envelope, &fact.text)
            };
            let key = match (fact.files.first(), fact.envelope.commit.as_deref()) {
                (Some(file), _) => (false, file.as_str()),
                (None, commit) => (true, commit.unwrap_or_default()),
            };
            groups.entry(key).or_default().push(entry);
        }
        let group = |((is_commit, name), entries): ((bool, &str), Vec<PageEntry>)| {
            let subject = self.outcome.subjects.get(name).map(|subject| short(&safe::line(subject), 100));
            let name = match (is_commit, name) {
                (true, "") => "on no commit".to_owned(),
                (true, commit) => safe::line(commit).chars().take(8).collect(),
                (false, file) => safe::line(file),
            };
            json!({"name": name, "is_commit": is_commit, "subject": subject.filter(|_| is_commit), "entries": entries})
        };
        groups.into_iter().map(group).collect()
    }
}

/// A text made safe and cut to `TEXT` characters; line feeds stay.
pub fn shown(text: &str) -> String {
    let clean = safe::clean(text.trim());
    match clean.char_indices().nth(TEXT) {
        Some((at, _)) => format!("{}…", clean[..at].trim_end()),
        None => clean,
    }
}

/// Entries the page does not show.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "LeftOutOfPageView")]
pub struct Omitted {
    /// `sessions` beyond the newest 500; `timeline`: sessions not drawn there (it has the newest 40, of 12 agents); `growth`:
    /// sessions not drawn in the picture of all trajectories (it has the newest 80 with assessments); `handoffs` that nobody took
    /// up, `unknowns` and `goals` beyond the newest 200; `knowledge` beyond 100 entries.
    pub what: &'static str,
    /// How many.
    pub count: usize,
    /// Number and noun.
    #[serde(skip)]
    pub words: String,
    /// The command that shows them.
    pub command: String,
}

impl Omitted {
    /// The entries in words, and the command that shows them, for the template.
    pub(crate) fn view(&self) -> Value {
        json!({"what": self.words, "command": self.command})
    }
}

/// Entries under a title; `None` without any.
pub(crate) fn group(title: &str, entries: Vec<PageEntry>, omitted: &Option<Omitted>) -> Option<Value> {
    let count = entries.len() + omitted.as_ref().map_or(0, |omitted| omitted.count);
    let gone = omitted.as_ref().map(Omitted::view);
    (count > 0).then(|| json!({"title": title, "count": count, "entries": entries, "gone": gone}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_lines_and_ends() {
        assert_eq!(shown(" a\n\u{202e}b "), "a\n<U+202E>b");
        assert_eq!(shown(&"x".repeat(TEXT + 1)).chars().count(), TEXT + 1);
    }
}

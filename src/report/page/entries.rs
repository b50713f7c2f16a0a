//! The lists of the page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::render::{format, safe};
use crate::report::gather::{KnownFacts, ReportOutcome};
use crate::text::shorten::short;
use empirica_notes::model::{Body, Envelope, Id, Record, SessionId};

/// The most characters of a text.
const TEXT: usize = 1200;

/// What stands for the task of a session that has none.
pub const NO_TASK: &str = "no task was named";

/// What a list has of a record.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PageEntry {
    full: Option<Id>,
    id: String,
    text: String,
    /// The answer, the reason.
    more: Option<String>,
    /// The kind, where a list has several.
    kind: Option<String>,
    /// What else there is to say, a few words each.
    notes: Vec<String>,
    ai: String,
    at: String,
    commit: Option<String>,
    session: Option<SessionId>,
    /// Whether the page has that session.
    is_here: bool,
}

/// The lists of the page.
pub struct PageEntries<'o> {
    outcome: &'o ReportOutcome,
    here: BTreeSet<&'o SessionId>,
    /// Which sessions went on with a session.
    pub continued: BTreeMap<&'o SessionId, Vec<&'o SessionId>>,
}

impl<'o> PageEntries<'o> {
    pub(crate) fn new(outcome: &'o ReportOutcome) -> Self {
        let here = outcome.sessions.iter().map(|told| &told.gathered.session.id).collect();
        let mut continued: BTreeMap<&SessionId, Vec<&SessionId>> = BTreeMap::new();
        for passing in &outcome.passings {
            let after = continued.entry(&passing.from).or_default();
            if !after.contains(&&passing.to) {
                after.push(&passing.to);
            }
        }
        PageEntries { outcome, here, continued }
    }

    /// Whether the page has a session.
    pub fn has(&self, session: &SessionId) -> bool {
        self.here.contains(session)
    }

    fn entry(&self, head: &Envelope, text: &str) -> PageEntry {
        PageEntry {
            full: Some(head.id.clone()),
            id: head.id.short().to_owned(),
            text: said(text),
            ai: safe::line(&head.ai),
            at: format::date(&head.at),
            commit: head.commit.as_deref().map(|commit| safe::line(commit).chars().take(8).collect()),
            session: head.session.clone(),
            is_here: head.session.as_ref().is_some_and(|session| self.has(session)),
            ..PageEntry::default()
        }
    }

    fn of(&self, records: &[Record], made: impl Fn(&Record) -> Option<PageEntry>) -> Vec<PageEntry> {
        records.iter().filter_map(made).collect()
    }

    pub(crate) fn unknowns(&self) -> Vec<PageEntry> {
        self.of(&self.outcome.attention.unknowns, |record| match &record.body {
            Body::Unknown(unknown) => Some(self.entry(&record.head, &unknown.text)),
            _ => None,
        })
    }

    pub(crate) fn failed(&self) -> Vec<PageEntry> {
        self.of(&self.outcome.attention.failed, |record| match &record.body {
            Body::Evidence(run) => {
                let notes = vec![format!("exit {}", run.exit)];
                Some(PageEntry { notes, ..self.entry(&record.head, &run.command) })
            }
            _ => None,
        })
    }

    pub(crate) fn unclaimed(&self) -> Vec<PageEntry> {
        self.of(&self.outcome.attention.unclaimed, |record| match &record.body {
            Body::Handoff(handoff) => {
                let notes = handoff.to.iter().map(|to| format!("for {}", safe::line(to))).collect();
                let kind = (handoff.kind != "epistemic").then(|| safe::line(&handoff.kind).replace('_', " "));
                let more = handoff.next_steps.first().map(|step| said(step));
                Some(PageEntry { notes, kind, more, ..self.entry(&record.head, &handoff.task) })
            }
            _ => None,
        })
    }

    pub(crate) fn stale(&self) -> Vec<PageEntry> {
        let stale = self.outcome.attention.stale.iter().map(|(head, stale)| {
            let notes = stale.files.iter().map(|file| safe::line(file)).collect();
            let more = Some("passed before these files changed".to_owned());
            PageEntry { notes, more, ..self.entry(head, &stale.command) }
        });
        stale.collect()
    }

    pub(crate) fn quiet(&self) -> Vec<PageEntry> {
        let quiet = self.outcome.sessions.iter().filter(|told| told.is_quiet(self.outcome.now)).map(|told| {
            let session = &told.gathered.session;
            PageEntry {
                text: said(session.task.as_deref().unwrap_or(NO_TASK)),
                ai: safe::line(&session.ai),
                at: format!("last record {}", format::date(&told.gathered.last_at)),
                session: Some(session.id.clone()),
                is_here: true,
                ..PageEntry::default()
            }
        });
        quiet.collect()
    }

    pub(crate) fn goals(&self) -> Vec<PageEntry> {
        let goals = self.outcome.attention.goals.iter().map(|(head, goal)| {
            let notes = [Some(format!("{} priority", goal.priority.name())), goal.progress()];
            PageEntry { notes: notes.into_iter().flatten().collect(), ..self.entry(head, &goal.text) }
        });
        goals.collect()
    }

    /// What is known, by the first file each statement is about, then by commit.
    pub(crate) fn known(&self) -> Vec<Value> {
        let mut groups: BTreeMap<(bool, &str), Vec<PageEntry>> = BTreeMap::new();
        let others = |known: &KnownFacts| known.files.iter().skip(1).map(|file| safe::line(file)).collect();
        for known in &self.outcome.known {
            let entry = PageEntry {
                more: known.more.as_deref().map(said),
                kind: Some(known.kind.name().to_owned()),
                notes: others(known),
                ..self.entry(&known.head, &known.text)
            };
            let key = match (known.files.first(), known.head.commit.as_deref()) {
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

/// A text as it is shown: what is invisible or moves other text can be seen, and its lines stay.
pub fn said(text: &str) -> String {
    let clean = safe::clean(text.trim());
    match clean.char_indices().nth(TEXT) {
        Some((at, _)) => format!("{}…", clean[..at].trim_end()),
        None => clean,
    }
}

/// Something there is too much of.
#[derive(Debug, Clone, Serialize)]
pub struct Omitted {
    /// Its word in JSON.
    pub kind: &'static str,
    /// How many.
    pub count: usize,
    /// How many of what, in words.
    pub what: String,
    /// The command that shows it.
    pub command: String,
}

/// Entries under a title; nothing without any.
pub(crate) fn group(title: &str, entries: Vec<PageEntry>, gone: &Option<Omitted>) -> Option<Value> {
    let count = entries.len() + gone.as_ref().map_or(0, |gone| gone.count);
    (count > 0).then(|| json!({"title": title, "count": count, "entries": entries, "gone": gone}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_lines_and_ends() {
        assert_eq!(said(" a\n\u{202e}b "), "a\n<U+202E>b");
        assert_eq!(said(&"x".repeat(TEXT + 1)).chars().count(), TEXT + 1);
    }
}

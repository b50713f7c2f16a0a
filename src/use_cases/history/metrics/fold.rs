//! Metrics of handovers: facts of all sessions folded into numbers, by agent and period.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Datelike, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::assessment::confidence::round4;
use crate::fold::facts::{AcceptFacts, HandoffFacts, Inquiry, InquiryKind, SessionFacts};
use crate::use_cases::history::metrics::duplicates::{SessionText, repeats};
use empirica_notes::model::{Id, SessionId, Verdict};

empirica_notes::named_enum! {
    /// Length of a period, in UTC.
    pub enum Period {
        /// As `2026-03-01`.
        Day = "day",
        /// As `2026-W09`, ISO 8601.
        Week = "week",
        /// As `2026-03`.
        Month = "month",
    }
}

impl Period {
    /// The period of a time: `2026-01-31`, `2026-W05` (ISO 8601) or `2026-01`. Empty for times outside the calendar.
    pub fn of(self, ms: i64) -> String {
        let Some(at) = DateTime::<Utc>::from_timestamp_millis(ms) else { return String::new() };
        match self {
            Period::Day => at.format("%Y-%m-%d").to_string(),
            Period::Week => format!("{:04}-W{:02}", at.iso_week().year(), at.iso_week().week()),
            Period::Month => at.format("%Y-%m").to_string(),
        }
    }
}

#[derive(Debug, Clone)]
pub struct MetricsQuery {
    /// Only sessions of this agent.
    pub ai: Option<String>,
    /// From this time on, in Unix milliseconds.
    pub since_ms: Option<i64>,
    /// Up to this time, in Unix milliseconds.
    pub until_ms: Option<i64>,
    /// Length of periods.
    pub by: Period,
}

impl MetricsQuery {
    /// Whether something of an agent at a time in Unix milliseconds counts.
    pub fn matches(&self, ai: &str, at_ms: i64) -> bool {
        self.ai.as_ref().is_none_or(|named| named == ai)
            && self.since_ms.is_none_or(|since| at_ms >= since)
            && self.until_ms.is_none_or(|until| at_ms <= until)
    }
}

/// A part of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ratio {
    pub numerator: u64,
    pub denominator: u64,
}

impl Ratio {
    fn add(&mut self, holds: usize, of: usize) {
        self.numerator += holds as u64;
        self.denominator += of as u64;
    }

    /// In [0, 1], 4 decimals; `None` if the total is 0.
    pub fn value(&self) -> Option<f64> {
        (self.denominator > 0).then(|| round4(self.numerator as f64 / self.denominator as f64))
    }
}

/// Numbers for some sessions. Everything counts at its own time, for the agent of its session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HandoverMetrics {
    pub sessions: u64,
    /// Handoffs in force made.
    pub handoffs: u64,
    /// Milliseconds from start to first journal entry of these sessions, if known.
    pub first_entries: Vec<u64>,
    /// Handoffs accepted without question or gap, of those accepted; in force or not.
    pub accepted_without_gaps: Ratio,
    /// Paths touched by receivers, of paths handed over; per receiver of each handoff.
    pub paths_reused: Ratio,
    /// COMPLETE decisions not reopened, of all.
    pub completions_kept: Ratio,
    /// Unknowns and dead ends that an earlier session had, too.
    pub duplicates: u64,
    /// Of each claim that they retracted or replaced, milliseconds after it was logged.
    pub corrections: Vec<u64>,
}

/// The median of milliseconds in seconds (the mean of the middle two); `None` without any.
pub fn median_seconds(all: &[u64]) -> Option<f64> {
    let mut sorted = all.to_vec();
    sorted.sort_unstable();
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((*low as f64 + *high as f64) / 2000.0)
}

impl HandoverMetrics {
    /// Mean time to the first entry in seconds, to the millisecond; `None` without any.
    pub fn mean_seconds(&self) -> Option<f64> {
        let n = self.first_entries.len();
        let sum: u64 = self.first_entries.iter().sum();
        (n > 0).then(|| (sum as f64 / n as f64).round() / 1000.0)
    }
}

/// An inquiry of a session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Investigated")]
pub struct DatedInquiry {
    /// The record.
    pub id: Id,
    /// The session.
    #[serde(rename = "session_id")]
    pub session: SessionId,
    /// Its agent.
    #[serde(rename = "ai_id")]
    pub ai: String,
    /// The unknown, or the failed approach.
    pub text: String,
}

/// An inquiry made before by another session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Duplicate {
    /// Unknown or dead end.
    pub kind: InquiryKind,
    /// Jaccard index of the words, from 0.8 to 1, 4 decimals; 1 if equal except for case, white space and
    /// punctuation.
    pub likeness: f64,
    /// The first inquiry.
    pub earlier: DatedInquiry,
    /// The repeated inquiry.
    pub later: DatedInquiry,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HandoffMetrics {
    pub id: Id,
    pub session: SessionId,
    pub ai: String,
    pub at_ms: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// Total.
    pub overall: HandoverMetrics,
    /// By agent, sorted by name.
    pub agents: BTreeMap<String, HandoverMetrics>,
    /// By period, oldest first; empty periods are omitted.
    pub periods: BTreeMap<String, HandoverMetrics>,
    /// Newest first.
    pub duplicates: Vec<Duplicate>,
    /// Handoffs in force, newest first.
    pub handed: Vec<HandoffMetrics>,
}

/// An acknowledgement by another session.
struct Receipt<'f> {
    by: &'f SessionFacts,
    accept: &'f AcceptFacts,
    /// The session of the handoff, or the handoff itself if unknown.
    about: &'f str,
}

/// The acknowledgements of all sessions in order, except by the handoff's own session.
fn receipts(all: &[SessionFacts]) -> Vec<Receipt<'_>> {
    let mut sessions: HashMap<&Id, &SessionId> = HashMap::new();
    for facts in all {
        sessions.extend(facts.handoffs.iter().map(|handoff| (&handoff.id, &facts.session)));
    }
    let mut out: Vec<Receipt<'_>> = Vec::new();
    for by in all {
        for accept in &by.accepts {
            let from = sessions.get(&accept.of).copied().or(accept.from.as_ref());
            if from != Some(&by.session) {
                out.push(Receipt { by, accept, about: from.map_or(accept.of.as_str(), SessionId::as_str) });
            }
        }
    }
    out.sort_by(|a, b| a.accept.id.cmp(&b.accept.id));
    out
}

/// Distinct receivers of a handoff, and whether none had a question or missed something.
fn received<'f>(receipts: &[&Receipt<'f>]) -> (Vec<&'f SessionFacts>, bool) {
    let mut seen = BTreeSet::new();
    let by = receipts.iter().map(|receipt| receipt.by);
    let by: Vec<&SessionFacts> = by.filter(|facts| seen.insert(facts.session.as_str())).collect();
    (by, receipts.iter().all(|receipt| receipt.accept.is_clear()))
}

/// Folds the facts of all sessions, in any order.
pub fn metrics(all: &[SessionFacts], query: &MetricsQuery) -> Metrics {
    let mut out = Metrics {
        overall: HandoverMetrics::default(),
        agents: BTreeMap::new(),
        periods: BTreeMap::new(),
        duplicates: Vec::new(),
        handed: Vec::new(),
    };
    let receipts = receipts(all);
    let mut of_handoff: HashMap<&Id, Vec<&Receipt<'_>>> = HashMap::new();
    // last decision against completion, by session of the handoff
    let mut reopened: HashMap<&str, &Id> = HashMap::new();
    for receipt in &receipts {
        of_handoff.entry(&receipt.accept.of).or_default().push(receipt);
        if receipt.accept.decision.is_some_and(|decision| decision != Verdict::Complete) {
            reopened.insert(receipt.about, &receipt.accept.id);
        }
    }
    for facts in all {
        out.count(query, &facts.ai, facts.began_ms, |tally| {
            tally.sessions += 1;
            tally.first_entries.extend(facts.to_first_entry_ms);
        });
        for handoff in &facts.handoffs {
            let receipts = of_handoff.get(&handoff.id).map_or(&[][..], Vec::as_slice);
            if out.count(query, &facts.ai, handoff.at_ms, |tally| tally.hand_over(handoff, receipts))
                && handoff.in_force
            {
                let (session, ai) = (facts.session.clone(), facts.ai.clone());
                out.handed.push(HandoffMetrics { id: handoff.id.clone(), session, ai, at_ms: handoff.at_ms });
            }
        }
    }
    for facts in all {
        for correction in &facts.corrections {
            out.count(query, &facts.ai, correction.at_ms, |tally| tally.corrections.push(correction.after_ms));
        }
    }
    for receipt in receipts.iter().filter(|receipt| receipt.accept.decision == Some(Verdict::Complete)) {
        let stays = reopened.get(receipt.about).is_none_or(|id| **id < receipt.accept.id);
        out.count(query, &receipt.by.ai, receipt.accept.at_ms, |tally| {
            tally.completions_kept.add(usize::from(stays), 1)
        });
    }
    for kind in [InquiryKind::Unknown, InquiryKind::DeadEnd] {
        out.duplicates(all, kind, query);
    }
    out.duplicates.sort_by(|a, b| b.later.id.cmp(&a.later.id));
    out.handed.sort_by(|a, b| b.id.cmp(&a.id));
    out
}

impl HandoverMetrics {
    fn hand_over(&mut self, handoff: &HandoffFacts, receipts: &[&Receipt<'_>]) {
        self.handoffs += u64::from(handoff.in_force);
        if receipts.is_empty() {
            return;
        }
        let (by, is_clear) = received(receipts);
        self.accepted_without_gaps.add(usize::from(is_clear), 1);
        for facts in by {
            self.paths_reused.add(handoff.paths.intersection(&facts.touched).count(), handoff.paths.len());
        }
    }
}

impl Metrics {
    /// Counts an item in its totals; returns whether it matches the filter.
    fn count(&mut self, query: &MetricsQuery, ai: &str, at_ms: i64, add: impl Fn(&mut HandoverMetrics)) -> bool {
        let counts = query.matches(ai, at_ms);
        if counts {
            add(&mut self.overall);
            if !self.agents.contains_key(ai) {
                self.agents.insert(ai.to_owned(), HandoverMetrics::default());
            }
            self.agents.get_mut(ai).into_iter().for_each(&add);
            add(self.periods.entry(query.by.of(at_ms)).or_default());
        }
        counts
    }

    fn duplicates(&mut self, all: &[SessionFacts], kind: InquiryKind, query: &MetricsQuery) {
        let mut inquiries: Vec<(usize, &Inquiry)> = Vec::new();
        for (session, facts) in all.iter().enumerate() {
            inquiries.extend(facts.inquiries.iter().filter(|i| i.kind == kind).map(|inquiry| (session, inquiry)));
        }
        inquiries.sort_by(|a, b| a.1.id.cmp(&b.1.id));
        let texts: Vec<SessionText<'_>> =
            inquiries.iter().map(|(session, inquiry)| SessionText { session: *session, text: &inquiry.text }).collect();
        let asker = |(session, inquiry): (usize, &Inquiry)| DatedInquiry {
            id: inquiry.id.clone(),
            session: all[session].session.clone(),
            ai: all[session].ai.clone(),
            text: inquiry.text.clone(),
        };
        for repeat in repeats(&texts) {
            let (session, inquiry) = inquiries[repeat.later];
            let at_ms = i64::try_from(inquiry.id.ms()).unwrap_or(i64::MAX);
            if self.count(query, &all[session].ai, at_ms, |tally| tally.duplicates += 1) {
                let (earlier, later) = (asker(inquiries[repeat.earlier]), asker(inquiries[repeat.later]));
                self.duplicates.push(Duplicate { kind, likeness: round4(repeat.likeness), earlier, later });
            }
        }
    }
}

/// A session that took up a handoff.
#[derive(Debug, Clone, PartialEq)]
pub struct Receiver {
    pub session: SessionId,
    pub ai: String,
    /// Milliseconds from its start to its first journal entry, if known.
    pub to_first_entry_ms: Option<u64>,
    /// Paths handed over, in order, and whether it touched each.
    pub paths: Vec<(String, bool)>,
}

impl Receiver {
    /// Paths touched, of those handed over.
    pub fn relevant(&self) -> Ratio {
        let touched = self.paths.iter().filter(|(_, touched)| *touched).count();
        Ratio { numerator: touched as u64, denominator: self.paths.len() as u64 }
    }
}

/// How a handoff was received.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reception {
    /// Its receivers, in order.
    pub receivers: Vec<Receiver>,
    /// Whether no acknowledgement has a question or gap; `None` without acknowledgements.
    pub is_complete: Option<bool>,
}

/// How a handoff was received. `all` must include its session and those of its receivers.
pub fn reception(all: &[SessionFacts], id: &Id) -> Reception {
    let handoff = all.iter().flat_map(|facts| &facts.handoffs).find(|handoff| handoff.id == *id);
    let receipts = receipts(all);
    let of_it: Vec<&Receipt<'_>> = receipts.iter().filter(|receipt| receipt.accept.of == *id).collect();
    let (Some(handoff), false) = (handoff, of_it.is_empty()) else { return Reception::default() };
    let (by, is_clear) = received(&of_it);
    let receiver = |facts: &SessionFacts| Receiver {
        session: facts.session.clone(),
        ai: facts.ai.clone(),
        to_first_entry_ms: facts.to_first_entry_ms,
        paths: handoff.paths.iter().map(|path| (path.clone(), facts.touched.contains(path))).collect(),
    };
    Reception { receivers: by.into_iter().map(receiver).collect(), is_complete: Some(is_clear) }
}

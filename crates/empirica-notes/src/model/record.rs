//! The record: an envelope and a body, immutable.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};

use crate::model::assessment::{Assessment, Checkpoint};
use crate::model::collected::Collected;
use crate::model::goal::{Goal, GoalDone, GoalDrop, GoalTake, Subtask};
use crate::model::handoff::Handoff;
use crate::model::handoff::accept::{Accept, Answer};
use crate::model::handoff::digest::Digest;
use crate::model::id::{Id, SessionId};
use crate::model::journal::anchor::Anchor;
use crate::model::journal::{
    Activity, ClaimTexts, DeadEnd, Decision, Evidence, Finding, Mistake, Resolve, Source, Unknown,
};
use crate::model::session::{SessionEnd, SessionStart};

/// The record version this program writes. Records of other versions are kept and passed on unchanged.
pub const VERSION: u32 = 1;

crate::named_enum! {
    /// The data ref that holds a kind of record.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Namespace {
        /// Sessions, findings and all kinds not in the other two.
        Journal = "journal",
        /// Assessments and snapshots.
        Checkpoints = "checkpoints",
        /// Handoffs, digests, acknowledgements and answers.
        Handoffs = "handoffs",
    }
}

/// The keys that every record begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The record version.
    pub v: u32,
    /// Unique; orders records by time.
    pub id: Id,
    /// The session it belongs to; `None` for records made outside sessions.
    pub session: Option<SessionId>,
    /// The agent, as claimed; not verified.
    pub ai: String,
    /// The time, RFC 3339 UTC with milliseconds. Informative: records are ordered by id.
    pub at: String,
    /// HEAD at the time, hex; `None` if unborn.
    pub commit: Option<String>,
    /// The tree of that commit, hex.
    pub tree: Option<String>,
}

/// Records copied to another commit; readers then show them there only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attach {
    /// The records.
    pub of: Vec<Id>,
    /// The commit they were copied from; the empty tree for records made on an unborn HEAD.
    pub from: String,
    /// The commit they were copied to.
    pub to: String,
}

/// A newer handoff of the same session supersedes an older one; kept in the note of the older one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Supersede {
    /// The older handoff.
    pub of: Id,
    /// The newer one.
    pub by: Id,
}

/// Retracts records; stored in the note of each of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Retract {
    /// The records; a retract among them no longer counts.
    pub of: Vec<Id>,
    /// The claim that replaces them, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Id>,
    /// The reason; `None` for `undo`, and may be for a replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Retract {
    /// Whether it corrects a claim, rather than takes back what its session logged last.
    pub fn is_correction(&self) -> bool {
        self.by.is_some() || self.why.is_some()
    }
}

/// Says that a claim still holds; stored in its note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirm {
    /// The claim.
    pub of: Id,
    /// Where it is in the code by now, instead of the anchors before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<Anchor>,
}

/// A git signature of a handoff, in the same note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The handoff.
    pub of: Id,
    /// The SHA-256 of the signed line, hex.
    pub sha256: String,
    /// The raw text of a signed commit of the empty tree, whose message contains the id and the hash. No ref points to
    /// it.
    pub signed: String,
}

/// The stub that replaces a redacted record, without its text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Redacted {
    /// The kind of the redacted record.
    pub was: String,
    /// The agent that redacted it, as claimed; `None` if a merge of two redactions left no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted_by: Option<String>,
    /// The time, RFC 3339 UTC; `None` likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted_at: Option<String>,
    /// The reason, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Declares each kind of record once: its word in the `kind` key, its variant of [`Body`], and its namespace.
macro_rules! kinds {
    ($($word:literal $variant:ident($body:ty) $namespace:expr,)*) => {
        /// The body of a record; the variant is its kind.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum Body {
            $($variant($body),)*
        }

        impl Body {
            /// The word in the `kind` key.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Body::$variant(_) => $word,)*
                }
            }

            /// Whether this is the word of a kind.
            pub(crate) fn is_kind(word: &str) -> bool {
                matches!(word, $($word)|*)
            }

            /// The namespace of this kind; `None` for a kind stored in that of the records it refers to.
            pub fn namespace(&self) -> Option<Namespace> {
                match self {
                    $(Body::$variant(_) => $namespace,)*
                }
            }

            pub(crate) fn to_value(&self) -> serde_json::Result<serde_json::Value> {
                match self {
                    $(Body::$variant(body) => serde_json::to_value(body),)*
                }
            }

            /// Reads the keys of a body; `None` for an unknown kind.
            pub(crate) fn read<'de, D: Deserializer<'de>>(kind: &str, keys: D) -> Result<Option<Self>, D::Error> {
                Ok(Some(match kind {
                    $($word => Body::$variant(Deserialize::deserialize(keys)?),)*
                    _ => return Ok(None),
                }))
            }
        }
    };
}

const JOURNAL: Option<Namespace> = Some(Namespace::Journal);
const CHECKPOINTS: Option<Namespace> = Some(Namespace::Checkpoints);
const HANDOFFS: Option<Namespace> = Some(Namespace::Handoffs);

kinds! {
    "session_start" SessionStart(SessionStart) JOURNAL,
    "session_end" SessionEnd(SessionEnd) JOURNAL,
    "finding" Finding(Finding) JOURNAL,
    "unknown" Unknown(Unknown) JOURNAL,
    "resolve" Resolve(Resolve) JOURNAL,
    "dead_end" DeadEnd(DeadEnd) JOURNAL,
    "mistake" Mistake(Mistake) JOURNAL,
    "decision" Decision(Decision) JOURNAL,
    "source" Source(Source) JOURNAL,
    "evidence" Evidence(Evidence) JOURNAL,
    "activity" Activity(Activity) JOURNAL,
    "transcript" Transcript(Box<Collected>) JOURNAL,
    "goal" Goal(Goal) JOURNAL,
    "subtask" Subtask(Subtask) JOURNAL,
    "goal_done" GoalDone(GoalDone) JOURNAL,
    "goal_drop" GoalDrop(GoalDrop) JOURNAL,
    "goal_take" GoalTake(GoalTake) JOURNAL,
    "assessment" Assessment(Box<Assessment>) CHECKPOINTS,
    "checkpoint" Checkpoint(Box<Checkpoint>) CHECKPOINTS,
    "handoff" Handoff(Box<Handoff>) HANDOFFS,
    "digest" Digest(Box<Digest>) HANDOFFS,
    "accept" Accept(Accept) HANDOFFS,
    "answer" Answer(Answer) HANDOFFS,
    "attach" Attach(Attach) None,
    "supersede" Supersede(Supersede) HANDOFFS,
    "retract" Retract(Retract) None,
    "confirm" Confirm(Confirm) None,
    "signature" Signature(Signature) HANDOFFS,
    "redacted" Redacted(Redacted) None,
}

/// Declares the journal entries that can name the record they follow from, each with the keys of its own texts, the main
/// one first. Claims are searched, related to later tasks and listed in handoffs.
macro_rules! entries {
    (claims { $($word:literal $claim:ident($main:ident $(, $more:ident)*),)* } source { $source:ident($location:ident) } others { $($other:ident($key:ident),)* }) => {
        /// The words of the kinds of claims.
        pub const CLAIMS: &[&str] = &[$($word),*];

        /// The keys of the texts of a kind of claim; `None` for any other kind.
        pub(crate) fn claim_keys(kind: &str) -> Option<&'static [&'static str]> {
            match kind {
                $($word => Some(&[stringify!($main) $(, stringify!($more))*]),)*
                _ => None,
            }
        }

        impl Body {
            /// The own texts of an entry with their keys, the main one first; empty for any other kind.
            pub fn own_texts(&self) -> Vec<(&'static str, &str)> {
                let keys = match self {
                    $(Body::$claim(body) => vec![(stringify!($main), body.$main.texts()) $(, (stringify!($more), body.$more.texts()))*],)*
                    Body::$source(body) => vec![(stringify!($location), body.$location.texts())],
                    $(Body::$other(body) => vec![(stringify!($key), body.$key.texts())],)*
                    _ => Vec::new(),
                };
                keys.into_iter().flat_map(|(key, texts)| texts.iter().map(move |text| (key, text.as_str()))).collect()
            }

            /// The record that an entry follows from.
            pub fn led_from(&self) -> Option<&Id> {
                match self {
                    $(Body::$claim(body) => body.led_from.as_ref(),)*
                    Body::$source(body) => body.led_from.as_ref(),
                    $(Body::$other(body) => body.led_from.as_ref(),)*
                    _ => None,
                }
            }

            /// Sets the record that an entry follows from; no effect on any other kind.
            pub fn set_led_from(&mut self, from: Option<Id>) {
                match self {
                    $(Body::$claim(body) => body.led_from = from,)*
                    Body::$source(body) => body.led_from = from,
                    $(Body::$other(body) => body.led_from = from,)*
                    _ => {}
                }
            }

            /// The keys of a claim or source that say when and where it holds, to be set; `None` for any other kind.
            pub fn claim_mut(&mut self) -> Option<ClaimMut<'_>> {
                match self {
                    $(Body::$claim(body) => Some(ClaimMut { text: &mut body.$main, until: &mut body.until, anchors: &mut body.anchors }),)*
                    Body::$source(body) => {
                        Some(ClaimMut { text: &mut body.$location, until: &mut body.until, anchors: &mut body.anchors })
                    }
                    _ => None,
                }
            }

            /// Until when a claim or source holds: RFC 3339 UTC, or [`UNTIL_CHANGED`](crate::model::journal::UNTIL_CHANGED);
            /// `None` if that is not limited, and for any other kind.
            pub fn until(&self) -> Option<&str> {
                match self {
                    $(Body::$claim(body) => body.until.as_deref(),)*
                    Body::$source(body) => body.until.as_deref(),
                    _ => None,
                }
            }

            /// The places in the code that a claim or source is about, or where one was confirmed; none of any other kind.
            pub fn anchors(&self) -> &[Anchor] {
                match self {
                    $(Body::$claim(body) => &body.anchors,)*
                    Body::$source(body) => &body.anchors,
                    Body::Confirm(body) => &body.anchors,
                    _ => &[],
                }
            }
        }
    };
}

entries! {
    claims {
        "finding" Finding(text),
        "unknown" Unknown(text),
        "dead_end" DeadEnd(approach, why),
        "decision" Decision(text, why, alternatives),
        "mistake" Mistake(text, prevention),
    }
    source { Source(location) }
    others { Evidence(command), Activity(text), }
}

/// The main text of a claim or source, until when it holds, and its anchors.
#[allow(missing_docs)]
pub struct ClaimMut<'a> {
    pub text: &'a mut String,
    pub until: &'a mut Option<String>,
    pub anchors: &'a mut Vec<Anchor>,
}

/// The texts of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Its main text.
    pub text: &'a str,
    /// Its other texts: reasons, alternatives.
    pub more: Vec<&'a str>,
}

/// A decision in one text: what, why if known, and what was rejected.
pub fn decision_text(text: &str, why: &str, alternatives: &[String]) -> String {
    let rejected =
        if alternatives.is_empty() { String::new() } else { format!("; rejected: {}", alternatives.join("; ")) };
    let why = if why.is_empty() { String::new() } else { format!(" — {why}") };
    format!("{text}{why}{rejected}")
}

impl Body {
    /// The texts of a claim; `None` for any other kind.
    pub fn claim(&self) -> Option<Claim<'_>> {
        CLAIMS.contains(&self.kind()).then(|| {
            let mut texts = self.own_texts().into_iter().map(|(_, text)| text);
            Claim { text: texts.next().unwrap_or_default(), more: texts.collect() }
        })
    }

    /// All texts of a claim in one; empty for any other kind.
    pub fn claim_text(&self) -> String {
        match (self, self.claim()) {
            (Body::Decision(one), _) => decision_text(&one.text, &one.why, &one.alternatives),
            (_, Some(Claim { text, more })) => [&[text], &more[..]].concat().join(" — "),
            (_, None) => String::new(),
        }
    }

    /// Whether a session that logs it again says nothing new: a claim, a goal or subtask; not what counts each time, such as the run of a
    /// check, or a source that was read again.
    pub fn is_statement(&self) -> bool {
        self.claim().is_some() || matches!(self, Body::Goal(_) | Body::Subtask(_) | Body::GoalTake(_))
    }

    /// Whether it only attaches other records, or qualifies them.
    pub fn is_meta(&self) -> bool {
        matches!(self, Body::Attach(_)) || self.is_qualifier()
    }

    /// Whether it only supersedes, retracts, confirms or signs other records.
    pub fn is_qualifier(&self) -> bool {
        matches!(self, Body::Supersede(_) | Body::Retract(_) | Body::Confirm(_) | Body::Signature(_))
    }
}

/// An immutable record.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Record {
    pub envelope: Envelope,
    pub body: Body,
}

impl Record {
    /// The ids of the records this one refers to, such as those it resolves, ends, takes over or retracts.
    pub fn referenced_ids(&self) -> Vec<&Id> {
        match &self.body {
            Body::SessionStart(r) => r.from_handoff.iter().collect(),
            Body::Resolve(r) => vec![&r.of],
            Body::Subtask(r) => vec![&r.of],
            Body::GoalDone(r) => vec![&r.of],
            Body::GoalDrop(r) => vec![&r.of],
            Body::GoalTake(r) => r.of.iter().collect(),
            Body::Attach(r) => r.of.iter().collect(),
            Body::Accept(r) => vec![&r.of],
            Body::Answer(r) => vec![&r.of],
            Body::Supersede(r) => vec![&r.of],
            Body::Retract(r) => r.of.iter().collect(),
            Body::Confirm(r) => vec![&r.of],
            Body::Signature(r) => vec![&r.of],
            _ => Vec::new(),
        }
    }

    /// The sessions whose views it changes: its own first.
    pub fn concerns(&self) -> impl Iterator<Item = &SessionId> {
        let others: &[SessionId] = match &self.body {
            Body::SessionStart(r) => r.from.as_slice(),
            Body::Resolve(r) => &r.concerns,
            Body::Subtask(r) => &r.concerns,
            Body::GoalDone(r) => &r.concerns,
            Body::GoalDrop(r) => &r.concerns,
            Body::GoalTake(r) => &r.concerns,
            Body::Accept(r) => &r.concerns,
            Body::Answer(r) => &r.concerns,
            _ => &[],
        };
        self.envelope.session.iter().chain(others)
    }
}

impl Record {
    /// Whether a retract of this session counts for it. A handoff, and the course of a session, stay; what else was logged, its own
    /// session takes back, unless [any](Self::is_retracted_by_any) can.
    pub fn can_be_retracted(&self, by: Option<&SessionId>) -> bool {
        use Body::{Accept, Checkpoint, Digest, Handoff, Redacted, SessionEnd, SessionStart, Transcript};
        let stays = matches!(
            self.body,
            Accept(_)
                | Checkpoint(_)
                | Digest(_)
                | Handoff(_)
                | Redacted(_)
                | SessionEnd(_)
                | SessionStart(_)
                | Transcript(_)
        );
        !stays && (self.is_retracted_by_any() || self.envelope.session.as_ref() == by)
    }

    /// Whether a retract of any session counts for it: for a claim, a source or a retract.
    pub fn is_retracted_by_any(&self) -> bool {
        CLAIMS.contains(&self.body.kind()) || matches!(self.body, Body::Source(_) | Body::Retract(_))
    }
}

/// The ids that the retracts among these records retract, as [`retracted`] says, as far as these [can be](Record::can_be_retracted);
/// what is not among the records can.
pub fn retracted_among<'r>(
    retracts: impl IntoIterator<Item = &'r Record>,
    record_of: impl Fn(&Id) -> Option<&'r Record>,
    known: &BTreeSet<Id>,
) -> BTreeSet<Id> {
    let named = retracts.into_iter().filter_map(|record| match &record.body {
        Body::Retract(retract) => {
            let by = record.envelope.session.as_ref();
            let counts = |of: &&Id| record_of(of).is_none_or(|named| named.can_be_retracted(by));
            Some((&record.envelope.id, retract.of.iter().filter(counts).cloned().collect()))
        }
        _ => None,
    });
    let named: Vec<(&Id, Vec<Id>)> = named.collect();
    retracted(named.iter().map(|(id, of)| (*id, of.as_slice())), known).into_iter().cloned().collect()
}

/// The ids that these retracts, each with what it names, retract. One that a newer one retracts does not count. `known` are
/// retracted by others. The same for any order.
pub fn retracted<'r>(
    retracts: impl IntoIterator<Item = (&'r Id, &'r [Id])>,
    known: impl IntoIterator<Item = &'r Id>,
) -> BTreeSet<&'r Id> {
    let retracts: BTreeMap<&Id, &[Id]> = retracts.into_iter().collect();
    let mut out: BTreeSet<&Id> = known.into_iter().collect();
    for (id, of) in retracts.iter().rev() {
        if !out.contains(id) {
            // the order of ids keeps retracts from retracting each other; clocks may differ for all else
            out.extend(of.iter().filter(|of| *of < *id || !retracts.contains_key(of)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(n: usize) -> Id {
        Id::parse(&format!("019ab000-0000-7000-8000-{n:012x}")).expect("an id")
    }

    #[test]
    fn a_retract_counts_unless_a_newer_one_retracts_it() {
        let ids: Vec<Id> = (0..5).map(id).collect();
        let gone = |retracts: &[(usize, &[usize])]| -> Vec<usize> {
            let named: Vec<(Id, Vec<Id>)> =
                retracts.iter().map(|(of, all)| (id(*of), all.iter().map(|n| id(*n)).collect())).collect();
            let gone = retracted(named.iter().map(|(id, of)| (id, of.as_slice())), []);
            (0..5).filter(|n| gone.contains(&ids[*n])).collect()
        };
        assert!(gone(&[]).is_empty());
        assert_eq!(gone(&[(1, &[0])]), [0]);
        assert_eq!(gone(&[(1, &[0]), (2, &[1])]), [1]);
        assert_eq!(gone(&[(1, &[0]), (2, &[1]), (3, &[2])]), [0, 2]);
        assert_eq!(gone(&[(1, &[0]), (2, &[0]), (3, &[1])]), [0, 1]);
        assert_eq!(gone(&[(1, &[1, 2])]), [2], "a clock may be ahead");
        assert_eq!(gone(&[(1, &[2]), (2, &[1])]), [1], "of two that name each other");
        assert_eq!(gone(&[(2, &[1, 0])]), [0, 1]);
    }

    proptest! {
        #[test]
        fn what_is_in_force_does_not_depend_on_the_order(
            named in proptest::collection::vec(proptest::collection::vec(0usize..20, 0..4), 20),
            order in Just((0..20).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            let all: Vec<(Id, Vec<Id>)> = named.iter().enumerate().map(|(n, of)| (id(n), of.iter().map(|n| id(*n)).collect())).collect();
            let fold = |order: &[usize]| -> Vec<Id> {
                retracted(order.iter().map(|n| (&all[*n].0, all[*n].1.as_slice())), []).into_iter().cloned().collect()
            };
            let sorted: Vec<usize> = (0..20).collect();
            let gone = fold(&sorted);
            prop_assert_eq!(&gone, &fold(&order));
            for (n, (one, _)) in all.iter().enumerate() {
                // all of them are retracts here
                let by = |(later, of): &&(Id, Vec<Id>)| *later > *one && of.contains(one) && !gone.contains(later);
                prop_assert_eq!(gone.contains(one), all.iter().find(by).is_some(), "{}", n);
            }
        }
    }
}

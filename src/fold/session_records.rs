//! Records of a session by kind.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::fold::collected::{CollectedTranscript, activity, add_tool, by_transcript};
use crate::fold::journal::{answers, goals, sessions};
use crate::text::shorten::short;
use empirica_notes::model::goal::GoalState;
use empirica_notes::model::handoff::{Assessed, HandoffEvidence, Item, ToolUse};
use empirica_notes::model::journal::{DeadEnd, Decision, Mistake, UNTIL_CHANGED};
use empirica_notes::model::record::Retract;
use empirica_notes::model::session::Session;
use empirica_notes::model::vectors::Vectors;
use empirica_notes::model::{Accept, Assessment, Body, Checkpoint, Envelope, Handoff, Id, Phase, Record, SessionId};
use empirica_transcripts::model::ToolSummary;

/// Most characters of an activity sample.
const SAMPLE: usize = 120;

/// A question that was answered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AnsweredUnknown {
    /// The record of the unknown.
    #[serde(skip)]
    pub id: Id,
    /// The question.
    pub question: String,
    /// Its answer.
    pub answer: String,
}

/// Records of a session by kind, each list oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecords {
    pub session: Session,
    pub assessments: Vec<(Envelope, Assessment)>,
    pub checkpoints: Vec<(Envelope, Checkpoint)>,
    pub handoffs: Vec<(Envelope, Handoff)>,
    pub accepts: Vec<(Envelope, Accept)>,
    /// Collected parts of its agent's transcripts, by transcript.
    pub transcripts: Vec<CollectedTranscript>,
    /// First records of the sessions that continue it, oldest first.
    pub continued_by: Vec<Envelope>,
    pub findings: Vec<Item>,
    pub unknowns: Vec<Item>,
    pub answered: Vec<AnsweredUnknown>,
    pub dead_ends: Vec<DeadEnd>,
    /// Records of the dead ends, in the same order.
    pub dead_end_ids: Vec<Id>,
    pub mistakes: Vec<Mistake>,
    pub decisions: Vec<Decision>,
    /// Last run of each check, in order of these runs.
    pub evidence: Vec<HandoffEvidence>,
    /// Distinct sources.
    pub sources: Vec<String>,
    /// Tool categories, most used first: from transcripts or its own log, whichever is more.
    pub tools: Vec<ToolUse>,
    /// Same, with failures and three distinct samples each.
    pub activity: Vec<ToolSummary>,
    /// Its own log of tools alone.
    pub logged: Vec<ToolSummary>,
    /// Distinct files written or edited, from activities or transcripts.
    pub touched_files: Vec<String>,
    /// Its goals, set by any session.
    pub goals: Vec<GoalState>,
    /// Number of its journal entries.
    pub entries: usize,
    /// Time of its first entry that was not suggested, RFC 3339 UTC; `None` without one.
    pub first_entry_at: Option<String>,
    /// The ends of its claims that hold only for a time, RFC 3339 UTC.
    pub ends: BTreeMap<Id, String>,
    /// The claims, of any session, that it retracted or replaced.
    pub corrections: Vec<(Envelope, Retract)>,
    /// IDs of its journal entries and assessments, in order.
    pub entry_ids: Vec<Id>,
    /// Time of its last record, RFC 3339 UTC.
    pub last_at: String,
    /// Last record of its own work, which excludes attachments, supersedes and digests, as these may come much later.
    /// Its first record if nothing else is stored.
    pub end: Id,
}

impl SessionRecords {
    /// Whether it has more than its start.
    pub fn has_content(&self) -> bool {
        self.entries > 0 || !self.assessments.is_empty() || !self.transcripts.is_empty()
    }

    /// With the end in the text of each claim that holds only for a time, for handoffs and digests, which are read later.
    pub fn with_ends(mut self) -> Self {
        let ends = std::mem::take(&mut self.ends);
        self.marked(|id, text| {
            if let Some(end) = id.and_then(|id| ends.get(id)) {
                let end = if end == UNTIL_CHANGED { "its code changes" } else { end.get(..10).unwrap_or(end) };
                text.push_str(&format!(" (until {end})"));
            }
        })
    }

    /// With something added to the texts of claims.
    pub fn marked(mut self, add: impl Fn(Option<&Id>, &mut String)) -> Self {
        self.findings.iter_mut().chain(&mut self.unknowns).for_each(|item| add(item.id.as_ref(), &mut item.text));
        self.decisions.iter_mut().for_each(|decision| add(decision.id.as_ref(), &mut decision.text));
        self.dead_ends.iter_mut().for_each(|dead_end| add(dead_end.id.as_ref(), &mut dead_end.approach));
        self.mistakes.iter_mut().for_each(|mistake| add(mistake.id.as_ref(), &mut mistake.text));
        self
    }

    /// Collects the records of a session from `records`, in order of ID; records of others count if they resolve its
    /// unknowns or end its goals. `None` without records of the session.
    pub fn collect<'a>(records: impl IntoIterator<Item = &'a Record> + Clone, id: &SessionId) -> Option<Self> {
        let own: Vec<&Record> =
            records.clone().into_iter().filter(|r| r.envelope.session.as_ref() == Some(id)).collect();
        let session = sessions(own.iter().copied()).remove(id)?;
        let owned = goals(records.clone()).into_iter().filter(|owned| owned.session.as_ref() == Some(id));
        let goals = owned.map(|owned| owned.goal).collect();
        let continues =
            |record: &&Record| matches!(&record.body, Body::SessionStart(start) if start.from.as_ref() == Some(id));
        let continued_by =
            records.clone().into_iter().filter(continues).map(|record| record.envelope.clone()).collect();
        Some(SessionRecords { continued_by, ..Self::of(session, &own, &answers(records), goals) })
    }

    /// Folds the session's own records.
    fn of(session: Session, own: &[&Record], answers: &BTreeMap<Id, String>, mut goals: Vec<GoalState>) -> Self {
        // goals set by the agent precede suggested ones
        goals.sort_by_key(|goal| goal.vector.is_some());
        let mut out = SessionRecords {
            end: session.began.clone(),
            session,
            assessments: Vec::new(),
            checkpoints: Vec::new(),
            handoffs: Vec::new(),
            accepts: Vec::new(),
            transcripts: Vec::new(),
            continued_by: Vec::new(),
            findings: Vec::new(),
            unknowns: Vec::new(),
            answered: Vec::new(),
            dead_ends: Vec::new(),
            dead_end_ids: Vec::new(),
            mistakes: Vec::new(),
            decisions: Vec::new(),
            evidence: Vec::new(),
            sources: Vec::new(),
            tools: Vec::new(),
            activity: Vec::new(),
            logged: Vec::new(),
            touched_files: Vec::new(),
            goals,
            ends: BTreeMap::new(),
            corrections: Vec::new(),
            entries: 0,
            first_entry_at: None,
            entry_ids: Vec::new(),
            last_at: String::new(),
        };
        let mut logged: Vec<ToolSummary> = Vec::new();
        let mut collections = Vec::new();
        let (mut consulted, mut touched) = (BTreeSet::new(), BTreeSet::new());
        // last run of each command, and its position
        let mut evidence: BTreeMap<&str, (usize, HandoffEvidence)> = BTreeMap::new();
        for (at, record) in own.iter().enumerate() {
            out.last_at.clone_from(&record.envelope.at);
            if !record.body.is_meta() && !matches!(record.body, Body::Digest(_)) {
                out.end.clone_from(&record.envelope.id);
            }
            let id = Some(record.envelope.id.clone());
            out.ends.extend(record.body.until().map(|end| (record.envelope.id.clone(), end.to_owned())));
            let item = |text: &str| Item { id: id.clone(), text: text.to_owned() };
            match &record.body {
                Body::Unknown(unknown) => match answers.get(&record.envelope.id) {
                    Some(answer) => out.answered.push(AnsweredUnknown {
                        id: record.envelope.id.clone(),
                        question: unknown.text.clone(),
                        answer: answer.clone(),
                    }),
                    None => out.unknowns.push(item(&unknown.text)),
                },
                Body::DeadEnd(dead_end) => {
                    out.dead_ends.push(DeadEnd { id, ..dead_end.quoted() });
                    out.dead_end_ids.push(record.envelope.id.clone());
                }
                Body::Mistake(mistake) => out.mistakes.push(Mistake { id, ..mistake.quoted() }),
                Body::Decision(decision) => out.decisions.push(Decision { id, ..decision.quoted() }),
                Body::Source(source) => {
                    out.sources.extend(consulted.insert(&source.location).then(|| source.location.clone()));
                }
                Body::Evidence(run) => {
                    let runs = 1 + evidence.get(run.command.as_str()).map_or(0, |(_, check)| check.runs);
                    let (command, files) = (run.command.clone(), run.files.clone());
                    evidence.insert(&run.command, (at, HandoffEvidence { command, exit: run.exit, files, runs }));
                }
                Body::Activity(activity) => {
                    let (category, samples) = (activity.category.clone(), vec![short(&activity.text, SAMPLE)]);
                    let use_once = ToolSummary { category, count: 1, errors: u64::from(activity.failed), samples };
                    add_tool(&mut logged, &use_once);
                    if matches!(activity.category.as_str(), "write" | "edit") {
                        let new = activity.files.iter().filter(|file| touched.insert(*file));
                        out.touched_files.extend(new.cloned());
                    }
                }
                Body::Assessment(assessment) => {
                    out.assessments.push((record.envelope.clone(), (**assessment).clone()));
                }
                Body::Checkpoint(checkpoint) => {
                    out.checkpoints.push((record.envelope.clone(), (**checkpoint).clone()));
                }
                Body::Handoff(handoff) => out.handoffs.push((record.envelope.clone(), (**handoff).clone())),
                Body::Accept(accept) => out.accepts.push((record.envelope.clone(), accept.clone())),
                Body::Transcript(collected) => collections.push(collected.as_ref()),
                Body::Retract(retract) if retract.is_correction() => {
                    out.corrections.push((record.envelope.clone(), retract.clone()));
                }
                // a finding, or a claim that has no list of its own
                body => out.findings.extend(body.claim().map(|claim| match body {
                    Body::Finding(_) => item(claim.text),
                    _ => item(&format!("{}: {}", body.kind().replace('_', " "), body.claim_text())),
                })),
            }
            match &record.body {
                Body::Handoff(_)
                | Body::Digest(_)
                | Body::Accept(_)
                | Body::Answer(_)
                | Body::Transcript(_)
                | Body::Supersede(_)
                | Body::Retract(_)
                | Body::Confirm(_)
                | Body::Attach(_)
                | Body::SessionEnd(_) => continue,
                Body::SessionStart(_) | Body::Assessment(_) | Body::Checkpoint(_) => {}
                body => {
                    out.entries += 1;
                    let is_suggested = matches!(body, Body::Goal(goal) if goal.vector.is_some());
                    if out.first_entry_at.is_none() && !is_suggested {
                        out.first_entry_at = Some(record.envelope.at.clone());
                    }
                }
            }
            out.entry_ids.push(record.envelope.id.clone());
        }
        let mut evidence: Vec<(usize, HandoffEvidence)> = evidence.into_values().collect();
        evidence.sort_by_key(|(at, _)| *at);
        out.evidence = evidence.into_iter().map(|(_, check)| check).collect();
        out.transcripts = by_transcript(collections);
        for transcript in &out.transcripts {
            let new = transcript.files.iter().filter(|file| touched.insert(*file));
            out.touched_files.extend(new.cloned());
        }
        out.activity = activity(logged.clone(), &out.transcripts);
        out.logged = logged;
        out.tools = counts(&out.activity);
        out
    }

    /// Subtracts transcript parts collected up to a record; `all` has the records of the session.
    pub fn leave_out_collected(&mut self, all: &[&Record], upto: &Id) {
        let own = all.iter().filter(|record| record.envelope.session.as_ref() == Some(&self.session.id));
        let before = own.filter(|record| record.envelope.id <= *upto).filter_map(|record| match &record.body {
            Body::Transcript(collected) => Some(collected.as_ref()),
            _ => None,
        });
        for old in by_transcript(before) {
            self.touched_files.retain(|file| !old.files.contains(file));
            let own =
                self.transcripts.iter_mut().find(|own| (&own.agent, &own.transcript) == (&old.agent, &old.transcript));
            if let Some(own) = own {
                own.leave_out(&old);
            }
        }
        self.activity = activity(std::mem::take(&mut self.logged), &self.transcripts);
        self.tools = counts(&self.activity);
    }

    /// Number of entries and assessments after a record.
    pub fn entries_after(&self, id: &Id) -> usize {
        self.entry_ids.iter().filter(|entry| *entry > id).count()
    }

    /// Number of handoffs not superseded.
    pub fn in_force(&self) -> usize {
        let epistemic = self.handoffs.iter().filter(|(_, handoff)| handoff.kind == "epistemic").count();
        self.handoffs.len() - epistemic.saturating_sub(1)
    }

    /// Vectors of the first PREFLIGHT, if any.
    pub fn before(&self) -> Option<&Vectors> {
        self.assessments.iter().find(|(_, a)| a.phase == Phase::Preflight).map(|(_, a)| &a.vectors)
    }

    /// Vectors of the POSTFLIGHT that ended the work; `None` without one, or if work resumed after it.
    pub fn after(&self) -> Option<&Vectors> {
        self.assessments.last().filter(|(_, a)| a.phase == Phase::Postflight).map(|(_, a)| &a.vectors)
    }

    /// The last assessment of any phase.
    pub fn last(&self) -> Option<&(Envelope, Assessment)> {
        self.assessments.last()
    }

    /// The newest value of each vector with its assessment; `newer` precedes the assessments.
    pub fn newest_vectors(&self, newer: &Vectors) -> (Vectors, BTreeMap<String, Id>) {
        let (mut vectors, mut sources) = (newer.clone(), BTreeMap::new());
        for (envelope, assessment) in self.assessments.iter().rev() {
            for (vector, value) in assessment.vectors.iter() {
                if vectors.get(vector).is_none() && vectors.set(vector, value) {
                    sources.insert(vector.name().to_owned(), envelope.id.clone());
                }
            }
        }
        (vectors, sources)
    }

    /// Round number for the next record of a phase, from 1.
    pub fn next_round(&self, phase: Phase) -> u32 {
        let rounds = self.assessments.iter().filter(|(_, a)| a.phase == phase).map(|(_, a)| a.round);
        rounds.max().unwrap_or(0).saturating_add(1)
    }

    /// The assessments as a handoff quotes them.
    pub fn assessed(&self) -> Vec<Assessed> {
        let quote = |(envelope, a): &(Envelope, Assessment)| Assessed {
            id: envelope.id.clone(),
            phase: a.phase,
            round: a.round,
            at: envelope.at.clone(),
            vectors: a.vectors.clone(),
            confidence: a.confidence,
            reasoning: a.reasoning.clone(),
        };
        self.assessments.iter().map(quote).collect()
    }
}

/// Tool categories with their numbers, most used first.
fn counts(activity: &[ToolSummary]) -> Vec<ToolUse> {
    let count = |tool: &ToolSummary| u32::try_from(tool.count).unwrap_or(u32::MAX);
    let mut out: Vec<ToolUse> =
        activity.iter().map(|tool| ToolUse { tool: tool.category.clone(), count: count(tool) }).collect();
    out.sort_by(|a, b| b.count.cmp(&a.count).then(a.tool.cmp(&b.tool)));
    out
}

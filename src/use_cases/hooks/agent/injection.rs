//! What a hook adds to the model's context.

use crate::context::handoffs::ListedHandoff;
use crate::fold::assessment::gate::Gate;
use crate::use_cases::checkpoint::save::CheckpointOutcome;
use crate::use_cases::handoff::arrival::fold::Arrival;
use crate::use_cases::session::compaction::CompactionOutcome;
use crate::use_cases::session::project_overview::ProjectOverviewOutcome;
use empirica_notes::model::SessionId;

/// Text to add to the model's context.
#[derive(Debug)]
pub enum Injection {
    /// At the start or resumption of a session.
    Session(Box<SessionBrief>),
    /// After a compaction: the snapshot and the project.
    Compacted(Box<CheckpointOutcome>, Box<CompactionOutcome>, Gate),
    /// What is known of files that the agent touched.
    Known(String),
    /// After an unsafe CHECK.
    Unsafe(SessionId, Gate),
}

/// Content for the start or resumption of a session.
#[derive(Debug)]
pub struct SessionBrief {
    pub session: SessionId,
    pub project: ProjectOverviewOutcome,
    /// The newest handoff, and its state.
    pub handed: Option<(ListedHandoff, Arrival)>,
    /// Who vouches for that handoff by a signature that git accepts.
    pub signer: Option<String>,
    /// Handed to its agent, taken up by nobody, oldest first; and how many those are.
    pub inbox: (Vec<ListedHandoff>, usize),
    /// What its session took up, but another first; and doubts of who made the handoff.
    pub warnings: Vec<String>,
    /// Now, RFC 3339.
    pub now: String,
    /// Whether it continues an earlier one.
    pub continues: bool,
    /// The confidence gate; for a new session, the one before its start, if that was unsafe.
    pub gate: Option<Gate>,
    /// Whether `git push` sends no records from this clone.
    pub lacks_setup: bool,
    /// Most tokens of the whole text.
    pub budget: usize,
}

//! Plain data without I/O: statements of agents, and the records that hold them.

pub mod assessment;
pub mod collected;
pub mod goal;
pub mod handoff;
pub mod hash;
pub mod id;
pub mod journal;
pub mod record;
pub mod session;
pub mod snapshot;
pub mod vectors;

pub use crate::model::assessment::phase::Phase;
pub use crate::model::assessment::{Assessment, Checkpoint, Trigger};
pub use crate::model::handoff::Handoff;
pub use crate::model::handoff::accept::{Accept, Verdict};
pub use crate::model::handoff::digest::Digest;
pub use crate::model::id::{Horizon, Id, SessionId};
pub use crate::model::record::{Body, Envelope, Namespace, Record, decision_text};
pub use crate::model::vectors::{Vector, Vectors};
pub use empirica_transcripts::model::Transcript;

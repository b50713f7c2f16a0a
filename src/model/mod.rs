//! Plain data, no input or output: what an agent can say, and the records that keep it.

pub mod accept;
pub mod agent_files;
pub mod assessment;
pub mod collected;
pub mod digest;
pub mod formats;
pub mod goal;
pub mod handoff;
pub mod hash;
pub mod id;
pub mod journal;
pub mod phase;
pub mod readers;
pub mod record;
pub mod session;
pub mod snapshot;
pub mod substance;
pub mod superseded;
pub mod vectors;

pub use accept::{Accept, Verdict};
pub use assessment::{Assessment, Checkpoint, Trigger};
pub use digest::Digest;
pub use empirica_transcripts::model::Transcript;
pub use handoff::Handoff;
pub use id::{Id, SessionId};
pub use phase::Phase;
pub use record::{Body, Head, Record, Shelf};
pub use vectors::{Vector, Vectors};

//! Outcome → terminal text, JSON, Markdown. The only floor that knows templates and colours.

pub mod accept;
pub mod answer;
pub mod arrival;
pub mod assess;
pub mod block;
pub mod bootstrap;
pub mod calibration;
pub mod colour;
pub mod compaction;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod fit;
pub mod goal;
pub mod handoff;
pub mod init;
pub mod log;
pub mod metrics;
pub mod pack;
pub mod portable;
pub mod project;
pub mod query;
pub mod record;
pub mod repair;
pub mod resume;
pub mod safe;
pub mod session;
pub mod show;
pub mod small;
pub mod snapshot;
pub mod status;
pub mod sync;
pub mod template;
pub mod words;

pub use answer::Answer;

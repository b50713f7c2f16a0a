//! One use case per file: what is asked → what came of it. Prints nothing; every face shares it.

pub mod alias;
pub mod arrival;
pub mod assess;
pub mod bootstrap;
pub mod calibration;
pub mod checkpoint;
pub mod context;
pub mod current;
pub mod deinit;
pub mod demo;
pub mod doctor;
pub mod draft;
pub mod drift;
pub mod flush;
pub mod goal;
pub mod handoff;
pub mod hook;
pub mod init;
pub mod journal;
pub mod log;
pub mod propose;
pub mod query;
pub mod repair;
pub mod resume;
pub mod session;
pub mod setup;
pub mod show;
pub mod status;
pub mod sync;
pub mod uncommitted;

pub use context::{Asked, Context};

use crate::store::{Replaced, Written};

/// What storing something left to say.
#[derive(Debug, Default)]
pub struct Stored {
    /// The notes could not be written: the records wait in the log.
    pub degraded_mode: bool,
    /// What the user should know, a sentence each.
    pub warnings: Vec<String>,
    /// The secrets that were replaced.
    pub redacted: Vec<Replaced>,
}

impl Stored {
    /// Takes in what one append left to say.
    pub fn add(&mut self, written: &mut Written) {
        if let Some(error) = &written.degraded {
            self.degraded_mode = true;
            let causes = error.causes();
            let why = causes.iter().fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
            self.warnings.push(format!(
                "the notes could not be written ({why}); the record waits in the log and the next command writes it"
            ));
        }
        self.warnings.append(&mut written.warnings);
        for replaced in &written.redacted {
            let text = format!(
                "{}: a secret was replaced by [redacted:{}]; if it was real, change it",
                replaced.field, replaced.rule
            );
            self.warnings.push(text);
        }
        self.redacted.append(&mut written.redacted);
    }
}

//! Reconciling: what every reading command does first.

use std::time::Duration;

use crate::error::empirica;
use crate::store::log::lock::Lock;
use crate::store::log::written;
use crate::store::redact::progress::Forgetting;
use crate::store::write::tips::Tips;
use crate::store::{Store, log};

/// The time a reading command waits for a writer before it reads without healing.
const READER_PATIENCE: Duration = Duration::from_millis(500);

impl Store<'_> {
    /// Heals refs changed by others, unites tracking refs, retries pending follows, and attaches records made before
    /// the first commit. Called once by every reading command; failures become warnings.
    pub fn reconcile(&self) -> Vec<String> {
        let folders = log::unreadable_folders(&self.paths).into_iter();
        let mut warnings: Vec<String> = folders
            .map(|(folder, error)| format!("cannot read pending records in {}: {error}", folder.display()))
            .collect();
        let mut unreadable = self.recovery().unreadable_tips();
        if !unreadable.is_empty() && !written::all(&self.paths).is_empty() {
            warnings.extend(self.writer().flush().warnings);
            unreadable = self.recovery().unreadable_tips();
        }
        for (name, tip) in unreadable {
            let left = if self.recovery().before_damage(&name, tip).is_some() {
                "its state before that is shown"
            } else {
                "the other sources are shown"
            };
            warnings.push(format!(
                "{name} points to {tip}, which cannot be read: {left}; {} shows how to recover it",
                empirica("doctor")
            ));
        }
        if Forgetting::exists(&self.paths) || !self.recovery().at_saved_tips(&Tips::load(&self.paths)) {
            self.recovery().fetch_missing_objects();
            // a reader need not wait long: it also reads the last written tips
            let patience = self.remaining_wait(self.lock_timeout.min(READER_PATIENCE));
            let healed = Lock::acquire(&self.paths, &self.paths.lock(), patience)
                .and_then(|_lock| self.recovery().heal_locked(&mut warnings).map(|tips| tips.save(&self.paths)))
                // tracking refs are united: they need not keep redacted texts reachable
                .and_then(|()| self.redaction().forget_tracking("").map(|_| ()));
            if let Err(error) = healed {
                warnings.push(format!("cannot check notes changed by others: {error}"));
            }
        }
        if let Err(error) = self.writer().follow_remembered() {
            warnings.push(format!("cannot copy notes to rewritten commits yet: {error}"));
        }
        if let Err(error) = self.log().attach_unborn() {
            warnings.push(format!("cannot attach records to the first commit yet: {error}"));
        }
        warnings
    }
}

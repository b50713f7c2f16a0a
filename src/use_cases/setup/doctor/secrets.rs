//! Scans everything stored for secrets; never prints them.

use crate::context::CommandContext;
use crate::use_cases::setup::doctor::check::DoctorCheck;
use empirica_notes::store::{Leak, LeakPart};

/// A check per stored secret, with the command that removes it. `progress` receives the notes done and their total.
pub fn secrets(context: &CommandContext<'_>, progress: &mut dyn FnMut(usize, usize)) -> Vec<DoctorCheck> {
    match context.store.secret_scan().stored(progress) {
        Ok(found) if found.is_empty() => {
            vec![DoctorCheck::right("secrets", "no stored record or note contains a known kind of secret")]
        }
        Ok(found) => found.iter().map(check).collect(),
        Err(error) => vec![DoctorCheck::failed("secrets", &error)],
    }
}

fn check(leak: &Leak) -> DoctorCheck {
    let on = leak.place.as_ref().filter(|_| leak.id.is_some() && leak.part == LeakPart::Note);
    let on = on.map_or_else(String::new, |(_, on)| format!(" on {on}"));
    let field = leak.field.as_ref().map_or_else(String::new, |field| format!(", in {field}"));
    let what = format!("{}{on} holds a secret{field} (rule {})", leak.location(), leak.rule);
    // the last remedy removes it
    leak.remedies().pop().into_iter().fold(DoctorCheck::wrong("secrets", what), DoctorCheck::command)
}

//! Everything that is stored, scanned for secrets; what they are is never said.

use crate::context::CommandContext;
use crate::setup::doctor::check::DoctorCheck;
use empirica_notes::store::{Leak, Part};

/// A check for each secret that is stored, with the command that takes it out. `told` hears how many notes are done, of how many.
pub fn secrets(context: &CommandContext<'_>, told: &mut dyn FnMut(usize, usize)) -> Vec<DoctorCheck> {
    match context.store.stored_secrets(told) {
        Ok(found) if found.is_empty() => vec![DoctorCheck::right("secrets", "no rule sees a secret in what is stored")],
        Ok(found) => found.iter().map(check).collect(),
        Err(error) => vec![DoctorCheck::failed("secrets", &error)],
    }
}

fn check(leak: &Leak) -> DoctorCheck {
    let on = leak.place.as_ref().filter(|_| leak.id.is_some() && leak.part == Part::Note);
    let on = on.map_or_else(String::new, |(_, on)| format!(" on {on}"));
    let field = leak.field.as_ref().map_or_else(String::new, |field| format!(", in {field}"));
    let what = format!("{}{on} holds a secret{field} (rule {})", leak.what(), leak.rule);
    // the last one takes it out
    leak.remedies().pop().into_iter().fold(DoctorCheck::wrong("secrets", what), DoctorCheck::command)
}

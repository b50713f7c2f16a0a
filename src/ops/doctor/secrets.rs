//! Everything that is stored, scanned for secrets; what they are is never said.

use super::Check;
use crate::ops::Context;
use crate::store::{Leak, MARKDOWN_REF};

/// A check for each secret that is stored, with the command that takes it out. `told` hears how many notes are done, of how many.
pub fn secrets(context: &Context<'_>, told: &mut dyn FnMut(usize, usize)) -> Vec<Check> {
    match context.store.stored_secrets(told) {
        Ok(found) if found.is_empty() => vec![Check::right("secrets", "no rule sees a secret in what is stored")],
        Ok(found) => found.iter().map(check).collect(),
        Err(error) => vec![Check::failed("secrets", &error)],
    }
}

fn check(leak: &Leak) -> Check {
    let (name, on) = leak.place.as_ref().map_or(("", String::new()), |(name, on)| (name.as_str(), on.to_string()));
    let what = match &leak.id {
        Some(id) => format!("the record {id}"),
        None => format!("what is no record, in {name}"),
    };
    let field = leak.field.as_ref().map_or_else(String::new, |field| format!(", in {field}"));
    let check = Check::wrong("secrets", format!("{what} on {on} holds a secret{field} (rule {})", leak.rule));
    match &leak.id {
        Some(id) => check.command(format!("git empirica redact {id}")),
        None if name == MARKDOWN_REF => check.command(format!("git notes --ref={name} edit {on}")),
        None => check.command(format!("git notes --ref={name} show {on}")),
    }
}

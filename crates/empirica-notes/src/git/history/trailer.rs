//! The trailer of a commit message that names a session.

use crate::model::SessionId;

/// The key, as `git interpret-trailers` takes it.
pub const SESSION: &str = "Empirica-Session";

/// A part of the key in the case that people who write it by hand use, too.
pub(crate) const WORD: &str = "mpirica-";

/// The sessions that a message names, each once, in order. A trailer counts anywhere in it: a squash leaves those of its commits in the
/// middle.
pub fn sessions(message: &str) -> Vec<SessionId> {
    let mut out = Vec::new();
    for line in message.lines() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let named = key.trim_end().eq_ignore_ascii_case(SESSION).then(|| SessionId::parse(value.trim())).flatten();
        out.extend(named.filter(|id| !out.contains(id)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_anywhere_once() {
        let (one, two) = ("11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555");
        let message = format!(
            "Squashed\n\n* First\n\n  Empirica-Session: {one}\n\n* Second\n\nempirica-session:{two}\nEmpirica-Session: {one}\n"
        );
        let found: Vec<String> = sessions(&message).iter().map(|id| id.as_str().to_owned()).collect();
        assert_eq!(found, [one, two]);
        for none in ["", "Empirica-Session: no id", "Signed-off-by: A <a@b>", "See Empirica-Session: above"] {
            assert!(sessions(none).is_empty(), "{none}");
        }
    }
}

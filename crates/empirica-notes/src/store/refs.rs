//! The names of the refs: one per namespace, one for the Markdown, and the tracking refs of each.

use crate::model::Namespace;

/// The ref of the Markdown notes.
pub const MARKDOWN_REF: &str = "refs/notes/empirica/handoffs";
/// The prefix of all refs of this program.
pub const PREFIX: &str = crate::git::refs::PREFIX;
/// The prefix of the tracking refs.
pub(crate) const TRACKING: &str = "refs/notes/empirica/remotes/";

/// The data ref of a namespace.
pub fn data_ref(namespace: Namespace) -> String {
    format!("{PREFIX}data/{}", namespace.name())
}

/// The local refs of this program: the data refs, then the Markdown ref.
pub fn own_refs() -> Vec<String> {
    Namespace::ALL.into_iter().map(data_ref).chain([MARKDOWN_REF.to_owned()]).collect()
}

/// The namespace of a data ref; `None` for any other ref.
pub(crate) fn namespace_of(name: &str) -> Option<Namespace> {
    Namespace::ALL.into_iter().find(|namespace| data_ref(*namespace) == name)
}

/// The tracking ref of one of [`own_refs`]. `tracking` is the name from [`crate::git::remotes::tracking`].
pub fn tracking_ref(tracking: &str, ours: &str) -> String {
    format!("{TRACKING}{tracking}/{}", ours.strip_prefix(PREFIX).unwrap_or(ours))
}

/// The ref that a tracking ref tracks; `None` for any other ref.
pub(crate) fn tracked(name: &str) -> Option<String> {
    let rest = name.strip_prefix(TRACKING)?;
    // data/handoffs has the Markdown ref's ending, and comes first
    own_refs().into_iter().find(|ours| {
        let end = format!("/{}", ours.strip_prefix(PREFIX).unwrap_or(ours));
        rest.strip_suffix(&end).is_some_and(|remote| !remote.is_empty())
    })
}

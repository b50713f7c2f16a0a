//! The names of refs beside commits, as `git log` decorates them.

use std::collections::BTreeMap;

use crate::context::CommandContext;
use crate::render::color::Paint;
use crate::render::safe;
use empirica_notes::error::Result;
use empirica_notes::git::Oid;

empirica_notes::named_enum! {
    /// How refs are named.
    pub enum Decorate {
        /// Short, on a terminal.
        Auto = "auto",
        /// Without `refs/heads/`, `refs/tags/` and `refs/remotes/`.
        Short = "short",
        /// In full.
        Full = "full",
        /// Not at all.
        No = "no",
    }
}

/// The kind of a ref, by which git colors it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefKind {
    Head,
    Branch,
    Remote,
    Tag,
}

/// The refs that point to each commit, in git's order.
#[derive(Debug, Default)]
pub struct Decorations(BTreeMap<Oid, Vec<(RefKind, String)>>);

impl Decorations {
    /// As given, else as `log.decorate` says, else `auto`; empty if they are not to be shown.
    pub fn read(context: &CommandContext<'_>, given: Option<Decorate>, is_terminal: bool) -> Result<Self> {
        let configured = || {
            let value = context.repo.config("log.decorate")?;
            let is_true = context.repo.config_bool("log.decorate");
            Decorate::parse(&value).or(is_true.map(|on| if on { Decorate::Short } else { Decorate::No }))
        };
        let full = match given.or_else(configured).unwrap_or(Decorate::Auto) {
            Decorate::Auto if !is_terminal => return Ok(Decorations::default()),
            Decorate::No => return Ok(Decorations::default()),
            Decorate::Full => true,
            Decorate::Auto | Decorate::Short => false,
        };
        let mut out = Decorations::default();
        let head = context.store.head();
        let mut branch = None;
        for (prefix, kind) in
            [("refs/heads/", RefKind::Branch), ("refs/remotes/", RefKind::Remote), ("refs/tags/", RefKind::Tag)]
        {
            for (name, commit) in context.repo.list_refs(prefix)? {
                let short = name.strip_prefix(prefix).unwrap_or(&name);
                let shown = if full { name.as_str() } else { short };
                let text = if kind == RefKind::Tag { format!("tag: {shown}") } else { shown.to_owned() };
                // beside HEAD, once
                if kind == RefKind::Branch && head.branch.as_deref() == Some(short) {
                    branch = Some(text);
                    continue;
                }
                out.0.entry(commit).or_default().push((kind, text));
            }
        }
        if let Some(commit) = head.commit {
            let name = branch.map_or_else(|| "HEAD".to_owned(), |branch| format!("HEAD -> {branch}"));
            out.0.entry(commit).or_default().push((RefKind::Head, name));
        }
        // git shows what it read last first
        out.0.values_mut().for_each(|names| names.reverse());
        Ok(out)
    }

    /// The text behind the id of a commit: ` (HEAD -> main, tag: v1)`; empty if no ref points to it.
    pub fn of(&self, commit: Oid, paint: Paint) -> String {
        let Some(names) = self.0.get(&commit) else { return String::new() };
        let painted = names.iter().map(|(kind, name)| {
            let name = safe::line(name);
            match (kind, name.split_once(" -> ")) {
                (RefKind::Head, Some((head, branch))) => {
                    format!("{}{}{}", paint.head(head), paint.commit(" -> "), paint.branch(branch))
                }
                (RefKind::Head, None) => paint.head(&name),
                (RefKind::Branch, _) => paint.branch(&name),
                (RefKind::Remote, _) => paint.remote(&name),
                (RefKind::Tag, _) => paint.tag(&name),
            }
        });
        let joined = painted.collect::<Vec<_>>().join(&paint.commit(", "));
        format!("{}{joined}{}", paint.commit(" ("), paint.commit(")"))
    }
}

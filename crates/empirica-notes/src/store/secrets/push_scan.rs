//! Secrets that a push of a ref would publish: in all objects that the remote lacks, including history, commit messages
//! and files other than notes.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::error::{Error, Result, empirica};
use crate::format::{blocks, lines};
use crate::git::NotesTree;
use crate::git::objects::unpushed::{Object, object, objects};
use crate::git::{Oid, parse_oid};
use crate::model::Namespace;
use crate::store::redact::tombstones::NAME;
use crate::store::secrets::own_texts::HandoffTexts;
use crate::store::secrets::stored_scan::{leak_of_text, leaks};
use crate::store::write::merge::form_of;
use crate::store::{Form, Leak, Part, RefComparison, Store, data_ref, log, tracked};

/// The size of a chunk of plain text, and its overlap with the next, in bytes.
const PART: usize = 64 << 10;
const OVERLAP: usize = 8 << 10;

/// The texts that were scanned already.
#[derive(Default)]
struct ScannedObjects {
    hashes: HashSet<u64>,
    state: RandomState,
    /// The objects whose remote notes were added.
    notes: HashSet<Oid>,
}

impl ScannedObjects {
    fn take(&mut self, text: &[u8]) {
        self.is_new(text);
    }

    fn is_new(&mut self, text: &[u8]) -> bool {
        self.hashes.insert(self.state.hash_one(text))
    }
}

/// The local and remote notes of a ref.
struct Sides<'r> {
    name: String,
    form: Form,
    ours: NotesTree<'r>,
    theirs: Option<NotesTree<'r>>,
    handoffs: HandoffTexts<'r>,
}

impl Store<'_> {
    /// The secrets that pushing `tip` of a local or tracking ref would publish to a remote that has `theirs`; none if
    /// `empirica.redact` is off. Secrets that the remote has are excluded, even in records rewritten since.
    pub fn secrets_leaving(&self, name: &str, tip: Oid, theirs: Option<Oid>) -> Result<Vec<Leak>> {
        if !self.scan_secrets {
            return Ok(Vec::new());
        }
        self.secrets_beyond(name, tip, theirs)
    }

    /// As [`Self::secrets_leaving`], for a compared ref, including its pending records.
    pub fn secrets_of(&self, comparison: &RefComparison) -> Result<Vec<Leak>> {
        let mut out = match comparison.ours {
            Some(tip) => self.secrets_leaving(&comparison.name, tip, comparison.theirs)?,
            None => Vec::new(),
        };
        if self.scan_secrets {
            let namespace = Namespace::ALL.into_iter().find(|namespace| data_ref(*namespace) == comparison.name);
            let pending = log::read(&self.paths).into_iter().filter(|pending| Some(pending.namespace) == namespace);
            out.extend(pending.flat_map(|pending| leaks(&pending.line)));
        }
        Ok(out)
    }

    /// As [`Self::secrets_leaving`], regardless of `empirica.redact`.
    pub(crate) fn secrets_beyond(&self, name: &str, tip: Oid, theirs: Option<Oid>) -> Result<Vec<Leak>> {
        let ours = tracked(name).unwrap_or_else(|| name.to_owned());
        let form = form_of(&ours);
        let theirs = theirs.filter(|theirs| self.is_readable(*theirs));
        let mut sides = Sides {
            name: name.to_owned(),
            form,
            ours: NotesTree::open(self.repo, Some(tip), form.unite())?,
            theirs: theirs.map(|theirs| NotesTree::open(self.repo, Some(theirs), form.unite())).transpose()?,
            handoffs: HandoffTexts::new(self),
        };
        let (mut seen, mut found) = (ScannedObjects::default(), Vec::new());
        for (id, path) in objects(self.repo, tip, theirs)? {
            self.in_time()?;
            match object(self.repo, id)? {
                Some(Object::Blob(content)) => {
                    found.extend(sides.in_blob(id, &path, &content, &mut seen, &|| self.in_time())?);
                }
                Some(Object::Commit(text)) => {
                    found.extend(leak_of_text(&(None, text)).map(|leak| leak.at(name, id, Part::Message)));
                }
                Some(Object::Tree(names)) => {
                    let in_names = names.into_iter().filter_map(|name| leak_of_text(&(None, name)));
                    found.extend(in_names.map(|leak| leak.at(name, id, Part::Name)));
                }
                None => {}
            }
        }
        Ok(found)
    }

    /// Fails after the time limit of a push.
    fn in_time(&self) -> Result<()> {
        if !self.repo.is_late() {
            return Ok(());
        }
        Err(Error::refused("timed out scanning for secrets (empirica.syncTimeout)")
            .reason("the remote lacks many objects")
            .suggest("Your records are safe here. Send them later.")
            .command(empirica("sync")))
    }
}

impl Sides<'_> {
    /// The secrets of a note, an older version of a note, or another file.
    fn in_blob(
        &mut self,
        id: Oid,
        path: &str,
        content: &[u8],
        seen: &mut ScannedObjects,
        in_time: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<Leak>> {
        let Some(on) = parse_oid(&path.replace('/', "")) else {
            // hashes and ids of an epoch are not scanned
            let is_of_epoch =
                |line: &&[u8]| line.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b' ' | b',' | b'-'));
            let lines = content.split(|byte| *byte == b'\n').filter(|line| path != NAME || !is_of_epoch(line));
            let rules = in_parts(lines, in_time)?;
            let clean = empirica_secrets::redact_text(path).map_or_else(|| path.to_owned(), |(path, _)| path);
            let leak = |rule| Leak::new(None, None, rule).at(&self.name, id, Part::File(clean.clone()));
            return Ok(rules.into_iter().map(leak).collect());
        };
        let remote = match &mut self.theirs {
            Some(theirs) => theirs.get(on)?.unwrap_or_default(),
            None => Vec::new(),
        };
        if seen.notes.insert(on) {
            match self.form {
                Form::Lines => lines::split(&remote).for_each(|line| seen.take(line)),
                Form::Blocks => blocks::texts(&remote).iter().for_each(|(_, text)| seen.take(text.as_bytes())),
            }
        }
        let part = if self.ours.blob(on)? == Some(id) { Part::Note } else { Part::Earlier };
        let found = match self.form {
            Form::Lines => in_lines(content, &remote, seen, in_time)?,
            Form::Blocks => in_blocks(content, &remote, seen, &self.handoffs, in_time)?,
        };
        Ok(found.into_iter().map(|leak| leak.at(&self.name, on, part.clone())).collect())
    }
}

/// The secrets of new lines: records are scanned one by one, foreign lines together, as a key can span lines.
fn in_lines(
    note: &[u8],
    remote: &[u8],
    seen: &mut ScannedObjects,
    in_time: &dyn Fn() -> Result<()>,
) -> Result<Vec<Leak>> {
    let (mut out, mut others) = (Vec::new(), Vec::new());
    for line in lines::split(note).filter(|line| seen.is_new(line)) {
        let Some(id) = lines::id(line) else {
            others.push(line);
            continue;
        };
        in_time()?;
        let found = leaks(line);
        if found.is_empty() {
            continue;
        }
        let known = lines::split(remote).filter(|known| lines::id(known) == Some(id)).flat_map(leaks);
        out.extend(beyond(found, known.map(|leak| leak.rule)));
    }
    let rules = in_parts(others.into_iter(), in_time)?;
    out.extend(rules.into_iter().map(|rule| Leak::new(None, None, rule)));
    Ok(out)
}

/// The rules that match in lines, scanned in overlapping chunks, as a key can span lines.
fn in_parts<'l>(
    lines: impl Iterator<Item = &'l [u8]>,
    in_time: &dyn Fn() -> Result<()>,
) -> Result<BTreeSet<&'static str>> {
    let mut rules = BTreeSet::new();
    let mut lines = lines.peekable();
    let mut part = String::new();
    while let Some(line) = lines.next() {
        part.push_str(&String::from_utf8_lossy(line));
        part.push('\n');
        if part.len() < PART && lines.peek().is_some() {
            continue;
        }
        in_time()?;
        rules.extend(empirica_secrets::redact_text(&part).into_iter().flat_map(|(_, rules)| rules));
        let kept = (part.len().saturating_sub(OVERLAP)..part.len()).find(|at| part.is_char_boundary(*at));
        part.drain(..kept.unwrap_or(part.len()));
    }
    Ok(rules)
}

/// The secrets of new blocks and passages.
fn in_blocks(
    note: &[u8],
    remote: &[u8],
    seen: &mut ScannedObjects,
    handoffs: &HandoffTexts<'_>,
    in_time: &dyn Fn() -> Result<()>,
) -> Result<Vec<Leak>> {
    let mut out = Vec::new();
    for (id, text) in blocks::texts(note).into_iter().filter(|(_, text)| seen.is_new(text.as_bytes())) {
        in_time()?;
        match id {
            Some(id) => {
                let remote_block =
                    blocks::texts(remote).into_iter().find(|(remote_block, _)| remote_block.as_ref() == Some(&id));
                out.extend(handoffs.leaks(&id, &text, remote_block.as_ref().map_or("", |(_, text)| text))?);
            }
            None => {
                let rules = in_parts(text.lines().map(str::as_bytes), in_time)?;
                out.extend(rules.into_iter().map(|rule| Leak::new(None, None, rule)));
            }
        }
    }
    Ok(out)
}

/// Removes one finding per known one of the same rule: a rewritten record keeps its other secrets.
fn beyond(mut found: Vec<Leak>, known: impl Iterator<Item = &'static str>) -> Vec<Leak> {
    for rule in known {
        if let Some(at) = found.iter().position(|leak| leak.rule == rule) {
            found.remove(at);
        }
    }
    found
}

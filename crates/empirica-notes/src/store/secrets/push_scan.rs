//! Secrets that a push of a ref would publish: in all objects that the remote lacks, including history, commit messages
//! and files other than notes.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::error::{Error, Result, empirica};
use crate::format::{blocks, lines};
use crate::git::objects::unpushed::{Object, object, objects};
use crate::git::{NotesTree, Oid, Repository, parse_oid};
use crate::store::redact::tombstones::NAME;
use crate::store::secrets::handoff_texts::HandoffTexts;
use crate::store::secrets::stored_scan::{leak_of_text, leaks};
use crate::store::{Leak, LeakPart, NoteFormat, RefComparison, SecretScan, Store, log, namespace_of, tracked};

/// The size of a chunk of plain text, and its overlap with the next, in bytes.
const CHUNK: usize = 64 << 10;
const OVERLAP: usize = 8 << 10;

/// A scan of the objects of a ref that the remote lacks.
struct PushScan<'s> {
    store: &'s Store<'s>,
    name: &'s str,
    form: NoteFormat,
    ours: NotesTree<'s>,
    theirs: Option<NotesTree<'s>>,
    handoffs: HandoffTexts<'s>,
    /// The hashes of lines, blocks and passages that are scanned already or that the remote has.
    scanned: HashSet<u64>,
    hasher: RandomState,
    /// The objects whose remote notes are in `scanned`.
    notes: HashSet<Oid>,
}

impl SecretScan<'_> {
    /// The secrets that pushing `tip` of a local or tracking ref would publish to a remote that has `theirs`; none if
    /// `empirica.redact` is off. Secrets that the remote has are excluded, even in records rewritten since.
    pub fn in_push(&self, name: &str, tip: Oid, theirs: Option<Oid>) -> Result<Vec<Leak>> {
        if !self.store.scan_secrets {
            return Ok(Vec::new());
        }
        self.all_in_push(name, tip, theirs)
    }

    /// As [`Self::in_push`], for a compared ref, including its pending records.
    pub fn to_send(&self, comparison: &RefComparison) -> Result<Vec<Leak>> {
        let mut out = match comparison.ours {
            Some(tip) => self.in_push(&comparison.name, tip, comparison.theirs)?,
            None => Vec::new(),
        };
        if self.store.scan_secrets {
            let namespace = namespace_of(&comparison.name);
            let pending =
                log::read(&self.store.paths).into_iter().filter(|pending| Some(pending.namespace) == namespace);
            out.extend(pending.flat_map(|pending| leaks(&pending.line)));
        }
        Ok(out)
    }

    /// As [`Self::in_push`], regardless of `empirica.redact`.
    pub(crate) fn all_in_push(&self, name: &str, tip: Oid, theirs: Option<Oid>) -> Result<Vec<Leak>> {
        let repo = self.store.repo;
        let ours = tracked(name).unwrap_or_else(|| name.to_owned());
        let form = NoteFormat::of(&ours);
        let theirs = theirs.filter(|theirs| self.store.recovery().is_readable(*theirs));
        let mut scan = PushScan {
            store: self.store,
            name,
            form,
            ours: NotesTree::open(repo, Some(tip), form.unite())?,
            theirs: theirs.map(|theirs| NotesTree::open(repo, Some(theirs), form.unite())).transpose()?,
            handoffs: HandoffTexts::new(self.store),
            scanned: HashSet::new(),
            hasher: RandomState::new(),
            notes: HashSet::new(),
        };
        let mut found = Vec::new();
        for (id, path) in objects(repo, tip, theirs)? {
            check_deadline(repo)?;
            match object(repo, id)? {
                Some(Object::Blob(content)) => found.extend(scan.blob(id, &path, &content)?),
                Some(Object::Commit(text)) => {
                    found.extend(leak_of_text(&text).map(|leak| leak.at(name, id, LeakPart::Message)));
                }
                Some(Object::Tree(names)) => {
                    let in_names = names.iter().filter_map(|name| leak_of_text(name));
                    found.extend(in_names.map(|leak| leak.at(name, id, LeakPart::Name)));
                }
                None => {}
            }
        }
        Ok(found)
    }
}

impl PushScan<'_> {
    /// The secrets of a note, an older version of a note, or another file.
    fn blob(&mut self, id: Oid, path: &str, content: &[u8]) -> Result<Vec<Leak>> {
        let Some(on) = parse_oid(&path.replace('/', "")) else {
            // hashes and ids of redactions are not scanned
            let is_redaction =
                |line: &&[u8]| line.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b' ' | b',' | b'-'));
            let lines = content.split(|byte| *byte == b'\n').filter(|line| path != NAME || !is_redaction(line));
            let rules = self.rules(lines)?;
            let clean = empirica_secrets::redact_text(path).map_or_else(|| path.to_owned(), |(path, _)| path);
            let leak = |rule| Leak::new(None, None, rule).at(self.name, id, LeakPart::File(clean.clone()));
            return Ok(rules.into_iter().map(leak).collect());
        };
        let remote = match &mut self.theirs {
            Some(theirs) => theirs.get(on)?.unwrap_or_default(),
            None => Vec::new(),
        };
        if self.notes.insert(on) {
            let hash = |text: &[u8]| self.hasher.hash_one(text);
            match self.form {
                NoteFormat::Lines => self.scanned.extend(lines::split(&remote).map(hash)),
                NoteFormat::Blocks => {
                    self.scanned.extend(blocks::texts(&remote).iter().map(|(_, text)| hash(text.as_bytes())))
                }
            }
        }
        let part = if self.ours.blob(on)? == Some(id) { LeakPart::Note } else { LeakPart::Earlier };
        let found = match self.form {
            NoteFormat::Lines => self.lines(content, &remote)?,
            NoteFormat::Blocks => self.blocks(content, &remote)?,
        };
        Ok(found.into_iter().map(|leak| leak.at(self.name, on, part.clone())).collect())
    }

    fn is_new(&mut self, text: &[u8]) -> bool {
        self.scanned.insert(self.hasher.hash_one(text))
    }

    /// The secrets of new lines: records are scanned one by one, foreign lines together, as a key can span lines.
    fn lines(&mut self, note: &[u8], remote: &[u8]) -> Result<Vec<Leak>> {
        let (mut out, mut foreign) = (Vec::new(), Vec::new());
        for line in lines::split(note) {
            if !self.is_new(line) {
                continue;
            }
            let Some(id) = lines::id(line) else {
                foreign.push(line);
                continue;
            };
            check_deadline(self.store.repo)?;
            let found = leaks(line);
            if !found.is_empty() {
                let published = lines::split(remote).filter(|line| lines::id(line) == Some(id)).flat_map(leaks);
                out.extend(beyond(found, published.map(|leak| leak.rule)));
            }
        }
        let rules = self.rules(foreign.into_iter())?;
        out.extend(rules.into_iter().map(|rule| Leak::new(None, None, rule)));
        Ok(out)
    }

    /// The secrets of new blocks and passages.
    fn blocks(&mut self, note: &[u8], remote: &[u8]) -> Result<Vec<Leak>> {
        let mut out = Vec::new();
        for (id, text) in blocks::texts(note) {
            if !self.is_new(text.as_bytes()) {
                continue;
            }
            check_deadline(self.store.repo)?;
            match id {
                Some(id) => {
                    let remote = blocks::texts(remote).into_iter().find(|(block, _)| block.as_ref() == Some(&id));
                    out.extend(self.handoffs.leaks(&id, &text, remote.as_ref().map_or("", |(_, text)| text))?);
                }
                None => {
                    let rules = self.rules(text.lines().map(str::as_bytes))?;
                    out.extend(rules.into_iter().map(|rule| Leak::new(None, None, rule)));
                }
            }
        }
        Ok(out)
    }

    /// The rules that match in lines, scanned in overlapping chunks, as a key can span lines.
    fn rules<'l>(&self, lines: impl Iterator<Item = &'l [u8]>) -> Result<BTreeSet<&'static str>> {
        let mut rules = BTreeSet::new();
        let mut lines = lines.peekable();
        let mut chunk = String::new();
        while let Some(line) = lines.next() {
            chunk.push_str(&String::from_utf8_lossy(line));
            chunk.push('\n');
            if chunk.len() < CHUNK && lines.peek().is_some() {
                continue;
            }
            check_deadline(self.store.repo)?;
            rules.extend(empirica_secrets::redact_text(&chunk).into_iter().flat_map(|(_, rules)| rules));
            let kept = (chunk.len().saturating_sub(OVERLAP)..chunk.len()).find(|at| chunk.is_char_boundary(*at));
            chunk.drain(..kept.unwrap_or(chunk.len()));
        }
        Ok(rules)
    }
}

/// Removes one finding per published one of the same rule: a rewritten record keeps its other secrets.
fn beyond(mut found: Vec<Leak>, published: impl Iterator<Item = &'static str>) -> Vec<Leak> {
    for rule in published {
        if let Some(at) = found.iter().position(|leak| leak.rule == rule) {
            found.remove(at);
        }
    }
    found
}

/// Fails after the time limit of a push.
fn check_deadline(repo: &Repository) -> Result<()> {
    if !repo.is_past_deadline() {
        return Ok(());
    }
    Err(Error::refused("cannot scan for secrets: timed out (empirica.syncTimeout)")
        .reason("the remote lacks many objects")
        .suggest("Your records are safe here. Send them later.")
        .command(empirica("sync")))
}

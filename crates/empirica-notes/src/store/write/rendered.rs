//! The Markdown of a note, rendered from all records that stand there.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::format::{lines, record};
use crate::git::{Oid, parse_oid};
use crate::model::record::Attach;
use crate::model::{Body, Id, Namespace, Record};
use crate::store::log::PendingRecord;
use crate::store::{Lookup, Store};

/// The records of a note, each once, oldest first.
fn records(note: &[Vec<u8>]) -> Vec<Record> {
    let canonical = lines::canonical(note.iter().map(Vec::as_slice));
    let records = lines::split(&canonical).filter_map(record::decode).map(|record| (record.head.id.clone(), record));
    // of two variants the greater bytes come last
    records.collect::<BTreeMap<Id, Record>>().into_values().collect()
}

fn attachments(records: &[Record]) -> impl Iterator<Item = (&Attach, Oid, Oid)> {
    records.iter().filter_map(|record| match &record.body {
        Body::Attach(attach) => Some((attach, parse_oid(&attach.from)?, parse_oid(&attach.to)?)),
        _ => None,
    })
}

impl Store<'_> {
    /// The notes that handoffs, digests and attachments among what waits go to, with the lines that stand there already.
    pub(crate) fn standing_with(&self, waiting: &[PendingRecord]) -> BTreeMap<Oid, Vec<Vec<u8>>> {
        let mut notes: BTreeMap<Oid, Vec<Vec<u8>>> = BTreeMap::new();
        let mut shown: BTreeSet<Oid> = BTreeSet::new();
        for waiting in waiting.iter().filter(|waiting| waiting.namespace == Namespace::Handoffs) {
            notes.entry(waiting.on).or_default().push(waiting.line.clone());
            let is_shown = |body: &Body| {
                use Body::{Attach, Digest, Handoff, Redacted, Supersede};
                matches!(body, Handoff(_) | Digest(_) | Attach(_) | Supersede(_) | Redacted(_))
            };
            if record::decode(&waiting.line).is_some_and(|record| is_shown(&record.body)) {
                shown.insert(waiting.on);
            }
        }
        notes.retain(|on, _| shown.contains(on));
        // what cannot be read is not shown until the next record comes
        if let Some(mut lookup) = (!notes.is_empty()).then(|| Lookup::open(self, Namespace::Handoffs).ok()).flatten() {
            for (on, lines) in &mut notes {
                lines.extend(lookup.lines(*on).unwrap_or_default());
            }
        }
        notes
    }

    /// The blocks of the note of `on`, given all its lines of the namespace of handoffs; `earlier` are records that have a block of
    /// an earlier renderer, which stays.
    pub(crate) fn blocks(&self, on: Oid, lines: &[Vec<u8>], earlier: &BTreeSet<Id>) -> Result<Vec<String>> {
        let all = records(lines);
        let left = self.gone_on(on, &all)?;
        let shown: Vec<Record> = all.into_iter().filter(|record| !earlier.contains(&record.head.id)).collect();
        let whole = self.repo.config("empirica.note").is_some_and(|note| note == "full");
        self.render.blocks(&shown, &left.into_keys().collect(), whole)
    }

    /// The records of a note that the next commit holds, with that commit: attached from here, or from the commit that this one
    /// is another form of.
    fn gone_on(&self, on: Oid, records: &[Record]) -> Result<BTreeMap<Id, Oid>> {
        let next = |(attach, from, to): &(&Attach, Oid, Oid)| {
            let is_next = self.repo.first_parent(*to) == Some(*from);
            is_next.then(|| attach.of.iter().map(|id| (id.clone(), *to)).collect::<Vec<_>>())
        };
        let of = |on: Oid, records: &[Record]| -> BTreeMap<Id, Oid> {
            attachments(records).filter(|(_, from, _)| *from == on).filter_map(|pair| next(&pair)).flatten().collect()
        };
        let mut left = of(on, records);
        let (mut sources, mut unseen) = (BTreeSet::from([on]), vec![records.to_vec()]);
        let mut lookup = None;
        while let Some(records) = unseen.pop() {
            for (_, from, to) in attachments(&records) {
                if from == to
                    || !sources.contains(&to)
                    || self.repo.first_parent(to) == Some(from)
                    || !sources.insert(from)
                {
                    continue;
                }
                let lookup = match &mut lookup {
                    Some(lookup) => lookup,
                    none => none.insert(Lookup::open(self, Namespace::Handoffs)?),
                };
                let there = crate::store::write::rendered::records(&lookup.lines(from)?);
                left.extend(of(from, &there));
                unseen.push(there);
            }
        }
        // what went from one of the commits to another that became the same one is here
        left.retain(|_, to| !sources.contains(to));
        Ok(left)
    }
}

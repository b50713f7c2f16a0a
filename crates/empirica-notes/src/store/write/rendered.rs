//! Renders the Markdown of a note from all its records.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::format::{lines, record};
use crate::git::{Oid, parse_oid};
use crate::model::handoff::corrected::leave_out_gone;
use crate::model::record::Attach;
use crate::model::{Body, Id, Namespace, Record};
use crate::store::log::PendingRecord;
use crate::store::{Lookup, Writer};

/// The records of lines, oldest first, without duplicates.
fn records<'l>(lines: impl Iterator<Item = &'l [u8]>) -> Vec<Record> {
    let canonical = lines::canonical(lines);
    let records =
        lines::split(&canonical).filter_map(record::decode).map(|record| (record.envelope.id.clone(), record));
    // of two lines with one id the greater bytes come last
    records.collect::<BTreeMap<Id, Record>>().into_values().collect()
}

fn attachments(records: &[Record]) -> impl Iterator<Item = (&Attach, Oid, Oid)> {
    records.iter().filter_map(|record| match &record.body {
        Body::Attach(attach) => Some((attach, parse_oid(&attach.from)?, parse_oid(&attach.to)?)),
        _ => None,
    })
}

impl Writer<'_> {
    /// The notes whose rendering depends on these pending records, with all their lines, pending or stored.
    pub(crate) fn affected_notes(&self, pending: &[PendingRecord]) -> BTreeMap<Oid, Vec<Vec<u8>>> {
        let mut notes: BTreeMap<Oid, Vec<Vec<u8>>> = BTreeMap::new();
        for pending in pending.iter().filter(|pending| pending.namespace == Namespace::Handoffs) {
            notes.entry(pending.on).or_default().push(pending.line.clone());
        }
        // unreadable lines are not rendered until the next record comes
        if !notes.is_empty()
            && let Ok(mut lookup) = Lookup::open(self.store, Namespace::Handoffs)
        {
            for (on, lines) in &mut notes {
                lines.extend(lookup.lines(*on).unwrap_or_default());
            }
        }
        notes
    }

    /// The blocks of the note of `on`, from all its lines in the handoffs namespace. `earlier` are records with a block
    /// of an earlier renderer, which stays.
    pub(crate) fn blocks<'l>(
        &self,
        on: Oid,
        lines: impl Iterator<Item = &'l [u8]>,
        earlier: &BTreeSet<Id>,
    ) -> Result<Vec<String>> {
        let all = records(lines);
        let left = self.continued(on, &all)?;
        let mut shown: Vec<Record> = all.into_iter().filter(|record| !earlier.contains(&record.envelope.id)).collect();
        leave_out_gone(&mut shown);
        let whole = self.store.repo.config("empirica.note").is_some_and(|note| note == "full");
        self.store.render.blocks(&shown, &left.into_keys().collect(), whole)
    }

    /// The records of a note whose work is in the next commit, with that commit: attached from here, or from a commit
    /// that this one is a rewritten form of.
    fn continued(&self, on: Oid, records: &[Record]) -> Result<BTreeMap<Id, Oid>> {
        let next = |(attach, from, to): &(&Attach, Oid, Oid)| {
            let is_next = self.store.repo.first_parent(*to) == Some(*from);
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
                    || self.store.repo.first_parent(to) == Some(from)
                    || !sources.insert(from)
                {
                    continue;
                }
                let lookup = match &mut lookup {
                    Some(lookup) => lookup,
                    none => none.insert(Lookup::open(self.store, Namespace::Handoffs)?),
                };
                let source = self::records(lookup.lines(from)?.iter().map(Vec::as_slice));
                left.extend(of(from, &source));
                unseen.push(source);
            }
        }
        // records moved between commits that became the same one are here
        left.retain(|_, to| !sources.contains(to));
        Ok(left)
    }
}

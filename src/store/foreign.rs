//! Records that are made of another tool's notes: which of them are new here, and where they follow to when their commit is not.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::epoch::Epoch;
use super::log::Waiting;
use super::{Lookup, Replaced, Store, data_ref};
use crate::error::Result;
use crate::git::{Oid, parse_oid};
use crate::model::record::Attach;
use crate::model::{Body, Head, Id, Record, Shelf};
use crate::wire;
use crate::wire::lines;

/// What became of records that are to be stored.
#[derive(Debug, Default)]
pub struct Survey {
    /// Those to go on with: the new ones, and those that are here just so.
    pub given: Vec<Waiting>,
    /// How many are new, by kind.
    pub new: BTreeMap<Option<String>, usize>,
    /// How many are here under their id.
    pub known: usize,
    /// How many were redacted here.
    pub left_out: usize,
}

impl Store<'_> {
    /// The line of a record with what another tool said of it, without secrets.
    pub fn foreign_line(
        &self,
        head: &Head,
        body: &Body,
        foreign: Value,
        redacted: &mut Vec<Replaced>,
    ) -> Result<Vec<u8>> {
        let mut keys = wire::record::body_to_map(body);
        keys.insert("foreign".to_owned(), foreign);
        self.line(head, body.kind(), keys, redacted)
    }

    /// Which of these records are here under their id, in whatever words.
    pub fn survey(&self, mut given: Vec<Waiting>) -> Result<Survey> {
        let mut out = Survey::default();
        given.sort_unstable_by(|a, b| (a.shelf, a.on, &a.line).cmp(&(b.shelf, b.on, &b.line)));
        given.dedup();
        for shelf in Shelf::ALL {
            let epoch = Epoch::of(self.repo, self.repo.find_ref(&data_ref(shelf))?)?;
            let mut lookup = Lookup::open(self, shelf)?;
            let of_shelf: Vec<Waiting> = given.iter().filter(|waiting| waiting.shelf == shelf).cloned().collect();
            for of_note in of_shelf.chunk_by(|a, b| a.on == b.on) {
                let here = lookup.lines(of_note[0].on)?;
                let here: BTreeMap<&str, &[u8]> =
                    here.iter().filter_map(|line| Some((lines::id(line)?, line.as_slice()))).collect();
                for waiting in of_note {
                    let id = lines::id(&waiting.line).unwrap_or_default();
                    let same = match here.get(id) {
                        _ if !epoch.counts(&waiting.line) => {
                            // what else is brought may quote it
                            self.forgotten.borrow_mut().add(&waiting.line);
                            out.left_out += 1;
                            false
                        }
                        None => {
                            *out.new.entry(wire::portable::kind(&waiting.line)).or_default() += 1;
                            true
                        }
                        // what is said of it now is not said twice
                        Some(line) => {
                            out.known += 1;
                            *line == waiting.line
                        }
                    };
                    if same {
                        out.given.push(waiting.clone());
                    }
                }
            }
        }
        Ok(out)
    }

    /// The ids that stand on an object that is not here and were attached to one that is, with that.
    pub fn attached_from(&self, from: Oid) -> Result<BTreeMap<Id, Oid>> {
        let (mut out, hex) = (BTreeMap::new(), from.to_string());
        for shelf in Shelf::ALL {
            for line in Lookup::open(self, shelf)?.lines(from)? {
                let Some(Body::Attach(attach)) = wire::record::decode(&line).map(|record| record.body) else {
                    continue;
                };
                let to = parse_oid(&attach.to).filter(|to| attach.from == hex && self.repo.has_object(*to));
                if let Some(to) = to {
                    out.extend(attach.of.into_iter().map(|id| (id, to)));
                }
            }
        }
        Ok(out)
    }

    /// Copies of lines that stand on `from` for the note of `to`, with the attachments that say so on both; the id of each
    /// attachment is `made` of its shelf, its time, and what it is about.
    pub fn copies(&self, given: &[&Waiting], to: Oid, made: &dyn Fn(u64, &[&str]) -> Id) -> Result<Vec<Waiting>> {
        let mut out = Vec::new();
        for shelf in Shelf::ALL {
            let of_shelf: Vec<&&Waiting> = given.iter().filter(|waiting| waiting.shelf == shelf).collect();
            let Some(from) = of_shelf.first().map(|waiting| waiting.on) else { continue };
            let ids = of_shelf.iter().filter_map(|waiting| Id::parse(lines::id(&waiting.line)?));
            let of: Vec<Id> = ids.collect::<BTreeSet<_>>().into_iter().collect();
            let Some(newest) = of.last() else { continue };
            let ms = newest.ms();
            let (from, target) = (from.to_string(), to.to_string());
            let mut parts = vec!["attach", shelf.name(), &from, &target];
            parts.extend(of.iter().map(Id::as_str));
            let head = Head {
                v: crate::model::record::VERSION,
                id: made(ms, &parts),
                session: None,
                ai: "git-empirica".to_owned(),
                at: wire::python::at(ms),
                commit: Some(target.clone()),
                tree: self.repo.tree_of(to).ok().map(|id| id.to_string()),
            };
            let attach = Attach { of, from: from.clone(), to: target };
            let line = wire::record::encode(&Record { head, body: Body::Attach(attach) }).into_bytes();
            out.extend(of_shelf.iter().map(|waiting| Waiting { shelf, on: to, line: waiting.line.clone() }));
            let places = [parse_oid(&from), Some(to)];
            out.extend(places.into_iter().flatten().map(|on| Waiting { shelf, on, line: line.clone() }));
        }
        Ok(out)
    }
}

//! Records that are made of another tool's notes: which of them are new here, and where they follow to when their commit is not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::import::python::convert;
use crate::import::python::convert::draft::ConvertedLine;
use empirica_notes::error::Result;
use empirica_notes::format;
use empirica_notes::format::lines;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::record::Attach;
use empirica_notes::model::{Body, Envelope, Id, Namespace, Record};
use empirica_notes::store::log::PendingRecord;
use empirica_notes::store::{Epoch, Lookup, Store, data_ref};
use empirica_secrets::Replaced;

/// A record that is to be stored, as it is made and as it is written.
pub struct NewRecord {
    /// As it is made.
    pub line: ConvertedLine,
    /// As it is written, and where.
    pub waiting: PendingRecord,
}

/// What became of records that are to be stored.
#[derive(Debug, Default)]
pub struct OriginalsSurvey {
    /// Those to go on with: the new ones, and those that are here just so.
    pub given: Vec<PendingRecord>,
    /// How many are new, by kind.
    pub new: BTreeMap<Option<String>, usize>,
    /// How many are here under their id.
    pub known: usize,
    /// How many were redacted here.
    pub left_out: usize,
}

/// The records of another tool, held against those stored here.
pub struct Originals<'s> {
    /// The records here.
    pub store: &'s Store<'s>,
}

impl Originals<'_> {
    /// The line of a record with what another tool said of it, without secrets.
    pub fn foreign_line(
        &self,
        head: &Envelope,
        body: &Body,
        foreign: Value,
        redacted: &mut Vec<Replaced>,
    ) -> Result<Vec<u8>> {
        let mut keys = format::record::body_to_map(body);
        keys.insert("foreign".to_owned(), foreign);
        self.store.line(head, body.kind(), keys, redacted)
    }

    /// Which of these records are here under their id, in whatever words and wherever. One that is here with another payload
    /// has that kept beside it; one that was nobody's and is somebody's now is stored so. Where one record of an original was redacted, all of
    /// that original stays out.
    pub fn survey(&self, given: Vec<NewRecord>, redacted: &mut Vec<Replaced>) -> Result<OriginalsSurvey> {
        let mut out = OriginalsSurvey::default();
        let mut gone: BTreeSet<String> = BTreeSet::new();
        let mut found: Vec<(PendingRecord, Option<String>, bool)> = Vec::new();
        for namespace in Namespace::ALL {
            let epoch = Epoch::of(self.store.repo(), self.store.repo().find_ref(&data_ref(namespace))?)?;
            let of_namespace: Vec<&NewRecord> =
                given.iter().filter(|given| given.waiting.namespace == namespace).collect();
            let mut wanted: HashMap<Id, Vec<(Oid, Vec<u8>)>> =
                of_namespace.iter().map(|given| (given.line.head.id.clone(), Vec::new())).collect();
            let again: Vec<ConvertedLine> =
                of_namespace.iter().filter_map(|given| convert::kept_again(&given.line)).collect();
            wanted.extend(again.iter().map(|line| (line.head.id.clone(), Vec::new())));
            self.look_up(namespace, &mut wanted)?;
            for NewRecord { line, waiting } in of_namespace {
                let name = line.foreign.get("ref").and_then(Value::as_str).map(str::to_owned);
                if !epoch.counts(&waiting.line) {
                    // what else is brought may quote it
                    self.store.forget_text(&waiting.line);
                    gone.extend(name);
                    out.left_out += 1;
                    continue;
                }
                let here = &wanted[&line.head.id];
                if here.is_empty() {
                    found.push((waiting.clone(), name, true));
                    continue;
                }
                out.known += 1;
                if here.iter().any(|(on, known)| *on == waiting.on && *known == waiting.line) {
                    found.push((waiting.clone(), name, false));
                    continue;
                }
                let known: Vec<Value> =
                    here.iter().filter_map(|(_, known)| serde_json::from_slice(known).ok()).collect();
                let ais: Vec<&str> = known.iter().filter_map(|known| known.get("ai")?.as_str()).collect();
                if line.head.ai != convert::UNKNOWN && ais.iter().all(|ai| *ai == convert::UNKNOWN) {
                    found.push((PendingRecord { on: here[0].0, ..waiting.clone() }, name.clone(), false));
                }
                let stored: Option<Value> = serde_json::from_slice(&waiting.line).ok();
                let original =
                    |value: &Value| value.get("foreign").and_then(|foreign| foreign.get("original")).cloned();
                let mine = stored.as_ref().and_then(original);
                let is_kept = mine.is_none() || known.iter().any(|known| original(known) == mine);
                if let Some(again) = convert::kept_again(line).filter(|_| !is_kept) {
                    let new = wanted.get(&again.head.id).is_none_or(Vec::is_empty);
                    if new && found.iter().all(|(waiting, ..)| lines::id(&waiting.line) != Some(again.head.id.as_str()))
                    {
                        let line = self.foreign_line(&again.head, &again.body, again.foreign, redacted)?;
                        found.push((PendingRecord { line, ..waiting.clone() }, name, true));
                    }
                }
            }
        }
        for (waiting, name, is_new) in found {
            if name.is_some_and(|name| gone.contains(&name)) {
                out.left_out += usize::from(is_new);
                continue;
            }
            if is_new {
                *out.new.entry(format::portable::kind(&waiting.line)).or_default() += 1;
            }
            out.given.push(waiting);
        }
        Ok(out)
    }

    /// Finds the lines of a namespace under these ids, with where they stand.
    fn look_up(&self, namespace: Namespace, wanted: &mut HashMap<Id, Vec<(Oid, Vec<u8>)>>) -> Result<()> {
        let mut lookup = Lookup::open(self.store, namespace)?;
        let mut places: BTreeSet<Oid> = lookup.waits_on().collect();
        places.extend(lookup.notes(self.store.repo())?.into_iter().map(|(on, _)| on));
        for on in places {
            for line in lookup.lines(on)? {
                let id = lines::id(&line).and_then(Id::parse);
                if let Some(known) = id.and_then(|id| wanted.get_mut(&id)) {
                    known.push((on, line));
                }
            }
        }
        Ok(())
    }

    /// The ids that stand on an object that is not here and were attached to one that is, with that.
    pub fn attached_from(&self, from: Oid) -> Result<BTreeMap<Id, Oid>> {
        let (mut out, hex) = (BTreeMap::new(), from.to_string());
        for namespace in Namespace::ALL {
            for line in Lookup::open(self.store, namespace)?.lines(from)? {
                let Some(Body::Attach(attach)) = format::record::decode(&line).map(|record| record.body) else {
                    continue;
                };
                let to = parse_oid(&attach.to).filter(|to| attach.from == hex && self.store.repo().has_object(*to));
                if let Some(to) = to {
                    out.extend(attach.of.into_iter().map(|id| (id, to)));
                }
            }
        }
        Ok(out)
    }

    /// Copies of lines that stand on `from` for the note of `to`, with the attachments that say so on both; the id of each
    /// attachment is `made` of its namespace, its time, and what it is about.
    pub fn copies(
        &self,
        given: &[&PendingRecord],
        to: Oid,
        made: &dyn Fn(u64, &[&str]) -> Id,
    ) -> Result<Vec<PendingRecord>> {
        let mut out = Vec::new();
        for namespace in Namespace::ALL {
            let of_namespace: Vec<&&PendingRecord> =
                given.iter().filter(|waiting| waiting.namespace == namespace).collect();
            let Some(from) = of_namespace.first().map(|waiting| waiting.on) else { continue };
            let ids = of_namespace.iter().filter_map(|waiting| Id::parse(lines::id(&waiting.line)?));
            let of: Vec<Id> = ids.collect::<BTreeSet<_>>().into_iter().collect();
            let Some(newest) = of.last() else { continue };
            let ms = newest.ms();
            let (from, target) = (from.to_string(), to.to_string());
            let mut parts = vec!["attach", namespace.name(), &from, &target];
            parts.extend(of.iter().map(Id::as_str));
            let head = Envelope {
                v: empirica_notes::model::record::VERSION,
                id: made(ms, &parts),
                session: None,
                ai: "git-empirica".to_owned(),
                at: convert::at(ms),
                commit: Some(target.clone()),
                tree: self.store.repo().tree_of(to).ok().map(|id| id.to_string()),
            };
            let attach = Attach { of, from: from.clone(), to: target };
            let line = format::record::encode(&Record { head, body: Body::Attach(attach) }).into_bytes();
            out.extend(of_namespace.iter().map(|waiting| PendingRecord {
                namespace,
                on: to,
                line: waiting.line.clone(),
            }));
            let places = [parse_oid(&from), Some(to)];
            out.extend(places.into_iter().flatten().map(|on| PendingRecord { namespace, on, line: line.clone() }));
        }
        Ok(out)
    }
}

//! Compares records converted from another tool's notes with stored ones, and copies those whose commit is missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::use_cases::import::python::convert;
use crate::use_cases::import::python::convert::draft::ConvertedLine;
use empirica_notes::error::Result;
use empirica_notes::format;
use empirica_notes::format::lines;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::record::Attach;
use empirica_notes::model::{Body, Envelope, Id, Namespace, Record};
use empirica_notes::store::log::PendingRecord;
use empirica_notes::store::{Lookup, Store, Tombstones, data_ref};
use empirica_secrets::Replaced;

/// A record to store, converted and encoded.
pub struct NewRecord {
    pub line: ConvertedLine,
    pub pending: PendingRecord,
}

#[derive(Debug, Default)]
pub struct OriginalsSurvey {
    /// Records to write: new ones, and identical stored ones.
    pub pending: Vec<PendingRecord>,
    /// By kind.
    pub new: BTreeMap<Option<String>, usize>,
    /// Number of records whose ID is already stored.
    pub known: usize,
    /// Number of records redacted here.
    pub left_out: usize,
}

pub struct Originals<'s> {
    pub store: &'s Store<'s>,
}

impl Originals<'_> {
    /// The line of a record with the other tool's payload, secrets removed.
    pub fn foreign_line(
        &self,
        envelope: &Envelope,
        body: &Body,
        foreign: Value,
        redacted: &mut Vec<Replaced>,
    ) -> Result<Vec<u8>> {
        let mut keys = format::record::body_to_map(body);
        keys.insert("foreign".to_owned(), foreign);
        self.store.writer().encode_line(envelope, body.kind(), keys, redacted)
    }

    /// Finds which records are already stored under their IDs, on any commit and with any content. If one is stored
    /// with a different payload, the new payload is stored beside it; if its agent became known, it is stored with
    /// the agent. If any record of an original was redacted, all of that original is omitted.
    pub fn survey(&self, records: Vec<NewRecord>, redacted: &mut Vec<Replaced>) -> Result<OriginalsSurvey> {
        let mut out = OriginalsSurvey::default();
        let mut gone: BTreeSet<String> = BTreeSet::new();
        let mut found: Vec<(PendingRecord, Option<String>, bool)> = Vec::new();
        for namespace in Namespace::ALL {
            let epoch = Tombstones::of(self.store.repo(), self.store.repo().find_ref(&data_ref(namespace))?)?;
            let of_namespace: Vec<&NewRecord> =
                records.iter().filter(|record| record.pending.namespace == namespace).collect();
            let own = of_namespace.iter().map(|record| record.line.envelope.id.clone());
            let placeholders =
                of_namespace.iter().filter_map(|record| Some(convert::placeholder(&record.line)?.envelope.id));
            let mut stored: HashMap<Id, Vec<(Oid, Vec<u8>)>> =
                own.chain(placeholders).map(|id| (id, Vec::new())).collect();
            self.look_up(namespace, &mut stored)?;
            for NewRecord { line, pending } in of_namespace {
                let name = line.foreign.get("ref").and_then(Value::as_str).map(str::to_owned);
                if !epoch.permits(&pending.line) {
                    // other imported records may quote it
                    self.store.redaction().forget_text(&pending.line);
                    gone.extend(name);
                    out.left_out += 1;
                    continue;
                }
                let lines = &stored[&line.envelope.id];
                if lines.is_empty() {
                    found.push((pending.clone(), name, true));
                    continue;
                }
                out.known += 1;
                if lines.iter().any(|(on, line)| *on == pending.on && *line == pending.line) {
                    found.push((pending.clone(), name, false));
                    continue;
                }
                let records: Vec<Value> =
                    lines.iter().filter_map(|(_, line)| serde_json::from_slice(line).ok()).collect();
                let ais: Vec<&str> = records.iter().filter_map(|record| record.get("ai")?.as_str()).collect();
                if line.envelope.ai != convert::UNKNOWN && ais.iter().all(|ai| *ai == convert::UNKNOWN) {
                    found.push((PendingRecord { on: lines[0].0, ..pending.clone() }, name.clone(), false));
                }
                let encoded: Option<Value> = serde_json::from_slice(&pending.line).ok();
                let original = |value: &Value| value.pointer("/foreign/original").cloned();
                let own = encoded.as_ref().and_then(original);
                let is_kept = own.is_none() || records.iter().any(|record| original(record) == own);
                if let Some(placeholder) = convert::placeholder(line).filter(|_| !is_kept) {
                    let id = placeholder.envelope.id.as_str();
                    let is_new = stored.get(&placeholder.envelope.id).is_none_or(Vec::is_empty);
                    if is_new && found.iter().all(|(pending, ..)| lines::id(&pending.line) != Some(id)) {
                        let line =
                            self.foreign_line(&placeholder.envelope, &placeholder.body, placeholder.foreign, redacted)?;
                        found.push((PendingRecord { line, ..pending.clone() }, name, true));
                    }
                }
            }
        }
        for (pending, name, is_new) in found {
            if name.is_some_and(|name| gone.contains(&name)) {
                out.left_out += usize::from(is_new);
                continue;
            }
            if is_new {
                *out.new.entry(format::export::kind(&pending.line)).or_default() += 1;
            }
            out.pending.push(pending);
        }
        Ok(out)
    }

    /// Finds the lines of these IDs in a namespace, and their objects.
    fn look_up(&self, namespace: Namespace, found: &mut HashMap<Id, Vec<(Oid, Vec<u8>)>>) -> Result<()> {
        let mut lookup = Lookup::open(self.store, namespace)?;
        for on in lookup.objects()? {
            for line in lookup.lines(on)? {
                let id = lines::id(&line).and_then(Id::parse);
                if let Some(lines) = id.and_then(|id| found.get_mut(&id)) {
                    lines.push((on, line));
                }
            }
        }
        Ok(())
    }

    /// IDs on a missing object that were attached elsewhere, with that object.
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

    /// Copies of lines of one note for the note of `to`, with attachments on both.
    pub fn copies(&self, records: &[&PendingRecord], to: Oid) -> Result<Vec<PendingRecord>> {
        let mut out = Vec::new();
        for namespace in Namespace::ALL {
            let of_namespace: Vec<&&PendingRecord> =
                records.iter().filter(|pending| pending.namespace == namespace).collect();
            let Some(from) = of_namespace.first().map(|pending| pending.on) else { continue };
            let ids = of_namespace.iter().filter_map(|pending| Id::parse(lines::id(&pending.line)?));
            let of: Vec<Id> = ids.collect::<BTreeSet<_>>().into_iter().collect();
            let Some(newest) = of.last() else { continue };
            let ms = newest.ms();
            let (from, target) = (from.to_string(), to.to_string());
            let mut parts = vec!["attach", namespace.name(), &from, &target];
            parts.extend(of.iter().map(Id::as_str));
            let envelope = Envelope {
                v: empirica_notes::model::record::VERSION,
                id: convert::derived_id(ms, &parts),
                session: None,
                ai: "git-empirica".to_owned(),
                at: convert::rfc3339(ms),
                commit: Some(target.clone()),
                tree: self.store.repo().tree_of(to).ok().map(|id| id.to_string()),
            };
            let attach = Attach { of, from: from.clone(), to: target };
            let line = format::record::encode(&Record { envelope, body: Body::Attach(attach) }).into_bytes();
            out.extend(of_namespace.iter().map(|pending| PendingRecord { on: to, ..(**pending).clone() }));
            let places = [parse_oid(&from), Some(to)];
            out.extend(places.into_iter().flatten().map(|on| PendingRecord { namespace, on, line: line.clone() }));
        }
        Ok(out)
    }
}

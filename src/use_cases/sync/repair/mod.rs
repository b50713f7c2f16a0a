//! Repairs handoffs on vanished, squashed, picked or filtered commits: finds the replacement and attaches them to it.

pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use crate::render::format;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::reach::is_ancestor;
use empirica_notes::git::rewrites::{CommitFate, LostCommit, Rule, find};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::{Body, Namespace, Record};
use empirica_notes::store::{Follow, Placements, RecordEntry, Scan};

/// Fewest digits of an abbreviated commit.
const SHORTEST: usize = 4;

#[derive(Debug, Clone, Default)]
pub struct RepairRequest {
    /// Apply repairs; otherwise only report them.
    pub apply: bool,
    /// Replacements chosen by the user: old and new commit.
    pub to: Vec<(String, String)>,
}

#[derive(Debug, Default)]
pub struct RepairOutcome {
    /// Commits outside HEAD's history, with their handoffs.
    pub repairs: Vec<Repair>,
    pub applied: bool,
    pub unborn: bool,
    /// Outcome of storing: warnings, remedies, replaced secrets.
    pub stored: StoreReport,
}

/// A commit with handoffs, and their repair.
#[derive(Debug)]
pub struct Repair {
    pub from: Oid,
    /// Its subject; `None` if it is not in this clone.
    pub subject: Option<String>,
    pub verdict: RepairVerdict,
    /// Its handoffs, or its other records if none; oldest first.
    pub records: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairVerdict {
    /// Attach to another commit.
    Attach {
        to: Candidate,
        /// The rule that found it; `None` if the user chose it.
        rule: Option<Rule>,
        done: bool,
    },
    /// Several candidates; the user must choose.
    Ambiguous(Rule, Vec<Candidate>),
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub commit: Oid,
    pub subject: String,
    /// Commit date, strict ISO 8601.
    pub date: String,
}

impl Candidate {
    fn new(context: &CommandContext<'_>, commit: Oid) -> Self {
        let subject = context.repo.subject(commit).unwrap_or_default();
        Candidate { commit, subject, date: context.repo.committed(commit).unwrap_or_default() }
    }
}

/// Finds replacements of commits outside HEAD's history, and on request attaches their records to unambiguous ones.
pub fn run(context: &CommandContext<'_>, request: &RepairRequest) -> Result<RepairOutcome> {
    let mut warnings = context.store.reconcile();
    let mut outcome = find_repairs(context, request)?;
    warnings.append(&mut outcome.stored.warnings);
    outcome.stored.warnings = warnings;
    Ok(outcome)
}

/// Same, without modifying the store unless `request` applies repairs.
pub(crate) fn find_repairs(context: &CommandContext<'_>, request: &RepairRequest) -> Result<RepairOutcome> {
    let mut outcome = RepairOutcome { applied: request.apply, ..Default::default() };
    outcome.unborn = context.store.head().commit.is_none();
    let mut moves = Vec::new();
    let chosen = chosen(context, &request.to)?;
    let handoffs = context.store.reader().scan(Namespace::Handoffs)?;
    let mut lost = if outcome.unborn { BTreeMap::new() } else { handoffs_by_commit(context, &handoffs) };
    for choice in &chosen {
        lost.remove(&choice.from);
    }
    let sought = lost.iter().map(|(id, entries)| (*id, lost_commit(context, &handoffs, *id, entries))).collect();
    let found = find(context.repo, &sought, None)?;
    outcome.stored.warnings.extend(found.warnings);
    let superseded = superseded(handoffs.records());
    let mut shallow = 0;
    for (from, entries) in lost {
        let verdict = match found.fates.get(&from) {
            Some(CommitFate::Replaced(rule, to)) => match to.as_slice() {
                [only] => {
                    // git itself may have copied the lines to another commit
                    let mut on = entries.iter().flat_map(|entry| &entry.on);
                    let source = on.clone().find(|on| **on == from).or_else(|| on.next()).copied().unwrap_or(from);
                    moves.push(Follow { from: source, to: *only, only: None });
                    RepairVerdict::Attach { to: Candidate::new(context, *only), rule: Some(*rule), done: request.apply }
                }
                many => RepairVerdict::Ambiguous(*rule, many.iter().map(|to| Candidate::new(context, *to)).collect()),
            },
            Some(CommitFate::Lost) if entries.iter().any(|entry| !superseded.contains(&entry.record.envelope.id)) => {
                RepairVerdict::Lost
            }
            Some(CommitFate::Beyond) => {
                shallow += 1;
                continue;
            }
            _ => continue,
        };
        let records = entries.iter().map(|entry| entry.record.clone()).collect();
        outcome.repairs.push(Repair { from, subject: context.repo.subject(from), verdict, records });
    }
    if shallow > 0 {
        let commits = format::count(shallow, "commit");
        outcome.stored.warnings.push(format!(
            "missing here: {commits} with handoffs; this clone is shallow, so they can be in the history that was cut off"
        ));
    }
    for mut choice in chosen {
        if let RepairVerdict::Attach { to, done: done @ false, .. } = &mut choice.verdict {
            moves.push(Follow { from: choice.from, to: to.commit, only: None });
            *done = request.apply;
        }
        outcome.repairs.push(choice);
    }
    if request.apply && !moves.is_empty() {
        outcome.stored.add(&mut context.store.writer().follow(&moves)?);
    }
    Ok(outcome)
}

fn is_content(record: &Record) -> bool {
    !record.body.is_meta()
}

/// Handoffs by the commit they are attached to.
fn handoffs_by_commit<'s>(context: &CommandContext<'_>, handoffs: &'s Scan) -> BTreeMap<Oid, Vec<&'s RecordEntry>> {
    let placements = Placements::new(handoffs);
    let empty = context.repo.empty_tree();
    let mut out: BTreeMap<Oid, Vec<&RecordEntry>> = BTreeMap::new();
    for entry in handoffs.entries().filter(|entry| is_content(&entry.record)) {
        let commit = placements.of(&context.store, entry);
        if commit != empty {
            out.entry(commit).or_default().push(entry);
        }
    }
    out
}

/// The evidence of the records about their commit.
fn lost_commit(context: &CommandContext<'_>, handoffs: &Scan, commit: Oid, entries: &[&RecordEntry]) -> LostCommit {
    let empty = context.repo.empty_tree();
    let also: BTreeSet<Oid> = entries.iter().flat_map(|entry| &entry.on).copied().collect();
    // written on a parent and attached here later: a replacement of the parent says nothing about this commit
    let before = |on: &Oid| is_ancestor(context.repo, *on, commit);
    let also = also.into_iter().filter(|on| *on != commit && *on != empty && !before(on)).collect();
    let mut trees = BTreeSet::new();
    if !context.repo.has_object(commit) {
        let hex = commit.to_string();
        let written_there = handoffs.records().filter(|record| record.envelope.commit.as_ref() == Some(&hex));
        trees.extend(written_there.filter_map(|record| parse_oid(record.envelope.tree.as_deref()?)));
    }
    let sessions = entries.iter().filter_map(|entry| entry.record.envelope.session.clone()).collect();
    LostCommit { also, trees, sessions }
}

/// The repairs that the user chose; done if everything is attached already.
fn chosen(context: &CommandContext<'_>, pairs: &[(String, String)]) -> Result<Vec<Repair>> {
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let all = context.store.reader().scan_all()?;
    pairs.iter().map(|(from, to)| choice(context, &all, from, to)).collect()
}

fn choice(context: &CommandContext<'_>, all: &Scan, from: &str, to: &str) -> Result<Repair> {
    let from = annotated(context, all, from)?;
    let to = context.repo.resolve_commit(to).ok_or_else(|| {
        Error::not_found(format!("cannot attach to '{to}': not a commit"))
            .provided(to)
            .reason("git knows no such revision here")
            .suggest("Name the replacement as git log shows it.")
            .command("git log --oneline -20")
    })?;
    if from == to {
        return Err(Error::usage(format!("cannot replace {from} by itself"))
            .provided(from.to_string())
            .reason("both sides of the = are the same commit")
            .suggest("Name another commit after the =.")
            .command("git log --oneline -20"));
    }
    let entries = || all.entries().filter(|entry| entry.on.contains(&from) && is_content(&entry.record));
    let handoffs = entries().filter(|entry| entry.record.body.namespace() == Some(Namespace::Handoffs));
    let mut records: Vec<Record> = handoffs.map(|entry| entry.record.clone()).collect();
    if records.is_empty() {
        records = entries().map(|entry| entry.record.clone()).collect();
    }
    let (hex_from, hex_to) = (from.to_string(), to.to_string());
    let attached: BTreeSet<_> = all
        .records()
        .filter_map(|record| match &record.body {
            Body::Attach(attach) if attach.from == hex_from && attach.to == hex_to => Some(&attach.of),
            _ => None,
        })
        .flatten()
        .collect();
    let done = entries().all(|entry| entry.on.contains(&to) && attached.contains(&entry.record.envelope.id));
    let verdict = RepairVerdict::Attach { to: Candidate::new(context, to), rule: None, done };
    Ok(Repair { from, subject: context.repo.subject(from), verdict, records })
}

/// Resolves an annotated commit: a full ID, a unique prefix of 4 digits or more, or a revision.
fn annotated(context: &CommandContext<'_>, all: &Scan, name: &str) -> Result<Oid> {
    let annotated: BTreeSet<Oid> = all.entries().flat_map(|entry| entry.on.iter().copied()).collect();
    let digits = name.trim().to_ascii_lowercase();
    let begins = |on: &&Oid| digits.len() >= SHORTEST && on.to_string().starts_with(&digits);
    let named: Vec<&Oid> = annotated.iter().filter(begins).collect();
    if let [first, second, ..] = named.as_slice() {
        return Err(Error::refused(format!("cannot resolve '{name}': it matches {} commits", named.len()))
            .provided(name)
            .reason("an abbreviated id must be unique")
            .suggest("Give more digits.")
            .alternative(first.to_string())
            .alternative(second.to_string())
            .command(empirica("doctor")));
    }
    let commit = named.first().map(|on| **on).or_else(|| context.repo.resolve_commit(name));
    commit.filter(|on| annotated.contains(on)).ok_or_else(|| {
        Error::not_found(format!("cannot repair '{name}': no records are on it"))
            .provided(name)
            .reason("no annotated commit has such an id, and no revision of that name is annotated")
            .suggest("See which commits can be repaired.")
            .command(empirica("doctor"))
    })
}

//! Repairs handoffs on vanished, squashed, picked or filtered commits: finds the replacement and attaches them to it.

pub mod view;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::CommandContext;
use crate::context::stored::StoreReport;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::reach::is_ancestor;
use empirica_notes::git::rewrites::{CommitFate, LostCommit, Rule, find};
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::handoff::superseded::superseded;
use empirica_notes::model::{Body, Namespace, Record};
use empirica_notes::store::{Follow, Placements, RecordEntry, Scan};

/// Fewest digits of an abbreviated commit.
const SHORTEST: usize = 4;

/// Repairs to find or apply.
#[derive(Debug, Clone, Default)]
pub struct RepairRequest {
    /// Apply repairs; otherwise only report them.
    pub apply: bool,
    /// Replacements chosen by the user: old and new commit.
    pub to: Vec<(String, String)>,
}

/// Repairs found, and those applied.
#[derive(Debug, Default)]
pub struct RepairOutcome {
    /// Commits outside HEAD's history, with their handoffs.
    pub repairs: Vec<Repair>,
    /// Whether repairs were to be applied.
    pub applied: bool,
    /// Whether HEAD is unborn.
    pub unborn: bool,
    /// Outcome of storing: warnings, remedies, replaced secrets.
    pub stored: StoreReport,
}

/// A commit with handoffs, and their repair.
#[derive(Debug)]
pub struct Repair {
    /// The commit.
    pub from: Oid,
    /// Its subject; `None` if it is not in this clone.
    pub subject: Option<String>,
    /// The finding.
    pub verdict: RepairVerdict,
    /// Its handoffs, or its other records if none; oldest first.
    pub records: Vec<Record>,
}

/// Repair of a commit's handoffs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairVerdict {
    /// Attach to another commit.
    Attach {
        /// The replacement.
        to: Candidate,
        /// The rule that found it; `None` if the user chose it.
        rule: Option<Rule>,
        /// Whether it is done.
        done: bool,
    },
    /// Several candidates; the user must choose.
    Ambiguous(Rule, Vec<Candidate>),
    /// No candidate here.
    Lost,
}

/// A candidate for the replacement.
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
    let mut outcome = look(context, request)?;
    warnings.append(&mut outcome.stored.warnings);
    outcome.stored.warnings = warnings;
    Ok(outcome)
}

/// Same, without modifying the store unless `request` applies repairs.
pub(crate) fn look(context: &CommandContext<'_>, request: &RepairRequest) -> Result<RepairOutcome> {
    let mut outcome = RepairOutcome { applied: request.apply, ..Default::default() };
    outcome.unborn = context.store.head().commit.is_none();
    let mut moves = Vec::new();
    let chosen = chosen(context, &request.to)?;
    let handoffs = context.store.scan(Namespace::Handoffs)?;
    let mut lost = if outcome.unborn { BTreeMap::new() } else { handoffs_by_commit(context, &handoffs) };
    for choice in &chosen {
        lost.remove(&choice.from);
    }
    let sought = lost.iter().map(|(id, entries)| (*id, about(context, &handoffs, *id, entries))).collect();
    let found = find(context.repo, &sought)?;
    outcome.stored.warnings.extend(found.warnings);
    let aside = superseded(handoffs.records());
    let mut beyond = 0;
    for (from, entries) in lost {
        let verdict = match found.fates.get(&from) {
            Some(CommitFate::Replaced(rule, to)) => match to.as_slice() {
                [only] => {
                    // git itself may have copied the lines to another commit
                    let stands = entries.iter().any(|entry| entry.on.contains(&from));
                    let other = entries.iter().flat_map(|entry| &entry.on).next().copied().unwrap_or(from);
                    moves.push(Follow { from: if stands { from } else { other }, to: *only, only: None });
                    RepairVerdict::Attach { to: Candidate::new(context, *only), rule: Some(*rule), done: request.apply }
                }
                many => RepairVerdict::Ambiguous(*rule, many.iter().map(|to| Candidate::new(context, *to)).collect()),
            },
            Some(CommitFate::Lost) if entries.iter().any(|entry| !aside.contains(&entry.record.head.id)) => {
                RepairVerdict::Lost
            }
            Some(CommitFate::Beyond) => {
                beyond += 1;
                continue;
            }
            _ => continue,
        };
        let records = entries.iter().map(|entry| entry.record.clone()).collect();
        outcome.repairs.push(Repair { from, subject: context.repo.subject(from), verdict, records });
    }
    if beyond > 0 {
        let (commits, are) = if beyond == 1 { ("commit", "is") } else { ("commits", "are") };
        outcome.stored.warnings.push(format!(
            "{beyond} {commits} with handoffs {are} not here; this clone is shallow, so they can be in the history that was cut off"
        ));
    }
    for choice in chosen {
        if !choice.done {
            moves.push(Follow { from: choice.from, to: choice.to, only: None });
        }
        outcome.repairs.push(Repair {
            from: choice.from,
            subject: context.repo.subject(choice.from),
            verdict: RepairVerdict::Attach {
                to: Candidate::new(context, choice.to),
                rule: None,
                done: choice.done || request.apply,
            },
            records: choice.records,
        });
    }
    if request.apply && !moves.is_empty() {
        outcome.stored.add(&mut context.store.follow(&moves)?);
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
        let home = placements.of(&context.store, entry);
        if home != empty {
            out.entry(home).or_default().push(entry);
        }
    }
    out
}

/// What the records tell about their commit.
fn about(context: &CommandContext<'_>, handoffs: &Scan, home: Oid, entries: &[&RecordEntry]) -> LostCommit {
    let empty = context.repo.empty_tree();
    let also: BTreeSet<Oid> = entries.iter().flat_map(|entry| &entry.on).copied().collect();
    // written on a parent and attached here later: a replacement of the parent says nothing about this commit
    let before = |on: &Oid| is_ancestor(context.repo, *on, &home.to_string());
    let also = also.into_iter().filter(|on| *on != home && *on != empty && !before(on)).collect();
    let mut trees = BTreeSet::new();
    if !context.repo.has_object(home) {
        let home = home.to_string();
        let made_there = handoffs.records().filter(|record| record.head.commit.as_ref() == Some(&home));
        trees.extend(made_there.filter_map(|record| parse_oid(record.head.tree.as_deref()?)));
    }
    LostCommit { also, trees }
}

/// The user's choice.
struct UserChoice {
    from: Oid,
    to: Oid,
    records: Vec<Record>,
    /// Whether everything is attached already.
    done: bool,
}

fn chosen(context: &CommandContext<'_>, given: &[(String, String)]) -> Result<Vec<UserChoice>> {
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let all = context.store.scan_all()?;
    given.iter().map(|(from, to)| choice(context, &all, from, to)).collect()
}

fn choice(context: &CommandContext<'_>, all: &Scan, from: &str, to: &str) -> Result<UserChoice> {
    let from = annotated(context, all, from)?;
    let to = context.repo.resolve_commit(to).ok_or_else(|| {
        Error::not_found(format!("'{to}' is no commit"))
            .provided(to)
            .reason("git knows no such revision here")
            .suggest("Name the commit that took the place as git log shows it.")
            .command("git log --oneline -20")
    })?;
    if from == to {
        return Err(Error::usage(format!("{from} cannot take its own place"))
            .provided(from.to_string())
            .reason("the commit that has the records and the one that shall have them are the same")
            .suggest("Name another commit after the =.")
            .command("git log --oneline -20"));
    }
    let here = || all.entries().filter(|entry| entry.on.contains(&from) && is_content(&entry.record));
    let of_namespace = here().filter(|entry| entry.record.body.namespace() == Some(Namespace::Handoffs));
    let mut records: Vec<Record> = of_namespace.map(|entry| entry.record.clone()).collect();
    if records.is_empty() {
        records = here().map(|entry| entry.record.clone()).collect();
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
    let done = here().all(|entry| entry.on.contains(&to) && attached.contains(&entry.record.head.id));
    Ok(UserChoice { from, to, records, done })
}

/// Resolves an annotated commit: a full ID, a unique prefix of 4 digits or more, or a revision.
fn annotated(context: &CommandContext<'_>, all: &Scan, given: &str) -> Result<Oid> {
    let places: BTreeSet<Oid> = all.entries().flat_map(|entry| entry.on.iter().copied()).collect();
    let wanted = given.trim().to_ascii_lowercase();
    let begins = |on: &&Oid| wanted.len() >= SHORTEST && on.to_string().starts_with(&wanted);
    let named: Vec<&Oid> = places.iter().filter(begins).collect();
    if let [first, second, ..] = named.as_slice() {
        return Err(Error::refused(format!("'{given}' matches {} commits", named.len()))
            .provided(given)
            .reason("an abbreviated id must be unique")
            .suggest("Give more digits.")
            .alternative(first.to_string())
            .alternative(second.to_string())
            .command(empirica("doctor")));
    }
    let meant = named.first().map(|on| **on).or_else(|| context.repo.resolve_commit(given));
    meant.filter(|on| places.contains(on)).ok_or_else(|| {
        Error::not_found(format!("no records stand on '{given}'"))
            .provided(given)
            .reason("no annotated commit has such an id, and no revision of that name is annotated")
            .suggest("See which commits can be repaired.")
            .command(empirica("doctor"))
    })
}

//! What is known of a place in the code: claims about it, what was decided and failed on its commits, handoffs that list it.

pub mod view;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::context::claims::anchors::{Anchors, Spot, parsed};
use crate::context::claims::{Standing, standings};
use crate::context::{CommandContext, handoffs};
use crate::index::HandoffQuery;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::blame;
use empirica_notes::git::objects::content::{PathContent, tree_path};
use empirica_notes::model::{Body, Id, Record};

/// Most records that are read of the commits.
const DECIDED: usize = 200;
/// Most claims whose texts name the file.
const NAMING: usize = 50;
/// Most handoffs that list the file.
const HANDOFFS: usize = 10;
/// Most entries.
const ENTRIES: usize = 100;

empirica_notes::named_enum! {
    /// Why a record is known to be about the code.
    #[derive(PartialOrd, Ord)]
    pub enum Relation {
        /// It is a claim about this place.
        About = "about",
        /// It is a claim whose text names the file.
        Names = "names",
        /// It was logged for, or on, a commit that made the lines, or touched the file.
        Commit = "commit",
        /// It is a handoff that lists the file.
        Handoff = "handoff",
    }
}

/// A record about the code.
#[derive(Debug, Clone)]
pub struct Known {
    /// With the commit that it is placed on.
    pub record: Record,
    pub relation: Relation,
    pub standing: Standing,
}

/// What is known of a place.
#[derive(Debug)]
pub struct WhyOutcome {
    pub spot: Spot,
    /// Best first.
    pub known: Vec<Known>,
    pub warnings: Vec<String>,
}

/// What is known of `PATH[:LINE[-LINE]]`, relative to the current folder: of the lines, or of the file.
pub fn run(context: &CommandContext<'_>, place: &str) -> Result<WhyOutcome> {
    let mut warnings = context.store.reconcile();
    let (path, lines) = parsed(place);
    let root = context.repo.work_tree();
    let path = tree_path(root.as_deref(), &context.env.cwd, path).filter(|path| !path.is_empty());
    let spot = Spot { path: path.ok_or_else(|| refused(place, "it is not a file of this work tree"))?, lines };
    let mut anchors = Anchors::new(context);
    let is_there = check(&mut anchors, place, &spot)?;
    // git looks for the commits meanwhile
    let is_tracked = anchors.present.in_head(&spot.path) != PathContent::Nothing;
    let commits = match is_tracked || (lines.is_none() && context.store.head().commit.is_some()) {
        true => blame::start(context.repo, &spot.path, lines),
        false => blame::PendingCommits::none(),
    };
    let about = about(context, &mut anchors, &spot)?;
    let listing = HandoffQuery { paths: vec![spot.path.clone()], ..HandoffQuery::default() };
    let listing = handoffs::in_force(context, &listing, HANDOFFS)?;
    let commits = commits.read().unwrap_or_else(|error| {
        warnings.push(format!("cannot find the commits of {place}: {error}"));
        Vec::new()
    });
    if !is_there && about.is_empty() && listing.is_empty() && commits.is_empty() {
        return Err(refused(place, "there is no such file"));
    }
    let index = context.index()?;
    let mut relations: BTreeMap<Id, Relation> = BTreeMap::new();
    let mut add = |id: &Id, relation| {
        relations.entry(id.clone()).or_insert(relation);
    };
    about.iter().for_each(|id| add(id, Relation::About));
    let naming = index.mentioning([spot.path.as_str()], NAMING)?;
    naming.records().for_each(|record| add(&record.envelope.id, Relation::Names));
    let decided = index.decided_on(&commits, DECIDED)?;
    for record in decided.records() {
        match &record.body {
            Body::Decision(_) | Body::DeadEnd(_) => add(&record.envelope.id, Relation::Commit),
            Body::Handoff(of) => {
                of.decisions.iter().filter_map(|one| one.id.as_ref()).for_each(|id| add(id, Relation::Commit));
                of.dead_ends.iter().filter_map(|one| one.id.as_ref()).for_each(|id| add(id, Relation::Commit));
            }
            Body::Digest(of) => {
                of.decisions.iter().filter_map(|one| one.id.as_ref()).for_each(|id| add(id, Relation::Commit));
                of.dead_ends.iter().filter_map(|one| one.id.as_ref()).for_each(|id| add(id, Relation::Commit));
            }
            _ => {}
        }
    }
    listing.iter().for_each(|listed| add(&listed.envelope.id, Relation::Handoff));
    Ok(WhyOutcome { spot, known: ranked(context, &relations)?, warnings })
}

/// The claims about these files, and those whose texts name one, best first: what an agent should know before it changes them.
pub fn before_change(context: &CommandContext<'_>, paths: &BTreeSet<String>) -> Result<Vec<Known>> {
    let index = context.index()?;
    let mut relations: BTreeMap<Id, Relation> = BTreeMap::new();
    let naming = index.mentioning(paths.iter().map(String::as_str), NAMING)?;
    relations.extend(naming.records().map(|record| (record.envelope.id.clone(), Relation::Names)));
    let mut anchors = Anchors::new(context);
    for path in paths {
        let spot = Spot { path: path.clone(), lines: None };
        relations.extend(about(context, &mut anchors, &spot)?.into_iter().map(|id| (id, Relation::About)));
    }
    ranked(context, &relations)
}

/// These records with their standings, best first; none that is not in force.
fn ranked(context: &CommandContext<'_>, relations: &BTreeMap<Id, Relation>) -> Result<Vec<Known>> {
    // the nearest relation first, then the newest
    let mut ids: Vec<Id> = relations.keys().rev().cloned().collect();
    ids.sort_by_key(|id| relations[id]);
    ids.truncate(ENTRIES);
    let records = context.index()?.placed(&ids)?;
    let standings = standings(context, &records)?;
    let known = records.into_iter().zip(standings).filter_map(|(record, standing)| {
        let relation = *relations.get(&record.envelope.id)?;
        standing.retracts.is_empty().then_some(Known { record, relation, standing })
    });
    let mut known: Vec<Known> = known.collect();
    known.sort_by_key(rank);
    Ok(known)
}

/// How soon an agent should know of a record before it acts: what failed, what was decided and constrains, mistakes, then the rest.
pub fn urgency(body: &Body) -> u8 {
    match body {
        Body::DeadEnd(_) => 0,
        Body::Decision(_) => 1,
        Body::Finding(finding) if finding.memory.as_deref() == Some("constraint") => 1,
        Body::Mistake(_) => 2,
        Body::Finding(_) => 3,
        _ => 4,
    }
}

/// Sound claims before those whose code changed, then by relation, by kind, and the newest first.
fn rank(known: &Known) -> impl Ord + use<> {
    let is_handoff = known.relation == Relation::Handoff;
    (
        is_handoff,
        !known.standing.is_sound(),
        known.relation,
        urgency(&known.record.body),
        Reverse(known.record.envelope.id.clone()),
    )
}

/// The claims about a place: those whose code is there now, and of the file those whose code changed.
fn about(context: &CommandContext<'_>, anchors: &mut Anchors<'_>, spot: &Spot) -> Result<Vec<Id>> {
    let index = context.index()?;
    let is_there = anchors.present.is_file(&spot.path);
    // a file that is no longer there may be this one, renamed
    let mut files: BTreeSet<String> = index.anchored_files()?.into_iter().collect();
    files.retain(|file| *file == spot.path || !anchors.present.is_file(file));
    let claims = index.anchored_in(files.iter().map(String::as_str))?;
    let places = anchors.of(claims.records())?;
    let is_about = places.iter().filter(|(_, places)| {
        places.iter().any(|place| {
            let now = place.present();
            let overlaps = match (now.lines, spot.lines) {
                (Some((first, last)), Some((from, to))) => first <= to && from <= last,
                _ => true,
            };
            // asked for by its old name, the claim is about it all the same
            let is_here = now.path == spot.path || (!is_there && place.spot.path == spot.path);
            is_here && (overlaps || place.state.is_lost())
        })
    });
    Ok(is_about.map(|(id, _)| id.clone()).collect())
}

/// Whether the file is there; refuses lines that it does not have.
fn check(anchors: &mut Anchors<'_>, place: &str, spot: &Spot) -> Result<bool> {
    let file = anchors.present.at(&spot.path);
    match (file.content, spot.lines) {
        (PathContent::Folder(_), _) => Err(refused(place, "it is a folder")),
        (PathContent::Nothing, _) => Ok(false),
        (_, None) => Ok(true),
        (_, Some((0, _))) => Err(refused(place, "lines are counted from 1")),
        (_, Some((first, last))) if first > last => Err(refused(place, "the range ends before it begins")),
        (_, Some((_, last))) => match anchors.present.lines(&file) {
            Some(text) if last > text.count() => Err(refused(place, format!("the file has {} lines", text.count()))),
            Some(_) => Ok(true),
            None => Err(refused(place, "the file is not text, larger than 4 MiB, or cannot be read")),
        },
    }
}

fn refused(place: &str, cause: impl std::fmt::Display) -> Error {
    Error::usage(format!("cannot tell what is known of '{place}': {cause}"))
        .provided(place)
        .reason("it asks for a file, or lines of one")
        .suggest("Give PATH, PATH:LINE or PATH:FIRST-LAST, relative to the current folder.")
        .command(empirica("search").arg(place))
}

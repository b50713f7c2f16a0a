//! What is known of a place in the code: claims about it, what was decided and failed on its commits, handoffs that list it.

pub mod view;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::context::claims::anchors::{Anchors, Place, Spot, earlier_names, parsed};
use crate::context::claims::{Standing, inject, standings};
use crate::context::{CommandContext, handoffs, records};
use crate::fold::urgency::{DECIDES, FAILED, OTHER, urgency};
use crate::index::{ClaimAnchor, HandoffQuery};
use crate::use_cases::meaning;
use empirica_notes::error::{Error, Result, empirica};
use empirica_notes::git::history::{blame, trailer};
use empirica_notes::git::objects::content::{PathContent, inside, tree_path};
use empirica_notes::model::{Body, Horizon, Id, Record, SessionId};

/// Most records that are read of the commits.
const DECIDED: usize = 100;
/// Most claims about a file that are compared with it, the most urgent and newest. Those about lines are all compared.
const COMPARED: usize = 150;
/// Most claims whose texts name the file.
const NAMING: usize = 50;
/// Most handoffs that list the file.
const HANDOFFS: usize = 10;
/// Most entries, and most that an agent is told at once.
const ENTRIES: usize = 100;
const TOLD: usize = 12;
/// Most claims that are only near in meaning to those about the file.
const NEAR: usize = 3;

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
        /// It is near in meaning to those.
        Near = "near",
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
    let in_head = {
        let file = anchors.present.at(&spot.path);
        anchors.present.is_of_head(&file)
    };
    let is_tracked = anchors.present.in_head(&spot.path) != PathContent::Nothing;
    let commits = match is_tracked || (lines.is_none() && context.store.head().commit.is_some()) {
        true => blame::start(context.repo, &spot.path, lines, in_head),
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
    let mut found = Found::default();
    about.iter().for_each(|(id, urgency)| found.put(id, Relation::About, *urgency));
    let naming = index.mentioning([spot.path.as_str()], NAMING)?;
    naming.records().for_each(|record| found.add(record, Relation::Names));
    let decided = index.decided_on(&commits, DECIDED)?;
    let messages = commits.iter().filter_map(|commit| context.repo.message(*commit));
    let named: BTreeSet<SessionId> = messages.flat_map(|message| trailer::sessions(&message)).collect();
    let left = records::of_sessions_named(context, &named.into_iter().collect::<Vec<_>>())?;
    for record in decided.records().chain(&left) {
        let (decisions, dead_ends) = match &record.body {
            Body::Decision(_) | Body::DeadEnd(_) => {
                found.add(record, Relation::Commit);
                continue;
            }
            Body::Handoff(of) => (&of.decisions, &of.dead_ends),
            Body::Digest(of) => (&of.decisions, &of.dead_ends),
            _ => continue,
        };
        dead_ends.iter().filter_map(|one| one.id.as_ref()).for_each(|id| found.put(id, Relation::Commit, FAILED));
        decisions.iter().filter_map(|one| one.id.as_ref()).for_each(|id| found.put(id, Relation::Commit, DECIDES));
    }
    found.add_near(context, false, |_| false)?;
    listing.iter().for_each(|listed| found.put(&listed.envelope.id, Relation::Handoff, OTHER));
    let known = ranked(context, found, ENTRIES, anchors)?;
    warnings.extend(index.doubts(&known.iter().map(|known| known.record.envelope.id.clone()).collect())?);
    Ok(WhyOutcome { spot, known, warnings })
}

/// What is known of these files, by claims about them and claims whose texts name one, best first: what an agent should know before
/// it changes them. Without those that `skips`, and that `empirica.inject` keeps from it. Files that were renamed are known by their earlier names only if these were looked
/// for since HEAD and git's index changed.
pub fn before_change(
    context: &CommandContext<'_>,
    paths: &BTreeSet<String>,
    skips: impl Fn(&Id, Option<&SessionId>) -> bool,
) -> Result<Vec<Known>> {
    let index = context.index()?;
    let mut found = Found::default();
    let earlier = earlier_names(context, paths);
    let mut claims = index.anchors_in(paths.iter().chain(&earlier).map(String::as_str), COMPARED)?;
    let unproven = index.unproven(claims.iter().map(|claim| &claim.claim))?;
    claims.retain(|claim| !unproven.contains(&claim.claim) && !skips(&claim.claim, claim.session.as_ref()));
    let is_here = |place: &Place| paths.contains(&place.present().path);
    for (id, urgency) in at(&mut Anchors::unasked(context), claims, is_here)? {
        found.put(&id, Relation::About, urgency);
    }
    let skips = |record: &Record| skips(&record.envelope.id, record.envelope.session.as_ref());
    let mut naming = index.mentioning(paths.iter().map(String::as_str), NAMING)?;
    inject::admit(context, &mut naming)?;
    naming.records().filter(|record| !skips(record)).for_each(|record| found.add(record, Relation::Names));
    found.add_near(context, true, skips)?;
    ranked(context, found, TOLD, Anchors::unasked(context))
}

/// Records with their relations and urgency.
#[derive(Default)]
struct Found(BTreeMap<Id, (Relation, u8)>);

impl Found {
    fn add(&mut self, record: &Record, relation: Relation) {
        self.put(&record.envelope.id, relation, urgency(&record.body));
    }

    /// Adds the claims near in meaning to those that were found, unless a filter `skips` them.
    fn add_near(&mut self, context: &CommandContext<'_>, unasked: bool, skips: impl Fn(&Record) -> bool) -> Result<()> {
        let found: Vec<Id> = self.0.keys().cloned().collect();
        let near = meaning::related(context, &context.index()?, &found, NEAR, unasked, skips)?;
        near.iter().for_each(|record| self.add(record, Relation::Near));
        Ok(())
    }

    /// Keeps the nearest relation.
    fn put(&mut self, id: &Id, relation: Relation, urgency: u8) {
        let kept = self.0.entry(id.clone()).or_insert((relation, urgency));
        *kept = (*kept).min((relation, urgency));
    }
}

/// The best of these records with their standings, best first; none that is not in force.
fn ranked(context: &CommandContext<'_>, found: Found, most: usize, mut anchors: Anchors<'_>) -> Result<Vec<Known>> {
    let mut found: Vec<(Id, (Relation, u8))> = found.0.into_iter().collect();
    let horizon = context.store.horizon();
    found.sort_by_cached_key(|(id, how)| (horizon.is_ahead(id), *how, Reverse(id.clone())));
    found.truncate(most);
    let relations: BTreeMap<Id, Relation> = found.iter().map(|(id, (relation, _))| (id.clone(), *relation)).collect();
    let ids: Vec<Id> = found.into_iter().map(|(id, _)| id).collect();
    let records = context.index()?.placed(&ids)?;
    let standings = standings(context, &records, &mut anchors)?;
    let known = records.into_iter().zip(standings).filter_map(|(record, standing)| {
        let relation = *relations.get(&record.envelope.id)?;
        standing.retracts.is_empty().then_some(Known { record, relation, standing })
    });
    let mut known: Vec<Known> = known.collect();
    known.sort_by_cached_key(|known| rank(known, horizon));
    Ok(known)
}

/// Sound claims before those whose code changed, then by relation, by kind, and the last made or confirmed first.
fn rank(known: &Known, horizon: Horizon) -> impl Ord + use<> {
    let is_handoff = known.relation == Relation::Handoff;
    (
        is_handoff,
        !known.standing.is_sound(),
        known.relation,
        urgency(&known.record.body),
        horizon.newest_first(known.standing.renewed(&known.record.envelope.id)),
    )
}

/// The claims, with their urgency, of which a place in the code is one of these.
fn at(
    anchors: &mut Anchors<'_>,
    claims: Vec<ClaimAnchor>,
    is_one: impl Fn(&Place) -> bool,
) -> Result<BTreeMap<Id, u8>> {
    let mut out: BTreeMap<Id, u8> = claims.iter().map(|claim| (claim.claim.clone(), claim.urgency)).collect();
    let places = anchors.states(claims)?;
    out.retain(|id, _| places.get(id).is_some_and(|places| places.iter().any(&is_one)));
    Ok(out)
}

/// The claims about a place, with their urgency: those whose code is there now, and of the file those whose code changed.
fn about(context: &CommandContext<'_>, anchors: &mut Anchors<'_>, spot: &Spot) -> Result<BTreeMap<Id, u8>> {
    let index = context.index()?;
    let is_there = anchors.present.is_file(&spot.path);
    // a file that is no longer there may be this one, renamed
    let mut files = index.anchored_files()?;
    // a path that leads out of the repository is none
    files.retain(|file| inside(None, file).as_deref() == Some(file));
    files.retain(|file| *file == spot.path || !anchors.present.is_file(file));
    let most = if spot.lines.is_some() { usize::MAX } else { COMPARED };
    let claims = index.anchors_in(files.iter().map(String::as_str), most)?;
    let is_about = |place: &Place| {
        let now = place.present();
        let overlaps = match (now.lines, spot.lines) {
            (Some((first, last)), Some((from, to))) => first <= to && from <= last,
            _ => true,
        };
        // asked for by its old name, the claim is about it all the same
        let is_here = now.path == spot.path || (!is_there && place.spot.path == spot.path);
        is_here && (overlaps || place.state.is_lost())
    };
    at(anchors, claims, is_about)
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
    Error::usage(format!("cannot look up '{place}': {cause}"))
        .provided(place)
        .suggest("Give PATH, PATH:LINE or PATH:FIRST-LAST, relative to the current folder.")
        .command(empirica("search").arg(place))
}

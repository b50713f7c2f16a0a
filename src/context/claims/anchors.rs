//! Whether the code that claims are about still has the text they were made for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::PathBuf;
use std::time::{Duration, Instant, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::CommandContext;
use crate::context::claims::inject;
use crate::index::ClaimAnchor;
use empirica_notes::error::Result;
use empirica_notes::git::history::renames;
use empirica_notes::git::objects::content::{PathContent, inside};
use empirica_notes::git::objects::present::PresentFiles;
use empirica_notes::git::{Oid, parse_oid};
use empirica_notes::model::journal::anchor::{Anchor, AnchorState};
use empirica_notes::model::{Id, Record};
use empirica_notes::store::Scan;

/// How many lines are looked at for texts that are not where they were, and how long renames are looked for: in a command, and where
/// something waits.
const WHOLE: (usize, Duration) = (20_000_000, Duration::from_secs(1));
const BRIEF: (usize, Duration) = (500_000, Duration::from_millis(20));

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Spot {
    /// The file, relative to the root of the work tree.
    pub path: String,
    /// The first and the last line, from 1; null for the whole file.
    pub lines: Option<(u32, u32)>,
}

impl Spot {
    /// `src/a.rs:10-12`.
    pub fn text(&self) -> String {
        match self.lines {
            Some(lines) => format!("{}:{}", self.path, range(lines)),
            None => self.path.clone(),
        }
    }
}

fn range((first, last): (u32, u32)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// The path and the lines of `PATH[:LINE[-LINE]]`; a column after the line is left out.
pub fn parsed(text: &str) -> (&str, Option<(u32, u32)>) {
    let numbers = |text: &str| -> Option<(u32, u32)> {
        match text.split_once('-') {
            Some((first, last)) => Some((first.parse().ok()?, last.parse().ok()?)),
            None => text.parse().ok().map(|line| (line, line)),
        }
    };
    let split = |text: &'_ str| -> Option<(usize, (u32, u32))> {
        let (path, lines) = text.rsplit_once(':')?;
        Some((path.len(), numbers(lines).filter(|_| !path.is_empty())?))
    };
    match split(text) {
        None => (text, None),
        Some((end, lines)) => match split(&text[..end]) {
            // the last number is the column
            Some((path, before)) if lines.0 == lines.1 => (&text[..path], Some(before)),
            _ => (&text[..end], Some(lines)),
        },
    }
}

/// A place in the code that a claim is about, and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Anchor")]
pub struct Place {
    #[serde(skip)]
    pub anchor: Anchor,
    /// Where it was recorded.
    #[serde(flatten)]
    pub spot: Spot,
    /// Whether the text is still there, against the work tree, else HEAD.
    pub state: AnchorState,
    /// Where it is by now, of a changed one only the file; absent if that is where it was recorded, or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Spot>,
}

impl Place {
    /// The place and, unless it holds, its state: `src/a.rs:10-12 moved to src/b.rs:14-16`.
    pub fn text(&self) -> String {
        let place = self.spot.text();
        match (self.state, &self.now) {
            (AnchorState::Holds, _) => place,
            (AnchorState::Moved, Some(Spot { path, lines: Some(lines) })) if *path == self.spot.path => {
                format!("{place} moved to {}", range(*lines))
            }
            (AnchorState::Moved, Some(now)) => format!("{place} moved to {}", now.text()),
            (state, Some(now)) => format!("{place} {} in {}", state.name(), now.path),
            (state, None) => format!("{place} {}", state.name()),
        }
    }

    /// Where it is: by now, else as recorded.
    pub fn present(&self) -> &Spot {
        self.now.as_ref().unwrap_or(&self.spot)
    }
}

/// The places, comma-separated, the lost ones first, at most 3; `None` without any.
pub fn listed(places: &[Place]) -> Option<String> {
    let mut sorted: Vec<&Place> = places.iter().collect();
    sorted.sort_by_key(|place| (!place.state.is_lost(), place.state == AnchorState::Holds));
    let texts: Vec<String> = sorted.iter().take(LISTED).map(|place| place.text()).collect();
    let more = places.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!texts.is_empty()).then(|| texts.join(", ") + &more)
}

/// Most places in a line.
const LISTED: usize = 3;

/// A claim whose code is not as it was, or that disagrees with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ClaimChange {
    /// The claim.
    pub id: Id,
    /// Its main text.
    pub text: String,
    /// The places in the code that it is about.
    pub anchors: Vec<Place>,
    /// Other claims in force that replace the same one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disagrees_with: Vec<Id>,
}

impl ClaimChange {
    /// Whether the code of a place changed or is gone.
    pub fn is_lost(&self) -> bool {
        self.anchors.iter().any(|place| place.state.is_lost())
    }
}

/// The places of claims by their ids.
pub type States = BTreeMap<Id, Vec<Place>>;

/// The claims that claims disagree with.
pub type Rivals = BTreeMap<Id, Vec<Id>>;

/// Most claims that are compared with the code at once, the newest.
const COMPARED: usize = 2000;

/// Claims whose code changed or is gone, newest first.
#[derive(Debug, Default)]
pub struct LostClaims {
    /// Each with all of its places.
    pub claims: Vec<(Record, Vec<Place>)>,
    /// Number of older claims that were not compared, or are not listed.
    pub more: usize,
}

/// The claims in force whose code changed or is gone.
pub fn lost(context: &CommandContext<'_>) -> Result<LostClaims> {
    let index = context.index()?;
    let newest = index.newest_anchored(COMPARED)?;
    let more = index.count_anchored()? - newest.len();
    let mut places = Anchors::new(context).of(&newest)?;
    places.retain(|_, places| places.iter().any(|place| place.state.is_lost()));
    let scan = index.ids(places.keys())?;
    let lost = scan.records().rev().filter_map(|record| Some((record.clone(), places.remove(&record.envelope.id)?)));
    Ok(LostClaims { claims: lost.collect(), more })
}

/// Compares anchors with the present files.
pub struct Anchors<'c> {
    context: &'c CommandContext<'c>,
    pub present: PresentFiles<'c>,
    /// The present path of a file that is no longer there, `None` if it was not renamed; missing if that is not known.
    renamed: BTreeMap<String, Option<String>>,
    sought: BTreeSet<String>,
    /// The claims that may disagree with others; `None` until they are needed.
    replacing: Option<BTreeSet<Id>>,
    /// How many lines may still be looked at.
    left: usize,
    /// How long renames are looked for.
    patience: Duration,
    /// Whether only records count that `empirica.inject` admits.
    is_unasked: bool,
}

impl<'c> Anchors<'c> {
    pub fn new(context: &'c CommandContext<'_>) -> Self {
        let present = PresentFiles::new(context.repo, context.store.head().tree);
        let (left, patience) = if context.store.is_in_hook() { BRIEF } else { WHOLE };
        let (renamed, sought) = (BTreeMap::new(), BTreeSet::new());
        Anchors { context, present, renamed, sought, replacing: None, left, patience, is_unasked: false }
    }

    /// The same within the limits of a hook.
    pub fn brief(context: &'c CommandContext<'_>) -> Self {
        Anchors { left: BRIEF.0, patience: BRIEF.1, ..Self::new(context) }
    }

    /// The same by the records that `empirica.inject` admits.
    pub fn unasked(context: &'c CommandContext<'_>) -> Self {
        Anchors { is_unasked: true, ..Self::new(context) }
    }

    /// Leaves out the records that do not count.
    pub fn admit(&self, scan: &mut Scan) -> Result<()> {
        if self.is_unasked {
            inject::admit(self.context, scan)?;
        }
        Ok(())
    }

    /// The states of claims by their ids; none of claims without anchors.
    pub fn of<'i>(&mut self, claims: impl IntoIterator<Item = &'i Id>) -> Result<States> {
        let anchors = self.context.index()?.anchors_of(claims)?;
        self.states(anchors)
    }

    /// The states of the claims that these are all anchors of. Those of the newest confirmation that has some replace a claim's own.
    pub fn states(&mut self, mut anchors: Vec<ClaimAnchor>) -> Result<States> {
        if self.is_unasked && !inject::is_all(self.context) {
            let mut scan = self.context.index()?.ids(anchors.iter().flat_map(|anchor| [&anchor.claim, &anchor.by]))?;
            self.admit(&mut scan)?;
            let admitted: BTreeSet<&Id> = scan.records().map(|record| &record.envelope.id).collect();
            anchors.retain(|anchor| admitted.contains(&anchor.claim) && admitted.contains(&anchor.by));
        }
        // in order of ID: the newest is the last
        let newest: BTreeMap<Id, Id> = anchors.iter().map(|anchor| (anchor.claim.clone(), anchor.by.clone())).collect();
        anchors.retain(|anchor| newest.get(&anchor.claim) == Some(&anchor.by));
        self.follow(anchors.iter().map(|anchor| (anchor.anchor.path.as_str(), anchor.on)))?;
        let mut out = States::new();
        for anchor in &anchors {
            out.entry(anchor.claim.clone()).or_default().push(self.place(&anchor.anchor));
        }
        Ok(out)
    }

    /// Those of these claims whose code is not as it was, with their places, and those that disagree with others, with these.
    pub fn differing<'i>(&mut self, ids: impl IntoIterator<Item = &'i Id>) -> Result<(States, Rivals)> {
        let (ids, index) = (ids.into_iter().collect::<Vec<_>>(), self.context.index()?);
        let replacing = match &mut self.replacing {
            Some(known) => known,
            unknown => unknown.insert(index.replacing()?),
        };
        let mut rivals = Rivals::new();
        for id in ids.iter().filter(|id| replacing.contains(id)) {
            rivals.insert((*id).clone(), index.rivals(id)?);
        }
        rivals.retain(|_, others| !others.is_empty());
        let mut places = self.of(ids)?;
        places.retain(|id, places| {
            rivals.contains_key(id) || places.iter().any(|place| place.state != AnchorState::Holds)
        });
        Ok((places, rivals))
    }

    /// Those of these claims whose code is not as it was, or that disagree with others.
    pub fn changed<'i>(&mut self, ids: impl IntoIterator<Item = &'i Id>) -> Result<Vec<ClaimChange>> {
        let (mut places, mut rivals) = self.differing(ids)?;
        let mut claims = self.context.index()?.ids(places.keys().chain(rivals.keys()))?;
        self.admit(&mut claims)?;
        let changed = claims.records().filter_map(|record| {
            let (id, (_, text)) = (&record.envelope.id, record.body.own_texts().into_iter().next()?);
            let anchors = places.remove(id).unwrap_or_default();
            let disagrees_with = rivals.remove(id).unwrap_or_default();
            Some(ClaimChange { id: id.clone(), text: text.to_owned(), anchors, disagrees_with })
        });
        Ok(changed.collect())
    }

    /// Looks for the new paths of those of these files, each as it was at a commit or shortly after, that are no longer there.
    pub fn follow<'a>(&mut self, paths: impl IntoIterator<Item = (&'a str, Option<Oid>)>) -> Result<()> {
        let mut missing = BTreeMap::new();
        for (path, commit) in paths {
            if self.sought.insert(path.to_owned()) && inside(None, path).is_some() && !self.present.is_file(path) {
                missing.insert(path.to_owned(), commit);
            }
        }
        let mut known = Renamed::read(self.context);
        missing.retain(|path, _| match known.files.get(path) {
            Some(now) if now.as_ref().is_none_or(|now| self.present.is_file(now)) => {
                self.renamed.insert(path.clone(), now.clone());
                false
            }
            _ => true,
        });
        if missing.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + self.patience;
        let present = &mut self.present;
        let found = renames::follow(self.context.repo, &missing, deadline, |path| present.is_file(path))?;
        known.files.extend(found.iter().map(|(path, now)| (path.clone(), now.clone())));
        known.keep(self.context);
        self.renamed.extend(found);
        Ok(())
    }

    /// The present path of a file that is no longer where it was, `Some(None)` if it was not renamed; `None` if that is not known, and
    /// before [`follow`](Self::follow).
    pub fn now_at(&self, path: &str) -> Option<Option<&str>> {
        self.renamed.get(path).map(|now| now.as_deref())
    }

    /// The state of an anchor, whose file was followed before.
    pub fn place(&mut self, anchor: &Anchor) -> Place {
        let spot = Spot { path: anchor.path.clone(), lines: anchor.lines };
        let place = |state, now: Option<Spot>| {
            let now = now.filter(|now| *now != spot);
            Place { anchor: anchor.clone(), spot: spot.clone(), state, now }
        };
        if inside(None, &anchor.path).as_deref() != Some(&anchor.path) {
            return place(AnchorState::Unknown, None);
        }
        let mut path = anchor.path.clone();
        let mut file = self.present.at(&path);
        if matches!(file.content, PathContent::Nothing | PathContent::Folder(_)) {
            match self.now_at(&path) {
                Some(Some(now)) => path = now.to_owned(),
                Some(None) => return place(AnchorState::Gone, None),
                None => return place(AnchorState::Unknown, None),
            }
            file = self.present.at(&path);
        }
        let is_renamed = path != anchor.path;
        let found = |state: AnchorState, lines| {
            let state = if state == AnchorState::Holds && is_renamed { AnchorState::Moved } else { state };
            place(state, Some(Spot { path: path.clone(), lines }))
        };
        if parse_oid(&anchor.blob).is_some_and(|blob| file.content == PathContent::File(blob)) {
            return found(AnchorState::Holds, anchor.lines);
        }
        let present = &self.present;
        let lines = match present.lines(&file) {
            Some(lines) => lines,
            None if file.content == PathContent::Unknown => return place(AnchorState::Unknown, None),
            // a blob that is not here, or no text any more
            None if !present.is_here(&file) => return place(AnchorState::Unknown, None),
            None => return found(AnchorState::Changed, None),
        };
        let at = match anchor.lines {
            None => (lines.hash(None).as_ref() == Some(&anchor.hash)).then_some(None),
            Some(of) if lines.has(of, &anchor.hash) => Some(Some(of)),
            Some(of) => {
                if !lines.was_searched(of) {
                    let Some(left) = self.left.checked_sub(lines.count() as usize) else {
                        return place(AnchorState::Unknown, None);
                    };
                    self.left = left;
                }
                lines.find(of, &anchor.hash).map(Some)
            }
        };
        match at {
            Some(at) if at == anchor.lines => found(AnchorState::Holds, at),
            Some(at) => found(AnchorState::Moved, at),
            None => place(AnchorState::Changed, is_renamed.then(|| Spot { path: path.clone(), lines: None })),
        }
    }
}

/// The renames that were found in the history of HEAD and in git's index, kept in a file: derived, and of use only until either
/// changes.
#[derive(Default, Serialize, Deserialize)]
struct Renamed {
    /// HEAD, and the time and size of git's index.
    of: (Option<String>, Option<(u128, u64)>),
    /// The present path of each file; `None` if it was not renamed.
    files: BTreeMap<String, Option<String>>,
}

impl Renamed {
    fn path(context: &CommandContext<'_>) -> PathBuf {
        context.store.paths().state().join("renamed")
    }

    /// Those of the present HEAD and index; none without the file.
    fn read(context: &CommandContext<'_>) -> Self {
        let head = context.store.head().commit.map(|commit| commit.to_string());
        let index = std::fs::metadata(context.repo.git_dir().join("index")).ok();
        let changed = |meta: &Metadata| Some(meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos());
        let of = (head, index.and_then(|meta| Some((changed(&meta)?, meta.len()))));
        let kept = std::fs::read(Renamed::path(context)).ok();
        let kept = kept.and_then(|text| serde_json::from_slice::<Renamed>(&text).ok());
        let kept = kept.filter(|kept| kept.of == of);
        kept.unwrap_or_else(|| Renamed { of, files: BTreeMap::new() })
    }

    fn keep(&self, context: &CommandContext<'_>) {
        if context.index_cache.leaves_file() {
            return;
        }
        if let Ok(text) = serde_json::to_string(self) {
            // if this fails, they are looked for again
            let _ = context.store.paths().replace(&Renamed::path(context), &text);
        }
    }
}

/// The earlier names of these files, as far as they were looked for since HEAD and git's index changed.
pub fn earlier_names(context: &CommandContext<'_>, paths: &BTreeSet<String>) -> BTreeSet<String> {
    let renamed = Renamed::read(context).files.into_iter();
    renamed.filter(|(_, now)| now.as_ref().is_some_and(|now| paths.contains(now))).map(|(path, _)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_parsed() {
        assert_eq!(parsed("src/a.rs"), ("src/a.rs", None));
        assert_eq!(parsed("src/a.rs:10"), ("src/a.rs", Some((10, 10))));
        assert_eq!(parsed("src/a.rs:10-12"), ("src/a.rs", Some((10, 12))));
        assert_eq!(parsed("src/a.rs:10:5"), ("src/a.rs", Some((10, 10))));
        assert_eq!(parsed("src/a.rs:12-10"), ("src/a.rs", Some((12, 10))));
        for whole in [":10", "a:", "a:b", "a:-3", "a:3-", "10", "a:99999999999"] {
            assert_eq!(parsed(whole), (whole, None), "{whole}");
        }
    }
}

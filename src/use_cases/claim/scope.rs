//! Until when a claim holds, and the code that it is about.

use chrono::{DateTime, SecondsFormat};

use crate::context::CommandContext;
use crate::context::claims::anchors::{Anchors, Spot, parsed};
use crate::use_cases::search::filter::date;
use empirica_notes::error::{Error, Result, option, text};
use empirica_notes::git::history::dates::DayBoundary;
use empirica_notes::git::objects::content::{PathContent, inside, tree_path};
use empirica_notes::git::objects::present::PresentFiles;
use empirica_notes::git::parse_oid;
use empirica_notes::model::journal::UNTIL_CHANGED;
use empirica_notes::model::journal::anchor::{Anchor, AnchorState};
use empirica_notes::model::{Body, Record};

/// Most places taken from the texts of a claim.
const FROM_TEXTS: usize = 16;

/// Until when a claim holds, and where, as given.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// A date in any form of git, or `changed`.
    pub until: Option<String>,
    /// Places, each `PATH[:LINE[-LINE]]`, relative to the current folder.
    pub at: Vec<String>,
}

impl Scope {
    /// Sets the scope of a new claim or source: its anchors are these places, and those that its texts name by line. No effect on
    /// other entries.
    pub fn apply(&self, context: &CommandContext<'_>, entry: &mut Body) -> Result<()> {
        let texts: Vec<String> = entry.own_texts().into_iter().map(|(_, text)| text.to_owned()).collect();
        self.apply_with(context, entry, &texts)
    }

    /// The same with the places that these texts name.
    pub fn apply_with(&self, context: &CommandContext<'_>, entry: &mut Body, texts: &[String]) -> Result<()> {
        let named: Vec<String> = texts.iter().flat_map(|text| named(text)).collect();
        let Some(claim) = entry.claim_mut() else { return Ok(()) };
        let mut files = Files::new(context);
        let given = self.at.iter().map(|text| files.given(text)).collect::<Result<Vec<Anchor>>>()?;
        let found = named.iter().filter_map(|text| files.found(text)).take(FROM_TEXTS);
        for anchor in given.into_iter().chain(found.collect::<Vec<_>>()) {
            if !claim.anchors.contains(&anchor) {
                claim.anchors.push(anchor);
            }
        }
        if let Some(until) = &self.until {
            *claim.until = Some(end(context, until)?);
        }
        if self.until.is_none() && claim.anchors.is_empty() {
            // its code is gone: it holds by itself now
            claim.until.take_if(|until| until == UNTIL_CHANGED);
        }
        if claim.until.as_deref() == Some(UNTIL_CHANGED) && claim.anchors.is_empty() {
            return Err(Error::usage("cannot log a claim until its code changes: it names no code")
                .reason("without a place nothing can be compared")
                .suggest(text!["Name the place with ", option("--at"), "."]));
        }
        Ok(())
    }
}

/// The anchors of a claim as the code is now. Of changed lines, those between the same lines around them; without what is gone.
pub fn renewed(context: &CommandContext<'_>, claim: &Record) -> Result<Vec<Anchor>> {
    let mut anchors = Anchors::new(context);
    let places = anchors.of([&claim.envelope.id])?.remove(&claim.envelope.id).unwrap_or_default();
    let mut out: Vec<Anchor> = Vec::new();
    for place in places {
        let present = place.present().clone();
        let lines = match (place.state, place.spot.lines) {
            (AnchorState::Gone, _) => continue,
            (AnchorState::Unknown, _) => {
                out.push(place.anchor);
                continue;
            }
            (AnchorState::Changed, Some(lines)) => {
                let old = parse_oid(&place.anchor.blob).and_then(|blob| anchors.present.lines_of(blob));
                let file = anchors.present.at(&present.path);
                let Some(new) = anchors.present.lines(&file) else { continue };
                let followed = match old {
                    Some(old) => old.follow(lines, new),
                    None => Some((lines.0, lines.1.min(new.count()))).filter(|(first, last)| first <= last),
                };
                let Some(lines) = followed else { continue };
                Some(lines)
            }
            _ => present.lines,
        };
        // a file that became binary, too large or unreadable has no anchor
        let anchor = made(&mut anchors.present, Spot { path: present.path, lines }).ok();
        out.extend(anchor.filter(|anchor| !out.contains(anchor)));
    }
    Ok(out)
}

/// The end of a claim's time, RFC 3339 UTC, or `changed`; a day counts to its end.
fn end(context: &CommandContext<'_>, text: &str) -> Result<String> {
    if text == UNTIL_CHANGED {
        return Ok(text.to_owned());
    }
    let seconds = date(context, "--until", text, DayBoundary::End)?;
    let at = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    if at <= context.store.now() {
        return Err(Error::usage(text!["cannot use ", option("--until"), format!(": '{text}' is past")])
            .provided(text)
            .reason("a claim that no longer holds is of no use to the next session")
            .suggest("Give a date to come, or leave it out."));
    }
    Ok(at.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// The places in a text that name a line, as `src/a.rs:10`, `src/a.rs:10-12` or `src/a.rs:10:5`.
fn named(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "`\"'()[]{}<>,;|".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', '!', '?']));
    words.filter(|word| parsed(word).1.is_some()).map(str::to_owned).collect()
}

/// The files that places are looked for in.
struct Files<'c> {
    context: &'c CommandContext<'c>,
    present: PresentFiles<'c>,
    root: Option<std::path::PathBuf>,
}

impl<'c> Files<'c> {
    fn new(context: &'c CommandContext<'_>) -> Self {
        let present = PresentFiles::new(context.repo, context.store.head().tree);
        Files { context, present, root: context.repo.work_tree() }
    }

    /// The anchor of a place that the user named.
    fn given(&mut self, text: &str) -> Result<Anchor> {
        let (path, lines) = parsed(text);
        let path = tree_path(self.root.as_deref(), &self.context.env.cwd, path).filter(|path| !path.is_empty());
        let made = match path {
            None => Err("it is not a file of this work tree".to_owned()),
            Some(path) => made(&mut self.present, Spot { path, lines }),
        };
        made.map_err(|cause| {
            Error::usage(format!("cannot anchor a claim at '{text}': {cause}"))
                .provided(text)
                .reason("an anchor is compared with the code later")
                .suggest("Give PATH, PATH:LINE or PATH:FIRST-LAST, relative to the current folder.")
        })
    }

    /// The anchor of a place in a text, if there is such a place.
    fn found(&mut self, text: &str) -> Option<Anchor> {
        let (path, lines) = parsed(text);
        let (root, cwd) = (self.root.as_deref(), &self.context.env.cwd);
        let paths = [inside(root, path), tree_path(root, cwd, path).filter(|path| !path.is_empty())];
        paths.into_iter().flatten().find_map(|path| made(&mut self.present, Spot { path, lines }).ok())
    }
}

/// The anchor of a place in the present files, or why there is none.
fn made(present: &mut PresentFiles<'_>, Spot { path, lines }: Spot) -> std::result::Result<Anchor, String> {
    let file = present.at(&path);
    let content = match file.content {
        PathContent::File(content) => content,
        PathContent::Nothing => return Err("there is no such file".to_owned()),
        PathContent::Folder(_) => return Err("it is a folder".to_owned()),
        PathContent::Unknown => return Err("the file is larger than 4 MiB, or cannot be read".to_owned()),
    };
    let text = present.lines(&file);
    let hash = match (text, lines) {
        (None, None) => String::new(),
        (None, Some(_)) => return Err("the file is not text".to_owned()),
        (Some(text), None) => text.hash(None).unwrap_or_default(),
        (Some(_), Some((first, last))) if first > last => return Err("the range ends before it begins".to_owned()),
        (Some(_), Some((0, _))) => return Err("lines are counted from 1".to_owned()),
        (Some(text), Some(_)) => match text.hash(lines) {
            Some(hash) => hash,
            None => return Err(format!("the file has {} lines", text.count())),
        },
    };
    // the committed file, if git's filters make the difference
    let committed = match file.in_head {
        PathContent::File(id) if id != content && text.is_some() => {
            let whole = present.lines_of(id).and_then(|lines| lines.hash(None));
            (whole == text.and_then(|text| text.hash(None))).then_some(id)
        }
        _ => None,
    };
    Ok(Anchor { path, lines, blob: committed.unwrap_or(content).to_string(), hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_texts() {
        let text = "See `src/a.rs:10-12`, (lib/b.c:3:7): it fails. At 12:30 and a::b, http://host:80/ too; c.go:5.";
        assert_eq!(named(text), ["src/a.rs:10-12", "lib/b.c:3:7", "12:30", "c.go:5"]);
        assert!(named("").is_empty());
    }
}

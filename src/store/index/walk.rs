//! Lists of records walked through in step: who has a term, all of several, or one of them.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::Fault;
use super::lists::Asked;
use super::postings::{Block, Posting, postings};
use crate::epistemics::terms::Term;
use crate::epistemics::wording;

/// The records that have a term, in order. They are read as far as somebody asks for them.
pub struct List {
    blocks: std::vec::IntoIter<Block>,
    open: Vec<Posting>,
    at: usize,
    /// How many there are.
    pub count: usize,
}

impl List {
    /// Of blocks of one word.
    fn of(blocks: Vec<Block>) -> Self {
        let count = blocks.iter().map(|block| usize::try_from(block.count).unwrap_or(0)).sum();
        List { blocks: blocks.into_iter(), open: Vec::new(), at: 0, count }
    }

    fn made(open: Vec<Posting>) -> Self {
        List { blocks: Vec::new().into_iter(), count: open.len(), open, at: 0 }
    }

    /// Of blocks of several words: a record has a word as often as all of them together.
    fn united(blocks: &[Block]) -> Self {
        let mut all: Vec<Posting> = blocks.iter().flat_map(|block| postings(block.first, &block.docs)).collect();
        // parts of it are in order already
        all.sort_by_key(|posting| posting.r);
        all.dedup_by(|next, kept| {
            let is_same = next.r == kept.r;
            if is_same {
                kept.times = kept.times.saturating_add(next.times);
            }
            is_same
        });
        List::made(all)
    }

    /// Of a term; none for one without a word.
    pub fn read(db: &Connection, term: &Term) -> Result<Self, Fault> {
        let mut asked = asked(term);
        match (asked.pop(), asked.is_empty()) {
            (None, _) => Ok(List::made(Vec::new())),
            (Some(one), true) => List::whole(db, &one),
            (Some(last), false) => {
                asked.push(last);
                phrase(db, &asked)
            }
        }
    }

    /// Of one word, or of what begins so.
    fn whole(db: &Connection, asked: &Asked) -> Result<Self, Fault> {
        let blocks = asked.blocks(db)?;
        Ok(if asked.is_prefix { List::united(&blocks) } else { List::of(blocks) })
    }

    /// The record it stands at; `None` at the end.
    fn head(&mut self) -> Option<Posting> {
        while self.at == self.open.len() {
            self.open(|_| true)?;
        }
        Some(self.open[self.at])
    }

    /// Opens the next of the blocks that may be of use.
    fn open(&mut self, is_of_use: impl FnMut(&Block) -> bool) -> Option<()> {
        let block = self.blocks.by_ref().find(is_of_use)?;
        self.open.clear();
        self.open.extend(postings(block.first, &block.docs));
        self.at = 0;
        Some(())
    }

    fn step(&mut self) {
        self.at = (self.at + 1).min(self.open.len());
    }

    /// The first record from `r` on.
    fn seek(&mut self, r: i64) -> Option<Posting> {
        if self.open.last().is_none_or(|last| last.r < r) {
            self.at = self.open.len();
            self.open(|block| block.last >= r)?;
        }
        self.at += self.open[self.at..].iter().take_while(|posting| posting.r < r).count();
        self.head()
    }
}

/// The words of a term, one after the other.
pub fn asked(term: &Term) -> Vec<Asked> {
    let words = wording::words(&term.text);
    let last = words.len().saturating_sub(1);
    let of = |(at, word)| Asked { word, is_prefix: term.is_prefix && at == last };
    words.into_iter().enumerate().map(of).collect()
}

/// The records in which these words follow each other, counted as one word. Of each word one list is in memory at a time.
fn phrase(db: &Connection, words: &[Asked]) -> Result<List, Fault> {
    let mut different: Vec<(i64, &Asked)> = Vec::new();
    for word in words.iter().collect::<BTreeSet<_>>() {
        different.push((word.bytes(db)?, word));
    }
    different.sort();
    let mut having: Option<Vec<Posting>> = None;
    for (_, word) in &different {
        let list = List::whole(db, word)?;
        let mut both = Vec::new();
        let lists = [having.take().map(List::made), Some(list)].into_iter().flatten().collect();
        having_all(lists, &mut |_, found| {
            both.extend(found[0]);
            Ok(())
        })?;
        if both.is_empty() {
            return Ok(List::made(both));
        }
        having = Some(both);
    }
    let mut having = having.unwrap_or_default();
    let mut begins: Vec<Vec<u32>> = Vec::new();
    for (_, word) in different {
        // whichever is the rarest tells where the phrase may begin, the others whether it does
        let places = Places::of(db, word, &having)?;
        for (at, _) in words.iter().enumerate().filter(|(_, other)| *other == word) {
            let at = at as u32;
            if begins.is_empty() {
                let of = |which| places.of_one(which).iter().filter_map(|place| place.checked_sub(at)).collect();
                begins = (0..having.len()).map(of).collect();
                continue;
            }
            for (which, begins) in begins.iter_mut().enumerate() {
                let mut places = places.of_one(which);
                // few are looked up, many are gone through
                let few = begins.len() < places.len() / 16;
                begins.retain(|begin| {
                    let place = begin.saturating_add(at);
                    let before = match few {
                        true => places.partition_point(|other| *other < place),
                        false => places.iter().take_while(|other| **other < place).count(),
                    };
                    places = &places[before..];
                    places.first() == Some(&place)
                });
            }
        }
    }
    for (posting, begins) in having.iter_mut().zip(&begins) {
        posting.times = begins.len() as u32;
    }
    having.retain(|posting| posting.times > 0);
    Ok(List::made(having))
}

/// Where some records have a word.
struct Places {
    /// Those of one record after those of the one before, in order.
    places: Vec<u32>,
    /// Where those of each record begin, and those of the last one end.
    begins: Vec<usize>,
}

impl Places {
    /// Of records in order.
    fn of(db: &Connection, word: &Asked, records: &[Posting]) -> Result<Self, Fault> {
        let mut all: Vec<(u32, u32)> = Vec::new();
        let range = (records.first().map_or(0, |first| first.r), records.last().map_or(0, |last| last.r));
        word.placed(db, range, |block| {
            let which = |r: i64| records.binary_search_by_key(&r, |posting| posting.r);
            for (posting, places) in block.entries(|r| which(r).is_ok()) {
                if let Ok(which) = which(posting.r) {
                    all.extend(places.into_iter().map(|place| (which as u32, place)));
                }
            }
        })?;
        // of several words they are not in order
        all.sort_unstable();
        let begin = |which| all.partition_point(|(of, _)| (*of as usize) < which);
        let begins = (0..=records.len()).map(begin).collect();
        Ok(Places { places: all.into_iter().map(|(_, place)| place).collect(), begins })
    }

    fn of_one(&self, which: usize) -> &[u32] {
        &self.places[self.begins[which]..self.begins[which + 1]]
    }
}
/// Told of a record, and what each list has of it.
pub type Take<'t> = dyn FnMut(i64, &[Option<Posting>]) -> Result<(), Fault> + 't;

/// Tells `take` of each record that is in all lists, in order. Of no lists there is none.
pub fn having_all(lists: Vec<List>, take: &mut Take<'_>) -> Result<(), Fault> {
    let mut found = vec![None; lists.len()];
    let mut lists: Vec<(usize, List)> = lists.into_iter().enumerate().collect();
    lists.sort_by_key(|(_, list)| list.count);
    let Some(((at, rarest), others)) = lists.split_first_mut() else { return Ok(()) };
    let Some(((next, second), others)) = others.split_first_mut() else {
        while let Some(posting) = rarest.head() {
            take(posting.r, &[Some(posting)])?;
            rarest.step();
        }
        return Ok(());
    };
    'records: while let Some((one, other)) = in_both(rarest, second) {
        (found[*at], found[*next]) = (Some(one), Some(other));
        for (at, list) in others.iter_mut() {
            found[*at] = list.seek(one.r);
            match found[*at] {
                None => return Ok(()),
                Some(same) if same.r == one.r => {}
                Some(later) => {
                    rarest.seek(later.r);
                    continue 'records;
                }
            }
        }
        take(one.r, &found)?;
    }
    Ok(())
}

/// The next record that is in both lists. They are left behind it; `None` at the end of one of them.
fn in_both(one: &mut List, other: &mut List) -> Option<(Posting, Posting)> {
    loop {
        let (mut a, mut b) = (one.at, other.at);
        while let (Some(left), Some(right)) = (one.open.get(a), other.open.get(b)) {
            if left.r == right.r {
                (one.at, other.at) = (a + 1, b + 1);
                return Some((*left, *right));
            }
            // no branch: which is behind cannot be foretold
            a += usize::from(left.r < right.r);
            b += usize::from(right.r < left.r);
        }
        (one.at, other.at) = (a, b);
        let from = |list: &List| list.open.get(list.at).map_or(i64::MIN, |posting| posting.r);
        if one.at == one.open.len() {
            let from = from(other);
            one.open(|block| block.last >= from)?;
        } else {
            let from = from(one);
            other.open(|block| block.last >= from)?;
        }
    }
}

/// Tells `take` of each record that is in one list at least, in order.
pub fn having_any(lists: &mut [List], take: &mut Take<'_>) -> Result<(), Fault> {
    let mut found = vec![None; lists.len()];
    let mut heads: Vec<Option<Posting>> = lists.iter_mut().map(List::head).collect();
    while let Some(r) = heads.iter().flatten().map(|posting| posting.r).min() {
        for (at, list) in lists.iter_mut().enumerate() {
            found[at] = heads[at].filter(|posting| posting.r == r);
            if found[at].is_some() {
                list.step();
                heads[at] = list.head();
            }
        }
        take(r, &found)?;
    }
    Ok(())
}

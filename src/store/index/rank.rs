//! Which records have the words, and how well they fit: BM25.

use std::collections::HashMap;

use rusqlite::Connection;

use super::postings::{Block, Posting, postings};
use super::search::Words;
use super::{Fault, lists};
use crate::epistemics::terms::Term;
use crate::epistemics::wording;

/// How soon a word that is there again counts no more (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
/// 2009, §3.4, as SQLite's FTS5 and others have it).
const K1: f64 = 1.2;
/// How much less a word counts in a long text, 0 to 1; from the same source.
const B: f64 = 0.75;
/// What a word counts that half of all records have, or more.
const LEAST: f64 = 1e-6;

/// The records that have a term, in order. They are read as far as somebody asks for them.
struct List {
    blocks: std::vec::IntoIter<Block>,
    open: Vec<Posting>,
    at: usize,
    count: usize,
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

    fn read(db: &Connection, term: &Term) -> Result<Self, Fault> {
        let words = wording::words(&term.text);
        match words.as_slice() {
            [] => Ok(List::made(Vec::new())),
            [word] if !term.is_prefix => Ok(List::of(lists::of(db, word, false, false)?)),
            [word] => Ok(List::united(&lists::of(db, word, true, false)?)),
            words => phrase(db, words, term.is_prefix),
        }
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

/// The records in which these words follow each other, counted as one word; the last may be a beginning.
fn phrase(db: &Connection, words: &[String], is_prefix: bool) -> Result<List, Fault> {
    let last = words.len() - 1;
    let mut blocks = Vec::new();
    for (at, word) in words.iter().enumerate() {
        blocks.push(lists::of(db, word, is_prefix && at == last, true)?);
    }
    let all: Vec<List> = blocks.iter().map(|blocks| List::united(blocks)).collect();
    let mut both: Vec<Posting> = Vec::new();
    having_all(all, &mut |_, found| {
        both.extend(found[0]);
        Ok(())
    })?;
    let mut places: Vec<HashMap<i64, Vec<u32>>> = Vec::new();
    for blocks in &blocks {
        let mut of: HashMap<i64, Vec<u32>> = HashMap::with_capacity(both.len());
        for block in blocks {
            for (posting, places) in block.entries(|r| both.binary_search_by_key(&r, |posting| posting.r).is_ok()) {
                of.entry(posting.r).or_default().extend(places);
            }
        }
        of.values_mut().for_each(|places| places.sort_unstable());
        places.push(of);
    }
    both.retain_mut(|posting| {
        let of: Vec<&[u32]> = places.iter().filter_map(|of| of.get(&posting.r)).map(Vec::as_slice).collect();
        let Some((first, rest)) = of.split_first() else { return false };
        let follows = |begin: u32| {
            let mut next = (begin + 1..).zip(rest);
            next.all(|(place, places)| places.binary_search(&place).is_ok())
        };
        posting.times = first.iter().filter(|begin| follows(**begin)).count() as u32;
        posting.times > 0
    });
    Ok(List::made(both))
}

/// Told of a record, and what each list has of it.
type Take<'t> = dyn FnMut(i64, &[Option<Posting>]) -> Result<(), Fault> + 't;

/// Tells `take` of each record that is in all lists, in order. Of no lists there is none.
fn having_all(lists: Vec<List>, take: &mut Take<'_>) -> Result<(), Fault> {
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
fn having_any(lists: &mut [List], take: &mut Take<'_>) -> Result<(), Fault> {
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

/// How many records have a term.
pub fn count(db: &Connection, term: &Term) -> Result<usize, Fault> {
    Ok(List::read(db, term)?.count)
}

fn read(db: &Connection, terms: &[Term]) -> Result<Vec<List>, Fault> {
    terms.iter().map(|term| List::read(db, term)).collect()
}

/// The records that have one of the terms, in order.
pub fn having(db: &Connection, terms: &[Term]) -> Result<Vec<i64>, Fault> {
    let mut out = Vec::new();
    having_any(&mut read(db, terms)?, &mut |r, _| {
        out.push(r);
        Ok(())
    })?;
    Ok(out)
}

/// Told of a record and its score.
type TakeScored<'t> = dyn FnMut(i64, f64) -> Result<(), Fault> + 't;

/// Tells `take` of each record that has the words, in order, with its score: greater than 0, the greater the better.
pub fn scored(db: &Connection, words: &Words, take: &mut TakeScored<'_>) -> Result<(), Fault> {
    let (Words::All(terms) | Words::Any(terms)) = words;
    let mut lists = read(db, terms)?;
    let (texts, total) = lists::sums(db)?;
    let texts = texts as f64;
    // how much longer than the mean a text is for each word it has
    let longer = texts / (total as f64).max(1.0);
    let weight = |list: &List| {
        let count = list.count as f64;
        let weight = ((texts - count + 0.5) / (count + 0.5)).ln();
        (if weight > 0.0 { weight } else { LEAST }) * (K1 + 1.0)
    };
    let weights: Vec<f64> = lists.iter().map(weight).collect();
    let score = |found: &[Option<Posting>]| -> f64 {
        let mut score = 0.0;
        for (posting, weight) in found.iter().zip(&weights) {
            if let Some(posting) = posting {
                let times = f64::from(posting.times);
                score += weight * times / (times + K1 * (1.0 - B + B * f64::from(posting.length) * longer));
            }
        }
        score
    };
    let take: &mut Take<'_> = &mut |r, found| take(r, score(found));
    match words {
        Words::All(_) => having_all(lists, take),
        Words::Any(_) => having_any(&mut lists, take),
    }
}

/// Records with their scores.
pub type Scored = Vec<(f64, i64)>;

/// The best of what is told of: as many as asked for, and those that are as good as the last of them.
pub struct Best {
    most: usize,
    kept: Scored,
    least: f64,
    room: usize,
}

impl Best {
    /// None is there yet; `most` is 1 at least.
    pub fn new(most: usize) -> Self {
        Best { most, kept: Vec::new(), least: 0.0, room: 0 }
    }

    /// Keeps one, unless there are enough that are better.
    pub fn take(&mut self, r: i64, score: f64) {
        if score < self.least {
            return;
        }
        self.kept.push((score, r));
        if self.kept.len() > self.room {
            self.clear();
            self.room = self.most.saturating_mul(2).max(1000).max(self.kept.len() * 2);
        }
    }

    fn clear(&mut self) {
        if let Some(last) = self.most.checked_sub(1).filter(|last| *last < self.kept.len()) {
            self.least = self.kept.select_nth_unstable_by(last, |a, b| b.0.total_cmp(&a.0)).1.0;
            self.kept.retain(|(score, _)| *score >= self.least);
        }
    }

    /// Those that are better than the last, with their scores, and the others with theirs.
    pub fn parts(mut self) -> (Scored, Scored) {
        self.clear();
        let last = self.kept.iter().map(|(score, _)| *score).fold(f64::INFINITY, f64::min);
        self.kept.into_iter().partition(|(score, _)| *score > last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::{empty, schema};
    use super::*;

    /// The same texts in our lists, and in a table of FTS5.
    fn database(texts: &[String]) -> Connection {
        let db = empty().expect("a database");
        db.execute_batch(schema::TABLES).expect("tables");
        let table = "CREATE VIRTUAL TABLE theirs USING fts5(text, tokenize='unicode61 remove_diacritics 2')";
        db.execute_batch(table).expect("a table");
        let mut bulk = lists::Bulk::default();
        for (r, text) in texts.iter().enumerate() {
            bulk.add(&db, r as i64, text).expect("a record");
            db.execute("INSERT INTO theirs(rowid, text) VALUES(?, ?)", (r as i64, text)).expect("a row");
        }
        bulk.settle(&db).expect("lists");
        db
    }

    /// What FTS5 finds, with the negative of its score.
    fn theirs(db: &Connection, words: &Words) -> BTreeMap<i64, f64> {
        let (Words::All(terms) | Words::Any(terms)) = words;
        let quoted = |term: &Term| format!("\"{}\"{}", term.text, if term.is_prefix { " *" } else { "" });
        let with = if matches!(words, Words::All(_)) { " AND " } else { " OR " };
        let expression = terms.iter().map(quoted).collect::<Vec<_>>().join(with);
        let mut find = db.prepare("SELECT rowid, -bm25(theirs) FROM theirs WHERE theirs MATCH ?").expect("a question");
        let rows = find.query_map([expression], |row| Ok((row.get(0)?, row.get(1)?))).expect("an answer");
        rows.collect::<Result<_, _>>().expect("an answer")
    }

    fn ours(db: &Connection, words: &Words) -> BTreeMap<i64, f64> {
        let mut out = BTreeMap::new();
        scored(db, words, &mut |r, score| {
            assert!(out.insert(r, score).is_none(), "once");
            Ok(())
        })
        .expect("an answer");
        out
    }

    fn words() -> impl Strategy<Value = String> {
        let all =
            ["a", "ab", "abc", "Cache", "cache", "cached", "Zähler", "zahler", "Ünï", "ключ", "ΚΛΕΙΔΙ", "x1", "2"];
        vec(select(all.to_vec()), 1..9).prop_map(|words| words.join(" "))
    }

    fn terms() -> impl Strategy<Value = Vec<Term>> {
        let all = ["a", "ab", "cache", "ZAHLER", "Uni", "ключ", "Κλειδι", "x1", "2", "nothing", "ca", "z"];
        let text = vec(select(all.to_vec()), 1..3).prop_map(|words| words.join(" "));
        vec((text, any::<bool>()).prop_map(|(text, is_prefix)| Term { text, is_prefix }), 1..4)
    }

    proptest! {
        #[test]
        fn what_is_found_and_its_scores_are_as_fts5_has_them(texts in vec(words(), 1..60), terms in terms(), all in any::<bool>()) {
            let db = database(&texts);
            let words = if all { Words::All(terms) } else { Words::Any(terms) };
            let (ours, theirs) = (ours(&db, &words), theirs(&db, &words));
            prop_assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
            for (r, score) in &ours {
                prop_assert!((score / theirs[r] - 1.0).abs() < 1e-9, "{}: {} {}", r, score, theirs[r]);
            }
            let (Words::All(terms) | Words::Any(terms)) = words;
            let one = &terms[..1];
            prop_assert_eq!(count(&db, &one[0]).expect("a count"), having(&db, one).expect("rows").len());
        }

        #[test]
        fn the_best_are_those_that_sorting_finds(scores in vec(1u8..20, 0..3000), most in 1usize..40) {
            let mut best = Best::new(most);
            scores.iter().enumerate().for_each(|(r, score)| best.take(r as i64, f64::from(*score)));
            let (better, last) = best.parts();
            let mut sorted = scores.clone();
            sorted.sort_by(|a, b| b.cmp(a));
            let worst = sorted.get(most - 1).or(sorted.last()).copied();
            let of = |score: Option<u8>| scores.iter().filter(|other| Some(**other) == score).count();
            prop_assert_eq!(better.len(), sorted.iter().filter(|score| Some(**score) > worst).count());
            prop_assert!(better.len() < most);
            prop_assert_eq!(last.len(), of(worst));
            prop_assert!(last.iter().all(|(score, r)| Some(*score as u8) == worst && scores[*r as usize] == *score as u8));
        }
    }

    #[test]
    fn long_lists_are_walked_through_from_block_to_block() {
        let text = |n: usize| match n % 700 {
            0 => "the rare cache".to_owned(),
            _ => format!("the {}", ["lock", "cache"][n % 2]),
        };
        let db = database(&(0..9000).map(text).collect::<Vec<_>>());
        for said in
            [&["the", "rare"][..], &["rare", "the"], &["lock", "rare"], &["the", "cache"], &["rare cache", "the"]]
        {
            let terms: Vec<Term> =
                said.iter().map(|text| Term { text: (*text).to_owned(), is_prefix: false }).collect();
            for words in [Words::All(terms.clone()), Words::Any(terms)] {
                let (ours, theirs) = (ours(&db, &words), theirs(&db, &words));
                assert!(ours.keys().eq(theirs.keys()), "{words:?}: {} {}", ours.len(), theirs.len());
            }
        }
        assert!(ours(&db, &Words::All(Vec::new())).is_empty());
        assert!(ours(&db, &Words::Any(Vec::new())).is_empty());
    }
}

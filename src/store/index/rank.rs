//! Which records have the words, and how well they fit: BM25.

use rusqlite::Connection;

use super::postings::Posting;
use super::search::Words;
use super::walk::{List, Take, asked, having_all, having_any};
use super::{Fault, lists};
use crate::epistemics::terms::Term;

/// How soon a word that is there again counts no more (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
/// 2009, §3.4, as SQLite's FTS5 and others have it).
const K1: f64 = 1.2;
/// How much less a word counts in a long text, 0 to 1; from the same source.
const B: f64 = 0.75;
/// What a word counts that half of all records have, or more.
const LEAST: f64 = 1e-6;

/// How many records have a term; `cap` and one more when there are more.
pub fn count(db: &Connection, term: &Term, cap: usize) -> Result<usize, Fault> {
    if let [one] = asked(term).as_slice() {
        let (least, most) = one.count(db)?;
        if least == most || least > cap {
            return Ok(least.min(cap + 1));
        }
    }
    Ok(List::read(db, term)?.count.min(cap + 1))
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
        let all = [
            "a",
            "ab",
            "cache",
            "ZAHLER",
            "Uni",
            "ключ",
            "мои",
            "Κλειδι",
            "x1",
            "2",
            "nothing",
            "ca",
            "z",
            "μ",
            "40μs",
            "s",
        ];
        let text = vec(select(all.to_vec()), 1..4).prop_map(|words| words.join(" "));
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
            for cap in [0, 3, 1000] {
                let counted = count(&db, &one[0], cap).expect("a count");
                prop_assert_eq!(counted, having(&db, one).expect("rows").len().min(cap + 1));
            }
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
    fn phrases_are_found_where_one_word_is_there_a_thousand_times() {
        let db = database(&["a ".repeat(3000) + "end a a", "end ".to_owned() + &"a ".repeat(100), "a b".to_owned()]);
        for (text, expected) in
            [("a a a end", &[0][..]), ("end a a", &[0, 1]), ("a a a", &[0, 1]), ("end end", &[]), ("a b", &[2])]
        {
            let words = Words::All(vec![Term { text: text.to_owned(), is_prefix: false }]);
            let (ours, theirs) = (ours(&db, &words), theirs(&db, &words));
            assert!(ours.keys().eq(expected), "{text}: {ours:?}");
            assert!(
                ours.iter().all(|(r, score)| (score / theirs[r] - 1.0).abs() < 1e-9),
                "{text}: {ours:?} {theirs:?}"
            );
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

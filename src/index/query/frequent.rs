//! Queries with more matches than FTS5 can score in time: the newest matches, the newest with all words, and all with a rare word, by
//! the rarity of the words that they have.

use std::collections::HashMap;

use rusqlite::params_from_iter;

use crate::index::connection::Index;
use crate::index::query::search::{SearchQuery, phrase};
use crate::index::schema;
use empirica_notes::error::Result;
use empirica_notes::model::Id;

/// How many of the newest matches, of those with all words, and of those with rare words, are compared.
const SAMPLED: usize = 2_000;

/// A word or phrase as FTS5 takes it, and how many records have it.
struct CountedPhrase {
    count: usize,
    phrase: String,
}

impl Index<'_> {
    /// The best matches of the words, an FTS5 expression, under a condition with these values. The newest come first among
    /// equals; rows tell the age, but of what came late from another clone.
    pub(super) fn frequent(
        &self,
        query: &SearchQuery,
        words: &str,
        is_wanted: &str,
        values: &[String],
    ) -> Result<Vec<(Id, Option<f64>)>> {
        let matches = |expression: &str, rest: &str| {
            let sql = format!("SELECT rowid FROM words WHERE words MATCH ? AND {is_wanted} {rest}");
            let values = [expression].into_iter().chain(values.iter().map(String::as_str));
            self.select(&sql, params_from_iter(values), |row| row.get::<_, i64>(0))
        };
        let newest = matches(words, &format!("ORDER BY rowid DESC LIMIT {SAMPLED}"))?;
        let first = newest.last().copied().unwrap_or_default();
        let phrases = self.counted(query)?;
        let rare = rare(&phrases);
        let older = match rare.is_empty() {
            true => Vec::new(),
            false => matches(&format!("({words}) AND ({rare})"), &format!("AND rowid < {first}"))?,
        };
        let every = phrases.iter().map(|one| one.phrase.as_str()).collect::<Vec<_>>().join(" AND ");
        let whole = match phrases.len() {
            0 | 1 => Vec::new(),
            _ => matches(
                &format!("({words}) AND {every}"),
                &format!("AND rowid < {first} ORDER BY rowid DESC LIMIT {SAMPLED}"),
            )?,
        };
        let all = self.searched()? as f64;
        let mut scores: HashMap<i64, f64> = newest.into_iter().chain(older).map(|r| (r, 0.0)).collect();
        let mut of_all_words = 0.0;
        for CountedPhrase { count, phrase } in &phrases {
            let count = *count as f64;
            // as FTS5 has it, but above 0
            let rarity = (1.0 + (all - count).max(0.0) / (count + 0.5)).ln();
            of_all_words += rarity;
            let mut add = |expression: &str, range: &str| -> Result<()> {
                let sql = format!("SELECT rowid FROM words WHERE words MATCH ? AND rowid {range} {first}");
                for r in self.select(&sql, [expression], |row| row.get::<_, i64>(0))? {
                    scores.entry(r).and_modify(|score| *score += rarity);
                }
                Ok(())
            };
            add(phrase, ">=")?;
            if !rare.is_empty() {
                add(&format!("({rare}) AND {phrase}"), "<")?;
            }
        }
        scores.extend(whole.into_iter().map(|r| (r, of_all_words)));
        let mut best: Vec<(i64, f64)> = scores.into_iter().collect();
        best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        best.truncate(query.most);
        let mut hits = Vec::new();
        for (r, score) in best {
            let id = self.select("SELECT id FROM record WHERE r = ?", [r], |row| schema::id_in(row, 0))?;
            hits.extend(id.into_iter().map(|id| (id, Some(score))));
        }
        Ok(hits)
    }

    /// The phrases of a query, the rarest first.
    fn counted(&self, query: &SearchQuery) -> Result<Vec<CountedPhrase>> {
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT {})", SAMPLED + 1);
        let mut phrases = Vec::new();
        for term in query.words.terms() {
            let Some(phrase) = phrase(&term) else { continue };
            let count = self.number(&sql, [&phrase])?;
            let count = if count > SAMPLED { self.having(&term)?.max(count) } else { count };
            phrases.push(CountedPhrase { count, phrase });
        }
        phrases.sort_by(|a, b| (a.count, &a.phrase).cmp(&(b.count, &b.phrase)));
        phrases.dedup_by(|a, b| a.phrase == b.phrase);
        Ok(phrases)
    }
}

/// The rarest phrases that together are in at most [`SAMPLED`] records, as an FTS5 expression.
fn rare(phrases: &[CountedPhrase]) -> String {
    let mut sum = 0;
    let rare = phrases.iter().take_while(|one| {
        sum += one.count;
        sum <= SAMPLED
    });
    rare.map(|one| one.phrase.as_str()).collect::<Vec<_>>().join(" OR ")
}

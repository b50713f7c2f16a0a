//! The lists of all words in the database: a record is put in and taken out with its words, and lists are read.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Fault;
use super::postings::Block;
use crate::epistemics::wording;

/// About so many bytes of lists are kept in memory while all is new, before they are written; where assertions are checked
/// a few, so that tests see it.
const KEPT: usize = if cfg!(debug_assertions) { 8 << 10 } else { 128 << 20 };

/// What a word costs in memory beside its letters, which are there twice: places in tables, and a list, in bytes.
const WORD: usize = 280;

/// Numbers for words, and the room for those of one text.
#[derive(Debug, Default)]
struct Words {
    numbers: HashMap<Box<str>, u32>,
    all: Vec<Box<str>>,
    /// Each word of the text, by its number, with its place.
    said: Vec<(u32, u32)>,
    places: Vec<u32>,
}

impl Words {
    /// Reads a text, and gives how many words it has.
    fn read(&mut self, text: &str) -> u32 {
        let Words { numbers, all, said, .. } = self;
        said.clear();
        wording::each(text, |word, _, _| {
            let number = numbers.get(word).copied().unwrap_or_else(|| {
                let number = all.len() as u32;
                all.push(word.into());
                numbers.insert(word.into(), number);
                number
            });
            said.push((number, said.len() as u32));
        });
        said.sort_unstable();
        said.len() as u32
    }

    /// Tells each different word of the text, and its number, with its places.
    fn each(&mut self, mut take: impl FnMut(&str, u32, &[u32]) -> Result<(), Fault>) -> Result<(), Fault> {
        let Words { all, said, places, .. } = self;
        for same in said.chunk_by(|a, b| a.0 == b.0) {
            places.clear();
            places.extend(same.iter().map(|(_, place)| place));
            take(&all[same[0].0 as usize], same[0].0, places)?;
        }
        Ok(())
    }
}

/// The lists of a database in which all is new: they are written when they are whole, or there is no more room.
#[derive(Debug, Default)]
pub struct Bulk {
    words: Words,
    /// The list of each word by its number; the last block of it is not full.
    lists: Vec<Vec<Block>>,
    bytes: usize,
    texts: i64,
    total: i64,
}

impl Bulk {
    /// Puts in a record, which comes after all that are there.
    pub fn add(&mut self, db: &Connection, r: i64, text: &str) -> Result<(), Fault> {
        let Bulk { words, lists, bytes, .. } = self;
        let length = words.read(text);
        words.each(|word, number, places| {
            *bytes += 4 + 2 * places.len();
            let number = number as usize;
            if number == lists.len() {
                lists.push(vec![Block::default()]);
                *bytes += 2 * word.len() + WORD;
            }
            let full = lists[number].last_mut().and_then(|open| open.push(r, length, places));
            if let Some(full) = full {
                let before = lists[number].len() - 1;
                lists[number].insert(before, full);
            }
            Ok(())
        })?;
        self.texts += i64::from(length > 0);
        self.total += i64::from(length);
        if self.bytes > KEPT { self.write(db) } else { Ok(()) }
    }

    fn write(&mut self, db: &Connection) -> Result<(), Fault> {
        // in order, rows are put in faster
        let mut order: Vec<usize> = (0..self.lists.len()).collect();
        order.sort_unstable_by(|a, b| self.words.all[*a].cmp(&self.words.all[*b]));
        for number in order {
            self.lists[number].iter().try_for_each(|block| insert(db, &self.words.all[number], block))?;
        }
        (self.words, self.lists, self.bytes) = Default::default();
        Ok(())
    }

    /// Puts everything into the database.
    pub fn settle(mut self, db: &Connection) -> Result<(), Fault> {
        self.write(db)?;
        db.execute("INSERT INTO sums VALUES('words', ?, ?)", [self.texts, self.total])?;
        Ok(())
    }
}

fn insert(db: &Connection, word: &str, block: &Block) -> Result<(), Fault> {
    let add = "INSERT INTO words(word, first, last, count, docs, places) VALUES(?, ?, ?, ?, ?, ?)";
    let Block { first, last, count, docs, places } = block;
    db.prepare_cached(add)?.execute(params![word, first, last, count, docs, places])?;
    Ok(())
}

fn update(db: &Connection, word: &str, block: &Block) -> Result<(), Fault> {
    let set = "UPDATE words SET last = ?, count = ?, docs = ?, places = ? WHERE word = ? AND first = ?";
    let Block { first, last, count, docs, places } = block;
    db.prepare_cached(set)?.execute(params![last, count, docs, places, word, first])?;
    Ok(())
}

fn block(row: &Row<'_>) -> rusqlite::Result<Block> {
    Ok(Block { first: row.get(0)?, last: row.get(1)?, count: row.get(2)?, docs: row.get(3)?, places: row.get(4)? })
}

/// The block of a word in which a record is, or would be.
fn around(db: &Connection, word: &str, r: i64) -> Result<Option<Block>, Fault> {
    let find =
        "SELECT first, last, count, docs, places FROM words WHERE word = ? AND first <= ? ORDER BY first DESC LIMIT 1";
    Ok(db.prepare_cached(find)?.query_row(params![word, r], block).optional()?)
}

fn count(db: &Connection, texts: i64, words: i64) -> Result<(), Fault> {
    let set = "UPDATE sums SET n = n + ?, total = total + ? WHERE name = 'words'";
    db.prepare_cached(set)?.execute([texts, words])?;
    Ok(())
}

/// Puts a record into the lists of the words of its text. It comes after all that are there; lists that do not say so are
/// not as they were left: [`Fault::Lost`].
pub fn add(db: &Connection, r: i64, text: &str) -> Result<(), Fault> {
    let mut words = Words::default();
    let length = words.read(text);
    words.each(|word, _, places| {
        let Some(mut block) = around(db, word, r)? else {
            let mut block = Block::default();
            block.push(r, length, places);
            return insert(db, word, &block);
        };
        if block.last >= r {
            return Err(Fault::Lost);
        }
        match block.push(r, length, places) {
            None => update(db, word, &block),
            // the other one is as it was
            Some(_) => insert(db, word, &block),
        }
    })?;
    count(db, i64::from(length > 0), i64::from(length))
}

/// Takes a record with this text out of the lists of its words; [`Fault::Lost`] when it is not in one of them.
pub fn remove(db: &Connection, r: i64, text: &str) -> Result<(), Fault> {
    let mut words = Words::default();
    let length = i64::from(words.read(text));
    words.each(|word, _, _| take_out(db, word, &around(db, word, r)?.ok_or(Fault::Lost)?, r))?;
    count(db, -i64::from(length > 0), -length)
}

fn take_out(db: &Connection, word: &str, block: &Block, r: i64) -> Result<(), Fault> {
    let left = block.without(r);
    if left.count == block.count {
        return Err(Fault::Lost);
    }
    if left.first == block.first && left.count > 0 {
        return update(db, word, &left);
    }
    db.prepare_cached("DELETE FROM words WHERE word = ? AND first = ?")?.execute(params![word, block.first])?;
    if left.count > 0 { insert(db, word, &left) } else { Ok(()) }
}

/// Which words of the database: one, or all that begin so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Asked {
    /// The word, or the beginning.
    pub word: String,
    /// Whether it is the beginning.
    pub is_prefix: bool,
}

impl Asked {
    fn condition(&self) -> &'static str {
        if self.is_prefix { "word >= ?1 AND word < ?1 || char(0x10ffff)" } else { "word = ?1" }
    }

    /// How many records have it: at least and at most, since one may have several of the words that begin so.
    pub fn count(&self, db: &Connection) -> Result<(usize, usize), Fault> {
        let counts = format!("SELECT sum(count) AS n FROM words WHERE {} GROUP BY word", self.condition());
        let find = format!("SELECT ifnull(max(n), 0), ifnull(sum(n), 0) FROM ({counts})");
        let found = db.prepare_cached(&find)?.query_row([&self.word], |row| Ok((row.get(0)?, row.get(1)?)));
        let (least, most): (i64, i64) = found?;
        Ok((usize::try_from(least).unwrap_or(0), usize::try_from(most).unwrap_or(0)))
    }

    /// How many bytes say who has it, and where: the fewer, the rarer it is.
    pub fn bytes(&self, db: &Connection) -> Result<i64, Fault> {
        let find =
            format!("SELECT ifnull(sum(length(docs) + length(places)), 0) FROM words WHERE {}", self.condition());
        Ok(db.prepare_cached(&find)?.query_row([&self.word], |row| row.get(0))?)
    }

    /// The blocks, those of one word in order: without places.
    pub fn blocks(&self, db: &Connection) -> Result<Vec<Block>, Fault> {
        let rest = format!("x'' FROM words WHERE {} ORDER BY word, first", self.condition());
        let mut find = db.prepare_cached(&format!("SELECT first, last, count, docs, {rest}"))?;
        let blocks = find.query_map([&self.word], block)?;
        Ok(blocks.collect::<Result<_, _>>()?)
    }

    /// Tells the blocks with places that may have records from one to another.
    pub fn placed(&self, db: &Connection, (from, to): (i64, i64), mut take: impl FnMut(Block)) -> Result<(), Fault> {
        let rest = format!("places FROM words WHERE {} AND first <= ?3 AND last >= ?2", self.condition());
        let mut find = db.prepare_cached(&format!("SELECT first, last, count, docs, {rest} ORDER BY word, first"))?;
        let mut rows = find.query(params![self.word, from, to])?;
        while let Some(row) = rows.next()? {
            take(block(row)?);
        }
        Ok(())
    }
}

/// How many records have a word at all, and how many words they have.
pub fn sums(db: &Connection) -> Result<(i64, i64), Fault> {
    let find = "SELECT n, total FROM sums WHERE name = 'words'";
    let found = db.prepare_cached(find)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(found.optional()?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::super::{empty, schema};
    use super::*;

    fn database() -> Connection {
        let db = empty().expect("a database");
        db.execute_batch(schema::TABLES).expect("tables");
        db
    }

    fn made(texts: &[String]) -> Connection {
        let db = database();
        let mut bulk = Bulk::default();
        for (r, text) in texts.iter().enumerate() {
            bulk.add(&db, r as i64, text).expect("a record");
        }
        bulk.settle(&db).expect("lists");
        db
    }

    /// Every word with who has it where, and the sums.
    fn content(db: &Connection) -> (Vec<String>, (i64, i64)) {
        let mut find = db.prepare("SELECT word, first, last, count, docs, places FROM words").expect("lists");
        let mut out: Vec<String> = Vec::new();
        let mut rows = find.query([]).expect("lists");
        while let Some(row) = rows.next().expect("a row") {
            let word: String = row.get(0).expect("a word");
            let get = |at: usize| row.get::<_, i64>(at).expect("a number");
            let bytes = |at: usize| row.get::<_, Vec<u8>>(at).expect("bytes");
            let block = Block { first: get(1), last: get(2), count: get(3), docs: bytes(4), places: bytes(5) };
            let entries = block.entries(|_| true);
            assert_eq!(entries.len() as i64, block.count);
            assert_eq!(entries.first().map(|(posting, _)| posting.r), Some(block.first));
            assert_eq!(entries.last().map(|(posting, _)| posting.r), Some(block.last));
            out.extend(entries.iter().map(|entry| format!("{word} {entry:?}")));
        }
        out.sort();
        (out, sums(db).expect("sums"))
    }

    fn texts() -> impl Strategy<Value = Vec<String>> {
        let words = select(vec!["a", "b", "cache", "Cache", "令牌", "é", "-", "x1"]);
        vec(vec(words, 0..12).prop_map(|words| words.join(" ")), 1..40)
    }

    proptest! {
        #[test]
        fn what_is_put_in_one_by_one_and_taken_out_is_as_made_at_once(texts in texts(), gone in vec((any::<Index>(), any::<bool>()), 0..30)) {
            let grown = database();
            Bulk::default().settle(&grown).expect("no lists");
            for (r, text) in texts.iter().enumerate() {
                add(&grown, r as i64, text).expect("a record");
            }
            prop_assert_eq!(content(&grown), content(&made(&texts)));
            let mut left = texts;
            for (which, comes_again) in gone {
                let r = which.index(left.len());
                // what is gone has no words any more; what comes again comes last
                let text = std::mem::take(&mut left[r]);
                remove(&grown, r as i64, &text).expect("it is gone");
                if !text.split(' ').all(|word| matches!(word, "" | "-")) {
                    let again = remove(&grown, r as i64, &text);
                    prop_assert!(matches!(again, Err(Fault::Lost)), "{:?}", again);
                }
                if comes_again {
                    add(&grown, left.len() as i64, &text).expect("a record");
                    left.push(text);
                }
            }
            prop_assert_eq!(content(&grown), content(&made(&left)));
        }
    }

    #[test]
    fn a_long_list_is_in_several_rows() {
        let texts: Vec<String> = (0..3000).map(|n| format!("the {} the", ["cache", "lock"][n % 2])).collect();
        let db = made(&texts);
        let asked = |word: &str, is_prefix| Asked { word: word.to_owned(), is_prefix };
        let blocks = |asked: Asked| asked.blocks(&db).expect("a list");
        assert!(blocks(asked("the", false)).len() > 3);
        assert_eq!(asked("lock", false).count(&db).expect("a count"), (1500, 1500));
        assert_eq!(sums(&db).expect("sums"), (3000, 9000));
        assert_eq!(blocks(asked("l", true)), blocks(asked("lock", false)));
        assert_eq!(asked("", true).count(&db).expect("a count"), (3000, 6000));
        assert_eq!(blocks(asked("", false)), []);
        let mut placed = Vec::new();
        asked("the", false).placed(&db, (1500, 1500), |block| placed.push(block)).expect("a list");
        assert_eq!(placed.len(), 1);
        assert_eq!(placed[0].entries(|r| r == 1500)[0].1, [0, 2]);
        let again = add(&db, 2999, "the");
        assert!(matches!(again, Err(Fault::Lost)), "{again:?}");
    }
}

//! Lists of the records that have a word, in blocks of bytes: how often each has it, where, and how long its text is.

/// A record in the list of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The row of the record.
    pub r: i64,
    /// How often it has the word, 1 or more.
    pub times: u32,
    /// How many words its text has.
    pub length: u32,
}

/// Some records one after the other in the list of a word.
///
/// `docs` has for each of them its distance from the one before (the first from itself), doubled, and 1 more when `times`
/// follows, which else is 1; then the length. `places` has for each as many distances: of the first place of the word from the
/// beginning of the text, of the others from the one before. All are LEB128 numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// The row of the first record.
    pub first: i64,
    /// The row of the last record.
    pub last: i64,
    /// How many records there are; the lists of none have no blocks.
    pub count: i64,
    /// Who has the word.
    pub docs: Vec<u8>,
    /// Where.
    pub places: Vec<u8>,
}

/// So many bytes a block has at most, unless one record alone has more: a row of the database is then on one page. Where
/// assertions are checked they are few, so that tests see several blocks.
const ROOM: usize = if cfg!(debug_assertions) { 40 } else { 1800 };

/// The most bytes a number takes.
const LONGEST: usize = 10;

#[inline]
fn put(mut number: u64, into: &mut Vec<u8>) {
    if number < 0x80 {
        return into.push(number as u8);
    }
    let (mut bytes, mut at) = ([0; LONGEST], 0);
    while number >= 0x80 {
        bytes[at] = number as u8 | 0x80;
        number >>= 7;
        at += 1;
    }
    bytes[at] = number as u8;
    into.extend_from_slice(&bytes[..=at]);
}

/// The next number; `None` at the end, and for what is none.
#[inline]
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        *bytes = rest;
        return Some(u64::from(*first));
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for at in 0..LONGEST {
        let byte = *bytes.get(at)?;
        number |= u64::from(byte & 0x7f) << (7 * at).min(63);
        if byte < 0x80 {
            *bytes = &bytes[at + 1..];
            return Some(number);
        }
    }
    None
}

#[inline]
fn take_small(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take(bytes)?).ok()
}

/// The records of a block that begins with the record `first`, in order. What is no list ends where it is none.
pub fn postings(first: i64, mut docs: &[u8]) -> impl Iterator<Item = Posting> {
    let mut r = first;
    std::iter::from_fn(move || {
        let step = take(&mut docs)?;
        r = r.checked_add_unsigned(step >> 1)?;
        let times = if step & 1 == 1 { take_small(&mut docs)? } else { 1 };
        Some(Posting { r, times, length: take_small(&mut docs)? })
    })
}

impl Block {
    /// Puts a record behind the others, with the places of the word in its text, in order. Gives the block when it is full:
    /// then the record is in a new one.
    pub fn push(&mut self, r: i64, length: u32, places: &[u32]) -> Option<Block> {
        let (docs, at, last) = (self.docs.len(), self.places.len(), self.last);
        self.write(r, length, places);
        if self.count == 1 || self.docs.len() + self.places.len() <= ROOM {
            return None;
        }
        // what was there before it
        self.docs.truncate(docs);
        self.places.truncate(at);
        self.count -= 1;
        self.last = last;
        let mut next = Block::default();
        next.write(r, length, places);
        Some(std::mem::replace(self, next))
    }

    fn write(&mut self, r: i64, length: u32, places: &[u32]) {
        if self.count == 0 {
            (self.first, self.last) = (r, r);
        }
        let step = r.abs_diff(self.last) << 1;
        put(step | u64::from(places.len() != 1), &mut self.docs);
        if places.len() != 1 {
            put(places.len() as u64, &mut self.docs);
        }
        put(u64::from(length), &mut self.docs);
        let mut before = 0;
        for place in places {
            put(u64::from(place - before), &mut self.places);
            before = *place;
        }
        (self.last, self.count) = (r, self.count.saturating_add(1));
    }

    /// The records that are wanted, in order, with the places of the word in their texts.
    pub fn entries(&self, mut is_wanted: impl FnMut(i64) -> bool) -> Vec<(Posting, Vec<u32>)> {
        let mut bytes = self.places.as_slice();
        let mut out = Vec::new();
        for posting in postings(self.first, &self.docs) {
            let (mut places, mut at) = (Vec::new(), 0u32);
            let is_wanted = is_wanted(posting.r);
            for _ in 0..posting.times {
                let Some(step) = take_small(&mut bytes) else { break };
                if is_wanted {
                    at = at.saturating_add(step);
                    places.push(at);
                }
            }
            if is_wanted {
                out.push((posting, places));
            }
        }
        out
    }

    /// The block without a record; empty when there is none left.
    pub fn without(&self, r: i64) -> Block {
        let mut out = Block::default();
        for (posting, places) in self.entries(|other| other != r) {
            out.write(posting.r, posting.length, &places);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    type Said = (u32, std::collections::BTreeSet<u32>);

    fn blocks(all: &[(i64, Said)]) -> Vec<Block> {
        let (mut open, mut out) = (Block::default(), Vec::new());
        for (r, (length, places)) in all {
            out.extend(open.push(*r, *length, &places.iter().copied().collect::<Vec<_>>()));
        }
        out.push(open);
        out
    }

    fn entries(blocks: &[Block]) -> Vec<(i64, u32, Vec<u32>)> {
        blocks
            .iter()
            .flat_map(|block| block.entries(|_| true))
            .map(|(posting, places)| (posting.r, posting.length, places))
            .collect()
    }

    proptest! {
        #[test]
        fn what_is_put_in_is_in_it_and_what_is_taken_out_is_not(
            all in btree_map(0i64..1 << 40, (any::<u32>(), btree_set(any::<u32>(), 1..6)), 1..400),
            which in any::<prop::sample::Index>(),
        ) {
            let all: Vec<(i64, Said)> = all.into_iter().collect();
            let mut blocks = blocks(&all);
            let plain = |all: &[(i64, Said)]| -> Vec<(i64, u32, Vec<u32>)> {
                all.iter().map(|(r, (length, places))| (*r, *length, places.iter().copied().collect())).collect()
            };
            prop_assert_eq!(entries(&blocks), plain(&all));
            for block in &blocks {
                let rows: Vec<i64> = block.entries(|_| true).iter().map(|(posting, _)| posting.r).collect();
                prop_assert_eq!((rows.first(), rows.last()), (Some(&block.first), Some(&block.last)));
                prop_assert_eq!(rows.len() as i64, block.count);
                prop_assert!(block.docs.len() + block.places.len() <= ROOM || block.count == 1);
            }
            let gone = which.index(all.len());
            for block in &mut blocks {
                *block = block.without(all[gone].0);
            }
            let mut left = all.clone();
            left.remove(gone);
            prop_assert_eq!(entries(&blocks), plain(&left));
        }

        #[test]
        fn bytes_that_are_no_list_do_no_harm(first in any::<i64>(), docs in vec(any::<u8>(), 0..60), places in vec(any::<u8>(), 0..60)) {
            let block = Block { first, last: first, count: 1, docs, places };
            prop_assert!(block.entries(|_| true).len() <= 60);
        }
    }

    #[test]
    fn one_record_may_fill_a_block_alone() {
        let places: Vec<u32> = (0..5000).collect();
        let mut block = Block::default();
        assert_eq!(block.push(1, 9000, &places), None);
        let full = block.push(2, 1, &[0]).expect("a full one");
        assert_eq!((full.count, full.entries(|_| true)[0].1.len(), block.count, block.first), (1, 5000, 1, 2));
    }
}

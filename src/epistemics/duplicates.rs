//! Who investigated what another session had investigated before: texts that are the same, or nearly.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use super::matching::is_dense;

/// Nearly the same are texts whose words have at least this in common (Jaccard, 4/5): 9 shared ≥ 4 (a + b).
const SHARED: usize = 9;
const OF_BOTH: usize = 4;

/// Something said, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Said<'t> {
    /// Whose it is: the same number for the same session.
    pub session: usize,
    /// The text.
    pub text: &'t str,
}

/// Something that was said before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeat {
    /// Its place in what was given.
    pub later: usize,
    /// The first thing like it that another session said.
    pub earlier: usize,
    /// Shared words over all words of both, in [0.8, 1].
    pub likeness: f64,
}

/// A text without case, white space and punctuation: its words, with a blank between any two.
pub fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The words of a normal text, each once. Scripts without spaces give pairs of characters.
fn words(normal: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for word in normal.split(' ').filter(|word| !word.is_empty()) {
        let letters: Vec<char> = word.chars().collect();
        match letters.len() > 1 && letters.iter().any(|c| is_dense(*c)) {
            true => out.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>())),
            false => drop(out.insert(word.to_owned())),
        }
    }
    out
}

/// How many words two sets of these sizes must share.
fn needed(a: usize, b: usize) -> usize {
    (OF_BOTH * (a + b)).div_ceil(SHARED)
}

/// The sizes a set can have that is like one of this size.
fn sizes(size: usize) -> std::ops::RangeInclusive<usize> {
    (size * OF_BOTH).div_ceil(SHARED - OF_BOTH)..=size * (SHARED - OF_BOTH) / OF_BOTH
}

/// Texts that are equal in their normal form.
struct Group {
    /// The words as numbers, the rarest first.
    words: Vec<u32>,
    /// Who said it when: the first time of each session, in order.
    said: Vec<usize>,
}

/// What of `said`, given in the order it was said, another session had said before: equal in the normal form, or with a
/// Jaccard index of the words of 0.8 or more. Each is paired with the first such thing, so there are never more pairs
/// than texts, in their order. What a session says again in the same words, and a text without a word, does not count.
pub fn repeats(said: &[Said<'_>]) -> Vec<Repeat> {
    let groups = groups(said);
    let (session, mut out) = (|at: usize| said[at].session, Vec::new());
    let mut index: Index = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        // the first two like it of different sessions: one of them is not of the session that repeats it
        let (mut first, mut second) = (None::<(usize, usize)>, None::<(usize, usize)>);
        for other in candidates(&index, group) {
            let theirs = &groups[other];
            if second.is_some_and(|(known, _)| theirs.said[0] >= known) {
                break;
            }
            if shared(&group.words, &theirs.words) < needed(group.words.len(), theirs.words.len()) {
                continue;
            }
            for said in theirs.said.iter().copied().take(2) {
                match first {
                    None => first = Some((said, other)),
                    Some((known, _)) if session(known) == session(said) => {}
                    Some(_) if second.is_none_or(|(known, _)| said < known) => second = Some((said, other)),
                    Some(_) => {}
                }
            }
        }
        let own = group.said[0];
        for later in group.said.iter().copied() {
            let fits = |earlier: &usize| *earlier < later && session(*earlier) != session(later);
            let near = [first, second].into_iter().flatten().filter(|(earlier, _)| fits(earlier)).min();
            let same = Some(own).filter(fits);
            match (near, same) {
                (Some((earlier, other)), same) if same.is_none_or(|same| earlier < same) => {
                    out.push(Repeat { later, earlier, likeness: likeness(&group.words, &groups[other].words) });
                }
                (_, Some(earlier)) => out.push(Repeat { later, earlier, likeness: 1.0 }),
                _ => {}
            }
        }
        add(&mut index, at, &group.words);
    }
    out.sort_by_key(|repeat| repeat.later);
    out
}

/// The texts by their normal form, in the order of who said it first.
fn groups(said: &[Said<'_>]) -> Vec<Group> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut normals, mut members): (Vec<String>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    let mut known: HashSet<(usize, usize)> = HashSet::new();
    for (at, one) in said.iter().enumerate() {
        let normal = normal(one.text);
        if normal.is_empty() {
            continue;
        }
        let place = *places.entry(normal).or_insert_with_key(|normal| {
            normals.push(normal.clone());
            members.push(Vec::new());
            normals.len() - 1
        });
        if known.insert((place, one.session)) {
            members[place].push(at);
        }
    }
    let all: Vec<BTreeSet<String>> = normals.iter().map(|normal| words(normal)).collect();
    let mut frequency: HashMap<&str, usize> = HashMap::new();
    for word in all.iter().flatten() {
        *frequency.entry(word).or_default() += 1;
    }
    let mut ordered: Vec<(usize, &str)> = frequency.iter().map(|(word, n)| (*n, *word)).collect();
    ordered.sort_unstable();
    let rank: HashMap<&str, u32> = ordered.iter().zip(0..).map(|((_, word), rank)| (*word, rank)).collect();
    let numbered = |words: &BTreeSet<String>| {
        let mut numbers: Vec<u32> = words.iter().filter_map(|word| rank.get(word.as_str()).copied()).collect();
        numbers.sort_unstable();
        numbers
    };
    all.iter().zip(members).map(|(words, said)| Group { words: numbered(words), said }).collect()
}

/// Groups by a word among their rarest, their size, and the place of the word in them.
type Index = HashMap<u32, BTreeMap<(usize, usize), Vec<usize>>>;

/// How many of the rarest words of a set of this size are enough to find everything like it.
fn prefix(size: usize) -> usize {
    size + 1 - needed(size, *sizes(size).start()).min(size)
}

fn add(index: &mut Index, at: usize, words: &[u32]) {
    for (place, word) in words.iter().enumerate().take(prefix(words.len())) {
        index.entry(*word).or_default().entry((words.len(), place)).or_default().push(at);
    }
}

/// The groups that may be like this one, each once, in order. Of two that are alike the first shared word stands so
/// near to the front of both that what follows it is enough.
fn candidates<'i>(index: &'i Index, group: &Group) -> impl Iterator<Item = usize> + use<'i> {
    let size = group.words.len();
    let mut lists: Vec<&[usize]> = Vec::new();
    for (place, word) in group.words.iter().enumerate().take(prefix(size)) {
        let Some(standing) = index.get(word) else { continue };
        let range = (*sizes(size).start(), 0)..=(*sizes(size).end(), usize::MAX);
        for ((other, there), list) in standing.range(range) {
            if (size - place).min(other - there) >= needed(size, *other) {
                lists.push(list);
            }
        }
    }
    let mut heap: BinaryHeap<Reverse<(usize, &[usize])>> =
        lists.into_iter().filter_map(|list| Some(Reverse((*list.first()?, list.get(1..)?)))).collect();
    let mut last = None;
    std::iter::from_fn(move || {
        while let Some(Reverse((at, rest))) = heap.pop() {
            if let Some((next, rest)) = rest.split_first() {
                heap.push(Reverse((*next, rest)));
            }
            if last.replace(at) != Some(at) {
                return Some(at);
            }
        }
        None
    })
}

/// How many numbers two sorted lists share.
fn shared(a: &[u32], b: &[u32]) -> usize {
    let (mut at, mut there, mut out) = (0, 0, 0);
    while at < a.len() && there < b.len() {
        match a[at].cmp(&b[there]) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => there += 1,
            std::cmp::Ordering::Equal => (at, there, out) = (at + 1, there + 1, out + 1),
        }
    }
    out
}

fn likeness(a: &[u32], b: &[u32]) -> f64 {
    let shared = shared(a, b);
    shared as f64 / (a.len() + b.len() - shared) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rule, said plainly: each text with all before it.
    fn naive(said: &[Said<'_>]) -> Vec<(usize, usize)> {
        let normals: Vec<String> = said.iter().map(|one| normal(one.text)).collect();
        let sets: Vec<BTreeSet<String>> = normals.iter().map(|normal| words(normal)).collect();
        let is_new = |at: usize| {
            let again = |before: usize| said[before].session == said[at].session && normals[before] == normals[at];
            !normals[at].is_empty() && !(0..at).any(again)
        };
        let alike = |a: usize, b: usize| {
            let shared = sets[a].intersection(&sets[b]).count() as f64;
            let all = sets[a].union(&sets[b]).count() as f64;
            normals[a] == normals[b] || shared / all >= 0.8
        };
        let earlier = |at: usize| {
            (0..at)
                .filter(|before| is_new(*before))
                .find(|before| said[*before].session != said[at].session && alike(*before, at))
        };
        (0..said.len()).filter(|at| is_new(*at)).filter_map(|at| Some((at, earlier(at)?))).collect()
    }

    fn found(texts: &[(usize, &str)]) -> Vec<(usize, usize)> {
        let said: Vec<Said<'_>> = texts.iter().map(|(session, text)| Said { session: *session, text }).collect();
        repeats(&said).into_iter().map(|repeat| (repeat.later, repeat.earlier)).collect()
    }

    #[test]
    fn case_white_space_and_punctuation_do_not_count() {
        assert_eq!(found(&[(0, "Which port?"), (1, " which\tPORT ")]), [(1, 0)]);
        assert_eq!(found(&[(0, "Which port?"), (0, "which port")]), [], "one session");
        assert_eq!(found(&[(0, "Which port?"), (1, "Which host?")]), []);
        assert_eq!(found(&[(0, "???"), (1, "!!!"), (2, "")]), [], "no words");
        assert_eq!(found(&[(0, "a b"), (1, "a b"), (2, "a b"), (1, "a b")]), [(1, 0), (2, 0)], "paired with the first");
    }

    #[test]
    fn four_fifths_of_the_words_are_enough() {
        assert_eq!(found(&[(0, "a b c d"), (1, "a b c d e")]), [(1, 0)], "4 of 5");
        assert_eq!(found(&[(0, "a b c"), (1, "a b c d")]), [], "3 of 4");
        assert_eq!(found(&[(0, "a b c d e f g h i"), (1, "i h g f e d c b x")]), [(1, 0)], "8 of 10");
        assert_eq!(found(&[(0, "a b c d e f g h"), (1, "a b c d e f g x")]), [], "7 of 9");
        let said = [Said { session: 0, text: "a b c d" }, Said { session: 1, text: "a b c d e" }];
        assert_eq!(repeats(&said)[0].likeness, 0.8);
    }

    #[test]
    fn scripts_without_spaces_have_pairs_of_characters() {
        assert_eq!(found(&[(0, "认证令牌为什么过期"), (1, "认证令牌为什么过期了")]), [(1, 0)]);
        assert_eq!(found(&[(0, "认证令牌为什么过期"), (1, "数据库连接池大小是多少")]), []);
    }

    #[test]
    fn what_the_own_session_said_first_hides_nobody() {
        let texts = [(0, "a b c d e"), (1, "a b c d"), (1, "a b c d e"), (0, "a b c d")];
        assert_eq!(found(&texts), [(1, 0), (2, 0), (3, 1)]);
    }

    #[test]
    fn many_texts_that_differ_in_a_word_are_not_compared_with_each_other() {
        let texts: Vec<String> = (0..20_000).map(|n| format!("Why does the parser fail in case {n}?")).collect();
        let said: Vec<Said<'_>> = texts.iter().enumerate().map(|(session, text)| Said { session, text }).collect();
        assert_eq!(repeats(&said), []);
        let all = groups(&said);
        let mut index = Index::new();
        all.iter().enumerate().for_each(|(at, group)| add(&mut index, at, &group.words));
        assert!(all.iter().all(|group| candidates(&index, group).count() == 1), "only itself");
    }

    proptest! {
        #[test]
        fn the_same_is_found_as_by_comparing_all_with_all(
            texts in prop::collection::vec((0usize..5, prop::collection::vec(0u8..9, 1..14)), 0..50)
        ) {
            let texts: Vec<(usize, String)> = texts
                .into_iter()
                .map(|(session, words)| {
                    let words: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
                    (session, words.join(" "))
                })
                .collect();
            let said: Vec<Said<'_>> =
                texts.iter().map(|(session, text)| Said { session: *session, text }).collect();
            let found: Vec<(usize, usize)> =
                repeats(&said).into_iter().map(|repeat| (repeat.later, repeat.earlier)).collect();
            prop_assert_eq!(found, naive(&said));
        }
    }
}

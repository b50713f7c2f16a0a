//! Duplicate inquiries: texts equal or nearly equal to those of another session.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::text::similarity::{all_words, count_shared, jaccard_index, normalize};

/// Texts are similar from a Jaccard index of 4/5 on: 9 shared ≥ 4 (a + b).
const SHARED: usize = 9;
const OF_BOTH: usize = 4;

/// The text of an inquiry, and its session.
#[derive(Debug, Clone, Copy)]
pub struct SessionText<'t> {
    /// Number of its session.
    pub session: usize,
    pub text: &'t str,
}

/// An inquiry made before by another session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeat {
    /// Its index in the input.
    pub later: usize,
    /// The first similar inquiry of another session.
    pub earlier: usize,
    /// Jaccard index of the words, in [0.8, 1].
    pub likeness: f64,
}

/// Whether two texts share enough words.
fn is_like(a: &[u32], b: &[u32]) -> bool {
    let needed = (OF_BOTH * (a.len() + b.len())).div_ceil(SHARED);
    needed <= a.len().min(b.len()) && count_shared(a, b) >= needed
}

/// The rarest words of a text: any text like it has one of them among its own rarest words.
fn rarest(words: &[u32]) -> &[u32] {
    let fewest_shared = (words.len() * OF_BOTH).div_ceil(SHARED - OF_BOTH);
    &words[..=words.len() - fewest_shared]
}

/// Inquiries with the same normal form.
struct Group {
    /// The words as numbers, rarest first.
    words: Vec<u32>,
    /// The first inquiry of each session, in order.
    inquiries: Vec<usize>,
}

/// The inquiries that another session made before, in chronological order of `inquiries`: equal in normal form, or
/// with a Jaccard index of 0.8 or more. Each is paired with the first such inquiry, so there are at most as many
/// pairs as texts. Repetitions in a session, and texts without words, do not count.
pub fn repeats(inquiries: &[SessionText<'_>]) -> Vec<Repeat> {
    let groups = groups(inquiries);
    let (session, mut out) = (|at: usize| inquiries[at].session, Vec::new());
    let mut with_word: HashMap<u32, Vec<usize>> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        // the first two of different sessions: one is not of the repeating session
        let (mut first, mut second) = (None::<(usize, usize)>, None::<(usize, usize)>);
        let mut candidates: Vec<usize> = Vec::new();
        for word in rarest(&group.words) {
            let groups = with_word.entry(*word).or_default();
            candidates.extend(&*groups);
            groups.push(at);
        }
        candidates.sort_unstable();
        candidates.dedup();
        for other in candidates {
            let theirs = &groups[other];
            if second.is_some_and(|(seen, _)| theirs.inquiries[0] >= seen) {
                break;
            }
            if !is_like(&group.words, &theirs.words) {
                continue;
            }
            for inquiry in theirs.inquiries.iter().copied().take(2) {
                match first {
                    None => first = Some((inquiry, other)),
                    Some((before, _)) if session(before) == session(inquiry) => {}
                    Some(_) if second.is_none_or(|(seen, _)| inquiry < seen) => second = Some((inquiry, other)),
                    Some(_) => {}
                }
            }
        }
        let own = group.inquiries[0];
        for later in group.inquiries.iter().copied() {
            let fits = |earlier: &usize| *earlier < later && session(*earlier) != session(later);
            let near = [first, second].into_iter().flatten().filter(|(earlier, _)| fits(earlier)).min();
            let same = Some(own).filter(fits);
            match (near, same) {
                (Some((earlier, other)), same) if same.is_none_or(|same| earlier < same) => {
                    out.push(Repeat { later, earlier, likeness: jaccard_index(&group.words, &groups[other].words) });
                }
                (_, Some(earlier)) => out.push(Repeat { later, earlier, likeness: 1.0 }),
                _ => {}
            }
        }
    }
    out.sort_by_key(|repeat| repeat.later);
    out
}

/// Groups texts by normal form, in order of first occurrence.
fn groups(inquiries: &[SessionText<'_>]) -> Vec<Group> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let (mut normals, mut members): (Vec<String>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    let mut seen: HashSet<(usize, usize)> = HashSet::new();
    for (at, one) in inquiries.iter().enumerate() {
        let normal = normalize(one.text);
        if normal.is_empty() {
            continue;
        }
        let place = *places.entry(normal).or_insert_with_key(|normal| {
            normals.push(normal.clone());
            members.push(Vec::new());
            normals.len() - 1
        });
        if seen.insert((place, one.session)) {
            members[place].push(at);
        }
    }
    let all: Vec<BTreeSet<String>> = normals.iter().map(|normal| all_words(normal)).collect();
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
    all.iter().zip(members).map(|(words, inquiries)| Group { words: numbered(words), inquiries }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference implementation: compares each text with all earlier ones.
    fn naive(inquiries: &[SessionText<'_>]) -> Vec<(usize, usize)> {
        let normals: Vec<String> = inquiries.iter().map(|one| normalize(one.text)).collect();
        let sets: Vec<BTreeSet<String>> = normals.iter().map(|normal| all_words(normal)).collect();
        let is_new = |at: usize| {
            let again =
                |before: usize| inquiries[before].session == inquiries[at].session && normals[before] == normals[at];
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
                .find(|before| inquiries[*before].session != inquiries[at].session && alike(*before, at))
        };
        (0..inquiries.len()).filter(|at| is_new(*at)).filter_map(|at| Some((at, earlier(at)?))).collect()
    }

    fn found(texts: &[(usize, &str)]) -> Vec<(usize, usize)> {
        let inquiries: Vec<SessionText<'_>> =
            texts.iter().map(|(session, text)| SessionText { session: *session, text }).collect();
        repeats(&inquiries).into_iter().map(|repeat| (repeat.later, repeat.earlier)).collect()
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
        let inquiries = [SessionText { session: 0, text: "a b c d" }, SessionText { session: 1, text: "a b c d e" }];
        assert_eq!(repeats(&inquiries)[0].likeness, 0.8);
    }

    #[test]
    fn scripts_without_spaces_have_pairs_of_characters() {
        assert_eq!(found(&[(0, "认证令牌为什么过期"), (1, "认证令牌为什么过期了")]), [(1, 0)]);
        assert_eq!(found(&[(0, "认证令牌为什么过期"), (1, "数据库连接池大小是多少")]), []);
    }

    #[test]
    fn earlier_texts_of_the_own_session_hide_no_others() {
        let texts = [(0, "a b c d e"), (1, "a b c d"), (1, "a b c d e"), (0, "a b c d")];
        assert_eq!(found(&texts), [(1, 0), (2, 0), (3, 1)]);
    }

    fn texts(inquiries: Vec<(usize, Vec<u16>)>) -> Vec<(usize, String)> {
        let text = |words: Vec<u16>| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
        inquiries.into_iter().map(|(session, words)| (session, text(words))).collect()
    }

    fn both(texts: &[(usize, String)]) -> [Vec<(usize, usize)>; 2] {
        let inquiries: Vec<SessionText<'_>> =
            texts.iter().map(|(session, text)| SessionText { session: *session, text }).collect();
        [repeats(&inquiries).into_iter().map(|repeat| (repeat.later, repeat.earlier)).collect(), naive(&inquiries)]
    }

    proptest! {
        #[test]
        fn the_result_equals_a_comparison_of_all_pairs(
            inquiries in prop::collection::vec((0usize..5, prop::collection::vec(0u16..9, 1..14)), 0..50)
        ) {
            let [found, naive] = both(&texts(inquiries));
            prop_assert_eq!(found, naive);
        }

        #[test]
        fn the_result_equals_it_for_texts_of_all_sizes(
            size in prop::sample::select(vec![3u16, 12, 24, 28, 60, 200, 240]),
            changed in prop::collection::vec((0usize..5, 0u16..60, prop::collection::vec(0u16..300, 0..60)), 2..12)
        ) {
            // words of one text, with some removed at the end and some added
            let inquiries = changed.into_iter().map(|(session, less, more)| {
                let most = usize::from(size / 5) + 1;
                let kept = 0..size - less.min(size / 4);
                (session, kept.chain(more.into_iter().take(most).map(|word| 1000 + word)).collect())
            });
            let [found, naive] = both(&texts(inquiries.collect()));
            prop_assert_eq!(found, naive);
        }
    }
}

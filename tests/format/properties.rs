//! Properties of the merge: notes as sets of lines, Markdown as a union of blocks, records that round-trip.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use empirica_notes::format::{blocks, lines, record};
use empirica_notes::model::assessment::{Assessment, Checkpoint, Trigger};
use empirica_notes::model::goal::{Goal, Priority};
use empirica_notes::model::journal::anchor::Anchor;
use empirica_notes::model::journal::{DeadEnd, Decision, Evidence, Finding, Mistake, Unknown};
use empirica_notes::model::record::Attach;
use empirica_notes::model::record::{Confirm, Retract};
use empirica_notes::model::session::SessionStart;
use empirica_notes::model::vectors::{Vector, Vectors};
use empirica_notes::model::{Body, Envelope, Id, Phase, Record, SessionId};

fn id(n: u64) -> Id {
    Id::parse(&format!("019ab000-0000-7000-8000-0000{n:08x}")).expect("an id")
}

/// A line of a note: few different ids and texts, so that equal ones meet; bytes without LF.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let record = |v: u32, n: u64, rest: String| format!("{{\"v\":{v},\"id\":\"{}\"{rest}", id(n)).into_bytes();
    prop_oneof![
        4 => (1u32..30, 0u64..4, "[ -~é]{0,12}").prop_map(move |(v, n, rest)| record(v, n, rest)),
        2 => (0u64..4).prop_map(move |n| record(1, n, "}".into())),
        2 => vec(any::<u8>().prop_filter("no LF", |b| *b != b'\n'), 1..20),
        1 => Just(b"\r".to_vec()),
        1 => Just(b" ".to_vec()),
        1 => "[a-c]{1,2}".prop_map(String::into_bytes),
    ]
}

/// A note as others may have left it: any order, lines twice, blank lines, with or without the last LF.
fn note() -> impl Strategy<Value = Vec<u8>> {
    (vec((line(), 1usize..4), 0..8), any::<bool>()).prop_map(|(lines, ended)| {
        let mut out = Vec::new();
        for (line, feeds) in lines {
            out.extend_from_slice(&line);
            out.extend(std::iter::repeat_n(b'\n', feeds));
        }
        if !ended {
            while out.last() == Some(&b'\n') {
                out.pop();
            }
        }
        out
    })
}

fn set(note: &[u8]) -> BTreeSet<&[u8]> {
    note.split(|b| *b == b'\n').filter(|line| !line.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_union_of_lines_is_commutative_associative_and_idempotent(a in note(), b in note(), c in note()) {
        prop_assert_eq!(lines::union(&a, &b), lines::union(&b, &a));
        prop_assert_eq!(
            lines::union(&lines::union(&a, &b), &c),
            lines::union(&a, &lines::union(&b, &c))
        );
        let both = lines::union(&a, &b);
        prop_assert_eq!(&lines::union(&both, &both), &both);
        prop_assert_eq!(&lines::union(&both, &a), &both);
    }

    #[test]
    fn every_line_survives_byte_for_byte_and_none_is_invented(a in note(), b in note()) {
        let both = lines::union(&a, &b);
        let expected: BTreeSet<&[u8]> = set(&a).union(&set(&b)).copied().collect();
        prop_assert_eq!(set(&both), expected);
    }

    #[test]
    fn a_canonical_note_is_sorted_without_blank_lines_and_a_fixpoint(a in note()) {
        let canonical = lines::canonical(lines::split(&a));
        prop_assert_eq!(&lines::canonical(lines::split(&canonical)), &canonical);
        let Some(body) = canonical.strip_suffix(b"\n") else {
            prop_assert!(canonical.is_empty() && set(&a).is_empty());
            return Ok(());
        };
        let written: Vec<&[u8]> = body.split(|b| *b == b'\n').collect();
        prop_assert!(written.iter().all(|line| !line.is_empty()));
        // records by (id, bytes), then the others bytewise, each once
        let key = |line: &'_ [u8]| (lines::id(line).is_none(), lines::id(line).map(str::to_owned), line.to_vec());
        prop_assert!(written.windows(2).all(|pair| key(pair[0]) < key(pair[1])));
    }

    #[test]
    fn the_order_of_the_lines_given_does_not_matter(a in vec(line(), 0..8), seed in any::<u64>()) {
        let mut shuffled = a.clone();
        for at in (1..shuffled.len()).rev() {
            shuffled.swap(at, (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32) % (at as u64 + 1)) as usize);
        }
        let canonical = |lines: &[Vec<u8>]| lines::canonical(lines.iter().map(Vec::as_slice));
        prop_assert_eq!(canonical(&a), canonical(&shuffled));
    }
}

/// A block of an earlier renderer, or from 100 on the block of a session: of two that have three handoffs.
fn block(n: u64, renderer: u32, text: &str) -> String {
    if renderer >= blocks::REVISIONS {
        let (short, footer) = (id(n).short().to_owned(), blocks::footer(&id(n), renderer));
        return format!("# Handoff it (ada, {short}, session 0000000{})\n- Next: {text}\n\n{footer}", n / 2);
    }
    format!("# Handoff {}: it\n\n{text}\n\n{}", id(n).short(), blocks::footer(&id(n), renderer))
}

/// What people write, separators among it.
fn passage() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[a-c ]{0,3}",
        1 => Just("-- empirica: another note".to_owned()),
        1 => Just("# Notes".to_owned()),
        1 => Just("é \u{1b}\r".to_owned()),
    ];
    vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

/// Text that looks like parts of a block.
fn fragment() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        2 => passage(),
        1 => (0u64..3).prop_map(|n| format!("# Handoff {}: it", id(n).short())),
        1 => (0u64..3, 0u32..3).prop_map(|(n, r)| blocks::footer(&id(n), r)),
    ];
    vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

fn a_block() -> impl Strategy<Value = (u64, u32, String)> {
    (0u64..3, prop_oneof![0u32..4, 100u32..103], "[a-b]{1,2}")
}

/// A Markdown note of these parts, with blank lines between them.
fn joined(part: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    vec((part, 1usize..4), 0..6)
        .prop_map(|parts| parts.into_iter().map(|(part, feeds)| part + &"\n".repeat(feeds)).collect())
}

/// Blocks of few ids in several renderers, and passages before, between and after them.
fn reviewed() -> impl Strategy<Value = String> {
    joined(prop_oneof![a_block().prop_map(|(n, r, text)| block(n, r, &text)), passage()])
}

/// The same with fragments of blocks.
fn markdown() -> impl Strategy<Value = String> {
    joined(prop_oneof![a_block().prop_map(|(n, r, text)| block(n, r, &text)), passage(), fragment()])
}

fn unite(a: &str, b: &str) -> String {
    String::from_utf8(blocks::union(a.as_bytes(), b.as_bytes())).expect("UTF-8")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_union_of_blocks_is_commutative_associative_and_idempotent(a in markdown(), b in markdown(), c in markdown()) {
        prop_assert_eq!(unite(&a, &b), unite(&b, &a));
        prop_assert_eq!(unite(&unite(&a, &b), &c), unite(&a, &unite(&b, &c)));
        let both = unite(&a, &b);
        prop_assert_eq!(&unite(&both, &both), &both);
        prop_assert_eq!(&unite(&both, &a), &both);
        prop_assert_eq!(&unite(&both, ""), &both);
    }

    #[test]
    fn of_blocks_of_one_session_or_id_the_higher_renderer_then_the_newer_then_the_greater_bytes_stay(
        blocks in vec(a_block(), 1..8),
        cut in 0usize..8,
    ) {
        let text = |list: &[(u64, u32, String)]| {
            list.iter().map(|(n, r, text)| block(*n, *r, text)).collect::<Vec<_>>().join("\n\n")
        };
        let (left, right) = blocks.split_at(cut.min(blocks.len()));
        let mut best: BTreeMap<(bool, u64), (u32, u64, String)> = BTreeMap::new();
        for (n, r, words) in &blocks {
            let of_session = *r >= blocks::REVISIONS;
            let candidate = (*r, *n, block(*n, *r, words));
            let entry = best.entry((of_session, if of_session { n / 2 } else { *n })).or_insert_with(|| candidate.clone());
            *entry = candidate.max(entry.clone());
        }
        let mut kept: Vec<&(u32, u64, String)> = best.values().collect();
        kept.sort_by_key(|(r, n, _)| (*n, *r >= blocks::REVISIONS));
        let expected = kept.iter().map(|(.., text)| text.as_str()).collect::<Vec<_>>().join("\n\n") + "\n";
        prop_assert_eq!(unite(&text(left), &text(right)), expected);
    }

    #[test]
    fn every_line_people_wrote_is_still_there(a in reviewed(), b in reviewed()) {
        let both = unite(&a, &b);
        let kept: BTreeSet<&str> = both.split('\n').collect();
        let ours = |line: &str| ["# Handoff", "- Next: ", "-- empirica"].iter().any(|begin| line.starts_with(begin));
        for line in a.split('\n').chain(b.split('\n')).filter(|line| !line.trim().is_empty()) {
            // of two variants of a block one stays; texts of blocks are of a and b only
            let of_a_block = ours(line) || line.chars().all(|c| "ab".contains(c));
            prop_assert!(of_a_block || kept.contains(line), "{:?} is gone from {:?}", line, both);
        }
    }
}

fn vectors() -> impl Strategy<Value = Vectors> {
    vec(proptest::option::of(0.0..=1.0f64), Vector::ALL.len()).prop_map(|values| {
        let mut out = Vectors::default();
        for (vector, value) in Vector::ALL.into_iter().zip(values) {
            assert!(value.is_none_or(|value| out.set(vector, value)));
        }
        out
    })
}

fn maybe() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(any::<String>())
}

fn body() -> impl Strategy<Value = Body> {
    let text = any::<String>;
    let at = || {
        let anchor = (text(), proptest::option::of(any::<(u32, u32)>()), text(), text());
        vec(anchor.prop_map(|(path, lines, blob, hash)| Anchor { path, lines, blob, hash }), 0..3)
    };
    let led = || proptest::option::of((0u64..99).prop_map(id));
    let unit = || proptest::option::of(0.0..=1.0f64);
    prop_oneof![
        (text(), unit(), maybe(), maybe(), at(), led()).prop_map(|(text, impact, memory, until, anchors, led_from)| {
            Body::Finding(Finding { text, impact, memory, until, anchors, led_from })
        }),
        (text(), any::<bool>(), maybe(), at(), led()).prop_map(|(text, blocking, until, anchors, led_from)| {
            Body::Unknown(Unknown { text, blocking, until, anchors, led_from })
        }),
        (text(), text(), maybe(), at(), led()).prop_map(|(approach, why, until, anchors, led_from)| {
            Body::DeadEnd(DeadEnd { id: None, approach, why, until, anchors, led_from })
        }),
        (text(), maybe(), maybe(), at(), led()).prop_map(|(text, prevention, until, anchors, led_from)| {
            Body::Mistake(Mistake { id: None, text, prevention, until, anchors, led_from })
        }),
        (text(), text(), vec(text(), 0..3), maybe(), at(), led()).prop_map(
            |(text, why, alternatives, until, anchors, led_from)| {
                Body::Decision(Decision { id: None, text, why, alternatives, until, anchors, led_from })
            }
        ),
        (vec((0u64..99).prop_map(id), 0..3), led(), maybe()).prop_map(|(of, by, why)| Body::Retract(Retract {
            of,
            by,
            why
        })),
        ((0u64..99), at()).prop_map(|(of, anchors)| Body::Confirm(Confirm { of: id(of), anchors })),
        (text(), any::<i32>(), vec(text(), 0..3), led()).prop_map(|(command, exit, files, led_from)| {
            Body::Evidence(Evidence { command, exit, files, led_from })
        }),
        (text(), vec(text(), 0..3), maybe()).prop_map(|(text, criteria, rationale)| Body::Goal(Goal {
            text,
            criteria,
            priority: Priority::High,
            vector: rationale.as_ref().map(|_| "know".to_owned()),
            rationale,
        })),
        (maybe(), maybe(), maybe(), text(), text()).prop_map(|(task, kind, external_id, worktree, place)| {
            Body::SessionStart(SessionStart {
                task,
                kind,
                external_id,
                worktree,
                place,
                from: None,
                from_handoff: None,
            })
        }),
        (
            any::<u32>(),
            vectors(),
            unit(),
            maybe(),
            vec(text(), 0..3),
            proptest::collection::btree_map(text(), text(), 0..3)
        )
            .prop_map(|(round, vectors, confidence, reasoning, tags, meta)| {
                Body::Assessment(Box::new(Assessment {
                    phase: Phase::Check,
                    round,
                    vectors,
                    confidence,
                    reasoning,
                    task: None,
                    cycle: Some(round),
                    scope: confidence,
                    tags,
                    meta,
                }))
            }),
        (any::<u32>(), vectors(), led(), maybe(), vec(text(), 0..3)).prop_map(
            |(round, vectors, vectors_from, said, tags)| {
                Body::Checkpoint(Box::new(Checkpoint {
                    phase: None,
                    round,
                    trigger: Trigger::PreCompact,
                    vectors,
                    compared_with: vectors_from.clone(),
                    vectors_from,
                    vector_sources: Default::default(),
                    said,
                    tags,
                    metadata: Default::default(),
                    git_state: None,
                    snapshot: None,
                }))
            }
        ),
        (vec((0u64..99).prop_map(id), 0..3), text(), text()).prop_map(|(of, from, to)| Body::Attach(Attach {
            of,
            from,
            to
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_record_comes_back_from_its_line_as_it_was(
        n in 0u64..99, ai in any::<String>(), at in any::<String>(), commit in maybe(), tree in maybe(),
        session in any::<bool>(), body in body(),
    ) {
        let session = SessionId::parse("11111111-2222-4333-8444-555555555555").filter(|_| session);
        let envelope = Envelope { v: 1, id: id(n), session, ai, at, commit, tree };
        let record = Record { envelope, body };
        let line = record::encode(&record);
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(lines::id(line.as_bytes()), Some(record.envelope.id.as_str()));
        let back = record::decode(line.as_bytes());
        prop_assert_eq!(back.as_ref(), Some(&record));
        prop_assert_eq!(record::encode(&record), line);
    }
}

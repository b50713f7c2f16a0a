//! The union of notes trees in a real repository: the same content whatever the order, the same commit from both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::env::Env;
use crate::git::process::{git, output};
use crate::git::{Repository, parse_oid};
use crate::model::Record;
use crate::store::epoch::Redacted;
use crate::store::{Render, data_ref};

struct Nothing;

impl Render for Nothing {
    fn block(&self, _: &Record) -> Result<Option<String>> {
        Ok(None)
    }

    fn attached(&self, _: &Record, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
}

const REF: &str = "refs/notes/empirica/data/journal";

/// Notes by object (of few), each a set of records (of few, in two versions); the redacted ones.
#[derive(Debug, Clone)]
struct Tree {
    notes: BTreeMap<u8, BTreeSet<(u8, bool)>>,
    redacted: BTreeSet<u8>,
}

fn tree() -> impl Strategy<Value = Tree> {
    let note = prop::collection::btree_set((0u8..5, any::<bool>()), 1..5);
    let notes = prop::collection::btree_map(0u8..6, note, 0..6);
    let redacted = prop_oneof![2 => Just(BTreeSet::new()), 1 => prop::collection::btree_set(0u8..5, 1..3)];
    (notes, redacted).prop_map(|(notes, redacted)| Tree { notes, redacted })
}

fn id(n: u8) -> String {
    format!("019ab000-0000-7000-8000-{n:012x}")
}

impl Tree {
    fn commit(&self, repo: &Repository, seconds: i64) -> Oid {
        let line = |(n, second): &(u8, bool)| {
            let line = format!("{{\"v\":1,\"id\":\"{}\",\"kind\":\"x\",\"of\":{second}}}\n", id(*n));
            let stub = || redact::stub(line.as_bytes(), None).unwrap();
            // of what is redacted a stub is left, of whichever version
            if self.redacted.contains(n) { String::from_utf8(stub()).unwrap() + "\n" } else { line }
        };
        let note = |lines: &BTreeSet<(u8, bool)>| {
            let text: String = lines.iter().map(line).collect();
            String::from_utf8(lines::union(text.as_bytes(), b"")).unwrap()
        };
        let blob = |text: String| repo.write_blob(text.as_bytes()).unwrap();
        let edits = self.notes.iter().map(|(on, lines)| {
            let on = parse_oid(&format!("{on:02x}").repeat(20)).unwrap();
            (on, Some(blob(note(lines))))
        });
        let redacted = self.redacted.iter().map(|n| (id(*n), Redacted::gone(&id(*n)))).collect();
        let epoch = Epoch { number: self.redacted.len() as u64, redacted };
        let others = if epoch.is_empty() { vec![] } else { vec![(b"epoch".to_vec(), Other::file(blob(epoch.text())))] };
        let tree = notes::rebuilt(repo, repo.empty_tree(), &edits.collect(), &others, lines::union, false).unwrap();
        repo.write_merge(tree, vec![], "notes\n", seconds).unwrap()
    }

    /// The union, said in another way: all lines, and of what is redacted on either side a stub.
    fn united(&self, other: &Tree) -> Tree {
        let redacted: BTreeSet<u8> = self.redacted.union(&other.redacted).copied().collect();
        let mut notes: BTreeMap<u8, BTreeSet<(u8, bool)>> = BTreeMap::new();
        for side in [self, other] {
            for (on, lines) in &side.notes {
                notes.entry(*on).or_default().extend(lines);
            }
        }
        Tree { notes, redacted }
    }
}

#[test]
fn the_union_of_trees_is_what_the_rules_say_in_any_order_and_grouping() {
    let folder = tempfile::tempdir().unwrap();
    output(git(folder.path()).args(["init", "-q"])).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let env = Env::new(|_| None, cwd.clone(), PathBuf::new());
    let repo = Repository::discover(&env).unwrap();
    let store = Store::new(&repo, &env, &Nothing).unwrap();
    assert_eq!(REF, data_ref(crate::model::Shelf::Journal));
    let merge = |a: Oid, b: Oid| store.merged(REF, Some(a), b, false).unwrap().0;
    let read = |tip: Oid| {
        let tree = repo.tree_of(tip).unwrap();
        let notes: BTreeSet<(Oid, Oid)> = notes::entries(&repo, tree).unwrap().notes.into_iter().collect();
        (notes, Epoch::of_tree(&repo, tree).unwrap().redacted)
    };
    let config = ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let outcome = runner.run(&(tree(), tree(), tree()), |(a, b, c)| {
        let [ta, tb, tc] = [a.commit(&repo, 10), b.commit(&repo, 20), c.commit(&repo, 30)];
        let (ab, ba) = (merge(ta, tb), merge(tb, ta));
        prop_assert_eq!(read(ab), read(a.united(&b).commit(&repo, 1)));
        prop_assert_eq!(repo.tree_of(ab).unwrap(), repo.tree_of(ba).unwrap());
        let fresh = ab != ta && ab != tb && ba != ta && ba != tb;
        prop_assert!(!fresh || ab == ba, "two clones made two commits");
        prop_assert_eq!(read(merge(ab, tc)), read(merge(ta, merge(tb, tc))));
        prop_assert_eq!(merge(ab, ta), ab);
        prop_assert_eq!(merge(ab, ab), ab);
        // whoever meets the union has no more to say
        prop_assert_eq!(repo.tree_of(merge(tb, ab)).unwrap(), repo.tree_of(ab).unwrap());
        Ok(())
    });
    outcome.unwrap();
}

//! The union of notes trees in a real repository: independent of the order, the same commit from both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::env::Env;
use crate::git::notes::difference::Other;
use crate::git::process::{git, output, output_with_input};
use crate::git::{Repository, parse_oid};
use crate::model::{Id, Record};
use crate::store::redact::tombstones::Tombstone;
use crate::store::write::merge::*;
use crate::store::{Render, Store, data_ref};

struct Nothing;

impl Render for Nothing {
    fn blocks(&self, _: &[Record], _: &BTreeSet<Id>, _: bool) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn report(&self, _: &Record) -> Result<String> {
        Ok(String::new())
    }
}

const REF: &str = "refs/notes/empirica/data/journal";

/// Notes by annotated object, each a set of records in one or two versions; and the redacted records.
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
            // all versions of a redacted record become a stub
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
        let redacted = self.redacted.iter().map(|n| (id(*n), Tombstone::gone(&id(*n)))).collect();
        let epoch = Tombstones { number: self.redacted.len() as u64, redacted };
        let others = if epoch.is_empty() { vec![] } else { vec![(b"epoch".to_vec(), Other::file(blob(epoch.text())))] };
        let tree =
            notes::rebuild_tree(repo, repo.empty_tree(), &edits.collect(), &others, lines::union, false).unwrap();
        repo.write_merge(tree, vec![], "notes\n", seconds).unwrap()
    }

    /// The expected union: all lines, with stubs for the records redacted on either side.
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
fn the_union_of_trees_is_commutative_and_associative() {
    let folder = tempfile::tempdir().unwrap();
    output(git(folder.path()).args(["init", "-q"])).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let env = Env::new([], cwd.clone(), PathBuf::new());
    let repo = Repository::discover(&env).unwrap();
    let store = Store::new(&repo, &env, &Nothing).unwrap();
    assert_eq!(REF, data_ref(crate::model::Namespace::Journal));
    let merge = |a: Oid, b: Oid| store.writer().merge(REF, Some(a), b, false).unwrap();
    let read = |tip: Oid| {
        let tree = repo.tree_of(tip).unwrap();
        let notes: BTreeSet<(Oid, Oid)> = notes::entries(&repo, tree).unwrap().notes.into_iter().collect();
        (notes, Tombstones::of_tree(&repo, tree).unwrap().redacted)
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
        // merging the union into a side adds nothing
        prop_assert_eq!(repo.tree_of(merge(tb, ab)).unwrap(), repo.tree_of(ab).unwrap());
        Ok(())
    });
    outcome.unwrap();
}

/// A tree with these entries: mode, name, object.
fn mktree(at: &Path, entries: &[(&str, &str, Oid)]) -> Oid {
    let kind = |mode: &str| if mode == "040000" { "tree" } else { "blob" };
    let line = |(mode, name, id): &(&str, &str, Oid)| format!("{mode} {} {id}\t{name}\n", kind(mode));
    let listed: String = entries.iter().map(line).collect();
    let made = output_with_input(git(at).arg("mktree"), listed.into_bytes()).unwrap();
    parse_oid(String::from_utf8(made).unwrap().trim()).unwrap()
}

/// Found by fuzzing: a folder with a fan-out name and other content, next to a flat note, was taken for a tree with
/// both layouts, so that merging a side into the union again made another commit.
#[test]
fn a_folder_with_a_fan_out_name_does_not_make_a_union_unstable() {
    let folder = tempfile::tempdir().unwrap();
    output(git(folder.path()).args(["init", "-q"])).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let env = Env::new([], cwd.clone(), PathBuf::new());
    let repo = Repository::discover(&env).unwrap();
    let store = Store::new(&repo, &env, &Nothing).unwrap();
    let tree = |entries: &[(&str, &str, Oid)]| mktree(&cwd, entries);
    let blob = |text: &str| repo.write_blob(text.as_bytes()).unwrap();
    let (aa, ab) = ("aa".repeat(20), "ab".repeat(20));
    let fanned = tree(&[("100644", &aa[2..], blob("one\n")), ("040000", "00", tree(&[]))]);
    let first = tree(&[("040000", "aa", fanned), ("100644", &ab, blob("two\n"))]);
    // a name of as many digits as a note below no fan-out has
    let second = tree(&[("100644", &aa, blob("one\n")), ("040000", "ab", tree(&[("100644", &ab, blob("three\n"))]))]);
    let [first, second] = [first, second].map(|tree| repo.write_merge(tree, vec![], "notes\n", 1).unwrap());
    let merge = |a: Oid, b: Oid| store.writer().merge(REF, Some(a), b, false).unwrap();
    let union = merge(first, second);
    assert_eq!(merge(second, first), union);
    assert_eq!([merge(union, first), merge(union, second)], [union, union]);
    let listed = output(git(&cwd).args(["ls-tree", "-r", "--name-only", &union.to_string()])).unwrap();
    assert_eq!(String::from_utf8(listed).unwrap().lines().count(), 3);
}

/// Found by fuzzing: an entry of another kind with the name of a note, or of a folder of notes, replaced the notes there.
#[test]
fn a_union_keeps_the_notes_where_the_other_side_has_another_entry() {
    let folder = tempfile::tempdir().unwrap();
    output(git(folder.path()).args(["init", "-q"])).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let env = Env::new([], cwd.clone(), PathBuf::new());
    let repo = Repository::discover(&env).unwrap();
    let store = Store::new(&repo, &env, &Nothing).unwrap();
    let tree = |entries: &[(&str, &str, Oid)]| mktree(&cwd, entries);
    let tip = |tree: Oid| repo.write_merge(tree, vec![], "notes\n", 1).unwrap();
    let merge = |a: Oid, b: Oid| store.writer().merge(REF, Some(a), b, false).unwrap();
    let blob = |text: &str| repo.write_blob(text.as_bytes()).unwrap();
    let (aa, file) = ("aa".repeat(20), blob("one\n"));
    let flat = tree(&[("100644", &aa, file)]);
    let fanned = tree(&[("040000", "aa", tree(&[("100644", &aa[2..], file)]))]);
    let deep = tree(&[("040000", "aa", tree(&[("040000", "aa", tree(&[("100644", &aa[4..], file)]))]))]);
    let others = [
        tree(&[("120000", &aa, blob("x")), ("100644", "x", blob("x"))]),
        tree(&[("040000", &aa, flat), ("100644", "x", blob("x"))]),
        tree(&[("100644", "aa", blob("x")), ("100644", "x", blob("x"))]),
        tree(&[("040000", "aa", tree(&[("120000", &aa[2..], blob("x"))])), ("100644", "x", blob("x"))]),
        tree(&[("040000", "aa", tree(&[("100644", "aa", blob("x"))])), ("100644", "x", blob("x"))]),
    ];
    for notes in [flat, fanned, deep] {
        for other in others {
            let (first, second) = (tip(notes), tip(other));
            let union = merge(first, second);
            assert_eq!(merge(second, first), union);
            assert_eq!([merge(union, first), merge(union, second)], [union, union]);
            let listed = notes::entries(&repo, repo.tree_of(union).unwrap()).unwrap();
            assert_eq!(listed.notes, [(parse_oid(&aa).unwrap(), file)], "{notes} {other}");
            assert_eq!(listed.others().map(|(path, _)| path).collect::<Vec<_>>(), [b"x"]);
        }
    }
}

/// Found by fuzzing: a tree that no git wrote, out of order and with a name twice, was written out of order again.
#[test]
fn a_union_with_an_unsorted_tree_is_sorted() {
    let folder = tempfile::tempdir().unwrap();
    output(git(folder.path()).args(["init", "-q"])).unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    let env = Env::new([], cwd.clone(), PathBuf::new());
    let repo = Repository::discover(&env).unwrap();
    let store = Store::new(&repo, &env, &Nothing).unwrap();
    let blob = |text: &str| repo.write_blob(text.as_bytes()).unwrap();
    let tip = |names: &[&str]| {
        let entry = |name: &&str| [b"100644 ", name.as_bytes(), b"\0", blob(&format!("{name}\n")).as_bytes()].concat();
        let listed: Vec<u8> = names.iter().flat_map(entry).collect();
        let mut command = git(&cwd);
        let written =
            output_with_input(command.args(["hash-object", "-t", "tree", "--literally", "-w", "--stdin"]), listed)
                .unwrap();
        let tree = parse_oid(String::from_utf8(written).unwrap().trim()).unwrap();
        repo.write_merge(tree, vec![], "notes\n", 1).unwrap()
    };
    // its note makes it the one that the union is built on
    let note = "ab".repeat(20);
    let [first, second] = [tip(&["z", &note, "b", "z"]), tip(&["m"])];
    let union = store.writer().merge(REF, Some(first), second, false).unwrap();
    assert_eq!(store.writer().merge(REF, Some(second), first, false).unwrap(), union);
    let listed = output(git(&cwd).args(["ls-tree", "--name-only", &union.to_string()])).unwrap();
    assert_eq!(String::from_utf8(listed).unwrap(), format!("{note}\nb\nm\nz\n"));
}

//! Arbitrary notes trees: listed, looked up, normalized and merged without losing a line.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::input::Bytes;
use empirica_notes::env::Env;
use empirica_notes::error::Result;
use empirica_notes::format::lines;
use empirica_notes::git::{NotesTree, Oid, Repository, notes, parse_oid};
use empirica_notes::model::{Id, Namespace, Record};
use empirica_notes::store::{Render, Store, data_ref};
use gix::objs::{Kind, Write as _};

struct Nothing;

impl Render for Nothing {
    fn blocks(&self, _: &[Record], _: &BTreeSet<Id>, _: bool) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn report(&self, _: &Record) -> Result<String> {
        Ok(String::new())
    }
}

/// A repository, opened in both ways, and for how many inputs it still serves.
struct Place {
    folder: tempfile::TempDir,
    env: Env,
    repo: Repository,
    raw: gix::Repository,
    left: usize,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

/// Another one now and then: objects pile up.
fn place() -> Place {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = tempfile::tempdir_in(parent).expect("a folder");
    let path = folder.path().canonicalize().expect("its path");
    gix::init(&path).expect("a repository");
    let raw = gix::open(&path).expect("a repository");
    let env = Env::new([], path, PathBuf::new());
    let repo = Repository::discover(&env).expect("a repository");
    Place { folder, env, repo, raw, left: 5_000 }
}

type Lines = BTreeMap<Oid, BTreeSet<Vec<u8>>>;

/// The annotated objects: few, so that they meet.
fn target(byte: u8) -> String {
    ["aa", "ab", "ba", "00"][usize::from(byte & 3)].repeat(19) + ["cc", "cd"][usize::from(byte >> 2 & 1)]
}

/// The tree with these entries: mode, name, object.
fn write(raw: &gix::Repository, mut entries: Vec<(&str, Vec<u8>, Oid)>, is_odd: bool) -> Oid {
    if !is_odd {
        let key = |(mode, name, _): &(&str, Vec<u8>, Oid)| {
            [name.as_slice(), if *mode == "40000" { b"/" } else { b"" }].concat()
        };
        entries.sort_by_key(key);
        entries.dedup_by(|a, b| a.1 == b.1);
    }
    let mut tree = Vec::new();
    for (mode, name, id) in entries {
        tree.extend([mode.as_bytes(), b" ", &name, b"\0", id.as_bytes()].concat());
    }
    raw.write_buf(Kind::Tree, &tree).expect("an object")
}

/// A tree out of bytes, below a fan-out of `hex`.
fn tree(raw: &gix::Repository, bytes: &mut Bytes<'_>, hex: &str, is_odd: bool) -> Oid {
    let mut entries = Vec::new();
    for _ in 0..bytes.next() % 8 {
        let (what, which) = (bytes.next(), bytes.next());
        let target = target(which);
        let rest = target.strip_prefix(hex).unwrap_or(&target).as_bytes().to_vec();
        let blob = |bytes: &mut Bytes<'_>| {
            let id = |n: u8| format!("{{\"v\":1,\"id\":\"019ab000-0000-7000-8000-00000000000{}\"}}\n", n & 7);
            let line = |n: u8| if n & 8 == 0 { id(n) } else { format!("line {}\n", n & 7) };
            let text: String = (0..bytes.next() % 4).map(|_| line(bytes.next())).collect();
            raw.write_buf(Kind::Blob, text.as_bytes()).expect("an object")
        };
        match what % 8 {
            0..=3 => entries.push(("100644", rest, blob(bytes))),
            4 | 5 if hex.len() < 6 && rest.len() > 2 => {
                let inner = tree(raw, bytes, &format!("{hex}{}", String::from_utf8_lossy(&rest[..2])), is_odd);
                entries.push(("40000", rest[..2].to_vec(), inner));
            }
            6 => {
                let mode = ["100755", "120000", "100644", "160000"][usize::from(which & 3)];
                entries.push((mode, vec![b'x', b'a' + (which >> 4)], blob(bytes)));
            }
            _ => {
                let name = std::iter::repeat_with(|| bytes.next()).take(1 + usize::from(which & 3));
                let name: Vec<u8> = name.map(|byte| if matches!(byte, 0 | b'/') { b'_' } else { byte }).collect();
                if is_odd || !matches!(name.as_slice(), b"." | b"..") {
                    entries.push(("100644", name, blob(bytes)));
                }
            }
        }
    }
    write(raw, entries, is_odd)
}

fn lines_of(repo: &Repository, tree: Oid) -> Lines {
    let mut out = Lines::new();
    for (on, blob) in notes::entries(repo, tree).expect("a tree").notes {
        let note = repo.read_blob(blob).expect("readable").expect("here");
        out.entry(on).or_default().extend(lines::split(&note).map(<[u8]>::to_vec));
    }
    out
}

pub fn fuzz(data: &[u8]) {
    PLACE.with_borrow_mut(|kept| {
        let place = kept.take().filter(|place| place.left > 0 && place.folder.path().is_dir()).unwrap_or_else(place);
        try_in(&place, data);
        *kept = Some(Place { left: place.left - 1, ..place });
    });
}

fn try_in(place: &Place, data: &[u8]) {
    let Place { env, repo, raw, .. } = place;
    let store = Store::new(repo, env, &Nothing).expect("a store");
    let mut bytes = Bytes(data);
    let is_odd = bytes.next() & 1 == 1;
    let trees: [Oid; 2] = std::array::from_fn(|_| tree(raw, &mut bytes, "", is_odd));
    let tips = trees.map(|tree| repo.write_merge(tree, vec![], "notes\n", 1).expect("a commit"));
    let name = data_ref(Namespace::Journal);
    let union = |a: Oid, b: Oid| store.writer().merge(&name, Some(a), b, false);
    if is_odd {
        // no git makes such trees: an error, or an answer
        for tip in tips {
            let mut looked = NotesTree::open(repo, Some(tip), lines::union);
            for which in 0..8 {
                let on = parse_oid(&target(which)).expect("an id");
                let _ = looked.as_mut().map(|notes| notes.get(on));
            }
        }
        let _ = (union(tips[0], tips[1]), union(tips[1], tips[0]));
        return;
    }
    let lines = trees.map(|tree| lines_of(repo, tree));
    for (tip, expected) in tips.into_iter().zip(&lines) {
        let mut edited = NotesTree::open(repo, Some(tip), lines::union).expect("notes");
        for which in 0..8 {
            let on = parse_oid(&target(which)).expect("an id");
            let found = edited.get(on).expect("readable");
            let set = found.as_deref().map(|note| lines::split(note).map(<[u8]>::to_vec).collect());
            assert_eq!(set.as_ref(), expected.get(&on), "looked up: {on}");
        }
        let on = parse_oid(&target(1)).expect("an id");
        let with = lines::union(&edited.get(on).expect("readable").unwrap_or_default(), b"one more\n");
        edited.set(on, &with).expect("staged");
        let mut wanted = expected.clone();
        wanted.entry(on).or_default().insert(b"one more".to_vec());
        assert_eq!(lines_of(repo, edited.write().expect("written")), wanted, "edited");
    }
    let [ab, ba] = [union(tips[0], tips[1]).expect("a union"), union(tips[1], tips[0]).expect("a union")];
    assert_eq!(repo.tree_of(ab).expect("a tree"), repo.tree_of(ba).expect("a tree"), "commutative");
    let mut all = lines[0].clone();
    lines[1].iter().for_each(|(on, lines)| all.entry(*on).or_default().extend(lines.iter().cloned()));
    let whole = |lines: Lines| lines.into_iter().filter(|(_, lines)| !lines.is_empty()).collect::<Lines>();
    assert_eq!(whole(lines_of(repo, repo.tree_of(ab).expect("a tree"))), whole(all), "no line is lost, none is new");
    let tree = |tip: Oid| repo.tree_of(tip).expect("a tree");
    for tip in tips {
        assert_eq!(tree(union(ab, tip).expect("a union")), tree(ab), "idempotent");
    }
}

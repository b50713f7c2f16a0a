//! Paths as tools were given them: resolved by their text alone, and told from the root of the repository.

use std::path::Path;

/// The longest path that is believed to be one, in bytes.
const LONGEST: usize = 4096;

/// Whether a path begins with a drive (`C:\`, `C:/`) or a server (`\\server`).
fn is_windows(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
        || path.starts_with("\\\\")
}

/// Whether a path that was made normal is absolute.
fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_windows(path)
}

/// A path without `.`, `..` and empty parts, resolved against `cwd`, which is normal. Without `cwd`, a relative path stays so, and
/// may begin with `..`. Paths of Windows get `/` between their parts and a large drive letter. `None` for what is no path: empty,
/// longer than 4,096 bytes, or with a NUL.
pub fn normal(path: &str, cwd: Option<&str>) -> Option<String> {
    if path.is_empty() || path.len() > LONGEST || path.contains('\0') {
        return None;
    }
    let own = path.starts_with('/') || is_windows(path);
    let start = cwd.filter(|_| !own).unwrap_or_default();
    let windows = if own { is_windows(path) } else { is_windows(start) || start.starts_with("//") };
    let separators: &[char] = if windows { &['/', '\\'] } else { &['/'] };
    let head = if own { path } else { start };
    let root = match head.as_bytes() {
        [b'\\' | b'/', b'\\' | b'/', ..] if windows => "//".to_owned(),
        [b'/', ..] => "/".to_owned(),
        [drive, ..] if windows => format!("{}:/", drive.to_ascii_uppercase() as char),
        _ => String::new(),
    };
    let mut parts: Vec<&str> = Vec::new();
    let skipped = usize::from(windows && !root.starts_with('/'));
    for part in head.split(separators).skip(skipped).chain(path.split(separators).filter(|_| !own)) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if !root.is_empty() => {}
            part => parts.push(part),
        }
    }
    let out = root + &parts.join("/");
    Some(if out.is_empty() { ".".to_owned() } else { out })
}

/// What of `path` lies below `folder`, both normal; empty for the folder itself.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None => (rest.is_empty() || folder.ends_with('/')).then_some(rest),
    }
}

/// The folders that paths are told from.
#[derive(Debug, Default)]
pub struct Bases(Vec<(String, String)>);

fn text(path: &Path) -> Option<String> {
    normal(path.to_str()?, None)
}

fn real(path: &Path) -> Option<String> {
    text(&path.canonicalize().ok()?)
}

/// Whether a work tree begins in a folder.
fn is_tree(folder: &Path) -> bool {
    folder.is_absolute() && folder.join(".git").symlink_metadata().is_ok()
}

/// Whether another work tree lies between `root` and a folder below it.
fn is_nested(folder: &str, root: &str) -> bool {
    Path::new(folder).ancestors().take_while(|above| *above != Path::new(root)).any(is_tree)
}

/// The work tree a folder lies in, as it is named and as it really is; nothing when there is none, or no such folder.
fn tree_of(folder: &str) -> Vec<String> {
    let folder = Path::new(folder);
    let tree = folder.ancestors().find(|above| is_tree(above)).filter(|_| folder.is_dir());
    tree.into_iter().flat_map(|tree| [text(tree), real(tree)]).flatten().collect()
}

impl Bases {
    /// For a transcript that was begun in `cwd`, of the repository `own`, both as it says, seen from `root`. What was made elsewhere is
    /// told from `own`, else from the work tree around `cwd`, else from `cwd`.
    pub fn of(root: Option<&Path>, cwd: Option<&str>, own: Option<&str>) -> Self {
        let cwd = cwd.and_then(|cwd| normal(cwd, None));
        let roots: Vec<String> = root.into_iter().flat_map(|root| [text(root), real(root)]).flatten().collect();
        let mut out: Vec<(String, String)> = roots.iter().map(|root| (root.clone(), String::new())).collect();
        match (&cwd, root) {
            (None, _) => {}
            (Some(cwd), Some(root)) if is_inside(cwd, root) => {
                let named = roots.iter().any(|root| below(cwd, root).is_some());
                let inner = || roots.iter().find_map(|root| Some(below(&real(Path::new(cwd))?, root)?.to_owned()));
                if !named && let Some(inner) = inner() {
                    // the same folder under another name: so is what lies above it, as far as the names agree
                    let top = cwd.strip_suffix(&inner).map(|top| top.trim_end_matches('/').to_owned());
                    out.extend(top.filter(|top| !top.is_empty()).map(|top| (top, String::new())));
                    out.push((cwd.clone(), inner));
                }
            }
            (Some(cwd), _) => {
                let own = own.and_then(|own| normal(own, None)).filter(|own| is_absolute(own));
                let mut tops = own.map_or_else(|| tree_of(cwd), |own| vec![own]);
                if tops.is_empty() {
                    tops.push(cwd.clone());
                }
                let is_below =
                    |top: &String| roots.iter().any(|root| below(top, root).is_some_and(|rest| !rest.is_empty()));
                // of two that lie in each other, the inner one is asked first
                let at = if tops.iter().any(is_below) { 0 } else { out.len() };
                out.splice(at..at, tops.into_iter().map(|top| (top, String::new())));
            }
        }
        out.retain(|(folder, _)| is_absolute(folder));
        Bases(out)
    }

    /// The path told from the root of the repository, `.` for the root itself; `None` when it lies outside. A relative path
    /// of which nobody knows where it begins is believed to begin at the root.
    pub fn place(&self, path: &str) -> Option<String> {
        if !is_absolute(path) {
            return (path != ".." && !path.starts_with("../")).then(|| path.to_owned());
        }
        self.0.iter().find_map(|(folder, instead)| {
            let rest = below(path, folder)?;
            Some(match (instead.is_empty(), rest.is_empty()) {
                (true, true) => ".".to_owned(),
                (true, false) => rest.to_owned(),
                (false, true) => instead.clone(),
                (false, false) => format!("{instead}/{rest}"),
            })
        })
    }
}

/// Whether a folder that a transcript names is `root` or below it, and in no other work tree there. `root` may be a link, and the
/// folder's name may lead through one.
pub fn is_inside(folder: &str, root: &Path) -> bool {
    let Some(normal) = normal(folder, None).filter(|folder| is_absolute(folder)) else { return false };
    let names = [text(root), real(root)];
    let inside = |folder: &str| {
        let root = names.iter().flatten().find(|root| below(folder, root).is_some())?;
        Some(!is_nested(folder, root))
    };
    let real = real(Path::new(&normal)).and_then(|folder| inside(&folder));
    real.or_else(|| inside(&normal)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_by_their_text() {
        for (path, cwd, wanted) in [
            ("a/./b//../c", Some("/r"), "/r/a/c"),
            ("/../../x/", None, "/x"),
            ("../../../x", Some("/r/s"), "/x"),
            ("../x", None, "../x"),
            ("a/../..", None, ".."),
            ("c:\\a\\.\\b", Some("/r"), "C:/a/b"),
            ("b\\c", Some("C:/a"), "C:/a/b/c"),
            ("b\\c", Some("/a"), "/a/b\\c"),
            ("..\\..\\..\\c", Some("C:/a"), "C:/c"),
            ("\\\\server\\share\\x", None, "//server/share/x"),
            ("new\nline `x`", Some("/r"), "/r/new\nline `x`"),
            ("./", None, "."),
        ] {
            assert_eq!(normal(path, cwd).as_deref(), Some(wanted), "{path}");
        }
        for path in [String::new(), "a\0b".into(), "x".repeat(5000)] {
            assert_eq!(normal(&path, None), None);
        }
    }

    #[test]
    fn what_lies_outside_is_not_told_and_a_name_that_begins_alike_is_outside() {
        let bases = Bases::of(Some(Path::new("/r")), Some("/r/sub"), Some("/r"));
        assert_eq!(bases.place("/r/a").as_deref(), Some("a"));
        assert_eq!(bases.place("/r").as_deref(), Some("."));
        assert_eq!(bases.place("/rx/a"), None);
        assert_eq!(bases.place("../a"), None);
        assert_eq!(bases.place("..a").as_deref(), Some("..a"));
    }

    #[test]
    fn what_was_made_elsewhere_is_told_from_its_own_root() {
        let bases = Bases::of(Some(Path::new("/r")), Some("/other/sub"), Some("/other"));
        assert_eq!(bases.place("/other/a").as_deref(), Some("a"));
        assert_eq!(bases.place("/r/a").as_deref(), Some("a"));
        let bases = Bases::of(None, Some("C:\\w"), None);
        assert_eq!(bases.place("C:/w/a").as_deref(), Some("a"));
        assert_eq!(Bases::of(None, None, None).place("/x"), None);
    }

    #[test]
    fn a_link_and_what_it_leads_to_are_the_same_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let (there, link) = (folder.path().join("there"), folder.path().join("link"));
        std::fs::create_dir_all(there.join("sub")).expect("a folder");
        std::os::unix::fs::symlink(&there, &link).expect("a link");
        for (root, cwd) in [(&there, &link), (&link, &there)] {
            let bases = Bases::of(Some(root), cwd.join("sub").to_str(), None);
            for path in [root.join("a"), cwd.join("a")] {
                assert_eq!(bases.place(path.to_str().expect("UTF-8")).as_deref(), Some("a"));
            }
            assert!(is_inside(cwd.join("sub").to_str().expect("UTF-8"), root));
            assert!(!is_inside(folder.path().to_str().expect("UTF-8"), root));
        }
    }

    #[test]
    fn another_work_tree_is_not_inside_and_its_paths_are_told_from_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("repo");
        let trees = [root.join(".claude/worktrees/feat"), root.join("clone"), folder.path().join("other")];
        for tree in trees.iter().chain([&root]) {
            std::fs::create_dir_all(tree.join("crates/core")).expect("a folder");
            std::fs::write(tree.join(".git"), "gitdir: elsewhere").expect("a file");
        }
        let name = |path: std::path::PathBuf| path.to_str().expect("UTF-8").to_owned();
        for tree in &trees {
            let cwd = name(tree.join("crates/core"));
            assert!(!is_inside(&cwd, &root) && !is_inside(&name(tree.clone()), &root) && is_inside(&cwd, tree));
            let bases = Bases::of(Some(&root), Some(&cwd), None);
            assert_eq!(bases.place(&name(tree.join("crates/core/lib.rs"))).as_deref(), Some("crates/core/lib.rs"));
            assert_eq!(bases.place(&name(root.join("a"))).as_deref(), Some("a"));
            let bases = Bases::of(Some(&root), Some(&name(tree.join("crates/gone"))), None);
            assert_eq!(bases.place(&name(root.join("a"))).as_deref(), Some("a"));
        }
        for inner in [root.clone(), root.join("crates/core"), root.join("gone/sub")] {
            assert!(is_inside(&name(inner), &root));
        }
        std::os::unix::fs::symlink(trees[0].join("crates"), root.join("link")).expect("a link");
        assert!(!is_inside(&name(root.join("link")), &root));
    }
}

//! Paths in tool calls: resolved lexically, and made relative to the root of the repository.

use std::path::Path;

/// The length limit of a path, in bytes.
const LONGEST: usize = 4096;

/// Whether a path begins with a drive (`C:\`, `C:/`) or a server (`\\server`).
fn is_windows(path: &str) -> bool {
    matches!(path.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
        || path.starts_with("\\\\")
}

/// Whether a normalized path is absolute.
fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || is_windows(path)
}

/// Normalizes a path: without `.`, `..` and empty components, resolved against the normalized `cwd`. Without `cwd`, a
/// relative path stays relative, and may begin with `..`. Windows paths get `/` as separator and an upper-case drive
/// letter. `None` if it is empty, longer than 4,096 bytes, or contains NUL.
pub fn normalized(path: &str, cwd: Option<&str>) -> Option<String> {
    if path.is_empty() || path.len() > LONGEST || path.contains('\0') {
        return None;
    }
    let is_rooted = path.starts_with('/') || is_windows(path);
    let start = cwd.filter(|_| !is_rooted).unwrap_or_default();
    let windows = if is_rooted { is_windows(path) } else { is_windows(start) || start.starts_with("//") };
    let separators: &[char] = if windows { &['/', '\\'] } else { &['/'] };
    let head = if is_rooted { path } else { start };
    let root = match head.as_bytes() {
        [b'\\' | b'/', b'\\' | b'/', ..] if windows => "//".to_owned(),
        [b'/', ..] => "/".to_owned(),
        [drive, ..] if windows => format!("{}:/", drive.to_ascii_uppercase() as char),
        _ => String::new(),
    };
    let mut parts: Vec<&str> = Vec::new();
    let skipped = usize::from(windows && !root.starts_with('/'));
    for part in head.split(separators).skip(skipped).chain(path.split(separators).filter(|_| !is_rooted)) {
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

/// The part of `path` below `folder`, both normalized; empty for the folder itself.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(folder)?;
    match rest.strip_prefix('/') {
        Some(rest) => Some(rest),
        None => (rest.is_empty() || folder.ends_with('/')).then_some(rest),
    }
}

/// The folders that paths are relative to.
#[derive(Debug, Default)]
pub struct Bases(Vec<(String, String)>);

fn text(path: &Path) -> Option<String> {
    normalized(path.to_str()?, None)
}

fn real(path: &Path) -> Option<String> {
    text(&path.canonicalize().ok()?)
}

/// Whether a folder is the root of a work tree.
fn is_tree(folder: &Path) -> bool {
    folder.is_absolute() && folder.join(".git").symlink_metadata().is_ok()
}

/// Whether another work tree is between `root` and a folder below it.
fn is_nested(folder: &str, root: &str) -> bool {
    Path::new(folder).ancestors().take_while(|above| *above != Path::new(root)).any(is_tree)
}

/// The work tree of a folder, by name and by real path; empty if there is none.
fn tree_of(folder: &str) -> Vec<String> {
    let folder = Path::new(folder);
    let tree = folder.ancestors().find(|above| is_tree(above)).filter(|_| folder.is_dir());
    tree.into_iter().flat_map(|tree| [text(tree), real(tree)]).flatten().collect()
}

impl Bases {
    /// The bases for a transcript started in `cwd`, of the repository `own`, both as recorded, seen from `root`. Paths
    /// of a transcript made elsewhere are relative to `own`, else to the work tree of `cwd`, else to `cwd`.
    pub fn of(root: Option<&Path>, cwd: Option<&str>, own: Option<&str>) -> Self {
        let cwd = cwd.and_then(|cwd| normalized(cwd, None));
        let roots: Vec<String> = root.into_iter().flat_map(|root| [text(root), real(root)]).flatten().collect();
        let mut out: Vec<(String, String)> = roots.iter().map(|root| (root.clone(), String::new())).collect();
        match (&cwd, root) {
            (None, _) => {}
            (Some(cwd), Some(root)) if is_inside(cwd, root) => {
                let named = roots.iter().any(|root| below(cwd, root).is_some());
                let inner = || roots.iter().find_map(|root| Some(below(&real(Path::new(cwd))?, root)?.to_owned()));
                if !named && let Some(inner) = inner() {
                    // the same folder by another name: map its ancestors, too, as far as the names agree
                    let top = cwd.strip_suffix(&inner).map(|top| top.trim_end_matches('/').to_owned());
                    out.extend(top.filter(|top| !top.is_empty()).map(|top| (top, String::new())));
                    out.push((cwd.clone(), inner));
                }
            }
            (Some(cwd), _) => {
                let own = own.and_then(|own| normalized(own, None)).filter(|own| is_absolute(own));
                let mut tops = own.map_or_else(|| tree_of(cwd), |own| vec![own]);
                if tops.is_empty() {
                    tops.push(cwd.clone());
                }
                let is_below =
                    |top: &String| roots.iter().any(|root| below(top, root).is_some_and(|rest| !rest.is_empty()));
                // of nested folders, the inner one comes first
                let at = if tops.iter().any(is_below) { 0 } else { out.len() };
                out.splice(at..at, tops.into_iter().map(|top| (top, String::new())));
            }
        }
        out.retain(|(folder, _)| is_absolute(folder));
        Bases(out)
    }

    /// The path relative to the root of the repository, `.` for the root itself; `None` outside. A relative path
    /// without a known folder is taken as relative to the root.
    pub fn relative(&self, path: &str) -> Option<String> {
        if !is_absolute(path) {
            return (path != ".." && !path.starts_with("../")).then(|| path.to_owned());
        }
        self.0.iter().find_map(|(folder, replacement)| {
            let rest = below(path, folder)?;
            Some(match (replacement.is_empty(), rest.is_empty()) {
                (true, true) => ".".to_owned(),
                (true, false) => rest.to_owned(),
                (false, true) => replacement.clone(),
                (false, false) => format!("{replacement}/{rest}"),
            })
        })
    }
}

/// Whether a folder named in a transcript is `root` or below it, and in no nested work tree. Resolves symlinks.
pub fn is_inside(folder: &str, root: &Path) -> bool {
    let Some(normal) = normalized(folder, None).filter(|folder| is_absolute(folder)) else { return false };
    let names = [text(root), real(root)];
    let inside = |folder: &str| {
        let root = names.iter().flatten().find(|root| below(folder, root).is_some())?;
        Some(!is_nested(folder, root))
    };
    let real = real(Path::new(&normal)).and_then(|folder| inside(&folder));
    real.or_else(|| inside(&normal)).unwrap_or(false)
}

/// Whether a folder, which need not exist, is in a work tree.
pub fn is_in_work_tree(folder: &str) -> bool {
    normalized(folder, None).is_some_and(|folder| Path::new(&folder).ancestors().any(is_tree))
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
            assert_eq!(normalized(path, cwd).as_deref(), Some(wanted), "{path}");
        }
        for path in [String::new(), "a\0b".into(), "x".repeat(5000)] {
            assert_eq!(normalized(&path, None), None);
        }
    }

    #[test]
    fn paths_outside_are_dropped_even_with_a_common_prefix() {
        let bases = Bases::of(Some(Path::new("/r")), Some("/r/sub"), Some("/r"));
        assert_eq!(bases.relative("/r/a").as_deref(), Some("a"));
        assert_eq!(bases.relative("/r").as_deref(), Some("."));
        assert_eq!(bases.relative("/rx/a"), None);
        assert_eq!(bases.relative("../a"), None);
        assert_eq!(bases.relative("..a").as_deref(), Some("..a"));
    }

    #[test]
    fn paths_made_elsewhere_are_relative_to_their_own_root() {
        let bases = Bases::of(Some(Path::new("/r")), Some("/other/sub"), Some("/other"));
        assert_eq!(bases.relative("/other/a").as_deref(), Some("a"));
        assert_eq!(bases.relative("/r/a").as_deref(), Some("a"));
        let bases = Bases::of(None, Some("C:\\w"), None);
        assert_eq!(bases.relative("C:/w/a").as_deref(), Some("a"));
        assert_eq!(Bases::of(None, None, None).relative("/x"), None);
    }

    #[test]
    fn a_symlink_and_its_target_are_the_same_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let (there, link) = (folder.path().join("there"), folder.path().join("link"));
        std::fs::create_dir_all(there.join("sub")).expect("a folder");
        std::os::unix::fs::symlink(&there, &link).expect("a link");
        for (root, cwd) in [(&there, &link), (&link, &there)] {
            let bases = Bases::of(Some(root), cwd.join("sub").to_str(), None);
            for path in [root.join("a"), cwd.join("a")] {
                assert_eq!(bases.relative(path.to_str().expect("UTF-8")).as_deref(), Some("a"));
            }
            assert!(is_inside(cwd.join("sub").to_str().expect("UTF-8"), root));
            assert!(!is_inside(folder.path().to_str().expect("UTF-8"), root));
        }
    }

    #[test]
    fn another_work_tree_is_not_inside_and_is_the_base_of_its_paths() {
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
            assert_eq!(bases.relative(&name(tree.join("crates/core/lib.rs"))).as_deref(), Some("crates/core/lib.rs"));
            assert_eq!(bases.relative(&name(root.join("a"))).as_deref(), Some("a"));
            let bases = Bases::of(Some(&root), Some(&name(tree.join("crates/gone"))), None);
            assert_eq!(bases.relative(&name(root.join("a"))).as_deref(), Some("a"));
        }
        for inner in [root.clone(), root.join("crates/core"), root.join("gone/sub")] {
            assert!(is_inside(&name(inner), &root));
        }
        std::os::unix::fs::symlink(trees[0].join("crates"), root.join("link")).expect("a link");
        assert!(!is_inside(&name(root.join("link")), &root));
    }
}

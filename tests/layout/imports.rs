//! The imports between the files of a crate, read from `use` trees and paths.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a module, without the crate.
pub type Module = Vec<String>;

/// The sources of a crate by module.
pub struct Sources {
    files: BTreeMap<Module, (String, Vec<String>)>,
    /// What `pub use` of a module names, by the name it has there.
    exports: BTreeMap<(Module, String), Module>,
}

/// One file names an item of another.
pub struct Import {
    /// The module that names it.
    pub from: Module,
    /// The module that has it.
    pub to: Module,
}

impl Sources {
    /// Reads the sources below a folder; those of tests are left out.
    pub fn read(folder: &str) -> Self {
        let mut files = BTreeMap::new();
        for (path, text) in super::below(folder) {
            let inside = path.strip_prefix(folder).expect("inside").with_extension("");
            let mut module: Module = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|name| ["mod", "lib"].contains(&name.as_str())) {
                module.pop();
            }
            if !module.iter().any(|name| name == "tests") && module != ["main"] {
                files.insert(module, (path.display().to_string(), tokens(&super::code(&text))));
            }
        }
        let mut out = Sources { files, exports: BTreeMap::new() };
        for module in out.files.keys().cloned().collect::<Vec<_>>() {
            for used in out.uses(&module).into_iter().filter(|used| used.is_export) {
                if let (Some(name), Some(path)) = (used.name, out.absolute(&module, &used.path)) {
                    out.exports.insert((module.clone(), name), path);
                }
            }
        }
        out
    }

    /// The file of a module.
    pub fn path(&self, module: &Module) -> &str {
        self.files.get(module).map_or("", |(path, _)| path)
    }

    /// Which module names items of which other. What a module exports again is of the module that has it.
    pub fn imports(&self) -> Vec<Import> {
        let mut out = BTreeSet::new();
        for (module, (_, tokens)) in &self.files {
            let mut names: BTreeMap<String, Module> = BTreeMap::new();
            for child in self.files.keys().filter(|child| child.len() == module.len() + 1 && child.starts_with(module))
            {
                names.insert(child[module.len()].clone(), child.clone());
            }
            let mut named = Vec::new();
            for used in self.uses(module).into_iter().filter(|used| !used.is_export) {
                let Some(path) = self.absolute(module, &used.path) else { continue };
                // a glob names something of the module
                let item = used.name.is_none().then(|| "*".to_owned());
                names.extend(used.name.map(|name| (name, path.clone())));
                named.push(path.into_iter().chain(item).collect());
            }
            for path in paths(tokens) {
                let known = names.get(&path[0]).map(|known| [known, &path[1..]].concat());
                named.extend(known.or_else(|| self.absolute(module, &path)));
            }
            let to = named.into_iter().filter_map(|path| self.owner(path));
            out.extend(to.filter(|to| to != module).map(|to| (module.clone(), to)));
        }
        out.into_iter().map(|(from, to)| Import { from, to }).collect()
    }

    /// The files that import each other, directly or by way of others.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let mut next: BTreeMap<Module, Vec<Module>> = BTreeMap::new();
        for Import { from, to } in self.imports() {
            next.entry(from).or_default().push(to);
        }
        let reached = |from: &Module| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(module) = open.pop() {
                open.extend(next.get(&module).into_iter().flatten().filter(|to| seen.insert((*to).clone())).cloned());
            }
            seen
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> = next.keys().map(|from| (from, reached(from))).collect();
        let mut out = BTreeSet::new();
        for (module, others) in reached.iter().filter(|(module, others)| others.contains(**module)) {
            let back = others.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)));
            out.insert(back.map(|other| self.path(other)).collect::<Vec<_>>());
        }
        out.into_iter().collect()
    }

    /// The module that has the item of a path; `None` for a module itself and for other crates.
    fn owner(&self, mut path: Module) -> Option<Module> {
        loop {
            let length = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
            let (module, rest) = path.split_at(length);
            let item = rest.first()?;
            match self.exports.get(&(module.to_vec(), item.clone())) {
                Some(other) => path = [other, &rest[1..]].concat(),
                None => return Some(module.to_vec()),
            }
        }
    }

    /// A path of the crate as it is written in a module, from the root; `None` when it is none of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        let (from, rest) = match path.first()?.as_str() {
            "crate" => (&module[..0], &path[1..]),
            "self" => (&module[..], &path[1..]),
            "super" => (&module[..module.len().checked_sub(ups)?], &path[ups..]),
            // also one written inline that holds files
            child if self.has_below(&[&module[..], &[child.to_owned()]].concat()) => (&module[..], path),
            _ => return None,
        };
        Some([from, rest].concat())
    }

    fn has_below(&self, module: &[String]) -> bool {
        self.files.keys().any(|other| other.starts_with(module))
    }

    fn uses(&self, module: &Module) -> Vec<Used> {
        let tokens = &self.files[module].1;
        let mut out = Vec::new();
        for at in tokens.iter().enumerate().filter(|(_, token)| *token == "use").map(|(at, _)| at) {
            let is_export = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
            tree(&tokens[at + 1..], &[], is_export, &mut out);
        }
        out
    }
}

/// What a `use` names.
struct Used {
    path: Module,
    /// What it is called here; `None` for everything of a module.
    name: Option<String>,
    is_export: bool,
}

/// Reads a tree of `use`; returns how many tokens it has.
fn tree(tokens: &[String], before: &[String], is_export: bool, out: &mut Vec<Used>) -> usize {
    let mut path = before.to_vec();
    let mut at = 0;
    loop {
        match tokens[at].as_str() {
            "::" => {}
            "{" => {
                while tokens[at] != "}" {
                    at += 1;
                    at += tree(&tokens[at..], &path, is_export, out);
                }
                return at + 1;
            }
            "*" => {
                out.push(Used { path, name: None, is_export });
                return at + 1;
            }
            "as" => {
                out.push(Used { path, name: Some(tokens[at + 1].clone()), is_export });
                return at + 2;
            }
            "self" if !path.is_empty() => {}
            "," | "}" | ";" => {
                if path.len() > before.len() || at > 0 {
                    let name = path.last().cloned();
                    out.push(Used { path, name, is_export });
                }
                return at;
            }
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
}

/// The paths of two names or more.
fn paths(tokens: &[String]) -> Vec<Module> {
    let is_name = |token: &String| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let (mut out, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if tokens[at] == "use" {
            at += tokens[at..].iter().take_while(|token| *token != ";").count();
            continue;
        }
        let mut path = Vec::new();
        while at < tokens.len() && is_name(&tokens[at]) {
            path.push(tokens[at].clone());
            if tokens.get(at + 1).is_none_or(|token| token != "::") {
                break;
            }
            at += 2;
        }
        if path.len() > 1 {
            out.push(path);
        }
        at += 1;
    }
    out
}

/// The names and signs of a source, without its comments, texts and characters.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let starts = |at: usize, word: &str| word.chars().enumerate().all(|(n, c)| chars.get(at + n) == Some(&c));
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(&c) = chars.get(at) {
        let begin = at;
        if starts(at, "//") {
            at += chars[at..].iter().take_while(|c| **c != '\n').count();
        } else if starts(at, "/*") {
            at = (at..chars.len()).find(|at| starts(*at, "*/")).map_or(chars.len(), |at| at + 2);
        } else if c == '"' {
            at += 1;
            while chars.get(at).is_some_and(|c| *c != '"') {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' {
            // a character, else a lifetime
            let is_char = chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'');
            at += 2;
            while is_char && chars.get(at).is_some_and(|c| *c != '\'' || chars[at - 1] == '\\' && chars[at - 2] != '\\')
            {
                at += 1;
            }
            at += usize::from(is_char);
        } else if is_name(c) {
            at += chars[at..].iter().take_while(|c| is_name(**c)).count();
            let word: String = chars[begin..at].iter().collect();
            let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
            if word.ends_with('r') && word.len() < 3 && chars.get(at + hashes) == Some(&'"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let rest = at + hashes + 1;
                at = (rest..chars.len()).find(|at| starts(*at, &end)).map_or(chars.len(), |at| at + end.len());
            } else {
                out.push(word);
            }
        } else if starts(at, "::") {
            out.push("::".to_owned());
            at += 2;
        } else {
            out.extend((!c.is_whitespace()).then(|| c.to_string()));
            at += 1;
        }
    }
    out
}

//! The files in the headers of patches, in any encoding of the patch.

/// The first line of a patch.
const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const HEADERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The files of all patches in a text, in order, as written. Text between patches is ignored.
pub fn files(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let after = &rest[start + BEGIN.len()..];
        let end = after.find(END).unwrap_or(after.len());
        let patch = &after[..end];
        if let Some(strings) = patch.strip_prefix("\\n").unwrap_or(patch).strip_prefix(['"', '\'', '`']) {
            headers(&lines_in_strings(strings), &mut out);
        } else if patch.starts_with("\\n") || patch.starts_with("\\r\\n") {
            headers(&unescaped(patch), &mut out);
        } else {
            headers(patch, &mut out);
        }
        rest = &after[end..];
    }
    out
}

/// The files of a patch, even if its first line is missing.
pub fn files_of_patch(text: &str) -> Vec<String> {
    if text.contains(BEGIN) {
        return files(text);
    }
    let mut out = Vec::new();
    headers(text, &mut out);
    out
}

fn headers(patch: &str, out: &mut Vec<String>) {
    for line in patch.lines().filter(|line| line.starts_with("***")) {
        let path = HEADERS.iter().find_map(|header| line.strip_prefix(header)).map(str::trim);
        out.extend(path.filter(|path| !path.is_empty()).map(str::to_owned));
    }
}

/// The contents of the string literals in a script that starts between two of them, one per line; the last literal may
/// be unterminated.
fn lines_in_strings(script: &str) -> String {
    let mut out = String::new();
    let mut rest = script;
    while let Some(start) = rest.find(['"', '\'', '`']) {
        let (quote, inner) = rest[start..].split_at(1);
        let mut escape = false;
        let end = inner.find(|c: char| {
            let is_end = !escape && quote.starts_with(c);
            escape = !escape && c == '\\';
            is_end
        });
        out.push_str(&unescaped(&inner[..end.unwrap_or(inner.len())]));
        out.push('\n');
        rest = end.map_or("", |end| &inner[end + 1..]);
    }
    out
}

/// The content of a string literal, with the escapes that matter here resolved.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(other)) => out.push(other),
            (c, _) => out.push(c),
        }
    }
    out
}

/// The folder that a shell command changes into first; `None` without.
pub fn folder_of_command(command: &str) -> Option<&str> {
    let rest = command.trim_start().strip_prefix("cd ")?;
    let end = rest.find("&&").or_else(|| rest.find([';', '\n']))?;
    let word = rest[..end].trim();
    let quoted = ['"', '\''].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(quoted.unwrap_or(word))
}

/// The files of the patches in a shell command or script that calls `apply_patch`; none if it does not.
pub fn files_of_command(command: &str) -> Vec<String> {
    let calls_it = command.contains("apply_patch") && command.contains(BEGIN);
    if calls_it { files(command) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a b.rs\n+*** Update File: no\n*** Update File: c\n*** Move to: d\n \
                         *** Delete File: no\n*** Delete File: e\r\n*** End Patch";

    #[test]
    fn headers_name_files_and_lines_of_content_do_not() {
        assert_eq!(files(PATCH), ["a b.rs", "c", "d", "e"]);
        assert_eq!(files(&format!("{PATCH}\n*** Add File: between\n{PATCH}")).len(), 8);
        assert_eq!(files("*** Add File: x"), [""; 0]);
        assert_eq!(files_of_patch("*** Add File: x\n+1"), ["x"]);
    }

    #[test]
    fn a_patch_is_found_in_a_command_and_in_the_quotes_of_a_script() {
        let heredoc = format!("cd 'my dir' && apply_patch <<'EOF'\n{PATCH}\nEOF");
        assert_eq!((folder_of_command(&heredoc), files_of_command(&heredoc)), (Some("my dir"), files(PATCH)));
        let script = format!("await tools.apply_patch(\"{}\");", PATCH.replace('\r', "").replace('\n', "\\n"));
        assert_eq!((folder_of_command(&script), files_of_command(&script)), (None, files(PATCH)));
        for (quote, between) in [('"', ", "), ('\'', ",\n  "), ('`', ",")] {
            let escaped = |line: &str| format!("{quote}{}{quote}", line.replace(quote, &format!("\\{quote}")));
            let inner = "+say(\"x\", '*** Add File: no')\n*** Move to: f'g.rs";
            let patch = PATCH.replace('\r', "").replace("\n*** End", &format!("\n{inner}\n*** End"));
            let lines: Vec<String> = patch.lines().map(escaped).collect();
            let script = format!("tools.apply_patch([{}].join(\"\\n\"))", lines.join(between));
            assert_eq!(files_of_command(&script), [files(PATCH), vec!["f'g.rs".to_owned()]].concat(), "{script}");
            let script = format!("apply_patch({})", script.replace("*** Begin Patch", "*** Begin Patch\\n"));
            assert_eq!(files_of_command(&script).len(), 5, "{script}");
        }
        assert_eq!(files_of_command(&format!("grep -r '{PATCH}'")), [""; 0]);
        assert_eq!(files_of_command("git log --grep apply_patch"), [""; 0]);
    }
}

//! The knowledge graph: files, facts about them, and commits, in three columns.

use std::collections::BTreeMap;

use crate::text::shorten::short;
use crate::use_cases::report::knowledge::{Fact, FactKind};
use crate::use_cases::report::page::svg::{at, curve, label, number, picture, scrolling, tail, text};

/// Most facts, the newest.
const MAX_FACTS: usize = 36;
/// Height of a row, and of the heading above the first.
const ROW: f64 = 30.0;
const TOP: f64 = 34.0;
/// Horizontal positions: dots of files, both ends of facts, dots of commits.
const FILES: f64 = 222.0;
const FACTS: (f64, f64) = (310.0, 780.0);
const COMMITS: f64 = 868.0;
const WIDTH: f64 = 1104.0;

/// Draws the facts about files; `None` without any.
pub fn graph(facts: &[Fact], subjects: &BTreeMap<String, String>) -> Option<String> {
    let facts: Vec<&Fact> = facts.iter().filter(|fact| !fact.files.is_empty()).take(MAX_FACTS).collect();
    if facts.is_empty() {
        return None;
    }
    let height = TOP + ROW * facts.len() as f64 + 10.0;
    let row = |at: usize| TOP + ROW * (at as f64 + 0.5);
    let mut of_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut of_commit: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, fact) in facts.iter().enumerate() {
        fact.files.iter().for_each(|file| of_file.entry(file).or_default().push(at));
        fact.envelope.commit.iter().for_each(|commit| of_commit.entry(commit).or_default().push(at));
    }
    let (files, commits) = (spread(of_file, row, height), spread(of_commit, row, height));
    let mut body = String::new();
    for (x, class, shown) in [
        (FILES, "column end", "Files"),
        (FACTS.0, "column", "Findings, decisions, dead ends"),
        (COMMITS, "column", "Commits"),
    ] {
        body.push_str(&at(class, x, 16.0, shown));
    }
    let edge = |from, to| format!("<path class=\"edge\" d=\"{}\"/>", curve(from, to));
    for (file, y, of) in &files {
        of.iter().for_each(|at| body.push_str(&edge((FILES, *y), (FACTS.0, row(*at)))));
        body.push_str(&format!(
            "<g><title>{}</title><circle class=\"file\" cx=\"{}\" cy=\"{}\" r=\"4.5\"/>{}</g>",
            text(file),
            number(FILES),
            number(*y),
            at("file end", FILES - 11.0, y + 4.0, &tail(file, FILES - 16.0))
        ));
    }
    for (commit, y, of) in &commits {
        of.iter().for_each(|at| body.push_str(&edge((FACTS.1, row(*at)), (COMMITS, *y))));
        let hash: String = commit.chars().take(8).collect();
        let subject = subjects.get(*commit).map_or("", String::as_str);
        body.push_str(&format!(
            "<g><title>{} {}</title><rect class=\"commit\" x=\"{}\" y=\"{}\" width=\"9\" height=\"9\"/>{}</g>",
            text(commit),
            text(subject),
            number(COMMITS - 4.5),
            number(y - 4.5),
            at("commit", COMMITS + 12.0, y + 4.0, &label(&format!("{hash} {subject}"), WIDTH - COMMITS - 14.0))
        ));
    }
    for (at, fact) in facts.iter().enumerate() {
        body.push_str(&drawn_fact(fact, row(at)));
    }
    let description = format!(
        "{} statements, newest at the top, joined to {} files at the left and {} commits at the right. The list above says the same in words.",
        facts.len(),
        files.len(),
        commits.len()
    );
    let drawn = picture("graph", "What is known, and of what", &description, (WIDTH, height), &body);
    Some(scrolling("graph", "Files, what is known of them, commits", &drawn))
}

/// A file or a commit, its vertical position, and the rows of its facts.
type Node<'k> = (&'k str, f64, Vec<usize>);

/// Places each node beside its facts, as near as the others allow, so that few lines cross.
fn spread<'k>(of: BTreeMap<&'k str, Vec<usize>>, row: impl Fn(usize) -> f64, height: f64) -> Vec<Node<'k>> {
    let middle = |of: &[usize]| of.iter().map(|at| row(*at)).sum::<f64>() / of.len().max(1) as f64;
    let mut nodes: Vec<Node<'k>> = of.into_iter().map(|(name, of)| (name, middle(&of), of)).collect();
    nodes.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(b.0)));
    let room = (height - TOP - 10.0) / nodes.len().max(1) as f64;
    let apart = room.min(22.0);
    let mut free = TOP + apart / 2.0;
    for node in &mut nodes {
        node.1 = node.1.max(free);
        free = node.1 + apart;
    }
    // moves nodes below the lower edge up again
    let mut free = height - 10.0 - apart / 2.0;
    for node in nodes.iter_mut().rev() {
        node.1 = node.1.min(free);
        free = node.1 - apart;
    }
    nodes
}

fn drawn_fact(fact: &Fact, y: f64) -> String {
    let (x, width) = (FACTS.0, FACTS.1 - FACTS.0);
    // kinds differ in shape, not only in color
    let mark = match fact.kind {
        FactKind::Finding => "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
        FactKind::Decision => "M0-6L6 0L0 6L-6 0z",
        FactKind::Answered => "M-6 0L-2 4L6-5",
        FactKind::DeadEnd => "M-5-5L5 5M5-5L-5 5",
    };
    format!(
        "<g><title>{}: {}</title><rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"24\" rx=\"6\"/><path class=\"mark\" transform=\"translate({} {})\" d=\"{mark}\"/>{}</g>",
        fact.kind.name(),
        text(&short(&fact.text, 300)),
        number(x),
        number(y - 12.0),
        number(width),
        number(x + 15.0),
        number(y),
        at("said", x + 29.0, y + 4.0, &label(&fact.text, width - 36.0))
    )
}

//! The file of the rules, in TOML.

use std::collections::BTreeMap;
use std::ops::Range;

use regex::RegexBuilder;
use similar::get_close_matches;
use toml_edit::{Document, Item, Table, TableLike, Value};

use crate::fold::route::{Comparison, Condition, NumberKey, Operator, RouteRules, Rule, Spanned, WordKey};
use empirica_notes::git::objects::pattern::PathPattern;
use empirica_notes::model::Verdict;
use empirica_notes::model::handoff::Calibration;

/// The keys of a rule.
const KEYS: [&str; 14] = [
    "name",
    "from",
    "to",
    "type",
    "decision",
    "calibration",
    "confidence",
    "unknowns",
    "failed_evidence",
    "paths",
    "task",
    "detail",
    "budget",
    "rounds",
];
const ESCALATE: &str = "escalate";
/// The keys of the file.
const TOP: [&str; 2] = ["agents", "route"];
/// Most rules that are read.
const RULES: usize = 200;
/// The least budget, as of `handoff --budget`.
const LEAST_BUDGET: i64 = 250;
const DETAILS: [&str; 3] = ["summary", "detailed", "full"];

/// What is wrong with a line of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// From 1.
    pub line: usize,
    pub text: String,
}

/// Reads the rules. `types` are the types of handoffs. With problems, in order of lines, the rules are not to be used.
pub fn parse(text: &str, types: &[&str]) -> (RouteRules, Vec<Problem>) {
    let mut reader = Reader { text, types, problems: Vec::new() };
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let cause = error.message().lines().next().unwrap_or("it is no TOML").to_owned();
            reader.problem(error.span(), cause);
            return (RouteRules::default(), reader.problems);
        }
    };
    let rules = reader.rules(document.as_table());
    reader.problems.sort();
    (rules, reader.problems)
}

/// Names rules by their agents, and a number if others have that name.
fn name_unnamed(rules: &mut [Rule]) {
    for at in 0..rules.len() {
        if !rules[at].name.is_empty() {
            continue;
        }
        let from: Vec<&str> = rules[at].from.iter().map(|from| from.text.as_str()).collect();
        let from = if from.is_empty() { "any".to_owned() } else { from.join(", ") };
        let name = format!("{from} to {}", rules[at].to.text);
        let numbered = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name} {number}") });
        let free = numbered.into_iter().find(|name| rules.iter().all(|rule| rule.name != *name));
        rules[at].name = free.unwrap_or_default();
    }
}

struct Reader<'t> {
    text: &'t str,
    types: &'t [&'t str],
    problems: Vec<Problem>,
}

/// A key with its value.
type Entry<'i> = (&'i str, &'i Item, Option<Range<usize>>);

impl Reader<'_> {
    /// The line of a place; 1 without one.
    fn line(&self, span: Option<Range<usize>>) -> usize {
        let before = span.and_then(|span| self.text.as_bytes().get(..span.start));
        1 + before.map_or(0, |before| before.iter().filter(|byte| **byte == b'\n').count())
    }

    fn problem(&mut self, span: Option<Range<usize>>, text: impl Into<String>) {
        let line = self.line(span);
        self.problems.push(Problem { line, text: text.into() });
    }

    fn rules(&mut self, file: &Table) -> RouteRules {
        let mut out = RouteRules::default();
        for (name, item, span) in entries(file) {
            match (name, item) {
                ("agents", item) => out.agents = self.texts((name, item, span)),
                ("route", Item::ArrayOfTables(tables)) => {
                    for table in tables.iter().take(RULES) {
                        let line = self.line(table.span());
                        out.rules.extend(self.rule(table, line));
                    }
                    if tables.len() > RULES {
                        self.problem(span, format!("there are more than {RULES} rules"));
                    }
                }
                ("route", _) => self.problem(span, "route is a list of tables: begin each with [[route]]"),
                (other, _) => self.unknown(other, span, &TOP),
            }
        }
        name_unnamed(&mut out.rules);
        let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
        for rule in &out.rules {
            if let Some(first) = lines.insert(&rule.name, rule.line) {
                let text = format!("rule '{}' has the name of the rule in line {first}", rule.name);
                self.problems.push(Problem { line: rule.line, text });
            }
        }
        out
    }

    fn unknown(&mut self, key: &str, span: Option<Range<usize>>, known: &[&str]) {
        let near = get_close_matches(key, known, 1, 0.6).into_iter().next();
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        self.problem(span, format!("unknown key {key}{near}"));
    }

    fn rule(&mut self, table: &Table, line: usize) -> Option<Rule> {
        let mut rule = Rule {
            name: String::new(),
            line,
            from: Vec::new(),
            to: Spanned { text: String::new(), line },
            when: Vec::new(),
            detail: None,
            budget: None,
            rounds: None,
            escalate: None,
        };
        for entry in entries(table) {
            self.key(&mut rule, entry);
        }
        if rule.to.text.is_empty() {
            let text = "missing key to, the receiving agent".to_owned();
            self.problems.push(Problem { line, text });
            return None;
        }
        if rule.escalate.is_some() && rule.rounds.is_none() {
            self.problems
                .push(Problem { line, text: "escalate needs rounds: how often before it escalates".to_owned() });
        }
        Some(rule)
    }

    fn key(&mut self, rule: &mut Rule, entry: Entry<'_>) {
        let (key, item, span) = entry.clone();
        match key {
            "name" => rule.name = self.one(entry).map(|name| name.text).unwrap_or_default(),
            "from" => rule.from = self.texts(entry),
            "to" => rule.to = self.one(entry).unwrap_or(Spanned { text: "?".to_owned(), line: rule.line }),
            "escalate" => rule.escalate = self.one(entry),
            "detail" => rule.detail = self.one_of(entry, &DETAILS).pop(),
            "budget" => rule.budget = self.count(entry, LEAST_BUDGET),
            "rounds" => rule.rounds = self.count(entry, 1),
            "type" => {
                let types = self.types;
                let words = self.one_of(entry, types);
                rule.when.push(Condition::Word(WordKey::Type, words));
            }
            "decision" => {
                let words = self.one_of(entry, &Verdict::ALL.map(Verdict::name));
                rule.when.push(Condition::Word(WordKey::Decision, words));
            }
            "calibration" => {
                let words = self.one_of(entry, &Calibration::ALL.map(Calibration::name));
                rule.when.push(Condition::Word(WordKey::Calibration, words));
            }
            "confidence" | "unknowns" => {
                let number = NumberKey::parse(key).zip(self.comparison(entry));
                rule.when.extend(number.map(|(key, comparison)| Condition::Number(key, comparison)));
            }
            "failed_evidence" => match item.as_bool() {
                Some(wanted) => rule.when.push(Condition::FailedEvidence(wanted)),
                None => self.problem(span, "failed_evidence is true or false"),
            },
            "paths" => {
                let mut patterns = Vec::new();
                for Spanned { text, line } in self.texts(entry) {
                    match PathPattern::parse(&text).filter(|_| !text.starts_with('!')) {
                        Some(pattern) => patterns.push((text, pattern)),
                        None if text.starts_with('!') => {
                            let text = format!("the pattern {text} begins with !, which excludes nothing here");
                            self.problems.push(Problem { line, text });
                        }
                        None => {
                            self.problems.push(Problem { line, text: format!("the pattern {text} matches no path") })
                        }
                    }
                }
                rule.when.push(Condition::Paths(patterns));
            }
            "task" => {
                let Some(Spanned { text, line }) = self.one(entry) else { return };
                match RegexBuilder::new(&text).case_insensitive(true).size_limit(1 << 18).build() {
                    Ok(pattern) => rule.when.push(Condition::Task(pattern)),
                    Err(error) => {
                        let cause = error.to_string();
                        let cause = cause.lines().last().unwrap_or_default().trim_start_matches("error: ");
                        let text = format!("task is not a valid regular expression: {cause}");
                        self.problems.push(Problem { line, text });
                    }
                }
            }
            other => self.unknown(other, span, &[&KEYS[..], &[ESCALATE]].concat()),
        }
    }

    /// A text, or a list of texts; a problem for anything else and for blank ones.
    fn texts(&mut self, (key, item, span): Entry<'_>) -> Vec<Spanned> {
        let values: Vec<&Value> = match item {
            Item::Value(Value::Array(list)) => list.iter().collect(),
            Item::Value(value) => vec![value],
            _ => Vec::new(),
        };
        let mut out = Vec::new();
        for value in &values {
            match value.as_str().map(str::trim).filter(|text| !text.is_empty()) {
                Some(text) if text.contains(char::is_control) => {
                    self.problem(value.span(), format!("{key} has a control character"));
                }
                Some(text) => out.push(Spanned { text: text.to_owned(), line: self.line(value.span()) }),
                None => self.problem(value.span(), format!("{key} is a text, or a list of texts")),
            }
        }
        if values.is_empty() {
            let what = if item.is_array() { "is an empty list" } else { "is a text, or a list of texts" };
            self.problem(span, format!("{key} {what}"));
        }
        out
    }

    /// A single text.
    fn one(&mut self, entry: Entry<'_>) -> Option<Spanned> {
        let (key, item, span) = entry.clone();
        if item.is_array() {
            self.problem(span, format!("{key} is a single text"));
            return None;
        }
        self.texts(entry).pop()
    }

    fn one_of(&mut self, entry: Entry<'_>, words: &[&str]) -> Vec<String> {
        let key = entry.0;
        let mut out = Vec::new();
        for Spanned { text, line } in self.texts(entry) {
            match words.iter().find(|word| word.eq_ignore_ascii_case(&text)) {
                Some(word) => out.push((*word).to_owned()),
                None => {
                    let text = format!("{key} is one of {}, not {text}", words.join(", "));
                    self.problems.push(Problem { line, text });
                }
            }
        }
        out
    }

    fn count(&mut self, (key, item, span): Entry<'_>, least: i64) -> Option<u32> {
        let number = item.as_integer().filter(|number| *number >= least).and_then(|number| u32::try_from(number).ok());
        if number.is_none() {
            self.problem(span, format!("{key} is a whole number, {least} or more"));
        }
        number
    }

    fn comparison(&mut self, (key, item, span): Entry<'_>) -> Option<Comparison> {
        let number = item.as_float().or_else(|| item.as_integer().map(|number| number as f64));
        let found = match (number, item.as_str()) {
            (Some(number), _) => Some(Comparison { operator: Operator::Equal, number }),
            (None, Some(text)) => comparison(text),
            (None, None) => None,
        };
        let most = if key == NumberKey::Confidence.name() { 1.0 } else { f64::MAX };
        let found = found.filter(|found| (0.0..=most).contains(&found.number));
        let never = found.is_some_and(|found| match found.operator {
            Operator::Less => found.number == 0.0,
            Operator::Greater => found.number == most,
            Operator::Equal => key == NumberKey::Unknowns.name() && found.number.fract() != 0.0,
            Operator::AtMost | Operator::AtLeast => false,
        });
        if never {
            self.problem(span.clone(), format!("{key} is never {}", found.map(Comparison::text).unwrap_or_default()));
        }
        if found.is_none() {
            let example = if key == NumberKey::Confidence.name() { "\">= 0.7\"" } else { "\"> 0\"" };
            self.problem(span, format!("{key} is a comparison, such as {example}"));
        }
        found
    }
}

/// `< 0.7`, `>= 3`, `= 0` or a bare number.
fn comparison(text: &str) -> Option<Comparison> {
    let text = text.trim();
    let number = text.trim_start_matches(['<', '>', '=']);
    let operator = match &text[..text.len() - number.len()] {
        "" | "==" => Operator::Equal,
        other => Operator::parse(other)?,
    };
    Some(Comparison { operator, number: number.trim().parse().ok()? })
}

fn entries(table: &Table) -> impl Iterator<Item = Entry<'_>> {
    table.iter().map(|(name, item)| {
        let span = TableLike::key(table, name).and_then(|key| key.span()).or_else(|| item.span());
        (name, item, span)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [&str; 2] = ["epistemic", "progress"];

    fn told(text: &str) -> Vec<(usize, String)> {
        parse(text, &TYPES).1.into_iter().map(|problem| (problem.line, problem.text)).collect()
    }

    #[test]
    fn a_whole_file_is_read() {
        let (rules, problems) = parse(
            "agents = [\"lead\", \"tester\"]\n\n[[route]]\nname = \"test\"\nfrom = \"lead\"\nto = \"tester\"\n\
             type = [\"progress\", \"Epistemic\"]\ndecision = \"continue\"\nconfidence = \"< 0.7\"\nunknowns = 0\n\
             failed_evidence = false\npaths = [\"src/\", \"*.rs\"]\ntask = \"parser|lexer\"\ndetail = \"full\"\n\
             budget = 600\nrounds = 3\nescalate = \"lead\"\n\n[[route]]\nto = \"lead\"\n",
            &TYPES,
        );
        assert_eq!(problems, []);
        let [first, second] = &rules.rules[..] else { panic!("two rules: {rules:?}") };
        assert_eq!((first.name.as_str(), first.line, first.to.line), ("test", 3, 6));
        assert_eq!((first.when.len(), first.budget, first.rounds), (7, Some(600), Some(3)));
        assert!(matches!(&first.when[0], Condition::Word(WordKey::Type, words) if words == &["progress", "epistemic"]));
        assert_eq!((second.name.as_str(), second.line), ("any to lead", 19));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let known = |text: &str, line: usize, problem: &str| {
            assert_eq!(told(text), [(line, problem.to_owned())], "{text}");
        };
        known("[[route]]\nto = 1", 2, "to is a text, or a list of texts");
        known("[[route]]\nfrom = \"a\"", 1, "missing key to, the receiving agent");
        known("[[route]]\nto = \"a\"\nform = \"b\"", 3, "unknown key form; did you mean from?");
        known("routes = 1", 1, "unknown key routes; did you mean route?");
        known("[route]\nto = \"a\"", 1, "route is a list of tables: begin each with [[route]]");
        known("[[route]]\nto = \"a\"\nconfidence = \"> 7\"", 3, "confidence is a comparison, such as \">= 0.7\"");
        known("[[route]]\nto = \"a\"\nunknowns = \"many\"", 3, "unknowns is a comparison, such as \"> 0\"");
        known("[[route]]\nto = \"a\"\ntype = \"x\"", 3, "type is one of epistemic, progress, not x");
        known("[[route]]\nto = \"a\"\nbudget = 10", 3, "budget is a whole number, 250 or more");
        known("[[route]]\nto = \"a\"\nrounds = 0", 3, "rounds is a whole number, 1 or more");
        known("[[route]]\nto = \"a\"\ntask = \"(\"", 3, "task is not a valid regular expression: unclosed group");
        known("[[route]]\nto = \"a\"\nfailed_evidence = 1", 3, "failed_evidence is true or false");
        known("[[route]]\nto = \"a\"\nescalate = \"b\"", 1, "escalate needs rounds: how often before it escalates");
        known("[[route]]\nto = [\"a\"]", 2, "to is a single text");
        let twice = "[[route]]\nname = \"x\"\nto = \"a\"\n[[route]]\nname = \"x\"\nto = \"b\"";
        known(twice, 4, "rule 'x' has the name of the rule in line 1");
        known(
            "[[route]]\nto = \"a\"\npaths = \"!src/\"",
            3,
            "the pattern !src/ begins with !, which excludes nothing here",
        );
        known("[[route]]\nto = \"a\"\nunknowns = \"< 0\"", 3, "unknowns is never < 0");
        known("[[route]]\nto = \"a\"\nunknowns = 1.5", 3, "unknowns is never = 1.5");
        known("[[route]]\nto = \"a\"\nconfidence = \"> 1\"", 3, "confidence is never > 1");
        known("[[route]]\nto = \"a\\u001bb\"", 2, "to has a control character");
        assert_eq!(told(&"[[route]]\nto = \"a\"\n".repeat(201)), [(1, "there are more than 200 rules".to_owned())]);
        known("agents = []", 1, "agents is an empty list");
        let (unnamed, problems) = parse("[[route]]\nto = \"a\"\nunknowns = 1\n[[route]]\nto = \"a\"\n", &TYPES);
        let names: Vec<&str> = unnamed.rules.iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!((names, problems), (vec!["any to a", "any to a 2"], vec![]));
        let broken = told("[[route]]\nto = \"a\"\n\nfrom = [");
        assert!(matches!(&broken[..], [(4, _)]), "{broken:?}");
    }
}

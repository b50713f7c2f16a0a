//! Rules that can never match, name unknown agents, or send a task round without end.

use std::collections::{BTreeMap, BTreeSet};

use similar::get_close_matches;

use crate::fold::route::parse::Problem;
use crate::fold::route::{Comparison, Condition, Operator, RouteRules, Rule, Spanned};

/// The problems of readable rules, in order of lines. `known` are the agents that the file need not list.
pub fn lint(rules: &RouteRules, known: &BTreeSet<String>) -> Vec<Problem> {
    let mut out = unknown_agents(rules, known);
    out.extend(unreachable(&rules.rules));
    out.extend(circles(rules));
    out.sort();
    out
}

/// Names in no list: neither in the file's, nor, if it has none, among the known.
fn unknown_agents(rules: &RouteRules, known: &BTreeSet<String>) -> Vec<Problem> {
    let listed: BTreeSet<&str> = match rules.agents.is_empty() {
        true => known.iter().map(String::as_str).collect(),
        false => rules.agents.iter().map(|agent| agent.text.as_str()).collect(),
    };
    let all: Vec<&str> = listed.iter().copied().collect();
    let named = rules.rules.iter().flat_map(|rule| rule.from.iter().chain([&rule.to]).chain(&rule.escalate));
    let unknown = named.filter(|name| !listed.contains(name.text.as_str()));
    let problem = |name: &Spanned| {
        let near = get_close_matches(name.text.as_str(), &all, 1, 0.6).into_iter().next();
        let advice = near.map_or_else(|| "add it to agents = [...]".to_owned(), |near| format!("did you mean {near}?"));
        Problem { line: name.line, text: format!("no agent is called {}: {advice}", name.text) }
    };
    unknown.map(problem).collect()
}

/// Rules behind one that matches whenever they would.
fn unreachable(rules: &[Rule]) -> Vec<Problem> {
    let hidden = |(at, rule): (usize, &Rule)| {
        let before = rules[..at].iter().find(|before| before.covers(rule))?;
        let text =
            format!("rule '{}' is unreachable: rule '{}' (line {}) matches first", rule.name, before.name, before.line);
        Some(Problem { line: rule.line, text })
    };
    rules.iter().enumerate().filter_map(hidden).collect()
}

impl Rule {
    /// Whether it matches each handoff of an agent that the other matches; `false` if unsure.
    fn covers_from(&self, agent: &str, other: &Rule) -> bool {
        let sends = match self.from.is_empty() {
            true => self.to.text != agent,
            false => self.from.iter().any(|from| from.text == agent),
        };
        sends && self.covers_conditions(other)
    }

    fn covers_conditions(&self, other: &Rule) -> bool {
        self.when.iter().all(|wide| other.when.iter().any(|narrow| wide.covers(narrow)))
    }

    /// Whether it matches each handoff that the other matches; `false` if unsure.
    fn covers(&self, other: &Rule) -> bool {
        let sends = |rule: &Rule, agent: &str| rule.from.iter().any(|from| from.text == agent);
        let is_from_all = match (self.from.is_empty(), other.from.is_empty()) {
            (true, true) => self.to.text == other.to.text,
            (true, false) => !sends(other, &self.to.text),
            (false, true) => false,
            (false, false) => other.from.iter().all(|from| sends(self, &from.text)),
        };
        is_from_all && self.covers_conditions(other)
    }
}

impl Condition {
    /// Whether it holds whenever the other holds.
    fn covers(&self, other: &Condition) -> bool {
        match (self, other) {
            (Condition::Word(key, wide), Condition::Word(other, narrow)) => {
                key == other && narrow.iter().all(|word| wide.contains(word))
            }
            (Condition::Number(key, wide), Condition::Number(other, narrow)) => key == other && wide.covers(*narrow),
            (Condition::FailedEvidence(wide), Condition::FailedEvidence(narrow)) => wide == narrow,
            (Condition::Paths(wide), Condition::Paths(narrow)) => {
                narrow.iter().all(|(text, _)| wide.iter().any(|(wide, _)| wide == text))
            }
            (Condition::Task(wide), Condition::Task(narrow)) => wide.as_str() == narrow.as_str(),
            _ => false,
        }
    }
}

impl Comparison {
    /// Whether it holds for each number for which the other holds.
    fn covers(self, other: Comparison) -> bool {
        use Operator::{AtLeast, AtMost, Equal, Greater, Less};
        match (self.operator, other.operator) {
            (_, Equal) => self.holds(other.number),
            (Less, Less) | (AtMost, Less | AtMost) => other.number <= self.number,
            (Less, AtMost) => other.number < self.number,
            (Greater, Greater) | (AtLeast, Greater | AtLeast) => other.number >= self.number,
            (Greater, AtLeast) => other.number > self.number,
            _ => false,
        }
    }
}

/// Circles of agents without a rule that limits the rounds.
fn circles(rules: &RouteRules) -> Vec<Problem> {
    let all: BTreeSet<&str> = {
        let named = rules.rules.iter().flat_map(|rule| rule.from.iter().chain([&rule.to]));
        named.map(|name| name.text.as_str()).collect()
    };
    // by agent, where its handoffs can go, and by which line
    let mut next: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (at, rule) in rules.rules.iter().enumerate().filter(|(_, rule)| rule.rounds.is_none()) {
        let to = rule.to.text.as_str();
        let from: Vec<&str> = match rule.from.is_empty() {
            true => all.iter().copied().filter(|agent| *agent != to).collect(),
            false => rule.from.iter().map(|from| from.text.as_str()).collect(),
        };
        // an earlier rule may match first for some of them
        let before = &rules.rules[..at];
        for from in from.into_iter().filter(|from| !before.iter().any(|before| before.covers_from(from, rule))) {
            next.entry(from).or_default().entry(to).or_insert(rule.line);
        }
    }
    let mut out: Vec<Problem> = Vec::new();
    let mut told: BTreeSet<(&str, &str)> = BTreeSet::new();
    for start in next.keys().copied() {
        // one circle for each step that is in one, unless it was named before
        for (first, line) in &next[start] {
            if told.contains(&(start, first)) {
                continue;
            }
            let Some(mut way) = way_to(&next, first, start) else { continue };
            way.insert(0, (first, *line));
            let agents: Vec<&str> = std::iter::once(start).chain(way.iter().map(|(agent, _)| *agent)).collect();
            told.extend(agents.windows(2).map(|step| (step[0], step[1])));
            let lines: BTreeSet<usize> = way.iter().map(|(_, line)| *line).collect();
            let named: Vec<String> = lines.iter().map(usize::to_string).collect();
            let rules = match &named[..] {
                [line] => format!("the rule in line {line}"),
                lines => format!("one of the rules in lines {}", lines.join(", ")),
            };
            let text = format!("unbounded cycle {}: set rounds on {rules}", agents.join(" → "));
            out.push(Problem { line: lines.first().copied().unwrap_or(1), text });
        }
    }
    out
}

/// The shortest way from an agent to another: each next agent, and the line that leads there; empty from an agent to itself.
fn way_to<'a>(
    next: &BTreeMap<&'a str, BTreeMap<&'a str, usize>>,
    from: &'a str,
    to: &str,
) -> Option<Vec<(&'a str, usize)>> {
    let mut ways: Vec<Vec<(&str, usize)>> = vec![Vec::new()];
    let mut seen: BTreeSet<&str> = BTreeSet::from([from]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let at = way.last().map_or(from, |(agent, _)| *agent);
            if at == to {
                return Some(way);
            }
            for (agent, line) in next.get(at).into_iter().flatten() {
                if seen.insert(agent) {
                    longer.push([&way[..], &[(*agent, *line)]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::route::parse::parse;

    fn problems(text: &str) -> Vec<(usize, String)> {
        let (rules, problems) = parse(text, &["epistemic", "progress"]);
        assert_eq!(problems, []);
        let known = ["lead", "tester", "validator"].map(str::to_owned).into();
        lint(&rules, &known).into_iter().map(|problem| (problem.line, problem.text)).collect()
    }

    fn rule(from: &str, to: &str, more: &str) -> String {
        format!("[[route]]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n")
    }

    #[test]
    fn a_chain_has_no_problem() {
        let chain = rule("lead", "tester", "") + &rule("tester", "validator", "unknowns = 0");
        assert_eq!(problems(&chain), []);
        let back = chain + &rule("tester", "lead", "rounds = 3");
        assert_eq!(problems(&back), []);
    }

    #[test]
    fn unknown_agents_are_named_with_their_line() {
        let text = rule("lead", "testr", "rounds = 2\nescalate = \"boss\"");
        assert_eq!(
            problems(&text),
            [
                (3, "no agent is called testr: did you mean tester?".to_owned()),
                (5, "no agent is called boss: add it to agents = [...]".to_owned())
            ]
        );
        assert_eq!(problems(&format!("agents = [\"testr\", \"lead\", \"boss\"]\n{text}")), []);
    }

    #[test]
    fn a_rule_behind_a_wider_one_never_matches() {
        let wide = rule("lead", "tester", "confidence = \"< 0.8\"");
        let told = |narrow: &str| !problems(&(wide.clone() + &rule("lead", "validator", narrow))).is_empty();
        assert!(told("confidence = \"< 0.8\"") && told("confidence = \"<= 0.7\"\nunknowns = 0"));
        assert!(told("confidence = 0.1"));
        assert!(!told("confidence = \"<= 0.8\"") && !told("") && !told("unknowns = 0"));
        let any = "[[route]]\nto = \"tester\"\n";
        let found = problems(&format!("{any}{}", rule("lead", "validator", "")));
        assert_eq!(
            found,
            [(3, "rule 'lead to validator' is unreachable: rule 'any to tester' (line 1) matches first".to_owned())]
        );
        // the first is not for the tester's own handoffs
        assert_eq!(problems(&format!("{any}{}", rule("tester", "validator", "rounds = 1"))), []);
    }

    #[test]
    fn a_circle_needs_a_limit() {
        let circle = |more: &str| problems(&(rule("lead", "tester", "") + &rule("tester", "lead", more)));
        let text = "unbounded cycle lead → tester → lead: set rounds on one of the rules in lines 1, 5";
        assert_eq!(circle("unknowns = \"> 0\""), [(1, text.to_owned())]);
        assert_eq!(circle("rounds = 1"), []);
        // each circle is named, also of agents that are in another
        let back = rule("validator", "tester", "unknowns = 1");
        let two =
            rule("lead", "tester", "") + &rule("tester", "validator", "") + &back + &rule("validator", "lead", "");
        let two = problems(&two);
        assert_eq!(two.len(), 2, "{two:?}");
        assert!(two.iter().any(|(_, text)| text.contains("validator → tester → validator")), "{two:?}");
        let partly = rule("lead", "tester", "") + &rule("tester", "validator", "");
        let partly = format!("agents = [\"lead\", \"tester\", \"validator\", \"boss\"]\n{partly}");
        let partly = partly + "[[route]]\nfrom = [\"tester\", \"boss\"]\nto = \"lead\"\n";
        assert_eq!(problems(&partly), [], "for the tester the second matches first");
        let alone = problems(&rule("lead", "lead", ""));
        assert_eq!(alone, [(1, "unbounded cycle lead → lead: set rounds on the rule in line 1".to_owned())]);
    }
}
